"""The table of docs/solving.md; ``python tests/routes_page.py`` renews it from the default's routes."""

from pathlib import Path

from convexmetric.solvers.routes import ROUTES

PAGE = Path(__file__).resolve().parents[1] / "docs" / "solving.md"


def routes_table():
    """Table of routes in Markdown."""
    lines = ["| solver | risk | metrics and regularizer | what it is good at |", "|---|---|---|---|"]
    for route in ROUTES:
        where = f"api/solving.rst#convexmetric.solvers.{type(route.solver).__name__}"
        solver = f"[`{route.solver.name}`]({where})"
        lines.append(f"| {solver} | {route.risk} | {route.penalty} | {route.why} |")
    return "\n".join(lines) + "\n"


def page():
    """The committed page with the table as it should be."""
    text, table = PAGE.read_text(encoding="utf-8"), routes_table()
    start = text.index("| solver | risk | metrics and regularizer |")
    return text[:start] + table + text[text.index("\n\n", start) + 1 :]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
