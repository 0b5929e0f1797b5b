"""A folder holds the samples of one study, whoever writes into it at once and whatever happens to its files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.studies.store import SETTINGS, Store, create

module = import_module("flexjoint.studies.monte_carlo")
store_module = import_module("flexjoint.studies.store")

SCRIPT = """
import sys
import flexjoint as fj
from importlib import import_module
import_module("flexjoint.studies.monte_carlo").ROWS = (8, 8)
folder, gain = sys.argv[1], float(sys.argv[2])
robot = fj.random_robot(2, 5, prismatic=0.0, elastic=1.0, name="arm")
law = fj.FeedforwardPD(robot, [gain, 40.0])
motion = fj.RestToRest([0.0, 0.0], [0.4, -0.3], 0.05)
options = dict(samples=80, vary={"*.drive.stiffness": "10%"}, seed=7, threads=2, period=1e-3, check=False)
fj.monte_carlo(robot, law, motion, 0.06, **{**options, "samples": 8})  # compiled before the race
print('ready', flush=True)
sys.stdin.readline()
try:
    found = fj.monte_carlo(robot, law, motion, 0.06, folder=folder, **options)
except fj.InputError as error:
    print("refused", error)
else:
    print("largest", found.largest.tobytes().hex())
"""


def race(folder, gains):
    """What each of several processes got that began at the same time."""
    environment = {**os.environ, "PYTHONPATH": str(Path(fj.__file__).parents[1])}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(folder), str(gain)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for gain in gains
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    found = []
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        found.append(tuple(out.strip().split(" ", 1)))
    return found


def samples_of(gain, folder=None):
    robot = fj.random_robot(2, 5, prismatic=0.0, elastic=1.0, name="arm")
    law, motion = fj.FeedforwardPD(robot, [gain, 40.0]), fj.RestToRest([0.0, 0.0], [0.4, -0.3], 0.05)
    options = {"samples": 80, "vary": {"*.drive.stiffness": "10%"}, "seed": 7, "period": 1e-3, "check": False}
    return fj.monte_carlo(robot, law, motion, 0.06, folder=folder, threads=1, **options)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "ROWS", (8, 8))


def test_two_studies_at_once_in_one_folder(tmp_path):
    """One of them has the folder, the other is refused; nothing of the other is in it."""
    found = race(tmp_path / "samples", [400.0, 300.0])
    assert sorted(kind for kind, _ in found) == ["largest", "refused"]
    winner = next(k for k, (kind, _) in enumerate(found) if kind == "largest")
    assert "holds samples with other settings: controller.data.gains was" in found[1 - winner][1]
    right = samples_of([400.0, 300.0][winner])
    assert found[winner][1] == right.largest.tobytes().hex()
    assert np.array_equal(samples_of([400.0, 300.0][winner], tmp_path / "samples").largest, right.largest)


def test_the_same_study_twice_at_once(tmp_path):
    found = race(tmp_path / "samples", [400.0, 400.0])
    right = samples_of(400.0).largest
    assert found == [("largest", right.tobytes().hex())] * 2
    assert sorted(x.name for x in (tmp_path / "samples").iterdir()) == [
        *(f"samples-{k:08d}.npz" for k in range(0, 80, 8)),
        SETTINGS,
    ]


BLOCK = {"largest": np.arange(8.0), "joint": np.full(8, -1)}


def test_a_block_of_another_study_is_not_loaded(tmp_path):
    """As if somebody had copied it there, or replaced the settings."""
    one, other = Store(tmp_path / "one", {"seed": 1}), Store(tmp_path / "other", {"seed": 2})
    one.save(0, BLOCK)
    other.save(0, BLOCK)
    assert one.load(0, 8) is not None
    one.path(0).write_bytes(other.path(0).read_bytes())
    with pytest.warns(fj.FlexjointWarning, match="holds samples of another study, .*; they are computed again"):
        assert one.load(0, 8) is None


def test_a_block_at_another_place_is_not_loaded(tmp_path):
    store = Store(tmp_path / "one", {"seed": 1})
    store.save(0, BLOCK)
    store.path(8).write_bytes(store.path(0).read_bytes())
    with pytest.warns(fj.FlexjointWarning, match="00000008.npz is damaged; its samples are computed again"):
        assert store.load(8, 8) is None


@pytest.mark.parametrize("damage", ["truncated", "emptied", "flipped", "edited", "old format", "pickled"])
def test_a_damaged_block_is_computed_again(tmp_path, damage):
    store = Store(tmp_path, {"seed": 1})
    store.save(0, BLOCK)
    path = store.path(0)
    content = path.read_bytes()
    if damage == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "emptied":
        path.write_bytes(b"")
    elif damage == "flipped":
        place = content.index(np.arange(8.0).tobytes()) + 13
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    elif damage == "edited":
        with np.load(path) as file:
            arrays = dict(file)
        np.savez(path, **arrays | {"largest": arrays["largest"] + 1e-12})
    elif damage == "old format":
        np.savez(path, **BLOCK)
    else:
        np.savez(path, largest=np.array([{}], dtype=object))
    with pytest.warns(fj.FlexjointWarning, match="is damaged; its samples are computed again"):
        assert store.load(0, 8) is None


def test_a_block_of_fewer_samples_is_no_damage(tmp_path, recwarn):
    store = Store(tmp_path, {"seed": 1})
    store.save(0, BLOCK)
    assert store.load(0, 16) is None and not recwarn.list


def test_a_folder_that_becomes_that_of_another_study(tmp_path):
    """Between two blocks of a study somebody deletes its folder and begins another one."""
    store = Store(tmp_path / "x", {"seed": 1})
    store.save(0, BLOCK)
    (tmp_path / "x" / SETTINGS).write_text(json.dumps({"seed": 2}))
    with pytest.raises(fj.InputError, match="other settings: seed was 2, now it is 1"):
        store.save(8, BLOCK)
    assert not store.path(8).exists()


def test_settings_are_made_once(tmp_path, monkeypatch):
    for hard_links in (True, False):
        path = tmp_path / f"{hard_links}.json"
        if not hard_links:

            def refuse(*_):
                raise PermissionError("no hard links here")

            monkeypatch.setattr(store_module.os, "link", refuse)
        create(path, b"one")
        create(path, b"other")
        assert path.read_bytes() == b"one"
    assert not list(tmp_path.glob("*.part")) and not list(tmp_path.glob(".*"))


def test_settings_that_another_process_is_about_to_make(tmp_path):
    """Its unfinished file does not make the folder one of something else."""
    (tmp_path / ".settings.json.123.abc.part").write_text("{")
    store = Store(tmp_path, {"seed": 1})
    store.save(0, BLOCK)
    assert json.loads((tmp_path / SETTINGS).read_text()) == {"seed": 1}
