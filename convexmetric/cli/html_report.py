"""The page of ``convexmetric fit --report``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from convexmetric.audits import WorstPart, worst_parts
from convexmetric.cli.fitting import KEEP_LONE, Fitted, labels_of, points_of
from convexmetric.cli.pages import HEIGHT, certified, paragraph, picture, reproduced, section, write_page
from convexmetric.datasets import sha256
from convexmetric.deadline import Clock, OutOfTime
from convexmetric.notebooks import facts_table
from convexmetric.plotting import plot_embedding, plot_spectrum, plot_validation, plot_weights
from convexmetric.plotting.axes import LEGEND_LIMIT, WIDTH, shortened
from convexmetric.selection import Validation
from convexmetric.selection.folds import stratified_sample

#: Largest number of points in a map (a stratified sample of more), of columns and of comparisons that are named.
MAP_POINTS, MOST_COLUMNS, WORST = 1000, 15, 8
#: Characters of all names in one row of a legend.
LEGEND_LETTERS = 64
#: Height of a row of a legend, in inches.
LEGEND_ROW = 0.2

SCORED = (
    "Each is scored by Euclidean distance of the columns and by a metric learned from the other rows; k-NN accuracy is "
    "the share of rows that get their label from their nearest neighbours, AUC the area under the ROC curve of ranking "
    "the other rows, 0.5 for labels at random, and MAP their mean average precision, which has no such level and no "
    "verdict. LDA is the linear discriminant analysis of scikit-learn, learned from the same rows. Standard errors and "
    "verdicts are of {test} at 5%."
)


def write_report(path: Path, fitted: Fitted, command: str, clock: Clock) -> None:
    """Write the page, all or nothing; without the costliest comparisons if there is no time for them."""
    write_page(path, f"A metric for {fitted.data.name}", _sections(fitted, command, clock))


def _sections(fitted: Fitted, command: str, clock: Clock) -> Iterator[str]:
    data, solution = fitted.data, fitted.solution
    yield paragraph(f"{data.X.shape[0]} rows, {data.X.shape[1]} columns, {len(data.target_names)} labels.", "soft")
    yield paragraph(fitted.recommendation, "claim")
    if fitted.held_out is not None:
        yield section("Does it help on new rows?", fitted.held_out, SCORED.format(test=fitted.held_out.test))
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


def _choice(path: Validation) -> str:
    names = " and ".join(path.settings)
    spread = ", plus and minus a standard deviation over folds" if path.gaps.shape[1] > 1 else ""
    caption = f"Mean {path.score} of the rows held out{spread}; the title names the choice."

    def draw(ax: Axes) -> None:
        plot_validation(path, ax=ax)
        _legend_below(ax)

    return section(f"How {names} was chosen", path, picture(draw, f"Scores against {path.names[-1]}", caption))


def _metric(fitted: Fitted) -> str:
    L = fitted.estimator.components_
    M = L.T @ L
    caption = "From the largest down, without those below 1e-12 of it, which are rounding."
    pictures = [picture(lambda ax: plot_spectrum(M, ax=ax), "Eigenvalues of the metric", caption)]
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
