"""Cutting planes for metric learning to rank: the default beside the printed algorithm, pass by pass.

Wine and breast cancer, z-scored, AUC, every row a query. The default setting (query groups, in-out
separation, removal of dead cuts) runs to a certified gap of 1e-6; the plain setting (one slack, no
stabilisation, all cuts kept: the paper's Algorithm 1) then gets the same number of passes.

    python benchmarks/bench_cutting_planes.py
    python benchmarks/bench_cutting_planes.py --datasets wine --C 1 100
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass

from environment import add_threads_option, limit_threads, surroundings
from tables import markdown, ratio, seconds

import convexmetric as cm

#: Optimal values known from independent solves, as many digits as were published with them.
REFERENCE = {
    ("wine", 1.0): "0.234358",
    ("wine", 100.0): "4.42612",
    ("wine", 1e4): "361.1707",
    ("breast-cancer", 1.0): "0.299183",
    ("breast-cancer", 100.0): "18.82314",
    ("breast-cancer", 1e4): "1743.28",
}


@dataclass(frozen=True)
class Comparison:
    """One instance solved by the default, and the plain setting after as many passes."""

    dataset: str
    C: float
    default: cm.Solution
    plain: cm.Solution

    @property
    def title(self) -> str:
        """Such as ``wine, C = 100``."""
        return f"{self.dataset}, C = {self.C:g}"

    @property
    def reference(self) -> str:
        """The known optimum, or a dash."""
        return REFERENCE.get((self.dataset, self.C), "-")

    @property
    def agrees(self) -> bool:
        """Whether the known optimum, to its last digit, lies within the certified bounds."""
        if self.reference == "-":
            return True
        value = float(self.reference)
        half_digit = 0.5 * 10.0 ** -len(self.reference.split(".")[1])
        return self.default.lower_bound - half_digit <= value <= self.default.upper_bound + half_digit


def compare(dataset: str, C: float, options: argparse.Namespace) -> Comparison:
    data = cm.datasets.load(dataset)
    X = cm.datasets.preprocess(data.X, ["zscore"])
    problem = cm.RankingProblem.from_labels(X, data.y, measure="auc", C=C)
    limits = {"tol": options.tol, "max_seconds": options.max_seconds}
    with warnings.catch_warnings():
        # Where a run ends above tol, the tables say so.
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        default = cm.solve(problem, solver=cm.solvers.CuttingPlanes(), max_iter=options.max_iter, **limits)
        plain = cm.solve(problem, solver=cm.solvers.CuttingPlanes.plain(), max_iter=default.iterations, **limits)
    return Comparison(dataset, C, default, plain)


def summary(results: list[Comparison]) -> str:
    header = [
        "instance", "passes", "seconds", "lower bound", "upper bound", "gap", "rank", "known optimum", "agrees",
        "plain: passes", "seconds", "gap", "gap / default's",
    ]  # fmt: skip
    rows = [
        [
            r.title, r.default.iterations, seconds(r.default.seconds), f"{r.default.lower_bound:.9g}",
            f"{r.default.upper_bound:.9g}", f"{r.default.gap:.1e}", r.default.rank, r.reference,
            "yes" if r.agrees else "NO", r.plain.iterations, seconds(r.plain.seconds), f"{r.plain.gap:.1e}",
            ratio(r.plain.gap, r.default.gap),
        ]
        for r in results
    ]  # fmt: skip
    return markdown(header, rows)


def curves(results: list[Comparison]) -> str:
    """Certified gap after 1, 2, 5, 10, 20, ... passes, default above plain."""
    longest = max(r.default.iterations for r in results)
    marks = [1, 2, 5, *range(10, longest + 1, 10)]
    rows = []
    for r in results:
        for name, solution in (("default", r.default), ("plain", r.plain)):
            gaps = [p.gap for p in solution.history]
            at_marks = [f"{gaps[mark - 1]:.0e}" if mark <= len(gaps) else "" for mark in marks]
            rows.append([r.title, name, *at_marks, f"{solution.gap:.1e} at {len(gaps)}"])
    return markdown(["instance", "setting", *map(str, marks), "end"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["wine", "breast-cancer"])
    parser.add_argument("--C", nargs="+", type=float, default=[1.0, 100.0, 1e4])
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--max-iter", type=int, default=200, help="limit on passes (default %(default)s)")
    parser.add_argument("--max-seconds", type=float, default=600.0, help="limit of one solve (default %(default)s)")
    add_threads_option(parser)
    options = parser.parse_args()

    limit_threads(options.threads)
    print("# Cutting planes: certified gap against oracle passes\n")
    print(surroundings("scikit-learn"), flush=True)
    # The oracle is compiled on first use; that is not part of any solve.
    warm_up = cm.RankingProblem.from_labels([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    warm_up.objective([[1.0]])
    results = []
    for dataset in options.datasets:
        for C in options.C:
            results.append(compare(dataset, C, options))
            print(f"{results[-1].title}: {results[-1].default.seconds:.1f} s", file=sys.stderr, flush=True)
    print("\n## Default setting to the certified gap, plain setting for as many passes\n")
    print(summary(results))
    print("\n## Certified gap after so many passes\n")
    print(curves(results))
    return 0 if all(r.agrees for r in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
