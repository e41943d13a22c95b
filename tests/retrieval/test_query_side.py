"""Adapters by softmax, and maps of queries alone: what is solved and exported, and an index that stays as it is."""

import json
import sqlite3

import numpy as np
import pytest
from samples import topical_collection

import convexmetric as cm
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.cones import AllMatrices, PSDCone
from convexmetric.errors import InputError
from convexmetric.measures import measure_named
from convexmetric.regularizers import SquaredDistance
from convexmetric.retrieval.export import FORMATS, read_adapter, write
from convexmetric.risks import RankingRisk, SoftmaxRisk

RNG = np.random.default_rng(3)
CORPUS, QUERIES, RELEVANT = topical_collection(RNG, topics=8, documents=80, queries=32, carrying=4, noise=4)
QRELS = cm.retrieval.Qrels.from_matrix(RELEVANT.astype(int))
CHOICES = [(loss, side) for loss in ("softmax@0.1", "AP", "AUC") for side in ("both", "query")]


def fit(**settings):
    return cm.RetrievalAdapter("AP", **{"cv": 2, "tol": 1e-6} | settings).fit(CORPUS, QUERIES, QRELS)


@pytest.fixture(scope="module")
def adapter():
    """A map of queries alone."""
    found = fit(loss="softmax@0.1", side="query", C=100.0)
    assert found.kept_
    return found


@pytest.mark.parametrize(("loss", "side"), CHOICES)
def test_the_map_is_that_of_the_stated_problem_solved_directly(loss, side):
    found, C, tau = fit(loss=loss, side=side, C=30.0), 30.0, 0.1
    X, Q = CORPUS / found.scale_, QUERIES / found.scale_
    cone = PSDCone(8) if side == "both" else AllMatrices(8)
    relevance = Relevance.from_lists([np.flatnonzero(row) for row in RELEVANT], None, 32, 80)
    rankings = Rankings(X, Q if side == "both" else 2.0 * Q, relevance, cone)
    if loss == "softmax@0.1":
        risk = SoftmaxRisk(rankings, C * tau / 32, tau)
    else:
        risk = RankingRisk(rankings, measure_named({"AP": "map", "AUC": "auc"}[loss]), C)
    direct = cm.solve(cm.MetricProblem(risk, SquaredDistance(1.0, np.eye(8))), 1e-6)
    assert found.solution_.gap <= 1e-6
    assert found.solution_.lower_bound <= direct.upper_bound * (1.0 + 1e-12)
    assert direct.lower_bound <= found.solution_.upper_bound * (1.0 + 1e-12)
    np.testing.assert_allclose(found.solution_.M, direct.M, atol=2e-2)
    assert found.kept_
    assert found.side_ == side
    L = found.components_
    np.testing.assert_allclose(L.T @ L if side == "both" else L.T, found.solution_.M, atol=1e-9)


def test_the_loss_of_softmax_is_the_cross_entropy_of_relevant_documents_times_the_temperature(adapter):
    W, s2 = adapter.solution_.M, adapter.scale_**2
    scores = 2.0 * QUERIES @ W @ CORPUS.T / s2 / 0.1
    entropy = np.log(np.exp(scores).sum(axis=1)) - (scores * RELEVANT).sum(axis=1) / RELEVANT.sum(axis=1)
    expected = 0.5 * ((W - np.eye(8)) ** 2).sum() + 100.0 * 0.1 * entropy.mean()
    assert adapter.solution_.problem.objective(W) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("loss", ["softmax@0.1", "AP", "AUC"])
def test_far_from_the_data_the_map_of_queries_is_the_identity(loss):
    found = fit(loss=loss, side="query", C=1e-9)
    np.testing.assert_allclose(found.solution_.M, np.eye(8), atol=1e-7)
    np.testing.assert_allclose(found.transform_queries(QUERIES), QUERIES, atol=1e-7)


def test_held_out_scores_are_those_of_similarities(adapter):
    held = adapter.held_out_
    assert held.choices == (("softmax@0.1", "query", 100.0, 1.0),) * 2
    scaled = CORPUS / adapter.scale_, 2.0 * QUERIES / adapter.scale_
    for j in range(2):
        learn, rest = np.flatnonzero(held.fold != j), np.flatnonzero(held.fold == j)
        relevance = Relevance.from_lists([np.flatnonzero(RELEVANT[row]) for row in learn], None, len(learn), 80)
        rankings = Rankings(scaled[0], scaled[1][learn], relevance, AllMatrices(8))
        risk = SoftmaxRisk(rankings, 10.0 / len(learn), 0.1)
        W = cm.solve(cm.MetricProblem(risk, SquaredDistance(1.0, np.eye(8))), 1e-6).M
        for matrix, found in ((np.eye(8), held.deciding.before), (W, held.deciding.after)):
            order = np.argsort(-(QUERIES[rest] @ matrix @ CORPUS.T), axis=1)
            for row, ranked in zip(rest, order, strict=True):
                places = np.flatnonzero(RELEVANT[row][ranked]) + 1
                # Near ties may change places between two solves.
                assert found[row] == pytest.approx(np.mean(np.arange(1, len(places) + 1) / places), abs=0.02)


def test_similarities_rank_as_the_definition_says():
    W = RNG.normal(size=(8, 8))
    run = cm.retrieval.rank_corpus(W, CORPUS, QUERIES, similarity=True, k=7)
    expected = QUERIES @ W @ CORPUS.T
    for q in range(len(QUERIES)):
        rows = [int(run.documents[at]) for at in run.document[run.query == q]]
        np.testing.assert_array_equal(rows, np.argsort(-expected[q])[:7])
        np.testing.assert_allclose(run.score[run.query == q], expected[q, rows], rtol=1e-12)
    plain = cm.retrieval.rank_corpus(None, CORPUS, QUERIES, similarity=True, k=1)
    np.testing.assert_array_equal(plain.document, (QUERIES @ CORPUS.T).argmax(axis=1))


def test_losses_and_sides_are_chosen_together():
    found = fit(loss=("AP", "softmax@0.1"), side=("both", "query"), C=30.0, cv=3, tol=1e-2)
    assert found.path_.candidates == (
        ("", "both", 0.0, 0.0),
        ("AP", "both", 30.0, 1.0),
        ("AP", "query", 30.0, 1.0),
        ("softmax@0.1", "both", 30.0, 1.0),
        ("softmax@0.1", "query", 30.0, 1.0),
    )
    assert found.path_.mean().argmax() == found.path_.index
    assert "chosen" in str(found.path_)
    usual = cm.RetrievalAdapter(loss=("AP", "softmax"), side="query")._candidates()
    assert {loss for loss, *_ in usual} == {"AP", "softmax@0.05", "softmax@0.1"}
    assert {C for _, _, C, _ in usual} == {10.0, 100.0, 1000.0}


def test_an_adapter_of_queries_that_is_not_kept_is_the_identity_of_queries():
    found = fit(loss="softmax@0.1", side="query", C=100.0, level=1e-12, tol=1e-2)
    assert (found.kept_, found.side_, found.result_) == (False, "query", "the identity")
    np.testing.assert_array_equal(found.transform_queries(QUERIES), QUERIES)
    assert read_adapter(found).form == "query"


def scores_of(adapter):
    """What the adapter ranks by."""
    return QUERIES @ adapter.solution_.M @ CORPUS.T


def test_documents_are_not_touched(adapter):
    before = CORPUS.tobytes()
    assert adapter.transform(CORPUS).tobytes() == before
    assert read_adapter(adapter).documents(CORPUS).tobytes() == before
    np.testing.assert_allclose(adapter.transform_queries(QUERIES) @ CORPUS.T, scores_of(adapter), atol=1e-12)


def test_numpy_reproduces_the_scores(adapter, tmp_path):
    arrays = dict(np.load(write(adapter, tmp_path / "map.npz", "numpy", corpus=CORPUS)))
    assert arrays["documents"].tobytes() == CORPUS.tobytes()
    assert "bias" not in arrays
    np.testing.assert_allclose(QUERIES @ arrays["weight"].T @ arrays["documents"].T, scores_of(adapter), atol=1e-6)


def test_safetensors_reproduces_the_scores(adapter, tmp_path):
    load = pytest.importorskip("safetensors.numpy").load_file
    arrays = load(write(adapter, tmp_path / "map.safetensors", "safetensors", corpus=CORPUS))
    assert arrays["documents"].tobytes() == CORPUS.astype(np.float32).tobytes()
    images = QUERIES @ arrays["linear.weight"].T.astype(float)
    np.testing.assert_allclose(images @ CORPUS.T, scores_of(adapter), atol=1e-6)


def test_onnx_reproduces_the_scores(adapter, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = write(adapter, tmp_path / "map.onnx", "onnx")
    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (images,) = session.run(["images"], {"vectors": QUERIES.astype(np.float32)})
    np.testing.assert_allclose(images.astype(float) @ CORPUS.T, scores_of(adapter), atol=1e-6)


def test_an_index_of_inner_products_is_searched_as_it_is(adapter, tmp_path):
    faiss = pytest.importorskip("faiss")
    index = faiss.IndexFlatIP(8)
    index.add(CORPUS.astype(np.float32))
    path = tmp_path / "documents.faiss"
    faiss.write_index(index, str(path))
    before = path.read_bytes()
    transform = faiss.read_VectorTransform(str(write(adapter, tmp_path / "map.faiss", "faiss")))
    similarities, rows = index.search(transform.apply(QUERIES.astype(np.float32)), 10)
    expected = scores_of(adapter)
    np.testing.assert_allclose(similarities, -np.sort(-expected, axis=1)[:, :10], atol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(expected, rows, axis=1), similarities, atol=1e-6)
    faiss.write_index(index, str(tmp_path / "after.faiss"))
    assert path.read_bytes() == (tmp_path / "after.faiss").read_bytes() == before
    # In one file with the map, too, documents are those of the encoder.
    both = faiss.read_index(str(write(adapter, tmp_path / "both.faiss", "faiss", corpus=CORPUS)))
    stored = faiss.downcast_index(both.index).reconstruct_n(0, 80)
    assert stored.tobytes() == CORPUS.astype(np.float32).tobytes()
    np.testing.assert_allclose(both.search(QUERIES.astype(np.float32), 10)[0], similarities, atol=1e-6)


def test_sql_reproduces_the_scores(adapter, tmp_path):
    database = sqlite3.connect(":memory:")
    statements = write(adapter, tmp_path / "map.sql", "sql", corpus=CORPUS).read_text(encoding="utf-8")
    database.executescript(statements)
    entries = [(q, f, float(QUERIES[q, f])) for q in range(len(QUERIES)) for f in range(8)]
    database.executemany("INSERT INTO queries VALUES (?, ?, ?)", entries)
    expected = scores_of(adapter)
    rows = list(database.execute("SELECT query, document, score FROM ranking"))
    assert len(rows) == expected.size
    for q, document, score in rows:
        assert score == pytest.approx(expected[q, document], abs=1e-6)
    stored = np.array([value for (value,) in database.execute("SELECT value FROM stored_documents")])
    # Numbers are written exactly; SQLite may read them with another last digit.
    np.testing.assert_allclose(stored, CORPUS.ravel(), rtol=1e-15)


def test_the_map_of_a_solution_is_that_of_the_adapter(adapter):
    np.testing.assert_array_equal(read_adapter(adapter.solution_).components, adapter.components_)
    assert read_adapter(adapter.solution_).form == "query"


def test_its_bounds_are_proven_in_exact_arithmetic(adapter, tmp_path):
    verdict = cm.write_certificate(tmp_path / "adapter.npz", adapter)
    assert verdict.accepted
    assert verdict.lower <= adapter.solution_.upper_bound
    assert verdict.gap <= 1e-4


def test_other_forms_are_refused(adapter, tmp_path):
    for form in ("distance", "augmented", "inner-product"):
        with pytest.raises(InputError, match=r"the map is of queries alone.*take 'query'"):
            write(adapter, tmp_path / "map", "numpy", form)
    with pytest.raises(InputError, match="the map is of both sides"):
        read_adapter(fit(loss="softmax@0.1", C=30.0, tol=1e-2), "query")
    rectangular = read_adapter(np.ones((3, 2)), "query")
    assert rectangular.queries([[1.0, 1.0]]).tolist() == [[2.0, 2.0, 2.0]]
    with pytest.raises(InputError, match="corpus has 2 features, but the map takes 3"):
        rectangular.documents([[1.0, 1.0]])


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"side": "querry", "query_map": np.eye(2)}, "side must be one of 'both', 'query', got 'querry'"),
        ({"side": "query", "components": np.eye(2)}, "a map of side 'query' is called query_map"),
        ({"side": "both", "query_map": np.eye(2)}, "a map of side 'both' is called components"),
        ({"side": "query"}, "a map of side 'query' is called query_map"),
        ({"query_map": np.eye(2)}, "a map of side 'both' is called components"),
    ],
)
def test_a_saved_side_that_does_not_fit_its_map_is_refused(tmp_path, arrays, words):
    np.savez(tmp_path / "adapter.npz", **arrays)
    with pytest.raises(InputError, match=words):
        read_adapter(tmp_path / "adapter.npz")


def test_from_the_command_line(command, adapter, tmp_path):
    np.save(tmp_path / "docs.npy", CORPUS)
    np.save(tmp_path / "q.npy", QUERIES)
    lines = [f"{q} 0 {d} 1" for q, d in np.argwhere(RELEVANT)]
    (tmp_path / "qrels.txt").write_text("\n".join(lines))
    documents, saved = (tmp_path / "docs.npy").read_bytes(), tmp_path / "adapter.npz"
    files = ["--corpus", tmp_path / "docs.npy", "--queries", tmp_path / "q.npy", "--qrels", tmp_path / "qrels.txt"]
    how = ["--measure", "ap", "--loss", "softmax@0.1", "--side", "query", "--C", "100", "--cv", "2", "--tol", "1e-6"]
    code, out, err = command(
        "adapt", *files, *how, "--json", "--quiet", "--save", saved, "--report", tmp_path / "report.html"
    )
    assert code == 0, err
    record = json.loads(out)
    assert (record["kept"], record["loss"], record["side"], record["C"]) == (True, "softmax@0.1", "query", 100.0)
    assert "SoftmaxRisk" in (tmp_path / "report.html").read_text()
    with np.load(saved) as arrays:
        assert (str(arrays["side"]), str(arrays["loss"])) == ("query", "softmax@0.1")
        assert "components" not in arrays
        np.testing.assert_allclose(arrays["query_map"], adapter.components_, atol=1e-9)
    images = cm.estimators.SavedMetric.load(saved).transform(QUERIES)
    np.testing.assert_allclose(images @ CORPUS.T, scores_of(adapter), atol=1e-6)
    code, out, _ = command("adapt", *files, *how, "--quiet")
    assert code == 0
    assert "rank" in out
    for to in FORMATS:
        pytest.importorskip({"onnx": "onnx", "faiss": "faiss", "safetensors": "safetensors"}.get(to, "numpy"))
        code, _, err = command("export", saved, "--to", to)
        assert (code, "query, 8 x 8" in err) == (0, True)
    with np.load(tmp_path / "adapter.map.npz") as arrays:
        np.testing.assert_allclose(QUERIES @ arrays["weight"].T @ CORPUS.T, scores_of(adapter), atol=1e-6)
    assert (tmp_path / "docs.npy").read_bytes() == documents
    code, _, err = command("export", saved, "--to", "numpy", "--form", "augmented")
    assert (code, "the map is of queries alone" in err) == (2, True)
    code, _, err = command("adapt", *files, "--loss", "softmax", "--side", "documents")
    assert (code, "side must be one of" in err) == (2, True)


@pytest.mark.parametrize(("side", "C"), [("both", 30.0), ("query", 10.0)])
def test_on_documentation_softmax_finds_more(side, C):
    data = cm.datasets.load("see-also")
    found = cm.RetrievalAdapter("nDCG@10", loss="softmax@0.05", side=side, C=C)
    found.fit(data.X, data.extras["queries"], data.extras["qrels"])
    gains = {name: scores.difference for name, scores in found.held_out_.scores.items()}
    assert gains["nDCG@10"] > 0.015
    assert gains["AP"] > 0.015
    assert found.solution_.gap <= 1e-2
