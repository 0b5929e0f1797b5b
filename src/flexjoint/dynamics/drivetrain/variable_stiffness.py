"""Joints of variable stiffness: motion of both motors from torque and stiffness of the joint  [VSANEA].

The torque on the links and its two derivatives come from the same recursion as for elastic joints.  Each joint then
gives its deflections  [(14), `equilibrium.py`] and, with one matrix A = ∂(τ_e, σ)/∂φ, their derivatives

    A φ' = (τ_e', σ'),   A φ'' = (τ_e'', σ'') − φ'ᵀ ∂²(τ_e, σ)/∂φ² φ',

for antagonistic springs A = (σ_1 σ_2; ζ_1 ζ_2) and (ζ_1 φ_1'² + ζ_2 φ_2'², η_1 φ_1'² + η_2 φ_2'²) on the right.  The
paper solves the second system for θ'' = φ'' + q'', which is the same; its dots are lost in (21) and (22).

Joints whose drives differ in numbers alone are computed four at a time, in vector registers: a call of the 7R takes
0.62 µs, one joint after the other 0.79.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import nan
from types import MappingProxyType
from typing import Any, NamedTuple

from ...compiler.ir import packing
from ...compiler.ir.scan import from_loops
from ...drives import VariableStiffnessDrive
from ...drives.variable import OperatingPoint
from ...errors import InputError
from ...robot import Robot
from ...spatial import ca, is_zero, total, zeros
from ...types import Expression, FloatArray, Jet, Scalar, Stack
from .coupling import at_springs
from .equilibrium import FOLLOW, ClosedForm, closed_form, closed_point, operating_points, regular
from .motor_side import MotorSide, motor_side, single_motors
from .solution_curve import SINGULAR
from .springs import spring_motion
from .stiffness_range import infeasible
from .transmission import second_motors
from .vectorized_drives import alike, merged


def motor_sides(
    robot: Robot,
    q: Stack,
    tau_e: Jet,
    stiffness: Stack,
    warm_start: Expression = None,
    damped: Mapping[int, list[MotorSide]] = MappingProxyType({}),
    filtered: Mapping[int, Jet] = MappingProxyType({}),
) -> list[MotorSide]:
    """All motors in the order of `robot.motor_names`, from the jets of torque and stiffness of the joints.

    Joints that cannot change their stiffness may be among the others.  Of damped ones the motors are given, or of those
    with one motor the deflections, `filtered`.
    """

    def jets(i: int) -> list[Jet]:
        return [[x[i] for x in stack] for stack in (q[:3], tau_e, stiffness)]

    found = dict(damped)
    packs = packing.allowed() and not from_loops(ca.vertcat(*tau_e))
    for form, joints in packs_of_joints(robot) if packs else ():
        lanes = [joints[min(k, len(joints) - 1)] for k in range(packing.WIDTH)]
        drive = merged([robot.joints[i].drive for i in lanes])
        given = [[packing.pack(*x) for x in zip(*stacks)] for stacks in zip(*map(jets, lanes))]
        point = closed_point(form, drive, given[1][0], given[2][0])
        packed = two_motors(drive, point, *given)
        for k, i in enumerate(joints):
            found[i] = [MotorSide(*(packing.lane(x, k) for x in side)) for side in packed]
    second = second_motors(robot)
    rest = [i for i in second if i not in found]
    drives: list[Any] = [robot.joints[i].drive for i in rest]
    guess = None if warm_start is None else [(warm_start[i], warm_start[second[i]]) for i in rest]
    torques, wanted = [tau_e[0][i] for i in rest], [stiffness[0][i] for i in rest]
    for i, point in zip(rest, operating_points(drives, torques, wanted, guess)):
        found[i] = two_motors(robot.joints[i].drive, point, *jets(i))
    springs = [at_springs(robot, x) for x in tau_e]
    phi = {
        i: filtered[i] if i in filtered else spring_motion(joint, [x[i] for x in springs])
        for i, joint in enumerate(robot.joints)
        if i not in found
    }
    return in_order(robot, found | single_motors(robot, q, tau_e[0], phi))


def in_order(robot: Robot, sides: Mapping[int, list[MotorSide]]) -> list[MotorSide]:
    """All motors in the order of `robot.motor_names`, from those of each joint."""
    return [*(sides[i][0] for i in range(robot.n)), *(sides[i][1] for i in second_motors(robot))]


def packs_of_joints(robot: Robot) -> list[tuple[ClosedForm, list[int]]]:
    """Joints whose drives differ in numbers alone and have a closed form, two to four together."""
    groups: dict[tuple[ClosedForm, Any], list[int]] = {}
    for i, joint in enumerate(robot.joints):
        if isinstance(joint.drive, VariableStiffnessDrive) and (form := closed_form(joint.drive)):
            groups.setdefault((form, alike(joint.drive)), []).append(i)
    parts = [
        (form, group[k : k + packing.WIDTH])
        for (form, _), group in groups.items()
        for k in range(0, len(group), packing.WIDTH)
    ]
    return [(form, part) for form, part in parts if len(part) > 1]


def two_motors(drive: Any, point: OperatingPoint, q: Jet, tau_e: Jet, sigma: Jet) -> list[MotorSide]:
    """Both motors of one joint, from [q, q', q''] and the jets of torque and stiffness."""
    rates = point.solve(tau_e[1], sigma[1])  # A φ' = (τ_e', σ')  [VSANEA (19), (68)]
    return both_sides(drive, point, q, *deflection_jets(point, rates, tau_e[2], sigma[2]))


def both_sides(drive: VariableStiffnessDrive, point: OperatingPoint, q: Jet, one: Jet, two: Jet) -> list[MotorSide]:
    """θ = q + φ, τ = τ_k + B θ'' + friction  [VSANEA (69), (73), (74)]."""
    sides = (drive.motor_1, q, point.tau_1, one), (drive.motor_2, [drive.c * x for x in q], point.tau_2, two)
    return [motor_side([motor], of, tau, phi) for motor, of, tau, phi in sides]


def deflection_jets(
    point: OperatingPoint, rates: Sequence[Scalar], tau_e_a: Scalar, sigma_a: Scalar
) -> tuple[Jet, Jet]:
    """[φ, φ', φ''] of both motors."""
    bent = point.bent(*rates)
    # [VSANEA (21)-(23), (70)-(72)], less A q''
    phi_1_a, phi_2_a = point.solve(tau_e_a - bent[0], sigma_a - bent[1])
    return [point.phi_1, rates[0], phi_1_a], [point.phi_2, rates[1], phi_2_a]


class Pair(NamedTuple):
    """A joint of variable stiffness: its operating point, and [φ, φ', ...] of both motors."""

    point: OperatingPoint
    one: Jet
    two: Jet
    c: int  # whether the second motor counts from the link


def pair_jets(drive: Any, tau_e: Jet, sigma: Jet, guess: tuple[Scalar, Scalar] | None = None) -> Pair:
    """Deflections with as many derivatives as torque and stiffness have: A φ⁽ᵏ⁾ = (τ_e, σ)⁽ᵏ⁾ − lower orders."""
    (point,) = operating_points([drive], tau_e[:1], sigma[:1], None if guess is None else [guess])
    point = regular(drive, point)
    for spring in getattr(drive, "springs", ()):
        if len(tau_e) > spring.smoothness + 1:
            raise InputError(
                f"in the complete model other motors need {len(tau_e) - 1} derivatives of the deflections of a joint "
                f"of variable stiffness, and a {spring.name} has {spring.smoothness}; use a CubicSpring or a SinhSpring"
            )
    symbols, phi = [ca.SX.sym("phi", 2) for _ in tau_e], [ca.vertcat(point.phi_1, point.phi_2)]
    at = drive.at(symbols[0][0], symbols[0][1])
    rate = ca.vertcat(at.tau_e, at.sigma)
    for k in range(1, len(tau_e)):
        rate = total(ca.jtimes(rate, x, y) for x, y in pairwise(symbols[: k + 1]))
        rest = ca.substitute(rate, ca.vertcat(*symbols[: k + 1]), ca.vertcat(*phi, zeros(2)))
        phi.append(ca.vertcat(*point.solve(tau_e[k] - rest[0], sigma[k] - rest[1])))
    return Pair(point, [x[0] for x in phi], [x[1] for x in phi], drive.c)


def pair_sides(drive: Any, pair: Pair, q: Jet) -> list[MotorSide]:
    """Both motors of a joint with these deflections, from [q, q', q'']."""
    return both_sides(drive, pair.point, q, pair.one[:3], pair.two[:3])


# From a state ---------------------------------------------------------------------------------------------------------


def transmission_torque(drive: VariableStiffnessDrive, point: OperatingPoint, phi_v: Sequence[Scalar]) -> Jet:
    """[τ_e, τ_e'] of a transmission at given rates of its deflections, the rate without the part of damping."""
    tau_e = point.tau_e
    if not is_zero(drive.damping):
        tau_e = tau_e + drive.damping * (phi_v[0] + drive.c * phi_v[1])
    return [tau_e, ca.mtimes(point.A[0], ca.vertcat(*phi_v))]  # [VSANEA (6), (17)]


def decoupling(drive: VariableStiffnessDrive, point: OperatingPoint) -> OperatingPoint:
    """The point with the matrix by which motor accelerations set motion and stiffness; `det` is NaN if it is singular.

    Without damping τ_e'' = A_1 φ'' + ..., with it τ_e' = A_1 φ' + D (φ_1'' + c φ_2'') one derivative earlier: then the
    first row is (D, c D).
    """
    if is_zero(drive.damping):
        return regular(drive, point)
    first, second = ca.horzcat(drive.damping, drive.c * drive.damping), point.A[1]
    parts = first[0] * second[1], first[1] * second[0]
    enough = ca.fabs(parts[0] - parts[1]) > SINGULAR * (ca.fabs(parts[0]) + ca.fabs(parts[1]))
    det = ca.if_else(enough, parts[0] - parts[1], nan)
    return point._replace(A=(first, second), bends=(ca.SX(2, 2), point.bends[1]), det=det)


def commanded_motors(
    drive: VariableStiffnessDrive, point: OperatingPoint, q: Jet, phi_v: Sequence[Scalar], tau_e: Jet, sigma_a: Scalar
) -> list[MotorSide]:
    """Both motors of a joint that obeys τ_e'' and σ'', or if it is damped τ_e' and σ'', from its state."""
    by_motors = decoupling(drive, point)
    if is_zero(drive.damping):
        return both_sides(drive, point, q, *deflection_jets(by_motors, phi_v, tau_e[2], sigma_a))
    left = tau_e[1] - transmission_torque(drive, point, phi_v)[1]
    loads = [drive.damping * phi_v[0], drive.c * drive.damping * phi_v[1]]
    loaded = point._replace(tau_1=point.tau_1 + loads[0], tau_2=point.tau_2 + loads[1])
    return both_sides(drive, loaded, q, *deflection_jets(by_motors, phi_v, left, sigma_a))


def unreachable_stiffness(robot: Robot, tau_e: FloatArray, sigma: FloatArray, warm: bool) -> str | None:
    """Why joints do not have their stiffness at the torque on their links; None if they can."""
    reason = infeasible(robot, tau_e, sigma)
    if reason is None and warm:
        return f"{FOLLOW} steps from warm_start do not lead to the deflections; give closer ones, or none"
    return reason
