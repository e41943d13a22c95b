"""Points in the plane of a metric, or of their distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from convexmetric.comparisons.points import as_points
from convexmetric.comparisons.relevance import as_labels
from convexmetric.errors import InputError
from convexmetric.plotting.axes import COLOURS, LEGEND_LIMIT, MARKERS, axes_of, text_of
from convexmetric.plotting.principal_plane import Plane, distance_plane, metric_plane


def plot_embedding(
    X: Any,
    y: ArrayLike | None,
    M: ArrayLike | None,
    *,
    ax: Axes | None = None,
    target_names: Sequence[str] | None = None,
) -> Axes:
    """The data in the plane of the two top eigenvectors of a metric.

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
        chosen = labels == k
        ax.scatter(
            plane.points[chosen, 0],
            plane.points[chosen, 1],
            s=26,
            color=COLOURS[k % len(COLOURS)],
            marker=MARKERS[k % len(MARKERS)],
            edgecolor="white",
            linewidth=0.5,
            alpha=0.9,
            label=name,
        )
    ax.set_title("Before: Euclidean metric" if M is None else f"Learned metric, rank {plane.rank}")
    ax.set_xlabel(_axis_label(plane, 0, M is None))
    ax.set_ylabel(_axis_label(plane, 1, M is None))
    if all(plane.in_metric):
        # Distances are to be read off the picture.
        ax.set_aspect("equal", adjustable="datalim")
    if 1 < len(names) <= LEGEND_LIMIT:
        ax.legend(framealpha=0.8, edgecolor="none", fontsize="small")
    return ax


def plot_mds(
    distances: ArrayLike,
    y: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    target_names: Sequence[str] | None = None,
) -> Axes:
    """Points in the plane by classical multidimensional scaling of their distances.

    Unlike :func:`plot_embedding` it needs distances only, from whatever metric, kernel or judgement.

    Parameters
    ----------
    distances : (n, n) array
        Symmetric, not squared.
    y : (n,) array, optional
        Class of each point.
    ax : Axes, optional
    target_names : sequence of str, optional
        Names of the classes, in the order of ``numpy.unique(y)``.

    Raises
    ------
    InputError
        If the matrix is not one of distances, or the labels do not fit.
    """
    points, shares = distance_plane(distances)
    labels, names = _classes(y, target_names, len(points))
    ax = axes_of(ax)
    for k, name in enumerate(names):
        colour, marker = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]
        x, z = points[labels == k].T
        ax.scatter(x, z, s=26, color=colour, marker=marker, edgecolor="white", linewidth=0.5, alpha=0.9, label=name)
    ax.set_title("Multidimensional scaling")
    ax.set_xlabel(f"1st axis ({shares[0]:.0%} of the scatter)")
    ax.set_ylabel(f"2nd axis ({shares[1]:.0%} of the scatter)")
    ax.set_aspect("equal", adjustable="datalim")
    if 1 < len(names) <= LEGEND_LIMIT:
        ax.legend(framealpha=0.8, edgecolor="none", fontsize="small")
    return ax


def _classes(y: ArrayLike | None, target_names: Sequence[str] | None, n: int) -> tuple[NDArray[Any], list[str]]:
    if y is None:
        return np.zeros(n, dtype=np.int64), [""]
    labels = as_labels(y)
    if len(labels) != n:
        raise InputError(f"y must have one label a point: X has {n} rows, y has {len(labels)}")
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
        return f"{ordinal} principal axis ({share:.0%} of the variance)"
    if plane.in_metric[axis]:
        features = np.flatnonzero(plane.directions[:, axis])
        if len(features) == 1:
            return rf"feature {features[0]} $\times\,\sqrt{{w_{{{features[0]}}}}}$  ({share:.0%} of the trace)"
        return (
            rf"{ordinal} eigenvector $\times\,\sqrt{{\lambda_{axis + 1}}}$"
            f"  ({share:.0%} of the trace)"
        )
    if not plane.directions[:, axis].any():
        return "no further direction"
    return f"residual principal axis ({share:.0%} of its variance)\nweight 0 in the metric"
