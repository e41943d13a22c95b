"""Columns of words as numbers: truth values, percentages, dates and categories."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime

from convexmetric.datasets import numerals

#: Largest number of different words of a category.
LEVELS = 20
#: Truth values, in lower case.
TRUTH = {"false": 0.0, "no": 0.0, "true": 1.0, "yes": 1.0}


def encoding_of(name: str, words: set[str], levels: list[str]) -> tuple[str, dict[str, dict[str, float]]]:
    """Find numbers for the words of a column; with ``levels`` as a category with these columns ``name=word``.

    Returns
    -------
    str, dict
        What the words are, and for each column that takes the place of this one, by its name, the number of every
        word; no column if there are more words than a category has.
    """
    for kind, read in KINDS.items() if not levels else ():
        found = {word: read(word) for word in words}
        if all(map(math.isfinite, found.values())):
            return kind, {name: found}
    own = {f"{name}={word}": word for word in sorted(words)}
    levels = levels or list(own)[: LEVELS * (len(own) <= LEVELS)]
    new = sorted(set(own) - set(levels))
    others = f"; others, such as {own[new[0]]!r}, have no column" if new else ""
    columns = {level: {word: float(level == f"{name}={word}") for word in words} for level in levels}
    return f"{len(levels)} categories, a column of 0 and 1 each{others}", columns


def _percent(word: str) -> float:
    return numerals.number(word[:-1].replace(",", ".")) if word.endswith("%") else math.nan


def _days(word: str) -> float:
    """Days since 1970 of a date, with its time if it has one, as ISO 8601 writes it, or as 31.12.2020."""
    for read in (datetime.fromisoformat, lambda text: datetime.strptime(text, "%d.%m.%Y")):
        try:
            return (read(word).replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() / 86_400.0
        except ValueError:
            continue
    return math.nan


#: Kinds of words that are numbers each, in the order in which they are tried.
KINDS: dict[str, Callable[[str], float]] = {
    "truth values, as 0 and 1": lambda word: TRUTH.get(word.lower(), math.nan),
    "percentages": _percent,
    "dates, as days since 1970": _days,
}
