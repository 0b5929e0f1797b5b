"""The same robots in Pinocchio and MuJoCo, checked against flexjoint before anything is timed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin

import flexjoint as fj

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.pinocchio_model import pinocchio_model

AGREEMENT = 1e-11  # relative


def pinocchio(robot: fj.Robot) -> tuple[pin.Model, pin.Data]:
    model = pinocchio_model(robot)
    return model, model.createData()


def mujoco_chain(robot: fj.Robot) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The robot as `mjcf_model` writes it, without limits and geometry: nothing can touch."""
    model = mujoco.MjModel.from_xml_string(fj.formats.mjcf_model(robot, limits=False, geometry={}).text)
    return model, mujoco.MjData(model)


def check(what: str, ours: Any, theirs: Any, agreement: float = AGREEMENT) -> None:
    error = float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))
    if not error <= agreement:
        raise SystemExit(f"{what}: flexjoint and its peer disagree by {error:.1e}; nothing was timed")
