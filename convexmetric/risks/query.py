"""Risks with a part for every query of some rankings."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from convexmetric.comparisons import Rankings
from convexmetric.risks.base import Risk

__all__ = ["QueryRisk"]


class QueryRisk(Risk):
    """A sum over queries of nonnegative losses of how their items are ranked."""

    form_words: ClassVar[str] = "a sum over the queries of rankings"

    rankings: Rankings

    @abstractmethod
    def subset(self, parts: np.ndarray, factor: float = 1.0) -> Self:
        """The sum over some of the queries, times a factor."""

    @property
    def nonnegative(self) -> bool:
        """Always: the losses are."""
        return True

    @property
    def points(self) -> tuple[Any, ...]:
        """Corpus and queries."""
        return self.rankings.sets

    @property
    def parts(self) -> int:
        """Number of queries."""
        return len(self.rankings)

    @property
    def part_kind(self) -> str:
        """A query."""
        return "query"
