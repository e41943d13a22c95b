"""The command ``convexmetric``: solve, explain, verify, list, audit, bench, fit, adapt, export, demo.

Results go to standard output, progress and messages to standard error. Exit codes: 0 done; 1 the result is
not certified to the tolerance asked for; 2 the input is wrong; 130 interrupted.
"""

from __future__ import annotations

import difflib
import json
import shlex
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from convexmetric import __version__
from convexmetric.arguments import OTHER_METHODS, check_seconds, not_one_of
from convexmetric.audits import Audit, Iterates, Reference, read_iterates, read_metric, write_solution
from convexmetric.audits import audit as audit_metric
from convexmetric.certificates import CertificateError, verify_instance, write_certificate
from convexmetric.certificates import verify as verify_files
from convexmetric.certificates.checker import MAX_BYTES, MAX_WORK, refusals
from convexmetric.cli.fitting import (
    DEFAULT_METHOD,
    KEEP_LONE,
    METHODS,
    Fitted,
    estimator_of,
    fit_table,
    labels_of,
    scaled,
)
from convexmetric.cli.metric_tables import metric_on_table, read_components, save_components, saved_settings, write_rows
from convexmetric.cli.own import made_by
from convexmetric.cli.reports import (
    audit_record,
    audit_table,
    explanation_record,
    figures_table,
    fit_record,
    solution_record,
    solution_table,
    verdict_record,
    worst_table,
)
from convexmetric.cli.shared import (
    INTERRUPTED,
    NOT_CERTIFIED,
    WRONG_INPUT,
    AsJson,
    Quiet,
    app,
    check_picture_path,
    check_report_path,
    complete_name,
    complete_solver,
    console,
    interruptible,
    noted,
    print_json,
    say,
)
from convexmetric.datasets import Dataset, flattened, read_csv, read_table
from convexmetric.deadline import Clock
from convexmetric.errors import ConvexMetricError, GapWarning, InputError
from convexmetric.files import check_solution_path, check_writable
from convexmetric.imports import room
from convexmetric.measures import MEASURES
from convexmetric.problem import MetricProblem
from convexmetric.solution import Solution
from convexmetric.solvers import SOLVERS
from convexmetric.solvers import explain as explain_problem
from convexmetric.solvers import solve as solve_problem

__all__ = ["app", "main"]

TABLES = (".csv", ".npy")
#: Purpose of each method of METHODS, in the words of docs/which-method.md.
USES = {
    "neighbors": "nearest neighbours",
    "mlr": "to rank and to cluster",
    "operator": "same or different, with a threshold",
    "relative": "weights of columns",
    "projection": "triplets of all rows, the fastest",
    "large-margin": "nearest neighbours, by the objective of LMNN",
}
#: Other names of methods, in lower case.
ALIASES = {"lmnn": "large-margin"}
#: Seconds of a time limit that are reserved for writing the report.
REPORT_SECONDS = 3.0


def _complete_method(incomplete: str) -> list[str]:
    return [name for name in [*METHODS, *ALIASES] if name.startswith(incomplete)]


def _complete_setting(context: typer.Context, incomplete: str) -> list[str]:
    """Complete a setting: ``NAME=`` of the method's parameters, or ``measure=`` with the names of the measures."""
    if incomplete.startswith("measure="):
        known = [f"measure={name}" for name in MEASURES]
    else:
        from convexmetric import estimators

        name = context.params.get("method") or DEFAULT_METHOD
        method = METHODS.get(ALIASES.get(name, name), METHODS[DEFAULT_METHOD])
        known = [f"{name}=" for name in _settings_of(getattr(estimators, method)().get_params())]
    return [setting for setting in known if setting.startswith(incomplete)]


Label = Annotated[
    str,
    typer.Option(
        metavar="COLUMN", help="The column of labels: its name, or its number, from 0, or from the end by -1."
    ),
]
Method = Annotated[
    str,
    typer.Option(
        help="What to learn for. " + "; ".join(f"{name}: {USES[name]}" for name in METHODS) + ".",
        autocompletion=_complete_method,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the method, such as C=10; may come again.",
        autocompletion=_complete_setting,
    ),
]
Drop = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out; may come again.")]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line names the columns. Default: as it looks."),
]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows with a missing value, and say how many.")
]
Encoding = Annotated[str, typer.Option(help="Of the table, such as latin-1 or utf-16.")]
Stated = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="An instance (see 'convexmetric list'), or module:factory, a function that returns a problem of your own.",
        autocompletion=complete_name,
        show_default=False,
    ),
]


def _problem_of(name: str) -> tuple[MetricProblem, str, Any]:
    """State the problem of a name; also returns a title, and the instance if it is one of the library, else None."""
    if ":" not in name:
        instance = room("bench").load_instance(name)
        return instance.problem(), instance.title, instance
    problem = made_by(name)
    return problem, f"{name}: {str(problem).partition(chr(10))[0]}", None


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _command(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def solve(
    name: Stated,
    tol: Annotated[float, typer.Option(help="Certified relative gap at which to stop.")] = 1e-6,
    as_json: AsJson = False,
    save: Annotated[Path | None, typer.Option(help="Write metric, bounds and dual point to this .npz file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture to this .png, .pdf or .svg file.")] = None,
    solver: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(SOLVERS)}. Default: the first exact one that fits.", autocompletion=complete_solver
        ),
    ] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Limit on wall time.")] = None,
    max_iter: Annotated[int | None, typer.Option(help="Limit on iterations (oracle passes).")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Write the state to this file as the solve goes on, and take it up from there.")
    ] = None,
    quiet: Quiet = False,
    certificate: Annotated[
        Path | None, typer.Option(help="Write a proof in exact arithmetic to this .npz file; see 'verify'.")
    ] = None,
) -> None:
    """Solve an instance, or a problem of your own, to a certified relative gap.

    Ctrl-C ends the solve and keeps the best certified metric so far.
    """
    if save is not None:
        check_solution_path(save)
    if plot is not None:
        check_picture_path(plot)
    if certificate is not None:
        check_solution_path(certificate, "a certificate")
    problem, title, instance = _problem_of(name)
    if not as_json:
        console().print(str(problem) + "\n")
    limits = {"max_seconds": max_seconds, "max_iter": max_iter}
    solution = _solved(problem, tol, quiet, solver=solver, checkpoint=checkpoint, **limits)
    if as_json:
        print_json(solution_record(name, solution))
    else:
        console().print(solution_table(solution))
    if save is not None:
        say(f"solution: {write_solution(save, solution)}")
    if plot is not None:
        _plot(instance, title, solution, plot)
        say(f"picture: {plot}")
    if certificate is not None:
        verdict = write_certificate(certificate, problem, solution=solution, title=title)
        say(f"certificate: {certificate}\n{verdict}")
    if solution.status != "optimal":
        say(f"not certified to tol = {tol:g}: the gap is {solution.gap:.2e} ({solution.status})")
        raise typer.Exit(INTERRUPTED if solution.status == "interrupted" else NOT_CERTIFIED)


@app.command()
def explain(
    name: Stated,
    measure: Annotated[bool, typer.Option(help="Measure an evaluation of the objective.")] = True,
    max_seconds: Annotated[
        float | None, typer.Option(help="Say what a solve with this limit begins with.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say which solvers the default takes for an instance, in which order, why, and what they cost; solve nothing."""
    explanation = explain_problem(_problem_of(name)[0], measure, max_seconds=max_seconds)
    if as_json:
        print_json(explanation_record(name, explanation))
    else:
        console().print(str(explanation))


@app.command()
def audit(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="An instance (see 'convexmetric list'), module:factory, a function that returns a problem of your "
            "own, or with --label a table of your own.",
            autocompletion=complete_name,
            show_default=False,
        ),
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="A metric: .npy, .npz, .csv or .mat. With --iterates .npz files or folders of iterates.",
            show_default=False,
        ),
    ] = None,
    metrics: Annotated[
        list[Path] | None, typer.Option("--metric", metavar="FILE", help="The same as FILE; may come again.")
    ] = None,
    variable: Annotated[
        str | None, typer.Option(help="Variable of the .npz or .mat file. Default: the only one, or M, W, w.")
    ] = None,
    iterates: Annotated[
        bool, typer.Option("--iterates", help="The files hold iterates of solvers: suboptimality against time.")
    ] = False,
    worst: Annotated[int, typer.Option(help="How many of the costliest parts of the risk to name.")] = 10,
    plot: Annotated[Path | None, typer.Option(help="Write a picture to this .png, .pdf or .svg file.")] = None,
    as_json: AsJson = False,
    tol: Annotated[
        float | None, typer.Option(help="Fail (exit code 1) if the suboptimality is not certified to be at most this.")
    ] = None,
    re_solve: Annotated[
        bool,
        typer.Option(
            "--solve",
            help="Solve for the lower bound, to 'tol', instead of taking the committed one. Always on a table.",
        ),
    ] = False,
    max_seconds: Annotated[float | None, typer.Option(help="Limit on the wall time of that solve.")] = None,
    quiet: Quiet = False,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="NAME is a table of your own, with labels in this column.", show_default=False
        ),
    ] = None,
    method: Method = DEFAULT_METHOD,
    settings: Settings = None,
    drop: Drop = None,
    header: Header = None,
    drop_missing: DropMissing = False,
    encoding: Encoding = "utf-8",
    scale: Annotated[
        bool,
        typer.Option(
            help="State the objective on columns of mean 0 and deviation 1, on which metrics then act; those by 'fit' "
            "saved are brought there."
        ),
    ] = True,
) -> None:
    """How far are anybody's metrics from the optimum of an objective, and what is wrong with them?

    The objective is an instance, which comes with a certified bound, or that of a method on a table of your own, which
    is solved first:

    convexmetric audit ranking-auc-wine-c1 M.npy

    convexmetric audit wine.csv --label cultivar --method mlr --set C=10 --metric M.npy

    With --solve, and for a problem of your own, losses and directions are compared with those of the optimum. Several
    files make a list of JSON, and with --iterates one picture.
    """
    files = [*(files or []), *(metrics or [])]
    if label is None:
        _refuse_table(name)
    if not files:
        raise typer.BadParameter("name at least one metric to judge", param_hint="FILE...")
    _check_audit(files, variable, iterates, plot, tol)
    instance: Any = None
    if label is None:
        read = [read_iterates(file) if iterates else read_metric(file, variable) for file in files]
        problem, title, instance = _problem_of(name)
    else:
        with noted():
            data = _labelled(Path(name), label, drop, header, drop_missing, encoding)
            method = _known(method)
            # Settings that fit chose are stored in its file.
            chosen = _settings(settings, method) or saved_settings(files[0], method)
            estimator = estimator_of(method, chosen)
            problem = estimator.problem(scaled(data) if scale else data.X, labels_of(data))
        read = [read_iterates(file) if iterates else metric_on_table(file, variable, data, scale) for file in files]
        title = f"{method} on {name}"
    reference: Solution | None = None
    against: Reference | Solution
    if re_solve or instance is None:
        # Certified bounds are stored for instances of the library only.
        against = reference = _solved(problem, tol or 1e-6, quiet, max_seconds=max_seconds)
    else:
        against = Reference(instance.lower_bound, instance.upper_bound)
    records: list[dict[str, Any]] = []
    audits: list[Audit] = []
    trails: list[Any] = []
    near, limit = True, tol or np.inf
    for file, given in zip(files, read, strict=True):
        heading = f"{file} on {title}"
        if isinstance(given, Iterates):
            trail = room("bench").audit_iterates(
                problem, given.metrics, seconds=given.seconds, passes=given.passes, reference=against, name=file.stem
            )
            trails.append(trail)
            near = near and bool(trail.best_so_far[-1] <= limit)
            records.append(room("bench.reports").trail_record(name, str(file), trail))
            shown = [heading, room("bench.reports").trail_table(trail)]
        else:
            verdict = audit_metric(problem, given, reference=against, worst=worst)
            audits.append(verdict)
            near = near and verdict.feasible and verdict.suboptimality <= limit
            records.append(audit_record(name, str(file), verdict))
            shown = [heading, verdict.verdict, audit_table(verdict), *([worst_table(verdict)] if verdict.worst else [])]
        for part in shown if not as_json else []:
            console().print(part, soft_wrap=True)
    if as_json:
        print_json(records[0] if len(records) == 1 else records)
    if plot is not None:
        _plot_audit(problem, title, trails, audits, reference, plot)
        say(f"picture: {plot}")
    if reference is not None and reference.status == "interrupted":
        say("interrupted: the lower bound is the best one so far")
        raise typer.Exit(INTERRUPTED)
    if tol is not None and not near:
        say(f"not certified to be within {tol:g} of the optimum")
        raise typer.Exit(NOT_CERTIFIED)


@app.command()
def verify(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="A certificate, .npz, or all its parts.", show_default=False)
    ],
    instance: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Check also that it is about this instance, built anew here: the same numbers, bit by bit.",
            autocompletion=complete_name,
        ),
    ] = None,
    instance_tolerance: Annotated[
        float,
        typer.Option(
            metavar="RELATIVE",
            help="Let floats differ by so much of their array's largest, and prove bounds for the instance built here.",
        ),
    ] = 0.0,
    as_json: AsJson = False,
    max_bytes: Annotated[int, typer.Option(help="Read no file that is larger, packed or unpacked.")] = MAX_BYTES,
    max_work: Annotated[
        float, typer.Option(help="Do no proof that takes more operations, each about a nanosecond.")
    ] = MAX_WORK,
) -> None:
    """Prove the bounds of a certificate in exact arithmetic, from its file or from those of its parts.

    Exit code 0: proven; 1: not proven; 2: refused, no certificate or one about another problem.
    """
    if instance is None and instance_tolerance:
        raise InputError("--instance-tolerance goes with --instance")
    deviation = None
    try:
        if instance is None:
            verdict = verify_files(*files, max_bytes=max_bytes, max_work=max_work)
        else:
            problem = room("bench").load_instance(instance).problem()
            verdict, deviation = verify_instance(
                files, problem, tolerance=instance_tolerance, max_bytes=max_bytes, max_work=max_work
            )
        with refusals("the verdict"):
            if as_json:
                print_json(verdict_record(files, verdict, instance, deviation))
            else:
                print(verdict)
                if instance is not None:
                    print(f"the problem is {instance}, built anew from its data{_deviating(deviation)}")
            sys.stdout.flush()
    except CertificateError as error:
        say(f"refused: {error}")
        raise typer.Exit(WRONG_INPUT) from None
    if not verdict.accepted:
        raise typer.Exit(NOT_CERTIFIED)


def _deviating(deviation: float | None) -> str:
    if not deviation:
        return ""
    return f"; the file's numbers differ by up to {deviation:.1e}, the bounds are proven for those built here"


@app.command()
def fit(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Text with columns between commas, semicolons or tabs, also as .gz or .bz2; Parquet or Excel.",
            show_default=False,
        ),
    ],
    label: Label,
    method: Method = DEFAULT_METHOD,
    settings: Settings = None,
    drop: Drop = None,
    header: Header = None,
    drop_missing: DropMissing = False,
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
        Path | None, typer.Option(help="Write components, names of columns and bounds to this .npz file; see 'apply'.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page of all that was found to this .html file.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn a metric from a labelled CSV file, with a certified optimum, and say what it is good for.

    The default is for nearest neighbours, and keeps Euclidean distance unless held-out rows do better under the learned
    metric. To rank rows or to cluster them take --method mlr, for a threshold between same and different --method
    operator; for queries with judged documents there is 'convexmetric adapt'.

    What --set does not give is chosen by cross-validation. Ctrl-C ends what is under way, the choice, the solve or the
    scores, and what is there is kept.
    """
    if save is not None:
        check_solution_path(save)
    if report is not None:
        check_report_path(report)
    check_seconds(max_seconds, "max_seconds")
    # Reserve time for the report.
    limit = max_seconds if report is None or max_seconds is None else max(max_seconds - REPORT_SECONDS, 0.1)
    clock = Clock(limit, context.obj)
    method = _known(method)
    chosen = _settings(settings, method)
    if save is not None and chosen.get("kernel") is not None:
        raise InputError("a metric under a kernel acts on no column of the table: leave out --save or the kernel")
    with noted(), interruptible("there is no metric yet, and nothing is saved"):
        data = _labelled(file, label, drop, header, drop_missing, encoding)
        if method in KEEP_LONE:
            _say_lone(data)
        fitted = fit_table(data, method, chosen, scale, tol, clock.left(), score, not quiet)
    solution = fitted.solution
    if save is not None:
        save_components(save, fitted)
    if as_json:
        print_json(fit_record(str(file), fitted))
    else:
        _print_fit(fitted)
    if save is not None:
        say(f"components: {save}")
    if report is not None:
        from convexmetric.cli.html_report import write_report

        with interruptible(f"{report} is not written"):
            write_report(report, fitted, shlex.join(["convexmetric", *sys.argv[1:]]), clock)
        say(f"report: {report}")
    if solution.status != "optimal":
        say(f"not certified to tol = {tol:g}: the gap is {solution.gap:.2e} ({solution.status})")
    if fitted.interrupted:
        raise typer.Exit(INTERRUPTED)
    if solution.status != "optimal":
        raise typer.Exit(NOT_CERTIFIED)


def _print_fit(fitted: Fitted) -> None:
    out, solution = console(), fitted.solution
    if fitted.held_out is not None or fitted.unscored:
        out.print(f"{fitted.recommendation}\n")
    head = f"{fitted.data.summary.split('; extras')[0]}\n\n{solution.problem}\n"
    out.print(head)
    out.print(solution_table(solution))
    if fitted.path is not None:
        out.print(f"\n{fitted.path.heading()}", figures_table(fitted.path), sep="\n")
    elif fitted.unchosen:
        out.print(f"\n{fitted.unchosen[0].upper()}{fitted.unchosen[1:]}.")
    if fitted.held_out is not None:
        out.print(f"\n{fitted.held_out.heading()}", figures_table(fitted.held_out), sep="\n")


def _labelled(
    file: Path, label: str, drop: list[str] | None, header: bool | None, drop_missing: bool, encoding: str
) -> Dataset:
    """Read a labelled table, and remove the directions in which only rounding varies."""
    data = read_csv(file, label, drop=drop or [], header=header, drop_missing=drop_missing, encoding=encoding)
    if len(data.X) < 2:
        raise InputError(f"{file} has one row only; a metric is learned from several rows of every class")
    return flattened(data)


def _say_lone(data: Dataset) -> None:
    """Print a note that names the classes of one row."""
    assert data.y is not None
    lone = [name for name, rows in zip(data.target_names, np.bincount(data.y), strict=True) if rows == 1]
    if lone:
        shown = ", ".join(map(repr, lone[:5])) + (", ..." if len(lone) > 5 else "")
        say(f"note: {len(lone)} class(es) have a single row ({shown}), to which no other row is similar")


@app.command()
def apply(
    metric: Annotated[
        Path, typer.Argument(metavar="METRIC", help="What 'fit --save' wrote: .npz.", show_default=False)
    ],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A table with the columns that it learned from.", show_default=False)
    ],
    save: Annotated[
        Path, typer.Option(help="Write the transformed rows to this .csv or .npy file.", show_default=False)
    ],
    drop: Drop = None,
    header: Header = None,
    drop_missing: DropMissing = False,
    encoding: Encoding = "utf-8",
) -> None:
    """Transform a table, so that Euclidean distances of what is written are distances by a learned metric.

    Columns are found by their names, in any order; others, such as labels, are left out. A metric that knows no names
    takes all columns but those to --drop.
    """
    if save.suffix.lower() not in TABLES:
        raise InputError(f"{save}: rows are written as {' or '.join(TABLES)}, not as {save.suffix or 'no suffix'!r}")
    check_writable(save)
    with noted():
        components, columns = read_components(metric)
        data = read_table(file, columns, drop=drop or [], header=header, drop_missing=drop_missing, encoding=encoding)
    if data.X.shape[1] != components.shape[1]:
        raise InputError(
            f"{file} has {data.X.shape[1]} columns ({', '.join(data.extras['columns'])}), but {metric} takes "
            f"{components.shape[1]} and knows no names of columns: leave out the others by --drop"
        )
    images = data.X @ components.T
    write_rows(save, images)
    say(f"rows: {save}: {len(images)} rows, {data.X.shape[1]} columns transformed to {images.shape[1]}")


@app.command()
def demo(
    plot: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("convexmetric-demo.png"),
) -> None:
    """Solve ranking on wine exactly, audit other metrics against the optimum, draw one picture."""
    from convexmetric.cli.demo import run_demo

    check_picture_path(plot)
    solution = run_demo(plot, console())
    if solution.status != "optimal":
        raise typer.Exit(INTERRUPTED if solution.status == "interrupted" else NOT_CERTIFIED)


def main(begun: float | None = None) -> None:
    """Run the command; errors a user can cause are one line on standard error.

    ``begun`` is when its time began, by ``perf_counter``; by default now.
    """
    try:
        app(obj=begun or time.perf_counter())
    except ConvexMetricError as error:
        say(f"error: {' '.join(str(error).split())}")
        sys.exit(WRONG_INPUT)


def _solved(problem: MetricProblem, tol: float, quiet: bool, **limits: Any) -> Solution:
    with warnings.catch_warnings():
        # A note after the result tells the gap in place of the warning.
        warnings.simplefilter("ignore", GapWarning)
        return solve_problem(problem, tol=tol, progress=not quiet, **limits)


def _settings_of(known: Iterable[str]) -> list[str]:
    """Parameters of a method that ``--set`` takes, as they have no option of their own."""
    return [key for key in known if key not in ("tol", "max_seconds", "progress", "preprocessor")]


def _settings(texts: list[str] | None, method: str) -> dict[str, Any]:
    """Parse the settings ``NAME=VALUE`` of a method."""
    known = estimator_of(method, {}).get_params()
    return dict(_setting(text, known) for text in texts or [])


def _setting(text: str, known: dict[str, Any]) -> tuple[str, Any]:
    """Parse ``NAME=VALUE``; the value is JSON if it parses as such, else text."""
    name, mark, value = text.partition("=")
    names = _settings_of(known)
    if not mark or name not in names:
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]}=...?" if close and mark else f"known: {', '.join(names)}"
        raise InputError(f"--set takes NAME=VALUE with a parameter of the method, got {text!r}; {hint}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _plot(instance: Any, title: str, solution: Solution, path: Path) -> None:
    # Imported here, as Matplotlib takes a third of a second to import.
    from convexmetric.plotting import plot_solution, save_picture
    from convexmetric.plotting.axes import text_of

    # Points are known for instances only; under a kernel the metric acts on kernel values, not on the features of
    # the points, so that no plane before and after can be compared.
    X, labels = (None, None) if instance is None else instance.rows()
    shown = X is not None and X.shape[1] == len(solution.M)
    figure = plot_solution(solution, X, y=labels) if shown else plot_solution(solution)
    figure.suptitle(text_of(title))
    save_picture(figure, path)


def _refuse_table(name: str) -> None:
    """Refuse a table where an instance is expected: names of instances have no folder and no suffix."""
    if Path(name).suffix.lower() in (".csv", ".tsv", ".txt") or Path(name).is_file():
        raise InputError(f"{name} is no instance; if it is a table of yours, name its column of labels by --label")


def _known(method: str) -> str:
    """Resolve a method to its name in METHODS; ``lmnn`` and the like are other names."""
    method = ALIASES.get(method.lower(), method)
    if method not in METHODS:
        instead = OTHER_METHODS.get(method.lower())
        raise InputError(not_one_of("--method", METHODS, method) + (f". {instead}" if instead else ""))
    return method


def _check_audit(files: list[Path], variable: str | None, iterates: bool, plot: Path | None, tol: float | None) -> None:
    """Refuse options that do not go together, before anything is read."""
    if tol is not None and not 0.0 < tol < 1.0:
        raise InputError(f"tol must be a relative gap between 0 and 1, got {tol!r}")
    if plot is not None:
        check_picture_path(plot)
        if len(files) > 1 and not iterates:
            raise InputError("a picture is of one metric: give one FILE, or files of iterates with --iterates")
    if iterates and variable is not None:
        raise InputError("--variable is for metrics; a file of iterates holds them as 'iterates'")


def _plot_audit(
    problem: MetricProblem, title: str, trails: list[Any], audits: list[Audit], reference: Solution | None, path: Path
) -> None:
    from matplotlib.figure import Figure

    from convexmetric.plotting import plot_audit, save_picture
    from convexmetric.plotting.axes import text_of

    if audits:
        figure = plot_audit(problem, audits[0], reference=reference)
    else:
        own = [] if reference is None else [room("bench").AuditTrail.of_solution(reference)]
        figure = Figure(figsize=(11.0, 4.8), layout="constrained")
        room("bench").plot_trails([*trails, *own], figure.subplots(1, 2))
    figure.suptitle(text_of(title))
    save_picture(figure, path)
