"""Rotor models beside each other: each against Pinocchio with explicit rotor bodies, growth, verdicts and mistakes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.analysis.rotor_models import percent
from flexjoint.cli import app
from flexjoint.plots.rotor_models import plot_rotor_models
from support.errors import relative_error
from support.pinocchio_model import pinocchio_rnea
from support.rotors import explicit, with_random_rotors

ARM = fj.random_robot(3, 2, prismatic=0.3, friction=True)
RIGID = with_random_rotors(ARM, 4, elastic=0.0, carriers="any")
MIXED = with_random_rotors(fj.random_robot(3, 3, prismatic=0.0), 5, elastic=0.5)
MOTION = fj.trajectory.Sinusoid([0.7, -0.5, 0.9], [0.9, 1.3, 0.7], [0.1, 0.4, 0.8], duration=1.0)


def tied(robot, q, v, a, spin, axial=1.0):
    """Forces on the joints when rotors turn `spin` times with their gears and have `axial` of their axial inertia."""
    made, P = explicit(robot)
    n = robot.n
    links = list(made.links)
    for k in range(len(links) - n, len(links)):
        I = np.array(links[k].inertia)
        links[k] = dataclasses.replace(links[k], inertia=I * np.diag([1.0, 1.0, axial]))
    made = made.replace(links=links)
    P = np.vstack([P[:n], spin * P[n:]])[:, :n]
    forces = P.T @ pinocchio_rnea(made, P @ q, P @ v, P @ a)
    friction = np.array([x.viscous_friction + x.drive.motor.viscous_friction for x in robot.joints])
    return forces + friction * v


def test_each_model_is_that_of_explicit_bodies():
    found = fj.analysis.compare_rotor_models(RIGID, MOTION, samples=5)
    assert list(found.torques) == ["no rotors", "armature", "Spong", "complete"] and not found.notes
    B = np.array([joint.drive.motor.inertia for joint in RIGID.joints])
    for k, t in enumerate(found.t):
        q, v, a = MOTION(t, 2)
        none, spong = tied(RIGID, q, v, a, 0.0), tied(RIGID, q, v, a, 0.0, axial=0.0)
        expected = {"no rotors": none, "armature": none + B * a, "Spong": spong + B * a}
        expected["complete"] = tied(RIGID, q, v, a, 1.0)
        for model, tau in expected.items():
            assert relative_error(found.torques[model][k], tau) < 1e-12, model
    distances = [found.relative[model].max() for model in found.simpler]
    assert min(distances) > 0.01, "models that hardly differ show nothing"
    assert len(set(distances)) == 3


def test_models_of_springs():
    found = fj.analysis.compare_rotor_models(MIXED, MOTION, samples=4)
    assert list(found.torques) == ["no rotors", "armature", "geared", "Spong", "complete"] and not found.notes
    stack = MOTION(found.t, fj.dynamics.derivative_orders(MIXED).motion)
    spong, stiff = MIXED.with_fidelity("spong"), MIXED.rigid()
    for model, robot in {"complete": MIXED, "Spong": spong, "geared": stiff}.items():
        assert np.array_equal(found.torques[model], fj.inverse_dynamics(robot, *stack))
    for k, (q, v, a) in enumerate(zip(*stack[:3])):
        assert relative_error(found.torques["geared"][k], tied(stiff, q, v, a, 1.0)) < 1e-12
        assert relative_error(found.torques["no rotors"][k], tied(stiff, q, v, a, 0.0)) < 1e-12


def test_errors_of_rigid_joints_grow_with_the_square_of_the_speed():
    found = fj.analysis.compare_rotor_models(RIGID, MOTION, samples=7, speeds=(0.5, 1.0, 3.0))
    for model in found.simpler:
        assert relative_error(found.growth[model], np.outer([0.25, 1.0, 9.0], found.largest[model])) < 1e-12
        assert found.exponents(model) == pytest.approx([2.0] * 3, abs=1e-12)
    assert relative_error(found.peaks[1], found.peak) < 1e-15


def test_rounding_is_no_error():
    """One joint on a fixed base: its rotor turns with nothing, so that an armature is all there is."""
    arm = fj.random_robot(1, 1, prismatic=0.0)
    robot = arm.with_drives([fj.RigidDrive(fj.Motor.from_rotor(1e-3, 30.0))])
    found = fj.analysis.compare_rotor_models(robot, fj.trajectory.Sinusoid([0.9], [1.3], duration=1.0), samples=99)
    assert not np.any(found.errors["armature"]) and not np.any(found.growth["Spong"])
    assert np.isnan(found.exponents("armature")).all()
    assert "'armature' is enough; it errs by up to 0 %" in found.verdict


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (9e-5, "<0.01 %"), (0.0123, "1.2 %"), (0.98, "98 %"), (0.997, "100 %"), (12.34, "1234 %")],
)
def test_percents_are_no_powers_of_ten(share, text):
    assert percent(share) == text


def test_verdicts():
    found = fj.analysis.compare_rotor_models(RIGID, MOTION, samples=9)
    worst = {model: x.max() for model, x in found.relative.items()}
    best = min(worst, key=worst.get)
    assert f"use the complete model; the best simpler model, '{best}'" in found.verdict
    assert f"{100 * worst[best]:.2g} %" in found.verdict
    for model in found.simpler:
        allowed = dataclasses.replace(found, tolerance=worst[model] * 1.001)
        first = next(x for x in found.simpler if worst[x] <= allowed.tolerance)
        assert f"'{first}' is enough" in allowed.verdict and "at 2 times the speed" in allowed.verdict


@pytest.mark.parametrize("reason", ["rough", "cycle", "damped", "piecewise"])
def test_where_the_complete_model_cannot_follow_joints_are_rigid(reason):
    robot, motion = MIXED, MOTION
    if reason == "rough":
        motion = fj.trajectory.RestToRest(np.zeros(3), np.ones(3), 1.0, smoothness=2)
    if reason == "cycle":
        own = [dataclasses.replace(x.joint.drive.motor, carrier=x.name) for x in robot.links]
        robot = robot.with_drives([fj.ElasticDrive(100.0, motor) for motor in own])
    if reason == "damped":
        hard = fj.springs.CubicSpring(100.0, 500.0)
        robot = robot.with_drives([fj.ElasticDrive(hard, x.drive.motor, damping=1.0) for x in robot.joints])
    if reason == "piecewise":
        spring = fj.springs.PiecewiseSpring((0.0, 0.1), (100.0, 200.0))
        robot = robot.with_drives([fj.ElasticDrive(spring, x.drive.motor) for x in robot.joints])
    found = fj.analysis.compare_rotor_models(robot, motion, samples=3)
    assert len(found.notes) == 1 and "compared as rigid: " in found.notes[0]
    said = {"rough": "C^2 only", "cycle": "no finite inverse dynamics", "damped": "damped", "piecewise": "has 2"}
    assert said[reason] in found.notes[0]
    assert not any(found.robot.compliant) and "geared" not in found.torques
    q, v, a = motion(found.t[1], 2)
    assert relative_error(found.torques["complete"][1], tied(robot.rigid(), q, v, a, 1.0)) < 1e-12


@pytest.mark.long
def test_damped_springs_are_compared():
    """As springs; with little damping nearly as without."""
    motion = fj.trajectory.RestToRest(np.zeros(3), np.array([0.5, -0.4, 0.6]), 1.0, smoothness=12)
    robots = [
        MIXED.with_drives([fj.ElasticDrive(100.0, x.drive.motor, damping=D) for x in MIXED.joints]) for D in (0.0, 1e-3)
    ]
    undamped, damped = (fj.analysis.compare_rotor_models(x, motion, samples=401) for x in robots)
    assert damped.notes == () and all(damped.robot.damped)
    for model in ("Spong", "complete"):
        assert 1e-12 < relative_error(damped.torques[model], undamped.torques[model]) < 1e-3


def test_a_gear_ratio_can_be_assumed():
    robot = fj.load("dlr_lwr3")
    motion = fj.trajectory.RestToRest(np.zeros(7), np.ones(7), 1.0)
    with pytest.raises(fj.InputError, match="'joint1' has a reflected inertia but no gear ratio"):
        fj.analysis.compare_rotor_models(robot, motion)
    errors = [
        fj.analysis.compare_rotor_models(robot, motion, samples=9, gear_ratio=g).largest["armature"] for g in (1e3, 2e3)
    ]
    assert relative_error(errors[0], 2 * errors[1]) < 1e-12, "the coupling is B/η"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"speeds": [1.0]}, "two or more positive"),
        ({"speeds": [1.0, -2.0]}, "positive"),
        ({"samples": 1}, "samples is 1"),
        ({"samples": 2.5}, "samples is 2.5"),
        ({"tolerance": 0.0}, "tolerance is 0"),
        ({"speeds": ["fast", 1.0]}, "speeds must be real numbers"),
    ],
)
def test_mistakes(changes, message):
    with pytest.raises(fj.InputError, match=message):
        fj.analysis.compare_rotor_models(RIGID, MOTION, **changes)


def test_robots_without_rotors_are_refused():
    with pytest.raises(fj.InputError, match="nothing to compare"):
        fj.analysis.compare_rotor_models(ARM, MOTION)
    with pytest.raises(fj.InputError, match="two motors"):
        fj.analysis.compare_rotor_models(fj.load("vsa_3r"), MOTION)


def test_plot(tmp_path):
    figure = plot_rotor_models(fj.analysis.compare_rotor_models(MIXED, MOTION, samples=20), tmp_path / "rotors.svg")
    assert [axis.get_title() for axis in figure.axes[:3]] == [
        "motor torque, Nm",
        "model − complete, Nm",
        "largest error, Nm",
    ]
    text = (tmp_path / "rotors.svg").read_text()
    assert text.startswith("<?xml") and len(text) > 10_000


# The command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, ["rotors", *arguments])


def test_command(run, tmp_path):
    turn, plot = '{kind = "rest_to_rest", goal = 1, duration = 1}', tmp_path / "rotors.png"
    result = run("dlr_lwr3", turn, "--gear-ratio", "100", "--plot", str(plot), "--samples", "21", "--speeds", "1,3")
    assert result.exit_code == 0, result.output
    robot = fj.load("dlr_lwr3")
    found = fj.analysis.compare_rotor_models(
        robot, fj.trajectory.RestToRest(np.zeros(7), np.ones(7), 1.0), samples=21, gear_ratio=100.0, speeds=(1.0, 3.0)
    )
    assert found.verdict in result.stdout and "× 3" in result.stdout
    for i, joint in enumerate(robot.joints):
        row = next(line for line in result.stdout.splitlines() if joint.name in line and " Nm" in line)
        assert f"{found.largest['armature'][i]:.3g} " in row
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_command_refuses_in_one_line(run):
    turn = '{kind = "rest_to_rest", goal = 1, duration = 1}'
    for arguments, message in (
        ((turn,), "a reflected inertia but no gear ratio"),
        ((turn, "--gear-ratio", "100", "--speeds", "fast"), "--speeds is 'fast'"),
        ((turn, "--gear-ratio", "100", "--plot", "x.doc"), "a plot is written"),
    ):
        result = run("dlr_lwr3", *arguments)
        assert result.exit_code == 2 and message in result.stderr and result.stderr.count("\n") == 1
