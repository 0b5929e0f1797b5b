"""The robot: a frozen tree of links, each connected to its parent by one joint.

A joint moves its link about or along an axis through the origin of the link's frame, z unless said otherwise.
Everything is data; algorithms live elsewhere.  A tool or sensor frame is a link without mass on a fixed joint.
"""

from __future__ import annotations

import copy
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

from ..checks import finite, is_number
from ..drives import CoupledTransmission, Drive, ElasticDrive, RigidDrive, VariableStiffnessDrive, coupled, friction_law
from ..errors import InputError, RobotError, listed, shown
from ..html import table
from ..spatial import ca, is_symbolic, is_zero
from ..springs import Spring
from ..types import Expression, FloatArray
from .friction import changed_links, frictionless, unloaded
from .joints import JointKind
from .joints.fixed import Fixed
from .joints.prismatic import Prismatic
from .mimics import MovingJoint, joint_limits, moving_joints
from .parts import BASE, Joint, Limits, Link, freeze
from .sources import Source, carried, check_sources
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
    transmissions: groups of joints whose motors each move several of them, `drives.CoupledTransmission`.  Default none.
    sources: where the numbers come from, a sequence of `fj.robot.Source`; they enter no computation.  Default none.

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
    transmissions: tuple[CoupledTransmission, ...] = ()
    sources: tuple[Source, ...] = field(default=(), metadata={"free": False, "digest": False})

    def __post_init__(self) -> None:
        if not isinstance(self.links, Iterable):
            raise RobotError(f"the links are {shown(self.links)}: give a list of Link(...)")
        object.__setattr__(self, "links", tuple(self.links))
        if isinstance(self.transmissions, Iterable):  # anything else is refused by validate
            object.__setattr__(self, "transmissions", tuple(self.transmissions))
        if isinstance(self.sources, Iterable):
            object.__setattr__(self, "sources", tuple(self.sources))
        freeze(self, gravity=(3,))
        if not self.tool and self.links:
            object.__setattr__(self, "tool", getattr(self.links[-1], "name", ""))
        validate(self)

    # Structure ------------------------------------------------------------------------------------------

    @cached_property
    def n(self) -> int:
        """Number of independent coordinates, the length of q: the moving joints that follow no other one."""
        return len(self.joints)

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """The moving joints that follow no other one, in the order of q.

        Their limits keep their followers within their own: `joint_limits`.
        """
        own = [x.joint for x in self.moving_joints if not x.follows]
        return tuple(map(limited, own, self.joint_limits)) if self.followers else tuple(own)

    @cached_property
    def moving_joints(self) -> tuple[MovingJoint, ...]:
        """All moving joints in the order of the links, followers among them, each with the coordinate that moves it:
        the position of a joint is ratio · q[coordinate] + offset."""
        return moving_joints(self.links)

    @cached_property
    def followers(self) -> tuple[MovingJoint, ...]:
        """The moving joints that follow others (`Joint.mimic`); most robots have none."""
        return tuple(x for x in self.moving_joints if x.follows)

    @cached_property
    def joint_limits(self) -> tuple[Limits, ...]:
        """Limits per coordinate: those of its joint, tightened by those of the followers."""
        return joint_limits(self.moving_joints)

    @cached_property
    def coupling(self) -> tuple[FloatArray, FloatArray]:
        """(G, c) with the positions G q + c of all moving joints, (moving joints, n) and (moving joints,).

        >>> from flexjoint.robot import Mimic
        >>> jaw = Link("jaw", Joint("left"), mass=1.0, inertia=np.eye(3))
        >>> other = Link("other", Joint("right", mimic=Mimic("left", ratio=-1.0)), mass=1.0, inertia=np.eye(3))
        >>> Robot("gripper", (jaw, other)).coupling[0].tolist()
        [[1.0], [-1.0]]
        """
        if any(is_symbolic(x) for follower in self.followers for x in (follower.ratio, follower.offset)):
            raise InputError(
                f"coupling: a ratio or an offset of '{self.name}' is a symbol; call joint_positions with SX, or give "
                "the robot with its numbers, before with_symbols"
            )
        G, c = np.zeros((len(self.moving_joints), self.n)), np.zeros(len(self.moving_joints))
        for i, x in enumerate(self.moving_joints):
            G[i, x.coordinate], c[i] = x.ratio, x.offset
        for array in (G, c):
            array.flags.writeable = False
        return G, c

    def joint_positions(self, q: Any) -> Any:
        """Positions of all moving joints (..., moving joints) in the order of `moving_joints`, from q (..., n).

        q: numbers, or SX (n, 1), for which the positions are SX too.

        Raises InputError if q has another shape or is no numbers.
        """
        if is_symbolic(q):
            return ca.vertcat(*[x.ratio * q[x.coordinate] + x.offset for x in self.moving_joints])
        G, c = self.coupling
        values = finite("joint_positions", "q", q)
        if values.shape[-1:] != (self.n,):
            raise InputError(f"joint_positions: q has shape {values.shape}; it must be (..., {self.n})")
        chosen = [x.coordinate for x in self.moving_joints]
        return G[range(len(c)), chosen] * values[..., chosen] + c

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
        """Index in q per link, that of the leader if its joint follows another one, None if its joint is fixed."""
        found: list[int | None] = [None] * len(self.links)
        for moving in self.moving_joints:
            found[moving.link] = moving.coordinate
        return tuple(found)

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
        """Indices of the motors whose positions θ are coordinates of their own; elsewhere θ = q, or T q in a group."""
        return tuple(k for k, i in enumerate(self.motor_joints) if self.compliant[i])

    @cached_property
    def transmission_joints(self) -> tuple[tuple[int, ...], ...]:
        """Indices in q of the joints of each of the `transmissions`."""
        place = {joint.name: i for i, joint in enumerate(self.joints)}
        return tuple(tuple(place[name] for name in group.joints) for group in self.transmissions)

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
    def hysteretic(self) -> tuple[int, ...]:
        """Indices of the moving joints whose gears have hysteresis: each has a state z of its own in a simulation."""
        drives = [joint.drive for joint in self.joints]
        return tuple(i for i, drive in enumerate(drives) if isinstance(drive, ElasticDrive) and drive.hysteresis)

    @cached_property
    def gear_losses(self) -> tuple[bool, ...]:
        """For each moving joint whether its gear has hysteresis or backlash."""
        gaps = [getattr(joint.drive, "backlash", 0.0) for joint in self.joints]
        return tuple(i in self.hysteretic or not is_zero(gap) for i, gap in enumerate(gaps))

    @cached_property
    def parallel_springs(self) -> tuple[MovingJoint, ...]:
        """The moving joints with a spring between their links and the parents of these, followers among them."""
        return tuple(x for x in self.moving_joints if x.joint.parallel_spring is not None)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Paths of the numbers that are CasADi symbols; none unless the robot comes from `with_symbols`."""
        return ()

    # Transforms -----------------------------------------------------------------------------------------

    def replace(self, **changes: Any) -> Robot:
        """A copy with some fields changed, validated as every new robot is.

        Numbers that stay the same keep their sources, unless `sources` are given; changed and new ones have none.
        """
        if self.symbols:
            raise RobotError(
                f"{self.name} has symbols at {listed(self.symbols, most=4)}, which cannot be checked: "
                "change the robot with its numbers first, then call with_symbols"
            )
        if "sources" in changes or not self.sources:
            return dataclasses.replace(self, **changes)
        changed = dataclasses.replace(self, **changes, sources=())
        return changed.with_sources(carried(self, changed))

    def with_sources(self, sources: Iterable[Source]) -> Robot:
        """The robot with other sources of its numbers.

        Raises RobotError if a source names a number that the robot does not have.
        """
        robot = copy.copy(self)
        object.__setattr__(robot, "sources", tuple(sources) if isinstance(sources, Iterable) else sources)
        check_sources(robot)
        return robot

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
        """The robot with other drives, one per entry of q in the order of `joints`; followers keep theirs."""
        if len(drives) != self.n:
            raise RobotError(f"{self.name}: {len(drives)} drives for {self.n} moving joints; give one each")
        given = iter(drives)
        return self.replace(
            links=[
                dataclasses.replace(link, joint=dataclasses.replace(link.joint, drive=next(given)))
                if link.joint.moves and link.joint.mimic is None
                else link
                for link in self.links
            ]
        )

    def without_drives(self) -> Robot:
        """The robot without motors, springs and coupled transmissions.

        Friction no longer depends on the load, as in `rigid`.
        """
        links = [dataclasses.replace(x, joint=dataclasses.replace(unloaded(x.joint), drive=None)) for x in self.links]
        return self.replace(links=links, transmissions=())

    def rigid(self) -> Robot:
        """The robot with infinitely stiff springs: motors turn with their links, motors that set a stiffness rest.

        Friction no longer depends on the load: a rigid joint has no such friction (docs/friction.md).
        """
        loaded = any(friction_law(joint).loaded for joint in self.joints)
        robot = self.replace(links=changed_links(self.links, unloaded)) if loaded else self
        return robot.with_drives([joint.drive and stiffened(joint) for joint in robot.joints])

    def without_spring_damping(self) -> Robot:
        """The robot with undamped springs: the one that `inverse_dynamics` takes without a state."""
        drives = [joint.drive for joint in self.joints]
        return self.with_drives(
            [dataclasses.replace(x, damping=0.0) if damped else x for x, damped in zip(drives, self.damped)]  # type: ignore[type-var]
        )

    def without_gear_losses(self) -> Robot:
        """The robot without hysteresis and backlash of its gears: the model for inverse dynamics and control laws."""
        drives = [joint.drive for joint in self.joints]
        changes: dict[str, Any] = {"hysteresis": None, "backlash": 0.0}
        return self.with_drives(
            [dataclasses.replace(x, **changes) if losses else x for x, losses in zip(drives, self.gear_losses)]  # type: ignore[type-var]
        )

    def without_friction(self) -> Robot:
        """The robot with frictionless joints and motors."""
        return self.replace(links=changed_links(self.links, frictionless))

    def without_parallel_springs(self) -> Robot:
        """The robot without the springs between links and their parents; those of the drives stay."""
        return self.replace(
            links=[
                dataclasses.replace(x, joint=dataclasses.replace(x.joint, parallel_spring=None)) for x in self.links
            ]
        )

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
        """SHA-256 of everything that enters a computation: all but the sources."""
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
        if self.followers:
            parts.append(f"{len(self.followers)} follower{'s' * (len(self.followers) != 1)}")
        if count := len(self.parallel_springs):
            parts.append(f"{count} parallel spring{'s' * (count != 1)}")
        if count := len(self.transmissions):
            parts.append(f"{count} coupled transmission{'s' * (count != 1)}")
        parts.append(f"{len(self.links)} link{'s' * (len(self.links) != 1)}")
        return f"Robot({self.name!r}, {', '.join(parts)}, tool {self.tool!r})"

    def _repr_html_(self) -> str:
        """For notebooks: a table of the joints."""
        rows = [
            (joint.name, kind_text(joint), link.parent, link.name, drive_name(joint.drive), limits_text(joint))
            for link in self.links
            for joint in [link.joint]
        ]
        return table(rows, ("joint", "kind", "parent", "link", "drive", "limits"), caption=self.name)


def limited(joint: Joint, limits: Limits) -> Joint:
    """A joint with other limits; nothing is checked, its numbers may be symbols."""
    changed = copy.copy(joint)
    object.__setattr__(changed, "limits", limits)
    return changed


def drive_name(drive: Drive | None) -> str:
    """The kind of a drive in one word, "none" without a drive."""
    return "none" if drive is None else type(drive).__name__.removesuffix("Drive").lower()


def stiffness_text(item: Any) -> str:
    """Stiffness of a drive or spring in SI units, the name of a spring law that is not linear, or ""."""
    if springs := getattr(item, "springs", ()):
        return ", ".join(dict.fromkeys(spring.name for spring in springs))
    stiffness = getattr(item, "stiffness", "")
    return f"{stiffness:g}" if isinstance(stiffness, int | float) else getattr(stiffness, "name", "")


def kind_text(joint: Joint) -> str:
    """The kind of a joint, and what it follows, such as "prismatic = −1 · left_finger + 0.1"."""
    mimic = joint.mimic
    if mimic is None:
        return joint.kind.name
    ratio = "" if mimic.ratio == 1 else f"{mimic.ratio:g} · "
    offset = f" {'-' if mimic.offset < 0 else '+'} {abs(mimic.offset):g}" if mimic.offset else ""
    return f"{joint.kind.name} = {ratio}{mimic.joint}{offset}"


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
        motors = drive.turning if isinstance(drive, VariableStiffnessDrive) else drive.motors
        return RigidDrive(coupled(tuple(map(unloaded, motors))))
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
        kept = [f.name for f in dataclasses.fields(value) if f.metadata.get("digest", True)]
        fields = {name: getattr(value, name) for name in kept}
        return {type(value).__name__: {k: float(x) + 0.0 if is_number(x) else x for k, x in fields.items()}}
    raise TypeError(f"not plain data: {value!r}")
