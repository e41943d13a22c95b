"""Regularizers of the metric with their dual bounds, one kind per file."""

from convexmetric.regularizers.base import NormWeights, Regularizer
from convexmetric.regularizers.budget import Budget
from convexmetric.regularizers.frobenius import Frobenius, SquaredFrobenius
from convexmetric.regularizers.log_det import LogDet
from convexmetric.regularizers.norm_term import Distance, EntrywiseL1, NormTerm, TraceDistance
from convexmetric.regularizers.quadratic_form import QuadraticForm
from convexmetric.regularizers.squared_distance import SquaredDistance, towards
from convexmetric.regularizers.trace import Trace, Zero
from convexmetric.regularizers.user_terms import SubjectTo

__all__ = [
    "Budget",
    "Distance",
    "EntrywiseL1",
    "Frobenius",
    "LogDet",
    "NormTerm",
    "NormWeights",
    "QuadraticForm",
    "Regularizer",
    "SquaredDistance",
    "SquaredFrobenius",
    "SubjectTo",
    "Trace",
    "TraceDistance",
    "Zero",
    "towards",
]
