"""The commands ``convexmetric fit`` and ``apply``, for your own tables, their options, and files of metrics."""

from __future__ import annotations

import csv
import difflib
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from convexmetric.arguments import OTHER_METHODS, check_seconds, not_one_of
from convexmetric.arrays import Array
from convexmetric.audits import read_map, read_metric
from convexmetric.cli import shared
from convexmetric.cli.fitting import DEFAULT_METHOD, KEEP_LONE, METHODS, Fitted, deviations, estimator_of, fit_table
from convexmetric.cli.reports import attributes, figures_table, fit_record, solution_table
from convexmetric.datasets import Dataset, flattened, read_csv, read_table
from convexmetric.datasets.rounding import on_raw_rows
from convexmetric.deadline import Clock
from convexmetric.errors import InputError
from convexmetric.files import all_or_nothing, read_arrays, write_arrays

#: Other names of methods, in lower case.
ALIASES = {"lmnn": "large-margin"}
#: Seconds of a time limit that are reserved for writing the report.
REPORT_SECONDS = 3.0
#: Parameters of estimators that ``--set`` does not take: most have an option of their own.
NO_SETTINGS = ("tol", "max_seconds", "progress", "preprocessor")

Method = Annotated[
    str,
    typer.Option(
        help="What to learn for. " + "; ".join(f"{name}: {use}" for name, (_, use) in METHODS.items()) + ".",
        autocompletion=shared.completing([*METHODS, *ALIASES]),
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method, such as C=10; may come again."),
]
Drop = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out; may come again.")]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line names the columns. Default: as it looks."),
]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows with a missing value, and say how many.")
]
Encode = Annotated[
    bool,
    typer.Option(
        "--encode",
        help="Make numbers of truth values, percentages and dates, and of categories a column of 0 and 1 a word.",
    ),
]
Encoding = Annotated[str, typer.Option(help="Of the table, such as latin-1 or utf-16.")]


@shared.app.command()
def fit(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Text with columns between commas, semicolons, tabs, | or blanks, also as .gz, .bz2 or .xz; Parquet; "
            "Excel; - for standard input.",
            show_default=False,
        ),
    ],
    label: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", help="The column of labels: its name, or its number, from 0, or from the end by -1."
        ),
    ],
    method: Method = DEFAULT_METHOD,
    settings: Settings = None,
    drop: Drop = None,
    header: Header = None,
    drop_missing: DropMissing = False,
    encode: Encode = False,
    encoding: Encoding = "utf-8",
    scale: Annotated[
        bool,
        typer.Option(help="Learn from columns of mean 0 and deviation 1. What is saved acts on the table as it is."),
    ] = True,
    tol: Annotated[float, typer.Option(help="Certified relative gap at which to stop.")] = 1e-4,
    max_seconds: Annotated[
        float | None, typer.Option(help="Limit on wall time, from the start of the command to its end.")
    ] = None,
    score: Annotated[
        bool,
        typer.Option(
            "--held-out/--no-held-out",
            help="Score held-out rows before and after, and say what the metric is good for.",
        ),
    ] = True,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Write components, names of columns and bounds to this .npz file; see 'apply'.",
            callback=shared.savable,
        ),
    ] = None,
    report: shared.Report = None,
    as_json: shared.AsJson = False,
    quiet: shared.Quiet = False,
) -> None:
    """Learn a metric from a labelled CSV file, with a certified optimum, and say what it is good for.

    The default is for nearest neighbours, and keeps Euclidean distance unless held-out rows do better under the learned
    metric. To rank rows or to cluster them take --method mlr, for a threshold between same and different --method
    operator; for queries with judged documents there is 'convexmetric adapt'.

    What --set does not give is chosen by cross-validation. Ctrl-C ends what is under way, the choice, the solve or the
    scores, and what is there is kept.
    """
    check_seconds(max_seconds, "max_seconds")
    # Reserve time for the report.
    limit = max_seconds if report is None or max_seconds is None else max(max_seconds - REPORT_SECONDS, 0.1)
    clock = Clock(limit, context.obj)
    method, chosen = parsed(method, settings)
    if save is not None and chosen.get("kernel") is not None:
        raise InputError("a metric under a kernel acts on no column of the table: leave out --save or the kernel")
    with shared.noted(), shared.interruptible("there is no metric yet, and nothing is saved"):
        reading: Any = {"header": header, "drop_missing": drop_missing, "encode": encode, "encoding": encoding}
        with _as_file(file) as table:
            data = read_labelled(table, label, drop, **reading)
        if method in KEEP_LONE:
            _say_lone(data)
        fitted = fit_table(data, method, chosen, scale, tol, clock.left(), score, not quiet)
    if save is not None:
        save_components(save, fitted)
    if as_json:
        shared.print_json(fit_record(str(file), fitted))
    else:
        _print_fit(fitted)
    if save is not None:
        shared.say(f"components: {save}")
    if report is not None:
        from convexmetric.cli.html_report import write_report

        with shared.interruptible(f"{report} is not written"):
            write_report(report, fitted, shared.command_line(), clock)
        shared.say(f"report: {report}")
    shared.end(fitted.solution, fitted.interrupted)


def _print_fit(fitted: Fitted) -> None:
    out = shared.console()
    if fitted.held_out is not None or fitted.unscored:
        out.print(f"{fitted.recommendation}\n")
    out.print(f"{fitted.data.summary.split('; extras')[0]}\n\n{fitted.solution.problem}\n")
    out.print(solution_table(fitted.solution))
    if fitted.unchosen:
        out.print(f"\n{fitted.unchosen[0].upper()}{fitted.unchosen[1:]}.")
    for found in (fitted.path, fitted.held_out):
        if found is not None:
            out.print(f"\n{found.heading()}", figures_table(found), sep="\n")


def read_labelled(file: Path, label: str, drop: list[str] | None, **reading: Any) -> Dataset:
    """Read a labelled table, and remove the directions in which only rounding varies."""
    data = read_csv(file, label, drop=drop or [], **reading)
    if len(data.X) < 2:
        raise InputError(f"{file} has one row only; a metric is learned from several rows of every class")
    return flattened(data)


def _say_lone(data: Dataset) -> None:
    """Print a note that names the classes with a single row."""
    assert data.y is not None
    lone = [name for name, rows in zip(data.target_names, np.bincount(data.y), strict=True) if rows == 1]
    if lone:
        shown = ", ".join(map(repr, lone[:5])) + (", ..." if len(lone) > 5 else "")
        shared.say(f"note: {len(lone)} class(es) have a single row ({shown}), to which no other row is similar")


def parsed(method: str, settings: list[str] | None) -> tuple[str, dict[str, Any]]:
    """Resolve a method to its name in METHODS, and parse its settings: ``NAME=VALUE``, a value being JSON or text."""
    method = ALIASES.get(method.lower(), method)
    if method not in METHODS:
        instead = OTHER_METHODS.get(method.lower())
        raise InputError(not_one_of("--method", METHODS, method) + (f". {instead}" if instead else ""))
    names = [name for name in estimator_of(method, {}).get_params() if name not in NO_SETTINGS]
    chosen = {}
    for setting in settings or []:
        name, mark, value = setting.partition("=")
        if not mark or name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]}=...?" if close and mark else f"known: {', '.join(names)}"
            raise InputError(f"--set takes NAME=VALUE with a parameter of the method, got {setting!r}; {hint}")
        try:
            chosen[name] = json.loads(value)
        except (ValueError, RecursionError):
            chosen[name] = value
    return method, chosen


@shared.app.command()
def apply(
    metric: Annotated[
        Path, typer.Argument(metavar="METRIC", help="What 'fit --save' wrote, or another metric.", show_default=False)
    ],
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A table with the columns that it learned from; - for standard input.",
            show_default=False,
        ),
    ],
    save: Annotated[
        Path,
        typer.Option(
            help="Write the transformed rows to this .csv or .npy file.",
            show_default=False,
            callback=shared.writable("rows are written", (".csv", ".npy")),
        ),
    ],
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="A column, of labels or names, to write beside the rows of a .csv.",
            show_default=False,
        ),
    ] = None,
    drop: Drop = None,
    header: Header = None,
    drop_missing: DropMissing = False,
    encode: Encode = False,
    encoding: Encoding = "utf-8",
    as_json: shared.AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No message of success.")] = False,
) -> None:
    """Transform a table, so that Euclidean distances of what is written are distances by a learned metric.

    Columns are found by their names, in any order; others are left out, but for that of --label. A metric that knows no
    names takes all columns but those to --drop.
    """
    if label is not None and save.suffix.lower() != ".csv":
        raise InputError(f"--label goes into a .csv file; {save} holds numbers alone")
    with shared.noted(), _as_file(file) as table:
        _, components, columns = read_map(metric)
        reading: Any = {"header": header, "drop_missing": drop_missing, "encode": encode, "encoding": encoding}
        data = read_table(table, columns, drop=drop or [], label=label, **reading)
    if data.X.shape[1] != components.shape[1]:
        raise InputError(
            f"{file} has {data.X.shape[1]} columns ({', '.join(data.extras['columns'])}), but {metric} takes "
            f"{components.shape[1]} and knows no names of columns: leave out the others by --drop"
        )
    images = data.X @ components.T
    write_rows(save, images, label, data)
    done = {"file": str(save), "rows": len(images), "columns": data.X.shape[1], "components": images.shape[1]}
    if as_json:
        shared.print_json(done)
    if not quiet:
        shared.say("rows: {file}: {rows} rows, {columns} columns transformed to {components}".format(**done))


@contextmanager
def _as_file(file: Path) -> Iterator[Path]:
    """The path of a table; what comes from standard input is a file while it is read."""
    if str(file) != "-":
        yield file
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "standard-input"
        with copy.open("xb") as whole:
            shutil.copyfileobj(sys.stdin.buffer, whole)
        yield copy


def save_components(path: Path, fitted: Fitted) -> None:
    """Save components that act on the unscaled table, with names of columns, settings and bounds."""
    arrays = {
        "components": on_raw_rows(fitted.data, fitted.estimator.components_ / deviations(fitted.data, fitted.scale)),
        "columns": np.array(fitted.data.extras["columns"]),
        "method": fitted.method,
        "settings": json.dumps(fitted.all_settings),
        **attributes(fitted.solution, "lower_bound", "upper_bound", "gap", "tol", "status", "solver"),
    }
    write_arrays(path, arrays)


def saved_settings(path: Path, method: str) -> dict[str, Any]:
    """Read the settings by which ``fit`` learned a saved metric; empty if it was by another method."""
    if path.suffix.lower() != ".npz":
        return {}
    arrays = read_arrays(path)
    if "settings" not in arrays or str(arrays.get("method")) != method:
        return {}
    try:
        settings = json.loads(str(arrays["settings"]))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: settings are no JSON") from error
    return dict(settings) if isinstance(settings, dict) else {}


def metric_on_table(path: Path, variable: str | None, data: Dataset, scale: bool) -> NDArray[np.float64]:
    """Read a metric on the (scaled) columns of a table: converted if ``fit`` saved it, otherwise unchanged.

    Raises
    ------
    InputError
        If the file holds no metric, or one of other columns.
    """
    if variable is not None or path.suffix.lower() != ".npz" or "components" not in read_arrays(path):
        return read_metric(path, variable)
    _, components, names = read_map(path)
    columns = list(data.extras["columns"])
    if names is not None:
        if sorted(names) != sorted(columns):
            other = sorted(set(names) ^ set(columns))
            raise InputError(
                f"{path} was learned from other columns than those of {data.name}: {', '.join(map(repr, other))}"
            )
        components = components[:, [names.index(name) for name in columns]]
    L = components * deviations(data, scale)
    return np.asarray(L.T @ L)


def write_rows(path: Path, rows: Array, label: str | None, data: Dataset) -> None:
    """Write rows as text with names of columns, and of labels the words, or as an array, all or nothing."""
    with all_or_nothing(path) as unfinished:
        if path.suffix.lower() == ".npy":
            with open(unfinished, "xb") as binary:
                np.save(binary, rows)
            return
        words = [()] * len(rows) if data.y is None else [(data.target_names[code],) for code in data.y]
        with open(unfinished, "x", encoding="utf-8", newline="") as text:
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(
                [f"component{place}" for place in range(rows.shape[1])] + ([] if label is None else [label])
            )
            writer.writerows([*map("{:.17g}".format, row), *word] for row, word in zip(rows, words, strict=True))
