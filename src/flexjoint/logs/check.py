"""All checks of a log, in the order in which their findings are listed."""

from __future__ import annotations

from ..errors import InputError, shown
from ..findings import LEVELS, Finding
from .circular_rules import circular_findings
from .delay_rules import delay_findings
from .log import Log
from .model_rules import model_findings
from .motion_rules import motion_findings
from .sample_rules import sample_findings
from .sampling import uniform
from .saturation_rules import saturation_findings


def check_log(log: Log, *, delays: bool = True) -> tuple[Finding, ...]:
    """What is wrong or probably wrong with a log, the worst first.

    Args:
        log: A log, such as `read_log` returns it.
        delays: Whether delays between channels are estimated too, which takes most of the time; default True.

    Returns:
        A `Finding` each: lost samples and stamps, joints that do not move, saturated torques, velocities that are not
        the derivative of the positions, swapped units, joints in another order, positions that were computed from
        others, delays between channels; none if nothing was found.

    Raises:
        InputError: `log` is not a Log, or its times do not increase.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> robot, t = fj.load("hua_3r"), 1e-3 * np.arange(2000)
        >>> log = fj.logs.Log(robot, t, q=np.sin(t)[:, None] * np.ones(3), v=-np.cos(t)[:, None] * np.ones(3))
        >>> print(fj.logs.check_log(log)[0].reason)
        v of joint1, joint2, joint3 has the opposite sign of the derivative of q
    """
    if not isinstance(log, Log):
        raise InputError(f"check_log: log is {shown(log)}; give a Log, such as read_log(path, robot)")
    found = [*sample_findings(log)]
    part = None if any(x.level == "error" for x in found) else uniform(log)
    if part is not None:
        found += [*saturation_findings(log), *motion_findings(log, part), *circular_findings(log)]
        if not any(x.level == "error" for x in found):  # positions and times are what they should be
            found += [*model_findings(log), *(delay_findings(log) if delays else ())]
    return tuple(sorted(found, key=lambda x: LEVELS.index(x.level)))
