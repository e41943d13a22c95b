"""Judged queries at the size that users have: many mined lists, and every document of a large corpus.

    python benchmarks/bench_retrieval.py [--cases mined exact] [--features 384] [--threads 2]

A made collection (``made_sets.collection``) of 100,000 documents. ``mined``: 10,000 queries with ten judged documents
each, half of them relevant, and the 100 nearest others as irrelevant ones. ``exact``: 1,000 queries, all documents that
are not judged relevant are irrelevant, and none is listed. The metric is drawn to the identity, which is what the
encoder has. Printed are seconds to state the problem (mining included) and to solve it, memory beside the data, passes,
the certified gap, and nDCG@10 of 500 further queries over 20,000 documents before and after. A run has a process of its
own.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from typing import Any

import numpy as np
from environment import add_threads_option, limit_threads, surroundings
from isolated import run
from made_sets import collection
from tables import markdown

import convexmetric as cm

#: Queries, what becomes of unjudged documents, and the gap to reach.
CASES = {"mined": (10_000, "mined", 1e-3), "exact": (1_000, "irrelevant", 1e-2)}
#: Documents judged for a query.
JUDGED = 10
HELD_OUT, SCORED_DOCUMENTS = 500, 20_000


def judgements(
    X: np.ndarray, Q: np.ndarray, of_document: np.ndarray, of_query: np.ndarray
) -> dict[int, dict[int, int]]:
    """For every query half of ``JUDGED`` documents of its topic, and as many of others: the nearest of 50 drawn."""
    rng = np.random.default_rng(1)
    by_topic = np.argsort(of_document, kind="stable")
    bounds = np.searchsorted(of_document[by_topic], np.arange(of_document.max() + 2))
    found: dict[int, dict[int, int]] = {}
    for q, topic in enumerate(of_query):
        own = by_topic[bounds[topic] : bounds[topic + 1]]
        relevant = rng.choice(own, min(JUDGED // 2, len(own)), replace=False)
        others = rng.choice(len(X), 50)
        others = others[of_document[others] != topic]
        others = others[np.argsort(-(X[others] @ Q[q]))][: JUDGED - JUDGED // 2]
        found[q] = {**dict.fromkeys(relevant.tolist(), 1), **dict.fromkeys(others.tolist(), 0)}
    return found


def scored(M: np.ndarray | None, X: np.ndarray, Q: np.ndarray, of_document: np.ndarray, of_query: np.ndarray) -> float:
    """nDCG@10, relevant being the documents of the query's topic."""
    qrels = {q: dict.fromkeys(np.flatnonzero(of_document == topic).tolist(), 1) for q, topic in enumerate(of_query)}
    qrels = {q: row for q, row in qrels.items() if row}
    kept = sorted(qrels)
    table = cm.retrieval.Qrels.of((q, d, 1) for q, row in qrels.items() for d in row)
    ranked = cm.retrieval.rank_corpus(M, X, Q[kept], query_ids=kept)
    return float(cm.retrieval.score_run(ranked, table, measures=["nDCG@10"]).means["nDCG@10"])


def measured(case: str, documents: int, features: int, measure: str, C: float, limit: float) -> list[str]:
    """The row of a case."""
    queries, unjudged, tol = CASES[case]
    queries = min(queries, documents)
    X, Q, of_document, of_query = collection(documents, queries + HELD_OUT, features)
    qrels = judgements(X, Q, of_document, of_query[:queries])
    start = time.perf_counter()
    problem = cm.RankingProblem.from_qrels(
        X,
        Q[:queries],
        qrels,
        unjudged=unjudged,
        measure=measure,
        C=C,
        penalty="squared-frobenius",
        prior="identity",
    )
    stated = time.perf_counter() - start
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        solution = cm.solve(problem, tol=tol, max_seconds=limit)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    held = slice(queries, None)
    few = slice(0, SCORED_DOCUMENTS)
    ndcg = [scored(M, X[few], Q[held], of_document[few], of_query[held]) for M in (None, solution.M)]
    return [
        case,
        measure,
        f"{C:g}",
        solution.solver,
        f"{stated:.1f}",
        f"{solution.seconds:.1f}",
        f"{before / 2**20:.2f} / {peak / 2**20:.2f}",
        f"{len(solution.history)}",
        f"{solution.gap:.1e}",
        f"{ndcg[0]:.4f} / {ndcg[1]:.4f}",
    ]


def main() -> None:
    """Print a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--features", type=int, nargs="+", default=[384])
    parser.add_argument("--measures", nargs="+", default=["auc", "map"])
    parser.add_argument("--C", type=float, nargs="+", default=[100.0])
    parser.add_argument("--limit", type=float, default=600.0)
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings(), flush=True)
    header = ["case", "measure", "C", "solver", "s to state", "s", "GB before / peak", "looks", "gap", "nDCG@10"]
    rows: list[Any] = []
    for case in arguments.cases:
        for features in arguments.features:
            for measure in arguments.measures:
                for C in arguments.C:
                    what = case, arguments.documents, features, measure, C, arguments.limit
                    outcome = run(measured, *what, limit=4.0 * arguments.limit + 300.0, threads=arguments.threads)
                    rows.append(outcome.value or [case, measure, f"{C:g}", outcome.failure, *[""] * 6])
                    print(rows[-1], flush=True)
    print(markdown(header, rows))


if __name__ == "__main__":
    main()
