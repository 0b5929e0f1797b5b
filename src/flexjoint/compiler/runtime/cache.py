"""Compiled kernels on disk, so that the second run of a program neither traces nor compiles.

    store(key, Entry(description, object_code));  load(key)        # the entry, or None

What is stored will be executed, so no other user may change it (docs/security.md).  The folder is the user's own, mode
0700, below folders that no other user can rename.  It is opened anew for every kernel, its owner and mode are read from
the open handle, and files are reached through that handle.  Files are written beside their place and moved there in one
step, and each carries a digest of its whole content, which is checked before any of it is used.  A file that fails the
check, or whose content cannot be used, is removed and made anew.  A folder that cannot be used is left alone, with one
warning.  The key of a kernel covers all it depends on: the robot's data, the algorithm and its structure, flexjoint's
own sources, CasADi, the processor and LLVM.

Failures are a `CacheWarning`, which Python shows once; what was used, stored or removed is a line of the logger
`flexjoint.cache`.

The folder is $FLEXJOINT_CACHE, else flexjoint in $XDG_CACHE_HOME or ~/.cache; FLEXJOINT_CACHE=off stores nothing.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

MAGIC = b"flexjoint kernel 1\n"
LIMIT = 256 << 20  # bytes; the least recently used files go first
HANDLES = hasattr(os, "getuid") and os.open in os.supports_dir_fd  # else there are no owners to check: Windows
READ = os.O_RDONLY  # without waiting for the writer of a pipe
for flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NONBLOCK"):
    READ |= getattr(os, flag, 0)
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | READ


class CacheWarning(UserWarning):
    """The cache could not be used as it should; results are not affected."""


class Entry(NamedTuple):
    """A kernel on disk: its description, as JSON can hold it, and its object code."""

    description: dict
    object_code: bytes


class Folder(NamedTuple):
    """The folder, open: files are reached through the handle, wherever the path leads by now."""

    path: Path
    handle: int | None

    def named(self, name: str) -> str:
        return name if self.handle is not None else str(self.path / name)

    @property
    def at(self) -> dict[str, Any]:
        return {} if self.handle is None else {"dir_fd": self.handle}

    def read(self, name: str) -> bytes:
        """The contents of a file, if it belongs to the user alone."""
        file = os.open(self.named(name), READ, **self.at)
        with open(file, "rb") as stream:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode) or (HANDLES and not private(status)):
                raise OSError(None, "it does not belong to you alone")
            return stream.read()

    def write(self, name: str, content: bytes) -> None:
        """Make a file, whole or not at all."""
        part = f"{name}.{os.getpid()}.{os.urandom(4).hex()}.part"
        try:
            with open(os.open(self.named(part), NEW, 0o600, **self.at), "wb") as stream:
                stream.write(content)
            both = {} if self.handle is None else {"src_dir_fd": self.handle, "dst_dir_fd": self.handle}
            os.replace(self.named(part), self.named(name), **both)
        except OSError:
            self.remove(part)
            raise

    def remove(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(self.named(name), **self.at)

    def touch(self, name: str) -> None:
        with suppress(OSError):
            os.utime(self.named(name), **self.at)

    def files(self) -> list[tuple[str, int, float]]:
        """(name, size, time of last use) of kernels; files that vanish meanwhile are left out."""
        found = []
        for name in os.listdir(self.path if self.handle is None else self.handle):
            with suppress(OSError):
                if name.endswith((".kernel", ".part")):
                    status = os.stat(self.named(name), follow_symlinks=False, **self.at)
                    found.append((name, status.st_size, status.st_mtime))
        return found


@contextmanager
def opened() -> Iterator[Folder | None]:
    """The folder where kernels are kept, made if need be; None if nothing can be kept."""
    path, handle = chosen(), None
    try:
        if path is None:
            yield None
            return
        try:
            handle = private_handle(path)
        except OSError as error:
            complain_once(f"kernels are not kept: {error.filename or path} {error.strerror}")
            yield None
            return
        yield Folder(path, handle)
    finally:
        if handle is not None:
            os.close(handle)


def chosen() -> Path | None:
    """The path of the folder; None if nothing shall be kept."""
    given = os.environ.get("FLEXJOINT_CACHE", "")
    if given == "off":
        return None
    base = os.environ.get("XDG_CACHE_HOME", "") or "~/.cache"
    return Path(os.path.abspath(os.path.expanduser(given or os.path.join(base, "flexjoint"))))


def private_handle(path: Path) -> int | None:
    """An open handle of the folder; OSError with a sentence if it, or one above it, is not safe from other users."""
    try:
        make(path)
    except OSError as error:
        raise OSError(None, f"cannot be made ({error.strerror})", str(path)) from None
    if not HANDLES:
        return None
    handle = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    above = ""
    try:
        status = os.fstat(handle)
        for name in os.path.realpath(path).split("/")[1:]:
            check_above(status, above or "/")
            sticky, above = bool(status.st_mode & stat.S_ISVTX), f"{above}/{name}"
            inner = os.open(name, os.O_DIRECTORY | READ, dir_fd=handle)
            os.close(handle)
            handle, status = inner, os.fstat(inner)
            if sticky and status.st_uid not in (0, os.getuid()):
                raise OSError(None, "belongs to another user: remove it, or set FLEXJOINT_CACHE to a folder", above)
        if not private(status) or status.st_mode & 0o077:
            raise OSError(None, "must belong to you alone; run chmod 700 on it, or remove it", str(path))
    except OSError as error:
        os.close(handle)
        raise OSError(None, error.strerror, error.filename or above) from None
    return handle


def make(path: Path) -> None:
    """Make a folder and those above it, for the user alone."""
    if path.is_dir():
        return
    make(path.parent)
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)


def check_above(status: os.stat_result, path: str) -> None:
    """Refuse a folder in which another user could exchange what lies below for something of theirs."""
    shared = status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX
    if shared or status.st_uid not in (0, os.getuid()):
        raise OSError(
            None,
            "can be changed by other users, who could exchange the kernels in it; run chmod go-w on it, or set "
            "FLEXJOINT_CACHE to a folder elsewhere",
            path,
        )


def private(status: os.stat_result) -> bool:
    """Whether something belongs to the user, and nobody else may write to it."""
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def folder() -> Path | None:
    """Where kernels are kept, made if need be; None if nothing can be kept."""
    with opened() as place:
        return place.path if place else None


@cache
def complain_once(message: str) -> None:
    complain(message)


def complain(message: str) -> None:
    warnings.warn(message, CacheWarning, stacklevel=2)
    log(message)


def log(message: str) -> None:
    if "logging" in sys.modules:  # else nobody listens, and it need not be loaded
        sys.modules["logging"].getLogger("flexjoint.cache").info(message)


@cache
def sources() -> str:
    """Digest of flexjoint's own code."""
    root = Path(__file__).parents[2]
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


def load(key: str, use: Callable[[Entry], Any] = lambda entry: entry) -> Any:
    """What `use` makes of the kernel stored under a key, if it is there, whole and of use; else None."""
    with opened() as place:
        if place is None:
            return None
        name = f"{key}.kernel"
        try:
            content = place.read(name)
        except FileNotFoundError:
            return None
        except OSError as error:
            complain(f"the kernel {place.path / name} cannot be read ({error.strerror}); it is compiled anew")
            return None
        entry = _unpacked(content, key)
        try:
            found = None if entry is None else use(entry)
        except Exception:  # a right digest, but content of another version: whatever its use may raise
            found = None
        if found is None:
            complain(f"the kernel {place.path / name} is damaged; it is not used, and compiled anew")
            place.remove(name)
        else:
            log(f"used {place.path / name}")
            place.touch(name)
        return found


def store(key: str, entry: Entry) -> None:
    """Keep a kernel; what fails is said and changes nothing."""
    with opened() as place:
        if place is None:
            return
        name = f"{key}.kernel"
        try:
            place.write(name, _packed(entry, key))
        except OSError as error:
            complain(f"a kernel could not be kept in {place.path} ({error.strerror})")
            return
        log(f"kept {place.path / name}")
        _prune(place, LIMIT)


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
    try:
        description = json.loads(body[8 : 8 + length])
    except (ValueError, RecursionError):
        return None
    return Entry(description, body[8 + length :]) if isinstance(description, dict) else None


def _digest(body: bytes, key: str) -> bytes:
    return hashlib.sha256(key.encode() + body).digest()


def prune(limit: int) -> None:
    """Remove the least recently used kernels beyond the limit, in bytes."""
    with opened() as place:
        if place is not None:
            _prune(place, limit)


def _prune(place: Folder, room: int) -> None:
    for name, size, _ in sorted(place.files(), key=lambda x: -x[2]):
        room -= size
        if room < 0:
            log(f"removed {place.path / name}: the least recently used beyond {LIMIT >> 20} MB")
            place.remove(name)


def info() -> tuple[Path | None, int, int]:
    """The folder, how many kernels it holds, and their bytes."""
    with opened() as place:
        files = place.files() if place else []
        return place.path if place else None, len(files), sum(size for _, size, _ in files)


def clear() -> int:
    """Remove all kernels; how many there were."""
    with opened() as place:
        files = place.files() if place else []
        for name, _, _ in files:
            place.remove(name)  # type: ignore[union-attr]
        return len(files)
