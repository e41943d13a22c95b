r"""Hinges over all pairs of labelled points, without ever listing the pairs.

.. math:: R(M) = c_1 \sum_{i < j, \, y_i = y_j} \max(0, \mu_1 + d_M(x_i, x_j))
             + c_{-1} \sum_{i < j, \, y_i \ne y_j} \max(0, \mu_{-1} - d_M(x_i, x_j))

Similar pairs with :math:`\mu_1 \ge 0` cost at any distance: their hinge is linear. A pass takes two matrix products of
the points, a block of rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.comparisons import PairDistances
from convexmetric.comparisons.points import as_points, translated
from convexmetric.cones import Cone
from convexmetric.deadline import until_deadline
from convexmetric.described import Described, OnDemand, description
from convexmetric.losses import BoxLoss
from convexmetric.numerics.compiling import compiled, compiled_in_any_order
from convexmetric.numerics.threads import blas_threads_for, over_rows
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.risks.base import Cuts, Minorant, Risk, RiskStatement, Violation, checked_multipliers, group_sums
from convexmetric.risks.images import ImagePass, ImageRisk
from convexmetric.risks.separable import SeparableRisk, check_stated

#: Rows of a block of distances.
BLOCK = 256
#: Distances of most pairs, in margins, under the metric of :meth:`LabelledPairRisk.apart`.
FAR = 1e9
#: Largest number of pairs that are written out.
PAIRS_LIMIT = 200_000


@dataclass(frozen=True)
class PairHinge:
    """``weight max(0, margin - s)`` with s the squared distance, or minus it.

    Attributes
    ----------
    weight, margin : float
    similar : bool
        Whether s is minus the squared distance.
    """

    weight: float
    margin: float
    similar: bool

    @property
    def sign(self) -> float:
        """Sign of the squared distance in s."""
        return -1.0 if self.similar else 1.0

    @property
    def linear(self) -> bool:
        """Whether the hinge is linear: at least zero at every distance, and never clipped."""
        return self.similar and self.margin >= 0.0

    def described(self) -> Described:
        """Description of the term: loss, weight, margin and sign."""
        return Described({
            "loss": "hinge", "weight": float(self.weight), "margin": float(self.margin), "sign": int(self.sign)
        })  # fmt: skip

    def numbers(self) -> tuple[float, ...]:
        """Weight, margin and sign as arguments of compiled code."""
        return self.sign, self.weight, self.margin, float(self.linear)


class LabelledPairRisk(Risk, ImageRisk):
    """One hinge for all pairs of equal labels, another for all pairs of different ones.

    Parameters
    ----------
    X : (n, d) array
        Points in rows.
    codes : (n,) int array
        Labels as numbers from 0 on.
    same, other : PairHinge
        Hinges of pairs with equal, and with different labels.
    cone : Cone
        Cone of the metric.
    """

    all_pairs: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    part_kind: ClassVar[str] = "point"

    def __init__(self, X: Any, codes: np.ndarray, same: PairHinge, other: PairHinge, cone: Cone) -> None:
        (self.X,) = translated(as_points(X))
        #: Points of a block: in a sample, only pairs within blocks count.
        self.size = len(self.X)
        self.codes = np.ascontiguousarray(codes, dtype=np.int64)
        self.same, self.other, self.cone = same, other, cone

    def described(self) -> Described:
        """Points, labels, and a term of each kind of pair."""
        terms = [description(hinge).table for hinge in (self.same, self.other)]
        return Described({"kind": "all pairs", "terms": terms}, {"points": self.X, "codes": self.codes})

    def _listed(self) -> tuple[np.ndarray, np.ndarray, Array]:
        """Points i < j of all pairs, by i, then j; sign, weight and margin of each, and whether its hinge is linear."""
        i, j = np.triu_indices(self.parts, 1)
        return i, j, self._numbers[(self.codes[i] != self.codes[j]).astype(np.int64)].T

    def hints(self, dual: Any) -> Described:
        """One slope per pair (i, j), i < j: multiplier over weight; 1 where a hinge is linear."""
        return Described({"kind": "slopes"}, {"slopes": OnDemand(partial(self._slopes, dual), 0, self.count)})

    def _slopes(self, dual: Any, first: int, stop: int) -> Array:
        """Slopes of the pairs from ``first`` to ``stop``, by i, then j."""
        numbers, slopes = self._numbers, np.zeros(stop - first)
        starts = np.append(0, np.cumsum(np.arange(self.parts - 1, 0, -1)))
        clipped = None if isinstance(dual, np.ndarray) else dual.clipped()
        witnesses = [] if clipped is None else zip(clipped.witnesses, clipped.weights[:, clipped.groups], strict=True)
        passes = [(P := self.cone.times(self.X, M), np.einsum("ik,ik->i", P, self.X), 0.5 * w) for M, w in witnesses]
        for i in range(int(np.searchsorted(starts, first, "right")) - 1, int(np.searchsorted(starts, stop))):
            low, high = max(first, int(starts[i])), min(stop, int(starts[i + 1]))
            after = slice(i + 1 + low - starts[i], i + 1 + high - starts[i])
            sign, weight, margin, linear = numbers[(self.codes[after] != self.codes[i]).astype(np.int64)].T
            own = slopes[low - first : high - first]
            for P, square, halves in passes:
                d = square[after] + square[i] - 2.0 * (self.X[after] @ P[i])
                own += (halves[after] + halves[i]) * (margin - sign * d > 0.0)
            if clipped is None:
                own[:] = dual[low:high] / weight
            own[linear > 0.0] = 1.0
        return np.clip(slopes, 0.0, 1.0, out=slopes)

    @property
    def points(self) -> tuple[Any, ...]:
        """The only set of points, X."""
        return (self.X,)

    @property
    def lipschitz(self) -> float:
        """Sum of the weights of all pairs, at every metric."""
        same = self._same_count
        return self.same.weight * same + self.other.weight * (self.count - same)

    @property
    def _numbers(self) -> Array:
        return np.array([self.same.numbers(), self.other.numbers()])

    @property
    def _same_count(self) -> float:
        """Number of pairs of equal labels."""
        block = np.arange(self.parts) // self.size
        sizes = np.bincount((self.codes + block * (self.codes.max() + 1)).astype(np.intp)).astype(np.float64)
        return 0.5 * float(sizes @ (sizes - 1.0))

    @property
    def parts(self) -> int:
        """Number of points; the part of a point is half of each of its pairs."""
        return len(self.X)

    @property
    def count(self) -> int:
        """Number of pairs."""
        return self.parts * (self.parts - 1) // 2

    @property
    def distances(self) -> float:
        """One squared distance per pair."""
        return float(self.count)

    #: One slack per pair.
    stated_rows = distances

    @property
    def pass_memory(self) -> float:
        """Memory of six blocks of rows, and of the degrees of 32 groups of pairs."""
        return 8.0 * self.parts * (6.0 * BLOCK + 32.0 + 2.0 * self.cone.d)

    def value(self, M: Array) -> float:
        """One pass over all pairs; no pass at zero, where every hinge costs its margin."""
        if not np.any(M):
            same = self._same_count
            costs = (hinge.weight * max(0.0, hinge.margin) for hinge in (self.same, self.other))
            return float(np.dot([same, self.count - same], list(costs)))
        return sum(float(sums[:, 0].sum()) for *_, sums in self._planes(M, True))

    def part_values(self, M: Array) -> Array:
        """Half of the cost of all pairs of each point: a pair is divided evenly between its two points."""
        return np.concatenate([sums[:, 0] for *_, sums in self._planes(M, False)])

    def worst_comparisons(self, parts: np.ndarray, M: Array, other: Array | None = None) -> list[Violation]:
        """The pair of each point whose loss exceeds most that at ``other``."""
        rows = np.asarray(parts, dtype=np.int64)
        here = self._losses(rows, M, self.cone.quadratic_forms(self.X, M))
        there = np.zeros_like(here)
        if other is not None:
            there = self._losses(rows, other, self.cone.quadratic_forms(self.X, other))
        excess = here - there
        excess[np.arange(rows.size), rows] = -np.inf
        return [
            Violation((int(i), int(j)), float(here[r, j]), float(there[r, j]))
            for r, (i, j) in enumerate(zip(rows, excess.argmax(axis=1), strict=True))
        ]

    def _losses(self, rows: np.ndarray, M: Array, norms: Array) -> Array:
        """Losses of the pairs of some points with all points, ``(len(rows), n)``; zero for a point with itself."""
        distances = norms[rows, None] + norms - 2.0 * self.cone.gram(self.X[rows], M, self.X)
        kinds = (self.codes[rows, None] != self.codes).astype(np.int64)
        sign, weight, margin, linear = (column[kinds] for column in self._numbers.T)
        t = margin - sign * distances
        losses = weight * np.where(linear > 0.0, t, np.maximum(0.0, t))
        losses[np.arange(rows.size), rows] = 0.0
        return losses

    def separate(self, M: Array, groups: np.ndarray) -> Cuts:
        """Supporting planes of groups of points: sums over violated pairs; at most a block of pairs is stored."""
        cone, X, n_groups = self.cone, self.X, int(groups.max()) + 1
        degrees, normals = np.zeros((n_groups, self.parts)), np.zeros((n_groups, *cone.shape))
        sums = np.empty((self.parts, 3))
        for rows, places, block, own in self._planes(M, n_groups == 1):
            sums[rows] = own
            for g in np.unique(groups[rows]).tolist():
                mine = np.flatnonzero(groups[rows] == g)
                T, points = block if n_groups == 1 else block[mine], rows.start + mine
                degrees[g, places] += T.sum(axis=0)
                degrees[g, points] += T.sum(axis=1)
                normals[g] -= 2.0 * cone.cross(X[points], T, X[places])
        for normal, degree in zip(normals, degrees, strict=True):
            normal += cone.outer_sum(X, degree)
        values, offsets, sizes = (group_sums(column, groups, n_groups) for column in sums.T)
        return Cuts(values, offsets, cone.coordinates(normals), sizes)

    def at(self, G: Array, width: float, centre: Array | None = None) -> ImagePass:
        """Evaluate the smoothed risk at images of the points, in one pass."""
        n = self.parts
        sums, weights, counts = np.empty((n, 4)), np.empty((n, self.size)), np.empty(n, dtype=np.int64)
        for rows, block, block_sums, block_counts in self._passes(G, G, width, centre):
            weights[rows], sums[rows], counts[rows] = block, block_sums, block_counts
        start = np.concatenate([[0], np.cumsum(counts)])
        other, curvature = np.empty(start[-1], dtype=np.int64), np.empty(start[-1])
        if start[-1]:
            arguments = weights, self.codes, self._numbers, width, start, other, curvature
            over_rows(_list_kinks, self.parts, weights.size, *arguments)
        value, exact, adding, taking = map(float, sums.sum(axis=0))
        return ImagePass(G, value, exact, (adding, taking), weights, None, start, other, curvature)

    def centre(self, here: ImagePass) -> Array:
        """Slopes of the hinges in single precision, which is enough for centres."""
        codes = self.codes.reshape(-1, self.size)
        alike = (codes[:, :, None] == codes[:, None, :]).reshape(-1, self.size)
        sizes = np.where(alike, self.same.weight, self.other.weight)
        return (np.abs(here.weights) / sizes).astype(np.float32)

    def scaled_multipliers(self, here: ImagePass, share: float) -> Array:
        """Multipliers of pairs (i, j), i < j, ordered by i, then j; those that add to S are scaled by ``share``."""
        weights = here.weights[np.triu_indices(self.parts, 1)]
        return np.where(weights > 0.0, share * weights, -weights)

    def within_scatter(self) -> Array:
        """``X^T Lap(c) X`` over all pairs of equal labels."""
        own = np.bincount(self.codes.astype(np.intp))
        mean = sp.csr_array((1.0 / own[self.codes], (self.codes, np.arange(self.parts)))) @ self.X
        inside = self.X - mean[self.codes]
        return self.same.weight * (inside.T @ (own[self.codes, None] * inside))

    def sampled(self, size: int) -> LabelledPairRisk:
        """Sample the pairs within random blocks of the given number of points, for passes of images.

        Each kind of pairs keeps its total weight; points that do not fill a block are left out.
        """
        rows = np.random.default_rng(0).permutation(self.parts)[: self.parts // size * size]
        sample = LabelledPairRisk(self.X[rows], self.codes[rows], self.same, self.other, self.cone)
        sample.size = size
        same, found = self._same_count, sample._same_count
        shares = same / max(1.0, found), (self.count - same) / max(1.0, 0.5 * len(rows) * (size - 1) - found)
        kinds = zip((self.same, self.other), shares, strict=True)
        sample.same, sample.other = (replace(hinge, weight=share * hinge.weight) for hinge, share in kinds)
        return sample

    def apart(self) -> tuple[Array, Cuts]:
        """A metric under which all points are far apart, and the cut of all pairs there: only equal labels cost."""
        weight = np.array([self.same.weight * self._same_count])
        scale = FAR * self.other.margin / (float(np.square(self.X).max()) or 1.0)
        normal = -self.within_scatter()
        metric, offsets = scale * self.cone.identity(), self.same.margin * weight
        values = offsets - self.cone.inner(metric, normal)
        return metric, Cuts(values, offsets, self.cone.coordinates(normal[None]), weight)

    def listed(self) -> SeparableRisk:
        """Return the risk with all pairs (i, j), i < j, in a list.

        Raises
        ------
        InputError
            If there are too many.
        """
        check_stated(self.count, PAIRS_LIMIT, "pairs")
        i, j, (signs, weights, margins, linear) = self._listed()
        distances = PairDistances(self.X, np.column_stack([i, j]), signs, self.cone)
        return SeparableRisk(distances, BoxLoss.hinge(weights, margins, linear > 0.0))

    def statement(self, M: cp.Variable) -> RiskStatement:
        """Write the risk in CVXPY, with one slack and one constraint per pair."""
        return self.listed().statement(M)

    def minorant(self, dual: Any) -> Minorant | None:
        """Minorant of multipliers in the order of :meth:`listed`, or of weighted cuts."""
        if not isinstance(dual, np.ndarray):
            return super().minorant(dual)
        u = checked_multipliers(dual, self.count, "one a pair (i, j) with i < j")
        if not np.isfinite(u).all():
            return None
        i, j, (sign, weight, margin, linear) = self._listed()
        slopes = np.where(linear > 0.0, weight, np.clip(u, 0.0, weight))
        T = np.zeros((self.parts, self.parts))
        T[i, j] = T[j, i] = sign * slopes
        with blas_threads_for(float(T.size) * self.X.shape[1]):
            S = self.cone.outer_sum(self.X, T.sum(axis=1)) - self.cone.cross(self.X, T, self.X)
        return Minorant(float((margin * slopes).sum()), S, 0.5 * float(np.abs(T).sum()))

    def _planes(self, M: Array, once: bool) -> Iterator[tuple[slice, np.ndarray, Array, Array]]:
        """Yield blocks of pairs: points of rows and of columns, coefficients, and three sums over each row.

        Coefficients are those of the distances in the supporting plane; sums are those of values, of offsets and of
        absolute coefficients. With ``once`` a point has the pairs with the n/2 points that cyclically follow it: every
        pair occurs once. Otherwise it occurs twice, each time with half of its weight.
        """
        n, P = self.parts, self.cone.times(self.X, M)
        norms, after = np.einsum("ik,ik->i", P, self.X), self.parts // 2
        numbers = self._numbers * [1.0, 1.0 if once else 0.5, 1.0, 1.0]
        step = min(BLOCK, n - after)
        with blas_threads_for(float(n) * n * self.X.shape[1]):
            for first in until_deadline(range(0, n, step)):
                rows = slice(first, min(first + step, n))
                places = np.arange(first, rows.stop + after) % n if once else np.arange(n)
                block = P[rows] @ self.X[places].T
                sums = np.empty((len(block), 3))
                of_columns = norms[places], self.codes[places]
                arguments = block, first, norms, self.codes, *of_columns, once, numbers, sums
                over_rows(_exact_hinges, len(block), block.size, *arguments)
                yield rows, places, block, sums

    def _passes(
        self, P: Array, Q: Array, width: float, centre: Array | None = None
    ) -> Iterator[tuple[slice, Array, Array, np.ndarray]]:
        """Yield blocks of rows with weights; for each row smoothed and exact value, two dual values, active pairs.

        Values are halves of those of all pairs of the row. Squared distances are those of the inner products
        ``<p_i, q_j>``.
        """
        n = self.parts
        norms = np.einsum("ik,ik->i", P, Q)
        nothing = np.empty((0, 0), dtype=np.float32)
        with blas_threads_for(float(n) * n * Q.shape[1]):
            size = self.size
            for first in until_deadline(f for base in range(0, n, size) for f in range(base, base + size, BLOCK)):
                near = slice(first // size * size, first // size * size + size)
                rows = slice(first, min(first + BLOCK, near.stop))
                block = P[rows] @ Q[near].T
                sums, counts = np.empty((len(block), 4)), np.empty(len(block), dtype=np.int64)
                before = nothing if centre is None else centre[rows]
                here = block, norms[near], first - near.start, self.codes[near]
                over_rows(_hinges, len(block), block.size, *here, self._numbers, width, before, sums, counts)
                yield rows, block, sums, counts


@compiled_in_any_order
def _exact_hinges(begin, end, block, first, norms, codes, column_norms, column_codes, once, numbers, sums):
    n = norms.size
    sign, weight, margin = numbers[0, 0], numbers[0, 1], numbers[0, 2]
    other_sign, other_weight, other_margin = numbers[1, 0], numbers[1, 1], numbers[1, 2]
    # Linear hinges are never clipped.
    least = -np.inf if numbers[0, 3] > 0.0 else 0.0
    other_least = -np.inf if numbers[1, 3] > 0.0 else 0.0
    for r in range(begin, end):
        i, norm, code = first + r, norms[first + r], codes[first + r]
        low, at, high = 0, i, n
        if once:
            low, at, high = r, r, r + 1 + (n - 1) // 2 + (1 if n % 2 == 0 and 2 * i < n else 0)
        block[r, :low] = 0.0
        block[r, at] = 0.0
        block[r, high:] = 0.0
        value = size = other_size = 0.0
        for start, stop in ((low, at), (at + 1, high)):
            row, squares, kinds = block[r, start:stop], column_norms[start:stop], column_codes[start:stop]
            for c in range(row.size):
                d = norm + squares[c] - 2.0 * row[c]
                t, other_t, alike = margin - sign * d, other_margin - other_sign * d, kinds[c] == code
                u, other_u = weight if t > least else 0.0, other_weight if other_t > other_least else 0.0
                value += weight * max(least, t) if alike else other_weight * max(other_least, other_t)
                size += u if alike else 0.0
                other_size += 0.0 if alike else other_u
                row[c] = sign * u if alike else other_sign * other_u
        sums[r, 0], sums[r, 1], sums[r, 2] = value, margin * size + other_margin * other_size, size + other_size


@compiled
def _hinges(begin, end, block, norms, first, codes, numbers, width, centre, sums, counts):
    for r in range(begin, end):
        i = first + r
        smoothed = exact = adding = taking = 0.0
        kinks = 0
        for j in range(norms.size):
            if j == i:
                block[r, j] = 0.0
                continue
            kind = 0 if codes[i] == codes[j] else 1
            sign, weight, margin = numbers[kind, 0], numbers[kind, 1], numbers[kind, 2]
            t = margin - sign * (norms[i] + norms[j] - 2.0 * block[r, j])
            if numbers[kind, 3] > 0.0:
                a, value, plain = 1.0, t, t
            else:
                plain = max(0.0, t)
                if width > 0.0:
                    middle = 0.5 if centre.size == 0 else np.float64(centre[r, j])
                    a = min(1.0, max(0.0, middle + t / width))
                    value = a * t - 0.5 * width * (a - middle) ** 2
                    if 0.0 < weight * a < weight:
                        kinks += 1
                else:
                    a, value = (1.0 if t > 0.0 else 0.0), plain
            block[r, j] = sign * weight * a
            # Half of the pair: the other half belongs to its other point.
            smoothed += 0.5 * weight * value
            exact += 0.5 * weight * plain
            if sign > 0.0:
                adding += 0.5 * weight * a * margin
            else:
                taking += 0.5 * weight * a * margin
        sums[r, 0], sums[r, 1], sums[r, 2], sums[r, 3] = smoothed, exact, adding, taking
        counts[r] = kinks


@compiled
def _list_kinks(begin, end, weights, codes, numbers, width, start, other, curvature):
    for i in range(begin, end):
        at = start[i]
        base = i // weights.shape[1] * weights.shape[1]
        for k in range(weights.shape[1]):
            j = base + k
            kind = 0 if codes[i] == codes[j] else 1
            size = numbers[kind, 1]
            u = abs(weights[i, k])
            if at < start[i + 1] and j != i and numbers[kind, 3] == 0.0 and 0.0 < u < size:
                other[at] = j
                curvature[at] = size / width
                at += 1
