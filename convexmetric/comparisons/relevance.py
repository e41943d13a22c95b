"""Which corpus points are relevant, and which irrelevant, to each query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from convexmetric.comparisons.points import rows_of
from convexmetric.errors import InputError

__all__ = ["Relevance"]


@dataclass(frozen=True)
class Relevance:
    """Lists of relevant and of irrelevant corpus rows per query; queries may share storage.

    The relevant rows of query ``q`` are ``relevant[relevant_start[q]:relevant_stop[q]]``; likewise the irrelevant
    ones. Slices may overlap, so that relevance by labels takes memory for the corpus and not for every query. Points in
    neither list take no part in the query's ranking.
    """

    relevant: np.ndarray
    relevant_start: np.ndarray
    relevant_stop: np.ndarray
    irrelevant: np.ndarray
    irrelevant_start: np.ndarray
    irrelevant_stop: np.ndarray

    def __len__(self) -> int:
        return self.relevant_start.size

    @property
    def n_relevant(self) -> np.ndarray:
        """Number of relevant points of each query."""
        return self.relevant_stop - self.relevant_start

    @property
    def n_irrelevant(self) -> np.ndarray:
        """Number of irrelevant points of each query."""
        return self.irrelevant_stop - self.irrelevant_start

    def of(self, query: int) -> tuple[np.ndarray, np.ndarray]:
        """Relevant and irrelevant rows of one query, in ascending order."""
        return (
            np.sort(self.relevant[self.relevant_start[query] : self.relevant_stop[query]]),
            np.sort(self.irrelevant[self.irrelevant_start[query] : self.irrelevant_stop[query]]),
        )

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
        try:
            classes, code = np.unique(labels, return_inverse=True)
        except TypeError as error:
            raise InputError("y mixes labels of types that cannot be compared; use one type") from error
        counts = np.bincount(code)
        if classes.size < 2:
            raise InputError(f"y has one class only ({classes.tolist()[0]!r}), so no point is irrelevant to any query")
        if counts.min() < 2:
            lonely = classes[counts < 2]
            raise InputError(
                f"y has classes with a single member ({', '.join(map(repr, lonely[:5].tolist()))}): such a query "
                "has no relevant point; drop these points or merge the classes"
            )
        # Every class twice over, so that all of it but one member is a slice; and all classes twice over, so that
        # everything but one class is a slice.
        n = labels.size
        by_class = np.argsort(code, kind="stable").astype(np.int32)
        first = np.cumsum(counts) - counts
        own = first[code]
        place = np.empty(n, dtype=np.int64)
        place[by_class] = np.arange(n)
        start = own + place + 1
        return cls(
            np.concatenate([np.tile(by_class[f : f + size], 2) for f, size in zip(first, counts, strict=True)]),
            start,
            start + counts[code] - 1,
            np.tile(by_class, 2),
            own + counts[code],
            own + n,
        )

    @classmethod
    def from_lists(
        cls, relevant: Any, irrelevant: Any, n_queries: int, n_corpus: int, *, exclude_self: bool = False
    ) -> Relevance:
        """From one list of corpus rows per query, or from 0/1 matrices (queries x corpus, dense or sparse).

        ``irrelevant=None`` means every corpus point that is not relevant; with ``exclude_self`` (the queries are the
        corpus) query q's own row is left out too. A point may not be both.

        Raises
        ------
        InputError
            If a query has no relevant or no irrelevant point, a row number is out of range or repeated,
            or a point is both relevant and irrelevant to the same query.
        """
        positive = _as_lists(relevant, n_queries, n_corpus, "relevant")
        if irrelevant is None:
            everything = np.arange(n_corpus)
            negative = [
                np.setdiff1d(everything, np.append(rows, q) if exclude_self else rows)
                for q, rows in enumerate(positive)
            ]
        else:
            negative = _as_lists(irrelevant, n_queries, n_corpus, "irrelevant")
        for q, (wanted, unwanted) in enumerate(zip(positive, negative, strict=True)):
            if wanted.size == 0 or unwanted.size == 0:
                kind = "relevant" if wanted.size == 0 else "irrelevant"
                raise InputError(f"query {q} has no {kind} point; drop it from queries, or give it one")
            both = np.intersect1d(wanted, unwanted, assume_unique=True)
            if both.size:
                raise InputError(f"query {q} has point {int(both[0])} as both relevant and irrelevant")
        return cls(*_compress(positive), *_compress(negative))


def as_labels(y: ArrayLike) -> np.ndarray:
    """``y`` as a one-dimensional array of labels without missing values."""
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
    if labels.dtype.kind == "O" and any(label is None or label != label for label in labels):
        raise InputError("y contains missing labels; drop these points first")
    return labels


def _compress(lists: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    stop = np.cumsum([rows.size for rows in lists])
    return np.concatenate(lists).astype(np.int32), stop - [rows.size for rows in lists], stop


def _as_lists(lists: Any, n_queries: int, n_corpus: int, name: str) -> list[np.ndarray]:
    if sp.issparse(lists) or (isinstance(lists, np.ndarray) and lists.ndim == 2):
        try:
            matrix = sp.csr_array(lists, copy=True)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} as a matrix must hold only 0 and 1") from error
        if matrix.shape != (n_queries, n_corpus):
            raise InputError(
                f"{name} as a matrix must have shape (queries, corpus) = ({n_queries}, {n_corpus}), got {matrix.shape}"
            )
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if not np.isin(matrix.data, (0, 1)).all():
            raise InputError(f"{name} as a matrix must hold only 0 and 1")
        return [np.sort(rows).astype(np.int64) for rows in np.split(matrix.indices, matrix.indptr[1:-1])]
    try:
        lists = [np.asarray(rows) for rows in lists]
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold one list of corpus rows per query") from error
    if len(lists) != n_queries:
        raise InputError(f"{name} must hold one list per query: {n_queries} queries, {len(lists)} lists")
    checked = []
    for q, rows in enumerate(lists):
        if rows.ndim != 1:
            raise InputError(f"{name}[{q}] must be a list of corpus rows, got shape {rows.shape}")
        rows = np.sort(rows_of(rows, n_corpus, f"{name}[{q}]"))
        repeated = rows[1:][rows[1:] == rows[:-1]]
        if repeated.size:
            raise InputError(f"{name}[{q}] lists row {int(repeated[0])} twice; remove the duplicate")
        checked.append(rows)
    return checked
