"""A `pin.Model` as a Robot.

Each joint of the model becomes a link with the whole inertia that Pinocchio has at the joint, in the frame of the
joint: Pinocchio adds up bodies on fixed joints.  Frames become links without mass on fixed joints, so that their poses
can be had.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ...checks import is_number
from ...drives import Drive, Friction, Motor, RigidDrive
from ...errors import InputError, RobotError, listed, quoted, shown, warn
from ...robot import BASE, Joint, JointKind, Limits, Link, Mimic, Robot
from ...robot.joints.fixed import Fixed
from ...robot.joints.helical import Helical
from ...robot.joints.prismatic import Prismatic
from ...robot.joints.revolute import Revolute
from ...robot.model import unused
from ...types import FloatArray
from ..loading import REPORTS
from ..report import Finding, Level
from ..toml import suggestion
from .library import LARGEST, library, signed_vectors

COULOMB_VELOCITY = 0.01  # rad/s or m/s; Pinocchio has dry friction without it
RATIO_AGREEMENT = 1e-9  # of armature and n² J
NO_INERTIA = 1e-15  # m², the square of 32 nm: what is less per mass is rounding
SNAPPED = 1e-15  # of an element of a rotation: 1.2e-16 in place of 0 is rounding of a quarter turn
KINDS = ("R", "P", "H")  # names of joints with one coordinate begin so: RX, RevoluteUnaligned, RUBX, PY, HZ, ...
REMEDY = "lock it with pin.buildReducedModel(model, [model.getJointId({name!r})], q), or build the model without it"


class Motion(NamedTuple):
    """How a joint moves: its kind, its axis (3,), and the ratio and offset of a joint that follows another."""

    kind: JointKind
    axis: FloatArray
    leader: int | None = None
    ratio: float = 1.0
    offset: float = 0.0


class Report:
    """Findings about a model."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def note(self, what: str, reason: str, level: Level) -> None:
        """Append a finding."""
        self.findings.append(Finding(0, what, reason, level))


def from_pinocchio(
    model: Any,
    *,
    frames: bool | Iterable[str] = True,
    tool: str | None = None,
    coulomb_velocity: float = COULOMB_VELOCITY,
) -> Robot:
    """The robot of a Pinocchio model; `fj.formats.file_report(robot)` says what was not used or chosen.

    The order of q is that of the model's joints.  A joint without limits that Pinocchio gives two numbers, cos and sin,
    has its angle in q.

    Args:
        model: a `pin.Model` with revolute, prismatic, helical and mimic joints.
        frames: whether frames of the model become links without mass, or the names of those that do.  Default True.
        tool: name of the tool link: that of a body, a frame or a joint.  Default the last link.
        coulomb_velocity: v_c of the friction F tanh(v/v_c), which Pinocchio does not have, in rad/s or m/s.
            Default 0.01.

    Returns:
        The `Robot`, with a rigid drive per joint that has an armature or a rotor.

    Raises:
        InputError: Pinocchio is not installed, or an argument is wrong.
        RobotError: the model has joints of several coordinates, or numbers that no robot has.

    Warns:
        FlexjointWarning: entries of the model are not used or suspicious.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("kuka_lwr").rigid()
        >>> fj.formats.from_pinocchio(fj.formats.to_pinocchio(robot)).n
        7
    """
    pin = library()
    if not isinstance(model, pin.Model):
        raise InputError(f"from_pinocchio: model is {shown(model)}: give a pin.Model")
    if not is_number(coulomb_velocity) or not 0 < coulomb_velocity < math.inf:
        raise InputError(f"coulomb_velocity is {shown(coulomb_velocity)}: give a positive number, in rad/s or m/s")
    report = Report()
    names = [str(name) for name in model.names]
    bodies = link_names(pin, model, names, report)
    motions = [motion_of(model, i, names[i]) for i in range(1, model.njoints)]
    links = []
    for i, motion in enumerate(motions, start=1):
        place, inertia = model.jointPlacements[i], model.inertias[i]
        joint = Joint(
            names[i],
            motion.kind,
            np.array(place.translation),
            snapped(np.array(place.rotation)),
            axis=motion.axis,
            mimic=None if motion.leader is None else Mimic(names[motion.leader], motion.ratio, motion.offset),
            **drivetrain(model, i, names[i], motion, coulomb_velocity, report),
        )
        parent, com = bodies[int(model.parents[i])], np.array(inertia.lever)
        links.append(Link(bodies[i], joint, parent, inertia.mass, com, central_inertia(inertia, bodies[i], report)))
    links += frame_links(pin, model, names, bodies, frames, report)
    if not links or not motions:
        raise RobotError(f"{quoted(model.name)}: the model has no joint: there are no joint torques")
    if np.any(model.gravity.angular):
        report.note("gravity", "its angular part is not used: gravity is an acceleration", "unused")
    if any(x.joint.coulomb_friction or x.joint.friction for x in links):
        reason = f"acts as F tanh(v/{coulomb_velocity:g}): Pinocchio has no velocity scale"
        report.note("dry friction", reason, "chosen")
    robot = assembled(str(model.name) or "robot", links, np.array(model.gravity.linear), report)
    if tool is not None:
        robot = robot.replace(tool=tool_name(tool, robot))
    REPORTS[robot] = tuple(report.findings)
    if found := [x for x in report.findings if x.level != "chosen"]:
        what = listed([x.what for x in found], most=6)
        lists = "fj.formats.file_report(robot) lists them"
        warn(f"{robot.name:.200}: {len(found)} entries of the model are not used or suspicious: {what}; {lists}")
    return robot


def central_inertia(inertia: Any, name: str, report: Report) -> FloatArray:
    """Inertia of a body about its centre of mass; 0 of a point mass, where sums of bodies leave rounding."""
    I = np.array(inertia.inertia)
    if np.any(I) and np.max(np.abs(I)) <= NO_INERTIA * inertia.mass:
        report.note(f"inertia of '{name}'", "rounding of a point mass: taken as 0", "suspicious")
        return np.zeros((3, 3))
    return (I + I.T) / 2


def assembled(name: str, links: list[Link], gravity: FloatArray, report: Report) -> Robot:
    """The robot; inertias that no rigid body has are used as given, and reported."""
    rotors = not any(x.joint.drive is not None and x.joint.drive.motors[0].inertia for x in links)
    try:
        return Robot(name, tuple(links), gravity, rotors_in_links=rotors)
    except RobotError as error:
        robot = Robot(name, tuple(links), gravity, rotors_in_links=rotors, allow_unphysical=True)
        report.note("inertias", f"used as given: {error}", "suspicious")
        return robot


def tool_name(tool: str, robot: Robot) -> str:
    """The link that a tool is named after: its own name or that of its joint."""
    by_joint = {x.joint.name: x.name for x in robot.links}
    known = {x.name for x in robot.links}
    if tool in known or tool in by_joint:
        return tool if tool in known else by_joint[tool]
    raise InputError(f"from_pinocchio: there is no link {shown(tool)} for the tool; {suggestion(str(tool), known)}")


# Joints -------------------------------------------------------------------------------------------------------------


def motion_of(model: Any, i: int, name: str) -> Motion:
    """The motion of a joint, from its velocity where that of its coordinate is 1: not every joint tells its axis."""
    joint = model.joints[i]
    kind = str(joint.shortname()).removeprefix("JointModel")
    own = joint.extract()
    follows = kind == "Mimic"
    if not follows and (int(joint.nv) != 1 or not kind.startswith(KINDS)):
        raise RobotError(
            f"joint '{quoted(name)}' is a {joint.shortname()} of {joint.nv} coordinates, which is not modelled: "
            + REMEDY.format(name=quoted(name))
        )
    velocity = unit_velocity(model, i, own, follows)
    ratio = float(own.scaling) if follows else 1.0
    turn, slide = np.array(velocity.angular) / ratio, np.array(velocity.linear) / ratio
    if not np.any(turn):
        motion = Motion(Prismatic(), slide)
    elif kind.startswith("H"):
        motion = Motion(Helical(float(own.pitch)), turn)
    else:
        pitch = float(np.dot(turn, slide))
        motion = Motion(Helical(pitch) if pitch else Revolute(), turn)
    if not follows:
        return motion
    leader = next(k for k in range(1, i) if model.joints[k].nv == 1 and model.joints[k].idx_v == own.idx_v)
    return motion._replace(leader=leader, ratio=ratio, offset=float(own.offset))


def unit_velocity(model: Any, i: int, own: Any, follows: bool) -> Any:
    """Velocity of a joint where that of its coordinate is 1, a `pin.Motion` in the joint's frame."""
    pin = library()
    rates, q = np.zeros(model.nv), pin.neutral(model)
    rates[own.idx_v] = 1.0
    if follows:
        data = own.createData()
        own.calc(data, q, rates)
        return data.v
    data = model.createData()
    pin.forwardKinematics(model, data, q, rates)
    return data.v[i]


def drivetrain(
    model: Any, i: int, name: str, motion: Motion, coulomb_velocity: float, report: Report
) -> dict[str, Any]:
    """Limits, friction and drive of a joint as arguments of `Joint`; those of a mimic joint are its leader's."""
    if motion.leader is not None:
        return {}
    joint = model.joints[i]
    k = int(joint.idx_v)
    found: dict[str, Any] = {"limits": limits_of(model, i, name, report), "drive": drive_of(model, k, name, report)}
    damping = positive(float(model.damping[k]), f"damping of '{name}'", report)
    low, high = signed_vectors(model, "friction")
    backward, forward = (positive(x, f"dry friction of '{name}'", report) for x in (-float(low[k]), float(high[k])))
    if backward != forward:
        law = Friction(damping, forward, coulomb_velocity, backward=Friction(damping, backward))
        return {**found, "friction": law}
    over = coulomb_velocity if forward else 0.0
    return {**found, "viscous_friction": damping, "coulomb_friction": forward, "coulomb_velocity": over}


def positive(value: float, what: str, report: Report) -> float:
    """A number that must not be negative; 0 if it is, which is reported."""
    if value >= 0:
        return value + 0.0
    report.note(what, f"{value:g} is negative: not used", "suspicious")
    return 0.0


def limits_of(model: Any, i: int, name: str, report: Report) -> Limits:
    """The limits of a joint; those of an unbounded one are limits of cos and sin."""
    joint = model.joints[i]
    lower, upper = -math.inf, math.inf
    if joint.nq == 1:
        lower, upper = (unlimited(float(x[joint.idx_q])) for x in (model.lowerPositionLimit, model.upperPositionLimit))
        if lower > upper or lower == upper == 0.0:
            reason = f"lower {lower:g} and upper {upper:g} leave no motion: unlimited"
            report.note(f"position limits of '{name}'", reason, "suspicious")
            lower, upper = -math.inf, math.inf
    bounds = []
    for what in ("velocityLimit", "effortLimit"):
        low, high = (unlimited(float(x[joint.idx_v])) for x in signed_vectors(model, what))
        low = -abs(low)  # in version 4.1 the lower bounds of joints without limits are positive
        bound = min(-low, high)
        if not bound > 0:
            report.note(f"{what} of '{name}'", f"{bound:g} is no limit: unlimited", "chosen")
            bound = math.inf
        elif -low != high:
            reason = f"{low:g} and {high:g}: the lesser one holds in both directions"
            report.note(f"{what} of '{name}'", reason, "chosen")
        bounds.append(bound)
    return Limits(lower, upper, bounds[0], bounds[1])


def unlimited(bound: float) -> float:
    """A bound; ±∞ if it is one of Pinocchio's."""
    return math.copysign(math.inf, bound) if not abs(bound) < LARGEST else bound


def drive_of(model: Any, k: int, name: str, report: Report) -> Drive | None:
    """The motor of a coordinate: its armature is reflected already, a rotor inertia J counts n² J."""
    armature = positive(float(model.armature[k]), f"armature of '{name}'", report)
    rotor = positive(float(model.rotorInertia[k]), f"rotorInertia of '{name}'", report)
    ratio = float(model.rotorGearRatio[k])
    if not rotor or not ratio:
        return RigidDrive(Motor(armature)) if armature else None
    reflected = ratio * ratio * rotor
    if not armature:
        reason = f"{reflected:g} = n² J is used as motor inertia; Pinocchio itself uses the armature alone, which is 0"
        report.note(f"rotorInertia of '{name}'", reason, "chosen")
        return RigidDrive(Motor(reflected, gear_ratio=ratio))
    if abs(reflected - armature) > RATIO_AGREEMENT * armature:
        reason = f"n² J = {reflected:g}, but the armature is {armature:g}, which is used, as by Pinocchio"
        report.note(f"rotorInertia of '{name}'", reason, "suspicious")
        return RigidDrive(Motor(armature))
    return RigidDrive(Motor(armature, gear_ratio=ratio))


def snapped(R: FloatArray) -> FloatArray:
    """A rotation whose elements within rounding of 0 and ±1 are exactly that: quarter turns keep kernels cheap."""
    R = np.where(np.abs(R) < SNAPPED, 0.0, R)
    return np.where(np.abs(np.abs(R) - 1.0) < SNAPPED, np.sign(R), R)


# Frames -------------------------------------------------------------------------------------------------------------


def link_names(pin: Any, model: Any, names: list[str], report: Report) -> list[str]:
    """Name per joint of its link: that of the first body in the joint's own frame, or the joint's."""
    found: dict[int, str] = {}
    for frame in model.frames:
        own = frame.type == pin.FrameType.BODY and frame.placement.isIdentity(0.0)
        if own and joint_of(frame) > 0:
            found.setdefault(joint_of(frame), str(frame.name))
    bodies = [BASE]
    for i in range(1, len(names)):
        bodies.append(free_name(found.get(i, names[i]), bodies, report))
    return bodies


def joint_of(frame: Any) -> int:
    """Index of the joint that carries a frame."""
    return int(frame.parentJoint if hasattr(frame, "parentJoint") else frame.parent)


def free_name(name: str, taken: Iterable[str], report: Report) -> str:
    """The name, or another one if it is taken; "base" is the fixed base of every robot."""
    free = unused(f"{BASE}_frame" if name == BASE else name, taken)
    if free != name:
        report.note(f"'{name}'", f"named '{free}' here: the name is taken", "chosen")
    return free


def frame_links(
    pin: Any, model: Any, names: list[str], bodies: list[str], wanted: bool | Iterable[str], report: Report
) -> list[Link]:
    """Links without mass for the frames of a model, except those of its joints."""
    known = [str(x.name) for x in model.frames]
    chosen = None if isinstance(wanted, bool) else [wanted] if isinstance(wanted, str) else list(wanted)
    for name in chosen or ():
        if name not in known:
            raise InputError(f"from_pinocchio: there is no frame {shown(name)}; {suggestion(str(name), known)}")
    if wanted is False:
        return []
    kinds = pin.FrameType
    carried = {int(x.parentFrame): x for x in model.frames if x.type == kinds.BODY}
    links: list[Link] = []
    for index, frame in enumerate(model.frames):
        name, joint = str(frame.name), joint_of(frame)
        above = model.frames[int(frame.parentFrame)]
        with_mount = frame.type == kinds.BODY and above.type == kinds.FIXED_JOINT and same_place(frame, above)
        if frame.type == kinds.JOINT or index == 0 or (joint and name == bodies[joint]):
            continue
        body = carried.get(index)
        if frame.type == kinds.FIXED_JOINT and body is not None and same_place(body, frame):
            continue  # the link of that body stands for both
        if chosen is not None and name not in chosen:
            continue
        taken = [*bodies, *(x.name for x in links)]
        mounts = [*names, *(x.joint.name for x in links)]
        mount = unused(str(above.name) if with_mount else f"{name}_mount", mounts)
        place = frame.placement
        welded = Joint(mount, Fixed(), np.array(place.translation), snapped(np.array(place.rotation)))
        links.append(Link(free_name(name, taken, report), welded, bodies[joint]))
    return links


def same_place(one: Any, other: Any) -> bool:
    """Whether two frames coincide."""
    return joint_of(one) == joint_of(other) and one.placement.isApprox(other.placement, 1e-12)
