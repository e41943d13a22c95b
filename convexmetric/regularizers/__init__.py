"""Regularizers of the metric with their dual bounds, one object a file."""

from convexmetric.regularizers.base import NormWeights, Regularizer
from convexmetric.regularizers.frobenius import Frobenius
from convexmetric.regularizers.quadratic_form import QuadraticForm
from convexmetric.regularizers.squared_distance import SquaredDistance, towards
from convexmetric.regularizers.squared_frobenius import SquaredFrobenius
from convexmetric.regularizers.trace import Trace
from convexmetric.regularizers.user_terms import SubjectTo

__all__ = [
    "Frobenius",
    "NormWeights",
    "QuadraticForm",
    "Regularizer",
    "SquaredDistance",
    "SquaredFrobenius",
    "SubjectTo",
    "Trace",
    "towards",
]
