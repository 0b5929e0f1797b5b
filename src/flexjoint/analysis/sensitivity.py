"""Error bands of motor torques for uncertain parameters, by forward derivatives compiled with the torques.

To first order Δτ = Σ ∂τ/∂p Δp.  A deviation δ of each parameter gives two bands: Σ |∂τ/∂p| δ bounds the error if
no parameter deviates by more than δ; √Σ (∂τ/∂p δ)² is its standard deviation if the parameters are independent and
each has the standard deviation δ.  [VSANEA sec. VI] names such a study as future work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.compile import compile
from ..dynamics.inverse import inverse_dynamics
from ..dynamics.requirements import lossless_gears, require, undamped_springs
from ..errors import InputError
from ..html import table
from ..robot import Robot
from ..robot.parameters import Parameter, select_all
from ..types import FloatArray

PERCENT = "%"
undamped = undamped_springs(
    "the motor torques depend on the past of the motion",
    "error bands are those of undamped springs: give robot.without_spring_damping(), in a robot file damping = 0",
)


class Band(NamedTuple):
    """Error of a torque to either side, in Nm or N; both arrays have the shape of the torque, (..., n).

    Args:
        spread: Standard deviation, for independent parameters.
        bound: First-order bound.
    """

    spread: FloatArray
    bound: FloatArray

    def __repr__(self) -> str:
        return (
            f"<Band {self.spread.shape}: standard deviation up to {largest(self.spread):.3g}, bound up to "
            f"{largest(self.bound):.3g}>"
        )

    def _repr_html_(self) -> str:
        rows = [(name, f"{largest(x):.3g}") for name, x in zip(("standard deviation", "bound"), self)]
        return table(rows, ("", "largest, Nm or N"), caption=f"Band {self.spread.shape}")


def sensitivity(
    robot: Robot,
    q: Sequence[FloatArray] | FloatArray,
    uncertain: Mapping[str, float | str],
    stiffness: Sequence[FloatArray] | FloatArray | None = None,
    wrenches: Mapping[str, Sequence[FloatArray]] | None = None,
) -> dict[str, Band]:
    """Error bands of the motor torques along a motion of a robot with uncertain parameters.

    Args:
        robot: The robot with its nominal parameters; no spring is damped.
        q: Motion [q, q', q'', ...] as a trajectory gives it, each (..., n), rad or m.
        uncertain: Deviation per path or pattern of parameters, a number in the unit of the parameter or a fraction of
            its value: {"*.mass": "5%", "link3.com": 0.01}.
        stiffness: Stiffness [σ, σ', σ''] of the joints, each (..., n), Nm/rad or N/m; only for robots with variable
            stiffness.
        wrenches: Wrenches on links by name, each a list [w, w', ...] of (..., 6); by default none.

    Returns:
        {"tau": Band}, each array (..., motors), in the order of `robot.motor_names`.

    Raises:
        InputError: A path matches no parameter, a deviation is not positive, or a spring is damped.

    Example:
        >>> import flexjoint as fj
        >>> motion = fj.trajectory.RestToRest([0.0] * 7, [0.5] * 7, 2.0)
        >>> band = fj.analysis.sensitivity(fj.load("kuka_lwr"), motion([0.5, 1.0]), {"*.mass": "5%"})["tau"]
    """
    if not uncertain:
        raise InputError("sensitivity: uncertain is empty; name parameters and deviations, such as {'*.mass': '5%'}")
    require("sensitivity", robot, lossless_gears, undamped)
    chosen = select_all(robot, tuple(uncertain))
    deviations = {x.path: deviation(x, given) for x, given in zip(chosen, uncertain.values())}
    pairs = [("tau", pattern) for pattern in deviations]
    loads = dict(wrenches or {})
    counts: dict[str, Any] = {"wrenches": {link: len(stack) for link, stack in loads.items()}} if loads else {}
    if stiffness is not None:
        counts["stiffness"] = len(stiffness)
    kernel = compile(inverse_dynamics, robot, derivatives=pairs, **counts)
    rest = [*([] if stiffness is None else stiffness), *(x for stack in loads.values() for x in stack)]
    slopes = kernel(*q[: len(kernel.inputs) - len(rest)], *rest)
    slopes = [slopes] if len(pairs) == 1 else slopes
    return {"tau": band([columns(slope, deviations[pattern]) for (_, pattern), slope in zip(pairs, slopes)])}


def deviation(parameter: Parameter, given: float | str) -> FloatArray:
    """Deviation of each number of a parameter, in its unit."""
    text = str(given).strip()
    try:
        size = float(text.removesuffix(PERCENT))
    except ValueError:
        size = -1.0
    if not 0 < size < np.inf:
        raise InputError(
            f"the deviation of '{parameter.path}' is {given!r}; give a positive number or, of its value, '5%'"
        )
    if not text.endswith(PERCENT):
        return np.full(parameter.value.shape, size)
    if not np.any(parameter.value):
        raise InputError(f"'{parameter.path}' is 0, and so is {text} of it; give its deviation in {parameter.unit}")
    return np.abs(parameter.value) * size / 100


def columns(slope: FloatArray, deviations: FloatArray) -> FloatArray:
    """∂τ/∂p δ as (..., n, numbers of the parameter)."""
    change = slope * deviations
    return change if deviations.ndim else change[..., None]


def band(changes: Sequence[FloatArray]) -> Band:
    """Both bands, from ∂τ/∂p δ of each parameter."""
    change = np.concatenate(changes, axis=-1)
    return Band(np.sqrt((change**2).sum(axis=-1)), np.abs(change).sum(axis=-1))


def largest(x: FloatArray) -> float:
    """Largest number of an array; 0 for an empty one."""
    return float(np.max(x, initial=0.0))


def named_bands(bands: Mapping[str, Band]) -> dict[str, FloatArray]:
    """Arrays by the names of table columns: tau_spread, tau_bound, ..."""
    return {f"{name}_{key}": values for name, band in bands.items() for key, values in band._asdict().items()}
