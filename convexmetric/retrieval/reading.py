"""Files of judgements and runs as TREC has them, and judgements of BEIR.

Files may be compressed by gzip (``.gz``), are read whole, and none that takes more than 512 MiB of memory is.

==========  ==========================================================================
judgements  ``query 0 document degree``, or without the second column, as in BEIR's
            ``.tsv``; a first line of names is passed over
run         ``query Q0 document rank score tag``; ranks are not read, as scores say it
==========  ==========================================================================
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from convexmetric.errors import InputError
from convexmetric.files import existing, guarded, read_gz
from convexmetric.retrieval.judgements import Qrels, RetrievalRun

Table = TypeVar("Table", Qrels, RetrievalRun)


def read_qrels(path: str | os.PathLike[str]) -> Qrels:
    """Read judgements: ``query 0 document degree`` (TREC), or ``query document degree`` (BEIR, MS MARCO's in short).

    Parameters
    ----------
    path : path
        Text with columns between blanks or tabs; compressed if it ends in ``.gz``.

    Returns
    -------
    Qrels

    Raises
    ------
    InputError
        If the file is missing, too large or damaged, a line is malformed, or a document is judged twice for a query;
        the message has the number of the line.
    """
    path = Path(path)
    rows = _columns(path, (4, 3), "judgements have 'query 0 document degree' or 'query document degree'")
    if rows[0][1][-1].lower() in Qrels.column_names:
        # The first line may hold names of columns.
        rows = rows[1:]
    degrees = _numbers(path, rows, -1, int, (-(2**63), 2**63 - 1), "the degree must be an integer")
    return _table(Qrels, path, [(line, row[0], row[-2]) for line, row in rows], degrees)


def read_run(path: str | os.PathLike[str]) -> RetrievalRun:
    """Read a run of TREC: ``query Q0 document rank score tag``.

    Parameters
    ----------
    path : path
        Text with columns between blanks or tabs; compressed if it ends in ``.gz``.

    Returns
    -------
    RetrievalRun

    Raises
    ------
    InputError
        If the file is missing, too large or damaged, a line is malformed, or a query has a document twice; the message
        has the number of the line.
    """
    path = Path(path)
    rows = _columns(path, (6,), "a run has 'query Q0 document rank score tag'")
    largest = np.finfo(np.float64).max
    scores = _numbers(path, rows, 4, float, (-largest, largest), "the score must be a finite number")
    return _table(RetrievalRun, path, [(line, row[0], row[2]) for line, row in rows], scores)


def _columns(path: Path, widths: Sequence[int], otherwise: str) -> list[tuple[int, list[str]]]:
    """Read the rows of lines that are not blank, with their numbers, of a file that may be compressed.

    All have as many columns as the first, which is one of ``widths``.
    """
    raw = guarded(existing(path), lambda: read_gz(path) if path.suffix == ".gz" else path.read_bytes())
    text = guarded(path, lambda: raw.decode("utf-8-sig"))
    rows = [(line, row) for line, row in enumerate(map(str.split, text.split("\n")), 1) if row]
    if not rows:
        raise InputError(f"{path} is empty")
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width or width not in widths:
            raise InputError(f"{path}, line {line}: {len(row)} columns; {otherwise}")
    return rows


def _numbers(
    path: Path, rows: list[tuple[int, list[str]]], column: int, number: type, span: tuple[float, float], wanted: str
) -> list[Any]:
    """Read a column of numbers, which are within a span."""
    found = []
    for line, row in rows:
        try:
            value = number(row[column])
        except ValueError:
            value = np.nan
        if not span[0] <= value <= span[1]:
            raise InputError(f"{path}, line {line}: {wanted}, got {row[column]!r}")
        found.append(value)
    return found


def _table(kind: type[Table], path: Path, pairs: list[tuple[int, str, str]], numbers: list[Any]) -> Table:
    """Make a table of pairs; the error for a pair that occurs twice names its line."""
    seen: set[tuple[str, str]] = set()
    for line, query, document in pairs:
        if (query, document) in seen:
            raise InputError(
                f"{path}, line {line}: query {query!r} had document {document!r} before; keep one of the two lines"
            )
        seen.add((query, document))
    return kind.from_lists([query for _, query, _ in pairs], [document for _, _, document in pairs], numbers)
