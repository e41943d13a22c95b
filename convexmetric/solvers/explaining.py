"""Explain beforehand which solvers the default takes for a problem, and why."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill

from convexmetric.arguments import check_seconds
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.solvers.costs import WIDTH, Costs, candidates_within, costs_of
from convexmetric.solvers.routes import ADVICE, Candidate, Candidates
from convexmetric.solvers.runtime import Solver


@dataclass(frozen=True)
class Step:
    """A solver of the default, and why it is taken for a problem or not.

    Attributes
    ----------
    solver : Solver
        With the settings that the default takes: ``cm.solve(problem, solver=step.solver)`` runs it alone.
    why : str
        Why it is taken at its place; if it is not taken, what the problem lacks.
    """

    solver: Solver
    why: str

    @property
    def name(self) -> str:
        """Name to pass as ``solver=``."""
        return self.solver.name


@dataclass(frozen=True)
class Explanation:
    """The solvers that the default takes for a problem, and what a pass and the first of them cost.

    Attributes
    ----------
    title : str
        The problem, in a line.
    steps : tuple of Step
        The solvers that are taken, in order: each goes on from what the one before it found, until the certified gap is
        closed. Empty if none can solve the problem.
    others : tuple of Step
        Those that are not, with the reasons.
    pass_seconds : float or None
        Time of one evaluation of the objective at the Euclidean metric, measured; on some of the parts only, and scaled
        to all of them, where it is long. None if it was not to be measured.
    memory : float or None
        Bytes that the first solver holds at its peak beside the problem, estimated by
        :meth:`Solver.memory <convexmetric.solvers.Solver.memory>`; None where there is no estimate.
    """

    title: str
    steps: tuple[Step, ...]
    others: tuple[Step, ...]
    pass_seconds: float | None
    memory: float | None

    @property
    def chosen(self) -> str | None:
        """Name of the first solver; None if no solver of the default can solve the problem."""
        return self.steps[0].name if self.steps else None

    def __str__(self) -> str:
        steps = [f"  {number}. {step.name:<23}{step.why}" for number, step in enumerate(self.steps, 1)]
        others = [f"     {step.name:<23}{step.why}" for step in self.others]
        if not steps:
            return "\n".join([self.title, "No solver of the default can solve it:", *others, fill(ADVICE, WIDTH)])
        costs = str(Costs(self.steps[0].name, self.pass_seconds, self.memory)).splitlines()
        return "\n".join([self.title, *steps, *(["not taken:"] if others else []), *others, *costs])


def explain(problem: MetricProblem, measure: bool = True, *, max_seconds: float | None = None) -> Explanation:
    """Explain which solvers the default takes for a problem, in which order and why, and what a solve will cost.

    The solvers that are not taken are there with their reasons. Nothing is solved.

    Parameters
    ----------
    problem : MetricProblem
        The problem in question.
    measure : bool
        Measure an evaluation of the objective at the Euclidean metric; without it nothing is evaluated.
    max_seconds : float, optional
        A limit as for :func:`~convexmetric.solve`: where the usual number of passes takes longer, a solver that has a
        certificate by then comes first. To find out, a pass may be measured even without ``measure``.

    Returns
    -------
    Explanation
        A readable text when printed, with fields for programs.

    Raises
    ------
    InputError
        If ``problem`` is not a :class:`MetricProblem`, or ``max_seconds`` is not positive.

    Examples
    --------
    >>> import convexmetric as cm
    >>> explanation = cm.explain(cm.load_problem("ranking-auc-wine-c1"))
    >>> explanation.chosen
    'smoothed-newton'
    >>> [step.name for step in explanation.steps]
    ['smoothed-newton', 'cutting-planes']
    >>> {step.name: step.why for step in explanation.others}["interior-point"]
    'its risk is not a sum of hinges of listed comparisons'
    """
    if not isinstance(problem, MetricProblem):
        raise InputError(f"problem must be a MetricProblem, got {type(problem).__name__}")
    check_seconds(max_seconds, "max_seconds")
    bare = problem.without_constant()
    found = list(candidates_within(Candidates(bare), max_seconds))
    steps = tuple(Step(each.route.solver, each.route.why) for each in found if each.run is not None)
    costs = costs_of(bare, steps[0].solver if steps else None, measure)
    return Explanation(
        title=_title(problem),
        steps=steps,
        others=_not_taken(found),
        pass_seconds=costs.pass_seconds,
        memory=costs.memory,
    )


def _title(problem: MetricProblem) -> str:
    parts, coordinates = f"{problem.risk.parts:,} parts", f"{problem.cone.size:,} coordinates"
    return f"{str(problem).splitlines()[0]}: {parts}, {coordinates}"


def _not_taken(found: list[Candidate]) -> tuple[Step, ...]:
    """A step for every solver that no route takes, with the reasons of all of its routes."""
    taken = {each.route.solver.name for each in found if each.run is not None}
    others: dict[str, tuple[Solver, dict[str, None]]] = {}
    for each in found:
        solver = each.route.solver
        if solver.name not in taken:
            others.setdefault(solver.name, (solver, {}))[1][each.reason] = None
    return tuple(Step(solver, "; ".join(reasons)) for solver, reasons in others.values())
