"""The experiments of paper 3: metrics of large graphs with random projections.

Table 2 on graphs of documents (cora, chameleon), Table 4 on documents with categories (webkb) and on synthetic ones in
the sizes of Table 3 (phenotype-like). A to D learn a weight a feature, E a factor with r rows (descent on it is local;
its gap is that of the convex problem with the same optimum), F to I a matrix after a projection with uniform entries, J
after principal components, L after an orthonormal projection; K is a logistic regression on words that both nodes of a
pair have. HL is in all of them, I1 in B, D, G, I and L, -I2 in C, D, H and I. lambda is chosen by cross-validation on
the training nodes. Areas are means over trials, which differ in the random projection or start.
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
from .learners import GRAPH_METHODS, LABEL_METHODS, folds_of, settings_of
from .nodes import GRAPHS

__all__ = ["PAPER", "PHENOTYPES", "WIKIPEDIA", "stages"]

EVERY_METHOD = tuple(dict.fromkeys((*GRAPH_METHODS, *LABEL_METHODS)))
#: Folds of section 4.2.
PARTS = 3
#: Methods whose fits take longest are started first, so that all processes are busy to the end.
SLOW = ("E", "B")
#: Table 2 of the paper: AUC on two graphs of Wikipedia pages, "Search Engine" and "Philosophy Concept".
WIKIPEDIA = {
    "A": (0.7297, 0.6935),
    "B": (0.6169, 0.5870),
    "C": (0.5817, 0.6808),
    "D": (0.6198, 0.6704),
    "E": (0.6952, 0.4832),
    "F": (0.6962, 0.6849),
    "G": (0.7909, 0.7264),
    "H": (0.5744, 0.6903),
    "I": (0.5984, 0.6966),
    "J": (0.3509, 0.4525),
    "L": (0.7939, 0.7174),
}
#: Table 4: mean AUC of three folds of phenotype variables.
PHENOTYPES = {
    "A": 0.7646,
    "E": 0.9639,
    "F": 0.8820,
    "G": 0.9433,
    "H": 0.7240,
    "I": 0.8876,
    "J": 0.7473,
    "K": 0.8996,
    "L": 0.9537,
}

Found = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]
"""Results by data set and method, one a split or fold."""


def stages(
    output: Path,
    data: Iterable[str],
    splits: int = 5,
    folds: int = 5,
    r: int = 300,
    methods: Iterable[str] = EVERY_METHOD,
    trials: int = 2,
    seconds: float = 60.0,
    rough_seconds: float = 15.0,
    widen: int = 0,
) -> Stages:
    """Random splits of a graph, 80/20, or folds of a labelled set; so many folds of the training nodes choose lambda.

    ``seconds`` limit each of the last fits, ``rough_seconds`` each of cross-validation; ``widen`` is how often the grid
    of lambda grows at an end that is chosen.
    """
    exact = {"tol": 1e-6, "seconds": seconds, "widths": 5, "steps": 100}
    rough = {"tol": 1e-2, "seconds": rough_seconds, "widths": 1, "steps": 60}
    common = {"trials": trials, "widen": widen, "exact": exact, "rough": rough}
    results = {name: Results(output / f"{name}.jsonl") for name in data}
    tasks = []
    for method in sorted(methods, key=lambda method: method not in SLOW):
        for name in results:
            if method not in (GRAPH_METHODS if name in GRAPHS else LABEL_METHODS):
                continue
            for part in range(splits):
                settings = {
                    "data": name,
                    "part": part,
                    "method": method,
                    "grid": list(settings_of(method)),
                    "r": r,
                    "parts": None if name in GRAPHS else PARTS,
                    "folds": folds_of(method, folds),
                    **common,
                }
                tasks.append((results[name], settings, protocol.run))
    yield tasks


def tables(known: Mapping[str, Known], folder: Path) -> dict[str, Sheet | None]:
    """Tables of RESULTS.md, and their pictures."""
    of = {part: grouped(found, "data", "method") for part, found in known.items()}
    found = {key: results for part in of.values() for key, results in part.items()}
    for part, data, methods, paper in (
        ("graphs", [*GRAPHS], GRAPH_METHODS, _columns()),
        ("webkb-topics", ["webkb"], LABEL_METHODS, {"phenotypes": PHENOTYPES}),
    ):
        if of.get(part):
            name = "table-2.png" if part == "graphs" else "table-4.png"
            pictures.draw_areas(of[part], data, methods, paper, folder / name)
    return {
        "table-2": graphs(of["graphs"], list(GRAPHS)) if of.get("graphs") else None,
        "table-4": labels(of["webkb-topics"], ["webkb"]) if of.get("webkb-topics") else None,
        "phenotype-like": labels(of["phenotype-like"], ["phenotype-like"]) if of.get("phenotype-like") else None,
        "trials": trials_apart(found, [*GRAPHS, "webkb", "phenotype-like"]),
        "fits": effort(found, [*GRAPHS, "webkb", "phenotype-like"]),
    }


def _columns() -> dict[str, dict[str, float]]:
    """The columns of the paper's Table 2."""
    columns = zip(("Search Engine", "Philosophy"), zip(*WIKIPEDIA.values(), strict=True), strict=True)
    return {name: dict(zip(WIKIPEDIA, values, strict=True)) for name, values in columns}


def graphs(found: Found, data: Sequence[str]) -> Sheet:
    """Table 2: AUC by variant and graph, and the two columns of the paper."""
    counts = {name: max((len(of) for (there, _), of in found.items() if there == name), default=0) for name in data}
    heads = [f"{name} ({count} split{'' if count == 1 else 's'})" for name, count in counts.items()]
    paper = ["paper: Search Engine", "paper: Philosophy"]
    sheet = Sheet("Table 2. AUC of linked against unlinked pairs of test nodes", ["", *heads, *paper])
    for method in GRAPH_METHODS:
        there = [f"{value:.3f}" for value in WIKIPEDIA.get(method, ())] or ["-", "-"]
        sheet.rows.append([method, *(_area(found.get((name, method), ())) for name in data), *there])
    return sheet


def labels(found: Found, data: Sequence[str]) -> Sheet:
    """Table 4: AUC of every fold and its mean, and the paper's mean."""
    heads = [head for name in data for head in (*(f"{name} AUC{part + 1}" for part in range(PARTS)), f"{name} mean")]
    sheet = Sheet("Table 4. AUC of connected against disconnected pairs of the test fold", ["", *heads, "paper: mean"])
    for method in LABEL_METHODS:
        cells = []
        for name in data:
            results = found.get((name, method), ())
            values = [f"{np.mean(result['auc']):.3f}" for result in results]
            cells += [*values, *["-"] * (PARTS - len(values)), _area(results)]
        sheet.rows.append([method, *cells, f"{PHENOTYPES[method]:.3f}" if method in PHENOTYPES else "-"])
    return sheet


def _area(results: Sequence[Mapping[str, Any]]) -> str:
    """Mean AUC, and its standard error over splits or folds."""
    return mean_text([float(np.mean(result["auc"])) for result in results], 3)


def trials_apart(found: Found, data: Sequence[str]) -> Sheet:
    """How much trials with other random projections or starts differ: AUC, and objective in relative terms."""
    title = "Trials that differ in randomness only: smallest to largest AUC / relative spread of the optimum"
    return _by_method(title, data, lambda of: _spread([result for result in of if len(result["auc"]) > 1]), found)


def _spread(results: Sequence[Mapping[str, Any]]) -> str:
    if not results:
        return "-"
    low, high = min(results[0]["objectives"]), max(results[0]["objectives"])
    relative = (high - low) / max(abs(high), abs(low), np.finfo(float).tiny)
    return f"{min(results[0]['auc']):.3f} to {max(results[0]['auc']):.3f} / {relative:.0e}"


def effort(found: Found, data: Sequence[str]) -> Sheet:
    """What the fits took: seconds and certified gap of the last, gap of those in cross-validation, and rank."""
    title = "Fits: median seconds / worst gap / worst gap in cross-validation / rank"
    return _by_method(title, data, lambda of: _taken([result for result in of if result["gaps"][0] is not None]), found)


def _taken(results: Sequence[Mapping[str, Any]]) -> str:
    if not results:
        return "-"
    seconds, gaps, rough, ranks = (
        [value for result in results for value in result[key]] for key in ("seconds", "gaps", "rough_gaps", "ranks")
    )
    return f"{np.median(seconds):.1f} / {max(gaps):.0e} / {max(rough):.0e} / {np.median(ranks):.0f}"


def _by_method(title: str, data: Sequence[str], cell: Any, found: Found) -> Sheet:
    """A row a method that has anything to say of a data set."""
    sheet = Sheet(title, ["", *data])
    for method in EVERY_METHOD:
        cells = [cell(found.get((name, method), ())) for name in data]
        if set(cells) != {"-"}:
            sheet.rows.append([method, *cells])
    return sheet


PAPER = Paper(
    "graph_paper",
    {
        "graphs": partial(stages, data=tuple(GRAPHS)),
        "webkb-topics": partial(stages, data=("webkb",), splits=PARTS, folds=3, r=500),
        "phenotype-like": partial(
            stages,
            data=("phenotype-like",),
            splits=PARTS,
            folds=2,
            r=500,
            methods=("Euclidean", *"AGKLFJ"),
            trials=1,
            seconds=40.0,
            rough_seconds=8.0,
            widen=1,
        ),
    },
    tables,
)
