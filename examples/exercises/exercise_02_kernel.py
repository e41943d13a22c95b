r"""
Exercise 2. A metric in a space of infinitely many dimensions
=============================================================

Before: lessons 0, 1, 2 and 13 (lecture 1). ★★

A kernel :math:`k(x, x') = \langle \phi(x), \phi(x') \rangle` maps data to points :math:`\phi(x_i)` of a Hilbert
space, and is all that is known of them: the matrix :math:`K_{ij} = k(x_i, x_j)`. Metrics there are operators
:math:`A \succeq 0` (Maurer 2008, "operators in a Hilbert space"), and

.. math:: d_A(x, x') = \langle \phi(x) - \phi(x'), A \, (\phi(x) - \phi(x')) \rangle .

**Task 1.** Write ``squared_distances(K)``: the (n, n) squared distances :math:`\|\phi(x_i) - \phi(x_j)\|^2`.

**Task 2.** Objectives of metric learning depend on the n(n - 1)/2 distances that A gives, and on its trace or its norm.
If A is projected to the span of the differences of points, the distances stay, and trace and norm cannot grow: so the
optimum is in this span, of at most n - 1 dimensions. Write ``coordinates(K)``: a matrix Z (n, r) whose rows have the
same squared distances as the points, with columns that sum to zero, and with the smallest r. An eigenvalue of at most
:math:`10^{-10}` times the largest counts as zero.

**Task 3.** In coordinates the metric is a matrix M (r, r), and the program is one on Z. Its result is an operator
:math:`A = \sum_{ij} B_{ij} \, \phi(x_i) \otimes \phi(x_j)`, which maps v to
:math:`\sum_{ij} B_{ij} \, \phi(x_i) \langle \phi(x_j), v \rangle`. Write ``operator(M, Z)``: B (n, n), for which
:math:`(K_i - K_j)^\top B \, (K_i - K_j) = (z_i - z_j)^\top M (z_i - z_j)` with the columns :math:`K_i` of K, for any
K with the coordinates Z. Then also tr A = tr BK is tr M, and the norms are the same: the program on coordinates and
the one on the kernel have the same values.

**Task 4.** New points x come with :math:`k(x, x_i)` only, rows of a matrix k (m, n). Their coordinates z satisfy
:math:`\langle z, z_i - z_j \rangle = \langle \phi(x) - c, \phi(x_i) - \phi(x_j) \rangle` with the mean c of the
:math:`\phi(x_i)`. Write ``transform(k, K, Z)``: the coordinates (m, r) of new points.

**To think about.** The new point has a part outside of the span. Which distances does it change, and why does the
learned metric ignore it?
"""

import numpy as np


def squared_distances(K):
    """Compute squared distances (n, n) from the kernel matrix."""
    raise NotImplementedError("task 1")


def coordinates(K):
    """Find points Z (n, r) around zero with the same distances."""
    raise NotImplementedError("task 2")


def operator(M, Z):
    """Find the coefficients B (n, n) of the operator whose matrix is M (r, r)."""
    raise NotImplementedError("task 3")


def transform(k, K, Z):
    """Find coordinates (m, r) of new points from their kernel values k (m, n)."""
    raise NotImplementedError("task 4")


if __name__ == "__main__":
    import checking

    checking.main(globals())
