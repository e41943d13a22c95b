"""Weights of queries, points, triplets and pairs: against programs written out here, and against repetition."""

import cvxpy as cp
import numpy as np
import pytest
from catalogue import instance, names
from samples import random_triplets, some

import convexmetric as cm
from convexmetric.errors import InputError

RNG = np.random.default_rng(11)
Y = np.arange(12) % 3
X = RNG.standard_normal((12, 3)) + 0.5 * Y[:, None]
W = np.array([1.0, 2.0, 0.0, 1.0, 3.0, 1.0, 1.0, 2.0, 1.0, 0.0, 1.0, 4.0])
TRIPLETS = random_triplets(RNG, 12, 12)
PAIRS = np.array([RNG.choice(12, 2, replace=False) for _ in range(12)])
SIGNS = np.where(Y[PAIRS[:, 0]] == Y[PAIRS[:, 1]], 1, -1)
VALUES = RNG.random(12)
RELEVANT = [np.flatnonzero((Y[q] == Y) & (np.arange(12) != q)) for q in range(12)]
IRRELEVANT = [np.flatnonzero(Y[q] != Y) for q in range(12)]

MAKERS = {
    "queries": lambda rows, **given: cm.RankingProblem(
        X, [RELEVANT[q] for q in rows], irrelevant=[IRRELEVANT[q] for q in rows], queries=X[rows], C=6.0, **given
    ),
    "relative": lambda rows, **given: cm.RelativeComparisonProblem(X, TRIPLETS[rows], C=1.5, **given),
    "triplets": lambda rows, **given: cm.TripletProblem(X, TRIPLETS[rows], reg=0.3, **given),
    "pairs": lambda rows, **given: cm.PairMarginProblem(X, PAIRS[rows], SIGNS[rows], reg=0.4, **given),
    "similarity": lambda rows, **given: cm.SimilarityRegressionProblem(X, PAIRS[rows], VALUES[rows], reg=0.2, **given),
}
KEYWORD = {"queries": "query_weights"}
ALL = np.arange(12)


def weighted(name, weights, **given):
    return MAKERS[name](ALL, **{KEYWORD.get(name, "weights"): weights}, **given)


@pytest.mark.parametrize("name", MAKERS)
def test_whole_weights_are_repetition_and_zero_leaves_out(name):
    one, other = weighted(name, W), MAKERS[name](np.repeat(ALL, W.astype(int)))
    rng = np.random.default_rng(0)
    for _ in range(5):
        factor = rng.standard_normal((3, 3))
        M = rng.random(3) if one.cone.diagonal else factor @ factor.T
        assert one.value(M) == pytest.approx(other.value(M), rel=1e-12)
    assert one.risk.parts == 10
    assert cm.solve(one, tol=1e-7).upper_bound == pytest.approx(cm.solve(other, tol=1e-7).upper_bound, rel=3e-7)


@pytest.mark.parametrize("measure", ["map", "mrr", "ndcg", "precision", "knn"])
def test_a_query_of_weight_two_is_there_twice_whatever_the_measure(measure):
    one, other = (
        maker(measure=measure, k=3 if measure in ("ndcg", "precision", "knn") else None)
        for maker in (
            lambda **given: weighted("queries", W, **given),
            lambda **given: MAKERS["queries"](REPEATED, **given),
        )
    )
    rng = np.random.default_rng(1)
    for scale in (0.01, 0.1, 1.0):
        factor = rng.standard_normal((3, 3))
        M = scale * factor @ factor.T
        assert one.value(M) == pytest.approx(other.value(M), rel=1e-12)
        groups = np.zeros(10, dtype=np.int64)
        one_cut = one.risk.separate(M, groups)
        other_cut = other.risk.separate(M, np.zeros(len(REPEATED), dtype=np.int64))
        np.testing.assert_allclose(one_cut.normals, other_cut.normals, rtol=1e-10, atol=1e-12)
        assert one_cut.offsets[0] == pytest.approx(other_cut.offsets[0], rel=1e-12)
    assert cm.solve(one).upper_bound == pytest.approx(cm.solve(other).upper_bound, rel=3e-6)


REPEATED = np.repeat(ALL, W.astype(int))


def program(name, weights):
    """The paper's program with weights, written out in CVXPY from the points alone."""
    M = cp.Variable(3, nonneg=True) if name == "relative" else cp.Variable((3, 3), PSD=True)

    def d(i, j):
        v = X[i] - X[j]
        return (v * v) @ M if name == "relative" else cp.sum(cp.multiply(np.outer(v, v), M))

    if name == "queries":
        losses = []
        for q, w in enumerate(weights):
            hinges = [cp.pos(1 - 2 * (d(q, j) - d(q, i))) for i in RELEVANT[q] for j in IRRELEVANT[q]]
            losses.append(w / weights.sum() * sum(hinges) / len(hinges))
        return cp.trace(M) + 6.0 * sum(losses)
    if name in ("relative", "triplets"):
        hinges = [w * cp.pos(1 - d(i, k) + d(i, j)) for w, (i, j, k) in zip(weights, TRIPLETS, strict=True)]
        if name == "relative":
            return 0.5 * cp.sum_squares(M) + 1.5 * sum(hinges)
        return 0.15 * cp.sum_squares(M) + sum(hinges) / weights.sum()
    distances = [d(i, j) for i, j in PAIRS]
    if name == "pairs":
        losses = [cp.pos(1 - r * (1 - t)) for r, t in zip(SIGNS, distances, strict=True)]
    else:
        losses = [cp.square(y - t) for y, t in zip(VALUES, distances, strict=True)]
    mean = sum(w * loss for w, loss in zip(weights, losses, strict=True)) / weights.sum()
    return mean + (0.4 if name == "pairs" else 0.2) / np.sqrt(weights.sum()) * cp.norm(M, "fro")


@pytest.mark.parametrize("name", MAKERS)
def test_the_optimum_is_that_of_the_program_written_out(name):
    weights = 0.3 + np.random.default_rng(2).random(12)
    stated = cp.Problem(cp.Minimize(program(name, weights)))
    stated.solve(solver=cp.CLARABEL)
    solution = cm.solve(weighted(name, weights), tol=1e-7)
    assert solution.upper_bound == pytest.approx(stated.value, rel=1e-6)
    unweighted = cm.solve(MAKERS[name](ALL), tol=1e-7)
    assert abs(unweighted.upper_bound - solution.upper_bound) > 1e-4


@pytest.mark.parametrize("diagonal", [False, True])
def test_large_margins_with_weights_are_the_program_written_out(diagonal):
    weights = np.where(W == 0.0, 0.0, W + 0.25)
    problem = cm.LargeMarginProblem(X, Y, n_neighbors=2, push=0.6, diagonal=diagonal, weights=weights)
    M = cp.Variable(3, nonneg=True) if diagonal else cp.Variable((3, 3), PSD=True)
    outer = np.array([[np.outer(a - b, a - b) for b in X] for a in X])
    squares = np.array([[((a - b) ** 2).sum() for b in X] for a in X])
    total = 0.0
    for i, w in enumerate(weights):
        same = RELEVANT[i][np.argsort(squares[i, RELEVANT[i]], kind="stable")][:2]
        for j in same:
            near = (np.diagonal(outer[i, j]) @ M) if diagonal else cp.sum(cp.multiply(outer[i, j], M))
            total += 0.4 * w * near
            for k in IRRELEVANT[i]:
                far = (np.diagonal(outer[i, k]) @ M) if diagonal else cp.sum(cp.multiply(outer[i, k], M))
                total += 0.6 * w * cp.pos(1 + near - far)
    stated = cp.Problem(cp.Minimize(total))
    stated.solve(solver=cp.CLARABEL)
    assert cm.solve(problem, tol=1e-7).upper_bound == pytest.approx(stated.value, rel=1e-6)
    assert set(problem.targets[:, 0]) == set(np.flatnonzero(weights))


@pytest.mark.parametrize("name", some(names("weighted"), 4))
def test_certificates_of_weighted_problems_are_proven(name, tmp_path):
    problem = instance(name)
    cm.check_problem(problem)
    solution = cm.solve(problem, tol=1e-6)
    verdict = cm.write_certificate(tmp_path / "c.npz", problem, solution=solution)
    # The proven bound may be the better one.
    assert (1.0 - 1e-8) * solution.lower_bound <= float(verdict.lower) <= float(verdict.upper)
    assert float(verdict.upper) == pytest.approx(solution.upper_bound, rel=1e-8)
    assert cm.verify(tmp_path / "c.npz").accepted


def test_certificates_of_weighted_rankings_are_proven(tmp_path):
    for measure in ("map", "ndcg"):
        problem = weighted("queries", W, measure=measure)
        solution = cm.solve(problem)
        verdict = cm.write_certificate(tmp_path / "c.npz", problem, solution=solution)
        assert float(verdict.lower) == pytest.approx(solution.lower_bound, rel=1e-9)
        assert float(verdict.upper) == pytest.approx(solution.upper_bound, rel=1e-9)


@pytest.mark.parametrize("measure", ["auc", "map"])
def test_weighted_rankings_in_a_folder_of_shards_are_the_same_risk(measure, tmp_path):
    problem = weighted("queries", W, measure=measure)
    sharded = cm.shards.write(problem.risk, tmp_path / "shards", shards=3)
    M = np.diag([0.3, 0.2, 0.1])
    assert sharded.value(M) == pytest.approx(problem.risk.value(M), rel=1e-12)


def test_only_ratios_of_query_weights_matter_and_equal_ones_are_none():
    assert weighted("queries", np.full(12, 7.0)).query_weights is None
    one, other = weighted("queries", W), weighted("queries", 1e3 * W)
    np.testing.assert_allclose(one.query_weights, other.query_weights, rtol=1e-15)
    assert one.query_weights.mean() == pytest.approx(1.0)
    assert one.with_queries([0, 1]).query_weights == pytest.approx([2 / 3, 4 / 3])
    assert one.with_C(2.0).value(np.eye(3)) == pytest.approx(3.0 + (one.value(np.eye(3)) - 3.0) / 3.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (-W, r"must be finite and not negative; 0 leaves a \w+ out, \w+\[0\] = -1"),
        (np.where(W > 3, np.nan, W), r"\[11\] = nan"),
        (np.where(W > 3, np.inf, W), r"\[11\] = inf"),
        (W[:-1], r"one number a \w+, shape \(12,\), got \(11,\)"),
        (W[:, None], r"shape \(12,\), got \(12, 1\)"),
        (np.zeros(12), "is zero for every"),
        (list("abcdefghijkl"), "must hold real numbers"),
        (W + 1j, "must hold real numbers"),
    ],
)
@pytest.mark.parametrize("name", [*MAKERS, "targets"])
def test_bad_weights_are_refused_by_name(name, wrong, message):
    with pytest.raises(InputError, match=rf"^{KEYWORD.get(name, 'weights')} .*{message}"):
        cm.LargeMarginProblem(X, Y, weights=wrong) if name == "targets" else weighted(name, wrong)


def test_what_has_no_weights_says_so():
    with pytest.raises(InputError, match=r"hard margins, which have no weights: leave weights .* out"):
        weighted("relative", W).with_C(np.inf)
    with pytest.raises(InputError, match=r"weights .* are of triplets.*leave weights out, or intra and inter at 0"):
        weighted("triplets", W, intra=0.1)
    links = np.zeros((12, 12), dtype=int)
    links[2, 3] = 1
    with pytest.raises(InputError, match="zero for every point that is the i of a triplet"):
        cm.TripletProblem.from_graph(X, links, weights=W)
