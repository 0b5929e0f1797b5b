"""Bands of motor torques: closed forms of a pendulum, differences of robots made anew, and random robots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.analysis.torque_table import motor_table
from flexjoint.analysis.variable_stiffness_table import stiffness_table
from support.errors import relative_error
from support.evaluate import evaluate
from support.pendulum import GRAVITY, INERTIA, LEVER, MASS, pendulum

STIFFNESS, MOTOR = 400.0, 0.7
MOTION = fj.trajectory.RestToRest([0.2], [1.4], 1.0)
PENDULUM = pendulum(fj.ElasticDrive(STIFFNESS, fj.Motor(MOTOR)))
VSA = fj.load("vsa_3r")
TURN = fj.trajectory.RestToRest(np.zeros(3), [1.0, -0.5, 0.7], 1.0)
STIFFEN = fj.trajectory.RestToRest(np.full(3, 900.0), np.full(3, 1200.0), 1.0)
T = np.linspace(0.0, 1.0, 7)


def test_bands_of_a_pendulum():
    """τ = τ_e + B (q'' + τ_e''/K), τ_e = (I + m l²) q'' + m g l cos q."""
    q, v, a, _, snap = MOTION(T)[..., 0]
    by_mass = LEVER**2 * a + GRAVITY * LEVER * np.cos(q)
    by_mass += MOTOR / STIFFNESS * (LEVER**2 * snap - GRAVITY * LEVER * (np.cos(q) * v**2 + np.sin(q) * a))
    tau_e_a = (INERTIA + MASS * LEVER**2) * snap - MASS * GRAVITY * LEVER * (np.cos(q) * v**2 + np.sin(q) * a)
    by_stiffness = -MOTOR * tau_e_a / STIFFNESS**2
    found = fj.analysis.sensitivity(PENDULUM, MOTION(T), {"link1.mass": 0.1, "*.stiffness": "20%"})["tau"]
    changes = np.abs([0.1 * by_mass, 80.0 * by_stiffness])
    assert relative_error(found.bound[:, 0], changes.sum(axis=0)) < 1e-12
    assert relative_error(found.spread[:, 0], np.sqrt((changes**2).sum(axis=0))) < 1e-12


def with_mass(robot, i, factor):
    links = list(robot.links)
    links[i] = replace(links[i], mass=factor * links[i].mass)
    return robot.replace(links=tuple(links))


def with_spring(robot, i, k, **factors):
    drives = [joint.drive for joint in robot.joints]
    spring = drives[i].springs[k]
    changed = replace(spring, **{name: factor * getattr(spring, name) for name, factor in factors.items()})
    drives[i] = replace(drives[i], **{f"spring_{k + 1}": changed})
    return robot.with_drives(drives)


STEP = 1e-4
CHANGES = {
    "link?.mass": [lambda x, i=i: with_mass(VSA, i, x) for i in range(3)],
    "joint2.drive.spring_?.cubic": [lambda x, k=k: with_spring(VSA, 1, k, cubic=x) for k in range(2)],
    "joint3.drive.spring_1.stiffness": [lambda x: with_spring(VSA, 2, 0, stiffness=x)],
}


@pytest.mark.parametrize("pattern", CHANGES)
def test_bands_are_those_of_robots_made_anew(pattern):
    """Central differences of torques, each robot with one number changed a little."""
    q, sigma = TURN(0.4), STIFFEN(0.4, order=2)
    slopes = []
    for changed in CHANGES[pattern]:
        more, less = (evaluate(fj.inverse_dynamics, changed(1 + x), *q, stiffness=list(sigma)) for x in (STEP, -STEP))
        slopes.append((more - less) / (2 * STEP))
    found = fj.analysis.sensitivity(VSA, q, {pattern: "5%"}, sigma)["tau"]
    for motors in (slice(0, 3), slice(3, 6)):
        changes = 0.05 * np.array(slopes)[:, motors]
        assert relative_error(found.bound[motors], np.abs(changes).sum(axis=0)) < 1e-6
        assert relative_error(found.spread[motors], np.sqrt((changes**2).sum(axis=0))) < 1e-6


@pytest.mark.parametrize("name", ["vsa_3r", "hua_3r"])
def test_the_spread_is_that_of_random_robots(name):
    """1 % deviations of masses, and of motors or springs; of 20000 robots the spread is known to 0.5 %."""
    robot = fj.load(name)
    variable = any(robot.variable_stiffness)
    patterns = ("link?.mass", "*.motor_?.inertia") if variable else ("link?.mass", "*.drive.stiffness")
    kernel = fj.compile(fj.inverse_dynamics, robot, free=patterns, **({"stiffness": 3} if variable else {}))
    sigma = STIFFEN(0.4, order=2) if variable else None
    point = [*TURN(0.4), *(sigma if variable else ())]
    rng = np.random.default_rng(4)
    numbers = [x * (1 + 0.01 * rng.normal(size=(20000, x.size))) for x in kernel.nominal]
    torques = kernel(*point, *numbers)
    band = fj.analysis.sensitivity(robot, TURN(0.4), dict.fromkeys(patterns, "1%"), sigma)["tau"]
    for motors in (slice(0, 3), slice(3, 6)) if variable else (slice(0, 3),):
        assert relative_error(band.spread[motors], np.std(torques[:, motors], axis=0)) < 0.03
    assert np.all(band.bound >= band.spread)


def test_tables_have_bands_in_their_columns():
    uncertain = {"*.mass": "5%"}
    found = motor_table(PENDULUM, MOTION, 0.1, uncertain=uncertain)
    band = fj.analysis.sensitivity(PENDULUM, MOTION(found.t), uncertain)["tau"]
    assert np.array_equal(found.bands["tau_bound"], band.bound)
    headers = [column.header for column in found.columns()]
    assert headers[-2:] == ["tau_spread.joint1 [Nm]", "tau_bound.joint1 [Nm]"]
    both = stiffness_table(VSA, TURN, STIFFEN, 0.1, uncertain={"link?.mass": "5%"})
    assert [*both.bands] == ["tau_1_spread", "tau_1_bound", "tau_2_spread", "tau_2_bound"]
    assert "tau_bound.joint3.second [Nm]" in [column.header for column in both.columns()]


@pytest.mark.parametrize(
    ("uncertain", "words"),
    [
        ({}, "uncertain is empty; name parameters"),
        ({"*.weight": "5%"}, "no parameter"),
        ({"*.mass": "-5%"}, "positive"),
        ({"*.mass": "much"}, "positive"),
        ({"*.mass": "5%", "link1.mass": 0.1}, "selected twice"),
        ({"joint1.viscous_friction": "5%"}, "give its deviation in Nm s/rad"),
    ],
)
def test_mistakes_are_named(uncertain, words):
    with pytest.raises(fj.InputError, match=words):
        fj.analysis.sensitivity(PENDULUM, MOTION(0.0), uncertain)
