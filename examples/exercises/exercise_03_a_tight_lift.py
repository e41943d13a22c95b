r"""
Exercise 3. When a convex lift solves the nonconvex problem
===========================================================

Before: lessons 0, 1, 2 and 13 (lecture 1). ★★

The paper on metrics across modalities learns maps U and V with c columns. Its objective depends on
:math:`W = B^\top B` only, with :math:`B = [U; V]^\top`, and is convex in W. The package minimises over all
:math:`W \succeq 0` and certifies a lower bound, whatever c is.

**Task 1.** Write ``best_factor(W, c)``: B with c rows such that :math:`B^\top B` is the nearest matrix of rank at most
c to the positive semidefinite W, in Frobenius norm.

**Task 2.** (Needs convexmetric.) Write ``enough_columns(problem, W, lower_bound, tol)``: the smallest c for which the
factor of task 1 is within a relative gap ``tol`` of ``lower_bound``, gap = (objective - bound) / objective.
``problem.objective(W)`` is the objective at any W; that of U and V is the one at :math:`B^\top B`.

**To think about.** Why is the answer to task 2 an upper bound on the number of columns that the *best* U and V need,
and not that number? When do the two agree?
"""

import numpy as np


def best_factor(W, c):
    """Find B, shape (c, d)."""
    raise NotImplementedError("task 1")


def enough_columns(problem, W, lower_bound, tol):
    """Find the smallest number of columns that is certainly enough."""
    raise NotImplementedError("task 2")


if __name__ == "__main__":
    import checking

    checking.main(globals())
