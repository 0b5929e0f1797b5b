"""Numerical checks of the complete rotor model of an arm  [Hoepler sec. VI]: structure of S, derivatives, replay.

The checks call compiled kernels only and use nothing of their derivation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexjoint.algorithm.compile import compile
from flexjoint.drives import ElasticDrive, Motor
from flexjoint.dynamics.drivetrain.rotors import rotor_coupling
from flexjoint.dynamics.forward import forward_dynamics
from flexjoint.dynamics.inverse import inverse_dynamics, motor_motion, needed_order
from flexjoint.robot import Robot
from flexjoint.robot.random_robots import random_robot
from flexjoint.trajectory import Trajectory


class Pattern(NamedTuple):
    """Structure of S.

    Args:
        largest: Largest |S_ij| at random postures, (n, n), kg m².
        depends: Whether S_ij depends on q_k, (n, n, n).
    """

    largest: np.ndarray
    depends: np.ndarray


def coupling_pattern(robot: Robot, postures: int = 20) -> Pattern:
    """Structure of S at random postures."""
    rng = np.random.default_rng(0)
    q = rng.uniform(-np.pi, np.pi, (postures, robot.n))
    S = rotor_coupling(robot, q)
    depends = np.zeros((robot.n,) * 3, dtype=bool)
    for k in range(robot.n):
        moved = q.copy()
        moved[:, k] += rng.uniform(0.5, 2.5, postures)
        depends[:, :, k] = np.abs(rotor_coupling(robot, moved) - S).max(axis=0) > 1e-14 * np.abs(S).max()
    return Pattern(np.abs(S).max(axis=0), depends)


def general_arm(n: int) -> Robot:
    """A chain of elastic joints in general position; each motor is coaxial with its joint, on the preceding link."""
    motor = Motor.from_rotor(1e-4, 100.0)
    arm = random_robot(n, seed=1, prismatic=0.0).replace(rotors_in_links=False)
    return arm.with_drives([ElasticDrive(1e4, motor)] * n).with_fidelity("complete")


class Derivatives(NamedTuple):
    """Influence of the derivatives of q on the torques.

    Args:
        last: ∂τ₁/∂q_N⁽ᵏ⁾ for the highest needed k.
        share: Its contribution relative to the peak of τ₁.
        without: Largest error of any joint relative to its peak torque if all derivatives above k are zero, by k.
    """

    last: float
    share: float
    without: dict[int, float]


def derivatives_that_matter(robot: Robot, motion: Trajectory, t: np.ndarray) -> Derivatives:
    """Influence of the derivatives of q along a trajectory."""
    order = needed_order(robot)
    stack = motion(t, order)
    tau = inverse_dynamics(robot, *stack)
    peak = np.abs(tau).max(axis=0)
    without = {}
    for k in range(2, order):
        cut = stack.copy()
        cut[k + 1 :] = 0.0
        without[k] = float((np.abs(inverse_dynamics(robot, *cut) - tau).max(axis=0) / peak).max())
    # τ₁ is linear in the highest derivative, so a very large value shows its factor
    middle, huge = motion(t[t.size // 2], order), 1e40
    middle[order, :-1], middle[order, -1] = 0.0, huge
    last = float(inverse_dynamics(robot, *middle)[0] / huge)
    return Derivatives(last, abs(last) * float(np.abs(stack[order, :, -1]).max() / peak[0]), without)


def replay(robot: Robot, motion: Trajectory, until: float = 2.0) -> float:
    """Largest deviation of the links from a trajectory when its torques are replayed open loop up to a time, rad.

    SciPy's DOP853 integrates from the state that inverse dynamics gives.
    """
    from scipy.integrate import solve_ivp

    n, order = robot.n, needed_order(robot)
    inverse, forward = compile(motor_motion, robot), compile(forward_dynamics, robot)

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        q, theta, v, theta_v = y.reshape(4, n)
        tau = inverse(*motion(t, order)).tau
        return np.concatenate([v, theta_v, *forward(q, v, theta, theta_v, tau)])

    start, stack = inverse(*motion(0.0, order)), motion(0.0, 1)
    y = np.concatenate([stack[0], start.theta, stack[1], start.theta_v])
    found = solve_ivp(rate, (0.0, until), y, method="DOP853", rtol=1e-8, atol=1e-11, max_step=0.01)
    return float(np.abs(found.y[:n].T - motion(found.t, 0)[0]).max())
