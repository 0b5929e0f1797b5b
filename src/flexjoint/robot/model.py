"""The robot: a frozen tree of links, each hanging on its parent by one joint.

A joint turns or slides along the z axis of its link's frame, and the link's frame sits on the joint axis.
Everything is data; algorithms live elsewhere.  A tool or sensor frame is a link without mass on a fixed joint.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..drives import Drive, ElasticDrive, RigidDrive, VariableStiffnessDrive, coupled
from ..errors import InputError, RobotError, listed, shown
from ..spatial import ca, is_symbolic, is_zero
from ..springs import Spring
from .checks import is_number
from .parts import BASE, Joint, Link, freeze
from .validation import check_tree, validate

Fidelity = Literal["spong", "complete"]


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
        """For each link the index of its parent, −1 for the base."""
        return tuple(self._places.get(link.parent, -1) for link in self.links)

    @cached_property
    def _places(self) -> dict[str, int]:
        """The index of each link by its name."""
        return {link.name: i for i, link in enumerate(self.links)}

    @cached_property
    def coordinates(self) -> tuple[int | None, ...]:
        """For each link the index of its joint in q, None if fixed."""
        counter = iter(range(len(self.links)))
        return tuple(next(counter) if link.joint.moves else None for link in self.links)

    def link_index(self, name: str | None = None) -> int:
        """Index of a link by name; the tool by default."""
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
    def motor_kinds(self) -> tuple[str, ...]:
        """Of each motor "revolute" or "prismatic", as its joint is; a second one may slide by itself."""
        joints = [self.joints[i] for i in self.motor_joints]
        return tuple("prismatic" if own else joint.kind for joint, own in zip(joints, self._sliding))

    @property
    def motor_efforts(self) -> tuple[float, ...]:
        """Bound of each motor's torque: that of its joint; none of a second motor whose force is no torque."""
        efforts = [self.joints[i].limits.effort for i in self.motor_joints]
        return tuple(math.inf if own else effort for effort, own in zip(efforts, self._sliding))

    @property
    def _sliding(self) -> list[bool]:
        """Whether a motor slides by itself."""
        drives = [self.joints[i].drive for i in self.motor_joints]
        return [k >= self.n and getattr(drive, "slides", False) for k, drive in enumerate(drives)]

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
        """The limit of infinite stiffness: motors turn with their links; one that only sets a stiffness rests."""
        return self.with_drives([joint.drive and stiffened(joint) for joint in self.joints])

    def without_spring_damping(self) -> Robot:
        """The robot with undamped springs: the one that `inverse_dynamics` takes without a state."""
        drives = [joint.drive for joint in self.joints]
        return self.with_drives(
            [dataclasses.replace(x, damping=0.0) if damped else x for x, damped in zip(drives, self.damped)]  # type: ignore[type-var]
        )

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


def a_robot(owner: str, value: object) -> Robot:
    """An argument that must be one; `owner` begins the message."""
    if not isinstance(value, Robot):
        raise InputError(f"{owner}: robot must be a Robot, not {type(value).__name__}")
    return value


def stiffened(joint: Joint) -> RigidDrive:
    """The drive of a joint whose springs do not yield."""
    drive: Any = joint.drive
    try:
        return RigidDrive(coupled(drive.turning if isinstance(drive, VariableStiffnessDrive) else drive.motors))
    except RobotError as error:
        raise RobotError(f"joint '{joint.name}' cannot be made rigid: {error}") from None


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
    """Dataclasses and arrays as JSON; floats round-trip exactly through repr, and 1 is written as 1.0.

    A symbol, which a robot holds while a kernel with free parameters is traced, is known by its place in memory.
    """
    if is_symbolic(value):
        return [x.element_hash() for x in ca.vertsplit(ca.vec(value))]
    if isinstance(value, Spring | VariableStiffnessDrive):
        return value.plain()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {type(value).__name__: {k: float(x) + 0.0 if is_number(x) else x for k, x in fields.items()}}
    raise TypeError(f"not plain data: {value!r}")
