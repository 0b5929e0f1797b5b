"""All errors flexjoint raises share one root; each message names the culprit, its value and a remedy."""

import sys
import warnings

INSIDE = ("flexjoint", "dataclasses")  # packages whose lines are not those of a user


class FlexjointError(Exception):
    """Root of every error raised on purpose by flexjoint."""


class RobotError(FlexjointError, ValueError):
    """A robot description is wrong: the message names the link or joint, the value and the remedy."""


class InputError(FlexjointError, ValueError):
    """An argument of an algorithm has a wrong shape, type or number; nothing was computed."""


class NonFiniteError(FlexjointError, ArithmeticError):
    """A single evaluation gave a result that is not finite; the message names the offending input."""


class FlexjointWarning(UserWarning):
    """An input is legal but probably not what was meant: the message names the place, the value and the remedy.

    `warnings.simplefilter("error", fj.FlexjointWarning)` turns every such warning into an error, as `--strict` does on
    the command line.
    """


def warn(message: str) -> None:
    """Warn with a FlexjointWarning, located at the first line outside flexjoint that led here."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, FlexjointWarning, stacklevel=level)
