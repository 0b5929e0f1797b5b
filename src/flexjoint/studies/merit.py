"""A figure of merit of a run: one number, larger is worse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import positive
from ..errors import InputError, shown
from ..formats.toml import suggestion
from ..robot import Robot
from ..simulation.result import Simulation
from ..types import FloatArray
from .error_summary import ERRORS, error_summary
from .sample_columns import one_unit

FAILED = "failed"
Function = Callable[[Simulation], Any]


@dataclass(frozen=True)
class Merit:
    """A figure of merit.

    Args:
        name: As it is shown.
        unit: Its unit, "" without one.
        function: From a batch of runs to one number per run, (rows,).
        limit: Error above which a run fails, rad or m; None for no limit.
    """

    name: str
    unit: str
    function: Function
    limit: float | None = None

    @classmethod
    def of(cls, owner: str, of: Any, robot: Robot, limit: float | None) -> Merit:
        """The figure of merit that `of` describes.

        Args:
            owner: Function of the caller, for messages.
            of: "largest", "rms" or "final": this error, the largest over the joints; "largest.joint1" and so on: of one
                joint; "failed": 1 if the run diverged or its error exceeded the limit, else 0; or a function from a
                Simulation, a batch of runs, to one number per run.
            robot: The robot.
            limit: Error above which a run fails, rad or m, or None.

        Raises:
            InputError: There is no such figure of merit.
        """
        if limit is not None:
            limit = positive(owner, "limit", limit)
        if callable(of):
            return cls(getattr(of, "__name__", type(of).__name__), "", of, limit)
        kind, dot, joint = str(of).partition(".")
        names = [x.name for x in robot.joints]
        units = [x.kind.unit("rad | m") for x in robot.joints]
        if of == FAILED:
            return cls(FAILED, "", lambda run: np.where(failures(run, limit), 1.0, 0.0), limit)
        if not isinstance(of, str) or kind not in ERRORS:
            known = f"{', '.join(ERRORS)}, {FAILED}, an error of one joint such as largest.{names[0]}"
            raise InputError(f"{owner}: of is {shown(of)}; give {known}, or a function of a Simulation")
        if dot and joint not in names:
            raise InputError(f"{owner}: of is {of!r}, and there is no joint '{joint}'; {suggestion(joint, names)}")
        if not dot:
            one_unit(of, set(units))
        chosen = [names.index(joint)] if dot else list(range(robot.n))
        return cls(of, units[chosen[0]], lambda run: error_summary(run)[kind][:, chosen].max(axis=1), limit)

    def values(self, run: Simulation) -> FloatArray:
        """The figure of merit per run, (rows,): infinite where a run diverged, unless it counts failures."""
        rows = len(run.joint)
        found = np.array(self.function(run), dtype=float)
        if found.shape != (rows,):
            raise InputError(f"of: {self.name} gave an array of shape {found.shape}; it must be ({rows},), one per run")
        if self.name != FAILED:
            found[run.diverged] = np.inf
        if np.any(np.isnan(found)):
            row = int(np.flatnonzero(np.isnan(found))[0])
            raise InputError(f"of: {self.name} is NaN for run {row} of a batch, which did not diverge")
        return found


def failures(run: Simulation, limit: float | None) -> np.ndarray:
    """Mask of runs that diverged or exceeded the limit, (rows,)."""
    beyond = False if limit is None else error_summary(run)["largest"].max(axis=1) > limit
    return np.asarray(run.diverged | beyond)
