r"""Solution of exercise 9.

With the :math:`\sqrt 2` the inner product of vectors is that of matrices,
:math:`\mathrm{svec}(M)^\top \mathrm{svec}(N) = \langle M, N \rangle`, where each entry off the diagonal comes twice: so
the cone of vectors is its own dual, like that of matrices, and z of the last rows is svec of a multiplier
:math:`Z \succeq 0`.

The dual is to maximise :math:`-b^\top z` such that :math:`A^\top z + q = 0` and z in the cones. With z = (u, v, svec Z)
this is the sum of u, and :math:`I - \sum_t u_t D_t - Z = 0`, :math:`\mu - u_t - v_t = 0`: so
:math:`0 \le u_t \le \mu` and :math:`S \preceq I`.
"""

import numpy as np


def upper(d):
    """List row and column of the upper triangle, column by column."""
    columns, rows = np.tril_indices(d)
    return rows, columns


def svec(M):
    """Multiply entries off the diagonal by the root of 2."""
    rows, columns = upper(len(M))
    return np.where(rows == columns, 1.0, np.sqrt(2.0)) * M[rows, columns]


def smat(v):
    """Divide them again, and put them in both places."""
    d = int(np.sqrt(2 * len(v)))
    rows, columns = upper(d)
    M = np.zeros((d, d))
    M[rows, columns] = M[columns, rows] = np.where(rows == columns, 1.0, np.sqrt(0.5)) * v
    return M


def conic_form(D, mu):
    """Write A in blocks: what is subtracted from b comes with a minus."""
    n, d = D.shape[:2]
    vectors = np.array([svec(one) for one in D])
    size = vectors.shape[1]
    q = np.concatenate([svec(np.eye(d)), np.full(n, mu)])
    hinges = np.hstack([-vectors, -np.eye(n)])
    slacks = np.hstack([np.zeros((n, size)), -np.eye(n)])
    metric = np.hstack([-np.eye(size), np.zeros((size, n))])
    return q, np.vstack([hinges, slacks, metric]), np.concatenate([-np.ones(n), np.zeros(n + size)])


def solve(D, mu):
    """Hand the arrays to CLARABEL."""
    import clarabel
    import scipy.sparse as sp

    n, d = D.shape[:2]
    q, A, b = conic_form(D, mu)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(2 * n), clarabel.PSDTriangleConeT(d)]
    P = sp.csc_matrix((len(q), len(q)))
    found = clarabel.DefaultSolver(P, q, sp.csc_matrix(A), b, cones, settings).solve()
    return smat(np.array(found.x)[: d * (d + 1) // 2]), np.array(found.z)[:n]


if __name__ == "__main__":
    import sys

    sys.path.insert(0, sys.path[0] + "/..")
    import checking

    checking.main(globals())
