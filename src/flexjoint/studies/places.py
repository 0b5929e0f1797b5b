"""Where a study is stored: a folder, or a URL of fsspec such as s3://bucket/study.

A file is written whole or not at all.  `create` never changes a file that exists, so that of two clients that create
one at once, the first wins.
"""

from __future__ import annotations

import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from ..atomic import replacing
from ..errors import InputError, quoted

URL = "://"
MISSING = "pip install 'flexjoint[cluster]'"


class Place(ABC):
    """Files by name, such as "blocks/block-000000000000.parquet"; `str(place)` is what the user gave."""

    @abstractmethod
    def exists(self, name: str = "") -> bool:
        """Whether there is such a file; without a name, whether the place itself exists."""

    @abstractmethod
    def names(self, folder: str = "") -> list[str]:
        """Names of the files and folders in a folder, in order; none if there is no folder."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Content of a file; raises OSError if it cannot be read."""

    @abstractmethod
    def replace(self, name: str, content: bytes) -> None:
        """Write a file, in place of one that exists."""

    @abstractmethod
    def create(self, name: str, content: bytes) -> None:
        """Write a file if it does not exist; otherwise do nothing."""


def place_of(given: str | os.PathLike[str]) -> Place:
    """The place that a path or a URL names.

    Raises:
        InputError: fsspec, or the package that it needs for this kind of URL, is not installed.
    """
    text = os.fspath(given)
    if URL not in text:
        return Folder(Path(text))
    if text.startswith("file://"):
        return Folder(Path(text.removeprefix("file://")))
    return Remote(text)


class Folder(Place):
    """A folder on a disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def exists(self, name: str = "") -> bool:
        return (self.path / name).exists()

    def names(self, folder: str = "") -> list[str]:
        place = self.path / folder
        if place.exists() and not place.is_dir():
            raise InputError(f"{place} is no folder; give the name of a folder, or of one that does not exist")
        return sorted(os.listdir(place)) if place.is_dir() else []

    def read(self, name: str) -> bytes:
        return self.file(name).read_bytes()

    def file(self, name: str) -> Path:
        """Path of a file; raises InputError if there is something else."""
        path = self.path / name
        if path.exists() and not path.is_file():
            raise InputError(f"{path} must be a file, but is a folder or a device: move it elsewhere, and run again")
        return path

    def replace(self, name: str, content: bytes) -> None:
        path = self.file(name)
        with explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                file.write(content)

    def create(self, name: str, content: bytes) -> None:
        path = self.path / name
        part = path.with_name(f".{path.name}.{os.getpid()}.{token_hex(4)}.part")
        with explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                part.write_bytes(content)
                os.link(part, path)
            except FileExistsError:
                return
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
                    raise
                with suppress(FileExistsError), open(path, "xb") as file:  # a file system without hard links
                    file.write(content)
            finally:
                part.unlink(missing_ok=True)


class Remote(Place):
    """A folder that fsspec reaches: an object store, another machine, or the memory of this process."""

    def __init__(self, url: str) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise InputError(f"{quoted(url)}: URLs need fsspec, which is not installed: {MISSING}") from None
        self.url = url.rstrip("/")
        try:
            self.files, self.root = url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            raise InputError(f"{quoted(url)}: {quoted(error)}") from None

    def __str__(self) -> str:
        return self.url

    def path(self, name: str) -> str:
        """Path of a file as fsspec takes it."""
        return f"{self.root.rstrip('/')}/{name}" if name else self.root

    def exists(self, name: str = "") -> bool:
        return bool(self.files.exists(self.path(name)))

    def names(self, folder: str = "") -> list[str]:
        self.files.invalidate_cache()
        try:
            listed: list[Any] = self.files.ls(self.path(folder), detail=False)
        except FileNotFoundError:
            return []
        return sorted(str(x).rstrip("/").rsplit("/", 1)[-1] for x in listed)

    def read(self, name: str) -> bytes:
        return bytes(self.files.cat_file(self.path(name)))

    def replace(self, name: str, content: bytes) -> None:
        self.pipe(name, content, "overwrite")

    def create(self, name: str, content: bytes) -> None:
        with suppress(FileExistsError):
            self.pipe(name, content, "create")

    def pipe(self, name: str, content: bytes, mode: str) -> None:
        """Write a file at once, as object stores do."""
        path = self.path(name)
        with explained(f"{self.url}/{name}"):
            self.files.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
            self.files.pipe_file(path, content, mode=mode)


@contextmanager
def explained(path: Any) -> Iterator[None]:
    """Adds to an error of the disk that nothing stored is lost, and what to do."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        why = error.strerror or str(error)
        remedy = "; blocks that are stored stay, and the same call resumes once files can be written there"
        raise OSError(error.errno, f"{why}{remedy}", str(path)) from None
