"""Kernels on disk: used when whole, never when damaged, and in nobody's way when the disk is."""

import errno
import logging
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.compiler import cache, jit
from flexjoint.compiler.kernel import Kernel

ROBOT = fj.random_robot(2, 11, name="two")
Q = np.array([0.3, -0.7])

SCRIPT = """
import sys, warnings
import numpy as np
import flexjoint as fj
warnings.simplefilter("error")
robot = fj.random_robot(2, 11, name="two")
M = fj.mass_matrix(robot, np.array([0.3, -0.7]))
rows = fj.mass_matrix(robot, np.tile([0.3, -0.7], (100, 1)))
R, p = fj.forward_kinematics(robot, np.array([0.3, -0.7]))
assert all((x == M).all() for x in rows) and R.shape == (3, 3)
print(M.tobytes().hex(), "casadi" in sys.modules)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "kernels"
    monkeypatch.setenv("FLEXJOINT_CACHE", str(place))
    return place


def mass_matrix(robot=ROBOT):
    """By an algorithm that remembers nothing in memory."""
    algorithm = fj.Algorithm(fj.mass_matrix.function, "mass_matrix")
    return algorithm(robot, Q)


def run():
    process = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True)
    return process.stdout.split()


def test_the_second_process_neither_traces_nor_imports_casadi(folder):
    first, second = run(), run()
    assert first[0] == second[0]
    assert (first[1], second[1]) == ("True", "False")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())


def test_two_processes_at_once(folder):
    processes = [subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE) for _ in range(3)]
    results = {process.communicate()[0].split()[0] for process in processes}
    assert len(results) == 1
    assert all(process.returncode == 0 for process in processes)
    assert not list(folder.glob("*.part"))


def test_a_hit_gives_the_same_bits_and_describes_itself(folder):
    expected = mass_matrix()
    assert len(list(folder.glob("*.kernel"))) == 1
    algorithm = fj.Algorithm(fj.mass_matrix.function, "mass_matrix")
    algorithm.trace = lambda *_: pytest.fail("traced although the kernel is on disk")
    kernel = algorithm.kernel(ROBOT, algorithm.structure(ROBOT))
    assert np.array_equal(kernel(Q), expected)
    assert [x.name for x in kernel.inputs] == ["q"]
    assert kernel.inputs[0].labels == tuple(joint.name for joint in ROBOT.joints)
    assert kernel.operations > 0
    with pytest.raises(fj.NonFiniteError, match=r"q\[1\] .*nan"):
        kernel(np.array([0.0, np.nan]))


@pytest.mark.parametrize("place", ["magic", "digest", "header", "code", "end"])
def test_a_damaged_kernel_is_never_used(folder, place, monkeypatch):
    expected = mass_matrix()
    (path,) = folder.glob("*.kernel")
    original = cache.load(path.stem).object_code
    content = bytearray(path.read_bytes())
    where = {"magic": 0, "digest": len(cache.MAGIC), "header": len(cache.MAGIC) + 45, "code": len(content) // 2}
    if place == "end":
        del content[-1:]
    else:
        content[where[place]] ^= 1
    path.write_bytes(content)
    executed, load = [], jit.load_object
    monkeypatch.setattr(jit, "load_object", lambda code, *rest: executed.append(code) or load(code, *rest))
    with pytest.warns(cache.CacheWarning, match="damaged; it is not used"):
        assert np.array_equal(mass_matrix(), expected)
    assert executed == [original]  # compiled anew: nothing of the file has run
    assert path.read_bytes() != bytes(content)  # made anew
    assert np.array_equal(mass_matrix(), expected)


def test_a_kernel_under_another_name_is_not_used(folder):
    mass_matrix()
    (path,) = folder.glob("*.kernel")
    other = ROBOT.with_gravity([0.0, 0.0, -1.0])  # another digest, the same mass matrix
    mass_matrix(other)
    (moved,) = set(folder.glob("*.kernel")) - {path}
    moved.write_bytes(path.read_bytes())
    with pytest.warns(cache.CacheWarning, match="damaged"):
        mass_matrix(other)


def test_a_folder_others_can_enter_is_refused(folder):
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    with pytest.warns(cache.CacheWarning, match="must belong to you alone"):
        mass_matrix()
    assert not list(folder.iterdir())


def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FLEXJOINT_CACHE", str(tmp_path / "file" / "kernels"))
    with pytest.warns(cache.CacheWarning, match="cannot be made"):
        expected = mass_matrix()
    assert np.array_equal(mass_matrix(), expected)  # said once


def test_a_full_disk(folder, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(cache.CacheWarning, match="could not be kept .*No space left"):
        mass_matrix()
    assert not list(folder.iterdir())


TWO_KERNELS = """
import os, sys, tempfile, warnings
import numpy as np
import flexjoint as fj
from flexjoint.compiler import cache
robot, q = fj.random_robot(2, 11, name="two"), np.array([0.3, -0.7])
fj.kinetic_energy(robot, q, q)  # not kept: loads all that is needed
tempfile.NamedTemporaryFile().close()
cache.sources()
if len(sys.argv) > 1:
    os.environ["FLEXJOINT_CACHE"] = sys.argv[1]
else:
    del os.environ["FLEXJOINT_CACHE"]
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)  # root may write to what is read-only
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("default")
    M = fj.mass_matrix(robot, q)
    g = fj.gravity_torque(robot, q)
print(M.tobytes().hex(), *(x.message for x in said), sep="\\n")
"""


@pytest.fixture
def public():
    """A folder that another user may enter, and write to."""
    with tempfile.TemporaryDirectory() as path:
        if os.getuid() == 0:
            os.chown(path, 65534, 65534)
        yield Path(path)
        os.chmod(path, 0o700)


def two_kernels(*arguments, **keywords):
    """The result and the warnings of two kernels in a process that starts with no cache."""
    environment = {key: x for key, x in os.environ.items() if key != "XDG_CACHE_HOME"}
    environment |= {"FLEXJOINT_CACHE": "off", **keywords.pop("env", {})}
    command = [sys.executable, "-c", TWO_KERNELS, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, **keywords)
    assert done.returncode == 0, done.stderr
    result, *said = done.stdout.splitlines()
    kernel = Kernel(*fj.mass_matrix.trace(ROBOT, fj.mass_matrix.structure(ROBOT)))
    assert result == kernel(Q).tobytes().hex()
    return said


def test_a_home_that_can_be_written_to(public):
    assert two_kernels(env={"HOME": str(public)}) == []
    assert len(list(public.glob(".cache/flexjoint/*.kernel"))) == 2


def test_a_read_only_home(public):
    """One warning for both kernels."""
    public.chmod(0o555)
    said = two_kernels(env={"HOME": str(public)})
    assert said == [f"kernels are not kept: {public}/.cache/flexjoint cannot be made (Permission denied)"]
    assert not list(public.iterdir())


def test_a_folder_that_is_read_only(public):
    public.chmod(0o500)
    assert two_kernels(str(public)) == [f"a kernel could not be kept in {public} (Permission denied)"]
    assert not list(public.iterdir())


def test_a_disk_without_room(public):
    """Files may not grow beyond 100 bytes: nothing half-written stays."""
    said = two_kernels(str(public), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    assert said == [f"a kernel could not be kept in {public} (File too large)"]
    assert not list(public.iterdir())


RACE = """
import sys, warnings
from flexjoint.compiler import cache
warnings.simplefilter("ignore")
entry = cache.Entry({"name": "x" * 500}, bytes(range(256)) * 400)
for k in range(300):
    if sys.argv[1] == "clear" and k % 3 == 0:
        cache.clear()
    cache.store("key", entry)
    found = cache.load("key")
    assert found is None or found == entry
"""


def test_processes_that_store_load_and_remove_at_once(folder):
    """An entry is whole or absent, whatever the others do."""
    cache.folder()
    command = [sys.executable, "-c", RACE]
    processes = [subprocess.Popen([*command, what], stderr=subprocess.PIPE) for what in ("store", "store", "clear")]
    for process in processes:
        assert process.communicate()[1] == b""
        assert process.returncode == 0
    assert not list(folder.glob("*.part"))


def test_what_is_done_is_logged(folder, caplog):
    caplog.set_level(logging.INFO, logger="flexjoint.cache")
    mass_matrix()
    (path,) = folder.glob("*.kernel")
    mass_matrix()
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(cache.CacheWarning):
        mass_matrix()
    lines = [record.message for record in caplog.records]
    assert lines == [
        f"kept {path}",
        f"used {path}",
        f"the kernel {path} is damaged; it is not used, and compiled anew",
        f"kept {path}",
    ]


def test_the_least_recently_used_go_first(folder, monkeypatch):
    robots = [fj.random_robot(1, seed) for seed in range(4)]
    for k, robot in enumerate(robots):
        fj.Algorithm(fj.gravity_torque.function, "tau")(robot, np.zeros(1))
        for path in folder.glob("*.kernel"):
            os.utime(path, (path.stat().st_atime, min(path.stat().st_mtime, 1000.0 + k)))
    paths = sorted(folder.glob("*.kernel"), key=lambda x: x.stat().st_mtime)
    cache.prune(folder, limit=sum(path.stat().st_size for path in paths[2:]))
    assert set(folder.glob("*.kernel")) == set(paths[2:])
    assert cache.info() == (folder, 2, sum(path.stat().st_size for path in paths[2:]))
    assert cache.clear() == 2


def test_what_changes_the_key():
    keys = {cache.key_of(*parts) for parts in (("a", 1, "cpu"), ("b", 1, "cpu"), ("a", 4, "cpu"), ("a", 1, "other"))}
    assert len(keys) == 4


def test_algorithms_of_others_are_not_kept(folder):
    @fj.api.algorithm("energy")
    def height(robot, q):
        """Not part of flexjoint, so its source may change unseen."""
        return q[0] * 2.0

    assert height(ROBOT, Q) == 0.6
    assert not folder.exists() or not list(folder.iterdir())
