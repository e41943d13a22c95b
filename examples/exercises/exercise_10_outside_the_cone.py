r"""
Exercise 10. What to do outside of the cone
===========================================

Before: lessons 10, 12 and 15 (lecture 4). ★

Metrics are positive semidefinite matrices. An answer outside the cone is not a metric, and a dual point that violates
its conditions proves nothing; both can be repaired.

The matrix P of a closed convex cone K that is nearest to S in Frobenius norm, its *projection*, is the only one in K
with

.. math:: \langle S - P, Z - P \rangle \le 0 \quad \text{for all } Z \in K .

**Task 1.** Write ``project(S)``: the projection of a symmetric S on the positive semidefinite matrices.

**Task 2.** Write ``project_diagonal(S)``: its projection on the diagonal matrices with nonnegative entries, a matrix.

**Task 3.** A positive semidefinite P is claimed to be the projection of S, but it is not. Prove it: write
``witness(S, P)``, a positive semidefinite Z with :math:`\langle S - P, Z - P \rangle > 0`.

With :math:`\Omega(W) = \mathrm{tr}\, W` (metric learning to rank, McFee and Lanckriet 2010) not every dual point is
feasible. Suppose that multipliers prove :math:`R(W) \ge a - \langle S, W \rangle` for all W, with a number
:math:`a \ge 0` and a symmetric S. Then the objective is at least

.. math:: a + \min_{W \succeq 0} \; \mathrm{tr}\, W - \langle S, W \rangle .

**Task 4.** For which S is this minimum finite, and what is it then? From :math:`R \ge 0` it follows that also
:math:`R(W) \ge \theta (a - \langle S, W \rangle)` for :math:`0 \le \theta \le 1`. Write ``trace_bound(a, S)``: the best
lower bound over all :math:`\theta`.

**Task 5.** (Needs convexmetric and CVXPY; not checked in the browser.)
``problem.to_cvxpy(rankings=...)`` is the paper's program for some rankings.
After a solve go through it with ``for c in program.constraints[:-1]``: ``c.label`` is for example ``"ranking 3, 0"``,
``c.dual_value`` its multiplier, and its numbers are ``program.param_dict["Delta[3, 0]"].value`` and
``program.param_dict["dpsi[3, 0]"].value``; the last constraint, the cone, has the label None (lesson 13 prints such a
program). Write ``dual_point(program)``: the number a and the matrix S that these multipliers make.

**To think about.** A dual point with :math:`\lambda_{\max}(S) = 1.001` misses feasibility by a thousandth. How much of
the bound is lost by the repair? What would a program report that does not check?
"""

import numpy as np


def project(S):
    """Find the nearest positive semidefinite matrix to S, shape (d, d)."""
    raise NotImplementedError("task 1")


def project_diagonal(S):
    """Find the nearest diagonal matrix with nonnegative entries, shape (d, d)."""
    raise NotImplementedError("task 2")


def witness(S, P):
    """Find a positive semidefinite Z with <S - P, Z - P> > 0."""
    raise NotImplementedError("task 3")


def trace_bound(a, S):
    """Compute the best lower bound on R(W) + tr W over the cone: a number."""
    raise NotImplementedError("task 4")


def dual_point(program):
    """Compute a and S from the multipliers of a solved program."""
    raise NotImplementedError("task 5")


if __name__ == "__main__":
    import checking

    checking.main(globals())
