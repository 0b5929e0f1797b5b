"""Controllers with observers as components: against `simulate`, against the laws themselves, with unusable samples."""

from dataclasses import replace

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.deployment import Flag, online_loop
from flexjoint.observers.stamps import RESTART

PERIOD = 1e-3


@pytest.fixture(scope="module")
def robot():
    return fj.load("hua_3r")


@pytest.fixture(scope="module")
def regulated(robot):
    return online_loop(fj.control.MotorPD(robot, [500.0, 50.0]), period=PERIOD, limits=False)


def sample(component, t, value=0.1, **others):
    """Inputs that are all equal, but for the time and what is named."""
    given = {x.name: np.full(x.shape, value) for x in component.inputs}
    return given | {"t": t} | others


def run(component, samples):
    """Torques and flags of a series of samples."""
    state, rows = component.start(), []
    for given in samples:
        state, found = component.step(state, given)
        rows.append((found["tau"], Flag(int(found["flags"]))))
    return rows


def test_it_gives_the_torques_of_a_simulation(robot):
    """With the samples of a run, bit for bit: controller, estimator started at rest, observers."""
    motion = fj.trajectory.RestToRest(np.zeros(3), [0.3, 0.6, -0.9], duration=0.2)
    law = fj.control.FeedforwardPD(robot, [500.0, 50.0])
    watch = fj.observers.JointTorqueResidual(robot, 50.0, 50.0, sensors=False)
    found = fj.simulate(robot, law, motion, 0.2, period=PERIOD, observers={"watch": watch})
    component = online_loop(law, observers={"watch": watch}, limits=False)
    references = np.moveaxis(motion(found.t, order=law.order), 0, 1)
    state = component.start()
    for k, t in enumerate(found.t):
        given = {name: getattr(found, name)[k] for name in ("q", "v", "theta", "theta_v")}
        state, now = component.step(state, given | {"t": t, "reference": references[k]})
        assert np.array_equal(now["tau"], found.tau[k])
        assert np.array_equal(now["watch_link"], found.more["watch.link"][k])


def test_an_estimator_replaces_measurements(robot):
    law = fj.control.MotorPD(robot, [500.0, 50.0])
    slope = fj.observers.FilteredDerivative(PERIOD, cutoff=500.0)
    component = online_loop(law, estimator=fj.observers.VelocityEstimator(robot, slope), limits=False)
    assert [x.name for x in component.inputs] == ["t", "theta", "reference"]  # no q: the law reads no link
    state = component.start()
    q_d, rate, theta = np.full(3, 0.2), np.zeros(3), np.zeros(3)
    keep = np.exp(-500.0 * PERIOD)
    for k in range(5):
        before, theta = theta, np.array([0.01, -0.02, 0.03]) * k
        rate = keep * rate + (1 - keep) * (theta - before) / PERIOD if k else rate
        given = {"t": k * PERIOD, "theta": theta, "reference": q_d[None]}
        state, found = component.step(state, given)
        _, expected = law((), [q_d], fj.JointState(theta, np.zeros(3), theta, rate))
        np.testing.assert_allclose(found["tau"], expected, rtol=1e-12)


def test_only_what_the_laws_read_is_an_input(regulated):
    assert [x.name for x in regulated.inputs] == ["t", "theta", "theta_v", "reference"]
    assert [x.name for x in regulated.parameters] == ["K_P", "K_D"]


def test_nan_and_late_stamps_hold_the_torque_and_then_release_it(regulated):
    good = [sample(regulated, k * PERIOD, 0.1 * k) for k in range(3)]
    bad = [sample(regulated, (3 + k) * PERIOD, theta=np.array([0.0, np.nan, 0.0])) for k in range(12)]
    rows = run(regulated, [*good, sample(regulated, PERIOD), *bad, sample(regulated, 15 * PERIOD, 0.4)])
    last = rows[2][0]
    assert [x for _, x in rows[:3]] == [Flag.FIRST, Flag(0), Flag(0)]
    assert rows[3][1] == Flag.STALE | Flag.HELD and np.array_equal(rows[3][0], last)
    for k, (tau, flags) in enumerate(rows[4:-1], 2):  # periods without a usable sample
        held = k <= 10
        assert flags == Flag.INVALID | (Flag.HELD if held else Flag.RELEASED)
        assert np.array_equal(tau, last if held else np.zeros(3))
    assert rows[-1][1] == Flag(0) and np.any(rows[-1][0])


def test_missing_samples_are_reported(regulated):
    rows = run(regulated, [sample(regulated, t) for t in (0.0, 0.001, 0.004, 0.005)])
    assert [x for _, x in rows] == [Flag.FIRST, Flag(0), Flag.MISSED, Flag(0)]


def test_a_clock_that_is_set_back_counts_after_some_samples(regulated):
    times = [5.0, 5.001, *(PERIOD * np.arange(RESTART + 3))]
    flags = [x for _, x in run(regulated, [sample(regulated, t) for t in times])]
    assert flags[2 : 2 + RESTART] == [Flag.STALE | (Flag.HELD if k < 10 else Flag.RELEASED) for k in range(RESTART)]
    assert flags[2 + RESTART :] == [Flag.RESTARTED, Flag(0), Flag(0)]


def test_time_that_is_no_number_is_ignored(regulated):
    flags = [x for _, x in run(regulated, [sample(regulated, t) for t in (0.0, np.nan, np.inf, 0.003)])]
    assert flags[:3] == [Flag.FIRST, Flag.INVALID | Flag.HELD, Flag.INVALID | Flag.HELD]
    assert flags[3] == Flag.MISSED


def test_numbers_may_change_at_run_time(robot):
    residual = fj.observers.MomentumResidual(fj.random_robot(3, 1, elastic=0.0), 50.0)
    detector = fj.observers.Detector(residual, {"residual": 1.0})
    component = online_loop(
        fj.control.ComputedTorque(residual.robot, [100.0, 20.0]),
        observers={"watch": detector},
        free=("link3.mass",),
        limits=False,
    )
    assert [x.name for x in component.parameters] == ["K_0", "K_1", "threshold", "link3.mass"]
    heavy = fj.control.ComputedTorque(
        residual.robot.replace(links=[replace(x, mass=4.0) if x.name == "link3" else x for x in residual.robot.links]),
        [80.0, 20.0],
    )
    changed = {"link3.mass": 4.0, "K_0": np.full(3, 80.0), "threshold": np.full(3, 0.5)}
    given = {x.name: np.full(x.shape, 0.1) for x in component.inputs} | {"t": 0.0}
    _, found = component.step(component.start(), given, changed)
    z = np.full(3, 0.1)
    _, expected = heavy((), [z, z, z], fj.JointState(z, z, z, z))
    np.testing.assert_allclose(found["tau"], expected, rtol=1e-13)


@pytest.mark.parametrize("name", sorted(fj.control.REGISTRY))
def test_every_registered_controller(name):
    """The first step is that of the controller after its start."""
    kind = fj.control.REGISTRY[name]
    others = {"variable_stiffness_tracking": "vsa_3r", "structure_preserving": "kuka_lwr"}
    robot = fj.load(others.get(name, "hua_3r"))
    gains = [100.0] * len(kind.registration.gains) if kind.registration.gains else [-10.0]
    law = kind.from_numbers(robot, gains, PERIOD)
    component = online_loop(law, period=PERIOD, limits=False)
    reference = np.full((law.order + 1, law.width), 0.1)
    reference[0, robot.n :] = 200.0
    given = {x.name: np.full(x.shape, 0.1) for x in component.inputs} | {"t": 0.0, "reference": reference}
    if name == "variable_stiffness_tracking":
        given["theta"] = np.array([0.2, 0.2, 0.2, 0.0, 0.0, 0.0])
    _, found = component.step(component.start(), given)
    links, motors = np.full(robot.n, 0.1), np.full(robot.motor_count, 0.1)
    fields = {"q": links, "v": links, "theta": motors, "theta_v": motors}
    fields |= {key: x for key, x in given.items() if key in fields}
    _, tau = law(law.start(list(reference)), list(reference), fj.JointState(**fields))
    np.testing.assert_allclose(found["tau"], tau, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "there is nothing to run"),
        ({"controller": 3}, "controller is 3"),
        ({"observers": {"watch": 3}}, "observer 'watch' is 3"),
        ({"controller": "law"}, "period is missing"),
        ({"controller": "law", "period": -1.0}, "period"),
        ({"controller": "law", "period": PERIOD, "patience": 0.0}, "patience"),
        ({"controller": "law", "period": PERIOD, "free": ("link9.mass",)}, "link9.mass"),
        ({"estimator": "slope"}, "an estimator serves a controller"),
        ({"observers": {"a b": "slope"}}, "names an observer in C"),
    ],
)
def test_bad_input_is_named(robot, arguments, message):
    slope = fj.observers.FilteredDerivative(PERIOD, cutoff=500.0)
    known = {"law": fj.control.MotorPD(robot, [500.0, 50.0]), "slope": fj.observers.VelocityEstimator(robot, slope)}

    def filled(x):
        if isinstance(x, dict):
            return {key: filled(y) for key, y in x.items()}
        return known.get(x, x) if isinstance(x, str) else x

    given = {key: filled(x) for key, x in arguments.items()}
    with pytest.raises(fj.InputError, match=message):
        online_loop(given.pop("controller", None), **given, limits=False)


def test_inputs_are_named_when_missing(regulated):
    with pytest.raises(fj.InputError, match="input reference is missing"):
        regulated.step(regulated.start(), {"t": 0.0, "theta": np.zeros(3), "theta_v": np.zeros(3)})
    with pytest.raises(fj.InputError, match="there is no parameter K_X"):
        regulated.step(regulated.start(), sample(regulated, 0.0), {"K_X": 1.0})
