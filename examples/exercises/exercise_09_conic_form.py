r"""
Exercise 9. The form that solvers read
======================================

Before: lessons 5 and 14 (lecture 3).

Large margin nearest neighbours (Weinberger and Saul 2009), in coordinates in which its pull term is the trace, is

.. math:: \min_{M \succeq 0} \; \mathrm{tr}\, M + \mu \sum_{t=1}^T \max(0, 1 - \langle M, D_t \rangle) .

A conic solver reads numbers only: it minimises :math:`q^\top x` such that :math:`s = b - A x` is in a product of cones.
CLARABEL writes a symmetric matrix as the vector of its upper triangle, column by column, (1, 1), (1, 2), (2, 2),
(1, 3), ..., with entries off the diagonal times :math:`\sqrt 2`.

**Task 1.** Write ``svec(M)``: this vector, shape (d (d + 1) / 2,). Why is the :math:`\sqrt 2` there?

**Task 2.** Write ``smat(v)``: the symmetric matrix of such a vector.

**Task 3.** With :math:`x = (\mathrm{svec}\, M, \zeta)` and a slack :math:`\zeta_t` for each hinge, write
``conic_form(D, mu)``: the arrays q, A and b. The rows of :math:`s = b - Ax` are, in this order, T numbers
:math:`\langle M, D_t \rangle + \zeta_t - 1 \ge 0`, T numbers :math:`\zeta_t \ge 0`, and svec M.

**Task 4.** (Needs clarabel and SciPy; not checked in the browser.)
Solve it: write ``solve(D, mu)``, which returns M and the multipliers u (T,) of
the first T rows. CLARABEL takes P (all zeros here) and A as ``scipy.sparse.csc_matrix``::

    cones = [clarabel.NonnegativeConeT(2 * T), clarabel.PSDTriangleConeT(d)]
    solver = clarabel.DefaultSolver(P, q, A, b, cones, clarabel.DefaultSettings())

``solver.solve()`` has x, s, and z, the multipliers of all rows. The value of M is compared with a lower bound that your
u prove.

**To think about.** Write the dual of the conic form, and find :math:`S = \sum_t u_t D_t` and :math:`I - S \succeq 0` of
exercise 2 in it.
"""

import numpy as np

STARS, BROWSER = 3, True


def svec(M):
    """Write the upper triangle of a symmetric matrix as a vector."""
    raise NotImplementedError("task 1")


def smat(v):
    """Make the symmetric matrix of a vector again."""
    raise NotImplementedError("task 2")


def conic_form(D, mu):
    """Build q (n,), A (m, n) and b (m,) from D (T, d, d)."""
    raise NotImplementedError("task 3")


def solve(D, mu):
    """Find the metric M (d, d) and the multipliers u (T,) of the hinges."""
    raise NotImplementedError("task 4")


if __name__ == "__main__":
    import checking

    checking.main(globals())
