"""What the friction of joints and motors must fulfil; a RobotError names the joint otherwise."""

from __future__ import annotations

import dataclasses

from ..checks import check_number
from ..drives import Friction, Motor
from ..drives.friction import SHORT_FORM
from ..errors import RobotError, shown
from .parts import Joint


def check_friction(name: str, side: str, item: Joint | Motor, load: bool = False) -> None:
    """Refuse wrong friction of a joint, or with `side` "motor " of its motor; `load`: whether it may depend on it."""
    if item.friction is not None:
        check_both_forms(name, side, item)
        check_law(f"the {side}friction of joint '{name}'", f"{side}friction", name, item.friction, side, load)
        return
    for what in ("viscous friction", "coulomb friction", "coulomb velocity"):
        value = getattr(item, what.replace(" ", "_"))
        what = side + what.replace("coulomb", "Coulomb")
        check_number(what, name, value)
        if value < 0:
            raise RobotError(f"the {what} of joint '{name}' is {value:g}: it must not be negative")
    if item.coulomb_friction and not item.coulomb_velocity:
        raise RobotError(
            f"the {side}Coulomb friction of joint '{name}' is {item.coulomb_friction:g} without a Coulomb velocity: "
            "give the velocity over which it changes its sign, v_c in F_c tanh(v/v_c)"
        )


def check_both_forms(name: str, side: str, item: Joint | Motor) -> None:
    """Refuse friction that is no Friction, or that is given beside the short form."""
    if not isinstance(item.friction, Friction):
        given = shown(item.friction)
        raise RobotError(f"the {side}friction of joint '{name}' is {given}: give drives.Friction(viscous=..., ...)")
    for short, long in zip(SHORT_FORM, ("viscous", "coulomb", "velocity")):
        if getattr(item, short):
            raise RobotError(
                f"joint '{name}' has {side}{short.replace('_', ' ')} beside a {side}friction: give "
                f"Friction({long}=...) in place of {short}"
            )


def check_law(owner: str, what: str, name: str, law: Friction, side: str, load: bool, forward: bool = True) -> None:
    """Refuse a friction law with wrong numbers, or without a velocity or load that it needs."""
    for field in dataclasses.fields(law):
        value = getattr(law, field.name)
        if field.name == "backward" or (field.name == "static" and value is None):
            continue
        check_number(f"{what}.{field.name}", name, value)
        if value < 0:
            raise RobotError(f"{owner} has {field.name} = {value:g}: it must not be negative")
    if law.static is not None and law.static < law.coulomb:
        raise RobotError(
            f"{owner} has static = {law.static:g} below coulomb = {law.coulomb:g}: static friction is at least Coulomb "
            "friction; exchange them, or omit static"
        )
    if law.static is not None and not law.stribeck_velocity:
        raise RobotError(
            f"{owner} has static = {law.static:g} without stribeck_velocity: give the velocity over which it falls to "
            "coulomb, v_s in exp(−(v/v_s)²)"
        )
    if law.load and not load:
        raise RobotError(
            f"{owner} depends on the load (load = {law.load:g}), which is not modelled at a rigid joint: give the "
            "joint a spring, or take Coulomb friction at the mean load, friction.at_load(torque)"
        )
    if law.load >= 1:
        raise RobotError(
            f"{owner} has load = {law.load:g}: it must be below 1, or no torque would move the joint against its load"
        )
    if not forward:
        return
    if law.backward is not None:
        check_backward(owner, what, name, law, side, load)
    dry = [key for x in law.sides for key in ("coulomb", "static", "load") if getattr(x, key)]
    if not law.velocity and (dry or law.backward is not None):
        because = f"{dry[0]} friction" if dry else "a law for each direction"
        raise RobotError(
            f"{owner} has {because} without velocity: give the velocity over which it changes its sign, v_c in "
            "tanh(v/v_c)"
        )
    if law.loaded and not law.load_scale:
        raise RobotError(
            f"{owner} depends on the load without load_scale: give the load above which it grows with |τ|, τ_0 in "
            "√(τ² + τ_0²) − τ_0"
        )


def check_backward(owner: str, what: str, name: str, law: Friction, side: str, load: bool) -> None:
    """Refuse a law of the other direction that is none, is nested, or has what belongs to both directions."""
    backward = law.backward
    if not isinstance(backward, Friction):
        given = shown(backward)
        raise RobotError(f"{owner} has backward = {given}: give drives.Friction(viscous=..., ...)")
    if backward.backward is not None:
        raise RobotError(f"{owner} has a backward law inside its backward law: give one, that for v < 0")
    check_law(f"{owner}, backward,", f"{what}.backward", name, backward, side, load, forward=False)
    for key in ("velocity", "load_scale"):
        if getattr(backward, key):
            raise RobotError(
                f"{owner} has {key} in its backward law: leave it out there; {key} of the law itself holds for both "
                "directions"
            )
