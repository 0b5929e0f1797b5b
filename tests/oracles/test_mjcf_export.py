"""The plant that MuJoCo makes of an exported robot: its motion, accelerations, masses and poses against ours."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.drives import AntagonisticDrive, CoupledTransmission, MotorLimits
from flexjoint.robot import Mimic
from flexjoint.robot.joints import Helical
from flexjoint.springs import CubicSpring, ParallelSpring, QuadraticSpring
from support.errors import relative_error
from support.evaluate import evaluate
from support.marks import long, some_long
from support.parallel import sprung
from support.rotors import lbr, with_random_rotors

TOLERANCE = 1e-12
ENDS = ("lower", "upper")
T = [[1.0, 0.4], [0.3, -1.0]]


def in_mujoco(robot, **options):
    model = fj.formats.mjcf_model(robot, **options)
    made = mujoco.MjModel.from_xml_string(model.text)
    assert tuple(made.joint(i).name for i in range(made.njnt)) == model.joints
    assert tuple(made.actuator(k).name for k in range(made.nu)) == robot.motor_names
    return model, made, mujoco.MjData(made)


def changed(robot, change):
    """The robot with its moving joints changed by a function of their number and themselves."""
    moving = [x.joint.name for x in robot.links if x.joint.moves]
    joints = [change(moving.index(x.joint.name), x.joint) if x.joint.moves else x.joint for x in robot.links]
    return robot.replace(links=[replace(x, joint=joint) for x, joint in zip(robot.links, joints)])


def elastic(robot, seed=0, **more):
    rng = np.random.default_rng(seed)
    K, B = rng.uniform(100.0, 400.0, robot.n).tolist(), rng.uniform(0.2, 0.6, robot.n).tolist()
    motors = [fj.Motor(b, viscous_friction=0.2) for b in B]
    return robot.with_drives([fj.ElasticDrive(k, motor, **more) for k, motor in zip(K, motors)])


# Motion -------------------------------------------------------------------------------------------------------------

TREE = sprung(elastic(fj.random_robot(6, 23, prismatic=0.4, tree=True, fixed=0.4, friction=True), damping=0.3))


@pytest.mark.parametrize("robot", [long(fj.load("kuka_lwr")), fj.load("panda"), TREE], ids=["lwr", "panda", "tree"])
def test_a_thousand_steps(robot):
    """1000 Runge-Kutta steps from deflected springs under constant torques: 1e-12 rad or m."""
    rng, h = np.random.default_rng(1), 1e-4
    lower, upper = (np.array([np.clip(getattr(x, end), -0.5, 0.5) for x in robot.joint_limits]) for end in ENDS)
    q = rng.uniform(0.8 * lower + 0.2 * upper, 0.2 * lower + 0.8 * upper)
    start = fj.JointState(q, rng.normal(size=robot.n), q + 0.01, rng.normal(size=robot.n))
    tau = rng.uniform(-2.0, 2.0, robot.n)
    run = fj.simulate(robot, fj.control.OpenLoop(robot), tau, 1000 * h, period=h, start=start, check=False)
    model, made, data = in_mujoco(robot, timestep=h)
    data.qpos[:], data.qvel[:] = model.to_mujoco(start.q, start.v, start.theta, start.theta_v)
    data.ctrl[:] = tau
    for k in range(1, 1001):
        mujoco.mj_step(made, data)
        found = model.from_mujoco(data.qpos, data.qvel)
        assert np.max(np.abs(found.q - run.q[k])) < 1e-12
        assert np.max(np.abs(found.theta - run.theta[k])) < 1e-12
    assert np.max(np.abs(run.q[-1] - q)) > 0.05
    assert any(joint.kind.name == "prismatic" for joint in TREE.joints) and TREE.parallel_springs


# Accelerations ------------------------------------------------------------------------------------------------------


def group(robot, **more):
    names = [robot.joints[3].name, robot.joints[1].name]
    return robot.replace(transmissions=[CoupledTransmission(names, T, **more)])


ARM = fj.random_robot(4, 33, prismatic=0.3, friction=True)
LAWS = [CubicSpring(300.0, 4e3), QuadraticSpring(300.0, 50.0), 200.0, CubicSpring(100.0, 500.0)]
PAIR = AntagonisticDrive(CubicSpring(40.0, 200.0), CubicSpring(50.0, 300.0), fj.Motor(0.3), fj.Motor(0.2), damping=0.4)
MIXED = [PAIR, fj.RigidDrive(fj.Motor(0.3)), None, fj.ElasticDrive(200.0, fj.Motor(0.4))]
EXACT = {
    "one joint": elastic(fj.random_robot(1, 3, friction=True)),
    "30 joints": elastic(fj.random_robot(30, 4, prismatic=0.3, tree=True)),
    "complete 3R": lbr(3),
    "rotors anywhere": with_random_rotors(fj.random_robot(3, 3, prismatic=0.3), 3, elastic=1.0, carriers="any"),
    "rotors in links": fj.load("dlr_lbr2"),
    "rotors taken out of links": fj.load("gen3"),
    "springs at the motors of a group": group(elastic(ARM, damping=0.3)),
    "springs at the joints of a group": group(elastic(ARM, damping=0.3), springs="joint"),
    "a rigid group": group(elastic(ARM).rigid()),
    "rotors of a group": group(with_random_rotors(fj.random_robot(4, 3, prismatic=0.0), 3, elastic=1.0)),
    "other springs": ARM.with_drives([fj.ElasticDrive(x, fj.Motor(0.3), backlash=0.1) for x in LAWS]),
    "every drive": ARM.with_drives(MIXED),
    "parallel springs": changed(
        ARM, lambda i, joint: replace(joint, parallel_spring=ParallelSpring(QuadraticSpring(40.0, 9.0), 0.1 * i))
    ),
    "any axis": changed(elastic(ARM), lambda i, joint: replace(joint, axis=(0.3, -0.4, 0.1 * i))),
}


def accelerations(robot, q, v, theta, theta_v, tau):
    """Those of the links, then those of the motors behind springs."""
    behind = list(robot.motors_behind_springs)
    if not behind:
        return np.asarray(evaluate(fj.forward_dynamics, robot, q, v, tau))
    found = evaluate(fj.forward_dynamics, robot, q, v, theta, theta_v, tau)
    return np.concatenate([found.a, found.theta_a[behind]])


def states(robot):
    rng = np.random.default_rng(0)
    for _ in range(2):
        (q, v), (theta, theta_v, tau) = (rng.normal(scale=0.4, size=(k, m)) for k, m in shapes(robot))
        yield q, v, theta, theta_v, tau


def shapes(robot):
    return (2, robot.n), (3, robot.motor_count)


@pytest.mark.parametrize("robot", some_long(EXACT, "30 joints"))
def test_accelerations(robot):
    model, made, data = in_mujoco(robot, limits=False)
    assert all(x.level == "noted" for x in model.report) and not made.neq
    for q, v, theta, theta_v, tau in states(robot):
        data.qpos[:], data.qvel[:] = model.to_mujoco(q, v, theta, theta_v)
        data.ctrl[:] = tau
        mujoco.mj_forward(made, data)
        _, a, _, theta_a = model.from_mujoco(data.qpos, data.qacc)
        behind = list(robot.motors_behind_springs)
        expected = accelerations(robot, q, v, theta, theta_v, tau)
        assert relative_error(a, expected[: robot.n]) < TOLERANCE
        if behind:
            assert relative_error(theta_a[behind], expected[robot.n :]) < TOLERANCE


def screw(i, joint):
    return replace(joint, kind=Helical(pitch=0.05)) if i == 1 else joint


FOLLOWERS = sprung(fj.random_robot(5, 8, prismatic=0.3, tree=True), share=1.0)
NAMES = [joint.name for joint in FOLLOWERS.joints]
LEADERS = {3: Mimic(NAMES[1], -1.4, 0.3), 4: Mimic(NAMES[3], 0.6, -0.2)}
DRIVEN = fj.RigidDrive(fj.Motor(0.2, viscous_friction=0.3))
HELD = {
    "mimic": elastic(
        changed(FOLLOWERS, lambda i, joint: replace(joint, mimic=LEADERS.get(i), drive=DRIVEN if i == 3 else None))
    ),
    "rigid complete rotors": with_random_rotors(fj.random_robot(4, 3, prismatic=0.2), 3, carriers="any"),
    "rigid complete rotors of a group": group(
        with_random_rotors(fj.random_robot(4, 3, prismatic=0.0), 3, elastic=0.0, carriers="any")
    ),
    "screw": elastic(changed(fj.random_robot(3, 5, prismatic=0.0), screw)),
}


@pytest.mark.parametrize("robot", HELD.values(), ids=HELD.keys())
def test_accelerations_under_constraints(robot):
    """Where MuJoCo holds a coupling by a soft constraint: x'' = G y'' solves MuJoCo's own M and forces to rounding,
    x = G y + c fulfils its constraints, and its soft solution is close."""
    model, made, data = in_mujoco(robot, limits=False)
    assert {x.level for x in model.report} == {"approximate"} and made.neq
    free = [*range(robot.n), *(robot.n + k for k in robot.motors_behind_springs)]
    unit, rest = np.eye(robot.n + robot.motor_count), model.to_mujoco(*np.zeros((4, robot.n)))[0]
    G = np.array([model.to_mujoco(x[: robot.n], theta=x[robot.n :])[0] - rest for x in unit[free]]).T
    for q, v, theta, theta_v, tau in states(robot):
        data.qpos[:], data.qvel[:] = model.to_mujoco(q, v, theta, theta_v)
        data.ctrl[:] = tau
        mujoco.mj_forward(made, data)
        assert np.max(np.abs(data.efc_pos)) < 1e-15 and np.max(np.abs(data.efc_vel)) < 1e-14
        M = np.zeros((made.nv, made.nv))
        mujoco.mj_fullM(made, data, M)
        expected = accelerations(robot, q, v, theta, theta_v, tau)
        assert relative_error(np.linalg.solve(G.T @ M @ G, G.T @ data.qfrc_smooth), expected) < TOLERANCE
        soft = model.from_mujoco(data.qpos, data.qacc).v
        assert 1e-9 < relative_error(soft, expected[: robot.n]) < 1e-3


# Bodies, limits, friction -------------------------------------------------------------------------------------------


def test_masses_and_poses():
    """Link frames are MuJoCo's body frames; motors add no mass."""
    robot = TREE.with_payload(1.5, (0.1, 0.0, 0.2))
    model, made, data = in_mujoco(robot)
    assert abs(np.sum(made.body_mass) - sum(link.mass for link in robot.links)) < 1e-12
    q = np.random.default_rng(3).normal(size=robot.n)
    data.qpos[:] = model.to_mujoco(q)[0]
    mujoco.mj_kinematics(made, data)
    for link in robot.links:
        pose = evaluate(fj.forward_kinematics, robot, q, link=link.name)
        assert np.max(np.abs(data.body(link.name).xpos - pose.position)) < 1e-14
        assert np.max(np.abs(data.body(link.name).xmat.reshape(3, 3) - pose.rotation)) < 1e-14
    assert np.array_equal(data.site("tool").xpos, data.body(robot.tool).xpos)


def test_limits_and_the_keyframe():
    limits = fj.Limits(0.2, 1.5, velocity=2.0, effort=30.0)
    drive = fj.ElasticDrive(300.0, fj.Motor(0.3, limits=MotorLimits(torque=20.0, speed=3.0)))
    robot = changed(fj.random_robot(1, 3), lambda i, joint: replace(joint, limits=limits, drive=drive))
    model, made, _ = in_mujoco(robot)
    name = robot.joints[0].name
    assert made.joint(name).range.tolist() == [0.2, 1.5] and not made.joint(f"{name}.motor").limited
    assert made.actuator(name).ctrlrange.tolist() == [-20.0, 20.0]
    assert made.key("home").qpos.tolist() == [0.2, 0.2]
    assert {(x.what, x.level) for x in model.report} == {("limits of velocity", "noted"), ("limits of speed", "noted")}
    _, free, _ = in_mujoco(robot, limits=False, home=[1.0])
    assert not free.joint(name).limited and not free.actuator(name).ctrllimited
    assert free.key("home").qpos.tolist() == [1.0, 1.0]


def test_coulomb_friction_stops_a_joint():
    """Dry friction of MuJoCo holds a hinge below F and slows it by F above."""
    arm = fj.Link("arm", fj.Joint("hinge", coulomb_friction=2.0, coulomb_velocity=0.01), mass=1.0, inertia=np.eye(3))
    robot = fj.Robot("wheel", (arm,))
    _, made, data = in_mujoco(robot)
    for torque, expected in ((1.5, 0.0), (3.0, 1.0)):
        data.qvel[:], data.ctrl[:] = 0.0 if torque < 2 else 0.5, torque
        mujoco.mj_forward(made, data)
        assert abs(data.qacc[0] - expected) < 1e-3
    _, made, _ = in_mujoco(robot, coulomb="none")
    assert made.joint("hinge").frictionloss[0] == 0.0
