"""Problems of extreme scale, weight and shape: what is certified holds, what cannot be solved is refused or ends."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from campaign.draws import KINDS
from campaign.families import FAMILIES, drawn
from check_solves import Record, Solved, attempt, denied, judge
from samples import random_metric, some

import convexmetric as cm
from convexmetric.audits import best_scale
from convexmetric.comparisons import Rankings, Relevance, Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import GapWarning, InputError
from convexmetric.losses import BoxLoss, Hinge
from convexmetric.measures import AUC
from convexmetric.numerics.conjugate_gradients import steihaug
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import Frobenius, Regularizer, SquaredFrobenius, Trace
from convexmetric.risks import RankingRisk, SeparableRisk

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::convexmetric.errors.GapWarning")

RNG = np.random.default_rng(3)
X = RNG.standard_normal((18, 3))
Y = np.arange(18) % 3


#: Failures whatever the machine does; loops that are compiled first take their time.
WRONG = ("false", "contradicted", "crossed", "raw exception", "unannounced")


def judged(case):
    """The record of a case that is given a second."""
    record = Record()
    found = attempt(case, 1.0, record)
    if isinstance(found, Solved):
        judge(case, found, 1.0, record)
    elif found is not None:
        denied(case, found, 1.0, record)
    return record


@pytest.mark.parametrize("number", some([k * 5 for k in range(2 * len(FAMILIES))], 12))
def test_cases_of_the_campaign_agree_with_their_twins(number):
    name, kind, case, notes = drawn(7, number)
    found = [(failure, said) for failure, said in judged(case).findings if failure in WRONG]
    assert not found, f"{name}, {kind} ({'; '.join(notes)}): {found}"


def test_the_campaign_draws_every_kind_and_twice_the_same():
    assert {drawn(7, number)[1] for number in range(len(FAMILIES) * len(KINDS))} == set(KINDS)
    assert drawn(7, 30)[3] == drawn(7, 30)[3] != drawn(8, 30)[3]


def test_a_judge_sees_bounds_beyond_the_proven_ones():
    case = drawn(7, 6)[2]
    # The twin's optimum in other units than those of the case: as good as a wrong solver.
    wrong = replace(case, factor=case.factor * 2)
    judged(case)  # loops are compiled, which may take longer than the limit
    assert judged(case).outcome == "optimal"
    assert "false" not in dict(judged(case).findings)
    assert "false" in dict(judged(wrong).findings)


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e-61])
def test_points_whose_squares_underflow_are_refused(scale):
    with pytest.raises(InputError, match=r"X has no entry beyond 1e-60.*rescale it"):
        cm.RelativeComparisonProblem(scale * np.array([[0.0], [1.0], [2.0]]), [[0, 1, 2]], C=np.inf)
    # Points that are all zero are degenerate, and not small.
    assert cm.solve(cm.RelativeComparisonProblem(np.zeros((3, 1)), [[0, 1, 2]])).upper_bound == pytest.approx(1.0)


@pytest.mark.parametrize("exponent", [-190, -60, 60, 190])
def test_hard_margins_at_any_scale(exponent):
    points = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [1.0, 5.0]])
    triplets = [[0, 1, 2], [1, 0, 3]]
    plain = cm.solve(cm.RelativeComparisonProblem(points, triplets, C=np.inf), tol=1e-8)
    scaled = cm.solve(cm.RelativeComparisonProblem(2.0**exponent * points, triplets, C=np.inf), tol=1e-8)
    assert plain.status == scaled.status == "optimal"
    square = 2.0 ** (2 * exponent)
    assert scaled.upper_bound * square * square == pytest.approx(plain.upper_bound, rel=1e-7)


@pytest.mark.parametrize(
    ("regularizer", "C"),
    # Beyond, the rounding of the dual matrix is more than a squared norm forgives.
    [
        *(("trace", C) for C in (1e-280, 1e-150, 1e150, 1e300)),
        *(("squared-frobenius", C) for C in (1e-280, 1e-150, 1e10)),
    ],
)
@pytest.mark.parametrize("measure", ["auc", "map"])
def test_rankings_of_extreme_weight_end_between_the_limits(C, regularizer, measure):
    problem = cm.RankingProblem.from_labels(X, Y, measure=measure, C=C, penalty=regularizer)
    solution = cm.solve(problem, max_seconds=5.0)
    assert solution.status != "max_seconds"
    assert solution.gap < 1e-3
    # For C to zero the zero metric is optimal, for C to infinity all that counts is the risk.
    limit = problem.value(problem.cone.zeros()) if C < 1 else problem.risk.value(solution.certificate.M)
    assert solution.upper_bound == pytest.approx(limit, rel=1e-6)


@pytest.mark.parametrize("regularizer", [Trace(1.0), SquaredFrobenius(1.0)])
def test_rankings_of_sparse_points_are_those_of_dense_ones(regularizer):
    cone, relevance = NonnegativeDiagonal(3), Relevance.from_labels(Y)
    points = np.where(np.abs(X) > 0.5, X, 0.0)
    solutions = [
        cm.solve(MetricProblem(RankingRisk(Rankings(made, made, relevance, cone), AUC(), 20.0), regularizer))
        for made in (points, sp.csr_array(points))
    ]
    assert all(solution.status == "optimal" for solution in solutions)
    assert max(s.lower_bound for s in solutions) <= min(s.upper_bound for s in solutions)


class LogDeterminant(Regularizer):
    """``tr M - log det M``, infinite wherever the metric is singular."""

    def value(self, M, cone):
        sign, size = np.linalg.slogdet(M)
        return float(np.trace(M) - size) if sign > 0 else np.inf

    def gradient(self, M, cone):
        return np.eye(len(M)) - np.linalg.inv(M)

    def bound(self, value, S, G, cone, hint):
        eigenvalues = np.linalg.eigvalsh(np.eye(cone.d) - S)
        return value + cone.d + float(np.log(eigenvalues).sum()) if eigenvalues[0] > 0 else -np.inf

    def expression(self, M, cone):
        raise NotImplementedError

    def latex(self, M):
        return M

    def text(self, M):
        return M

    def quadratic(self, cone):
        return None


def test_an_audit_where_the_regularizer_is_infinite_at_zero():
    triplets = np.array([[0, 3, 1], [1, 4, 2], [2, 5, 0]])
    problem = MetricProblem(SeparableRisk(Triplets(X, triplets, PSDCone(3)), Hinge(0.1)), LogDeterminant())
    M = random_metric(np.random.default_rng(0), PSDCone(3)) + np.eye(3)
    # tr M - log det M is at least d, and the risk is nonnegative.
    audit = cm.audit(problem, M, reference=3.0)
    assert np.isfinite(audit.objective)
    assert 0.0 < audit.scale.best < np.inf
    assert audit.scale.objective <= audit.objective
    assert np.isinf(best_scale(problem, np.zeros((3, 3))).objective)


def test_trust_region_steps_end_where_products_are_no_floats():
    step, promised = steihaug(lambda v: np.full_like(v, np.nan), np.ones(3), 1.0, 10, 1e-3)
    assert not step.any()
    assert promised == 0.0


@pytest.mark.parametrize("reg", [1e-190, 1e190])
@pytest.mark.parametrize("solver", ["dual-newton", "factored-lagrangian", None])
def test_pairs_of_extreme_weight_end(reg, solver):
    pairs = np.array([[0, 1], [2, 3], [4, 5], [1, 6]])
    problem = cm.SimilarityRegressionProblem(X, pairs, [0.1, 0.5, 0.9, 0.3], reg=reg)
    solution = cm.solve(problem, solver=solver, max_seconds=20.0)
    assert solution.status != "max_seconds"
    assert solution.lower_bound <= solution.upper_bound


def test_pairs_at_scales_beyond_single_precision_take_newton_steps():
    pairs = np.array([RNG.choice(18, 2, replace=False) for _ in range(5)])
    losses = BoxLoss.hinge(np.full(5, 1.0), np.full(5, 1.0))
    plain, scaled = (
        cm.solve(
            MetricProblem(
                SeparableRisk(cm.comparisons.PairDistances(size * X, pairs, np.ones(5), PSDCone(3)), losses),
                Frobenius(0.05 * size**2),
            ),
            solver="dual-newton",
        )
        for size in (1.0, 2.0**100)
    )
    assert plain.status == scaled.status == "optimal"
    assert scaled.upper_bound == pytest.approx(plain.upper_bound, rel=1e-5)


def test_a_gap_above_the_tolerance_is_always_announced():
    problem = cm.RankingProblem.from_labels(1e58 * X, Y, measure="map", C=1e-100)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solution = cm.solve(problem, max_seconds=2.0)
    assert any(issubclass(warning.category, GapWarning) for warning in caught) == (solution.status != "optimal")
