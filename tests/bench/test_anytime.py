"""Curves on a grid of times, and the judging of callables in benchmarks."""

import itertools
import time

import numpy as np
import pytest
from catalogue import instance
from hypothesis import given
from hypothesis import strategies as st

import convexmetric as cm
from convexmetric.bench import GAPS, Run, anytime
from convexmetric.bench.anytime import Judge, Watch, time_grid
from convexmetric.bench.processes import START_UP
from convexmetric.bench.traces import watched
from convexmetric.certificates import relative_gap


class Listener:
    """A channel that keeps what is sent."""

    def __init__(self):
        self.reports, self.added = [], 0.0

    def report(self, run):
        self.reports.append(run)

    def extend(self, seconds):
        self.added += seconds


def watch(limit=10.0, bound=1.0, tol=1e-6):
    return Watch(Listener(), Run("p", "s", tol, limit, 1, "error"), bound)


@pytest.mark.parametrize("limit", [0.5, 1.0, 60.0, 1e-4])
def test_grids_are_geometric_shared_and_end_at_the_limit(limit):
    times = np.array(time_grid(limit))
    assert times[-1] == limit
    assert (np.diff(times) > 0.0).all()
    if limit > 1e-3:
        np.testing.assert_allclose(times[:-1], 10.0 ** (np.arange(len(times) - 1) / 8.0 - 3.0), rtol=5e-3)
        # Eight a decade, up to the limit.
        assert len(times) - 1 == np.ceil(8.0 * np.log10(limit / 1e-3) - 1e-9)
    assert set(times[:-1]) <= set(time_grid(1000.0))


@given(
    st.lists(st.tuples(st.floats(0.0, 20.0), st.floats(1.0, 100.0), st.floats(-5.0, 1.0)), min_size=1, max_size=30),
    st.booleans(),
)
def test_a_curve_has_the_state_at_each_grid_time(events, own):
    # Found anew by looking through all events for each time.
    events = sorted(events)
    seen, best, lower = watch(), np.inf, -np.inf
    states = []
    for seconds, objective, bound in events:
        best, lower = min(best, objective), max(lower, bound)
        seen.note(seconds, 1, best, lower, own)
        states.append((seconds, best, lower))
    expected = []
    for at in time_grid(10.0):
        before = [state for state in states if state[0] <= at]
        if before and at < max(events[-1][0], 1e-3) * 10.0 ** (1 / 8) * 1.01:
            _, objective, bound = before[-1]
            gap = relative_gap(objective, bound) if own else np.inf
            expected.append((at, objective, gap, relative_gap(objective, 1.0)))
    found = seen.points
    assert found == expected[: len(found)]
    # It ends at the first grid time that is not before the last event.
    ends = [at for at in time_grid(10.0) if at >= events[-1][0]]
    if ends:
        assert found[-1][0] == ends[0]


def test_gaps_are_reached_once_and_reported_at_once():
    seen = watch()
    for k, value in enumerate((3.0, 1.05, 1.005, 1.04)):
        seen.note(0.01 * (k + 1), k, value, 1.0, own=True)
    assert seen.reached == [0.02, 0.03, np.inf, np.inf, np.inf, np.inf]
    reports = seen.channel.reports
    assert [run.upper_bound for run in reports] == [3.0, 1.05, 1.005]
    assert reports[-1].curve[-1][:2] == (0.0316, 1.005)
    assert {run.status for run in reports} == {"limit"}


@pytest.fixture(scope="module")
def solved():
    problem = instance("ranking from labels")
    return problem, cm.solve(problem)


def judge(problem, bound, **settings):
    return Judge(problem, watch(bound=bound, **settings))


def test_iterates_are_judged_by_the_bound_of_the_library(solved):
    problem, solution = solved
    record = judge(problem, solution.lower_bound, tol=1e-3)
    shown = [np.eye(3), 2.0 * np.eye(3), np.eye(3), solution.M, np.eye(3)]
    assert watched(lambda problem: iter(shown), problem, record) == "time is up"
    # It is ended at the gap asked for.
    assert record.shown == len(record.rows) == 4
    assert record.best == problem.objective(solution.M)
    point = record.watch.points[-1]
    assert point[1:] == (record.best, np.inf, relative_gap(record.best, solution.lower_bound))
    assert sum(at < np.inf for at in record.watch.reached) >= 3
    # The time limit stood still while they were judged, and for no longer.
    assert 0.0 < record.watch.channel.added < 10.0 < START_UP


def test_the_time_limit_stands_still_whenever_the_clock_does(solved):
    problem, solution = solved
    record = judge(problem, solution.lower_bound, limit=60.0)
    channel = record.watch.channel
    channel.report = lambda run: time.sleep(0.02)

    def quick(problem):
        for k in range(300):
            time.sleep(0.001)
            yield np.eye(3) / (k + 1)

    start = time.monotonic()
    assert watched(quick, problem, record) == ""
    wall = time.monotonic() - start
    # All but the last call's reports and what lies between two readings of a clock.
    assert channel.added == pytest.approx(record.judging, abs=0.1)
    assert wall - channel.added == pytest.approx(record.seconds, abs=0.2)


def test_of_many_quick_iterates_those_due_and_the_last_are_judged(solved, monkeypatch):
    problem, solution = solved
    monkeypatch.setattr(anytime, "FREE_SECONDS", 0.0)
    value = problem.value

    def slow(M):
        time.sleep(0.02)
        return value(M)

    monkeypatch.setattr(problem, "value", slow)
    record = judge(problem, solution.lower_bound, limit=1.0)
    reused = np.zeros((3, 3))

    def many(problem):
        for k in range(1, 201):
            time.sleep(0.001)
            reused[:] = np.eye(3) / k
            yield reused
        reused[:] = 77.0

    start = time.monotonic()
    assert watched(many, problem, record) == ""
    skipped = record.shown - len(record.rows)
    record.finish()
    assert record.shown == 200
    assert skipped > 50
    assert time.monotonic() - start < 4.0
    # The last one, as it was when it was shown.
    assert record.rows[-1][2] == pytest.approx(value(problem.from_features(np.eye(3) / 200)), rel=1e-12)
    # One is judged for every grid time from the first on.
    times, ends = [point[0] for point in record.watch.points], record.rows[-1][0]
    assert times[-1] >= ends
    assert times == list(itertools.islice(time_grid(1.0), time_grid(1.0).index(times[0]), None))[: len(times)]


def test_iterates_after_the_limit_are_not_on_the_curve(solved):
    problem, solution = solved
    record = judge(problem, solution.lower_bound, limit=0.05)

    def stubborn(problem, record):
        record(np.eye(3))
        time.sleep(0.06)
        for _ in range(3):
            try:
                record(solution.M)
            except Exception as error:
                failures.append(type(error).__name__)

    failures = []
    assert watched(stubborn, problem, record) == ""
    assert failures == ["TimeIsUpError"] * 3
    # The first of them is judged, no other is.
    assert len(record.rows) == 2
    assert [point[1] for point in record.watch.points] == [problem.objective(np.eye(3))] * len(record.watch.points)
    assert all(at > 0.05 or gap == np.inf or gap >= 0.1 for gap, at in zip(GAPS, record.watch.reached, strict=True))
