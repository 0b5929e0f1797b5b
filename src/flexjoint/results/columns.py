"""The columns of a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BLOCK = 8192  # samples computed in one call


class Column(NamedTuple):
    """One series of a table."""

    name: str
    unit: str
    values: np.ndarray

    @property
    def header(self) -> str:
        return f"{self.name} [{self.unit}]" if self.unit else self.name
