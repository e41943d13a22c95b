r"""Pairs with operator margins exactly: seconds and peak memory to a certified gap, and others beside it.

    min over PSD A   mean_S h(r (1 - <Q_{x - x'}, A>)) + lambda / sqrt(m) ||A||

on printed letters, 20 categories of 100 images each in all directions, under the kernel 1/2 exp(-4 |x/|x| - y/|y||^2).

- ``lists``: 1,000, 2,000 and 4,000 balanced pairs, Hilbert-Schmidt norm (lambda 0.005) and trace norm (0.001).
- ``all``: all 1,999,000 pairs, balanced by weights; gaps on the way.
- ``descent``: a million steps of stochastic descent on vectors, corrected and as printed, on 2,000 pairs and on all:
  how far above the optimum of its lambda it ends, and of twice that lambda; risk, ROC area and error of the nearest of
  one example a category on rotated digits, for all of them.
- ``cvxpy``: CLARABEL and SCS on the textbook statement of instances that they finish.

    python benchmarks/bench_pairs.py lists all descent cvxpy

Every run has a process of its own, for its peak memory, and one solve of a small problem before the clock starts.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from environment import add_threads_option, limit_threads, surroundings
from isolated import run
from tables import markdown, ratio, seconds

import convexmetric as cm

LAMBDA = {"frobenius": 0.005, "trace": 0.001}
#: Gaps whose time is told.
ON_THE_WAY = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


def letters(count: int | None, norm: str, times: float = 1.0) -> cm.PairMarginProblem:
    data = cm.datasets.load("rotated-letters")
    options: dict[str, Any] = {"reg": times * LAMBDA[norm], "penalty": norm, "kernel": "unit-rbf"}
    return cm.PairMarginProblem.from_labels(data.X, data.y, n_pairs=count, random_state=0, **options)


def wine(count: int | None, norm: str, kernel: str | None, margin: tuple[float, float]) -> cm.PairMarginProblem:
    data = cm.datasets.load("wine")
    X, y = cm.datasets.preprocess(data.X, ["zscore"])[::6], data.y[::6]
    options: dict[str, Any] = {"reg": 0.1, "penalty": norm, "kernel": kernel, "margin": margin}
    return cm.PairMarginProblem.from_labels(X, y, n_pairs=count, random_state=0, **options)


PROBLEMS = {"letters": letters, "wine": wine}


def solve(kind: str, of: tuple[Any, ...], tol: float, limit: float, solver: Any = None) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Compiled loops are loaded before the clock starts.
        for norm in LAMBDA:
            cm.solve(wine(30, norm, None, (1.0, 1.0)))
            cm.solve(wine(None, norm, None, (1.0, 1.0)))
        problem = PROBLEMS[kind](*of)
        solution = cm.solve(problem, tol=tol, max_seconds=limit, solver=solver)
    reached = {gap: next((p.seconds for p in solution.history if p.gap <= gap), None) for gap in ON_THE_WAY}
    return {
        "d": problem.cone.d,
        "seconds": solution.seconds,
        "reached": reached,
        "gap": solution.gap,
        "value": solution.upper_bound,
        "lower": solution.lower_bound,
        "doubled": problem.with_reg(2.0 * problem.reg).value(solution.certificate.M),
        "steps": solution.iterations,
        "rank": solution.rank,
        "tests": digits(solution) if kind == "letters" else {},
    }


def digits(solution: cm.Solution) -> dict[str, float]:
    """What the operator does on rotated digits."""
    T, data = cm.evaluation.SimilarityOperator.of(solution), cm.datasets.load("rotated-digits")
    return {
        "risk": cm.evaluation.empirical_risk_from_labels(T, data.X, data.y),
        "area": cm.evaluation.roc_area(T, data.X, data.y),
        "error": cm.evaluation.single_prototype_error(T, data.X, data.y, random_state=0),
    }


def solved(kind: str, of: tuple[Any, ...], arguments: argparse.Namespace, solver: Any = None) -> Any:
    tol, limit = arguments.tol, arguments.limit
    return run(solve, kind, of, tol, limit, solver, limit=3 * limit + 60, threads=arguments.threads)


def table(cases: list[tuple[str, tuple[Any, ...]]], arguments: argparse.Namespace) -> None:
    rows = []
    for name, of in cases:
        outcome = solved("letters", of, arguments)
        found = outcome.value
        if found is None:
            rows.append([name, outcome.failure])
            continue
        times = [seconds(found["reached"][gap]) for gap in ON_THE_WAY]
        tests = [f"{found['tests'][key]:.4f}" for key in ("risk", "area", "error")]
        optimum = f"[{found['lower']:.9g}, {found['value']:.9g}]"
        rows.append([name, found["d"], *times, seconds(found["seconds"]), f"{found['gap']:.1e}", optimum])
        rows[-1] += [found["rank"], found["steps"], *tests, f"{outcome.peak_bytes / 1e6:.0f}"]
        print("...", *rows[-1], flush=True)
    header = ["pairs", "span", *(f"{gap:.0e}" for gap in ON_THE_WAY), "seconds", "gap", "optimum"]
    print("\n" + markdown([*header, "rank", "steps", "risk", "area", "error", "peak MB"], rows) + "\n")


def descents(arguments: argparse.Namespace) -> None:
    """Stochastic descent beside the optima of its lambda and of twice that."""
    rows = []
    for count in (2000, None):
        name = "all" if count is None else f"{count:,}"
        optima = [solved("letters", (count, "frobenius", times), arguments).value for times in (1.0, 2.0)]
        tests = [f"{optima[0]['tests'][key]:.4f}" for key in ("risk", "area", "error")]
        rows.append([name, "optimum", f"{optima[0]['value']:.7f}", "1", "-", *tests, seconds(optima[0]["seconds"])])
        for printed in (False, True):
            solver = cm.approximate.StochasticFactors(
                learning_rate=0.01, steps=arguments.steps, as_printed=printed, random_state=0
            )
            found = solved("letters", (count, "frobenius"), arguments, solver).value
            tests = [f"{found['tests'][key]:.4f}" for key in ("risk", "area", "error")]
            # As printed it descends the objective of twice the lambda: the same metric, judged by that.
            away = [ratio(found["value"], optima[0]["value"]), ratio(found["doubled"], optima[1]["value"])]
            label = "as printed" if printed else "corrected"
            rows.append([name, label, f"{found['value']:.7f}", *away, *tests, seconds(found["seconds"])])
            print("...", *rows[-1], flush=True)
    header = [
        "pairs",
        "descent",
        "objective",
        "of the optimum",
        "of that at 2 lambda",
        "risk",
        "area",
        "error",
        "seconds",
    ]
    print("\n" + markdown(header, rows) + "\n")


def beside_cvxpy(arguments: argparse.Namespace) -> None:
    rows = []
    for count in (200, None):
        for norm in LAMBDA:
            for kernel in (None, "unit-rbf"):
                for margin in ((1.0, 1.0), (0.5, 1.5)):
                    of = (count, norm, kernel, margin)
                    ours: dict[str, Any] = {}
                    for solver in (None, "clarabel", "scs"):
                        outcome = solved("wine", of, arguments, solver)
                        found = outcome.value or {}
                        ours = ours or found
                        off = f"{abs(found['value'] / ours['value'] - 1.0):.1e}" if found else "-"
                        rows.append(
                            [
                                f"{count or 'all'}, {norm}, {kernel or 'no kernel'}, margins {margin}",
                                solver or "default",
                                outcome.failure or seconds(found["seconds"]),
                                ratio(found.get("seconds"), ours["seconds"]),
                                f"{found['gap']:.1e}" if found else "-",
                                off,
                            ]
                        )
                        print("...", *rows[-1], flush=True)
    header = ["30 wines: pairs", "solver", "seconds", "ratio", "our gap of it", "value off by"]
    print("\n" + markdown(header, rows) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ("lists", "all", "descent", "cvxpy")
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(parts)}; default all")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--steps", type=int, default=1_000_000, help="of the descent")
    parser.add_argument("--norms", nargs="+", choices=list(LAMBDA), default=list(LAMBDA), help="for lists and all")
    parser.add_argument("--counts", type=int, nargs="+", default=[1000, 2000, 4000], help="pairs of lists")
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    chosen = arguments.parts or parts
    print(f"# Pairs to a relative gap of {arguments.tol:g}\n\n{surroundings('cvxpy', 'clarabel', 'scs')}\n")
    if "lists" in chosen:
        table([(f"{m:,}, {norm}", (m, norm)) for norm in arguments.norms for m in arguments.counts], arguments)
    if "all" in chosen:
        table([(f"all, {norm}", (None, norm)) for norm in arguments.norms], arguments)
    if "descent" in chosen:
        descents(arguments)
    if "cvxpy" in chosen:
        beside_cvxpy(arguments)


if __name__ == "__main__":
    main()
