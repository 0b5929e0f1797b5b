"""Links, joints and limits: frozen data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..drives import Drive, Friction, Motor
from ..errors import NOT_NUMBERS, RobotError, shown
from ..lazy import is_symbolic
from ..numerics import product
from ..reprs import repr_without_defaults
from ..spatial import rotation_onto, unit_vector
from ..springs import ParallelSpring
from ..types import FloatArray
from .joints import JointKind, joint_kind
from .joints.revolute import Revolute

BASE = "base"
REVOLUTE = Revolute()


@dataclass(frozen=True, slots=True, repr=False)
class Limits:
    """Bounds of a joint; a bound that is not known is infinite.

    Those of motors and springs are `drives.MotorLimits` and `drives.SpringLimits`.

    Args:
        lower: Least position, rad or m. Default −∞.
        upper: Greatest position, rad or m. Default ∞.
        velocity: Greatest speed in either direction, rad/s or m/s. Default ∞.
        effort: Greatest motor torque in either direction, after the reduction, Nm or N. Default ∞.
        acceleration: Greatest acceleration in either direction, rad/s² or m/s². Default ∞.
        jerk: Greatest jerk in either direction, rad/s³ or m/s³. Default ∞.
        torque_rate: Greatest rate of the commanded motor torque, after the reduction, Nm/s or N/s. Default ∞.

    Example:
        >>> Limits(-1.5, 1.5, velocity=2.0)
        Limits(lower=-1.5, upper=1.5, velocity=2.0)
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    acceleration: float = math.inf
    jerk: float = math.inf
    torque_rate: float = math.inf

    __repr__ = repr_without_defaults


@dataclass(frozen=True, slots=True, repr=False)
class Mimic:
    """Makes a joint follow another one: its position is ratio · (position of the leader) + offset.

    A follower has no entry in q: its leader's coordinate moves both.

    Args:
        joint: Name of the leader, a moving joint anywhere in the tree, which may follow another joint itself.
        ratio: Of the velocities, follower to leader, not 0; of a prismatic joint on a revolute one in m/rad. Default 1.
        offset: Position of the follower where the leader's is 0, rad or m. Default 0.

    Example:
        >>> Mimic("left_finger", ratio=-1.0)
        Mimic(joint='left_finger', ratio=-1.0)
    """

    joint: str
    ratio: float = 1.0
    offset: float = 0.0

    __repr__ = repr_without_defaults


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """Where a link's frame stands in its parent's frame at q = 0, how the joint moves it, and what drives it.

    The joint moves its link about or along its axis, which goes through the origin of the link's frame.

    Args:
        name: Unique among the joints of a robot.
        kind: "revolute", "prismatic", "fixed", or a JointKind. Default "revolute".
        position: Origin of the link's frame in the parent's frame at q = 0, (3,), m. Default zeros.
        rotation: Its axes as columns, (3, 3). Default the identity.
        limits: Bounds of motion and effort. Default none.
        viscous_friction: On the link side, Nm s/rad or N s/m. Default 0.
        coulomb_friction: F_c in F_c tanh(q'/v_c) on the link side, Nm or N. Default 0.
        coulomb_velocity: v_c, rad/s or m/s; required with Coulomb friction.
        drive: RigidDrive, ElasticDrive or a VariableStiffnessDrive. Default None, a joint without motor.
        friction: A drives.Friction on the link side, in place of the three numbers above; with `load` only behind a
            spring. Default None.
        axis: Direction of the joint in the link's frame, (3,); it is divided by its length. Default (0, 0, 1), z.
        mimic: The joint that this one follows, Mimic(joint, ratio, offset). Default None, a joint that moves by itself.
        parallel_spring: A spring between the link and its parent, `springs.ParallelSpring`. Default None.

    Raises:
        RobotError: If the kind is unknown or an array has a wrong shape; Robot checks the numbers.

    Example:
        >>> Joint("elbow", position=(0.4, 0.0, 0.0), limits=Limits(-2.0, 2.0)).kind.name
        'revolute'
    """

    name: str
    kind: JointKind = REVOLUTE
    position: FloatArray = field(default_factory=lambda: np.zeros(3))
    rotation: FloatArray = field(default_factory=lambda: np.eye(3))
    limits: Limits = field(default_factory=Limits)
    viscous_friction: float = 0.0
    coulomb_friction: float = 0.0
    coulomb_velocity: float = 0.0
    drive: Drive | None = None
    friction: Friction | None = None
    axis: FloatArray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]), metadata={"free": False})
    mimic: Mimic | None = None
    parallel_spring: ParallelSpring | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", joint_kind(self.kind, self.name))
        freeze(self, position=(3,), rotation=(3, 3), axis=(3,))
        object.__setattr__(self, "axis", frozen_array(unit_vector(self.axis), (3,), "axis"))

    @property
    def moves(self) -> bool:
        """Whether the joint moves its link; it has a coordinate in q of its own unless it follows another joint."""
        return self.kind.moves

    @property
    def axis_in_parent(self) -> FloatArray:
        """Direction of the joint in the parent's frame, (3,)."""
        return product(self.rotation, self.axis)

    @property
    def turned_axes(self) -> FloatArray | None:
        """A rotation (3, 3) that turns the z axis of the link's frame onto the joint axis; None if z is the axis."""
        return rotation_onto(self.axis) if self.moves and self.axis[2] != 1.0 else None


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A rigid body on a joint; all arrays are in the link's frame.

    Args:
        name: Unique among the links of a robot.
        joint: What connects the link to its parent.
        parent: Name of another link. Default "base".
        mass: In kg. Default 0; a link without mass is a frame.
        com: Centre of mass, (3,), m. Default zeros.
        inertia: Inertia tensor about the centre of mass, (3, 3), kg m². Default zeros.

    Raises:
        RobotError: If an array has a wrong shape; Robot checks the numbers.

    Example:
        >>> Link("arm", Joint("shoulder"), mass=2.0, com=(0.2, 0.0, 0.0), inertia=0.02 * np.eye(3)).parent
        'base'
    """

    name: str
    joint: Joint
    parent: str = BASE
    mass: float = 0.0
    com: FloatArray = field(default_factory=lambda: np.zeros(3))
    inertia: FloatArray = field(default_factory=lambda: np.zeros((3, 3)))

    def __post_init__(self) -> None:
        freeze(self, com=(3,), inertia=(3, 3))


def rotor_place(joint: Joint, motor: Motor) -> tuple[Any, FloatArray]:
    """Position and axis of a rotor in the carrier's frame; those of the joint by default."""
    position = joint.position if motor.position is None else list(motor.position)
    return position, joint.axis_in_parent if motor.axis is None else np.array(motor.axis)


def freeze(item: Any, **shapes: tuple[int, ...]) -> None:
    """Turn array fields of a frozen dataclass into read-only float arrays of the given shape."""
    for name, shape in shapes.items():
        value = getattr(item, name)
        if has_symbols(value):
            path = f"{item.name}.{name}" if isinstance(item, Link | Joint) else name
            raise RobotError(symbol_text(path, value))
        what = f"{name} of {shown(getattr(item, 'name', item))}"
        object.__setattr__(item, name, frozen_array(value, shape, what))


def has_symbols(value: object) -> bool:
    """Whether a value is SX, or a list with SX in it."""
    return is_symbolic(value) or (isinstance(value, list | tuple) and any(map(has_symbols, value)))


def symbol_text(path: str, value: object) -> str:
    """Why a robot cannot be made with symbols, and what to type instead."""
    return (
        f"'{path}' is {shown(value)}: a robot is made with numbers, so that they can be checked; give one here, then "
        f"robot.with_symbols({{'{path}': ...}}) puts SX in its place"
    )


def frozen_array(value: Any, shape: tuple[int, ...], what: str) -> FloatArray:
    """A read-only float array of the given shape; `what` begins the message of the RobotError otherwise."""
    try:
        array = np.array(value, dtype=float)
    except NOT_NUMBERS:
        raise RobotError(f"{what} must be numbers of shape {shape}, not {shown(value)}") from None
    if array.shape != shape:
        raise RobotError(f"{what} must have shape {shape}, not {array.shape}")
    array = array + 0.0  # −0.0 becomes 0.0: equal robots have equal digests
    array.flags.writeable = False
    return array
