r"""Solution of exercise 7.

:math:`D = (x_i - x_k)(x_i - x_k)^\top - (x_i - x_j)(x_i - x_j)^\top`.

With :math:`S = \sum_t u_t D_t`, stationarity writes S as a difference :math:`\lambda R - Z` of two positive
semidefinite matrices that are orthogonal to each other: so these are its positive and its negative part, and
:math:`R = [S]_+ / \lambda`.

One triplet: :math:`\langle D, R \rangle = u \langle [D]_+, D \rangle / \lambda = u \|[D]_+\|^2 / \lambda`. If this
reaches :math:`\gamma` for some :math:`u \le 1` the margin is met exactly, at :math:`u = \lambda \gamma / \|[D]_+\|^2`.
Otherwise the hinge is positive at the optimum, and u = 1. If :math:`[D]_+ = 0`, as for :math:`x_i = x_k`, the metric is
zero whatever u is, and the hinge stays at :math:`\gamma`.

A hinge that is positive has u = 1/n, one that is kept with room to spare u = 0, and one that is met exactly any u
between. Triplets with u = 0 are in no condition: without them R and the other multipliers satisfy all of them, so R
stays optimal. With twice the margin and the same u the metric of task 2 is no longer right: where the margin was met
exactly u must grow. If all multipliers stay below 1/n, twice u and twice R satisfy the conditions.
"""

import numpy as np


def comparison(i, j, k):
    """Subtract the outer product of the close pair from that of the far one."""
    return np.outer(i - k, i - k) - np.outer(i - j, i - j)


def positive_part(S):
    """Keep the positive eigenvalues."""
    values, vectors = np.linalg.eigh(S)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def metric(u, D, lam):
    """Take the positive part of the weighted sum of the comparisons, over lambda."""
    return positive_part(np.tensordot(u, D, axes=1)) / lam


def multiplier(D, lam, gamma):
    """Meet the margin exactly if a multiplier of at most 1 does."""
    most = (np.maximum(np.linalg.eigvalsh(D), 0.0) ** 2).sum()
    return 1.0 if lam * gamma >= most else lam * gamma / most


def allowed(R, D, gamma):
    """Tell violated triplets, those with room to spare, and those that meet the margin."""
    missing = gamma - np.einsum("tij,ij->t", D, R)
    return np.where(missing > 1e-6, 1.0 / len(D), 0.0), np.where(missing < -1e-6, 0.0, 1.0 / len(D))


if __name__ == "__main__":
    import sys

    sys.path.insert(0, sys.path[0] + "/..")
    import checking

    checking.main(globals())
