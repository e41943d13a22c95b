"""Lists of the relevant and the irrelevant corpus points of each query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from convexmetric.comparisons.points import rows_of, zero_one
from convexmetric.described import Described
from convexmetric.errors import InputError
from convexmetric.numerics.compiling import compiled

Lists = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Storage, start and stop of relevant points, and the same of irrelevant ones."""


@dataclass(frozen=True)
class Relevance:
    """Lists of relevant and of irrelevant corpus rows per query; queries may share storage.

    The relevant rows of query ``q`` are ``relevant[relevant_start[q]:relevant_stop[q]]``; likewise the irrelevant
    ones. Slices may overlap, so that relevance by labels takes memory for the corpus and not for every query. Points in
    neither list take no part in the query's ranking.

    With ``complement``, the irrelevant points are all the others of a corpus of ``n_corpus``, except the query's own
    row ``itself[q]`` if the queries are rows of the corpus; the irrelevant lists are then empty, and made for a few
    queries at a time.
    """

    relevant: np.ndarray
    relevant_start: np.ndarray
    relevant_stop: np.ndarray
    irrelevant: np.ndarray
    irrelevant_start: np.ndarray
    irrelevant_stop: np.ndarray
    complement: bool = False
    itself: np.ndarray | None = None
    n_corpus: int = 0

    def __len__(self) -> int:
        return self.relevant_start.size

    def described(self) -> Described:
        """Lists of positives and negatives; for a complement the row that each query leaves out, n if none."""
        positives = {"near": self.relevant, "near_start": self.relevant_start, "near_stop": self.relevant_stop}
        if self.complement:
            itself = np.full(len(self), self.n_corpus) if self.itself is None else self.itself
            return Described(arrays={**positives, "itself": itself})
        negatives = {"far": self.irrelevant, "far_start": self.irrelevant_start, "far_stop": self.irrelevant_stop}
        return Described(arrays=positives | negatives)

    @property
    def n_relevant(self) -> np.ndarray:
        """Number of relevant points of each query."""
        return self.relevant_stop - self.relevant_start

    @property
    def n_irrelevant(self) -> np.ndarray:
        """Number of irrelevant points of each query."""
        if not self.complement:
            return self.irrelevant_stop - self.irrelevant_start
        return self.n_corpus - self.n_relevant - self._left_out

    @cached_property
    def _left_out(self) -> np.ndarray:
        """Number of corpus points in neither list, 0 or 1, for each query of a complement."""
        if self.itself is None:
            return np.zeros(len(self), dtype=np.int64)
        lists = (self.relevant[a:b] for a, b in zip(self.relevant_start, self.relevant_stop, strict=True))
        return np.array([q not in rows for q, rows in zip(self.itself, lists, strict=True)], dtype=np.int64)

    def of(self, query: int) -> tuple[np.ndarray, np.ndarray]:
        """Relevant and irrelevant rows of one query, in ascending order."""
        relevant, first, last, irrelevant, start, stop = self.lists(np.array([query]))
        return np.sort(relevant[first[0] : last[0]]), np.sort(irrelevant[start[0] : stop[0]])

    def lists(self, queries: np.ndarray) -> Lists:
        """Storage, start and stop of the relevant and of the irrelevant points of some queries."""
        relevant = self.relevant, self.relevant_start[queries], self.relevant_stop[queries]
        if not self.complement:
            return *relevant, self.irrelevant, self.irrelevant_start[queries], self.irrelevant_stop[queries]
        stop = np.cumsum(self.n_irrelevant[queries])
        start = stop - self.n_irrelevant[queries]
        irrelevant = np.empty(stop[-1], dtype=np.int32)
        mask = np.ones(self.n_corpus, dtype=bool)
        for q, first, last in zip(queries, start, stop, strict=True):
            out = self.relevant[self.relevant_start[q] : self.relevant_stop[q]]
            if self.itself is not None:
                out = np.append(out, self.itself[q])
            mask[out] = False
            irrelevant[first:last] = np.flatnonzero(mask)
            mask[out] = True
        return *relevant, irrelevant, start, stop

    def subset(self, queries: np.ndarray) -> Relevance:
        """Relevance of some of the queries, sharing storage."""
        names = "relevant_start", "relevant_stop", "irrelevant_start", "irrelevant_stop", "itself"
        numbers = {name: getattr(self, name) for name in names}
        return replace(self, **{name: each[queries] for name, each in numbers.items() if each is not None})

    def check(self, n: int) -> None:
        """Raise an :class:`~convexmetric.errors.InputError` unless every query has points of both kinds among ``n``.

        Compiled code reads the lists without bounds checks.
        """
        for rows, start, stop, sizes, kind in (
            (self.relevant, self.relevant_start, self.relevant_stop, self.n_relevant, "relevant"),
            (self.irrelevant, self.irrelevant_start, self.irrelevant_stop, self.n_irrelevant, "irrelevant"),
        ):
            if start.min(initial=0) < 0 or stop.max(initial=0) > len(rows):
                raise InputError(f"relevance lists {kind} points outside of its storage of {len(rows)} rows")
            if sizes.min(initial=1) < 1:
                raise InputError(f"query {int(np.argmin(sizes))} has no {kind} point; give it one")
            if rows.size:
                rows_of(rows, n, kind)
        if self.complement and self.n_corpus != n:
            raise InputError(f"relevance is for a corpus of {self.n_corpus} points, but X has {n}")
        if self.itself is not None and rows_of(self.itself, n, "itself").shape != (len(self),):
            raise InputError(f"itself must hold one row a query, got shape {self.itself.shape}")

    @classmethod
    def from_labels(cls, y: ArrayLike) -> Relevance:
        """Every point is a query; relevant = same label, the query itself excluded.

        Raises
        ------
        InputError
            If ``y`` is not one-dimensional, has missing entries, has one class only, or has a class with
            a single member (its query would have no relevant point).
        """
        labels = as_labels(y)
        classes, code = np.unique(labels, return_inverse=True)
        counts = np.bincount(code)
        if classes.size < 2:
            raise InputError(f"y has one class only ({classes.tolist()[0]!r}), so no point is irrelevant to any query")
        if counts.min() < 2:
            lonely = classes[counts < 2]
            raise InputError(
                f"y has classes with a single member ({', '.join(map(repr, lonely[:5].tolist()))}): such a query "
                "has no relevant point; drop these points or merge the classes"
            )
        # Every class twice in a row, so that all of it except one member is a slice; and all classes twice, so that
        # everything except one class is a slice.
        n = labels.size
        by_class = np.argsort(code, kind="stable").astype(np.int32)
        first = np.cumsum(counts) - counts
        own = first[code]
        start = own + np.argsort(by_class) + 1
        each_twice = [np.tile(by_class[f : f + size], 2) for f, size in zip(first, counts, strict=True)]
        relevant = np.concatenate(each_twice), start, start + counts[code] - 1
        return cls(*relevant, np.tile(by_class, 2), own + counts[code], own + n)

    @classmethod
    def between(cls, labels: ArrayLike, y: ArrayLike) -> Relevance:
        """Rank a corpus for separate queries: relevant are the corpus points with the query's label in ``y``.

        Raises
        ------
        InputError
            If labels are malformed, or no corpus point or all of them have a query's label.
        """
        asked, known = as_labels(labels), as_labels(y)
        classes, code, counts = np.unique(known, return_inverse=True, return_counts=True)
        strangers = np.flatnonzero(~np.isin(asked, classes))
        if strangers.size:
            raise InputError(
                f"query {strangers[0]} has the label {asked.tolist()[strangers[0]]!r}, which no corpus point has"
            )
        if classes.size < 2:
            raise InputError(f"y has one class only ({classes.tolist()[0]!r}), so no point is irrelevant to any query")
        by_class = np.tile(np.argsort(code, kind="stable").astype(np.int32), 2)
        of = np.searchsorted(classes, asked)
        start = (np.cumsum(counts) - counts)[of]
        stop = start + counts[of]
        return cls(by_class, start, stop, by_class, stop, start + len(known))

    @classmethod
    def from_lists(
        cls, relevant: Any, irrelevant: Any, n_queries: int, n_corpus: int, *, exclude_self: bool = False
    ) -> Relevance:
        """Build from one list of corpus rows per query, or from 0/1 matrices (queries x corpus, dense or sparse).

        ``irrelevant=None`` means every corpus point that is not relevant; with ``exclude_self`` (the queries are the
        corpus) query q's own row is left out too. A point may not be both. A ``Relevance`` is returned as it is.

        Raises
        ------
        InputError
            If a query has no relevant or no irrelevant point, a row number is out of range or repeated,
            or a point is both relevant and irrelevant to the same query, or ``irrelevant`` comes with a ``Relevance``.
        """
        if isinstance(relevant, Relevance):
            if irrelevant is not None:
                raise InputError("irrelevant is already part of a Relevance; pass one or the other")
            return relevant
        positive = _as_lists(relevant, n_queries, n_corpus, "relevant")
        if irrelevant is None:
            relevance = against_all_others(positive, np.arange(n_queries) if exclude_self else None, n_corpus)
        else:
            relevance = cls(*positive, *_as_lists(irrelevant, n_queries, n_corpus, "irrelevant"))
        for sizes, kind in ((relevance.n_relevant, "relevant"), (relevance.n_irrelevant, "irrelevant")):
            if sizes.min(initial=1) < 1:
                raise InputError(
                    f"query {int(np.argmin(sizes))} has no {kind} point; drop it from queries, or give it one"
                )
        if irrelevant is not None:
            # A pair (query, point) is encoded as one number.
            wanted, unwanted = (
                np.repeat(np.arange(n_queries), sizes.astype(np.intp)) * n_corpus + rows
                for rows, sizes in (
                    (relevance.relevant, relevance.n_relevant),
                    (relevance.irrelevant, relevance.n_irrelevant),
                )
            )
            both = np.intersect1d(wanted, unwanted, assume_unique=True)
            if both.size:
                query, point = divmod(int(both[0]), n_corpus)
                raise InputError(f"query {query} has point {point} as both relevant and irrelevant")
        return relevance


def against_all_others(
    relevant: tuple[np.ndarray, np.ndarray, np.ndarray], itself: np.ndarray | None, n_corpus: int
) -> Relevance:
    """Relevance by lists of relevant rows alone: all others of the corpus except ``itself`` are irrelevant."""
    none = np.zeros(len(relevant[1]), dtype=np.int64)
    return Relevance(*relevant, np.empty(0, dtype=np.int32), none, none, True, itself, n_corpus)


def as_labels(y: ArrayLike, count: int | None = None) -> np.ndarray:
    """Check ``y`` and return it as a one-dimensional array of labels without missing values, of ``count`` if given."""
    try:
        labels = np.asarray(y)
    except ValueError as error:
        raise InputError("y must be one-dimensional (one label a point), got rows of different lengths") from error
    if labels.ndim != 1:
        raise InputError(f"y must be one-dimensional (one label a point), got shape {labels.shape}")
    if labels.size == 0:
        raise InputError("y is empty")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError("y contains NaN or infinite labels; drop these points first")
    if labels.dtype.kind == "O":
        if any(label is None or label != label for label in labels):
            raise InputError("y contains missing labels; drop these points first")
        try:
            labels.argsort()
        except TypeError as error:
            raise InputError("y mixes labels of types that cannot be compared; use one type") from error
    if count is not None and labels.size != count:
        raise InputError(f"y must have one label a point: X has {count} rows, y has {labels.size}")
    return labels


def compressed(rows: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lists of the given sizes, one after the other, with where each of them starts and stops."""
    stop = np.cumsum(sizes)
    return rows.astype(np.int32), stop - sizes, stop


def _as_lists(lists: Any, n_queries: int, n_corpus: int, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if sp.issparse(lists) or (isinstance(lists, np.ndarray) and lists.ndim == 2):
        if lists.shape != (n_queries, n_corpus):
            raise InputError(
                f"{name} as a matrix must have shape (queries, corpus) = ({n_queries}, {n_corpus}), got {lists.shape}"
            )
        matrix = zero_one(lists, name)
        matrix.sort_indices()
        return compressed(matrix.indices, np.diff(matrix.indptr).astype(np.int64))
    try:
        lists = [np.asarray(rows) for rows in lists]
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold one list of corpus rows per query") from error
    if len(lists) != n_queries:
        raise InputError(f"{name} must hold one list per query: {n_queries} queries, {len(lists)} lists")
    for q, rows in enumerate(lists):
        if rows.ndim != 1:
            raise InputError(f"{name}[{q}] must be a list of corpus rows, got shape {rows.shape}")
    sizes = np.array([rows.size for rows in lists], dtype=np.intp)
    filled = [rows for rows in lists if rows.size]
    flat = np.concatenate(filled) if filled else np.empty(0, dtype=np.int64)
    query = np.repeat(np.arange(n_queries), sizes)
    whole = all(np.issubdtype(rows.dtype, np.integer) for rows in filled)
    if not (whole and ((flat >= 0) & (flat < n_corpus)).all()):
        for q, rows in enumerate(lists):
            rows_of(rows, n_corpus, f"{name}[{q}]")
    order = np.lexsort((flat, query))
    flat = flat[order]
    repeated = np.flatnonzero((flat[1:] == flat[:-1]) & (query[1:] == query[:-1]))
    if repeated.size:
        at = repeated[0]
        raise InputError(f"{name}[{query[at]}] lists row {int(flat[at])} twice; remove the duplicate")
    return compressed(flat, sizes)


@compiled
def lists_of(lists, row):
    """Positives and negatives of a query of a block."""
    relevant, relevant_start, relevant_stop, irrelevant, irrelevant_start, irrelevant_stop = lists
    positives = relevant[relevant_start[row] : relevant_stop[row]]
    return positives, irrelevant[irrelevant_start[row] : irrelevant_stop[row]]


@compiled
def places_of(dense, first, lists, row):
    """Positions of the values of the positives and of the negatives of a query of a block.

    In a whole row of the corpus, which is dense, they are the items' columns; else positives come first, as listed.
    """
    positives, negatives = lists_of(lists, row)
    near, far = np.empty(positives.size, dtype=np.int32), np.empty(negatives.size, dtype=np.int32)
    for i in range(near.size):
        near[i] = first[row] + (positives[i] if dense else i)
    for j in range(far.size):
        far[j] = first[row] + (negatives[j] if dense else near.size + j)
    return near, far
