"""Digest of a Python object, the same in every process: of its code and all data that the code can reach.

A study resumes from a folder of samples only if the same controller computed them.  A controller written in Python is
identified by its bytecode, defaults, captured variables and globals, and as an instance by its class and attributes, to
any depth.  Arrays are identified by content, code of Python itself and of installed packages by name and version.
Nothing that differs between processes is used: no addresses, no hashes, no order of a set.

An object that cannot be identified, such as an open file or a lock, is refused.  An attribute `identity`, a text that
the user changes together with the controller, replaces all of this.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..compiler.runtime.kernel import Kernel
from ..robot import Robot
from .dependencies import (
    attributes,
    found_by_name,
    generated,
    library,
    module_of,
    refusal,
    variables,
    version_of,
    written_here,
)

LENGTH = 32  # hexadecimal digits of a digest
SHOWN = 16  # numbers of an array up to which a file of settings has them instead of a digest
ATOMS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range)
CONTENTS: tuple[Any, ...] = (int, float, complex, str, bytes, tuple, list, dict, set, frozenset)
DESCRIPTORS = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
NOT_CODE = {
    "__module__",
    "__dict__",
    "__weakref__",
    "__doc__",
    "__annotations__",
    "__annotations_cache__",
    "__annotate_func__",
    "__abstractmethods__",
    "_abc_impl",
    "__dataclass_fields__",
    "__dataclass_params__",
    "__firstlineno__",
    "__static_attributes__",
}  # attributes of a class that do not change what it does


def digest_of(item: Any, name: str) -> str:
    """Digest of an object, as text.

    Args:
        item: Any object.
        name: Of the object in messages.

    Raises:
        InputError: A part cannot be identified, with its name and a remedy.
    """
    return Walk()(item, name).hex()[:LENGTH]


def described(item: Any, name: str) -> Any:
    """Description of an object as JSON can hold it, for settings that people read and compare.

    Numbers and texts are described by themselves; a function or an instance by its name, a digest of its code, and its
    data by name, so that a comparison shows which part differs.
    """
    if type(item) in (type(None), bool, int, float, str, np.ndarray):
        return item if isinstance(item, str) else brief(item, name)
    if isinstance(item, Robot):
        return item.digest
    if isinstance(item, Mapping):
        return {str(key): described(x, f"{name}.{key}") for key, x in item.items()}
    own = declared(item)
    if own is not None:
        return {"name": name_of(item), "identity": own}
    if isinstance(item, types.FunctionType):
        return summary(item, item.__code__, variables(item), name)
    if isinstance(item, types.MethodType):
        return summary(item, item.__func__, attributes(item.__self__), name)
    if isinstance(item, functools.partial):
        given = {str(k): x for k, x in enumerate(item.args)} | item.keywords
        return summary(item.func, item.func, given, name) | {"digest": digest_of(item, name)}
    if written_here(type(item)) and not isinstance(item, CONTENTS):
        return summary(item, type(item), attributes(item), name)
    return digest_of(item, name)


def summary(item: Any, code: Any, data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Name, digest of the code, data by name, and digest of all."""
    shown = {key: brief(x, f"{name}.{key}") for key, x in data.items()}
    return {"name": name_of(item), "code": digest_of(code, name), "data": shown, "digest": digest_of(item, name)}


def brief(item: Any, name: str) -> Any:
    """A few numbers as they are; a digest of anything else."""
    few = isinstance(item, float) or (type(item) is np.ndarray and item.dtype == float and item.size <= SHOWN)
    if few and np.all(np.isfinite(item)):  # NaN is not equal to itself
        return np.asarray(item).tolist()
    return item if type(item) in (type(None), bool, int) else digest_of(item, name)


def name_of(item: Any) -> str:
    """Module and name of an object or of its class."""
    kind = item if hasattr(item, "__qualname__") else type(item)
    return f"{module_of(kind)}.{kind.__qualname__}"


def declared(item: Any) -> str | None:
    """The attribute `identity` of an object; None without one."""
    own = None if isinstance(item, type | types.ModuleType) else getattr(item, "identity", None)
    return own if isinstance(own, str) and own else None


class Walk:
    """Digests of an object and all it refers to; an object that contains itself is identified by its depth."""

    def __init__(self) -> None:
        self.found: dict[int, bytes] = {}
        self.depth: dict[int, int] = {}
        self.kept: list[Any] = []  # keeps objects alive, so that no two have the same id

    def __call__(self, item: Any, name: str) -> bytes:
        if type(item) in ATOMS:
            return atom(item)
        key = id(item)
        if key in self.found:
            return self.found[key]
        if key in self.depth:
            return sealed("again", str(self.depth[key]).encode())
        self.depth[key] = len(self.depth)
        self.kept.append(item)
        try:
            self.found[key] = self.composite(item, name)
        except RecursionError:
            raise refusal(name, "is nested too deeply to be identified") from None
        finally:
            del self.depth[key]
        return self.found[key]

    def named(self, items: Mapping[str, Any], name: str) -> bytes:
        return sealed("named", *(y for key, x in items.items() for y in (atom(key), self(x, f"{name}.{key}"))))

    def composite(self, item: Any, name: str) -> bytes:
        """Digest of an object with parts."""
        if (own := declared(item)) is not None:
            return sealed("declared", name_of(item).encode(), own.encode())
        if found_by_name(item):
            return by_name(item)
        if isinstance(item, Robot):
            return sealed("robot", item.digest.encode())
        if isinstance(item, Kernel):
            return sealed("kernel", item.key.encode()) if item.key else self(item.program, f"{name}.program")
        for kinds, way in WAYS:
            if isinstance(item, kinds):
                found = way(self, item, name)
                if found is not None:
                    return found
        return self.instance(item, name)

    # Data -----------------------------------------------------------------------------------------------------

    def array(self, item: Any, name: str) -> bytes | None:
        if type(item) is not np.ndarray and not isinstance(item, np.generic):
            return None
        shape, kind = str(item.shape).encode(), item.dtype.str.encode()
        if item.dtype.hasobject:
            return sealed("objects", shape, self(item.ravel().tolist(), name))
        if item.dtype.names:
            kind = repr(item.dtype.descr).encode()
        return sealed("array", shape, kind, np.ascontiguousarray(item).tobytes())

    def sequence(self, item: Any, name: str) -> bytes | None:
        if type(item) not in (tuple, list):
            return None
        return sealed(type(item).__name__, *(self(x, f"{name}[{k}]") for k, x in enumerate(item)))

    def mapping(self, item: Any, name: str) -> bytes | None:
        if type(item) not in (dict, types.MappingProxyType):
            return None
        return sealed("dict", *(y for k, x in item.items() for y in (self(k, name), self(x, f"{name}[{k!r}]"))))

    def unordered(self, item: Any, name: str) -> bytes | None:
        if type(item) not in (set, frozenset):
            return None
        return sealed(type(item).__name__, *sorted(self(x, name) for x in item))

    def instance(self, item: Any, name: str) -> bytes:
        """Digest of an instance: by its attributes, or if an installed package has its class, by what it pickles."""
        kind = type(item)
        if not written_here(kind):
            return sealed("object", self(kind, name), self.reduced(item, name))
        content = [base(item) for base in CONTENTS if isinstance(item, base)]
        return sealed("instance", self(kind, name), self(content, name), self.named(attributes(item), name))

    def reduced(self, item: Any, name: str) -> bytes:
        """Digest of the reduced form that pickle uses for an object of an installed package."""
        try:
            whole = item.__reduce_ex__(4)
        except Exception as error:  # packages raise any error here
            raise refusal(name, f"is a {name_of(type(item))}, which cannot be identified") from error
        if isinstance(whole, str):
            return sealed("global", whole.encode(), str(getattr(item, "__module__", "")).encode())
        written = [list(x) if isinstance(x, Iterator) else x for x in whole]
        return sealed("reduced", *(self(x, name) for x in written))

    # Code -----------------------------------------------------------------------------------------------------

    def function(self, item: types.FunctionType, name: str) -> bytes:
        return sealed("function", self(item.__code__, name), self.named(variables(item), name))

    def code(self, item: types.CodeType, name: str) -> bytes:
        """Digest of bytecode without line numbers and file names."""
        numbers = (item.co_argcount, item.co_posonlyargcount, item.co_kwonlyargcount, item.co_flags)
        names = (item.co_names, item.co_varnames, item.co_freevars, item.co_cellvars)
        rest = (item.co_code, item.co_exceptiontable, item.co_consts)
        return sealed("code", *(self(x, name) for x in (numbers, names, *rest)))

    def method(self, item: Any, name: str) -> bytes:
        return sealed("method", self(item.__func__, name), self(item.__self__, name))

    def builtin(self, item: Any, name: str) -> bytes:
        owner = item.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            return by_name(item)
        return sealed("builtin", item.__name__.encode(), self(owner, name))

    def descriptor(self, item: Any, name: str) -> bytes:
        return sealed("descriptor", name_of(item.__objclass__).encode(), item.__name__.encode())

    def wrapped(self, item: Any, name: str) -> bytes:
        return sealed("wrapped", name_of(type(item)).encode(), self(item.__func__, name))

    def accessor(self, item: Any, name: str) -> bytes:
        return sealed("property", *(self(x, name) for x in (item.fget, item.fset, item.fdel)))

    def cached(self, item: Any, name: str) -> bytes:
        return sealed("cached", self(item.func, name))

    def memoized(self, item: Any, name: str) -> bytes:
        return sealed("memoized", self(item.__wrapped__, name))

    def ufunc(self, item: np.ufunc, name: str) -> bytes:
        if getattr(np, item.__name__, None) is item:
            return sealed("ufunc", item.__name__.encode(), np.__version__.encode())
        for module in ("scipy.special",):
            if getattr(sys.modules.get(module), item.__name__, None) is item:
                return sealed("ufunc", module.encode(), item.__name__.encode(), version_of(module).encode())
        raise refusal(name, f"is the ufunc '{item.__name__}' of unknown code, which cannot be identified")

    def module(self, item: types.ModuleType, name: str) -> bytes:
        if not library(item.__name__):
            raise refusal(name, f"is the module '{item.__name__}' as a whole, which cannot be identified")
        return sealed("module", item.__name__.encode(), version_of(item.__name__).encode())

    def algorithm(self, item: Any, name: str) -> bytes | None:
        """Digest of an object that wraps a function, such as those that `@algorithm` makes."""
        if not isinstance(getattr(item, "__wrapped__", None), types.FunctionType):
            return None
        return sealed("algorithm", self(type(item), name), self(item.__wrapped__, name))

    def kind(self, item: type, name: str) -> bytes:
        if library(module_of(item)):
            return by_name(item)
        kept = {key: x for key, x in sorted(vars(item).items()) if key not in NOT_CODE}
        if "__dataclass_fields__" in vars(item):
            made = {key for key, x in kept.items() if key.startswith("__") and generated(x)}
            kept = {key: x for key, x in kept.items() if key not in made}
            fields = vars(item)["__dataclass_fields__"].items()
            kept |= {f"{key} default": x.default_factory for key, x in fields if callable(x.default_factory)}
        bases = [self(x, name) for x in (type(item), *item.__bases__)]
        return sealed("class", name_of(item).encode(), *bases, self.named(kept, name))


WAYS: list[tuple[Any, Any]] = [
    ((np.ndarray, np.generic), Walk.array),
    ((tuple, list), Walk.sequence),
    ((dict, types.MappingProxyType), Walk.mapping),
    ((set, frozenset), Walk.unordered),
    (types.FunctionType, Walk.function),
    (types.CodeType, Walk.code),
    (types.MethodType, Walk.method),
    ((types.BuiltinFunctionType, types.MethodWrapperType), Walk.builtin),
    (DESCRIPTORS, Walk.descriptor),
    ((staticmethod, classmethod), Walk.wrapped),
    (property, Walk.accessor),
    (functools.cached_property, Walk.cached),
    (type(functools.lru_cache(print)), Walk.memoized),
    (np.ufunc, Walk.ufunc),
    (types.ModuleType, Walk.module),
    (type, Walk.kind),
    (object, Walk.algorithm),
]  # the first that fits is used


# Digests ----------------------------------------------------------------------------------------------------


def atom(item: Any) -> bytes:
    """Digest of a number, a text or the like; repr of a float has all its bits, except for NaN."""
    return sealed(type(item).__name__, item if isinstance(item, bytes) else repr(item).encode("utf-8", "surrogatepass"))


def sealed(tag: str, *content: bytes) -> bytes:
    """Digest of a tag and parts, each with its length, so that no two lists of parts have the same bytes."""
    found = hashlib.sha256()
    for part in (tag.encode(), *content):
        found.update(len(part).to_bytes(8, "little") + part)
    return found.digest()


def by_name(item: Any) -> bytes:
    """Digest of the name and version of an object of Python or of an installed package."""
    module = module_of(item)
    return sealed("name", module.encode(), item.__qualname__.encode(), version_of(module).encode())
