"""Warnings of a robot's numbers that are legal but probably in other units, given once, when the robot is made.

The bounds are wide: each lies ten times or more beyond what robots have, and below what a wrong unit makes of an
ordinary robot.  Nothing is changed or refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..drives import Drive, ElasticDrive, Motor, VariableStiffnessDrive, friction_law
from ..errors import warn
from ..springs import ParallelSpring, Spring
from ..types import FloatArray
from .parts import Joint, Link

if TYPE_CHECKING:
    from .model import Robot

GRAVITY = 30.0  # m/s²; 24.8 on Jupiter
LENGTH = 20.0  # m, of an offset between joints or to a centre of mass
GYRATION = 5.0  # m, radius of
DENSITY = 1e5  # kg/m³; osmium has 2.3e4, arms with their masses in g 3e5
GEAR_RATIO = (1.0, 1e4)
REFLECTED = 1e3  # motor inertia over the inertia of all links, stretched out
POSITION = 10 * math.pi  # rad, of a limit: five turns
BACKLASH = 0.2  # rad, of a gap: 11°; worn gears have 1°
REST = 2 * math.pi  # rad, of a parallel spring
VELOCITY = 60.0  # rad/s, of a limit: ten turns per second


def warn_of_units(robot: Robot) -> None:
    """One warning for each kind of number that is out of bounds, naming the first link or joint that has one."""
    told: set[str] = set()
    for kind, message in doubts(robot):
        if kind not in told:
            told.add(kind)
            warn(f"{robot.name:.200}: {message}")


def doubts(robot: Robot) -> Iterator[tuple[str, str]]:
    """(kind of number, message) for every implausible number."""
    g = length(robot.gravity)
    if g > GRAVITY:
        yield "gravity", f"gravity is {g:.4g} m/s²: it is in m/s², 9.81 on Earth"
    inertia, total = stretched_inertia(robot), sum(link.mass for link in robot.links)
    for link in robot.links:
        yield from length_doubts(link)
        if link.mass and not robot.allow_unphysical:
            yield from body_doubts(link)
        if link.joint.moves:
            yield from limit_doubts(link.joint)
        if link.joint.parallel_spring is not None:
            yield from parallel_doubts(link.joint, link.joint.parallel_spring)
        yield from friction_doubts(link.joint)
        if link.joint.drive is not None:
            most = REFLECTED * (inertia if link.joint.kind.angular else total)
            yield from drive_doubts(link.joint, link.joint.drive, most)


def stretched_inertia(robot: Robot) -> float:
    """Upper bound of the inertia of all links about any joint, kg m²."""
    reach = sum(length(link.joint.position) for link in robot.links)
    distances = [reach + length(link.com) for link in robot.links]
    spread = sum(link.mass * x * x for link, x in zip(robot.links, distances))
    return spread + sum(sum(link.inertia.diagonal().tolist()) for link in robot.links)


def length(x: FloatArray) -> float:
    """Euclidean length of a vector."""
    return math.hypot(*x.tolist())


def length_doubts(link: Link) -> Iterator[tuple[str, str]]:
    """Implausible offsets and centres of mass."""
    for what, vector in (("joint", link.joint.position), ("centre of mass", link.com)):
        if length(vector) > LENGTH:
            yield "length", (
                f"the {what} of link '{link.name:.200}' is {length(vector):.4g} m from its frame: lengths are in m; "
                "divide millimetres by 1000"
            )


def body_doubts(link: Link) -> Iterator[tuple[str, str]]:
    """Implausible radius of gyration, or density: that of the solid sphere with the link's mass and largest second
    moment.  Every body with these moments is at least as dense somewhere."""
    moments = np.linalg.eigvalsh(link.inertia).tolist()
    radius = math.sqrt(max(moments[-1], 0.0) / link.mass)
    if radius > GYRATION:
        yield "inertia", (
            f"link '{link.name:.200}' has a mass of {link.mass:.4g} kg and a moment of inertia of {moments[-1]:.4g} "
            f"kg m², as if its mass were {radius:.3g} m from its centre: inertias are in kg m²; multiply kg mm² by "
            "1e-6, kg cm² by 1e-4"
        )
    axis = math.sqrt(5 * max(sum(moments) / 2 - moments[0], 0.0) / link.mass)
    volume = 4 / 3 * math.pi * axis * axis * axis
    density = link.mass / volume if volume else math.inf
    if density > DENSITY:
        yield "mass", (
            f"link '{link.name:.200}' has a mass of {link.mass:.4g} kg within {axis:.2g} m, by its moments of inertia "
            f"of up to {moments[-1]:.4g} kg m²: denser than any metal ({density:.2g} kg/m³); masses are in kg and "
            "central inertias in kg m²; pass allow_unphysical=True if they are meant so"
        )


def limit_doubts(joint: Joint) -> Iterator[tuple[str, str]]:
    """Limits that are probably in degrees."""
    if not joint.kind.angular:
        return
    for key, most in (("lower", POSITION), ("upper", POSITION), ("velocity", VELOCITY)):
        value = getattr(joint.limits, key)
        if math.isfinite(value) and abs(value) > most and value == round(value):  # nobody writes whole rad
            unit = "rad/s" if key == "velocity" else "rad"
            yield "limits", (
                f"limits.{key} of joint '{joint.name:.200}' is {value:.4g} {unit}: if degrees are meant, write "
                f"{math.radians(value):.4g}, which is π/180 times it"
            )


def drive_doubts(joint: Joint, drive: Drive, most: float) -> Iterator[tuple[str, str]]:
    """Implausible motors and springs; `most` bounds the motor inertia."""
    for motor in drive.motors if not isinstance(drive, VariableStiffnessDrive) else drive.turning:
        yield from motor_doubts(joint, motor, most)
    if isinstance(drive, ElasticDrive):
        yield from gear_doubts(joint, drive)
    if isinstance(drive, ElasticDrive) and not isinstance(drive.stiffness, Spring):
        low, high = joint.kind.plausible_stiffness
        if not low <= drive.stiffness <= high:
            unit = joint.kind.unit("Nm/rad | N/m")
            instead = "use a RigidDrive for a joint that does not yield" if drive.stiffness > high else "check its unit"
            yield "stiffness", (
                f"the stiffness of joint '{joint.name:.200}' is {drive.stiffness:.4g} {unit}; those of robots lie "
                f"between {low:g} and {high:g} {unit}: {instead}"
            )


def gear_doubts(joint: Joint, drive: ElasticDrive) -> Iterator[tuple[str, str]]:
    """A gap that is probably in degrees or arc minutes, and hysteresis that is softer than its torque needs."""
    if joint.kind.angular and drive.backlash > BACKLASH:
        yield "backlash", (
            f"the backlash of joint '{joint.name:.200}' is {drive.backlash:.4g} rad: if degrees are meant, write "
            f"{math.radians(drive.backlash):.4g}, which is π/180 times it; if arc minutes, "
            f"{math.radians(drive.backlash / 60):.4g}"
        )
    law = drive.hysteresis
    if law is not None and joint.kind.angular and law.torque > law.stiffness:
        yield "hysteresis", (
            f"the hysteresis of joint '{joint.name:.200}' has a torque of {law.torque:.4g} Nm and a stiffness of "
            f"{law.stiffness:.4g} Nm/rad, so it begins to slip at {law.torque / law.stiffness:.3g} rad; those of gears "
            "do at 0.01 rad or less: check the unit of its stiffness, Nm/rad"
        )


def parallel_doubts(joint: Joint, parallel: ParallelSpring) -> Iterator[tuple[str, str]]:
    """Implausible stiffness or rest position of a parallel spring, and a law that ends within the joint's limits."""
    high, rest, law = joint.kind.plausible_stiffness[1], parallel.rest, parallel.stiffness
    who = f"the parallel spring of joint '{joint.name:.200}'"
    if not isinstance(law, Spring):
        if law > high:
            unit = joint.kind.unit("Nm/rad | N/m")
            yield "parallel stiffness", (
                f"the stiffness of {who} is {law:.4g} {unit}; those of robots lie below {high:g} {unit}: check its "
                "unit"
            )
    else:
        for side, q in (("lower", joint.limits.lower), ("upper", joint.limits.upper)):
            if math.isfinite(q) and not math.isfinite(float(law.curve(rest - q).torque)):
                yield "parallel law", (
                    f"{who} has no torque at the {side} limit {q:.4g}, where it is deflected by {rest - q:.4g}: its "
                    "law ends before"
                )
    if joint.kind.angular and abs(rest) > REST and rest == round(rest):  # nobody writes whole rad
        yield "rest", (
            f"{who} rests at {rest:.4g} rad: if degrees are meant, write {math.radians(rest):.4g}, which is π/180 "
            "times it"
        )
    if not joint.kind.angular and abs(rest) > LENGTH:
        yield "rest", f"{who} rests at {rest:.4g} m: lengths are in m; divide millimetres by 1000"


def friction_doubts(joint: Joint) -> Iterator[tuple[str, str]]:
    """Static friction that has fallen before it acts."""
    motors = joint.drive.motors if joint.drive is not None else ()
    laws = [("friction", friction_law(joint)), *(("motor friction", friction_law(motor)) for motor in motors)]
    for what, law in laws:
        for side in law.sides:
            if side.static is not None and side.static > side.coulomb and side.stribeck_velocity < law.velocity:
                yield what, (
                    f"the {what} of joint '{joint.name:.200}' falls from static = {side.static:.4g} over "
                    f"{side.stribeck_velocity:.4g}, less than the velocity {law.velocity:.4g} over which it changes "
                    "its sign, so it hardly reaches it: give a velocity below stribeck_velocity"
                )


def motor_doubts(joint: Joint, motor: Motor, most: float) -> Iterator[tuple[str, str]]:
    """Implausible gear ratio, or a motor inertia above `most`."""
    low, high = GEAR_RATIO
    if joint.kind.angular and motor.gear_ratio is not None and not low <= abs(motor.gear_ratio) <= high:
        yield "gear ratio", (
            f"the gear ratio of joint '{joint.name:.200}' is {motor.gear_ratio:.4g}: it is θ_rotor/θ, such as 100 "
            "where the motor turns 100 times as fast as the joint"
        )
    if 0 < most < motor.inertia:
        unit = joint.kind.unit("kg m² | kg")
        yield "motor inertia", (
            f"the motor inertia of joint '{joint.name:.200}' is {motor.inertia:.4g} {unit}, more than {REFLECTED:g} "
            f"times that of all links together: motor_inertia is already reflected, η² I_axial, in {unit}; give "
            "motor_axial_inertia and motor_gear_ratio if it is known on the rotor's side"
        )
