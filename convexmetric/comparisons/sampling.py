"""Triplets drawn from labels, after Schultz and Joachims (2003, section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexmetric.arguments import as_generator, check_count, shown
from convexmetric.comparisons.relevance import as_labels
from convexmetric.errors import InputError

#: Triples drawn at a time. Constant, so that a shorter list with the same seed begins the longer one.
BATCH = 2**16
#: Expected draws beyond which an error is raised, as almost all would be rejected.
MAX_DRAWS = 10**9


def triplets_from_labels(
    y: ArrayLike,
    n_triplets: int,
    *,
    random_state: int | np.random.Generator | None = None,
    also: Sequence[tuple[Any, Any, Sequence[Any]]] = (),
) -> NDArray[np.int64]:
    r"""Draw three different points i, j, k uniformly and keep those with :math:`y_i = y_j \neq y_k`.

    Parameters
    ----------
    y : (n,) array
        Labels.
    n_triplets : int
        Number of triplets to keep, in the order drawn. The same triplet can be drawn twice.
    random_state : int, numpy.random.Generator or None
        A seed for PCG64, a generator to draw from (in batches, so that its state is beyond the last
        triplet), or None for fresh randomness.
    also : sequence of (label_i, label_j, labels_k)
        Rules that keep more: i and j with these two labels, k with any of those in ``labels_k``. The
        "topic + faculty-student" distance is ``[("faculty", "student", ["project", "course"])]``.

    Returns
    -------
    (n_triplets, 3) int64 array
        Rows ``(i, j, k)``, i closer to j than to k: independent and uniform over all triplets that fit.

    Raises
    ------
    InputError
        If an argument is malformed, no three points fit, or a rule is malformed, names a label that no point has,
        cannot be met by three different points, or wants k to have the label of i or j.
    """
    labels = as_labels(y)
    check_count(n_triplets, "n_triplets")
    generator = as_generator(random_state)
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if classes.size < 2:
        raise InputError(f"y has one class only ({classes.tolist()[0]!r}), so no point is farther than another")
    rules = [_rule(rule, classes, counts, f"also[{r}]") for r, rule in enumerate(also)]
    n = codes.size
    # A lower bound if rules overlap; only the guard against an endless loop depends on it.
    same_label = float(np.sum(counts * (counts - 1.0) * (n - counts)))
    fitting = max([same_label, *(_count(rule, counts) for rule in rules)])
    if fitting == 0:
        raise InputError("y has no class with two members, so no triplet has two points of one label")
    if n_triplets * float(n) ** 3 > MAX_DRAWS * fitting:
        raise InputError(
            f"only {fitting:g} of {float(n) ** 3:g} triples fit, so {n_triplets} triplets would take too many draws; "
            "drop the points of rare labels or lower n_triplets"
        )
    kept: list[NDArray[np.int64]] = []
    missing = int(n_triplets)
    while missing > 0:
        triples = generator.integers(n, size=(BATCH, 3))
        triples = triples[_fits(triples, codes, rules)][:missing]
        kept.append(triples)
        missing -= len(triples)
    return np.concatenate(kept)


def _fits(triples: NDArray[np.int64], codes: NDArray[np.int64], rules: list[_Rule]) -> NDArray[np.bool_]:
    i, j, k = triples.T
    a, b, c = codes[triples].T
    wanted = (a == b) & (a != c)
    for first, second, third in rules:
        wanted |= (a == first) & (b == second) & np.isin(c, third)
    return wanted & (i != j) & (j != k) & (i != k)


_Rule = tuple[int, int, list[int]]


def _rule(rule: Any, classes: NDArray[Any], counts: NDArray[np.int64], name: str) -> _Rule:
    """Codes of the labels in a rule."""
    try:
        label_i, label_j, labels_k = rule
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be (label_i, label_j, labels_k), got {shown(rule)}") from error
    if isinstance(labels_k, str) or not isinstance(labels_k, Sequence) or not labels_k:
        raise InputError(f"{name}: labels_k must be a list of one label or more, got {shown(labels_k)}")
    known = {label: code for code, label in enumerate(classes.tolist())}
    codes = []
    for label in (label_i, label_j, *labels_k):
        try:
            codes.append(known[label])
        except (KeyError, TypeError) as error:
            raise InputError(f"{name} names the label {label!r}, which no point has") from error
    found: _Rule = codes[0], codes[1], sorted(set(codes[2:]))
    if found[0] in found[2] or found[1] in found[2]:
        raise InputError(f"{name} = {rule!r}: k may not have the label of i or of j, which would have to be closer")
    if _count(found, counts) == 0:
        raise InputError(f"{name} = {rule!r} needs two points labelled {label_i!r}, but there is one")
    return found


def _count(rule: _Rule, counts: NDArray[np.int64]) -> float:
    """Number of triplets of different points that a rule keeps."""
    i, j, k = rule
    return float(counts[i]) * float(counts[j] - (i == j)) * float(counts[k].sum())
