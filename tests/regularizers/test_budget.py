"""A hard budget: what metrics keep in floats, certificates prove."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import convexmetric as cm
from convexmetric.certificates import kernel
from convexmetric.comparisons import PairDistances
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.losses import NegativeRoot
from convexmetric.regularizers import Budget
from convexmetric.risks import SeparableRisk


@given(
    st.integers(0, 10**6), st.sampled_from([PSDCone, NonnegativeDiagonal]), st.floats(0.0, 14.0), st.floats(-60.0, 60.0)
)
def test_repaired_metrics_keep_the_budget_as_the_kernel_evaluates_it(seed, kind, condition, scale):
    """Whatever the condition of A, which a metric that just keeps the budget has as well, and whatever its unit."""
    rng = np.random.default_rng(seed)
    cone = kind(int(rng.integers(1, 9)))
    spread = 10.0 ** (0.5 * rng.permutation(np.linspace(0.0, condition, cone.d)))
    B = rng.standard_normal((3 * cone.d, cone.d)) * spread
    N = rng.standard_normal((int(rng.integers(1, cone.d + 1)), cone.d)) / spread
    if cone.diagonal:
        A, M = (B**2).sum(axis=0), (N**2).sum(axis=0)
    else:
        turn = np.linalg.qr(rng.standard_normal((cone.d, cone.d)))[0]
        A, M = cone.outer_sum(B @ turn, np.ones(len(B))), cone.project(cone.outer_sum(N @ turn, np.ones(len(N))))
    limit = 10.0**scale
    budget = Budget(A, limit)
    M *= limit / cone.inner(A, M) * rng.choice([0.5, 1.0 - 1e-15, 1.0, 1.0 + 1e-15, 1.0 + 1e-8, 3.0])
    kept = budget.repair(M, cone)
    assert budget.value(kept, cone) == 0.0
    assert np.array_equal(budget.repair(kept, cone), kept)
    factor = kept if cone.diagonal else cone.factor(kept)
    metric = kernel.Ball(factor) if cone.diagonal else kernel.Ball(factor.T) @ kernel.Ball(factor)
    assert (metric * A).sum().upper() <= Fraction(limit)
    # Little is given away: a few roundings of the sizes that add up to <A, M>.
    sizes = np.linalg.norm(A) * np.linalg.norm(M) / limit
    assert cone.inner(A, kept) >= min(cone.inner(A, M), limit * (1.0 - 1e-13 * (1.0 + sizes)))


@pytest.mark.parametrize("cone", [PSDCone(8), NonnegativeDiagonal(8)], ids=repr)
def test_far_pairs_under_a_budget_for_near_ones_are_solved_and_proven(cone, tmp_path):
    """Directions that similar pairs hardly differ in: metrics are large there, and <A, M> cancels."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8)) * np.geomspace(0.05, 8.0, 8) @ np.linalg.qr(rng.standard_normal((8, 8)))[0]
    pairs = np.array([rng.choice(60, 2, replace=False) for _ in range(100)])
    V, far = X[pairs[:, 0]] - X[pairs[:, 1]], pairs[50:]
    budget = Budget(cone.outer_sum(V[:50], np.ones(50)))
    problem = cm.MetricProblem(SeparableRisk(PairDistances(X, far, np.ones(50), cone), NegativeRoot(1.0)), budget)
    solution = cm.solve(problem)
    assert solution.status == "optimal"
    path = tmp_path / "budget.npz"
    cm.write_certificate(path, problem, solution=solution)
    verdict = cm.verify(path)
    assert verdict.accepted
    assert (verdict.upper - verdict.lower) <= Fraction(2, 10**6) * abs(verdict.upper)
