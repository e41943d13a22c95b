"""The experiments of the ranking paper: what their parts claim, and that an interrupted run goes on."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ranking_paper import classification, printed, tables
from ranking_paper.results import Results
from ranking_paper.toy import columns, target_neighbour_problem, toy

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def test_results_survive_a_kill_in_the_middle_of_a_line(tmp_path):
    path = tmp_path / "folder" / "results.jsonl"
    results = Results(path)
    first, second = {"data": "wine", "split": 0}, {"data": "wine", "split": 1}
    results.add(first, {"errors": [0.5]})
    results.add(second, {"errors": [0.25]})
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    again = Results(path)
    assert again.get(first) == {"errors": [0.5]}
    assert again.get(second) is None
    again.add(second, {"errors": [0.25]})
    assert path.read_bytes() == whole
    assert Results(path).get(dict(reversed(second.items()))) == {"errors": [0.25]}
    assert Results(path).get(second | {"C": [1.0]}) is None


@pytest.mark.parametrize(
    ("spectrum", "count"),
    [([1.0, 0, 0], 1), ([0.94, 0.06, 0], 2), ([1.0, 1, 1], 3), ([0.0, 0, 0], 0), ([5.0, 4, -1], 2)],
)
def test_dimensions_of_95_percent(spectrum, count):
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    assert classification.dimensions((Q * spectrum) @ Q.T) == count


def test_small_splits_are_scaled_by_their_training_part():
    X, _, T, t, _, _ = classification.small_split("wine", 3)
    assert (len(X), len(T), len(t)) == (142, 36, 36)
    assert X.mean(axis=0) == pytest.approx(0.0, abs=1e-12)
    assert X.std(axis=0) == pytest.approx(1.0)
    assert np.abs(T.mean(axis=0)).max() > 0.01


@pytest.mark.parametrize("seed", range(3))
def test_target_neighbours_look_along_the_corrupted_axis_and_rankings_do_not(seed):
    learned = toy(seed)
    axes = {name: np.abs(np.linalg.eigh(M)[1][:, -1]) for name, M in learned.metrics.items()}
    assert axes["target neighbours"][0] > 0.9
    assert axes["MLR-AUC"][1] > 0.99
    assert learned.errors["MLR-AUC"] < 0.05
    assert min(learned.errors["native"], learned.errors["target neighbours"]) > 0.4
    assert max(learned.gaps.values()) <= 1e-4


def test_the_objective_with_target_neighbours():
    X, y = columns(np.random.default_rng(5), np.array([0, 1]))
    problem, M = target_neighbour_problem(X, y, 7.0), np.array([[0.02, 0.01], [0.01, 0.3]])
    D = np.array([[(a - b) @ M @ (a - b) for b in X] for a in X])
    native = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    pulls, pushes = [], []
    for i in range(len(y)):
        same = [j for j in range(len(y)) if y[j] == y[i] and j != i]
        for j in sorted(same, key=lambda j: native[i, j])[:3]:
            pulls.append(D[i, j])
            pushes += [max(0.0, 1.0 + D[i, j] - D[i, k]) for k in range(len(y)) if y[k] != y[i]]
    assert problem.objective(M) == pytest.approx(np.mean(pulls) + 7.0 * np.mean(pushes) + 1e-6 * np.trace(M))


def test_the_table_has_every_method_of_the_paper_and_both_readings_of_best():
    chosen = {"rows": [[1.0, None], [10.0, None]], "dimensions": [2, 1], "gaps": [0.01], "seconds": [1.0]}
    found = [
        chosen | {"errors": [[0.1, 0.2], [0.3, 0.4]], "chosen": [0, 1]},
        chosen | {"errors": [[0.3, 0.2], [0.1, 0.0]], "chosen": [1, 0]},
    ]
    zero = chosen | {"errors": [[0.5, 0.5], [0.5, 0.5]], "chosen": [0, 0], "dimensions": [0, 0]}
    sheet = tables.errors({("wine", "MLR-AUC"): found, ("wine", "MLR-P@k"): [zero]}, ["wine"])
    rows = dict(sheet.rows)
    assert list(rows) == list(printed.ERRORS)
    assert rows["MLR-AUC"] == "15.0 / 20.0 / 1.4"
    assert rows["MLR-P@k"] == "50.0 / 50.0 / 1.5 (W = 0)"
    assert rows["LMNN"] == "- / - / 1.7"
    assert sheet.markdown().splitlines()[2] == "|  | wine (2 splits) |"


def test_one_command_and_again_without_work(tmp_path):
    command = [sys.executable, str(EXAMPLES / "metric_learning_to_rank_tables.py")]
    command += ["--data", "wine", "--methods", "MLR-AUC", "Euclidean", "--splits", "1", "--C", "1", "--jobs", "1"]
    command += ["--output", str(tmp_path / "out")]
    first = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert (tmp_path / "out" / "dimensions.png").stat().st_size > 1000
    kept = (tmp_path / "out" / "wine.jsonl").read_bytes()
    assert kept.count(b"\n") == 2
    again = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert again.stdout == first.stdout
    assert again.stderr == ""
    assert (tmp_path / "out" / "wine.jsonl").read_bytes() == kept
    assert "| MLR-AUC |" in (tmp_path / "out" / "tables.md").read_text()
