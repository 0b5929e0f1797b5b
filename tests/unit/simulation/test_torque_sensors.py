"""Joint torque sensors, and feedback linearization from each sensor set of [EJNEA sec. II-B].

The model and the law beside which the runs stand are made of 4×4 poses and CasADi's derivatives, integrated by SciPy.
"""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexjoint as fj
from support.lagrange import rate, transmitted

H = 1e-3
MOTORS = fj.Motor(0.5, 0.3), fj.Motor(0.3)
K, K_C = np.array([400.0, 250.0]), np.array([0.0, 3e4])
ARM = fj.random_robot(2, 5, prismatic=0.0, name="arm").with_drives(
    [fj.ElasticDrive(400.0, MOTORS[0]), fj.ElasticDrive(fj.springs.CubicSpring(250.0, 3e4), MOTORS[1])]
)
MIXED = ARM.with_drives([fj.RigidDrive(MOTORS[0]), ARM.joints[1].drive])
SETS = ("q theta", "q tau_e", "theta tau_e")
ONE = ("theta tau_e", *(pytest.param(x, marks=pytest.mark.long) for x in ("q theta", "q tau_e")))
GAINS = fj.control.gains_from_poles([-25.0] * 4)
MOTION = fj.trajectory.RestToRest([0.3, -0.6], [0.8, 0.1], 0.3)
FIELDS = fj.observers.Measurement._fields


def law(measured, robot=ARM):
    return fj.control.FeedbackLinearization(robot, GAINS, H, measured)


def run(measured, robot=ARM, duration=0.05, **options):
    return fj.simulate(robot, law(measured, robot), MOTION, duration, substeps=4, **options)


# The closed loop -----------------------------------------------------------------------------------------------------


class Lagrangian:
    """Accelerations and the law of [EJNEA (7)-(15)] from a Lagrangian; the law by sensor set."""

    def __init__(self):
        q = [ca.SX.sym(f"q{k}", 2) for k in range(5)]
        load = transmitted(ARM, *q[:3])  # M q'' + n
        loads = [load, rate(load, q), rate(rate(load, q), q)]
        M = ca.jacobian(load, q[2])
        phi, phi_v = ca.SX.sym("phi", 2), ca.SX.sym("phi_v", 2)
        tau_e, tau_e_v = ca.SX.sym("tau_e", 2), ca.SX.sym("tau_e_v", 2)
        law = ca.DM(K) * phi + ca.DM(K_C) * phi**3
        k, slope = ca.DM(K) + 3 * ca.DM(K_C) * phi**2, 6 * ca.DM(K_C) * phi
        B, D = ca.DM([m.inertia for m in MOTORS]), ca.DM([m.viscous_friction for m in MOTORS])
        still = ca.SX.zeros(2)
        a = ca.solve(M, tau_e - ca.substitute(load, q[2], still))  # (14)
        jerk = ca.solve(M, tau_e_v - ca.substitute(ca.substitute(loads[1], q[3], still), q[2], a))  # (15)
        reference = [ca.SX.sym(f"r{k}", 2) for k in range(5)]
        motion = [q[0], q[1], a, jerk]
        snap = reference[4] + sum(g * (r - x) for g, r, x in zip(GAINS.tolist(), reference, motion))  # (13)
        tau_e_a = ca.substitute(ca.substitute(ca.substitute(loads[2], q[4], snap), q[3], jerk), q[2], a)
        phi_a = (tau_e_a - slope * phi_v**2) / k
        tau = tau_e + B * (a + phi_a) + D * (q[1] + phi_v)  # (9), (10)
        state = [q[0], q[1], phi, phi_v]
        self.springs = ca.Function("springs", [phi, phi_v], [law, k * phi_v])
        self.torque = ca.Function("law", [*state, tau_e, tau_e_v, *reference], [tau])
        free = ca.SX.sym("tau", 2)
        accelerations = [ca.substitute(a, tau_e, law), (free - law - D * (q[1] + phi_v)) / B]
        self.flow = ca.Function("flow", [*state, free], accelerations)

    def command(self, measured, reference, q, v, theta, theta_v, tau_e, tau_e_v):
        """The torque from the four arrays that are measured; the others are not read."""
        if measured == "q theta":
            tau_e, tau_e_v = self.springs(theta - q, theta_v - v)
            phi, phi_v = theta - q, theta_v - v
        else:
            phi = deflection(tau_e)
            phi_v = np.asarray(tau_e_v) / (K + 3 * K_C * phi**2)
            if measured == "theta tau_e":
                q, v = theta - phi, theta_v - phi_v
        return np.array(self.torque(q, v, phi, phi_v, tau_e, tau_e_v, *reference))[:, 0]


def deflection(tau_e):
    """φ with K φ + K_c φ³ = τ_e, by the roots of the polynomial."""
    roots = [np.roots([c, 0, k, -x] if c else [k, -x]) for k, c, x in zip(K, K_C, np.asarray(tau_e))]
    return np.array([x[np.argmin(np.abs(x.imag))].real for x in roots])


@pytest.fixture(scope="module")
def model():
    return Lagrangian()


@pytest.fixture(scope="module")
def integrated(model):
    """The closed loop of the Lagrangian: law every period, SciPy between; states (51, 4, 2)."""
    q = MOTION(0.0)[0]
    load = fj.gravity_torque(ARM, q)
    x = np.array([q, 0 * q, q + deflection(load), 0 * q])
    states = [x]

    def flow(_, x, tau):
        q, v, theta, theta_v = x.reshape(4, 2)
        a, theta_a = (np.array(y)[:, 0] for y in model.flow(q, v, theta - q, theta_v - v, tau))
        return np.concatenate([v, a, theta_v, theta_a])

    for k in range(50):
        tau = model.command("q theta", MOTION(k * H), *x, None, None)
        x = solve_ivp(flow, (0, H), x.ravel(), "DOP853", rtol=1e-11, atol=1e-13, args=(tau,)).y[:, -1].reshape(4, 2)
        states.append(x)
    return np.array(states)


@pytest.mark.parametrize("measured", SETS)
def test_every_sensor_set_gives_the_loop_of_the_lagrangian(measured, integrated):
    """Perfect sensors; one spring is not linear."""
    found = run(measured)
    assert np.max(np.abs(found.q[-1] - found.q[0])) > 0.005
    assert np.allclose(found.q, integrated[:, 0], rtol=0, atol=1e-8)
    assert np.allclose(found.theta, integrated[:, 2], rtol=0, atol=1e-8)
    if measured != "q theta":
        phi = found.theta - found.q
        assert np.allclose(found.more["measured.tau_e"], K * phi + K_C * phi**3, rtol=1e-12, atol=1e-12)
        slope = (K + 3 * K_C * phi**2) * (found.theta_v - found.v)
        assert np.allclose(found.more["measured.tau_e_v"], slope, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("measured", ONE[::2])
def test_rigid_joints_beside_springs(measured):
    """The controller integrates the torque of a rigid joint; what its sensor says is not read."""
    sensors = fj.simulation.Sensors(torque_bias=(5.0, 0.0))
    plain, sensed = run(SETS[0], MIXED), run(measured, MIXED, sensors=sensors)
    assert np.allclose(sensed.q, plain.q, rtol=0, atol=1e-10)
    before = np.concatenate([[0.0], sensed.tau[:-1, 0]])  # the torque of the motor in the period before
    assert np.allclose(sensed.more["measured.tau_e"][:, 0], before + 5.0, rtol=1e-12)
    assert np.allclose(sensed.more["measured.tau_e_v"][1:, 0], np.diff(before) / H, rtol=1e-9)


@pytest.mark.parametrize("measured", ONE)
def test_a_law_reads_its_own_sensors_only(measured):
    """Noise of a sensor that is not read changes no bit, noise of the others does."""
    names = {"q": "link_noise", "theta": "motor_noise", "tau_e": "torque_noise"}
    first, second = measured.split()
    (other,) = {*names} - {first, second}
    runs = [
        run(measured, duration=0.005, sensors=fj.simulation.Sensors(**{names[x]: 1e-4 for x in noisy}), check=False)
        for noisy in ([first], [first, other], [first, other, second])
    ]
    assert np.array_equal(runs[0].tau, runs[1].tau) and not np.array_equal(runs[1].tau, runs[2].tau)


@pytest.mark.long
def test_continuous_time():
    """hold=False: the error of the closed form, with torque sensors."""
    start = fj.simulation.at_rest(ARM, [0.31, -0.62])
    errors = []
    for measured in SETS[1:]:
        options = {"hold": False, "start": start, "check": False}
        errors.append(fj.simulate(ARM, law(measured), MOTION, 0.1, **options).error[-1])
    e = np.array([0.01, -0.02])
    t = 25.0 * 0.1  # of e'''' + ... = 0 with four poles at −25 and e' = e'' = e''' = 0 at first
    expected = -e * np.exp(-t) * (1 + t + t**2 / 2 + t**3 / 6)
    assert np.allclose(errors, expected, rtol=0, atol=1e-8)
    with pytest.raises(fj.InputError, match=rf"'{MIXED.joints[0].name}' is rigid.*hold=True"):
        fj.simulate(MIXED, law("theta tau_e", MIXED), MOTION, 0.1, hold=False)


# What is measured ----------------------------------------------------------------------------------------------------

NOISY = fj.simulation.Sensors(
    torque_noise=(0.2, 0.05), torque_resolution=(0.0, 0.01), torque_rate_noise=3.0, torque_bias=(-1.5, 0.5)
)


def test_noise_steps_and_bias_of_torque_sensors():
    found = fj.simulate(
        ARM, fj.control.MotorPD(ARM, [100.0, 5.0]), [0.3, -0.6], 1.0, sensors=NOISY, row=np.arange(8), check=False
    )
    phi = found.theta - found.q
    errors = found.more["measured.tau_e"] - (K * phi + K_C * phi**3)
    assert np.allclose(errors[:, 0, 0], -1.5) and np.allclose(errors[:, 0, 1], 0.5, atol=0.005)
    count = errors[:, 1:, 0].size
    for i, (bias, noise) in enumerate(((-1.5, 0.2), (0.5, np.hypot(0.05, 0.01 / np.sqrt(12))))):
        assert abs(np.mean(errors[:, 1:, i]) - bias) < 5 * noise / np.sqrt(count)
        assert abs(np.std(errors[:, 1:, i]) / noise - 1) < 5 / np.sqrt(2 * count)
    assert abs(np.corrcoef(errors[:, 1:, 0].ravel(), errors[:, 1:, 1].ravel())[0, 1]) < 5 / np.sqrt(count)
    steps = found.more["measured.tau_e"][..., 1] / 0.01
    assert np.allclose(steps, np.round(steps), atol=1e-6)
    slope = (K + 3 * K_C * phi**2) * (found.theta_v - found.v)
    rates = (found.more["measured.tau_e_v"] - slope)[:, 1:]
    assert abs(np.std(rates) / 3.0 - 1) < 5 / np.sqrt(2 * rates.size)


def test_rates_from_differences_and_filters():
    """Differences of two samples, late and rare; or an estimator, which the law then reads."""
    sensors = fj.simulation.Sensors(torque_noise=0.01, torque_rates="differenced", every=2, delay=1)
    found = run("theta tau_e", duration=0.03, sensors=sensors, check=False)
    torque, slope = found.more["measured.tau_e"], found.more["measured.tau_e_v"]
    assert np.allclose(slope[3::2], (torque[3::2] - torque[1:-2:2]) / (2 * H), rtol=0, atol=1e-9)
    position, own = fj.observers.FilteredDerivative(H, 800.0), fj.observers.KalmanDifferentiator(H, 0.01, 50.0)
    estimator = fj.observers.VelocityEstimator(ARM, position, own)
    found = run("q tau_e", duration=0.03, sensors=fj.simulation.Sensors(torque_noise=0.01), estimator=estimator)
    state = own.start(found.more["measured.tau_e"][0], 0.0)
    for k, x in enumerate(found.more["measured.tau_e"][1:], 1):
        state, _ = own(state, x)
        assert np.allclose(found.more["estimator.tau_e_v"][k], state.rate, rtol=0, atol=1e-9)
    seen = {name: found.more[f"measured.{name}"] for name in FIELDS}
    seen |= {name: found.more[f"estimator.{name}"] for name in ("v", "theta_v", "tau_e_v")}
    still = np.zeros_like(found.q)
    reference = [MOTION(found.t)[k] for k in range(5)]
    assert np.allclose(law("q tau_e")((still, still), reference, fj.observers.Measurement(**seen))[1], found.tau)


@pytest.mark.parametrize("kind", ["damped", "variable stiffness", "damped variable stiffness"])
def test_rates_of_other_drives(kind):
    """Where the state tells the rate it is the derivative of the torque, else the difference of two samples."""
    damping = 0.4 if "damped" in kind else 0.0
    if "variable" in kind:
        springs = [fj.springs.CubicSpring(30.0, 900.0)] * 2
        drive = fj.drives.AntagonisticDrive(*springs, *MOTORS, damping=damping)
    else:
        drive = fj.ElasticDrive(300.0, MOTORS[0], damping=damping)
    robot = fj.random_robot(1, 3, prismatic=0.0).with_drives([drive])
    theta = np.array([0.2, -0.1])[: robot.motor_count]
    start = fj.JointState(np.array([0.1]), np.array([0.4]), theta, 0.3 + theta)
    found = fj.simulate(
        robot,
        fj.control.OpenLoop(robot),
        0.5 + theta,
        0.02,
        period=1e-4,
        start=start,
        check=False,
        sensors=fj.simulation.Sensors(),
    )
    torque, slope = (found.more[f"measured.{x}"][:, 0] for x in ("tau_e", "tau_e_v"))
    if damping:
        assert np.allclose(slope[1:], np.diff(torque) / 1e-4, rtol=1e-9)
    else:
        assert np.allclose(slope[1:-1], (torque[2:] - torque[:-2]) / 2e-4, rtol=1e-3)


# The remark on accuracy ----------------------------------------------------------------------------------------------

ACCURACY = {
    "link_noise": 2e-4,
    "motor_noise": 1e-5,
    "torque_noise": 0.01,
    "velocity_noise": 1e-4,
    "torque_rate_noise": 0.02,
}


def test_q_from_motor_encoders_and_torque_sensors_has_the_variance_of_both():
    """var(θ − φ(τ_e)) = σ_θ² + (σ_τ/k)² [EJNEA sec. II-B]: here a fraction of that of the link encoders."""
    found = run("theta tau_e", sensors=fj.simulation.Sensors(**ACCURACY), row=np.arange(40), check=False)
    measured = {name: found.more[f"measured.{name}"][:, 1:] for name in FIELDS}
    links = measured["theta"] - np.array([[deflection(x) for x in row] for row in measured["tau_e"]])
    k = K + 3 * K_C * (found.theta - found.q)[:, 1:] ** 2
    expected = np.sqrt(1e-5**2 + (0.01 / k) ** 2)
    errors = (links - found.q[:, 1:]) / expected
    assert abs(np.std(errors) - 1) < 5 / np.sqrt(2 * errors.size)
    assert np.std(measured["q"] - found.q[:, 1:]) > 4 * np.max(expected)


@pytest.mark.parametrize("measured", ONE)
def test_noise_reaches_the_torque_as_the_covariance_foretells(measured, model):
    """In period 1 all runs are in one state, and their samples differ by noise alone: J C Jᵀ of the Lagrangian law."""
    runs = 4000
    found = run(measured, duration=H, sensors=fj.simulation.Sensors(**ACCURACY), row=np.arange(runs), check=False)
    state = fj.JointState(*(x[0, 1] for x in found.states))
    assert np.ptp(found.q[:, 1], axis=0).max() == 0
    tau_e, tau_e_v = (np.array(x)[:, 0] for x in model.springs(state.theta - state.q, state.theta_v - state.v))
    base = np.array([*state, tau_e, tau_e_v])
    deviations = dict(zip(FIELDS, (2e-4, 1e-4, 1e-5, 1e-4, 0.01, 0.02)))
    covariance = np.zeros((2, 2))
    for k, name in enumerate(FIELDS):
        for i in range(2):
            step = np.zeros((6, 2))
            step[k, i] = deviations[name]
            two = [model.command(measured, MOTION(H), *(base + s * step)) for s in (0.01, -0.01)]
            slope = (two[0] - two[1]) / 0.02
            covariance += np.outer(slope, slope)
    sample = np.cov(found.tau[:, 1].T)
    tolerance = 5 * np.sqrt((covariance**2 + np.outer(np.diag(covariance), np.diag(covariance))) / runs)
    assert np.all(np.abs(sample - covariance) < tolerance)
    assert np.allclose(np.mean(found.tau[:, 1], axis=0), model.command(measured, MOTION(H), *base), atol=1.0)


# Batches, laws in Python, files ---------------------------------------------------------------------------------------


def test_batches_threads_and_parts_have_the_same_bits():
    sensors = fj.simulation.Sensors(torque_noise=0.02, motor_noise=1e-6, torque_rates="differenced", delay=1)
    options = {"sensors": sensors, "seed": 5, "check": False, "duration": 0.02}
    whole = run("theta tau_e", row=np.arange(9), threads=2, **options)
    alone = run("theta tau_e", row=7, **options)
    for name, x in {"tau": whole.tau, **whole.more}.items():
        assert np.array_equal(x[7], alone.tau if name == "tau" else alone.more[name])
    first = run("theta tau_e", row=7, **options | {"duration": 0.012})
    second = fj.simulate(
        ARM, law("theta tau_e"), MOTION, 0.008, substeps=4, start=first, row=7, seed=5, sensors=sensors, check=False
    )
    assert np.array_equal(second.tau, alone.tau[12:])


def test_the_first_sample_sees_the_springs_of_each_run():
    """Parameters that differ from row to row are those of the run, not those of the nominal robot."""
    linear = ARM.with_drives([ARM.joints[0].drive, fj.ElasticDrive(250.0, MOTORS[1])])
    stiffness = np.array([[400.0, 250.0], [440.0, 200.0]])
    start = fj.simulation.at_rest(linear, [0.3, -0.6])
    free = {"*.drive.stiffness": stiffness}
    found = run("q tau_e", linear, duration=0.005, free=free, start=start, check=False)
    wanted = stiffness[:, None] * (found.theta - found.q)
    assert np.allclose(found.more["measured.tau_e"], wanted, rtol=1e-12, atol=1e-12)


def test_a_law_in_python_gets_what_is_measured():
    inner = law("theta tau_e")
    seen = []

    def python(t, state, reference, measurement):
        seen.append(measurement)
        return inner(state, reference, measurement)

    python.start, python.order, python.torque_sensors = inner.start, 4, True
    for sensors in (None, fj.simulation.Sensors(torque_noise=1e-3)):
        found = fj.simulate(ARM, python, MOTION, 0.02, substeps=4, sensors=sensors, check=False)
        same = run("theta tau_e", duration=0.02, sensors=sensors, check=False)
        assert np.allclose(found.tau, same.tau, rtol=0, atol=1e-6)
    assert isinstance(seen[0], fj.observers.Measurement)
    batch = fj.simulate(
        ARM,
        python,
        MOTION,
        0.003,
        substeps=4,
        sensors=fj.simulation.Sensors(torque_noise=1e-3),
        row=np.arange(3),
        check=False,
    )
    assert seen[-1].tau_e_v.shape == (3, 2)
    assert np.array_equal(batch.more["measured.tau_e"][:, -1], seen[-1].tau_e)


def test_files_know_torques_and_rates(tmp_path):
    found = run("theta tau_e", duration=0.005)
    fj.results.write_results(found, tmp_path / "run.csv")
    header = (tmp_path / "run.csv").read_text().splitlines()[0]
    assert "measured.tau_e.link2_joint" in header and "measured.tau_e_v.link2_joint" in header
    pytest.importorskip("xarray")
    data = found.to_dataset()
    assert data["measured.tau_e_v"].dims == data["measured.tau_e"].dims == ("time", "joint")
    assert np.array_equal(data["measured.tau_e_v"], found.more["measured.tau_e_v"])


@pytest.mark.long
def test_studies_know_the_sensor_set():
    options = {"samples": 3, "vary": {"*.drive.motor.inertia": "1%"}, "substeps": 4, "threads": 1, "check": False}
    sensors = fj.simulation.Sensors(torque_noise=1e-3)
    studies = [fj.studies.monte_carlo(ARM, law(x), MOTION, 0.01, sensors=sensors, seed=2, **options) for x in SETS[1:]]
    assert all(study.complete for study in studies)
    assert not np.array_equal(studies[0].largest, studies[1].largest)


def test_unknown_rates_start_at_zero():
    slow = fj.observers.FilteredDerivative(H, 800.0)
    estimator = fj.observers.VelocityEstimator(ARM, slow, slow)
    x = np.array([0.1, 0.2])
    state, rates = estimator.start(fj.observers.Measurement(x, None, x, np.ones(2), x))
    assert {name: y.tolist() for name, y in rates.items()} == {"v": [0, 0], "theta_v": [1, 1], "tau_e_v": [0, 0]}
    _, rates = estimator(state, fj.observers.Measurement(x, None, x, None, x), np.zeros(2))
    assert not np.any(rates["v"]) and not np.any(rates["tau_e_v"]) and np.all(rates["theta_v"] > 0)


def test_what_does_not_fit_is_refused():
    damped = ARM.with_drives([replace(ARM.joints[0].drive, damping=1.0), ARM.joints[1].drive])
    gains = fj.control.gains_from_poles([-25.0] * 4)
    with pytest.raises(fj.InputError, match=rf"spring of joint '{ARM.joints[0].name}' is damped.*measured='q theta'"):
        fj.control.FeedbackLinearization(damped, gains, H, "q tau_e")
    with pytest.raises(fj.InputError, match="measured is 'tau_e'; choose one of 'q theta', 'q tau_e', 'theta tau_e'"):
        law("tau_e")
    with pytest.raises(fj.InputError, match=r"reads torque sensors; give fj\.observers\.Measurement"):
        law("q tau_e")(np.zeros((2, 2)), MOTION(0.0), fj.JointState(*np.zeros((4, 2))))
    for wrong in (None, np.zeros((3, 2))):
        with pytest.raises(fj.InputError, match=r"(?s)measurement is .*; give fj\.control\.JointState"):
            law("q theta")(np.zeros((2, 2)), MOTION(0.0), wrong)
    half = fj.observers.Measurement(np.zeros(2), np.zeros(2), None, None, np.zeros(2), np.zeros(2))
    with pytest.raises(fj.NonFiniteError, match=r"theta\[0\]"):
        law("q theta")(np.zeros((2, 2)), MOTION(0.0), half)
    with pytest.raises(fj.InputError, match="torque_rates is 'guessed'"):
        fj.simulation.Sensors(torque_rates="guessed")
    with pytest.raises(fj.InputError, match="torque_bias has 3 numbers"):
        run("q tau_e", sensors=fj.simulation.Sensors(torque_bias=(1.0, 2.0, 3.0)))
    with pytest.raises(fj.InputError, match=r"torque_filter was made for 0\.002 s"):
        fj.observers.VelocityEstimator(
            ARM, fj.observers.FilteredDerivative(H, 800.0), fj.observers.FilteredDerivative(2 * H, 800.0)
        )
