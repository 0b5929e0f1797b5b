"""Numeric columns of a Parquet file; the sizes that an untrusted file states are checked before it is unpacked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InputError, quoted
from ..formats.npz import MAX_FILE_BYTES, MAX_NUMBERS

MAX_COLUMNS = 1_000
MAX_UNPACKED = 1_000_000_000  # bytes of all columns
NUMBERS = ("BOOLEAN", "INT32", "INT64", "FLOAT", "DOUBLE")


def parquet_arrays(data: bytes, place: str, wanted: Callable[[list[str]], list[str]]) -> dict[str, np.ndarray]:
    """Numeric columns of a Parquet file by name, (m,), as doubles; an empty cell is NaN.

    Args:
        data: Content of the file.
        place: Name of the file, for messages.
        wanted: Chooses among the names of all numeric columns.

    Raises:
        InputError: Pyarrow is not installed, or the file is damaged or too large.
    """
    try:
        from pyarrow import BufferReader
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise InputError(f"{place}: Parquet files need pyarrow: pip install 'flexjoint[results]'") from None
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"{place}: the file is larger than {MAX_FILE_BYTES:,} bytes; take fewer samples, or cut it")
    if data[-4:] != b"PAR1":
        raise InputError(f"{place}: not a Parquet file")
    if int.from_bytes(data[-8:-4], "little") > 1000 * MAX_COLUMNS:  # the length of the metadata
        raise InputError(f"{place}: there are too many columns; at most {MAX_COLUMNS:,} are read")
    try:
        file = ParquetFile(BufferReader(data), pre_buffer=False)
        known = numeric_columns(file, place)
        chosen = [name for name in wanted(known) if name in known]
        check_sizes(file.metadata, len(chosen), place)
        return {name: column(file, name) for name in chosen}
    except InputError:
        raise
    except Exception as error:  # a damaged file raises any error in Arrow
        raise InputError(f"{place}: not a Parquet file of numbers: {quoted(error)}") from None


def numeric_columns(file: Any, place: str) -> list[str]:
    """Names of the numeric columns."""
    metadata, schema = file.metadata, file.schema
    if metadata.num_columns > MAX_COLUMNS:
        raise InputError(f"{place}: {metadata.num_columns} columns; at most {MAX_COLUMNS:,} are read")
    found: list[str] = []
    for i in range(metadata.num_columns):
        part = schema.column(i)
        flat = part.path == part.name and part.max_repetition_level == 0
        kinds = (part.physical_type, part.logical_type.type)
        if not flat or not (kinds[1] == "FLOAT16" or (kinds[0] in NUMBERS and kinds[1] in ("NONE", "INT"))):
            continue  # texts, lists, times, decimals
        if part.name in found:
            raise InputError(f"{place}: there are two columns '{quoted(part.name)}'")
        found.append(part.name)
    return found


def check_sizes(metadata: Any, count: int, place: str) -> None:
    """Raise InputError if `count` columns of the stated size are too large to read.

    The metadata of single columns are not read: where they are damaged, PyArrow 26 ends the process.
    """
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    rows = max(metadata.num_rows, sum(group.num_rows for group in groups))
    if rows * count > MAX_NUMBERS:
        raise InputError(
            f"{place}: {rows:,} samples of {count} columns; {MAX_NUMBERS:,} numbers are read from a file: take fewer "
            "samples, or cut it into several"
        )
    if sum(group.total_byte_size for group in groups) > MAX_UNPACKED:
        raise InputError(f"{place}: the columns unpack to more than {MAX_UNPACKED:,} bytes; cut it into several")


def column(file: Any, name: str) -> np.ndarray:
    """One column as doubles, (m,)."""
    return np.asarray(file.read(columns=[name], use_threads=False).column(0).to_numpy(), dtype=float)
