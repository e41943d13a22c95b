"""Runs of solvers on instances: records, files of this package and of others, and the data of performance profiles."""

from __future__ import annotations

import csv
import io
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexmetric.arguments import checked_weight
from convexmetric.arrays import RESULTS_VERSION, Result, plain
from convexmetric.bench.library import list_problems, load_instance
from convexmetric.certificates import relative_gap
from convexmetric.errors import InputError
from convexmetric.files import existing, guarded, written

#: Relative gaps for which the seconds are kept.
GAPS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
STATUSES = ("optimal", "limit", "stalled", "unsupported", "no data", "error")

#: Times below this many seconds count as this many in ratios, as clocks do not tell them apart.
RESOLUTION = 1e-3

#: Bytes, separators, runs, characters of a text and numbers in whole numbers that files may have, at most.
MOST_BYTES, MOST_ENTRIES, MOST_RUNS, MOST_TEXT, MOST_COUNT = 2**25, 2_000_000, 20_000, 2000, 2**128
#: What separates entries, runs and the numbers of curves.
SEPARATORS = b",", b":", b"{", b"[", b"\n"
#: Columns that were left out which are named, and the characters of their names.
MOST_NAMED, MOST_NAME = 10, 50

CurvePoint = tuple[float, float, float, float]
"""Seconds, best objective until then, its relative gap to the solver's own bound, and to that of the library."""
CURVE = ("seconds", "objective", "gap", "suboptimality")


@dataclass(frozen=True)
class Run(Result):
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
        Of the upper bound from the library's lower bound, as :func:`~convexmetric.audit` defines it.
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

    def to_dict(self) -> dict[str, Any]:
        """Return the run as JSON has it, ``reached`` by gap and ``curve`` by column; what is not finite is None."""
        reached = dict(zip((f"{gap:.0e}" for gap in GAPS), self.reached, strict=True))
        curve = {name: [point[k] for point in self.curve] for k, name in enumerate(CURVE)}
        return {"schema": RESULTS_VERSION, **plain(self), "reached": plain(reached), "curve": plain(curve)}

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
            # Runs are appended only to a file with all columns, in this order.
            if whole and whole.partition("\n")[0].split(",") != list(_COLUMNS):
                raise InputError(f"{path} is not a file of runs: its first line must be {','.join(_COLUMNS)}")
            self.runs = _parsed(whole, path) if whole else []

    def add(self, run: Run) -> None:
        """Append a run, on disk at once."""
        self.runs.append(run)
        with written(self.path), self.path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if file.tell() == 0:
                writer.writerow(_COLUMNS)
            writer.writerow(_row(run))
            file.flush()
            os.fsync(file.fileno())


def read_runs(*paths: str | os.PathLike[str]) -> list[Run]:
    """Runs of one or several files; of those with the same settings the last one.

    A file of another tool has at least the columns ``instance``, ``solver``, ``seconds`` and one of ``objective`` (or
    ``upper_bound``), ``gap`` and ``suboptimality``, in any order; cells may be empty. An objective on an instance of
    the library is judged by the library's lower bound, ``(objective - bound) / max(|objective|, |bound|)``, and so
    are status and the times to gaps: all are ``seconds``, or never. Other claims of the file prove nothing: they are
    noted in ``message``, and the run counts as ``"stalled"``. A ``tol`` that is missing is 1e-6.

    Parameters
    ----------
    *paths : path
        ``runs.csv`` or ``results.json`` of :func:`~convexmetric.bench.benchmark`, JSON as ``bench --json`` prints it,
        or CSV or JSON (a list of objects) of another tool.

    Returns
    -------
    list of Run

    Raises
    ------
    InputError
        If a file cannot be read or is not one of runs; the message names the line and the column. None is read that is
        larger than 32 MiB, or has more than two million entries or 20,000 runs.

    Warns
    -----
    UserWarning
        If a file has columns that runs do not have, which are left out.
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
        Infinite if the gap was not reached.
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
        values = {name: getattr(run, name) for name in told if getattr(run, name)}
        words = [f"{value} threads" if name == "threads" else str(value) for name, value in values.items()]
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
_KINDS: dict[str, type] = get_type_hints(Run)
_COLUMNS: dict[str, type] = {}
for _name in (field.name for field in fields(Run)):
    _COLUMNS |= dict.fromkeys(_REACHED, float) if _name == "reached" else {_name: _KINDS[_name]}
_COLUMNS["curve"] = str
#: Columns of other tools: those that every file has, those of which it has one, and what stands for missing ones.
_NEEDED, _CLAIMS = ("instance", "solver", "seconds"), ("upper_bound", "gap", "suboptimality")
_WORDS: dict[type, str] = {str: "text", int: "a whole number", float: "a number"}
_ASSUMED: dict[str, Any] = {"tol": 1e-6, "max_seconds": np.inf, "threads": 1, "status": "stalled"}


def _row(run: Run) -> list[str]:
    values = vars(run) | dict(zip(_REACHED, run.reached, strict=True))
    # repr of a float reads back as the same float.
    values["curve"] = " ".join(":".join(map(repr, map(float, point))) for point in run.curve)
    return [
        " ".join(values[name].split()) if isinstance(values[name], str) else repr(kind(values[name]))
        for name, kind in _COLUMNS.items()
    ]


def _text(path: Path) -> str:
    """The text of a file, from which no more is made than fits into some hundred megabytes."""
    with guarded(path, lambda: existing(path, MOST_BYTES).open("rb")) as file:
        raw = guarded(path, lambda: file.read(MOST_BYTES + 1))
    if len(raw) > MOST_BYTES or sum(map(raw.count, SEPARATORS)) > MOST_ENTRIES:
        raise InputError(f"{path} has more than {MOST_BYTES} bytes or {MOST_ENTRIES} entries and was not read")
    text = guarded(path, lambda: raw.decode("utf-8"))
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _parsed(text: str, path: Path) -> list[Run]:
    try:
        rows = list(islice(_rows(text, path), MOST_RUNS + 1))
    except (csv.Error, TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a file of runs: {error}") from error
    if len(rows) > MOST_RUNS:
        raise InputError(f"{path} has more than {MOST_RUNS} runs; read parts of it")
    others = {name: None for _, row in rows for name in row if name not in (*_COLUMNS, "schema", "objective")}
    if others:
        named = ", ".join(name[:MOST_NAME] for name in islice(others, MOST_NAMED))
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        warnings.warn(f"{path}: left out the columns {named}{more}", stacklevel=3)
    runs, known, bounds = [], set(list_problems()), dict[str, float]()
    for where, row in rows:
        values = _values(row, where)
        reached = tuple(values.pop(column, np.inf) for column in _REACHED)
        name = values["instance"]
        if name in known and name not in bounds:
            bounds[name] = load_instance(name).proven[0]
        ours = row.keys() >= _COLUMNS.keys()
        runs.append(Run(**values, reached=reached) if ours else _theirs(values, bounds.get(name)))
    return runs


def _rows(text: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows of a table, or objects of a list in JSON, by column; and where each stands."""
    if path.suffix.lower() == ".json":
        entries = json.loads(text)
        if isinstance(entries, dict):
            entries = entries.get("runs", [entries])
        for number, entry in enumerate(entries if isinstance(entries, list) else [entries], 1):
            row = _checked(entry, f"{path}, entry {number}")
            if isinstance(reached := row.pop("reached", None), dict):
                row |= {f"seconds_to_{gap}": reached[gap] for gap in reached}
            if isinstance(curve := row.pop("curve", None), dict):
                points = zip(*(curve.get(name, []) for name in CURVE), strict=True)
                row["curve"] = " ".join(":".join("inf" if x is None else str(x) for x in point) for point in points)
            yield f"{path}, entry {number}", row
        return
    lines = csv.reader(io.StringIO(text.removeprefix("\ufeff")), skipinitialspace=True)
    columns = _checked(dict.fromkeys(header := next(lines, [])), f"{path}, line 1")
    for cells in filter(None, lines):
        if not len(cells) == len(header) == len(columns):
            raise InputError(
                f"{path}, line {lines.line_num}: {len(cells)} cells under {len(columns)} different columns"
            )
        yield f"{path}, line {lines.line_num}", dict(zip(columns, cells, strict=True))


def _checked(row: Any, where: str) -> dict[str, Any]:
    """A copy of a row that has the columns that every run has."""
    found = set(row) if isinstance(row, dict) else set()
    if not {*_NEEDED} <= found or not {*_CLAIMS, "objective"} & found:
        needed = f"the columns {', '.join(_NEEDED)} and one of objective, {', '.join(_CLAIMS)}"
        raise InputError(f"{where}: this is not a file of runs, which have {needed}")
    return dict(row)


def _values(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Convert the cells of a row; those that are missing or empty get what is assumed."""
    values = dict(_ASSUMED)
    for name, kind in _COLUMNS.items():
        cell = row.get(name)
        if name == "upper_bound" and cell in (None, ""):
            cell = row.get("objective")
        if cell in (None, "") and name not in ("instance", "solver"):
            continue
        try:
            if isinstance(cell, bool) or cell == "" or not isinstance(cell, str if kind is str else str | int | kind):
                raise ValueError(f"must be {_WORDS[kind]}, got {cell!r:.100}")
            values[name] = _points(cell) if name == "curve" else blanked(cell) if kind is str else kind(cell)
            _check_value(name, values[name])
        except (OverflowError, ValueError) as error:
            raise InputError(f"{where}, column {name}: {error}") from error
    if values["status"] not in STATUSES:
        raise InputError(f"{where}, column status: must be one of {', '.join(STATUSES)}, got {values['status']!r}")
    return values


def blanked(text: str) -> str:
    """Replace escapes, line ends and halves of characters by blanks."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _check_value(name: str, value: Any) -> None:
    """Raise ``ValueError`` for a value that a run cannot have; what was not measured is not a number."""
    if isinstance(value, str):
        if len(value) > MOST_TEXT:
            raise ValueError(f"must have at most {MOST_TEXT} characters, got {len(value)}")
    elif isinstance(value, int) and not 0 <= value < MOST_COUNT:
        raise ValueError("must not be negative, and below 2**128")
    elif name in ("tol", "max_seconds") and not value > 0.0:
        raise ValueError(f"must be positive, got {value:g}")
    elif isinstance(value, float) and name.startswith("seconds"):
        if value < 0.0:
            raise ValueError(f"must not be negative, got {value:g}")
        if np.isnan(value) and name != "seconds":
            raise ValueError("must be a number, or inf")


def _theirs(values: dict[str, Any], bound: float | None) -> Run:
    """Run of another tool: its objective is judged by the bound of the library, what else it claims is a remark."""
    claims = {name: values.pop(name) for name in (*_CLAIMS, "lower_bound") if name in values}
    run = Run(**values | {"status": "stalled" if values["status"] == "optimal" else values["status"]})
    upper = claims.get("upper_bound", np.nan)
    if bound is not None and not np.isnan(upper):
        return judged(run, upper, bound)
    told = " and ".join(f"{name} {value:.3g}" for name, value in claims.items())
    words = [run.message, f"reports {told}, which nothing certifies" if told else ""]
    return replace(run, message="; ".join(filter(None, words)))


def judged(run: Run, objective: float, bound: float) -> Run:
    """Judge a run by its objective and a lower bound from elsewhere: gap, times to gaps, and status."""
    gap = relative_gap(objective, bound)
    if gap < -run.tol:
        words = f"the objective {objective:.10g} is below the certified bound {bound:.10g}: no feasible metric has it"
        return replace(run, status="error", message=words)
    status, message = run.status, run.message
    if gap <= run.tol:
        late = run.seconds > run.max_seconds
        status, message = ("limit", f"optimal after {run.seconds:.1f} s") if late else ("optimal", message)
    reached = tuple(run.seconds if gap <= wanted and run.seconds <= run.max_seconds else np.inf for wanted in GAPS)
    bounds: dict[str, Any] = {"lower_bound": bound, "upper_bound": objective, "gap": gap, "suboptimality": gap}
    return replace(run, status=status, message=message, reached=reached, **bounds)
