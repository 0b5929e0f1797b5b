"""Mixed robots on a base that moves, under a wrench, with friction, against Pinocchio: rotors are bodies there, and six
joints carry the base.  All outputs of [Hua Algorithm 1], and the forward dynamics."""

import numpy as np
import pinocchio as pin
import pytest

import flexjoint as fj
from support.errors import relative_error
from support.evaluate import evaluate
from support.motors import forward
from support.moving_base import carried_base
from support.pinocchio_model import pinocchio_model, pinocchio_order
from support.rotors import explicit, with_random_rotors

TOLERANCE = 1e-11
ROBOTS = {
    "chain": with_random_rotors(fj.random_robot(4, 1, prismatic=0.3, friction=True), 1),
    "tree": with_random_rotors(fj.random_robot(5, 4, prismatic=0.2, tree=True, friction=True), 4),
    "motors anywhere": with_random_rotors(fj.random_robot(5, 5, tree=True), 5, carriers="any"),
}
X, Y, Z = np.eye(3)


def base_motion(v, a):
    """Of the base that these rates of the six joints move, all of them at zero."""
    turning = v[3] * Z + v[4] * Y + v[5] * X
    gyration = np.cross(v[3] * Z, v[4] * Y) + np.cross(v[3] * Z + v[4] * Y, v[5] * X)
    return fj.BaseMotion([turning, a[3] * Z + a[4] * Y + a[5] * X + gyration], [a[:3]])


@pytest.mark.parametrize("name", ROBOTS)
def test_moving_base_wrench_and_friction(name):
    robot = ROBOTS[name]
    made, P = explicit(robot)
    whole = carried_base(made)
    rng = np.random.default_rng(3)
    q, theta, v, theta_v, a, theta_a = rng.normal(size=(6, robot.n))
    base_v, base_a, w = rng.normal(size=(3, 6))
    link = [x for x in robot.links if x.joint.moves][-1]

    model, order = pinocchio_model(whole), pinocchio_order(whole)
    data = model.createData()
    stages = ((np.zeros(6), q, theta), (base_v, v, theta_v), (base_a, a, theta_a))
    full = [np.concatenate([x, P @ np.concatenate([y, z])])[order] for x, y, z in stages]
    pin.forwardKinematics(model, data, full[0])
    joint = model.getJointId(link.joint.name)
    R = data.oMi[joint].rotation
    forces = pin.StdVec_Force([pin.Force.Zero() for _ in range(model.njoints)])
    forces[joint] = pin.Force(R.T @ w[:3], R.T @ w[3:])
    tau = np.empty(whole.n)
    tau[order] = pin.rnea(model, data, *full, forces)
    on_links, on_motors = np.split(P.T @ tau[6:], 2)

    elastic = np.array(robot.compliant)
    rub = np.array([x.drive.motor.viscous_friction for x in robot.joints])
    on_links += np.array([x.viscous_friction for x in robot.joints]) * v + np.where(elastic, 0.0, rub * v)
    K = np.array([x.drive.stiffness if isinstance(x.drive, fj.ElasticDrive) else 0.0 for x in robot.joints])
    motors = np.where(elastic, on_motors + K * (theta - q) + rub * theta_v, on_links)

    around = {"wrenches": {link.name: [w]}, "base": base_motion(base_v, base_a)}
    found = evaluate(fj.dynamics.generalized_forces, robot, q, v, theta, theta_v, a, theta_a, **around)
    assert relative_error(found.tau_e, on_links) < TOLERANCE
    assert relative_error(found.tau, motors) < TOLERANCE
    for row, x in zip(found.joint_wrenches, robot.links):
        if x.joint.moves:
            f = data.f[model.getJointId(x.joint.name)]
            assert relative_error(row, np.concatenate([f.linear, f.angular])) < TOLERANCE

    # the same accelerations come back when the springs' torques are those the links need
    deflected = np.where(elastic, q + on_links / np.where(elastic, K, 1.0), q)
    tau = np.where(elastic, on_motors + rub * theta_v + on_links, on_links)
    back = evaluate(forward, robot, q, v, deflected, theta_v, tau, **around)
    assert relative_error(back.a, a) < TOLERANCE
    assert not any(elastic) or relative_error(back.theta_a[elastic], theta_a[elastic]) < TOLERANCE
