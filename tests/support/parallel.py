"""Robots with parallel springs."""

from __future__ import annotations

import dataclasses

import numpy as np

import flexjoint as fj


def sprung(robot: fj.Robot, seed: int = 0, cubic: bool = True, share: float = 0.7) -> fj.Robot:
    """The robot with linear and cubic parallel springs at most of its joints, relaxed away from q = 0."""
    rng = np.random.default_rng(seed)
    links, i = [], 0
    for link in robot.links:
        joint = link.joint
        if joint.moves:
            K, c, rest = (float(x) for x in rng.uniform([5.0, 2.0, -1.0], [60.0, 20.0, 1.0]))
            law = fj.springs.CubicSpring(K, c) if cubic and i % 2 else K
            if i == 0 or rng.random() < share:
                joint = dataclasses.replace(joint, parallel_spring=fj.springs.ParallelSpring(law, rest))
            i += 1
        links.append(dataclasses.replace(link, joint=joint))
    return robot.replace(links=links)
