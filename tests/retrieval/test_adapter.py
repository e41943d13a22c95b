"""An adapter is chosen and tested by queries that it has not seen, and where they do not say so it is the identity."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_rel
from sklearn.base import clone

import convexmetric as cm
from convexmetric.errors import InputError
from convexmetric.retrieval.adapter import exact_measure, reported_measure

DOCUMENTS, QUERIES = [f"d{row}" for row in range(80)], [f"q{row}" for row in range(30)]
IDS = {"corpus_ids": DOCUMENTS, "query_ids": QUERIES}


def collection(noise=2.0, seed=0):
    """Documents and queries of eight topics, with as many coordinates of noise as of meaning, and judgements."""
    rng = np.random.default_rng(seed)
    topics, of_document, of_query = rng.normal(size=(8, 4)), np.arange(80) % 8, rng.permutation(np.arange(30) % 8)
    parts = [
        np.hstack([topics[of] + 0.5 * rng.normal(size=(len(of), 4)), noise * rng.normal(size=(len(of), 4))])
        for of in (of_document, of_query)
    ]
    return *parts, cm.retrieval.Qrels.from_matrix(
        (of_query[:, None] == of_document).astype(int), QUERIES, corpus_ids=DOCUMENTS
    )


CORPUS, ASKED, QRELS = collection()
SMALL = {"C": [1.0, 30.0], "cv": 3, "tol": 1e-5}


@pytest.fixture(scope="module")
def fitted():
    return cm.RetrievalAdapter("AP", **SMALL).fit(CORPUS, ASKED, QRELS, **IDS)


def test_every_query_is_scored_by_a_metric_that_was_learned_without_its_fold(fitted):
    held = fitted.held_out_
    assert held.queries == tuple(QUERIES)
    for j, (loss, side, C, share) in enumerate(held.choices):
        learn, rest = np.flatnonzero(held.fold != j), np.flatnonzero(held.fold == j)
        metric = None
        if C:
            assert (loss, side, share) == ("AP", "both", 1.0)
            mlr = cm.MLR(measure="map", C=C, penalty="squared-frobenius", prior="identity", tol=1e-5)
            names = [QUERIES[row] for row in learn]
            mlr.fit_qrels(
                CORPUS / fitted.scale_,
                ASKED[learn] / fitted.scale_,
                QRELS.subset(names),
                corpus_ids=DOCUMENTS,
                query_ids=names,
            )
            metric = mlr.get_mahalanobis_matrix()
        for name, scores in held.scores.items():
            for M, found in ((None, scores.before), (metric, scores.after)):
                run = cm.retrieval.rank_corpus(
                    M, CORPUS, ASKED[rest], **IDS | {"query_ids": [QUERIES[row] for row in rest]}
                )
                expected = cm.retrieval.score_run(run, QRELS.subset([QUERIES[row] for row in rest]), measures=[name])
                order = [expected.queries.index(QUERIES[row]) for row in rest]
                np.testing.assert_allclose(found[rest], expected.scores[name][order], atol=0.03)
                assert found[rest].mean() == pytest.approx(expected[name], abs=3e-3)


def test_the_choice_for_a_fold_sees_nothing_of_it(fitted):
    """Judgements of its queries made nonsense: neither the choice nor what is learned for it changes."""
    held, degrees = fitted.held_out_, QRELS.to_dict()
    for j in range(3):
        spoiled = dict(degrees)
        for row in np.flatnonzero(held.fold == j):
            spoiled[QUERIES[row]] = {name: int(place < 10) for place, name in enumerate(DOCUMENTS)}
        other = cm.RetrievalAdapter("AP", **SMALL).fit(CORPUS, ASKED, spoiled, **IDS).held_out_
        assert other.choices[j] == held.choices[j]
        assert other.deciding.before[held.fold == j] != pytest.approx(held.deciding.before[held.fold == j])


def test_the_test_is_the_paired_t_test_over_queries(fitted):
    for name in ("AP", "nDCG@10", "RR@10"):
        scores = fitted.held_out_.scores[name]
        expected = ttest_rel(scores.after, scores.before)
        assert scores.p_value == pytest.approx(expected.pvalue)
        assert scores.difference / scores.standard_error == pytest.approx(expected.statistic)


def test_a_map_that_helps_is_kept_and_is_that_of_the_certified_metric(fitted):
    assert fitted.kept_
    assert fitted.held_out_.helps
    assert fitted.solution_.gap <= 1e-5
    assert fitted.path_.settings["C"] == fitted.solution_.problem.C
    L = fitted.components_
    np.testing.assert_allclose(L @ L, fitted.solution_.M, atol=1e-10)
    # L may lie otherwise in memory: BLAS may sum in another order.
    np.testing.assert_allclose(fitted.transform(ASKED), ASKED @ L.T, atol=1e-12 * np.abs(ASKED @ L.T).max())
    assert "The adapter is kept: AP" in fitted.verdict
    np.testing.assert_allclose(cm.retrieval.export.read_adapter(fitted).queries(ASKED), fitted.transform(ASKED))


def test_a_level_asks_for_evidence():
    few = {name: row for name, row in QRELS.to_dict().items() if name in QUERIES[:9]}
    names = IDS | {"query_ids": QUERIES[:9]}
    lax = cm.RetrievalAdapter("AP", C=1.0, cv=3).fit(CORPUS, ASKED[:9], few, **names)
    p = lax.held_out_.deciding.p_value
    assert lax.kept_ == (lax.held_out_.deciding.difference > 0.0)
    assert 0.0 < p < 1.0
    strict = clone(lax).set_params(level=p / 2).fit(CORPUS, ASKED[:9], few, **names)
    assert not strict.kept_
    scores = strict.held_out_.deciding
    assert f"({scores.difference:+.4f}, p = " in strict.verdict
    assert f"where level = {p / 2:g} (--level) asks for a gain with p < {p / 2:g}" in strict.verdict


def test_the_gain_that_so_many_queries_can_show_is_found_four_times_in_five(fitted):
    held = cm.RetrievalAdapter("AP", C=1.0, cv=2, level=1e-6).fit(CORPUS, ASKED, QRELS, **IDS).held_out_
    rng, sd = np.random.default_rng(0), held.changes.std(ddof=1)
    held = replace(held, level=0.05)
    drawn = rng.normal(held.detectable, sd, size=(20_000, len(held.queries)))
    t, p = ttest_1samp(drawn, 0.0, axis=1)
    assert np.mean((t > 0.0) & (p < 0.05)) == pytest.approx(0.8, abs=0.015)
    assert replace(held, level=0.01).detectable > held.detectable
    assert held.power == f"30 queries can show a gain of {held.detectable:.2g} or more."
    scores = held.deciding
    alike = replace(held, scores={"AP": replace(scores, after=scores.before)})
    assert alike.power == ""


def test_a_refusal_says_what_the_queries_could_have_shown():
    strict = cm.RetrievalAdapter("AP", C=1.0, cv=2, level=1e-9).fit(CORPUS, ASKED, QRELS, **IDS)
    assert not strict.kept_
    assert strict.result_ == "the identity"
    assert strict.verdict.endswith(f" {strict.held_out_.power}")
    with pytest.raises(InputError, match="the adapter was not kept, and proves nothing"):
        cm.write_certificate("none.npz", strict)


def test_a_cut_of_the_ranking_is_in_the_name_of_the_measure():
    rng = np.random.default_rng(2)
    corpus = np.vstack([CORPUS, rng.normal(size=(940, 8))])
    names = IDS | {"corpus_ids": DOCUMENTS + [f"x{row}" for row in range(940)]}
    for measure, deciding in (("AP", "AP@1000"), ("AP@1010", "AP@1010")):
        adapter = cm.RetrievalAdapter(measure, C=1.0, cv=2).fit(corpus, ASKED, QRELS, **names)
        k = int(deciding.partition("@")[2])
        run = cm.retrieval.rank_corpus(None, corpus, ASKED, k=k, **names)
        expected = cm.retrieval.score_run(run, QRELS, measures=[deciding])[deciding]
        assert adapter.held_out_.measure == deciding
        assert adapter.held_out_.deciding.before.mean() == pytest.approx(expected, rel=1e-12)


def test_maps_that_were_not_solved_are_told_in_the_verdict():
    adapter = cm.RetrievalAdapter("AP", C=1.0, cv=2, level=1e-9).fit(CORPUS, ASKED, QRELS, **IDS)
    assert "Not enough time" not in adapter.verdict
    adapter.path_ = replace(adapter.path_, gaps=np.array([[0.0], [0.7]]))
    assert "Not enough time: 1 of 1 choices have maps with a gap above 0.5" in adapter.verdict


def test_scale_and_units_of_the_vectors_do_not_matter(fitted):
    other = cm.RetrievalAdapter("AP", **SMALL).fit(64.0 * CORPUS, 64.0 * ASKED, QRELS, **IDS)
    assert other.scale_ == pytest.approx(64.0 * fitted.scale_)
    assert other.held_out_.choices == fitted.held_out_.choices
    np.testing.assert_allclose(other.components_, fitted.components_, atol=1e-6)
    assert fitted.scale_**2 == pytest.approx(((ASKED[:, None] - CORPUS) ** 2).sum(axis=2).mean())


def test_one_weight_is_taken_as_it_is():
    one = cm.RetrievalAdapter("AP", C=10.0, cv=2).fit(CORPUS, ASKED, QRELS, **IDS)
    assert one.held_out_.choices == (("AP", "both", 10.0, 1.0),) * 2
    assert one.path_.best == ("AP", "both", 10.0, 1.0)
    assert one.held_out_.heading() in one.held_out_._repr_html_()


def test_queries_without_a_relevant_document_are_left_out_by_name():
    degrees = QRELS.to_dict() | {"q3": {"d0": 0}}
    del degrees["q5"]
    adapter = cm.RetrievalAdapter("AP", C=1.0, cv=2)
    with pytest.warns(UserWarning, match="2 queries have no relevant document and are left out: 'q3', 'q5'"):
        adapter.fit(CORPUS, ASKED, degrees, **IDS)
    assert len(adapter.held_out_.queries) == 28


@pytest.mark.parametrize(("side", "unjudged"), [("both", "irrelevant"), ("query", "irrelevant"), ("both", "ignore")])
def test_queries_that_are_documents_are_not_in_their_own_lists(side, unjudged):
    rows, relevant = np.arange(30), {q: {d for d, r in row.items() if r} for q, row in QRELS.to_dict().items()}
    names = [DOCUMENTS[row] for row in rows]
    qrels = {
        name: dict.fromkeys(relevant[QUERIES[row]] - {name}, 1) | {"d77": 0, "d78": 0, "d79": 0}
        for row, name in enumerate(names)
    }
    corpus = CORPUS / np.linalg.norm(CORPUS, axis=1, keepdims=True)
    adapter = cm.RetrievalAdapter("nDCG@10", loss="AP", side=side, C=1.0, cv=2, unjudged=unjudged)
    with pytest.warns(UserWarning, match="30 queries are documents"):
        adapter.fit(corpus, corpus[rows], qrels, corpus_ids=DOCUMENTS, query_ids=names)
    for row, name in enumerate(names):
        order = [DOCUMENTS[at] for at in np.argsort(-(corpus @ corpus[row])) if at != row]
        gains = [qrels[name].get(order[at], 0) for at in range(10)] @ (1.0 / np.log2(np.arange(2, 12)))
        best = (1.0 / np.log2(np.arange(2, 12)))[: sum(qrels[name].values())].sum()
        assert adapter.held_out_.scores["nDCG@10"].before[row] == pytest.approx(gains / best)


def test_a_limit_on_time_ends_it_in_good_order():
    with warnings.catch_warnings(action="ignore", category=cm.errors.GapWarning):
        adapter = cm.RetrievalAdapter("AP", tol=1e-6, max_seconds=0.5).fit(CORPUS, ASKED, QRELS, **IDS)
    assert np.isfinite(adapter.held_out_.deciding.after).all()
    assert adapter.components_.shape == (8, 8)


@pytest.mark.parametrize(
    ("name", "exact", "reported"),
    [
        ("ndcg@10", ("ndcg-log2", 10), "nDCG@10"),
        ("MAP", ("map", None), "AP"),
        ("RR@10", ("mrr", None), "RR@10"),
        ("p@5", ("precision", 5), "P@5"),
        ("AUC", ("auc", None), "AP"),
    ],
)
def test_measures_by_the_names_of_the_field(name, exact, reported):
    assert exact_measure(name) == exact
    assert reported_measure(name) == reported


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"measure": "nDCH@10"}, "measure"),
        ({"measure": "P"}, "needs a k"),
        ({"measure": "knn"}, "loss='knn'"),
        ({"loss": []}, "loss is empty"),
        ({"loss": "softmx"}, "loss must be one of .*did you mean 'softmax'"),
        ({"loss": "softmax@warm"}, "needs a positive temperature, such as softmax@0.1"),
        ({"loss": ("AP", "softmax@-1")}, "needs a positive temperature"),
        ({"side": "querys"}, "side must be one of 'both', 'query', got 'querys'; did you mean 'query'"),
        ({"side": ()}, "side is empty"),
        ({"loss": "Ridge", "side": "both"}, "loss 'ridge' maps queries alone; take side='query', or leave side out"),
        ({"C": []}, "C is empty"),
        ({"C": -1.0}, "C must be"),
        ({"cv": 2}, "cv must be from 3 to 30"),
        ({"cv": 31}, "cv must be from 3 to 30"),
        ({"level": 0.0}, "level"),
        ({"tol": 2.0}, "tol"),
        ({"max_seconds": -1}, "max_seconds"),
        ({"relevant_from": (1, 2)}, "relevant_from must be one degree"),
        ({"relevant_from": 2}, "no query has a relevant document"),
        ({"unjudged": "bad"}, "unjudged"),
    ],
)
def test_bad_arguments_are_named(settings, words):
    with pytest.raises(InputError, match=words):
        cm.RetrievalAdapter(**settings).fit(CORPUS, ASKED, QRELS, **IDS)


@pytest.mark.filterwarnings("ignore:.*queries have no relevant document")
def test_bad_data_are_named(fitted):
    adapter = cm.RetrievalAdapter("AP", C=1.0)
    for arguments, words in (
        ((CORPUS[:, :3], ASKED, QRELS), "queries have 8 features, but corpus has 3"),
        ((np.zeros((80, 8)), np.zeros((30, 8)), QRELS), "all vectors are the same"),
        ((CORPUS, ASKED, {"q77": {"d0": 1}}), "'q77'"),
        ((CORPUS, ASKED, {"q7": {"e0": 1}}), "'e0'"),
    ):
        with pytest.raises(InputError, match=words):
            adapter.fit(*arguments, **IDS)
    with pytest.raises(InputError, match="3 features, but the adapter was fitted with 8"):
        fitted.transform(CORPUS[:, :3])
