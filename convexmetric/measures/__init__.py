"""Ranking measures: the score of a ranking and the most violated ranking, one measure a file."""

from convexmetric.measures.auc import AUC
from convexmetric.measures.base import Measure, rankings_of

__all__ = ["AUC", "MEASURES", "Measure", "rankings_of"]

#: Measures by the name a user types.
MEASURES: dict[str, type[Measure]] = {"auc": AUC}
