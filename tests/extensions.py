"""Blocks of problems as a user would write them: right ones, and wrong ones that must be found out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import cvxpy as cp
import numpy as np

import convexmetric as cm
from convexmetric.comparisons import Rankings, Relevance, Triplets
from convexmetric.cones import Cone, NonnegativeDiagonal, PSDCone
from convexmetric.losses import BoxLoss, Hinge, Logistic, Loss, SmoothLoss
from convexmetric.measures import AUC, AveragePrecision, Measure
from convexmetric.regularizers import NormWeights, Regularizer, SquaredFrobenius, Trace
from convexmetric.risks import Cuts, Minorant, PairwiseRisk, RankingRisk, SeparableRisk, SmoothSeparableRisk


class ExpectedReciprocalRank(Measure):
    """``sum_i (1 - grade)^(i - 1) / (i + b_i)`` over the same of the perfect ranking (Chapelle et al., 2009).

    Parameters
    ----------
    grade : float
        With what probability a relevant item ends the search.
    """

    name: ClassVar[str] = "err"
    title: ClassVar[str] = "expected reciprocal rank"

    def __init__(self, grade: float = 0.5) -> None:
        self.grade = grade

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> np.ndarray:
        """What the search is worth if it ends at item i."""
        weights = (1.0 - self.grade) ** np.arange(np.max(p))
        perfect = np.cumsum(weights / np.arange(1, np.max(p) + 1))
        return weights[i - 1] / (i + b) / perfect[p - 1]


class LastPair(AUC):
    """A subclass with gains of its own: the share of irrelevant items below the lowest relevant one."""

    name: ClassVar[str] = "last"

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> np.ndarray:
        """All of it from the last item."""
        return np.where(i == p, (n - b) / n, 0.0)


class RenamedPrecision(AveragePrecision):
    """A subclass that only has another title."""

    title: ClassVar[str] = "area under the precision-recall curve"


class Doubled(Measure):
    """Gains above 1."""

    name: ClassVar[str] = "doubled"

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> np.ndarray:
        """Twice the reciprocal rank."""
        return np.where(i == 1, 2.0 / (1.0 + b), 0.0)


class Imperfect(Measure):
    """The perfect ranking does not score 1."""

    name: ClassVar[str] = "imperfect"

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> np.ndarray:
        """Half the reciprocal rank."""
        return np.where(i == 1, 0.5 / (1.0 + b), 0.0)


class Undefined(Measure):
    """Gains that are no numbers where nothing is above."""

    name: ClassVar[str] = "undefined"

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> np.ndarray:
        """``b / b``."""
        with np.errstate(invalid="ignore"):
            return b / (b * p)


class ClaimsPairs(ExpectedReciprocalRank):
    """Says that it is a mean over pairs, and is not."""

    pairwise: ClassVar[bool] = True


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """A right loss that the package does not have: ``C max(0, 1 - s)^2``, with ``-l*(-u) = u - u^2 / (4 C)``."""

    C: float = 0.1

    @property
    def nonnegative(self) -> bool:
        """A square."""
        return True

    def values(self, s):
        """The formula."""
        return self.C * np.maximum(0.0, 1.0 - s) ** 2

    def subgradient(self, s):
        """Minus the derivative."""
        return 2.0 * self.C * np.maximum(0.0, 1.0 - s)

    def clip(self, u):
        """No upper end."""
        return np.maximum(u, 0.0)

    def dual_values(self, u):
        """A parabola."""
        return u - u**2 / (4.0 * self.C)

    def statement(self, s):
        """Squares of slacks."""
        xi = cp.Variable(s.shape, nonneg=True)
        return self.C * cp.sum_squares(xi), s >= 1.0 - xi


class Lowered(SquaredHinge):
    """Values down to -C that claim to be nonnegative; everything else is right."""

    def values(self, s):
        """Lower by C."""
        return super().values(s) - self.C

    def dual_values(self, u):
        """Lower by C."""
        return super().dual_values(u) - self.C


class HonestlyLowered(Lowered):
    """The same loss, which does not claim it: right."""

    @property
    def nonnegative(self) -> bool:
        """It is not."""
        return False

    def statement(self, s):
        """Lower by C for every comparison."""
        cost, constraint = super().statement(s)
        return cost - self.C * s.size, constraint


class TooLargeConjugate(SquaredHinge):
    """What multipliers prove is one per cent too much."""

    def dual_values(self, u):
        """Times 1.01."""
        return 1.01 * super().dual_values(u)


class NotANumber(SquaredHinge):
    """NaN far below the margin."""

    def values(self, s):
        """NaN from one margin on."""
        return np.where(s < -5.0, np.nan, super().values(s))


class TurnedSubgradient(SquaredHinge):
    """The derivative, where minus the derivative is asked for."""

    def subgradient(self, s):
        """The wrong sign."""
        return -super().subgradient(s)


class Bent(SquaredHinge):
    """Not convex: capped."""

    def values(self, s):
        """At most 2 C."""
        return np.minimum(super().values(s), 2.0 * self.C)


class OtherStatement(SquaredHinge):
    """CVXPY solves another problem."""

    def statement(self, s):
        """Slacks that are not squared."""
        xi = cp.Variable(s.shape, nonneg=True)
        return self.C * cp.sum(xi), s >= 1.0 - xi


class NarrowClip(SquaredHinge):
    """Its own subgradients do not survive clipping, so that cuts lose their meaning."""

    def clip(self, u):
        """Cut at C / 10."""
        return np.clip(u, 0.0, 0.1 * self.C)


class OtherBox(Hinge):
    """Solvers that ask for the box solve another problem."""

    def box(self, size):
        """Twice the weight."""
        return BoxLoss.hinge(np.full(size, 2.0 * self.C), np.full(size, self.margin))


class OtherHinges(Hinge):
    """Solvers that ask for hinges solve another problem."""

    def hinges(self, size):
        """Twice the weight."""
        return np.full(size, 2.0 * self.C), np.full(size, self.margin)

    def box(self, size):
        """The right one."""
        return BoxLoss.hinge(np.full(size, self.C), np.full(size, self.margin))


class OtherForm(RankingRisk):
    """Solvers that ask for pairs solve another problem."""

    def as_form(self, kind):
        """Twice the weights."""
        pairs = super().as_form(kind)
        return PairwiseRisk(pairs.rankings, 2.0 * pairs.weights, pairs.margin) if kind is PairwiseRisk else pairs


class OtherWeights(SquaredFrobenius):
    """Solvers that ask for weights of norms solve another problem."""

    def weights(self):
        """A trace that is not there."""
        return NormWeights(trace=1.0, squared=float(self.reg))

    def linear(self, cone):
        """The right one."""
        return cone.coordinates(cone.zeros())


class FlatCurvature(Logistic):
    """Half of its second derivative."""

    def curvature(self, s):
        """Too small."""
        return 0.5 * super().curvature(s)


class TooHighBound(SquaredFrobenius):
    """Bounds that are two per cent too high."""

    def bound(self, value, S, G, cone, hint):
        """Two per cent more where it is positive."""
        bound = super().bound(value, S, G, cone, hint)
        return bound + 0.02 * abs(bound)


class UnclippedBound(Trace):
    """A dual point that is not feasible is taken as it is."""

    def bound(self, value, S, G, cone, hint):
        """No shrinking."""
        return value


class OtherQuadratic(SquaredFrobenius):
    """Solvers that ask for the quadratic part solve another problem."""

    def quadratic(self, cone):
        """Twice as much."""
        return 2.0 * self.reg


class ForgottenQuadratic(SquaredFrobenius):
    """``||M||_F^2 + tr M`` that says it is the square alone."""

    def value(self, M, cone):
        """With the trace."""
        return super().value(M, cone) + cone.trace(M)


class RaisedBound(Trace):
    """A negative bound raised to zero where the metric zero is no minimum: the linear term outweighs the trace."""

    def bound(self, value, S, G, cone, hint):
        bound = super().bound(value, S, G, cone, hint)
        return bound if bound == -np.inf else max(0.0, bound)


class ConcaveRegularizer(Trace):
    """The root of the trace, which is not convex."""

    def value(self, M, cone):
        """A root."""
        return self.reg * np.sqrt(cone.trace(M))


class RegularizerNotANumber(Trace):
    """NaN at zero."""

    def value(self, M, cone):
        """0 / 0."""
        trace = cone.trace(M)
        return super().value(M, cone) if trace > 0.0 else np.nan


class OtherExpression(Trace):
    """CVXPY gets another penalty."""

    def expression(self, M, cone):
        """Half of it."""
        return 0.5 * super().expression(M, cone)


class HighCuts(SeparableRisk):
    """Cuts that are right where they are made, and too steep: above the risk elsewhere."""

    def separate(self, M, groups):
        """Twice the normals, and offsets that make up for it at M."""
        cuts = super().separate(M, groups)
        return Cuts(cuts.values, cuts.offsets + cuts.normals @ self.cone.coordinates(M), 2.0 * cuts.normals)


class LooseCuts(SeparableRisk):
    """Cuts that do not touch the risk."""

    def separate(self, M, groups):
        """Offsets cut by half."""
        cuts = super().separate(M, groups)
        return Cuts(cuts.values, 0.5 * cuts.offsets, cuts.normals)


class OtherParts(SeparableRisk):
    """Parts that do not add up to the risk."""

    def part_values(self, M):
        """The first is left out."""
        parts = super().part_values(M)
        parts[0] = 0.0
        return parts


class TurnedParts(SeparableRisk):
    """Parts that add up to the risk, in another order than those of its cuts."""

    def part_values(self, M):
        """The last is the first."""
        return super().part_values(M)[::-1]


class HighFloor(SeparableRisk):
    """A floor above the risk."""

    @property
    def nonnegative(self) -> bool:
        """It has a floor instead."""
        return False

    def floor(self):
        """The risk at zero, everywhere."""
        return Minorant(self.value(self.cone.zeros()), self.cone.zeros())


class SilentlyHard(SeparableRisk):
    """Constraints that it does not speak of."""

    @property
    def hard(self) -> bool:
        """They are."""
        return False


class InfiniteCuts(SeparableRisk):
    """Normals that are not finite."""

    def separate(self, M, groups):
        """Divided by zero."""
        cuts = super().separate(M, groups)
        return Cuts(cuts.values, cuts.offsets, np.full_like(cuts.normals, np.inf))


class OtherAdjoint(Triplets):
    """An adjoint of another operator."""

    def adjoint(self, u):
        """Twice the adjoint."""
        return 2.0 * super().adjoint(u)


class OtherCoordinates(PSDCone):
    """Coordinates that are no isometry."""

    def coordinates(self, S):
        """Without the root of two."""
        return S[..., *np.triu_indices(self.d)]

    def from_coordinates(self, v):
        """Its inverse."""
        S = np.zeros((*v.shape[:-1], self.d, self.d))
        rows, columns = np.triu_indices(self.d)
        S[..., rows, columns] = v
        S[..., columns, rows] = v
        return S


class OtherC(cm.RelativeComparisonProblem):
    """Forgets that the risk is proportional to C."""

    def with_C(self, C: float) -> cm.RelativeComparisonProblem:
        """Itself, for every C."""
        return super().with_C(1.0)


class HighDualBound(cm.MetricProblem):
    """Lower bounds that are not."""

    def dual_bound(self, dual, hint=None):
        """Half of the objective at zero more."""
        return super().dual_bound(dual, hint) + 0.5 * self.value(self.cone.zeros())


class OtherPenalty(cm.MetricProblem):
    """A penalty that its regularizer does not know of."""

    def penalty(self, M):
        """Half of it."""
        return 0.5 * super().penalty(M)


class Restless(cm.MetricProblem):
    """A name that changes with use."""

    def value(self, M):
        """Counts."""
        self.constant += 1e-300
        return super().value(M)


X = np.random.default_rng(0).normal(size=(12, 3))
TRIPLETS = np.array([np.random.default_rng(seed).choice(12, 3, replace=False) for seed in range(20)])


def separable(
    loss: Loss | None = None,
    regularizer: Regularizer | None = None,
    risk: type[SeparableRisk] = SeparableRisk,
    cone: Cone | None = None,
    comparisons: type[Triplets] = Triplets,
    G: Any = None,
) -> cm.MetricProblem:
    """Twenty triplets of twelve points, with one block or the other of a user's own."""
    cone = PSDCone(3) if cone is None else cone
    risk = SmoothSeparableRisk if isinstance(loss, SmoothLoss) else risk
    terms = risk(comparisons(X, TRIPLETS, cone), Hinge(0.1) if loss is None else loss)
    return cm.MetricProblem(terms, Trace(0.1) if regularizer is None else regularizer, G=G)


def ranking(
    measure: Measure,
    cone: Cone | None = None,
    regularizer: Regularizer | None = None,
    risk: type[RankingRisk] = RankingRisk,
) -> cm.MetricProblem:
    """Four queries with lists of their own."""
    lists = [[0, 1], [2, 3, 4], [5], [6, 7]], [[2, 5, 8], [0, 6, 9], [1, 7, 10, 11], [3]]
    cone = PSDCone(3) if cone is None else cone
    rankings = Rankings(X, X[:4] + 0.1, Relevance.from_lists(*lists, 4, 12), cone)
    return cm.MetricProblem(risk(rankings, measure, 20.0), Trace(1.0) if regularizer is None else regularizer)


def asymmetric() -> cm.MetricProblem:
    """G set behind the constructor's back."""
    problem = separable(regularizer=SquaredFrobenius(1.0))
    problem.G = np.triu(np.ones((3, 3)))
    return problem


#: Blocks of a user's own that keep their contracts.
RIGHT: dict[str, Callable[[], cm.MetricProblem]] = {
    "squared hinge": lambda: separable(SquaredHinge()),
    "squared hinge, diagonal": lambda: separable(SquaredHinge(), cone=NonnegativeDiagonal(3)),
    "negative loss": lambda: separable(HonestlyLowered(), SquaredFrobenius(0.5)),
    "expected reciprocal rank": lambda: ranking(ExpectedReciprocalRank()),
    "gains of its own": lambda: ranking(LastPair(), NonnegativeDiagonal(3)),
    "another title": lambda: ranking(RenamedPrecision()),
}

#: Blocks that break theirs, and what the error must say: block and rule.
WRONG: dict[str, tuple[Callable[[], cm.MetricProblem], str]] = {
    "negative values": (lambda: separable(Lowered()), "loss Lowered: 0 must be at most l(s), as it says"),
    "conjugate": (lambda: separable(TooLargeConjugate()), "loss TooLargeConjugate: -l*(-u) - u s"),
    "loss NaN": (lambda: separable(NotANumber()), "loss NotANumber: values(s) must be finite, got nan"),
    "subgradient": (lambda: separable(TurnedSubgradient()), "loss TurnedSubgradient: l(s) - u (s' - s)"),
    "not convex": (lambda: separable(Bent()), "loss Bent: "),
    "statement": (lambda: separable(OtherStatement()), "loss OtherStatement: its CVXPY statement"),
    "clip": (lambda: separable(NarrowClip()), "loss NarrowClip: clip must leave subgradients"),
    "hinges": (lambda: separable(OtherHinges(0.1)), "loss OtherHinges: hinges must be the same loss"),
    "weights": (lambda: separable(regularizer=OtherWeights(0.5)), "regularizer OtherWeights: Omega(M) must be weights"),
    "form": (lambda: ranking(AUC(), risk=OtherForm), "risk OtherForm: its form as PairwiseRisk"),
    "box": (lambda: separable(OtherBox(0.1)), "loss OtherBox: box must be the same loss"),
    "curvature": (lambda: separable(FlatCurvature(0.1)), "loss FlatCurvature: curvature"),
    "bound": (lambda: separable(regularizer=TooHighBound(0.5)), "regularizer TooHighBound: bound(v, S, G)"),
    "unclipped": (lambda: separable(regularizer=UnclippedBound(0.1)), "regularizer UnclippedBound: bound(v, S, G)"),
    "raised": (lambda: separable(regularizer=RaisedBound(0.1)), "regularizer RaisedBound: bound(v, S, G)"),
    "quadratic": (lambda: separable(regularizer=OtherQuadratic(0.5)), "regularizer OtherQuadratic: "),
    "forgotten": (lambda: separable(regularizer=ForgottenQuadratic(0.5)), "regularizer ForgottenQuadratic: "),
    "concave": (lambda: separable(regularizer=ConcaveRegularizer(0.5)), "regularizer ConcaveRegularizer: Omega("),
    "regularizer NaN": (
        lambda: separable(regularizer=RegularizerNotANumber(0.5)),
        "regularizer RegularizerNotANumber: value(M) must be numbers, got nan",
    ),
    "expression": (lambda: separable(regularizer=OtherExpression(0.5)), "regularizer OtherExpression: its CVXPY"),
    "cuts": (lambda: separable(risk=HighCuts), "risk HighCuts: offset - <normal, M'> of a cut must be at most"),
    "loose cuts": (lambda: separable(risk=LooseCuts), "risk LooseCuts: offset - <normal, M> of a cut must be the risk"),
    "parts": (lambda: separable(risk=OtherParts), "risk OtherParts: value must be the sum of part_values"),
    "parts of cuts": (
        lambda: separable(risk=TurnedParts),
        "risk TurnedParts: values of cuts must be the sums of part_values over their groups",
    ),
    "floor": (lambda: separable(risk=HighFloor), "risk HighFloor: its floor, value - <S, M>, must be at most R(M)"),
    "hard margins": (
        lambda: separable(Hinge(np.inf), risk=SilentlyHard),
        "risk SilentlyHard: value(M) must be finite, as it does not say",
    ),
    "infinite cuts": (lambda: separable(risk=InfiniteCuts), "risk InfiniteCuts: normals of cuts must be finite"),
    "adjoint": (lambda: separable(comparisons=OtherAdjoint), "risk SeparableRisk: offset - <normal, M> of a cut"),
    "coordinates": (lambda: separable(cone=OtherCoordinates(3)), "risk SeparableRisk: offset - <normal, M'> of a cut"),
    "G": (asymmetric, "regularizer SquaredFrobenius: bound(v, S, G)"),
    "with_C": (lambda: OtherC(X, TRIPLETS), "problem OtherC: with_C must change the fingerprint"),
    "dual bound": (
        lambda: HighDualBound(separable().risk, SquaredFrobenius(0.1)),
        "problem HighDualBound: dual_bound must be at most the objective at any metric",
    ),
    "penalty": (lambda: OtherPenalty(separable().risk, Trace(1.0)), "problem OtherPenalty: penalty must be <G, M>"),
    "fingerprint": (
        lambda: Restless(separable().risk, Trace(1.0)),
        "problem Restless: its fingerprint must not change with use",
    ),
    "pairwise": (lambda: ranking(ClaimsPairs()), "measure ClaimsPairs: it says that it is pairwise"),
    "gains above 1": (lambda: ranking(Doubled()), "measure Doubled: gains must be in [0, 1]"),
    "perfect ranking": (lambda: ranking(Imperfect()), "measure Imperfect: the perfect ranking must score 1"),
    "gains NaN": (lambda: ranking(Undefined()), "measure Undefined: gains must be in [0, 1]"),
}
