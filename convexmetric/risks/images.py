r"""Hinges of squared distances as a function of the points' images.

.. math:: \phi(G) = \sum_t \max_u \; u \, (\mu_t - s_t) - \tfrac12 \kappa_t u^2 - \frac{w}{2 b_t} (u - b_t v_t)^2,
   \qquad s_t = \sigma_t \|g_i - g_j\|^2

with the maximum over the box of the loss, a width w and centres :math:`0 \le v_t \le 1` (by default 1/2): the
losses of :class:`~convexmetric.losses.BoxLoss` smoothed, or, with the multipliers of an earlier pass for centres, their
augmented Lagrangian. With the multipliers u and the Laplacian :math:`\mathrm{Lap}` of a weighted graph

.. math:: \nabla \phi(G) = -2 \, \mathrm{Lap}(\sigma u) \, G, \qquad
   \nabla^2 \phi(G)[H] = -2 \, \mathrm{Lap}(\sigma u) H + 4 \, \mathrm{Lap}(h) \, G, \quad
   h_t = \tfrac{b_t}{w} \langle g_i - g_j, h_i - h_j \rangle \text{ where the smoothed hinge bends, and 0 elsewhere.}

For a triplet, which compares two pairs, :math:`s_t` and :math:`h_t` are differences of those of its pairs, and both
pairs get :math:`\sigma u` and h with their signs in the triplet.

No array has the size of a metric: images may have any number of coordinates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.comparisons import Comparisons, PairDistances
from convexmetric.comparisons.pair_distances import symmetric
from convexmetric.losses import BoxLoss
from convexmetric.numerics.compiling import compiled_in_any_order
from convexmetric.numerics.threads import over_rows


@dataclass(frozen=True)
class ImagePass:
    """A pass over the pairs: the smoothed risk at some images, with its derivatives.

    Attributes
    ----------
    G : (n, r) array
        Images of the points.
    value, exact : float
        Value of the smoothed risk, and of the risk itself.
    duals : (float, float)
        Constants of the minorant ``R >= sum(duals) - <S, M>``: of the pairs that add to S, and of those that subtract.
    weights : (n, n) array or sparse matrix
        ``sigma u`` for every pair, symmetric.
    multipliers : (T,) array or None
        u, if pairs are listed.
    start, other, curvature : arrays
        Active pairs (where the smoothed hinge bends) by point, as in CSR: row starts, the other points, ``b / w``.
    """

    G: Array
    value: float
    exact: float
    duals: tuple[float, float]
    weights: Any
    multipliers: Array | None
    start: np.ndarray
    other: np.ndarray
    curvature: Array

    @property
    def kinks(self) -> int:
        """Number of active pairs, where the smoothed hinge bends."""
        return len(self.other) // 2

    @cached_property
    def _degrees(self) -> Array:
        return np.asarray(self.weights.sum(axis=1)).reshape(-1, 1)

    @cached_property
    def _single(self) -> tuple[Any, Any, Any, Any]:
        """Images, weights, degrees and curvature in single precision, which is enough for products."""
        arrays = self.G, self.weights, self._degrees, self.curvature
        return tuple(array.astype(np.float32) for array in arrays)  # type: ignore[return-value]

    def laplacian(self, H: Array) -> Array:
        """Product with the graph Laplacian, ``Lap(sigma u) H``."""
        return np.asarray(self._degrees * H - _times(self.weights, H))

    def gradient(self) -> Array:
        """Gradient of the smoothed risk in the images."""
        return -2.0 * self.laplacian(self.G)

    def product(self, H: Any) -> Any:
        """The second derivative along H, in single precision."""
        G, weights, degrees, curvature = self._single
        H = np.ascontiguousarray(H, dtype=np.float32)
        return self._bent(G, H, curvature) - np.float32(2.0) * (degrees * H - _times(weights, H))

    def _bent(self, G: Any, H: Any, curvature: Any) -> Any:
        """The part of the second derivative that is due to active comparisons."""
        out = np.zeros_like(H)
        over_rows(_curved, len(G), self.other.size * G.shape[1], G, H, self.start, self.other, curvature, out)
        return out

    def sides(self, X: Array) -> tuple[Array, Array]:
        """Split ``X^T Lap(sigma u) X`` by sign: the sum over pairs of positive weight, and minus the rest."""
        adding, taking = (_positive(sign * self.weights) for sign in (1.0, -1.0))
        return _scatter(X, adding), _scatter(X, taking)


@dataclass(frozen=True)
class _JointPass(ImagePass):
    """A pass over comparisons of several pairs each, such as triplets: curvature joins pairs, and all add to S.

    Attributes
    ----------
    ends : (P, n) sparse matrix
        Differences of images of the pairs in active comparisons.
    rows : (K, P) sparse matrix
        Active comparisons in terms of these pairs; ``curvature`` has a number for each, ``start`` and ``other`` none.
    """

    ends: Any
    rows: Any

    @property
    def kinks(self) -> int:
        """Number of active comparisons."""
        return len(self.curvature)

    @cached_property
    def _joined(self) -> tuple[Any, Any, Any]:
        ends, rows = self.ends.astype(np.float32), self.rows.astype(np.float32)
        return ends, rows, ends @ self._single[0]

    def _bent(self, G: Any, H: Any, curvature: Any) -> Any:
        ends, rows, differences = self._joined
        changes = rows @ np.einsum("pk,pk->p", differences, ends @ H)
        weights = rows.T @ (np.float32(4.0) * curvature * changes)
        return ends.T @ (weights[:, None] * differences)

    def sides(self, X: Array) -> tuple[Array, Array]:
        """``X^T Lap(sigma u) X`` and zero: a multiplier scales all pairs of its comparison."""
        S = _scatter(X, self.weights)
        return S, np.zeros_like(S)


class ImageRisk(ABC):
    """A risk that can be evaluated at images of its points."""

    form_words: ClassVar[str] = "a sum of hinges, absolute or squared errors of pairs or triplets"
    #: Whether comparisons are of several pairs each, such as triplets.
    joint: bool = False
    #: Number of squared distances in a comparison.
    distances_each: float = 1.0
    #: Whether a pass holds matrices of all pairs of points, and not a list of pairs.
    all_pairs: ClassVar[bool] = False

    X: Array

    @abstractmethod
    def at(self, G: Array, width: float, centre: Any = None) -> ImagePass:
        """Evaluate the smoothed risk at images G; ``centre`` is what :meth:`centre` returned for an earlier pass."""

    @abstractmethod
    def centre(self, here: ImagePass) -> Any:
        """Turn the multipliers of a pass into centres of the next (augmented Lagrangian)."""

    @abstractmethod
    def scaled_multipliers(self, here: ImagePass, share: float) -> Array:
        """Multipliers of a pass in the order of the risk's dual points; those that add to S are scaled by ``share``."""

    @abstractmethod
    def within_scatter(self) -> Array:
        """``X^T Lap(b) X`` over the pairs whose distances cost: roughly the curvature of the risk near the optimum."""


class ListedImages(ImageRisk):
    """Hinges or boxed losses of listed comparisons, evaluated at images of the points.

    Parameters
    ----------
    comparisons : Comparisons
        Signed sums of squared distances of pairs.
    loss : BoxLoss
    """

    def __init__(self, comparisons: Comparisons, loss: BoxLoss) -> None:
        (X,), found = comparisons.points, comparisons.pair_sums()
        assert found is not None
        self.X = X.toarray() if sp.issparse(X) else X
        self.comparisons, self.loss, (self.pairs, self.sums) = comparisons, loss, found
        self.joint = not isinstance(comparisons, PairDistances)
        self.distances_each = comparisons.distances_each
        self.bounded = np.isfinite(loss.high)
        self.middle = 0.5 * (np.where(self.bounded, loss.low, 0.0) + np.where(self.bounded, loss.high, 0.0))
        #: Unit of the smoothing width of each pair: the end of its box; infinite where the loss is itself a parabola.
        self.size = np.maximum(np.abs(loss.low), np.abs(loss.high))

    def at(self, G: Array, width: float, centre: Array | None = None) -> ImagePass:
        """Evaluate the smoothed losses at images G, in one pass over the list."""
        loss, (i, j) = self.loss, self.pairs.T
        s = self.sums @ np.sum((G[i] - G[j]) ** 2, axis=1)
        middle = self.middle if centre is None else centre
        # A weight of zero has the multiplier zero at any width.
        bend = width / np.where(self.size > 0.0, self.size, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            u = (loss.offset - s + middle * bend) / (loss.curvature + bend)
        u = loss.clip(u) if width > 0.0 else loss.subgradient(s)
        duals = loss.dual_values(u)
        adding = float(duals[self._adding(u)].sum())
        value = float(duals.sum()) - float(s @ u) - 0.5 * float(bend @ (u - middle) ** 2)
        weights = symmetric(i, j, self.sums.T @ u, len(G))
        on = np.flatnonzero((u > loss.low) & (u < loss.high))
        curvature = 1.0 / (loss.curvature + bend)[on] if width > 0.0 else np.zeros(on.size)
        known = G, value, loss.value(s), (adding, float(duals.sum()) - adding), weights, u
        if self.joint:
            rows, none = self.sums[on], np.empty(0, dtype=np.int32)
            used = np.unique(rows.indices)
            return _JointPass(*known, none, none, curvature, self._ends[used], rows[:, used])
        kinks = symmetric(i[on], j[on], curvature, len(G))
        return ImagePass(*known, kinks.indptr, kinks.indices, kinks.data)

    @cached_property
    def _ends(self) -> sp.csr_array:
        """Differences of images of the pairs, as a matrix."""
        every = np.arange(len(self.pairs))
        signed = np.repeat([1.0, -1.0], every.size), (np.tile(every, 2), self.pairs.T.ravel())
        return sp.csr_array(signed, shape=(every.size, len(self.X)))

    def _adding(self, u: Array) -> np.ndarray:
        """Mask of the comparisons whose multipliers add to S, which the share scales."""
        return np.ones(len(u), dtype=bool) if self.joint else self.comparisons.signs_of_each() * u > 0.0

    def centre(self, here: ImagePass) -> Array | None:
        """The multipliers of the pass, unchanged."""
        return here.multipliers

    def scaled_multipliers(self, here: ImagePass, share: float) -> Array:
        """Multipliers in the order of the list; those that add to S are scaled by ``share``."""
        u = here.multipliers
        assert u is not None
        return np.where(self._adding(u), share * u, u)

    def within_scatter(self) -> Array:
        """``X^T Lap(b) X`` over pairs that should be near, or that have a target distance."""
        costs = np.where(self.bounded, self.size, 1.0 / np.maximum(self.loss.curvature, np.finfo(float).tiny))
        near, far = -self.sums.minimum(0.0), self.sums.maximum(0.0)
        pulls = near.T @ costs + far.T @ np.where(self.loss.low < 0.0, costs, 0.0)
        i, j = self.pairs.T
        return _scatter(self.X, symmetric(i, j, pulls, len(self.X)))


def _times(weights: Any, H: Array) -> Array:
    """Product with weights of pairs; if the weights have fewer columns than rows, each block of points is separate."""
    n, size = weights.shape
    if n == size:
        return np.asarray(weights @ H)
    return np.matmul(weights.reshape(-1, size, size), H.reshape(-1, size, H.shape[1])).reshape(H.shape)


def _positive(weights: Any) -> Any:
    return weights.maximum(0.0) if sp.issparse(weights) else np.maximum(weights, 0.0)


def _scatter(X: Array, weights: Any) -> Array:
    """``X^T Lap(weights) X``."""
    degrees = np.asarray(weights.sum(axis=1)).reshape(-1, 1)
    S = X.T @ (degrees * X - _times(weights, X))
    return np.asarray(0.5 * (S + S.T))


@compiled_in_any_order
def _curved(begin, end, G, H, start, other, curvature, out):
    for i in range(begin, end):
        g, h, total = G[i], H[i], out[i]
        for at in range(start[i], start[i + 1]):
            j = other[at]
            dot = np.float32(0.0)
            for k in range(g.size):
                dot += (g[k] - G[j, k]) * (h[k] - H[j, k])
            weight = np.float32(4.0) * curvature[at] * dot
            for k in range(g.size):
                total[k] += weight * (g[k] - G[j, k])
