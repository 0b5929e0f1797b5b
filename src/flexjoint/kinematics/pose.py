"""Poses: positions and orientations of frames, one or many, from matrices, quaternions, angles and tables in files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import finite, frozen
from ..errors import InputError, shown
from ..formats.toml import Table, parse_inline
from ..reprs import short_repr
from ..spatial import (
    axis_angle_rotation,
    compose,
    orthogonality_error,
    orthonormal,
    quaternion_rotation,
    rotation_quaternion,
    rotation_rpy_angles,
    rpy_rotation,
    transpose,
)
from ..types import FloatArray

NOT_A_ROTATION = 1e-6  # of |RᵀR − 1|: a matrix written with six digits is made orthonormal, a worse one refused
LARGEST_ANGLE = 1e9  # rad: sines of larger angles have no digits
ORIENTATIONS = ("quaternion", "rpy", "axis", "rotation")  # keys of tables


@dataclass(frozen=True, eq=False, repr=False)
class Pose:
    """Position and orientation of one frame, or of many, in the coordinates of the base.

    Args:
        position: origin of the frame, (..., 3), in m.
        rotation: rotation matrix (..., 3, 3) whose columns are the axes of the frame; None for a free orientation. A
            matrix that is orthogonal to 1e-6 is made orthonormal.

    Raises:
        InputError: a wrong shape, a number that is not finite, or a matrix that is no rotation.

    Example:
        >>> import flexjoint as fj
        >>> fj.kinematics.Pose.from_rpy([0.4, 0, 0.5], [180, 0, 0], degrees=True)
        Pose(position=[0.4, 0, 0.5], rpy_deg=[180, 0, 0])
    """

    position: FloatArray
    rotation: FloatArray | None = None

    def __post_init__(self) -> None:
        position = _shaped("position", self.position, 3)
        if self.rotation is None:
            object.__setattr__(self, "position", frozen(position))
            return
        rotation = _checked_rotation(self.rotation)
        try:
            shape = np.broadcast_shapes(position.shape[:-1], rotation.shape[:-2])
        except ValueError:
            raise InputError(
                f"Pose: position has shape {position.shape} and rotation {rotation.shape}; "
                "give one rotation for all positions, or one per position"
            ) from None
        object.__setattr__(self, "position", frozen(np.broadcast_to(position, (*shape, 3)).copy()))
        object.__setattr__(self, "rotation", frozen(np.broadcast_to(rotation, (*shape, 3, 3)).copy()))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Pose:
        """Poses of homogeneous matrices (..., 4, 4), whose last row is 0, 0, 0, 1."""
        array = finite("Pose", "matrix", matrix)
        if array.shape[-2:] != (4, 4):
            raise InputError(f"Pose: matrix has shape {array.shape}; it must be (..., 4, 4)")
        if np.any(array[..., 3, :] != [0.0, 0.0, 0.0, 1.0]):
            raise InputError("Pose: the last row of matrix must be 0, 0, 0, 1: is it transposed?")
        return cls(array[..., :3, 3], array[..., :3, :3])

    @classmethod
    def from_quaternion(cls, position: ArrayLike, quaternion: ArrayLike) -> Pose:
        """Poses of positions (..., 3), in m, and quaternions (..., 4) in the order w, x, y, z, of any length but 0."""
        return cls(position, _quaternion_rotation(quaternion))  # type: ignore[arg-type]

    @classmethod
    def from_rpy(cls, position: ArrayLike, rpy: ArrayLike, *, degrees: bool = False) -> Pose:
        """Poses of positions (..., 3), in m, and angles (..., 3): roll, pitch and yaw, R = Rz(yaw) Ry(pitch) Rx(roll).

        Args:
            position: (..., 3), in m.
            rpy: (..., 3), in rad.
            degrees: whether rpy is in degrees; False by default.
        """
        return cls(position, rpy_rotation(_angles("rpy", _shaped("rpy", rpy, 3), degrees)))  # type: ignore[arg-type]

    @classmethod
    def from_axis_angle(cls, position: ArrayLike, axis: ArrayLike, angle: ArrayLike, *, degrees: bool = False) -> Pose:
        """Poses of positions (..., 3), in m, turned about axes by angles.

        Args:
            position: (..., 3), in m.
            axis: (..., 3), of any length but 0.
            angle: (...), in rad.
            degrees: whether the angle is in degrees; False by default.
        """
        return cls(position, _axis_rotation(axis, angle, degrees))  # type: ignore[arg-type]

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch dimensions: () of one pose."""
        return self.position.shape[:-1]

    @property
    def oriented(self) -> FloatArray:
        """The rotation matrices (..., 3, 3), or an error where the orientation is open."""
        if self.rotation is None:
            raise InputError("Pose: this pose has no orientation: give a rotation, quaternion, rpy, or axis and angle")
        return self.rotation

    @property
    def matrix(self) -> FloatArray:
        """Homogeneous matrices (..., 4, 4)."""
        matrix = np.zeros((*self.shape, 4, 4))
        matrix[..., :3, :3], matrix[..., :3, 3], matrix[..., 3, 3] = self.oriented, self.position, 1.0
        return matrix

    @property
    def quaternion(self) -> FloatArray:
        """Unit quaternions (..., 4) in the order w, x, y, z, with w ≥ 0."""
        return rotation_quaternion(self.oriented)

    @property
    def rpy(self) -> FloatArray:
        """Roll, pitch and yaw (..., 3), in rad; yaw is 0 where pitch is a quarter turn."""
        return rotation_rpy_angles(self.oriented)

    def __matmul__(self, other: Pose) -> Pose:
        """The pose of a frame that is given in this frame: self @ other."""
        moved = self.position + compose(self.oriented, other.position[..., None])[..., 0]
        return Pose(moved, None if other.rotation is None else compose(self.oriented, other.rotation))

    def inverse(self) -> Pose:
        """The pose of the base in the frame: self.inverse() @ self is the identity."""
        back = transpose(self.oriented)
        return Pose(-compose(back, self.position[..., None])[..., 0], back)

    def __getitem__(self, index: Any) -> Pose:
        """Some of many poses."""
        if not self.shape:
            raise InputError("Pose: a single pose has no parts to choose from")
        tail = index if isinstance(index, tuple) else (index,)
        rotation = None if self.rotation is None else self.rotation[(*tail, ..., slice(None), slice(None))]
        return Pose(self.position[(*tail, ..., slice(None))], rotation)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a single pose has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        if self.shape:
            return f"Pose({' x '.join(map(str, self.shape))}{'' if self.rotation is not None else ', position only'})"
        angles = {} if self.rotation is None else {"rpy_deg": [float(f"{x:.6g}") + 0.0 for x in np.rad2deg(self.rpy)]}
        return short_repr(self, position=self.position, **angles)


# Tables in files ----------------------------------------------------------------------------------------------------


def parse_pose(text: str, what: str = "pose") -> Pose:
    """The pose in a text, as it stands on the command line.

    Args:
        text: {position = [0.4, 0, 0.5], rpy_deg = [180, 0, 0]}; keys as in `read_pose`.
        what: what the pose is, for messages.

    Raises:
        InputError: the text is wrong; the message names the key and says what to give.

    Example:
        >>> import flexjoint as fj
        >>> fj.kinematics.parse_pose("{position = [0.4, 0, 0.5]}")
        Pose(position=[0.4, 0, 0.5])
    """
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        example = "{position = [0.4, 0, 0.5], rpy_deg = [180, 0, 0]}"
        raise InputError(f"{what} must be a text such as '{example}', not {shown(text)}")
    return read_pose(parse_inline(text, what, InputError))


def read_pose(table: Table, *, others: tuple[str, ...] = ()) -> Pose:
    """The pose in a table of a file.

    Args:
        table: a table with `position` (three numbers, m) and at most one orientation: `quaternion` (w, x, y, z),
            `rpy` or `rpy_deg` (roll, pitch, yaw), `axis` with `angle` or `angle_deg`, or `rotation` (3 x 3).
        others: further keys that the table may have.

    Returns:
        A single pose; one without orientation if the table has none.

    Raises:
        InputError: a key is unknown, missing, or given twice, or its value is wrong.
    """
    table.allow(("position", *ORIENTATIONS, "rpy_deg", "angle", "angle_deg", *others))
    table.only_one(*ORIENTATIONS, "rpy_deg")
    table.only_one("angle", "angle_deg")
    if "axis" not in table.data and (angle := [key for key in ("angle", "angle_deg") if key in table.data]):
        raise table.error(f"{table.place}: {angle[0]} needs axis beside it: give axis = [0, 0, 1] for a turn about z")
    position = table.vector("position")
    try:
        return Pose(position, _orientation(table))
    except InputError as problem:
        if not str(problem).startswith("Pose: "):
            raise
        raise table.error(f"{table.place}: {str(problem).removeprefix('Pose: ')}") from None


def _orientation(table: Table) -> FloatArray | None:
    """The rotation matrix of a table, if it has one."""
    if "quaternion" in table.data:
        expected = "four numbers [w, x, y, z]"
        quaternion = table.array("quaternion", expected)
        if quaternion.shape != (4,):
            raise table.wrong("quaternion", expected)
        return _quaternion_rotation(quaternion)
    for key in ("rpy", "rpy_deg"):
        if key in table.data:
            return rpy_rotation(_angles(key, finite("Pose", key, table.vector(key)), key == "rpy_deg"))
    if "axis" in table.data:
        key = "angle_deg" if "angle_deg" in table.data else "angle"
        return _axis_rotation(table.vector("axis"), table.number(key), key == "angle_deg")
    return table.matrix("rotation") if "rotation" in table.data else None


# Checks -------------------------------------------------------------------------------------------------------------


def _shaped(what: str, value: Any, size: int) -> FloatArray:
    """Finite numbers (..., size)."""
    array = finite("Pose", what, value)
    if array.ndim == 0 or array.shape[-1] != size:
        raise InputError(f"Pose: {what} has shape {array.shape}; it must be (..., {size})")
    return array


def _angles(what: str, angles: FloatArray, degrees: bool) -> FloatArray:
    """Angles in rad, small enough for sines."""
    angles = np.deg2rad(angles) if degrees else angles
    if np.any(np.abs(angles) > LARGEST_ANGLE):
        raise InputError(f"Pose: {what} is {np.max(np.abs(angles)):g} rad; the largest angle is {LARGEST_ANGLE:g} rad")
    return angles


def _quaternion_rotation(quaternion: ArrayLike) -> FloatArray:
    array = _shaped("quaternion", quaternion, 4)
    if np.any(np.all(array == 0, axis=-1)):
        raise InputError("Pose: a quaternion is zero and turns nothing: give [1, 0, 0, 0] (w, x, y, z) for no rotation")
    return quaternion_rotation(array)


def _axis_rotation(axis: ArrayLike, angle: ArrayLike, degrees: bool) -> FloatArray:
    axis, angles = _shaped("axis", axis, 3), _angles("angle", finite("Pose", "angle", angle), degrees)
    if np.any(np.all(axis == 0, axis=-1)):
        raise InputError("Pose: an axis is zero and has no direction: give [0, 0, 1] for a turn about z")
    return axis_angle_rotation(axis, angles)


def _checked_rotation(value: Any) -> FloatArray:
    """Rotation matrices (..., 3, 3), orthonormal."""
    rotation = finite("Pose", "rotation", value)
    if rotation.ndim < 2 or rotation.shape[-2:] != (3, 3):
        raise InputError(f"Pose: rotation has shape {rotation.shape}; it must be (..., 3, 3)")
    error = orthogonality_error(rotation)
    if np.any(error > NOT_A_ROTATION):
        raise InputError(
            f"Pose: rotation is no rotation matrix: RᵀR differs from the identity by {np.max(error):.3g}; "
            "its columns must be of length 1 and at right angles"
        )
    if np.any(_determinant(rotation) < 0):
        raise InputError("Pose: rotation mirrors space (its determinant is -1): turn the sign of one column")
    return orthonormal(rotation)


def _determinant(R: FloatArray) -> FloatArray:
    """The triple product of the rows, (...)."""
    a, b, c = R[..., 0, :], R[..., 1, :], R[..., 2, :]
    cross = [b[..., 1] * c[..., 2] - b[..., 2] * c[..., 1], b[..., 2] * c[..., 0] - b[..., 0] * c[..., 2]]
    return a[..., 0] * cross[0] + a[..., 1] * cross[1] + a[..., 2] * (b[..., 0] * c[..., 1] - b[..., 1] * c[..., 0])
