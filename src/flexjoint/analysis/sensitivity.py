"""How far motor torques are off where parameters of the robot are: forward derivatives, compiled with the torques.

To first order Δτ = Σ ∂τ/∂p Δp.  Two bands follow from a deviation δ of each parameter: Σ |∂τ/∂p| δ bounds the error if
no parameter is off by more than δ, and √Σ (∂τ/∂p δ)² is its standard deviation if parameters are independent with the
standard deviation δ.  [VSANEA sec. VI] names such a study as future work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.compile import compile
from ..dynamics.inverse import inverse_dynamics
from ..errors import InputError
from ..robot import Robot
from ..robot.parameters import Parameter, select_all

PERCENT = "%"


class Band(NamedTuple):
    """How far a torque may be off on either side: standard deviation, and bound.  Each has the shape of the torque."""

    spread: np.ndarray
    bound: np.ndarray


def sensitivity(
    robot: Robot,
    q: Sequence[Any] | np.ndarray,
    uncertain: Mapping[str, float | str],
    stiffness: Sequence[Any] | np.ndarray | None = None,
    wrenches: Mapping[str, Sequence[Any]] | None = None,
) -> dict[str, Band]:
    """Bands of the motor torques for a motion [q, q', ...], as a trajectory gives it, on a robot not known exactly.

    `uncertain` maps paths or patterns of parameters to their deviations, numbers in the unit of the parameter or texts
    such as "5%" of its value: {"*.mass": "5%", "link3.com": 0.01}.  `stiffness` is [σ, σ', σ''] of the joints,
    where some have variable stiffness.  The result is {"tau": band}, (..., motors).
    """
    if not uncertain:
        raise InputError("sensitivity: name the parameters that are uncertain, for example {'*.mass': '5%'}")
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


def deviation(parameter: Parameter, given: float | str) -> np.ndarray:
    """The deviation of each number of a parameter."""
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


def columns(slope: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """∂τ/∂p δ as (..., n, numbers of the parameter)."""
    change = slope * deviations
    return change if deviations.ndim else change[..., None]


def band(changes: Sequence[np.ndarray]) -> Band:
    change = np.concatenate(changes, axis=-1)
    return Band(np.sqrt((change**2).sum(axis=-1)), np.abs(change).sum(axis=-1))


def named_bands(bands: Mapping[str, Band]) -> dict[str, np.ndarray]:
    """As columns of a table: tau_spread, tau_bound, ..."""
    return {f"{name}_{key}": values for name, band in bands.items() for key, values in band._asdict().items()}
