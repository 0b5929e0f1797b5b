"""Quantity and unit that the words of a header name: `measured_joint_position`, `/joint_states/effort`, `tau_J`.

A header is split at blanks, dots, slashes, underscores and capital letters.  Words that only say where a number comes
from (`joint`, `measured`, `actual`, `state`) are left out; words such as `desired` or `cmd` make it a command, `motor`
puts it on the motor's side.  What is left must be the word of a quantity: an unknown word anywhere, as in
`tau_ext_hat_filtered` or `position_error`, means that the column is something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..formats.columns import parts

WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]|[0-9]+|[^\sA-Za-z0-9._/:\-]+")
SOURCES = {  # where a number comes from
    *("joint", "joints", "jnt", "state", "states", "measured", "meas", "msr", "actual", "act", "estimated", "feedback"),
    *("field", "robot", "data", "msg", "arm", "link", "axis"),
}
COMMANDED = {
    *("desired", "des", "d", "reference", "ref", "target", "commanded", "command", "cmd", "setpoint", "goal", "ipo"),
}
MOTOR = {"motor", "motors", "mot", "m", "rotor", "actuator", "drive"}
SENSOR = {"J", "j", "e", "sensor", "sensed"}
CORES = {
    **dict.fromkeys(("q", "q pos", "position", "positions", "pos", "angle", "angles", "qpos", "mp"), "q"),
    **dict.fromkeys(("v", "dq", "qd", "qdot", "q dot", "q vel", "velocity", "velocities", "vel", "speed", "qvel"), "v"),
    "theta": "theta",
    **dict.fromkeys(("dtheta", "theta dot", "thetadot", "theta v", "thetad"), "theta_v"),
    **dict.fromkeys(("torque", "torques", "effort", "efforts", "tau", "moment", "trq", "qfrc"), "torque"),
    "mt": "tau_e",
    "ip": "reference",
    **dict.fromkeys(("current", "currents", "cur", "iq", "i q"), "current"),
}
COMMANDS = {"q": "reference", "v": "reference_v", "torque": "tau_d"}
ON_MOTORS = {
    "q": "theta",
    "v": "theta_v",
    "torque": "tau",
    "current": "current",
    "theta": "theta",
    "theta_v": "theta_v",
}
FRI_TORQUES = {("measured", "torque"), ("measured", "joint", "torque"), ("joint", "torque", "measured")}
UNITS = {  # behind an underscore at the end of a header or before its number, as in pos_deg_1
    **{x: x for x in ("deg", "rad", "mrad", "mm", "cm", "Nm", "mNm", "mA", "A", "rpm")},
    **{"degree": "deg", "degrees": "deg", "nm": "Nm", "amp": "A", "amps": "A"},
    **{f"{x}{mark}s": f"{x}/s" for x in ("deg", "rad") for mark in ("", "_", "/", "_per_")},
}
UNIT_WORD = re.compile(rf"[_. ](?P<unit>{'|'.join(sorted(UNITS, key=len, reverse=True))})(?P<rest>$|[_. ][0-9]+$)")
NUMBERED = re.compile(r"(?P<name>.*?)_?(?P<k>[0-9]{1,6})")
INDEXED = re.compile(r"(?P<name>[^\[\]]*)\[(?P<k>[0-9]{1,6})\]\s*(?P<unit>\[[^\]]*\])?")
UNIT = re.compile(r"\s*\(([^()]*)\)\s*$")
GREEK = str.maketrans({"θ": "theta", "ϑ": "theta", "τ": "tau"})
SPELLINGS = {  # of units in brackets
    **dict.fromkeys(("N·m", "N⋅m", "N*m", "N.m", "N-m"), "Nm"),
    **dict.fromkeys(("degree", "degrees"), "deg"),
    **dict.fromkeys(("radian", "radians"), "rad"),
    **dict.fromkeys(("turns", "rev", "revs", "revolutions"), "turn"),
    **dict.fromkeys(("sec", "second", "seconds"), "s"),
    **dict.fromkeys(("msec", "milliseconds"), "ms"),
    **dict.fromkeys(("1/min", "rev/min", "r/min", "RPM"), "rpm"),
    **{"μs": "us", "usec": "us", "nsec": "ns", "degrees/s": "deg/s", "deg/sec": "deg/s", "rad/sec": "rad/s"},
}
UNDECIDED = "effort"  # a torque of motors or of sensors: the header does not say


def words_of(text: str) -> list[str]:
    """The words of a header: `state.tau_J` gives state, tau, J; `measuredJointPosition` measured, Joint, Position."""
    return WORDS.findall(text)


def quantity_of(words: Sequence[str]) -> str | None:
    """The quantity of a header without joint, number and unit; None if the words name no known quantity.

    Args:
        words: As `words_of` returns them.

    Returns:
        Name of a quantity, such as "q" or "reference", or "effort" for a torque of motors or sensors.
    """
    lower = [word.lower() for word in words]
    kept = [word for word in lower if word not in SOURCES]
    commanded, motor = COMMANDED & set(kept), MOTOR & set(kept)
    core = " ".join(word for word in kept if word not in COMMANDED | MOTOR | SENSOR)
    what, sensor = CORES.get(core), SENSOR & set(kept)
    if what is None or (sensor and (what != "torque" or motor)):
        return None
    if commanded:
        return COMMANDS.get(what)
    if motor:
        return ON_MOTORS.get(what)
    if what != "torque":
        return what
    plural = tuple(word.removesuffix("s") for word in lower)
    if sensor or plural in FRI_TORQUES:
        return "tau_e"
    return "tau" if core == "tau" else UNDECIDED


def without_unit(text: str) -> tuple[str, str]:
    """A name without the unit at its end or before its number, and the unit; "" if there is none."""
    matched = UNIT_WORD.search(text)
    return (text[: matched.start()] + matched["rest"], UNITS[matched["unit"]]) if matched else (text, "")


def name_and_unit(header: str) -> tuple[str, str]:
    """Name and unit of a header: q1 or q_0 and the unit of `q1 [deg]`, `q1 (deg)`, `q[0] [deg]`, `state.q[0]`."""
    bare = UNIT.sub(r" [\1]", header.strip()).removeprefix("state.")
    index = INDEXED.fullmatch(bare)
    name, unit = parts(f"{index['name']}_{index['k']} {index['unit'] or ''}" if index else bare)
    return name.translate(GREEK), SPELLINGS.get(unit, unit)


def numbered(name: str) -> tuple[str, str]:
    """Name and number of `q1` or `q_1`; an empty number if there is none."""
    matched = NUMBERED.fullmatch(name)
    return (matched["name"], matched["k"]) if matched else (name, "")


def shortened(headers: Sequence[str]) -> str:
    """All headers in one line; of those that differ in their number alone the first and the last."""
    groups: dict[str, list[str]] = {}
    for header in headers:
        groups.setdefault(re.sub(r"\d+(?=\D*$)", "#", header), []).append(header)
    return ", ".join(", ".join(x) if len(x) < 4 else f"{x[0]} ... {x[-1]}" for x in groups.values())
