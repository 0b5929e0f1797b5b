"""Spatial operators: the dynamics of a whole robot as a few matrix products, and their derivatives by recursion.

Source: [Hoepler sec. IV, V-A].  Spatial vectors hold the rotation first, V = (ω, v) and f = (n, f), in the frame of
their body, whose origin lies on the joint axis.  The vectors of all N bodies are stacked.  With X̃ the cross product
operator and Δ = H q',

    Φ⁻¹ = 1 − E                 E° = −Δ̃ E             Φ° = −Φ Δ̃ E Φ                                (11), (19), (20)
    V = Φ H q'                  V° = Φ (H q'' − Δ̃ V)                                              (12), (13)
    f = Φᵀ (M V° − Ṽᵀ M V + H_r I θ'' + Ω̃ H_r I θ')                                               (14), (22)
    M(q) = Hᵀ Φᵀ M Φ H          C = −Hᵀ Φᵀ (M Φ Δ̃ + Ṽᵀ M) V                                      (26), (27)
    S(q) = Hᵀ Φᵀ H_r I          C_rotor = Hᵀ Φᵀ Ω̃ H_r I θ'        C_carrier = −I H_rᵀ Φ Δ̃ V       (29), (30), (33)

    V⁽ᵅ⁾ = Φ (A_α + B_α)          f⁽ᵅ⁾ = Φᵀ (C_α + D_α)                                           (17), (24)

where ° is the derivative of components and Ω = (ω, 0).  In print the accents of (13), (14), (17) and (23) are mixed,
and I stands at the right of vectors in (32) and (33).  Three things differ from the paper: a body may hang on any
other, so E has its blocks at (body, parent); a joint may slide, H = (turn z, slide z); and θ is after the reduction,
so our I holds η I_axial, that of the paper I_axial.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.algorithm import algorithm
from ..algorithm.form import Call
from ..algorithm.signals import Signal
from ..checks import finite
from ..errors import InputError
from ..robot import Robot
from ..spatial import Inertia, ca, cross, identity, is_symbolic, skew, sx, total, zeros
from ..types import Expression, FloatArray, Jet, Matrix, Stack
from .links import enough_for_order
from .recursion.bodies import Body, lump_fixed, rotors
from .recursion.kinematics import joint_pose


class SpatialOperators(NamedTuple):
    """Spatial operators of a robot with N moving joints, with followers, on stacked spatial vectors (rotation first).

    Attributes:
        Phi: Φ, velocities across the joints to velocities of the bodies, (..., 6N, 6N).
        E: E_φ, from every body to those that hang on it, (..., 6N, 6N).
        base: From the base to the bodies that hang on it, (..., 6N, 6).
        H: Axes of the joints, each in the column of its coordinate, (..., 6N, n); constant.
        H_r: Axes of the rotors in the bodies that carry them, (..., 6N, motors); constant.
        M: Inertia of the bodies about their frames, block-diagonal, (..., 6N, 6N); constant.
        I: η I_axial per motor, the angular momentum of the rotor per unit of θ', (..., motors); constant.
    """

    Phi: Expression | FloatArray
    E: Expression | FloatArray
    base: Expression | FloatArray
    H: Expression | FloatArray
    H_r: Expression | FloatArray
    M: Expression | FloatArray
    I: Expression | FloatArray


SIGNALS = {
    "Phi": Signal(("spatial", "spatial"), "1, m"),
    "E": Signal(("spatial", "spatial"), "1, m"),
    "base": Signal(("spatial", 6), "1, m"),
    "H": Signal(("spatial", "n"), "1"),
    "H_r": Signal(("spatial", "motors"), "1"),
    "M": Signal(("spatial", "spatial"), "kg m², kg m, kg"),
    "I": Signal(("motors",), "kg m² | kg m"),
}


def followers_without_rotors(call: Call) -> str | None:
    """No rotor that drives a follower: it has no column in H_r."""
    for follower in call.robot.followers:
        drive = follower.joint.drive
        if call.robot.fidelity == "complete" and drive is not None and drive.motors[0].gear_ratio is not None:
            return (
                f"the rotor of '{follower.joint.name}', which follows another joint, has no column in H_r; use "
                "robot.with_fidelity('spong')"
            )
    return None


@algorithm(SpatialOperators, signals=SIGNALS, requires=(followers_without_rotors,))
def spatial_operators(robot: Robot, q: Expression) -> SpatialOperators:
    """The operators Φ, E, H, H_r and M of the spatial operator algebra  [Hoepler (9), (10), (16)].

    Links on fixed joints are part of the body that carries them, so N is the number of moving joints.  In Spong's model
    rotors do not turn with the links, and H_r and I are zero.

    Args:
        q: Position of the links, (..., n).

    Returns:
        SpatialOperators(Phi, E, base, H, H_r, M, I).

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> robot, q = fj.load("hua_3r").without_drives(), np.array([0.1, 0.4, 0.7])
        >>> Phi, E, base, H, H_r, M, I = fj.dynamics.spatial_operators(robot, q)
        >>> np.allclose(H.T @ Phi.T @ M @ Phi @ H, fj.mass_matrix(robot, q))
        True
    """
    tree = lump_fixed(robot)
    n = len(tree)
    E, base = zeros(6 * n, 6 * n), zeros(6 * n, 6)
    Phi, H, M = ca.SX.eye(6 * n), zeros(6 * n, robot.n), zeros(6 * n, 6 * n)
    for i, body in enumerate(tree):
        phi = transform(body, q)
        if body.parent >= 0:
            E[block(i), block(body.parent)] = phi
            # row i of Φ = 1 + E Φ  (11)
            Phi[block(i), : 6 * i] = phi @ Phi[block(body.parent), : 6 * i]
        else:
            base[block(i), :] = phi
        linear, angular = body.screw.axes
        H[block(i), body.coordinate] = ca.vertcat(angular, linear)
        M[block(i), block(i)] = spatial_inertia(body.inertia)
    H_r, I = zeros(6 * n, robot.motor_count), zeros(robot.motor_count)
    for rotor in rotors(robot):
        I[rotor.coordinate] = rotor.momentum
        if rotor.body >= 0:
            H_r[block(rotor.body), rotor.coordinate] = ca.vertcat(rotor.axis, zeros(3))
    return SpatialOperators(Phi, E, base, H, H_r, M, I)


# The recursion over orders -------------------------------------------------------------------------------------------


class OperatorRecursion(NamedTuple):
    """Derivatives of velocities and forces, taken component by component in the frames of the bodies; stacks by order.

    Attributes:
        A: A_α = H q⁽ᵅ⁺¹⁾, velocities across the joints, (order + 2, ..., 6N).
        B: B_α, from the rotation of the frames against their parents, (order + 2, ..., 6N).
        V: V⁽ᵅ⁾, velocities of the bodies, Φ (A_α + B_α), and Φ base V°[0] of gravity in V°, (order + 2, ..., 6N).
        C: C_α, forces that move each body alone, (order + 1, ..., 6N).
        D: D_α, from the rotation of the frames of the child bodies, (order + 1, ..., 6N).
        f: f⁽ᵅ⁾ = Φᵀ (C_α + D_α), forces through the joints; Hᵀf⁽ᵅ⁾ are the joint torques, (order + 1, ..., 6N).
    """

    A: Expression | FloatArray
    B: Expression | FloatArray
    V: Expression | FloatArray
    C: Expression | FloatArray
    D: Expression | FloatArray
    f: Expression | FloatArray


def rotors_in_motion(call: Call) -> str | None:
    """As many derivatives of θ as of q, or none."""
    given, order = len(call.keyword_arrays.get("theta_rates", ())), call.options.get("order", 0)
    if given in (0, order + 2) or given > order + 2:
        return None
    return f"order {order} needs theta_rates=[θ', θ'', ...] with {order + 2} arrays, {given} were given"


@algorithm(
    OperatorRecursion,
    arrays=lambda robot, order=0, **_: order + 3,
    signals={
        "A": Signal(("spatial",), "1/sᵏ, m/sᵏ"),
        "B": Signal(("spatial",), "1/sᵏ, m/sᵏ"),
        "V": Signal(("spatial",), "1/sᵏ, m/sᵏ"),
        "C": Signal(("spatial",), "Nm/sᵏ, N/sᵏ"),
        "D": Signal(("spatial",), "Nm/sᵏ, N/sᵏ"),
        "f": Signal(("spatial",), "Nm/sᵏ, N/sᵏ"),
    },
    requires=(followers_without_rotors, enough_for_order, rotors_in_motion),
)
def operator_recursion(
    robot: Robot,
    q: Expression,
    v: Expression,
    a: Expression,
    *higher: Expression,
    order: int = 0,
    theta_rates: Stack | None = None,
) -> OperatorRecursion:
    """The recursion for derivatives of spatial velocities and forces  [Hoepler (17)-(25)].

    Gravity is an acceleration of the base, V°[0] = (0, −g), which adds Φ base V°[0] to V°, and to B of higher orders.
    Friction and springs are not in f.  Rotors of rigid joints turn at theta_rates as the others do.

    Args:
        q, v, a: Position, velocity and acceleration of the joints, (..., n).
        higher: The derivatives of q behind a, each (..., n), up to derivative order + 2.
        order: Highest derivative of the forces, 0 by default.
        theta_rates: [θ', θ'', ...] of the motors up to derivative order + 2, each (..., motors); without them rotors
            rest in the links that carry them.

    Returns:
        OperatorRecursion(A, B, V, C, D, f), lists over the orders.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> robot, motion = fj.load("hua_3r").without_drives(), np.random.default_rng(0).normal(size=(5, 3))
        >>> f = fj.dynamics.operator_recursion(robot, *motion, order=2).f
        >>> H = fj.dynamics.spatial_operators(robot, motion[0]).H
        >>> np.allclose(f @ H, fj.torque_derivatives(robot.without_friction(), *motion, order=2))
        True
    """
    tree, jets, tops = lump_fixed(robot), [q, v, a, *higher], [order] * len(lump_fixed(robot))
    spinning = rotors(robot) if theta_rates else []

    def momenta(i: int) -> Jet:
        """[L, L°, ...] of the rotors in body i."""
        own = [x for x in spinning if x.body == i]
        rates = (theta_rates or ())[: order + 2]
        return [total(x.momentum * rate[x.coordinate] * x.axis for x in own) for rate in rates] if own else []

    operations = SpatialOperations(tree, jets, sx(robot.gravity))
    outward = outward_sweep(operations, [body.parent for body in tree], tops)
    forces = [BodyForces([], [], [])] * len(tree)
    for i in reversed(range(len(tree))):
        beyond = [k for k, body in enumerate(tree) if body.parent == i]
        forces[i] = inward_step(operations, i, outward, beyond, forces, momenta(i), order)
    stacks = [*zip(*[(x.A, x.B, x.V) for x in outward]), *zip(*forces)]

    def stacked(of_bodies: Sequence[Jet]) -> list[Expression]:
        return [ca.vertcat(*[zeros(6) if x is None else x for x in layer]) for layer in zip(*of_bodies)]

    return OperatorRecursion(*map(stacked, stacks))


class BodyMotion(NamedTuple):
    """Jets of one body on the way outwards; None stands for 0."""

    phi: Jet  # E of the body and its derivatives
    A: Jet
    B: Jet
    V: Jet
    omega: Jet


class BodyForces(NamedTuple):
    """Jets of one body on the way inwards; None stands for 0."""

    C: Jet
    D: Jet
    f: Jet


class SpatialOperations:
    """The operations of the sweeps, on SX.  Another class with the same methods may record them instead."""

    def __init__(self, tree: Sequence[Body], jets: Stack, gravity: Expression) -> None:
        self.tree, self.jets = tree, jets
        self.base = [None, ca.vertcat(zeros(3), -gravity)]  # V of the base and its derivatives  [sec. IV]
        self.inertias = [spatial_inertia(body.inertia) for body in tree]

    def named(self, symbol: str, i: int, k: int, value: Any, equation: str = "") -> Any:
        """The k-th derivative of a quantity of body i."""
        return value

    def total(self, terms: Sequence[tuple[int, Any]]) -> Any:
        """Σ c x over pairs (c, x), without the x that are None; None of nothing."""
        used = [c * x for c, x in terms if x is not None]
        return total(used) if used else None

    def pose(self, i: int) -> Any:
        return transform(self.tree[i], self.jets[0])

    def across(self, i: int, k: int) -> Any:
        """H q⁽ᵏ⁾."""
        body = self.tree[i]
        linear, angular = body.screw.axes
        return ca.vertcat(angular, linear) * self.jets[k][body.coordinate]

    def turned(self, X: Any, phi: Any) -> Any:
        return cross_block(X) @ phi

    def outward(self, phi: Any, V: Any) -> Any:
        return phi @ V

    def inward(self, phi: Any, f: Any) -> Any:
        return phi.T @ f

    def momentum(self, i: int, V: Any) -> Any:
        """M V."""
        return self.inertias[i] @ V

    def transposed_cross(self, V: Any, P: Any) -> Any:
        """Ṽᵀ P."""
        return cross_block(V).T @ P

    def angular(self, V: Any) -> Any:
        return V[:3]

    def gyroscopic(self, omega: Any, L: Any) -> Any:
        return cross(omega, L)

    def moment(self, N: Any) -> Any:
        """(N, 0)."""
        return ca.vertcat(N, zeros(3))


def outward_sweep(op: Any, parents: Sequence[int], tops: Sequence[int]) -> list[BodyMotion]:
    """Velocities of the bodies with their derivatives, up to order tops[i] + 1  [Hoepler (17)-(21)]."""
    motions: list[BodyMotion] = []
    for i, parent in enumerate(parents):
        up = motions[parent].V if parent >= 0 else [*op.base, *[None] * tops[i]]
        body = BodyMotion([op.named("phi", i, 0, op.pose(i), "(9)")], [], [], [], [])
        for k in range(tops[i] + 2):
            body.A.append(op.named("A", i, k, op.across(i, k + 1), "(18)"))
            B = products(op.outward, body.phi, up, k, first=1)
            body.B.append(op.named("B", i, k, op.total(B), "(21)"))
            carried = None if up[k] is None else op.outward(body.phi[0], up[k])
            V = op.total([(1, carried), (1, body.A[k]), (1, body.B[k])])
            body.V.append(op.named("V", i, k, V, "(17)"))
            body.omega.append(op.named("omega", i, k, op.angular(body.V[k])))
            if k <= tops[i]:  # E° = −Δ̃ E  (19)
                rate = products(op.turned, body.A, body.phi, k, sign=-1)
                body.phi.append(op.named("phi", i, k + 1, op.total(rate), "(19)"))
        motions.append(body)
    return motions


def inward_step(
    op: Any,
    i: int,
    motions: Sequence[BodyMotion],
    children: Sequence[int],
    forces: Sequence[BodyForces],
    L: Jet,
    top: int,
) -> BodyForces:
    """Forces through the joint of body i with their derivatives, from those of its children  [Hoepler (22)-(25)].

    L: [L, L°, ...] of the rotors in the body, short or None where no equation contains them.
    """
    body, V, omega = BodyForces([], [], []), motions[i].V, motions[i].omega
    L = [*L, *[None] * (top + 2 - len(L))]
    P = [op.named("P", i, k, op.momentum(i, V[k])) for k in range(top + 2)]
    for k in range(top + 1):
        N = op.named("N", i, k, op.total([(1, L[k + 1]), *products(op.gyroscopic, omega, L, k)]), "(22)")
        C = [(1, P[k + 1]), *products(op.transposed_cross, V, P, k, sign=-1), (1, None if N is None else op.moment(N))]
        body.C.append(op.named("C", i, k, op.total(C), "(25)" if k else "(23)"))
        D = [x for c in children for x in products(op.inward, motions[c].phi, forces[c].f, k, first=1)]
        body.D.append(op.named("D", i, k, op.total(D), "(24)"))
        carried = [(1, op.inward(motions[c].phi[0], forces[c].f[k])) for c in children]
        body.f.append(op.named("f", i, k, op.total([(1, body.C[k]), (1, body.D[k]), *carried]), "(24)"))
    return body


def products(product: Any, a: Jet, b: Jet, k: int, first: int = 0, sign: int = 1) -> list[tuple[int, Any]]:
    """Terms ± C(k, m) and a⁽ᵐ⁾ b⁽ᵏ⁻ᵐ⁾ of the k-th derivative of a product, m = first ... k; None where one is 0."""
    pairs = [(sign * comb(k, m), a[m], b[k - m]) for m in range(first, k + 1)]
    return [(c, None if x is None or y is None else product(x, y)) for c, x, y in pairs]


# Parts ---------------------------------------------------------------------------------------------------------------


def block(i: int) -> slice:
    """Rows of body i in a stack."""
    return slice(6 * i, 6 * i + 6)


def transform(body: Body, q: Expression) -> Matrix:
    """φ, from spatial velocities in the parent's frame to those in the body's: (Rᵀω, Rᵀ(v − p × ω))."""
    R, p = joint_pose(body, q)
    return ca.vertcat(ca.horzcat(R.T, zeros(3, 3)), ca.horzcat(-R.T @ skew(p), R.T))


def spatial_inertia(inertia: Inertia) -> Matrix:
    """[[J, h̃], [−h̃, m 1]] about the frame of the body, with J = tr(Σ) 1 − Σ and h = m p_cm."""
    m, h, Sigma = inertia
    J = ca.trace(Sigma) * identity() - Sigma
    return ca.vertcat(ca.horzcat(J, skew(h)), ca.horzcat(-skew(h), m * identity()))


def spatial_cross(X: Expression | FloatArray) -> Expression | FloatArray:
    """X̃, the cross product operator of stacked spatial vectors, block-diagonal  [Hoepler sec. IV].

    Args:
        X: Stacked spatial vectors (a, b), rotation first: an array (..., 6N) or SX (6N, 1).

    Returns:
        Blocks [[ã, 0], [b̃, ã]], (..., 6N, 6N).

    Raises:
        InputError: The length is no multiple of 6, or a number is not finite.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.dynamics.spatial_cross(np.arange(12.0)).shape
        (12, 12)
    """
    if is_symbolic(X):
        check_stack(X.shape[0] if X.shape[1] == 1 else 0, X.shape)
        return ca.diagcat(*(cross_block(X[block(i)]) for i in range(X.shape[0] // 6)))
    array = finite("spatial_cross", "X", X)
    check_stack(array.shape[-1] if array.ndim else 0, array.shape)
    found = np.zeros((*array.shape, array.shape[-1]))
    for i in range(array.shape[-1] // 6):
        for first, rows, columns in ((0, 0, 0), (3, 3, 0), (0, 3, 3)):
            for k, (r, c) in enumerate(((2, 1), (0, 2), (1, 0))):
                x = array[..., 6 * i + first + k]
                found[..., 6 * i + rows + r, 6 * i + columns + c] = x
                found[..., 6 * i + rows + c, 6 * i + columns + r] = -x
    return found


def cross_block(X: Expression) -> Matrix:
    """[[ã, 0], [b̃, ã]] of one spatial vector (a, b)."""
    a, b = skew(X[:3]), skew(X[3:])
    return ca.vertcat(ca.horzcat(a, zeros(3, 3)), ca.horzcat(b, a))


def check_stack(length: int, shape: tuple[int, ...]) -> None:
    if length == 0 or length % 6:
        raise InputError(f"spatial_cross: X has shape {shape}; give stacked spatial vectors (..., 6N)")
