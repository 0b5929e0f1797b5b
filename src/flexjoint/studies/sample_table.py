"""The samples of a Monte-Carlo study as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..results.columns import Column
from ..robot.parameters import robot_parameters
from .monte_carlo import MonteCarlo


@dataclass(frozen=True, eq=False)
class SampleTable:
    """One row per sample: its parameters, its errors, the joint that diverged, and the joint too stiff for the step.

    Args:
        study: The study.
        failures: Whether only failed samples are listed; default False.
    """

    study: MonteCarlo
    failures: bool = False

    def columns(self) -> list[Column]:
        """Columns of a file."""
        study = self.study
        rows = study.failed if self.failures else slice(None)
        joints = study.robot.joints
        found = [Column("sample", "", study.samples[rows])]
        found += [Column(name, unit_of(study, name), study.parameters[rows, i]) for i, name in enumerate(study.names)]
        for kind in ("largest", "rms", "final"):
            errors = getattr(study, kind)[rows]
            units = [joint.kind.unit("rad | m") for joint in joints]
            found += [Column(f"{kind}.{x.name}", units[i], errors[:, i]) for i, x in enumerate(joints)]
        names = np.array(["", *(joint.name for joint in joints)])
        found += [Column("ended", "s", study.ended[rows]), Column("diverged", "", names[study.joint[rows] + 1])]
        found += [Column("integrator_failed", "", names[study.stiff_joint[rows] + 1])]
        return [*found, Column("longest_step", "s", study.longest_step[rows])]

    def arrays(self) -> dict[str, Any]:
        """The columns by name."""
        return {column.name: column.values for column in self.columns()}


def unit_of(study: MonteCarlo, path: str) -> str:
    """Unit of a varied parameter."""
    known = robot_parameters(study.robot)
    return known[path if path in known else path.rsplit(".", 1)[0]].unit
