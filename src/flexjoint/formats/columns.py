"""Names and units of table columns: `joint1`, or `joint1 [deg]` with a unit other than SI."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import InputError, quoted, warn
from ..types import FloatArray

TIME_NAMES = ("t", "time")
SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
ANGLES = {"rad": 1.0, "mrad": 1e-3, "deg": math.pi / 180, "°": math.pi / 180, "turn": 2 * math.pi}
LENGTHS = {"m": 1.0, "mm": 1e-3, "cm": 1e-2}
FEW = 10  # samples: this many may be whole seconds apart
NUMBERED = re.compile(r"(?P<stem>.*?)[._ -]?(?P<number>[0-9]{1,6})")
POSITIONS = ("q", "j", "joint", "axis", "pos", "position", "angle")  # names before a number, as in q1 or joint_1
QUANTITIES = {  # likewise, for other quantities
    **dict.fromkeys(("v", "dq", "qd", "qdot", "vel", "velocity", "w", "omega"), "velocities"),
    **dict.fromkeys(("a", "ddq", "qdd", "acc", "acceleration"), "accelerations"),
    **dict.fromkeys(("tau", "tau_j", "tau_m", "torque", "effort", "f", "force", "current", "i"), "torques or currents"),
}
COLUMN = re.compile(r"\s*(?P<name>[^\[\]]*?)\s*(?:\[(?P<unit>[^\]]*)\])?\s*")


def parts(header: str) -> tuple[str, str]:
    """Name and unit of a column from its header; the unit is "" if there is none."""
    matched = COLUMN.fullmatch(header)
    return (matched["name"], (matched["unit"] or "").strip()) if matched else (header, "")


def scaled(values: FloatArray, unit: str, known: Mapping[str, float], header: str, place: str) -> FloatArray:
    """The values of a column in SI units.

    Args:
        values: the column.
        unit: its unit, "" for SI.
        known: allowed units, each with its size in SI.
        header: header of the column, for the message.
        place: file of the column, which begins the message.

    Raises:
        InputError: the unit is not allowed.
    """
    if unit not in known:
        units = ", ".join(x for x in known if x)
        raise InputError(
            f"{place}: the unit of '{quoted(header)}' is none of {units}; convert the numbers and the header"
        )
    return np.asarray(values, dtype=float) * known[unit]


def unnamed_order(names: Sequence[str], joints: Sequence[str], robot: str, place: str) -> list[int]:
    """The column of each joint if no column has the name of a joint: by number, otherwise in their order.

    Args:
        names: names of the columns, one per joint.
        joints: names of the joints.
        robot: name of the robot, for messages.
        place: file of the columns, which begins the message.

    Returns:
        Index of the column of each joint.

    Raises:
        InputError: the columns are numbered neither from 1 nor from 0, or hold another quantity, such as tau1.

    Warns:
        FlexjointWarning: the names say nothing, so the columns are read in their order.
    """
    known = ", ".join(f"{x:.40}" for x in joints[:8]) + (", ..." if len(joints) > 8 else "")
    matches = [matched for name in names if (matched := NUMBERED.fullmatch(name.lower()))]
    stems, numbers = {x["stem"] for x in matches}, [int(x["number"]) for x in matches]
    numbered = len(matches) == len(names) and len(stems) == 1
    if numbered and (stem := stems.pop()) in QUANTITIES:
        raise InputError(
            f"{place}: the columns {', '.join(names):.200} look like {QUANTITIES[stem]}; a trajectory file has the "
            f"positions of joints, named {known}, or q1, q2, ..."
        )
    if numbered and stem in POSITIONS:
        first = min(numbers)
        if first > 1 or sorted(numbers) != list(range(first, first + len(numbers))):
            raise InputError(
                f"{place}: the columns {', '.join(names):.200} are numbered neither from 1 to {len(joints)} nor from 0 "
                f"to {len(joints) - 1}; the joints of {robot:.200} are {known}"
            )
        return [numbers.index(first + j) for j in range(len(numbers))]
    pairs = ", ".join(f"{name:.40} is {joint:.40}" for name, joint in list(zip(names, joints))[:3])
    warn(
        f"{place}: no column is named after a joint of {robot:.200}, so they are read as they stand: {pairs}"
        f"{', ...' if len(joints) > 3 else ''}; name them {known}, or q1, q2, ..."
    )
    return list(range(len(joints)))


def warn_of_milliseconds(times: FloatArray, header: str, place: str) -> None:
    """Warn of times without a unit in whole steps of a second or more: they may be milliseconds or sample numbers."""
    steps = np.diff(times)
    if len(times) > FEW and steps.min() >= 1.0 and np.array_equal(times, np.round(times)):
        warn(
            f"{place}: the times in '{header:.40}' are whole numbers up to {times[-1]:.6g}, {np.median(steps):g} s "
            f"apart; if they are milliseconds, write '{header:.40} [ms]' in the header; if seconds, '{header:.40} [s]'"
        )
