r"""Positions of irrelevant items among the relevant ones, the first step of every oracle, and sorting by cells.

With relevant distances sorted, :math:`x_1 \le \dots \le x_p`, an irrelevant item at distance z stands above the
relevant items with :math:`x_i > z - \mathrm{margin}`. A table over equal intervals of x tells where to look, so that
an item is placed in constant time on average, whereas a binary search takes log p mispredicted branches. Crowded
intervals are bisected first, so that the worst case is a binary search.

The same table sorts: items are distributed over cells by value, and cells are sorted as far as is needed.

Relevant items are ordered by (distance, index), and so are irrelevant ones; of a relevant and an irrelevant item at the
same distance the relevant one stands first.
"""

from __future__ import annotations

import numpy as np

from convexmetric.numerics.compiling import compiled

#: Intervals of the table for each relevant item.
FINENESS = 8
#: Number of relevant items from which on an interval is bisected.
CROWDED = 8
#: Size, to within a factor of two, of the sample that sets the ends between which items are distributed.
SAMPLE = 512


@compiled
def table_of(x):
    """A table over equal intervals of sorted ``x`` for :func:`look_up`; its guesses are rarely over two steps off."""
    p, low = x.size, x[0]
    cells = FINENESS * p
    scale = cells / (x[p - 1] - low) if x[p - 1] > low else 0.0
    if not 0.0 < scale < np.inf:
        cells, scale = 0, 0.0
    # Counts of the items in earlier cells: they are nearer than all that :func:`look_up` sends to a cell.
    table = np.empty(cells + 2, dtype=np.int32)
    table[:] = 0
    for i in range(p if cells else 0):
        table[min(cells, np.int64((x[i] - low) * scale)) + 1] += 1
    for cell in range(cells):
        table[cell + 1] += table[cell]
    # A sentinel: comparisons with NaN are false, so that no count goes beyond p.
    ends = np.empty(p + 1)
    for i in range(p):
        ends[i] = x[i]
    ends[p] = np.nan
    return scale, table, ends


@compiled
def look_up(x, table, z, shift, counts):
    """``#{x_i <= z_j - shift}`` for all z_j by the table of ``x``; NaN and infinite values go to one of the ends."""
    scale, guesses, ends = table
    low, last = x[0], guesses.size - 2
    # Loops without branches are vectorised, which is worth three passes over the numbers.
    for j in range(z.size):
        at = (z[j] - shift - low) * scale
        # NaN compares as false.
        at = at if at > 0.0 else 0.0
        counts[j] = np.int32(at if at < last else last)
    for j in range(z.size):
        i, key = guesses[counts[j]], z[j] - shift
        i += np.int32(ends[i] <= key)
        counts[j] = i + np.int32(ends[i] <= key)
    for j in range(z.size):
        key = z[j] - shift
        if ends[counts[j]] <= key:
            counts[j] = first_above(x, np.int64(counts[j]), x.size, key)


@compiled
def first_above(x, begin, end, key):
    """The first place from begin < end on where the sorted x is above a key; end if there is none before it."""
    left = end - begin
    # Bisected without a branch, which would be mispredicted.
    while left > 1:
        begin += (left // 2) * (x[begin + left // 2 - 1] <= key)
        left -= left // 2
    return begin + (x[begin] <= key)


@compiled
def take(x, places):
    """``x[places]``, of numbers."""
    taken = np.empty(places.size)
    for i in range(places.size):
        taken[i] = x[places[i]]
    return taken


@compiled
def place(x, z, margin, v, b):
    """Natural placement: ``v_j = #{x_i > z_j - margin}``, ``b_i`` the number of irrelevant items above relevant i.

    ``x`` is sorted; NaN and infinite distances are placed at an end.
    """
    p = x.size
    items, near, met = np.empty(z.size, dtype=np.int32), np.empty(z.size), 0
    for j in range(z.size):
        items[met], near[met] = j, z[j]
        met += z[j] - margin < x[p - 1]
    counts, projected = np.empty(met, dtype=np.int32), np.empty(p + 1, dtype=np.int64)
    look_up(x, table_of(x), near[:met], margin, counts)
    projected[:], v[:] = 0, 0
    for k in range(met):
        projected[counts[k]] += 1
        v[items[k]] = p - counts[k]
    above = 0
    for i in range(p):
        above += projected[i]
        b[i] = above


@compiled
def nearest(z, k):
    """Indices of the k smallest entries by (value, index), in that order."""
    found = np.empty(k, dtype=np.int64)
    values = np.empty(k)
    count = 0
    for j in range(z.size):
        value = z[j]
        if count == k and not value < values[k - 1]:
            continue
        place = count if count < k else k - 1
        while place > 0 and value < values[place - 1]:
            values[place] = values[place - 1]
            found[place] = found[place - 1]
            place -= 1
        values[place], found[place] = value, j
        if count < k:
            count += 1
    return found


@compiled
def distribute(z):
    """Indices of ``z`` grouped by cells of ascending value, by index in a cell; where each cell starts; items' cells.

    There are about as many cells as items, of equal width except for the first and the last, which hold the values
    beyond the ends of a sample. Values that cannot be distributed (NaN, infinite, all equal) share a cell. Last come
    the lowest value and the width: between cells c - 1 and c are values of ``low + c * width``.
    """
    n = z.size
    low, high = np.inf, -np.inf
    for j in range(0, n, 1 + n // SAMPLE):
        low, high = z[j] if z[j] < low else low, z[j] if z[j] > high else high
    scale = n / (high - low) if high > low else 0.0
    if not 0.0 < scale < np.inf:
        n, scale = 1, 0.0
    start, cell = np.empty(n + 2, dtype=np.int32), np.empty(z.size, dtype=np.int32)
    items, last = np.empty(z.size, dtype=np.int32), np.float64(n - 1)
    for j in range(z.size):
        # NaN compares as false and goes to the last cell.
        at = (z[j] - low) * scale
        at = at if at < last else last
        cell[j] = np.int32(at if at > 0.0 else 0.0)
    # Sizes of cells are counted two places on, and starts stand one place on. As items are distributed, these starts
    # become ends, and the end of a cell is the start of the next.
    start[:] = 0
    for j in range(z.size):
        start[cell[j] + 2] += 1
    for c in range(n):
        start[c + 1] += start[c]
    for j in range(z.size):
        items[start[cell[j] + 1]] = j
        start[cell[j] + 1] += 1
    return items, start[:-1], cell, (low, 1.0 / scale if scale > 0.0 else 0.0)


@compiled
def order_cells(z, items, start, first, last):
    """Sort the items of the cells from first to last by (value, index), NaN last, by Shell's sort.

    In a cell that is not crowded this is insertion sort.
    """
    for c in range(first, last):
        a, e = start[c], start[c + 1]
        if e - a < 2:
            continue
        gap = 1
        while gap * CROWDED < e - a:
            gap = 3 * gap + 1
        while gap:
            for at in range(a + gap, e):
                item = items[at]
                value = z[item]
                hole = at
                while hole >= a + gap:
                    other = items[hole - gap]
                    if (z[other] <= value and (z[other] < value or other < item)) or value != value:
                        break
                    items[hole] = other
                    hole -= gap
                items[hole] = item
            gap //= 3


@compiled
def ascending(z):
    """Indices of ``z`` in order of (value, index), NaN last, and its sorted values."""
    items, start, _, _ = distribute(z)
    # Typed constant: a plain 0 would have the function compiled again for another type.
    order_cells(z, items, start, np.int64(0), start.size - 1)
    return items, take(z, items)
