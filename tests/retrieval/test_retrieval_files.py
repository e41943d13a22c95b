"""Judgements and runs: from files, frames and dictionaries and back, and the message each malformed one gets."""

import bz2
import gzip
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import convexmetric as cm
from convexmetric.errors import InputError
from convexmetric.retrieval import Qrels, RetrievalRun, read_qrels, read_run

JUDGED = {"q1": {"d1": 2, "d2": 0, "d9": -1}, "q2": {"d2": 1}}
TREC = "q1 0 d1 2\nq1\t0\td2\t0\n\nq1 0 d9 -1\r\nq2 0 d2 1\n"
BEIR = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq1\td9\t-1\nq2\td2\t1\n"


def written(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("text", [TREC, BEIR, TREC.replace(" 0 ", " "), "\ufeff" + TREC, TREC.replace("\t", "\u2003")])
@pytest.mark.parametrize(("name", "block"), [("qrels.txt", 2**18), ("qrels.tsv.gz", 2**18), ("qrels.txt", 3)])
def test_judgements_come_back(tmp_path, monkeypatch, text, name, block):
    monkeypatch.setattr("convexmetric.retrieval.reading.BLOCK", block)
    if "q1\t0" in text and " 0 " not in text:
        text = text.replace("q1\t0\t", "q1\t")
    qrels = read_qrels(written(tmp_path / name, text))
    assert qrels.to_dict() == JUDGED
    assert repr(qrels) == "<Qrels: 4 degrees, -1 to 2; 2 queries, 3 documents>"


def test_runs_come_back(tmp_path):
    run = read_run(written(tmp_path / "run.gz", "q1 Q0 d1 1 0.5 me\nq1 Q0 d2 2 -1e-3 me\nq2 Q0 d1 1 7 me\n"))
    assert run.to_dict() == {"q1": {"d1": 0.5, "d2": -1e-3}, "q2": {"d1": 7.0}}
    assert RetrievalRun.from_dict(run.to_dict()).to_dict() == run.to_dict()


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [
        (read_qrels, "q1 0 d1 1\nq1 0 d2\n", "line 2: 3 columns; judgements have"),
        (read_qrels, "q1 0 d1 1 x\n", "line 1: 5 columns; judgements have"),
        (read_qrels, "q1 0 d1 1\n\nq1 0 d2 high\n", "line 3: the degree must be an integer, got 'high'"),
        (read_qrels, "q1 0 d1 high\n", "line 1: the degree must be an integer, got 'high'"),
        (read_qrels, "q1 0 d1 0.5\n", "line 1: the degree must be an integer, got '0.5'"),
        (read_qrels, "q1 0 d1 1\nq2 0 d1 1\nq1 0 d1 0\n", "line 3: query 'q1' had document 'd1' before"),
        (read_qrels, "q1 0 d1 1\nq2 0 d1 1\nq1 0 d1 0\nq2 0 d1 1\n", "line 3: query 'q1' had document 'd1' before"),
        (read_qrels, "q1 0 d1 1\n" + "\n" * 9 + "q1 0 d2 1 7\nq1 0 d3\n", "line 11: 5 columns"),
        (read_qrels, "q1 0 d1 1\nq1 0 d2 " + "9" * 5000, "line 2: the degree must be an integer, got '9{37}...9+'$"),
        (read_qrels, f"q1 0 d1 {2**63}\n", f"line 1: the degree must be an integer, got '{2**63}'"),
        (read_qrels, "q1 0 d1 1\rq1 0 d2 1\r", "line 1: 8 columns"),
        (read_qrels, "q1 0 d1 1\nq1 0 " + "d" * 2**21, "line 2: it is longer than 1048576 bytes"),
        (read_qrels, "q1 0 d1 1\n\0\0\0\n", "line 2: 1 columns"),
        (read_qrels, "\n", "is empty"),
        (read_qrels, "\ufeff", "is empty"),
        (read_run, "q1 Q0 d1 1 0.5\n", "line 1: 5 columns; a run has"),
        (read_run, "q1 Q0 d1 1 best me\n", "line 1: the score must be a finite number, got 'best'"),
        (read_run, "q1 Q0 d1 1 inf me\n", "line 1: the score must be a finite number, got 'inf'"),
        (read_run, "q1 Q0 d1 1 1 me\nq1 Q0 d1 2 0 me\n", "line 2: query 'q1' had document 'd1' before"),
    ],
)
@pytest.mark.parametrize("block", [3, 2**18])
def test_the_message_names_the_line(tmp_path, monkeypatch, read, text, words, block):
    monkeypatch.setattr("convexmetric.retrieval.reading.BLOCK", block)
    path = written(tmp_path / "file.txt", text)
    with pytest.raises(InputError, match=words) as error:
        read(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("read", [read_qrels, read_run])
def test_files_that_are_not_there_or_damaged(tmp_path, read):
    with pytest.raises(InputError, match="there is no such"):
        read(tmp_path / "nothing")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"q1 0 d1 1\n" * 100)[:-12])
    with pytest.raises(InputError, match="damaged"):
        read(tmp_path / "cut.gz")
    (tmp_path / "binary.txt").write_bytes(b"\n\xff\xfe\x00")
    with pytest.raises(InputError, match="line 2: it is not text in UTF-8"):
        read(tmp_path / "binary.txt")
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path)


def test_packed_files_are_known_by_their_bytes(tmp_path):
    rows = [f"q {number} {number}\n".encode() for number in range(3)]
    (tmp_path / "streams.txt").write_bytes(b"".join(map(gzip.compress, rows)))
    (tmp_path / "other.gz").write_bytes(bz2.compress(b"".join(rows)))
    for name in ("streams.txt", "other.gz"):
        assert read_qrels(tmp_path / name).to_dict() == {"q": {"0": 0, "1": 1, "2": 2}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\n" * 2**23, "is empty"),
        ("\n" * 2**24 + "\n", "decompresses to more than 16777216 bytes"),
        ("a b 1\n" * 500_000, "takes more than 16777216 bytes of memory"),
        ("".join(f"{number} {number} 1\n" for number in range(100_000)), "takes more than 16777216 bytes of memory"),
        ("a 0 " + "b" * 2**23, "line 1: it is longer than 1048576 bytes"),
    ],
)
def test_no_more_is_held_than_the_limit(tmp_path, monkeypatch, text, words):
    path = written(tmp_path / "qrels.gz", text)
    del text
    monkeypatch.setattr("convexmetric.files.MAX_BYTES", 2**24)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=words):
            read_qrels(path)
        # Blocks take a little beside what is held.
        assert tracemalloc.get_traced_memory()[1] < 2**24 + 2**23
    finally:
        tracemalloc.stop()


def test_every_way_gives_the_same_judgements():
    triples = [(query, document, degree) for query, row in JUDGED.items() for document, degree in row.items()]
    tables = [Qrels.of(JUDGED), Qrels.of(triples), Qrels.of(iter(triples)), Qrels.of(Qrels.of(JUDGED))]
    for name in ("pandas", "polars"):
        module = pytest.importorskip(name)
        queries, documents, degrees = map(list, zip(*triples, strict=True))
        tables.append(Qrels.of(module.DataFrame({"qid": queries, "docno": documents, "label": degrees})))
        frame = module.DataFrame({"topic": queries, "what": documents, "grade": degrees})
        tables.append(Qrels.from_frame(frame, document="what", number="grade"))
        with pytest.raises(InputError, match="has no column doc_id, docid"):
            Qrels.of(frame)
        with pytest.raises(InputError, match="did you mean 'grade'"):
            Qrels.from_frame(frame, document="what", number="grades")
    assert all(table.to_dict() == JUDGED for table in tables)


def test_matrices():
    R = np.array([[2, 0, 0], [0, 0, 1]])
    assert Qrels.from_matrix(sp.csr_array(R)).to_dict() == {"0": {"0": 2}, "1": {"2": 1}}
    dense = Qrels.from_matrix(R, ["a", "b"], corpus_ids=[10, 20, 30])
    assert dense.to_dict() == {"a": {"10": 2, "20": 0, "30": 0}, "b": {"10": 0, "20": 0, "30": 1}}
    with pytest.raises(InputError, match="must be a"):
        Qrels.from_matrix([1, 2])
    with pytest.raises(InputError, match="corpus_ids must have one identifier a row: 3 rows, 2 identifiers"):
        Qrels.from_matrix(R, corpus_ids=["x", "y"])
    with pytest.raises(InputError, match="query_ids has 'x' twice"):
        Qrels.from_matrix(R, query_ids=["x", "x"])


def test_subsets_keep_what_they_name():
    qrels = Qrels.of(JUDGED)
    assert qrels.subset(["q2", "unknown"]).to_dict() == {"q2": {"d2": 1}}
    assert qrels.subset(["q2"]).documents == ("d2",)
    assert len(qrels.subset([])) == 0


def test_integers_stand_for_their_digits():
    assert Qrels.of([(1, np.int64(2), 3)]).to_dict() == {"1": {"2": 3}}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Qrels.of([("q", 1.5, 1)]), r"documents\[0\] must be text or an integer, got 1.5"),
        (lambda: Qrels.of([("q", "d", 0.5)]), "degrees must be a list of integers"),
        (lambda: Qrels.of([("q", "d", "high")]), "degrees must be a list of integers"),
        (lambda: RetrievalRun.of([("q", "d", np.nan)]), "scores must be a list of finite numbers"),
        (lambda: Qrels.of([("q", "d", 1), ("q", "d", 1)]), "query 'q' has document 'd' twice"),
        (lambda: Qrels.of([("q", "d")]), "degrees must be a Qrels, a dictionary"),
        (lambda: Qrels.of("qrels.txt"), "degrees must be a Qrels, a dictionary"),
        (lambda: Qrels.of(RetrievalRun.of([("q", "d", 1.0)])), "degrees must be a Qrels"),
        (lambda: Qrels.of({"q": ["d"]}), "maps every query to a dictionary"),
        (lambda: Qrels.from_lists("q", ["d"], [1]), "queries must be a list of identifiers"),
        (lambda: Qrels.from_lists(["q"], ["d", "e"], [1]), "must be of one length, got 1, 2 and 1"),
        (lambda: Qrels.from_frame(3), "must be a data frame"),
    ],
)
def test_malformed_tables(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_cranfield_in_the_folder():
    folder = cm.datasets.data_folder()
    if folder is None or not (folder / "cranfield/cranqrel").is_file():
        pytest.skip("the data folder has no Cranfield collection")
    qrels = read_qrels(folder / "cranfield/cranqrel")
    assert (len(qrels), len(qrels.queries)) == (1837, 225)
