"""Parts of risks by name: what they cost, and the comparison in each that costs most."""

import numpy as np
import pytest
from catalogue import cases, instance
from samples import random_metric
from scipy.special import logsumexp

from convexmetric.losses import Logistic
from convexmetric.risks import (
    ChoiceRisk,
    LabelledPairRisk,
    LogisticRankingRisk,
    PairwiseRisk,
    RankingRisk,
    SeparableRisk,
    SoftmaxRisk,
)


@pytest.mark.parametrize("name", cases())
def test_parts_add_up_to_the_risk(name):
    problem = instance(name)
    risk = problem.risk
    M = random_metric(np.random.default_rng(1), problem.cone)
    values = risk.part_values(M)
    assert values.shape == (risk.parts,)
    if np.isfinite(risk.value(M)):
        assert values.sum() == pytest.approx(risk.value(M), rel=1e-12)
    if not isinstance(risk, LabelledPairRisk):
        with np.errstate(invalid="ignore"):
            cuts = risk.separate(M, np.arange(risk.parts))
        np.testing.assert_allclose(values, cuts.values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", cases(without=("hard", "sum", "worst")))
@pytest.mark.parametrize("beside", [False, True])
def test_the_worst_comparison_of_a_part_is_the_one_found_by_brute_force(name, beside):
    problem = instance(name)
    risk, cone = problem.risk, problem.cone
    rng = np.random.default_rng(2)
    M, other = random_metric(rng, cone), random_metric(rng, cone) if beside else None
    parts = rng.permutation(risk.parts)[:4]
    for part, found in zip(parts, risk.worst_comparisons(parts, M, other), strict=True):
        rows, here = _comparisons(risk, int(part), M)
        there = np.zeros_like(here) if other is None else _comparisons(risk, int(part), other)[1]
        best = (here - there).max()
        place = rows.index(found.rows)
        assert found.loss - found.other == pytest.approx(best, abs=1e-12)
        assert found.loss == pytest.approx(here[place], abs=1e-12)
        assert found.other == pytest.approx(there[place], abs=1e-12)


def _comparisons(risk, part, M):
    """Rows and losses of all comparisons of a part, one by one from the points."""

    def distance(a, b):
        return float(-a @ M @ b if risk.cone.free else risk.cone.quadratic_forms((a - b)[None], M)[0])

    def point(points, row):
        return np.asarray(points[[row]].todense()).ravel() if hasattr(points, "todense") else points[row]

    if isinstance(risk, SeparableRisk):
        rows = tuple(map(int, risk.comparisons.places[part]))
        return [rows], risk.loss.values(risk.comparisons.forward(M))[[part]]
    if isinstance(risk, LabelledPairRisk):
        rows, losses = [], []
        for j in range(risk.parts):
            if j != part:
                hinge = risk.same if risk.codes[part] == risk.codes[j] else risk.other
                t = hinge.margin - hinge.sign * distance(risk.X[part], risk.X[j])
                rows.append((part, j))
                losses.append(hinge.weight * (t if hinge.linear else max(0.0, t)))
        return rows, np.array(losses)
    if isinstance(risk, ChoiceRisk):
        pairs = risk.comparisons.pairs.reshape(risk.parts, risk.candidates, 2)[part]
        X, tau = risk.comparisons.X, risk.temperature
        s = -np.array([distance(X[i], X[j]) for i, j in pairs]) / tau
        return [tuple(pairs[0].tolist())], risk.C * (logsumexp(s, keepdims=True) - s[: risk.chosen].mean())
    rankings = risk.rankings
    near, far = rankings.relevance.of(part)
    q = int(rankings.rows(np.array([part]))[0])
    rows, losses = [], []
    for i in near:
        for j in far:
            query, x, z = point(rankings.Q, q), point(rankings.X, i), point(rankings.X, j)
            s = distance(query, z) - distance(query, x)
            if isinstance(risk, PairwiseRisk):
                loss = risk.weights[part] * max(0.0, risk.margin - s)
            elif isinstance(risk, LogisticRankingRisk):
                assert isinstance(risk.loss, Logistic)
                loss = risk.loss.C * np.logaddexp(0.0, -s)
            elif isinstance(risk, SoftmaxRisk):
                weight = 1.0 if risk.weights is None else risk.weights[part]
                loss = weight * risk.C * np.logaddexp(0.0, -s / risk.temperature)
            else:
                assert isinstance(risk, RankingRisk)
                weight = 1.0 if risk.weights is None else risk.weights[part]
                loss = 2.0 * weight * risk.C / risk.parts / (len(near) * len(far)) * max(0.0, -s)
            rows.append((q, int(i), int(j)))
            losses.append(loss)
    return rows, np.array(losses)


@pytest.mark.parametrize("name", cases())
def test_what_a_metric_proves_by_itself_is_a_bound(name):
    problem = instance(name)
    rng = np.random.default_rng(4)
    M, N = (problem.risk.repair(random_metric(rng, problem.cone)) for _ in range(2))
    if not np.isfinite(problem.value(M)):
        pytest.skip("no multiple meets the hard margins, where there is no tangent plane")
    duals = problem.risk.own_duals(M)
    assert duals
    for dual in duals:
        point = problem.risk.minorant(dual)
        if point is not None and np.isfinite(point.value):
            value = problem.risk.value(N)
            assert point.value - problem.cone.inner(point.S, N) <= value + 1e-9 * max(1.0, abs(point.value))
        assert problem.dual_bound(dual, hint=M) <= problem.value(N) * (1 + 1e-9) + 1e-9
