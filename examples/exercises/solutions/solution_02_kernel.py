r"""Solution of exercise 2.

:math:`\|\phi(x_i) - \phi(x_j)\|^2 = K_{ii} + K_{jj} - 2 K_{ij}`.

With :math:`J = I - 1 1^\top / n` the matrix JKJ has the inner products of the points minus their mean, and
:math:`JKJ = V \Lambda V^\top = Z Z^\top` for :math:`Z = V \Lambda^{1/2}` with the r positive eigenvalues. No fewer
coordinates do, since the rank of :math:`Z Z^\top` is r.

The vectors :math:`e_l = \sum_i E_{il} \, \phi(x_i)` with :math:`E = Z (Z^\top Z)^{-1}` have
:math:`\langle e_l, \phi(x_i) - c \rangle = z_{il}`, since the columns of E sum to zero and :math:`Z Z^\top E = Z`. They
are orthonormal, :math:`E^\top K E = I`, and :math:`A = \sum M_{kl} \, e_k \otimes e_l` has :math:`B = E M E^\top`.

Coordinates of new points are inner products with the same vectors: :math:`z = (k - \bar K)^\top E`, where
:math:`\bar K` has the means of the columns of K.

The part outside of the span adds the same to the squared distances from x to all points in the Hilbert space. A is
zero on it, as any such part of A would only raise its trace and its norm.
"""

import numpy as np


def squared_distances(K):
    """Expand the square."""
    return np.diag(K)[:, None] + np.diag(K) - 2.0 * K


def coordinates(K):
    """Factor the kernel matrix of points minus their mean."""
    centred = K - K.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(centred)
    kept = values > 1e-10 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def operator(M, Z):
    """Write the orthonormal basis in terms of the points."""
    E = Z @ np.linalg.inv(Z.T @ Z)
    return E @ M @ E.T


def transform(k, K, Z):
    """Take inner products with the orthonormal basis."""
    return (k - K.mean(axis=0)) @ Z @ np.linalg.inv(Z.T @ Z)


if __name__ == "__main__":
    import sys

    sys.path.insert(0, sys.path[0] + "/..")
    import checking

    checking.main(globals())
