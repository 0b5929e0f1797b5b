"""Explains raw exceptions at the public functions: which argument is of the wrong kind, and which kind it must be.

`public(__name__)`, the last line of a package's `__init__.py`, wraps the functions that the package exports and the
methods of its classes.  A call that succeeds is not checked at all.  When a call ends in an exception that is not ours,
its arguments are compared with their annotations; the first that does not match becomes an `InputError`.  Other
exceptions, such as those of a user's own function, pass unchanged.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from numbers import Real
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike

from .errors import FlexjointError, InputError, shown

CHECKED_ELEMENTS = 1000  # of a container that did not fit


class Symbolic:
    """The kind of `Expression`, `Signal` and `Scalar`: CasADi expressions or numbers."""


STRICT: dict[Any, Any] = {np.ndarray: Sequence, Symbolic: (Real, Sequence, np.ndarray)}  # allowed in most functions
TEXTS = {
    Symbolic: "a CasADi expression or a number",
    float: "a number",
    int: "an integer",
    bool: "True or False",
    str: "a string",
    bytes: "bytes",
    None: "None",
    type(None): "None",
    os.PathLike: "a path",
    np.ndarray: "an array of numbers",
    Callable: "a function",
    Mapping: "a mapping",
    dict: "a dict",
    tuple: "a tuple",
    list: "a list",
}


def public(package: str) -> None:
    """Wrap the exported functions and the methods of the exported classes of a package."""
    module = sys.modules[package]
    for name, value in list(vars(module).items()):
        if name.startswith("_") or not getattr(value, "__module__", "").startswith("flexjoint"):
            continue
        if isinstance(value, types.FunctionType) and not hasattr(value, "_explained"):
            exported = explained(value)
            exported.__module__ = package  # where pickle finds it
            setattr(module, name, exported)
        elif isinstance(value, type) and not issubclass(value, FlexjointError | tuple):
            for base in value.__mro__:
                if base.__module__.startswith("flexjoint"):
                    explain_methods(base)


def explain_methods(cls: type) -> None:
    """Wrap `__init__`, `__call__` and the public methods that a class defines itself."""
    for name, value in list(vars(cls).items()):
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        kind = type(value) if isinstance(value, classmethod | staticmethod) else None
        function = value.__func__ if kind else value
        if isinstance(function, types.FunctionType) and not hasattr(function, "_explained"):
            wrapped = explained(function)
            setattr(cls, name, kind(wrapped) if kind else wrapped)


def explained(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose raw exceptions name the argument that is of the wrong kind."""

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except Exception as error:
            if isinstance(error, FlexjointError | Warning):
                raise
            frames = [x.f_code for x, _ in traceback.walk_tb(error.__traceback__)]
            last = [x for x in frames if f"{os.sep}flexjoint{os.sep}" in x.co_filename][-1]
            failed_itself = last in (function.__code__, *function.__code__.co_consts)
            if not (reason := wrong_kind(function, args, keywords, error if failed_itself else None)):
                raise
            raise InputError(reason) from error

    call._explained = True  # type: ignore[attr-defined]
    return call


def wrong_kind(
    function: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any], error: Exception | None
) -> str | None:
    """Name the first argument that does not match its annotation.

    If the function raised the `error` itself, also a list in place of an array, an index out of range, and a function
    that takes other arguments.
    """
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **keywords).arguments
    except TypeError:
        return None  # Python's own message names the missing or surplus argument
    owner = f"{type(bound['self']).__name__}.{function.__name__}" if "self" in bound else function.__name__
    owner = owner.removesuffix(".__init__")
    kinds: dict[str, Any] = {}
    for name in bound:
        parameter = signature.parameters[name]
        kinds[name] = evaluated(parameter.annotation, function.__globals__)
        if parameter.kind is parameter.VAR_POSITIONAL:
            kinds[name] = tuple.__class_getitem__((kinds[name], ...))
        elif parameter.kind is parameter.VAR_KEYWORD:
            kinds[name] = dict.__class_getitem__((str, kinds[name]))
    given = {name: x for name, x in bound.items() if x is not signature.parameters[name].default and name != "self"}
    substitutes = [x for x in given if error and isinstance(given[x], STRICT.get(get_origin(kinds[x]) or kinds[x], ()))]
    for name in (*(x for x in given if not matches(given[x], kinds[x])), *substitutes):
        value = given[name]
        return f"{owner}: {name} must be {described(kinds[name])}, got {type(value).__name__} {shown(value)}"
    for name, value in given.items():
        if isinstance(error, IndexError) and kinds[name] is int:
            return f"{owner}: {name} is {value}, out of range"
        if isinstance(error, TypeError) and callable(value):
            return f"{owner}: {name} cannot be called as it must be: {error}"
    return None


class Names(dict[str, Any]):
    """Names in annotations: those that a module imports for type checkers alone are found where they are defined."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            return getattr(builtins, name)
        for module in [
            x for key, x in sys.modules.items() if key.startswith(("flexjoint.", "collections.abc", "matplotlib."))
        ]:
            if isinstance(value := vars(module).get(name), type | types.ModuleType) or get_origin(value):
                return value
        raise KeyError(name)


def evaluated(annotation: Any, names: Mapping[str, Any]) -> Any:
    """An annotation as a type."""
    if not isinstance(annotation, str):
        return Any if annotation is inspect.Parameter.empty else annotation
    symbolic = dict.fromkeys(("Expression", "Signal", "Scalar", "Vector", "Matrix"), Symbolic)
    try:
        return eval(annotation, {}, Names({**names, **symbolic}))
    except (NameError, TypeError):
        return Any


def matches(value: Any, annotation: Any) -> bool:
    """Whether a value is of the kind that an annotation asks for; True where that cannot be decided."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any or isinstance(annotation, str):
        return True
    if annotation is ArrayLike or annotation is np.ndarray or origin is np.ndarray:
        return is_numeric(value)
    if annotation is None:
        return value is None
    if origin in (Union, types.UnionType):
        return any(matches(value, x) for x in arguments)
    if origin is Literal:
        return any(type(value) is type(x) and value == x for x in arguments)
    if annotation is Symbolic:
        return type(value).__module__.startswith("casadi") or is_numeric(value)
    if annotation in (int, float):
        kinds = "iu" if annotation is int else "iuf"
        return np.ndim(value) == 0 and is_numeric(value) and np.asarray(value).dtype.kind in kinds
    kind = origin or annotation
    if not isinstance(kind, type):
        return True
    if getattr(kind, "_is_protocol", False):
        return all(hasattr(value, x) for x in vars(kind) if not x.startswith("_"))
    if not isinstance(value, kind) or (issubclass(kind, Iterable) and kind is not str and not np.iterable(value)):
        return False
    if isinstance(value, str | bytes) and kind not in (str, bytes, object):
        return False
    if isinstance(value, Mapping) and len(arguments) == 2:
        pairs = islice(value.items(), CHECKED_ELEMENTS)
        return all(matches(x, arguments[0]) and matches(y, arguments[1]) for x, y in pairs)
    if isinstance(value, tuple) and arguments and arguments[-1] is not Ellipsis:
        return len(value) == len(arguments) and all(map(matches, value, arguments))
    if isinstance(value, Sequence | Mapping | np.ndarray) and arguments:
        return all(matches(x, arguments[0]) for x in islice(value, CHECKED_ELEMENTS))
    return True


def is_numeric(value: Any) -> bool:
    """Whether NumPy takes a value for an array of real numbers."""
    try:
        array = np.asarray(value)
        return array.dtype.kind in "biuf" or (array.dtype == object and bool(np.isfinite(array.astype(float)).all()))
    except (TypeError, ValueError, OverflowError):
        return False


def described(annotation: Any) -> str:
    """An annotation in words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is ArrayLike or annotation is np.ndarray or origin is np.ndarray:
        return "an array of numbers"
    if origin in (Union, types.UnionType):
        texts = list(dict.fromkeys(map(described, arguments)))
        return " or ".join(texts)
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    if annotation in TEXTS:
        return TEXTS[annotation]
    if isinstance(annotation, type) and not arguments:
        return f"{'an' if annotation.__name__[0] in 'AEIOU' else 'a'} {annotation.__name__}"
    inner = [described(x).removeprefix("a ").removeprefix("an ") for x in arguments if x is not Ellipsis]
    return f"{TEXTS.get(origin, 'a sequence')} of {' to '.join(dict.fromkeys(inner))}" if inner else "a sequence"
