"""Problems made from seeds, for choices that the instances of the library should not decide alone.

A seed fixes the family, the cone, the regularizer, the weight, the sizes and the data. Points are normal around centres
of their classes; every third problem has features of scales from 1 to 1/1000, turned. Triplets and pairs are drawn by
labels or by a hidden metric, and a tenth of them says the opposite. Weights are shares of the one at which the metric
zero is optimal (trace and norm), or at which the metric of equal multipliers reaches a margin (squared norm).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import convexmetric as cm
from convexmetric.comparisons import PairDistances, Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.losses import BoxLoss, Logistic
from convexmetric.regularizers import Frobenius, SquaredFrobenius, Trace
from convexmetric.risks import SeparableRisk, SmoothSeparableRisk, tangent_dual

__all__ = ["FAMILIES", "Made", "made"]

SHARES = (0.5, 0.05, 0.005)
#: Numbers of points, features and comparisons: log-uniform between these.
POINTS, FEATURES, COMPARISONS = (40, 4_000), (2, 400), (200, 1_000_000)
#: Seeds of listed triplets as lists are larger by this.
LISTS = 10_000
#: Items that are compared without features.
ITEMS = (20, 150)
REGULARIZERS = {"trace": Trace, "squared": SquaredFrobenius, "norm": Frobenius}


@dataclass(frozen=True)
class Made:
    """A made problem: what it is in words, and the problem."""

    words: str
    problem: cm.MetricProblem


class _Draw:
    """Sizes, points and comparisons from one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([2026, seed])
        self.share = SHARES[self.rng.integers(3)]
        self.diagonal = bool(self.rng.random() < 0.25)
        self.norm = str(self.rng.choice(["trace", "trace", "squared", "squared", "norm"]))
        self.bad = bool(self.rng.random() < 1 / 3)

    def size(self, ends: tuple[int, int]) -> int:
        """Log-uniform between the ends."""
        low, high = ends
        return round(low * (high / low) ** self.rng.random())

    def points(self, most: int = POINTS[1], features: int = FEATURES[1]) -> tuple[np.ndarray, np.ndarray]:
        """Points, about a unit apart, with labels."""
        n, d, rng = self.size((POINTS[0], most)), self.size((FEATURES[0], features)), self.rng
        classes = int(rng.integers(2, 9))
        y = np.concatenate([np.arange(classes).repeat(4), rng.integers(classes, size=n)])[:n]
        y = y if n >= 4 * classes else np.arange(n) % 2
        centres = rng.normal(size=(classes, d)) * (rng.random(d) < 0.5)
        X = rng.normal(size=(n, d)) + 1.5 * centres[y]
        if self.bad:
            X = X * np.geomspace(1.0, 1e-3, d)[rng.permutation(d)]
            X = X if self.diagonal else X @ np.linalg.qr(rng.normal(size=(d, d)))[0]
        X -= X.mean(axis=0)
        return X / np.sqrt(2.0 * (X * X).sum(axis=1).mean()), y

    def without_norm(self) -> None:
        """Take a trace in place of a norm, for risks that few solvers take beside one."""
        self.norm = "trace" if self.norm == "norm" else self.norm

    def cone(self, d: int) -> cm.cones.Cone:
        return NonnegativeDiagonal(d) if self.diagonal else PSDCone(d)

    def triplets(self, X: np.ndarray) -> np.ndarray:
        """Triplets answered by the distances in a third of the directions, a tenth of them wrongly."""
        n, rng, count = len(X), self.rng, self.size(COMPARISONS)
        count = min(count, n * (n - 1) * (n - 2) // 4)
        seen = X @ rng.normal(size=(X.shape[1], max(1, X.shape[1] // 3)))
        t = rng.integers(n, size=(3 * count, 3))
        t = np.unique(t[(t[:, 0] != t[:, 1]) & (t[:, 0] != t[:, 2]) & (t[:, 1] < t[:, 2])], axis=0)
        t = t[rng.permutation(len(t))[:count]]
        near, far = (((seen[t[:, 0]] - seen[t[:, k]]) ** 2).sum(axis=1) for k in (1, 2))
        turned = (near > far) != (rng.random(len(t)) < 0.1)
        t[turned] = t[turned][:, [0, 2, 1]]
        return t

    def weighted(self, risk: cm.risks.Risk) -> cm.MetricProblem:
        """The risk beside the drawn regularizer, at the drawn share of its largest weight."""
        cone = risk.cone
        S = cone.project(risk.minorant(tangent_dual(risk, cone.zeros())).S)
        if self.norm == "trace":
            largest = float(S.max() if cone.diagonal else np.linalg.eigvalsh(S)[-1])
        elif self.norm == "norm":
            largest = float(np.linalg.norm(S))
        else:
            fall = risk.value(cone.zeros())
            largest = 2.0 * float(np.linalg.norm(S)) ** 2 / fall if fall > 0.0 else 1.0
        return cm.MetricProblem(risk, REGULARIZERS[self.norm](self.share * max(largest, 1e-12)))


def _listed(draw: _Draw) -> cm.MetricProblem:
    X, _ = draw.points()
    t = draw.triplets(X)
    return draw.weighted(SeparableRisk(Triplets(X, t, draw.cone(X.shape[1])), _hinge(len(t))))


def _hinge(count: int) -> BoxLoss:
    return BoxLoss.hinge(np.full(count, 1.0 / count), np.ones(count))


def _items(draw: _Draw) -> cm.MetricProblem:
    draw.diagonal = False
    n = draw.size(ITEMS)
    t = draw.triplets(draw.rng.normal(size=(n, 3)))
    return draw.weighted(SeparableRisk(Triplets(np.eye(n), t, PSDCone(n)), _hinge(len(t))))


def _labelled(draw: _Draw) -> cm.MetricProblem:
    X, y = draw.points(most=1_500)
    near = int(draw.rng.integers(2, 11)) if draw.rng.random() < 0.7 else None
    problem = cm.TripletProblem.from_labels(X, y, n_same=near, n_other=near, diagonal=draw.diagonal)
    draw.without_norm()
    return draw.weighted(problem.risk)


def _pairs(draw: _Draw) -> cm.MetricProblem:
    X, y = draw.points()
    n, count = len(X), draw.size((COMPARISONS[0], 100_000))
    i, j = draw.rng.integers(n, size=(2, count))
    i, j = i[i != j], j[i != j]
    signs = np.where((y[i] == y[j]) != (draw.rng.random(len(i)) < 0.05), -1.0, 1.0)
    margins = np.where(signs > 0, 1.5, -0.5)
    weights = np.where(signs > 0, 0.5 / max(1, (signs > 0).sum()), 0.5 / max(1, (signs < 0).sum()))
    risk = SeparableRisk(
        PairDistances(X, np.stack([i, j], 1), signs, draw.cone(X.shape[1])), BoxLoss.hinge(weights, margins)
    )
    return draw.weighted(risk)


def _all_pairs(draw: _Draw) -> cm.MetricProblem:
    X, y = draw.points()
    draw.diagonal = False
    return draw.weighted(cm.PairMarginProblem.from_labels(X, y).risk)


def _ranking(draw: _Draw, measure: str) -> cm.MetricProblem:
    X, y = draw.points(most=1_500, features=200)
    draw.without_norm()
    problem = cm.RankingProblem.from_labels(X, y, measure=measure, C=1.0, diagonal=draw.diagonal)
    return draw.weighted(problem.risk)


def _large_margin(draw: _Draw) -> cm.MetricProblem:
    X, y = draw.points(features=300)
    push = float(1.0 - draw.share) if draw.share > 0.1 else float(np.clip(draw.rng.random(), 0.05, 0.95))
    k = int(min(draw.rng.integers(1, 5), np.unique(y, return_counts=True)[1].min() - 1))
    options = {"n_neighbors": k, "push": push, "diagonal": draw.diagonal}
    try:
        return cm.LargeMarginProblem(X, y, **options)
    except cm.errors.InputError:
        # Fewer neighbours than directions: metrics may grow at no cost.
        return cm.LargeMarginProblem(X, y, ridge=0.1, **options)


def _relative(draw: _Draw) -> cm.MetricProblem:
    X, _ = draw.points()
    t, draw.diagonal, draw.norm = draw.triplets(X), True, "squared"
    C = 1.0 / (draw.share * len(t) * 2.0)
    return cm.RelativeComparisonProblem(X, t, C=C)


def _softmax(draw: _Draw) -> cm.MetricProblem:
    X, y = draw.points(most=1_000, features=100)
    draw.without_norm()
    draw.diagonal = False
    return draw.weighted(cm.papers.CollapsingClassesProblem(X, y).risk)


def _logistic(draw: _Draw) -> cm.MetricProblem:
    draw.without_norm()
    if draw.rng.random() < 0.4:
        n = draw.size(ITEMS)
        X, draw.diagonal = np.eye(n), False
        t = draw.triplets(draw.rng.normal(size=(n, 3)))
    else:
        X, _ = draw.points()
        t = draw.triplets(X)
    loss = Logistic(1.0 / len(t))
    return draw.weighted(SmoothSeparableRisk(Triplets(X, t, draw.cone(X.shape[1])), loss))


FAMILIES = {
    "listed triplets": _listed,
    "items": _items,
    "labelled triplets": _labelled,
    "listed pairs": _pairs,
    "all pairs": _all_pairs,
    "auc": lambda draw: _ranking(draw, "auc"),
    "map": lambda draw: _ranking(draw, "map"),
    "large margins": _large_margin,
    "relative comparisons": _relative,
    "softmax": _softmax,
    "logistic": _logistic,
}


def made(seed: int) -> Made:
    """The problem of a seed; seeds 2k and 2k + 1 are of one family, and the families take turns.

    From ``LISTS`` on, a seed has the listed triplets of the one that is less by ``LISTS``, as lists of positives and
    negatives.
    """
    if seed >= LISTS:
        listed = made(seed - LISTS)
        comparisons, cone = listed.problem.risk.comparisons, listed.problem.cone
        risk = cm.TripletProblem(comparisons.X, comparisons.triplets, diagonal=cone.diagonal).risk
        return Made(f"as lists, {listed.words}", cm.MetricProblem(risk, listed.problem.regularizer))
    name = list(FAMILIES)[seed // 2 % len(FAMILIES)]
    draw = _Draw(seed)
    problem = FAMILIES[name](draw)
    kind = "diagonal" if problem.cone.diagonal else "full"
    norm = type(problem.regularizer).__name__
    sizes = f"{problem.risk.points[0].shape[0]} x {problem.cone.d}, {problem.risk.parts} parts"
    return Made(f"{name}, {kind}, {norm}, {draw.share:g}{', badly scaled' if draw.bad else ''}: {sizes}", problem)
