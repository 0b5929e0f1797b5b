"""Dependencies of a function or an instance: captured variables, globals, defaults and attributes that it can read.

Also tells which code belongs to Python or to an installed package, which a name and a version identify.
"""

from __future__ import annotations

import builtins
import dis
import functools
import importlib
import sys
import sysconfig
import types
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

from ..errors import InputError

UNSEEN = ("eval", "exec", "globals", "open", "input", "__import__")  # they read data that no variable has
GLOBAL_READS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
CELL_READS = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
ATTRIBUTE_READS = ("LOAD_ATTR", "LOAD_METHOD")
EMPTY = "no value yet"


def variables(function: types.FunctionType) -> dict[str, Any]:
    """All that a function can read besides its arguments, by name: captured variables, globals, defaults.

    For a module of the user these are its members with names that the function uses.
    """
    found = dict(zip(function.__code__.co_freevars, map(content, function.__closure__ or ())))
    names = sorted({x for code in codes(function.__code__) for x in code.co_names})
    for listed in map(list, map(dis.get_instructions, codes(function.__code__))):
        for here, after in zip(listed, [*listed[1:], None]):
            key = str(here.argval)
            if here.opname in GLOBAL_READS:
                found[key] = looked_up(function, key)
            reads = here.opname in (*GLOBAL_READS, *CELL_READS) and is_own_module(found.get(key))
            if reads and (after is None or after.opname not in ATTRIBUTE_READS):
                what = f"uses the module '{key}' as a whole, not only names in it, and cannot be identified"
                raise refusal(function.__qualname__, what)
        for level, _, here in zip(listed, listed[1:], listed[2:]):
            if here.opname == "IMPORT_NAME":
                found[f"import {here.argval}"] = imported_module(function, str(here.argval), level.argval)
    found = {key: members(x, names) if is_own_module(x) else x for key, x in found.items()}
    found |= {f"default {k}": x for k, x in enumerate(function.__defaults__ or ())}
    found |= {f"default {key}": x for key, x in sorted((function.__kwdefaults__ or {}).items())}
    return found | {f"attribute {key}": x for key, x in sorted(vars(function).items())}


def content(cell: types.CellType) -> Any:
    """Value of a captured variable; a text if it has none yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Code of a function and of the functions inside it."""
    yield code
    for x in code.co_consts:
        if isinstance(x, types.CodeType):
            yield from codes(x)


def looked_up(function: types.FunctionType, key: str) -> Any:
    """Value of a global name; a text if it does not exist yet."""
    if key in function.__globals__:
        return function.__globals__[key]
    if key in UNSEEN:
        raise refusal(function.__qualname__, f"calls {key}(), and what that reads cannot be identified")
    return getattr(builtins, key, f"no global {key}")


def imported_module(function: types.FunctionType, key: str, level: Any) -> Any:
    """Module that a function imports; a text if there is none."""
    try:
        package = function.__globals__.get("__package__") or ""
        return importlib.import_module(resolve_name("." * level + key, package) if level else key)
    except (ImportError, TypeError):
        return f"no module {key}"


def is_own_module(item: Any) -> bool:
    """Whether an object is a module of the user."""
    return isinstance(item, types.ModuleType) and not library(item.__name__)


def members(module: types.ModuleType, names: list[str]) -> dict[str, Any]:
    """Members of a module of the user with names that a function uses."""
    found = {}
    for key in names:
        if key in vars(module):
            value = vars(module)[key]
            found[key] = members(value, names) if is_own_module(value) and value is not module else value
    return found


def attributes(item: Any) -> dict[str, Any]:
    """Attributes of an instance in alphabetical order, without cached properties."""
    bases = type(item).__mro__
    found = dict(getattr(item, "__dict__", {}))
    slots = [x for base in bases for x in as_tuple(vars(base).get("__slots__", ()))]
    found |= {x: getattr(item, x) for x in slots if x not in ("__dict__", "__weakref__") and hasattr(item, x)}
    computed = {key for base in bases for key, x in vars(base).items() if isinstance(x, functools.cached_property)}
    return {str(key): found[key] for key in sorted(found.keys() - computed)}


def as_tuple(slots: Any) -> tuple[str, ...]:
    """Slots of a class as a tuple."""
    return (slots,) if isinstance(slots, str) else tuple(slots)


def generated(item: Any) -> bool:
    """Whether `dataclass` generated a method; the fields describe it."""
    inner = getattr(item, "__wrapped__", item)
    return item is None or (isinstance(inner, types.FunctionType) and inner.__code__.co_filename == "<string>")


# Code of others ----------------------------------------------------------------------------------------------


@functools.cache
def folders() -> tuple[Path, ...]:
    """Folders of Python and of installed packages."""
    paths = sysconfig.get_paths()
    return tuple(Path(paths[key]).resolve() for key in ("stdlib", "platstdlib", "purelib", "platlib"))


@functools.cache
def library(module: str) -> bool:
    """Whether a module belongs to Python, flexjoint or an installed package, so that its version identifies it."""
    top = module.partition(".")[0]
    if top in ("flexjoint", "builtins") or top in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(top), "__file__", None)
    return file is not None and any(folder in Path(file).resolve().parents for folder in folders())


@functools.cache
def version_of(module: str) -> str:
    """Version of the package of a module."""
    top = module.partition(".")[0]
    return str(getattr(sys.modules.get(top), "__version__", "")) or ".".join(map(str, sys.version_info[:2]))


def found_by_name(item: Any) -> bool:
    """Whether an object of Python or of an installed package is found under its own name."""
    name, found = getattr(item, "__qualname__", None), sys.modules.get(module_of(item))
    if not isinstance(name, str) or not library(module_of(item)):
        return False
    for key in name.split("."):
        found = getattr(found, key, None)
    return found is item


def module_of(item: Any) -> str:
    """Name of the module of an object."""
    module = getattr(item, "__module__", None)
    return module if isinstance(module, str) else "builtins"


def written_here(kind: type) -> bool:
    """Whether a class belongs to the user or to flexjoint, so that attributes identify an instance."""
    module = module_of(kind)
    return not library(module) or module.startswith("flexjoint.")


def refusal(name: str, what: str) -> InputError:
    """Error for an object that cannot be identified."""
    return InputError(
        f"monte_carlo: a folder holds samples of one controller, but {name[:200]} {what[:200]}; give the controller an "
        "attribute identity, a text that you change whenever the controller changes, or run without a folder"
    )
