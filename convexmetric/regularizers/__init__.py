"""Regularizers of the metric with their dual bounds, one object a file."""

from convexmetric.regularizers.base import NormWeights, Regularizer
from convexmetric.regularizers.budget import Budget
from convexmetric.regularizers.entrywise import EntrywiseL1
from convexmetric.regularizers.frobenius import Frobenius
from convexmetric.regularizers.log_det import LogDet
from convexmetric.regularizers.norm_term import Distance, TraceDistance
from convexmetric.regularizers.quadratic_form import QuadraticForm
from convexmetric.regularizers.squared_distance import SquaredDistance, towards
from convexmetric.regularizers.squared_frobenius import SquaredFrobenius
from convexmetric.regularizers.trace import Trace
from convexmetric.regularizers.user_terms import SubjectTo
from convexmetric.regularizers.zero import Zero

__all__ = [
    "Budget",
    "Distance",
    "EntrywiseL1",
    "Frobenius",
    "LogDet",
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
