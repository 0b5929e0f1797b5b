"""The same robot with other link frames: each turned about its own origin, so that its joint axis is no longer z."""

from __future__ import annotations

import dataclasses

import numpy as np

from flexjoint.drives import Motor
from flexjoint.robot import BASE, Link, Robot
from flexjoint.robot.random_robots import random_rotation

QUARTER_TURNS = [np.roll(np.eye(3), k, axis=0) for k in range(3)] + [np.diag([1.0, -1.0, -1.0])]


def turned(robot: Robot, seed: int = 0) -> tuple[Robot, list[np.ndarray]]:
    """The robot, and per link the orientation Q of its new frame in the old one; some Q are permutations."""
    rng = np.random.default_rng(seed)
    Q = [QUARTER_TURNS[i % 8] if i % 8 < 4 else random_rotation(rng) for i in range(len(robot.links))]
    place = {BASE: np.eye(3)} | {link.name: x for link, x in zip(robot.links, Q)}

    def motor_in_turned_frames(motor: Motor, link: Link) -> Motor:
        up = place[motor.carrier or link.parent]
        moved = {x: tuple(up.T @ value) for x in ("axis", "position") if (value := getattr(motor, x)) is not None}
        return dataclasses.replace(motor, **moved)

    links = []
    for link, own in zip(robot.links, Q):
        joint, up = link.joint, place[link.parent]
        drive = joint.drive
        if drive is not None:
            drive = dataclasses.replace(drive, motor=motor_in_turned_frames(drive.motor, link))
        axis = own.T @ joint.axis if joint.moves else joint.axis
        R, p = up.T @ joint.rotation @ own, up.T @ joint.position
        joint = dataclasses.replace(joint, rotation=R, position=p, axis=axis, drive=drive)
        inertia = own.T @ link.inertia @ own
        links.append(dataclasses.replace(link, joint=joint, com=own.T @ link.com, inertia=(inertia + inertia.T) / 2))
    return robot.replace(links=links), Q
