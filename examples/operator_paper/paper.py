"""The experiments of Maurer (2008): operators learned from pairs of images of some categories, judged on others.

Tables 2 and 3, table 4 (which letters go with which digits), figure 3 (spectra) and figure 5 (ROC curves). exact and
exact-trace are certified optima for the Hilbert-Schmidt norm with the paper's lambda 0.005 and the trace norm with
0.001; descent is table 1 with the factor 2 that its loss step lacks, descent-printed without. The kernel is that of
section 6.1. Risks are balanced, over all pairs; errors are those of the nearest of one random example a category, the
same examples for all. Singular values above 2% of the largest are counted of T*T (figure 3) and of T, since the paper
does not say which it means. The weight of the norm is lambda / sqrt(m), m being the number of images.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from experiments.paper import Known, Paper, grouped
from experiments.pool import Stages
from experiments.results import Results
from experiments.sheet import Sheet, mean_text

from . import pictures, protocol
from .experiments import CHOICE, EXPERIMENTS, RANDOM, is_there
from .learners import INPUT, LEARNERS
from .printed import CHOICE as PRINTED_CHOICE
from .printed import TRANSFER

__all__ = ["PAPER", "stages"]

TABLES = {"table-2": ("rotation", "scale", "rotation+scale"), "table-3": ("objects", "handwritten", "faces")}
EXACT, EXACT_TRACE = "exact", "exact-trace"

#: Rows of tables 2 and 3: title, name of the printed number, learners, part of a result, its key, and decimals.
MEASURES = (
    ("categories to learn from", "train_categories", (EXACT,), "train", "categories", 0),
    ("images to learn from", "train_examples", (EXACT,), "train", "examples", 0),
    ("risk of T on them", "train_risk", (EXACT, EXACT_TRACE), "train", "risk", 3),
    ("Lambda(T)", "objective", (EXACT, EXACT_TRACE), "fit", "objective", 3),
    ("sparsity: T*T above 2%", "sparsity", (EXACT, EXACT_TRACE), "fit", "sparsity", 0),
    ("sparsity: T above 2%", "sparsity", (EXACT, EXACT_TRACE), "fit", "sparsity_T", 0),
    ("categories to test on", "test_categories", (INPUT,), "tests", "categories", 0),
    ("images to test on", "test_examples", (INPUT,), "tests", "examples", 0),
    ("risk of T", "risk", (EXACT, EXACT_TRACE), "tests", "risk", 3),
    ("ROC area of input", "input_area", (INPUT,), "tests", "area", 3),
    ("ROC area of T", "area", (EXACT, EXACT_TRACE), "tests", "area", 3),
    ("error of input", "input_error", (INPUT,), "tests", "error", 3),
    ("error of T", "error", (EXACT, EXACT_TRACE), "tests", "error", 3),
)

Found = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]
"""Results by experiment and learner, one a seed and sample."""


def stages(
    output: Path,
    experiments: Iterable[str] = tuple(EXPERIMENTS),
    learners: Iterable[str] = (EXACT, EXACT_TRACE),
    samples: int = 1,
    lists: int = 1,
    tol: float = 1e-5,
    seconds: float = 240.0,
    images: int | None = None,
    steps: int = 1_000_000,
) -> Stages:
    """Learn from all pairs: so many samples of printed characters, and runs of the descents, of so many steps."""
    # Without a data folder table 4 is about printed digits alone.
    digits = [name for name in CHOICE if is_there(EXPERIMENTS[name].tests[0])]
    common = {"digits": digits, "images": images, "draws": 100}
    tasks = []
    for learner in (*learners, INPUT):
        descends = learner != INPUT and LEARNERS[learner].descent
        limits = {
            "tol": None if learner == INPUT else tol,
            "seconds": None if learner == INPUT or descends else seconds,
            "steps": steps if descends else None,
        }
        for experiment in experiments:
            results = Results(output / f"{experiment}.jsonl")
            for seed in range(lists if descends else 1):
                for sample in range(samples if experiment in RANDOM else 1):
                    settings = {"experiment": experiment, "learner": learner, "pairs": None, "seed": seed}
                    settings |= common | limits | ({"sample": sample} if sample else {})
                    tasks.append((results, settings, protocol.run))
    yield tasks


def tables(known: Mapping[str, Known], folder: Path) -> dict[str, Sheet | None]:
    """Tables of RESULTS.md, and figures 3 and 5."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for part in known.values():
        # The input is judged by several parts.
        found = grouped(part, "experiment", "learner") | found
    names = [name for name in EXPERIMENTS if any(of == name for of, _ in found)]
    if found:
        pictures.draw_spectra(found, names, list(LEARNERS), folder / "spectra.png")
        pictures.draw_curves(found, names, list(LEARNERS), folder / "roc.png")
    return {
        **{table: transfer(found, of) if set(names) & set(of) else None for table, of in TABLES.items()},
        "reached": reached(found, names),
        "table-4": choice(found, EXACT),
        "table-4-descent": choice(found, "descent"),
    }


def transfer(found: Found, names: Sequence[str]) -> Sheet:
    """Tables 2 and 3: a row a measure; of every experiment a column for each test task, and the printed one."""
    heads = [head for name in names for head in (*EXPERIMENTS[name].tests, f"paper: {name}")]
    sheet = Sheet("Transfer to other categories: exact; in brackets with the trace norm", ["", *heads])
    for label, key, of, part, entry, digits in MEASURES:
        row = [label]
        for name in names:
            for test in EXPERIMENTS[name].tests:
                path = ("tests", test, entry) if part == "tests" else (part, entry)
                values = [values_of(found, (name, learner), *path) for learner in of]
                # Means; of measures on new categories with their standard errors, where there are several samples.
                if not digits or part != "tests":
                    values = [[float(np.mean(each))] if each else [] for each in values]
                row.append(_bracketed([mean_text(each, digits) for each in values]))
            paper = TRANSFER[name][key]
            both = paper if isinstance(paper, tuple) else (paper,)
            row.append(_bracketed([_number(value, digits) for value in both]))
        sheet.rows.append(row)
    return sheet


def reached(found: Found, experiments: Sequence[str]) -> Sheet:
    """What every learner minimised, how near it came, and Lambda over that of the exact solution for the same norm."""
    heads = ("Lambda", "certified gap", "/ optimum", "rank", "T*T above 2%", "seconds")
    sheet = Sheet("What the learners reach", ["task", "learner", *heads])
    for experiment in experiments:
        for learner, way in LEARNERS.items():
            if not (results := found.get((experiment, learner))):
                continue
            best = (experiment, EXACT if way.norm == "frobenius" else EXACT_TRACE)
            mine, least = (_mean(found, key, "fit", "objective") for key in ((experiment, learner), best))
            gap = max(result["fit"]["gap"] for result in results)
            ratio = "-" if mine is None or not least else f"{mine / least:.4f}"
            others = [
                _number(_mean(found, (experiment, learner), "fit", entry), digits)
                for entry, digits in (("rank", 0), ("sparsity", 0), ("seconds", 1))
            ]
            sheet.rows.append([experiment, learner, _number(mine, 5), f"{gap:.0e}", ratio, *others])
    return sheet


def choice(found: Found, learner: str) -> Sheet | None:
    """Table 4: the risk on a digit task (row) of the operator of a letter task (column); a star marks the least.

    None if the learner has no results in these experiments.
    """
    columns = [name for name in CHOICE if found.get((name, learner))]
    if not columns:
        return None
    title = "Table 4. Risk on digits (rows) of operators learned from letters (columns), in brackets the paper's"
    sheet = Sheet(f"{title}: {learner}", ["", *columns])
    for row in CHOICE:
        risks = [_mean(found, (name, learner), "choice", row) for name in columns]
        paper = [PRINTED_CHOICE[row][CHOICE.index(name)] for name in columns]
        cells = [
            f"{_starred(ours, risks)} ({_starred(there, paper)})" for ours, there in zip(risks, paper, strict=True)
        ]
        sheet.rows.append([row, *cells])
    return sheet


def values_of(found: Found, key: tuple[str, str], *path: str) -> list[float]:
    """A number in the results, one a seed and sample; none of those that lack it."""
    values: list[Any] = list(found.get(key, ()))
    for entry in path:
        values = [value[entry] for value in values if entry in value]
    return values


def _mean(found: Found, key: tuple[str, str], *path: str) -> float | None:
    values = values_of(found, key, *path)
    return float(np.mean(values)) if values else None


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _bracketed(values: Sequence[str]) -> str:
    """The first, and the second in brackets if there is one."""
    return values[0] + "".join(f" ({value})" for value in values[1:] if value != "-")


def _starred(value: float | None, row: Sequence[float | None]) -> str:
    least = min((other for other in row if other is not None), default=None)
    return _number(value, 3) + ("*" if value is not None and value == least else "")


PAPER = Paper(
    "operator_paper",
    {
        "letters": partial(stages, experiments=RANDOM, samples=5),
        "faces": partial(stages, experiments=("faces",)),
        "handwriting": partial(stages, experiments=("handwritten",)),
        "objects": partial(stages, experiments=("objects",)),
        "descents": partial(stages, learners=("descent", "descent-printed"), lists=3, tol=1e-6),
    },
    tables,
)
