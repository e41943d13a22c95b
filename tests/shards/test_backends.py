"""Any executor does: the same bits, whatever it is; what dies is replaced or told, and nothing hangs."""

import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from multiprocessing import get_context

import numpy as np
import pytest
from tasks import Unit, blocks, count, kill_always, kill_once, slow, wrong

import convexmetric as cm
from convexmetric.deadline import OutOfTime, deadline
from convexmetric.errors import BackendError, GapWarning, InputError, LostShardsWarning, SolverNotInstalledError
from convexmetric.shards import Backend, Executors, Serial, ShardedRisk, as_backend, write, write_pieces
from convexmetric.shards.sums import add, lost

UNITS = [Unit(number) for number in range(20)]
WHOLE = Serial().total(count, UNITS, None)
#: So many that two workers take several at a time.
MANY = [Unit(number) for number in range(200)]
ALL = Serial().total(count, MANY, None)


@cache
def forked():
    """Processes forked from one that has imported the package and done nothing else."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["convexmetric"])
    return context


def processes(count=2):
    return ProcessPoolExecutor(count, mp_context=forked())


def problem(measure="map"):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 10)
    return cm.RankingProblem.from_labels(rng.standard_normal((40, 4)) + y[:, None], y, measure=measure, C=20.0)


@pytest.mark.parametrize("engine", [lambda: ThreadPoolExecutor(3), processes])
def test_engines_give_the_same_bits(tmp_path, engine):
    write(problem().risk, tmp_path)
    for shards in (3, 40):
        risk = ShardedRisk(tmp_path, shards=shards)
        alone = cm.solve(cm.MetricProblem(risk, problem().regularizer))
        with engine() as pool:
            there = cm.solve(cm.MetricProblem(risk, problem().regularizer), backend=pool)
        assert (there.lower_bound, there.upper_bound) == (alone.lower_bound, alone.upper_bound)
        assert there.iterations == alone.iterations


@pytest.mark.parametrize("measure", ["map", "auc"])
def test_a_problem_in_memory_is_solved_on_a_backend_and_stays_the_users(measure):
    here = cm.solve(problem(measure), solver="cutting-planes")
    mine = problem(measure)
    there = cm.solve(mine, backend=lambda: ThreadPoolExecutor(2))
    assert there.problem is mine
    assert there.gap <= 1e-6
    assert max(here.lower_bound, there.lower_bound) <= min(here.upper_bound, there.upper_bound)
    # The certificate is one of the problem in memory too.
    again = cm.certify(mine, there.M, there.certificate.dual)
    assert again.upper_bound == pytest.approx(there.upper_bound, rel=1e-9)
    assert again.lower_bound == pytest.approx(there.lower_bound, rel=1e-9)


@pytest.mark.parametrize("measure", ["map", "auc"])
def test_most_passes_go_over_a_sample_that_is_here(tmp_path, measure):
    rng = np.random.default_rng(0)
    y = np.arange(400) % 4
    X = rng.normal(size=(400, 4)) + rng.normal(size=(4, 4))[y]
    mine = cm.RankingProblem.from_labels(X, y, measure=measure, C=10.0)
    solver = cm.solvers.SampledCuttingPlanes(least=60)
    plain = cm.solve(mine, 0.02, solver="cutting-planes")
    there = cm.solve(mine, 0.02, solver=solver, backend=lambda: ThreadPoolExecutor(2))
    assert there.solver == "sampled-cutting-planes"
    assert there.status == "optimal"
    assert max(there.lower_bound, plain.lower_bound) <= min(there.upper_bound, plain.upper_bound)
    assert there.iterations < plain.iterations
    again = cm.certify(mine, there.M, there.certificate.dual)
    assert again.lower_bound == pytest.approx(there.lower_bound, rel=1e-7)
    small = write(mine.risk, tmp_path / "small", cache=10_000)
    pieces = write_pieces([mine.risk, mine.risk], tmp_path / "pieces")
    for risk, reason in ((small, "raise cache"), (pieces, "several sets of points")):
        with pytest.raises(cm.errors.UnsupportedProblemError, match=reason):
            cm.solve(cm.MetricProblem(risk, mine.regularizer), solver=solver)


def test_the_default_samples_queries_of_shards_where_passes_are_long(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(5_100) % 4
    X = rng.normal(size=(5_100, 3)) + rng.normal(size=(4, 3))[y]
    write(cm.RankingProblem.from_labels(X, y, C=10.0).risk, tmp_path)
    for kept in (2**20, 10_000):
        problem = cm.MetricProblem(ShardedRisk(tmp_path, cache=kept), cm.regularizers.Trace(1.0))
        steps = [step.name for step in cm.explain(problem, measure=False).steps]
        # Where the shards do not fit into memory there are no samples.
        assert (steps[0] == "sampled-cutting-planes") == ("sampled-cutting-planes" in steps) == (kept == 2**20)


def test_a_solve_goes_on_from_its_checkpoint_with_other_shards(tmp_path):
    write(problem().risk, tmp_path / "risk")
    regularizer = problem().regularizer
    first = cm.MetricProblem(ShardedRisk(tmp_path / "risk", shards=4), regularizer)
    with pytest.warns(cm.errors.GapWarning):
        cut = cm.solve(first, max_iter=4, checkpoint=tmp_path / "state.npz")
    second = cm.MetricProblem(ShardedRisk(tmp_path / "risk", shards=9), regularizer)
    solution = cm.solve(second, checkpoint=tmp_path / "state.npz", backend=lambda: ThreadPoolExecutor(2))
    assert solution.gap <= 1e-6
    assert solution.history[: len(cut.history)] == cut.history


def test_a_process_that_is_killed_breaks_a_pool_but_not_one_that_can_be_made_again(tmp_path):
    backend = as_backend(processes)
    try:
        assert backend.total(kill_once, UNITS, str(tmp_path)) == WHOLE
        (tmp_path / "died").unlink()
        assert backend.total(kill_once, MANY, str(tmp_path)) == ALL
    finally:
        backend.close()
    with processes() as pool, pytest.raises(BackendError, match="a function that makes an executor"):
        as_backend(pool).total(kill_always, UNITS, None)


def test_a_shard_that_kills_every_process_is_lost():
    backend = as_backend(lambda: processes(1))
    try:
        found = backend.total(kill_always, UNITS, None)
    finally:
        backend.close()
    assert 3 in found.lost
    # What was done before a process died counts.
    assert found.terms[0][0] + len(found.lost) == len(UNITS)


def test_a_pass_ends_in_time_without_what_is_not_done():
    with ThreadPoolExecutor(2) as pool:
        start = time.monotonic()
        # Long enough for the others on a busy machine.
        found = Executors(pool, seconds=1.5).total(slow, UNITS, 5.0)
        assert time.monotonic() - start < 4.0
    assert list(found.lost) == [3]
    assert "1.5 s" in found.lost[3]
    assert found.terms[0] == (19,)


@pytest.mark.parametrize("engine", [lambda: ThreadPoolExecutor(1), lambda: processes(1)])
def test_a_pass_ends_with_the_time_of_the_solve_and_so_do_its_tasks(engine):
    with engine() as pool:
        Executors(pool).total(count, UNITS, None)
        start = time.monotonic()
        with deadline(lambda: start + 0.5 - time.monotonic()):
            found = Executors(pool).total(blocks, UNITS, 20.0)
        assert set(found.lost) == set(range(20))
        # The worker is free for what comes next, the pass of the certificate: the others never began.
        assert Executors(pool).total(count, UNITS, None) == WHOLE
        assert time.monotonic() - start < 3.0


def test_shards_of_a_pass_that_the_limit_has_ended_are_not_lost_but_out_of_time(tmp_path):
    class Late(Backend):
        def total(self, task, shards, argument):
            found = Serial().total(task, shards, argument)
            return add([found, lost(shards[1:2], "not done")])

    risk = ShardedRisk(write(problem().risk, tmp_path).folder, shards=4).on(Late())
    with deadline(lambda: 0.0), pytest.raises(OutOfTime):
        risk.value(np.eye(4))
    with pytest.warns(LostShardsWarning):
        assert risk.value(np.eye(4)) == np.inf


def test_a_constant_that_there_was_no_time_for_is_asked_for_again(tmp_path):
    risk = write(problem().risk, tmp_path)
    with deadline(lambda: 0.0):
        assert risk.lipschitz == np.inf
    assert risk.lipschitz == pytest.approx(problem().risk.lipschitz)
    with deadline(lambda: 0.0):
        assert risk.lipschitz < np.inf


def test_a_solve_on_a_pool_that_has_no_time_keeps_the_bound_of_nothing():
    with ThreadPoolExecutor(1) as pool, pytest.warns(GapWarning):
        solution = cm.solve(problem(), solver="cutting-planes", max_seconds=1e-9, backend=pool)
    assert (solution.status, solution.lower_bound) == ("max_seconds", 0.0)


def test_neighbours_of_what_is_not_done_may_be_lost_with_it():
    with ThreadPoolExecutor(2) as pool:
        found = Executors(pool, seconds=0.5).total(slow, MANY, 2.0)
    assert list(found.lost) == list(range(8))
    assert found.terms[0] == (192,)


def test_many_shards_are_few_tasks():
    class Counting(ThreadPoolExecutor):
        submitted = 0

        def submit(self, *task):
            self.submitted += 1
            return super().submit(*task)

    with Counting(2) as pool:
        assert as_backend(pool).total(count, MANY, None) == ALL
        assert pool.submitted == 25
    with Counting(200) as pool:
        assert as_backend(pool).total(count, MANY, None) == ALL
        assert pool.submitted == 200


def test_mistakes_of_a_task_are_raised():
    with ThreadPoolExecutor(2) as pool, pytest.raises(TypeError, match="a mistake"):
        as_backend(pool).total(wrong, UNITS, None)


class Backwards(ThreadPoolExecutor):
    """Any class with ``submit`` that is an Executor: here one that does a task when it is asked for."""

    def submit(self, function, /, *arguments, **named):
        future = Future()
        future.set_result(function(*arguments, **named))
        return future


def test_whatever_submits_will_do():
    assert as_backend(Backwards()).total(count, UNITS, None) == WHOLE


def test_what_is_no_engine_is_refused():
    for engine in (3, object(), [1]):
        with pytest.raises(InputError, match="backend must be an executor"):
            cm.solve(problem(), backend=engine)
    with pytest.raises(InputError, match="must return an executor, got int"):
        cm.solve(problem(), backend=lambda: 3)
    with pytest.raises(InputError, match="seconds must be a positive finite number"):
        Executors(ThreadPoolExecutor(1), seconds=0)
    own = Serial()
    assert as_backend(own) is own
    assert isinstance(as_backend(None), Backend)
    pairs = cm.PairMarginProblem.from_labels(np.random.default_rng(0).standard_normal((10, 2)), np.arange(10) % 2)
    with pytest.raises(InputError, match="cannot be cut into shards"):
        cm.solve(pairs, backend=lambda: ThreadPoolExecutor(1))


def test_without_dask_its_install_line_is_told(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(SolverNotInstalledError, match=r"convexmetric\[dask\]"):
        as_backend("tcp://127.0.0.1:1")


def test_an_interrupt_leaves_the_best_so_far():
    def interrupt(progress):
        if progress.iteration == 3:
            raise KeyboardInterrupt

    with pytest.warns(cm.errors.GapWarning, match="interrupted"):
        solution = cm.solve(problem(), backend=lambda: ThreadPoolExecutor(2), callback=interrupt)
    assert solution.status == "interrupted"
    assert 0.0 <= solution.lower_bound <= solution.upper_bound < np.inf
