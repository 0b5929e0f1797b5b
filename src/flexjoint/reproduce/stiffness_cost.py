"""What inverse dynamics and control with variable stiffness cost, beside the claims of [VSANEA sec. V, VI]."""

from __future__ import annotations

import timeit
from typing import NamedTuple

import numpy as np

from ..algorithms.variable_stiffness import (
    variable_stiffness_inverse_dynamics,
    variable_stiffness_linearization,
    variable_stiffness_motion,
)
from ..api import compile
from ..loading import load
from ..random_robots import random_robot
from ..robot import Robot
from ..trajectory import RestToRest
from .report import AS_SAID, Claim

SECONDS = (1e-5, 1e-4)  # an evaluation, as the paper says
SIZES = (3, 6, 12, 24)  # joints of the chains whose operations are counted


def with_springs(robot: Robot) -> Robot:
    """All joints driven as joint 1 of the paper's arm."""
    return robot.with_drives([load("vsa_3r").joints[0].drive] * robot.n)


def counted(robot: Robot) -> int:
    algorithm = variable_stiffness_inverse_dynamics
    program, _ = algorithm.trace(robot, algorithm.structure(robot))
    return program.operations


class Seconds(NamedTuple):
    """Of one call from Python: inverse dynamics, the linearizing law; of one sample where a call takes 1000."""

    call: float
    law: float
    sample: float


def measured(robot: Robot) -> Seconds:
    """The least of many repetitions; other programs can only add to it."""
    n = robot.n
    q = RestToRest(np.zeros(n), np.linspace(0.3, -0.3, n), 4.0)(np.linspace(0.0, 4.0, 1000))
    sigma = np.stack([np.full((1000, n), 1000.0), np.zeros((1000, n)), np.zeros((1000, n))])
    point = [np.ascontiguousarray(x[300]) for x in (*q, *sigma)]
    at = variable_stiffness_motion(robot, *point)
    state = [point[0], point[1], at.phi_1, at.phi_2, at.phi_1_v, at.phi_2_v, point[4], point[7]]
    names = {
        "inverse": compile(variable_stiffness_inverse_dynamics, robot),
        "law": compile(variable_stiffness_linearization, robot),
        "point": point,
        "state": state,
        "stack": [*q, *sigma],
        "out": (np.empty(n), np.empty(n)),
        "outs": (np.empty((1000, n)), np.empty((1000, n))),
    }

    def least(statement: str, number: int) -> float:
        return min(timeit.repeat(statement, globals=names, number=number, repeat=30)) / number

    sample = least("inverse(*stack, out=outs)", 5) / 1000
    return Seconds(least("inverse(*point, out=out)", 500), least("law(*state, out=out)", 500), sample)


def cost_claims(robot: Robot) -> list[Claim]:
    three, seven = ([f"{x * 1e6:.2f}" for x in measured(x)] for x in (robot, with_springs(load("kuka_lwr"))))
    operations = {n: counted(with_springs(random_robot(n, seed=1, prismatic=0.0))) for n in SIZES}
    low, high = SECONDS
    slopes = [(operations[b] - operations[a]) / (b - a) for a, b in zip(list(operations)[:-1], list(operations)[1:])]
    return [
        Claim(
            "time of one evaluation; similar for seven joints",
            f"{low * 1e6:g} to {high * 1e6:g} µs",
            f"3R {three[0]} µs a call from Python, {three[2]} µs a sample in a batch; 7R with the LWR's kinematics "
            f"{seven[0]} and {seven[2]} µs",
            "faster, on another computer",
        ),
        Claim(
            "the linearizing law without root finding, in real time",
            "easily",
            f"3R {three[1]} µs, 7R {seven[1]} µs a call from Python",
            AS_SAID,
        ),
        Claim(
            "complexity grows linearly with the joints",
            "linear",
            f"operations of chains of {', '.join(map(str, operations))} joints: "
            f"{', '.join(map(str, operations.values()))}; a joint more costs {min(slopes):.0f} to {max(slopes):.0f}",
            AS_SAID,
        ),
    ]
