"""The logistic loss over positives and negatives against explicit sums over all pairs."""

import numpy as np
import pytest
from samples import as_matrix, random_element, random_lists, random_metric
from scipy.special import entr, expit

from convexmetric.comparisons import Rankings, Relevance
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import DualError
from convexmetric.risks import CutDual, LogisticRankingRisk, tangent_dual

C = 0.5


def make(seed=0, d=4, diagonal=False, listed=False, anchored=False, complement=False):
    rng = np.random.default_rng(seed)
    cone = NonnegativeDiagonal(d) if diagonal else PSDCone(d)
    X, Q = rng.standard_normal((9, d)), rng.standard_normal((5, d))
    relevant, irrelevant = random_lists(rng, 7 if anchored else 5, 9)
    anchors = np.array([0, 0, 1, 3, 4, 2, 1]) if anchored else None
    n = len(relevant)
    given = (as_matrix(relevant, 9), None) if complement else (relevant, irrelevant)
    rankings = Rankings(X, Q, Relevance.from_lists(*given, n, 9), cone, anchors)
    rankings.dense = not listed
    return LogisticRankingRisk(rankings, C)


KINDS = {
    "dense": {},
    "diagonal": {"diagonal": True},
    "listed": {"listed": True},
    "anchored": {"anchored": True},
    "complement": {"complement": True},
}


@pytest.fixture(params=list(KINDS))
def risk(request):
    return make(**KINDS[request.param])


def every_pair(risk, M):
    """s and D of every pair."""
    rankings, cone = risk.rankings, risk.cone
    for q, row in enumerate(rankings.rows(np.arange(risk.parts))):
        for i in rankings.relevance.of(q)[0]:
            for j in rankings.relevance.of(q)[1]:
                differences = np.array([rankings.Q[row] - rankings.X[j], rankings.Q[row] - rankings.X[i]])
                D = cone.outer_sum(differences, np.array([1.0, -1.0]))
                yield cone.inner(D, M), D


@pytest.mark.parametrize("scale", [0.0, 1e-6, 1.0, 30.0, 1e4])
def test_value_and_tangent_plane(risk, scale):
    M = random_metric(np.random.default_rng(1), risk.cone, scale)
    s = np.array([pair[0] for pair in every_pair(risk, M)])
    u = C * expit(-s)
    value, point = risk.tangent(M)
    assert value == pytest.approx(C * np.logaddexp(0.0, -s).sum(), rel=1e-12)
    assert risk.value(M) == value
    # Far from the middle p = expit(s) rounds to one, so the entropy is summed from both tails.
    entropy = C * (entr(expit(-np.abs(s))) - expit(np.abs(s)) * -np.log1p(np.exp(-np.abs(s)))).sum()
    assert point.value == pytest.approx(entropy, rel=1e-9)
    expected = sum(weight * D for weight, (_, D) in zip(u, every_pair(risk, M), strict=True))
    np.testing.assert_allclose(point.S, expected, atol=1e-12 * max(1.0, abs(expected).max()))


def test_the_tangent_plane_touches_and_supports(risk):
    rng = np.random.default_rng(2)
    M = random_metric(rng, risk.cone)
    value, point = risk.tangent(M)
    assert point.value - risk.cone.inner(point.S, M) == pytest.approx(value, rel=1e-12)
    for _ in range(20):
        N = random_metric(rng, risk.cone, 10.0 ** rng.uniform(-3, 2))
        assert point.value - risk.cone.inner(point.S, N) <= risk.value(N) * (1 + 1e-12)
        same = risk.minorant(tangent_dual(risk, M))
        np.testing.assert_allclose(same.S, point.S, atol=1e-12)
        assert same.value == pytest.approx(point.value)


def test_derivatives_by_differences(risk):
    rng = np.random.default_rng(3)
    M = random_metric(rng, risk.cone) + 0.1 * risk.cone.identity()
    along = random_element(rng, risk.cone)
    h = 1e-5
    (up, S_up), (down, S_down) = risk.tangent(M + h * along), risk.tangent(M - h * along)
    assert -risk.cone.inner(risk.tangent(M)[1].S, along) == pytest.approx((up - down) / (2 * h), rel=1e-6)
    np.testing.assert_allclose(
        risk.second_derivative(M)(along), (S_down.S - S_up.S) / (2 * h), atol=1e-6 * abs(S_up.S).max()
    )


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "diagonal"])
@pytest.mark.parametrize("rows", [1, 3, 6])
def test_second_derivatives_along_a_factor(kind, rows):
    risk, rng = make(**KINDS[kind]), np.random.default_rng(4)
    B, E = rng.standard_normal((2, rows, 4))
    expected = B @ risk.second_derivative(B.T @ B)(B.T @ E + E.T @ B)
    np.testing.assert_allclose(risk.second_along(B)(E), expected, atol=1e-10 * abs(expected).max())
    # The same twice: distances that are kept are not overwritten.
    applied = risk.second_along(B)
    np.testing.assert_array_equal(applied(E), applied(E))


def test_second_derivatives_in_several_blocks(monkeypatch):
    risk, rng = make(), np.random.default_rng(5)
    M, along = random_metric(rng, risk.cone), random_element(rng, risk.cone)
    B, E = rng.standard_normal((2, 2, 4))
    whole = risk.second_derivative(M)(along), risk.second_along(B)(E), risk.tangent(M)[1].S
    # Without room for the weights of single pairs; then with several blocks of distances.
    monkeypatch.setattr("convexmetric.risks.logistic_ranking.BLOCK_BYTES", 0)
    np.testing.assert_allclose(risk.second_derivative(M)(along), whole[0], atol=1e-12)
    np.testing.assert_allclose(risk.second_along(B)(E), whole[1], atol=1e-12)
    monkeypatch.setattr("convexmetric.comparisons.rankings.BLOCK_BYTES", 150)
    assert len(list(risk.rankings.cuts(np.arange(risk.parts)))) > 1
    parts = risk.second_derivative(M)(along), risk.second_along(B)(E), risk.tangent(M)[1].S
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_it_is_the_sum_of_the_listed_losses(risk):
    rng = np.random.default_rng(6)
    M, along = random_metric(rng, risk.cone), random_element(rng, risk.cone)
    listed = risk.listed()
    assert listed.parts == risk.pairs.sum()
    (value, point), (other_value, other) = risk.tangent(M), listed.tangent(M)
    assert value == pytest.approx(other_value, rel=1e-12)
    assert point.value == pytest.approx(other.value, rel=1e-12)
    np.testing.assert_allclose(point.S, other.S, atol=1e-12)
    np.testing.assert_allclose(
        risk.second_derivative(M)(along), listed.second_derivative(M)(along), atol=1e-12 * abs(along).max() * 100
    )
    u = rng.uniform(-0.2, 0.7, listed.parts)
    np.testing.assert_array_equal(risk.minorant(u).S, listed.minorant(u).S)


def test_exchanged_turns_the_sign(risk):
    M = random_metric(np.random.default_rng(7), risk.cone)
    s = np.array([pair[0] for pair in every_pair(risk, M)])
    turned = risk.exchanged()
    assert turned.value(M) == pytest.approx(C * np.logaddexp(0.0, s).sum(), rel=1e-12)
    assert turned.exchanged().value(M) == pytest.approx(risk.value(M), rel=1e-12)


def test_groups_add_up(risk):
    rng = np.random.default_rng(8)
    M, groups = random_metric(rng, risk.cone), rng.integers(0, 3, risk.parts)
    groups[0] = 2
    cuts, (value, point) = risk.separate(M, groups), risk.tangent(M)
    assert cuts.values.sum() == pytest.approx(value)
    assert cuts.offsets.sum() == pytest.approx(point.value)
    np.testing.assert_allclose(cuts.normals.sum(axis=0), risk.cone.coordinates(point.S), atol=1e-12)


def test_duals_of_the_wrong_shape_are_refused(risk):
    for dual in (np.ones(3), "optimal", CutDual(np.zeros((1, 2, 2)), np.ones((1, 1)), np.zeros(risk.parts, dtype=int))):
        with pytest.raises(DualError):
            risk.minorant(dual)
