"""Motors as rotors: what is derived, what is refused, and where files and DH tables put them."""

import dataclasses

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.formats.robot_files import parse_robot
from support.evaluate import evaluate
from support.rotors import with_random_rotors

ARM = fj.load("kuka_lwr")


def arm_with(motor, joint=2, **changes):
    drives = [fj.ElasticDrive(100.0, motor) if i == joint else None for i in range(ARM.n)]
    return ARM.with_drives(drives).replace(**changes)


def test_reflected_inertia():
    motor = fj.Motor.from_rotor(2e-4, -50.0, viscous_friction=0.1)
    assert motor.inertia == pytest.approx(0.5)
    assert motor.axial_inertia == pytest.approx(2e-4)
    assert motor.viscous_friction == 0.1
    assert fj.Motor(0.5).axial_inertia is None


def test_gear_ratios_of_a_robot():
    motors = [fj.Motor.from_rotor(1e-4, -50.0), fj.Motor(0.3), fj.Motor.from_rotor(1e-4, 100.0)]
    robot = fj.random_robot(4, 1).with_drives([fj.ElasticDrive(9.0, motors[0]), *map(fj.RigidDrive, motors[1:]), None])
    assert np.array_equal(robot.gear_ratios, [-50.0, np.nan, 100.0, np.nan], equal_nan=True)


def test_vectors_become_plain_data():
    motor = fj.Motor(1.0, axis=np.array([-0.0, 0, 1]), position=[1, 2, 3])
    assert motor.axis == (0.0, 0.0, 1.0)
    assert str(motor.axis[0]) == "0.0"
    assert motor.position == (1.0, 2.0, 3.0)
    assert arm_with(motor).digest == arm_with(fj.Motor(1.0, axis=(0, 0, 1), position=(1, 2, 3))).digest


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"carrier": "nowhere"}, r"'joint3' is carried by 'nowhere'.*known are: base, link1"),
        ({"axis": (0.0, 0.0, 2.0)}, r"axis of joint 'joint3' is .*length 2: give a unit vector"),
        ({"axis": (1.0, 0.0)}, "axis of joint 'joint3'.*three numbers"),
        ({"position": "here"}, "position of joint 'joint3'.*three numbers"),
        ({"position": (0.0, np.nan, 0.0)}, "position of 'joint3'.*finite"),
        ({"mass": -1.0}, "mass of joint 'joint3' is -1.*negative"),
        ({"transverse_inertia": -1.0}, "transverse inertia of joint 'joint3' is -1.*negative"),
        ({"gear_ratio": 0.0}, "gear ratio of joint 'joint3' is 0"),
        ({"gear_ratio": np.inf}, "gear ratio of 'joint3'.*finite"),
        ({"carrier": "base"}, "'joint3' sits on 'base', away from the joint.*axis and position"),
    ],
)
def test_refused(fields, message):
    with pytest.raises(fj.RobotError, match=message):
        arm_with(fj.Motor(**{"inertia": 1.0, "gear_ratio": 10.0, **fields}))


@pytest.mark.parametrize("second", [False, True])
def test_of_two_motors_each_is_checked(second):
    """A rotor away from its joint needs a place."""
    spring = fj.springs.CubicSpring(100.0, 1e3)
    motors = [fj.Motor(1.0, gear_ratio=10.0), fj.Motor(1.0, gear_ratio=10.0, carrier="base")]
    drive = fj.drives.AntagonisticDrive(spring, spring, *(motors if second else motors[::-1]))
    with pytest.raises(fj.RobotError, match="'joint3' sits on 'base', away from the joint"):
        ARM.with_drives([drive if i == 2 else None for i in range(ARM.n)])


def test_fidelity_is_checked():
    with pytest.raises(fj.RobotError, match="choose one of spong, complete"):
        ARM.with_fidelity("best")
    with pytest.raises(fj.RobotError, match="complete model needs the gear ratio of joint 'joint1'"):
        ARM.with_fidelity("complete")
    with pytest.raises(fj.RobotError, match="rotors_in_links is 'yes'"):
        ARM.replace(rotors_in_links="yes")
    assert ARM.without_drives().with_fidelity("complete").fidelity == "complete"


def test_links_must_be_able_to_contain_their_rotors():
    heavy = fj.Motor.from_rotor(5.0, 3.0, mass=1.0)
    with pytest.raises(fj.RobotError, match=r"inertia of link 'link2' is less.*joint 'joint3'.*rotors_in_links=False"):
        arm_with(heavy)
    with pytest.raises(fj.RobotError, match=r"inertia of link 'link2' is less"):
        arm_with(fj.Motor(0.3, gear_ratio=5e-324, axis=(0.0, 0.0, 1.0)))  # η² underflows
    drives = [fj.ElasticDrive(100.0, heavy) if i == 2 else None for i in range(ARM.n)]
    assert ARM.replace(rotors_in_links=False).with_drives(drives).joints[2].drive.motor == heavy


def test_everything_enters_the_digest():
    robot = with_random_rotors(fj.random_robot(3, 1), 1, coupling=0.01)
    motor = robot.joints[1].drive.motor
    changed = {
        "gear_ratio": 3.0,
        "transverse_inertia": 0.5,
        "mass": 0.5,
        "position": (0, 0, 0),
        "axis": (0, 1, 0),
        "carrier": "link3",
    }
    digests = {robot.digest, robot.with_fidelity("spong").digest, robot.replace(rotors_in_links=True).digest}
    for name, value in changed.items():
        drives = [joint.drive for joint in robot.joints]
        drives[1] = dataclasses.replace(drives[1], motor=dataclasses.replace(motor, **{name: value}))
        digests.add(robot.with_drives(drives).digest)
    assert len(digests) == 3 + len(changed)


def test_files_keep_every_bit(tmp_path):
    robot = with_random_rotors(fj.random_robot(5, 2, tree=True, fixed=0.5), 3, carriers="any")
    fj.write_robot(robot, tmp_path / "robot.toml")
    assert fj.formats.read_robot(tmp_path / "robot.toml") == robot


FILE = """
name = "one"
convention = "standard_dh"
fidelity = "complete"
rotors_in_links = false
[[link]]
alpha_deg = 90
d = 0.3
mass = 1.0
inertia = {xx = 0.1, yy = 0.1, zz = 0.1}
drive = {kind = "elastic", stiffness = 100, motor_axial_inertia = 1e-3, motor_gear_ratio = -20, motor_mass = 0.5}
[[link]]
a = 0.4
mass = 1.0
inertia = {xx = 0.1, yy = 0.1, zz = 0.1}
[link.drive]
kind = "rigid"
motor_inertia = 0.3
motor_gear_ratio = 10
motor_carrier = "link1"
motor_axis = [0, 1, 0]
motor_position = [0.1, 0, 0]
"""


def test_files_describe_rotors():
    robot = parse_robot(FILE.encode(), "one.toml")
    assert robot.fidelity == "complete"
    assert not robot.rotors_in_links
    first, second = (joint.drive.motor for joint in robot.joints)
    assert first.inertia == pytest.approx(0.4)
    assert (first.gear_ratio, first.mass, first.carrier, first.axis) == (-20.0, 0.5, None, None)
    # DH frame 1 stands at (0, 0, 0.3) of the link's frame, its y axis along the joint's axis
    assert second.axis == (0.0, 0.0, 1.0)
    assert second.position == pytest.approx((0.1, 0.0, 0.3))
    with pytest.raises(fj.RobotError, match="motor_inertia"):
        parse_robot(FILE.replace("motor_mass = 0.5", "motor_inertia = 1").encode(), "one.toml")
    with pytest.raises(fj.RobotError, match="motor_gear_ratio"):
        parse_robot(FILE.replace("motor_gear_ratio = -20,", "").encode(), "one.toml")


def test_default_rotor_is_coaxial_with_its_joint():
    """The joint's own axis and place, said or not."""
    robot = fj.random_robot(4, 7, prismatic=0.0)
    default = fj.Motor.from_rotor(0.05, 4.0, mass=0.3, transverse_inertia=0.04)
    told = [
        dataclasses.replace(default, axis=j.rotation[:, 2], position=j.position, carrier=link.parent)
        for link, j in zip(robot.links, robot.joints)
    ]
    q = np.random.default_rng(1).normal(size=4)
    bare = robot.replace(fidelity="complete", rotors_in_links=False)
    inertias = [
        evaluate(fj.mass_matrix, bare.with_drives([fj.ElasticDrive(10.0, x) for x in motors]), q, motors=True)
        for motors in ([default] * 4, told)
    ]
    assert np.array_equal(*inertias)
    assert np.any(inertias[0][:4, 4:])


def test_rotors_may_have_free_parameters():
    """Their numbers as inputs of a kernel; axes are not, since they decide which equations there are."""
    robot = with_random_rotors(fj.random_robot(3, 5, prismatic=0.0), 1, elastic=1.0)
    free = ("*.motor.inertia", "*.gear_ratio", "*.motor.mass", "*.motor.position", "*.transverse_inertia")
    values = [
        np.concatenate([np.ravel(getattr(joint.drive.motor, path.rsplit(".", 1)[-1])) for joint in robot.joints])
        for path in free
    ]
    state = np.random.default_rng(2).normal(size=(5, 3))
    found = fj.compile(fj.forward_dynamics, robot, free=free)(*state, *values)
    expected = evaluate(fj.forward_dynamics, robot, *state)
    assert np.allclose(found, expected, rtol=1e-12)
    with pytest.raises(fj.InputError, match=r"no parameter '\*.motor.axis'"):
        fj.compile(fj.mass_matrix, robot, free=("*.motor.axis",))
