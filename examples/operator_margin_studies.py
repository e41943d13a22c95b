"""What the differences from the numbers of paper 4 are due to.

    python examples/operator_margin_studies.py
    python examples/operator_margin_studies.py --studies objects --partitions 2

Objects: all objects are judged, four at a time, by operators of 4 to 16 others. Handwriting: lambda by cross-validation
over letters, then the error on digits against the number of letters and of their images, and on MNIST with letters
framed as MNIST frames its digits. Spread: standard errors of the measures over test categories, of MNIST where it is
named (some minutes). Every result is kept as
soon as it is known: the same command goes on where it was interrupted, and prints what it has. The data come from the
folder named by CONVEXMETRIC_DATA.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from experiments.pages import copy_pictures
from experiments.pool import Stages, Task
from experiments.results import Results
from experiments.script import parser_of, run_script, write
from experiments.sheet import Row, Sheet
from operator_paper import rows as rows_of
from operator_paper import studies, study_tables
from operator_paper.experiments import EXPERIMENTS
from operator_paper.learners import REG

STUDIES = ("objects", "lambda", "categories", "images", "framing", "spread")


def parser() -> argparse.ArgumentParser:
    """What can be chosen."""
    parser = parser_of(__doc__, "operator-studies", jobs=1)
    parser.add_argument("--studies", nargs="+", choices=STUDIES, default=STUDIES)
    parser.add_argument(
        "--spread", nargs="+", choices=[*EXPERIMENTS, "MNIST"], default=["rotation", "scale", "handwritten", "faces"]
    )
    parser.add_argument("--partitions", type=int, default=5, help="of the objects, into five parts each")
    parser.add_argument("--subsets", type=int, default=8, help="choices of letters for every number of them")
    parser.add_argument("--draws", type=int, default=100, help="choices of a single example of every category")
    parser.add_argument("--tol", type=float, default=1e-2, help="certified gap of the fits")
    parser.add_argument("--seconds", type=float, default=300.0, help="limit of each fit")
    return parser


def stages(arguments: argparse.Namespace) -> Stages:
    """Cross-validation of lambda, then all that needs what it chose."""
    results = Results(arguments.output / "fits.jsonl")
    cases = _lambdas(arguments)
    yield _tasks(cases, results, arguments)
    chosen = study_tables.chosen_lambda(_found(cases, results, arguments))
    yield [*_tasks(_others(arguments, chosen), results, arguments), *_spread(arguments, chosen).values()]


def report(arguments: argparse.Namespace) -> list[Sheet]:
    """Tables of what is known, and a picture."""
    found, spread, chosen = _known(arguments)
    sheets = list(study_tables.sheets(found, chosen))
    if spread:
        sheets.append(study_tables.spread(spread))
    if found:
        study_tables.draw(found, chosen, arguments.output / "studies.png")
    write(sheets, arguments.output / "tables.md")
    return sheets


def page(parts: Mapping[str, argparse.Namespace], folder: Path) -> dict[str, Sheet | None]:
    """Tables and pictures of docs/operator-margin-tables.md; see experiments/pages.py."""
    found: study_tables.Found = {}
    if "studies" in parts:
        found, _, _ = _known(parts["studies"])
        copy_pictures({"operator-studies.png": parts["studies"].output / "studies.png"}, folder)
    return {
        "operator-objects": study_tables.study(found, "objects", "objects to learn from"),
        "operator-lambda": study_tables.study(found, "lambda", "lambda"),
        "operator-letters": study_tables.study(found, "categories", "letters to learn from"),
        "operator-images": study_tables.study(found, "images", "images of each letter"),
        "operator-framing": study_tables.study(found, "framing", "letters", studies.MNIST),
    }


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Printed numbers beside ours."""
    found, spread, _ = _known(arguments)
    yield from rows_of.objects(found)
    yield from rows_of.framing(found)
    yield from rows_of.spread(spread)


def _known(
    arguments: argparse.Namespace,
) -> tuple[study_tables.Found, dict[tuple[str, float], dict[str, Any]], float | None]:
    """Results of fits and of standard errors, and the lambda of cross-validation."""
    results = Results(arguments.output / "fits.jsonl")
    found = _found(_lambdas(arguments), results, arguments)
    chosen = study_tables.chosen_lambda(found)
    found |= _found(_others(arguments, chosen), results, arguments)
    tasks = _spread(arguments, chosen).items()
    return found, {key: result for key, task in tasks if (result := task[0].get(task[1])) is not None}, chosen


def _lambdas(arguments: argparse.Namespace) -> list[studies.Case]:
    needed = {"lambda", "categories", "images", "framing"} & set(arguments.studies)
    return list(studies.over_lambdas()) if needed else []


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


def _spread(arguments: argparse.Namespace, chosen: float | None) -> dict[tuple[str, float], Task]:
    if "spread" not in arguments.studies:
        return {}
    results = Results(arguments.output / "spread.jsonl")
    wanted = {(name, REG["frobenius"]): {"experiment": name} for name in arguments.spread if name != "MNIST"}
    if chosen is not None and "handwritten" in arguments.spread:
        wanted["handwritten", chosen] = {"experiment": "handwritten"}
    if "MNIST" in arguments.spread:
        on_mnist = {"experiment": "handwritten", "test": studies.MNIST}
        wanted["MNIST", REG["frobenius"]] = on_mnist
        if chosen is not None:
            wanted["MNIST, framed letters", chosen] = on_mnist | {"train": studies.FRAMED_LETTERS}
    limits = {"draws": arguments.draws, "tol": arguments.tol, "seconds": arguments.seconds}
    settings = {key: {**own, "reg": key[1], **limits} for key, own in wanted.items()}
    return {key: (results, own, studies.run_spread, own) for key, own in settings.items()}


def _settings(case: studies.Case, arguments: argparse.Namespace) -> dict[str, Any]:
    return case.settings() | {"draws": arguments.draws, "tol": arguments.tol, "seconds": arguments.seconds}


def _tasks(cases: Iterable[studies.Case], results: Results, arguments: argparse.Namespace) -> list[Task]:
    # Cases of two studies may be one fit.
    fits = {repr(settings): settings for settings in (_settings(case, arguments) for case in cases)}
    return [(results, settings, studies.run, settings) for settings in fits.values()]


def _found(cases: Iterable[studies.Case], results: Results, arguments: argparse.Namespace) -> study_tables.Found:
    found: study_tables.Found = {}
    for case in cases:
        if (result := results.get(_settings(case, arguments))) is not None:
            found.setdefault((case.study, case.at, case.reg), []).append(result)
    return found


def main() -> None:
    """Run what is not yet known, then write tables and a picture."""
    run_script(parser(), stages, report)


if __name__ == "__main__":
    main()
