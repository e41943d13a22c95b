"""Convert judgements by identifier to lists of relevant and irrelevant rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise, repeat
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexmetric.arguments import check_count, not_one_of
from convexmetric.comparisons.relevance import Relevance
from convexmetric.cones import NonnegativeDiagonal
from convexmetric.errors import InputError
from convexmetric.evaluation.rankings import nearest_points
from convexmetric.retrieval.judgements import Qrels, counted, identifiers_of, named, rows_named

Rows = NDArray[np.int64]

#: Treatments of documents that are not judged for a query.
UNJUDGED = ("irrelevant", "ignore", "mined")


@dataclass(frozen=True)
class Judged:
    """Judgements as relevance by row numbers, for a problem.

    Attributes
    ----------
    relevance : Relevance
        Relevant and irrelevant rows of every query of the problem.
    rows : (n_q,) int array
        The row of the query points that each is; a row comes once for every degree from which documents are relevant.
    words : str
        Degrees that count as relevant, and the treatment of unjudged documents, in words.
    """

    relevance: Relevance
    rows: Rows
    words: str


def judged_relevance(
    corpus: Any,
    queries: Any,
    qrels: Any,
    corpus_ids: Iterable[Any] | None,
    query_ids: Iterable[Any] | None,
    unjudged: str,
    relevant_from: int | Iterable[int],
    mined: int,
) -> Judged:
    """Make the relevance of rows from judgements; the arguments are those of :meth:`RankingProblem.from_qrels`.

    Raises
    ------
    InputError
        If an argument is malformed, an identifier is not known, or a query is not judged or has no documents of one
        kind; the message has the names.
    """
    table = Qrels.of(qrels)
    if unjudged not in UNJUDGED:
        raise InputError(not_one_of("unjudged", UNJUDGED, unjudged))
    check_count(mined, "mined")
    thresholds, n, complement = _thresholds(relevant_from), corpus.shape[0], unjudged == "irrelevant"
    names = identifiers_of(query_ids, queries.shape[0], "query_ids")
    documents = identifiers_of(corpus_ids, n, "corpus_ids")
    lists = _by_query(table, names, documents, query_ids is None, corpus_ids is None)
    unlisted: Iterable[Rows] = repeat(np.empty(0, dtype=np.int64), len(lists))
    if unjudged == "mined":
        unlisted = _nearest_unjudged(corpus, queries, [judged for judged, _ in lists], mined)
    rows, relevant, irrelevant, lacking = [], [], [], []
    for q, ((judged, degrees), others) in enumerate(zip(lists, unlisted, strict=True)):
        halves = [(judged[degrees >= least], judged[degrees < least]) for least in thresholds]
        parts = [(positives, np.concatenate([negatives, others])) for positives, negatives in halves]
        # Where all unjudged documents are irrelevant, irrelevant rows are not listed: they are the complement.
        kept = [
            (positives, negatives)
            for positives, negatives in parts
            if positives.size and (n - positives.size if complement else negatives.size)
        ]
        rows += [q] * len(kept)
        relevant += [positives for positives, _ in kept]
        irrelevant += [negatives for _, negatives in kept]
        lacking += [] if kept else [q]
    if lacking:
        raise InputError(_without_kind(lists[lacking[0]][1], [names[q] for q in lacking], min(thresholds), unjudged))
    relevance = Relevance.from_lists(relevant, None if complement else irrelevant, len(rows), n)
    return Judged(relevance, np.array(rows, dtype=np.int64), _words(thresholds, unjudged, mined))


def _by_query(
    table: Qrels, names: list[str], documents: list[str], by_row: bool, documents_by_row: bool
) -> list[tuple[Rows, Rows]]:
    """Group judgements by query: ascending rows of judged documents, and their degrees."""
    places = (
        "the rows of queries" if by_row else "query_ids",
        "the rows of corpus" if documents_by_row else "corpus_ids",
    )
    query = rows_named(table.queries, names, "query", places[0])[table.query]
    document = rows_named(table.documents, documents, "document", places[1])[table.document]
    order = np.lexsort((document, query))
    bounds = np.searchsorted(query[order], np.arange(len(names) + 1))
    missing = [names[q] for q in np.flatnonzero(np.diff(bounds) == 0)]
    if missing:
        raise InputError(
            f"{counted(missing)} no judgement: {named(missing)}; pass those rows of queries and query_ids that are in "
            "qrels.queries"
        )
    return [(document[order[a:b]], table.degree[order[a:b]]) for a, b in pairwise(bounds)]


def _thresholds(relevant_from: int | Iterable[int]) -> list[int]:
    """Check the degrees from which documents are relevant; returns them in ascending order."""
    given = [relevant_from] if isinstance(relevant_from, Integral) else relevant_from
    found = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else []
    if not found or not all(isinstance(least, Integral) and not isinstance(least, bool) for least in found):
        raise InputError(f"relevant_from must be a degree or several, got {relevant_from!r}")
    return sorted({int(least) for least in found})


def _without_kind(degrees: Rows, names: list[str], least: int, unjudged: str) -> str:
    """Message for queries without documents of one kind: what the first of them lacks."""
    if not (degrees >= least).any():
        what, fix = f"relevant document (of degree {least} or more)", "leave them out, or lower relevant_from"
    elif unjudged == "ignore":
        what, fix = "irrelevant document", "unjudged='irrelevant' or 'mined' takes unjudged ones"
    else:
        what, fix = "irrelevant document", "leave them out"
    return f"{counted(names)} no {what}: {named(names)}; {fix}"


def _nearest_unjudged(corpus: Any, queries: Any, judged: list[Rows], mined: int) -> Iterator[Rows]:
    """Find the unjudged documents nearest to each query, by (Euclidean distance, row)."""
    n, d = corpus.shape
    cone = NonnegativeDiagonal(d)
    # As many more as are judged, which are then left out.
    k = min(n, mined + max(known.size for known in judged))
    known = iter(judged)
    for _, nearest, _ in nearest_points(cone, cone.identity(), corpus, queries, k):
        for row in nearest:
            yield row[~np.isin(row, next(known))][:mined]


def _words(thresholds: list[int], unjudged: str, mined: int) -> str:
    if len(thresholds) == 1:
        relevant = f"relevant from degree {thresholds[0]} on"
    else:
        relevant = f"asked once for each degree {', '.join(map(str, thresholds))}, from which documents are relevant"
    others = {
        "irrelevant": "unjudged documents are irrelevant",
        "ignore": "unjudged documents take no part",
        "mined": f"of the unjudged documents the {mined} nearest (Euclidean) are irrelevant, the others take no part",
    }
    return f"{relevant}; {others[unjudged]}"
