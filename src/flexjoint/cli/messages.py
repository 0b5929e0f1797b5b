"""Messages with command-line options in place of Python arguments.

A message of Python names arguments: `gains=`, `check=False`, or at its start "simulate: period is 0".  On the command
line it names the options of the command, so that one text serves both:

    argument=            --option, or the name of a positional one in capitals
    argument=False       --no-option, where there is one
    argument=value       --option value
    argument is ...      --option is ..., at the start of a message
    function: ...        ...
    MotorPD              motor_pd, as --controller takes it
    allow_unphysical=    "allow_unphysical = true" in the robot file, which has no options
    (in Python ...)      nothing, behind an option
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any

PYTHON = re.compile(r" \(in Python [^()]*\)")
VALUE = r"\([^()]*\)|\[[^\[\]]*\]|'[^']*'|[\w.+%-]*\w"
IN_FILES = ("allow_unphysical", "rotors_in_links", "fidelity", "tool", "gravity")  # keys of robot files
PHRASES = {
    "use robot.without_gear_losses() as the model, and the robot itself in simulate": (
        "remove hysteresis and backlash from a copy of the robot file; simulate, torques and detect do so themselves"
    ),
    "fj.robot.robot_parameters(robot)": "'flexjoint info ROBOT --parameters'",
    "for numbers use fj.compile, for code of any robot fj.export_c": "'flexjoint export-c' writes code of any robot",
    "symbols=()": "--numbers",
}


def with_options(message: str, parameters: Sequence[Any], aliases: Mapping[str, str]) -> str:
    """The message with options in place of arguments.

    Args:
        message: A message of Python.
        parameters: Parameters of the command, as the parser has them.
        aliases: Parameter of the command by Python argument, where they have different names.
    """
    from ..control import REGISTRY

    known = {x.name: x for x in parameters if x.name}
    known |= {argument: known[name] for argument, name in aliases.items() if name in known}
    message = without_python(message)
    for phrase, words in PHRASES.items():
        message = message.replace(phrase, words)
    for name, kind in REGISTRY.items():
        message = re.sub(rf"\b{kind.__name__}\b(?!\()", name, message)
    message = without_function(message)
    begin = re.match(r"(?:[\w ]+: )?(\w+)(?= (?:is|are|has|have|must|takes)\b)", message)
    if begin and begin[1] in known:
        message = message[: begin.start(1)] + flag(known[begin[1]]) + message[begin.end(1) :]
    return re.sub(
        rf"(?P<verb>pass )?(?<![\w.\-'*])(?P<name>[a-z]\w*)=(?P<value>{VALUE})?(?!=)",
        lambda found: option(found, known),
        message,
    )


def without_python(message: str) -> str:
    """The message without what to type in Python, in parentheses behind what to type on the command line."""
    return PYTHON.sub("", message)


def without_function(message: str) -> str:
    """The message without the name of the Python function that wrote it."""
    name, colon, rest = message.partition(": ")
    return rest if colon and name in function_names() else message


@cache
def function_names() -> set[str]:
    """Names of the public functions of flexjoint and its subpackages."""
    import flexjoint as fj

    spaces = [fj, *(x for name in fj.__all__ if isinstance(x := getattr(fj, name), ModuleType))]
    return {name for space in spaces for name, x in vars(space).items() if name.islower() and callable(x)}


def option(found: re.Match[str], known: Mapping[str, Any]) -> str:
    """Text that replaces an argument `name=value`."""
    name, value = found["name"], found["value"] or ""
    if name in IN_FILES and name not in known:
        written = {"True": "true", "False": "false"}.get(value, value or "...")
        file = "robot or drive file" if name == "rotors_in_links" else "robot file"
        return f"{'write ' if found['verb'] else ''}{name} = {written} in the {file}"
    if name not in known:
        return found[0]
    parameter = known[name]
    if value in ("True", "False"):
        off = value == "False" and parameter.secondary_opts
        return off[0] if off else flag(parameter)
    shown = parameter.metavar if value.startswith(("(", "[")) and parameter.metavar else value
    return f"{flag(parameter)} {shown}".rstrip()


def flag(parameter: Any) -> str:
    """A parameter as one types it: --option, or the name of a positional one in capitals."""
    longest = str(max(parameter.opts, key=len))
    return longest if longest.startswith("-") else longest.upper()
