"""flexjoint: dynamics of robots whose joints are rigid, elastic, of variable stiffness, or any mix; exact and compiled.

    import flexjoint as fj
    robot = fj.load("kuka_lwr")
    tau = fj.inverse_dynamics(robot, q, v, a, jerk, snap)

The top level has robots, the verbs of dynamics, `compile`, `simulate` and the errors.  Everything else is in
subpackages: `fj.control`, `fj.observers`, `fj.trajectory`, `fj.springs`, `fj.detection`, ...
Importing flexjoint imports nothing but NumPy; CasADi and LLVM come in when a kernel is first compiled.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy  # noqa: F401  what every call needs

if TYPE_CHECKING:
    from ._exports import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Return a public name; the first use imports all public names and removes this function.

    A module with a `__getattr__` takes 25 ns more per access to a name, a tenth of a call of inverse dynamics.
    """
    if name.startswith("__") and name != "__all__":  # asked for by the import system
        raise AttributeError(f"module 'flexjoint' has no attribute {name!r}")
    exports = vars(importlib.import_module("._exports", __name__))
    if "_complete" not in exports:  # its `from . import x` checks whether the module x is imported
        raise AttributeError(f"module 'flexjoint' has no attribute {name!r} yet")
    public = {key: value for key, value in exports.items() if not key.startswith("_")}
    globals().update(public, __all__=sorted(public))
    globals().pop("__getattr__", None)
    if name not in globals():
        homes = [key for key, value in public.items() if hasattr(value, "__path__") and hasattr(value, name)]
        hint = f"; it is fj.{homes[0]}.{name}" if homes else ""
        raise AttributeError(f"module 'flexjoint' has no attribute {name!r}{hint}")
    return globals()[name]


def __dir__() -> list[str]:
    if "__all__" not in globals():
        __getattr__("__all__")
    return sorted({*globals()["__all__"], *(key for key in globals() if key.startswith("__"))})
