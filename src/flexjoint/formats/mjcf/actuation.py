"""What acts at the joints of a compiled MJCF: armature, damping, friction, springs, and the limits of actuators.

    armature of a joint              inertia after the reduction: added to B as it is
    armature, damping of actuators   on the rotor's side: multiplied by gear²
    forcerange of an actuator        times |gear|, with actuatorfrcrange of the joint: the limit of effort
    stiffness, springref             a spring between the two links, parallel to the motor

Gains and dynamics of actuators are controllers, which a robot does not have: they are reported.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...drives import Motor, RigidDrive
from ...errors import RobotError, listed
from ...robot import Limits
from ...springs import CubicSpring, ParallelSpring
from ..report import Note
from ..tree.records import JointData
from .compiled import Compiled
from .source import described

JOINT, JOINT_IN_PARENT = 0, 1  # MuJoCo's transmissions that act on one joint
FIXED_GAIN, NO_BIAS, NO_DYNAMICS = 0, 0, 0


class Disabled(NamedTuple):
    """What <option><flag .../></option> switches off."""

    gravity: bool
    spring: bool
    damper: bool
    frictionloss: bool
    limit: bool
    equality: bool
    actuation: bool


def disabled(model: Any) -> Disabled:
    """The disabled parts of a model."""
    import mujoco

    def off(*names: str) -> bool:
        bits = [int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")) for name in names]
        return any(int(model.opt.disableflags) & bit for bit in bits)

    return Disabled(
        *(off("GRAVITY"), off("SPRING"), off("DAMPER"), off("FRICTIONLOSS", "CONSTRAINT")),
        *(off("LIMIT", "CONSTRAINT"), off("EQUALITY", "CONSTRAINT"), off("ACTUATION")),
    )


def actuated(found: Compiled, data: JointData, off: Disabled, note: Note) -> JointData:
    """A joint with its drive, friction, parallel spring and limits."""
    model, j = found.model, found.names["joint"].index(data.name)
    dof = int(model.jnt_dofadr[j])
    motors = [i for i in range(model.nactuator) if acts_on(model, i, j)]
    damping = 0.0 if off.damper else float(model.dof_damping[dof])
    inertia, ratio = float(model.dof_armature[dof]), None
    for i in motors:
        gear, armature = gear_of(model, i), float(model.actuator_armature[i])
        inertia += gear * gear * armature
        ratio = gear if armature else ratio
        damping += 0.0 if off.damper else gear * gear * float(model.actuator_damping[i])
    several = sum(bool(model.actuator_armature[i]) for i in motors) > 1
    if higher_damping(model, dof, motors) and not off.damper:
        note(data.element, f"<joint damping> of '{data.name}'", "only linear damping is modelled", "unused")
    limits = data.limits if not off.limit else Limits()
    if np.any(model.jnt_range[j]) and not model.jnt_limited[j]:
        reason = "it is switched off, or lower is not below upper: unlimited"
        note(data.element, f"<joint range> of '{data.name}'", reason, "chosen")
    effort = effort_of(found, data, j, motors, note) if not off.actuation else math.inf
    if not effort > 0:
        note(data.element, f"effort of '{data.name}'", "the actuators give none: unlimited", "suspicious")
        effort = math.inf
    return data._replace(
        damping=positive(data, "damping", damping, note),
        friction=0.0 if off.frictionloss else positive(data, "frictionloss", float(model.dof_frictionloss[dof]), note),
        limits=Limits(limits.lower, limits.upper, effort=effort),
        drive=motor_drive(data, inertia, None if several else ratio, note),
        parallel_spring=None if off.spring else spring_of(model, data, j, note),
    )


def acts_on(model: Any, i: int, j: int) -> bool:
    """Whether actuator i acts on joint j alone."""
    return int(model.actuator_trntype[i]) in (JOINT, JOINT_IN_PARENT) and int(model.actuator_trnid[i][0]) == j


def gear_of(model: Any, i: int) -> float:
    """Ratio of an actuator's length to the position of its joint."""
    return float(model.actuator_gear[model.actuator_outadr[i]][0])


def higher_damping(model: Any, dof: int, motors: list[int]) -> bool:
    """Whether damping grows with powers of the velocity."""
    rows = [model.dof_dampingpoly[dof], *(model.actuator_dampingpoly[i] for i in motors)]
    return any(np.any(row) for row in rows)


def positive(data: JointData, attribute: str, value: float, note: Note) -> float:
    """A number that must not be negative; reported and 0 if it is."""
    if value < 0:
        note(data.element, f"<joint {attribute}> of '{data.name}'", f"{value:g} is negative: not used", "suspicious")
    return max(value, 0.0)


def motor_drive(data: JointData, inertia: float, ratio: float | None, note: Note) -> RigidDrive | None:
    """The motor of a joint with an armature."""
    inertia = positive(data, "armature", inertia, note)
    return RigidDrive(Motor(inertia, gear_ratio=ratio or None)) if inertia else None


def spring_of(model: Any, data: JointData, j: int, note: Note) -> ParallelSpring | None:
    """The spring between the two links of a joint, −(a x + b x² + c x³) with x = q − springref."""
    a, (b, c) = float(model.jnt_stiffness[j]), model.jnt_stiffnesspoly[j].tolist()
    what = f"<joint stiffness> of '{data.name}'"
    if model.jnt_springyield[j]:
        note(data.element, f"<joint springyield> of '{data.name}'", "a spring that yields: taken as elastic", "unused")
    if b:
        note(data.element, what, f"its quadratic part, {b:g}, is not modelled; the others are used", "unused")
    if not a and not c:
        return None
    rest = float(model.qpos_spring[model.jnt_qposadr[j]])
    try:
        if c:
            return ParallelSpring(CubicSpring(a, c), rest)
        if a > 0:
            return ParallelSpring(a, rest)
    except RobotError as error:
        note(data.element, what, f"not used: {error}", "unused")
        return None
    note(data.element, what, f"{a:g} is negative, which is not modelled: not used", "unused")
    return None


# Limits of effort ---------------------------------------------------------------------------------------------------


def effort_of(found: Compiled, data: JointData, j: int, motors: list[int], note: Note) -> float:
    """Greatest torque of the actuators of a joint in either direction."""
    model = found.model
    ranges = [force_range(model, i) for i in motors]
    gears = [gear_of(model, i) for i in motors]
    lower = sum(min(g * a, g * b) for g, (a, b) in zip(gears, ranges) if g)
    upper = sum(max(g * a, g * b) for g, (a, b) in zip(gears, ranges) if g)
    if not any(gears):
        lower, upper = -math.inf, math.inf
    if model.jnt_actfrclimited[j]:
        a, b = model.jnt_actfrcrange[j].tolist()
        lower, upper = max(lower, a), min(upper, b)
    sides = [max(-lower, 0.0), max(upper, 0.0)]
    if sides[0] == sides[1] or not min(sides) < math.inf:
        return sides[1]
    effort = min(sides) or max(sides)
    element = found.elements["actuator"][motors[0]] if motors else data.element
    reason = f"the effort lies between {lower:g} and {upper:g}: {effort:g} is the limit in both directions"
    note(element, f"<{element.tag}> of '{data.name}'", reason, "chosen")
    return effort


def force_range(model: Any, i: int) -> tuple[float, float]:
    """The range of an actuator's force, before gear."""
    lower, upper = -math.inf, math.inf
    if model.actuator_forcelimited[i]:
        lower, upper = model.actuator_forcerange[i].tolist()
    row = int(model.actuator_ctrladr[i])
    if is_motor(model, i) and model.actuator_ctrlnum[i] == 1 and model.actuator_ctrllimited[row]:
        gain = float(model.actuator_gainprm[i][0])
        a, b = sorted(gain * x for x in model.actuator_ctrlrange[row].tolist())
        lower, upper = max(lower, a), min(upper, b)
    return lower, upper


def is_motor(model: Any, i: int) -> bool:
    """Whether an actuator turns its control into a force, by a factor."""
    kinds = (model.actuator_gaintype[i], model.actuator_biastype[i], model.actuator_dyntype[i])
    return tuple(map(int, kinds)) == (FIXED_GAIN, NO_BIAS, NO_DYNAMICS)


# Reports ------------------------------------------------------------------------------------------------------------


def note_actuators(found: Compiled, note: Note) -> None:
    """Report actuators that are more than a torque at one joint."""
    model = found.model
    for i in range(model.nactuator):
        element = found.elements["actuator"][i]
        if int(model.actuator_trntype[i]) not in (JOINT, JOINT_IN_PARENT):
            carried = [x for x in ("armature", "damping") if np.any(getattr(model, f"actuator_{x}")[i])]
            further = f", nor {listed(carried)}" if carried else ""
            reason = f"it acts on no single joint: its forces are not modelled{further}"
            note(element, described(element), reason, "unused")
        elif not is_motor(model, i):
            note(element, described(element), "its gains and dynamics are a controller's: not used", "unused")


def note_tendons(found: Compiled, note: Note) -> None:
    """Report tendons with dynamics."""
    model = found.model
    for i in range(model.ntendon):
        carried = [
            name
            for name in ("stiffness", "stiffnesspoly", "damping", "dampingpoly", "frictionloss", "armature", "limited")
            if np.any(getattr(model, f"tendon_{name}")[i])
        ]
        if carried:
            element = found.elements["tendon"][i]
            words = dict.fromkeys(x.replace("poly", "").replace("limited", "range") for x in carried)
            note(element, described(element), f"tendons are not modelled, nor {listed(words)} of this one", "unused")
