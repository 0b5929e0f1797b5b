"""Energy of springs, links and motors: power balance on random robots with every kind of drive  [VSANEA (8)]."""

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from identities.test_variable_stiffness import ROBOTS, from_deflections, random_state
from support.evaluate import evaluate
from support.lagrange import rate, smooth_friction
from support.motors import forward
from support.rotors import with_random_rotors


def damped(robot):
    drives = [joint.drive for joint in robot.joints]
    dampers = (fj.ElasticDrive, fj.drives.AntagonisticDrive, fj.drives.LeverDrive)
    return robot.with_drives(
        [replace(x, damping=2.0 + i) if isinstance(x, dampers) else x for i, x in enumerate(drives)]
    )


ELASTIC = fj.random_robot(4, 6, tree=True, friction=True, elastic=0.7)
CASES = {
    **{name: ROBOTS[name] for name in ("three laws", "every design in a tree", "a lever and a rigid joint")},
    "damped": damped(ROBOTS["a lever and a rigid joint"]),
    "elastic": ELASTIC,
    "complete": with_random_rotors(fj.random_robot(3, 3, prismatic=0.0, friction=True), 3, elastic=0.7),
}
each = pytest.mark.parametrize("robot", CASES.values(), ids=CASES.keys())


def motors_of(robot):
    return [
        (robot.joints[i].drive.motors[k >= robot.n], i, k)
        for k, i in enumerate(robot.motor_joints)
        if robot.joints[i].drive
    ]


@each
def test_the_power_of_the_motors_becomes_energy_or_friction(robot):
    """d/dt (T + V_g + U_e) = τᵀθ' − friction − dampers, along the vector field of forward dynamics."""
    n, m = robot.n, robot.motor_count
    q, v, theta, theta_v, tau = (ca.SX.sym("x", k) for k in (n, n, m, m, m))
    a, theta_a = forward(robot, q, v, theta, theta_v, tau)
    energy = fj.kinetic_energy(robot, q, v, theta_v, motors=True) + fj.gravity_energy(robot, q)
    energy += fj.dynamics.spring_energy(robot, q, theta)
    grows = rate(energy, [q, v, a], [theta, theta_v, theta_a])
    power = 0
    for i, joint in enumerate(robot.joints):
        power -= smooth_friction(joint, v[i]) * v[i]
    for motor, i, k in motors_of(robot):
        speed = theta_v[k] if robot.compliant[i] else v[i]
        power += (tau[k] - smooth_friction(motor, speed)) * speed
        counts = k < n or robot.joints[i].drive.c
        if robot.compliant[i] and counts:
            power -= robot.joints[i].drive.damping * (theta_v[k] - v[i]) ** 2
    for i, joint in enumerate(robot.joints):
        power += tau[i] * v[i] if joint.drive is None else 0
    state = from_deflections(robot, *random_state(robot))
    numbers = [*state, np.random.default_rng(1).normal(size=m)]
    found, expected = (float(x) for x in ca.Function("f", [q, v, theta, theta_v, tau], [grows, power])(*numbers))
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-10)
    assert abs(expected) > 1.0


@pytest.mark.parametrize("robot", [x for x in CASES.values() if x.fidelity == "spong"], ids=lambda robot: robot.name)
def test_torques_are_gradients_of_the_energy(robot):
    """τ_e = −∂U_e/∂q and τ_k = ∂U_e/∂θ_k accelerate links and motors from rest  [VSANEA (8)]."""
    n, m = robot.n, robot.motor_count
    q, theta, still = ca.SX.sym("q", n), ca.SX.sym("theta", m), [ca.SX.zeros(k) for k in (n, m)]
    U = fj.dynamics.spring_energy(robot, q, theta)
    a, theta_a = forward(robot, q, still[0], theta, still[1], still[1])
    carried = fj.mass_matrix(robot, q) @ a + fj.gravity_torque(robot, q)
    f = ca.Function(
        "f", [q, theta], [ca.densify(x) for x in (-ca.gradient(U, q), ca.gradient(U, theta), carried, theta_a)]
    )
    state = from_deflections(robot, *random_state(robot))
    on_links, on_motors, carried, turning = (np.array(x)[:, 0] for x in f(state[0], state[2]))
    assert np.allclose(carried, on_links, rtol=1e-10, atol=1e-10)
    for motor, i, k in motors_of(robot):
        if robot.compliant[i]:
            assert turning[k] * motor.inertia == pytest.approx(-on_motors[k], rel=1e-11)


def test_a_law_without_energy_is_named():
    @dataclass(frozen=True)
    class Law(fj.springs.Spring):
        k: float

        def torque(self, phi):
            return self.k * (phi + phi**5)

    robot = fj.random_robot(1, 2, prismatic=0.0)
    for drive in (
        fj.ElasticDrive(Law(2.0), fj.Motor(1.0)),
        fj.drives.AntagonisticDrive(Law(2.0), fj.springs.CubicSpring(1.0, 2.0), fj.Motor(1.0), fj.Motor(1.0)),
    ):
        some = robot.with_drives([drive])
        with pytest.raises(fj.InputError, match="gives torques alone; add `energy`"):
            fj.dynamics.spring_energy(some, np.zeros(1), np.zeros(some.motor_count))
    assert evaluate(fj.dynamics.spring_energy, robot, np.zeros(1), np.zeros(1)).item() == 0.0
