"""The commands ``convexmetric list``, ``export-instance``, ``submit`` and ``bench``."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer

from convexmetric.bench import reports
from convexmetric.bench.benchmarking import RUNS_FILE, benchmark
from convexmetric.bench.exporting import FORMATS, export_instance
from convexmetric.bench.library import list_problems, load_instance
from convexmetric.bench.records import read_runs
from convexmetric.bench.submissions import submit
from convexmetric.bench.suites import load_suite
from convexmetric.cli import shared
from convexmetric.files import all_or_nothing, made_folder


@shared.app.command("list")
def list_(as_json: shared.AsJson = False) -> None:
    """List the instances, with certified bounds on their optimal values."""
    instances = [load_instance(name) for name in list_problems()]
    if as_json:
        shared.print_json([reports.instance_record(instance) for instance in instances])
    else:
        out = shared.console()
        # Names are there to be copied: a narrow terminal has them on lines of their own.
        wide = out.width >= shared.PIPE_WIDTH
        out.print(reports.instances_table(instances) if wide else reports.instances_text(instances))


@shared.app.command("export-instance")
def export_instance_(
    name: Annotated[str, typer.Argument(help="Name of an instance.", autocompletion=shared.complete_name)],
    to: Annotated[
        str,
        typer.Option(
            help="arrays, cvxpy (arrays and a Python file), cbf or sdpa.",
            autocompletion=shared.completing(FORMATS),
        ),
    ] = "arrays",
    output: Annotated[Path, typer.Option(help="An existing folder.")] = Path(),
) -> None:
    """Write an instance as files that need nothing of this package."""
    for path in export_instance(name, output, to=to):
        print(path)


@shared.app.command("submit")
def submit_(
    metric: Annotated[
        Path,
        typer.Argument(
            help="A metric (.npy, .npz, .csv, .mat), a solution with its dual point, or a certificate.",
            show_default=False,
        ),
    ],
    instance: Annotated[str, typer.Option(metavar="NAME", help="What it is for.", autocompletion=shared.complete_name)],
    by: Annotated[str, typer.Option(metavar="NAME", help="Whose it is, for the table of records.")] = "",
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Default: INSTANCE.submission.npz.", show_default=False)
    ] = None,
    variable: shared.Variable = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="With the data of the instance, for checks where its data set is not.")
    ] = False,
) -> None:
    """Prove bounds for an instance from your metric, and write them as a small file for its records.

    Claims in the file do not count: bounds are proven in exact arithmetic, here and again by every reader.
    """
    with shared.noted():
        print(submit(metric, instance, by=by, output=output, variable=variable, whole=whole))


@shared.app.command()
def bench(
    files: Annotated[list[str] | None, typer.Argument(help="Your file.py or file.py:name; code is run.")] = None,
    solver: Annotated[
        list[str] | None,
        typer.Option(
            help="A solver's name, or module:attribute, which is imported. Repeat for several. Default: exact.",
            autocompletion=shared.complete_solver,
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            help="small, paper, large or open. Default: small.",
            autocompletion=shared.completing(("small", "paper", "large", "open")),
        ),
    ] = None,
    instances: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB",
            help="Names of instances, or patterns such as 'ranking-*-wine-*'. Repeat for several, in place of a suite.",
            autocompletion=shared.complete_name,
        ),
    ] = None,
    tol: Annotated[float, typer.Option(help="Certified relative gap at which to stop.")] = 1e-6,
    max_seconds: Annotated[float, typer.Option(help="Limit on the wall time of a run.")] = 60.0,
    jobs: Annotated[int, typer.Option(help="Runs at a time.")] = 1,
    threads: Annotated[int, typer.Option(help="Threads of each run.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed, for solvers of your own that take one.")] = 0,
    anytime: Annotated[bool, typer.Option("--anytime", help="Draw suboptimality over time on the page.")] = False,
    output: Annotated[
        Path, typer.Option(help="Folder of runs.csv, results.json, page.html, ...; runs in it are not made again.")
    ] = Path("convexmetric-bench"),
    plot_only: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Run nothing: table and picture of this .csv or .json file, also of another tool. May come again.",
        ),
    ] = None,
    as_json: shared.AsJson = False,
    quiet: shared.Quiet = False,
) -> None:
    """Run solvers on instances, each run in a process of its own, and draw performance profiles.

    Results are saved at once: after Ctrl-C the same command continues where it stopped.
    """
    from convexmetric.bench.page import benchmark_page
    from convexmetric.bench.profiles import plot_benchmark
    from convexmetric.plotting import save_picture

    if plot_only:
        with shared.noted():
            runs = read_runs(*plot_only)
        runs = [run for run in runs if not solver or run.solver in solver]
        runs = [run for run in runs if not instances or any(fnmatchcase(run.instance, glob) for glob in instances)]
    else:
        with shared.interruptible(f"{output / RUNS_FILE} has what is known, and the same command goes on from there"):
            runs = benchmark(
                [*(files or ()), *(solver or ())] or ["exact"],
                instances,
                suite=suite,
                tol=tol,
                max_seconds=max_seconds,
                n_jobs=jobs,
                threads=threads,
                seed=seed,
                output=output,
                progress=not quiet,
            )
    named = suite or (None if instances or plot_only else "small")
    table, page, picture = output / "table.md", output / "page.html", output / "profile.png"
    figure, text = plot_benchmark(runs, tol), reports.benchmark_markdown(runs, tol)
    html = benchmark_page(runs, tol, str(load_suite(named)) if named else None, curves=anytime)
    made_folder(output)
    for path, content in ((table, text), (page, html)):
        with all_or_nothing(path) as unfinished:
            unfinished.write_text(content, encoding="utf-8")
    save_picture(figure, picture)
    if as_json:
        shared.print_json([run.to_dict() for run in runs])
    else:
        shared.console().print(reports.benchmark_table(runs))
    shared.say(f"table: {table}\npage: {page}\npicture: {picture}")
