"""What the default does with a problem, and why, before it does it."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from time import perf_counter

from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.risks import Reason
from convexmetric.solvers.routes import ADVICE, Leg, legs
from convexmetric.solvers.run import Solver
from convexmetric.threads import shared_cores

__all__ = ["Explanation", "Step", "explain"]

#: Characters of a line.
WIDTH = 118


@dataclass(frozen=True)
class Step:
    """A solver that the default knows, and what becomes of it for one problem.

    Attributes
    ----------
    solver : Solver
        With the settings that the default takes: ``cm.solve(problem, solver=step.solver)`` runs it alone.
    why : str
        Why it is taken where it is; of one that is not taken, what the problem lacks.
    """

    solver: Solver
    why: str

    @property
    def name(self) -> str:
        """What a user types for ``solver=``."""
        return self.solver.name


@dataclass(frozen=True)
class Explanation:
    """Which solvers the default takes for a problem, and what a pass and the first of them cost.

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
        Time of one evaluation of the objective at the Euclidean metric, measured after another one that loads compiled
        code; None if it was not to be measured.
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
        return "\n".join([self.title, *steps, *(["not taken:"] if others else []), *others, *self._costs()])

    def _costs(self) -> list[str]:
        """What is known of them, in a line."""
        costs = []
        if self.pass_seconds is not None:
            costs.append(f"one evaluation of the objective takes {_seconds(self.pass_seconds)} (measured)")
        if self.memory is not None:
            costs.append(f"{self.chosen} needs about {_bytes(self.memory)} beside the data (estimated)")
        return ["; ".join(costs)] if costs else []


def explain(problem: MetricProblem, measure: bool = True) -> Explanation:
    """Which solvers the default takes for a problem, in which order and why, and why it does not take the others.

    Nothing is solved.

    Parameters
    ----------
    problem : MetricProblem
        What would be solved.
    measure : bool
        Evaluate the objective twice at the Euclidean metric, and say how long the second one took.

    Returns
    -------
    Explanation
        For people when printed; its fields are for programs.

    Raises
    ------
    InputError
        If ``problem`` is not a :class:`MetricProblem`.

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
    bare = problem.without_constant()
    found = legs(bare)
    steps = tuple(Step(leg.route.solver, leg.route.why) for leg in found if not isinstance(leg.run, Reason))
    return Explanation(
        title=_title(problem),
        steps=steps,
        others=_not_taken(found),
        pass_seconds=_pass_seconds(bare) if measure else None,
        memory=steps[0].solver.memory(bare) if steps else None,
    )


def _title(problem: MetricProblem) -> str:
    parts, coordinates = f"{problem.risk.parts:,} parts", f"{problem.cone.size:,} coordinates"
    return f"{str(problem).splitlines()[0]}: {parts}, {coordinates}"


def _not_taken(found: list[Leg]) -> tuple[Step, ...]:
    """A step for every solver that no route takes, with the reasons of all of its routes."""
    taken = {leg.route.solver.name for leg in found if not isinstance(leg.run, Reason)}
    solvers: dict[str, Solver] = {}
    reasons: dict[str, list[str]] = {}
    for leg in found:
        name = leg.route.solver.name
        if isinstance(leg.run, Reason) and name not in taken:
            solvers.setdefault(name, leg.route.solver)
            said = reasons.setdefault(name, [])
            if leg.run not in said:
                said.append(str(leg.run))
    return tuple(Step(solver, "; ".join(reasons[name])) for name, solver in solvers.items())


def _pass_seconds(problem: MetricProblem) -> float:
    identity = problem.cone.identity()
    with shared_cores():
        problem.objective(identity)
        start = perf_counter()
        problem.objective(identity)
        return perf_counter() - start


def _seconds(seconds: float) -> str:
    return f"{1e3 * seconds:.2g} ms" if seconds < 0.1 else f"{seconds:.2g} s"


def _bytes(size: float) -> str:
    return f"{size / 1e9:.2g} GB" if size >= 1e9 else f"{max(1.0, size / 1e6):.0f} MB"
