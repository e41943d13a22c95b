r"""Several full metrics at once: symmetric positive semidefinite matrices that are block-diagonal.

.. math:: M = \begin{pmatrix} M_1 & & \\ & \ddots & \\ & & M_b \end{pmatrix}, \qquad
   (x - x')^\top M (x - x') = \sum_k (x_k - x'_k)^\top M_k (x_k - x'_k).

Each block is the metric of a *group of features*; or the blocks are metrics of several tasks that share a part: with
``shared_points`` a point of task t has its features twice, in block 0 and in the block of its task, so that distances
in task t are those under :math:`M_0 + M_t` (Parameswaran & Weinberger 2010, *Large Margin Multi-Task Metric Learning*).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import ArrayLike

from convexmetric.arrays import Array
from convexmetric.cones.projection import MatrixProjection
from convexmetric.cones.psd import MatrixCone, PSDCone
from convexmetric.cones.scaling import MatrixScaling, Scaling
from convexmetric.described import Described
from convexmetric.errors import InputError
from convexmetric.programs.lazy import cvxpy as cp

#: Entries outside the blocks up to this fraction of the largest entry count as rounding of a conic solver.
ROUNDING = 1e-6


class BlockDiagonal(MatrixCone):
    """Symmetric ``(d, d)`` matrices of semidefinite blocks on the diagonal, and zeros elsewhere.

    Coordinates are those of the blocks (:class:`PSDCone`), one block after the other.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of features of the blocks, in the order of the features; d is their sum.

    Raises
    ------
    InputError
        If there is no block, or one without features.

    Examples
    --------
    >>> import numpy as np
    >>> from convexmetric.cones import BlockDiagonal
    >>> cone = BlockDiagonal([1, 2])
    >>> cone.project(np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 2.0, 0.0]]))
    array([[0., 0., 0.],
           [0., 1., 1.],
           [0., 1., 1.]])
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(int(size) for size in sizes)
        if not self.sizes or min(self.sizes) < 1:
            raise InputError(f"sizes must be numbers of features, at least one a block, got {list(sizes)}")
        super().__init__(sum(self.sizes))
        ends = np.cumsum(self.sizes).tolist()
        self._parts = [slice(end - size, end) for size, end in zip(self.sizes, ends, strict=True)]
        self._cones = [PSDCone(size) for size in self.sizes]
        counts = np.cumsum([cone.size for cone in self._cones]).tolist()
        self._places = [slice(end - cone.size, end) for cone, end in zip(self._cones, counts, strict=True)]

    def described(self) -> Described:
        """Table of the cone ``"block-diagonal"``, its number of features, and an array of the block of each."""
        blocks = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return Described({"cone": "block-diagonal", "features": self.d}, {"blocks": blocks})

    def blocks(self, M: Array) -> list[Array]:
        """The blocks of a matrix, or of a stack of matrices."""
        return [M[..., part, part] for part in self._parts]

    def joined(self, blocks: Sequence[Array]) -> Array:
        """The matrix, or the stack of matrices, of these blocks."""
        M = np.zeros((*blocks[0].shape[:-2], self.d, self.d))
        for part, block in zip(self._parts, blocks, strict=True):
            M[..., part, part] = block
        return M

    def _each(self, name: str, *elements: Array) -> list[Any]:
        """Call the method ``name`` of every block's cone with that block of each of the elements."""
        blocks = zip(*map(self.blocks, elements), strict=True)
        return [getattr(cone, name)(*own) for cone, own in zip(self._cones, blocks, strict=True)]

    @property
    def size(self) -> int:
        """Sum of ``k (k + 1) / 2`` over blocks of k features."""
        return self._places[-1].stop

    def element(self, M: ArrayLike, name: str = "M") -> Array:
        """``M`` as a symmetric float64 matrix; entries between blocks beyond rounding are an error."""
        matrix = PSDCone(self.d).element(M, name)
        made = self.joined(self.blocks(matrix))
        between = np.abs(matrix - made)
        if between.max() > ROUNDING * np.abs(matrix).max():
            i, j = map(int, np.unravel_index(between.argmax(), self.shape))
            raise InputError(
                f"{name} must be zero between blocks of {list(self.sizes)} features, but entry {i, j} is not"
            )
        return made

    def project(self, S: Array) -> Array:
        """Project every block."""
        return self.joined(self._each("project", S))

    def smallest(self, M: Array) -> float:
        """Smallest eigenvalue of all blocks."""
        return min(self._each("smallest", M))

    def largest(self, S: Array) -> float:
        """Largest eigenvalue of all blocks."""
        return max(self._each("largest", S))

    def bottom(self, S: Array) -> Array:
        """``v v^T`` for a unit eigenvector of the smallest eigenvalue, zero outside one block."""
        blocks = self.blocks(S)
        least = int(np.argmin(self._each("smallest", S)))
        found = [np.zeros_like(block) for block in blocks]
        found[least] = self._cones[least].bottom(blocks[least])
        return self.joined(found)

    def largest_ratio(self, S: Array, H: Array) -> float:
        """Largest generalised eigenvalue of ``(S, H)`` over all blocks; NaN unless H is positive definite."""
        return float(np.max(self._each("largest_ratio", S, H)))

    def relative_norm(self, R: Array, Z: Array) -> float:
        """Largest absolute generalised eigenvalue of ``(R, Z)`` of all blocks; infinite unless Z is definite."""
        return float(np.max(self._each("relative_norm", R, Z)))

    def inverse(self, M: Array) -> Array:
        """Invert every block."""
        return self.joined(self._each("inverse", M))

    def centred_pair(self, S: Array, curvature: Any, mu: float) -> tuple[Array, Array]:
        """Join the centred pairs of all blocks."""
        blocks = zip(self._cones, self.blocks(S), strict=True)
        found = [cone.centred_pair(block, curvature, mu) for cone, block in blocks]
        return self.joined([U for U, _ in found]), self.joined([Z for _, Z in found])

    def scaling(self, U: Array, Z: Array, L: float | Array = 0.0) -> BlockScaling:
        """Nesterov-Todd scaling of every block; a full matrix L raises SolverError."""
        return BlockScaling(self, self._cones, U, Z, L)

    def projection(self, W: Array) -> MatrixProjection:
        """Projection from the eigenvalues and eigenvectors of every block."""
        found = [np.linalg.eigh(block) for block in self.blocks(W)]
        values = np.concatenate([values[::-1] for values, _ in found])
        return MatrixProjection(values, self.joined([vectors[:, ::-1] for _, vectors in found]), self.sizes)

    def spectrum(self, M: Array) -> Array:
        """Eigenvalues of all blocks, largest first."""
        return np.sort(np.concatenate(self._each("spectrum", M)))[::-1]

    def factor(self, M: Array) -> Array:
        """Block-diagonal matrix of the blocks' factors; eigenvalues at rounding level are left out."""
        return np.asarray(la.block_diag(*self._each("factor", M)))

    def coordinates(self, S: Array) -> Array:
        """Svec of the blocks of one matrix or of a stack of matrices; entries outside the blocks are ignored."""
        return np.concatenate(self._each("coordinates", S), axis=-1)

    def from_coordinates(self, v: Array) -> Array:
        """Matrices from the svec of their blocks."""
        parts = zip(self._cones, self._places, strict=True)
        return self.joined([cone.from_coordinates(v[..., place]) for cone, place in parts])

    def outer_sum(self, V: Any, u: Array) -> Array:
        """The blocks of ``V^T diag(u) V``."""
        return self.joined([c.outer_sum(V[:, part], u) for c, part in zip(self._cones, self._parts, strict=True)])

    def outer_rows(self, V: Array) -> Array:
        """Svec of the blocks of ``v v^T`` for every row ``v`` of a dense V."""
        return np.hstack([c.outer_rows(V[:, part]) for c, part in zip(self._cones, self._parts, strict=True)])

    def cross(self, A: Any, T: Array, B: Any) -> Array:
        """The blocks of ``(A^T T B + B^T T^T A) / 2``."""
        parts = zip(self._cones, self._parts, strict=True)
        return self.joined([cone.cross(A[:, part], T, B[:, part]) for cone, part in parts])

    def variable(self, name: str) -> tuple[cp.Variable, list[cp.Constraint]]:
        """A symmetric variable, zero between blocks, with ``>> 0`` for every block."""
        M = cp.Variable(self.shape, symmetric=True, name=name)
        between = np.triu(self.joined([np.ones((size, size)) for size in self.sizes]) == 0.0)
        apart = [M[np.nonzero(between)] == 0.0] if between.any() else []
        return M, [*(M[part, part] >> 0 for part in self._parts), *apart]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.sizes)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockDiagonal) and self.sizes == other.sizes

    def __hash__(self) -> int:
        return hash((type(self), self.sizes))


class BlockScaling(Scaling):
    """Scaling of block-diagonal matrices: a :class:`MatrixScaling` of every block, with concatenated coordinates."""

    def __init__(self, cone: BlockDiagonal, cones: list[PSDCone], U: Array, Z: Array, L: float | Array) -> None:
        self.cone = cone
        pairs = zip(cones, cone.blocks(U), cone.blocks(Z), strict=True)
        self.parts = [MatrixScaling(block, u, z, L) for block, u, z in pairs]
        self.v = np.concatenate([part.v for part in self.parts])
        self.H = np.concatenate([part.H for part in self.parts])

    def _each(self, name: str, *matrices: Any) -> list[Any]:
        """Call the method ``name`` of every block's scaling with that block of each of the matrices."""
        blocks = zip(*[self.cone.blocks(matrix) for matrix in matrices], strict=True)
        return [getattr(part, name)(*own) for part, own in zip(self.parts, blocks, strict=True)]

    def rows(self, elements: Any) -> Array:
        """Coordinates of every element's blocks, side by side."""
        return np.hstack(self._each("rows", elements.reshape(-1, *self.cone.shape)))

    def outer_rows(self, V: Array) -> Array:
        """Coordinates of the blocks of ``v v^T`` for every row ``v``, side by side."""
        ends = np.cumsum(self.cone.sizes)[:-1]
        return np.hstack([p.outer_rows(own) for p, own in zip(self.parts, np.split(V, ends, axis=1), strict=True)])

    def into(self, V: Array) -> Array:
        """Coordinates of all blocks, concatenated."""
        return np.concatenate(self._each("into", V))

    def out(self, x: Array) -> Array:
        """The block-diagonal matrix with these coordinates."""
        ends = np.cumsum([part.H.size for part in self.parts])[:-1]
        return self.cone.joined([part.out(own) for part, own in zip(self.parts, np.split(x, ends), strict=True)])

    def dual(self, S: Array) -> Array:
        """``G^T S G``."""
        return self.cone.joined(self._each("dual", S))

    def primal_step(self, V: Array) -> Array:
        """``G V G^T``."""
        return self.cone.joined(self._each("primal_step", V))

    def dual_step(self, V: Array) -> Array:
        """``G^-T V G^-1``."""
        return self.cone.joined(self._each("dual_step", V))

    def centring(self, target: float, du: Array | None = None, dz: Array | None = None) -> Array:
        """Join the right-hand sides of all blocks."""
        if du is None or dz is None:
            return self.cone.joined([part.centring(target) for part in self.parts])
        pairs = zip(self.parts, self.cone.blocks(du), self.cone.blocks(dz), strict=True)
        return self.cone.joined([part.centring(target, u, z) for part, u, z in pairs])

    def longest(self, V: Array) -> float:
        """Smallest of the blocks' step lengths."""
        return min(self._each("longest", V))

    def along(self, V: Array) -> float:
        """``<diag(v), V>``."""
        return float(sum(self._each("along", V)))


def shared_points(X: Any, task: ArrayLike, of_tasks: int | None = None) -> Any:
    r"""Points of several tasks, for metrics that share a part: distances in task t are those under ``M_0 + M_t``.

    A point of task t has its features in block 0 and in block t + 1 of tasks + 1 blocks, zeros elsewhere; comparisons
    must be between points of the same task. With ``reg`` of a squared norm on all blocks,

    .. math:: \min_{M_0, ..., M_T \succeq 0} \; \sum_t R_t(M_0 + M_t) + \tfrac{\lambda}{2} \sum_{t = 0}^T \|M_t\|_F^2

    and features that are multiplied by ``c`` in block 0 (scale them before) make the common part cheaper.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
    task : (n,) array of int
        Task of every point, from 0.
    of_tasks : int, optional
        Number of tasks; by default one more than the largest.

    Returns
    -------
    (n, (tasks + 1) d) array, or sparse if X is
        For the cone ``BlockDiagonal([d] * (tasks + 1))``.

    Raises
    ------
    InputError
        If there is not one task per point, or one is not a number from 0 to ``of_tasks - 1``.

    Examples
    --------
    >>> from convexmetric.cones import shared_points
    >>> shared_points([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    array([[1., 2., 1., 2., 0., 0.],
           [3., 4., 0., 0., 3., 4.]])
    """
    points = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    tasks = np.asarray(task)
    if points.ndim != 2 or tasks.shape != points.shape[:1] or tasks.dtype.kind not in "iu" or not tasks.size:
        raise InputError(f"task must have one integer for each of the points, got {tasks.dtype} of shape {tasks.shape}")
    count = int(tasks.max()) + 1 if of_tasks is None else int(of_tasks)
    if tasks.min() < 0 or tasks.max() >= count:
        raise InputError(f"task must be from 0 to {count - 1}, got {int(tasks.min())} to {int(tasks.max())}")
    own = sp.csr_array((np.ones(len(tasks)), (np.arange(len(tasks)), tasks)), shape=(len(tasks), count))
    if sp.issparse(points):
        parts = [points, *(own[:, [t]].multiply(points) for t in range(count))]
        return sp.csr_array(sp.hstack(parts))
    return np.hstack([points, *(own[:, [t]].toarray() * points for t in range(count))])
