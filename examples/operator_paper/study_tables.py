"""Tables and a picture of the studies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from experiments.sheet import Sheet, mean_text
from matplotlib.axes import Axes

from convexmetric.plotting import COLOURS, MARKERS, panels, save_picture

from . import printed

__all__ = ["Found", "chosen_lambda", "draw", "sheets", "spread", "study", "summary"]

Found = dict[tuple[str, float, float], list[dict[str, Any]]]
"""Results, one a draw, by study, what it varies, and lambda."""

MEASURES = ("risk", "area", "error", "input_area", "input_error")
TITLES = {
    "objects": ("Objects: 4 of 20 judged, learned from", "objects"),
    "lambda": ("Handwriting: letters left out, by lambda", "lambda"),
    "categories": ("Handwriting: digits, by letters learned from", "letters"),
    "images": ("Handwriting: digits, by images of each of 25 letters", "images"),
    "framing": ("Handwriting: letters as they are (0), framed as MNIST is (1)", "framed"),
}
#: Letters by the place of the study of framing.
FRAMED = ("as they are", "framed as MNIST is")
#: The paper's row; it has none of letters that are left out.
PAPER = {"objects": "paper, 80", "categories": "paper, 52", "images": "paper, 80", "framing": "paper (NIST letters)"}


def chosen_lambda(found: Found) -> float | None:
    """The lambda of the least mean risk on letters that were left out."""
    means = {reg: summary(results, "risk")[0] for (study, _, reg), results in found.items() if study == "lambda"}
    return min(means, key=lambda reg: means[reg]) if means else None


def sheets(found: Found, chosen: float | None) -> Iterator[Sheet]:
    """A table a study: means and standard errors over draws, for every task that is judged."""
    for study, (title, head) in TITLES.items():
        rows = sorted((at, reg) for of, at, reg in found if of == study)
        if not rows:
            continue
        note = f"; least risk at lambda = {chosen:g}" if study == "lambda" and chosen else ""
        sheet = Sheet(title + note, [head, "lambda", "judged on", "fits", *_heads(), "largest gap"])
        for at, reg in rows:
            results = found[study, at, reg]
            for test in results[0]["tests"]:
                cells = [_cell(*summary(results, measure, test)) for measure in MEASURES]
                gap = f"{max(result['gap'] for result in results):.0e}"
                sheet.rows.append([f"{at:g}", f"{reg:g}", test, str(len(results)), *cells, gap])
        yield sheet


def study(found: Found, name: str, first: str, test: str | None = None) -> Sheet:
    """One study as the page has it: risk, ROC area and error on a task, the first by default; last the paper's."""
    # What the study of lambda varies is lambda.
    own = [] if name == "lambda" else [first]
    sheet = Sheet(TITLES[name][0], [*own, "lambda", "fits", "risk", "ROC area", "error"])
    for at, reg in sorted((at, reg) for of, at, reg in found if of == name):
        results = found[name, at, reg]
        of_test = [result["tests"][test or next(iter(result["tests"]))] for result in results]
        cells = [mean_text([values[measure] for values in of_test], 3) for measure in MEASURES[:3]]
        title = FRAMED[int(at)] if name == "framing" else f"{at:g}"
        sheet.rows.append([*([title] if own else []), f"{reg:g}", str(len(results)), *cells])
    if sheet.rows and name in PAPER:
        paper = printed.TRANSFER["objects" if name == "objects" else "handwritten"]
        sheet.rows.append([PAPER[name], "0.005", "", *(_printed(paper[measure]) for measure in MEASURES[:3])])
    return sheet


def _printed(value: float | tuple[float, float]) -> str:
    """The number of the Hilbert-Schmidt norm."""
    return f"{value[0] if isinstance(value, tuple) else value:.3f}"


def spread(found: Mapping[tuple[str, float], Mapping[str, Any]]) -> Sheet:
    """Measures on test tasks with standard errors over test categories, beside the printed ones."""
    measures = ("risk", "area", "error")
    sheet = Sheet("Standard errors over test categories: ours / paper", ["", "lambda", *measures, "gap"])
    for (experiment, reg), result in found.items():
        # What is no experiment of the paper is another look at handwriting.
        paper = printed.TRANSFER.get(experiment, printed.TRANSFER["handwritten"])
        cells = [
            f"{_cell(result[name], result[f'{name}_error'])} / {paper[name] if name == 'risk' else paper[name][0]:.3f}"
            for name in measures
        ]
        sheet.rows.append([experiment, f"{reg:g}", *cells, f"{result['gap']:.0e}"])
    return sheet


def draw(found: Found, chosen: float | None, path: Path) -> None:
    """Risk and error against objects, lambda and letters, with one standard error; the paper's dotted."""
    names = [study for study in ("objects", "lambda", "categories") if any(of == study for of, _, _ in found)]
    if not names:
        return
    figure, axes = panels(len(names), height=3.2)
    for ax, study in zip(axes, names, strict=True):
        regs = sorted({reg for of, _, reg in found if of == study}) if study != "lambda" else [None]
        for at, reg in enumerate(regs):
            _curves(ax, found, study, reg, at, chosen)
        paper = printed.TRANSFER["objects" if study == "objects" else "handwritten"]
        if study != "lambda":
            for colour, value in zip(COLOURS, (paper["risk"], paper["error"][0]), strict=False):
                ax.axhline(value, color=colour, linestyle=":", linewidth=0.9)
            ax.set_xlabel(f"{TITLES[study][1]} learned from")
            ax.set_xticks(sorted({at for of, at, _ in found if of == study}))
            ax.set_ylim(bottom=0.0)
        else:
            ax.set_xscale("log")
            ax.set_xlabel("lambda")
        ax.set_title(TITLES[study][0].split(",")[0], fontsize="medium")
        ax.legend(frameon=False, fontsize="small")
    save_picture(figure, path)


def _curves(ax: Axes, found: Found, study: str, reg: float | None, at: int, chosen: float | None) -> None:
    places = sorted({place for of, place, own in found if of == study and (reg is None or own == reg)})
    for colour, marker, measure in zip(COLOURS, MARKERS, ("risk", "error"), strict=False):
        points = [
            summary(
                next(r for (of, p, own), r in found.items() if (of, p) == (study, x) and reg in (None, own)), measure
            )
            for x in places
        ]
        values, errors = np.array(points).T
        label = measure if reg is None else f"{measure}, lambda {reg:g}"
        line = "--" if study == "categories" and reg != chosen else "-"
        ax.errorbar(
            places,
            values,
            np.nan_to_num(errors),
            fmt=line,
            marker=marker,
            markersize=4,
            capsize=2,
            color=colour,
            label=label,
        )


def summary(results: Sequence[Mapping[str, Any]], measure: str, test: str | None = None) -> tuple[float, float]:
    """Mean over draws of a measure on a task, the first by default, and its standard error (NaN for one draw)."""
    values = [result["tests"][test or next(iter(result["tests"]))][measure] for result in results]
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return float(np.mean(values)), error


def _heads() -> list[str]:
    return [measure.replace("_", " ") for measure in MEASURES]


def _cell(mean: float, error: float) -> str:
    return f"{mean:.3f}" if np.isnan(error) else f"{mean:.3f} ± {error:.3f}"
