"""What is estimated: one `Parameter` per number, with its unit and what is known of it beforehand.

The equations of a joint with a spring, at every sample:

    link:    Y(q, q', q'') π + passive(q, q') − K (θ − q) − D (θ' − q') − τ_0 = 0
    motor:   B θ'' + F(θ') + K (θ − q) + D (θ' − q') + τ_0 + τ_1 = τ
    sensor:  K (θ − q) + D_s (θ' − q') + τ_0 + τ_2 = c τ_e

K φ_0 = −τ_0 is the spring at rest behind the zeros of the encoders, τ_1 the zero of the motor torque, τ_2 and 1/c zero
and scale of the torque sensor, D_s the damping that it measures: none if it measures the deflection.  A spring that is
not linear (`spring_shapes.py`) has law(θ − q − φ_0) in place of K (θ − q) + τ_0.  A rigid joint has one equation,
Y π + passive + B q'' + F(q') + τ_1 = τ.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass, replace

import numpy as np

from ..drives import ElasticDrive, Friction, RigidDrive, friction_law
from ..dynamics.recursion.regressor import base_parameters
from ..errors import InputError
from ..robot import Joint, Robot
from ..types import FloatArray
from .spring_shapes import LINEAR, SpringShape, shape_of

VAGUE = 30.0  # deviation of a vague prior, relative to the value or its scale
ANCHORED = 1e-4  # standard deviation of a sensor scale that is taken as 1
VELOCITY_FACTOR = 1.5  # deviation of the logarithm of a friction velocity, before any data
BY_DIRECTION = "_by_direction"
ROWS = {"viscous": 1, "coulomb": 3, "stribeck": 5}  # parameters of a friction model
FRICTIONS = ("viscous", "coulomb", "stribeck", f"coulomb{BY_DIRECTION}", f"stribeck{BY_DIRECTION}")
LINKS = ("base", "payload", "known")
PAYLOAD = ("m", "h_x", "h_y", "h_z", "I_xx", "I_xy", "I_yy", "I_xz", "I_yz", "I_zz")


@dataclass(frozen=True)
class Parameter:
    """A number that is estimated.

    Args:
        name: Path in the robot, such as joint1.drive.stiffness, or another name if the robot has no such number.
        kind: What it is, such as stiffness.
        joint: Number of its joint, −1 without one.
        unit: Its unit.
        prior: Value before the estimation.
        deviation: Standard deviation of that value; a vague one is far larger than the value.
        known: Whether the robot states a prior value.
    """

    name: str
    kind: str
    joint: int
    unit: str
    prior: float
    deviation: float
    known: bool = True


@dataclass(frozen=True)
class Unknowns:
    """All parameters, and where they are by joint and kind.

    Args:
        parameters: In the order of the vector of values.
        friction: Law of each joint: one of FRICTIONS.
        links: One of LINKS.
        springs: Form of the spring law of each joint.
    """

    parameters: tuple[Parameter, ...]
    friction: tuple[str, ...]
    links: str
    springs: tuple[SpringShape, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", {(x.joint, x.kind): k for k, x in enumerate(self.parameters)})

    def at(self, joint: int, kind: str) -> int | None:
        """Place of a parameter; None if it is not estimated."""
        found: int | None = self._index.get((joint, kind))  # type: ignore[attr-defined]
        return found

    def place(self, joint: int, kind: str) -> int:
        """Place of a parameter that is estimated."""
        found = self.at(joint, kind)
        assert found is not None
        return found

    @property
    def bodies(self) -> list[int]:
        """Places of the parameters of the links, or of the payload."""
        return [k for k, x in enumerate(self.parameters) if x.kind in ("base", "payload")]

    @property
    def priors(self) -> FloatArray:
        """Values before the estimation."""
        return np.array([x.prior for x in self.parameters])


def unknowns(
    robot: Robot,
    friction: tuple[str, ...],
    links: str,
    motors: bool,
    sensors: bool,
    delay: bool,
    springs: tuple[SpringShape, ...] = (),
    anchored: Container[int] = (),
) -> Unknowns:
    """The parameters of a robot that a log with these channels may show.

    Args:
        robot: The robot, with its prior values.
        friction: Law of each motor.
        links: base, payload or known.
        motors: Whether motor torques are logged.
        sensors: Whether joint torques are logged.
        delay: Whether a delay of the motor torque is estimated.
        springs: Form of the spring law of each joint; by default all linear.
        anchored: Joints whose torque sensor has the scale 1; by default none.
    """
    springs = springs or (LINEAR,) * robot.n
    found: list[Parameter] = []
    for i, joint in enumerate(robot.joints):
        found += joint_parameters(
            i, joint, friction[i], springs[i], motors, sensors, ANCHORED if i in anchored else 10.0
        )
    if links == "base":
        table = base_parameters(robot)
        values = table.of(robot)
        scale = float(np.abs(values).max(initial=1e-3))
        for k, (name, value) in enumerate(zip(table.names, values)):
            unit = {"m": "kg", "h": "kg m"}.get(name.rpartition(".")[2].partition("_")[0], "kg m²")
            found.append(Parameter(name, "base", -1 - k, unit, float(value), VAGUE * max(abs(float(value)), scale)))
    if links == "payload":
        for k, name in enumerate(PAYLOAD):
            unit = {"m": "kg", "h": "kg m"}.get(name.partition("_")[0], "kg m²")
            found.append(Parameter(f"payload.{name}", "payload", -1 - k, unit, 0.0, 100.0, known=False))
    if delay:
        found.append(Parameter("torque_delay", "delay", -1, "s", 0.0, 1.0, known=False))
    return Unknowns(tuple(found), friction, links, springs)


def joint_parameters(
    i: int, joint: Joint, friction: str, spring: SpringShape, motors: bool, sensors: bool, scale_deviation: float
) -> list[Parameter]:
    """Those of one joint and its drive."""
    drive = joint.drive
    if drive is None:
        return []
    torque, per = ("Nm", "rad") if joint.kind.angular else ("N", "m")
    inertia = "kg m²" if joint.kind.angular else "kg"
    law, path = friction_law(drive.motors[0]), f"{joint.name}.drive"
    found: list[Parameter] = []

    def add(kind: str, name: str, unit: str, prior: float, scale: float, known: bool = True) -> None:
        found.append(Parameter(f"{path}.{name}", kind, i, unit, prior, VAGUE * scale, known))

    if isinstance(drive, ElasticDrive):
        K, D = float(drive.law.curve(0.0).stiffness), float(drive.damping)
        for kind, name, value, scale in spring.numbers(drive.law):
            unit = f"{torque}/{per}" if kind != "cubic" else f"{torque}/{per}³"
            add(kind, name, unit, value, scale, shape_of(drive.law) == spring)
        add("damping", "damping", f"{torque} s/{per}", D, max(D, 1e-2 * K))
        if spring.bent:
            add("spring_zero", "deflection_offset", per, 0.0, 1e-2, False)
        else:
            add("spring_offset", "deflection_offset", per, 0.0, 1e-2 * K, False)
    if motors:
        B = float(drive.motors[0].inertia)
        add("inertia", "motor.inertia", inertia, B, max(B, 1.0))
        add("torque_offset", "torque_offset", torque, 0.0, 10.0, False)
        found += friction_parameters(i, path, law, friction, torque, per)
    if sensors and isinstance(drive, ElasticDrive):
        if motors:
            found.append(Parameter(f"{path}.sensor_scale", "sensor_scale", i, "1", 1.0, scale_deviation, False))
        add("sensor_offset", "sensor_offset", torque, 0.0, 10.0, False)
        add("sensor_damping", "sensor_damping", f"{torque} s/{per}", 0.0, max(D, 1e-2 * K), False)
    return found


def friction_parameters(i: int, path: str, law: Friction, friction: str, torque: str, per: str) -> list[Parameter]:
    """Those of the friction of a motor; velocities are estimated by their logarithms."""
    path, v_c, rises = f"{path}.motor.friction", law.velocity or 0.01, law.static is not None
    rise, v_s = (law.static or law.coulomb) - law.coulomb, law.stribeck_velocity or 10 * v_c
    rows = [
        ("viscous", "viscous", f"{torque} s/{per}", law.viscous, law.present),
        ("coulomb", "coulomb", torque, law.coulomb, law.present),
        ("log_velocity", "velocity", f"{per}/s", math.log(v_c), bool(law.velocity)),
        ("rise", "static", torque, rise, rises),
        ("log_stribeck", "stribeck_velocity", f"{per}/s", math.log(v_s), rises),
    ][: ROWS[friction.removesuffix(BY_DIRECTION)]]
    found = []
    for kind, name, unit, prior, known in rows:
        spread = VELOCITY_FACTOR if kind.startswith("log") else VAGUE * max(prior, 10.0)
        found.append(Parameter(f"{path}.{name}", kind, i, unit, prior, spread, known))
    if friction.endswith(BY_DIRECTION):
        back = law.backward or law
        priors = {"viscous": back.viscous, "coulomb": back.coulomb, "rise": (back.static or 0.0) - back.coulomb}
        for x in [x for x in found if x.kind in priors]:
            name = x.name.replace(".friction.", ".friction.backward.")
            found.append(replace(x, name=name, kind=f"{x.kind}_backward", prior=max(priors[x.kind], 0.0)))
    return found


def check_robot(robot: Robot) -> None:
    """Refuse robots whose drivetrain has no such equations.

    Raises:
        InputError: A joint has two motors, joints share motors, or rotors couple.
    """
    if robot.transmissions:
        raise InputError(
            f"{robot.name}: identification of coupled transmissions is not available; identify one joint at a time"
        )
    if robot.fidelity != "spong" and any(isinstance(x.drive, ElasticDrive) for x in robot.joints):
        raise InputError(
            f"{robot.name}: identification takes rotors as reflected inertias; give robot.with_fidelity('spong')"
        )
    for joint in robot.joints:
        if joint.drive is not None and not isinstance(joint.drive, ElasticDrive | RigidDrive):
            raise InputError(
                f"{robot.name}: joint '{joint.name}' has two motors; identify takes rigid and elastic drives, "
                "fj.identification.identify_variable_stiffness estimates the laws of such joints"
            )
