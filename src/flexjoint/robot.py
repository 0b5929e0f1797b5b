"""The robot: a frozen tree of links, each hanging on its parent by one joint.

A joint turns or slides along the z axis of its link's frame, and the link's frame sits on the joint axis.
Everything is data; algorithms live elsewhere.  A tool or sensor frame is a link without mass on a fixed joint.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from .drives import AntagonisticDrive, Drive, ElasticDrive, Motor, RigidDrive, VariableStiffnessDrive, coupled
from .errors import RobotError
from .spatial import is_zero
from .springs import Spring

BASE = "base"
JointKind = Literal["revolute", "prismatic", "fixed"]
KINDS = ("revolute", "prismatic", "fixed")
Fidelity = Literal["spong", "complete"]
FIDELITIES = ("spong", "complete")
ROUNDING = 1e-9  # relative; below it a violated inequality is put down to rounded data


def frozen_array(value: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise RobotError(f"{what} must be numbers of shape {shape}, not {value!r}") from None
    if array.shape != shape:
        raise RobotError(f"{what} must have shape {shape}, not {array.shape}")
    array = array + 0.0  # −0.0 becomes 0.0: one robot, one digest
    array.flags.writeable = False
    return array


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a joint in rad or m, rad/s or m/s, Nm or N; infinite where unknown."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """Where the link's frame stands in its parent's at q = 0, and how it moves along its own z axis."""

    name: str
    kind: JointKind = "revolute"
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    limits: Limits = field(default_factory=Limits)
    viscous_friction: float = 0.0  # on the link side, Nm s/rad or N s/m
    coulomb_friction: float = 0.0  # likewise, Nm or N: F_c tanh(q'/v_c)
    coulomb_velocity: float = 0.0  # v_c, rad/s or m/s
    drive: Drive | None = None

    def __post_init__(self) -> None:
        freeze(self, position=(3,), rotation=(3, 3))

    @property
    def moves(self) -> bool:
        return self.kind != "fixed"


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A rigid body: mass, centre of mass, and inertia about it, all in the link's frame."""

    name: str
    joint: Joint
    parent: str = BASE
    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))

    def __post_init__(self) -> None:
        freeze(self, com=(3,), inertia=(3, 3))


@dataclass(frozen=True, eq=False)
class Robot:
    """Links in an order in which parents come first; q follows the moving joints in that order.

    Gravity is in base coordinates.  `tool` names the link meant when none is given.  With
    `allow_unphysical` an inertia that no rigid body can have (but still positive semidefinite) is accepted.

    `fidelity` says how far rotors are modelled, in every algorithm: "spong" knows their axial inertia in B alone,
    "complete" also what they and the links that carry them do to each other.  `rotors_in_links` says whether the
    masses and inertias of the links contain the rotors they carry.
    """

    name: str
    links: tuple[Link, ...]
    gravity: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    tool: str = ""
    allow_unphysical: bool = False
    fidelity: Fidelity = "spong"
    rotors_in_links: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "links", tuple(self.links))
        freeze(self, gravity=(3,))
        if not self.tool and self.links:
            object.__setattr__(self, "tool", self.links[-1].name)
        validate(self)

    # Structure ------------------------------------------------------------------------------------------

    @cached_property
    def n(self) -> int:
        """Number of moving joints, the length of q."""
        return len(self.joints)

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """The moving joints, in the order of q."""
        return tuple(link.joint for link in self.links if link.joint.moves)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """For each link the index of its parent, −1 for the base."""
        index = {link.name: i for i, link in enumerate(self.links)}
        return tuple(index.get(link.parent, -1) for link in self.links)

    @cached_property
    def coordinates(self) -> tuple[int | None, ...]:
        """For each link the index of its joint in q, None if fixed."""
        counter = iter(range(len(self.links)))
        return tuple(next(counter) if link.joint.moves else None for link in self.links)

    def link_index(self, name: str | None = None) -> int:
        """Index of a link by name; the tool by default."""
        wanted = self.tool if name is None else name
        for i, link in enumerate(self.links):
            if link.name == wanted:
                return i
        raise RobotError(f"{self.name}: no link '{wanted}'; the links are {', '.join(x.name for x in self.links)}")

    def path(self, link: int) -> list[int]:
        """Links from the base to `link`, both ends included."""
        path = []
        while link >= 0:
            path.append(link)
            link = self.parents[link]
        return path[::-1]

    @cached_property
    def elastic(self) -> tuple[bool, ...]:
        """For each moving joint whether springs separate motors and link."""
        return tuple(isinstance(joint.drive, ElasticDrive | VariableStiffnessDrive) for joint in self.joints)

    @cached_property
    def antagonistic(self) -> tuple[bool, ...]:
        """For each moving joint whether two motors set its stiffness, antagonistic or not."""
        return tuple(isinstance(joint.drive, VariableStiffnessDrive) for joint in self.joints)

    @cached_property
    def motor_joints(self) -> tuple[int, ...]:
        """For each motor the index of its joint: a first motor a joint, then the second ones of antagonistic joints.

        The order of motor positions and torques where a joint may have two motors.
        """
        return (*range(self.n), *(i for i, two in enumerate(self.antagonistic) if two))

    @property
    def motor_count(self) -> int:
        """How many motors there are, a joint driven directly counted as having one."""
        return len(self.motor_joints)

    @property
    def motor_names(self) -> tuple[str, ...]:
        """Names of the motors in the order of `motor_joints`: their joint's, with ".second" after it."""
        names = [self.joints[i].name for i in self.motor_joints]
        return (*names[: self.n], *(f"{name}.second" for name in names[self.n :]))

    @cached_property
    def gear_ratios(self) -> np.ndarray:
        """η of each moving joint's motor: its shaft turns by η θ and delivers τ/η.  NaN where it is not known."""
        drives = [joint.drive for joint in self.joints]
        known = [drive.motors[0].gear_ratio if drive else None for drive in drives]
        ratios = np.array([math.nan if x is None else x for x in known])
        ratios.flags.writeable = False
        return ratios

    def carrier(self, link: int, k: int = 0) -> int:
        """Index of the link that carries the k-th motor of a link's joint, −1 for the base."""
        drive = self.links[link].joint.drive
        name = drive.motors[k].carrier if drive else None
        if name is None:
            return self.parents[link]
        return -1 if name == BASE else self.link_index(name)

    @cached_property
    def damped(self) -> tuple[bool, ...]:
        """For each moving joint whether its springs are damped."""
        drives = [joint.drive for joint in self.joints]
        springy = ElasticDrive | VariableStiffnessDrive
        return tuple(isinstance(drive, springy) and not is_zero(drive.damping) for drive in drives)

    # Transforms -----------------------------------------------------------------------------------------

    def replace(self, **changes: Any) -> Robot:
        """A copy with some fields changed, validated anew."""
        return dataclasses.replace(self, **changes)

    def with_gravity(self, gravity: Sequence[float]) -> Robot:
        return self.replace(gravity=gravity)

    def with_fidelity(self, fidelity: Fidelity) -> Robot:
        """The robot with its rotors modelled as in "spong" or "complete"."""
        return self.replace(fidelity=fidelity)

    def with_drives(self, drives: Sequence[Drive | None]) -> Robot:
        """One drive a moving joint, in the order of q."""
        if len(drives) != self.n:
            raise RobotError(f"{self.name}: {len(drives)} drives for {self.n} moving joints; give one each")
        given = iter(drives)
        return self.replace(
            links=[
                dataclasses.replace(link, joint=dataclasses.replace(link.joint, drive=next(given)))
                if link.joint.moves
                else link
                for link in self.links
            ]
        )

    def without_drives(self) -> Robot:
        """The links alone: no motor inertia, no elasticity."""
        return self.with_drives([None] * self.n)

    def rigid(self) -> Robot:
        """The limit of infinite stiffness: every motor turns with its link."""
        return self.with_drives([j.drive and RigidDrive(coupled(j.drive.motors)) for j in self.joints])

    def with_payload(
        self,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Any = None,
        link: str | None = None,
    ) -> Robot:
        """A further body, rigidly held by `link` (the tool by default), in that link's coordinates."""
        holder = self.links[self.link_index(link)].name
        name = unused("payload", [x.name for x in self.links])
        joint = Joint(unused(f"{name}_mount", [x.joint.name for x in self.links]), "fixed")
        body = Link(name, joint, holder, mass, com, np.zeros((3, 3)) if inertia is None else inertia)  # type: ignore[arg-type]
        point_mass = inertia is None
        return self.replace(links=(*self.links, body), allow_unphysical=self.allow_unphysical or point_mass)

    # Identity -------------------------------------------------------------------------------------------

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that enters a computation."""
        return hashlib.sha256(json.dumps(self, default=_plain, sort_keys=True).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and (self is other or self.digest == other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        kinds = "".join({"revolute": "R", "prismatic": "P"}[j.kind] for j in self.joints)
        return f"Robot({self.name!r}, {kinds or 'no joints'}, {len(self.links)} links, {self.digest[:8]})"


def freeze(item: Any, **shapes: tuple[int, ...]) -> None:
    """Turn array fields into read-only float arrays of the given shape."""
    for name, shape in shapes.items():
        what = f"{name} of {getattr(item, 'name', item)!r}"
        object.__setattr__(item, name, frozen_array(getattr(item, name), shape, what))


def unused(name: str, taken: Iterable[str]) -> str:
    """`name`, or the first of name2, name3, ... that is not taken."""
    names = set(taken)
    return next(x for k in range(1, len(names) + 2) if (x := name if k == 1 else f"{name}{k}") not in names)


def parents_first(links: Iterable[Link]) -> list[Link]:
    """The links reordered as little as possible so that every parent precedes its children."""
    waiting = list(links)
    check_tree(waiting)
    ordered: list[Link] = []
    placed = {BASE}
    while waiting:
        link = next(x for x in waiting if x.parent in placed)
        waiting.remove(link)
        ordered.append(link)
        placed.add(link.name)
    return ordered


def _plain(value: Any) -> Any:
    """Dataclasses and arrays as JSON; floats round-trip exactly through repr, and 1 is written as 1.0."""
    if isinstance(value, Spring | VariableStiffnessDrive):
        return value.plain()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {type(value).__name__: {k: float(x) + 0.0 if is_number(x) else x for k, x in fields.items()}}
    raise TypeError(f"not plain data: {value!r}")


# Validation: the one place ----------------------------------------------------------------------------------


def validate(robot: Robot) -> None:
    """Raise RobotError at the first thing no algorithm could use."""
    check_tree(robot.links)
    check_order(robot.links)
    if robot.tool not in {link.name for link in robot.links}:
        known = ", ".join(link.name for link in robot.links) or "none"
        raise RobotError(f"{robot.name}: the tool link '{robot.tool}' does not exist; the links are: {known}")
    check_finite("gravity", robot.name, robot.gravity)
    for link in robot.links:
        check_joint(link.joint)
        check_body(link, robot.allow_unphysical)
    check_rotors(robot)


def check_tree(links: Sequence[Link]) -> None:
    if not links:
        raise RobotError("a robot needs at least one link")
    for what, names in (("link", [x.name for x in links]), ("joint", [x.joint.name for x in links])):
        seen: set[str] = set()
        for i, name in enumerate(names):
            if not isinstance(name, str) or not name:
                raise RobotError(f"{what} {i} has the name {name!r}: give it a non-empty string")
            if name in seen:
                raise RobotError(f"the {what} name '{name}' is used twice: names must be unique")
            seen.add(name)
    parent = {link.name: link.parent for link in links}
    if BASE in parent:
        raise RobotError(f"a link is named '{BASE}', which is the fixed base: rename it")
    for name, above in parent.items():
        if above != BASE and above not in parent:
            known = ", ".join([BASE, *parent])
            raise RobotError(f"link '{name}' hangs on the unknown link '{above}'; known are: {known}")
    rooted = {BASE}
    for name in parent:
        chain: dict[str, None] = {}  # ordered set: links on the way to the base
        while name not in rooted:
            if name in chain:
                cycle = " -> ".join([*list(chain)[list(chain).index(name) :], name])
                raise RobotError(f"the links form a cycle, {cycle}: one of them must hang on '{BASE}'")
            chain[name] = None
            name = parent[name]
        rooted.update(chain)


def check_order(links: Sequence[Link]) -> None:
    seen = {BASE}
    for link in links:
        if link.parent not in seen:
            raise RobotError(
                f"link '{link.name}' is listed before its parent '{link.parent}': "
                "list parents first, or sort with parents_first(links)"
            )
        seen.add(link.name)


def check_finite(what: str, owner: str, value: Any) -> None:
    array = np.asarray(value, dtype=float)
    if not np.all(np.isfinite(array)):
        raise RobotError(f"{what} of '{owner}' is {array.tolist()}: every number must be finite")


def is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_number(what: str, owner: str, value: Any) -> None:
    if not is_number(value):
        raise RobotError(f"{what} of '{owner}' is {value!r}: it must be a number")
    check_finite(what, owner, value)


def check_joint(joint: Joint) -> None:
    name = joint.name
    if joint.kind not in KINDS:
        raise RobotError(f"joint '{name}' is of kind {joint.kind!r}: choose one of {', '.join(KINDS)}")
    check_finite("position", name, joint.position)
    check_finite("rotation", name, joint.rotation)
    error = float(np.max(np.abs(joint.rotation @ joint.rotation.T - np.eye(3))))
    if error > ROUNDING or np.linalg.det(joint.rotation) < 0:
        raise RobotError(
            f"the rotation of joint '{name}' is not a rotation matrix (|R Rᵀ − 1| = {error:.1e}, "
            f"det R = {np.linalg.det(joint.rotation):.3g}): give an orthonormal, right-handed one"
        )
    check_friction(name, "", joint)
    limits = dataclasses.astuple(joint.limits)
    if any(not is_number(x) or math.isnan(x) for x in limits):
        raise RobotError(f"a limit of joint '{name}' is no number, {joint.limits}: use infinity where unknown")
    if joint.limits.lower > joint.limits.upper:
        raise RobotError(
            f"joint '{name}' has the lower limit {joint.limits.lower:g} above the upper {joint.limits.upper:g}"
        )
    if joint.limits.velocity < 0 or joint.limits.effort < 0:
        raise RobotError(f"joint '{name}' has a negative velocity or effort limit, {joint.limits}")
    check_drive(joint)


def check_friction(name: str, side: str, item: Joint | Motor) -> None:
    """Of a joint, or with `side` "motor " of its motor."""
    for what in ("viscous friction", "coulomb friction", "coulomb velocity"):
        value = getattr(item, what.replace(" ", "_"))
        what = side + what.replace("coulomb", "Coulomb")
        check_number(what, name, value)
        if value < 0:
            raise RobotError(f"the {what} of joint '{name}' is {value:g}: it must not be negative")
    if item.coulomb_friction and not item.coulomb_velocity:
        raise RobotError(
            f"the {side}Coulomb friction of joint '{name}' is {item.coulomb_friction:g} without a Coulomb velocity: "
            "give the velocity over which it changes its sign, v_c in F_c tanh(v/v_c)"
        )


def check_drive(joint: Joint) -> None:
    drive = joint.drive
    if drive is None:
        return
    if not joint.moves:
        raise RobotError(f"joint '{joint.name}' is fixed but has a drive: remove one of the two")
    if not isinstance(drive, Drive) or not all(isinstance(motor, Motor) for motor in drive.motors):
        raise RobotError(
            f"the drive of joint '{joint.name}' is {drive!r}: give RigidDrive(Motor(inertia)), "
            "ElasticDrive(stiffness, Motor(inertia)), AntagonisticDrive(spring_1, spring_2, motor_1, motor_2) or "
            "another VariableStiffnessDrive"
        )
    for motor in drive.motors:
        check_number("motor inertia", joint.name, motor.inertia)
        if motor.inertia < 0:
            raise RobotError(f"the motor inertia of joint '{joint.name}' is {motor.inertia:g}: must not be negative")
        check_friction(joint.name, "motor ", motor)
    if isinstance(drive, RigidDrive):
        return
    check_number("damping", joint.name, drive.damping)
    if drive.damping < 0:
        raise RobotError(f"the damping of joint '{joint.name}' is {drive.damping:g}: it must not be negative")
    if isinstance(drive, VariableStiffnessDrive):
        check_variable_stiffness(joint.name, drive)
    elif not isinstance(drive.stiffness, Spring):  # a law has checked itself
        check_number("stiffness", joint.name, drive.stiffness)
        if drive.stiffness <= 0:
            raise RobotError(
                f"the stiffness of joint '{joint.name}' is {drive.stiffness:g}: it must be positive; "
                "a joint that does not yield has a RigidDrive"
            )
    if any(motor.inertia == 0 for motor in drive.motors):
        raise RobotError(
            f"the elastic joint '{joint.name}' has a motor without inertia: give the reflected inertia η² I_axial"
        )


def check_variable_stiffness(name: str, drive: VariableStiffnessDrive) -> None:
    """A transmission with which motors can set torque and stiffness at once."""
    springs = drive.springs if isinstance(drive, AntagonisticDrive) else ()
    for spring in springs:
        if not isinstance(spring, Spring):
            raise RobotError(f"a spring of the antagonistic joint '{name}' is {spring!r}: give a Spring")
    if not is_number(drive.greatest_stiffness) or not drive.greatest_stiffness > 0:
        raise RobotError(f"the greatest stiffness of joint '{name}' is {drive.greatest_stiffness!r}: must be positive")
    check_number("greatest damping", name, drive.greatest_damping)
    if drive.greatest_damping < 0:
        raise RobotError(f"the greatest damping of joint '{name}' is {drive.greatest_damping:g}: it must be 0 or more")
    gain = drive.gain
    if gain == 0:
        raise RobotError(
            f"the drive of joint '{name}', {drive!r}, cannot set its stiffness: whatever the deflections, stiffness "
            "and torque change in one proportion (the decoupling matrix is singular); of antagonistic springs at least "
            "one must stiffen, and exponential ones at different rates"
        )
    if gain < 0 and springs:
        raise RobotError(
            f"the springs of joint '{name}' soften it when motor 1 is drawn up and motor 2 down: exchange them, "
            f"spring_1={springs[1]!r}, spring_2={springs[0]!r}"
        )
    if gain < 0:
        raise RobotError(
            f"the drive of joint '{name}', {drive!r}, softens it when motor 2 moves the way `stiffens` says: change "
            "the sign of that"
        )


def check_rotors(robot: Robot) -> None:
    """Rotors as bodies: where they sit, how they turn, and whether the fidelity can do with what is known."""
    if robot.fidelity not in FIDELITIES:
        raise RobotError(f"{robot.name}: the fidelity is {robot.fidelity!r}: choose one of {', '.join(FIDELITIES)}")
    if not isinstance(robot.rotors_in_links, bool):
        raise RobotError(f"{robot.name}: rotors_in_links is {robot.rotors_in_links!r}: it must be True or False")
    for link in robot.links:
        for motor in link.joint.drive.motors if link.joint.drive is not None else ():
            check_rotor(robot, link, motor)
        if robot.fidelity == "complete" and isinstance(link.joint.drive, VariableStiffnessDrive):
            raise RobotError(
                f"{robot.name}: joint '{link.joint.name}' has two motors and variable stiffness, for which there is no "
                "complete model: choose the fidelity 'spong'"
            )
    if robot.rotors_in_links:
        check_contained(robot)


def check_contained(robot: Robot) -> None:
    """A link said to contain its rotors must have at least their axial inertia."""
    left = {i: np.array(link.inertia) for i, link in enumerate(robot.links) if link.mass}
    for i, link in enumerate(robot.links):
        for k, motor in enumerate(link.joint.drive.motors if link.joint.drive is not None else ()):
            carrier = robot.carrier(i, k)
            if motor.gear_ratio is None or carrier not in left:
                continue
            axis = link.joint.rotation[:, 2] if motor.axis is None else np.array(motor.axis)
            left[carrier] -= motor.inertia / motor.gear_ratio**2 * np.outer(axis, axis)
            if np.linalg.eigvalsh(left[carrier])[0] < -ROUNDING * np.max(np.abs(robot.links[carrier].inertia)):
                raise RobotError(
                    f"{robot.name}: the inertia of link '{robot.links[carrier].name}' is less than that of the rotors "
                    f"it is said to contain, that of joint '{link.joint.name}' among them: correct the gear ratio, or "
                    "pass rotors_in_links=False if the link's data are without rotors"
                )


def check_rotor(robot: Robot, link: Link, motor: Motor) -> None:
    name = link.joint.name
    carriers = [BASE, *(x.name for x in robot.links)]
    if motor.carrier is not None and motor.carrier not in carriers:
        raise RobotError(
            f"the motor of joint '{name}' is carried by {motor.carrier!r}, which does not exist; known are: "
            f"{', '.join(carriers)}"
        )
    for what in ("transverse inertia", "mass"):
        value = getattr(motor, what.replace(" ", "_"))
        check_number(f"motor {what}", name, value)
        if value < 0:
            raise RobotError(f"the motor {what} of joint '{name}' is {value:g}: it must not be negative")
    for what in ("position", "axis"):
        given = getattr(motor, what)
        if given is not None and (not isinstance(given, tuple) or len(given) != 3):
            raise RobotError(f"the motor {what} of joint '{name}' is {given!r}: give three numbers")
        check_finite(f"motor {what}", name, given or (0.0, 0.0, 0.0))
    if motor.axis is not None and abs(float(np.linalg.norm(motor.axis)) - 1) > ROUNDING:
        raise RobotError(
            f"the motor axis of joint '{name}' is {list(motor.axis)}, of length {np.linalg.norm(motor.axis):.9g}: "
            "give a unit vector; the speed belongs to the gear ratio"
        )
    if motor.gear_ratio is not None:
        check_number("gear ratio", name, motor.gear_ratio)
        if motor.gear_ratio == 0:
            raise RobotError(f"the gear ratio of joint '{name}' is 0: the motor would not turn; give θ_rotor/θ")
    elif robot.fidelity == "complete" and motor.inertia:
        raise RobotError(
            f"{robot.name}: the complete model needs the gear ratio of joint '{name}', not only its reflected inertia: "
            "give the motor a gear_ratio, or use with_fidelity('spong')"
        )
    away = robot.carrier(robot.link_index(link.name)) != robot.parents[robot.link_index(link.name)]
    described = motor.gear_ratio is not None or motor.mass or motor.transverse_inertia
    if away and described and (motor.axis is None or motor.position is None):
        raise RobotError(
            f"the motor of joint '{name}' sits on '{motor.carrier}', away from the joint: give its axis and position "
            "in that link's frame"
        )


def check_body(link: Link, allow_unphysical: bool) -> None:
    name, mass, I = link.name, link.mass, link.inertia
    check_number("mass", name, mass)
    check_finite("centre of mass", name, link.com)
    check_finite("inertia", name, I)
    if mass < 0:
        raise RobotError(f"the mass of link '{name}' is {mass:g} kg: it must not be negative")
    if np.max(np.abs(I - I.T)) > ROUNDING * np.max(np.abs(I), initial=0.0):
        raise RobotError(f"the inertia of link '{name}' is not symmetric: {I.tolist()}")
    if mass == 0:
        if np.any(I):
            raise RobotError(f"link '{name}' has an inertia but no mass: give it a mass, or drop the inertia")
        return
    moments = np.linalg.eigvalsh(I)
    shown = ", ".join(f"{x:.4g}" for x in moments)
    scale = moments[-1]
    if moments[0] < -ROUNDING * abs(scale):
        raise RobotError(
            f"the central inertia of link '{name}' is not positive definite (principal moments {shown} kg m²): "
            "check the order of its elements and that it is taken about the centre of mass"
        )
    if moments[0] <= ROUNDING * abs(scale) and not allow_unphysical:
        raise RobotError(
            f"the central inertia of link '{name}' is not positive definite (principal moments {shown} kg m²): "
            "give it some extent, or pass allow_unphysical=True for a point mass or a thin rod"
        )
    if moments[0] + moments[1] < moments[2] * (1 - ROUNDING) and not allow_unphysical:
        raise RobotError(
            f"the inertia of link '{name}' violates the triangle inequality by "
            f"{moments[2] - moments[0] - moments[1]:.3g} kg m² (principal moments {shown}): no rigid body has it; "
            "correct it, or pass allow_unphysical=True"
        )
