"""Blocks on executors: same bits as threads, lost workers and schedulers, a bounded number of tasks."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.errors import ClusterError
from flexjoint.simulation.law_digests import DigestedContact
from flexjoint.studies import block_run, tasks
from flexjoint.studies.study_plan import StudyPlan

loop_setup = import_module("flexjoint.studies.loop_setup")
ROBOT = fj.random_robot(2, 5, prismatic=0.0, elastic=1.0, name="arm")
LAW = fj.control.FeedforwardPD(ROBOT, [400.0, 40.0])
MOTION = fj.trajectory.RestToRest([0.0, 0.0], [0.4, -0.3], 0.05)
VARY = {"*.drive.stiffness": "10%", "payload": "0..3"}
FIELDS = ("samples", "parameters", "largest", "rms", "final", "ended", "joint", "longest_step", "stiff_joint")


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop_setup, "ROWS", (8, 8))
        yield


def study(samples=40, **changes):
    options = {"vary": VARY, "seed": 7, "period": 1e-3, "check": False, "controller": LAW, **changes}
    return fj.studies.monte_carlo(ROBOT, options.pop("controller"), MOTION, 0.06, samples=samples, **options)


def same(a, b):
    return all(np.array_equal(getattr(a, x), getattr(b, x)) for x in FIELDS)


@pytest.fixture(scope="module")
def whole():
    return study(threads=1)


class Pretended:
    """An executor that runs tasks one by one when asked to, and counts them; `fails` makes futures of lost workers."""

    workers = 2

    def __init__(self, fails=lambda attempt: None):
        self.fails, self.attempts, self.most, self.waiting = fails, 0, 0, []

    def submit(self, function, *given):
        future = Future()
        self.waiting.append((future, function, given))
        self.most = max(self.most, len(self.waiting))
        if len(self.waiting) == block_run.WINDOW * self.workers or given[-1] == 40:
            threading.Thread(target=self.work).start()
        return future

    def work(self):
        while self.waiting:
            future, function, given = self.waiting.pop(0)
            self.attempts += 1
            error = self.fails(self.attempts)
            if error is None:
                future.set_result(function(*given))
            elif error == "cancelled":
                future.cancel()
                future.set_running_or_notify_cancel()
            else:
                future.set_exception(error)


class KilledWorker(Exception):
    """Named as Dask's error for a task whose workers were lost."""


def test_any_executor_gives_the_same_bits(whole):
    with ThreadPoolExecutor(2) as pool:
        assert same(whole, study(executor=pool))
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        assert same(whole, study(executor=pool))


@pytest.mark.parametrize("error", [KilledWorker("lost"), "cancelled"], ids=["killed", "cancelled"])
def test_lost_workers_are_replaced(whole, error):
    pool = Pretended(lambda attempt: error if attempt in (1, 3) else None)
    assert same(whole, study(executor=pool))
    assert pool.attempts == 4 + 2


def test_a_block_that_ends_every_worker_ends_the_study(tmp_path):
    pool = Pretended(lambda attempt: KilledWorker("it was the last of its kind"))
    with pytest.raises(ClusterError, match=r"was lost with its workers 4 times \(it was .*memory too small"):
        study(executor=pool, folder=tmp_path)
    assert study(8, folder=tmp_path).complete and len(list(tmp_path.glob("blocks/*"))) == 1, "the first block stays"


def test_a_broken_pool_is_an_error_with_a_name():
    class Broken(Pretended):
        def submit(self, *task):
            raise BrokenExecutor("a child ended")

    with pytest.raises(ClusterError, match=r"lost a process \(a child ended\); blocks that are stored stay"):
        study(executor=Broken())


def test_a_lost_scheduler_is_noticed(monkeypatch):
    monkeypatch.setattr(block_run, "PATIENCE", 0.01)

    class Silent(Pretended):
        def submit(self, *task):
            return Future()

        def check(self):
            raise ClusterError("the scheduler is lost")

    with pytest.raises(ClusterError, match="the scheduler is lost"):
        study(executor=Silent())


def test_errors_of_the_study_are_not_repeated():
    pool = Pretended(lambda attempt: fj.InputError("of a block"))
    with pytest.raises(fj.InputError, match="of a block"):
        study(executor=pool)
    assert pool.attempts <= 4


def test_few_tasks_wait_at_a_time(monkeypatch):
    """Nothing is finished before the client stops to submit."""
    monkeypatch.setattr(block_run, "WINDOW", 1)

    class Slow(Pretended):
        def submit(self, function, *given):
            future = Future()
            self.waiting.append((future, function, given))
            self.most = max(self.most, len(self.waiting))
            threading.Timer(0.2, self.work).start()
            return future

    pool = Slow()
    assert study(executor=pool).complete and pool.most == 2


def test_threads_and_executor_exclude_each_other():
    with pytest.raises(fj.InputError, match="threads and executor exclude each other"):
        study(executor=Pretended(), threads=2)


def test_blocks_that_another_client_stores_are_taken(whole, tmp_path):
    """Another client finishes the study while this one computes its first block."""

    def other(samples):
        if samples and not done:
            done.append(study(threads=1, folder=tmp_path))

    done = []
    pool = Pretended()
    assert same(whole, study(executor=pool, folder=tmp_path, progress=other)) and pool.attempts == 0


# Tasks ----------------------------------------------------------------------------------------------------------


def test_a_task_carries_the_study_as_data():
    constant = ca.SX([1.0, 0, 0, 0, 0, 0])  # CasADi pickles expressions in a context only
    plan = StudyPlan(ROBOT, LAW, MOTION, 0.06, VARY, 7, {"contact": lambda t, x: {ROBOT.tool: constant}})
    content = tasks.packed(plan)
    assert len(content) < 10_000
    again = tasks.unpacked(content)
    assert again is tasks.unpacked(content), "a worker unpacks a study once"
    assert again.robot == ROBOT and again.variations.names == plan.variations.names
    assert np.array_equal(plan.values(3, 6), again.values(3, 6))
    digests = [DigestedContact(ROBOT, x.options["contact"]).digest for x in (plan, again)]
    assert digests[0] == digests[1]


def test_what_cannot_be_sent_is_refused_by_name():
    def law(t, state, reference, measurement, lock=threading.Lock()):  # noqa: B008
        return state, -measurement.theta

    with pytest.raises(fj.InputError, match=r"cannot be sent to other processes: .*lock.* leave out executor="):
        study(16, controller=law, executor=Pretended())


def test_other_versions_on_a_worker_are_refused(monkeypatch):
    content = tasks.packed(StudyPlan(ROBOT, LAW, MOTION, 0.06, VARY, 8, {}))
    own = tasks.versions()
    monkeypatch.setattr(tasks, "versions", lambda: own | {"casadi": "3.0"})
    with pytest.raises(ClusterError, match=r"the worker on .* has casadi 3.0, the client has .*; install the same"):
        tasks.run_task(content, 0, 8)


def test_errors_of_workers_can_be_sent_back():
    assert str(pickle.loads(pickle.dumps(ClusterError("why")))) == "why"


# Clusters -------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_cluster_of_two_processes(whole, tmp_path):
    """Same bits as threads, one of the workers killed in the middle; the long version is tests/clusters.py."""
    pytest.importorskip("distributed")
    with fj.studies.local_cluster(2) as workers:
        assert workers.workers == 2 and "2 workers" in repr(workers) and workers.check()
        pids = list(workers.client.run(os.getpid).values())

        def kill(samples):
            if samples and pids:
                os.kill(pids.pop(), signal.SIGKILL)

        found = study(executor=workers, folder=tmp_path / "study", progress=kill)
        assert found.complete and same(whole, found)
        with fj.studies.cluster(workers.address) as joined:
            assert joined.submit(max, 1, 2).result(20) == 2
            assert same(whole, study(executor=joined.client.get_executor()))
    assert same(whole, fj.studies.read(tmp_path / "study"))
    with pytest.raises(ClusterError, match=r"the scheduler of the cluster is lost; .* the same call resumes"):
        workers.check()


def test_a_cluster_that_is_not_there(monkeypatch):
    module = import_module("flexjoint.studies.cluster")
    monkeypatch.setattr(module, "ANSWER", 0.2)
    with pytest.raises(fj.InputError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9 "):
        fj.studies.cluster("tcp://127.0.0.1:9")
    with pytest.raises(fj.InputError, match="workers is 0"):
        fj.studies.local_cluster(0)
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(fj.InputError, match=r"clusters need dask.distributed, .* pip install 'flexjoint\[cluster\]'"):
        fj.studies.local_cluster(2)
