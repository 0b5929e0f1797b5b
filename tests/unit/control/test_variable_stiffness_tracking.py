"""Tracking of motion and stiffness in the simulator: decay with the poles, integrals, limits and bands."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from support.marks import some_long

VSA = fj.load("vsa_3r")
P, S = 10.0, 8.0
GOAL, OFFSET = np.array([0.4, 0.3, -0.2]), np.array([0.05, -0.04, 0.06])
SIGMA, MORE = 1000.0, np.array([60.0, -40.0, 80.0])
LEVER = fj.drives.LeverDrive(7e4, 0.12, 0.02, 0.2, fj.Motor(0.5), fj.Motor(2.0))
MIXED = fj.random_robot(2, 3, prismatic=0.0).with_drives([fj.ElasticDrive(600.0, fj.Motor(1.0)), LEVER])


def law(robot=VSA, poles=4, stiffness_poles=2, period=1e-3, fast=1.0, **limits):
    poles, stiffness_poles = [-P] * poles, [-fast * S] * stiffness_poles
    return fj.control.VariableStiffnessTracking.from_poles(robot, poles, stiffness_poles, period, **limits)


def stiffness_of(robot, run):
    """σ of the joints with two motors by hand: of cubic springs, or k r² cos 2φ of the lever."""
    n, pairs = robot.n, [i for i, two in enumerate(robot.variable_stiffness) if two]
    phi = run.theta[..., pairs] - run.q[..., pairs]
    if robot is MIXED:
        return 7e4 * (0.12 + run.theta[..., n:]) ** 2 * np.cos(2 * phi)
    return 2 * 400.0 + 3 * 2000.0 * (phi**2 + (run.theta[..., n:] - run.q[..., pairs]) ** 2)


def decay(rate, order, t):
    """Released at rest with all poles at −rate: e/e₀ = e^(−rt) Σ (rt)ᵏ/k!, k < order."""
    x, term, total = rate * t, np.ones_like(t), np.zeros_like(t)
    for k in range(order):
        total, term = total + term, term * x / (k + 1)
    return np.exp(-x) * total


@pytest.mark.parametrize("robot", some_long({"vsa_3r": VSA, "a lever beside a spring": MIXED}, "vsa_3r"))
def test_errors_decay_with_the_poles(robot):
    n, pairs = robot.n, np.flatnonzero(robot.variable_stiffness)
    start = fj.simulation.at_rest(robot, (GOAL + OFFSET)[:n], SIGMA + MORE[pairs])
    reference = np.concatenate([GOAL[:n], np.full(pairs.size, SIGMA)])
    run = fj.simulate(robot, law(robot), reference, 0.6, start=start, hold=False, check=False)
    found = (run.q - GOAL[:n]) / OFFSET[:n]
    assert np.max(np.abs(found - decay(P, 4, run.t)[:, None])) < 1e-6
    found = (stiffness_of(robot, run) - SIGMA) / MORE[pairs]
    assert np.max(np.abs(found - decay(S, 2, run.t)[:, None])) < 1e-6


def test_a_moving_reference_is_followed_from_off_it():
    """The ramp of the paper, here of degree 5, and a motion; the errors are those of the linear equations."""
    motion = fj.trajectory.RestToRest(GOAL, -GOAL, 1.0)
    ramp = fj.trajectory.RestToRest(np.full(3, 900.0), np.full(3, 1200.0), 1.0, 2)
    reference = fj.trajectory.MotionAndStiffness(motion, ramp)
    start = fj.simulation.at_rest(VSA, GOAL + OFFSET, 900.0 + MORE)
    run = fj.simulate(VSA, law(), reference, 1.0, start=start, hold=False, check=False)
    found = (run.q - motion(run.t, order=0)[0]) / OFFSET
    assert np.max(np.abs(found - decay(P, 4, run.t)[:, None])) < 1e-6
    found = (stiffness_of(VSA, run) - ramp(run.t, order=0)[0]) / MORE
    assert np.max(np.abs(found - decay(S, 2, run.t)[:, None])) < 1e-6


def test_integrals_take_away_what_a_wrong_model_leaves():
    """The law believes in lighter links: without integrals it stays off, with them it does not."""
    wrong = VSA.replace(links=tuple(replace(x, mass=0.998 * x.mass) for x in VSA.links))
    reference = np.concatenate([GOAL, np.full(3, SIGMA)])
    start = fj.simulation.at_rest(VSA, GOAL, SIGMA)
    options = {"start": start, "check": False}
    left = fj.simulate(VSA, law(wrong), reference, 3.0, **options)
    gone = fj.simulate(VSA, law(wrong, 5, 3), reference, 3.0, **options)
    assert np.max(np.abs(left.q[-1] - GOAL)) > 1e-3
    assert np.max(np.abs(gone.q[-1] - GOAL)) < 1e-2 * np.max(np.abs(left.q[-1] - GOAL))
    assert np.max(np.abs(gone.memory[0])) > 0


def test_at_its_effort_limit_the_stiffness_waits_and_the_motion_does_not():
    """A stiffness step of 300 Nm/rad with motors too weak to follow it at once."""
    start = fj.simulation.at_rest(VSA, GOAL + OFFSET, 900.0)
    reference = np.concatenate([GOAL, np.full(3, 1200.0)])
    free, weak = (
        fj.simulate(VSA, law(effort=x, fast=4.0), reference, 1.0, start=start, check=False) for x in (np.inf, 125.0)
    )
    assert np.max(np.abs(free.tau)) > 140 and np.max(np.abs(weak.tau)) == 125.0
    assert np.max(np.abs(weak.q - free.q)) < 1e-4
    behind = stiffness_of(VSA, free) - stiffness_of(VSA, weak)
    assert np.max(behind) > 5 and np.max(np.abs(behind[-1])) < 1


EARLY = fj.random_robot(3, 3, prismatic=0.0).with_drives(
    [fj.RigidDrive(fj.Motor(1.0)), LEVER, fj.ElasticDrive(600.0, fj.Motor(1.0), damping=8.0)]
)


def test_rigid_and_damped_joints_among_the_others():
    """Their torques are integrated by the controller: from off the reference to it, with the poles."""
    start = fj.simulation.at_rest(EARLY, GOAL + OFFSET, SIGMA + MORE[:1])
    reference = np.append(GOAL, SIGMA)
    run = fj.simulate(EARLY, law(EARLY, period=2e-4), reference, 1.0, start=start, check=False)
    memory = fj.control.TrackingState(*run.memory)
    assert not np.any(memory.tau_e[1:]) and memory.tau_e_v[1] == 0.0 != memory.tau_e_v[2]
    found = (run.q - GOAL) / OFFSET
    # at first the controller holds the torques of the reference, at rest, not those of the start
    assert np.max(np.abs(found[-1])) < 3e-2 < np.max(np.abs(found[len(found) // 2]))
    sigma = 7e4 * (0.12 + run.theta[:, 3]) ** 2 * np.cos(2 * (run.theta[:, 1] - run.q[:, 1]))
    assert np.max(np.abs((sigma - SIGMA) / MORE[0] - decay(S, 2, run.t))) < 5e-3
    gravity = fj.gravity_torque(EARLY, run.q[-1])
    assert abs(memory.tau_e[0] - gravity[0]) < 0.1 * max(1.0, abs(gravity[0]))


def test_a_held_torque_stops_at_the_effort_limit():
    """... and its rate with it; the integral of the motion waits too."""
    rest = fj.simulation.at_rest(EARLY, GOAL, SIGMA)
    controller = law(EARLY, 5, effort=[5.0, *[1e3] * 3])
    reference = [np.append(GOAL + 0.3, SIGMA), *np.zeros((4, 4))]

    def step(tau_e, tau_e_v):
        state = [*np.zeros((2, 3)), np.array([tau_e, 0.0, 0.0]), np.array([tau_e_v, 0.0, 0.0])]
        columns = [[ca.SX(x) for x in stack] for stack in (controller.gains, state, reference, rest)]
        after, tau = controller.law(*columns[:3], fj.control.JointState(*columns[3]))
        return [np.array(ca.DM(x))[:, 0] for x in (*after, tau)]

    motion, _, tau_e, tau_e_v, tau = step(5.0, 100.0)
    assert (motion[0], tau_e[0], tau_e_v[0], tau[0]) == (0.0, 5.0, 0.0, 5.0)
    motion, _, tau_e, tau_e_v, tau = step(1.0, 100.0)
    assert motion[0] == pytest.approx(0.3e-3) and tau[0] == 1.0
    assert 1.0 < tau_e[0] < 5.0 and tau_e_v[0] > 100.0


def test_effort_limits_are_those_of_the_joints_unless_given():
    weaker = VSA.replace(
        links=tuple(
            replace(x, joint=replace(x.joint, limits=fj.Limits(effort=50.0 + i))) for i, x in enumerate(VSA.links)
        )
    )
    assert law(weaker).effort == (50.0, 51.0, 52.0, 50.0, 51.0, 52.0)
    assert law(weaker, effort=3.0).effort == (3.0,) * 6
    assert law(VSA).effort == (1e300,) * 6


def test_a_reference_below_the_band_does_not_reach_the_singularity():
    """805 Nm/rad cannot be had at joint 2 under gravity; the band of the motion keeps it away, and the run goes on."""
    motion = fj.trajectory.RestToRest(np.zeros(3), GOAL, 1.0)
    least, greatest = fj.control.stiffness_band(VSA, motion)
    assert np.all(least > 805.0) and np.all(greatest > 5000.0)
    reference = fj.trajectory.MotionAndStiffness(
        motion, fj.trajectory.RestToRest(np.full(3, 900.0), np.full(3, 805.0), 1.0)
    )
    options = {"start": fj.simulation.at_rest(VSA, np.zeros(3), 900.0), "check": False}
    kept = fj.simulate(VSA, law(band=(least, greatest)), reference, 2.0, **options)
    assert not kept.diverged and np.max(np.abs(stiffness_of(VSA, kept)[-1] - least)) < 0.05
    with pytest.warns(UserWarning, match="diverged"):
        assert fj.simulate(VSA, law(), reference, 2.0, **options).diverged


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: law(fj.load("kuka_lwr")), "no joint of variable stiffness"),
        (lambda: law(poles=3), "3 poles; give 4, or 5"),
        (lambda: law(period=0.0), "period"),
        (lambda: law(effort=-1.0), "effort is -1.0"),
        (lambda: law(effort=[1.0, 2.0]), r"effort has shape \(2,\); give a number or \(6,\)"),
        (lambda: law(band=(900.0, 800.0)), "below the greatest"),
        (lambda: law(band=900.0), "least, greatest"),
        (lambda: fj.control.VariableStiffnessTracking(VSA, np.ones(7), 1e-3), r"shape \(7,\)"),
        (lambda: fj.control.VariableStiffnessTracking(VSA, -np.ones(8), 1e-3), "not stable"),
    ],
)
def test_mistakes_are_named(make, words):
    with pytest.raises(fj.InputError, match=words):
        make()
