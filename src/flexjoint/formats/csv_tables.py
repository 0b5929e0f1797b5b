"""Tables of numbers in CSV files, read in chunks: memory grows with the columns that are kept, not with the file.

Separators are commas, semicolons, tabs or blanks; with any but commas, numbers may have decimal commas.  A byte order
mark, all line ends, blank lines and comments (`#`) are accepted.  The first line may be a header, and so may a comment
before the first numbers with as many cells.  Titles before the header are skipped, a line of units after it is read.
Every mistake in a file is an InputError that says where it is.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from ..errors import InputError, quoted, warn
from ..file_limits import require
from ..types import FloatArray
from .npz import FEWER
from .toml import path_text

CHUNK = 1 << 20  # bytes
NO_NUMBER = ("", "na", "n/a", "null", "none")  # cells that count as NaN, beside NaN itself
BLANK_LINES = re.compile(rb"\n[ \n]+")
BLANKS = re.compile(r"[ \t]+")
MAX_TITLES = 50  # lines before the header
NO_TABLE = "this is not a table of numbers"


class CsvTable(NamedTuple):
    """A table of numbers.

    Attributes:
        header: names of all columns of the file; None without a header.
        numbers: (m, chosen), the chosen columns in the chosen order.
    """

    header: list[str] | None
    numbers: FloatArray


Choose = Callable[[list[str] | None, int], Sequence[int]]


def read_csv(path: str | os.PathLike[str], what: str, choose: Choose, *, lost: bool = False) -> CsvTable:
    """Chosen columns of a CSV file.

    Args:
        path: path of the file.
        what: what the file should be, for messages.
        choose: function from the header, or None, and the number of columns to the indices of the columns to keep;
            other columns may hold any text.
        lost: whether an empty cell is NaN, a date and time is seconds, and a last line that was cut off is left out;
            by default they are refused.

    Raises:
        InputError: the file cannot be read, or is not a table of numbers; the message names the sample and the column.
    """
    place = path_text(path, what, InputError)
    try:
        if not Path(place).is_file():
            raise InputError(f"{quoted(place)}: there is no such file: give the path of a {what}")
        require("table_bytes", os.path.getsize(place), quoted(place), cure=FEWER)
        with open(place, "rb") as file:
            return parse_csv(file, place, choose, lost=lost)
    except OSError as error:
        raise InputError(f"{quoted(place)}: the {what.split(' (')[0]} cannot be read: {error.strerror}") from error


def parse_csv(file: IO[bytes], place: str, choose: Choose, *, lost: bool = False) -> CsvTable:
    """As `read_csv`, from an open file; `place` begins every message."""
    return Reader(place, lost).read(file, choose)


def shown(text: str, most: int = 40) -> str:
    """A text from a file as a message quotes it."""
    return repr(text if len(text) <= most else text[: most - 3] + "...")


class Reader:
    """Reader of one file; the first lines determine separator, width and header of the whole file."""

    def __init__(self, place: str, lost: bool) -> None:
        self.place, self.lost = place, lost
        self.mark, self.width = "", 0
        self.header: list[str] | None = None
        self.keep: list[int] = []
        self.rows = self.comments = self.lines = 0
        self.comment = ""  # the last one before the first sample
        self.decimal = ""  # "," or ".", once found
        self.table = np.empty((0, 0))

    def error(self, problem: str) -> InputError:
        """The error for a problem of this file."""
        return InputError(f"{self.place}: {problem}")

    def read(self, file: IO[bytes], choose: Choose) -> CsvTable:
        """The table in the file."""
        self.lines = line_count(file)
        for text in self.chunks(file):
            lines = self.samples(text)
            if lines and not self.width:
                lines = self.begin(lines, choose)
            if lines and self.lost and not text.endswith("\n") and len(self.cells(lines[-1])) < self.width:
                warn(f"{self.place}: the last line was cut off and is left out")
                lines.pop()
            if lines:
                self.append(self.numbers(lines))
        if not self.width:
            raise self.error("the file is empty; a header and at least one sample are needed, one line each")
        if not self.rows:
            raise self.error("there is a header but no sample; a header and at least one sample are needed")
        self.table.resize((self.rows, len(self.keep)), refcheck=False)
        return CsvTable(self.header, self.table)

    # Lines ------------------------------------------------------------------------------------------------------------

    def chunks(self, file: IO[bytes]) -> Iterator[str]:
        """Blocks of whole lines, which end with \\n."""
        rest, first = b"", True
        while True:
            data = file.read(CHUNK)
            rest += data
            cut = max(rest.rfind(b"\n"), rest.rfind(b"\r")) + 1 if data else len(rest)
            require("csv_line_bytes", len(rest) - cut, self.place, cure=NO_TABLE)
            whole, rest = rest[:cut], rest[cut:]
            if whole:
                yield self.decoded(whole, first)
                first = False
            if not data:
                return

    def decoded(self, data: bytes, first: bool) -> str:
        """A block as text, without most blank lines."""
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n\n" in data or b"\n " in data:
            data = BLANK_LINES.sub(b"\n", data)
        try:
            return data.decode("utf-8-sig" if first else "utf-8")
        except UnicodeDecodeError as error:
            raise self.error(f"not a text file in UTF-8 ({error.reason}); save it as CSV in UTF-8") from None

    def samples(self, text: str) -> list[str]:
        """The lines that are neither blank nor comments."""
        lines = text.split("\n")
        if "#" not in text:
            return [line for line in lines if line and not line.isspace()]
        kept = [line for line in lines if line and not line.isspace() and not line.lstrip().startswith("#")]
        self.comments += sum(line.lstrip().startswith("#") for line in lines)
        require("csv_comments", self.comments, self.place, cure=NO_TABLE)
        if not self.width:
            end = lines.index(kept[0]) if kept else len(lines)
            remarks = [line for line in lines[:end] if line.lstrip().startswith("#")]
            self.comment = remarks[-1] if remarks else self.comment
        return kept

    def begin(self, lines: list[str], choose: Choose) -> list[str]:
        """Determine separator, header and columns from the first lines; returns the lines that are samples."""
        require("csv_line_bytes", len(lines[0]), self.place, cure=NO_TABLE)
        lines = lines[self.titles(lines) :]
        self.mark = separator(lines[0])
        cells = self.cells(lines[0])
        self.width = len(cells)
        require("csv_columns", self.width, self.place, cure="leave out what is not needed")
        headed = not all(self.is_number(cell) for cell in cells)
        if headed:
            self.header = cells
            if units := self.units(lines[1:2]):
                self.header = [f"{x} [{unit}]" if unit and "[" not in x else x for x, unit in zip(cells, units)]
                lines = lines[1:]
        elif self.comment:
            names = self.cells(self.comment.lstrip().lstrip("#"))
            self.header = names if len(names) == self.width and not all(map(self.is_number, names)) else None
        self.keep = [int(j) for j in choose(self.header, self.width)]
        self.table = np.empty((0, len(self.keep)))
        self.check_size(self.lines - 1)  # before all of it is read
        return lines[headed:]

    def titles(self, lines: list[str]) -> int:
        """Number of lines before the header: the first line of names with as many cells as the numbers after it."""
        for k in range(min(MAX_TITLES, len(lines) - 1)):
            self.mark = separator(lines[k])
            names, following = self.cells(lines[k]), [self.cells(line) for line in lines[k + 1 : k + 3]]
            if any(map(self.is_number, names)):
                break
            if any(len(names) == len(x) > 1 and any(map(self.is_number, x)) for x in following):
                return k
        return 0

    def units(self, lines: list[str]) -> list[str]:
        """The units in the line after the header; none if there is a number in it."""
        found = [cell.strip("[]()") for line in lines for cell in self.cells(line)]
        named = len(found) == self.width and sum(map(bool, found)) > self.width / 2
        lost = any(self.is_number(x) or x.lower() in NO_NUMBER[1:] or self.seconds(x) is not None for x in found)
        return found if named and not lost else []

    def cells(self, line: str) -> list[str]:
        """The cells of a line, without blanks around them."""
        if self.mark == " ":
            return BLANKS.split(line.strip())
        try:
            return [cell.strip() for cell in next(csv.reader([line], delimiter=self.mark, skipinitialspace=True))]
        except csv.Error as error:
            raise self.error(f"not a table of numbers: {error}") from None

    def name(self, j: int) -> str:
        """Name of a column in a message."""
        return shown(self.header[j]) if self.header and self.header[j] else f"column {j + 1}"

    # Numbers ----------------------------------------------------------------------------------------------------------

    def append(self, found: FloatArray) -> None:
        """Add rows to the table, which grows by a quarter at a time."""
        wanted = self.rows + len(found)
        self.check_size(wanted)
        if wanted > len(self.table):
            self.table.resize((max(wanted, self.rows + self.rows // 4), len(self.keep)), refcheck=False)
        self.table[self.rows : wanted] = found
        self.rows = wanted

    def check_size(self, rows: int) -> None:
        """Refuse a table with too many numbers."""
        require("csv_numbers", rows * len(self.keep), f"{self.place}, {len(self.keep)} columns", cure=FEWER)

    def numbers(self, lines: list[str]) -> FloatArray:
        """The chosen columns of some lines, (lines, chosen)."""
        if self.mark == " ":
            lines = [BLANKS.sub(" ", line.strip()) for line in lines]
        text = "\n".join(lines)
        if '"' in text or (self.mark != "," and "," in text and "." in text):
            return self.cell_by_cell(lines)
        if any(line.count(self.mark) != self.width - 1 for line in lines):
            return self.cell_by_cell(lines)
        plain = lines
        if self.mark != "," and "," in text:
            self.settle(",")
            plain = text.replace(",", ".").split("\n")
        elif self.mark != "," and "." in text:
            if self.decimal == ",":
                return self.cell_by_cell(lines)
            self.decimal = "."
        found = self.parsed(plain)
        if found is None and self.lost and self.mark != " ":
            empty = re.compile(rf"(?<![^{self.mark}])[ ]*(?![^{self.mark}])")
            found = self.parsed([empty.sub("nan", line) for line in plain])
        return self.cell_by_cell(lines) if found is None else found

    def parsed(self, lines: list[str]) -> FloatArray | None:
        """The chosen columns, read at once; None if a cell is not a number."""
        try:
            return np.loadtxt(lines, delimiter=self.mark, comments=None, usecols=self.keep, ndmin=2)
        except (ValueError, OverflowError):
            return None

    def settle(self, decimal: str) -> None:
        """Refuse a file with both decimal points and decimal commas."""
        if self.decimal not in ("", decimal):
            raise self.error("some numbers have decimal points and some have decimal commas; use one of them")
        self.decimal = decimal

    def cell_by_cell(self, lines: list[str]) -> FloatArray:
        """The chosen columns, read cell by cell: slower, but quotes are removed and the first mistake is named."""
        found = np.empty((len(lines), len(self.keep)))
        for i, line in enumerate(lines):
            cells, k = self.cells(line), self.rows + i + 1
            if len(cells) != self.width:
                raise self.error(f"sample {k} has {len(cells)} cells, the {self.first} {self.width}{self.hint(cells)}")
            for j, column in enumerate(self.keep):
                found[i, j] = self.number(cells[column], k, column)
        return found

    @property
    def first(self) -> str:
        """Name of the line that determines the width."""
        return "header" if self.header else "first sample"

    def hint(self, cells: list[str]) -> str:
        """Advice for a line with too many cells."""
        if self.mark == "," and len(cells) > self.width:
            return "; with decimal commas columns must be separated by semicolons"
        return ""

    def number(self, cell: str, k: int, column: int) -> float:
        """The number in the cell of sample k; NaN if it is lost."""
        if self.lost and cell.lower() in NO_NUMBER:
            return math.nan
        if self.mark != "," and ("," in cell or "." in cell):
            self.settle("," if "," in cell else ".")
        if self.lost and (clock := self.seconds(cell)) is not None:
            return clock
        if not self.is_number(cell):
            said = "is empty; remove the sample, or fill it in" if not cell else f"is {shown(cell)}, not a number"
            raise self.error(f"sample {k} of {self.name(column)} {said}")
        return float(cell.replace(",", ".") if self.mark != "," else cell)

    def seconds(self, cell: str) -> float | None:
        """Seconds of a date and time, such as 2026-11-18T09:30:00.125; None if the cell is none."""
        if ":" not in cell:
            return None
        try:
            return datetime.fromisoformat(cell).timestamp()
        except (ValueError, OverflowError):
            return None

    def is_number(self, cell: str) -> bool:
        """Whether a cell is a number."""
        if "_" in cell:
            return False
        try:
            float(cell.replace(",", ".") if self.mark != "," else cell)
        except ValueError:
            return False
        return True


def line_count(file: IO[bytes]) -> int:
    """Approximate number of lines that are not blank; 0 for a file that cannot be read twice."""
    if not file.seekable():
        return 0
    begin, found = file.tell(), 0
    while data := file.read(CHUNK):
        found += data.count(b"\n") - data.count(b"\n\n") - data.count(b"\n\r\n")
    file.seek(begin)
    return found


def separator(line: str) -> str:
    """Separator of the cells of a line: semicolons before tabs before commas, otherwise blanks."""
    bare = re.sub(r'"[^"]*"', "", line)
    if ";" in bare:
        return ";"
    if "\t" in bare.strip(" \t") and "," not in re.sub(r"\d,\d", "", bare):
        return "\t"
    return "," if "," in bare else " "
