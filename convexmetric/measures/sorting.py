r"""Positions of irrelevant items among the relevant ones, the first step of every oracle, and sorting by cells.

With relevant distances sorted, :math:`x_1 \le \dots \le x_p`, an irrelevant item at distance z stands above the
relevant items with :math:`x_i > z - \mathrm{margin}`. A table over equal intervals of x says where to look, so that an
item is placed in constant time on average where a binary search takes log p mispredicted branches; crowded intervals
are halved first, so that the worst case is a binary search.

The same table sorts: items are dealt out into cells by value, and cells are put in order as far as is needed.

Relevant items are ordered by (distance, index), and so are irrelevant ones; of a relevant and an irrelevant item at the
same distance the relevant one stands first.
"""

from __future__ import annotations

import numpy as np

from convexmetric.numerics.compiling import compiled

#: Intervals of the table for each relevant item.
FINENESS = 8
#: Relevant items in an interval from which it is halved.
CROWDED = 8


@compiled
def count_below(x, z, shift, counts):
    """``#{x_i <= z_j - shift}`` for all z_j; ``x`` is sorted. NaN and infinite values go to one of the ends.

    A table of equal intervals gives a first guess, nearly always at most two steps off.
    """
    p, low = x.size, x[0]
    cells = FINENESS * p
    width = x[p - 1] - low
    scale = cells / width if width > 0.0 else 0.0
    if not 0.0 < scale < np.inf:
        cells, scale = 0, 0.0
    table = np.empty(cells + 1, dtype=np.int32)
    # A sentinel: comparisons with NaN are false, so that no count goes beyond p.
    ends = np.empty(p + 1)
    for i in range(p):
        ends[i] = x[i]
    ends[p] = np.nan
    i = 0
    for cell in range(cells + 1):
        # A little below the interval's lower end, so that rounding in the division cannot overshoot.
        start = low + (cell - 1e-6) / scale if cells else -np.inf
        while i < p and x[i] < start:
            i += 1
        table[cell] = i
    # Loops without branches are done for several numbers at once, which is worth going over them four times.
    for j in range(z.size):
        at = (z[j] - shift - low) * scale
        # NaN compares as false.
        at = at if at > 0.0 else 0.0
        counts[j] = np.int32(at if at < cells else cells)
    for j in range(z.size):
        counts[j] = table[counts[j]]
    for _ in range(2):
        for j in range(z.size):
            counts[j] += np.int32(ends[counts[j]] <= z[j] - shift)
    for j in range(z.size):
        key = z[j] - shift
        if ends[counts[j]] <= key:
            counts[j] = first_above(x, np.int64(counts[j]), p, key)


@compiled
def first_above(x, begin, end, key):
    """The first place from begin on where the sorted x is above a key; end if there is none before it."""
    while begin < end:
        middle = (begin + end) // 2
        if x[middle] <= key:
            begin = middle + 1
        else:
            end = middle
    return begin


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
    count_below(x, z, margin, v)
    projected = np.empty(p + 1, dtype=np.int64)
    projected[:] = 0
    for j in range(z.size):
        projected[v[j]] += 1
        v[j] = p - v[j]
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
    """Indices of ``z`` grouped by cells of ascending value, by index in a cell, and where each cell starts.

    There are about as many cells as items. Values that cannot be dealt out (NaN, infinite, all equal) share one cell.
    """
    n = z.size
    low, high = np.inf, -np.inf
    for j in range(n):
        low, high = min(low, z[j]), max(high, z[j])
    width = high - low
    cells = n if 0.0 < width < np.inf else 1
    scale = cells / width if cells > 1 else 0.0
    if not 0.0 < scale < np.inf:
        cells, scale = 1, 0.0
    start, cell, items = np.empty(cells + 2, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    # Sizes of cells are counted two places on, and starts stand one place on: there they become ends, as items are
    # dealt out, and the end of a cell is the start of the next.
    start[:] = 0
    for j in range(n):
        # NaN compares as false and goes to the last cell.
        c = cells - 1
        if cells > 1 and z[j] < high:
            c = min(c, np.int64((z[j] - low) * scale))
        cell[j] = c
        start[c + 2] += 1
    for c in range(cells):
        start[c + 1] += start[c]
    for j in range(n):
        items[start[cell[j] + 1]] = j
        start[cell[j] + 1] += 1
    return items, start[:-1]


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
    """Indices of ``z`` in order of (value, index)."""
    items, start = distribute(z)
    # Typed constant: a plain 0 would have the function compiled again for another type.
    order_cells(z, items, start, np.int64(0), start.size - 1)
    return items
