"""Printed numbers beside ours, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.sheet import Row, row_of

from . import printed
from .experiments import EXPERIMENTS
from .learners import INPUT
from .studies import MNIST
from .study_tables import Found, summary
from .tables import EXACT, EXACT_TRACE, values_of
from .tables import Found as FoundFits

__all__ = ["framing", "objects", "spread", "transfer"]

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
            first = _printed(experiment, measure)
            title = f"{experiment}, lambda {reg:g}: {measure}"
            error = result[f"{measure}_error"]
            yield Row(title, first, result[measure], error, result["categories"], "categories, one left out")


def objects(found: Found) -> Iterator[Row]:
    """Learned from most objects, over splits."""
    counts = [at for study, at, _ in found if study == "objects"]
    for (study, at, _), results in found.items():
        if study == "objects" and at == max(counts):
            for measure in MEASURES:
                first = _printed("objects", measure)
                values = [next(iter(result["tests"].values()))[measure] for result in results]
                yield row_of(f"objects, {at:g} learned from: {measure}", first, values, "splits")


def framing(found: Found) -> Iterator[Row]:
    """Letters as they are and framed as MNIST is, judged on MNIST; one fit each."""
    for (study, framed, reg), results in found.items():
        if study == "framing":
            for measure in MEASURES:
                first = _printed("handwritten", measure)
                title = f"MNIST, letters {'framed so' if framed else 'as they are'}, lambda {reg:g}: {measure}"
                yield Row(title, first, summary(results, measure, MNIST)[0], None, len(results), "fits")


def _printed(experiment: str, measure: str) -> float:
    """The number of the Hilbert-Schmidt norm; what is no experiment of the paper is another look at handwriting."""
    there = printed.TRANSFER.get(experiment, printed.TRANSFER["handwritten"])[measure]
    return float(there[0] if isinstance(there, tuple) else there)
