"""The contract of a solver, and the record it keeps while it runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from convexmetric.arguments import check_count, check_flag, check_positive_number
from convexmetric.arrays import Array
from convexmetric.certificates import Certificate, relative_gap
from convexmetric.certificates.certificate import certify_metric, close_enough, with_dual
from convexmetric.errors import DualError, InputError, UnsupportedProblemError
from convexmetric.problem import MetricProblem
from convexmetric.risks import Minorant, tangent_dual
from convexmetric.solution import Progress, Status, Turn
from convexmetric.solvers.runtime.checkpoint import Checkpoint, State

if TYPE_CHECKING:
    from convexmetric.solvers.runtime.display import ProgressBar


@dataclass(eq=False, repr=False)
class Monitor:
    """Best points and bounds so far, history, and the decision to stop.

    A solver offers every metric and every dual bound it has with :meth:`primal` and :meth:`dual`, and yields once an
    iteration; ``drive`` then calls :meth:`iterate`, which says when to stop. An interrupt loses no offer. Without a
    ``problem``, for a solve within another one, the offers are taken at their word, and nothing is certified.
    """

    tol: float
    max_iter: int | None = None
    max_seconds: float | None = None
    callback: Callable[[Progress], Any] | None = None
    display: ProgressBar | None = None
    checkpoint: Checkpoint | None = None
    problem: MetricProblem | None = None
    atol: float = 0.0

    def __post_init__(self) -> None:
        #: Constant of the objective: solvers work without it, gaps and history include it.
        self._constant = 0.0 if self.problem is None else self.problem.offset
        self._certified: tuple[Any, Any, Certificate] | None = None
        self._checked = self.problem is None
        self.history: list[Progress] = []
        self.status: Status = "stalled"
        self.stopped = False
        #: Whether Ctrl-C ended the solve.
        self.keyboard_interrupt = False
        self.caller_failed = False
        self.solver = ""
        #: Turns of the solvers of the default.
        self.turns: list[Turn] = []
        #: Lower bound over risk at the metric zero, or the prior, where that was evaluated: the weight of the penalty
        #: as a share of the one at which that metric is optimal.
        self.share: float | None = None
        #: What an iteration of the running solver is: ``"iterations"`` or ``"passes"``.
        self.unit = "iterations"
        self.M: Array | None = None
        self.upper_bound = np.inf
        self.lower_bound = -np.inf
        #: Whether the metric zero has been offered.
        self.zero_offered = False
        #: The best metric whose objective the problem's own risk gave in this run, and that objective.
        self.evaluated: tuple[Array, float] | None = None
        #: Metric from a sample of the data, or from the caller, to fall back on until one is evaluated on all data.
        self.suggestion: Array | None = None
        self._dual: Callable[[], Any] | None = None
        #: Minorant of the best dual point, if the risk computed its cuts in this run.
        self.sums: Minorant | None = None
        #: The solver that wrote the checkpoint, its arrays, and a function that returns those of the running solver.
        self.resumed_from = ""
        self.resumed: dict[str, np.ndarray] = {}
        self.state: Callable[[], dict[str, np.ndarray]] = dict
        self._begun = False
        self._start = perf_counter()

    @property
    def gap(self) -> float:
        """Relative gap of the best bounds so far."""
        return relative_gap(self.upper_bound + self._constant, self.lower_bound + self._constant)

    @property
    def size(self) -> float:
        """Denominator of the relative gap: the larger absolute value of the bounds that are finite."""
        ends = (abs(end + self._constant) for end in (self.upper_bound, self.lower_bound))
        return max((end for end in ends if np.isfinite(end)), default=np.inf)

    @property
    def reached(self) -> bool:
        """Whether the gap is within the tolerances, also in the certificate, which accounts for rounding."""
        if not (self.gap <= self.tol or self.upper_bound - self.lower_bound <= self.atol):
            return False
        if self.problem is None or close_enough(self.certificate(), self.tol, self.atol):
            return True
        if self.certificate().lower_bound == -np.inf:
            # On the boundary of feasibility rounding decides: a dual point left without a bound must not block a later
            # one.
            self._dual, self.sums, self.lower_bound = None, None, -np.inf
        return False

    def certificate(self) -> Certificate:
        """Certificate of the best points so far, cached until one of them changes.

        What the risk itself made in this run is bounded as it is: the objective at the best metric, and the sum of
        weighted cuts, which need an oracle pass for every metric they were made at. ``certify`` recomputes them.
        """
        before = self._certified
        if before is None or before[0] is not self.M or before[1] is not self._dual:
            assert self.problem is not None
            assert self.M is not None
            known = self.upper_bound if self.evaluated is not None and self.evaluated[0] is self.M else None
            upper, dual, point = certify_metric(self.problem, self.M, known), self.dual_point, self.certain_sums
            point = self.problem.risk.minorant(dual) if point is None else point
            self._certified = before = self.M, self._dual, with_dual(self.problem, upper, dual, point)
        return before[2]

    @property
    def certain_sums(self) -> Minorant | None:
        """Minorant of the best dual point, if it is known together with what bounds its rounding."""
        needed = self.problem is not None and bool(self.problem.risk.points)
        return None if self.sums is not None and self.sums.weight is None and needed else self.sums

    @property
    def seconds(self) -> float:
        """Wall time so far."""
        return perf_counter() - self._start

    def pause(self, seconds: float) -> None:
        """Exclude from the solve's time ``seconds`` that have just been spent elsewhere."""
        self._start += seconds

    @property
    def seconds_left(self) -> float | None:
        """Wall time until the limit, at least 0; None without a limit."""
        return None if self.max_seconds is None else max(0.0, self.max_seconds - self.seconds)

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit has passed."""
        return self.seconds_left == 0.0

    @property
    def cut_short(self) -> bool:
        """Whether the time limit or Ctrl-C ended the solve, which leaves little time for the certificate."""
        return self.stopped and (self.status == "max_seconds" or self.keyboard_interrupt)

    @property
    def dual_point(self) -> Any:
        """The dual point of the best lower bound, or None."""
        return None if self._dual is None else self._dual()

    def primal(self, M: Array, value: float, by_risk: bool = False) -> bool:
        """Offer a metric of the cone with its objective; True if it is the best so far.

        ``by_risk`` means that the problem's own risk was evaluated at this very metric in this run. If no time is left
        to evaluate it again for the certificate, this value is used.
        """
        if np.isnan(value):
            self._check_numbers()
        self.zero_offered = self.zero_offered or not M.any()
        if by_risk and np.isfinite(value) and (self.evaluated is None or value < self.evaluated[1]):
            self.evaluated = M, value
        if np.isnan(value) or (self.M is not None and not value < self.upper_bound):
            return False
        self.M, self.upper_bound = M, value
        return True

    def dual(self, bound: float, point: Callable[[], Any], sums: Minorant | None = None) -> bool:
        """Offer a lower bound and a factory of its dual point; True if it is the best so far.

        ``sums`` is the minorant of the dual point, given if the risk computed its cuts in this run: the certificate
        then need not recompute them.
        """
        if not np.isfinite(bound):
            self._check_numbers()
        if np.isnan(bound) or (self._dual is not None and not bound > self.lower_bound):
            return False
        self._dual, self.lower_bound, self.sums = point, bound, sums
        return True

    def proven(self, problem: MetricProblem, point: Minorant, M: Array, dual: Callable[[], Any]) -> bool:
        """Offer the lower bound that a minorant proves, and a factory of its dual point; M is near the optimum."""
        return self.dual(problem.bound(point.value, point.S, M), dual, point)

    def tangent(self, problem: MetricProblem, M: Array, value: float) -> None:
        """Offer zero or the prior, optimal under a large penalty, with the plane there; find the penalty's share."""
        self.primal(M, value, by_risk=True)
        dual = tangent_dual(problem.risk, M)
        point = problem.risk.minorant(dual)
        if point is None:
            return
        # Slopes of norms are searched for once, and again in no certificate.
        point = replace(point, slopes=problem.settled(point, M))
        bound, by_risk = problem.holding(point.slopes).bound(point.value, point.S, M), value - problem.penalty(M)
        self.dual(bound, lambda: dual, point)
        if by_risk > 0.0:
            share = 1.0 + (bound - value) / by_risk
            # Beside a linear term no multiple of the plane is looked for, and the best one would prove this.
            self.share = share if share >= 0.0 else 0.25 / (1.0 - share)

    def _asked(self, progress: Progress) -> bool:
        """Call the callback; True if it asks to stop. Mark its errors as the caller's."""
        assert self.callback is not None
        try:
            return bool(self.callback(progress))
        except Exception:
            self.caller_failed = True
            raise

    def _check_numbers(self) -> None:
        """Check, on the first NaN or infinite offer, whether a block of the problem returns NaN."""
        if not self._checked and self.problem is not None:
            self._checked = True
            self.problem.check_numbers()

    def begin(self, problem: MetricProblem, M: Array, dual: Any) -> None:
        """Start from the caller's metric and dual point, bounds computed anew, if the metric is better than zero."""
        self.suggestion = M
        value = problem.value(M)
        if not value < problem.value(problem.cone.zeros()):
            return
        self._begun = self.primal(M, value, by_risk=True)
        # Dual points of other data may have another shape, and are ignored then.
        with suppress(DualError):
            if dual is not None:
                self.dual(problem.dual_bound(dual, hint=M), lambda: dual)

    @property
    def start(self) -> Array | None:
        """The best metric so far, if the caller's start is in use; None if solvers choose their own."""
        return self.M if self._begun else None

    def resume(self, problem: MetricProblem, state: State) -> None:
        """Resume from a checkpoint; its bounds are computed anew.

        Raises
        ------
        InputError
            If the dual point does not fit the problem.
        """
        M = problem.cone.project(state.M) if problem.cone.violation(state.M) > 0.0 else state.M
        self.suggestion = M = problem.risk.repair(M)
        self.primal(M, problem.value(M), by_risk=True)
        if state.dual is not None:
            try:
                bound = problem.dual_bound(state.dual, hint=M)
            except DualError as error:
                raise InputError(f"the checkpoint is damaged ({error}); remove it to start again") from error
            self.dual(bound, lambda: state.dual)
        self.history, self.resumed = state.history, state.arrays
        self.solver = self.resumed_from = state.solver
        self._start -= state.seconds

    def left_by(self, solver: str, shapes: Mapping[str, tuple[int | None, ...] | None]) -> dict[str, np.ndarray]:
        """Return the arrays that this solver stored in the checkpoint being resumed; empty if there are none.

        Parameters
        ----------
        solver : str
            Name of the solver.
        shapes : dict
            Expected shape of every array; None for an axis of any length. ``()`` expects a positive number, and None in
            place of a shape any number. Integer arrays, and an array named ``numbers``, must be nonnegative.

        Raises
        ------
        InputError
            If an array is missing, has another shape (as with other settings), or holds NaN or infinite entries.
        """
        if self.resumed_from != solver or not self.resumed:
            return {}
        found: dict[str, np.ndarray] = {}
        for key, shape in shapes.items():
            if key not in self.resumed or self.resumed[key].dtype.kind not in "fiu":
                raise InputError(f"the checkpoint's state of {solver} is damaged (no {key}); remove it to start again")
            array = self.resumed[key]
            array = array if array.dtype.kind in "iu" else np.asarray(array, dtype=np.float64)
            axes = shape or ()
            fits = array.ndim == len(axes) and all(n in (None, m) for n, m in zip(axes, array.shape, strict=True))
            if not fits or not np.isfinite(array).all():
                raise InputError(
                    f"the checkpoint's {key} has another number or length, or is damaged; "
                    "remove it to start again, or keep to the settings it was made with"
                )
            counts = array.dtype.kind in "iu" or key == "numbers"
            if (shape == () and not array > 0) or (counts and array.min(initial=0) < 0):
                raise InputError(f"the checkpoint's state of {solver} is damaged ({key}); remove it to start again")
            found[key] = array
        return found

    def save(self) -> None:
        """Write the checkpoint, if there is one and a metric is known."""
        if self.checkpoint is not None and self.M is not None:
            state = State(self.M, self.dual_point, self.history, self.seconds, self.solver, self.state())
            self.checkpoint.write(state)

    def end(self, status: Status) -> None:
        """Mark the solve as cut short, perhaps in the middle of a pass."""
        self.status, self.stopped = status, True

    def record(self, **details: float) -> Progress:
        """Append an entry to the history, and return it."""
        number = self.history[-1].iteration + 1 if self.history else 1
        upper, lower = self.upper_bound + self._constant, self.lower_bound + self._constant
        progress = Progress(number, self.seconds, upper, lower, self.gap, details)
        self.history.append(progress)
        return progress

    def iterate(self, **details: float) -> bool:
        """Record one iteration; True if the solver must stop."""
        progress = self.record(**details)
        if self.display is not None:
            self.display.update(progress)
        if self.checkpoint is not None and self.checkpoint.due:
            self.save()
        stopped_by_caller = self.callback is not None and self._asked(progress)
        if self.reached:
            self.status = "optimal"
        elif stopped_by_caller:
            self.status = "interrupted"
        elif self.max_iter is not None and progress.iteration >= self.max_iter:
            self.status = "max_iter"
        elif self.out_of_time:
            self.status = "max_seconds"
        else:
            return False
        self.stopped = True
        return True


#: Numbers that a solver reports of an iteration, for the history.
Details = Mapping[str, float]
#: A solve under way, which offers points to a monitor and yields after every iteration.
Steps = Generator[Details, None, None]
#: A prepared solve. It does not ask when to stop: whoever drives it pauses it, or leaves it, where it yields. A run
#: without iterations may return None.
Run = Callable[[Monitor], Steps | None]


def drive(steps: Steps | None, monitor: Monitor) -> None:
    """Take steps until the monitor says stop, or nothing more can be gained."""
    for details in steps or ():
        if monitor.iterate(**details):
            break
    if steps is not None:
        steps.close()


class Solver(ABC):
    """An algorithm with its settings."""

    #: Name for ``solver=``.
    name: ClassVar[str]

    @abstractmethod
    def prepare(self, problem: MetricProblem) -> Run:
        """Prepare a run on a problem.

        This only derives the forms of the problem that the run needs, in negligible time; the run does the work.

        Raises
        ------
        UnsupportedProblemError
            If this solver cannot handle ``problem``; the message is a clause such as "its metrics are diagonal".
        """

    def memory(self, problem: MetricProblem) -> float | None:
        """Estimate the peak memory of a run in bytes, in addition to the problem, to about a factor of two.

        For a problem that the solver can handle; it adds up the sizes of the largest arrays. None without an estimate.
        """
        return None

    def unsupported(self, problem: MetricProblem) -> str | None:
        """Return why this solver cannot handle ``problem``, by the check that ``solve`` makes; None if it can."""
        try:
            self.prepare(problem.without_constant())
        except UnsupportedProblemError as error:
            return str(error)
        return None


def check_counts(settings: object, *names: str) -> None:
    """Raise an :class:`~convexmetric.errors.InputError` unless these settings are positive integers."""
    for name in names:
        check_count(getattr(settings, name), name)


def check_flags(settings: object, *names: str) -> None:
    """Raise an :class:`~convexmetric.errors.InputError` unless these settings are True or False."""
    for name in names:
        check_flag(getattr(settings, name), name)


def check_positive(settings: object, *names: str) -> None:
    """Raise an :class:`~convexmetric.errors.InputError` unless these settings are positive finite numbers."""
    for name in names:
        check_positive_number(getattr(settings, name), name)
