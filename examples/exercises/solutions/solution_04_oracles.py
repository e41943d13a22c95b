r"""Solution of exercise 4.

A pair is worth inverting if its term :math:`1 - 2 (z_j - x_i)` is positive, :math:`z_j < x_i + 1/2`. These choices are
a ranking: sort all items by :math:`x_i + 1/2` and :math:`z_j`. So the maximum over rankings is that over free choices,
and the value is the mean of :math:`\max(0, 1 - 2 (z_j - x_i))`: a hinge for each pair.

The i-th relevant item from the top is in place i + b, and counts 1/p if that is at most p.

Cutting planes: at every metric each query's worst ranking joins the program, whose value can only rise. CVXPY's metric
may miss the cone by 1e-9 or so; its positive part is a metric, and only the objective there is an upper bound.

For average precision the loss of inverting a pair depends on how many others are inverted, so that there are no terms
of single pairs to choose from.
"""

import numpy as np


def worst_value(x, z):
    """Average the hinges."""
    return np.maximum(0.0, 1.0 - 2.0 * (z[None, :] - x[:, None])).mean()


def worst_ranking(x, z):
    """Count the z below x + 1/2."""
    return np.searchsorted(np.sort(z), x + 0.5, side="left")


def gains(i, b, p, n):
    """Count places up to p."""
    return np.where(i + b <= p, 1.0 / p, 0.0)


def own_measure():
    """Give the class its gains."""
    from convexmetric.measures import Measure

    class RPrecision(Measure):
        name, title = "r-precision", "R-precision"

        def gains(self, i, b, p, n):
            return gains(i, b, p, n)

    return RPrecision()


def cutting_planes(problem, rankings_at, tol):
    """Run algorithm 1 of the paper, with a slack a query."""
    found, W = [], problem.cone.zeros()
    while True:
        found += rankings_at(W)
        program = problem.to_cvxpy(rankings=found)
        lower = program.solve(solver="CLARABEL")
        W = problem.cone.project(program.metric.value)
        if problem.objective(W) - lower <= tol * problem.objective(W):
            return W, lower


if __name__ == "__main__":
    import sys

    sys.path.insert(0, sys.path[0] + "/..")
    import checking

    checking.main(globals())
