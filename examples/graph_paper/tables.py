"""Tables of results beside the printed numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from experiments.sheet import Sheet, mean_text

from . import printed
from .learners import GRAPH_METHODS, LABEL_METHODS
from .nodes import Labelled, load
from .protocol import split

__all__ = ["areas", "effort", "factors", "graphs", "labels", "pairs", "steps", "trials"]

Found = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]


def areas(results: Sequence[Mapping[str, Any]]) -> float:
    """Mean AUC over splits and trials."""
    return float(np.mean([np.mean(result["auc"]) for result in results]))


def graphs(found: Found, data: Sequence[str]) -> Sheet:
    """Table 2: AUC by variant and graph, and the two columns of the paper."""
    counts = {name: max((len(of) for (there, _), of in found.items() if there == name), default=0) for name in data}
    heads = [f"{name} ({count} split{'' if count == 1 else 's'})" for name, count in counts.items()]
    sheet = Sheet("Table 2. AUC of linked against unlinked pairs of test nodes", ["", *heads, *PAPER])
    for method in GRAPH_METHODS:
        cells = [_area(found.get((name, method))) for name in data]
        paper = [f"{value:.3f}" for value in printed.WIKIPEDIA.get(method, ())] or ["-", "-"]
        sheet.rows.append([method, *cells, *paper])
    return sheet


#: Heads of the paper's columns of Table 2.
PAPER = ("paper: Search Engine", "paper: Philosophy")


def labels(found: Found, data: Sequence[str], parts: int) -> Sheet:
    """Table 4: AUC of every fold and its mean, and the paper's mean."""
    folds = [f"{name} AUC{part + 1}" for name in data for part in range(parts)]
    heads = [head for at, name in enumerate(data) for head in (*folds[at * parts : (at + 1) * parts], f"{name} mean")]
    sheet = Sheet("Table 4. AUC of connected against disconnected pairs of the test fold", ["", *heads, "paper: mean"])
    for method in LABEL_METHODS:
        cells = []
        for name in data:
            results = found.get((name, method), ())
            values = [f"{np.mean(result['auc']):.3f}" for result in results]
            cells += [*values, *["-"] * (parts - len(values)), _area(results)]
        paper = printed.PHENOTYPES.get(method)
        sheet.rows.append([method, *cells, "-" if paper is None else f"{paper:.3f}"])
    return sheet


def pairs(data: Sequence[str]) -> Sheet:
    """Table 3: connected and disconnected pairs of every fold."""
    sheet = Sheet("Table 3. Pairs of nodes, each once", ["", "fold", "train+", "train-", "test+", "test-"])
    for name in data:
        every = load(name)
        assert isinstance(every, Labelled)
        for part in range(len(printed.PAIRS)):
            parts = [every.part(rows) for rows in split(len(every), part, len(printed.PAIRS))]
            counts = [count for nodes in parts for count in nodes.counts()]
            sheet.rows.append([name, str(part + 1), *(f"{count:,}" for count in counts)])
    for part, counts_of in enumerate(printed.PAIRS):
        sheet.rows.append(["paper", str(part + 1), *(f"{count:,}" for count in counts_of)])
    return sheet


def trials(found: Found, data: Sequence[str]) -> Sheet:
    """How much trials with other random projections or starts differ: AUC, and objective in relative terms."""
    sheet = Sheet(
        "Trials that differ in randomness only: smallest to largest AUC / relative spread of the optimum", ["", *data]
    )
    for method in dict.fromkeys((*GRAPH_METHODS, *LABEL_METHODS)):
        cells = []
        for name in data:
            of = [result for result in found.get((name, method), ()) if len(result["auc"]) > 1]
            cells.append(_spread(of[0]) if of else "-")
        if set(cells) != {"-"}:
            sheet.rows.append([method, *cells])
    return sheet


def effort(found: Found, data: Sequence[str]) -> Sheet:
    """What the fits took: seconds and certified gap of the last, gap of those in cross-validation, and rank."""
    sheet = Sheet("Fits: median seconds / worst gap / worst gap in cross-validation / rank", ["", *data])
    for method in dict.fromkeys((*GRAPH_METHODS, *LABEL_METHODS)):
        cells = []
        for name in data:
            results = [result for result in found.get((name, method), ()) if result["gaps"][0] is not None]
            if not results:
                cells.append("-")
                continue
            seconds, gaps, rough, ranks = (
                [value for result in results for value in result[key]]
                for key in ("seconds", "gaps", "rough_gaps", "ranks")
            )
            cells.append(f"{np.median(seconds):.1f} / {max(gaps):.0e} / {max(rough):.0e} / {np.median(ranks):.0f}")
        if set(cells) != {"-"}:
            sheet.rows.append([method, *cells])
    return sheet


def factors(found: Mapping[tuple[str, str, float], Mapping[str, Any]]) -> Sheet:
    """Variant E by seed: mean AUC, standard deviation, smallest and largest, and how far above the optimum it ends."""
    heads = ["", "", "lambda ratio", "mean AUC", "standard deviation", "smallest", "largest", "above the bound"]
    sheet = Sheet("Variant E from many seeds: AUC on test pairs, and median objective over the certified bound", heads)
    for (data, method, ratio), result in found.items():
        values = np.array(result["auc"])
        bound = found.get((data, "optimum", ratio), {}).get("bound")
        above = "-"
        if "gap" in result:
            above = f"{np.median(result['gap']):.1e}"
        elif bound:
            above = f"{np.median(result['objective']) / bound - 1.0:.1e}"
        spread = f"{values.std(ddof=1):.4f}" if len(values) > 1 else "-"
        cells = [f"{values.mean():.4f}", spread, f"{values.min():.4f}", f"{values.max():.4f}", above]
        sheet.rows.append([data, method, f"{ratio:g}", *cells])
    return sheet


def steps(found: Mapping[tuple[str, str], Mapping[str, float]]) -> Sheet:
    """Procedure LEARN METRIC: AUC corrected and as printed."""
    data = list(dict.fromkeys(name for name, _ in found))
    heads = [f"{name}, {kind}" for name in data for kind in ("corrected", "as printed")]
    sheet = Sheet("Procedure LEARN METRIC, the last metric", ["", *heads, *PAPER])
    for letter in dict.fromkeys(letter for _, letter in found):
        known = [found.get((name, letter), {}) for name in data]
        cells = [f"{of[kind]:.3f}" if of else "-" for of in known for kind in ("corrected", "printed")]
        sheet.rows.append([letter, *cells, *(f"{value:.3f}" for value in printed.WIKIPEDIA[letter])])
    return sheet


def _area(results: Sequence[Mapping[str, Any]] | None) -> str:
    """Mean AUC, and its standard error over splits or folds."""
    return mean_text([float(np.mean(result["auc"])) for result in results or ()], 3)


def _spread(result: Mapping[str, Any]) -> str:
    low, high = min(result["objectives"]), max(result["objectives"])
    relative = (high - low) / max(abs(high), abs(low), np.finfo(float).tiny)
    return f"{min(result['auc']):.3f} to {max(result['auc']):.3f} / {relative:.0e}"
