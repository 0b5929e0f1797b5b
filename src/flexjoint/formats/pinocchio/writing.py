"""A Robot as a `pin.Model`.

With locked springs, the default, the model is the rigid robot: M(q) + B.  With elastic joints each of these is two
joints of the model, the motor, a body without mass and with armature B, and on it the link; their coordinates are
θ and q − θ, and the spring acts on the second:

    tau of pin.aba = (τ, τ_e),  a = (θ'', q'' − θ''),  τ_e = K (θ − q) + D (θ' − q')

since the power of a spring is τ_e (q' − θ').
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...drives import ElasticDrive, Friction, Motor, RigidDrive, VariableStiffnessDrive, friction_law
from ...drives.friction import Rubbing
from ...errors import InputError, RobotError, listed, shown, warn
from ...robot import Joint, Link, Robot, numeric
from ...robot.model import unused
from ...types import FloatArray
from .library import AXES, NO_LIMIT, is_two_sided, library, set_signed

Motors = Literal["locked", "elastic", "none"]
MOTORS: tuple[Motors, ...] = ("locked", "elastic", "none")
ALIGNED = {"revolute": "JointModelR", "prismatic": "JointModelP", "helical": "JointModelH"}
UNALIGNED = {
    "revolute": "JointModelRevoluteUnaligned",
    "prismatic": "JointModelPrismaticUnaligned",
    "helical": "JointModelHelicalUnaligned",
}


@dataclass
class Coordinate:
    """What a model has per coordinate; friction by direction of motion, forward and backward."""

    armature: float = 0.0
    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    damping: float = 0.0
    forward: float = 0.0
    backward: float = 0.0
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf

    def add_motor(self, motor: Motor, ratio: float = 1.0) -> None:
        """Add a motor that turns at `ratio` times the velocity of the coordinate; its rotor if that is 1."""
        self.armature += ratio * ratio * motor.inertia
        if motor.gear_ratio is not None and ratio == 1.0:
            self.rotor_inertia, self.gear_ratio = motor.inertia / motor.gear_ratio**2, motor.gear_ratio
        self.add_friction(friction_law(motor), ratio)

    def add_friction(self, law: Friction, ratio: float = 1.0) -> None:
        """Add viscous and Coulomb friction of what moves at `ratio` times the velocity of the coordinate."""
        sides = law.sides if ratio > 0 else law.sides[::-1]
        self.damping += ratio * ratio * law.viscous
        self.forward += abs(ratio) * sides[0].coulomb
        self.backward += abs(ratio) * sides[1].coulomb


def to_pinocchio(robot: Robot, *, motors: Motors = "locked", mimic: bool = True) -> Any:
    """The Pinocchio model of a robot: joints, bodies, armatures, friction, limits, gravity, and a frame per link.

    Joints keep their names.  Their order is depth first, as Pinocchio's algorithms require, and may differ from that of
    q: `[list(model.names).index(x.name) for x in robot.joints]` are the indices of the joints.

    Args:
        robot: any robot.
        motors: "locked" (default): the springs are rigid and the inertia of each motor is the armature of its joint.
            "elastic": each elastic joint is two joints, "NAME.motor" with the coordinate θ and NAME with q − θ, and the
            spring is an effort on the second.  "none": links alone.
        mimic: whether mimic joints stay mimic joints (default) or become independent joints.

    Returns:
        A `pin.Model`.

    Raises:
        InputError: Pinocchio is not installed, or an argument is wrong.
        RobotError: the model cannot be made; the message names the joint and the option that leaves it out.

    Warns:
        FlexjointWarning: parts of the robot are not in the model, such as parallel springs.

    Example:
        >>> import flexjoint as fj
        >>> model = fj.formats.to_pinocchio(fj.load("kuka_lwr"))
        >>> model.nq, float(model.armature[0])
        (7, 3.2)
    """
    pin = library()
    if motors not in MOTORS:
        raise InputError(f"to_pinocchio: motors is {shown(motors)}: choose one of {', '.join(MOTORS)}")
    known = numeric("to_pinocchio", robot)
    refuse(known, motors, mimic)
    given = known.without_drives() if motors == "none" else known.rigid() if motors == "locked" else known
    model = pin.Model()
    warn_of_losses(known, given, motors, is_two_sided(model))
    model.name = known.name
    model.gravity.linear = np.array(known.gravity)
    places = add_joints(pin, model, given)
    add_rotors(pin, model, given, places)
    if mimic:
        model = with_mimics(pin, model, given)
    set_numbers(model, given, mimic)
    return model


def refuse(robot: Robot, motors: Motors, mimic: bool) -> None:
    """Refuse robots that no model of this kind describes."""
    if robot.transmissions and motors != "none":
        names = listed(name for group in robot.transmissions for name in group.joints)
        raise RobotError(
            f"{robot.name}: the motors of joints {names} each move several of them, which no armature describes: pass "
            "motors='none' for the links alone"
        )
    for joint in robot.joints if motors == "elastic" else ():
        if isinstance(joint.drive, VariableStiffnessDrive):
            raise RobotError(
                f"joint '{joint.name}' has two motors: pass motors='locked' or motors='none'; of springs, only those "
                "with one motor become joints of a model"
            )
    springs = {robot.joints[x.coordinate].name for x in robot.followers if robot.elastic[x.coordinate]}
    if motors == "elastic" and mimic and springs:
        raise RobotError(
            f"other joints follow the elastic joint {listed(springs)}, whose position is the sum of two coordinates of "
            "the model: pass mimic=False, or motors='locked'"
        )


def warn_of_losses(robot: Robot, given: Robot, motors: Motors, two_sided: bool) -> None:
    """Warn of parts that enter the dynamics and are not in the model; `two_sided`: it has friction by direction."""
    lost = []
    if robot.parallel_springs:
        lost.append(f"parallel springs of {listed([x.joint.name for x in robot.parallel_springs], most=4)}")
    if robot.fidelity == "complete" and motors != "none":
        lost.append("the coupling of rotors and links of the complete model")
    parts: list[tuple[str, Rubbing]] = [(x.joint.name, x.joint) for x in given.moving_joints]
    parts += [(x.joint.name, motor) for x in given.moving_joints for motor in motors_of(x.joint)]
    laws = [(name, friction_law(part)) for name, part in parts]
    shaped = [name for name, law in laws if any(side.static is not None or side.load for side in law.sides)]
    sided = [name for name, law in laws if law.sides[0].viscous != law.sides[1].viscous]
    if shaped or sided:
        names = listed(dict.fromkeys(shaped + sided), most=4)
        lost.append(f"Stribeck, load and backward viscous friction of {names}")
    uneven = [name for name, law in laws if law.sides[0].coulomb != law.sides[1].coulomb]
    if uneven and not two_sided:
        lost.append(f"the lesser Coulomb friction of the two directions of {listed(dict.fromkeys(uneven), most=4)}")
    behind = [x.name for x in given.joints if isinstance(x.drive, ElasticDrive) and friction_law(x).present]
    if behind:
        lost.append(f"friction on the link side of {listed(behind, most=4)}, which moves with θ and q − θ together")
    if lost:
        warn(f"{robot.name:.200}: not in the Pinocchio model: {listed(lost, mark='; ')}")


# Joints and bodies --------------------------------------------------------------------------------------------------


def depth_first(robot: Robot) -> list[int]:
    """Indices of the links, each followed by all that it carries: Pinocchio's mass matrix is wrong otherwise."""
    children: dict[int, list[int]] = {}
    for i, parent in enumerate(robot.parents):
        children.setdefault(parent, []).append(i)
    order: list[int] = []
    waiting = children[-1][::-1]
    while waiting:
        order.append(waiting.pop())
        waiting += children.get(order[-1], [])[::-1]
    return order


def add_joints(pin: Any, model: Any, robot: Robot) -> dict[int, tuple[int, Any]]:
    """Add joints, bodies and frames; returns the joint that carries each link, and the link's pose in its frame."""
    places: dict[int, tuple[int, Any]] = {-1: (0, pin.SE3.Identity())}
    above: dict[int, int] = {-1: 0}  # frame of each link

    def framed(name: str, kind: str, pose: Any) -> int:
        """Index of a new frame of the joint at hand; the body's inertia is not changed, not even by rounding."""
        return int(model.addFrame(pin.Frame(name, carrier, frame, pose, getattr(pin.FrameType, kind)), False))

    for i in depth_first(robot):
        link, parent = robot.links[i], robot.parents[i]
        joint = link.joint
        carrier, pose = places[parent]
        placement = pose * pin.SE3(np.array(joint.rotation), np.array(joint.position))
        frame = above[parent]
        if joint.moves:
            if isinstance(joint.drive, ElasticDrive):
                carrier = model.addJoint(carrier, joint_model(pin, joint), placement, motor_name(robot, joint))
                frame, placement = framed(motor_name(robot, joint), "JOINT", pin.SE3.Identity()), pin.SE3.Identity()
            carrier, pose = model.addJoint(carrier, joint_model(pin, joint), placement, joint.name), pin.SE3.Identity()
        else:
            pose = placement
        frame = framed(joint.name, "JOINT" if joint.moves else "FIXED_JOINT", pose)
        if carrier and (link.mass or np.any(link.inertia)):
            body = inertia(pin, link, link.mass, link.com, link.inertia)
            model.appendBodyToJoint(carrier, body, pose)
            if joint.moves:
                model.inertias[carrier] = body  # to the last bit
        above[i] = framed(link.name, "BODY", pose)
        places[i] = (carrier, pose)
    return places


def motor_name(robot: Robot, joint: Joint) -> str:
    """Name of the joint that the motor of an elastic joint becomes."""
    return unused(f"{joint.name}.motor", [x.joint.name for x in robot.links])


def joint_model(pin: Any, joint: Joint) -> Any:
    """The joint in Pinocchio, about a coordinate axis or about one of its own."""
    kind, numbers = joint.kind.name, list(joint.kind.numbers.values())
    if kind not in ALIGNED:
        raise RobotError(f"joint '{joint.name}' is {kind}, for which Pinocchio has no joint")
    for letter, axis in AXES.items():
        if tuple(joint.axis) == axis:
            return getattr(pin, ALIGNED[kind] + letter)(*numbers)
    return getattr(pin, UNALIGNED[kind])(np.array(joint.axis), *numbers)


def add_rotors(pin: Any, model: Any, robot: Robot, places: dict[int, tuple[int, Any]]) -> None:
    """Make the bodies those of Spong's model, in which the axial inertia of a rotor counts in the armature alone.

    Links that contain their rotors lose it; to others mass and transverse inertia are added (docs/rotors.md).
    """
    for i, link in enumerate(robot.links):
        for k, motor in enumerate(motors_of(link.joint)):
            joint, pose = places[robot.carrier(i, k)]
            axis = np.array(link.joint.axis_in_parent if motor.axis is None else motor.axis)
            position = np.array(link.joint.position if motor.position is None else motor.position)
            along = np.outer(axis, axis)
            if not joint:
                continue
            if robot.rotors_in_links and motor.axial_inertia:
                axial = pose.act(inertia(pin, link, 0.0, position, motor.axial_inertia * along))
                model.inertias[joint] = model.inertias[joint] - axial
            elif not robot.rotors_in_links and (motor.mass or motor.transverse_inertia):
                rotor = inertia(pin, link, motor.mass, position, motor.transverse_inertia * (np.eye(3) - along))
                model.appendBodyToJoint(joint, rotor, pose)


def inertia(pin: Any, link: Link, mass: float, com: FloatArray, tensor: FloatArray) -> Any:
    """A body in Pinocchio, which refuses inertias that are not positive."""
    try:
        return pin.Inertia(float(mass), np.array(com), np.array((tensor + tensor.T) / 2))
    except RuntimeError as error:
        raise RobotError(f"Pinocchio refuses the inertia of link '{link.name}' or of its motor: {error}") from None


def with_mimics(pin: Any, model: Any, robot: Robot) -> Any:
    """The model with mimic joints in place of joints that follow others."""
    for follower in robot.followers:
        name, leader = follower.joint.name, robot.joints[follower.coordinate].name
        ids = model.getJointId(leader), model.getJointId(name)
        if not hasattr(pin, "transformJointIntoMimic") or ids[0] > ids[1]:
            why = "comes after it in the model" if ids[0] > ids[1] else "this version of Pinocchio has no mimic joints"
            raise RobotError(f"joint '{name}' follows '{leader}', but {why}: pass mimic=False")
        model = pin.transformJointIntoMimic(model, *ids, float(follower.ratio), float(follower.offset))
    return model


# Numbers ------------------------------------------------------------------------------------------------------------


def set_numbers(model: Any, robot: Robot, mimic: bool) -> None:
    """Set armatures, rotors, friction and limits of all coordinates."""
    found: dict[str, Coordinate] = {}
    for x in robot.moving_joints:
        leads = not (mimic and x.follows)
        joint = x.joint if leads else robot.joints[x.coordinate]
        own = found.setdefault(joint.name, Coordinate())
        if isinstance(x.joint.drive, ElasticDrive):
            found[motor_name(robot, joint)] = of_motor(joint, x.joint.drive)
            own.damping, spring = x.joint.drive.damping, x.joint.drive.spring_limits
            own.lower, own.upper, own.effort = -spring.deflection, spring.deflection, spring.torque
            continue
        ratio = 1.0 if leads else float(x.ratio)
        own.add_friction(friction_law(x.joint), ratio)
        if isinstance(x.joint.drive, RigidDrive):
            own.add_motor(x.joint.drive.motor, ratio)
        if leads:
            limits = robot.joint_limits[x.coordinate] if mimic else x.joint.limits
            own.lower, own.upper, own.velocity = limits.lower, limits.upper, limits.velocity
            own.effort = effort_of(x.joint)
    rows = [(model.joints[model.getJointId(name)], row) for name, row in found.items()]
    sorted_rows = [row for _, row in sorted(rows, key=lambda pair: int(pair[0].idx_v))]

    def vector(values: Sequence[float]) -> np.ndarray:
        return np.clip(np.array(values, dtype=float), -NO_LIMIT, NO_LIMIT)

    model.armature = vector([x.armature for x in sorted_rows])
    model.rotorInertia = vector([x.rotor_inertia for x in sorted_rows])
    model.rotorGearRatio = vector([x.gear_ratio for x in sorted_rows])
    model.damping = vector([x.damping for x in sorted_rows])
    set_signed(model, "friction", vector([-x.backward for x in sorted_rows]), vector([x.forward for x in sorted_rows]))
    for name, field in (("velocityLimit", "velocity"), ("effortLimit", "effort")):
        bounds = vector([getattr(x, field) for x in sorted_rows])
        set_signed(model, name, -bounds, bounds)
    model.lowerPositionLimit = vector([x.lower for x in sorted_rows])
    model.upperPositionLimit = vector([x.upper for x in sorted_rows])


def of_motor(joint: Joint, drive: ElasticDrive) -> Coordinate:
    """The coordinate θ of the motor of an elastic joint."""
    row = Coordinate(velocity=drive.motor.limits.speed, effort=effort_of(joint))
    row.add_motor(drive.motor)
    return row


def effort_of(joint: Joint) -> float:
    """Greatest motor torque: the lesser of the limits of joint and motor."""
    return min([joint.limits.effort, *(motor.limits.torque for motor in motors_of(joint))])


def motors_of(joint: Joint) -> tuple[Motor, ...]:
    """The motors of a joint; none without a drive."""
    return joint.drive.motors if joint.drive is not None else ()
