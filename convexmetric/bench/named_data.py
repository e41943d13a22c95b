"""Data that the file of an instance names, covered by its hashes: rows, draws, extras, and arrays made of them.

A hash is the SHA-256 of little-endian int64 in C order: of integers as they are, of other numbers in multiples of
2^-20 (of a projection 2^-30), rounded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexmetric.arguments import not_one_of
from convexmetric.comparisons import triplets_from_labels
from convexmetric.comparisons.pairs import ListedPairs
from convexmetric.datasets import Dataset, load, preprocess, sha256
from convexmetric.errors import InputError
from convexmetric.features import Projection, make_projection
from convexmetric.papers import CrossModalProblem, LargeMarginProblem, TripletProblem, balanced_pairs
from convexmetric.problem import MetricProblem


@dataclass(frozen=True)
class Rows:
    """Rows that ``[data]`` takes from a data set, after preprocessing, and names of their classes."""

    X: Any
    labels: NDArray[Any]
    #: As published.
    dataset: Dataset
    #: Preprocess the same rows of another array.
    of: Callable[[Any, list[str]], Any]


def chosen_rows(data: Mapping[str, Any]) -> Rows:
    """Load the data set of ``[data]`` and take its rows.

    Raises
    ------
    DataNotFoundError
        If the data set is not there.
    InputError
        If the data differ from those that were certified.
    """
    dataset = load(data["set"])
    _same(sha256(dataset), data["sha256"], f"[data]: the data set {dataset.name!r} found here is")
    labels = _labels(dataset, data.get("labels"))
    kept = np.full(len(labels), True)
    for name in data.get("without", []):
        if name not in labels:
            raise InputError(f"[data]: without names the class {name!r}, which no row has")
        kept &= labels != name
    if "parts" in data:
        if "part" not in dataset.extras:
            raise InputError(f"[data]: the data set {dataset.name!r} has no parts")
        kept &= np.isin(dataset.extras["part"], data["parts"])
    labels, at = labels[kept], np.arange(np.count_nonzero(kept))
    if "rows" in data:
        if not 0 < data["rows"] <= len(labels):
            raise InputError(f"[data]: rows must be between 1 and {len(labels)}, got {data['rows']}")
        at = np.linspace(0, len(labels) - 1, data["rows"]).astype(np.int64)

    def of(points: Any, steps: list[str]) -> Any:
        return preprocess(points[kept], steps)[at]

    X = of(dataset.X, data["preprocessing"])
    if list(X.shape) != data["shape"]:
        raise InputError(f"[data]: shape is {data['shape']}, but preprocessing gave {list(X.shape)}")
    return Rows(X, labels[at], dataset, of)


def named_data(data: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Arrays, and other objects, by the names that stand for them in ``[parameters]``; see ``docs/instances.md``.

    Raises
    ------
    DataNotFoundError
        If the data set is not there.
    InputError
        If the data differ from those that were certified, or are not there.
    """
    rows = chosen_rows(data)
    named = {"X": rows.X, "y": rows.labels, "identity": np.eye(rows.X.shape[1]), "none": None}
    if "adjacency" in rows.dataset.extras and not any(key in data for key in ("without", "parts", "rows")):
        named["adjacency"] = rows.dataset.extras["adjacency"]
    if "triplets" in tables:
        named["triplets"] = _drawn_triplets(rows.labels, **tables["triplets"])
    if "pairs" in tables:
        named |= pairs_by_name(*_drawn_pairs(rows.labels, **tables["pairs"]))
    if "projection" in tables:
        named["projection"] = _projection(rows.X, **tables["projection"])
    for name, steps in tables.get("extras", {}).items():
        if name not in rows.dataset.extras:
            raise InputError(f"[extras]: {not_one_of('a key', rows.dataset.extras, name)}")
        named[name] = rows.of(rows.dataset.extras[name], steps)
    for name, expected in tables.get("arrays", {}).items():
        if name not in MADE:
            raise InputError(f"[arrays]: {not_one_of('a key', MADE, name)}")
        if name != "mahalanobis" and "pairs" not in tables:
            raise InputError(f"[arrays]: {name} is made of pairs; there is no table [pairs]")
        array = MADE[name](rows.X, named)
        _same(_sha256(array), expected, f"[arrays]: {name} is")
        named[name] = array
    return named


def check_found(problem: MetricProblem, tables: Mapping[str, Mapping[str, Any]], named: Mapping[str, Any]) -> None:
    """Compare what a problem found in the data by itself with ``[found]``; the hash covers the extras, too.

    Raises
    ------
    InputError
        If it differs from what was certified, or has no hash.
    """
    found, wanted = _found(problem), tables.get("found", {})
    if found is not None:
        covered = np.concatenate([*(named[name].ravel() for name in tables.get("extras", {})), found.ravel()])
        _same(_sha256(covered), wanted.get("sha256", "none"), "[found]: what the problem found in the data here is")
    count = getattr(problem, "count", None)
    if wanted and wanted["count"] != count:
        raise InputError(f"[found]: count is {wanted['count']}, but there are {count}")


def _found(problem: MetricProblem) -> NDArray[Any] | None:
    """Neighbours or links that a problem lists, sorted, or its representatives; None if it finds nothing."""
    if isinstance(problem, TripletProblem):
        listed = [pairs.pairs for pairs in (problem.similar, problem.dissimilar) if isinstance(pairs, ListedPairs)]
        return np.concatenate([np.unique(pairs, axis=0) for pairs in listed]) if listed else None
    if isinstance(problem, LargeMarginProblem):
        return np.unique(problem.targets, axis=0)
    return problem.representatives.items if isinstance(problem, CrossModalProblem) else None


def _labels(dataset: Dataset, extra: str | None) -> NDArray[Any]:
    """Name of the class of every row; the same name for all where the data set has no classes."""
    if extra is None and dataset.y is None:
        return np.full(dataset.X.shape[0], "all")
    if extra is None:
        codes, names = dataset.y, dataset.target_names
    else:
        codes, names = dataset.extras.get(extra), dataset.extras.get(f"{extra}_names", ())
    if codes is None or codes.ndim != 1 or not names:
        kind = "classes, one a row" if extra is None else f"labels {extra!r}"
        raise InputError(f"[data]: the data set {dataset.name!r} has no {kind}")
    return np.array(names)[codes]


def _drawn_triplets(labels: NDArray[Any], count: int, seed: int, sha256: str, also: Any = ()) -> NDArray[Any]:
    triplets = triplets_from_labels(labels, count, random_state=seed, also=also)
    _same(_sha256(triplets), sha256, "[triplets]: the triplets drawn here are")
    return triplets


def _drawn_pairs(labels: NDArray[Any], count: int, seed: int, sha256: str) -> tuple[NDArray[Any], NDArray[Any]]:
    pairs, r = balanced_pairs(labels, count, random_state=seed)
    _same(_sha256(np.column_stack([pairs, r.astype(np.int64)])), sha256, "[pairs]: the pairs drawn here are")
    return pairs, r


def _projection(X: Any, kind: str, r: int, seed: int, sha256: str) -> Projection:
    made = make_projection(kind, X, r, random_state=seed)
    L = made.L if isinstance(made.L, np.ndarray) else made.L.toarray()
    _same(_sha256(L, bits=30), sha256, "[projection]: the map drawn here is")
    return made


def _same(found: str, expected: str, subject: str) -> None:
    """Compare a hash of data with the one for which the bounds were certified; refuse another one."""
    if found != expected:
        raise InputError(f"{subject} not what was certified: the sha256 is {found}, expected {expected}")


def _sha256(numbers: NDArray[Any], bits: int = 20) -> str:
    whole = numbers if numbers.dtype.kind in "iub" else np.rint(2.0**bits * numbers)
    return hashlib.sha256(whole.astype("<i8").tobytes()).hexdigest()


def pairs_by_name(pairs: np.ndarray, r: np.ndarray) -> dict[str, np.ndarray]:
    """Arrays by name for a set of pairs: all with r and signs ``-r`` of their margins, and those of each kind."""
    similar, dissimilar = pairs[r > 0.0], pairs[r < 0.0]
    return {
        "pairs": pairs,
        "r": r,
        "signs": -r,
        "similar": similar,
        "similar_signs": -np.ones(len(similar)),
        "dissimilar": dissimilar,
        "dissimilar_signs": np.ones(len(dissimilar)),
    }


def _mahalanobis(X: Any, drawn: Mapping[str, Any]) -> np.ndarray:
    inverse = np.linalg.inv(np.cov(X, rowvar=False, bias=True))
    return np.asarray(0.5 * (inverse + inverse.T))


def _similar_scatter(X: Any, drawn: Mapping[str, Any]) -> np.ndarray:
    pairs = drawn["similar"]
    V = X[pairs[:, 0]] - X[pairs[:, 1]]
    return np.asarray(V.T @ V / len(V))


def _percentiles(X: Any, drawn: Mapping[str, Any]) -> np.ndarray:
    pairs = drawn["pairs"]
    d = ((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2).sum(axis=1)
    return np.where(drawn["r"] > 0.0, *np.percentile(d, (NEAR, FAR)))


#: Arrays that a file may list in [arrays], computed from the points and the pairs drawn; see ``docs/instances.md``.
MADE: dict[str, Callable[[Any, Mapping[str, Any]], np.ndarray]] = {
    "mahalanobis": _mahalanobis,
    "similar_scatter": _similar_scatter,
    "percentiles": _percentiles,
}
#: Percentiles of the distances: targets that similar pairs should not exceed, and dissimilar ones should.
NEAR, FAR = 5.0, 95.0
