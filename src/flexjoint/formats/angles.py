"""Angles of frames that look like degrees where rad are expected."""

from __future__ import annotations

import math

from ..errors import RobotError, warn

FULL_TURN = 2 * math.pi * (1 + 1e-9)  # rad: no angle between frames needs more


def check_angle(what: str, angle: float, place: str, remedy: str) -> None:
    """Refuse a whole number beyond a full turn, which nobody means in rad; warn of any other angle beyond it.

    `what` names the angle, `place` begins the message, and `remedy` says how to write degrees there.
    """
    if not math.isfinite(angle) or abs(angle) <= FULL_TURN:
        return
    turns = f"{abs(angle) / (2 * math.pi):.3g} turns"
    message = f"{place:.400}: {what} is {angle:.6g} rad, {turns}; if degrees are meant, {remedy}"
    if angle == round(angle):
        raise RobotError(message)
    warn(f"{message}; otherwise take the angle within one turn")
