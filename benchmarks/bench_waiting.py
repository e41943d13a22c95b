"""Solves that a person waits for: seconds of the default until the certified gap is below 1e-2, 1e-3 and 1e-4.

python benchmarks/bench_waiting.py [--cases large-margin isolet ...] [--limit 400] [--threads 2]

Made sets where no public one of the shape is at hand: spectra of two kinds (208 x 60), and the shape of Letter
Recognition with more features. IsoLet is read from the folder `CONVEXMETRIC_DATA`. Compiled loops
are loaded by a solve of a part of the set before the clock starts. Seconds are those on the wall, with the
processor's in brackets; on an idle machine they agree up to the number of threads.
"""

import argparse
import time
import warnings

from environment import add_threads_option, limit_threads, surroundings
from made_sets import letters, spectra
from tables import markdown

import convexmetric as cm


def ranking(n, d, measure):
    """Metric learning to rank on a made set, every row a query."""
    return lambda part: cm.RankingProblem.from_labels(*_some(letters(n, d), part), measure=measure, C=100.0)


def isolet(part):
    """The same by MAP on IsoLet's training part, with the principal components of the paper."""
    return ranking(part, 20, "map")(None) if part else cm.load_problem("ranking-map-isolet-6238-c1").with_C(100.0)


def _some(data, part):
    X, y = data
    return (X, y) if part is None else (X[:part], y[:part])


def margins(part):
    """Large margins on spectra, z-scored."""
    X, y = _some(spectra(208, 60), part)
    return cm.LargeMarginProblem(cm.datasets.preprocess(X, ["zscore"]), y)


def pairs(part):
    """Operator margins over all pairs of 20,000 rows."""
    X, y = _some(letters(20_000), part)
    return cm.PairMarginProblem.from_labels(X, y)


CASES = {
    "large-margin": ("large margins, 208 x 60", margins),
    "mlr-10000": ("MLR, MAP, 10,000 x 100", ranking(10_000, 100, "map")),
    "mlr-1404": ("MLR, MAP, 1,404 x 320", ranking(1_404, 320, "map")),
    "isolet": ("MLR, MAP, IsoLet, 6,238 x 170", isolet),
    "letter-map": ("MLR, MAP, 20,000 x 16", ranking(20_000, 16, "map")),
    "letter-auc": ("MLR, AUC, 20,000 x 16", ranking(20_000, 16, "auc")),
    "pairs": ("operator margins, all pairs, 20,000 x 16", pairs),
}
GAPS = (1e-2, 1e-3, 1e-4)


def measured(make, tol, limit):
    """Seconds until each gap, the gap at the end, passes and solver of one solve."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cm.solve(make(200), 0.1)
        problem = make(None)
        wall, processor = time.perf_counter(), time.process_time()
        solution = cm.solve(problem, tol, max_seconds=limit)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
    reached = [next((step.seconds for step in solution.history if step.gap <= gap), None) for gap in GAPS]
    cells = ["" if seconds is None else f"{seconds:.1f}" for seconds in reached]
    return [*cells, f"{solution.gap:.1e}", f"{wall:.1f} ({processor:.1f})", len(solution.history), solution.solver]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--limit", type=float, help="seconds a solve; without one by default")
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings(), flush=True)
    rows = []
    for name in arguments.cases:
        words, make = CASES[name]
        rows.append([words, *measured(make, arguments.tol, arguments.limit)])
        print(rows[-1], flush=True)
    header = ["problem", *(f"s to {gap:g}" for gap in GAPS), "gap", "s, wall (processor)", "steps", "solver"]
    print("\n" + markdown(header, rows))


if __name__ == "__main__":
    main()
