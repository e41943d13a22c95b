"""The cuts of a solve: their normals, the metrics they were made at, and which of them are still alive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.risks import CutDual, Cuts, Minorant
from convexmetric.risks.base import FactoredCuts
from convexmetric.solvers.cuts.dual_masters import near_a_prior
from convexmetric.solvers.cuts.factored import SPARE, FactoredRows
from convexmetric.solvers.cuts.master import FIRST, MasterPoint, master_rows, works_in_subspace

#: A cut is alive while its multiplier exceeds this share of its group's. The smaller share applies with many features,
#: or if only the data bound the metric: more cuts are needed then, and steps get short without them.
ALIVE_SHARE, ALIVE_SHARE_MANY = 0.03, 0.01
#: A cut is stored as factors if they have at most this many times the entries of its normal, which takes as long to
#: make as all distances.
FACTORED_SHARE = 2.0


def numbers_of_factors(problem: MetricProblem, n_groups: int) -> float | None:
    """Count the entries of a cut stored as factors and in a basis; None if normals are smaller or masters need them."""
    rankings, d = problem.risk.factored, problem.cone.d
    if rankings is None:
        return None
    numbers = rankings.X.shape[0] + problem.risk.parts * d / n_groups + float(FIRST + SPARE) ** 2
    fewer = works_in_subspace(problem.cone) and numbers <= FACTORED_SHARE * d * d
    return numbers if fewer and problem.quadratic() is not None and not near_a_prior(problem) else None


class Pool:
    """The current cuts, with the metrics they were made at; arrays grow by doubling."""

    @classmethod
    def empty(cls, problem: MetricProblem, n_groups: int) -> Pool:
        """Make a pool without cuts, of at most ``n_groups`` groups, as the risk divides its parts."""
        groups = problem.risk.groups(n_groups)
        return cls(problem, groups, int(groups.max()) + 1)

    @classmethod
    def smallest(cls, problem: MetricProblem, n_groups: int) -> Pool:
        """Make a pool without cuts that stores normals as factors, if these are smaller and masters accept them."""
        pool = cls.empty(problem, n_groups)
        rankings = problem.risk.factored
        if rankings is not None and numbers_of_factors(problem, pool.n_groups) is not None:
            pool.rows = FactoredRows(rankings, pool.groups)
        return pool

    def __init__(self, problem: MetricProblem, groups: np.ndarray, n_groups: int) -> None:
        self.problem = problem
        #: Normals, if they are stored as factors.
        self.rows: FactoredRows | None = None
        many = works_in_subspace(problem.cone) or problem.held_by_data_alone
        self.alive_share = ALIVE_SHARE_MANY if many else ALIVE_SHARE
        self.groups = groups
        self.n_groups = n_groups
        #: Cuts at zero of a risk that may be negative; they are subtracted from all others.
        self.base = None if problem.risk.nonnegative else problem.risk.separate(problem.cone.zeros(), groups)
        self.count = 0
        self._normals = np.empty((0, 0))
        self.offsets = np.empty(0)
        #: Sum of the absolute coefficients of squared distances in every cut.
        self.sizes = np.empty(0)
        self.group = np.empty(0, dtype=np.int64)
        #: Index of every cut's metric in ``metrics``, a list that is replaced and never modified: dual points share it.
        self.witness = np.empty(0, dtype=np.int64)
        self.metrics: list[Array] = []
        self.age = np.empty(0, dtype=np.int64)

    @property
    def normals(self) -> Any:
        """Normals of the current cuts, as masters take them."""
        return self._normals[: self.count] if self.rows is None else self.rows

    def separate(self, metric: Array) -> Cuts | FactoredCuts:
        """Make a cut for every group at a metric."""
        risk = self.problem.risk
        return (risk.separate if self.rows is None else risk.separate_factored)(metric, self.groups)

    def total(self, cuts: Cuts | FactoredCuts) -> Array:
        """Sum of the normals of all groups."""
        if isinstance(cuts, Cuts):
            return self.problem.cone.from_coordinates(cuts.normals.sum(axis=0))
        assert self.rows is not None, "factors are made for rows of factors"
        return self.rows.normal(cuts.columns.sum(axis=0), cuts.products)

    def add(self, metric: Array, cuts: Cuts | FactoredCuts) -> None:
        """Add one cut for every group."""
        if isinstance(cuts, Cuts):
            self._add_normals(cuts)
        elif self.rows is not None:
            self.rows.add(cuts)
        self.count += self.n_groups
        offsets = cuts.offsets if self.base is None else cuts.offsets - self.base.offsets
        self.offsets = np.append(self.offsets, offsets)
        self.sizes = np.append(self.sizes, cuts.weights)
        self.group = np.append(self.group, np.arange(self.n_groups))
        self.witness = np.append(self.witness, np.full(self.n_groups, len(self.metrics)))
        self.metrics = [*self.metrics, metric]
        self.age = np.append(self.age, np.zeros(self.n_groups, dtype=np.int64))

    def _add_normals(self, cuts: Cuts) -> None:
        if self.base is not None:
            cuts = replace(cuts, normals=cuts.normals - self.base.normals)
        normals = master_rows(self.problem.cone, cuts.normals)
        if self.count + self.n_groups > len(self._normals):
            larger = np.empty((2 * self.count + 4 * self.n_groups, normals.shape[1]))
            if self.count:
                larger[: self.count] = self.normals
            self._normals = larger
        self._normals[self.count : self.count + self.n_groups] = normals

    def scale(self, problem: MetricProblem, factor: float) -> None:
        """Switch to a problem whose risk is ``factor`` times this one's: every cut stays valid after scaling.

        Only cuts alive in the last master are kept; the others are cheaper to find again than to carry along.
        """
        self.drop(1)
        self.problem = problem
        if self.rows is None:
            self._normals[: self.count] *= factor
        else:
            self.rows.scale(factor)
        self.offsets *= factor
        self.sizes *= factor
        if self.base is not None:
            values, offsets, normals = self.base.values, self.base.offsets, self.base.normals
            self.base = Cuts(factor * values, factor * offsets, factor * normals)
        self.age[:] = 0

    @property
    def base_value(self) -> float:
        """Value at the metric zero of the cuts made there."""
        return 0.0 if self.base is None else float(self.base.offsets.sum())

    @property
    def above(self) -> MetricProblem:
        """Problem that masters solve: the problem itself, or that of the risk less its cuts at zero."""
        if self.base is None:
            return self.problem
        cone, problem = self.problem.cone, self.problem
        G = cone.zeros() if problem.G is None else problem.G
        return Above(problem.risk, problem.regularizer, G - cone.from_coordinates(self.base.normals.sum(axis=0)))

    def bound(self, outcome: MasterPoint) -> tuple[Minorant, float]:
        """Return the minorant given by the weighted cuts of a master, and the lower bound that it proves."""
        point, a = outcome.sums, outcome.a
        if self.base is None:
            size = float(np.abs(self.offsets) @ a)
            return replace(point, weight=float(self.sizes @ a), size=size), outcome.lower_bound
        S = point.S + self.problem.cone.from_coordinates(self.base.normals.sum(axis=0))
        point = Minorant(point.value + self.base_value, S)
        return point, self.problem.bound(point.value, point.S, outcome.M)

    def weigh(self, multipliers: Array) -> None:
        """Update the ages: in how many masters in a row a cut had a small share of the multipliers of its group."""
        alive = multipliers > self.alive_share * np.bincount(self.group, multipliers)[self.group]
        self.age = np.where(alive, 0, self.age + 1)

    def weighted(self, weights: Array) -> Callable[[], CutDual]:
        """Return a factory of the dual point that weights the current cuts."""
        used = np.flatnonzero(weights)
        places, rows = np.unique(self.witness[used], return_inverse=True)
        columns, weights, metrics = self.group[used], weights[used], self.metrics

        def make() -> CutDual:
            table = np.zeros((len(places), self.n_groups))
            table[rows, columns] = weights
            points = [metrics[place] for place in places]
            if self.base is not None:
                # The weights of a group sum to 1: the remainder goes to its cut at zero.
                table = np.vstack([table, np.maximum(0.0, 1.0 - table.sum(axis=0))])
                points.append(self.problem.cone.zeros())
            return CutDual(np.array(points).reshape(-1, *self.problem.cone.shape), table, self.groups)

        return make

    def state(self, metric: Array, alpha: float) -> dict[str, np.ndarray]:
        """Return the arrays of a checkpoint: metrics, groups and ages of the cuts, the next metric and alpha."""
        return {
            "witnesses": np.array(self.metrics).reshape(-1, *self.problem.cone.shape),
            "witness": self.witness,
            "group": self.group,
            "age": self.age,
            "groups": self.groups,
            "next": metric,
            "alpha": np.array(alpha),
        }

    @property
    def shapes(self) -> dict[str, tuple[int | None, ...] | None]:
        """Shapes of the arrays of :meth:`state`."""
        shape = self.problem.cone.shape
        rows = dict.fromkeys(("witness", "group", "age", "groups"), (None,))
        return {**rows, "witnesses": (None, *shape), "next": shape, "alpha": None}

    def restore(self, state: Mapping[str, np.ndarray]) -> tuple[Array, float]:
        """Recompute the cuts at their metrics; returns the next metric and alpha.

        Raises
        ------
        InputError
            If the state is that of a solve with other groups, or its parts do not fit together.
        """
        witness, group, age = state["witness"], state["group"], state["age"]
        if not np.array_equal(state["groups"], self.groups):
            raise InputError("the checkpoint has other groups of queries; solve with the version and settings it is of")
        if not len(witness) == len(group) == len(age) or group.max(initial=0) >= self.n_groups:
            raise InputError("the checkpoint's cuts do not fit together; remove it to start again")
        for t, M in enumerate(state["witnesses"]):
            self.add(M, self.separate(self.problem.metric(M)))
            mine = witness == t
            lived = np.full(self.n_groups, np.iinfo(np.int64).max)
            lived[group[mine]] = age[mine]
            self.age[-self.n_groups :] = lived
            self.drop(np.iinfo(np.int64).max)
        return self.problem.cone.project(self.problem.metric(state["next"])), float(state["alpha"])

    def drop(self, age: int) -> None:
        """Remove cuts that were not alive in the last ``age`` masters, and metrics without cuts."""
        kept = np.flatnonzero(self.age < age)
        count = len(kept)
        if count == self.count:
            return
        # Normals are large: the last ones move into the holes, the others stay.
        order = np.arange(count)
        holes = np.setdiff1d(order, kept, assume_unique=True)
        order[holes] = kept[count - len(holes) :]
        if self.rows is None:
            self._normals[holes] = self._normals[order[holes]]
        else:
            self.rows.take(order)
        self.count = count
        self.offsets, self.sizes, self.group = self.offsets[order], self.sizes[order], self.group[order]
        self.witness, self.age = self.witness[order], self.age[order]
        places, self.witness = np.unique(self.witness, return_inverse=True)
        self.metrics = [self.metrics[place] for place in places]


class Above(MetricProblem):
    """Problem of a risk less its cuts at zero, which is nonnegative though the risk may not be."""

    def _bound(self, value: float, S: Array, hint: Array) -> float:
        return self.regularizer.bound(value, S, self.G, self.cone, hint)
