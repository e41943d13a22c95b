"""Printed numbers beside ours, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from experiments.sheet import Row, row_of

from . import printed
from .protocol import NOTIONS

__all__ = ["satisfied"]


def satisfied(found: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]], note: str = "") -> Iterator[Row]:
    """Table 1, in percent."""
    for (notion, words), results in found.items():
        of = NOTIONS[notion]
        for name, there in zip(("learned", "binary", "tfidf"), printed.SATISFIED[of.row], strict=True):
            title = f"{of.title}, words of the {words}{note}: {name}, percent"
            yield row_of(title, there, [result[name] for result in results], "splits", 2)
