"""Printed numbers beside ours, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.sheet import Row, row_of

from . import printed
from .experiments import EXPERIMENTS
from .learners import INPUT
from .study_tables import Found, summary
from .tables import EXACT, EXACT_TRACE, values_of
from .tables import Found as FoundFits

__all__ = ["objects", "spread", "transfer"]

MEASURES = ("risk", "area", "error")


def transfer(found: FoundFits, pairs: int | None) -> Iterator[Row]:
    """Tables 2 and 3: measures on other categories, of the images as they are and of both norms."""
    for experiment, of in EXPERIMENTS.items():
        paper = printed.TRANSFER[experiment]
        for test in of.tests:
            for at, learner in enumerate((EXACT, EXACT_TRACE)):
                for measure in MEASURES:
                    there = paper[measure] if isinstance(paper[measure], tuple) else (paper[measure], None)
                    if values := values_of(found, (experiment, learner, pairs), "tests", test, measure):
                        yield row_of(f"{experiment}, {test}, {learner}: {measure}", there[at], values, "samples")
            for measure in ("area", "error"):
                if values := values_of(found, (experiment, INPUT, None), "tests", test, measure):
                    title = f"{experiment}, {test}, {INPUT}: {measure}"
                    yield row_of(title, paper[f"input_{measure}"], values, "samples")


def spread(found: Mapping[tuple[str, float], Mapping[str, Any]]) -> Iterator[Row]:
    """Measures on the first test task, with errors from leaving out a category each."""
    for (experiment, reg), result in found.items():
        for measure in MEASURES:
            there = printed.TRANSFER[experiment][measure]
            first = there[0] if isinstance(there, tuple) else there
            title = f"{experiment}, lambda {reg:g}: {measure}"
            error = result[f"{measure}_error"]
            yield Row(title, first, result[measure], error, result["categories"], "categories, one left out")


def objects(found: Found) -> Iterator[Row]:
    """Learned from most objects, over splits."""
    counts = [at for study, at, _ in found if study == "objects"]
    for (study, at, _), results in found.items():
        if study == "objects" and at == max(counts):
            for measure in MEASURES:
                there = printed.TRANSFER["objects"][measure]
                first = there[0] if isinstance(there, tuple) else there
                mean, error = summary(results, measure)
                yield Row(f"objects, {at:g} learned from: {measure}", first, mean, error, len(results), "splits")
