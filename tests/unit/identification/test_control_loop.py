"""Logs under a known controller: sensitivities of the closed loop against complex steps, and estimates without tau."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app
from flexjoint.identification.controlled_simulation import ControlledSimulation
from flexjoint.identification.corrected_simulation import Gains, Noise
from flexjoint.identification.parameters import unknowns
from flexjoint.identification.recordings import Recording
from flexjoint.identification.simulation_model import SimulationModel
from support.bench_information import stepped
from support.identification import (
    NOISE,
    STEP,
    bench,
    check_derivatives,
    logged,
    multisine,
    pulls,
    rough_bench,
    stiff_pd,
)

K_P, K_D, LAG = 400.0, 12.0, 800.0
PERIOD, TURNS = 1e-3, 2
SENSORS = fj.simulation.Sensors(STEP, STEP, NOISE * STEP, NOISE * STEP, velocities="differenced", delay=1)


class Feedback(fj.control.Controller):
    """τ = K_P (r − θ) − K_D θ' + z, z' = 5 (r − q): a law with a state, written by a user."""

    def __init__(self, robot):
        self.robot, self.gains = robot, np.array([[K_P], [K_D]])

    memory = 1
    order = 0

    def start(self, reference):
        return (np.zeros(1),)

    def law(self, gains, state, reference, measurement):
        torque = gains[0] * (reference[0] - measurement.theta) - gains[1] * measurement.theta_v + state[0]
        return [state[0] + PERIOD / TURNS * 5.0 * (reference[0] - measurement.q)], torque


def by_hand(p, start, reference, count):
    """q and θ of the bench under that law, with differenced velocities a period late and motors with a lag."""
    x, found, z = start[:, None].astype(complex), [], 0.0
    h = PERIOD / TURNS
    samples = [x[[0, 2], 0] - k * h * x[[1, 3], 0] for k in (1, 2)]
    slow = x[3, 0]  # the first velocity is not a difference
    decay, behind = np.exp(-LAG * h), None
    for k in range(count * TURNS):
        if k % TURNS == 0:
            found.append(x[[0, 2], 0])
        seen, speed = samples[0], slow
        slow = (x[2, 0] - samples[0][1]) / h
        samples = [x[[0, 2], 0], *samples[:1]]
        command = K_P * (reference[k] - seen[1]) - K_D * speed + z
        z = z + h * 5.0 * (reference[k] - seen[0])
        behind = (1 - decay) * command if behind is None else behind  # it began with no torque
        mean = command + (1 - decay) / (LAG * h) * (behind - command)
        behind = command + decay * (behind - command)
        x = stepped(x, mean, p, h, substeps=10)
    return np.array(found)


def numbers(what, p):
    """Those of the simulator by hand."""
    x = dict(zip([k.kind if k.kind != "base" else k.name for k in what.parameters], p))
    return {
        "K": x["stiffness"], "D": x["damping"], "B": x["inertia"], "tau_1": x["torque_offset"],
        "phi_0": -x["spring_offset"] / x["stiffness"], "d": x["viscous"], "F_c": x["coulomb"],
        "v_c": np.exp(x["log_velocity"]), "F_s": x["coulomb"], "v_s": 1.0,
        "h_x": x["hinge.h_x"], "h_y": x["hinge.h_y"], "I": x["hinge.I_zz"],
    }  # fmt: skip


def test_the_closed_loop_and_its_sensitivities_are_those_of_an_independent_simulator():
    robot, rng = bench(law=fj.drives.Friction(0.7, 1.1, 0.06)), np.random.default_rng(5)
    what = unknowns(robot, ("coulomb",), "base", True, False, False)
    p = what.priors + [0.03 * abs(x) for x in what.priors]
    q = 0.02 * np.sin(5 * PERIOD * np.arange(210))[:, None]
    theta = q + 0.01 * np.cos(9 * PERIOD * np.arange(210))[:, None]
    motion = fj.trajectory.Sinusoid([[0.3]], [[3.0]], [[0.4]], duration=2.0)
    actuators = fj.simulation.Actuators(np.inf, LAG)
    loop = fj.identification.ControlLoop(Feedback(robot), motion, PERIOD / TURNS, SENSORS, actuators)
    recording = Recording(PERIOD, 0.0, 50.0, q, theta, rng.normal(size=q.shape))
    simulation = ControlledSimulation(SimulationModel(robot, what), recording, loop=loop)
    count, size = 25, 4 + simulation.law.size
    gains = Gains(np.zeros((count, 1, size, 2)), np.broadcast_to(np.eye(2), (count, 1, 2, 2)), 5e-5)
    errors, slopes = (np.array(x)[:, 0] for x in zip(*simulation.steps(p, gains)))
    q0, theta0, v0, w0 = simulation.motion[0]
    start, reference = np.array([q0, v0, theta0, w0]), motion(PERIOD / TURNS * np.arange(count * TURNS))[0][:, 0]
    expected = by_hand(numbers(what, p), start, reference, count).real
    assert np.abs(np.concatenate([q, theta], axis=1)[:count] - errors - expected).max() < 1e-9
    for j, parameter in enumerate(what.parameters):
        ahead = numbers(what, p + 1e-30j * np.eye(len(p))[j])
        exact = -by_hand(ahead, start, reference, count).imag / 1e-30
        assert np.abs(slopes[:, :, j] - exact).max() < 1e-6 * np.abs(exact).max(), parameter.name


def test_corrections_of_state_and_memory_are_differentiated():
    what = unknowns(bench(), ("stribeck",), "base", True, False, False)
    p, motion = what.priors, multisine(0.8, 1, 2.0, count=30)
    run = fj.simulate(bench(), stiff_pd(bench()), motion, period=PERIOD / TURNS, check=False, sensors=SENSORS, seed=1)
    log = logged(bench(), run.t[::TURNS], run.q[::TURNS], run.theta[::TURNS], run.tau[::TURNS], 3, 0.0)
    recording = Recording(PERIOD, 0.0, 50.0, log.q[:400], log.theta[:400], log.tau[:400])
    loop = fj.identification.ControlLoop(stiff_pd(bench()), motion, PERIOD / TURNS, SENSORS)
    simulation = ControlledSimulation(SimulationModel(bench(), what), recording, loop=loop)
    gains = simulation.gains(p, Noise(np.full(2, STEP / 3), np.array([0.02, 0.0])))
    whitened, slopes = (np.array(x) for x in zip(*simulation.steps(p, gains)))
    assert 0.5 < np.mean(whitened**2) < 1.5
    check_derivatives(simulation, what, p, gains, slopes)


@pytest.fixture(scope="module")
def silent():
    """A log of the bench without tau, of a controller that runs twice as often as the logger; and the loop."""
    motion, law = multisine(0.8, 0, 10.0, count=30), stiff_pd(bench())
    run = fj.simulate(bench(), law, motion, period=PERIOD / TURNS, substeps=2, sensors=SENSORS, seed=4, check=False)
    log = logged(bench(), run.t[::TURNS], run.q[::TURNS], run.theta[::TURNS], run.tau[::TURNS], 4, 0.0)
    return replace(log, tau=None), fj.identification.ControlLoop(law, motion, PERIOD / TURNS, SENSORS)


def test_a_log_without_torque_is_enough_if_the_controller_is_known(silent):
    log, loop = silent
    found = fj.identification.identify(rough_bench(), log, loop=loop, method="output_error")
    assert any("what the controller commands" in x for x in found.notes) and found.fit.converged and found.passed
    names = [x.name for x in found.estimates if x.kind != "delay"]
    error = np.array([pulls(found, bench())[name] * found[name].deviation for name in names])
    own = found.covariance[: len(names), : len(names)]
    assert chi2.ppf(0.005, error.size) < error @ np.linalg.solve(own, error) < chi2.ppf(0.995, error.size)
    for name, true in (("hinge.drive.stiffness", 300.0), ("hinge.drive.motor.inertia", 0.12)):
        assert found[name].deviation < 5e-4 * true  # a logged torque with 0.05 Nm of noise gives 6e-4 and 8e-4


def test_the_command_line_takes_the_controller(tmp_path):
    """A controller that knows the robot file; no torque in the log."""
    law = fj.control.MotorPD(rough_bench(), [570.0, 14.0])
    table = "{kind = 'sinusoid', amplitude = [[0.2], [0.1], [0.05]], frequency = [[0.3], [1.1], [2.3]], duration = 8}"
    motion = fj.trajectory.load_trajectory(table, rough_bench())
    true = bench(law=fj.drives.Friction(0.8))
    run = fj.simulate(true, law, motion, period=PERIOD / TURNS, substeps=2, check=False)
    columns = np.column_stack([run.t, run.q, run.theta])[::TURNS]
    np.savetxt(tmp_path / "log.csv", columns, "%.12g", ",", header="t,q.hinge,theta.hinge", comments="")
    fj.write_robot(rough_bench(), tmp_path / "bench.toml")
    arguments = ["identify", tmp_path / "bench.toml", tmp_path / "log.csv", "--friction", "viscous", "--json"]
    known = ["--controller", "motor_pd", "--gains", "570,14", "--trajectory", table, "--period", PERIOD / TURNS]
    result = CliRunner().invoke(app, [str(x) for x in [*arguments, *known]])
    assert result.exit_code == 0, result.output
    assert "what the controller commands" in result.stdout
    values = {x["name"]: x["value"] for x in json.loads(result.stdout)["estimates"]}
    assert values["hinge.drive.stiffness"] == pytest.approx(300.0, rel=2e-3)
    assert values["hinge.drive.motor.inertia"] == pytest.approx(0.12, rel=5e-3)
    for wrong, message in ((known[2:], "give --controller too"), (known[:4], "--controller needs --trajectory")):
        result = CliRunner().invoke(app, [str(x) for x in [*arguments, *wrong]])
        assert result.exit_code == 2 and message in result.stderr


def test_what_is_no_loop_of_this_robot_is_named(silent):
    log, loop = silent
    arm = fj.load("hua_3r")
    other = replace(loop, controller=fj.control.MotorPD(arm, [1.0, 1.0]), reference=np.zeros(3))
    for bad, message in (
        (loop.controller, r"loop is .* give fj\.identification\.ControlLoop"),
        (other, "is for 3 joints, the robot has 1"),
        (replace(loop, period=3e-4), r"every 0\.001 s, the controller of loop= runs every 0\.0003 s"),
    ):
        with pytest.raises(fj.InputError, match=message):
            fj.identification.identify(rough_bench(), log, loop=bad)
    late = replace(log, t=log.t + 1.7e9)
    with pytest.raises(fj.InputError, match=r"begins at t = 1\.7e\+09 s, .* lasts from 0 to 10 s; shift t"):
        fj.identification.identify(rough_bench(), late, loop=loop)
    with pytest.raises(fj.InputError, match=r"ControlLoop: reference has shape \(2,\)"):
        replace(loop, reference=[0.0, 0.0])
    with pytest.raises(fj.InputError, match="sensors with every > 1"):
        replace(loop, sensors=fj.simulation.Sensors(every=2))
    with pytest.raises(fj.InputError, match="ControlLoop: controller is 'pd'"):
        fj.identification.ControlLoop("pd", [0.0])
