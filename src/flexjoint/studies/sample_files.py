"""Tables of samples from files: what `flexjoint simulate --samples` writes, or any file with its columns."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np

from .. import file_limits
from ..errors import InputError, quoted
from ..formats.toml import path_text
from ..results.files import require
from .reading import read
from .sample_columns import SampleColumns
from .store import SETTINGS

SAMPLES = "samples.csv"  # in the folder of a study
SUFFIXES = (".csv", ".npz", ".parquet")


def read_samples(path: str | os.PathLike[str]) -> SampleColumns:
    """Columns of samples from a file.

    Args:
        path: A .csv, .npz or .parquet file with the columns of `SampleTable`, or the folder of a study.

    Returns:
        SampleColumns, which `summarize`, `quantiles`, `failure_probability` and `outcomes` take.

    Raises:
        InputError: There is no such file, or it is no table of samples.
    """
    place = Path(path_text(path, "table of samples", InputError))
    if (place / SETTINGS).is_file() and not (place / SAMPLES).is_file():
        return SampleColumns.of(read(place))
    file = place / SAMPLES if place.is_dir() else place
    suffix = file.suffix.lower()
    if not file.is_file():
        raise InputError(f"{quoted(file)}: there is no such file; give a table of samples, {', '.join(SUFFIXES)}")
    if suffix not in SUFFIXES:
        raise InputError(f"{quoted(file)}: a table of samples ends in {', '.join(SUFFIXES)}")
    file_limits.require("table_bytes", file.stat().st_size, quoted(file))
    try:
        return SampleColumns.of(READERS[suffix](file))
    except InputError as error:
        raise InputError(f"{quoted(file)}: {error}") from None
    except OSError as error:
        raise InputError(f"{quoted(file)}: the file cannot be read: {error.strerror or error}") from None
    except Exception:  # a damaged file raises any error in the reader
        raise InputError(f"{quoted(file)}: not a table of samples") from None


def csv_columns(file: Path) -> dict[str, np.ndarray]:
    """Columns of a CSV file, numbers where all cells are numbers."""
    with open(file, newline="", encoding="utf-8") as text:
        header, *rows = csv.reader(text)
    if any(len(row) != len(header) for row in rows):
        raise InputError(f"a line has not the {len(header)} cells of the header")
    return {name: numbers_or_texts(list(cells)) for name, cells in zip(header, zip(*rows))}


def numbers_or_texts(cells: list[str]) -> np.ndarray:
    """Cells as numbers if all of them are, else as texts."""
    try:
        return np.array([float(x) for x in cells])
    except ValueError:
        return np.array(cells)


def npz_columns(file: Path) -> dict[str, np.ndarray]:
    """Columns of an NPZ file."""
    with np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def parquet_columns(file: Path) -> dict[str, np.ndarray]:
    """Columns of a Parquet file."""
    require("pyarrow", file, "Parquet files")
    from pyarrow.parquet import read_table

    table: Any = read_table(file)
    return {name: np.asarray(table.column(name)) for name in table.column_names}


READERS = {".csv": csv_columns, ".npz": npz_columns, ".parquet": parquet_columns}
