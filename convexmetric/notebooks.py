"""What notebooks show of results: a title and facts, as a small table."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["facts_table"]


def facts_table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A title above names and values, in HTML; all texts are escaped."""
    lines = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<div><strong>{escape(title)}</strong><table>{lines}</table></div>"
