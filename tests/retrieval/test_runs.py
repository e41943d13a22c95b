"""Scores of runs: the definitions on lists of degrees, and the numbers of trec_eval."""

import math
import re

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.errors import InputError
from convexmetric.retrieval import RetrievalRun, rank_corpus, score_run

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


def test_scores_are_those_of_trec_eval():
    pytest.importorskip("pytrec_eval")
    assert largest_difference(range(1000)) <= 1e-9


def test_scores_are_those_of_ir_measures():
    ir_measures = pytest.importorskip("ir_measures")
    names = ["nDCG@5", "AP", "AP(rel=2)@5", "RR", "P(rel=2)@3", "R@4", "MAP", "MRR"]
    for seed in range(20):
        run, qrels = random_run(np.random.default_rng(seed))
        ours = score_run(run, qrels, measures=names)
        table = cm.retrieval.Qrels.of(qrels)
        for name in names:
            theirs = dict.fromkeys(table.queries, 0.0)
            measure = ir_measures.parse_measure(name)
            found = ir_measures.iter_calc([measure], table.to_dict(), cm.retrieval.RetrievalRun.of(run).to_dict())
            theirs |= {score.query_id: score.value for score in found if score.query_id in theirs}
            assert ours.scores[name] == pytest.approx(list(theirs.values()), abs=1e-9)


def plain(name, k, degrees, judged, least=1):
    """The definition, place by place."""
    head = degrees if k is None else degrees[:k]
    R = sum(r >= least for r in judged)
    if name.startswith("nDCG"):

        def gain(items):
            g = (lambda r: 2**r - 1) if "exp" in name else (lambda r: r)
            return sum(g(max(r, 0)) / math.log2(t + 1) for t, r in enumerate(items, 1))

        best = gain(sorted(judged, reverse=True)[:k])
        return gain(head) / best if best else 0.0
    if not R:
        return 0.0
    places = [t for t, r in enumerate(head, 1) if r >= least]
    if name == "AP":
        return sum(sum(r >= least for r in degrees[:t]) / t for t in places) / R
    if name == "RR":
        return 1 / places[0] if places else 0.0
    return len(places) / (k if name == "P" else R)


@pytest.mark.filterwarnings("ignore:no document is judged relevant")
def test_scores_are_the_definitions():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(1, 9))
        degrees = rng.integers(-1, 4, n).tolist()
        missing = rng.integers(-1, 4, rng.integers(0, 4)).tolist()
        judged = degrees + missing
        qrels = {"q": {f"d{at}": r for at, r in enumerate(judged)}}
        run = {"q": {f"d{at}": float(n - at) for at in range(n)}}
        for name in ("nDCG", "nDCG(dcg='exp-log2')", "AP", "RR", "P", "R"):
            for k in (1, 3, 10):
                found = score_run(run, qrels, measures=f"{name}@{k}")[f"{name}@{k}"]
                assert found == pytest.approx(plain(name, k, degrees, judged), abs=1e-12)
        assert score_run(run, qrels, measures="AP(rel=2)")["AP(rel=2)"] == pytest.approx(
            plain("AP", None, degrees, judged, 2)
        )


def test_of_equal_scores_the_last_identifier_stands_first():
    qrels = {"q": {"b": 1, "a": 0, "c": 0}}
    assert score_run({"q": {"a": 1.0, "b": 1.0}}, qrels, measures="RR")["RR"] == 1.0
    assert score_run({"q": {"c": 1.0, "b": 1.0 + 1e-9}}, qrels, measures="RR")["RR"] == 0.5
    assert score_run({"q": {"c": 1.0, "b": 1.0 + 1e-6}}, qrels, measures="RR")["RR"] == 1.0


def test_all_judged_queries_count():
    qrels = {"q1": {"d": 1}, "q2": {"d": 1}, "q3": {"d": 0}}
    scores = score_run({"q1": {"d": 1.0}, "unjudged": {"d": 1.0}}, qrels, measures="AP")
    assert scores.queries == ("q1", "q2", "q3")
    assert scores.scores["AP"].tolist() == [1.0, 0.0, 0.0]
    assert str(scores) == "AP 0.3333   (3 queries)"


@pytest.mark.parametrize(
    ("run", "qrels", "words"),
    [
        ({"Q1": {"d1": 1.0}}, {"q1": {"d1": 1}}, "the queries of the run, 'Q1', are not those of the judgements, 'q1'"),
        ({"q1 ": {"d1": 1.0}}, {"q1": {"d1": 1}}, "the queries of the run, 'q1 ', are not"),
        ({"001": {"d1": 1.0}}, {1: {"d1": 1}}, "the queries of the run, '001', are not those of the judgements, '1'"),
        ({"q": {"D1": 1.0}}, {"q": {"d1": 1}}, "the documents of the run, 'D1', are not those of the judgements, 'd1'"),
        ({"q": {"a": 1.0}, "p": {"b": 1.0}}, {"q": {"b": 1}}, "no document of the run is judged for its query"),
        ({"q": {"a": 1.0}}, {"q": {"a": 0, "b": -1}}, "no document is judged relevant, of degree 1 or more"),
        ({"q": {}}, {"q": {"a": 1}}, "the run is empty"),
        ({}, {"q": {"a": 1}}, "the run is empty"),
    ],
)
def test_where_run_and_judgements_do_not_meet_all_scores_are_0(run, qrels, words):
    with pytest.warns(UserWarning, match=f"{words}.*; all scores are 0"):
        scores = score_run(run, qrels, measures=["nDCG@10", "AP", "RR", "P@5", "R@5"])
    assert set(scores.means.values()) == {0.0}


def test_queries_that_are_documents_are_left_out_as_beir_does():
    """By hand: a and b find themselves first and are left out; c is judged relevant to itself and stays."""
    run = {"a": {"a": 9.0, "x": 2.0, "y": 1.0}, "b": {"b": 9.0, "y": 2.0, "x": 1.0}, "c": {"c": 9.0, "y": 1.0}}
    qrels = {"a": {"x": 1}, "b": {"x": 1, "b": 0}, "c": {"c": 1, "y": 1}}
    with pytest.warns(
        UserWarning, match=r"2 queries are documents \(the same identifier in both\): 'a', 'b'; left out"
    ):
        scores = score_run(run, qrels, measures=["RR", "nDCG@2", "AP"])
    assert scores.scores["RR"].tolist() == [1.0, 0.5, 1.0]
    assert scores.scores["nDCG@2"] == pytest.approx([1.0, 1.0 / math.log2(3.0), 1.0])
    assert scores.scores["AP"].tolist() == [1.0, 0.5, 1.0]
    assert len(RetrievalRun.of(run)) == 8


@pytest.mark.filterwarnings("error")
def test_lists_that_are_numbered_alike_are_scored_whole():
    run = {"1": {"1": 1.0, "2": 2.0}, "2": {"2": 3.0, "1": 1.0}, "3": {"1": 9.0, "3": 8.0}}
    assert score_run(run, {"1": {"2": 1}, "2": {"1": 1}, "3": {"1": 1}}, measures="RR")["RR"] == pytest.approx(2.5 / 3)


@pytest.mark.parametrize("metric", ["none", "weights", "matrix"])
def test_runs_of_a_metric_are_its_nearest_documents(monkeypatch, metric):
    rng = np.random.default_rng(0)
    X, Q, B = rng.normal(size=(50, 4)), rng.normal(size=(9, 4)), rng.normal(size=(4, 4))
    M = {"none": None, "weights": np.array([1.0, 0.0, 2.0, 3.0]), "matrix": B @ B.T}[metric]
    full = np.eye(4) if M is None else np.diag(M) if M.ndim == 1 else M
    names = [f"d{row}" for row in range(50)]
    for size in (None, 8 * 50 * 2):
        if size is not None:
            monkeypatch.setattr("convexmetric.evaluation.rankings.BLOCK_BYTES", size)
        run = rank_corpus(M, X, Q, k=7, corpus_ids=names).to_dict()
        for q, row in enumerate(Q):
            d = np.einsum("ij,jk,ik->i", X - row, full, X - row)
            nearest = np.argsort(d)[:7]
            assert list(run[str(q)]) == [names[at] for at in nearest]
            assert list(run[str(q)].values()) == pytest.approx((-d[nearest]).tolist())
    assert len(rank_corpus(M, X, Q)) == 9 * 50


def test_binary_ndcg_is_the_measure_that_problems_learn():
    rng = np.random.default_rng(1)
    X, Q, R = rng.normal(size=(40, 3)), rng.normal(size=(8, 3)), rng.random((8, 40)) < 0.2
    R[:, 0] = True
    run = rank_corpus(None, X, Q, k=40)
    ours = score_run(run, cm.retrieval.Qrels.from_matrix(R.astype(int)), measures=["nDCG@5"])
    rankings = cm.RankingProblem(X, R, queries=Q, measure="ndcg-log2", k=5).rankings
    learned = cm.evaluation.mean_scores(rankings, np.eye(3), [cm.measures.measure_named("ndcg-log2", 5)])
    assert ours["nDCG@5"] == pytest.approx(learned[0])


RUN, QRELS = {"q": {"d": 1.0}}, {"q": {"d": 1}}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: score_run(3, QRELS), "scores must be a RetrievalRun"),
        (lambda: score_run(RUN, 3), "degrees must be a Qrels"),
        (lambda: score_run(RUN, {}), "qrels has no judgement"),
        (lambda: score_run(RUN, QRELS, measures=[]), "measures is empty"),
        (lambda: rank_corpus(None, np.eye(3), np.ones((1, 2))), "queries have 2 features, but corpus has 3"),
        (lambda: rank_corpus(None, np.eye(3), np.eye(3), k=0), "k must be a positive integer"),
        (
            lambda: rank_corpus(None, np.eye(3), np.eye(3), corpus_ids=["a"]),
            "corpus_ids must have one identifier a row",
        ),
    ],
)
def test_malformed_calls(call, words):
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize("name", ["nDGC@10", "P", "R(rel=2)", "nDCG(rel=2)@3", "AP(dcg='log2')", "Bpref"])
def test_measures_that_are_not_scored_here(name):
    with pytest.raises(InputError, match=r"there is no measure .* here, but nDCG@k, AP.*ir_measures scores others"):
        score_run(RUN, QRELS, measures=name)
