"""Three-dimensional vectors, inertias, screws and jets: the algebra that every algorithm is written in.

`rotations` works on NumPy arrays, so that a robot loads without CasADi.  The other modules work on CasADi SX matrices,
which `ca`, `sx` and `is_symbolic` give access to.
"""

from ..lazy import ca, is_symbolic, sx
from .inertia import Inertia
from .jets import (
    TimeDerivatives,
    in_frame_rotating_about_z,
    in_rotating_frame,
    leibniz,
    outer_square,
    time_derivative,
)
from .rotations import rotation_rpy, rotation_x, rotation_y, rotation_z
from .screws import Screw
from .vectors import (
    cross,
    identity,
    is_zero,
    rotation_about_z,
    skew,
    symmetric,
    total,
    unit_z,
    vector,
    zeros,
)

__all__ = [
    "Inertia",
    "Screw",
    "TimeDerivatives",
    "ca",
    "cross",
    "identity",
    "in_frame_rotating_about_z",
    "in_rotating_frame",
    "is_symbolic",
    "is_zero",
    "leibniz",
    "outer_square",
    "rotation_about_z",
    "rotation_rpy",
    "rotation_x",
    "rotation_y",
    "rotation_z",
    "skew",
    "sx",
    "symmetric",
    "time_derivative",
    "total",
    "unit_z",
    "vector",
    "zeros",
]
