"""The application, and what all commands share: common options, registration, errors and warnings as one line."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from .command_result import CommandResult, print_result
from .report_request import ARGUMENTS, write_page
from .robot_options import OPTIONS as ROBOT_OPTIONS, Request, RobotArgument, RobotName, RobotRequest, loaded_robot
from .standard_output import STREAM, to_a_reader
from .terminal_text import WIPE, one_line

BAD_INPUT = 2  # exit codes; 1 is an error inside flexjoint
DIVERGED = 3
UNSOLVED = 4
INTERRUPTED = 130  # as a shell reports Ctrl-C
CODES = (
    "Exit codes: 0 done; 1 an error inside flexjoint, or one that check or log found; 2 bad input or a warning with "
    "--strict; 3 the simulation diverged; 4 ik found no solution; 130 interrupted; 141 the reader of the output closed "
    "it. More: docs/command-line.md."
)


TASKS = {
    "Robots": ("robots", "info", "check", "drives", "view", "rotors", "equations"),
    "Motions": ("torques", "fit", "fastest", "ik", "record"),
    "Control": ("controllers", "simulate", "study", "studio", "linearize"),
    "Logs": ("log", "detect", "excite", "identify", "resonances"),
    "Other programs": ("export-c", "export-fmu", "export-mjcf", "export-urdf", "serve"),
}  # sections of `flexjoint --help`; a command that is not named here stands in the last one
OTHERS = "More"


class CommonOptions(NamedTuple):
    """Options of every command, given before or after its name."""

    json: bool = False
    quiet: bool = False
    strict: bool = False

    def __or__(self, other: CommonOptions) -> CommonOptions:
        return CommonOptions(*(x or y for x, y in zip(self, other)))


CURRENT: ContextVar[CommonOptions] = ContextVar("common options")  # of the running command
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, in SI units.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only warnings, errors and the output of -o -.")]
Strict = Annotated[bool, typer.Option("--strict", help="Treat every warning as an error.")]
COMMON = {"shell_json": AsJson, "shell_quiet": Quiet, "shell_strict": Strict}


class Shell(TyperGroup):
    """The parser; its errors are one line too."""

    def main(self, args: Any = None, *rest: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run a command; an error of the parser is one line and exit code 2."""
        ARGUMENTS.set([*(sys.argv[1:] if args is None else args)])
        try:
            code = super().main(args, *rest, **extra, standalone_mode=False)  # type: ignore[misc]
        except Exception as error:
            message = getattr(error, "format_message", None)  # only errors of the parser have it
            if message is None:
                raise
            place = getattr(getattr(error, "ctx", None), "command_path", "flexjoint")
            say(f"{message().rstrip('.')}; '{place} --help' lists all options")
            code = BAD_INPUT
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else 0)
        return code

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by task, each with the first sentence of its help."""
        known = self.list_commands(ctx)
        named = {name for names in TASKS.values() for name in names}
        widest = max(map(len, known))
        for title, names in {**TASKS, OTHERS: [x for x in known if x not in named]}.items():
            shown = [(x.ljust(widest), self.commands[x]) for x in names if x in known]
            with formatter.section(title):
                formatter.write_dl([(x, y.get_short_help_str(formatter.width - widest - 6)) for x, y in shown])

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Parse the options; --help and --version of the application print here."""
        with to_a_reader():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; its --help prints here."""
        with to_a_reader():
            return super().invoke(ctx)


class Command(TyperCommand):
    """A command whose help lists the registered controllers in place of "{controllers}", looked up when it is shown."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
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
    """Print the version and exit."""
    if wanted:
        from importlib.metadata import version

        typer.echo(f"flexjoint {version('flexjoint')}")
        raise typer.Exit


@app.callback()
def main(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
    shell_json: AsJson = False,
    shell_quiet: Quiet = False,
    shell_strict: Strict = False,
) -> None:
    """Keep the common options, and print the help without a command."""
    ctx.obj = CommonOptions(shell_json, shell_quiet, shell_strict)
    help_without_command(ctx)


def help_without_command(ctx: typer.Context) -> None:
    """Print the help if no command is given."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def command(group: typer.Typer = app, name: str | None = None, **aliases: str) -> Callable[[Any], Any]:
    """Decorator that registers a function as a command.

    The function returns a CommandResult; the command has the common options besides the parameters of the function.
    A parameter `robot: RobotArgument` gets the Robot; the command has the options of robots (`robot_options.py`).
    A parameter whose type is a NamedTuple of options, such as `loop: LoopOptions`, gets one; the command has all of its
    options.
    An error in the input is one line on standard error and exit code 2, without a traceback; a warning is one line too.

    Args:
        group: Group of commands; default the application.
        name: Name of the command; default that of the function.
        aliases: Parameter of the function by Python argument, where messages use another name than the function.
    """

    def register(function: Callable[..., CommandResult]) -> Callable[..., CommandResult]:
        @wraps(function)
        def run(ctx: typer.Context, **given: Any) -> None:
            options = (ctx.obj or CommonOptions()) | CommonOptions(*(given.pop(x) for x in COMMON))
            streamed = given.get("output") == STREAM  # in ctx.params typer 0.16 keeps a text
            perform(lambda: function(**with_robot(gathered(given))), options, streamed, ctx, translator(ctx, aliases))

        def gathered(given: dict[str, Any]) -> dict[str, Any]:
            parts = {x: options(**{y: given.pop(y) for y in options._fields}) for x, options in groups.items()}
            return given | parts

        def with_robot(given: dict[str, Any]) -> dict[str, Any]:
            if wanted not in (RobotArgument, RobotRequest):
                return given
            chosen = {x: given[x] for x in ROBOT_OPTIONS}
            others = {x: y for x, y in given.items() if x not in chosen}
            asked = Request(given["robot"], chosen)
            return others | {"robot": loaded_robot(*asked) if wanted == RobotArgument else asked}

        kind = inspect.Parameter.KEYWORD_ONLY
        own = dict(inspect.signature(function, eval_str=True).parameters)
        groups = {x.name: x.annotation for x in own.values() if hasattr(x.annotation, "_fields")}
        for parameter, options in groups.items():
            del own[parameter]
            for x, hint in get_type_hints(options, include_extras=True).items():
                own[x] = inspect.Parameter(x, kind, default=options._field_defaults[x], annotation=hint)
        wanted = own["robot"].annotation if "robot" in own else None
        if wanted in (RobotArgument, RobotRequest):
            own["robot"] = own["robot"].replace(annotation=RobotName)
            further = [inspect.Parameter(x, kind, default=None, annotation=y) for x, y in ROBOT_OPTIONS.items()]
            own |= {x.name: x for x in further}
        common = [inspect.Parameter(x, kind, default=False, annotation=y) for x, y in COMMON.items()]
        context = inspect.Parameter("ctx", kind, annotation=typer.Context)
        parameters = [context, *(x.replace(kind=kind) for x in own.values()), *common]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {x.name: x.annotation for x in parameters}
        group.command(name, cls=Command)(run)
        return function

    return register


def perform(
    work: Callable[[], CommandResult],
    options: CommonOptions,
    streamed: bool,
    ctx: typer.Context,
    translate: Callable[[str], str],
) -> None:
    """Run a command, write its report, and print its result, warnings and errors.

    Args:
        work: Runs the command.
        options: Common options.
        streamed: True if the command sends data to standard output; its text then goes to standard error.
        ctx: Context of the command, for its report.
        translate: Puts options in place of arguments in a message.
    """
    import warnings

    from ..errors import FlexjointError, FlexjointWarning, InputError
    from .progress import reports

    said: dict[str, None] = {}  # in their order

    def show(message: Any, *_: Any) -> None:
        if (text := translate(str(message))) not in said:
            said[text] = None
            say(f"warning: {text}")

    token = CURRENT.set(options)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error" if options.strict else "always", FlexjointWarning)
            warnings.showwarning = show  # type: ignore[assignment]
            if options.json and streamed:
                raise InputError("--json and -o - both write to standard output; choose one, or give -o a file name")
            with reports(options):
                result = work()
                if result.report is not None:
                    write_page(result.report, ctx, said)
        if options.json or not options.quiet:
            print_result(result, options.json, streamed)
    except FlexjointWarning as warning:
        say(f"{translate(str(warning))} (a warning, treated as an error by --strict)")
        raise typer.Exit(BAD_INPUT) from None
    except FlexjointError as error:
        say(translate(str(error)))
        raise typer.Exit(BAD_INPUT) from None
    except OSError as error:
        say(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error))
        raise typer.Exit(BAD_INPUT) from None
    finally:
        CURRENT.reset(token)
    if result.trouble:
        say(result.trouble)
    if result.code:
        raise typer.Exit(result.code)


def translator(ctx: typer.Context, aliases: dict[str, str]) -> Callable[[str], str]:
    """A function that puts options in place of arguments in a message."""

    def translate(message: str) -> str:
        from .messages import with_options

        return with_options(message, ctx.command.params, aliases)

    return translate


def say(message: str) -> None:
    """One line on stderr; on a terminal in the place of what was reported last."""
    typer.echo(f"{WIPE if sys.stderr.isatty() else ''}flexjoint: {one_line(message)}", err=True)
