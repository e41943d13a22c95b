"""The judging of solvers of the user's own, by what comes through a line."""

import itertools
import threading
import time
from multiprocessing import Pipe

import numpy as np
import pytest
from catalogue import instance

import convexmetric as cm
from convexmetric.bench import GAPS, Run, judging
from convexmetric.bench.anytime import Watch, time_grid
from convexmetric.bench.judging import SENDING, Judge
from convexmetric.bench.lines import Line
from convexmetric.bench.processes import START_UP
from convexmetric.certificates import relative_gap
from convexmetric.errors import InputError
from convexmetric.risks.dual_points import dual_arrays


class Listener:
    """A channel that keeps what is sent."""

    def __init__(self):
        self.reports, self.added = [], 0.0

    def start(self):
        self.started = time.monotonic()

    def report(self, run):
        self.reports.append(run)

    def extend(self, seconds):
        self.added += seconds


@pytest.fixture(scope="module")
def solved():
    problem = instance("ranking from labels")
    return problem, cm.solve(problem)


def judge(problem, bound, limit=10.0, tol=1e-6, own=False):
    return Judge(problem, Watch(Listener(), Run("p", "s", tol, limit, 1, "error"), bound), own)


def followed(record, solver, own=False):
    """What a judge says of a solver at the other end of a line: a function of a recorder ``show(M, seconds)``."""
    ours, theirs = map(Line, Pipe())

    def run():
        theirs.receive()
        start, judging = time.perf_counter(), 0.0

        def show(M, seconds=None, **arrays):
            nonlocal judging
            began = time.perf_counter()
            taken = began - start - judging if seconds is None else seconds
            theirs.send({"kind": "shown", "seconds": taken}, {"M": np.asarray(M, dtype=np.float64), **arrays})
            more = theirs.receive()[0]["more"]
            judging += time.perf_counter() - began
            return more

        solver(show)
        theirs.send({"kind": "ended", "seconds": time.perf_counter() - start - judging, "status": "optimal"})

    other = threading.Thread(target=run)
    other.start()
    try:
        return record.follow(ours)
    finally:
        other.join()


def test_metrics_are_judged_by_the_bound_of_the_library(solved):
    problem, solution = solved
    record, went_on = judge(problem, solution.lower_bound, tol=1e-3), []

    def solver(show):
        went_on.extend(show(M) for M in (np.eye(3), 2.0 * np.eye(3), np.eye(3), solution.M, np.eye(3)))

    assert followed(record, solver)["status"] == "optimal"
    # It is ended at the gap asked for; what it shows afterwards is not judged.
    assert went_on == [True, True, True, False, False]
    assert record.shown == 4
    assert record.upper == problem.objective(solution.M)
    point = record.watch.points[-1]
    assert point[1:] == (record.upper, np.inf, relative_gap(record.upper, solution.lower_bound))
    assert sum(at < np.inf for at in record.watch.reached) >= 3
    # The time limit stood still while they were judged, and for no longer.
    assert 0.0 < record.watch.channel.added < 10.0 < START_UP
    run = record.verdict("stalled", "", 7)
    assert (run.status, run.iterations, run.lower_bound) == ("optimal", 4, solution.lower_bound)


def test_bounds_of_a_solver_are_made_anew_from_its_points(solved):
    problem, solution = solved
    found = solution.certificate
    record = judge(problem, -np.inf, own=True)
    followed(record, lambda show: show(found.M, **dual_arrays(found.dual, "multipliers")))
    assert record.upper == pytest.approx(found.upper_bound, rel=1e-10)
    assert record.lower == pytest.approx(found.lower_bound, rel=1e-12)
    assert record.watch.points[-1][2] == relative_gap(record.upper, record.lower)
    assert record.verdict("stalled", "", 7).iterations == 7
    # A metric alone proves no lower bound, and a dual point of another kind is refused.
    alone = judge(problem, 0.0, own=True)
    followed(alone, lambda show: show(found.M))
    assert alone.lower == -np.inf
    with pytest.raises(cm.errors.ConvexMetricError):
        judge(problem, 0.0, own=True).show(0.0, {"M": found.M, "multipliers": np.full(5, np.nan)})


def test_the_time_limit_stands_still_whenever_the_clock_does(solved):
    problem, solution = solved
    record = judge(problem, solution.lower_bound, limit=60.0)
    channel = record.watch.channel
    channel.report = lambda run: time.sleep(0.02)

    def quick(show):
        for k in range(300):
            time.sleep(0.001)
            show(np.eye(3) / (k + 1))

    followed(record, quick)
    wall = time.monotonic() - channel.started
    # All but what was not told yet.
    assert wall - channel.added == pytest.approx(record.seconds, abs=0.2)
    assert record.seconds >= 0.3


@pytest.mark.parametrize("claim", [0.0, -1e9, np.nan, np.inf, 1e300, None, "0", True])
def test_a_solver_cannot_say_that_it_took_less_than_it_did(solved, claim):
    problem, solution = solved
    record = judge(problem, solution.lower_bound, limit=60.0)

    def slow(show):
        for k in range(5):
            time.sleep(0.05)
            show(np.eye(3) / (k + 1), claim)

    start = time.monotonic()
    followed(record, slow)
    assert 0.25 - 5 * (SENDING + 1e-4) <= record.seconds <= time.monotonic() - start


def test_waiting_for_a_processor_is_not_the_solvers_time(solved):
    problem, solution = solved
    used = iter([1.0, 1.0, 1.0, 1.2])
    record = Judge(problem, judge(problem, solution.lower_bound, limit=60.0).watch, processor=lambda: next(used))
    for expected in (0.01, 0.01 + 0.2 - SENDING):
        record._used, record._resumed = next(used), time.perf_counter() - 0.5
        assert record.arrived(0.01) == pytest.approx(expected, abs=1e-6)


def test_what_sending_takes_is_excused_no_longer_than_the_limit(solved):
    problem, solution = solved
    record = judge(problem, solution.lower_bound, limit=0.01)
    for _ in range(60):
        record._resumed = time.perf_counter() - 0.9 * SENDING
        record.arrived(0.0)
    assert record.seconds >= 0.03


def test_of_many_quick_metrics_those_due_and_the_last_are_judged(solved, monkeypatch):
    problem, solution = solved
    monkeypatch.setattr(judging, "FREE_SECONDS", 0.0)
    value, judged = problem.value, []

    def slow(M):
        time.sleep(0.02)
        judged.append(value(M))
        return judged[-1]

    monkeypatch.setattr(problem, "value", slow)
    record = judge(problem, solution.lower_bound, limit=1.0)

    def many(show):
        for k in range(1, 201):
            time.sleep(0.001)
            show(np.eye(3) / k)

    followed(record, many)
    assert record.shown == 200
    assert len(judged) < 150
    assert judged[-1] == pytest.approx(value(problem.from_features(np.eye(3) / 200)), rel=1e-12)
    # One is judged for every grid time from the first on.
    times = [point[0] for point in record.watch.points]
    assert times[-1] >= record.seconds
    assert times == list(itertools.islice(time_grid(1.0), time_grid(1.0).index(times[0]), None))[: len(times)]


def test_metrics_after_the_limit_are_not_on_the_curve(solved):
    problem, solution = solved
    record, went_on = judge(problem, solution.lower_bound, limit=0.05), []

    def stubborn(show):
        show(np.eye(3))
        time.sleep(0.06)
        went_on.extend(show(solution.M) for _ in range(3))

    followed(record, stubborn)
    # The first of them is judged, no other is.
    assert went_on == [False] * 3
    assert record.shown == 2
    assert [point[1] for point in record.watch.points] == [problem.objective(np.eye(3))] * len(record.watch.points)
    reached = zip(GAPS, record.watch.reached, strict=True)
    assert all(at > 0.05 or gap == np.inf or gap >= 0.1 for gap, at in reached)


@pytest.mark.parametrize(
    "frames",
    [
        [b""],
        [b"\x80\x04."],
        [b"[" * 60_000],
        [b"3"],
        [b"{}"],
        [b'{"arrays": 3}'],
        [b'{"arrays": ["M"]}', b"\x93NUMPY"],
        [b'{"arrays": ["M"]}', b"x" * 3000],
        [b"x" * 70_000],
        [b'{"arrays": ["M"]}', b"\x93NUMPY\x01\x00\x36\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n"],
    ],
    ids=range(10),
)
def test_what_is_no_message_is_refused(frames):
    ours, theirs = Pipe()
    for frame in frames:
        theirs.send_bytes(frame)
    with pytest.raises(InputError, match="it sent what is no message, or one above 72 bytes"):
        Line(ours).receive(72)


@pytest.mark.parametrize("said", [{"kind": "other"}, {"kind": []}, {}, {"kind": "shown", "seconds": 0.0}])
def test_other_messages_are_refused(solved, said):
    ours, theirs = map(Line, Pipe())
    theirs.send(said)
    with pytest.raises(InputError, match="it sent"):
        judge(solved[0], 0.0).follow(ours)


def test_a_line_that_is_closed_is_told():
    ours, theirs = Pipe()
    theirs.close()
    with pytest.raises(EOFError):
        Line(ours).receive()
