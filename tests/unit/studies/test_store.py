"""A folder holds the samples of one study, whoever writes into it at once and whatever happens to its files."""

from __future__ import annotations

import json
import multiprocessing
from importlib import import_module

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.studies.store import SETTINGS, Store, create

module = import_module("flexjoint.studies.monte_carlo")
store_module = import_module("flexjoint.studies.store")

GAINS = [400.0, 300.0]


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROWS", (8, 8))
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
    assert sorted(x.name for x in folder.iterdir()) == [*(f"samples-{k:08d}.npz" for k in range(0, 80, 8)), SETTINGS]


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


@pytest.mark.parametrize("content", ["{", "[" * 10**5, "3", "\0", None])
def test_settings_that_cannot_be_read(tmp_path, content):
    store = Store(tmp_path, {"seed": 1})
    store.save(0, BLOCK)
    path = tmp_path / SETTINGS
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(fj.InputError, match=r"settings.json cannot be read.*; give another folder"):
        store.check_settings()


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
