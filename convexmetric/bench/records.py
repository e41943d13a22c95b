"""Runs of solvers on instances of the library: records, CSV files, and what performance profiles are made of."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexmetric.arguments import checked_weight
from convexmetric.errors import InputError
from convexmetric.files import all_or_nothing

#: Relative gaps for which the seconds are kept.
GAPS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
STATUSES = ("optimal", "limit", "stalled", "unsupported", "no data", "error")

#: Times below this many seconds count as this many in ratios, as clocks do not tell them apart.
RESOLUTION = 1e-3

CurvePoint = tuple[float, float, float, float]
"""Seconds, best objective until then, its relative gap to the solver's own bound, and to that of the library."""
CURVE = ("seconds", "objective", "gap", "suboptimality")


@dataclass(frozen=True)
class Run:
    """Result of one solver on one instance; one row of the CSV file.

    Attributes
    ----------
    instance, solver : str
        Names.
    tol, max_seconds, threads : float, float, int
        Tolerance, time limit and threads asked for.
    status : str
        ``"optimal"`` (gap at most ``tol`` within the time limit), ``"limit"`` (of time), ``"stalled"``,
        ``"unsupported"``, ``"no data"`` (the data set is not there) or ``"error"``.
    message : str
        Remark on the run, such as the error.
    seconds : float
        Wall time of the solve with its certificate; NaN if it did not begin.
    reached : tuple of float
        Wall time after which the gap was at most each of ``GAPS``; infinite where it never was.
    lower_bound, upper_bound, gap : float
        Certified bounds and their relative gap. Of a function of the user's own the lower bound is that of the library.
    suboptimality : float
        Relative gap of the upper bound and the library's lower bound.
    iterations : int
        Iterations; 0 where there are none to count.
    peak_mb : float
        Largest resident memory of the process, interpreter and data included, in 2^20 bytes.
    version, machine, cores : str, str, int
        Version of the package, name of the processor, number of cores.
    seed : int
        Seed for callables that take one.
    source : str
        Beginning of the SHA-256 of the file of the user's own that the solver comes from; empty without one.
    curve : tuple of (seconds, objective, gap, suboptimality)
        The best objective so far at each time of a geometric grid, its relative gap to the best bound of the solver's
        own (infinite without one), and to the library's lower bound.
    """

    instance: str
    solver: str
    tol: float
    max_seconds: float
    threads: int
    status: str
    message: str = ""
    seconds: float = np.nan
    reached: tuple[float, ...] = (np.inf,) * len(GAPS)
    lower_bound: float = -np.inf
    upper_bound: float = np.inf
    gap: float = np.inf
    suboptimality: float = np.inf
    iterations: int = 0
    peak_mb: float = np.nan
    version: str = ""
    machine: str = ""
    cores: int = 0
    seed: int = 0
    source: str = ""
    curve: tuple[CurvePoint, ...] = ()

    @property
    def settings(self) -> tuple[Any, ...]:
        """Key of the run: a run with the same settings need not be made again."""
        return (
            *(self.instance, self.solver, self.tol, self.max_seconds, self.threads),
            *(self.version, self.machine, self.cores, self.seed, self.source),
        )

    def seconds_to(self, tol: float) -> float:
        """Wall time to a relative gap of ``tol``, one of ``GAPS`` or what was asked for; infinite if never."""
        if tol in GAPS:
            return self.reached[GAPS.index(tol)]
        return self.seconds if self.status == "optimal" else np.inf


class RunFile:
    """Runs in a CSV file, each written as soon as it is known.

    Raises
    ------
    InputError
        If the file is not one of runs.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs: list[Run] = []
        if path.exists():
            text = _text(path)
            # A last line without its newline was cut off when the program was killed: drop it.
            whole = text[: text.rfind("\n") + 1]
            if whole != text:
                os.truncate(path, len(whole.encode()))
            self.runs = _parsed(whole, path) if whole else []
            if self.runs and whole.partition("\n")[0] != ",".join(_COLUMNS):
                # A file of an earlier version: write it anew, with all columns.
                with all_or_nothing(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerows([list(_COLUMNS), *map(_row, self.runs)])

    def add(self, run: Run) -> None:
        """Append a run, on disk at once."""
        self.runs.append(run)
        try:
            with self.path.open("a", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                if file.tell() == 0:
                    writer.writerow(_COLUMNS)
                writer.writerow(_row(run))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InputError(f"cannot write {self.path}: {error.strerror or error}") from error


def read_runs(*paths: str | os.PathLike[str]) -> list[Run]:
    """Runs of one or several CSV files; of those with the same settings the last one.

    Parameters
    ----------
    *paths : path
        Files as :func:`~convexmetric.bench.benchmark` writes them.

    Returns
    -------
    list of Run

    Raises
    ------
    InputError
        If a file cannot be read or is not one of runs.
    """
    if not paths:
        raise InputError("read_runs needs at least one file")
    runs = [run for path in paths for run in _parsed(_text(Path(path)), Path(path))]
    return list({run.settings: run for run in runs}.values())


@dataclass(frozen=True)
class SolveTimes:
    """Wall times of solvers to one relative gap.

    Attributes
    ----------
    solvers, instances : tuple of str
        Names of columns and rows. Solvers carry version, machine or number of threads in their names where runs
        differ in them.
    seconds : (instances, solvers) array
        Infinite where the gap was not reached.
    tol : float
        The relative gap.
    left_out : int
        Instances that not all solvers were run on.
    runs : mapping
        The run of an instance and a solver, by these names.
    """

    solvers: tuple[str, ...]
    instances: tuple[str, ...]
    seconds: NDArray[np.float64]
    tol: float
    left_out: int
    runs: Mapping[tuple[str, str], Run]


def solve_times(runs: Iterable[Run], tol: float | None = None) -> SolveTimes:
    """Wall times to a relative gap, on the instances that all solvers were run on.

    A solver that does not support an instance was run on it and did not solve it. Without its data nothing was run.

    Parameters
    ----------
    runs : iterable of Run
        Of those with the same instance and the same label the last one counts.
    tol : float, optional
        One of ``GAPS``, or what all runs were asked for; by default the largest gap that one was asked for.

    Raises
    ------
    InputError
        If there is no run that was asked for this gap, or no instance that all solvers were run on.
    """
    everything = [run for run in runs if run.status != "no data"]
    if not everything:
        raise InputError("there are no runs on data that are there")
    if tol is None:
        tol = max(run.tol for run in everything)
    asked = [run for run in everything if run.tol <= tol]
    if tol not in GAPS and any(run.tol != tol for run in asked):
        raise InputError(f"tol must be one of {', '.join(f'{gap:g}' for gap in GAPS)}, got {tol:g}")
    if not asked:
        raise InputError(f"no run was asked for a gap of {tol:g}: the smallest is {min(r.tol for r in everything):g}")
    told = [name for name in ("version", "threads", "machine") if len({getattr(run, name) for run in asked}) > 1]
    found: dict[tuple[str, str], Run] = {}
    for run in asked:
        words = [f"{run.threads} threads" if name == "threads" else str(getattr(run, name)) for name in told]
        found[run.instance, run.solver + (f" ({', '.join(words)})" if words else "")] = run
    named = list(dict.fromkeys(name for name, _ in found))
    labels = list(dict.fromkeys(label for _, label in found))
    shared = [name for name in named if all((name, label) in found for label in labels)]
    if not shared:
        raise InputError("there is no instance that all solvers were run on")
    seconds = np.array([[found[name, label].seconds_to(tol) for label in labels] for name in shared])
    return SolveTimes(tuple(labels), tuple(shared), seconds, tol, len(named) - len(shared), found)


def performance_profile(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ratios ``r[p, s] = t[p, s] / min_s t[p, s]``, infinite where solver s did not solve instance p.

    The profile of solver s at tau is the share of instances with ``r[p, s] <= tau`` (Dolan and More, Benchmarking
    optimization software with performance profiles, 2002, section 2). Times below a millisecond count as a millisecond.
    """
    times = np.maximum(np.asarray(seconds, dtype=np.float64), RESOLUTION)
    best = times.min(axis=1, keepdims=True)
    return np.divide(times, best, out=np.full(times.shape, np.inf), where=np.isfinite(times))


def shifted_geometric_mean(
    seconds: ArrayLike, limit: ArrayLike = np.inf, *, shift: float = 1.0
) -> NDArray[np.float64] | np.float64:
    """Shifted geometric mean ``(prod_i (min(t_i, limit_i) + s))^(1/n) - s`` of times, over the first axis.

    The shift s keeps differences between very short times from counting like those between long ones (Achterberg,
    Constraint integer programming, 2007). A run that did not end well has an infinite time, and counts as its limit.

    Parameters
    ----------
    seconds : (n,) or (n, solvers) array
        Infinite where the gap was not reached.
    limit : float or array
        Time limits of the runs.
    shift : float
        s, in seconds.

    Returns
    -------
    float or (solvers,) array
        In seconds.

    Raises
    ------
    InputError
        If there is no time, one is negative or not a number, or the shift is not positive.
    """
    times = np.minimum(np.asarray(seconds, dtype=np.float64), limit)
    if times.ndim == 0 or not len(times) or not (times >= 0.0).all():
        raise InputError("seconds must be an array of nonnegative times, at least one")
    shift = checked_weight(shift, "shift")
    mean: NDArray[np.float64] | np.float64 = np.exp(np.mean(np.log(times + shift), axis=0)) - shift
    return mean


def _points(cell: str) -> tuple[CurvePoint, ...]:
    """Read the points of a curve, ``a:b:c:d a:b:c:d ...``."""
    points = (map(float, point.split(":")) for point in cell.split())
    return tuple((seconds, objective, gap, suboptimality) for seconds, objective, gap, suboptimality in points)


#: Columns and what reads them: the fields of a run, with a column for every gap in place of ``reached``.
_REACHED = [f"seconds_to_{gap:.0e}" for gap in GAPS]
_COLUMNS: dict[str, Callable[[str], Any]] = {}
for _name, _kind in get_type_hints(Run).items():
    _COLUMNS |= dict.fromkeys(_REACHED, float) if _name == "reached" else {_name: _kind}
_COLUMNS["curve"] = _points


def _row(run: Run) -> list[str]:
    values = vars(run) | dict(zip(_REACHED, run.reached, strict=True))
    # repr of a float reads back as the same float.
    values["curve"] = " ".join(":".join(map(repr, map(float, point))) for point in run.curve)
    return [
        " ".join(values[name].split()) if isinstance(values[name], str) else repr(kind(values[name]))
        for name, kind in _COLUMNS.items()
    ]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


def _parsed(text: str, path: Path) -> list[Run]:
    lines = list(csv.reader(io.StringIO(text)))
    # Files of earlier versions lack the last three columns.
    if not lines or lines[0] not in (list(_COLUMNS), list(_COLUMNS)[:-3]):
        raise InputError(f"{path} is not a file of runs: its first line must be {','.join(_COLUMNS)}")
    runs = []
    for number, cells in enumerate(lines[1:], start=2):
        try:
            values = {name: _COLUMNS[name](cell) for name, cell in zip(lines[0], cells, strict=True)}
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {error}") from error
        if values["status"] not in STATUSES:
            raise InputError(f"{path}, line {number}: status must be one of {', '.join(STATUSES)}")
        reached = tuple(values.pop(name) for name in _REACHED)
        runs.append(Run(reached=reached, **values))
    return runs
