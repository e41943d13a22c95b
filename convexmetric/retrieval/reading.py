"""Files of judgements and runs in the formats of TREC, judgements and texts of BEIR; files of identifiers.

Files may be compressed by gzip or bzip2, and are read in parts. Files that unpack to more than 512 MiB, or whose table
takes as much while it is built, are refused: 8 million rows, or some 2 million identifiers.

==========  ==========================================================================
judgements  ``query 0 document degree``, or without the second column, as in BEIR's
            ``.tsv``; a first line of names is skipped
run         ``query Q0 document rank score tag``; ranks are ignored, as scores imply them
texts       JSON lines with ``_id`` or ``id``, ``text``, and for documents perhaps ``title``
==========  ==========================================================================
"""

from __future__ import annotations

import json
import os
import sys
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from convexmetric.errors import InputError
from convexmetric.files import Held, existing, opened
from convexmetric.retrieval.judgements import Qrels, RetrievalRun, first_repetition, named

Table = TypeVar("Table", Qrels, RetrievalRun)

#: Bytes that are read at a time, and the most that a line may take.
BLOCK, LONGEST = 2**18, 2**20
#: Bytes counted for a row while a file is read, and for an identifier besides its text, in a table or in a list.
ROW, IDENTIFIER, LISTED = 64, 144, 32
#: Which of the first characters are blanks for ``str.split``; no later character is.
BLANK = np.array([chr(character).isspace() for character in range(0x3002)])


@dataclass(frozen=True)
class _Format(Generic[Table]):
    """Columns of a kind of file, and their names in messages."""

    kind: type[Table]
    widths: tuple[int, ...]
    document: int
    number: int
    parsed: Callable[[str], int | float]
    code: str
    columns: str
    wanted: str


_QRELS = _Format(
    Qrels,
    (4, 3),
    -2,
    -1,
    int,
    "q",
    "judgements have 'query 0 document degree' or 'query document degree'",
    "the degree must be an integer",
)
_RUN = _Format(
    RetrievalRun,
    (6,),
    2,
    4,
    float,
    "d",
    "a run has 'query Q0 document rank score tag'",
    "the score must be a finite number",
)


def read_qrels(path: str | os.PathLike[str]) -> Qrels:
    """Read judgements: ``query 0 document degree`` (TREC), or ``query document degree`` (BEIR, MS MARCO's in short).

    Parameters
    ----------
    path : path
        Text with columns between blanks or tabs; may be compressed by gzip or bzip2.

    Returns
    -------
    Qrels

    Raises
    ------
    InputError
        If the file is missing, too large or damaged, a line is malformed, or a document is judged twice for a query;
        the message has the number of the line.
    """
    return _read(existing(path), _QRELS)


def read_run(path: str | os.PathLike[str]) -> RetrievalRun:
    """Read a run of TREC: ``query Q0 document rank score tag``.

    Parameters
    ----------
    path : path
        Text with columns between blanks or tabs; may be compressed by gzip or bzip2.

    Returns
    -------
    RetrievalRun

    Raises
    ------
    InputError
        If the file is missing, too large or damaged, a line is malformed, or a query has a document twice; the message
        has the number of the line.
    """
    return _read(existing(path), _RUN)


def read_texts(path: Path) -> tuple[list[str], list[str]]:
    """Read identifiers and texts of JSON lines, as of BEIR's ``corpus.jsonl``; a title is put before its text.

    Raises
    ------
    InputError
        If the file is missing, too large or damaged, or a line is no object with an identifier and a text; the message
        has the number of the line.
    """
    names, texts = list[str](), list[str]()
    with opened(path) as stream:
        for at, line in enumerate(stream, 1):
            if line.strip():
                name, text = _text_of(line, f"{path}, line {at}")
                names.append(name)
                texts.append(text)
    return names, texts


def _text_of(line: bytes, place: str) -> tuple[str, str]:
    """Identifier and text of a line of JSON."""
    with suppress(ValueError, AttributeError, RecursionError):
        entry = json.loads(line)
        name, text, title = entry.get("_id", entry.get("id")), entry.get("text"), entry.get("title") or ""
        if isinstance(name, str | int) and isinstance(text, str) and isinstance(title, str):
            return str(name), f"{title} {text}".strip()
    raise InputError(f'{place}: it is not like {{"_id": "d1", "text": "words"}}')


def read_identifiers(path: Path, rows: int) -> list[str]:
    """Read a file of ``rows`` identifiers, one a line.

    Raises
    ------
    InputError
        If the file is missing, too large or damaged, a line is empty, or there are more or fewer lines.
    """
    held, names = Held(path), list[str]()
    for first, text in _blocks(path):
        found = [line.strip() for line in text.removesuffix("\n").split("\n")]
        if "" in found:
            raise InputError(f"{path}, line {first + found.index('')}: it is empty; every line is an identifier")
        names += found
        held.add(_size(found) + LISTED * len(found))
        if len(names) > rows:
            break
    if len(names) != rows:
        count = f"more than {rows}" if len(names) > rows else f"{len(names)}"
        raise InputError(f"{path} has {count} identifiers for {rows} vectors; every line is one, in their order")
    return names


def _read(path: Path, form: _Format[Table]) -> Table:
    """Read a table of pairs; the error for a pair that occurs twice names its line."""
    held = Held(path)
    queries, documents, lines, numbers = _Codes(held), _Codes(held), array("i"), array(form.code)
    for line, words, width in _rows(path, form):
        held.add(ROW * len(line))
        lines.frombytes(line.astype(np.intc).tobytes())
        queries.add(words[::width])
        documents.add(words[form.document % width :: width])
        numbers += _numbers(path, line, words[form.number % width :: width], form)
    return _table(path, form, queries, documents, lines, numbers)


def _table(path: Path, form: _Format[Table], queries: _Codes, documents: _Codes, lines: Any, numbers: Any) -> Table:
    """Make a table of columns that were read."""
    query, document = (np.frombuffer(known.codes, dtype=np.intc) for known in (queries, documents))
    names = tuple(queries.number), tuple(documents.number)
    again = first_repetition(query, document, len(names[1]))
    if again is not None:
        had = f"query {named([names[0][query[again]]])} had document {named([names[1][document[again]]])} before"
        raise InputError(f"{path}, line {lines[again]}: {had}; keep one of the two lines")
    pairs = query.astype(np.int64), document.astype(np.int64)
    return form.kind(*names, *pairs, np.frombuffer(numbers, dtype=form.kind.number))


@dataclass
class _Codes:
    """A column of identifiers: the number of each among the distinct ones, in order of first occurrence."""

    held: Held
    number: defaultdict[str, int] = field(default_factory=lambda: defaultdict(count().__next__))
    codes: array[int] = field(default_factory=lambda: array("i"))

    def add(self, identifiers: Sequence[str]) -> None:
        before = len(self.number)
        self.codes.extend(map(self.number.__getitem__, identifiers))
        fresh = len(self.number) - before
        self.held.add(IDENTIFIER * fresh + _size(islice(reversed(self.number), fresh)))


def _size(texts: Iterable[str]) -> int:
    """Bytes counted for texts: 1.5 times their size, to include the containers."""
    return sum(map(sys.getsizeof, texts)) * 3 // 2


def _rows(path: Path, form: _Format[Any]) -> Iterator[tuple[NDArray[np.int64], list[str], int]]:
    """Yield the rows of lines that are not blank in blocks: their lines' numbers, all their words, and words a row.

    All have as many words as the first, which is one of ``widths``.
    """
    width = 0
    for first, text in _blocks(path):
        if not text.strip():
            continue
        lines, widths = _lines(text)
        lines, top, width = lines + first, not width, width or int(widths[0])
        wrong = np.flatnonzero(widths != (width if width in form.widths else 0))
        if wrong.size:
            raise InputError(f"{path}, line {lines[wrong[0]]}: {widths[wrong[0]]} columns; {form.columns}")
        words = text.split()
        if top and form is _QRELS and words[width - 1].lower() in Qrels.column_names:
            # The first line may hold names of columns.
            lines, words = lines[1:], words[width:]
        yield lines, words, width
    if not width:
        raise InputError(f"{path} is empty")


def _blocks(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the text of a file in blocks of whole lines, each with the number of its first line."""
    line = 1
    with opened(path) as stream:
        while block := stream.read(BLOCK):
            rest = stream.readline(LONGEST)
            if len(rest) == LONGEST:
                line += block.count(b"\n")
                raise InputError(f"{path}, line {line}: it is longer than {LONGEST} bytes; lines end with a line feed")
            try:
                text = (block + rest).decode("utf-8-sig" if line == 1 else "utf-8")
            except UnicodeDecodeError as error:
                line += error.object.count(b"\n", 0, error.start)
                raise InputError(f"{path}, line {line}: it is not text in UTF-8") from error
            yield line, text
            line += text.count("\n")


def _lines(text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers, from 0, of the lines of a text that are not blank, and how many words each has."""
    wide = not text.isascii()
    kind: Any = np.uint32 if wide else np.uint8
    characters = np.frombuffer(text.encode("utf-32-le" if wide else "ascii"), kind)
    begins = ~BLANK.take(characters, mode="clip")
    begins[1:] &= ~begins[:-1]
    words = np.flatnonzero(begins)
    line = np.cumsum(characters == ord("\n"))[words]
    rows = np.flatnonzero(np.diff(line, prepend=-1))
    return line[rows], np.diff(rows, append=words.size)


def _numbers(path: Path, lines: NDArray[np.int64], words: Sequence[str], form: _Format[Any]) -> Any:
    """Read a column of numbers, which must be finite and of 64 bits."""
    with suppress(ValueError, OverflowError):
        found = array(form.code, map(form.parsed, words))
        if np.isfinite(found).all():
            return found
    if len(words) > 1:
        for at, word in enumerate(words):
            _numbers(path, lines[at:], [word], form)
    raise InputError(f"{path}, line {lines[0]}: {form.wanted}, got {named(words)}")
