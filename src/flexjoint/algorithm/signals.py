"""What algorithms take and give: names, shapes and units; how the arrays of a call are grouped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compiler.ir.program import Array
from ..errors import InputError
from ..robot import Robot
from ..spatial import is_symbolic, sx


class Signal(NamedTuple):
    """Trailing shape (numbers, or names in `SIZES`) and unit (turning | sliding joint)."""

    shape: tuple[int | str, ...]
    unit: str


SIZES: dict[str, Callable[[Robot], int]] = {
    "n": lambda robot: robot.n,  # moving joints
    "links": lambda robot: len(robot.links),
    "all": lambda robot: robot.n + sum(robot.elastic),  # moving joints, and motors behind springs
}
SIGNALS = {
    "q": Signal(("n",), "rad | m"),
    "v": Signal(("n",), "rad/s | m/s"),
    "v_a": Signal(("n",), "rad/s | m/s"),
    "a": Signal(("n",), "rad/s² | m/s²"),
    "higher": Signal(("n",), "rad/sᵏ | m/sᵏ"),
    "jerk": Signal(("n",), "rad/s³ | m/s³"),
    "snap": Signal(("n",), "rad/s⁴ | m/s⁴"),
    "theta": Signal(("n",), "rad | m"),
    "theta_v": Signal(("n",), "rad/s | m/s"),
    "theta_v_a": Signal(("n",), "rad/s | m/s"),
    "theta_a": Signal(("n",), "rad/s² | m/s²"),
    "theta_d": Signal(("n",), "rad | m"),
    "theta_d_v": Signal(("n",), "rad/s | m/s"),
    **{f"theta_{k}": Signal(("n",), "rad | m") for k in (1, 2)},
    **{f"theta_{k}_v": Signal(("n",), "rad/s | m/s") for k in (1, 2)},
    **{f"theta_{k}_a": Signal(("n",), "rad/s² | m/s²") for k in (1, 2)},
    **{f"phi_{k}": Signal(("n",), "rad | m") for k in (1, 2)},
    **{f"phi_{k}_v": Signal(("n",), "rad/s | m/s") for k in (1, 2)},
    **{f"tau_{k}": Signal(("n",), "Nm | N") for k in (1, 2)},
    **{f"tau_e_{k}": Signal(("n",), "Nm | N") for k in (1, 2)},
    "sigma": Signal(("n",), "Nm/rad | N/m"),
    "sigma_v": Signal(("n",), "Nm/(rad s) | N/(m s)"),
    "sigma_a": Signal(("n",), "Nm/(rad s²) | N/(m s²)"),
    "stiffness_command": Signal(("n",), "Nm/(rad s²) | N/(m s²)"),
    "lower": Signal(("n",), "Nm/rad | N/m"),
    "upper": Signal(("n",), "Nm/rad | N/m"),
    "deflection": Signal(("n",), "rad | m"),
    "deflection_v": Signal(("n",), "rad/s | m/s"),
    "q_d": Signal(("n",), "rad | m"),
    "v_d": Signal(("n",), "rad/s | m/s"),
    "a_d": Signal(("n",), "rad/s² | m/s²"),
    "Lambda": Signal(("n",), "1/s"),
    "K_P": Signal(("n",), "Nm/rad | N/m"),
    "K_D": Signal(("n",), "Nm s/rad | N s/m"),
    "tau": Signal(("n",), "Nm | N"),
    "tau_e": Signal(("n",), "Nm | N"),
    "tau_e_v": Signal(("n",), "Nm/s | N/s"),
    "tau_e_a": Signal(("n",), "Nm/s² | N/s²"),
    "tau_e_top": Signal(("n",), "Nm/sᵏ | N/sᵏ"),
    "command": Signal(("n",), "rad/sᵏ | m/sᵏ"),
    "error": Signal(("n",), "rad | m"),
    "stiffness_error": Signal(("n",), "Nm/rad | N/m"),
    "h": Signal((), "s"),
    "mass_matrix": Signal(("n", "n"), "kg m² | kg"),
    "all_inertias": Signal(("all", "all"), "kg m² | kg"),
    "coupled_rates": Signal(("all", "all"), "kg m²/s | kg/s"),
    "mass_matrix_rate": Signal(("n", "n"), "kg m²/s | kg/s"),
    "coriolis_matrix": Signal(("n", "n"), "kg m²/s | kg/s"),
    "regressor": Signal(("n", "parameters"), "Nm/kg, Nm/(kg m), 1/s² | N/kg, N/(kg m), N/(kg m²)"),
    "base_regressor": Signal(("n", "base parameters"), "as of the regressor"),
    "estimate": Signal(("base parameters",), "kg, kg m, kg m²"),
    "estimate_rate": Signal(("base parameters",), "kg/s, kg m/s, kg m²/s"),
    "Gamma": Signal(("base parameters",), "of parameter² / J"),
    **{x: Signal(("n",), "kg m²/s | kg m/s") for x in ("momentum", "links", "motors")},
    "rotation": Signal((3, 3), "1"),
    "position": Signal((3,), "m"),
    "jacobian": Signal((6, "n"), "m | 1, 1 | 0"),
    "energy": Signal((), "J"),
    "linear": Signal((3,), "kg m/s"),
    "angular": Signal((3,), "kg m²/s"),
    "joint_wrenches": Signal(("links", 6), "N, Nm"),
}
GROUPS = {
    "wrenches": Signal((6,), "N/sᵏ, Nm/sᵏ"),
    "base": Signal((3,), "rad/sᵏ⁺¹, m/sᵏ⁺²"),
    "tracking": Signal(("n",), "rad/sᵏ | m/sᵏ, 1/sᵏ"),
    "phi0": Signal(("n",), "rad | m"),
    "damping": Signal(("n",), "Nm s/rad | N s/m"),
}


def describe(name: str, signal: Signal, robot: Robot) -> Array:
    shape = tuple(SIZES[x](robot) if isinstance(x, str) else x for x in signal.shape)
    labels = tuple(joint.name for joint in robot.joints) if signal.shape == ("n",) else ()
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


class Structure(NamedTuple):
    """All that decides which code a call needs, beside the robot."""

    arrays: int
    groups: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    free: tuple[str, ...] = ()  # paths and patterns of parameters
    derivatives: tuple[tuple[str, str], ...] = ()  # of which output, by which input or parameter

    @property
    def members(self) -> list[tuple[str, str]]:
        """Of every array in a group: the group, and the array's own name."""
        stacks = [(group, key, count) for group, members in self.groups for key, count in members]
        return [(group, f"{group}.{key}[{k}]") for group, key, count in stacks for k in range(count)]

    def arranged(self, arrays: Iterable[Any]) -> tuple[list[Any], dict[str, dict[str, list[Any]]]]:
        """All arrays of a call as the function takes them: positional ones, and groups of stacks by name."""
        given = iter(arrays)
        positional = [next(given) for _ in range(self.arrays)]
        groups = {
            group: {key: [next(given) for _ in range(count)] for key, count in members}
            for group, members in self.groups
        }
        return positional, groups


def flatten_groups(name: str, keywords: Mapping[str, Any]) -> tuple[tuple, list[Any]]:
    """Structure and leaves of the groups among the keywords: each a mapping (or NamedTuple) of stacks."""
    groups, leaves = [], []
    for group in GROUPS:
        if (value := keywords.get(group)) is None:
            continue
        members = value._asdict() if hasattr(value, "_asdict") else value
        if not isinstance(members, Mapping):
            raise InputError(f"{name}: {group} must map names to stacks of derivatives, not {type(value).__name__}")
        counts = []
        for key, stack in members.items():
            several = isinstance(stack, Sequence) or (isinstance(stack, np.ndarray) and stack.ndim > 0)
            if not several or not len(stack) or not (is_symbolic(stack[0]) or np.ndim(stack[0])):
                raise InputError(
                    f"{name}: {group}[{key!r}] must be a stack [x, x', ...] of arrays (..., {GROUPS[group].shape[0]}); "
                    "for a single one write [x]"
                )
            counts.append((key, len(stack)))
            leaves += list(stack)
        groups.append((group, tuple(counts)))
    return tuple(groups), leaves
