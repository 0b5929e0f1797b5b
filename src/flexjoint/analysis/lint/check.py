"""All families of rules, in the order in which their findings are listed."""

from __future__ import annotations

import warnings

from ...checks import is_number
from ...errors import FlexjointWarning, InputError, shown
from ...findings import LEVELS, Finding
from ...robot import Robot, numeric
from .bodies import body_findings
from .effects import effect_findings
from .gears import gear_findings
from .resonances import resonance_findings
from .trust import trust_findings
from .unit_doubts import unit_findings


def check_robot(robot: Robot, rate: float | None = None) -> tuple[Finding, ...]:
    """List of what is probably wrong with a robot, worst first.

    Args:
        robot: any robot.
        rate: sampling rate of the controller, in Hz, for the check of resonances; none by default.

    Returns:
        A tuple of `Finding`s; empty if nothing was found.

    Raises:
        InputError: `robot` is not a `Robot`, or the rate is not positive.

    Example:
        >>> import flexjoint as fj
        >>> [x.rule for x in fj.analysis.check_robot(fj.load("kuka_lwr"), rate=20.0) if x.level == "warning"]
        ['resonances']
    """
    numeric("check_robot", robot)
    if rate is not None and not (is_number(rate) and 0 < rate < float("inf")):
        raise InputError(f"check_robot: rate is {shown(rate)}; give a positive number of samples per second")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlexjointWarning)  # of robots made from this one
        found = findings(robot, rate)
    return tuple(sorted(found, key=lambda x: LEVELS.index(x.level)))


def findings(robot: Robot, rate: float | None) -> list[Finding]:
    """What all rules find, in their order."""
    return [
        *unit_findings(robot),
        *body_findings(robot),
        *gear_findings(robot),
        *resonance_findings(robot, rate),
        *trust_findings(robot),
        *effect_findings(robot),
    ]
