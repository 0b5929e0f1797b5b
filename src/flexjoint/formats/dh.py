"""Robots from Denavit-Hartenberg parameters, standard or modified.

    standard    T(i−1 → i) = Rz(θ_i) Tz(d_i) Tx(a_i) Rx(α_i)          joint i about z_{i−1}, frame i at the far end
    modified    T(i−1 → i) = Rx(α_{i−1}) Tx(a_{i−1}) Rz(θ_i) Tz(d_i)  [Craig]; row i holds α_{i−1}, a_{i−1}, d_i, θ_i

The joint variable adds to θ_i (revolute) or to d_i (prismatic).  Bodies are given in DH frame i and stored in the frame
on the joint axis: frame i−1 turned by θ_i in the standard convention, frame i in the modified one.  The last DH frame
becomes the massless link "tool".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from ..drives import Drive, Friction, Motor
from ..errors import NOT_NUMBERS, RobotError, quoted, shown
from ..numerics import product
from ..robot import BASE, Fidelity, Joint, JointKind, Limits, Link, Mimic, Robot, Source
from ..robot.joints import KINDS, joint_kind
from ..robot.joints.fixed import Fixed
from ..spatial import rotation_x, rotation_z
from ..springs import ParallelSpring
from ..types import FloatArray
from .angles import check_angle

CONVENTIONS = ("standard", "modified")


class Pose(NamedTuple):
    """Pose of a frame in another: the columns of R are its axes, p is its origin."""

    R: FloatArray
    p: FloatArray

    def then(self, other: Pose) -> Pose:
        """Pose of a frame that is given in this one."""
        return Pose(product(self.R, other.R), self.p + product(self.R, other.p))


HERE = Pose(np.eye(3), np.zeros(3))


def from_dh(
    name: str,
    alpha: ArrayLike,
    a: ArrayLike,
    d: ArrayLike,
    theta: ArrayLike = 0.0,
    *,
    kinds: str | Sequence[str | JointKind] | None = None,
    convention: Literal["standard", "modified"] = "standard",
    mass: ArrayLike = 0.0,
    com: ArrayLike = (0.0, 0.0, 0.0),
    inertia: ArrayLike | None = None,
    viscous_friction: ArrayLike = 0.0,
    coulomb_friction: ArrayLike = 0.0,
    coulomb_velocity: ArrayLike = 0.0,
    friction: Sequence[Friction | None] | None = None,
    limits: Sequence[Limits | None] | None = None,
    drives: Sequence[Drive | None] | None = None,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    joint_names: Sequence[str] | None = None,
    link_names: Sequence[str] | None = None,
    allow_unphysical: bool = False,
    fidelity: Fidelity = "spong",
    rotors_in_links: bool = True,
    sources: Sequence[Source] = (),
    mimics: Sequence[Mimic | None] | None = None,
    parallel_springs: Sequence[ParallelSpring | None] | None = None,
) -> Robot:
    """The robot with given Denavit-Hartenberg parameters: a chain of n joints.

    Every array has one entry per joint; a single entry holds for all joints.  Angles within 1e-9 rad of a quarter turn
    are exact quarter turns.

    Args:
        name: name of the robot.
        alpha: (n,), link twists, in rad.
        a: (n,), link lengths, in m.
        d: (n,), joint offsets, in m.
        theta: (n,), joint angles at q = 0, in rad; 0 by default.
        kinds: text of letters such as "RRP", or sequence of names or of `JointKind`; all revolute by default.
        convention: "standard", the default, or "modified".
        mass: (n,), in kg; 0 by default.
        com: (n, 3), centres of mass in DH frame i, in m; 0 by default.
        inertia: (n, 3, 3), inertias about the centres of mass in DH frame i, in kg m²; 0 by default.
        viscous_friction: (n,), on the link side, in Nm s/rad or N s/m; 0 by default.
        coulomb_friction: (n,), on the link side, in Nm or N; 0 by default.
        coulomb_velocity: (n,), over which Coulomb friction changes its sign, in rad/s or m/s.
        friction: n `drives.Friction` on the link side, or None for a joint with the three numbers above; none by
            default.
        limits: n `Limits`, or None for a joint without; none by default.
        drives: n drives, or None for a rigid massless motor; none by default.  Positions and axes of rotors are in the
            DH frame of their carrier.
        gravity: (3,), in the base frame, in m/s²; (0, 0, −9.81) by default.
        joint_names: n names; joint1, joint2, ... by default.
        link_names: n names; link1, link2, ... by default.
        allow_unphysical: whether inertias that no body has are accepted; False by default.
        fidelity: "spong", the default, or "complete": whether rotors are bodies of their own.
        rotors_in_links: whether the data of the links include their rotors; True by default.
        sources: where the numbers come from; none by default.
        mimics: n `robot.Mimic`, or None for a joint that follows no other; none by default.
        parallel_springs: n `springs.ParallelSpring`, or None for a joint without; none by default.

    Returns:
        The validated `Robot`.

    Raises:
        RobotError: an argument has a wrong shape or value; the message names it and the joint.

    Example:
        >>> import numpy as np
        >>> import flexjoint as fj
        >>> bodies = {"mass": [2.0, 1.0], "com": [-0.2, 0.0, 0.0], "inertia": np.diag([0.01, 0.05, 0.05])}
        >>> robot = fj.from_dh("two_link", alpha=[np.pi / 2, 0.0], a=[0.0, 0.4], d=[0.3, 0.0], **bodies)
        >>> [link.name for link in robot.links]
        ['link1', 'link2', 'tool']
    """
    owner = quoted(name)  # begins every message
    if convention not in CONVENTIONS:
        known = ", ".join(CONVENTIONS)
        raise RobotError(f"{owner}: the DH convention {convention!r} is unknown: choose one of {known}")
    n = _joint_count(owner, kinds, alpha, a, d, theta)
    joint_names = _one_each(owner, "joint_names", joint_names, n, [f"joint{i + 1}" for i in range(n)])
    link_names = _one_each(owner, "link_names", link_names, n, [f"link{i + 1}" for i in range(n)])
    limits = _one_each(owner, "limits", limits, n, [None] * n)
    drives = _one_each(owner, "drives", drives, n, [None] * n)
    friction = _one_each(owner, "friction", friction, n, [None] * n)
    mimics = _one_each(owner, "mimics", mimics, n, [None] * n)
    parallel_springs = _one_each(owner, "parallel_springs", parallel_springs, n, [None] * n)
    kind_of = _kinds(owner, kinds, joint_names)

    def numbers(what: str, value: ArrayLike, item: tuple[int, ...] = ()) -> FloatArray:
        return _numbers(owner, what, value, joint_names, item)

    alpha, a, d = numbers("alpha", alpha), numbers("a", a), numbers("d", d)
    theta = numbers("theta", theta)
    for what, angles in (("alpha", alpha), ("theta", theta)):
        for joint, angle in zip(joint_names, angles.tolist()):
            degrees = f"write {what}_deg = {angle:g} in a robot file, np.deg2rad({angle:g}) in Python"
            check_angle(f"{what} of joint '{joint}'", angle, owner, degrees)
    mass, viscous_friction = numbers("mass", mass), numbers("viscous_friction", viscous_friction)
    coulomb_friction = numbers("coulomb_friction", coulomb_friction)
    coulomb_velocity = numbers("coulomb_velocity", coulomb_velocity)
    com = numbers("com", com, (3,))
    inertia = numbers("inertia", np.zeros((3, 3)) if inertia is None else inertia, (3, 3))

    links = []
    parent, end = BASE, HERE  # `end`: the last DH frame in its link's frame
    ends = {BASE: HERE}
    for i in range(n):
        turn, shift = rotation_z(theta[i]), np.array([0.0, 0.0, d[i]])
        bend = Pose(rotation_x(alpha[i]), np.array([a[i], 0.0, 0.0]))
        if convention == "modified":
            mount, end = bend.then(Pose(turn, shift)), HERE
        elif kind_of[i].slides:
            mount, end = end.then(Pose(turn, shift)), bend
        else:
            mount, end = end.then(Pose(turn, np.zeros(3))), Pose(bend.R, bend.p + shift)
        joint = Joint(
            joint_names[i],
            kind_of[i],
            mount.p,
            mount.R,
            limits[i] or Limits(),
            float(viscous_friction[i]),
            float(coulomb_friction[i]),
            float(coulomb_velocity[i]),
            drives[i],
            friction=friction[i],
            mimic=mimics[i],
            parallel_spring=parallel_springs[i],
        )
        I = product(end.R, inertia[i], end.R.T)
        links.append(Link(link_names[i], joint, parent, float(mass[i]), end.p + product(end.R, com[i]), (I + I.T) / 2))
        parent = link_names[i]
        ends[parent] = end
    links = [_with_motor_in_link_frame(link, ends) for link in links]
    links.append(Link("tool", Joint("tool_mount", Fixed(), end.p, end.R), parent))
    return Robot(
        name,
        tuple(links),
        gravity,  # type: ignore[arg-type]  # Robot checks it
        allow_unphysical=allow_unphysical,
        fidelity=fidelity,
        rotors_in_links=rotors_in_links,
        sources=tuple(sources),
    )


def _with_motor_in_link_frame(link: Link, ends: Mapping[str, Pose]) -> Link:
    """A link whose rotors are given in the link frame of their carrier in place of its DH frame."""
    drive = link.joint.drive
    fields = dataclasses.fields(drive) if dataclasses.is_dataclass(drive) else ()
    motors = {x.name: getattr(drive, x.name) for x in fields if isinstance(getattr(drive, x.name), Motor)}
    moved: dict[str, Any] = {}
    for name, motor in motors.items():
        end = ends.get(motor.carrier or link.parent, HERE)  # the robot refuses an unknown carrier
        if motor.axis is not None or motor.position is not None:
            moved[name] = dataclasses.replace(
                motor,
                axis=motor.axis if _is_no_vector(motor.axis) else product(end.R, motor.axis),
                position=motor.position if _is_no_vector(motor.position) else end.p + product(end.R, motor.position),
            )
    if not moved:
        return link
    changed: Any = dataclasses.replace(cast(Any, drive), **moved)
    return dataclasses.replace(link, joint=dataclasses.replace(link.joint, drive=changed))


def _is_no_vector(value: Any) -> bool:
    """Whether a vector is not given, or is not three numbers; the robot refuses the latter."""
    return not isinstance(value, tuple) or len(value) != 3


def _joint_count(name: str, kinds: Any, *parameters: Any) -> int:
    """Number of joints: from `kinds`, or from the first parameter that is not a single number, or 1."""
    lists = [x for x in (kinds, *parameters) if hasattr(x, "__len__") and getattr(x, "ndim", 1) > 0]
    n = len(lists[0]) if lists else 1
    if n == 0:
        raise RobotError(f"{name}: the DH parameters are empty: a robot needs at least one joint")
    return n


def _kinds(name: str, kinds: str | Sequence[str | JointKind] | None, joint_names: Sequence[str]) -> list[JointKind]:
    """Kind of every joint."""
    given = _one_each(name, "kinds", kinds, len(joint_names), "R" * len(joint_names))
    letters = {kind.letter: known for known, kind in sorted(KINDS.items()) if kind.letter}
    found = []
    for joint, kind in zip(joint_names, given):
        kind = letters.get(kind, kind) if isinstance(kind, str) else kind
        if kind in letters.values() or (isinstance(kind, JointKind) and kind.moves):
            found.append(joint_kind(kind, joint))
        else:
            raise RobotError(
                f"{name}: joint '{joint}' is of kind {shown(kind)}: use {' or '.join(letters)}, or "
                f"{' or '.join(repr(x) for x in letters.values())} in a list"
            )
    return found


def _one_each(name: str, what: str, given: Any, n: int, default: Any) -> Any:
    """A sequence of n entries, or the default."""
    if given is None:
        return default
    try:
        count = len(given)
    except TypeError:
        raise RobotError(f"{name}: {what} must be a sequence of {n} entries, one per joint, not {given!r}") from None
    if count != n:
        raise RobotError(f"{name}: {what} has {count} entries for {n} joints: give one per joint")
    return given


def _numbers(name: str, what: str, value: ArrayLike, joints: Sequence[str], item: tuple[int, ...]) -> FloatArray:
    """Finite numbers (n, *item); a single item is repeated."""
    n, shape = len(joints), (len(joints), *item)
    try:
        array = np.array(value, dtype=float)
    except NOT_NUMBERS:
        raise RobotError(f"{name}: {what} must be numbers of shape {shape}, not {shown(value)}") from None
    if array.shape == item:
        array = np.broadcast_to(array, shape)
    if array.shape != shape:
        single = f"one of shape {item}" if item else "a single number"
        raise RobotError(f"{name}: {what} has shape {array.shape} for {n} joints: give {shape}, or {single} for all")
    for joint, entry in zip(joints, array):
        if not np.all(np.isfinite(entry)):
            raise RobotError(f"{name}: {what} of joint '{joint}' is {entry.tolist()}: every number must be finite")
    return array
