"""Kernels on disk: used when whole, never when damaged, and in nobody's way when the disk is."""

import errno
import json
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
from flexjoint.compiler import pipeline
from flexjoint.compiler.llvm import jit
from flexjoint.compiler.runtime import cache

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
    algorithm = fj.algorithm.Algorithm(fj.mass_matrix.__wrapped__, "mass_matrix")
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
    algorithm = fj.algorithm.Algorithm(fj.mass_matrix.__wrapped__, "mass_matrix")
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


def rewritten(path, header: bytes, code: bytes) -> None:
    """Content of any kind, with the digest that belongs to it."""
    body = len(header).to_bytes(8, "little") + header + code
    path.write_bytes(cache.MAGIC + cache._digest(body, path.stem) + body)


WRONG = {
    "no JSON": lambda data, code: (b"{", code),
    "no text": lambda data, code: (b"\xff\xfe", code),
    "nested": lambda data, code: (b"[" * 100_000, code),
    "no table": lambda data, code: (b"[1, 2]", code),
    "nothing": lambda data, code: (b"", b""),
    "keys": lambda data, code: (json.dumps({"name": "x"}).encode(), code),
    "shapes": lambda data, code: (json.dumps(data | {"inputs": [["q", ["2"], "", []]]}).encode(), code),
    "negative": lambda data, code: (json.dumps(data | {"inputs": [["q", [-2], "", []]]}).encode(), code),
    "layers": lambda data, code: (json.dumps(data | {"layers": [3, 4]}).encode(), code),
    "no code": lambda data, code: (json.dumps(data).encode(), b""),
    "half the code": lambda data, code: (json.dumps(data).encode(), code[: len(code) // 2]),
    "no symbol": lambda data, code: (json.dumps(data).encode(), code.replace(b"kernel", b"kernal")),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_content_with_the_right_digest_is_compiled_anew(folder, what):
    expected = mass_matrix()
    (path,) = folder.glob("*.kernel")
    entry = cache.load(path.stem)
    rewritten(path, *WRONG[what](dict(entry.description), entry.object_code))
    with pytest.warns(cache.CacheWarning, match="damaged; it is not used"):
        assert np.array_equal(mass_matrix(), expected)
    assert cache.load(path.stem).object_code == entry.object_code


def test_a_kernel_under_another_name_is_not_used(folder):
    mass_matrix()
    (path,) = folder.glob("*.kernel")
    other = ROBOT.with_gravity([0.0, 0.0, -1.0])  # another digest, the same mass matrix
    mass_matrix(other)
    (moved,) = set(folder.glob("*.kernel")) - {path}
    moved.write_bytes(path.read_bytes())
    with pytest.warns(cache.CacheWarning, match="damaged"):
        mass_matrix(other)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
@pytest.mark.parametrize("make", [lambda path: os.mkfifo(path, 0o600), lambda path: path.mkdir(mode=0o700)])
def test_a_pipe_or_a_folder_in_the_place_of_a_kernel(folder, make):
    expected = mass_matrix()
    (path,) = folder.glob("*.kernel")
    path.unlink()
    make(path)
    with pytest.warns(cache.CacheWarning, match=r"cannot be (read|kept)|could not be kept"):
        assert mass_matrix().tobytes() == expected.tobytes()


def test_a_folder_others_can_enter_is_refused(folder):
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    with pytest.warns(cache.CacheWarning, match="must belong to you alone"):
        mass_matrix()
    assert not list(folder.iterdir())


def test_folders_above_are_made_private(tmp_path, monkeypatch):
    monkeypatch.setenv("FLEXJOINT_CACHE", str(tmp_path / "a" / "b" / "kernels"))
    mask = os.umask(0)
    try:
        mass_matrix()
    finally:
        os.umask(mask)
    for path in (tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "kernels"):
        assert path.stat().st_mode & 0o777 == 0o700


def test_owner_and_mode_are_checked_at_every_load(folder):
    """Between two kernels somebody opens the folder, or puts another one in its place."""
    expected = mass_matrix()
    (path,) = folder.glob("*.kernel")
    folder.chmod(0o777)
    with pytest.warns(cache.CacheWarning, match="must belong to you alone"):
        assert cache.load(path.stem) is None
    folder.chmod(0o700)
    assert cache.load(path.stem) is not None
    path.chmod(0o666)
    with pytest.warns(cache.CacheWarning, match="cannot be read .it does not belong to you alone"):
        assert np.array_equal(mass_matrix(), expected)
    path.chmod(0o600)
    if os.getuid() == 0:
        for place, message in ((path, "does not belong to you alone"), (folder, "must belong to you alone")):
            os.chown(place, 65534, 65534)
            with pytest.warns(cache.CacheWarning, match=message):
                assert cache.load(path.stem) is None
            os.chown(place, 0, 0)
            cache.complain_once.cache_clear()


def test_links_are_not_followed(folder, tmp_path):
    mass_matrix()
    (path,) = folder.glob("*.kernel")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.warns(cache.CacheWarning, match="cannot be read"):
        assert cache.load(path.stem) is None


def test_what_others_can_rename_is_refused(tmp_path, monkeypatch):
    above = tmp_path / "shared"
    monkeypatch.setenv("FLEXJOINT_CACHE", str(above / "own" / "kernels"))
    (above / "own" / "kernels").mkdir(mode=0o700, parents=True)
    for mode in (0o770, 0o707):
        above.chmod(mode)
        cache.complain_once.cache_clear()
        with pytest.warns(cache.CacheWarning, match=r"shared can be changed by other users.* chmod go-w"):
            assert cache.folder() is None
    above.chmod(0o1777)  # as /tmp: only owners rename
    assert cache.folder() == above / "own" / "kernels"
    if os.getuid() == 0:
        os.chown(above / "own", 65534, 65534)
        with pytest.warns(cache.CacheWarning, match="own belongs to another user"):
            assert cache.folder() is None
        above.chmod(0o700)
        with pytest.warns(cache.CacheWarning, match="own can be changed by other users"):
            assert cache.folder() is None


def test_a_folder_exchanged_while_it_is_open(folder):
    """What is read and written goes through the handle that was checked."""
    mass_matrix()
    (path,) = folder.glob("*.kernel")
    with cache.opened() as place:
        folder.rename(folder.with_name("moved"))
        folder.mkdir(mode=0o700)
        (folder / path.name).write_bytes(b"evil")
        assert place.read(path.name).startswith(cache.MAGIC)
        place.write("other", b"mine")
    assert not (folder / "other").exists()


def test_the_home_of_the_user_is_meant_by_a_tilde(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FLEXJOINT_CACHE", "~/kernels")
    assert cache.folder() == tmp_path / "kernels"
    monkeypatch.delenv("FLEXJOINT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "~/caches")
    assert cache.folder() == tmp_path / "caches" / "flexjoint"


def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FLEXJOINT_CACHE", str(tmp_path / "file" / "kernels"))
    with pytest.warns(cache.CacheWarning, match="cannot be made"):
        expected = mass_matrix()
    assert np.array_equal(mass_matrix(), expected)  # said once


def test_a_full_disk(folder, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(cache.CacheWarning, match="could not be kept .*No space left"):
        mass_matrix()
    assert not list(folder.iterdir())


TWO_KERNELS = """
import os, sys, tempfile, warnings
import numpy as np
import flexjoint as fj
from flexjoint.compiler.runtime import cache
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
    kernel = pipeline.compile(*fj.mass_matrix.trace(ROBOT, fj.mass_matrix.structure(ROBOT)))
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
from flexjoint.compiler.runtime import cache
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
        fj.algorithm.Algorithm(fj.gravity_torque.__wrapped__, "tau")(robot, np.zeros(1))
        for path in folder.glob("*.kernel"):
            os.utime(path, (path.stat().st_atime, min(path.stat().st_mtime, 1000.0 + k)))
    paths = sorted(folder.glob("*.kernel"), key=lambda x: x.stat().st_mtime)
    cache.prune(sum(path.stat().st_size for path in paths[2:]))
    assert set(folder.glob("*.kernel")) == set(paths[2:])
    assert cache.info() == (folder, 2, sum(path.stat().st_size for path in paths[2:]))
    assert cache.clear() == 2


def test_what_changes_the_key():
    keys = {cache.key_of(*parts) for parts in (("a", 1, "cpu"), ("b", 1, "cpu"), ("a", 4, "cpu"), ("a", 1, "other"))}
    assert len(keys) == 4


def test_algorithms_of_others_are_not_kept(folder):
    @fj.algorithm.algorithm.algorithm("energy")
    def height(robot, q):
        """Not part of flexjoint, so its source may change unseen."""
        return q[0] * 2.0

    assert height(ROBOT, Q) == 0.6
    assert not folder.exists() or not list(folder.iterdir())


def test_a_kernel_from_the_cache_warns_as_when_it_was_traced(folder):
    """Else the second process, and --strict in it, would not hear what the first one heard."""
    joint = fj.Joint("hinge", coulomb_friction=5.0, coulomb_velocity=0.01, drive=fj.ElasticDrive(1000.0, fj.Motor(1.0)))
    link = fj.Link("bar", joint, mass=1.0, com=[0.3, 0.0, 0.0], inertia=np.diag([0.01, 0.1, 0.1]))
    robot, motion = fj.Robot("bar", (link,)), np.zeros((5, 1))
    for _ in range(2):
        # one that remembers nothing in memory
        own = fj.inverse_dynamics
        algorithm = fj.algorithm.Algorithm(own.__wrapped__, "tau", requires=own._requires)
        with pytest.warns(fj.FlexjointWarning, match="Coulomb friction of joint 'hinge'"):
            algorithm(robot, *motion)
    assert len(list(folder.glob("*.kernel"))) == 1


def test_the_key_knows_casadi_and_the_processor(monkeypatch):
    """Versions of CasADi simplify expressions in their own ways; code for one processor may not run on another."""
    known = cache.key_of("kernel", 1, "processor")
    assert cache.casadi_version() and known == cache.key_of("kernel", 1, "processor")
    monkeypatch.setattr(cache, "casadi_version", lambda: "casadi-3.6.0.dist-info")
    assert cache.key_of("kernel", 1, "processor") != known
    code = "from flexjoint.compiler.llvm import jit; print(jit.processor())"
    keys = set()
    for level in ("x86-64-v2", "x86-64-v3"):
        environment = {**os.environ, "FLEXJOINT_CPU": level}
        keys.add(subprocess.check_output([sys.executable, "-c", code], text=True, env=environment))
    assert len(keys) == 2
