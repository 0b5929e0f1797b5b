"""The Newton-Euler recursion over jets: one algorithm for every order.

Order 0 is the rigid inverse dynamics of Luh, Walker and Paul; order 2 is the link side of EJNEA [EJNEA sec. III]; any
order is what [Hoepler] needs.  The recursion differs from the papers in two ways.  All derivatives are taken component
by component in the body frame, so a body's constants (p, m, h, Σ) commute with d/dt, and a derivative of the joint
torque is one component of the derivative of the moment.  And the accelerations of all points of a body are written with
one matrix, a(r) = a + A r with A = S(ω') + ωωᵀ − |ω|² 1.

Forces and moments refer to the origin of the body's frame, which lies on the joint axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...spatial import ca, cross, identity, in_rotating_frame, leibniz, outer_square, unit_z, zeros
from ...types import Jet, Matrix, Stack, Vector
from .bodies import Body, Frame, Rotor, per_coordinate
from .joint_jets import JointJets, joint_motion
from .sweeps import inward, outward


class Motion(NamedTuple):
    """Jets of a body's motion in its own frame; R turns them into base coordinates."""

    R: Matrix
    omega: Jet
    a: Jet  # acceleration of the origin minus gravity
    A: Jet  # acceleration matrix: a point r of the body accelerates with a + A r
    W: Jet  # ωωᵀ


class Load(NamedTuple):
    """Jets of a force and a moment, in a body's frame."""

    F: Jet
    N: Jet

    def __add__(self, other: Load) -> Load:  # type: ignore[override]
        return Load([x + y for x, y in zip(self.F, other.F)], [x + y for x, y in zip(self.N, other.N)])


def newton_euler(
    tree: list[Body],
    q: Stack,
    gravity: Vector,
    order: int,
    base: Mapping[str, Stack] | None = None,
    wrenches: Sequence[tuple[Frame, Stack]] = (),
    spins: Sequence[tuple[Rotor, Jet]] = (),
    known: Stack = (),
    loop_from: int | None = None,
) -> tuple[list[Motion], list[Load]]:
    """Motion per body with that of the base last, and the load each joint passes to its body, up to derivative `order`.

    q: stack [q, q', ... q⁽ᵒʳᵈᵉʳ⁺²⁾], each (n,).
    base: stacks "angular_velocity" and "acceleration" of a moving base.
    wrenches: frames with the stacks [w, w', ...] of the wrenches (f, n) acting there, in base coordinates.
    spins: rotors with the jets of their angular momenta relative to their carriers.
    known: joint torques and their first derivatives, where they need no computing; only where no joint follows another.
    loop_from: as in `sweeps.outward`.
    """
    joints = [joint_motion(body, q, order) for body in tree]
    base_now = base_motion(gravity, order, base)
    motions, loads = forward_recursion(tree, joints, base_now, loop_from)
    for frame, wrench in wrenches:
        if frame.body >= 0:
            loads[frame.body] += external(motions[frame.body], frame, wrench, order)
    for rotor, momentum in spins:
        if rotor.body >= 0:
            loads[rotor.body] += gyroscopic(motions[rotor.body], rotor, momentum, order)
    return [*motions, base_now], backward_recursion(tree, joints, loads, known, loop_from)


# The recursion ------------------------------------------------------------------------------------------------------


def forward_recursion(
    tree: list[Body], joints: Sequence[JointJets], base: Motion, loop_from: int | None = None
) -> tuple[list[Motion], list[Load]]:
    """From the base outwards: motion per body, and the load that accelerates the body alone."""

    def step(up: Motion, body: Body, joint: JointJets) -> tuple[Motion, Load]:
        motion = body_motion(up, body, joint)
        return motion, inertial_load(body, motion)

    return outward(tree, step, base, joints, len(base.a), loop_from)


def body_motion(up: Motion, body: Body, joint: JointJets) -> Motion:
    """The motion of a body from that of its parent."""
    # ω = Rᵀω_parent + q' z and its derivatives  [EJNEA (17)-(20)]
    omega = joint.into([body.R.T @ w for w in up.omega])
    omega = [w + rate * unit_z() for w, rate in zip(omega, joint.rates)] or omega
    A, W = acceleration_matrix(omega, joint.outer_square)
    # a = Rᵀ(a_parent + A_parent p) + A d + 2 ω × d' + d''  [EJNEA (21), (23), (25)]
    a = joint.into([body.R.T @ (x + Ak @ body.p) for x, Ak in zip(up.a, up.A)])
    if body.screw.slides:
        a = [x + y for x, y in zip(a, joint.acceleration(A, omega))]
    return Motion(up.R @ body.R @ joint.R, omega, a, A, W)


def inertial_load(body: Body, motion: Motion) -> Load:
    """f = m a + A h  [EJNEA (22), (24), (26)-(29)];  n = vee(AΣ − ΣAᵀ) + h × a  [EJNEA (30)-(32)]"""
    return Load(
        [body.inertia.force(A, a) for A, a in zip(motion.A, motion.a)],
        [body.inertia.moment(A, W, a) for A, W, a in zip(motion.A, motion.W, motion.a)],
    )


def backward_recursion(
    tree: list[Body],
    joints: Sequence[JointJets],
    loads: list[Load],
    known: Stack = (),
    loop_from: int | None = None,
) -> list[Load]:
    """From the tips inwards: the load of a body and of all that it carries."""
    none = [zeros(3) for _ in loads[0].F] if loads else []

    def step(load: Load, body: Body, given: tuple[JointJets, Jet]) -> tuple[Load, Load]:
        joint, tau = given
        load = Load(*body.screw.with_effort(*load, tau)) if tau else load
        return load_on_parent(body, joint, load), load

    inputs = [(joint, [tau[i] for tau in known]) for i, joint in enumerate(joints)]
    return inward(tree, step, Load(none, none), loads, inputs, len(none), loop_from)


def load_on_parent(body: Body, joint: JointJets, load: Load) -> Load:
    """The load of a body as its parent feels it: R F and R (N + d × F) + p × R F  [EJNEA (33)-(38)]"""
    F, N = load
    if body.screw.slides:
        N = [n + x for n, x in zip(N, joint.lever(F))]
    force = [body.R @ f for f in joint.out_of(F)]
    moment = [body.R @ n for n in joint.out_of(N)]
    return Load(force, [n + cross(body.p, f) for n, f in zip(moment, force)])


def joint_torques(tree: list[Body], loads: list[Load], order: int, orders: Callable[[Jet], Jet] = list) -> Jet:
    """τ = N_z of a turning, F_z of a sliding joint, with derivatives  [EJNEA (39)].  `orders` unpacks a jet.

    What followers feel is added to their leaders, Gᵀτ.
    """
    along = [[body.screw.effort(f, n) for f, n in zip(*load)] for body, load in zip(tree, loads)]
    tau = [orders(jet) for jet in along]
    return [ca.vertcat(*per_coordinate(tree, [jet[k] for jet in tau])) for k in range(order + 1)]


def acceleration_matrix(omega: Jet, square: Callable[[Jet], Jet] = outer_square) -> tuple[Jet, Jet]:
    """Jets of A = S(ω') + ωωᵀ − |ω|² 1 and of W = ωωᵀ."""
    W = square(omega)
    return [assemble(alpha, Wk) for alpha, Wk in zip(omega[1:], W)], W


def assemble(alpha: Vector, W: Matrix) -> Matrix:
    """S(α) + W − tr(W) 1 for a symmetric W."""
    x, y, z = alpha[0], alpha[1], alpha[2]
    xx, xy, xz, yy, yz, zz = W[0, 0], W[0, 1], W[0, 2], W[1, 1], W[1, 2], W[2, 2]
    return ca.vertcat(
        ca.horzcat(-(yy + zz), xy - z, xz + y),
        ca.horzcat(xy + z, -(zz + xx), yz - x),
        ca.horzcat(xz - y, yz + x, -(xx + yy)),
    )


# What acts on the tree ----------------------------------------------------------------------------------------------


def base_motion(gravity: Vector, order: int, base: Mapping[str, Stack] | None) -> Motion:
    """The base as the parent of the first bodies; gravity acts as an upward acceleration."""
    fall = [-gravity] + [zeros(3)] * order
    if base is None:
        omega, a = [zeros(3)] * (order + 2), fall
    else:
        omega = []
        for k in range(order + 2):
            omega.append(in_rotating_frame(base["angular_velocity"][: k + 1], omega)[k])
        a = in_rotating_frame([x + y for x, y in zip(base["acceleration"], fall)], omega)
    A, W = acceleration_matrix(omega)
    return Motion(identity(), omega, a, A, W)


def external(motion: Motion, frame: Frame, wrench: Stack, order: int) -> Load:
    """The load that an external wrench takes off a body.

    The wrench acts at `frame`; its absolute derivatives are given in base coordinates.
    """
    force = in_rotating_frame([motion.R.T @ w[:3] for w in wrench[: order + 1]], motion.omega)
    moment = in_rotating_frame([motion.R.T @ w[3:] for w in wrench[: order + 1]], motion.omega)
    return Load([-f for f in force], [-(n + cross(frame.p, f)) for n, f in zip(moment, force)])


def gyroscopic(motion: Motion, rotor: Rotor, momentum: Jet, order: int) -> Load:
    """Moment L' + ω × L that a rotor needs from its carrier, with L = momentum · axis  [Hoepler (23), (28)].

    `momentum` is the jet of the angular momentum along the rotor's axis, relative to the carrier.
    """
    across = [cross(w, rotor.axis) for w in motion.omega[: order + 1]]
    turned = leibniz(lambda x, y: x * y, across, momentum, order)
    return Load([zeros(3)] * (order + 1), [x * rotor.axis + y for x, y in zip(momentum[1:], turned)])


def carrier_torque_jet(rotor: Rotor, motions: Sequence[Motion], order: int) -> Jet:
    """Jet of η I_axial aᵀω': the torque at θ that turns the rotor along with its carrier  [Hoepler (32)]."""
    return [rotor.momentum * ca.dot(rotor.axis, x) for x in motions[rotor.body].omega[1 : order + 2]]


def spins_of(turning: Sequence[Rotor], theta: Stack) -> list[tuple[Rotor, Jet]]:
    """Rotors with the jets of their angular momenta η I_axial θ', from the stack [θ, θ', ...]."""
    return [(rotor, [rotor.momentum * x[rotor.coordinate] for x in theta[1:]]) for rotor in turning]
