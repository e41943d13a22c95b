"""Sizes of arrays from which solvers estimate what memory they need: bytes, to about a factor of two."""

from __future__ import annotations

import scipy.sparse as sp

from convexmetric.comparisons import Comparisons, Rankings
from convexmetric.comparisons.rankings import BLOCK_BYTES
from convexmetric.problem import MetricProblem
from convexmetric.risks import LabelledPairRisk, PairwiseRisk, Reason, Risk, SeparableRisk
from convexmetric.risks.query import QueryRisk
from convexmetric.risks.rounding import BoundingBox

__all__ = ["FLOAT", "metric_memory", "pass_memory", "row_width", "stated_entries"]

#: Bytes of a number.
FLOAT = 8.0
#: Rows of all pairs that are held at a time.
ROWS_BLOCK = 256
#: Pairs whose differences are held at a time.
PAIRS_BLOCK = 4_096


def row_width(data: Comparisons | Risk) -> float:
    """Numbers that a comparison takes in coordinates; an entry of a sparse row counts as one and a half.

    A triplet's row has the entries of three points.
    """
    coordinates = float(data.cone.size)
    sparse = [points for points in data.points if sp.issparse(points)]
    if not sparse or not data.cone.diagonal:
        return coordinates
    return 1.5 * min(coordinates, 3.0 * max(points.nnz / points.shape[0] for points in sparse))


def pass_memory(problem: MetricProblem) -> float:
    """Bytes of one evaluation of the risk with a subgradient.

    Lists of queries: two blocks of distances, and two images of the points. Listed comparisons of diagonal metrics:
    their rows, three times while they are made; of full metrics: differences of their points. All pairs of labelled
    points: six blocks of rows, and the degrees of 32 groups of them. Any other risk: four matrices with a row and a
    column for each point.
    """
    risk, cone = problem.risk, problem.cone
    if any(isinstance(points, BoundingBox) for points in risk.points):
        # They are elsewhere, and so are passes over them.
        return 0.0
    queries, listed, labelled = risk.form(QueryRisk), risk.form(SeparableRisk), risk.form(LabelledPairRisk)
    if not isinstance(labelled, Reason):
        return FLOAT * labelled.parts * (6.0 * ROWS_BLOCK + 32.0 + 2.0 * cone.d)
    if not isinstance(queries, Reason):
        return _rankings_memory(queries.rankings)
    if isinstance(listed, Reason):
        points = sum(points.shape[0] for points in risk.points) or risk.parts
        return FLOAT * 4.0 * points * points
    count = float(len(listed.comparisons))
    if cone.diagonal:
        return FLOAT * count * (3.0 * row_width(listed.comparisons) + 10.0)
    return FLOAT * cone.d * (3.0 * min(count, PAIRS_BLOCK) + 2.0 * count)


def _rankings_memory(rankings: Rankings) -> float:
    """Bytes of a pass over lists of queries."""
    points = sum(points.shape[0] for points in rankings.sets)
    numbers = float(len(rankings)) * rankings.X.shape[0] if rankings.dense else float(rankings.sizes.sum())
    return 2.0 * min(FLOAT * numbers, float(BLOCK_BYTES)) + 2.0 * FLOAT * points * rankings.cone.d


def metric_memory(problem: MetricProblem) -> float:
    """Bytes of one metric."""
    return FLOAT * float(problem.cone.size if problem.cone.diagonal else problem.cone.d**2)


def stated_entries(problem: MetricProblem) -> float | None:
    """Entries of a statement's rows, one for every comparison, with six for slacks and the like.

    None where its constraints are not comparisons: rankings, or a risk of one's own.
    """
    risk, cone = problem.risk, problem.cone
    width = float(cone.size if cone.diagonal else cone.d**2) + 6.0
    listed, labelled, pairwise = risk.form(SeparableRisk), risk.form(LabelledPairRisk), risk.form(PairwiseRisk)
    if not isinstance(listed, Reason):
        return len(listed.comparisons) * (row_width(listed.comparisons) + 6.0 if cone.diagonal else width)
    if not isinstance(labelled, Reason):
        return labelled.count * width
    return None if isinstance(pairwise, Reason) else float(pairwise.pairs.sum()) * width
