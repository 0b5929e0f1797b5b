"""Friction D v + F_c tanh(v/v_c) of joints and motors, against formulas written here and CasADi's derivatives."""

import dataclasses

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.dynamics.drivetrain.friction import coulomb_command, joint_friction, link_friction, motor_friction
from flexjoint.dynamics.recursion.articulated_body import by_articulated_bodies
from flexjoint.dynamics.recursion.composite_bodies import by_factorization
from flexjoint.spatial import time_derivative
from support.errors import relative_error
from support.lagrange import smooth_friction

TOLERANCE = 1e-12


def rubbing(robot, seed=0):
    """Every second joint with Coulomb friction; no drive, rigid and elastic drives in turn, motors with friction."""
    rng = np.random.default_rng(seed)
    links, i = [], 0
    for link in robot.links:
        joint = link.joint
        if joint.moves:
            motor = fj.Motor(*rng.uniform(0.3, 2.0, 4))
            drive = (None, fj.RigidDrive(motor), fj.ElasticDrive(float(rng.uniform(50, 500)), motor))[i % 3]
            F = float(rng.uniform(0.5, 2.0)) if i % 2 else 0.0
            joint = dataclasses.replace(joint, coulomb_friction=F, coulomb_velocity=0.4, drive=drive)
            i += 1
        links.append(dataclasses.replace(link, joint=joint))
    return robot.replace(links=links)


ROBOT = rubbing(fj.random_robot(6, 4, prismatic=0.4, tree=True, fixed=0.3, friction=True))


def motor_of(joint, kind):
    return joint.drive.motor if isinstance(joint.drive, kind) else None


def values(expressions, symbols, seed=0):
    state = [ca.DM(np.random.default_rng(seed).normal(size=x.shape)) for x in symbols]
    return [np.array(x) for x in ca.Function("f", symbols, [ca.densify(ca.SX(x)) for x in expressions]).call(state)]


def test_jets_are_derivatives():
    """Orders 0 to 5 of what acts on q'."""
    top = 5
    rates = [ca.SX.sym(f"v{k}", ROBOT.n) for k in range(top + 1)]
    v = rates[0]
    at_joint = [smooth_friction(joint, v[i]) for i, joint in enumerate(ROBOT.joints)]
    at_motor = [smooth_friction(motor_of(joint, fj.RigidDrive), v[i]) for i, joint in enumerate(ROBOT.joints)]
    for found, expected in (
        (joint_friction(ROBOT, rates, top), ca.vertcat(*at_joint)),
        (link_friction(ROBOT, rates, top), ca.vertcat(*at_joint) + ca.vertcat(*at_motor)),
    ):
        assert len(found) == top + 1
        for k in range(top + 1):
            x, y = values([found[k], expected], rates)
            assert relative_error(x, y) < TOLERANCE, f"order {k}"
            expected = time_derivative(expected, rates)


def test_motor_friction_is_that_of_elastic_drives():
    v = ca.SX.sym("v", ROBOT.n)
    expected = [smooth_friction(motor_of(joint, fj.ElasticDrive), v[i]) for i, joint in enumerate(ROBOT.joints)]
    x, y = values([motor_friction(ROBOT, v, ca.SX.zeros(ROBOT.n)), ca.vertcat(*expected)], [v])
    assert relative_error(x, y) < TOLERANCE
    assert np.count_nonzero(y) == sum(ROBOT.compliant)


def test_no_friction_costs_nothing():
    robot = fj.random_robot(3, 0)
    rates = [ca.SX.sym(f"v{k}", 3) for k in range(3)]
    assert all(x.is_zero() for x in link_friction(robot, rates, 2))
    assert motor_friction(robot, rates[0], rates[0]).is_zero()


def test_torque_is_that_without_friction_and_the_friction():
    q, v, a = (ca.SX.sym(x, ROBOT.n) for x in "qva")
    stiff = ROBOT.rigid()
    smooth = stiff.replace(links=[without_friction(link) for link in stiff.links])
    torque = fj.inverse_dynamics(smooth, q, v, a)
    for i, joint in enumerate(stiff.joints):
        torque[i] += smooth_friction(joint, v[i]) + smooth_friction(motor_of(joint, fj.RigidDrive), v[i])
    for found in (fj.inverse_dynamics(stiff, q, v, a), fj.bias_torque(stiff, q, v) + fj.mass_matrix(stiff, q) @ a):
        x, y = values([found, torque], [q, v, a])
        assert relative_error(x, y) < TOLERANCE


def without_friction(link):
    drive = link.joint.drive and fj.RigidDrive(fj.Motor(link.joint.drive.motor.inertia))
    joint = dataclasses.replace(link.joint, viscous_friction=0.0, coulomb_friction=0.0, drive=drive)
    return dataclasses.replace(link, joint=joint)


@pytest.mark.parametrize("way", [by_factorization, by_articulated_bodies])
def test_forward_after_inverse_dynamics(way):
    q, v, a = (ca.SX.sym(x, ROBOT.n) for x in "qva")
    tau = fj.inverse_dynamics(ROBOT.rigid(), q, v, a)
    x, y = values([way(ROBOT.rigid(), q, v, tau), a], [q, v, a])
    assert relative_error(x, y) < 1e-9


def swinging(F, v_c, side):
    """One link of which only the friction matters here, on a spring of 1000 Nm/rad with a motor of 3.2 kg m²."""
    at_motor = {"coulomb_friction": F, "coulomb_velocity": v_c} if side == "motor" else {}
    at_link = {"coulomb_friction": F, "coulomb_velocity": v_c} if side == "link" else {}
    joint = fj.Joint("hip", drive=fj.ElasticDrive(1000.0, fj.Motor(3.2, **at_motor)), **at_link)
    return fj.Robot("leg", (fj.Link("leg", joint, mass=1.0, inertia=0.1 * np.eye(3)),), gravity=np.zeros(3))


def test_what_coulomb_friction_on_the_link_costs():
    """5 Nm at 0.01 rad/s cost 123 Nm at 1 rad/s², found where tanh'' is largest; on the motor's side 5 Nm."""
    robot = swinging(5.0, 0.01, "link")
    assert coulomb_command(robot) == pytest.approx([123.168], abs=1e-3)
    v, a = ca.SX.sym("v"), 1.0
    second = ca.hessian(5.0 * ca.tanh(v / 0.01), v)[0] * a**2 * 3.2 / 1000.0
    grid = np.linspace(-0.05, 0.05, 100001)
    peak = np.max(np.abs(np.array(ca.Function("f", [v], [second]).map(grid.size)(grid.reshape(1, -1)))))
    assert coulomb_command(robot) == pytest.approx([peak], rel=1e-6)
    assert coulomb_command(robot, 2.0) == pytest.approx([4 * peak], rel=1e-6)
    with pytest.raises(fj.InputError, match="numbers, or 1 of them each"):
        coulomb_command(robot, [1.0, 2.0])
    assert coulomb_command(robot, 0.0, -3.0) == pytest.approx([3.2 / 1000 * 5.0 * 3.0 / 0.01])
    assert coulomb_command(swinging(5.0, 0.01, "motor")) == [0.0]
