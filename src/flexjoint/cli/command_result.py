"""The result of a command: text for people, JSON for programs."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from .report_request import ReportRequest
from .standard_output import to_a_reader
from .tables import Table, lines, screen_width
from .terminal_text import harmless


@dataclass(frozen=True)
class CommandResult:
    """The result of a command.

    Args:
        shown: Lines and tables for people.
        data: The same for programs, in SI units.
        files: Files that were written.
        code: Exit code; default 0.
        trouble: What went wrong, one line on standard error; default nothing.
        report: The page that --report asks for; default none.
    """

    shown: Sequence[str | Table]
    data: Mapping[str, Any]
    files: Sequence[Path] = ()
    code: int = 0
    trouble: str = ""
    report: ReportRequest | None = None

    @property
    def written(self) -> list[Path]:
        """All files, with the report."""
        return [*self.files, *([self.report.path] if self.report else [])]

    def to_json(self) -> str:
        """The data as JSON."""
        import json

        files = {"files": [str(x) for x in self.written]} if self.written else {}
        return json.dumps(plain({**self.data, **files}), indent=2, allow_nan=False)

    def to_text(self, width: float) -> str:
        """The lines and tables as text with at most `width` characters per line."""
        found: list[str] = []
        for part in self.shown:
            if isinstance(part, Table):
                found += ["", *lines(part, width), ""]
            else:
                found.append(harmless(part, keep="\n\t"))
        found += [harmless(f"wrote {path}") for path in self.written]
        while found and not found[-1]:
            found.pop()
        return "\n".join(x for k, x in enumerate(found) if x or found[k - 1 : k] != [""])


def plain(x: Any) -> Any:
    """Data as JSON can hold them; None for a number that is not finite."""
    if isinstance(x, Mapping):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [plain(value) for value in x]
    if hasattr(x, "tolist"):  # of NumPy
        return plain(x.tolist())
    if isinstance(x, float) and not math.isfinite(x):
        return None
    return str(x) if isinstance(x, Path) else x


def print_result(result: CommandResult, as_json: bool, streamed: bool) -> None:
    """Print a result on standard output, or on standard error if standard output has data."""
    if as_json:
        with to_a_reader():
            typer.echo(result.to_json())
    elif streamed:
        typer.echo(result.to_text(screen_width(sys.stderr)), err=True)
    else:
        with to_a_reader():
            typer.echo(result.to_text(screen_width(sys.stdout)))
