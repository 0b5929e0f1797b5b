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
    """Links and gravity, no geometry: nothing can touch."""
    spec = mujoco.MjSpec()
    spec.option.gravity = robot.gravity
    bodies = {"base": spec.worldbody}
    for link in robot.links:
        joint = link.joint
        body = bodies[link.parent].add_body(name=link.name, pos=joint.position, quat=quaternion(joint.rotation))
        if joint.moves:
            kind = mujoco.mjtJoint.mjJNT_HINGE if joint.kind.name == "revolute" else mujoco.mjtJoint.mjJNT_SLIDE
            body.add_joint(name=joint.name, type=kind, axis=[0, 0, 1])
        if link.mass:
            I = link.inertia
            body.mass, body.ipos, body.explicitinertial = link.mass, link.com, True
            body.fullinertia = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        bodies[link.name] = body
    model = spec.compile()
    return model, mujoco.MjData(model)


def quaternion(rotation: np.ndarray) -> np.ndarray:
    found = np.empty(4)
    mujoco.mju_mat2Quat(found, rotation.flatten())
    return found


def check(what: str, ours: Any, theirs: Any, agreement: float = AGREEMENT) -> None:
    error = float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))
    if not error <= agreement:
        raise SystemExit(f"{what}: flexjoint and its peer disagree by {error:.1e}; nothing was timed")
