"""Section VI of [Hoepler]: its numbers from closed forms, and what `reproduce` writes."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import flexjoint as fj
from papers import paper_001, reproduce
from papers.paper_001 import coupling_pattern, derivatives_that_matter, general_arm, replay
from support.errors import relative_error
from support.rotors import with_random_rotors

LBR = fj.load("dlr_lbr2")
MOTORS = [joint.drive.motor for joint in LBR.joints]
HIGHEST = 10  # N − i + 4 derivatives of q in τ_i, i = 1


def test_the_arm_is_as_the_paper_says():
    assert sum(link.mass for link in LBR.links) == pytest.approx(17.0, rel=1e-15)
    assert fj.forward_kinematics(LBR, np.zeros(7)).position == pytest.approx([0.0, 0.0, 1.0], abs=1e-15)
    assert [joint.drive.stiffness for joint in LBR.joints] == [1e4] * 7
    for joint, motor in zip(LBR.joints, MOTORS):
        assert joint.rotation[2, 2] == (1.0 if joint.name == "joint1" else 0.0), "neighbouring axes are orthogonal"
        assert motor.axis is None and motor.carrier is None and motor.gear_ratio == 100.0


def test_coupling_is_a_product_of_cosines():
    """z_i and z_{i+2} enclose the angle q_{i+1}: S = η I cos q; nothing on the first off-diagonal and below."""
    q = np.random.default_rng(1).uniform(-3.0, 3.0, 7)
    S = fj.dynamics.rotor_coupling(LBR, q)
    second = [motor.gear_ratio * motor.axial_inertia * np.cos(x) for motor, x in zip(MOTORS[2:], q[1:])]
    assert relative_error(np.diag(S, 2), second) < 1e-15
    pattern = coupling_pattern(LBR)
    assert np.array_equal(pattern.largest > 0, np.triu(np.ones((7, 7)), 2) > 0)
    i, j, k = np.nonzero(pattern.depends)
    assert np.all((i < k) & (k < j))
    assert pattern.depends[0, 6, 1:6].all()


def test_the_pattern_sees_what_a_general_arm_has():
    pattern = coupling_pattern(with_random_rotors(fj.random_robot(4, 1, prismatic=0.0), 2, elastic=1.0))
    assert np.array_equal(pattern.largest > 0, np.triu(np.ones((4, 4)), 1) > 0)


def test_the_highest_derivative_is_needed():
    """At rest τ₁ contains q₇⁽¹⁰⁾ through motors 3, 5 and 7: B₁/K · S₁₃/K · S₃₅/K · S₅₇/K · M₇₇."""
    stack = np.zeros((HIGHEST + 1, 7))
    stack[0] = np.random.default_rng(2).uniform(-1.0, 1.0, 7)
    stack[HIGHEST, 6] = 1e40
    S = [100 * MOTORS[j].axial_inertia * np.cos(stack[0, j - 1]) for j in (2, 4, 6)]
    expected = MOTORS[0].inertia * np.prod(S) * LBR.links[6].inertia[2, 2] / 1e4**4
    assert fj.inverse_dynamics(LBR, *stack)[0] / 1e40 == pytest.approx(expected, rel=1e-12)
    assert fj.dynamics.derivative_orders(LBR).motion == HIGHEST


def test_derivatives_that_matter():
    motion = fj.trajectory.Sinusoid(np.full(7, 0.5), np.full(7, 1.0), duration=1.0)
    found = derivatives_that_matter(LBR, motion, np.linspace(0.0, 1.0, 11))
    assert found.last > 0
    assert list(found.without) == list(range(2, HIGHEST))
    assert found.without[2] > 1e-4 > found.without[4] > found.without[6]


def test_general_arms_need_two_orders_a_joint():
    for n in (2, 4):
        orders = fj.dynamics.derivative_orders(general_arm(n))
        assert (orders.differentiations, orders.motion) == (2 * n, 2 * n + 2)


def test_replay_follows_and_can_fail(monkeypatch):
    robot = general_arm(2)
    soft = robot.with_drives([fj.ElasticDrive(100.0, joint.drive.motor) for joint in robot.joints])
    motion = fj.trajectory.FilteredStep.settled(np.zeros(2), np.ones(2), 1.0, 16)
    assert replay(soft, motion, 0.8) < 1e-7
    weightless = fj.compile(fj.forward_dynamics, soft.with_gravity([0.0, 0.0, 0.0]))
    forward = {fj.forward_dynamics: weightless}
    monkeypatch.setattr(paper_001, "compile", lambda f, robot: forward.get(f) or fj.compile(f, robot))
    assert replay(soft, motion, 0.8) > 1e-2


@pytest.mark.long
def test_report(monkeypatch, tmp_path):
    monkeypatch.setattr(paper_001, "SIZES", (4, 5))
    monkeypatch.setattr(paper_001, "replay", lambda robot, motion: 1e-11)
    said = []
    report = reproduce("001", tmp_path, said.append)
    assert {path.name for path in report.files} == {path.name for path in tmp_path.iterdir()}
    pictures = [path for path in report.files if path.suffix == ".png"]
    assert len(pictures) == 6 and all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)
    assert len(said) == 4
    with (tmp_path / "claims.csv").open() as file:
        claims = {row["claim"]: row for row in csv.DictReader(file)}
    order = claims["Differentiations for the LBR 2 (sec. VI)"]
    assert order["paper"] == "12" and order["here"].startswith("8 = N + 1; q to order 10")
    assert claims["Differentiations of the equations of motion in general (sec. III)"]["here"] == "14; q to order 16"
    assert sum(row["verdict"] == "reproduced" for row in claims.values()) == 6
    with (tmp_path / "differences_by_joint.csv").open() as file:
        assert len(list(csv.reader(file))) == 8
