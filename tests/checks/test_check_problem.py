"""What `check_problem` must let pass: blocks that are right, at the edge of what floats hold; and what it must not."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest
from extensions import TRIPLETS, X, separable

import convexmetric as cm
from convexmetric.checks import problem as checks
from convexmetric.comparisons import PairDistances, Triplets
from convexmetric.cones import PSDCone
from convexmetric.errors import ContractError
from convexmetric.losses import Hinge, Logistic, SmoothLoss
from convexmetric.regularizers import Budget, EntrywiseL1, LogDet, SquaredFrobenius, Trace
from convexmetric.risks import Cuts, Risk, RiskStatement, SeparableRisk, SmoothSeparableRisk

CONE = PSDCone(3)


class NearestPair(Risk):
    """Minus the least squared distance of some pairs: negative, and not smooth."""

    parts, part_kind = 1, "set of pairs"

    def __init__(self, pairs):
        self.pairs, self.cone = pairs, pairs.cone

    def value(self, M):
        return -float(self.pairs.forward(M).min())

    def part_values(self, M):
        return np.array([self.value(M)])

    def separate(self, M, groups):
        nearest = np.zeros(len(self.pairs))
        nearest[self.pairs.forward(M).argmin()] = 1.0
        normal = self.cone.coordinates(self.pairs.adjoint(nearest))
        return Cuts(np.array([self.value(M)]), np.zeros(1), normal[None])

    def worst_comparisons(self, parts, M, other=None):
        return []

    def statement(self, M):
        t = cp.Variable()
        return RiskStatement(t, [-self.pairs.expression(M) <= t], lambda: None)


@dataclass(frozen=True)
class Exponential(SmoothLoss):
    """``exp(-s)``, with ``-l*(-u) = u - u log u``."""

    excess: float = 0.0

    @property
    def nonnegative(self):
        return True

    def values(self, s):
        return np.exp(-s)

    def subgradient(self, s):
        return np.exp(-s)

    def curvature(self, s):
        return np.exp(-s)

    def clip(self, u):
        return np.maximum(u, 0.0)

    def dual_values(self, u):
        u = self.clip(u)
        return u - u * np.log(np.where(u > 0.0, u, 1.0)) + self.excess

    def statement(self, s):
        t = cp.Variable(s.shape)
        return cp.sum(cp.exp(-t)), s >= t


class Step(Exponential):
    """Infinite from one margin on, and does not say so."""

    def values(self, s):
        return np.where(s < -3.0, np.inf, super().values(s))


class OverflowingLogistic(Logistic):
    """``log(1 + exp(-s))`` as it is written: infinite where it is 710."""

    def values(self, s):
        return self.C * np.log(1.0 + np.exp(-s))


class NotConvex(Exponential):
    """CVXPY refuses its statement."""

    def statement(self, s):
        t = cp.Variable(s.shape)
        return cp.sum(cp.sqrt(cp.exp(-t))), s >= t


class RaisedBudget(Budget):
    """Bounds that are too high by a share."""

    share = 1e-6

    def bound(self, value, S, G, cone, hint):
        bound = super().bound(value, S, G, cone, hint)
        return bound + self.share * abs(bound)


def far(loss):
    """Triplets with margins so different that exponentials of some overflow where others are small."""
    scales = np.where(np.arange(12) < 3, 40.0, 1.0)[:, None]
    return cm.MetricProblem(SmoothSeparableRisk(Triplets(X * scales, TRIPLETS, CONE), loss), Trace(1.0))


@pytest.mark.parametrize("seed", range(2))
def test_numbers_next_to_zero_are_rounding(seed):
    # Metrics at which <G, M> is the rounding of larger terms, and values as small as CLARABEL's tolerance.
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(12, 2, replace=False) for _ in range(30)])
    A = CONE.identity() if seed % 2 else X.T @ X
    risk = NearestPair(PairDistances(X, pairs, np.ones(30), CONE))
    for random_state in range(3):
        cm.check_problem(cm.MetricProblem(risk, Budget(A)), random_state)


@pytest.mark.parametrize("random_state", range(2))
def test_a_loss_may_overflow(random_state):
    cm.check_problem(far(Exponential()), random_state)


@pytest.mark.parametrize("random_state", range(2))
@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (Exponential(1e-3), "loss Exponential: -l"),
        (Step(), "must be finite, got inf where no float overflows"),
        (OverflowingLogistic(), "must be finite, got inf where no float overflows"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_loss_that_overflows_hides_nothing(loss, message, random_state):
    with pytest.raises(ContractError, match=message):
        cm.check_problem(far(loss), random_state)


def test_metrics_may_be_of_any_size():
    # Rounding makes large matrices more asymmetric than the 1e-10 that CVXPY allows.
    for scale in (1e-8, 1e-3, 1e4, 1e8):
        risk = SeparableRisk(Triplets(scale * X, TRIPLETS, CONE), Hinge(0.1))
        cm.check_problem(cm.MetricProblem(risk, Trace(scale**2)))


def test_what_cvxpy_refuses_is_named():
    with pytest.raises(ContractError, match=r"loss NotConvex: its CVXPY statement .* CVXPY says: Problem does not"):
        cm.check_problem(separable(NotConvex()))

    class Asymmetric(SquaredFrobenius):
        def expression(self, M, cone):
            cp.Variable(cone.shape, symmetric=True).value = np.triu(np.ones(cone.shape))

    with pytest.raises(ContractError, match=r"regularizer Asymmetric: its CVXPY expression .* must be symmetric"):
        cm.check_problem(separable(regularizer=Asymmetric(1.0)))


@pytest.mark.parametrize("random_state", range(2))
def test_bounds_are_wrong_by_more_than_rounding(random_state):
    problem = separable(regularizer=RaisedBudget(np.eye(3)))
    with pytest.raises(ContractError, match="regularizer RaisedBudget: bound"):
        cm.check_problem(problem, random_state)
    problem.regularizer.share = 1e-12
    cm.check_problem(problem, random_state)


@pytest.mark.integration
def test_few_programs_are_solved_where_each_is_long(monkeypatch):
    solved, minimised = [], checks._minimised
    monkeypatch.setattr(checks, "_minimised", lambda stated: (solved.append(stated), minimised(stated))[1])
    wine = cm.datasets.load("wine")
    points = cm.datasets.preprocess(wine.X, ["zscore"])
    cm.check_problem(cm.InformationTheoreticProblem.from_labels(points, wine.y, 400, random_state=0))
    # 13 features have 91 coordinates, and statements add a few.
    assert 1 <= len(solved) <= checks.SEARCHES_OF_ONE // 91 + 5
    solved.clear()
    cm.check_problem(separable(regularizer=EntrywiseL1(0.1, LogDet(CONE.identity()))))
    assert len(solved) >= 40
