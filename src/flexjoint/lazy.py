"""CasADi as `ca`, imported on first use: `import flexjoint` takes as long as `import numpy`.  Numbers as SX."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
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
            module = importlib.import_module(self._name)
            with _lock:
                use_direct_operators(module)
            found = getattr(module, attribute)
            setattr(self, attribute, found)  # later uses find it here: 5 % of a cold compile
            return found

    ca = _LazyModule("casadi")

__all__ = ["ca", "is_symbolic", "sx"]

OPERATIONS = {"add": "OP_ADD", "sub": "OP_SUB", "mul": "OP_MUL", "truediv": "OP_DIV"}
_lock = threading.Lock()


def use_direct_operators(casadi: Any) -> None:
    """Let + - * / between SX, and between SX and numbers, call `SX.binary`.

    The functions behind CasADi's operators end there too, but first look whether an operand is an array of NumPy or
    SciPy: 12.5 instead of 1.7 us per operation, a fifth of the time of tests/identities/test_elastic_dynamics.py.
    Operands of other types, MX among them, are left to CasADi's operators.
    """
    if "__radd__" in vars(casadi.SX):  # CasADi has its operators in a base class
        return
    for name, operation in OPERATIONS.items():
        code = getattr(casadi, operation)
        for method, reflected in ((f"__{name}__", False), (f"__r{name}__", True)):
            setattr(casadi.SX, method, _direct(casadi.SX, code, getattr(casadi.SX, method), reflected))


def _direct(SX: Any, code: int, other: Callable[[Any, Any], Any], reflected: bool) -> Callable[[Any, Any], Any]:
    """An operator of SX; `other` is called for operands that are neither SX nor numbers."""
    binary, direct = SX.binary, (SX, float, int)
    if reflected:
        return lambda x, y: binary(code, y, x) if isinstance(y, direct) else other(x, y)
    return lambda x, y: binary(code, x, y) if isinstance(y, direct) else other(x, y)


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
