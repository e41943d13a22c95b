r"""
Exercise 6. A lower bound that nobody can forge
===============================================

Before: lessons 5 and 14 (lecture 3). ★

Schultz and Joachims (2003) minimise over weights :math:`w \ge 0`

.. math:: F(w) = \tfrac12 \|w\|^2 + C \sum_{t=1}^n \max(0, 1 - d_t^\top w),

where the row :math:`d_t` of the matrix D, shape (n, d), belongs to the triplet t = (i, j, k):
:math:`d_{tf} = (x_{if} - x_{kf})^2 - (x_{if} - x_{jf})^2` for each feature f.

**Task 1.** Write ``objective(w, D, C)``, the value F(w).

**Task 2.** For :math:`0 \le u_t \le C` every hinge satisfies :math:`C \max(0, 1 - s) \ge u_t (1 - s)`. Put this into F,
minimise what is left over :math:`w \ge 0` by hand, and write the lower bound that comes out as ``bound(u, D, C)``.
Whatever u is given, also one outside of [0, C], the result must be a lower bound: clip first. The box ends at
the weight of a hinge: C here, where lesson 5 and lecture 3 have 1/n.

**Task 3.** The minimiser over w in task 2 is a metric. Write it as ``weights(u, D, C)``.

**To think about.** For which u is the bound of task 2 equal to F at the weights of task 3? What does this say about
triplets whose margin is kept with room to spare?
"""

import numpy as np


def objective(w, D, C):
    """Compute F at the weights w, shape (d,): a number."""
    raise NotImplementedError("task 1")


def bound(u, D, C):
    """Compute a lower bound on the minimum of F from u, shape (n,): a number."""
    raise NotImplementedError("task 2")


def weights(u, D, C):
    """Find the weights that minimise in task 2, shape (d,)."""
    raise NotImplementedError("task 3")


if __name__ == "__main__":
    import checking

    checking.main(globals())
