"""What a class takes away, in files that need no network: slides, questions, exercises; and the answers.

    python docs/take_away.py build/course                          # run the lessons for their pictures (minutes)
    python docs/take_away.py build/course --pictures build/drawn   # ... and keep them there, or take those there are

Slides and questions are HTML, and PDF where there is a Chromium; ``exercises.zip`` has the exercises as notebooks and
scripts, with their checks; ``course.zip`` has all of these. The site serves this folder, if it is there. Solutions are
beside it, in ``course-solutions.zip``, for whoever teaches. Needs ``pip install -e '.[docs]'``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import check_pages
import in_browser

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "examples"))
import notebooks  # noqa: E402
import slides  # noqa: E402

#: Where the site looks for the files.
FOLDER = HERE.parent / "build" / "course"
HOMEWORK = HERE / "course" / "homework.md"
#: Kinds of files that go into archives.
KINDS = (".py", ".ipynb")
PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Questions</title>
<style>
@font-face {{ font-family: "STIX Two Math"; src: url("{font}") format("woff2"); }}
math {{ font-family: "STIX Two Math", math; }}
body {{ max-width: 44rem; margin: 2rem auto; padding: 0 1rem; line-height: 1.5; }}
body {{ font-family: system-ui, "DejaVu Sans", sans-serif; }}
p {{ break-inside: avoid; }}
code {{ white-space: nowrap; }}
.formula {{ overflow: auto hidden; text-align: center; }}
</style>
<h1>Questions</h1>
{questions}
</html>
"""


def questions(answers: bool = False) -> str:
    """The homework as a page, with its answers folded below them or without."""
    text = HOMEWORK.read_text(encoding="utf-8")
    text = text if answers else slides.ANSWER.sub("", text)
    return PAGE.format(font=slides.embedded(slides.FONT), questions=slides.parser().render(text[text.index("\n## ") :]))


def print_pages(pages: Iterable[Path]) -> None:
    """Print pages to PDF files beside them, if there is a Chromium."""
    browser = check_pages.browser_path()
    for page in pages if browser else ():
        made = f"--print-to-pdf={page.with_suffix('.pdf')}"
        command = [browser, "--headless", "--no-sandbox", "--no-pdf-header-footer", made, page.resolve().as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=300)


def collected(scripts: list[Path], folder: Path) -> dict[str, bytes]:
    """Scripts, the notebooks and checks of a folder, and the data that they read, by name."""
    found = {path.name: path for path in scripts}
    found |= {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.suffix in KINDS}
    return {"wine.csv": in_browser.wine().encode()} | {name: path.read_bytes() for name, path in found.items()}


def main() -> None:
    """Write everything, and name the files."""
    folder = Path(sys.argv[1])
    slides.main()
    (folder / "questions.html").write_text(questions(), encoding="utf-8")
    print_pages(sorted(folder.glob("*.html")))
    with tempfile.TemporaryDirectory() as made:
        notebooks.write(Path(made))
        exercises = collected(notebooks.EXERCISES, Path(made) / "exercises")
        solutions = collected(notebooks.SOLUTIONS, Path(made) / "solutions")
    pages = {path.name: path.read_bytes() for path in sorted(folder.glob("*.*")) if path.suffix != ".zip"}
    archives = {
        folder / "exercises.zip": exercises,
        folder / "course.zip": pages | {f"exercises/{name}": data for name, data in exercises.items()},
        folder.parent / "course-solutions.zip": solutions | {"answers.html": questions(answers=True).encode()},
    }
    for path, files in archives.items():
        in_browser.pack(path, files)
        print(path)


if __name__ == "__main__":
    main()
