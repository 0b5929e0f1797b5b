"""Files of results: CSV, NPZ, Parquet or NetCDF, chosen by the suffix; written completely or not at all."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from ..atomic import replacing
from ..errors import InputError, quoted
from ..formats.toml import path_text
from ..simulation.result import Simulation
from .columns import BLOCK, Column
from .simulation_table import SimulationTable

NETCDF = ".nc"
MOST_BYTES = 4 * 1024**3  # per variable in the classic NetCDF format


class Table(Protocol):
    """A table that can be written: columns for CSV and Parquet, arrays by name for NPZ."""

    def columns(self) -> list[Column]: ...

    def arrays(self) -> dict[str, Any]: ...


def write_results(run: Simulation, path: str | os.PathLike[str]) -> None:
    """Write a simulation to a file; the suffix chooses the format.

    Args:
        run: One run or a batch, as `simulate` returns it.
        path: .nc (NetCDF with units and provenance, read by `read_results`), .npz, .csv or .parquet (one row per
            sample, the runs of a batch one after the other).

    Raises:
        InputError: The suffix is another, no file can be written there, or a package is missing.

    The same simulation gives the same file, bit-identical.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> run = fj.simulate(robot, fj.control.MotorPD(robot, [400.0, 40.0]), [0.1, 0.2, 0.3], 0.01)
        >>> fj.results.write_results(run, "run.nc")  # doctest: +SKIP
    """
    path = check_results_path(path)
    if path.suffix.lower() != NETCDF:
        return write_table(SimulationTable(run), path)
    dataset = run.to_dataset()
    for name, values in dataset.data_vars.items():
        if values.nbytes >= MOST_BYTES:
            raise InputError(
                f"{path}: '{name}' takes {values.nbytes / 1024**3:.3g} GiB, and NetCDF holds at most 4 per variable; "
                "write .npz"
            )
    with replacing(path) as file:
        file.write(dataset.to_netcdf(engine="scipy", format="NETCDF3_64BIT"))


def read_results(path: str | os.PathLike[str]) -> Any:
    """The xarray Dataset of a NetCDF file that `write_results` has written.

    Args:
        path: A .nc file.

    Raises:
        InputError: Xarray is not installed or the file cannot be read.
    """
    require("xarray", path, "Datasets")
    import xarray

    place = path_text(path, "NetCDF file (.nc)", InputError)
    try:
        if not Path(place).is_file():
            raise InputError(f"{quoted(place)}: no such file")
        return xarray.load_dataset(place, engine="scipy")
    except OSError as error:
        raise InputError(f"{quoted(place)}: the file cannot be read: {error.strerror or error}") from None
    except InputError:
        raise
    except Exception:  # a damaged file raises any error in the reader
        raise InputError(f"{place}: not a NetCDF file that write_results has written") from None


def write_table(table: Table, path: str | os.PathLike[str], progress: Callable[[int], Any] = lambda _: None) -> None:
    """Write a table to a file; the suffix chooses the format.

    Args:
        table: Anything with `columns()` and `arrays()`: a MotorTable, DetectionReport, SampleTable, SimulationTable.
        path: .csv, .npz or .parquet.
        progress: Called with the number of samples written; by default nothing.

    Raises:
        InputError: The suffix is another, no file can be written there, or a package is missing.
    """
    path = check_table_path(path)
    with replacing(path) as file:
        WRITERS[path.suffix.lower()](table, file, progress)


def check_table_path(path: str | os.PathLike[str]) -> Path:
    """The path as a Path; raises InputError if no table can be written there."""
    path = check_path(path, tuple(WRITERS), "a table")
    if path.suffix.lower() == ".parquet":
        require("pyarrow", path, "Parquet files")
    return path


def check_results_path(path: str | os.PathLike[str]) -> Path:
    """The path as a Path; raises InputError if no simulation can be written there."""
    path = check_path(path, (NETCDF, *WRITERS), "a simulation")
    if path.suffix.lower() != NETCDF:
        return check_table_path(path)
    require("xarray", path, "NetCDF files")
    return path


def require(package: str, path: str | os.PathLike[str], what: str) -> None:
    """Raise InputError if a package is not installed."""
    if find_spec(package) is None:
        raise InputError(
            f"{path}: {what} need {package}, which is not installed: pip install 'flexjoint[results]', or write .csv "
            "or .npz"
        )


def check_path(path: str | os.PathLike[str], suffixes: Sequence[str], what: str) -> Path:
    """The path as a Path; raises InputError for another suffix, or where no file can be written."""
    path = Path(path_text(path, "file to write", InputError))
    try:
        folder = path.is_dir()
    except OSError as error:
        raise InputError(f"{quoted(path)}: no file can have this name: {error.strerror}") from None
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{path}: {what} is written to a file that ends in {', '.join(suffixes)}")
    if folder:
        raise InputError(f"{path} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path}: the folder {path.parent} is not writable; choose another")
    return path


# Formats ----------------------------------------------------------------------------------------------------------


@contextmanager
def as_text(file: IO[bytes]) -> Iterator[IO[str]]:
    """A binary file as a text file; the binary file stays open."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        yield text
        text.flush()
    finally:
        text.detach()


def write_csv(table: Table, file: IO[bytes], progress: Callable[[int], Any] = lambda _: None) -> None:
    """Write a table as CSV: a header with names and units, numbers with all digits that reading them back needs."""
    columns = table.columns()
    with as_text(file) as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([column.header for column in columns])
        for start in range(0, columns[0].values.size, BLOCK):
            block = [column.values[start : start + BLOCK].tolist() for column in columns]
            writer.writerows(zip(*block))
            progress(len(block[0]))


def write_npz(table: Table, file: IO[bytes], progress: Callable[[int], Any]) -> None:
    """Write a table as NPZ: one array per quantity, with names and units."""
    np.savez(file, **table.arrays())
    progress(table.columns()[0].values.size)


def write_parquet(table: Table, file: IO[bytes], progress: Callable[[int], Any]) -> None:
    """Write a table as Parquet: the columns of the CSV file, with the unit in the metadata of each field too."""
    import pyarrow
    from pyarrow.parquet import write_table as write

    columns = table.columns()
    arrays = [pyarrow.array(x.values) for x in columns]
    fields = [pyarrow.field(x.header, y.type, metadata={"unit": x.unit}) for x, y in zip(columns, arrays)]
    write(pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(fields)), file)
    progress(columns[0].values.size)


WRITERS: dict[str, Callable[[Any, IO[bytes], Callable[[int], Any]], None]] = {
    ".csv": write_csv,
    ".npz": write_npz,
    ".parquet": write_parquet,
}
