"""What of a URDF was not read and may carry dynamics."""

from __future__ import annotations

from ..report import Finding
from ..xml import Element

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
