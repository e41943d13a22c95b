"""Folders of shards, written from risks in memory, one after the other; permanent, or for the time of a solve."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from convexmetric.arrays import Array, altered
from convexmetric.described import description
from convexmetric.errors import InputError
from convexmetric.files import all_or_nothing, made_folder, written
from convexmetric.problem import MetricProblem
from convexmetric.risks import Risk
from convexmetric.risks.rounding import reach
from convexmetric.shards.backends import as_backend
from convexmetric.shards.folder import FORMAT, REACH, TABLE, Piece, digest
from convexmetric.shards.kinds import cut
from convexmetric.shards.risk import CACHE_BYTES, SHARDS, ShardedRisk


@dataclass(frozen=True)
class Written:
    """A written piece, with its entries in the table.

    Attributes
    ----------
    piece : Piece
    risk : dict
        Kind and parameters.
    cone : dict
    reach : (d,) array
        Largest absolute value of every coordinate of the piece's points.
    """

    piece: Piece
    risk: dict[str, Any]
    cone: dict[str, Any]
    reach: Array


def write(risk: Risk, folder: str | os.PathLike[str], shards: int = SHARDS, cache: int = CACHE_BYTES) -> ShardedRisk:
    """Write a risk that is in memory, to be evaluated in shards.

    Parameters
    ----------
    risk : Risk
        The risk of a problem: rankings, pairs of positives and negatives, or soft hinges of listed triplets.
    folder : path
        Empty or new, on a file system that all workers share.
    shards, cache
        As for :class:`ShardedRisk`.

    Returns
    -------
    ShardedRisk
        The same function; ``cm.MetricProblem(risk, regularizer)`` is a problem with it.

    Raises
    ------
    InputError
        If this kind of risk cannot be cut, or the folder holds shards already or cannot be written.
    """
    return write_pieces([risk], folder, shards, cache)


def write_pieces(
    risks: Iterable[Risk], folder: str | os.PathLike[str], shards: int = SHARDS, cache: int = CACHE_BYTES
) -> ShardedRisk:
    """Write the sum of risks, each with its own points; only one of them is ever in memory.

    Parameters
    ----------
    risks : iterable of Risk
        Risks of the same kind, on the same metrics; a generator makes each on demand.
    folder, shards, cache
        As for :func:`write`.

    Returns
    -------
    ShardedRisk
        Their sum.

    Raises
    ------
    InputError
        If risks cannot be cut or do not belong together, or the folder holds shards already or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> parts = (cm.RankingProblem.from_labels(iris.X[k::3], iris.y[k::3], measure="map", C=1.0).risk for k in range(3))
    >>> risk = cm.shards.write_pieces(parts, tempfile.mkdtemp())
    >>> risk.parts, len(risk.pieces)
    (150, 3)
    """
    path = new_folder(folder)
    return finish(path, [write_piece(path, number, risk) for number, risk in enumerate(risks)], shards, cache)


def new_folder(folder: str | os.PathLike[str]) -> Path:
    """Make or check the folder to write to.

    Raises
    ------
    InputError
        If it holds shards already, or cannot be made.
    """
    path = made_folder(Path(folder).absolute())
    if (path / TABLE).exists():
        raise InputError(f"folder: {path} holds shards already; open them with ShardedRisk, or name another folder")
    return path


def write_piece(folder: Path, number: int, risk: Risk) -> Written:
    """Write one piece of a risk; any process that sees the folder may do it.

    Raises
    ------
    InputError
        If it cannot be cut or written.
    """
    table, weight, arrays = cut(risk)
    files = write_arrays(folder, number, arrays)
    piece = Piece(piece_name(number), risk.parts, sum(len(points) for points in risk.points), weight, files)
    return Written(piece, table, description(risk.cone).table, reach(risk.points))


def piece_name(number: int) -> str:
    """Name of the folder of a piece."""
    return f"piece-{number:06d}"


def write_arrays(folder: Path, number: int, arrays: Mapping[str, np.ndarray | None]) -> dict[str, tuple[int, str]]:
    """Write the arrays of a piece, None for one already written; returns sizes and hashes of the files.

    Raises
    ------
    InputError
        If they cannot be written.
    """
    path, files = folder / piece_name(number), {}
    with written(path):
        path.mkdir(exist_ok=True)
        for name, array in arrays.items():
            file = path / f"{name}.npy"
            if array is not None:
                with all_or_nothing(file) as unfinished:
                    np.save(unfinished, np.ascontiguousarray(array), allow_pickle=False)
            files[name] = file.stat().st_size, digest(file)
    return files


def finish(folder: Path, written: list[Written], shards: int, cache: int) -> ShardedRisk:
    """Write the table, which completes a folder of shards.

    Raises
    ------
    InputError
        If there are no pieces, or they do not belong together.
    """
    if not written:
        raise InputError("risks is empty: give at least one")
    first = written[0]
    for one in written[1:]:
        if (one.risk, one.cone) != (first.risk, first.cone):
            raise InputError(f"risks must be of one kind on the same metrics, got {first.risk} and {one.risk}")
    with all_or_nothing(folder / REACH) as unfinished:
        np.save(unfinished, np.array([one.reach for one in written]), allow_pickle=False)
    table = {
        "format": FORMAT,
        "cone": first.cone,
        "risk": first.risk,
        "reach": digest(folder / REACH),
        "pieces": [asdict(one.piece) for one in written],
    }
    with all_or_nothing(folder / TABLE) as unfinished:
        unfinished.write_text(json.dumps(table, indent=1, allow_nan=False), "utf-8")
    return ShardedRisk(folder, shards, cache)


@contextmanager
def spread(problem: MetricProblem, engine: Any) -> Iterator[MetricProblem]:
    """Move the risk of a problem to an engine; data in memory go to a temporary folder while the context lasts.

    Raises
    ------
    InputError
        If it is no engine, or the risk cannot be cut into shards.
    """
    with ExitStack() as stack:
        backend = as_backend(engine)
        stack.callback(backend.close)
        risk = problem.risk
        if not isinstance(risk, ShardedRisk):
            folder = stack.enter_context(TemporaryDirectory(prefix="convexmetric-shards-", ignore_cleanup_errors=True))
            risk = write(risk, folder)
            # So that the certificate needs no pass for it when the time is out.
            risk.known_lipschitz = problem.risk.lipschitz
        yield altered(problem, risk=risk.on(backend))
