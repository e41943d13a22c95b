"""Searches of norms: of the Frobenius norm and its square, trace norms, entries and rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.certificates import kernel
from convexmetric.certificates.rules import base
from convexmetric.certificates.statement import Arrays, Table
from convexmetric.described import symmetric
from convexmetric.regularizers.base import of_eigenvalues

#: Most steps in the search for rows in a ball with a given symmetric part.
TURNS = 3000


class Euclidean(base.Rule):
    """Base of the rules of a Frobenius norm and its square: the smallest subgradient above ``scaling S - G``."""

    @property
    def prior(self) -> Any:
        """The prior, or zero if there is none."""
        return 0.0 if self.omega.prior is None else base.in_blocks(self.cone, self.omega.prior)

    def subgradient(self, dual: base.Dual, scaling: float) -> tuple[Table, Arrays]:
        """Smallest subgradient above ``scaling S - G``, raised by the slack: a positive part, less the prior."""
        A = dual.at(scaling)
        free = self.prior + A / self.weight
        slack = self.slack(base.spectrum(A), scaling * dual.error) / self.weight
        slack += 0.0 if self.omega.prior is None else self.slack(base.spectrum(free), 0.0)
        # The slack is added before the negative part is cut off, so that eigenvalues far below zero still become zero.
        raised = free + slack * (1.0 if self.cone.diagonal else np.eye(self.cone.d))
        return {}, {"slope": self.weight * (base.positive_part(raised) - self.prior)}


class Frobenius(Euclidean, base.Bounded):
    """Dual scaling and subgradient of a norm, backed off so that the checker's rounding accepts them."""

    def size(self, values: Array) -> float:
        """Frobenius norm of the positive part."""
        return float(np.linalg.norm(np.maximum(values, 0.0)))

    def fits(self, dual: base.Dual, scaling: float, values: Array, weight: float) -> bool:
        """Whether the norm of the subgradient is at most the weight."""
        size = np.linalg.norm(np.maximum(values + self.slack(values, scaling * dual.error), 0.0))
        return bool(size * (1.0 + 4.0 * kernel.U * (len(values) ** 2 + 16.0)) <= weight)

    def into_ball(self, Y: Array) -> Array:
        """Scale Y down if its norm is above the weight."""
        most, size = self.weight * (1.0 - 8.0 * kernel.U * (Y.size + 16.0)), float(np.linalg.norm(Y))
        return Y if size <= most else most / size * Y

    def radius(self) -> float:
        """Largest r, or nearly, such that ``r I`` is a subgradient: the weight over the root of d."""
        return super().radius() / np.sqrt(self.cone.d)


class SquaredFrobenius(Euclidean):
    """Dual scaling and subgradient of a squared norm, backed off so that the checker's rounding accepts them."""

    def scaling(self, dual: base.Dual) -> float:
        """Scaling that maximises the concave bound, approximately: ``v = <S, M>`` at the metric M of that scaling."""
        square = float(np.sum(np.square(base.positive_part(dual.S))))
        if square and not dual.G.any() and self.omega.prior is None:
            return min(1.0, max(0.0, dual.v) * self.weight / square)

        def rising(scaling: float) -> bool:
            M = base.positive_part(self.prior + dual.at(scaling) / self.weight)
            return bool(dual.v >= float((dual.S * M).sum()))

        return base.best(rising)


class TraceNorm(base.Rule):
    """Subgradient of a trace norm, backed off so that the checker's rounding accepts it."""

    def into_ball(self, Y: Array) -> Array:
        """Clip eigenvalues at the weight."""
        d = self.cone.d
        most = self.weight * (1.0 - (0.0 if self.cone.diagonal else 40.0 * kernel.U * (d + 8.0) * np.sqrt(d)))
        if np.abs(base.spectrum(Y)).max() <= most:
            return Y
        return of_eigenvalues(symmetric(Y), lambda e: np.clip(e, -most, most))

    @staticmethod
    def above(omega: Any, M: Array) -> tuple[Any, Arrays]:
        """Matrix above both zero and the difference to the prior: its positive part, raised by the slack.

        For all matrices, which have no order, two factors of the difference.
        """
        X = M if omega.prior is None else M - omega.prior
        if omega.cone.free:
            left, values, right = np.linalg.svd(X, full_matrices=False)
            factors = left * np.sqrt(values), right.T * np.sqrt(values)
            return factors, {"left": factors[0], "right": factors[1]}
        if M.ndim == 1:
            return None, {}
        slack = 4.0 * (base.of_matrix(base.spectrum(X)) + base.of_matrix(base.spectrum(M))) + base.SMALLEST
        N = base.positive_part(X) + slack * np.eye(len(M))
        return (None, N), {"above": N}


class Entrywise(base.Rule):
    """Subgradient of an entrywise 1-norm, backed off so that the checker's rounding accepts it."""

    def into_ball(self, Y: Array) -> Array:
        """Clip entries at the weight, and set those that do not count to zero."""
        return np.asarray(np.clip(Y, -self.weight, self.weight) * self.omega.counts)

    def radius(self) -> float:
        """Largest r such that ``r I`` is a subgradient; zero where the diagonal does not count."""
        return super().radius() if self.omega.counts.diagonal().all() else 0.0


class RowNorms(base.Rule):
    """Subgradient of a sum of norms of rows: the symmetric part of a matrix Q."""

    def nearest(self, Y: Array) -> Array:
        """Q in the ball whose symmetric part is near that of Y, by accelerated projected gradient steps."""
        wanted, at = symmetric(base.in_blocks(self.cone, Y)), base.in_blocks(self.cone, Y)
        Q = self.into_ball(at)
        for turn in range(TURNS):
            before, Q = Q, self.into_ball(at + wanted - symmetric(at))
            at = Q + turn / (turn + 3.0) * (Q - before)
            if np.abs(wanted - symmetric(Q)).max() <= 4.0 * kernel.U * self.weight:
                break
        return Q

    def into_ball(self, Y: Array) -> Array:
        """Scale rows down whose norm is above the weight."""
        most = self.weight * (1.0 - 8.0 * kernel.U * (len(Y) + 16.0))
        return np.asarray(Y * np.minimum(1.0, most / np.maximum(np.linalg.norm(Y, axis=1), most))[:, None])

    def slope(self, Y: Array) -> Array:
        """The symmetric part."""
        return symmetric(Y)
