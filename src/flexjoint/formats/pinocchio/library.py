"""The library itself, imported when it is first needed, and what its versions 3 and 4 call differently."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from ...errors import InputError
from ...types import FloatArray

NO_LIMIT = sys.float_info.max  # what Pinocchio has in place of infinity
LARGEST = 1e100  # a larger limit is none
AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
# (lower, upper) since version 4, and the only vector of version 3
SIGNED = {
    "friction": ("lowerDryFrictionLimit", "upperDryFrictionLimit"),
    "effortLimit": ("lowerEffortLimit", "upperEffortLimit"),
    "velocityLimit": ("lowerVelocityLimit", "upperVelocityLimit"),
}


def library() -> Any:
    """The module `pinocchio`, version 3 or newer.

    Raises:
        InputError: it is not installed, or is too old or another package of that name.
    """
    try:
        pin = importlib.import_module("pinocchio")
    except ImportError:
        raise InputError(
            "this needs Pinocchio, which is not installed: pip install 'flexjoint[pinocchio]', or pip install pin"
        ) from None
    version = getattr(pin, "__version__", "0")
    if not hasattr(pin, "Model") or int(version.partition(".")[0]) < 3:
        raise InputError(f"the installed package pinocchio {version} is too old, or another one: pip install 'pin>=3'")
    return pin


def is_two_sided(model: Any) -> bool:
    """Whether a model has bounds by direction, since version 4."""
    return hasattr(model, SIGNED["friction"][1])


def signed_vectors(model: Any, name: str) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds (nv,) of "friction", "effortLimit" or "velocityLimit"."""
    lower, upper = SIGNED[name]
    if is_two_sided(model):
        return np.array(getattr(model, lower)), np.array(getattr(model, upper))
    both = np.array(getattr(model, name))
    return -both, both


def set_signed(model: Any, name: str, lower: FloatArray, upper: FloatArray) -> None:
    """Set the bounds (nv,); version 3 has one bound for both directions, the greater one."""
    if is_two_sided(model):
        setattr(model, SIGNED[name][0], lower)
        setattr(model, SIGNED[name][1], upper)
    else:
        setattr(model, name, np.maximum(-lower, upper))
