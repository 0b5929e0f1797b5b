"""A joint axis in any direction of the link's frame: only the description of a robot changes, not its physics."""

import dataclasses

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.dynamics.recursion.bodies import bodies
from flexjoint.spatial import rotation_onto
from support.errors import relative_error
from support.evaluate import evaluate
from support.frames import turned

TOLERANCE = 1e-12
TREE = fj.random_robot(6, 41, prismatic=0.3, tree=True, fixed=0.5, friction=True)


def with_rotors(robot, seed=0):
    """Rotors on parents, some with an axis of their own, behind springs and rigid ones, in the complete model."""
    rng = np.random.default_rng(seed)
    drives = []
    for i in range(robot.n):
        axis = rng.normal(size=3)
        place = {} if i % 2 else {"axis": axis / np.linalg.norm(axis), "position": 0.1 * rng.normal(size=3)}
        motor = fj.Motor.from_rotor(2e-5, 30.0 + i, mass=0.1, transverse_inertia=1.2e-5, **place)
        drives.append(fj.ElasticDrive(500.0, motor) if i % 3 == 1 else fj.RigidDrive(motor))
    return robot.with_drives(drives).replace(fidelity="complete", rotors_in_links=False)


@pytest.mark.parametrize("robot", [TREE, with_rotors(TREE)], ids=["bare", "rotors"])
def test_turned_frames_describe_the_same_robot(robot):
    other, Q = turned(robot)
    assert sum(abs(x.joint.axis[2] - 1) > 0.1 for x in other.links if x.joint.moves) >= 4
    q, v, a, v_a = np.random.default_rng(1).normal(size=(4, robot.n))
    last = robot.links[-1].name
    wrenches = {last: [np.arange(1.0, 7.0)]}
    for function, args, options in (
        (fj.mass_matrix, (q,), {"motors": robot.fidelity == "complete"}),
        (fj.gravity_torque, (q,), {}),
        (fj.coriolis_torque, (q, v), {}),
        (fj.gravity_energy, (q,), {}),
        (fj.jacobian, (q,), {"link": last}),
        (fj.base_regressor, (q, v, v_a, a), {}),
    ):
        found, expected = (evaluate(function, x, *args, **options) for x in (other, robot))
        if function is not fj.base_regressor:
            assert relative_error(found, expected) < TOLERANCE, function
        else:  # base parameters are others in other frames, but as many
            assert found.shape == expected.shape
    for part, expected in zip(evaluate(fj.spatial_momentum, other, q, v), evaluate(fj.spatial_momentum, robot, q, v)):
        assert relative_error(part, expected) < TOLERANCE
    pose, expected = (evaluate(fj.forward_kinematics, x, q, link=last) for x in (other, robot))
    assert relative_error(pose.rotation, expected.rotation @ Q[-1]) < TOLERANCE
    assert relative_error(pose.position, expected.position) < TOLERANCE
    if robot.fidelity == "spong":
        found, expected = (evaluate(fj.joint_wrenches, x, q, v, a, wrenches=wrenches) for x in (other, robot))
        for row, old, R in zip(found, expected, Q):
            assert relative_error(row, np.concatenate([R.T @ old[:3], R.T @ old[3:]])) < TOLERANCE
        found, expected = (evaluate(fj.inverse_dynamics, x, q, v, a, wrenches=wrenches) for x in (other, robot))
        assert relative_error(found, expected) < TOLERANCE


def test_regressors_are_about_the_frames_of_the_links():
    other, _ = turned(TREE)
    lumped = other.without_drives()
    q, v, a = np.random.default_rng(2).normal(size=(3, other.n))
    tau = evaluate(fj.inverse_dynamics, lumped.without_friction(), q, v, a)
    pi = fj.dynamics.standard_parameters(lumped)
    m, c, I = (getattr(lumped.links[0], x) for x in ("mass", "com", "inertia"))
    about = I + m * (c @ c * np.eye(3) - np.outer(c, c))
    assert relative_error(pi[1:4], m * c) < TOLERANCE
    assert relative_error(pi[[4, 5, 6, 7, 8, 9]], about[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]) < TOLERANCE
    assert relative_error(evaluate(fj.regressor, lumped, q, v, v, a) @ pi, tau) < TOLERANCE
    values = fj.base_parameters(lumped).of(lumped)
    assert relative_error(evaluate(fj.base_regressor, lumped, q, v, v, a) @ values, tau) < TOLERANCE


def test_complete_elastic_robots_keep_their_orders_and_torques():
    """Orthogonal frames, so that the structure of the motors' couplings is decided on exact numbers."""
    arm = fj.random_robot(3, 5, prismatic=0.0, orthogonal=True)
    motor = fj.Motor.from_rotor(1e-4, 50.0)
    robot = arm.with_drives([fj.ElasticDrive(800.0, motor)] * 3).replace(fidelity="complete", rotors_in_links=False)
    other, _ = turned(robot)
    assert [x.joint.axis[2] for x in other.links] == [1.0, 0.0, 0.0]
    from flexjoint.dynamics.drivetrain.orders import derivative_orders

    assert derivative_orders(other) == derivative_orders(robot)
    motion = np.random.default_rng(3).normal(size=(derivative_orders(robot).motion + 1, 3))
    found, expected = (evaluate(fj.inverse_dynamics, x, *motion) for x in (other, robot))
    assert relative_error(found, expected) < TOLERANCE


AXES = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (0, -1, 0), (0, 0, -1)]


@pytest.mark.parametrize("axis", [*AXES, (0.6, 0.8, 0), (0, 0.6, -0.8), (0.6, 0, 0.8), (1, 2, 3), (1, -2, -3)])
def test_rotations_onto_an_axis(axis):
    unit = np.array(axis) / np.linalg.norm(axis)
    R = rotation_onto(unit)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=4e-16)
    assert np.linalg.det(R) > 0 and np.array_equal(R[:, 2], unit)
    if axis in AXES:
        assert set(np.abs(R).ravel()) == {0.0, 1.0} and not np.any(np.signbit(R[R == 0]))
    if axis == (0, 0, 1):
        assert np.array_equal(R, np.eye(3))


def test_an_axis_is_divided_by_its_length():
    joint = fj.Joint("hinge", axis=(3e200, 0.0, 4e200))
    np.testing.assert_allclose(joint.axis, [0.6, 0.0, 0.8], rtol=1e-15)
    again = dataclasses.replace(joint, name="other")
    assert np.array_equal(again.axis, joint.axis)
    for k in range(200):
        once = fj.Joint("hinge", axis=np.random.default_rng(k).normal(size=3) * 10.0 ** (k % 20 - 10)).axis
        assert np.array_equal(fj.Joint("hinge", axis=once).axis, once) and abs(np.linalg.norm(once) - 1) < 4e-16
    for wrong in ((0.0, 0.0, 0.0), (np.nan, 0.0, 1.0), (np.inf, 0.0, 1.0)):
        arm = fj.Link("arm", fj.Joint("hinge", axis=wrong), mass=1.0, inertia=np.eye(3))
        with pytest.raises(fj.RobotError, match="axis"):
            fj.Robot("pendulum", (arm,))


def test_robot_files_keep_axes(tmp_path):
    other, _ = turned(TREE)
    fj.write_robot(other, tmp_path / "arm.toml")
    assert fj.load(tmp_path / "arm.toml") == other
    text = (tmp_path / "arm.toml").read_text()
    assert text.count("\naxis = ") == sum(x.joint.axis[2] != 1.0 for x in other.links)


def test_z_axes_change_nothing():
    """The bodies of a robot whose axes are z are those of its links, to the bit."""
    for link, body in zip(TREE.links, bodies(TREE)):
        assert np.array_equal(np.array(ca.DM(body.R)), link.joint.rotation)
        assert np.array_equal(np.array(ca.DM(body.p)).ravel(), link.joint.position)
