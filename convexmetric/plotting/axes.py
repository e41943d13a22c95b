"""Axes, colours, files and windows that the pictures share."""

from __future__ import annotations

import io
import itertools
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import matplotlib
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from convexmetric.files import all_or_nothing
from convexmetric.notebooks import printable

#: Colours of Okabe and Ito and a grey, for any colour vision; classes differ in marker, lines in dashes.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#595959")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")
#: Dash patterns of lines: with 8 colours, 56 lines differ, and consecutive ones differ in both.
DASHES: tuple[Any, ...] = (
    "-", (0, (5, 1.5)), (0, (1, 1)), "-.", (0, (8, 2, 2, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (2, 2)),
)  # fmt: skip
#: Colours of the upper and the lower bound and the band between, of aids such as level lines, and of grids.
UPPER, LOWER, BAND, AID, GRID = COLOURS[5], COLOURS[0], "#DDE6EE", "#767676", "#E5E5E5"
#: Width of every picture in inches. On a telephone, 400 pixels wide, capitals of size "small" are 7 pixels high.
WIDTH = 4.8
#: Settings of Matplotlib for pictures of this width, as in ``matplotlib.pyplot.style.use(STYLE)``.
STYLE: dict[str, Any] = {
    "figure.figsize": (WIDTH, 3.4), "figure.constrained_layout.use": True, "savefig.dpi": 200, "font.size": 10.0,
    "axes.titlesize": "medium", "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "axes.axisbelow": True, "grid.color": GRID, "grid.linewidth": 0.6,
    "legend.fontsize": "small", "legend.frameon": False, "lines.linewidth": 1.8, "lines.markersize": 4.0,
    "axes.prop_cycle": cycler(color=COLOURS, linestyle=[*DASHES, DASHES[1]]),
}  # fmt: skip
#: Largest number of classes with a legend; more would hide the data.
LEGEND_LIMIT = 12
#: Bounds that span more than this factor are drawn on a logarithmic axis.
LOG_FACTOR = 10.0

#: Counter of the pictures that ``show_pictures`` of this process has written.
_COUNT = itertools.count(1)
#: Backends of Matplotlib that only write files.
WITHOUT_SCREEN = frozenset({"agg", "cairo", "pdf", "pgf", "ps", "svg", "template"})


def axes_of(ax: Axes | None) -> Axes:
    """Return the axes given, or those of a new figure."""
    return panels()[1][0] if ax is None else ax


def panels(rows: int = 1, columns: int = 1, *, height: float = 3.4, **options: Any) -> tuple[Figure, list[Axes]]:
    """Make a figure that no window shows, of the width and style of all pictures.

    Parameters
    ----------
    rows, columns : int
        Rows and columns of panels; a telephone has room for two columns.
    height : float
        Height of a row in inches.
    **options
        For ``Figure.subplots``.

    Returns
    -------
    figure : Figure
    axes : list of Axes
        Row by row.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, rows * height), layout="constrained")
        return figure, list(figure.subplots(rows, columns, squeeze=False, **options).flat)


def look(k: int) -> dict[str, Any]:
    """Colour, marker and dashes of the k-th of several curves."""
    return {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)], "ls": DASHES[k % len(DASHES)]}


def plain(ax: Axes, lines: Literal["x", "y", "both"] = "y") -> Axes:
    """Style axes: a title of the size of text, no frame at the top and on the right, grid lines behind the data."""
    ax.title.set_fontsize("medium")
    ax.grid(visible=False)
    ax.grid(axis=lines, color=GRID, lw=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def curve_axes(ax: Axes) -> Axes:
    """Style the axes of a curve, with a legend if lines have names."""
    if any(label for label in ax.get_legend_handles_labels()[1]):
        ax.legend(frameon=False, fontsize="small")
    return plain(ax, "both")


def named(things: Any) -> Iterator[tuple[str, Any, str, str]]:
    """Yield name, thing, colour and marker, for each item of a mapping, or for a single thing with an empty name."""
    pairs = things.items() if isinstance(things, Mapping) else [("", things)]
    for (name, thing), colour, marker in zip(pairs, itertools.cycle(COLOURS), itertools.cycle(MARKERS), strict=False):
        yield text_of(name), thing, colour, marker


def text_of(name: object) -> str:
    """Escape a name from data or a user for Matplotlib: no formulas, and no control characters."""
    return printable(str(name)).replace("$", r"\$")


def shortened(names: Sequence[str], length: int = 24) -> list[str]:
    """Shorten long names in the middle; where that makes them equal, cut their common beginning and end."""

    def cut(name: str) -> str:
        half = length // 2
        return name if len(name) <= length else f"{name[: half - 1]}...{name[2 + half - length :]}"

    def common(texts: Sequence[str]) -> int:
        return sum(1 for _ in itertools.takewhile(lambda at: len(set(at)) == 1, zip(*texts, strict=False)))

    short = [cut(name) for name in names]
    if len(set(short)) == len(set(names)):
        return short
    begin = common(names)
    rest = [name[begin:] for name in names]
    end = common([name[::-1] for name in rest])
    return [cut(f"...{name[: len(name) - end]}...") for name in rest]


def save_picture(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file, all or nothing, in any format of Matplotlib, given by the suffix.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    with all_or_nothing(Path(path)) as unfinished:
        figure.savefig(unfinished, dpi=STYLE["savefig.dpi"])


def svg_of(figure: Figure, settings: Mapping[str, Any]) -> str:
    """The picture as an SVG element for a page, under settings of Matplotlib."""
    buffer = io.StringIO()
    with matplotlib.rc_context(dict(settings)):
        figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return buffer.getvalue().partition("<svg")[2].join(("<svg", ""))


def show_pictures() -> list[Path]:
    """Show the open figures of ``pyplot``; without a display, save them in the current folder and print their paths.

    Files are named by the script, ``plot_02_relative_comparisons-1.png`` and so on, and figures are closed either way.

    Returns
    -------
    list of Path
        Files written; empty if the figures were shown.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    import matplotlib.pyplot as plt

    # While the documentation is built, sphinx-gallery collects the figures from pyplot itself.
    if matplotlib.get_backend().lower() not in WITHOUT_SCREEN or "sphinx_gallery.gen_rst" in sys.modules:
        plt.show()
        return []
    saved = []
    for number in plt.get_fignums():
        path = Path(f"{Path(sys.argv[0]).stem or 'picture'}-{next(_COUNT)}.png")
        save_picture(plt.figure(number), path)
        plt.close(number)
        print(f"picture: {path.resolve()}")
        saved.append(path)
    return saved
