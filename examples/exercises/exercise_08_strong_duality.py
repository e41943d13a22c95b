r"""
Exercise 8. Where both sides meet, and where they do not
========================================================

Before: lessons 5 and 14 (lecture 3). ★★

Weak duality always holds. That the best dual point proves the optimum itself needs more: Slater's condition asks for a
*strictly feasible* point, at which no inequality is an equality, and M has no eigenvalue zero.

**Task 1.** The slacks of lecture 3 make this easy, whatever the triplets are:
:math:`\langle D_t, M \rangle + \xi_t \ge 1`, :math:`\xi \ge 0`, :math:`M \succeq 0`. Write ``strict(D)`` for D
(n, d, d): M and :math:`\xi` (n,) that keep each of these with at least 1 to spare, :math:`M - I \succeq 0` in the cone.

Without slacks it can go wrong. Two features, and the first one must not count, up to :math:`\epsilon \ge 0`:

.. math:: \min_{M \succeq 0} \; M_{12} \quad \text{such that} \quad M_{11} \le \epsilon, \quad M_{12} \ge -c .

**Task 2.** For :math:`\epsilon > 0` write ``best(eps, c)``: an optimal M (2, 2). At :math:`\epsilon = 0` it must be the
optimal M of that program, whose value is another.

**Task 3.** With multipliers :math:`a, u \ge 0` of the two inequalities and :math:`Z \succeq 0` the Lagrangian is
:math:`M_{12} + a (M_{11} - \epsilon) - u (M_{12} + c) - \langle Z, M \rangle`. Write ``bound(a, u, eps, c)``: its
minimum over all symmetric M with the best Z, minus infinity included. (With the best multipliers, how far is it from
the optimum at :math:`\epsilon = 0`?)

**Task 4.** Multipliers also prove that there is *no* metric. If :math:`u \ge 0`, :math:`\sum_t u_t \gamma_t > 0` and
:math:`\sum_t u_t D_t` has no positive eigenvalue, no :math:`M \succeq 0` has
:math:`\langle D_t, M \rangle \ge \gamma_t` for all t (Farkas). Write ``refutes(u, D, gamma)``: whether u
proves this. Eigenvalues up to :math:`10^{-9}` count as zero.

**Task 5.** Find such a u. The matrices D (n, d, d) that you get are linearly dependent in one way only, and the
coefficients have the same sign; :math:`\gamma` is positive. Write ``refutation(D)``: u (n,).

**To think about.** A solver with the tolerance :math:`10^{-8}` is given the program of task 2 with
:math:`\epsilon = 0`. Which value will it report, and is it wrong?
"""

import numpy as np


def strict(D):
    """Find a metric and slacks that are strictly feasible."""
    raise NotImplementedError("task 1")


def best(eps, c):
    """Find an optimal M of the program of two features."""
    raise NotImplementedError("task 2")


def bound(a, u, eps, c):
    """Compute the lower bound that two multipliers prove."""
    raise NotImplementedError("task 3")


def refutes(u, D, gamma):
    """Tell whether u proves that no metric satisfies all comparisons."""
    raise NotImplementedError("task 4")


def refutation(D):
    """Find multipliers that prove it."""
    raise NotImplementedError("task 5")


if __name__ == "__main__":
    import checking

    checking.main(globals())
