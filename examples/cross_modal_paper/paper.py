"""The experiments of paper 5: cross-modal ranking by BPRHML.

Table 2 and Figure 1 on Wikipedia (images and texts) and on Corel5k (images and keywords; other features than the
paper's), with preprocessing, weights, the number of columns and the distance in the common space chosen by
cross-validation on the training part alone, and the best of every distance. What the paper does not have: descents on U
and V from several starts with several numbers of columns against the certified optimum. BPRHML is the certified optimum
of the lifted problem, cut to c columns where cross-validation prefers so (c 0: all); "paper's weights" are the alpha
and beta it prints, on z-scored features; "as printed" is the descent with the sign of equation 8 as it stands. Standard
errors are those over test queries; of held-out MAP they are those over folds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from experiments.paper import Known, Paper, grouped, known
from experiments.pool import Stages, Task
from experiments.results import Results
from experiments.sheet import Sheet

from . import descents, pictures, protocol
from .learners import DISTANCES, METHODS, settings_of
from .printed import MAP

__all__ = ["PAPER", "choices_of", "stages"]

WIKIPEDIA, COREL = ("image-text", "text-image"), ("image-keyword", "keyword-image")
#: What cross-validation chose, by task, method and distance, None for the best of all: preprocessing, setting, its
#: held-out MAP, and the largest gap of the fits.
Choices = dict[tuple[str, str, str | None], dict[str, Any]]
#: Certified gap of the last fits, and of the optima that descents are held against.
TOL, OPTIMUM = 1e-6, 1e-7


def stages(
    output: Path,
    tasks: Iterable[str] = WIKIPEDIA,
    methods: Iterable[str] = METHODS,
    folds: int = 5,
    rough: tuple[float, float] = (1e-3, 20.0),
    seconds: float = 120.0,
    columns: Iterable[int] = (),
    starts: int = 10,
    max_steps: int = 5_000,
) -> Stages:
    """Cross-validation, to the gap and within the seconds of ``rough``, and descents; then tests of what was chosen.

    ``seconds`` limit each of the last fits. Descents have so many ``columns``, ``starts`` and steps.
    """
    names = ("folds", "tests", "optima", "descents")
    kept = {name: Results(output / f"{name}.jsonl") for name in names}
    cases = [(task, method) for task in tasks for method in protocol.methods_of(task) if method in methods]
    validated: list[Task] = []
    for task, method in cases:
        if len(settings_of(method, task)) > 1:
            for preprocessing in protocol.preprocessing_of(method, task):
                for fold in range(folds):
                    settings = {"task": task, "method": method, "preprocessing": preprocessing, "fold": fold}
                    settings |= {"folds": folds, "tol": rough[0], "limit": rough[1]}
                    validated.append((kept["folds"], settings, protocol.run_fold))
    # The slow ones first, so that all processes are busy to the end.
    validated.sort(key=lambda one: one[1]["method"] != "BPRHML")
    optima = [{"task": task, "tol": OPTIMUM} for task in tasks if columns]
    runs = [
        {"task": task, "c": c, "start": start, "max_steps": max_steps}
        for task in tasks
        for c in columns
        for start in range(starts)
    ]
    yield [
        *validated,
        *((kept["optima"], settings, descents.run_optimum) for settings in optima),
        *((kept["descents"], settings, descents.run_descent) for settings in runs),
    ]
    tests = [
        {"task": key[0], "method": key[1], "preprocessing": choice["preprocessing"], "setting": choice["setting"]}
        for key, choice in choices_of(known(validated), cases).items()
    ]
    # What is best of all is the best of a distance as well.
    different = {repr(one): one | {"tol": TOL, "limit": seconds} for one in tests}
    yield [(kept["tests"], settings, protocol.run_test) for settings in different.values()]


def choices_of(folds: Known, cases: Iterable[tuple[str, str]]) -> Choices:
    """What cross-validation chose for tasks and methods, the best of all and of every distance.

    A method is left out while some of its folds are missing.
    """
    chosen: Choices = {}
    for task, method in cases:
        own = [(s["preprocessing"], result) for s, result in folds if (s["task"], s["method"]) == (task, method)]
        if not own:
            nothing = {"setting": {}, "map": None, "standard_error": None, "gap": 0.0}
            chosen[task, method, None] = {"preprocessing": "zscore", **nothing}
            continue
        held_out: dict[str, list[list[float]]] = {}
        for preprocessing, result in own:
            if result is None:
                break
            held_out.setdefault(preprocessing, []).append(result["map"])
        else:
            gap = max(result["gap"] for _, result in own if result is not None)
            for distance in (None, *DISTANCES):
                chosen[task, method, distance] = protocol.choose(held_out, method, task, distance) | {"gap": gap}
    return chosen


def tables(known: Mapping[str, Known], folder: Path) -> dict[str, Sheet | None]:
    """Tables of RESULTS.md, the curves of Figure 1, and the descents."""
    sheets: dict[str, Sheet | None] = {"choices": None, "descents": None}
    for end, parts, tasks in (
        ("", ("wikipedia",), WIKIPEDIA),
        ("-corel5k", ("corel", "corel-keywords", "corel-images"), COREL),
    ):
        found = [one for part in parts for one in known.get(part, [])]
        chosen = choices_of([one for one in found if "fold" in one[0]], _cases(found))
        tested = _tested(chosen, [one for one in found if "setting" in one[0]])
        best = {key[:2]: result for key, result in tested.items() if key[2] is None}
        sheets[f"table-2{end}"] = scores(best, tasks) if best else None
        sheets[f"distances{end}"] = (
            by_distance(chosen, tested, tasks) if set(tested) - {(*k, None) for k in best} else None
        )
        if shown := [task for task in tasks if any(of == task for of, _ in best)]:
            pictures.draw_curves(best, shown, folder / f"curves{end}.png")
        if parts == ("wikipedia",):
            sheets["choices"] = choices(chosen, best) if best else None
            optima = {
                task: of[0]
                for task, of in grouped([o for o in found if o[0].keys() == {"task", "tol"}], "task").items()
            }
            runs = {key: of for key, of in grouped(found, "task", "c").items() if key[0] in optima}
            if runs:
                sheets["descents"] = descended(optima, runs)
                pictures.draw_descents(optima, runs, folder / "descents.png")
    return sheets


def _cases(found: Known) -> list[tuple[str, str]]:
    """Tasks and methods that parts were asked for, in the order of the tables."""
    asked = {(settings["task"], settings["method"]) for settings, _ in found if "method" in settings}
    return [(task, method) for task in (*WIKIPEDIA, *COREL) for method in METHODS if (task, method) in asked]


def _tested(chosen: Choices, tests: Known) -> dict[tuple[str, str, str | None], dict[str, Any]]:
    """Results on the test part with what was chosen, by task, method and distance."""
    names = ("task", "method", "preprocessing", "setting")
    by = {repr([settings[name] for name in names]): result for settings, result in tests}
    found = {
        key: by.get(repr([*key[:2], choice["preprocessing"], choice["setting"]])) for key, choice in chosen.items()
    }
    return {key: result for key, result in found.items() if result is not None}


def arrow(task: str) -> str:
    """A task as the page has it."""
    return task.replace("-", " -> ")


def scores(found: Mapping[tuple[str, str], Mapping[str, Any]], tasks: Sequence[str]) -> Sheet:
    """Table 2: MAP on the test part with its standard error over queries, ours / the paper's; and the average."""
    sheet = Sheet("Table 2. Mean average precision on test queries: ours / paper", ["", *map(arrow, tasks), "average"])
    for method in METHODS:
        own = [found.get((task, method)) for task in tasks]
        paper = [MAP.get(method, {}).get(task) for task in tasks]
        cells = [f"{_with_error(ours)} / {_number(there)}" for ours, there in zip(own, paper, strict=True)]
        if set(cells) != {"- / -"}:
            ours = [result["map"] if result else None for result in own]
            sheet.rows.append([method, *cells, f"{_mean(ours)} / {_mean(paper)}"])
    return sheet


def by_distance(
    chosen: Choices, found: Mapping[tuple[str, str, str | None], Mapping[str, Any]], tasks: Sequence[str]
) -> Sheet:
    """MAP on held-out folds / on the test part, with the setting that is best for every distance; bold the largest."""
    heads = [f"{arrow(task)}, {distance}" for task in tasks for distance in DISTANCES]
    sheet = Sheet("By distance: held-out / test MAP, the best of each distance", ["", *heads])
    for method in METHODS:
        cells = []
        for task in tasks:
            held_out = {of: chosen[task, method, of]["map"] for of in DISTANCES if (task, method, of) in chosen}
            for distance in DISTANCES:
                if distance not in held_out:
                    cells.append("-")
                    continue
                bold = "**" * (held_out[distance] == max(held_out.values()))
                score = _number((found.get((task, method, distance)) or {}).get("map"))
                cells.append(f"{bold}{_number(held_out[distance])}{bold} / {score}")
        if set(cells) != {"-"}:
            sheet.rows.append([method, *cells])
    return sheet


def choices(chosen: Choices, found: Mapping[tuple[str, str], Mapping[str, Any]]) -> Sheet:
    """What cross-validation chose, its MAP on held-out folds, and what the last fit took."""
    heads = ["preprocessing", "setting", "held-out MAP", "test MAP", "rank", "seconds", "gap", "worst gap"]
    sheet = Sheet("Chosen by cross-validation on the training part", ["task, method", *heads])
    for (task, method, distance), choice in chosen.items():
        if distance is not None:
            continue
        result = found.get((task, method), {})
        setting = ", ".join(f"{key} {_short(value)}" for key, value in choice["setting"].items()) or "-"
        held_out = "-" if choice["map"] is None else f"{choice['map']:.3f} ± {choice['standard_error']:.3f}"
        fit = [
            "-" if result.get(key) is None else form.format(result[key])
            for key, form in (("rank", "{}"), ("seconds", "{:.1f}"), ("gap", "{:.0e}"))
        ]
        worst = f"{choice['gap']:.0e}" if choice["gap"] else "-"
        row = [f"{arrow(task)}, {method}", choice["preprocessing"], setting, held_out, _with_error(result), *fit, worst]
        sheet.rows.append(row)
    return sheet


def descended(
    optima: Mapping[str, Mapping[str, Any]], found: Mapping[tuple[str, int], Sequence[Mapping[str, Any]]]
) -> Sheet:
    """For every c: how far the best descent, the paper's start, and the cut-off W* are above the certified optimum."""
    heads = ["descents", "best", "worst", "from CFA", "W* cut to c", f"optimal to {TOL:g}"]
    sheet = Sheet("Relative distance from the certified optimum over all c", ["task", "c", *heads])
    for task, optimum in optima.items():
        for c in sorted(c for of, c in found if of == task):
            values = np.array([run["objective"] for run in found[task, c]] + optimum["truncated"][c - 1 : c])
            *above, cut = (values - optimum["lower"]) / np.abs(values)
            shares = [f"{value:.1e}" for value in (min(above), max(above), above[0], cut)]
            row = [arrow(task), str(c), str(len(above)), *shares, "yes" if min(above) <= TOL else "not shown"]
            sheet.rows.append(row)
    return sheet


def _with_error(result: Mapping[str, Any] | None) -> str:
    if not result:
        return "-"
    error = result.get("standard_error")
    return _number(result["map"]) + ("" if error is None else f" ± {error:.3f}")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _mean(values: Sequence[float | None]) -> str:
    """A dash if one is missing."""
    known = [value for value in values if value is not None]
    return _number(sum(known) / len(known)) if len(known) == len(values) else "-"


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


PAPER = Paper(
    "cross_modal_paper",
    {
        "wikipedia": partial(stages, columns=range(1, 11)),
        "corel": partial(stages, tasks=COREL, methods=("Random", "CCA", "CFA", "MSmethod")),
        "corel-keywords": partial(
            stages, tasks=("keyword-image",), methods=("BPRHML",), rough=(1e-2, 8.0), seconds=60.0
        ),
        "corel-images": partial(
            stages, tasks=("image-keyword",), methods=("BPRHML",), rough=(1e-2, 150.0), seconds=600.0
        ),
    },
    tables,
)
