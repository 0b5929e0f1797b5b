"""The extended state observer against SciPy, filters written plainly in NumPy, draws of noise, and simulations."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm, solve_discrete_are

import flexjoint as fj
from flexjoint.observers.motor_filter import MotorNoise, motor_filter
from support import pendulum as closed_form
from support.marks import some_long

H = 1e-3
GOOD, FIRST, GAP, INVALID, STALE, SETTLING = (
    int(fj.observers.Status[x]) for x in ("GOOD", "FIRST", "GAP", "INVALID", "STALE", "SETTLING")
)
B, K = closed_form.MOTOR, closed_form.STIFFNESS
J, LOAD = closed_form.INERTIA + closed_form.MASS * closed_form.LEVER**2, closed_form.MASS * 9.81 * closed_form.LEVER
NOISE = {"encoder_step": 2e-5, "spring_noise": 100.0, "external_noise": 5.0}


def sensed(theta, tau_e=None):
    return fj.observers.Measurement(None, None, theta, None, tau_e)


def kalman(A, noise, H, R, h=H):
    """Transition, stationary gain and covariance of x' = A x + w, by SciPy; `noise` is the spectral density of w."""
    n = len(A)
    exponential = expm(np.block([[-A, noise], [np.zeros((n, n)), A.T]]) * h)
    F = exponential[n:, n:].T
    P = solve_discrete_are(F.T, H.T, F @ exponential[:n, n:], R)
    gain = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
    return F, gain, P - gain @ H @ P


def of_motor(inertia, encoder, spring, motor, sensor, h=H):
    """The filter of a motor, in SI units: (θ, θ', τ_e, τ_e')."""
    A = np.zeros((4, 4))
    A[0, 1], A[1, 2], A[2, 3] = 1.0, -1 / inertia, 1.0
    rows = [0] if sensor is None else [0, 2]
    R = np.diag([encoder**2, (sensor or 1.0) ** 2])[: len(rows), : len(rows)]
    return kalman(A, np.diag([0.0, (motor / inertia) ** 2, 0.0, spring**2]), np.eye(4)[rows], R, h)


@pytest.mark.parametrize("sensor", [None, 0.2, 5.0])
@pytest.mark.parametrize("motor", [0.0, 0.05])
@pytest.mark.parametrize(("inertia", "spring", "h"), [(0.7, 100.0, 1e-3), (3.0, 3e3, 1e-3), (1e-2, 30.0, 4e-3)])
def test_gains_and_covariances_are_those_of_scipy(inertia, spring, h, motor, sensor):
    """SciPy's solution is good to 1e-6 in these units."""
    found = motor_filter(MotorNoise(inertia, 5e-6, spring, motor, sensor), h)
    _, gain, covariance = of_motor(inertia, 5e-6, spring, motor, sensor, h)
    np.testing.assert_allclose(found.gain[:, : gain.shape[1]], gain, rtol=1e-5)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-4)
    assert not np.any(found.gain[:, gain.shape[1] :])


@pytest.mark.parametrize("sensor", [None, 0.3])
def test_a_filter_in_plain_numpy_gives_the_same_estimates(sensor):
    robot, count = closed_form.ELASTIC, 400
    rng = np.random.default_rng(0)
    t = H * np.arange(count)
    theta = 0.3 + 0.2 * np.sin(5 * t) + 2e-5 * rng.normal(size=count)
    measured = LOAD + np.sin(3 * t) + 0.3 * rng.normal(size=count)
    tau = LOAD * np.cos(theta) + np.sin(7 * t)
    observer = fj.observers.ExtendedStateObserver(robot, **NOISE, torque_noise=sensor)
    found = observer.run(t, sensed(theta[:, None], measured[:, None]), tau[:, None])

    F, gain, P = of_motor(B, NOISE["encoder_step"] / np.sqrt(12), NOISE["spring_noise"], 0.0, sensor)
    rows = [0] if sensor is None else [0, 2]
    push = np.array([H * H / 2, H, 0.0, 0.0]) / B
    to_v = np.array([0.0, 1.0, 0.0, -1 / K])
    walk = np.diag([0.0, NOISE["external_noise"] ** 2])
    _, momentum, _ = kalman(np.eye(2, k=1), walk, np.eye(2)[:1], np.array([[J * J * (to_v @ P @ to_v)]]))
    x = np.array([theta[0], 0.0, LOAD * np.cos(theta[0]) if sensor is None else measured[0], 0.0])
    p = u = rate = 0.0
    settled = round(observer.settling_time / H)
    for k in range(1, count):
        x = F @ x + push * tau[k - 1]
        x = x + gain @ (np.array([theta[k], measured[k]])[: len(rows)] - x[rows])
        q, v, tau_e = x[0] - x[2] / K, x[1] - x[3] / K, x[2]
        before, rate = rate, tau_e - LOAD * np.cos(q)
        predicted = p + H * ((before + rate) / 2 + u)
        p, u = (J * v, 0.0) if k <= settled else np.array([predicted, u]) + momentum[:, 0] * (J * v - predicted)
        for name, wanted in (("q", q), ("v", v), ("theta", x[0]), ("theta_v", x[1]), ("tau_e", x[2]), ("link", u)):
            assert found[name][k, 0] == pytest.approx(wanted, rel=1e-4, abs=2e-6), (name, k)
    assert found["status"][:, 0].tolist() == [FIRST] + [SETTLING] * settled + [GOOD] * (count - 1 - settled)
    assert abs(found["link"][-1, 0]) > 0.1


def test_errors_have_the_predicted_covariance():
    """Of a motor whose spring torque is the random walk that the filter assumes, over 40 000 samples."""
    count, encoder, spring = 40_000, 1e-5, 1.0
    observer = fj.observers.ExtendedStateObserver(closed_form.ELASTIC, np.sqrt(12) * encoder, spring, 1.0)
    A = np.zeros((4, 4))
    A[0, 1], A[1, 2], A[2, 3] = 1.0, -1 / B, 1.0
    density = np.diag([0.0, 0.0, 0.0, spring**2])
    exponential = expm(np.block([[-A, density], [np.zeros((4, 4)), A.T]]) * H)
    F = exponential[4:, 4:].T
    rng = np.random.default_rng(1)
    draws = rng.multivariate_normal(np.zeros(4), F @ exponential[:4, 4:], size=count, method="eigh")
    x, hidden = np.zeros(4), np.empty((count, 4))
    for k in range(count):
        hidden[k] = x = F @ x + draws[k]
    theta = hidden[:, :1] + encoder * rng.normal(size=(count, 1))
    found = observer.run(H * np.arange(count), sensed(theta), np.zeros((count, 1)))
    truth = {"q": hidden[:, 0] - hidden[:, 2] / K, "v": hidden[:, 1] - hidden[:, 3] / K}
    errors = np.array([found[name][2000:, 0] - x[2000:] for name, x in truth.items()])
    np.testing.assert_allclose(np.mean(errors**2, axis=1), np.diag(observer.link_covariance[0]), rtol=0.1)


@pytest.fixture(scope="module")
def robot():
    return fj.load("hua_3r")  # two rigid joints, an elastic one


@pytest.fixture(scope="module")
def pushed(robot):
    """From rest to rest with 30 N on the tool from 0.7 s on."""
    motion = fj.trajectory.RestToRest([0.1, 0.2, 0.3], [0.3, 0.6, -0.4], duration=0.6)

    def push(t, state):
        return {"tool": ca.if_else(t >= 0.7, 30.0, 0.0) * ca.SX([0, 1, 0, 0, 0, 0])}

    law = fj.control.FeedforwardPD(robot, [2000.0, 100.0])
    return fj.simulate(robot, law, motion, 1.0, period=H, substeps=2, contact=push)


@pytest.fixture(scope="module")
def observed(robot, pushed):
    """With encoders of 20 bits and torque sensors of 0.05 Nm."""
    step, noise = 2 * np.pi / 2**20, 0.05
    tau_e = fj.dynamics.spring_torques(robot, *pushed.states).tau_e
    tau_e = tau_e + noise * np.random.default_rng(0).normal(size=tau_e.shape)
    observer = fj.observers.ExtendedStateObserver(robot, step, 3000.0, 30.0, noise)
    return observer, observer.run(pushed.t, sensed(step * np.round(pushed.theta / step), tau_e), pushed.tau)


def test_link_positions_in_a_simulation_are_as_good_as_predicted(pushed, observed):
    observer, found = observed
    moving = (pushed.t > observer.settling_time) & (pushed.t < 0.7)
    for name, k in (("q", 0), ("v", 1)):
        rms = np.sqrt(np.mean((found[name] - getattr(pushed, name))[moving] ** 2, axis=0))
        predicted = np.sqrt(observer.link_covariance[:, k, k])
        assert np.all(rms < 1.2 * predicted) and np.all(rms[2] > 0.3 * predicted[2])


def test_an_external_torque_appears_and_is_right(robot, pushed, observed):
    _, found = observed
    exact = fj.jacobian(robot, pushed.q[-1], link="tool").T @ [0.0, 30.0, 0.0, 0.0, 0.0, 0.0]
    quiet, late = (pushed.t > 0.3) & (pushed.t < 0.7), pushed.t > 0.9
    assert np.all(np.abs(found["link"][quiet]).max(axis=0) < 0.15 * np.abs(exact).max())
    np.testing.assert_allclose(found["link"][late].mean(axis=0), exact, atol=0.03 * np.abs(exact).max())
    half = np.argmax(np.abs(found["link"][700:, 1]) > 0.5 * abs(exact[1]))
    assert half < 25


@pytest.mark.parametrize("name", some_long(["damped", "coupled", "antagonistic"], "damped"))
def test_every_kind_of_joint(name):
    """Motors that are held by springs of their own: the deflections are known to 5 % of the largest."""
    robot, stiffness = kinds(name)
    start = fj.simulation.at_rest(robot, np.full(robot.n, 0.2), stiffness)
    law = fj.control.OpenLoop(robot) if name == "antagonistic" else fj.control.MotorPD(robot, [300.0, 30.0])
    goal = np.zeros(robot.motor_count) if name == "antagonistic" else start.q + 0.02
    run = fj.simulate(robot, law, goal, 0.4, period=H, substeps=4, start=start)
    observer = fj.observers.ExtendedStateObserver(robot, 1e-6, 1e4, 100.0)
    found = observer.run(run.t, sensed(run.theta), run.tau)
    late, undeflected = run.t > 0.2, run.theta[:, : robot.n]
    if name == "coupled":
        undeflected = run.theta @ np.linalg.inv(MATRIX).T
    deflection = np.abs(undeflected - run.q)[late].max(axis=0)
    assert np.all(np.abs(found["q"] - run.q)[late].max(axis=0) < 0.05 * deflection + 1e-5)
    assert np.abs(found["v"] - run.v)[late].max() < 0.1 * np.abs(run.v).max()
    assert found["status"][-1, 0] == GOOD


MATRIX = np.array([[1.0, 1.0], [1.0, -1.0]])


def kinds(name):
    """A robot, and the stiffness of its joints where that varies."""
    if name == "antagonistic":
        spring, motor = fj.springs.CubicSpring(400.0, 2e4), fj.Motor(0.3)
        arm = fj.random_robot(2, 4, prismatic=0.0)
        return arm.with_drives([fj.drives.AntagonisticDrive(spring, spring, motor, motor)] * 2), 1500.0
    if name == "coupled":
        wrist = fj.drives.CoupledTransmission(("link1_joint", "link2_joint"), MATRIX.tolist(), springs="joint")
        return fj.random_robot(2, 3, prismatic=0.0, elastic=1.0).replace(transmissions=[wrist]), None
    slide = fj.random_robot(2, 1, elastic=1.0)
    assert not all(x.kind.angular for x in slide.joints)
    return slide.with_drives([replace(x.drive, damping=5.0) for x in slide.joints]), None


@pytest.fixture(scope="module")
def resting():
    """A pendulum held where it is: its observer, times, motor positions and torques."""
    q, count = 0.4, 700
    theta = np.full((count, 1), q + LOAD * np.cos(q) / K)
    observer = fj.observers.ExtendedStateObserver(closed_form.ELASTIC, **NOISE)
    return observer, H * np.arange(count), theta, np.full((count, 1), LOAD * np.cos(q))


def statuses(found):
    return found["status"][:, 0].astype(int).tolist()


def test_one_sample_at_a_time_is_the_same_as_a_log(resting):
    observer, t, theta, tau = resting
    found = observer.run(t[:40], sensed(theta[:40]), tau[:40])
    state = observer.initial_state[0]
    for k in range(40):
        state, link, q, *_ = observer.kernel(state, H, theta[k], np.zeros(1) if k == 0 else tau[k])
        assert np.array_equal(q, found["q"][k]) and np.array_equal(link, found["link"][k])
    np.testing.assert_allclose(q, 0.4, atol=1e-5)


def test_a_lost_encoder_is_bridged_by_prediction(resting):
    observer, t, theta, tau = resting
    lost = theta.copy()
    lost[400:420] = np.nan
    found = observer.run(t, sensed(lost), tau)
    assert statuses(found)[399:421] == [GOOD] + [INVALID] * 20 + [GOOD]
    np.testing.assert_allclose(found["blind"][400:421, 0], [*(H * np.arange(1, 21)), 0.0], atol=1e-12)
    np.testing.assert_allclose(found["q"][400:], 0.4, atol=1e-5)
    lost[400:460] = np.nan  # longer than max_gap
    assert statuses(observer.run(t, sensed(lost), tau))[459:462] == [INVALID, GAP, SETTLING]


def test_torques_and_times_that_are_no_numbers(resting):
    observer, t, theta, tau = resting
    wrong = tau.copy()
    wrong[400] = np.inf
    found = observer.run(t, sensed(theta), wrong)
    assert statuses(found)[400:403] == [GOOD, INVALID, FIRST]  # row 400 acts from t[400] on
    assert all(np.isfinite(x).all() for x in found.values())
    state, *_ = observer.kernel(observer.initial_state[0], H, theta[0], tau[0])
    after, *_, status, _ = observer.kernel(state, -H, theta[0] + 1.0, tau[0])
    assert status[0] == STALE and np.array_equal(after, state)


@pytest.mark.parametrize("periods", [0.5, 3.0, 7.0, 40.0])
def test_samples_may_be_further_apart_than_the_period(resting, periods):
    """With the gains of the period alone the filter is unstable from 3 periods on."""
    observer, _, theta, tau = resting
    theta = theta + 2e-5 * np.random.default_rng(2).uniform(-0.5, 0.5, theta.shape)
    found = observer.run(periods * H * np.arange(len(theta)), sensed(theta), tau)
    np.testing.assert_allclose(found["q"][100:], 0.4, atol=1e-2)
    assert statuses(found)[-1] == GOOD


def test_as_estimator_of_a_controller(robot):
    """Instead of measured positions and velocities."""
    observer = fj.observers.ExtendedStateObserver(robot, 1e-6, 1e4, 100.0)
    law = fj.control.MotorPD(robot, [500.0, 50.0])
    goal, start = np.array([0.3, 0.6, -0.4]), fj.simulation.at_rest(robot, [0.3, 0.6, -0.4])
    measured = fj.simulate(robot, law, goal, 0.3, period=H, start=start)
    found = fj.simulate(robot, law, goal, 0.3, period=H, start=start, estimator=observer)
    np.testing.assert_allclose(found.q, measured.q, atol=1e-3)


def test_a_free_payload_reaches_the_model_inside(robot):
    """The gains stay those of the nominal robot."""
    observer = fj.observers.ExtendedStateObserver(robot, 1e-6, 1e4, 100.0)
    loop = fj.deployment.online_loop(observers={"state": observer}, free=("link3.mass",))
    assert [x.name for x in loop.inputs] == ["t", "theta", "torque"]
    given = {"t": 0.0, "theta": np.array([0.3, 0.2, 0.1]), "torque": np.zeros(3)}
    loads = [loop.step(loop.start(), given, {"link3.mass": x})[1]["state_tau_e"][2] for x in (1.0, 3.0)]
    assert loads[1] == pytest.approx(3.0 * loads[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"encoder_step": 0.0}, "encoder_step"),
        ({"spring_noise": [1.0, 2.0]}, "spring_noise has shape"),
        ({"external_noise": np.nan}, "external_noise"),
        ({"torque_noise": -1.0}, "torque_noise"),
        ({"motor_noise": -1.0}, "motor_noise"),
        ({"period": 0.0}, "period"),
        ({"robot": fj.load("hua_3r").with_fidelity("complete")}, "with_fidelity"),
    ],
)
def test_what_cannot_be_observed_is_named(change, message):
    with pytest.raises(fj.InputError, match=message):
        fj.observers.ExtendedStateObserver(**({"robot": closed_form.ELASTIC, **NOISE} | change))
