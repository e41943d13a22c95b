"""HTML tables of results for notebooks, and untrusted text made safe to print."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

#: Control characters but line ends and tabs, marks that reverse text, surrogates and noncharacters.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str) -> str:
    r"""Replace control characters by their escapes in Python, such as ``\x1b``."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def facts_table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return an HTML table of names and values below a title; all texts are escaped."""
    lines = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return printable(f"<div><strong>{escape(title)}</strong><table>{lines}</table></div>")
