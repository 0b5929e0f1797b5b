"""The public names of flexjoint: those at the top, and those that a subpackage exports in its `__init__.py`."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import flexjoint as fj

PACKAGE = Path(fj.__file__).parent


def exported(module: ModuleType) -> dict[str, Any]:
    """Names that a package re-exports (`from .x import y as y`) or defines itself."""
    assert module.__file__ is not None
    names: list[str] = []
    for node in ast.parse(Path(module.__file__).read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            names += [alias.asname for alias in node.names if alias.asname == alias.name]
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
    found = {name: getattr(module, name) for name in names if not name.startswith("_")}
    return {name: x for name, x in found.items() if not isinstance(x, ModuleType)}


TOP = {name: getattr(fj, name) for name in fj.__all__ if not isinstance(getattr(fj, name), ModuleType)}
SPACES = [name for name in fj.__all__ if isinstance(getattr(fj, name), ModuleType)] + ["control.laws"]
PUBLIC = TOP | {
    f"{space}.{name}": x
    for space in SPACES
    for name, x in exported(importlib.import_module(f"flexjoint.{space}")).items()
}
ALGORITHMS = {name: x for name, x in PUBLIC.items() if isinstance(x, fj.algorithm.Algorithm)}
