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
from typing import Any, NamedTuple

from ..api import algorithm
from ..compiler.scan import scan, unrolled
from ..errors import InputError
from ..robot import Robot
from ..spatial import (
    Jet,
    Matrix,
    Vector,
    about_z,
    ca,
    cross,
    identity,
    in_frame_about_z,
    in_turning_frame,
    leibniz,
    outer_square,
    sx,
    unit_z,
    zeros,
)
from .bodies import (
    Body,
    Frame,
    bodies,
    frames,
    moving_bodies,
    own_frame,
    rigid_motor_inertia,
)
from .friction import link_friction

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


class Load(NamedTuple):
    """Jets of a force and a moment, in a body's frame."""

    F: Jet
    N: Jet

    def __add__(self, other: Load) -> Load:  # type: ignore[override]
        return Load([x + y for x, y in zip(self.F, other.F)], [x + y for x, y in zip(self.N, other.N)])


class BaseMotion(NamedTuple):
    """Motion of the base: [ω₀, ω₀', ...] and [a₀, a₀', ...], components along the base axes of this instant,
    absolute time derivatives.  Gravity is the robot's, along the same axes."""

    angular_velocity: Sequence[Any]
    acceleration: Sequence[Any]


def newton_euler(
    tree: list[Body],
    q: Sequence[Any],
    gravity: Vector,
    order: int,
    base: Mapping[str, Sequence[Any]] | None = None,
    wrenches: Sequence[tuple[Frame, Sequence[Any]]] = (),
    known: Sequence[Any] = (),
) -> list[Load]:
    """What each joint passes to its body, with the first `order` derivatives, from the stack [q, q', ...]."""
    steps = [joint_step(body, q, order) for body in tree]
    motions, loads = forward(tree, steps, order, base_motion(gravity, order, base))
    for frame, wrench in wrenches:
        if frame.body >= 0:
            loads[frame.body] += external(motions[frame.body], frame, wrench, order)
    return backward(tree, steps, loads, order, known)


def forward(tree: list[Body], steps: list[Step], order: int, base: Motion) -> tuple[list[Motion], list[Load]]:
    """From the base outwards: how each body moves, and the load that takes."""
    motions: list[Motion] = []
    loads: list[Load] = []

    def outwards(up: Motion, x: tuple[Body, Step]) -> tuple[Motion, tuple[Motion, Load]]:
        motion = carried_on(up, *x, order)
        return motion, (motion, inertial_load(x[0], motion))

    for run in runs(tree):
        parent = tree[run[0]].parent
        up = motions[parent] if parent >= 0 else base
        _, found = repeated(run, order)(outwards, up, [(anywhere(tree[i]), steps[i]) for i in run])
        motions += [motion for motion, _ in found]
        loads += [load for _, load in found]
    return motions, loads


def carried_on(up: Motion, body: Body, step: Step, order: int) -> Motion:
    """The motion of a body from its parent's."""
    # ω = Rᵀω_parent + q' z and its derivatives  [EJNEA (17)-(20)]
    omega = turn(step, [body.R.T @ w for w in up.omega])
    omega = [w + rate * unit_z() for w, rate in zip(omega, step.rates)] or omega
    A, W = acceleration_matrix(omega, order)
    # a = Rᵀ(a_parent + A_parent p), sliding joints + A d + 2 ω × d' + d''  [EJNEA (21), (23), (25)]
    a = turn(step, [body.R.T @ (x + Ak @ body.p) for x, Ak in zip(up.a, up.A)])
    if body.kind == "prismatic":
        d = step.d
        carried = leibniz(lambda x, y: x @ y, A, d, order)
        coriolis = leibniz(cross, omega, d[1:], order)
        a = [x + y + 2 * z + s for x, y, z, s in zip(a, carried, coriolis, d[2:])]
    return Motion(up.R @ body.R @ step.R, omega, a, A, W)


def inertial_load(body: Body, motion: Motion) -> Load:
    """f = m a + A h  [EJNEA (22), (24), (26)-(29)];  n = vee(AΣ − ΣAᵀ) + h × a  [EJNEA (30)-(32)]"""
    return Load(
        [body.inertia.force(A, a) for A, a in zip(motion.A, motion.a)],
        [body.inertia.moment(A, W, a) for A, W, a in zip(motion.A, motion.W, motion.a)],
    )


def backward(
    tree: list[Body], steps: list[Step], loads: list[Load], order: int, known: Sequence[Any] = ()
) -> list[Load]:
    """From the tips inwards: the load of a body and all it carries; `known` joint torques need no computing."""
    loads = list(loads)
    none = Load([zeros(3)] * (order + 1), [zeros(3)] * (order + 1))

    def inwards(carried: Load, x: tuple[Body, Step, Load, Jet]) -> tuple[Load, Load]:
        body, step, own, torques = x
        load = own + carried
        along = load.N if body.kind == "revolute" else load.F
        along[: len(torques)] = [ca.vertcat(jet[:2], tau) for jet, tau in zip(along, torques)]
        return handed_on(body, step, load, order), load

    for run in reversed(runs(tree)):
        xs = [(anywhere(tree[i]), steps[i], loads[i], [tau[i] for tau in known]) for i in run]
        rest, loads[run[0] : run[-1] + 1] = repeated(run, order)(inwards, none, xs, reverse=True)
        parent = tree[run[0]].parent
        if parent >= 0:
            loads[parent] += rest
    return loads


def handed_on(body: Body, step: Step, load: Load, order: int) -> Load:
    """What a body's load is to its parent: R F and R (N + d × F) + p × R F, and their derivatives  [EJNEA (33)-(38)]"""
    F, N = load
    if body.kind == "prismatic":
        N = [n + x for n, x in zip(N, leibniz(cross, step.d, F, order))]
    force = [body.R @ f for f in turn_back(step, F)]
    moment = [body.R @ n for n in turn_back(step, N)]
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


def repeated(run: range, order: int) -> Callable[..., Any]:
    """Long runs become loops: their straight code leaves the instruction cache, and takes long to compile."""
    return scan if len(run) * (order + 1) ** 2 >= LOOP_FROM else unrolled


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
    A, W = acceleration_matrix(omega, order)
    return Motion(identity(), omega, a, A, W)


def joint_step(body: Body, q: Sequence[Any], order: int) -> Step:
    if body.coordinate is None:
        return Step(identity(), [], [])
    jet = [x[body.coordinate] for x in q[: order + 3]]
    if body.kind == "revolute":
        return Step(about_z(jet[0]), jet[1:], [])
    return Step(identity(), [], [x * unit_z() for x in jet])


def turn(step: Step, u: Sequence[Vector]) -> Jet:
    """Components of a vector in the frame behind the joint."""
    r = [step.R.T @ x for x in u]
    return in_frame_about_z(r, step.rates) if step.rates else r


def turn_back(step: Step, u: Sequence[Vector]) -> Jet:
    """... and in the frame before it."""
    r = [step.R @ x for x in u]
    return in_frame_about_z(r, [-rate for rate in step.rates]) if step.rates else r


def acceleration_matrix(omega: Jet, order: int) -> tuple[Jet, Jet]:
    """Jets of A = S(ω') + ωωᵀ − |ω|² 1 and of W = ωωᵀ."""
    W = outer_square(omega, order)
    return [assemble(omega[k + 1], W[k]) for k in range(order + 1)], W


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


# Public functions -------------------------------------------------------------------------------------------


@algorithm("tau", arrays=lambda robot, order=0: order + 3)
def torque_derivatives(robot: Robot, q, v, a, *higher, order=0, wrenches=None, base=None):
    """Joint torques on the link side and their time derivatives, [τ, τ', ... τ⁽ᵒʳᵈᵉʳ⁾].

    Needs [q, v, a, q''', ...] up to derivative order + 2.  The torque is what the transmission delivers to the
    links: the elastic torque of an elastic joint; with a rigid drive it carries the motor's inertia and friction too.
    `wrenches` maps link names to stacks [w, w', ...] of (f, n) acting on the robot at the origin of the link's
    frame, in base coordinates, with absolute derivatives; `base` is a BaseMotion.
    """
    if order < 0:
        raise InputError(f"torque_derivatives: order is {order}, it must be 0 or more")
    q = [q, v, a, *higher]
    if len(q) < order + 3:
        raise InputError(
            f"torque_derivatives of order {order} needs q and its first {order + 2} derivatives, "
            f"{len(q) - 1} derivatives were given"
        )
    B, friction = rigid_motor_inertia(robot), link_friction(robot, q[1:], order)
    tau = link_torques(robot, q, sx(robot.gravity), order, wrenches, base)
    return [tau[k] + friction[k] + B * q[k + 2] for k in range(order + 1)]


@algorithm("joint_wrenches")
def joint_wrenches(robot: Robot, q, v, a, *, wrenches=None, base=None):
    """Force and moment (f, n) that each link receives through its joint, at its frame and in its coordinates.

    One row a link, fixed ones included; the row of a link on the base is the base's reaction.
    """
    at = [(own_frame(link), stack) for link, stack in checked_wrenches(robot, wrenches, 0)]
    loads = newton_euler(bodies(robot), [q, v, a], sx(robot.gravity), 0, checked_base(base, 0), at)
    return ca.vertcat(*[ca.horzcat(F[0].T, N[0].T) for F, N in loads])


@algorithm("tau")
def bias_torque(robot: Robot, q, v, *, wrenches=None, base=None):
    """n(q, v) = c + g + friction − Jᵀw: the torque that leaves the joints unaccelerated  [EJNEA (1)]."""
    return torque_derivatives.function(robot, q, v, zeros(robot.n), wrenches=wrenches, base=base)[0]


@algorithm("tau")
def coriolis_torque(robot: Robot, q, v):
    """c(q, v), the centrifugal and Coriolis torque."""
    return link_torques(robot, [q, v, zeros(robot.n)], zeros(3), 0)[0]


@algorithm("tau")
def gravity_torque(robot: Robot, q):
    """g(q), the torque that holds the robot against gravity."""
    return link_torques(robot, [q, zeros(robot.n), zeros(robot.n)], sx(robot.gravity), 0)[0]


def link_torques(
    robot: Robot,
    q: Sequence[Any],
    gravity: Vector,
    order: int,
    wrenches: Mapping[str, Sequence[Any]] | None = None,
    base: Mapping[str, Sequence[Any]] | None = None,
    known: Sequence[Any] = (),
) -> Jet:
    """Jet of what the links alone ask of the joints: τ = N_z of a turning, F_z of a sliding one  [EJNEA (39)]."""
    tree = moving_bodies(robot)
    place = frames(robot)
    at = [(place[link], stack) for link, stack in checked_wrenches(robot, wrenches, order)]
    loads = newton_euler(tree, q, gravity, order, checked_base(base, order), at, known)
    along = [load.N if body.kind == "revolute" else load.F for body, load in zip(tree, loads)]
    return [ca.vertcat(*[jet[k][2] for jet in along]) for k in range(order + 1)]


def next_torque(robot: Robot, q: Sequence[Any], known: Sequence[Any], wrenches: Any = None, base: Any = None) -> Any:
    """τ⁽ᵏ⁾ of `torque_derivatives` where `known` = [τ, ... τ⁽ᵏ⁻¹⁾] belong to the motion [q, ... q⁽ᵏ⁺²⁾] already.

    Their components along the joints need no computing: 4 % of the feedback linearization of the 7R.
    """
    k = len(known)
    B, friction = rigid_motor_inertia(robot), link_friction(robot, q[1:], k)
    joints = [friction[l] + B * q[l + 2] for l in range(k + 1)]
    links = [tau - x for tau, x in zip(known, joints)]
    return link_torques(robot, q, sx(robot.gravity), k, wrenches, base, links)[k] + joints[k]


def checked_wrenches(robot: Robot, wrenches: Mapping | None, order: int) -> list[tuple[int, Sequence[Any]]]:
    """(link, stack) for each wrench, its stack long enough."""
    for name, stack in (wrenches or {}).items():
        if len(stack) < order + 1:
            raise InputError(
                f"the wrench on '{name}' needs its first {order} derivatives for torque derivatives of order {order}, "
                f"{len(stack) - 1} were given; they are zero only if it is constant in the base frame"
            )
    return [(robot.link_index(name), stack) for name, stack in (wrenches or {}).items()]


def checked_base(base: Any, order: int) -> Mapping[str, Sequence[Any]] | None:
    if base is None:
        return None
    stacks = base._asdict() if hasattr(base, "_asdict") else base
    if unknown := set(stacks) - set(BaseMotion._fields):
        raise InputError(f"base has no {', '.join(sorted(unknown))}; it knows {', '.join(BaseMotion._fields)}")
    for name, needed in (("angular_velocity", order + 2), ("acceleration", order + 1)):
        if len(stacks.get(name, ())) < needed:
            raise InputError(f"base.{name} needs {needed} entries for order {order}, {len(stacks.get(name, ()))} given")
    return stacks
