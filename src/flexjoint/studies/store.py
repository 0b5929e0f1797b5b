"""A folder of finished blocks of samples: what an interrupted study goes on from."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ..errors import InputError
from ..results.files import replacing

SETTINGS = "settings.json"


class Store:
    """Blocks by the number of their first sample; without a folder they are kept in memory alone."""

    def __init__(self, folder: str | os.PathLike[str] | None, settings: Mapping[str, Any]):
        self.folder = None if folder is None else Path(folder)
        self.settings = json.dumps(settings, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        if self.folder is None or not self.folder.exists():
            return
        if (self.folder / SETTINGS).is_file():
            refuse_other_settings(self.folder, read_settings(self.folder / SETTINGS), json.loads(self.settings))
        elif not self.folder.is_dir() or any(self.folder.iterdir()):
            raise InputError(f"{self.folder} exists and is no folder of samples; give another, or one that is empty")

    def path(self, first: int) -> Path | None:
        return None if self.folder is None else self.folder / f"samples-{first:08d}.npz"

    def load(self, first: int, rows: int) -> dict[str, np.ndarray] | None:
        """A block, if it is there and whole."""
        path = self.path(first)
        if path is None or not path.exists():
            return None
        try:
            with np.load(path) as file:
                block = {name: file[name] for name in file.files}
        except (OSError, ValueError, BadZipFile):
            return None
        return block if all(len(x) == rows for x in block.values()) else None

    def save(self, first: int, block: Mapping[str, np.ndarray]) -> None:
        path = self.path(first)
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        settings = path.with_name(SETTINGS)
        if not settings.exists():
            with replacing(settings) as file:
                file.write(self.settings.encode())
        with replacing(path) as file:
            np.savez(file, **block)  # type: ignore[arg-type]


def read_settings(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        raise InputError(f"{path} cannot be read; give another folder") from None


def refuse_other_settings(folder: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            raise InputError(
                f"{folder} holds samples with other settings: {name} was {old.get(name)!r}, now it is "
                f"{new.get(name)!r}; give another folder, or delete this one"
            )
