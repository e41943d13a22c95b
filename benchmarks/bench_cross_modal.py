r"""Cross-modal ranking exactly: seconds to a certified gap, and what descent on U and V comes to.

    min over PSD W   1/2 sum log(1 + exp(d(x, y_i) - d(x, y_j))) + alpha/2 tr W + beta <B, W>

on the 2,173 training pairs of the Wikipedia set, z-scored: 97,785 triples, 138 features.

- ``solve``: Newton's method on a factor; our proximal gradient steps, whose passes are as fast; and two accelerated
  proximal gradients that list all triples, in NumPy alone, as one would write them down: ``restarted``, with the same
  restarts and growing steps as ours, and ``textbook``, FISTA with backtracking as it was published, whose steps only
  shrink. Bounds are made by the same code for all, and the time of a look at them is counted.
- ``descents``: for c = 1 .. 10 the best of ten descents against the certified optimum, in relative terms.

    python benchmarks/bench_cross_modal.py solve descents
"""

from __future__ import annotations

import argparse
import warnings
from time import perf_counter
from typing import Any

import numpy as np
from environment import add_threads_option, limit_threads, surroundings
from isolated import run
from tables import markdown, ratio, seconds

import convexmetric as cm
from convexmetric.certificates import relative_gap

CASES = (
    ("image -> text", "X", 86.0, 7.1),
    ("image -> text", "X", 1000.0, 0.001),
    ("text -> image", "text", 86.0, 7.1),
    ("text -> image", "text", 1000.0, 0.001),
)
#: A descent reaches the optimum when the certified lower bound leaves no more room than this.
REACHED = 1e-6


def wikipedia(queries: str, alpha: float, beta: float) -> cm.CrossModalProblem:
    data = cm.datasets.load("wikipedia-crossmodal")
    rows = data.extras["train"]
    images, texts = (cm.datasets.preprocess(M[rows], ["zscore"]) for M in (data.X, data.extras["text"]))
    X, Y = (images, texts) if queries == "X" else (texts, images)
    return cm.CrossModalProblem(
        X, Y, data.y[rows], data.y[rows], alpha, beta, n_clusters=5, n_neighbors=50, random_state=0
    )


def warm_up() -> None:
    """Compiled loops are loaded before the clock starts."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    small = cm.CrossModalProblem(
        rng.standard_normal((40, 3)),
        rng.standard_normal((40, 3)),
        y,
        y,
        1.0,
        0.1,
        n_clusters=2,
        n_neighbors=3,
        random_state=0,
    )
    for solver in ("low-rank-newton", "proximal-gradient"):
        cm.solve(small, 1e-3, solver=solver)


def ours(queries: str, alpha: float, beta: float, solver: str, tol: float, limit: float) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm_up()
        solution = cm.solve(wikipedia(queries, alpha, beta), tol, solver=solver, max_seconds=limit)
    return {
        "seconds": solution.seconds,
        "upper": solution.upper_bound,
        "lower": solution.lower_bound,
        "steps": int(solution.history[-1].details.get("products", solution.history[-1].details.get("steps", 0))),
        "rank": solution.rank,
    }


def plain(queries: str, alpha: float, beta: float, restarted: bool, tol: float, limit: float) -> dict[str, Any]:
    """All triples listed; every step one product for distances, one for the gradient, one eigendecomposition."""
    problem = wikipedia(queries, alpha, beta)
    chosen = problem.representatives
    Q, X = problem.risk.rankings.Q, problem.risk.rankings.X
    pairs = [chosen.relevance.of(q) for q in range(len(chosen.queries))]
    k = np.repeat(chosen.queries, [near.size * far.size for near, far in pairs])
    i = np.concatenate([np.repeat(near, far.size) for near, far in pairs])
    j = np.concatenate([np.tile(far, near.size) for near, far in pairs])
    H = 0.5 * alpha * np.eye(problem.cone.d) + beta * problem.B

    def margins(M: np.ndarray) -> np.ndarray:
        norms = np.einsum("ij,ij->i", X @ M, X)
        D = norms - 2.0 * (Q @ M) @ X.T
        return D[k, j] - D[k, i]

    def gradient(s: np.ndarray) -> np.ndarray:
        u = 0.5 / (1.0 + np.exp(np.clip(s, -700.0, 700.0)))
        T = np.zeros((len(Q), len(X)))
        np.add.at(T, (k, j), u)
        np.subtract.at(T, (k, i), u)
        cross = Q.T @ T @ X
        return -((X * T.sum(axis=0)[:, None]).T @ X - cross - cross.T)

    def loss(s: np.ndarray) -> float:
        return float(0.5 * np.logaddexp(0.0, -s).sum())

    def projected(S: np.ndarray) -> np.ndarray:
        values, vectors = np.linalg.eigh(S)
        return (vectors * np.maximum(values, 0.0)) @ vectors.T

    start = perf_counter()
    M = N = np.zeros_like(H)
    momentum, step, upper, lower, number = 1.0, 1e-4, np.inf, -np.inf, 0
    while True:
        s = margins(N)
        value, slope = loss(s), gradient(s)
        if number % 10 == 0:
            _, point = problem.risk.tangent(N)
            lower = max(lower, problem.bound(point.value, point.S, N))
            upper = min(upper, problem.objective(M))
            if relative_gap(upper, lower) <= tol or perf_counter() - start > limit:
                break
        step *= 1.1 if restarted else 1.0
        while True:
            there = projected(N - step * (slope + H))
            change = there - N
            ahead = loss(margins(there))
            if ahead <= value + np.vdot(slope, change) + 0.5 / step * np.vdot(change, change) + 1e-12 * value:
                break
            step *= 0.5
        if restarted and np.vdot(N - there, there - M) > 0.0:
            N, momentum = there, 1.0
        else:
            following = 0.5 + np.sqrt(0.25 + momentum**2)
            N, momentum = there + (momentum - 1.0) / following * (there - M), following
        M, number = there, number + 1
    values = np.linalg.eigvalsh(M)
    rank = int((values > 1e-6 * values[-1]).sum())
    return {"seconds": perf_counter() - start, "upper": upper, "lower": lower, "steps": number, "rank": rank}


def solve_table(arguments: argparse.Namespace) -> None:
    rows = []
    for name, queries, alpha, beta in CASES:
        first: dict[str, Any] = {}
        for solver in ("low-rank-newton", "proximal-gradient", "restarted", "textbook"):
            limits = {"limit": arguments.limit + 120.0, "threads": arguments.threads}
            settings = (queries, alpha, beta)
            if solver in ("restarted", "textbook"):
                outcome = run(plain, *settings, solver == "restarted", arguments.tol, arguments.limit, **limits)
            else:
                outcome = run(ours, *settings, solver, arguments.tol, arguments.limit, **limits)
            result = outcome.value or {}
            first = first or result
            rows.append(
                [
                    f"{name}, {alpha:g}, {beta:g}",
                    solver,
                    outcome.failure or seconds(result["seconds"]),
                    ratio(result.get("seconds"), first.get("seconds")),
                    f"{relative_gap(result['upper'], result['lower']):.1e}" if result else "-",
                    result.get("steps", "-"),
                    result.get("rank", "-"),
                    f"{result['upper']:.4f}" if result else "-",
                    f"{outcome.peak_bytes / 1e6:.0f}",
                ]
            )
            print("...", *rows[-1], flush=True)
    header = ["task, alpha, beta", "solver", "seconds", "ratio", "certified gap", "products or steps", "rank"]
    print("\n" + markdown([*header, "objective", "peak MB"], rows) + "\n")


def descents_table(arguments: argparse.Namespace) -> None:
    rows = []
    for name, queries, alpha, beta in (CASES[0], CASES[3]):
        problem = wikipedia(queries, alpha, beta)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            optimum = cm.solve(problem, 1e-7)
            for c in arguments.columns:
                began, distances = perf_counter(), []
                for start in range(arguments.starts):
                    kind = "random" if start else "own"
                    descent = cm.approximate.FactoredDescent(c, start=kind, random_state=start, accuracy=1e-11)
                    found = cm.solve(problem, 1e-9, solver=descent)
                    distances.append((found.upper_bound - optimum.lower_bound) / abs(found.upper_bound))
                cut = problem.factors(optimum, c)
                rows.append(
                    [
                        f"{name}, {alpha:g}, {beta:g}",
                        c,
                        f"{min(distances):.1e}",
                        f"{max(distances):.1e}",
                        f"{distances[0]:.1e}",
                        f"{(cut.objective - optimum.lower_bound) / abs(cut.objective):.1e}",
                        "yes" if min(distances) <= REACHED else "not shown",
                        seconds((perf_counter() - began) / len(distances)),
                    ]
                )
                print("...", *rows[-1], flush=True)
    header = ["task, alpha, beta", "c", f"best of {arguments.starts}", "worst", "from CFA", "W* cut to c"]
    print("\n" + markdown([*header, f"optimal to {REACHED:g}", "s a descent"], rows) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="solve, descents; default both")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--columns", type=int, nargs="+", default=list(range(1, 11)))
    parser.add_argument("--starts", type=int, default=10)
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    chosen = arguments.parts or ("solve", "descents")
    print(f"# Cross-modal ranking to a relative gap of {arguments.tol:g}\n\n{surroundings('scikit-learn')}\n")
    if "solve" in chosen:
        solve_table(arguments)
    if "descents" in chosen:
        descents_table(arguments)


if __name__ == "__main__":
    main()
