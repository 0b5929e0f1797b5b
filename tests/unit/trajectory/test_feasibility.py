"""Motions against all limits of joints, motors and springs: values in closed form, times, and cures that cure."""

import dataclasses
import json
import math
import re
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app
from flexjoint.drives import MotorLimits, SpringLimits
from flexjoint.plots import plot_motors
from flexjoint.reports import content_of
from flexjoint.simulation.run_limits import deflections, run_values
from flexjoint.trajectory import RestToRest, check_feasibility
from support.limited_pendulum import QUANTITIES, pendulum, quantities
from support.warned import said, with_limits

MOTION = RestToRest([-1.0], [0.6], 0.8)
T = np.linspace(0.0, 0.8, 1001)
VALUES = quantities(MOTION(T, order=4)[..., 0])
PEAKS = {name: float(np.abs(x).max()) for name, x in VALUES.items()}
PEAKS["root-mean-square torque"] = math.sqrt(np.trapezoid(VALUES["torque"] ** 2, T) / 0.8)
TIGHT = {name: 0.9 * x for name, x in PEAKS.items()}


@pytest.fixture(scope="module")
def found():
    return check_feasibility(pendulum(TIGHT), MOTION)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_each_limit_with_value_times_and_cure(found, quantity):
    (violation,) = [x for x in found.violations if x.quantity == quantity]
    assert violation.joint == "hinge"
    assert abs(violation.value) == pytest.approx(PEAKS[quantity], rel=1e-6)
    assert violation.limit == pytest.approx(math.copysign(TIGHT[quantity], violation.value))
    if quantity == "root-mean-square torque":
        assert math.isnan(violation.at) and math.isnan(violation.first)
    else:
        size = np.abs(VALUES[quantity])
        assert size[round(violation.at / 0.8 * 1000)] == pytest.approx(PEAKS[quantity], rel=1e-9)
        k = np.flatnonzero(size > TIGHT[quantity])[0]
        assert T[max(k - 1, 0)] - 1e-12 <= violation.first <= T[k] + 1e-12
    factor = float(re.fullmatch(r"([\d.]+) times the duration", violation.cure)[1])
    assert factor > 1

    def share(longer):
        stack = MOTION(T, order=4)[..., 0] / (longer ** np.arange(5))[:, None]
        values = quantities(stack)
        if quantity == "root-mean-square torque":
            return math.sqrt(np.trapezoid(values["torque"] ** 2, T) / 0.8) / TIGHT[quantity]
        return np.abs(values[quantity]).max() / TIGHT[quantity]

    assert share(factor) <= 1 + 1e-6 < share(factor * 0.999)


def test_what_is_within_its_limits_is_feasible(found):
    assert not found.feasible and len(found.violations) == len(QUANTITIES)
    loose = check_feasibility(pendulum({name: 1.001 * x for name, x in PEAKS.items()}), MOTION)
    assert loose.feasible and set(loose.limits) == set(QUANTITIES)
    assert check_feasibility(pendulum({}), MOTION).limits == ()
    assert "9 limits exceeded" in repr(found) and "times the duration" in str(found) and "<table" in found._repr_html_()


def test_positions_and_gravity_are_not_cured_by_time():
    narrow = with_limits(pendulum({"torque": 9.0}), lower=-0.75, upper=2.0, effort=9.0)
    position, torque = check_feasibility(narrow, MOTION).violations
    assert position.value == pytest.approx(-1.0) and position.limit == -0.75 and position.first == 0.0
    assert position.cure == "a range smaller by 0.25 rad"
    assert "gravity, springs and the wrench alone take 9.81 Nm at rest" in torque.cure


def test_units_and_names_of_sliding_joints_and_second_motors():
    joint = fj.Joint("slide", "prismatic", limits=fj.Limits(velocity=0.1, jerk=0.1))
    slider = fj.Robot("slider", [fj.Link("carriage", joint, mass=1.0, inertia=0.01 * np.eye(3))])
    units = {x.quantity: x.unit for x in check_feasibility(slider, RestToRest([0.0], [1.0], 1.0)).violations}
    assert units == {"velocity": "m/s", "jerk": "m/s³"}
    rough = check_feasibility(slider, RestToRest([0.0], [1.0], 20.0, smoothness=1)).violations
    assert [(x.quantity, x.value) for x in rough] == [("jerk", math.inf)]
    assert "smoothness=2" in rough[0].cure


def test_tables_and_runs_warn_of_every_kind_of_limit():
    robot = pendulum(TIGHT)
    said_of_table = " ".join(said(lambda: fj.analysis.motor_table(robot, MOTION)))
    for name in QUANTITIES:
        assert f"the motion exceeds {name} limits" in said_of_table
    law = fj.control.OpenLoop(robot)
    torque = fj.trajectory.Sinusoid([60.0], 1.0, duration=0.5)
    messages = " ".join(said(lambda: fj.simulate(robot, law, torque, substeps=4)))
    for name in ("torque", "root-mean-square torque", "motor speed", "power", "spring torque", "deflection"):
        assert f"the run exceeds {name} limits" in messages


def test_the_command_line_warns_of_every_kind_and_is_strict(tmp_path):
    file, motion = tmp_path / "robot.toml", '{kind = "rest_to_rest", start = -1.0, goal = 0.6, duration = 0.8}'
    fj.write_robot(pendulum(TIGHT), file)
    told = CliRunner().invoke(app, ["torques", str(file), motion])
    assert told.exit_code == 0
    assert all(f"exceeds {name} limits" in re.sub(r"\s+", " ", told.stderr) for name in QUANTITIES)
    refused = CliRunner().invoke(app, ["torques", str(file), motion, "--strict"])
    assert refused.exit_code == 2  # one error that names all of them
    assert all(f"exceeds {name} limits" in re.sub(r"\s+", " ", refused.stderr) for name in QUANTITIES)
    refused = CliRunner().invoke(app, ["fit", str(file), motion, "--strict"])
    assert refused.exit_code == 2 and "exceeds 9 limits as it is" in refused.stderr
    assert "shortest duration" in refused.stdout
    found = json.loads(CliRunner().invoke(app, ["fit", str(file), motion, "--json"]).stdout)
    assert [x["quantity"] for x in found["violations"]] == [
        x.quantity for x in check_feasibility(pendulum(TIGHT), MOTION).violations
    ]
    assert found["duration_s"] == pytest.approx(fj.trajectory.fit_duration(pendulum(TIGHT), MOTION).duration, rel=1e-12)


def test_a_table_has_the_violations_of_its_motion():
    """The same limits, values and cures as from `check_feasibility`, up to what lies between samples."""
    robot = pendulum(TIGHT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fj.FlexjointWarning)
        table = fj.analysis.motor_table(robot, MOTION)
    assert {x.quantity for x in table.exceeded.violations} == set(QUANTITIES)
    for x in table.exceeded.violations:
        assert abs(x.value) == pytest.approx(PEAKS[x.quantity], rel=1e-4) and x.joint == "hinge"
        assert x.excess == pytest.approx(0.1 * PEAKS[x.quantity], rel=1e-2) and "times the duration" in x.cure
    shown = content_of(table).below[0]
    assert len(shown.rows) == len(QUANTITIES) and all(row[-1] for row in shown.rows)
    axes = {axis.get_title().split(",")[0]: axis for axis in plot_motors(table).axes}
    names = {"motor torque": "torque", "deflection θ − q": "deflection"}
    assert {names.get(x, x) for x in axes} == set(QUANTITIES) - {"root-mean-square torque"}
    for title, axis in axes.items():
        factor = np.degrees(1.0) if title.startswith("deflection") else 1.0
        dashed = [abs(line.get_ydata()[0]) for line in axis.lines if line.is_dashed()]
        assert dashed and np.allclose(dashed, factor * TIGHT[names.get(title, title)])
        shaded = np.concatenate([x.get_paths()[0].vertices[:, 1] for x in axis.collections])
        assert np.abs(shaded).max() == pytest.approx(factor * PEAKS[names.get(title, title)], rel=1e-4)
        assert np.abs(shaded).min() == pytest.approx(factor * TIGHT[names.get(title, title)])


def test_a_run_has_its_violations_with_cures():
    robot = with_limits(pendulum({}), velocity=0.5, acceleration=3.0, effort=5.0)
    law = fj.control.FeedforwardPD(robot, [400.0, 40.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fj.FlexjointWarning)
        run = fj.simulate(robot, law, MOTION, substeps=4)
    found = {x.quantity: x for x in run.exceeded.violations}
    assert set(found) == {"velocity", "acceleration", "torque"}
    for name in ("velocity", "acceleration"):
        assert abs(found[name].value) == pytest.approx(PEAKS[name], rel=1e-4)
        assert "times the duration" in found[name].cure
    assert "slower reference or lower gains" in found["torque"].cure
    assert content_of(run).below[0].rows[0][0] == "velocity"
    free = fj.simulate(robot, law, MOTION, check=False, substeps=4)
    assert free.exceeded.violations == () and content_of(free).below == []


def test_deflections_and_spring_torques_of_a_run():
    """Of a damped spring: K φ + D φ'."""
    limits = SpringLimits(torque=1e-6, deflection=1e-9)
    motor = fj.Motor(0.3, limits=MotorLimits(torque=1e3))
    robot = pendulum({}).with_drives([fj.ElasticDrive(200.0, motor, 3.0, limits)])
    torque = fj.trajectory.Sinusoid([20.0], 1.0, duration=0.3)
    run = fj.simulate(robot, fj.control.OpenLoop(robot), torque, check=False)
    values = run_values(run)
    phi, phi_v = run.theta - run.q, run.theta_v - run.v
    np.testing.assert_allclose(values["deflection"], phi, rtol=1e-14)
    np.testing.assert_allclose(values["spring torque"], 200.0 * phi + 3.0 * phi_v, rtol=1e-12, atol=1e-12)


def test_a_follower_tightens_its_leader():
    leader = pendulum({"velocity": 3.0}).links[0]
    joint = fj.Joint("finger", mimic=fj.robot.Mimic("hinge", ratio=-2.0), limits=fj.Limits(velocity=4.0))
    follower = fj.Link("tip", joint, parent="arm", mass=0.1, inertia=0.01 * np.eye(3))
    robot = fj.Robot("hand", [dataclasses.replace(leader), follower], gravity=(0.0, -9.81, 0.0))
    fitted = fj.trajectory.fit_duration(robot, RestToRest([0.0], [1.0], 1.0))
    assert fitted.duration == pytest.approx(140 / 64 / 2.0, rel=1e-7)


def test_peaks_between_samples_count():
    """A sinusoid of 1 Hz reaches its peaks at 0.25 s and 0.75 s, and its greatest speed at 0.5 s."""
    swing = fj.trajectory.Sinusoid([1.0], 1.0, duration=1.0)
    late = fj.trajectory.Sinusoid([1.0], 1.0, phase=[0.3], duration=1.0)
    for share, feasible in ((1 - 1e-7, False), (1 + 1e-9, True)):
        assert check_feasibility(with_limits(pendulum({}), upper=share), swing, samples=51).feasible == feasible
        assert check_feasibility(pendulum({"velocity": 2 * math.pi * share}), late, samples=51).feasible == feasible


@pytest.mark.parametrize("side", ["motor", "joint"])
def test_springs_of_a_coupled_transmission(side):
    """Deflections and torques of a run are those of inverse dynamics at the same positions."""
    limits = SpringLimits(torque=1.0, deflection=1.0)
    plain = fj.random_robot(2, 3, prismatic=0.0)
    names = tuple(joint.name for joint in plain.joints)
    group = fj.drives.CoupledTransmission(names, ((1.0, 1.0), (1.0, -1.0)), springs=side)
    drives = [fj.ElasticDrive(k, fj.Motor(0.2), spring_limits=limits) for k in (80.0, 120.0)]
    robot = plain.with_drives(drives).replace(transmissions=(group,))
    stack = RestToRest([0.0, 0.0], [1.0, -0.5], 0.5)(np.linspace(0.0, 0.5, 7), order=4)
    motion = fj.motor_motion(robot, *stack)
    phi = deflections(robot, stack[0], motion.theta)
    np.testing.assert_allclose(phi, motion.deflection, atol=1e-12)
    np.testing.assert_allclose(phi * [80.0, 120.0], motion.spring_torque, atol=1e-9)
