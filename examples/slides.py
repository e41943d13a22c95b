r"""Slides of the course, one file of HTML for each lecture, from the lectures' pages and the lessons' pictures.

    python examples/slides.py build/slides                          # run the lessons for their pictures (minutes)
    python examples/slides.py build/slides --pictures build/drawn   # ... and keep them there, or take those there are

``make course`` calls it, and writes all else that a class needs.

A lecture is a page of the site, ``docs/course/lecture-1-statement.md`` and so on. Each of its headings is a slide,
which shows lists, formulas, tables, listings and pictures. Paragraphs are what is said: they are on the page only. A
question is a quotation, with its answer folded below it in ``<details>``, which is on the page only as well. A picture
is a paragraph such as

    [Picture 1 of lesson 5: What it shows](../../examples/plot_05_duality.py)

the first one that the lesson shows, or its film. It has a slide of its own, for which it is drawn anew, with letters
that are read in the last row. A file of slides needs nothing else:
pictures, formulas and the font of these are in it, and there is no script. Space and arrows turn the slides, and each
prints on a page.

Needs ``pip install -e '.[docs]'``.
"""

from __future__ import annotations

import argparse
import base64
import html
import mimetypes
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
LECTURES = sorted((DOCS / "course").glob("lecture-*.md"))
FONT = DOCS / "_static" / "fonts" / "STIXTwoMath.woff2"
#: What a process that draws runs.
RUN = f"import sys; sys.path.insert(0, {str(HERE)!r}); import slides; slides.run(sys.argv[1])"
#: Inches and points of a picture that fills a slide: at 1,280 x 720 pixels, 100 pixels an inch, letters of 20 pixels.
SLIDE, LETTERS = (11.4, 5.2), 14.4
FIGURE = "<figure>"
#: A picture of a lesson: its number, what it shows, and the lesson.
PICTURE = re.compile(r"^\[Picture (\d+) of lesson \d+: (.+)\]\(\.\./\.\./examples/(\w+)\.py\)$", re.MULTILINE)
#: An answer to a question, folded.
ANSWER = re.compile(r"^<details>.*?^</details>\n", re.MULTILINE | re.DOTALL)

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
@font-face {{ font-family: "STIX Two Math"; src: url("{font}") format("woff2"); }}
{style}
</style>
</head>
<body>
<main>
{slides}
</main>
</body>
</html>
"""

STYLE = """
:root { color-scheme: light; scroll-snap-type: y mandatory; font-size: max(16px, min(2.05vw, 3.65vh)); }
* { box-sizing: border-box; }
body { margin: 0; color: #1b1f24; background: #fff; font-family: system-ui, "DejaVu Sans", sans-serif;
  line-height: 1.4; }
section { position: relative; display: flex; flex-direction: column; gap: 0.8rem; height: 100vh; overflow: hidden;
  padding: 1.4rem 2.6rem 1.9rem; scroll-snap-align: start; break-after: page; break-inside: avoid; }
section::after { content: attr(data-number); position: absolute; right: 1.2rem; bottom: 0.5rem; color: #57606a;
  font-size: 0.6rem; }
section:first-child::after { content: "A course on convex metric learning. convexmetric, BSD 3-Clause License"; }
h1, h2 { margin: 0 0 0.3rem; line-height: 1.2; color: #0b4f8a; }
h1 { font-size: 2.3rem; margin-top: auto; }
h1 ~ :last-child { margin-bottom: auto; }
h2 { font-size: 1.5rem; }
ul, ol { margin: 0; padding-left: 1.3em; }
li { margin: 0.3rem 0; }
li p { margin: 0; }
pre { margin: 0; padding: 0.6em 0.9em; background: #f2f4f7; font-size: 0.74rem; line-height: 1.45;
  white-space: pre-wrap; overflow-wrap: anywhere; }
code { font-family: "DejaVu Sans Mono", monospace; font-size: 0.9em; }
pre code { font-size: 1em; }
.long pre { font-size: 0.6rem; line-height: 1.3; }
table { border-collapse: collapse; font-size: 0.92rem; }
th, td { padding: 0.25em 0.8em; text-align: left; vertical-align: baseline; border-bottom: 1px solid #c8ced6; }
math { font-family: "STIX Two Math", math; font-size: 1.08em; }
.formula, .tabular { flex: none; overflow: auto hidden; padding: 0.2rem 0; }
.formula > math { width: max-content; margin: 0 auto; font-size: 1.25em; }
.question { margin: auto 0 0; padding: 0.4em 0.8em; background: #fdf3e1; border-left: 0.25em solid #b35900; }
.question + .question { margin-top: 0; }
figure { flex: 1 1 0; min-height: 0; margin: 0; display: flex; flex-direction: column; align-items: center;
  gap: 0.3rem; }
figure img { flex: 1 1 0; min-height: 0; max-width: 100%; object-fit: contain; }
figcaption { font-size: 0.75rem; color: #424a53; }
@media screen and (max-width: 700px) {
  :root { scroll-snap-type: none; }
  section { height: auto; padding: 1.2rem 1rem 2rem; border-bottom: 1px solid #c8ced6; }
  h1 { font-size: 1.6rem; }
  h2 { font-size: 1.25rem; }
  .formula > math { font-size: 0.85em; }
  th, td { padding: 0.2em; font-size: 0.7rem; }
  pre { font-size: 0.62rem; }
  figure { flex: none; }
  figure img { flex: none; width: 100%; }
}
@page { size: 13.333in 7.5in; margin: 0; }
@media print { :root { font-size: 0.275in; } section { height: 7.5in; } }
"""


def lessons_of(text: str) -> list[str]:
    """Names of the lessons whose pictures a page shows, each once."""
    return list(dict.fromkeys(name for *_, name in PICTURE.findall(text)))


def for_a_room(figure: Any) -> None:
    """Draw a figure anew for a slide: as large as one, panels of a column side by side, and letters that are read."""
    from matplotlib.gridspec import GridSpec
    from matplotlib.text import Text
    from matplotlib.ticker import MaxNLocator

    axes = [ax for ax in figure.axes if ax.get_subplotspec() is not None]
    grid = axes[0].get_subplotspec().get_gridspec()
    if grid.nrows > 1 and grid.ncols < 3:
        rows = (len(axes) - 1) // 4 + 1
        across = GridSpec(rows, -(-len(axes) // rows), figure)
        for ax, place in zip(axes, across, strict=False):
            ax.set_subplotspec(place)
            # Numbers and a name below a panel that was above another, and shares its axis.
            ax.set_xlabel(ax.get_xlabel() or axes[-1].get_xlabel())
            ax.xaxis.set_tick_params(labelbottom=True)
            ax.yaxis.set_tick_params(labelleft=True)
            if across.ncols > 3 and isinstance(ax.xaxis.get_major_locator(), MaxNLocator):
                ax.locator_params(axis="x", nbins=2)
    figure.set_size_inches(SLIDE)
    for text in figure.findobj(Text):
        text.set_fontsize(max(LETTERS, 1.4 * text.get_fontsize()))


def run(lesson: str) -> None:
    """Run a lesson whose pictures are saved in this folder, drawn for a room."""
    from matplotlib import pyplot, rc_context
    from matplotlib.animation import FuncAnimation

    from convexmetric import plotting

    save = plotting.show_pictures

    def show() -> list[Path]:
        for number in pyplot.get_fignums():
            for_a_room(pyplot.figure(number))
        return save()

    plotting.show_pictures = show
    sys.argv = [lesson]
    made = runpy.run_path(lesson, run_name="__main__")
    # A film draws its letters anew; those of legends are the smallest.
    with rc_context({"font.size": 1.2 * LETTERS}):
        for film in (thing for thing in made.values() if isinstance(thing, FuncAnimation)):
            film.save(f"{Path(lesson).stem}-1.gif", writer="pillow")


def draw(lesson: str, folder: Path) -> None:
    """Run a lesson in a folder, which then has its pictures and, in a file of text, what it printed."""
    environment = {name: value for name, value in os.environ.items() if name != "CONVEXMETRIC_DATA"}
    start = perf_counter()
    ran = subprocess.run(
        [sys.executable, "-c", RUN, str(HERE / f"{lesson}.py")],
        cwd=folder,
        env=environment | {"MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
    )
    if ran.returncode:
        raise SystemExit(f"{lesson} ended with an error:\n{ran.stderr}")
    (folder / f"{lesson}.txt").write_text(ran.stdout, encoding="utf-8")
    print(f"{lesson}: {perf_counter() - start:.0f} s", flush=True)


def embedded(path: Path) -> str:
    """The content of a file as an address."""
    kind = mimetypes.guess_type(path.name)[0] or "font/woff2"
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def figure(pictures: Path, name: str, caption: str) -> str:
    """A picture of a lesson, or its film, with a caption."""
    film = pictures / f"{name}.gif"
    path = film if film.is_file() else pictures / f"{name}.png"
    alt = html.escape(re.sub(r"<[^>]*>", "", caption), quote=True)
    return f'{FIGURE}<img src="{embedded(path)}" alt="{alt}"><figcaption>{caption}</figcaption></figure>'


def parser() -> Any:
    """A parser that reads Markdown as the site does, and writes formulas as MathML."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.colon_fence import colon_fence_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    sys.path.insert(0, str(DOCS))
    from mathml import mathml

    def formula(tex: str, options: dict[str, Any]) -> str:
        return mathml(tex.strip(), options["display_mode"])

    made = MarkdownIt("commonmark").enable("table")
    made.use(colon_fence_plugin).use(dollarmath_plugin, renderer=formula)
    renderer = made.renderer
    # Links lead nowhere from a slide; a wide formula or table scrolls by itself where the window is narrow.
    renderer.rules["link_open"] = renderer.rules["link_close"] = lambda *_: ""
    renderer.rules["math_block"] = lambda tokens, at, *_: (
        f'<div class="formula">{formula(tokens[at].content, {"display_mode": True})}</div>\n'
    )
    renderer.rules["table_open"] = lambda *_: '<div class="tabular"><table>'
    renderer.rules["table_close"] = lambda *_: "</table></div>\n"
    return made


def shown(node: Any, render: Any, page: Path, pictures: Path) -> str:
    """What a slide shows of a block of its page."""
    if node.type in ("colon_fence", "html_block"):
        raise SystemExit(f"{page.name}: slides do not know {node.info or node.content}")
    if node.type == "blockquote":
        return f'<p class="question">{render.renderInline(node.children[0].children[0].content)}</p>'
    if node.type == "paragraph":
        if drawn := PICTURE.match(node.children[0].content):
            return figure(pictures, f"{drawn[3]}-{drawn[1]}", render.renderInline(drawn[2]))
        return ""
    return str(render.renderer.render(node.to_tokens(), render.options, {}))


def parted(heading: str, *blocks: str) -> Iterator[str]:
    """The slides under a heading: each picture has one of its own, and then there is one for all else."""
    pictures = [block for block in blocks if block.startswith(FIGURE)]
    rest = "".join(block for block in blocks if block not in pictures)
    for part in [*pictures, *([rest] if rest or not pictures else [])]:
        yield heading + part


def slides_of(page: Path, pictures: Path) -> Iterator[str]:
    """The slides of a lecture, in the order of its page."""
    from markdown_it.tree import SyntaxTreeNode

    render, blocks = parser(), []
    for node in SyntaxTreeNode(render.parse(ANSWER.sub("", page.read_text(encoding="utf-8")))).children:
        if node.type == "heading" and blocks:
            yield from parted(*blocks)
            blocks = []
        blocks.append(shown(node, render, page, pictures))
    yield from parted(*blocks)


def written(page: Path, folder: Path, pictures: Path) -> Path:
    """Write the slides of a lecture, and return their file."""
    slides = list(slides_of(page, pictures))
    # A long listing is set smaller.
    sections = [
        f'<section class="{"long" * (len(slide.splitlines()) > 24)}" '
        f'data-number="{number} / {len(slides)}">\n{slide}</section>'
        for number, slide in enumerate(slides, 1)
    ]
    title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    path = folder / f"{page.stem}.html"
    path.write_text(
        PAGE.format(title=html.escape(title), font=embedded(FONT), style=STYLE, slides="\n".join(sections)),
        encoding="utf-8",
    )
    return path


def main() -> None:
    """Draw what is not there, and write the slides of all lectures."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--pictures", type=Path, help="where pictures are kept; those that are there are not drawn")
    given = arguments.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    pictures = (given.pictures or given.folder / "pictures").resolve()
    pictures.mkdir(parents=True, exist_ok=True)
    for lesson in dict.fromkeys(name for page in LECTURES for name in lessons_of(page.read_text(encoding="utf-8"))):
        if given.pictures is None or not any(pictures.glob(f"{lesson}-*.png")):
            draw(lesson, pictures)
    for path in map(partial(written, folder=given.folder, pictures=pictures), LECTURES):
        print(path)


if __name__ == "__main__":
    main()
