"""What a controller may know of its surroundings: wrenches on links, and the motion of the base.

What changes with time comes with the reference, whose rows then have more columns: q_d of the n joints, then six
numbers per such wrench, then the pose of the base.  `simulate` adds the pose; `trajectory.MotionAndSurroundings` makes
a reference with both.

Wrenches are given along the axes of the base, and so are their derivatives.  Algorithms take absolute ones, which on a
turning base are others: w_abs' = w' + ω₀ × w, for force and moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks import finite
from ..dynamics.loads import BaseMotion
from ..dynamics.moving_base import POSE, base_motion
from ..errors import InputError, shown
from ..spatial import ca, cross, is_symbolic, sx, total
from ..types import Stack
from .base import Controller, innermost

WRENCH = 6  # numbers of a wrench, f and n


class Surroundings(NamedTuple):
    """A reference without the columns of the surroundings, and these as the algorithms take them."""

    motion: Stack
    wrenches: dict[str, Stack] | None
    base: BaseMotion | None

    @property
    def loads(self) -> dict[str, Any]:
        """The keyword arguments of an algorithm."""
        return {"wrenches": self.wrenches, "base": self.base}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class KnowsWrenches(Controller):
    """A controller that may know wrenches on links.

    Args:
        wrenches: For names of links the wrench (f, n) on them at the origins of their frames, in base coordinates: six
            numbers that stay, in N and Nm; or None for six more columns of the reference.  Default none.
    """

    wrenches: Mapping[str, ArrayLike | None] = field(default_factory=dict)

    @property
    def width(self) -> int:
        return self.robot.n + WRENCH * sum(w is None for w in self.wrenches.values())

    def check_surroundings(self) -> None:
        """Makes the constant wrenches tuples of six numbers; refuses unknown links."""
        owner, found = type(self).__name__, {}
        if not isinstance(self.wrenches, Mapping):
            raise InputError(
                f"{owner}: wrenches is {shown(self.wrenches)}; give wrenches by names of links, such as "
                f"{{'{self.robot.links[-1].name}': [f_x, f_y, f_z, n_x, n_y, n_z]}}"
            )
        for link, w in self.wrenches.items():
            self.robot.link_index(link)
            numbers = None if w is None else finite(owner, f"the wrench on '{link}'", w)
            if numbers is not None and numbers.shape != (WRENCH,):
                raise InputError(f"{owner}: the wrench on '{link}' has shape {numbers.shape}; it must be (6,): f, n")
            found[link] = None if numbers is None else tuple(numbers.tolist())
        object.__setattr__(self, "wrenches", found)

    def surroundings(self, reference: Stack) -> Surroundings:
        """A reference of `width` columns, in SX or arrays, taken apart."""
        n, place = self.robot.n, self.robot.n
        wrenches: dict[str, Stack] = {}
        for link, constant in self.wrenches.items():
            if constant is None:
                wrenches[link] = [columns(x, place, WRENCH) for x in reference]
                place += WRENCH
            else:
                wrenches[link] = [like(x, constant if k == 0 else [0.0] * WRENCH) for k, x in enumerate(reference)]
        base = self.moving_base(reference)
        if base is not None:
            wrenches = {link: absolute(w[: len(base.acceleration)], base) for link, w in wrenches.items()}
        return Surroundings([columns(x, 0, n) for x in reference], wrenches or None, base)

    def moving_base(self, reference: Stack) -> BaseMotion | None:
        """The motion of the base, if the controller knows it."""
        return None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class KnowsSurroundings(KnowsWrenches):
    """A controller that may know wrenches on links and the motion of the base.

    Args:
        base: Whether the reference has six more columns, the pose of the base: x, y, z in m, roll, pitch, yaw in rad.
            `simulate(..., base=)` adds them.  Default False.
    """

    base: bool = False

    @property
    def width(self) -> int:
        return super().width + len(POSE) * self.base

    def check_surroundings(self) -> None:
        super().check_surroundings()
        if not isinstance(self.base, bool):
            raise InputError(
                f"{type(self).__name__}: base is {shown(self.base)}; give True if the law knows the motion of the "
                "base, and the motion itself to simulate(..., base=) or in the reference"
            )

    def moving_base(self, reference: Stack) -> BaseMotion | None:
        if not self.base:
            return None
        return base_motion(self.robot, *(columns(x, self.width - len(POSE), len(POSE)) for x in reference))


def columns(x: Any, first: int, count: int) -> Any:
    """Some entries of a row of the reference, an SX column or an array (..., width)."""
    return x[first : first + count] if is_symbolic(x) else np.asarray(x)[..., first : first + count]


def like(x: Any, numbers: Any) -> Any:
    """Numbers as an SX column, or as an array."""
    return sx(list(numbers)) if is_symbolic(x) else np.array(numbers)


def absolute(wrench: Stack, base: BaseMotion) -> list[Any]:
    """[w, w', ...] with absolute derivatives, from those of the components along the axes of the base.

    d/dt makes of the jet y the jet y' + ω × y, whose entries follow by Leibniz's rule.  At most w'' is needed, and so ω
    and ω', whose components have the same derivative as ω itself.
    """
    parts = []
    for first in (0, 3):
        jet, omega = [columns(w, first, 3) for w in wrench], base.angular_velocity
        found = [jet[0]]
        while len(jet) > 1:
            turned = [
                total(comb(k, j) * crossed(omega[j], jet[k - j]) for j in range(k + 1)) for k in range(len(jet) - 1)
            ]
            jet = [x + y for x, y in zip(jet[1:], turned)]
            found.append(jet[0])
        parts.append(found)
    return [stacked(f, n) for f, n in zip(*parts)]


def crossed(x: Any, y: Any) -> Any:
    """x × y of SX columns, or of arrays (..., 3)."""
    return cross(x, y) if is_symbolic(x) or is_symbolic(y) else np.cross(x, y)


def stacked(f: Any, n: Any) -> Any:
    """A wrench of its force and moment."""
    return ca.vertcat(f, n) if is_symbolic(f) or is_symbolic(n) else np.concatenate([f, n], axis=-1)


def knows_base(controller: Any) -> bool:
    """Whether the reference of a controller ends with the pose of the base."""
    law = innermost(controller)
    return isinstance(law, KnowsSurroundings) and law.base
