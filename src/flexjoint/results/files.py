"""Files of results: CSV, NPZ or Parquet, by the end of their name; written whole or not at all."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..errors import InputError
from .table import BLOCK, JointTable, units


def write_table(
    table: JointTable, path: str | os.PathLike[str], progress: Callable[[int], Any] = lambda _: None
) -> None:
    """Save a table; `progress` is called with the number of samples written."""
    path = check_table_path(path)
    with replacing(path) as file:
        WRITERS[path.suffix.lower()](table, file, progress)


def check_table_path(path: str | os.PathLike[str]) -> Path:
    """The path, if a table can be written there."""
    path = check_path(path, tuple(WRITERS), "a table")
    if path.suffix.lower() == ".parquet" and find_spec("pyarrow") is None:
        raise InputError(
            f"{path}: Parquet files need pyarrow, which is not installed: pip install 'flexjoint[results]', or write "
            ".csv or .npz"
        )
    return path


def check_path(path: str | os.PathLike[str], suffixes: Sequence[str], what: str) -> Path:
    path = Path(path)
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{path}: {what} is written to a file that ends in {', '.join(suffixes)}")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; make it first")
    return path


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of `path` when all went well, and vanishes otherwise."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            yield file
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


# Formats ----------------------------------------------------------------------------------------------------------


def write_csv(table: JointTable, file: IO[bytes], progress: Callable[[int], Any]) -> None:
    """A header with names and units; numbers with as many digits as it takes to read the same ones back."""
    columns = table.columns()
    with io.TextIOWrapper(file, encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([column.header for column in columns])
        for start in range(0, table.t.size, BLOCK):
            block = np.column_stack([column.values[start : start + BLOCK] for column in columns])
            writer.writerows(block.tolist())
            progress(len(block))


def write_npz(table: JointTable, file: IO[bytes], progress: Callable[[int], Any]) -> None:
    """One array a quantity, (m, n); `joints` names the columns, `tau_unit` and its like give their units."""
    arrays: dict[str, Any] = {"t": table.t, "joints": np.array([joint.name for joint in table.robot.joints])}
    for name, values in table.quantities().items():
        arrays |= {name: values, f"{name}_unit": np.array(units(table.robot, name))}
    np.savez(file, **arrays)
    progress(table.t.size)


def write_parquet(table: JointTable, file: IO[bytes], progress: Callable[[int], Any]) -> None:
    """The columns of the CSV file; the unit is also in the metadata of each field."""
    import pyarrow
    from pyarrow.parquet import write_table as write

    columns = table.columns()
    fields = [pyarrow.field(x.header, pyarrow.float64(), metadata={"unit": x.unit}) for x in columns]
    arrays = [pyarrow.array(x.values) for x in columns]
    write(pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(fields)), file)
    progress(table.t.size)


WRITERS: dict[str, Callable[[JointTable, IO[bytes], Callable[[int], Any]], None]] = {
    ".csv": write_csv,
    ".npz": write_npz,
    ".parquet": write_parquet,
}
