r"""Remove directions of a table in which only the rounding of its numbers varies.

Column :math:`j` is printed with a last digit worth :math:`u_j` and has the deviation :math:`\sigma_j`. In columns
divided by their deviations rounding is noise of deviation :math:`r_j = u_j / (\sqrt{12}\, \sigma_j)`, and at least
:math:`10^{-6}`. Let :math:`C` be the correlations of the columns. A direction :math:`v` in which
:math:`v^\top C v \le 4\, v^\top \operatorname{diag}(r)^2\, v` varies by no more than twice what rounding alone
causes: its columns are combinations of each other, and a metric that stretches it learns rounding noise.
"""

from __future__ import annotations

import warnings
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
#: Decimal digits beyond which a column is treated as exact, with the rounding FLOOR.
DIGITS = 12
#: Entries of the projection on the flat directions above this link two columns into a group.
PART = 0.01
#: Largest number of columns of a group, and of groups, that the warning names.
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
    X = data.X
    if issparse(X):
        raise InputError("flattened takes a dense X; digits of sparse points are counts or weights")
    n, d = X.shape
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = X.mean(axis=0), X.std(axis=0)
    kept = np.flatnonzero((X.min(axis=0) != X.max(axis=0)) & np.isfinite(deviation) & (deviation > 0.0))
    if n <= d or kept.size < 2:
        return data
    deviation = deviation[kept]
    flat = _flat_directions((X[:, kept] - mean[kept]) / deviation, _rounding(X[:, kept]) / deviation)
    if not flat.size:
        return data
    names = data.extras.get("columns", range(d))
    _warn(data.name, [[names[kept[c]] for c in group] for group in _groups(flat)])
    Q = np.eye(d)
    Q[np.ix_(kept, kept)] -= (flat / deviation[:, None]) @ (flat.T * deviation)
    return replace(data, X=mean + (X - mean) @ Q, extras={**data.extras, "flattening": Q})


def on_raw_rows(data: Dataset, components: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert components learned from a possibly flattened table to those that act on the rows of its file."""
    Q = data.extras.get("flattening")
    return components if Q is None else np.asarray(components @ Q.T)


def _rounding(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation of each column's rounding error, uniform over a unit of its last digit; 0 where exact."""
    unit, unknown = np.zeros(X.shape[1]), np.arange(X.shape[1])
    for digits in range(DIGITS + 1):
        with np.errstate(over="ignore"):
            printed = (np.round(X[:, unknown], digits) == X[:, unknown]).all(axis=0)
        unit[unknown[printed]] = 10.0**-digits
        unknown = unknown[~printed]
    return unit / np.sqrt(12.0)


def _flat_directions(Z: NDArray[np.float64], rounding: NDArray[np.float64]) -> NDArray[np.float64]:
    """Orthonormal columns that span the directions of scaled points in which only rounding varies."""
    coarse = rounding * np.sqrt(12.0) * STEPS > 1.0
    r = np.maximum(np.where(coarse, 0.0, rounding), FLOOR)
    whitened = Z / r
    G = whitened.T @ whitened / len(Z)
    found = eigh(G, subset_by_value=(-np.inf, SLACK**2))[1]
    return np.asarray(np.linalg.qr(found / r[:, None])[0])


def _groups(flat: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """Group the columns that are linear combinations of each other."""
    shared = np.abs(flat @ flat.T) > PART
    group = scipy.sparse.csgraph.connected_components(csr_array(shared), directed=False)[1]
    return [found for found in (np.flatnonzero(group == g) for g in range(group.max() + 1)) if found.size > 1]


def _warn(table: str, groups: list[list[Any]]) -> None:
    shown = [", ".join(map(repr, group[:NAMED])) + _more(len(group) - NAMED, "more") for group in groups[:GROUPS]]
    warnings.warn(
        f"columns of {table} are combinations of each other up to the rounding of their digits: {'; '.join(shown)}"
        f"{_more(len(groups) - GROUPS, 'more groups')}. Directions in which only rounding varies are left out",
        stacklevel=3,
    )


def _more(count: int, what: str) -> str:
    return f" and {count} {what}" if count > 0 else ""
