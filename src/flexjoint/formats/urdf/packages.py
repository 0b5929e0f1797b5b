"""Files that a URDF names: package://, file:// and relative paths."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

Packages: TypeAlias = "Mapping[str, str] | Sequence[str] | str | None"
MOST_PARENTS = 8


def resolved(name: str, file: str, packages: Packages = None) -> str | None:
    """Path of a file that a URDF names; None if there is no such file.

    A path without a scheme is relative to the URDF.  package://NAME/REST is looked for, in this order,

        in the folder that `packages` gives for NAME, or below each folder that `packages` lists, as NAME/REST;
        below each folder of ROS_PACKAGE_PATH and as share/NAME/REST below those of AMENT_PREFIX_PATH;
        beside the file: in its folder and the eight above it, as NAME/REST, and as REST in one named NAME.

    Nothing is read but whether files exist.
    """
    if "\0" in name or "\0" in file:
        return None
    if name.startswith("file://"):
        return existing(Path(name.removeprefix("file://")))
    for scheme in ("package://", "model://"):
        if name.startswith(scheme):
            package, _, rest = name.removeprefix(scheme).partition("/")
            return next((x for folder in folders(package, file, packages) if (x := existing(folder / rest))), None)
    return existing(Path(file).parent / name)


def package_folder(package: str, file: str, packages: Packages = None) -> str | None:
    """Path of the folder of a package, looked for as by `resolved`; None if there is no such folder."""
    return next((str(x) for x in folders(package, file, packages) if x.is_dir()), None)


def folders(package: str, file: str, packages: Packages) -> list[Path]:
    """Where a package may lie."""
    found: list[Path] = []
    if isinstance(packages, Mapping):
        found += [Path(packages[package])] if package in packages else []
    elif packages is not None:
        listed = [packages] if isinstance(packages, str | os.PathLike) else packages
        found += [Path(x) / package for x in listed]
    found += [Path(x) / package for x in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if x]
    found += [Path(x) / "share" / package for x in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if x]
    for above in [Path(file).absolute().parent, *Path(file).absolute().parent.parents][: MOST_PARENTS + 1]:
        found += [above / package, *([above] if above.name == package else [])]
    return found


def existing(path: Path) -> str | None:
    """A path if it is that of a file."""
    try:
        return str(path) if path.is_file() else None
    except (OSError, ValueError):
        return None
