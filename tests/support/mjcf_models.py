"""Robots from MJCF files against MuJoCo itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import mujoco
import numpy as np

import flexjoint as fj
from flexjoint.robot import BASE, Robot
from support.evaluate import evaluate
from support.urdf_models import all_poses, scaled


class Errors(NamedTuple):
    """Largest differences over the largest values: torques, mass matrix, poses of all bodies (rad and m)."""

    torque: float
    mass_matrix: float
    pose: float

    @property
    def worst(self) -> float:
        return max(self)


class MujocoModel:
    """MuJoCo's own model of a file, with vectors in the order of a Robot; coupled joints through q = G y + c.

    Everything that is a constraint of MuJoCo's solver is off: dry friction, limits, equalities and contacts; so are
    what the reader reports and leaves out, gravity compensation and fluids, and actuators.
    """

    def __init__(self, model: mujoco.MjModel, robot: Robot):
        self.model, self.robot = model, robot
        off = mujoco.mjtDisableBit
        model.opt.disableflags |= int(off.mjDSBL_CONSTRAINT) | int(off.mjDSBL_ACTUATION) | int(off.mjDSBL_CONTACT)
        model.body_gravcomp[:] = 0.0
        model.opt.density = model.opt.viscosity = 0.0
        for field in ("stiffness", "stiffnesspoly", "damping", "dampingpoly", "armature", "frictionloss"):
            getattr(model, f"tendon_{field}")[:] = 0.0
        for i in range(model.nactuator):
            if int(model.actuator_trntype[i]) > 1:
                model.actuator_armature[i] = model.actuator_damping[i] = 0.0
        model.dof_dampingpoly[:] = model.actuator_dampingpoly[:] = 0.0
        model.jnt_stiffnesspoly[:, 0] = 0.0
        self.data = mujoco.MjData(model)
        self.joints = [joint_id(model, x.joint.name) for x in robot.links if x.joint.moves]
        self.dofs = model.jnt_dofadr[self.joints]

    def place(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Set the state of MuJoCo, others at rest in the pose of the file; returns G."""
        G, c = self.robot.coupling
        self.data.qpos[:] = self.model.qpos0
        self.data.qvel[:] = self.data.qacc[:] = 0.0
        self.data.qpos[self.model.jnt_qposadr[self.joints]] = G @ q + c
        self.data.qvel[self.dofs], self.data.qacc[self.dofs] = G @ v, G @ a
        return G

    def errors(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, root: str) -> Errors:
        robot = self.robot
        G = self.place(q, v, a)
        mujoco.mj_inverse(self.model, self.data)
        tau = G.T @ self.data.qfrc_inverse[self.dofs]
        friction = [x.joint.coulomb_friction for x in robot.links if x.joint.moves]
        over = [x.joint.coulomb_velocity or 1.0 for x in robot.links if x.joint.moves]
        tau = tau + G.T @ (np.array(friction) * np.tanh(G @ v / np.array(over)))
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        M = G.T @ M[np.ix_(self.dofs, self.dofs)] @ G
        return Errors(
            scaled(evaluate(fj.inverse_dynamics, robot, q, v, a), tau),
            scaled(evaluate(fj.mass_matrix, robot, q), M),
            self.pose_error(q, root),
        )

    def pose_error(self, q: np.ndarray, root: str) -> float:
        """Worst pose of a link that is a body or a site of MuJoCo, in the frame of the root."""
        worst, R, p = 0.0, *self.frame(self.model.body(root).id)
        for link, pose in zip(self.robot.links, evaluate(all_poses, self.robot, q)):
            name = "base" if link.name == f"{BASE}_frame" else link.name
            body = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, name)
            if body < 0:
                continue  # a frame of ours
            theirs, at = self.frame(body)
            at = R.T @ (at - p)
            size = max(1.0, float(np.max(np.abs(at))))
            pose = np.asarray(pose)
            worst = max(worst, float(np.max(np.abs(pose[:, :3] - R.T @ theirs))))
            worst = max(worst, float(np.max(np.abs(pose[:, 3] - at))) / size)
        return worst

    def frame(self, body: int) -> tuple[np.ndarray, np.ndarray]:
        return self.data.xmat[body].reshape(3, 3).copy(), self.data.xpos[body].copy()


def joint_id(model: Any, name: str) -> int:
    """A joint by its name; one without a name is called after its body here."""
    found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
    if found >= 0:
        return found
    body = model.body(name.removesuffix("_joint"))
    return next(j for j in range(model.njnt) if model.jnt_bodyid[j] == body.id and not model.joint(j).name)


def compare(model: Any, robot: Robot, root: str = "world", seed: int = 0) -> Errors:
    """The worst errors of a robot against MuJoCo over two random states."""
    oracle = MujocoModel(model, robot)
    rng = np.random.default_rng(seed)
    found = [oracle.errors(*rng.normal(size=(3, robot.n)), root) for _ in range(2)]
    return Errors(*(max(x) for x in zip(*found)))
