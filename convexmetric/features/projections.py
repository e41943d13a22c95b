r"""Linear maps to fewer features: :math:`v = L x`.

A metric R learned on v is the metric :math:`L^\top R L` on x, which is never formed: its factor is
:math:`R^{1/2} L`. Random maps keep distances up to a factor that is the same for all (Johnson and Lindenstrauss):
the scale of L below makes that factor one, :math:`\mathbb{E} \|L x\|^2 = \|x\|^2`, except for ``uniform``, which is
left as the paper prints it, entries uniform in (0, 1), and adds a multiple of :math:`(\sum_f x_f)^2` to every squared
distance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from convexmetric.arguments import as_generator, check_integer, check_one_of
from convexmetric.arrays import Array
from convexmetric.comparisons.points import as_points, as_rows
from convexmetric.errors import InputError

#: Names of the kinds of projection.
KINDS = ("uniform", "gaussian", "sparse", "orthonormal", "pca")
#: Features up to which principal components come from a dense decomposition.
DENSE_SVD = 2_000


@dataclass(frozen=True)
class Projection:
    """Linear map ``v = L x`` to fewer features.

    Attributes
    ----------
    L : (r, d) array or sparse matrix
    kind : str
        Kind of projection, as :func:`make_projection` takes it.
    """

    stored_as: ClassVar[str] = "projection"

    L: Any = field(repr=False)
    kind: str

    def transform(self, X: Any) -> Array:
        """Project points: ``L x``, ``(n, r)``, dense.

        Raises
        ------
        InputError
            If X has other features.
        """
        points = as_points(X, sparse=True)
        if points.shape[1] != self.L.shape[1]:
            raise InputError(
                f"X has {points.shape[1]} features, but the projection takes {self.L.shape[1]}; "
                "make it from these points"
            )
        return np.ascontiguousarray(as_rows(points @ self.L.T))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return ``L`` and ``kind`` as arrays, for files; a sparse L as its three CSR arrays."""
        found = {"kind": np.array(self.kind)}
        if not sp.issparse(self.L):
            return found | {"L": self.L}
        rows = sp.csr_array(self.L)
        found["features"] = np.array(rows.shape[1])
        return found | {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Projection:
        """Make the projection again from :meth:`arrays`.

        Raises
        ------
        InputError
            If the arrays do not form one.
        """
        if "L" in arrays:
            return cls(as_points(arrays["L"], "L"), str(arrays["kind"]))
        try:
            # The number of rows comes from the length of indptr: no number in the file sets how much is allocated.
            shape = (arrays["indptr"].size - 1, int(arrays["features"]))
            L = sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape, dtype=np.float64)
            L.check_format(full_check=True)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"data, indices and indptr make no matrix: {error}") from error
        return cls(as_points(L, "L", sparse=True), str(arrays["kind"]))


def make_projection(kind: str, X: Any, r: int, *, random_state: int | np.random.Generator | None = None) -> Projection:
    """Make a projection of the points of ``X`` to ``r`` features.

    Parameters
    ----------
    kind : str
        ``"uniform"`` (entries uniform in (0, 1)), ``"gaussian"`` (normal with variance 1/r), ``"sparse"``
        (Achlioptas: 0 with probability 2/3, else plus or minus sqrt(3/r)), ``"orthonormal"`` (rows orthonormal, times
        sqrt(d/r)), ``"pca"`` (the r leading principal directions of X).
    X : (n, d) array or sparse matrix
    r : int
        At most d; for ``"pca"`` at most n - 1.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    Projection

    Raises
    ------
    InputError
        If an argument is malformed.

    Examples
    --------
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> cm.features.make_projection("pca", iris.X, r=2).transform(iris.X).shape
    (150, 2)
    """
    points = as_points(X, sparse=True)
    n, d = points.shape
    check_one_of(kind, KINDS, "kind")
    most = min(n - 1, d) if kind == "pca" else d
    check_integer(r, 1, most, f"r must be an integer from 1 to {most} for {kind!r} on {n} points of {d} features")
    rng = as_generator(random_state)
    if kind == "uniform":
        return Projection(rng.random((r, d)), kind)
    if kind == "gaussian":
        return Projection(rng.standard_normal((r, d)) / np.sqrt(r), kind)
    if kind == "sparse":
        signs = rng.choice([-1.0, 0.0, 1.0], size=(r, d), p=[1 / 6, 2 / 3, 1 / 6])
        return Projection(sp.csr_array(np.sqrt(3.0 / r) * signs), kind)
    if kind == "orthonormal":
        basis, _ = np.linalg.qr(rng.standard_normal((d, r)))
        return Projection(np.sqrt(d / r) * basis.T, kind)
    return Projection(_principal_directions(points, r, rng), kind)


def _principal_directions(points: Any, r: int, rng: np.random.Generator) -> Array:
    """Right singular vectors of the centred points, largest first; sparse points stay sparse."""
    n, d = points.shape
    if not sp.issparse(points) or d <= DENSE_SVD or r >= min(n, d) - 1:
        dense = as_rows(points)
        return np.asarray(np.linalg.svd(dense - dense.mean(axis=0), full_matrices=False)[2][:r])
    mean = np.asarray(points.mean(axis=0)).ravel()
    centred = sp.linalg.LinearOperator(
        points.shape,
        matvec=lambda v: points @ v.ravel() - mean @ v.ravel(),
        rmatvec=lambda u: points.T @ u.ravel() - mean * u.sum(),
        dtype=np.float64,
    )
    return np.asarray(sp.linalg.svds(centred, k=r, random_state=rng, return_singular_vectors="vh")[2][::-1])
