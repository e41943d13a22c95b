"""Limits hold inside passes: a clock that ticks at every block ends solves anywhere, and what they return is true.

The clock is one that tests move on: what is counted are blocks, not seconds of a busy machine.
"""

import math
import warnings

import numpy as np
import pytest
from catalogue import conic

import convexmetric as cm
from convexmetric import deadline as deadlines
from convexmetric.certificates.certificate import certify_evaluated, certify_metric, risk_of
from convexmetric.cones import NonnegativeDiagonal
from convexmetric.deadline import OutOfTime, check_deadline, deadline, until_deadline
from convexmetric.errors import GapWarning, InputError, LongSolveWarning, UnsupportedProblemError
from convexmetric.measures import MEASURES
from convexmetric.solvers.finalize import GRACE_SHARE, LEAST_GRACE
from convexmetric.solvers.runtime import base, costs, requirements

pytestmark = pytest.mark.filterwarnings("ignore::convexmetric.errors.GapWarning")
#: Looks at the time while a few parts are evaluated at zero and at some multiples of the Euclidean metric.
SAMPLE = 30
WINE = cm.datasets.load("wine")
X = cm.datasets.preprocess(WINE.X, ["zscore"])
#: Listed, pairwise and ranking risks, hard margins, all pairs.
NAMES = [
    "ranking from labels",
    "ranking from lists",
    "psd triplets, trace",
    "relative, rbf, soft",
    "relative, A, hard",
]


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by a second at every look at the time, and only then."""

    class Clock:
        now, looks = 0.0, 0

        def __call__(self):
            return self.now

    clock, passed = Clock(), deadlines._left

    def ticking():
        clock.now += 1.0
        clock.looks += 1
        if passed.get()() <= 0.0:
            raise OutOfTime

    monkeypatch.setattr(base, "perf_counter", clock)
    monkeypatch.setattr(deadlines, "check_deadline", ticking)
    for module in ("numerics.threads", "comparisons.rankings"):
        monkeypatch.setattr(f"convexmetric.{module}.check_deadline", ticking)
    return clock


def test_the_innermost_deadline_counts_and_ends_with_its_block():
    with deadline(lambda: 0.0):
        with deadline(lambda: 1.0):
            assert list(until_deadline([1, 2])) == [1, 2]
        with pytest.raises(OutOfTime):
            check_deadline()
    check_deadline()
    assert not isinstance(OutOfTime(), Exception)


def test_a_path_begins_no_solve_after_a_deadline_around_it():
    problem = cm.TripletProblem.from_labels(X, WINE.y, n_same=2, n_other=2)
    with deadline(lambda: 0.0), pytest.raises(OutOfTime):
        cm.solve_path(problem, reg=[1.0, 0.1], max_seconds=10.0)


@pytest.mark.parametrize("limit", [0.5, 2.5, 7.5, 20.5, 60.5])
@pytest.mark.parametrize("name", NAMES)
def test_bounds_hold_the_optimum_wherever_a_solve_is_ended(clock, name, limit):
    problem, optimum = conic(name)[:2]
    clock.now = 0.0
    solution = cm.solve(problem, 1e-9, max_seconds=limit)
    assert solution.lower_bound <= optimum * (1.0 + 1e-6) + 1e-9
    assert solution.upper_bound >= optimum * (1.0 - 1e-6) - 1e-9
    # No more than the block at which the time was out, and what a sample says of simple metrics.
    assert clock.now <= limit * (1.0 + GRACE_SHARE) + LEAST_GRACE + 1.0 + SAMPLE or solution.status == "optimal"
    assert problem.value(solution.certificate.M) <= solution.upper_bound * (1.0 + 1e-9)
    again = cm.certify(problem, solution.certificate.M, solution.certificate.dual)
    assert again.lower_bound == pytest.approx(solution.lower_bound, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("reg", [1.0, 1e8, 1e16])
@pytest.mark.parametrize("intra", [0.0, 1e10])
def test_rounding_of_a_large_penalty_does_not_understate_the_risk(reg, intra):
    prior = np.diag(np.arange(13.0))
    problem = cm.TripletProblem.from_labels(
        X, WINE.y, n_same=1, n_other=1, reg=reg, intra=intra, prior=prior
    ).without_constant()
    rng = np.random.default_rng(0)
    for size in 10.0 ** rng.uniform(-6, 3, 40):
        A = rng.standard_normal((13, 13))
        M = prior + size * A @ A.T
        value = problem.value(M)
        found, risk = sum(risk_of(problem, M, value)), problem.risk.value(M)
        sizes = reg * np.sum(M * M) + abs(problem.cone.inner(problem.G, M)) + abs(value)
        assert risk <= found <= risk + 1e-12 * sizes


@pytest.mark.parametrize("measure", ["auc", "map", "ndcg"])
@pytest.mark.parametrize("limit", [30.5, 60.5, 200.5])
def test_whatever_the_limit_the_metric_is_no_worse_than_simple_ones(clock, monkeypatch, measure, limit):
    # Blocks of a few queries: a pass is some thirty of them.
    monkeypatch.setattr("convexmetric.comparisons.rankings.BLOCK_BYTES", 8 * 178 * 6)
    problem = cm.RankingProblem.from_labels(X, WINE.y, measure=measure, C=100.0)
    clock.now = 0.0
    solution = cm.solve(problem, 1e-9, max_seconds=limit)
    assert solution.status == "max_seconds"
    value = problem.objective(solution.M)
    assert value <= solution.upper_bound * (1.0 + 1e-9)
    for t in (0.0, 1e-3, 1e-2, 1e-1, 1.0):
        # A sample of 32 queries may be wrong by as much, where there was no time for all of them.
        assert value <= 1.05 * problem.value(t * problem.cone.identity())


def test_a_solver_that_never_offers_anything_is_ended_and_simple_metrics_are_returned(clock):
    class Endless(cm.solvers.Solver):
        name = "endless"

        def prepare(self, problem):
            def run(monitor):
                while True:
                    problem.risk.value(problem.cone.identity())

            return run

    problem = cm.RankingProblem.from_labels(X, WINE.y, C=100.0)
    solution = cm.solve(problem, solver=Endless(), max_seconds=50.5)
    assert solution.status == "max_seconds"
    assert len(solution.history) == 1
    best = min(problem.value(t * problem.cone.identity()) for t in (0.0, 1e-3, 1e-2, 1e-1, 1.0))
    assert 0.0 <= solution.lower_bound <= problem.value(solution.M) <= 1.2 * best


@pytest.mark.parametrize("limit", [40.5, 20_000.5])
def test_what_a_sample_was_solved_to_is_better_than_simple_metrics(clock, monkeypatch, limit):
    problem = cm.RankingProblem.from_labels(X, WINE.y, C=100.0)
    known = cm.solve(problem, 1e-3)
    M = known.certificate.M

    class Endless(cm.solvers.Solver):
        name = "endless"

        def prepare(self, problem):
            def run(monitor):
                monitor.suggestion = M
                while True:
                    problem.risk.value(M)

            return run

    # Blocks of a few queries: under the shorter limit no pass ends.
    monkeypatch.setattr("convexmetric.comparisons.rankings.BLOCK_BYTES", 8 * 178 * 2)
    clock.now = 0.0
    solution = cm.solve(problem, solver=Endless(), max_seconds=limit)
    np.testing.assert_allclose(solution.certificate.M, M, rtol=1e-9, atol=1e-14 * np.abs(M).max())  # projected again
    assert solution.lower_bound <= known.upper_bound
    assert (solution.upper_bound == math.inf) == (limit < 100.0)
    assert solution.upper_bound >= known.lower_bound


def test_a_value_of_this_run_counts_where_there_is_no_time_for_another():
    problem = cm.RankingProblem.from_labels(X, WINE.y, measure="map", C=10.0)
    M = 0.01 * problem.cone.identity()
    exact = cm.solve(problem, 1e-3)
    known, anew = certify_evaluated(problem, M, problem.risk.value(M)), certify_metric(problem, M)
    assert known.upper_bound >= anew.upper_bound >= problem.value(M) >= exact.lower_bound
    assert known.upper_bound == pytest.approx(anew.upper_bound, rel=1e-9)
    assert certify_evaluated(problem, M, None).upper_bound == math.inf


def test_a_certificate_evaluates_only_what_the_run_did_not(monkeypatch):
    problem = cm.RankingProblem.from_labels(X, WINE.y, measure="map", C=10.0)
    M, value, passes = 0.01 * problem.cone.identity(), problem.risk.value, []
    objective = problem.value(M)
    monkeypatch.setattr(problem.risk, "value", lambda M: passes.append(M) or value(M))
    # The metric is made symmetric, which changes it by rounding.
    tilted = M + 1e-16 * np.triu(np.ones((13, 13)), 1)
    bounds = [certify_metric(problem, metric, objective).upper_bound for metric in (M, tilted)]
    assert not passes
    assert bounds == pytest.approx([certify_metric(problem, M).upper_bound] * 2, rel=1e-12)
    # The objective of what is projected says nothing.
    outside = M - np.diag(np.eye(13)[0])
    assert certify_metric(problem, outside, objective).upper_bound == certify_metric(problem, outside).upper_bound
    assert len(passes) == 3


@pytest.mark.parametrize("measure", sorted(MEASURES))
def test_at_zero_numbers_of_items_decide(measure):
    risk = cm.RankingProblem.from_labels(X[:90], WINE.y[:90], measure=measure, C=7.0).risk
    zero = risk.cone.zeros()
    assert risk.value(zero) == pytest.approx(risk.part_values(zero).sum(), rel=1e-12)


@pytest.mark.parametrize("name", ["ranking from labels", "psd triplets, trace", "relative, rbf, soft"])
def test_no_metric_is_steeper_than_the_steepest(name):
    problem, _ = conic(name)[:2]
    for t in (0.0, 1e-3, 1.0, 1e3):
        slope = problem.risk.lipschitz_near(t * problem.cone.identity(), 1e-9)
        assert slope <= problem.risk.lipschitz * (1.0 + 1e-12)


@pytest.mark.parametrize("groups", [1, 3])
def test_cuts_of_all_pairs_are_those_of_the_list_for_any_blocks(monkeypatch, groups):
    risk = cm.PairMarginProblem.from_labels(X[::6], WINE.y[::6]).risk
    monkeypatch.setattr("convexmetric.risks.labelled_pairs.BLOCK", 7)
    rng = np.random.default_rng(0)
    of = rng.permutation(np.arange(risk.parts) % groups)
    M = 0.01 * np.eye(13)
    listed = risk.listed()
    # Half of a pair belongs to each of its points.
    found, first, second = (risk.separate(M, of), *(listed.separate(M, of[end]) for end in listed.comparisons.pairs.T))
    for name in ("values", "offsets", "normals", "weights"):
        halves = 0.5 * (getattr(first, name) + getattr(second, name))
        np.testing.assert_allclose(getattr(found, name), halves, rtol=1e-9, atol=1e-12)
    assert risk.value(0.0 * M) == pytest.approx(listed.value(0.0 * M), rel=1e-12)


def test_all_pairs_of_many_points_are_solved_without_matrices_of_them(monkeypatch):
    problem = cm.PairMarginProblem.from_labels(X, WINE.y)
    whole = cm.solve(problem, 1e-3)
    assert whole.solver == "factored-lagrangian"
    module = "convexmetric.solvers.pair_losses.factored_lagrangian"
    for name, number in (("HELD_POINTS", 100), ("HELD_WEIGHTS", 178 * 32), ("FIRST_BLOCK", 32)):
        monkeypatch.setattr(f"{module}.{name}", number)
    blocks = cm.solve(problem, 1e-3)
    # Blocks of 32 of the 178 points do not tell enough, and larger ones would take too much memory.
    assert (blocks.solver, blocks.status) == ("cutting-planes", "optimal")
    assert blocks.history[0].details["block"] == 32
    assert max(whole.lower_bound, blocks.lower_bound) <= min(whole.upper_bound, blocks.upper_bound)


def test_an_estimator_draws_pairs_of_many_points_and_its_problem_says_so(monkeypatch):
    monkeypatch.setattr("convexmetric.estimators.operator_margin.ALL_PAIRS_UP_TO", 100)
    monkeypatch.setattr("convexmetric.estimators.operator_margin.MANY_PAIRS", 500)
    fitted = cm.OperatorMarginMetric().fit(X, WINE.y)
    assert "500 pairs drawn of all 15753" in str(fitted.solution_.problem)
    assert fitted.gap_ <= 1e-4
    assert "drawn" not in str(cm.OperatorMarginMetric().fit(X[::2], WINE.y[::2]).solution_.problem)


def test_solvers_that_would_need_too_much_memory_are_refused_before_they_begin():
    problem = cm.RankingProblem.from_labels(X, WINE.y)
    with pytest.raises(UnsupportedProblemError, match=r"would need about .* fewer pairs or rows, raise max_memory"):
        cm.solve(problem, solver="cutting-planes", max_memory=1e5)
    with pytest.raises(UnsupportedProblemError, match="max_memory"):
        cm.solve(problem, max_memory=1e3)
    # CLARABEL, which solves the masters, would abort the process.
    with pytest.raises(UnsupportedProblemError, match=r"need about 1\.3e\+03 GB"):
        cm.solve(cm.load_problem("pairs-breast-cancer-2000-rbf"), solver="cutting-planes", max_memory=1e12)
    with pytest.raises(InputError, match="max_memory must be a positive finite number"):
        cm.solve(problem, max_memory=0)
    assert cm.solve(problem, 0.1, max_memory=1e9).status == "optimal"


def test_the_default_goes_on_to_a_solver_that_fits():
    problem = cm.PairMarginProblem.from_labels(X, WINE.y)
    needed = cm.solvers.FactoredLagrangian().memory(problem)
    least = cm.solvers.CuttingPlanes().memory(problem)
    assert least < needed or least > 0.0
    solution = cm.solve(problem, 0.1, max_memory=max(least, 1.0) * 1.01)
    assert solution.status == "optimal"
    assert (solution.solver == "factored-lagrangian") == (needed <= least * 1.01)


def test_the_least_of_all_limits_on_memory_counts(monkeypatch, tmp_path):
    limit, used = tmp_path / "limit", tmp_path / "used"
    limit.write_text("3000000", "ascii")
    used.write_text("1000000", "ascii")
    monkeypatch.setattr(requirements, "CGROUPS", ((str(limit), str(used)),))
    assert requirements.available_memory() == 2e6
    limit.write_text("max", "ascii")
    assert 1e7 < requirements.available_memory() < 1e15


def test_a_long_solve_says_so_and_a_small_or_limited_one_does_not(monkeypatch):
    problem = cm.RankingProblem.from_labels(X, WINE.y)
    with warnings.catch_warnings(action="error", category=LongSolveWarning):
        cm.solve(problem, 0.1)
    monkeypatch.setattr(costs, "MANY_DISTANCES", 1)
    monkeypatch.setattr(costs, "pass_seconds", lambda problem: 100.0)
    with pytest.warns(LongSolveWarning, match=r"take 2.8 h. max_seconds"):
        cm.solve(problem, 0.1)
    with warnings.catch_warnings(action="error", category=LongSolveWarning):
        cm.solve(problem, 0.1, max_iter=3)


def test_what_stating_a_problem_takes_is_part_of_the_limit(monkeypatch):
    given = []

    def solved(problem, **options):
        given.append(options["max_seconds"])
        return cm.solve(problem, 0.5)

    times = iter([10.0, 13.0, 20.0, 90.0])
    monkeypatch.setattr("convexmetric.estimators.base.solve", solved)
    monkeypatch.setattr("convexmetric.deadline.perf_counter", lambda: next(times))
    cm.MLR(max_seconds=5.0).fit(X, WINE.y)
    cm.MLR(max_seconds=5.0).fit(X, WINE.y)
    assert given == [2.0, 0.05]


def test_a_diagonal_problem_keeps_its_simple_metrics(clock):
    problem = cm.RankingProblem.from_labels(X, WINE.y, diagonal=True, C=100.0)
    assert isinstance(problem.cone, NonnegativeDiagonal)
    solution = cm.solve(problem, 1e-9, max_seconds=40.5)
    assert problem.objective(solution.w) <= problem.value(np.zeros(13))
    with pytest.warns(GapWarning):
        cm.solve(problem, 1e-9, max_seconds=0.5)
