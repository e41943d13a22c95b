"""Stochastic steps on a factor: their mean is the gradient, the start, and what the paper's first steps do."""

import warnings

import numpy as np
import pytest
from test_low_rank_descent import PROBLEMS, labelled

import convexmetric as cm
from convexmetric.approximate.batches import TripletSampler
from convexmetric.approximate.low_rank_descent import PairwiseFactor
from convexmetric.errors import GapWarning
from convexmetric.solvers import Monitor


def factor_of(problem):
    return PairwiseFactor(problem, problem.risk, Monitor(1e-6))


def first_steps(solver, problem, steps):
    """The factors of the first steps, and the start before them."""
    factor = factor_of(problem)
    state = solver.state(factor)
    found = [state.iterate]
    for t, L in solver.factors(factor, 2.0 * problem.regularizer.reg, state):
        found.append(L)
        if t == steps:
            return found
    raise AssertionError("it has no end")


@pytest.mark.parametrize("sizes", [{}, {"batch_similar": 3, "batch_dissimilar": 90}], ids=str)
@pytest.mark.parametrize("name", list(PROBLEMS))
def test_the_mean_of_the_batches_is_the_gradient(name, sizes):
    problem = PROBLEMS[name]()
    factor, rng = factor_of(problem), np.random.default_rng(3)
    solver = cm.approximate.StochasticLowRank(batch=3_000, **sizes)
    draws = TripletSampler(factor.risk.rankings, factor.risk.weights)
    L = 0.4 * rng.normal(size=(3, problem.cone.d))
    found = np.array([solver.gradient(factor, draws, L, rng) for _ in range(60)])
    G = problem.cone.zeros() if problem.G is None else problem.G
    full = 2.0 * L @ (G - problem.risk.smoothed(L.T @ L, 0.0).point.S)
    error = found.std(axis=0) / np.sqrt(len(found)) + 1e-12
    assert (abs(found.mean(axis=0) - full) / error).max() < 5.0


def test_the_start_is_as_large_as_asked_for():
    problem = labelled()
    for margins in (0.5, 3.0):
        start = first_steps(cm.approximate.StochasticLowRank(4, batch=20, start=margins, random_state=0), problem, 1)[0]
        assert problem.risk.largest_margin(start.T @ start) == pytest.approx(margins)
    start = first_steps(
        cm.approximate.StochasticLowRank(4, batch=20, start=None, uniform=True, random_state=0), problem, 1
    )[0]
    assert start.shape == (4, 7)
    assert 0.0 < start.min() < start.max() < 1.0


def test_the_first_step_keeps_what_the_first_batch_spans():
    problem = labelled()
    start, first = first_steps(cm.approximate.StochasticLowRank(7, batch=1, random_state=0), problem, 1)
    assert np.linalg.matrix_rank(start) == 7
    assert np.linalg.matrix_rank(first, tol=1e-9) <= 2
    start, first = first_steps(cm.approximate.StochasticLowRank(7, batch=1, delay=5, random_state=0), problem, 1)
    assert np.linalg.matrix_rank(first, tol=1e-9) == 7


def test_it_ends_where_the_factor_overflows():
    problem = labelled(reg=1e-6)
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        found = cm.solve(problem, solver=cm.approximate.StochasticLowRank(4, batch=20, epochs=3, random_state=0))
    assert found.history[-1].details["passes"] < 3
    assert np.isfinite(found.upper_bound)
