"""Histories of the worst samples of a study, simulated again and written beside its blocks."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from ..results.files import write_parquet
from ..results.simulation_table import SimulationTable
from .places import Place

if TYPE_CHECKING:
    from .monte_carlo import MonteCarlo

WORST = "worst"


def write_worst(study: MonteCarlo, count: int, place: Place) -> list[str]:
    """Write one Parquet file per sample, with the columns of a simulation.

    Args:
        study: The study.
        count: Number of samples.
        place: Store of the study.

    Returns:
        Names of the files, the worst sample first.
    """
    names = []
    for number in study.worst(count):
        file = io.BytesIO()
        write_parquet(SimulationTable(study.sample(int(number))), file, lambda _: None)
        names.append(f"{WORST}/sample-{number:012d}.parquet")
        place.replace(names[-1], file.getvalue())
    return names
