"""Listed comparisons on their kink, and the Newton systems they make."""

import numpy as np
import pytest
import scipy.sparse as sp
from samples import random_element

import convexmetric.solvers.pairwise.kinks as module
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.risks import PairwiseRisk
from convexmetric.solvers.pairwise.kinks import Factorised, Kinks, solve_newton

D, N = 4, 14


def kinks(kind, own_queries=False, sparse=False, count=30, d=D, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, d))
    X = sp.csr_array(X) if sparse else X
    queries = rng.standard_normal((N, d)) if own_queries else X
    risk = PairwiseRisk(Rankings(queries, X, Relevance.from_labels(np.arange(N) % 2), kind(d)), np.ones(N), 1.0)
    sample = np.array([rng.choice(N, 3, replace=False) for _ in range(count)], dtype=np.int64).reshape(-1, 3)
    return Kinks(risk, sample, 0.1 + rng.random(count)), rng


FORMS = [(PSDCone, False, False), (PSDCone, True, False), (NonnegativeDiagonal, True, False)]
FORMS += [(NonnegativeDiagonal, False, True), (NonnegativeDiagonal, False, False)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", [1, D])
def test_margins_and_sums_are_those_of_the_rows(form, d):
    listed, rng = kinks(*form, d=d)
    M, u, cone = random_element(rng, listed.cone), rng.standard_normal(len(listed)), listed.cone
    near, far = listed.differences()
    expected = cone.quadratic_forms(far, M) - cone.quadratic_forms(near, M)
    np.testing.assert_allclose(listed.margins(M), expected, atol=1e-10)
    np.testing.assert_allclose(listed.rows @ cone.coordinates(M), expected, atol=1e-10)
    np.testing.assert_allclose(listed.adjoint(u), cone.outer_sum(far, u) - cone.outer_sum(near, u), atol=1e-10)


@pytest.mark.parametrize("own_queries", [False, True])
@pytest.mark.parametrize("d", [1, D])
def test_turned_points_have_the_margins_of_turned_metrics(own_queries, d):
    listed, rng = kinks(PSDCone, own_queries, d=d)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    M, u = random_element(rng, listed.cone), rng.standard_normal(len(listed))
    assert listed.rows.shape == (len(listed), listed.cone.size)
    turned = listed.turned(basis)
    assert (turned.Q is turned.X) != own_queries
    np.testing.assert_allclose(turned.margins(basis.T @ M @ basis), listed.margins(M), atol=1e-10)
    np.testing.assert_allclose(basis @ turned.adjoint(u) @ basis.T, listed.adjoint(u), atol=1e-10)
    np.testing.assert_allclose(turned.rows @ turned.cone.coordinates(M), turned.margins(M), atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [3, 60])
def test_a_newton_system_is_solved_whichever_way(form, count, monkeypatch):
    listed, rng = kinks(*form, count=count)
    projection, sigma = listed.cone.projection(random_element(rng, listed.cone)), 0.7
    diagonal, b = 0.5 + rng.random(projection.size), rng.standard_normal(projection.size)
    forward, transposed = projection.products(listed)

    def product(v):
        return diagonal * v + transposed(listed.curvature * forward(v)) / sigma

    np.testing.assert_allclose(product(Factorised(projection, listed, diagonal, sigma).solve(b)), b, atol=1e-9)
    np.testing.assert_allclose(product(solve_newton(projection, listed, diagonal, b, sigma)), b, atol=1e-9)
    monkeypatch.setattr(module, "DIRECT_WORK", 0.1)
    monkeypatch.setattr(module, "CG_ACCURACY", 1e-12)
    np.testing.assert_allclose(product(solve_newton(projection, listed, diagonal, b, sigma)), b, atol=1e-8)
    monkeypatch.setattr(module, "CG_STEPS", 1)
    np.testing.assert_allclose(product(solve_newton(projection, listed, diagonal, b, sigma)), b, atol=1e-9)


def test_without_kinks_the_system_is_its_diagonal():
    nothing, _ = kinks(PSDCone, count=0)
    projection = nothing.cone.projection(np.eye(D))
    size = projection.size
    np.testing.assert_array_equal(solve_newton(projection, nothing, np.full(size, 2.0), np.ones(size), 1.0), 0.5)
