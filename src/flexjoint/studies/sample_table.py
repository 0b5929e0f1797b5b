"""The samples of a Monte-Carlo study as a table, and their number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..results.columns import Column
from ..robot.parameters import parameters
from .monte_carlo import MonteCarlo


@dataclass(frozen=True, eq=False)
class SampleTable:
    """A row per sample: its parameters, its errors, which joint diverged when, and the joint too stiff for the step.

    All samples, or only failures.
    """

    study: MonteCarlo
    failures: bool = False

    def columns(self) -> list[Column]:
        study = self.study
        rows = study.failed if self.failures else slice(None)
        joints = study.robot.joints
        found = [Column("sample", "", study.samples[rows])]
        found += [Column(name, unit_of(study, name), study.parameters[rows, i]) for i, name in enumerate(study.names)]
        for kind in ("largest", "rms", "final"):
            errors = getattr(study, kind)[rows]
            units = ["m" if joint.kind == "prismatic" else "rad" for joint in joints]
            found += [Column(f"{kind}.{x.name}", units[i], errors[:, i]) for i, x in enumerate(joints)]
        names = np.array(["", *(joint.name for joint in joints)])
        found += [Column("ended", "s", study.ended[rows]), Column("diverged", "", names[study.joint[rows] + 1])]
        found += [Column("integrator_failed", "", names[study.stiff_joint[rows] + 1])]
        return [*found, Column("longest_step", "s", study.longest_step[rows])]

    def arrays(self) -> dict[str, Any]:
        return {column.name: column.values for column in self.columns()}


def counts(study: MonteCarlo) -> str:
    """How many samples there are and failed, those of the integrator by themselves."""
    count, failed, stiff = study.samples.size, study.control_failed.sum(), study.integrator_failed.sum()
    text = f"{count} sample{'s' * (count != 1)}, {failed} failed"
    return f"{text}, step too long for {stiff}" if stiff else text


def unit_of(study: MonteCarlo, path: str) -> str:
    known = parameters(study.robot)
    return known[path if path in known else path.rsplit(".", 1)[0]].unit
