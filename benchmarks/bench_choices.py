"""Choices at the size that people have: every document a candidate, and millions of odd ones out.

    python benchmarks/bench_choices.py [--cases queries-768 queries-384 odd-diagonal odd-frobenius odd-trace]

``queries``: the softmax loss of 1,500 queries of a made collection (``made_sets.collection``), each with up to ten
relevant documents, all of 10,000 documents (768 features) or 100,000 (384) being candidates; all matrices, drawn to the
identity (a map of the query side). ``odd``: 4.7 million answers which of three objects is the odd one out, drawn by the
softmax of a metric of 49 of 512 made features of 1,854 objects, of whose answers the best guess gets about half right;
weights of features, a full metric with a squared norm, or with a trace. The weight of the norm is a hundredth of
``reg_max``. Printed are seconds to the gap asked for, certificates included, steps, and the peak of memory, data and
interpreter included. A run has a process of its own.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from environment import add_threads_option, limit_threads, surroundings
from isolated import run
from made_sets import collection
from tables import markdown

import convexmetric as cm
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.cones import AllMatrices
from convexmetric.regularizers import SquaredDistance
from convexmetric.risks import SoftmaxRisk

QUERIES, RELEVANT = 1_500, 10
#: Features and documents.
COLLECTIONS = {"queries-768": (768, 10_000), "queries-384": (384, 100_000)}
#: Whether metrics are diagonal, and the norm.
NORMS = {
    "odd-diagonal": (True, "squared-frobenius"),
    "odd-frobenius": (False, "squared-frobenius"),
    "odd-trace": (False, "trace"),
}
OBJECTS, FEATURES, USED = 1_854, 512, 49
#: Share of ``reg_max``, and variance of a feature's differences in the metric that answers.
STRENGTH, SIGNAL = 0.01, 0.3


def of_queries(features: int, documents: int) -> cm.MetricProblem:
    """A map of queries near the identity, C one over their number, temperature .15, lambda .03."""
    X, Q, of_document, of_query = collection(documents, QUERIES, features)
    places = [np.flatnonzero(of_document == topic)[:RELEVANT] for topic in of_query]
    kept = [q for q, relevant in enumerate(places) if len(relevant)]
    relevance = Relevance.from_lists([places[q] for q in kept], None, len(kept), documents)
    cone = AllMatrices(features)
    risk = SoftmaxRisk(Rankings(X, Q[kept], relevance, cone), C=1.0 / len(kept), temperature=0.15)
    return cm.MetricProblem(risk, SquaredDistance(0.03, cone.identity()))


def of_objects(trials: int, diagonal: bool, penalty: str) -> cm.MetricProblem:
    """Odd ones out of made objects."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((OBJECTS, FEATURES)) / np.sqrt(np.arange(1.0, FEATURES + 1.0))
    X /= np.sqrt((X**2).sum(axis=1).mean())
    used = rng.choice(2 * USED, USED, replace=False)
    images = X[:, used] * np.sqrt(SIGNAL * rng.gamma(1.0, 10.0, USED))
    norms = (images**2).sum(axis=1)
    distances = norms[:, None] + norms - 2.0 * images @ images.T
    first = rng.integers(0, OBJECTS, trials)
    steps = 1 + np.sort(rng.integers(0, OBJECTS - 2, (trials, 2)), axis=1) + np.array([0, 1])
    shown = np.column_stack([first, (first + steps[:, 0]) % OBJECTS, (first + steps[:, 1]) % OBJECTS])
    pairs = shown[:, [[1, 2], [0, 2], [0, 1]]]
    scores = rng.gumbel(size=(trials, 3)) - distances[pairs[..., 0], pairs[..., 1]]
    odd = scores.argmax(axis=1)
    each = np.arange(trials)
    answers = np.column_stack([pairs[each, odd], shown[each, odd]])
    options: dict[str, Any] = {"kind": "odd-one-out", "penalty": penalty, "diagonal": diagonal}
    problem = cm.ChoiceProblem(X, answers, reg=1.0, **options)
    return problem.with_reg(STRENGTH * problem.reg_max)


def measured(case: str, trials: int, tol: float, limit: float) -> list[str]:
    """Solver, status, seconds, looks, gap and the certified interval of a case."""
    problem = of_queries(*COLLECTIONS[case]) if case in COLLECTIONS else of_objects(trials, *NORMS[case])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = cm.solve(problem, tol=tol, max_seconds=limit)
    proven = solution.certificate
    return [
        solution.solver,
        f"{solution.seconds:.1f}",
        f"{len(solution.history)}",
        f"{solution.gap:.1e}",
        f"{proven.lower_bound:.5f} to {proven.upper_bound:.5f}",
    ]


def main() -> None:
    """Print a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=[*COLLECTIONS, *NORMS], default=[*COLLECTIONS, *NORMS])
    parser.add_argument("--trials", type=int, default=4_700_000)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--limit", type=float, default=300.0)
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings(), flush=True)
    rows = []
    for case in arguments.cases:
        what = case, arguments.trials, arguments.tol, arguments.limit
        outcome = run(measured, *what, limit=2.0 * arguments.limit + 200.0, threads=arguments.threads)
        memory = f"{outcome.peak_bytes / 2**30:.2f}"
        rows.append([case, *(outcome.value or [outcome.failure, *[""] * 4]), memory])
        print(rows[-1], flush=True)
    print(markdown(["case", "solver", "s", "looks", "gap", "optimum", "GB at the peak"], rows))


if __name__ == "__main__":
    main()
