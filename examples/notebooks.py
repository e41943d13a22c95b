"""The lessons as notebooks.

    python examples/notebooks.py build/notebooks            # write them
    python examples/notebooks.py build/notebooks --check    # ... and run each from top to bottom

Notebooks are made by sphinx-gallery from the scripts, the same way the site makes them; the scripts stay the source. A
check runs them in this interpreter's kernel, without the data folder, and leaves them with their outputs.
"""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path
from time import perf_counter

LESSONS = sorted(Path(__file__).resolve().parent.glob("plot_*.py"))


def write(folder: Path) -> list[Path]:
    """One notebook for each lesson."""
    from sphinx_gallery.notebook import python_to_jupyter_cli

    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for lesson in LESSONS:
        # The converter writes beside the script it is given.
        copy = Path(shutil.copy(lesson, folder))
        python_to_jupyter_cli([str(copy)])
        copy.unlink()
        made.append(copy.with_suffix(".ipynb"))
    return made


def run(notebook: Path, seconds: int) -> float:
    """Run a notebook in its folder, save its outputs, and return the time it took."""
    import nbformat
    from nbclient import NotebookClient

    content = nbformat.read(notebook, as_version=4)
    start = perf_counter()
    NotebookClient(content, timeout=seconds, kernel_name="python3", resources={"metadata": {"path": "."}}).execute()
    nbformat.write(content, notebook)
    return perf_counter() - start


def main() -> None:
    """Write the notebooks, and run them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true", help="run every notebook")
    parser.add_argument("--timeout", type=int, default=600, help="seconds a cell may take")
    arguments = parser.parse_args()
    os.environ.pop("CONVEXMETRIC_DATA", None)
    for notebook in write(arguments.folder):
        took = f"  ran in {run(notebook, arguments.timeout):.0f} s" if arguments.check else ""
        print(f"{notebook}{took}", flush=True)


if __name__ == "__main__":
    main()
