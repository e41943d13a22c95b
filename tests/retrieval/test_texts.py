"""Texts in: an encoder makes vectors of them, in the estimator and from files of JSON lines."""

import json
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.errors import InputError
from convexmetric.retrieval.reading import read_texts

WORDS = ["lift", "drag", "heat", "flow", "wing", "wall"]
RNG = np.random.default_rng(2)
DOCUMENTS = [" ".join(RNG.choice(WORDS, 4)) for _ in range(40)]
QUESTIONS = [" ".join(RNG.choice(WORDS, 2, replace=False)) for _ in range(12)]
QRELS = {str(q): {str(d): 1 for d in range(40) if QUESTIONS[q].split()[0] in DOCUMENTS[d]} for q in range(12)}


class Counts:
    """An encoder: counts of words, twice that of queries, in single precision."""

    def encode(self, texts):
        return [[np.float32(text.split().count(word) + 0.1 * at) for at, word in enumerate(WORDS)] for text in texts]

    def encode_query(self, texts):
        return 2.0 * np.array(self.encode(texts))


SETTINGS = {"loss": "ridge", "C": 1.0, "cv": 2}
X, Q = np.array(Counts().encode(DOCUMENTS), dtype=float), Counts().encode_query(QUESTIONS).astype(float)


def test_texts_are_vectors_of_the_encoder():
    direct = cm.RetrievalAdapter(**SETTINGS).fit(X, Q, QRELS)
    found = cm.RetrievalAdapter(encoder=Counts(), **SETTINGS).fit(DOCUMENTS, np.array(QUESTIONS), QRELS)
    np.testing.assert_array_equal(found.components_, direct.components_)
    np.testing.assert_array_equal(found.transform(DOCUMENTS), direct.transform(X))
    np.testing.assert_array_equal(found.transform_queries(QUESTIONS), direct.transform_queries(Q))
    np.testing.assert_array_equal(found.transform(X), direct.transform(X))


@pytest.mark.parametrize("encoder", [None, "all-MiniLM-L6-v2"])
def test_texts_without_an_encoder_are_refused(encoder):
    with pytest.raises(InputError, match=r"corpus are texts, for which encoder must have encode\(texts\), got"):
        cm.RetrievalAdapter(encoder=encoder).fit(DOCUMENTS, QUESTIONS, QRELS)


@pytest.fixture
def files(tmp_path):
    documents = [{"_id": str(d), "title": text.split()[0], "text": text} for d, text in enumerate(DOCUMENTS)]
    questions = [{"id": q, "text": text} for q, text in enumerate(QUESTIONS)]
    for name, rows in (("corpus", documents), ("queries", questions)):
        (tmp_path / f"{name}.jsonl").write_text("\n\n".join(map(json.dumps, rows)), encoding="utf-8")
    lines = [f"{q}\t{d}\t1" for q, row in QRELS.items() for d in row]
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(lines), encoding="utf-8")
    names = ("--corpus", "corpus.jsonl"), ("--queries", "queries.jsonl"), ("--qrels", "qrels.tsv")
    return [part for option, name in names for part in (option, tmp_path / name)]


def test_files_of_texts_go_through_a_named_encoder(command, files, tmp_path, monkeypatch):
    names, texts = read_texts(files[1])
    assert names == [str(d) for d in range(40)]
    assert texts[0] == f"{DOCUMENTS[0].split()[0]} {DOCUMENTS[0]}"
    assert read_texts(files[3]) == ([str(q) for q in range(12)], QUESTIONS)
    package = SimpleNamespace(SentenceTransformer=Mock(return_value=Counts()))
    monkeypatch.setitem(sys.modules, "sentence_transformers", package)
    how = ["--loss", "ridge", "--C", "1", "--cv", "2", "--quiet", "--json"]
    code, out, err = command("adapt", *files, "--encoder", "counts", *how)
    assert code == 0, err
    package.SentenceTransformer.assert_called_once_with("counts")
    direct = cm.RetrievalAdapter(encoder=Counts(), **SETTINGS).fit(texts, QUESTIONS, QRELS)
    assert json.loads(out)["verdict"] == direct.verdict


def test_what_is_missing_for_texts_is_named(command, files, monkeypatch):
    code, _, err = command("adapt", *files)
    assert (code, "corpus.jsonl has texts, for which --encoder names a model" in err) == (2, True)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    code, _, err = command("adapt", *files, "--encoder", "some")
    assert (code, "pip install 'convexmetric[text]'" in err) == (2, True)

    package = SimpleNamespace(SentenceTransformer=Mock(side_effect=OSError("not there")))
    monkeypatch.setitem(sys.modules, "sentence_transformers", package)
    code, _, err = command("adapt", *files, "--encoder", "some")
    assert (code, "--encoder some: no model of sentence-transformers was found (not there)" in err) == (2, True)


@pytest.mark.parametrize(
    "line", ["word", "[1]", '{"text": "a"}', '{"_id": 1.5, "text": "a"}', '{"id": "a"}', "[" * 9999]
)
def test_a_line_that_is_no_text_is_named(tmp_path, line):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": 0, "text": ""}\n' + line, encoding="utf-8")
    with pytest.raises(InputError, match=r"corpus.jsonl, line 2: it is not like"):
        read_texts(path)
