"""Choose weights and evaluate metrics on held-out data.

- :func:`~convexmetric.solve_path` solves one problem for many weights.
- :func:`~convexmetric.cross_validate` scores such paths on folds of points with labels.
  :class:`~convexmetric.WeightSearch` does so for an estimator, which it then fits.
- :func:`~convexmetric.held_out` compares any transformer with Euclidean distance, on rows that it was not fitted to.

Choices are returned as a :class:`Validation`, comparisons as a :class:`HeldOut`; both are printed as tables.
"""

from convexmetric.selection.cross_validation import cross_validate
from convexmetric.selection.path import solve_path
from convexmetric.selection.records import HeldOut, HeldOutQueries, PairedScores, Validation
from convexmetric.selection.rows import held_out

__all__ = [
    "HeldOut",
    "HeldOutQueries",
    "PairedScores",
    "Validation",
    "cross_validate",
    "held_out",
    "solve_path",
]
