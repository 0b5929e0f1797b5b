"""What holds for every kind of trajectory, and the check of smoothness."""

from __future__ import annotations

import math
import pickle
from functools import partial

import mpmath
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.drives import ElasticDrive, Motor
from support.warned import said

RNG = np.random.default_rng(5)
POINTS = RNG.normal(size=(6, 2))
TIMES = np.array([0.0, 0.4, 1.0, 1.3, 1.9, 2.5])
LOOP = np.vstack([POINTS[:-1], POINTS[:1]])
START, GOAL = POINTS[:2]
STAMPS = np.linspace(0.0, 2.5, 101)
RECORD = np.column_stack([np.sin(STAMPS), np.cos(1.3 * STAMPS)])
REST = fj.trajectory.RestToRest(START, GOAL, 2.0)
SWING = fj.trajectory.Sinusoid([0.5, 0.2], [[0.4], [1.1]], 0.3, 1.0)

BODIES = {"mass": [2.0, 1.0], "com": [[-0.2, 0, 0]] * 2, "inertia": [0.1 * np.eye(3)] * 2}
ARM = fj.from_dh("planar_2r", alpha=[0, 0], a=[0.5, 0.4], d=[0, 0], **BODIES)
LINE = fj.trajectory.Line(fj.forward_kinematics(ARM, [0.3, 0.9]), fj.forward_kinematics(ARM, [0.5, 1.3]))

KINDS = {
    "rest_to_rest": REST,
    "trapezoid": fj.trajectory.SmoothTrapezoid(START, GOAL, 2.0, ramp=0.3),
    "sinusoid": SWING,
    "spline": fj.trajectory.Spline(POINTS, TIMES),
    "spline_even": fj.trajectory.Spline(POINTS, TIMES, smoothness=4, degree=6),
    "spline_two_points": fj.trajectory.Spline(POINTS[:2], [0.0, 2.0]),
    "spline_periodic": fj.trajectory.Spline(LOOP, TIMES, ends="periodic"),
    "filtered_step": fj.trajectory.FilteredStep(START, GOAL, 0.1, order=5),
    "samples": fj.trajectory.Samples(STAMPS + 7.0, RECORD),
    "samples_smoothed": fj.trajectory.Samples(STAMPS, RECORD, order=2, cutoff=3.0),
    "scaled": REST.scaled(1.7),
    "retimed": SWING.retimed(fj.trajectory.RestToRest([0.0], [SWING.duration], 3.0, smoothness=4)),
    "time_law": REST.retimed(
        fj.trajectory.TimeLaw([0.0, 0.5, 1.2, 2.0], [1.5, 0.7, 0.4, 0.9, 1.3, 0.8, 1.1], degree=4)
    ),
    "joined": REST.then(fj.trajectory.RestToRest(GOAL, START, 1.5, smoothness=5)),
    "cartesian": fj.trajectory.CartesianMotion(ARM, LINE, [0.3, 0.9], duration=2.0, orientation="free"),
    "shaped": fj.trajectory.Shaped(REST, fj.trajectory.impulse_shaper("zv", [(2.5, 0.0)])),
}
BREAKS = {
    "rest_to_rest": [0.0, 2.0],
    "trapezoid": [0.0, 0.6, 1.4, 2.0],
    "sinusoid": [],
    "spline": [0.0, 0.2, 0.4, 1.0, 1.3, 1.9, 2.2, 2.5],
    "spline_even": [0.0, 2 / 15, 4 / 15, 0.7, 1.15, 1.6, 2.1, 2.3, 2.5],
    "spline_two_points": [0.0, 2 / 3, 4 / 3, 2.0],
    "spline_periodic": [0.0, 0.4, 1.0, 1.3, 1.9, 2.5],
    "filtered_step": [0.0],
    "samples": list(STAMPS[3:-3]),
    "samples_smoothed": list(np.linspace(0.0, 2.5, 96)[1:-1]),
    "scaled": [0.0, 3.4],
    "retimed": [0.0, 3.0],
    "time_law": [0.0, *KINDS["time_law"].law.times[1:]],
    "joined": [0.0, 2.0, 3.5],
    "cartesian": [0.0, 2.0],
    "shaped": [0.0, 0.2, 2.0, 2.2],
}
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
def test_dimensions_of_t_become_batch_dimensions(kind):
    trajectory = KINDS[kind]
    assert isinstance(trajectory, fj.trajectory.Trajectory)
    assert trajectory.n == 2
    grid = trajectory.duration * np.linspace(0.0, 1.0, 12).reshape(3, 4)
    stack = trajectory(grid)
    assert stack.shape == (1 + min(4, trajectory.smoothness + 1), 3, 4, 2)
    for i, j in np.ndindex(3, 4):
        assert np.array_equal(stack[:, i, j], trajectory(grid[i, j]))
    assert trajectory(0.3, order=0).shape == (1, 2)
    assert trajectory(np.zeros((0, 3)), order=2).shape == (3, 0, 3, 2)
    assert np.array_equal(trajectory([0.1, 0.7], order=7)[:3], trajectory([0.1, 0.7], order=2))


@each_kind
def test_each_row_is_the_derivative_of_the_row_before(kind):
    """By the integral: row k grows by the integral of row k + 1, Gauss-Legendre between the breaks."""
    trajectory = KINDS[kind]
    smooth = int(min(trajectory.smoothness, 5))
    edges = np.union1d(
        [x for x in BREAKS[kind] if 0 <= x <= trajectory.duration], np.linspace(0, trajectory.duration, 41)
    )
    x, w = np.polynomial.legendre.leggauss(12)
    half = np.diff(edges)[:, None] / 2
    inside = trajectory(edges[:-1, None] + half * (1 + x), order=smooth + 1)
    rise = np.einsum("kij...,ij->ki...", inside[1:], half * w)
    ends = trajectory(edges, order=smooth)
    for k in range(smooth + 1):
        scale = max(np.max(np.abs(ends[k])), trajectory.duration * np.max(np.abs(inside[k + 1])) * 1e-3)
        assert np.max(np.abs(np.diff(ends[k], axis=0) - rise[k])) <= 1e-11 * scale


@each_kind
def test_smoothness_is_what_is_found_at_the_breaks(kind):
    """Values just before and after a break differ by no more than the next derivative allows, or by a jump."""
    trajectory, breaks = KINDS[kind], np.array(BREAKS[kind])
    if not breaks.size:
        return
    s, h = int(trajectory.smoothness), 1e-9
    before, after = trajectory(breaks - h, order=s + 1), trajectory(breaks + h, order=s + 1)
    size = np.abs(trajectory(trajectory.duration * np.linspace(0, 1, 301), order=s + 1)).max(axis=(1, 2))
    jump = np.abs(after - before).max(axis=(1, 2))
    for k in range(s + 1):
        assert jump[k] <= 4 * h * size[k + 1] + 1e-10 * size[k]
    assert jump[s + 1] > 1e-4 * size[s + 1]


@each_kind
def test_torques_unpack_the_stack(kind):
    robot = fj.random_robot(2, 3)
    trajectory = KINDS[kind]
    t = trajectory.duration * np.linspace(0.0, 1.0, 5)
    assert fj.inverse_dynamics(robot, *trajectory(t)).shape == (5, 2)


@each_kind
def test_are_frozen_and_survive_pickling(kind):
    trajectory = KINDS[kind]
    with pytest.raises(AttributeError):
        trajectory.duration = 1.0
    t = trajectory.duration * np.array([0.2, 0.9])
    assert np.array_equal(pickle.loads(pickle.dumps(trajectory))(t), trajectory(t))


@each_kind
@pytest.mark.parametrize(
    ("t", "order", "message"),
    [
        (np.nan, 4, "t is nan"),
        ([0.0] * 20 + [np.inf], 4, r"t\[20\] is inf"),
        ("soon", 4, "real numbers"),
        (0.5, -1, "order is -1"),
        (0.5, 1.5, "order is 1.5"),
        (0.5, 101, "order is 101; the largest is 100"),
    ],
)
def test_bad_calls_are_refused_by_name(kind, t, order, message):
    with pytest.raises(fj.InputError, match=message) as error:
        KINDS[kind](t, order=order)
    assert str(error.value).startswith(type(KINDS[kind]).__name__)


def test_derivatives_beyond_the_doubles_are_no_silent_infinities():
    with pytest.raises(fj.NonFiniteError, match=r"Sinusoid: derivative \d+ exceeds"):
        fj.trajectory.Sinusoid([1.0], [1e5])(0.1, order=60)


# Smoothness -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def robot():
    plain = fj.random_robot(2, 3).without_drives()
    first, second = plain.links
    joint = fj.Joint(second.joint.name, second.joint.kind, second.joint.position, second.joint.rotation,
                     drive=ElasticDrive(100.0, Motor(0.1)))  # fmt: skip
    return plain.replace(
        links=(first, fj.Link(second.name, joint, second.parent, second.mass, second.com, second.inertia))
    )


def test_elastic_joints_need_three_continuous_derivatives(robot):
    fj.trajectory.require_smoothness(fj.trajectory.RestToRest(START, GOAL, 1.0, smoothness=3), robot=robot)
    with pytest.raises(fj.InputError) as error:
        fj.trajectory.require_smoothness(fj.trajectory.RestToRest(START, GOAL, 1.0, smoothness=2), robot=robot)
    message = str(error.value)
    assert "RestToRest is not smooth enough: it is C^2 only, its derivative 3 jumps" in message
    assert f"joint '{robot.joints[1].name}' is elastic" in message
    assert "needs C^3 with a bounded derivative 4: give smoothness=3 or more" in message
    fj.trajectory.require_smoothness(fj.trajectory.RestToRest(START, GOAL, 1.0, smoothness=1), robot=robot.rigid())
    with pytest.raises(fj.InputError, match=r"it is C\^0 only, .* needs C\^1 with a bounded derivative 2"):
        fj.trajectory.require_smoothness(fj.trajectory.RestToRest(START, GOAL, 1.0, smoothness=0), robot=robot.rigid())


@pytest.mark.parametrize(
    ("trajectory", "remedy"),
    [
        (fj.trajectory.Spline(POINTS, TIMES), "give smoothness=9"),
        (fj.trajectory.FilteredStep(START, GOAL, 0.1, order=9), "give order=10"),
        (fj.trajectory.Samples(STAMPS, RECORD), "give order=10"),
        (REST.scaled(2.0), "give smoothness=9"),
        (SWING.retimed(fj.trajectory.RestToRest([0.0], [1.0], 3.0)), "give smoothness=9"),
        (REST.then(fj.trajectory.FilteredStep(GOAL, START, 0.1)), "RestToRest: give smoothness=9"),
        (
            SWING.then(fj.trajectory.RestToRest(*SWING(SWING.duration, order=0)[[0, 0]], 1.0, smoothness=9)),
            "match 9 derivatives",
        ),
    ],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)
def test_the_remedy_is_named(trajectory, remedy):
    with pytest.raises(fj.InputError, match=remedy):
        fj.trajectory.require_smoothness(trajectory, order=10)


def test_a_motion_too_rough_for_springs_is_refused_by_inverse_dynamics(robot):
    """The arrays of a C^1 motion gave torques without the impulses of its jumps."""
    rough = fj.trajectory.RestToRest(START, GOAL, 1.0, smoothness=1)
    with pytest.raises(fj.InputError, match=r"is elastic and needs .* 2 derivatives were given; .* require_smoothness"):
        fj.inverse_dynamics(robot, *rough(0.5))
    assert rough(0.5).shape == (3, 2) and REST(0.5).shape == SWING(0.5).shape == (5, 2)
    assert said(lambda: fj.inverse_dynamics(robot.rigid(), *rough(0.5))) == []


def test_derivatives_beyond_a_jump_are_warned_of(robot):
    rough = fj.trajectory.RestToRest(START, GOAL, 1.0, smoothness=1)
    (message,) = said(lambda: fj.inverse_dynamics(robot, *rough(0.5, order=4)))
    assert "RestToRest is C^1 only: its derivative 2 jumps, and derivatives 3 to 4 are given without" in message
    assert "give smoothness=3 or more, or call it with order=2" in message
    (message,) = said(lambda: fj.trajectory.RestToRest(START, GOAL, 1.0, smoothness=2)(0.5, order=4))
    assert "derivative 4 is given" in message
    assert said(lambda: (REST(0.5, order=4), SWING(0.5, order=9), KINDS["samples"](0.5))) == []


def test_following_the_remedy_is_enough():
    fj.trajectory.require_smoothness(fj.trajectory.Spline(POINTS, TIMES, smoothness=9), order=10)
    fj.trajectory.require_smoothness(fj.trajectory.FilteredStep(START, GOAL, 0.1, order=10), order=10)
    fj.trajectory.require_smoothness(fj.trajectory.Samples(STAMPS, RECORD, order=10), order=10)
    fj.trajectory.require_smoothness(SWING, order=1000)


def test_what_the_check_needs(robot):
    with pytest.raises(fj.InputError, match="give the order needed, or the robot"):
        fj.trajectory.require_smoothness(REST)
    with pytest.raises(fj.InputError, match="require_smoothness takes trajectories, not ndarray"):
        fj.trajectory.require_smoothness(np.zeros(2), robot=robot)
    with pytest.raises(fj.InputError, match=r"RestToRest moves 1 joints; .* has 2"):
        fj.trajectory.require_smoothness(fj.trajectory.RestToRest([0.0], [1.0], 1.0), robot=robot)


# Single kinds -----------------------------------------------------------------------------------------------------


def test_sinusoids_against_high_precision():
    amplitude, frequency, phase = RNG.normal(size=(3, 4, 2))
    frequency = np.abs(frequency) + 0.1
    trajectory = fj.trajectory.Sinusoid(amplitude, frequency, phase, offset=[1.0, -2.0])
    assert trajectory.duration == pytest.approx(1 / frequency.min())
    t = 0.77
    with mpmath.workdps(40):

        def q(x, j):
            terms = zip(amplitude[:, j], frequency[:, j], phase[:, j])
            return [1, -2][j] + sum(mpmath.mpf(a) * mpmath.sin(2 * mpmath.pi * f * x + p) for a, f, p in terms)

        taylor = [mpmath.taylor(partial(q, j=j), t, 9) for j in range(2)]
        wanted = [[float(c[k] * mpmath.factorial(k)) for c in taylor] for k in range(10)]
    assert np.allclose(trajectory(t, order=9), wanted, rtol=1e-13, atol=0)


def test_a_fourier_series_is_a_sum_of_harmonics():
    cosine, sine = RNG.normal(size=(2, 5, 3))
    trajectory = fj.trajectory.Sinusoid.fourier(0.4, cosine, sine, offset=0.5)
    assert trajectory.duration == 2.5
    t = np.linspace(-1.0, 4.0, 17)
    angle = 2 * np.pi * 0.4 * np.arange(1, 6)[:, None] * t
    assert np.allclose(trajectory(t, order=0)[0], 0.5 + np.cos(angle).T @ cosine + np.sin(angle).T @ sine, atol=1e-13)
    assert np.allclose(trajectory(t + 2.5), trajectory(t), atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], [1.0, 2.0, 3.0]), "do not fit together"),
        (([1.0, 2.0], 0.0), "all must be positive"),
        (([1.0, 2.0], -1.0), "all must be positive"),
        (([1.0, np.nan], 1.0), "amplitude is .*nan"),
        (([1.0, 2.0], 1.0, 0.0, [1.0, 2.0, 3.0]), r"offset of shape \(3,\)"),
        ((np.ones((1, 2, 2)), 1.0), r"\(1, 2, 2\)"),
        (([1.0], 1.0, 0.0, 0.0, -1.0), "duration is -1.0"),
    ],
)
def test_bad_sinusoids_are_refused(arguments, message):
    with pytest.raises(fj.InputError, match=message):
        fj.trajectory.Sinusoid(*arguments)


def test_bad_series_are_refused():
    with pytest.raises(fj.InputError, match=r"both must be \(harmonics, n\)"):
        fj.trajectory.Sinusoid.fourier(1.0, [1.0], [1.0])
    with pytest.raises(fj.InputError, match="frequency is 0"):
        fj.trajectory.Sinusoid.fourier(0.0, [[1.0]], [[1.0]])


def horner(coefficients, x):
    value = mpmath.mpf(0)
    for c in reversed(coefficients):
        value = value * x + c
    return value


@pytest.mark.parametrize("smoothness", [15, 40, 100])
def test_high_orders_of_polynomials_keep_their_digits(smoothness):
    """Every derivative up to order 30 in 200-digit arithmetic; powers of x would lose all digits here."""
    x = np.linspace(0.0, 1.0, 21)
    stack = fj.trajectory.RestToRest([0.0], [1.0], 1.0, smoothness)(x, order=30)[..., 0]
    m = smoothness
    with mpmath.workdps(200):
        scale = (2 * m + 1) * mpmath.binomial(2 * m, m)
        rate = [mpmath.mpf(0)] * m + [(-1) ** j * mpmath.binomial(m, j) * scale for j in range(m + 1)]  # from x⁰ up
        for k in range(1, 31):
            wanted = np.array([float(horner(rate, mpmath.mpf(v))) for v in x])
            assert np.max(np.abs(stack[k] - wanted)) <= 1e-13 * np.max(np.abs(wanted)), k
            rate = [i * c for i, c in enumerate(rate)][1:]


def test_infinite_smoothness_is_of_sinusoids_alone():
    assert [kind for kind, x in KINDS.items() if x.smoothness == math.inf] == ["sinusoid"]
