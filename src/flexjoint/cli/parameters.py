"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .completion import algorithms, trajectories
from .standard_output import STREAM

if TYPE_CHECKING:
    from ..types import FloatArray

TrajectoryName = Annotated[
    str, typer.Argument(help="A .toml, .csv or .npz file, or '{kind = ..., ...}'.", autocompletion=trajectories)
]
AlgorithmName = Annotated[
    str, typer.Argument(help="Name of an algorithm, such as inverse_dynamics.", autocompletion=algorithms)
]
Order = Annotated[int | None, typer.Option(help="Highest derivative, for algorithms with an order.")]
LinkName = Annotated[str | None, typer.Option(help="Name of a link, for algorithms of one link.")]
ToolWrench = Annotated[
    tuple[float, float, float, float, float, float] | None,
    typer.Option(
        help="Constant force, N, and moment, Nm, on the tool, base coordinates: six numbers.",
        metavar="FX FY FZ MX MY MZ",
    ),
]
StiffnessName = Annotated[
    str | None,
    typer.Option(help="Stiffness of joints with variable stiffness, Nm/rad or N/m: a number, or as TRAJECTORY."),
]
PlotFile = Annotated[Path | None, typer.Option(help="Plot to write: .png, .pdf or .svg.")]


def files_of(*paths: Path | None) -> list[Path]:
    """Paths of files that a command writes: without options that are not given, and without standard output."""
    return [path for path in paths if path is not None and path != STREAM]


def check_files(*pairs: tuple[Path | None, Callable[[Path], Any]]) -> None:
    """Check before a long computation that each file can be written, by the function beside it."""
    for path, check in pairs:
        for file in files_of(path):
            check(file)


def key_values(option: str, texts: list[str], example: str, key_name: str = "path") -> dict[str, str]:
    """Values by key of a repeated option KEY=VALUE, each key once; raises InputError otherwise."""
    from ..errors import InputError

    found: dict[str, str] = {}
    for text in texts:
        key, sign, value = (part.strip() for part in text.rpartition("="))
        if not sign or not key or key in found:
            expected = f"give a {key_name} and a value, each {key_name} once, such as {example}"
            raise InputError(f"{option} is {text!r}; {expected}")
        found[key] = value
    return found


def posture(option: str, text: str, n: int) -> FloatArray:
    """The numbers of an option, (n,): one for all, or one per joint."""
    import numpy as np

    from ..errors import InputError

    try:
        values = np.array([float(x) for x in text.split(",")])
    except ValueError:
        values = np.zeros(0)
    if values.size not in (1, n) or not np.all(np.isfinite(values)):
        raise InputError(f"{option} is {text!r}; give one number for all, or {n} numbers with commas between them")
    return np.broadcast_to(values, (n,)).copy()
