"""Small URDF files against Pinocchio's own reader; those of three packages: tests/urdf_packages.py."""

from pathlib import Path

import pytest

from flexjoint.formats import read_urdf
from support.urdf_models import compare

FILES = Path(__file__).parents[1] / "data" / "urdf"
ROOTS = {"gripper": "base", "wrist": "ground", "motors": "base", "rotated": "world", "tree": "floor"}


@pytest.mark.parametrize("name", ROOTS)
def test_torques_inertias_and_poses(name):
    text = (FILES / f"{name}.urdf").read_text()
    found = read_urdf(FILES / f"{name}.urdf")
    assert found.root == ROOTS[name] and compare(text, found.robot, found.root).worst < 1e-12
