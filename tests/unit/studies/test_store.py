"""A folder holds the samples of one study, whoever writes into it at once and whatever happens to its files."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import sys
from importlib import import_module

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.studies.places import Folder, place_of
from flexjoint.studies.store import SETTINGS, Store, name_of

loop_setup = import_module("flexjoint.studies.loop_setup")
places = import_module("flexjoint.studies.places")
store_module = import_module("flexjoint.studies.store")

GAINS = [400.0, 300.0]


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop_setup, "ROWS", (8, 8))
        yield


@pytest.fixture(scope="module")
def races(tmp_path_factory, small_blocks):
    """Folders, and what two processes got that began there at the same time: other settings, the same settings."""
    other, alike = (tmp_path_factory.mktemp("race") / "samples" for _ in range(2))
    found = race([(other, GAINS[0]), (other, GAINS[1]), (alike, GAINS[0]), (alike, GAINS[0])])
    return (other, found[:2]), (alike, found[2:])


def race(starts):
    samples_of(GAINS[0])  # compiled, before processes are forked
    context = multiprocessing.get_context("fork")
    ready, found = context.Barrier(len(starts)), [context.Pipe(duplex=False) for _ in starts]
    processes = [context.Process(target=run, args=(ready, out, *x)) for (_, out), x in zip(found, starts)]
    for process in processes:
        process.start()
    results = [into.recv() if into.poll(120) else ("hangs", "") for into, _ in found]
    for process in processes:
        process.join(30)
    return results


def run(ready, out, folder, gain):
    ready.wait(60)
    try:
        out.send(("largest", samples_of(gain, folder).largest.tobytes()))
    except fj.InputError as error:
        out.send(("refused", str(error)))


def samples_of(gain, folder=None):
    robot = fj.random_robot(2, 5, prismatic=0.0, elastic=1.0, name="arm")
    law, motion = fj.control.FeedforwardPD(robot, [gain, 40.0]), fj.trajectory.RestToRest([0.0, 0.0], [0.4, -0.3], 0.05)
    options = {"samples": 80, "vary": {"*.drive.stiffness": "10%"}, "seed": 7, "period": 1e-3, "check": False}
    return fj.studies.monte_carlo(robot, law, motion, 0.06, folder=folder, threads=1, **options)


def test_two_studies_at_once_in_one_folder(races):
    """One of them has the folder, the other is refused; nothing of the other is in it."""
    folder, found = races[0]
    assert sorted(kind for kind, _ in found) == ["largest", "refused"]
    winner = next(k for k, (kind, _) in enumerate(found) if kind == "largest")
    assert "holds samples with other settings: controller.data.gains was" in found[1 - winner][1]
    right = samples_of(GAINS[winner])
    assert found[winner][1] == right.largest.tobytes()
    assert np.array_equal(samples_of(GAINS[winner], folder).largest, right.largest)


def test_the_same_study_twice_at_once(races):
    folder, found = races[1]
    assert found == [("largest", samples_of(GAINS[0]).largest.tobytes())] * 2
    assert sorted(x.name for x in folder.iterdir()) == ["blocks", "robot.toml", SETTINGS]
    assert sorted(x.name for x in (folder / "blocks").iterdir()) == [name_of(k)[7:] for k in range(0, 80, 8)]


def columns(first=0, rows=8):
    return {"sample": np.arange(first, first + rows), "largest": np.arange(float(rows)), "diverged": np.full(rows, "")}


LAYOUT = {"block": 8, "columns": {"sample": "", "largest": "rad", "diverged": ""}}
BLOCK = columns()


def opened(place, seed=1, **changes):
    return Store(place, {"seed": seed}, LAYOUT | changes)


def file_of(store, first=0):
    return store.place.path / name_of(first)


def same(block, other):
    return list(block) == list(other) and all(np.array_equal(block[name], other[name]) for name in other)


@pytest.mark.parametrize("place", ["folder", "memory://flexjoint-test/study"])
def test_a_block_is_stored_to_the_bit(tmp_path, place):
    place = tmp_path / "x" if place == "folder" else f"{place}-{tmp_path.name}"
    store = opened(place)
    odd = np.array([0.1, -0.0, np.inf, np.nan, 5e-324, 1e308, 1 / 3, -1.0])
    block = columns(8) | {"largest": odd, "diverged": np.array(["", "joint1", "größe", *[""] * 5])}
    store.save(8, block)
    found = opened(place).load(8, 8)
    assert found["largest"].tobytes() == odd.tobytes() and found["diverged"].tolist() == block["diverged"].tolist()
    assert store.firsts() == [8] and store.load(0) is None and store.has(8) and not store.has(0)


def test_other_programs_read_it(tmp_path):
    """Pandas and PyArrow know nothing of flexjoint: columns by name, units and the study as metadata."""
    import pandas
    from pyarrow import dataset

    store = opened(tmp_path)
    for first in (0, 8):
        store.save(first, columns(first))
    frame = pandas.read_parquet(tmp_path / "blocks")
    assert frame.columns.tolist() == list(BLOCK) and sorted(frame["sample"]) == list(range(16))
    schema = dataset.dataset(tmp_path / "blocks").schema
    assert schema.field("largest").metadata == {b"unit": b"rad"} and b"flexjoint.study" in schema.metadata


def test_a_block_of_another_study_is_not_loaded(tmp_path):
    """As if somebody had copied it there, or replaced the settings."""
    one, other = opened(tmp_path / "one"), opened(tmp_path / "other", seed=2)
    one.save(0, BLOCK)
    other.save(0, BLOCK)
    assert same(one.load(0, 8), BLOCK)
    file_of(one).write_bytes(file_of(other).read_bytes())
    with pytest.warns(fj.FlexjointWarning, match="holds samples of another study, .*; they are computed again"):
        assert one.load(0, 8) is None


def test_a_block_at_another_place_is_not_loaded(tmp_path):
    store = opened(tmp_path)
    store.save(0, BLOCK)
    file_of(store, 8).write_bytes(file_of(store).read_bytes())
    with pytest.warns(fj.FlexjointWarning, match="000008.parquet is damaged; its samples are computed again"):
        assert store.load(8, 8) is None


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_folder_or_a_pipe_in_the_place_of_a_block(tmp_path, make):
    store = opened(tmp_path)
    store.save(0, BLOCK)
    file_of(store).unlink()
    make(file_of(store))
    for use in (lambda: store.load(0, 8), lambda: store.save(0, BLOCK)):
        with pytest.raises(fj.InputError, match=r"000000\.parquet must be a file, .*: move it elsewhere"):
            use()


@pytest.mark.parametrize("damage", ["truncated", "emptied", "flipped", "edited", "of others"])
def test_a_damaged_block_is_computed_again(tmp_path, damage):
    import pyarrow
    from pyarrow import parquet

    store = opened(tmp_path)
    store.save(0, BLOCK | {"largest": np.random.default_rng(0).random(8)})  # it cannot be compressed
    path = file_of(store)
    content, table = path.read_bytes(), parquet.read_table(path)
    if damage == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "emptied":
        path.write_bytes(b"")
    elif damage == "flipped":
        place = content.index(np.random.default_rng(0).random(8).tobytes()[:16]) + 13
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    elif damage == "edited":
        changed = pyarrow.array(table["largest"].to_numpy() + 1e-12)
        parquet.write_table(table.set_column(1, table.schema.field("largest"), changed), path)
    else:
        parquet.write_table(table.replace_schema_metadata(None), path)
    with pytest.warns(fj.FlexjointWarning, match="is damaged; its samples are computed again"):
        assert store.load(0, 8) is None


def test_fewer_samples_never_replace_more(tmp_path, recwarn):
    """A client that asks for 5 samples and one that asks for 8 write the same block, in any order."""
    store = opened(tmp_path)
    store.save(0, columns(rows=5))
    assert store.load(0, 8) is None and same(store.load(0, 5), columns(rows=5)) and not recwarn.list
    store.save(0, BLOCK)
    store.save(0, columns(rows=5))
    assert same(store.load(0, 8), BLOCK)
    assert store.load(0, 5)["sample"].tolist() == [0, 1, 2, 3, 4]


def test_the_first_client_chooses_the_size_of_blocks(tmp_path):
    opened(tmp_path)
    assert opened(tmp_path, block=64).block == 8


def test_a_folder_that_becomes_that_of_another_study(tmp_path, monkeypatch):
    """Between two blocks of a study somebody deletes its folder and begins another one."""
    monkeypatch.setattr(store_module, "RECHECK", 0.0)
    store = opened(tmp_path / "x")
    store.save(0, BLOCK)
    whole = json.loads((tmp_path / "x" / SETTINGS).read_text())
    (tmp_path / "x" / SETTINGS).write_text(json.dumps(whole | {"settings": {"seed": 2}}))
    with pytest.raises(fj.InputError, match="other settings: seed was 2, now it is 1"):
        store.save(8, columns(8))
    assert not file_of(store, 8).exists()


@pytest.mark.parametrize("content", ["{", "[" * 10**5, "3", "\0", None])
def test_settings_that_cannot_be_read(tmp_path, content):
    store = opened(tmp_path)
    path = tmp_path / SETTINGS
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(fj.InputError, match=r"settings.json cannot be read.*; give another folder"):
        store.check_settings()


def test_samples_of_an_earlier_version_are_refused_by_name(tmp_path):
    (tmp_path / SETTINGS).write_text(json.dumps({"seed": 1}))
    np.savez(tmp_path / "samples-00000000.npz", largest=np.arange(8.0))
    with pytest.raises(fj.InputError, match=r"format of another version .* give another folder \(numpy.load reads"):
        opened(tmp_path)
    assert (tmp_path / "samples-00000000.npz").exists()


def test_settings_are_made_once(tmp_path, monkeypatch):
    for hard_links in (True, False):
        if not hard_links:

            def refuse(*_):
                raise PermissionError("no hard links here")

            monkeypatch.setattr(places.os, "link", refuse)
        place = Folder(tmp_path)
        place.create(f"{hard_links}.json", b"one")
        place.create(f"{hard_links}.json", b"other")
        assert place.read(f"{hard_links}.json") == b"one"
    assert not list(tmp_path.glob("*.part")) and not list(tmp_path.glob(".*"))


def test_settings_that_another_process_is_about_to_make(tmp_path):
    """Its unfinished file does not make the folder one of something else."""
    (tmp_path / ".settings.json.123.abc.part").write_text("{")
    opened(tmp_path)
    assert json.loads((tmp_path / SETTINGS).read_text())["settings"] == {"seed": 1}


# Disks --------------------------------------------------------------------------------------------------------------


def test_a_full_or_read_only_disk(tmp_path, monkeypatch):
    """The error says that what is stored stays; no part of a file is left, and the next call goes on."""
    store = opened(tmp_path)
    store.save(0, BLOCK)
    for number in (errno.ENOSPC, errno.EROFS, errno.EDQUOT):
        with monkeypatch.context() as patch:

            def refuse(*_, number=number):
                raise OSError(number, "the disk says no")

            patch.setattr("flexjoint.atomic.os.replace", refuse)
            patch.setattr(places.os, "link", refuse)
            with pytest.raises(OSError, match="the disk says no; blocks that are stored stay") as raised:
                store.save(8, columns(8))
            assert raised.value.errno == number and raised.value.filename == str(file_of(store, 8))
            with pytest.raises(OSError, match="the disk says no; blocks that are stored stay"):
                opened(tmp_path / "new")
    assert [x.name for x in (tmp_path / "blocks").iterdir()] == [file_of(store).name]
    store.save(8, columns(8))
    assert same(store.load(0, 8), BLOCK) and same(store.load(8, 8), columns(8))


def test_foreign_files(tmp_path):
    """A folder of something else is refused, a stranger among the blocks is named and left alone."""
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(fj.InputError, match=r"no folder of samples: it holds 'thesis.tex'; give another"):
        opened(tmp_path)
    with pytest.raises(fj.InputError, match="is no folder; give the name of a folder"):
        opened(tmp_path / "thesis.tex")
    opened(tmp_path / "x").save(0, BLOCK)
    (tmp_path / "x" / "blocks" / "notes.txt").write_text("mine")
    with pytest.warns(fj.FlexjointWarning, match=r"blocks/notes.txt is no block of samples; it is left alone"):
        assert opened(tmp_path / "x").firsts() == [0]
    assert (tmp_path / "x" / "blocks" / "notes.txt").read_text() == "mine"


def test_places(tmp_path, monkeypatch):
    assert place_of(f"file://{tmp_path}").path == tmp_path
    with pytest.raises(fj.InputError, match="nothing://x: Protocol not known: nothing"):
        place_of("nothing://x")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(fj.InputError, match=r"URLs need fsspec, .* pip install 'flexjoint\[cluster"):
        place_of("s3://bucket/study")
