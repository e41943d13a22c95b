r"""Risks that can be cut into shards, as tables and arrays, and made again from a range of their parts.

Several shards may rank the same corpus. Arrays that depend on the corpus alone are computed once for all shards in a
process. A corpus that is too large to be cached is read in blocks, for distances and again for their
adjoint, and never held:

.. math:: s_{q, X_k} = \mathrm{diag}(X_k M X_k^\top) - 2 q^\top M X_k^\top, \qquad
   S = \sum_k \Big( X_k^\top \mathrm{diag}(T_k^\top 1) X_k - Q^\top T_k X_k - X_k^\top T_k^\top Q \Big)

with :math:`X_k` the rows of a block and :math:`T_k` the columns of their weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.comparisons import Block, Rankings, Relevance, Triplets
from convexmetric.comparisons.points import Checked
from convexmetric.comparisons.rankings import DENSE_FROM
from convexmetric.cones import Cone
from convexmetric.described import Described, description
from convexmetric.errors import InputError
from convexmetric.losses import Hinge
from convexmetric.measures import measure_named
from convexmetric.risks import PairwiseRisk, RankingRisk, Risk, SeparableRisk
from convexmetric.shards.folder import BLOCK, NAMES, Shard, cone_of
from convexmetric.shards.loading import CACHE, PieceFiles

FLOAT = np.dtype(np.float64)

Once = Callable[[Array, Callable[[], Array]], Array]
"""Cache what a function gives at a metric, made once in a process."""


class SharedRankings(Rankings):
    """Rankings over a corpus from which a common offset has been taken already.

    Parameters
    ----------
    X : (n, d) array, or StoredArray
        Corpus, that of all shards.
    Q : (n_q, d) array
        Queries.
    relevance : Relevance
        Relevant and irrelevant corpus rows per query.
    cone : Cone
        Cone of the metric.
    once : callable
        Cache of arrays computed from the whole corpus at a metric.
    """

    def __init__(self, X: Any, Q: Array, relevance: Relevance, cone: Cone, once: Once) -> None:
        if X.shape[1:] != (cone.d,) or Q.shape != (len(relevance), cone.d) or (X.dtype, Q.dtype) != (FLOAT, FLOAT):
            raise InputError("the folder of shards holds points of another shape or type than it says; write it again")
        relevance.check(X.shape[0])
        self.X, self.Q, self.anchors = X, Q, None
        self.relevance, self.cone, self.once = relevance, cone, once
        self.sizes = relevance.n_relevant + relevance.n_irrelevant
        listed = isinstance(X, np.ndarray) and not relevance.complement
        self.dense = not listed or float(self.sizes.mean()) >= DENSE_FROM * X.shape[0]

    def norms(self, M: Array) -> Array:
        """``x^T M x`` of every item."""
        return self.once(M, partial(super().norms, M))


class StreamedRankings(SharedRankings):
    """Rankings over a corpus in a :class:`~convexmetric.shards.folder.StoredArray`, read in blocks."""

    def _blocks_of_rows(self) -> Iterator[tuple[slice, Array]]:
        step = max(1, BLOCK // self.X.row_bytes)
        for start in range(0, len(self.X), step):
            rows = slice(start, min(start + step, len(self.X)))
            yield rows, self.X.rows(rows.start, rows.stop)

    def norms(self, M: Array) -> Array:
        """``x^T M x`` of every item, block by block."""
        return self.once(M, lambda: np.concatenate([self.cone.norms(X, M) for _, X in self._blocks_of_rows()]))

    def blocks(self, M: Array, order: np.ndarray) -> Iterator[Block]:
        """Yield blocks of squared distances under ``M`` from the queries, in the given order, to the corpus."""
        norms = self.norms(M)
        for queries in self.cuts(order):
            values, points = np.empty((len(queries), len(self.X))), self.points(queries)
            for rows, X in self._blocks_of_rows():
                values[:, rows] = self.cone.gram(points, M, X)
            values *= self.cone.cross_weight
            values += norms
            yield Block(self, queries, values)

    def adjoint(self, T: Any, queries: np.ndarray) -> Array:
        """``sum_qx t_qx (q - x)(q - x)^T`` for dense weights; rows sum to zero."""
        weights, points, S = T.sum(axis=0), self.points(queries), self.cone.zeros()
        for rows, X in self._blocks_of_rows():
            S += self.cone.outer_sum(X, weights[rows]) - 2.0 * self.cone.cross(points, T[:, rows], X)
        return S


@dataclass(frozen=True)
class Made:
    """A risk made from a range of parts.

    Attributes
    ----------
    risk : Risk
    rows : array or None
        Rows of the corpus that are its points; None for all.
    queries : array or None
        Rows that are its queries, of the piece's queries or else of the corpus; None if there are no queries.
    nbytes : int
        Bytes that were read only for it.
    """

    risk: Risk
    rows: np.ndarray | None
    queries: np.ndarray | None = None
    nbytes: int = 0

    def rows_of(self, named: tuple[int, ...]) -> tuple[int, ...]:
        """Translate row numbers of the risk's points to those of the piece; the first one is the query's."""

        def row(place: int) -> int:
            return place if self.rows is None else int(self.rows[place])

        first = row(named[0]) if self.queries is None else int(self.queries[named[0]])
        return (first, *(row(place) for place in named[1:]))


def cut(risk: Risk) -> tuple[dict[str, Any], float, dict[str, np.ndarray]]:
    """Serialise a risk: kind and parameters, the weight of a part, and its arrays by file name.

    Raises
    ------
    InputError
        If this kind of risk cannot be cut, or its points are sparse.
    """
    try:
        said = description(risk)
    except InputError:
        said = Described()
    arrays, table = dict(said.arrays), dict(said.table)
    kind, terms = table.get("kind"), table.get("terms", [])
    if kind == "rankings":
        weight = table.pop("C") / risk.parts
        arrays.setdefault("anchors", np.arange(risk.parts))
    elif kind == "pairs of lists" and table["loss"] == "hinge":
        arrays.setdefault("anchors", np.arange(risk.parts))
        arrays.setdefault("query_weights", np.full(risk.parts, table["weight"]))
        table, weight = {"kind": kind, "margin": table["margin"]}, 1.0
    elif "triplets" in arrays and len(terms) == 1 and terms[0]["loss"] == "hinge":
        table, weight = {"kind": "triplets", "margin": terms[0]["margin"]}, terms[0]["weight"]
        del arrays["terms"]
    else:
        raise InputError(
            f"{risk.words} cannot be cut into shards: rankings by a measure of the package, hinges over pairs of near "
            "and negatives, and soft hinges of listed triplets can"
        )
    if not arrays.keys() <= set(NAMES):
        raise InputError("sparse points cannot be cut into shards; pass X.toarray()")
    return table, weight, arrays


def load(shard: Shard) -> Made:
    """Load the risk of a shard, with the shard's weight for each part.

    Raises
    ------
    OSError, InputError
        If its files are missing, or not as written.
    """
    key = shard.contents, shard.start, shard.stop, shard.weight, repr((shard.cone, shard.risk))
    return CACHE.get(key, lambda: _made(shard), shard.cache)


def _made(shard: Shard) -> Made:
    source = PieceFiles(shard)
    try:
        make = KINDS[shard.risk["kind"]]
        found = make(shard.risk, shard.weight, source, cone_of(shard.cone), shard.start, shard.stop)
    except (KeyError, TypeError, IndexError) as error:
        raise InputError(f"the folder of shards is damaged ({error!r}); write it again") from error
    return replace(found, nbytes=source.read)


def _ranking_risk(table: dict[str, Any], weight: float, source: PieceFiles, cone: Cone, start: int, stop: int) -> Made:
    rankings, rows, queries = _rankings(source, cone, start, stop)
    measure = measure_named(table["measure"], table.get("k"), short=table.get("short", "cut"))
    weights = source.rows("query_weights", start, stop) if "query_weights" in source else None
    return Made(RankingRisk(rankings, measure, weight * len(rankings), weights), rows, queries)


def _pairwise_risk(table: dict[str, Any], weight: float, source: PieceFiles, cone: Cone, start: int, stop: int) -> Made:
    rankings, rows, queries = _rankings(source, cone, start, stop)
    weights = source.rows("query_weights", start, stop)
    return Made(PairwiseRisk(rankings, weights, float(table["margin"])), rows, queries)


def _triplet_risk(table: dict[str, Any], weight: float, source: PieceFiles, cone: Cone, start: int, stop: int) -> Made:
    triplets = source.rows("triplets", start, stop)
    rows = _needed(source.length("points"), triplets)
    comparisons = Triplets(Checked(source.points(rows)), _renumbered(rows, triplets), cone)
    return Made(SeparableRisk(comparisons, Hinge(weight, float(table["margin"]))), rows)


def _rankings(source: PieceFiles, cone: Cone, start: int, stop: int) -> tuple[Rankings, np.ndarray | None, np.ndarray]:
    """Build the rankings of some queries; also returns the corpus rows in use (None for all) and the queries' rows."""
    positives, positive_start, positive_stop = _lists(source, "near", start, stop)
    anchors, n = source.rows("anchors", start, stop), source.length("points")
    own = "queries" in source
    if "itself" in source:
        itself, none, rows = source.rows("itself", start, stop), np.zeros(len(anchors), dtype=np.int64), None
        nobody = None if (itself == n).all() else itself
        # Check row numbers, as compiled code reads memory at them.
        _needed(n + 1, itself), _needed(n, positives)
        relevance = Relevance(positives, positive_start, positive_stop, positives[:0], none, none, True, nobody, n)
    else:
        negatives, negative_start, negative_stop = _lists(source, "far", start, stop)
        rows = _needed(n, positives, negatives, *([] if own else [anchors]))
        positives, negatives = (_renumbered(rows, items).astype(np.int32) for items in (positives, negatives))
        relevance = Relevance(positives, positive_start, positive_stop, negatives, negative_start, negative_stop)
    asked = source.take("queries" if own else "points", anchors)
    if rows is not None:
        return Rankings(Checked(source.points(rows)), Checked(asked), relevance, cone), rows, anchors
    X = source.corpus()
    kind = SharedRankings if isinstance(X, np.ndarray) else StreamedRankings
    return kind(X, asked, relevance, cone, source.once), None, anchors


def _lists(source: PieceFiles, kind: str, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read the range of storage that holds given lists, and where each begins and ends in it."""
    begin, end = source.rows(f"{kind}_start", start, stop), source.rows(f"{kind}_stop", start, stop)
    if not begin.dtype.kind == end.dtype.kind == "i" or (begin > end).any():
        raise InputError("the folder of shards has lists that end before they begin; write it again")
    first, last = int(begin.min()), int(end.max())
    return source.rows(kind, first, last), begin - first, end - first


def _needed(n: int, *named: np.ndarray) -> np.ndarray | None:
    """Find the rows that lists name, in ascending order; None for all rows if more than half are named."""
    used = np.zeros(n, dtype=bool)
    for rows in named:
        if rows.dtype.kind != "i" or (rows.size and not 0 <= rows.min() <= rows.max() < n):
            raise InputError(f"the folder of shards names a row outside of its {n} points; write it again")
        used[rows] = True
    return None if 2 * np.count_nonzero(used) > n else np.flatnonzero(used)


def _renumbered(rows: np.ndarray | None, named: np.ndarray) -> np.ndarray:
    """Translate rows of the corpus to rows of the part of it that is read."""
    return named if rows is None else np.searchsorted(rows, named)


KINDS: dict[str, Callable[[dict[str, Any], float, PieceFiles, Cone, int, int], Made]] = {
    "rankings": _ranking_risk,
    "pairs of lists": _pairwise_risk,
    "triplets": _triplet_risk,
}
