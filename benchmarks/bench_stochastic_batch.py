"""How far stochastic batches are from the certified optimum after 1, 10 and 100 epochs, corrected and as printed.

python benchmarks/bench_stochastic_batch.py [--data wine] [--ratios 0.1] [--plot batches.png]

The distance is (objective of the metric at that moment - certified lower bound) / |certified upper bound|, the bounds
being those of semismooth Newton: not what the run itself certifies, which is in the column "certified".
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass

from environment import add_threads_option, limit_threads, surroundings
from sklearn.datasets import load_digits
from tables import markdown, seconds

import convexmetric as cm

MARKS = (1, 10, 100)
VARIANTS = {"corrected": {}, "corrected, averaged": {"average": True}, "as printed": {"as_printed": True}}
STYLES = {"corrected": "-", "corrected, averaged": ":", "as printed": "--"}


@dataclass(frozen=True)
class Run:
    """One variant on one problem."""

    title: str
    variant: str
    optimum: cm.Solution
    solution: cm.Solution

    @property
    def curve(self) -> list[tuple[float, float]]:
        """Epochs and distance from the optimum."""
        lower, upper = self.optimum.lower_bound, self.optimum.upper_bound
        looks = [p.details for p in self.solution.history]
        return [(look["passes"], (look["objective"] - lower) / abs(upper)) for look in looks]


def load(name: str) -> cm.TripletProblem:
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return cm.TripletProblem.from_labels(X / 16.0, y, n_same=10, n_other=10)
    data = cm.datasets.load(name)
    return cm.TripletProblem.from_labels(cm.datasets.preprocess(data.X, ["zscore"]), data.y, n_same=10, n_other=10)


def runs(name: str, ratio: float, options: argparse.Namespace) -> list[Run]:
    problem = load(name)
    problem = problem.with_reg(ratio * problem.reg_max)
    found = []
    with warnings.catch_warnings():
        # Where a run ends above tol, the table says so.
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        optimum = cm.solve(problem, options.tol, solver=cm.solvers.SemismoothNewton())
        for variant, settings in VARIANTS.items():
            solver = cm.approximate.StochasticBatch(
                options.batch, epochs=max(MARKS), random_state=options.seed, **settings
            )
            found.append(Run(f"{name}, {ratio:g}", variant, optimum, cm.solve(problem, 1e-9, solver=solver)))
    return found


def table(results: list[Run]) -> str:
    rows = []
    for r in results:
        after = dict(r.curve)
        rows.append(
            [
                r.title,
                r.variant,
                *(f"{after[mark]:.1e}" for mark in MARKS),
                f"{r.solution.gap:.1e}",
                seconds(r.solution.seconds),
                f"{r.optimum.upper_bound:.7f}",
                f"{r.optimum.gap:.0e}",
                seconds(r.optimum.seconds),
            ]
        )
    header = ["data, lambda / lambda_max", "epochs:", *(f"after {mark}" for mark in MARKS)]
    return markdown([*header, "certified", "s", "optimum", "its gap", "its s"], rows)


def plot(results: list[Run], path: str) -> None:
    from convexmetric.plotting import panels, save_picture
    from convexmetric.plotting.axes import AID

    titles = list(dict.fromkeys(r.title for r in results))
    figure, axes = panels(len(titles), height=2.6)
    for axis, title in zip(axes, titles, strict=True):
        for r in results:
            if r.title == title:
                epochs, gaps = zip(*r.curve[1:], strict=True)
                axis.loglog(epochs, gaps, STYLES[r.variant], label=r.variant)
                floor = r.optimum.gap
        axis.axhline(floor, color=AID, linestyle=":", linewidth=0.8, label="certified optimum: its gap")
        axis.set_title(title, fontsize="medium")
        axis.set_ylabel("distance from the optimum")
    axes[-1].set_xlabel("epochs")
    axes[0].legend(frameon=False, fontsize="small")
    save_picture(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_threads_option(parser)
    parser.add_argument("--data", nargs="+", default=["digits", "wine"])
    parser.add_argument("--ratios", nargs="+", type=float, default=[1e-1, 1e-2, 1e-3])
    parser.add_argument("--batch", type=int, default=1000, help="comparisons a step (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tol", type=float, default=1e-6, help="gap of the optimum (default %(default)s)")
    parser.add_argument("--plot", metavar="FILE.png", help="draw the distance against epochs, one panel a problem")
    options = parser.parse_args()
    limit_threads(options.threads)
    print("# Stochastic batches: distance from the certified optimum\n")
    print(surroundings("scikit-learn"), flush=True)
    # Loops are compiled on first use; that is not part of any solve.
    runs("wine", 1.0, argparse.Namespace(tol=1e-2, batch=10_000, seed=0))
    results = []
    for name in options.data:
        for ratio in options.ratios:
            results += runs(name, ratio, options)
            print(f"{results[-1].title}: {results[-1].solution.seconds:.1f} s", file=sys.stderr, flush=True)
    print(f"\nBatches of {options.batch} comparisons\n")
    print(table(results))
    if options.plot:
        plot(results, options.plot)
        print(f"\nPicture: {options.plot}")


if __name__ == "__main__":
    main()
