r"""
Exercise 1. Write the statement
===============================

Before: lessons 0, 1, 2 and 13 (lecture 1). ★

Somebody measured distances :math:`\delta_t > 0` between objects with features, :math:`v_t` the difference of the two
feature vectors. Sought is the metric, a matrix :math:`M \succeq 0`, whose distances fit best:

.. math:: E(M) = \frac1n \sum_{t=1}^n \Bigl( \delta_t - \sqrt{v_t^\top M v_t} \Bigr)^2 .

**Task 1.** Write ``error(M, V, delta)``, the value E(M), with the rows :math:`v_t` of V (n, d).

**Task 2.** Many programs descend on a factor, :math:`M = L^\top L`. Show that E is not convex there: write
``factors(V, delta)``, two matrices L and L' (d, d) for which E half way between them is larger than the mean of its
values at both.

**Task 3.** (Needs CVXPY; not checked in the browser.) In M the error is convex, although no rule says so of the square:
multiply it out. What is linear, and what is minus a concave function? Write ``statement(V, delta)``, a
``cvxpy.Problem`` that CVXPY accepts and whose minimum is that of E.

**Task 4.** (Needs CVXPY; not checked in the browser.) Another instrument gives intervals: the distance of a pair, the
root as above, is at least ``low[t]`` and at most ``high[t]``. Write ``intervals(V, low, high)``, the ``cvxpy.Problem``
of the metric of smallest trace whose distances are in all intervals. Where there is none, CVXPY's ``solve`` says so;
exercise 8 proves it.

**To think about.** With a constraint :math:`\sqrt{v^\top M v} \le 1` in place of a square, which of the two sides of an
interval would CVXPY still accept?
"""

import numpy as np


def error(M, V, delta):
    """Compute the mean squared difference of measured distances and those of M: a number."""
    raise NotImplementedError("task 1")


def factors(V, delta):
    """Find two factors between which the error rises above its mean."""
    raise NotImplementedError("task 2")


def statement(V, delta):
    """State the best metric as a program."""
    raise NotImplementedError("task 3")


def intervals(V, low, high):
    """State the metric of smallest trace with distances in intervals as a program."""
    raise NotImplementedError("task 4")


if __name__ == "__main__":
    import checking

    checking.main(globals())
