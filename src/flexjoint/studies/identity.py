"""A digest of a Python object that is the same in every process: its code and all data that the code can reach.

A study goes on from a folder of samples only if the same law made them.  A law in Python is its bytecode, its defaults,
the variables it captures, the globals it uses, and for an instance its class and its attributes, all of that to any
depth.  Arrays count by content.  Code of Python itself and of installed packages counts by name and version.  Nothing
that differs between processes enters: no addresses, no hashes, no order of a set.

What cannot be identified, such as an open file or a lock, is refused.  An attribute `identity`, a text that the user
changes together with the law, takes the place of all that.
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

LENGTH = 32  # hexadecimal digits of a digest in a file
SHOWN = 16  # numbers of an array that stand in a file themselves
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
}  # of a class: what says nothing about what it does


def digest_of(item: Any, name: str) -> str:
    """Digest of an object; `name` is what an error calls it.

    Raises InputError for what cannot be identified: it names the part and says what to do.
    """
    return Walk()(item, name).hex()[:LENGTH]


def described(item: Any, name: str) -> Any:
    """An object as JSON can hold it, for settings that people read and compare.

    Numbers and texts are themselves.  A function or an instance is its name, a digest of its code, and what it
    captures by name, so that a comparison can say which part is another.
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
    """Name, code and data one by one, and a digest of all."""
    shown = {key: brief(x, f"{name}.{key}") for key, x in data.items()}
    return {"name": name_of(item), "code": digest_of(code, name), "data": shown, "digest": digest_of(item, name)}


def brief(item: Any, name: str) -> Any:
    """Few numbers as they are, a digest of all else."""
    few = isinstance(item, float) or (type(item) is np.ndarray and item.dtype == float and item.size <= SHOWN)
    if few and np.all(np.isfinite(item)):  # NaN is not equal to itself
        return np.asarray(item).tolist()
    return item if type(item) in (type(None), bool, int) else digest_of(item, name)


def name_of(item: Any) -> str:
    kind = item if hasattr(item, "__qualname__") else type(item)
    return f"{module_of(kind)}.{kind.__qualname__}"


def declared(item: Any) -> str | None:
    """The identity that the user gave an object."""
    own = None if isinstance(item, type | types.ModuleType) else getattr(item, "identity", None)
    return own if isinstance(own, str) and own else None


class Walk:
    """Digests of one object and all it refers to; an object inside itself counts by how deep it lies."""

    def __init__(self) -> None:
        self.found: dict[int, bytes] = {}
        self.depth: dict[int, int] = {}
        self.kept: list[Any] = []  # alive, so that no two have one id

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
        """Of anything that has parts."""
        if (own := declared(item)) is not None:
            return sealed("declared", name_of(item).encode(), own.encode())
        if found_by_name(item):
            return by_name(item)
        if isinstance(item, Robot):
            return sealed("robot", item.digest.encode())
        if isinstance(item, Kernel):
            return sealed("kernel", item._key.encode()) if item._key else self(item.program, f"{name}.program")
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
        """An instance: of flexjoint's and of the user's classes all attributes, of others what they write."""
        kind = type(item)
        if not written_here(kind):
            return sealed("object", self(kind, name), self.reduced(item, name))
        content = [base(item) for base in CONTENTS if isinstance(item, base)]
        return sealed("instance", self(kind, name), self(content, name), self.named(attributes(item), name))

    def reduced(self, item: Any, name: str) -> bytes:
        """What an installed package itself would write of an object, to make it again."""
        try:
            whole = item.__reduce_ex__(4)
        except Exception as error:  # every package has its own
            raise refusal(name, f"is a {name_of(type(item))}, which cannot be identified") from error
        if isinstance(whole, str):
            return sealed("global", whole.encode(), str(getattr(item, "__module__", "")).encode())
        written = [list(x) if isinstance(x, Iterator) else x for x in whole]
        return sealed("reduced", *(self(x, name) for x in written))

    # Code -----------------------------------------------------------------------------------------------------

    def function(self, item: types.FunctionType, name: str) -> bytes:
        return sealed("function", self(item.__code__, name), self.named(variables(item), name))

    def code(self, item: types.CodeType, name: str) -> bytes:
        """Bytecode without line numbers and the names of files."""
        numbers = (item.co_argcount, item.co_posonlyargcount, item.co_kwonlyargcount, item.co_flags)
        names = (item.co_names, item.co_varnames, item.co_freevars, item.co_cellvars)
        rest = (item.co_code, item.co_exceptiontable, item.co_consts)
        return sealed("code", *(self(x, name) for x in (numbers, names, *rest)))

    def method(self, item: Any, name: str) -> bytes:
        return sealed("method", self(item.__func__, name), self(item.__self__, name))

    def builtin(self, item: Any, name: str) -> bytes:
        owner = item.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            return by_name(item)  # under another name than its own
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
        """An object that stands for a function, such as those made by `@algorithm`."""
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
]  # the first that fits


# Digests ----------------------------------------------------------------------------------------------------


def atom(item: Any) -> bytes:
    """Of a number, a text or the like; repr of a float gives all its bits, but those of a NaN."""
    return sealed(type(item).__name__, item if isinstance(item, bytes) else repr(item).encode("utf-8", "surrogatepass"))


def sealed(tag: str, *content: bytes) -> bytes:
    """Digest of a kind and its parts, each with its length, so that no two lists of parts read alike."""
    found = hashlib.sha256()
    for part in (tag.encode(), *content):
        found.update(len(part).to_bytes(8, "little") + part)
    return found.digest()


def by_name(item: Any) -> bytes:
    module = module_of(item)
    return sealed("name", module.encode(), item.__qualname__.encode(), version_of(module).encode())
