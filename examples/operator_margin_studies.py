"""What the differences from the numbers of paper 4 are due to.

    python examples/operator_margin_studies.py
    python examples/operator_margin_studies.py --studies objects --partitions 2

Objects: all objects are judged, four at a time, by operators of 4 to 16 others. Handwriting: lambda by cross-validation
over letters, then the error on digits against the number of letters and of their images, and on MNIST with letters
framed as MNIST frames its digits. Spread: standard errors of the measures over test categories. Every result is kept as
soon as it is known: the same command goes on where it was interrupted, and prints what it has. The data come from the
folder named by CONVEXMETRIC_DATA.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from experiments.pool import Task, run_missing
from experiments.results import Results
from operator_paper import studies, study_tables
from operator_paper.experiments import EXPERIMENTS
from operator_paper.learners import REG
from rich.console import Console

STUDIES = ("objects", "lambda", "categories", "images", "framing", "spread")


def main() -> None:
    """Run what is not yet known, then write tables and a picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", nargs="+", choices=STUDIES, default=STUDIES)
    parser.add_argument(
        "--spread", nargs="+", choices=list(EXPERIMENTS), default=["rotation", "scale", "handwritten", "faces"]
    )
    parser.add_argument("--partitions", type=int, default=5, help="of the objects, into five parts each")
    parser.add_argument("--subsets", type=int, default=8, help="choices of letters for every number of them")
    parser.add_argument("--draws", type=int, default=100, help="choices of a single example of every category")
    parser.add_argument("--tol", type=float, default=1e-2, help="certified gap of the fits")
    parser.add_argument("--seconds", type=float, default=300.0, help="limit of each fit")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")
    parser.add_argument("--output", type=Path, default=Path("operator-studies"))
    arguments = parser.parse_args()

    results = Results(arguments.output / "fits.jsonl")
    found: study_tables.Found = {}
    if {"lambda", "categories", "images", "framing"} & set(arguments.studies):
        _add(found, studies.over_lambdas(), results, arguments)
    chosen = study_tables.chosen_lambda(found)
    _add(found, _others(arguments, chosen), results, arguments)

    console = Console(width=150)
    sheets = list(study_tables.sheets(found, chosen))
    if "spread" in arguments.studies:
        sheets.append(study_tables.spread(_spread(arguments, chosen)))
    for sheet in sheets:
        console.print(sheet.rich())
    (arguments.output / "tables.md").write_text("\n".join(sheet.markdown() for sheet in sheets))
    study_tables.draw(found, chosen, arguments.output / "studies.png")
    console.print(f"Written to {arguments.output}")


def _others(arguments: argparse.Namespace, chosen: float | None) -> Iterator[studies.Case]:
    paper = REG["frobenius"]
    if "objects" in arguments.studies:
        yield from studies.over_splits(paper, arguments.partitions)
    if chosen is None:
        return
    if "categories" in arguments.studies:
        for reg in (paper, chosen):
            yield from studies.by_categories(reg, arguments.subsets)
    if "images" in arguments.studies:
        yield from studies.by_images(chosen)
    if "framing" in arguments.studies:
        yield from studies.by_framing((paper, chosen))


def _spread(arguments: argparse.Namespace, chosen: float | None) -> dict[tuple[str, float], dict[str, Any]]:
    results = Results(arguments.output / "spread.jsonl")
    wanted = {(experiment, REG["frobenius"]): {"experiment": experiment} for experiment in arguments.spread}
    if chosen is not None and "handwritten" in arguments.spread:
        wanted["handwritten", chosen] = {"experiment": "handwritten"}
    limits = {"draws": arguments.draws, "tol": arguments.tol, "seconds": arguments.seconds}
    settings = {key: {**own, "reg": key[1], **limits} for key, own in wanted.items()}
    run_missing([(results, own, studies.run_spread, own) for own in settings.values()], arguments.jobs)
    return {key: result for key, own in settings.items() if (result := results.get(own)) is not None}


def _add(
    found: study_tables.Found, cases: Iterable[studies.Case], results: Results, arguments: argparse.Namespace
) -> None:
    limits: dict[str, Any] = {"draws": arguments.draws, "tol": arguments.tol, "seconds": arguments.seconds}
    cases = list(cases)
    # Cases of two studies may be one fit.
    fits = {repr(case.settings()): case.settings() | limits for case in cases}
    tasks: list[Task] = [(results, settings, studies.run, settings) for settings in fits.values()]
    run_missing(tasks, arguments.jobs)
    for case in cases:
        if (result := results.get(case.settings() | limits)) is not None:
            found.setdefault((case.study, case.at, case.reg), []).append(result)


if __name__ == "__main__":
    main()
