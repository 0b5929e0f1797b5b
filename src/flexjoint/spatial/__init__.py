"""Three-dimensional vectors, inertias, screws and jets: the algebra that every algorithm is written in.

`rotations` and `orientations` work on NumPy arrays, so that a robot loads without CasADi.  The other modules work on
CasADi SX matrices, which `ca`, `sx` and `is_symbolic` give access to.
"""

from ..lazy import ca as ca, is_symbolic as is_symbolic, sx as sx
from .inertia import Inertia as Inertia
from .jets import (
    TaylorSeries as TaylorSeries,
    TimeDerivatives as TimeDerivatives,
    in_frame_rotating_about_z as in_frame_rotating_about_z,
    in_rotating_frame as in_rotating_frame,
    leibniz as leibniz,
    outer_square as outer_square,
    time_derivative as time_derivative,
)
from .orientations import (
    axis_angle_rotation as axis_angle_rotation,
    compose as compose,
    length as length,
    orthogonality_error as orthogonality_error,
    orthonormal as orthonormal,
    quaternion_rotation as quaternion_rotation,
    rotation_quaternion as rotation_quaternion,
    rotation_rpy_angles as rotation_rpy_angles,
    rotation_vector as rotation_vector,
    rpy_rotation as rpy_rotation,
    transpose as transpose,
)
from .rotations import (
    rotation_onto as rotation_onto,
    rotation_rpy as rotation_rpy,
    rotation_x as rotation_x,
    rotation_y as rotation_y,
    rotation_z as rotation_z,
    rpy_angles as rpy_angles,
    unit_vector as unit_vector,
)
from .screws import Screw as Screw
from .vectors import (
    cross as cross,
    identity as identity,
    is_zero as is_zero,
    rotation_about_z as rotation_about_z,
    skew as skew,
    symmetric as symmetric,
    total as total,
    unit_z as unit_z,
    vector as vector,
    zeros as zeros,
)
