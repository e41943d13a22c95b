"""The softmax loss of chosen items against its formula, item by item, in every layout of lists."""

import numpy as np
import pytest
from samples import random_element, random_metric
from scipy.special import logsumexp

from convexmetric.comparisons import Rankings, Relevance
from convexmetric.cones import AllMatrices, NonnegativeDiagonal, PSDCone, Symmetric
from convexmetric.errors import InputError
from convexmetric.risks import SoftmaxRisk, softmax
from convexmetric.risks.dual_points import CutDual

RNG = np.random.default_rng(0)
X, Q, Y = RNG.standard_normal((100, 3)), RNG.standard_normal((5, 3)), np.arange(100) % 3
#: Lists of uneven lengths, one with items twice; they leave most items out.
NEAR, FAR = [[0, 7], [3], [5, 5, 9], [1], [11, 2]], [[4], [8, 8, 6], [1, 0], [2, 39, 38], [12]]
WEIGHTS = np.array([1.0, 0.0, 2.5, 0.5, 1.0])
CONES = {
    "full": PSDCone(3), "diagonal": NonnegativeDiagonal(3), "matrices": AllMatrices(3), "symmetric": Symmetric(3)
}  # fmt: skip


def lists(near, far):
    """Relevance of lists in which an item may stand twice, which ``from_lists`` refuses."""
    ends = [np.cumsum([len(items) for items in of]) for of in (near, far)]
    starts = [np.concatenate([[0], end[:-1]]) for end in ends]
    rows = [np.concatenate(of).astype(np.int32) for of in (near, far)]
    return Relevance(rows[0], starts[0], ends[0], rows[1], starts[1], ends[1])


def dense(cone):
    return Rankings(X, X, Relevance.from_labels(Y), cone)


def listed(cone, **how):
    return Rankings(X, Q, lists(NEAR, FAR), cone, **how)


def whole_rows(cone):
    """The same lists among so few items that distances to all are made."""
    return Rankings(X[:40], Q, lists(NEAR, FAR), cone)


def complement(cone):
    return Rankings(X, Q, Relevance.from_lists([sorted({*items}) for items in NEAR], None, 5, 100), cone)


def of_two_rows(cone):
    """Several queries at one row of Q, and none at others."""
    return listed(cone, anchors=np.array([1, 1, 3, 1, 3]))


LAYOUTS = {
    "dense": dense, "listed": listed, "whole rows": whole_rows, "complement": complement,
    "several at a row": of_two_rows,
}  # fmt: skip


def loss(rankings, M, C, tau, weights):
    """The formula, query by query."""
    parts = []
    for q, row in enumerate(rankings.rows(np.arange(len(rankings)))):
        near, far = rankings.relevance.of(q)
        if rankings.cone.free:
            d = -(rankings.X @ M.T @ rankings.Q[row])
        else:
            V = rankings.X - rankings.Q[row]
            d = np.einsum("ni,ij,nj->n", V, np.diag(M) if M.ndim == 1 else M, V)
        d = np.concatenate([d[near], d[far]]) / tau
        parts.append(logsumexp(-d) + d[: len(near)].mean())
    return C * (np.ones(len(parts)) if weights is None else weights) * np.array(parts)


@pytest.fixture(params=CONES)
def cone(request):
    return CONES[request.param]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("tau", [0.3, 2.0])
@pytest.mark.parametrize("block", [None, 200])
def test_value_parts_and_planes_are_the_formula(cone, layout, tau, block, monkeypatch):
    if block:
        monkeypatch.setattr("convexmetric.comparisons.rankings.BLOCK_BYTES", block)
        monkeypatch.setattr(softmax, "BLOCK_BYTES", block)
    rng, rankings = np.random.default_rng(1), LAYOUTS[layout](cone)
    weights = None if layout == "dense" else WEIGHTS
    risk, M, N = SoftmaxRisk(rankings, 0.7, tau, weights), random_metric(rng, cone), random_metric(rng, cone)
    assert rankings.dense == (layout in ("dense", "whole rows", "complement"))
    parts, there = (loss(rankings, at, 0.7, tau, weights) for at in (M, N))
    assert (parts >= 0.0).all()
    np.testing.assert_allclose(risk.part_values(M), parts, rtol=1e-10, atol=1e-12)
    assert risk.value(M) == pytest.approx(parts.sum(), rel=1e-11)
    value, plane = risk.tangent(M)
    assert value == pytest.approx(parts.sum(), rel=1e-11)
    # Tight where it was made, below the risk elsewhere, and with a value that is an entropy.
    assert plane.value - cone.inner(plane.S, M) == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert plane.value - cone.inner(plane.S, N) <= there.sum() + 1e-12
    sizes = rankings.relevance.n_relevant + rankings.relevance.n_irrelevant
    most = 0.7 * (np.ones(len(sizes)) if weights is None else weights) @ np.log(sizes)
    assert 0.0 < plane.value <= most * (1 + 1e-12)
    groups = np.arange(len(rankings)) % 3
    cuts = risk.separate(M, groups)
    np.testing.assert_allclose(cuts.values, np.bincount(groups, parts), rtol=1e-10, atol=1e-12)
    below = cuts.offsets - cuts.normals @ cone.coordinates(N)
    assert (below <= np.bincount(groups, there) + 1e-12).all()
    np.testing.assert_allclose(cuts.normals.sum(axis=0), cone.coordinates(plane.S), atol=1e-10)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("block", [None, 200])
def test_derivatives_are_those_of_differences(cone, layout, block, monkeypatch):
    if block:
        monkeypatch.setattr("convexmetric.comparisons.rankings.BLOCK_BYTES", block)
        monkeypatch.setattr(softmax, "BLOCK_BYTES", block)
    rng, rankings = np.random.default_rng(2), LAYOUTS[layout](cone)
    risk = SoftmaxRisk(rankings, 0.7, 1.5, None if layout == "dense" else WEIGHTS)
    M, D, E = cone.identity(), random_element(rng, cone), random_element(rng, cone)
    h, bend = 1e-5, risk.second_derivative(M)
    slope = (risk.value(M + h * D) - risk.value(M - h * D)) / (2 * h)
    assert -cone.inner(risk.tangent(M)[1].S, D) == pytest.approx(slope, rel=1e-6)
    planes = [risk.tangent(M + sign * h * D)[1].S for sign in (1, -1)]
    np.testing.assert_allclose(bend(D), -(planes[0] - planes[1]) / (2 * h), rtol=1e-5, atol=1e-6)
    assert cone.inner(bend(D), E) == pytest.approx(cone.inner(bend(E), D), rel=1e-9)
    assert cone.inner(bend(D), D) >= 0.0
    # Applied again it has not changed what it keeps.
    np.testing.assert_array_equal(bend(D), bend(D))


def test_distances_of_any_size_do_not_overflow(cone):
    risk = SoftmaxRisk(listed(cone), 1.0, 1e-3)
    for size in (1e-300, 1e6, 1e12):
        M = size * cone.identity()
        value, plane = risk.tangent(M)
        assert np.isfinite([value, plane.value]).all()
        assert value == pytest.approx(loss(risk.rankings, M, 1.0, 1e-3, None).sum(), rel=1e-9)


def test_float32_points_are_those_numbers_in_float64(cone):
    single = [points.astype(np.float32) for points in (X, Q)]
    relevance = lists(NEAR, FAR)
    one = SoftmaxRisk(Rankings(*single, relevance, cone), 0.7, 0.5)
    other = SoftmaxRisk(Rankings(*(points.astype(float) for points in single), relevance, cone), 0.7, 0.5)
    M = random_metric(np.random.default_rng(3), cone)
    assert one.value(M) == other.value(M)


def test_rectangular_matrices_compare_points_of_other_features():
    rng, cone = np.random.default_rng(4), AllMatrices(3, 2)
    items, M = X[:, :2], rng.standard_normal((3, 2))
    risk = SoftmaxRisk(Rankings(items, Q, lists(NEAR, FAR), cone), 1.0, 0.8)
    total = 0.0
    for q in range(5):
        s = items[NEAR[q] + FAR[q]] @ M.T @ Q[q] / 0.8
        total += logsumexp(s) - s[: len(NEAR[q])].mean()
    assert risk.value(M) == pytest.approx(total, rel=1e-12)


def test_what_dual_points_prove_is_below_the_risk(cone):
    rng = np.random.default_rng(5)
    risk = SoftmaxRisk(listed(cone), 0.7, 0.5, WEIGHTS)
    witnesses = np.array([random_metric(rng, cone, 10.0**size) for size in (-2.0, 0.0, 1.0)])
    groups = np.arange(5) % 2
    point = risk.minorant(CutDual(witnesses, rng.dirichlet(np.ones(3), 2).T, groups))
    for size in (0.1, 1.0, 10.0):
        M = random_metric(rng, cone, size)
        assert point.value - cone.inner(point.S, M) <= risk.value(M) + 1e-12


def test_some_of_the_queries():
    cone, M = PSDCone(3), np.eye(3)
    risk = SoftmaxRisk(listed(cone), 0.7, 0.5, WEIGHTS)
    some = risk.subset(np.array([0, 2]), 3.0)
    assert some.value(M) == pytest.approx(3.0 * risk.part_values(M)[[0, 2]].sum(), rel=1e-12)


def test_it_is_no_list_of_pairs_and_too_long_for_a_statement(monkeypatch):
    risk = SoftmaxRisk(listed(PSDCone(3)))
    with pytest.raises(InputError, match="no losses of pairs"):
        risk.listed()
    with pytest.raises(InputError, match="as metrics"):
        risk.hints(np.ones(5))
    monkeypatch.setattr(softmax, "CANDIDATES_LIMIT", 3)
    with pytest.raises(InputError, match="candidates; keep it to 3"):
        risk.statement(risk.cone.variable("M")[0])
