"""Inverse dynamics written out with named quantities: against the kernels, Pinocchio and a case without recursion."""

import ctypes
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.analysis import recursion_code
from flexjoint.cli.app import app
from flexjoint.robot.joints import Helical
from support.cases import load_case
from support.errors import relative_error
from support.evaluate import evaluate
from support.pinocchio_model import pinocchio_rnea
from support.rotors import rotor_case, with_random_rotors

HELICAL = Helical(0.05)


def mixed(robot, seed):
    """Joints with springs, rigid drives and none, some with viscous friction."""
    rng = np.random.default_rng(seed)
    motor = fj.Motor(0.3, viscous_friction=0.7)
    drives = [[fj.ElasticDrive(200.0, motor), fj.RigidDrive(motor), None][k] for k in rng.integers(0, 3, robot.n)]
    return robot.with_drives(drives)


ROBOTS = {
    "rigid chain": fj.random_robot(4, 7, prismatic=0.5),
    "one joint": fj.random_robot(1, 2, prismatic=0.0).with_drives([fj.ElasticDrive(100.0, fj.Motor(0.2))]),
    "mixed tree": mixed(fj.random_robot(7, 3, prismatic=0.4, tree=True, fixed=0.5), 1),
    "elastic LWR": fj.load("kuka_lwr"),
    "complete LBR 2": fj.load("dlr_lbr2"),
    "complete tree": with_random_rotors(fj.random_robot(5, 8, prismatic=0.3, tree=True), 2, elastic=0.7),
    "general axes": with_random_rotors(fj.random_robot(3, 4, prismatic=0.0), 1, elastic=1.0),
    "rigid joints, complete": with_random_rotors(fj.random_robot(4, 5), 4, elastic=0.0),
}
named = pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)


def motion_of(robot, seed=0):
    n = fj.dynamics.derivative_orders(robot).motion + 1
    return np.random.default_rng(seed).normal(size=(n, robot.n))


def module_of(robot):
    module = {}
    exec(recursion_code(robot), module)
    return module


def c_torques(robot, motion, folder):
    """By gcc, without a warning."""
    source, library = folder / "code.c", folder / "code.so"
    source.write_text(recursion_code(robot, "c", "torques"))
    warnings = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *warnings, "-O0", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    tau = np.zeros(robot.n)
    pointers = [x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for x in (*map(np.ascontiguousarray, motion), tau)]
    ctypes.CDLL(str(library)).torques(*pointers)
    return tau


@named
def test_python_and_c_against_the_kernel(robot, tmp_path):
    motion = motion_of(robot)
    expected = evaluate(fj.inverse_dynamics, robot, *motion)
    assert relative_error(module_of(robot)["inverse_dynamics"](*motion), expected) < 1e-14
    assert relative_error(c_torques(robot, motion, tmp_path), expected) < 1e-14


def test_helical_joints_without_gravity():
    robot = fj.random_robot(3, 5, prismatic=0.0).with_gravity([0.0, 0.0, 0.0])
    links = [replace(x, joint=replace(x.joint, kind=HELICAL)) for x in robot.links]
    robot = robot.replace(links=links).with_drives([fj.ElasticDrive(300.0, fj.Motor(0.1))] * 3)
    motion = motion_of(robot)
    expected = evaluate(fj.inverse_dynamics, robot, *motion)
    assert relative_error(module_of(robot)["inverse_dynamics"](*motion), expected) < 1e-14


def test_rigid_torques_are_those_of_pinocchio():
    robot = ROBOTS["rigid chain"].without_drives().without_friction()
    motion = motion_of(robot)
    assert relative_error(module_of(robot)["inverse_dynamics"](*motion), pinocchio_rnea(robot, *motion)) < 1e-13


def test_complete_model_against_a_case_without_recursion():
    case = load_case("complete001_strong_N3")
    code = module_of(rotor_case(case))["inverse_dynamics"]
    found = [code(*case["D"][:, b]) for b in range(case["D"].shape[1])]
    assert relative_error(found, case["tau_linkside"]) < min(case["tol_rel"], 1e-12)


def test_names_of_joint_3():
    """All quantities are in the result by the names that the code has, in the order of the sweeps."""
    robot = fj.load("dlr_lbr2")
    motion = motion_of(robot)
    quantities = module_of(robot)["recursion"](*motion)
    V = evaluate(lambda robot, *q: fj.dynamics.operator_recursion(robot, *q, order=1).V[2], robot, *motion[:4])
    assert relative_error(quantities["V_3_dd"], V[12:18]) < 1e-14
    assert np.array_equal(quantities["omega_3_dd"], quantities["V_3_dd"][:3])
    drive = evaluate(fj.motor_motion, robot, *motion)
    assert quantities["u_3"] == pytest.approx(drive.tau_e[2], rel=1e-12)
    assert quantities["theta_3_dd"] == pytest.approx(drive.theta_a[2], rel=1e-12)
    for code in (recursion_code(robot), recursion_code(robot, "c")):
        body = re.findall(r"\b(?:omega|V|f|u|theta)_3(?:_\w+)? =", code)
        assert body[:4] == ["V_3 =", "omega_3 =", "V_3_d =", "omega_3_d ="] and "u_3_dd =" in body
        assert not re.search(r"\bv\d+\b|0x", code)


def test_excerpt_of_the_manual():
    """Every statement of the table of docs/equations.md stands in the code of dlr_lbr2."""
    page = (Path(__file__).parents[3] / "docs" / "equations.md").read_text(encoding="utf-8")
    statements = re.findall(r"`(\w[^`]* = [^`]*)`", page.partition("beside the paper")[2].partition("\n\n    const")[0])
    lines = {line.partition("  #")[0].strip() for line in recursion_code(fj.load("dlr_lbr2")).splitlines()}
    assert len(statements) == 14 and not {*statements} - lines
    c = recursion_code(fj.load("dlr_lbr2"), "c")
    assert re.search(r"\n    (const spatial f_3_d = .*)\n", page)[1] in c


def test_names_of_users_stay_in_comments(tmp_path):
    odd = 'a */ "b" \\ /* \n c'
    arm = fj.Link(odd, fj.Joint(odd), mass=2.0, com=(0.3, 0.0, 0.0), inertia=0.02 * np.eye(3))
    robot = fj.Robot(odd, (arm,))
    motion = motion_of(robot)
    expected = evaluate(fj.inverse_dynamics, robot, *motion)
    assert relative_error(module_of(robot)["inverse_dynamics"](*motion), expected) < 1e-14
    assert relative_error(c_torques(robot, motion, tmp_path), expected) < 1e-14


def elastic(**options):
    return fj.load("hua_3r").without_friction().with_drives([fj.ElasticDrive(100.0, fj.Motor(0.1), **options)] * 3)


REFUSED = {
    "variable stiffness": (fj.load("qbmove_arm"), "has variable stiffness"),
    "damping": (elastic(damping=1.0), "without_spring_damping"),
    "spring": (
        elastic().with_drives([fj.ElasticDrive(fj.springs.CubicSpring(100.0, 1.0), fj.Motor(0.1))] * 3),
        "not linear",
    ),
    "backlash": (elastic(backlash=0.01), "without_gear_losses"),
    "friction": (
        elastic().with_drives([fj.RigidDrive(fj.Motor(0.1, coulomb_friction=1.0, coulomb_velocity=0.1))] * 3),
        "without_friction",
    ),
    "cycle": (with_random_rotors(fj.random_robot(4, 6), 3, elastic=1.0, carriers="any"), "with_fidelity"),
}


@pytest.mark.parametrize(("robot", "reason"), REFUSED.values(), ids=REFUSED)
def test_refused_robots(robot, reason):
    with pytest.raises(fj.InputError, match=reason):
        recursion_code(robot)


@pytest.mark.parametrize("name", ["", "3r", "for", "double", "tilde", "q_d", "é"])
def test_refused_names(name):
    with pytest.raises(fj.InputError, match="name is"):
        recursion_code(fj.load("kuka_lwr"), "c", name)


def test_refused_language():
    with pytest.raises(fj.InputError, match="'python' or 'c'"):
        recursion_code(fj.load("kuka_lwr"), "fortran")


def test_command(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    path = tmp_path / "lwr.c"
    ran = CliRunner().invoke(app, ["equations", "kuka_lwr", "--recursion", "c", "-o", str(path)])
    assert ran.exit_code == 0, ran.output
    assert path.read_text(encoding="utf-8") == recursion_code(fj.load("kuka_lwr"), "c")
    shown = CliRunner().invoke(app, ["equations", "hua_3r", "--recursion", "python", "--json"])
    assert shown.exit_code == 0 and json.loads(shown.output)["text"] == recursion_code(fj.load("hua_3r"))
    for wrong in (["--latex"], ["--quantity", "mass_matrix"], ["--symbols", "gravity"], ["--order", "1"]):
        ran = CliRunner().invoke(app, ["equations", "hua_3r", "--recursion", "c", *wrong])
        assert ran.exit_code != 0 and "--recursion" in str(ran.output) + str(ran.exception)
