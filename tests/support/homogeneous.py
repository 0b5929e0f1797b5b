"""Dynamics of robots as their files describe them, by 4×4 poses as power series in time: nothing of the library.

The tables are those of robot files (`loading/toml.py`), read here a second time.  Rotors are bodies that turn.  A
series is an array of Taylor coefficients, (order + 1, ...).  A body with the pose T and the pseudo-inertia
J = ∫ (r, 1)(r, 1)ᵀ dm asks for the virtual work tr(Δ T J (T'' − G)ᵀ) of a displacement dT = Δ T, with gravity in the
last column of G.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any, NamedTuple

import numpy as np

TURN, SLIDE = np.zeros((4, 4)), np.zeros((4, 4))
TURN[0, 1], TURN[1, 0], SLIDE[2, 3] = -1.0, 1.0, 1.0
GENERATOR = {"revolute": TURN, "prismatic": SLIDE}


# Series -------------------------------------------------------------------------------------------------------------


def series(stack: Sequence[Any], length: int) -> np.ndarray:
    """Taylor coefficients from derivatives; those that are not given are zero."""
    given = [np.asarray(x, dtype=float) / factorial(k) for k, x in enumerate(stack[:length])]
    return np.array(given + [np.zeros_like(given[0])] * (length - len(given)))


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Of matrices or of numbers."""
    times = np.matmul if A.ndim > 1 else np.multiply
    return np.array([sum(times(A[l], B[k - l]) for l in range(k + 1)) for k in range(min(len(A), len(B)))])


def rate(A: np.ndarray) -> np.ndarray:
    return A[1:] * np.arange(1, len(A)).reshape(-1, *[1] * (A.ndim - 1))


def derivatives(A: np.ndarray) -> np.ndarray:
    return A * np.array([factorial(k) for k in range(len(A))]).reshape(-1, *[1] * (A.ndim - 1))


def motion(kind: str, x: np.ndarray) -> np.ndarray:
    """The pose that a joint at x gives: exp(generator · x), from T' = generator x' T."""
    T = [pose()]
    if kind == "revolute":
        T[0][:2, :2] = [[np.cos(x[0]), -np.sin(x[0])], [np.sin(x[0]), np.cos(x[0])]]
    else:
        T[0][2, 3] = x[0]
    for k in range(len(x) - 1):
        T.append(GENERATOR[kind] @ sum((l + 1) * x[l + 1] * T[k - l] for l in range(k + 1)) / (k + 1))
    return np.array(T)


def inverse(T: np.ndarray) -> np.ndarray:
    R = T[:, :3, :3].transpose(0, 2, 1)
    found = np.zeros_like(T)
    found[:, :3, :3], found[:, :3, 3:], found[0, 3, 3] = R, -product(R, T[:, :3, 3:]), 1.0
    return found


def work(twist: np.ndarray, power: np.ndarray) -> np.ndarray:
    return np.trace(product(twist[: len(power)], power), axis1=1, axis2=2)


# The robot ----------------------------------------------------------------------------------------------------------


def pose(position: Any = (0.0, 0.0, 0.0), rotation: Any = None) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3], T[:3, :3] = position, np.eye(3) if rotation is None else rotation
    return T


def about(axis: int, angle: float) -> np.ndarray:
    T, (i, j) = np.eye(4), ((1, 2), (2, 0), (0, 1))[axis]
    T[i, i], T[i, j], T[j, i], T[j, j] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
    return T


def around_joint(convention: str, row: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The poses before the joint and behind it; body data are in the frame behind."""
    if convention == "frames":
        roll, pitch, yaw = row["rpy"]
        return pose(row["position"]) @ about(2, yaw) @ about(1, pitch) @ about(0, roll), pose()
    turned, far = about(2, row["theta"]), pose((row["a"], 0.0, 0.0)) @ about(0, row["alpha"])
    up = pose((0.0, 0.0, row["d"]))
    if convention == "modified_dh":
        return far @ turned @ up, pose()
    return (turned, up @ far) if row["kind"] == "revolute" else (turned @ up, far)


def pseudo_inertia(mass: float, com: Any, inertia: Any) -> np.ndarray:
    I, c = np.asarray(inertia), np.asarray(com)
    J = np.zeros((4, 4))
    J[:3, :3] = np.trace(I) / 2 * np.eye(3) - I + mass * np.outer(c, c)
    J[:3, 3], J[3, :3], J[3, 3] = mass * c, mass * c, mass
    return J


def rotor_pose(drive: dict[str, Any]) -> np.ndarray:
    z = np.array(drive["motor_axis"])
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    return pose(drive["motor_position"], np.column_stack([x, np.cross(z, x), z]))


class Forces(NamedTuple):
    """Series of what links and motors need, without springs and friction: (order + 1, n) each."""

    links: np.ndarray
    motors: np.ndarray


class Reference:
    """A robot from the tables of its file."""

    def __init__(self, table: dict[str, Any]):
        self.table, self.rows = table, table["link"]
        self.complete = table["fidelity"] == "complete"
        index = {"base": -1, **{row["name"]: i for i, row in enumerate(self.rows)}}
        self.parents = [index[row["parent"]] if "parent" in row else i - 1 for i, row in enumerate(self.rows)]
        self.carriers = [index[row["drive"]["motor_carrier"]] if "drive" in row else -1 for row in self.rows]
        self.moving = [i for i, row in enumerate(self.rows) if row["kind"] != "fixed"]
        self.n = len(self.moving)
        self.drives = [self.rows[i].get("drive", {"kind": "none"}) for i in self.moving]
        self.elastic = np.array([drive["kind"] == "elastic" for drive in self.drives])
        self.K = np.array([drive.get("stiffness", 1.0) for drive in self.drives])
        rotors = [(drive.get("motor_gear_ratio", 0.0), drive.get("motor_axial_inertia", 0.0)) for drive in self.drives]
        self.B = np.array([eta**2 * axial for eta, axial in rotors])
        self.D = np.array([self.rows[i].get("viscous_friction", 0.0) for i in self.moving])
        self.D_m = np.array([drive.get("motor_viscous_friction", 0.0) for drive in self.drives])

    def above(self, link: int) -> list[int]:
        return [] if link < 0 else [*self.above(self.parents[link]), link]

    def forces(self, q: np.ndarray, theta: np.ndarray, wrench: Any = None, base: Any = None) -> Forces:
        """From series of q and θ; `wrench` = (link, [w, w', ...]), `base` = ([ω, ω', ...], [a, a', ...])."""
        length = len(q)
        ground, T, twists = self.ground(base, length), [], {}
        for i, row in enumerate(self.rows):
            before, behind = around_joint(self.table["convention"], row)
            P = (ground if self.parents[i] < 0 else T[self.parents[i]]) @ before
            if i in self.moving:
                twists[i] = product(P @ GENERATOR[row["kind"]], inverse(P))
                P = product(P, motion(row["kind"], q[:, self.moving.index(i)]))
            T.append(P @ behind)

        def power(P: np.ndarray, J: np.ndarray) -> np.ndarray:
            fall = rate(rate(P))
            fall[0, :3, 3] -= self.table["gravity"]
            return product(P[:-2] @ J, fall.transpose(0, 2, 1))

        loads = [power(P, pseudo_inertia(row["mass"], row["com"], row["inertia"])) for P, row in zip(T, self.rows)]
        tau, at_motors = np.zeros((length - 2, self.n)), np.zeros((length - 2, self.n))
        for k, (i, drive) in enumerate(zip(self.moving, self.drives)):
            if "motor_gear_ratio" not in drive:
                continue
            eta, x = drive["motor_gear_ratio"], (theta if self.elastic[k] else q)[:, k]
            mount = (ground if self.carriers[i] < 0 else T[self.carriers[i]]) @ rotor_pose(drive)
            axial, transverse = drive["motor_axial_inertia"] * self.complete, drive["motor_transverse_inertia"]
            J = pseudo_inertia(drive["motor_mass"], np.zeros(3), np.diag([transverse, transverse, axial]))
            load = power(product(mount, motion("revolute", eta * x * self.complete)), J)
            if self.carriers[i] >= 0:
                loads[self.carriers[i]] = loads[self.carriers[i]] + load
            twist = eta * product(mount @ TURN, inverse(mount))
            spun = work(twist, load) if self.complete else self.B[k] * rate(rate(x))
            (at_motors if self.elastic[k] else tau)[:, k] += spun
        for k, i in enumerate(self.moving):
            tau[:, k] += work(twists[i], sum(load for j, load in enumerate(loads) if i in self.above(j)))
        if wrench is not None:
            link, stack = wrench
            w = series(stack, length - 2)
            for i in set(self.above(link)) & set(self.moving):
                moved = product(twists[i], T[link][:, :, 3:])[:, :3, 0]
                turned = twists[i][:, [2, 0, 1], [1, 2, 0]]
                along = np.concatenate([moved, turned], axis=1)
                tau[:, self.moving.index(i)] -= sum(product(w[:, c], along[: length - 2, c]) for c in range(6))
        return Forces(tau, at_motors)

    def ground(self, base: Any, length: int) -> np.ndarray:
        """The pose of the base, from R' = S(ω) R and p'' = a."""
        T = np.zeros((length, 4, 4))
        T[0] = np.eye(4)
        if base is not None:
            omega, a = series(base[0], length), series(base[1], length)
            for k in range(length - 1):
                T[k + 1, :3, :3] = sum(np.cross(omega[l], T[k - l, :3, :3].T).T for l in range(k + 1)) / (k + 1)
            for k in range(2, length):
                T[k, :3, 3] = a[k - 2] / (k * (k - 1))
        return T

    def inverse_dynamics(self, stack: np.ndarray, wrench: Any = None, base: Any = None) -> dict[str, np.ndarray]:
        """Motor motion and torque: θ = q + τ_e/K is put in again, as often as a finite elimination needs."""
        q = series(stack, len(stack))
        theta = q
        for _ in range(self.n + 1):
            forces = self.forces(q, theta, wrench, base)
            tau_e = forces.links + self.D * rate(q)[:-1]
            phi = np.where(self.elastic, tau_e / self.K, 0.0)
            theta = q + np.concatenate([phi, np.zeros((2, self.n))])
        found = derivatives(theta)
        motors = self.forces(q, theta, wrench, base).motors[0] + self.D_m * found[1]
        return {"theta": found[0], "theta_v": found[1], "theta_a": found[2], "tau": tau_e[0] + motors}
