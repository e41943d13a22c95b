"""Reports of ``fit`` and ``adapt`` as one self-contained HTML page, with its pictures inside."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR
from html import escape
from importlib.metadata import version
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from convexmetric import __version__
from convexmetric.audits import WorstPart, worst_parts
from convexmetric.cli.fitting import KEEP_LONE, Fitted, labels_of, points_of
from convexmetric.cli.reports import digits
from convexmetric.datasets import sha256
from convexmetric.deadline import Clock, OutOfTime
from convexmetric.files import all_or_nothing
from convexmetric.notebooks import facts_table, printable
from convexmetric.plotting import plot_embedding, plot_spectrum, plot_validation, plot_weights
from convexmetric.plotting.axes import LEGEND_LIMIT, WIDTH, panels, shortened, svg_of
from convexmetric.selection import Validation
from convexmetric.selection.folds import stratified_sample
from convexmetric.selection.records import Tabled
from convexmetric.solution import Solution

#: Largest number of points in a map (a stratified sample of more), of columns and of comparisons that are named.
MAP_POINTS, MOST_COLUMNS, WORST = 1000, 15, 8
#: Characters of all names in one row of a legend.
LEGEND_LETTERS = 64
#: Height of a row of a legend, and of a picture without it, in inches.
LEGEND_ROW, HEIGHT = 0.2, 3.6
STYLE = """
body { margin: 0 auto; max-width: 66rem; padding: 1rem clamp(1rem, 4vw, 2.5rem) 3rem; color: #1d2327;
  background: #ffffff; font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 1rem 0 .3rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem; }
p { max-width: 46rem; margin: .5rem 0; } .soft, figcaption { color: #57606a; }
.claim, pre { background: #f4f6f8; padding: .7rem 1rem; }
.claim { border-left: 4px solid #0072B2; font-size: 1.08rem; }
pre { white-space: pre-wrap; font-size: .82rem; } code { white-space: nowrap; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; font-weight: 400; vertical-align: top; padding: .3rem .9rem .3rem 0;
  border-bottom: 1px solid #dfe3e7; }
figcaption { font-size: .88rem; } figure { display: inline-block; margin: 0; width: min(100%, 30rem); }
svg { width: 100%; height: auto; }
"""


SCORED = (
    "Each is scored by Euclidean distance of the columns and by a metric learned from the other rows; k-NN accuracy is "
    "the share of rows that get their label from their nearest neighbours, AUC the area under the ROC curve of ranking "
    "the other rows, 0.5 for labels at random, and MAP their mean average precision, which has no such level and no "
    "verdict. Standard errors and verdicts are of the corrected resampled t-test (Nadeau and Bengio 2003) at 5%."
)


def write_report(path: Path, fitted: Fitted, command: str, clock: Clock) -> None:
    """Write the page, all or nothing; without the costliest comparisons where there is no time for them."""
    write_page(path, f"A metric for {fitted.data.name}", _sections(fitted, command, clock))


def write_page(path: Path, title: str, sections: Iterator[str]) -> None:
    """Write a page of sections, all or nothing."""
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>\n<h1>{escape(title)}</h1>\n"
        + "\n".join(sections)
        + "\n</body></html>\n"
    )
    with all_or_nothing(path) as unfinished:
        unfinished.write_text(printable(page), encoding="utf-8")


def _sections(fitted: Fitted, command: str, clock: Clock) -> Iterator[str]:
    data, solution = fitted.data, fitted.solution
    yield paragraph(f"{data.X.shape[0]} rows, {data.X.shape[1]} columns, {len(data.target_names)} labels.", "soft")
    yield paragraph(fitted.recommendation, "claim")
    if fitted.held_out is not None:
        yield section("Does it help on new rows?", fitted.held_out, SCORED)
    yield certified(solution)
    if fitted.path is not None:
        yield _choice(fitted.path)
    yield _metric(fitted)
    yield _map(fitted)
    yield _worst(fitted, clock)
    settings = ", ".join(f"{name} = {value}" for name, value in fitted.all_settings.items()) or "as it comes"
    work = f"{solution.iterations} {solution.unit}, {solution.seconds:.2f} s"
    facts = [
        ("method", f"{fitted.method}, {settings}"),
        ("columns", ", ".join(data.extras["columns"])),
        ("solver", f"{solution.solver}, {work}, tol {solution.tol:g}"),
        ("data", f"SHA-256 {sha256(data)}"),
        ("problem", f"SHA-256 {solution.problem.fingerprint()}"),
        ("written", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
    ]
    yield reproduced(command, facts)


def certified(solution: Solution) -> str:
    """Make the section of what is certified."""
    low = digits(solution.lower_bound, solution.gap, ROUND_FLOOR)
    high = digits(solution.upper_bound, solution.gap, ROUND_CEILING)
    early = f" The solve ended before the tolerance asked for ({solution.status})."
    end = "" if solution.status == "optimal" else early
    apart = solution.upper_bound - solution.lower_bound
    near = f"{apart:.1e}" if solution.nearly_zero else f"a share of {max(solution.gap, 0.0):.1e}"
    claim = (
        f"No metric has an objective below {low}, and this one has {high}: it is within {near} "
        "of the best there is. Both bounds are computed in floating-point arithmetic, "
        "with an allowance for rounding; convexmetric verify proves them in exact arithmetic from a file that "
        "write_certificate makes. They are about the objective below; of new data only scores of what was held out "
        f"speak.{end}"
    )
    return section("What is certified", paragraph(claim), f"<pre>{escape(str(solution.problem))}</pre>")


def _choice(path: Validation) -> str:
    names = " and ".join(path.settings)
    title = f"How {names} was chosen"
    if len(path.names) > 1:
        return section(title, path)
    caption = (
        "Mean accuracy of the rows held out, plus and minus a standard deviation over folds; the line is the choice."
    )
    return section(title, path, picture(lambda ax: plot_validation(path, ax=ax), f"Accuracy against {names}", caption))


def _metric(fitted: Fitted) -> str:
    L = fitted.estimator.components_
    M = L.T @ L
    caption = "From the largest down, without those below 1e-12 of it, which are rounding."
    pictures = [picture(lambda ax: plot_spectrum(M, ax), "Eigenvalues of the metric", caption)]
    if fitted.estimator.embedding_ is None:
        names = list(fitted.data.extras["columns"])
        of = "" if len(names) <= MOST_COLUMNS else f" The {MOST_COLUMNS} largest of {len(names)}."
        caption = (
            f"Share of each {'scaled ' if fitted.scale else ''}column in the trace of the metric: how much it counts "
            f"by itself. Of columns that go together one may stand for the others.{of}"
        )
        bars = picture(lambda ax: plot_weights(M, names, ax=ax, most=MOST_COLUMNS), "Weights of columns", caption)
        pictures.insert(0, bars)
    return section("What the metric looks at", *pictures)


def _map(fitted: Fitted) -> str:
    labels = labels_of(fitted.data)
    rows = stratified_sample(labels, MAP_POINTS, 0)
    points, names = points_of(fitted.data, fitted.scale)[rows], shortened(np.unique(labels[rows]).tolist())
    pictures = []
    for name, shown in (("before", points), ("after", fitted.estimator.transform(points))):

        def draw(ax: Axes, shown: np.ndarray = shown, name: str = name) -> None:
            plot_embedding(shown, labels[rows], None, ax=ax, target_names=names)
            _legend_below(ax)
            ax.set_title(f"{name.capitalize()}: {'Euclidean' if name == 'before' else 'learned'} metric")

        pictures.append(picture(draw, f"Rows {name}", ""))
    of = "" if len(rows) == len(labels) else f" ({len(rows)} of {len(labels)})"
    what = (
        f"Rows{of} on the two principal axes of the columns, and of what the metric makes of them: rows learned from."
    )
    if len(names) > LEGEND_LIMIT:
        what += f" The {len(names)} labels are too many for a legend."
    return section("The rows before and after", what, *pictures)


def _worst(fitted: Fitted, clock: Clock) -> str:
    solution = fitted.solution
    title = "Costliest comparisons"
    try:
        with clock.until(1.0):
            found = worst_parts(solution.problem, solution.certificate.M, None, WORST)
    except OutOfTime:
        return section(title, "There was not enough time for them.")
    if not found:
        return section(title, "No comparison costs anything.")
    text = (
        "The parts of the objective that cost most, each with its worst comparison: rows worth a look, for a wrong "
        "label or a wrong number. Lines are those of the file."
    )
    rows = [(f"{part.kind}, costs {part.loss:.4g}", _in_words(part, fitted)) for part in found]
    return section(title, text, facts_table("", rows))


def _in_words(part: WorstPart, fitted: Fitted) -> str:
    labels = labels_of(fitted.data)
    kept = np.arange(len(labels))
    if fitted.method not in KEEP_LONE:
        # The method has left out rows that are alone in their class: map its row numbers to those of the table.
        _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        kept = np.flatnonzero(counts[codes] > 1)
    rows = kept[list(part.rows)]
    named = [f"line {fitted.data.extras['lines'][row]} ({labels[row]})" for row in rows]
    if len(named) == 3:
        return f"{named[0]} should be nearer to {named[1]} than to {named[2]}"
    return f"{named[0]} should be {'near' if labels[rows[0]] == labels[rows[1]] else 'far from'} {named[1]}"


def reproduced(command: str, facts: Sequence[tuple[str, str]] = ()) -> str:
    """Make the section of what it takes to do it again: the command, facts, and the versions of what computed it."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "numba"))
    machine = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    versions = "versions", f"convexmetric {__version__}, {packages}, {machine}"
    return section("To do it again", f"<pre>{escape(command)}</pre>", facts_table("", [*facts, versions]))


def _legend_below(ax: Axes) -> None:
    """Move the legend out of the data, in as many columns as its names leave room for."""
    legend, figure = ax.get_legend(), ax.get_figure()
    if legend is None or not isinstance(figure, Figure):
        return
    handles, names = ax.get_legend_handles_labels()
    columns = max(1, LEGEND_LETTERS // (max(map(len, names)) + 4))
    # The figure grows by the legend, so that the axes keep their height.
    figure.set_size_inches(WIDTH, HEIGHT + LEGEND_ROW * np.ceil(len(names) / columns))
    legend.remove()
    figure.legend(handles, names, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


def picture(draw: Callable[[Axes], object], title: str, caption: str) -> str:
    """Make a figure of the page, as SVG."""
    figure, (ax,) = panels(height=HEIGHT)
    draw(ax)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg_of(figure, {"svg.hashsalt": "convexmetric"}), count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', rf'\1 role="img" aria-label="{escape(title)}"', svg, count=1)
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def section(title: str, *contents: str | Tabled) -> str:
    """Put tables, texts and HTML under a title."""
    parts = []
    for content in contents:
        if isinstance(content, Tabled):
            parts.append(content._repr_html_())
        else:
            parts.append(content if content.startswith("<") else paragraph(content, "soft"))
    return f"<section><h2>{escape(title)}</h2>\n{''.join(parts)}</section>"


def paragraph(text: str, kind: str = "") -> str:
    """Make a paragraph, in which options stay in one piece."""
    marked = re.sub(r"--[a-z-]+ [a-z-]+", lambda option: f"<code>{option[0]}</code>", escape(text))
    return f'<p class="{kind}">{marked}</p>'
