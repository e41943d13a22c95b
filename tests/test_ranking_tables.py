"""The experiments of the ranking paper: what their parts claim, and that an interrupted run goes on."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from experiments.results import Results
from experiments.summary import known
from ranking_paper import classification, kernels, matchings, printed, questions, tables
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
    assert dict(sheet.rows)["NCA"] == "- / 20.0 ± 0.0 / 2.7"
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
    assert rows["MLR-AUC"] == "15.0 / 20.0 ± 10.0 / 1.4"
    assert rows["MLR-P@k"] == "50.0 / 50.0 / 1.5 (W = 0)"
    assert rows["LMNN"] == "- / - / 1.7"
    # IsoLet has as many splits of a method as were run.
    letters = tables.isolet({"MLR-AUC": found, "MLR-P@k": [zero], "Euclidean": [zero | {"gaps": []}]})
    assert letters.rows == [
        ["MLR-AUC", "2", "15.0 / 20.0 ± 10.0 / 4.5", "1e-02"],
        ["MLR-P@k", "1", "50.0 / 50.0 / 4.5 (W = 0)", "1e-02"],
        ["Euclidean", "1", "50.0 / 50.0 / 8.1 (W = 0)", ""],
    ]
    assert sheet.markdown().splitlines()[2] == "|  | wine (2 splits) |"
    apart = dict(tables.apart({("wine", "MLR-AUC"): found, ("wine", "MLR-P@k"): [zero]}, ["wine"]).rows)
    assert (apart["MLR-AUC"], apart["MLR-P@k"], apart["LMNN"]) == ("5.0 ± 5.0", "50.0", "-")


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


def slope_error(function, at, along, step=1e-6):
    """The slope of a function along a direction, by differences and by its gradient, relative."""
    change = (function(at + step * along)[0] - function(at - step * along)[0]) / (2.0 * step)
    return abs(change - np.sum(function(at)[1] * along)) / abs(change)


def test_collapse_is_the_problem_of_the_package_and_has_its_gradient():
    X, y, *_ = classification.small_split("wine", 0)
    rng = np.random.default_rng(0)
    A, S = 0.2 * rng.standard_normal((2, 13, 13))
    objective, problem = questions.Collapse(X, y), cm.papers.CollapsingClassesProblem(X, y)
    assert objective(A @ A.T)[0] == pytest.approx(problem.objective(A @ A.T), rel=1e-12)
    assert slope_error(objective, A @ A.T, S + S.T) < 1e-6


def test_components_are_expected_errors_with_their_gradient():
    rng = np.random.default_rng(0)
    X, y, L = rng.standard_normal((12, 3)), np.arange(12) % 3, rng.standard_normal((2, 3))
    objective = questions.Components(X, y)
    wrong = 0.0
    for i in range(12):
        p = [0.0 if j == i else np.exp(-np.sum((L @ (X[i] - X[j])) ** 2)) for j in range(12)]
        wrong += sum(p[j] for j in range(12) if y[j] != y[i]) / sum(p) / 12.0
    assert objective(L.ravel())[0] == pytest.approx(wrong, rel=1e-12)
    assert slope_error(objective, L.ravel(), rng.standard_normal(6)) < 1e-6


def test_descent_without_a_regularizer_comes_to_the_certified_optimum():
    found = questions.collapsed("wine", 0, [1, 5, 200], 1e-2)
    assert found["values"] == sorted(found["values"], reverse=True)
    assert len(found["errors"]) == 4
    # The optimum is of a little more than the descent minimises.
    assert found["values"][0] > found["optimum"] > 0.5 * found["values"][-1]


def test_algorithm_1_with_a_loose_master_stops_early_and_above_the_optimum():
    exact = questions.loose("MLR-AUC", 0.01, 10.0, None, 5e-2)
    few, many = (questions.loose("MLR-AUC", 0.01, 10.0, steps, 5e-2) for steps in (3, 30))
    assert few["batches"] < many["batches"]
    assert few["objective"] > 1.05 * many["objective"] > 1.05 * exact["lower"]
    assert exact["objective"] <= 1.06 * exact["lower"]


def test_a_choice_a_split_is_never_worse_than_one_for_all(tmp_path):
    for split in range(2):
        for results, settings, function, arguments in questions.tasks(tmp_path, 2):
            if settings.get("split") == split and settings.get("method") == "Euclidean":
                results.add(settings, function(**arguments))
    (sheet,) = questions.sheets(known(questions.tasks(tmp_path, 2)))
    assert [row[:2] for row in sheet.rows] == [["Euclidean", "2"], ["Euclidean, splits not stratified", "2"]]
    for _, _, one, each, _ in sheet.rows:
        assert float(each.split()[0]) <= float(one.split()[0])


def test_measures_of_k_places_are_beside_each_other(tmp_path):
    settings = [(10, 10.0), (31, 10.0)]
    found = questions.choices("wine", 0, "knn", settings, 5e-2)
    assert max(found["gaps"]) <= 5e-2
    of_both = [
        ({"data": "wine", "method": method, "settings": settings}, {"errors": [[0.5, 0.4], [0.2, at]]})
        for method, at in (("precision", 0.1), ("knn", 0.3))
    ]
    rows = questions.places_sheet(of_both).rows
    assert rows == [["wine", "10", "1", "40.0", "40.0", "0.0"], ["wine", "31", "1", "10.0", "20.0", "10.0"]]
