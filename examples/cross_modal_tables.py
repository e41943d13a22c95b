"""The experiments of paper 5 (cross-modal ranking, BPRHML), beside the numbers it prints.

    python examples/cross_modal_tables.py
    python examples/cross_modal_tables.py --tasks image-text text-image --jobs 4
    python examples/cross_modal_tables.py --tasks image-text --methods CFA BPRHML --folds 2 --no-descents

Table 2 on Wikipedia (images and texts) and on Corel5k (images and keywords; other features than the paper's), with
preprocessing, weights, the number of columns and the distance in the common space chosen by cross-validation on the
training part alone, and the best of every distance; precision-recall curves (Figure 1); and what the paper does not
have: what becomes of BPRHML with other representatives, and descents on U and V from several starts with several
numbers of columns against the certified optimum. Every result is kept as soon as it is known: the same command goes on
where it was interrupted, and prints what it has. The data come from the folder named by CONVEXMETRIC_DATA.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from cross_modal_paper import descents, pictures, printed, protocol, stand_ins, tables
from cross_modal_paper.learners import DISTANCES, METHODS, settings_of
from cross_modal_paper.media import TASKS
from cross_modal_paper.stand_ins import STAND_INS
from experiments.pool import Task, run_missing
from experiments.results import Results
from rich.console import Console

#: What cross-validation chose: preprocessing, setting, its held-out MAP, and the largest gap of the fits.
Choice = dict[str, Any]
Key = TypeVar("Key", tuple[str, str], tuple[str, str, str])

NOTES = """\
How to read the tables. BPRHML is the certified optimum of the lifted problem, cut to c columns where cross-validation
prefers so (c 0: all); "paper's weights" are the alpha and beta it prints, on z-scored features; "as printed" is the
descent with the sign of equation 8 as it stands. MSmethod is made from the paper's sentence on it: singular vectors of
the mean product of relevant pairs less that of irrelevant ones. Standard errors are those over test queries; of
held-out MAP they are those over folds. The features of Corel5k are not the paper's. A descent is optimal where the
certified lower bound over all c leaves no more room than the tolerance."""


def main() -> None:
    """Run what is not yet known, then write tables and pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--folds", type=int, default=5, help="of cross-validation on the training part")
    parser.add_argument("--tol", type=float, default=1e-6, help="certified gap of the last fits")
    parser.add_argument("--seconds", type=float, default=120.0, help="limit of each of the last fits")
    parser.add_argument("--rough-tol", type=float, default=1e-3, help="certified gap in cross-validation")
    parser.add_argument("--rough-seconds", type=float, default=20.0, help="limit of each fit in cross-validation")
    parser.add_argument("--no-descents", action="store_true", help="leave the descents out")
    parser.add_argument(
        "--stand-ins", nargs="*", choices=list(STAND_INS), default=[], help="representatives to compare"
    )
    parser.add_argument("--objects", type=int, help="training pairs to compare them on; all by default")
    parser.add_argument("--stand-in-draws", type=int, default=3, help="of these pairs")
    parser.add_argument("--columns", nargs="+", type=int, default=list(range(1, 11)), help="c of the descents")
    parser.add_argument("--starts", type=int, default=10, help="descents for every c, the first from CFA")
    parser.add_argument("--max-steps", type=int, default=5_000, help="of a descent")
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--output", type=Path, default=Path("cross-modal-tables"))
    arguments = parser.parse_args()

    console = Console(width=170)
    names = ("folds", "tests", "stand-ins", "optima", "descents")
    kept = {name: Results(arguments.output / f"{name}.jsonl") for name in names}
    best, of_distances = _choices(arguments, kept["folds"])
    found = _tests(arguments, best, kept["tests"])
    sheets = [tables.scores(found, arguments.tasks), tables.choices(best, found)]
    if of_distances:
        others = _tests(arguments, of_distances, kept["tests"])
        sheets.append(tables.by_distance(of_distances, others, arguments.tasks))
    if arguments.stand_ins:
        sheets.append(tables.stand_ins(_stand_ins(arguments, best, kept["stand-ins"])))
    shown = [task for task in arguments.tasks if any(of == task for of, _ in found)]
    if shown:
        pictures.draw_curves(found, shown, arguments.output / "curves.png")
    if not arguments.no_descents:
        optima, runs = _descents(arguments, kept["optima"], kept["descents"])
        if optima:
            sheets.append(tables.descents(optima, runs, arguments.tol))
            pictures.draw_descents(optima, runs, arguments.output / "descents.png")
    for sheet in sheets:
        console.print(sheet.rich())
    console.print(NOTES)
    (arguments.output / "tables.md").write_text("\n".join(sheet.markdown() for sheet in sheets))
    console.print(f"Written to {arguments.output}")


def _choices(
    arguments: argparse.Namespace, results: Results
) -> tuple[dict[tuple[str, str], Choice], dict[tuple[str, str, str], Choice]]:
    """Cross-validation: preprocessing and setting by task and method, the best of all and of every distance."""
    rough = {"folds": arguments.folds, "tol": arguments.rough_tol, "limit": arguments.rough_seconds}
    tasks: list[Task] = []
    for task, method in _cases(arguments):
        if len(settings_of(method, task)) > 1:
            for preprocessing in protocol.preprocessing_of(method, task):
                for fold in range(arguments.folds):
                    settings = {"task": task, "method": method, "preprocessing": preprocessing, "fold": fold, **rough}
                    tasks.append((results, settings, protocol.run_fold, settings))
    # The slow ones first, so that all processes are busy to the end.
    run_missing(sorted(tasks, key=lambda task: task[1]["method"] != "BPRHML"), arguments.jobs)
    best: dict[tuple[str, str], Choice] = {}
    of_distances: dict[tuple[str, str, str], Choice] = {}
    for task, method in _cases(arguments):
        own = [settings for _, settings, _, _ in tasks if (settings["task"], settings["method"]) == (task, method)]
        known = [(settings["preprocessing"], result) for settings in own if (result := results.get(settings))]
        held_out: dict[str, list[list[float]]] = {}
        for preprocessing, result in known:
            held_out.setdefault(preprocessing, []).append(result["map"])
        gap = max((result["gap"] for _, result in known), default=0.0)
        if not held_out:
            best[task, method] = {
                "preprocessing": "zscore",
                "setting": {},
                "map": None,
                "standard_error": None,
                "gap": gap,
            }
            continue
        best[task, method] = protocol.choose(held_out, method, task) | {"gap": gap}
        for distance in DISTANCES:
            of_distances[task, method, distance] = protocol.choose(held_out, method, task, distance) | {"gap": gap}
    return best, of_distances


def _tests(arguments: argparse.Namespace, chosen: Mapping[Key, Choice], results: Results) -> dict[Key, dict[str, Any]]:
    """Scores on the test part with what was chosen; keys begin with task and method."""
    exact = {"tol": arguments.tol, "limit": arguments.seconds}
    wanted = {}
    for key, choice in chosen.items():
        settings = {"task": key[0], "method": key[1], "preprocessing": choice["preprocessing"]}
        wanted[key] = settings | {"setting": choice["setting"], **exact}
    run_missing([(results, settings, protocol.run_test, settings) for settings in wanted.values()], arguments.jobs)
    return {key: result for key, settings in wanted.items() if (result := results.get(settings)) is not None}


def _stand_ins(
    arguments: argparse.Namespace, best: Mapping[tuple[str, str], Choice], results: Results
) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    """Results by task, training pairs and representatives, with the setting that was chosen for BPRHML."""
    draws = 1 if arguments.objects is None else arguments.stand_in_draws
    wanted: list[Task] = []
    for task in arguments.tasks:
        choice = best[task, "BPRHML"]
        for name in arguments.stand_ins:
            for draw in range(draws):
                settings = {"task": task, "stand_in": name, "objects": arguments.objects, "draw": draw}
                settings |= {"preprocessing": choice["preprocessing"], "setting": choice["setting"]}
                settings |= {"tol": arguments.rough_tol, "limit": arguments.seconds}
                wanted.append((results, settings, stand_ins.run, settings))
    run_missing(wanted, arguments.jobs)
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for _, settings, _, _ in wanted:
        if (result := results.get(settings)) is not None:
            key = (settings["task"], str(settings["objects"] or "all"), settings["stand_in"])
            found.setdefault(key, []).append(result)
    return found


def _descents(
    arguments: argparse.Namespace, optima: Results, results: Results
) -> tuple[dict[str, dict[str, Any]], dict[tuple[str, int], list[dict[str, Any]]]]:
    """Certified optima with the paper's weights, and descents by task and number of columns."""
    tasks = [task for task in arguments.tasks if task in printed.WEIGHTS]
    wanted: list[Task] = []
    for task in tasks:
        settings = {"task": task, "tol": min(arguments.tol, 1e-7)}
        wanted.append((optima, settings, descents.run_optimum, settings))
    runs: list[Task] = []
    for task in tasks:
        for c in arguments.columns:
            for start in range(arguments.starts):
                settings = {"task": task, "c": c, "start": start, "max_steps": arguments.max_steps}
                runs.append((results, settings, descents.run_descent, settings))
    run_missing([*wanted, *runs], arguments.jobs)
    known = {settings["task"]: result for _, settings, _, _ in wanted if (result := optima.get(settings)) is not None}
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for _, settings, _, _ in runs:
        if (result := results.get(settings)) is not None:
            found.setdefault((settings["task"], settings["c"]), []).append(result)
    return known, found


def _cases(arguments: argparse.Namespace) -> list[tuple[str, str]]:
    return [
        (task, method)
        for task in arguments.tasks
        for method in protocol.methods_of(task)
        if method in arguments.methods
    ]


if __name__ == "__main__":
    main()
