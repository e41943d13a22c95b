"""Signed distances of pairs against their definition, the adjoint against inner products."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from samples import random_element, random_metric

from convexmetric.comparisons import PairDistances, pair_distances
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError

CONES = [PSDCone, NonnegativeDiagonal]
#: Points of which 11 pairs are many, and few.
SIZES = [7, 20]


def made(seed, cone, n=7, d=3, T=11):
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(T)])
    pairs[-1] = pairs[0, ::-1]
    return rng, PairDistances(rng.normal(size=(n, d)), pairs, rng.choice([-1.0, 1.0], T), cone(d))


@given(st.integers(0, 10**6), st.sampled_from(CONES), st.sampled_from(SIZES))
def test_forward_is_the_definition(seed, cone, n):
    rng, pairs = made(seed, cone, n)
    M = random_metric(rng, pairs.cone)
    full = np.diag(M) if M.ndim == 1 else M
    expected = []
    for (i, j), sign in zip(pairs.pairs, pairs.signs, strict=True):
        difference = pairs.X[i] - pairs.X[j]
        expected.append(sign * difference @ full @ difference)
    np.testing.assert_allclose(pairs.forward(M), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(pairs.rows @ pairs.cone.coordinates(M), expected, rtol=1e-9, atol=1e-12)
    variable, _ = pairs.cone.variable("M")
    variable.value = M
    expression = pairs.expression(variable)
    assert isinstance(expression, cp.Expression)
    np.testing.assert_allclose(expression.value, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cone", CONES)
def test_items_without_features_are_the_points_that_unit_vectors_are(cone):
    rng, pairs = made(3, cone, 7, 7)
    items, turned = (PairDistances(X, pairs.pairs, pairs.signs, pairs.cone) for X in (np.eye(7), np.eye(7)[::-1]))
    M, u = random_element(rng, pairs.cone), rng.normal(size=len(pairs))
    backwards = M[::-1] if M.ndim == 1 else M[::-1, ::-1]
    np.testing.assert_allclose(items.forward(M), turned.forward(backwards), atol=1e-14)
    slopes = turned.adjoint(u)
    np.testing.assert_allclose(items.adjoint(u), slopes[::-1] if M.ndim == 1 else slopes[::-1, ::-1], atol=1e-14)


@given(st.integers(0, 10**6), st.sampled_from(CONES), st.sampled_from(SIZES))
def test_adjoint_is_the_adjoint(seed, cone, n):
    rng, pairs = made(seed, cone, n)
    M, u = random_element(rng, pairs.cone), rng.normal(size=len(pairs))
    assert pairs.cone.inner(pairs.adjoint(u), M) == pytest.approx(u @ pairs.forward(M), rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("T", [4, 5, 130])
def test_many_pairs_of_few_points_are_made_by_one_product(cone, T):
    """From a share of the 49 pairs of 7 points on; of 130, some are repeated and turned round."""
    rng, many = made(5, cone, T=T)
    M, u = random_metric(rng, many.cone), rng.normal(size=T)
    assert (many._entries is not None) == (T >= 49 * pair_distances.MANY)
    plain = PairDistances(many.X, many.pairs, many.signs, many.cone)
    plain.__dict__ |= {"_entries": None, "_kept": None}
    np.testing.assert_allclose(many.forward(M), plain.forward(M), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(many.adjoint(u), plain.adjoint(u), rtol=1e-10, atol=1e-12)


def test_differences_are_kept_where_pairs_are_no_more_than_points():
    for T in (7, 8):
        assert (made(5, PSDCone, n=7, T=T)[1]._kept is not None) == (T <= 7)


@pytest.mark.parametrize("cone", CONES)
def test_blocks_change_nothing(cone, monkeypatch):
    rng, dense = made(3, cone, max(SIZES), T=max(SIZES) + 1)
    pairs = PairDistances(sp.csr_array(dense.X), dense.pairs, dense.signs, dense.cone)
    M, u = random_metric(rng, pairs.cone), rng.normal(size=len(pairs))
    whole = dense.forward(M), dense.adjoint(u)
    monkeypatch.setattr(pair_distances, "BLOCK", 4)
    np.testing.assert_allclose(pairs.forward(M), whole[0], rtol=1e-12)
    np.testing.assert_allclose(pairs.adjoint(u), whole[1], rtol=1e-12, atol=1e-14)


def test_features_must_fit_the_cone():
    with pytest.raises(InputError, match="4 features, but the metric acts on 3"):
        PairDistances(np.ones((7, 4)), [[0, 1]], np.ones(1), PSDCone(3))
