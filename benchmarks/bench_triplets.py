r"""Triplets exactly: seconds and peak memory to a certified gap, growth, and CVXPY beside it.

    min over PSD R   lambda/2 ||R||_F^2 + mean_S max(0, D_ij - D_ik + 1)

with lambda as a share of the smallest one at which every triplet violates its margin.

- ``digits``: 1,797 points of 64 features (/ 16); 10 x 10 and 20 x 20 nearest points of the same and of other labels,
  and all 519 million triplets.
- ``synthetic``: 2,000 points of 100 normal features, ten classes with normal centres of size ``--separation``, 10 x 10
  neighbours: 200,000 triplets; and random triplets of a hidden metric with one in ten turned.
- ``growth``: the synthetic clusters with ten and a hundred times the triplets, and with 16 to 256 features.
- ``path``: 66 values of lambda, each 0.9 of the last, on digits 10 x 10, beside single solves of every sixth.
- ``cvxpy``: CLARABEL and SCS on the textbook statement of instances that they finish.

    python benchmarks/bench_triplets.py digits synthetic growth path cvxpy

Every run has a process of its own, for its peak memory, and one solve of a small problem before the clock starts.
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
from convexmetric.comparisons import triplets_from_labels

RATIOS = (1e-1, 1e-2, 1e-3, 1e-4)


def digits(neighbours: int | None, ratio_: float) -> cm.TripletProblem:
    data = cm.datasets.load("digits")
    problem = cm.TripletProblem.from_labels(data.X / 16.0, data.y, n_same=neighbours, n_other=neighbours)
    return problem.with_reg(ratio_ * problem.reg_max)


def clusters(n: int, d: int, neighbours: int | None, separation: float, ratio_: float) -> cm.TripletProblem:
    rng = np.random.default_rng(0)
    y = np.arange(n) % 10
    X = rng.standard_normal((n, d)) + separation * rng.standard_normal((10, d))[y]
    problem = cm.TripletProblem.from_labels(X, y, n_same=neighbours, n_other=neighbours)
    return problem.with_reg(ratio_ * problem.reg_max)


def noisy(n: int, d: int, count: int, ratio_: float) -> cm.TripletProblem:
    """Random triplets as a hidden metric of rank ten has them, one in ten the other way."""
    rng = np.random.default_rng(0)
    X, B = rng.standard_normal((n, d)), rng.standard_normal((10, d))
    triplets = rng.integers(n, size=(2 * count, 3))
    i, j, k = triplets.T
    triplets = triplets[(i != j) & (j != k) & (i != k)][:count]
    i, j, k = triplets.T
    s = (((X[i] - X[k]) @ B.T) ** 2).sum(axis=1) - (((X[i] - X[j]) @ B.T) ** 2).sum(axis=1)
    turned = (s < 0) ^ (rng.random(count) < 0.1)
    triplets[turned] = triplets[turned][:, [0, 2, 1]]
    problem = cm.TripletProblem(X, triplets)
    return problem.with_reg(ratio_ * problem.reg_max)


def wine(count: int) -> cm.TripletProblem:
    data = cm.datasets.load("wine")
    X = cm.datasets.preprocess(data.X, ["zscore"])
    problem = cm.TripletProblem(X, triplets_from_labels(data.y, count, random_state=0))
    return problem.with_reg(1e-2 * problem.reg_max)


PROBLEMS = {"digits": digits, "clusters": clusters, "noisy": noisy, "wine": wine}


def solve(kind: str, arguments: tuple[Any, ...], tol: float, limit: float, solver: str | None = None) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Compiled loops are loaded before the clock starts.
        cm.solve(clusters(60, 4, 2, 1.0, 0.1))
        problem = PROBLEMS[kind](*arguments)
        solution = cm.solve(problem, tol=tol, max_seconds=limit, solver=solver)
    return {
        "count": problem.count,
        "seconds": solution.seconds,
        "gap": solution.gap,
        "value": solution.upper_bound,
        "steps": solution.iterations,
        "rank": solution.rank,
    }


def path(tol: float) -> dict[str, Any]:
    problem = digits(10, 1.0)
    cm.solve(problem.with_reg(0.3 * problem.reg_max))
    regs = problem.reg_max * 0.9 ** np.arange(1, 67)
    start = perf_counter()
    solutions = cm.solve_path(problem, reg=regs, tol=tol)
    whole = perf_counter() - start
    apart = [cm.solve(problem.with_reg(reg), tol=tol) for reg in regs[::6]]
    return {
        "seconds": whole,
        "gap": max(solution.gap for solution in solutions),
        "steps": sum(solution.iterations for solution in solutions),
        "same": sum(solution.seconds for solution in solutions[::6]),
        "apart": sum(solution.seconds for solution in apart),
        "same steps": sum(solution.iterations for solution in solutions[::6]),
        "apart steps": sum(solution.iterations for solution in apart),
    }


def row(name: str, outcome: Any) -> list[object]:
    result = outcome.value or {}
    cells = [
        name,
        f"{result['count']:,}" if result else "-",
        outcome.failure or seconds(result["seconds"]),
        f"{result['gap']:.1e}" if result else "-",
        result.get("steps", "-"),
        result.get("rank", "-"),
        f"{outcome.peak_bytes / 1e6:.0f}",
    ]
    print("...", *cells, flush=True)
    return cells


HEADER = ["problem", "triplets", "seconds", "certified gap", "steps", "rank", "peak MB"]


def table(cases: list[tuple[str, str, tuple[Any, ...]]], arguments: argparse.Namespace) -> list[list[object]]:
    rows = [
        row(
            name,
            run(
                solve,
                kind,
                of,
                arguments.tol,
                arguments.limit,
                limit=2 * arguments.limit + 60,
                threads=arguments.threads,
            ),
        )
        for name, kind, of in cases
    ]
    print("\n" + markdown(HEADER, rows) + "\n")
    return rows


def exponent(first: float, last: float, growth: float) -> str:
    return f"{np.log(last / first) / np.log(growth):.2f}"


def growth_table(arguments: argparse.Namespace) -> None:
    """Seconds at lambda ratio 1e-3 against triplets (same points, more neighbours) and against features."""
    by_count = [(f"{k} x {k} neighbours", (2000, 32, k, 1.0, 1e-3)) for k in (4, 13, 40)]
    by_features = [(f"{d} features", (2000, d, 10, 1.0, 1e-3)) for d in (16, 32, 64, 128, 256)]
    for title, cases in (("triplets", by_count), ("features", by_features)):
        rows = table([(name, "clusters", of) for name, of in cases], arguments)
        # Of runs that reached the gap; the others have no time to it.
        done = [k for k, r in enumerate(rows) if r[3] != "-" and float(str(r[3])) <= arguments.tol]
        by_triplets = title == "triplets"
        sizes = [float(str(rows[k][1]).replace(",", "")) if by_triplets else float(cases[k][1][1]) for k in done]
        times = [float(str(rows[k][2])) for k in done]
        if len(done) > 1:
            growth = exponent(times[0], times[-1], sizes[-1] / sizes[0])
            print(f"exponent of seconds in {title}, {sizes[0]:g} to {sizes[-1]:g}: {growth}\n")


def beside_cvxpy(arguments: argparse.Namespace) -> None:
    cases: list[tuple[str, str, tuple[Any, ...]]] = [
        ("wine, 200 random", "wine", (200,)),
        ("wine, 1,000 random", "wine", (1000,)),
        ("clusters, d = 10", "clusters", (100, 10, 4, 0.5, 1e-2)),
        ("clusters, d = 20", "clusters", (150, 20, 4, 0.5, 1e-2)),
        ("clusters, d = 30", "clusters", (200, 30, 5, 0.5, 1e-2)),
    ]
    rows = []
    for name, kind, of in cases:
        ours: dict[str, Any] = {}
        for solver in (None, "clarabel", "scs"):
            outcome = run(
                solve,
                kind,
                of,
                1e-7,
                arguments.limit,
                solver,
                limit=2 * arguments.limit + 60,
                threads=arguments.threads,
            )
            result = outcome.value or {}
            ours = ours or result
            rows.append(
                [
                    name,
                    solver or "default",
                    f"{ours['count']:,}",
                    outcome.failure or seconds(result["seconds"]),
                    ratio(result.get("seconds"), ours["seconds"]),
                    f"{result['gap']:.1e}" if result else "-",
                    f"{abs(result['value'] / ours['value'] - 1.0):.1e}" if result else "-",
                    f"{outcome.peak_bytes / 1e6:.0f}",
                ]
            )
            print("...", *rows[-1], flush=True)
    header = ["problem", "solver", "triplets", "seconds", "ratio", "our gap of it", "value off by", "peak MB"]
    print("\n" + markdown(header, rows) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ("digits", "synthetic", "growth", "path", "cvxpy")
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(parts)}; default all")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--separation", type=float, nargs="+", default=[0.3, 0.6])
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    chosen = arguments.parts or parts
    print(f"# Triplets to a relative gap of {arguments.tol:g}\n\n{surroundings('cvxpy', 'clarabel', 'scs')}\n")
    if "digits" in chosen:
        sizes = ((10, "10 x 10"), (20, "20 x 20"), (None, "all"))
        table([(f"digits, {name}, {r:g}", "digits", (k, r)) for k, name in sizes for r in RATIOS], arguments)
    if "synthetic" in chosen:
        cases: list[tuple[str, str, tuple[Any, ...]]] = [
            (f"clusters, d = 100, separation {s:g}, {r:g}", "clusters", (2000, 100, 10, s, r))
            for s in arguments.separation
            for r in RATIOS
        ]
        cases += [(f"noisy, d = 100, {r:g}", "noisy", (1000, 100, 200_000, r)) for r in RATIOS]
        table(cases, arguments)
    if "growth" in chosen:
        growth_table(arguments)
    if "path" in chosen:
        outcome = run(path, arguments.tol, limit=2 * arguments.limit, threads=arguments.threads)
        result = outcome.value
        print(f"path of 66: {outcome.failure or result}\n")
    if "cvxpy" in chosen:
        beside_cvxpy(arguments)


if __name__ == "__main__":
    main()
