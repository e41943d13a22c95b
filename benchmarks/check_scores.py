"""Scores of runs against those of trec_eval, by way of pytrec_eval: random runs with ties.

python benchmarks/check_scores.py [--runs 1000]

Needs ``pip install pytrec-eval-terrier``. Every score of every query is compared; gains that are exponential are
given to trec_eval as degrees, and the reciprocal rank in the first 3 places as that of lists cut to 3.
"""

import argparse
import re

import numpy as np

from convexmetric.retrieval import score_run

#: Names here, and those of trec_eval.
PAIRED = {
    "nDCG@1": "ndcg_cut_1",
    "nDCG@5": "ndcg_cut_5",
    "nDCG@10": "ndcg_cut_10",
    "nDCG": "ndcg",
    "AP": "map",
    "AP@5": "map_cut_5",
    "RR": "recip_rank",
    "P@5": "P_5",
    "P@10": "P_10",
    "R@5": "recall_5",
    "R@100": "recall_100",
}


def random_run(rng):
    """A few queries, with degrees from -1 to 3, unjudged documents, and many ties, some of them of single precision."""
    documents = [f"{letter}{at}" for letter in "dDé" for at in range(rng.integers(1, 12))]
    qrels, run = {}, {}
    for q in range(rng.integers(1, 4)):
        judged = rng.permutation(documents)[: rng.integers(1, len(documents) + 1)].tolist()
        found = rng.permutation(documents)[: rng.integers(1, len(documents) + 1)].tolist()
        kind = rng.integers(0, 4)
        scores = rng.integers(0, 4, len(found)) / 3.0 if kind < 2 else rng.normal(size=len(found))
        if kind == 1:
            scores = 100.0 + 1e-7 * rng.integers(0, 200, len(found))
        # One degree at least is 0 or more: trec_eval never returns from a query whose degrees are all negative.
        qrels[f"q{q}"] = {document: int(rng.integers(-1, 4)) for document in judged} | {
            judged[0]: int(rng.integers(0, 4))
        }
        if rng.random() < 0.9:
            run[f"q{q}"] = dict(zip(found, scores.tolist(), strict=True))
    run["stranger"] = {documents[0]: 1.0}
    return run, qrels


def largest_difference(seeds):
    """Of any query's score from trec_eval's, over random runs; queries that a run lacks must have 0."""
    import pytrec_eval

    names = {re.sub(r"_(\d+)$", r".\1", name) for name in PAIRED.values()}
    worst = 0.0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        run, qrels = random_run(rng)
        ours = score_run(run, qrels, measures=PAIRED)
        theirs = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
        powers = {query: {d: 2**r - 1 if r > 0 else 0 for d, r in row.items()} for query, row in qrels.items()}
        exponential = pytrec_eval.RelevanceEvaluator(powers, {"ndcg_cut.5"}).evaluate(run)
        at_three = {
            query: dict(sorted(row.items(), key=lambda pair: (np.float32(pair[1]), pair[0]), reverse=True)[:3])
            for query, row in run.items()
        }
        reciprocal = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(at_three)
        more = score_run(run, qrels, measures=["nDCG(dcg='exp-log2')@5", "RR@3"])
        for at, query in enumerate(ours.queries):
            expected = theirs.get(query, dict.fromkeys(PAIRED.values(), 0.0))
            pairs = [(ours.scores[name][at], expected[theirs_name]) for name, theirs_name in PAIRED.items()]
            pairs.append((more.scores["nDCG(dcg='exp-log2')@5"][at], exponential.get(query, {}).get("ndcg_cut_5", 0.0)))
            pairs.append((more.scores["RR@3"][at], reciprocal.get(query, {}).get("recip_rank", 0.0)))
            worst = max(worst, *(abs(a - b) for a, b in pairs))
    return worst


def main():
    """Print the largest difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    worst = largest_difference(range(runs))
    print(f"{runs} runs, {len(PAIRED) + 2} measures: largest difference of a query's score {worst:.1e}")
    raise SystemExit(worst > 1e-9)


if __name__ == "__main__":
    main()
