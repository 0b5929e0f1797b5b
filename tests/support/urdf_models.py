"""Robots from URDF files against Pinocchio's own reader of the same files."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

import flexjoint as fj
from flexjoint.robot import BASE, Robot
from support.evaluate import evaluate


class Errors(NamedTuple):
    """Largest differences over the largest values: torques, mass matrix, poses of all links (rad and m)."""

    torque: float
    mass_matrix: float
    pose: float

    @property
    def worst(self) -> float:
        return max(self)


class PinocchioUrdf:
    """A URDF in Pinocchio, with vectors in the order of a Robot; coupled joints as Pinocchio couples them."""

    def __init__(self, text: str, robot: Robot):
        self.robot = robot
        full = pin.buildModelFromXML(text)
        names = {joint.name for joint in robot.joints} | {
            link.joint.name for link in robot.links if link.joint.moves
        }
        held = [full.getJointId(name) for name in list(full.names)[1:] if name not in names]
        self.model = pin.buildReducedModel(full, held, pin.neutral(full)) if held else full
        self.data = self.model.createData()
        self.model.gravity.linear = np.array(robot.gravity)
        self.joints = [self.model.joints[self.model.getJointId(x.joint.name)] for x in robot.links if x.joint.moves]

    def coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """G and c with (positions of all moving joints) = G q + c."""
        moving = [x.joint for x in self.robot.links if x.joint.moves]
        rows = {joint.name: (np.eye(self.robot.n)[k], 0.0) for k, joint in enumerate(self.robot.joints)}
        followers = [x for x in moving if x.name not in rows]
        while followers:
            for joint in list(followers):
                mimic: Any = joint.mimic
                if mimic.joint in rows:
                    g, c = rows[mimic.joint]
                    rows[joint.name] = (mimic.ratio * g, mimic.ratio * c + mimic.offset)
                    followers.remove(joint)
        return np.array([rows[x.name][0] for x in moving]), np.array([rows[x.name][1] for x in moving])

    def position(self, x: np.ndarray) -> np.ndarray:
        q = pin.neutral(self.model)
        for joint, value in zip(self.joints, x):
            if joint.nq == 2:
                q[joint.idx_q : joint.idx_q + 2] = np.cos(value), np.sin(value)
            else:
                q[joint.idx_q] = value
        return q

    def rates(self, x: np.ndarray) -> np.ndarray:
        v = np.zeros(self.model.nv)
        for joint, value in zip(self.joints, x):
            v[joint.idx_v] = value
        return v

    def own(self, x: np.ndarray) -> np.ndarray:
        """Rows of Pinocchio in the order of the moving joints of the robot."""
        return np.asarray(x)[[joint.idx_v for joint in self.joints]]

    def errors(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, root: str) -> Errors:
        robot = self.robot.without_drives().without_friction()
        G, c = self.coordinates()
        at, rate, rate2 = self.position(G @ q + c), self.rates(G @ v), self.rates(G @ a)
        tau = G.T @ self.own(pin.rnea(self.model, self.data, at, rate, rate2))
        upper = np.triu(pin.crba(self.model, self.data, at))
        M = self.own(self.own(upper + np.triu(upper, 1).T).T)
        M = G.T @ M @ G
        pin.framesForwardKinematics(self.model, self.data, at)
        placed = {BASE: root}
        worst = 0.0
        base = self.data.oMf[self.model.getFrameId(placed[BASE], pin.FrameType.BODY)]
        for link, pose in zip(robot.links, evaluate(all_poses, robot, q)):
            frame = self.model.getFrameId(link.name, pin.FrameType.BODY)
            if frame >= self.model.nframes:
                continue  # a link that had to be renamed
            theirs = base.actInv(self.data.oMf[frame])
            size = max(1.0, float(np.max(np.abs(theirs.translation))))
            pose = np.asarray(pose)
            worst = max(worst, float(np.max(np.abs(pose[:, :3] - theirs.rotation))))
            worst = max(worst, float(np.max(np.abs(pose[:, 3] - theirs.translation))) / size)
        return Errors(
            scaled(evaluate(fj.inverse_dynamics, robot, q, v, a), tau),
            scaled(evaluate(fj.mass_matrix, robot, q), M),
            worst,
        )


def all_poses(robot: Robot, q: Any) -> list[Any]:
    """(R, p) of every link, (3, 4) each."""
    import casadi as ca

    from flexjoint.dynamics.recursion.kinematics import link_poses

    return [ca.horzcat(x.rotation, x.position) for x in link_poses(robot, q)]


def scaled(found: Any, expected: np.ndarray) -> float:
    """Largest difference over the largest expected value."""
    size = float(np.max(np.abs(expected), initial=0.0))
    difference = float(np.max(np.abs(np.asarray(found).reshape(expected.shape) - expected), initial=0.0))
    return difference / size if size else difference


def compare(text: str, robot: Robot, root: str, seed: int = 0) -> Errors:
    """The worst errors of a robot against Pinocchio over two random states."""
    oracle = PinocchioUrdf(text, robot)
    rng = np.random.default_rng(seed)
    found = [oracle.errors(*rng.normal(size=(3, robot.n)), root) for _ in range(2)]
    return Errors(*(max(x) for x in zip(*found)))
