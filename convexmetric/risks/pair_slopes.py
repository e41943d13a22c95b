r"""Slopes of the hinges over all pairs of a positive and a negative of a query, compiled.

With positives in order, :math:`x_1 \le \dots \le x_p`, and :math:`k_j = z_j - \mu` for the negatives, the hinge of a
pair smoothed over a width w has the slope 0 where :math:`t_{ij} = x_i - k_j \le -w/2`, 1 where :math:`t_{ij} \ge w/2`,
and :math:`1/2 + t_{ij} / w` between, where the pair is *active*. So the positives active with a negative j are a run
:math:`b_j \le i < e_j`, and those after it have the slope 1. A table finds the run in constant time on average
(:mod:`convexmetric.measures.sorting`), and prefix sums of x give its total; negatives are never sorted.

The sums of a positive are computed the other way round: j enters at :math:`b_j`, stops being active at :math:`e_j`, and
in between adds

.. math:: \tfrac12 + \tfrac1w \Bigl[ (x_{b_j} - k_j) + \sum_{l = b_j + 1}^{i} (x_l - x_{l-1}) \Bigr],

accumulated by a running sum over i whose terms are all below w: it loses no digits, however small the width is.

A block is ``values, dense, first, lists`` as in :mod:`convexmetric.measures.rows`.
"""

from __future__ import annotations

import numpy as np

from convexmetric.comparisons.relevance import places_of
from convexmetric.measures.sorting import ascending, first_above, look_up, table_of, take
from convexmetric.numerics.compiling import compiled

#: Longest run that is summed item by item: differences of prefix sums lose digits on short runs.
SHORT_RUN = 8


@compiled
def every_slope(begin, end, block, settings, weights, own, strides, starts, sums, found):
    """Overwrite the distances of the rows from begin to end by the weights of their gradient, and sample active pairs.

    ``settings`` are margin, width and whether to overwrite anything; ``sums`` of a row are those of its smoothed and of
    its exact hinges, of its slopes times the margin, and the number of active pairs.
    """
    margin, width, write = settings
    values, dense, first, lists = block
    own_begin, own_end, pairs, slopes = own
    most, reach = found.shape[1], margin + 0.5 * width
    for row in range(begin, end):
        near, far = places_of(dense, first, lists, row)
        given = take(values, near)
        order, x = ascending(given)
        # Negatives beyond all positives have no slope: at a good metric most of them.
        met, last = 0, x[x.size - 1]
        z_room, met_room = np.empty(far.size), np.empty((far.size, 2), dtype=np.int32)
        for j in range(far.size):
            at = far[j]
            z_room[met], met_room[met, 0], met_room[met, 1] = values[at], j, at
            met += not last <= values[at] - reach
        changes = np.empty(own_end[row] - own_begin[row])
        for k in range(changes.size):
            i, j = pairs[own_begin[row] + k, 1], pairs[own_begin[row] + k, 2]
            changes[k] = slopes[own_begin[row] + k] - _slope(given[i], values[far[j]], margin, width)
        if write:
            # Added to, not set: an item may stand in a list several times.
            values[first[row] : first[row + 1]] = 0.0
        counts, runs_room = np.empty((3, met), dtype=np.int32), np.empty((met if most else 0, 3), dtype=np.int32)
        smooth, exact, total, kinks, runs = _row(
            x, z_room[:met], margin, width, weights[row], write, values, near, order, met_room, counts, runs_room
        )
        for k in range(changes.size):
            i, j = pairs[own_begin[row] + k, 1], pairs[own_begin[row] + k, 2]
            total += changes[k]
            values[far[j]] += weights[row] * changes[k]
            values[near[i]] -= weights[row] * changes[k]
        sums[row, 0], sums[row, 1] = weights[row] * smooth, weights[row] * exact
        sums[row, 2], sums[row, 3] = weights[row] * margin * total, kinks
        if most and kinks and np.isfinite(strides[row]):
            strides[row] = max(1.0, strides[row], kinks / most)
            _sample(runs_room, runs, order, strides[row], starts[row], found[row])


@compiled
def _row(x, z, margin, width, weight, write, values, near, order, met, counts, runs_room):
    """Smoothed and exact sum of a query, sum of its slopes, number of active pairs, and number of their runs."""
    p, n, low, half = x.size, z.size, x[0], 0.5 * width
    # Of x - low and of its squares.
    sums, squares = np.empty(p + 1), np.empty(p + 1)
    sums[0], squares[0] = 0.0, 0.0
    for i in range(p):
        sums[i + 1] = sums[i] + (x[i] - low)
        squares[i + 1] = squares[i] + (x[i] - low) * (x[i] - low)
    table = table_of(x)
    # Called in one place only, because calls are compiled inline.
    for side in range(2 if half > 0.0 else 1):
        look_up(x, table, z, margin + half if side else margin - half, counts[side])
    # Without a width no pair is active: runs end where they begin.
    run_end, run_begin, with_run = counts[0], counts[1 if half > 0.0 else 0], counts[2]
    # For every positive, the number of negatives that become active at it, and of those that stop being active, with
    # the sum of t at the first and at the last active positive; then the negatives whose slope is 1 from it on.
    changes = np.empty((p + 1, 5))
    changes[:] = 0.0
    # First the part common to all negatives, without a branch; then the runs of those that have one.
    exact, total, runs, steepness = 0.0, 0.0, 0, 1.0 / width if width > 0.0 else np.inf
    for j in range(n):
        b, e = run_begin[j], run_end[j]
        slopes = p - 0.5 * (b + e)
        exact += sums[p] - sums[e] - (p - e) * (z[j] - margin - low)
        total += slopes
        changes[e, 4] += 1.0
        if write:
            values[met[j, 1]] += weight * slopes
        with_run[runs] = j
        runs += e > b
    smooth, kinks = exact, 0
    for r in range(runs):
        j = with_run[r]
        b, e = run_begin[j], run_end[j]
        m, key, shift = e - b, z[j] - margin, z[j] - margin - low
        if m <= SHORT_RUN:
            t, t2 = 0.0, 0.0
            for i in range(b, e):
                above = x[i] - key
                t += above
                t2 += above * above
                exact += 0.0 if above < 0.0 else above
        else:
            i = first_above(x, np.int64(b), np.int64(e), key)
            exact += sums[e] - sums[i] - (e - i) * shift
            t = sums[e] - sums[b] - m * shift
            t2 = squares[e] - squares[b] - 2.0 * shift * (sums[e] - sums[b]) + m * shift * shift
        total += t * steepness
        smooth += 0.5 * steepness * (t2 + width * t + 0.25 * m * width * width)
        kinks += m
        changes[b, 0] += 1.0
        changes[b, 1] += x[b] - key
        changes[e, 2] += 1.0
        changes[e, 3] += x[e - 1] - key
        values[met[j, 1]] += weight * t * steepness
        if runs_room.size:
            runs_room[r, 0], runs_room[r, 1], runs_room[r, 2] = met[j, 0], b, e
    on_kink, t, beyond = 0.0, 0.0, 0.0
    for i in range(p if write else 0):
        on_kink -= changes[i, 2]
        t = t - changes[i, 3] + on_kink * (x[i] - x[i - 1]) if on_kink > 0.0 else 0.0
        on_kink += changes[i, 0]
        t += changes[i, 1]
        beyond += changes[i, 4]
        values[near[order[i]]] -= weight * (beyond + 0.5 * on_kink + (t * steepness if on_kink > 0.0 else 0.0))
    return smooth, exact, total, kinks, runs


@compiled
def _sample(runs_room, runs, order, stride, start, found):
    """Sample one in ``stride`` active pairs from the runs."""
    following, seen, taken = np.floor(start * stride), 0, 0
    for run in range(runs):
        j, b, e = runs_room[run, 0], runs_room[run, 1], runs_room[run, 2]
        while following < seen + e - b and taken < len(found):
            found[taken, 0] = order[b + np.int64(following) - seen]
            found[taken, 1] = j
            taken += 1
            following += stride
        seen += e - b


@compiled
def _slope(x, z, margin, width):
    """Slope of the smoothed hinge of a pair, by the comparisons of :func:`_row`, so that ties are resolved alike."""
    half = 0.5 * width
    if x <= z - (margin + half):
        return 0.0
    if half > 0.0 and x <= z - (margin - half):
        return 0.5 + (x - (z - margin)) / width
    return 1.0
