"""The convex cones a metric lives in: PSD matrices, of one block or of several, and nonnegative diagonals."""

from convexmetric.cones.base import Cone
from convexmetric.cones.block_diagonal import BlockDiagonal, shared_points
from convexmetric.cones.nonnegative_diagonal import NonnegativeDiagonal
from convexmetric.cones.psd import PSDCone

__all__ = ["BlockDiagonal", "Cone", "NonnegativeDiagonal", "PSDCone", "shared_points"]
