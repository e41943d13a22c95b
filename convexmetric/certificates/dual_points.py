r"""Dual points as certificate files hold them: found here, and only evaluated by the kernel.

Blocks give their dual points as witnesses (metrics at which slopes or rankings are taken, with weights) or as slopes
(:meth:`~convexmetric.risks.Risk.hints`). What a risk over lists makes of witnesses is written as integers over
:math:`2^b`: sums of slopes, or of places in rankings, for every item of every query. How much of it is feasible, and
the cap that shows so, come from eigenvalues in floats, less what the kernel's own rounding will cost.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from convexmetric.certificates import kernel
from convexmetric.certificates.statement import Arrays, Table, named_by_summand
from convexmetric.comparisons import Rankings
from convexmetric.cones.base import Array
from convexmetric.cones.described import Described
from convexmetric.errors import InputError
from convexmetric.measures import most_violated_rankings
from convexmetric.risks import Risk

__all__ = ["feasible", "in_parts", "stored"]

#: Bits of slopes and weights, if the kernel's sums of them stay below 2^53.
BITS = 36
#: How often the best share is halved; what is lost is the square of how wrong it is.
HALVINGS = 20
#: Parts of the dual point that are given up, one after the other, until the kernel agrees that the rest is feasible.
SPARE = (0.0, *(2.0**-k for k in range(50, 19, -3)))


def stored(risk: Risk, said: Described, stated: Any) -> tuple[Table, Arrays]:
    """The table and the arrays of a dual point for a file.

    Parameters
    ----------
    risk : Risk
    said : Described
        Its dual point, by ``hints``.
    stated : kernel.ListRisk, kernel.ListedRisk or kernel.SumRisk
        The risk of the statement.
    """
    if isinstance(stated, kernel.SumRisk):
        parts = zip(risk.risks, said.summands, stated.risks, strict=True)  # type: ignore[attr-defined]
        each = [stored(*part) for part in parts]
        table = {"kind": "sum", "summands": [own for own, _ in each]}
        return table, named_by_summand([arrays for _, arrays in each])
    if isinstance(stated, kernel.ListedRisk):
        low, high = np.array([kernel.LOSSES[loss][:2] for loss in stated.losses])[stated.kind].T
        return {"kind": "slopes"}, {"slopes": np.clip(said.arrays["slopes"], low, high)}
    rankings: Rankings = risk.rankings  # type: ignore[attr-defined]
    largest = int((stated.p * stated.n).max())
    bits = max(0, min(BITS, 53 - (largest - 1).bit_length()))
    hints, one = dict(said.arrays), 2**bits
    hints["weights"] = whole_weights(hints["weights"], one)
    if stated.ranked:
        found = _of_rankings(risk, rankings, hints, stated)
        return {"kind": "rankings", "bits": bits}, found
    if stated.loss == "logistic":
        slopes = np.concatenate([own.ravel() for own in _slopes(rankings, hints, stated, one, None)])
        return {"kind": "slopes", "bits": bits}, {"slopes": slopes}
    margin = float(stated.margin.mid)
    near, far = [], []
    for own in _slopes(rankings, hints, stated, one, margin):
        near.append(own.sum(axis=1))
        far.append(own.sum(axis=0))
    sums = {"near_sums": np.concatenate(near), "far_sums": np.concatenate(far)}
    # Slopes of 0 and 1 need no bits.
    spare = int(np.bitwise_or.reduce([np.bitwise_or.reduce(array) for array in sums.values()])) | one
    shift = (spare & -spare).bit_length() - 1
    return {"kind": "sums", "bits": bits - shift}, {name: array >> shift for name, array in sums.items()}


def in_parts(risk: Any, found: Arrays, cuts: Sequence[int]) -> list[tuple[list[int], Arrays]]:
    """The arrays of a dual point in parts: of each the first row, the end, and its own arrays.

    Parameters
    ----------
    risk : kernel.ListRisk, kernel.ListedRisk or kernel.SumRisk
        Of the statement; its rows are queries, or comparisons.
    found : dict of arrays
        As :func:`stored` returns them.
    cuts : sequence of int
        Where parts begin and end, from 0 to the number of rows.
    """
    return [([first, end], _of_rows(risk, found, slice(first, end))) for first, end in itertools.pairwise(cuts)]


def _of_rows(risk: Any, found: Arrays, rows: slice) -> Arrays:
    """The arrays of a dual point for some rows."""
    if isinstance(risk, kernel.SumRisk):
        each = []
        for number, (one, some) in enumerate(zip(risk.risks, risk.of_each(rows), strict=True)):
            start = kernel.SUMMAND.format(number)
            own = {name.removeprefix(start): array for name, array in found.items() if name.startswith(start)}
            each.append(_of_rows(one, own, some) if some.stop > some.start else {})
        return named_by_summand(each)
    lists = isinstance(risk, kernel.ListRisk)
    sizes = {"slopes": risk.p * risk.n, "near_sums": risk.p, "steps": risk.p, "far_sums": risk.n} if lists else {}
    ends = {name: np.concatenate([[0], np.cumsum(of)]) for name, of in sizes.items()}
    places = {name: slice(at[rows.start], at[rows.stop]) for name, at in ends.items()}
    own = {name: array[..., places.get(name, rows)] for name, array in found.items()}
    return own | ({"weights": found["weights"]} if "weights" in found else {})


def whole_weights(weights: Array, one: int) -> np.ndarray:
    """Weights as integers over ``one``, not negative, of sum at most ``one`` a group."""
    kept = np.maximum(weights, 0.0)
    made = np.rint(kept / np.maximum(1.0, kept.sum(axis=0)) * one).astype(np.int64)
    # Rounding may leave a few too many: they are taken from the largest.
    most = made.argmax(axis=0)
    groups = np.arange(made.shape[1])
    made[most, groups] -= np.maximum(made.sum(axis=0) - one, 0)
    return np.maximum(made, 0)


def _distances(rankings: Rankings, M: Array) -> Iterator[tuple[int, Array, Array]]:
    """Distances under M from every query to its near and far items, as they are listed, up to a constant."""
    for block in rankings.blocks(M, np.arange(len(rankings))):
        yield from _rows(block)


def _rows(block: Any) -> Iterator[tuple[int, Array, Array]]:
    """The values of near and of far items of every query of a block."""
    near, first, last, far, start, stop = block.lists
    at, dense = block.layout
    values = block.values.reshape(-1)
    for row, q in enumerate(block.queries.tolist()):
        own, p, n = values[at[row] :], last[row] - first[row], stop[row] - start[row]
        if dense:
            yield q, own[near[first[row] : last[row]]], own[far[start[row] : stop[row]]]
        else:
            yield q, own[:p], own[p : p + n]


def _order_of_far(rankings: Rankings, stated: Any, q: int) -> np.ndarray:
    """Places in the package's far list of the far items of the file, in their order."""
    _, _, _, far, start, stop = rankings.relevance.lists(np.array([q]))
    own = far[start[0] : stop[0]]
    return np.arange(len(own)) if np.array_equal(own, stated.far[q]) else np.argsort(own, kind="stable")


def _slopes(rankings: Rankings, hints: Arrays, stated: Any, one: int, margin: float | None) -> Iterator[np.ndarray]:
    """Slopes of all pairs of every query as integers over ``one``, (p, n); of logistic losses without a margin."""
    passes = [_distances(rankings, M) for M in hints["witnesses"]]
    places = hints.get("exceptions", np.empty((0, 3), dtype=np.int64))
    order = np.argsort(places[:, 0], kind="stable")
    places, own = places[order], hints.get("exception_slopes", np.empty(0))[order]
    begin = np.searchsorted(places[:, 0], np.arange(len(rankings) + 1))
    for q in range(len(rankings)):
        total = np.zeros((stated.p[q], stated.n[q]), dtype=np.int64)
        for rows, width, weights in zip(passes, hints["widths"], hints["weights"], strict=True):
            _, x, z = next(rows)
            weight = int(weights[hints["groups"][q]])
            if not weight:
                continue
            t = (x + (margin or 0.0))[:, None] - z[None, :]
            if margin is None:
                with np.errstate(over="ignore"):
                    slopes = 1.0 / (1.0 + np.exp(-t))
            else:
                slopes = np.clip(0.5 + t / width, 0.0, 1.0) if width > 0.0 else (t > 0.0).astype(np.float64)
            _, near, far = places[begin[q] : begin[q + 1]].T
            slopes[near, far] = np.clip(own[begin[q] : begin[q + 1]], 0.0, 1.0)
            total += np.rint(slopes * weight).astype(np.int64)
        yield total[:, _order_of_far(rankings, stated, q)]


def _of_rankings(risk: Any, rankings: Rankings, hints: Arrays, stated: Any) -> Arrays:
    """Far items above every near one in the worst rankings at the witnesses, and sums of weighted places."""
    ends, stops = np.cumsum(stated.p), np.cumsum(stated.n)
    weights, groups = hints["weights"], hints["groups"]
    steps = np.zeros((len(weights), int(ends[-1])), dtype=np.int64)
    near, far = np.zeros(int(ends[-1]), dtype=np.int64), np.zeros(int(stops[-1]), dtype=np.int64)
    for row, M in enumerate(hints["witnesses"]):
        for block in rankings.blocks(M, np.arange(len(rankings))):
            most_violated_rankings(risk.measure, block)
            for q, x, z in _rows(block):
                p, n, weight = stated.p[q], stated.n[q], weights[row, groups[q]]
                # Coefficients of distances are 2 / (p n) times whole numbers.
                above, below = (np.rint(np.abs(part) * (0.5 * p * n)).astype(np.int64) for part in (x, z))
                own = slice(ends[q] - p, ends[q])
                steps[row, own] = np.diff(np.sort(above), prepend=0)
                near[own] += weight * above
                far[stops[q] - n : stops[q]] += weight * below[_order_of_far(rankings, stated, q)]
    return {"near_sums": near, "far_sums": far, "steps": steps, "weights": weights, "groups": groups}


# How much of it is feasible -------------------------------------------------------------------------------------------


def feasible(
    problem: kernel.Problem, says: kernel.Says, hints: Arrays, upper: Fraction
) -> tuple[Fraction, Table, Arrays]:
    """The lower bound of a dual point, with the rest of its table and arrays: its share, and the cap that shows it.

    Parameters
    ----------
    problem : kernel.Problem
    says : kernel.Says
        What the dual point says of the risk.
    hints : dict of arrays
        Of a quadratic form ``hint``, a z with ``L z >= S - G`` or nearly so; of sizes of entries ``subgradient``.
    upper : Fraction
        A proven upper bound.

    Raises
    ------
    InputError
        If nothing is proven.
    """
    v, why = says.value.lower(), ""
    for spare in (*SPARE, 1.0):
        try:
            table, arrays = _cap(problem, float(v), says, hints, spare)
            return (
                problem.lower(says, problem.given(table, kernel.Arrays(arrays)), upper),
                table,
                arrays,
            )
        except kernel.NotProven as error:
            why = why or str(error)
    raise InputError(f"nothing is proven: lower bound: {why}")


def _cap(problem: kernel.Problem, v: float, says: kernel.Says, hints: Arrays, spare: float) -> tuple[Table, Arrays]:
    """Share and cap, less a spare part of the best one; of a spare part of one nothing is left but zero."""
    if not np.isfinite(says.S.mid).all():
        spare, says = 1.0, kernel.Says(says.value, kernel.Ball(np.zeros_like(says.S.mid)))
    omega, S, G = problem.omega, says.S.mid, problem.G
    rad = float(np.sqrt(np.sum(np.square(np.broadcast_to(says.S.rad, S.shape)))))
    if isinstance(omega, kernel.Entrywise):
        return _entries(problem, v, says, hints, spare)
    if isinstance(omega, kernel.QuadraticForm):
        return _z(problem, v, S, hints, spare)
    weight, linear, share = float(omega.weight.lower()), problem.table["linear"], 1.0
    if omega.kind == "squared frobenius":
        square = _size(problem, S - G) ** 2
        if not linear:
            share = 0.0 if v <= 0.0 else min(1.0, v * weight / square) if square else 1.0
        elif spare < 1.0:
            share = _best_share(problem, v, S, G, weight)
    elif v <= 0.0 and not linear:
        share = 0.0
    elif spare < 1.0:
        share = _largest_share(problem, S, G, weight * (1.0 - spare), rad)
    share *= 1.0 - spare
    table: Table = {"share": str(Fraction(share))}
    if problem.diagonal or omega.kind == "trace":
        return table, {}
    A = share * S - G
    values, vectors = np.linalg.eigh(0.5 * (A + A.T))
    kept = values > 0.0
    cap = np.ascontiguousarray((vectors[:, kept] * np.sqrt(values[kept])).T)
    return table | {"shift": str(Fraction(_slack(values, rad)))}, {"cap": cap}


def _best_share(problem: kernel.Problem, v: float, S: Array, G: Array, weight: float) -> float:
    """About where ``theta v - ||[theta S - G]_+||^2 / (2 weight)``, which is concave, is largest."""

    def rising(theta: float) -> bool:
        A = theta * S - G
        if problem.diagonal:
            return bool(v * weight >= float(S @ np.maximum(A, 0.0)))
        values, vectors = np.linalg.eigh(0.5 * (A + A.T))
        return bool(v * weight >= float(np.maximum(values, 0.0) @ ((S @ vectors) * vectors).sum(axis=0)))

    if rising(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rising(middle) else (low, middle)
    return low


def _entries(problem: kernel.Problem, v: float, says: kernel.Says, hints: Arrays, spare: float) -> tuple[Table, Arrays]:
    """As :func:`_cap` of the other norm, the dual point being less a subgradient Y of the sizes of entries.

    Where the diagonal counts, a little of the dual point is given up for as much of its weight as makes it feasible.
    """
    omega, rest = problem.omega, copy.copy(problem)
    most = float(omega.weight)
    most = most if Fraction(most) <= omega.weight else float(np.nextafter(most, 0.0))
    Y = np.clip(0.5 * (hints["subgradient"] + hints["subgradient"].T), -most, most) * omega.counts
    less, rad = says.S.mid - Y, np.broadcast_to(says.S.rad, Y.shape)
    rest.omega, given_up = omega.rest, 0.0
    if omega.counts.diagonal().all():
        values = _spectrum(rest, less - problem.G)
        size = np.linalg.norm(np.maximum(values, 0.0)) if rest.omega.kind == "frobenius" else values.max()
        excess = max(0.0, float(size) - float(rest.omega.weight.lower())) + _slack(values, float(np.linalg.norm(rad)))
        excess = 0.0 if rest.omega.kind == "squared frobenius" else excess
        given_up = min(1.0, spare + 2.0 * excess / most)
    kept, room = 1.0 - given_up, given_up * most * np.eye(problem.d)
    rest.G = problem.G + room
    rest.table = problem.table | {"linear": bool(rest.G.any())}
    table, arrays = _cap(rest, kept * v, kernel.Says(says.value, kernel.Ball(kept * less, kept * rad)), hints, spare)
    share = kept * float(Fraction(table["share"]))
    own = np.clip(share * Y + room, -most, most)
    return table | {"share": str(Fraction(share))}, arrays | {"subgradient": own}


def _slack(values: Any, rad: float) -> float:
    """What the kernel needs to see that a matrix about as large as one with these eigenvalues is semidefinite."""
    return 10.0 * (len(values) + 8.0) * kernel.U * float(np.linalg.norm(values)) + 1.25 * rad


def _spectrum(problem: kernel.Problem, A: Array) -> Any:
    """Eigenvalues of a matrix, or the entries of a diagonal."""
    return A if problem.diagonal else np.linalg.eigvalsh(0.5 * (A + A.T))


def _size(problem: kernel.Problem, A: Array) -> float:
    """The largest eigenvalue, or the norm of the positive ones, of a matrix or diagonal."""
    values = _spectrum(problem, A)
    if problem.omega.kind == "trace":
        return float(values.max())
    return float(np.linalg.norm(np.maximum(values, 0.0)))


def _largest_share(problem: kernel.Problem, S: Array, G: Array, weight: float, rad: float) -> float:
    """About the largest feasible share of a dual point, less what the kernel's rounding costs."""
    # Without a linear term the eigenvalues are those of S, scaled.
    own = None if G.any() else _spectrum(problem, S)

    def room(theta: float) -> float:
        """By how much the size of the cap is below the weight."""
        values = theta * own if own is not None else _spectrum(problem, theta * S - G)
        shift = 8.0 * kernel.U * np.abs(values).max() + 2.0 * rad
        if not problem.diagonal:
            shift = _slack(weight - values if problem.omega.kind == "trace" else values, rad)
        size = (
            values.max() + shift if problem.omega.kind == "trace" else np.linalg.norm(np.maximum(values, 0.0) + shift)
        )
        return weight - float(size)

    if room(1.0) >= 0.0:
        return 1.0
    low, high = 0.0, 1.0
    if not G.any():
        size = _size(problem, S)
        guess = min(1.0, weight / size) if size > weight else 1.0
        low, high = guess * (1.0 - 1e-9), guess
        if room(low) < 0.0:
            low = 0.0
    for _ in range(52):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if room(middle) >= 0.0 else (low, middle)
        if high - low <= 1e-16 * high:
            break
    return low


def _z(problem: kernel.Problem, v: float, S: Array, hints: Arrays, spare: float) -> tuple[Table, Arrays]:
    """Multipliers z of a quadratic form, raised until ``L z >= S - G`` in exact arithmetic, at the best share."""
    omega, L = problem.omega, problem.omega.L.mid
    target = S - problem.G
    size = np.abs(L) @ np.abs(hints["hint"]) + np.abs(target)
    target = target + (spare + 64.0 * kernel.U) * size
    z, sums = hints["hint"].copy(), L.sum(axis=1)
    for _ in range(60):
        missing = target - L @ z
        short = missing > 0.0
        if not short.any() or (sums[short] <= 0.0).any():
            break
        z = z + (1.0 + 2.0**-40) * float((missing[short] / sums[short]).max())
    square, share = float(z @ (L @ z)), 1.0
    if not problem.table["linear"]:
        share = 0.0 if v <= 0.0 or spare == 1.0 else min(1.0, v / square) if square > 0.0 else 1.0
    table: Table = {"share": str(Fraction(share))}
    if not omega.convex:
        values = np.linalg.eigvalsh(0.5 * (L + L.T))
        lack = max(0.0, -float(values[0])) + _slack(values, float(np.linalg.norm(omega.L.rad)))
        table["lack"] = str(Fraction(lack))
    return table, {"z": share * z}
