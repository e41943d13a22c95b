"""Settings of the cutting-plane driver side by side: certified gap against oracle passes and seconds.

    python benchmarks/bench_driver.py [--data wine breast-cancer] [--measure auc] [--C 100] [--plot driver.png]

Printed for each setting: passes and seconds to gaps of 1e-2, 1e-4 and 1e-6, a dash where 150 passes or the limit in
seconds were not enough.
"""

from __future__ import annotations

import argparse
import warnings

from environment import add_threads_option, limit_threads, surroundings
from tables import markdown

import convexmetric as cm

SETTINGS = {
    "as printed (1 slack, plain)": cm.solvers.CuttingPlanes.plain(),
    "1 slack, in-out 0.5": cm.solvers.CuttingPlanes(groups=1, adaptive=False),
    "32 groups, plain": cm.solvers.CuttingPlanes(stabilisation=0.0, adaptive=False),
    "32 groups, in-out 0.5": cm.solvers.CuttingPlanes(adaptive=False),
    "32 groups, in-out 0.8": cm.solvers.CuttingPlanes(stabilisation=0.8, adaptive=False),
    "16 groups, adaptive": cm.solvers.CuttingPlanes(groups=16),
    "64 groups, adaptive": cm.solvers.CuttingPlanes(groups=64),
    "32 groups, adaptive, all cuts kept": cm.solvers.CuttingPlanes(drop_after=None),
    "32 groups, adaptive (default)": cm.solvers.CuttingPlanes(),
}
GAPS = (1e-2, 1e-4, 1e-6)


def reached(solution: cm.Solution, gap: float) -> str:
    """Passes and seconds to a gap."""
    for progress in solution.history:
        if progress.gap <= gap:
            return f"{progress.iteration} / {progress.seconds:.2f} s"
    return "-"


def main() -> None:
    """Print a table for every problem, and draw the curves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_threads_option(parser)
    parser.add_argument("--data", nargs="+", default=["wine", "breast-cancer"])
    parser.add_argument("--measure", default="auc")
    parser.add_argument("--C", nargs="+", type=float, default=[100.0])
    parser.add_argument("--max-seconds", type=float, default=60.0)
    parser.add_argument("--plot", help="write the curves to this file")
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings())
    curves = {}
    for name in arguments.data:
        data = cm.datasets.load(name)
        X = cm.datasets.preprocess(data.X, ["zscore"])
        for C in arguments.C:
            problem = cm.RankingProblem.from_labels(X, data.y, measure=arguments.measure, C=C)
            problem.risk.value(problem.cone.identity())
            rows = []
            for title, setting in SETTINGS.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", cm.errors.GapWarning)
                    solution = cm.solve(problem, solver=setting, max_iter=150, max_seconds=arguments.max_seconds)
                curves[f"{name}, C = {C:g}", title] = solution.history
                rows.append([title, *(reached(solution, gap) for gap in GAPS), f"{solution.gap:.1e}"])
            print(f"\n{name}, {arguments.measure}, C = {C:g}\n")
            print(markdown(["setting", *(f"to {gap:g}" for gap in GAPS), "gap in the end"], rows), flush=True)
    if arguments.plot:
        plot(curves, arguments.plot)


def plot(curves: dict[tuple[str, str], list[cm.solution.Progress]], path: str) -> None:
    """Gap against passes, a panel a problem."""
    from convexmetric.plotting import panels, save_picture
    from convexmetric.plotting.axes import GRID

    problems = list(dict.fromkeys(problem for problem, _ in curves))
    figure, drawn = panels(len(problems), height=3.8, sharex=True)
    for axes, problem in zip(drawn, problems):
        for (which, title), history in curves.items():
            if which == problem:
                default = title.endswith("(default)")
                bold = {"color": "black", "linestyle": "-", "linewidth": 2.5} if default else {"linewidth": 1.2}
                gaps = [max(p.gap, 1e-8) for p in history]
                axes.semilogy([p.iteration for p in history], gaps, label=title, **bold)
        axes.axhline(1e-6, color=GRID, linestyle="-", linewidth=0.8)
        axes.set(title=problem, ylabel="certified relative gap")
    drawn[-1].set_xlabel("oracle passes")
    names = drawn[0].get_legend_handles_labels()
    figure.legend(*names, loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    save_picture(figure, path)


if __name__ == "__main__":
    main()
