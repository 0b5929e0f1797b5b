"""Compiled kernels kept on disk, so that a program's second run neither traces nor compiles.

What is kept will be executed, so the folder is the user's own (mode 0700, refused otherwise), files are written beside
their place and moved there in one step, and each carries a digest of its whole content that is checked before any of
it is used.  A file that fails the check is removed and made anew; a folder that cannot be used is left alone, and said
so once.  The key of a kernel covers all it depends on: the robot's data, the algorithm and its structure, flexjoint's
own sources, CasADi, the processor and LLVM.

What goes wrong is a `CacheWarning`, which Python shows once; what was used, kept or removed is a line of the logger
`flexjoint.cache`.

The folder is $FLEXJOINT_CACHE, else flexjoint in $XDG_CACHE_HOME or ~/.cache; FLEXJOINT_CACHE=off keeps nothing.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

MAGIC = b"flexjoint kernel 1\n"
LIMIT = 256 << 20  # bytes; the least recently used files go first


class CacheWarning(UserWarning):
    """The cache could not be used as it should; results are not affected."""


class Entry(NamedTuple):
    """A kernel on disk: its description, as JSON can hold it, and its object code."""

    description: dict
    object_code: bytes


def folder() -> Path | None:
    """Where kernels are kept, made if need be; None if nothing can be kept."""
    chosen = os.environ.get("FLEXJOINT_CACHE", "")
    if chosen == "off":
        return None
    base = os.environ.get("XDG_CACHE_HOME", "") or os.path.join(os.path.expanduser("~"), ".cache")
    return _private(Path(chosen) if chosen else Path(base) / "flexjoint")


@cache
def _private(path: Path) -> Path | None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
    except OSError as error:
        complain(f"kernels are not kept: {path} cannot be made ({error.strerror})")
        return None
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o077):
        complain(f"kernels are not kept: {path} must belong to you alone; run chmod 700 on it, or remove it")
        return None
    return path


def complain(message: str) -> None:
    warnings.warn(message, CacheWarning, stacklevel=2)
    log(message)


def log(message: str) -> None:
    if "logging" in sys.modules:  # else nobody listens, and it need not be loaded
        sys.modules["logging"].getLogger("flexjoint.cache").info(message)


@cache
def sources() -> str:
    """Digest of flexjoint's own code."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@cache
def casadi_version() -> str:
    """Which CasADi is installed: each version simplifies expressions in its own way.

    Found by the name of its folder of metadata, or else the size of its module: loading CasADi for a kernel that is in
    the cache would take 0.1 s, and `importlib.metadata` 35 ms.
    """
    spec = importlib.util.find_spec("casadi")
    module = Path(spec.origin) if spec and spec.origin else None
    if module is None:
        return ""
    named = sorted(x.name for x in module.parent.parent.glob("casadi-*.dist-info"))
    return " ".join(named) or f"{module.stat().st_size} {module.stat().st_mtime_ns}"


def key_of(*parts: object) -> str:
    """The name of a kernel: a digest of all it depends on."""
    return hashlib.sha256(json.dumps([sources(), casadi_version(), *map(str, parts)]).encode()).hexdigest()


def load(key: str) -> Entry | None:
    """What was stored under a key, if it is there and whole."""
    if (place := folder()) is None:
        return None
    path = place / f"{key}.kernel"
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        complain(f"the kernel {path} cannot be read ({error.strerror}); it is compiled anew")
        return None
    entry = _unpacked(content, key)
    if entry is None:
        complain(f"the kernel {path} is damaged; it is not used, and compiled anew")
        _remove(path)
    else:
        log(f"used {path}")
        with suppress(OSError):
            os.utime(path)  # used now
    return entry


def store(key: str, entry: Entry) -> None:
    """Keep a kernel; what fails is said and changes nothing."""
    if (place := folder()) is None:
        return
    import tempfile

    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=place, suffix=".part", delete=False) as file:
            temporary = Path(file.name)
            file.write(_packed(entry, key))
        os.replace(temporary, place / f"{key}.kernel")
    except OSError as error:
        if temporary is not None:
            _remove(temporary)
        complain(f"a kernel could not be kept in {place} ({error.strerror})")
        return
    log(f"kept {place / key}.kernel")
    prune(place)


def _packed(entry: Entry, key: str) -> bytes:
    header = json.dumps(entry.description).encode()
    body = len(header).to_bytes(8, "little") + header + entry.object_code
    return MAGIC + _digest(body, key) + body


def _unpacked(content: bytes, key: str) -> Entry | None:
    start = len(MAGIC) + 32
    body = content[start:]
    if content[: len(MAGIC)] != MAGIC or content[len(MAGIC) : start] != _digest(body, key):
        return None
    length = int.from_bytes(body[:8], "little")
    return Entry(json.loads(body[8 : 8 + length]), body[8 + length :])


def _digest(body: bytes, key: str) -> bytes:
    return hashlib.sha256(key.encode() + body).digest()


def prune(place: Path, limit: int | None = None) -> None:
    """Remove the least recently used kernels beyond the limit."""
    room = LIMIT if limit is None else limit
    for path, size, _ in sorted(_files(place), key=lambda x: -x[2]):
        room -= size
        if room < 0:
            log(f"removed {path}: the least recently used beyond {LIMIT >> 20} MB")
            _remove(path)


def info() -> tuple[Path | None, int, int]:
    """The folder, how many kernels it holds, and their bytes."""
    place = folder()
    files = _files(place) if place else []
    return place, len(files), sum(size for _, size, _ in files)


def clear() -> int:
    """Remove all kernels; how many there were."""
    place = folder()
    files = _files(place) if place else []
    for path, _, _ in files:
        _remove(path)
    return len(files)


def _files(place: Path) -> list[tuple[Path, int, float]]:
    """(path, size, time of last use); files that vanish meanwhile are left out."""
    found = []
    for path in [*place.glob("*.kernel"), *place.glob("*.part")]:
        try:
            status = path.stat()
        except OSError:
            continue
        found.append((path, status.st_size, status.st_mtime))
    return found


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
