"""Form of an algorithm: the positional arrays it takes and what it returns, for one robot and one set of options.

    forward_dynamics, rigid joints      (q, v, tau)                   -> a
    forward_dynamics, elastic joints    (q, v, theta, theta_v, tau)   -> Accelerations(a, theta_a)

Most algorithms have a single form, that of their Python signature.  The others have a function
`(robot, options) -> Form`, given to the decorator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from ..errors import InputError
from ..robot import Robot
from .signals import SIGNALS, Signal


class Form(NamedTuple):
    """Names of the positional arrays, and the output: one name, or a NamedTuple of names."""

    inputs: tuple[str, ...]
    outputs: str | type
    signals: Mapping[str, Signal] = {}  # shape and unit where they are not those of `SIGNALS`
    reason: str = ""  # why this form, behind "for 'robot', ..."

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return (self.outputs,) if isinstance(self.outputs, str) else self.outputs._fields  # type: ignore[attr-defined]

    def signal(self, owner: str, name: str) -> Signal:
        """Shape and unit of an input or output."""
        found = self.signals.get(name) or SIGNALS.get(name)
        if found is None:
            raise InputError(f"{owner}: there is no signal '{name}'; there are {', '.join(SIGNALS)}")
        return found

    def needed(self, owner: str, robot: Robot, verb: str) -> str:
        """The beginning of a message about missing or surplus arrays."""
        named = ", ".join(self.inputs)
        if not self.reason:
            return f"{owner} {verb} robot, {named}"
        return f"{owner} {verb} {named} for '{robot.name}', {self.reason}"

    def surplus(self, owner: str, robot: Robot, given: int) -> str:
        """The message about too many positional arrays."""
        if not self.reason:
            return f"{owner} takes {len(self.inputs)} arrays, {given} were given"
        return f"{self.needed(owner, robot, 'takes')}; {given} arrays were given"


FormOf: TypeAlias = Callable[[Robot, Mapping[str, Any]], Form]


class Call(NamedTuple):
    """What a requirement may look at: the robot, the number of positional arrays, keyword arrays and options."""

    robot: Robot
    arrays: int = 0
    keyword_arrays: Mapping[str, Any] = {}
    options: Mapping[str, Any] = {}


Requirement: TypeAlias = Callable[[Call], "str | None"]  # why a call is refused; None if it is not


def require(owner: str, call: Call | Robot, *requirements: Requirement) -> None:
    """Raise an InputError for the first requirement that is not met; `owner` begins the message."""
    given = Call(call) if isinstance(call, Robot) else call
    for requirement in requirements:
        if (reason := requirement(given)) is not None:
            raise InputError(f"{owner}: {reason}")
