"""Tables of the pages of results: what stands between two markers is made from results, nothing else is touched.

A table of a page is between the lines ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from .sheet import Sheet

__all__ = ["fill", "markers"]

MARKER = re.compile(r"^<!-- (begin|end): (\S+) -->$", re.MULTILINE)


def markers(text: str) -> list[str]:
    """Names of the tables between markers, in their order.

    Raises
    ------
    ValueError
        If a marker has no partner right behind it, or a name comes twice.
    """
    found = MARKER.findall(text)
    names = [name for _, name in found[::2]]
    if found != [(kind, name) for name in names for kind in ("begin", "end")] or len(set(names)) < len(names):
        raise ValueError(
            f"each begin marker needs one end marker of its name behind it, and no name comes twice: {found}"
        )
    return names


def fill(path: Path, tables: Mapping[str, Sheet | None]) -> list[str]:
    """Write tables into a page by the names of their markers; those that are None stay as they are there.

    Returns
    -------
    list of str
        Names of the tables that were written.

    Raises
    ------
    ValueError
        If the markers of the page are not those of the tables.
    """
    text = path.read_text(encoding="utf-8")
    if set(names := markers(text)) != set(tables):
        raise ValueError(f"{path}: its markers are {sorted(names)}, the tables {sorted(tables)}")
    written = []
    for name in names:
        sheet = tables[name]
        if sheet is None or not sheet.rows:
            continue
        begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}\n{sheet.grid()}\n{end}{after}"
        written.append(name)
    path.write_text(text, encoding="utf-8")
    return written
