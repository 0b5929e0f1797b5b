"""Where a robot was hit, and how hard: from the residual of its links  [Haddadin sec. V, VI].

A wrench w on a link shows as r = Jᵀw, and only at the joints between the link and the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..checks import finite, positive
from ..dynamics.recursion.kinematics import jacobian
from ..errors import InputError
from ..robot import Robot

COMPONENTS = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")
SMALL = 1e-3  # a component of an unobservable direction that is not worth its name


class ExternalWrench(NamedTuple):
    """A wrench (f, n) on a link's origin, base coordinates, and how far it can be known.

    `unobservable` (..., 6, 6) projects on the wrenches that no joint feels: `wrench` has no part in them.  `rank`
    counts the directions that are felt, `leftover` (..., n) is the part of the residual that no wrench on this link
    explains.  `length` is what weighed moments against forces.
    """

    wrench: np.ndarray
    unobservable: np.ndarray
    rank: np.ndarray
    leftover: np.ndarray
    length: float

    def missing(self) -> list[str]:
        """The unobservable directions of a single estimate in words, such as "1.00 n_z"; none at full rank."""
        if self.wrench.ndim != 1:
            raise InputError(f"missing() describes one estimate, these are {self.wrench.shape[:-1]}: choose one")
        scale, found = scales(self.length), []
        left = self.unobservable * scale / scale[:, None]
        for _ in range(6 - int(self.rank)):  # the axis that is felt least, and what is not felt of it
            direction = left[:, np.argmax(np.diag(left))]
            direction = direction / np.linalg.norm(direction)
            left = left - np.outer(direction, direction)
            found.append(spelled(direction * scale))
        return found


def external_wrench(
    robot: Robot, q: Any, residual: Any, *, link: str | None = None, length: float = 0.1, tolerance: float = 1e-6
) -> ExternalWrench:
    """The smallest wrench on a link, the tool by default, that explains the residual of the links as well as any.

    Forces and moments are weighed with a `length` in m, the size of things touched.  Directions with singular values
    below `tolerance` times the largest count as not felt: choose it as large as noise makes necessary.
    """
    positive("external_wrench", "length", length)
    positive("external_wrench", "tolerance", tolerance)
    J, r = jacobian(robot, q, link=link), finite("external_wrench", "the residual", residual)
    if r.shape[-1:] != (robot.n,):
        raise InputError(f"external_wrench: the residual has shape {r.shape}; it must be (..., {robot.n})")
    scale = scales(length)
    A = np.swapaxes(J, -1, -2) * scale  # r = (Jᵀ scale) (w / scale)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    felt = s > tolerance * np.max(s, axis=-1, keepdims=True)
    inverse = np.where(felt, 1 / np.where(felt, s, 1.0), 0.0)
    along = np.einsum("...ik,...i->...k", U, r)
    wrench = scale * np.einsum("...kj,...k->...j", Vt, inverse * along)
    explained = np.einsum("...ik,...k->...i", U, felt * along)
    known = np.einsum("...ki,...k,...kj->...ij", Vt, felt.astype(float), Vt)
    unfelt = (np.eye(6) - known) * scale[:, None] / scale
    return ExternalWrench(wrench, unfelt, np.sum(felt, axis=-1), r - explained, length)


def scales(length: float) -> np.ndarray:
    return np.array([1.0] * 3 + [length] * 3)


def spelled(direction: np.ndarray) -> str:
    """With 1 for the largest component."""
    direction = direction / direction[np.argmax(np.abs(direction))]
    terms = [f"{x:+.2f} {name}" for x, name in zip(direction, COMPONENTS) if abs(x) > SMALL]
    return " ".join(terms).removeprefix("+")


def struck_links(robot: Robot, alarms: Sequence[Any] | np.ndarray) -> list[str]:
    """The links nearest to the base that can have been hit, from the joints that felt it (n,).

    A joint feels what happens beyond it alone: the link of the last alarmed joint on a branch was hit, or one that it
    carries.  Several names are several contacts; none, no alarm, or a force that no joint feels.
    """
    felt = finite("struck_links", "alarms", np.asarray(alarms, dtype=float)) != 0
    if felt.shape != (robot.n,):
        raise InputError(f"struck_links: alarms have shape {felt.shape}; give one a joint, ({robot.n},)")
    alarmed = {i for i, k in enumerate(robot.coordinates) if k is not None and felt[k]}
    below = {above for i in alarmed for above in robot.path(i) if above != i}
    return [robot.links[i].name for i in sorted(alarmed - below)]
