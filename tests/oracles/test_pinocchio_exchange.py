"""`to_pinocchio` and `from_pinocchio` against models that Pinocchio or `support.pinocchio_model` build."""

import dataclasses
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

import flexjoint as fj
from flexjoint.drives import Friction, MotorLimits, SpringLimits
from flexjoint.formats import file_report, from_pinocchio, read_urdf, to_pinocchio, write_urdf
from flexjoint.formats.pinocchio.library import set_signed, signed_vectors
from flexjoint.robot import Mimic
from flexjoint.robot.joints import Helical
from flexjoint.springs import ParallelSpring
from support.errors import relative_error
from support.evaluate import evaluate
from support.frames import turned
from support.pinocchio_model import pinocchio_mass_matrix, pinocchio_model, pinocchio_order

TOLERANCE = 1e-12
FILES = Path(__file__).parents[1] / "data" / "urdf"
TWO_SIDED = hasattr(pin.Model(), "upperDryFrictionLimit")  # since version 4
CHAIN = fj.random_robot(5, 4, prismatic=0.3, fixed=0.6)
TREE = turned(fj.random_robot(8, 38, prismatic=0.3, tree=True, fixed=0.4, elastic=0.6))[0]
ROBOTS = [
    fj.random_robot(1, 1), CHAIN, TREE, fj.random_robot(30, 2, tree=True, prismatic=0.2), fj.load("kuka_lwr"),
    fj.load("panda"), fj.load("vsa_3r"), fj.load("iiwa14"),
]  # fmt: skip


def each(robots):
    return pytest.mark.parametrize("robot", robots, ids=[robot.name for robot in robots])


def state(n, count=3, seed=0):
    return np.random.default_rng([seed, n]).normal(size=(count, n))


def torque(robot, q, v, a):
    """Inverse dynamics of the rigid robot without friction."""
    return evaluate(fj.inverse_dynamics, robot.without_friction(), q, v, a)


# Robots as models ---------------------------------------------------------------------------------------------------


@each(ROBOTS)
def test_links_alone(robot):
    """The model that the tests build by themselves, which shares no code."""
    model, other = to_pinocchio(robot, motors="none"), pinocchio_model(robot)
    q, v, a = state(robot.n)
    assert list(model.names) == list(other.names) and np.array_equal(model.gravity.linear, robot.gravity)
    data, expected = model.createData(), other.createData()
    tau = pin.rnea(model, data, q, v, a)
    assert relative_error(tau, pin.rnea(other, expected, q, v, a)) < TOLERANCE
    pin.framesForwardKinematics(model, data, q)
    pin.framesForwardKinematics(other, expected, q)
    for link in robot.links:
        pose = data.oMf[model.getFrameId(link.name, pin.FrameType.BODY)]
        assert pose.isApprox(expected.oMf[other.getFrameId(link.name)], TOLERANCE)


@each(ROBOTS)
def test_locked_springs(robot):
    """Torques, mass matrix with motors, by our own recursion."""
    model, order, rigid = to_pinocchio(robot), pinocchio_order(robot), robot.rigid()
    q, v, a = state(robot.n)
    tau = pin.rnea(model, model.createData(), q[order], v[order], a[order])
    assert relative_error(tau, torque(rigid, q, v, a)[order]) < TOLERANCE
    B = np.array([x.drive.motor.inertia if x.drive else 0.0 for x in rigid.joints])
    assert np.array_equal(model.armature, B[order])


@pytest.mark.parametrize("contained", [True, False])
def test_rotors_count_in_the_armature_alone(contained):
    """Of the links as given the axial inertia is taken away, or mass and transverse inertia are added."""
    motor = fj.Motor.from_rotor(3e-4, 20.0, mass=0.4, transverse_inertia=2e-4)
    away = dataclasses.replace(motor, carrier="link1", position=(0.1, 0.2, 0.0), axis=(0.0, 0.6, 0.8))
    robot = fj.random_robot(4, 7, prismatic=0.0).with_drives([fj.RigidDrive(x) for x in (motor, motor, motor, away)])
    robot = robot.replace(rotors_in_links=contained)
    model, order = to_pinocchio(robot), pinocchio_order(robot)
    q, v, a = state(4)
    tau = pin.rnea(model, model.createData(), q[order], v[order], a[order])
    assert relative_error(tau, torque(robot, q, v, a)[order]) < TOLERANCE
    plain = pinocchio_model(robot, motors=True)
    assert relative_error(tau, pin.rnea(plain, plain.createData(), q[order], v[order], a[order])) > 1e-6
    assert np.allclose(model.rotorInertia, 3e-4, rtol=1e-15) and np.array_equal(model.rotorGearRatio, [20.0] * 4)


@each([TREE, fj.load("kuka_lwr"), fj.random_robot(6, 3, tree=True, elastic=1.0, prismatic=0.4)])
def test_elastic_joints_are_two_joints(robot):
    """pin.aba with the spring torques as efforts against our forward dynamics."""
    damped = [dataclasses.replace(x.drive, damping=3.0) if x.drive else None for x in robot.joints]
    robot = robot.with_drives(damped)
    model = to_pinocchio(robot, motors="elastic")
    assert model.nq == robot.n + sum(robot.elastic)
    q, v, tau = state(robot.n)
    theta, theta_v = q + 0.01 * v, v + 0.1 * tau
    at, rate, effort, elastic = (np.zeros(model.nv) for _ in range(4))
    for i, joint in enumerate(robot.joints):
        k = model.joints[model.getJointId(joint.name)].idx_v
        if not robot.elastic[i]:
            at[k], rate[k], effort[k] = q[i], v[i], tau[i]
            continue
        m = model.joints[model.getJointId(f"{joint.name}.motor")].idx_v
        at[m], at[k], rate[m], rate[k] = theta[i], q[i] - theta[i], theta_v[i], v[i] - theta_v[i]
        effort[m], effort[k] = tau[i], joint.drive.stiffness * (theta[i] - q[i]) - model.damping[k] * rate[k]
    data = model.createData()
    found = pin.aba(model, data, at, rate, effort)
    a, theta_a = evaluate(fj.forward_dynamics, robot, q, v, theta, theta_v, tau)
    for i, joint in enumerate(robot.joints):
        k = model.joints[model.getJointId(joint.name)].idx_v
        elastic[k] = a[i] - theta_a[i] if robot.elastic[i] else a[i]
        if robot.elastic[i]:
            elastic[model.joints[model.getJointId(f"{joint.name}.motor")].idx_v] = theta_a[i]
    assert relative_error(found, elastic) < TOLERANCE


def described():
    """A chain with every number that a model has, and none that it has not."""
    robot = fj.random_robot(4, 9, prismatic=0.3, fixed=0.0)
    sided = Friction(0.2, 0.5, 0.01, backward=Friction(0.2, 0.7)) if TWO_SIDED else None
    joints = [
        {"limits": fj.Limits(-1.0, 2.0, 3.0, 40.0), "viscous_friction": 0.3},
        {"coulomb_friction": 0.4, "coulomb_velocity": 0.01, "axis": (0.0, 0.6, 0.8)},
        {"friction": sided, "axis": (1.0, 0.0, 0.0), "drive": fj.RigidDrive(fj.Motor(0.3))},
        {"drive": fj.RigidDrive(fj.Motor.from_rotor(2e-5, -101.0)), "axis": (0.0, -1.0, 0.0)},
    ]
    links = [dataclasses.replace(x, joint=dataclasses.replace(x.joint, **y)) for x, y in zip(robot.links, joints)]
    frame = fj.Link("tcp", fj.Joint("flange", "fixed", (0.0, 0.1, 0.2), links[0].joint.rotation), "link4")
    return robot.replace(links=(*links, frame), rotors_in_links=False, tool="tcp")


def test_a_robot_comes_back_to_the_last_bit():
    robot = described()
    back = from_pinocchio(to_pinocchio(robot))
    assert back == robot
    assert [x.level for x in file_report(back)] == ["chosen"]  # the velocity of Coulomb friction


def test_limits_and_friction_of_motors_and_springs():
    motor = fj.Motor(0.3, 0.5, 0.6, 0.01, limits=MotorLimits(torque=9.0, speed=4.0))
    spring = fj.ElasticDrive(500.0, motor, 0.7, SpringLimits(torque=30.0, deflection=0.1))
    robot = fj.random_robot(1, 3, prismatic=0.0).with_drives([spring])
    model = to_pinocchio(robot, motors="elastic")
    effort, speed, friction = (signed_vectors(model, x)[1] for x in ("effortLimit", "velocityLimit", "friction"))
    assert effort.tolist() == [9.0, 30.0] and speed.tolist() == [4.0, sys.float_info.max]
    assert friction.tolist() == [0.6, 0.0] and model.damping.tolist() == [0.5, 0.7]
    assert model.upperPositionLimit.tolist() == [sys.float_info.max, 0.1] and model.lowerPositionLimit[1] == -0.1
    locked = to_pinocchio(robot)
    assert locked.damping.tolist() == [0.5] and signed_vectors(locked, "friction")[0].tolist() == [-0.6]
    assert signed_vectors(locked, "effortLimit")[0].tolist() == [-9.0]


# Joints that follow others ------------------------------------------------------------------------------------------


def gripper():
    robot = fj.random_robot(5, 12, tree=True, prismatic=0.0, friction=True)
    motor = fj.Motor(0.05, 0.2, 0.3, 0.01)
    changes = {
        2: {"mimic": Mimic("link2_joint", -0.7, 0.2), "kind": "prismatic", "axis": (0.6, 0.0, 0.8)},
        3: {"mimic": Mimic("link3_joint", 2.0, -0.1), "drive": fj.RigidDrive(motor), "axis": (0.0, 1.0, 0.0)},
    }
    links = [dataclasses.replace(x, joint=dataclasses.replace(x.joint, **changes.get(i, {})))
             for i, x in enumerate(robot.links)]  # fmt: skip
    limits = fj.Limits(-0.1, 0.1)
    links[2] = dataclasses.replace(links[2], joint=dataclasses.replace(links[2].joint, limits=limits))
    return fj.Robot("gripper", [dataclasses.replace(x, parent="base" if i else x.parent) for i, x in enumerate(links)])


def test_followers_become_mimic_joints_and_come_back():
    robot = gripper()
    model = to_pinocchio(robot)
    q, v, a = state(robot.n)
    assert model.nv == robot.n == 3
    tau = pin.rnea(model, model.createData(), q, v, a)
    assert relative_error(tau, torque(robot, q, v, a)) < TOLERANCE
    k = -1.4  # of the second follower: −0.7 · 2
    joints = {x.joint.name: x.joint for x in robot.moving_joints}
    viscous = [joints[f"link{i}_joint"].viscous_friction for i in (1, 2, 3, 4, 5)]
    assert model.armature[1] == pytest.approx(k * k * 0.05, rel=1e-15)
    assert model.damping[1] == pytest.approx(viscous[1] + 0.49 * viscous[2] + k * k * (viscous[3] + 0.2), rel=1e-15)
    assert signed_vectors(model, "friction")[1][1] == pytest.approx(1.4 * 0.3, rel=1e-15)
    assert model.lowerPositionLimit[1] == pytest.approx((0.1 - 0.2) / -0.7, rel=1e-14)
    back = from_pinocchio(model)
    assert relative_error(torque(back, q, v, a), tau) < TOLERANCE
    follow = [Mimic("link2_joint", -0.7, 0.2), Mimic("link2_joint", k, 2.0 * 0.2 - 0.1)]
    assert [x.joint.mimic for x in back.followers] == follow
    apart = to_pinocchio(robot, mimic=False)
    G, c = robot.coupling
    expanded = pin.rnea(apart, apart.createData(), G @ q + c, G @ v, G @ a)
    assert apart.nv == 5 and relative_error(G.T @ expanded, tau) < TOLERANCE


def test_a_follower_before_its_leader():
    links = list(gripper().links)
    links[0] = dataclasses.replace(links[0], joint=dataclasses.replace(links[0].joint, mimic=Mimic("link5_joint")))
    robot = fj.Robot("early", links)
    with pytest.raises(fj.RobotError, match=r"'link1_joint' follows 'link5_joint', but comes after .*mimic=False"):
        to_pinocchio(robot)
    assert to_pinocchio(robot, mimic=False).nv == 5


# Models as robots ---------------------------------------------------------------------------------------------------


def strange_model():
    """Every joint with one coordinate, on odd frames, bodies on them."""
    pin.seed(3)
    model = pin.Model()
    model.gravity.linear = np.array([1.0, 2.0, -9.0])
    axis = np.array([0.0, 0.6, 0.8])
    joints = [
        pin.JointModelRX(), pin.JointModelRY(), pin.JointModelRUBZ(), pin.JointModelRevoluteUnaligned(axis),
        pin.JointModelPX(), pin.JointModelPrismaticUnaligned(axis), pin.JointModelHY(0.1),
        pin.JointModelHelicalUnaligned(axis, -0.2), pin.JointModelRUBX(),
    ]  # fmt: skip
    for k, joint in enumerate(joints):
        parent = model.addJoint(max(k - k % 3, 0), joint, pin.SE3.Random(), f"joint{k}")
        model.appendBodyToJoint(parent, pin.Inertia.Random(), pin.SE3.Random())
        model.addFrame(pin.Frame(f"sensor{k}", parent, 0, pin.SE3.Random(), pin.FrameType.OP_FRAME))
    model.addFrame(pin.Frame("camera", 0, 0, pin.SE3.Random(), pin.FrameType.SENSOR))
    model.armature = np.linspace(0.1, 0.5, model.nv)
    return model


def pinocchio_position(model, q):
    """Angles as cos and sin where Pinocchio wants them."""
    at = pin.neutral(model)
    for k, joint in enumerate(list(model.joints)[1:]):
        at[joint.idx_q : joint.idx_q + joint.nq] = [q[k]] if joint.nq == 1 else [math.cos(q[k]), math.sin(q[k])]
    return at


def test_every_joint_of_one_coordinate():
    model = strange_model()
    robot = from_pinocchio(model, tool="sensor4")
    q, v, a = state(robot.n)
    at, data = pinocchio_position(model, q), model.createData()
    assert relative_error(torque(robot, q, v, a), pin.rnea(model, data, at, v, a)) < TOLERANCE
    assert robot.joints[7].kind == Helical(-0.2) and robot.tool == "sensor4" and robot.joints[2].limits == fj.Limits()
    pin.framesForwardKinematics(model, data, at)
    for name in [f"sensor{k}" for k in range(9)] + ["camera"]:
        pose = evaluate(fj.forward_kinematics, robot, q, link=name)
        expected = data.oMf[model.getFrameId(name)]
        assert relative_error(pose.position.ravel(), expected.translation) < TOLERANCE
        assert relative_error(pose.rotation, expected.rotation) < TOLERANCE
    assert from_pinocchio(model, frames=False).links[-1].name == "joint8"
    assert [x.name for x in from_pinocchio(model, frames=["camera"]).links[9:]] == ["camera"]
    assert from_pinocchio(model, tool="joint3", frames=False).tool == "joint3"
    for options, message in (({"frames": ["lens"]}, "no frame 'lens'"), ({"tool": "x"}, "no link 'x' for the tool")):
        with pytest.raises(fj.InputError, match=message):
            from_pinocchio(model, **options)


@pytest.mark.parametrize("name", ["wrist", "motors", "rotated", "tree", "panda_arm"])
def test_models_from_urdf_files(name):
    """Pinocchio reads the file, and we read Pinocchio: torques of our own reader, names of its links."""
    text = (FILES / f"{name}.urdf").read_text()
    ours = read_urdf(FILES / f"{name}.urdf").robot.without_drives().without_friction()
    model = pin.buildModelFromXML(text)
    theirs = from_pinocchio(model).without_drives().without_friction()
    assert {x.name for x in ours.links} <= {x.name for x in theirs.links} | {"base_frame"}
    q, v, a = state(ours.n)
    order = [[x.name for x in ours.joints].index(x.name) for x in theirs.joints]
    assert relative_error(torque(theirs, q[order], v[order], a[order]), torque(ours, q, v, a)[order]) < TOLERANCE


def test_one_robot_by_dh_urdf_and_pinocchio(tmp_path):
    """The LWR is a DH table; the same torques come from its URDF and from its models."""
    robot = fj.load("kuka_lwr").rigid()
    write_urdf(robot, tmp_path / "x.urdf")
    q, v, a = state(7)
    tau = torque(robot, q, v, a)
    built = pin.buildModelFromUrdf(str(tmp_path / "x.urdf"))
    built.armature = np.array([x.drive.motor.inertia for x in robot.joints])
    for other in (fj.load(tmp_path / "x.urdf"), from_pinocchio(to_pinocchio(robot)), from_pinocchio(built)):
        assert relative_error(torque(other, q, v, a), tau) < TOLERANCE
        assert relative_error(evaluate(fj.mass_matrix, other, q), evaluate(fj.mass_matrix, robot, q)) < TOLERANCE
    assert relative_error(pinocchio_mass_matrix(from_pinocchio(built), q), pinocchio_mass_matrix(robot, q)) < TOLERANCE


def small_model(**numbers):
    model = pin.Model()
    for name in ("first", "second"):
        joint = model.addJoint(model.njoints - 1, pin.JointModelRZ(), pin.SE3.Identity(), name)
        model.appendBodyToJoint(joint, pin.Inertia(1.0, np.zeros(3), np.eye(3)), pin.SE3.Identity())
    for key, value in numbers.items():
        if key in ("friction", "effortLimit", "velocityLimit"):
            set_signed(model, key, *map(np.array, value))
        else:
            setattr(model, key, np.array(value))
    return model


def test_rotors_of_a_model():
    def drives(**numbers):
        robot = from_pinocchio(small_model(**numbers))
        return [x.drive for x in robot.joints], {x.what: x for x in file_report(robot)}

    found, report = drives(rotorInertia=[2e-5, 0.0], rotorGearRatio=[-100.0, 50.0])
    assert found == [fj.RigidDrive(fj.Motor(0.2, gear_ratio=-100.0)), None]
    assert report["rotorInertia of 'first'"].level == "chosen"
    found, report = drives(armature=[0.2, 0.3], rotorInertia=[2e-5, 0.0], rotorGearRatio=[100.0, 1.0])
    assert found == [fj.RigidDrive(fj.Motor(0.2, gear_ratio=100.0)), fj.RigidDrive(fj.Motor(0.3))] and not report
    with pytest.warns(fj.FlexjointWarning, match="rotorInertia of 'first'"):
        found, report = drives(armature=[0.4, 0.0], rotorInertia=[2e-5, 0.0], rotorGearRatio=[100.0, 1.0])
    assert found[0] == fj.RigidDrive(fj.Motor(0.4)) and "which is used" in report["rotorInertia of 'first'"].reason


def test_doubtful_numbers_are_reported():
    effort = [-3.0, 0.0], [5.0 if TWO_SIDED else 3.0, 0.0]
    model = small_model(damping=[-1.0, 0.0], armature=[-0.1, 0.0], lowerPositionLimit=[0.0, 1.0],
                        upperPositionLimit=[0.0, -1.0], effortLimit=effort)  # fmt: skip
    model.gravity.angular = np.array([0.0, 0.0, 1.0])
    with pytest.warns(fj.FlexjointWarning, match="5 entries of the model are not used or suspicious"):
        robot = from_pinocchio(model)
    levels = {"effortLimit of 'first'": "chosen"} | {x.what: x.level for x in file_report(robot)}
    assert ("effortLimit of 'first'" in [x.what for x in file_report(robot)]) == TWO_SIDED
    assert levels == {
        "damping of 'first'": "suspicious", "armature of 'first'": "suspicious", "gravity": "unused",
        "position limits of 'first'": "suspicious", "position limits of 'second'": "suspicious",
        "effortLimit of 'second'": "chosen", "effortLimit of 'first'": "chosen",
    }  # fmt: skip
    assert [x.limits for x in robot.joints] == [fj.Limits(effort=3.0), fj.Limits()]
    thin = small_model()
    thin.inertias[1] = pin.Inertia(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0]))
    with pytest.warns(fj.FlexjointWarning, match="inertias"):
        assert from_pinocchio(thin).allow_unphysical
    point = small_model()
    point.inertias[1] = pin.Inertia(1.0, np.ones(3), 1e-17 * np.eye(3))
    with pytest.warns(fj.FlexjointWarning, match="inertia of 'first'"):
        assert not np.any(from_pinocchio(point).links[0].inertia)


def test_names_that_are_taken():
    model = small_model()
    for name in ("base", "first"):
        model.addFrame(pin.Frame(name, 0, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    robot = from_pinocchio(model)
    assert [x.name for x in robot.links] == ["first", "second", "base_frame", "first2"]
    assert len(file_report(robot)) == 2


# What is refused ----------------------------------------------------------------------------------------------------


def test_joints_of_several_coordinates_are_refused():
    composite = pin.JointModelComposite(2)
    composite.addJoint(pin.JointModelRX())
    composite.addJoint(pin.JointModelRY())
    for joint in (pin.JointModelFreeFlyer(), pin.JointModelSpherical(), pin.JointModelPlanar(),
                  pin.JointModelTranslation(), pin.JointModelSphericalZYX(), composite):  # fmt: skip
        model = pin.Model()
        model.addJoint(0, joint, pin.SE3.Identity(), "root")
        with pytest.raises(fj.RobotError, match=rf"'root' is a {joint.shortname()} of .*pin.buildReducedModel"):
            from_pinocchio(model)
    for model, message in ((pin.Model(), "has no joint"), ("panda.urdf", "give a pin.Model")):
        with pytest.raises(fj.FlexjointError, match=message):
            from_pinocchio(model)
    with pytest.raises(fj.InputError, match="coulomb_velocity is 0"):
        from_pinocchio(small_model(), coulomb_velocity=0)


def test_what_no_model_describes():
    coupled = fj.random_robot(2, 1, prismatic=0.0).with_drives([fj.RigidDrive(fj.Motor(0.1))] * 2)
    names = [x.name for x in coupled.joints]
    coupled = coupled.replace(transmissions=[fj.drives.CoupledTransmission(names, [[1.0, 1.0], [1.0, -1.0]])])
    with pytest.raises(fj.RobotError, match="pass motors='none'"):
        to_pinocchio(coupled)
    with pytest.raises(fj.RobotError, match="two motors: pass motors='locked'"):
        to_pinocchio(fj.load("vsa_3r"), motors="elastic")
    spring = fj.ElasticDrive(100.0, fj.Motor(0.1))
    follower = gripper()
    with pytest.raises(fj.RobotError, match="follow the elastic joint link2_joint"):
        to_pinocchio(follower.with_drives([None, spring, None]), motors="elastic")
    with pytest.raises(fj.InputError, match="motors is 'soft': choose one of locked, elastic, none"):
        to_pinocchio(CHAIN, motors="soft")


def test_what_is_lost_is_said():
    robot = fj.load("kuka_lwr")
    stribeck = Friction(0.1, 0.5, 0.02, static=0.8, stribeck_velocity=0.1)
    joint = dataclasses.replace(robot.links[0].joint, parallel_spring=ParallelSpring(10.0), friction=stribeck)
    robot = robot.replace(links=(dataclasses.replace(robot.links[0], joint=joint), *robot.links[1:]))
    with pytest.warns(fj.FlexjointWarning, match=r"parallel springs of joint1; Stribeck.* of joint1$"):
        to_pinocchio(robot)
    with pytest.warns(fj.FlexjointWarning, match=r"friction on the link side of joint1"):
        to_pinocchio(robot, motors="elastic")


def test_pinocchio_that_is_missing_or_old(monkeypatch):
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    for call in (lambda: to_pinocchio(CHAIN), lambda: from_pinocchio(None)):
        with pytest.raises(fj.InputError, match=r"pip install 'flexjoint\[pinocchio\]'"):
            call()
    monkeypatch.setitem(sys.modules, "pinocchio", SimpleNamespace(__version__="2.7.0", Model=object))
    with pytest.raises(fj.InputError, match=r"2\.7\.0 is too old"):
        to_pinocchio(CHAIN)


def test_one_bound_for_both_directions():
    """Version 3 of Pinocchio has no lower bounds of friction, velocity and effort."""
    model = SimpleNamespace(friction=np.array([0.5, 2.0]))
    low, high = signed_vectors(model, "friction")
    assert low.tolist() == [-0.5, -2.0] and high.tolist() == [0.5, 2.0]
    set_signed(model, "friction", np.array([-3.0, -1.0]), np.array([1.0, 4.0]))
    assert model.friction.tolist() == [3.0, 4.0]
