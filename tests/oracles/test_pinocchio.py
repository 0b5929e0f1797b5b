"""Links, trees and built-in robots against Pinocchio, whose recursions share nothing with ours."""

import dataclasses

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

import flexjoint as fj
from flexjoint.dynamics.recursion.articulated_body import by_articulated_bodies
from flexjoint.dynamics.recursion.bodies import moving_bodies
from flexjoint.dynamics.recursion.composite_bodies import by_factorization, by_projection, by_walking
from flexjoint.spatial import time_derivative
from support.errors import relative_error
from support.evaluate import evaluate
from support.frames import turned
from support.kinematics import link_poses, symbolic_poses
from support.marks import some_long
from support.paper_robots import PAPER_ROBOTS
from support.pinocchio_model import pinocchio_mass_matrix, pinocchio_model, pinocchio_order

TOLERANCE = 1e-12


def bare_if_rotors(robot):
    """Rotors that spin or have a mass: test_explicit_rotors.py."""
    heavy = any(motor.mass for joint in robot.joints for motor in joint.drive.motors)
    return robot.with_fidelity("spong").without_drives() if heavy or robot.fidelity == "complete" else robot


CHAINS = [fj.random_robot(n, 10 + n, prismatic=0.3, friction=True) for n in (1, 2, 3, 5, 7, 12, 30)]
OTHERS = [
    fj.random_robot(4, 1, prismatic=1.0, name="sliding_4"),
    fj.random_robot(7, 2, prismatic=0.0, name="turning_7"),
    fj.random_robot(7, 3, prismatic=0.3, orthogonal=True, name="orthogonal_7"),
    fj.random_robot(5, 4, prismatic=0.3, fixed=0.6, friction=True, name="fixed_5"),
    *(
        fj.random_robot(n, 20 + n, prismatic=0.3, tree=True, fixed=0.4, friction=True, name=f"tree_{n}")
        for n in (2, 3, 5, 7, 12, 30)
    ),
    turned(fj.random_robot(5, 35, prismatic=0.3, friction=True, name="axes_5"))[0],
    turned(fj.random_robot(8, 38, prismatic=0.3, tree=True, fixed=0.4, friction=True, name="axes_tree_8"))[0],
]
BUILT_IN = [bare_if_rotors(fj.load(name)) for name in PAPER_ROBOTS]
ROBOTS = CHAINS + OTHERS + BUILT_IN
SMALL = [robot for robot in ROBOTS if robot.n <= 12]
LONG = [robot.name for robot in CHAINS if robot.n in (2, 5, 7, 12, 30)]
LONG += ["turning_7", "tree_3", "tree_5", "tree_12", "dlr_lwr3"]


def each(robots=ROBOTS):
    return pytest.mark.parametrize("robot", some_long(robots, *LONG))


def random_state(robot, count=3, seed=0):
    return np.random.default_rng([seed, robot.n, len(robot.links)]).normal(size=(count, robot.n))


def friction(robot):
    return np.array([joint.viscous_friction for joint in robot.joints])


class Oracle:
    """Pinocchio with vectors in our order."""

    def __init__(self, robot, motors=False):
        self.robot, self.order = robot, pinocchio_order(robot)
        self.model = pinocchio_model(robot, motors=motors)
        self.data = self.model.createData()

    def back(self, x):
        found = np.empty_like(x)
        found[..., self.order] = x
        return found

    def rnea(self, q, v, a, *forces):
        o = self.order
        return self.back(pin.rnea(self.model, self.data, q[o], v[o], a[o], *forces))

    def frame(self, link):
        return self.model.getFrameId(link)


def test_some_trees_branch_and_are_not_depth_first():
    """Otherwise the trees below would test no more than the chains."""
    assert any(np.any(pinocchio_order(robot) != np.arange(robot.n)) for robot in OTHERS)
    assert any(len(set(robot.parents)) < len(robot.links) - 1 for robot in OTHERS)


@each()
def test_inverse_dynamics(robot):
    bare = robot.without_drives()
    q, v, a = random_state(robot)
    expected = Oracle(robot).rnea(q, v, a) + friction(robot) * v
    assert relative_error(evaluate(fj.inverse_dynamics, bare, q, v, a), expected) < TOLERANCE


@each()
def test_mass_matrix(robot):
    (q,) = random_state(robot, 1)
    M = evaluate(fj.mass_matrix, robot.without_drives(), q)
    assert relative_error(M, pinocchio_mass_matrix(robot, q)) < TOLERANCE


@each()
@pytest.mark.parametrize("way", [by_walking, by_projection])
def test_both_ways_to_the_mass_matrix(robot, way):
    def full(robot, q):
        M = ca.SX.zeros(robot.n, robot.n)
        for i, row in enumerate(way(moving_bodies(robot), q)):
            for j, value in row.items():
                M[i, j] = M[j, i] = value
        return M

    (q,) = random_state(robot, 1)
    assert relative_error(evaluate(full, robot, q), pinocchio_mass_matrix(robot, q)) < TOLERANCE


@each()
@pytest.mark.parametrize("way", [by_factorization, by_articulated_bodies, fj.forward_dynamics])
def test_forward_dynamics(robot, way):
    """Two right answers may differ by cond(M); put back into the inverse dynamics they do not."""
    bare = robot.without_drives()
    oracle = Oracle(robot)
    q, v, a = random_state(robot)
    tau = oracle.rnea(q, v, a) + friction(robot) * v
    found = evaluate(way, bare, q, v, tau)
    assert relative_error(oracle.rnea(q, v, found) + friction(robot) * v, tau) < TOLERANCE
    assert np.max(np.abs(found - a)) < 1e-6 * np.max(np.abs(a))  # a check of the check


@each()
def test_gravity_bias_and_coriolis(robot):
    oracle = Oracle(robot)
    q, v = random_state(robot, 2)
    g = oracle.back(pin.computeGeneralizedGravity(oracle.model, oracle.data, q[oracle.order]))
    n = oracle.back(pin.nonLinearEffects(oracle.model, oracle.data, q[oracle.order], v[oracle.order]))
    assert relative_error(evaluate(fj.gravity_torque, robot, q), g) < TOLERANCE
    assert relative_error(evaluate(fj.bias_torque, robot, q, v), n + friction(robot) * v) < TOLERANCE
    scale = np.max(np.abs(n)) + np.max(np.abs(g))
    assert np.max(np.abs(evaluate(fj.coriolis_torque, robot, q, v) - (n - g))) < TOLERANCE * scale


@each()
def test_kinematics(robot):
    oracle = Oracle(robot)
    q, v = random_state(robot, 2)
    o = oracle.order
    pin.computeJointJacobiansTimeVariation(oracle.model, oracle.data, q[o], v[o])
    pin.framesForwardKinematics(oracle.model, oracle.data, q[o])
    for link in dict.fromkeys([robot.tool, robot.links[0].name, robot.links[len(robot.links) // 2].name]):
        frame = oracle.frame(link)
        pose = evaluate(fj.forward_kinematics, robot, q, link=link)
        place = oracle.data.oMf[frame]
        assert relative_error(pose.rotation, place.rotation) < TOLERANCE
        assert np.max(np.abs(pose.position - place.translation)) < TOLERANCE
        theirs = (oracle.model, oracle.data, frame, pin.LOCAL_WORLD_ALIGNED)
        J = oracle.back(pin.getFrameJacobian(*theirs).reshape(6, -1))
        dJ = oracle.back(pin.getFrameJacobianTimeVariation(*theirs).reshape(6, -1))
        ours = evaluate(fj.jacobian_derivatives, robot, q, v, link=link)
        for x, y in ((evaluate(fj.jacobian, robot, q, link=link), J), (ours[0], J), (ours[1], dJ)):
            assert np.max(np.abs(x.reshape(6, -1) - y)) < TOLERANCE * max(1.0, np.max(np.abs(y)))


def test_the_tool_is_the_default():
    robot = OTHERS[4]
    (q,) = random_state(robot, 1)
    assert np.array_equal(evaluate(fj.jacobian, robot, q), evaluate(fj.jacobian, robot, q, link=robot.tool))


@each()
def test_energy_and_momentum(robot):
    bare = robot.without_drives()
    oracle = Oracle(robot)
    q, v = random_state(robot, 2)
    o, model, data = oracle.order, oracle.model, oracle.data
    kinetic = pin.computeKineticEnergy(model, data, q[o], v[o])
    assert relative_error(evaluate(fj.kinetic_energy, bare, q, v), kinetic) < TOLERANCE
    at_rest = sum(
        -link.mass * robot.gravity @ (T @ [*link.com, 1.0])[:3]
        for i, (link, T) in enumerate(zip(robot.links, link_poses(robot, q)))
        if not any(robot.links[k].joint.moves for k in robot.path(i))
    )  # what stands on the base is not in Pinocchio's model
    potential = pin.computePotentialEnergy(model, data, q[o]) + at_rest
    size = sum(link.mass for link in robot.links) * np.linalg.norm(robot.gravity)
    assert abs(evaluate(fj.gravity_energy, robot, q).item() - potential) < TOLERANCE * size
    pin.computeCentroidalMomentum(model, data, q[o], v[o])
    h, centre = data.hg, pin.centerOfMass(model, data, q[o])
    ours = evaluate(fj.spatial_momentum, robot, q, v)
    assert relative_error(ours.linear, h.linear) < TOLERANCE
    assert relative_error(ours.angular, h.angular + np.cross(centre, h.linear)) < TOLERANCE
    p = pinocchio_mass_matrix(robot, q) @ v
    assert relative_error(evaluate(fj.generalized_momentum, bare, q, v), p) < TOLERANCE


@each()
def test_external_wrenches(robot):
    """On two links, at their origins, in base coordinates, positive on the robot."""
    bare = robot.without_drives()
    oracle = Oracle(robot)
    q, v, a = random_state(robot)
    rng = np.random.default_rng(5)
    links = list(dict.fromkeys([robot.tool, robot.links[len(robot.links) // 2].name]))
    wrenches = {link: [100 * rng.normal(size=6)] for link in links}
    o = oracle.order
    pin.forwardKinematics(oracle.model, oracle.data, q[o])
    pin.updateFramePlacements(oracle.model, oracle.data)
    forces = [pin.Force.Zero() for _ in range(oracle.model.njoints)]
    for link, (w,) in wrenches.items():
        frame = oracle.frame(link)
        joint = oracle.model.frames[frame].parentJoint
        p = oracle.data.oMf[frame].translation
        at_origin = pin.Force(w[:3], w[3:] + np.cross(p, w[:3]))
        forces[joint] += oracle.data.oMi[joint].actInv(at_origin)
    vector = pin.StdVec_Force()
    vector.extend(forces)
    expected = oracle.rnea(q, v, a, vector) + friction(robot) * v
    assert relative_error(expected, oracle.rnea(q, v, a) + friction(robot) * v) > 1e-3
    assert relative_error(evaluate(fj.inverse_dynamics, bare, q, v, a, wrenches=wrenches), expected) < TOLERANCE
    for way in (by_factorization, by_articulated_bodies):
        found = evaluate(way, bare, q, v, expected, wrenches=wrenches)
        assert relative_error(oracle.rnea(q, v, found, vector) + friction(robot) * v, expected) < TOLERANCE


@each([robot for robot in ROBOTS if all(link.joint.moves for link in robot.links)])
def test_joint_wrenches(robot):
    oracle = Oracle(robot)
    q, v, a = random_state(robot)
    oracle.rnea(q, v, a)
    ours = evaluate(fj.joint_wrenches, robot, q, v, a).reshape(robot.n, 6)
    for joint, k in enumerate(oracle.order, start=1):
        f = oracle.data.f[joint]
        assert relative_error(ours[k], np.concatenate([f.linear, f.angular])) < TOLERANCE


def test_joint_wrenches_with_fixed_links_carry_the_joint_torque():
    """Rows of fixed links exist; those of moving ones hold the torque as their component along z."""
    robot = OTHERS[3]
    q, v, a = random_state(robot)
    rows = evaluate(fj.joint_wrenches, robot, q, v, a)
    assert rows.shape == (len(robot.links), 6)
    tau = Oracle(robot).rnea(q, v, a)
    along = [rows[i][5 if link.joint.kind.turns else 2] for i, link in enumerate(robot.links) if link.joint.moves]
    assert relative_error(along, tau) < TOLERANCE


@each(SMALL)
def test_rigid_drives(robot):
    rng = np.random.default_rng(9)
    driven = robot.with_drives([fj.RigidDrive(fj.Motor(float(b))) for b in rng.uniform(0.1, 3.0, robot.n)])
    oracle = Oracle(driven, motors=True)
    q, v, a = random_state(robot)
    expected = oracle.rnea(q, v, a) + friction(robot) * v
    assert relative_error(evaluate(fj.inverse_dynamics, driven, q, v, a), expected) < TOLERANCE
    B = np.diag([joint.drive.motor.inertia for joint in driven.joints])
    M = pinocchio_mass_matrix(robot, q) + B
    assert relative_error(evaluate(fj.mass_matrix, driven, q), M) < TOLERANCE
    assert relative_error(evaluate(fj.generalized_momentum, driven, q, v), M @ v) < TOLERANCE
    assert relative_error(evaluate(fj.kinetic_energy, driven, q, v), v @ M @ v / 2) < TOLERANCE
    for way in (by_factorization, by_articulated_bodies):
        found = evaluate(way, driven, q, v, expected)
        assert relative_error(oracle.rnea(q, v, found) + friction(robot) * v, expected) < TOLERANCE


def test_elastic_drives_leave_the_link_side_alone():
    """Mass matrix and torque derivatives of elastic joints are those of the bare links."""
    robot = fj.load("kuka_lwr")
    q, v, a = random_state(robot)
    assert relative_error(evaluate(fj.mass_matrix, robot, q), pinocchio_mass_matrix(robot, q)) < TOLERANCE
    tau = Oracle(robot).rnea(q, v, a) + friction(robot) * v
    assert relative_error(evaluate(fj.torque_derivatives, robot, q, v, a), tau) < TOLERANCE


def test_forward_dynamics_refuses_elastic_joints():
    robot = fj.load("hua_3r")
    with pytest.raises(fj.InputError, match=f"joint '{robot.joints[2].name}' is elastic"):
        evaluate(fj.forward_dynamics, robot, *np.zeros((3, 3)))


def test_compiled_kernels():
    """The same through compiled code, on a real arm and on a tree."""
    for robot in (fj.load("dlr_lwr3"), OTHERS[7]):
        oracle = Oracle(robot, motors=True)
        q, v, a = random_state(robot)
        tau = oracle.rnea(q, v, a) + friction(robot) * v
        assert relative_error(fj.inverse_dynamics(robot, q, v, a), tau) < TOLERANCE
        found = fj.forward_dynamics(robot, q, v, tau)
        assert relative_error(oracle.rnea(q, v, found) + friction(robot) * v, tau) < TOLERANCE
        upper = np.triu(pin.crba(oracle.model, oracle.model.createData(), q[oracle.order]))
        M = oracle.back(oracle.back(upper + np.triu(upper, 1).T).T)
        assert relative_error(fj.mass_matrix(robot, q), M) < TOLERANCE


# A moving base ------------------------------------------------------------------------------------------------


def free_flyer_torques(robot, q, v, a, omega, alpha, acceleration):
    """Joint torques on a free-flying base that stands in the origin, unturned and at rest but for its spin."""
    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    root = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    mounts = {-1: root}
    for i, link in enumerate(robot.links):
        kind = pin.JointModelRZ() if link.joint.kind.turns else pin.JointModelPZ()
        pose = pin.SE3(np.array(link.joint.rotation), np.array(link.joint.position))
        mounts[i] = model.addJoint(mounts[robot.parents[i]], kind, pose, link.joint.name)
        inertia = pin.Inertia(link.mass, np.array(link.com), np.array(link.inertia))
        model.appendBodyToJoint(mounts[i], inertia, pin.SE3.Identity())
    tau = pin.rnea(
        model,
        model.createData(),
        np.concatenate([[0, 0, 0, 0, 0, 0, 1], q]),
        np.concatenate([[0, 0, 0], omega, v]),
        np.concatenate([acceleration, alpha, a]),
    )
    return tau[6:]


@each([fj.random_robot(5, 6, prismatic=0.4), fj.random_robot(7, 7, prismatic=0.0)])
def test_moving_base_as_free_flyer(robot):
    q, v, a = random_state(robot)
    omega, alpha, acceleration = np.random.default_rng(3).normal(size=(3, 3))
    base = fj.BaseMotion([omega, alpha], [acceleration])
    expected = free_flyer_torques(robot, q, v, a, omega, alpha, acceleration)
    assert relative_error(expected, Oracle(robot).rnea(q, v, a)) > 1e-3
    assert relative_error(evaluate(fj.inverse_dynamics, robot, q, v, a, base=base), expected) < TOLERANCE
    for way in (by_factorization, by_articulated_bodies):
        found = evaluate(way, robot, q, v, expected, base=base)
        back = free_flyer_torques(robot, q, v, found, omega, alpha, acceleration)
        assert relative_error(back, expected) < TOLERANCE


def on_a_carrier(robot, carrier):
    """The robot mounted on the last link of another one."""
    mounted = [
        dataclasses.replace(
            link,
            name=f"r_{link.name}",
            joint=dataclasses.replace(link.joint, name=f"r_{link.joint.name}"),
            parent=carrier.links[-1].name if link.parent == "base" else f"r_{link.parent}",
        )
        for link in robot.links
    ]
    return fj.Robot("mounted", (*carrier.links, *mounted), carrier.gravity)


def carrier_motion(carrier, stack, order):
    """R, [ω, ω', ...] and [a, a', ...] of the last link, in base coordinates, by differentiating its pose."""
    symbols = [ca.SX.sym(f"q{k}", carrier.n) for k in range(len(stack))]
    T = symbolic_poses(carrier, symbols[0])[-1]
    R, p = T[:3, :3], T[:3, 3]
    spin = time_derivative(R, symbols) @ R.T
    omega = [ca.vertcat(spin[2, 1], spin[0, 2], spin[1, 0])]
    for _ in range(order + 1):
        omega.append(time_derivative(omega[-1], symbols))
    a = [time_derivative(time_derivative(p, symbols), symbols)]
    for _ in range(order):
        a.append(time_derivative(a[-1], symbols))
    values = ca.Function("f", symbols, [R, *omega, *a]).call([ca.DM(x) for x in stack])
    R, *rest = [np.array(x) for x in values]
    rest = [x[:, 0] for x in rest]
    return R, rest[: order + 2], rest[order + 2 :]


@pytest.mark.parametrize("order", [0, 1, 2])
@each([fj.random_robot(4, 8, prismatic=0.4), fj.random_robot(5, 9, prismatic=0.3, tree=True, fixed=0.4)])
def test_moving_base_as_a_carrier_with_six_joints(robot, order):
    """The base moved by six joints of a chain instead: the torques of the robot's own joints agree at each order."""
    carrier = fj.random_robot(6, 1, prismatic=0.5).with_gravity([1.0, 2.0, -9.0])
    rng = np.random.default_rng(order)
    carried, own = rng.normal(size=(order + 3, 6)), rng.normal(size=(order + 3, robot.n))
    R, omega, a = carrier_motion(carrier, carried, order)
    both = on_a_carrier(robot, carrier)
    stack = np.concatenate([carried, own], axis=1)
    expected = evaluate(fj.torque_derivatives, both, *stack, order=order)[:, 6:].reshape(order + 1, -1)
    base = fj.BaseMotion([R.T @ x for x in omega], [R.T @ x for x in a])
    tilted = robot.with_gravity(R.T @ carrier.gravity)
    found = evaluate(fj.torque_derivatives, tilted, *own, order=order, base=base)
    for x, y in zip(found, expected):
        assert relative_error(x, y) < TOLERANCE
