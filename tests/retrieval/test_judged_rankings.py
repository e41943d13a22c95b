"""Problems from judgements by identifier: the same as from lists of rows, whatever becomes of unjudged documents."""

import numpy as np
import pytest
import scipy.sparse as sp

import convexmetric as cm
from convexmetric.errors import InputError
from convexmetric.retrieval import Qrels

N, N_QUERIES, D = 30, 6, 3
DOCUMENTS = [f"doc-{row}" for row in range(N)]
QUESTIONS = [f"q{row}" for row in range(N_QUERIES)]


def example(seed=0, top=1):
    """Vectors, a judged share of the pairs with degrees up to ``top`` (-1 where unjudged), and the same as a table."""
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=(N, D)), rng.normal(size=(N_QUERIES, D))
    degrees = np.where(rng.random((N_QUERIES, N)) < 0.4, rng.integers(0, top + 1, (N_QUERIES, N)), -1)
    # Every query has documents of every degree.
    degrees[:, : top + 1] = np.arange(top + 1)
    pairs = [(q, row) for q in range(N_QUERIES) for row in range(N) if degrees[q, row] >= 0]
    rng.shuffle(pairs)
    return X, Q, degrees, Qrels.of([(QUESTIONS[q], DOCUMENTS[row], degrees[q, row]) for q, row in pairs])


def named(**settings):
    return {"corpus_ids": DOCUMENTS, "query_ids": QUESTIONS} | settings


@pytest.mark.parametrize("form", ["table", "dict", "rows"])
def test_unjudged_documents_are_irrelevant_and_not_listed(form):
    X, Q, degrees, qrels = example()
    given, ids = (qrels.to_dict() if form == "dict" else qrels), named()
    if form == "rows":
        given, ids = Qrels.from_matrix(sp.csr_array(degrees == 1) * 1), {}
    problem = cm.RankingProblem.from_qrels(X, Q, given, measure="map", C=3.0, **ids)
    listed = cm.RankingProblem(X, degrees == 1, queries=Q, measure="map", C=3.0)
    assert problem.fingerprint() == listed.fingerprint()
    assert problem.rankings.relevance.complement
    assert problem.rankings.relevance.irrelevant.size == 0
    assert "relevant from degree 1 on; unjudged documents are irrelevant" in str(problem)
    assert "judged" not in str(listed)


def test_unjudged_documents_take_no_part():
    X, Q, degrees, qrels = example()
    problem = cm.RankingProblem.from_qrels(X, Q, qrels, unjudged="ignore", measure="mrr", **named())
    listed = cm.RankingProblem(X, degrees == 1, irrelevant=degrees == 0, queries=Q, measure="mrr")
    assert problem.fingerprint() == listed.fingerprint()
    assert "unjudged documents take no part" in str(problem)


@pytest.mark.parametrize("mined", [1, 4, 1000])
@pytest.mark.parametrize("ties", [False, True])
def test_the_nearest_unjudged_documents_are_mined(monkeypatch, mined, ties):
    X, Q, degrees, qrels = example()
    if ties:
        X, Q = np.round(X), np.round(Q)
    irrelevant = degrees == 0
    for q in range(N_QUERIES):
        distance = ((X - Q[q]) ** 2).sum(axis=1)
        nearest = sorted((row for row in range(N) if degrees[q, row] < 0), key=lambda row: (distance[row], row))
        irrelevant[q, nearest[:mined]] = True
    listed = cm.RankingProblem(X, degrees == 1, irrelevant=irrelevant, queries=Q)
    for size in (None, 8 * N * 2):
        if size is not None:
            monkeypatch.setattr("convexmetric.evaluation.rankings.BLOCK_BYTES", size)
        problem = cm.RankingProblem.from_qrels(X, Q, qrels, unjudged="mined", mined=mined, **named())
        assert [list(map(list, problem.rankings.relevance.of(q))) for q in range(N_QUERIES)] == [
            list(map(list, listed.rankings.relevance.of(q))) for q in range(N_QUERIES)
        ]
    assert f"the {mined} nearest (Euclidean) are irrelevant" in str(problem)


def test_degrees_from_which_documents_are_relevant():
    X, Q, degrees, qrels = example(top=3)
    problem = cm.RankingProblem.from_qrels(X, Q, qrels, relevant_from=2, unjudged="ignore", **named())
    listed = cm.RankingProblem(X, degrees >= 2, irrelevant=(degrees >= 0) & (degrees < 2), queries=Q)
    assert problem.fingerprint() == listed.fingerprint()


@pytest.mark.parametrize("unjudged", ["irrelevant", "ignore"])
def test_several_degrees_are_hinges_over_pairs_of_unequal_degree(unjudged):
    """Of AUC: every pair of unequal degree, once for each degree between, as the formula has it."""
    X, Q, degrees, qrels = example(1, top=3)
    problem = cm.RankingProblem.from_qrels(X, Q, qrels, relevant_from=[3, 1, 2], unjudged=unjudged, C=2.0, **named())
    B = np.random.default_rng(2).normal(size=(D, D))
    M, total = 0.1 * B @ B.T, 0.0
    for q in range(N_QUERIES):
        rows = np.flatnonzero(degrees[q] >= 0) if unjudged == "ignore" else np.arange(N)
        grade = np.maximum(degrees[q], 0)
        d = np.einsum("ij,jk,ik->i", X - Q[q], M, X - Q[q])
        for i in rows:
            for j in rows:
                for least in (1, 2, 3):
                    if grade[j] < least <= grade[i]:
                        near = (grade[rows] >= least).sum()
                        total += max(0.0, 1.0 - 2.0 * (d[j] - d[i])) / (near * (len(rows) - near))
    assert problem.risk.value(M) == pytest.approx(2.0 / (3 * N_QUERIES) * total)
    assert "asked once for each degree 1, 2, 3" in str(problem)


def test_several_degrees_are_the_mean_over_them_by_any_measure():
    X, Q, _, qrels = example(3, top=2)
    M = 0.3 * np.eye(D)
    values = [
        cm.RankingProblem.from_qrels(X, Q, qrels, relevant_from=least, measure="ndcg-log2", k=4, **named()).risk.value(
            M
        )
        for least in (1, 2, (1, 2))
    ]
    assert values[2] == pytest.approx((values[0] + values[1]) / 2.0)


def test_degrees_that_a_query_does_not_have_are_passed_over():
    X, Q, _, _ = example()
    qrels = {0: {0: 3, 1: 1}, 1: {2: 1}}
    problem = cm.RankingProblem.from_qrels(X, Q[:2], qrels, relevant_from=(1, 3))
    assert len(problem.rankings) == 3


def test_solved_and_proven(tmp_path):
    X, Q, _, qrels = example(top=2)
    problem = cm.RankingProblem.from_qrels(
        X, Q, qrels, relevant_from=(1, 2), measure="ndcg-log2", k=3, C=20.0, **named()
    )
    solution = cm.solve(problem, tol=1e-6)
    assert solution.gap <= 1e-6
    cm.check_problem(problem)
    verdict = cm.write_certificate(tmp_path / "proof.npz", problem, solution=solution)
    assert verdict.accepted
    assert "unjudged documents are irrelevant" in str(problem.with_C(3.0))
    assert "unjudged documents are irrelevant" in str(problem.with_queries([0, 1]))


def test_single_precision_and_memory_maps(tmp_path):
    X, Q, _, qrels = example()
    X, Q = X.astype(np.float32), Q.astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    problems = [cm.RankingProblem.from_qrels(corpus, Q, qrels, **named()) for corpus in (X, mapped, X.astype(float))]
    assert len({problem.fingerprint() for problem in problems}) == 1


def test_the_estimator_learns_the_same():
    X, Q, _, _ = example()
    # Relevant are the documents whose first coordinate is nearest.
    nearest = np.argsort(np.abs(X[:, 0] - Q[:, :1]), axis=1)[:, :5]
    qrels = {QUESTIONS[q]: {DOCUMENTS[row]: 1 for row in rows} for q, rows in enumerate(nearest)}
    settings = {"unjudged": "mined", "mined": 5}
    mlr = cm.MLR(measure="map", C=500.0, penalty="squared-frobenius").fit_qrels(X, Q, qrels, **named(**settings))
    problem = cm.RankingProblem.from_qrels(
        X, Q, qrels, measure="map", C=500.0, penalty="squared-frobenius", **named(**settings)
    )
    assert mlr.solution_.problem.fingerprint() == problem.fingerprint()
    assert mlr.gap_ <= 1e-4
    assert mlr.transform(Q).shape == (N_QUERIES, len(mlr.components_))
    with pytest.raises(InputError, match="unjudged must be one of"):
        cm.MLR().fit_qrels(X, Q, qrels, **named(unjudged="skip"))


JUDGED = {"q0": {"doc-1": 1}, "q1": {"doc-2": 1, "doc-3": 0}}


@pytest.mark.parametrize(
    ("qrels", "settings", "words"),
    [
        ({"q0": {"doc-99": 1}}, {}, "1 judged document is not in corpus_ids: 'doc-99'; did you mean 'doc-9'"),
        ({"q0": {"a": 1, "b": 0}}, {}, "2 judged documents are not in corpus_ids: 'a', 'b'"),
        ({"p0": {"doc-1": 1}}, {}, "1 judged query is not in query_ids: 'p0'; there are 'q0', 'q1'$"),
        (
            {"p0": {"doc-1": 1}, "p1": {"doc-1": 1}},
            {},
            "2 judged queries are not in query_ids: 'p0', 'p1'; there are 'q0'",
        ),
        ({"q0": {"doc-1": 1}}, {}, "1 query has no judgement: 'q1'; pass those rows"),
        (
            {"q0": {"doc-1": 0}, "q1": {"doc-1": 1}},
            {},
            r"1 query has no relevant document \(of degree 1 or more\): 'q0'",
        ),
        (JUDGED, {"relevant_from": 2}, "2 queries have no relevant document"),
        (JUDGED, {"unjudged": "ignore"}, "1 query has no irrelevant document: 'q0'; unjudged='irrelevant' or 'mined'"),
        (
            {"q0": {"doc-1": 1}, "q1": {"doc-1": 0}},
            {"unjudged": "ignore"},
            r"1 query has no relevant document \(of degree 1 .*\): 'q1'; 1 query has no irrelevant document: 'q0'; "
            "unjudged='irrelevant' or 'mined' takes unjudged ones, .* skip_incomplete=True leaves such queries out",
        ),
        (JUDGED, {"relevant_from": 2, "skip_incomplete": True}, "no query has a relevant document"),
        (
            {"q0": {"doc-1": 1}, "q1": {"doc-1": 0}},
            {"unjudged": "ignore", "skip_incomplete": True},
            "no query has a relevant and an irrelevant document",
        ),
        (JUDGED, {"skip_incomplete": "yes"}, "skip_incomplete must be"),
        (JUDGED, {"unjudged": "mine"}, "did you mean 'mined'"),
        (JUDGED, {"mined": 0}, "mined must be a positive integer"),
        (JUDGED, {"relevant_from": "1"}, "relevant_from must be a degree or several"),
        (JUDGED, {"relevant_from": []}, "relevant_from must be a degree or several"),
        (JUDGED, {"relevant": [[0]]}, "relevant follows from qrels"),
        (JUDGED, {"query_weights": [1.0]}, "query_weights must have one weight a query"),
        (JUDGED, {"query_ids": ["q0", "q0"]}, "query_ids has 'q0' twice"),
        (JUDGED, {"query_ids": ["q0"]}, "query_ids must have one identifier a row: 2 rows"),
        (JUDGED, {"corpus_ids": None}, "3 judged documents are not in the rows of corpus"),
        (3, {}, "degrees must be a Qrels"),
    ],
)
def test_messages_have_the_names(qrels, settings, words):
    X, Q, _, _ = example()
    with pytest.raises(InputError, match=words):
        cm.RankingProblem.from_qrels(
            X, Q[:2], qrels, **{"corpus_ids": DOCUMENTS, "query_ids": ["q0", "q1"], **settings}
        )


def test_queries_without_documents_of_both_kinds_are_left_out_where_asked():
    """As groups of LETOR: all relevant, none relevant, not judged."""
    X, Q, degrees, _ = example()
    degrees[1], degrees[3], degrees[4] = np.minimum(degrees[1], 0), np.where(degrees[3] < 0, -1, 1), -1
    pairs = zip(*np.nonzero(degrees >= 0), strict=True)
    qrels = Qrels.of([(QUESTIONS[q], DOCUMENTS[row], degrees[q, row]) for q, row in pairs])
    words = (
        "2 queries have no relevant .* left out: 'q1', 'q4'; 1 query has no irrelevant document and is left out: 'q3'"
    )
    how = named(unjudged="ignore", skip_incomplete=True)
    with pytest.warns(UserWarning, match=words):
        problem = cm.RankingProblem.from_qrels(X, Q, qrels, query_weights=np.arange(1, 7), **how)
    left, weights = degrees[[0, 2, 5]], [1, 3, 6]
    listed = cm.RankingProblem(
        X, left == 1, irrelevant=left == 0, queries=Q[[0, 2, 5]], query_weights=weights, measure="auc"
    )
    assert problem.fingerprint() == listed.fingerprint()
    with pytest.warns(UserWarning, match=words):
        assert cm.MLR(tol=0.1).fit_qrels(X, Q, qrels, **how).gap_ <= 0.1


@pytest.mark.parametrize("unjudged", ["irrelevant", "ignore", "mined"])
def test_queries_that_are_documents_are_left_out_of_their_own_lists(tmp_path, unjudged):
    """The first four are documents, the last judged relevant to itself, the first irrelevant; two are not."""
    X, Q, _, _ = example()
    Q[:4] = X[[7, 3, 12, 20]] + 1e-3
    names = ["doc-7", "doc-3", "doc-12", "doc-20", "q4", "q5"]
    pairs = {name: {"doc-1": 1, "doc-2": 0, "doc-9": 0} for name in names}
    pairs["doc-7"]["doc-7"], pairs["doc-20"]["doc-20"] = 0, 1
    how = {"corpus_ids": DOCUMENTS, "query_ids": names, "unjudged": unjudged, "mined": 5, "measure": "map", "C": 10.0}
    with pytest.warns(UserWarning, match=r"3 queries are documents \(the same identifier in both\): 'doc-7', "):
        problem = cm.RankingProblem.from_qrels(X, Q, pairs, **how)
    assert "queries that are documents are not in their own lists" in str(problem)
    for q, row in enumerate([7, 3, 12, 20]):
        relevant, irrelevant = map(list, problem.rankings.relevance.of(q))
        distance = ((X - Q[q]) ** 2).sum(axis=1)
        unlisted = sorted({*range(N)} - {1, 2, 9, row}, key=distance.__getitem__)
        others = {"irrelevant": unlisted, "ignore": [], "mined": unlisted[:5]}[unjudged]
        assert relevant == ([1, 20] if row == 20 else [1])
        assert irrelevant == sorted([2, 9, *others])
    solution = cm.solve(problem, tol=1e-6)
    assert cm.write_certificate(tmp_path / "proof.npz", problem, solution=solution).accepted


@pytest.mark.filterwarnings("error")
def test_lists_that_are_numbered_alike_stay_whole():
    X, Q, degrees, _ = example()
    qrels = Qrels.from_matrix(sp.csr_array(degrees == 1) * 1, range(1, 7), corpus_ids=range(1, N + 1))
    problem = cm.RankingProblem.from_qrels(X, Q, qrels, query_ids=range(1, 7), corpus_ids=range(1, N + 1))
    assert problem.fingerprint() == cm.RankingProblem(X, degrees == 1, queries=Q).fingerprint()


def test_vectors_of_other_lengths():
    X, Q, _, qrels = example()
    with pytest.raises(InputError, match="queries have 2 features, but corpus has 3"):
        cm.RankingProblem.from_qrels(X, Q[:, :2], qrels, **named())
    with pytest.raises(InputError, match="corpus contains NaN"):
        cm.RankingProblem.from_qrels(np.full((N, D), np.nan), Q, qrels, **named())
    with pytest.raises(InputError, match="sparse"):
        cm.RankingProblem.from_qrels(sp.csr_array(X), Q, qrels, **named())
