r"""The readable oracle: one dynamic programme for every measure, in O(p n).

With items sorted by distance the most violated ranking minimises

.. math:: \sum_{i=1}^{p} c_i(b_i), \qquad c_i(b) = g(i, b) + \frac{2}{p n} \sum_{j \le b} (z_j - x_i)

over :math:`0 \le b_1 \le \dots \le b_p \le n`, and the best of the first i with :math:`b_i \le b` follows from the
best of the first i - 1 by a running minimum over b. It is the oracle of user-defined measures, and the fast oracles are
tested against it.
"""

from __future__ import annotations

import numpy as np

from convexmetric.arrays import Array
from convexmetric.errors import ContractError
from convexmetric.measures.base import Measure

#: Sums of distances above this are scaled down before they overflow.
LARGEST = 1e300
#: Tolerance for rounding within which gains must fulfil their contract.
ROUNDING = 1e-9


def most_violated(measure: Measure, x: Array, z: Array) -> tuple[np.ndarray, float, float]:
    """Most violated ranking of one query.

    Parameters
    ----------
    measure : Measure
        Gives the gains ``g(i, b)``.
    x, z : (p,) and (n,) arrays
        Distances of the relevant and of the irrelevant items, in any order.

    Returns
    -------
    b : (p,) int array
        Irrelevant items above each relevant one, in the order of their distances.
    loss, violation : float
        ``Delta`` and ``Delta - <W, dpsi>``.

    Raises
    ------
    ContractError
        If the gains are not what :meth:`Measure.gains` promises.
    """
    x, z = np.sort(x), np.sort(z)
    b, loss = places(measure, x, z)
    below = x.size - np.searchsorted(b, np.arange(z.size), side="right")
    return b, loss, loss - 2.0 / (x.size * z.size) * float(below @ (z - x[0]) - b @ (x - x[0]))


def places(measure: Measure, x: Array, z: Array) -> tuple[np.ndarray, float]:
    """Positions ``b`` of the most violated ranking, and its loss, from sorted distances.

    ``b`` is a ranking at any distances; if some are infinite or NaN it need not be the most violated one.
    """
    p, n = x.size, z.size
    gains = checked_gains(measure, p, n)
    above = np.arange(n + 1)
    # A power of two, by which division is exact; if it is not 1 the gains are negligible relative to the distances.
    most = max(float(np.abs(x).max()), float(np.abs(z).max()))
    unit = 2.0 ** np.ceil(np.log2(max(1.0, min(most, np.finfo(float).max) / LARGEST * 4.0 * p * n)))
    x, z = x / unit, z / unit
    best = np.zeros(n + 1)
    choices = np.empty((p, n + 1), dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.concatenate([[0.0], np.cumsum(z - x[0])])
        for i in range(p):
            best = best + gains[i] / unit + 2.0 / (p * n) * (sums - above * (x[i] - x[0]))
            least = np.minimum.accumulate(best)
            # Index at which the running minimum was last attained.
            choices[i] = np.maximum.accumulate(np.where(best == least, above, 0))
            best = least
    b = np.empty(p, dtype=np.int64)
    limit = n
    for i in range(p - 1, -1, -1):
        limit = b[i] = choices[i, limit]
    return b, 1.0 - float(gains[np.arange(p), b].sum())


def checked_gains(measure: Measure, p: int, n: int) -> Array:
    """``g(i, b)`` as a ``(p, n + 1)`` array, for i from 1 and b from 0 on.

    Raises
    ------
    ContractError
        If a gain is not a number in [0, 1], those of the perfect ranking do not add up to 1, or the measure is declared
        pairwise and they are not ``(n - b) / (p n)``.
    """
    i, b = np.repeat(np.arange(1, p + 1), n + 1), np.tile(np.arange(n + 1), p)
    gains = np.asarray(measure.gains(i, b, p, n), dtype=np.float64)
    kind = f"measure {type(measure).__name__}"
    if gains.shape != i.shape:
        raise ContractError(f"{kind}: gains of {i.size} places must have shape {i.shape}, got {gains.shape}")
    inside = (gains >= -ROUNDING) & (gains <= 1.0 + ROUNDING)
    if not inside.all():
        at = int(np.argmin(inside))
        raise ContractError(
            f"{kind}: gains must be in [0, 1], got g({i[at]}, {b[at]}) = {gains[at]!r} with {p = }, {n = }"
        )
    perfect = float(gains[b == 0].sum())
    if abs(perfect - 1.0) > ROUNDING:
        raise ContractError(f"{kind}: the perfect ranking must score 1, got {perfect!r} with {p = }, {n = }")
    if measure.pairwise and np.abs(gains - (n - b) / (p * n)).max() > ROUNDING:
        raise ContractError(
            f"{kind}: it says that it is pairwise, but its gains are not (n - b) / (p n) with {p = }, {n = }; "
            "leave pairwise out"
        )
    return gains.reshape(p, n + 1)
