"""CasADi as `ca`, imported on first use: `import flexjoint` takes as long as `import numpy`.  Numbers as SX."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from .types import Expression

if TYPE_CHECKING:
    import casadi as ca
else:

    class _LazyModule:
        def __init__(self, name: str):
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            found = getattr(importlib.import_module(self._name), attribute)
            setattr(self, attribute, found)  # later uses find it here: 5 % of a cold compile
            return found

    ca = _LazyModule("casadi")

__all__ = ["ca", "is_symbolic", "sx"]


def is_symbolic(x: object) -> bool:
    """Whether x is an SX; does not import CasADi."""
    return type(x).__name__ == "SX" and type(x).__module__.startswith("casadi")


def sx(value: Any) -> Expression:
    """Numbers as a dense SX, in which exact zeros cost nothing.  A list may hold numbers and SX."""
    if is_symbolic(value):
        return value
    if isinstance(value, list) and any(map(is_symbolic, value)):
        return ca.vertcat(*value)
    array = np.asarray(value, dtype=float)
    if array.ndim == 2:
        return ca.SX(ca.Sparsity.dense(*array.shape), ca.SX(array.ravel("F").tolist()))
    return ca.SX(array.tolist())  # a third of the time of SX(DM(array))
