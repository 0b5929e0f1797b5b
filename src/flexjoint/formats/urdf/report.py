"""What of a URDF was not used, and what was chosen where it says nothing: with line numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from ...errors import listed
from .extensions import DISAGREES, MATRIX, ROTATION
from .xml import Element

Level = Literal["unused", "suspicious", "chosen"]
INERT = frozenset(
    (
        *("visual", "collision", "material", "geometry", "collision_checking", "self_collision_checking"),
        *("self_filter", "capsule", "disable_collisions", "verbose", "sensor", "frame", "calibration"),
        *("hardware", "hardwareInterface", "command_interface", "state_interface", "role", "type", "xacro:property"),
    )
)  # elements without dynamics: geometry, looks, names of interfaces
INERT_ATTRIBUTES = frozenset(
    (
        *("xmlns", "version", "type", "name", "reference", "role", "concave", "group", "mask"),
        *("dont_collapse", "preserveFixedJoint", "rw_rate"),
    )
)
GAZEBO = {
    "springStiffness": "a parallel spring of Gazebo",
    "springReference": "a parallel spring of Gazebo",
    "springDampingFactor": "damping of Gazebo",
    "implicitSpringDamper": "an integrator setting of Gazebo",
    "dampingFactor": "damping of Gazebo",
    "gravity": "gravity of a single link",
    "turnGravityOff": "gravity of a single link",
    "kinematic": "a link without dynamics",
    **dict.fromkeys(("mu1", "mu2", "mu", "fdir1", "slip1", "slip2"), "friction of contacts"),
    **dict.fromkeys(("kp", "kd", "maxVel", "minDepth", "maxContacts", "soft_cfm", "soft_erp"), "stiffness of contacts"),
    **dict.fromkeys(("stopCfm", "stopErp", "stopKp", "stopKd", "cfmDamping", "fudgeFactor"), "end stops of Gazebo"),
}
REASONS = {
    "contact": "contact with surroundings is not part of a robot",
    "surface": "contact with surroundings is not part of a robot",
    "safety_controller": "soft limits and gains of a controller; the limits of <limit> are used",
    "joint_properties": "the name of <dynamics> before 2012, which no reader knows today: rename it",
    "limit": "a limit that the robot does not have",
    "deformable": "deformable bodies are not modelled",
    "ros2_control": "ros2_control is read for transmissions alone",
}


class Finding(NamedTuple):
    """An entry of a file that was not used, is probably wrong, or for which something was chosen.

    Attributes:
        line: line in the file, from 1; 0 where there is no file.
        what: the element or attribute, such as "<dynamics K>", with the link or joint it belongs to.
        reason: why it is not used, or what was chosen.
        level: "unused", "suspicious" or "chosen".
    """

    line: int
    what: str
    reason: str
    level: Level = "unused"

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        return f"{place}{self.what}: {self.reason}"


def unread(root: Element) -> list[Finding]:
    """Every element and attribute that may carry dynamics and was not read."""
    found: list[Finding] = []
    for part in root.children:
        owner = part.attributes.get("name") or part.attributes.get("reference") or ""
        visit(part, f" of '{owner}'" if owner else "", found)
    return found


def visit(element: Element, owner: str, found: list[Finding]) -> None:
    """Append what was not read of an element and of those below it."""
    if element.tag in INERT:
        return
    if element.tag == "gazebo":
        gazebo(element, owner, found)
        return
    if not element.seen:
        reason = REASONS.get(element.tag, "this element is not known")
        found.append(Finding(element.line, f"<{element.tag}>{owner}", reason))
        return
    for attribute in element.attributes:
        if attribute not in element.read and attribute not in INERT_ATTRIBUTES and not attribute.startswith("xmlns"):
            reason = REASONS.get(element.tag, "this attribute is not known")
            reason = DISAGREES if attribute in (ROTATION, MATRIX) else reason
            found.append(Finding(element.line, f"<{element.tag} {attribute}>{owner}", reason))
    for child in element.children:
        visit(child, owner, found)


def gazebo(element: Element, owner: str, found: list[Finding]) -> None:
    """Append settings of the simulator Gazebo that carry dynamics."""
    for x in element.walk():
        if x.tag in GAZEBO:
            found.append(Finding(x.line, f"<gazebo> <{x.tag}>{owner}", GAZEBO[x.tag]))
        elif x.tag == "plugin":
            found.append(Finding(x.line, f"<gazebo> <plugin>{owner}", "code of a simulator, which is not run"))


def summary(place: str, report: Iterable[Finding]) -> str:
    """One line about entries that are not used or suspicious; empty if there are none."""
    found = [x for x in report if x.level != "chosen"]
    if not found:
        return ""
    kinds = listed(dict.fromkeys(x.what.split(" of '")[0].split(" '")[0] for x in found), most=6)
    lines = f"first in line {found[0].line}"
    return f"{place}: {len(found)} entries are not used or suspicious, {lines}: {kinds}; `flexjoint info` lists them"


def grouped(report: Iterable[Finding]) -> list[tuple[str, str, str, list[int]]]:
    """(level, what, reason, lines) with findings that differ only in their link or joint in one entry."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for x in report:
        what = x.what.split(" of '")[0].split(" '")[0]
        found.setdefault((x.level, what, x.reason), []).append(x.line)
    return [(level, what, reason, lines) for (level, what, reason), lines in found.items()]
