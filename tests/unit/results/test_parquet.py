"""Parquet files of numbers, and those that unpack to more than is good."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.results.parquet import parquet_arrays

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def written(columns, **options) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, **options)
    return buffer.getvalue()


def read(data: bytes) -> dict[str, np.ndarray]:
    return parquet_arrays(data, "x", lambda names: names)


def test_columns_of_numbers_times_lists_and_tables_are_read():
    found = read(
        written(
            {
                "q.joint1 [deg]": [0.5, 1.5],
                "int": pa.array([None, 2**40]),
                "unsigned": pa.array([1, 2], pa.uint16()),
                "flag": [True, False],
                "single": pa.array([1.5, None], pa.float32()),
                "when": pa.array([1_700_000_000_000_001_000, None], pa.timestamp("ns")),
                "since": pa.array([1500, 2], pa.duration("ms")),
                "list": [[1.0, 2.0], [3.0, None]],
                "table": [{"a": {"b": 1.0}, "c": [5]}, {"a": {"b": 2.0}, "c": [6]}],
            }
        )
    )
    wanted = {
        "q.joint1 [deg]": [0.5, 1.5],
        "int": [np.nan, 2.0**40],
        "unsigned": [1.0, 2.0],
        "flag": [1.0, 0.0],
        "single": [1.5, np.nan],
        "when": [1_700_000_000.000001, np.nan],
        "since": [1.5, 0.002],
        "list": [[1.0, 2.0], [3.0, np.nan]],
        "table.a.b": [1.0, 2.0],
        "table.c": [[5.0], [6.0]],
    }
    assert [*found] == [*wanted]
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)


def test_columns_without_numbers_are_listed_and_refused_if_chosen():
    data = written({"text": ["a", "b"], "ragged": [[1.0], [1.0, 2.0]], "q": [1.0, 2.0]})
    listed = []
    assert [*parquet_arrays(data, "x", lambda names: listed.extend(names) or ["q"])] == ["q"]
    assert listed == ["text", "ragged", "q"]
    for name, problem in (("text", "column 'text' has cells of type string"), ("ragged", "lists of different lengths")):
        with pytest.raises(fj.InputError, match=problem):
            parquet_arrays(data, "x", lambda names, name=name: [name])


def test_files_that_unpack_to_gigabytes():
    zeros = np.zeros(13_000_000)
    data = written({"t": zeros, "q1": zeros}, compression="zstd", row_group_size=1 << 24)
    assert len(data) < 1_000_000
    with pytest.raises(fj.InputError, match=r"2 columns: 26,000,000 numbers .* at most 25,000,000"):
        read(data)


def test_too_many_columns(monkeypatch):
    data = written({f"c{k}": [1.0] for k in range(30)})
    monkeypatch.setenv("FLEXJOINT_LIMITS", "packed_columns=20")
    with pytest.raises(fj.InputError, match=r"columns in a Parquet file .*; at most 20 "):
        read(data)


def test_broken_files():
    good = written({"t": np.arange(100.0), "q1": np.arange(100.0)})
    for data in (b"", b"PAR1", b"PAR1 not", good[:-1], b"PAR1" + good[50:], good[:40] + good[60:]):
        with pytest.raises(fj.InputError, match=r"^x: .*(Parquet|columns)"):
            read(data)
    twice = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array([0.0])] * 2, names=["t", "t"]), twice)
    with pytest.raises(fj.InputError, match="two columns 't'"):
        read(twice.getvalue())


FLIPS = """
import io, sys
import numpy as np
import pyarrow as pa
from pyarrow.parquet import write_table
from flexjoint.errors import FlexjointError
from flexjoint.results.parquet import parquet_arrays

buffer = io.BytesIO()
write_table(pa.table({"t": np.arange(9.0), "q": [[1.0]] * 9}), buffer)
data = buffer.getvalue()
footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
for at in range(footer, len(data)):
    for bit in (1, 2):
        changed = bytearray(data)
        changed[at] ^= bit
        try:
            parquet_arrays(bytes(changed), "x", lambda names: names)
        except FlexjointError:
            pass
print("done")
"""


def test_no_damaged_metadata_end_the_process():
    """In a process of its own: PyArrow has ended it without an exception."""
    done = subprocess.run([sys.executable, "-c", FLIPS], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
