"""Reference of the command line, from the commands themselves."""

from __future__ import annotations

import inspect
import re
from typing import Any

import typer.main

from flexjoint.cli import app
from flexjoint.cli.app import CODES
from flexjoint.cli.controllers import registrations

from .pages import STAGE


def write_commands() -> None:
    """Write the page `reference/command-line.md`."""
    group: Any = typer.main.get_command(app)
    top = group.make_context("flexjoint", [], resilient_parsing=True)
    common = records(group, top)
    commands = sorted(commands_in(group, top))
    parts = [
        "# Command line",
        f"{group.help} How commands work together: [The command line](../command-line.md).",
        "\n".join(["| command | |", "|---|---|", *(f"| [{x}](#{anchor(x)}) | {summary(y)} |" for x, y, _ in commands)]),
        f"## Options of every command\n\n{table(common)}\n\n{CODES}",
    ]
    for name, command, context in commands:
        own = [x for x in records(command, context) if x not in common and not x[0].startswith("-h")]
        usage = " ".join(["flexjoint", name, *command.collect_usage_pieces(context)])
        text = inspect.cleandoc(command.help or "")
        parts.append(f"## {name} {{#{anchor(name)}}}\n\n```sh\n{usage}\n```\n\n{text}\n\n{table(own)}")
    (STAGE / "reference" / "command-line.md").write_text("\n\n".join(parts) + "\n")


def commands_in(group: Any, parent: Any, before: str = "") -> list[tuple[str, Any, Any]]:
    """Names, commands and their contexts; a command of a subgroup has the name of the group before its own."""
    found = []
    for name, command in group.commands.items():
        context = command.make_context(name, [], parent=parent, resilient_parsing=True)
        if getattr(command, "commands", None) is not None:
            found += commands_in(command, context, f"{before}{name} ")
        elif not command.hidden:
            found.append((before + name, command, context))
    return found


def records(command: Any, context: Any) -> list[tuple[str, str]]:
    """Arguments and options as --help shows them: how each is written, and what it does."""
    return [x for x in (p.get_help_record(context) for p in command.get_params(context)) if x is not None]


def table(rows: list[tuple[str, str]]) -> str:
    """A Markdown table of arguments and options; empty without any."""
    bar = "\\|"
    lines = "\n".join(f"| `{written.replace('|', bar)}` | {plain(text)} |" for written, text in rows)
    return f"| argument or option | |\n|---|---|\n{lines}" if rows else ""


def plain(text: str) -> str:
    """A text that stays itself in a table."""
    text = re.sub(r"\s+", " ", text.replace("{controllers}", ", ".join(registrations())))
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def summary(command: Any) -> str:
    """First sentence of the help."""
    return plain((command.help or "").strip().split("\n")[0])


def anchor(name: str) -> str:
    return name.replace(" ", "-")
