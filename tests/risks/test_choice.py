"""Choices among listed candidates against their formula, trial by trial."""

import numpy as np
import pytest
from samples import random_element, random_metric, random_triplets
from scipy.special import logsumexp

from convexmetric.comparisons import PairDistances, Rankings, Relevance, Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.risks import ChoiceRisk, CutDual, SoftmaxRisk

X = np.random.default_rng(0).standard_normal((12, 3))


def pairs_of(seed, candidates, T=14):
    """Pairs of trials, of which one has a pair twice and two are alike."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(12, 2, replace=False) for _ in range(T * candidates)])
    pairs[1], pairs[-candidates:] = pairs[0], pairs[:candidates]
    return pairs


def made(cone, candidates, chosen, points=X):
    pairs = pairs_of(1, candidates)
    return ChoiceRisk(PairDistances(points, pairs, np.ones(len(pairs)), cone), candidates, chosen, 0.3, 0.8)


def losses(risk, M):
    full = np.diag(M) if M.ndim == 1 else M
    found = []
    for trial in risk.comparisons.pairs.reshape(risk.parts, risk.candidates, 2):
        d = np.array([(X[i] - X[j]) @ full @ (X[i] - X[j]) for i, j in trial]) / 0.8
        found.append(0.3 * (logsumexp(-d) + d[: risk.chosen].mean()))
    return np.array(found)


CONES = [PSDCone(3), NonnegativeDiagonal(3)]
SIZES = [(2, 1), (3, 1), (4, 2), (5, 4)]


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize(("candidates", "chosen"), SIZES)
def test_values_planes_and_dual_points_are_the_formula(cone, candidates, chosen):
    rng, risk = np.random.default_rng(2), made(cone, candidates, chosen)
    M, N = random_metric(rng, cone), random_metric(rng, cone, 5.0)
    here, there = losses(risk, M), losses(risk, N)
    assert (here >= 0.0).all()
    assert risk.parts == 14
    assert risk.value(M) == pytest.approx(here.sum(), rel=1e-12)
    np.testing.assert_allclose(risk.part_values(M), here, rtol=1e-11, atol=1e-14)
    value, plane = risk.tangent(M)
    assert value == pytest.approx(here.sum(), rel=1e-12)
    assert plane.value - cone.inner(plane.S, M) == pytest.approx(value, rel=1e-10)
    assert plane.value - cone.inner(plane.S, N) <= there.sum() + 1e-12
    assert 0.0 < plane.value <= 0.3 * 14 * np.log(candidates) * (1 + 1e-12)
    groups = np.arange(14) % 4
    cuts = risk.separate(M, groups)
    np.testing.assert_allclose(cuts.values, np.bincount(groups, here), rtol=1e-11, atol=1e-14)
    assert (cuts.offsets - cuts.normals @ cone.coordinates(N) <= np.bincount(groups, there) + 1e-12).all()
    np.testing.assert_allclose(cuts.offsets - cuts.normals @ cone.coordinates(M), cuts.values, rtol=1e-10, atol=1e-13)
    dual = CutDual(np.array([M, N]), np.array([[0.25, 0.5], [0.75, 0.5]]), np.arange(14) % 2)
    point, P = risk.minorant(dual), random_metric(rng, cone)
    assert point.value - cone.inner(point.S, P) <= losses(risk, P).sum() + 1e-12
    # The mean of the probabilities, of which every trial's add up to one, proves no less.
    found = risk.hints(dual).arrays["probabilities"]
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    entropies = -0.3 * (found * np.log(found)).sum()
    assert entropies >= point.value - 1e-12


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize(("candidates", "chosen"), SIZES)
def test_derivatives_are_those_of_differences(cone, candidates, chosen):
    rng, risk, M, h = np.random.default_rng(3), made(cone, candidates, chosen), cone.identity(), 1e-5
    D, E, bend = random_element(rng, cone), random_element(rng, cone), risk.second_derivative(M)
    slope = (risk.value(M + h * D) - risk.value(M - h * D)) / (2 * h)
    assert -cone.inner(risk.tangent(M)[1].S, D) == pytest.approx(slope, rel=1e-6)
    planes = [risk.tangent(M + sign * h * D)[1].S for sign in (1, -1)]
    np.testing.assert_allclose(bend(D), -(planes[0] - planes[1]) / (2 * h), rtol=1e-5, atol=1e-7)
    assert cone.inner(bend(D), E) == pytest.approx(cone.inner(bend(E), D), rel=1e-9)


def test_choices_of_items_by_a_query_are_choices_of_pairs():
    """The two risks are one where candidates are items of a query."""
    cone, M = PSDCone(3), random_metric(np.random.default_rng(4), PSDCone(3))
    lists = np.array([np.random.default_rng(row).permutation(np.delete(np.arange(12), row))[:4] for row in range(12)])
    relevance = Relevance.from_lists(list(lists[:, :2]), list(lists[:, 2:]), 12, 12)
    pairs = np.column_stack([np.repeat(np.arange(12), 4), lists.ravel()])
    by_query = SoftmaxRisk(Rankings(X, X, relevance, cone), 0.3, 0.8)
    by_pair = ChoiceRisk(PairDistances(X, pairs, np.ones(48), cone), 4, 2, 0.3, 0.8)
    np.testing.assert_allclose(by_pair.part_values(M), by_query.part_values(M), rtol=1e-10)
    np.testing.assert_allclose(by_pair.tangent(M)[1].S, by_query.tangent(M)[1].S, atol=1e-10)


def test_float32_points_and_some_trials():
    cone = PSDCone(3)
    single = made(cone, 3, 1, X.astype(np.float32))
    assert single.value(np.eye(3)) == made(cone, 3, 1, X.astype(np.float32).astype(float)).value(np.eye(3))
    risk = made(cone, 3, 1)
    some = risk.subset(np.array([5, 2]), 2.0)
    np.testing.assert_allclose(some.part_values(np.eye(3)), 2.0 * risk.part_values(np.eye(3))[[5, 2]], rtol=1e-12)
    assert np.isfinite(risk.value(1e12 * np.eye(3)))


def test_files_know_pairs_with_signs_of_one():
    for compared in (
        PairDistances(X, pairs_of(1, 3), -np.ones(42), PSDCone(3)),
        Triplets(X, random_triplets(np.random.default_rng(0), 12, 42), PSDCone(3)),
    ):
        with pytest.raises(InputError, match="choices among pairs of points, with signs of 1"):
            ChoiceRisk(compared, 3).described()
    nothing = CutDual(np.full((1, 3, 3), np.nan), np.ones((1, 1)), np.zeros(14, dtype=int))
    risk = made(PSDCone(3), 3, 1)
    with pytest.raises(InputError, match="NaN or infinite"):
        risk.hints(nothing)
