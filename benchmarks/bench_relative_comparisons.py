r"""Relative comparisons of WebKB pages by topic: exact solvers beside a plain dual ascent.

    min over w >= 0   1/2 w'w + C sum_t max(0, 1 - <w, d_t>)

on 4,199 pages with 5,589 binary words, A = I. Three ways to a certified gap, all graded by the package's certificate:

- the default solver: the augmented Lagrangian;
- CVXPY with CLARABEL on the textbook statement (not beyond ``--conic-limit`` triplets);
- L-BFGS-B on the dual, ``max_{0 <= u <= C} sum u - 1/2 ||[D'u]_+||^2``, with the time limit ``--baseline-seconds``
  (not with a kernel, nor where the rows of D do not fit ``--rows-limit``).

With ``--kernel`` there is one weight for each of ``--points`` pages, drawn at random, and ``1/2 w'(K o K)w`` in place
of ``1/2 w'w``.

    python benchmarks/bench_relative_comparisons.py --triplets 2000 20000 150000 --c 0.01 1 100
    python benchmarks/bench_relative_comparisons.py --triplets 20000 --c 0.01 1 100 --kernel linear rbf

Needs the data folder (CONVEXMETRIC_DATA). Every run has a process of its own, for its peak memory.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np
from environment import add_threads_option, limit_threads, surroundings
from isolated import run
from scipy.optimize import minimize
from tables import markdown, ratio, seconds

import convexmetric as cm
from convexmetric.comparisons import triplets_from_labels

#: Triplets of the solve before the measured one.
WARM_UP = 50


def problem(
    triplets: int, C: float, seed: int, kernel: str | None = None, points: int | None = None
) -> cm.RelativeComparisonProblem:
    data = cm.datasets.load("webkb-cmu")
    X, y = cm.datasets.preprocess(data.X, ["binarize"]), np.asarray(data.y)
    if points is not None:
        chosen = np.sort(np.random.default_rng(seed).choice(len(y), points, replace=False))
        X, y = X[chosen], y[chosen]
    return cm.RelativeComparisonProblem(X, triplets_from_labels(y, triplets, random_state=seed), C=C, kernel=kernel)


def by_solver(
    solver: str | None,
    triplets: int,
    C: float,
    seed: int,
    tol: float,
    limit: float,
    kernel: str | None = None,
    points: int | None = None,
) -> dict[str, Any]:
    # The first solve in a process loads the compiled loops, which is not measured.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        cm.solve(problem(WARM_UP, C, seed, kernel, points), tol=0.1, solver=solver, max_seconds=1.0)
    instance = problem(triplets, C, seed, kernel, points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        solution = cm.solve(instance, tol=tol, solver=solver, max_seconds=limit)
    return {
        "seconds": solution.seconds,
        "gap": solution.gap,
        "value": solution.upper_bound,
        "steps": solution.iterations,
    }


def by_dual_ascent(triplets: int, C: float, seed: int, tol: float, limit: float) -> dict[str, Any]:
    """Stops at the gap or at the limit, whichever comes first; the certificate is asked every 20 steps."""
    instance = problem(triplets, C, seed)
    D = instance.triplets.rows
    transposed = D.T.tocsr()
    best: dict[str, Any] = {"gap": np.inf, "value": np.inf}
    start = perf_counter()
    steps = 0

    def negative_dual(u: np.ndarray) -> tuple[float, np.ndarray]:
        w = np.maximum(transposed @ u, 0.0)
        return 0.5 * float(w @ w) - float(u.sum()), D @ w - 1.0

    def look(u: np.ndarray) -> None:
        nonlocal steps
        steps += 1
        if steps % 20 == 0 or perf_counter() - start > limit:
            certificate = cm.certify(instance, np.maximum(transposed @ u, 0.0), u)
            if certificate.gap < best["gap"]:
                best.update(gap=certificate.gap, value=certificate.upper_bound)
        if best["gap"] <= tol or perf_counter() - start > limit:
            raise StopIteration

    options = {"maxiter": 10**6, "maxfun": 10**7, "ftol": 0.0, "gtol": 0.0, "maxcor": 20}
    minimize(
        negative_dual,
        np.full(triplets, 0.5 * min(C, 1e-3)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, C)] * triplets,
        callback=look,
        options=options,
    )
    return {"seconds": perf_counter() - start, "steps": steps, **best}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triplets", type=int, nargs="+", default=[2000, 20_000])
    parser.add_argument("--c", type=float, nargs="+", default=[1.0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each exact solve")
    parser.add_argument("--baseline-seconds", type=float, default=60.0)
    parser.add_argument("--conic-limit", type=int, default=5000, help="most triplets given to CLARABEL")
    parser.add_argument("--rows-limit", type=int, default=20_000, help="most triplets given to L-BFGS-B")
    parser.add_argument("--kernel", nargs="+", choices=["linear", "rbf"], help="one weight a point, with these kernels")
    parser.add_argument("--points", type=int, default=1000, help="pages for --kernel")
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(f"# WebKB topics to a relative gap of {arguments.tol:g}\n\n{surroundings('cvxpy', 'clarabel')}\n")

    rows = []
    for kernel, C, count in product(arguments.kernel or [None], arguments.c, arguments.triplets):
        shared = (count, C, arguments.seed, arguments.tol)
        instance = (kernel, arguments.points if kernel else None)
        runs = {"default": (by_solver, (None, *shared, arguments.limit, *instance))}
        if count <= arguments.conic_limit:
            runs["CVXPY + CLARABEL"] = (by_solver, ("clarabel", *shared, arguments.limit, *instance))
        if kernel is None and count <= arguments.rows_limit:
            runs["dual L-BFGS-B"] = (by_dual_ascent, (*shared, arguments.baseline_seconds))
        ours: float | None = None
        for name, (function, values) in runs.items():
            outcome = run(function, *values, limit=2 * arguments.limit, threads=arguments.threads)
            result = outcome.value or {}
            taken = result.get("seconds")
            ours = taken if ours is None else ours
            row = [
                name,
                kernel or "-",
                count,
                f"{C:g}",
                outcome.failure or seconds(taken),
                ratio(taken, ours),
                f"{result['gap']:.1e}" if result else "-",
                f"{result['value']:.7g}" if result else "-",
                result.get("steps", "-"),
                f"{outcome.peak_bytes / 1e6:.0f}",
            ]
            rows.append(row)
            print("...", *row, flush=True)
    header = ["solver", "kernel", "triplets", "C", "seconds", "ratio", "gap", "objective", "iterations", "peak MB"]
    print("\n" + markdown(header, rows))


if __name__ == "__main__":
    main()
