r"""
Exercise 11. How far is stochastic descent from the optimum?
============================================================

Before: lessons 10, 12 and 15 (lecture 4). ★★★

Everybody minimises by stochastic gradients, and stops when the curve looks flat. For triplets with the matrices
:math:`D_t` of exercise 7,

.. math:: \min_{R \succeq 0} \; F(R) = \tfrac\lambda2 \|R\|_F^2
   + \frac1n \sum_{t=1}^n \max(0, \gamma - \langle D_t, R \rangle) ,

a lower bound tells how far you really are.

**Task 1.** Write ``subgradient(R, D, lam, gamma)`` of F for the triplets D (n, d, d), all of them or some.

**Task 2.** Write ``descend(D, lam, gamma, steps, batch, rng)``: projected stochastic descent from R = 0, with ``steps``
steps, each along the subgradient for ``batch`` random triplets, ``rng.integers(0, n, batch)``. Find step sizes with
which 5,000 steps of twenty triplets reach 1.002 times the optimum. Try constant ones first, and a constant over the
root of the number of the step. What does the theory say of a function that is :math:`\lambda`-strongly convex?

**Task 3.** An audit by hand. For multipliers :math:`0 \le u_t \le \frac1n` the dual value
:math:`\gamma \sum_t u_t - \frac1{2\lambda} \|[S]_+\|_F^2`, :math:`S = \sum_t u_t D_t`, is a lower bound.
Write ``times_optimum(R, u, D, lam, gamma)``: a number that F(R) divided by the optimum is certainly at most. u may be
outside of [0, 1/n].

**Task 4.** (Needs convexmetric.) Let the package do it, which finds the multipliers itself: write
``audited(X, triplets, lam, gamma, R)``, which states the problem as a ``cm.TripletProblem`` and returns the
``cm.audit`` of R. The paper's two terms of pairs are not in F; by default they are not in ``cm.TripletProblem`` either.

**To think about.** Take the average of all iterates instead of the last. Does it help, and from when on?
"""

import numpy as np


def subgradient(R, D, lam, gamma):
    """Compute a subgradient of F at R, shape (d, d)."""
    raise NotImplementedError("task 1")


def descend(D, lam, gamma, steps, batch, rng):
    """Find a metric, shape (d, d), by projected stochastic descent."""
    raise NotImplementedError("task 2")


def times_optimum(R, u, D, lam, gamma):
    """Bound F(R) over the optimum from above: a number."""
    raise NotImplementedError("task 3")


def audited(X, triplets, lam, gamma, R):
    """Let the package judge R: an Audit."""
    raise NotImplementedError("task 4")


if __name__ == "__main__":
    import checking

    checking.main(globals())
