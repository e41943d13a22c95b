"""The default: exact solvers take turns until the certified gap is closed, explained and costed beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import ClassVar

import numpy as np

from convexmetric.arguments import check_seconds
from convexmetric.errors import UnsupportedProblemError
from convexmetric.problem import AnyProblem, MetricProblem, as_problem
from convexmetric.solvers.routes import ADVICE, COARSE, ROUTES, Candidate, Candidates, Route, by_forecast, refusal
from convexmetric.solvers.runtime import Monitor, Run, Solver, Steps
from convexmetric.solvers.runtime.costs import costs_text, in_words, pass_seconds
from convexmetric.solvers.turns import Runner, take_turns

#: Characters of a line.
WIDTH = 118
#: What is said where nothing was evaluated.
UNMEASURED = "nothing was evaluated: a solve knows the weight of the penalty, and may begin with another solver"
#: Distances of a pass that takes a small part of a second: up to so many a solve begins with a pass at zero.
SHORT_PASS = 2e6


@dataclass(frozen=True)
class Exact(Solver):
    """Runs the solvers that fit the problem, the one with the shortest forecast first; each keeps what others found.

    Parameters
    ----------
    stages : tuple of Solver, optional
        Run these, one after the other. Default: those of the table in ``convexmetric/solvers/routes.py``, which take
        turns (``turns.py``); :func:`~convexmetric.explain` says which they are for a problem, and why. Before them,
        where the time limit is too short for the passes that a solve takes, sampled cutting planes.
    """

    name: ClassVar[str] = "exact"

    stages: tuple[Solver, ...] | None = None

    def prepare(self, problem: MetricProblem) -> ExactRun:
        """Needs one solver at least that can handle the problem.

        The run resumes with the solver that left a checkpoint.
        """
        routes = ROUTES if self.stages is None else map(Route, self.stages)
        found = Candidates(problem, routes)
        if all(candidate.run is None for candidate in found):
            raise UnsupportedProblemError(refusal(found))
        return ExactRun(found, timed=self.stages is None)


@dataclass(frozen=True)
class ExactRun:
    """A run of the candidates that fit.

    Attributes
    ----------
    found : Candidates
    timed : bool
        Whether candidates take turns by their forecasts, after sampled cutting planes under a short time limit;
        otherwise they run one after the other.
    """

    found: Candidates
    timed: bool

    def within(self, seconds: float | None) -> list[tuple[Route, Run]]:
        """The runs for a time limit in seconds or None, with their routes."""
        found = self.found.within(seconds) if self.timed else self.found
        return [(each.route, each.run) for each in found if each.run is not None]

    def begins(self, seconds: float | None) -> Solver:
        """The solver that begins under a time limit, as far as that is known before anything is evaluated."""
        routes = [route for route, _ in self.within(seconds)]
        if self.timed and routes[0] is not COARSE:
            routes.sort(key=lambda route: route.seconds(self.found.problem, None))
        return routes[0].solver

    def __call__(self, monitor: Monitor) -> Steps:
        """Run them until told to stop; where a solver breaks down, another takes over."""
        problem, fit = self.found.problem, self.within(monitor.seconds_left)
        # One alone needs no forecast.
        if self.timed and len(fit) > 1:
            offer_zero(problem, monitor)
            if monitor.reached:
                return
        found = [
            Runner(route.solver.name, run, route.seconds(problem, monitor.share, monitor.tol)) for route, run in fit
        ]
        yield from take_turns(found, monitor, in_order=not self.timed)


@dataclass(frozen=True)
class Step:
    """A solver of the default, and why it is or is not taken for a problem.

    Attributes
    ----------
    solver : Solver
        With the settings that the default takes: ``cm.solve(problem, solver=step.solver)`` runs it alone.
    why : str
        What it is good at; if it is not taken, what the problem lacks.
    seconds : float or None
        Forecast of its time to a gap of 1e-4, by which solvers are ordered; None if it is not taken, has none, or goes
        first whatever it takes.
    """

    solver: Solver
    why: str
    seconds: float | None = None

    @property
    def name(self) -> str:
        """Name to pass as ``solver=``."""
        return self.solver.name


@dataclass(frozen=True)
class Explanation:
    """The solvers that the default takes for a problem, the time of a pass and the memory of the first solver.

    Attributes
    ----------
    title : str
        The problem, in one line.
    steps : tuple of Step
        The solvers that are taken, in the order of their forecasts: the first begins, and another takes a turn where it
        is expected to end sooner. Empty if none can solve the problem.
    others : tuple of Step
        Those that are not, with the reasons.
    pass_seconds : float or None
        Measured time of one evaluation of the objective at the Euclidean metric; if that is long, it is measured on a
        subset of the parts and extrapolated to all. None if nothing was measured.
    memory : float or None
        Peak memory of the first solver in bytes, in addition to the problem, estimated by :meth:`Solver.memory
        <convexmetric.solvers.Solver.memory>`; None where there is no estimate.
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
        lines = (f"{step.name:<23}{_about(step.seconds):<8}{step.why}" for step in self.steps)
        steps = [f"  {number}. {line}" for number, line in enumerate(lines, 1)]
        others = [f"     {step.name:<23}{step.why}" for step in self.others]
        if not steps:
            return "\n".join([self.title, "No solver of the default can solve it:", *others, fill(ADVICE, WIDTH)])
        costs = costs_text(self.steps[0].name, self.pass_seconds, self.memory).splitlines()
        costs += [UNMEASURED] if self.pass_seconds is None else []
        return "\n".join([self.title, *steps, *(["not taken:"] if others else []), *others, *costs])


def explain(problem: AnyProblem, measure: bool = True, *, max_seconds: float | None = None) -> Explanation:
    """Explain which solvers the default takes for a problem, in which order and why, and what a solve will cost.

    The solvers that are not taken are listed with the reasons. Nothing is solved.

    Parameters
    ----------
    problem : MetricProblem, Instance or str
        The problem in question.
    measure : bool
        Measure an evaluation of the objective at the Euclidean metric, and evaluate it at zero, from which forecasts
        know the weight of the penalty; without it nothing is evaluated, and a solve may begin with another solver.
    max_seconds : float, optional
        A limit as for :func:`~convexmetric.solve`: if the usual number of passes takes longer, a solver that reaches a
        certificate in time comes first. To find out, a pass may be measured even without ``measure``.

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
    'smoothed-low-rank'
    >>> [step.name for step in explanation.steps]
    ['smoothed-low-rank', 'cutting-planes', 'smoothed-newton']
    >>> {step.name: step.why for step in explanation.others}["interior-point"]
    'its risk is not a sum of hinges of listed comparisons'
    """
    problem = as_problem(problem)
    check_seconds(max_seconds, "max_seconds")
    bare = problem.without_constant()
    monitor = Monitor(tol=1e-4, max_seconds=max_seconds, problem=problem)
    if measure:
        offer_zero(bare, monitor)
    found = list(Candidates(bare, by_forecast(bare, monitor.share)).within(max_seconds))
    steps = tuple(
        Step(each.route.solver, each.route.why, _finite(each.route.seconds(bare, monitor.share)))
        for each in found
        if each.run is not None
    )
    return Explanation(
        title=f"{str(problem).splitlines()[0]}: {problem.risk.parts:,} parts, {problem.cone.size:,} coordinates",
        steps=steps,
        others=_not_taken(found),
        pass_seconds=pass_seconds(bare) if measure else None,
        memory=steps[0].solver.memory(bare) if steps else None,
    )


def _not_taken(found: list[Candidate]) -> tuple[Step, ...]:
    """A step for every solver that no route takes, in the order of the table, with the reasons of all of its routes."""
    reasons = {each.route: each.reason for each in found if each.run is None}
    taken = {each.route.solver.name for each in found if each.run is not None}
    others: dict[str, tuple[Solver, dict[str, None]]] = {}
    for route in ROUTES:
        if route in reasons and route.solver.name not in taken:
            others.setdefault(route.solver.name, (route.solver, {}))[1][reasons[route]] = None
    return tuple(Step(solver, "; ".join(said)) for solver, said in others.values())


def offer_zero(problem: MetricProblem, monitor: Monitor) -> None:
    """Offer the metric zero, or the prior, and the plane there, unless a pass takes long or its bound is a search."""
    risk, prior = problem.risk, None if monitor.problem is None else monitor.problem.regularizer.prior
    # Slopes of norms are searched for, and whatever the share, one solver is far ahead of the others beside norms.
    norms, most = problem.regularizer.chain(problem.cone)[0], SHORT_PASS * min(1.0, monitor.max_seconds or 1.0)
    if monitor.M is not None or norms or risk.hard or not risk.points or risk.distances > most:
        return
    if problem.held_by_data_alone:
        # Without a penalty its share is known.
        monitor.share = 0.0
        return
    M = problem.cone.zeros() if prior is None else risk.repair(problem.cone.project(prior))
    value = problem.value(M)
    if 0.0 < value - problem.penalty(M) < np.inf:
        monitor.tangent(problem, M, value)


def _finite(seconds: float) -> float | None:
    return seconds if 0.0 < seconds < np.inf else None


def _about(seconds: float | None) -> str:
    return "" if seconds is None else f"~{in_words(float(f'{seconds:.1g}'))}"
