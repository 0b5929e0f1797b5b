"""The application that every command belongs to, and what they share: errors as one line, progress."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.progress import Progress

app = typer.Typer(
    name="flexjoint",
    help="Robots with rigid, elastic and variable-stiffness joints: dynamics, control, simulation, fault detection.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


def clean_errors(command: Callable[..., None]) -> Callable[..., None]:
    """A mistake is one line on stderr and exit code 2, without a traceback; a warning is one line too."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        import warnings

        from ..errors import FlexjointError

        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_: say(f"warning: {message}")
                command(*args, **kwargs)
        except FlexjointError as error:
            say(str(error))
            raise typer.Exit(2) from None
        except OSError as error:
            say(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error))
            raise typer.Exit(2) from None

    return run


def say(message: str) -> None:
    typer.echo(f"flexjoint: {' '.join(message.split())}", err=True)


def print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"flexjoint {version('flexjoint')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=print_version, is_eager=True, help="Version.")] = False,
) -> None:
    pass


def progress_bar() -> Progress:
    """On a terminal, for as long as the work lasts; elsewhere nothing."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)
