"""The separation oracle over many queries: compiled loops around one query's most violated ranking.

A user-defined measure, which has no compiled oracle, runs the dynamic program for any gains, query by query.
"""

from __future__ import annotations

import numpy as np

from convexmetric.arrays import Array
from convexmetric.comparisons import Block, ListedBlock
from convexmetric.comparisons.relevance import lists_of
from convexmetric.measures.base import Measure, MeasureAtK
from convexmetric.measures.reference import places
from convexmetric.measures.registry import COMPILED
from convexmetric.measures.rows import coefficients
from convexmetric.numerics.threads import over_rows


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
        If the gains of a user-defined measure are not what :meth:`Measure.gains` promises.
    """
    losses, violations = np.empty(len(block)), np.empty(len(block))
    compiled = COMPILED.get(type(measure))
    if compiled is None:
        _by_programme(measure, block, losses, violations)
        return losses, violations
    cut = not isinstance(measure, MeasureAtK) or measure.short == "cut"
    first, dense = block.layout
    flat = block.values.reshape(-1), dense, first, block.lists
    over_rows(compiled, len(block), block.values.size, flat, measure.k, cut, losses, violations)
    return losses, violations


def _by_programme(measure: Measure, block: Block, losses: Array, violations: Array) -> None:
    """Run the dynamic program for any gains, one query after the other."""
    if isinstance(block, ListedBlock):
        for row in range(len(block)):
            x, z = np.split(block.values[block.start[row] : block.start[row + 1]], block.n_relevant[row : row + 1])
            losses[row], violations[row] = _ranked(measure, x, z)
        return
    first, dense = block.layout
    for row, distances in enumerate(block.values):
        wanted, _, unwanted, _ = lists_of(first, dense, block.lists, row)
        x, z = distances[wanted], distances[unwanted]
        losses[row], violations[row] = _ranked(measure, x, z)
        distances[:] = 0.0
        distances[wanted], distances[unwanted] = x, z


def _ranked(measure: Measure, x: Array, z: Array) -> tuple[float, float]:
    """Overwrite the distances of one query by the coefficients, for any gains; returns loss and violation."""
    order, order_z = np.argsort(x, kind="stable"), np.argsort(z, kind="stable")
    b, loss = places(measure, x[order], z[order_z])
    v = np.empty(z.size, dtype=np.int64)
    v[order_z] = x.size - np.searchsorted(b, np.arange(z.size), side="right")
    return loss, float(coefficients(x, z, order, x[order], v, b, loss))
