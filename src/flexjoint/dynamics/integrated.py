"""Inverse dynamics with deflections that are integrated instead of solved for  [VSANEA, third remark of sec. III-B].

Where the deflections φ of joints of variable stiffness are known at one sample, the paper integrates (19),

    φ' = A(φ)⁻¹ (τ_e', σ'),

instead of solving (14) at the next one, and warns of drift.  Here a step is Runge-Kutta's of order 4, with τ_e and σ
between the samples as cubics through their values and rates at both.  Against drift the step ends with the share
1 − e^(−λh) of a Newton step towards (14): the error decays like e^(−λt), whatever the step.  λ = 0 is the paper's bare
integration, λ = ∞ one Newton step.  No equation is solved but linear ones, and no branch is chosen: φ stays on that of
its start.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..algorithm.algorithm import algorithm
from ..algorithm.form import Call
from ..drives import VariableStiffnessDrive
from ..drives.variable import OperatingPoint
from ..robot import Robot
from ..spatial import ca, zeros
from ..types import Expression, FloatArray, Jet, Scalar, Stack
from .drivetrain.coupling import at_springs
from .drivetrain.equilibrium import newton, regular
from .drivetrain.motor_side import single_motors
from .drivetrain.springs import spring_motion
from .drivetrain.transmission import second_motors
from .drivetrain.variable_stiffness import in_order, two_motors, unreachable_stiffness
from .inverse import gathered, needed_order, torque_rate, transmitted_torque
from .links import torque_derivatives
from .loads import Base, Wrenches
from .requirements import enough_derivatives, lossless_gears, moderate_link_friction, stateless_springs, stiffness_given


class IntegratedMotion(NamedTuple):
    """A MotorMotion with the rate of tau_e, and the drifts of torque and stiffness.

    (deflection, tau_e, tau_e_v) is the state, with σ and σ'.  The drifts are 0 at joints with one motor.
    """

    theta: Expression | FloatArray
    theta_v: Expression | FloatArray
    theta_a: Expression | FloatArray
    deflection: Expression | FloatArray
    deflection_v: Expression | FloatArray
    spring_torque: Expression | FloatArray
    tau_e: Expression | FloatArray
    tau: Expression | FloatArray
    tau_e_v: Expression | FloatArray
    torque_drift: Expression | FloatArray
    stiffness_drift: Expression | FloatArray


def two_motors_somewhere(call: Call) -> str | None:
    """A joint of variable stiffness."""
    return None if any(call.robot.variable_stiffness) else "no joint has variable stiffness; use motor_motion"


def off_the_branch(robot: Robot, *arrays: Any, stiffness: Any = None, **rest: Any) -> str:
    """Why a step ends nowhere."""
    loads = {name: rest[name] for name in ("wrenches", "base") if rest.get(name) is not None}
    (tau_e,) = torque_derivatives(robot, *arrays[7:10], **loads)
    reason = unreachable_stiffness(robot, tau_e, stiffness[0], False)
    return reason or "the integrated deflections came to where the decoupling matrix is singular; take shorter steps"


@algorithm(
    IntegratedMotion,
    arrays=lambda robot, **_: 8 + needed_order(robot),
    explain=off_the_branch,
    requires=(
        two_motors_somewhere,
        lossless_gears,
        stateless_springs,
        stiffness_given,
        enough_derivatives(first_of_motion=7),
        moderate_link_friction,
    ),
)
def integrated_motor_motion(
    robot: Robot,
    deflection: Expression,
    tau_e: Expression,
    tau_e_v: Expression,
    sigma: Expression,
    sigma_v: Expression,
    h: Expression,
    drift_gain: Expression,
    q: Expression,
    v: Expression,
    a: Expression,
    *higher: Expression,
    stiffness: Stack | None = None,
    wrenches: Wrenches = None,
    base: Base = None,
) -> IntegratedMotion:
    """Motion and torque of the motors, h seconds after a sample with known deflections, by integration.

    Args:
        deflection: Deflections at the sample before, (..., motors), of which those of joints with two motors are used.
        tau_e, tau_e_v: Torque of the joints and its rate then, (..., n), as in `MotorMotion`.
        sigma, sigma_v: Stiffness of the joints and its rate then, (..., n).
        h: Time since then, (...), s; with h = 0 the deflections are taken as they are.
        drift_gain: λ ≥ 0, decay rate of the error in torque and stiffness, (...), 1/s; 0 disables drift control.
        q, v, a: Position, velocity and acceleration of the links now, (..., n).
        higher: q''' and q'''', each (..., n).
        stiffness: [σ, σ', σ''] now, each (..., n).
        wrenches, base: As in `inverse_dynamics`.

    Returns:
        IntegratedMotion, a MotorMotion with tau_e_v and the drifts.

    Raises:
        InputError: If no joint has two motors, a spring is damped, or derivatives or the stiffness are missing.
        NonFiniteError: Where the decoupling matrix is singular; in a batch the row is NaN.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> robot, rest = fj.load("vsa_3r"), np.zeros((5, 3))
        >>> sigma = [np.full(3, 1000.0), np.zeros(3), np.zeros(3)]
        >>> start = fj.motor_motion(robot, *rest, stiffness=sigma)
        >>> before = (start.deflection, start.tau_e, np.zeros(3), *sigma[:2])
        >>> h, drift_gain = np.array(1e-3), np.array(50.0)
        >>> found = fj.dynamics.integrated_motor_motion(robot, *before, h, drift_gain, *rest, stiffness=sigma)
        >>> bool(np.allclose(found.tau, start.tau))
        True
    """
    motion, wanted = [q, v, a, *higher], list(stiffness or ())
    torque = transmitted_torque(robot, motion, needed_order(robot) - 2, wrenches, base)
    second, drives = second_motors(robot), [joint.drive for joint in robot.joints]
    share = 1 - ca.exp(-drift_gain * h)
    springs = [at_springs(robot, x) for x in torque]
    alone = {i: spring_motion(x, [y[i] for y in springs]) for i, x in enumerate(robot.joints) if i not in second}
    sides, drifts = single_motors(robot, motion, torque[0], alone), [zeros(robot.n), zeros(robot.n)]
    for i, drive in enumerate(drives):
        jets = [[x[i] for x in stack] for stack in (motion[:3], torque, wanted)]
        if not isinstance(drive, VariableStiffnessDrive):
            continue
        before = [[tau_e[i], tau_e_v[i]], [sigma[i], sigma_v[i]]]
        phi = runge_kutta(drive, [deflection[i], deflection[second[i]]], before, [x[:2] for x in jets[1:]], h)
        point = drive.at(*phi)
        drifts[0][i], drifts[1][i] = point.tau_e - torque[0][i], point.sigma - wanted[0][i]
        better = newton(drive, *phi, torque[0][i], wanted[0][i])
        kept = drive.at(*(x + share * (y - x) for x, y in zip(phi, better)))
        sides[i] = two_motors(drive, regular(drive, kept), *jets)
    found = gathered(robot, in_order(robot, sides), torque[0])
    return IntegratedMotion(*found, torque_rate(robot, motion, torque[1]), *drifts)


def runge_kutta(
    drive: VariableStiffnessDrive, phi: Jet, before: list[Jet], after: list[Jet], h: Scalar
) -> tuple[Scalar, Scalar]:
    """φ a step later, from [τ_e, τ_e'] and [σ, σ'] at its ends; in between they are cubics."""
    first, last = ([x[1] for x in end] for end in (before, after))  # τ_e', σ'
    moving = ca.if_else(h > 0, 1 / h, 0)
    middle = [1.5 * moving * (y[0] - x[0]) - 0.25 * (x[1] + y[1]) for x, y in zip(before, after)]

    def rate(at: Jet, torque_and_stiffness: Jet) -> tuple[Scalar, Scalar]:
        point: OperatingPoint = regular(drive, drive.at(*at))
        return point.solve(*torque_and_stiffness)  # [VSANEA (20)]

    one = rate(phi, first)
    two = rate([x + h / 2 * y for x, y in zip(phi, one)], middle)
    three = rate([x + h / 2 * y for x, y in zip(phi, two)], middle)
    four = rate([x + h * y for x, y in zip(phi, three)], last)
    phi_1, phi_2 = (x + h / 6 * (k1 + 2 * (k2 + k3) + k4) for x, k1, k2, k3, k4 in zip(phi, one, two, three, four))
    return phi_1, phi_2
