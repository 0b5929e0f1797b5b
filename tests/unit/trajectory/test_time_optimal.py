"""The fastest motion against toppra, bang-bang solutions and closed forms, none of which shares code with it."""

import dataclasses
import math
import signal

import numpy as np
import pytest
from scipy.optimize import brentq

import flexjoint as fj
from flexjoint.drives import SpringLimits
from flexjoint.trajectory import RestToRest, Samples, Sinusoid, load_trajectory, time_optimal
from flexjoint.trajectory.fastest import ipopt
from support.limited_pendulum import ARM, GRAVITY, INERTIA, MASS, ROTOR, pendulum, quantities
from support.warned import said, with_limits

J = INERTIA + MASS * ARM**2
LENGTHS, MASSES, ROTORS, EFFORTS = (0.4, 0.3), (2.0, 1.5), 0.05, (30.0, 10.0)


def two_links(stiffness=None, **limits):
    """Two rods in a vertical plane."""

    def rod(k, position, parent):
        motor, m, l = fj.Motor(ROTORS), MASSES[k], LENGTHS[k]
        springs = SpringLimits(torque=0.9 * EFFORTS[k])
        drive = fj.ElasticDrive(stiffness, motor, spring_limits=springs) if stiffness else fj.RigidDrive(motor)
        joint = fj.Joint(f"j{k}", position=position, drive=drive, limits=fj.Limits(effort=EFFORTS[k], **limits))
        inertia = np.diag([1e-4, m * l**2 / 12, m * l**2 / 12])
        return fj.Link(f"rod{k}", joint, parent=parent, mass=m, com=[l / 2, 0, 0], inertia=inertia)

    return fj.Robot(
        "two_links", (rod(0, [0, 0, 0], "base"), rod(1, [LENGTHS[0], 0, 0], "rod0")), gravity=(0, -GRAVITY, 0)
    )


def textbook_torque(q, v, a):
    """M q'' + c + g of two rods, [Spong] ch. 6: no code of flexjoint."""
    (m1, m2), (l1, l2) = MASSES, LENGTHS
    c1, c2, I1, I2 = l1 / 2, l2 / 2, m1 * l1**2 / 12, m2 * l2**2 / 12
    h, k = m2 * l1 * c2 * math.sin(q[1]), m2 * l1 * c2 * math.cos(q[1])
    m11 = m1 * c1**2 + m2 * (l1**2 + c2**2) + 2 * k + I1 + I2 + ROTORS
    m12, m22 = m2 * c2**2 + k + I2, m2 * c2**2 + I2 + ROTORS
    g2 = m2 * GRAVITY * c2 * math.cos(q[0] + q[1])
    g1 = (m1 * c1 + m2 * l1) * GRAVITY * math.cos(q[0]) + g2
    tau1 = m11 * a[0] + m12 * a[1] - h * (2 * v[0] * v[1] + v[1] ** 2) + g1
    return np.array([tau1, m12 * a[0] + m22 * a[1] + h * v[0] ** 2 + g2])


WAYPOINTS = np.array([[-1.5, 0.3], [-0.8, 1.2], [0.0, 0.3], [0.8, 1.0]])


def test_a_rigid_robot_against_toppra():
    toppra, algorithm, constraint = (pytest.importorskip(f"toppra{x}") for x in ("", ".algorithm", ".constraint"))

    places = np.linspace(0.0, 1.0, 4)
    path = toppra.SplineInterpolator(places, WAYPOINTS)
    bounds = np.array(EFFORTS)[:, None] * [-1, 1]
    limits = [
        constraint.JointVelocityConstraint(np.array([[-3.0, 3.0]] * 2)),
        constraint.JointTorqueConstraint(textbook_torque, bounds, np.zeros(2), discretization_scheme=1),
    ]
    problem = algorithm.TOPPRA(limits, path, gridpoints=np.linspace(0, 1, 801), solver_wrapper="seidel")
    best = problem.compute_trajectory(0, 0).duration
    same = Samples(places, WAYPOINTS, order=2)
    assert np.abs(same(np.linspace(0, 1, 50), order=0)[0] - path(np.linspace(0, 1, 50))).max() < 1e-12
    found = time_optimal(two_links(velocity=3.0), same)
    assert found.duration == pytest.approx(best, rel=5e-3)
    assert found.duration < 0.8 * found.uniform
    t = np.linspace(0.0, found.duration, 20001)
    q, v, a = found.trajectory(t, order=2)
    torque = np.array([textbook_torque(*x) for x in zip(q, v, a)])
    assert np.abs(torque / EFFORTS).max() <= 1 + 1e-6
    assert np.abs(v).max() <= 3.0 * (1 + 1e-6)


def bang_bang_duration(distance, torque, K=200.0):
    """Two masses and a spring, from rest to rest: torque ±, with three switches, antisymmetric in time.

    With x1 the time from the first switch to the middle: cos ωx1 = (1 + cos ωT/2)/2, so that the spring is at rest,
    and T²/4 − 2x1² = distance (B + J)/torque.
    """
    omega, reach = math.sqrt(K * (1 / ROTOR + 1 / J)), distance * (ROTOR + J) / torque

    def missing(T):
        x1 = math.acos((1 + math.cos(omega * T / 2)) / 2) / omega
        return T**2 / 4 - 2 * x1**2 - reach

    return brentq(missing, 2 * math.sqrt(reach), 4 * math.pi / omega)  # there x1 = 0: the spring is at rest


def test_an_elastic_joint_against_a_bang_bang_solution():
    robot = pendulum({"torque": 60.0}, 200.0).with_gravity((0.0, 0.0, 0.0))
    best = bang_bang_duration(0.4, 60.0)
    found = time_optimal(robot, [[0.0], [0.4]], intervals=60)
    assert best * (1 - 1e-9) <= found.duration <= 1.01 * best
    assert found.certificate.excess <= 1e-6
    assert not np.any(found.trajectory([0.0, found.duration], order=3)[1:])


def test_a_rigid_joint_against_a_bang_bang_solution():
    """2 sqrt(distance (B + J)/torque), and with a speed limit distance/v + v (B + J)/torque."""
    for limits, best in (
        ({"torque": 10.0}, 2 * math.sqrt((ROTOR + J) / 10.0)),
        ({"torque": 10.0, "velocity": 2.0}, 1 / 2.0 + 2.0 * (ROTOR + J) / 10.0),
    ):
        robot = pendulum(limits, 0.0).with_gravity((0.0, 0.0, 0.0))
        for free in (False, True):
            found = time_optimal(robot, [[0.0], [1.0]], free=free)
            assert best * (1 - 1e-9) <= found.duration <= 1.005 * best


def test_no_limit_is_exceeded_between_the_points():
    """Every kind of limit at once, against closed forms at 60001 times."""
    limits = {"velocity": 2.0, "acceleration": 9.0, "jerk": 150.0, "torque": 20.0, "motor speed": 2.2, "power": 30.0}
    limits |= {"spring torque": 17.0, "deflection": 0.09, "root-mean-square torque": 11.0}
    drive = {"viscous": 0.5, "motor_viscous": 0.4}
    robot = pendulum(limits, **drive)
    found = time_optimal(robot, RestToRest([-1.4], [0.3], 1.0), intervals=16)
    stack = found.trajectory(np.linspace(0.0, found.duration, 60001), order=4)[..., 0]
    values = quantities(stack, **drive)
    shares = {name: np.abs(x).max() / limits[name] for name, x in values.items()}
    shares["mean"] = math.sqrt(np.mean(values["torque"] ** 2)) / limits["root-mean-square torque"]
    assert max(shares.values()) <= 1 + 1e-6
    assert max(shares.values()) > 0.999
    assert found.certificate.excess <= 1e-6
    assert found.gain > 1.1
    for phase in found.certificate.active:
        assert 0.0 <= phase.start <= phase.end <= found.duration
        if phase.quantity in values:
            k = round(60000 * (phase.start + phase.end) / 2 / found.duration)
            assert abs(values[phase.quantity][k]) / limits[phase.quantity] > 0.97


@pytest.mark.long
def test_two_elastic_links_follow_the_path_and_the_simulated_plant_follows_them():
    robot = two_links(stiffness=400.0, velocity=3.0)
    path = fj.trajectory.Spline(WAYPOINTS, 1.0)
    found = time_optimal(robot, path, intervals=24)
    assert found.gain > 1.15
    assert found.certificate.excess <= 1e-6
    law = found.trajectory.law
    t = np.linspace(0.0, found.duration, 301)
    assert np.array_equal(found.trajectory(t, order=0)[0], path(law(t, order=0)[0, :, 0], order=0)[0])
    feedforward = fj.control.FeedforwardPD(robot, np.zeros((2, 2)))
    run = fj.simulate(robot, feedforward, found.trajectory, found.duration, period=found.duration / 8000, hold=False)
    assert np.abs(run.q - found.trajectory(run.t, order=0)[0]).max() < 1e-5
    assert np.abs(run.tau / EFFORTS).max() <= 1 + 1e-5
    assert np.abs(400.0 * (run.theta - run.q) / EFFORTS).max() <= 0.9 * (1 + 1e-5)


def test_a_free_path_is_not_slower_than_the_straight_one():
    robot = two_links(velocity=4.0, lower=-3.0, upper=3.0)
    ends = [[-1.5, 0.3], [0.9, 0.1]]
    straight, free = (time_optimal(robot, ends, free=x, intervals=30) for x in (False, True))
    assert free.duration < 0.98 * straight.duration
    stack = free.trajectory(np.linspace(0.0, free.duration, 5001), order=2)
    assert np.abs([textbook_torque(*x) for x in stack.swapaxes(0, 1)] / np.array(EFFORTS)).max() <= 1 + 1e-6
    assert np.allclose(stack[0, [0, -1]], ends, rtol=0, atol=1e-14) and not np.any(stack[1, [0, -1]])


def test_a_path_that_does_not_rest_starts_and_ends_at_rest():
    robot = two_links(velocity=3.0)
    found = time_optimal(robot, Sinusoid([0.5, 0.3], 0.5, offset=[-1.5, 0.2], duration=1.3), intervals=20)
    assert not np.any(found.trajectory([0.0, found.duration], order=1)[1])
    assert found.certificate.excess <= 1e-6


@pytest.mark.long
def test_damped_springs_are_stretched():
    robot = pendulum({"torque": 20.0, "velocity": 4.0}, damping=0.5)
    found = time_optimal(robot, [[-1.4], [0.3]], intervals=8)
    t = np.linspace(0.0, found.duration, 8001)
    assert np.abs(fj.inverse_dynamics_along(robot, found.trajectory, t).tau).max() <= 20.0 * (1 + 1e-6)
    assert found.gain > 1.1


def test_a_wrench_on_the_tool_counts():
    robot = pendulum({"torque": 20.0}, 0.0)
    found = time_optimal(robot, [[-1.4], [0.3]], wrench=[0, 0, 0, 0, 0, -3.0], intervals=20)
    q, _, a = found.trajectory(np.linspace(0.0, found.duration, 4001), order=2)[..., 0]
    tau = (ROTOR + J) * a + MASS * GRAVITY * ARM * np.cos(q) + 3.0
    assert 0.999 < np.abs(tau).max() / 20.0 <= 1 + 1e-6


def test_a_saved_motion_is_bit_identical(tmp_path):
    robot = two_links(velocity=3.0)
    for free in (False, True):
        found = time_optimal(robot, WAYPOINTS, free=free, intervals=12)
        found.save(tmp_path / "fast.toml")
        again = load_trajectory(tmp_path / "fast.toml", robot)
        t = np.linspace(0.0, found.duration, 101)
        assert again.duration == found.duration
        assert np.array_equal(again(t, order=2), found.trajectory(t, order=2))


def test_ctrl_c_gives_a_feasible_motion(monkeypatch):
    """A real signal, sent while IPOPT reports its third iteration."""
    reports = []

    def interrupt(message):
        reports.append(message)
        if len(reports) == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ipopt, "EVERY", 0.0)
    monkeypatch.setattr(ipopt, "report", interrupt)
    robot = two_links(stiffness=400.0, velocity=3.0)
    before, found = signal.getsignal(signal.SIGINT), []
    (message,) = said(lambda: found.append(time_optimal(robot, WAYPOINTS, intervals=16, free=True)))
    assert "was interrupted" in message and "iteration 3, " in reports[-1]
    assert found[0].status == "User_Requested_Stop"
    assert found[0].certificate.excess <= 1e-6 and found[0].duration <= found[0].uniform * (1 + 1e-9)
    assert signal.getsignal(signal.SIGINT) is before


def test_too_few_iterations_are_told():
    (message,) = said(lambda: time_optimal(two_links(velocity=3.0), WAYPOINTS, intervals=16, iterations=2))
    assert "Maximum_Iterations_Exceeded" in message


ENDS = [[-1.4], [0.3]]


@pytest.mark.parametrize(
    ("robot", "path", "message"),
    [
        (pendulum({"torque": 20.0}), [[0.0], [math.nan]], "nan"),
        (pendulum({"torque": 20.0}), [[0.0]], "path has 1 rows"),
        (pendulum({"torque": 20.0}), [[0.0], [0.0], [1.0]], "waypoints 0 and 1 are equal"),
        (pendulum({"torque": 20.0}), [[0.0, 1.0], [1.0, 1.0]], "2 columns; pendulum has 1"),
        (pendulum({"torque": 5.0}), ENDS, "at rest, where gravity.* torque of joint 'hinge'"),
        (pendulum({"velocity": 2.0}), ENDS, "no limit of pendulum bounds accelerations.*limits.acceleration"),
        (pendulum({"velocity": 2.0, "motor speed": 3.0}), ENDS, "bounds accelerations"),
        (pendulum({}), ENDS, "no limit of pendulum bounds the speed"),
        (with_limits(pendulum({}), lower=-1.0, effort=50.0), ENDS, "the path exceeds position limits"),
        (fj.load("vsa_3r"), [[0.0] * 3, [0.1] * 3], "variable-stiffness joints, which are not supported.*fit_duration"),
        (fj.load("dlr_lbr2").with_fidelity("complete"), [[0.0] * 7, [0.1] * 7], "complete rotors.*smoothness="),
    ],
)
def test_bad_input_is_named(robot, path, message):
    with pytest.raises(fj.InputError, match=message) as error:
        time_optimal(robot, path)
    assert "time_optimal" in str(error.value)


def test_a_free_path_needs_limits_of_every_joint():
    robot = two_links(velocity=3.0)
    joint = dataclasses.replace(robot.links[1].joint, limits=fj.Limits(lower=-3.0, upper=3.0))
    robot = robot.replace(links=[robot.links[0], dataclasses.replace(robot.links[1], joint=joint)])
    with pytest.raises(fj.InputError, match="position: j1 of two_links has none"):
        time_optimal(robot, WAYPOINTS, free=True)
