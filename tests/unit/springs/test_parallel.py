"""Parallel springs as data: robot files, free parameters, symbols, equations, the command line, what is refused."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.analysis.robot_overview import robot_overview
from flexjoint.dynamics.drivetrain.passive import parallel_torque
from flexjoint.springs import CubicSpring, HardeningSpring, ParallelSpring, PiecewiseSpring, Spring, TabulatedSpring
from support.evaluate import evaluate
from support.lagrange import rate
from support.warned import said

CUBIC = ParallelSpring(CubicSpring(30.0, 200.0), -0.4)
TABLE = TabulatedSpring([-2.0, -1.0, -0.3, 0.0, 0.5, 1.1, 2.0], [-90.0, -30.0, -7.0, 0.0, 11.0, 33.0, 80.0])


def arm(*springs, kinds=("revolute", "prismatic", "revolute"), drive=None, **options):
    """A chain with these parallel springs and one drive at all joints."""
    links = []
    for i, (spring, kind) in enumerate(zip(springs, kinds)):
        joint = fj.Joint(f"joint{i + 1}", kind, (0.3, 0.0, 0.1), drive=drive, parallel_spring=spring)
        parent = f"link{i}" if i else "base"
        links.append(fj.Link(f"link{i + 1}", joint, parent, 1.5, (0.1, 0.02, 0.0), 0.02 * np.eye(3)))
    return fj.Robot("arm", tuple(links), gravity=(0.0, -9.81, 0.0), **options)


ELASTIC = fj.ElasticDrive(200.0, fj.Motor(0.3))
ARM = arm(ParallelSpring(40.0, 0.5), None, CUBIC, drive=ELASTIC)


# Data ---------------------------------------------------------------------------------------------------------------


def test_torque_and_energy():
    assert ParallelSpring(40.0, 0.5).torque(0.25) == 10.0
    assert ParallelSpring(40.0, 0.5).energy(0.25) == 1.25
    assert CUBIC.torque(-0.5) == pytest.approx(30 * 0.1 + 200 * 0.1**3)
    assert repr(ParallelSpring(40.0)) == "ParallelSpring(stiffness=40.0)"
    assert [x.joint.name for x in ARM.parallel_springs] == ["joint1", "joint3"]
    assert "3 elastic, 2 parallel springs, 3 links" in repr(ARM)
    assert not ARM.without_parallel_springs().parallel_springs


def test_equal_springs_are_equal_robots():
    assert arm(ParallelSpring(40, 0)) == arm(ParallelSpring(40.0))
    assert arm(ParallelSpring(40.0)) != arm(ParallelSpring(40.0, 0.1))
    assert arm(ParallelSpring(40.0)) != arm(None)
    assert ARM.rigid().parallel_springs and ARM.without_drives().parallel_springs


@pytest.mark.parametrize("spring", [ParallelSpring(40.0), CUBIC, ParallelSpring(TABLE, 0.25)], ids=repr)
def test_robot_files(spring, tmp_path):
    robot = arm(None, spring, ParallelSpring(3.0, 0.1))
    fj.write_robot(robot, tmp_path / "robot.toml")
    assert fj.load(tmp_path / "robot.toml") == robot


DH = """
name = "one"
convention = "standard_dh"
[[link]]
a = 0.5
mass = 1.0
inertia = {xx = 0.1, yy = 0.1, zz = 0.1}
parallel_spring = PLACE
"""


def from_text(tmp_path, table):
    (tmp_path / "one.toml").write_text(DH.replace("PLACE", table))
    return fj.load(tmp_path / "one.toml").joints[0].parallel_spring


def test_dh_files(tmp_path):
    assert from_text(tmp_path, "{stiffness = 40, rest = 0.5}") == ParallelSpring(40, 0.5)
    law = '{kind = "cubic", stiffness = 30, cubic = 200, rest = -0.4}'
    assert from_text(tmp_path, law) == CUBIC


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("{rest = 0.5}", "parallel_spring: the key 'stiffness' is missing"),
        ("{stiffness = 40, damping = 1}", "parallel_spring: unknown key 'damping'"),
        ('{kind = "cubic", stiffness = 40, rest = 1}', "parallel_spring: the key 'cubic' is missing"),
        ('{kind = "soft", stiffness = 40}', "kind must be"),
        ("40.0", "parallel_spring must be a table"),
        ("{stiffness = 0}", "stiffness of the parallel spring of joint 'joint1' is 0"),
    ],
)
def test_wrong_files(table, message, tmp_path):
    with pytest.raises(fj.RobotError, match=message):
        from_text(tmp_path, table)


LAWS = [
    fj.springs.LinearSpring(40.0),
    CubicSpring(30.0, 200.0),
    fj.springs.HardeningSpring(20.0, 2.0),
    PiecewiseSpring([0.0, 0.5], [10.0, 20.0]),
    fj.springs.QuadraticSpring(20.0, 5.0),
    fj.springs.ExponentialSpring(20.0, 1.5),
    fj.springs.SinhSpring(20.0, 1.2),
    fj.springs.FourBarSpring(30.0, 1.5),
    TABLE,
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_derivatives_and_energy_of_every_law(law):
    """d^k/dt^k of law(q₀ − q) by CasADi along a motion, up to the order that the law has; −∂U/∂q is the torque."""
    robot, top = arm(ParallelSpring(law, 0.3)), int(min(law.smoothness, 4))
    stack = [ca.SX.sym("q", 1) for _ in range(top + 1)]
    expected = [law.torque(0.3 - stack[0])]
    for _ in range(top):
        expected.append(rate(expected[-1], stack))
    energy = fj.dynamics.spring_energy(robot, stack[0], stack[0])
    found = [*parallel_torque(robot, stack, top), -ca.gradient(energy, stack[0])]
    f = ca.Function("f", stack, [ca.densify(ca.vertcat(*found)), ca.densify(ca.vertcat(*expected, expected[0]))])
    for q in (-0.6, 0.1, 0.25, 0.9):
        x, y = f(q, *np.linspace(0.7, -1.3, top))
        assert np.allclose(np.array(x), np.array(y), rtol=1e-12, atol=1e-11)


# What is refused ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoEnergy(Spring):
    k: float

    def torque(self, phi):
        return self.k * phi


@dataclass(frozen=True)
class Kinked(Spring):
    """A law with a jump of the stiffness."""

    k: float
    smoothness: ClassVar[float] = 1

    def torque(self, phi):
        return self.k * (phi + ca.fmax(phi, 0))

    def energy(self, phi):
        return self.k * (phi**2 + ca.fmax(phi, 0) ** 2) / 2


@dataclass(frozen=True)
class Balancer(Spring):
    """k sin φ, whose torque falls beyond π/2."""

    k: float

    def torque(self, phi):
        return self.k * ca.sin(phi)

    def energy(self, phi):
        return self.k * (1 - ca.cos(phi))


@pytest.mark.parametrize(
    ("spring", "message"),
    [
        (40.0, "is 40.0: give springs.ParallelSpring"),
        (ParallelSpring(0.0), "stiffness of the parallel spring of joint 'joint1' is 0: it must be positive"),
        (ParallelSpring(-3.0), "'joint1' is -3: it must be positive"),
        (ParallelSpring(np.nan), "stiffness of the parallel spring.*joint1.*nan"),
        (ParallelSpring("stiff"), "stiffness of the parallel spring.*joint1"),
        (ParallelSpring(3.0, np.inf), "rest position of the parallel spring.*joint1.*inf"),
        (ParallelSpring(3.0, None), "rest position of the parallel spring.*joint1"),
        (ParallelSpring(NoEnergy(3.0)), "joint1.*NoEnergy.*add `energy`"),
        (ParallelSpring(Kinked(3.0)), "joint1.*Kinked with 1 derivatives.*first 2"),
        (ParallelSpring(ca.SX.sym("K")), "with_symbols"),
    ],
)
def test_wrong_springs(spring, message):
    with pytest.raises(fj.RobotError, match=message):
        arm(spring, drive=ELASTIC)


def test_a_kinked_law_of_a_follower():
    """The motor of an elastic leader feels it."""
    robot = arm(None, ParallelSpring(Kinked(3.0)), kinds=("revolute",) * 2)
    first, second = robot.links

    def followed(drive):
        leader = replace(first, joint=replace(first.joint, drive=drive))
        follower = replace(second.joint, mimic=fj.robot.Mimic("joint1"))
        return robot.replace(links=(leader, replace(second, joint=follower)))

    assert followed(None).n == 1
    with pytest.raises(fj.RobotError, match=r"'joint2' is a Kinked with 1.*of joint 'joint1', which it follows"):
        followed(ELASTIC)


def test_a_fixed_joint_has_no_parallel_spring():
    with pytest.raises(fj.RobotError, match=r"'joint1' is fixed but has a parallel spring"):
        arm(ParallelSpring(3.0), kinds=("fixed",))


def test_a_kinked_law_serves_rigid_joints():
    robot, q = arm(ParallelSpring(Kinked(3.0), 0.2)), np.array([0.1])
    pull = fj.gravity_torque(robot, q) - fj.dynamics.static_torque(robot, q)
    assert pull == pytest.approx([0.6])
    with pytest.raises(
        fj.InputError, match=r"parallel spring of joint 'joint1' is differentiated 2 times.*Kinked has 1"
    ):
        fj.torque_derivatives(robot, *np.zeros((5, 1)), order=2)


def test_orders_need_smooth_laws():
    """Order 2 of Spong's model is no trouble for a table or a piecewise law; order 4 is, and so are complete rotors."""
    pieces = PiecewiseSpring([0.0, 0.5], [10.0, 20.0])
    robot = arm(ParallelSpring(TABLE), ParallelSpring(pieces), drive=ELASTIC)
    assert np.all(np.isfinite(evaluate(fj.inverse_dynamics, robot, *np.full((5, 2), 0.1))))
    with pytest.raises(fj.InputError, match=r"'joint1' is differentiated 4 times.*TabulatedSpring has 3"):
        fj.torque_derivatives(robot, *np.zeros((7, 2)), order=4)
    motor = fj.Motor.from_rotor(1e-3, 20.0, axis=(0.6, 0.0, 0.8), position=(0.0, 0.0, 0.0))
    drive, kinds = fj.ElasticDrive(200.0, motor), ("revolute",) * 3
    options = {"kinds": kinds, "drive": drive, "fidelity": "complete", "rotors_in_links": False}
    smooth_tip = arm(None, None, ParallelSpring(TABLE), **options)
    orders = [x.differentiations for x in fj.dynamics.derivative_orders(smooth_tip).joints]
    assert orders[2] > 3 > orders[0]
    stack = np.zeros((fj.dynamics.derivative_orders(smooth_tip).motion + 1, 3))
    with pytest.raises(fj.InputError, match=rf"'joint3' is differentiated {orders[2]} times"):
        fj.inverse_dynamics(smooth_tip, *map(ca.SX, stack))
    inner = arm(ParallelSpring(TABLE), None, None, **options)
    assert fj.inverse_dynamics(inner, *map(ca.SX, stack)).shape == (3, 1)


def test_a_falling_torque():
    """A balancer over its dead centre: no mode, but a linear model with an unstable pole."""
    robot = arm(ParallelSpring(Balancer(50.0), 2.5))
    with pytest.raises(fj.InputError, match=r"'joint1' has the stiffness -4.*linearize"):
        fj.control.joint_modes(robot, [0.0])
    with pytest.raises(fj.InputError, match=r"'joint1' has the stiffness -4.*linearize"):
        fj.analysis.joint_eigenfrequencies(robot, [0.0])
    assert fj.analysis.linearize(robot, [0.0]).A[1, 0] > 0


def test_beyond_the_reach_of_a_law():
    """The derivative of an undefined torque is no stiffness."""
    robot = arm(ParallelSpring(HardeningSpring(40.0, 0.8)))
    M, K = float(fj.mass_matrix(robot, [0.4])[0, 0]), 40.0 / np.cos(0.4 / (1.6 / np.pi)) ** 2
    found = fj.analysis.joint_eigenfrequencies(robot, [[0.4], [0.9]])
    assert found[0] == pytest.approx([np.sqrt(K / M)], rel=1e-12) and np.isnan(found[1])
    with pytest.raises(fj.NonFiniteError):
        fj.analysis.joint_eigenfrequencies(robot, [0.9])
    seen = robot_overview(robot).frequencies
    assert 0 < seen.configurations < robot_overview(ARM).frequencies.configurations
    assert np.all(seen.least >= np.sqrt(40.0 / M) * (1 - 1e-12))
    far = arm(ParallelSpring(HardeningSpring(40.0, 0.8), rest=1.0))
    assert robot_overview(far).frequencies is None and "beyond the reach" in robot_overview(far).frequency_note


@pytest.mark.parametrize(
    ("spring", "message"),
    [
        (ParallelSpring(1e9), "parallel spring of joint 'joint1' is 1e.09 Nm/rad"),
        (ParallelSpring(10.0, 30.0), "rests at 30 rad: if degrees are meant, write 0.5236"),
        (ParallelSpring(TABLE, 0.5), "no torque at the upper limit 3"),
    ],
)
def test_doubts(spring, message):
    joint = fj.Joint("joint1", limits=fj.Limits(-1.0, 3.0), parallel_spring=spring)
    told = said(lambda: fj.Robot("doubtful", (fj.Link("link1", joint, mass=1.0, inertia=0.1 * np.eye(3)),)))
    assert len(told) == 1
    assert re.search(message, told[0])


def test_plausible_springs_are_not_doubted(recwarn):
    arm(ParallelSpring(0.001, 0.5), ParallelSpring(1e4, 0.02), ParallelSpring(TABLE))
    assert not recwarn.list


# Parameters ---------------------------------------------------------------------------------------------------------


def test_paths():
    found = fj.robot.robot_parameters(ARM)
    assert found["joint1.parallel_spring.stiffness"].value == 40.0
    assert found["joint1.parallel_spring.stiffness"].unit == "Nm/rad"
    assert (found["joint1.parallel_spring.rest"].value, found["joint1.parallel_spring.rest"].unit) == (0.5, "rad")
    assert found["joint3.parallel_spring.stiffness.cubic"].value == 200.0
    assert not any("parallel" in path for path in found if path.startswith("joint2"))


FREE = ("joint1.parallel_spring.stiffness", "joint1.parallel_spring.rest", "joint3.parallel_spring.stiffness.cubic")


def test_free_parameters_and_derivatives():
    """A kernel with free numbers against the robot made with them; its derivatives against differences."""
    values, stack = (55.0, -0.2, 120.0), np.random.default_rng(0).normal(size=(5, 3))
    other = arm(ParallelSpring(55.0, -0.2), None, ParallelSpring(CubicSpring(30.0, 120.0), -0.4), drive=ELASTIC)
    symbols = fj.robot.symbols(ARM, FREE)
    tau = fj.inverse_dynamics(ARM.with_symbols(symbols), *map(ca.SX, stack))
    p = ca.vertcat(*symbols.values())
    f = ca.Function("f", [p], [tau, ca.jacobian(tau, p)])
    found, slope = (np.array(x) for x in f(values))
    assert np.allclose(found[:, 0], evaluate(fj.inverse_dynamics, other, *stack), rtol=1e-12)
    for k, h in enumerate((1e-3, 1e-5, 1e-3)):
        step = h * np.eye(3)[k]
        numeric = (np.array(f(values + step)[0]) - np.array(f(values - step)[0]))[:, 0] / (2 * h)
        assert np.allclose(slope[:, k], numeric, rtol=1e-6, atol=1e-6)
    assert np.all(np.abs(slope).max(axis=0) > 1e-3)


def test_kernels_and_c(tmp_path):
    """Free in a kernel and in exported C; a negative stiffness is refused by simulate."""
    kernel = fj.compile(fj.dynamics.static_torque, ARM, free=FREE[:2])
    q = np.array([0.1, 0.2, 0.3])
    expected = evaluate(fj.dynamics.static_torque, arm(ParallelSpring(55.0, -0.2), None, CUBIC), q)
    assert np.allclose(kernel(q, np.array(55.0), np.array(-0.2)), expected, rtol=1e-14)
    files = fj.export_c(fj.dynamics.static_torque, ARM, tmp_path, free=FREE[:2])
    assert any("parallel_spring" in path.read_text() for path in files if path.suffix == ".h")
    if shutil.which("gcc"):
        source = next(path for path in files if path.suffix == ".c")
        subprocess.run(["gcc", "-c", source, "-o", tmp_path / "x.o", "-ffp-contract=off"], check=True, cwd=tmp_path)


def test_equations():
    sympy = pytest.importorskip("sympy")
    robot = arm(ParallelSpring(40.0, 0.5), kinds=("revolute",))
    found = fj.analysis.equations_of_motion(robot)
    K, q, rest = sympy.symbols("K_p1 q_1 q_r1")
    difference = found["static_torque"][0] - found["gravity_torque"][0]
    assert sympy.simplify(difference - K * (q - rest)) == 0
    assert sympy.simplify(found["inverse_dynamics"][0].diff(K) - (q - rest)) == 0
    assert "K_{p1}" in found.latex()


def test_info(tmp_path):
    fj.write_robot(ARM, tmp_path / "arm.toml")
    from typer.testing import CliRunner

    from flexjoint.cli import app

    text = CliRunner().invoke(app, ["info", str(tmp_path / "arm.toml")]).output
    assert "K_p" in text and "CubicSpring" in text
    data = json.loads(CliRunner().invoke(app, ["info", str(tmp_path / "arm.toml"), "--json"]).output)
    assert data["links"][0]["parallel_spring"] == {"stiffness": 40.0, "spring": None, "rest": 0.5}
    assert data["links"][1]["parallel_spring"] is None


def test_simulations_vary_it():
    robot = arm(ParallelSpring(40.0, 0.5), kinds=("revolute",), drive=fj.RigidDrive(fj.Motor(0.3)))
    start = fj.simulation.at_rest(robot, [0.2])
    law = fj.control.MotorPD(robot, [50.0, 5.0])
    run = fj.simulate(
        robot, law, [0.2], 0.05, period=1e-3, start=start, free={"joint1.parallel_spring.stiffness": [40.0, 60.0]}
    )
    assert np.max(np.abs(run.q[0] - 0.2)) < 1e-12 < 1e-4 < np.max(np.abs(run.q[1] - 0.2))
