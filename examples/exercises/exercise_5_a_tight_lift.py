r"""
Exercise 5. When a convex lift solves the nonconvex problem
===========================================================

    python examples/exercises/exercise_5_a_tight_lift.py

The fifth paper learns maps U and V with c columns. Its objective depends on :math:`W = B^\top B` only, with
:math:`B = [U; V]^\top`, and is convex in W. The package minimises over all :math:`W \succeq 0` and certifies a lower
bound, whatever c is.

**Task 1.** Write ``best_factor(W, c)``: B with c rows such that :math:`B^\top B` is the nearest matrix of rank at most
c to the positive semidefinite W, in Frobenius norm.

**Task 2.** Write ``enough_columns(problem, W, lower_bound, tol)``: the smallest c for which the factor of task 1 is
within a relative gap ``tol`` of ``lower_bound``, gap = (objective - bound) / objective. ``problem.objective(W)`` is the
objective at any W; that of U and V is the one at :math:`B^\top B`.

**To think about.** Why is the answer to task 2 an upper bound on the number of columns that the *best* U and V need,
and not that number? When do the two agree?

Fill in the two functions and run the file.
"""

import numpy as np

import convexmetric as cm

TASKS = ("best_factor", "enough_columns")


def best_factor(W, c):
    """B, (c, d)."""
    raise NotImplementedError("task 1")


def enough_columns(problem, W, lower_bound, tol):
    """The smallest number of columns that is certainly enough."""
    raise NotImplementedError("task 2")


def check(best_factor=best_factor, enough_columns=enough_columns):
    """Two modalities: the upper and the lower halves of handwritten digits."""
    digits = cm.datasets.load("digits")
    halves = digits.X[:150].reshape(-1, 2, 32) / 16.0
    halves = halves - halves.mean(axis=0)
    y = digits.y[:150]
    problem = cm.CrossModalProblem(halves[:, 0], halves[:, 1], y, y, alpha=60.0, beta=0.01, random_state=0)
    solution = cm.solve(problem, tol=1e-8)
    W = solution.certificate.M
    for c in (1, 3, 5):
        B = np.asarray(best_factor(W, c))
        assert B.shape == (c, len(W)), "task 1: c rows, one column a feature"
        values = np.linalg.eigvalsh(W)[: len(W) - c]
        missed = np.linalg.norm(W - B.T @ B)
        assert np.isclose(missed, np.linalg.norm(values), rtol=1e-7), "task 1: not the nearest of that rank"
    for tol in (0.3, 1e-5):
        found = enough_columns(problem, W, solution.lower_bound, tol)
        gaps = {}
        for c in range(len(W)):
            factors = problem.factors(solution, c=c + 1)
            B = problem.join(factors.U, factors.V)
            gaps[c + 1] = 1.0 - solution.lower_bound / problem.objective(B.T @ B)
            if gaps[c + 1] <= tol:
                break
        assert found == max(gaps), f"task 2: {found} columns for a gap of {tol}, but {max(gaps)} is the smallest number"


if __name__ == "__main__":
    check()
    print("All right: the rank of the certified optimum says how many columns are enough.")
