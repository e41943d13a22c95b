r"""Hyperbolic PCA: the projection that affine losses ask for, in closed form (Maurer 2008, "paper 4", section 4.2).

.. math:: \hat A = \frac1m \sum_{i=1}^m \eta_{r_i} Q_{x_i - x'_i}, \qquad \eta_1 = -1, \quad
   \eta_{-1} = \frac{1}{c^2 - 1}, \qquad T = c P, \quad P = \arg\max_{P \in \mathcal{P}_d} \langle P, \hat A \rangle

For :math:`\|x - x'\| \le 1` and :math:`\|T\|_\infty \le c` the losses :math:`\psi_1(t) = 1 - t` and
:math:`\psi_{-1}(t) = 1 - t / (c^2 - 1)` are above the 0/1 loss, and being affine they only need :math:`\hat A`
(proposition 15):

.. math:: \hat R(T) \le 1 + \hat{\mathbb{E}} \eta_r - \langle T^* T, \hat A \rangle

P projects on the eigenvectors of the d largest eigenvalues, and :math:`\langle P, \hat A \rangle` is their sum
(proposition 17). Weighing similar against dissimilar pairs, c also sets the scale: points nearer than 1/c in the
subspace are similar. Section 4.2 asks for c > 1, theorem 16 for c >= 2, the algorithm for c > 2: any c above 1 makes
the losses bounds, and c >= sqrt(2) is enough for theorem 16. Where fewer than d eigenvalues are positive, more
dimensions make the bound worse.

Where similarity is defined by classes, the last display of section 4.2 takes the sum over all pairs of points: A-hat is
then a U-statistic, never listed here, and theorem 16 holds with half as many pairs as there are points.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arguments import check_integer, checked_weight
from convexmetric.arrays import Array
from convexmetric.comparisons.pairs import LabelledPairs, ListedPairs, label_codes, pair_signs
from convexmetric.comparisons.points import as_points
from convexmetric.cones import PSDCone
from convexmetric.errors import InputError
from convexmetric.evaluation.operators import SimilarityOperator
from convexmetric.evaluation.pairs import both_kinds
from convexmetric.features import Embedding
from operator_paper.theory.risk_bounds import (
    RiskBound,
    affine_risk_bound,
    affine_risk_bound_from_labels,
    checked_probability,
)


@dataclass(frozen=True)
class HyperbolicPCA:
    """An operator ``T = c P`` and what it attains.

    Attributes
    ----------
    operator : SimilarityOperator
        ``c P``, with d rows.
    eigenvalues : array
        Eigenvalues of A-hat on the span of the points, largest first.
    value : float
        ``<P, A-hat>``, the sum of the first d eigenvalues: the largest of all d-dimensional projections.
    c : float
    mean_eta : float
        Weighted mean of eta over the pairs.
    d_given : bool
        Whether d was given, or is the number of positive eigenvalues.
    """

    operator: SimilarityOperator
    eigenvalues: Array = field(repr=False)
    value: float
    c: float
    mean_eta: float
    d_given: bool

    @property
    def empirical_bound(self) -> float:
        """``1 + mean eta - <T*T, A-hat>``: at least the empirical risk, if the points of no pair are farther than 1."""
        return 1.0 + self.mean_eta - self.c**2 * self.value

    def risk_bound(
        self, X: Any, pairs: ArrayLike, y: ArrayLike, *, delta: float = 0.05, balanced: bool = False
    ) -> RiskBound:
        """Bound on the risk by theorem 16, for independent pairs; see :func:`affine_risk_bound`.

        It holds for all projections on d dimensions, so that the pairs may be those that P was learned from, if c was
        not chosen by them. Where d was, every d has a share ``delta / (d (d + 1))``: their sum over all d is delta.
        """
        c, radius, share = self._class(delta)
        bound = affine_risk_bound(self.operator, X, pairs, y, c=c, radius=radius, delta=share, balanced=balanced)
        return replace(bound, delta=float(delta))

    def risk_bound_from_labels(self, X: Any, y: ArrayLike, *, delta: float = 0.05) -> RiskBound:
        """Bound on the risk by theorem 16, for all pairs of labelled points; see :func:`affine_risk_bound_from_labels`.

        Points are drawn independently, and may be those that P was learned from. The oracle is not balanced.
        """
        c, radius, share = self._class(delta)
        bound = affine_risk_bound_from_labels(self.operator, X, y, c=c, radius=radius, delta=share)
        return replace(bound, delta=float(delta))

    def _class(self, delta: float) -> tuple[float, float, float]:
        """Scale c and radius of ``cP`` on d dimensions, and the share of delta for this d."""
        d = len(self.operator.components)
        return self.c, self.c**2 * sqrt(d), checked_probability(delta) / (1 if self.d_given else d * (d + 1))


def hyperbolic_pca(
    X: Any,
    pairs: ArrayLike,
    y: ArrayLike,
    *,
    d: int | None = None,
    c: float = 2.0,
    embedding: Embedding | None = None,
    balanced: bool = False,
) -> HyperbolicPCA:
    """Hyperbolic PCA of listed pairs.

    Parameters
    ----------
    X : (n, features) array
        Points.
    pairs : (m, 2) int array
        Rows ``(i, j)``.
    y : (m,) array
        +1 for a similar, -1 for a dissimilar pair.
    d : int, optional
        Dimensions of the projection; by default as many as there are positive eigenvalues, which is best.
    c : float
        Above 1.
    embedding : Embedding, optional
        Coordinates of the points, such as those of a kernel; the operator acts on these.
    balanced : bool
        Whether similar and dissimilar pairs weigh one half each, instead of all pairs the same.

    Returns
    -------
    HyperbolicPCA

    Raises
    ------
    InputError
        If an argument is malformed, d is larger than the span of the points, or no eigenvalue is positive and d is not
        given.
    """
    Z, basis = _coordinates(X, embedding)
    listed = ListedPairs(pairs, len(Z))
    r = pair_signs(y, len(listed))
    scale = _scale(c)
    weights = np.full(r.size, 1.0 / r.size)
    if balanced:
        for kind in both_kinds(r):
            weights[kind] = 0.5 / kind.sum()
    weights *= np.where(r > 0.0, -1.0, 1.0 / (scale**2 - 1.0))
    A = listed.total(Z, PSDCone(Z.shape[1]), weights)
    return _projected(A, basis, d, scale, float(weights.sum()), embedding)


def hyperbolic_pca_from_labels(
    X: Any,
    y: ArrayLike,
    *,
    d: int | None = None,
    c: float = 2.0,
    embedding: Embedding | None = None,
    balanced: bool = True,
) -> HyperbolicPCA:
    """Hyperbolic PCA of all pairs of labelled points, which are never listed.

    Parameters
    ----------
    X, d, c, embedding
        As for :func:`hyperbolic_pca`.
    y : (n,) array
        Labels.
    balanced : bool
        Whether similar and dissimilar pairs weigh one half each, instead of all pairs the same.

    Returns
    -------
    HyperbolicPCA

    Raises
    ------
    InputError
        If an argument is malformed, the labels make no pair similar or none dissimilar, d is larger than the span of
        the points, or no eigenvalue is positive and d is not given.
    """
    Z, basis = _coordinates(X, embedding)
    codes = label_codes(y, len(Z))
    scale = _scale(c)
    eta = np.array([-1.0, 1.0 / (scale**2 - 1.0)])
    kinds = [LabelledPairs(codes, same=True), LabelledPairs(codes, same=False)]
    sizes = np.array([len(kind) for kind in kinds], dtype=np.float64)
    weights = eta * (np.full(2, 0.5) if balanced else sizes / sizes.sum())
    cone = PSDCone(Z.shape[1])
    A = weights[0] * kinds[0].mean(Z, cone) + weights[1] * kinds[1].mean(Z, cone)
    return _projected(A, basis, d, scale, float(weights.sum()), embedding)


def _coordinates(X: Any, embedding: Embedding | None) -> tuple[Array, Array | None]:
    """Centred points; with more features than points, their coordinates in an orthonormal basis of their span."""
    if embedding is not None and not isinstance(embedding, Embedding):
        raise InputError(f"embedding must have a method transform(X), got {type(embedding).__name__}")
    Z = as_points(X) if embedding is None else as_points(embedding.transform(X), "coordinates")
    Z = Z - Z.mean(axis=0)
    if Z.shape[1] <= Z.shape[0]:
        return Z, None
    U, lengths, basis = np.linalg.svd(Z, full_matrices=False)
    kept = lengths > lengths[0] * max(Z.shape) * np.finfo(float).eps
    # Where all points are the same no length is above rounding.
    kept[0] = True
    return np.ascontiguousarray(U[:, kept] * lengths[kept]), basis[kept]


def _scale(c: float) -> float:
    scale = checked_weight(c, "c")
    if scale <= 1.0:
        raise InputError(f"c must be above 1, got {c!r}: dissimilar points are at most c apart, and must be beyond 1")
    return scale


def _projected(
    A: Array, basis: Array | None, d: int | None, c: float, mean_eta: float, embedding: Embedding | None
) -> HyperbolicPCA:
    values, vectors = np.linalg.eigh(A)
    values, vectors = values[::-1], vectors[:, ::-1]
    if d is None:
        dimensions = int(np.sum(values > values.size * np.finfo(float).eps * np.abs(values).max()))
        if not dimensions:
            raise InputError(
                f"no eigenvalue is positive at c = {c:g}: dissimilar pairs are missing or too near; lower c, or give d"
            )
    else:
        check_integer(d, 1, values.size, f"d must be an integer from 1 to {values.size}, the dimension of the points")
        dimensions = int(d)
    P = vectors[:, :dimensions].T
    components = c * (P if basis is None else P @ basis)
    return HyperbolicPCA(
        operator=SimilarityOperator(components, embedding),
        eigenvalues=values,
        value=float(values[:dimensions].sum()),
        c=c,
        mean_eta=mean_eta,
        d_given=d is not None,
    )
