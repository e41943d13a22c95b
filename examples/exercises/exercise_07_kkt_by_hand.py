r"""
Exercise 7. Optimality conditions by hand
=========================================

Before: lessons 5 and 14 (lecture 3). ★★

For triplets (i, j, k), "i is closer to j than to k", distance metrics from large graphs solve, in its simplest form,

.. math:: \min_{R \succeq 0} \; F(R) = \tfrac\lambda2 \|R\|_F^2
   + \frac1n \sum_{t=1}^n \max(0, \gamma - \langle D_t, R \rangle) .

**Task 1.** The matrix of a triplet satisfies
:math:`\langle D, R \rangle = d_R(x_i, x_k) - d_R(x_i, x_j)`, with :math:`d_R(x, x') = (x - x')^\top R \, (x - x')`.
Write ``comparison(i, j, k)``: D from the three points.

**Task 2.** With a multiplier :math:`0 \le u_t \le \frac1n` for each hinge and :math:`Z \succeq 0` for the cone,
stationarity says :math:`\lambda R = \sum_t u_t D_t + Z`, and complementary slackness of the cone
:math:`\langle Z, R \rangle = 0`. Both together leave one R for every u. Write ``metric(u, D, lam)``, D of shape
(n, d, d).

**Task 3.** The smallest instance has one triplet, n = 1. Put the metric of task 2 into the hinge, and solve for u by
hand: write ``multiplier(D, lam, gamma)``, D of shape (d, d). There are three cases. In one of them D has no positive
eigenvalue, and no metric can satisfy the triplet; there u = 1.

**Task 4.** Complementary slackness of the hinges says what u can be once R is known to be optimal: there are three
cases. Write ``allowed(R, D, gamma)``: the least and the largest value of each multiplier, shapes (n,) and (n,). A hinge
counts as met exactly where :math:`|\gamma - \langle D_t, R \rangle| \le 10^{-6}`.

**To think about.** Remove all triplets whose multiplier must be 0. What happens to R? And if you solve again with
twice the margin :math:`\gamma`?
"""

import numpy as np


def comparison(i, j, k):
    """Make the matrix of a triplet, shape (d, d), of points of shape (d,)."""
    raise NotImplementedError("task 1")


def metric(u, D, lam):
    """Find the only metric that goes with multipliers u, shape (d, d)."""
    raise NotImplementedError("task 2")


def multiplier(D, lam, gamma):
    """Find the optimal multiplier of a single triplet: a number."""
    raise NotImplementedError("task 3")


def allowed(R, D, gamma):
    """Find the least and the largest value that each multiplier may have at the optimum R."""
    raise NotImplementedError("task 4")


if __name__ == "__main__":
    import checking

    checking.main(globals())
