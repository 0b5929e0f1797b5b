"""Robots whose joints follow others, and the same robots with every joint moving by itself: q = G y + c."""

from __future__ import annotations

import dataclasses
from typing import Any

import casadi as ca
import numpy as np

import flexjoint as fj
from flexjoint.robot import Mimic


def with_followers(robot: fj.Robot, seed: int, share: float = 0.5, motors: bool = False) -> fj.Robot:
    """The robot with some of its joints following others: chains, both signs, before and behind their leaders.

    motors: whether followers have rigid drives with friction; without drive otherwise.
    """
    rng = np.random.default_rng(seed)
    moving = [i for i, link in enumerate(robot.links) if link.joint.moves]
    order = rng.permutation(moving).tolist()
    independent = max(1, round(len(order) * (1 - share)))
    links = list(robot.links)
    for place, i in enumerate(order[independent:], independent):
        leader = links[order[int(rng.integers(0, place))]].joint
        ratio = float(rng.choice([-1.0, 1.0]) * rng.uniform(0.4, 1.3))
        motor = fj.Motor(*rng.uniform(0.2, 1.0, 3).tolist(), coulomb_velocity=0.5)
        mimic = Mimic(leader.name, ratio, float(rng.uniform(-0.5, 0.5)))
        drive = fj.RigidDrive(motor) if motors else None
        links[i] = dataclasses.replace(links[i], joint=dataclasses.replace(links[i].joint, mimic=mimic, drive=drive))
    return robot.replace(links=links, name=f"{robot.name}_followers")


def independent(robot: fj.Robot) -> fj.Robot:
    """The same links with every joint moving by itself."""
    joints = [dataclasses.replace(link.joint, mimic=None) for link in robot.links]
    return robot.replace(links=[dataclasses.replace(x, joint=j) for x, j in zip(robot.links, joints)])


def coupling(robot: fj.Robot) -> tuple[np.ndarray, np.ndarray]:
    """G and c from the data: q_follower = ratio q_leader + offset, applied until nothing changes."""
    joints = [link.joint for link in robot.links if link.joint.moves]
    names = [joint.name for joint in joints]
    leaders = [i for i, joint in enumerate(joints) if joint.mimic is None]
    own = np.zeros((len(joints), len(joints)))  # q = own q + free y + c
    free, c = np.zeros((len(joints), len(leaders))), np.zeros(len(joints))
    for i, joint in enumerate(joints):
        if joint.mimic is None:
            free[i, leaders.index(i)] = 1.0
        else:
            own[i, names.index(joint.mimic.joint)], c[i] = joint.mimic.ratio, joint.mimic.offset
    inverse = np.linalg.inv(np.eye(len(joints)) - own)
    return inverse @ free, inverse @ c


def through(robot: fj.Robot, function: Any, *stack: Any) -> Any:
    """Gᵀ function(independent robot, G y + c, G y', ...) in SX, of symbols or expressions y, y', ..."""
    free = independent(robot)
    G, c = coupling(robot)
    symbols = [ca.SX.sym("x", free.n) for _ in stack]
    found = ca.Function("f", symbols, [function(free, *symbols)])
    moved = [ca.DM(G) @ x + (ca.DM(c) if k == 0 else 0) for k, x in enumerate(stack)]
    return ca.DM(G).T @ found(*moved)
