"""Shards on a cluster of Dask: the same bounds, whoever is killed; small tasks; no hang."""

import os
import pickle
import signal
import time

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from tasks import blocks, count, kill_always, kill_once, slow, wrong
from test_backends import ALL, MANY, UNITS, WHOLE, problem

import convexmetric as cm
from convexmetric.deadline import OutOfTime, deadline
from convexmetric.errors import BackendError, InputError
from convexmetric.shards import DaskBackend, ShardedRisk, as_backend, write
from convexmetric.shards.sums import add

pytestmark = pytest.mark.integration

distributed = pytest.importorskip("distributed")


def cluster(workers=2):
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
    )


@pytest.fixture(scope="module")
def client():
    """Two processes of one thread, which see the tests' own modules."""
    with cluster() as workers, distributed.Client(workers) as client:
        path = os.path.dirname(__file__)
        client.register_plugin(Modules(path))
        yield client


class Modules(distributed.WorkerPlugin):
    """Where to find modules."""

    name = "path of tests"

    def __init__(self, path):
        self.path = path

    def setup(self, worker):
        import sys

        sys.path.insert(0, self.path)


def pids(client):
    return sorted(client.run(os.getpid).values())


def kill(pid):
    os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A problem in a folder, and its solution in this process."""
    folder = tmp_path_factory.mktemp("risk")
    write(problem().risk, folder)
    there = cm.MetricProblem(ShardedRisk(folder, shards=10), problem().regularizer)
    return there, cm.solve(there)


def same(found, expected):
    return (found.lower_bound, found.upper_bound, found.iterations) == (
        expected.lower_bound,
        expected.upper_bound,
        expected.iterations,
    )


def test_a_cluster_gives_the_same_bits(client, alone):
    there, expected = alone
    assert as_backend(client).total(count, UNITS, None) == WHOLE
    assert as_backend(client).total(count, MANY, None) == ALL
    assert same(cm.solve(there, backend=client), expected)
    assert same(cm.solve(there, backend="dask"), expected)
    assert same(cm.solve(there, backend=client.scheduler.address), expected)


def test_a_problem_in_memory_is_solved_on_a_cluster(client):
    here, there = cm.solve(problem()), cm.solve(problem(), backend=client)
    assert there.gap <= 1e-6
    assert max(here.lower_bound, there.lower_bound) <= min(here.upper_bound, there.upper_bound)


def test_grids_and_folds_go_to_the_cluster_as_joblib_sends_them(client):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 12)
    X = rng.standard_normal((36, 4)) + y[:, None]
    here = cm.cross_validate(X, y, C=[1.0, 10.0], cv=2), GridSearchCV(cm.MLR(), {"C": [1.0, 10.0]}, cv=2).fit(X, y)
    with joblib.parallel_config(backend="dask", n_jobs=2):
        there = (
            cm.cross_validate(X, y, C=[1.0, 10.0], cv=2),
            GridSearchCV(cm.MLR(), {"C": [1.0, 10.0]}, cv=2).fit(X, y),
        )
    assert there[0].mean() == pytest.approx(here[0].mean())
    assert there[1].cv_results_["mean_test_score"] == pytest.approx(here[1].cv_results_["mean_test_score"])


def test_tasks_are_small_and_hold_no_arrays(client, tmp_path, monkeypatch):
    """Whatever reaches the scheduler, but for the one argument of the pass."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3_000, 20)), rng.integers(5, size=3_000)
    risk = write(cm.RankingProblem.from_labels(X, y, measure="map").risk, tmp_path, shards=50)
    assert max(len(pickle.dumps(shard)) for shard in risk.shards) < 10_000
    sent = []
    original = client.map

    def watched(function, shards, **named):
        if function is add:
            return original(function, shards, **named)
        sent.extend(len(pickle.dumps((function, shard, named["task"]))) for shard in shards)
        assert set(named) == {"task", "argument", "until", "pure"}
        assert isinstance(named["argument"], distributed.Future)
        return original(function, shards, **named)

    monkeypatch.setattr(client, "map", watched)
    M, groups = np.eye(20), np.arange(3_000) * 32 // 3_000
    there, here = risk.on(client).separate(M, groups), risk.separate(M, groups)
    assert (there.normals == here.normals).all()
    assert len(sent) == 50
    assert max(sent) < 10_000


def test_killed_workers_change_nothing(client, alone, tmp_path):
    """One dies with a task, one between two passes."""
    there, expected = alone
    assert as_backend(client).total(kill_once, UNITS, str(tmp_path)) == WHOLE
    (tmp_path / "died").unlink()
    assert as_backend(client).total(kill_once, MANY, str(tmp_path)) == ALL

    def callback(progress):
        if progress.iteration == 3:
            kill(pids(client)[0])

    assert same(cm.solve(there, backend=client, callback=callback), expected)


@pytest.mark.slow
def test_all_workers_at_once_change_nothing_either(client, alone):
    there, expected = alone

    def callback(progress):
        if progress.iteration == 4:
            for pid in pids(client):
                kill(pid)

    assert same(cm.solve(there, backend=client, callback=callback), expected)
    client.wait_for_workers(2, timeout=60)


def test_a_pass_ends_in_time_without_what_is_not_done(client):
    as_backend(client).total(count, UNITS, None)
    start = time.monotonic()
    found = DaskBackend(client, seconds=2.0).total(slow, UNITS, 15.0)
    assert time.monotonic() - start < 14.0
    # Others may have waited behind it.
    assert 3 in found.lost
    assert found.terms[0][0] + len(found.lost) == len(UNITS)
    # Its worker is busy until then.
    time.sleep(14.0)


def test_a_pass_ends_with_the_time_of_the_solve_and_so_do_its_tasks(client):
    as_backend(client).total(count, UNITS, None)
    start = time.monotonic()
    with pytest.raises(OutOfTime), deadline(lambda: start + 1.0 - time.monotonic()):
        as_backend(client).total(blocks, UNITS, 60.0)
    assert as_backend(client).total(count, UNITS, None) == WHOLE
    assert time.monotonic() - start < 20.0


def test_mistakes_of_a_task_are_raised(client):
    with pytest.raises(TypeError, match="a mistake"):
        as_backend(client).total(wrong, UNITS, None)


@pytest.mark.slow
def test_a_shard_that_kills_every_worker_is_lost(client, monkeypatch):
    monkeypatch.setattr("convexmetric.shards.cluster.RETRIES", 0)
    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    try:
        found = as_backend(client).total(kill_always, MANY, None)
    finally:
        client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 3))
    assert 3 in found.lost
    assert found.terms[0][0] + len(found.lost) == len(MANY)
    client.wait_for_workers(2, timeout=60)


def test_a_scheduler_that_is_gone_is_told_and_the_checkpoint_goes_on(alone, tmp_path):
    there, expected = alone
    path = tmp_path / "state.npz"
    other = cluster(1)
    lost = distributed.Client(other, set_as_default=False, timeout=1)

    def callback(progress):
        if progress.iteration == 5:
            other.close()

    with pytest.raises(BackendError, match="scheduler"):
        cm.solve(there, backend=lost, callback=callback, checkpoint=path)
    lost.close()
    assert path.exists()
    solution = cm.solve(there, checkpoint=path)
    assert solution.gap <= 1e-6
    assert solution.lower_bound <= expected.upper_bound
    assert expected.lower_bound <= solution.upper_bound
    assert len(solution.history) >= 5


def test_a_cluster_without_workers_is_told():
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs="CRITICAL") as workers,
        distributed.Client(workers, set_as_default=False) as other,
        pytest.raises(BackendError, match="no worker that takes tasks for 1 s"),
    ):
        DaskBackend(other, patience=1.0).total(count, UNITS, None)


def test_what_is_no_cluster_is_refused():
    with pytest.raises(InputError, match="leads to no Dask client"):
        as_backend("tcp://127.0.0.1:9?")
