"""The shortest duration under all limits, against closed forms and dense scans that share no code with it."""

import dataclasses
import math

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.drives import AntagonisticDrive, MotorLimits
from flexjoint.springs import CubicSpring
from flexjoint.trajectory import RestToRest, Sinusoid, check_feasibility, fit_duration
from support.limited_pendulum import ARM, INERTIA, MASS, ROTOR, pendulum, random_case, scanned, worst
from support.marks import some_long
from support.warned import with_limits

J = INERTIA + MASS * ARM**2


def floating(limit, stiffness=200.0):
    """The elastic pendulum without gravity, with a torque limit."""
    return pendulum({"torque": limit}, stiffness).with_gravity((0.0, 0.0, 0.0))


def test_a_single_joint_takes_the_time_of_its_tightest_limit():
    """Peaks of velocity and acceleration of a polynomial of degree 7 are known in closed form."""
    motion = RestToRest([0.0], [1.0], 1.0)
    velocity = 140 / 64  # 140 x³ (1 − x)³ at x = 1/2
    x = 0.5 - math.sqrt(5) / 10  # where its derivative 420 x² (1 − x)² (1 − 2x) is largest
    acceleration = 420 * x**2 * (1 - x) ** 2 * (1 - 2 * x)
    for limits, duration, quantity in (
        ({"velocity": 2.0, "acceleration": 100.0}, velocity / 2.0, "velocity"),
        ({"velocity": 20.0, "acceleration": 3.0}, math.sqrt(acceleration / 3.0), "acceleration"),
    ):
        fitted = fit_duration(pendulum(limits), motion)
        assert fitted.duration == pytest.approx(duration, rel=1e-7)
        assert fitted.duration >= duration
        (active,) = fitted.active
        assert active.quantity == quantity and active.joint == "hinge"
        assert active.value == pytest.approx(limits[quantity], rel=1e-6)
        assert fitted.trajectory.duration == fitted.duration == pytest.approx(fitted.factor)


@pytest.mark.parametrize("limit", [2.0, 20.0])
def test_feasible_speeds_of_an_elastic_joint_are_two_intervals(limit):
    """Without gravity a sinusoid needs A (BJ/K ω⁴ − (B + J) ω²): too much between two intervals."""
    amplitude, K = 0.2, 200.0
    lowest = -amplitude * (ROTOR + J) ** 2 * K / (4 * ROTOR * J)
    assert lowest < -limit  # disconnected
    a, b = ROTOR * J / K, ROTOR + J
    omega = math.sqrt((b + math.sqrt(b**2 + 4 * a * limit / amplitude)) / (2 * a))
    motion = Sinusoid([amplitude], 1.0, duration=2.0)
    fitted = fit_duration(floating(limit), motion)
    assert 2 * math.pi / fitted.factor == pytest.approx(omega, rel=1e-7)
    assert 2 * math.pi / fitted.factor <= omega


@pytest.mark.parametrize(
    "limits", [{"torque": 14.0}, {"torque": 60.0, "velocity": 1.0}, {"torque": 14.0, "power": 9.0}]
)
def test_the_given_duration_does_not_matter(limits):
    robot = pendulum(limits, motor_viscous=0.5)
    found = [fit_duration(robot, RestToRest([0.0], [1.0], given)).duration for given in (1e-3, 1.0, 3e4)]
    assert found == pytest.approx([found[1]] * 3, rel=1e-8)


def test_a_swing_that_rest_does_not_bear():
    """Gravity alone exceeds the limit at the turning points; near the natural frequency hardly any torque is needed."""
    limits, drive = {"torque": 2.0}, {"stiffness": 0.0}
    motion = Sinusoid([0.6], 0.5, offset=[-math.pi / 2], duration=4.0)
    found = worst(motion, limits, np.geomspace(1e-2, 10, 300), 401, **drive)
    assert found[0] > 1 and found.min() < 1 and found[-1] > 1
    fitted = fit_duration(pendulum(limits, **drive), motion)
    assert 1 / fitted.factor == pytest.approx(scanned(motion, limits, **drive), rel=1e-6)


def test_a_tree_with_sliding_rigid_and_elastic_joints():
    """Feasible at 20001 samples; a duration shorter by 2e-6 is not."""
    robot = with_limits(fj.random_robot(4, 7, prismatic=0.5, elastic=0.5), velocity=2.0, effort=150.0)
    motion = RestToRest([0.0] * 4, [0.4, -0.3, 0.5, 0.2], 1.0)
    fitted = fit_duration(robot, motion)

    def shares(trajectory):
        stack = trajectory(np.linspace(0.0, trajectory.duration, 20001), order=4)
        return max(np.abs(stack[1]).max() / 2.0, np.abs(fj.inverse_dynamics(robot, *stack)).max() / 150.0)

    assert shares(fitted.trajectory) <= 1 + 1e-9
    assert shares(fitted.trajectory.scaled(1 - 2e-6)) > 1


@pytest.mark.parametrize("seed", some_long(range(16), *map(str, range(10, 16))))
def test_random_motions_against_a_dense_scan(seed):
    motion, drive, limits = random_case(np.random.default_rng(1000 + seed))
    best = scanned(motion, limits, count=1200, **drive)
    robot = pendulum(limits, **drive)
    if best is None:
        with pytest.raises(fj.InputError, match="no duration is feasible"):
            fit_duration(robot, motion)
        return
    s = 1 / fit_duration(robot, motion).factor
    assert worst(motion, limits, [s], 40001, **drive)[0] <= 1 + 1e-9
    assert s >= best * (1 - 1e-6)


def test_dry_friction():
    """Torque is no polynomial in the speed."""
    limits, drive = {"torque": 16.0, "power": 25.0}, {"coulomb": 3.0, "stiffness": 60.0}
    motion = RestToRest([-1.0], [0.5], 1.0)
    s = 1 / fit_duration(pendulum(limits, **drive), motion).factor
    assert worst(motion, limits, [s], 40001, **drive)[0] <= 1 + 1e-9
    assert s == pytest.approx(scanned(motion, limits, **drive), rel=1e-6)


def test_damped_springs():
    """Their torque has a memory: compared by inverse dynamics at 8 times as many samples."""
    robot = pendulum({"torque": 16.0}, damping=1.0)
    fitted = fit_duration(robot, RestToRest([-1.0], [0.5], 1.0), samples=501)
    t = np.linspace(0.0, fitted.duration, 4001)
    peak = np.abs(fj.inverse_dynamics_along(robot, fitted.trajectory, t).tau).max()
    assert 16.0 * (1 - 1e-3) < peak <= 16.0 * (1 + 1e-9)


def test_variable_stiffness():
    """Two motors, each with limits; the stiffness is held."""
    motor = fj.Motor(0.1, limits=MotorLimits(torque=14.0, speed=6.0))
    law = CubicSpring(40.0, 300.0)
    plain = pendulum({})
    robot = plain.with_drives([AntagonisticDrive(law, law, motor, motor)])
    fitted = fit_duration(robot, RestToRest([-1.5], [-1.0], 1.0), stiffness=[120.0])
    assert check_feasibility(robot, fitted.trajectory, stiffness=[120.0], samples=20001).feasible
    faster = fitted.trajectory.scaled(1 - 1e-6)
    t = np.linspace(0.0, faster.duration, 20001)
    motion = fj.inverse_dynamics_along(robot, faster, t, [120.0])
    assert max(np.abs(motion.tau).max() / 14.0, np.abs(motion.theta_v).max() / 6.0) > 1


def test_a_wrench_on_the_tool():
    """A weight on the tip adds to gravity: with it the motion takes longer, and a heavier one is refused."""
    robot, motion = pendulum({"torque": 14.0}), RestToRest([0.0], [1.0], 1.0)
    free, loaded = (fit_duration(robot, motion, wrench=w) for w in (None, [0.0, 0.0, 0.0, 0.0, 0.0, -2.0]))
    assert loaded.duration > free.duration
    with pytest.raises(
        fj.InputError, match=r"at rest.*torque of joint 'hinge' reaches 19\.81 Nm.*another path or load"
    ):
        fit_duration(robot, motion, wrench=[0.0, 0.0, 0.0, 0.0, 0.0, -10.0])


@pytest.mark.parametrize("limit", ["velocity", "acceleration", "jerk", "effort"])
def test_a_limit_of_zero_is_named(limit):
    still = with_limits(pendulum({}), **{limit: 0.0})
    name = "torque" if limit == "effort" else limit
    with pytest.raises(
        fj.InputError, match=rf"{name} of joint 'hinge' reaches.*give a limit above 0 in limits.{limit}"
    ):
        fit_duration(still, RestToRest([-1.0], [0.6], 0.8))


def test_a_path_that_leaves_its_limits_is_named_without_any_other_limit():
    with pytest.raises(fj.InputError, match="the path exceeds position limits: joint 'hinge' reaches -1 rad"):
        fit_duration(with_limits(pendulum({}), lower=0.5, upper=1.0), RestToRest([-1.0], [0.6], 0.8))


def test_what_no_duration_cures_is_named():
    motion = RestToRest([-2.0], [2.0], 1.0)
    with pytest.raises(
        fj.InputError, match=r"at rest.*torque of joint 'hinge' reaches 9\.81 Nm at t = 0\.5 s.*limit 8"
    ):
        fit_duration(pendulum({"torque": 8.0}), motion)
    bounded = pendulum({"velocity": 1.0})
    link = bounded.links[0]
    joint = dataclasses.replace(link.joint, limits=fj.Limits(-1.0, 1.0, velocity=1.0))
    bounded = bounded.replace(links=[dataclasses.replace(link, joint=joint)])
    with pytest.raises(fj.InputError, match=r"exceeds position limits: joint 'hinge' reaches.*smaller range"):
        fit_duration(bounded, motion)
    rough = pendulum({"jerk": 1.0}, stiffness=0.0)
    with pytest.raises(
        fj.InputError, match="jerk is limited, and the acceleration of the motion jumps: give smoothness=2"
    ):
        fit_duration(rough, RestToRest([0.0], [1.0], 1.0, smoothness=1))


def test_what_nothing_bounds_is_named():
    with pytest.raises(fj.InputError, match=r"no limit of pendulum bounds the speed; give its joints limits\.velocity"):
        fit_duration(pendulum({}), RestToRest([0.0], [1.0], 1.0))
    with pytest.raises(fj.InputError, match="it does not move"):
        fit_duration(pendulum({"velocity": 1.0}), RestToRest([0.5], [0.5], 1.0))


@pytest.mark.parametrize(
    "change, text",
    [
        ({"samples": 3}, "samples"),
        ({"samples": math.nan}, "samples"),
        ({"wrench": [math.nan] * 6}, "wrench"),
        ({"wrench": [1.0]}, r"wrench has shape \(1,\)"),
        ({"trajectory": 3.0}, "takes trajectories, not float"),
        ({"trajectory": RestToRest([0.0, 0.0], [1.0, 1.0], 1.0)}, "moves 2 joints; pendulum has 1"),
        ({"trajectory": RestToRest([0.0], [1.0], 1.0, smoothness=2)}, "is not smooth enough"),
        ({"robot": "panda"}, "robot"),
    ],
)
def test_bad_arguments(change, text):
    given = {"robot": pendulum({"torque": 20.0}), "trajectory": RestToRest([0.0], [1.0], 1.0)} | change
    for call in (fit_duration, check_feasibility):
        with pytest.raises(fj.InputError, match=text):
            call(given["robot"], given["trajectory"], **{k: x for k, x in given.items() if k in ("samples", "wrench")})
