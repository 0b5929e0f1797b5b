"""Controllers that suit a robot, and their initial numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..control.base import REGISTRY, Controller, Registration
from ..control.mid_period import MID_PERIOD, registered_controller
from ..drives import ElasticDrive
from ..dynamics.inertia import mass_matrix
from ..errors import FlexjointError, InputError, listed, quoted
from ..robot import Robot
from ..simulation.law_digests import code_of
from ..types import FloatArray

PREFERRED = ("feedforward_pd", "variable_stiffness_tracking", "motor_pd", "computed_torque")
RIGID = ("computed_torque",)  # of robots without springs
BANDWIDTH = 10.0  # 1/s, of the controllers at first
DAMPING_RATIO = 0.7
FIRST_NUMBERS = {"LAMBDA": BANDWIDTH, "POLE": -BANDWIDTH, "K_T": 0.5, "K_S": 1e-3, "GAMMA": 1.0}


def registered(name: str) -> Registration:
    """How a controller is registered; an InputError if there is none of that name."""
    kind = REGISTRY.get(name.removesuffix(MID_PERIOD))
    if kind is None or kind.registration is None:
        raise InputError(f"there is no controller {quoted(name)!r}; there are {listed(sorted(REGISTRY))}")
    return kind.registration


def made(name: str, robot: Robot, numbers: Sequence[float], period: float) -> Controller:
    """A registered controller with its numbers; an InputError if they or the robot do not suit it."""
    wanted = [x.name for x in registered(name).numbers]
    if len(numbers) != len(wanted):
        raise InputError(f"{name} takes {listed(wanted)}, not {len(numbers)} numbers")
    law = registered_controller(name, robot, list(numbers), period)
    if (law.robot.n, law.robot.motor_count) != (robot.n, robot.motor_count):
        raise InputError(f"{name} has another number of motors than {robot.name:.60}")
    return law


def unsuited(robot: Robot, q: FloatArray, period: float) -> dict[str, str]:
    """Why each registered controller does not suit a robot; "" for one that does."""
    found = {}
    for name in [x + end for x in sorted(REGISTRY) for end in ("", MID_PERIOD)]:
        try:
            made(name, robot, first_numbers(name, robot, q), period)
            found[name] = ""
        except FlexjointError as error:
            found[name] = str(error)
    return found


def preferred(robot: Robot, reasons: dict[str, str]) -> str:
    """Name of the initial controller."""
    order = PREFERRED if any(robot.compliant) else (*RIGID, *PREFERRED)
    suited = [name for name, reason in reasons.items() if not reason]
    if not suited:
        raise InputError(f"no controller suits the robot: {'; '.join(list(reasons.values())[:2])}")
    return next((name for name in order if name in suited), suited[0])


def first_numbers(name: str, robot: Robot, q: FloatArray) -> list[float]:
    """Numbers of a controller for the sizes of a robot, rounded; one number holds for all joints.

    K_P is the median stiffness of the springs, or what gives links on rigid joints the bandwidth; K_D damps the motors
    behind it.
    """
    drives = [joint.drive for joint in robot.joints]
    inertia = np.diag(mass_matrix(robot, q)) if robot.n else np.ones(1)
    reflected = np.array([sum(x.inertia for x in drive.motors) if drive else 0.0 for drive in drives] or [1.0])
    springs = [float(x.spring.curve(0.0).stiffness) for x in drives if isinstance(x, ElasticDrive)]
    moved = np.where(robot.compliant, reflected, inertia + reflected) if robot.n else reflected
    middle = float(np.median(moved)) or 1.0
    K_P = float(np.median(springs)) if springs else BANDWIDTH**2 * middle
    K_D = 2 * DAMPING_RATIO * math.sqrt(K_P * middle)
    found = []
    for gain in registered(name).numbers:
        torque = K_P if gain.unit.startswith("Nm/rad") else K_D
        found.append(FIRST_NUMBERS.get(gain.name, float(f"{torque:.2g}")))
    return found


def built_in(name: str, robot: Robot, numbers: Sequence[float], period: float) -> list[str]:
    """The numbers of a controller that are constants of its kernel: a new value needs a new kernel."""
    own, found = code_of(made(name, robot, numbers, period), "gains"), []
    for k, gain in enumerate(registered(name).numbers):
        other = [x * (1.01 if j == k else 1.0) + (0.01 if j == k and not x else 0.0) for j, x in enumerate(numbers)]
        if code_of(made(name, robot, other, period), "gains") != own:
            found.append(gain.name)
    return found
