"""What of a URDF was not read and may carry dynamics."""

from __future__ import annotations

from ...errors import listed
from ..report import Finding, Level
from ..xml import Element
from .extensions import DISAGREES, MATRIX, ROTATION

INERT = frozenset(
    (
        *("visual", "collision", "material", "geometry", "collision_checking", "self_collision_checking"),
        *("self_filter", "capsule", "disable_collisions", "verbose", "sensor", "frame", "calibration", "group"),
        *("drake:collision_filter_group", "collision_filter_group", "robotNamespace", "node", "api", "RefLink"),
        *("hardware", "hardwareInterface", "command_interface", "state_interface", "role", "type"),
        *("xacro:property", "xacro:arg", "xacro:macro"),
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
    "plugin": "code of a simulator, which is not run",
    "joint": "a joint in Gazebo alone, which often closes a loop",
    "inertial": "an inertia in Gazebo alone",
    "static": "a robot that does not move in Gazebo",
    "velocityDecay": "damping of Gazebo",
    "velocity_decay": "damping of Gazebo",
    "damping": "damping of Gazebo",
    "spring_stiffness": "a parallel spring of Gazebo",
    "spring_reference": "a parallel spring of Gazebo",
    **dict.fromkeys(("mu1", "mu2", "mu", "fdir1", "slip1", "slip2"), "friction of contacts"),
    **dict.fromkeys(("kp", "kd", "maxVel", "minDepth", "maxContacts", "soft_cfm", "soft_erp"), "stiffness of contacts"),
    **dict.fromkeys(("stopCfm", "stopErp", "stopKp", "stopKd", "cfmDamping", "fudgeFactor"), "end stops of Gazebo"),
}
TWICE = "given twice, or not where it belongs: the first in the right place is used"
XACRO = "xacro is not evaluated in a .urdf, so what this line makes is missing: expand the file first"
ARMATURE = "reflected inertia of a rotor, which URDF does not have; a drive file has `motor_inertia`"
PARALLEL = "a parallel spring, which URDF does not have; a drive file has `parallel_spring`"
REASONS = {
    **dict.fromkeys(("link", "joint", "inertial", "mass", "inertia", "origin", "parent", "child", "axis"), TWICE),
    **dict.fromkeys(("dynamics", "mimic", "actuator", "transmission"), TWICE),
    **dict.fromkeys(("mechanicalReduction", "mechanical_reduction", "drake:gear_ratio"), TWICE),
    **dict.fromkeys(("motorInertia", "motor_inertia", "rotorInertia", "drake:rotor_inertia"), TWICE),
    **dict.fromkeys(("gravity", "kinematic", "turnGravityOff"), "gravity of a single link, a setting of Gazebo"),
    **dict.fromkeys(("force_element", "cable"), "a spring or cable between links, which is not modelled"),
    **dict.fromkeys(("compensator", "simulated_actuated_joint"), "a coupling of the PR2, which is not modelled"),
    **dict.fromkeys(("saturationLower", "saturationUpper", "deadBandLower", "deadBandUpper"), "limits of a motor"),
    "offset": "offset of an encoder: no torque depends on it",
    "motorTorqueConstant": "torque per current: commands here are torques",
    "controller_gains": "gains of a controller",
    "param": "a setting of a controller or driver",
    "mujoco": "settings of MuJoCo's reader of URDF files",
    "fem": "deformable bodies are not modelled",
    "armature": ARMATURE,
    "contact": "contact with surroundings is not part of a robot",
    "surface": "contact with surroundings is not part of a robot",
    "safety_controller": "soft limits and gains of a controller; the limits of <limit> are used",
    "joint_properties": "the name of <dynamics> before 2012, which no reader knows today: rename it",
    "deformable": "deformable bodies are not modelled",
    "ros2_control": "ros2_control is read for transmissions alone",
}
ATTRIBUTES = {
    "armature": ARMATURE,
    **dict.fromkeys(("spring_stiffness", "spring_reference", "stiffness"), PARALLEL),
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
        xacro = element.tag.startswith("xacro:")
        reason = XACRO if xacro else REASONS.get(element.tag, "this element is not known")
        level: Level = "suspicious" if xacro else "unused"
        found.append(Finding(element.line, f"<{element.tag}>{owner}", reason, level))
        return
    for attribute in element.attributes:
        if attribute not in element.read and attribute not in INERT_ATTRIBUTES and not attribute.startswith("xmlns"):
            other = f"this attribute is not known; <{element.tag}> has {listed(sorted(element.read - {attribute}))}"
            reason = ATTRIBUTES.get(attribute, other if element.read else "this attribute is not known")
            reason = DISAGREES if attribute in (ROTATION, MATRIX) else reason
            found.append(Finding(element.line, f"<{element.tag} {attribute}>{owner}", reason))
    for child in element.children:
        visit(child, owner, found)


def gazebo(element: Element, owner: str, found: list[Finding]) -> None:
    """Append settings of the simulator Gazebo that carry dynamics."""
    for x in element.children:
        if x.tag in GAZEBO:
            found.append(Finding(x.line, f"<gazebo> <{x.tag}>{owner}", GAZEBO[x.tag]))
        elif x.tag not in ("sensor", "visual"):
            gazebo(x, owner, found)
