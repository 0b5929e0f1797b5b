"""Link and wrench of a contact, from the residual of the links  [Haddadin sec. V, VI].

A wrench w on a link appears as r = Jᵀw, and only at the joints between the link and the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks import finite, positive
from ..dynamics.recursion.kinematics import jacobian
from ..errors import InputError
from ..robot import Robot
from ..types import FloatArray

COMPONENTS = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")
SMALL = 1e-3  # a component of an unobservable direction below it is left out of the text


class ExternalWrench(NamedTuple):
    """An estimated wrench on a link, and which part of it is observable.

    Args:
        wrench: Force and moment (..., 6) on the origin of the link, base coordinates, N and Nm; without the
            unobservable part.
        unobservable: Projection (..., 6, 6) on the wrenches that no joint feels.
        rank: Number (...) of observable directions, 0 to 6.
        unexplained: Part (..., n) of the residual that no wrench on this link explains, Nm or N.
        length: The length that weights moments against forces, m.
    """

    wrench: FloatArray
    unobservable: FloatArray
    rank: np.ndarray
    unexplained: FloatArray
    length: float

    def unobservable_directions(self) -> list[str]:
        """The unobservable directions of a single estimate in words, such as "1.00 n_z"; none at full rank.

        Raises:
            InputError: There are several estimates.
        """
        if self.wrench.ndim != 1:
            raise InputError(
                f"unobservable_directions() describes one estimate, these are {self.wrench.shape[:-1]}: choose one"
            )
        scale, found = scales(self.length), []
        left = self.unobservable * scale / scale[:, None]
        for _ in range(6 - int(self.rank)):  # take out the least observable axis, one after the other
            direction = left[:, np.argmax(np.diag(left))]
            direction = direction / np.linalg.norm(direction)
            left = left - np.outer(direction, direction)
            found.append(spelled(direction * scale))
        return found


def external_wrench(
    robot: Robot,
    q: ArrayLike,
    residual: ArrayLike,
    *,
    link: str | None = None,
    length: float = 0.1,
    tolerance: float = 1e-6,
) -> ExternalWrench:
    """The smallest wrench on a link that explains the residual of the links best, in the sense of least squares.

    Args:
        robot: The model.
        q: Link positions (..., n), rad or m.
        residual: External torques (..., n) on the links, Nm or N.
        link: Name of the link; the tool by default.
        length: Weights moments against forces, m: the size of the contact geometry; 0.1 by default.
        tolerance: Singular values below it, relative to the largest, count as unobservable; 1e-6 by default.  Raise it
            with the noise of the residual.

    Returns:
        The wrench, and its unobservable and unexplained parts.

    Raises:
        InputError: An array has a wrong shape, or a number is not positive.

    Example:
        >>> import numpy as np
        >>> import flexjoint as fj
        >>> robot = fj.load("kuka_lwr")
        >>> q = np.linspace(0.1, 0.7, 7)
        >>> residual = fj.jacobian(robot, q).T @ [0, 0, -30.0, 0, 0, 0]
        >>> found = fj.observers.external_wrench(robot, q, residual)
        >>> bool(np.allclose(found.wrench, [0, 0, -30.0, 0, 0, 0])), found.unobservable_directions()
        (True, [])
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


def scales(length: float) -> FloatArray:
    """Units (6,) of force and moment."""
    return np.array([1.0] * 3 + [length] * 3)


def spelled(direction: FloatArray) -> str:
    """A direction in words, with 1 for its largest component."""
    direction = direction / direction[np.argmax(np.abs(direction))]
    terms = [f"{x:+.2f} {name}" for x, name in zip(direction, COMPONENTS) if abs(x) > SMALL]
    return " ".join(terms).removeprefix("+")


def struck_links(robot: Robot, alarms: Sequence[Any] | np.ndarray) -> list[str]:
    """The links nearest to the base that a contact may have hit.

    A joint feels only contacts beyond it.  So a contact hit the link of the last alarmed joint on a branch, or a link
    that this one carries.  A coordinate with followers feels contacts beyond any of its joints: where the other alarms
    do not tell which, all of these links are named.

    Args:
        robot: The robot.
        alarms: Alarms (n,) of the joints in the order of q; anything but 0 is an alarm.

    Returns:
        One name per contact, or several of which one was hit if a joint has followers; none without alarm.

    Raises:
        InputError: The number of alarms is wrong.

    Example:
        >>> import flexjoint as fj
        >>> fj.observers.struck_links(fj.load("hua_3r"), [1, 1, 0])
        ['link2']
    """
    felt = finite("struck_links", "alarms", alarms) != 0
    if felt.shape != (robot.n,):
        raise InputError(f"struck_links: alarms have shape {felt.shape}; give one per joint, ({robot.n},)")
    alarmed = [i for i, k in enumerate(robot.coordinates) if k is not None and felt[k]]
    explained = {
        i: {robot.coordinates[j] for j in robot.path(i) if j in alarmed} for i in alarmed
    }  # by a hit on link i
    most = [i for i in alarmed if not any(explained[i] < other for other in explained.values())]
    nearest = [i for i in most if not any(j != i and j in most for j in robot.path(i))]
    return [robot.links[i].name for i in nearest]
