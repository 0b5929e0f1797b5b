"""Shape and unit of every array that algorithms take and return, by its name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..compiler.ir.program import Array
from ..errors import InputError
from ..robot import Robot
from ..spatial import is_symbolic, sx


class Signal(NamedTuple):
    """Trailing shape (numbers, or names in `SIZES`) and unit (revolute | prismatic joint)."""

    shape: tuple[int | str, ...]
    unit: str


SIZES: dict[str, Callable[[Robot], int]] = {
    "n": lambda robot: robot.n,  # moving joints that follow no other
    "links": lambda robot: len(robot.links),
    "spatial": lambda robot: 6 * len(robot.moving_joints),  # stacked spatial vectors of the bodies
    "motors": lambda robot: robot.motor_count,  # first motor of each moving joint, then the second motors
    "triples": lambda robot: math.comb(robot.n, 3),  # of moving joints
    "coordinates": lambda robot: robot.n + len(robot.motors_behind_springs),  # (q, θ): links, motors behind springs
}
SIGNALS = {
    "q": Signal(("n",), "rad | m"),
    "v": Signal(("n",), "rad/s | m/s"),
    "v_a": Signal(("n",), "rad/s | m/s"),
    "a": Signal(("n",), "rad/s² | m/s²"),
    "higher": Signal(("n",), "rad/sᵏ | m/sᵏ"),
    "jerk": Signal(("n",), "rad/s³ | m/s³"),
    "snap": Signal(("n",), "rad/s⁴ | m/s⁴"),
    "theta": Signal(("motors",), "rad | m"),
    "theta_v": Signal(("motors",), "rad/s | m/s"),
    "theta_v_a": Signal(("motors",), "rad/s | m/s"),
    "theta_a": Signal(("motors",), "rad/s² | m/s²"),
    "theta_d": Signal(("motors",), "rad | m"),
    "theta_d_v": Signal(("motors",), "rad/s | m/s"),
    "sigma": Signal(("n",), "Nm/rad | N/m"),
    "sigma_v": Signal(("n",), "Nm/(rad s) | N/(m s)"),
    "sigma_a": Signal(("n",), "Nm/(rad s²) | N/(m s²)"),
    "lower": Signal(("n",), "Nm/rad | N/m"),
    "upper": Signal(("n",), "Nm/rad | N/m"),
    "deflection": Signal(("motors",), "rad | m"),
    "deflection_v": Signal(("motors",), "rad/s | m/s"),
    "spring_torque": Signal(("motors",), "Nm | N"),
    "q_d": Signal(("n",), "rad | m"),
    "v_d": Signal(("n",), "rad/s | m/s"),
    "a_d": Signal(("n",), "rad/s² | m/s²"),
    "Lambda": Signal(("n",), "1/s"),
    "K_P": Signal(("n",), "Nm/rad | N/m"),
    "K_D": Signal(("n",), "Nm s/rad | N s/m"),
    "tau": Signal(("motors",), "Nm | N"),
    "tau_e": Signal(("n",), "Nm | N"),
    "tau_e_v": Signal(("n",), "Nm/s | N/s"),
    "tau_e_a": Signal(("n",), "Nm/s² | N/s²"),
    "tau_e_low": Signal(("n",), "Nm/sᵏ | N/sᵏ"),
    "tau_e_top": Signal(("n",), "Nm/sᵏ | N/sᵏ"),
    "deflection_top": Signal(("n",), "rad/sᵏ | m/sᵏ"),
    "held": Signal(("n",), "Nm | N"),  # torques that a controller integrates
    "held_v": Signal(("n",), "Nm/s | N/s"),
    "command": Signal(("n",), "rad/sᵏ | m/sᵏ"),
    "error": Signal(("n",), "rad | m"),
    "stiffness_error": Signal(("n",), "Nm/rad | N/m"),
    "extension": Signal(("extension",), "rad/sᵏ | m/sᵏ"),
    "extension_rate": Signal(("extension",), "rad/sᵏ | m/sᵏ"),
    "torque_drift": Signal(("n",), "Nm | N"),
    "stiffness_drift": Signal(("n",), "Nm/rad | N/m"),
    "h": Signal((), "s"),
    "drift_gain": Signal((), "1/s"),
    "mass_matrix": Signal(("n", "n"), "kg m² | kg"),
    "mass_matrix_rate": Signal(("n", "n"), "kg m²/s | kg/s"),
    "rotor_coupling": Signal(("n", "motors"), "kg m² | kg m"),
    "coriolis_matrix": Signal(("n", "n"), "kg m²/s | kg/s"),
    "omega": Signal(("triples",), "kg m² | kg m, kg"),
    "regressor": Signal(("n", "parameters"), "Nm/kg, Nm/(kg m), 1/s² | N/kg, N/(kg m), N/(kg m²)"),
    "base_regressor": Signal(("n", "base parameters"), "as of the regressor"),
    "estimate": Signal(("base parameters",), "kg, kg m, kg m²"),
    "estimate_rate": Signal(("base parameters",), "kg/s, kg m/s, kg m²/s"),
    "Gamma": Signal(("base parameters",), "of parameter² / J"),
    "momentum": Signal(("n",), "kg m²/s | kg m/s"),
    "rotation": Signal((3, 3), "1"),
    "position": Signal((3,), "m"),
    "jacobian": Signal((6, "n"), "m | 1, 1 | 0"),
    "pose": Signal((3, 4), "1, m"),
    "energy": Signal((), "J"),
    "lyapunov": Signal((), "J"),
    "lyapunov_rate": Signal((), "W"),
    "linear": Signal((3,), "kg m/s"),
    "angular": Signal((3,), "kg m²/s"),
    "joint_wrenches": Signal(("links", 6), "N, Nm"),
}
ON_LINKS = {"tau": Signal(("n",), "Nm | N")}  # a torque per joint; elsewhere "tau" has an entry per motor


def describe(name: str, signal: Signal, robot: Robot) -> Array:
    """The array of a signal for one robot; entries of joints and motors have names."""
    shape = tuple(SIZES[x](robot) if isinstance(x, str) else x for x in signal.shape)
    labels: tuple[str, ...] = ()
    if signal.shape == ("n",):
        labels = tuple(joint.name for joint in robot.joints)
    elif signal.shape == ("motors",):
        labels = robot.motor_names
    return Array(name, shape, signal.unit, labels)


def expression(owner: str, array: Array, x: Any) -> Any:
    """An argument as SX; numbers are constants."""
    if not is_symbolic(x):
        try:
            x = sx(np.asarray(x, dtype=float))
        except Exception:  # of NumPy, or of CasADi, whose kinds differ from version to version
            raise InputError(f"{owner}: {array.name} is {type(x).__name__}; give SX, or numbers beside it") from None
    wanted = (*array.shape, 1, 1)[:2]
    if x.shape != wanted:
        raise InputError(f"{owner}: {array.name} has shape {x.shape}, as SX it must be {wanted}")
    return x
