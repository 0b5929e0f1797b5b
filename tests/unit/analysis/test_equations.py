"""Equations of motion on paper: against Lagrange's equations derived by SymPy alone, Pinocchio and our kernels."""

import dataclasses
import re
import sys
import time
from functools import cache
from itertools import pairwise

import mpmath
import numpy as np
import pytest
import sympy
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.analysis import equations_of_motion
from flexjoint.analysis.equations.document import Equations, Quantity
from flexjoint.analysis.equations.notation import Name
from flexjoint.analysis.equations.trigonometric_sums import Budget, TrigonometricSum, cosine, sine
from flexjoint.cli import app
from flexjoint.robot import Mimic
from support.errors import relative_error
from support.evaluate import evaluate
from support.pinocchio_model import pinocchio_mass_matrix, pinocchio_rnea

MOTOR = fj.Motor.from_rotor(1e-3, 20.0)


def planar(n, drive=None, **fields):
    """An arm in the x, y plane, the centres of mass on the links."""
    links = []
    for k in range(n):
        joint = fj.Joint(f"joint{k + 1}", position=[(0.0, 0.4, 0.45)[k], 0.0, 0.0], drive=drive)
        inertia = np.diag([0.01, 0.02, 0.02 + 0.001 * k])
        links.append(
            fj.Link(f"link{k + 1}", joint, f"link{k}" if k else "base", 2.0 - 0.3 * k, [0.2 + 0.01 * k, 0, 0], inertia)
        )
    return fj.Robot(f"{n}R", links, gravity=[0.0, -9.81, 0.0], **fields)


TWO, THREE = planar(2), planar(3)
ELASTIC = planar(2, fj.ElasticDrive(800.0, MOTOR), rotors_in_links=False)
COMPLETE = ELASTIC.with_fidelity("complete")
ARM = fj.from_dh(
    "arm",
    alpha=[np.pi / 2, 0.0, 0.0],
    a=[0.0, 0.4, 0.3],
    d=[0.3, 0.0, 0.0],
    mass=[3.0, 2.0, 1.0],
    com=[[0.0, -0.1, 0.0], [-0.2, 0.01, 0.02], [-0.15, 0.0, 0.0]],
    inertia=0.01 * np.diag([1.0, 1.5, 2.0]),
)


def stack(name, n):
    return [sympy.Symbol(f"{name}_{k + 1}") for k in range(n)]


def rate(expression, stacks):
    """d/dt along [q, v, a, ...]."""
    return sum(sympy.diff(expression, x) * dx for low, high in pairwise(stacks) for x, dx in zip(low, high))


@cache
def lagrange(n):
    """τ of a planar nR and its first two derivatives, from energies written down by hand."""
    q, v, a, q3, q4 = (stack(name, n) for name in ("q", "v", "a", "q3", "q4"))
    g = sympy.Symbol("g")
    T, U, x, y = 0, 0, 0, 0
    for k in range(n):
        m, I, lc, l = (sympy.Symbol(name.format(k + 1)) for name in ("m_{}", "I_{}zz", "l_c{}", "l_{}"))
        angle = sum(q[: k + 1])
        cx, cy = x + lc * sympy.cos(angle), y + lc * sympy.sin(angle)
        vx, vy = rate(cx, [q, v]), rate(cy, [q, v])
        T += m * (vx**2 + vy**2) / 2 + I * sum(v[: k + 1]) ** 2 / 2
        U += m * g * cy
        x, y = x + l * sympy.cos(angle), y + l * sympy.sin(angle)
    tau = [rate(sympy.diff(T, v[k]), [q, v, a]) - sympy.diff(T, q[k]) + sympy.diff(U, q[k]) for k in range(n)]
    first = [rate(x, [q, v, a, q3]) for x in tau]
    second = [rate(x, [q, v, a, q3, q4]) for x in first] if n < 3 else None
    M = sympy.Matrix(n, n, lambda i, j: sympy.diff(T, v[i], v[j]))
    return T, M, sympy.Matrix(tau), first, second


def same(x, y):
    """Whether two matrices are the same function: to 30 digits at a random point."""
    difference, size = sympy.Matrix(x) - sympy.Matrix(y), sympy.Matrix(y)
    symbols = sorted(difference.free_symbols | size.free_symbols, key=str)
    rng = np.random.default_rng(7)
    with mpmath.workdps(40):
        numbers = [mpmath.mpf(int(k)) / 1000 for k in rng.integers(300, 1700, len(symbols))]
        values = [sympy.lambdify(symbols, list(z), "mpmath")(*numbers) for z in (difference, size)]
        return all(abs(d) < mpmath.mpf(10) ** -30 for d in values[0]) and any(map(abs, values[1]))


def at_rest(x, *stacks):
    return sympy.Matrix(x).subs({y: 0 for s in stacks for y in s})


# Lagrange's equations ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, pytest.param(3, marks=pytest.mark.long)])
def test_planar_arms(n):
    found = equations_of_motion(planar(n))
    _, M, tau, *_ = lagrange(n)
    v, a = stack("v", n), stack("a", n)
    assert [x.name for x in found.quantities] == [
        "mass_matrix",
        "coriolis_torque",
        "gravity_torque",
        "inverse_dynamics",
    ]
    assert same(found["mass_matrix"], M)
    assert same(found["inverse_dynamics"], tau)
    gravity = at_rest(tau, v, a)
    assert same(found["gravity_torque"], gravity)
    assert same(found["coriolis_torque"], at_rest(tau, a) - gravity)


def test_the_two_link_arm_as_in_a_textbook():
    found = equations_of_motion(TWO, ["mass_matrix", "coriolis_torque", "gravity_torque"])
    names = "I_1zz I_2zz m_1 m_2 l_1 l_c1 l_c2 g q_1 q_2 v_1 v_2"
    I1, I2, m1, m2, l1, lc1, lc2, g, q1, q2, v1, v2 = sympy.symbols(names)
    M11 = I1 + I2 + m1 * lc1**2 + m2 * (l1**2 + lc2**2) + 2 * m2 * l1 * lc2 * sympy.cos(q2)
    assert found["mass_matrix"][0, 0] == M11  # the same expression, not only the same function
    assert found["coriolis_torque"][0] == -m2 * l1 * lc2 * v2 * (2 * v1 + v2) * sympy.sin(q2)
    assert found["coriolis_torque"][1] == m2 * l1 * lc2 * v1**2 * sympy.sin(q2)
    assert found["gravity_torque"][0] == g * (m1 * lc1 + m2 * l1) * sympy.cos(q1) + g * m2 * lc2 * sympy.cos(q1 + q2)
    values = {str(x.symbol): (x.path, x.value, x.unit) for x in found.parameters}
    assert values["g"] == ("gravity.y", 9.81, "m/s²") and values["l_1"] == ("joint2.position.x", 0.4, "m")
    assert "I_1xx" not in values


def test_squares_and_products_are_written_as_such():
    """The arm with a vertical first axis and two parallel ones behind it."""
    arm = fj.from_dh(
        "arm",
        alpha=[np.pi / 2, 0.0, 0.0],
        a=[0.0, 0.4, 0.3],
        d=[0.3, 0.0, 0.0],
        mass=[3.0, 2.0, 1.0],
        com=[[0.0, -0.1, 0.0], [-0.2, 0.0, 0.0], [-0.15, 0.0, 0.0]],
        inertia=0.01 * np.diag([1.0, 1.5, 2.0]),
    )
    found = equations_of_motion(arm, ["mass_matrix"])["mass_matrix"][0, 0]
    m2, m3, l2, lc2, lc3, q2, q3 = sympy.symbols("m_2 m_3 l_2 l_c2 l_c3 q_2 q_3")
    I1zz, I2xx, I2yy, I3xx, I3yy = sympy.symbols("I_1zz I_2xx I_2yy I_3xx I_3yy")
    c2, s2, c23, s23 = sympy.cos(q2), sympy.sin(q2), sympy.cos(q2 + q3), sympy.sin(q2 + q3)
    expected = I1zz + I2xx * s2**2 + I3xx * s23**2 + (I2yy + m2 * lc2**2 + m3 * l2**2) * c2**2
    assert found == expected + (I3yy + m3 * lc3**2) * c23**2 + 2 * m3 * l2 * lc3 * c2 * c23


@pytest.mark.long
def test_derivatives_and_torque_of_elastic_joints():
    """τ = B θ'' + τ_e with θ = q + τ_e/K  [EJNEA (4b), (7)]; links without their rotors."""
    found = equations_of_motion(ELASTIC, ["torque_derivatives", "inverse_dynamics"], order=2)
    *_, tau, first, second = lagrange(2)
    assert same(found["torque_derivatives_0"], tau)
    assert same(found["torque_derivatives_1"], first)
    assert same(found["torque_derivatives_2"], second)
    a = stack("a", 2)
    K, B = ([sympy.Symbol(f"{x}_{k}") for k in (1, 2)] for x in "KB")
    expected = [B[k] * (a[k] + second[k] / K[k]) + tau[k] for k in range(2)]
    assert same(found["inverse_dynamics"], expected)


def test_rotors_of_the_complete_model():
    """The rotor of joint 2 turns at q_1' + η θ_2' in space: its energy gives S_12 = B_2/η_2 and B_2/η_2² in M_11."""
    found = equations_of_motion(COMPLETE, ["mass_matrix", "rotor_coupling", "rotor_torque"])
    v, w = stack("v", 2), stack("theta_v", 2)
    _, M, *_ = lagrange(2)
    B, eta = sympy.symbols("B_2 eta_2")
    T = B / eta**2 * (v[0] + eta * w[1]) ** 2 / 2
    assert same(found["rotor_coupling"], sympy.Matrix(2, 2, lambda i, j: sympy.diff(T, v[i], w[j])))
    assert same(found["mass_matrix"], M + sympy.Matrix(2, 2, lambda i, j: sympy.diff(T, v[i], v[j])))
    assert found["rotor_torque"] == sympy.zeros(2, 1)
    torque = equations_of_motion(COMPLETE, ["inverse_dynamics"])
    check_against_the_kernel(COMPLETE, torque)


# Code -------------------------------------------------------------------------------------------------------------


def run(text):
    module = {}
    exec(text, module)
    return module


def check_against_the_kernel(robot, equations, tolerance=1e-10):
    """The Python code of every quantity, against the algorithm."""
    module, rng = run(equations.python_code()), np.random.default_rng(5)
    for quantity in equations.quantities:
        name = re.sub(r"_\d$", "", quantity.name)
        arrays = [rng.normal(size=len(symbols)) for _, symbols in quantity.inputs]
        found = module[quantity.name](*arrays)
        assert found.shape == quantity.shape
        expected = evaluate(getattr(fj.dynamics, name), robot, *arrays)
        assert np.max(np.abs(found - np.reshape(expected, found.shape))) < tolerance * (1 + np.max(np.abs(expected)))


@pytest.mark.parametrize(("robot", "symbols"), [(ARM, None), (ARM, ()), (THREE, ()), (THREE, ["*.mass", "gravity"])])
def test_python_code_gives_what_pinocchio_gives(robot, symbols):
    module = run(equations_of_motion(robot, symbols=symbols).python_code())
    q, v, a = np.random.default_rng(1).normal(size=(3, 3))
    assert relative_error(module["mass_matrix"](q), pinocchio_mass_matrix(robot, q)) < 1e-11
    assert relative_error(module["inverse_dynamics"](q, v, a), pinocchio_rnea(robot, q, v, a)) < 1e-11
    weight = pinocchio_rnea(robot, q, 0 * v, 0 * a)
    assert relative_error(module["gravity_torque"](q), weight) < 1e-11
    assert relative_error(module["coriolis_torque"](q, v), pinocchio_rnea(robot, q, v, 0 * a) - weight) < 1e-11


def test_python_code_of_any_small_robot():
    """Sliding joints, a tree, springs, friction that is no polynomial; general axes in numbers."""
    tree = fj.random_robot(2, 5, prismatic=0.5, elastic=0.5, tree=True, friction=True, orthogonal=True, name="tree")
    check_against_the_kernel(tree, equations_of_motion(tree))
    skew = fj.random_robot(2, 3, prismatic=0.0, elastic=1.0, name="skew")
    check_against_the_kernel(skew, equations_of_motion(skew, symbols=(), order=0))
    rubbing = fj.Joint("hinge", coulomb_friction=0.7, coulomb_velocity=0.1, viscous_friction=0.2)
    disc = fj.Robot("disc", (fj.Link("disc", rubbing, mass=1.0, com=[0.1, 0.0, 0.0], inertia=0.1 * np.eye(3)),))
    found = equations_of_motion(disc, ["inverse_dynamics", "kinetic_energy"])
    F, w, v = sympy.symbols("F_1 w_1 v_1")
    assert found["inverse_dynamics"][0].has(sympy.tanh(v / w)) and found["inverse_dynamics"][0].has(F)
    check_against_the_kernel(disc, found)


@pytest.mark.parametrize("symbols", [None, ()], ids=["symbols", "numbers"])
def test_a_joint_that_follows_another(symbols):
    """The last joint turns by −k q_1 + c: one coordinate, two more parameters."""
    first, last = planar(2).links
    follower = dataclasses.replace(last.joint, mimic=Mimic("joint1", -0.5, 0.3))
    robot = fj.Robot("rods", (first, dataclasses.replace(last, joint=follower)), gravity=[0.0, -9.81, 0.0])
    found = equations_of_motion(robot, symbols=symbols)
    check_against_the_kernel(robot, found)
    if symbols is None:
        k, c, q = sympy.symbols("k_link2 c_link2 q_1")
        assert {k, c, q} <= found["gravity_torque"][0].free_symbols


def test_sympy_code_makes_the_same_expressions():
    for robot in (TWO, ARM, ELASTIC):
        found = equations_of_motion(robot, ["mass_matrix", "coriolis_torque"])
        module = run(found.sympy_code())
        for quantity in found.quantities:
            assert module[quantity.name] == quantity.value
        assert module["parameters"] == {x.symbol: x.value for x in found.parameters}


def test_code_of_a_robot_with_a_strange_name_runs():
    link = fj.Link('a"""\n1/0', fj.Joint("b\n1/0"), mass=1.0, com=[0.1, 0.0, 0.0], inertia=0.01 * np.eye(3))
    strange = fj.Robot('"""\n1/0\\', (link,))
    found = equations_of_motion(strange, ["mass_matrix"])
    assert run(found.python_code())["mass_matrix"]([0.0]) == pytest.approx(0.02)
    assert run(found.sympy_code())["mass_matrix"] == found["mass_matrix"]
    assert all(line.startswith(("%", " ", "\\")) for line in found.latex().splitlines())
    assert repr(equations_of_motion(TWO, ["mass_matrix"])) == "Equations('2R', mass_matrix)"
    assert found._repr_latex_().startswith(r"\begin{align}")


# LaTeX ------------------------------------------------------------------------------------------------------------

WORDS = [
    (r"%.*", ""),
    (r"\\(left|right|nonumber|quad)(?![a-z])", ""),
    (r"\\(d*)ot\{q\}_\{(\d)\}", lambda x: ("v", "a", "q3")[len(x[1]) - 1] + f"_{x[2]} "),
    (r"q_\{(\d)\}\^\{\((\d)\)\}", r"q\2_\1 "),
    (r"\\(sin|cos)\{", r"\1{"),
    (r"\\frac\{", r"\\frac{"),
    (r"_\{(\w+)\}", r"_\1 "),
    (r"\^\{(\d+)\}", r"**\1 "),
    (r"&|\\\\", ""),
]


def from_latex(text):
    """Values of entries by name: LaTeX of sums, products, powers, fractions, sines and cosines as Python."""
    for pattern, words in WORDS:
        text = re.sub(pattern, words, text)
    while (found := re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)) != text:
        text = found
    text = text.replace("{", "(").replace("}", ")")
    text = re.sub(r"(?<=[\w)])\s+(?=[\w(])", "*", re.sub(r"\s+", " ", text)).replace("cos*(", "cos(")
    return text.replace("sin*(", "sin(").replace("* *", "**")


def entries_of(latex):
    """Entry and Python expression, from every align environment."""
    for block in re.findall(r"\\begin\{align\}.*?\n(.*?)\\end\{align\}", latex, re.DOTALL):
        for line in re.split(r"(?<!nonumber) \\\\\n", block):
            left, right = line.split("&=")
            yield left.strip(), from_latex(right)


@pytest.mark.parametrize("n", [2, pytest.param(3, marks=pytest.mark.long)])
def test_latex_says_what_lagrange_says(n):
    equations = equations_of_motion(planar(n), ["mass_matrix", "inverse_dynamics"])
    latex = equations.latex()
    for left, right in ("{}", "()", (r"\left", r"\right"), (r"\begin", r"\end")):
        assert latex.count(left) == latex.count(right)
    assert latex.count(r"\begin{align}") == 2 and latex.isascii() is False
    _, M, tau, *_ = lagrange(n)
    rng = np.random.default_rng(2)
    numbers = {x: rng.uniform(0.5, 1.5) for x in (M.free_symbols | tau.free_symbols)}
    names = {str(x): value for x, value in numbers.items()} | {"sin": np.sin, "cos": np.cos}
    seen = 0
    for left, right in entries_of(latex):
        index = [int(x) - 1 for x in re.findall(r"\d", left)]
        expected = M[index[0], index[1]] if left.startswith("M") else tau[index[0]]
        assert eval(right, {}, names) == pytest.approx(float(expected.subs(numbers)), rel=1e-12), left
        seen += 1
    assert seen == n * (n + 1) // 2 + n


def test_latex_of_the_elastic_torque():
    latex = equations_of_motion(ELASTIC, ["torque_derivatives", "inverse_dynamics"], order=1).latex()
    assert r"\tau_{e,1} &=" in latex and r"\dot{\tau}_{e,2} &=" in latex and r"\tau_{1} &=" in latex
    assert (
        r"\ddot{q}_{1}" in latex
        and "q_{1}^{(4)}" in latex
        and "K_{1}" in latex
        and "% K_1: joint1.drive.stiffness" in latex
    )


# Canonical form ---------------------------------------------------------------------------------------------------


def test_sums_know_trigonometry():
    budget = Budget(10.0)
    a, b = ((0, 1),), ((1, 1),)
    both = ((0, 1), (1, 1))
    found = cosine(a).times(cosine(b), budget) + sine(a).times(sine(b), budget).scaled(-1.0)
    assert found.harmonics() == {("cos", both): {(): 1.0}}
    one = cosine(a).times(cosine(a), budget) + sine(a).times(sine(a), budget)
    assert one.harmonics() == {("cos", ()): {(): 1.0}} and one.constant == 1.0
    x = TrigonometricSum.variable(2)
    assert x.times(x.inverse(), budget).constant == 1.0
    assert (x + TrigonometricSum.number(1.0)).inverse() is None
    assert TrigonometricSum.number(0.0).constant == 0.0


# What is refused --------------------------------------------------------------------------------------------------


def test_refusals():
    with pytest.raises(
        fj.InputError, match=r"mass_matrix of 'kuka_lwr' \(7 joints, \d+ symbols\) was given up.*export_c"
    ):
        equations_of_motion(fj.load("kuka_lwr"), time_limit=0.05)
    with pytest.raises(fj.InputError, match="no quantity 'mass_matrx'; did you mean 'mass_matrix'"):
        equations_of_motion(TWO, ["mass_matrx"])
    with pytest.raises(fj.InputError, match="order is 1, which only torque_derivatives has"):
        equations_of_motion(TWO, ["mass_matrix"], order=1)
    with pytest.raises(fj.InputError, match="order is -1"):
        equations_of_motion(TWO, ["torque_derivatives"], order=-1)
    with pytest.raises(fj.InputError, match=r"no parameter 'link9\.mass'"):
        equations_of_motion(TWO, symbols=["link9.mass"])
    with pytest.raises(fj.InputError, match="time_limit is 0"):
        equations_of_motion(TWO, time_limit=0.0)
    with pytest.raises(fj.InputError, match=r"has no formula.*ask for torque_derivatives"):
        equations_of_motion(fj.load("vsa_3r"), ["inverse_dynamics"])
    with pytest.raises(fj.InputError, match="is damped"):
        equations_of_motion(planar(1, fj.ElasticDrive(90.0, fj.Motor(0.1), damping=1.0)), ["inverse_dynamics"])
    with pytest.raises(fj.InputError, match="equations have no 'S'"):
        equations_of_motion(planar(1))["S"]


def test_a_root_below_the_line_is_imported():
    x = sympy.Symbol("q_1")
    quantity = Quantity("f", "f", (("q", (x,)),), sympy.Matrix([1 / sympy.sqrt(x)]), (1,))
    equations = Equations("robot", (quantity,), (), {x: Name("q_1", "q_1")})
    assert run(equations.python_code())["f"]([4.0]) == 0.5
    assert run(equations.sympy_code())["f"] == quantity.value


def test_the_time_limit_holds_with_fractions_in_fractions():
    """Forward dynamics divides by sums of sums."""
    begin = time.monotonic()
    with pytest.raises(fj.InputError, match=r"forward_dynamics of 'hua_3r' .* the time limit has passed"):
        equations_of_motion(fj.load("hua_3r"), ["forward_dynamics"], time_limit=0.5)
    assert time.monotonic() - begin < 20.0


def test_without_sympy(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(fj.InputError, match="pip install sympy"):
        equations_of_motion(TWO)


# Command ----------------------------------------------------------------------------------------------------------


def test_command(tmp_path):
    fj.write_robot(TWO, tmp_path / "arm.toml")

    def invoke(*arguments):
        return CliRunner().invoke(app, ["equations", str(tmp_path / "arm.toml"), *map(str, arguments)])

    found = equations_of_motion(TWO)
    assert invoke().stdout == found.text() + "\n"
    assert invoke("--latex").stdout == found.latex()
    assert invoke("--sympy", "-o", "-").stdout == found.sympy_code()
    assert invoke("--python", "-o", tmp_path / "arm.py").exit_code == 0
    module = run((tmp_path / "arm.py").read_text())
    q = np.array([0.3, -0.7])
    assert relative_error(module["mass_matrix"](q), pinocchio_mass_matrix(TWO, q)) < 1e-12
    numbers = invoke("--numbers", "--quantity", "gravity_torque").stdout
    assert "cos(q_1 + q_2)" in numbers and "m_2" not in numbers
    some = invoke("--symbols", "*.mass, gravity", "--quantity", "gravity_torque").stdout
    assert "g*" in some and "m_2" in some and "l_c2" not in some
    for wrong, message in (
        (["--latex", "--python"], "exclude each other"),
        (["--numbers", "--symbols", "*.mass"], "exclude each other"),
        (["--time-limit", "1e-9"], "or none (--numbers)"),
        (["--time-limit", "-1"], "--time-limit is -1"),
        (["--quantity", "none"], "no quantity 'none'"),
    ):
        refused = invoke(*wrong)
        assert refused.exit_code == 2 and message in refused.stderr, refused.stderr
