"""Risks that can be cut into shards, as tables and arrays, and made again from a range of their parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from convexmetric.arrays import Array
from convexmetric.comparisons import Rankings, Relevance, Triplets
from convexmetric.comparisons.points import Checked
from convexmetric.cones import Cone
from convexmetric.described import Described, description
from convexmetric.errors import InputError
from convexmetric.losses import Hinge
from convexmetric.measures import measure_named
from convexmetric.risks import PairwiseRisk, RankingRisk, Risk, SeparableRisk
from convexmetric.shards.corpus import SharedRankings, StreamedRankings
from convexmetric.shards.folder import NAMES, StoredArray


class Source(Protocol):
    """Protocol of arrays by name, read by rows."""

    def __contains__(self, name: str) -> bool:
        """Whether there is such an array."""

    def length(self, name: str) -> int:
        """Number of rows."""

    def rows(self, name: str, start: int, stop: int) -> np.ndarray:
        """Read rows from start to stop."""

    def take(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Read some rows, in any order."""

    def points(self, rows: np.ndarray | None) -> np.ndarray:
        """Read rows of the corpus, given in ascending order; None for all."""

    def corpus(self) -> np.ndarray | StoredArray:
        """Return the whole corpus, or a ``StoredArray`` to be read in blocks where it is too large for memory."""

    def once(self, M: Array, make: Callable[[], Array]) -> Array:
        """Return ``make()``, an array of the whole corpus at a metric M, cached for all shards of the piece."""


@dataclass(frozen=True)
class Made:
    """A risk made from a range of parts.

    Attributes
    ----------
    risk : Risk
    rows : array or None
        The rows of the corpus that its points are; None for all.
    queries : array or None
        The rows that its queries are, of the piece's queries or else of the corpus; None where there are no queries.
    """

    risk: Risk
    rows: np.ndarray | None
    queries: np.ndarray | None = None

    def rows_of(self, named: tuple[int, ...]) -> tuple[int, ...]:
        """Translate row numbers of the risk's points to those of the piece; the first one is the query's."""

        def row(place: int) -> int:
            return place if self.rows is None else int(self.rows[place])

        first = row(named[0]) if self.queries is None else int(self.queries[named[0]])
        return (first, *(row(place) for place in named[1:]))


def cut(risk: Risk) -> tuple[dict[str, Any], float, dict[str, np.ndarray]]:
    """Serialise a risk: kind and parameters, the weight of a part, and its arrays by the names of files.

    Raises
    ------
    InputError
        If such a risk cannot be cut, or its points are sparse.
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


def made(table: dict[str, Any], weight: float, source: Source, cone: Cone, start: int, stop: int) -> Made:
    """Build the risk of the parts from start to stop, each of the given weight.

    Raises
    ------
    InputError
        If the arrays do not fit together.
    """
    try:
        return KINDS[table["kind"]](table, weight, source, cone, start, stop)
    except (KeyError, TypeError, IndexError) as error:
        raise InputError(f"the folder of shards is damaged ({error!r}); write it again") from error


def _ranking_risk(table: dict[str, Any], weight: float, source: Source, cone: Cone, start: int, stop: int) -> Made:
    rankings, rows, queries = _rankings(source, cone, start, stop)
    measure = measure_named(table["measure"], table.get("k"), short=table.get("short", "cut"))
    weights = source.rows("query_weights", start, stop) if "query_weights" in source else None
    return Made(RankingRisk(rankings, measure, weight * len(rankings), weights), rows, queries)


def _pairwise_risk(table: dict[str, Any], weight: float, source: Source, cone: Cone, start: int, stop: int) -> Made:
    rankings, rows, queries = _rankings(source, cone, start, stop)
    return Made(
        PairwiseRisk(rankings, source.rows("query_weights", start, stop), float(table["margin"])), rows, queries
    )


def _triplet_risk(table: dict[str, Any], weight: float, source: Source, cone: Cone, start: int, stop: int) -> Made:
    triplets = source.rows("triplets", start, stop)
    rows = _needed(source.length("points"), triplets)
    comparisons = Triplets(Checked(source.points(rows)), _renumbered(rows, triplets), cone)
    return Made(SeparableRisk(comparisons, Hinge(weight, float(table["margin"]))), rows)


def _rankings(source: Source, cone: Cone, start: int, stop: int) -> tuple[Rankings, np.ndarray | None, np.ndarray]:
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
        positives, negatives = (
            _renumbered(rows, positives).astype(np.int32),
            _renumbered(rows, negatives).astype(np.int32),
        )
        relevance = Relevance(positives, positive_start, positive_stop, negatives, negative_start, negative_stop)
    asked = source.take("queries" if own else "points", anchors)
    if rows is not None:
        return Rankings(Checked(source.points(rows)), Checked(asked), relevance, cone), rows, anchors
    X = source.corpus()
    kind = SharedRankings if isinstance(X, np.ndarray) else StreamedRankings
    return kind(X, asked, relevance, cone, source.once), None, anchors


def _lists(source: Source, kind: str, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read the stretch of storage that holds some lists, and where each begins and ends in it."""
    begin, end = source.rows(f"{kind}_start", start, stop), source.rows(f"{kind}_stop", start, stop)
    if not begin.dtype.kind == end.dtype.kind == "i" or (begin > end).any():
        raise InputError("the folder of shards has lists that end before they begin; write it again")
    first, last = int(begin.min()), int(end.max())
    return source.rows(kind, first, last), begin - first, end - first


def _needed(n: int, *named: np.ndarray) -> np.ndarray | None:
    """Find the rows that lists name, in ascending order; None for all rows where more than half are named."""
    used = np.zeros(n, dtype=bool)
    for rows in named:
        if rows.dtype.kind != "i" or (rows.size and not 0 <= rows.min() <= rows.max() < n):
            raise InputError(f"the folder of shards names a row outside of its {n} points; write it again")
        used[rows] = True
    return None if 2 * np.count_nonzero(used) > n else np.flatnonzero(used)


def _renumbered(rows: np.ndarray | None, named: np.ndarray) -> np.ndarray:
    """Translate rows of the corpus to rows of the part of it that is read."""
    return named if rows is None else np.searchsorted(rows, named)


KINDS: dict[str, Callable[[dict[str, Any], float, Source, Cone, int, int], Made]] = {
    "rankings": _ranking_risk,
    "pairs of lists": _pairwise_risk,
    "triplets": _triplet_risk,
}
