"""The command ``convexmetric``, and its subcommands for stated problems: solve, explain, verify, demo.

Results go to standard output, progress and messages to standard error. Exit codes: 0 done; 1 the result is
not certified to the tolerance asked for; 2 the input is wrong; 3 done, but the output could not be written; 130
interrupted.
"""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from contextlib import redirect_stdout
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

from convexmetric import __version__, certificates, solvers
from convexmetric.audits import write_solution
from convexmetric.certificates.checker import MAX_BYTES, MAX_WORK, refusals
from convexmetric.cli import shared
from convexmetric.cli.reports import explanation_record, solution_table, verdict_record
from convexmetric.doors import LIBRARY
from convexmetric.errors import ConvexMetricError, GapWarning, InputError
from convexmetric.problem import MetricProblem
from convexmetric.solution import Solution

Stated = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="An instance (see 'convexmetric list'), or module:factory, a function that returns a problem of your own.",
        autocompletion=shared.complete_name,
        show_default=False,
    ),
]


def problem_of(name: str) -> tuple[MetricProblem, str, Any]:
    """State the problem of a name; also returns a title, and the instance if it is one of the library, else None."""
    if ":" not in name:
        instance = LIBRARY.open().load_instance(name)
        return instance.problem(), instance.title, instance
    problem = _made_by(name)
    return problem, f"{name}: {str(problem).partition(chr(10))[0]}", None


def _made_by(name: str) -> MetricProblem:
    """Call ``module:factory`` and return its problem; the module may lie in the current folder."""
    module_name, _, factory_name = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not module_name.startswith(error.name):
            raise
        raise InputError(f"{name}: there is no module {module_name!r} in {here} or on the path of Python") from error
    factory = getattr(module, factory_name, None)
    if not callable(factory):
        raise InputError(
            f"{name}: {module_name} has no function {factory_name!r}; name one that returns a MetricProblem"
        )
    try:
        # Check the signature before the call: a TypeError from inside the function must not look like a wrong call.
        signature(factory).bind()
    except TypeError as error:
        raise InputError(f"{name}: {factory_name}() must work without arguments; {error}") from error
    problem = factory()
    if not isinstance(problem, MetricProblem):
        raise InputError(f"{name}: {factory_name}() must return a MetricProblem, got {type(problem).__name__}")
    return problem


def solved(problem: MetricProblem, tol: float, quiet: bool, **limits: Any) -> Solution:
    """Solve without a warning of the gap, which a note after the result reports."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        return solvers.solve(problem, tol=tol, progress=not quiet, **limits)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@shared.app.callback()
def _command(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@shared.app.command()
def solve(
    name: Stated,
    tol: Annotated[float, typer.Option(help="Certified relative gap at which to stop.")] = 1e-6,
    as_json: shared.AsJson = False,
    save: Annotated[
        Path | None,
        typer.Option(callback=shared.savable, help="Write metric, bounds and dual point to this .npz."),
    ] = None,
    plot: shared.Picture = None,
    solver: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(solvers.SOLVERS)}. Default: the first exact one that fits.",
            autocompletion=shared.complete_solver,
        ),
    ] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Limit on wall time.")] = None,
    max_iter: Annotated[int | None, typer.Option(help="Limit on iterations (oracle passes).")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Write the state to this file as the solve goes on, and take it up from there.")
    ] = None,
    quiet: shared.Quiet = False,
    certificate: Annotated[
        Path | None,
        typer.Option(callback=shared.savable, help="Write a proof in exact arithmetic to this .npz; see 'verify'."),
    ] = None,
) -> None:
    """Solve an instance, or a problem of your own, to a certified relative gap.

    Ctrl-C ends the solve and keeps the best certified metric so far.
    """
    problem, title, instance = problem_of(name)
    if not as_json:
        shared.console().print(str(problem) + "\n")
    limits = {"max_seconds": max_seconds, "max_iter": max_iter}
    solution = solved(problem, tol, quiet, solver=solver, checkpoint=checkpoint, **limits)
    if as_json:
        shared.print_json({"name": name, **solution.to_dict()})
    else:
        shared.console().print(solution_table(solution))
    if save is not None:
        shared.say(f"solution: {write_solution(save, solution)}")
    if plot is not None:
        from convexmetric.plotting import plot_solution

        # Points are known for instances only; under a kernel the metric acts on kernel values, not on the features of
        # the points, so that no plane before and after can be compared.
        X, labels = (None, None) if instance is None else instance.rows()
        shown = X is not None and X.shape[1] == len(solution.M)
        shared.write_picture(plot_solution(solution, X, y=labels) if shown else plot_solution(solution), plot, title)
    if certificate is not None:
        verdict = certificates.write_certificate(certificate, problem, solution=solution, title=title)
        shared.say(f"certificate: {certificate}\n{verdict}")
    shared.end(solution)


@shared.app.command()
def explain(
    name: Stated,
    measure: Annotated[bool, typer.Option(help="Measure an evaluation of the objective.")] = True,
    max_seconds: Annotated[
        float | None, typer.Option(help="Say what a solve with this limit begins with.", show_default=False)
    ] = None,
    as_json: shared.AsJson = False,
) -> None:
    """Say which solvers the default takes for an instance, in which order, why, and what they cost; solve nothing."""
    explanation = solvers.explain(problem_of(name)[0], measure, max_seconds=max_seconds)
    if as_json:
        shared.print_json(explanation_record(name, explanation))
    else:
        shared.console().print(str(explanation))


@shared.app.command()
def verify(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="A certificate, .npz, or all its parts.", show_default=False)
    ],
    instance: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Check also that it is about this instance, built anew here: the same numbers, bit by bit.",
            autocompletion=shared.complete_name,
        ),
    ] = None,
    instance_tolerance: Annotated[
        float,
        typer.Option(
            metavar="RELATIVE",
            help="Let floats differ by so much of their array's largest, and prove bounds for the instance built here.",
        ),
    ] = 0.0,
    rules: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE.py",
            help="Admit rules of proof of others, from a Python file, which is EXECUTED, or an importable module.",
        ),
    ] = None,
    as_json: shared.AsJson = False,
    max_bytes: Annotated[int, typer.Option(help="Read no file that is larger, packed or unpacked.")] = MAX_BYTES,
    max_work: Annotated[
        float, typer.Option(help="Do no proof that takes more operations, each about a nanosecond.")
    ] = MAX_WORK,
) -> None:
    """Prove the bounds of a certificate in exact arithmetic, from its file or from those of its parts.

    Exit code 0: proven; 1: not proven; 2: refused, no certificate or one about another problem; 3: proven, but the
    verdict could not be written.
    """
    if instance is None and instance_tolerance:
        raise InputError("--instance-tolerance goes with --instance")
    deviation = None
    limits: dict[str, Any] = {"rules": rules or (), "max_bytes": max_bytes, "max_work": max_work}
    try:
        # Third-party rules may print.
        with redirect_stdout(sys.stderr), shared.interruptible("nothing is proven"):
            if instance is None:
                verdict = certificates.verify(*files, **limits)
            else:
                problem = LIBRARY.open().load_instance(instance).problem()
                limits["tolerance"] = instance_tolerance
                verdict, deviation = certificates.verify_instance(files, problem, **limits)
        with refusals("the verdict"):
            if as_json:
                shared.print_json(verdict_record(files, verdict, instance, deviation))
            else:
                print(verdict)
                if instance is not None:
                    print(f"the problem is {instance}, built anew from its data{_differing(deviation)}")
    except certificates.CertificateError as error:
        shared.say(f"refused: {error}")
        raise typer.Exit(shared.WRONG_INPUT) from None
    if not verdict.accepted:
        raise typer.Exit(shared.NOT_CERTIFIED)


def _differing(deviation: float | None) -> str:
    if not deviation:
        return ""
    if deviation != deviation:
        return "; the file has none of its data, and the bounds are proven with those of the instance built here"
    return f"; the file's numbers differ by up to {deviation:.1e}, the bounds are proven for those built here"


@shared.app.command()
def demo(plot: shared.Picture = Path("convexmetric-demo.png")) -> None:
    """Solve ranking on wine exactly, audit other metrics against the optimum, draw one picture."""
    from convexmetric.cli.demo import run_demo

    assert plot is not None
    shared.end(run_demo(plot, shared.console()))


@shared.app.command()
def warm_up() -> None:
    """Compile the loops of the usual problems and estimators, and keep them, as for the image of a container.

    They are kept in the folder that the variable NUMBA_CACHE_DIR names, else beside the package or in the home folder;
    an image with other processors wants NUMBA_CPU_NAME=generic.
    """
    from convexmetric.cli.warm_up import compile_loops

    folder = compile_loops()
    if folder is None:
        raise InputError("there is no folder to keep loops in; let NUMBA_CACHE_DIR name one that can be written")
    print(f"compiled, and kept in {folder} and folders like it")


def main(begun: float | None = None) -> None:
    """Run the command; errors a user can cause are one line on standard error.

    ``begun`` is the start of its time, by ``perf_counter``; by default now.
    """
    with shared.whole_output():
        try:
            shared.app(obj=begun or time.perf_counter())
        except ConvexMetricError as error:
            shared.say(f"error: {' '.join(str(error).split())}")
            sys.exit(shared.WRONG_INPUT)
