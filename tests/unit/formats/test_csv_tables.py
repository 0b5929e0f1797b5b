"""CSV files as people write them, read in chunks; what is no table of numbers is refused in words."""

import io
import tracemalloc

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.formats import csv_tables
from flexjoint.formats.csv_tables import parse_csv

WANTED = np.array([[0.0, 1.5], [0.25, -2.0], [0.5, 3e-3]])


def everything(header, width):
    return range(width)


def read(text, choose=everything, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return parse_csv(io.BytesIO(data), "log.csv", choose, **options)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\n\n"])
@pytest.mark.parametrize(
    "text",
    [
        "t,q1\n0,1.5\n0.25,-2\n.5,3e-3\n",
        "t;q1\n0;1.5\n0.25;-2\n.5;3e-3\n",
        "t;q1\n0;1,5\n0,25;-2\n,5;3e-3",
        '"t";"q1"\n"0";"1,5"\n"0,25";"-2"\n",5";"0,003"\n',
        "t\tq1\n0\t1.5\n0.25\t-2\n.5\t3e-3\n",
        "t\tq1\n0\t1,5\n0,25\t-2\n,5\t3e-3\n",
        "t q1\n 0  1.5\n 0.25   -2\n.5  3e-3 \n",
        "\ufefft, q1\n0, 1.5\n0.25, -2\n.5, 3e-3\n",
        "# made by hand\n\nt,q1\n0,1.5\n# a comment\n0.25,-2\n.5,3e-3\n",
        "# t,q1\n0,1.5\n0.25,-2\n.5,3e-3\n",
    ],
)
def test_separators_line_ends_and_decimal_commas(text, end):
    header, numbers = read(text.replace("\n", end))
    assert header == ["t", "q1"] and np.array_equal(numbers, WANTED)


@pytest.mark.parametrize("size", [1, 7, 16, 1000])
def test_chunks_of_any_size_give_the_same(size, monkeypatch):
    monkeypatch.setattr(csv_tables, "CHUNK", size)
    header, numbers = read("\ufeff# x\r\nt;q1\r\n0;1,5\r\n\r\n0,25;-2\r\n,5;3e-3\r\n")
    assert header == ["t", "q1"] and np.array_equal(numbers, WANTED)


def test_only_chosen_columns_must_be_numbers():
    text = "t,note,q1,\n0,start,1.5,\n0.25,,-2,\n.5,ok,3e-3,\n"
    assert np.array_equal(read(text, lambda header, width: [0, 2]).numbers, WANTED)
    assert np.array_equal(read(text, lambda header, width: [2, 0]).numbers, WANTED[:, ::-1])


def test_cells_without_numbers():
    found = read("t;q1\n0;\n;-2\nNaN;null\n0,5;inf\n", lost=True).numbers
    assert np.array_equal(found, [[0, np.nan], [np.nan, -2], [np.nan, np.nan], [0.5, np.inf]], equal_nan=True)


def test_a_file_without_a_header():
    header, numbers = read("0,1.5\n0.25,-2\n.5,3e-3\n")
    assert header is None and np.array_equal(numbers, WANTED)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("# a comment\n\n", "the file is empty"),
        ("t,q1\n", "there is a header but no sample"),
        ("t,q1\n0,1\n0,1,2\n", "sample 2 has 3 cells, the header 2; with decimal commas .* semicolons"),
        ("t,q1,a\n0,1,2\n0,1\n1,2,3,4\n", "sample 2 has 2 cells, the header 3"),
        ("t,q1\n0,x\n", "sample 1 of 'q1' is 'x', not a number"),
        ("t,q1\n0,\n", "sample 1 of 'q1' is empty"),
        ("t,q1\n0,1_0\n", "is '1_0', not a number"),
        ("t,q1\n0," + "x" * 9999, "is 'x{37}...', not a number"),
        ("t;q1\n0,5;1.5\n", "decimal points and some have decimal commas"),
        ("t;q1\n0;1.5\n" + "0;1,5\n", "decimal points and some have decimal commas"),
        ("t;q1\n0;1.234,5\n", "is '1.234,5', not a number"),
        (b"t,q1 [\xb0]\n0,1\n", "not a text file in UTF-8"),
        (b"\xff\xfet\x00", "not a text file in UTF-8"),
        ("t," + ",".join("ab"), "there is a header but no sample"),
        (",".join(f"q{k}" for k in range(100_000)), "100,000 columns in a CSV file; at most 4,096"),
        ("1" * 3_000_000, ".* bytes in a line of a CSV file; at most 1,000,000"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(fj.InputError, match=f"^log.csv: .*{message}"):
        read(text)


def test_decimal_marks_must_agree_between_chunks(monkeypatch):
    monkeypatch.setattr(csv_tables, "CHUNK", 8)
    with pytest.raises(fj.InputError, match="some have decimal commas"):
        read("t;q1\n0;1.5\n0;1,5\n")
    with pytest.raises(fj.InputError, match="some have decimal commas"):
        read("t;q1\n0;1,5\n0;1.5\n")


def test_numbers_beyond_the_limit_are_refused(monkeypatch):
    monkeypatch.setenv("FLEXJOINT_LIMITS", "csv_numbers=4")
    with pytest.raises(fj.InputError, match=r"2 columns: 6 numbers .* at most 4 are accepted: take fewer"):
        read("t,q1\n0,1\n0,1\n0,1\n")
    with pytest.raises(fj.InputError, match="at most 4 "):
        read("t,q1\r0,1\r0,1\r0,1\r")
    assert read("t,q1\n0,1\n0,1\n0,1\n", lambda header, width: [1]).numbers.size == 3


class Endless(io.RawIOBase):
    """Short lines, so many bytes of them, without a file."""

    def __init__(self, size):
        self.left = size

    def read(self, count=-1):
        count = min(count, self.left) // 6 * 6
        self.left -= count
        return b"0,1,2\n" * (count // 6)


def test_memory_is_that_of_the_numbers_kept():
    tracemalloc.start()
    found = parse_csv(Endless(6_000_000), "log.csv", lambda header, width: [0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.numbers.shape == (1_000_000, 1)
    assert peak < 1.4 * found.numbers.nbytes + 80_000_000
