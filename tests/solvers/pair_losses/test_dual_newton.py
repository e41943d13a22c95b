"""Newton's method on the dual against CLARABEL, over shapes, scales and losses."""

import warnings

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.comparisons import PairDistances
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import GapWarning, InputError, UnsupportedProblemError
from convexmetric.losses import BoxLoss
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import Frobenius, SquaredFrobenius, Trace
from convexmetric.risks import SeparableRisk


def made(seed, kind="hinge", regularizer=None, n=12, d=4, T=30, scale=1.0, cone=PSDCone):
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(n, d))
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(T)])
    c = np.full(T, 1.0 / T)
    if kind == "hinge":
        signs = rng.choice([-1.0, 1.0], T)
        loss = BoxLoss.hinge(c, np.where(signs < 0.0, 0.0, 2.0), signs < 0.0)
    else:
        signs, y = np.ones(T), rng.random(T)
        loss = BoxLoss.absolute_error(c, y) if kind == "absolute" else BoxLoss.squared_error(c, y)
    risk = SeparableRisk(PairDistances(X, pairs, signs, cone(d)), loss)
    return MetricProblem(risk, regularizer or Frobenius(0.05 * scale**2))


KINDS = ["hinge", "absolute", "squared"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("regularizer", [Frobenius(0.01), SquaredFrobenius(0.05)], ids=["norm", "squared norm"])
@pytest.mark.parametrize("seed", range(3))
def test_it_closes_the_gap_of_pairs_in_many_features(kind, regularizer, seed):
    problem = made(seed, kind, regularizer, 40, 40, 60, scale=0.1)
    # With other processors' rounding the last steps gain nothing from 8e-8 on.
    solution = cm.solve(problem, 1e-7, solver="dual-newton")
    assert solution.status == "optimal"
    again = cm.certify(problem, solution.certificate.M, solution.certificate.dual)
    assert again.gap <= 1e-7


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("regularizer", [None, SquaredFrobenius(0.05)], ids=["norm", "squared norm"])
@pytest.mark.parametrize("seed", range(4))
def test_its_bounds_hold_clarabels_optimum(kind, regularizer, seed):
    """In few features it may end early; what it certifies is true, and the default goes on from there."""
    problem = made(seed, kind, regularizer)
    expected = cm.solve(problem, 1e-6, solver="clarabel")
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        solution = cm.solve(problem, 1e-7, solver="dual-newton")
    assert solution.upper_bound >= expected.lower_bound
    assert solution.lower_bound <= expected.upper_bound
    whole = cm.solve(problem, 1e-6)
    assert whole.status == "optimal"
    assert whole.upper_bound == pytest.approx(expected.upper_bound, rel=2e-6)


@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_units_do_not_matter(scale):
    one, other = (cm.solve(made(1, scale=s), 1e-7, solver="dual-newton") for s in (1.0, scale))
    assert other.status == "optimal"
    assert other.upper_bound == pytest.approx(one.upper_bound, rel=1e-6)


@pytest.mark.parametrize("reg", [1e-4, 1e-2, 1.0, 100.0])
def test_weights_from_hardly_any_to_too_much(reg):
    problem = made(2, regularizer=Frobenius(reg))
    solution = cm.solve(problem, 1e-7)
    assert solution.status == "optimal"
    if reg == 100.0:
        # No metric is worth its norm: the hinges at zero are the optimum.
        assert solution.upper_bound == pytest.approx(problem.risk.value(problem.cone.zeros()), rel=1e-7)


@pytest.mark.parametrize("d", [1, 2, 25])
def test_dimensions_below_and_above_the_number_of_points(d):
    assert cm.solve(made(3, d=d), 1e-7).status == "optimal"


def test_a_linear_term():
    given = made(4)
    problem = MetricProblem(given.risk, given.regularizer, G=0.02 * np.diag([0.0, 1.0, 2.0, 3.0]))
    expected = cm.solve(problem, 1e-6, solver="clarabel")
    solution = cm.solve(problem, 1e-6, solver="dual-newton")
    assert solution.upper_bound >= expected.lower_bound
    assert solution.lower_bound <= expected.upper_bound


def test_multipliers_that_can_be_negative_do_not_lose_the_positive_part():
    """Of an absolute error a whole step leads to where nothing of S is positive, and no second one starts there."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(30, 4)) / 8.0
    pairs = np.array([rng.choice(30, 2, replace=False) for _ in range(60)])
    y = np.clip(((X[pairs[:, 0]] - X[pairs[:, 1]])[:, :2] ** 2).sum(axis=1) + 0.1, 0.0, 1.0)
    problem = cm.SimilarityRegressionProblem(X, pairs, y, reg=0.1, loss="absolute")
    assert cm.solve(problem, 1e-6, solver="dual-newton").status == "optimal"


def test_it_ends_when_told_to(monkeypatch):
    with pytest.warns(GapWarning):
        assert cm.solve(made(0), 1e-12, solver="dual-newton", max_iter=2).iterations == 2
    monkeypatch.setattr("convexmetric.solvers.pair_losses.dual_newton.MAX_STEPS", 1)
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        assert cm.solve(made(0), 1e-12, solver="dual-newton").iterations == 1


def test_problems_it_cannot_handle():
    for problem in (
        made(0, regularizer=Trace(1.0)),
        made(0, cone=NonnegativeDiagonal),
        cm.PairMarginProblem.from_labels(np.eye(4), [0, 0, 1, 1]),
    ):
        with pytest.raises((UnsupportedProblemError, InputError), match="dual-newton"):
            cm.solve(problem, solver="dual-newton")
