"""Options of `simulate` about vibration: --shaper shapes the reference, --vibration measures what remains."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from .command_result import CommandResult

if TYPE_CHECKING:
    from ..analysis import ResidualVibration
    from ..control import Controller
    from ..dynamics import VibrationMode
    from ..trajectory import Trajectory

LIGHT = 0.3  # damping ratio: modes with more need no shaper
AFTERWARDS = 2.0  # s that are simulated after the motion, if vibration is measured and no duration is given


class Shaping(NamedTuple):
    """A shaper by name, and the modes that it removes."""

    shaper: str
    modes: list[VibrationMode]


def shaping(law: Controller, motion: Trajectory, shaper: str, count: int, period: float) -> Shaping:
    """The slowest lightly damped modes of the loop at the goal of a motion."""
    from ..analysis import vibration_modes
    from ..checks import whole
    from ..errors import InputError, shown
    from ..trajectory.shapers import SHAPERS

    robot = law.robot
    if law.width > robot.n:
        raise InputError('--shaper shapes motions alone; shape it in --trajectory: {kind = "shaped", motion = {...}}')
    count = whole("simulate", "modes", count, least=1)
    if shaper not in SHAPERS:
        raise InputError(f"--shaper is {shown(shaper)}; it must be one of {', '.join(SHAPERS)}")
    if not any(robot.compliant):
        raise InputError(f"--shaper: no joint of {robot.name} is elastic, so no spring vibrates")
    found = vibration_modes(robot, motion(motion.duration, 0)[0], law, period)
    light = [x for x in found if x.damping < LIGHT]
    if not light:
        raise InputError(f"--shaper: the loop has no mode with a damping ratio below {LIGHT:g}; leave it out")
    return Shaping(shaper, light[:count])


def shaped_reference(motion: Trajectory, law: Controller, chosen: Shaping, period: float) -> Trajectory:
    """The motion through the shaper."""
    from ..trajectory import shape_motion

    return shape_motion(motion, law.robot, chosen.shaper, chosen.modes, period=period)


def with_vibration(result: CommandResult, found: ResidualVibration) -> CommandResult:
    """The result of a run, with the vibration after its stop."""
    from ..reports import content_of

    return replace(
        result, shown=[*result.shown, *content_of(found).shown], data={**result.data, "vibration": data(found)}
    )


def data(found: ResidualVibration) -> dict[str, Any]:
    """Vibration for programs."""
    joints = [
        {"joint": joint.name, "largest": found.largest[i], "unit": joint.kind.unit("rad | m")}
        for i, joint in enumerate(found.robot.joints)
    ]
    modes = [
        {"frequency_hz": x.frequency, "damping": x.damping, "amplitudes": x.amplitude, "tool_m": x.tool}
        for x in found.modes
    ]
    return {
        "stop_s": found.start,
        "settling_s": found.settling,
        "tool_m": found.tool,
        "misfit": found.misfit,
        "joints": joints,
        "modes": modes,
    }
