"""Self-contained HTML pages, with their pictures inside, and the sections that reports share."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from html import escape
from importlib.metadata import version
from pathlib import Path

from matplotlib.axes import Axes

from convexmetric import __version__
from convexmetric.cli.reports import digits
from convexmetric.files import all_or_nothing
from convexmetric.notebooks import facts_table, printable
from convexmetric.plotting.axes import panels, svg_of
from convexmetric.selection.records import Tabled
from convexmetric.solution import Solution

#: Height of a picture, in inches.
HEIGHT = 3.6
STYLE = """
body { margin: 0 auto; max-width: 66rem; padding: 1rem clamp(1rem, 4vw, 2.5rem) 3rem; color: #1d2327;
  background: #ffffff; font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 1rem 0 .3rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem; }
p { max-width: 46rem; margin: .5rem 0; } .soft, figcaption { color: #57606a; }
.claim, pre { background: #f4f6f8; padding: .7rem 1rem; }
.claim { border-left: 4px solid #0072B2; font-size: 1.08rem; }
pre { white-space: pre-wrap; font-size: .82rem; } code { white-space: nowrap; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; font-weight: 400; vertical-align: top; padding: .3rem .9rem .3rem 0;
  border-bottom: 1px solid #dfe3e7; overflow-wrap: normal; } th + td { overflow-wrap: anywhere; }
section > div { overflow-x: auto; }
@media (max-width: 36rem) { th, td { font-size: .85rem; padding-right: .6rem; } }
figcaption { font-size: .88rem; } figure { display: inline-block; margin: 0; width: min(100%, 30rem); }
svg { width: 100%; height: auto; }
"""


def write_page(path: Path, title: str, sections: Iterator[str]) -> None:
    """Write a page of sections, all or nothing."""
    text = page(title, "\n".join((f"<h1>{escape(title)}</h1>", *sections)), STYLE)
    with all_or_nothing(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def page(title: str, body: str, style: str) -> str:
    """Make the text of a page, without control characters; the title is escaped, the body is HTML."""
    return printable(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body>\n{body}\n</body></html>\n"
    )


def picture(draw: Callable[[Axes], object], title: str, caption: str) -> str:
    """Make a figure of the page, as SVG."""
    figure, (ax,) = panels(height=HEIGHT)
    draw(ax)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg_of(figure, {"svg.hashsalt": "convexmetric"}), count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', rf'\1 role="img" aria-label="{escape(title)}"', svg, count=1)
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def section(title: str, *contents: str | Tabled) -> str:
    """Put tables, texts and HTML under a title."""
    parts = []
    for content in contents:
        if isinstance(content, Tabled):
            # Without its conclusion, which is the claim of the page.
            parts.append(content.as_html(content.heading()))
        else:
            parts.append(content if content.startswith("<") else paragraph(content, "soft"))
    return f"<section><h2>{escape(title)}</h2>\n{''.join(parts)}</section>"


def paragraph(text: str, kind: str = "") -> str:
    """Make a paragraph, in which options stay in one piece."""
    marked = re.sub(r"--[a-z-]+ [a-z-]+", lambda option: f"<code>{option[0]}</code>", escape(text))
    return f'<p class="{kind}">{marked}</p>'


def certified(solution: Solution) -> str:
    """Make the section on what is certified."""
    low = digits(solution.lower_bound, solution.gap, ROUND_FLOOR)
    high = digits(solution.upper_bound, solution.gap, ROUND_CEILING)
    early = f" The solve ended before the tolerance asked for ({solution.status})."
    end = "" if solution.status == "optimal" else early
    apart = solution.upper_bound - solution.lower_bound
    near = f"{apart:.1e}" if solution.nearly_zero else f"a share of {max(solution.gap, 0.0):.1e}"
    claim = (
        f"No metric has an objective below {low}, and this one has {high}: it is within {near} "
        "of the best there is. Both bounds are computed in floating-point arithmetic, "
        "with an allowance for rounding; convexmetric verify proves them in exact arithmetic from a file that "
        "write_certificate makes. They are about the objective below; of new data only scores of what was held out "
        f"speak.{end}"
    )
    return section("What is certified", paragraph(claim), f"<pre>{escape(str(solution.problem))}</pre>")


def reproduced(command: str, facts: Sequence[tuple[str, str]] = ()) -> str:
    """Make the section on reproducing the result: the command, facts, and the versions of the software."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "numba"))
    machine = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    versions = "versions", f"convexmetric {__version__}, {packages}, {machine}"
    return section("To do it again", f"<pre>{escape(command)}</pre>", facts_table("", [*facts, versions]))
