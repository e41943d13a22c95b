r"""Dual points in the form of certificate files: found here, and only evaluated by the kernel.

Blocks give their dual points as witnesses (metrics at which slopes or rankings are taken, with weights) or as slopes
(:meth:`~convexmetric.risks.Risk.hints`). For risks over lists, dual points of witnesses are integers over
:math:`2^b`: sums of slopes, or of places in rankings, for every item of every query.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from convexmetric.arrays import Array
from convexmetric.certificates import kernel
from convexmetric.certificates.statement import Arrays, Table, named_by_summand
from convexmetric.comparisons import Rankings
from convexmetric.described import Described
from convexmetric.measures import most_violated_rankings
from convexmetric.risks import Risk

#: Bits of slopes and weights, if the kernel's sums of them stay below 2^53.
BITS = 36
#: Bits of weights of queries, which may be small.
CAP_BITS = 40
#: Pairs of a query whose slopes are held at a time, about, and the least width of a smoothed hinge.
PAIRS, TINY = 2**20, 1e-300


def stored(risk: Risk, said: Described, stated: Any) -> tuple[Table, Arrays]:
    """Return the table and the arrays of a dual point for a file.

    Parameters
    ----------
    risk : Risk
    said : Described
        Dual point of the risk, by ``hints``.
    stated : risk of the kernel
        The same risk as the kernel reads it from the statement.
    """
    return FORMS[type(stated)].stored(risk, said, stated)


def between(one: Described, other: Described, share: float) -> Described:
    """Mix ``1 - share`` of a dual point with ``share`` of weighted cuts in one group, both as given by ``hints``."""
    if one.summands:
        pairs = zip(one.summands, other.summands, strict=True)
        return replace(one, summands=tuple(between(*pair, share) for pair in pairs))
    shares: Any = (1.0 - share, share)
    first, second, arrays = one.arrays, other.arrays, dict(one.arrays)
    if "parts_weights" in first:
        # All else is weighted by its part.
        each = [of["parts_weights"] * weight for of, weight in zip((first, second), shares, strict=True)]
        arrays["parts_weights"] = total = each[0] + each[1]
        shares = [np.divide(part, total, out=np.zeros_like(part), where=total > 0.0) for part in each]
    if "witnesses" in first:
        weights = [of["weights"] * weight for of, weight in zip((first, second), shares, strict=True)]
        weights[1] = np.broadcast_to(weights[1], (len(weights[1]), weights[0].shape[1]))
        arrays["weights"] = np.vstack(weights)
        return replace(one, arrays=arrays | {n: np.concatenate([first[n], second[n]]) for n in ("witnesses", "widths")})
    mixed = {
        name: np.asarray(first[name]) * shares[0] + np.asarray(second[name]) * shares[1]
        for name in ("slopes", "probabilities")
        if name in first
    }
    return replace(one, arrays=arrays | mixed)


def _sum(risk: Any, said: Described, stated: Any) -> tuple[Table, Arrays]:
    each = [stored(*part) for part in zip(risk.risks, said.summands, stated.risks, strict=True)]
    table = {"kind": "sum", "summands": [own for own, _ in each]}
    return table, named_by_summand([arrays for _, arrays in each])


def _comparisons(risk: Any, said: Described, stated: Any) -> tuple[Table, Arrays]:
    low, high = np.array([(loss.low, loss.high) for loss in stated.losses]).T
    each = [np.clip(said.arrays["slopes"][rows], low[of.kind], high[of.kind]) for rows, of in stated.blocks()]
    return {"kind": "slopes"}, {"slopes": np.concatenate(each)}


def _trials(risk: Any, said: Described, stated: kernel.ListedChoices) -> tuple[Table, Arrays]:
    bits = min(BITS, 53 - stated.chosen.bit_length())
    found = whole_probabilities(said.arrays["probabilities"], 2**bits)
    return {"kind": "probabilities", "bits": bits}, {"probabilities": found.ravel()}


def whole_probabilities(weights: Array, one: int) -> np.ndarray:
    """Round rows of nonnegative weights to integers that add up to ``one``; rows of zeros become uniform."""
    total = weights.sum(axis=1, keepdims=True)
    share = np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), 1.0 / weights.shape[1])
    made = np.floor(share * one).astype(np.int64)
    made[np.arange(len(made)), made.argmax(axis=1)] += one - made.sum(axis=1)
    return made


def _lists(risk: Any, said: Described, stated: Any) -> tuple[Table, Arrays]:
    rankings: Rankings = risk.rankings
    largest = int((stated.p * stated.n).max())
    bits = max(0, min(BITS, 53 - (largest - 1).bit_length()))
    hints, one = dict(said.arrays), 2**bits
    hints["weights"] = whole_weights(hints["weights"], one)
    if isinstance(stated, kernel.Choices):
        return _choices(risk, hints, stated)
    if stated.ranked:
        found = _of_rankings(risk, rankings, hints, stated)
        return {"kind": "rankings", "bits": bits}, found
    if stated.loss == "logistic":
        slopes = np.concatenate([own.ravel() for own in _slopes(rankings, hints, stated)])
        return {"kind": "slopes", "bits": bits}, {"slopes": slopes}
    positives, negatives = zip(*_sums(rankings, hints, stated), strict=True)
    sums = {"near_sums": np.concatenate(positives), "far_sums": np.concatenate(negatives)}
    # Trailing zero bits that all sums share are dropped: slopes of 0 and 1 need no bits.
    spare = int(np.bitwise_or.reduce([np.bitwise_or.reduce(array) for array in sums.values()])) | one
    shift = (spare & -spare).bit_length() - 1
    return {"kind": "sums", "bits": bits - shift}, {name: array >> shift for name, array in sums.items()}


def _worst(risk: Any, said: Described, stated: Any) -> tuple[Table, Arrays]:
    """Return the weights of queries as integers below the cap, and a dual point of the risk over lists."""
    one, inner = 2**CAP_BITS, {name: array for name, array in said.arrays.items() if name != "parts_weights"}
    weights = whole_weights(said.arrays["parts_weights"][:, None], one)[:, 0]
    table, arrays = stored(risk.risk, Described(said.table, inner), stated.of)
    capped = np.minimum(weights, int(stated.cap * one))
    return {"kind": "worst", "bits": CAP_BITS, "of": table}, arrays | {"parts_weights": capped}


def _choices(risk: Any, hints: Arrays, stated: kernel.Choices) -> tuple[Table, Arrays]:
    """Return probabilities at the witnesses, averaged by their weights, as integers that add up to ``2^bits``."""
    bits = min(BITS, 53 - int(stated.p.max() + 1).bit_length())
    one, found = 2**bits, []
    passes = [_distances(risk.rankings, M) for M in hints["witnesses"]]
    for q in range(len(risk.rankings)):
        total = np.zeros(stated.p[q] + stated.n[q])
        for rows, weights in zip(passes, hints["weights"], strict=True):
            _, x, z = next(rows)
            d = np.concatenate([x, z[_order_of_far(risk.rankings, stated, q)]]) / risk.temperature
            e = np.exp(d.min() - d)
            total += weights[hints["groups"][q]] * (e / e.sum())
        found.append(whole_probabilities(total[None], one)[0])
    return {"kind": "probabilities", "bits": bits}, {"probabilities": np.concatenate(found)}


def longest(risk: Any) -> int:
    """Length of the longest array of a dual point of a risk of the kernel."""
    if isinstance(risk, kernel.SumRisk | kernel.Worst):
        return max(map(longest, risk.risks if isinstance(risk, kernel.SumRisk) else [risk.of]))
    if not isinstance(risk, kernel.ListRisk):
        return len(risk.items) if isinstance(risk, kernel.ListedChoices) else len(risk)
    return int((risk.p * risk.n if risk.loss == "logistic" else risk.p + risk.n).sum())


def in_parts(risk: Any, found: Arrays, cuts: Sequence[int]) -> list[tuple[list[int], Arrays]]:
    """Split the arrays of a dual point into parts: first row, end, and arrays of each.

    Parameters
    ----------
    risk : risk of the kernel
        Risk of the statement; its rows are queries, or comparisons.
    found : dict of arrays
        As :func:`stored` returns them.
    cuts : sequence of int
        Where parts begin and end, from 0 to the number of rows.
    """
    of_rows = FORMS[type(risk)].of_rows
    return [([first, end], of_rows(risk, found, slice(first, end))) for first, end in itertools.pairwise(cuts)]


def _rows_of_sum(risk: Any, found: Arrays, rows: slice) -> Arrays:
    each = []
    for number, (one, some) in enumerate(zip(risk.risks, risk.of_each(rows), strict=True)):
        start = kernel.SUMMAND.format(number)
        own = {name.removeprefix(start): array for name, array in found.items() if name.startswith(start)}
        each.append(FORMS[type(one)].of_rows(one, own, some) if some.stop > some.start else {})
    return named_by_summand(each)


def _rows_of_comparisons(risk: Any, found: Arrays, rows: slice) -> Arrays:
    k = risk.k if isinstance(risk, kernel.ListedChoices) else 1
    return {name: array[rows.start * k : rows.stop * k] for name, array in found.items()}


def _rows_of_lists(risk: Any, found: Arrays, rows: slice) -> Arrays:
    sizes = {
        "slopes": risk.p * risk.n,
        "probabilities": risk.p + risk.n,
        "near_sums": risk.p,
        "steps": risk.p,
        "far_sums": risk.n,
    }
    ends = {name: np.concatenate([[0], np.cumsum(of)]) for name, of in sizes.items()}
    places = {name: slice(at[rows.start], at[rows.stop]) for name, at in ends.items()}
    own = {name: array[..., places.get(name, rows)] for name, array in found.items()}
    return own | ({"weights": found["weights"]} if "weights" in found else {})


def whole_weights(weights: Array, one: int) -> np.ndarray:
    """Round weights to nonnegative integers over ``one``, of sum at most ``one`` in each group."""
    kept = np.maximum(weights, 0.0)
    made = np.rint(kept / np.maximum(1.0, kept.sum(axis=0)) * one).astype(np.int64)
    if not len(made):
        return made
    # Rounding may leave the sum a little above ``one``: the excess is taken from the largest.
    most = made.argmax(axis=0)
    groups = np.arange(made.shape[1])
    made[most, groups] -= np.maximum(made.sum(axis=0) - one, 0)
    return np.maximum(made, 0)


def _distances(rankings: Rankings, M: Array) -> Iterator[tuple[int, Array, Array]]:
    """Yield distances under M from every query to its listed positives and negatives, up to a constant."""
    for block in rankings.blocks(M, np.arange(len(rankings))):
        yield from _rows(block)


def _rows(block: Any) -> Iterator[tuple[int, Array, Array]]:
    """Yield every query of a block with the values of its positives and of its negatives."""
    for row, q in enumerate(block.queries.tolist()):
        yield q, *block.of(row)[2:]


def _order_of_far(rankings: Rankings, stated: Any, q: int) -> np.ndarray:
    """Permutation from the package's list of negatives of query q to the file's list."""
    _, _, _, negatives, start, stop = rankings.relevance.lists(np.array([q]))
    own = negatives[start[0] : stop[0]]
    return np.arange(len(own)) if np.array_equal(own, stated.negatives[q]) else np.argsort(own, kind="stable")


def _each(rankings: Rankings, hints: Arrays) -> Iterator[list[tuple[int, float, Array, Array, Array, Array]]]:
    """Yield for every query what each witness with a weight says: weight, width, distances of positives and negatives.

    Last come the exceptions, places and slopes of pairs; they belong to the one metric with which they were given.
    """
    passes = [_distances(rankings, M) for M in hints["witnesses"]]
    places = hints.get("exceptions", np.empty((0, 3), dtype=np.int64))
    order = np.argsort(places[:, 0], kind="stable")
    places, own = places[order], np.clip(hints.get("exception_slopes", np.empty(0))[order], 0.0, 1.0)
    begin = np.searchsorted(places[:, 0], np.arange(len(rankings) + 1))
    for q in range(len(rankings)):
        found, here = [], slice(begin[q], begin[q + 1])
        for number, (rows, width, weights) in enumerate(zip(passes, hints["widths"], hints["weights"], strict=True)):
            _, x, z = next(rows)
            some = here if number == 0 else slice(0)
            found.append((int(weights[hints["groups"][q]]), width, x, z, places[some, 1:].T, own[some]))
        yield [one for one in found if one[0]]


def _slopes(rankings: Rankings, hints: Arrays, stated: Any) -> Iterator[np.ndarray]:
    """Yield logistic slopes of all pairs of every query as integers, (p, n)."""
    for q, each in enumerate(_each(rankings, hints)):
        total = np.zeros((stated.p[q], stated.n[q]), dtype=np.int64)
        for weight, _, x, z, at, own in each:
            with np.errstate(over="ignore"):
                slopes = 1.0 / (1.0 + np.exp(z - x[:, None]))
            slopes[*at] = own
            total += np.rint(slopes * weight).astype(np.int64)
        yield total[:, _order_of_far(rankings, stated, q)]


def _sums(rankings: Rankings, hints: Arrays, stated: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield for every query the sums over positives and over negatives of slopes of hinges as integers."""
    for q, each in enumerate(_each(rankings, hints)):
        r, c = np.zeros(stated.p[q], dtype=np.int64), np.zeros(stated.n[q], dtype=np.int64)
        for weight, width, x, z, at, own in each:
            of_rows, of_columns = hinge_sums(x + float(stated.margin.mid), z, width, weight, at, own)
            r, c = r + of_rows, c + of_columns
        yield r, c[_order_of_far(rankings, stated, q)]


def hinge_sums(
    t: Array, z: Array, width: float, weight: int, at: np.ndarray, own: Array
) -> tuple[np.ndarray, np.ndarray]:
    """Sums over rows and over columns of the integers nearest to ``weight clip(1/2 + (t_i - z_j) / width, 0, 1)``.

    Slopes at the places ``at`` (rows, then columns) are ``own``. No matrix is made: with z sorted a row has ones, then
    slopes between one and zero, then zeros.
    """
    order, m, n = np.argsort(z, kind="stable"), len(t), len(z)
    z, rank = z[order], np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    first, end = np.searchsorted(z, t - 0.5 * width), np.searchsorted(z, t + 0.5 * width)
    r, c = weight * first, weight * (m - np.cumsum(np.bincount(first, minlength=n))[:n])

    def add(i: np.ndarray, j: np.ndarray, found: np.ndarray) -> None:
        # Sums are below 2^53, and exact in floats.
        r[:] += np.bincount(i, found, m).astype(np.int64)
        c[:] += np.bincount(j, found, n).astype(np.int64)

    def between(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        slopes = np.clip(0.5 + (t[i] - z[j]) / max(width, TINY), 0.0, 1.0)
        return np.rint(slopes * weight).astype(np.int64)

    counts = end - first
    for some in np.split(np.arange(m), np.flatnonzero(np.diff(np.cumsum(counts) // PAIRS)) + 1):
        rows = np.repeat(some, counts[some])
        columns = np.arange(len(rows)) + np.repeat(end[some] - np.cumsum(counts[some]), counts[some])
        add(rows, columns, between(rows, columns))
    i, j = at[0], rank[at[1]]
    before = np.where(j < first[i], weight, np.where(j < end[i], between(i, j), 0))
    add(i, j, np.rint(own * weight).astype(np.int64) - before)
    return r, c[rank]


def _of_rankings(risk: Any, rankings: Rankings, hints: Arrays, stated: Any) -> Arrays:
    """Return negatives above every positive in the worst rankings at the witnesses, and weighted sums of places."""
    ends, stops = np.cumsum(stated.p), np.cumsum(stated.n)
    weights, groups = hints["weights"], hints["groups"]
    steps = np.zeros((len(weights), int(ends[-1])), dtype=np.int64)
    positives, negatives = np.zeros(int(ends[-1]), dtype=np.int64), np.zeros(int(stops[-1]), dtype=np.int64)
    for row, M in enumerate(hints["witnesses"]):
        for block in rankings.blocks(M, np.arange(len(rankings))):
            most_violated_rankings(risk.measure, block)
            for q, x, z in _rows(block):
                p, n, weight = stated.p[q], stated.n[q], weights[row, groups[q]]
                # Coefficients of distances are 2 / (p n) times whole numbers.
                above, below = (np.rint(np.abs(part) * (0.5 * p * n)).astype(np.int64) for part in (x, z))
                own = slice(ends[q] - p, ends[q])
                steps[row, own] = np.diff(np.sort(above), prepend=0)
                positives[own] += weight * above
                negatives[stops[q] - n : stops[q]] += weight * below[_order_of_far(rankings, stated, q)]
    return {"near_sums": positives, "far_sums": negatives, "steps": steps, "weights": weights, "groups": groups}


class Form(NamedTuple):
    """Format of dual points of a class of risks: how files store them, and how to select some of their rows."""

    stored: Callable[[Any, Described, Any], tuple[Table, Arrays]]
    of_rows: Callable[[Any, Arrays, slice], Arrays]


LISTS, COMPARISONS = Form(_lists, _rows_of_lists), Form(_comparisons, _rows_of_comparisons)
#: Formats by the kernel's classes of risks.
FORMS: dict[type, Form] = {
    kernel.SumRisk: Form(_sum, _rows_of_sum),
    kernel.Worst: Form(_worst, lambda risk, found, rows: found),
    kernel.ListRisk: LISTS,
    kernel.Rankings: LISTS,
    kernel.Choices: LISTS,
    kernel.ListedRisk: COMPARISONS,
    kernel.AllPairs: COMPARISONS._replace(stored=lambda risk, said, stated: ({"kind": "slopes"}, said.arrays)),
    kernel.ListedChoices: Form(_trials, _rows_of_comparisons),
    kernel.OwnRisk: Form(lambda risk, said, stated: ({"kind": "own"}, said.arrays), lambda risk, found, rows: found),
}
