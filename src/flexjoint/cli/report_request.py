"""The page that --report asks for: what a command gives, and the options and the command line it adds."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..control_characters import commands
from .messages import flag
from .tables import Table

ReportFile = Annotated[
    Path | None, typer.Option("--report", help="Page to write: .html with figures, tables, settings and how to repeat.")
]
ARGUMENTS: ContextVar[Sequence[str]] = ContextVar("arguments of the command line", default=())
WRITTEN = ("output", "plot", "animate", "report")  # options that decide no number


@dataclass(frozen=True)
class ReportRequest:
    """A page to write.

    Args:
        path: .html file.
        result: What `write_report` takes.
        tables: Further tables; default none.
        figures: Figures by caption, as `write_report` takes them; default those of the kind of result.
    """

    path: Path
    result: Any
    tables: Sequence[Table] = ()
    figures: Mapping[str, Any] | None = None


def requested(path: Path | None, result: Any, **more: Any) -> ReportRequest | None:
    """The page of a result, None without --report."""
    return None if path is None else ReportRequest(path, result, **more)


def write_page(request: ReportRequest, ctx: typer.Context, warnings: Iterable[str]) -> None:
    """Write the page of a command.

    Args:
        request: What the command gives.
        ctx: Of the parser, with all options.
        warnings: Texts that were shown.
    """
    from ..reports import write_report

    write_report(
        request.result,
        request.path,
        settings=settings(ctx),
        tables=request.tables,
        figures=request.figures,
        warnings=warnings,
        command=shell_line(["flexjoint", *ARGUMENTS.get()]),
    )


def settings(ctx: typer.Context) -> dict[str, str]:
    """Value of each argument and option that has one, as one types it."""
    found = {}
    for parameter in ctx.command.params:
        name = parameter.name or ""
        value = ctx.params.get(name)
        if name in WRITTEN or name.startswith("shell_") or value in (None, "", (), []):
            continue
        source = ctx.get_parameter_source(name)
        default = source is not None and source.name == "DEFAULT"
        found[flag(parameter)] = value_text(value) + (" (default)" if default else "")
    return found


def value_text(value: Any) -> str:
    """The value of an option as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def shell_line(arguments: Iterable[str]) -> str:
    """A command line for bash and zsh; control characters are written as escapes."""
    return " ".join(shell_word(x) for x in arguments)


def shell_word(argument: str) -> str:
    """An argument, quoted where a shell needs it."""
    if not any(map(commands, argument)):
        return shlex.quote(argument)
    escapes = {"'": "\\'", "\\": "\\\\"}
    escaped = "".join(hexadecimal(x) if commands(x) else escapes.get(x, x) for x in argument)
    return f"$'{escaped}'"


def hexadecimal(character: str) -> str:
    """The bytes of a character as escapes of a shell, such as \\x1b."""
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
