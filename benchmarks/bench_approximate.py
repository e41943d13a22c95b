"""Approximate solvers: distance from the certified optimum after 1, 10, 50 and 200 passes, corrected and as printed.

python benchmarks/bench_approximate.py [--papers 1 2] [--passes 200] [--plot approximate-curves.png]

Instances are those of problems/, so that the optimum is known between certified bounds. The distance is (objective of
the metric at that moment - certified lower bound) / |certified upper bound|: it contains the gap of the instance, at
most 1e-6, and is at the last look before the mark. Nothing of the run's own bounds enters, but that they bracket the
optimum is checked (exit status 1 if they do not). Seconds are those of the corrected run with all its looks.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass
from math import isnan

from environment import add_threads_option, limit_threads, surroundings
from tables import markdown, seconds

import convexmetric as cm

MARKS = (1, 10, 50, 200)
#: Distance that corrected variants must reach.
WANTED = 0.01
SHORT = 2

CASES: dict[int, tuple[str, ...]] = {
    1: ("ranking-auc-wine-c1", "ranking-auc-wine-c100", "ranking-auc-breast-cancer-c100"),
    2: ("relative-wine-1000", "relative-wine-1000-rbf", "relative-digits-2000", "relative-webkb-topic-2000"),
    3: ("triplets-wine-10x10-1e-2", "triplets-breast-cancer-10x10-1e-2"),
    4: ("pairs-wine-1000", "pairs-breast-cancer-2000", "pairs-digits-2000", "pairs-wine-1000-rbf"),
    5: ("cross-modal-wikipedia-image-text-a86-b7.1", "cross-modal-wikipedia-text-image-a1000-b0.001"),
}
NOTES = {
    1: "subgradient",
    3: "stochastic batch",
    4: "stochastic factors",
    5: "factored descent",
}


@dataclass(frozen=True)
class Run:
    """One variant on one instance."""

    paper: int
    title: str
    variant: str
    printed: bool
    bounds: tuple[float, float]
    solution: cm.Solution

    @property
    def curve(self) -> list[tuple[float, float]]:
        """Passes and distance from the optimum."""
        lower, upper = self.bounds
        looks = [p.details for p in self.solution.history]
        return [(look["passes"], (look["objective"] - lower) / abs(upper)) for look in looks]

    def after(self, passes: float) -> float:
        """Distance at the last look up to then."""
        return next((distance for at, distance in reversed(self.curve) if at <= passes), float("nan"))

    @property
    def brackets(self) -> bool:
        """Whether the run's own bounds hold against the certified ones."""
        lower, upper = self.bounds
        return self.solution.lower_bound <= upper and self.solution.upper_bound >= lower


def variants(paper: int, passes: int) -> dict[str, dict[bool, cm.approximate.ApproximateSolver]]:
    """Solvers of a paper by name, corrected and as printed."""
    if paper == 1:
        kinds: dict[str, tuple[type, dict[str, object]]] = {"subgradient": (cm.approximate.ProjectedSubgradient, {})}
    elif paper == 3:
        kinds = {"stochastic-batch": (cm.approximate.StochasticBatch, {"random_state": 0})}
    elif paper == 4:
        kinds = {"stochastic-factors": (cm.approximate.StochasticFactors, {"random_state": 0})}
    else:
        kinds = {
            "factored-descent": (cm.approximate.FactoredDescent, {"c": 10, "random_state": 0, "look_every": SHORT})
        }
    return {
        name: {printed: kind(epochs=passes, as_printed=printed, **settings) for printed in (False, True)}
        for name, (kind, settings) in kinds.items()
    }


def runs(paper: int, name: str, passes: int) -> list[Run]:
    instance = cm.bench.load_instance(name)
    problem = instance.problem()
    bounds = instance.lower_bound, instance.upper_bound
    found = []
    for variant, both in variants(paper, passes).items():
        for printed, solver in both.items():
            solution = cm.solve(problem, 1e-12, solver=solver)
            found.append(Run(paper, name, variant, printed, bounds, solution))
    return found


def low_rank(passes: int) -> list[Run]:
    """Variant E of paper 3: a trace in place of the squared norm; its optimum is certified here."""
    found = []
    for data in ("wine", "breast-cancer"):
        read = cm.datasets.load(data)
        problem = cm.TripletProblem.from_labels(
            cm.datasets.preprocess(read.X, ["zscore"]), read.y, n_same=10, n_other=10, penalty="trace"
        )
        problem = problem.with_reg(1e-4 * problem.reg_max)
        optimum = cm.solve(problem, 1e-6)
        rank = min(problem.cone.d, 30)
        solver = cm.approximate.LowRankDescent(rank, random_state=0, epochs=passes, steps=max(1, passes // 8), widths=7)
        solution = cm.solve(problem, 1e-12, solver=solver)
        bounds = optimum.lower_bound, optimum.upper_bound
        title = f"{data}, 10x10, 1e-4, variant E"
        found.append(Run(3, title, "low-rank-descent", False, bounds, solution))
    return found


def table(results: list[Run]) -> str:
    rows = []
    for r in results:
        if r.printed:
            continue
        others = [o for o in results if o.printed and (o.title, o.variant) == (r.title, r.variant)]
        rows.append(
            [
                f"{r.paper}: {r.title}",
                r.variant,
                *("-" if isnan(r.after(mark)) else f"{r.after(mark):.1e}" for mark in MARKS),
                f"{others[0].after(MARKS[-1]):.1e}" if others else "-",
                f"{r.solution.gap:.1e}",
                seconds(r.solution.seconds),
            ]
        )
    header = ["instance", "variant", *(f"after {mark}" for mark in MARKS)]
    return markdown([*header, f"as printed, {MARKS[-1]}", "own gap", "s"], rows)


def plot(results: list[Run], path: str) -> None:
    from convexmetric.plotting import COLOURS, MARKERS, panels, save_picture
    from convexmetric.plotting.axes import AID

    papers = sorted({r.paper for r in results})
    figure, axes = panels(len(papers), height=3.2)
    for axis, paper in zip(axes, papers, strict=True):
        titles = list(dict.fromkeys(r.title for r in results if r.paper == paper))
        for r in results:
            if r.paper == paper:
                points = [(at, max(distance, 1e-7)) for at, distance in r.curve if at > 0]
                at = titles.index(r.title)
                style = {"color": COLOURS[at % len(COLOURS)], "linestyle": "--" if r.printed else "-", "linewidth": 1.2}
                style |= {"marker": MARKERS[at % len(MARKERS)], "markevery": 0.2, "markersize": 4}
                axis.loglog(*zip(*points, strict=True), label=None if r.printed else r.title, **style)
        axis.axhline(WANTED, color=AID, linestyle="-", linewidth=0.8)
        axis.set_xlim(left=0.9)
        axis.set_title(f"paper {paper}: {NOTES[paper]}", fontsize="medium")
        axis.set_ylabel("distance from the optimum")
        # The lines of paper 3 leave the middle free, those of the others the corner.
        place = ("center right", (1.0, 0.67)) if paper == 3 else ("lower left", None)
        axis.legend(frameon=False, fontsize="small", loc=place[0], bbox_to_anchor=place[1])
    axes[-1].set_xlabel("passes")
    figure.suptitle("solid: corrected; dashed: as printed; grey: 1%", fontsize="medium")
    save_picture(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_threads_option(parser)
    parser.add_argument("--papers", type=int, nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--passes", type=int, default=MARKS[-1])
    parser.add_argument("--plot", metavar="FILE.png", help="draw the distance against passes, one panel a paper")
    options = parser.parse_args()
    limit_threads(options.threads)
    print("# Approximate solvers: distance from the certified optimum\n")
    print(surroundings("scikit-learn"), flush=True)
    results: list[Run] = []
    with warnings.catch_warnings():
        # Where a run ends above tol, the table says so.
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        for paper in options.papers:
            # Loops are compiled on first use; that is not part of any solve.
            runs(paper, CASES[paper][0], 1)
            for name in CASES[paper]:
                results += runs(paper, name, options.passes)
                print(f"{name}: {results[-2].solution.seconds:.1f} s", file=sys.stderr, flush=True)
            if paper == 3:
                results += low_rank(options.passes)
    print(f"\n{table(results)}")
    missed = [r.title for r in results if not r.printed and not r.after(options.passes) <= WANTED]
    print(f"\nCorrected variants that end within 1%: {'all' if not missed else 'all but ' + ', '.join(missed)}")
    if options.plot:
        plot(results, options.plot)
        print(f"\nPicture: {options.plot}")
    if not all(r.brackets for r in results):
        sys.exit("a run's bounds do not bracket the optimum")


if __name__ == "__main__":
    main()
