r"""
Exercise 4. The most violated ranking
=====================================

Before: lessons 3, 4 and 6 (lecture 2). ★★

A query has p relevant items at squared distances :math:`x_1, \dots, x_p` and n irrelevant ones at
:math:`z_1, \dots, z_n`. With :math:`Y_{ij} = 1` where a ranking y puts irrelevant item j above relevant item i, metric
learning to rank (McFee and Lanckriet 2010) with the loss 1 - AUC asks for

.. math:: \max_y \; \frac{1}{p n} \sum_{ij} Y_{ij} - \frac{2}{p n} \sum_{ij} Y_{ij} (z_j - x_i) .

**Task 1.** The sum is over pairs, and each term depends on one entry of Y only. Which pairs would you invert if every
pair could be chosen freely? Write ``worst_value(x, z)``, the largest value of that sum.

**Task 2.** Free choices need not be a ranking: if a is above b and b above c, then a must be above c. Show that yours
are, by giving the ranking: ``worst_ranking(x, z)`` returns for every relevant item the number of irrelevant items above
it. A sort and ``numpy.searchsorted`` do it in O((p + n) log(p + n)).

**Task 3.** A measure of your own. *R-precision* is the share of relevant items among the first p places. Many measures
are sums of gains g(i, b) of the i-th relevant item from the top, i = 1, ..., p, with b irrelevant ones above it. Write
``gains(i, b, p, n)`` of R-precision; i and b may be arrays of the same shape.

**Task 4.** (Needs convexmetric.) Make it a measure of the package: a subclass of ``convexmetric.measures.Measure`` with
``name``, ``title`` and a method ``gains(self, i, b, p, n)`` is enough. Write ``own_measure()``, which
returns an object of it. Its most violated rankings are checked against all (p + n)! rankings.

**Task 5.** (Needs convexmetric and CVXPY; not checked in the browser.)
Cutting planes are now a dozen lines. The program of the rankings found so
far is ``problem.to_cvxpy(rankings=found)``, a CVXPY problem whose metric is ``program.metric.value`` after
``program.solve(solver="CLARABEL")``, and ``rankings_at(W)`` gives the worst ranking of every query, by your task 2 or
another's. Write ``cutting_planes(problem, rankings_at, tol)``: start at zero, add the worst rankings, solve, and stop
when the objective at the metric is within a relative ``tol`` of the program's value. Return the metric and that value,
a lower bound.

**To think about.** Replace the loss by 1 - average precision. Where does the argument of task 1 break?
"""

import numpy as np


def worst_value(x, z):
    """Find the largest loss minus change of the feature, over all rankings: a number."""
    raise NotImplementedError("task 1")


def worst_ranking(x, z):
    """Count irrelevant items above each relevant item in a most violated ranking, in the order of x."""
    raise NotImplementedError("task 2")


def gains(i, b, p, n):
    """Compute what the i-th relevant item adds to R-precision with b irrelevant items above it."""
    raise NotImplementedError("task 3")


def own_measure():
    """Make a measure for the package."""
    raise NotImplementedError("task 4")


def cutting_planes(problem, rankings_at, tol):
    """Find a metric that is optimal up to tol, and a lower bound on the optimum."""
    raise NotImplementedError("task 5")


if __name__ == "__main__":
    import checking

    checking.main(globals())
