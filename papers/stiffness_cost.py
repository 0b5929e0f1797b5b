"""Cost of inverse dynamics and control with variable stiffness, and the claims of [VSANEA sec. V, VI]."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexjoint.algorithm.compile import compile
from flexjoint.dynamics.inverse import inverse_dynamics, motor_motion
from flexjoint.dynamics.linearization import feedback_linearization
from flexjoint.formats import load
from flexjoint.robot import Robot
from flexjoint.robot.random_robots import random_robot
from flexjoint.trajectory import RestToRest

from .operation_counts import counted
from .report import AS_SAID, Claim, least_time, verdict

SECONDS = (1e-5, 1e-4)  # per evaluation, published
SIZES = (3, 6, 12, 24)  # joints of the chains whose operations are counted


def with_springs(robot: Robot) -> Robot:
    """The robot with the drive of joint 1 of the paper's arm at every joint."""
    return robot.with_drives([load("vsa_3r").joints[0].drive] * robot.n)


class Seconds(NamedTuple):
    """Times, s: per call of inverse dynamics and of the linearizing law from Python, per sample in a batch of 1000."""

    call: float
    law: float
    sample: float


def measured(robot: Robot) -> Seconds:
    """Times along a motion of 4 s."""
    n = robot.n
    q = RestToRest(np.zeros(n), np.linspace(0.3, -0.3, n), 4.0)(np.linspace(0.0, 4.0, 1000))
    sigma = np.stack([np.full((1000, n), 1000.0), np.zeros((1000, n)), np.zeros((1000, n))])
    point = [np.ascontiguousarray(x[300]) for x in (*q, *sigma)]
    at = motor_motion(robot, *point[:5], stiffness=point[5:])
    state = [point[0], point[1], at.theta, at.theta_v, point[4], point[7]]
    names = {
        "inverse": compile(inverse_dynamics, robot, stiffness=3),
        "law": compile(feedback_linearization, robot, stiffness_command=True),
        "point": point,
        "state": state,
        "stack": [*q, *sigma],
        "out": np.empty(robot.motor_count),
        "outs": np.empty((1000, robot.motor_count)),
    }
    return Seconds(
        least_time("inverse(*point, out=out)", names, 500),
        least_time("law(*state, out=out)", names, 500),
        least_time("inverse(*stack, out=outs)", names, 5) / 1000,
    )


def cost_claims(robot: Robot) -> list[Claim]:
    """Claims about times and operations."""
    three, seven = ([f"{x * 1e6:.2f}" for x in measured(x)] for x in (robot, with_springs(load("kuka_lwr"))))
    chains = (random_robot(n, seed=1, prismatic=0.0) for n in SIZES)
    operations = {chain.n: counted(inverse_dynamics, with_springs(chain), stiffness=3) for chain in chains}
    low, high = SECONDS
    slopes = [(operations[b] - operations[a]) / (b - a) for a, b in zip(list(operations)[:-1], list(operations)[1:])]
    return [
        Claim(
            "time of one evaluation; similar for seven joints",
            f"{low * 1e6:g} to {high * 1e6:g} µs",
            f"3R {three[0]} µs per call from Python, {three[2]} µs per sample in a batch; 7R with the LWR's kinematics "
            f"{seven[0]} and {seven[2]} µs",
            "faster, on another computer",
        ),
        Claim(
            "the linearizing law without root finding, in real time",
            "easily",
            f"3R {three[1]} µs, 7R {seven[1]} µs per call from Python",
            AS_SAID,
        ),
        Claim(
            "complexity grows linearly with the joints",
            "linear",
            f"operations of chains of {', '.join(map(str, operations))} joints: "
            f"{', '.join(map(str, operations.values()))}; one more joint costs {min(slopes):.0f} to {max(slopes):.0f}",
            verdict(max(slopes) < 1.01 * min(slopes)),
        ),
    ]
