"""Show the pictures of a script in windows; without a screen, write them to files."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

import matplotlib

from convexmetric.plotting.axes import save_picture

#: Counter of the pictures of this process, over all calls.
_COUNT = count(1)
#: Backends of Matplotlib that only write files.
WITHOUT_SCREEN = frozenset({"agg", "cairo", "pdf", "pgf", "ps", "svg", "template"})


def show_pictures() -> list[Path]:
    """Show the open figures of ``pyplot``; without a screen, save them in the current folder and print their paths.

    Files are named by the script, ``plot_02_relative_comparisons-1.png`` and so on, and figures are closed either way.

    Returns
    -------
    list of Path
        What was written; empty where the figures were shown.

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
