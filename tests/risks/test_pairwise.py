"""Hinges over pairs of near and far items against explicit sums over all pairs."""

import numpy as np
import pytest
from catalogue import instance, names
from samples import random_metric

from convexmetric.cones import NonnegativeDiagonal
from convexmetric.risks import PairwiseRisk

NAMES = names("method", "triplets")


def every_pair(risk, M):
    """(query, place of near, place of far, slack, D) of every pair."""
    rankings, cone = risk.rankings, risk.cone
    dense = lambda P: P.toarray() if hasattr(P, "toarray") else P  # noqa: E731
    X, Q = dense(rankings.X), dense(rankings.Q)[rankings.rows(np.arange(risk.parts))]
    for q in range(risk.parts):
        relevant, first, last, irrelevant, start, stop = rankings.relevance.lists(np.array([q]))
        for i, near in enumerate(relevant[first[0] : last[0]]):
            for j, far in enumerate(irrelevant[start[0] : stop[0]]):
                D = cone.outer_sum(np.array([Q[q] - X[far], Q[q] - X[near]]), np.array([1.0, -1.0]))
                yield q, i, j, risk.margin - cone.inner(D, M), D


@pytest.fixture(params=NAMES)
def risk(request):
    problem = instance(request.param, seed=5)
    assert isinstance(problem.risk, PairwiseRisk)
    return problem.risk


@pytest.mark.parametrize("listed", [False, True])
def test_smoothed_hinges_with_and_without_exceptions(risk, listed):
    if not isinstance(risk.rankings.X, np.ndarray) or risk.rankings.relevance.complement:
        listed = False
    risk.rankings.dense = not listed
    rng = np.random.default_rng(6)
    for width in (1.0, 0.1, 0.0):
        M = random_metric(rng, risk.cone)
        pairs = list(every_pair(risk, M))
        slopes = np.array([float(t > 0) if width == 0 else np.clip(0.5 + t / width, 0.0, 1.0) for *_, t, _ in pairs])
        chosen = np.sort(rng.choice(len(pairs), min(5, len(pairs)), replace=False))
        own = rng.random(chosen.size)
        places = np.array([pairs[c][:3] for c in chosen])
        changed = slopes.copy()
        changed[chosen] = own
        c = np.array([risk.weights[q] for q, *_ in pairs])
        for a, point in (
            (slopes, risk.smoothed(M, width).point),
            (changed, risk.with_exceptions(M, places, own, width)),
        ):
            expected = sum(weight * D for weight, (*_, D) in zip(c * a, pairs, strict=True))
            np.testing.assert_allclose(point.S, expected, atol=1e-9 * max(1.0, abs(expected).max()))
            assert point.value == pytest.approx(risk.margin * float(c @ a), rel=1e-9)
        exact = sum(weight * max(0.0, t) for weight, (*_, t, _) in zip(c, pairs, strict=True))
        assert risk.value(M) == pytest.approx(exact, rel=1e-9)
        assert risk.largest_margin(M) == pytest.approx(max(risk.margin - t for *_, t, _ in pairs), rel=1e-9)


def test_turned_pairs_are_those_on_different_sides(risk):
    rng = np.random.default_rng(7)
    M, other = random_metric(rng, risk.cone), random_metric(rng, risk.cone)
    expected = [
        here[:3]
        for here, there in zip(every_pair(risk, M), every_pair(risk, other), strict=True)
        if (here[3] > 0) != (there[3] > 0)
    ]
    places, sample = risk.turned(M, other)
    assert [tuple(row) for row in places.tolist()] == expected
    assert len(sample) == len(places)
    assert len(risk.turned(M, M)[0]) == 0


def test_ties_fall_on_the_same_side_for_both_items():
    """With integer distances many slacks are zero exactly, where the slope jumps: rows must still sum to zero."""
    import convexmetric as cm

    X = np.random.default_rng(8).integers(0, 3, (20, 2)).astype(float)
    for diagonal in (False, True):
        risk = cm.TripletProblem.from_labels(X, np.arange(20) % 2, None, None, diagonal=diagonal).risk
        M = np.ones(2) if isinstance(risk.cone, NonnegativeDiagonal) else np.eye(2)
        pairs = list(every_pair(risk, M))
        assert any(t == 0 for *_, t, _ in pairs)
        expected = sum(risk.weights[q] * D for q, _, _, t, D in pairs if t > 0)
        np.testing.assert_allclose(risk.smoothed(M, 0.0).point.S, expected, atol=1e-12)


def test_listed_pairs_are_in_the_order_of_their_multipliers(risk):
    triplets = risk.listed().comparisons
    M = random_metric(np.random.default_rng(9), risk.cone)
    found = sorted(triplets.forward(M).tolist())
    np.testing.assert_allclose(found, sorted(risk.margin - t for *_, t, _ in every_pair(risk, M)), atol=1e-9)
    u = np.random.default_rng(10).random(len(triplets)) * np.repeat(risk.weights, risk.pairs)
    np.testing.assert_allclose(risk.minorant(u).S, triplets.adjoint(u), atol=1e-12)
