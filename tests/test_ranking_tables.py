"""The experiments of the ranking paper: what their parts claim, and that an interrupted run goes on."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from experiments.results import Results
from ranking_paper import classification, kernels, matchings, printed, tables
from ranking_paper.synthetic import synthetic_matchings
from ranking_paper.toy import toy

import convexmetric as cm
from convexmetric.measures import measure_named
from convexmetric.measures.reference import most_violated

pytestmark = pytest.mark.integration

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
    assert axes["LMNN"][0] > 0.9
    assert axes["MLR-AUC"][1] > 0.99
    assert axes["logistic"][1] > 0.99
    assert learned.errors["MLR-AUC"] < 0.05
    assert learned.errors["logistic"] < 0.2
    assert min(learned.errors["native"], learned.errors["LMNN"]) > 0.4
    assert max(learned.gaps.values()) <= 1e-4


def test_svm_map_is_a_problem_of_weights():
    """``1/2 |w|^2`` and the slacks of scores ``<w, q - x>``, at any w; and the certificate is of that."""
    data = synthetic_matchings(400, 900, least=(1, 2), n_features=3, rank=2)
    problem = matchings.linear_problem(data, 7.0)
    measure = measure_named("map")
    for w in np.random.default_rng(0).normal(size=(3, 3)):
        total = 0.0
        for relevant, irrelevant in zip(*data.lists(), strict=True):
            score = data.X @ w
            total += most_violated(measure, score[relevant], score[irrelevant])[2]
        expected = 0.5 * w @ w + 7.0 / len(data.queries) * total
        weights = np.concatenate([np.maximum(w, 0.0), np.maximum(-w, 0.0)])
        assert problem.objective(weights) == pytest.approx(expected, rel=1e-9)
    solution = cm.solve(problem, tol=1e-4)
    assert solution.gap <= 1e-4
    auc, *_ = matchings.scores("SVM-MAP", solution.w, data)
    assert 0.0 < auc < 1.0


def test_appeal_is_what_a_linear_score_learns():
    """With appeal alone a linear score does what no metric can; without any it is the other way round."""
    aucs = {}
    for appeal in (0.0, 1.0):
        train, test = (
            synthetic_matchings(8000, 16000, n_features=6, appeal=appeal, random_state=seed) for seed in (0, 1)
        )
        for method in ("MLR-AUC", "SVM-MAP"):
            solution = cm.solve(matchings.problem_of(method, train, 100.0), tol=0.05)
            aucs[appeal, method] = matchings.scores(method, solution.certificate.M, test)[0]
    assert aucs[0.0, "MLR-AUC"] > 0.58 > 0.54 > aucs[0.0, "SVM-MAP"]
    assert aucs[1.0, "SVM-MAP"] > 0.58 > aucs[1.0, "MLR-AUC"]
    with pytest.raises(cm.errors.InputError, match="appeal must be a share from 0 to 1, got 1"):
        synthetic_matchings(400, 900, appeal=1.5)


def test_the_lowest_errors_without_validation():
    found = [
        {"rows": [[1.0, None]], "dimensions": [2], "gaps": [], "seconds": [], "errors": [[0.2, 0.1]]},
        {"rows": [[1.0, None]], "dimensions": [4], "gaps": [], "seconds": [], "errors": [[0.2, 0.3]]},
    ]
    sheet = tables.errors({("wine", "NCA"): found}, ["wine"])
    assert dict(sheet.rows)["NCA"] == "- / 20.0 / 2.7"
    assert sheet.columns[1] == "wine (2 splits, 0 validated)"
    assert dict(tables.spread({("wine", "NCA"): found}, ["wine"]).rows)["NCA"] == "- / 0.0"
    assert tables.dimension_medians({("wine", "NCA"): found}) == {"NCA": {"wine": 3.0}}


def test_kernels_are_scored_on_points_they_have_not_seen():
    result = kernels.run("wine", 0, "gaussian", 0.05)
    assert result["gamma"] in kernels.WIDTHS
    assert result["gap"] <= 0.05
    assert result["map"] > 0.95


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
