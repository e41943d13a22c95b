"""What solves cost in evaluations of their objective: the records from which costs of new problems are forecast.

    python benchmarks/record_costs.py [--limit 12] [--all 900] [--check]

Solves instances of the library, and made problems for what it has no large ones of, by the default, on one thread. Of
every solve ``convexmetric/solvers/costs.json`` keeps the solver taken first, the risk, the number of its parts and of
coordinates, and the cost to each gap of ``convexmetric.solvers.forecast.GAPS``: the time up to there divided by that of
one evaluation of the objective at the Euclidean metric, in the same process. Times are those of the processor, which
other busy processes change less than those on the wall. A solve ends after ``--limit`` seconds; gaps that it did not
reach are null. ``--check`` records nothing: it forecasts every record from the others, and says how far it is off.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from environment import limit_threads, surroundings
from made_sets import letters

import convexmetric as cm
from convexmetric.comparisons import Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.losses import Logistic
from convexmetric.regularizers import SquaredFrobenius
from convexmetric.risks import SmoothSeparableRisk
from convexmetric.solvers import forecast

Problems = Iterator[tuple[str, Callable[[], cm.MetricProblem]]]

#: Solves of the library that take long and say no more than others.
LONG = (
    *("letters", "coil20", "digits-20x20"),
    *("knn-isolet", "mrr-isolet", "ndcg-isolet", "precision-isolet", "auc-isolet-6238"),
)


def comparisons(points: int, count: int, features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points and triplets of which a diagonal metric with few positive weights, and chance, decide the order."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(points, features))
    triplets = np.array([rng.choice(points, 3, replace=False) for _ in range(count)])
    i, j, k = triplets.T
    w = rng.random(features) * (rng.random(features) < 0.3)
    nearer = ((X[i] - X[j]) ** 2 - (X[i] - X[k]) ** 2) @ w + 0.3 * rng.normal(size=count) > 0.0
    return X, np.where(nearer[:, None], triplets[:, [0, 2, 1]], triplets)


def relative(points: int, count: int, features: int, C: float) -> cm.MetricProblem:
    """Relative comparisons of dense points."""
    return cm.RelativeComparisonProblem(*comparisons(points, count, features), C=C)


def sparse(points: int, count: int, features: int, C: float) -> cm.MetricProblem:
    """Relative comparisons of sparse points with many features."""
    rng = np.random.default_rng(0)
    X = sp.random(points, features, 0.01, "csr", rng=rng)
    triplets = np.array([rng.choice(points, 3, replace=False) for _ in range(count)])
    return cm.RelativeComparisonProblem(X, triplets, C=C)


def bounded(points: int, count: int, features: int, C: float) -> cm.MetricProblem:
    """Relative comparisons with a limit on the sum of the weights: only a conic solver takes it."""
    return relative(points, count, features, C).subject_to(lambda w: [cp.sum(w) <= 1.0])


def smooth(points: int, count: int, features: int, C: float, full: bool) -> cm.MetricProblem:
    """Logistic losses of listed triplets, with a squared norm."""
    X, triplets = comparisons(points, count, features)
    cone = PSDCone(features) if full else NonnegativeDiagonal(features)
    risk = SmoothSeparableRisk(Triplets(X / np.sqrt(features), triplets, cone), Logistic(C / count))
    return cm.MetricProblem(risk, SquaredFrobenius(1.0))


def ranking(rows: int, measure: str, C: float, **options: object) -> cm.MetricProblem:
    """Rankings of a made set, every row a query."""
    return cm.RankingProblem.from_labels(*letters(rows), measure=measure, C=C, **options)


def digits(rows: int, C: float) -> cm.RankingProblem:
    """Rankings of digits by AUC: full metrics on 64 features."""
    data = cm.datasets.load("digits")
    return cm.RankingProblem.from_labels(data.X[:rows] / 8.0, data.y[:rows], measure="auc", C=C)


def made() -> Problems:
    """What the library has no instance of, or none so large."""
    for points, count, features in ((300, 1_000, 10), (600, 3_000, 30)):
        for C in (1.0, 100.0):
            yield f"bounded {count} {features} {C}", partial(bounded, points, count, features, C)
    for points, count, features in ((500, 4_000, 7_500), (1_000, 5_000, 8_000)):
        yield f"sparse {count} {features}", partial(sparse, points, count, features, 1.0)
    for points, count, features in ((200, 2_000, 10), (1_000, 20_000, 20)):
        for C in (1.0, 100.0, 1e4):
            for full in (False, True):
                yield f"smooth {count} {features} {C}", partial(smooth, points, count, features, C, full)
    for points, count, features in ((200, 2_000, 20), (1_000, 20_000, 50), (5_000, 100_000, 100), (300, 500, 1_000)):
        for C in (1.0, 100.0, 1e4):
            yield f"relative {count} {features} {C}", partial(relative, points, count, features, C)
    for rows in (1_000, 3_000):
        for C in (1.0, 100.0, 1e4):
            for measure in ("auc", "map"):
                yield f"{measure} {rows} {C}", partial(ranking, rows, measure, C)
    for rows in (500, 1_797):
        for C in (1.0, 100.0, 1e4):
            yield f"auc digits {rows} {C}", partial(digits, rows, C)
    for C in (1.0, 100.0):
        yield f"auc 1000 {C} squared", partial(ranking, 1_000, "auc", C, regularizer="squared-frobenius")
        for measure in ("auc", "map"):
            yield f"{measure} 6000 {C}", partial(ranking, 6_000, measure, C)
    for rows in (2_000, 6_000):
        yield f"triplets {rows}", partial(cm.TripletProblem.from_labels, *letters(rows))
        yield f"pairs {rows}", partial(cm.PairMarginProblem.from_labels, *letters(rows))


def library() -> Problems:
    """The instances of the library."""
    for name in sorted(cm.list_problems(), key=lambda name: ("isolet" in name, "all" in name, name)):
        if not any(part in name for part in LONG):
            yield name, partial(cm.load_problem, name)


def evaluation(problem: cm.MetricProblem) -> float:
    """Processor seconds of one evaluation of the objective; the least of a few."""
    identity, taken, began = problem.cone.identity(), [], time.process_time()
    problem.value(identity)
    while len(taken) < 2 or time.process_time() - began < 0.1:
        start = time.process_time()
        problem.value(identity)
        taken.append(time.process_time() - start)
    return min(taken)


def costs(problem: cm.MetricProblem, limit: float) -> list[float | None]:
    """Evaluations of the objective to each gap."""
    unit, start, reached = evaluation(problem), time.process_time(), []

    def look(progress: cm.Progress) -> bool:
        reached.append((time.process_time() - start, progress.gap))
        return reached[-1][0] > limit

    cm.solve(problem, tol=min(forecast.GAPS), callback=look)
    found = (next((seconds for seconds, gap in reached if gap <= aim), None) for aim in forecast.GAPS)
    return [None if seconds is None else float(f"{seconds / unit:.3g}") for seconds in found]


class Shape:
    """What a forecast asks of a problem: words and sizes."""

    def __init__(self, record: forecast.Record) -> None:
        self.risk = self.cone = self
        self.words, self.parts, self.size = record.risk, record.parts, record.coordinates


def check() -> None:
    """How many records lie in the range of a forecast from all others, and in one twice as wide at both ends."""
    records, factors = forecast.records(), (1.0, 2.0, 4.0)
    hits: dict[float, list[tuple[bool, ...]]] = {gap: [] for gap in forecast.GAPS}
    for solver, found in records.items():
        for record in found:
            others = {solver: tuple(other for other in found if other is not record)}
            forecast.records = lambda others=others: others  # type: ignore[assignment]
            expected = forecast.forecast(Shape(record), solver, 1.0)  # type: ignore[arg-type]
            for gap, cost in zip(forecast.GAPS, record.evaluations):
                if cost is not None and gap in expected:
                    least, most = expected[gap]
                    hits[gap].append(tuple(least / wider <= cost <= wider * most for wider in factors))
    for gap, known in hits.items():
        shares = (f"{np.mean(column):.0%} within {factor:g}" for factor, column in zip(factors, zip(*known)))
        print(f"gap {gap:g}, {len(known)} records: {', '.join(shares)}")


def main() -> None:
    """Record, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=12.0, help="seconds for each solve (default %(default)s)")
    parser.add_argument("--all", type=float, default=900.0, help="seconds in all (default %(default)s)")
    parser.add_argument("--check", action="store_true", help="only forecast every record from the others")
    arguments = parser.parse_args()
    if arguments.check:
        check()
        return
    limit_threads(1)
    print(surroundings())
    warnings.simplefilter("ignore")
    table: dict[str, dict[str, list[list[float | None]]]] = {}
    for name, make in (*made(), *library()):
        if time.process_time() > arguments.all:
            print(f"{name} and what comes after it: not recorded, for lack of time")
            break
        try:
            problem = make()
        except cm.errors.DataNotFoundError as error:
            print(f"{name}: not recorded ({error})")
            continue
        solver = cm.explain(problem, measure=False).chosen
        if solver not in table:
            # Compiled loops are loaded, or made, by the first solve.
            costs(problem, arguments.limit)
        found = [problem.risk.parts, problem.cone.size, *costs(problem, arguments.limit)]
        table.setdefault(solver, {}).setdefault(problem.risk.words, []).append(found)
        print(f"{time.process_time():.0f} s {name}: {solver}, {found}", flush=True)
        Path(forecast.__file__).with_name("costs.json").write_text(_text(table), encoding="utf-8")


def _text(table: dict[str, dict[str, list[list[float | None]]]]) -> str:
    """JSON with a line for each record, so that a change is easy to read."""
    solvers = []
    for solver, risks in sorted(table.items()):
        lists = []
        for risk, records in sorted(risks.items()):
            rows = ",\n".join(f"      {json.dumps(record)}" for record in sorted(records, key=lambda row: row[:2]))
            lists.append(f"    {json.dumps(risk)}: [\n{rows}\n    ]")
        solvers.append(f"  {json.dumps(solver)}: {{\n" + ",\n".join(lists) + "\n  }")
    return "{\n" + ",\n".join(solvers) + "\n}\n"


if __name__ == "__main__":
    main()
