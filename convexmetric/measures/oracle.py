"""The separation oracle over many queries: compiled loops around one query's most violated ranking.

A measure of a user's own, which is none of those compiled here, runs the programme for any gains, query by query.

Distances come in one of two layouts (see :class:`~convexmetric.comparisons.Rankings`): a row of distances to the whole
corpus for every query, or only the listed items of every query, one after the other. Coefficients of the cut,
``<W, dpsi> = sum_x T_x d(q, x)``, overwrite them:

    T of relevant item i:    -2/(p n) b_i         (irrelevant items above it)
    T of irrelevant item j:  +2/(p n) v_j         (relevant items below it)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from convexmetric.comparisons import Block, ListedBlock
from convexmetric.cones.base import Array
from convexmetric.measures.auc import AUC, worst_auc
from convexmetric.measures.base import Measure, MeasureAtK
from convexmetric.measures.knn import NearestNeighbours, worst_knn
from convexmetric.measures.map import AveragePrecision, worst_map
from convexmetric.measures.mrr import ReciprocalRank, worst_mrr
from convexmetric.measures.ndcg import NDCG, worst_ndcg
from convexmetric.measures.precision import PrecisionAtK, worst_precision
from convexmetric.measures.reference import places

__all__ = ["CODES", "most_violated_rankings"]

#: Numbers by which compiled code knows a measure. A subclass is another measure: its gains may be others.
CODES: dict[type[Measure], int] = {
    AUC: 0,
    PrecisionAtK: 1,
    AveragePrecision: 2,
    ReciprocalRank: 3,
    NDCG: 4,
    NearestNeighbours: 5,
}

#: Distances in a block from which threads are worth starting: some milliseconds of work.
WORTH_THREADS = 400_000


def most_violated_rankings(measure: Measure, block: Block) -> tuple[Array, Array]:
    r"""Most violated ranking of every query of a block, ``argmax_y Delta(y) - <W, dpsi(q, y)>``.

    Parameters
    ----------
    measure : Measure
        Loss of a ranking.
    block : Block
        Distances up to a constant a query; its values are overwritten by the coefficients of ``<W, dpsi>``.

    Returns
    -------
    losses : (B,) array
        ``Delta = 1 - score``.
    violations : (B,) array
        ``Delta - <W, dpsi>``, never negative but for rounding (the perfect ranking has 0).

    Raises
    ------
    ContractError
        If the gains of a measure of a user's own are not what :meth:`Measure.gains` promises.
    """
    losses, violations = np.empty(len(block)), np.empty(len(block))
    if type(measure) not in CODES:
        _by_programme(measure, block, losses, violations)
        return losses, violations
    code, cut = CODES[type(measure)], not isinstance(measure, MeasureAtK) or measure.short == "cut"
    threads = block.values.size >= WORTH_THREADS
    if isinstance(block, ListedBlock):
        listed: Callable[..., Any] = _listed_parallel if threads else _listed_serial
        listed(code, measure.k, cut, block.values, block.start, block.n_relevant, losses, violations)
    else:
        dense: Callable[..., Any] = _dense_parallel if threads else _dense_serial
        dense(code, measure.k, cut, block.values, block.lists, losses, violations)
    return losses, violations


def _by_programme(measure: Measure, block: Block, losses: Array, violations: Array) -> None:
    """The programme for any gains, one query after the other."""
    if isinstance(block, ListedBlock):
        for row in range(len(block)):
            x, z = np.split(block.values[block.start[row] : block.start[row + 1]], block.n_relevant[row : row + 1])
            losses[row], violations[row] = _ranked(measure, x, z)
        return
    relevant, relevant_start, relevant_stop, irrelevant, irrelevant_start, irrelevant_stop = block.lists
    for row, distances in enumerate(block.values):
        wanted = relevant[relevant_start[row] : relevant_stop[row]]
        unwanted = irrelevant[irrelevant_start[row] : irrelevant_stop[row]]
        x, z = distances[wanted], distances[unwanted]
        losses[row], violations[row] = _ranked(measure, x, z)
        distances[:] = 0.0
        distances[wanted], distances[unwanted] = x, z


def _ranked(measure: Measure, x: Array, z: Array) -> tuple[float, float]:
    """As :func:`most_violated_ranking`, for any gains."""
    order, order_z = np.argsort(x, kind="stable"), np.argsort(z, kind="stable")
    b, loss = places(measure, x[order], z[order_z])
    v = np.empty(z.size, dtype=np.int64)
    v[order_z] = x.size - np.searchsorted(b, np.arange(z.size), side="right")
    return loss, float(_coefficients(x, z, order, x[order], v, b, loss))


@numba.njit(cache=True, nogil=True)
def most_violated_ranking(code, k, cut, x, z):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Overwrite the distances of one query by the coefficients; returns loss and violation."""
    p, n = x.size, z.size
    order = np.argsort(x, kind="mergesort")
    sorted_x = x[order]
    v, b = np.empty(n, dtype=np.int64), np.empty(p, dtype=np.int64)
    if code == 0:
        loss = worst_auc(sorted_x, z, v, b)
    elif code == 1:
        loss = worst_precision(sorted_x, z, k, cut, v, b)
    elif code == 2:
        loss = worst_map(sorted_x, z, v, b)
    elif code == 3:
        loss = worst_mrr(sorted_x, z, v, b)
    elif code == 4:
        loss = worst_ndcg(sorted_x, z, k, cut, v, b)
    elif code == 5:
        loss = worst_knn(sorted_x, z, k, cut, v, b)
    else:
        # No measure's number: what follows from it is no number either.
        v[:], b[:], loss = 0, 0, np.nan
    return loss, _coefficients(x, z, order, sorted_x, v, b, loss)


@numba.njit(cache=True, nogil=True)
def _coefficients(x, z, order, sorted_x, v, b, loss):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Overwrite distances by the coefficients of a ranking; returns its violation.

    ``v`` in the order of ``z``, ``b`` in that of ``sorted_x``.
    """
    p, n = x.size, z.size
    # The least distance is subtracted before any sum: only differences matter.
    base = sorted_x[0]
    scale = 2.0 / (p * n)
    weighted = 0.0
    for j in range(n):
        if v[j]:
            weighted += v[j] * (z[j] - base)
        z[j] = scale * v[j]
    for i in range(p):
        weighted -= b[i] * (sorted_x[i] - base)
        x[order[i]] = -scale * b[i]
    return loss - scale * weighted


@numba.njit(cache=True, nogil=True)
def _dense_row(code, k, cut, D, row, lists, losses, violations):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    relevant, relevant_start, relevant_stop, irrelevant, irrelevant_start, irrelevant_stop = lists
    wanted = relevant[relevant_start[row] : relevant_stop[row]]
    unwanted = irrelevant[irrelevant_start[row] : irrelevant_stop[row]]
    distances = D[row]
    x, z = np.empty(wanted.size), np.empty(unwanted.size)
    for i in range(wanted.size):
        x[i] = distances[wanted[i]]
    for j in range(unwanted.size):
        z[j] = distances[unwanted[j]]
    losses[row], violations[row] = most_violated_ranking(code, k, cut, x, z)
    distances[:] = 0.0
    for i in range(wanted.size):
        distances[wanted[i]] = x[i]
    for j in range(unwanted.size):
        distances[unwanted[j]] = z[j]


@numba.njit(cache=True, nogil=True)
def _listed_row(code, k, cut, values, start, n_relevant, row, losses, violations):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    middle = start[row] + n_relevant[row]
    x, z = values[start[row] : middle], values[middle : start[row + 1]]
    losses[row], violations[row] = most_violated_ranking(code, k, cut, x, z)


# Two functions and not one compiled twice: the cache on disk does not tell threads from none.
@numba.njit(cache=True, nogil=True)
def _dense_serial(code, k, cut, D, lists, losses, violations):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for row in range(losses.size):
        _dense_row(code, k, cut, D, row, lists, losses, violations)


@numba.njit(parallel=True, cache=True, nogil=True)
def _dense_parallel(code, k, cut, D, lists, losses, violations):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for row in numba.prange(losses.size):
        _dense_row(code, k, cut, D, row, lists, losses, violations)


@numba.njit(cache=True, nogil=True)
def _listed_serial(code, k, cut, values, start, n_relevant, losses, violations):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for row in range(losses.size):
        _listed_row(code, k, cut, values, start, n_relevant, row, losses, violations)


@numba.njit(parallel=True, cache=True, nogil=True)
def _listed_parallel(code, k, cut, values, start, n_relevant, losses, violations):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for row in numba.prange(losses.size):
        _listed_row(code, k, cut, values, start, n_relevant, row, losses, violations)
