"""A block of a study as a Parquet file: one column per name, one row per sample.

The metadata of the file have the number of its study (a digest of the settings) and a digest of all that it contains,
so that a block of another study, or a damaged one, is never used.  Units are in the metadata of the columns.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import InputError

Block = dict[str, np.ndarray]  # columns of some samples by name, (s,) each
STUDY, SEAL = b"flexjoint.study", b"flexjoint.digest"


def pyarrow_of(place: object) -> Any:
    """PyArrow with its Parquet module; raises InputError if it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            f"{place}: studies are stored as Parquet files, which need pyarrow: pip install 'flexjoint[cluster]', or "
            "run without a folder"
        ) from None
    return pyarrow


def encoded(block: Block, units: Mapping[str, str], study: str) -> bytes:
    """Content of the file of a block.

    Args:
        block: Columns by name.
        units: Units by name of the column.
        study: Digest of the settings.
    """
    arrow = pyarrow_of("studies")
    arrays = [arrow.array(x) for x in block.values()]
    fields = [
        arrow.field(name, array.type, nullable=False, metadata={"unit": units.get(name, "")})
        for name, array in zip(block, arrays)
    ]
    seals = {STUDY: study, SEAL: digest(study, block)}
    table = arrow.Table.from_arrays(arrays, schema=arrow.schema(fields, metadata=seals))
    file = io.BytesIO()
    ranges = table.column_names[:1]  # of sample numbers: programs skip blocks by them
    arrow.parquet.write_table(table, file, use_dictionary=False, compression="zstd", write_statistics=ranges)
    return file.getvalue()


def decoded(content: bytes) -> tuple[str, Block] | None:
    """Digest of the settings, and the columns; None if the file is damaged."""
    arrow = pyarrow_of("studies")
    try:
        table = arrow.parquet.read_table(arrow.BufferReader(content), use_threads=False)
        seals = table.schema.metadata
        study, seal = seals[STUDY].decode(), seals[SEAL].decode()
        block = {name: values_of(table.column(name)) for name in table.column_names}
    except Exception:  # a damaged file raises any error in Arrow
        return None
    return (study, block) if seal == digest(study, block) else None


def values_of(column: Any) -> np.ndarray:
    """A column as an array of numbers or of texts."""
    values = column.to_numpy()
    return np.asarray(values, dtype=str) if values.dtype == object else values


def digest(study: str, block: Block) -> str:
    """Digest of a block and its study."""
    found = hashlib.sha256(study.encode())
    for name, x in block.items():
        content = "\0".join(x.tolist()).encode() if x.dtype.kind == "U" else np.ascontiguousarray(x).tobytes()
        found.update(f" {name} {x.size} {x.dtype.kind} ".encode() + content)
    return found.hexdigest()
