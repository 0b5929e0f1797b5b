"""Feedback linearization and tracking law in one kernel, for any mix of rigid and elastic joints  [EJNEA (12), (13)].

    q⁽ʳ⁾ = q_d⁽ʳ⁾ + Σ K_k (q_d⁽ᵏ⁾ − q⁽ᵏ⁾),   r = `chain_length(robot)`

Joints that would answer their motors earlier than others are held back by integrators in the controller (dynamic
extension).  So are motors that act on other links in the complete model of rotors (`dynamics/dynamic_extension.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...algorithm.algorithm import algorithm
from ...algorithm.form import Call, Form
from ...dynamics.dynamic_extension import (
    COUPLED,
    ExtendedTorque,
    extended,
    extension_signals,
    extension_size,
    linearizing_output,
    rotors_behind_springs,
)
from ...dynamics.linearization import (
    STATES,
    LinearizingTorque,
    chain_length,
    from_measured,
    known_state,
    measured_positions,
    one_deflection,
)
from ...dynamics.loads import Base, Wrenches
from ...dynamics.requirements import constant_stiffness, lossless_gears, moderate_link_friction
from ...robot import Robot
from ...spatial import total
from ...types import Expression, Stack


def tracking_for_chains(call: Call) -> str | None:
    """A reference and gains as long as the chains of integrators."""
    given, length = dict(call.keyword_arrays.get("tracking") or {}), chain_length(call.robot)
    if unknown := sorted(set(given) - {"reference", "gains"}):
        return f"tracking has no '{unknown[0]}'; it knows reference and gains"
    for name, needed in (("reference", length + 1), ("gains", length)):
        if len(given.get(name, ())) != needed:
            return (
                f"tracking needs {needed} arrays in '{name}' for chains of {length} integrators, "
                f"{len(given.get(name, ()))} were given"
            )
    return None


def sensed_form(robot: Robot, options: Mapping[str, Any]) -> Form:
    """The state by what is measured, then what the controller integrates: torques, or in the complete model of rotors
    the extension."""
    state = STATES.get(options["measured"], STATES["q theta"])
    if not rotors_behind_springs(robot):
        return Form((*state, "held", "held_v"), LinearizingTorque)
    if linearizing_output(Call(robot)) is None and extension_size(robot):
        return Form((*state, "extension"), ExtendedTorque, extension_signals(robot), COUPLED)
    return Form(state, "tau", reason=COUPLED)


@algorithm(
    sensed_form,
    requires=(
        lossless_gears,
        constant_stiffness("motion_and_stiffness_control"),
        known_state,
        one_deflection,
        linearizing_output,
        measured_positions,
        tracking_for_chains,
        moderate_link_friction,
    ),
)
def linearizing_control(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta: Expression,
    theta_v: Expression,
    tau_e: Expression,
    tau_e_v: Expression,
    held: Expression,
    held_v: Expression,
    extension: Expression,
    *,
    tracking: dict[str, Stack] | None = None,
    measured: str = "q theta",
    wrenches: Wrenches = None,
    base: Base = None,
) -> LinearizingTorque | ExtendedTorque | Expression:
    """Motor torque that makes every joint a chain of `chain_length(robot)` integrators that tracks a reference.

    Called with the four state arrays that `measured` names, then held and held_v.  In the complete model of rotors with
    (robot, q, v, theta, theta_v, extension), without the last if `extension_size(robot)` is 0.

    Args:
        q, v: Position and velocity of the links, (..., n).
        theta, theta_v: The same of the motors, (..., n); ignored at rigid joints.
        tau_e, tau_e_v: Torque of the springs and its rate, (..., n); ignored at rigid joints.
        held, held_v: State of the controller, (..., n): motor torque of rigid joints and its rate, the rate also of
            damped springs beside undamped ones; other entries are ignored.
        extension: State of the controller in the complete model, as in `feedback_linearization`.
        tracking: {"reference": [q_d, q_d', ...], "gains": [K₀, K₁, ...]}, each array (..., n).  There are as many gains
            as integrators in a chain, and one array more of the reference.
        measured: What the first four arrays are, as in `feedback_linearization`: "q theta" (default), "q tau_e" or
            "theta tau_e".
        wrenches, base: As in `torque_derivatives`.

    Returns:
        LinearizingTorque(tau, tau_e_top) or ExtendedTorque(tau, extension_rate); the second is what the controller
        integrates.  Of a static law in the complete model the torque alone.

    Raises:
        InputError: For joints of variable stiffness, where the rotors of the complete model keep q from being a
            linearizing output, and for damped springs whose torque is measured.
    """
    goal, length = dict(tracking or {}), chain_length(robot)

    def command(motion: Stack) -> Expression:
        # q⁽ʳ⁾ = q_d⁽ʳ⁾ + Σ K_k (q_d⁽ᵏ⁾ − q⁽ᵏ⁾)  [EJNEA (13)]
        feedback = zip(goal["gains"], goal["reference"], motion)
        return goal["reference"][length] + total(K * (d - x) for K, d, x in feedback)

    if rotors_behind_springs(robot):
        return extended(robot, q, v, theta, theta_v, extension, command, wrenches)
    arrays = {"q": q, "v": v, "theta": theta, "theta_v": theta_v, "tau_e": tau_e, "tau_e_v": tau_e_v}
    state = [arrays[name] for name in STATES[measured]]
    return from_measured(robot, measured, state, [held, held_v], command, wrenches, base)
