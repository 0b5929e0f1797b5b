"""Parquet files of numbers, read without trusting them: the sizes a file states are checked before it is unpacked."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from ..errors import InputError, quoted
from ..trajectory.npz import MAX_FILE_BYTES, MAX_NUMBERS

MAX_COLUMNS = 1_000
NUMBERS = ("BOOLEAN", "INT32", "INT64", "FLOAT", "DOUBLE")


def parquet_arrays(data: bytes, place: str, wanted: Callable[[list[str]], list[str]]) -> dict[str, np.ndarray]:
    """The columns of numbers that are wanted among their names; empty cells are NaN."""
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
        chosen = {name: known[name] for name in wanted([*known]) if name in known}
        check_sizes(file.metadata, chosen.values(), place)
        return {name: column(file, name) for name in chosen}
    except InputError:
        raise
    except Exception as error:  # Arrow meets what it does not expect: any error
        raise InputError(f"{place}: not a Parquet file of numbers: {quoted(error)}") from None


def numeric_columns(file: Any, place: str) -> dict[str, int]:
    """The place of each column of numbers, by name."""
    metadata, schema = file.metadata, file.schema
    if metadata.num_columns > MAX_COLUMNS:
        raise InputError(f"{place}: {metadata.num_columns} columns; at most {MAX_COLUMNS:,} are read")
    found: dict[str, int] = {}
    for i in range(metadata.num_columns):
        part = schema.column(i)
        flat = part.path == part.name and part.max_repetition_level == 0
        kinds = (part.physical_type, part.logical_type.type)
        if not flat or not (kinds[1] == "FLOAT16" or (kinds[0] in NUMBERS and kinds[1] in ("NONE", "INT"))):
            continue  # texts, lists, times, decimals
        if part.name in found:
            raise InputError(f"{place}: there are two columns '{quoted(part.name)}'")
        found[part.name] = i
    return found


def check_sizes(metadata: Any, columns: Collection[int], place: str) -> None:
    """Refuse columns that are too large, as the metadata say."""
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    parts = [group.column(i) for group in groups for i in columns]
    if max(metadata.num_rows * len(columns), sum(part.num_values for part in parts)) > MAX_NUMBERS:
        raise InputError(
            f"{place}: {metadata.num_rows:,} samples of {len(columns)} columns; {MAX_NUMBERS:,} numbers are read from "
            "a file: take fewer samples, or cut it into several"
        )
    if sum(part.total_uncompressed_size for part in parts) > 10 * MAX_NUMBERS:
        raise InputError(f"{place}: the columns unpack to more than {10 * MAX_NUMBERS:,} bytes; cut it into several")


def column(file: Any, name: str) -> np.ndarray:
    """One column as doubles."""
    return np.asarray(file.read(columns=[name], use_threads=False).column(0).to_numpy(), dtype=float)
