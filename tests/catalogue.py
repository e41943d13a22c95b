"""One catalogue of small problems: every method and every block of the package in some of them.

A new paper or block is entered here, and ``certificates/test_contracts.py`` holds it against everything that a problem
promises. ``test_catalogue.py`` fails while a block is missing.

Each entry is a random problem, made from a generator, with tags:

===================  ================================================================================================
method               stated by a class of ``convexmetric.papers``; the paper's letters are in their names
ranking, relative,   the method's family; ``triplets`` also has listed triplets that no method states
triplets, pairs,
similarity, ...
listed               one margin a comparison, whatever the loss
hard                 margins that have to be kept
logistic             a smooth loss of comparisons
choices              a softmax loss of what was chosen among candidates
matrices             similarities under matrices without a cone
kernel               on kernel values
diagonal             weights of features
weighted             parts of unequal weight, some of them zero
measure              rankings scored by a measure that is no mean over pairs, and AUC beside them
barrier              infinite at some metrics, but for hard margins
combination          a loss and a regularizer that no method has together
sum                  a sum of risks
worst                the worst parts of a risk
user terms           constraints and convex terms in CVXPY
user blocks          classes of a user's own
===================  ================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from extensions import RIGHT
from samples import as_matrix, consistent, random_lists, random_metric, random_triplets, stated
from sklearn.metrics.pairwise import rbf_kernel

import convexmetric as cm
from convexmetric.comparisons import (
    Linear,
    PairDistances,
    Quadruplets,
    Rankings,
    Relevance,
    SimilarityTriplets,
    Triplets,
)
from convexmetric.cones import AllMatrices, BlockDiagonal, Cone, NonnegativeDiagonal, PSDCone, Symmetric
from convexmetric.losses import BoxLoss, Hinge, ItakuraSaito, Logistic, NegativeLog, NegativeRoot
from convexmetric.measures import AUC, AveragePrecision
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import (
    Budget,
    Distance,
    EntrywiseL1,
    Frobenius,
    LogDet,
    Regularizer,
    SquaredDistance,
    SquaredFrobenius,
    Trace,
    TraceDistance,
    Zero,
)
from convexmetric.risks import (
    ChoiceRisk,
    LogisticRankingRisk,
    RankingRisk,
    Risk,
    SeparableRisk,
    SmoothSeparableRisk,
    SoftmaxRisk,
    SumRisk,
    Worst,
)

Make = Callable[[np.random.Generator], MetricProblem]

#: A metric of rank two, as a prior.
SINGULAR = np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])


@dataclass(frozen=True)
class Entry:
    """How a problem is made, and what it is."""

    make: Make
    tags: frozenset[str]


#: Every problem by name.
CATALOGUE: dict[str, Entry] = {}


def enter(tags: str, problems: dict[str, Make]) -> None:
    """Add problems under comma-separated tags; words of a name that are tags of their own count, too."""
    for name, make in problems.items():
        assert name not in CATALOGUE
        words = {"hard", "diagonal"} & {*name.split(", "), name.split()[0]}
        CATALOGUE[name] = Entry(make, frozenset({*tags.split(", "), *words}))


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
            return cm.TripletProblem.from_labels(X + y[:, None], y, n_same=2, n_other=3, intra=0.3, **options)
        if form == "labels":
            return cm.TripletProblem.from_labels(X + y[:, None], y, n_same=None, n_other=None, **options)
        links = rng.random((11, 11)) < 0.2
        links[0, 1] = True
        projection = (
            cm.features.make_projection("gaussian", X, 2, random_state=rng) if form == "projected graph" else None
        )
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
        options: dict[str, Any] = {"reg": 0.4, "margin": margin, "penalty": norm, "kernel": kernel, "prior": prior}
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
        return cm.SimilarityRegressionProblem(X, pairs, rng.random(14), reg=0.2, loss=loss, y0=0.3, penalty=norm)

    return make


def _later_paper(cone: type[Cone], regularizer: Any, linear: bool) -> Callable[[np.random.Generator], MetricProblem]:
    """A row of a paper that has no method file: triplets, hinge, any cone and penalty, a linear term."""

    def make(rng: np.random.Generator) -> MetricProblem:
        n, d = 10, 4
        K = cone(d)
        X = rng.standard_normal((n, d))
        risk = SeparableRisk(Triplets(X, random_triplets(rng, n, 16), K), Hinge(1.5, margin=0.8))
        G = 0.3 * random_metric(rng, K) if linear else None
        return MetricProblem(risk, regularizer, G=G)

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
        return cm.LargeMarginProblem(
            rng.standard_normal((15, 3)) + 0.5 * y[:, None], y, n_neighbors=2, push=0.6, diagonal=diagonal, **options
        )

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
            return cm.LargeMarginProblem(X, y, n_neighbors=2, push=0.6, diagonal="diagonal" in form, weights=w)
        if form == "relative":
            return cm.RelativeComparisonProblem(X, triplets, C=1.5, weights=w)
        if form == "triplets":
            repeated, weights = np.concatenate([triplets, triplets[:3]]), np.r_[w, 1.0, 2.0, 3.0]
            return cm.TripletProblem(X, repeated, reg=0.3, weights=weights)
        if form == "neighbours":
            return cm.TripletProblem.from_labels(X, y, n_same=2, n_other=3, reg=0.2, diagonal=True, weights=w)
        if form == "similarity":
            return cm.SimilarityRegressionProblem(X, pairs, rng.random(12), reg=0.2, weights=w)
        signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
        return cm.PairMarginProblem(X, pairs, signs, reg=0.4, margin=(0.5, 1.5), penalty=form, weights=w)

    return make


def _smooth(cone: type[Cone], regularizer: Any, linear: bool) -> Callable[[np.random.Generator], MetricProblem]:
    """A logistic loss of listed triplets."""

    def make(rng: np.random.Generator) -> MetricProblem:
        K = cone(3)
        comparisons = Triplets(rng.standard_normal((9, 3)), random_triplets(rng, 9, 14), K)
        G = 0.2 * random_metric(rng, K) if linear else None
        return MetricProblem(SmoothSeparableRisk(comparisons, Logistic(1.3)), regularizer, G=G)

    return make


def _ranking(measure: str, regularizer: str, diagonal: bool, **options: Any) -> Make:
    """Four queries with lists of one to five items, some items in none."""

    def make(rng: np.random.Generator) -> MetricProblem:
        relevant = [[1, 2], [0, 2, 5], [7], [8, 9]]
        irrelevant = [[3, 4, 10], [4, 6, 11], [12, 13, 14, 15, 16], [17, 18]]
        X = rng.standard_normal((19, 3))
        k = 2 if measure in ("precision", "ndcg", "ndcg-log2", "knn") else None
        queries = X[[1, 0, 7, 8]] + 0.7 * rng.standard_normal((4, 3))
        return cm.RankingProblem(
            X,
            relevant,
            irrelevant=irrelevant,
            queries=queries,
            measure=measure,
            C=30.0,
            k=k,
            penalty=regularizer,
            diagonal=diagonal,
            **options,
        )

    return make


def _many_pairs(rng: np.random.Generator) -> MetricProblem:
    """More pairs of relevant and irrelevant items than are listed at once."""
    y = np.arange(40) % 3
    return cm.RankingProblem.from_labels(rng.standard_normal((40, 4)) + 0.5 * y[:, None], y, C=10.0)


def _logistic_ranking(cone: type[Cone]) -> Make:
    """A logistic loss of the pairs of rankings."""

    def make(rng: np.random.Generator) -> MetricProblem:
        X, y = rng.standard_normal((12, 3)), np.repeat([0, 1, 2], 4)
        rankings = Rankings(X + 0.5 * y[:, None], X, Relevance.from_labels(y), cone(3))
        return MetricProblem(LogisticRankingRisk(rankings, 1.0), SquaredFrobenius(0.1))

    return make


def _information_theoretic(diagonal: bool) -> Make:
    """Davis et al.: pairs of labels, near the identity or near given weights."""

    def make(rng: np.random.Generator) -> MetricProblem:
        y = np.arange(12) % 3
        prior: Any = np.array([0.5, 1.0, 2.0]) if diagonal else "identity"
        X = rng.standard_normal((12, 3)) + 0.5 * y[:, None]
        return cm.InformationTheoreticProblem.from_labels(
            X, y, 20, gamma=0.5, prior=prior, diagonal=diagonal, random_state=rng
        )

    return make


def _choices(kind: str, chosen: int = 1, **options: Any) -> Make:
    """Trials of three objects, or of an anchor and four others."""

    def make(rng: np.random.Generator) -> MetricProblem:
        size = 5 if kind == "anchor" else 3
        trials = np.array([rng.choice(11, size, replace=False) for _ in range(14)])
        X = rng.standard_normal((11, 3))
        return cm.ChoiceProblem(X, trials, kind=kind, chosen=chosen, temperature=0.6, **options)

    return make


def _collapsing(**options: Any) -> Make:
    """Three classes that overlap."""

    def make(rng: np.random.Generator) -> MetricProblem:
        y = np.arange(12) % 3
        X = rng.standard_normal((12, 3)) + 0.5 * y[:, None]
        return cm.papers.CollapsingClassesProblem(X, y, **options)

    return make


def _cone(kind: str, d: int = 4) -> Cone:
    return {"full": PSDCone, "diagonal": NonnegativeDiagonal, "blocks": lambda d: BlockDiagonal([1, d - 1])}[kind](d)


def _combination(risk: str, penalty: str, kind: str) -> Make:
    """Triplets or pairs of points with three labels: any loss, or sum of risks, with any regularizer, over any cone."""

    def make(rng: np.random.Generator) -> MetricProblem:
        cone, y = _cone(kind), np.arange(14) % 3
        X = rng.standard_normal((14, 4)) + 0.5 * y[:, None]
        triplets = Triplets(X, random_triplets(rng, 14, 24), cone)
        pairs = np.array([rng.choice(14, 2, replace=False) for _ in range(40)])
        similar = y[pairs[:, 0]] == y[pairs[:, 1]]
        signs, differences = np.where(similar, -1.0, 1.0), X[pairs[:, 0]] - X[pairs[:, 1]]
        scatter = cone.outer_sum(differences[similar], np.full(similar.sum(), 1.0 / similar.sum()))
        every, far = PairDistances(X, pairs, signs, cone), PairDistances(X, pairs[~similar], signs[~similar], cone)
        hinge = SeparableRisk(triplets, Hinge(0.1))
        logistic = SmoothSeparableRisk(triplets, Logistic(0.1))
        margins = BoxLoss.hinge(np.full(len(pairs), 0.05), np.where(similar, -1.0, 2.0))
        errors = BoxLoss.squared_error(np.full(len(pairs), 0.02), 1.0 - signs)
        queries = RankingRisk(Rankings(X, X[:4] + 0.1, Relevance.between(y[:4], y), cone), AUC(), 3.0)
        lengths = (differences**2).sum(axis=1)
        bounds = np.where(similar, np.quantile(lengths, 0.05), np.quantile(lengths, 0.95))
        risks: dict[str, Callable[[], Risk]] = {
            "hinge": lambda: hinge,
            "logistic": lambda: logistic,
            "itakura-saito": lambda: SeparableRisk(every, ItakuraSaito(0.3, bounds, signs)),
            "log": lambda: SeparableRisk(far, NegativeLog(0.1)),
            "root": lambda: SeparableRisk(far, NegativeRoot(0.01)),
            "triplets and pairs": lambda: hinge + SeparableRisk(every, margins),
            "triplets and errors": lambda: hinge + SeparableRisk(every, errors),
            "triplets and rankings": lambda: hinge + queries,
            "hinge and logistic": lambda: hinge + logistic,
        }
        penalties: dict[str, Callable[[], Regularizer]] = {
            "linear term": Zero,
            "trace": lambda: Trace(0.5),
            "square": lambda: SquaredFrobenius(0.4),
            "l1": lambda: EntrywiseL1(0.2),
            "l1 off the diagonal": lambda: EntrywiseL1(0.2, SquaredFrobenius(0.3), diagonal=False),
            "l1 and log det": lambda: EntrywiseL1(0.2, LogDet(cone.identity()), diagonal=False),
            "l1 distance": lambda: EntrywiseL1(0.2, prior=scatter),
            "log det": lambda: LogDet(cone.identity(), 0.7),
            "log det to a metric": lambda: LogDet(scatter, 0.7),
            "budget": lambda: Budget(scatter),
            "budget at a price": lambda: Budget(scatter, 1.0, weight=20.0),
            "squared distance": lambda: SquaredDistance(0.5, scatter),
            "distance": lambda: Distance(0.5, scatter),
            "trace distance": lambda: TraceDistance(0.3, cone.identity()),
        }
        return MetricProblem(risks[risk](), penalties[penalty](), G=scatter if penalty == "linear term" else None)

    return make


def _worst(of: str, share: float, penalty: Regularizer, kind: str = "full") -> Make:
    """The worst queries among seven points with three labels, perhaps beside all of them; or sets of pairs."""

    def make(rng: np.random.Generator) -> MetricProblem:
        cone, y = _cone(kind, 3), np.arange(7) % 3
        X = rng.standard_normal((7, 3)) + 0.5 * y[:, None]
        rankings = Rankings(X, X[:5] + 0.1, Relevance.between(y[:5], y), cone)
        quadruplets = np.hstack([random_triplets(rng, 7, 12), rng.integers(0, 7, (12, 1))])
        quadruplets[:, 3] += quadruplets[:, 3] == quadruplets[:, 2]
        risks: dict[str, Callable[[], Risk]] = {
            "auc": lambda: RankingRisk(rankings, AUC(), 5.0),
            "map": lambda: RankingRisk(rankings, AveragePrecision(), 5.0),
            "choices": lambda: SoftmaxRisk(rankings, 1.0, 0.5),
            "sum": lambda: SumRisk(Worst(risks["choices"](), share), risks["auc"]()),
            "quadruplets": lambda: SeparableRisk(Quadruplets(X, quadruplets % 7, cone), Hinge(0.5)),
            "sets": lambda: SeparableRisk(
                Linear(X, quadruplets[:, :2], rng.standard_normal((8, 12)), cone), Hinge(0.5)
            ),
        }
        whole = of in ("sum", "quadruplets", "sets")
        return MetricProblem(risks[of]() if whole else Worst(risks[of](), share), penalty)

    return make


def _queries(rng: np.random.Generator, cone: Cone) -> Rankings:
    """Six queries with lists of uneven lengths among ten items, of as many features as the cone asks for."""
    features = cone.shape[-1]
    relevance = Relevance.from_lists(*random_lists(rng, 6, 10), 6, 10)
    return Rankings(rng.standard_normal((10, features)), rng.standard_normal((6, cone.d)), relevance, cone)


def _softmax(cone: Cone, regularizer: Regularizer, weights: Any = None) -> Make:
    """Choices of items by queries."""
    return lambda rng: MetricProblem(SoftmaxRisk(_queries(rng, cone), 0.3, 0.7, weights=weights), regularizer)


def _trials(cone: Cone, regularizer: Regularizer, candidates: int, chosen: int) -> Make:
    """Odd ones out: which pair of three objects was chosen; or two pairs of four, of which some stand there twice."""

    def make(rng: np.random.Generator) -> MetricProblem:
        X = rng.standard_normal((9, cone.d))
        pairs = np.array([rng.choice(9, 2, replace=False) for _ in range(15 * candidates)])
        if candidates == 3:
            objects = random_triplets(rng, 9, 15)
            pairs = objects[:, [0, 1, 0, 2, 1, 2]].reshape(-1, 2)
        distances = PairDistances(X, pairs, np.ones(len(pairs)), cone)
        return MetricProblem(ChoiceRisk(distances, candidates, chosen, 0.2, 0.7), regularizer)

    return make


def _similarities(risk: str, cone: Cone, regularizer: Regularizer) -> Make:
    """Rankings and relative comparisons by similarities."""

    def make(rng: np.random.Generator) -> MetricProblem:
        rankings, (d, k) = _queries(rng, cone), cone.shape
        items = random_triplets(rng, 10, 20)
        triplets = SimilarityTriplets(rng.standard_normal((10, d)), rng.standard_normal((10, k)), items, cone)
        risks: dict[str, Callable[[], Risk]] = {
            "auc": lambda: RankingRisk(rankings, AUC(), 3.0),
            "map": lambda: RankingRisk(rankings, AveragePrecision(), 3.0),
            "logistic rankings": lambda: LogisticRankingRisk(rankings, 0.1),
            "hinges": lambda: SeparableRisk(triplets, Hinge(0.1)),
            "logistic": lambda: SmoothSeparableRisk(triplets, Logistic(0.1)),
        }
        return MetricProblem(risks[risk](), regularizer)

    return make


def _user_terms(of: Make) -> Make:
    """A trace that is bounded, and a convex term, on top of another problem."""

    def make(rng: np.random.Generator) -> MetricProblem:
        return of(rng).subject_to(lambda M: [M[0, 0] <= 0.5], lambda M: 0.1 * cp.sum(cp.abs(M)))

    return make


enter(
    "method, ranking",
    {
        "ranking from labels": _labels,
        "ranking from lists": _lists("lists"),
        "ranking from 0/1 matrices": _lists("dense"),
        "ranking from sparse matrices": _lists("sparse"),
    },
)
enter(
    "ranking, measure",
    {
        f"{measure}, {regularizer}, {'diagonal' if diagonal else 'full'}": _ranking(measure, regularizer, diagonal)
        for measure in ("auc", "precision", "map", "mrr", "err", "ndcg", "ndcg-log2", "knn")
        for regularizer, diagonal in (("trace", False), ("squared-frobenius", True))
    },
)
enter(
    "ranking, measure",
    {
        "map, squared-frobenius, full": _ranking("map", "squared-frobenius", False),
        "map, trace, diagonal": _ranking("map", "trace", True),
        "map, weighted queries": _ranking("map", "trace", False, query_weights=np.array([1.0, 0.0, 2.0, 0.5])),
        "auc, near the identity": _ranking("auc", "squared-frobenius", False, prior="identity"),
        "auc, many pairs": _many_pairs,
    },
)
RELATIVE_KINDS = ("identity", "sparse", "A", "rbf", "linear", "callable", "precomputed")
for _kind in RELATIVE_KINDS:
    _tags = "method, relative, listed, diagonal" + (", kernel" if _kind in RELATIVE_KINDS[3:] else "")
    enter(_tags + ", soft", {f"relative, {_kind}, soft": _relative(_kind, 1.0)})
    enter(_tags, {f"relative, {_kind}, hard": _relative(_kind, np.inf)})
enter(
    "method, triplets",
    {
        f"triplets, {form}{', diagonal' if diagonal else ''}": _triplets(form, diagonal)
        for form in ("list", "neighbours", "labels", "graph", "projected graph")
        for diagonal in (False, True)
    },
)
for _form in ("representatives", "all objects", "several labels", "relevance"):
    enter("method, cross-modal, listed, logistic", {f"cross-modal, {_form}": _cross_modal(_form)})
for _kernel in (None, "unit-rbf"):
    enter(
        "method, pairs" + (", kernel" if _kernel else ""),
        {
            f"pairs, {'listed' if listed else 'all'}, {norm}, {_kernel or 'features'}, margin {margin}": _pairs(
                listed, norm, _kernel, margin
            )
            for listed in (True, False)
            for norm in ("frobenius", "trace")
            for margin in (1.0, (0.5, 1.5))
        },
    )
enter(
    "method, pairs",
    {
        "pairs, listed, near the identity": _pairs(True, "frobenius", None, (0.5, 1.5), "identity"),
        "pairs, all, near a metric": _pairs(False, "frobenius", None, 1.0, np.diag([2.0, 1.0, 0.5])),
        "pairs, all, near the identity of a kernel": _pairs(False, "frobenius", "unit-rbf", 1.0, "identity"),
        **{f"weighted, {norm}": _weighted(norm) for norm in ("frobenius", "trace")},
    },
)
enter(
    "method, similarity",
    {
        f"similarity, {loss}, {norm}": _similarity(loss, norm)
        for loss in ("squared", "absolute", "weighted")
        for norm in ("frobenius", "trace")
    }
    | {"weighted, similarity": _weighted("similarity")},
)
enter(
    "method, large margin",
    {
        "large margin": _large_margin(False),
        "large margin, diagonal": _large_margin(True),
        "large margin, near the identity": _large_margin(False, prior="identity", reg=0.3),
        "large margin, near a metric": _large_margin(False, prior=SINGULAR, ridge=0.1),
        "large margin, diagonal, near weights": _large_margin(True, prior=SINGULAR.diagonal(), weights=np.arange(15)),
    },
)
enter(
    "method, weighted",
    {
        f"weighted, {form}": _weighted(form)
        for form in (
            "queries",
            "queries, diagonal",
            "targets",
            "targets, diagonal",
            "relative",
            "triplets",
            "neighbours",
        )
    },
)
enter(
    "method, information-theoretic, barrier",
    {
        "information-theoretic": _information_theoretic(False),
        "information-theoretic, diagonal": _information_theoretic(True),
    },
)
enter(
    "method, choices",
    {
        "choices, odd one out": _choices("odd-one-out", reg=0.05),
        "choices, anchor": _choices("anchor", 2, penalty="squared-frobenius", reg=0.1),
        "choices, triplets, diagonal": _choices("triplets", diagonal=True),
        "choices, odd one out, near the identity": _choices(
            "odd-one-out", penalty="squared-frobenius", prior="identity"
        ),
        "choices, anchor, traces near the identity": _choices("anchor", prior="identity"),
    },
)
enter(
    "method, choices",
    {
        "collapsing classes": _collapsing(reg=0.1),
        "collapsing classes, trace, diagonal": _collapsing(reg=0.5, penalty="trace", diagonal=True),
        "collapsing classes, near a metric": _collapsing(reg=0.2, prior=SINGULAR),
    },
)
enter(
    "no method, listed, logistic, triplets",
    {
        "psd logistic, trace": _smooth(PSDCone, Trace(1.0), False),
        "psd logistic, trace, G": _smooth(PSDCone, Trace(1.0), True),
        "psd logistic, squared Frobenius, G": _smooth(PSDCone, SquaredFrobenius(0.5), True),
        "diagonal logistic, trace": _smooth(NonnegativeDiagonal, Trace(1.0), False),
        "diagonal logistic, squared norm": _smooth(NonnegativeDiagonal, SquaredFrobenius(0.5), False),
    },
)
enter(
    "ranking, logistic",
    {
        "logistic rankings": _logistic_ranking(PSDCone),
        "logistic rankings, diagonal": _logistic_ranking(NonnegativeDiagonal),
    },
)
enter(
    "no method, listed, triplets",
    {
        "psd triplets, squared Frobenius": _later_paper(PSDCone, SquaredFrobenius(0.5), False),
        "psd triplets, squared Frobenius, G": _later_paper(PSDCone, SquaredFrobenius(0.5), True),
        "psd triplets, trace": _later_paper(PSDCone, Trace(1.2), False),
        "psd triplets, trace, G": _later_paper(PSDCone, Trace(1.2), True),
        "diagonal triplets, trace": _later_paper(NonnegativeDiagonal, Trace(0.8), False),
        "diagonal triplets, trace, G": _later_paper(NonnegativeDiagonal, Trace(0.8), True),
    },
)
enter("no method, ranking", {"ranking, diagonal, squared norm": _ranking_diagonal})
_PENALTIES = (
    "linear term",
    "l1",
    "l1 off the diagonal",
    "l1 and log det",
    "l1 distance",
    "log det",
    "log det to a metric",
    "budget",
    "budget at a price",
    "squared distance",
    "distance",
    "trace distance",
)
_COMBINATIONS = [("hinge", penalty, kind) for penalty in _PENALTIES for kind in ("full", "diagonal", "blocks")]
_COMBINATIONS += [("itakura-saito", penalty, "full") for penalty in _PENALTIES]
_COMBINATIONS += [(r, p, "full") for r in ("logistic", "log", "root") for p in ("linear term", "l1", "log det")]
_COMBINATIONS += [(risk, "budget", kind) for risk in ("log", "root") for kind in ("full", "diagonal", "blocks")]
_SUMS = ("triplets and pairs", "triplets and errors", "triplets and rankings", "hinge and logistic")
for _risk, _penalty, _kind in _COMBINATIONS:
    _tags = "combination"
    if _risk in ("itakura-saito", "log", "root") or _penalty == "budget" or "log det" in _penalty:
        _tags += ", barrier"
    enter(_tags, {f"{_risk}, {_penalty}, {_kind}": _combination(_risk, _penalty, _kind)})
for _risk in _SUMS:
    enter("combination, sum", {f"{_risk}, {p}, full": _combination(_risk, p, "full") for p in ("trace", "square")})
    enter("combination, sum, barrier", {f"{_risk}, log det, full": _combination(_risk, "log det", "full")})
enter(
    "combination, worst",
    {
        "worst of map, square": _worst("map", 0.5, SquaredFrobenius(0.4)),
        "worst of auc, trace": _worst("auc", 0.3, Trace(0.5)),
        "worst choices, square": _worst("choices", 0.5, SquaredFrobenius(0.4), "diagonal"),
        "worst choices and auc, trace": _worst("sum", 0.5, Trace(0.3)),
    },
)
enter(
    "combination, triplets",
    {
        "quadruplets, square": _worst("quadruplets", 1.0, SquaredFrobenius(0.4)),
        "sets, trace": _worst("sets", 1.0, Trace(0.5)),
    },
)
enter(
    "choices",
    {
        "softmax, trace, full": _softmax(PSDCone(3), Trace(0.2)),
        "softmax, square, full": _softmax(PSDCone(3), SquaredFrobenius(0.1)),
        "softmax, square, diagonal": _softmax(NonnegativeDiagonal(3), SquaredFrobenius(0.1)),
        "odd one out, square, full": _trials(PSDCone(3), SquaredFrobenius(0.1), 3, 1),
        "odd one out, trace, diagonal": _trials(NonnegativeDiagonal(3), Trace(0.1), 3, 1),
        "two chosen of four, trace, full": _trials(PSDCone(3), Trace(0.1), 4, 2),
    },
)
enter(
    "choices, weighted",
    {"softmax, weighted queries": _softmax(PSDCone(3), Trace(0.2), np.array([1.0, 0.0, 2.0, 0.5, 1.0, 3.0]))},
)
enter(
    "choices, matrices",
    {
        "softmax, near the identity, all matrices": _softmax(AllMatrices(3), SquaredDistance(0.1, np.eye(3))),
        "softmax, trace norm, rectangular": _softmax(AllMatrices(2, 4), Trace(0.2)),
        "softmax, norm, symmetric": _softmax(Symmetric(3), Frobenius(0.2)),
        "softmax, distance, all matrices": _softmax(AllMatrices(3), Distance(0.2, np.tri(3))),
    },
)
enter(
    "ranking, measure, matrices",
    {
        "auc, square, all matrices": _similarities("auc", AllMatrices(3), SquaredFrobenius(0.3)),
        "auc, trace norm, symmetric": _similarities("auc", Symmetric(3), Trace(0.2)),
        "map, trace norm, rectangular": _similarities("map", AllMatrices(2, 4), Trace(0.2)),
        "auc, trace distance, rectangular": _similarities("auc", AllMatrices(2, 4), TraceDistance(0.2, np.tri(2, 4))),
        "map, trace distance, symmetric": _similarities("map", Symmetric(3), TraceDistance(0.2, SINGULAR)),
        "map, near the identity, symmetric": _similarities("map", Symmetric(3), SquaredDistance(0.3, np.eye(3))),
    },
)
enter(
    "ranking, logistic, matrices",
    {
        "logistic rankings, square, rectangular": _similarities(
            "logistic rankings", AllMatrices(2, 4), SquaredFrobenius(0.1)
        )
    },
)
enter(
    "no method, listed, triplets, matrices",
    {
        "hinges of similarities, square": _similarities("hinges", AllMatrices(2, 4), SquaredFrobenius(0.2)),
        "hinges of similarities, trace distance, rectangular": _similarities(
            "hinges", AllMatrices(2, 4), TraceDistance(0.2, np.tri(2, 4))
        ),
    },
)
enter(
    "no method, listed, logistic, triplets, matrices",
    {"logistic similarities, trace norm, symmetric": _similarities("logistic", Symmetric(3), Trace(0.1))},
)
enter(
    "user terms",
    {
        "psd triplets under terms": _user_terms(_later_paper(PSDCone, Trace(1.2), False)),
        "ranking under terms": _user_terms(_labels),
    },
)
enter("user blocks", {f"own, {name}": lambda rng, make=make: make() for name, make in RIGHT.items()})


#: A few that together have every block; the others are left to ``make integration`` where a test takes its time.
REPRESENTATIVES = (
    "ranking from labels",
    "precision, trace, full",
    "map, squared-frobenius, diagonal",
    "mrr, trace, full",
    "err, trace, full",
    "ndcg, trace, full",
    "ndcg-log2, trace, full",
    "knn, trace, full",
    "relative, identity, soft",
    "relative, sparse, hard",
    "relative, rbf, hard",
    "triplets, list",
    "triplets, projected graph",
    "cross-modal, representatives",
    "pairs, listed, frobenius, features, margin (0.5, 1.5)",
    "pairs, all, trace, unit-rbf, margin 1.0",
    "pairs, all, near a metric",
    "similarity, squared, frobenius",
    "large margin",
    "large margin, diagonal, near weights",
    "weighted, queries",
    "information-theoretic",
    "choices, odd one out",
    "collapsing classes",
    "collapsing classes, trace, diagonal",
    "psd logistic, trace, G",
    "logistic rankings, diagonal",
    "ranking, diagonal, squared norm",
    "hinge, l1 off the diagonal, blocks",
    "hinge, distance, full",
    "hinge, budget, blocks",
    "hinge, trace distance, diagonal",
    "itakura-saito, budget at a price, full",
    "hinge, l1 distance, diagonal",
    "log, budget, full",
    "root, log det, full",
    "triplets and rankings, log det, full",
    "worst of map, square",
    "worst choices, square",
    "quadruplets, square",
    "sets, trace",
    "softmax, trace, full",
    "softmax, norm, symmetric",
    "map, trace norm, rectangular",
    "auc, trace distance, rectangular",
    "hinges of similarities, square",
    "psd triplets under terms",
    "own, squared hinge",
    "own, expected reciprocal rank",
    "map, weighted queries",
)


def names(*tags: str, without: str | Iterable[str] = ()) -> list[str]:
    """Problems that have all tags, and none of the others, by name."""
    unwanted = {without} if isinstance(without, str) else set(without)
    return sorted(n for n, e in CATALOGUE.items() if e.tags.issuperset(tags) and not e.tags & unwanted)


def cases(*tags: str, without: str | Iterable[str] = ()) -> list[Any]:
    """The same as parameters of a test, of which ``make test`` runs the representatives."""
    found = names(*tags, without=without)
    return [n if n in REPRESENTATIVES else pytest.param(n, marks=pytest.mark.integration) for n in found]


def instance(name: str, seed: int = 0) -> MetricProblem:
    """A problem by name, made anew."""
    return CATALOGUE[name].make(np.random.default_rng(seed))


class Conic(NamedTuple):
    """A problem as CVXPY and CLARABEL solve it: optimal value, accurate to about 1e-8, metric, and dual point."""

    problem: MetricProblem
    optimum: float
    M: np.ndarray
    dual: Any


@cache
def conic(name: str, seed: int = 0) -> Conic:
    """The conic reference of a problem, solved once a session."""
    problem = instance(name, seed)
    statement = stated(problem)
    M = problem.cone.project(np.asarray(statement.metric.value))
    return Conic(problem, float(statement.problem.value), M, statement.dual())


@cache
def solved(name: str) -> cm.Solution:
    """What the default solver finds, once a session."""
    return cm.solve(conic(name).problem, tol=1e-7)
