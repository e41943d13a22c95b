"""The tables, the learning curve and the maps of relative comparisons, on few triplets."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from experiments.summary import known
from relative_paper import pictures, protocol, questions, tables
from relative_paper.porter import stem

pytestmark = pytest.mark.integration

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "relative_comparisons_webkb.py"


def test_several_values_are_said_with_their_standard_error():
    assert tables.said(np.array([79.5])) == "79.50"
    assert tables.said(np.array([79.0, 81.0])) == "80.00 ± 1.00"


@pytest.mark.parametrize("w", [None, np.array([1.0, 0.0, 2.0])])
def test_satisfied_counts_triplets(w):
    X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    triplets = np.array([[0, 1, 2], [0, 3, 2], [0, 2, 1], [1, 0, 3]])
    weights = np.ones(3) if w is None else w
    distance = [[float(weights @ (x - z) ** 2) for z in X] for x in X]
    correct = np.mean([distance[i][j] < distance[i][k] for i, j, k in triplets])
    assert protocol.satisfied(sp.csr_array(X), w, triplets, block=3) == 100.0 * correct


def test_distances_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    X, w = rng.integers(0, 2, (6, 4)).astype(float), rng.random(4)
    expected = [[np.sqrt(w @ (x - z) ** 2) for z in X] for x in X]
    np.testing.assert_allclose(pictures.distances(sp.csr_array(X), w), expected, atol=1e-12)


def test_universities_are_four_named_and_three_guessed(data_folder):
    data = protocol.pages("text", 10)
    counts = {}
    for name in ("university-4", "university-7", "topic"):
        labels = protocol.labels_of(protocol.NOTIONS[name], data)
        counts[name] = dict(zip(*np.unique(labels[labels != ""], return_counts=True), strict=True))
    named = {"cornell": 226, "texas": 252, "washington": 255, "wisconsin": 308}
    assert counts["university-4"] == named
    assert counts["university-7"] == named | {"nyu.edu": 105, "rutgers.edu": 110, "umass.edu": 107}
    assert sum(counts["topic"].values()) == 4199


def command(folder, *more):
    arguments = ["--train-triplets", "200", "--test-triplets", "1000", "--sizes", "100", "200", "--jobs", "1"]
    line = [
        sys.executable,
        str(EXAMPLE),
        *arguments,
        "--words",
        "page",
        "--splits",
        "2",
        "--output",
        str(folder),
        *more,
    ]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout


def test_tables_curve_and_maps_are_made_and_a_second_run_fits_nothing(data_folder, tmp_path):
    said = command(tmp_path)
    lines = {name: (tmp_path / name).read_text().splitlines() for name in ("table.jsonl", "curve.jsonl", "tables.md")}
    assert len(lines["table.jsonl"]) == 8
    assert len(lines["curve.jsonl"]) == 4
    results = [json.loads(line)["result"] for name in ("table.jsonl", "curve.jsonl") for line in lines[name]]
    assert all(result["gap"] <= 1e-4 and 50.0 < result["learned"] < 100.0 for result in results)
    for text in (said, "\n".join(lines["tables.md"])):
        assert "Table 1. Test triplets satisfied" in text
        assert "/ 98.43" in text
        assert "Figure 2. Topic+FacultyStudent" in text
    for name in ("curve.png", "topics.png", "universities.png"):
        assert 0 < (tmp_path / name).stat().st_size < 600_000
    command(tmp_path)
    assert (tmp_path / "table.jsonl").read_text().splitlines() == lines["table.jsonl"]
    assert (tmp_path / "curve.jsonl").read_text().splitlines() == lines["curve.jsonl"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        *[("caresses", "caress"), ("ponies", "poni"), ("cats", "cat"), ("feed", "feed"), ("agreed", "agre")],
        *[("plastered", "plaster"), ("bled", "bled"), ("motoring", "motor"), ("sing", "sing"), ("sized", "size")],
        *[("conflated", "conflat"), ("hopping", "hop"), ("falling", "fall"), ("filing", "file"), ("happy", "happi")],
        *[("sky", "sky"), ("relational", "relat"), ("vietnamization", "vietnam"), ("triplicate", "triplic")],
        *[("goodness", "good"), ("adoption", "adopt"), ("communism", "commun"), ("probate", "probat")],
        *[
            ("rate", "rate"),
            ("cease", "ceas"),
            ("controlling", "control"),
            ("roll", "roll"),
            ("cs", "cs"),
            ("x25s", "x25s"),
        ],
    ],
)
def test_stems_are_porters(word, expected):
    assert stem(word) == expected


def test_shares_by_all_distances_are_those_by_triplets():
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.integers(0, 2, (9, 5)).astype(float))
    triplets = rng.integers(0, 9, (300, 3))
    assert questions.satisfied(X, triplets) == pytest.approx(protocol.satisfied(X, None, triplets))
    length = questions.unit_length(sp.csr_array([[3.0, 4.0], [0.0, 0.0]])).toarray()
    np.testing.assert_allclose(length, [[0.6, 0.8], [0.0, 0.0]])


def test_static_distances_are_on_the_splits_of_the_table(data_folder):
    found = questions.static("text", "in 10 pages", 1, 2000)
    assert found["words"] == 5589
    part = protocol.split_pages(protocol.NOTIONS["topic"], "text", 10, 10, 1, 2000)
    assert found["satisfied"]["topic"]["binary"] == pytest.approx(protocol.satisfied(part.test, None, part.judge))
    assert found["satisfied"]["topic"]["TF-IDF"] == pytest.approx(
        protocol.satisfied(part.test_tfidf, None, part.judge), abs=0.1
    )
    # Whatever words are chosen, a page's are among its own.
    data = protocol.pages("text", 10)
    stemmed = questions.chosen_words(data, "stems, no stop words")
    assert stemmed.shape[1] < 5589
    assert (stemmed.sum(axis=1) <= data.X.sum(axis=1)).all()


def test_weights_of_pages_under_a_kernel(data_folder):
    found = [questions.kernel("topic", "text", 0, 150, 1000, name, 1e-2) for name in (None, "linear", "Gaussian")]
    assert all(50.0 < one["satisfied"] < 100.0 and one["gap"] <= 1e-2 for one in found)


def test_sheets_of_what_is_known(tmp_path):
    for results, settings, _, _ in questions.tasks(tmp_path, 2):
        if settings.get("choice") == "all":
            shares = {
                name: dict.fromkeys(("binary", "unit length", "TF-IDF", "idf"), 60.0) for name in protocol.NOTIONS
            }
            results.add(settings, {"satisfied": shares, "words": 10})
        if settings.get("kernel") == "linear":
            results.add(settings, {"satisfied": 70.0 + settings["split"], "gap": 1e-3, "seconds": 2.0, "used": 5})
    binary, tfidf, kernels = questions.sheets(known(questions.tasks(tmp_path, 2)))
    assert [row[:5] for row in binary.rows] == [["page", "all", "10", "2", of] for of in ("binary", "unit length")]
    assert tfidf.rows[0][5:] == ["60.00 ± 0.00"] * 4
    assert kernels.rows == [["linear", "2", "70.50 ± 0.50", "5", "1e-03", "2"]]
