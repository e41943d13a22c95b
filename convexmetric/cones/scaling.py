r"""Nesterov-Todd scaling of a pair (U, Z) of interior points, for interior-point methods.

There is one linear map G with :math:`G^{-1} U G^{-\top} = G^\top Z G = V`, and with a quadratic part L of the objective
the Newton system of a step has :math:`I + G^\top L \, G` in place of the cone. Directions are elements in the frame of
G. The Newton system is written in coordinates of a rotated frame, in which it is diagonal if L is a multiple of the
identity.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from convexmetric.arrays import Array, congruent
from convexmetric.cones.base import Cone
from convexmetric.errors import SolverError


class Scaling(Protocol):
    """The scaling of a pair (U, Z), and the curvature H of the Newton system.

    Attributes
    ----------
    v : (d,) array
        Spectrum of both points in the frame: ``<U, Z> = v @ v``.
    H : (size,) or (size, size) array
        ``I + G^T L G`` in coordinates of the Newton system; its diagonal if it has no other entries.
    """

    v: Array
    H: Array

    def rows(self, elements: Any) -> Any:
        """Elements of the cone's space, flattened and one per row, in coordinates of the Newton system."""

    def outer_rows(self, V: Array) -> Array:
        """``v v^T`` in coordinates of the Newton system for every row ``v``."""

    def into(self, V: Array) -> Array:
        """A direction in coordinates of the Newton system."""

    def out(self, x: Array) -> Array:
        """The inverse of :meth:`into`."""

    def dual(self, S: Array) -> Array:
        """``G^T S G``: an element as a direction of Z."""

    def primal_step(self, V: Array) -> Array:
        """``G V G^T``: a direction of U as an element."""

    def dual_step(self, V: Array) -> Array:
        """``G^-T V G^-1``: a direction of Z as an element."""

    def centring(self, target: float, du: Array | None = None, dz: Array | None = None) -> Array:
        """``V^-1 o (target I - V^2 - dU o dZ)``: right-hand side of a step towards ``U Z = target I``."""

    def longest(self, V: Array) -> float:
        """Largest step along the direction ``V`` that stays in the cone; infinite if every step does."""

    def along(self, V: Array) -> float:
        """Change of ``<U, Z>`` to first order along a step."""


class DiagonalScaling(Scaling):
    """Scaling of positive vectors: ``G^2 = u / z`` entrywise."""

    def __init__(self, u: Array, z: Array, L: float | Array) -> None:
        self.v = np.sqrt(u * z)
        self.g = np.sqrt(u / z)
        if isinstance(L, np.ndarray):
            self.H = self.g[:, None] * L * self.g
            self.H[np.diag_indices_from(self.H)] += 1.0
        else:
            self.H = 1.0 + L * self.g**2

    def rows(self, elements: Any) -> Any:
        """Elements times g, entrywise; sparse if they are."""
        return sp.csr_array(elements.multiply(self.g)) if sp.issparse(elements) else elements * self.g

    def outer_rows(self, V: Array) -> Array:
        """``g v^2`` for every row ``v``."""
        return V * V * self.g

    def into(self, V: Array) -> Array:
        """The direction itself."""
        return V

    def out(self, x: Array) -> Array:
        """The coordinates themselves."""
        return x

    def dual(self, S: Array) -> Array:
        """``g S``."""
        return self.g * S

    def primal_step(self, V: Array) -> Array:
        """``g V``."""
        return self.g * V

    def dual_step(self, V: Array) -> Array:
        """``V / g``."""
        return V / self.g

    def centring(self, target: float, du: Array | None = None, dz: Array | None = None) -> Array:
        """``(target - v^2 - du dz) / v``."""
        second_order = 0.0 if du is None or dz is None else du * dz
        return (target - self.v**2 - second_order) / self.v

    def longest(self, V: Array) -> float:
        """Step at which the first entry of ``v + alpha V`` becomes zero."""
        return longest_step(self.v, V)

    def along(self, V: Array) -> float:
        """``<v, V>``."""
        return float(self.v @ V)


class MatrixScaling(Scaling):
    """Scaling of positive definite matrices: both become ``diag(v)``; the Newton system's frame is rotated.

    Raises
    ------
    SolverError
        If L is a full matrix.
    """

    def __init__(self, cone: Cone, U: Array, Z: Array, L: float | Array) -> None:
        if isinstance(L, np.ndarray):
            raise SolverError("a full quadratic form is supported on diagonal metrics only")
        self.cone = cone
        lower_u, lower_z = (la.cholesky(matrix, lower=True, check_finite=False) for matrix in (U, Z))
        left, self.v, right = la.svd(lower_z.T @ lower_u, check_finite=False)
        root = 1.0 / np.sqrt(self.v)
        self.G = self.basis = (lower_u @ right.T) * root
        self.inverse = (root[:, None] * left.T) @ lower_z.T
        self.rotation = np.eye(cone.d)
        self.H = np.ones(cone.size)
        if L:
            # In the eigenbasis of W = G G^T the operator U -> G^T (L G U G^T) G is diagonal.
            values, vectors = la.eigh(self.G @ self.G.T)
            values = np.maximum(values, np.finfo(float).tiny)
            self.basis = vectors * np.sqrt(values)
            self.rotation = self.inverse @ self.basis
            pairs = np.outer(values, values)
            upper = np.triu_indices(cone.d)
            self.H = 1.0 + L * pairs[upper]

    def rows(self, elements: Any) -> Array:
        """``B^T S B`` for every matrix, with the basis B of the Newton system."""
        d = self.cone.d
        return self.cone.coordinates(congruent(elements.reshape(-1, d, d), self.basis))

    def outer_rows(self, V: Array) -> Array:
        """``B^T v v^T B`` in coordinates for every row ``v``, with the basis B of the Newton system."""
        return np.asarray(self.cone.outer_rows(V @ self.basis))

    def into(self, V: Array) -> Array:
        """Coordinates of ``R^T V R``, with the rotation R to the frame of the Newton system."""
        return self.cone.coordinates(self.rotation.T @ V @ self.rotation)

    def out(self, x: Array) -> Array:
        """``R S R^T`` for the matrix S with coordinates ``x``."""
        return self.rotation @ self.cone.from_coordinates(x) @ self.rotation.T

    def dual(self, S: Array) -> Array:
        """``G^T S G``."""
        return self.G.T @ S @ self.G

    def primal_step(self, V: Array) -> Array:
        """``G V G^T``."""
        step = self.G @ V @ self.G.T
        return 0.5 * (step + step.T)

    def dual_step(self, V: Array) -> Array:
        """``G^-T V G^-1``."""
        step = self.inverse.T @ V @ self.inverse
        return 0.5 * (step + step.T)

    def centring(self, target: float, du: Array | None = None, dz: Array | None = None) -> Array:
        """Entries (i, j) of ``target I - V^2 - dU o dZ`` divided by ``(v_i + v_j) / 2``."""
        R = np.diag(target - self.v**2)
        if du is not None and dz is not None:
            product = du @ dz
            R -= 0.5 * (product + product.T)
        return R * (2.0 / np.add.outer(self.v, self.v))

    def longest(self, V: Array) -> float:
        """``-1 / e`` for the smallest eigenvalue e of ``diag(v)^-1/2 V diag(v)^-1/2``, if that is negative."""
        root = 1.0 / np.sqrt(self.v)
        smallest = float(np.linalg.eigvalsh(root[:, None] * V * root)[0])
        return np.inf if smallest >= 0.0 else -1.0 / smallest

    def along(self, V: Array) -> float:
        """``<diag(v), V>``."""
        return float(np.diag(V) @ self.v)


def longest_step(x: Array, dx: Array) -> float:
    """Largest ``alpha`` with ``x + alpha dx >= 0``; infinite if no entry falls."""
    ratios = -x[dx < 0.0] / dx[dx < 0.0]
    return float(ratios.min()) if ratios.size else np.inf
