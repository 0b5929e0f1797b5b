"""EndStops at position limits, and robots that change on the way."""

import numpy as np
import pytest
from scipy.optimize import brentq

import flexjoint as fj

K, C, INERTIA = 5e3, 0.4, 0.2


def wheel(drive=None, limits=(-0.5, 0.3), kind="revolute"):
    joint = fj.Joint("axis", kind, drive=drive, limits=fj.Limits(*limits))
    link = fj.Link("wheel", joint, mass=INERTIA, inertia=np.diag([0.5, 0.5, INERTIA]))
    return fj.Robot("wheel", (link,), gravity=(0.0, 0.0, 0.0))


def thrown(robot, velocity, **options):
    start = fj.JointState([0.0], [velocity], [0.0], [velocity])
    options = {"period": 1e-4, "start": start, "stops": fj.simulation.EndStops(K, C)} | options
    return fj.simulate(robot, fj.control.OpenLoop(robot), [0.0], 1.0, **options)


@pytest.mark.parametrize(
    ("kind", "velocity", "integrator"), [("revolute", 2.0, "runge_kutta"), ("prismatic", -2.0, "midpoint")]
)
def test_a_bounce(kind, velocity, integrator):
    """I x'' = −k x (1 + c x') gives x' dx'/(1 + c x') = −(k/I) x dx: x'/c − ln(1 + c x')/c² is the same on both ways
    through x = 0, and at the deepest point k x²/(2 I) is its value at the entrance  [HuntCrossley]."""
    run = thrown(wheel(kind=kind), velocity, integrator=integrator)

    def lost(v):
        return v / C - np.log(1 + C * v) / C**2

    back = brentq(lambda v: lost(v) - lost(abs(velocity)), -1 / C + 1e-12, -1e-9)
    turned = np.argmax(run.v[:, 0] * velocity < 0)
    after = run.v[turned + 200 : turned + 300, 0]
    assert np.allclose(after, np.sign(velocity) * back, atol=2e-4)
    deepest = np.max(run.q) - 0.3 if velocity > 0 else -0.5 - np.min(run.q)
    assert deepest == pytest.approx(np.sqrt(2 * INERTIA / K * lost(abs(velocity))), abs=2e-5)


def test_leaning_on_a_stop():
    """A motor that pushes on: the spring of the joint and the stop share its torque, at rest."""
    robot = wheel(fj.ElasticDrive(800.0, fj.Motor(0.3, viscous_friction=4.0)))
    run = fj.simulate(
        robot,
        fj.control.OpenLoop(robot),
        [50.0],
        3.0,
        start=fj.JointState(*np.zeros((4, 1))),
        stops=fj.simulation.EndStops(K, C),
    )
    assert run.q[-1, 0] == pytest.approx(0.3 + 50.0 / K, abs=1e-5)
    assert run.theta[-1, 0] - run.q[-1, 0] == pytest.approx(50.0 / 800.0, abs=1e-5)


def test_variable_stiffness_against_a_stop():
    spring = fj.springs.CubicSpring(300.0, 900.0)
    motor = fj.Motor(0.3, viscous_friction=4.0)
    robot = wheel(fj.drives.AntagonisticDrive(spring, spring, motor, motor, damping=1.0))
    run = fj.simulate(
        robot,
        fj.control.OpenLoop(robot),
        [40.0, 20.0],
        4.0,
        start=fj.simulation.at_rest(robot, [0.0], 900.0),
        stops=fj.simulation.EndStops(K, C),
    )
    assert run.q[-1, 0] == pytest.approx(0.3 + 60.0 / K, abs=1e-4)


def test_stops_need_short_steps():
    """ω = √(k/I) = 2.8/h: the limit of Runge-Kutta, h = 0.56 ms here."""
    robot = wheel()
    with pytest.raises(fj.InputError, match=r"unstable against the stops.*'axis'.* at most 0.000566 s") as caught:
        thrown(robot, 1.0, period=1e-3, stops=fj.simulation.EndStops(5e6))
    assert np.sqrt(8) / np.sqrt(5e6 / INERTIA) == pytest.approx(0.000566, rel=1e-3)
    thrown(robot, 1.0, period=5e-4, stops=fj.simulation.EndStops(5e6))
    assert "check=False" in str(caught.value)


ARM = fj.random_robot(2, 5, prismatic=0.0, elastic=1.0, name="arm")
LAW = fj.control.MotorPD(ARM, [400.0, 40.0])


def test_a_payload_taken_up_on_the_way():
    """A parameter that changes: the same as two runs, the second of them with the load."""
    goal, com, inertia = np.array([0.4, -0.3]), (0.1, 0.0, 0.0), np.diag([0.01, 0.02, 0.02])
    empty = ARM.with_payload(0.0, com)
    changes = {"payload.mass": (0.05, 2.0), "payload.inertia": (0.05, [0.01, 0.0, 0.0, 0.02, 0.0, 0.02])}
    run = fj.simulate(empty, LAW, goal, 0.1, changes=changes, check=False)
    first = fj.simulate(empty, LAW, goal, 0.05, check=False)
    second = fj.simulate(ARM.with_payload(2.0, com, inertia), LAW, goal, 0.05, start=first, check=False)
    assert np.allclose(run.q[:51], first.q, rtol=0, atol=1e-12)
    assert np.allclose(run.q[50:], second.q, rtol=0, atol=1e-12)
    unloaded = fj.simulate(empty, LAW, goal, 0.1, check=False)
    assert np.max(np.abs(run.q - unloaded.q)) > 1e-4


def test_times_and_values_for_each_row():
    goal = np.array([0.4, -0.3])
    times, masses = np.array([0.01, 0.03]), np.array([4.0, 9.0])
    batch = fj.simulate(ARM, LAW, goal, 0.05, changes={"link2.mass": (times, masses)}, check=False)
    assert batch.q.shape == (2, 51, 2)
    for k in range(2):
        alone = fj.simulate(ARM, LAW, goal, 0.05, changes={"link2.mass": (times[k], masses[k])}, check=False)
        assert np.array_equal(batch.q[k], alone.q)
    both = fj.simulate(ARM, LAW, goal, 0.05, free={"link2.mass": 4.0}, changes={"link2.mass": (0.03, 9.0)}, check=False)
    changed = fj.simulate(ARM, LAW, goal, 0.05, free={"link2.mass": 4.0}, check=False)
    assert np.allclose(both.q[:31], changed.q[:31], rtol=0, atol=1e-13)
    assert np.max(np.abs(both.q[31:] - changed.q[31:])) > 1e-6
