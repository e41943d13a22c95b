r"""Scores of runs against judgements, with the rules of trec_eval, and the run that a metric makes.

For a query whose documents have the degrees :math:`r_1, r_2, \dots` from the top of the list (0 if not judged), and of
whose judged documents R are relevant, :math:`[r \ge 1]`:

=========================  ==================================================================================
``nDCG@k``                 :math:`\sum_{t \le k} g(r_t) / \log_2(t + 1)` over the most it can be; g(r) = max(r, 0)
``nDCG(dcg='exp-log2')@k`` the same with :math:`g(r) = 2^r - 1` where r > 0
``AP``, ``AP@k``           :math:`\frac1R \sum_t [r_t \ge 1]` times the precision of the first t, t up to k
``RR``, ``RR@k``           1 over the place of the first relevant document, 0 if it is not among the first k
``P@k``                    relevant documents among the first k, over k
``R@k``                    relevant documents among the first k, over R
=========================  ==================================================================================

Names are those of the package ir_measures, which computes everything else. ``P(rel=2)@k`` counts documents of
degree 2 or more as relevant. The nDCG of problems (``measure="ndcg-log2"``) is this one for degrees 0 and 1;
``measure="ndcg"`` has the discount of paper 1.

As in trec_eval scores are compared in single precision, and of documents with the same score the one whose identifier
is last in the order of UTF-8 comes first. Means are over all judged queries: one missing from the run scores 0
(``trec_eval -c``), and so does one without a relevant document. One rule is BEIR's: where most queries that find the
document of their own identifier find it first, they are documents, as in ArguAna and Quora, and it is left out of their
lists unless it is judged relevant, with a warning.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexmetric.arguments import check_count, check_flag
from convexmetric.comparisons.points import as_points, check_width
from convexmetric.cones import AllMatrices
from convexmetric.errors import InputError
from convexmetric.evaluation.rankings import RetrievalScores, cone_of, nearest_points
from convexmetric.measures import NDCGLog2, measure_named
from convexmetric.retrieval.judgements import Qrels, RetrievalRun, identifiers_of, named, warn_of_themselves

#: Measures that are scored by default.
USUAL = ("nDCG@10", "AP", "RR@10", "P@10", "R@100")
#: Exact losses that equal the measures for degrees 0 and 1, and other names of measures.
MEASURE = {"AP": "map", "RR": "mrr", "P": "precision"}
OTHER_NAMES = {"NDCG": "nDCG", "MAP": "AP", "MRR": "RR"}
_NAME = re.compile(
    r"(?P<name>nDCG|NDCG|AP|MAP|RR|MRR|P|R)(\((?:rel=(?P<rel>-?\d+)|dcg='(?P<dcg>log2|exp-log2)')\))?(@(?P<k>[1-9]\d*))?"
)


@dataclass(frozen=True)
class _Own:
    """A measure of this module, with its options and its cut k."""

    name: str
    k: int | None
    least: int = 1
    exponential: bool = False

    def score(self, found: NDArray[np.int64], judged: NDArray[np.int64]) -> float:
        """Score degrees from the top of the list, given all judged degrees."""
        if self.name == "nDCG":
            best = self._gained(np.sort(judged)[::-1])
            return self._gained(found) / best if best > 0.0 else 0.0
        total = int((judged >= self.least).sum())
        places = np.flatnonzero(found[: self.k] >= self.least) + 1
        if not places.size or not total:
            return 0.0
        if self.name == "R":
            return places.size / total
        measure = measure_named(MEASURE[self.name], self.k if self.name == "P" else None)
        i = np.arange(1, places.size + 1)
        return float(measure.plain_gains(i, places - i, total, found.size - places.size).sum())

    def _gained(self, degrees: NDArray[np.int64]) -> float:
        gains = np.maximum(degrees[: self.k], 0).astype(np.float64)
        gains = np.exp2(gains) - 1.0 if self.exponential else gains
        return float(gains @ NDCGLog2.discounts(np.arange(1, gains.size + 1)))


def score_run(run: Any, qrels: Any, *, measures: str | Iterable[Any] = USUAL) -> RetrievalScores:
    """Score a run against judgements, with the numbers of trec_eval.

    Parameters
    ----------
    run : RetrievalRun, dict of dicts, data frame, or triples
        Scores of documents for queries, the higher the better.
    qrels : Qrels, dict of dicts, data frame, or triples
        Judgements.
    measures : str or sequence of str
        ``"nDCG@10"``, ``"nDCG(dcg='exp-log2')@10"``, ``"AP"``, ``"RR@10"``, ``"P(rel=2)@5"``, ``"R@100"`` and the like.

    Returns
    -------
    RetrievalScores
        All 0, with a warning that gives the reason, if run and judgements have no pairs in common.

    Raises
    ------
    InputError
        If an argument is malformed, nothing is judged, or there is no such measure.

    Examples
    --------
    >>> import convexmetric as cm
    >>> qrels = {"q": {"a": 2, "b": 0, "c": 1}}
    >>> print(cm.retrieval.score_run({"q": {"a": 0.9, "b": 0.8, "c": 0.7}}, qrels, measures=["nDCG@3", "AP", "P@2"]))
    nDCG@3 0.9502   AP 0.8333   P@2 0.5000   (1 queries)
    """
    table, judged = RetrievalRun.of(run), Qrels.of(qrels)
    if not len(judged):
        raise InputError("qrels has no judgement")
    names = [measures] if isinstance(measures, str) else [str(measure) for measure in measures]
    if not names:
        raise InputError("measures is empty; name at least one")
    scores = scored(_without_themselves(table, judged), judged, names)
    why = None if any(values.any() for values in scores.scores.values()) else _unmet(table, judged)
    if why:
        warnings.warn(f"{why}; all scores are 0", stacklevel=2)
    return scores


def scored(run: RetrievalRun, qrels: Qrels, measures: Iterable[str]) -> RetrievalScores:
    """Score a run as it is, without a warning."""
    own = {name: _own(name) for name in measures}
    lists = _degrees_by_query(run, qrels)
    scores = {name: np.array([measure.score(*degrees) for degrees in lists]) for name, measure in own.items()}
    return RetrievalScores(qrels.queries, scores)


def kept(run: RetrievalRun, pairs: NDArray[np.bool_]) -> RetrievalRun:
    """Select pairs of a run by a mask."""
    return replace(run, query=run.query[pairs], document=run.document[pairs], score=run.score[pairs])


def rank_corpus(
    M: ArrayLike | None,
    corpus: Any,
    queries: Any,
    *,
    k: int = 1000,
    similarity: bool = False,
    corpus_ids: Iterable[Any] | None = None,
    query_ids: Iterable[Any] | None = None,
) -> RetrievalRun:
    """Rank the documents nearest to every query under a metric, as a run; scores are negative squared distances.

    With ``similarity``, documents are ranked by similarities ``q^T M x``, which are the scores. A query that is a
    document is in its own list; :func:`score_run` leaves it out.

    Parameters
    ----------
    M : (d, d) or (d,) array, or None
        Metric: a matrix, or weights of the features; None for the Euclidean one.
    corpus, queries : (n, d) and (n_q, d) arrays
        Vectors of documents and queries.
    k : int
        Number of documents to rank for every query.
    similarity : bool
        Whether M is an arbitrary matrix of similarities; M = None then means plain inner products.
    corpus_ids, query_ids : sequences of str or int, optional
        Identifiers of the rows; by default their numbers, from 0.

    Returns
    -------
    RetrievalRun

    Raises
    ------
    InputError
        If an argument is malformed.
    """
    points, asked = as_points(corpus, "corpus"), as_points(queries, "queries")
    check_count(k, "k")
    n, d = points.shape
    check_width(asked, d, "queries have", "corpus has")
    documents, names = identifiers_of(corpus_ids, n, "corpus_ids"), identifiers_of(query_ids, len(asked), "query_ids")
    check_flag(similarity, "similarity")
    given = M if M is not None else np.eye(d) if similarity else np.ones(d)
    cone = AllMatrices(d) if similarity else cone_of(given, d)
    metric, width = cone.element(given, "M"), min(k, n)
    own = np.zeros(len(asked)) if similarity else cone.quadratic_forms(asked, metric)
    rows, scores = np.empty((len(asked), width), dtype=np.int64), np.empty((len(asked), width))
    for some, nearest, squared in nearest_points(cone, metric, points, asked, width):
        rows[some], scores[some] = nearest, -(squared + own[some, None])
    query = np.repeat(np.arange(len(asked)), width)
    return RetrievalRun(tuple(names), tuple(documents), query, rows.ravel(), scores.ravel())


def _own(name: str) -> _Own:
    """Parse the name of a measure."""
    match = _NAME.fullmatch(name.strip())
    kind = match and OTHER_NAMES.get(match["name"], match["name"])
    wrong = match and (match["rel" if kind == "nDCG" else "dcg"] or (kind in ("P", "R") and not match["k"]))
    if match is None or kind is None or wrong:
        known = "nDCG@k, AP, RR, P@k and R@k; ir_measures scores others, from run.to_dict() and qrels.to_dict()"
        raise InputError(f"there is no measure {name!r} here, but {known}")
    k = None if match["k"] is None else int(match["k"])
    return _Own(kind, k, int(match["rel"] or 1), match["dcg"] == "exp-log2")


def _degrees_by_query(run: RetrievalRun, qrels: Qrels) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For every judged query: degrees of its documents from the top of the list, and all its judged degrees."""
    order = _ranked(run)
    query, document = (of[order] for of in _places(run, qrels))
    # Concatenated lists of all judged queries.
    listed = np.flatnonzero(query >= 0)
    listed = listed[np.argsort(query[listed], kind="stable")]
    query, document = query[listed], document[listed]
    n = len(qrels.documents)
    pair = qrels.query * n + qrels.document
    by_pair = np.argsort(pair)
    degree, pair, wanted = qrels.degree[by_pair], pair[by_pair], query * n + document
    at = np.minimum(np.searchsorted(pair, wanted), len(pair) - 1)
    degrees = np.where((document >= 0) & (pair[at] == wanted), degree[at], 0)
    bounds, own = (np.searchsorted(of, np.arange(len(qrels.queries) + 1)) for of in (query, pair // n))
    return [(degrees[bounds[q] : bounds[q + 1]], degree[own[q] : own[q + 1]]) for q in range(len(qrels.queries))]


def _without_themselves(run: RetrievalRun, qrels: Qrels) -> RetrievalRun:
    """Leave out judged queries that are documents of their own lists, and mostly first there; warn of it."""
    relevant = qrels.degree >= 1
    names = zip(qrels.query[relevant].tolist(), qrels.document[relevant].tolist(), strict=True)
    stays = {qrels.queries[q] for q, document in names if qrels.queries[q] == qrels.documents[document]}
    place = {name: at for at, name in enumerate(run.documents)}
    judged = set(qrels.queries) - stays
    own = np.array([place.get(name, -1) if name in judged else -1 for name in run.queries], dtype=np.int64)
    themselves = run.document == own[run.query]
    order = _ranked(run) if themselves.any() else np.empty(0, dtype=np.int64)
    first = order[np.flatnonzero(np.diff(run.query[order], prepend=-1))]
    if 2 * themselves[first].sum() <= themselves.sum():
        return run
    warn_of_themselves([run.queries[q] for q in run.query[themselves]])
    return kept(run, ~themselves)


def _unmet(run: RetrievalRun, qrels: Qrels) -> str | None:
    """Explain why all scores of a run are 0, if its identifiers or the judged degrees are the reason."""
    if not len(run):
        return "the run is empty"
    if not (qrels.degree >= 1).any():
        return "no document is judged relevant, of degree 1 or more"
    for kind in ("queries", "documents"):
        found, judged = getattr(run, kind), getattr(qrels, kind)
        if set(judged).isdisjoint(found):
            return f"the {kind} of the run, {named(found)}, are not those of the judgements, {named(judged)}"
    query, document = _places(run, qrels)
    n, known = len(qrels.documents), (query >= 0) & (document >= 0)
    met = np.isin((query * n + document)[known], qrels.query * n + qrels.document)
    return None if met.any() else "no document of the run is judged for its query"


def _places(run: RetrievalRun, qrels: Qrels) -> Iterator[NDArray[np.int64]]:
    """Yield queries, then documents, of all pairs as indices into the judgements, -1 for none."""
    for names, known, codes in (
        (run.queries, qrels.queries, run.query),
        (run.documents, qrels.documents, run.document),
    ):
        place = {name: at for at, name in enumerate(known)}
        yield np.array([place.get(name, -1) for name in names], dtype=np.int64)[codes]


def _ranked(run: RetrievalRun) -> NDArray[np.int64]:
    """Sort the pairs of a run by query, then by (score in single precision, identifier), the largest first."""
    alphabetical = np.empty(len(run.documents), dtype=np.int64)
    alphabetical[sorted(range(len(run.documents)), key=run.documents.__getitem__)] = np.arange(len(run.documents))
    with np.errstate(over="ignore"):
        score = run.score.astype(np.float32)
    return np.lexsort((-alphabetical[run.document], -score, run.query))
