"""Samples are what `simulate` gives for their parameters, to the bit, however they are computed; distributions."""

from __future__ import annotations

import csv
import json
import signal
import threading
from importlib import import_module
from types import MappingProxyType

import numpy as np
import pytest
from scipy import stats

import flexjoint as fj
from flexjoint.results import write_table
from flexjoint.studies import SampleTable
from flexjoint.studies.variation import Variations

loop_setup = import_module("flexjoint.studies.loop_setup")
study_plan = import_module("flexjoint.studies.study_plan")
ROBOT = fj.random_robot(2, 5, prismatic=0.0, elastic=1.0, name="arm")
LAW = fj.control.FeedforwardPD(ROBOT, [400.0, 40.0])
MOTION = fj.trajectory.RestToRest([0.0, 0.0], [0.4, -0.3], 0.05)
VARY = {"*.drive.stiffness": "10%", "payload": "0..3"}
STIFFNESS = f"{ROBOT.joints[0].name}.drive.stiffness"
ARRAYS = ("parameters", "largest", "rms", "final", "ended", "joint", "longest_step", "stiff_joint")


def study(samples=40, **changes):
    options = {"vary": VARY, "seed": 7, "threads": 1, "period": 1e-3, "check": False}
    return fj.studies.monte_carlo(ROBOT, LAW, MOTION, 0.06, samples=samples, **options | changes)


def same(a, b, rows=slice(None)):
    return all(np.array_equal(getattr(a, x)[rows], getattr(b, x)) for x in ARRAYS)


@pytest.fixture(scope="module")
def whole():
    return study()


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(loop_setup, "ROWS", (8, 8))


# Same seed, same bits ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", [0, 9, 39])
def test_a_sample_is_a_single_run(whole, sample):
    loaded = ROBOT.with_payload(0.0)
    names = dict(zip(whole.names, whole.parameters[sample]))
    run = fj.simulate(loaded, LAW, MOTION, 0.06, period=1e-3, check=False, free=names)
    errors = np.abs(run.q - run.reference)
    assert np.array_equal(whole.largest[sample], errors.max(axis=0))
    assert np.array_equal(whole.final[sample], errors[-1])
    assert np.allclose(whole.rms[sample], np.sqrt(np.mean(errors**2, axis=0)), rtol=1e-12)
    assert (whole.joint[sample], whole.ended[sample]) == (-1, pytest.approx(0.06))


def test_noise_is_that_of_the_sample():
    sensors = fj.simulation.Sensors(motor_noise=1e-3)
    found = study(20, sensors=sensors, threads=2)
    assert same(found, study(20, sensors=sensors))
    quiet = study(20)
    assert np.array_equal(quiet.parameters, found.parameters) and not np.any(quiet.largest == found.largest)
    options = {"period": 1e-3, "check": False, "sensors": sensors, "seed": 7}
    names = dict(zip(found.names, found.parameters[17]))
    run = fj.simulate(ROBOT.with_payload(0.0), LAW, MOTION, 0.06, free=names, row=17, **options)
    assert np.array_equal(found.largest[17], np.abs(run.error).max(axis=0))


def test_threads_and_blocks_do_not_matter(whole, monkeypatch):
    assert same(whole, study(threads=2))
    monkeypatch.setattr(loop_setup, "ROWS", (8, 16))
    assert same(whole, study())


def test_samples_depend_on_seed_and_number_alone(whole):
    assert same(whole, study(13), slice(0, 13))
    assert not np.any(study(8, seed=8).parameters == whole.parameters[:8])
    assert len(np.unique(whole.parameters[:, 0])) == 40


def test_interrupted_and_resumed(whole, tmp_path, monkeypatch):
    """Ctrl-C while threads are at work: what has begun is finished and kept, the rest comes later."""
    folder = tmp_path / "samples"
    done = []

    def interrupt(samples):
        done.append(samples)
        if len(done) == 3:  # nothing known, the first block, one from a thread
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as error:
        study(folder=folder, progress=interrupt)
    assert isinstance(error.value, fj.Interrupted)
    part = error.value.partial
    assert len(part.samples) > 8 and part.wanted == 40
    assert same(whole, part, part.samples)
    kept = sorted(folder.glob("blocks/*.parquet"))
    assert len(kept) == len(part.samples) // 8
    kept[0].write_bytes(b"torn")  # by a power cut, say
    old = kept[1].stat().st_mtime_ns
    with pytest.warns(fj.FlexjointWarning, match="000000.parquet is damaged; its samples are computed again"):
        again = study(folder=folder, threads=2)
    assert again.complete and same(whole, again)
    assert kept[1].stat().st_mtime_ns == old, "finished blocks are not computed again"
    monkeypatch.setattr(study_plan.StudyPlan, "run", None)
    assert same(whole, study(folder=folder)), "nothing is left to compute"


def test_interrupted_before_anything_is_done():
    def interrupt(samples):
        raise KeyboardInterrupt

    with pytest.raises(fj.Interrupted) as error:
        study(progress=interrupt)
    assert error.value.partial.samples.size in (8, 0)


def test_an_error_in_a_thread_is_the_users(monkeypatch):
    def fails(*arguments):
        if threading.current_thread() is not threading.main_thread():
            raise fj.InputError("of a thread")
        return original(*arguments)

    original = study_plan.StudyPlan.run
    monkeypatch.setattr(study_plan.StudyPlan, "run", fails)
    with pytest.raises(fj.InputError, match="of a thread"):
        study()


def test_more_samples_in_the_same_folder(whole, tmp_path):
    study(12, folder=tmp_path)
    assert same(whole, study(folder=tmp_path))


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"seed": 8}, "seed was 7, now it is 8"),
        ({"vary": {"*.drive.stiffness": "5%"}}, "vary was"),
        ({"vary": {"payload": "0..3", "*.drive.stiffness": "10%"}}, "vary was"),
        ({"period": 5e-4}, "period"),
        ({"substeps": 2}, "options.substeps was 1, now it is 2"),
        ({"sensors": fj.simulation.Sensors(motor_resolution=1e-4)}, "options.sensors was None"),
        ({"start": fj.JointState(*np.full((4, 2), 0.1))}, "options.start was None"),
    ],
)
def test_a_folder_of_other_settings_is_refused(tmp_path, changes, what):
    study(8, folder=tmp_path)
    with pytest.raises(fj.InputError, match=f"holds samples with other settings: {what}"):
        study(8, folder=tmp_path, **changes)


def test_another_prior_of_an_adaptive_law_is_refused(tmp_path):
    rigid = ROBOT.rigid()
    options = {"samples": 8, "vary": {"link1.mass": "10%"}, "check": False, "folder": tmp_path}
    for prior in (None, rigid):
        law = fj.control.AdaptiveControl(rigid, 5.0, 10.0, 0.01, 1e-3, prior)
        if prior is None:
            fj.studies.monte_carlo(rigid, law, MOTION, **options)
        else:
            with pytest.raises(fj.InputError, match=r"other settings: controller\.data\.prior was None"):
                fj.studies.monte_carlo(rigid, law, MOTION, **options)


def test_another_controller_reference_or_folder_is_refused(tmp_path):
    study(8, folder=tmp_path)
    options = {"samples": 8, "vary": VARY, "seed": 7, "period": 1e-3, "folder": tmp_path}
    for law, motion, what in (
        (fj.control.FeedforwardPD(ROBOT, [400.0, 41.0]), MOTION, "controller.data.gains"),
        (fj.control.MotorPD(ROBOT, [400.0, 40.0]), MOTION, "controller.code was .*controller.name"),
        (LAW, fj.trajectory.RestToRest([0.0, 0.0], [0.4, -0.2], 0.05), "reference"),
    ):
        with pytest.raises(fj.InputError, match=f"other settings: {what} was"):
            fj.studies.monte_carlo(ROBOT, law, motion, 0.06, **options)
    (tmp_path / "settings.json").write_text("{")
    with pytest.raises(fj.InputError, match="cannot be read"):
        study(8, folder=tmp_path)
    (tmp_path / "settings.json").unlink()
    with pytest.raises(fj.InputError, match="no folder of samples"):
        study(8, folder=tmp_path)


# One sample, the worst ones, and studies without arrays -----------------------------------------------------------


@pytest.mark.parametrize("number", [0, 23, 1000])
def test_a_sample_by_its_number(whole, number):
    """Also one that the study does not have."""
    run = whole.sample(number)
    again = fj.studies.simulate_sample(
        ROBOT, LAW, MOTION, 0.06, number=number, vary=VARY, seed=7, period=1e-3, check=False
    )
    assert np.array_equal(run.q, again.q) and run.q.shape == (61, 2)
    if number < 40:
        assert np.array_equal(np.abs(run.error).max(axis=0), whole.largest[number])
    else:
        longer = study(8, seed=7)
        assert not np.array_equal(run.q, longer.sample(0).q)


def test_a_study_is_read_back(whole, tmp_path):
    study(folder=tmp_path)
    found = fj.studies.read(tmp_path, limit=0.1)
    assert same(whole, found) and found.robot == whole.robot and found.names == whole.names
    assert found.step == whole.step and found.limit == 0.1 and found.complete
    with pytest.raises(fj.InputError, match="read from a store has no controller; call monte_carlo"):
        found.sample(3)
    (tmp_path / "robot.toml").unlink()
    with pytest.raises(fj.InputError, match=r"has no robot.toml, .* give robot="):
        fj.studies.read(tmp_path)
    assert same(whole, fj.studies.read(tmp_path, robot=whole.robot))
    with pytest.raises(fj.InputError, match="holds no study: there is no settings"):
        fj.studies.read(tmp_path / "blocks")


def test_histories_of_the_worst_are_kept(whole, tmp_path):
    import pandas

    found = study(folder=tmp_path, keep_worst=2)
    worst = np.argsort(-whole.largest.max(axis=1))[:2]
    assert found.worst(2).tolist() == worst.tolist()
    assert sorted(x.name for x in (tmp_path / "worst").iterdir()) == sorted(f"sample-{k:012d}.parquet" for k in worst)
    frame = pandas.read_parquet(tmp_path / "worst" / f"sample-{worst[0]:012d}.parquet")
    joint = ROBOT.joints[0].name
    assert np.array_equal(frame[f"q.{joint} [rad]"], whole.sample(int(worst[0])).q[:, 0])


def test_runs_that_diverged_are_the_worst(failing):
    """Those whose step is too long are left out."""
    assert set(failing.worst(24)) == set(np.flatnonzero(~failing.integrator_failed))


def test_samples_that_are_not_collected(whole, tmp_path):
    found = study(folder=tmp_path, collect=False)
    assert found.complete and found.samples.size == 0 and "40 samples, in their store" in repr(found)
    assert same(whole, fj.studies.read(tmp_path))


# Laws of one's own ------------------------------------------------------------------------------------------------


def proportional(gain):
    def law(t, state, reference, measurement):
        return state, gain * (reference[0] - measurement.theta) - 5.0 * measurement.theta_v

    return law


class Proportional:
    """A plain instance, whose repr is another in every process."""

    def __init__(self, gain):
        self.gain = gain

    def __call__(self, t, state, reference, measurement):
        return state, self.gain * (reference[0] - measurement.theta) - 5.0 * measurement.theta_v


def wall(stiffness):
    return lambda t, state: {ROBOT.links[-1].name: [-stiffness * state.q[0], 0, 0, 0, 0, 0]}


class OwnLaw(fj.control.Controller):
    """A law in SX with a number that is in no gain."""

    order = 0

    def __init__(self, factor):
        self.robot, self.gains, self.factor = ROBOT, np.full((1, 2), 50.0), factor

    def law(self, gains, state, reference, measurement):
        return (), self.factor * gains[0] * (reference[0] - measurement.theta) - 5.0 * measurement.theta_v


class OwnObserver(fj.observers.Observer):
    """Another measurement for the controller."""

    robot, period = ROBOT, 1e-3
    memory, outputs = (), MappingProxyType({"q": 2})

    def __init__(self, factor):
        self.factor = factor

    def start(self, measurement):
        return (), {"q": measurement.q}

    def law(self, state, measurement, torque):
        return (), {"q": self.factor * measurement.q}


def own_study(folder, law=LAW, **changes):
    options = {"vary": VARY, "seed": 7, "threads": 1, "period": 1e-3, "check": False, "folder": folder}
    return fj.studies.monte_carlo(ROBOT, law, MOTION, 0.06, **{"samples": 8, **options, **changes})


def not_run(plan, first, last, check=False):
    texts = ("diverged", "integrator_failed")
    block = {name: np.full(last - first, "" if name in texts else -1.0) for name in plan.units}
    return block | {"sample": np.arange(first, last)}


def test_samples_of_another_gain_in_a_closure(tmp_path):
    first = own_study(tmp_path / "one", proportional(50.0))
    other = own_study(tmp_path / "other", proportional(60.0))
    assert not np.any(first.largest == other.largest)
    assert same(first, own_study(tmp_path / "one", proportional(50.0)))
    with pytest.raises(fj.InputError, match=r"other settings: controller\.data\.gain was 50\.0, now it is 60\.0"):
        own_study(tmp_path / "one", proportional(60.0))


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda x: {"law": proportional(x)}, r"controller\.data\.gain was 50\.0, now it is 60\.0"),
        (lambda x: {"law": Proportional(x)}, r"controller\.data\.gain was 50\.0, now it is 60\.0"),
        (lambda x: {"law": OwnLaw(x / 50)}, r"controller\.law was '\w+', now"),
        (
            lambda x: {"law": fj.simulation.FaultyActuators(OwnLaw(x / 50), period=1e-3)},
            r"controller\.law was '\w+', now",
        ),
        (lambda x: {"contact": wall(x)}, r"options\.contact\.law was '\w+', now"),
        (lambda x: {"estimator": OwnObserver(x / 50)}, r"options\.estimator\.law was '\w+', now"),
        (lambda x: {"observers": {"own": OwnObserver(x / 50)}}, r"options\.observers\.own\.law was '\w+', now"),
        (
            lambda x: {"actuators": fj.simulation.Actuators(delay=int(x))},
            r"options\.actuators\.data\.delay was 50, now it is 60",
        ),
        (
            lambda x: {"sensors": fj.simulation.Sensors(motor_noise=x * 1e-9)},
            r"options\.sensors\.data\.motor_noise was 5\.0",
        ),
        (lambda x: {"changes": {"link1.mass": (0.03, x)}}, r"options\.changes\.link1\.mass was"),
    ],
)
def test_another_law_in_the_same_folder(tmp_path, monkeypatch, make, what):
    """The same data goes on, other data under the same name is refused."""
    monkeypatch.setattr(study_plan.StudyPlan, "run", not_run)
    first = own_study(tmp_path, **make(50.0))
    monkeypatch.setattr(study_plan.StudyPlan, "run", pytest.fail)
    assert same(first, own_study(tmp_path, **make(50.0)))
    with pytest.raises(fj.InputError, match=f"other settings: {what}"):
        own_study(tmp_path, **make(60.0))


def test_another_robot_of_the_same_name_is_refused(tmp_path):
    own_study(tmp_path)
    heavier = ROBOT.with_payload(1e-9)
    with pytest.raises(fj.InputError, match="other settings: robot was"):
        fj.studies.monte_carlo(heavier, LAW, MOTION, 0.06, samples=8, vary=VARY, seed=7, period=1e-3, folder=tmp_path)


def test_a_reference_that_differs_in_one_period_is_refused(tmp_path):
    t = np.arange(61) * 1e-3
    motions = []
    for bump in (0.0, 1e-6):
        q = np.zeros((61, 2))
        q[31] += bump
        motions.append(fj.trajectory.Samples(t, q))
    options = {"samples": 8, "vary": VARY, "seed": 7, "period": 1e-3, "check": False, "folder": tmp_path}
    law = fj.control.MotorPD(ROBOT, [400.0, 40.0])
    fj.studies.monte_carlo(ROBOT, law, motions[0], **options)
    with pytest.raises(fj.InputError, match="other settings: reference was"):
        fj.studies.monte_carlo(ROBOT, law, motions[1], **options)


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        ("flexjoint.studies.study_settings", "sources", lambda: "0" * 64),
        ("importlib.metadata", "version", lambda package: "0.0.9"),
        ("flexjoint.studies.variation", "CUT", 2.9),
    ],
)
def test_other_sources_versions_and_draws_are_refused(tmp_path, monkeypatch, place, name, value):
    own_study(tmp_path)
    monkeypatch.setattr(import_module(place), name, value)
    with pytest.raises(fj.InputError, match=r"other settings: (flexjoint|casadi|draws) was"):
        own_study(tmp_path)


def test_a_law_that_no_setting_describes_is_noticed(tmp_path):
    """It reads a file, through a library: what it gives is another, and what it is is not."""
    (tmp_path / "gain.txt").write_text("50")

    def law(t, state, reference, measurement):
        gain = np.loadtxt(tmp_path / "gain.txt")
        return state, gain * (reference[0] - measurement.theta) - 5.0 * measurement.theta_v

    own_study(tmp_path / "samples", law)
    assert own_study(tmp_path / "samples", law, samples=16).complete
    (tmp_path / "gain.txt").write_text("60")
    with pytest.raises(fj.InputError, match=r"sample 0 is not reproduced: largest.link1_joint was .* such as a file"):
        own_study(tmp_path / "samples", law, samples=24)


def test_a_law_that_remembers_outside_its_state_is_noticed(recwarn):
    """Samples would depend on the order in which they are run."""
    law = Proportional(50.0)
    own_study(None, law)
    assert not recwarn.list

    class Integral(Proportional):
        total = 0.0

        def __call__(self, t, state, reference, measurement):
            self.total = self.total + np.sum(reference[0] - measurement.theta)
            return state, self.gain * (reference[0] - measurement.theta) + self.total

    with pytest.warns(fj.FlexjointWarning, match=r"controller\.total changed while samples ran.* belongs in the state"):
        own_study(None, Integral(50.0))


def test_what_cannot_be_identified_runs_without_a_folder(tmp_path):
    law = Proportional(50.0)
    law.lock = threading.Lock()
    assert own_study(None, law).complete
    with pytest.raises(fj.InputError, match=r"controller\.lock is a _thread\.lock, which cannot be identified"):
        own_study(tmp_path, law)
    law.identity = "proportional, 50"
    assert same(own_study(tmp_path, law), own_study(tmp_path, law))


# Failures and statistics ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def failing():
    """Semi-implicit Euler is unstable beyond h = 2/ω."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop_setup, "ROWS", (8, 8))
        options = {"vary": {STIFFNESS: "1e3..4e5"}, "period": 1e-3, "check": False, "integrator": "euler"}
        undamped = fj.control.FeedforwardPD(ROBOT, [1.0, 0.0])
        with pytest.warns(fj.FlexjointWarning, match=f"too long for joint '{ROBOT.joints[0].name}' .* of 24 runs"):
            return fj.studies.monte_carlo(ROBOT, undamped, MOTION, 0.06, samples=24, threads=1, **options)


def test_failures_are_found_with_their_parameters(failing, tmp_path):
    assert 0 < np.count_nonzero(failing.diverged) < 24
    for stiffness, diverged in zip(failing.parameters[:, 0], failing.diverged):
        drive = fj.ElasticDrive(stiffness, ROBOT.joints[0].drive.motor)
        modes = fj.control.joint_modes(ROBOT.with_drives([drive, ROBOT.joints[1].drive]), [0.0, 0.0])
        h_omega = 1e-3 * modes.frequencies[-1]
        assert h_omega > 2.0 if diverged else h_omega < 2.1  # near the limit it grows slowly
    assert np.all(failing.ended[failing.diverged] < 0.06)
    write_table(SampleTable(failing, failures=True), tmp_path / "failures.csv")
    with open(tmp_path / "failures.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(x["sample"]) for x in rows] == np.flatnonzero(failing.failed).tolist()
    rows = [x for x in rows if x["diverged"]]
    assert [int(x["sample"]) for x in rows] == np.flatnonzero(failing.diverged).tolist()
    first = int(rows[0]["sample"])
    assert float(rows[0][f"{STIFFNESS} [Nm/rad]"]) == failing.parameters[first, 0]
    assert rows[0]["diverged"] in [joint.name for joint in ROBOT.joints]


def test_quantiles_count_what_diverged_as_infinite(failing):
    count = np.count_nonzero(failing.failed)
    assert np.all(np.isinf(failing.quantiles([1.0])))
    below = failing.quantiles([(24 - count) / 24])
    assert np.array_equal(below[0], failing.largest[~failing.failed].max(axis=0))


def test_a_step_that_is_too_long_is_told_from_control_that_fails(failing, tmp_path):
    """Semi-implicit Euler is unstable beyond h = 2/ω: of that the law is innocent, and the spring is named."""
    for stiffness, failed, longest in zip(failing.parameters[:, 0], failing.integrator_failed, failing.longest_step):
        drive = fj.ElasticDrive(stiffness, ROBOT.joints[0].drive.motor)
        robot = ROBOT.with_drives([drive, ROBOT.joints[1].drive])
        limits = [2 / fj.control.joint_modes(robot, MOTION(t)[0]).frequencies[-1] for t in np.linspace(0, 0.05, 5)]
        assert failed == (min(limits) < 1e-3)
        assert longest == pytest.approx(min(limits), rel=0.02) if failed else np.isinf(longest)
    assert 0 < np.count_nonzero(failing.integrator_failed) < 24
    assert set(failing.stiff_joint[failing.integrator_failed]) == {0}
    assert np.all(failing.integrator_failed[failing.diverged]) and not failing.control_failed.any()
    write_table(SampleTable(failing), tmp_path / "samples.csv")
    with open(tmp_path / "samples.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [x["integrator_failed"] == ROBOT.joints[0].name for x in rows] == failing.integrator_failed.tolist()
    assert [float(x["longest_step [s]"]) for x in rows] == failing.longest_step.tolist()


def test_more_substeps_cure_the_integrator(failing, recwarn):
    options = {"vary": {STIFFNESS: "1e3..4e5"}, "period": 1e-3, "check": False, "integrator": "euler", "substeps": 2}
    cured = fj.studies.monte_carlo(
        ROBOT, fj.control.FeedforwardPD(ROBOT, [1.0, 0.0]), MOTION, 0.06, samples=24, threads=1, **options
    )
    assert np.array_equal(cured.parameters, failing.parameters)
    assert not cured.failed.any() and not recwarn.list


def test_control_that_fails_is_not_blamed_on_the_step(recwarn):
    """Positive feedback, in Python: every run diverges, and no step is too long."""
    options = {"vary": {STIFFNESS: "10%"}, "period": 1e-3, "check": False, "threads": 1}

    def away(t, state, reference, measurement):
        return state, 1e6 * (measurement.theta - reference[0]) + 1.0

    found = fj.studies.monte_carlo(ROBOT, away, MOTION, 0.1, samples=8, **options)
    assert np.all(found.diverged) and np.all(found.control_failed) and not found.integrator_failed.any()
    assert not recwarn.list


def test_a_limit_makes_failures(whole):
    limit = float(np.quantile(whole.largest.max(axis=1), 0.5, method="lower"))
    limited = study(limit=limit)
    assert not limited.diverged.any()
    assert np.array_equal(limited.failed, whole.largest.max(axis=1) > limit)
    assert 0 < np.count_nonzero(limited.failed) < 40


# Distributions ----------------------------------------------------------------------------------------------------


def drawn(vary, count=4000):
    variations = Variations.of(ROBOT, vary)
    return variations.names, variations.draw(3, 0, count)


def test_normal_variations_are_cut_off_at_three_deviations():
    names, values = drawn({"*.drive.stiffness": "10%"})
    for name, column in zip(names, values.T):
        z = (column / fj.robot.robot_parameters(ROBOT)[name].value - 1) / 0.1
        assert stats.kstest(z, stats.truncnorm(-3, 3).cdf).pvalue > 0.01
        assert np.max(np.abs(z)) <= 3
    assert abs(np.corrcoef(values.T)[0, 1]) < 0.05, "every number on its own"


@pytest.mark.parametrize(
    ("text", "low", "high"), [("0..3", 0.0, 3.0), ("1e-1 .. 2", 0.1, 2.0), ("-20%..30%", 0.8, 1.3)]
)
def test_uniform_variations(text, low, high):
    _, values = drawn({"link1.mass": text})
    nominal = ROBOT.links[0].mass if "%" in text else 1.0
    assert stats.kstest(values[:, 0] / nominal, stats.uniform(low, high - low).cdf).pvalue > 0.01


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ({"link1.mass": "10"}, "a variation is 10%"),
        ({"link1.mass": "1..2..3"}, "a variation is 10%"),
        ({"link1.mass": "1..20%"}, "a variation is 10%"),
        ({"link1.mass": "nan..1"}, "a variation is 10%"),
        ({"link1.mass": "40%"}, "between 0% and 33%"),
        ({"link1.mass": "3..1"}, "the first end must be below"),
        ({"link1.mass": "-150%..20%"}, "above -100%"),
        ({"link1.mass": "-1..1"}, "link1.mass would reach -1; it cannot be negative"),
        ({"payload": "-1..1"}, "payload.mass would reach -1"),
        ({"payload": "10%"}, "payload.mass is 0; vary it between values"),
        ({"link9.mass": "10%"}, "no parameter 'link9.mass'"),
        ({"link1.mass": "10%", "*.mass": "5%"}, "selected twice"),
        ({}, "vary must map paths"),
    ],
)
def test_impossible_variations(vary, message):
    with pytest.raises(fj.InputError, match=message):
        study(vary=vary)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"samples": 0}, "samples is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"threads": 0}, "threads is 0"),
        ({"limit": 0.0}, "limit is 0.0"),
        ({"free": {"link1.mass": 1.0}}, "no option free; use vary="),
        ({"gains": [1.0]}, "no option gains"),
        ({"collect": False}, "keep_worst and collect=False need a folder"),
        ({"keep_worst": 3}, "keep_worst and collect=False need a folder"),
        ({"keep_worst": -1}, "keep_worst is -1"),
        ({"block": 0}, "block is 0"),
    ],
)
def test_mistakes(changes, message):
    with pytest.raises(fj.InputError, match=message):
        study(**changes)
    with pytest.raises(fj.InputError, match="OpenLoop follows no reference"):
        fj.studies.monte_carlo(ROBOT, fj.control.OpenLoop(ROBOT), [0.0, 0.0], 1.0, samples=1, vary=VARY)


def test_settings_say_what_was_run(tmp_path):
    study(8, folder=tmp_path)
    settings = json.loads((tmp_path / "settings.json").read_text())["settings"]
    assert (
        settings["vary"] == ["*.drive.stiffness=10%", "payload=0..3"]
        and settings["robot"] == ROBOT.digest
        and settings["seed"] == 7
    )
