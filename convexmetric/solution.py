"""The result of a solve: a metric, its certificate, and how it was reached."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from convexmetric.arrays import Array, Result
from convexmetric.certificates import Certificate
from convexmetric.notebooks import facts_table
from convexmetric.problem import MetricProblem
from convexmetric.risks import Ranking

__all__ = ["Progress", "Solution", "Status"]

#: Why a solve ended. Only ``optimal`` means that the certified gap is at most ``tol``, or ``atol`` where that is given.
Status = Literal["optimal", "max_iter", "max_seconds", "interrupted", "stalled"]


@dataclass(frozen=True)
class Progress:
    """The state of a solve after one iteration; the entries of ``Solution.history``.

    Attributes
    ----------
    iteration : int
        Iterations so far (oracle passes, for cutting planes).
    seconds : float
        Wall time since the solve began.
    upper_bound, lower_bound, gap : float
        Best bounds so far, as evaluated, and their relative gap; what rounding takes from them is in the certificate.
    details : dict
        Further numbers of the solver, such as the number of cuts.
    """

    iteration: int
    seconds: float
    upper_bound: float
    lower_bound: float
    gap: float
    details: dict[str, float] = field(default_factory=dict)


class Turn(NamedTuple):
    """A turn of a solver of the default: its seconds, compiling apart, and the relative gaps before and after it."""

    solver: str
    seconds: float
    gap_before: float
    gap_after: float


@dataclass(frozen=True, repr=False)
class Solution(Result):
    """The best certified metric a solver found.

    Attributes
    ----------
    problem : MetricProblem
        What was solved.
    certificate : Certificate
        Bounds and the points that prove them.
    status : str
        ``"optimal"`` if the certified gap is at most ``tol``, or the bounds differ by at most ``atol``; else why the
        solve ended: ``"max_iter"``, ``"max_seconds"``, ``"interrupted"`` or ``"stalled"``.
    tol : float
        Relative gap that was asked for.
    history : list of Progress
        One entry an iteration.
    seconds : float
        Wall time.
    solver : str
        Name of the solver.
    atol : float
        Absolute gap that was asked for.
    unit : str
        What the solver's iterations are: ``"passes"`` of the oracle over all data, or ``"iterations"``.
    keyboard_interrupt : bool
        Whether Ctrl-C ended the solve. A loop over solves should stop as well: :meth:`pass_on_interrupt`.
    turns : tuple of Turn
        Which solvers of the default ran, in order: their seconds, and the gaps before and after.
    """

    problem: MetricProblem = field(repr=False)
    certificate: Certificate
    status: Status
    tol: float
    history: list[Progress] = field(repr=False)
    seconds: float
    solver: str
    atol: float = 0.0
    unit: str = "iterations"
    keyboard_interrupt: bool = False
    turns: tuple[Turn, ...] = field(default=(), repr=False)

    written: ClassVar[tuple[str, ...]] = (
        *("status", "solver", "tol", "lower_bound", "upper_bound", "gap"),
        *("iterations", "seconds", "rank"),
    )

    def pass_on_interrupt(self) -> None:
        """Raise the ``KeyboardInterrupt`` that ended the solve, if one did.

        :func:`solve` catches it to return what was found. In a loop over solves, call this after each, so that Ctrl-C
        ends the loop.
        """
        if self.keyboard_interrupt:
            raise KeyboardInterrupt

    @cached_property
    def M(self) -> Any:
        """The metric as a full matrix on the features of the data.

        A sparse matrix for diagonal metrics of sparse points, or of more than 10,000 features.
        """
        return self.problem.full_matrix(self.certificate.M)

    @cached_property
    def components(self) -> Any:
        """A factor ``L`` of the metric, ``(rank, features)``, sparse as ``M``: distances are ``||L x - L x'||^2``."""
        return self.problem.components(self.certificate.M)

    @cached_property
    def working_set(self) -> list[Ranking]:
        """The rankings that prove the lower bound: the most violated ones that the solver found, with weight.

        ``problem.to_cvxpy(rankings=solution.working_set)`` is the master problem that they make; its optimum is between
        the bounds.

        Raises
        ------
        AttributeError
            If the problem is not one of rankings.
        InputError
            If the lower bound is not made of rankings.
        """
        return self.problem.working_set(self.certificate.dual)

    @property
    def w(self) -> Array:
        """Weights of a diagonal metric."""
        if not self.problem.cone.diagonal:
            raise AttributeError("this problem learns a full matrix, not weights: use .M")
        return self.problem.weights(self.certificate.M)

    @property
    def upper_bound(self) -> float:
        """Objective at the metric."""
        return self.certificate.upper_bound

    @property
    def lower_bound(self) -> float:
        """Certified lower bound on the optimal value."""
        return self.certificate.lower_bound

    @property
    def gap(self) -> float:
        """Certified relative gap."""
        return self.certificate.gap

    @property
    def nearly_zero(self) -> bool:
        """Whether the solve is optimal by ``atol`` alone: next to an optimum of zero there is no relative gap."""
        return self.status == "optimal" and self.gap > self.tol

    @property
    def rounding(self) -> float:
        """By how much the bounds were moved apart for rounding: an estimate from the magnitudes met."""
        return self.certificate.rounding

    @property
    def iterations(self) -> int:
        """Number of iterations (oracle passes, for cutting planes)."""
        return self.history[-1].iteration if self.history else 0

    @property
    def rank(self) -> int:
        """Eigenvalues (or weights) above 1e-6 of the largest one."""
        spectrum = self.problem.cone.spectrum(self.certificate.M)
        return int(np.sum(spectrum > 1e-6 * spectrum[0])) if spectrum[0] > 0 else 0

    def __repr__(self) -> str:
        return (
            f"<Solution: {self.status} by {self.solver}, objective {self.upper_bound:.6g}, "
            f"certified gap {max(0.0, self.gap):.1e}>"
        )

    def _repr_html_(self) -> str:
        kind = "weights" if self.problem.cone.diagonal else "matrix"
        return facts_table(
            f"Solution of a {type(self.problem).__name__}",
            [
                ("status", f"{self.status} by {self.solver}, {self.iterations} {self.unit}, {self.seconds:.2f} s"),
                ("objective", f"{self.upper_bound:.10g}"),
                ("certified optimum >=", f"{self.lower_bound:.10g}"),
                ("certified gap", f"{max(0.0, self.gap):.1e} (tol {self.tol:g}), grade {self.certificate.grade}"),
                ("metric", f"{kind} of {self.problem.cone.d} coordinates, {self._metric_text}"),
            ],
        )

    def __str__(self) -> str:
        return (
            f"{self.status} by {self.solver} in {self.iterations} iterations, {self.seconds:.2f} s\n"
            f"{self.certificate}\n{self._metric_text}"
        )

    @property
    def _metric_text(self) -> str:
        """The rank, or what to do about a metric of zero."""
        if self.status != "optimal" or self.certificate.M.any():
            return f"rank {self.rank}"
        return (
            "the metric zero is optimal: the penalty outweighs all that the data ask for; lower its weight (reg), or "
            "raise that of the risk (C)"
        )
