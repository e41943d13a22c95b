r"""Sharded risks: sums of terms whose data are in files, each evaluated by a task.

.. math:: R(M) = \sum_s R_s(M), \qquad R_g(M) \ge \sum_s b_{s g} - \Big\langle \sum_s \Psi_{s g}, M \Big\rangle

Values, supporting planes, smoothed hinges and minorants of dual points are sums over shards, and so are bounds on
their rounding. No part is negative, so that a sum without some shards is still a lower bound: a lost shard costs
tightness, not truth. Its cuts become :math:`R_g \ge 0`, and values of groups with a missing part are infinite: the
upper bound improves only in a pass without lost shards.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from convexmetric import risks
from convexmetric.arguments import check_count, check_integer
from convexmetric.arrays import Array, altered
from convexmetric.deadline import OutOfTime, check_deadline
from convexmetric.errors import BackendError, DualError, InputError, LostShardsWarning, UnsupportedProblemError
from convexmetric.measures import measure_named
from convexmetric.risks.rounding import BoundingBox
from convexmetric.shards.backends import Backend, Serial, as_backend
from convexmetric.shards.folder import Shard, cone_of, reach_of, read_table
from convexmetric.shards.kinds import load
from convexmetric.shards.sums import Partial, Terms

#: Default for the bytes of data that a process keeps between passes.
CACHE_BYTES = 2**28
#: Default number of shards; the same on any machine, as sums depend on it in their last bits.
#: With 32 shards, each of the 32 groups of cuts is a shard.
SHARDS = 32


class ShardedRisk(risks.Risk):
    """The risk in a folder that :mod:`convexmetric.shards` wrote.

    Parameters
    ----------
    folder : path
        Path of the folder on every worker: the folder is on a file system that all of them share.
    shards : int
        Number of shards to cut it into; every piece with its own points is at least one. Groups of cuts are 32 by
        default, and a multiple of 32 cuts no group of one piece in two.
    cache : int
        Bytes of data that a process keeps between passes. Data that do not fit are read again in every pass.

    Raises
    ------
    InputError
        If the folder holds no shards, or an argument is malformed.

    Examples
    --------
    >>> import tempfile
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> problem = cm.RankingProblem.from_labels(iris.X, iris.y, measure="map", C=10.0)
    >>> risk = cm.shards.write(problem.risk, tempfile.mkdtemp(), shards=8)
    >>> solution = cm.solve(cm.MetricProblem(risk, problem.regularizer), backend=None)
    >>> f"{solution.upper_bound:.4f}, {len(risk.shards)} shards"
    '3.2647, 8 shards'
    """

    #: Only nonnegative risks are written.
    nonnegative: ClassVar[bool] = True

    def __init__(self, folder: str | os.PathLike[str], shards: int = SHARDS, cache: int = CACHE_BYTES) -> None:
        check_count(shards, "shards")
        check_integer(cache, 0, np.inf, "cache must be a number of bytes, 0 or more")
        self.folder = Path(folder).absolute()
        self.table, self.pieces = read_table(self.folder)
        self.cone = cone_of(self.table["cone"])
        self._extent = BoundingBox(reach_of(self.folder, self.table), sum(piece.points for piece in self.pieces))
        self.shards, self.cache = _cut(self, shards, cache), cache
        self.backend: Backend = Serial()
        self.known_lipschitz = np.inf

    def __repr__(self) -> str:
        parts = f"{self.parts:,} parts, one a {self.part_kind}"
        return f"ShardedRisk({str(self.folder)!r}, {parts}, {len(self.shards)} shards)"

    def on(self, engine: Any) -> ShardedRisk:
        """Copy the risk, to be evaluated by an engine; see :func:`~convexmetric.shards.as_backend`."""
        return altered(self, backend=as_backend(engine))

    def here(self) -> risks.Risk:
        """Load the whole risk into the memory of this process, for samples of its queries.

        Raises
        ------
        InputError
            If the files are damaged.
        UnsupportedProblemError
            If it does not fit or cannot be read; the message is a clause, to be put into a sentence.
        """
        if len(self.pieces) > 1:
            raise UnsupportedProblemError("its queries rank several sets of points")
        size = sum(size for size, _ in self.pieces[0].files.values())
        if size > self.cache:
            reason = f"its data are {size:,} bytes, and a process may keep {self.cache:,}: raise cache"
            raise UnsupportedProblemError(reason)
        try:
            return load(_cut(self, 1, self.cache)[0]).risk
        except OSError as error:
            raise UnsupportedProblemError(f"its data cannot be read here ({error})") from error

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling, without the engine, which cannot be moved to another process."""
        return vars(self) | {"backend": Serial()}

    def contents(self) -> tuple[Any, ...]:
        """Identity of the risk, for fingerprints: its table and hashes, but not how it is cut into shards."""
        pieces = [
            (piece.parts, piece.weight, sorted((name, sha256) for name, (_, sha256) in piece.files.items()))
            for piece in self.pieces
        ]
        return sorted(self.table["risk"].items()), self.cone, pieces

    @property
    def unit(self) -> float:
        """Sum of the weights of all rankings, which is C; 1 for other risks."""
        if self.table["risk"]["kind"] != "rankings":
            return 1.0
        return sum(piece.weight * piece.parts for piece in self.pieces)

    @cached_property
    def parts(self) -> int:
        """Number of parts of all pieces."""
        return sum(piece.parts for piece in self.pieces)

    @property
    def part_kind(self) -> str:
        """Name of a part: ``"query"``, ``"anchor"`` or ``"triplet"``."""
        return {"triplets": "triplet", "pairs of lists": "anchor"}.get(self.table["risk"]["kind"], "query")

    @property
    def points(self) -> tuple[Any, ...]:
        """Bounding box of the points, in place of the points themselves, which are not in memory."""
        return (self._extent,)

    @property
    def pass_memory(self) -> float:
        """Bytes of a pass in this process: 0, as workers evaluate the shards."""
        return 0.0

    @property
    def words(self) -> str:
        """Description of the risk: class, kind and folder."""
        return f"{type(self).__name__} of {self.table['risk']['kind']} in {self.folder}"

    def value(self, M: Array) -> float:
        """Evaluate R(M), the sum over shards; infinite while a shard is missing."""
        return self._number(_value, M)

    def part_values(self, M: Array) -> Array:
        """Values of all parts at M, ``(parts,)``; infinite for the parts of a lost shard."""
        values, found = np.full(self.parts, np.inf), self._total(_part_values, M)
        for number, (part,) in found.terms.items():
            values[self.shards[number].parts] = part
        return values

    def lipschitz_near(self, M: Array, error: float) -> float | None:
        """Sum the Lipschitz constants of shards near M; infinite while a shard is missing."""
        total = self._number(_sensitivity, (M, error))
        return None if np.isnan(total) else total

    @property
    def lipschitz(self) -> float:
        """Sum of the Lipschitz constants of the shards; infinite while a shard is missing, or there was no time."""
        if self.known_lipschitz == np.inf:
            with suppress(OutOfTime):
                self.known_lipschitz = self._number(_steepest, None)
        return self.known_lipschitz

    def separate(self, M: Array, groups: np.ndarray) -> risks.Cuts:
        """Cuts of groups of parts at M, summed over shards; values of groups with lost parts are infinite."""
        n_groups = int(groups.max()) + 1
        found = self._total(_cuts, (M, _Groups.of(groups)))
        values, offsets, weights = np.zeros((3, n_groups))
        normals = np.zeros((n_groups, self.cone.size))
        for g, (value, offset, weight, normal) in found.terms.items():
            values[g], offsets[g], weights[g], normals[g] = value, offset, weight, normal
        for number in found.lost:
            values[groups[self.shards[number].parts]] = np.inf
        return risks.Cuts(values, offsets, normals, weights)

    def minorant(self, dual: Any) -> risks.Minorant | None:
        """Sum the minorants of weighted cuts over shards; a lost shard contributes the minorant 0."""
        if isinstance(dual, risks.SmoothedPairs):
            return self._slopes_say(dual)
        checked = self.checked_cuts(dual)
        if checked is None:
            return None
        argument = checked.witnesses, checked.weights, _Groups.of(checked.groups)
        return self._point(self._total(_dual_point, argument).terms.get(0))

    def _slopes_say(self, dual: risks.SmoothedPairs) -> risks.Minorant | None:
        """Minorant of a smoothed pairwise risk, from its gradient at a metric."""
        M, width = np.asarray(dual.M, dtype=np.float64), float(dual.width)
        if not self.sharded_pairs or dual.places is not None or M.shape != self.cone.shape:
            raise DualError(
                f"SmoothedPairs of a risk in shards are for hinges over pairs, with a metric of shape "
                f"{self.cone.shape} and no exceptions; certify the problem with its data in memory"
            )
        if not (np.isfinite(M).all() and np.isfinite(width) and width > 0.0):
            return None
        return self._point(self._total(_slopes, (M, width)).terms.get(0))

    def _point(self, sums: tuple[Any, ...] | None) -> risks.Minorant:
        """Make the minorant of summed terms; zero where all shards were lost."""
        if sums is None:
            return risks.Minorant(0.0, self.cone.zeros(), 0.0, 0.0)
        value, S, weight, size = sums
        return risks.Minorant(float(value), S, float(weight) if np.isfinite(weight) else None, float(size))

    @property
    def sharded_pairs(self) -> bool:
        """Whether the risk is a sum of hinges over pairs of a positive and a negative."""
        table = self.table["risk"]
        if table["kind"] == "rankings":
            return measure_named(table["measure"], table.get("k")).pairwise
        return bool(table["kind"] == "pairs of lists")

    def smoothed(self, M: Array, width: float, stride: float = np.inf, most: int = 0, seed: int = 0) -> SmoothedThere:
        """Smooth the hinges as :class:`~convexmetric.risks.PairwiseRisk` does; infinite while a shard is missing."""
        found = self._total(_smoothed, (M, width, stride, most, seed))
        value, exact, kinks, *point = found.terms[0]
        if found.lost:
            value = exact = np.inf
        empty = np.empty((0, 3), dtype=np.int64), np.empty((0, 3), dtype=np.int64), np.empty(0)
        samples = [empty + 2 * (np.empty((0, self.cone.d)),)]
        samples += [found.terms[number] for number in sorted(found.terms) if number]
        listed = (np.concatenate(arrays) for arrays in zip(*samples, strict=True))
        return SmoothedThere(float(value), float(exact), self._point(tuple(point)), int(kinks), *listed)

    def differences(self, smoothed: risks.Smoothed) -> tuple[Array, Array]:
        """Differences of queries from the positives and negatives of sampled pairs, ``(K, d)`` each."""
        assert isinstance(smoothed, SmoothedThere), "made by another risk"
        return smoothed.positives, smoothed.negatives

    def worst_comparisons(self, parts: np.ndarray, M: Array, other: Array | None = None) -> list[risks.Violation]:
        """Find the worst comparison of each given part; its rows are those of its piece."""
        found = self._total(_worst, (np.asarray(parts), M, other))
        if found.lost:
            raise BackendError(f"shards were lost: {next(iter(found.lost.values()))}")
        return [found.terms[int(part)][0] for part in parts]

    def statement(self, M: Any) -> risks.RiskStatement:
        """Refuse to write out the parts.

        Raises
        ------
        InputError
            Always, as no process holds all data.
        """
        raise InputError("the parts of a sharded risk cannot be written out; state the problem for data in memory")

    def _total(self, task: Callable[[Any, Any], Terms], argument: Any) -> Partial:
        """Run a pass: the sum over shards, with a warning for lost ones."""
        found = self.backend.total(task, self.shards, argument)
        if found.lost:
            # Those of a pass that the limit of the solve has ended are no losses.
            check_deadline()
        if len(found.lost) == len(self.shards):
            raise BackendError(f"no shard could be evaluated: {next(iter(found.lost.values()))}")
        if found.lost:
            numbers = sorted(found.lost)
            some = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
            warnings.warn(
                f"{len(numbers)} of {len(self.shards)} shards were lost in a pass ({some}): "
                f"{found.lost[numbers[0]]}; the lower bound holds without them, the upper bound waits",
                LostShardsWarning,
                stacklevel=3,
            )
        return found

    def _number(self, task: Callable[[Any, Any], Terms], argument: Any) -> float:
        """Sum a number over shards; infinite while a shard is missing."""
        found = self._total(task, argument)
        return np.inf if found.lost else float(found.terms[0][0])


def _cut(risk: ShardedRisk, count: int, cache: int) -> list[Shard]:
    """Cut a risk into about ``count`` shards of about equal numbers of parts, none across two pieces."""
    shards: list[Shard] = []
    first = 0
    for piece in risk.pieces:
        cuts = min(piece.parts, max(1, round(count * piece.parts / risk.parts)))
        # Part p is in shard p * cuts // parts of its piece, as in the groups of cutting planes.
        ends = [-(-k * piece.parts // cuts) for k in range(cuts + 1)]
        sizes, contents = {name: size for name, (size, _) in piece.files.items()}, piece.contents
        for start, stop in pairwise(ends):
            path = str(risk.folder / piece.name)
            of = risk.table["cone"], risk.table["risk"], piece.weight, sizes, contents, cache
            shards.append(Shard(len(shards), path, start, stop, first + start, *of))
        first += piece.parts
    return shards


@dataclass(frozen=True)
class SmoothedThere(risks.Smoothed):
    """Smoothed hinges with the differences of sampled pairs, as points are not in memory; rows are those of pieces.

    Attributes
    ----------
    positives, negatives : (K, d) arrays
        Query less positive, and query less negative.
    """

    positives: Array
    negatives: Array


@dataclass(frozen=True)
class _Groups:
    """Run-length encoding of the group of every part: short where parts are grouped in order."""

    starts: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(cls, groups: np.ndarray) -> _Groups:
        """Encode the array of the group of every part."""
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        return cls(starts, groups[starts])

    def on(self, parts: slice) -> tuple[np.ndarray, np.ndarray]:
        """Decode a range of parts: their distinct groups, ascending, and the index of each part's group among these."""
        places = np.searchsorted(self.starts, np.arange(parts.start, parts.stop), side="right") - 1
        present, local = np.unique(self.numbers[places], return_inverse=True)
        return present, local.ravel()


# Tasks: functions of a shard and an argument.


def _value(shard: Shard, M: Array) -> Terms:
    return {0: (load(shard).risk.value(M),)}


def _part_values(shard: Shard, M: Array) -> Terms:
    return {shard.number: (load(shard).risk.part_values(M),)}


def _sensitivity(shard: Shard, argument: tuple[Array, float]) -> Terms:
    found = load(shard).risk.lipschitz_near(*argument)
    return {0: (np.nan if found is None else found,)}


def _steepest(shard: Shard, argument: None) -> Terms:
    return {0: (load(shard).risk.lipschitz,)}


def _cuts(shard: Shard, argument: tuple[Array, _Groups]) -> Terms:
    M, groups = argument
    present, local = groups.on(shard.parts)
    cuts = load(shard).risk.separate(M, local)
    return {
        int(g): (float(cuts.values[k]), float(cuts.offsets[k]), float(cuts.weights[k]), cuts.normals[k])
        for k, g in enumerate(present)
    }


def _dual_point(shard: Shard, argument: tuple[Array, Array, _Groups]) -> Terms:
    witnesses, weights, groups = argument
    present, local = groups.on(shard.parts)
    point = load(shard).risk.minorant(risks.CutDual(witnesses, weights[:, present], local))
    assert point is not None
    return {0: _sums_of(point)}


def _sums_of(point: risks.Minorant) -> tuple[Any, ...]:
    weight = np.inf if point.weight is None else point.weight
    return point.value, point.S, weight, abs(point.value) if point.size is None else point.size


def _pairs(shard: Shard) -> risks.PairwiseRisk:
    return load(shard).risk.form(risks.PairwiseRisk)


def _slopes(shard: Shard, argument: tuple[Array, float]) -> Terms:
    return {0: _sums_of(_pairs(shard).smoothed(*argument).point)}


def _smoothed(shard: Shard, argument: tuple[Array, float, float, int, int]) -> Terms:
    M, width, stride, most, seed = argument
    made, risk = load(shard), _pairs(shard)
    # Seeds differ so that shards do not all sample at the same places.
    found = risk.smoothed(M, width, stride, most, seed + shard.first)
    terms: Terms = {0: (found.value, found.exact, found.kinks, *_sums_of(found.point))}
    if len(found.sample):
        rows = found.sample[:, 1:] if made.rows is None else made.rows[found.sample[:, 1:]]
        sample = np.column_stack([found.sample[:, 0] + shard.first, rows])
        places = found.places + np.array([shard.first, 0, 0])
        terms[1 + shard.number] = (places, sample, found.curvature, *risk.differences(found))
    return terms


def _worst(shard: Shard, argument: tuple[np.ndarray, Array, Array | None]) -> Terms:
    asked, M, other = argument
    parts = asked[(asked >= shard.first) & (asked < shard.parts.stop)]
    if not parts.size:
        return {}
    made = load(shard)
    found = made.risk.worst_comparisons(parts - shard.first, M, other)
    return {
        int(part): (replace(worst, rows=made.rows_of(worst.rows)),) for part, worst in zip(parts, found, strict=True)
    }
