"""Sensors, actuators and observers in the loop, recomputed from the recorded run by NumPy alone."""

from dataclasses import replace
from importlib import import_module

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.simulation.loop_kernel import Blocking
from support.marks import some_long
from support.noise import by_integers

ROBOT = fj.random_robot(2, 5, prismatic=0.0, elastic=1.0, name="arm")
PD = fj.control.MotorPD(ROBOT, [100.0, 5.0])
GOAL = np.array([0.4, -0.3])
REST = fj.JointState(*np.zeros((4, 2)))
SENSORS = fj.simulation.Sensors(
    link_resolution=(1e-4, 3e-4),
    motor_resolution=2e-5,
    link_noise=5e-4,
    motor_noise=(1e-4, 0.0),
    velocity_noise=2e-3,
    torque_noise=0.1,
)
ACTUATORS = fj.simulation.Actuators(effort=(25.0, 30.0), bandwidth=(400.0, np.inf), delay=2)
ESTIMATOR = fj.observers.VelocityEstimator(ROBOT, fj.observers.FilteredDerivative(1e-3, 300.0))
EVERYTHING = {
    "sensors": SENSORS,
    "actuators": fj.simulation.Actuators(effort=25.0, bandwidth=400.0, delay=1),
    "estimator": ESTIMATOR,
    "observers": {"other": fj.observers.VelocityEstimator(ROBOT, fj.observers.KalmanDifferentiator(1e-3, 1e-3, 10.0))},
    "stops": fj.simulation.EndStops(2e3, 0.3),
    "seed": 11,
}


def with_limits(*limits):
    return ROBOT.replace(links=[replace(x, joint=replace(x.joint, limits=y)) for x, y in zip(ROBOT.links, limits)])


def run(**changes):
    options = {"robot": ROBOT, "controller": PD, "reference": GOAL, "duration": 0.06, "start": REST, "check": False}
    return fj.simulate(**options | changes)


def arrays(result):
    return {name: getattr(result, name) for name in ("q", "v", "theta", "theta_v", "tau")} | result.more


def same(a, b, rows=...):
    other = arrays(b)
    return all(np.array_equal(x[rows], other[name], equal_nan=True) for name, x in arrays(a).items())


def commands(result, **replaced):
    """What the law says to what was measured."""
    seen = {x: result.more[f"measured.{x}"] for x in fj.JointState._fields} | replaced
    return PD((), [np.broadcast_to(GOAL, result.q.shape)], fj.JointState(**seen))[1]


def normals(seed, row, steps, channels):
    """(steps, channels) by integers."""
    groups = np.arange(-(-channels // 4))
    counter = np.zeros((len(steps), len(groups), 4), dtype=np.uint64)
    counter[..., 0], counter[..., 1], counter[..., 2] = row, steps[:, None], groups
    w = by_integers(counter, np.array([seed % 2**32, seed // 2**32], dtype=np.uint64)).astype(float)
    radius, angle = np.sqrt(-2 * np.log((w[..., ::2] + 0.5) / 2**32)), 2 * np.pi * w[..., 1::2] / 2**32
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1).reshape(len(steps), -1)[:, :channels]


def nearest(x, step):
    return step * np.floor(x / step + 0.5)


def test_noise_and_encoders():
    result = run(sensors=SENSORS, seed=11)
    noise = normals(11, 0, np.arange(61), 10)
    noise[0] = 0.0
    springs = np.array([joint.drive.stiffness for joint in ROBOT.joints]) * (result.theta - result.q)
    wanted = {
        "q": nearest(result.q + 5e-4 * noise[:, :2], np.array([1e-4, 3e-4])),
        "v": result.v + 2e-3 * noise[:, 2:4],
        "theta": nearest(result.theta + np.array([1e-4, 0.0]) * noise[:, 4:6], 2e-5),
        "theta_v": result.theta_v + 2e-3 * noise[:, 6:8],
        "tau_e": springs + 0.1 * noise[:, 8:],
    }
    for name, x in wanted.items():
        assert np.allclose(result.more[f"measured.{name}"], x, rtol=0, atol=1e-9), name
    assert np.allclose(result.tau, commands(result), rtol=0, atol=1e-9)
    assert np.std(noise[1:]) > 0.8


def test_delay_and_sample_rate():
    """Every third period a sample, seen four periods later; velocities are differences of samples."""
    sensors = fj.simulation.Sensors(link_resolution=1e-5, velocities="differenced", every=3, delay=4)
    result = run(sensors=sensors)
    taken = 3 * ((np.arange(61) - 4) // 3)  # the sample that is seen
    before = np.maximum(taken, 0)
    q = nearest(result.q, 1e-5)
    assert np.allclose(result.more["measured.q"], q[before], rtol=0, atol=1e-12)
    assert np.array_equal(result.more["measured.theta"], result.theta[before])
    rate = (q[before] - q[np.maximum(taken - 3, 0)]) / 3e-3
    assert np.allclose(result.more["measured.v"], rate, rtol=0, atol=1e-9)


def test_actuators():
    result = run(actuators=ACTUATORS, duration=0.1)
    command = result.more["command"]
    late = command[np.maximum(np.arange(101) - 2, 0)]
    asked = np.clip(late, [-25.0, -30.0], [25.0, 30.0])
    assert np.max(np.abs(late[:, 0])) > 26
    assert np.allclose(result.tau[:, 1], asked[:, 1], rtol=0, atol=1e-12)
    behind = asked[0, 0]
    for k in range(101):  # the lag by small steps of its differential equation, exact in the limit
        t = np.linspace(0, 1e-3, 1001)
        course = asked[k, 0] + (behind - asked[k, 0]) * np.exp(-400.0 * t)
        assert result.tau[k, 0] == pytest.approx(np.trapezoid(course, t) / 1e-3, abs=1e-5)
        behind = course[-1]
    assert np.allclose(command, PD((), [np.broadcast_to(GOAL, command.shape)], result.states)[1], rtol=0, atol=1e-9)


def test_effort_limits_of_the_robot():
    tight = with_limits(fj.Limits(effort=3.0), fj.Limits())
    result = run(robot=tight, actuators=fj.simulation.Actuators())
    assert np.max(np.abs(result.tau[:, 0])) == 3.0
    assert np.array_equal(result.tau[:, 1], result.more["command"][:, 1])


@pytest.mark.parametrize("kind", some_long(["filtered", "kalman"], "kalman"))
def test_an_estimator_feeds_the_law(kind):
    own = {
        "filtered": fj.observers.FilteredDerivative(1e-3, 300.0),
        "kalman": fj.observers.KalmanDifferentiator(1e-3, 1e-3, 10.0),
    }[kind]
    result = run(sensors=SENSORS, estimator=fj.observers.VelocityEstimator(ROBOT, own))
    state = own.start(result.more["measured.theta"][0], result.theta_v[0])
    for k, x in enumerate(result.more["measured.theta"][1:], 1):
        state, _ = own(state, x)
        assert np.allclose(result.more["estimator.theta_v"][k], state.rate, rtol=0, atol=1e-9)
    assert np.allclose(result.tau, commands(result, theta_v=result.more["estimator.theta_v"]), rtol=0, atol=1e-9)


def test_observers_look_on():
    """They change no bit of the run; called alone they say the same."""
    plain, watched = run(sensors=SENSORS), run(sensors=SENSORS, observers={"rate": ESTIMATOR})
    assert same(plain, run(sensors=SENSORS))
    assert all(np.array_equal(x, arrays(watched)[name]) for name, x in arrays(plain).items())
    measured = [watched.more[f"measured.{x}"] for x in fj.observers.Measurement._fields]
    state, outputs = ESTIMATOR.start(fj.observers.Measurement(*(x[0] for x in measured)))
    assert np.array_equal(outputs["v"], watched.more["rate.v"][0])
    for k in range(1, 61):
        state, outputs = ESTIMATOR(state, fj.observers.Measurement(*(x[k] for x in measured)), watched.tau[k - 1])
        assert np.allclose(outputs["v"], watched.more["rate.v"][k], rtol=0, atol=1e-9)


class Balance(fj.observers.Observer):
    """What remains of B_1 θ_1'' = τ_1 − τ_e1: needs the torque of the period that is over."""

    robot, period, memory, outputs = ROBOT, 1e-3, (1, 1), {"rest": 1}

    def start(self, measurement):
        return (measurement.theta_v[..., :1], measurement.tau_e[..., :1]), {"rest": np.zeros(1)}

    def law(self, state, measurement, torque):
        motor = ROBOT.joints[0].drive.motor
        mean = (state[1] + measurement.tau_e[0]) / 2
        rest = motor.inertia * (measurement.theta_v[0] - state[0]) / 1e-3 - torque[0] + mean
        return (measurement.theta_v[0], measurement.tau_e[0]), {"rest": rest}


def test_an_observer_gets_the_torque_that_was_applied():
    """Of the actuators, delayed and bounded; the motor has no friction to speak of."""
    assert ROBOT.joints[0].drive.motor.viscous_friction == 0
    result = run(actuators=ACTUATORS, observers={"balance": Balance()})
    assert np.max(np.abs(result.more["balance.rest"])) < 0.02 * np.max(np.abs(result.tau[:, 0]))


def starts(count):
    return fj.JointState(*np.random.default_rng(1).uniform(-0.1, 0.1, (4, count, 2)))


def test_an_observer_that_is_not_finite_is_noticed():
    """In one run and in a row of a batch; the other runs do not hide it."""

    class Logarithm(Balance):
        def law(self, state, measurement, torque):
            after, outputs = super().law(state, measurement, torque)
            return after, {"rest": outputs["rest"] + ca.log(measurement.q[0] + 0.5)}

    observers = {"log": Logarithm()}
    for q in (np.full(2, -0.6), np.array([[0.1, 0.1], [-0.6, 0.1]])):
        start = fj.JointState(q, 0 * q, q, 0 * q)
        with pytest.raises(fj.NonFiniteError, match="not finite"):
            fj.simulate(ROBOT, PD, [0.1, 0.1], 0.01, start=start, observers=observers, check=False)


def test_an_effort_limit_bounds_no_pivot():
    """20 Nm of the joint say nothing of the force on the lever's arm; the other motors are bounded."""
    lever = fj.drives.LeverDrive(1e5, 0.1, 0.03, 0.15, fj.Motor(0.5), fj.Motor(2.0))
    robot = with_limits(*[fj.Limits(effort=20.0)] * 2).with_drives([lever, fj.load("vsa_3r").joints[0].drive])
    assert robot.motor_efforts == (20.0, 20.0, np.inf, 20.0)
    start = fj.simulation.at_rest(robot, np.zeros(2), 1000.0)
    options = {"start": start, "actuators": fj.simulation.Actuators(), "check": False}
    found = fj.simulate(robot, fj.control.OpenLoop(robot), np.full(4, 30.0), 0.002, **options)
    assert found.tau[0].tolist() == [20.0, 20.0, 30.0, 20.0]


def test_same_bits_of_everything(monkeypatch):
    """Alone with its row, in a batch, on threads, in other blocks, interrupted and resumed."""
    robot = with_limits(fj.Limits(-1.0, -0.02), fj.Limits())
    changes = {"link2.mass": (0.02, np.linspace(5.0, 9.0, 20))}
    options = {"robot": robot, **EVERYTHING}
    batch = run(start=starts(20), changes=changes, **options)
    assert same(batch, run(start=starts(20), changes=changes, threads=2, **options))
    own = {
        "start": fj.JointState(*(x[7] for x in starts(20))),
        "changes": {"link2.mass": (0.02, changes["link2.mass"][1][7])},
    }
    alone = run(row=7, **own, **options)
    assert same(batch, alone, 7)
    assert not np.array_equal(alone.more["measured.q"], run(row=6, **own, **options).more["measured.q"])
    first = run(duration=0.023, row=7, **own, **options)
    second = run(duration=0.037, row=7, **own | {"start": first}, **options)
    assert same(alone, second, slice(23, None))
    monkeypatch.setattr(import_module("flexjoint.simulation.compiled_run"), "SINGLE", Blocking(7, 0.0))
    assert same(alone, run(row=7, **own, **options))
    assert np.max(alone.q[:, 0]) > -0.02  # against the stop


def test_a_python_controller_sees_the_same():
    def law(t, state, reference, measurement):
        return state, PD((), reference, measurement)[1]

    found, wanted = (
        arrays(run(controller=law, **EVERYTHING | {"stops": None})),
        arrays(run(**EVERYTHING | {"stops": None})),
    )
    for name, x in wanted.items():
        assert np.allclose(found[name], x, rtol=0, atol=1e-7), name


def test_a_run_that_diverges_keeps_what_it_had():
    gains = np.stack([PD.gains] * 5)
    gains[3, 0] = [-4e5, 400.0]
    options = EVERYTHING | {"actuators": fj.simulation.Actuators(np.inf, 400.0, 1), "stops": None}
    with pytest.warns(UserWarning, match="1 of 5 runs diverged; joint 'link1_joint' left all bounds"):
        batch = run(gains=gains, duration=0.2, **options)
    end = batch.periods[3]
    assert 1 < end < 200
    assert all(
        np.all(np.isfinite(x[3, : end + 1])) and np.all(np.isnan(x[3, end + 1 :])) for x in arrays(batch).values()
    )
    assert all(np.all(np.isfinite(np.delete(x, 3, axis=0))) for x in arrays(batch).values())


def test_too_much_delay_is_refused_before_the_run():
    """The growth that is announced is that of the run."""
    sensors = fj.simulation.Sensors(delay=6, every=2)
    with pytest.raises(fj.InputError, match=r"with its sensors.* the loop is unstable.* lower the gains") as caught:
        run(sensors=sensors, check=True)
    rate = float(str(caught.value).split("grows at ")[1].split("/s")[0])
    state = fj.simulation.at_rest(ROBOT, GOAL)
    result = run(sensors=sensors, start=state._replace(q=state.q + 1e-9), duration=2.0)
    size = np.max(np.abs(result.q - GOAL), axis=1)
    largest = [np.max(size[k : k + 200]) for k in (1100, 1600)]
    assert np.log(largest[1] / largest[0]) / 0.5 == pytest.approx(rate, rel=0.1)
    run(sensors=fj.simulation.Sensors(delay=1), check=True)


def test_tables(tmp_path):
    result = run(**EVERYTHING | {"stops": None})
    fj.results.write_results(result, tmp_path / "run.csv")
    header, *lines = (tmp_path / "run.csv").read_text().splitlines()
    table = np.loadtxt(lines, delimiter=",")
    assert np.array_equal(table[:, header.split(",").index("estimator.v.2")], result.more["estimator.v"][:, 1])
    fj.results.write_results(result, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as data:
        assert np.array_equal(data["measured.tau_e"], result.more["measured.tau_e"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fj.simulation.Sensors(link_noise=-1.0), "link_noise is -1.0"),
        (lambda: fj.simulation.Sensors(every=0), "every is 0"),
        (lambda: fj.simulation.Sensors(delay=0.5), "delay is 0.5"),
        (lambda: fj.simulation.Sensors(velocities="guessed"), "velocities is 'guessed'"),
        (lambda: fj.simulation.Actuators(effort=0.0), "effort is 0.0"),
        (lambda: fj.simulation.Actuators(bandwidth="fast"), "bandwidth is 'fast'"),
        (lambda: fj.simulation.EndStops(-1.0), "stiffness is -1.0"),
        (lambda: run(sensors=fj.simulation.Sensors(link_noise=[1e-4] * 3)), "link_noise has 3 numbers"),
        (lambda: run(actuators=fj.simulation.Actuators([1.0, 2.0, 3.0])), "effort has 3 numbers"),
        (lambda: run(stops=fj.simulation.EndStops(1e4)), "no joint of 'arm' has position limits"),
        (lambda: run(sensors=ACTUATORS), r"sensors must be Sensors\("),
        (lambda: run(observers={"rate": PD}), "observer 'rate' must be an Observer"),
        (lambda: run(estimator=ESTIMATOR, period=2e-3), "observer 'estimator' was made for 0.001 s"),
        (lambda: run(sensors=SENSORS, hold=False), "sampled; they need hold=True"),
        (lambda: run(sensors=SENSORS, seed=-1), "seed is -1"),
        (lambda: run(sensors=SENSORS, row=0.5), "row is 0.5"),
        (lambda: run(changes={"link2.mass": 3.0}), r"changes\['link2.mass'\] is 3.0; give \(time, value\)"),
        (lambda: run(changes={"link9.mass": (0.1, 3.0)}), "no parameter 'link9.mass'"),
        (lambda: fj.observers.VelocityEstimator(ROBOT, 3.0), "filter is 3.0"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(fj.InputError, match=message):
        make()
