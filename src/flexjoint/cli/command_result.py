"""What commands answer: for people on the screen, as JSON for programs, or as a stream on standard output."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from .standard_output import to_a_reader
from .tables import Table, lines, screen_width
from .terminal_text import harmless


@dataclass(frozen=True)
class CommandResult:
    """What a command found.

    `shown`: lines and tables for people; `data`: the same for programs, in SI units; `files`: what was written, if not
    to standard output; `code`: the exit code; `trouble`: what went wrong, one line on standard error.
    """

    shown: Sequence[str | Table]
    data: Mapping[str, Any]
    files: Sequence[Path] = ()
    code: int = 0
    trouble: str = ""

    def to_json(self) -> str:
        import json

        files = {"files": [str(x) for x in self.files]} if self.files else {}
        return json.dumps(plain({**self.data, **files}), indent=2, allow_nan=False)

    def to_text(self, width: float) -> str:
        found: list[str] = []
        for part in self.shown:
            if isinstance(part, Table):
                found += ["", *lines(part, width), ""]
            else:
                found.append(harmless(part, keep="\n\t"))
        found += [harmless(f"wrote {path}") for path in self.files]
        while found and not found[-1]:
            found.pop()
        return "\n".join(x for k, x in enumerate(found) if x or found[k - 1 : k] != [""])


def plain(x: Any) -> Any:
    """Lists, objects, numbers and texts; null for a number that is not finite."""
    if isinstance(x, Mapping):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [plain(value) for value in x]
    if hasattr(x, "tolist"):  # of NumPy
        return plain(x.tolist())
    if isinstance(x, float) and not math.isfinite(x):
        return None
    return str(x) if isinstance(x, Path) else x


def give(answer: CommandResult, as_json: bool, streamed: bool) -> None:
    """Print an answer: on standard output, or on standard error where that is taken by data."""
    if as_json:
        with to_a_reader():
            typer.echo(answer.to_json())
    elif streamed:
        typer.echo(answer.to_text(screen_width(sys.stderr)), err=True)
    else:
        with to_a_reader():
            typer.echo(answer.to_text(screen_width(sys.stdout)))
