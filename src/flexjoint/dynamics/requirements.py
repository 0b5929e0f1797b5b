"""Preconditions of algorithms, declared at their decorators, and the wording of every refusal.

    @algorithm("tau", requires=(constant_stiffness("motor_motion"), spong_rotors("adds its own spin to the links")))

A requirement is a function of a `Call` that returns why the call is refused, or None.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..algorithm.form import Call, Requirement, require
from ..drives import ElasticDrive, friction_law
from ..errors import warn
from ..robot import Joint, Robot
from ..spatial import is_symbolic, is_zero
from ..springs import LinearSpring
from .drivetrain.friction import coulomb_command, following
from .drivetrain.orders import derivative_orders, joint_order, stiffness_order
from .recursion.bodies import rotors

__all__ = [
    "constant_stiffness",
    "drives_in_words",
    "enough_derivatives",
    "equal_relative_degrees",
    "first",
    "hysteresis_given",
    "linear_filters",
    "linear_undamped_springs",
    "lossless_gears",
    "memoryless_gears",
    "moderate_link_friction",
    "require",
    "rigid_joints",
    "spong_rotors",
    "stateless_springs",
    "stiffness_given",
    "uncoupled_transmissions",
    "undamped_springs",
    "unloaded_motors",
]


# Drives -------------------------------------------------------------------------------------------------------------


def constant_stiffness(instead: str) -> Requirement:
    """No joint of variable stiffness; `instead` says what to use for one."""

    def check(call: Call) -> str | None:
        joint = first(call.robot, call.robot.variable_stiffness)
        if joint is None:
            return None
        return f"joint '{joint.name}' has variable stiffness, which its two motors set; use {instead}"

    return check


def rigid_joints(call: Call) -> str | None:
    """No springs between motors and links."""
    joint = first(call.robot, call.robot.compliant)
    if joint is None:
        return None
    return (
        f"joint '{joint.name}' is elastic, the law is for rigid ones; use robot.rigid() for stiff joints, or "
        "robot.without_drives() if the result shall be the torque of the springs"
    )


def stiffness_given(call: Call) -> str | None:
    """The stiffness [σ, σ', σ''] of joints of variable stiffness."""
    joint = first(call.robot, call.robot.variable_stiffness)
    given = len(call.keyword_arrays.get("stiffness", ()))
    order = stiffness_order(call.robot, "base" in call.keyword_arrays) if joint else 2
    if joint is None or given == 1 + order or (order > 2 and given > order):
        return None
    what = "stiffness is missing" if not given else f"stiffness has {given} arrays"
    more = f", ..., to derivative {order}, which other link equations need in the complete model" if order > 2 else ""
    return (
        f"{what}: joint '{joint.name}' has variable stiffness, so the motor torques depend on it; give "
        f"stiffness=[sigma, sigma_v, sigma_a{more}], the stiffness of each joint (n,) and its first {order} derivatives"
    )


# Gears --------------------------------------------------------------------------------------------------------------


def lossless_gears(call: Call) -> str | None:
    """No hysteresis and no backlash: with them the torque depends on the past of the motion, or on no motion."""
    joint = first(call.robot, call.robot.gear_losses)
    if joint is None:
        return None
    hysteresis = joint.drive.hysteresis is not None  # type: ignore[union-attr]
    what, why = (
        ("hysteresis", "whose torque depends on the past of the motion")
        if hysteresis
        else ("backlash", "within which no torque passes, whatever the motor does")
    )
    return (
        f"the gear of joint '{joint.name}' has {what}, {why}; use robot.without_gear_losses() as the model, and the "
        "robot itself in simulate"
    )


def memoryless_gears(call: Call) -> str | None:
    """No hysteresis; backlash is allowed."""
    return lossless_gears(call) if call.robot.hysteretic else None


def hysteresis_given(call: Call) -> str | None:
    """The state of the hysteresis of gears."""
    if not call.robot.hysteretic or "hysteresis" in call.keyword_arrays:
        return None
    joint = call.robot.joints[call.robot.hysteretic[0]]
    return (
        f"hysteresis is missing: the gear of joint '{joint.name}' has hysteresis, whose torque is a state; give "
        "hysteresis=z, (n,) from -1 to 1, such as numpy.zeros(robot.n), use robot.without_gear_losses(), or simulate, "
        "which integrates it"
    )


# Damping ------------------------------------------------------------------------------------------------------------


def undamped_springs(reason: str, instead: str) -> Requirement:
    """No damping in the springs; `reason` says what it would change, `instead` what to do."""

    def check(call: Call) -> str | None:
        joint = first(call.robot, call.robot.damped)
        return None if joint is None else f"the spring of joint '{joint.name}' is damped, so {reason}; {instead}"

    return check


def stateless_springs(call: Call) -> str | None:
    """Undamped springs: with damping the motor torque depends on the past of the motion."""
    joint = first(call.robot, call.robot.damped)
    if joint is None:
        return None
    damping = joint.drive.damping  # type: ignore[union-attr]
    D = "free" if is_symbolic(damping) else f"{damping:g}"
    past = (
        f"the spring of joint '{joint.name}' is damped (D = {D}), so the motor torque depends on the past of the motion"
    )
    undamped = "robot.without_spring_damping(), the same robot with D = 0"
    return f"{past}; use inverse_dynamics_along for a trajectory, inverse_dynamics_step sample by sample, or {undamped}"


def uncoupled_transmissions(call: Call) -> str | None:
    """A motor of its own for every joint."""
    if not call.robot.transmissions:
        return None
    names = " and ".join(f"'{name}'" for name in call.robot.transmissions[0].joints)
    return (
        f"a transmission couples the joints {names}, and the law is for motors that drive one joint each; use "
        "FeedbackLinearization, MotorPD or FullStateFeedback"
    )


def linear_undamped_springs(call: Call) -> str | None:
    """Springs K (θ − q)."""
    for joint in call.robot.joints:
        drive = joint.drive
        if isinstance(drive, ElasticDrive) and not (isinstance(drive.spring, LinearSpring) and is_zero(drive.damping)):
            return (
                f"the spring of joint '{joint.name}' is damped or not linear, and the law rests on K (θ − q); use "
                "FeedbackLinearization, or give the law a robot with the stiffness at rest"
            )
    return None


def linear_filters(call: Call) -> str | None:
    """In the complete model of rotors linear springs at damped joints whose motors others need, one motor each."""
    robot = call.robot
    if robot.fidelity != "complete" or not any(robot.damped):
        return None
    if pair := first(robot, robot.variable_stiffness):
        return (
            f"in the complete model of '{robot.name}' joint '{pair.name}' has variable stiffness beside damped "
            "springs; use robot.without_spring_damping() or robot.with_fidelity('spong')"
        )
    orders = derivative_orders(robot, "base" in call.keyword_arrays).joints
    for joint, damped, order in zip(robot.joints, robot.damped, orders):
        spring, m = getattr(joint.drive, "spring", None), order.differentiations
        if damped and m > 1 and not isinstance(spring, LinearSpring):
            return (
                f"in the complete model of '{robot.name}' other joints need {m} derivatives of the motor of joint "
                f"'{joint.name}', whose damped spring is {spring!r}; give a number as stiffness, use "
                "robot.without_spring_damping() or robot.with_fidelity('spong')"
            )
    return None


# Rotors -------------------------------------------------------------------------------------------------------------


def spong_rotors(reason: str) -> Requirement:
    """No spinning rotor behind a spring, as the complete model has them; `reason` says what it does."""

    def check(call: Call) -> str | None:
        for rotor in rotors(call.robot):
            if rotor.elastic:
                return (
                    f"in the complete model of '{call.robot.name}' the rotor of the elastic joint "
                    f"'{call.robot.motor_names[rotor.coordinate]}' {reason}; use robot.with_fidelity('spong')"
                )
        return None

    return check


# Derivatives --------------------------------------------------------------------------------------------------------


def enough_derivatives(first_of_motion: int = 0) -> Requirement:
    """As many derivatives of q as the motor torques depend on; the motion begins at this positional array."""

    def check(call: Call) -> str | None:
        robot, given = call.robot, call.arrays - first_of_motion
        order = derivative_orders(robot, "base" in call.keyword_arrays).motion
        if given > order:
            return None
        if order > 4:
            return (
                f"in the complete model of '{robot.name}' link equations contain the motors of other joints; they need "
                f"q and its first {order} derivatives, {given - 1} derivatives were given; explain_orders(robot) tells "
                "why, robot.with_fidelity('spong') does with fewer"
            )
        needs = [
            which(robot, [joint_order(joint) == k for joint in robot.joints], what, f"q and its first {k} derivatives")
            for k, what in ((4, "elastic"), (3, "elastic with a damped spring"))
            if any(joint_order(joint) == k > given - 1 for joint in robot.joints)
        ]
        return (
            f"{' and '.join(needs)}, {given - 1} derivatives were given; as the joints are coupled, every joint's are "
            "used; a trajectory that is not smooth enough gives fewer, and require_smoothness(trajectory, robot=robot) "
            "says what to change; robot.rigid() is the robot with stiff joints"
        )

    return check


def equal_relative_degrees(call: Call) -> str | None:
    """All joints answer their motors after the same number of derivatives: 4, or 3 where θ is measured."""
    names = {2: "rigid", 3: "elastic with a damped spring", 4: "elastic without damping"}
    allowed = {3, 4} if call.options.get("measured", "q theta") == "q theta" else {4}
    degrees = [joint_order(joint) for joint in call.robot.joints]
    for joint, degree in zip(call.robot.joints, degrees):
        if degree not in allowed or degree != max(degrees):
            return (
                f"joint '{joint.name}' is {names[degree]}, which this state and command do not fit; "
                "linearizing_control takes every mix of rigid and elastic joints"
            )
    return None


def moderate_link_friction(call: Call) -> None:
    """Warns of Coulomb friction that costs more motor torque than it exerts; refuses nothing."""
    warn_of_friction(call.robot)


def warn_of_friction(robot: Robot) -> None:
    """Warn of Coulomb friction on the links of elastic joints that costs more motor torque than it exerts."""
    for i, (joint, torque) in enumerate(zip(robot.joints, coulomb_command(robot))):
        if not torque:  # 0 where numbers are free
            continue
        behind = [(x.joint.name, abs(x.ratio) * friction_law(item).level) for x, item in following(robot, i)]
        felt = friction_law(joint).level + sum(level for _, level in behind)
        if torque > felt:
            names = "' and its follower '".join(dict.fromkeys([joint.name, *(name for name, level in behind if level)]))
            velocity = "coulomb_velocity" if joint.friction is None else "friction.velocity"
            warn(
                f"{robot.name}: the Coulomb friction of joint '{names}' acts on the link of an elastic joint and "
                f"is differentiated twice: {felt:g} Nm (N) of it cost up to {torque:.3g} Nm (N) of "
                "motor torque where the joint turns round at 1 rad/s² (m/s²); move it to the motor, or raise its "
                f"{velocity}"
            )


def unloaded_motors(reason: str, instead: str) -> Requirement:
    """No motor whose friction depends on the load; `reason` says why, `instead` what to use."""

    def check(call: Call) -> str | None:
        for joint in call.robot.joints:
            motors = joint.drive.motors if joint.drive is not None else ()
            if any(not is_zero(side.load) for motor in motors for side in friction_law(motor).sides):
                return f"the motor friction of joint '{joint.name}' depends on the load, {reason}; {instead}"
        return None

    return check


# Words --------------------------------------------------------------------------------------------------------------


def drives_in_words(robot: Robot) -> str:
    """Which joints have springs, behind "for 'robot', "."""
    if not any(robot.compliant):
        return "which has no springs"
    what = "have variable stiffness" if any(robot.variable_stiffness) else "are elastic"
    chosen = robot.variable_stiffness if any(robot.variable_stiffness) else robot.compliant
    if all(chosen):
        return f"whose joints {what}"
    names = ", ".join(f"'{joint.name}'" for joint, x in zip(robot.joints, chosen) if x)
    if sum(chosen) == 1:
        return f"whose joint {names} {'has variable stiffness' if what[0] == 'h' else 'is elastic'}"
    return f"whose joints {names} {what}"


def which(robot: Robot, chosen: Sequence[bool], what: str, need: str) -> str:
    """The chosen joints, what they are and what they need."""
    names = [f"'{joint.name}'" for joint, x in zip(robot.joints, chosen) if x]
    if len(names) == 1:
        return f"joint {names[0]} is {what} and needs {need}"
    return f"joints {', '.join(names)} are {what} and need {need}"


def first(robot: Robot, chosen: Sequence[bool]) -> Joint | None:
    """The first joint that is chosen."""
    return next((joint for joint, x in zip(robot.joints, chosen) if x), None)
