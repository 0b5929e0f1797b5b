"""What is estimated of joints with two motors: numbers of their transmissions, inertia and friction of their motors."""

from __future__ import annotations

import dataclasses
import math

from ..drives import VariableStiffnessDrive, friction_law
from ..robot import Robot
from ..robot.parameters import found_in
from .parameters import Parameter, Unknowns, friction_parameters
from .spring_shapes import LINEAR

SPREAD = 2.0  # deviation of the logarithm of a number of a law, before any data


def law_numbers(robot: Robot, i: int) -> dict[str, float]:
    """Numbers of the transmission of joint i, by path."""
    start = f"{robot.joints[i].name}.drive."
    drive = robot.joints[i].drive
    assert drive is not None
    return {
        path: value
        for parameter in found_in(robot).values()
        if parameter.path.startswith(start) and not parameter.path.startswith((f"{start}motor_", f"{start}damping"))
        for path, value in parameter.numbers.items()
        if not path.startswith(f"{start}greatest_damping")
    }


def unknown_numbers(robot: Robot, friction: str, sensors: bool) -> Unknowns:
    """Everything that is estimated; the number of a motor stands for a joint."""
    found: list[Parameter] = []
    for i, joint in enumerate(robot.joints):
        drive = joint.drive
        if not isinstance(drive, VariableStiffnessDrive):
            continue
        path = f"{joint.name}.drive"
        units = {x: y.unit for y in found_in(robot).values() for x in y.elements}
        for name, value in law_numbers(robot, i).items():
            if value:
                found.append(Parameter(name, f"log {name}", i, units[name], math.log(abs(value)), SPREAD))
            else:
                found.append(Parameter(name, f"law {name}", i, units[name], 0.0, 1e3, known=False))
        torque, per = ("Nm", "rad") if joint.kind.angular else ("N", "m")
        found.append(Parameter(f"{path}.damping", "damping", i, f"{torque} s/{per}", float(drive.damping), 1e3))
        for k, motor in enumerate(drive.motors):
            j = motor_place(robot, i, k)
            own = f"{path}.motor_{k + 1}"
            torque, per = ("N", "m") if k and drive.slides else (torque, per)
            unit = "kg m²" if per == "rad" else "kg"
            found.append(Parameter(f"{own}.inertia", "inertia", j, unit, float(motor.inertia), 1e2))
            found.append(Parameter(f"{own}.torque_offset", "torque_offset", j, torque, 0.0, 1e2, False))
            found += [
                dataclasses.replace(x, name=x.name.replace(f"{path}.motor.", f"{own}."))
                for x in friction_parameters(j, path, friction_law(motor), friction, torque, per)
            ]
        if sensors:
            found.append(Parameter(f"{path}.sensor_offset", "sensor_offset", i, torque, 0.0, 1e2, False))
    return Unknowns(tuple(found), (friction,) * robot.n, "known", (LINEAR,) * robot.n)


def motor_place(robot: Robot, i: int, k: int) -> int:
    """Number of the k-th motor of joint i."""
    return [m for m, joint in enumerate(robot.motor_joints) if joint == i][k]
