"""NPZ files from untrusted sources: sizes are checked before anything is unpacked.

`np.load` trusts the header of a file: it may exhaust the parser, and a few hundred kilobytes may unpack to gigabytes.
Here a header is matched as plain text, only real numbers are accepted, and no more bytes are unpacked than the shapes
say.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from ..checks import real
from ..errors import InputError, quoted, shown
from ..file_limits import require
from ..types import FloatArray

ENTRY = 100  # bytes of the directory per array
MAX_HEADER = 10_000  # bytes
FEWER = "take fewer samples, or cut it into several"
HEADER = re.compile(
    r"\{'descr': '(?P<kind>[<>|=]?[biuf]\d{1,2})', 'fortran_order': (?P<fortran>True|False), "
    r"'shape': \((?P<shape>[0-9L, ]*)\),? *\}\s*"
)


def npz_arrays(data: bytes, place: str, wanted: Callable[[list[str]], list[str]]) -> dict[str, FloatArray]:
    """Arrays of real numbers in an NPZ file, by name.

    Args:
        data: contents of the file.
        place: name of the file, which begins every message.
        wanted: function from the names in the file to those to read; other arrays may have any type.

    Raises:
        InputError: the file is too large, is not an NPZ file, or an array is not of real numbers.
    """
    require("packed_bytes", len(data), place, cure=FEWER)
    end = data.rfind(b"PK\5\6", -(1 << 16) - 22)  # the record that ends a zip file, with the size of its directory
    zip64 = end >= 20 and data[end - 20 : end - 16] == b"PK\6\7"
    if end >= 0:
        size = int.from_bytes(data[end + 12 : end + 16], "little")
        require("packed_columns", 1 << 16 if zip64 else size / ENTRY, place)
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
    except Exception as error:  # zipfile raises errors of any type for a damaged file
        raise InputError(f"{place}: not an NPZ file of numbers: {quoted(error)}") from None
    found, used = {}, 0
    for name in wanted([*entries]):
        if name in entries:
            found[name] = array_of(archive, entries[name], f"{place}: '{quoted(name)}'", used)
            used += found[name].size
    return found


def array_of(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, place: str, used: int) -> FloatArray:
    """One array, after so many numbers of others."""
    try:
        with archive.open(entry) as file:
            kind, fortran, shape = header(file, place)
            count = math.prod(shape)
            require("packed_numbers", used + count, f"{place} of shape {quoted(shape)}", cure=FEWER)
            content = file.read(count * kind.itemsize)
            if len(content) < count * kind.itemsize:
                raise InputError(f"{place} ends after {len(content):,} of {count * kind.itemsize:,} bytes")
        flat = np.frombuffer(content, dtype=kind, count=count)
        with np.errstate(over="ignore"):  # a long double beyond the doubles becomes infinite
            return real(flat.reshape(shape, order="F" if fortran else "C"))
    except InputError:
        raise
    except Exception as error:  # zipfile and its decompressors raise errors of any type for a damaged file
        raise InputError(f"{place} cannot be unpacked: {quoted(error) or type(error).__name__}") from None


def header(file: IO[bytes], place: str) -> tuple[np.dtype[Any], bool, tuple[int, ...]]:
    """Number type, whether in Fortran order, and shape of an array."""
    start = file.read(8)
    width = {b"\1": 2, b"\2": 4, b"\3": 4}.get(start[6:7])
    if start[:6] != b"\x93NUMPY" or width is None:
        raise InputError(f"{place} is not a NumPy array")
    length = int.from_bytes(file.read(width), "little")
    if length > MAX_HEADER:
        raise InputError(f"{place} has a header of {length:,} bytes, which no array of numbers needs")
    text = file.read(length).decode("latin-1")
    if not (matched := HEADER.fullmatch(text)):
        raise InputError(f"{place} is no array of real numbers: its header is {shown(text.strip())}")
    shape = tuple(int(x.strip(" L")) for x in matched["shape"].split(",") if x.strip(" L"))
    if len(shape) > 2:
        raise InputError(f"{place} has shape {quoted(shape)}; arrays with one or two dimensions are read")
    return np.dtype(matched["kind"]), matched["fortran"] == "True", shape
