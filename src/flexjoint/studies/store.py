"""A folder of finished blocks of samples, from which an interrupted study resumes.

The folder belongs to one study.  The first process creates the file of settings in one step; other processes join if
their settings are the same.  Every block has a digest of the settings and one of its content, so that a block of
another study, or a damaged one, is never used.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ..atomic import replacing
from ..errors import FlexjointWarning, InputError

SETTINGS = "settings.json"
UNFINISHED = f".{SETTINGS}."  # prefix of a file of settings that is being written
PATIENCE = 2.0  # s to wait for another process that writes settings on a file system without hard links
SHOWN = 200  # characters of a setting in a message
DIFFERENCES = 3  # in a message
FOLLOW = ("draws", "gains", "memory", "digest")  # mostly follow from other settings: shown only if nothing else differs


class Store:
    """Blocks of a study by the number of their first sample.

    Args:
        folder: Where blocks are stored; None for a store that keeps nothing.
        settings: Of the study, as JSON can hold them.

    Raises:
        InputError: The folder belongs to another study, or holds other files.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, settings: Mapping[str, Any]) -> None:
        self.folder = None if folder is None else Path(folder)
        self.text = json.dumps(settings, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        self.digest = hashlib.sha256(self.text.encode()).hexdigest()
        if self.folder is None or not self.folder.exists():
            return
        if (self.folder / SETTINGS).is_file():
            self.check_settings()
        elif not self.folder.is_dir() or any(not x.name.startswith(UNFINISHED) for x in self.folder.iterdir()):
            raise InputError(f"{self.folder} exists and is no folder of samples; give another, or an empty one")

    def path(self, first: int) -> Path | None:
        """File of the block whose first sample has this number."""
        return None if self.folder is None else self.folder / f"samples-{first:08d}.npz"

    def load(self, first: int, rows: int) -> dict[str, np.ndarray] | None:
        """The block if it is stored, undamaged, of this study and has that many samples; else None."""
        path = self.path(first)
        if path is None or not path.exists():
            return None
        try:
            with np.load(path) as file:
                block = {name: file[name] for name in file.files}
            study, seal = str(block.pop("settings")), str(block.pop("seal"))
        except (OSError, ValueError, KeyError, EOFError, NotImplementedError, BadZipFile):
            study = seal = ""
            block = {}
        if study and study != self.digest:
            self.check_settings()  # another study may have started here meanwhile
            say(f"{path} holds samples of another study, with other settings; they are computed again")
            return None
        if not seal or seal != self.seal(first, block):
            say(f"{path} is damaged; its samples are computed again")
            return None
        return block if all(len(x) == rows for x in block.values()) else None

    def save(self, first: int, block: Mapping[str, np.ndarray]) -> None:
        """Store a block; does nothing without a folder."""
        path = self.path(first)
        if path is None:
            return
        self.claim(path.with_name(SETTINGS))
        own = {"settings": np.array(self.digest), "seal": np.array(self.seal(first, block))}
        with replacing(path) as file:
            np.savez(file, **block, **own)  # type: ignore[arg-type]

    def seal(self, first: int, block: Mapping[str, np.ndarray]) -> str:
        """Digest of a block, its number and its study."""
        found = hashlib.sha256(f"{self.digest} {first}".encode())
        for name, x in sorted(block.items()):
            found.update(f" {name} {x.shape} {x.dtype.str} ".encode() + np.ascontiguousarray(x).tobytes())
        return found.hexdigest()

    def claim(self, path: Path) -> None:
        """Create the file of settings if there is none; raise InputError if it is that of another study."""
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            create(path, self.text.encode())
        self.check_settings()

    def check_settings(self) -> None:
        """Raise InputError if the folder has other settings, with the differences."""
        assert self.folder is not None
        path = self.folder / SETTINGS
        found = read_settings(path)
        everything = dict(differences(found, json.loads(self.text)))
        telling = [x for name, x in everything.items() if name not in FOLLOW and not name.endswith(".digest")]
        differing = telling or [*everything.values()]
        if differing:
            more = f", and {len(differing) - DIFFERENCES} more" if len(differing) > DIFFERENCES else ""
            raise InputError(
                f"{self.folder} holds samples with other settings: {'; '.join(differing[:DIFFERENCES])}{more}; give "
                "another folder, or delete this one"
            )


def create(path: Path, content: bytes) -> None:
    """Create a file with its content in one step; does nothing if it exists."""
    part = path.with_name(f"{UNFINISHED}{os.getpid()}.{token_hex(4)}.part")
    try:
        part.write_bytes(content)
        os.link(part, path)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        with suppress(FileExistsError), open(path, "xb") as file:
            file.write(content)
    finally:
        part.unlink(missing_ok=True)


def read_settings(path: Path) -> dict[str, Any]:
    """Settings from a file; waits if another process is writing them."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}); give another folder") from None
        except (ValueError, TypeError, RecursionError):
            if time.monotonic() > end or size_of(path):
                raise InputError(f"{path} cannot be read; give another folder") from None
        time.sleep(0.02)


def size_of(path: Path) -> int:
    """Size of a file in bytes; 0 if there is none."""
    return path.stat().st_size if path.exists() else 0


def differences(old: Any, new: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Name and description of each difference between two settings; of a part its own values before those below."""
    if isinstance(old, dict) and isinstance(new, dict):
        below = {key for x in (old, new) for key, value in x.items() if name and isinstance(value, dict)}
        for key in sorted({*old, *new}, key=lambda key: (key in below, key)):
            yield from differences(old.get(key), new.get(key), f"{name}.{key}" if name else key)
    elif old != new:
        yield name, f"{name} was {shown(old)}, now it is {shown(new)}"


def shown(value: Any) -> str:
    """A setting as text of limited length."""
    text = repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def say(message: str) -> None:
    """Warn the caller of `monte_carlo`."""
    warnings.warn(message, FlexjointWarning, stacklevel=4)
