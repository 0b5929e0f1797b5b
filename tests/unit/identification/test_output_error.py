"""Output error on a bench: sensitivities against complex steps, deviations against the Cramér-Rao bound."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import chi2

import flexjoint as fj
from flexjoint.identification.corrected_simulation import CorrectedSimulation, Gains, Noise
from flexjoint.identification.parameters import unknowns
from flexjoint.identification.recordings import Recording
from flexjoint.identification.simulation_model import SimulationModel
from flexjoint.identification.spring_shapes import LINEAR, SpringShape
from support.bench_information import bound, stepped
from support.identification import (
    NOISE,
    STEP,
    bench,
    check_derivatives,
    multisine,
    pulls,
    rough,
    rough_bench,
    simulated,
)

TORQUE_NOISE = 0.05
PERIOD = 1e-3


def physical(what, p):
    """The numbers of the independent simulator from a vector of values, real or complex."""
    x = dict(zip([k.kind if k.kind != "base" else k.name for k in what.parameters], p))
    found = {"K": x["stiffness"], "D": x["damping"], "B": x["inertia"], "tau_1": x["torque_offset"]}
    found |= {"phi_0": -x["spring_offset"] / x["stiffness"], "d": x["viscous"], "F_c": x["coulomb"]}
    found |= {"v_c": np.exp(x["log_velocity"]), "F_s": x["coulomb"] + x["rise"], "v_s": np.exp(x["log_stribeck"])}
    return found | {"h_x": x["hinge.h_x"], "h_y": x["hinge.h_y"], "I": x["hinge.I_zz"]}, x["delay"]


def simulated_outputs(what, p, start, tau, count):
    """q and θ under held torques that the positions see late, by the simulator of the bound."""
    numbers, delay = physical(what, p)
    x, found = start[:, None].astype(complex), []
    for k in range(count):
        found.append(x[[0, 2], 0])
        x = stepped(x, tau[max(k - 1, 0)], numbers, delay, substeps=6)  # 0 < delay < a period
        x = stepped(x, tau[k], numbers, PERIOD - delay, substeps=14)
    return np.array(found)


def test_sensitivities_are_those_of_an_independent_simulator():
    robot, rng = bench(), np.random.default_rng(5)
    what = unknowns(robot, ("stribeck",), "base", True, False, True)
    true = {"stiffness": 280.0, "damping": 0.4, "spring_offset": 0.3, "inertia": 0.1, "torque_offset": 0.2}
    true |= {"viscous": 0.7, "coulomb": 1.1, "log_velocity": np.log(0.06), "rise": 0.5, "log_stribeck": np.log(0.2)}
    true |= {"hinge.h_x": 0.4, "hinge.h_y": 0.05, "hinge.I_zz": 0.12, "delay": 3e-4}
    p = np.array([true[k.name if k.kind == "base" else k.kind] for k in what.parameters])
    t = PERIOD * np.arange(210)
    q = 0.02 * np.sin(5 * t)[:, None]
    theta, tau = q + 0.01 * np.cos(9 * t)[:, None], 4 + np.cumsum(rng.normal(size=(210, 1)), axis=0)
    recording = Recording(PERIOD, 0.0, 50.0, q, theta, tau)
    simulation = CorrectedSimulation(SimulationModel(robot, what), recording)
    count = 25
    gains = Gains(np.zeros((count, 1, 4, 2)), np.broadcast_to(np.eye(2), (count, 1, 2, 2)), 1e-5)
    errors, slopes = (np.array(x)[:, 0] for x in zip(*simulation.steps(p, gains)))
    q0, theta0, v0, w0 = simulation.motion[0]
    start = np.array([q0, v0, theta0, w0])
    measured = np.concatenate([q, theta], axis=1)[:count]
    expected = simulated_outputs(what, p, start, tau[:, 0], count).real
    assert np.abs(measured - errors - expected).max() < 1e-9
    for j in range(len(p)):
        step = p + 1e-30j * np.eye(len(p))[j]
        exact = -simulated_outputs(what, step, start, tau[:, 0], count).imag / 1e-30
        assert np.abs(slopes[:, :, j] - exact).max() < 1e-6 * np.abs(exact).max(), what.parameters[j].name


def test_equations_of_a_mixed_robot_are_those_of_forward_dynamics():
    """A rigid joint, a cubic spring, friction by direction, sensors: accelerations, and differences of all slopes."""
    law = fj.drives.Friction(0.8, 1.2, 0.3, backward=fj.drives.Friction(0.5, 0.9))
    motor = fj.Motor(0.3, friction=law)
    springs = [fj.ElasticDrive(fj.springs.CubicSpring(900.0, 4e4), motor, damping=0.7), fj.ElasticDrive(800.0, motor)]
    robot = fj.load("hua_3r").with_drives([fj.RigidDrive(motor), *springs])
    laws = (LINEAR, SpringShape("cubic"), LINEAR)
    what = unknowns(robot, ("coulomb_by_direction",) * 3, "base", True, True, True, laws)
    model, rng = SimulationModel(robot, what, sensors=True), np.random.default_rng(2)
    p = what.priors
    x, tau = rng.normal(size=(4, 10)) * ([1.0] * 3 + [0.03] * 2 + [1.0] * 5), rng.normal(size=(4, 3))
    x[:, 3:5] += x[:, 1:3]
    q, v = x[:, :3], x[:, 5:8]
    theta, w = (np.concatenate([y[:, :1], y[:, 3:]], axis=1) for y in (x[:, :5], x[:, 5:]))
    expected = fj.forward_dynamics(robot, q, v, theta, w, tau)
    slopes, outputs = model.slopes(x, tau, p), model.outputs(x, p)
    assert np.allclose(slopes.a, np.concatenate([expected.a, expected.theta_a[:, 1:]], axis=1), rtol=1e-9)
    for by, given, slope, seen in (
        ("x", x, slopes.by_state, outputs.by_state),
        ("p", p, slopes.by_parameters, outputs.by_parameters),
        ("tau", tau, slopes.by_torques[..., :3], None),
    ):
        for k in range(given.shape[-1]):
            e = 1e-5 * np.eye(given.shape[-1])[k]
            at = [{"x": x, "tau": tau, "p": p} | {by: given + s * e} for s in (1, -1)]
            ahead, behind = (model.slopes(**y).a for y in at)
            assert np.allclose(slope[..., k], (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-4), (by, k)
            if seen is not None:
                ahead, behind = (model.outputs(y["x"], y["p"]).y for y in at)
                assert np.allclose(seen[..., k], (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-5), (by, k)


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("delay", [3.4e-4, -2.1e-4, 1.7e-3])
def test_torque_of_a_step_has_the_mean_and_the_moment_of_the_logged_one(held, delay):
    """Against sums over fine parts of a step; derivatives by the delay against differences."""
    tau = np.random.default_rng(1).normal(size=(210, 1))
    q, knots = np.zeros((210, 1)), PERIOD * np.arange(210)
    what = unknowns(bench(), ("viscous",), "base", True, False, True)
    recording = Recording(PERIOD, 0.0, 50.0, q, q, tau)
    simulation = CorrectedSimulation(SimulationModel(bench(), what), recording, held)
    k, count, few = 20, 3, slice(None)
    s = (np.arange(60_000) + 0.5) / 60_000
    for j in range(count):
        t = PERIOD * (k + (j + s) / count) - delay
        logged = tau[np.floor(t / PERIOD).astype(int), 0] if held else np.interp(t, knots, tau[:, 0])
        found = simulation.torque(k, j, count, delay, few)
        assert np.abs(found.mean - np.mean(logged)).max() < 1e-4
        assert np.abs(found.slope - 12 * np.mean(logged * (s - 0.5))).max() < 1e-3
        later, sooner = (simulation.torque(k, j, count, delay + e, few) for e in (1e-8, -1e-8))
        assert np.allclose(found.mean_by_delay, (later.mean - sooner.mean) / 2e-8, rtol=1e-3, atol=1e-3)
        assert np.allclose(found.slope_by_delay, (later.slope - sooner.slope) / 2e-8, rtol=1e-3, atol=1e-3)


def test_corrections_are_differentiated():
    """With gains of the filter: derivatives of the corrected simulation against central differences."""
    _, log = simulated(bench(), multisine(0.8, 1, 2.0, count=30), 3, TORQUE_NOISE)
    what = unknowns(bench(), ("stribeck",), "base", True, False, True)
    p = what.priors + 0.0
    recording = Recording(PERIOD, 0.0, 50.0, log.q[:400], log.theta[:400], log.tau[:400])
    simulation = CorrectedSimulation(SimulationModel(bench(), what), recording)
    gains = simulation.gains(p, Noise(np.full(2, STEP / 3), np.array([TORQUE_NOISE, 0.0])))
    _, slopes = (np.array(x) for x in zip(*simulation.steps(p, gains)))
    check_derivatives(simulation, what, p, gains, slopes)


@pytest.fixture(scope="module")
def runs():
    return simulated(bench(), multisine(0.8, 0, 20.0, count=30), 78, TORQUE_NOISE, rows=1)


@pytest.fixture(scope="module")
def found(runs):
    return [fj.identification.identify(rough_bench(), log, delay=0.0, method="output_error") for log in runs[1]]


def test_errors_are_as_large_as_stated(found):
    for one in found:
        error = np.array([x * one[name].deviation for name, x in pulls(one, bench()).items()])
        distance = float(error @ np.linalg.solve(one.covariance, error))
        assert chi2.ppf(0.005, error.size) < distance < chi2.ppf(0.995, error.size)
        assert one.fit.converged


def test_deviations_are_those_of_the_cramer_rao_bound(runs, found):
    run, _ = runs
    law = bench().joints[0].drive.motor.friction
    true = {"K": 300.0, "D": 0.5, "phi_0": 0.0, "B": 0.12, "tau_1": 0.0, "d": law.viscous, "F_c": law.coulomb}
    true |= {"v_c": law.velocity, "F_s": law.static, "v_s": law.stribeck_velocity}
    true |= {"h_x": 0.5, "h_y": 0.04, "I": 0.02 + 2 * (0.25**2 + 0.02**2)}
    states = np.concatenate([run.q[0], run.v[0], run.theta[0], run.theta_v[0]], axis=1)
    least = bound(states, run.tau[0, :, 0], true, run.period, STEP * np.sqrt(NOISE**2 + 1 / 12), TORQUE_NOISE)
    for name, smallest in least.items():
        for one in found:
            assert 0.9 < one[name].deviation / smallest < 1.3, name


def with_light_tool():
    """A 3R whose last link hardly deflects its spring: 0.2 encoder steps."""
    robot = fj.load("hua_3r")
    light = dataclasses.replace(robot.links[2], mass=0.05, com=(0.0, 0.0, 0.02), inertia=np.diag([3e-4, 3e-4, 2e-4]))
    law = fj.drives.Friction(1.0, 1.0, 0.05)
    drives = [fj.ElasticDrive(800.0, fj.Motor(B, friction=law), damping=0.1) for B in (0.5, 0.5, 0.1)]
    return robot.replace(links=(*robot.links[:2], light, *robot.links[3:])).with_drives(drives)


def test_links_that_no_robot_has_are_no_obstacle():
    """Least squares give link 3 no inertia that exists; the rest is estimated, and joint 3 stays unknown."""
    true = with_light_tool()
    _, log = simulated(true, multisine(np.array([0.5, 0.4, 0.3]), 1, 3.0, 0.3), 2, TORQUE_NOISE)
    one = fj.identification.identify(rough(true), log, friction="coulomb", delay=0.0, method="output_error")
    assert one.fit.converged
    assert one["joint3.drive.stiffness"].verdict == "unknown"
    errors = pulls(one, true)
    assert np.mean([abs(x) < 2 for x in errors.values()]) > 0.85
    assert max(abs(x) for x in errors.values()) < 4
    for name in ("joint1.drive.stiffness", "joint2.drive.stiffness"):
        assert one[name].deviation < 0.1  # of 800 Nm/rad


def test_a_log_without_motor_torque_is_refused(runs):
    log = runs[1][0]
    silent = fj.logs.Log(log.robot, log.t, q=log.q, theta=log.theta)
    with pytest.raises(fj.InputError, match=r"output error simulates .* log tau"):
        fj.identification.identify(rough_bench(), silent, method="output_error")
    with pytest.raises(fj.InputError, match="method is 'guess'"):
        fj.identification.identify(rough_bench(), log, method="guess")
