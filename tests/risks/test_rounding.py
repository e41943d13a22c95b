"""What is estimated of rounding: never less than what exact arithmetic finds."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from catalogue import cases, instance
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import random_metric

import convexmetric as cm
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.risks.base import group_sums
from convexmetric.risks.rounding import error_of_distances, error_of_sums, largest_form, lift, reach, sum_error


def exact(A):
    """Floats as the rationals they are."""
    return np.vectorize(Fraction, otypes=[object])(A)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), power=st.integers(-40, 40), offset=st.sampled_from([0.0, 3.0, 1e3, 1e6]))
@pytest.mark.parametrize("diagonal", [False, True])
def test_distances_err_by_less_than_the_estimate(diagonal, seed, power, offset):
    rng = np.random.default_rng(seed)
    cone = NonnegativeDiagonal(4) if diagonal else PSDCone(4)
    X = (rng.standard_normal((7, 4)) * 10.0 ** rng.integers(-4, 5, 4) + offset) * 2.0**power
    M = random_metric(rng, cone)
    problem = cm.comparisons.Rankings(X, X, cm.comparisons.Relevance.from_labels([0, 0, 0, 0, 1, 1, 1]), cone)
    block = next(problem.blocks(M, np.arange(7)))
    E, W = exact(problem.X), exact(np.diag(M) if diagonal else M)
    for q in range(7):
        true = [(E[q] - x) @ W @ (E[q] - x) - E[q] @ W @ E[q] for x in E]
        found = block.values.reshape(7, 7)[q]
        wrong = max(abs(float(Fraction(f) - t)) for f, t in zip(found, true, strict=True))
        assert wrong <= error_of_distances((problem.X,), M)


@pytest.mark.parametrize("diagonal", [False, True])
def test_sums_err_by_less_than_the_estimate(diagonal):
    rng = np.random.default_rng(0)
    cone = NonnegativeDiagonal(5) if diagonal else PSDCone(5)
    for _ in range(20):
        X = rng.standard_normal((12, 5)) * 10.0 ** rng.integers(-3, 4, 5) + 2.0
        rankings = cm.comparisons.Rankings(X, X, cm.comparisons.Relevance.from_labels(np.arange(12) % 2), cone)
        T = rng.standard_normal((12, 12))
        T -= T.mean(axis=1, keepdims=True)
        S = rankings.adjoint(T, np.arange(12)) + cone.outer_sum(rankings.X, T.sum(axis=1))
        E, W = exact(rankings.X), exact(T)
        true = np.zeros((5, 5), dtype=object)
        for q in range(12):
            for x in range(12):
                true = true + W[q, x] * np.outer(E[q] - E[x], E[q] - E[x])
        delta = error_of_sums(rankings.sets, float(np.abs(T).sum()), cone)
        if diagonal:
            assert (np.abs((exact(S) - np.diag(true)).astype(float)) <= delta).all()
        else:
            wrong = (exact(S) - true).astype(float)
            roots = np.sqrt(delta)
            assert np.abs(np.linalg.eigvalsh(wrong / roots / roots[:, None])).max() <= 1.0


def test_forms_and_reach_of_sparse_points_are_those_of_dense_ones():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((9, 6)) * (rng.random((9, 6)) < 0.4)
    for M in (rng.random(6), random_metric(rng, PSDCone(6))):
        assert largest_form((sp.csr_array(X),), M) == pytest.approx(largest_form((X,), M))
        size = np.abs(np.diag(M) if M.ndim == 1 else M)
        assert largest_form((X,), M) == pytest.approx(max(abs(x) @ size @ abs(x) for x in X))
    np.testing.assert_array_equal(reach((sp.csr_array(X), X[:3])), np.abs(X).max(axis=0))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), zeros=st.integers(0, 3))
def test_a_lifted_metric_is_in_the_cone(seed, zeros):
    rng = np.random.default_rng(seed)
    cone = PSDCone(5)
    scales = 10.0 ** rng.integers(-12, 13, 5)
    M = cone.project(random_metric(rng, cone) * scales * scales[:, None])
    M[:zeros] = M[:, :zeros] = 0.0
    lifted = lift(cone, M)
    roots = np.where(lifted > 0.0, np.sqrt(np.maximum(M.diagonal(), lifted)), 1.0)
    # Far above rounding of the eigenvalues of a matrix with a unit diagonal.
    above = (M + np.diag(lifted)) / roots / roots[:, None]
    assert np.linalg.eigvalsh(above)[0] >= -1e-15
    assert (lifted <= 1e-10 * M.diagonal().max(initial=0.0) + 1e-30).all()


@pytest.mark.parametrize("name", cases(without="hard"))
def test_sensitivities_count_all_that_costs(name):
    """The coefficients of the tangent plane, and of those at margins that are a little wrong."""
    problem = instance(name)
    risk, M = problem.risk, random_metric(np.random.default_rng(3), problem.cone)
    cuts = risk.separate(M, np.zeros(risk.parts, dtype=np.int64))
    assert risk.lipschitz_near(M, 0.0) >= cuts.weights.sum() * (1.0 - 1e-12)
    assert risk.lipschitz_near(M, 1e-3) >= risk.lipschitz_near(M, 0.0) * (1.0 - 1e-12)


def test_sums_of_many_equal_terms_err_no_more_than_is_estimated():
    rng = np.random.default_rng(0)
    for count, n_groups in ((37_594, 1), (200_001, 3), (500, 2), (70_000, 65)):
        groups = rng.integers(n_groups, size=count)
        sums = group_sums(np.full(count, 1.0 / count), groups, n_groups)
        exact = np.bincount(groups, minlength=n_groups) * (1.0 / count)
        assert (np.abs(sums - exact) <= sum_error(count) * exact).all()
