"""The Newton-Euler recursion over jets: one algorithm for every order.

Order 0 is the rigid inverse dynamics of Luh, Walker and Paul; order 2 is the link side of EJNEA
[EJNEA sec. III]; any order is what [Hoepler] needs.  It differs from the papers in two ways.  All derivatives
are taken component by component in the body frame, so a body's constants (p, m, h, Σ) commute with d/dt and a
derivative of the joint torque is one component of the derivative of the moment.  And the accelerations of all
points of a body are written with one matrix, a(r) = a + A r with A = S(ω') + ωωᵀ − |ω|² 1.

Forces and moments refer to the origin of the body's frame, which lies on the joint axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..api import algorithm
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


class JointForces(NamedTuple):
    """For each body, jets of the force and moment its joint passes to it, in its own frame."""

    F: list[Jet]
    N: list[Jet]


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
) -> JointForces:
    """Joint forces and moments with their first `order` derivatives, from the stack [q, q', ...]."""
    motions, steps = forward(tree, q, order, base_motion(gravity, order, base))
    at = [(frame, external(motions, frame, w, order)) for frame, w in wrenches]
    return backward(tree, motions, steps, order, at, known)


def forward(tree: list[Body], q: Sequence[Any], order: int, base: Motion) -> tuple[list[Motion], list[Step]]:
    """From the base outwards: velocities and accelerations."""
    motions: list[Motion] = []
    steps: list[Step] = []
    for body in tree:
        up = motions[body.parent] if body.parent >= 0 else base
        step = joint_step(body, q, order)
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
        motions.append(Motion(up.R @ body.R @ step.R, omega, a, A, W))
        steps.append(step)
    return motions, steps


def backward(
    tree: list[Body],
    motions: list[Motion],
    steps: list[Step],
    order: int,
    external_forces: Sequence[tuple[Frame, tuple[Jet, Jet]]] = (),
    known: Sequence[Any] = (),
) -> JointForces:
    """From the tips inwards: forces and moments; `known` are joint torques and derivatives that need no computing."""
    F: list[Jet] = []
    N: list[Jet] = []
    for body, motion in zip(tree, motions):
        # f = m a + A h  [EJNEA (22), (24), (26)-(29)];  n = vee(AΣ − ΣAᵀ) + h × a  [EJNEA (30)-(32)]
        F.append([body.inertia.force(A, a) for A, a in zip(motion.A, motion.a)])
        N.append([body.inertia.moment(A, W, a) for A, W, a in zip(motion.A, motion.W, motion.a)])
    for frame, (force, moment) in external_forces:
        if frame.body >= 0:
            F[frame.body] = [x - y for x, y in zip(F[frame.body], force)]
            N[frame.body] = [x - y for x, y in zip(N[frame.body], moment)]
    for i in range(len(tree) - 1, -1, -1):
        body, step = tree[i], steps[i]
        along = (N if body.kind == "revolute" else F)[i]
        along[: len(known)] = [ca.vertcat(x[:2], tau[i]) for x, tau in zip(along, known)]
        if body.parent < 0:
            continue
        # F_parent += R F,  N_parent += R (N + d × F) + p × R F, and their derivatives  [EJNEA (33)-(38)]
        lever = leibniz(cross, step.d, F[i], order) if body.kind == "prismatic" else []
        moment = [n + x for n, x in zip(N[i], lever)] or N[i]
        force_up = [body.R @ f for f in turn_back(step, F[i])]
        moment_up = [body.R @ n for n in turn_back(step, moment)]
        F[body.parent] = [x + f for x, f in zip(F[body.parent], force_up)]
        N[body.parent] = [x + n + cross(body.p, f) for x, n, f in zip(N[body.parent], moment_up, force_up)]
    return JointForces(F, N)


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


def external(motions: list[Motion], frame: Frame, wrench: Sequence[Any], order: int) -> tuple[Jet, Jet]:
    """Jets, in the body's frame, of a wrench given at `frame` by its absolute derivatives in base coordinates."""
    if frame.body < 0:
        return [], []
    motion = motions[frame.body]
    force = in_turning_frame([motion.R.T @ w[:3] for w in wrench[: order + 1]], motion.omega)
    moment = in_turning_frame([motion.R.T @ w[3:] for w in wrench[: order + 1]], motion.omega)
    return force, [n + cross(frame.p, f) for n, f in zip(moment, force)]


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
    F, N = newton_euler(bodies(robot), [q, v, a], sx(robot.gravity), 0, checked_base(base, 0), at)
    return ca.vertcat(*[ca.horzcat(f[0].T, n[0].T) for f, n in zip(F, N)])


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
    F, N = newton_euler(tree, q, gravity, order, checked_base(base, order), at, known)
    along = [(N if body.kind == "revolute" else F)[i] for i, body in enumerate(tree)]
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
