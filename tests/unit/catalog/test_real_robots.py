"""Real robots: torques, poses and masses of the makers' own files, and a source for every number."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from flexjoint.analysis import joint_eigenfrequencies
from flexjoint.catalog import builtin_robots
from flexjoint.drives import AntagonisticDrive, ElasticDrive, RigidDrive
from flexjoint.dynamics.inverse import inverse_dynamics
from flexjoint.dynamics.recursion.kinematics import forward_kinematics
from flexjoint.formats import from_dh, load
from flexjoint.robot import Robot, source_of, without_source, worst_trust
from support.evaluate import evaluate
from support.paper_robots import PAPER_ROBOTS

DATA = Path(__file__).parents[2] / "data"
URDF = DATA / "urdf"
REFERENCE = json.loads((DATA / "catalogue.json").read_text())
ROUNDED = {"gen3": 2e-5, "sawyer": 1e-5, "ur5e": 1e-9}  # quarter turns with few digits in the makers' files
TRUST = {
    "anymal_leg": "placeholder",
    "fr3": "placeholder",
    "gen3": "estimated",
    "iiwa14": "estimated",
    "panda": "placeholder",
    "qbmove_arm": "placeholder",
    "sawyer": "placeholder",
    "ur5e": "placeholder",
}


def links_alone(robot: Robot, *motion: object) -> np.ndarray:
    """Joint torques without drives."""
    return np.asarray(evaluate(inverse_dynamics, robot.without_drives(), *motion))


def motion(n: int, count: int = 5) -> list[np.ndarray]:
    """Some motion and its derivatives: [q, q', ...], each (n,)."""
    rng = np.random.default_rng(n)
    return list(rng.uniform(-1.0, 1.0, (count, n)))


def test_all_are_tested():
    assert set(builtin_robots()) == {*PAPER_ROBOTS, *TRUST}
    assert set(REFERENCE) - {"about"} == set(TRUST) - {"qbmove_arm"}


@pytest.mark.parametrize("name", TRUST)
def test_loads_without_a_warning(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(name).name == name


@pytest.mark.parametrize("name", TRUST)
def test_every_number_has_a_source(name):
    robot = load(name)
    assert without_source(robot) == ()
    assert worst_trust(robot) == TRUST[name]


@pytest.mark.parametrize("name", [name for name in REFERENCE if name != "about"])
def test_agrees_with_the_makers_file(name):
    robot, case, tolerance = load(name), REFERENCE[name], ROUNDED.get(name, 1e-12)
    tau = links_alone(robot, *(np.array(case[key]) for key in ("q", "v", "a")))
    np.testing.assert_allclose(tau, case["tau"], rtol=0, atol=tolerance * np.abs(case["tau"]).max())
    for q, key in ((np.zeros(robot.n), "tool_at_zero"), (np.array(case["q"]), "tool")):
        R, p = evaluate(forward_kinematics, robot, q)
        np.testing.assert_allclose(p, case[key][0], rtol=0, atol=tolerance)
        np.testing.assert_allclose(R, case[key][1], rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("name", "joints", "mass", "tool"),
    [  # kg with the base; m in the base frame at q = 0: sums of masses and lengths that the sources print
        ("panda", 7, 2.3966 + 16.062132, (0.088, 0, 0.333 + 0.316 + 0.384 - 0.107)),
        ("fr3", 7, 2.3966 + 15.4948010262, (0.088, 0, 0.926)),
        ("iiwa14", 7, 30.61, (0, 0, 1.306)),
        ("ur5e", 6, 4.0 + 17.7, (0.425 + 0.3922, 0.1333 + 0.0996, 0.1625 - 0.0997)),
        ("gen3", 7, 8.1879, (0, -0.02485, 1.187395)),
        ("sawyer", 7, 20.7345, (1.0155, 0.1603, 0.317)),
        ("anymal_leg", 3, 3.406972176, (0.277 + 0.0635 + 0.1, 0.116 + 0.041 + 0.109 - 0.02, -0.25 - 0.32125)),
        ("qbmove_arm", 3, 1.8, (0, 0, 0.4)),
    ],
)
def test_mass_and_reach(name, joints, mass, tool):
    robot = load(name)
    assert robot.n == joints
    assert sum(link.mass for link in robot.links) == pytest.approx(mass, abs=1e-9)
    np.testing.assert_allclose(evaluate(forward_kinematics, robot, np.zeros(joints))[1], tool, rtol=0, atol=1e-5)


def test_panda_from_its_published_dh_parameters():
    """Craig's parameters, as Franka's documentation has them; their frames are those of the URDF."""
    robot = load("panda")
    links = robot.links[1:8]
    table = from_dh(
        alpha=[0, -math.pi / 2, math.pi / 2, math.pi / 2, -math.pi / 2, math.pi / 2, math.pi / 2],
        a=[0, 0, 0, 0.0825, -0.0825, 0, 0.088],
        d=[0.333, 0, 0.316, 0, 0.384, 0, 0],
        convention="modified",
        mass=[link.mass for link in links],
        com=[link.com for link in links],
        inertia=[link.inertia for link in links],
        drives=[joint.drive for joint in robot.joints],
        name="panda_dh",
    )
    moved = motion(7)
    tau = evaluate(inverse_dynamics, robot, *moved)
    np.testing.assert_allclose(evaluate(inverse_dynamics, table, *moved), tau, rtol=0, atol=1e-12 * np.abs(tau).max())


def test_panda_from_the_urdf_of_another_package_with_a_drive_file():
    """The arm of example-robot-data, whose base and whose centre of mass of link 1 differ, but along the joint axis."""
    robot, other = load("panda"), load(URDF / "panda_arm.urdf", drives=URDF / "panda_arm.drives.toml")
    moved = motion(7)
    tau = evaluate(inverse_dynamics, robot, *moved)
    np.testing.assert_allclose(evaluate(inverse_dynamics, other, *moved), tau, rtol=0, atol=1e-12 * np.abs(tau).max())
    for link in (*other.links, *robot.links[1:]):
        R, p = evaluate(forward_kinematics, robot, moved[0], link=link.name)
        other_R, other_p = evaluate(forward_kinematics, other, moved[0], link=link.name)
        assert np.array_equal(R, other_R) and np.array_equal(p, other_p)


def test_drives():
    panda, fr3, iiwa = load("panda"), load("fr3"), load("iiwa14")
    reflected = [0.605721456, 0.605721456, 0.462474144, 0.462474144, 0.205544064, 0.205544064, 0.205544064]
    for robot, trust in ((panda, "estimated"), (fr3, "data_sheet")):
        assert [(x.drive.stiffness, x.drive.motor.inertia) for x in robot.joints] == [(7000.0, B) for B in reflected]
        joint = robot.joints[0].name
        assert source_of(robot, f"{joint}.drive.stiffness").trust == "placeholder"
        assert source_of(robot, f"{joint}.drive.motor.inertia").trust == trust
    gears, rotors = [160, 160, 160, 160, 100, 160, 160], [1.321e-4] * 5 + [4.54e-5] * 2
    assert all(isinstance(joint.drive, RigidDrive) for joint in iiwa.joints)
    np.testing.assert_allclose(
        [joint.drive.motor.inertia for joint in iiwa.joints], np.array(rotors) * np.array(gears) ** 2, rtol=1e-15
    )
    np.testing.assert_allclose([joint.drive.motor.inertia for joint in load("gen3").joints], [0.40] * 4 + [0.22] * 3)
    for name in ("ur5e", "sawyer"):
        assert {joint.drive for joint in load(name).joints} == {RigidDrive()}


@pytest.mark.parametrize(
    ("name", "lowest", "highest"),
    [  # Hz over the workspace: lightweight arms 5 to 30 Hz in their first joints; a bare flange resonates far higher
        ("panda", (8, 40), (150, 400)),
        ("fr3", (8, 40), (1000, 2000)),
        ("anymal_leg", (4, 20), (20, 200)),
    ],
)
def test_eigenfrequencies_are_plausible(name, lowest, highest):
    robot = load(name)
    assert all(isinstance(joint.drive, ElasticDrive) for joint in robot.joints)
    for q in np.random.default_rng(1).uniform(-1.5, 1.5, (10, robot.n)):
        frequencies = np.sort(joint_eigenfrequencies(robot, q)) / (2 * math.pi)
        assert lowest[0] < frequencies[0] < lowest[1]
        assert highest[0] < frequencies[-1] < highest[1]


def test_springs_of_the_qbmove_are_those_of_the_handbook():
    """Torque and stiffness at rest of the link with the motors at ±p: k₁ sinh(a₁ p) − k₂ sinh(a₂ p), and its slope."""
    k1, a1, k2, a2 = 0.0026, 8.9995, 0.0011, 8.9989
    p = np.array([0.0, 0.3, 0.8])
    for joint in load("qbmove_arm").joints:
        assert isinstance(joint.drive, AntagonisticDrive)
        first, second = joint.drive.spring_1.curve(p), joint.drive.spring_2.curve(-p)
        tau = k1 * np.sinh(a1 * p) - k2 * np.sinh(a2 * p)
        sigma = a1 * k1 * np.cosh(a1 * p) + a2 * k2 * np.cosh(a2 * p)
        np.testing.assert_allclose(first.torque + second.torque, tau, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(first.stiffness + second.stiffness, sigma, rtol=1e-12)
    assert sigma[-1] == pytest.approx(22.3, abs=0.1)  # Nm/rad


def test_limits():
    """Some of each data sheet."""
    panda = [joint.limits for joint in load("panda").joints]
    assert [x.jerk for x in panda] == [7500, 3750, 5000, 6250, 7500, 10000, 10000]
    assert [x.acceleration for x in panda] == [15, 7.5, 10, 12.5, 15, 20, 20]
    assert (panda[3].lower, panda[3].upper, panda[5].upper, panda[0].effort) == (-3.0718, -0.0698, 3.7525, 87)
    fr3 = [joint.limits for joint in load("fr3").joints]
    assert [x.velocity for x in fr3] == [2.62, 2.62, 2.62, 2.62, 5.26, 4.18, 5.26]
    ur5e = [joint.limits for joint in load("ur5e").joints]
    assert [x.effort for x in ur5e] == [150, 150, 150, 28, 28, 28]
    np.testing.assert_allclose([math.degrees(x.velocity) for x in ur5e], 180)
    gen3 = [joint.limits for joint in load("gen3").joints]
    assert [x.upper for x in gen3] == [math.inf, 2.24, math.inf, 2.57, math.inf, 2.09, math.inf]
    iiwa = [joint.limits for joint in load("iiwa14").joints]
    np.testing.assert_allclose([math.degrees(x.velocity) for x in iiwa], [85, 85, 100, 75, 130, 135, 135])
    assert [x.effort for x in iiwa] == [320, 320, 176, 176, 110, 40, 40]


@pytest.mark.parametrize("name", TRUST)
def test_quarter_turns_are_structural(name):
    """But the last joint of Sawyer, which is tilted by 10 degrees."""
    for link in load(name).links:
        if (name, link.name) != ("sawyer", "right_l6"):
            assert set(np.unique(link.joint.rotation)) <= {-1.0, 0.0, 1.0}, link.name
