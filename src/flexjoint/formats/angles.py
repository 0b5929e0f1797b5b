"""Checks for angles in degrees where rad are expected."""

from __future__ import annotations

import math

from ..errors import RobotError, warn

FULL_TURN = 2 * math.pi * (1 + 1e-9)  # rad: the largest angle between two frames


def check_angle(what: str, angle: float, place: str, remedy: str) -> None:
    """Check that an angle lies within a full turn.

    Args:
        what: name of the angle.
        angle: the angle, in rad.
        place: beginning of the message.
        remedy: how to write degrees there.

    Raises:
        RobotError: the angle is a whole number beyond a full turn, which is hardly meant in rad.

    Warns:
        FlexjointWarning: any other angle beyond a full turn.
    """
    if not math.isfinite(angle) or abs(angle) <= FULL_TURN:
        return
    turns = f"{abs(angle) / (2 * math.pi):.3g} turns"
    message = f"{place:.400}: {what} is {angle:.6g} rad, {turns}; if degrees are meant, {remedy}"
    if angle == round(angle):
        raise RobotError(message)
    warn(f"{message}; otherwise take the angle within one turn")
