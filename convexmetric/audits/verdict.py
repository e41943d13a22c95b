"""Audit any metric: its certified distance from optimal, and what is wrong with it.

:func:`audit` defines the distance. The bound in it is that of a reference, or of a solve. The diagnosis has three
parts: the comparisons that cost most, the scale (the best multiple of M), and the range
(:mod:`convexmetric.audits.scale_and_range`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arguments import Learner, check_integer, fitted
from convexmetric.arrays import Array, Result
from convexmetric.audits.scale_and_range import Scale, Subspace, best_scale, compare_ranges
from convexmetric.certificates import Certificate, describe, kernel, relative_gap
from convexmetric.certificates.certificate import Bounds
from convexmetric.errors import InputError
from convexmetric.notebooks import facts_table
from convexmetric.numerics.threads import shared_cores
from convexmetric.problem import AnyProblem, KnownProblem, MetricProblem, as_problem, named
from convexmetric.solution import Solution
from convexmetric.solvers import solve

#: A metric counts as positive semidefinite if no eigenvalue is below minus this share of the largest one.
FEASIBILITY = 1e-9
#: Suboptimality up to which a metric is called optimal, for rounding and the reference's own gap.
OPTIMAL = 2e-6


@dataclass(frozen=True)
class Reference(Bounds):
    """Bounds on the optimal value, and perhaps a metric, against which a metric is audited.

    Attributes
    ----------
    lower_bound : float
        Certified lower bound: no metric has a smaller objective.
    upper_bound : float
        Objective of a metric that is known; infinite if none is.
    M : array or None
        The metric whose objective is ``upper_bound``.
    grade : str
        How the lower bound is established: ``"rigorous"``, ``"float"`` or ``"conic"``, as those of instances and
        certificates; ``"given"`` if the caller states it.
    """

    lower_bound: float
    upper_bound: float = np.inf
    M: Array | None = field(default=None, repr=False)
    grade: str = "given"


AnyReference = Solution | Certificate | Reference | Learner | float | None
"""Where a lower bound comes from; None for a solve."""


@dataclass(frozen=True)
class WorstPart:
    """A part of the risk that costs more at the metric than at the reference.

    Attributes
    ----------
    kind : str
        Name of the risk's parts: ``"query"``, ``"anchor"``, ``"triplet"``, ``"pair"`` or ``"point"``.
    part : int
        Number of the part, as in ``problem.risk.part_values``.
    loss, reference_loss : float
        Losses of the part at the metric and at the reference metric (zero without one); terms of the objective.
    rows : tuple of int
        Rows of the data of its comparison with the largest excess: ``(query, positive, negative)``, which should be in
        this order of distance, or a pair. Where items have rows of their own, the last two are rows of the items.
    """

    kind: str
    part: int
    loss: float
    reference_loss: float
    rows: tuple[int, ...]

    @property
    def comparison(self) -> str:
        """The comparison in words."""
        if len(self.rows) == 3:
            return "{} nearer to {} than to {}".format(*self.rows)
        return "{} with {}".format(*self.rows)

    @property
    def name(self) -> str:
        """Name of the part for users: queries, anchors and points by row, listed comparisons by place in the list."""
        return f"{self.kind} {self.rows[0] if self.kind == 'point' else self.part}"


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """Result of an audit: objective, certified suboptimality, and what is wrong.

    Attributes
    ----------
    objective : float
        Objective at the metric as given; infinite where it violates a hard margin.
    projected_objective : float
        Objective at its projection on the cone, the nearest metric that may be compared; the same if it is feasible.
    lower_bound : float
        Certified by the reference: no metric has a smaller objective.
    suboptimality : float
        Of ``projected_objective`` from ``lower_bound``, as :func:`~convexmetric.audit` defines it. 0 is perfect, 1 is
        as bad as it gets for nonnegative objectives.
    reference_gap : float
        Relative gap of the reference, below which no distance can be distinguished from zero; infinite if the reference
        is only a bound.
    grade : str
        How the lower bound is established: ``"rigorous"``, ``"float"``, ``"conic"`` or ``"given"``.
    risk, penalty : float
        The two terms of ``projected_objective``.
    min_eigenvalue : float
        Smallest eigenvalue (or weight) of the metric, in the problem's coordinates.
    hard_margins : bool
        Whether all hard margins are met; true where there are none.
    feasible : bool
        Whether it lies in the cone to rounding and meets all hard margins.
    scale : Scale
        The best multiple of the (projected) metric.
    subspace : Subspace or None
        Range of the metric compared with that of the reference; None without a reference metric or a cone.
    worst : tuple of WorstPart
        The parts of the risk with the largest excess over the reference, worst first.
    M : array
        The metric that was judged: the projection of the one given, in the problem's own space.
    """

    objective: float
    projected_objective: float
    lower_bound: float
    suboptimality: float
    reference_gap: float
    grade: str
    risk: float
    penalty: float
    min_eigenvalue: float
    hard_margins: bool
    feasible: bool
    scale: Scale
    subspace: Subspace | None
    worst: tuple[WorstPart, ...]
    M: Array = field(repr=False, compare=False)

    written: ClassVar[tuple[str, ...]] = (
        *("verdict", "objective", "projected_objective", "lower_bound", "suboptimality", "reference_gap", "grade"),
        *("risk", "penalty", "min_eigenvalue", "hard_margins", "feasible", "scale", "subspace", "worst"),
    )

    @property
    def verdict(self) -> str:
        """The verdict in plain words."""
        scale, ranges = self.scale, self.subspace
        if not self.hard_margins and not np.isfinite(scale.best):
            return "Violates hard margins, and so does every multiple of it."
        if not self.hard_margins:
            cost = self._cost_in_words(scale.objective)
            return f"Violates hard margins; {scale.best:.3g} times it meets them and {cost}."
        cost = self._cost_in_words(self.projected_objective)
        if self.feasible:
            words = cost.removeprefix("is ").capitalize()
        else:
            what = "Not positive semidefinite" if self.M.ndim == 2 else "Some weights are negative"
            words = f"{what}; its projection {cost}"
        if self.suboptimality > OPTIMAL:
            words += f"; {self._scale_in_words()}"
            if ranges is not None and scale.share < 0.99:
                held = f"holds {_percent(ranges.captured)} of the trace of the reference"
                words += f". Its range, of rank {ranges.rank}, {held}, of rank {ranges.reference_rank}"
        return f"{words}."

    def _cost_in_words(self, objective: float) -> str:
        """The objective as a multiple of the optimum: a range where the reference leaves one."""
        if relative_gap(objective, self.lower_bound) <= OPTIMAL:
            return "is optimal"
        if self.lower_bound <= 0.0:
            # The lower bound is not positive: a multiple of the optimum would mean nothing.
            return f"costs at most {objective - self.lower_bound:.3g} more than the optimum"
        most = objective / self.lower_bound
        if self.reference_gap == np.inf:
            return f"costs at most {_times(most)} times the optimum ({_above(most)} above it)"
        # The optimum is at most the reference's objective, lower_bound / (1 - gap).
        least = max(1.0, most * (1.0 - self.reference_gap))
        times, above = _span(_times(least), _times(most)), _span(_above(least), _above(most))
        return f"costs {times} times the optimum ({above} above it)"

    def _scale_in_words(self) -> str:
        scale = self.scale
        if scale.share < 0.005:
            return "its scale is right" if abs(scale.best - 1.0) < 0.1 else "another scale hardly helps"
        if scale.best == 0.0:
            return f"{_percent(scale.share)} of the excess is repaired by the zero metric: no multiple does better"
        return f"{_percent(scale.share)} of the excess is scale: multiply by {scale.best:.3g}"

    def __repr__(self) -> str:
        return f"<Audit: {self.verdict}>"

    def _repr_html_(self) -> str:
        return facts_table(self.verdict, self.rows() + self._worst_rows())

    def __str__(self) -> str:
        lines = [f"{name:21}{value}" for name, value in self.rows() + self._worst_rows()]
        return "\n".join([self.verdict, "", *lines])

    def rows(self) -> list[tuple[str, str]]:
        """Names and values of the facts, for tables."""
        least = "smallest eigenvalue" if self.M.ndim == 2 else "smallest weight"
        rows = [("objective", f"{self.objective:.10g}")]
        if not self.feasible:
            rows.append(("objective, projected", f"{self.projected_objective:.10g}"))
        rows += [
            ("risk + penalty", f"{self.risk:.6g} + {self.penalty:.6g}"),
            ("certified optimum >=", f"{self.lower_bound:.10g}"),
            ("suboptimality <=", f"{max(0.0, self.suboptimality):.3g}"),
            (least, f"{self.min_eigenvalue:.3g}   ({'feasible' if self.feasible else 'NOT feasible'})"),
        ]
        scale = self.scale
        optimal = self.hard_margins and self.suboptimality <= OPTIMAL
        repairs = "" if optimal else f", repairs {_percent(scale.share)}"
        rows.append(("best scale", f"{scale.best:.6g}, objective {scale.objective:.8g}{repairs}"))
        if self.subspace is not None:
            ranks = f"rank {self.subspace.rank}, reference {self.subspace.reference_rank}"
            angle = f", largest angle {self.subspace.angles[0]:.3g} degrees" if self.subspace.angles.size else ""
            held = f"holds {_percent(self.subspace.captured)} of the reference's trace"
            rows.append(("range", f"{ranks}{angle}; {held}"))
        return rows

    def _worst_rows(self) -> list[tuple[str, str]]:
        """Names of the parts that cost most, and their losses with the worst comparison."""
        rows = []
        for part in self.worst:
            reference = f" (reference {part.reference_loss:.4g})" if self.subspace is not None else ""
            rows.append((part.name, f"costs {part.loss:.4g}{reference}; worst comparison: {part.comparison}"))
        return rows


@shared_cores()
def audit(
    problem: AnyProblem | None = None,
    M: ArrayLike | Solution | Certificate | Learner | Callable[[MetricProblem], Any] | None = None,
    *,
    reference: AnyReference | KnownProblem | str = None,
    worst: int = 10,
) -> Audit:
    r"""Bound how far ``M`` is from the optimum of ``problem``, and tell what is wrong with it.

    .. math:: \text{suboptimality} = \frac{F(P) - \ell}{\max(|F(P)|, |\ell|)}

    F is the objective of the problem, P the projection of M on the cone, and :math:`\ell` a lower bound by weak duality
    (Boyd & Vandenberghe 2004, section 5.2.2; :func:`~convexmetric.solve` has the formula). No metric is below the
    bound, so this is at least the relative distance from the optimal value.

    Parameters
    ----------
    problem : MetricProblem, Instance or str, optional
        What ``M`` was meant to solve: a problem, an instance of the library or the name of one. By default the
        instance that is the reference.
    M : array, estimator or callable
        Any metric: ``(d, d)``, or ``(d,)`` weights of a diagonal one. A fitted estimator with ``components_`` L
        stands for ``L^T L``: our own, those of metric-learn, NeighborhoodComponentsAnalysis of scikit-learn; one
        without them for what its ``get_mahalanobis_matrix()`` returns. A Solution
        or a Certificate stands for its metric. A callable is given the problem and returns a metric, or returns or
        yields iterates, of which the best is judged; :func:`~convexmetric.bench.trace` judges all of them and takes
        the time.
    reference : Solution, Certificate, Reference, estimator, float, Instance or str, optional
        Where the lower bound comes from; by default from the instance, or else the problem is solved to 1e-6 first.
        A Solution or Certificate also gives the metric against which losses and ranges are compared. A fitted estimator
        of ours stands for its ``solution_``. An instance of the library, or its name, stands for its proven bounds;
        with another problem object its own problem is stated as well, to check that both are the same.
    worst : int
        Number of parts of the risk to name; 0 for none.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        If ``M`` has the wrong shape or entries that are not finite, or the reference proves nothing or is an instance
        of another problem.

    See Also
    --------
    convexmetric.bench.trace : a solver's iterates, as it runs.
    convexmetric.bench.audit_iterates : iterates from anywhere.

    Examples
    --------
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> problem = cm.RankingProblem.from_labels(iris.X, iris.y, measure="auc", C=10.0)
    >>> verdict = cm.audit(problem, 0.1 * problem.cone.identity())
    >>> print(f"at most {verdict.suboptimality:.2f} from optimal, feasible: {verdict.feasible}")
    at most 0.46 from optimal, feasible: True

    On an instance of the library nothing is solved, as its bounds are proven:

    >>> bool(cm.audit("ranking-auc-wine-c1", lambda problem: problem.cone.identity()).suboptimality > 0.9)
    True
    """
    if M is None:
        raise InputError("M is missing: pass the metric to judge")
    check_integer(worst, 0, np.inf, "worst must be a number of parts, 0 or more")
    # A symmetric matrix, or a vector of weights, that need not lie in the cone.
    problem, bounds = stated(problem, reference)
    metric, against = _metric_of(problem, M), reference_of(problem, bounds)
    judged, smallest, in_cone = projected(problem, metric)
    risk, penalty = problem.risk.value(judged), problem.penalty(judged)
    cost = risk + penalty
    scale = best_scale(problem, judged, lower_bound=against.lower_bound)
    margins = bool(np.isfinite(cost))
    return Audit(
        objective=problem.value(metric),
        projected_objective=cost,
        lower_bound=against.lower_bound,
        suboptimality=relative_gap(cost, against.lower_bound),
        reference_gap=against.gap,
        grade=against.grade,
        risk=risk,
        penalty=penalty,
        min_eigenvalue=smallest,
        hard_margins=margins,
        feasible=bool(in_cone and margins),
        scale=scale,
        subspace=_subspace(problem, judged, scale, against),
        worst=worst_parts(problem, judged, against.M, int(worst)),
        M=judged,
    )


def stated(problem: AnyProblem | None, reference: AnyReference | KnownProblem | str) -> tuple[MetricProblem, Any]:
    """State the problem, which an instance as the reference may bring, and take the bounds of an instance.

    Raises
    ------
    InputError
        If there is no problem, or the reference is an instance of another problem.
    """
    problem, reference = named(problem), named(reference)
    if problem is None and not isinstance(reference, KnownProblem):
        raise InputError("problem is missing: pass one, or an instance of the library as the reference")
    known: Any = problem if reference is None else reference
    here = as_problem(known if problem is None else problem)
    if not isinstance(known, KnownProblem):
        return here, reference
    if problem is not None and problem != known:
        there = known.problem()
        sizes = [(one.cone.shape, one.risk.parts) for one in (here, there)]
        if sizes[0] != sizes[1] or _digest(here) != _digest(there):
            what = problem.name if isinstance(problem, KnownProblem) else repr(here)
            raise InputError(
                f"reference {known.name!r} is about another problem than {what}, so that its bounds say nothing of it; "
                "leave the reference out, or pass that problem's own"
            )
    return here, Reference(*known.proven, None, known.grade)


def _digest(problem: MetricProblem) -> str:
    """Digest of the statement of a problem, or of its data if a block cannot be stated."""
    try:
        return kernel.statement_digest(*describe(problem))
    except InputError:
        return problem.fingerprint()


def reference_of(problem: MetricProblem, reference: AnyReference) -> Reference:
    """Make a ``Reference`` of a solution, estimator, certificate or bound; of a solve to 1e-6 if it is None.

    Raises
    ------
    InputError
        If it proves nothing.
    """
    if reference is None:
        reference = solve(problem)
    if isinstance(reference, Learner):
        return reference_of(problem, fitted(reference, "solution_", "reference"))
    if isinstance(reference, Solution):
        reference = reference.certificate
    if isinstance(reference, Certificate):
        if reference.grade != problem.regularizer.grade:
            raise InputError(
                "reference was solved with constraints or terms of its own, whose bound says nothing of this problem; "
                "solve the problem without them"
                if reference.grade == "conic"
                else "reference was solved without the constraints or terms of this problem, of which its bound says "
                "nothing; solve the problem with them"
            )
        if np.shape(reference.M) != problem.cone.shape:
            raise InputError(
                f"reference must belong to this problem: its metric has shape {np.shape(reference.M)}, "
                f"not {problem.cone.shape}"
            )
        reference = Reference(reference.lower_bound, reference.upper_bound, reference.M, reference.grade)
    if not isinstance(reference, Reference):
        try:
            reference = Reference(float(reference))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"reference must be a Solution, a Certificate or a lower bound, got {type(reference).__name__}"
            ) from error
    if not np.isfinite(reference.lower_bound):
        raise InputError(f"reference must give a finite lower bound, got {reference.lower_bound}")
    return reference


def _metric_of(problem: MetricProblem, M: Any) -> Array:
    """Convert a metric to the problem's variable."""
    if callable(M):
        M = M(problem)
        if isinstance(M, Iterator | list | tuple) or np.ndim(M) == len(problem.cone.shape) + 1:
            M = _best(problem, M)
    if isinstance(M, Solution):
        if M.problem is not problem:
            try:
                return problem.metric_from(M.problem, M.certificate.M)
            except InputError as error:
                raise InputError(f"M is of another problem: {error}") from error
        M = M.certificate
    if isinstance(M, Certificate):
        return problem.metric(M.M)
    own = getattr(M, "estimator_", M)
    if hasattr(own, "get_mahalanobis_matrix") and not hasattr(own, "components_"):
        # An estimator that is not fitted raises either error, and is named below.
        with suppress(AttributeError, ValueError):
            M = own.get_mahalanobis_matrix()
    if isinstance(M, Learner) or hasattr(own, "components_"):
        L = fitted(M, "components_", "M")
        M = L.T @ L
    return problem.from_features(M)


def projected(problem: MetricProblem, metric: Array) -> tuple[Array, float, bool]:
    """Project a metric on the cone; also returns its smallest eigenvalue, and whether it is in the cone.

    Negative eigenvalues within rounding count as inside the cone, but are projected away.
    """
    smallest = problem.cone.smallest(metric)
    if smallest >= 0.0:
        return metric, smallest, True
    inside = smallest >= -FEASIBILITY * max(abs(problem.cone.largest(metric)), -smallest)
    return problem.cone.project(metric), smallest, inside


def _best(problem: MetricProblem, iterates: Iterable[ArrayLike]) -> ArrayLike:
    """Select the iterate with the smallest objective after projection on the cone."""
    best, least = None, np.inf
    for M in iterates:
        value = problem.value(projected(problem, problem.from_features(M))[0])
        if best is None or value < least:
            # The solver may reuse the array of an iterate: copy it.
            best, least = np.array(M, copy=True), value
    if best is None:
        raise InputError("M: the callable returned no iterate")
    return best


def _subspace(problem: MetricProblem, M: Array, scale: Scale, against: Reference) -> Subspace | None:
    if against.M is None or problem.cone.free:
        return None
    return compare_ranges(problem, scale.best * M if np.isfinite(scale.best) and scale.best > 0.0 else M, against.M)


def worst_parts(problem: MetricProblem, M: Array, reference: Array | None, count: int) -> tuple[WorstPart, ...]:
    """Find the parts of the risk with the largest excess of loss at M over a reference (or over 0), worst first."""
    if count == 0:
        return ()
    risk = problem.risk
    here = risk.part_values(M)
    there = np.zeros_like(here) if reference is None else risk.part_values(reference)
    excess = np.where(np.isfinite(here), here, np.inf) - np.where(np.isfinite(there), there, 0.0)
    count = min(count, excess.size)
    parts = np.argpartition(-excess, count - 1)[:count]
    parts = parts[np.lexsort((parts, -excess[parts]))]
    floor = 1e-12 * float(np.abs(here[np.isfinite(here)]).max(initial=0.0))
    parts = parts[excess[parts] > floor]
    found = risk.worst_comparisons(parts, M, reference) if parts.size else []
    # A sum with zero has no minus sign where it is zero.
    losses = zip((here[parts] + 0.0).tolist(), (there[parts] + 0.0).tolist(), strict=True)
    return tuple(
        WorstPart(risk.part_kind, int(part), *both, worst.rows)
        for part, both, worst in zip(parts, losses, found, strict=True)
    )


def _times(ratio: float) -> str:
    """Format a ratio to the optimum with three digits; near 1, with as many as show the difference from 1."""
    if ratio >= 10.0:
        return f"{ratio:.3g}" if ratio >= 1e6 else f"{ratio:.{1 if ratio < 100.0 else 0}f}"
    excess = ratio - 1.0
    return f"{ratio:.{max(2, 1 - int(np.floor(np.log10(excess)))) if excess > OPTIMAL else 2}f}"


def _above(ratio: float) -> str:
    """Format the excess of a ratio to the optimum over 1, in percent."""
    excess = ratio - 1.0
    if excess <= OPTIMAL:
        return "0%"
    return f"{float(f'{100.0 * excess:.3g}'):,.0f}%" if 1.0 <= excess < 1e4 else _percent(excess)


def _span(least: str, most: str) -> str:
    """Format two numbers as a range, or as one number where their texts are equal."""
    return least if least == most else f"{least} to {most}"


def _percent(share: float) -> str:
    """Format a share in percent with two digits, with more near 100."""
    if not np.isfinite(share):
        return "an infinite share"
    if 0.0 < share < 1.0 and share > 0.99:
        return f"{100.0 * share:.4g}%"
    return f"{100.0 * share:.2g}%" if abs(share) < 0.1 else f"{100.0 * share:.3g}%"
