"""Metrics that ``fit`` saves: reading and writing them, and applying them to the columns of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexmetric.arrays import Array
from convexmetric.audits import read_metric
from convexmetric.cli.fitting import Fitted, deviations
from convexmetric.datasets import Dataset
from convexmetric.datasets.rounding import on_raw_rows
from convexmetric.errors import InputError
from convexmetric.files import all_or_nothing, read_arrays, write_arrays


def save_components(path: Path, fitted: Fitted) -> None:
    """Save components that act on the unscaled table, with names of columns, settings and bounds."""
    solution = fitted.solution
    arrays = {
        "components": on_raw_rows(fitted.data, fitted.estimator.components_ / fitted.deviations),
        "columns": np.array(fitted.data.extras["columns"]),
        "method": fitted.method,
        "settings": json.dumps(fitted.all_settings),
        "lower_bound": solution.lower_bound,
        "upper_bound": solution.upper_bound,
        "gap": solution.gap,
        "tol": solution.tol,
        "status": solution.status,
        "solver": solution.solver,
    }
    write_arrays(path, arrays)


def read_components(path: Path) -> tuple[Array, list[str] | None]:
    """Read the components of a saved metric, and the names of the columns on which they act, None if not stored.

    Raises
    ------
    InputError
        If the file is missing or damaged, or holds no components that act on columns.
    """
    if path.suffix.lower() != ".npz":
        raise InputError(f"{path}: a learned metric is read from .npz, as 'fit --save' writes it")
    arrays = read_arrays(path)
    if "components" not in arrays or "embedding" in arrays:
        what = "acts on values of a kernel" if "embedding" in arrays else f"it has {', '.join(arrays) or 'nothing'}"
        raise InputError(f"{path} holds no components that act on columns ({what}); see 'fit --save'")
    components = arrays["components"]
    if components.dtype.kind not in "fiu" or components.ndim != 2 or not np.isfinite(components).all():
        raise InputError(f"{path}: components must be a finite (rank, columns) array of numbers")
    if "columns" not in arrays:
        return components.astype(np.float64), None
    columns = [str(name) for name in arrays["columns"].ravel()]
    if len(columns) != components.shape[1]:
        raise InputError(f"{path} names {len(columns)} columns for components of {components.shape[1]}")
    return components.astype(np.float64), columns


def saved_settings(path: Path, method: str) -> dict[str, Any]:
    """Read the settings by which ``fit`` learned a saved metric; empty if it was by another method."""
    if path.suffix.lower() != ".npz":
        return {}
    arrays = read_arrays(path)
    if "settings" not in arrays or str(arrays.get("method")) != method:
        return {}
    try:
        settings = json.loads(str(arrays["settings"]))
    except ValueError as error:
        raise InputError(f"{path}: settings are no JSON") from error
    return dict(settings) if isinstance(settings, dict) else {}


def metric_on_table(path: Path, variable: str | None, data: Dataset, scale: bool) -> NDArray[np.float64]:
    """Read a metric on the (scaled) columns of a table: converted if ``fit`` saved it, otherwise as it is.

    Raises
    ------
    InputError
        If the file holds no metric, or one of other columns.
    """
    if variable is not None or path.suffix.lower() != ".npz" or "components" not in read_arrays(path):
        return read_metric(path, variable)
    components, names = read_components(path)
    columns = list(data.extras["columns"])
    if names is not None:
        if sorted(names) != sorted(columns):
            other = sorted(set(names) ^ set(columns))
            raise InputError(
                f"{path} was learned from other columns than those of {data.name}: {', '.join(map(repr, other))}"
            )
        components = components[:, [names.index(name) for name in columns]]
    L = components * (deviations(data) if scale else 1.0)
    return np.asarray(L.T @ L)


def write_rows(path: Path, rows: Array) -> None:
    """Write rows as text with names of columns, or as an array, all or nothing."""
    with all_or_nothing(path) as unfinished, open(unfinished, "xb") as file:
        if path.suffix.lower() == ".npy":
            np.save(file, rows)
        else:
            names = ",".join(f"component{place}" for place in range(rows.shape[1]))
            np.savetxt(file, rows, "%.17g", ",", header=names, comments="")
