"""The lessons and exercises as notebooks.

    python examples/notebooks.py build/notebooks            # write them
    python examples/notebooks.py build/notebooks --check    # ... and run each from top to bottom

Notebooks are made by sphinx-gallery from the scripts, the same way the site makes them; the scripts stay the source. An
exercise is a cell of text, and a cell for each task with one behind it that checks it; the folders ``exercises`` and
``solutions``, in the same form, have their checks next to them. A check runs lessons and solutions in this
interpreter's kernel, without the data folder, and leaves them with their outputs; solutions must get all points.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
from pathlib import Path
from time import perf_counter

HERE = Path(__file__).resolve().parent
LESSONS = sorted(HERE.glob("plot_*.py"))
EXERCISES = sorted((HERE / "exercises").glob("exercise_*.py"))
SOLUTIONS = sorted((HERE / "exercises" / "solutions").glob("solution_*.py"))


def write(folder: Path) -> list[Path]:
    """Write a notebook for each lesson, each exercise and each solution."""
    folder.mkdir(parents=True, exist_ok=True)
    made = [converted(lesson.read_text(encoding="utf-8"), folder / lesson.name) for lesson in LESSONS]
    for name, paths in (("exercises", EXERCISES), ("solutions", SOLUTIONS)):
        shutil.copytree(HERE / "exercises" / "checks", folder / name / "checks", dirs_exist_ok=True)
        shutil.copy(HERE / "exercises" / "checking.py", folder / name)
        made += [converted(in_cells(path), folder / name / path.name) for path in paths]
    return made


def converted(text: str, script: Path) -> Path:
    """Convert the text of a script to a notebook next to it."""
    from sphinx_gallery.notebook import python_to_jupyter_cli

    # The converter writes next to the script it is given.
    script.write_text(text, encoding="utf-8")
    python_to_jupyter_cli([str(script)])
    script.unlink()
    return script.with_suffix(".ipynb")


def in_cells(path: Path) -> str:
    """Text of an exercise or a solution with cells: the text, a cell for each function, and one to check each task."""
    text, name = path.read_text(encoding="utf-8"), path.stem.partition("_")[2]
    exercise = (HERE / "exercises" / f"exercise_{name}.py").read_text(encoding="utf-8")
    tasks = [node.name for node in ast.parse(exercise).body if isinstance(node, ast.FunctionDef)]
    (about, *rest), cells = ast.parse(text).body, ["import checking"]
    head = re.sub(
        r"(Solution of exercise \d+)\.\n", lambda found: f"{found[1]}\n{'=' * len(found[1])}\n", source(text, about)
    )
    for node in rest:
        if isinstance(node, ast.FunctionDef):
            what = f"Task {tasks.index(node.name) + 1}" if node.name in tasks else "A helper"
            cells.append(f"# %%\n# **{what}**\n\n{source(text, node)}")
            if node.name in tasks:
                cells.append(f'# %%\n# Is it right?\n\nchecking.check("{name}", {node.name})')
        elif isinstance(node, ast.Import | ast.ImportFrom):
            cells[0] += f"\n{source(text, node)}"
    return "\n\n".join([head, *cells]) + "\n"


def source(text: str, node: ast.stmt) -> str:
    """Lines of a statement."""
    return "\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno])


def run(notebook: Path, seconds: int) -> float:
    """Run a notebook in its folder, save its outputs, and return the time it took."""
    import nbformat
    from nbclient import NotebookClient

    content = nbformat.read(notebook, as_version=4)
    beside = {"metadata": {"path": str(notebook.parent)}}
    start = perf_counter()
    NotebookClient(content, timeout=seconds, kernel_name="python3", resources=beside).execute()
    nbformat.write(content, notebook)
    return perf_counter() - start


def points(notebook: Path) -> tuple[int, int]:
    """Sum up the points that a notebook that was run has got, and those that there are."""
    import nbformat

    cells = [cell for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]
    said = "".join(output.get("text", "") for cell in cells for output in cell.outputs)
    got = re.findall(r"^(\d+) of (\d+) points$", said, re.MULTILINE)
    return sum(int(mine) for mine, _ in got), sum(int(most) for _, most in got)


def main() -> None:
    """Write the notebooks, and run lessons and solutions if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true", help="run lessons and solutions")
    parser.add_argument("--timeout", type=int, default=600, help="seconds a cell may take")
    arguments = parser.parse_args()
    os.environ.pop("CONVEXMETRIC_DATA", None)
    for notebook in write(arguments.folder):
        took = ""
        if arguments.check and not notebook.stem.startswith("exercise_"):
            took = f"  ran in {run(notebook, arguments.timeout):.0f} s"
            if notebook.stem.startswith("solution_") and points(notebook) != (10, 10):
                raise SystemExit(f"{notebook}: {points(notebook)[0]} of 10 points")
        print(f"{notebook}{took}", flush=True)


if __name__ == "__main__":
    main()
