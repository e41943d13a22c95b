"""The table of docs/choosing-a-solver.md; ``python tests/routes_page.py`` renews it from the default's routes."""

from pathlib import Path

from convexmetric.solvers.routes import routes_table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "choosing-a-solver.md"


def page():
    """The committed page with the table as it should be."""
    text, table = PAGE.read_text(encoding="utf-8"), routes_table()
    start = text.index(table.splitlines()[0])
    return text[:start] + table + text[text.index("\n\n", start) + 1 :]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
