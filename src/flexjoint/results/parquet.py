"""Numeric columns of a Parquet file; the sizes that an untrusted file states are checked before it is unpacked.

A column of lists is an array (m, k), that of a table inside a table has a path such as `state.q`, and times are in
seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import InputError, quoted
from ..file_limits import require
from ..formats.npz import FEWER

MAX_DEPTH = 8  # of tables inside tables
MAX_ENTRIES = 128  # of a list
BATCH = 1_000  # rows of lists that are unpacked at a time
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def parquet_arrays(data: bytes, place: str, wanted: Callable[[list[str]], list[str]]) -> dict[str, np.ndarray]:
    """Numeric columns of a Parquet file by path, (m,) or (m, k), as doubles; an empty cell is NaN.

    Args:
        data: Content of the file.
        place: Name of the file, for messages.
        wanted: Chooses among the paths of all columns.

    Raises:
        InputError: Pyarrow is not installed, the file is damaged or too large, or a chosen column has no numbers.
    """
    try:
        from pyarrow import BufferReader
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise InputError(f"{place}: Parquet files need pyarrow: pip install 'flexjoint[results]'") from None
    require("packed_bytes", len(data), place, cure=FEWER)
    if data[-4:] != b"PAR1":
        raise InputError(f"{place}: not a Parquet file")
    require("packed_columns", int.from_bytes(data[-8:-4], "little") / 1000, place)  # the length of the metadata
    try:
        file = ParquetFile(BufferReader(data), pre_buffer=False)
        require("packed_columns", file.metadata.num_columns, place)
        known: dict[str, tuple[str, ...]] = {}
        for names in leaves(file.schema_arrow):
            if known.setdefault(".".join(names), names) is not names:
                raise InputError(f"{place}: there are two columns '{quoted('.'.join(names))}'")
        chosen = [path for path in wanted([*known]) if path in known]
        check_sizes(file.metadata, len(chosen), place)
        return {path: column(file, known[path], f"{place}: column '{quoted(path)}'") for path in chosen}
    except InputError:
        raise
    except Exception as error:  # a damaged file raises any error in Arrow
        raise InputError(f"{place}: not a Parquet file of numbers: {quoted(error)}") from None


def leaves(fields: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Names from the table to each column that is no table itself."""
    from pyarrow.types import is_struct

    for part in fields:
        names = (*above, part.name)
        if is_struct(part.type) and len(names) < MAX_DEPTH:
            yield from leaves(part.type, names)
        else:
            yield names


def check_sizes(metadata: Any, count: int, place: str) -> None:
    """Raise InputError if `count` columns of the stated size are too large to read.

    The metadata of single columns are not read: where they are damaged, PyArrow 26 ends the process.
    """
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    rows = max(metadata.num_rows, sum(group.num_rows for group in groups))
    require("packed_numbers", rows * count, f"{place}, {count} columns", cure=FEWER)
    require("unpacked_bytes", sum(group.total_byte_size for group in groups), place, cure=FEWER)


def column(file: Any, names: tuple[str, ...], place: str) -> np.ndarray:
    """One column as doubles, (m,), or (m, k) for lists of k numbers.

    Raises:
        InputError: The column has no numbers, or lists of different lengths.
    """
    found: list[np.ndarray] = []
    batches = file.iter_batches(BATCH if lists(file.schema_arrow, names) else 1 << 16, columns=[names[0]])
    size = 0
    for batch in batches:
        array = batch.column(0)
        for name in names[1:]:
            array = array.field(name)
        found.append(numbers(array, place))
        size += found[-1].size
        require("packed_numbers", size, place, cure=FEWER)
    if len({x.shape[1:] for x in found}) > 1:
        raise InputError(f"{place} has lists of different lengths; they must have one number per joint")
    return np.concatenate(found) if found else np.empty(0)


def lists(fields: Any, names: tuple[str, ...]) -> bool:
    """Whether a column has lists."""
    from pyarrow.types import is_nested

    kind = fields.field(names[0]).type
    for name in names[1:]:
        kind = kind.field(name).type
    return bool(is_nested(kind))


def numbers(array: Any, place: str) -> np.ndarray:
    """Cells of a column as doubles; times in s since the start of the clock."""
    from pyarrow import types

    kind = array.type
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        flat, lengths = array.flatten(), np.unique(array.value_lengths().to_numpy(zero_copy_only=False))
        if array.null_count or len(lengths) != 1 or not 0 < lengths[0] <= MAX_ENTRIES:
            raise InputError(f"{place} has lists of different lengths; they must have one number per joint")
        return numbers(flat, place).reshape(-1, int(lengths[0]))
    if types.is_timestamp(kind) or types.is_duration(kind):
        ticks = array.view("int64")  # of nanoseconds, too many for doubles
        whole, rest = np.divmod(ticks.fill_null(0).to_numpy(zero_copy_only=False), round(1 / SECONDS[kind.unit]))
        return np.where(array.is_null().to_numpy(zero_copy_only=False), np.nan, whole + SECONDS[kind.unit] * rest)
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise InputError(f"{place} has cells of type {quoted(str(kind))}, not numbers")
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=float)
