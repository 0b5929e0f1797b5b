"""The Newton-Euler recursion over jets: one algorithm for every order.

Order 0 is the rigid inverse dynamics of Luh, Walker and Paul; order 2 is the link side of EJNEA
[EJNEA sec. III]; any order is what [Hoepler] needs.  It differs from the papers in two ways.  All derivatives
are taken component by component in the body frame, so a body's constants (p, m, h, Σ) commute with d/dt and a
derivative of the joint torque is one component of the derivative of the moment.  And the accelerations of all
points of a body are written with one matrix, a(r) = a + A r with A = S(ω') + ωωᵀ − |ω|² 1.

Forces and moments refer to the origin of the body's frame, which lies on the joint axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..api import algorithm
from ..compiler import packing
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
from . import packed_jets
from .bodies import (
    Body,
    Frame,
    bodies,
    frames,
    moving_bodies,
    own_frame,
    rigid_motor_inertia,
    viscous_friction,
)


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
) -> JointForces:
    """Joint forces and moments with their first `order` derivatives, from the stack [q, q', ...]."""
    steps = [joint_step(body, q, order) for body in tree]
    motions = forward(tree, steps, base_motion(gravity, order, base))
    return backward(tree, motions, steps, [(frame, external(motions, frame, w, order)) for frame, w in wrenches])


def packed_newton_euler(tree: list[Body], q: Sequence[Any], gravity: Vector) -> JointForces:
    """The same of order 2, without wrenches and on a resting base, in packed jets."""
    steps = [packed_jets.joint_step(body, q) for body in tree]
    rest = Motion(identity(), [zeros(3)] * 2, [packed_jets.constant(-gravity)], [zeros(3, 3)], [zeros(3, 3)])
    return backward(tree, forward(tree, steps, rest, packed_jets.outer_square), steps)


def forward(
    tree: list[Body], steps: Sequence[JointStep], base: Motion, square: Callable[[Jet], Jet] = outer_square
) -> list[Motion]:
    """From the base outwards: velocities and accelerations."""
    motions: list[Motion] = []
    for body, step in zip(tree, steps):
        up = motions[body.parent] if body.parent >= 0 else base
        # ω = Rᵀω_parent + q' z and its derivatives  [EJNEA (17)-(20)]
        omega = step.turn([body.R.T @ w for w in up.omega])
        omega = [w + rate * unit_z() for w, rate in zip(omega, step.rates)] or omega
        A, W = acceleration_matrix(omega, square)
        # a = Rᵀ(a_parent + A_parent p), sliding joints + A d + 2 ω × d' + d''  [EJNEA (21), (23), (25)]
        a = step.turn([body.R.T @ (x + Ak @ body.p) for x, Ak in zip(up.a, up.A)])
        if body.kind == "prismatic":
            a = [x + y for x, y in zip(a, step.carried(A, omega))]
        motions.append(Motion(up.R @ body.R @ step.R, omega, a, A, W))
    return motions


def backward(
    tree: list[Body],
    motions: list[Motion],
    steps: Sequence[JointStep],
    external_forces: Sequence[tuple[Frame, tuple[Jet, Jet]]] = (),
) -> JointForces:
    """From the tips inwards: forces and moments."""
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
        if body.parent < 0:
            continue
        # F_parent += R F,  N_parent += R (N + d × F) + p × R F, and their derivatives  [EJNEA (33)-(38)]
        moment = [n + x for n, x in zip(N[i], step.lever(F[i]))] if body.kind == "prismatic" else N[i]
        force_up = [body.R @ f for f in step.turn_back(F[i])]
        moment_up = [body.R @ n for n in step.turn_back(moment)]
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


def external(motions: list[Motion], frame: Frame, wrench: Sequence[Any], order: int) -> tuple[Jet, Jet]:
    """Jets, in the body's frame, of a wrench given at `frame` by its absolute derivatives in base coordinates."""
    if frame.body < 0:
        return [], []
    motion = motions[frame.body]
    force = in_turning_frame([motion.R.T @ w[:3] for w in wrench[: order + 1]], motion.omega)
    moment = in_turning_frame([motion.R.T @ w[3:] for w in wrench[: order + 1]], motion.omega)
    return force, [n + cross(frame.p, f) for n, f in zip(moment, force)]


# Public functions -------------------------------------------------------------------------------------------


@algorithm("tau", arrays=lambda robot, order=0: order + 3, packs=True)
def torque_derivatives(robot: Robot, q, v, a, *higher, order=0, wrenches=None, base=None):
    """Joint torques on the link side and their time derivatives, [τ, τ', ... τ⁽ᵒʳᵈᵉʳ⁾].

    Needs [q, v, a, q''', ...] up to derivative order + 2.  The torque is what the transmission delivers to the
    links: the elastic torque of an elastic joint; with a rigid drive it carries the motor's inertia as well.
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
    D, B = viscous_friction(robot), rigid_motor_inertia(robot)
    tau = link_torques(robot, q, sx(robot.gravity), order, wrenches, base)
    return [tau[k] + D * q[k + 1] + B * q[k + 2] for k in range(order + 1)]


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
    """n(q, v) = c + g + D v − Jᵀw: the torque that leaves the joints unaccelerated  [EJNEA (1)]."""
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
) -> Jet:
    """Jet of what the links alone ask of the joints: τ = N_z of a turning, F_z of a sliding one  [EJNEA (39)]."""
    tree = moving_bodies(robot)
    place = frames(robot)
    at = [(place[link], stack) for link, stack in checked_wrenches(robot, wrenches, order)]
    orders: Callable[[Jet], Jet] = list
    if packing.allowed() and order == packed_jets.ORDER and len(tree) > 1 and not at and base is None:
        forces, orders = packed_newton_euler(tree, q, gravity), packed_jets.orders
    else:
        forces = newton_euler(tree, q, gravity, order, checked_base(base, order), at)
    along = [(forces.N if body.kind == "revolute" else forces.F)[i] for i, body in enumerate(tree)]
    tau = [orders([x[2] for x in jet]) for jet in along]
    return [ca.vertcat(*[jet[k] for jet in tau]) for k in range(order + 1)]


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
