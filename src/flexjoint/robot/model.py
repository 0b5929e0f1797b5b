"""The robot: a frozen tree of links, each connected to its parent by one joint.

A joint moves its link about or along the z axis of the link's frame, and the origin of that frame lies on the joint
axis.  Everything is data; algorithms live elsewhere.  A tool or sensor frame is a link without mass on a fixed joint.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..checks import is_number
from ..drives import Drive, ElasticDrive, RigidDrive, VariableStiffnessDrive, coupled
from ..errors import InputError, RobotError, listed, shown
from ..html import table
from ..spatial import ca, is_symbolic, is_zero
from ..springs import Spring
from ..types import Expression, FloatArray
from .friction import changed_links, frictionless
from .joints import JointKind
from .joints.fixed import Fixed
from .joints.prismatic import Prismatic
from .parts import BASE, Joint, Link, freeze
from .validation import check_tree, validate

MOST_LETTERS = 20  # joints whose kinds stand in the repr of a robot
Fidelity = Literal["spong", "complete"]


@dataclass(frozen=True, eq=False)
class Robot:
    """A robot: links, gravity, and how its rotors are modelled.  Validated when it is made, and frozen.

    name: shown in messages and tables.
    links: a sequence of Link in which parents come first (`parents_first` sorts); q follows their moving joints.
    gravity: in base coordinates, (3,), m/s².  Default (0, 0, −9.81).
    tool: name of the link that is meant where none is given.  Default the last link.
    allow_unphysical: whether an inertia that no rigid body has is accepted; it must be positive semidefinite.
        Default False.
    fidelity: how rotors are modelled in every algorithm.  "spong": only the reflected inertia B of a motor; "complete":
        also the coupling between the rotors and the links that carry them.  Default "spong".
    rotors_in_links: whether masses and inertias of the links contain the rotors they carry.  Default True.

    Raises RobotError, naming the link or joint, if something is missing, not finite or impossible.  Warns with a
    FlexjointWarning if a number is probably in other units.

    >>> arm = Link("arm", Joint("hinge"), mass=2.0, com=(0.3, 0.0, 0.0), inertia=0.02 * np.eye(3))
    >>> Robot("pendulum", (arm,))
    Robot('pendulum', R, 1 link, tool 'arm')
    """

    name: str
    links: tuple[Link, ...]
    gravity: FloatArray = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    tool: str = ""
    allow_unphysical: bool = False
    fidelity: Fidelity = "spong"
    rotors_in_links: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.links, Iterable):
            raise RobotError(f"the links are {shown(self.links)}: give a list of Link(...)")
        object.__setattr__(self, "links", tuple(self.links))
        freeze(self, gravity=(3,))
        if not self.tool and self.links:
            object.__setattr__(self, "tool", getattr(self.links[-1], "name", ""))
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
        """Index of the parent per link, −1 for the base."""
        return tuple(self._places.get(link.parent, -1) for link in self.links)

    @cached_property
    def _places(self) -> dict[str, int]:
        """Index of a link by its name."""
        return {link.name: i for i, link in enumerate(self.links)}

    @cached_property
    def coordinates(self) -> tuple[int | None, ...]:
        """Index in q per link, None if its joint is fixed."""
        counter = iter(range(len(self.links)))
        return tuple(next(counter) if link.joint.moves else None for link in self.links)

    def link_index(self, name: str | None = None) -> int:
        """Index of a link by name; the tool by default.  Raises RobotError if there is none of that name."""
        wanted = self.tool if name is None else name
        if isinstance(wanted, str) and wanted in self._places:
            return self._places[wanted]
        raise RobotError(f"{self.name}: no link {shown(wanted)}; the links are {listed(x.name for x in self.links)}")

    def path(self, link: int) -> list[int]:
        """Links from the base to `link`, both ends included."""
        path = []
        while link >= 0:
            path.append(link)
            link = self.parents[link]
        return path[::-1]

    @cached_property
    def compliant(self) -> tuple[bool, ...]:
        """For each moving joint whether a spring of any kind is between motor and link."""
        return tuple(isinstance(joint.drive, ElasticDrive | VariableStiffnessDrive) for joint in self.joints)

    @cached_property
    def elastic(self) -> tuple[bool, ...]:
        """For each moving joint whether its drive is an ElasticDrive: one motor behind one spring."""
        return tuple(isinstance(joint.drive, ElasticDrive) for joint in self.joints)

    @cached_property
    def variable_stiffness(self) -> tuple[bool, ...]:
        """For each moving joint whether two motors set its position and its stiffness."""
        return tuple(isinstance(joint.drive, VariableStiffnessDrive) for joint in self.joints)

    @cached_property
    def motor_joints(self) -> tuple[int, ...]:
        """For each motor the index of its joint: the first motor of every joint, then the second motors.

        Joints of variable stiffness have a second motor.  Arrays over the motors (theta, theta_v, tau) have this order.
        """
        return (*range(self.n), *(i for i, two in enumerate(self.variable_stiffness) if two))

    @property
    def motor_count(self) -> int:
        """How many motors there are, a joint driven directly counted as having one."""
        return len(self.motor_joints)

    @cached_property
    def motors_behind_springs(self) -> tuple[int, ...]:
        """Indices of the motors whose positions θ are coordinates of their own; elsewhere θ = q."""
        return tuple(k for k, i in enumerate(self.motor_joints) if self.compliant[i])

    @property
    def motor_names(self) -> tuple[str, ...]:
        """Names of the motors in the order of `motor_joints`: their joint's, with ".second" after it."""
        names = [self.joints[i].name for i in self.motor_joints]
        return (*names[: self.n], *(f"{name}.second" for name in names[self.n :]))

    @property
    def motor_kinds(self) -> tuple[JointKind, ...]:
        """Kind per motor: that of its joint, but prismatic for a second motor that slides by itself."""
        joints = [self.joints[i] for i in self.motor_joints]
        return tuple(Prismatic() if own else joint.kind for joint, own in zip(joints, self._sliding))

    @property
    def motor_efforts(self) -> tuple[float, ...]:
        """Greatest torque per motor: the lesser of its own limit and the effort of its joint.

        The effort of a joint does not bound a second motor that slides by itself.
        """
        drives = [self.joints[i].drive for i in self.motor_joints]
        own = [drive.motors[k >= self.n].limits.torque if drive else math.inf for k, drive in enumerate(drives)]
        efforts = [self.joints[i].limits.effort for i in self.motor_joints]
        return tuple(x if alone else min(x, effort) for x, effort, alone in zip(own, efforts, self._sliding))

    @property
    def _sliding(self) -> list[bool]:
        """Whether a motor slides by itself, per motor."""
        drives = [self.joints[i].drive for i in self.motor_joints]
        return [k >= self.n and getattr(drive, "slides", False) for k, drive in enumerate(drives)]

    @cached_property
    def gear_ratios(self) -> FloatArray:
        """η of the motor per moving joint: its shaft turns by η θ and delivers τ/η.  NaN where it is not known."""
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

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Paths of the numbers that are CasADi symbols; none unless the robot comes from `with_symbols`."""
        return ()

    # Transforms -----------------------------------------------------------------------------------------

    def replace(self, **changes: Any) -> Robot:
        """A copy with some fields changed, validated as every new robot is."""
        if self.symbols:
            raise RobotError(
                f"{self.name} has symbols at {listed(self.symbols, most=4)}, which cannot be checked: "
                "change the robot with its numbers first, then call with_symbols"
            )
        return dataclasses.replace(self, **changes)

    def with_symbols(self, symbols: Mapping[str, Expression]) -> Robot:
        """The robot with CasADi SX in place of some of its numbers, for algorithms called with SX.

        symbols: SX by path or pattern, such as {"link3.mass": m, "*.drive.stiffness": K}: symbols or expressions,
            (1, 1) for a number, a column (k, 1) for a vector, an inertia (xx, xy, xz, yy, yz, zz) or a pattern.
            `fj.robot.symbols(robot, paths)` makes new ones.  Paths are listed by `fj.robot.robot_parameters(robot)`.

        Returns a robot that every algorithm takes with SX; a symbol is never taken for zero.  For calls with arrays use
        `fj.compile(algorithm, robot, free=paths)` instead.
        Raises InputError if a path is unknown or an expression has a wrong shape.

        >>> import casadi as ca, flexjoint as fj
        >>> m, q = ca.SX.sym("m"), ca.SX.sym("q", 7)
        >>> robot = fj.load("kuka_lwr").with_symbols({"tool.mass": m})
        >>> ca.jacobian(fj.gravity_torque(robot, q), m).shape
        (7, 1)
        """
        from .parameters import by_element, with_symbols

        return with_symbols(self, by_element(self, symbols))

    def with_gravity(self, gravity: Sequence[float]) -> Robot:
        """The robot under another gravity, (3,), m/s², in base coordinates."""
        return self.replace(gravity=gravity)

    def with_fidelity(self, fidelity: Fidelity) -> Robot:
        """The robot with its rotors modelled as in "spong" or "complete"."""
        return self.replace(fidelity=fidelity)

    def with_drives(self, drives: Sequence[Drive | None]) -> Robot:
        """The robot with other drives, one per moving joint in the order of q."""
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
        """The robot without motors and springs."""
        return self.with_drives([None] * self.n)

    def rigid(self) -> Robot:
        """The robot with infinitely stiff springs: motors turn with their links, motors that set a stiffness rest."""
        return self.with_drives([joint.drive and stiffened(joint) for joint in self.joints])

    def without_spring_damping(self) -> Robot:
        """The robot with undamped springs: the one that `inverse_dynamics` takes without a state."""
        drives = [joint.drive for joint in self.joints]
        return self.with_drives(
            [dataclasses.replace(x, damping=0.0) if damped else x for x, damped in zip(drives, self.damped)]  # type: ignore[type-var]
        )

    def without_friction(self) -> Robot:
        """The robot with frictionless joints and motors."""
        return self.replace(links=changed_links(self.links, frictionless))

    def with_payload(
        self,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Any = None,
        link: str | None = None,
    ) -> Robot:
        """The robot with a further body, rigidly held by a link.

        mass: kg.
        com: centre of mass in the link's frame, (3,), m.  Default its origin.
        inertia: about the centre of mass, (3, 3), kg m².  Default None, a point mass.
        link: name of the link that holds it.  Default the tool.
        """
        holder = self.links[self.link_index(link)].name
        name = unused("payload", [x.name for x in self.links])
        joint = Joint(unused(f"{name}_mount", [x.joint.name for x in self.links]), Fixed())
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
        kinds = "".join(joint.kind.letter for joint in self.joints) or "no joints"
        kinds = kinds if len(kinds) <= MOST_LETTERS else f"{self.n} joints"
        drives = Counter(drive_name(joint.drive) for joint in self.joints if joint.drive is not None)
        parts = [kinds, *(f"{count} {name}" for name, count in drives.items())]
        parts.append(f"{len(self.links)} link{'s' * (len(self.links) != 1)}")
        return f"Robot({self.name!r}, {', '.join(parts)}, tool {self.tool!r})"

    def _repr_html_(self) -> str:
        """For notebooks: a table of the joints."""
        rows = [
            (joint.name, joint.kind.name, link.parent, link.name, drive_name(joint.drive), limits_text(joint))
            for link in self.links
            for joint in [link.joint]
        ]
        return table(rows, ("joint", "kind", "parent", "link", "drive", "limits"), caption=self.name)


def drive_name(drive: Drive | None) -> str:
    """The kind of a drive in one word, "none" without a drive."""
    return "none" if drive is None else type(drive).__name__.removesuffix("Drive").lower()


def limits_text(joint: Joint) -> str:
    """The bounds of a joint in one line, without those that are not known."""
    limits, kind = joint.limits, joint.kind
    if not kind.moves:
        return ""
    bounded = math.isfinite(limits.lower) or math.isfinite(limits.upper)
    found = [f"{limits.lower:g} to {limits.upper:g} {kind.unit('rad | m')}"] if bounded else []
    for value, unit in (
        *((limits.velocity, "rad/s | m/s"), (limits.acceleration, "rad/s² | m/s²"), (limits.jerk, "rad/s³ | m/s³")),
        (limits.effort, "Nm | N"),
    ):
        found += [f"{value:g} {kind.unit(unit)}"] if math.isfinite(value) else []
    return ", ".join(found)


def a_robot(owner: str, value: object) -> Robot:
    """The argument `robot` of a function, which must be a Robot; `owner` begins the message of the InputError."""
    if not isinstance(value, Robot):
        raise InputError(f"{owner}: robot must be a Robot, not {type(value).__name__}")
    return value


def stiffened(joint: Joint) -> RigidDrive:
    """The drive of a joint with infinitely stiff springs."""
    drive: Any = joint.drive
    try:
        return RigidDrive(coupled(drive.turning if isinstance(drive, VariableStiffnessDrive) else drive.motors))
    except RobotError as error:
        raise RobotError(f"joint '{joint.name}' cannot be made rigid: {error}") from None


def unused(name: str, taken: Iterable[str]) -> str:
    """`name`, or the first of name2, name3, ... that is free."""
    names = set(taken)
    return next(x for k in range(1, len(names) + 2) if (x := name if k == 1 else f"{name}{k}") not in names)


def parents_first(links: Iterable[Link]) -> list[Link]:
    """The links in an order in which parents come first, changed as little as possible.

    links: any sequence of Link that forms a tree.

    Raises RobotError if a parent is missing, a name is used twice or links form a cycle.

    >>> hand = Link("hand", Joint("wrist"), parent="arm")
    >>> [link.name for link in parents_first([hand, Link("arm", Joint("shoulder"))])]
    ['arm', 'hand']
    """
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
    """Dataclasses and arrays as JSON; floats round-trip exactly through repr, and 1 is written as 1.0.

    A symbol (`with_symbols`) is identified by its place in memory.
    """
    if is_symbolic(value):
        return [x.element_hash() for x in ca.vertsplit(ca.vec(value))]
    if isinstance(value, Spring | VariableStiffnessDrive):
        return value.plain()
    if isinstance(value, JointKind) and not value.numbers:
        return value.name
    if isinstance(value, np.ndarray):
        return value.tolist()
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {type(value).__name__: {k: float(x) + 0.0 if is_number(x) else x for k, x in fields.items()}}
    raise TypeError(f"not plain data: {value!r}")
