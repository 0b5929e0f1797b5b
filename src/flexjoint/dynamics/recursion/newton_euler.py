"""The Newton-Euler recursion over jets: one algorithm for every order.

Order 0 is the rigid inverse dynamics of Luh, Walker and Paul; order 2 is the link side of EJNEA
[EJNEA sec. III]; any order is what [Hoepler] needs.  It differs from the papers in two ways.  All derivatives
are taken component by component in the body frame, so a body's constants (p, m, h, Σ) commute with d/dt and a
derivative of the joint torque is one component of the derivative of the moment.  And the accelerations of all
points of a body are written with one matrix, a(r) = a + A r with A = S(ω') + ωωᵀ − |ω|² 1.

Forces and moments refer to the origin of the body's frame, which lies on the joint axis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

from ...compiler.ir import packing
from ...compiler.ir.scan import scan, unrolled
from ...spatial import (
    about_z,
    ca,
    cross,
    identity,
    in_frame_about_z,
    in_turning_frame,
    leibniz,
    outer_square,
    unit_z,
    zeros,
)
from ...types import Jet, Matrix, Vector
from . import packed_jets
from .bodies import Body, Frame, Rotor

PACKED_JOINTS = 100  # beyond, a loop: at N = 100 packed code takes 7.4 µs, a loop 10.4, but half as long to compile
LOOP_FROM = 180  # joints times (order + 1)²: straight code of order 2 is as fast up to 20 joints, of order 0 beyond 100


class Motion(NamedTuple):
    """Jets of a body's motion, in its own frame; R turns them into base coordinates."""

    R: Matrix
    omega: Jet
    a: Jet  # acceleration of the origin, less gravity
    A: Jet  # acceleration matrix: a point r of the body accelerates with a + A r
    W: Jet  # ωωᵀ


class Step(NamedTuple):
    """A joint's motion: the rotation about z with its rates [q', q'', ...], and the jet of a displacement along z."""

    R: Matrix
    rates: Jet  # empty if the joint does not turn
    d: Jet  # empty if it does not slide

    def turn(self, u: Jet) -> Jet:
        """Components of a vector in the frame behind the joint."""
        r = [self.R.T @ x for x in u]
        return in_frame_about_z(r, self.rates) if self.rates else r

    def turn_back(self, u: Jet) -> Jet:
        """... and in the frame before it."""
        r = [self.R @ x for x in u]
        return in_frame_about_z(r, [-rate for rate in self.rates]) if self.rates else r

    def carried(self, A: Jet, omega: Jet) -> Jet:
        """A d + 2 ω × d' + d''."""
        order = len(A) - 1
        turning, coriolis = leibniz(lambda x, y: x @ y, A, self.d, order), leibniz(cross, omega, self.d[1:], order)
        return [x + 2 * y + z for x, y, z in zip(turning, coriolis, self.d[2:])]

    def lever(self, F: Jet) -> Jet:
        """d × F."""
        return leibniz(cross, self.d, F, len(F) - 1)


class JointStep(Protocol):
    """What the recursion asks of a joint, however its jets are kept."""

    @property
    def R(self) -> Matrix: ...

    @property
    def rates(self) -> Jet: ...

    def turn(self, u: Jet) -> Jet: ...

    def turn_back(self, u: Jet) -> Jet: ...

    def carried(self, A: Jet, omega: Jet) -> Jet: ...

    def lever(self, F: Jet) -> Jet: ...


class Load(NamedTuple):
    """Jets of a force and a moment, in a body's frame."""

    F: Jet
    N: Jet

    def __add__(self, other: Load) -> Load:  # type: ignore[override]
        return Load([x + y for x, y in zip(self.F, other.F)], [x + y for x, y in zip(self.N, other.N)])


def newton_euler(
    tree: list[Body],
    q: Sequence[Any],
    gravity: Vector,
    order: int,
    base: Mapping[str, Sequence[Any]] | None = None,
    wrenches: Sequence[tuple[Frame, Sequence[Any]]] = (),
    spins: Sequence[tuple[Rotor, Jet]] = (),
    known: Sequence[Any] = (),
    loop_from: int | None = None,
) -> tuple[list[Motion], list[Load]]:
    """Every body's motion, the base's last, and what each joint passes to its body, with the first `order` derivatives.

    From the stack [q, q', ...]; `spins` are rotors with the jets of their momenta, `known` joint torques and first
    derivatives of them that need no computing.
    """
    steps = [joint_step(body, q, order) for body in tree]
    base_now = base_motion(gravity, order, base)
    motions, loads = forward(tree, steps, base_now, loop_from=loop_from)
    for frame, wrench in wrenches:
        if frame.body >= 0:
            loads[frame.body] += external(motions[frame.body], frame, wrench, order)
    for rotor, momentum in spins:
        if rotor.body >= 0:
            loads[rotor.body] += gyroscopic(motions[rotor.body], rotor, momentum, order)
    return [*motions, base_now], backward(tree, steps, loads, known, loop_from)


def may_be_packed(joints: int, order: int) -> bool:
    """Whether packed jets take the recursion, if nothing acts on the robot and its base rests."""
    return packing.allowed() and order == packed_jets.ORDER and 1 < joints <= PACKED_JOINTS


def packed_newton_euler(tree: list[Body], q: Sequence[Any], gravity: Vector) -> list[Load]:
    """The same of order 2, without wrenches and on a resting base, in packed jets."""
    steps = [packed_jets.joint_step(body, q) for body in tree]
    rest = Motion(identity(), [zeros(3)] * 2, [packed_jets.constant(-gravity)], [zeros(3, 3)], [zeros(3, 3)])
    _, loads = forward(tree, steps, rest, packed_jets.outer_square)
    return backward(tree, steps, loads)


def forward(
    tree: list[Body],
    steps: Sequence[JointStep],
    base: Motion,
    square: Callable[[Jet], Jet] = outer_square,
    loop_from: int | None = None,
) -> tuple[list[Motion], list[Load]]:
    """From the base outwards: how each body moves, and the load that takes."""
    motions: list[Motion] = []
    loads: list[Load] = []

    def outwards(up: Motion, x: tuple[Body, JointStep]) -> tuple[Motion, tuple[Motion, Load]]:
        motion = carried_on(up, *x, square)
        return motion, (motion, inertial_load(x[0], motion))

    for run in runs(tree):
        parent = tree[run[0]].parent
        up = motions[parent] if parent >= 0 else base
        _, found = repeated(run, base.a, loop_from)(outwards, up, [(anywhere(tree[i]), steps[i]) for i in run])
        motions += [motion for motion, _ in found]
        loads += [load for _, load in found]
    return motions, loads


def carried_on(up: Motion, body: Body, step: JointStep, square: Callable[[Jet], Jet]) -> Motion:
    """The motion of a body from its parent's."""
    # ω = Rᵀω_parent + q' z and its derivatives  [EJNEA (17)-(20)]
    omega = step.turn([body.R.T @ w for w in up.omega])
    omega = [w + rate * unit_z() for w, rate in zip(omega, step.rates)] or omega
    A, W = acceleration_matrix(omega, square)
    # a = Rᵀ(a_parent + A_parent p), sliding joints + A d + 2 ω × d' + d''  [EJNEA (21), (23), (25)]
    a = step.turn([body.R.T @ (x + Ak @ body.p) for x, Ak in zip(up.a, up.A)])
    if body.kind == "prismatic":
        a = [x + y for x, y in zip(a, step.carried(A, omega))]
    return Motion(up.R @ body.R @ step.R, omega, a, A, W)


def inertial_load(body: Body, motion: Motion) -> Load:
    """f = m a + A h  [EJNEA (22), (24), (26)-(29)];  n = vee(AΣ − ΣAᵀ) + h × a  [EJNEA (30)-(32)]"""
    return Load(
        [body.inertia.force(A, a) for A, a in zip(motion.A, motion.a)],
        [body.inertia.moment(A, W, a) for A, W, a in zip(motion.A, motion.W, motion.a)],
    )


def backward(
    tree: list[Body],
    steps: Sequence[JointStep],
    loads: list[Load],
    known: Sequence[Any] = (),
    loop_from: int | None = None,
) -> list[Load]:
    """From the tips inwards: the load of a body and all that it carries."""
    loads = list(loads)
    none = [zeros(3) for _ in loads[0].F] if loads else []

    def inwards(carried: Load, x: tuple[Body, JointStep, Load, Jet]) -> tuple[Load, Load]:
        body, step, own, tau = x
        load = with_torque(body, own + carried, tau)
        return handed_on(body, step, load), load

    for run in reversed(runs(tree)):
        xs = [(anywhere(tree[i]), steps[i], loads[i], [tau[i] for tau in known]) for i in run]
        again = repeated(run, none, loop_from)
        rest, loads[run[0] : run[-1] + 1] = again(inwards, Load(none, none), xs, reverse=True)
        parent = tree[run[0]].parent
        if parent >= 0:
            loads[parent] += rest
    return loads


def with_torque(body: Body, load: Load, tau: Jet) -> Load:
    """The load with the joint torque, and as many of its derivatives as are given, in place of what was computed."""
    along = load.N if body.kind == "revolute" else load.F
    along = [*(ca.vertcat(x[:2], t) for x, t in zip(along, tau)), *along[len(tau) :]]
    return load._replace(N=along) if body.kind == "revolute" else load._replace(F=along)


def handed_on(body: Body, step: JointStep, load: Load) -> Load:
    """What a body's load is to its parent: R F and R (N + d × F) + p × R F, and their derivatives  [EJNEA (33)-(38)]"""
    F, N = load
    if body.kind == "prismatic":
        N = [n + x for n, x in zip(N, step.lever(F))]
    force = [body.R @ f for f in step.turn_back(F)]
    moment = [body.R @ n for n in step.turn_back(N)]
    return Load(force, [n + cross(body.p, f) for n, f in zip(moment, force)])


def runs(tree: list[Body]) -> list[range]:
    """The tree cut into chains of like joints: each body but the last of a run has one child, the next in the run."""
    children = Counter(body.parent for body in tree)
    starts = [
        i
        for i, body in enumerate(tree)
        if i == 0 or body.parent != i - 1 or children[i - 1] > 1 or body.kind != tree[i - 1].kind
    ]
    return [range(a, b) for a, b in pairwise([*starts, len(tree)])]


def repeated(run: range, jet: Jet, loop_from: int | None) -> Callable[..., Any]:
    """Long runs become loops: their straight code leaves the instruction cache, and takes long to compile."""
    return scan if len(run) * len(jet) ** 2 >= (LOOP_FROM if loop_from is None else loop_from) else unrolled


def anywhere(body: Body) -> Body:
    """The body without its place in the tree, in which all bodies of a run differ."""
    return body._replace(parent=-1, coordinate=None)


def base_motion(gravity: Vector, order: int, base: Mapping[str, Sequence[Any]] | None) -> Motion:
    """The base as the parent of the first bodies; gravity acts as an acceleration upwards."""
    fall = [-gravity] + [zeros(3)] * order
    if base is None:
        omega, a = [zeros(3)] * (order + 2), fall
    else:
        omega = []
        for k in range(order + 2):
            omega.append(in_turning_frame(base["angular_velocity"][: k + 1], omega)[k])
        a = in_turning_frame([x + y for x, y in zip(base["acceleration"], fall)], omega)
    A, W = acceleration_matrix(omega)
    return Motion(identity(), omega, a, A, W)


def joint_step(body: Body, q: Sequence[Any], order: int) -> Step:
    if body.coordinate is None:
        return Step(identity(), [], [])
    jet = [x[body.coordinate] for x in q[: order + 3]]
    if body.kind == "revolute":
        return Step(about_z(jet[0]), jet[1:], [])
    return Step(identity(), [], [x * unit_z() for x in jet])


def acceleration_matrix(omega: Jet, square: Callable[[Jet], Jet] = outer_square) -> tuple[Jet, Jet]:
    """Jets of A = S(ω') + ωωᵀ − |ω|² 1 and of W = ωωᵀ."""
    W = square(omega)
    return [assemble(alpha, Wk) for alpha, Wk in zip(omega[1:], W)], W


def assemble(alpha: Vector, W: Matrix) -> Matrix:
    x, y, z = alpha[0], alpha[1], alpha[2]
    xx, xy, xz, yy, yz, zz = W[0, 0], W[0, 1], W[0, 2], W[1, 1], W[1, 2], W[2, 2]
    return ca.vertcat(
        ca.horzcat(-(yy + zz), xy - z, xz + y),
        ca.horzcat(xy + z, -(zz + xx), yz - x),
        ca.horzcat(xz - y, yz + x, -(xx + yy)),
    )


def external(motion: Motion, frame: Frame, wrench: Sequence[Any], order: int) -> Load:
    """What a wrench, given at `frame` by its absolute derivatives in base coordinates, takes off the body's load."""
    force = in_turning_frame([motion.R.T @ w[:3] for w in wrench[: order + 1]], motion.omega)
    moment = in_turning_frame([motion.R.T @ w[3:] for w in wrench[: order + 1]], motion.omega)
    return Load([-f for f in force], [-(n + cross(frame.p, f)) for n, f in zip(moment, force)])


def gyroscopic(motion: Motion, rotor: Rotor, momentum: Sequence[Any], order: int) -> Load:
    """The moment that a spin of momentum L = momentum · axis asks of its carrier: L' + ω × L  [Hoepler (23), (28)]."""
    across = [cross(w, rotor.axis) for w in motion.omega[: order + 1]]
    turned = leibniz(lambda x, y: x * y, across, momentum, order)
    return Load([zeros(3)] * (order + 1), [x * rotor.axis + y for x, y in zip(momentum[1:], turned)])


def carrier_torque_jet(rotor: Rotor, motions: Sequence[Motion], order: int) -> Jet:
    """Jet of η I_axial aᵀω': what it takes at θ to turn the rotor along with its carrier  [Hoepler (32)]."""
    return [rotor.momentum * ca.dot(rotor.axis, x) for x in motions[rotor.body].omega[1 : order + 2]]


def spins_of(turning: Sequence[Rotor], theta: Sequence[Any]) -> list[tuple[Rotor, Jet]]:
    """Rotors with the jets of their momenta η I_axial θ', from the stack [θ, θ', ...]."""
    return [(rotor, [rotor.momentum * x[rotor.coordinate] for x in theta[1:]]) for rotor in turning]


def joint_torques(tree: list[Body], loads: list[Load], order: int, orders: Callable[[Jet], Jet] = list) -> Jet:
    """τ = N_z of a turning, F_z of a sliding joint  [EJNEA (39)]."""
    along = [load.N if body.kind == "revolute" else load.F for body, load in zip(tree, loads)]
    tau = [orders([x[2] for x in jet]) for jet in along]
    return [ca.vertcat(*[jet[k] for jet in tau]) for k in range(order + 1)]
