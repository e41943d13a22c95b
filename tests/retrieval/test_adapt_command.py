"""``adapt`` from files of vectors and judgements: what it prints and writes is what the estimator found."""

import json

import numpy as np
import pytest

import convexmetric as cm

RNG = np.random.default_rng(0)
OF_DOCUMENT, OF_QUERY = np.arange(80) % 8, np.arange(24) % 8
TOPICS = RNG.normal(size=(8, 4))
CORPUS, QUERIES = (
    np.hstack([TOPICS[of] + 0.5 * RNG.normal(size=(len(of), 4)), 2.0 * RNG.normal(size=(len(of), 4))])
    for of in (OF_DOCUMENT, OF_QUERY)
)
DOCUMENTS, NAMES = [f"d{row}" for row in range(80)], [f"q{row}" for row in range(24)]


@pytest.fixture
def files(tmp_path):
    """The options that name the files of a collection."""
    np.save(tmp_path / "docs.npy", CORPUS.astype(np.float32))
    np.save(tmp_path / "q.npy", QUERIES.astype(np.float32))
    (tmp_path / "docs.txt").write_text("\n".join(DOCUMENTS) + "\n")
    (tmp_path / "q.txt").write_text("\n".join(NAMES))
    lines = [f"q{q} 0 d{d} 1" for q, d in np.argwhere(OF_QUERY[:, None] == OF_DOCUMENT)]
    (tmp_path / "qrels.txt").write_text("\n".join(lines))
    names = {"--corpus": "docs.npy", "--queries": "q.npy", "--qrels": "qrels.txt"}
    names |= {"--corpus-ids": "docs.txt", "--query-ids": "q.txt"}
    return {option: tmp_path / name for option, name in names.items()}


def options(files):
    return [part for pair in files.items() for part in pair] + ["--measure", "ap", "--C", "10", "--cv", "3", "--quiet"]


def test_what_is_written_is_what_the_estimator_finds(command, files, tmp_path):
    saved, page, picture = tmp_path / "adapter.npz", tmp_path / "report.html", tmp_path / "changes.png"
    code, out, err = command(
        "adapt", *options(files), "--json", "--save", saved, "--report", page, "--picture", picture
    )
    assert code == 0, err
    qrels = cm.retrieval.read_qrels(files["--qrels"])
    vectors = np.load(files["--corpus"]), np.load(files["--queries"])
    adapter = cm.RetrievalAdapter("ap", C=10.0, cv=3).fit(*vectors, qrels, corpus_ids=DOCUMENTS, query_ids=NAMES)
    record = json.loads(out)
    assert record["kept"] is adapter.kept_ is True
    assert record["verdict"] == adapter.verdict
    assert record["solution"]["lower_bound"] == pytest.approx(adapter.solution_.lower_bound)
    assert record["held_out"]["scores"]["AP"]["after"] == pytest.approx(adapter.held_out_.deciding.after.tolist())
    with np.load(saved, allow_pickle=False) as arrays:
        np.testing.assert_allclose(arrays["components"], adapter.components_)
        assert arrays["queries"].tolist() == NAMES
        assert arrays["gap"] <= 1e-2
    np.testing.assert_allclose(cm.estimators.SavedMetric.load(saved).transform(CORPUS), adapter.transform(CORPUS))
    text = page.read_text()
    assert adapter.verdict.replace(">", "&gt;") in text
    assert "<svg" in text
    assert picture.stat().st_size > 5000


def test_the_table_is_printed_and_export_takes_the_file(command, files, tmp_path):
    saved = tmp_path / "adapter.npz"
    code, out, _ = command("adapt", *options(files), "--save", saved)
    words = " ".join(out.split())
    assert code == 0
    for part in ("lower bound", "The adapter is kept: AP", "paired t-test over queries", "queries better", "chosen"):
        assert part in words
    code, _, err = command("export", saved, "--to", "numpy", "--corpus", files["--corpus"])
    assert (code, "8 x 8" in err) == (0, True)
    with np.load(tmp_path / "adapter.map.npz") as arrays:
        np.testing.assert_allclose(arrays["documents"], CORPUS.astype(np.float32) @ arrays["weight"].T, atol=1e-6)


def test_where_it_does_not_help_the_identity_is_saved(command, files, tmp_path):
    saved = tmp_path / "adapter.npz"
    lines = [f"q{q} 0 d{d} 1" for q in range(24) for d in RNG.choice(80, 6, replace=False)]
    files["--qrels"].write_text("\n".join(lines))
    page = tmp_path / "report.html"
    code, out, _ = command("adapt", *options(files), "--level", "0.05", "--save", saved, "--report", page)
    words = " ".join(out.split())
    assert code == 0
    assert words.startswith("result: the identity; no map was kept")
    assert "the identity is returned" in words
    assert "--level" in words
    assert "24 queries can show a gain of 0.0" in words
    assert "lower bound" not in words
    with np.load(saved) as arrays:
        assert not arrays["kept"]
        assert (arrays["result"], arrays["C"], arrays["loss"]) == ("the identity", 0.0, "")
        assert not {"status", "gap", "lower_bound", "upper_bound"} & set(arrays)
        np.testing.assert_array_equal(arrays["components"], np.eye(8))
    text = page.read_text()
    assert "A linear map for retrieval: the identity</h1>" in text
    assert "What is returned is the identity" in text
    assert "No metric has an objective below" not in text
    _, _, err = command("export", saved, "--to", "numpy")
    assert "the identity, distance, 8 x 8" in err
    record = json.loads(command("adapt", *options(files), "--level", "0.05", "--json")[1])
    assert (record["result"], record["loss"], record["C"], record["solution"]) == ("the identity", None, 0.0, None)
    assert (record["refused"]["loss"], record["refused"]["C"]) == ("AP", 10.0)
    assert record["refused"]["solution"]["gap"] <= 1e-2
    assert record["held_out"]["detectable"] > 0.0


def test_a_gap_above_tol_is_an_exit_code(command, files):
    code, _, err = command("adapt", *options(files), "--tol", "1e-12", "--max-seconds", "0.01")
    assert code == 1
    assert "not certified to tol = 1e-12" in err


@pytest.mark.parametrize(
    ("option", "content", "words"),
    [
        ("--corpus", None, "docs.npy: there is no such file"),
        ("--qrels", "q0 0 d0 much\n", "line 1: the degree must be an integer"),
        ("--qrels", "q0 0 d0 1\nq99 0 d0 1\n", "'q99'"),
        ("--corpus-ids", "d0\nd1\n", "2 identifiers for 80 vectors"),
        ("--query-ids", "q0\n\nq2\n", "line 2: it is empty"),
        ("--query-ids", "q\n" * 2**20, "more than 24 identifiers for 24 vectors"),
        ("--query-ids", "q" * 2**21, "line 1: it is longer than 1048576 bytes"),
    ],
)
def test_bad_files_are_named(command, files, option, content, words):
    if content is None:
        files[option].unlink()
    else:
        files[option].write_text(content)
    code, _, err = command("adapt", *options(files))
    assert code == 2
    assert words in err


def test_bad_options_are_named(command, files, tmp_path):
    np.save(tmp_path / "row.npy", np.zeros(8))
    for extra, words in (
        (["--measure", "ndch@10"], "measure"),
        (["--report", tmp_path / "report.txt"], "a report is written as .html"),
        (["--picture", tmp_path / "picture.gif"], "a picture is written as"),
        (["--save", tmp_path / "adapter.npy"], "saved as .npz"),
        (["--corpus", tmp_path / "row.npy"], "must hold a matrix of numbers"),
        (["--level", "2"], "level"),
    ):
        code, _, err = command("adapt", *options(files), *extra)
        assert code == 2
        assert words in err
    code, _, err = command("export", ".", "--to", "numpy")
    assert (code, "is a folder" in err) == (2, True)
