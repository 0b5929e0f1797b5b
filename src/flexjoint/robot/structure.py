"""Questions about the links and joints of a robot: coordinates, followers, limits, parents and paths."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np

from ..checks import finite
from ..errors import InputError, RobotError, listed, shown
from ..spatial import ca, is_symbolic
from ..types import FloatArray
from .mimics import MovingJoint, joint_limits, moving_joints
from .parts import Joint, Limits, Link


class Structure:
    """What follows from the links of a robot alone."""

    name: str
    links: tuple[Link, ...]
    tool: str

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
        """(G, c) with the positions G q + c of all moving joints, (moving joints, n) and (moving joints,)."""
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

        >>> from flexjoint.robot import Joint, Link, Mimic, Robot
        >>> jaw = Link("jaw", Joint("left"), mass=1.0, inertia=np.eye(3))
        >>> other = Link("other", Joint("right", mimic=Mimic("left", ratio=-1.0)), mass=1.0, inertia=np.eye(3))
        >>> gripper = Robot("gripper", (jaw, other))
        >>> gripper.joint_positions([0.2]).tolist(), gripper.coupling[0].tolist()
        ([0.2, -0.2], [[1.0], [-1.0]])
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


def limited(joint: Joint, limits: Limits) -> Joint:
    """A joint with other limits; nothing is checked, its numbers may be symbols."""
    changed = copy.copy(joint)
    object.__setattr__(changed, "limits", limits)
    return changed
