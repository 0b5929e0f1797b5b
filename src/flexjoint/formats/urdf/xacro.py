"""xacro files, expanded by the package xacro: it evaluates Python expressions, so a file must be trusted."""

from __future__ import annotations

from ...errors import RobotError, quoted, warn


def expanded(path: str) -> bytes:
    """The URDF that a xacro file stands for.

    Raises:
        RobotError: the package is not installed, or the file is wrong.

    Warns:
        FlexjointWarning: always: expanding executes code in the file.
    """
    place = quoted(path)
    try:
        import xacro
    except ImportError:
        raise RobotError(
            f"{place}: xacro files are expanded by the package xacro, which is not installed: pip install xacro, or "
            "write a URDF where it is, `xacro x.xacro > x.urdf`"
        ) from None
    warn(f"{place}: xacro executes expressions of the file and of all that it includes: expand only files you trust")
    try:
        return bytes(xacro.process_file(path).toxml().encode())
    except Exception as error:  # whatever the expressions of the file raise
        raise RobotError(f"{place}: xacro cannot expand the file: {quoted(error)}") from error
