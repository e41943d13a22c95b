r"""Points in the plane that shows the most of a metric.

.. math:: z_i = \big( \sqrt{\lambda_1} \, v_1^\top (x_i - \bar x), \; \sqrt{\lambda_2} \, v_2^\top (x_i - \bar x) \big),
   \qquad M = \sum_k \lambda_k v_k v_k^\top, \quad \lambda_1 \ge \lambda_2 \ge \dots

Distances between the :math:`z_i` are at most those of M, and equal to them when its rank is at most 2. Where M has no
second (or first) direction, the plane shows the principal axis of what M ignores instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import aslinearoperator, svds

from convexmetric.arrays import Array
from convexmetric.comparisons.points import as_points
from convexmetric.comparisons.relevance import as_labels
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.plotting.axes import COLOURS, LEGEND_LIMIT, MARKERS, axes_of, panels, plain, text_of

#: Eigenvalues (or weights) above this share of the largest count for the rank.
RANK_SHARE = 1e-6


def plot_embedding(
    X: Any,
    y: ArrayLike | None = None,
    M: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    target_names: Sequence[str] | None = None,
) -> Axes:
    """Draw the data in the plane of the two top eigenvectors of a metric.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Points.
    y : (n,) array, optional
        Class of each point.
    M : (d, d) or (d,) array, optional
        The metric, or the weights of a diagonal one; None is the Euclidean metric, whose plane is that of the two top
        principal axes. Distances in the picture are at most those of the metric, and equal to them up to rank 2.
        A metric of rank 1 has no second direction: the principal axis of what it ignores is drawn instead.
    ax : Axes, optional
    target_names : sequence of str, optional
        Names of the classes, in the order of ``numpy.unique(y)``.

    Raises
    ------
    InputError
        If the shapes do not fit.
    """
    points = as_points(X, sparse=True)
    plane = metric_plane(points, M)
    labels, names = _classes(y, target_names, points.shape[0])
    ax = axes_of(ax)
    for k, name in enumerate(names):
        colour, marker = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]
        x, z = plane.points[labels == k].T
        ax.scatter(x, z, s=26, color=colour, marker=marker, edgecolor="white", linewidth=0.5, alpha=0.9, label=name)
    if 1 < len(names) <= LEGEND_LIMIT:
        ax.legend(framealpha=0.8, edgecolor="none", fontsize="small")
    ax.set_title("Before: Euclidean metric" if M is None else f"Learned metric, rank {plane.rank}")
    ax.set_xlabel(_axis_label(plane, 0, M is None))
    ax.set_ylabel(_axis_label(plane, 1, M is None))
    if all(plane.in_metric):
        # Distances are to be read off the picture.
        ax.set_aspect("equal", adjustable="datalim")
    return plain(ax, "both")


def plot_before_after(
    X: Any, images: Any, y: ArrayLike | None = None, *, target_names: Sequence[str] | None = None
) -> Figure:
    """Draw rows before and after a metric, each on their two top principal axes, side by side.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Points.
    images : (n, c) array or sparse matrix
        What the metric makes of them, as from ``transform``: learned distances are Euclidean ones of these.
    y : (n,) array, optional
        Class of each point.
    target_names : sequence of str, optional
        Names of the classes, in the order of ``numpy.unique(y)``.

    Raises
    ------
    InputError
        If the shapes do not fit.
    """
    figure, (before, after) = panels(1, 2, height=2.9)
    plot_embedding(X, y, ax=before, target_names=target_names)
    plot_embedding(images, y, ax=after, target_names=target_names)
    after.set_title("After: learned metric", fontsize="medium")
    share_legend(figure, before, after)
    return figure


def share_legend(figure: Figure, before: Axes, after: Axes) -> None:
    """Draw a single legend of classes, below the two panels."""
    legends = [legend for ax in (before, after) if (legend := ax.get_legend()) is not None]
    for legend in legends:
        legend.remove()
    if legends:
        classes = before.get_legend_handles_labels()
        figure.legend(*classes, loc="outside lower center", ncols=4, frameon=False, fontsize="small")
    # Axes of equal scale find their ticks while they are drawn, and only the next drawing leaves room for them.
    figure.draw_without_rendering()


def _classes(y: ArrayLike | None, target_names: Sequence[str] | None, n: int) -> tuple[NDArray[Any], list[str]]:
    if y is None:
        return np.zeros(n, dtype=np.int64), [""]
    labels = as_labels(y, n)
    present, codes = np.unique(labels, return_inverse=True)
    if target_names is None:
        words = labels.dtype.kind in "USO"
        return codes, [text_of(name if words else f"class {name}") for name in present]
    if len(target_names) != len(present):
        raise InputError(f"target_names must name the {len(present)} classes of y, got {len(target_names)} names")
    return codes, [text_of(name) for name in target_names]


def _axis_label(plane: Plane, axis: int, euclidean: bool) -> str:
    ordinal = ("1st", "2nd")[axis]
    share = plane.shares[axis]
    if euclidean:
        return f"{ordinal} principal axis\n({share:.0%} of the variance)"
    if plane.in_metric[axis]:
        features = np.flatnonzero(plane.directions[:, axis])
        if len(features) == 1:
            return rf"feature {features[0]} $\times\,\sqrt{{w_{{{features[0]}}}}}$" f"\n({share:.0%} of the trace)"
        return rf"{ordinal} eigenvector $\times\,\sqrt{{\lambda_{axis + 1}}}$" f"\n({share:.0%} of the trace)"
    if not plane.directions[:, axis].any():
        return "no further direction"
    return f"residual principal axis\n({share:.0%} of its variance),\nweight 0 in the metric"


@dataclass(frozen=True)
class Plane:
    """Points in a plane of a metric, and its two axes.

    Attributes
    ----------
    points : (n, 2) array
        Coordinates of the centred points.
    directions : (d, 2) array
        Unit vectors of the axes in feature space; their largest entry is positive.
    weights : tuple of float
        The eigenvalue of each axis; zero for a principal axis of what the metric ignores.
    shares : tuple of float
        For an axis of the metric, its share of the trace; for a principal axis, its share of the variance (of what the
        metric ignores, if the axis is not of the metric).
    rank : int
        Rank of the metric.
    """

    points: Array
    directions: Array
    weights: tuple[float, float]
    shares: tuple[float, float]
    rank: int

    @property
    def in_metric(self) -> tuple[bool, bool]:
        """Whether distances along each axis count in the metric."""
        return self.weights[0] > 0.0, self.weights[1] > 0.0


def metric_plane(X: Any, M: ArrayLike | None = None) -> Plane:
    """The plane of the two top eigenvectors of ``M``; of the two top principal axes, without ``M``.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Points, as float64.
    M : (d, d) or (d,) array, optional
        A metric, or the weights of a diagonal one. None is the Euclidean metric.

    Raises
    ------
    InputError
        If ``M`` does not fit ``X``, is not symmetric or has entries that are not finite.
    """
    d = X.shape[1]
    mean = np.asarray(X.mean(axis=0)).ravel()
    if M is None:
        directions, shares = _principal_axes(X, mean, np.zeros((d, 0)), 2)
        return Plane(_scores(X, mean, directions), directions, (1.0, 1.0), (shares[0], shares[1]), d)
    values, directions, rank, trace = _top(M, d)
    found = directions.shape[1]
    principal, variance = _principal_axes(X, mean, directions, 2 - found)
    directions = np.hstack([directions, principal])
    weights = [*values, *[0.0] * (2 - found)]
    shares = [*(values / trace if found else ()), *variance]
    scales = np.array([np.sqrt(value) if value > 0.0 else 1.0 for value in weights])
    points = _scores(X, mean, directions) * scales
    return Plane(points, directions, (weights[0], weights[1]), (shares[0], shares[1]), rank)


def _top(M: ArrayLike, d: int) -> tuple[Array, Array, int, float]:
    """Up to two largest positive eigenvalues with their eigenvectors, the rank, and the trace."""
    array = np.asarray(M)
    if array.shape not in ((d,), (d, d)):
        raise InputError(f"M must have shape ({d}, {d}) or ({d},) to fit the {d} features of X, got {array.shape}")
    diagonal = np.diag(array) if array.ndim == 2 else array
    if array.ndim == 1 or (d > 1 and np.count_nonzero(array) == np.count_nonzero(diagonal)):
        spectrum, vectors = NonnegativeDiagonal(d).element(diagonal, "M"), None
    else:
        spectrum, vectors = np.linalg.eigh(PSDCone(d).element(array, "M"))
    positive = spectrum > RANK_SHARE * max(spectrum.max(), 0.0)
    order = np.argsort(-spectrum, kind="stable")[: min(2, int(positive.sum()))]
    if vectors is None:
        top = np.zeros((d, len(order)))
        top[order, np.arange(len(order))] = 1.0
    else:
        top = vectors[:, order]
    return spectrum[order], _signed(top), int(positive.sum()), float(np.maximum(spectrum, 0.0).sum())


def _scores(X: Any, mean: Array, directions: Array) -> Array:
    return np.asarray(X @ directions - mean @ directions)


def _principal_axes(X: Any, mean: Array, removed: Array, count: int) -> tuple[Array, list[float]]:
    """Principal axes of the centred points after removing orthonormal directions, with shares of what variance is left.

    Axes that do not exist, because there are too few features or points, are zero.
    """
    n, d = X.shape
    axes, shares = np.zeros((d, count)), [0.0] * count
    if count == 0:
        return axes, shares
    scores = _scores(X, mean, removed)
    squares = X.multiply(X).sum() if sp.issparse(X) else np.vdot(X, X)
    variance = float(squares) - n * float(mean @ mean) - float(np.vdot(scores, scores))
    k = min(count, n, d)
    # The mean and the removed directions are a matrix of low rank, less which sparse points are not written out.
    left, low = np.column_stack([np.ones(n), scores]), np.vstack([mean, removed.T])
    if not sp.issparse(X) or min(n, d) <= k:
        dense = X.toarray() if sp.issparse(X) else X
        _, singular, right = np.linalg.svd(dense - left @ low, full_matrices=False)
        singular, right = singular[:k], right[:k]
    else:
        rest = aslinearoperator(X) - aslinearoperator(left) @ aslinearoperator(low)
        _, singular, right = svds(rest, k=k, v0=np.ones(min(n, d)))
        singular, right = singular[::-1], right[::-1]
    real = singular > 1e-12 * np.sqrt(max(float(squares), np.finfo(float).tiny))
    axes[:, : int(real.sum())] = _signed(right[real].T)
    shares[: int(real.sum())] = [float(s * s / variance) for s in singular[real]]
    return axes, shares


def _signed(directions: Array) -> Array:
    """Signs such that the largest entry is positive; of equally large ones, the first."""
    size = np.abs(directions)
    first = np.argmax(size >= (1.0 - 1e-9) * size.max(axis=0, initial=0.0), axis=0)
    signs = np.sign(directions[first, np.arange(directions.shape[1])])
    return directions * np.where(signs == 0.0, 1.0, signs)
