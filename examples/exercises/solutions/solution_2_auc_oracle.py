r"""Solution of exercise 2.

A pair is worth inverting if its term :math:`1 - 2 (z_j - x_i)` is positive, :math:`z_j < x_i + 1/2`. These choices are
a ranking: sort all items by :math:`x_i + 1/2` and :math:`z_j`. So the maximum over rankings is that over free choices,
and the value is the mean of :math:`\max(0, 1 - 2 (z_j - x_i))`: a hinge for each pair.

Cutting planes: at every metric each query's worst ranking joins the program, whose value can only rise. CVXPY's metric
may miss the cone by 1e-9 or so; its positive part is a metric, and only the objective there is an upper bound.

For average precision the loss of inverting a pair depends on how many others are inverted, so that there are no terms
of single pairs to choose from.
"""

import numpy as np


def worst_value(x, z):
    """Mean of the hinges."""
    return np.maximum(0.0, 1.0 - 2.0 * (z[None, :] - x[:, None])).mean()


def worst_ranking(x, z):
    """How many z are below x + 1/2."""
    return np.searchsorted(np.sort(z), x + 0.5, side="left")


def cutting_planes(problem, rows_of, tol):
    """Algorithm 1 with a slack a query."""
    found, W = [], problem.cone.zeros()
    while True:
        found += [problem.ranking(q, rows_of(problem, q, W)) for q in range(len(problem.rankings))]
        program = problem.to_cvxpy(rankings=found)
        lower = program.solve(solver="CLARABEL")
        W = problem.cone.project(program.metric.value)
        if problem.objective(W) - lower <= tol * problem.objective(W):
            return W, lower
