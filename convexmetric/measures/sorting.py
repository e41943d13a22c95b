r"""Where irrelevant items stand among the relevant ones: the step that every oracle shares.

With relevant distances sorted, :math:`x_1 \le \dots \le x_p`, an irrelevant item at distance z stands above the
relevant items with :math:`x_i > z - \mathrm{margin}`. A table over equal intervals of x says where to look, so that an
item is placed in constant time on average where a binary search takes log p mispredicted branches; crowded intervals
are halved first, so that the worst case is a binary search.

The same table sorts: items are dealt out into cells by value, and cells are put in order as far as is needed.

Relevant items are ordered by (distance, index), and so are irrelevant ones; of a relevant and an irrelevant item at the
same distance the relevant one stands first.
"""

from __future__ import annotations

import numba
import numpy as np

__all__ = ["distribute", "nearest", "order_cells", "place"]

#: Intervals of the table for each relevant item.
FINENESS = 4
#: Relevant items in an interval from which it is halved.
CROWDED = 8


@numba.njit(cache=True, nogil=True)
def place(x, z, margin, v, b):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Natural placement: ``v_j = #{x_i > z_j - margin}``, ``b_i`` the number of irrelevant items above relevant i.

    ``x`` is sorted; NaN and infinite distances are placed at an end.
    """
    p, n = x.size, z.size
    low, high = x[0], x[p - 1]
    cells = FINENESS * p
    width = high - low
    table = np.full(cells + 2, p, dtype=np.int64)
    placed = np.zeros(p + 1, dtype=np.int64)
    scale = cells / width if width > 0.0 else 0.0
    regular = 0.0 < scale < np.inf
    if regular:
        i = 0
        for cell in range(cells + 1):
            # A little below the interval's lower end, so that rounding in the division cannot overshoot.
            start = low + (cell - 1e-6) / scale
            while i < p and x[i] < start:
                i += 1
            table[cell] = i
    for j in range(n):
        key = z[j] - margin
        if key >= high:
            first = p
        elif not key >= low:
            first = 0
        elif regular:
            cell = min(cells, int((key - low) * scale))
            first, last = table[cell], table[cell + 1]
            while last - first > CROWDED:
                middle = (first + last) // 2
                if x[middle] <= key:
                    first = middle + 1
                else:
                    last = middle
            while first < p and x[first] <= key:
                first += 1
        else:
            first = np.searchsorted(x, key, side="right")
        placed[first] += 1
        v[j] = p - first
    above = 0
    for i in range(p):
        above += placed[i]
        b[i] = above


@numba.njit(cache=True, nogil=True)
def nearest(z, k):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
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


@numba.njit(cache=True, nogil=True)
def distribute(z):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
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
    start = np.zeros(cells + 1, dtype=np.int64)
    cell = np.zeros(n, dtype=np.int64)
    if cells > 1:
        for j in range(n):
            # NaN compares as false and goes to the last cell.
            c = cells - 1
            if z[j] < high:
                c = min(c, int((z[j] - low) * scale))
            cell[j] = c
            start[c + 1] += 1
        for c in range(cells):
            start[c + 1] += start[c]
    else:
        start[1] = n
    items = np.empty(n, dtype=np.int64)
    place = start[:cells].copy()
    for j in range(n):
        items[place[cell[j]]] = j
        place[cell[j]] += 1
    return items, start


@numba.njit(cache=True, nogil=True)
def order_cells(z, items, start, first, last):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Put the items of the cells from first to last in order by (value, index)."""
    for c in range(first, last):
        a, e = start[c], start[c + 1]
        if e - a > CROWDED:
            part = items[a:e].copy()
            items[a:e] = part[np.argsort(z[part], kind="mergesort")]
        else:
            for at in range(a + 1, e):
                item = items[at]
                value = z[item]
                hole = at
                while hole > a and value < z[items[hole - 1]]:
                    items[hole] = items[hole - 1]
                    hole -= 1
                items[hole] = item
