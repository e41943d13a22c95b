r"""Risks of operators on pairs: errors and hinges, ROC curves, and errors with a single example of each class.

.. math:: \hat R(T, S) = \frac1m \sum_{i=1}^m 1\{ r_i (1 - \|T x_i - T x'_i\|^2) \le 0 \}, \qquad
   \hat R_\psi(T, S) = \frac1m \sum_{i=1}^m \psi\big( r_i (1 - \|T x_i - T x'_i\|^2) \big)

are the empirical risks of paper 4 (Maurer 2008, equation 1 and section 6.1): an undecided pair counts as an error,
and :math:`\psi` is the hinge :math:`h_\gamma(t) = \max(0, 1 - t / \gamma)`, with one margin for all or one for
similar and one for dissimilar pairs. Labels make every pair of points similar or dissimilar; *balanced*, either kind
weighs one half. Pairs of labels are never listed: their squared distances come in blocks, each pair once.

Wherever an operator T is expected, any object with a method ``transform`` works, such as an embedding alone; None
stands for the points as they are.

Errors of the paper. Section 5.1 defines :math:`C_{-1}` with y' = y; it is the probability of y' != y. The draw
from the balanced oracle described there (x first, then a coin, then x') is not the oracle it defines, unless all
classes are equally likely: the class of a similar pair has a probability proportional to the square of its own, and
that is what is summed here. In table 2 the test risk of rotation, 0.55, is 0.055 in table 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexmetric.arguments import as_generator, check_count, check_integer, checked_margins
from convexmetric.arrays import Array, real_array
from convexmetric.comparisons.pairs import LabelledPairs, ListedPairs, label_codes, pair_signs
from convexmetric.comparisons.points import as_points
from convexmetric.errors import InputError
from convexmetric.evaluation.distances import listed_squared_distances, squared_distances, verdicts
from convexmetric.features import Embedding

#: Bytes of distances that are held in memory at a time.
BLOCK_BYTES = 32 * 2**20

Margin = float | tuple[float, float]


def empirical_risk(
    T: Embedding | None, X: Any, pairs: ArrayLike, y: ArrayLike, *, margin: Margin | None = None, balanced: bool = False
) -> float:
    """Mean loss over listed pairs.

    Parameters
    ----------
    T : SimilarityOperator, anything with ``transform``, or None
        None for the points as they are.
    X : (n, d) array
        Points.
    pairs : (m, 2) int array
        Rows ``(i, j)``.
    y : (m,) array
        +1 for a similar, -1 for a dissimilar pair.
    margin : float or (similar, dissimilar), optional
        Margin of the hinge. By default the loss is 0 or 1: an undecided pair is an error.
    balanced : bool
        Whether the mean over similar and the mean over dissimilar pairs weigh one half each, instead of equal weights
        for all pairs.

    Returns
    -------
    float

    Raises
    ------
    InputError
        If an argument is malformed, or a balance is asked for and one kind of pairs is missing.
    """
    Z = images(T, X)
    listed = ListedPairs(pairs, len(Z)).pairs
    r = pair_signs(y, len(listed))
    losses = loss_of(listed_squared_distances(Z, listed), r, None if margin is None else checked_margins(margin))
    return float(np.mean([losses[kind].mean() for kind in both_kinds(r)])) if balanced else float(losses.mean())


def empirical_risk_from_labels(
    T: Embedding | None, X: Any, y: ArrayLike, *, margin: Margin | None = None, balanced: bool = True
) -> float:
    """Mean loss over the pairs of different points, similar if their labels are equal.

    Parameters
    ----------
    T, X, margin
        As for :func:`empirical_risk`.
    y : (n,) array
        Labels.
    balanced : bool
        Whether similar and dissimilar pairs weigh one half each, instead of equal weights for all pairs.

    Returns
    -------
    float

    Raises
    ------
    InputError
        If an argument is malformed, or the labels make no pair similar or none dissimilar.
    """
    Z, codes, stops = _by_class(T, X, y)
    gammas = None if margin is None else checked_margins(margin)
    sizes = np.array([len(LabelledPairs(codes, same=same)) for same in (True, False)], dtype=np.float64)
    means = [
        sum(float(loss_of(block, r, gammas).sum()) for block in _blocks(Z, stops, same)) / (size / 2.0)
        for same, r, size in zip((True, False), (1.0, -1.0), sizes, strict=True)
    ]
    weights = np.full(2, 0.5) if balanced else sizes / sizes.sum()
    return float(weights @ means)


def verifier_errors(T: Embedding | None, X: Any, y: ArrayLike, *, balanced: bool = True) -> Array:
    r"""Error of the elementary verifier of every point, judged on all others (paper 4, section 5.1).

    The verifier of the example (x, y) decides that x' is of type y if :math:`\|T(x - x')\| < 1`, that it is not if
    the distance is above 1, and nothing at 1, which counts as an error. Its balanced error is

    .. math:: \frac{1}{2 C_1} \Pr\{\|T(x - x')\| \ge 1, y' = y\}
       + \frac{1}{2 C_{-1}} \Pr\{\|T(x - x')\| \le 1, y' \ne y\}

    with the probabilities :math:`C_1` and :math:`C_{-1}` that two different points have equal and unequal labels. The
    mean over examples is the balanced risk (equation 12), and without balance the risk (equation 11), of all pairs:
    exactly, since both count the same pairs. An example of a large class can have a balanced error above one.

    Parameters
    ----------
    T, X
        As for :func:`empirical_risk`.
    y : (n,) array
        Labels.
    balanced : bool

    Returns
    -------
    (n,) array

    Raises
    ------
    InputError
        If an argument is malformed, or the labels make no pair similar or none dissimilar.
    """
    Z = images(T, X)
    n = len(Z)
    codes = label_codes(y, n)
    rejected, accepted = np.empty(n), np.empty(n)
    step = max(1, BLOCK_BYTES // (8 * n))
    for first in range(0, n, step):
        rows = slice(first, min(first + step, n))
        verdict = verdicts(squared_distances(Z[rows], Z))
        same = codes[rows, None] == codes
        # A point is at distance zero from itself: similar, and no error.
        verdict[np.arange(len(verdict)), np.arange(rows.start, rows.stop)] = 1
        rejected[rows] = np.sum(same & (verdict < 1), axis=1)
        accepted[rows] = np.sum(~same & (verdict > -1), axis=1)
    if not balanced:
        return np.asarray((rejected + accepted) / (n - 1))
    similar, dissimilar = (len(LabelledPairs(codes, same=same)) / n for same in (True, False))
    return np.asarray(0.5 * rejected / similar + 0.5 * accepted / dissimilar)


@dataclass(frozen=True)
class RocCurve:
    """The distance as a detector of equal labels, over all pairs of points.

    Attributes
    ----------
    false_positive_rate, true_positive_rate : (k,) arrays
        Shares of dissimilar and of similar pairs at most as far apart as each threshold: exact, from (0, 0) to (1, 1).
    thresholds : (k,) array
        Distances; the first is minus infinity, the last infinity.
    area : float
        Probability that a similar pair is nearer than a dissimilar one, ties counted half, over all pairs: the exact
        area under the whole curve, of which the arrays above are a sample.
    """

    false_positive_rate: Array
    true_positive_rate: Array
    thresholds: Array
    area: float


def roc_curve(T: Embedding | None, X: Any, y: ArrayLike, *, n_points: int = 1000) -> RocCurve:
    """Points of the ROC curve, and the exact area under all of it.

    All pairs of different points take part. All squared distances of the rarer kind of pairs are held and sorted (8
    bytes each); those of the other kind are computed in blocks and counted. 10,000 points in ten classes have 50
    million pairs, of which 5 million are held.

    Parameters
    ----------
    T, X
        As for :func:`empirical_risk`.
    y : (n,) array
        Labels.
    n_points : int
        Number of thresholds: quantiles of the distances of the rarer kind of pairs.

    Returns
    -------
    RocCurve

    Raises
    ------
    InputError
        If an argument is malformed, or the labels make no pair similar or none dissimilar.
    """
    check_integer(n_points, 2, np.inf, "n_points must be an integer of at least 2")
    Z, codes, stops = _by_class(T, X, y)
    sizes = {same: len(LabelledPairs(codes, same=same)) // 2 for same in (True, False)}
    held_kind = sizes[True] <= sizes[False]
    held = np.empty(sizes[held_kind])
    filled = 0
    for block in _blocks(Z, stops, held_kind):
        held[filled : filled + block.size] = block
        filled += block.size
    held.sort()
    places = np.unique(np.linspace(0, held.size - 1, min(int(n_points), held.size)).round().astype(np.int64))
    at = np.unique(held[places])
    # Twice the number of held pairs that are nearer than each pair of the other kind, ties once: whole numbers.
    nearer, below = 0, np.zeros(at.size, dtype=np.int64)
    for block in _blocks(Z, stops, not held_kind):
        block.sort()
        nearer += int(np.searchsorted(held, block, "left").sum()) + int(np.searchsorted(held, block, "right").sum())
        below += np.searchsorted(block, at, "right")
    share = nearer / (2 * sizes[True] * sizes[False])
    rates = {held_kind: np.searchsorted(held, at, "right") / held.size, not held_kind: below / sizes[not held_kind]}
    return RocCurve(
        false_positive_rate=np.r_[0.0, rates[False], 1.0],
        true_positive_rate=np.r_[0.0, rates[True], 1.0],
        thresholds=np.r_[-np.inf, np.sqrt(at), np.inf],
        area=share if held_kind else 1.0 - share,
    )


def roc_area(T: Embedding | None, X: Any, y: ArrayLike) -> float:
    """Probability that a pair of equal labels is nearer than one of different labels, ties counted half.

    Over all pairs of different points, exactly; see :func:`roc_curve`.

    Parameters
    ----------
    T, X, y
        As for :func:`roc_curve`.

    Returns
    -------
    float
        In [0, 1]; one half for uninformative distances.

    Raises
    ------
    InputError
        If an argument is malformed, or the labels make no pair similar or none dissimilar.
    """
    return roc_curve(T, X, y, n_points=2).area


def single_prototype_error(
    T: Embedding | None,
    X: Any,
    y: ArrayLike,
    *,
    n_draws: int = 100,
    random_state: int | np.random.Generator | None = None,
) -> float:
    """Error of the nearest neighbour when every class is known by a single example (paper 4, section 6.1).

    A draw takes one point of every class, uniformly, and classifies all others by the nearest of these; the errors of
    draws are averaged. Where k prototypes are equally near and one of them is right, the error is 1 - 1/k.

    Parameters
    ----------
    T, X
        As for :func:`empirical_risk`. The same ``random_state`` draws the same prototypes for another T.
    y : (n,) array
        Labels.
    n_draws : int
        Number of draws.
    random_state : int, numpy.random.Generator or None
        Seed or generator for the draws.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    InputError
        If an argument is malformed, or there are fewer than two classes or no point besides the prototypes.
    """
    check_count(n_draws, "n_draws")
    Z, _, stops = _by_class(T, X, y)
    starts = np.r_[0, stops[:-1]]
    rng = as_generator(random_state)
    own = np.repeat(np.arange(stops.size), stops - starts)
    total = 0.0
    for _ in range(n_draws):
        prototypes = rng.integers(starts, stops)
        tests = np.delete(np.arange(len(Z)), prototypes)
        D = squared_distances(Z[tests], Z[prototypes])
        nearest = D.min(axis=1, keepdims=True) == D
        right = nearest[np.arange(len(tests)), own[tests]] / nearest.sum(axis=1)
        total += 1.0 - float(right.mean())
    return total / n_draws


def images(T: Embedding | None, X: Any) -> Array:
    """Transform points by T, or check them and return them as they are where T is None.

    Raises
    ------
    InputError
        If T cannot transform points, or X is malformed.
    """
    if T is not None and not isinstance(T, Embedding):
        raise InputError(
            f"T must be a SimilarityOperator, anything with transform(X), or None for raw inputs, "
            f"got {type(T).__name__}"
        )
    return real_array(as_points(X) if T is None else T.transform(X), "images")


def loss_of(squared: Array, r: Any, gammas: tuple[float, float] | None) -> Array:
    """Loss of pairs by their squared distances and signs: 0/1 without ``gammas``, else the hinge of these margins."""
    t = r * (1.0 - squared)
    if gammas is None:
        return (t <= 0.0).astype(np.float64)
    return np.asarray(np.maximum(0.0, 1.0 - t / np.where(np.asarray(r) > 0.0, gammas[0], gammas[1])))


def both_kinds(r: Array) -> list[NDArray[np.bool_]]:
    """Return masks of the similar and of the dissimilar pairs.

    Raises
    ------
    InputError
        If all pairs are of one kind.
    """
    kinds = [r > 0.0, r < 0.0]
    for kind, name in zip(kinds, ("similar", "dissimilar"), strict=True):
        if not kind.any():
            raise InputError(f"y names no pair {name}, so that there is nothing to balance")
    return kinds


def _by_class(T: Embedding | None, X: Any, y: ArrayLike) -> tuple[Array, np.ndarray, np.ndarray]:
    """Images of points sorted by class; also returns the class of each, and the end of each class."""
    Z = images(T, X)
    codes = label_codes(y, len(Z))
    order = np.argsort(codes, kind="stable")
    return np.ascontiguousarray(Z[order]), codes[order], np.cumsum(np.bincount(codes))


def _blocks(Z: Array, stops: np.ndarray, same: bool) -> Iterator[Array]:
    """Yield squared distances of all pairs of one class (``same``) or of two classes, each pair once, in blocks."""
    n = len(Z)
    for start, stop in zip(np.r_[0, stops[:-1]], stops, strict=True):
        end = stop if same else n
        step = max(1, BLOCK_BYTES // (8 * max(1, end - start)))
        for first in range(start, stop, step):
            last = min(first + step, stop)
            if not same:
                if stop < n:
                    yield squared_distances(Z[first:last], Z[stop:]).ravel()
            elif stop - first > 1:
                D = squared_distances(Z[first:last], Z[first:stop])
                yield D[np.arange(stop - first) > np.arange(last - first)[:, None]]
