"""The friction law as docs/friction.md writes it, over any arithmetic, and robots that have all of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import casadi as ca
import numpy as np

import flexjoint as fj
from flexjoint.drives import Friction


def law(friction: Friction, v: Any, tau: Any = 0.0, m: Any = ca) -> Any:
    """½ (1 + t) F₊ + ½ (1 − t) F₋; `m` has exp, tanh and sqrt."""

    def one_way(x: Friction) -> Any:
        level = x.coulomb
        if x.static is not None:
            level = level + (x.static - x.coulomb) * m.exp(-((v / x.stribeck_velocity) ** 2))
        if friction.load_scale:
            level = level + x.load * (m.sqrt(tau**2 + friction.load_scale**2) - friction.load_scale)
        viscous_alone = isinstance(friction.velocity, float) and not friction.velocity
        return x.viscous * v + (0 if viscous_alone else level * m.tanh(v / friction.velocity))

    if friction.backward is None:
        return one_way(friction)
    t = m.tanh(v / friction.velocity)
    return (1 + t) / 2 * one_way(friction) + (1 - t) / 2 * one_way(friction.backward)


def supplied(friction: Friction, v: Any, needed: Any, m: Any = ca) -> Any:
    """τ with τ − F(v, τ) = needed, as the textbook solves τ − a √(τ² + τ_0²) = c."""
    at_rest, scale = law(friction, v, 0.0, m), friction.load_scale
    if not scale:
        return needed + at_rest
    a = (law(friction, v, m.sqrt(3.0) * scale, m) - at_rest) / scale  # the magnitude of √3 τ_0 is τ_0
    c = needed + at_rest - a * scale
    return (c + a * m.sqrt(c**2 + (1 - a**2) * scale**2)) / (1 - a**2)


def random_friction(rng: Any, load: bool, backward: bool | None = None) -> Friction:
    """Stribeck friction, that depends on the load or not, and on the direction or not."""

    def one_way() -> Friction:
        D, F, more, v_s, mu = (float(x) for x in rng.uniform(0.2, 1.0, 5))
        return Friction(D, F, static=F + more, stribeck_velocity=0.4 + 0.6 * v_s, load=0.5 * mu if load else 0.0)

    v_c, scale = (float(x) for x in rng.uniform(0.2, 0.5, 2))
    other = one_way() if (rng.random() < 0.5 if backward is None else backward) else None
    return dataclasses.replace(one_way(), velocity=v_c, load_scale=scale if load else 0.0, backward=other)


def with_friction(robot: fj.Robot, seed: int = 0) -> fj.Robot:
    """The robot with random friction at all joints and motors; on both sides of springs it depends on the load."""
    rng = np.random.default_rng(seed)

    def changed(joint: fj.Joint) -> fj.Joint:
        if not joint.moves:
            return joint
        drive: Any = joint.drive
        loaded = drive is not None and not isinstance(drive, fj.RigidDrive)
        if drive is not None:
            motors = [x.name for x in dataclasses.fields(drive) if isinstance(getattr(drive, x.name), fj.Motor)]
            rubbing = {
                name: dataclasses.replace(
                    getattr(drive, name),
                    friction=random_friction(rng, loaded),
                    **dict.fromkeys(("viscous_friction", "coulomb_friction", "coulomb_velocity"), 0.0),
                )
                for name in motors
            }
            drive = dataclasses.replace(drive, **rubbing)
        return dataclasses.replace(
            joint, drive=drive, friction=random_friction(rng, loaded), viscous_friction=0.0, coulomb_friction=0.0,
            coulomb_velocity=0.0,
        )  # fmt: skip

    return robot.replace(links=[dataclasses.replace(link, joint=changed(link.joint)) for link in robot.links])
