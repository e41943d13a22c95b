"""The page of exercises: a table, and each exercise with its text, an editor, its blanks and its solution, folded.

And pictures of lessons, for the pages of lectures, tiles of the gallery, and files to take away.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "exercises"

LABEL = """
.. _exercise-{number}:
"""

EDITOR = """
.. raw:: html

   <div class="exercise" data-name="{name}"></div>
"""

BELOW = (
    EDITOR,
    r'''
.. admonition:: exercise_{name}.py
   :collapsible: closed

   .. literalinclude:: ../examples/exercises/exercise_{name}.py
      :lines: {blanks}

.. admonition:: Solution
   :collapsible: closed

   .. include:: ../examples/exercises/solutions/solution_{name}.py
      :start-after: Solution of exercise {number}.
      :end-before: """

   .. literalinclude:: ../examples/exercises/solutions/solution_{name}.py
      :lines: {solution}
''',
)


def code(path: Path) -> str:
    """Tell the lines of a file behind its text, without the last statement, which runs the checks."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return f"{body[1].lineno}-{body[-2].end_lineno}"


def shown(path: Path) -> list[str]:
    """Write what the page shows of one exercise."""
    name = path.stem.removeprefix("exercise_")
    solution = code(FOLDER / "solutions" / f"solution_{name}.py")
    about = linked(ast.parse(path.read_text(encoding="utf-8")).body[0].value.value)
    parts = (part.format(name=name, number=int(name[:2]), blanks=code(path), solution=solution) for part in BELOW)
    return "\n".join([LABEL.format(number=int(name[:2])), about, *parts]).splitlines()


def linked(text: str) -> str:
    """Lead the numbers of lessons, as in "lessons 5 and 14", to their pages, in reStructuredText."""
    names = {str(int(path.stem[5:7])): path.stem for path in FOLDER.parent.glob("plot_*.py")}

    def links(found: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda number: f":doc:`{number[0]} </gallery/{names[number[0]]}>`", found[0])

    return re.sub(r"\b[Ll]essons?\s\d+(?:(?:,| and)\s\d+)*", links, text)


def paths() -> list[Path]:
    """List the files of the exercises, in their order."""
    return sorted(FOLDER.glob("exercise_*.py"))


def editors() -> list[str]:
    """Write the places of the editors, as reStructuredText."""
    return "".join(EDITOR.format(name=path.stem.removeprefix("exercise_")) for path in paths()).splitlines()


def lines() -> list[str]:
    """Write what the page shows below its first words, as reStructuredText."""
    sys.path.insert(0, str(FOLDER))
    try:
        import checking
    finally:
        sys.path.pop(0)
    table = [".. list-table::", "   :header-rows: 1", "   :widths: 40 12 48", ""]
    table += ["   * - exercise", "     - difficulty", "     - tasks and points"]
    pages = []
    for path in paths():
        text = path.read_text(encoding="utf-8")
        title = text.splitlines()[1]
        points = {name: check.points for name, check in checking.checks_of(path.stem[9:]).items()}  # type: ignore[attr-defined]
        tasks = ", ".join(f"``{name}`` {number}" for name, number in points.items())
        table += [f"   * - `{title}`_", f"     - {'★' * text.count('★')}", f"     - {tasks}"]
        pages += shown(path)
    return [*table, "", *pages]


def directive(written: Callable[[], list[str]]) -> Any:
    """Make the directive of Sphinx that puts the lines of a function in its place."""
    from sphinx.util.docutils import SphinxDirective

    class Lines(SphinxDirective):
        def run(self) -> list[Any]:
            self.state_machine.insert_input(written(), "docs/course.py")
            return []

    return Lines


def picture_directive() -> Any:
    """Make the directive that shows a picture of a lesson, by the lesson's name and the picture's number.

    Where the lessons were not run it names the picture, and leads to the lesson.
    """
    from docutils import nodes
    from sphinx.addnodes import pending_xref
    from sphinx.util.docutils import SphinxDirective

    class Picture(SphinxDirective):
        required_arguments, has_content = 2, True

        def run(self) -> list[Any]:
            lesson, number = self.arguments
            drawn = f"gallery/images/sphx_glr_{lesson}_{int(number):03d}"
            here = Path(self.env.srcdir)
            # A film is beside this file, in the size in which it is read.
            film = f"{lesson[8:].replace('_', '-')}.gif"
            paths = [f"/{path}" for path in (f"{drawn}.png", film) if (here / path).is_file()]
            where = pending_xref("", refdomain="std", reftype="doc", reftarget=f"/gallery/{lesson}", refwarn=True)
            where["refdoc"], where["refexplicit"] = self.env.docname, False
            where += nodes.inline("", lesson)
            text = self.parse_content_to_nodes()[0].children
            if not paths:
                return [nodes.paragraph("", "", nodes.Text(f"Picture {number} of "), where, nodes.Text(": "), *text)]
            caption = nodes.caption("", "", *text, nodes.Text(" ("), where, nodes.Text(")"))
            return [nodes.figure("", nodes.image(uri=paths[0], alt=" ".join(self.content)), caption)]

    return Picture


def tiles_directive(source: str) -> Any:
    """Make the directive that shows tiles, a line each: the page that it leads to, a picture, and what it is.

    The picture is a file, or the number of a picture of the lesson. Pages outside of the site are in the repository.
    """
    from docutils import nodes
    from sphinx.util.docutils import SphinxDirective

    class Tiles(SphinxDirective):
        has_content = True

        def address(self, page: str) -> str:
            name, _, place = page.partition("#")
            if page.startswith("../"):
                return f"{source}/blob/main/{page[3:]}"
            if name not in self.env.found_docs:
                raise self.error(f"no page {name}")
            return f"{self.env.app.builder.get_relative_uri(self.env.docname, name)}#{place}".rstrip("#")

        def tile(self, line: str) -> Any:
            page, picture, text = (part.strip() for part in line.split("|"))
            if picture.isdigit():
                lesson, here = page.rpartition("/")[2], Path(self.env.srcdir)
                drawn = f"gallery/images/sphx_glr_{lesson}_{int(picture):03d}.png"
                # Where the lessons were not run there is a picture that says so.
                there = (here / drawn).is_file()
                picture = drawn if there else f"gallery/images/thumb/sphx_glr_{lesson}_thumb.png"
            shown = [nodes.image(uri=f"/{picture}", alt=text), nodes.inline("", text)]
            return nodes.paragraph("", "", nodes.reference("", "", *shown, refuri=self.address(page)), classes=["tile"])

        def run(self) -> list[Any]:
            return [nodes.container("", *map(self.tile, self.content), classes=["tiles"])]

    return Tiles


def files_directive(folder: Path) -> Any:
    """Make the directive that leads to files of a folder that the site serves; it shows nothing if there are none."""
    from docutils import nodes
    from sphinx.util.docutils import SphinxDirective

    class Files(SphinxDirective):
        def run(self) -> list[Any]:
            names = sorted(path.name for path in folder.glob("*.*"))
            links = "".join(f'<li><a href="_static/{folder.name}/{name}">{name}</a></li>' for name in names)
            return [nodes.raw("", f"<ul>{links}</ul>", format="html")] if names else []

    return Files
