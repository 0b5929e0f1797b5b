"""Dampers that a law commands: damping ratio, bounds, integrators, wrappers, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from support.marks import some_long

SPRING, MOTOR = fj.springs.CubicSpring(400.0, 2000.0), fj.Motor(1e6)  # motors too heavy to move
pytestmark = pytest.mark.filterwarnings("ignore:.*the motor inertia")
PAIR = fj.drives.AntagonisticDrive(SPRING, SPRING, MOTOR, MOTOR, greatest_damping=1e3)
LEVER = fj.drives.LeverDrive(7e4, 0.12, 0.02, 0.2, MOTOR, MOTOR, greatest_damping=1e3)
LINK = {"mass": 1.0, "inertia": 0.7 * np.eye(3)}  # its centre of mass on the axis: no gravity torque


def arm(drive):
    return fj.Robot("arm", (fj.Link("arm", fj.Joint("elbow", drive=drive), **LINK),))


def released(robot, off, sigma=1000.0):
    """The torques that hold the motors, and the state with the link turned off its place of rest."""
    rest = fj.simulation.at_rest(robot, np.zeros(robot.n), sigma)
    found = fj.motor_motion(
        robot, *np.zeros((5, robot.n)), stiffness=[np.full(robot.n, sigma), *np.zeros((2, robot.n))]
    )
    return found.tau, rest._replace(q=rest.q + off)


@pytest.mark.parametrize(
    "drive", [PAIR, LEVER, replace(LEVER, damping=5.0)], ids=["antagonistic", "lever", "constant damping"]
)
@pytest.mark.parametrize("zeta", [0.3, 2.0])
def test_joints_have_their_damping_ratio(drive, zeta):
    """Small oscillations of the link, its motors at rest, against the textbook: M q'' + 2ζ√(σM) q' + σ q = 0."""
    robot = arm(drive)
    tau, start = released(robot.without_spring_damping(), 1e-4)
    law = fj.control.DampingRatio(fj.control.OpenLoop(robot), zeta)
    run = fj.simulate(robot, law, tau, 0.3, period=1e-4, start=start, check=False)
    omega = np.sqrt(1000.0 / 0.7)
    poles = np.roots([1.0, 2 * zeta * omega, omega**2])
    a, b = np.linalg.solve([[1, 1], poles], [1, 0])
    expected = (a * np.exp(poles[0] * run.t) + b * np.exp(poles[1] * run.t)).real
    assert np.max(abs(run.q[:, 0] / 1e-4 - expected)) < 2e-3
    given = run.more["damping"][5, 0] + drive.damping
    assert given == pytest.approx(2 * zeta * np.sqrt(1000.0 * 0.7) / (1 + drive.c), rel=1e-4)


@pytest.mark.parametrize("integrator", some_long(["runge_kutta", "euler", "midpoint"], "euler", "runge_kutta"))
def test_a_damper_gives_no_more_than_it_can(integrator):
    """A command beyond its greatest damping: as a robot that is always damped so."""
    able = arm(replace(PAIR, greatest_damping=4.0, motor_1=fj.Motor(0.5), motor_2=fj.Motor(0.8)))
    always = arm(replace(able.joints[0].drive, damping=4.0, greatest_damping=0.0))
    tau, start = released(able, 0.05)
    options = {"period": 1e-3, "start": start, "integrator": integrator, "check": False}
    found = fj.simulate(able, fj.control.DampingRatio(fj.control.OpenLoop(able), 50.0), tau, 0.1, **options)
    expected = fj.simulate(always, fj.control.OpenLoop(always), tau, 0.1, **options)
    free = fj.simulate(able, fj.control.OpenLoop(able), tau, 0.1, **options)
    for x, y, z in zip(found.states, expected.states, free.states):
        assert np.allclose(x, y, rtol=1e-11, atol=1e-13) and not np.allclose(x, z, atol=1e-4)
    assert np.all(found.more["damping"] > 100.0) and "damping" not in free.more


def test_dampers_beside_other_joints_and_in_wrappers():
    """Command of a tree: 0 where there is no damper; a wrapper hands it on; the inner law keeps its torque."""
    base = fj.random_robot(3, 5, prismatic=0.0)
    robot = base.with_drives([replace(PAIR, motor_1=fj.Motor(0.5)), fj.ElasticDrive(500.0, fj.Motor(0.5)), None])
    law = fj.control.DampingRatio(fj.control.OpenLoop(robot), [0.5, 1.0, 1.0])
    wrapped = fj.simulation.FaultyActuators(law, efficiency=0.5)
    assert wrapped.commands_damping and not fj.simulation.FaultyActuators(law.controller).commands_damping
    symbols = [ca.SX.sym("x", k) for k in (3, 3, 4, 4)]
    f = ca.Function("f", symbols, [x.damper_command(fj.JointState(*symbols)) for x in (law, wrapped)])
    rng = np.random.default_rng(0)
    q, v, theta, theta_v = (0.3 * rng.normal(size=k) for k in (3, 3, 4, 4))
    own, handed = (np.array(x)[:, 0] for x in f(q, v, theta, theta_v))
    sigma = 800 + 6000 * ((theta[0] - q[0]) ** 2 + (theta[3] - q[0]) ** 2)
    M = fj.mass_matrix(robot, q)
    assert np.allclose(own, [0.5 * np.sqrt(sigma * M[0, 0]), 0.0, 0.0], rtol=1e-12)
    assert np.array_equal(own, handed)


def test_a_law_of_a_user_commands_damping():
    """`damper_command` of a controller is all it takes."""

    @dataclass(frozen=True, eq=False)
    class Braked(fj.control.OpenLoop):
        asked: float = 3.0

        def damper_command(self, measurement):
            return self.asked + 0 * measurement.q

    able = arm(replace(PAIR, motor_1=fj.Motor(0.5), motor_2=fj.Motor(0.8)))
    always = arm(replace(able.joints[0].drive, damping=3.0))
    tau, start = released(able, 0.05)
    found = fj.simulate(able, Braked(able), tau, 0.05, start=start, check=False)
    expected = fj.simulate(always, fj.control.OpenLoop(always), tau, 0.05, start=start, check=False)
    assert np.allclose(found.q, expected.q, rtol=1e-11, atol=1e-13) and np.all(found.more["damping"] == 3.0)


def test_around_a_sampled_law():
    """Gains, state and period are those of the law inside."""
    robot = arm(PAIR)
    inner = fj.control.VariableStiffnessTracking.from_poles(robot, [-10.0] * 4, [-10.0] * 2, 2e-3)
    law = fj.control.DampingRatio(inner, 0.7)
    assert (law.period, law.memory_sizes, law.gain_names) == (2e-3, (1, 1), inner.gain_names)
    assert law.gains is inner.gains and repr(law) == f"DampingRatio({inner!r}, ratio=0.7)"
    assert not hasattr(fj.control.DampingRatio(fj.control.OpenLoop(robot)), "period")


def test_refusals():
    robot = arm(replace(PAIR, greatest_damping=0.0))
    with pytest.raises(fj.InputError, match=r"no joint of 'arm' has a damper.*greatest_damping"):
        fj.control.DampingRatio(fj.control.OpenLoop(robot))
    with pytest.raises(fj.InputError, match=r"controller is Robot\(.*give one of fj.control"):
        fj.control.DampingRatio(robot)
    with pytest.raises(fj.InputError, match="ratio is -1"):
        fj.control.DampingRatio(fj.control.OpenLoop(arm(PAIR)), -1.0)
