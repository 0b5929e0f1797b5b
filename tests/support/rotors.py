"""Robots with rotors: as flexjoint describes them, and with every rotor as a body of its own on a joint of its own."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import mpmath
import numpy as np

import flexjoint as fj
from flexjoint.robot import BASE, Joint, Link, Robot
from flexjoint.robot.random_robots import random_rotation
from support.cases import robot_of_case
from support.multiprecision import PRECISION, link_torques

LBR_RATIO, LBR_INERTIA, LBR_STIFFNESS = 100.0, 1e-4, 1e4


def rotor_case(case: dict[str, Any]) -> Robot:
    """The robot of a complete001 or mixed003 case."""
    data = case["robot"]
    elastic = case.get("elastic", np.ones(len(data["type"]), dtype=bool))
    drives = []
    for r, K, springy in zip(data["rotors"], data["K"], elastic):
        motor = fj.Motor.from_rotor(
            float(r["Iax"]),
            float(r["eta"]),
            transverse_inertia=float(r["Itr"]),
            mass=float(r["m"]),
            position=r["pos"],
            axis=np.asarray(r["axis"], dtype=float) / np.linalg.norm(r["axis"]),
            carrier=f"link{r['carrier']}" if r["carrier"] else BASE,
        )
        drives.append(fj.ElasticDrive(float(K), motor) if springy else fj.RigidDrive(motor))
    options = {"allow_unphysical": True, "fidelity": "complete", "rotors_in_links": False}
    return robot_of_case(case, drives=drives, **options)


def coaxial(robot: Robot, ratio: float = LBR_RATIO, stiffness: float = LBR_STIFFNESS) -> Robot:
    """Every joint elastic, its rotor on its axis and on its parent link, which contains it."""
    motor = fj.Motor.from_rotor(LBR_INERTIA, ratio, mass=0.2, transverse_inertia=6e-5)
    return robot.with_drives([fj.ElasticDrive(stiffness, motor)] * robot.n).with_fidelity("complete")


def lbr(n: int = 7, stiffness: float = LBR_STIFFNESS) -> Robot:
    """An arm whose neighbouring axes are orthogonal and whose motors are coaxial with its joints, as the DLR LBR's."""
    arm = fj.from_dh(
        f"lbr_{n}",
        alpha=[np.pi / 2 * (-1) ** i for i in range(n)],
        a=0.0,
        d=[0.3 * (i % 2) for i in range(n)],
        mass=[3.0 / (1 + i) for i in range(n)],
        com=[0.01, 0.05, 0.02],
        inertia=np.diag([0.02, 0.025, 0.015]),
    )
    return coaxial(arm, stiffness=stiffness).replace(rotors_in_links=False)


def crossed_motors(n: int, ratio: float, tilt: float, friction: float = 0.0) -> Robot:
    """Elastic joints whose motors sit on the parent links, their axes turned by `tilt` against those of the joints."""
    bare = fj.from_dh(
        f"crossed_{n}_{ratio:g}",
        alpha=[np.pi / 2 * (n > 2 and i % 2 == 0) for i in range(n)],
        a=0.3,
        d=0.0,
        mass=[3.0 / (1 + i) for i in range(n)],
        com=[-0.15, 0.01, 0.02],
        inertia=np.diag([0.02, 0.025, 0.015]),
        viscous_friction=friction,
    )
    motor = fj.Motor.from_rotor(
        0.3 / ratio**2,
        ratio,
        mass=0.2,
        transverse_inertia=0.2 / ratio**2,
        axis=[np.sin(tilt), 0.0, np.cos(tilt)],
        viscous_friction=friction,
    )
    return bare.with_drives([fj.ElasticDrive(300.0, motor)] * n).replace(fidelity="complete", rotors_in_links=False)


def with_random_rotors(
    robot: Robot, seed: int, *, elastic: float = 0.5, carriers: str = "parent", coupling: float = 1.0
) -> Robot:
    """Heavy rotors in general position, links given without them; `carriers`: "parent", or "any" link or the base."""
    rng = np.random.default_rng(seed)
    drives: list[Any] = []
    for link in robot.links:
        if not link.joint.moves:
            continue
        carrier = link.parent if carriers == "parent" else str(rng.choice([BASE, *(x.name for x in robot.links)]))
        motor = fj.Motor.from_rotor(
            float(coupling * rng.uniform(0.02, 0.1)),
            float(rng.choice([-1, 1]) * rng.uniform(2.0, 8.0)),
            viscous_friction=float(rng.uniform(0.1, 1.0)),
            transverse_inertia=float(rng.uniform(0.02, 0.1)),
            mass=float(rng.uniform(0.2, 1.0)),
            position=rng.uniform(-0.1, 0.1, 3),
            axis=random_rotation(rng)[:, 2],
            carrier=carrier,
        )
        stiffness = float(rng.uniform(50.0, 500.0))
        drives.append(fj.ElasticDrive(stiffness, motor) if rng.random() < elastic else fj.RigidDrive(motor))
    return robot.replace(fidelity="complete", rotors_in_links=False).with_drives(drives)


class Explicit(NamedTuple):
    """The robot of links and rotors, and its coordinates from [q, θ] of ours: x = project [q, θ]."""

    robot: Robot
    project: np.ndarray  # (n + motors, 2n); columns of rigid joints' θ are zero


def explicit(robot: Robot) -> Explicit:
    """Every rotor a link on a revolute joint; its angle is η θ of an elastic joint, η q of a rigid one."""
    bare = [dataclasses.replace(x, joint=dataclasses.replace(x.joint, drive=None)) for x in robot.links]
    rows = [np.eye(2 * robot.n)[i] for i in range(robot.n)]
    bodies: list[Link] = []
    moving = [link for link in robot.links if link.joint.moves]
    for i, (link, joint) in enumerate(zip(moving, robot.joints)):
        motor = joint.drive.motor  # type: ignore[union-attr]
        carrier = motor.carrier or link.parent
        position = joint.position if motor.position is None else motor.position
        axis = joint.rotation[:, 2] if motor.axis is None else np.array(motor.axis)
        x = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
        x /= np.linalg.norm(x)
        mount = Joint(
            f"rotor_of_{joint.name}_joint", "revolute", position, np.column_stack([x, np.cross(axis, x), axis])
        )
        It, Ia = motor.transverse_inertia, motor.axial_inertia
        inertia = np.diag([It, It, Ia])
        bodies.append(Link(f"rotor_of_{joint.name}", mount, carrier, motor.mass, np.zeros(3), inertia))
        rows.append(motor.gear_ratio * np.eye(2 * robot.n)[i + robot.n * robot.compliant[i]])
    made = Robot(f"explicit_{robot.name}", (*bare, *bodies), robot.gravity, robot.tool, allow_unphysical=True)
    return Explicit(made, np.array(rows))


def eliminated_exactly(robot: Robot, stack: np.ndarray, orders: fj.dynamics.Orders) -> list[Any]:
    """Motor torques of a chain with all joints elastic and their motors on the parent links, in 200 bits.

    Tip to base over the explicit bodies: with the motors beyond joint i known, its link torque and derivatives follow.
    """
    n = robot.n
    made = explicit(robot).robot
    with mpmath.workprec(PRECISION):
        top = orders.differentiations
        full = [[mpmath.mpf(float(x)) for x in row] + [mpmath.mpf(0)] * n for row in stack[: top + 3]]
        torque: list[Any] = [None] * n
        for i in reversed(range(n)):
            r = orders.joints[i].differentiations
            drive = robot.joints[i].drive
            found = link_torques(made, full, r)
            torque[i] = found[0][i]
            for k in range(r + 1):
                theta = full[k][i] + found[k][i] / mpmath.mpf(drive.stiffness)  # type: ignore[union-attr, arg-type]
                full[k][n + i] = theta * mpmath.mpf(drive.motor.gear_ratio)  # type: ignore[union-attr]
        shaft = link_torques(made, full, 0)[0][n:]
        ratios = [mpmath.mpf(joint.drive.motor.gear_ratio) for joint in robot.joints]  # type: ignore[union-attr]
        return [tau + eta * x for tau, eta, x in zip(torque, ratios, shaft)]
