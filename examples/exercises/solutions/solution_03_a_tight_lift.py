r"""Solution of exercise 3.

The nearest matrix of rank c keeps the c largest eigenvalues (Eckart and Young); with :math:`W = Q \Lambda Q^\top` the
factor has the rows :math:`\sqrt{\lambda_i} q_i^\top`.

The best U and V of c columns are at least as good as this factor, and perhaps better: the nearest matrix is not the one
with the smallest objective. So fewer columns may do. At the rank of an optimal W the two agree for sure if no other
optimal W has a smaller rank: then the factor attains the lower bound, and nothing is better.
"""

import numpy as np


def best_factor(W, c):
    """Take ``sqrt(lambda_i) q_i`` of the c largest eigenvalues, in rows."""
    values, vectors = np.linalg.eigh(W)
    top = slice(len(values) - c, None)
    return (vectors[:, top] * np.sqrt(np.maximum(values[top], 0.0))).T


def enough_columns(problem, W, lower_bound, tol):
    """Try one after the other."""
    for c in range(1, len(W) + 1):
        B = best_factor(W, c)
        objective = problem.objective(B.T @ B)
        if (objective - lower_bound) / objective <= tol:
            return c
    return len(W)


if __name__ == "__main__":
    import sys

    sys.path.insert(0, sys.path[0] + "/..")
    import checking

    checking.main(globals())
