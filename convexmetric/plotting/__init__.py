"""Pictures of a solve and of a metric, on Matplotlib axes.

Each function takes first what it draws, then what belongs to it, labels after their points; options have keywords. It
draws on ``ax``, or on the axes of a new figure, and returns the axes; those that draw several return a figure. None
touches ``pyplot``: no state is shared, no window opens; ``ax.figure.savefig(path)`` writes a picture.
:func:`show_pictures` is for scripts that do use ``pyplot``, with or without a display, and begin with
``pyplot.style.use(STYLE)``. Pictures are sized for a telephone, and distinguish by markers and dashes whatever they
distinguish by colour.
"""

from convexmetric.imports import optional

optional("matplotlib", "plot", "a picture")

from convexmetric.plotting.audits import plot_audit, plot_scale, plot_spectrum, plot_worst  # noqa: E402
from convexmetric.plotting.axes import COLOURS, DASHES, MARKERS, STYLE, panels, save_picture, show_pictures  # noqa: E402
from convexmetric.plotting.embeddings import plot_before_after, plot_embedding  # noqa: E402
from convexmetric.plotting.rankings import (  # noqa: E402
    plot_precision_recall,
    plot_query_changes,
    plot_roc,
    plot_validation,
    plot_violated_ranking,
)
from convexmetric.plotting.solutions import plot_bounds, plot_gap, plot_solution, plot_weights  # noqa: E402

__all__ = [
    "COLOURS",
    "DASHES",
    "MARKERS",
    "STYLE",
    "panels",
    "plot_audit",
    "plot_before_after",
    "plot_bounds",
    "plot_embedding",
    "plot_gap",
    "plot_precision_recall",
    "plot_query_changes",
    "plot_roc",
    "plot_scale",
    "plot_solution",
    "plot_spectrum",
    "plot_validation",
    "plot_violated_ranking",
    "plot_weights",
    "plot_worst",
    "save_picture",
    "show_pictures",
]
