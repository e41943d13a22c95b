"""Two minutes with the package: one problem solved exactly, other metrics compared with the optimum, one picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from numpy.typing import ArrayLike
from rich.console import Console
from rich.table import Table

from convexmetric.audits import audit, best_scale
from convexmetric.cli.commands import solved
from convexmetric.cli.reports import columned, solution_table
from convexmetric.datasets import load, preprocess
from convexmetric.evaluation import mean_scores
from convexmetric.papers import RankingProblem
from convexmetric.plotting import plot_solution, save_picture
from convexmetric.solution import Solution
from convexmetric.solvers import SmoothedNewton, solve

#: The slack trade-off: large enough for the loss to dominate, and for the bounds to start far apart.
C = 100.0
SUBGRADIENT_STEPS = (10, 100, 1000)

EXPLANATION = (
    "Suboptimality is measured from the certified lower bound. A thousand subgradient steps come near the optimum"
    " but do not know how near: the lower bound that their own subgradients prove lags behind. Newton's method on"
    " smoothed hinges is exact as well, and shares no code with cutting planes but the bound: the two agree."
)


def run_demo(picture: Path, console: Console) -> Solution:
    """Solve ranking AUC on wine exactly, audit other metrics against the optimum, draw the results.

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
    console.print(f"{problem}\n")
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
    before, after = (_mean_score(problem, M) for M in (problem.cone.identity(), solution.M))
    figure.suptitle(
        f"Metric learning to rank on wine: {len(X)} points, {X.shape[1]} features, C = {C:g}.\n"
        f"Mean AUC {before:.3f} before, {after:.3f} after.",
        fontsize="medium",
    )
    save_picture(figure, picture)
    console.print(f"\nPicture: {picture}", soft_wrap=True)
    return solution


def _contenders(problem: RankingProblem) -> Iterator[tuple[str, ArrayLike, Solution | None]]:
    """Yield metrics to be compared with the certified optimum: a name, the metric, and its solution if it has one."""
    identity = problem.cone.identity()
    yield "Euclidean metric", identity, None
    yield "Euclidean, best scale", best_scale(problem, identity).best * identity, None
    for steps in SUBGRADIENT_STEPS:
        descent = solved(problem, 1e-6, quiet=True, solver="subgradient", max_iter=steps)
        yield f"{steps} subgradient steps", descent.M, descent
    # Compile before the clock starts.
    solve(problem, tol=0.5, solver=SmoothedNewton())
    newton = solve(problem, solver=SmoothedNewton())
    yield "smoothed Newton", newton.M, newton


def _comparison(problem: RankingProblem, optimum: Solution) -> Table:
    table = columned("metric", ("objective", "suboptimality\nat most", "own\nproof", "mean\nAUC", "seconds"))
    for name, M, solution in [*_contenders(problem), ("cutting planes", optimum.M, optimum)]:
        verdict = audit(problem, M, reference=optimum)
        table.add_row(
            name,
            f"{verdict.objective:.7g}",
            f"{verdict.suboptimality:.2g}",
            "" if solution is None else f"{solution.gap:.2g}",
            f"{_mean_score(problem, M):.4f}",
            "" if solution is None else f"{solution.seconds:.2f}",
            style="bold" if solution is optimum else None,
        )
    return table


def _mean_score(problem: RankingProblem, M: ArrayLike) -> float:
    """Mean over queries of the measure's score, where the corpus is ranked by the metric ``M``."""
    return mean_scores(problem.rankings, problem.metric(M), [problem.measure])[0]
