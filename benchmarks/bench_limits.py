"""Whether limits on time hold, what they leave, and what memory it takes: large problems under limits of 10 to 30 s.

    python benchmarks/bench_limits.py [--cases MAP operator ...]
    python benchmarks/bench_limits.py --gaps [--rows 3000] [--measures auc map] [--C 1 100] [--limits 2 5 10]

Made sets of the shape of Letter Recognition (16 features, 26 classes, z-scored), and digits of MNIST's test part.
Limits are on seconds of the processor on one thread, which take the place of the wall's so that other busy processes
change little; both are printed. Every case runs in a process of its own. With ``--gaps``: certified gaps of the default
with what it begins with under a limit, and without.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from environment import limit_threads, surroundings
from isolated import run
from made_sets import letters
from tables import markdown

import convexmetric as cm
from convexmetric.comparisons import triplets_from_labels
from convexmetric.solvers.runtime import base
from convexmetric.solvers.runtime.baselines import best_simple, some_parts

Statement = Callable[[int], cm.MetricProblem]


def _projected(rows: int) -> cm.MetricProblem:
    X, y = letters(rows)
    return cm.TripletProblem.from_labels(X, y, n_same=None, n_other=None, reg=1e6)


def _relative(rows: int) -> cm.MetricProblem:
    X, y = letters(rows)
    return cm.RelativeComparisonProblem(X, triplets_from_labels(y, 100 * rows, random_state=0), C=1.0)


def _cross_modal(rows: int) -> cm.MetricProblem:
    X, y = letters(rows, features=24)
    return cm.CrossModalProblem(X[:, :16], X[:, 16:], y, y, alpha=1.0, beta=0.001, n_clusters=None)


def _digits(rows: int) -> cm.MetricProblem:
    data = cm.datasets.load("mnist-test")
    return cm.RankingProblem.from_labels(data.X[:rows] / 255.0, data.y[:rows], measure="auc", C=100.0)


#: Rows, limit in seconds, and the problem of so many rows.
CASES: dict[str, tuple[int, float, Statement]] = {
    "MAP, every row a query": (20_000, 30.0, lambda n: cm.RankingProblem.from_labels(*letters(n), measure="map")),
    "MAP, a limit shorter than a pass": (20_000, 10.0, lambda n: cm.RankingProblem.from_labels(*letters(n))),
    "operator, all pairs": (20_000, 30.0, lambda n: cm.PairMarginProblem.from_labels(*letters(n))),
    "large margin": (18_000, 30.0, lambda n: cm.LargeMarginProblem(*letters(n))),
    "relative comparisons, 2 million": (20_000, 20.0, _relative),
    "triplets of all points": (18_000, 20.0, _projected),
    "cross-modal, all pairs of objects": (3_000, 20.0, _cross_modal),
    "AUC, 784 features": (5_000, 20.0, _digits),
    "MAP, Ctrl-C after 10 s": (20_000, 0.0, lambda n: cm.RankingProblem.from_labels(*letters(n), measure="map")),
}
#: Parts that tell whether the metric is worse than simple ones, where the risk is taken apart.
JUDGES = 1_000
#: Seconds after which Ctrl-C is pressed in a case without a limit.
PRESSED = 10.0


def _press() -> None:
    """Ctrl-C, once the processor has worked for so long."""
    begun = time.process_time()
    while time.process_time() - begun < PRESSED:
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)


def _memory(field: str) -> float:
    """Of this process, in MB (Linux)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(f"{field}:")).split()[1]) / 1024


def measured(name: str) -> list[str]:
    """The row of a case."""
    rows, limit, state = CASES[name]
    warnings.simplefilter("ignore")
    base.perf_counter = time.process_time  # type: ignore[attr-defined]
    # Compiled loops are loaded, or made, before the clock starts.
    cm.solve(state(400), tol=0.1, max_seconds=20.0)
    problem = state(rows)
    before = _memory("VmRSS")
    # The peak from here on (Linux).
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    explanation = cm.explain(problem, measure=False, max_seconds=limit or None)
    cpu, wall = time.process_time(), time.perf_counter()
    if not limit:
        # Processes of a pool ignore it as a rule.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=_press, daemon=True).start()
    solution = cm.solve(problem, tol=1e-4, max_seconds=limit or None)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = _memory("VmHWM")
    judge = some_parts(problem, JUDGES) or problem
    simple, _ = best_simple(judge, problem.plain_metrics())
    value = judge.value(solution.certificate.M)
    estimate = "" if explanation.memory is None else f"{explanation.memory / 2**20:.0f}"
    return [
        f"{name}, {rows:,} rows",
        f"{limit:g}" if limit else f"Ctrl-C at {PRESSED:g}",
        f"{cpu:.1f}",
        f"{wall:.1f}",
        f"{peak:.0f}",
        f"{peak - before:.0f} / {estimate}",
        solution.solver,
        f"{solution.gap:.1e}",
        f"{value:.5g} / {simple:.5g}",
        "yes" if value <= simple * (1.0 + 1e-9) else "no",
    ]


HEADER = [
    "case",
    "limit, s",
    "seconds of the processor",
    "of the wall",
    "peak MB",
    "solve's MB / estimate",
    "solver",
    "gap",
    "objective / best simple",
    "no worse",
]


def gaps(arguments: argparse.Namespace) -> None:
    """Print what the default gains under limits from what it begins with then."""
    warnings.simplefilter("ignore", cm.errors.GapWarning)
    base.perf_counter = time.process_time  # type: ignore[attr-defined]
    rows = []
    for measure in arguments.measures:
        cm.solve(cm.RankingProblem.from_labels(*letters(300), measure=measure), tol=0.1)
        for C in arguments.C:
            problem = cm.RankingProblem.from_labels(*letters(arguments.rows), measure=measure, C=C)
            plain = cm.solvers.Exact(stages=tuple(step.solver for step in cm.explain(problem, measure=False).steps))
            for limit in arguments.limits:
                found = [_gap(problem, solver, limit, arguments.tol) for solver in (plain, None)]
                rows.append([measure, f"{C:g}", f"{limit:g}", *found])
    print(markdown(["measure", "C", "limit, s", "the table's solvers alone", "the default"], rows))


def _gap(problem: cm.MetricProblem, solver: cm.solvers.Solver | None, limit: float, tol: float) -> str:
    """The gap, and the seconds at which the solve was over."""
    start = time.process_time()
    solution = cm.solve(problem, tol=tol, solver=solver, max_seconds=limit)
    return f"{solution.gap:.1e} ({time.process_time() - start:.1f} s)"


def main() -> None:
    """Print a table with a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=list(CASES), help="names, or beginnings of names")
    parser.add_argument("--seconds", type=float, default=1_800.0, help="end a case after so many seconds of the wall")
    parser.add_argument("--gaps", action="store_true")
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--measures", nargs="+", default=["auc", "map"])
    parser.add_argument("--C", type=float, nargs="+", default=[1.0, 100.0])
    parser.add_argument("--limits", type=float, nargs="+", default=[2.0, 5.0, 10.0])
    parser.add_argument("--tol", type=float, default=1e-3)
    arguments = parser.parse_args()
    limit_threads(1)
    print(surroundings(), flush=True)
    if arguments.gaps:
        gaps(arguments)
        return
    rows = []
    for name in CASES:
        if any(name.startswith(asked) for asked in arguments.cases):
            outcome = run(measured, name, limit=arguments.seconds, threads=1)
            rows.append(outcome.value or [name, *[""] * (len(HEADER) - 2), outcome.failure])
            print(np.array(rows[-1]).tolist(), flush=True)
    print(markdown(HEADER, rows))


if __name__ == "__main__":
    main()
