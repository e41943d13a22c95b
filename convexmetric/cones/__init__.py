"""The convex cones of metrics: PSD matrices, of one block or several, nonnegative diagonals, all matrices."""

from convexmetric.cones.base import Cone
from convexmetric.cones.block_diagonal import BlockDiagonal, shared_points
from convexmetric.cones.matrices import AllMatrices, Symmetric
from convexmetric.cones.nonnegative_diagonal import NonnegativeDiagonal
from convexmetric.cones.psd import PSDCone

__all__ = ["AllMatrices", "BlockDiagonal", "Cone", "NonnegativeDiagonal", "PSDCone", "Symmetric", "shared_points"]
