"""Solvers watched from outside."""

import time
from unittest.mock import patch

import numpy as np
import pytest
from catalogue import cases, instance, names
from samples import as_given, random_metric

import convexmetric as cm
from convexmetric.errors import GapWarning, InputError


@pytest.fixture(scope="module")
def solved():
    problem = instance("ranking from labels")
    return problem, cm.solve(problem)


def metrics(problem, count=5):
    rng = np.random.default_rng(0)
    return [random_metric(rng, problem.cone) for _ in range(count)]


@pytest.mark.parametrize("name", cases("method"))
def test_iterates_are_judged_one_by_one(name):
    problem = instance(name)
    given = metrics(problem)
    shown = [as_given(problem, M) for M in given]
    trail = cm.bench.audit_iterates(problem, np.array(shown), reference=0.25)
    assert len(trail) == 5
    assert trail.unit == "iterates"
    np.testing.assert_array_equal(trail.passes, np.arange(1, 6))
    np.testing.assert_allclose(trail.objectives, [problem.objective(M) for M in shown], rtol=1e-11)
    assert np.isnan(trail.seconds).all()
    expected = np.array([cm.audit(problem, M, reference=0.25, worst=0).suboptimality for M in shown])
    np.testing.assert_allclose(trail.suboptimality, expected, rtol=1e-12)
    np.testing.assert_allclose(trail.best_so_far, np.minimum.accumulate(expected), rtol=1e-12)
    np.testing.assert_allclose(trail.M, given[int(np.argmin(trail.objectives))], atol=1e-12)
    if name not in names("hard"):
        best = trail.suboptimality.min()
        assert trail.first_within(best) == int(np.argmin(trail.suboptimality))
        assert trail.first_within(best - 1e-9) is None


def test_three_ways_to_show_iterates_give_one_trail(solved):
    problem, solution = solved
    given = metrics(problem)

    def records(problem, record):
        for k, M in enumerate(given):
            record(M, passes=k)

    def yields(problem, record):
        for k, M in enumerate(given):
            yield M, k

    def mixed(problem, record):
        for k, M in enumerate(given[:-1]):
            record(M, passes=k)
        return given[-1]

    first, second, third = (cm.bench.trace(problem, solver, reference=solution) for solver in (records, yields, mixed))
    for trail, name in ((first, "records"), (second, "yields"), (third, "mixed")):
        assert trail.name == name
        assert trail.error == ""
        np.testing.assert_allclose(trail.objectives, [problem.objective(M) for M in given], rtol=1e-12)
        assert trail.reference_gap == solution.gap
        assert (np.diff(trail.seconds) >= 0.0).all()
    assert first.unit == second.unit == "passes"
    np.testing.assert_array_equal(first.passes, np.arange(5))
    # One iterate without its passes: none is counted in passes.
    assert third.unit == "iterates"


def test_the_clock_stands_still_while_an_iterate_is_judged(solved, monkeypatch):
    problem, solution = solved
    value = problem.objective

    def slow(M):
        time.sleep(0.05)
        return value(M)

    monkeypatch.setattr(problem, "objective", slow)
    trail = cm.bench.trace(problem, lambda problem, record: [record(np.eye(3)) for _ in range(6)], reference=solution)
    assert len(trail) == 6
    assert trail.seconds[-1] < 0.05


def test_the_clock_runs_while_the_solver_does(solved):
    def sleeper(problem, record):
        for _ in range(3):
            time.sleep(0.02)
            record(np.eye(3))

    trail = cm.bench.trace(solved[0], sleeper, reference=solved[1])
    assert trail.seconds[0] >= 0.02
    assert trail.seconds[-1] >= 0.06


def test_a_solver_whose_time_is_up_is_ended(solved):
    def endless(problem, record):
        while True:
            time.sleep(0.001)
            record(np.eye(3))

    trail = cm.bench.trace(solved[0], endless, reference=solved[1], max_seconds=0.05)
    assert trail.error == "time is up"
    assert 0.05 <= trail.seconds[-1] < 1.0
    assert (trail.seconds[:-1] < 0.05).all()


def test_a_solver_that_fails_leaves_its_trail(solved):
    def fails(problem, record):
        record(np.eye(3))
        raise RuntimeError("singular matrix")

    def stopped(problem, record):
        record(np.eye(3))
        raise KeyboardInterrupt

    def malformed(problem, record):
        record(np.eye(3))
        record(np.full((3, 3), np.nan))

    def at_once(problem, record):
        raise ValueError("no")

    for solver, error in ((fails, "RuntimeError: singular matrix"), (stopped, "interrupted"),
                          (malformed, "InputError: W contains NaN")):  # fmt: skip
        trail = cm.bench.trace(solved[0], solver, reference=solved[1], name="theirs")
        assert trail.error.startswith(error)
        assert len(trail) == 1
        assert trail.name == "theirs"
        assert error in str(trail)
    empty = cm.bench.trace(solved[0], at_once, reference=solved[1])
    assert len(empty) == 0
    assert empty.M is None
    assert "ValueError: no" in str(empty)


def test_iterates_may_share_one_array(solved):
    problem, solution = solved

    def in_place(problem, record):
        M = 0.1 * np.eye(3)
        record(M)
        M *= 1e3
        record(M)

    trail = cm.bench.trace(problem, in_place, reference=solution)
    np.testing.assert_array_equal(trail.M, 0.1 * np.eye(3))


def test_iterates_outside_the_cone_are_judged_by_their_projections(solved):
    problem, solution = solved
    M = np.diag([1.0, 0.5, -0.25])
    trail = cm.bench.audit_iterates(problem, [M, np.diag([1.0, 0.5, -1e-12])], reference=solution)
    assert trail.objectives[0] == problem.objective(np.diag([1.0, 0.5, 0.0]))
    np.testing.assert_array_equal(trail.violations, [0.25, 0.0])
    assert "1 iterates, judged by their projections" in str(trail)


@pytest.mark.parametrize("solver", ["cutting-planes", "smoothed-newton", "subgradient"])
@pytest.mark.filterwarnings("ignore::convexmetric.errors.GapWarning")
def test_our_own_solvers_have_a_trail(solved, solver):
    problem, reference = solved
    solution = cm.solve(problem, solver=solver, max_iter=30)
    trail = cm.bench.AuditTrail.of_solution(solution, reference)
    assert trail.name == solver
    assert trail.unit == ("passes" if solver == "cutting-planes" else "iterations")
    assert len(trail) == len(solution.history)
    assert trail.objectives[-1] == pytest.approx(solution.upper_bound, rel=1e-9)
    assert trail.lower_bound == reference.lower_bound
    own = cm.bench.AuditTrail.of_solution(solution, name="ours")
    assert own.name == "ours"
    assert own.lower_bound == solution.lower_bound
    assert own.best_so_far[-1] == pytest.approx(solution.gap, abs=1e-9)


def test_what_a_trail_says(solved):
    problem, solution = solved
    given = [np.eye(3), 1.5 * solution.M, solution.M]
    trail = cm.bench.audit_iterates(
        problem, given, seconds=[0.5, 1.0, 2.0], passes=[1, 2, 4], reference=solution, name="theirs"
    )
    text = str(trail)
    assert text.startswith("theirs\niterates             3\n")
    assert "(4 passes, 2 s)" in text
    assert "within 1e-06         from iterate 3 on (4 passes, 2 s)" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "iterates is empty"),
        (("file.npz",), r"iterates must be an array \(T, d, d\) or \(T, d\) or a list, got str"),
        ((3.0,), "iterates must be an array"),
        (([np.eye(3), np.eye(2)],), r"iterates\[1\]: W must have shape \(3, 3\), got \(2, 2\)"),
        ((np.full((2, 3, 3), np.nan),), r"iterates\[0\]: W contains NaN"),
        (([np.eye(3)], [1.0, 2.0]), "seconds must have one entry an iterate: there are 1, got 2"),
        (([np.eye(3)] * 2, [2.0, 1.0]), "seconds must be finite, nonnegative numbers that do not decrease"),
        (([np.eye(3)] * 2, None, [1.0, np.nan]), "passes must be finite"),
        (([np.eye(3)] * 2, None, ["one", "two"]), "passes must be a rectangular array of real numbers"),
        (([np.eye(3)], None, None, np.nan), "reference must give a finite lower bound"),
    ],
)
def test_malformed_iterates(solved, arguments, message):
    problem, solution = solved
    full = (*arguments, None, None)[:3] if len(arguments) < 4 else arguments
    with pytest.raises(InputError, match=message):
        cm.bench.audit_iterates(
            problem, full[0], seconds=full[1], passes=full[2], reference=full[3] if len(full) > 3 else solution
        )


def test_an_instance_brings_its_bounds():
    known = cm.bench.load_instance("ranking-auc-wine-c1")
    problem = known.problem()
    with patch("convexmetric.audits.verdict.solve", side_effect=AssertionError("nothing is solved")):
        trails = [
            cm.bench.audit_iterates("ranking-auc-wine-c1", [np.eye(13)]),
            cm.bench.audit_iterates(problem, [np.eye(13)], reference=known),
            cm.bench.trace(known, lambda given, record: record(0.5 * np.eye(13))),
        ]
    for trail, M in zip(trails, (np.eye(13), np.eye(13), 0.5 * np.eye(13)), strict=True):
        assert trail.lower_bound == known.proven[0]
        assert trail.objectives == pytest.approx([problem.objective(M)], rel=1e-12)
    with pytest.raises(InputError, match="reference 'ranking-auc-wine-c1' is about another problem"):
        cm.bench.audit_iterates("ranking-auc-wine-c100", [np.eye(13)], reference=known)


def test_malformed_solvers(solved):
    problem, solution = solved
    with pytest.raises(InputError, match="problem must be a MetricProblem"):
        cm.bench.trace(np.eye(3), print, reference=solution)
    with pytest.raises(InputError, match="problem must be a MetricProblem"):
        cm.bench.audit_iterates(np.eye(3), [np.eye(3)])
    with pytest.raises(InputError, match="solver must be a callable of the problem and record, got ndarray"):
        cm.bench.trace(problem, np.eye(3), reference=solution)
    with pytest.raises(InputError, match="max_seconds must be positive"):
        cm.bench.trace(problem, print, reference=solution, max_seconds=0)
    for passes in (-1, np.nan, "one", True):
        trail = cm.bench.trace(problem, lambda _, record, n=passes: record(np.eye(3), passes=n), reference=solution)
        assert "passes must be a nonnegative number" in trail.error
    with pytest.raises(InputError, match="solution must be a Solution, got ndarray"):
        cm.bench.AuditTrail.of_solution(np.eye(3))


def test_a_warning_of_the_solver_is_a_warning(solved):
    def warns(problem, record):
        with pytest.warns(GapWarning):
            record(cm.solve(problem, solver="subgradient", max_iter=5).M)

    assert cm.bench.trace(solved[0], warns, reference=solved[1]).error == ""
