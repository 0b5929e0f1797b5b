"""A column of a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BLOCK = 8192  # samples computed or written at once


class Column(NamedTuple):
    """One column of a table: its name, its unit ("" without one), and one value per row, (m,)."""

    name: str
    unit: str
    values: np.ndarray

    @property
    def header(self) -> str:
        """Name with the unit in brackets, as in the header of a file."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name
