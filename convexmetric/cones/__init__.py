"""The two convex cones a metric lives in: PSD matrices and nonnegative diagonals."""

from convexmetric.cones.base import Cone
from convexmetric.cones.nonnegative_diagonal import NonnegativeDiagonal
from convexmetric.cones.psd import PSDCone

__all__ = ["Cone", "NonnegativeDiagonal", "PSDCone"]
