r"""The work of a pass over rankings in any array library: distances, selection and adjoint of a block of queries.

Points given as arrays of PyTorch, CuPy, JAX or another library with the array API standard stay on their accelerator,
if they are on one, and passes over them run there in double precision, without any setting. Everything outside of
passes is NumPy, and so are passes over points in the host's memory, where compiled loops are faster: they need no other
package. Certificates (:func:`convexmetric.certify`) are always made in NumPy.

For hinges over pairs the whole pass runs on the accelerator. With :math:`k = d + \mu` for positives and :math:`k = d`
for negatives, a pair costs if the positive comes after the negative in the order of k; so one sort per query and two
running counts give the weights T of all distances,

.. math:: T_j = \#\{i : k_i > k_j\}, \qquad T_i = -\#\{j : k_j < k_i\}, \qquad
   \sum_{ij} \max(0, d_i + \mu - d_j) = -\sum_x T_x d_x + \mu \sum_j T_j .

The oracles of other measures and smoothed hinges are compiled loops; they take the distances of a block as a NumPy
array, and their weights go back for the adjoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.imports import optional

#: DLPack's device number of the host's memory; points with another number are on an accelerator.
HOST = 1
#: Whether passes are made in NumPy, wherever points are.
NUMPY_ONLY: ContextVar[bool] = ContextVar("numpy_only", default=False)


@contextmanager
def in_numpy() -> Iterator[None]:
    """Context in which passes are made in NumPy, wherever points are."""
    before = NUMPY_ONLY.set(True)
    try:
        yield
    finally:
        NUMPY_ONLY.reset(before)


@dataclass(frozen=True)
class Passes:
    """Passes over points in an array library, under full metrics.

    Attributes
    ----------
    X, Q : (n, d) and (n_q, d) arrays
        Corpus and queries, of one library, device and precision. In single precision results are hints, not bounds.
    """

    X: Any
    Q: Any

    @property
    def xp(self) -> Any:
        """Namespace of the array API standard."""
        return compat().array_namespace(self.X)

    def array(self, values: np.ndarray) -> Any:
        """Copy numbers to the device, in the precision of the points."""
        return self.xp.asarray(np.ascontiguousarray(values), dtype=self.X.dtype, device=self.X.device)

    def images(self, M: Array) -> tuple[Any, Any]:
        """``M x`` and ``x^T M x`` of every item."""
        images = self.X @ self.array(M)
        return images, self.xp.sum(images * self.X, axis=1)

    def distances(self, images: tuple[Any, Any], rows: np.ndarray) -> Any:
        """``x^T M x - 2 q^T M x`` of some queries, ``(B, n)``."""
        return images[1] - 2.0 * (self._queries(rows) @ images[0].T)

    def _queries(self, rows: np.ndarray) -> Any:
        return self.xp.take(self.Q, self.xp.asarray(rows, device=self.X.device), axis=0)

    def hinges(self, distances: Any, sides: np.ndarray, margin: float) -> tuple[Any, Array, Array]:
        """Sums of hinges over the pairs of every query.

        Parameters
        ----------
        distances : (B, n) array
        sides : (B, n) array
            Number of times that an item is a positive of a query; or minus the number that it is a negative.
        margin : float

        Returns
        -------
        T : (B, n) array
            Weights of the distances, on the device.
        sums, counts : (B,) arrays
            Sum of the hinges, and number of pairs that cost.
        """
        xp, sides = self.xp, self.array(sides)
        distances = distances - xp.min(distances, axis=1, keepdims=True)
        order = xp.argsort(distances + margin * xp.astype(sides > 0.0, sides.dtype), axis=1, stable=True)
        sorted_sides = xp.take_along_axis(sides, order, axis=1)
        near, far = xp.clip(sorted_sides, min=0.0), xp.clip(-sorted_sides, min=0.0)
        before = near * xp.cumulative_sum(far, axis=1)
        T = far * (xp.sum(near, axis=1, keepdims=True) - xp.cumulative_sum(near, axis=1)) - before
        T = xp.take_along_axis(T, xp.argsort(order, axis=1), axis=1)
        counts = xp.sum(before, axis=1)
        return T, numpy_array(margin * counts - xp.sum(T * distances, axis=1)), numpy_array(counts)

    def adjoint(self, T: Any, rows: np.ndarray) -> Array:
        """``sum_qx t_qx (q - x)(q - x)^T`` for the weights of some queries, whose rows sum to zero."""
        T = self.array(T) if isinstance(T, np.ndarray) else T
        half = (self.X * self.xp.sum(T, axis=0)[:, None] - 2.0 * (T.T @ self._queries(rows))).T @ self.X
        return numpy_array(0.5 * (half + half.T))


def numpy_array(values: Any) -> np.ndarray:
    """Convert an array of any library to a writable NumPy array; copied if needed."""
    # How arrays come to the host is no part of the standard; those of other libraries NumPy fetches by itself.
    sent = compat().is_torch_array(values) or compat().is_cupy_array(values)
    return np.require(compat().to_device(values, "cpu") if sent else values, requirements="W")


def compat() -> Any:
    """Return the module with which arrays of other libraries follow the standard."""
    return optional("array_api_compat", "arrays", "points on an accelerator")


def elsewhere(X: Any) -> bool:
    """Whether points are an array in the memory of an accelerator."""
    return hasattr(X, "__dlpack_device__") and not isinstance(X, np.ndarray) and X.__dlpack_device__()[0] != HOST


def passes_where(given: Any, X: Array, Q: Array) -> Passes | None:
    """Passes on the accelerator of the given points; None if they are on none, or it has no double precision."""
    if not elsewhere(given):
        return None
    xp, where = compat().array_namespace(given), compat().device(given)
    points = [xp.asarray(part, dtype=xp.float64, device=where) for part in ([X] if Q is X else [X, Q])]
    return Passes(points[0], points[-1]) if points[0].dtype == xp.float64 else None
