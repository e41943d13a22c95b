r"""Dual scalings and subgradients of regularizers for certificate files: found here, evaluated by the kernel.

The minorant of a dual point, :math:`R(M) \ge v - \langle S, M \rangle`, is used at a scaling :math:`\theta` with a
subgradient :math:`\Omega(M) \ge \langle P, M \rangle - e` with :math:`P \succeq \theta S - G`. The first summands of a
sum come with theirs, by :meth:`~convexmetric.regularizers.Regularizer.hints`, which are linear terms for the last one;
the search of that (:func:`~convexmetric.certificates.rules.search_of`) finds the scaling and a subgradient.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.certificates import kernel
from convexmetric.certificates.kernel.regularizers import SumRegularizer, Zero
from convexmetric.certificates.rules import Bounded, Dual, Hinted, in_blocks, search_of
from convexmetric.certificates.statement import Arrays, Table, named_by_summand
from convexmetric.errors import InputError
from convexmetric.numerics.searches import last_true

#: Fractions by which the scaling is backed off, tried in this order until the kernel accepts the dual point.
BACKOFFS = (0.0, *(2.0**-k for k in range(50, 19, -3)), 1.0)


def feasible(
    problem: kernel.Problem, says: kernel.Minorant, hints: dict[str, Any], upper: Fraction, known: Arrays
) -> tuple[Table, Arrays]:
    """Scale a dual point and find a subgradient of the regularizer that shows it feasible; as a table and arrays.

    Parameters
    ----------
    problem : kernel.Problem
    says : kernel.Minorant
        Minorant of the risk by the dual point.
    hints : dict
        ``slopes``: the subgradients of the first summands of a sum, in their order. ``hint``: for a quadratic form a z
        with ``L z >= S - G`` or nearly so. ``arrays``, ``parameters``, ``share``: what proves the last summand, where
        that is not to be searched for (:class:`~convexmetric.certificates.rules.Hinted`).
    upper : Fraction
        A proven upper bound.
    known : dict of arrays
        Arrays by :func:`above`.

    Raises
    ------
    InputError
        If nothing is proven.
    """
    if problem.cone.free:
        return _free(problem, says, upper)
    why, best = "", None
    for backoff in BACKOFFS:
        # The first accepted backoff loses the least; where its scaling is zero, only backoff 1 is tried after it.
        if best is not None and (best[0] > 0 or backoff < 1.0):
            continue
        try:
            summands = _Summands(problem, says, hints, backoff, not problem.risk.nonnegative)
            scaling, table, arrays = summands.found()
            given = problem.omega.read(table, kernel.Arrays(arrays | known))
            bound = problem.lower(says, Fraction(scaling), given, upper)
        except kernel.NotProven as error:
            why = why or str(error)
            continue
        if best is None or bound > best[0]:
            best = bound, {"share": str(Fraction(scaling)), "regularizer": table}, arrays
    if best is None:
        raise InputError(f"nothing is proven: lower bound: {why}")
    return best[1:]


def _free(problem: kernel.Problem, says: kernel.Minorant, upper: Fraction) -> tuple[Table, Arrays]:
    """Scale a dual point where matrices are free of a cone, and slopes are what they must be; as :func:`feasible`."""
    best, whole = None, not problem.risk.nonnegative
    # Every look is a proof, with its matrix products: none is spent where all of the dual point counts.
    whole_is_best = whole or _proves(problem, says, 1.0)
    share = 1.0 if whole_is_best else last_true(lambda share: _proves(problem, says, share), 0.0, 1.0)[0]
    tries = [1.0] if whole else [1.0, *(share * (1.0 - backoff) for backoff in BACKOFFS)]
    for scaling in tries:
        with suppress(kernel.NotProven):
            bound = problem.lower(says, Fraction(scaling), None, upper)
            best = max(best or (bound, scaling), (bound, scaling))
    if best is None:
        raise InputError("nothing is proven: the dual point is not feasible")
    return {"share": str(Fraction(best[1])), "regularizer": {}}, {}


def _proves(problem: kernel.Problem, says: kernel.Minorant, share: float) -> bool:
    """Whether a share of a dual point is feasible, and its bound increases with the share."""
    try:
        lower = [problem.lower(says, Fraction(at), None, None) for at in (share, share * (1.0 - 1e-4))]
    except kernel.NotProven:
        return False
    return lower[0] >= lower[1]


def shrunk(problem: kernel.Problem, says: kernel.Minorant, hints: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Factor that makes slopes feasible for a risk that may be negative, whose dual points have no scaling.

    What rules of others store is not known, and stays whole. Also returns the hints with the subgradients of norms
    scaled accordingly.
    """
    whole = isinstance(problem.risk, kernel.OwnRisk)
    if problem.risk.nonnegative or problem.cone.free or whole:
        return 1.0, hints
    summands = _Summands(problem, says, hints, 0.0, whole=False)
    if not isinstance(summands.last, Bounded):
        return summands.last.most(summands.beside), hints
    # A positive v makes the rule look for the largest factor.
    summands.dual = replace(summands.dual, v=1.0)
    scaling, subgradients, _, _ = summands.scaled()
    return scaling, hints | {"slopes": subgradients}


def above(omega: Any, M: Array) -> tuple[Any, Arrays]:
    """Proof of the value of a regularizer at a metric, and its arrays: for trace norms a matrix above M - M0."""
    if not isinstance(omega, SumRegularizer):
        return search_of(omega).above(omega, M)
    each = [above(part, M) for part in omega.parts]
    return [given for given, _ in each], named_by_summand([arrays for _, arrays in each], kernel.TERM)


class _Summands:
    """Rules of all summands: of norms, whose subgradients are given, and of the last summand."""

    def __init__(
        self, problem: kernel.Problem, says: kernel.Minorant, hints: dict[str, Any], backoff: float, whole: bool
    ) -> None:
        S, G, omega, cone = says.S.mid, problem.G, problem.omega, problem.cone
        if not np.isfinite(S).all():
            backoff, S = 1.0, np.zeros_like(S)
        parts, given = omega.parts if isinstance(omega, SumRegularizer) else [omega], hints.get("slopes", [])
        #: Whether there is a summand besides the norms with given subgradients.
        self.more = len(parts) > len(given)
        each = parts if self.more else [*parts, Zero({}, kernel.Arrays({}), cone, None)]
        if len(each) > len(given) + 1:
            raise kernel.NotProven(f"subgradients of all summands but the last must be given: {len(each) - 1} slopes")
        kinds = [search_of(part) for part in each]
        kinds[-1] = Hinted if self.more and "arrays" in hints else kinds[-1]
        rules = [kind(part, cone, backoff, whole, hints) for kind, part in zip(kinds, each, strict=True)]
        self.norms, self.last = rules[:-1], rules[-1]
        #: For every norm an r such that ``r I`` is a subgradient.
        known = zip(self.norms, hints.get("radii", [np.inf] * len(given)), strict=True)
        radii = [min(norm.radius(), r) for norm, r in known]
        self.radii = [r if np.isfinite(r) else 0.0 for r in radii]
        self.subgradients = [norm.given(Y) for norm, Y in zip(self.norms, given, strict=True)]
        G, rad = np.zeros_like(S) if G is None else G, np.broadcast_to(says.S.rad, S.shape)
        self.dual = Dual(float(says.value.lower()), *(in_blocks(cone, A) for A in (S, G, rad)))

    @property
    def beside(self) -> Dual:
        """Dual point for the last summand, with the subgradients of norms as linear terms."""
        return replace(self.dual, G=sum(self.slopes(self.subgradients), self.dual.G))

    def slopes(self, subgradients: list[Array]) -> list[Array]:
        """The matrices P of subgradients of the first summands."""
        return [norm.slope(Y) for norm, Y in zip(self.norms, subgradients, strict=True)]

    def found(self) -> tuple[float, Table, Arrays]:
        """Scaling, and parameters and arrays of all subgradients."""
        scaling, subgradients, table, arrays = self.scaled()
        given = zip(self.norms, subgradients, strict=True)
        each = [norm.stored(Y) for norm, Y in given] + [arrays] * self.more
        if len(each) == 1:
            return scaling, table, each[0]
        tables: list[Table] = [{} for _ in subgradients] + [table] * self.more
        return scaling, {"summands": tables}, named_by_summand(each, kernel.TERM)

    def scaled(self) -> tuple[float, list[Array], Table, Arrays]:
        """Scaling, subgradients of the norms, and parameters and arrays of the last summand.

        Where the last summand's dual points form a ball, S and the Y are scaled together, and multiples of I that are
        subgradients, too, take the place of what Y loses: ``t (S - Y) <= G + (1 - t) r I`` holds for 0, if for any t.
        """
        norms, last = self.subgradients, self.last
        if last.whole or not norms or not isinstance(last, Bounded):
            scaling, table, arrays = last.found(self.beside)
            return scaling, norms, table, arrays
        starts = {last.start(self.beside), 1.0}
        return max((self._together(start) for start in starts), key=lambda found: found[0])

    def _together(self, start: float) -> tuple[float, list[Array], Table, Arrays]:
        """``start`` S and the subgradients scaled together."""
        dual, norms, last = self.dual, self.subgradients, self.last
        radii = [radius * (last.backoff < 1.0) for radius in self.radii]
        room = sum(radii) * (np.ones(last.cone.d) if last.cone.diagonal else np.eye(last.cone.d))
        moved = Dual(dual.v, start * dual.S - sum(self.slopes(norms), -room), dual.G + room, start * dual.rad)
        scaling, table, arrays = last.found(moved)
        identity = room / max(sum(radii), np.finfo(float).tiny)
        scaled = [
            norm.nearest(scaling * Y + (1.0 - scaling) * radius * identity)
            for norm, Y, radius in zip(self.norms, norms, radii, strict=True)
        ]
        return scaling * start, scaled, table, arrays
