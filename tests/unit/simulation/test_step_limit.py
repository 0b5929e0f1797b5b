"""The longest stable step of each robot of a batch, and the joint that is too stiff for the step."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.simulation.closed_loop import Change, ClosedLoop, RunParameters
from flexjoint.simulation.step_limit import (
    ADDED,
    SAFE,
    check_steps,
    companion,
    spectral_bound,
    step_limits,
    surely_stable,
)

ROBOT = fj.random_robot(3, 5, prismatic=0.0, elastic=1.0, name="arm")
LAW = fj.control.FeedforwardPD(ROBOT, [40.0, 4.0])
NAMES = [joint.name for joint in ROBOT.joints]
PATHS = tuple(f"{name}.drive.stiffness" for name in NAMES)
NOMINAL = np.array([joint.drive.stiffness for joint in ROBOT.joints])
Q = np.array([0.3, -0.4, 0.5])


def poses(*q):
    return fj.JointState(*map(np.stack, zip(*(fj.simulation.at_rest(ROBOT, x) for x in q))))


def with_stiffness(values):
    return ROBOT.with_drives([fj.ElasticDrive(k, x.drive.motor) for k, x in zip(values, ROBOT.joints)])


def stiff_samples():
    """Each joint in turn so stiff that its mode is the fastest, and one robot as it is."""
    return np.stack([NOMINAL * np.where(np.arange(3) == i, 400.0, 1.0) for i in range(3)] + [NOMINAL])


def fastest(values, q=Q):
    return fj.control.joint_modes(with_stiffness(values), q).frequencies[-1]


def test_runge_kutta_limits_are_those_of_each_robot():
    values = stiff_samples()
    h = 3.2 / min(fastest(x) for x in values[:3])
    found = step_limits(ClosedLoop(ROBOT, LAW, h), PATHS, values, poses(Q))
    assert found.joint.tolist() == [0, 1, 2, -1] and np.isinf(found.longest[3])
    expected = [fj.control.runge_kutta_limit(with_stiffness(x), Q) for x in values[:3]]
    assert found.longest[:3] == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("integrator", "limit"), [("runge_kutta", 2 * np.sqrt(2)), ("euler", 2.0)])
@pytest.mark.parametrize("side", [0.98, 1.02])
def test_the_limit_lies_where_the_textbook_has_it(integrator, limit, side):
    frictionless = ROBOT.with_drives([fj.ElasticDrive(x.drive.stiffness, fj.Motor(0.5)) for x in ROBOT.joints])
    omega = fj.control.joint_modes(frictionless, Q).frequencies[-1]
    law = fj.control.FeedforwardPD(frictionless, [40.0, 4.0])
    for substeps in (1, 3):
        setup = ClosedLoop(frictionless, law, side * substeps * limit / omega, integrator, substeps)
        start = fj.simulation.at_rest(frictionless, Q)
        found = step_limits(setup, PATHS[:1], NOMINAL[None, :1], fj.JointState(*(x[None] for x in start)))
        assert bool(found.failed[0]) == (side > 1)
        if side > 1:
            assert found.longest[0] == pytest.approx(limit / omega, rel=0.02)


def test_the_worst_pose_counts():
    """A mode gets faster where the links behind it fold."""
    rng = np.random.default_rng(4)
    places = [rng.uniform(-2.0, 2.0, 3) for _ in range(6)]
    setup = ClosedLoop(ROBOT, LAW, 3.5 / fastest(NOMINAL))
    alone = [step_limits(setup, PATHS, NOMINAL[None], poses(q)).longest[0] for q in places]
    assert np.ptp(alone) > 0.01 * min(alone)
    assert step_limits(setup, PATHS, NOMINAL[None], poses(*places)).longest[0] == min(alone)


def test_a_stiff_friction_limits_too():
    """A real mode: −2.785 is the end of the stable interval of the real axis."""
    path = f"{NAMES[1]}.drive.motor.viscous_friction"
    motor = fj.Motor(0.5, viscous_friction=1.0)
    robot = ROBOT.with_drives([fj.ElasticDrive(x.drive.stiffness, motor) for x in ROBOT.joints])
    start = fj.simulation.at_rest(robot, Q)
    frictions = np.array([[1.0], [2.7 * 0.5 / 1e-3], [2.9 * 0.5 / 1e-3]])
    setup = ClosedLoop(robot, fj.control.FeedforwardPD(robot, [40.0, 4.0]), 1e-3)
    found = step_limits(setup, [path], frictions, fj.JointState(*(x[None] for x in start)))
    assert found.joint.tolist() == [-1, -1, 1]


def test_what_has_no_limit():
    values, h = stiff_samples(), 10.0 / fastest(NOMINAL)
    for options in ({"integrator": "midpoint"}, {"hold": False}):
        assert not step_limits(ClosedLoop(ROBOT, LAW, h, **options), PATHS, values, poses(Q)).failed.any()


def test_a_robot_that_falls_is_not_the_fault_of_its_step():
    upright = max((np.array([a, b, 0.0]) for a in (0.0, 1.6, 3.1) for b in (0.0, 1.6, 3.1)), key=potential)
    h = 2.7 / fastest(NOMINAL, upright)
    assert not step_limits(ClosedLoop(ROBOT, LAW, h), PATHS, NOMINAL[None], poses(upright)).failed.any()


def potential(q):
    return float(fj.gravity_energy(ROBOT, q))


def test_rows_do_not_depend_on_each_other(monkeypatch):
    values, setup = stiff_samples(), ClosedLoop(ROBOT, LAW, 3.2 / fastest(NOMINAL))
    whole = step_limits(setup, PATHS, values, poses(Q, 0 * Q))
    monkeypatch.setattr(import_module("flexjoint.simulation.step_limit"), "ROWS", 3)
    parts = step_limits(setup, PATHS, values, poses(Q, 0 * Q))
    assert np.allclose(whole.longest, parts.longest, rtol=1e-9) and np.array_equal(whole.joint, parts.joint)


@pytest.mark.parametrize("integrator", [*SAFE])
@pytest.mark.parametrize("damping", [0.0, 0.05, 0.5, 1.0, 2.0, 5.0])
def test_bounds_are_bounds(integrator, damping):
    """Oscillators of any damping within the bounds are stable, and no bound is below an eigenvalue."""
    size = np.abs(np.roots([1.0, 2 * damping, 1.0])).max()
    h = np.linspace(0.3, 4.0, 400) / size
    stiff, damped = -(h * h)[:, None, None], -(2 * damping * h)[:, None, None]
    Z = companion(stiff, damped)
    assert np.all(spectral_bound(Z) >= h * size * (1 - 1e-12))
    sure, added = surely_stable(integrator, stiff, damped), ADDED[integrator](Z, 1.0)(slice(None), np.ones(400))
    assert np.any(sure) and np.all(added[sure] <= 1e-9) and np.any(added > 1e-3)


# In simulate ------------------------------------------------------------------------------------------------------

STEP = 2.5 / fastest(NOMINAL)  # stable for the robot as it is
JOINT = NAMES[int(np.argmax(np.abs(fj.control.joint_modes(ROBOT, Q).links[-1])))]
PATH = f"{JOINT}.drive.stiffness"
BATCH = {PATH: fj.robot.robot_parameters(ROBOT)[PATH].value * np.array([0.9, 1.6])}


def run(**options):
    return fj.simulate(ROBOT, LAW, Q, 5 * STEP, period=STEP, start=fj.simulation.at_rest(ROBOT, Q), **options)


def test_a_batch_with_a_robot_too_stiff_is_refused():
    with pytest.raises(fj.InputError, match=rf"too long for joint '{JOINT}' .* in 1 of 2 .*first in run \(1,\)") as x:
        run(free=BATCH)
    assert str(x.value).endswith("take substeps=2, or check=False")
    for check in ("nominal", False):
        run(free=BATCH, check=check)
    run(free={PATH: BATCH[PATH][:1]})
    with pytest.raises(fj.InputError, match="check is 'some'"):
        run(check="some")


STIFFNESS = "*.drive.stiffness"


@pytest.mark.parametrize(
    ("names", "free", "changed", "what"),
    [
        ({"free": (PATH,), "substeps": 2}, [BATCH[PATH]], [], None),
        ({"free": (PATH,)}, [BATCH[PATH][1]], [], "with the parameters given: it is stable up to"),
        ({"changes": (PATH,)}, [], [BATCH[PATH][1]], "with the parameters given: it is stable up to"),
        ({"free": (PATH,), "changes": (PATH,)}, [BATCH[PATH][0]], [BATCH[PATH]], "in 1 of 2 runs"),
        ({"free": (PATH,), "changes": (PATH,)}, [BATCH[PATH][0]], [BATCH[PATH][0]], None),
        ({"free": (STIFFNESS, "gravity")}, [np.stack([NOMINAL, 1.7 * NOMINAL]), np.zeros(3)], [], "1 of 2 runs"),
        ({"free": (STIFFNESS, "gravity")}, [NOMINAL, np.zeros(3)], [], None),
    ],
)
def test_which_parameters_are_checked(names, free, changed, what):
    loop = ClosedLoop(ROBOT, LAW, STEP, **names)
    parameters = RunParameters(LAW.gains, free, [Change(np.array(2.0), x) for x in changed])
    if what is None:
        return check_steps(loop, parameters, fj.simulation.at_rest(ROBOT, Q))
    with pytest.raises(fj.InputError, match=f"is too long for joint '.*' .*{what}"):
        check_steps(loop, parameters, fj.simulation.at_rest(ROBOT, Q))
