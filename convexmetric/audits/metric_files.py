"""Files of metrics: any metric, to be audited, and solutions of this package with the points that prove their bounds.

Files come from other people: numbers only, never a pickle, and no more than 512 MiB in memory (d = 8192).

==========  ====================================================================================
``.npy``    one array
``.npz``    one array, or the one called M, W or w, or the one named
``.csv``    one row per line, separated by commas or white space; lines that begin with # are skipped
``.mat``    MATLAB 5 to 7 (``save -v7``), chosen as in ``.npz`` among the numeric variables
==========  ====================================================================================

Iterates of a solver come in a ``.npz`` file or a folder (:func:`read_iterates`).
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexmetric import files
from convexmetric.arguments import check_one_of
from convexmetric.arrays import real_array
from convexmetric.certificates import Certificate, certify
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.problem import AnyProblem, as_problem
from convexmetric.risks.dual_points import dual_arrays, dual_from_arrays
from convexmetric.solution import Solution

__all__ = ["Iterates", "read_certificate", "read_iterates", "read_map", "read_metric", "write_solution"]

#: Names of the metric's variable in files with several, in order of preference: the papers' letters.
LETTERS = ("M", "W", "w")
#: Name of the map of a saved metric, by the side that it is for.
MAPS = {"both": "components", "query": "query_map"}
#: Name of a map in a file for a search engine, which does not say whether it is the metric or a factor of it.
EXPORTED = "weight"
#: Name in files of a dual point that consists of one multiplier for each comparison.
MULTIPLIERS = "u"
#: Bytes of a row of text in addition to its numbers.
ROW_BYTES = 160


def read_metric(path: str | os.PathLike[str], variable: str | None = None) -> NDArray[np.float64]:
    """Read a metric from a file.

    Parameters
    ----------
    path : path
        A ``.npy``, ``.npz``, ``.csv`` or ``.mat`` file.
    variable : str, optional
        Which variable of a ``.npz`` or ``.mat`` file. By default the only one (of a ``.mat`` file: the only numeric
        matrix), or the one called M, W or w.

    Returns
    -------
    array
        A float64 matrix; a single row or column comes as a vector of weights.

    Raises
    ------
    InputError
        If the file is missing, too large, damaged, of an unknown format, holds pickled or other than real numbers,
        or if it is not clear which variable is meant.
    """
    path = files.existing(path)
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise InputError(f"{path}: a metric is read from {', '.join(_READERS)}, not from {suffix or 'no suffix'!r}")
    if variable is not None and suffix not in (".npz", ".mat"):
        raise InputError(f"{path}: a {suffix} file holds one array; leave variable={variable!r} out")
    metric = _real(path, "a metric holds", files.guarded(path, lambda: _READERS[suffix](path, variable)))
    if metric.ndim not in (1, 2) or metric.size == 0:
        raise InputError(f"{path}: a metric is a matrix (d, d) or weights (d,), this array has shape {metric.shape}")
    return metric.ravel() if metric.ndim == 2 and min(metric.shape) == 1 < max(metric.shape) else metric


@dataclass(frozen=True)
class Iterates:
    """Metrics that a solver went through.

    Attributes
    ----------
    metrics : (T, d, d) or (T, d) array
        The iterates, in the order of the solver.
    seconds, passes : (T,) array or None
        Time and passes over the data at each, if the file has them.
    """

    metrics: NDArray[np.float64]
    seconds: NDArray[np.float64] | None = None
    passes: NDArray[np.float64] | None = None


def read_iterates(path: str | os.PathLike[str]) -> Iterates:
    """Read the iterates of a solver.

    Parameters
    ----------
    path : path
        A ``.npz`` file with ``iterates``, ``(T, d, d)`` or ``(T, d)``, and perhaps ``seconds`` and ``passes``,
        ``(T,)``; a ``.npy`` file of iterates; or a folder of ``.npy`` or ``.csv`` files, one metric each, whose names
        end in numbers that put them in order.

    Raises
    ------
    InputError
        If there is no such file, it is too large, damaged, of an unknown format, holds pickled or other than real
        numbers, or shapes do not fit.
    """
    path = Path(path)
    if os.path.isdir(path):
        return _read_folder(path)
    suffix = path.suffix.lower()
    if suffix not in (".npz", ".npy"):
        raise InputError(
            f"{path}: iterates are read from .npz, .npy or a folder of numbered .npy or .csv files, "
            f"not from {suffix or 'no suffix'!r}"
        )
    arrays = files.read_arrays(path) if suffix == ".npz" else {"iterates": files.read_array(files.existing(path))}
    if "iterates" not in arrays:
        raise InputError(f"{path} has no variable 'iterates'; it has: {', '.join(arrays) or 'none'}")
    names = [name for name in ("iterates", "seconds", "passes") if name in arrays]
    found = {name: _real(path, f"{name} must hold", arrays[name]) for name in names}
    metrics = found["iterates"]
    if metrics.ndim not in (2, 3) or metrics.size == 0:
        raise InputError(f"{path}: iterates have shape (T, d, d) or (T, d), this array has shape {metrics.shape}")
    return Iterates(metrics, found.get("seconds"), found.get("passes"))


def _read_folder(path: Path) -> Iterates:
    numbered: dict[int, Path] = {}
    for file in files.guarded(path, lambda: sorted(path.iterdir())):
        digits = re.search(r"(\d+)$", file.stem)
        if file.suffix.lower() in (".npy", ".csv") and digits is not None and file.is_file():
            number = int(digits.group(1))
            if number in numbered:
                raise InputError(f"{path} holds several files of number {number}: {numbered[number].name}, {file.name}")
            numbered[number] = file
    if not numbered:
        raise InputError(f"{path} holds no .npy or .csv files whose names end in a number")
    metrics: list[NDArray[np.float64]] = []
    for _, file in sorted(numbered.items()):
        metrics.append(read_metric(file))
        if len(metrics) * metrics[0].nbytes > files.MAX_BYTES:
            raise InputError(f"{path} holds more than {files.MAX_BYTES} bytes of iterates and was not read")
        if metrics[-1].shape != metrics[0].shape:
            raise InputError(f"{file} has shape {metrics[-1].shape}, the first iterate has {metrics[0].shape}")
    return Iterates(np.array(metrics))


def read_map(path: str | os.PathLike[str]) -> tuple[str, NDArray[np.float64], list[str] | None]:
    """Read the linear map L of a saved metric, or factor a metric in a file.

    Returns
    -------
    side : str
        ``"both"``, or ``"query"`` for a map of queries alone.
    L : (rank, d) array
    columns : list of str or None
        Names of the features, if the file has them.

    Raises
    ------
    InputError
        If the file is missing or damaged, or holds no map or metric, or one under a kernel.
    """
    path = Path(path)
    arrays = files.read_arrays(path) if path.suffix.lower() == ".npz" else {}
    if "embedding" in arrays:
        raise InputError(f"{path}: a metric under a kernel acts on no vectors that a linear map could take")
    side = str(arrays.get("side", "both"))
    check_one_of(side, MAPS, f"{path}: side")
    # A map of queries is not named components, so that it is never mistaken for the factor of a metric.
    other = MAPS["both" if side == "query" else "query"]
    if other in arrays or ("side" in arrays and MAPS[side] not in arrays):
        raise InputError(f"{path}: a map of side {side!r} is called {MAPS[side]}, and {other} is of the other")
    if MAPS[side] not in arrays:
        M = read_metric(path)
        cone = NonnegativeDiagonal(len(M)) if M.ndim == 1 else PSDCone(len(M))
        return side, cone.factor(cone.element(M, str(path))), None
    L = real_array(arrays[MAPS[side]], f"{path}: {MAPS[side]}")
    if L.ndim != 2 or not np.isfinite(L).all():
        raise InputError(f"{path}: {MAPS[side]} must be a finite (rank, features) array of numbers")
    columns = [str(name) for name in arrays["columns"].ravel()] if "columns" in arrays else None
    if columns is not None and len(columns) != L.shape[1]:
        raise InputError(f"{path} names {len(columns)} columns for {MAPS[side]} of {L.shape[1]}")
    return side, L, columns


def write_solution(path: str | os.PathLike[str], solution: Solution) -> Path:
    """Write a solution with its proof as an NPZ file, all or nothing.

    The file holds the metric (``M``, or the weights ``w`` of a diagonal one), ``lower_bound``, ``upper_bound``,
    ``gap``, ``tol``, ``status``, ``solver``, and the dual point that proves the lower bound: ``witnesses``,
    ``weights`` and ``groups`` of a :class:`~convexmetric.risks.CutDual`, ``smoothed_at`` and ``width`` of
    :class:`~convexmetric.risks.SmoothedPairs` (and ``places`` and ``slopes`` of its exceptions), or the
    multipliers ``u``. For a problem in other coordinates M or w is the metric on the features, and ``variable`` the
    variable to which the proof applies.
    :func:`read_metric` and :func:`read_certificate` read it back.

    Raises
    ------
    InputError
        If the path does not end in ``.npz`` or cannot be written.
    """
    path = files.check_solution_path(path)
    certificate = solution.certificate
    letter = "w" if solution.problem.cone.diagonal else "M"
    moved = solution.problem.in_other_coordinates
    arrays: dict[str, Any] = {
        letter: getattr(solution, letter) if moved else certificate.M,
        "lower_bound": certificate.lower_bound,
        "upper_bound": certificate.upper_bound,
        "gap": certificate.gap,
        "tol": solution.tol,
        "status": solution.status,
        "solver": solution.solver,
    }
    if moved:
        arrays["variable"] = certificate.M
    arrays |= dual_arrays(certificate.dual, MULTIPLIERS)
    files.write_arrays(path, arrays)
    return path


def read_certificate(path: str | os.PathLike[str], problem: AnyProblem) -> Certificate:
    """Certify anew the metric and dual point in a file of :func:`write_solution`; its bounds are recomputed, not read.

    Without ``variable`` the metric is one on the features.

    Raises
    ------
    InputError
        If the file is not such a file, or belongs to another problem.
    """
    problem, arrays = as_problem(problem), files.read_arrays(path)
    metric = next((arrays[name] for name in ("variable", *LETTERS) if name in arrays), None)
    dual = dual_from_arrays(arrays, MULTIPLIERS)
    if metric is None or dual is None:
        raise InputError(f"{path} holds no metric with a dual point: it has {', '.join(arrays) or 'nothing'}")
    on_features = problem.in_other_coordinates and "variable" not in arrays
    return certify(problem, problem.from_features(metric) if on_features else metric, dual)


def _real(path: Path, what: str, array: NDArray[Any]) -> NDArray[np.float64]:
    """Read an array of a file into memory as float64; refuse anything but real numbers."""
    if array.dtype.kind not in "fiub":
        raise InputError(f"{path}: {what} real numbers, this array has type {array.dtype}")
    if 8 * array.size > files.MAX_BYTES:
        raise InputError(f"{path} holds more than {files.MAX_BYTES} bytes, 8 a number, and was not read")
    # A map of a file is read.
    return np.array(array, dtype=np.float64) if isinstance(array, np.memmap) else np.asarray(array, dtype=np.float64)


def _read_npz(path: Path, variable: str | None) -> NDArray[Any]:
    (array,) = files.read_arrays(path, lambda names: [_chosen(path, names, variable)]).values()
    return array


def _read_npy(path: Path, _: str | None) -> NDArray[Any]:
    # A map of the file would be in memory beside what is made of it.
    with files.opened(path) as stream:
        return files.array_of(stream, path.stat().st_size)


def _read_csv(path: Path, _: str | None) -> NDArray[Any]:
    # In text every number takes at least two bytes.
    files.existing(path, files.MAX_BYTES // 4)
    held, rows, delimiter = files.Held(path), list[NDArray[np.float64]](), None
    with files.opened(path) as stream:
        for line in files.lines_of(path, stream, "utf-8", held):
            text = line.partition("#")[0].strip()
            if not text:
                continue
            delimiter = delimiter if rows else "," if "," in text else None
            rows.append(_numbers(text.split(delimiter)))
            # A number takes 8 bytes in its row, in the matrix, and in what is made of that.
            held.add(ROW_BYTES + 24 * rows[-1].size)
            if rows[-1].size != rows[0].size:
                raise ValueError(f"row {len(rows)} has {rows[-1].size} columns, the first has {rows[0].size}")
    if not rows:
        raise ValueError("it has no numbers")
    return np.array(rows)


def _numbers(cells: list[str]) -> NDArray[np.float64]:
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError as error:
        raise ValueError(str(error).replace(" to float:", "")[:100]) from error


def _read_mat(path: Path, variable: str | None) -> NDArray[Any]:
    def chosen(contents: list[Any]) -> str:
        # Scalars are parameters such as C, and logical arrays choices.
        numeric = files.NUMERIC_MATLAB - {"logical"}
        names = [name for name, shape, kind in contents if variable or (math.prod(shape) > 1 and kind in numeric)]
        return _chosen(path, names, variable)

    return files.read_mat(path, choose=chosen)[0]


def _chosen(path: Path, names: Sequence[str], variable: str | None) -> str:
    listed = ", ".join(names) or "none"
    if variable is not None:
        if variable not in names:
            raise InputError(f"{path} has no variable {variable!r}; it has: {listed}")
        return variable
    if list(names) == [EXPORTED]:
        raise InputError(
            f"{path} holds {EXPORTED!r} alone, as a map that was exported does; a metric is called M, W or w"
        )
    if len(names) == 1:
        return names[0]
    if not names:
        raise InputError(f"{path} holds no numeric matrix")
    if found := [letter for letter in LETTERS if letter in names]:
        return found[0]
    raise InputError(f"{path} has several variables and none is called M, W or w; name one of: {listed}")


_READERS: dict[str, Callable[[Path, str | None], NDArray[Any]]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_csv,
    ".mat": _read_mat,
}
