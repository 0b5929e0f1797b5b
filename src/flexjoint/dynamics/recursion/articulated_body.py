"""Forward dynamics: by articulated bodies in O(N), or by factorization of M, whichever is cheaper.

The articulated-body algorithm follows [Featherstone ch. 7], in 3×3 blocks about the joint frames:

    n = I α + H a,   f = Hᵀα + M a   (moment, force; angular, linear acceleration)

with gravity as an acceleration of the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...robot import Robot
from ...spatial import Inertia, Screw, ca, cross, identity, is_zero, skew, sx, zeros
from ...types import Expression, Jet, Matrix, Scalar, Vector
from ..drivetrain.passive import passive_torque
from ..loads import Base, Wrenches, checked_base, checked_wrenches
from .bodies import Body, Rotor, frames, has_tree_structure, moving_bodies, rigid_motor_inertia
from .composite_bodies import FEW_JOINTS, by_factorization, cheapest
from .definiteness import check_inertia
from .joint_jets import joint_motion
from .kinematics import joint_pose
from .newton_euler import Motion, assemble, base_motion, external, forward_recursion, gyroscopic


class ArticulatedInertia(NamedTuple):
    """Moment and force of a handle at a body's frame: n = I α + H a, f = Hᵀα + M a."""

    I: Matrix
    H: Matrix
    M: Matrix

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:  # type: ignore[override]
        return ArticulatedInertia(self.I + other.I, self.H + other.H, self.M + other.M)

    def transformed(self, R: Matrix, p: Vector) -> ArticulatedInertia:
        """The same about another frame, in which this frame has the orientation R and the origin p."""
        I, H, M = (R @ x @ R.T for x in self)
        S = skew(p)
        return ArticulatedInertia(upper(I - H @ S + S @ H.T - S @ M @ S), H + S @ M, upper(M))


def of_body(inertia: Inertia) -> ArticulatedInertia:
    """The articulated inertia of a rigid body alone."""
    m, h, Sigma = inertia
    return ArticulatedInertia(ca.trace(Sigma) * identity() - Sigma, skew(h), m * identity())


def upper(X: Matrix) -> Matrix:
    """A symmetric matrix from its upper triangle; the lower one is not computed."""
    return ca.triu2symm(ca.triu(X))


def by_articulated_bodies(
    robot: Robot,
    q: Expression,
    v: Expression,
    tau: Expression,
    wrenches: Wrenches = None,
    base: Base = None,
    spins: Sequence[tuple[Rotor, Jet]] = (),
    inertial: bool = False,
) -> Expression:
    """q'' in three sweeps over the tree; motors of rigid drives add their inertia to the joint, as in Spong's model.

    Holds for robots with `has_tree_structure`.

    inertial: M⁻¹τ, without gravity and parallel springs.
    """
    tree = moving_bodies(robot, frozen=False)
    base_now = base_motion(zeros(3) if inertial else sx(robot.gravity), 0, checked_base(base, 0))
    joints = [joint_motion(body, [q, v, zeros(robot.n)], 0) for body in tree]
    motions, _ = forward_recursion(tree, joints, base_now)
    drift = drifts(tree, motions, q, v, base_now)
    inertia = [of_body(body.inertia) for body in tree]
    bias = velocity_forces(tree, motions)
    place = frames(robot)
    for link, stack in checked_wrenches(robot, wrenches, 0):
        frame = place[link]
        if frame.body >= 0:
            force, moment = external(motions[frame.body], frame, stack, 0)
            n, f = bias[frame.body]
            bias[frame.body] = (n + moment[0], f + force[0])
    for rotor, momentum in spins:
        if rotor.body >= 0:
            n, f = bias[rotor.body]
            bias[rotor.body] = (n + gyroscopic(motions[rotor.body], rotor, momentum, 0).N[0], f)

    passive = zeros(robot.n) if inertial else passive_torque(robot, [q, v], 0)[0]
    motor = rigid_motor_inertia(robot)
    U: list[tuple[Vector, Vector]] = [(zeros(3), zeros(3))] * robot.n
    D: list[Scalar] = [None] * robot.n
    u: list[Scalar] = [None] * robot.n
    for i in range(robot.n - 1, -1, -1):
        body, (I, H, M) = tree[i], inertia[i]
        n, f = bias[i]
        a, alpha = body.screw.axes
        U[i] = (I @ alpha + H @ a, H.T @ alpha + M @ a)  # moment and force of a unit acceleration
        D[i] = body.screw.effort(U[i][1], U[i][0]) + motor[i]
        u[i] = tau[i] - passive[i] - body.screw.effort(f, n)
        if body.parent >= 0:
            rest = articulated(inertia[i], U[i], D[i], body.screw, motor[i])
            alpha, a = drift[i]
            gain = u[i] / D[i]
            n = n + rest.I @ alpha + rest.H @ a + U[i][0] * gain
            f = f + rest.H.T @ alpha + rest.M @ a + U[i][1] * gain
            R, p = joint_pose(body, q)
            f = R @ f
            up_n, up_f = bias[body.parent]
            bias[body.parent] = (up_n + R @ n + cross(p, f), up_f + f)
            inertia[body.parent] = inertia[body.parent] + rest.transformed(R, p)
    check_inertia(robot, D)

    found: list[tuple[Vector, Vector]] = []
    acceleration = []
    for i, body in enumerate(tree):
        alpha, a = found[body.parent] if body.parent >= 0 else (base_now.omega[1], base_now.a[0])
        R, p = joint_pose(body, q)
        alpha, a = R.T @ alpha + drift[i][0], R.T @ (a + cross(alpha, p)) + drift[i][1]
        x = (u[i] - ca.dot(U[i][0], alpha) - ca.dot(U[i][1], a)) / D[i]
        found.append((alpha + body.screw.angular(x), a + body.screw.linear(x)))
        acceleration.append(x)
    return ca.vertcat(*acceleration)


def drifts(
    tree: list[Body], motions: list[Motion], q: Expression, v: Expression, base: Motion
) -> list[tuple[Vector, Vector]]:
    """Angular and linear acceleration per body beyond that of its parent, for q'' = 0."""
    found = []
    for body, motion in zip(tree, motions):
        up = motions[body.parent] if body.parent >= 0 else base
        R, p = joint_pose(body, q)
        carried = R.T @ (centripetal(up.W[0]) @ p)
        angular, linear = body.screw.angular(v[body.coordinate]), body.screw.linear(v[body.coordinate])
        found.append((cross(motion.omega[0], angular), carried + 2 * cross(motion.omega[0], linear)))
    return found


def velocity_forces(tree: list[Body], motions: list[Motion]) -> list[tuple[Vector, Vector]]:
    """Moment and force per body that the velocities require, for accelerations of zero."""
    still = zeros(3)
    found = []
    for body, motion in zip(tree, motions):
        W = motion.W[0]
        A = centripetal(W)
        found.append((body.inertia.moment(A, W, still), body.inertia.force(A, still)))
    return found


def centripetal(W: Matrix) -> Matrix:
    """ωωᵀ − |ω|² 1, the acceleration matrix of a body that rotates at a constant velocity."""
    return assemble(zeros(3), W)


def articulated(
    inertia: ArticulatedInertia, U: tuple[Vector, Vector], D: Scalar, screw: Screw, motor: Scalar
) -> ArticulatedInertia:
    """I − U Uᵀ/D, the inertia that is left when the joint is free to move."""
    n, f = U
    rest = ArticulatedInertia(
        upper(inertia.I - n @ (n / D).T), inertia.H - n @ (f / D).T, upper(inertia.M - f @ (f / D).T)
    )
    if not is_zero(motor) or (screw.turns and screw.slides):
        return rest
    free, every = sx([1.0, 1.0, 0.0]), sx([1.0, 1.0, 1.0])  # no inertia is left along the joint: exact zeros
    if screw.turns:
        return ArticulatedInertia(rest.I * (free @ free.T), rest.H * (free @ every.T), rest.M)
    return ArticulatedInertia(rest.I, rest.H * (every @ free.T), rest.M * (free @ free.T))


def joint_accelerations(
    robot: Robot,
    q: Expression,
    v: Expression,
    tau: Expression,
    wrenches: Wrenches = None,
    base: Base = None,
    spins: Sequence[tuple[Rotor, Jet]] = (),
) -> Expression:
    """q'' from the torques on the links: the motor torque of a rigid joint, the spring torque of an elastic one.

    spins: rotors behind springs, with the jets of their angular momenta about their axes.
    """
    ways = [by_factorization, by_articulated_bodies]
    if not has_tree_structure(robot):
        ways = [by_factorization]
    elif robot.n > FEW_JOINTS:
        ways = [by_articulated_bodies]
    found = [way(robot, q, v, tau, wrenches, base, spins) for way in ways]
    return cheapest(found, lambda x: [x]) if len(found) > 1 else found[0]
