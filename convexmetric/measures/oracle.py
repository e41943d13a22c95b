"""The separation oracle over many queries: compiled loops around one query's most violated ranking.

A user-defined measure, which has no compiled oracle, runs the dynamic program for any gains, query by query.
"""

from __future__ import annotations

import numpy as np

from convexmetric.arrays import Array
from convexmetric.comparisons import Block
from convexmetric.measures.base import COMPILED, Measure, MeasureAtK
from convexmetric.measures.reference import places
from convexmetric.measures.rows import overwrite
from convexmetric.numerics.threads import over_rows


def most_violated_rankings(measure: Measure, block: Block) -> tuple[Array, Array]:
    r"""Most violated ranking of every query of a block, ``argmax_y Delta(y) - <W, dpsi(q, y)>``.

    Parameters
    ----------
    measure : Measure
        Loss of a ranking.
    block : Block
        Distances, up to a constant per query; its values are overwritten by the coefficients of ``<W, dpsi>``.

    Returns
    -------
    losses : (B,) array
        ``Delta = 1 - score``.
    violations : (B,) array
        ``Delta - <W, dpsi>``, nonnegative up to rounding (the perfect ranking has 0).

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
    over_rows(compiled, len(block), block.values.size, block.flat, measure.k, cut, losses, violations)
    return losses, violations


def _by_programme(measure: Measure, block: Block, losses: Array, violations: Array) -> None:
    """Run the dynamic program for any gains, query by query."""
    for row in range(len(block)):
        _, _, x, z = block.of(row)
        order, order_z = np.argsort(x, kind="stable"), np.argsort(z, kind="stable")
        b, losses[row] = places(measure, x[order], z[order_z])
        v = np.empty(z.size, dtype=np.int64)
        v[order_z] = x.size - np.searchsorted(b, np.arange(z.size), side="right")
        block.part(row, row + 1)[:] = 0.0
        violations[row] = overwrite(block.values, block.places(row), z, order, x[order], v, b, z.size, losses[row])
