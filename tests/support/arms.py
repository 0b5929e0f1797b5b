"""Six robots with limits for inverse kinematics, and poses that they reach."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.optimize import minimize

import flexjoint as fj
from flexjoint.kinematics import Pose, Target

LWR = np.deg2rad([170, 120, 170, 120, 170, 120, 170])
OFFSETS = {  # no two of the last three axes intersect
    "alpha": [math.pi / 2, 0.3, math.pi / 2, -1.2, 1.4, 0.0],
    "a": [0.05, 0.42, 0.08, 0.06, 0.07, 0.03],
    "d": [0.30, 0.09, 0.05, 0.38, 0.10, 0.12],
}


def limited(joint: fj.Joint, lower: float, upper: float) -> fj.Joint:
    return dataclasses.replace(joint, limits=fj.Limits(lower, upper))


def lwr() -> fj.Robot:
    """The KUKA LWR with the limits of its data sheet."""
    robot = fj.load("kuka_lwr").without_drives()
    bounds = iter(LWR)
    links = [
        dataclasses.replace(x, joint=limited(x.joint, -(b := next(bounds)), b)) if x.joint.moves else x
        for x in robot.links
    ]
    return robot.replace(name="lwr", links=links)


def without_wrist() -> fj.Robot:
    """Six revolute joints with offsets everywhere."""
    return fj.from_dh("without_wrist", **OFFSETS, limits=[fj.Limits(-2.8, 2.8)] * 6)


def two_arms() -> fj.Robot:
    """A lift that slides, a torso that turns, and two LWRs on it: 16 joints."""
    lift = fj.Link("lift", limited(fj.Joint("lift_joint", "prismatic"), 0.0, 0.4))
    torso = fj.Link("torso", limited(fj.Joint("torso_joint", position=(0.0, 0.0, 0.6)), -2.0, 2.0), "lift")
    links = [lift, torso]
    for side, y in (("left", 0.2), ("right", -0.2)):
        shoulder = fj.kinematics.Pose.from_rpy([0.0, y, 0.1], [-90 if y > 0 else 90, 0, 0], degrees=True)
        for link in lwr().links:
            joint, parent = dataclasses.replace(link.joint, name=f"{side}_{link.joint.name}"), f"{side}_{link.parent}"
            if link.parent == "base":
                placed = shoulder @ Pose(joint.position, joint.rotation)
                joint = dataclasses.replace(joint, position=placed.position, rotation=placed.rotation)
                parent = "torso"
            links.append(dataclasses.replace(link, name=f"{side}_{link.name}", joint=joint, parent=parent))
    return fj.Robot("two_arms", links)


def arms() -> dict[str, fj.Robot]:
    """The six robots by name."""
    known = {name: fj.load(name) for name in ("panda", "iiwa14", "ur5e")}
    return {**known, "lwr": lwr(), "two_arms": two_arms(), "without_wrist": without_wrist()}


def tips(robot: fj.Robot) -> list[str]:
    """The links whose poses are the targets."""
    return ["left_tool", "right_tool"] if robot.name == "two_arms" else [robot.tool]


def random_postures(robot: fj.Robot, count: int, seed: int) -> np.ndarray:
    """Positions within the limits, uniformly distributed, (count, n)."""
    lower, upper = (np.array([getattr(x, name) for x in robot.joint_limits]) for name in ("lower", "upper"))
    return np.random.default_rng((seed, 20)).uniform(lower, upper, (count, robot.n))


def poses(robot: fj.Robot, q: np.ndarray) -> list[Target]:
    """The targets that postures reach."""
    found = [fj.forward_kinematics(robot, q, link=link) for link in tips(robot)]
    return [Target(Pose(x.position, x.rotation), link) for x, link in zip(found, tips(robot))]


def beyond_reach(robot: fj.Robot, link: str, count: int, seed: int) -> np.ndarray:
    """Positions (count, 3) that no posture reaches: 1 % and more beyond the greatest distance from the second joint's
    height on the first axis that an optimiser finds."""
    centre = fj.forward_kinematics(robot, np.zeros(robot.n), link=robot.links[1].name).position * [0, 0, 1]
    q = random_postures(robot, 20000, seed)

    def distance(x: np.ndarray) -> np.ndarray:
        return np.linalg.norm(fj.forward_kinematics(robot, x, link=link).position - centre, axis=-1)

    bounds = [(x.lower, x.upper) for x in robot.joint_limits]
    starts = q[np.argsort(-distance(q))[:5]]
    most = max(-minimize(lambda x: -distance(x), x, bounds=bounds).fun for x in starts)
    direction = np.random.default_rng(seed).normal(size=(count, 3))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    return centre + direction * np.linspace(1.01 * most, 3 * most, count)[:, None]
