"""Risks with a part for every query of some rankings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.comparisons import Block, Rankings
from convexmetric.comparisons.rankings import BLOCK_BYTES
from convexmetric.described import Described
from convexmetric.numerics.threads import blas_threads_for, side_by_side
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.risks.base import Cuts, FactoredCuts, Minorant, Risk, RiskStatement, SmoothRisk, Violation
from convexmetric.risks.dual_points import SmoothedPairs
from convexmetric.risks.separable import SeparableRisk


class QueryRisk(Risk):
    """A sum over queries of nonnegative losses of how their items are ranked."""

    form_words: ClassVar[str] = "a sum over the queries of rankings"
    nonnegative: ClassVar[bool] = True
    part_kind: ClassVar[str] = "query"

    rankings: Rankings

    @abstractmethod
    def subset(self, parts: np.ndarray, factor: float = 1.0) -> Self:
        """The sum over some of the queries, times a factor."""

    @abstractmethod
    def _planes(self, M: Array, order: np.ndarray, write: bool = True) -> Iterator[tuple[Block, Array, Array]]:
        """Yield blocks of queries, with the value and the offset of the supporting plane of every query at ``M``.

        Distances are overwritten by the coefficients of the normals, if ``write``. The caller multiplies everything by
        ``_factor``.
        """

    #: Factor of the values, offsets and normals of :meth:`_planes`.
    _factor: float = 1.0

    @property
    @abstractmethod
    def _most(self) -> Array:
        """The largest multiplier of a pair of every query."""

    @abstractmethod
    def _pair_loss(self, q: int) -> Callable[[Array], Array]:
        """Loss of a pair of query q, as a term of the risk, as a function of how much farther its negative is."""

    def _blocks(self, M: Array, order: np.ndarray) -> Iterator[Block]:
        """Yield blocks of distances under ``M`` from the queries, in the given order, to their items."""
        rankings = self.rankings
        with blas_threads_for(float(len(rankings)) * self.cone.d * (rankings.X.shape[0] if rankings.dense else 1)):
            yield from rankings.blocks(M, order)

    @property
    def points(self) -> tuple[Any, ...]:
        """Corpus and queries, as point sets."""
        return self.rankings.sets

    @property
    def parts(self) -> int:
        """Number of queries."""
        return len(self.rankings)

    @property
    def distances(self) -> float:
        """Number of distances from the queries to their items."""
        return float(self.rankings.sizes.sum())

    @property
    def pass_memory(self) -> float:
        """Memory of two blocks of distances, and of two images of the points."""
        rankings = self.rankings
        points = sum(points.shape[0] for points in rankings.sets)
        numbers = float(len(rankings)) * rankings.X.shape[0] if rankings.dense else self.distances
        return 2.0 * min(8.0 * numbers, float(BLOCK_BYTES)) + 2.0 * 8.0 * points * rankings.cone.d

    def groups(self, count: int) -> np.ndarray:
        """Keep apart queries whose irrelevant items are not the same, as those of two classes: their cuts differ most.

        The worst rankings of queries that are alike change at the same metrics, so that the sum of their planes loses
        less. If there are too many kinds of queries, those of a group are as near in storage as can be.
        """
        starts, groups, first = self.rankings.relevance.irrelevant_start, np.empty(self.parts, dtype=np.int64), 0
        order = np.argsort(starts, kind="stable")
        ends = np.flatnonzero(np.diff(starts[order])) + 1
        kinds = np.split(order, ends) if len(ends) < count else [order]
        for kind in kinds:
            pieces = min(count // len(kinds), len(kind))
            groups[kind] = first + np.arange(len(kind)) * pieces // len(kind)
            first += pieces
        return groups

    def value(self, M: Array) -> float:
        """One pass over all queries."""
        return float(self.part_values(M).sum())

    def part_values(self, M: Array) -> Array:
        """Values of all queries, in one pass."""
        values = np.empty(self.parts)
        for block, own, _ in self._planes(M, np.arange(self.parts), write=False):
            values[block.queries] = own
        return self._factor * values

    def worst_comparisons(self, parts: np.ndarray, M: Array, other: Array | None = None) -> list[Violation]:
        """The pair of each query whose loss most exceeds that at ``other``; no list of pairs is stored."""
        return [Violation(*self.rankings.worst_pair(int(q), M, other, self._pair_loss(int(q)))) for q in parts]

    def separate(self, M: Array, groups: np.ndarray) -> Cuts:
        """The supporting planes of every query, added up by group: one cut per group."""
        n_groups = int(groups.max()) + 1
        values, offsets, weights = np.zeros((3, n_groups))
        normals = np.zeros((n_groups, *self.cone.shape))
        factor = self._factor
        for block, own, constants in self._planes(M, np.argsort(groups, kind="stable")):
            runs = list(block.runs(groups))
            work = float(len(runs)) * self.rankings.X.shape[0] * self.cone.size
            adjoints = side_by_side(block.adjoint, [run[1:] for run in runs], work)
            for (g, start, stop), adjoint in zip(runs, adjoints, strict=True):
                values[g] += factor * own[start:stop].sum()
                offsets[g] += factor * constants[start:stop].sum()
                normals[g] += factor * adjoint
                weights[g] += factor * block._weight(start, stop)
        return Cuts(values, offsets, self.cone.coordinates(normals), weights)

    @property
    def factored(self) -> Rankings | None:
        """The rankings, if their points are dense and their rows of distances whole."""
        return self.rankings if self.rankings.whole_rows else None

    def separate_factored(self, M: Array, groups: np.ndarray) -> FactoredCuts:
        """Cuts with factors of their normals, made of whole rows of distances."""
        n_groups, X = int(groups.max()) + 1, self.rankings.X
        values, offsets, weights = np.zeros((3, n_groups))
        columns, products = np.zeros((n_groups, X.shape[0])), np.empty((self.parts, X.shape[1]))
        done = 0
        for block, own, constants in self._planes(M, np.argsort(groups, kind="stable")):
            T = block.values.reshape(len(block), -1)
            products[done : done + len(block)] = block.products()
            done += len(block)
            for g, start, stop in block.runs(groups):
                values[g] += own[start:stop].sum()
                offsets[g] += constants[start:stop].sum()
                columns[g] += T[start:stop].sum(axis=0)
                weights[g] += block._weight(start, stop)
        factor = self._factor
        return FactoredCuts(factor * values, factor * offsets, factor * columns, factor * products, factor * weights)

    @abstractmethod
    def listed(self) -> SeparableRisk:
        """Return the risk as losses of all pairs, in a list, or raise an :class:`~convexmetric.errors.InputError`."""

    def statement(self, M: cp.Variable) -> RiskStatement:
        """Write the risk in CVXPY, with one slack or cone, and one constraint, per pair."""
        return self.listed().statement(M)

    def hints(self, dual: Any) -> Described:
        """Witnesses (metrics) at which slopes or rankings are taken.

        Multipliers of listed pairs, ordered by query, positive and negative, are written as exceptions (pairs with
        slopes of their own) at the zero metric; places are positions in the lists.
        """
        if not isinstance(dual, np.ndarray):
            found = dual.hints(self.parts)
            assert isinstance(found, Described)
            return found
        places, slopes, first = [], [], 0
        for q, most in enumerate(self._most):
            positives, start, stop, negatives, begin, end = self.rankings.relevance.lists(np.array([q]))
            order = np.argsort(positives[start[0] : stop[0]]), np.argsort(negatives[begin[0] : end[0]])
            i, j = (part.ravel() for part in np.meshgrid(*order, indexing="ij"))
            places.append(np.column_stack([np.full(i.size, q), i, j]))
            slopes.append(np.clip(dual[first : first + i.size] / most, 0.0, 1.0))
            first += i.size
        zero = SmoothedPairs(self.cone.zeros(), 0.0, np.concatenate(places), np.concatenate(slopes))
        return zero.hints(self.parts)

    def _of_pairs(self, pairs: Iterable[Array]) -> sp.csr_array:
        """Weights of distances, queries x corpus, from those of all pairs, ``(p, n)`` per query, in ascending order."""
        rows: list[np.ndarray] = []
        columns: list[np.ndarray] = []
        values: list[np.ndarray] = []
        for q, own in enumerate(pairs):
            rows.append(np.full(sum(own.shape), q))
            columns += self.rankings.relevance.of(q)
            values += [-own.sum(axis=1), own.sum(axis=0)]
        entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        return sp.csr_array(entries, shape=(self.parts, self.rankings.X.shape[0]))


class SmoothQueryRisk(QueryRisk, SmoothRisk):
    """A sum over queries of losses with two derivatives, whose supporting planes are tangent planes."""

    def tangent(self, M: Array) -> tuple[float, Minorant]:
        """One pass over all queries and one adjoint product."""
        totals, S, weight = np.zeros(2), self.cone.zeros(), 0.0
        for block, values, offsets in self._planes(M, np.arange(self.parts)):
            totals += values.sum(), offsets.sum()
            S = S + block.adjoint(0, len(block))
            weight += float(np.abs(block.values).sum())
        return float(totals[0]), Minorant(float(totals[1]), S, weight)
