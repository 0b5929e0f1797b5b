"""Tables in files of every format: what is read back is what was computed; a file is written whole or not at all."""

from __future__ import annotations

import csv
import os

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.analysis.torque_table import motor_table
from flexjoint.results import files, write_table
from support.errors import relative_error
from support.pendulum import ELASTIC, MOTION

NAMES = {"q": "rad", "theta": "rad", "deflection": "rad", "tau": "Nm"}
HEADER = ["t [s]", *(f"{name}.hinge, left [{unit}]" for name, unit in NAMES.items())]


@pytest.fixture(scope="module")
def found():
    return motor_table(ELASTIC, MOTION, 0.01, rigid=True)


def test_csv_reads_back_to_the_same_numbers(found, tmp_path):
    write_table(found, tmp_path / "x.csv")
    with open(tmp_path / "x.csv", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == [*HEADER, "tau_rigid.hinge, left [Nm]"]
    numbers = np.array(rows, dtype=float)
    assert np.array_equal(numbers, np.column_stack([found.t, *(x[:, 0] for x in found.quantities().values())]))


def test_npz_is_itself_a_motion(found, tmp_path):
    write_table(found, tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as file:
        assert file["joints"].tolist() == ["hinge, left"]
        assert file["tau_unit"].tolist() == ["Nm"]
        assert np.array_equal(file["tau"], found.tau)
    again = fj.trajectory.load_trajectory(tmp_path / "x.npz", ELASTIC)
    assert relative_error(again(found.t)[0], found.q) < 1e-12


def test_parquet_has_units_in_its_fields(found, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    write_table(found, tmp_path / "x.parquet")
    read = parquet.read_table(tmp_path / "x.parquet")
    assert read.column_names == [*HEADER, "tau_rigid.hinge, left [Nm]"]
    assert read.schema.field(4).metadata == {b"unit": b"Nm"}
    assert np.array_equal(read.column(4).to_numpy(), found.tau[:, 0])


def test_parquet_without_pyarrow_says_what_to_install(found, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    with pytest.raises(fj.InputError, match=r"pip install 'flexjoint\[results\]'"):
        write_table(found, tmp_path / "x.parquet")


@pytest.mark.parametrize(
    ("name", "message"), [("x.txt", "ends in .csv"), ("no/x.csv", "no folder"), ("f.csv", "folder")]
)
def test_places_where_no_table_can_be_are_refused(found, tmp_path, name, message):
    (tmp_path / "f.csv").mkdir()
    with pytest.raises(fj.InputError, match=message):
        write_table(found, tmp_path / name)


def test_what_fails_leaves_the_old_file_and_no_other(found, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("old")

    def fail(samples):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_table(found, path, fail)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.csv"]
