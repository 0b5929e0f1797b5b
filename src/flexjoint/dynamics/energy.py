"""Energy and momentum of links and motors, in one velocity and one momentum sweep, O(N)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..algorithm.algorithm import algorithm
from ..algorithm.form import Call, Form
from ..algorithm.signals import Signal
from ..drives import ElasticDrive, VariableStiffnessDrive
from ..robot import Robot
from ..spatial import ca, cross, sx, total, zeros
from ..springs import Spring
from ..types import Expression, FloatArray
from .drivetrain.coupling import on_links
from .drivetrain.passive import parallel_energy
from .drivetrain.rotors import motor_inertias
from .drivetrain.transmission import of_joints, of_motors, second_motors, spring_deflections
from .recursion.bodies import bodies, link_frames, moving_bodies, rigid_motor_torque, rotors, tied_rotors
from .recursion.energy import body_momentum, carrier_velocity, spins, subtree_momenta, turned_along
from .recursion.kinematics import along_joints, poses, velocities

MOMENTUM = "kg m²/s | kg m/s"


class LinksAndMotors(NamedTuple):
    """A quantity over (q, θ): of the links (..., n) and of the motors (..., motors), 0 at rigid joints."""

    links: Expression | FloatArray
    motors: Expression | FloatArray


class SpatialMomentum(NamedTuple):
    """Linear momentum, and angular momentum about the base origin, in base coordinates, (..., 3) each."""

    linear: Expression | FloatArray
    angular: Expression | FloatArray


def links_and_motors(unit: str) -> dict[str, Signal]:
    """Shapes of a LinksAndMotors."""
    return {"links": Signal(("n",), unit), "motors": Signal(("motors",), unit)}


def energy_form(robot: Robot, options: Mapping[str, Any]) -> Form:
    """With motors also their velocities."""
    if options["motors"]:
        return Form(("q", "v", "theta_v"), "energy", reason="with motors=True")
    return Form(("q", "v"), "energy")


def momentum_form(robot: Robot, options: Mapping[str, Any]) -> Form:
    """With motors also their velocities."""
    if options["motors"]:
        return Form(("q", "v", "theta_v"), LinksAndMotors, links_and_motors(MOMENTUM), "with motors=True")
    return Form(("q", "v"), "momentum")


@algorithm(energy_form)
def kinetic_energy(
    robot: Robot, q: Expression, v: Expression, theta_v: Expression, *, motors: bool = False
) -> Expression:
    """½ vᵀ M(q) v: kinetic energy of the links and of the motors that turn rigidly with them; with `motors` of all.

    Args:
        q, v: Position and velocity of the links, (..., n).
        theta_v: Only with `motors`: velocity of the motors, (..., motors); ignored at rigid joints.
        motors: False by default; True adds the motors behind springs, ½ (v, θ')ᵀ[[M, S], [Sᵀ, B]](v, θ').

    Returns:
        (...), J.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> float(fj.kinetic_energy(fj.load("kuka_lwr"), np.zeros(7), np.zeros(7)))
        0.0
    """
    tree = moving_bodies(robot)
    motions = velocities(tree, q, v)
    energy = ca.dot(rigid_motor_torque(robot, v), v)
    for spin in spins(robot, v, theta_v):
        energy += 2 * ca.dot(carrier_velocity(motions, spin.rotor), spin.momentum)
    for body, motion in zip(tree, motions):
        linear, angular = body_momentum(body.inertia, motion)
        energy += ca.dot(linear, motion.v) + ca.dot(angular, motion.omega)
    for k in robot.motors_behind_springs if motors else ():
        energy += motor_inertias(robot)[k] * theta_v[k] ** 2
    return energy / 2


@algorithm("energy")
def gravity_energy(robot: Robot, q: Expression) -> Expression:
    """Potential energy of the links in gravity; that of all springs is `spring_energy`.

    Args:
        q: Position of the links, (..., n).

    Returns:
        (...), J; zero where all mass lies in the base origin.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> float(fj.gravity_energy(fj.load("kuka_lwr"), np.zeros(7))) > 0
        True
    """
    tree = bodies(robot)
    placed = zip(tree, poses(tree, q))
    moments = [body.inertia.m * pose.position + pose.rotation @ body.inertia.h for body, pose in placed]
    return -ca.dot(sx(robot.gravity), total(moments))


def springs_with_energy(call: Call) -> str | None:
    """Laws and designs that give their energy, as all of flexjoint do."""
    for joint in call.robot.joints:
        drive = joint.drive
        law = drive.spring if isinstance(drive, ElasticDrive) else drive
        if isinstance(law, Spring | VariableStiffnessDrive) and not law.has_energy:
            return (
                f"joint '{joint.name}' has {type(law).__name__}, which gives torques alone; add `energy`, the integral "
                "of its torque from rest, to its class, and to those of its springs"
            )
    return None


@algorithm("energy", requires=(springs_with_energy,))
def spring_energy(robot: Robot, q: Expression, theta: Expression) -> Expression:
    """Elastic energy U_e of all springs, from their deflections  [VSANEA (8)]; parallel springs included.

    τ_k = ∂U_e/∂φ_k is the torque of a spring on its motor, −∂U_e/∂q the torque of all springs on the link.  With
    `kinetic_energy(..., motors=True)` and `gravity_energy` it makes up the energy of a robot, which grows by the power
    of the motors and falls by friction and damping.

    Args:
        q: Position of the links, (..., n).
        theta: Position of the motors, (..., motors), after the reduction; ignored at rigid joints.

    Returns:
        (...), J; zero where no spring is deflected, and without springs.

    Raises:
        InputError: A law or a drive written outside flexjoint does not give its energy.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> robot = fj.load("kuka_lwr")
        >>> round(float(fj.dynamics.spring_energy(robot, np.zeros(7), np.full(7, 0.01))), 9)  # 7 · ½ · 1000 · 0.01²
        0.35
    """
    phi, second = spring_deflections(robot, q, theta), second_motors(robot)
    energy = parallel_energy(robot, q)
    for i, joint in enumerate(robot.joints):
        if isinstance(joint.drive, VariableStiffnessDrive):
            energy += joint.drive.energy(phi[i], phi[second[i]])
        elif isinstance(joint.drive, ElasticDrive):
            energy += joint.drive.spring.energy(phi[i])
    return energy


@algorithm(momentum_form)
def generalized_momentum(
    robot: Robot, q: Expression, v: Expression, theta_v: Expression, *, motors: bool = False
) -> Expression | LinksAndMotors:
    """p = M(q) v without computing M; with `motors` M v + S θ' of the links and Sᵀv + B θ' of the motors.

    Args:
        q, v: Position and velocity of the links, (..., n).
        theta_v: Only with `motors`: velocity of the motors, (..., motors); ignored at rigid joints.
        motors: False by default.

    Returns:
        (..., n), kg m²/s or kg m/s; with `motors` LinksAndMotors(links, motors).

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.generalized_momentum(fj.load("kuka_lwr"), *np.ones((2, 7))).shape
        (7,)
    """
    tree = moving_bodies(robot)
    moving = velocities(tree, q, v)
    links = along_joints(tree, subtree_momenta(tree, q, moving, spins(robot, v, theta_v)))
    if not motors:
        links += rigid_motor_torque(robot, v)
        turned = zeros(robot.n)
        for rotor in tied_rotors(robot):
            (links if rotor.follows else turned)[rotor.coordinate] += turned_along(rotor, moving)
        return links + on_links(robot, turned)
    carried, still = zeros(robot.motor_count), zeros(robot.n)
    for rotor in rotors(robot):
        (links if rotor.follows else carried)[rotor.coordinate] += turned_along(rotor, moving)
    links += rigid_motor_torque(robot, v) + of_joints(robot, still, on_links(robot, carried))
    return LinksAndMotors(links, of_motors(robot, motor_inertias(robot) * theta_v + carried, still))


@algorithm(SpatialMomentum)
def spatial_momentum(robot: Robot, q: Expression, v: Expression) -> SpatialMomentum:
    """Linear momentum of all links, and their angular momentum about the base origin, in base coordinates.

    In the complete model with the spin of the motors that turn rigidly with their joints.

    Args:
        q, v: Position and velocity of the links, (..., n).

    Returns:
        SpatialMomentum(linear, angular), (..., 3) each, kg m/s and kg m²/s.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.spatial_momentum(fj.load("kuka_lwr"), *np.ones((2, 7))).linear.shape
        (3,)
    """
    tree = bodies(robot)
    placed = poses(tree, q)
    linear, angular = zeros(3), zeros(3)
    for spin in spins(robot, v, place=link_frames(robot)):
        k = spin.rotor.body
        angular += placed[k].rotation @ spin.momentum if k >= 0 else spin.momentum
    for body, motion, pose in zip(tree, velocities(tree, q, v), placed):
        l, k = (pose.rotation @ x for x in body_momentum(body.inertia, motion))
        linear, angular = linear + l, angular + k + cross(pose.position, l)
    return SpatialMomentum(linear, angular)
