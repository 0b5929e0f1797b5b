"""`simulate(base=...)`: a base that is tilted or lifted is another gravity; the same bits however it is run; refusals.

Tilting, turning and shaking against Pinocchio: tests/oracles/test_carried_robots.py.
"""

import dataclasses

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.trajectory.base import Trajectory
from support.errors import relative_error
from support.marks import some_long

ROBOT = fj.random_robot(2, 5, prismatic=0.0, elastic=1.0, friction=True, name="arm")
PENDULUM = fj.random_robot(1, 3, prismatic=0.0, elastic=1.0, friction=True, name="pendulum")
PD = fj.control.MotorPD(ROBOT, [400.0, 40.0])
GOAL = np.array([0.4, -0.3])
REST = fj.JointState(*np.zeros((4, 2)))
SHIP = fj.trajectory.Sinusoid([0.05, 0.1, 0.2, 0.3, 0.2, 0.4], 2.0, np.arange(6.0))
ARRAYS = ("q", "v", "theta", "theta_v", "tau")


@dataclasses.dataclass(frozen=True, eq=False)
class Accelerated(Trajectory):
    """x = a t²/2 + x₀."""

    a: np.ndarray
    start: np.ndarray
    n: int = 6
    duration: float = 1.0
    smoothness: float = np.inf

    def derivatives(self, t, order):
        stack = np.stack(
            [self.start + self.a * t[..., None] ** 2 / 2, self.a * t[..., None], self.a + 0 * t[..., None]]
        )
        return np.concatenate([stack, np.zeros((max(order - 2, 0), *stack.shape[1:]))])[: order + 1]

    def remedy(self, order):
        return ""


def run(robot=ROBOT, law=PD, **changes):
    return fj.simulate(
        robot, law, **{"reference": GOAL, "duration": 0.05, "start": REST, "base": SHIP, "check": False} | changes
    )


def same(a, b, rows=...):
    return all(np.array_equal(getattr(a, x)[rows], getattr(b, x)) for x in ARRAYS)


@pytest.mark.parametrize("integrator", some_long(["runge_kutta", "euler", "midpoint"], "euler", "midpoint"))
def test_a_tilted_lift_is_another_gravity(integrator):
    """No Pinocchio: Rᵀ(g − a) in place of g, written out."""
    a, (roll, pitch, yaw) = np.array([1.0, -2.0, 3.0]), np.array([0.3, -0.4, 0.5])
    c, s = np.cos, np.sin
    R_x = np.array([[1, 0, 0], [0, c(roll), -s(roll)], [0, s(roll), c(roll)]])
    R_y = np.array([[c(pitch), 0, s(pitch)], [0, 1, 0], [-s(pitch), 0, c(pitch)]])
    R_z = np.array([[c(yaw), -s(yaw), 0], [s(yaw), c(yaw), 0], [0, 0, 1]])
    felt = PENDULUM.with_gravity((R_z @ R_y @ R_x).T @ (PENDULUM.gravity - a))
    base = Accelerated(np.append(a, np.zeros(3)), np.array([0.1, 0.2, 0.3, roll, pitch, yaw]))
    start, law = fj.JointState(*np.zeros((4, 1))), fj.control.OpenLoop(PENDULUM)
    options = {"integrator": integrator, "substeps": 2, "start": start, "reference": [0.5]}
    moved, other = run(PENDULUM, law, base=base, **options), run(felt, law, base=None, **options)
    assert relative_error(moved.q, other.q) < 1e-12
    assert relative_error(moved.theta_v, other.theta_v) < 1e-12


@pytest.mark.long
def test_variable_stiffness_in_a_lift():
    robot = fj.load("vsa_3r")
    up = np.array([0.0, 0.0, 4.0])
    start, law = fj.simulation.at_rest(robot, [0.3] * 3, 900.0), fj.control.OpenLoop(robot)
    options = {"reference": np.zeros(6), "start": start, "duration": 0.1}
    moved = run(robot, law, base=Accelerated(np.append(up, np.zeros(3)), np.zeros(6)), **options)
    other = run(robot.with_gravity(robot.gravity - up), law, base=None, **options)
    assert relative_error(moved.q, other.q) < 1e-12


def test_same_bits_alone_in_a_batch_on_threads_and_continued():
    many = fj.JointState(*np.random.default_rng(1).uniform(-0.3, 0.3, (4, 20, 2)))
    batch, one = run(start=many), run(start=fj.JointState(*(x[7] for x in many)))
    assert same(batch, run(start=many, threads=2))
    assert same(batch, one, 7)
    assert batch.more["base"].shape == (20, 51, 6)
    first = run(start=fj.JointState(*(x[7] for x in many)), duration=0.02)
    rest = run(start=first, duration=0.03)
    assert all(np.array_equal(getattr(rest, x), getattr(one, x)[20:]) for x in ARRAYS)
    np.testing.assert_array_equal(rest.more["base"], SHIP(one.t, 0)[0][20:])


def test_a_controller_in_python():
    def law(t, state, reference, measurement):
        return PD((), reference[:1], measurement)

    law.order = PD.order
    for start in (REST, fj.JointState(*np.zeros((4, 9, 2)))):
        assert relative_error(run(law=law, start=start).q, run(start=start).q) < 1e-13


def test_adaptive_reference_solution():
    exact = fj.simulation.reference_solution(ROBOT, PD, GOAL, 0.05, start=REST, base=SHIP, period=2e-4)
    assert relative_error(run(hold=False, period=2e-4).q, exact.q) < 1e-8
    np.testing.assert_array_equal(exact.more["base"], SHIP(exact.t, 0)[0])


def test_stability_is_checked_at_rest():
    assert not run(check=True).diverged
    with pytest.raises(fj.InputError, match="unstable"):
        run(law=fj.control.MotorPD(ROBOT, [4e6, 40.0]), check=True, start=None)


def test_results(tmp_path):
    result = run()
    assert "Sinusoid" in result.provenance["base_trajectory"]
    fj.results.write_results(result, tmp_path / "run.csv")
    header = (tmp_path / "run.csv").read_text().splitlines()[0]
    assert "base.yaw" in header


@pytest.mark.parametrize(
    ("base", "message"),
    [
        (np.zeros(6), "give a Trajectory of x, y, z, roll, pitch, yaw"),
        (fj.trajectory.Sinusoid([0.1] * 3, 1.0), "has 3 columns; it must have 6"),
        (fj.trajectory.Samples(np.linspace(0.0, 1.0, 9), np.zeros((9, 6)), order=1), "not smooth enough"),
    ],
)
def test_refused(base, message):
    with pytest.raises(fj.InputError, match=message):
        run(base=base)


def test_free_gravity_is_refused():
    with pytest.raises(fj.InputError, match="gravity cannot be free"):
        run(free={"gravity": [0.0, 0.0, -9.0]})
