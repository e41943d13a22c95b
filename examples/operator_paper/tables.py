"""Tables of results beside the printed numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from experiments.sheet import Sheet, mean_text

from . import printed
from .experiments import CHOICE, EXPERIMENTS
from .learners import INPUT, LEARNERS

__all__ = ["Found", "choice", "fits", "pairs_text", "reached", "tests", "transfer", "values_of"]

Found = Mapping[tuple[str, str, int | None], Sequence[Mapping[str, Any]]]
"""Results, one a seed, by experiment, learner and number of pairs."""

TABLES = {"Table 2": ("rotation", "scale", "rotation+scale"), "Table 3": ("objects", "handwritten", "faces")}
#: Learners of the numbers the paper prints, and of those in its brackets.
EXACT, EXACT_TRACE, EXACT_DOUBLED = "exact", "exact-trace", "exact-doubled"
#: Learners in the pictures of the page.
SHOWN = (EXACT, EXACT_TRACE, "descent", "descent-printed")

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


def transfer(found: Found, experiments: Sequence[str], pairs: int | None) -> Iterator[Sheet]:
    """Tables 2 and 3: a row a measure; of every experiment a column for each test task, and the printed one."""
    for table, names in TABLES.items():
        names = [name for name in names if name in experiments]
        if not names:
            continue
        heads = [head for name in names for head in (*EXPERIMENTS[name].tests, f"paper: {name}")]
        title = f"{table}. Transfer to other categories: exact, {pairs_text(pairs)}; in brackets with the trace norm"
        sheet = Sheet(title, ["", *heads])
        for label, key, of, part, entry, digits in MEASURES:
            row = [label]
            for name in names:
                keys = [(name, learner, None if learner == INPUT else pairs) for learner in of]
                for test in EXPERIMENTS[name].tests:
                    path = ("tests", test, entry) if part == "tests" else (part, entry)
                    row.append(_bracketed(_text(values_of(found, one, *path), digits, part) for one in keys))
                paper = printed.TRANSFER[name][key]
                both = paper if isinstance(paper, tuple) else (paper,)
                row.append(_bracketed(_number(value, digits) for value in both))
            sheet.rows.append(row)
        yield sheet


def fits(found: Found, experiment: str, counts: Sequence[int | None]) -> Sheet:
    """What every learner minimised on one experiment, and how near it came.

    ``/ optimum`` is Lambda over that of the exact solution for the same pairs and norm; ``/ optimum, 2 lambda`` is the
    same for the problem with lambda doubled, at the operator that was found.
    """
    sheet = Sheet(
        f"{experiment}: fits",
        ["", "Lambda", "gap", "/ optimum", "/ optimum, 2 lambda", "rank", "T*T above 2%", "T above 2%", "seconds"],
    )
    for learner, pairs in _ways(found, experiment, counts):
        key, way = (experiment, learner, pairs), LEARNERS[learner]
        best = (experiment, EXACT if way.norm == "frobenius" else EXACT_TRACE, pairs)
        doubled = (experiment, EXACT_DOUBLED, pairs)
        mine = _mean(found, key, "fit", "objective")
        gap = max(result["fit"]["gap"] for result in found[key])
        # The learner with lambda doubled has no value at the plain one, and is the optimum of the other.
        ratio = _ratio(mine, _mean(found, best, "fit", "objective")) if way.times == 1.0 else "-"
        at_double = mine if way.times == 2.0 else _mean(found, key, "fit", "doubled")
        double = _ratio(at_double, _mean(found, doubled, "fit", "objective")) if way.norm == "frobenius" else "-"
        counts_of = (_number(_mean(found, key, "fit", entry), 0) for entry in ("rank", "sparsity", "sparsity_T"))
        seconds = _number(_mean(found, key, "fit", "seconds"), 1)
        title = f"{learner}, {pairs_text(pairs)}"
        sheet.rows.append([title, _number(mine, 5), f"{gap:.0e}", ratio, double, *counts_of, seconds])
    return sheet


def reached(found: Found, experiments: Sequence[str], pairs: int | None) -> Sheet:
    """What the learners minimised on all experiments: objective, gap, ratio to the optimum, and counts of values."""
    kept = (1, 2, 3, 5, 6, 8)
    heads = ("Lambda", "certified gap", "/ optimum", "rank", "T*T above 2%", "seconds")
    sheet = Sheet("What the learners reach", ["task", "learner", *heads])
    for experiment in experiments:
        for row in fits(found, experiment, [pairs]).rows:
            sheet.rows.append([experiment, row[0].partition(",")[0], *(row[at] for at in kept)])
    return sheet


def tests(found: Found, experiment: str, counts: Sequence[int | None]) -> Sheet:
    """How operators of every learner do on the categories they learned from, and on others."""
    names = EXPERIMENTS[experiment].tests
    heads = [f"{what}, {name}" for name in names for what in ("risk", "ROC area", "error")]
    sheet = Sheet(f"{experiment}: tests", ["", "risk, training", *heads])
    for learner, pairs in [(INPUT, None), *_ways(found, experiment, counts)]:
        key = (experiment, learner, pairs)
        values = [_mean(found, key, "train", "risk")]
        values += [_mean(found, key, "tests", name, entry) for name in names for entry in ("risk", "area", "error")]
        title = learner if learner == INPUT else f"{learner}, {pairs_text(pairs)}"
        sheet.rows.append([title, *(_number(value, 4) for value in values)])
    paper = printed.TRANSFER[experiment]
    for at, title in enumerate(("paper", "paper, trace norm")):
        train, *test = (_number(None if at else paper[entry], 3) for entry in ("train_risk", "risk"))
        test += [_number(paper[entry][at], 3) for entry in ("area", "error")]
        sheet.rows.append([title, train, *test * len(names)])
    return sheet


def choice(found: Found, learner: str, pairs: int | None) -> Sheet | None:
    """Table 4: the risk on a digit task (row) of the operator of a letter task (column); a star marks the least.

    None if the learner has no results in these experiments.
    """
    columns = [name for name in CHOICE if found.get((name, learner, pairs))]
    if not columns:
        return None
    title = "Table 4. Risk on digits (rows) of operators learned from letters (columns), in brackets the paper's"
    sheet = Sheet(f"{title}: {learner}, {pairs_text(pairs)}", ["", *columns])
    for row in CHOICE:
        risks = [_mean(found, (name, learner, pairs), "choice", row) for name in columns]
        paper = [printed.CHOICE[row][CHOICE.index(name)] for name in columns]
        cells = [
            f"{_starred(ours, risks)} ({_starred(there, paper)})" for ours, there in zip(risks, paper, strict=True)
        ]
        sheet.rows.append([row, *cells])
    return sheet


def pairs_text(pairs: int | None) -> str:
    """For titles."""
    return "all pairs" if pairs is None else f"{pairs} pairs"


def _ways(found: Found, experiment: str, counts: Sequence[int | None]) -> list[tuple[str, int | None]]:
    return [(learner, pairs) for pairs in counts for learner in LEARNERS if found.get((experiment, learner, pairs))]


def values_of(found: Found, key: tuple[str, str, int | None], *path: str) -> list[float]:
    """A number in the results, one a seed and sample; none of those that lack it."""
    values: list[Any] = list(found.get(key, ()))
    for entry in path:
        values = [value[entry] for value in values if entry in value]
    return values


def _mean(found: Found, key: tuple[str, str, int | None], *path: str) -> float | None:
    values = values_of(found, key, *path)
    return float(np.mean(values)) if values else None


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _text(values: Sequence[float], digits: int, part: str) -> str:
    """The mean; of measures on new categories with its standard error, where there are several samples."""
    return mean_text(values if digits and part == "tests" else values and [np.mean(values)], digits)


def _bracketed(values: Iterable[str]) -> str:
    """The first, and the second in brackets if there is one."""
    first, *rest = values
    return first + "".join(f" ({value})" for value in rest if value != "-")


def _starred(value: float | None, row: Sequence[float | None]) -> str:
    least = min((other for other in row if other is not None), default=None)
    return _number(value, 3) + ("*" if value is not None and value == least else "")


def _ratio(value: float | None, of: float | None) -> str:
    return "-" if value is None or not of else f"{value / of:.4f}"
