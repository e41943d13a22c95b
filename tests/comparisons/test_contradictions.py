"""Proofs of infeasibility: no feasible set is accused, and every accused set is guilty."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import consistent, random_triplets
from scipy.optimize import linprog

from convexmetric.comparisons import Triplets
from convexmetric.comparisons.contradictions import contradiction
from convexmetric.cones import NonnegativeDiagonal


def triplets_on(X, triplets):
    return Triplets(X, triplets, NonnegativeDiagonal(X.shape[1]))


def can_hold(X, triplets):
    """Whether some ``w >= 0`` has ``D w >= 1``: a linear program of our own, with features in comparable units."""
    X = X.toarray() if sp.issparse(X) else X
    X = X / np.maximum(np.ptp(X, axis=0), 1e-300)
    i, j, k = np.asarray(triplets).T
    D = (X[i] - X[k]) ** 2 - (X[i] - X[j]) ** 2
    size = np.abs(D).max(axis=1, keepdims=True)
    if not size.all():
        return False
    result = linprog(np.ones(X.shape[1]), A_ub=-D / size, b_ub=-np.ones(len(D)), bounds=(0, None), method="highs-ipm")
    return result.status == 0


@given(st.integers(0, 10**6), st.integers(1, 6), st.booleans(), st.booleans())
@settings(max_examples=60)
def test_satisfiable_triplets_are_never_accused(seed, d, sparse, scales_apart):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((14, d))
    w = rng.random(d)
    triplets = consistent(X, random_triplets(rng, 14, 40), w, 1e-3)
    if scales_apart:  # weights in other units satisfy the same triplets
        X = X * 10.0 ** rng.uniform(-8, 8, d)
    if len(triplets):
        assert contradiction(triplets_on(sp.csr_array(X) if sparse else X, triplets)) is None


@given(st.integers(0, 10**6), st.integers(1, 4))
@settings(max_examples=60)
def test_the_verdict_is_that_of_an_independent_linear_program(seed, d):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((8, d))
    triplets = random_triplets(rng, 8, int(rng.integers(1, 12)))
    guilty = contradiction(triplets_on(X, triplets))
    assert (guilty is None) == can_hold(X, triplets)
    if guilty is None:
        return
    assert not can_hold(X, triplets[guilty])
    assert len(set(guilty)) == len(guilty)


@given(st.integers(0, 10**6), st.integers(2, 4))
@settings(max_examples=40)
def test_nothing_can_be_spared_in_a_farkas_proof(seed, d):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, d))
    # An order by one hidden feature has no cycle; the features that are left contradict it.
    triplets = consistent(rng.standard_normal((12, 1)), random_triplets(rng, 12, 30), np.ones(1))
    guilty = contradiction(triplets_on(X, triplets))
    if guilty is None:
        assert can_hold(X, triplets)
        return
    for t in range(len(guilty)):
        rest = np.delete(guilty, t)
        assert rest.size == 0 or can_hold(X, triplets[rest])


def test_a_cycle_is_found_in_any_dimension():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 500))
    cycle = [[0, 1, 2], [2, 0, 3], [3, 2, 4], [4, 3, 1], [1, 4, 0]]  # d01 < d02 < d23 < d34 < d14 < d01
    harmless = [[5, 0, 1], [5, 1, 2]]
    guilty = contradiction(triplets_on(X, np.array([*harmless, *cycle])))
    assert sorted(guilty) == [2, 3, 4, 5, 6]
    assert contradiction(triplets_on(X, np.array([*harmless, *cycle[:-1]]))) is None


def test_a_triplet_and_its_reverse():
    guilty = contradiction(triplets_on(np.eye(4), np.array([[0, 1, 2], [3, 1, 2], [0, 2, 1]])))
    assert sorted(guilty) == [0, 2]


@pytest.mark.parametrize("X", [np.ones((3, 2)), np.array([[0.0, 0.0], [1.0, 2.0], [0.5, 1.0]])])
def test_one_triplet_alone_can_be_impossible(X):
    # Equal distances, or x_k nearer than x_j in every feature.
    np.testing.assert_array_equal(contradiction(triplets_on(X, np.array([[0, 1, 2]]))), [0])


def test_rounding_is_no_margin():
    # The columns' levels are equally far apart but for rounding; no honest weight tells them from each other.
    X = np.array([[0.1], [0.2], [0.3]]) @ np.ones((1, 3))
    np.testing.assert_array_equal(contradiction(triplets_on(X, np.array([[1, 0, 2]]))), [0])


def test_a_linear_program_that_fails_accuses_nobody(monkeypatch):
    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: type("Failed", (), {"x": None})())
    assert contradiction(triplets_on(np.ones((3, 2)), np.array([[0, 1, 2]]))) is None
