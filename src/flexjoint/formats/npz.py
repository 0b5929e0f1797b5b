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
from ..types import FloatArray

MAX_NUMBERS = 25_000_000  # 200 MB of doubles; a log needs up to four times as much
MAX_ARRAYS = 1_000
MAX_DIRECTORY = 100 * MAX_ARRAYS  # bytes
MAX_FILE_BYTES = 10 * MAX_NUMBERS
MAX_HEADER = 10_000  # bytes
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
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"{place}: the file is larger than {MAX_FILE_BYTES:,} bytes; take fewer samples, or cut it")
    end = data.rfind(b"PK\5\6", -(1 << 16) - 22)  # the record that ends a zip file, with the size of its directory
    zip64 = end >= 20 and data[end - 20 : end - 16] == b"PK\6\7"
    if end >= 0 and (zip64 or int.from_bytes(data[end + 12 : end + 16], "little") > MAX_DIRECTORY):
        raise InputError(f"{place}: there are too many arrays; at most {MAX_ARRAYS:,} are read")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
    except Exception as error:  # zipfile raises errors of any type for a damaged file
        raise InputError(f"{place}: not an NPZ file of numbers: {quoted(error)}") from None
    found, left = {}, MAX_NUMBERS
    for name in wanted([*entries]):
        if name in entries:
            found[name] = array_of(archive, entries[name], f"{place}: '{quoted(name)}'", left)
            left -= found[name].size
    return found


def array_of(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, place: str, most: int) -> FloatArray:
    """One array, with at most `most` numbers."""
    try:
        with archive.open(entry) as file:
            kind, fortran, shape = header(file, place)
            count = math.prod(shape)
            if count > most:
                raise InputError(
                    f"{place} has {count:,} numbers, of shape {quoted(shape)}; {MAX_NUMBERS:,} are read from a file: "
                    "take fewer samples, or cut it into several"
                )
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
