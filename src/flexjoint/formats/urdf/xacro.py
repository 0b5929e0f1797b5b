"""xacro files, expanded by the package xacro: it evaluates Python expressions, so a file must be trusted."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import RobotError, quoted, warn
from ..toml import read_bytes
from .packages import Packages, package_folder

ROS = ("ament_index_python", "rospkg", "package '")  # in messages about packages that were not found


def expanded(path: str, what: str, packages: Packages = None) -> bytes:
    """The URDF that a xacro file stands for.

    Args:
        path: path of the file.
        what: what the file should be, for messages.
        packages: where packages lie, see `resolved`; $(find NAME) looks there first, then asks ROS.

    Raises:
        RobotError: the package is not installed, or the file is wrong.

    Warns:
        FlexjointWarning: always: expanding executes code in the file.
    """
    place = quoted(path)
    read_bytes(path, what, limit="xml_bytes")  # refuses what is missing, a folder or too large, as for other files
    try:
        import xacro
    except ImportError:
        raise RobotError(
            f"{place}: xacro files are expanded by the package xacro, which is not installed: pip install xacro, or "
            "write a URDF where it is, `xacro x.xacro > x.urdf`"
        ) from None
    warn(f"{place}: xacro executes expressions of the file and of all that it includes: expand only files you trust")
    try:
        with packages_found(path, packages):
            return bytes(xacro.process_file(path).toprettyxml(indent="  ").encode())  # the lines of `xacro x.xacro`
    except Exception as error:  # whatever the expressions of the file raise
        raise RobotError(f"{place}: xacro cannot expand the file: {quoted(error)}{remedy(str(error))}") from error


def remedy(message: str) -> str:
    """What to do about an error of xacro, as the end of a message."""
    if any(word in message for word in ROS):
        return (
            ": $(find NAME) looks for the folder NAME in ROS_PACKAGE_PATH and in the folders above the file; give "
            "packages={'NAME': folder}, or expand the file where ROS is, `xacro x.xacro > x.urdf`"
        )
    if "ndefined substitution argument" in message:
        return (
            ": the file wants arguments; write a .xacro file with <xacro:arg name=... default=.../> for each and "
            "<xacro:include filename=.../>, or expand it where ROS is, `xacro x.xacro name:=value > x.urdf`"
        )
    return ""


@contextmanager
def packages_found(path: str, packages: Packages) -> Iterator[None]:
    """Lets $(find NAME) look where meshes of package://NAME are looked for, before it asks ROS."""
    arguments: Any = importlib.import_module("xacro.substitution_args")
    ask_ros = arguments._eval_find

    def find(name: str) -> str:
        folder = package_folder(name, path, packages)
        return str(ask_ros(name)) if folder is None else folder

    arguments._eval_find = find
    try:
        yield
    finally:
        arguments._eval_find = ask_ros
