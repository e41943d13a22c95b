"""The experiments of the ranking paper: what their parts claim, and that an interrupted run goes on."""

import numpy as np
import pytest
from ranking_paper import classification, matchings, paper
from ranking_paper.synthetic import synthetic_matchings
from ranking_paper.toy import toy

import convexmetric as cm
from convexmetric.measures import measure_named
from convexmetric.measures.reference import most_violated

pytestmark = pytest.mark.integration


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


def test_the_lowest_errors_without_validation():
    found = [
        {"rows": [[1.0, None]], "dimensions": [2], "gaps": [], "seconds": [], "errors": [[0.2, 0.1]]},
        {"rows": [[1.0, None]], "dimensions": [4], "gaps": [], "seconds": [], "errors": [[0.2, 0.3]]},
    ]
    sheet = paper.errors({("wine", "NCA"): found}, ["wine"])
    assert dict(sheet.rows)["NCA"] == "- / 20.0 ± 0.0 / 2.7"
    assert sheet.columns[1] == "wine (2 splits, 0 validated)"
    assert paper.dimension_medians({("wine", "NCA"): found}) == {"NCA": {"wine": 3.0}}


def test_the_table_has_every_method_of_the_paper_and_both_readings_of_best():
    chosen = {"rows": [[1.0, None], [10.0, None]], "dimensions": [2, 1], "gaps": [0.01], "seconds": [1.0]}
    found = [
        chosen | {"errors": [[0.1, 0.2], [0.3, 0.4]], "chosen": [0, 1]},
        chosen | {"errors": [[0.3, 0.2], [0.1, 0.0]], "chosen": [1, 0]},
    ]
    zero = chosen | {"errors": [[0.5, 0.5], [0.5, 0.5]], "chosen": [0, 0], "dimensions": [0, 0]}
    sheet = paper.errors({("wine", "MLR-AUC"): found, ("wine", "MLR-P@k"): [zero]}, ["wine"])
    rows = dict(sheet.rows)
    assert list(rows) == list(paper.ERRORS)
    assert rows["MLR-AUC"] == "15.0 / 20.0 ± 10.0 / 1.4"
    assert rows["MLR-P@k"] == "50.0 / 50.0 / 1.5 (W = 0)"
    assert rows["LMNN"] == "- / - / 1.7"
    # IsoLet has as many splits of a method as were run.
    letters = paper.isolet({"MLR-AUC": found, "MLR-P@k": [zero], "Euclidean": [zero | {"gaps": []}]})
    assert letters.rows == [
        ["MLR-AUC", "2", "15.0 / 20.0 ± 10.0 / 4.5", "1e-02"],
        ["MLR-P@k", "1", "50.0 / 50.0 / 4.5 (W = 0)", "1e-02"],
        ["Euclidean", "1", "50.0 / 50.0 / 8.1 (W = 0)", ""],
    ]
    assert sheet.markdown().splitlines()[2] == "|  | wine (2 splits) |"


def test_the_table_of_matchings_has_the_first_set_beside_the_paper():
    run = {"scores": [0.5, 0.4, 0.3], "stop": {"passes": 9, "cpu": 2.0}, "passes": 12, "cpu": 3.0}
    late = run | {"stop": {}, "seconds": 7.0, "gap": 0.2}
    known = [({"method": "MLR-MAP", "solver": "ours"}, run), ({"method": "MLR-MAP", "solver": "printed"}, late)]
    known += [({"method": "planted", "solver": "ours"}, {"scores": [0.6] * 3})]
    known += [({"method": "MLR-AUC", "solver": "ours", "sample": 1}, run)]
    first, planted = paper.in_matchings(known).rows
    cost = ["not within 7 s (12 passes, gap 2e-01)", "9, 2 s", "12, 3 s", "23, 2053 s"]
    assert first == ["MLR-MAP", "0.500 (0.624)", "0.400 (0.453)", "0.300 (0.474)", *cost]
    assert planted == ["planted", *["0.600"] * 3, *[""] * 4]


def test_a_split_is_there_when_its_tasks_are_and_in_the_table_when_all_methods_have_it():
    def task(data, method, split, C, **result):
        whole = {"rows": [[C, None]], "dimensions": [1], "gaps": [0.01], "seconds": [1.0], **result}
        return {"data": data, "method": method, "split": split, "C": [C]}, whole if result else None

    # Validation prefers the other weight.
    letters = [
        task("isolet", "MLR-AUC", split, C, errors=[[0.1 * C + 0.02 * split, 0.5]], held_out=[[0.3 - 0.1 * C, 0.5]])
        for split in range(2)
        for C in (1.0, 2.0)
    ]
    ((key, found),) = paper.by_split(letters).items()
    assert key == ("isolet", "MLR-AUC")
    assert paper.isolet({"MLR-AUC": list(found.values())}).rows[0][2] == "21.0 / 11.0 ± 1.0 / 4.5"
    assert set(paper.by_split([*letters[:-1], (letters[-1][0], None)])["isolet", "MLR-AUC"]) == {0}
    small = [task("wine", "NCA", split, 1.0, errors=[[0.1]]) for split in range(2)]
    small += [task("wine", "LMNN", 0, 1.0, errors=[[0.2]]), task("wine", "LMNN", 1, 1.0)]
    assert {key: len(of) for key, of in paper.together(paper.by_split(small)).items()} == {
        ("wine", "NCA"): 1,
        ("wine", "LMNN"): 1,
    }


def test_sets_of_users_have_other_metrics_planted():
    (train, test), (other, _) = (matchings.intervals(0.01, sample=sample) for sample in (0, 1))
    np.testing.assert_array_equal(train.planted, test.planted)
    assert np.abs(train.planted - other.planted).max() > 1e-3
