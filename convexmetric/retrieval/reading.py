"""Files of retrieval collections: judgements and runs as TREC has them, folders of BEIR, and LETOR's lists.

Files may be compressed by gzip (``.gz``), are read whole, and none that takes more than 512 MiB of memory is.

=============================  ==========================================================================
judgements                     ``query 0 document degree``, or without the second column, as in BEIR's
                               ``.tsv``; a first line of names is passed over
run                            ``query Q0 document rank score tag``; ranks are not read, as scores say it
BEIR                           ``corpus.jsonl``, ``queries.jsonl``, ``qrels/*.tsv``
LETOR, SVMlight with queries   ``degree qid:7 1:0.5 3:0.2 # remark``
=============================  ==========================================================================
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array

from convexmetric.datasets.dataset import Dataset
from convexmetric.errors import InputError
from convexmetric.files import existing, guarded, read_gz
from convexmetric.retrieval.judgements import Qrels, RetrievalRun

Table = TypeVar("Table", Qrels, RetrievalRun)
#: Pattern of the beginning of a LETOR line, ``degree qid:query``.
_LETOR = re.compile(r"[-+]?\d+(\.0*)?\s+qid:\d+(\s+\d+:\S+)*\s*$")


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
    degrees = []
    for line, row in rows:
        if not _is_integer(row[-1]):
            raise InputError(f"{path}, line {line}: the degree must be an integer, got {row[-1]!r}")
        degrees.append(int(row[-1]))
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
    scores = []
    for line, row in rows:
        try:
            scores.append(float(row[4]))
        except ValueError:
            scores.append(np.nan)
        if not np.isfinite(scores[-1]):
            raise InputError(f"{path}, line {line}: the score must be a finite number, got {row[4]!r}")
    return _table(RetrievalRun, path, [(line, row[0], row[2]) for line, row in rows], scores)


@dataclass(frozen=True, eq=False, repr=False)
class BeirFolder:
    """A collection of BEIR: texts with identifiers, and judgements by split.

    Attributes
    ----------
    corpus_ids, corpus : tuple of str
        Identifiers and texts of the documents; a title stands before its text.
    query_ids, queries : tuple of str
        Identifiers and texts of the queries, of all splits.
    qrels : dict of Qrels
        By the names of the files: ``train``, ``dev``, ``test``.
    """

    corpus_ids: tuple[str, ...]
    corpus: tuple[str, ...]
    query_ids: tuple[str, ...]
    queries: tuple[str, ...]
    qrels: Mapping[str, Qrels] = field(default_factory=dict)

    def __repr__(self) -> str:
        splits = ", ".join(f"{name}: {len(qrels)}" for name, qrels in self.qrels.items())
        return f"<BeirFolder: {len(self.corpus)} documents, {len(self.queries)} queries; judgements {splits}>"


def read_beir(folder: str | os.PathLike[str]) -> BeirFolder:
    """Read a folder of BEIR: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/*.tsv``.

    Parameters
    ----------
    folder : path
        Each file may be compressed, with ``.gz`` after its name.

    Returns
    -------
    BeirFolder

    Raises
    ------
    InputError
        If a file is missing, too large or malformed; the message has its name and the number of the line.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder")
    corpus_ids, corpus = _texts(folder, "corpus.jsonl")
    query_ids, queries = _texts(folder, "queries.jsonl")
    files = sorted([*folder.glob("qrels/*.tsv"), *folder.glob("qrels/*.tsv.gz")])
    if not files:
        raise InputError(f"{folder} has no judgements: there is no file qrels/*.tsv")
    qrels = {file.name.split(".")[0]: read_qrels(file) for file in files}
    return BeirFolder(corpus_ids, corpus, query_ids, queries, qrels)


def read_letor(path: str | os.PathLike[str]) -> Dataset:
    """Read LETOR's lists, SVMlight with queries: ``degree qid:7 1:0.5 3:0.2 # remark``, a document of a query a line.

    Features are those of a document *for its query*, such as a score of matching. A metric compares them with what a
    document would have that is right in every respect: a point of your choice, such as the largest value of every
    feature, which is then the query (see the guide to retrieval).

    Parameters
    ----------
    path : path
        Compressed if it ends in ``.gz``. Features have numbers from 1.

    Returns
    -------
    Dataset
        ``X`` sparse, a row a line, and ``y`` the degrees. Extras: ``query`` (the number of every row's query), and
        ``qrels``, the same judgements, with the rows' numbers as identifiers of documents.

    Raises
    ------
    InputError
        If the file is missing, too large, or malformed; the message has the number of the line.
    """
    from sklearn.datasets import load_svmlight_file

    path = Path(path)
    raw = _content(path)
    try:
        X, y, query = load_svmlight_file(io.BytesIO(raw), query_id=True, zero_based=False)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{path}{_first_malformed(raw)}") from error
    if len(y) == 0 or len(query) != len(y) or (y != np.round(y)).any():
        raise InputError(f"{path}{_first_malformed(raw)}")
    X = csr_array(X)
    if not np.isfinite(X.data).all():
        raise InputError(f"{path} has features that are no finite numbers")
    degrees = y.astype(np.int64)
    qrels = Qrels.from_lists(query, np.arange(len(y)), degrees)
    description = f"{path.name}: {len(y)} documents of {len(qrels.queries)} queries with features of matching"
    return Dataset(path.stem, X, degrees, (), description, {"query": query, "qrels": qrels})


def _first_malformed(raw: bytes) -> str:
    """Find the first malformed line of a LETOR file."""
    for line, text in enumerate(raw.decode("utf-8", errors="replace").split("\n"), 1):
        content = text.partition("#")[0].strip()
        if content and not _LETOR.match(content):
            return f", line {line}: it must be 'degree qid:7 1:0.5 3:0.2', got {content[:60]!r}"
    return " is no file of LETOR: lines are 'degree qid:7 1:0.5 3:0.2' with numbers of features from 1 in order"


def _texts(folder: Path, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read identifiers and texts of a JSON Lines file."""
    path = folder / name if (folder / name).exists() else folder / f"{name}.gz"
    found: dict[str, str] = {}
    for line, text in _lines(path):
        try:
            entry = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {line}: this is no JSON object: {text[:60]!r}") from error
        if not isinstance(entry, dict) or not isinstance(entry.get("_id"), str | int):
            raise InputError(f"{path}, line {line}: every line needs an object with an '_id'")
        title, body, identifier = entry.get("title") or "", entry.get("text"), str(entry["_id"])
        if not isinstance(body, str) or not isinstance(title, str):
            raise InputError(f"{path}, line {line}: every object needs a 'text'")
        if identifier in found:
            raise InputError(f"{path}, line {line}: the identifier {identifier!r} was there before")
        found[identifier] = f"{title} {body}".strip()
    if not found:
        raise InputError(f"{path} is empty")
    return tuple(found), tuple(found.values())


def _columns(path: Path, widths: Sequence[int], otherwise: str) -> list[tuple[int, list[str]]]:
    """Read rows with their line numbers; all have as many columns as the first, which is one of ``widths``."""
    rows = [(line, text.split()) for line, text in _lines(path)]
    if not rows:
        raise InputError(f"{path} is empty")
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width or width not in widths:
            raise InputError(f"{path}, line {line}: {len(row)} columns; {otherwise}")
    return rows


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


def _lines(path: Path) -> list[tuple[int, str]]:
    """Read the lines that are not blank, with their numbers."""
    raw = _content(path)
    text = guarded(path, lambda: raw.decode("utf-8-sig"))
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _content(path: Path) -> bytes:
    """Read a file, decompressed if it is compressed."""
    existing(path)
    content = guarded(path, lambda: read_gz(path) if path.suffix == ".gz" else path.read_bytes())
    assert isinstance(content, bytes)
    return content


def _is_integer(cell: str) -> bool:
    try:
        return -(2**63) <= int(cell) < 2**63
    except ValueError:
        return False
