"""Trajectories as polynomials on the robot: against the trajectories themselves, and inside a loop."""

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.algorithm.compile import kernel_of
from flexjoint.compiler.ir.program import Array
from flexjoint.deployment.pieces import expression, pieces_of
from flexjoint.spatial import ca

ORDER, PERIOD = 4, 1e-3
SWING = fj.trajectory.Sinusoid([0.3, 0.2], 0.5, duration=3.0)
MOTIONS = {
    "rest to rest": fj.trajectory.RestToRest([0.0, 1.0], [0.5, -0.4], duration=2.0),
    "spline": fj.trajectory.Spline([[0.0, 1.0], [0.5, 0.2], [0.1, 0.4]], [0.0, 0.7, 1.5]),
    "joined": fj.trajectory.RestToRest([0.0, 1.0], [0.5, -0.4], duration=1.0).scaled(0.7),
    "retimed sinusoid": SWING.retimed(fj.trajectory.RestToRest([0.0], [3.0], duration=4.0)),
}


@pytest.mark.parametrize("name", MOTIONS)
def test_the_program_is_the_trajectory(name):
    motion = MOTIONS[name]
    pieces = pieces_of(motion, ORDER)

    def function(t):
        return [(Array("x", (ORDER + 1, 2)), ca.horzcat(*expression(pieces, t, ORDER)).T)]

    kernel = kernel_of("a motion", [Array("t", ())], function)
    t = np.linspace(0.0, motion.duration, 997)
    found, expected = np.moveaxis(np.array([kernel(x)[0] for x in t]), 1, 0), motion(t, ORDER)
    inside = np.min(np.abs(t[:, None] - pieces.knots), axis=1) > 1e-6  # at knots the fourth derivative may jump
    for k in range(ORDER + 1):
        error = np.abs(found[k] - expected[k])[inside if k == ORDER else slice(None)]
        assert error.max() <= 2 * 10.0 ** (k - 10) * np.abs(expected[k]).max()
    before, after = kernel(-1.0)[0], kernel(motion.duration + 1.0)[0]
    assert not before[1:].any() and not after[1:].any()
    np.testing.assert_allclose([before[0], after[0]], motion([0.0, motion.duration], 0)[0], atol=1e-12)


def test_a_polynomial_is_one_piece():
    assert len(pieces_of(MOTIONS["rest to rest"], ORDER).knots) == 2


def test_a_loop_follows_it_without_a_host():
    """From a late first stamp on, with a sample that cannot be used: the torques of a loop with the reference given."""
    robot = fj.load("hua_3r")
    motion = fj.trajectory.RestToRest([0.0] * 3, [0.4, 0.5, -0.6], duration=0.0305)
    law = fj.control.FeedforwardPD(robot, [500.0, 50.0])
    alone = fj.deployment.online_loop(law, trajectory=motion, period=PERIOD, limits=False)
    led = fj.deployment.online_loop(law, period=PERIOD, limits=False)
    assert "reference" not in [x.name for x in alone.inputs]
    one, two, begin = alone.start(), led.start(), 12.5
    for k in range(40):
        seen = {x.name: np.full(x.shape, 0.01 * k) for x in alone.inputs} | {"t": begin + k * PERIOD}
        if k == 7:
            seen["theta"] = np.full(3, np.nan)
        one, a = alone.step(one, seen)
        two, b = led.step(two, seen | {"reference": motion(min(k * PERIOD, 0.04), law.order)})
        np.testing.assert_allclose(a["tau"], b["tau"], rtol=1e-9, atol=1e-8)
        assert a["flags"] == b["flags"]


@pytest.mark.parametrize(
    ("motion", "message"),
    [
        (fj.trajectory.Sinusoid([0.3] * 3, 0.5, duration=1.1), "moves at its ends"),
        (fj.trajectory.RestToRest([0.0] * 2, [0.4] * 2, duration=1.0), "has 2 columns"),
        (fj.trajectory.RestToRest([0.0] * 3, [0.4] * 3, duration=1.0, smoothness=1), "not smooth enough"),
        (3, "trajectory is 3"),
    ],
)
def test_motions_that_cannot_be_followed_are_named(motion, message):
    law = fj.control.FeedforwardPD(fj.load("hua_3r"), [500.0, 50.0])
    with pytest.raises(fj.InputError, match=message):
        fj.deployment.online_loop(law, trajectory=motion, period=PERIOD, limits=False)
