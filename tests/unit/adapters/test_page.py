"""The page on JAX and PyTorch can be pasted, where they are installed, and prints what it says."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import flexjoint as fj

PAGE = Path(__file__).parent.parent.parent.parent / "docs" / "arrays-of-others.md"
BLOCKS = dict(zip(("jax", "torch"), re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL), strict=True))
STEP = 1e-4  # of central differences


def library(name):
    return pytest.importorskip(name, reason=f"{name} is not installed: pip install 'flexjoint[{name}]'")


def followed(name):
    """The variables of a block after it has run."""
    variables = {}
    exec(compile(BLOCKS[name], PAGE.name, "exec"), variables)
    return variables


def test_jax(capsys):
    config = library("jax").config
    before = config.jax_enable_x64
    try:
        found = followed("jax")
    finally:
        config.update("jax_enable_x64", before)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("(5, 3) ") and second == "(1000,)"
    robot = fj.load("hua_3r")

    def effort(mass):
        changed = robot.replace(links=[replace(x, mass=mass) if x.name == "link3" else x for x in robot.links])
        return np.sum(fj.inverse_dynamics(changed, *np.full((5, 3), 0.1)) ** 2)

    slope = (effort(2.0 + STEP) - effort(2.0 - STEP)) / (2 * STEP)
    assert float(found["by_mass"]) == pytest.approx(slope, rel=1e-6) and abs(slope) > 1.0


def test_torch(capsys):
    library("torch")
    found = followed("torch")
    assert capsys.readouterr().out == "torch.Size([1000, 7])\n"
    robot, q = fj.load("kuka_lwr"), np.full(7, 0.3)
    two = [np.sum(fj.gravity_torque(robot, q + x * np.eye(7)[1]) ** 2) for x in (STEP, -STEP)]
    slope = (two[0] - two[1]) / (2 * STEP)
    assert float(found["q"].grad[5, 1]) == pytest.approx(slope, rel=1e-6) and abs(slope) > 1.0
