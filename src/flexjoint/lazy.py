"""CasADi as `ca`, imported when it is first used: `import flexjoint` stays as fast as `import numpy`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import casadi as ca
else:

    class _LazyModule:
        def __init__(self, name: str):
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            return getattr(importlib.import_module(self._name), attribute)

    ca = _LazyModule("casadi")

__all__ = ["ca"]
