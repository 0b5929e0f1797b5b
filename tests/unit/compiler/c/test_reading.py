"""What makes exported C readable."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.compiler.c.reading import decimal, harmless, with_decimals
from support.marks import some_long


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0, "0.0"), (1.0, "1.0"), (-0.5, "-0.5"), (0.25, "0.25"), (12000.0, "12000.0"), (0.1, None), (1e9, None),
        (2.0**-30, None), (1.0 + 2.0**-52, None), (999999.0, "999999.0"),
    ],
)  # fmt: skip
def test_short_constants_are_decimal(value, text):
    assert decimal(value) == text
    assert text is None or float(text) == value


def test_long_constants_have_their_value_behind():
    line = f"x = fma({(0.1).hex()}, y, ({(-9.81).hex()}f));"
    assert with_decimals(line) == f"{line} /* 0.1, -9.81 */"
    assert with_decimals("x = y + 1.0;") == "x = y + 1.0;"


def test_names_in_comments():
    assert harmless("a */ b /* c \n d ??/ \\") == "a * / b / * c ? d ? ?/ ?"
    assert harmless("a ???/ /*/") == "a ? ? ?/ / * /"


def arm(names, **keywords):
    links = [
        fj.Link(f"link{k}", fj.Joint(name, position=[0.1 * k, 0.2, 0.0]), parent=f"link{k - 1}" if k else "base",
                mass=1.0, com=[0.1, 0.0, 0.0], inertia=np.eye(3) * 0.01)
        for k, name in enumerate(names)
    ]  # fmt: skip
    return fj.Robot("arm", tuple(links), **keywords)


@pytest.mark.parametrize("options", [{}, {"float32": True}, {"freestanding": True}], ids=["double", "single", "bare"])
def test_names_of_joints_cannot_break_the_code(options, tmp_path):
    """The Makefile turns warnings into errors, those about comments too."""
    robot = arm(["*/ int x; /*", 'say "hi" \\', "tau_1??/"])
    paths = fj.export_c(fj.inverse_dynamics, robot, tmp_path, **options)
    text = "".join(path.read_text() for path in paths)
    assert "* / int x; / *" in text and "tau_1? ?/" in text
    if shutil.which("make") and shutil.which("cc"):
        done = subprocess.run(["make", "-s", "-C", tmp_path, "check"], capture_output=True, text=True)
        assert done.returncode == 0 and "0 differences" in done.stdout, done.stderr


def test_names_are_unique_and_sines_first(tmp_path):
    text = fj.export_c(fj.forward_dynamics, fj.load("kuka_lwr"), tmp_path)[1].read_text()
    body = text[text.index("int forward_dynamics") :]
    names = re.findall(r"const (?:double|int) (\w+) = ", body)
    assert len(set(names)) == len(names) and "a_3" in names
    angles = {f"{function}_q_{k}" for function in ("sin", "cos") for k in range(2, 8)}
    first = [name for name in names if not name.startswith("v")][: len(angles)]
    assert {*first} == angles and max(map(names.index, angles)) < 3 * len(angles)
    assert not re.search(r"fj_(?!sin|cos|select|bits)\w+\(", body)


def test_parameters_keep_their_names(tmp_path):
    """Results are called by their outputs, elements from 1."""
    text = fj.export_c(fj.motor_motion, fj.load("hua_3r"), tmp_path)[1].read_text()
    assert re.search(r"^    deflection\[2\] = \w+;", text, re.MULTILINE)
    assert "const double theta_3 = " in text and "    theta[2] = theta_3;" in text


EXPORTS = {
    "tree": (fj.inverse_dynamics, fj.random_robot(4, seed=3, tree=True, elastic=0.5), {"wrenches": {"link4": 3}}),
    "variable stiffness": (fj.inverse_dynamics, fj.load("vsa_3r"), {"stiffness": 3}),
    "mixed": (fj.motor_motion, fj.load("hua_3r"), {}),
    "loop": (fj.torque_derivatives, fj.random_robot(8, seed=1, prismatic=0.0), {"order": 4}),
    "free": (fj.forward_dynamics, fj.random_robot(3, seed=2, elastic=1.0), {"free": ("*.mass",)}),
}


@pytest.mark.skipif(not (shutil.which("make") and shutil.which("cc")), reason="needs make and a C compiler")
@pytest.mark.parametrize("name", some_long([*EXPORTS], "loop"))
def test_code_has_the_bits_of_the_kernel(name, tmp_path):
    algorithm, robot, keywords = EXPORTS[name]
    text = fj.export_c(algorithm, robot, tmp_path, "function", **keywords)[1].read_text()
    assert ("fj_loop" in text) == (name == "loop")
    done = subprocess.run(["make", "-s", "-C", tmp_path, "check"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "function: 8 states, 0 differences\n", done.stdout + done.stderr
