"""C source of an algorithm: `export_c`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ..robot import Robot
from .algorithm import Algorithm
from .compile import compile


def export_c(
    algorithm: Algorithm,
    robot: Robot,
    folder: str | Path,
    name: str = "",
    *,
    float32: bool = False,
    freestanding: bool = False,
    arrays: int | None = None,
    **keywords: Any,
) -> list[Path]:
    """Write an algorithm for one robot as a C99 function, with a header, an example that checks it and a Makefile.

    `make check` in the folder compiles and runs the example.

    Args:
        algorithm: Such as `fj.inverse_dynamics`.
        robot: Its numbers are built in.
        folder: Where to write; made if it does not exist.
        name: Name of the C function; by default those of algorithm and robot.
        float32: Whether to compute in single precision; False by default.
        freestanding: Whether to use no C library; False by default.
        arrays, keywords: As in `compile`.

    Returns:
        The paths written.

    Raises:
        InputError: The algorithm does not take this robot or these keywords.

    Example:
        >>> import flexjoint as fj
        >>> [x.suffix for x in fj.export_c(fj.gravity_torque, fj.load("kuka_lwr"), "c")][:2]
        ['.h', '.c']
    """
    from importlib.metadata import version

    from ..compiler.c.export import export

    kernel = compile(algorithm, robot, arrays, **keywords)
    chosen = name or re.sub(r"[^A-Za-z0-9_]+", "_", f"{algorithm.__name__}_{robot.name}")
    about = (
        f"{algorithm.__name__} of the robot {robot.name}\nrobot digest {robot.digest}\n{kernel.operations} operations\n"
        f"written by flexjoint {version('flexjoint')}; all quantities on the link side, in SI units\n"
    )
    return export(kernel, chosen, Path(folder), about, float32=float32, freestanding=freestanding)
