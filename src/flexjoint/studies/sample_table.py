"""The samples of a Monte-Carlo study as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..results.columns import Column
from .study_columns import error_columns, error_units, parameter_units

if TYPE_CHECKING:
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
        units = parameter_units(study.robot, study.names) | error_units(study.robot)
        found = [Column("sample", "", study.samples[rows])]
        found += [Column(name, units[name], study.parameters[rows, i]) for i, name in enumerate(study.names)]
        errors = error_columns(study.robot, vars(study))
        return found + [Column(name, units[name], x[rows]) for name, x in errors.items()]

    def arrays(self) -> dict[str, Any]:
        """The columns by name."""
        return {column.name: column.values for column in self.columns()}
