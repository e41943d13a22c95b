"""The steps of the command ``adapt``: read vectors and judgements, fit an adapter, save and report it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from convexmetric.cli.reports import paired_record, solution_record
from convexmetric.errors import InputError
from convexmetric.files import existing, guarded, read_array, write_arrays
from convexmetric.retrieval import read_qrels
from convexmetric.selection import HeldOutQueries

if TYPE_CHECKING:
    # Imported where they are used: scikit-learn takes a while.
    from convexmetric.retrieval import Qrels, RetrievalAdapter


@dataclass(frozen=True)
class Collection:
    """Vectors of documents and queries with their identifiers, and judgements of some of the queries."""

    corpus: Any
    queries: Any
    qrels: Qrels
    corpus_ids: list[str] | None
    query_ids: list[str] | None


def read_vectors(path: Path) -> Any:
    """Read a matrix from a ``.npy`` file, mapped into memory.

    Raises
    ------
    InputError
        If there is no such file, or it holds no matrix of numbers.
    """
    if path.suffix.lower() != ".npy":
        raise InputError(f"{path}: vectors come from a .npy file")
    return read_array(path)


def read_collection(
    corpus: Path, queries: Path, qrels: Path, corpus_ids: Path | None, query_ids: Path | None
) -> Collection:
    """Read all files of a collection; a file of identifiers has one a line, in the order of the vectors.

    Raises
    ------
    InputError
        If a file is missing or malformed, or identifiers and vectors differ in number.
    """
    vectors = read_vectors(corpus), read_vectors(queries)
    for found, path in zip(vectors, (corpus, queries), strict=True):
        if found.ndim != 2 or found.dtype.kind not in "fiu":
            raise InputError(f"{path} must hold a matrix of numbers, a vector a row, got shape {found.shape}")
    names = [
        None if path is None else _identifiers(path, len(found))
        for path, found in zip((corpus_ids, query_ids), vectors, strict=True)
    ]
    return Collection(*vectors, read_qrels(qrels), *names)


def adapt(collection: Collection, **settings: Any) -> tuple[RetrievalAdapter, bool]:
    """Fit an adapter; also returns whether Ctrl-C ended its last solve.

    Raises
    ------
    InputError
        If a setting is malformed, or judgements and identifiers do not match.
    KeyboardInterrupt
        At Ctrl-C before held-out queries were scored.
    """
    from convexmetric.retrieval import RetrievalAdapter

    adapter, interrupted = RetrievalAdapter(**settings), False
    names = {"corpus_ids": collection.corpus_ids, "query_ids": collection.query_ids}
    try:
        adapter.fit(collection.corpus, collection.queries, collection.qrels, **names)
    except KeyboardInterrupt:
        if not hasattr(adapter, "components_"):
            raise
        interrupted = True
    return adapter, interrupted


def save_adapter(path: Path, adapter: RetrievalAdapter) -> None:
    """Save the map, for ``export`` and ``apply``, with bounds, choice, and the scores of every query.

    Bounds and choice are saved only where the learned map was kept.
    """
    solution, held = adapter.solution_ if adapter.kept_ else None, adapter.held_out_
    loss, C = adapter.path_.best if adapter.kept_ else ("", 0.0)
    arrays: dict[str, Any] = {
        "components": adapter.components_,
        "kept": adapter.kept_,
        "result": adapter.result_,
        "loss": loss,
        "C": C,
        "scale": adapter.scale_,
        "measure": held.measure,
        "queries": np.array(held.queries),
        "before": held.deciding.before,
        "after": held.deciding.after,
        "p_value": held.deciding.p_value,
        "settings": json.dumps(adapter.get_params(), default=str),
    }
    if solution is not None:
        bounds = ("lower_bound", "upper_bound", "gap", "tol", "status", "solver")
        arrays |= {name: getattr(solution, name) for name in bounds}
    write_arrays(path, arrays)


def adapt_record(adapter: RetrievalAdapter) -> dict[str, Any]:
    """Record that ``adapt --json`` prints; bounds are null where no map was kept; a refused map has its own entry."""
    solution, held = adapter.solution_, adapter.held_out_
    loss, C = adapter.path_.best
    bounds = None if solution is None else solution_record("", solution)
    if bounds is not None:
        del bounds["name"]
    learned = {"loss": loss or None, "C": C, "solution": bounds}
    return {
        "kept": adapter.kept_,
        "result": adapter.result_,
        "verdict": adapter.verdict,
        "measure": held.measure,
        **(learned if adapter.kept_ else {"loss": None, "C": 0.0, "solution": None}),
        "refused": None if adapter.kept_ or solution is None else learned,
        "scale": adapter.scale_,
        "tried": [
            {"loss": name or None, "C": weight, "mean": float(mean), "gap": float(gap) if np.isfinite(gap) else None}
            for (name, weight), mean, gap in zip(
                adapter.path_.candidates, adapter.path_.mean(), adapter.path_.gaps[:, 0], strict=True
            )
        ],
        "held_out": _held_out_record(held),
    }


def _held_out_record(held: HeldOutQueries) -> dict[str, Any]:
    return {
        "queries": list(held.queries),
        "fold": held.fold.tolist(),
        "chosen": [{"loss": loss or None, "C": C} for loss, C in held.choices],
        "level": held.level,
        "detectable": held.detectable if held.power else None,
        "scores": {name: paired_record(scores) for name, scores in held.scores.items()},
    }


def _identifiers(path: Path, rows: int) -> list[str]:
    """Read a file of identifiers, one a line, of ``rows`` lines."""
    existing(path)
    lines = guarded(path, lambda: path.read_text(encoding="utf-8-sig")).split("\n")
    names = [line.strip() for line in (lines[:-1] if lines[-1] == "" else lines)]
    if "" in names:
        raise InputError(f"{path}, line {names.index('') + 1}: it is empty; every line is an identifier")
    if len(names) != rows:
        raise InputError(f"{path} has {len(names)} identifiers for {rows} vectors; every line is one, in their order")
    return names
