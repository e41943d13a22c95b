"""The worst tenth of the queries: a mean risk beside the mean of its worst parts, held out and learned from.

    CONVEXMETRIC_DATA=... python benchmarks/bench_worst.py [--sets wine cranfield] [--share 0.1] [--C 1 100]

Wine: metric learning to rank by MAP, every row a query, folds by class. Cranfield: average precision of the judged
questions, the metric drawn to the identity (LSA of 100 dimensions, as in ``examples/retrieval_study``). Each fold
solves the risk and ``Worst(risk, share)`` beside a squared norm, C being the weight of a query times their number.
Printed are the mean of AP and the mean of its lowest share, over the queries of all folds, and the largest gap.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from environment import add_threads_option, limit_threads, surroundings
from sklearn.model_selection import KFold, StratifiedKFold
from tables import markdown

import convexmetric as cm
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.cones import PSDCone
from convexmetric.evaluation.rankings import query_scores
from convexmetric.measures import AveragePrecision
from convexmetric.regularizers import SquaredDistance, SquaredFrobenius
from convexmetric.risks import RankingRisk, Worst

FOLDS = 5
#: Problems of a fold: those queries that are learned from, the held-out ones, and the regularizer of both.
Fold = tuple[Rankings, Rankings, SquaredFrobenius | SquaredDistance]


def wine() -> Iterator[Fold]:
    """Rows of a fold as queries on all rows of the others."""
    data = cm.datasets.load("wine")
    X, y = cm.datasets.preprocess(data.X, ["zscore"]), np.asarray(data.y)
    cone = PSDCone(X.shape[1])
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        learned = Rankings(X[train], X[train], Relevance.from_labels(y[train]), cone)
        yield learned, Rankings(X[train], X[test], Relevance.between(y[test], y[train]), cone), SquaredFrobenius(1.0)


def cranfield() -> Iterator[Fold]:
    """Questions of a fold, on all documents."""
    sys.path.append(str(Path(__file__).resolve().parents[1] / "examples"))
    from retrieval_study.study import cranfield as collection

    data = collection(np.random.default_rng(0))
    cone = PSDCone(data.corpus.shape[1])

    def of(rows: np.ndarray) -> Rankings:
        judged = Relevance.from_lists(data.relevant[rows].astype(int), None, len(rows), len(data.corpus))
        return Rankings(data.corpus, data.queries[rows], judged, cone)

    for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(data.queries):
        yield of(train), of(test), SquaredDistance(1.0, cone.identity())


SETS = {"wine": wine, "cranfield": cranfield}


def precisions(M: np.ndarray, rankings: Rankings) -> np.ndarray:
    """Average precision of every query."""
    return query_scores(rankings, M, [AveragePrecision()])[0]


def main() -> None:
    """Print a row for each set, weight, and risk."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--C", type=float, nargs="+", default=[1.0, 100.0])
    parser.add_argument("--limit", type=float, default=60.0)
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings(), flush=True)

    def tail(values: np.ndarray) -> float:
        return float(np.sort(values)[: max(1, round(arguments.share * len(values)))].mean())

    rows = []
    for name in arguments.sets:
        for C in arguments.C:
            found: dict[str, list[tuple[np.ndarray, np.ndarray, float, float]]] = {"prior": [], "mean": [], "worst": []}
            for learned, held, regularizer in SETS[name]():
                risk = RankingRisk(learned, AveragePrecision(), C=C)
                start = learned.cone.identity()
                found["prior"].append((precisions(start, held), precisions(start, learned), 0.0, 0.0))
                for word, one in (("mean", risk), ("worst", Worst(risk, arguments.share))):
                    begun = time.process_time()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", cm.errors.GapWarning)
                        solution = cm.solve(cm.MetricProblem(one, regularizer), tol=1e-3, max_seconds=arguments.limit)
                    seconds = time.process_time() - begun
                    M = solution.M
                    found[word].append((precisions(M, held), precisions(M, learned), solution.gap, seconds))
            for word, folds in found.items():
                held_out, seen = (np.concatenate([fold[k] for fold in folds]) for k in (0, 1))
                means = [f"{np.mean(v):.3f} / {tail(v):.3f}" for v in (held_out, seen)]
                gap, seconds = max(fold[2] for fold in folds), sum(fold[3] for fold in folds)
                rows.append([name, f"{C:g}", word, *means, f"{gap:.0e}", f"{seconds:.1f}"])
                print(rows[-1], flush=True)
    print(markdown(["set", "C", "risk", "held out, mean / worst", "learned from, mean / worst", "gap", "s"], rows))


if __name__ == "__main__":
    main()
