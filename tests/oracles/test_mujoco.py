"""Two random chains, a falling arm and a differential wrist against MuJoCo, as `mjcf_model` writes them."""

import mujoco
import numpy as np
import pytest

import flexjoint as fj
from support.errors import relative_error
from support.evaluate import evaluate

TOLERANCE = 1e-9
ROBOTS = [
    fj.random_robot(6, 31, prismatic=0.4, friction=True, name="chain_6"),
    fj.random_robot(7, 32, prismatic=0.0, fixed=0.5, friction=True, name="chain_7"),
]


def mujoco_model(robot):
    return mujoco.MjModel.from_xml_string(fj.formats.mjcf_model(robot).text)


@pytest.mark.parametrize("robot", ROBOTS, ids=[robot.name for robot in ROBOTS])
def test_inverse_dynamics_and_mass_matrix(robot):
    model = mujoco_model(robot)
    data = mujoco.MjData(model)
    assert [model.joint(k).name for k in range(model.njnt)] == [joint.name for joint in robot.joints]
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v, a = rng.normal(size=(3, robot.n))
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
        mujoco.mj_inverse(model, data)
        # MuJoCo counts damping among the passive forces, which the inverse dynamics subtract
        assert relative_error(evaluate(fj.inverse_dynamics, robot, q, v, a), data.qfrc_inverse) < TOLERANCE
        M = np.zeros((robot.n, robot.n))
        mujoco.mj_fullM(model, data, M)
        assert relative_error(evaluate(fj.mass_matrix, robot, q), M) < TOLERANCE


def test_robots_have_both_kinds_of_joints_and_fixed_links():
    assert {joint.kind.name for joint in ROBOTS[0].joints} == {"revolute", "prismatic"}
    assert len(ROBOTS[1].links) > ROBOTS[1].n


def test_rigid_motors_are_armatures():
    robot = ROBOTS[0]
    inertia = np.random.default_rng(2).uniform(0.1, 2.0, robot.n)
    driven = robot.with_drives([fj.RigidDrive(fj.Motor(float(b))) for b in inertia])
    model = mujoco_model(driven)
    data = mujoco.MjData(model)
    q, v, a = np.random.default_rng(3).normal(size=(3, robot.n))
    data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
    mujoco.mj_inverse(model, data)
    assert relative_error(evaluate(fj.inverse_dynamics, driven, q, v, a), data.qfrc_inverse) < TOLERANCE


def test_a_rigid_robot_falls_as_in_mujoco():
    """The LWR without drives for a second, both with Runge-Kutta steps of 0.1 ms."""
    robot = fj.load("kuka_lwr").without_drives()
    model = mujoco_model(robot)
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-4
    data = mujoco.MjData(model)
    q = np.linspace(0.3, 1.2, 7)
    tau = 0.9 * fj.gravity_torque(robot, q)
    data.qpos[:], data.qfrc_applied[:] = q, tau
    mujoco.mj_step(model, data, 10_000)
    start = fj.JointState(q, 0 * q, q, 0 * q)
    run = fj.simulate(robot, fj.control.OpenLoop(robot), tau, 1.0, period=1e-4, start=start, check=False)
    assert np.max(np.abs(data.qpos - q)) > 1.0
    assert np.max(np.abs(run.q[-1] - data.qpos)) < 1e-6


def test_a_differential_wrist_with_tendons_as_springs():
    """Springs at the motors of a group, each a fixed tendon of MuJoCo; accelerations of links and motors."""
    arm = fj.random_robot(4, 33, prismatic=0.3, friction=True, name="arm")
    K, B = np.array([300.0, 200.0, 150.0, 100.0]), np.array([0.5, 0.3, 0.4, 0.2])
    robot = arm.with_drives([fj.ElasticDrive(float(k), fj.Motor(float(b))) for k, b in zip(K, B)])
    group = [robot.joints[3].name, robot.joints[1].name]
    part = np.array([[1.0, 1.0], [1.0, -1.0]])
    robot = robot.replace(transmissions=[fj.drives.CoupledTransmission(group, part)])
    model = mujoco_model(robot)
    data = mujoco.MjData(model)
    places = [model.joint(x).id for x in [*(j.name for j in robot.joints), *(f"{j.name}.motor" for j in robot.joints)]]
    rng = np.random.default_rng(2)
    for _ in range(3):
        q, theta, v, theta_v, tau = 0.4 * rng.normal(size=(5, 4))
        x, w, force = np.zeros(8), np.zeros(8), np.zeros(8)
        x[places], w[places], force[places] = (np.concatenate(y) for y in ((q, theta), (v, theta_v), (0 * q, tau)))
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = x, w, force
        mujoco.mj_forward(model, data)
        found = evaluate(fj.forward_dynamics, robot, q, v, theta, theta_v, tau)
        assert relative_error(found.a, data.qacc[places[:4]]) < TOLERANCE
        assert relative_error(found.theta_a, data.qacc[places[4:]]) < TOLERANCE
