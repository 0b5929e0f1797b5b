"""Closed loops: the same bits however they are run, what happens to runs that diverge, and what is refused."""

import warnings
from importlib import import_module

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.simulation import closed_loop, loop_kernel as loops
from flexjoint.simulation.closed_loop import ClosedLoop

ROBOT = fj.random_robot(2, 5, prismatic=0.0, elastic=1.0, name="arm")
PD = fj.control.MotorPD(ROBOT, [400.0, 40.0])
GOAL = np.array([0.4, -0.3])
REST = fj.JointState(*np.zeros((4, 2)))
ARRAYS = ("q", "v", "theta", "theta_v", "tau")


def run(**changes):
    options = {"robot": ROBOT, "controller": PD, "reference": GOAL, "duration": 0.05, "start": REST, "check": False}
    return fj.simulate(**options | changes)


def same(a, b, rows=...):
    return all(np.array_equal(getattr(a, x)[rows], getattr(b, x), equal_nan=True) for x in ARRAYS)


def starts(count):
    return fj.JointState(*np.random.default_rng(1).uniform(-0.3, 0.3, (4, count, 2)))


def test_what_a_run_returns():
    result = run()
    assert result.t.shape == (51,)
    assert np.allclose(np.diff(result.t), 1e-3)
    assert all(getattr(result, x).shape == (51, 2) for x in ARRAYS)
    assert np.array_equal(result.q[0], REST.q)
    assert np.array_equal(result.last.q, result.q[-1])
    assert np.array_equal(result.reference, np.tile(GOAL, (51, 1)))
    assert np.allclose(result.tau[7], PD((), [GOAL], fj.JointState(*(x[7] for x in result.states)))[1], rtol=1e-12)


def test_same_bits_alone_in_a_batch_and_on_threads():
    many = starts(70)  # more than a block of lanes, and a rest
    batch = run(start=many)
    assert same(batch, run(start=many, threads=2))
    for k in (0, 1, 69):
        assert same(batch, run(start=fj.JointState(*(x[k] for x in many))), k)
    assert len(np.unique(batch.q[:, -1, 0])) == 70


def test_same_bits_in_other_blocks(monkeypatch):
    """And with more of the law precomputed from the reference, here all that can be."""
    whole = run(duration=0.053)
    monkeypatch.setattr(import_module("flexjoint.simulation.compiled_run"), "SINGLE", loops.Blocking(7, 0.0))
    monkeypatch.setattr(import_module("flexjoint.simulation.compiled_run"), "CHUNK", 16)
    assert same(whole, run(duration=0.053))


@pytest.mark.parametrize(
    "controller", [PD, fj.control.FeedbackLinearization(ROBOT, fj.control.gains_from_poles([-9.0] * 4), 1e-3)]
)
def test_same_bits_when_resumed(controller):
    trajectory = fj.trajectory.RestToRest([0.0, 0.0], GOAL, 0.05)
    whole = run(controller=controller, reference=trajectory)
    first = run(controller=controller, reference=trajectory, duration=0.023)
    second = run(controller=controller, reference=trajectory, start=first, duration=0.027)
    assert second.t[0] == first.t[-1]
    assert same(whole, first, slice(0, 24))
    assert same(whole, second, slice(23, None))


def test_resumed_under_another_controller():
    """Its memory is another one; from the last state a run begins anew."""
    law = fj.control.FeedbackLinearization(ROBOT, fj.control.gains_from_poles([-9.0] * 4), 1e-3)
    motion = fj.trajectory.RestToRest([0.0, 0.0], GOAL, 0.05)
    first = run(controller=PD, reference=motion, duration=0.01)
    with pytest.raises(fj.InputError, match="another controller, MotorPD, whose memory does not suit FeedbackLin"):
        run(controller=law, reference=motion, start=first, duration=0.01)
    assert np.array_equal(run(controller=law, reference=motion, start=first.last, duration=0.01).q[0], first.q[-1])


def test_resumed_on_a_robot_with_other_motors():
    lever = fj.drives.LeverDrive(1e4, 0.1, 0.03, 0.15, fj.Motor(0.5), fj.Motor(2.0))
    other = ROBOT.with_drives([lever, ROBOT.joints[1].drive])
    with pytest.raises(fj.InputError, match="another number of joints or motors"):
        fj.simulate(other, fj.control.OpenLoop(other), np.zeros(3), 0.01, start=run(duration=0.01))


def test_resumed_with_slower_actuators():
    """What was asked for before goes on while a command is on its way, and a lag begins there."""
    first = run(duration=0.01)
    late = run(start=first, duration=0.01, actuators=fj.simulation.Actuators(delay=3))
    assert np.array_equal(late.tau[:3], first.tau[[-1, -1, -1]])
    assert np.array_equal(late.tau[3:], late.more["command"][:-3])
    lagging = run(start=first, duration=0.01, actuators=fj.simulation.Actuators(bandwidth=100.0))
    wanted, x = lagging.more["command"][0], 100.0 * 1e-3
    assert np.allclose(lagging.tau[0], wanted + (first.tau[-1] - wanted) * (1 - np.exp(-x)) / x, rtol=1e-12)


def test_gains_and_parameters_for_each_row():
    """Rows with their own gains and stiffness are the runs of robots and controllers that have them."""
    gains = np.array([PD.gains, 0.5 * PD.gains])
    stiffness = np.array([[300.0], [500.0]])
    path = f"{ROBOT.joints[0].name}.drive.stiffness"
    batch = run(gains=gains, free={path: stiffness[:, 0]})
    for k in range(2):
        drive = fj.ElasticDrive(float(stiffness[k, 0]), ROBOT.joints[0].drive.motor)
        alone = run(
            robot=ROBOT.with_drives([drive, ROBOT.joints[1].drive]), controller=fj.control.MotorPD(ROBOT, gains[k])
        )
        assert np.allclose(batch.q[k], alone.q, rtol=0, atol=1e-12)
    assert np.max(np.abs(batch.q[0] - batch.q[1])) > 1e-3


def test_a_python_function_as_controller():
    def law(t, state, reference, measurement):
        return state, PD((), reference, measurement)[1]

    assert np.allclose(run(controller=law).q, run().q, rtol=0, atol=1e-13)


def test_a_python_controller_gets_the_time():
    times = []

    def law(t, state, reference, measurement):
        times.append(t)
        return state, np.zeros(2)

    first = run(controller=law, duration=0.02)
    assert times == first.t.tolist() and type(times[0]) is float
    second = run(controller=law, duration=0.01, start=first)
    assert times[21:] == second.t.tolist() and times[21] == 0.02


def test_what_a_python_controller_keeps_does_not_change():
    """Measurements and references of earlier periods are as they were."""
    kept = []

    def law(t, state, reference, measurement):
        kept.append((reference, measurement, [reference.copy(), *(x.copy() for x in measurement)]))
        return state, PD((), reference, measurement)[1]

    run(controller=law, reference=fj.trajectory.RestToRest([0.0, 0.0], GOAL, 0.05))
    for reference, measurement, before in kept:
        assert all(np.array_equal(x, y) for x, y in zip((reference, *measurement), before))


def test_a_python_controller_of_a_batch():
    """One law for all rows, which may return one torque for all; as many threads as one likes."""
    many = starts(70)

    def law(t, state, reference, measurement):
        assert measurement.q.shape == (70, 2)
        return state, PD((), np.broadcast_to(reference, (70, 3, 2)).swapaxes(0, 1), measurement)[1]

    whole = run(controller=law, start=many)
    assert same(whole, run(controller=law, start=many, threads=2))
    assert np.allclose(whole.q, run(start=many).q, rtol=0, atol=1e-13)
    still = run(controller=lambda t, state, reference, measurement: (state, np.ones(2)), start=many)
    assert np.array_equal(still.tau, np.ones((70, 51, 2)))
    with pytest.raises(fj.InputError, match=r"torque has shape \(3, 2\) at t = 0 s; it must be \(70, 2\) or \(2,\)"):
        run(controller=lambda t, state, reference, measurement: (state, np.ones((3, 2))), start=many)


def test_a_python_controller_sees_the_whole_batch_of_parameters():
    """From the first period on, also where only parameters differ from row to row."""
    shapes = set()

    def law(t, state, reference, measurement):
        shapes.add(measurement.q.shape)
        return state, np.zeros(2)

    path = f"{ROBOT.joints[0].name}.drive.stiffness"
    batch = run(controller=law, free={path: np.array([300.0, 400.0, 500.0])})
    assert shapes == {(3, 2)} and batch.q.shape == (3, 51, 2)


def test_a_python_controller_with_any_state():
    """An integrator kept in a dictionary goes on where it was."""

    class Integrating:
        order = 0

        def start(self, reference):
            return {"sum": np.zeros(2)}

        def __call__(self, t, state, reference, measurement):
            error = reference[0] - measurement.theta
            total = state["sum"] + 1e-3 * error
            return {"sum": total}, 100 * error + 500 * total - 10 * measurement.theta_v

    whole = run(controller=Integrating())
    assert np.max(np.abs(whole.memory["sum"])) > 1e-3
    first = run(controller=Integrating(), duration=0.02)
    second = run(controller=Integrating(), start=first, duration=0.03)
    assert same(whole, second, slice(20, None))


def test_a_payload_taken_up_on_the_way():
    first = run()
    loaded = ROBOT.with_payload(2.0, (0.1, 0.0, 0.0), 0.01 * np.eye(3))
    second = run(robot=loaded, start=first)
    assert np.array_equal(second.q[0], first.q[-1])
    assert np.max(np.abs(second.q[-1] - run(start=first).q[-1])) > 1e-3


def test_a_run_that_diverges_stops_and_leaves_the_others_alone():
    gains = np.stack([PD.gains] * 80)
    gains[3, 0] = [-4e5, 400.0]  # pushes the first motor away
    with pytest.warns(
        UserWarning, match=r"1 of 80 runs diverged; joint 'link1_joint' left all bounds at t = .* run \(3,\)"
    ):
        batch = run(gains=gains, duration=0.2)
    assert list(np.flatnonzero(batch.diverged)) == [3]
    assert batch.joint[3] == 0
    end = batch.periods[3]
    assert 1 < end < 200
    assert np.all(np.isfinite(batch.q[3, : end + 1]))
    assert np.all(np.isnan(batch.q[3, end + 1 :]))
    assert np.all(np.isfinite(np.delete(batch.q, 3, axis=0)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(batch, run(duration=0.2), 0)
    with pytest.warns(UserWarning, match="the run diverged"):
        alone = run(gains=gains[3], duration=0.2)
    assert same(batch, alone, 3) or np.array_equal(alone.q, batch.q[3, : len(alone.q)], equal_nan=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"robot": "arm"}, "robot must be a Robot"),
        ({"period": -1.0}, "period is -1.0"),
        ({"duration": None}, "no end; give a duration"),
        ({"duration": 0.0}, "duration is 0.0"),
        ({"integrator": "magic"}, "no integrator 'magic'; choose one of runge_kutta"),
        ({"substeps": 0}, "substeps is 0"),
        ({"hold": False, "substeps": 2}, "hold=False takes one step"),
        ({"reference": [0.0, 0.0, 0.0]}, r"reference has shape \(3,\)"),
        ({"reference": [np.nan, 0.0]}, "reference is .*finite"),
        ({"reference": fj.trajectory.RestToRest([0.0], [1.0], 1.0)}, "moves 1 joints"),
        ({"start": 3.0}, "start must be a JointState"),
        ({"start": fj.JointState(*np.full((4, 2), np.inf))}, r"start\.q"),
        ({"start": fj.JointState(*np.zeros((4, 3)))}, r"start\.q has shape \(3,\)"),
        ({"free": {"nothing.mass": 1.0}}, "nothing"),
        ({"free": {"link1.mass": np.nan}}, r"free\['link1.mass'\] is nan"),
        ({"gains": np.full((2, 2), np.inf)}, "gains is .*finite"),
        ({"gains": np.ones((3, 2))}, "gains"),
        ({"contact": lambda t, state: None}, "contact gave None; it must return wrenches"),
        ({"contact": lambda t, state: {"link1": [0.0] * 3}}, r"contact returned the wrench on 'link1' .*\(3,\)"),
        (
            {"observers": [fj.observers.VelocityEstimator(ROBOT, fj.observers.FilteredDerivative(1e-3, 50.0))]},
            "observers must be named",
        ),
    ],
)
def test_what_is_refused(changes, message):
    with pytest.raises(fj.InputError, match=message):
        run(**changes)


def test_another_period_than_the_controllers():
    law = fj.control.FeedbackLinearization(ROBOT, fj.control.gains_from_poles([-9.0] * 4), 1e-3)
    with pytest.raises(fj.InputError, match=r"period is 0.002 s, but the controller was made for 0.001 s"):
        run(controller=law, period=2e-3)


def test_the_loop_is_one_kernel():
    kernel = loops.loop_kernel(ClosedLoop(ROBOT, PD, 1e-3), loops.SINGLE).kernel
    assert [op.loop.turns for op in kernel.program.code if op.loop] == [loops.SINGLE.periods]


def test_other_gains_need_no_other_kernel(tmp_path, monkeypatch):
    setups = [ClosedLoop(ROBOT, fj.control.MotorPD(ROBOT, [k, k]), 1e-3) for k in (1.0, 2.0)]
    assert setups[0] == setups[1]
    assert loops.loop_kernel(setups[0], loops.SINGLE) is loops.loop_kernel(setups[1], loops.SINGLE)
    others = [ClosedLoop(ROBOT, fj.control.FeedforwardPD(ROBOT, PD.gains), 1e-3), ClosedLoop(ROBOT, PD, 2e-3)]
    assert len({x.key for x in (*setups, *others)}) == 3
    monkeypatch.setenv("FLEXJOINT_CACHE", str(tmp_path))
    loops.loop_kernel.cache_clear()
    fresh = run()
    assert list(tmp_path.rglob("*.*"))
    loops.loop_kernel.cache_clear()
    monkeypatch.setattr(closed_loop, "one_period", None)  # a kernel from the disk is not traced
    assert same(fresh, run())
    loops.loop_kernel.cache_clear()
