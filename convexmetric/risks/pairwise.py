r"""The risk of a pairwise measure as a sum of hinges, smoothed, without ever listing its pairs.

For the area under the ROC curve the worst ranking decomposes over pairs,

.. math:: R(M) = \sum_q c_q \sum_{ij} \max(0, t_{qij}), \qquad t_{qij} = 1 - 2 (d_{qj} - d_{qi}), \qquad
   c_q = \frac{C}{n_q \, p \, n}.

Smoothed over a width w the hinge has the slope :math:`a = \mathrm{clip}(1/2 + t / w, 0, 1)`, which makes multipliers
:math:`u_{qij} = c_q a_{qij}` that are in their box for any metric and width: a metric and a width are a dual point.
With both lists of a query sorted, the pairs on the kink (:math:`|t| < w/2`) of an item are a run of the other list, and
sums over them come from prefix sums: a pass costs sorting, not pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from convexmetric.comparisons import ListedBlock, Rankings
from convexmetric.cones.base import Array
from convexmetric.measures.placement import distribute, order_cells
from convexmetric.risks.base import DualPoint
from convexmetric.threads import blas_threads_for

__all__ = ["Smoothed", "SmoothedPairs", "smoothed_pairs"]


@dataclass(frozen=True)
class SmoothedPairs:
    """A dual point of a pairwise risk: the slopes of its hinges, smoothed over a width, at a metric.

    Attributes
    ----------
    M : array
        Metric; any will do.
    width : float
        Positive.
    """

    M: Array
    width: float


@dataclass(frozen=True)
class Smoothed:
    """The smoothed risk at a metric.

    Attributes
    ----------
    value, exact : float
        Of the smoothed risk, and of the risk itself.
    point : DualPoint
        What the slopes say as multipliers; ``-point.S`` is the gradient of the smoothed risk.
    kinks : int
        Number of pairs on the kink.
    sample : (K, 3) int array
        A systematic sample of them: query, relevant and irrelevant row.
    curvature : (K,) array
        What each contributes to the second derivative: ``sum c_q / w`` over the pairs it stands for.
    """

    value: float
    exact: float
    point: DualPoint
    kinks: int
    sample: np.ndarray
    curvature: Array


def smoothed_pairs(
    rankings: Rankings, C: float, M: Array, width: float, stride: float = np.inf, most: int = 0, seed: int = 0
) -> Smoothed:
    """One pass over all queries.

    Parameters
    ----------
    rankings : Rankings
    C : float
        Weight of the mean over queries.
    M : array
        Metric.
    width : float
        Of the smoothing.
    stride : float
        One in so many pairs on the kink is sampled.
    most : int
        Pairs sampled of one query at most; where there are more the stride is longer.
    seed : int
        Of the places where sampling starts.
    """
    relevance = rankings.relevance
    weights = C / len(rankings) / (relevance.n_relevant * relevance.n_irrelevant).astype(np.float64)
    starts = np.random.default_rng(seed).random(len(rankings))
    totals = np.zeros(3)
    S = rankings.cone.zeros()
    kinks = 0
    samples = [np.empty((0, 3), dtype=np.int64)]
    curvatures = [np.empty(0)]
    with blas_threads_for(float(len(rankings)) * rankings.X.size):
        for block in rankings.blocks(M, np.arange(len(rankings))):
            q, size = block.queries, len(block)
            sums, counts, strides = np.empty((size, 3)), np.empty(size, dtype=np.int64), np.full(size, stride)
            found = np.full((size, most, 2), -1, dtype=np.int64)
            dense = not isinstance(block, ListedBlock)
            first = block.start if isinstance(block, ListedBlock) else np.arange(size + 1) * len(rankings.X)
            flat = block.values.reshape(-1)
            _smooth(flat, dense, first, block.lists, width, weights[q], strides, starts[q], sums, counts, found)
            totals += sums.sum(axis=0)
            S = S + block.adjoint(0, size)
            kinks += int(counts.sum())
            row, place = np.nonzero(found[:, :, 0] >= 0)
            samples.append(np.column_stack([q[row], found[row, place]]))
            curvatures.append(weights[q[row]] * strides[row] / width)
    value, exact, total = map(float, totals)
    point = DualPoint(total, S)
    return Smoothed(value, exact, point, kinks, np.concatenate(samples), np.concatenate(curvatures))


@numba.njit(parallel=True, cache=True, nogil=True)
def _smooth(values, dense, first, lists, width, weights, strides, starts, sums, counts, found):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Overwrite the distances of every query by the weights of their gradient, and sample its kinks."""
    for row in numba.prange(sums.shape[0]):
        _smooth_row(values, dense, first, lists, width, weights, strides, starts, sums, counts, found, row)


@numba.njit(cache=True, nogil=True)
def _smooth_row(values, dense, first, lists, width, weights, strides, starts, sums, counts, found, row):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    relevant, relevant_start, relevant_stop, irrelevant, irrelevant_start, irrelevant_stop = lists
    wanted = relevant[relevant_start[row] : relevant_stop[row]]
    unwanted = irrelevant[irrelevant_start[row] : irrelevant_stop[row]]
    p, n = wanted.size, unwanted.size
    base = first[row]
    x_at, z_at = np.empty(p, dtype=np.int64), np.empty(n, dtype=np.int64)
    for i in range(p):
        x_at[i] = base + (wanted[i] if dense else i)
    for j in range(n):
        z_at[j] = base + (unwanted[j] if dense else p + j)
    x_given, z_given = values[x_at], values[z_at]
    if dense:
        values[base : first[row + 1]] = 0.0
    x_order, x_cells = distribute(x_given)
    order_cells(x_given, x_order, x_cells, 0, x_cells.size - 1)
    z_order, z_cells = distribute(z_given)
    order_cells(z_given, z_order, z_cells, 0, z_cells.size - 1)
    x, z = x_given[x_order], z_given[z_order]
    low = x[0]
    quarter = 0.25 * width

    # Prefix sums of the relevant distances; s = x_i - (z_j - 1/2) is half of t, and |s| < width/4 on the kink.
    sums_x, squares_x = np.zeros(p + 1), np.zeros(p + 1)
    for i in range(p):
        sums_x[i + 1] = sums_x[i] + (x[i] - low)
        squares_x[i + 1] = squares_x[i] + (x[i] - low) ** 2
    smooth, exact, total, kinks = 0.0, 0.0, 0.0, 0
    begin, end, above = 0, 0, 0
    for j in range(n):
        key = z[j] - 0.5
        while begin < p and x[begin] <= key - quarter:
            begin += 1
        while end < p and x[end] < key + quarter:
            end += 1
        while above < p and x[above] <= key:
            above += 1
        m, shift = end - begin, key - low
        s = sums_x[end] - sums_x[begin] - m * shift
        s2 = squares_x[end] - squares_x[begin] - 2.0 * shift * (sums_x[end] - sums_x[begin]) + m * shift * shift
        slopes = (p - end) + 0.5 * m + 2.0 * s / width
        full = sums_x[p] - sums_x[end] - (p - end) * shift
        smooth += 2.0 * full + (4.0 * s2 + 2.0 * width * s + 0.25 * m * width * width) / (2.0 * width)
        exact += 2.0 * (sums_x[p] - sums_x[above] - (p - above) * shift)
        total += slopes
        kinks += m
        values[z_at[z_order[j]]] = 2.0 * weights[row] * slopes
    sums_z = np.zeros(n + 1)
    for j in range(n):
        sums_z[j + 1] = sums_z[j] + (z[j] - low)
    begin, end = 0, 0
    for i in range(p):
        key = x[i] + 0.5
        while begin < n and z[begin] <= key - quarter:
            begin += 1
        while end < n and z[end] < key + quarter:
            end += 1
        m = end - begin
        slopes = begin + 0.5 * m + 2.0 * (m * (key - low) - (sums_z[end] - sums_z[begin])) / width
        values[x_at[x_order[i]]] = -2.0 * weights[row] * slopes
    sums[row, 0], sums[row, 1], sums[row, 2] = weights[row] * smooth, weights[row] * exact, weights[row] * total
    counts[row] = kinks

    most = found.shape[1]
    if most and kinks and np.isfinite(strides[row]):
        strides[row] = max(1.0, strides[row], kinks / most)
        following, seen, taken = np.floor(starts[row] * strides[row]), 0, 0
        begin, end = 0, 0
        for j in range(n):
            key = z[j] - 0.5
            while begin < p and x[begin] <= key - quarter:
                begin += 1
            while end < p and x[end] < key + quarter:
                end += 1
            while following < seen + end - begin and taken < most:
                found[row, taken, 0] = wanted[x_order[begin + int(following) - seen]]
                found[row, taken, 1] = unwanted[z_order[j]]
                taken += 1
                following += strides[row]
            seen += end - begin
