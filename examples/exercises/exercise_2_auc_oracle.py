r"""
Exercise 2. The most violated ranking for AUC
=============================================

    python examples/exercises/exercise_2_auc_oracle.py

A query has p relevant items at squared distances :math:`x_1, \dots, x_p` and n irrelevant ones at
:math:`z_1, \dots, z_n`. With :math:`Y_{ij} = 1` where a ranking y puts irrelevant item j above relevant item i, metric
learning to rank (McFee and Lanckriet 2010) asks for

.. math:: \max_y \; \frac{1}{p n} \sum_{ij} Y_{ij} - \frac{2}{p n} \sum_{ij} Y_{ij} (z_j - x_i) .

**Task 1.** The sum is over pairs, and each term depends on one entry of Y only. Which pairs would you invert if every
pair could be chosen freely? Write ``worst_value(x, z)``, the largest value of that sum.

**Task 2.** Free choices need not be a ranking: if a is above b and b above c, then a must be above c. Show that yours
are, by giving the ranking: ``worst_ranking(x, z)`` returns for every relevant item the number of irrelevant items above
it. A sort and ``numpy.searchsorted`` do it in O((p + n) log(p + n)).

**Task 3.** Cutting planes are now a dozen lines: the program of the rankings found so far is
``problem.to_cvxpy(rankings=found)``, a CVXPY problem (print it), and ``problem.ranking(q, rows)`` makes a ranking from
the rows of the corpus, top first. Write ``cutting_planes(problem, rows_of, tol)``: start at zero, add the worst ranking
of every query (``rows_of(problem, q, W)`` is made from your task 2 below), solve, and stop when the objective at the
metric is within a relative ``tol`` of the program's value. Return the metric and that value, a lower bound.

**To think about.** Replace the loss by 1 - average precision. Where does the argument of task 1 break?

Fill in the three functions and run the file.
"""

import numpy as np

import convexmetric as cm

TASKS = ("worst_value", "worst_ranking", "cutting_planes")


def worst_value(x, z):
    """Largest loss minus change of the feature, over all rankings."""
    raise NotImplementedError("task 1")


def worst_ranking(x, z):
    """Irrelevant items above each relevant item in a most violated ranking, in the order of x."""
    raise NotImplementedError("task 2")


def cutting_planes(problem, rows_of, tol):
    """A metric that is optimal up to tol, and a lower bound on the optimum."""
    raise NotImplementedError("task 3")


def worst_rows(problem, q, W, worst_ranking):
    """Rows of the worst ranking of a query, top first."""
    X, query = problem.rankings.X, problem.rankings.Q[q]
    near, far = problem.rankings.relevance.of(q)
    distances = np.einsum("ij,jk,ik->i", query - X, W, query - X)
    above = np.asarray(worst_ranking(distances[near], distances[far]))
    far, rows, projected = far[np.argsort(distances[far])], [], 0
    for item, b in sorted(zip(near, above, strict=True), key=lambda pair: pair[1]):
        rows += [*far[projected:b], item]
        projected = b
    return [*rows, *far[projected:]]


def check(worst_value=worst_value, worst_ranking=worst_ranking, cutting_planes=cutting_planes):
    """Hold the answers against the package's oracle and against the definition."""
    rng = np.random.default_rng(0)
    for p, n in [(1, 1), (2, 3), (5, 40), (30, 7)]:
        points = rng.normal(0.0, 0.8, (p + n, 2))
        query = np.zeros((1, 2))
        problem = cm.RankingProblem(points, [np.arange(p)], queries=query, measure="auc")
        distances = (points**2).sum(axis=1)
        x, z = distances[:p], distances[p:]
        expected = problem.risk.value(np.eye(2))
        found = worst_value(x, z)
        assert np.isclose(found, expected, rtol=1e-9, atol=1e-12), f"task 1: {found} is not {expected}"
        b = np.asarray(worst_ranking(x, z))
        assert b.shape == (p,), "task 2: one number for every relevant item"
        assert np.isin(b, np.arange(n + 1)).all(), "task 2: whole numbers from 0 to n"
        nearest = np.sort(z)
        value = b.sum() / (p * n) - 2.0 / (p * n) * sum(
            (nearest[: int(above)] - distance).sum() for above, distance in zip(b, x, strict=True)
        )
        assert np.isclose(value, expected, rtol=1e-9, atol=1e-12), "task 2: this ranking is not the worst"
    iris = cm.datasets.load("iris")
    problem = cm.RankingProblem.from_labels(iris.X[::6], iris.y[::6], measure="auc", C=10.0)
    exact = cm.solve(problem, tol=1e-7)
    W, lower = cutting_planes(problem, lambda problem, q, W: worst_rows(problem, q, W, worst_ranking), 1e-3)
    assert np.linalg.eigvalsh(W).min() >= -1e-9, "task 3: the metric is not positive semidefinite"
    assert lower <= exact.upper_bound * (1 + 1e-6), "task 3: above the optimum, so it is no lower bound"
    assert problem.objective(W) - lower <= 1.001e-3 * problem.objective(W), "task 3: the gap is larger than tol"


if __name__ == "__main__":
    check()
    print("All right: AUC decomposes over pairs, and sorting is enough; so do cutting planes.")
