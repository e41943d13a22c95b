"""Named preprocessing steps, so that an instance can state what was done to its rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from convexmetric.arguments import closest
from convexmetric.datasets.dataset import Matrix
from convexmetric.errors import InputError

#: Steps that need a dense matrix.
MOVING_ZEROS = ("zscore", "centre", "minmax", "pca")
_PCA = re.compile(r"pca:([1-9][0-9]*)")
_DIVIDE = re.compile(r"divide:([1-9][0-9]{0,8})")
# Entries of a principal axis within this factor of the largest count as equally large.
_TIE = 1 - 1e-6


def preprocess(X: Any, steps: Sequence[str]) -> Matrix:
    r"""Apply preprocessing steps to the rows of a matrix, in the order given.

    Parameters
    ----------
    X : array-like or scipy.sparse matrix, shape (n, d)
        Finite numbers, at least one row. Not modified.
    steps : list of str
        With :math:`x_{ij}` the entries of the matrix a step is given, column by column:

        ``"zscore"``
            :math:`(x_{ij} - \mu_j) / \sigma_j`, with the mean :math:`\mu_j = \frac1n \sum_i x_{ij}` and
            the population standard deviation :math:`\sigma_j = (\frac1n \sum_i (x_{ij} -
            \mu_j)^2)^{1/2}`; constant columns become 0.
        ``"centre"``
            :math:`(x_{ij} - \mu_j) / \sigma`: centred, and all columns divided by one deviation,
            :math:`\sigma = (\frac1d \sum_j \sigma_j^2)^{1/2}`, so that they keep their proportions; zeros where all are
            constant.
        ``"minmax"``
            :math:`(x_{ij} - \min_i x_{ij}) / (\max_i x_{ij} - \min_i x_{ij})`; constant columns become 0.
        ``"binarize"``
            1 where :math:`x_{ij} > 0`, else 0.
        ``"log1p"``
            :math:`\log(1 + x_{ij})`; every entry must exceed -1.
        ``"pca:K"``
            :math:`(x_i - \mu)^\top V`, shape (n, K): the columns of :math:`V` are the unit eigenvectors
            of :math:`\sum_i (x_i - \mu)(x_i - \mu)^\top` with the K largest eigenvalues, largest first,
            each with the sign that makes its entry of largest modulus (the first of them, if several)
            positive. :math:`1 \le K \le \min(n, d)`.
        ``"divide:N"``
            :math:`x_{ij} / N`, N a positive integer: the largest possible value, such as 255 for grey levels.
        ``"unit"``
            :math:`x_{ij} / (\sum_j x_{ij}^2)^{1/2}`: rows of unit length; no row may be zero.
        ``"drop-constant"``
            The columns that hold more than one value.
        ``"none"``
            The matrix itself.

        The steps binarize, log1p, divide, unit and drop-constant keep a sparse matrix sparse; zscore, centre, minmax
        and pca need a dense one.

    Returns
    -------
    ndarray of float64 or scipy.sparse.csr_array of float64, shape (n, d')
        May share memory with ``X`` when no step changes anything.

    Raises
    ------
    InputError
        ``X`` is not a finite matrix with rows, a step is unknown, or a step cannot be applied: sparse X
        given to a step that needs dense X, log1p of a number not above -1, unit length of a zero row, K too large,
        overflow.

    Examples
    --------
    >>> preprocess([[1.0, 5.0], [3.0, 5.0]], ["zscore"])
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    if isinstance(steps, str) or not isinstance(steps, Sequence):
        raise InputError(f'steps must be a list of step names such as ["zscore"], not {steps!r}.')
    # All names are checked before any work is done.
    functions = [(step, _function(step)) for step in steps]
    Z = _matrix(X)
    for step, function in functions:
        if issparse(Z) and step.partition(":")[0] in MOVING_ZEROS:
            raise InputError(
                f"Step {step!r} needs a dense matrix because it moves zeros; pass X.toarray() if it fits in memory."
            )
        # Overflow is reported by the error below, not by a warning.
        with np.errstate(over="ignore", invalid="ignore"):
            Z = function(Z)
        if not np.all(np.isfinite(_entries(Z))):
            raise InputError(f"Step {step!r} overflowed: the numbers in X are too large for it.")
    return Z


def _matrix(X: Any) -> Matrix:
    try:
        # A sparse matrix is copied: the steps bring its arrays into order and change them in place.
        sparse = issparse(X)
        Z: Matrix = csr_array(X, dtype=np.float64, copy=True) if sparse else np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"X must be a matrix of numbers ({error}).") from error
    if Z.ndim != 2 or Z.shape[0] == 0:
        raise InputError(f"X must be a matrix with at least one row, but its shape is {Z.shape}.")
    if sparse:
        Z.sum_duplicates()
    if not np.all(np.isfinite(_entries(Z))):
        raise InputError("X must be finite, but it has NaN or infinite entries.")
    return Z


def _entries(X: Matrix) -> NDArray[np.float64]:
    """Return the stored entries, all others being 0."""
    return X.data if issparse(X) else X


def _function(step: Any) -> Callable[[Matrix], Matrix]:
    if isinstance(step, str):
        if step in STEPS:
            return STEPS[step]
        if match := _PCA.fullmatch(step):
            axes = int(match[1])
            return lambda X: _pca(X, axes)
        if match := _DIVIDE.fullmatch(step):
            divisor = int(match[1])
            return lambda X: X / divisor
    names = [*STEPS, "pca:K", "divide:N"]
    hint = closest(str(step).lower(), names, " Did you mean {}?")
    raise InputError(f"Unknown preprocessing step {step!r}.{hint} Known: {', '.join(names)} (K, N = 1, 2, ...).")


def _zscore(X: Matrix) -> Matrix:
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    # A constant column's mean can be off by a rounding error, and its deviation then not exactly 0.
    constant = (X.min(axis=0) == X.max(axis=0)) | (deviation == 0)
    Z = (X - mean) / np.where(constant, 1.0, deviation)
    # Division by an infinite deviation would give zeros, which look like a valid result.
    Z[:, ~np.isfinite(deviation)] = np.nan
    Z[:, constant] = 0.0
    return Z


def _centre(X: Matrix) -> Matrix:
    Z = X - X.mean(axis=0)
    Z[:, X.min(axis=0) == X.max(axis=0)] = 0.0
    largest = np.abs(Z).max(initial=0.0)
    if largest == 0.0:
        return Z
    # Scaled to entries of at most 1, so that squares do not overflow.
    Z = Z / largest
    return Z / np.sqrt(np.mean(Z**2))


def _minmax(X: Matrix) -> Matrix:
    low = X.min(axis=0)
    spread = X.max(axis=0) - low
    Z = (X - low) / np.where(spread == 0, 1.0, spread)
    Z[:, ~np.isfinite(spread)] = np.nan
    return Z


def _binarize(X: Matrix) -> Matrix:
    if not issparse(X):
        return (X > 0).astype(np.float64)
    X.data = (X.data > 0).astype(np.float64)
    X.eliminate_zeros()
    return X


def _log1p(X: Matrix) -> Matrix:
    if np.any(_entries(X) <= -1):
        raise InputError("Step 'log1p' needs entries above -1, but X has smaller ones.")
    if not issparse(X):
        return np.log1p(X)
    X.data = np.log1p(X.data)
    return X


def _unit(X: Matrix) -> Matrix:
    largest = _by_row(np.maximum, X)
    zero = np.flatnonzero(largest == 0)
    if len(zero):
        more = f" (and {len(zero) - 1} more)" if len(zero) > 1 else ""
        raise InputError(
            f"Step 'unit' needs rows that are not 0, but row {zero[0]} of X{more} is; leave such rows out."
        )
    # Divide rows by their largest entry first, so that squares neither overflow nor underflow where they matter.
    Z = _divide_rows(X, largest)
    return _divide_rows(Z, np.sqrt(_by_row(np.add, Z * Z)))


def _by_row(reduce: np.ufunc, X: Matrix) -> NDArray[np.float64]:
    """Reduce the moduli of the entries of each row."""
    if not issparse(X):
        return reduce.reduce(np.abs(X), axis=1, initial=0.0)
    found = np.zeros(X.shape[0])
    reduce.at(found, _rows(X), np.abs(X.data))
    return found


def _divide_rows(X: Matrix, by: NDArray[np.float64]) -> Matrix:
    if not issparse(X):
        return X / by[:, None]
    return csr_array((X.data / by[_rows(X)], X.indices, X.indptr), shape=X.shape)


def _rows(X: Matrix) -> NDArray[np.int64]:
    """The row of each stored entry."""
    return np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))


def _drop_constant(X: Matrix) -> Matrix:
    if X.shape[1] == 0:
        return X
    low, high = X.min(axis=0), X.max(axis=0)
    if issparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return X[:, np.flatnonzero(low != high)]


def _pca(X: Matrix, k: int) -> Matrix:
    if k > min(X.shape):
        raise InputError(
            f"Step 'pca:{k}' asks for more axes than a matrix of {X.shape[0]} x {X.shape[1]} has ({min(X.shape)})."
        )
    centred = X - X.mean(axis=0)
    if not np.all(np.isfinite(centred)):
        return centred
    axes = np.linalg.svd(centred, full_matrices=False)[2][:k]
    modulus = np.abs(axes)
    largest = np.argmax(modulus >= _TIE * modulus.max(axis=1, keepdims=True), axis=1)
    axes *= np.sign(axes[np.arange(k), largest])[:, None]
    return centred @ axes.T


STEPS: dict[str, Callable[[Matrix], Matrix]] = {
    "zscore": _zscore,
    "centre": _centre,
    "binarize": _binarize,
    "log1p": _log1p,
    "minmax": _minmax,
    "unit": _unit,
    "drop-constant": _drop_constant,
    "none": lambda X: X,
}
"""Step name to function; ``pca:K`` and ``divide:N`` are read by :func:`preprocess` itself."""
