"""The command ``convexmetric``: solve, list, audit, verify, demo.

Results go to standard output, progress and messages to standard error. Exit codes: 0 done; 1 the result is
not certified to the tolerance asked for; 2 the input is wrong; 130 interrupted.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from convexmetric import __version__
from convexmetric.audit import audit as audit_metric
from convexmetric.checker import MAX_BYTES, CertificateError
from convexmetric.checker import verify as verify_file
from convexmetric.errors import ConvexMetricError, GapWarning, InputError
from convexmetric.instances import Instance, list_problems, load_instance
from convexmetric.metric_files import check_solution_path, read_metric, write_solution
from convexmetric.problem import MetricProblem
from convexmetric.proofs import check_certificate_path, difference, write_certificate
from convexmetric.reports import (
    audit_record,
    audit_table,
    instance_record,
    instances_table,
    solution_record,
    solution_table,
    verdict_record,
)
from convexmetric.solution import Solution
from convexmetric.solvers import SOLVERS
from convexmetric.solvers import solve as solve_problem

__all__ = ["app", "main"]

NOT_CERTIFIED, WRONG_INPUT, INTERRUPTED = 1, 2, 130
PICTURES = (".png", ".pdf", ".svg")
#: Columns of a table that does not go to a terminal: wide enough to wrap nothing.
PIPE_WIDTH = 160

app = typer.Typer(
    name="convexmetric",
    help="Exact metric learning: convex statements, certified optima.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _complete_name(incomplete: str) -> list[str]:
    return [name for name in list_problems() if name.startswith(incomplete)]


def _complete_solver(incomplete: str) -> list[str]:
    return [name for name in SOLVERS if name.startswith(incomplete)]


Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="An instance: see 'convexmetric list'.", autocompletion=_complete_name, show_default=False
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]


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


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the instances, with certified bounds on their optimal values."""
    instances = [load_instance(name) for name in list_problems()]
    if as_json:
        _print_json([instance_record(instance) for instance in instances])
    else:
        _console().print(instances_table(instances))


@app.command()
def solve(
    name: Name,
    tol: Annotated[float, typer.Option(help="Certified relative gap at which to stop.")] = 1e-6,
    as_json: AsJson = False,
    save: Annotated[Path | None, typer.Option(help="Write metric, bounds and dual point to this .npz file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture to this .png, .pdf or .svg file.")] = None,
    solver: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(SOLVERS)}. Default: the first exact one that fits.",
            autocompletion=_complete_solver,
        ),
    ] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Limit on wall time.")] = None,
    max_iter: Annotated[int | None, typer.Option(help="Limit on iterations (oracle passes).")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Write the state to this file as the solve goes on, and take it up from there.")
    ] = None,
    quiet: Quiet = False,
    certificate: Annotated[
        Path | None,
        typer.Option(help="Write a proof in exact arithmetic to this .npz file; see 'verify'."),
    ] = None,
) -> None:
    """Solve an instance to a certified relative gap.

    Ctrl-C ends the solve and keeps the best certified metric so far.
    """
    if save is not None:
        check_solution_path(save)
    if plot is not None:
        _check_picture_path(plot)
    if certificate is not None:
        check_certificate_path(certificate)
    instance = load_instance(name)
    problem = instance.problem()
    if not as_json:
        _console().print(str(problem) + "\n", markup=False, highlight=False)
    limits = {"max_seconds": max_seconds, "max_iter": max_iter}
    solution = _solved(problem, tol, quiet, solver=solver, checkpoint=checkpoint, **limits)
    if as_json:
        _print_json(solution_record(name, solution))
    else:
        _console().print(solution_table(solution))
    if save is not None:
        _say(f"solution: {write_solution(save, solution)}")
    if plot is not None:
        _plot(instance, solution, plot)
        _say(f"picture: {plot}")
    if certificate is not None:
        verdict = write_certificate(certificate, problem, solution, instance.title)
        _say(f"certificate: {certificate}\n{verdict}")
    if solution.status != "optimal":
        _say(f"not certified to tol = {tol:g}: the gap is {solution.gap:.2e} ({solution.status})")
        raise typer.Exit(INTERRUPTED if solution.status == "interrupted" else NOT_CERTIFIED)


@app.command()
def audit(
    name: Name,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A metric: .npy, .npz, .csv or .mat.", show_default=False)
    ],
    variable: Annotated[
        str | None, typer.Option(help="Variable of the .npz or .mat file. Default: the only one, or M, W, w.")
    ] = None,
    as_json: AsJson = False,
    tol: Annotated[
        float | None, typer.Option(help="Fail (exit code 1) if the suboptimality is not certified to be at most this.")
    ] = None,
    re_solve: Annotated[
        bool, typer.Option("--solve", help="Solve for the lower bound, to 'tol', instead of taking the committed one.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """How far is anybody's metric from the optimum of an instance?"""
    if tol is not None and not 0.0 < tol < 1.0:
        raise InputError(f"tol must be a relative gap between 0 and 1, got {tol!r}")
    metric = read_metric(file, variable)
    instance = load_instance(name)
    problem = instance.problem()
    reference = _solved(problem, tol or 1e-6, quiet) if re_solve else None
    verdict = audit_metric(problem, metric, instance.lower_bound if reference is None else reference)
    if as_json:
        _print_json(audit_record(name, str(file), verdict))
    else:
        _console().print(f"{file} on {instance.title}", markup=False, highlight=False, soft_wrap=True)
        _console().print(audit_table(verdict))
    if reference is not None and reference.status == "interrupted":
        _say("interrupted: the lower bound is the best one so far")
        raise typer.Exit(INTERRUPTED)
    if tol is not None and not (verdict.feasible and verdict.suboptimality <= tol):
        _say(f"not certified to be within {tol:g} of the optimum")
        raise typer.Exit(NOT_CERTIFIED)


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A certificate: .npz.", show_default=False)],
    instance: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Check also that it is about this instance, built anew here.",
            autocompletion=_complete_name,
        ),
    ] = None,
    as_json: AsJson = False,
    max_bytes: Annotated[int, typer.Option(help="Read no file that is larger, packed or unpacked.")] = MAX_BYTES,
) -> None:
    """Prove the bounds of a certificate in exact arithmetic.

    Exit code 0: proven; 1: not proven; 2: no certificate, or one about another problem.
    """
    try:
        verdict = verify_file(file, max_bytes)
        other = "" if instance is None else difference(file, load_instance(instance).problem(), max_bytes)
    except CertificateError as error:
        raise InputError(f"{file}: {error}") from error
    if other:
        raise InputError(f"{file} is about another problem than {instance}: what differs is {other}")
    if as_json:
        _print_json(verdict_record(str(file), verdict, instance))
    else:
        print(verdict)
        if instance is not None:
            print(f"the problem is {instance}, built anew from its data")
    if not verdict.accepted:
        raise typer.Exit(NOT_CERTIFIED)


@app.command()
def demo(
    plot: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("convexmetric-demo.png"),
) -> None:
    """Solve ranking on wine exactly, audit other metrics against the optimum, draw one picture."""
    from convexmetric.demo import run_demo

    _check_picture_path(plot)
    solution = run_demo(plot, _console())
    if solution.status != "optimal":
        raise typer.Exit(INTERRUPTED if solution.status == "interrupted" else NOT_CERTIFIED)


def main() -> None:
    """Run the command; errors a user can cause are one line on standard error."""
    try:
        app()
    except ConvexMetricError as error:
        _say(f"error: {' '.join(str(error).split())}")
        sys.exit(WRONG_INPUT)


def _solved(problem: MetricProblem, tol: float, quiet: bool, **limits: Any) -> Solution:
    with warnings.catch_warnings():
        # Said in our own words, after the result.
        warnings.simplefilter("ignore", GapWarning)
        return solve_problem(problem, tol=tol, progress=not quiet, **limits)


def _plot(instance: Instance, solution: Solution, path: Path) -> None:
    # Matplotlib takes a third of a second to import, which other commands need not wait for.
    from convexmetric.plotting import plot_solution, save_picture

    X, labels = instance.rows()
    # With a kernel the metric acts on kernel values, which have no plane of their own to compare with.
    figure = plot_solution(solution, X, labels) if X.shape[1] == len(solution.M) else plot_solution(solution)
    figure.suptitle(instance.title)
    save_picture(figure, path)


def _check_picture_path(path: Path) -> None:
    if path.suffix.lower() not in PICTURES:
        raise InputError(
            f"{path}: a picture is written as {', '.join(PICTURES)}, not as {path.suffix or 'no suffix'!r}"
        )
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}")


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=PIPE_WIDTH)


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, allow_nan=False))


def _say(message: str) -> None:
    print(message, file=sys.stderr)
