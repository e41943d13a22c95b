"""Risks with a part for every query of some rankings."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from convexmetric.comparisons import Rankings
from convexmetric.comparisons.rankings import BLOCK_BYTES
from convexmetric.risks.base import Risk


class QueryRisk(Risk):
    """A sum over queries of nonnegative losses of how their items are ranked."""

    rankings: Rankings

    @abstractmethod
    def subset(self, parts: np.ndarray, factor: float = 1.0) -> Self:
        """The sum over some of the queries, times a factor."""

    @property
    def nonnegative(self) -> bool:
        """Always true: the losses are nonnegative."""
        return True

    @property
    def points(self) -> tuple[Any, ...]:
        """Corpus and queries, as point sets."""
        return self.rankings.sets

    @property
    def parts(self) -> int:
        """Number of queries."""
        return len(self.rankings)

    @property
    def part_kind(self) -> str:
        """Name of a part: a query."""
        return "query"

    @property
    def distances(self) -> float:
        """Number of distances from the queries to their items."""
        return float(self.rankings.sizes.sum())

    @property
    def pass_memory(self) -> float:
        """Memory of two blocks of distances, and of two images of the points."""
        rankings = self.rankings
        points = sum(points.shape[0] for points in rankings.sets)
        numbers = float(len(rankings)) * rankings.X.shape[0] if rankings.dense else self.distances
        return 2.0 * min(8.0 * numbers, float(BLOCK_BYTES)) + 2.0 * 8.0 * points * rankings.cone.d
