"""Random instances of every kind of problem, and references that share no code with the package's solvers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

import convexmetric as cm
from convexmetric.comparisons import Rankings, Relevance, Triplets
from convexmetric.cones import BlockDiagonal, Cone, NonnegativeDiagonal, PSDCone
from convexmetric.losses import Hinge, Logistic
from convexmetric.measures import AUC
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import SquaredFrobenius, Trace
from convexmetric.risks import (
    LabelledPairRisk,
    LogisticRankingRisk,
    PairwiseRisk,
    RankingRisk,
    SeparableRisk,
    SmoothSeparableRisk,
)

#: A metric of rank two, as a prior.
SINGULAR = np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])


def random_triplets(rng: np.random.Generator, n: int, count: int) -> np.ndarray:
    """Rows of three different indices."""
    return np.array([rng.choice(n, 3, replace=False) for _ in range(count)])


def consistent(features: Any, triplets: np.ndarray, w: np.ndarray, margin: float = 0.0) -> np.ndarray:
    """The triplets turned so that the diagonal metric ``w`` satisfies them, by more than ``margin``."""
    X = features.toarray() if sp.issparse(features) else np.asarray(features)
    i, j, k = triplets.T
    s = ((X[i] - X[k]) ** 2 - (X[i] - X[j]) ** 2) @ w
    turned = np.where((s < 0)[:, None], triplets[:, [0, 2, 1]], triplets)
    return turned[np.abs(s) > margin]


def random_metric(rng: np.random.Generator, cone: Cone, scale: float = 1.0) -> np.ndarray:
    """An element of the cone, of full rank or of low rank."""
    if isinstance(cone, NonnegativeDiagonal):
        return scale * rng.random(cone.d) * (rng.random(cone.d) < 0.8)
    factor = rng.standard_normal((cone.d, int(rng.integers(1, cone.d + 1))))
    return cone.outer_sum(factor.T, np.full(factor.shape[1], scale / cone.d))


def two_blocks(d: int) -> BlockDiagonal:
    """The cone of two blocks, the first smaller by one if d is odd; of one if d is 1."""
    return BlockDiagonal([d // 2, d - d // 2] if d > 1 else [1])


def random_element(rng: np.random.Generator, cone: Cone) -> np.ndarray:
    """An element of the space, in the cone or not."""
    return cone.from_coordinates(rng.standard_normal(cone.size))


def random_lists(rng: np.random.Generator, n_queries: int, n: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Relevant and irrelevant rows per query, of uneven lengths, leaving some rows out."""
    relevant, irrelevant = [], []
    for _ in range(n_queries):
        order = rng.permutation(n)
        p, m = rng.integers(1, 4), rng.integers(1, 5)
        relevant.append(order[:p])
        irrelevant.append(order[p : p + m])
    return relevant, irrelevant


def as_matrix(lists: list[np.ndarray], n: int) -> np.ndarray:
    """The same as a 0/1 matrix."""
    matrix = np.zeros((len(lists), n), dtype=int)
    for row, columns in zip(matrix, lists, strict=True):
        row[columns] = 1
    return matrix


def _labels(rng: np.random.Generator) -> MetricProblem:
    y = np.repeat([0, 1, 2], 4)
    return cm.RankingProblem.from_labels(rng.standard_normal((12, 3)) + 0.5 * y[:, None], y, C=20.0)


def _lists(form: str) -> Callable[[np.random.Generator], MetricProblem]:
    def make(rng: np.random.Generator) -> MetricProblem:
        X, queries = rng.standard_normal((9, 3)), rng.standard_normal((4, 3))
        relevant, irrelevant = random_lists(rng, 4, 9)
        given: Any = (relevant, irrelevant)
        if form != "lists":
            given = as_matrix(relevant, 9), as_matrix(irrelevant, 9)
        if form == "sparse":
            given = tuple(sp.coo_array(matrix) for matrix in given)
        return cm.RankingProblem(X, *given, queries=queries, C=8.0)

    return make


def _ranking_diagonal(rng: np.random.Generator) -> MetricProblem:
    """A ranking risk on diagonal metrics with the squared norm: a variant of the paper, not a named method."""
    X, y = rng.standard_normal((12, 3)), np.repeat([0, 1, 2], 4)
    rankings = Rankings(X + 0.5 * y[:, None], X, Relevance.from_labels(y), NonnegativeDiagonal(3))
    return MetricProblem(RankingRisk(rankings, AUC(), 20.0), SquaredFrobenius(0.7))


def _relative(kind: str, C: float) -> Callable[[np.random.Generator], MetricProblem]:
    def make(rng: np.random.Generator) -> MetricProblem:
        n, d = 12, 4
        X: Any = rng.standard_normal((n, d))
        arguments: dict[str, Any] = {}
        features: Any = X
        if kind == "sparse":
            X = X * (rng.random((n, d)) < 0.6)
            features = X
            X = sp.csc_array(X)
        elif kind == "A":
            arguments["A"] = rng.standard_normal((d, 5))
            features = X @ arguments["A"]
        elif kind != "identity":
            features = X @ X.T if kind == "linear" else rbf_kernel(X, gamma=1.0 / d)
            arguments["kernel"] = {"rbf": "rbf", "linear": "linear", "callable": rbf_kernel}.get(kind, features)
        triplets = random_triplets(rng, n, 14)
        if np.isinf(C):
            spread = features.toarray() if sp.issparse(features) else np.asarray(features)
            triplets = consistent(features, triplets, rng.random(spread.shape[1]), 0.05 * spread.var())
        return cm.RelativeComparisonProblem(X, triplets, C=C, **arguments)

    return make


def _triplets(form: str, diagonal: bool) -> Callable[[np.random.Generator], MetricProblem]:
    """Paper 3: a list with repeated triplets, neighbours of labels, all triplets of labels, a graph."""

    def make(rng: np.random.Generator) -> MetricProblem:
        X, y = rng.standard_normal((11, 3)), np.arange(11) % 3
        options: dict[str, Any] = {"reg": 0.2, "margin": 0.9, "diagonal": diagonal}
        if form == "list":
            triplets = random_triplets(rng, 11, 14)
            return cm.TripletProblem(X, np.concatenate([triplets, triplets[:3]]), intra=0.1, inter=0.05, **options)
        if form == "neighbours":
            return cm.TripletProblem.from_labels(X + y[:, None], y, 2, 3, intra=0.3, **options)
        if form == "labels":
            return cm.TripletProblem.from_labels(X + y[:, None], y, None, None, **options)
        links = rng.random((11, 11)) < 0.2
        links[0, 1] = True
        projection = cm.features.make_projection("gaussian", X, 2, rng) if form == "projected graph" else None
        points = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0)) if diagonal or projection else X
        return cm.TripletProblem.from_graph(points, links, inter=0.1, projection=projection, **options)

    return make


def _pairs(
    listed: bool, norm: str, kernel: str | None, margin: Any, prior: Any = None
) -> Callable[[np.random.Generator], MetricProblem]:
    """Paper 4: a list with repeated pairs, or all pairs of labels; perhaps near a prior."""

    def make(rng: np.random.Generator) -> MetricProblem:
        n, y = 9, np.arange(9) % 3
        X = rng.standard_normal((n, 3)) + 0.7 * y[:, None]
        options: dict[str, Any] = {"reg": 0.4, "margin": margin, "norm": norm, "kernel": kernel, "prior": prior}
        if not listed:
            return cm.PairMarginProblem.from_labels(X, y, **options)
        pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(14)])
        r = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
        return cm.PairMarginProblem(X, np.concatenate([pairs, pairs[:3, ::-1]]), np.concatenate([r, r[:3]]), **options)

    return make


def _similarity(loss: str, norm: str) -> Callable[[np.random.Generator], MetricProblem]:
    """Paper 4, section 4.1: distances near given values."""

    def make(rng: np.random.Generator) -> MetricProblem:
        X = rng.standard_normal((9, 3))
        pairs = np.array([rng.choice(9, 2, replace=False) for _ in range(14)])
        return cm.SimilarityRegressionProblem(X, pairs, rng.random(14), reg=0.2, loss=loss, y0=0.3, norm=norm)

    return make


def _later_paper(cone: type[Cone], regularizer: Any, linear: bool) -> Callable[[np.random.Generator], MetricProblem]:
    """A row of a paper that has no method file: triplets, hinge, any cone and penalty, a linear term."""

    def make(rng: np.random.Generator) -> MetricProblem:
        n, d = 10, 4
        K = cone(d)
        X = rng.standard_normal((n, d))
        risk = SeparableRisk(Triplets(X, random_triplets(rng, n, 16), K), Hinge(1.5, margin=0.8))
        G = 0.3 * random_metric(rng, K) if linear else None
        return MetricProblem(risk, regularizer, G)

    return make


def _cross_modal(form: str) -> Callable[[np.random.Generator], MetricProblem]:
    """Paper 5: labels with and without representatives, several labels an object, a relevance matrix."""

    def make(rng: np.random.Generator) -> MetricProblem:
        X, Y = rng.standard_normal((8, 2)), rng.standard_normal((7, 2))
        labels_x, labels_y = np.arange(8) % 3, np.arange(7) % 3
        options: dict[str, Any] = {"n_neighbors": 2, "random_state": rng}
        if form == "relevance":
            relevance = rng.random((8, 7)) < 0.4
            relevance[:, 0], relevance[:, 1] = True, False
            return cm.CrossModalProblem.from_relevance(X, Y, relevance, 1.0, 0.1, n_clusters=2, **options)
        if form == "several labels":
            indicators = np.eye(3)[labels_y]
            indicators[2, 1] = 1.0
            return cm.CrossModalProblem(X, Y, np.eye(3)[labels_x], indicators, 1.0, 0.1, n_clusters=1, **options)
        n_clusters = 2 if form == "representatives" else None
        return cm.CrossModalProblem(X, Y, labels_x, labels_y, 1.0, 0.1, n_clusters=n_clusters, **options)

    return make


def _large_margin(diagonal: bool, **options: Any) -> Callable[[np.random.Generator], MetricProblem]:
    """Large margin nearest neighbours of three classes that overlap."""

    def make(rng: np.random.Generator) -> MetricProblem:
        y = np.arange(15) % 3
        return cm.LargeMarginProblem(rng.standard_normal((15, 3)) + 0.5 * y[:, None], y, 2, 0.6, diagonal, **options)

    return make


def _weighted(form: str) -> Callable[[np.random.Generator], MetricProblem]:
    """Problems whose queries, points, triplets or pairs have weights, one of them zero."""

    def make(rng: np.random.Generator) -> MetricProblem:
        y = np.arange(12) % 3
        X = rng.standard_normal((12, 3)) + 0.5 * y[:, None]
        w = 0.5 + 2.0 * rng.random(12)
        w[4] = 0.0
        triplets, pairs = random_triplets(rng, 12, 12), np.array([rng.choice(12, 2, replace=False) for _ in range(12)])
        if form.startswith("queries"):
            return cm.RankingProblem.from_labels(X, y, C=8.0, diagonal="diagonal" in form, query_weights=w)
        if form.startswith("targets"):
            return cm.LargeMarginProblem(X, y, 2, 0.6, "diagonal" in form, weights=w)
        if form == "relative":
            return cm.RelativeComparisonProblem(X, triplets, 1.5, weights=w)
        if form == "triplets":
            repeated, weights = np.concatenate([triplets, triplets[:3]]), np.r_[w, 1.0, 2.0, 3.0]
            return cm.TripletProblem(X, repeated, reg=0.3, weights=weights)
        if form == "neighbours":
            return cm.TripletProblem.from_labels(X, y, 2, 3, reg=0.2, diagonal=True, weights=w)
        if form == "similarity":
            return cm.SimilarityRegressionProblem(X, pairs, rng.random(12), reg=0.2, weights=w)
        signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
        return cm.PairMarginProblem(X, pairs, signs, reg=0.4, margin=(0.5, 1.5), norm=form, weights=w)

    return make


def _smooth(cone: type[Cone], regularizer: Any, linear: bool) -> Callable[[np.random.Generator], MetricProblem]:
    """A logistic loss of listed triplets."""

    def make(rng: np.random.Generator) -> MetricProblem:
        K = cone(3)
        comparisons = Triplets(rng.standard_normal((9, 3)), random_triplets(rng, 9, 14), K)
        G = 0.2 * random_metric(rng, K) if linear else None
        return MetricProblem(SmoothSeparableRisk(comparisons, Logistic(1.3)), regularizer, G)

    return make


RANKING: dict[str, Callable[[np.random.Generator], MetricProblem]] = {
    "ranking from labels": _labels,
    "ranking from lists": _lists("lists"),
    "ranking from 0/1 matrices": _lists("dense"),
    "ranking from sparse matrices": _lists("sparse"),
}
RELATIVE_KINDS = ("identity", "sparse", "A", "rbf", "linear", "callable", "precomputed")
SOFT = {f"relative, {kind}, soft": _relative(kind, 1.0) for kind in RELATIVE_KINDS}
HARD = {f"relative, {kind}, hard": _relative(kind, np.inf) for kind in RELATIVE_KINDS}
TRIPLETS = {
    f"triplets, {form}{', diagonal' if diagonal else ''}": _triplets(form, diagonal)
    for form in ("list", "neighbours", "labels", "graph", "projected graph")
    for diagonal in (False, True)
}
CROSS_MODAL = {
    f"cross-modal, {form}": _cross_modal(form)
    for form in ("representatives", "all objects", "several labels", "relevance")
}
PAIRS = {
    f"pairs, {'listed' if listed else 'all'}, {norm}, {kernel or 'features'}, margin {margin}": _pairs(
        listed, norm, kernel, margin
    )
    for listed in (True, False)
    for norm in ("frobenius", "trace")
    for kernel in (None, "unit-rbf")
    for margin in (1.0, (0.5, 1.5))
}
PAIRS |= {f"weighted, {norm}": _weighted(norm) for norm in ("frobenius", "trace")}
PAIRS |= {
    "pairs, listed, near the identity": _pairs(True, "frobenius", None, (0.5, 1.5), "identity"),
    "pairs, all, near a metric": _pairs(False, "frobenius", None, 1.0, np.diag([2.0, 1.0, 0.5])),
    "pairs, all, near the identity of a kernel": _pairs(False, "frobenius", "unit-rbf", 1.0, "identity"),
}
SIMILARITY = {
    f"similarity, {loss}, {norm}": _similarity(loss, norm)
    for loss in ("squared", "absolute", "weighted")
    for norm in ("frobenius", "trace")
} | {"weighted, similarity": _weighted("similarity")}
LARGE_MARGIN = {
    f"large margin{', diagonal' if diagonal else ''}": _large_margin(diagonal) for diagonal in (False, True)
}
LARGE_MARGIN |= {
    "large margin, near the identity": _large_margin(False, prior="identity", reg=0.3),
    "large margin, near a metric": _large_margin(False, prior=SINGULAR, ridge=0.1),
    "large margin, diagonal, near weights": _large_margin(True, prior=SINGULAR.diagonal(), weights=np.arange(15)),
}
WEIGHTED = {
    f"weighted, {form}": _weighted(form)
    for form in ("queries", "queries, diagonal", "targets", "targets, diagonal", "relative", "triplets", "neighbours")
}
METHODS = WEIGHTED | RANKING | SOFT | HARD | TRIPLETS | PAIRS | SIMILARITY | CROSS_MODAL | LARGE_MARGIN

#: Problems with a logistic loss.
SMOOTH = {
    **CROSS_MODAL,
    "psd logistic, trace": _smooth(PSDCone, Trace(1.0), False),
    "psd logistic, trace, G": _smooth(PSDCone, Trace(1.0), True),
    "psd logistic, squared Frobenius, G": _smooth(PSDCone, SquaredFrobenius(0.5), True),
    "diagonal logistic, trace": _smooth(NonnegativeDiagonal, Trace(1.0), False),
    "diagonal logistic, squared norm": _smooth(NonnegativeDiagonal, SquaredFrobenius(0.5), False),
}
LATER_PAPERS = {
    "psd triplets, squared Frobenius": _later_paper(PSDCone, SquaredFrobenius(0.5), False),
    "psd triplets, squared Frobenius, G": _later_paper(PSDCone, SquaredFrobenius(0.5), True),
    "psd triplets, trace": _later_paper(PSDCone, Trace(1.2), False),
    "psd triplets, trace, G": _later_paper(PSDCone, Trace(1.2), True),
    "diagonal triplets, trace": _later_paper(NonnegativeDiagonal, Trace(0.8), False),
    "diagonal triplets, trace, G": _later_paper(NonnegativeDiagonal, Trace(0.8), True),
    "ranking, diagonal, squared norm": _ranking_diagonal,
    **{name: make for name, make in SMOOTH.items() if name not in CROSS_MODAL},
}
EVERYTHING = METHODS | LATER_PAPERS

_cache: dict[tuple[str, int], tuple[MetricProblem, float]] = {}


def instance(name: str, seed: int = 0) -> MetricProblem:
    """An instance by name."""
    return EVERYTHING[name](np.random.default_rng(seed))


def instance_with_optimum(name: str, seed: int = 0) -> tuple[MetricProblem, float]:
    """An instance with its optimal value by CVXPY and CLARABEL."""
    if (name, seed) not in _cache:
        problem = instance(name, seed)
        _cache[name, seed] = problem, clarabel(problem)
    return _cache[name, seed]


def clarabel(problem: MetricProblem) -> float:
    """Optimal value of the compiled statement; accurate to about 1e-8 relative."""
    statement = problem.statement().problem
    with warnings.catch_warnings():
        # It may end at 1e-9 where 1e-11 was asked for, which is enough here.
        warnings.simplefilter("ignore", UserWarning)
        statement.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11, max_iter=500)
    assert statement.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)
    return float(statement.value)


def multipliers(problem: MetricProblem) -> int:
    """Length of the problem's multiplier vector."""
    risk = problem.risk
    if isinstance(risk, SeparableRisk):
        return risk.parts
    if isinstance(risk, (PairwiseRisk, LogisticRankingRisk)):
        return int(risk.pairs.sum())
    if isinstance(risk, LabelledPairRisk):
        return risk.count
    assert isinstance(risk, RankingRisk)
    relevance = risk.rankings.relevance
    return int((relevance.n_relevant * relevance.n_irrelevant).sum())


def random_cut_dual(rng: np.random.Generator, problem: MetricProblem, scale: float = 1.0) -> cm.risks.CutDual:
    """Weighted cuts at random metrics, the weights neither clipped nor normalised."""
    parts, count = problem.risk.parts, int(rng.integers(1, 5))
    groups = rng.integers(0, min(3, parts), size=parts)
    witnesses = np.array([random_metric(rng, problem.cone, scale) for _ in range(count)])
    return cm.risks.CutDual(witnesses, rng.standard_normal((count, int(groups.max()) + 1)), groups)


def as_given(problem, M):
    """The problem's variable as a user would give the metric."""
    return problem.full_matrix(M) if problem.in_other_coordinates else M
