"""Two minutes with the package: one problem solved exactly, other metrics held against the optimum, one picture."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from numpy.typing import ArrayLike
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from convexmetric.audits import audit, best_scale
from convexmetric.cli.reports import solution_table
from convexmetric.datasets import load, preprocess
from convexmetric.errors import GapWarning
from convexmetric.evaluation import mean_scores
from convexmetric.papers import RankingProblem
from convexmetric.plotting import plot_solution, save_picture
from convexmetric.solution import Solution
from convexmetric.solvers import SmoothedNewton, solve

#: The slack trade-off: large enough for the loss to rule, and for the bounds to start far apart.
C = 100.0
SUBGRADIENT_STEPS = (10, 100, 1000)

EXPLANATION = (
    "Suboptimality is measured from the certified lower bound. A thousand subgradient steps come near the optimum"
    " but do not know how near: the lower bound that their own subgradients prove lags behind. Newton's method on"
    " smoothed hinges is exact as well, and shares no code with cutting planes but the bound: the two agree."
)


@dataclass(frozen=True)
class Contender:
    """A metric to be compared with the certified optimum.

    Attributes
    ----------
    name : str
    M : array
    gap : float or None
        Relative gap that its own solver could certify, if it came from one.
    seconds : float or None
    """

    name: str
    M: ArrayLike
    gap: float | None = None
    seconds: float | None = None


def run_demo(picture: Path, console: Console) -> Solution:
    """Solve ranking AUC on wine exactly, audit other metrics against the optimum, draw what happened.

    Parameters
    ----------
    picture : path
        Where to write the picture.
    console : rich.console.Console
        Where to print; the progress bar goes to standard error.
    """
    data = load("wine")
    assert data.y is not None
    X = preprocess(data.X, ["zscore"])
    problem = RankingProblem.from_labels(X, data.y, measure="auc", C=C)
    console.print(str(problem))
    console.print()
    # The first evaluation compiles the oracle, which is not to be timed.
    problem.value(problem.cone.identity())

    solution = solve(problem, solver="cutting-planes", progress=True)
    console.print(solution_table(solution))
    if solution.status == "interrupted":
        return solution
    console.print()
    console.print(_comparison(problem, solution))
    console.print(EXPLANATION)
    figure = plot_solution(solution, X, y=data.y, target_names=data.target_names)
    before, after = mean_score(problem, problem.cone.identity()), mean_score(problem, solution.M)
    figure.suptitle(
        f"Metric learning to rank on wine: {len(X)} points, {X.shape[1]} features, C = {C:g}."
        f" Mean AUC {before:.3f} before, {after:.3f} after.",
        fontsize="large",
    )
    save_picture(figure, picture)
    console.print(f"\nPicture: {picture}", soft_wrap=True)
    return solution


def mean_score(problem: RankingProblem, M: ArrayLike) -> float:
    """Mean over queries of the measure's score, where the corpus is ranked by the metric ``M``."""
    return mean_scores(problem.rankings, problem.metric(M), [problem.measure])[0]


def _contenders(problem: RankingProblem) -> list[Contender]:
    identity = problem.cone.identity()
    scale = best_scale(problem, identity).best
    contenders = [Contender("Euclidean metric", identity), Contender("Euclidean, best scale", scale * identity)]
    for steps in SUBGRADIENT_STEPS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GapWarning)
            descent = solve(problem, solver="subgradient", max_iter=steps)
        contenders.append(Contender(f"{steps} subgradient steps", descent.M, descent.gap, descent.seconds))
    # Compile before the clock starts.
    solve(problem, tol=0.5, solver=SmoothedNewton())
    newton = solve(problem, solver=SmoothedNewton())
    contenders.append(Contender("smoothed Newton", newton.M, newton.gap, newton.seconds))
    return contenders


def _comparison(problem: RankingProblem, solution: Solution) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("metric", no_wrap=True)
    for heading in ("objective", "suboptimality\nat most", "own\nproof", "mean\nAUC", "seconds"):
        table.add_column(heading, justify="right")
    exact = Contender("cutting planes", solution.M, solution.gap, solution.seconds)
    for contender in [*_contenders(problem), exact]:
        verdict = audit(problem, contender.M, reference=solution)
        table.add_row(
            contender.name,
            f"{verdict.objective:.7g}",
            f"{verdict.suboptimality:.2g}",
            "" if contender.gap is None else f"{contender.gap:.2g}",
            f"{mean_score(problem, contender.M):.4f}",
            "" if contender.seconds is None else f"{contender.seconds:.2f}",
            style="bold" if contender is exact else None,
        )
    return table
