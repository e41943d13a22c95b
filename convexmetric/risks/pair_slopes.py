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
from convexmetric.measures.sorting import ascending, look_up, table_of, take
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
        z_room, met_room = np.empty(far.size), np.empty(far.size, dtype=np.int32)
        for j in range(far.size):
            # Read once: what was just stored is not read back without delay.
            value = values[far[j]]
            z_room[met], met_room[met] = value, j
            met += not last <= value - reach
        changes = np.empty(own_end[row] - own_begin[row])
        for k in range(changes.size):
            i, j = pairs[own_begin[row] + k, 1], pairs[own_begin[row] + k, 2]
            changes[k] = slopes[own_begin[row] + k] - _slope(given[i], values[far[j]], margin, width)
        if write:
            # Added to, not set: an item may stand in a list several times.
            values[first[row] : first[row + 1]] = 0.0
        rows, slope = np.empty((4, met), dtype=np.int32), np.empty(met)
        smooth, exact, total, kinks = _row(
            x, z_room[:met], margin, width, weights[row], write, values, near, order, rows, slope
        )
        for j in range(met if write else 0):
            values[far[met_room[j]]] += weights[row] * slope[j]
        for k in range(changes.size):
            i, j = pairs[own_begin[row] + k, 1], pairs[own_begin[row] + k, 2]
            total += changes[k]
            values[far[j]] += weights[row] * changes[k]
            values[near[i]] -= weights[row] * changes[k]
        sums[row, 0], sums[row, 1] = weights[row] * smooth, weights[row] * exact
        sums[row, 2], sums[row, 3] = weights[row] * margin * total, kinks
        if most and kinks and np.isfinite(strides[row]):
            strides[row] = max(1.0, strides[row], kinks / most)
            _sample(rows, met_room[:met], order, strides[row], starts[row], found[row])


@compiled
def _row(x, z, margin, width, weight, write, values, near, order, rows, slope):
    """Smoothed and exact sum of a query, sum of its slopes, and number of active pairs.

    ``rows`` are room for the end and the begin of every negative's run, for the list of negatives that have runs, and
    for those with long ones; ``slope`` takes the slopes of all.
    """
    p, n, low, half = x.size, z.size, x[0], 0.5 * width
    # Of x - low and of its squares; and x, on which a short run goes on.
    sums, squares, going_on = np.empty(p + 1), np.empty(p + 1), np.empty(p + SHORT_RUN)
    sums[0], squares[0] = 0.0, 0.0
    for i in range(p):
        sums[i + 1] = sums[i] + (x[i] - low)
        squares[i + 1] = squares[i] + (x[i] - low) * (x[i] - low)
    for i in range(going_on.size):
        going_on[i] = x[min(i, p - 1)]
    # Negatives become active at run_begin and stop at run_end; of a long run, some hinge is positive from kink on.
    # Without a width none is active: runs end where they begin.
    run_end, run_begin, runs, kink, z_of_long = rows[0], rows[1], rows[2], rows[3], np.empty(n)
    table, short, long = table_of(x), 0, 0
    # Called in one place only, because calls are compiled inline.
    for side in range(3 if half > 0.0 else 1):
        shift = margin - half if side == 0 else margin + half if side == 1 else margin
        # Short runs are listed from the front, long ones from the back: a branch is costly where it is mispredicted.
        for j in range(n if side == 2 else 0):
            runs[short], runs[n - 1 - long], z_of_long[long] = j, j, z[j]
            m = run_end[j] - run_begin[j]
            short += (m > 0) & (m <= SHORT_RUN)
            long += m > SHORT_RUN
        look_up(x, table, z_of_long[:long] if side == 2 else z, shift, rows[3 if side == 2 else side])
    # For every positive, the sum of t at it of the negatives that become active there, and of those that stop at the
    # last active one; the numbers of these, and of the negatives whose slope is 1 from it on.
    changes, numbers = np.empty((2, p + 1)), np.empty((3, p + 1), dtype=np.int32)
    changes[:], numbers[:] = 0.0, 0
    exact, total, kinks, steepness = 0.0, 0.0, 0, 1.0 / width if width > 0.0 else np.inf
    for j in range(n):
        e = run_end[j]
        slope[j] = p - e
        numbers[2, e] += 1
        exact += sums[p] - sums[e] - (p - e) * (z[j] - margin - low)
    smooth = exact
    for r in range(short + long):
        j = runs[r if r < short else n - 1 + short - r]
        b, e = run_begin[j], run_end[j]
        m, key, shift = e - b, z[j] - margin, z[j] - margin - low
        if r < short:
            t, t2, hinges = 0.0, 0.0, 0.0
            for k in range(SHORT_RUN):
                above = going_on[b + k] - key if k < m else 0.0
                t += above
                t2 += above * above
                hinges += above if above > 0.0 else 0.0
        else:
            i = kink[r - short]
            hinges = sums[e] - sums[i] - (e - i) * shift
            t = sums[e] - sums[b] - m * shift
            t2 = squares[e] - squares[b] - 2.0 * shift * (sums[e] - sums[b]) + m * shift * shift
        exact += hinges
        own = 0.5 * m + t * steepness
        slope[j] += own
        total += own
        smooth += 0.5 * steepness * (t2 + width * t + 0.25 * m * width * width)
        kinks += m
        changes[0, b] += x[b] - key
        changes[1, e] += x[e - 1] - key
        numbers[0, b] += 1
        numbers[1, e] += 1
    on_kink, t, beyond = 0, 0.0, 0
    for i in range(p):
        total += numbers[2, i] * (p - i)
        on_kink -= numbers[1, i]
        t = t - changes[1, i] + on_kink * (x[i] - x[i - 1]) if on_kink > 0 else 0.0
        on_kink += numbers[0, i]
        t += changes[0, i]
        beyond += numbers[2, i]
        if write:
            values[near[order[i]]] -= weight * (beyond + 0.5 * on_kink + (t * steepness if on_kink > 0 else 0.0))
    return smooth, exact, total, kinks


@compiled
def _sample(rows, met, order, stride, start, found):
    """Sample one in ``stride`` active pairs from the runs of the negatives in turn."""
    following, seen, taken = np.floor(start * stride), 0, 0
    for j in range(met.size):
        b, e = rows[1, j], rows[0, j]
        while following < seen + e - b and taken < len(found):
            found[taken, 0] = order[b + np.int64(following) - seen]
            found[taken, 1] = met[j]
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
