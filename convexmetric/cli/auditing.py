"""The command ``convexmetric audit``: metrics and iterates of any origin, on an instance or on your own table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from convexmetric import audits
from convexmetric.audits.metric_files import Iterates
from convexmetric.cli import shared, tables
from convexmetric.cli.commands import Stated, problem_of, solved
from convexmetric.cli.fitting import DEFAULT_METHOD, estimator_of, labels_of, points_of
from convexmetric.cli.reports import facts, worst_table
from convexmetric.doors import LIBRARY
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.solution import Solution

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@shared.app.command()
def audit(
    name: Stated,
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
    variable: shared.Variable = None,
    iterates: Annotated[
        bool, typer.Option("--iterates", help="The files hold iterates of solvers: suboptimality against time.")
    ] = False,
    worst: Annotated[int, typer.Option(help="How many of the costliest parts of the risk to name.")] = 10,
    plot: shared.Picture = None,
    as_json: shared.AsJson = False,
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
    quiet: shared.Quiet = False,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="NAME is a table of your own, with labels in this column.", show_default=False
        ),
    ] = None,
    method: tables.Method = DEFAULT_METHOD,
    settings: tables.Settings = None,
    drop: tables.Drop = None,
    header: tables.Header = None,
    drop_missing: tables.DropMissing = False,
    encode: tables.Encode = False,
    encoding: tables.Encoding = "utf-8",
    scale: Annotated[
        bool,
        typer.Option(
            help="State the objective on columns of mean 0 and deviation 1, on which metrics then act; those by 'fit' "
            "saved are brought there."
        ),
    ] = True,
) -> None:
    """Bound how far metrics are from the optimum of an objective, and show what is wrong with them.

    The objective is an instance, which comes with a certified bound, or that of a method on a table of your own, which
    is solved first:

    convexmetric audit ranking-auc-wine-c1 M.npy

    convexmetric audit wine.csv --label cultivar --method mlr --set C=10 --metric M.npy

    With --solve, and for a problem of your own, losses and directions are compared with those of the optimum. Several
    files make a list of JSON, and with --iterates one picture.
    """
    files = [*(files or []), *(metrics or [])]
    _check(name, files, label, tol)
    if plot is not None and len(files) > 1 and not iterates:
        raise InputError("a picture is of one metric: give one FILE, or files of iterates with --iterates")
    if iterates and variable is not None:
        raise InputError("--variable is for metrics; a file of iterates holds them as 'iterates'")
    if label is None:
        given = [audits.read_iterates(file) if iterates else audits.read_metric(file, variable) for file in files]
        problem, title, instance = problem_of(name)
    else:
        with shared.noted():
            reading: Any = {"header": header, "drop_missing": drop_missing, "encode": encode, "encoding": encoding}
            data = tables.read_labelled(Path(name), label, drop, **reading)
            method, chosen = tables.parsed(method, settings)
            # Settings that fit chose are stored in its file.
            estimator = estimator_of(method, chosen or tables.saved_settings(files[0], method))
            problem = estimator.problem(points_of(data, scale), labels_of(data))
        given = [
            audits.read_iterates(file) if iterates else tables.metric_on_table(file, variable, data, scale)
            for file in files
        ]
        title, instance = f"{method} on {name}", None
    # Certified bounds are stored for instances of the library only.
    solve = re_solve or instance is None
    optimum = solved(problem, tol or 1e-6, quiet, max_seconds=max_seconds) if solve else None
    reference = (
        audits.Reference(instance.proven[0], instance.proven[1], grade=instance.grade) if optimum is None else optimum
    )
    found = [_judged(problem, one, file.stem, reference, worst) for file, one in zip(files, given, strict=True)]
    if as_json:
        each = zip(files, found, strict=True)
        records = [{"name": name, "file": str(file), **result.to_dict()} for file, result in each]
        shared.print_json(records[0] if len(records) == 1 else records)
    else:
        _print(files, title, found)
    if plot is not None:
        shared.write_picture(_drawn(problem, found, optimum), plot, title)
    if optimum is not None and optimum.status == "interrupted":
        shared.say("interrupted: the lower bound is the best one so far")
        raise typer.Exit(shared.INTERRUPTED)
    if tol is not None and not all(_within(result, tol) for result in found):
        shared.say(f"not certified to be within {tol:g} of the optimum")
        raise typer.Exit(shared.NOT_CERTIFIED)


def _check(name: str, files: list[Path], label: str | None, tol: float | None) -> None:
    """Refuse a table without a label, an empty list of files, and an invalid tolerance."""
    # Names of instances have no folder and no suffix.
    if label is None and (Path(name).suffix.lower() in (".csv", ".tsv", ".txt") or Path(name).is_file()):
        raise InputError(f"{name} is no instance; if it is a table of yours, name its column of labels by --label")
    if not files:
        raise typer.BadParameter("name at least one metric to judge", param_hint="FILE...")
    if tol is not None and not 0.0 < tol < 1.0:
        raise InputError(f"tol must be a relative gap between 0 and 1, got {tol!r}")


def _judged(problem: MetricProblem, given: Any, name: str, reference: audits.Reference | Solution, worst: int) -> Any:
    """Audit a metric, or make the trail of iterates."""
    if not isinstance(given, Iterates):
        return audits.audit(problem, given, reference=reference, worst=worst)
    follow, times = LIBRARY.open().audit_iterates, {"seconds": given.seconds, "passes": given.passes}
    return follow(problem, given.metrics, **times, reference=reference, name=name)


def _within(result: Any, tol: float) -> bool:
    """Whether an audit, or the best iterate of a trail, is certified to a tolerance."""
    if isinstance(result, audits.Audit):
        return result.feasible and result.suboptimality <= tol
    return bool(result.best_so_far[-1] <= tol)


def _drawn(problem: MetricProblem, found: list[Any], optimum: Solution | None) -> Figure:
    """Draw an audit, or all trails, with that of the optimum if there is one."""
    if isinstance(found[0], audits.Audit):
        from convexmetric.plotting import plot_audit

        return plot_audit(found[0], problem, reference=optimum)
    library = LIBRARY.open()
    own = [] if optimum is None else [library.AuditTrail.of_solution(optimum)]
    return library.plot_trails([*found, *own])[0].figure


def _print(files: list[Path], title: str, found: list[Any]) -> None:
    """Print the result for each file: an audit, or a trail of iterates."""
    out = shared.console()
    for file, result in zip(files, found, strict=True):
        out.print(f"{file} on {title}", soft_wrap=True)
        if isinstance(result, audits.Audit):
            out.print(result.verdict, soft_wrap=True)
        out.print(facts(result.rows()), soft_wrap=True)
        if isinstance(result, audits.Audit) and result.worst:
            out.print(worst_table(result), soft_wrap=True)
