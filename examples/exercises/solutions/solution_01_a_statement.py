r"""Solution of exercise 1.

At L and -L the metric is the same, and half way it is zero, with the error :math:`\frac1n \sum_t \delta_t^2`. That is
larger wherever :math:`L^\top L` fits at all, as a small enough multiple of I does: the error falls from zero on.

With the squared distances :math:`q_t = v_t^\top M v_t`, linear in M, the square is
:math:`\delta_t^2 - 2 \delta_t \sqrt{q_t} + q_t`: a constant, minus a concave function, and a linear one. CVXPY cannot
see it in ``square(delta - sqrt(q))``, as the argument is convex and the square does not grow everywhere.

An interval is :math:`\ell_t^2 \le q_t \le h_t^2`, two linear constraints. With roots the upper side would be
*concave* :math:`\le` constant, which is refused; the lower one is fine.
"""

import numpy as np


def error(M, V, delta):
    """Average the squares."""
    return np.mean((delta - np.sqrt(np.einsum("ti,ij,tj->t", V, M, V))) ** 2)


def factors(V, delta):
    """Take the best multiple of I, and its negative."""
    lengths = np.linalg.norm(V, axis=1)
    L = delta @ lengths / (lengths @ lengths) * np.eye(V.shape[1])
    return L, -L


def squared(V):
    """Make a metric, and the squared distances of it."""
    import cvxpy as cp

    M = cp.Variable((V.shape[1], V.shape[1]), PSD=True)
    return M, cp.sum(cp.multiply(V @ M, V), axis=1)


def statement(V, delta):
    """Multiply the squares out."""
    import cvxpy as cp

    _, q = squared(V)
    return cp.Problem(cp.Minimize(cp.sum(delta**2 - 2 * cp.multiply(delta, cp.sqrt(q)) + q) / len(V)))


def intervals(V, low, high):
    """Square the intervals."""
    import cvxpy as cp

    M, q = squared(V)
    return cp.Problem(cp.Minimize(cp.trace(M)), [q >= low**2, q <= high**2])


if __name__ == "__main__":
    import sys

    sys.path.insert(0, sys.path[0] + "/..")
    import checking

    checking.main(globals())
