r"""Scores of rankings by given distances: mean average precision, and precision at levels of recall.

For a query with p relevant items, at ranks :math:`r_1 < \dots < r_p`,

.. math:: \mathrm{AP} = \frac1p \sum_{i=1}^p \frac{i}{r_i}, \qquad
   P(\rho) = \max_{i \ge \rho p} \frac{i}{r_i}

(precision where recall changes, and interpolated precision at recall :math:`\rho`). Scores are means over the queries
that have a relevant item. Of items at the same distance the one of the smaller column is nearer, relevant or not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from convexmetric.arrays import Array, real_array
from convexmetric.errors import InputError
from convexmetric.measures import measure_named

#: Levels of recall.
LEVELS = np.linspace(0.0, 1.0, 11)


@dataclass(frozen=True)
class RetrievalCurve:
    """Mean scores over queries.

    Attributes
    ----------
    mean_average_precision : float
    recall : (L,) array
        Levels.
    precision : (L,) array
        Interpolated precision at these, mean over queries.
    queries : int
        Number of queries with a relevant item.
    standard_error : float
        Standard error of the mean average precision, over queries; NaN for one query.
    """

    mean_average_precision: float
    recall: Array = field(repr=False)
    precision: Array = field(repr=False)
    queries: int
    standard_error: float = float("nan")

    def __str__(self) -> str:
        return f"MAP {self.mean_average_precision:.4f}   ({self.queries} queries)"


def retrieval_curve(distances: ArrayLike, relevant: Any) -> RetrievalCurve:
    """Mean average precision and the precision-recall curve of rankings by distance.

    Parameters
    ----------
    distances : (q, n) array
        Distances from every query to every item, such as those of a cross-modal problem, or numbers that grow so.
    relevant : (q, n) 0/1 array or sparse matrix
        Which items are relevant to which query.

    Returns
    -------
    RetrievalCurve

    Raises
    ------
    InputError
        If an argument is malformed, or no query has a relevant item.
    """
    D = real_array(distances, "distances")
    if D.ndim != 2 or not np.isfinite(D).all():
        raise InputError("distances must be a finite (queries, items) array")
    wanted = np.asarray(relevant.toarray() if sp.issparse(relevant) else relevant)
    if wanted.shape != D.shape:
        raise InputError(f"relevant must have the shape of distances, {D.shape}, got {wanted.shape}")
    if not np.isin(wanted, (0, 1)).all():
        raise InputError("relevant must hold only 0 and 1")
    average_precision = measure_named("map")
    scores: list[float] = []
    precision = np.zeros(LEVELS.size)
    for d, hits in zip(D, wanted.astype(bool), strict=True):
        p = int(hits.sum())
        if not p:
            continue
        ranks = np.flatnonzero(hits[np.argsort(d, kind="stable")]) + 1
        i, count = np.arange(1, p + 1), np.full(p, p)
        # Gains of average precision are the precisions at relevant items over p.
        gains = average_precision.gains(i, ranks - i, count, d.size - count)
        scores.append(float(gains.sum()))
        best_from = np.maximum.accumulate(p * gains[::-1])[::-1]
        # The first hit whose recall reaches the level; the slack is for levels such as 0.1 * 30.
        first = np.maximum(np.ceil(LEVELS * p - 1e-9).astype(np.int64), 1)
        precision += best_from[first - 1]
    queries = len(scores)
    if not queries:
        raise InputError("relevant: no query has a relevant item")
    error = float(np.std(scores, ddof=1)) / sqrt(queries) if queries > 1 else float("nan")
    return RetrievalCurve(float(np.mean(scores)), LEVELS.copy(), precision / queries, queries, error)
