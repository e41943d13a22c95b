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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from cross_modal_paper import descents, pictures, printed, protocol, stand_ins, tables
from cross_modal_paper import rows as rows_of
from cross_modal_paper.learners import DISTANCES, METHODS, settings_of
from cross_modal_paper.media import TASKS
from cross_modal_paper.stand_ins import STAND_INS
from experiments.pages import copy_pictures
from experiments.pool import Stages, Task, done
from experiments.results import Results
from experiments.script import parser_of, run_script, write
from experiments.sheet import Row, Sheet

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


def parser() -> argparse.ArgumentParser:
    """What can be chosen."""
    parser = parser_of(__doc__, "cross-modal-tables")
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
    parser.add_argument(
        "--objects", nargs="+", type=_objects, default=[None], help="training pairs to compare them on, or all"
    )
    parser.add_argument("--stand-in-draws", type=int, default=3, help="of these pairs")
    parser.add_argument("--columns", nargs="+", type=int, default=list(range(1, 11)), help="c of the descents")
    parser.add_argument("--starts", type=int, default=10, help="descents for every c, the first from CFA")
    parser.add_argument("--max-steps", type=int, default=5_000, help="of a descent")
    return parser


class _Kept:
    """The files of results in a folder."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        names = ("folds", "tests", "stand-ins", "optima", "descents")
        self.folds, self.tests, self.stand_ins, self.optima, self.descents = (
            Results(arguments.output / f"{name}.jsonl") for name in names
        )


def stages(arguments: argparse.Namespace) -> Stages:
    """Cross-validation and descents, then all that needs what was chosen."""
    kept = _Kept(arguments)
    yield [*_fold_tasks(arguments, kept), *_optimum_tasks(arguments, kept), *_descent_tasks(arguments, kept)]
    best, of_distances = _choices(arguments, kept)
    tests = {**_test_tasks(arguments, best, kept), **_test_tasks(arguments, of_distances, kept)}
    # What is best of all is the best of a distance as well.
    different = {repr(task[1]): task for task in tests.values()}
    yield [*different.values(), *_stand_in_tasks(arguments, best, kept)]


def report(arguments: argparse.Namespace) -> list[Sheet]:
    """Tables of what is known, and pictures."""
    kept = _Kept(arguments)
    best, of_distances = _choices(arguments, kept)
    found = _known(_test_tasks(arguments, best, kept))
    sheets = [tables.scores(found, arguments.tasks), tables.choices(best, found)] if found else []
    if others := _known(_test_tasks(arguments, of_distances, kept)):
        sheets.append(tables.by_distance(of_distances, others, arguments.tasks))
    if stand_ins_of := _stand_ins(arguments, best, kept):
        sheets.append(tables.stand_ins(stand_ins_of))
    shown = [task for task in arguments.tasks if any(of == task for of, _ in found)]
    if shown:
        pictures.draw_curves(found, shown, arguments.output / "curves.png")
    optima, runs = _descents(arguments, kept)
    if runs:
        sheets.append(tables.descents(optima, runs, arguments.tol))
        pictures.draw_descents(optima, runs, arguments.output / "descents.png")
    write(sheets, arguments.output / "tables.md")
    return sheets


def page(parts: Mapping[str, argparse.Namespace], folder: Path) -> dict[str, Sheet | None]:
    """Tables and pictures of docs/cross-modal-tables.md; see experiments/pages.py."""
    sheets: dict[str, Sheet | None] = {
        f"cross-modal-{name}": None for name in ("choices", "representatives", "descents")
    }
    for end, names, tasks in (
        ("", ("wikipedia",), ["image-text", "text-image"]),
        ("-corel5k", ("corel", "corel-keywords", "corel-images"), ["image-keyword", "keyword-image"]),
    ):
        of_distances, found, others = _merged([parts[name] for name in names if name in parts])
        sheets[f"cross-modal-table-2{end}"] = tables.scores(found, tasks) if found else None
        sheets[f"cross-modal-distances{end}"] = tables.by_distance(of_distances, others, tasks) if others else None
        if shown := [task for task in tasks if any(of == task for of, _ in found)]:
            pictures.draw_curves(found, shown, folder / f"cross-modal-curves{end}.png")
    if (arguments := parts.get("wikipedia")) is not None:
        kept = _Kept(arguments)
        best, _ = _choices(arguments, kept)
        known = _known(_test_tasks(arguments, best, kept))
        sheets["cross-modal-choices"] = tables.choices(best, known) if known else None
        sheets["cross-modal-representatives"] = tables.stand_ins(_stand_ins(arguments, best, kept))
        sheets["cross-modal-descents"] = tables.descents(*_descents(arguments, kept), arguments.tol)
        copy_pictures({"cross-modal-descents.png": arguments.output / "descents.png"}, folder)
    return sheets


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Printed numbers beside ours."""
    kept = _Kept(arguments)
    best, _ = _choices(arguments, kept)
    yield from rows_of.scores(_known(_test_tasks(arguments, best, kept)))


def _merged(
    of: Sequence[argparse.Namespace],
) -> tuple[
    dict[tuple[str, str, str], Choice],
    dict[tuple[str, str], dict[str, Any]],
    dict[tuple[str, str, str], dict[str, Any]],
]:
    """Choices of every distance, and test results of the best and of every distance, of several parts together."""
    of_distances: dict[tuple[str, str, str], Choice] = {}
    found: dict[tuple[str, str], dict[str, Any]] = {}
    others: dict[tuple[str, str, str], dict[str, Any]] = {}
    for arguments in of:
        kept = _Kept(arguments)
        chosen, chosen_of = _choices(arguments, kept)
        of_distances |= chosen_of
        found |= _known(_test_tasks(arguments, chosen, kept))
        others |= _known(_test_tasks(arguments, chosen_of, kept))
    return of_distances, found, others


def _stand_ins(
    arguments: argparse.Namespace, best: Mapping[tuple[str, str], Choice], kept: _Kept
) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    """Results of representatives by task, number of training pairs and kind, one a draw."""
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for settings, result in done(_stand_in_tasks(arguments, best, kept)):
        key = (settings["task"], str(settings["objects"] or "all"), settings["stand_in"])
        found.setdefault(key, []).append(result)
    return found


def _descents(
    arguments: argparse.Namespace, kept: _Kept
) -> tuple[dict[str, dict[str, Any]], dict[tuple[str, int], list[dict[str, Any]]]]:
    """Certified optima by task, and the descents of tasks that have one by task and c."""
    optima = {settings["task"]: result for settings, result in done(_optimum_tasks(arguments, kept))}
    runs: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for settings, result in done(_descent_tasks(arguments, kept)):
        if settings["task"] in optima:
            runs.setdefault((settings["task"], settings["c"]), []).append(result)
    return optima, runs


def _known(tasks: Mapping[Key, Task]) -> dict[Key, dict[str, Any]]:
    return {key: result for key, task in tasks.items() if (result := task[0].get(task[1])) is not None}


def _fold_tasks(arguments: argparse.Namespace, kept: _Kept) -> list[Task]:
    rough = {"folds": arguments.folds, "tol": arguments.rough_tol, "limit": arguments.rough_seconds}
    tasks: list[Task] = []
    for task, method in _cases(arguments):
        if len(settings_of(method, task)) > 1:
            for preprocessing in protocol.preprocessing_of(method, task):
                for fold in range(arguments.folds):
                    settings = {"task": task, "method": method, "preprocessing": preprocessing, "fold": fold, **rough}
                    tasks.append((kept.folds, settings, protocol.run_fold, settings))
    # The slow ones first, so that all processes are busy to the end.
    return sorted(tasks, key=lambda task: task[1]["method"] != "BPRHML")


def _choices(
    arguments: argparse.Namespace, kept: _Kept
) -> tuple[dict[tuple[str, str], Choice], dict[tuple[str, str, str], Choice]]:
    """What cross-validation chose by task and method, the best of all and of every distance.

    A method is left out while some of its folds are missing.
    """
    tasks = _fold_tasks(arguments, kept)
    best: dict[tuple[str, str], Choice] = {}
    of_distances: dict[tuple[str, str, str], Choice] = {}
    for task, method in _cases(arguments):
        own = [one for one in tasks if (one[1]["task"], one[1]["method"]) == (task, method)]
        known = [(settings["preprocessing"], result) for settings, result in done(own)]
        if not own:
            nothing = {"setting": {}, "map": None, "standard_error": None, "gap": 0.0}
            best[task, method] = {"preprocessing": "zscore", **nothing}
        if not own or len(known) < len(own):
            continue
        held_out: dict[str, list[list[float]]] = {}
        for preprocessing, result in known:
            held_out.setdefault(preprocessing, []).append(result["map"])
        gap = max(result["gap"] for _, result in known)
        best[task, method] = protocol.choose(held_out, method, task) | {"gap": gap}
        for distance in DISTANCES:
            of_distances[task, method, distance] = protocol.choose(held_out, method, task, distance) | {"gap": gap}
    return best, of_distances


def _test_tasks(arguments: argparse.Namespace, chosen: Mapping[Key, Choice], kept: _Kept) -> dict[Key, Task]:
    """Scores on the test part with what was chosen; keys begin with task and method."""
    exact = {"tol": arguments.tol, "limit": arguments.seconds}
    wanted: dict[Key, Task] = {}
    for key, choice in chosen.items():
        settings = {"task": key[0], "method": key[1], "preprocessing": choice["preprocessing"]}
        settings |= {"setting": choice["setting"], **exact}
        wanted[key] = (kept.tests, settings, protocol.run_test, settings)
    return wanted


def _stand_in_tasks(arguments: argparse.Namespace, best: Mapping[tuple[str, str], Choice], kept: _Kept) -> list[Task]:
    """With the setting that was chosen for BPRHML."""
    wanted: list[Task] = []
    for task in arguments.tasks:
        choice = best.get((task, "BPRHML"))
        if choice is None:
            continue
        for objects in arguments.objects:
            for name in arguments.stand_ins:
                for draw in range(1 if objects is None else arguments.stand_in_draws):
                    settings = {"task": task, "stand_in": name, "objects": objects, "draw": draw}
                    settings |= {"preprocessing": choice["preprocessing"], "setting": choice["setting"]}
                    settings |= {"tol": arguments.rough_tol, "limit": arguments.seconds}
                    wanted.append((kept.stand_ins, settings, stand_ins.run, settings))
    return wanted


def _optimum_tasks(arguments: argparse.Namespace, kept: _Kept) -> list[Task]:
    """Certified optima with the paper's weights."""
    every = [{"task": task, "tol": min(arguments.tol, 1e-7)} for task in _descended(arguments)]
    return [(kept.optima, settings, descents.run_optimum, settings) for settings in every]


def _descent_tasks(arguments: argparse.Namespace, kept: _Kept) -> list[Task]:
    every = [
        {"task": task, "c": c, "start": start, "max_steps": arguments.max_steps}
        for task in _descended(arguments)
        for c in arguments.columns
        for start in range(arguments.starts)
    ]
    return [(kept.descents, settings, descents.run_descent, settings) for settings in every]


def _descended(arguments: argparse.Namespace) -> list[str]:
    return [] if arguments.no_descents else [task for task in arguments.tasks if task in printed.WEIGHTS]


def _objects(text: str) -> int | None:
    return None if text == "all" else int(text)


def _cases(arguments: argparse.Namespace) -> list[tuple[str, str]]:
    return [
        (task, method)
        for task in arguments.tasks
        for method in protocol.methods_of(task)
        if method in arguments.methods
    ]


def main() -> None:
    """Run what is not yet known, then write tables and pictures."""
    run_script(parser(), stages, report, NOTES)


if __name__ == "__main__":
    main()
