"""Experiments: settings are inputs of one kernel, runs are those of the robot that is set, limits those of the loop."""

from __future__ import annotations

import runpy
from dataclasses import replace

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.compiler import pipeline
from flexjoint.robot.parameters import select
from flexjoint.studio.plant import free_parameters, plant_of
from flexjoint.studio.settings import drive_settings

HOSTILE = "<script>window.hacked=1</script>\x1b[31m\"\"\"'''\\ {1}"


@pytest.fixture(scope="module")
def experiment():
    return fj.studio.Experiment(fj.load("hua_3r"), "motor_pd", numbers=[100.0, 20.0])


@pytest.fixture
def trial(experiment):
    return experiment.copy()


@pytest.fixture
def kernels(monkeypatch):
    """Names of the kernels that are made, or taken from the cache, from now on."""
    made = []

    class Counting(pipeline.PipelineSource):
        def __init__(self, key, *rest):
            made.append(key)
            super().__init__(key, *rest)

    monkeypatch.setattr(pipeline, "PipelineSource", Counting)
    return made


# Kernels and runs -----------------------------------------------------------------------------------------------------


def test_no_setting_needs_another_kernel(trial, kernels):
    for motion in ("filtered step", "rest to rest"):  # which samples itself with a kernel of its own
        trial.choose_motion(motion)
        trial.run()
    trial.stable_range("payload")
    del kernels[:]
    before = trial.result.q
    for setting in trial.settings.values():
        trial.set(setting.name, 0.2 * setting.low + 0.8 * setting.high)
        trial.run()
    trial.set_push_direction([1.0, 1.0, 0.0])
    trial.choose_motion("filtered step")
    trial.run()
    trial.stable_range("K_P")
    assert kernels == []
    assert not np.array_equal(trial.result.q, before)
    trial.choose_controller("feedforward_pd", [100.0, 20.0])
    trial.run()
    assert kernels, "the count counts: another controller has another kernel"


def test_a_run_is_that_of_the_robot_that_is_set(trial):
    trial.set("*.drive.stiffness", 60.0)
    trial.set("*.drive.damping", 0.2)
    trial.set("payload", 0.4)
    trial.set("K_P", 150.0)
    trial.set("push.force", 12.0)
    trial.set_push_direction([0.0, 3.0, -4.0])
    found = trial.run()
    robot = fj.load("hua_3r")
    drive = replace(robot.joints[2].drive, stiffness=60.0, damping=0.2)
    changed = robot.with_drives([*(x.drive for x in robot.joints[:2]), drive]).with_payload(0.4)
    assert trial.changed_robot() == changed
    goal = fj.trajectory.RestToRest([0.0] * 3, np.deg2rad([30.0] * 3), 2.0)
    push = fj.simulation.Push(robot.tool, [0.0, 7.2, -9.6], 1.0, 0.2)
    law = fj.control.MotorPD(robot, [150.0, 20.0])
    start = fj.simulation.at_rest(robot.with_spring_damping(1.0), [0.0] * 3)
    wanted = fj.simulate(changed, law, goal, contact=push, start=start, sensors=fj.simulation.Sensors())
    assert np.allclose(found.q, wanted.q, rtol=0, atol=1e-9) and np.allclose(found.tau, wanted.tau, rtol=0, atol=1e-6)


def test_noise_is_what_is_set(trial):
    trial.set("motor_noise", 1e-4)
    run = trial.run()
    assert 0.8e-4 < np.std(run.more["measured.theta"] - run.theta) < 1.2e-4
    assert np.array_equal(run.more["measured.q"], run.q)


def test_a_push_is_detected_after_it_began_and_the_residual_is_its_torque(trial):
    trial.set("threshold", 0.3)
    trial.run()
    assert trial.detection() is None
    trial.set("push.force", 20.0)
    trial.set("push.duration", 0.5)
    trial.set_push_direction([0.0, 0.0, 1.0])
    run = trial.run()
    found = trial.detection()
    assert 1.0 < found.time < 1.2 and abs(found.residual) > 0.3
    k = int(np.argmin(np.abs(run.t - 1.27)))  # 20 ms after the peak: the filter with 50 rad/s lags by that
    expected = fj.jacobian(trial.robot, run.q[k])[:3].T @ [0.0, 0.0, 20.0]
    assert np.allclose(run.more["watch.link"][k], expected, atol=0.05 * np.abs(expected).max())
    trial.set("threshold", trial.settings["threshold"].high)
    assert trial.detection(run) is None or abs(trial.detection(run).residual) > trial["threshold"]


def test_an_unstable_setting_leaves_the_last_good_result(trial):
    good = trial.run()
    trial = fj.studio.Experiment(trial.robot, "motor_pd", numbers=[100.0, 4000.0], period=0.02)
    trial.result = good
    run = trial.run()
    assert run.diverged and trial.result is good
    assert not trial.limits().stable and np.isnan(trial.stable_range("payload")[0])


# Stability ------------------------------------------------------------------------------------------------------------


def test_limits_are_those_of_independent_formulas():
    robot = fj.load("anymal_leg")
    trial = fj.studio.Experiment(robot, "feedback_linearization", numbers=[-20.0], substeps=1)
    gains = fj.control.gains_from_poles([-20.0] * 4)
    found = trial.limits()
    assert np.isclose(found.longest_period, fj.control.sampling_period_limit(robot, trial.q, gains), rtol=2e-3)
    assert np.isclose(found.longest_step, fj.control.runge_kutta_limit(robot, trial.q), rtol=1e-2)
    assert found.period == 1e-3 and found.step == 1e-3


def test_beyond_a_stable_range_deviations_grow_and_within_it_they_shrink():
    trial = fj.studio.Experiment(fj.load("hua_3r"), "motor_pd", numbers=[100.0, 20.0], period=0.02)
    low, high = trial.stable_range("K_D")
    assert low < 20.0 < high < trial.settings["K_D"].high, "the period limits the gain"
    goal, task = np.zeros(3), trial.task()

    def late(K_D):
        rest = fj.simulation.at_rest(trial.plant, goal)
        start = rest._replace(v=rest.v + 1e-6)
        law = fj.control.MotorPD(trial.robot, [100.0, K_D])
        free = {x: task.options["free"][x] for x in task.options["free"]}
        run = fj.simulate(trial.plant, law, goal, 4.0, period=0.02, start=start, free=free, check=False)
        speed = np.abs(run.v).max(axis=1)
        return speed[-50:].max() / speed[:50].max()

    assert late(0.97 * high) < 1 < late(1.03 * high)


# Settings -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("spring", 1.0, "there is no setting 'spring'"),
        ("payload", -1.0, "must be within"),
        ("payload", np.nan, "payload"),
        ("*.drive.stiffness", 1e9, "must be within"),
    ],
)
def test_wrong_settings(trial, name, value, message):
    with pytest.raises(fj.InputError, match=message.replace("*", r"\*")):
        trial.set(name, value)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"controller": "pd"}, "there is no controller"),
        ({"controller": "variable_stiffness_tracking"}, "no joint of variable stiffness"),
        ({"controller": "motor_pd", "numbers": [1.0]}, "takes K_P, K_D"),
        ({"stiffness": 3.0}, "two motors"),
        ({"period": -1.0}, "period"),
        ({"motion": "nothing.csv"}, "nothing.csv"),
    ],
)
def test_wrong_experiments(options, message):
    with pytest.raises(fj.FlexjointError, match=message):
        fj.studio.Experiment(fj.load("hua_3r"), **options)


def test_a_wrong_choice_changes_nothing(trial):
    before = trial.run().q
    for wrong in (lambda: trial.choose_motion("nothing.csv"), lambda: trial.choose_controller("nothing")):
        with pytest.raises(fj.FlexjointError):
            wrong()
    with pytest.raises(fj.InputError, match="three numbers"):
        trial.set_push_direction([0.0, 0.0, 0.0])
    assert np.array_equal(trial.run().q, before)


@pytest.mark.long
def test_settings_that_make_no_sense_are_left_out():
    rigid = fj.studio.Experiment(fj.load("hua_3r").rigid(), "motor_pd", numbers=[100.0, 20.0], substeps=1)
    assert not [x for x in rigid.settings if "drive" in x] and "payload" in rigid.settings
    assert not rigid.run().diverged
    varied = fj.studio.Experiment(fj.load("vsa_3r"), numbers=[-10.0], substeps=1)
    assert varied.controller_name == "variable_stiffness_tracking" and "stiffness" in varied.settings
    assert [x for x in varied.settings if "drive" in x] == [f"joint{i}.drive.damping" for i in (1, 2, 3)]
    soft = varied.run()
    varied.set("stiffness", 1.3 * varied["stiffness"])
    stiff = varied.run()
    assert not soft.diverged and not stiff.diverged
    assert np.allclose(stiff.stiffness[-1] / soft.stiffness[-1], 1.3, rtol=1e-2)


def test_numbers_of_many_joints_go_to_their_own_joints():
    tree = fj.random_robot(7, seed=3, prismatic=0.3, tree=True, elastic=0.7)
    own = drive_settings(tree, np.zeros(7), np.zeros(7))
    values = {x.name: float(k + 1) for k, x in enumerate(own)} | {"payload": 0.5}
    plant = plant_of(tree)
    found = {}
    for pattern, numbers in free_parameters(plant, values).items():
        found |= dict(zip(select(plant, pattern).elements, np.atleast_1d(numbers)))
    assert found == {x: y for x, y in values.items() if x != "payload"} | {"payload.mass": 0.5} and len(own) > 6


# Files ----------------------------------------------------------------------------------------------------------------


def named(robot, name):
    """The robot with hostile names of itself and of the joint with a spring, as long as names may be."""
    first, second, third, tool = robot.links
    return robot.replace(name=name, links=(first, second, replace(third, joint=replace(third.joint, name=name)), tool))


def test_the_script_repeats_the_run_bit_for_bit_and_the_drive_file_loads(tmp_path):
    robot = named(fj.load("hua_3r"), HOSTILE.ljust(198, "x"))
    trial = fj.studio.Experiment(robot, "feedforward_pd+mid_period", numbers=[100.0, 20.0])
    assert trial.controller.times == (5e-4, 0.0)
    trial.set("*.drive.stiffness", 70.0)
    trial.set("*.drive.damping", 0.1)
    trial.set("payload", 0.3)
    trial.set("torque_noise", 0.01)
    trial.set("link_noise", 1e-5)
    trial.set("push.force", 9.0)
    trial.set("amplitude", 17.0)
    wanted = trial.run()
    trial.write_script(tmp_path / "run.py")
    text = (tmp_path / "run.py").read_text()
    assert all(x.isprintable() or x == "\n" for x in text), "nothing in it controls a terminal"
    run = runpy.run_path(str(tmp_path / "run.py"))["run"]
    for array in ("q", "theta", "tau", "reference"):
        assert np.array_equal(getattr(run, array), getattr(wanted, array)), array
    assert np.array_equal(run.more["watch.link"], wanted.more["watch.link"])
    trial.write_drives(tmp_path / "own.drives.toml")
    fj.write_robot(robot, tmp_path / "robot.toml")
    loaded = fj.load(tmp_path / "robot.toml", drives=tmp_path / "own.drives.toml")
    assert loaded == trial.changed_robot(payload=False) and loaded.joints[2].drive.stiffness == 70.0


def test_figures(trial, tmp_path):
    with pytest.raises(fj.InputError, match="no run"):
        fj.studio.Experiment(trial.robot, "motor_pd", numbers=[100.0, 20.0]).write_figures(tmp_path)
    trial.run()
    found = trial.write_figures(tmp_path, "a")
    assert [x.name for x in found] == ["a_motion.png", "a_residual.png"] and all(x.stat().st_size > 5000 for x in found)
    with pytest.raises(fj.InputError, match="no folder"):
        trial.write_figures(tmp_path / "none")
