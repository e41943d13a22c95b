r"""Sets of pairs and their mean squared distance.

.. math:: \frac{1}{|P|} \sum_{(i, j) \in P} (x_i - x_j)(x_i - x_j)^\top

is one weighted graph Laplacian. All pairs of a set of n points sum up to :math:`2 n X^\top X - 2 s s^\top` with
:math:`s = X^\top 1`, so that pairs of one label, of different labels, or without a link need not be listed.
Pairs are ordered: (i, j) and (j, i) count separately if both are present.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from convexmetric.arrays import Array, real_array
from convexmetric.comparisons.points import listed_rows
from convexmetric.comparisons.relevance import as_labels
from convexmetric.cones import Cone
from convexmetric.errors import InputError


class Pairs(ABC):
    """A set of ordered pairs of different points."""

    #: Number of pairs.
    size: int

    def __len__(self) -> int:
        return self.size

    @abstractmethod
    def total(self, X: Any, cone: Cone) -> Array:
        """``sum over pairs of (x_i - x_j)(x_i - x_j)^T``, an element of the cone's space."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """``(size, 2)`` pairs drawn independently and uniformly."""

    def mean(self, X: Any, cone: Cone) -> Array:
        """The mean over pairs: its inner product with M is their mean squared distance."""
        return self.total(X, cone) / len(self)


class ListedPairs(Pairs):
    """Pairs in a list.

    Parameters
    ----------
    pairs : (P, 2) int array
    n : int
        Number of points.
    name : str
        Name of the argument in error messages.

    Raises
    ------
    InputError
        If the list is empty or malformed, or a pair names one point twice.
    """

    def __init__(self, pairs: Any, n: int, name: str = "pairs") -> None:
        self.pairs, self.n = listed_rows(pairs, n, name, "pair", "ij", "P"), n
        self.size = len(self.pairs)
        same = np.flatnonzero(self.pairs[:, 0] == self.pairs[:, 1])
        if same.size:
            raise InputError(f"{name} must name two different points, but {name}[{same[0]}] repeats one")

    def total(self, X: Any, cone: Cone, weights: Array | None = None) -> Array:
        """Weighted sum over pairs, as one graph Laplacian; pairs weigh 1 by default."""
        i, j = self.pairs.T
        own = np.ones(len(i)) if weights is None else weights
        T = sp.csr_array((own, (i, j)), shape=(self.n, self.n))
        degrees = np.asarray(np.bincount(np.concatenate([i, j]), np.tile(own, 2), self.n), dtype=np.float64)
        return cone.outer_sum(X, degrees) - 2.0 * cone.cross(X, T, X)

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw rows of the list."""
        return self.pairs[rng.integers(len(self.pairs), size=size)]


def _every_pair(X: Any, cone: Cone) -> Array:
    """The sum over all ordered pairs of the rows of ``X``."""
    n = X.shape[0]
    sums = np.asarray(X.sum(axis=0)).reshape(1, -1)
    return 2.0 * n * cone.outer_sum(X, np.ones(n)) - 2.0 * cone.outer_sum(sums, np.ones(1))


class LabelledPairs(Pairs):
    """All pairs of one label, or all pairs of different labels.

    Parameters
    ----------
    codes : (n,) int array
        Labels as numbers from 0 on.
    same : bool
        True for pairs of one label, False for pairs of different labels.
    """

    def __init__(self, codes: np.ndarray, same: bool) -> None:
        self.codes, self.same = codes, same
        self.counts = np.bincount(codes.astype(np.intp))
        self.by_class = np.argsort(codes, kind="stable")
        within = int((self.counts * (self.counts - 1)).sum())
        self.size = within if same else codes.size * (codes.size - 1) - within

    def total(self, X: Any, cone: Cone) -> Array:
        """Sum within classes; for pairs of different labels, the sum over all pairs minus that."""
        within = cone.zeros()
        for rows in np.split(self.by_class, np.cumsum(self.counts)[:-1]):
            within = within + _every_pair(X[rows], cone)
        return within if self.same else _every_pair(X, cone) - within

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw a point in proportion to its number of pairs, then a second one in or outside its class."""
        counts = self.counts[self.codes]
        others = counts - 1 if self.same else self.codes.size - counts
        i = rng.choice(self.codes.size, size=size, p=others / others.sum())
        first = (np.cumsum(self.counts) - self.counts)[self.codes[i]]
        place = np.argsort(self.by_class)
        step = rng.integers(others[i])
        if self.same:
            at = first + (place[i] - first + 1 + step) % counts[i]
        else:
            at = (first + counts[i] + step) % self.codes.size
        return np.column_stack([i, self.by_class[at]])


class UnlinkedPairs(Pairs):
    """All pairs of different points without a link.

    Parameters
    ----------
    adjacency : (n, n) CSR array
        Links as ones, no self-links.
    """

    def __init__(self, adjacency: sp.csr_array) -> None:
        self.adjacency = adjacency
        n = adjacency.shape[0]
        self.links = ListedPairs(np.column_stack(adjacency.nonzero()), n, "adjacency")
        self.size = n * (n - 1) - len(self.links)

    def total(self, X: Any, cone: Cone) -> Array:
        """The sum over all pairs, minus that over the links."""
        return _every_pair(X, cone) - self.links.total(X, cone)

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw pairs by rejection of linked ones."""
        n = self.adjacency.shape[0]
        kept: list[np.ndarray] = []
        missing = size
        while missing > 0:
            drawn = rng.integers(n, size=(2 * missing + 64, 2))
            linked = np.asarray(self.adjacency[drawn[:, 0], drawn[:, 1]]).ravel() != 0
            drawn = drawn[(drawn[:, 0] != drawn[:, 1]) & ~linked][:missing]
            kept.append(drawn)
            missing -= len(drawn)
        return np.concatenate(kept)


def label_codes(y: ArrayLike, n: int | None = None) -> NDArray[np.int64]:
    """Labels as numbers from 0 on.

    Raises
    ------
    InputError
        If they are malformed, not one for each of n points, or make no pair similar or none dissimilar.
    """
    codes = np.unique(as_labels(y, n), return_inverse=True)[1].ravel().astype(np.int64)
    counts = np.bincount(codes.astype(np.intp))
    if counts.size < 2:
        raise InputError("y has one class only, so that no pair is dissimilar")
    if counts.max() < 2:
        raise InputError("y has no class with two members, so that no pair is similar")
    return codes


def one_a_pair(y: ArrayLike, m: int) -> Array:
    """Check that ``y`` has a number for each of m pairs."""
    numbers = real_array(y, "y")
    if numbers.shape != (m,):
        raise InputError(f"y must have one number a pair, shape ({m},), got {numbers.shape}")
    return numbers


def pair_signs(y: ArrayLike, m: int) -> Array:
    """Check that ``y`` is +1 or -1 for each of m pairs."""
    r = one_a_pair(y, m)
    wrong = np.flatnonzero(~np.isin(r, (-1.0, 1.0)))
    if wrong.size:
        raise InputError(
            f"y must hold +1 (similar) and -1 (dissimilar), but y[{wrong[0]}] = {r[wrong[0]]:g}; "
            "for labels of points see *from_labels"
        )
    return r
