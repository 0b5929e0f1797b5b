"""Every point of a sweep is what `simulate` gives for its values, to the bit, in a table with named columns."""

from __future__ import annotations

import csv
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.results import write_table
from flexjoint.studies.sweep_plan import SweepPlan

ROBOT = fj.random_robot(1, 3, prismatic=0.0, elastic=1.0, name="arm")
LAW = fj.control.FeedforwardPD(ROBOT, [400.0, 40.0])
OTHER = fj.control.MotorPD(ROBOT, [400.0, 40.0])
MOTION = fj.trajectory.RestToRest([0.0], [0.4], 0.05)
OPTIONS = {"period": 1e-3}


def sweep(over, **changes):
    return fj.studies.sweep(ROBOT, LAW, MOTION, 0.06, over=over, **OPTIONS | {"threads": 1} | changes)


def largest(controller=LAW, robot=ROBOT, **options):
    run = fj.simulate(robot, controller, MOTION, 0.06, **OPTIONS | {"check": False} | options)
    return np.abs(run.q - run.reference).max(axis=0)


GRID = {
    "link1.mass": [0.5, 1.0],
    "gains.K_P": [200.0, 400.0, 800.0],
    "controller": {"feedforward": LAW, "motor": OTHER},
}


@pytest.fixture(scope="module")
def grid():
    return sweep(GRID)


def test_a_grid_has_every_combination(grid):
    assert len(grid) == 12 and grid.complete and grid.axes == ("controller", "link1.mass", "gains.K_P")
    rows = set(zip(grid["controller"], grid["link1.mass"], grid["gains.K_P"]))
    assert rows == {(a, b, c) for a in ("feedforward", "motor") for b in (0.5, 1.0) for c in (200.0, 400.0, 800.0)}
    assert "12 points, 0 failed" in repr(grid) and "gains.K_P" in grid._repr_html_()


@pytest.mark.parametrize("point", [0, 4, 11])
def test_a_point_is_a_single_run(grid, point):
    law = {"feedforward": LAW, "motor": OTHER}[grid["controller"][point]]
    gains = law.gains.copy()
    gains[0] = grid["gains.K_P"][point]
    found = largest(law, gains=gains, free={"link1.mass": grid["link1.mass"][point]})
    names = [f"largest.{joint.name}" for joint in ROBOT.joints]
    assert np.array_equal([grid[name][point] for name in names], found)
    assert grid["largest"][point] == found.max()
    assert np.array_equal(np.abs(grid.point(point).error).max(axis=0), found)


def test_executors_blocks_and_stores_do_not_matter(grid, tmp_path):
    with ThreadPoolExecutor(2) as pool:
        found = sweep(GRID, executor=pool, threads=None, block=5, folder=tmp_path)
    again = sweep(GRID, folder=tmp_path)
    for other in (found, again, fj.studies.read(tmp_path)):
        assert all(np.array_equal(grid[name], other[name]) for name in grid.table)
    with pytest.raises(fj.InputError, match=r"other settings: over.gains.K_P was"):
        sweep(GRID | {"gains.K_P": [200.0, 400.0, 801.0]}, folder=tmp_path)
    with pytest.raises(fj.InputError, match="read from a store has no controllers"):
        fj.studies.read(tmp_path).point(0)


def test_lists_of_robots_with_their_controllers():
    """Different joints: columns of the others are NaN; runs without a batch."""
    two = fj.random_robot(2, 4, prismatic=0.0, elastic=0.0, name="rigid")
    law, motion = fj.control.ComputedTorque(two, [100.0, 20.0]), fj.trajectory.RestToRest([0.0] * 2, [0.1] * 2, 0.05)
    points = [
        {"robot": ROBOT, "controller": LAW, "reference": MOTION},
        {"robot": two, "controller": law, "reference": motion},
        {"robot": ROBOT, "controller": OTHER, "reference": MOTION},
    ]
    found = fj.studies.sweep(None, None, None, 0.06, over=points, threads=1, **OPTIONS)
    assert found["robot"].tolist() == ["arm", "rigid", "arm"]
    assert found["controller"].tolist() == ["feedforward_pd", "computed_torque", "motor_pd"]
    column = f"largest.{two.joints[1].name}"
    assert np.array_equal(found["largest"][[0, 2]], [largest(x)[0] for x in (LAW, OTHER)])
    assert np.isnan(found[column][[0, 2]]).all() and found[column][1] > 0


def test_sensors_seeds_and_gains_per_joint():
    sensors = {"quiet": None, "noisy": fj.simulation.Sensors(motor_noise=1e-3)}
    gains = [[[300.0], [30.0]], [400.0, 40.0]]
    found = sweep({"sensors": sensors, "seed": [3, 4], "gains": gains})
    assert found["gains"].tolist()[:2] == ["[[300.0], [30.0]]", "[400.0, 40.0]"]
    for point in range(8):
        kind, seed = sensors[found["sensors"][point]], int(found["seed"][point])
        given = np.array(gains[point % 2], dtype=float)
        given = given.reshape(2, 1)
        assert found["largest"][point] == largest(sensors=kind, seed=seed, row=0, gains=given).max()
    assert found["largest"][4] != found["largest"][6] and found["largest"][0] == found["largest"][2]


def test_points_that_fail_are_rows(tmp_path):
    """Semi-implicit Euler is unstable beyond h = 2/ω: a step that is too long is told from control that diverges."""
    weak = fj.control.FeedforwardPD(ROBOT, [1.0, 0.0])
    stiffness = f"{ROBOT.joints[0].name}.drive.stiffness"
    found = fj.studies.sweep(
        ROBOT, weak, MOTION, 0.06, over={stiffness: [1e3, 4e7]}, integrator="euler", threads=1, **OPTIONS
    )
    assert found["integrator_failed"].tolist() == ["", ROBOT.joints[0].name]
    assert found.failed.tolist() == [False, True] and found.best()["point"] == 0
    write_table(found, tmp_path / "sweep.csv")
    with open(tmp_path / "sweep.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(x["largest"]) for x in rows] == found["largest"].tolist() and "ended [s]" in rows[0]


def test_the_payload_is_one_more_link():
    plan = SweepPlan(ROBOT, LAW, MOTION, 0.06, {"payload": [0.0, 2.0]}, OPTIONS)
    plan.check()
    loop = plan.loop_of(plan.at(1))
    options, names, values = plan.batch_options(loop, [plan.at(k) for k in range(2)])
    assert loop.robot == ROBOT.with_payload(0.0) and names == [f"{loop.robot.links[-1].name}.mass"]
    assert values.tolist() == [[0.0], [2.0]] and options["free"][names[0]].tolist() == [0.0, 2.0]


def test_laws_in_python():
    def law(t, state, reference, measurement):
        return state, 50.0 * (reference[0] - measurement.theta) - 5.0 * measurement.theta_v

    found = sweep({"controller": [law], "link1.mass": [0.5, 1.0]})
    assert found["controller"].tolist() == ["law", "law"] and found["largest"][0] != found["largest"][1]


@pytest.mark.parametrize(
    ("over", "changes", "message"),
    [
        ({}, {}, "over must map axes to values"),
        ({"gains.K_P": 3.0}, {}, r"over\['gains.K_P'\] must be a list of values"),
        ({"gains.K_P": []}, {}, "must be a list of values"),
        ({"gains.K_X": [1.0]}, {}, r"there is no gain 'K_X'; feedforward_pd has \['K_P', 'K_D'\]"),
        ({"gains": [[1.0, 2.0, 3.0]]}, {}, r"gains has shape \(3,\); it must fit \(2, 1\)"),
        ({"gains.K_P": [np.nan]}, {}, "gains.K_P is nan"),
        ({"lnk1.mass": [1.0]}, {}, "no parameter 'lnk1.mass'"),
        ({"link1.com": [[1.0, 2.0]]}, {}, r"values of link1.com must be numbers, or arrays of shape \(3,\)"),
        ({"free": [1.0]}, {}, "'free' cannot be an axis"),
        ({"period": [1e-3]}, {}, "'period' is an axis and an option"),
        ({"seed": [1]}, {"gains": LAW.gains}, "sweep has no option gains; make it an axis"),
        ({"seed": [1]}, {"check": True}, "sweep has no option check"),
        ([{"seed": 1}, {"payload": 1.0}], {}, "point 1 must have a value for each axis: seed"),
        ({"controller": [fj.control.OpenLoop(ROBOT)]}, {}, "OpenLoop follows no reference"),
        ({"seed": [1]}, {"block": 0}, "block is 0"),
    ],
)
def test_mistakes(over, changes, message):
    with pytest.raises(fj.InputError, match=message):
        sweep(over, **changes)


def test_unknown_columns_and_points(grid):
    with pytest.raises(fj.InputError, match="no column 'worst'; there are point, controller"):
        grid["worst"]
    with pytest.raises(fj.InputError, match="there is no point 12; the last is 11"):
        grid.point(12)
