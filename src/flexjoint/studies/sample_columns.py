"""Samples of a study as columns by name: of a study in memory, of a file, or of any table with these columns.

| column | content |
|---|---|
| `largest.JOINT`, `rms.JOINT`, `final.JOINT` | errors of a joint, rad or m |
| `diverged` | joint that diverged, "" if none did |
| `integrator_failed` | joint that is too stiff for the step, "" if none is |
| `outcome` | optional: passed, control failed or integrator failed; it then decides instead of the two above |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import positive
from ..errors import InputError, listed, shown
from ..types import FloatArray
from .error_summary import ERRORS
from .monte_carlo import MonteCarlo
from .sample_table import SampleTable

PASSED, CONTROL_FAILED, INTEGRATOR_FAILED = OUTCOMES = ("passed", "control failed", "integrator failed")
OUTCOME = "outcome"


@dataclass(frozen=True)
class SampleColumns:
    """Columns of samples.

    Args:
        columns: Values (s,) by name.
        units: Units by name of a column, where they are known.
        limit: Error above which a sample fails, rad or m; None for no limit.
    """

    columns: Mapping[str, np.ndarray]
    units: Mapping[str, str]
    limit: float | None = None

    @classmethod
    def of(cls, study: Any, limit: float | None = None) -> SampleColumns:
        """Columns of a study or a table.

        Args:
            study: A MonteCarlo, ConfirmedOutcomes, or a table: a mapping from names to arrays, or a DataFrame of
                pandas or polars or a Table of pyarrow; units may follow a name in brackets: "largest.joint1 [rad]".
            limit: Error above which a sample fails, rad or m; default that of the study, else none.

        Raises:
            InputError: It is no table, its columns have several lengths, or it has no sample.
        """
        if limit is not None:
            limit = positive("limit", "limit", limit)
        if isinstance(study, cls):
            return study if limit is None else cls(study.columns, study.units, limit)
        if hasattr(study, "sample_columns"):
            return cls.of(study.sample_columns(), limit)
        if isinstance(study, MonteCarlo):
            listed_columns = SampleTable(study).columns()
            found = {x.name: x.values for x in listed_columns}
            units, own = {x.name: x.unit for x in listed_columns}, study.limit
        else:
            found, units, own = *table_columns(study), None
        sizes = {x.shape for x in found.values()}
        if len(sizes) != 1 or len(next(iter(sizes))) != 1:
            raise InputError(f"study: its columns have the shapes {listed(sorted(sizes))}; give one value per sample")
        if not next(iter(sizes))[0]:
            raise InputError("study: it has no sample")
        return cls(found, units, own if limit is None else limit)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def outcomes(self) -> np.ndarray:
        """Passed, control failed or integrator failed, (s,); see `outcomes`."""
        if OUTCOME in self.columns:
            found = self.columns[OUTCOME].astype(str)
            if wrong := set(found.tolist()) - set(OUTCOMES):
                raise InputError(f"study: an outcome is {shown(min(wrong))}; it must be one of {', '.join(OUTCOMES)}")
            return found
        failed = self.diverged
        if self.limit is not None:
            failed = failed | (np.max([self.columns[x] for x in self.errors("largest")], axis=0) > self.limit)
        passed_or_not = np.where(failed, CONTROL_FAILED, PASSED)
        return np.where(self.marked("integrator_failed"), INTEGRATOR_FAILED, passed_or_not)

    @property
    def diverged(self) -> np.ndarray:
        """Mask of samples that diverged, (s,)."""
        return self.marked("diverged")

    def marked(self, name: str) -> np.ndarray:
        """Mask of samples with a joint in a column, (s,); none without the column."""
        values = self.columns.get(name, np.zeros(len(self), dtype=bool))
        if values.dtype.kind in "biuf":
            return np.asarray(values, dtype=float) == 1
        return np.array([x is not None and x == x and str(x) != "" for x in values.tolist()], dtype=bool)

    def errors(self, kind: str) -> list[str]:
        """Names of the columns of an error, one per joint."""
        found = [name for name in self.columns if name.startswith(f"{kind}.")]
        if not found:
            raise InputError(f"study: no column {kind}.JOINT; there are {listed(self.columns)}")
        return found

    def merit(self, of: str = "largest") -> FloatArray:
        """A figure of merit, (s,): infinite where a sample diverged.

        Args:
            of: "largest", "rms" or "final": the largest over the joints of this error; or the name of a column.
        """
        if of in self.columns:
            values = self.columns[of]
            if values.dtype.kind not in "biuf":
                raise InputError(f"of: '{of}' is a column of texts; give one of {listed(self.numeric)}")
            known = np.asarray(values, dtype=float)
        elif of in ERRORS:
            names = self.errors(of)
            one_unit(of, {self.units.get(name, "") for name in names})
            known = np.max([self.columns[name] for name in names], axis=0)
        else:
            raise InputError(f"of is {shown(of)}; give {', '.join(ERRORS)} or a column: {listed(self.numeric)}")
        return np.where(self.diverged, np.inf, known)

    def unit(self, of: str) -> str:
        """Unit of a figure of merit; "" if it is not known."""
        known = {of: self.units[of]} if of in self.units else {x: self.units.get(x, "") for x in self.errors(of)}
        return next(iter(known.values()))

    @property
    def numeric(self) -> list[str]:
        """Names of the columns with numbers."""
        return [name for name, x in self.columns.items() if x.dtype.kind in "biuf"]


def table_columns(table: Any) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Columns and their units by name, without the brackets of the header."""
    names = getattr(table, "column_names", getattr(table, "columns", None))
    if isinstance(table, Mapping):
        names = list(table)
    if not np.iterable(names) or not (names := list(names)) or not all(isinstance(x, str) for x in names):
        raise InputError(f"study is {shown(table)}; give what monte_carlo returns, or columns by name")
    found, units = {}, {}
    for header in names:
        name, bracket, unit = header.removesuffix("]").partition(" [")
        found[name] = np.asarray(table[header])
        units[name] = unit if bracket else ""
    return found, units


def one_unit(of: str, units: set[str]) -> None:
    """Refuse the largest of numbers with several units."""
    if len(units) > 1:
        raise InputError(
            f"of is {of!r}, but joints turn and slide, and {' and '.join(sorted(units))} do not compare; name a joint, "
            f"such as '{of}.joint1'"
        )
