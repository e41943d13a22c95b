r"""The contract of a risk.

A risk is a sum of convex *parts* (one per query, one per comparison), :math:`R(M) = \sum_p R_p(M)`, which
it may declare nonnegative. Two kinds of dual point bound it from below, and hence the problem:

- multipliers u of its comparisons,
  :math:`R(M) \ge -\sum_t \ell_t^*(-u_t) - \langle \sum_t u_t D_t, M \rangle`;
- weighted cuts: the supporting planes of groups of parts at any metrics :math:`M_\tau`,
  :math:`R_g(M) \ge b_{\tau g} - \langle \Psi_{\tau g}, M \rangle`, with weights
  :math:`a_{\tau g} \ge 0, \; \sum_\tau a_{\tau g} \le 1` (the sum is 1 if parts may be negative). The metrics are
  *witnesses*: planes made at any metrics are valid, so that a dual point is small, can be checked by anyone, and cannot
  be forged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from convexmetric.arrays import Array, real_array
from convexmetric.comparisons import Comparisons, Rankings
from convexmetric.cones import Cone
from convexmetric.described import Described
from convexmetric.errors import DualError, InputError, UnsupportedProblemError
from convexmetric.losses import Loss
from convexmetric.measures import Measure
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.risks.dual_points import CutDual

Kind = TypeVar("Kind", bound="Form")
Derivative = Callable[[Array], Array]


@dataclass(frozen=True)
class Cuts:
    """Supporting planes ``R_g(M) >= offsets[g] - <normals[g], M>``, tight at the metric they were made at.

    Attributes
    ----------
    values : (G,) array
        ``R_g`` at that metric; their sum is the risk.
    offsets : (G,) array
    normals : (G, cone.size) array
        In coordinates of the cone.
    weights : (G,) array, optional
        Sum of the absolute coefficients of squared distances in a normal, by which their rounding errors count. Without
        them the rounding of a normal is estimated from its own size.
    """

    values: Array
    offsets: Array
    normals: Array
    weights: Any = None

    def __post_init__(self) -> None:
        if self.weights is None:
            object.__setattr__(self, "weights", np.zeros(len(self.offsets)))


@dataclass(frozen=True)
class FactoredCuts:
    """Supporting planes of groups of queries, with factors of their normals.

    The normal of group g is ``X^T diag(columns[g]) X - Q_g^T Y_g - Y_g^T Q_g`` for its queries ``Q_g`` and their rows
    ``Y_g`` of ``products``.

    Attributes
    ----------
    values, offsets, weights : (G,) arrays
        As for :class:`Cuts`.
    columns : (G, n) array
        Sums over the queries of a group of the weights of distances to the items in a normal.
    products : (n_q, d) array
        Product of the weights of every query with the items, group by group.
    """

    values: Array
    offsets: Array
    columns: Array
    products: Array
    weights: Array


@dataclass(frozen=True)
class Minorant:
    """Minorant: an affine lower bound of the risk at every metric M, ``R(M) >= value - <S, M>``.

    Attributes
    ----------
    value : float
    S : array
        An element of the cone's space.
    weight : float, optional
        Sum of the absolute coefficients of squared distances in S; None if not known.
    size : float, optional
        Sum of the absolute terms of ``value``; None if it is about that of ``value``.
    slopes : tuple of float and list of arrays, optional
        Share of S and slopes of the regularizer's norms that were found with it
        (:meth:`~convexmetric.regularizers.Regularizer.settled`); None if they are to be searched for.
    """

    value: float
    S: Array
    weight: float | None = None
    size: float | None = None
    slopes: tuple[float, list[Array]] | None = None


@dataclass(frozen=True)
class Violation:
    """The comparison of a part whose loss at one metric most exceeds its loss at another.

    Attributes
    ----------
    rows : tuple of int
        Rows of the data: ``(query, positive, negative)``, the query should be nearer to the second than to the third;
        or a pair.
    loss : float
        Loss of the comparison at the metric, as a term of the risk.
    other : float
        The loss of the same comparison at the other metric; zero if no other metric is given.
    """

    rows: tuple[int, ...]
    loss: float
    other: float


@dataclass(frozen=True)
class Blocks:
    """The blocks of a risk, whose rules ``check_problem`` tries.

    Attributes
    ----------
    comparisons : Comparisons or None
        Listed comparisons, with one part and one multiplier each.
    loss : Loss or None
        Loss of every comparison.
    measure : Measure or None
        Measure of every ranking.
    lengths : (n, 2) array, optional
        Numbers of relevant and of irrelevant items in the rankings.
    """

    comparisons: Comparisons | None = None
    loss: Loss | None = None
    measure: Measure | None = None
    lengths: np.ndarray = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))


@dataclass(frozen=True)
class RiskStatement:
    """A risk written out in CVXPY, with its constraints and dual point.

    Attributes
    ----------
    expression : cvxpy.Expression or float
        The risk, in terms of its slacks.
    constraints : list of cvxpy.Constraint
        Constraints that tie the slacks to the metric, or hard margins.
    dual : callable
        After a solve, returns the dual point made of the multipliers of these constraints.
    """

    expression: cp.Expression | float
    constraints: list[cp.Constraint]
    dual: Callable[[], Any]


#: Terms of a block of a sum, and groups up to which sums are made in blocks.
TERMS, FEW_GROUPS = 512, 64


def group_sums(values: Array, groups: np.ndarray, n_groups: int) -> Array:
    """Sums of ``values`` by group.

    Many terms of few groups are summed in blocks, as errors of equal terms have one sign: a sum of n of them in turn
    errs by n units of roundoff, and not by their root.
    """
    if values.size <= TERMS or n_groups > FEW_GROUPS:
        return np.asarray(np.bincount(groups, values, n_groups), dtype=np.float64)
    block = np.arange(values.size) // TERMS
    sums = np.bincount(groups + n_groups * block, values, n_groups * (int(block[-1]) + 1))
    return np.asarray(sums.reshape(-1, n_groups).sum(axis=0))


def group_adjoints(comparisons: Comparisons, u: Array, groups: np.ndarray, n_groups: int) -> Array:
    """``sum_t u_t D_t`` over the comparisons of every group, in coordinates."""
    sums = [comparisons.adjoint(np.where(groups == g, u, 0.0)) for g in range(n_groups)]
    return comparisons.cone.coordinates(np.array(sums))


def checked_multipliers(dual: np.ndarray, size: int, meaning: str) -> Array:
    """``dual`` as ``(size,)`` float64 multipliers, or a :class:`DualError`."""
    if dual.shape != (size,):
        raise DualError(f"multipliers must have shape ({size},), {meaning}, got {dual.shape}")
    return real_part(dual, "multipliers")


def real_part(values: Any, name: str) -> Array:
    """An array of a dual point in float64, or a :class:`DualError` if it holds no real numbers."""
    try:
        return real_array(values, name)
    except InputError as error:
        raise DualError(str(error)) from error


class Form(Protocol):
    """Base class of the forms in which a solver may request a risk's data."""

    #: Description, for messages, of risks that can be written in this form.
    form_words: ClassVar[str]


class Risk(ABC):
    """A convex function of the metric, defined by data."""

    form_words: ClassVar[str] = "of the class asked for"
    #: Whether the risk is differentiable everywhere.
    smooth: ClassVar[bool] = False

    cone: Cone

    def __add__(self, other: Risk) -> Risk:
        """Add another risk of the same metric: several kinds of data in one problem."""
        from convexmetric.risks.sum import SumRisk

        return SumRisk(self, other) if isinstance(other, Risk) else NotImplemented

    def form(self, kind: type[Kind]) -> Kind:
        """Convert the risk to a canonical form, at negligible cost.

        Parameters
        ----------
        kind : type
            :class:`~convexmetric.risks.ListedHinges`, :class:`~convexmetric.risks.ListedPairs`,
            :class:`~convexmetric.risks.ImageRisk`, or a class of risks:
            :class:`~convexmetric.risks.PairwiseRisk`, :class:`~convexmetric.risks.SeparableRisk` or
            :class:`~convexmetric.risks.SmoothRisk`.

        Raises
        ------
        UnsupportedProblemError
            If it has no such form; the message is a clause such as "its risk is not smooth".
        """
        found = self.as_form(kind)
        if not isinstance(found, kind):
            raise UnsupportedProblemError(f"its risk is not {kind.form_words}")
        return found

    def as_form(self, kind: type) -> object:
        """Convert to ``kind`` for :meth:`form`; None, or itself, if there is no such form.

        The form is the same function, and its dual points are dual points of this risk.
        """
        return self

    @property
    def distances(self) -> float:
        """Number of squared distances that one pass evaluates, to within about a factor of two."""
        return float(self.parts)

    @property
    def pass_memory(self) -> float:
        """Bytes that one evaluation with a subgradient takes, to within about a factor of two.

        Default: four n x n matrices, n being the number of points.
        """
        points = sum(points.shape[0] for points in self.points) or self.parts
        return 8.0 * 4.0 * points * points

    @property
    def stated_rows(self) -> float | None:
        """Number of comparisons that :meth:`statement` lists; None if its constraints are not one per comparison."""
        return None

    @property
    def sharded_pairs(self) -> bool:
        """Whether the risk is a sum of hinges over pairs of positives and negatives held by other processes."""
        return False

    def here(self) -> Risk:
        """Return the risk with its data in this process."""
        return self

    def blocks(self) -> Blocks:
        """The blocks of the risk that have contracts of their own: comparisons, loss, measure."""
        return Blocks()

    def hints(self, dual: Any) -> Described:
        """Convert a dual point that :meth:`minorant` accepts to the form that certificate files store.

        Raises
        ------
        InputError
            If certificate files have no format for dual points of this risk.
        """
        raise InputError(f"certificates do not know dual points of a {type(self).__name__}")

    def value_hints(self, M: Array) -> dict[str, np.ndarray]:
        """Return arrays from which a rule of one's own proves the value at a metric, for files; by default none."""
        return {}

    @property
    def nonnegative(self) -> bool:
        """Whether no part is negative at any metric of the cone; bounds use that only if this is True."""
        return False

    @property
    def unit(self) -> float:
        """Weight in ``R`` of one unit of the mean loss of the parts: C, if a paper's slack has the weight C."""
        return 1.0

    @property
    def hard(self) -> bool:
        """Whether parts are infinite at some metric of the cone: constraints, or those of a :attr:`barrier`."""
        return self.barrier

    @property
    def barrier(self) -> bool:
        """Whether it grows to infinity somewhere, with supporting planes wherever it is finite."""
        return False

    def floor(self) -> Minorant | None:
        """An affine lower bound of the risk at all metrics, ``R(M) >= value - <S, M>``; None if none is known.

        Dual points may be scaled towards it. It is zero for a nonnegative risk.
        """
        return Minorant(0.0, self.cone.zeros()) if self.nonnegative else None

    @property
    def points(self) -> tuple[Any, ...]:
        """Point sets between which squared distances are taken, one matrix per set; empty if there are none."""
        return ()

    @property
    def words(self) -> str:
        """The parts of the risk in words, for error messages."""
        return type(self).__name__

    def lipschitz_near(self, M: Array, error: float) -> float | None:
        """Lipschitz constant of ``R`` in a common error bound of all squared distances, near ``M``.

        ``error`` bounds the errors: comparisons whose loss may become positive within it must be counted, too.
        None if it is not known. Default: :attr:`lipschitz`, if it is finite.
        """
        most = self.lipschitz
        return most if np.isfinite(most) else None

    @property
    def lipschitz(self) -> float:
        """Upper bound on :meth:`lipschitz_near` over all metrics, known without a pass; infinite if it is not known."""
        return np.inf

    @property
    @abstractmethod
    def parts(self) -> int:
        """Number of terms of the sum."""

    @abstractmethod
    def value(self, M: Array) -> float:
        """``R(M)``; infinite if a constraint of a hard risk fails."""

    def subset(self, parts: np.ndarray, factor: float = 1.0) -> Risk | None:
        """The sum of some parts, in the order given, times a factor; None if the risk cannot be split into parts."""
        return None

    def groups(self, count: int) -> np.ndarray:
        """Group of every part, ``(parts,)``, for cuts of at most ``count`` groups; default: parts in order."""
        return np.arange(self.parts) * min(count, self.parts) // self.parts

    @property
    @abstractmethod
    def part_kind(self) -> str:
        """Name of a part in messages: a query, an anchor, a triplet, a pair, a point."""

    @abstractmethod
    def part_values(self, M: Array) -> Array:
        """Contribution of every part to ``R(M)``, ``(parts,)``, with the time and memory of one pass."""

    @abstractmethod
    def worst_comparisons(self, parts: np.ndarray, M: Array, other: Array | None = None) -> list[Violation]:
        """Find for each of some parts the comparison whose loss at ``M`` most exceeds that at ``other`` (or zero)."""

    @abstractmethod
    def separate(self, M: Array, groups: np.ndarray) -> Cuts:
        """The most violated constraint of each group of parts at ``M``, as supporting planes."""

    @property
    def factored(self) -> Rankings | None:
        """The rankings whose cuts :meth:`separate_factored` makes; None if cuts have no factors."""
        return None

    def separate_factored(self, M: Array, groups: np.ndarray) -> FactoredCuts:
        """Cuts as :meth:`separate` makes them, with factors of their normals.

        Raises
        ------
        NotImplementedError
            If there are none (:attr:`factored`).
        """
        raise NotImplementedError(f"cuts of {type(self).__name__} have no factors")

    @abstractmethod
    def statement(self, M: cp.Variable) -> RiskStatement:
        """The risk in CVXPY with every term written out."""

    def own_duals(self, M: Array) -> list[Any]:
        """Dual points made from a metric alone: the tangent plane there, and others that a risk may have."""
        return [tangent_dual(self, M)]

    def repair(self, M: Array) -> Array:
        """A metric near ``M`` that satisfies all hard constraints, if there are any."""
        return M

    def minorant(self, dual: Any) -> Minorant | None:
        """Affine lower bound proven by ``dual`` after clipping; None if ``dual`` has NaN or infinite entries.

        Raises
        ------
        DualError
            If the shapes do not fit this risk.
        """
        checked = self.checked_cuts(dual)
        if checked is None:
            return None
        groups = checked.groups
        value, size, weight_of_distances, S = 0.0, 0.0, 0.0, np.zeros(self.cone.size)
        for witness, weight in zip(checked.witnesses, checked.weights, strict=True):
            parts = np.flatnonzero(weight[groups])
            if parts.size:
                cuts = self._cuts_of(parts, witness, groups)
                present = len(cuts.offsets)
                value += float(weight[:present] @ cuts.offsets)
                size += float(weight[:present] @ np.abs(cuts.offsets))
                weight_of_distances += float(weight[:present] @ cuts.weights)
                S += weight[:present] @ cuts.normals
        return Minorant(value, self.cone.from_coordinates(S), weight_of_distances, size)

    def checked_cuts(self, dual: Any) -> CutDual | None:
        """Check weighted cuts and make them feasible; None if they have entries that are not finite.

        Raises
        ------
        DualError
            If ``dual`` is something else, or its shapes do not fit this risk.
        """
        if not isinstance(dual, CutDual):
            raise DualError(
                f"dual must be a CutDual, or a NumPy array of multipliers where the risk is a sum of hinges, "
                f"got {type(dual).__name__}"
            )
        witnesses, weights = real_part(dual.witnesses, "witnesses"), real_part(dual.weights, "weights")
        groups = np.asarray(dual.groups)
        if witnesses.shape[1:] != self.cone.shape or weights.ndim != 2 or len(weights) != len(witnesses):
            raise DualError(
                f"witnesses must have shape (T, {', '.join(map(str, self.cone.shape))}) and weights (T, G), "
                f"got {witnesses.shape} and {weights.shape}"
            )
        if (
            groups.shape != (self.parts,)
            or not np.issubdtype(groups.dtype, np.integer)
            or groups.min(initial=0) < 0
            or groups.max(initial=-1) >= weights.shape[1]
        ):
            raise DualError(f"groups must hold {self.parts} integers below the number of columns of weights")
        if not (np.isfinite(witnesses).all() and np.isfinite(weights).all()):
            return None
        weights = CutDual(witnesses, weights, groups).clipped().weights
        if not self.nonnegative:
            # If parts may be negative, weights that add up to less than one prove nothing.
            sums = weights.sum(axis=0)
            if not (sums[np.unique(groups)] > 0.0).all():
                return None
            weights = weights / np.where(sums > 0.0, sums, 1.0)
        return CutDual(witnesses, weights, groups)

    def _cuts_of(self, parts: np.ndarray, M: Array, groups: np.ndarray) -> Cuts:
        """Supporting planes as from :meth:`separate`, except that groups without any of ``parts`` may be left out."""
        some = None if len(parts) == self.parts else self.subset(parts)
        return self.separate(M, groups) if some is None else some.separate(M, groups[parts])


class SmoothRisk(Risk):
    r"""A risk with two derivatives.

    .. math:: R(N) \; \ge \; R(M) + \langle \nabla R(M), N - M \rangle = v - \langle S, N \rangle, \qquad
       S = -\nabla R(M)

    The tangent plane at any metric M is a dual point, so that a metric proves a lower bound by itself: as one cut with
    weight one (:func:`~convexmetric.risks.tangent_dual`). Along a factor, :math:`M = B^\top B`, the second derivative
    is needed only as a product with B, :math:`B \, \nabla^2 R[B^\top E + E^\top B]`, which may be far cheaper.
    """

    form_words: ClassVar[str] = "smooth"
    smooth: ClassVar[bool] = True

    @abstractmethod
    def tangent(self, M: Array) -> tuple[float, Minorant]:
        """``R(M)`` and the tangent plane at ``M``; minus its S is the gradient."""

    @abstractmethod
    def second_derivative(self, M: Array) -> Derivative:
        """The second derivative at ``M``, a linear map of the cone's space."""

    def second_along(self, B: Array) -> Derivative:
        """Map E, ``(r, d)``, to B times the second derivative at ``B^T B`` along ``B^T E + E^T B``."""
        second = self.second_derivative(B.T @ B)
        return lambda E: B @ second((half := B.T @ E) + half.T)


def tangent_dual(risk: Risk, M: Array) -> CutDual:
    """Dual point of the tangent plane at ``M``: one cut of weight one, with ``M`` as its witness."""
    return CutDual(M[None], np.ones((1, 1)), np.zeros(risk.parts, dtype=np.int64))
