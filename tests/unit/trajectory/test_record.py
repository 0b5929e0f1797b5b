"""Recorded motions: noise of known level is measured, and the stated torque error is that against the known motion."""

from __future__ import annotations

import re

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.dynamics.inverse import needed_order
from flexjoint.trajectory.filter_trial import middle_stiffness
from flexjoint.trajectory.noise_level import noise_level
from support.marks import some_long

RATE = 250.0


def still(q: list[float]) -> fj.trajectory.Trajectory:
    return fj.trajectory.RestToRest(q, q, 0.5, 6)


MOTIONS = {
    "sines": fj.trajectory.Sinusoid([0.3, 0.2, 0.4], [0.5, 0.8, 0.3], duration=4.0),
    "rest to rest": still([0.0] * 3).then(
        fj.trajectory.RestToRest([0.0] * 3, [1.0, 0.5, -0.8], 3.0, 6), still([1.0, 0.5, -0.8])
    ),
    "spline": fj.trajectory.Spline([[0, 0, 0], [0.4, 0.2, 0.1], [0.1, 0.5, -0.3], [0, 0, 0.2]], 4.0, smoothness=5),
}


def record(motion, sigma, seed, jitter=0.0, order=4):
    """Samples of a motion with white noise, and their times."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, motion.duration, 1 / RATE)
    t[1:-1] += jitter / RATE * rng.uniform(-1, 1, t.size - 2)
    x = motion(t, 0)[0]
    return fj.trajectory.Samples(t, x + sigma * rng.normal(size=x.shape), order)


def rms(x):
    return np.sqrt(np.mean(x**2, axis=0))


def inner(found):
    """Times of a record away from its ends."""
    t = found.record.times
    return t[(t > found.edge) & (t < t[-1] - found.edge)]


@pytest.mark.parametrize("jitter", [0.0, 0.4])
@pytest.mark.parametrize("name", MOTIONS)
def test_the_noise_level_is_measured_within_a_tenth(name, jitter):
    """Nine seeds, three levels, irregular stamps: at most 10 % off."""
    for seed, sigma in enumerate(np.tile([1e-7, 1e-4, 1e-2], 3)):
        noisy = record(MOTIONS[name], sigma, seed, jitter)
        level = noise_level(noisy.times, noisy.positions)
        assert np.all(np.abs(level.sigma / sigma - 1) < 0.1)
        assert not level.step.any() and not level.outliers and not level.gaps.size


def test_a_clean_record_has_no_noise():
    """Not even where it is sampled coarsely, or lies on a grid by chance."""
    t = np.arange(0.0, 4.0, 0.02)
    assert noise_level(t, np.sin(2 * np.pi * t)[:, None]).sigma[0] < 1e-10
    ramp = noise_level(t, np.column_stack([t, 0 * t, np.arange(t.size)]))
    assert np.all(ramp.sigma < 1e-12 * t.size) and not ramp.step.any()


@pytest.mark.parametrize("step", [1e-3, 2 * np.pi / 65536, 0.01 * np.pi / 180])
def test_an_encoder_is_recognized_by_its_step(step):
    t = np.arange(0.0, 4.0, 1e-3)
    x = np.column_stack([np.sin(2 * t), 0.02 * np.sin(t), np.full(t.size, 0.3)])
    level = noise_level(t, np.round(x / step) * step)
    assert np.allclose(level.step[:2], step, rtol=1e-6) and level.step[2] == 0.0
    true = rms(np.round(x / step) * step - x)[:2]  # the first moves many steps: white; the second moves few
    assert np.all(np.abs(level.sigma[:2] / true - 1) < 0.1)
    both = noise_level(t, np.round((x + 3 * step * np.random.default_rng(0).normal(size=x.shape)) / step) * step)
    assert np.allclose(both.sigma, step * np.sqrt(9 + 1 / 12), rtol=0.1)


def test_outliers_dropouts_and_gaps_are_named():
    noisy = record(MOTIONS["sines"], 1e-4, 1)
    times, x = noisy.times.copy(), noisy.positions.copy()
    x[150, 0] += 0.01
    x[350:354, 1] = 0.0  # a dropout: zeros
    x[750, 2] += np.pi
    level = noise_level(times, x)
    assert {(o.sample, o.joint) for o in level.outliers} == {(150, 0), *((k, 1) for k in range(350, 354)), (750, 2)}
    assert level.outliers[0].distance == pytest.approx(0.01, abs=1e-3)
    assert np.all(np.abs(level.sigma / 1e-4 - 1) < 0.1)
    kept = np.r_[0:500, 540 : times.size]
    assert noise_level(times[kept], x[kept]).gaps.tolist() == [[times[499], times[540]]]
    with pytest.raises(fj.InputError, match=r"sample 151 of joint 'joint1' \(t = 0.6 s\) is .* from its neighbours"):
        fj.analysis.motor_table(fj.load("hua_3r"), fj.trajectory.Samples(times, x))
    filtered = fj.trajectory.assess_record(fj.load("hua_3r"), fj.trajectory.Samples(times, x)).filtered
    assert filtered.times.size == times.size - 6
    assert np.abs(filtered(1.4, 0)[0, 1] - MOTIONS["sines"](1.4, 0)[0, 1]) < 3e-4  # three noise levels


@pytest.mark.parametrize("name", some_long([*MOTIONS], "rest to rest", "spline"))
def test_cutoff_and_torque_error_against_the_truth(name):
    """The true error comes from the motion itself: stated within a factor 1.5, and close to the best of a scan."""
    robot, motion = fj.load("hua_3r"), MOTIONS[name]
    stated, true_errors, losses = [], [], []
    for seed in range(3):
        found = fj.trajectory.assess_record(robot, record(motion, 1e-4, seed, jitter=0.2 * seed))
        t = inner(found)
        true = fj.inverse_dynamics(robot, *motion(t))
        size = rms(true)

        def error(samples, t=t, true=true):
            return rms(fj.inverse_dynamics(robot, *samples(t)) - true)

        scan = [
            float(rms(error(fj.trajectory.Samples(found.record.times, found.record.positions, 4, cutoff)) / size))
            for cutoff in 2.0 ** np.arange(0.5, 4.5, 0.5)
        ]
        own = error(found.filtered)
        stated.append(found.best.total)
        true_errors.append(own)
        losses.append(float(rms(own / size)) / min(scan))
        assert found.noisy and found.unfiltered.max() > 1e4 and np.all(own < 0.01 * size)
    ratio = rms(np.array(stated)) / rms(np.array(true_errors))
    assert np.all(ratio < 1.5) and np.all(ratio > 1 / 1.5), ratio
    each = np.divide(stated, true_errors)
    assert each.max() < 2.5 and each.min() > 0.4, each
    assert np.mean(losses) < 1.5, losses


def test_the_torque_of_noise_without_a_filter_is_the_true_one():
    robot, motion = fj.load("hua_3r"), MOTIONS["sines"]
    found = fj.trajectory.assess_record(robot, record(motion, 1e-4, 7), cutoff=4.0)
    t = found.record.times[50:-50]
    true = rms(fj.inverse_dynamics(robot, *found.record(t)) - fj.inverse_dynamics(robot, *motion(t)))
    assert np.allclose(found.unfiltered, true, rtol=0.2)
    assert found.cutoff == 4.0 and len(found.trials) == 1


def complete_robot():
    return fj.load("hua_3r").replace(fidelity="complete")


@pytest.mark.parametrize(
    "robot",
    [fj.load("hua_3r").rigid(), fj.load("vsa_3r"), pytest.param(complete_robot(), marks=pytest.mark.long)],
    ids=["rigid", "variable stiffness", "complete rotors"],
)
def test_other_drives(robot):
    motion = MOTIONS["sines"]
    found = fj.trajectory.assess_record(robot, record(motion, 1e-4, 3, order=needed_order(robot)))
    t = inner(found)
    stiffness = middle_stiffness(robot, found.record.positions[0]) if any(robot.variable_stiffness) else None
    true = [fj.inverse_dynamics_along(robot, x, t, stiffness).tau for x in (found.filtered, motion)]
    ratio = found.best.total / rms(true[0] - true[1])
    assert found.noisy and np.all(ratio < 2.5) and np.all(ratio > 0.4)


def test_files_are_refused_filtered_or_kept_by_choice(tmp_path):
    robot, motion = fj.load("hua_3r"), MOTIONS["sines"]
    noisy = record(motion, 1e-4, 0)
    np.savetxt(tmp_path / "record.csv", np.column_stack([noisy.times, noisy.positions]), fmt="%.17g", delimiter=",")
    with pytest.raises(fj.InputError) as caught:
        fj.trajectory.load_trajectory(tmp_path / "record.csv", robot)
    message = str(caught.value)
    assert re.search(
        r"have noise of (9.\de-05|0.000(1|1[01])) rad \(standard deviation\), which makes \S+ Nm of", message
    )
    typed = message.split("type ")[1].split(" to filter")[0]
    assert typed == f'{{kind = "samples", file = "{tmp_path / "record.csv"}", cutoff = "auto"}}'
    assert fj.trajectory.load_trajectory(typed, robot).cutoff
    path = tmp_path / "motion.toml"
    path.write_text('kind = "samples"\nfile = "record.csv"\ncutoff = "auto"\n')
    filtered = fj.trajectory.load_trajectory(path, robot)
    assert f"to filter at {filtered.cutoff:g} Hz" in message
    path.write_text('kind = "samples"\nfile = "record.csv"\ncutoff = "off"\n')
    kept = fj.trajectory.load_trajectory(path, robot)
    assert np.array_equal(kept(noisy.times), noisy(noisy.times))  # to the bit
    for wrong in ('"best"', "-1", "[1]"):
        path.write_text(f'kind = "samples"\nfile = "record.csv"\ncutoff = {wrong}\n')
        with pytest.raises(fj.InputError, match="cutoff"):
            fj.trajectory.load_trajectory(path, robot)


def test_feedforward_and_limits_refuse_noise():
    """A law that reads motor positions only follows a noisy record as it is."""
    robot, noisy = fj.load("hua_3r"), record(MOTIONS["sines"], 1e-4, 0)
    with pytest.raises(fj.InputError, match="have noise of"):
        fj.simulate(robot, fj.control.FeedforwardPD(robot, [500.0, 50.0]), noisy, 0.1)
    with pytest.raises(fj.InputError, match="have noise of"):
        fj.trajectory.check_feasibility(robot, noisy)
    assert not fj.simulate(robot, fj.control.MotorPD(robot, [500.0, 50.0]), noisy, 0.1).diverged


def test_clean_files_pass_to_the_bit(tmp_path):
    robot, motion = fj.load("hua_3r"), MOTIONS["spline"]
    clean = record(motion, 0.0, 0)
    np.savetxt(tmp_path / "record.csv", np.column_stack([clean.times, clean.positions]), fmt="%.17g", delimiter=",")
    loaded = fj.trajectory.load_trajectory(tmp_path / "record.csv", robot)
    assert np.array_equal(loaded(clean.times), clean(clean.times))
    assert not fj.trajectory.assess_record(robot, clean).noisy


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda robot: fj.trajectory.assess_record(robot, [0.0]), "record is .*; give fj.trajectory.Samples"),
        (lambda robot: fj.trajectory.assess_record(robot, record(MOTIONS["sines"], 0.0, 0), cutoff=-1.0), "cutoff"),
        (lambda robot: fj.trajectory.assess_record(robot, record(MOTIONS["sines"], 0.0, 0, order=2)), "order=4"),
        (lambda robot: fj.trajectory.Samples(np.arange(20.0), np.zeros((20, 3)), cutoff="auto"), "assess_record"),
        (
            lambda robot: fj.trajectory.assess_record(robot, fj.trajectory.Samples(np.arange(9.0), np.zeros((9, 3)))),
            "9 samples are too few to measure noise; give 24 or more",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(fj.InputError, match=message):
        make(fj.load("hua_3r"))
