r"""Hinges of squared distances as a function of the points' images.

.. math:: \phi(G) = \sum_t \max_u \; u \, (\mu_t - s_t) - \tfrac12 \kappa_t u^2 - \frac{w}{2 b_t} (u - b_t v_t)^2,
   \qquad s_t = \sigma_t \|g_i - g_j\|^2

with the maximum over the box of the loss, a width w and centres :math:`0 \le v_t \le 1` (1/2 where none are given): the
losses of :class:`~convexmetric.losses.BoxLoss` smoothed, or, with the multipliers of an earlier pass for centres, their
augmented Lagrangian. With the multipliers u and the Laplacian :math:`\mathrm{Lap}` of a weighted graph

.. math:: \nabla \phi(G) = -2 \, \mathrm{Lap}(\sigma u) \, G, \qquad
   \nabla^2 \phi(G)[H] = -2 \, \mathrm{Lap}(\sigma u) H + 4 \, \mathrm{Lap}(h) \, G, \quad
   h_t = \tfrac{b_t}{w} \langle g_i - g_j, h_i - h_j \rangle \text{ where the smoothed hinge bends, and 0 elsewhere.}

Nothing of the size of a metric occurs: images may have any number of coordinates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.comparisons import PairDistances
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
        u, where pairs are listed.
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
        return np.asarray(self._degrees * H - self.weights @ H)

    def gradient(self) -> Array:
        """Gradient of the smoothed risk in the images."""
        return -2.0 * self.laplacian(self.G)

    def product(self, H: Any) -> Any:
        """The second derivative along H, in single precision."""
        G, weights, degrees, curvature = self._single
        H = np.ascontiguousarray(H, dtype=np.float32)
        out = np.zeros_like(H)
        over_rows(_curved, len(G), self.other.size * G.shape[1], G, H, self.start, self.other, curvature, out)
        return out - np.float32(2.0) * (degrees * H - weights @ H)

    def sides(self, X: Array) -> tuple[Array, Array]:
        """Split ``X^T Lap(sigma u) X`` by sign: the sum over pairs of positive weight, and minus the rest."""
        adding, taking = (_positive(sign * self.weights) for sign in (1.0, -1.0))
        return _scatter(X, adding), _scatter(X, taking)


class ImageRisk(ABC):
    """A risk that can be evaluated at images of its points."""

    form_words: ClassVar[str] = "a sum of hinges, absolute or squared errors of pairs"
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
        """``X^T Lap(b) X`` over the pairs whose distances cost: about the curvature of the risk across the optimum."""


class ListedPairs(ImageRisk):
    """Losses of listed pairs whose conjugates are parabolas on boxes.

    Parameters
    ----------
    pairs : PairDistances
    loss : BoxLoss
    """

    form_words = "a sum of hinges, absolute or squared errors of listed pairs"

    def __init__(self, pairs: PairDistances, loss: BoxLoss) -> None:
        self.X, self.pairs, self.loss = pairs.X, pairs, loss
        self.bounded = np.isfinite(loss.high)
        self.middle = 0.5 * (np.where(self.bounded, loss.low, 0.0) + np.where(self.bounded, loss.high, 0.0))
        #: Unit of the smoothing width of each pair: the end of its box; infinite where the loss is itself a parabola.
        self.size = np.maximum(np.abs(loss.low), np.abs(loss.high))

    def at(self, G: Array, width: float, centre: Array | None = None) -> ImagePass:
        """Evaluate the smoothed losses at images G, in one pass over the list."""
        loss, signs, (i, j) = self.loss, self.pairs.signs, self.pairs.pairs.T
        s = self.pairs.between(G)
        middle = self.middle if centre is None else centre
        bend = width / self.size
        with np.errstate(divide="ignore", invalid="ignore"):
            u = (loss.offset - s + middle * bend) / (loss.curvature + bend)
        u = loss.clip(u) if width > 0.0 else loss.subgradient(s)
        duals = loss.dual_values(u)
        adding = float(duals[signs * u > 0.0].sum())
        value = float(duals.sum()) - float(s @ u) - 0.5 * float(bend @ (u - middle) ** 2)
        weights = symmetric(i, j, signs * u, len(G))
        on = np.flatnonzero((u > loss.low) & (u < loss.high))
        curvature = 1.0 / (loss.curvature + bend)[on] if width > 0.0 else np.zeros(on.size)
        kinks = symmetric(i[on], j[on], curvature, len(G))
        return ImagePass(
            G,
            value,
            loss.value(s),
            (adding, float(duals.sum()) - adding),
            weights,
            u,
            kinks.indptr,
            kinks.indices,
            kinks.data,
        )

    def centre(self, here: ImagePass) -> Array | None:
        """The multipliers of the pass, unchanged."""
        return here.multipliers

    def scaled_multipliers(self, here: ImagePass, share: float) -> Array:
        """Multipliers in the order of the list; those that add to S are scaled by ``share``."""
        u = here.multipliers
        assert u is not None
        return np.where(self.pairs.signs * u > 0.0, share * u, u)

    def within_scatter(self) -> Array:
        """``X^T Lap(b) X`` over pairs that are similar, or whose distance is a target."""
        costs = np.where(self.bounded, self.size, 1.0 / np.maximum(self.loss.curvature, np.finfo(float).tiny))
        costs = np.where((self.pairs.signs < 0.0) | (self.loss.low < 0.0), costs, 0.0)
        i, j = self.pairs.pairs.T
        return _scatter(self.X, symmetric(i, j, costs, len(self.X)))


def _positive(weights: Any) -> Any:
    return weights.maximum(0.0) if sp.issparse(weights) else np.maximum(weights, 0.0)


def _scatter(X: Array, weights: Any) -> Array:
    """``X^T Lap(weights) X``."""
    degrees = np.asarray(weights.sum(axis=1)).reshape(-1, 1)
    S = X.T @ (degrees * X - weights @ X)
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
