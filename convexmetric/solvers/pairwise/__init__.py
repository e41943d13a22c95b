"""Newton methods for hinges over positives and negatives whose pairs are never all listed."""

from convexmetric.solvers.pairwise.semismooth_newton import SemismoothNewton
from convexmetric.solvers.pairwise.smoothed_low_rank import SmoothedLowRank
from convexmetric.solvers.pairwise.smoothed_newton import SmoothedNewton

__all__ = ["SemismoothNewton", "SmoothedLowRank", "SmoothedNewton"]
