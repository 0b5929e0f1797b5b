"""The robot: a frozen tree of links, each connected to its parent by one joint.

A joint moves its link about or along an axis through the origin of the link's frame, z unless said otherwise.
Everything is data; algorithms live elsewhere.  A tool or sensor frame is a link without mass on a fixed joint.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..drives import CoupledTransmission, Drive, RigidDrive, VariableStiffnessDrive, coupled, friction_law
from ..errors import NOT_NUMBERS, InputError, RobotError, listed, shown
from ..html import table
from ..types import Expression, FloatArray
from .drivetrain import Drivetrain
from .friction import changed_links, frictionless, unloaded
from .joints.fixed import Fixed
from .parts import BASE, Joint, Link, freeze
from .plain import plain
from .sources import Source, carried, check_sources
from .texts import drive_name, kind_text, limits_text, summary
from .validation import check_tree, validate

Fidelity = Literal["spong", "complete"]


@dataclass(frozen=True, eq=False)
class Robot(Drivetrain):
    """A robot: links, gravity, and how its rotors are modelled.  Validated when it is made, and frozen.

    Args:
        name: Shown in messages and tables.
        links: A sequence of Link in which parents come first (`parents_first` sorts); q follows their moving joints.
        gravity: In base coordinates, (3,), m/s². Default (0, 0, −9.81).
        tool: Name of the link that is meant where none is given. Default the last link.
        allow_unphysical: Whether an inertia that no rigid body has is accepted; it must be positive semidefinite.
            Default False.
        fidelity: How rotors are modelled in every algorithm. "spong": only the reflected inertia B of a motor;
            "complete": also the coupling between the rotors and the links that carry them. Default "spong".
        rotors_in_links: Whether masses and inertias of the links contain the rotors they carry. Default True.
        transmissions: Groups of joints whose motors each move several of them, `drives.CoupledTransmission`. Default
            none.
        sources: Where the numbers come from, a sequence of `fj.robot.Source`; they enter no computation. Default none.

    Raises:
        RobotError: If something is missing, not finite or impossible; the message names the link or joint.

    Warns:
        FlexjointWarning: If a number is probably in other units.

    Example:
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

    def with_spring_damping(self, damping: float | Sequence[float]) -> Robot:
        """The robot whose springs have other damping.

        damping: D ≥ 0 of all springs, or one number per entry of q, Nm s/rad or N s/m; ignored at rigid joints.
        """
        try:
            given = np.broadcast_to(np.asarray(damping, dtype=float), (self.n,)).tolist()
        except NOT_NUMBERS:
            raise RobotError(f"{self.name}: damping is {shown(damping)}; give a number, or {self.n}") from None
        pairs = zip([joint.drive for joint in self.joints], self.compliant, given)
        return self.with_drives([dataclasses.replace(x, damping=D) if spring else x for x, spring, D in pairs])  # type: ignore[type-var]

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
        return hashlib.sha256(json.dumps(self, default=plain, sort_keys=True).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and (self is other or self.digest == other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return summary(self)

    def _repr_html_(self) -> str:
        """For notebooks: a table of the joints."""
        rows = [
            (joint.name, kind_text(joint), link.parent, link.name, drive_name(joint.drive), limits_text(joint))
            for link in self.links
            for joint in [link.joint]
        ]
        return table(rows, ("joint", "kind", "parent", "link", "drive", "limits"), caption=self.name)


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

    Args:
        links: Any sequence of Link that forms a tree.

    Raises:
        RobotError: If a parent is missing, a name is used twice or links form a cycle.

    Example:
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
