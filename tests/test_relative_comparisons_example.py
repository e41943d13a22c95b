"""The tables, the learning curve and the maps of relative comparisons, on few triplets."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from relative_paper import pictures, protocol, tables

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
