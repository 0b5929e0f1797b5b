"""The certificate of a fastest motion: all limits on a fine grid, and when each of them is active."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...html import table
from ...types import FloatArray
from ..greatest_speed import TINY, position_shares, shares
from ..limited_motion import LimitedMotion
from ..limits import RMS, mean_weights
from ..scaled_limits import finite_columns

ACTIVE = 0.99  # share of a limit from which on it counts as active


@dataclass(frozen=True)
class ActivePhase:
    """A time during which a motion is within 1 % of a limit.

    Args:
        quantity: such as "velocity", "torque" (of a motor) or "spring torque".
        joint: name of the joint or motor, as in `robot.motor_names`.
        start, end: times, in s.
    """

    quantity: str
    joint: str
    start: float
    end: float

    def __str__(self) -> str:
        return f"{self.quantity} of '{self.joint:.200}' from {self.start:.4g} to {self.end:.4g} s"


@dataclass(frozen=True, repr=False)
class Certificate:
    """Check of a motion against all limits of a robot, on a finer grid than that of the optimization.

    Args:
        samples: times that were compared.
        excess: largest violation of any limit, relative to it (a position: to its range); 0 if there is none.
        quantity, joint: the limit that the motion comes closest to, or exceeds most.
        at: time of this, in s; NaN for a mean over the motion.
        active: intervals in which a limit is active, ordered by time.
    """

    samples: int
    excess: float
    quantity: str
    joint: str
    at: float
    active: tuple[ActivePhase, ...]

    def __repr__(self) -> str:
        nearest = f"{self.quantity} of '{self.joint:.200}'"
        return f"<Certificate: largest violation {self.excess:.2g}, {nearest}, at {self.samples} times>"

    def _repr_html_(self) -> str:
        rows = [(x.quantity, x.joint, f"{x.start:.4g}", f"{x.end:.4g}") for x in self.active]
        return table(rows, ("active limit", "joint", "from, s", "to, s"), caption=repr(self)[1:-1])


def certificate(motion: LimitedMotion, samples: int) -> Certificate:
    """The certificate of a motion at so many even times."""
    t = np.linspace(0.0, motion.trajectory.duration, samples)
    names, sizes = share_columns(motion, t)
    row, column = divmod(int(sizes.argmax()), sizes.shape[1])
    quantity, joint = names[column]
    at = float("nan") if quantity == RMS else float(t[row])
    phases = [ActivePhase(*names[k], *span) for k in range(len(names)) for span in spans(t, sizes[:, k] >= ACTIVE)]
    phases.sort(key=lambda x: (x.start, x.end))
    return Certificate(t.size, max(0.0, float(sizes[row, column]) - 1), quantity, joint, at, tuple(phases))


def share_columns(motion: LimitedMotion, t: FloatArray) -> tuple[list[tuple[str, str]], FloatArray]:
    """Quantity and joint of each limit, and the sizes of its shares at times t, (m, limits)."""
    robot, limited = motion.robot, motion.limited
    names = [(name, i) for name, x in limited.items() if name not in ("position", RMS) for i in finite_columns(x)]
    sizes = [np.abs(shares(motion, t, 1.0))]
    if "position" in limited:
        sizes.append(position_shares(motion, motion.stack(t)[0]))
        names += [("position", i) for _ in range(2) for i in range(robot.n)]
    if RMS in limited:
        chosen = finite_columns(limited[RMS])
        torque = motion.values(t)["torque"][:, chosen] / np.maximum(limited[RMS].upper[chosen], TINY)
        means = np.sqrt(np.einsum("m,mi->i", mean_weights(t), torque**2))
        sizes.append(np.tile(means, (t.size, 1)))
        names += [(RMS, i) for i in chosen]
    return [(name, robot.motor_names[i]) for name, i in names], np.concatenate(sizes, axis=1)


def spans(t: FloatArray, active: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """First and last time of each run of samples that are active."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], active, [False]]).astype(int)))
    return [(float(t[i]), float(t[j - 1])) for i, j in zip(edges[::2], edges[1::2])]
