r"""
Exercise 9. The form that solvers read
======================================

Before: lessons 5 and 14 (lecture 3). ★★★

Large margin nearest neighbours (Weinberger and Saul 2009), in coordinates in which its pull term is the trace, is

.. math:: \min_{M \succeq 0} \; \mathrm{tr}\, M + \mu \sum_{t=1}^n \max(0, 1 - \langle D_t, M \rangle) .

A conic solver reads numbers only: it minimises :math:`\tfrac12 x^\top P x + q^\top x` such that :math:`b - A x` is in
a product of cones; here P is zero.
CLARABEL writes a symmetric matrix as the vector of its upper triangle, column by column, (1, 1), (1, 2), (2, 2),
(1, 3), ..., with entries off the diagonal times :math:`\sqrt 2`.

**Task 1.** Write ``svec(M)``: this vector, shape (d (d + 1) / 2,). Why is the :math:`\sqrt 2` there?

**Task 2.** Write ``smat(v)``: the symmetric matrix of such a vector.

**Task 3.** With :math:`x = (\mathrm{svec}\, M, \xi)` and a slack :math:`\xi_t` for each hinge, write
``conic_form(D, mu)``: the arrays q, A and b. The rows of :math:`b - Ax` are, in this order, n numbers
:math:`\langle D_t, M \rangle + \xi_t - 1 \ge 0`, n numbers :math:`\xi_t \ge 0`, and svec M.

**Task 4.** (Needs clarabel and SciPy; not checked in the browser.)
Solve it: write ``solve(D, mu)``, which returns M and the multipliers u (n,) of
the first n rows. CLARABEL takes P and A as ``scipy.sparse.csc_matrix``::

    cones = [clarabel.NonnegativeConeT(2 * n), clarabel.PSDTriangleConeT(d)]
    solver = clarabel.DefaultSolver(P, q, A, b, cones, clarabel.DefaultSettings())

``solver.solve()`` has x, and z, the multipliers of all rows. The value of M is compared with a lower bound that your
u prove.

**To think about.** Write the dual of the conic form, and find :math:`S = \sum_t u_t D_t` and :math:`I - S \succeq 0` in
it, the row of the trace in the table of lecture 3.
"""

import numpy as np


def svec(M):
    """Write the upper triangle of a symmetric matrix as a vector."""
    raise NotImplementedError("task 1")


def smat(v):
    """Make the symmetric matrix of a vector again."""
    raise NotImplementedError("task 2")


def conic_form(D, mu):
    """Build q, A and b from D (n, d, d)."""
    raise NotImplementedError("task 3")


def solve(D, mu):
    """Find the metric M (d, d) and the multipliers u (n,) of the hinges."""
    raise NotImplementedError("task 4")


if __name__ == "__main__":
    import checking

    checking.main(globals())
