r"""Slopes of regularizers as certificate files hold them: found here, and only evaluated by the kernel.

Of what a dual point says, :math:`R(M) \ge v - \langle S, M \rangle`, the share that counts, and a slope
:math:`\Omega(M) \ge \langle P, M \rangle - e` with :math:`P \succeq \theta S - G`, come from eigenvalues in floats,
less what the kernel's own rounding will cost. Of a sum all summands but the last come with slopes, by
:meth:`~convexmetric.regularizers.Regularizer.hints`, which are linear terms for the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg as la

from convexmetric.arrays import Array
from convexmetric.certificates import kernel
from convexmetric.certificates.statement import Arrays, Table
from convexmetric.errors import InputError

__all__ = ["above", "feasible", "shrunk"]

#: How often the range of the best share is halved; what is lost is the square of how wrong it is, but at its largest.
HALVINGS, EXACT = 20, 52
#: What the kernel needs of a matrix that is zero.
SMALLEST = 1e-140
#: Regularizers that grow no faster than a norm, and by how much beyond their ball a dual point is as good as in it.
LINEAR, NEARLY = ("zero", "trace", "frobenius"), 1e-11
#: Parts of the dual point that are given up, one after the other, until the kernel agrees that the rest is feasible.
SPARE = (0.0, *(2.0**-k for k in range(50, 19, -3)))


def feasible(
    problem: kernel.Problem, says: kernel.Minorant, hints: dict[str, Any], upper: Fraction, known: Arrays
) -> tuple[Table, Arrays]:
    """The share of a dual point that counts, and a slope of the regularizer that shows so, as a table and arrays.

    Parameters
    ----------
    problem : kernel.Problem
    says : kernel.Says
        What the dual point says of the risk.
    hints : dict
        ``slopes``: of a sum those of the norms, in their order. ``hint``: of a quadratic form a z with ``L z >= S - G``
        or nearly so.
    upper : Fraction
        A proven upper bound.
    known : dict of arrays
        By :func:`above`.

    Raises
    ------
    InputError
        If nothing is proven.
    """
    why, best = "", None
    for spare in (*SPARE, 1.0):
        # The first that holds loses the least; nothing but zero may be more.
        if best is not None and (best[0] > 0 or spare < 1.0):
            continue
        try:
            share, table, arrays = _Search(problem, says, hints, spare).found()
            given = problem.omega.read(table, kernel.Arrays(arrays | known))
            bound = problem.lower(says, Fraction(share), given, upper)
        except kernel.NotProven as error:
            why = why or str(error)
            continue
        if best is None or bound > best[0]:
            best = bound, {"share": str(Fraction(share)), "regularizer": table}, arrays
    if best is None:
        raise InputError(f"nothing is proven: lower bound: {why}")
    return best[1:]


def shrunk(problem: kernel.Problem, says: kernel.Minorant, hints: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """By what to multiply slopes of a risk that may be negative, of which no share counts, to make them feasible.

    And hints with the slopes of norms that belong to that.
    """
    search = _Search(problem, says, hints, 0.0)
    if problem.risk.nonnegative or search.kind not in (*LINEAR, "budget"):
        return 1.0, hints
    if search.kind == "budget":
        beside = replace(search.dual, G=sum(search.given, search.dual.G))

        def holds(share: float) -> bool:
            return search.multiplier(beside.at(share)) <= search.most

        return (1.0 if holds(1.0) else (1.0 - 1e-12) * _last(holds, 0.0, 1.0, EXACT)), hints
    search.whole, search.dual.v = False, 1.0
    share, slopes = search.of_norms()[:2]
    return share, hints | {"slopes": slopes}


def above(omega: Any, M: Array) -> tuple[Any, Arrays]:
    """What the value of a regularizer at a metric is shown by, and its arrays: matrices above, of trace norms."""
    if omega.kind == "sum":
        each = [above(part, M) for part in omega.parts]
        return [given for given, _ in each], _named([arrays for _, arrays in each])
    if omega.kind != "trace norm" or M.ndim == 1:
        return None, {}
    X = M if omega.prior is None else M - omega.prior
    spare = 4.0 * (_slack(_spectrum(X)) + _slack(_spectrum(M))) + SMALLEST
    N = _positive(X) + spare * np.eye(len(M))
    return (None, N), {"above": N}


def _named(each: list[Arrays]) -> Arrays:
    return {kernel.TERM.format(k) + name: array for k, arrays in enumerate(each) for name, array in arrays.items()}


@dataclass
class _Dual:
    """A dual point for the last summand: ``v`` and S, the linear term with slopes of norms, and how much S may err."""

    v: float
    S: Array
    G: Array
    rad: Array

    @property
    def error(self) -> float:
        """The norm of what S may err by."""
        return float(np.linalg.norm(self.rad))

    def at(self, share: float) -> Array:
        """``share S - G``."""
        return share * self.S - self.G


class _Search:
    """Share and slope, less a spare part of the best one; of a spare part of one nothing is left but zero."""

    def __init__(self, problem: kernel.Problem, says: kernel.Minorant, hints: dict[str, Any], spare: float) -> None:
        self.cone, self.spare, self.hints = problem.cone, spare, hints
        self.whole = not problem.risk.nonnegative
        parts = problem.omega.parts if problem.omega.kind == "sum" else [problem.omega]
        slopes = hints.get("slopes", [])
        self.outer: list[Any] = parts[: len(slopes)]
        self.base: Any = parts[len(slopes)] if len(parts) > len(slopes) else None
        self.given = [self.within(part, Y) for part, Y in zip(self.outer, slopes, strict=True)]
        S = says.S.mid
        if not np.isfinite(S).all():
            self.spare, S = 1.0, np.zeros_like(S)
        rad = np.broadcast_to(says.S.rad, S.shape)
        G = np.zeros_like(S) if problem.G is None else problem.G
        self.dual = _Dual(float(says.value.lower()), self.inside(S), self.inside(G), self.inside(rad))

    @property
    def kind(self) -> str:
        return "zero" if self.base is None else str(self.base.kind)

    @property
    def weight(self) -> float:
        """Weight of the last summand, or just below it."""
        return 0.0 if self.base is None else _below(self.base.weight.lower())

    @property
    def prior(self) -> Any:
        """Prior of the last summand, or zero."""
        return 0.0 if self.base.prior is None else self.inside(self.base.prior)

    def size(self, values: Array) -> float:
        """Size that must be at most the weight, from eigenvalues or a diagonal."""
        return float(np.linalg.norm(np.maximum(values, 0.0)) if self.kind == "frobenius" else values.max())

    def found(self) -> tuple[float, Table, Arrays]:
        """The share, parameters, and arrays."""
        share, norms, table, arrays = self.of_norms()
        slopes: list[Arrays] = [{"slope": Y} for Y in norms]
        if self.base is not None:
            slopes.append(arrays)
        if len(slopes) == 1:
            return share, table, slopes[0]
        tables: list[Table] = [{} for _ in norms] + ([] if self.base is None else [table])
        return share, {"summands": tables}, _named(slopes)

    def of_norms(self) -> tuple[float, list[Array], Table, Arrays]:
        """The share, slopes of the norms, and parameters and arrays of the last summand.

        Where that is finite on a ball only, S and the slopes Y are shrunk together, and multiples of I that are slopes,
        too, take the place of what Y loses: ``t (S - Y) <= G + (1 - t) r I`` holds for t = 0, if any does.
        """
        dual, norms = self.dual, self.given
        beside = _Dual(dual.v, dual.S, sum(norms, dual.G), dual.rad)
        if self.whole or not norms or self.kind not in LINEAR:
            share, table, arrays = self.of_base(beside)
            return share, norms, table, arrays
        start = self.start(beside)
        radii = [self.radius(part) * (self.spare < 1.0) for part in self.outer]
        room = sum(radii) * (np.ones(self.cone.d) if self.cone.diagonal else np.eye(self.cone.d))
        share, table, arrays = self.of_base(
            _Dual(dual.v, start * dual.S - sum(norms, -room), dual.G + room, start * dual.rad)
        )
        parts = zip(self.outer, norms, radii, strict=True)
        identity = room / max(sum(radii), np.finfo(float).tiny)
        norms = [self.within(part, share * Y + (1.0 - share) * radius * identity) for part, Y, radius in parts]
        return share * start, norms, table, arrays

    def start(self, dual: _Dual) -> float:
        """About the best share of S beside slopes as they are."""
        scale = np.abs(dual.S).max() + np.abs(dual.G).max()

        def excess(share: float) -> float:
            return max(0.0, self.size(_spectrum(dual.at(share))) - self.weight)

        if excess(1.0) <= NEARLY * scale:
            return 1.0
        steep = abs(dual.v) / (NEARLY * scale)
        return _largest(lambda share: share * dual.v - steep * excess(share))

    def of_base(self, dual: _Dual) -> tuple[float, Table, Arrays]:
        """Share, parameters and arrays of the last summand."""
        if self.kind == "quadratic form":
            return self.quadratic_form(dual)
        if self.kind == "budget":
            return self.budget(dual)
        if self.whole:
            share = 1.0
        elif self.kind in ("squared frobenius", "log det"):
            share = self.best_share(dual) * (1.0 - self.spare)
        else:
            share = self.max_dual_scaling(dual) * (1.0 - self.spare)
        if self.kind == "log det":
            return share, {}, {"root": self.root(dual, share)}
        if self.kind not in ("frobenius", "squared frobenius"):
            return share, {}, {}
        A = dual.at(share)
        around = self.prior + A / self.weight
        size = self.slack(_spectrum(A), share * dual.error) / self.weight
        size += 0.0 if self.base.prior is None else self.slack(_spectrum(around), 0.0)
        # Raised before the negative part is cut off: where that is far below zero, nothing of the slack is left.
        raised = around + size * (1.0 if self.cone.diagonal else np.eye(self.cone.d))
        return share, {}, {"slope": self.weight * (_positive(raised) - self.prior)}

    # Shares -----------------------------------------------------------------------------------------------------------

    def best_share(self, dual: _Dual) -> float:
        """About where the bound, which is concave in the share, is largest: ``v = <S, M>`` at the metric there."""
        square = float(np.sum(np.square(_positive(dual.S)))) if self.kind == "squared frobenius" else 0.0
        if square and not dual.G.any() and self.base.prior is None:
            return min(1.0, max(0.0, dual.v) * self.weight / square)

        def rising(share: float) -> bool:
            A = dual.at(share)
            if self.kind == "log det":
                Q = self.below_root(A)
                values, vectors = np.linalg.eigh(Q) if A.ndim == 2 else (Q, None)
                if not values.min() > 0.0:
                    return False
                along = dual.S if vectors is None else ((dual.S @ vectors) * vectors).sum(axis=0)
                return bool(dual.v >= float((along / values).sum()))
            return bool(dual.v >= float((dual.S * _positive(self.prior + A / self.weight)).sum()))

        return 1.0 if rising(1.0) else _last(rising, 0.0, 1.0, HALVINGS)

    def max_dual_scaling(self, dual: _Dual) -> float:
        """About the largest feasible share, less what the kernel's rounding costs."""
        linear, weight = dual.G.any(), self.weight * (1.0 - self.spare)
        if (dual.v <= 0.0 and not linear) or self.spare == 1.0:
            return 0.0
        own = None if linear else _spectrum(dual.S)

        def room(share: float) -> bool:
            values = share * own if own is not None else _spectrum(dual.at(share))
            if self.kind == "frobenius":
                size = np.linalg.norm(np.maximum(values + self.slack(values, share * dual.error), 0.0))
                return bool(size * (1.0 + 4.0 * kernel.U * (len(values) ** 2 + 16.0)) <= weight)
            if values.max() + self.slack(weight - values, share * dual.error) <= weight:
                return True
            if self.cone.diagonal:
                return False
            # The kernel may see what norms of errors hide: a small part of the matrix, known well.
            least = weight * np.eye(self.cone.d)
            sizes = least + np.abs(share * dual.S) + np.abs(dual.G)
            try:
                kernel.semidefinite(kernel.Ball(least - dual.at(share), share * dual.rad + 4.0 * kernel.U * sizes), "")
            except kernel.NotProven:
                return False
            return True

        if room(1.0):
            return 1.0
        low, high = 0.0, 1.0
        if own is not None:
            size = self.size(own)
            high = min(1.0, weight / size) if size > weight else 1.0
            low = high * (1.0 - 1e-9) if room(high * (1.0 - 1e-9)) else 0.0
        return _last(room, low, high, EXACT)

    # Slopes -----------------------------------------------------------------------------------------------------------

    def root(self, dual: _Dual, share: float) -> Array:
        """A triangle T with ``T^T T`` a little below the inverse of the prior less ``(share S - G) / weight``."""
        Q, d = self.below_root(dual.at(share)), self.cone.d
        if self.cone.diagonal:
            sizes = (np.abs(share * dual.S) + np.abs(dual.G) + 2.0 * dual.error / kernel.U) / self.weight
            below = (self.spare + 32.0 * kernel.U) * (sizes + np.abs(Q))
            return np.maximum(Q - below, np.finfo(float).tiny)
        values = _spectrum(Q)
        size = np.abs(values).sum() + np.square(self.base.prior_root).sum()
        less = _slack(np.full(d, size), dual.error / self.weight)
        less += min(self.spare, 0.5) * max(0.0, float(values.min()))
        try:
            return np.ascontiguousarray(np.linalg.cholesky(Q - less * np.eye(d)).T)
        except np.linalg.LinAlgError:
            raise kernel.NotProven("the linear term less the dual matrix is not positive definite") from None

    def below_root(self, A: Array) -> Array:
        """What the square of a root must be below."""
        root = self.base.prior_root
        return (root if self.cone.diagonal else root.T @ root) - A / self.weight

    def budget(self, dual: _Dual) -> tuple[float, Table, Arrays]:
        """The least multiplier t with ``t A >= share S - G``, and the share with the best bound."""
        A, limit = self.inside(self.base.A), float(self.base.limit)

        def bound(share: float) -> float:
            t = self.multiplier(dual.at(share))
            return share * dual.v - t * limit if t <= self.most else -np.inf

        share = 1.0 if self.whole else _largest(bound) * (1.0 - self.spare)
        left = dual.at(share)
        t = self.multiplier(left) * (1.0 + self.spare)
        t += self.slack(np.append(_spectrum(left), t * _spectrum(A)), dual.error) / float(_spectrum(A).min())
        return share, {"multiplier": str(Fraction(min(t, self.most)))}, {}

    @property
    def most(self) -> float:
        """What the multiplier of a budget is at most."""
        return np.inf if self.base.most is None else _below(self.base.most)

    def multiplier(self, left: Array) -> float:
        """The least t with ``t A >= left``."""
        A = self.inside(self.base.A)
        if not _spectrum(A).min() > 0.0:
            raise kernel.NotProven("the matrix of the budget is not positive definite")
        return max(0.0, float((left / A if left.ndim == 1 else la.eigh(left, A, eigvals_only=True)).max()))

    def quadratic_form(self, dual: _Dual) -> tuple[float, Table, Arrays]:
        """Multipliers z, raised until ``L z >= S - G`` in exact arithmetic, at the best share."""
        omega: Any = self.base
        L, hint, target = omega.L.mid, self.hints["hint"], dual.at(1.0)
        target = target + (self.spare + 64.0 * kernel.U) * (np.abs(L) @ np.abs(hint) + np.abs(target))
        z, sums = hint.copy(), L.sum(axis=1)
        for _ in range(60):
            missing = target - L @ z
            short = missing > 0.0
            if not short.any() or (sums[short] <= 0.0).any():
                break
            z = z + (1.0 + 2.0**-40) * float((missing[short] / sums[short]).max())
        square, share, v = float(z @ (L @ z)), 1.0, dual.v
        if not dual.G.any():
            share = 0.0 if v <= 0.0 or self.spare == 1.0 else min(1.0, v / square) if square > 0.0 else 1.0
        table: Table = {}
        if not omega.convex:
            values = np.linalg.eigvalsh(0.5 * (L + L.T))
            lack = max(0.0, -float(values[0])) + _slack(values, float(np.linalg.norm(omega.L.rad)))
            table["lack"] = str(Fraction(lack))
        return share, table, {"z": share * z}

    def radius(self, part: Any) -> float:
        """The largest multiple of the identity among the slopes of a norm, or nearly."""
        if part.kind == "entrywise" and not part.counts.diagonal().all():
            return 0.0
        weight = _below(part.weight.lower())
        return (1.0 - 1e-12) * weight / (np.sqrt(self.cone.d) if part.kind == "frobenius" else 1.0)

    def within(self, part: Any, Y: Array) -> Array:
        """A slope in the ball of the dual norm."""
        weight, d = _below(part.weight.lower()), self.cone.d
        Y = self.inside(Y if Y.ndim == 1 else 0.5 * (Y + Y.T))
        if part.kind == "entrywise":
            return np.clip(Y, -weight, weight) * part.counts
        if part.kind == "frobenius":
            most, size = weight * (1.0 - 8.0 * kernel.U * (Y.size + 16.0)), float(np.linalg.norm(Y))
            return Y if size <= most else most / size * Y
        most = weight * (1.0 - (0.0 if self.cone.diagonal else 40.0 * kernel.U * (d + 8.0) * np.sqrt(d)))
        return Y if np.abs(_spectrum(Y)).max() <= most else _mapped(Y, lambda e: np.clip(e, -most, most))

    def inside(self, A: Array) -> Array:
        """The matrix with zeros between blocks."""
        blocks = self.cone.blocks
        return A if blocks is None else np.where(blocks[:, None] == blocks, A, 0.0)

    def slack(self, values: Any, rad: float) -> float:
        """What the kernel needs to see that a matrix about as large as one with these eigenvalues is semidefinite."""
        if self.cone.diagonal:
            return 8.0 * kernel.U * float(np.abs(values).max()) + 2.0 * rad + np.finfo(float).tiny
        return _slack(values, rad)


def _slack(values: Any, rad: float = 0.0) -> float:
    """The same of a full matrix."""
    return 10.0 * (len(values) + 8.0) * kernel.U * float(np.linalg.norm(values)) + 1.25 * rad


def _below(weight: Fraction) -> float:
    """The largest float that is not above it."""
    near = float(weight)
    return near if Fraction(near) <= weight else float(np.nextafter(near, 0.0))


def _spectrum(A: Array) -> Any:
    """Eigenvalues of a matrix, or the entries of a diagonal."""
    return A if A.ndim == 1 else np.linalg.eigvalsh(0.5 * (A + A.T))


def _mapped(A: Array, of: Callable[[Array], Array]) -> Array:
    """The matrix with other eigenvalues, exactly symmetric; or the diagonal."""
    if A.ndim == 1:
        return of(A)
    values, vectors = np.linalg.eigh(0.5 * (A + A.T))
    made = (vectors * of(values)) @ vectors.T
    return np.asarray(0.5 * (made + made.T))


def _positive(A: Array) -> Array:
    """The nearest matrix or diagonal without negative eigenvalues."""
    return _mapped(A, lambda e: np.maximum(e, 0.0))


def _last(holds: Callable[[float], bool], low: float, high: float, halvings: int) -> float:
    """About the largest number at which something holds that holds at ``low`` and not at ``high``."""
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
        if high - low <= 1e-16 * high:
            break
    return low


def _largest(of: Callable[[float], float]) -> float:
    """About where a concave function on [0, 1] is largest, by the golden section."""
    low, high, part = 0.0, 1.0, 0.5 * (np.sqrt(5.0) - 1.0)
    for _ in range(60):
        first, second = high - part * (high - low), low + part * (high - low)
        low, high = (first, high) if of(second) > of(first) else (low, second)
    return max((0.0, low, high, 1.0), key=of)
