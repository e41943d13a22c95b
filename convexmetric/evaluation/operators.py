r"""Operators that decide which points are similar (Maurer 2008, "paper 4").

.. math:: f_T(x, x') = \mathrm{sgn}(1 - \|T x - T x'\|)

An operator T on a Hilbert space H is a factor of a metric, :math:`T^* T = A`, with a meaning for the number one:
points nearer than 1 are similar, points farther than 1 are not, and at exactly 1 nothing is decided (paper 4, section
1.2). Here T is a matrix on coordinates in which the inner products of H are dot products: the features themselves, or
the coordinates that an embedding gives, such as those of the span of training points under a kernel. Points are then
seen by their projection on that span; T ignores the rest, so that ``T x`` is the same.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexmetric.arguments import shown
from convexmetric.arrays import Array, real_array
from convexmetric.comparisons.points import as_points, as_rows, check_width
from convexmetric.errors import InputError
from convexmetric.evaluation import squared_distances, verdicts
from convexmetric.features import Embedding, StorableEmbedding, embedding_from_arrays
from convexmetric.files import check_solution_path, read_arrays, write_arrays
from convexmetric.solution import Solution

#: Prefix of the names of an embedding's arrays in a file.
PREFIX = "embedding."


class SimilarityOperator:
    """A linear operator T under which similar points are nearer than 1.

    Parameters
    ----------
    components : (rank, d') array
        T on coordinates; the metric is ``components.T @ components``. It may have no rows: the operator zero, under
        which everything is similar.
    embedding : Embedding, optional
        Map from points to coordinates, by ``transform(X) -> (n, d')``; None where these are the features.
    feature_names : sequence of str, optional
        Names of the features, which files keep.

    Raises
    ------
    InputError
        If ``components`` is not a finite matrix, the embedding has no ``transform``, or names are not as many as
        features.

    Examples
    --------
    >>> import convexmetric as cm
    >>> T = cm.evaluation.SimilarityOperator([[0.5, 0.0]])
    >>> T.verdicts([[0.0, 0.0], [3.0, 0.0], [4.0, 0.0]], [[1.0, 9.0]]).ravel().tolist()
    [1, 0, -1]
    """

    def __init__(
        self, components: ArrayLike, embedding: Embedding | None = None, feature_names: Sequence[str] | None = None
    ) -> None:
        T = np.ascontiguousarray(real_array(components, "components"))
        if T.ndim != 2 or T.shape[1] == 0:
            raise InputError(f"components must have shape (rank, coordinates), got {T.shape}")
        if not np.isfinite(T).all():
            raise InputError("components contains NaN or infinite entries; remove them first")
        if embedding is not None and not isinstance(embedding, Embedding):
            raise InputError(f"embedding must have a method transform(X), got {type(embedding).__name__}")
        if feature_names is not None and embedding is None and len(feature_names) != T.shape[1]:
            raise InputError(f"feature_names has {len(feature_names)} names for components of {T.shape[1]} features")
        self.components, self.embedding = T, embedding
        self.feature_names = None if feature_names is None else [str(name) for name in feature_names]

    @classmethod
    def of(cls, solution: Solution) -> SimilarityOperator:
        """Make the operator of a solution: T with ``T* T = M``, the solution's metric.

        Raises
        ------
        InputError
            If it is not a :class:`~convexmetric.Solution`.
        """
        if not isinstance(solution, Solution):
            raise InputError(f"solution must be what solve returns, got {type(solution).__name__}")
        return cls(solution.components, getattr(solution.problem, "embedding", None))

    def coordinates(self, X: Any) -> Any:
        """Coordinates of points on which T acts, ``(n, d')``.

        Raises
        ------
        InputError
            If X is malformed or has other features.
        """
        if self.embedding is None:
            points, name = as_points(X, sparse=True), "X"
        else:
            points, name = as_points(self.embedding.transform(X), "coordinates"), "the embedding"
        check_width(points, self.components.shape[1], f"{name} has", "the operator takes")
        return points

    def transform(self, X: Any) -> Array:
        """``(n, rank)`` images ``T x``.

        Raises
        ------
        InputError
            If X is malformed or has other features.
        """
        return np.ascontiguousarray(as_rows(self.coordinates(X) @ self.components.T))

    def squared_distances(self, X: Any, X2: Any = None) -> Array:
        """``(n, n2)`` array of ``||T x - T x'||^2``, between all points of X and of X2 (by default X).

        Raises
        ------
        InputError
            If an argument is malformed or has other features.
        """
        images = self.transform(X)
        return squared_distances(images, images if X2 is None else self.transform(X2))

    def distances(self, X: Any, X2: Any = None) -> Array:
        """``(n, n2)`` array of ``||T x - T x'||``."""
        return np.asarray(np.sqrt(self.squared_distances(X, X2)))

    def verdicts(self, X: Any, X2: Any = None) -> NDArray[np.int8]:
        """``(n, n2)`` verdicts: 1 similar (nearer than 1), 0 undecided (at 1), -1 dissimilar (paper 4, section 1.2).

        One row of X is a single example: its column of verdicts on X2 is the elementary verifier of section 5.1.
        Distances are computed in float64, so that "undecided" means equal to 1 after rounding.
        """
        return verdicts(self.squared_distances(X, X2))

    @cached_property
    def singular_values(self) -> Array:
        """Singular values of T*T, largest first: the min(rank, d') leading eigenvalues of the metric."""
        if not len(self.components):
            return np.zeros(0)
        return np.asarray(np.linalg.svd(self.components, compute_uv=False) ** 2)

    def essential_rank(self, share: float = 0.02) -> int:
        """Singular values of T*T above a share of the largest one.

        Paper 4 (section 6.1) counts those "larger than 2% of the spectral norm" and shows the spectrum of T*T (figure
        3); those of T itself above a share s are those of T*T above s squared.

        Raises
        ------
        InputError
            If the share is not between 0 and 1.
        """
        if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0.0 <= share < 1.0:
            raise InputError(f"share must be a number from 0 to below 1, got {shown(share)}")
        values = self.singular_values
        return int(np.sum(values > share * values[0])) if values.size and values[0] > 0.0 else 0

    @property
    def norm(self) -> float:
        """Hilbert-Schmidt norm ``||T*T||_2``."""
        return float(np.linalg.norm(self.singular_values))

    @property
    def spectral_norm(self) -> float:
        """Spectral norm ``||T||_inf``, the largest factor by which T stretches."""
        return float(np.sqrt(self.singular_values[0])) if self.singular_values.size else 0.0

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the operator, its embedding and the names of its features as an NPZ file, all or nothing.

        Raises
        ------
        InputError
            If the path does not end in ``.npz`` or cannot be written, or the embedding cannot be stored.
        """
        target = check_solution_path(path, "an operator")
        arrays: dict[str, Any] = {"components": self.components}
        if self.feature_names is not None:
            arrays["columns"] = np.array(self.feature_names)
        if self.embedding is not None:
            if not isinstance(self.embedding, StorableEmbedding):
                raise InputError(
                    f"the embedding {type(self.embedding).__name__} cannot be stored: it has no arrays() and "
                    "from_arrays(), see convexmetric.features.embeddings"
                )
            arrays["embedding"] = self.embedding.stored_as
            arrays |= {PREFIX + name: array for name, array in self.embedding.arrays().items()}
        write_arrays(target, arrays)
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SimilarityOperator:
        """Read what :meth:`save` wrote; files hold numbers and names, and nothing in them is run.

        Raises
        ------
        InputError
            If the file is missing, too large or damaged, or holds no operator.
        """
        arrays = read_arrays(path)
        if "components" not in arrays:
            raise InputError(f"{path} holds no operator: it has {', '.join(arrays) or 'nothing'}")
        embedding = None
        if "embedding" in arrays:
            parts = {name.removeprefix(PREFIX): a for name, a in arrays.items() if name.startswith(PREFIX)}
            embedding = embedding_from_arrays(str(arrays["embedding"]), parts)
        names = arrays["columns"].ravel().tolist() if "columns" in arrays else None
        return cls(arrays["components"], embedding, names)

    def __repr__(self) -> str:
        rank, d = self.components.shape
        on = "features" if self.embedding is None else f"coordinates by {type(self.embedding).__name__}"
        return f"SimilarityOperator({rank} x {d} {on}, ||T*T||_2 = {self.norm:.4g})"
