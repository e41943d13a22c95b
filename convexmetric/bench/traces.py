"""Traces of solvers: the certified distance of iterates from the optimum, against time and passes over the data.

Any solver can be watched in one of two ways. As a Python callable::

    def my_solver(problem, record):
        M = np.eye(problem.cone.d)
        for epoch in range(50):
            M = one_epoch(problem, M)
            record(M, passes=epoch + 1)

    trail = cm.bench.trace(problem, my_solver, reference=solution, max_seconds=10)

The clock stands still while an iterate is evaluated. Or by its iterates, in memory or in a file
(:func:`~convexmetric.bench.audit_iterates`, :func:`~convexmetric.audits.metric_files.read_iterates`). A
:class:`~convexmetric.Solution` has a trail as well (:meth:`~convexmetric.bench.AuditTrail.of_solution`), so that
exact, stochastic and foreign solvers go on one plot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arguments import checked_weight, is_real
from convexmetric.arrays import Array, Result, real_array
from convexmetric.audits.verdict import AnyReference, Reference, projected, reference_of, stated
from convexmetric.bench.loading import ForeignSolver, called
from convexmetric.certificates import relative_gap
from convexmetric.errors import InputError
from convexmetric.problem import AnyProblem, KnownProblem, MetricProblem
from convexmetric.solution import Solution

#: Suboptimalities for which the first time within is reported.
MILESTONES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)
#: Text of the ``error`` of a solver that its budget ended.
TIME_IS_UP = "time is up"


@dataclass(frozen=True)
class AuditTrail(Result):
    """Certified suboptimality of the iterates of a solver, against time and passes.

    Attributes
    ----------
    name : str
        Name of the solver.
    seconds : (T,) array
        Time at every iterate, without that of judging; not a number where it is not known.
    passes : (T,) array
        Passes over the data; the number of the iterate, from 1 on, where the solver does not say.
    unit : str
        What ``passes`` counts: ``"passes"``, ``"iterates"`` or ``"iterations"``.
    objectives : (T,) array
        Objective of each iterate, projected on the cone where it is outside; infinite where it violates hard margins.
    violations : (T,) array
        Amount by which the smallest eigenvalue (or weight) of each is below zero; zero where that is rounding.
    lower_bound : float
        Certified lower bound of the reference.
    reference_gap : float
        Relative gap of the reference; infinite where it is no more than a bound.
    M : array or None
        The best iterate, projected; None if there is none.
    error : str
        What ended the solver early: its exception in words, ``"time is up"``, ``"interrupted"``; empty if nothing did.
    """

    name: str
    seconds: Array = field(repr=False)
    passes: Array = field(repr=False)
    unit: str
    objectives: Array = field(repr=False)
    violations: Array = field(repr=False)
    lower_bound: float
    reference_gap: float = np.inf
    M: Array | None = field(default=None, repr=False)
    error: str = ""

    written: ClassVar[tuple[str, ...]] = (
        *("lower_bound", "reference_gap", "error", "unit", "seconds", "passes"),
        *("objectives", "suboptimality", "violations"),
    )

    def to_dict(self) -> dict[str, Any]:
        """Return the trail as JSON has it, with the name of the solver; what is not finite is None."""
        return {**super().to_dict(), "solver": self.name}

    def __len__(self) -> int:
        return len(self.objectives)

    @property
    def suboptimality(self) -> Array:
        """Suboptimality of each iterate, as :func:`~convexmetric.audit` defines it."""
        return np.array([relative_gap(value, self.lower_bound) for value in self.objectives])

    @property
    def best_so_far(self) -> Array:
        """Smallest suboptimality up to each iterate, ``(T,)``."""
        return np.minimum.accumulate(self.suboptimality)

    def first_within(self, suboptimality: float) -> int | None:
        """The first iterate that is at most so far from optimal; None if there is none."""
        near = np.flatnonzero(self.suboptimality <= suboptimality)
        return int(near[0]) if near.size else None

    @classmethod
    def of_solution(
        cls,
        solution: Solution,
        reference: AnyReference = None,
        *,
        name: str | None = None,
    ) -> AuditTrail:
        """Make the trail of a solution of this package: its best metric after each iteration.

        Parameters
        ----------
        solution : Solution
        reference : Solution, Certificate, Reference, estimator or float, optional
            Source of the lower bound; by default the solution itself.
        name : str, optional
            Name of the trail; by default that of the solver.

        Raises
        ------
        InputError
            If the solution has no history, or the reference proves nothing.
        """
        if not isinstance(solution, Solution):
            raise InputError(f"solution must be a Solution, got {type(solution).__name__}")
        if not solution.history:
            raise InputError("solution has no history")
        against = reference_of(solution.problem, solution if reference is None else reference)
        rows = [(p.seconds, p.iteration, p.upper_bound) for p in solution.history]
        seconds, passes, objectives = np.array(rows, dtype=np.float64).T
        name = solution.solver if name is None else name
        return cls(
            name, seconds, passes, solution.unit, objectives, np.zeros_like(objectives), against.lower_bound,
            against.gap, solution.certificate.M,
        )  # fmt: skip

    def rows(self) -> list[tuple[str, str]]:
        """Names and values of the facts, for tables."""
        rows = [("iterates", str(len(self)))]
        if len(self):
            best = int(np.argmin(self.objectives))
            subopt = self.suboptimality
            for name, k, when in (("first", 0, ""), ("last", -1, self._when(-1)), ("best", best, self._when(best))):
                rows.append((name, f"objective {self.objectives[k]:.8g}, suboptimality {subopt[k]:.3g}{when}"))
            for milestone in MILESTONES:
                first = self.first_within(milestone)
                if first is not None:
                    rows.append((f"within {milestone:.0e}", f"from iterate {first + 1} on{self._when(first)}"))
            outside = int(np.sum(self.violations > 0.0))
            if outside:
                rows.append(("outside the cone", f"{outside} iterates, judged by their projections"))
        rows.append(("certified optimum >=", f"{self.lower_bound:.10g}"))
        if self.error:
            rows.append(("ended by", self.error))
        return rows

    def _when(self, k: int) -> str:
        words = []
        if self.unit != "iterates":
            words.append(f"{self.passes[k]:g} {self.unit}")
        if np.isfinite(self.seconds[k]):
            words.append(f"{self.seconds[k]:.3g} s")
        return f" ({', '.join(words)})" if words else ""

    def __str__(self) -> str:
        return "\n".join([self.name, *(f"{name:21}{value}" for name, value in self.rows())])


class TimeIsUpError(Exception):
    """Exception that ends a watched solver whose time is up."""


class Recorder:
    """Recorder that a watched solver calls with every iterate, ``record(M, passes=...)``.

    Parameters
    ----------
    problem : MetricProblem
    max_seconds : float, optional
        Budget of the solver; a call after that ends it by an exception.
    """

    def __init__(self, problem: MetricProblem, max_seconds: float | None = None) -> None:
        self.problem, self.max_seconds = problem, max_seconds
        self.rows: list[tuple[float, float, float, float]] = []
        self.M: Array | None = None
        self.best, self.judging, self._late = np.inf, 0.0, False
        self._start, self._latest = perf_counter(), 0.0

    @property
    def seconds(self) -> float:
        """Seconds of the solver so far, without the evaluation of its iterates."""
        # Rounding of clock differences must not make time run backwards.
        self._latest = max(perf_counter() - self._start - self.judging, self._latest)
        return self._latest

    def __call__(self, M: ArrayLike, passes: float | None = None) -> None:
        """Judge an iterate; the clock stands still meanwhile.

        Raises
        ------
        InputError
            If ``M`` has the wrong shape or entries that are not finite, or passes is not a number.
        """
        start = perf_counter()
        now = self.seconds
        late = self.max_seconds is not None and now >= self.max_seconds
        if late and self._late:
            raise TimeIsUpError
        self._late = late
        try:
            self.judge(now, M, passes)
        finally:
            self.judging += perf_counter() - start
        if late:
            raise TimeIsUpError

    def judge(self, now: float, M: ArrayLike, passes: float | None) -> None:
        """Evaluate an iterate that was shown at a time."""
        count = counted(passes)
        judged, smallest, inside = projected(self.problem, self.problem.from_features(M))
        value = self.problem.value(judged)
        if self.M is None or value < self.best:
            # The solver may reuse the array of an iterate: copy it.
            self.M, self.best = np.array(judged), value
        self.rows.append((now, count, value, 0.0 if inside else -smallest))

    def trail(self, name: str, against: Reference, error: str = "") -> AuditTrail:
        """Make the trail of the iterates recorded so far."""
        seconds, passes, objectives, violations = np.array(self.rows, dtype=np.float64).reshape(-1, 4).T
        known = bool(np.isfinite(passes).all()) and passes.size > 0
        return AuditTrail(
            name=name,
            seconds=seconds,
            passes=passes if known else np.arange(1.0, objectives.size + 1.0),
            unit="passes" if known else "iterates",
            objectives=objectives,
            violations=violations,
            lower_bound=against.lower_bound,
            reference_gap=against.gap,
            M=self.M,
            error=error,
        )


def trace(
    problem: AnyProblem,
    solver: ForeignSolver,
    *,
    reference: AnyReference | KnownProblem | str = None,
    max_seconds: float | None = None,
    name: str | None = None,
) -> AuditTrail:
    """Watch a solver: run it, and judge every iterate it shows.

    Parameters
    ----------
    problem : MetricProblem, Instance or str
        The problem to solve.
    solver : callable
        Called as ``solver(problem, record)``, or as ``solver(problem)`` where it takes no more. It shows iterates by
        ``record(M)`` or ``record(M, passes=...)``, or by yielding ``M`` or ``(M, passes)``; a metric that it returns is
        its last iterate. M is a matrix ``(d, d)``, or weights ``(d,)`` of a diagonal metric. ``record.seconds`` is its
        time so far.
    reference : Solution, Certificate, Reference, estimator, float, Instance or str, optional
        Where the lower bound comes from, as for :func:`~convexmetric.audit`; by default from the instance, or the
        problem is solved to 1e-6 first, outside the clock.
    max_seconds : float, optional
        Budget. The first iterate after that ends the solver, by an exception in ``record``; a solver that shows nothing
        is not ended.
    name : str, optional
        Name of the trail; by default that of the callable.

    Returns
    -------
    AuditTrail
        Trail of all iterates until then, also if the solver failed or was interrupted (see its ``error``).

    Raises
    ------
    InputError
        If the solver is not callable, the budget is not positive, or the reference proves nothing.
    """
    if not callable(solver):
        raise InputError(f"solver must be a callable of the problem and record, got {type(solver).__name__}")
    budget = None if max_seconds is None else checked_weight(max_seconds, "max_seconds")
    problem, bounds = stated(problem, reference)
    against = reference_of(problem, bounds)
    # A first evaluation compiles the risk, outside of the solver's time.
    problem.value(problem.cone.identity())
    record = Recorder(problem, budget)
    error = watched(solver, problem, record)
    own = str(getattr(solver, "__name__", type(solver).__name__))
    return record.trail(own if name is None else name, against, error)


def audit_iterates(
    problem: AnyProblem,
    iterates: Iterable[ArrayLike],
    *,
    seconds: ArrayLike | None = None,
    passes: ArrayLike | None = None,
    reference: AnyReference | KnownProblem | str = None,
    name: str = "iterates",
) -> AuditTrail:
    """Judge iterates from anywhere.

    Parameters
    ----------
    problem : MetricProblem, Instance or str
        The problem that they were meant to solve.
    iterates : (T, d, d) or (T, d) array, or iterable of metrics
        In order.
    seconds, passes : (T,) array, optional
        Time and passes over the data at each; they do not decrease.
    reference : Solution, Certificate, Reference, estimator, float, Instance or str, optional
        Where the lower bound comes from, as for :func:`~convexmetric.audit`; by default from the instance, or the
        problem is solved to 1e-6 first.
    name : str
        Name of the solver.

    Returns
    -------
    AuditTrail
        Trail of all iterates, in order.

    Raises
    ------
    InputError
        If there is no iterate, one is malformed (the message says which), or seconds or passes do not fit.
    """
    if isinstance(iterates, str | bytes | Mapping) or not isinstance(iterates, Iterable):
        raise InputError(f"iterates must be an array (T, d, d) or (T, d) or a list, got {type(iterates).__name__}")
    problem, bounds = stated(problem, reference)
    against, record = reference_of(problem, bounds), Recorder(problem)
    for k, M in enumerate(iterates):
        try:
            record(M)
        except InputError as error:
            raise InputError(f"iterates[{k}]: {error}") from error
    if record.M is None:
        raise InputError("iterates is empty")
    count = len(record.rows)
    known = _ascending(seconds, "seconds", count), _ascending(passes, "passes", count)
    record.rows = [(at, made, *row[2:]) for at, made, row in zip(*known, record.rows, strict=True)]
    return record.trail(name, against)


def watched(solver: ForeignSolver, problem: MetricProblem, record: Recorder, seed: int | None = None) -> str:
    """Run a solver with its recorder; return why it ended early, in words, or an empty text."""
    error = ""
    try:
        called(solver, problem, record, seed)
    except TimeIsUpError:
        error = TIME_IS_UP
    except KeyboardInterrupt:
        error = "interrupted"
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
    return error


def _ascending(values: ArrayLike | None, name: str, count: int) -> Array:
    if values is None:
        return np.full(count, np.nan)
    array = real_array(values, name).ravel()
    if array.size != count:
        raise InputError(f"{name} must have one entry an iterate: there are {count}, got {array.size}")
    if not np.isfinite(array).all() or array.min() < 0.0 or (np.diff(array) < 0.0).any():
        raise InputError(f"{name} must be finite, nonnegative numbers that do not decrease")
    return array


def counted(passes: float | None) -> float:
    """Passes as a number, not a number if they are not told; raises InputError if they are no nonnegative number."""
    if passes is None:
        return np.nan
    if not is_real(passes) or not np.isfinite(passes) or passes < 0:
        raise InputError(f"passes must be a nonnegative number, got {passes!r}")
    return float(passes)
