"""The worst parts of a risk: their value, planes, bounds and proofs, against brute force and CVXPY."""

import warnings
from contextlib import suppress
from dataclasses import replace
from itertools import combinations, product

import cvxpy as cp
import numpy as np
import pytest
from samples import random_metric, random_triplets, some

import convexmetric as cm
from convexmetric.certificates import kernel
from convexmetric.comparisons import Quadruplets, Rankings, Relevance, Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import DualError, InputError
from convexmetric.losses import Hinge
from convexmetric.measures import AUC, AveragePrecision
from convexmetric.regularizers import SquaredFrobenius
from convexmetric.risks import CutDual, JoinedDual, LabelledPairRisk, RankingRisk, SeparableRisk, SoftmaxRisk, Worst
from convexmetric.risks.labelled_pairs import PairHinge

RNG = np.random.default_rng(0)
CONE, Y = PSDCone(3), np.arange(7) % 3
X = RNG.standard_normal((7, 3)) + 0.5 * Y[:, None]
RANKINGS = Rankings(X, X[:5] + 0.1, Relevance.between(Y[:5], Y), CONE)
TRIPLETS = SeparableRisk(Triplets(X, random_triplets(RNG, 7, 9), CONE), Hinge(0.7))
RISKS = {
    "map": RankingRisk(RANKINGS, AveragePrecision(), 5.0),
    "weighted auc": RankingRisk(RANKINGS, AUC(), 5.0, np.array([1.0, 0.5, 2.0, 0.0, 1.5])),
    "choices": SoftmaxRisk(RANKINGS, 1.0, 0.5),
    "triplets": TRIPLETS,
    "sum": RankingRisk(RANKINGS, AUC(), 5.0) + TRIPLETS,
    "all pairs": LabelledPairRisk(X, Y, PairHinge(0.3, 0.2, True), PairHinge(0.4, 1.5, False), CONE),
}
SHARES = (0.0, 0.3, 0.5, 0.77, 1.0)


def largest(values, share):
    """The maximum over vertices of the weights: the cap for some parts, what is left for another."""
    n = len(values)
    k = max(1.0, share * n)
    full = int(k)
    sums = (
        sum(values[list(some)]) + (k - full) * (max(np.delete(values, some)) if full < n else 0.0)
        for some in combinations(range(n), full)
    )
    return n / k * max(sums)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", ["map", "weighted auc", "choices", "triplets"])
def test_the_value_is_the_largest_weighted_sum(name, share):
    inner = RISKS[name]
    risk = Worst(inner, share)
    for _ in range(3):
        M = random_metric(RNG, CONE)
        values = inner.part_values(M)
        assert risk.value(M) == pytest.approx(largest(values, share), rel=1e-12)
        w = risk.weights(values)
        assert w.sum() == pytest.approx(inner.parts, rel=1e-12)
        assert 0.0 <= w.min() <= w.max() <= risk.most


def test_no_more_than_one_part_has_what_the_worst_leave():
    for n in range(1, 60):
        points = np.arange(n + 2.0)[:, None]
        triplets = np.column_stack([np.zeros(n, int), np.ones(n, int), np.arange(2, n + 2)])
        inner = SeparableRisk(Triplets(points, triplets, PSDCone(1)), Hinge(1.0))
        for share in np.arange(21) / 20:
            risk = Worst(inner, float(share))
            w = risk.weights(RNG.permutation(n).astype(float))
            assert w.sum() == pytest.approx(n, rel=1e-12)
            assert ((w > 0.0) & (w < risk.most)).sum() <= 1


@pytest.mark.parametrize("name", RISKS)
def test_all_parts_are_the_risk_and_none_is_the_largest(name):
    inner, M = RISKS[name], random_metric(RNG, CONE)
    assert Worst(inner, 1.0).value(M) == pytest.approx(inner.value(M), rel=1e-12)
    assert Worst(inner, 0.0).value(M) == pytest.approx(inner.parts * inner.part_values(M).max(), rel=1e-12)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", RISKS)
def test_planes_support_the_risk(name, share):
    risk = Worst(RISKS[name], share)
    for _ in range(5):
        M, N = random_metric(RNG, CONE), random_metric(RNG, CONE)
        cut = risk.separate(M, np.array([2]))
        assert cut.values.shape == (3,)
        assert not cut.normals[:2].any()
        for at, tight in ((M, True), (N, False)):
            plane = cut.offsets[2] - cut.normals[2] @ CONE.coordinates(at)
            assert plane == pytest.approx(risk.value(at), rel=1e-9) if tight else plane <= risk.value(at) + 1e-9


def stated_by_hand(risk, M):
    """R(M) of hinges of all rankings, or softmax, query by query, in plain CVXPY."""
    inner, each = risk.risk, []
    for q in range(inner.parts):
        x, z = RANKINGS.expressions(q, M)
        if isinstance(inner, SoftmaxRisk):
            each.append(cp.log_sum_exp(-cp.hstack([x, z]) / 0.5) + cp.sum(x) / (0.5 * x.size))
            continue
        some = RankingRisk(RANKINGS, inner.measure, 1.0)
        rankings, share = some.every_ranking(q), inner._share[q]
        order = np.r_[RANKINGS.relevance.of(q)[0], RANKINGS.relevance.of(q)[1]]
        # One row for every ranking: CVXPY takes much longer over as many scalars.
        losses, coefficients = np.array([one.loss for one in rankings]), np.zeros((len(rankings), len(order)))
        for row, one in zip(coefficients, rankings, strict=True):
            c = dict(zip(one.order, one.coefficients, strict=True))
            row[:] = [c[i] for i in order]
        each.append(share * cp.max(cp.pos(losses - coefficients @ cp.hstack([x, z]))))
    # The sum of the k largest is a function of CVXPY for any k.
    k = max(1.0, risk.share * inner.parts)
    return inner.parts / k * cp.sum_largest(cp.hstack(each), k)


@pytest.mark.parametrize(("name", "share"), some(product(["map", "weighted auc", "choices"], [0.0, 0.4, 0.5, 1.0]), 5))
def test_optima_are_those_of_cvxpy(name, share):
    risk = Worst(RISKS[name], share)
    problem = cm.MetricProblem(risk, SquaredFrobenius(0.4))
    solution = cm.solve(problem, tol=1e-7)
    M = cp.Variable((3, 3), PSD=True)
    program = cp.Problem(cp.Minimize(stated_by_hand(risk, M) + 0.2 * cp.sum_squares(M)))
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        program.solve(solver="CLARABEL")
    assert solution.gap <= 1e-7
    assert program.value == pytest.approx(solution.upper_bound, rel=1e-5)
    conic = cm.solve(problem, solver="clarabel")
    assert conic.upper_bound == pytest.approx(solution.upper_bound, rel=1e-6)
    assert conic.gap <= 1e-5


@pytest.mark.parametrize("name", RISKS)
def test_dual_points_are_bounds_at_random_metrics(name):
    for share in (0.0, 0.4, 1.0):
        risk = Worst(RISKS[name], share)
        for _ in range(3):
            M = np.array([random_metric(RNG, CONE) for _ in range(3)])
            point = risk.minorant(CutDual(M, RNG.random((3, 2)), np.array([1])))
            N = random_metric(RNG, CONE)
            assert point.value - CONE.inner(point.S, N) <= risk.value(N) + 1e-9


def test_dual_points_of_every_part_are_bounds_whatever_the_weights():
    inner = RISKS["map"]
    risk, duals = Worst(inner, 0.5), [inner.subset(np.array([q])).own_duals(CONE.identity())[0] for q in range(5)]
    for w in (2.0 * RNG.random(5), np.zeros(5), np.full(5, 1e300), -np.ones(5), np.array([2.0, 2.0, 1.0, 0.0, 0.0])):
        point = risk.minorant(JoinedDual((w, *duals)))
        for _ in range(3):
            N = random_metric(RNG, CONE)
            assert point.value - CONE.inner(point.S, N) <= risk.value(N) + 1e-9
    assert risk.minorant(JoinedDual((np.array([np.nan, 0, 0, 0, 0]), *duals))) is None
    for wrong in (JoinedDual(tuple(duals)), JoinedDual((np.zeros(4), *duals)), JoinedDual((duals[0], *duals))):
        with pytest.raises(DualError):
            risk.minorant(wrong)
    with pytest.raises(InputError, match="solve by cutting planes"):
        risk.hints(JoinedDual((np.zeros(5), *duals)))


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name", ["map", "weighted auc", "choices", "triplets"])
def test_bounds_are_proven(name, share, tmp_path):
    problem, path = cm.MetricProblem(Worst(RISKS[name], share), SquaredFrobenius(0.4)), tmp_path / "c.npz"
    solution = cm.solve(problem, tol=1e-7)
    written = cm.write_certificate(path, problem, solution=solution)
    assert written.gap <= 2e-7
    assert cm.verify(path).accepted
    # Whoever raises the weights of parts proves nothing.
    document, arrays = kernel.contents(path)
    for change in (2, -1):
        forged = arrays | {"parts_weights": arrays["parts_weights"].astype(np.int64) * change}
        document["sha256"]["parts_weights"] = kernel.digest(forged["parts_weights"])
        with suppress(kernel.CertificateError):
            assert kernel.prove([kernel.files.checked(document, forged)]).lower is None


def test_worst_parts_are_one_row_of_a_certificate(tmp_path):
    solution = cm.solve(cm.MetricProblem(Worst(TRIPLETS, 0.5), SquaredFrobenius(0.4)))
    with pytest.raises(InputError, match="one row, which is not split"):
        cm.write_certificate(tmp_path / "c.npz", solution, parts=2)
    # Beside another risk they are in one of the parts.
    solution = cm.solve(cm.MetricProblem(Worst(TRIPLETS, 0.5) + RISKS["map"], SquaredFrobenius(0.4)))
    cm.write_certificate(tmp_path / "c.npz", solution, parts=3)
    paths = [tmp_path / f"c-{k}.npz" for k in (1, 2, 3)]
    assert cm.verify(*paths).accepted
    assert not cm.verify(*paths[1:]).accepted


def test_the_worst_comparison_is_that_of_the_worst_part():
    risk, M = Worst(RISKS["map"], 0.4), random_metric(RNG, CONE)
    worst = np.array([risk.risk.part_values(M).argmax()])
    (found,), (own,) = risk.worst_comparisons(np.array([0]), M), risk.risk.worst_comparisons(worst, M)
    assert found == replace(own, loss=2.5 * own.loss)
    assert risk.worst_comparisons(np.array([], dtype=int), M) == []
    assert (risk.parts, risk.part_kind) == (1, "worst query")


def test_what_has_no_worst_parts():
    with pytest.raises(InputError, match="may be infinite"):
        Worst(SeparableRisk(TRIPLETS.comparisons, Hinge(np.inf)), 0.5)
    for share in (-0.1, 1.1, np.nan, "a", None):
        with pytest.raises(InputError, match="share must be a number from 0 to 1"):
            Worst(TRIPLETS, share)
    with pytest.raises(InputError, match="one by one"):
        Worst(TRIPLETS, 0.5).statement(cp.Variable((3, 3)))
    with pytest.raises(InputError, match="sum of risks"):
        Worst(RISKS["sum"], 0.5).described()


def test_quadruplets_are_differences_of_distances():
    quadruplets = np.array([[0, 1, 2, 3], [4, 0, 4, 6], [5, 6, 1, 0]])
    for cone in (CONE, NonnegativeDiagonal(3)):
        compared, M, u = Quadruplets(X, quadruplets, cone), random_metric(RNG, cone), RNG.standard_normal(3)
        d = {(i, j): float(cone.quadratic_forms((X[i] - X[j])[None], M)[0]) for i in range(7) for j in range(7)}
        s = np.array([d[c, e] - d[a, b] for a, b, c, e in quadruplets])
        np.testing.assert_allclose(compared.forward(M), s, rtol=1e-12)
        np.testing.assert_allclose(compared.rows @ cone.coordinates(M), s, rtol=1e-9)
        assert cone.inner(compared.adjoint(u), M) == pytest.approx(u @ s)
        np.testing.assert_allclose(compared.expression(cp.Constant(M)).value, s, rtol=1e-9)
    same = Quadruplets(X, [[4, 0, 4, 6]], CONE), Triplets(X, [[4, 0, 6]], CONE)
    np.testing.assert_allclose(*(one.forward(random_metric(np.random.default_rng(1), CONE)) for one in same))
    risk = SeparableRisk(compared, Hinge(1.0))
    assert (risk.part_kind, risk.lipschitz) == ("quadruplet", 6.0)
    for wrong in ([[0, 1, 2]], [[0, 0, 1, 2]], [[0, 1, 2, 9]], np.empty((0, 4), dtype=int)):
        with pytest.raises(InputError):
            Quadruplets(X, wrong, CONE)
