"""The separation oracles of two checkouts, side by side: seconds of the processor, this one over OTHER.

python benchmarks/compare_oracles.py OTHER [--rows 6238] [--queries 1000] [--repeats 5] [--threads 1]

OTHER is a folder with another version of the package, such as a `git worktree` of an earlier commit. IsoLet, PCA to 170
features, C = 100, at metrics of an early, a middle and a late pass of cutting planes for MAP on 1,000 rows. Both
versions live in processes of their own that take turns; the fastest run of each counts. Needs the data folder.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from environment import add_threads_option, limit_threads, surroundings
from isolet import isolet, spaced
from tables import markdown

import convexmetric as cm

HERE = Path(__file__).resolve().parents[1]
WIDTHS = (0.0, 0.1, 0.5)

WORKER = """
import sys, time
import numpy as np, convexmetric as cm
from convexmetric.measures import most_violated_rankings
data = np.load(sys.argv[1])
order = np.linspace(0, len(data["X"]) - 1, int(sys.argv[2])).astype(int)
problems, kept = {}, {}
for line in sys.stdin:
    what, which = line.split()
    width = None if what.isalpha() else float(what)
    name = what if width is None else "auc"
    if name not in problems:
        problems[name] = cm.RankingProblem.from_labels(data["X"], data["y"], C=100.0, measure=name)
    problem = problems[name]
    if kept.get("of") != (name, which):
        blocks = [(b, b.values.copy()) for b in problem.rankings.blocks(data[which], order)]
        kept = {"of": (name, which), "blocks": blocks}
    taken = 0.0
    for block, values in kept["blocks"]:
        block.values[:] = values
        start = time.process_time()
        if width is None:
            most_violated_rankings(problem.measure, block)
        else:
            risk = problem.ranking_risk.pairs
            risk._blocks = lambda M, order, block=block: [block]
            list(risk._passes(data[which], width, block.queries))
        taken += time.process_time() - start
    print(taken, flush=True)
"""


def metrics_of_passes(X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Metrics at which cutting planes made an early, a middle and the last plane."""
    problem, seen = cm.RankingProblem.from_labels(X, y, C=100.0, measure="map"), []
    separate = type(problem.risk).separate

    def noted(risk, M, groups):
        seen.append(M.copy())
        return separate(risk, M, groups)

    type(problem.risk).separate = noted
    cm.solve(problem, tol=0.01, solver="cutting-planes")
    type(problem.risk).separate = separate
    return {"early": seen[1], "middle": seen[10], "late": seen[-1]}


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("--rows", type=int, default=6238)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings())
    X, y = isolet(170)
    metrics = metrics_of_passes(*spaced(X, y, 1000))
    X, y = spaced(X, y, arguments.rows)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.npz"
        np.savez(file, X=X, y=y, **metrics)
        workers = []
        for root in (arguments.other.resolve(), HERE):
            environment = {**os.environ, "PYTHONPATH": str(root), "NUMBA_NUM_THREADS": str(arguments.threads)}
            command = [sys.executable, "-c", WORKER, str(file), str(arguments.queries)]
            workers.append(
                subprocess.Popen(
                    command, cwd=root, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
            )
        kinds = {name: name for name in ("map", "err", "mrr", "precision", "ndcg", "auc")}
        kinds |= {f"hinges smoothed over {width}": str(width) for width in WIDTHS}
        rows = []
        for title, what in kinds.items():
            cells = []
            for which in metrics:
                taken = [[], []]
                for _ in range(arguments.repeats + 1):
                    for worker, times in zip(workers, taken):
                        print(what, which, file=worker.stdin, flush=True)
                        times.append(float(worker.stdout.readline()))
                before, after = (min(times[1:]) for times in taken)
                cells.append(f"{1e3 * before:.0f} to {1e3 * after:.0f} ms, {after / before:.2f}")
            rows.append([title, *cells])
        for worker in workers:
            worker.stdin.close()
            worker.wait()
    print(markdown(["oracle", *metrics], rows))


if __name__ == "__main__":
    main()
