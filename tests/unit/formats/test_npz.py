"""NPZ files that lie about themselves: errors of ours, and nothing large is unpacked."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.formats.npz import npz_arrays

ZEROS = b"\0" * 400
PLAIN = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }"


def archive(compression=zipfile.ZIP_STORED, **entries: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, content in entries.items():
            file.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def array(
    header: str | bytes, body: bytes = ZEROS, magic: bytes = b"\x93NUMPY\x01\x00", length: int | None = None
) -> bytes:
    text = header if isinstance(header, bytes) else header.encode()
    width = "<H" if magic[6] == 1 else "<I"
    return magic + struct.pack(width, len(text) if length is None else length) + text + body


def everything(names: list[str]) -> list[str]:
    return names


def test_what_numpy_writes_is_read():
    rng = np.random.default_rng(0)
    arrays = {"a": rng.normal(size=7), "b": np.asfortranarray(rng.normal(size=(3, 4))), "c": np.arange(5, dtype=">i2")}
    arrays |= {"d": np.float32([[1.5]]), "e": np.array([True, False]), "f": np.array(3.0), "g": np.zeros((0, 3))}
    for save in (np.savez, np.savez_compressed):
        buffer = io.BytesIO()
        save(buffer, **arrays)
        found = npz_arrays(buffer.getvalue(), "x", everything)
        assert found.keys() == arrays.keys()
        for name, value in arrays.items():
            assert found[name].dtype == np.float64
            np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize(
    "content, message",
    [
        (array("(" * 5000), "no array of real numbers"),
        (array(PLAIN % "(50,)" + " " * 60000), "header of 60,058 bytes"),
        (array(PLAIN % "(-50,)"), "no array of real numbers"),
        (array(PLAIN % "(0, 100000000000000000000)"), "cannot be unpacked"),
        (array(PLAIN % "(1000000000000,)"), "1,000,000,000,000 numbers read"),
        (array(PLAIN % str((1,) * 40)), "one or two dimensions"),
        (array(PLAIN % "(51,)"), "ends after 400 of 408 bytes"),
        (array((PLAIN % "(50,)").replace("<f8", "|O")), "no array of real numbers: its header is .*O"),
        (array((PLAIN % "(50,)").replace("<f8", "<f7")), "cannot be unpacked"),
        (array("{'descr': __import__('os'), 'shape': (1,)}"), "no array of real numbers"),
        (array(b"\0" * 100), "no array of real numbers"),
        (array(PLAIN % "(50,)", magic=b"\x93NUMPY\x02\x00", length=4_000_000_000), "header of 4,000,000,000 bytes"),
        (array(PLAIN % "(50,)", magic=b"\x93NUMPY\x09\x00"), "not a NumPy array"),
        (b"", "not a NumPy array"),
    ],
)
def test_bad_arrays(content, message):
    with pytest.raises(fj.InputError, match=f"^x: 'q'.*{message}"):
        npz_arrays(archive(q=content), "x", everything)


def test_arrays_that_unpack_to_gigabytes():
    shape = (60_000_000, 1)
    body = b"\0" * 10_000_000
    data = archive(zipfile.ZIP_DEFLATED, q=array(PLAIN % str(shape), body))
    assert len(data) < 20_000
    tracemalloc.start()
    with pytest.raises(fj.InputError, match=r"'q' of shape \(60000000, 1\): 60,000,000 numbers.*at most 25,000,000"):
        npz_arrays(data, "x", everything)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()
    several = archive(**{f"q{k}": array(PLAIN % "(20000000,)", b"") for k in range(2)})
    with pytest.raises(fj.InputError, match="'q0' ends after 0 of 160,000,000 bytes"):
        npz_arrays(several, "x", everything)


def test_files_of_too_many_arrays():
    data = archive(**{f"{k:06d}": b"" for k in range(20_000)})
    with pytest.raises(fj.InputError, match=r"arrays in an NPZ file.*; at most 1,000"):
        npz_arrays(data, "x", everything)


def test_files_too_large_and_broken_ones():
    with pytest.raises(fj.InputError, match="250,000,001 bytes in an NPZ"):
        npz_arrays(bytes(250_000_001), "x", everything)
    good = archive(zipfile.ZIP_DEFLATED, q=array(PLAIN % "(50,)"))
    for cut in range(0, len(good), 7):
        with pytest.raises(fj.InputError, match=r"^x"):
            npz_arrays(good[:cut], "x", everything)
