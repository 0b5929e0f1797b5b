"""Robots whose base is carried by six joints, and motions of a base."""

from __future__ import annotations

import dataclasses

import numpy as np

from flexjoint.robot import BASE, Joint, Link, Robot

X, Y, Z = np.eye(3)
AXES = [("prismatic", X), ("prismatic", Y), ("prismatic", Z), ("revolute", Z), ("revolute", Y), ("revolute", X)]


def carried_base(robot: Robot) -> Robot:
    """The robot on six joints: along x, y, z, then about z, y, x; each frame's z is its axis."""
    links, before, above = [], np.eye(3), BASE
    for k, (kind, axis) in enumerate(AXES):
        x = np.roll(axis, 1)
        frame = np.column_stack([x, np.cross(axis, x), axis])
        links.append(Link(f"carrier{k}", Joint(f"carrier{k}_joint", kind, np.zeros(3), before.T @ frame), above))
        before, above = frame, f"carrier{k}"
    home = Joint("home_joint", "fixed", np.zeros(3), before.T)
    links.append(Link("home", home, above))
    moved = [dataclasses.replace(x, parent="home") if x.parent == BASE else x for x in robot.links]
    return Robot(f"carried_{robot.name}", (*links, *moved), robot.gravity, robot.tool, allow_unphysical=True)
