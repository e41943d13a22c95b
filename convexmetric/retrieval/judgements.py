"""Judgements and runs of retrieval: degrees, or scores, of documents for queries.

Judgements become lists of relevant and irrelevant rows for problems (:func:`judged_relevance`). Queries and documents
have identifiers, which are text; an integer stands for its digits. Tables store every identifier
once, and a pair as two numbers.
"""

from __future__ import annotations

import reprlib
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, repeat
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from convexmetric.arguments import check_count, check_flag, check_one_of, closest
from convexmetric.comparisons.relevance import Relevance
from convexmetric.cones import NonnegativeDiagonal
from convexmetric.errors import InputError
from convexmetric.evaluation.rankings import nearest_points

Rows = NDArray[np.int64]

#: Names of columns in frames of Pyserini, ir_datasets, PyTerrier, BEIR and trec_eval.
QUERY_COLUMNS = ("query_id", "qid", "query-id", "query", "topic")
DOCUMENT_COLUMNS = ("doc_id", "docid", "docno", "corpus-id", "document_id", "corpus_id", "document")
#: Treatments of documents that are not judged for a query.
UNJUDGED = ("irrelevant", "ignore", "mined")
#: Number of names that an error shows, and largest number of known names that are searched for a similar one.
SHOWN, FEW = 5, 20_000
#: Rows that a query is compared with, to tell whether it is the document of its identifier.
OTHERS = 10
_QUOTED = reprlib.Repr()
_QUOTED.maxstring = 80


@dataclass(frozen=True, eq=False, repr=False)
class PairTable:
    """Table of distinct pairs (query, document), with a number for each.

    Attributes
    ----------
    queries, documents : tuple of str
        The distinct identifiers, in order of first occurrence.
    query, document : (m,) int array
        Every pair, as indices into ``queries`` and ``documents``.
    """

    queries: tuple[str, ...]
    documents: tuple[str, ...]
    query: NDArray[np.int64]
    document: NDArray[np.int64]

    #: Names of the column of numbers in a frame; the first is also the name of the attribute.
    column_names: ClassVar[tuple[str, ...]]
    #: Type of a number, its name in messages, and its requirement in words.
    number: ClassVar[type]
    what: ClassVar[str]
    kind: ClassVar[str]

    def __len__(self) -> int:
        return self.query.size

    @property
    def numbers(self) -> NDArray[Any]:
        """Numbers of the pairs, ``(m,)``: degrees or scores."""
        return np.asarray(getattr(self, self.column_names[0]))

    @classmethod
    def from_lists(cls, queries: Iterable[Any], documents: Iterable[Any], numbers: ArrayLike) -> Self:
        """Make a table from three lists of the same length.

        Raises
        ------
        InputError
            If the lists differ in length, an identifier is neither text nor integer, a number is malformed, or a pair
            occurs twice.
        """
        known_queries, query = _coded(as_identifiers(queries, "queries"))
        known_documents, document = _coded(as_identifiers(documents, "documents"))
        values = cls._checked(numbers)
        if not query.size == document.size == values.size:
            raise InputError(
                f"queries, documents and {cls.what}s must be of one length, got {query.size}, {document.size} and "
                f"{values.size}"
            )
        again = first_repetition(query, document, len(known_documents))
        if again is not None:
            raise InputError(
                f"query {known_queries[query[again]]!r} has document {known_documents[document[again]]!r} twice; "
                "keep one of them"
            )
        return cls(known_queries, known_documents, query, document, values)  # type: ignore[call-arg]

    @classmethod
    def from_dict(cls, numbers: Mapping[Any, Mapping[Any, Any]]) -> Self:
        """Make a table from a dictionary of dictionaries, query to document to number, as of pytrec_eval and BEIR.

        Raises
        ------
        InputError
            If it is not such a dictionary, an identifier is neither text nor integer, or a number is malformed.
        """
        if not isinstance(numbers, Mapping) or not all(isinstance(row, Mapping) for row in numbers.values()):
            raise InputError(f"a dictionary of {cls.what}s maps every query to a dictionary of documents")
        return cls.of((query, document, value) for query, row in numbers.items() for document, value in row.items())

    @classmethod
    def from_frame(
        cls, frame: Any, query: str | None = None, document: str | None = None, number: str | None = None
    ) -> Self:
        """Make a table from three columns of a pandas or polars frame, or any object with ``columns`` and ``[name]``.

        Parameters
        ----------
        frame : data frame
        query, document, number : str, optional
            Names of the columns; by default those in general use, such as ``query_id``, ``docno`` and ``relevance``.

        Raises
        ------
        InputError
            If a column is not there, or its entries are malformed.
        """
        if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
            raise InputError(f"frame must be a data frame with columns, got {type(frame).__name__}")
        names = [str(name) for name in frame.columns]
        wanted = (query, QUERY_COLUMNS), (document, DOCUMENT_COLUMNS), (number, cls.column_names)
        chosen = [_column(names, name, usual) for name, usual in wanted]
        return cls.from_lists(*(np.asarray(frame[name]).tolist() for name in chosen))

    @classmethod
    def of(cls, given: Any) -> Self:
        """Make a table from a table, a dictionary of dictionaries, a frame, or triples.

        Raises
        ------
        InputError
            If it is none of these, or malformed.
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, Mapping):
            return cls.from_dict(given)
        if hasattr(given, "columns"):
            return cls.from_frame(given)
        try:
            rows = [tuple(row) for row in given]
        except TypeError:
            rows = [()]
        if isinstance(given, str | bytes | PairTable) or any(len(row) != 3 for row in rows):
            raise InputError(
                f"{cls.what}s must be a {cls.__name__}, a dictionary of dictionaries, a data frame, or triples "
                f"(query, document, {cls.what}), got {type(given).__name__}"
            )
        return cls.from_lists([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Convert to a dictionary, query to document to number, as used by pytrec_eval, ir_measures and BEIR."""
        table: dict[str, dict[str, Any]] = {query: {} for query in self.queries}
        for query, document, number in zip(self.query, self.document, self.numbers.tolist(), strict=True):
            table[self.queries[query]][self.documents[document]] = number
        return table

    def subset(self, queries: Iterable[Any]) -> Self:
        """Select the pairs of given queries; unknown identifiers are ignored.

        Raises
        ------
        InputError
            If an identifier is neither text nor integer.
        """
        chosen = set(as_identifiers(queries, "queries"))
        keep = np.array([query in chosen for query in self.queries], dtype=bool)[self.query]
        query_names, query = _renumbered(self.queries, self.query[keep])
        document_names, document = _renumbered(self.documents, self.document[keep])
        return type(self)(query_names, document_names, query, document, self.numbers[keep])  # type: ignore[call-arg]

    @classmethod
    def _checked(cls, numbers: ArrayLike) -> NDArray[Any]:
        """Check the numbers; returns them as an array of the table's type."""
        try:
            values = np.asarray(numbers)
            real = values.size == 0 or values.dtype.kind in "iuf"
            exact = values.astype(cls.number) if real else values
        except (TypeError, ValueError):
            values, real = np.empty(0), False
        if not real or values.ndim != 1 or not np.isfinite(values).all() or not (exact == values).all():
            raise InputError(f"{cls.what}s must be a list of {cls.kind}")
        return exact

    def __repr__(self) -> str:
        span = f", {self.numbers.min():g} to {self.numbers.max():g}" if len(self) else ""
        return (
            f"<{type(self).__name__}: {len(self)} {self.what}s{span}; {len(self.queries)} queries, "
            f"{len(self.documents)} documents>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Qrels(PairTable):
    """Judgements: the degree to which documents are relevant to queries.

    Attributes
    ----------
    degree : (m,) int array
        Degree of every pair; by custom 0 or less is irrelevant, and 1 or more relevant to that degree.

    Examples
    --------
    >>> import convexmetric as cm
    >>> qrels = cm.retrieval.Qrels.from_dict({"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}})
    >>> qrels
    <Qrels: 3 degrees, 0 to 2; 2 queries, 2 documents>
    >>> qrels.subset(["q2"]).to_dict()
    {'q2': {'d1': 1}}
    """

    degree: NDArray[np.int64]

    column_names: ClassVar[tuple[str, ...]] = ("degree", "relevance", "rel", "label", "score")
    number: ClassVar[type] = np.int64
    what: ClassVar[str] = "degree"
    kind: ClassVar[str] = "integers"

    @classmethod
    def from_matrix(
        cls, degrees: Any, query_ids: Iterable[Any] | None = None, *, corpus_ids: Iterable[Any] | None = None
    ) -> Qrels:
        """Make judgements from a (queries, corpus) matrix of degrees; entries not stored in a sparse one are unjudged.

        Parameters
        ----------
        degrees : (n_q, n) array or sparse matrix
        query_ids, corpus_ids : sequences of str or int, optional
            By default the numbers of rows and columns.

        Raises
        ------
        InputError
            If it is not such a matrix.
        """
        try:
            matrix: Any = sp.coo_array(degrees) if sp.issparse(degrees) else np.asarray(degrees)
            n_queries, n_documents = matrix.shape
        except (TypeError, ValueError) as error:
            raise InputError("degrees must be a (queries, corpus) matrix of integers") from error
        if sp.issparse(matrix):
            (rows, columns), values = matrix.coords, matrix.data
        else:
            (rows, columns), values = np.indices(matrix.shape).reshape(2, -1), matrix.ravel()
        queries = identifiers_of(query_ids, n_queries, "query_ids")
        documents = identifiers_of(corpus_ids, n_documents, "corpus_ids")
        return cls.from_lists([queries[row] for row in rows], [documents[column] for column in columns], values)


@dataclass(frozen=True, eq=False, repr=False)
class RetrievalRun(PairTable):
    """Run of a retrieval system: scores of documents for queries, the higher the better.

    Attributes
    ----------
    score : (m,) array
        Score of every pair.
    """

    score: NDArray[np.float64]

    column_names: ClassVar[tuple[str, ...]] = ("score", "similarity", "sim")
    number: ClassVar[type] = np.float64
    what: ClassVar[str] = "score"
    kind: ClassVar[str] = "finite numbers"


def as_identifiers(given: Iterable[Any], name: str) -> list[str]:
    """Check identifiers and convert them to text.

    Raises
    ------
    InputError
        If one is neither text nor an integer.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(f"{name} must be a list of identifiers, got {type(given).__name__}")
    found = []
    for at, identifier in enumerate(given):
        if isinstance(identifier, str):
            found.append(str(identifier))
        elif isinstance(identifier, int | np.integer) and not isinstance(identifier, bool):
            found.append(str(int(identifier)))
        else:
            raise InputError(f"{name}[{at}] must be text or an integer, got {identifier!r}")
    return found


def identifiers_of(given: Iterable[Any] | None, size: int, name: str) -> list[str]:
    """Check the identifiers of ``size`` rows, each once; by default the numbers of the rows.

    Raises
    ------
    InputError
        If there are more or fewer, or one occurs twice.
    """
    if given is None:
        return [str(row) for row in range(size)]
    found = as_identifiers(given, name)
    if len(found) != size:
        raise InputError(f"{name} must have one identifier a row: {size} rows, {len(found)} identifiers")
    if len(set(found)) != size:
        again = next(identifier for identifier, count in Counter(found).items() if count > 1)
        raise InputError(f"{name} has {again!r} twice; identifiers tell rows apart")
    return found


def rows_named(wanted: Sequence[str], known: Sequence[str], kind: str, place: str) -> NDArray[np.int64]:
    """Look up the row of each identifier among the known ones.

    Raises
    ------
    InputError
        If some are not known; the message names them, and the known one most similar to the first.
    """
    row = {identifier: at for at, identifier in enumerate(known)}
    strangers = [identifier for identifier in wanted if identifier not in row]
    if strangers:
        kind, kinds = ("query is", "queries are") if kind == "query" else ("document is", "documents are")
        hint = closest(strangers[0], known[:FEW], "; did you mean {}?")
        hint += f"; there are {named(known)}" if len(strangers) == len(wanted) else ""
        raise InputError(
            f"{len(strangers)} judged {kinds if len(strangers) > 1 else kind} not in {place}: {named(strangers)}{hint}"
        )
    return np.array([row[identifier] for identifier in wanted], dtype=np.int64)


def named(names: Sequence[str]) -> str:
    """Format the first few names, quoted, and long ones cut."""
    return ", ".join(map(_QUOTED.repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")


def counted(queries: Sequence[str]) -> str:
    """Format a count of queries as the beginning of a sentence."""
    return f"{len(queries)} {'queries have' if len(queries) > 1 else 'query has'}"


def first_repetition(query: NDArray[Any], document: NDArray[Any], n_documents: int) -> int | None:
    """Find the position of the first pair that occurs for the second time; None if all differ."""
    pair = query * np.int64(max(1, n_documents)) + document
    order = np.argsort(pair, kind="stable")
    pair = pair[order]
    again = order[1:][pair[1:] == pair[:-1]]
    return int(again.min()) if again.size else None


def _coded(identifiers: list[str]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Encode identifiers: the distinct ones in order of first occurrence, and the number of each among these."""
    number: dict[str, int] = {}
    codes = [number.setdefault(identifier, len(number)) for identifier in identifiers]
    return tuple(number), np.array(codes, dtype=np.int64)


def _renumbered(names: tuple[str, ...], codes: NDArray[np.int64]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Drop unused names; returns the names in use, and the codes renumbered."""
    used, numbers = np.unique(codes, return_inverse=True)
    return tuple(names[at] for at in used), numbers.reshape(-1).astype(np.int64)


def _column(names: list[str], asked: str | None, usual: tuple[str, ...]) -> str:
    """Find a column by the name asked for, or by the usual names."""
    if asked is not None:
        check_one_of(asked, names, "the column")
        return asked
    found = [name for name in usual if name in names]
    if not found:
        raise InputError(
            f"the frame has no column {', '.join(usual[:-1])} or {usual[-1]}; it has {', '.join(names)}: name the one "
            "that is meant"
        )
    return found[0]


@dataclass(frozen=True)
class Judged:
    """Judgements as relevance by row numbers, for a problem.

    Attributes
    ----------
    relevance : Relevance
        Relevant and irrelevant rows of every query of the problem.
    rows : (n_q,) int array
        Row of each query among the query points; it occurs once for every degree from which documents are relevant.
    itself : (n_q,) int array
        Row of the corpus that is the query itself, left out of its lists; -1 for none.
    words : str
        Degrees that count as relevant, and the treatment of unjudged documents, in words.
    """

    relevance: Relevance
    rows: Rows
    itself: Rows
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
    skip_incomplete: bool,
) -> Judged:
    """Make the relevance of rows from judgements; the arguments are those of :meth:`RankingProblem.from_qrels`.

    Raises
    ------
    InputError
        If an argument is malformed, an identifier is not known, or a query is not judged or has no documents of one
        kind, or all are left out for that reason; the message names them.
    """
    table = Qrels.of(qrels)
    check_one_of(unjudged, UNJUDGED, "unjudged")
    check_count(mined, "mined")
    check_flag(skip_incomplete, "skip_incomplete")
    thresholds, n, complement = _thresholds(relevant_from), corpus.shape[0], unjudged == "irrelevant"
    names = identifiers_of(query_ids, queries.shape[0], "query_ids")
    documents = identifiers_of(corpus_ids, n, "corpus_ids")
    lists = _by_query(table, names, documents, query_ids is None, corpus_ids is None)
    if not skip_incomplete:
        _check_judged([name for name, (judged, _) in zip(names, lists, strict=True) if not judged.size])
    itself = _left_out(themselves(corpus, queries, documents, names), lists, thresholds[0])
    if (itself >= 0).any():
        warn_of_themselves([names[q] for q in np.flatnonzero(itself >= 0)])
    unlisted: Iterable[Rows] = repeat(np.empty(0, dtype=np.int64), len(lists))
    if unjudged == "mined":
        known = [np.append(judged, own) for (judged, _), own in zip(lists, itself, strict=True)]
        unlisted = _nearest_unjudged(corpus, queries, known, mined)
    each = zip(lists, itself, unlisted, strict=True)
    kept = [_with_both(*judged, own, others, thresholds, n * complement) for judged, own, others in each]
    _tell_incomplete(names, lists, [len(halves) for halves in kept], thresholds[0], unjudged, skip_incomplete)
    rows = np.repeat(np.arange(len(kept)), [len(halves) for halves in kept])
    relevant, irrelevant = map(list, zip(*(half for halves in kept for half in halves), strict=True))
    relevance = Relevance.from_lists(relevant, None if complement else irrelevant, len(rows), n)
    itself, words = itself[rows], _words(thresholds, unjudged, mined)
    if (itself >= 0).any():
        words += "; queries that are documents are not in their own lists"
        if complement:
            # A relevant row is not in the complement either.
            relevance = replace(relevance, itself=np.where(itself < 0, [some[0] for some in relevant], itself))
    return Judged(relevance, rows, itself, words)


def _with_both(
    judged: Rows, degrees: Rows, own: int, others: Rows, thresholds: list[int], n: int
) -> list[tuple[Rows, Rows]]:
    """Relevant and irrelevant rows of a query, for each degree for which it has both.

    If all unjudged documents are irrelevant, n is their total number and irrelevant are all that are not
    relevant; otherwise n is 0.
    """
    halves = [(judged[degrees >= least], judged[(degrees < least) & (judged != own)]) for least in thresholds]
    return [
        (positives, np.concatenate([negatives, others]))
        for positives, negatives in halves
        if positives.size and (n - positives.size - (own >= 0) if n else negatives.size + others.size)
    ]


def themselves(corpus: Any, queries: Any, documents: Sequence[str], names: Sequence[str]) -> Rows:
    """Find the row of the corpus that is each query itself, -1 for none: queries may be documents, as in ArguAna.

    It is the row of the same identifier. But two unrelated lists may use the same numbers: so most of these queries
    must be no further from that row than from ten others.
    """
    row, n = {identifier: at for at, identifier in enumerate(documents)}, len(documents)
    own = np.array([row.get(name, -1) for name in names], dtype=np.int64)
    shared, cone = np.flatnonzero(own >= 0), NonnegativeDiagonal(corpus.shape[1])

    def distances(step: int) -> Any:
        return cone.quadratic_forms(queries[shared] - corpus[(own[shared] + step) % n], cone.identity())

    near, stride = distances(0), -(-n // (OTHERS + 1))
    nearest = np.full(shared.size, True)
    for step in range(stride, n, stride):
        nearest &= near <= distances(step)
    return own if 2 * nearest.sum() > shared.size else np.full(len(own), -1)


def _left_out(own: Rows, lists: list[tuple[Rows, Rows]], least: int) -> Rows:
    """Set a query's own row to -1 where it is judged relevant."""
    stays = [(degrees[judged == row] >= least).any() for (judged, degrees), row in zip(lists, own, strict=True)]
    return np.where(stays, -1, own)


def warn_of_themselves(names: Sequence[str]) -> None:
    """Warn that queries are left out of their own lists."""
    are = "queries are documents" if len(names) > 1 else "query is a document"
    same = f"{len(names)} {are} (the same identifier in both): {named(names)}"
    warnings.warn(f"{same}; left out of the query's own list, unless judged relevant to it", stacklevel=4)


def _by_query(
    table: Qrels, names: list[str], documents: list[str], by_row: bool, documents_by_row: bool
) -> list[tuple[Rows, Rows]]:
    """Group judgements by query: ascending rows of judged documents, and their degrees."""
    known_queries = "the rows of queries" if by_row else "query_ids"
    known_documents = "the rows of corpus" if documents_by_row else "corpus_ids"
    query = rows_named(table.queries, names, "query", known_queries)[table.query]
    document = rows_named(table.documents, documents, "document", known_documents)[table.document]
    order = np.lexsort((document, query))
    bounds = np.searchsorted(query[order], np.arange(len(names) + 1))
    return [(document[order[a:b]], table.degree[order[a:b]]) for a, b in pairwise(bounds)]


def _check_judged(missing: list[str]) -> None:
    if missing:
        raise InputError(
            f"{counted(missing)} no judgement: {named(missing)}; pass those rows of queries and query_ids that are in "
            "qrels.queries, or skip_incomplete=True"
        )


def _thresholds(relevant_from: int | Iterable[int]) -> list[int]:
    """Check the degrees from which documents are relevant; returns them in ascending order."""
    given = [relevant_from] if isinstance(relevant_from, Integral) else relevant_from
    found = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else []
    if not found or not all(isinstance(least, Integral) and not isinstance(least, bool) for least in found):
        raise InputError(f"relevant_from must be a degree or several, got {relevant_from!r}")
    return sorted({int(least) for least in found})


def _tell_incomplete(
    names: list[str], lists: list[tuple[Rows, Rows]], kept: list[int], least: int, unjudged: str, skip: bool
) -> None:
    """Refuse queries without documents of one kind, naming both kinds, or warn that they are left out."""
    short: dict[str, list[str]] = {}
    for name, (_, degrees), count in zip(names, lists, kept, strict=True):
        if not count:
            short.setdefault("irrelevant" if (degrees >= least).any() else "relevant", []).append(name)
    degree = f" (of degree {least} or more)"
    if skip and not any(kept):
        both = " and an irrelevant" if "irrelevant" in short else ""
        raise InputError(f"no query has a relevant{both} document{degree}; look at qrels and query_ids")
    told = []
    for kind, some in sorted(short.items(), reverse=True):
        of = f" and {'are' if len(some) > 1 else 'is'} left out" if skip else degree if kind == "relevant" else ""
        told.append(f"{counted(some)} no {kind} document{of}: {named(some)}")
    if skip and told:
        warnings.warn("; ".join(told), stacklevel=4)
    elif told:
        takes = "irrelevant" in short and unjudged == "ignore"
        fixes = ["unjudged='irrelevant' or 'mined' takes unjudged ones"] if takes else []
        fixes += ["relevant_from may be lower"] if "relevant" in short else []
        raise InputError("; ".join([*told, ", ".join([*fixes, "skip_incomplete=True leaves such queries out"])]))


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
