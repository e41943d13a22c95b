"""Constraints of your own: which metrics are optimal when some of them are not allowed?

    python examples/constrained_metric.py

Metric learning to rank on wine (McFee & Lanckriet 2010, AUC), five times: as the paper states it, then with
constraints and terms that a user writes in CVXPY. The table says what each costs: the optimum of the constrained
problem is certified too, and the grade of its certificate tells whether part of the proof rests on the conic solver.
The picture shows the five metrics.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

import convexmetric as cm
from convexmetric.evaluation import mean_scores
from convexmetric.plotting import panels, save_picture

#: The features of the wine data, in order.
NAMES = [
    "alcohol", "malic acid", "ash", "alcalinity", "magnesium", "phenols", "flavanoids", "nonflavanoid phenols",
    "proanthocyanins", "colour", "hue", "dilution", "proline",
]  # fmt: skip


def cases(names: list[str]) -> dict[str, dict[str, Callable[[cp.Variable], Any]]]:
    """Title and arguments of ``solve`` for each case."""
    colour = [names.index("colour"), names.index("hue")]
    phenols = [i for i, name in enumerate(names) if "phenols" in name or name in ("flavanoids", "proanthocyanins")]
    rest = [i for i in range(len(names)) if i not in phenols]
    return {
        "as the paper states it": {},
        "blind to colour": {"constraints": lambda M: [M[colour, :] == 0]},
        "phenols apart": {"constraints": lambda M: [M[np.ix_(phenols, rest)] == 0]},
        "no pair above 0.02": {"constraints": lambda M: [cp.abs(M - cp.diag(cp.diag(M))) <= 0.02]},
        "few entries": {"extra_objective": lambda M: cp.sum(cp.abs(M))},
    }


def main() -> None:
    """Solve, print what each constraint costs, and draw the metrics."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--C", type=float, default=10.0)
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--plot", type=Path, default=Path("constrained-metric.png"))
    arguments = parser.parse_args()

    data = cm.datasets.load("wine")
    X = cm.datasets.preprocess(data.X, ["zscore"])
    problem = cm.RankingProblem.from_labels(X, data.y, C=arguments.C)
    solutions = {
        title: cm.solve(problem, tol=arguments.tol, progress=True, **terms) for title, terms in cases(NAMES).items()
    }

    table = Table(title=f"AUC on wine, C = {arguments.C:g}")
    for heading in ("metric", "optimum at least", "at most", "entries", "mean AUC", "seconds", "grade"):
        table.add_column(heading, justify="left" if heading in ("metric", "grade") else "right")
    for title, solution in solutions.items():
        table.add_row(
            title,
            f"{solution.lower_bound:.6g}",
            f"{solution.upper_bound:.6g}",
            str(int(np.sum(np.abs(solution.M) > 1e-3 * np.abs(solution.M).max()))),
            f"{mean_scores(problem.rankings, solution.M, [problem.measure])[0]:.4f}",
            f"{solution.seconds:.1f}",
            solution.certificate.grade,
        )
    console = Console(width=120)
    console.print(table)
    console.print(f"Grade conic, here of the last: {solution.certificate.rests_on}.", highlight=False)
    save_picture(picture(solutions, NAMES), arguments.plot)
    print(f"Picture: {arguments.plot}")


def picture(solutions: dict[str, cm.Solution], names: list[str]) -> Figure:
    """The metrics side by side, on one scale of colours."""
    figure, axes = panels(-(-len(solutions) // 2), 2, height=2.7, sharex=True, sharey=True)
    top = max(np.abs(solution.M).max() for solution in solutions.values())
    for ax, (title, solution) in zip(axes, solutions.items(), strict=False):
        image = ax.imshow(solution.M, cmap="RdBu_r", vmin=-top, vmax=top)
        ax.set_title(f"{title}\noptimum {solution.upper_bound:.4g}", fontsize="medium")
        # The columns are those of the rows, in the same order.
        ax.set_xticks([])
        ax.set_yticks(range(len(names)), names, fontsize="small")
        ax.grid(visible=False)
    for ax in axes[len(solutions) :]:
        ax.remove()
    figure.colorbar(image, ax=axes[: len(solutions)], location="bottom", shrink=0.7, label="entry of W")
    return figure


if __name__ == "__main__":
    main()
