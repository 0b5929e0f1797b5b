"""Helical joints in every algorithm, against Pinocchio, energies and derivatives."""

import dataclasses

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

import flexjoint as fj
from flexjoint.dynamics.inverse import needed_order
from flexjoint.dynamics.recursion.articulated_body import by_articulated_bodies
from flexjoint.dynamics.recursion.bodies import moving_bodies
from flexjoint.dynamics.recursion.composite_bodies import by_factorization, by_projection, by_walking
from flexjoint.robot.joints import Helical
from flexjoint.spatial import time_derivative
from support import pinocchio_model as peer
from support.errors import relative_error
from support.evaluate import evaluate
from support.rotors import coaxial, explicit, with_random_rotors

TOLERANCE = 1e-12


def helical(robot, seed=0, share=0.6):
    """The robot with some of its joints helical."""
    rng = np.random.default_rng(seed)

    def changed(joint):
        if not joint.moves or rng.random() > share:
            return joint
        return dataclasses.replace(joint, kind=Helical(float(rng.choice([-1, 1]) * rng.uniform(0.05, 0.3))))

    return robot.replace(links=tuple(dataclasses.replace(x, joint=changed(x.joint)) for x in robot.links))


CHAIN = helical(fj.random_robot(6, 31, prismatic=0.5, friction=True), 1)
TREE = helical(fj.random_robot(8, 32, prismatic=0.3, tree=True, fixed=0.4), 2)
SCREWS = helical(fj.random_robot(4, 33, prismatic=0.0, elastic=0.5), 3, 1.0)
LONG = [pytest.param(x, marks=pytest.mark.long) for x in (CHAIN, SCREWS)]
each = pytest.mark.parametrize("robot", [*LONG, TREE], ids=["chain", "screws", "tree"])


@pytest.fixture(autouse=True)
def helical_in_pinocchio(monkeypatch):
    """Pinocchio's own helical joint about z."""
    models = {**peer.MODEL}
    monkeypatch.setattr(peer, "MODEL", models)
    original = peer.pinocchio_model

    def model(robot, **options):
        pitches = iter(
            robot.links[i].joint.kind.pitch
            for i in peer.depth_first(robot)
            if isinstance(robot.links[i].joint.kind, Helical)
        )
        models["helical"] = lambda: pin.JointModelHelicalUnaligned(np.array([0.0, 0.0, 1.0]), next(pitches))
        return original(robot, **options)

    monkeypatch.setattr(peer, "pinocchio_model", model)


def state(robot, count=3, seed=0):
    return np.random.default_rng(seed).normal(size=(count, robot.n))


def links_of(robot):
    """Without drives and friction."""
    links = [dataclasses.replace(x, joint=dataclasses.replace(x.joint, viscous_friction=0.0)) for x in robot.links]
    return robot.replace(links=tuple(links)).without_drives()


def test_the_robots_have_all_kinds():
    assert {joint.kind.letter for joint in CHAIN.joints} == {"R", "P", "H"} == {j.kind.letter for j in TREE.joints}
    assert {joint.kind.letter for joint in SCREWS.joints} == {"H"}


# One body, in closed form -------------------------------------------------------------------------------------------


def test_a_nut_in_closed_form():
    """(I + p² m) q'' + m g p = τ for a nut that rises with its own weight."""
    body = {"mass": 2.0, "com": (0.0, 0.0, 0.1), "inertia": np.diag([0.02, 0.02, 0.03])}
    nut = fj.Robot("press", (fj.Link("nut", fj.Joint("screw", Helical(0.05)), **body),))
    inertia = 0.03 + 0.05**2 * 2.0
    weight = 2.0 * 9.81 * 0.05
    assert fj.inverse_dynamics(nut, [0.4], [0.7], [1.5])[0] == pytest.approx(1.5 * inertia + weight, rel=1e-14)
    assert fj.forward_dynamics(nut, [0.4], [0.7], [0.0])[0] == pytest.approx(-weight / inertia, rel=1e-13)
    assert fj.gravity_energy(nut, [0.4]) == pytest.approx(2.0 * 9.81 * (0.1 + 0.05 * 0.4), rel=1e-14)


# Against Pinocchio --------------------------------------------------------------------------------------------------


@each
def test_inverse_dynamics(robot):
    q, v, a = state(robot)
    robot = links_of(robot)
    assert relative_error(fj.inverse_dynamics(robot, q, v, a), peer.pinocchio_rnea(robot, q, v, a)) < TOLERANCE


@each
def test_mass_matrix_both_ways(robot):
    (q,) = state(robot, 1)
    expected = peer.pinocchio_mass_matrix(robot, q)
    for way in (by_walking, by_projection):

        def full(robot, q, way=way):
            M = ca.SX.zeros(robot.n, robot.n)
            for i, row in enumerate(way(moving_bodies(robot), q)):
                for j, x in row.items():
                    M[i, j] = M[j, i] = x
            return M

        assert relative_error(evaluate(full, robot.without_drives(), q), expected) < TOLERANCE


@each
def test_forward_dynamics_both_ways(robot):
    robot = links_of(robot)
    q, v, a = state(robot)
    tau = peer.pinocchio_rnea(robot, q, v, a)
    for way in (by_factorization, by_articulated_bodies):
        assert relative_error(evaluate(way, robot, q, v, tau), a) < 1e-9


@each
def test_coriolis_matrix(robot):
    q, v = state(robot, 2)
    robot = robot.without_drives()
    C, expected = fj.coriolis_matrix(robot, q, v), peer.pinocchio_coriolis(robot, q, v)
    assert relative_error(C, expected) < TOLERANCE
    assert relative_error(fj.coriolis_product(robot, q, v, v), expected @ v) < TOLERANCE
    assert relative_error(fj.coriolis_transpose_product(robot, q, v), expected.T @ v) < TOLERANCE
    assert relative_error(fj.mass_matrix_rate(robot, q, v), expected + expected.T) < TOLERANCE


@each
def test_pose_and_jacobian(robot):
    (q,) = state(robot, 1)
    model, order = peer.pinocchio_model(robot), peer.pinocchio_order(robot)
    data, frame = model.createData(), model.getFrameId(robot.tool)
    J = np.empty((6, robot.n))
    J[:, order] = pin.computeFrameJacobian(model, data, q[order], frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
    pin.framesForwardKinematics(model, data, q[order])
    pose = fj.forward_kinematics(robot, q)
    assert relative_error(pose.position, data.oMf[frame].translation) < TOLERANCE
    assert relative_error(pose.rotation, data.oMf[frame].rotation) < TOLERANCE
    assert relative_error(fj.jacobian(robot, q), J) < TOLERANCE


@each
def test_energy_and_momentum(robot):
    q, v = state(robot, 2)
    robot = links_of(robot)
    model, order = peer.pinocchio_model(robot), peer.pinocchio_order(robot)
    data = model.createData()
    assert fj.kinetic_energy(robot, q, v) == pytest.approx(pin.computeKineticEnergy(model, data, q[order], v[order]))
    M = peer.pinocchio_mass_matrix(robot, q)
    assert relative_error(fj.generalized_momentum(robot, q, v), M @ v) < TOLERANCE
    gravity = peer.pinocchio_rnea(robot, q, 0 * v, 0 * v)
    assert relative_error(fj.gravity_torque(robot, q), gravity) < TOLERANCE


# Against each other -------------------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("order", [1, 2, 3])
def test_torque_derivatives(robot, order):
    """Order 2 is packed; the others are lists of derivatives."""
    robot = robot.without_drives()
    stack = state(robot, order + 3)
    symbols = [ca.SX.sym(f"q{k}", robot.n) for k in range(order + 3)]
    tau = fj.torque_derivatives(robot, *symbols[:3], order=0)
    for _ in range(order):
        tau.append(time_derivative(tau[-1], symbols))
    expected = [x.full().ravel() for x in ca.Function("tau", symbols, tau)(*stack)]
    for x, y in zip(fj.torque_derivatives(robot, *stack, order=order), expected):
        assert relative_error(x, y) < TOLERANCE


def test_loops():
    """A run of screws of different pitches becomes a loop of the kernel."""
    robot = helical(fj.random_robot(46, 35, prismatic=0.0), 5, 1.0)
    q, v, a, jerk = 0.1 * state(robot, 4)
    kernel = fj.compile(fj.torque_derivatives, robot, order=1)
    assert any(op.loop for op in kernel.program.code)
    assert relative_error(kernel(q, v, a, jerk)[0], peer.pinocchio_rnea(robot, q, v, a)) < 1e-11


@each
def test_regressors(robot):
    robot = links_of(robot)
    q, v, v_a, a = state(robot, 4)
    expected = fj.dynamics.modified_newton_euler(robot, q, v, v_a, a)
    base = fj.base_parameters(robot)
    assert (
        relative_error(fj.regressor(robot, q, v, v_a, a) @ fj.dynamics.standard_parameters(robot), expected) < TOLERANCE
    )
    assert relative_error(fj.base_regressor(robot, q, v, v_a, a) @ base.of(robot), expected) < 1e-11
    rows = [fj.base_regressor(robot, *x) for x in np.random.default_rng(5).normal(size=(60, 4, robot.n))]
    assert np.linalg.matrix_rank(np.concatenate(rows)) == len(base.names)


def test_base_parameters_of_one_screw():
    upright = fj.Robot("press", (fj.Link("nut", fj.Joint("screw", Helical(0.05)), mass=1.0, inertia=np.eye(3)),))
    assert len(fj.base_parameters(upright).names) == 2  # I_zz + p² m, and the weight m


@each
def test_elastic_joints(robot):
    """Forward after inverse dynamics, and feedback linearization, which uses torques that are known already."""
    springs = [fj.ElasticDrive(300.0, fj.Motor(0.4))] * robot.n
    robot = robot.with_drives(springs)
    stack = state(robot, 5)
    found = fj.motor_motion(robot, *stack)
    tau = fj.inverse_dynamics(robot, *stack)
    a, _ = fj.forward_dynamics(robot, stack[0], stack[1], found.theta, found.theta_v, tau)
    assert relative_error(a, stack[2]) < 1e-9


def test_rotors_of_the_complete_model():
    """Every rotor as a body of its own."""
    robot = with_random_rotors(helical(fj.random_robot(4, 36, prismatic=0.25), 6), 7, elastic=0.0)
    made = explicit(robot)
    q, v, a = state(robot)
    project = made.project[:, : robot.n]
    expected = project.T @ peer.pinocchio_rnea(made.robot, project @ q, project @ v, project @ a)
    friction = np.array([joint.drive.motor.viscous_friction for joint in robot.joints])
    assert relative_error(fj.inverse_dynamics(robot, q, v, a) - friction * v, expected) < TOLERANCE


def test_elastic_joints_of_the_complete_model():
    arm = fj.random_robot(3, 37, prismatic=0.0)
    robot = coaxial(helical(arm, 8, 1.0), ratio=20.0, stiffness=500.0).replace(rotors_in_links=False)
    stack = state(robot, needed_order(robot) + 1)
    found, tau = fj.motor_motion(robot, *stack), fj.inverse_dynamics(robot, *stack)
    a, _ = fj.forward_dynamics(robot, stack[0], stack[1], found.theta, found.theta_v, tau)
    assert relative_error(a, stack[2]) < 1e-9


@each
@pytest.mark.parametrize("variant", ["christoffel", "0001", "1110"])
def test_factorizations(robot, variant):
    """C v = c and Ṁ = C + Cᵀ."""
    robot = robot.without_drives()
    q, v = state(robot, 2)
    C = fj.coriolis_matrix(robot, q, v, variant=variant)
    assert relative_error(C @ v, fj.coriolis_torque(robot, q, v)) < TOLERANCE
    assert relative_error(C + C.T, fj.mass_matrix_rate(robot, q, v)) < TOLERANCE
    assert relative_error(fj.coriolis_product(robot, q, v, 2 * q, variant=variant), C @ (2 * q)) < TOLERANCE


def test_feedback_linearization():
    """The torques it gives make the links follow the fourth derivatives asked for."""
    robot = helical(fj.random_robot(3, 38, prismatic=0.3), 9, 1.0)
    robot = robot.with_drives([fj.ElasticDrive(300.0, fj.Motor(0.4))] * robot.n)
    stack = state(robot, 5)
    tau_e, rate = fj.torque_derivatives(robot, *stack[:4], order=1)
    tau = fj.feedback_linearization(robot, stack[0], stack[1], tau_e, rate, stack[4], measured="q tau_e")
    assert relative_error(tau, fj.inverse_dynamics(robot, *stack)) < 1e-9


def test_a_simulation_keeps_its_energy():
    robot = links_of(helical(fj.random_robot(3, 39, prismatic=0.3), 10, 1.0))
    run = fj.simulate(robot, fj.control.OpenLoop(robot), np.zeros(3), 0.2, period=1e-3, substeps=4)
    energy = [fj.kinetic_energy(robot, q, v) + fj.gravity_energy(robot, q) for q, v in zip(run.q[::50], run.v[::50])]
    assert np.ptp(energy) < 1e-9 * np.ptp([fj.gravity_energy(robot, q) for q in run.q])


# Data ---------------------------------------------------------------------------------------------------------------


def test_a_robot_file(tmp_path):
    fj.write_robot(CHAIN, tmp_path / "chain.toml")
    assert fj.load(tmp_path / "chain.toml") == CHAIN


def test_a_dh_table():
    """A screw at q has its angle and its offset changed, as q and pitch · q."""
    alpha, a, kinds = [0.3, 1.0, 0.0], [0.2, 0.1, 0.0], [Helical(0.1), "R", Helical(-0.2)]
    robot = fj.from_dh("arm", alpha, a, [0.1, 0.0, 0.2], kinds=kinds, mass=1.0, inertia=np.eye(3))
    turned = fj.from_dh("arm", alpha, a, [0.2, 0.0, 0.2], [1.0, 0.0, 0.0], mass=1.0, inertia=np.eye(3))
    found, expected = fj.forward_kinematics(robot, [1.0, 0.0, 0.0]), fj.forward_kinematics(turned, np.zeros(3))
    assert relative_error(found.position, expected.position) < TOLERANCE


def test_a_free_pitch():
    nut = fj.Joint("screw", Helical(0.05))
    robot = fj.Robot("press", (fj.Link("nut", nut, mass=2.0, com=(0.1, 0.0, 0.0), inertia=0.01 * np.eye(3)),))
    kernel = fj.compile(fj.inverse_dynamics, robot, free=["screw.kind.pitch"])
    assert fj.robot.robot_parameters(robot)["screw.kind.pitch"].unit == "m/rad"
    for pitch in (0.05, -0.2):
        other = robot.replace(links=(dataclasses.replace(robot.links[0], joint=fj.Joint("screw", Helical(pitch))),))
        expected = fj.inverse_dynamics(other, [0.3], [1.0], [2.0])
        assert kernel([0.3], [1.0], [2.0], pitch) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("pitch", [0.0, np.nan, np.inf, "0.1", None])
def test_a_pitch_that_is_none(pitch):
    with pytest.raises(fj.RobotError, match="pitch of"):
        Helical(pitch)
