"""Baseline metrics without learning, zero and multiples of the Euclidean one, compared on a sample of the parts."""

from __future__ import annotations

import numpy as np

from convexmetric.arrays import Array
from convexmetric.problem import MetricProblem

#: Parts on which simple metrics are compared.
SIMPLE_PARTS = 32
#: Multiples of these metrics that are tried, and the largest that is tried while the objective still falls.
SIMPLE_GRID, LARGEST_MULTIPLE = tuple(10.0 ** np.arange(-4.0, 1.1, 0.5)), 1e9


def some_parts(problem: MetricProblem, count: int) -> MetricProblem | None:
    """Return the problem on ``count`` random parts, reweighted to stand for all; None if the risk has no subsets.

    Every call draws the same parts.
    """
    parts = problem.risk.parts
    drawn = np.random.default_rng(0).permutation(parts)[:count]
    risk = problem.risk.subset(np.sort(drawn), parts / len(drawn))
    return None if risk is None else MetricProblem(risk, problem.regularizer, G=problem.G)


def best_simple(problem: MetricProblem, plain: list[Array]) -> tuple[float, Array]:
    """Find the best of zero and multiples of plain metrics, with its objective."""
    found = [_best_multiple(problem, M) for M in plain]
    return min(found, key=lambda pair: pair[0])


def _best_multiple(problem: MetricProblem, M: Array) -> tuple[float, Array]:
    """Find the best of zero and a grid of multiples of a metric, with its objective."""
    values = {t: problem.value(t * M) for t in (0.0, *SIMPLE_GRID)}
    t = SIMPLE_GRID[-1]
    while values[t] == min(values.values()) and t < LARGEST_MULTIPLE:
        # The unit of the problem's coordinates may be far from that of its points.
        t *= SIMPLE_GRID[-1] / SIMPLE_GRID[-2]
        values[t] = problem.value(t * M)
    t = min(values, key=values.__getitem__)
    return values[t], t * M
