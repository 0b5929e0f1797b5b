"""The stability check of `simulate` against runs of links and rotors by Lagrange's equations, with complete rotors.

Loops are drawn over stable and unstable regions.  Each is thrown a little off its rest; whether the deviation grows is
compared with the verdict.  Arms are without gravity, so that none falls over by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, NamedTuple

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from support.explicit_plant import Plant
from support.rotors import lbr, with_random_rotors

START = 1e-6  # rad
SHORT, LEAST, MOST = 5e-4, 1.0, 6.0  # s, of a step and of a run


def floating(robot):
    return robot.with_gravity([0.0, 0.0, 0.0])


@cache
def robot_of(name):
    if name == "dlr_lbr2":
        return floating(fj.load(name))
    kind, n, seed = name.split()
    if kind == "orthogonal":  # coaxial motors on the parent links, gear ratios of 100
        return floating(lbr(int(n)))
    made = fj.random_robot(int(n), int(seed), prismatic=0.2 * (kind == "tree"), tree=kind == "tree")
    return floating(with_random_rotors(made, int(seed), elastic=0.7))


class Case(NamedTuple):
    """A loop: robot, controller, gains, rest and period."""

    robot: str
    controller: str
    gains: tuple[float, ...]
    q: tuple[float, ...]
    period: float

    def made(self):
        robot = robot_of(self.robot)
        if self.controller == "FeedbackLinearization":
            r = fj.dynamics.chain_length(robot)
            gains = fj.control.gains_from_poles([self.gains[0]] * r)
            return fj.control.FeedbackLinearization(robot, gains, self.period)
        return getattr(fj.control, self.controller)(robot, list(self.gains))


def drawn(seed):
    rng = np.random.default_rng(seed)
    robots = [f"{kind} {n} {seed % 7}" for kind in ("chain", "tree") for n in (1, 2, 3)] + ["orthogonal 2 0"]
    robots += ["orthogonal 3 0"] * 3
    robot = str(rng.choice(robots))
    controllers = ["MotorPD", "FullStateFeedback", "MixedInverseDynamics", "FeedforwardPD", "FeedbackLinearization"]
    controller = str(rng.choice(controllers))
    K_P, K_D = 10 ** rng.uniform(1.0, 5.0), 10 ** rng.uniform(-0.5, 3.7)
    gains = {
        "FeedbackLinearization": (-(10 ** rng.uniform(0.5, 2.0)),),
        "FullStateFeedback": (K_P, K_D, 10 ** rng.uniform(-1.0, 1.0), 10 ** rng.uniform(-3.5, -1.5)),
        "MixedInverseDynamics": (K_P, K_D, 10 ** rng.uniform(1.0, 4.5), 10 ** rng.uniform(0.0, 3.0)),
    }.get(controller, (K_P, K_D))
    q = rng.uniform(-1.0, 1.0, robot_of(robot).n)
    return Case(robot, controller, tuple(gains), tuple(q), float(rng.choice([5e-4, 1e-3, 4e-3])))


def refused(case):
    """Whether the check refuses the loop, and why."""
    robot = robot_of(case.robot)
    steps = max(1, round(case.period / SHORT))
    try:
        fj.simulate(robot, case.made(), case.q, 2 * case.period, period=case.period, substeps=steps)
    except fj.InputError as error:
        assert "unstable" in str(error), error
        return str(error)
    return ""


@cache
def step_of(name):
    """(x, τ, h) -> x after a Runge-Kutta step of links and rotors, x = [q, θ, q', θ']."""
    robot = robot_of(name)
    n, plant = robot.n, Plant(robot)
    rigid = np.flatnonzero(~np.array(robot.compliant)).tolist()
    x, tau, h = ca.SX.sym("x", 4 * n), ca.SX.sym("tau", n), ca.SX.sym("h")
    M, b = plant.terms(x[plant.kept], x[[2 * n + k for k in plant.kept]], tau)
    found = ca.solve(M, b)
    theta_v, theta_a = x[3 * n :], ca.SX.zeros(n)
    for place, k in enumerate(plant.kept[n:], n):
        theta_a[k - n] = found[place]
    for i in rigid:
        theta_v[i], theta_a[i] = x[2 * n + i], found[i]
    rate = ca.Function("rate", [x, tau], [ca.vertcat(x[2 * n : 3 * n], theta_v, found[:n], theta_a)])
    one = rate(x, tau)
    two = rate(x + h / 2 * one, tau)
    three = rate(x + h / 2 * two, tau)
    return ca.Function("step", [x, tau, h], [x + h / 6 * (one + 2 * two + 2 * three + rate(x + h * three, tau))])


def diverges(case):
    """Whether a small deviation grows under held torques."""
    robot, controller, step = robot_of(case.robot), case.made(), step_of(case.robot)
    n, steps = robot.n, max(1, round(case.period / SHORT))
    h, q = case.period / steps, np.array(case.q)
    rest = np.concatenate([q, q, np.zeros(2 * n)])
    reference = np.vstack([q, np.zeros((controller.order, n))])
    off = START * np.random.default_rng(1).normal(size=n)
    x, memory, sizes = rest + np.concatenate([off, off, np.zeros(2 * n)]), controller.start(reference), []
    for k in range(round(MOST / case.period)):
        q, theta, v, theta_v = x.reshape(4, n)
        memory, tau = controller(memory, reference, fj.JointState(q, v, theta, theta_v))
        for _ in range(steps):
            x = np.array(step(x, tau, h))[:, 0]
        sizes.append(np.max(np.abs(x - rest)[: 2 * n]))
        if not sizes[-1] < 1e4 * START:
            return True
        quarter = k // 4
        if k * case.period > LEAST and k % 100 == 0 and max(sizes[-quarter:]) < 0.5 * max(sizes[:quarter]):
            return False
    return max(sizes[-quarter:]) > 1.5 * max(sizes[:quarter])


FAST = (109, 118, 119, 141, 148)
FIFTY = [pytest.param(seed, marks=[pytest.mark.long] * (seed not in FAST)) for seed in range(100, 150)]


@pytest.mark.parametrize("seed", FIFTY)
def test_verdict_is_what_becomes_of_a_deviation(seed):
    case = drawn(seed)
    assert bool(refused(case)) == diverges(case), case


TURNING = np.array([[500.0] * 2, [5.0] * 2])


@dataclass(frozen=True, eq=False, repr=False)
class Turning(fj.control.Controller):
    """A PD controller that pushes instead of pulling where the reference is beyond π/2."""

    robot: fj.Robot
    gains: np.ndarray

    gain_names: ClassVar = ["K_P", "K_D"]
    order: ClassVar = 0

    def law(self, gains, state, reference, measurement):
        error = reference[0] - measurement.theta
        return state, gains[0] * ca.cos(reference[0]) * error - gains[1] * measurement.theta_v


def test_a_controller_that_is_unstable_at_every_period_is_refused():
    robot = robot_of("orthogonal 2 0")
    law = Turning(robot, TURNING)
    assert np.all(np.isfinite(fj.simulate(robot, law, [0.5, 0.5], 0.1).q))
    with pytest.raises(fj.InputError, match=r"with Turning the loop is unstable at rest at .* however"):
        fj.simulate(robot, law, [2.5, 0.5], 0.1)


def test_a_loop_that_becomes_unstable_along_its_reference_is_refused():
    robot = robot_of("orthogonal 2 0")
    law = Turning(robot, TURNING)
    motion = fj.trajectory.RestToRest([0.5, 0.5], [2.5, 0.5], 4.0)
    with pytest.raises(fj.InputError, match=r"unstable at rest where the reference is at t = 3 s, however short"):
        fj.simulate(robot, law, motion)
    assert np.all(np.isfinite(fj.simulate(robot, law, motion, 1.0).q))


def test_arm_with_seven_joints():
    """Gains that were passed and ran to 1e14 Nm with the complete model; Spong's names a period."""
    arm = fj.load("dlr_lbr2")
    gains, goal = [2000.0, 200.0, 2000.0, 200.0], np.zeros(7)
    with pytest.raises(fj.InputError):
        fj.simulate(arm, fj.control.MixedInverseDynamics(arm, gains), goal, 0.01, period=1e-3)
    spong = arm.with_fidelity("spong")
    with pytest.raises(fj.InputError, match="take a period of at most"):
        fj.simulate(spong, fj.control.MixedInverseDynamics(spong, gains), goal, 0.01, period=1e-3)
