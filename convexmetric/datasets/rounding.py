r"""Remove directions of a table in which only the rounding of its numbers varies.

The values of column :math:`j` are multiples of :math:`u_j`, the worth of its last digit, up to a shift, and have the
deviation :math:`\sigma_j`. Scaled columns have a last digit as well, so that it does not matter whether they were
scaled before. In columns divided by their deviations rounding is noise of deviation
:math:`r_j = u_j / (\sqrt{12}\, \sigma_j)`, and at least :math:`10^{-6}`. Let :math:`C` be the correlations of the
columns. A direction :math:`v` in which
:math:`v^\top C v \le 4\, v^\top \operatorname{diag}(r)^2\, v` varies by no more than twice what rounding alone
causes: its columns are combinations of each other, and a metric that stretches it learns rounding noise.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array, issparse

from convexmetric.datasets.dataset import Dataset
from convexmetric.errors import InputError

#: Smallest rounding error that is assumed, in standard deviations of the column.
FLOOR = 1e-6
#: Columns with fewer units of the last digit per standard deviation are counts or codes, not rounded measurements.
STEPS = 30
#: Largest spread of a direction that may be rounding, in standard deviations of the rounding error along it.
SLACK = 2.0
#: Steps between values that are rounding of the arithmetic, as a share of their range; and the largest distance of a
#: step to a multiple of the last digit, as a share of that.
ARITHMETIC, OFF = 1e-12, 0.05
#: Spread, in standard deviations, up to which not even rounding varies, as in a table that was flattened before.
FLATTENED = 1e-12
#: Entries of the projection on the flat directions above this link two columns into a group.
PART = 0.01
#: Largest number of columns of a group that the warning names, and of groups.
NAMED, GROUPS = 6, 3


def flattened(data: Dataset) -> Dataset:
    r"""Take out of a table the directions in which only rounding varies, and name their columns in a warning.

    Rows :math:`x` become :math:`\mu + (x - \mu)\, Q`, with the mean :math:`\mu` and a projection :math:`Q` that is
    stored in ``extras["flattening"]``: components :math:`L` that are learned from the result act on the original rows
    as :math:`L Q^\top`, and give these directions no weight. Tables without such directions, and those with no more
    rows than columns, are returned unchanged.

    Parameters
    ----------
    data : Dataset
        With names of columns in ``extras["columns"]``; without them, columns are named by their numbers.

    Returns
    -------
    Dataset
        The table in the remaining directions.

    Raises
    ------
    InputError
        If X is sparse.

    Warns
    -----
    UserWarning
        If there are such directions.
    """
    if issparse(data.X):
        raise InputError("flattened takes a dense X; digits of sparse points are counts or weights")
    Q = flattening(data.X, data.name, data.extras.get("columns"))
    if Q is None:
        return data
    mean = data.X.mean(axis=0)
    return replace(data, X=mean + (data.X - mean) @ Q, extras={**data.extras, "flattening": Q})


def flattening(
    X: NDArray[np.float64], table: str, names: Sequence[Any] | None = None, again: bool = False
) -> NDArray[np.float64] | None:
    """Projection ``(d, d)`` that takes out directions of dense points, with a warning; None if there is none to take.

    With ``again``, directions in which not even rounding varies stay: the points may have been flattened before.
    """
    n, d = X.shape
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = X.mean(axis=0), X.std(axis=0)
    kept = np.flatnonzero((X.min(axis=0) != X.max(axis=0)) & np.isfinite(deviation) & (deviation > 0.0))
    if n <= d or kept.size < 2:
        return None
    deviation = deviation[kept]
    Z = (X[:, kept] - mean[kept]) / deviation
    flat = _flat_directions(Z, again)
    if not flat.size:
        return None
    shown = range(d) if names is None else names
    columns = [[shown[kept[c]] for c in group] for group in _groups(flat)]
    # Points to the caller of flattened, or of the fit of an estimator.
    warnings.warn(_left_out(table, f"{flat.shape[1]} of {d}", columns), stacklevel=5 if again else 3)
    Q = np.eye(d)
    Q[np.ix_(kept, kept)] -= (flat / deviation[:, None]) @ (flat.T * deviation)
    return Q


def on_raw_rows(data: Dataset, components: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert components learned from a possibly flattened table to those that act on the rows of its file."""
    Q = data.extras.get("flattening")
    return components if Q is None else np.asarray(components @ Q.T)


def _last_digit(values: NDArray[np.float64]) -> float:
    """Find the worth of the last digit of a scaled column, the common divisor of its steps; 0 if below the FLOOR."""
    steps = np.diff(np.unique(values))
    steps = steps[steps > ARITHMETIC * np.ptp(values)]
    digit = float(steps.min())
    # Euclid's algorithm: what is left of the steps divides them as well.
    while digit > FLOOR:
        left = np.abs(steps - digit * np.round(steps / digit))
        if left.max() <= OFF * digit:
            return digit
        digit = float(left[left > OFF * digit].min())
    return 0.0


def _flat_directions(Z: NDArray[np.float64], again: bool) -> NDArray[np.float64]:
    """Orthonormal columns that span the directions of scaled points in which only rounding varies."""
    digits = np.array([_last_digit(column) for column in Z.T])
    measured = digits * STEPS <= 1.0
    # Rounding errors are uniform over a unit of the last digit.
    r = np.maximum(np.where(measured, digits / np.sqrt(12.0), 0.0), FLOOR)
    whitened = Z / r
    found = eigh(whitened.T @ whitened / len(Z), subset_by_value=(-np.inf, SLACK**2))[1]
    flat = np.linalg.qr(found / r[:, None])[0]
    # Between counts and codes alone there is no rounding.
    shares, turned = np.linalg.eigh(flat[measured].T @ flat[measured])
    flat = flat @ turned[:, shares > PART**2]
    if again:
        _, spread, turned = np.linalg.svd(Z @ flat, full_matrices=False)
        flat = flat @ turned[spread > FLATTENED * np.sqrt(len(Z))].T
    return np.asarray(flat)


def _groups(flat: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """Group the columns that are linear combinations of each other."""
    shared = np.abs(flat @ flat.T) > PART
    group = scipy.sparse.csgraph.connected_components(csr_array(shared), directed=False)[1]
    return [found for found in (np.flatnonzero(group == g) for g in range(group.max() + 1)) if found.size > 1]


def _left_out(table: str, directions: str, groups: list[list[Any]]) -> str:
    shown = [", ".join(map(repr, group)) if len(group) <= NAMED else f"{len(group)} columns" for group in groups]
    more = [f"{len(groups) - GROUPS} more groups"] if len(groups) > GROUPS else []
    return (
        f"in {directions} directions of {table} only the rounding of digits varies, and they are left out "
        f"(datasets.flattened): combinations of {'; '.join(shown[:GROUPS] + more)}"
    )
