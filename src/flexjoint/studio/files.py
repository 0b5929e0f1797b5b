"""Files of an experiment in one folder, under names that no file there has yet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError, quoted

if TYPE_CHECKING:
    from .experiment import Experiment

MOST = 999  # numbers of files in a folder
KINDS = ("drive file", "Python script", "figures")


def checked_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder as an absolute path; it is made if its parent exists.  Raises InputError if that is not possible."""
    place = Path(os.path.abspath(folder))
    try:
        place.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{quoted(str(folder))}: no folder to write to: {error.strerror}") from error
    if not os.access(place, os.W_OK | os.X_OK):
        raise InputError(f"{quoted(str(folder))}: this folder cannot be written to; choose another one")
    return place


def unused_stem(folder: Path) -> str:
    """studio_001, or the next number with which no file of the folder begins."""
    taken = {name[:10] for name in os.listdir(folder)}
    for k in range(1, MOST + 1):
        if (stem := f"studio_{k:03}") not in taken:
            return stem
    raise InputError(f"{folder} has files up to studio_{MOST}: choose another folder")


def write_files(experiment: Experiment, folder: Path, kind: str) -> list[Path]:
    """Write a drive file, a Python script or figures into a folder, and nowhere else.

    Args:
        experiment: As it is set.
        folder: From `checked_folder`.
        kind: One of `KINDS`.

    Returns:
        The files.
    """
    stem = unused_stem(folder)
    if kind == "figures":
        return experiment.write_figures(folder, stem)
    path = folder / (f"{stem}.drives.toml" if kind == "drive file" else f"{stem}.py")
    (experiment.write_drives if kind == "drive file" else experiment.write_script)(path)
    return [path]
