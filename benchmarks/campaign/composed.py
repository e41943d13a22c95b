"""Problems composed of any blocks of the package at random, for the campaign of solves.

Points are multiplied by s, metrics by c / s^2, and values of the objective by t. Every parameter of every block then
has one exact factor, so that each composed problem has a twin on well-scaled data. A parameter is a pair: that of the
case, and that of its twin; ``side`` says which of the two a problem is made of.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from sklearn.base import BaseEstimator

import convexmetric as cm
from campaign.draws import Case, Draw, RedrawError, exact, power, weights
from convexmetric.comparisons import PairDistances, Rankings, Relevance, StackedComparisons, Triplets
from convexmetric.cones import BlockDiagonal, Cone, NonnegativeDiagonal, PSDCone, shared_points
from convexmetric.losses import BoxLoss, Hinge, ItakuraSaito, Logistic, NegativeLog, NegativeRoot
from convexmetric.measures import MEASURES, measure_named
from convexmetric.regularizers import (
    Budget,
    Distance,
    EntrywiseL1,
    Frobenius,
    LogDet,
    NormWeights,
    QuadraticForm,
    Regularizer,
    SquaredDistance,
    SquaredFrobenius,
    Trace,
    TraceDistance,
    Zero,
)
from convexmetric.risks import (
    LabelledPairRisk,
    LogisticRankingRisk,
    PairHinge,
    PairwiseRisk,
    RankingRisk,
    Risk,
    SeparableRisk,
    SmoothSeparableRisk,
    SumRisk,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from extensions import ExpectedReciprocalRank, SquaredHinge

__all__ = ["COMPOSED"]

#: What makes a block of the case (side 0) or of its twin (side 1).
Made = Callable[[int], Any]
#: Binary exponents of the roots of priors: up to a condition number of 1e14.
STEEPEST = 23


@dataclass
class Elastic(Regularizer):
    """A regularizer as users write it: ``a tr M + b / 2 ||M||_F^2``, which says what it is made of or not."""

    a: float
    b: float
    silent: bool = False

    def value(self, M: Any, cone: Cone) -> float:
        return float(self.a * cone.trace(M) + 0.5 * self.b * (M**2).sum())

    def weights(self) -> NormWeights | None:
        return None if self.silent else NormWeights(trace=self.a, squared=self.b)

    def bound(self, value: float, S: Any, G: Any, cone: Cone, hint: Any) -> float:
        trace = self.a * cone.identity()
        return SquaredFrobenius(self.b).bound(value, S, trace if G is None else trace + G, cone, hint)

    def expression(self, M: Any, cone: Cone) -> Any:
        return self.a * cone.trace_expression(M) + 0.5 * self.b * cp.sum_squares(M)

    def contents(self) -> tuple[Any, ...]:
        return self.a, self.b

    def text(self, M: str) -> str:
        return f"{self.a:g} tr({M}) + {self.b / 2:g} ||{M}||_F^2"

    latex = text


@dataclass
class Composing:
    """What blocks of a case have in common."""

    of: Draw
    cone: Cone
    X: tuple[Any, Any]
    c: Fraction
    t: Fraction
    #: Points that may be compared: all, or those of one task.
    groups: list[np.ndarray]
    #: Relative rounding of what a certificate states, where it is not the problem itself.
    slack: Fraction = Fraction(0)

    @property
    def rng(self) -> np.random.Generator:
        return self.of.rng

    @property
    def unit(self) -> Fraction:
        """Of a metric."""
        return self.c / self.of.scale**2

    def number(self, ratio: Fraction, low: int = -3, high: int = 4) -> tuple[float, float]:
        """A weight of the case, extreme where the case is about weights, and that of its twin."""
        return weights(self.of, ratio, low, high)

    def array(self, array: np.ndarray, ratio: Fraction) -> tuple[np.ndarray, np.ndarray]:
        """An array of a few bits in the units of the case, and of its twin."""
        near = self.of.divided(Fraction(1), ratio)
        made = []
        for unit in (exact(near * ratio), exact(near)):
            with np.errstate(all="ignore"):
                one = array * unit
                if not np.array_equal(one / unit, array) or (np.abs(one[array != 0.0]) < 1e-290).any():
                    raise RedrawError
            made.append(one)
        return made[0], made[1]

    def margins(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        return self.array(self.rng.integers(1, 17, count) / 4.0, self.c)

    def rows(self, columns: int) -> np.ndarray:
        """Triplets or pairs of points that may be compared."""
        count = 1 if self.of.few else int(self.rng.integers(4, 30))
        chosen = [self.groups[int(self.rng.integers(len(self.groups)))] for _ in range(count)]
        return np.array([self.rng.choice(group, 3, replace=False) for group in chosen])[:, :columns]

    def apart(self) -> np.ndarray:
        """Pairs of points that differ."""
        pairs = self.rows(2)
        differ = (self.X[1][pairs[:, 0]] != self.X[1][pairs[:, 1]]).any(axis=1)
        if not differ.any():
            raise RedrawError
        return pairs[differ]

    def positive(self, identity: float = 1.0) -> np.ndarray:
        """A metric of a few bits."""
        root = self.rng.integers(-3, 4, (self.cone.d, self.cone.d)) / 4.0
        return self.shaped(root @ root.T + identity * np.eye(self.cone.d))

    def shaped(self, matrix: np.ndarray) -> np.ndarray:
        """As elements of the cone are."""
        if isinstance(self.cone, BlockDiagonal):
            return self.cone.joined(self.cone.blocks(matrix))
        return np.diag(matrix).copy() if self.cone.diagonal else matrix


# Risks ----------------------------------------------------------------------------------------------------------------


def hinges(at: Composing) -> Made:
    rows, C = at.rows(3), at.number(at.t / at.c)
    margin = at.array(np.array([at.rng.integers(1, 9) / 4.0]), at.c)
    kinds = rows[:, :2], np.where(at.rng.random(len(rows)) < 0.5, 1.0, -1.0)
    stacked = at.rng.random() < 0.3

    def made(side: int) -> Risk:
        compared: Any = Triplets(at.X[side], rows, at.cone)
        if stacked:
            compared = StackedComparisons([compared, PairDistances(at.X[side], *kinds, at.cone)])
        return SeparableRisk(compared, Hinge(C[side], float(margin[side][0])))

    return made


def boxes(at: Composing) -> Made:
    """Hinges, absolute or squared errors with weights and margins of their own."""
    kind = str(at.rng.choice(["hinge", "absolute_error", "squared_error"]))
    rows, signs = at.rows(2), 1.0
    signs = np.where(at.rng.random(len(rows)) < 0.7, 1.0, -1.0) if kind == "hinge" else np.ones(len(rows))
    unit = at.number(at.t / at.c ** (2 if kind == "squared_error" else 1), -5, 2)
    own, margins = at.rng.integers(1, 9, len(rows)) / 4.0, at.margins(len(rows))
    return lambda side: SeparableRisk(
        PairDistances(at.X[side], rows, signs, at.cone), getattr(BoxLoss, kind)(own * unit[side], margins[side])
    )


def logistic(at: Composing) -> Made:
    rows, C = at.rows(3), at.number(at.t)
    return lambda side: SmoothSeparableRisk(Triplets(at.X[side], rows, at.cone), Logistic(C[side]))


def itakura_saito(at: Composing) -> Made:
    pairs, gamma = at.apart(), at.number(at.t)
    signs = np.where(at.rng.random(len(pairs)) < 0.5, 1.0, -1.0)
    bounds = at.margins(len(pairs))
    return lambda side: SeparableRisk(
        PairDistances(at.X[side], pairs, signs, at.cone), ItakuraSaito(gamma[side], bounds[side], signs)
    )


def negative_log(at: Composing) -> Made:
    pairs, C = at.apart(), at.number(at.t)
    return lambda side: SeparableRisk(
        PairDistances(at.X[side], pairs, np.ones(len(pairs)), at.cone), NegativeLog(C[side])
    )


def negative_root(at: Composing) -> Made:
    root = Fraction(2) ** ((at.c.numerator.bit_length() - at.c.denominator.bit_length()) // 2)
    if root**2 != at.c:
        raise RedrawError
    pairs, C = at.apart(), at.number(at.t / root)
    return lambda side: SeparableRisk(
        PairDistances(at.X[side], pairs, np.ones(len(pairs)), at.cone), NegativeRoot(C[side])
    )


def _rankings(at: Composing) -> tuple[Callable[[int], Rankings], int]:
    """Those of labels, and how many queries; of tasks that share points each is compared with points of its own."""
    n = len(at.of.X0)
    near = [[int(j) for j in group if j != i and at.of.y[j] == at.of.y[i]] for group in at.groups for i in group]
    far = [[int(j) for j in group if at.of.y[j] != at.of.y[i]] for group in at.groups for i in group]
    asked = [int(i) for group in at.groups for i in group]
    kept = [number for number in range(n) if near[number] and far[number]][: 2 if at.of.few else n]
    if not kept:
        raise RedrawError
    lists = [near[number] for number in kept], [far[number] for number in kept]
    rows = np.array([asked[number] for number in kept])
    relevance = Relevance.from_lists(*lists, n_queries=len(rows), n_corpus=n)
    return lambda side: Rankings(at.X[side], at.X[side][rows], relevance, at.cone), len(rows)


def ranking(at: Composing) -> Made:
    (rankings, _), C, name = _rankings(at), at.number(at.t, 0, 7), str(at.rng.choice(sorted(MEASURES)))
    k = {"k": int(at.rng.integers(1, 6))} if name in ("precision", "ndcg", "ndcg-log2", "knn") else {}
    at.of.notes.append(f"{name} {k or ''}")
    measure = measure_named(name, **k)
    return lambda side: RankingRisk(rankings(side), measure, C[side])


def pairwise(at: Composing) -> Made:
    (rankings, count), unit = _rankings(at), at.number(at.t / at.c, -8, 0)
    own = at.rng.integers(1, 9, count) / 4.0
    margin = at.margins(1)
    return lambda side: PairwiseRisk(rankings(side), own * unit[side], float(margin[side][0]))


def logistic_ranking(at: Composing) -> Made:
    (rankings, _), C = _rankings(at), at.number(at.t, -8, 0)
    return lambda side: LogisticRankingRisk(rankings(side), C[side])


def labelled_pairs(at: Composing) -> Made:
    if len(at.groups) > 1:
        raise RedrawError
    same, other = (at.number(at.t / at.c, -8, 0) for _ in range(2))
    margins = at.margins(2)
    return lambda side: LabelledPairRisk(
        at.X[side],
        at.of.y,
        PairHinge(same[side], float(margins[side][0]), True),
        PairHinge(other[side], float(margins[side][1]), False),
        at.cone,
    )


def own_loss(at: Composing) -> Made:
    """A loss and a measure as users write them, which certificates do not know."""
    if at.rng.random() < 0.5:
        rows, C = at.rows(3), at.number(at.t)
        return lambda side: SeparableRisk(Triplets(at.X[side], rows, at.cone), SquaredHinge(C[side]))
    (rankings, _), C = _rankings(at), at.number(at.t, 0, 7)
    return lambda side: RankingRisk(rankings(side), ExpectedReciprocalRank(0.25), C[side])


LISTED = (hinges, boxes, logistic, itakura_saito)
REWARDS = (negative_log, negative_root)
LISTS = (ranking, ranking, pairwise, logistic_ranking, labelled_pairs)
#: Those whose margins have one unit only.
FIXED = (logistic, negative_log, ranking, logistic_ranking, own_loss)


# Regularizers ---------------------------------------------------------------------------------------------------------


def log_det(at: Composing) -> Made:
    lipschitz = int(at.rng.integers(0, STEEPEST + 1))
    roots = 2.0 ** -at.rng.integers(0, lipschitz + 1, at.cone.d)
    noise = np.tril(at.rng.integers(-1, 2, (at.cone.d, at.cone.d)), -1) / 16.0
    prior = at.shaped((np.eye(at.cone.d) + noise + noise.T) * np.outer(roots, roots))
    condition = Fraction(float((roots.max() / roots.min()) ** 2)) * 16
    # Its certificate states a root of the inverse, in floats.
    at.slack = max(at.slack, condition * at.cone.d**2 / 2**48)
    at.of.notes.append(f"log det, condition {float(condition):.1g}")
    own, reg = at.array(prior, at.unit), at.number(at.t)
    return lambda side: LogDet(own[side], reg[side])


def budget(at: Composing) -> Made:
    A = at.positive()
    limit, price = at.number(at.unit, -2, 4), at.number(at.t / at.unit)
    hard = at.rng.random() < 0.6
    at.of.notes.append(f"{'hard' if hard else 'penalised'} budget")
    return lambda side: Budget(A, limit[side], weight=np.inf if hard else price[side])


def of_one_weight(kind: Any, degree: int, prior: bool) -> Callable[[Composing], Made]:
    def make(at: Composing) -> Made:
        reg = at.number(at.t / at.unit**degree, -4, 3)
        if not prior:
            return lambda side: kind(reg[side])
        own = at.array(at.positive(float(at.rng.integers(0, 2))), at.unit)
        return lambda side: kind(reg[side], own[side])

    return make


def quadratic_form(at: Composing) -> Made:
    root = at.rng.integers(0, 4, (at.cone.d, at.cone.d)) / 4.0
    L = at.array(root @ root.T, at.t / at.unit**2)
    return lambda side: QuadraticForm(L[side])


def elastic(at: Composing) -> Made:
    a, b, silent = at.number(at.t / at.unit, -4, 3), at.number(at.t / at.unit**2, -4, 3), bool(at.rng.random() < 0.5)
    return lambda side: Elastic(a[side], b[side], silent)


BASES: tuple[Callable[[Composing], Made], ...] = (
    of_one_weight(Trace, 1, False), of_one_weight(SquaredFrobenius, 2, False), of_one_weight(Frobenius, 1, False),
    of_one_weight(SquaredDistance, 2, True), of_one_weight(Distance, 1, True), of_one_weight(TraceDistance, 1, True),
    log_det, budget, lambda at: lambda side: Zero(),
)  # fmt: skip


def regularizer(at: Composing, depth: int = 0) -> Made:
    """A base, or a norm of all or some entries, perhaps of the distance to a prior, beside another regularizer."""
    if at.rng.random() < (0.5, 0.35, 0.0)[depth]:
        rest = regularizer(at, depth + 1)
        reg, kind = at.number(at.t / at.unit, -4, 3), int(at.rng.integers(4))
        prior = at.array(at.positive(), at.unit) if at.rng.random() < 0.4 else (None, None)
        at.of.notes.append(
            ("l1", "l1 off the diagonal", "norm", "trace norm")[kind] + ", prior" * (prior[0] is not None)
        )
        if kind < 2:
            return lambda side: EntrywiseL1(reg[side], rest(side), diagonal=kind == 0, prior=prior[side])
        return lambda side: (Distance if kind == 2 else TraceDistance)(reg[side], prior[side], rest(side))
    if at.cone.diagonal and at.rng.random() < 0.2:
        return quadratic_form(at)
    return BASES[int(at.rng.integers(len(BASES)))](at)


# Problems -------------------------------------------------------------------------------------------------------------


def cone_of(of: Draw, d: int, kind: str) -> Cone:
    if kind == "blocks" and d > 1:
        cut = int(of.rng.integers(1, d))
        return BlockDiagonal([cut, d - cut])
    return NonnegativeDiagonal(d) if kind == "diagonal" else PSDCone(d)


def composed(focus: str) -> Callable[[Draw], Case]:
    def make(of: Draw) -> Case:
        rng, (n, d) = of.rng, of.X0.shape
        t = power(2 * rng.integers(-150, 151)) if of.kind in ("weights", "everything") and rng.random() < 0.3 else 1
        X, groups = (of.X, of.X0), [np.arange(n)]
        kind = str(rng.choice(["full", "full", "diagonal", "blocks"]))
        cone = cone_of(of, d, focus if focus == "blocks" else kind)
        if focus == "shared points":
            task = np.arange(n) % 2
            X = shared_points(X[0], task), shared_points(X[1], task)
            cone, groups = BlockDiagonal([d] * 3), [np.flatnonzero(task == number) for number in range(2)]
        at = Composing(of, cone, X, of.margin, Fraction(t), groups)
        kinds: Any = {
            "rankings": LISTS, "rewards": (*REWARDS, itakura_saito), "user terms": (own_loss, *LISTED, *LISTS),
            "comparisons": LISTED, "log det": (itakura_saito, *LISTED),
        }.get(focus, (*LISTED, *LISTS))  # fmt: skip
        kinds = [one for one in kinds if of.margin == 1 or one not in FIXED]
        if not kinds:
            raise RedrawError
        count = int(rng.integers(2, 5)) if focus == "sums" else 1 + (rng.random() < 0.2)
        chosen = [kinds[int(rng.integers(len(kinds)))] for _ in range(count)]
        of.notes += [f"{cone!r}", *(one.__name__ for one in chosen)]
        risks = [one(at) for one in chosen]
        user = int(rng.integers(4)) if focus == "user terms" else -1
        if focus == "rewards" and rng.random() < 0.7:
            omega = (budget, log_det)[int(rng.integers(2))](at)
        else:
            omega = log_det(at) if focus == "log det" else elastic(at) if user == 0 else regularizer(at)
        G: tuple[Any, Any] = (None, None)
        if rng.random() < 0.3:
            # With some chance the problem is unbounded.
            definite = rng.random() < 0.85
            G = at.array(at.positive(0.0) if definite else at.positive(0.0) - at.positive(), at.t / at.unit)
            of.notes.append("G" if definite else "any G")

        def made(side: int, constrained: bool = True) -> Any:
            parts = [risk(side) for risk in risks]
            risk = parts[0] if len(parts) == 1 else SumRisk(*parts)
            problem = cm.MetricProblem(risk, omega(side), G=G[side])
            return problem.subject_to(*user_terms(side)) if user > 0 and constrained else problem

        size, price = at.number(at.unit, -2, 4), at.number(at.t / at.unit, -4, 3)
        trace = cp.sum if cone.diagonal else cp.trace

        def user_terms(side: int) -> tuple[Any, Any]:
            within = (lambda W: [trace(W) <= size[side]]) if user & 1 else None
            norm = (lambda W: price[side] * cp.norm(cp.vec(W, order="F"))) if user & 2 else None
            return within, norm

        if user >= 0:
            of.notes.append(("own regularizer", "constraint", "own term", "constraint, own term")[user])
        relaxed = (lambda: made(1, False)) if user > 0 else None
        return Case(lambda: made(0), lambda: made(1), at.t, at.slack, relaxed, at.unit)

    return make


def estimators(of: Draw) -> Case:
    """What estimators make of labels by default: drawn triplets and pairs, projections and representatives."""
    X, y = of.X, of.y
    made: tuple[Callable[[], BaseEstimator], ...] = (
        cm.MLR, lambda: cm.MLR(measure="ndcg", prior="identity"), cm.LargeMargin, cm.OperatorMarginMetric,
        cm.RandomProjectionMetric, cm.RelativeComparisonMetric,
    )  # fmt: skip
    chosen = made[int(of.rng.integers(len(made)))]()
    of.notes.append(type(chosen).__name__)
    return Case(lambda: chosen.problem(X, y), None)


FOCUSES = (
    "comparisons", "rankings", "regularizers", "log det", "rewards", "sums", "blocks", "shared points", "user terms"
)  # fmt: skip
COMPOSED: dict[str, Callable[[Draw], Case]] = {f"composed, {focus}": composed(focus) for focus in FOCUSES} | {
    "estimators": estimators,
}
