"""The application that every command belongs to, and what commands share: options, errors as one line, progress."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from .command_result import CommandResult, give
from .standard_output import STREAM, to_a_reader
from .terminal_text import one_line

BAD_INPUT = 2  # exit codes; 1 is a bug of ours
DIVERGED = 3
INTERRUPTED = 130  # as a shell reports of Ctrl-C
CODES = (
    "Exit codes: 0 done; 1 an error inside flexjoint; 2 bad input or a warning with --strict; 3 the simulation "
    "diverged; 130 interrupted; 141 nobody reads the output. More: docs/command-line.md."
)


class Settings(NamedTuple):
    """What every command can be asked for, before its name or after it."""

    json: bool = False
    quiet: bool = False
    strict: bool = False

    def __or__(self, other: Settings) -> Settings:
        return Settings(*(x or y for x, y in zip(self, other)))


CURRENT: ContextVar[Settings] = ContextVar("settings")  # of the command that runs
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON, in SI units.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only warnings and errors, and what -o - asks for.")]
Strict = Annotated[bool, typer.Option("--strict", help="Take every warning for an error.")]
COMMON = {"shell_json": AsJson, "shell_quiet": Quiet, "shell_strict": Strict}


class Shell(TyperGroup):
    """The parser, with its own complaints as one line too."""

    def main(self, args: Any = None, *rest: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        try:
            code = super().main(args, *rest, **extra, standalone_mode=False)  # type: ignore[misc]
        except Exception as error:
            message = getattr(error, "format_message", None)  # of the parser's errors alone
            if message is None:
                raise
            place = getattr(getattr(error, "ctx", None), "command_path", "flexjoint")
            say(f"{message().rstrip('.')}; '{place} --help' lists what there is")
            code = BAD_INPUT
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else 0)
        return code

    def make_context(self, *args: Any, **extra: Any) -> Any:
        with to_a_reader():  # --help and --version print here, those of commands in invoke
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        with to_a_reader():
            return super().invoke(ctx)


class Command(TyperCommand):
    """A command whose help lists the registered controllers in place of "{controllers}", looked up when it is shown."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for parameter in self.params:
            text = getattr(parameter, "help", None) or ""
            if "{controllers}" in text:
                from .controllers import registrations

                parameter.help = text.replace("{controllers}", ", ".join(registrations()))  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


app = typer.Typer(
    name="flexjoint",
    cls=Shell,
    help="Robots with rigid, elastic and variable-stiffness joints: dynamics, control, simulation, fault detection.",
    epilog=CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"flexjoint {version('flexjoint')}")
        raise typer.Exit


@app.callback()
def main(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=print_version, is_eager=True, help="Version.")] = False,
    shell_json: AsJson = False,
    shell_quiet: Quiet = False,
    shell_strict: Strict = False,
) -> None:
    ctx.obj = Settings(shell_json, shell_quiet, shell_strict)
    help_without_command(ctx)


def help_without_command(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def command(group: typer.Typer = app, name: str | None = None, **aliases: str) -> Callable[[Any], Any]:
    """Register a function as a command: it returns an CommandResult, and gets the options of `Settings` beside its own.

    A mistake is one line on stderr and exit code 2, without a traceback; a warning is one line too.  `aliases` has the
    Python names of arguments, as they stand in messages, that the function calls otherwise.
    """

    def register(function: Callable[..., CommandResult]) -> Callable[..., CommandResult]:
        @wraps(function)
        def run(ctx: typer.Context, **given: Any) -> None:
            settings = (ctx.obj or Settings()) | Settings(*(given.pop(x) for x in COMMON))
            perform(lambda: function(**given), settings, given.get("output"), speaker(ctx, aliases))

        kind = inspect.Parameter.KEYWORD_ONLY
        own = inspect.signature(function, eval_str=True).parameters.values()
        common = [inspect.Parameter(x, kind, default=False, annotation=y) for x, y in COMMON.items()]
        context = inspect.Parameter("ctx", kind, annotation=typer.Context)
        parameters = [context, *(x.replace(kind=kind) for x in own), *common]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {x.name: x.annotation for x in parameters}
        group.command(name, cls=Command)(run)
        return function

    return register


def perform(
    work: Callable[[], CommandResult], settings: Settings, output: Path | None, spoken: Callable[[str], str]
) -> None:
    """Do the work of a command, and print its answer, warnings and errors."""
    import warnings

    from ..errors import FlexjointError, FlexjointWarning, InputError

    said = set()

    def show(message: Any, *_: Any) -> None:
        if (text := spoken(str(message))) not in said:
            said.add(text)
            say(f"warning: {text}")

    token = CURRENT.set(settings)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error" if settings.strict else "always", FlexjointWarning)
            warnings.showwarning = show  # type: ignore[assignment]
            if settings.json and output == STREAM:
                raise InputError("--json and -o - both write to standard output; choose one, or give -o a file name")
            answer = work()
        if settings.json or not settings.quiet:
            give(answer, settings.json, output == STREAM)
    except FlexjointWarning as warning:
        say(f"{spoken(str(warning))} (a warning, and an error by --strict)")
        raise typer.Exit(BAD_INPUT) from None
    except FlexjointError as error:
        say(spoken(str(error)))
        raise typer.Exit(BAD_INPUT) from None
    except OSError as error:
        say(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error))
        raise typer.Exit(BAD_INPUT) from None
    finally:
        CURRENT.reset(token)
    if answer.trouble:
        say(answer.trouble)
    if answer.code:
        raise typer.Exit(answer.code)


def speaker(ctx: typer.Context, aliases: dict[str, str]) -> Callable[[str], str]:
    """Python's messages in the words of this command."""

    def speak(message: str) -> str:
        from .messages import spoken

        return spoken(message, ctx.command.params, aliases)

    return speak


def say(message: str) -> None:
    typer.echo(f"flexjoint: {one_line(message)}", err=True)
