"""Motion of a base that is carried along, from its position and orientation over time.

The pose (P, roll, pitch, yaw) is that of the base frame in a frame at rest, R = R_z(yaw) R_y(pitch) R_x(roll) as in
URDF; `robot.gravity` holds at the pose zero.  Newton-Euler recursions begin at the base  [Hua Algorithm 1]:

    ω_0 = Rᵀ(yaw' z + R_z (pitch' y + R_y roll' x)),      a_0 − g = Rᵀ(P'' − g)

along the axes of the base, with absolute derivatives.  A base that tilts turns gravity against the robot.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.compile import kernel_of
from ..checks import finite
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..errors import InputError
from ..robot import Robot, a_robot
from ..spatial import TimeDerivatives, ca, is_symbolic, sx, unit_z
from ..types import Expression, Matrix, Stack, Vector
from .loads import BaseMotion

POSE = ("x", "y", "z", "roll", "pitch", "yaw")
POSE_UNITS = ("m",) * 3 + ("rad",) * 3


def base_motion(robot: Robot, *pose: ArrayLike) -> BaseMotion:
    """The BaseMotion for `base=`, from the pose of the base and its derivatives.

    Args:
        robot: The robot on the base; its gravity holds at the zero pose.
        pose: x, x', x'', ... of (x, y, z, roll, pitch, yaw), each (..., 6), in m and rad: position and orientation of
            the base in a frame at rest, R = R_z(yaw) R_y(pitch) R_x(roll).  Two derivatives are enough for rigid
            joints and forward dynamics, elastic ones need four.

    Returns:
        BaseMotion with as many derivatives as the pose allows, along the axes of the base; gravity is turned with it.

    Raises:
        InputError: Fewer than two derivatives are given, or the shapes are wrong.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> ship = fj.trajectory.Sinusoid([0.0, 0.0, 0.5, 0.1, 0.0, 0.0], frequency=0.2)
        >>> robot = fj.load("kuka_lwr")
        >>> base = fj.dynamics.base_motion(robot, *ship(0.3))
        >>> fj.inverse_dynamics(robot, *np.zeros((5, 7)), base=base).shape
        (7,)
    """
    gravity = a_robot("base_motion", robot).gravity
    if len(pose) < 3:
        raise InputError(f"base_motion: {len(pose)} arrays are given; give the pose and at least two derivatives")
    if any(map(is_symbolic, pose)):
        return motion_of_pose(sx(gravity), pose)
    arrays = [finite("base_motion", "the pose" if k == 0 else f"derivative {k}", x) for k, x in enumerate(pose)]
    for x in arrays:
        if x.shape[-1:] != (len(POSE),):
            raise InputError(f"base_motion: the pose has shape {x.shape}; it must be (..., 6): {', '.join(POSE)}")
    given = np.broadcast_arrays(*arrays)
    found = pose_kernel(tuple(gravity.tolist()), len(pose))(np.ascontiguousarray(np.stack(given, axis=-2)))
    vectors = np.split(np.asarray(found), found.shape[-1] // 3, axis=-1)
    return BaseMotion(vectors[: len(pose) - 1], vectors[len(pose) - 1 :])


def motion_of_pose(gravity: Vector, pose: Stack) -> BaseMotion:
    """The same in SX, of columns (6, 1)."""
    order = len(pose) - 3
    angles = [x[3:] for x in pose]
    turned = TimeDerivatives(angular_velocity, order + 1, (len(pose), 3))
    R = rotation(angles[0])
    omega = [R.T @ turned(k, angles) for k in range(order + 2)]
    a = [R.T @ x[:3] for x in pose[2:]]
    a[0] = a[0] + gravity - R.T @ gravity  # gravity is the robot's: what differs from it is an acceleration
    return BaseMotion(omega, a)


def rotation(angles: Vector) -> Matrix:
    """R_z(yaw) R_y(pitch) R_x(roll)."""
    (cr, cp, cy), (sr, sp, sy) = (ca.vertsplit(f(angles)) for f in (ca.cos, ca.sin))
    return ca.vertcat(
        ca.horzcat(cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        ca.horzcat(sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        ca.horzcat(-sp, cp * sr, cp * cr),
    )


def angular_velocity(angles: Stack) -> Vector:
    """ω in the frame at rest, from roll, pitch, yaw and their rates."""
    now, (roll_v, pitch_v, yaw_v) = angles[0], ca.vertsplit(angles[1])
    cp, sp, cy, sy = ca.cos(now[1]), ca.sin(now[1]), ca.cos(now[2]), ca.sin(now[2])
    return yaw_v * unit_z() + pitch_v * ca.vertcat(-sy, cy, 0) + roll_v * ca.vertcat(cy * cp, sy * cp, -sp)


@lru_cache(maxsize=64)
def pose_kernel(gravity: Sequence[float], count: int) -> Kernel:
    """The stack of a pose (count, 6) -> [ω_0, ω_0', ..., a_0, ...], three numbers each."""

    def function(stack: Expression) -> list[tuple[Array, Expression]]:
        found = motion_of_pose(sx(gravity), [stack[k, :].T for k in range(count)])
        numbers = ca.vertcat(*found.angular_velocity, *found.acceleration)
        return [(Array("motion", (numbers.numel(),)), numbers)]

    inputs = [Array("pose", (count, len(POSE)))]
    return kernel_of("motion of a base", inputs, function, f"base_motion {gravity!r} {count}", type=None)
