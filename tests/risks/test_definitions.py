"""Risks against their definitions written out in loops."""

import numpy as np
import pytest
from catalogue import instance, names
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import consistent, random_metric, random_triplets

from convexmetric.comparisons import Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.losses import Hinge
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import Budget, SquaredDistance
from convexmetric.risks import SeparableRisk, SumRisk

seeds = st.integers(0, 10**6)


def distance(M, a, b):
    return (a - b) @ (np.diag(M) if M.ndim == 1 else M) @ (a - b)


@given(seeds, st.sampled_from([*names("method", "ranking"), "ranking, diagonal, squared norm"]))
@settings(max_examples=40)
def test_ranking_risk_is_a_mean_of_pairwise_hinges(seed, name):
    rng = np.random.default_rng(seed)
    risk = instance(name, seed).risk
    M = random_metric(rng, risk.cone, float(10.0 ** rng.uniform(-2, 1)))
    compared = risk.rankings
    total = 0.0
    for q in range(len(compared)):
        relevant, irrelevant = compared.relevance.of(q)
        for i in relevant:
            for j in irrelevant:
                near, far = (distance(M, compared.Q[q], compared.X[x]) for x in (i, j))
                total += max(0.0, 1.0 - 2.0 * (far - near)) / (len(relevant) * len(irrelevant))
    assert risk.value(M) == pytest.approx(risk.C * total / len(compared), rel=1e-9, abs=1e-12)


@given(seeds, st.sampled_from(names("soft")))
@settings(max_examples=40)
def test_relative_risk_is_a_sum_of_hinges(seed, name):
    rng = np.random.default_rng(seed)
    problem = instance(name, seed)
    w = random_metric(rng, problem.cone)
    points = problem.triplets.X
    X = points if isinstance(points, np.ndarray) else points.toarray()
    total = sum(
        max(0.0, 1.0 - distance(w, X[i], X[k]) + distance(w, X[i], X[j])) for i, j, k in problem.triplets.triplets
    )
    assert problem.risk.value(w) == pytest.approx(problem.C * total, rel=1e-9)


@pytest.mark.parametrize("name", names("hard"))
def test_hard_margins_are_constraints_that_scaling_up_meets(name):
    problem = instance(name)
    risk, comparisons = problem.risk, problem.triplets
    assert risk.value(problem.cone.zeros()) == np.inf
    # Any weights with positive margins will do: those of a Farkas-type linear program.
    w = feasible_weights(comparisons.rows)
    for scale in (1e-12, 0.01, 1.0):
        repaired = risk.repair(scale * w)
        assert comparisons.forward(repaired).min() >= 1.0
        assert comparisons.forward(repaired).min() <= max(1.0 + 1e-9, scale * comparisons.forward(w).min())
        assert risk.value(repaired) == 0.0
        assert problem.value(repaired) == problem.penalty(repaired)
    violated = -comparisons.rows[0] if isinstance(comparisons.rows, np.ndarray) else -comparisons.rows.toarray()[0]
    np.testing.assert_array_equal(risk.repair(violated), violated)


def feasible_weights(D):
    from scipy.optimize import linprog

    D = D if isinstance(D, np.ndarray) else D.toarray()
    size = np.abs(D).max()
    result = linprog(np.ones(D.shape[1]), A_ub=-D / size, b_ub=-np.ones(len(D)), bounds=(0, None), method="highs")
    assert result.status == 0
    return result.x


def hard_risk(rng, cone, v):
    """Hard margins that ``v v^T`` meets where it is large, of points of any size, perhaps far from zero."""
    X = rng.standard_normal((8, cone.d)) * 10.0 ** rng.uniform(-4, 4)
    X += rng.integers(2) * 10.0 ** rng.uniform(0, 4) * np.abs(X).max()
    triplets = consistent((X @ v)[:, None], random_triplets(rng, 8, 6), np.ones(1))
    return SeparableRisk(Triplets(X, triplets, cone), Hinge(np.inf, float(10.0 ** rng.uniform(-3, 3))))


@given(seeds, st.sampled_from([NonnegativeDiagonal, PSDCone]), st.integers(1, 3))
@settings(max_examples=200)
def test_what_was_repaired_is_returned_as_it_is(seed, kind, count):
    rng = np.random.default_rng(seed)
    cone = kind(int(rng.integers(1, 5)))
    v = np.eye(cone.d)[0] if kind is NonnegativeDiagonal else rng.standard_normal(cone.d)
    risk = SumRisk(*(hard_risk(rng, cone, v) for _ in range(count)))
    for M in (cone.outer_sum(v[None], np.ones(1)), random_metric(rng, cone), cone.zeros()):
        M = 10.0 ** rng.uniform(-9, 9) * M
        for repair in (risk.risks[0].repair, risk.repair, lambda N: Budget(cone.identity(), 1.0).repair(N, cone)):
            repaired = repair(M)
            assert repair(repaired) is repaired


def test_hard_margins_with_room_are_left_as_they_are():
    # Scaled down to the margins, the metric would be further from its prior, the optimum.
    problem = instance("relative, rbf, hard")
    w = feasible_weights(problem.triplets.rows)
    kept = MetricProblem(problem.risk, SquaredDistance(1.0, 2.0 * w))
    assert kept.value(2.0 * w) == 0.0
    np.testing.assert_array_equal(kept.risk.repair(2.0 * w), 2.0 * w)


def test_a_sum_keeps_the_hard_margins_of_all_its_risks():
    # The second leaves room, which must not be taken from the first.
    X = np.array([[0.0], [1.0], [2.0]])
    triplets = Triplets(X, [[0, 1, 2]], NonnegativeDiagonal(1))
    risk = SumRisk(SeparableRisk(triplets, Hinge(np.inf, 6.0)), SeparableRisk(triplets, Hinge(np.inf, 0.3)))
    for start in (1e-6, 1.0, 1e6):
        repaired = risk.repair(np.array([start]))
        assert risk.value(repaired) == 0.0
        assert repaired[0] == pytest.approx(max(start, 2.0), rel=1e-12)


class Noisy:
    """Comparisons whose margins cancel: rounding moves them by a millionth, differently at every scale."""

    cone = NonnegativeDiagonal(1)
    points = ()

    def __len__(self):
        return 1

    def forward(self, M):
        wobble = np.sin(1e9 * float(M[0])) * 1e-6
        return M * (1.0 + wobble)


def test_scaling_to_a_hard_margin_ends_when_rounding_is_large():
    comparisons = Noisy()
    risk = SeparableRisk(comparisons, Hinge(np.inf))
    for start in np.random.default_rng(0).uniform(0.1, 1.0, 20):
        repaired = risk.repair(np.array([start]))
        assert comparisons.forward(repaired)[0] >= 1.0
        assert repaired[0] <= 1.0 + 1e-4


def test_a_metric_too_small_to_be_scaled_up_is_returned():
    problem = instance("relative, identity, hard")
    tiny = np.full(problem.cone.d, 5e-324)
    np.testing.assert_array_equal(problem.risk.repair(tiny), tiny)
    np.testing.assert_array_equal(problem.risk.repair(problem.cone.zeros()), problem.cone.zeros())


def test_soft_margins_need_no_repair():
    for name in [*names("soft"), *names("method", "ranking")]:
        problem = instance(name)
        M = random_metric(np.random.default_rng(0), problem.cone)
        assert problem.risk.repair(M) is M
