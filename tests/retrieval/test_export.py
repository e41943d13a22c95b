"""Exports: whatever searches with them finds the hundred documents that the metric finds, in its order."""

import sqlite3
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import convexmetric as cm
from convexmetric.cli import app
from convexmetric.errors import InputError, NotInstalledError
from convexmetric.retrieval.export import FORMATS, Adapter, read_adapter, write

N, D, RANK = 400, 6, 4
rng = np.random.default_rng(0)
L = rng.normal(size=(RANK, D))
X, Q = rng.normal(size=(N, D)), rng.normal(size=(5, D))
# Of a metric; test_query_side.py has the form of a map of queries alone.
FORMS = ("distance", "augmented", "inner-product")


def nearest(form="distance"):
    """The first hundred documents of every query, by the definition."""
    M = L.T @ L
    if form == "inner-product":
        return np.argsort(-(Q @ M @ X.T), axis=1)[:, :100]
    distances = np.array([np.einsum("ij,jk,ik->i", X - q, M, X - q) for q in Q])
    return np.argsort(distances, axis=1)[:, :100]


def found(images, stored, form):
    """The first hundred by what the form says is near."""
    if form == "distance":
        return np.argsort(((images[:, None] - stored[None]) ** 2).sum(axis=2), axis=1)[:, :100]
    return np.argsort(-(images @ stored.T), axis=1)[:, :100]


def agree(rows, form):
    np.testing.assert_array_equal(rows, nearest("inner-product" if form == "inner-product" else "distance"))


def written(tmp_path, to, form, corpus=None):
    return write(L, tmp_path / f"map.{to}", to, form, corpus)


def test_what_drops_the_documents_norms_ranks_otherwise():
    assert (nearest() != nearest("inner-product")).any()
    unit = X / np.sqrt(np.einsum("ij,ij->i", X @ L.T, X @ L.T))[:, None]
    by_product, by_distance = (
        np.argsort(values, axis=1)
        for values in (-(Q @ (L.T @ L) @ unit.T), ((Q @ L.T)[:, None] - (unit @ L.T)[None]).__pow__(2).sum(axis=2))
    )
    np.testing.assert_array_equal(by_product, by_distance)


@pytest.mark.parametrize("form", FORMS)
def test_arrays_in_memory(form):
    adapter = Adapter(L, form)
    agree(found(adapter.queries(Q), adapter.documents(X), form), form)


@pytest.mark.parametrize("form", FORMS)
def test_numpy(tmp_path, form):
    arrays = dict(np.load(written(tmp_path, "numpy", form, X)))
    agree(found(Q @ arrays["weight"].T + arrays.get("bias", 0.0), arrays["documents"], form), form)
    assert "documents" not in np.load(write(L, tmp_path / "no.npz", "numpy", form))


@pytest.mark.parametrize("form", FORMS)
def test_safetensors(tmp_path, form):
    load = pytest.importorskip("safetensors.numpy").load_file
    arrays = load(path := written(tmp_path, "safetensors", form, X))
    assert path.stat().st_mode == written(tmp_path, "numpy", form, X).stat().st_mode
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.float32)}
    agree(found(Q @ arrays["linear.weight"].T + arrays.get("linear.bias", 0.0), arrays["documents"], form), form)


@pytest.mark.parametrize("form", FORMS)
def test_onnx(tmp_path, form):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(written(tmp_path, "onnx", form), providers=["CPUExecutionProvider"])
    (images,) = session.run(["images"], {"vectors": Q.astype(np.float32)})
    agree(found(images, Adapter(L, form).documents(X), form), form)


@pytest.mark.parametrize("form", FORMS)
def test_faiss(tmp_path, form):
    faiss = pytest.importorskip("faiss")
    index = faiss.read_index(str(written(tmp_path, "faiss", form, X)))
    _, rows = index.search(Q.astype(np.float32), 100)
    agree(rows, form)
    alone = str(write(L, tmp_path / "alone.faiss", "faiss", form))
    if form == "distance":
        empty = faiss.read_index(alone)
        empty.add(X.astype(np.float32))
        agree(empty.search(Q.astype(np.float32), 100)[1], form)
    else:
        images = faiss.read_VectorTransform(alone).apply(Q.astype(np.float32))
        np.testing.assert_allclose(images, Adapter(L, form).queries(Q), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_hnswlib_takes_the_images(form):
    hnswlib = pytest.importorskip("hnswlib")
    adapter = Adapter(L, form)
    stored = adapter.documents(X)
    if form == "distance":
        index = hnswlib.Index(space="l2", dim=stored.shape[1])
        index.init_index(max_elements=N, ef_construction=N, M=48, random_seed=0)
        index.add_items(stored, num_threads=1)
        # As many candidates as documents: the graph is searched through.
        index.set_ef(N)
    else:
        # A graph by inner products does not reach all documents, however many candidates it may have.
        index = hnswlib.BFIndex(space="ip", dim=stored.shape[1])
        index.init_index(max_elements=N)
        index.add_items(stored)
    agree(index.knn_query(adapter.queries(Q), 100, num_threads=1)[0], form)


@pytest.mark.parametrize("form", FORMS)
def test_sql(tmp_path, form):
    database = sqlite3.connect(":memory:")
    database.executescript(written(tmp_path, "sql", form, X).read_text(encoding="utf-8"))
    entries = [(q, f, float(Q[q, f])) for q in range(len(Q)) for f in range(D)]
    database.executemany("INSERT INTO queries VALUES (?, ?, ?)", entries)
    first = "SELECT document FROM ranking WHERE query = ? ORDER BY score DESC LIMIT 100"
    rows = [[row for (row,) in database.execute(first, [q])] for q in range(len(Q))]
    agree(np.array(rows), form)


def test_every_source_gives_the_same_map(tmp_path):
    wine = cm.datasets.load("wine")
    points = cm.datasets.preprocess(wine.X, ["zscore"])
    mlr = cm.MLR(C=10.0).fit(points, wine.y)
    operator = mlr.get_operator()
    operator.save(tmp_path / "operator.npz")
    np.save(tmp_path / "M.npy", mlr.get_mahalanobis_matrix())
    np.save(tmp_path / "w.npy", [4.0, 0.0, 1.0])
    sources = [mlr, operator, mlr.solution_, tmp_path / "operator.npz", str(tmp_path / "M.npy"), mlr.components_]
    sources.append(read_adapter(mlr, "augmented"))
    for source in sources:
        L = read_adapter(source).components
        np.testing.assert_allclose(L.T @ L, mlr.get_mahalanobis_matrix(), atol=1e-10)
    np.testing.assert_array_equal(read_adapter(tmp_path / "w.npy").components, [[2.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def test_kernels_are_refused(tmp_path):
    wine = cm.datasets.load("wine")
    mlr = cm.MLR(C=10.0, kernel="rbf").fit(wine.X[::4], wine.y[::4])
    mlr.get_operator().save(tmp_path / "operator.npz")
    for source in (mlr, mlr.get_operator(), mlr.solution_, tmp_path / "operator.npz"):
        with pytest.raises(InputError, match="under a kernel"):
            read_adapter(source)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda path: write(L, path, "onyx"), "to must be one of .*did you mean 'onnx'"),
        (lambda path: write(L, path, "numpy", "distances"), "form must be one of .*did you mean 'distance'"),
        (lambda path: write(L, path, "onnx", corpus=X), "an ONNX model holds no documents"),
        (lambda path: write(L, path, "numpy", corpus=X[:, :2]), "corpus has 2 features, but the map takes 6"),
        (lambda path: write([1.0, 2.0], path, "numpy"), r"components must be a finite \(rank, features\) matrix"),
        (lambda path: write(path.with_name("no.npz"), path, "numpy"), "there is no such file"),
        (lambda path: write(L, path / "no" / "map", "numpy"), "there is no folder"),
    ],
)
def test_malformed_calls(tmp_path, call, words):
    with pytest.raises(InputError, match=words):
        call(tmp_path / "map")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("to", "module"), [("safetensors", "safetensors.numpy"), ("onnx", "onnx"), ("faiss", "faiss")])
def test_without_the_package_the_message_has_the_command(tmp_path, monkeypatch, to, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(NotInstalledError, match=r"pip install 'convexmetric\[export\]'"):
        written(tmp_path, to, "distance")
    assert list(tmp_path.iterdir()) == []


def test_the_command(tmp_path):
    np.savez(tmp_path / "adapter.npz", components=L)
    np.save(tmp_path / "docs.npy", X.astype(np.float32))
    run = CliRunner().invoke(app, ["export", str(tmp_path / "adapter.npz"), "--to", "sql"])
    assert run.exit_code == 0
    assert (tmp_path / "adapter.sql").read_text(encoding="utf-8").startswith("CREATE TABLE adapter_weight")
    options = ["--to", "numpy", "--form", "augmented", "--corpus", str(tmp_path / "docs.npy")]
    run = CliRunner().invoke(app, ["export", str(tmp_path / "adapter.npz"), *options])
    assert run.exit_code == 0
    arrays = dict(np.load(tmp_path / "adapter.map.npz"))
    assert arrays["documents"].shape == (N, D + 1)
    for wrong, words in (
        (["--to", "onyx"], "did you mean 'onnx'"),
        (["--to", "numpy", "--output", str(tmp_path / "adapter.npz")], "would be written over"),
        (["--to", "numpy", "--corpus", str(tmp_path / "docs.csv")], "vectors come from a .npy file"),
    ):
        run = CliRunner().invoke(app, ["export", str(tmp_path / "adapter.npz"), *wrong])
        assert isinstance(run.exception, InputError)
        assert words in str(run.exception)


def test_formats_have_names():
    assert list(FORMATS) == ["numpy", "safetensors", "onnx", "faiss", "sql"]
