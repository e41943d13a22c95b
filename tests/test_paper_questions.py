"""The experiments behind the reasons in the tables: one script, and what the parts of papers 3, 4 and 5 claim."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import paper_questions
import pytest
from cross_modal_paper import questions as modalities
from experiments.results import Results
from experiments.summary import known, summaries
from graph_paper import questions as graphs
from operator_paper import questions as operators
from ranking_paper import printed as printed_errors
from relative_paper import printed as printed_shares
from relative_paper.protocol import NOTIONS

import convexmetric as cm

pytestmark = pytest.mark.integration

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def test_summaries_have_means_of_repetitions_and_what_differs():
    common = {"question": "Q", "data": "cora"}
    found = [({**common, "method": "A", "draw": draw}, {"auc": auc}) for draw, auc in enumerate((0.5, 0.7))]
    found.append(({**common, "method": "B", "draw": 0}, {"auc": 0.25, "setting": {"c": 3}}))
    (sheet,) = summaries({"Q": found})
    assert sheet.title == "Q, data cora"
    assert list(sheet.columns) == ["method", "auc", "setting", "count"]
    assert sheet.rows == [["A", "0.600 (sd 0.141)", "-", "2"], ["B", "0.25", "c 3", "1"]]


def test_what_is_known_is_by_question_or_by_file(tmp_path):
    named, plain = Results(tmp_path / "questions.jsonl"), Results(tmp_path / "balance.jsonl")
    tasks = [(named, {"question": "Q", "draw": draw}, None, {}) for draw in range(2)] + [
        (plain, {"split": 0}, None, {})
    ]
    assert known(tasks) == {}
    for results, settings, _, _ in tasks[1:]:
        results.add(settings, {"auc": 0.5})
    assert known(tasks) == {"Q": [(tasks[1][1], {"auc": 0.5})], "balance": [({"split": 0}, {"auc": 0.5})]}


def asked(line, output):
    return paper_questions.parser().parse_args([*line.split(), "--output", str(output)])


@pytest.mark.parametrize(
    ("paper", "names"),
    [
        ("ranking", ["balance", "targets", "places", "batches", "components"]),
        ("relative", ["static", "kernel", "longer"]),
        ("graph", ["exact spread", "steps", "K", "other sets", "as printed", "small graph", "projection"]),
    ],
)
def test_questions_of_a_paper_can_be_chosen_by_how_they_begin(paper, names, tmp_path):
    def chosen(line):
        (tasks,) = paper_questions.stages(asked(f"--paper {paper} {line}", tmp_path))
        return tasks

    every = chosen("")
    assert set(names) <= set(map(paper_questions.question_of, every))
    some = chosen(f"--questions {names[0].split()[0]} {names[1].split()[0]}")
    assert set(map(paper_questions.question_of, some)) == set(names[:2])
    assert 0 < len(some) < len(every)


def test_options_and_questions_of_another_paper_are_refused(tmp_path, capsys):
    for line, wrong in (
        ("--paper graph --share 0.1", "--share is no option of --paper graph"),
        ("--paper ranking --test-triplets 5", "--test-triplets is no option of --paper ranking"),
        ("--paper relative --questions balance", "begins with 'balance': static, kernel, longer"),
    ):
        with pytest.raises(SystemExit):
            list(paper_questions.stages(asked(line, tmp_path)))
        assert wrong in capsys.readouterr().err


def test_options_reach_the_tasks(tmp_path):
    (tasks,) = paper_questions.stages(asked("--paper ranking --splits 2 --tol 0.5 --share 0.1 --points 70", tmp_path))
    assert {task[1]["split"] for task in tasks if "split" in task[1]} == {0, 1}
    assert {task[1]["tol"] for task in tasks if "tol" in task[1]} == {0.5}
    assert {task[1]["share"] for task in tasks if "share" in task[1]} == {0.1}
    assert {task[1]["points"] for task in tasks if "points" in task[1]} == {70}


def test_rows_of_the_ranking_paper(tmp_path):
    arguments = asked("--paper ranking --splits 2", tmp_path)
    assert list(paper_questions.rows(arguments)) == []
    (tasks,) = paper_questions.stages(arguments)
    for results, settings, _, _ in tasks:
        split = settings.get("split")
        if settings.get("method") == "Euclidean":
            # The best number of neighbours of each split is not the best of both.
            results.add(settings, {"errors": [[0.1, 0.3, 0.15] if split == 0 else [0.3, 0.1, 0.15]]})
        elif results.path.stem == "batches":
            results.add(settings, {"batches": 9, "objective": 1.0, "lower": None, "scores": [0.5] * 3, "cpu": 1.0})
        elif results.path.stem == "components":
            errors = [[0.2 + 0.1 * split + 0.01 * at] * 8 for at in range(4)]
            results.add(settings, {"errors": errors, "values": [0.1] * 4, "steps": 47})
    rows = {row.what: row for row in paper_questions.rows(arguments)}
    one = rows["Euclidean on balance-scale, error in percent, one choice for all"]
    assert (one.printed, one.count) == (printed_errors.ERRORS["Euclidean"]["balance-scale"], 2)
    assert one.ours == pytest.approx(15.0)
    assert rows["Euclidean on balance-scale, error in percent, a choice a split"].ours == pytest.approx(10.0)
    batches = rows["MLR-MAP, master left after 3 steps, batches"]
    assert (batches.printed, batches.ours) == (printed_errors.MATCHINGS["MLR-MAP"][4], 9)
    last = rows["NCA on 1500 points of isolet, random start, after the last step, error in percent"]
    assert (last.ours, last.count) == (pytest.approx(28.0), 2)
    assert len(paper_questions.report(arguments)) == 3


def test_rows_of_distances_that_are_not_learned(tmp_path):
    arguments = asked("--paper relative --splits 2", tmp_path)
    (tasks,) = paper_questions.stages(arguments)
    for results, settings, _, _ in tasks:
        if settings.get("choice") == "all":
            shares = {"binary": 60.0, "unit length": 70.0, "TF-IDF": 80.0 + settings["split"], "idf": 90.0}
            results.add(settings, {"satisfied": dict.fromkeys(NOTIONS, shares), "words": 10})
    rows = list(paper_questions.rows(arguments))
    assert len(rows) == 4 * len(NOTIONS)
    row = next(row for row in rows if row.what == "Topic, words of the page, all: TF-IDF, percent")
    assert (row.printed, row.ours, row.count) == (printed_shares.SATISFIED["topic"][2], pytest.approx(80.5), 2)


@pytest.mark.parametrize("form", modalities.FORMS)
def test_features_in_every_form_and_scale(form):
    rng = np.random.default_rng(0)
    features, rows = rng.random((50, 6)) * [1, 2, 3, 4, 5, 60], np.arange(40)
    features[0, 0] = 0.0
    scaled, centred, scores = (modalities.posed(features, rows, form, scale) for scale in modalities.SCALES)
    np.testing.assert_allclose(centred[rows].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(scores[rows].std(axis=0), 1.0)
    # With and without the mean points are as far from each other.
    np.testing.assert_allclose(scaled - scaled[0], centred - centred[0], atol=1e-12)


def test_maps_are_orthonormal_and_turns_go_down():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 7)), rng.standard_normal((60, 5))
    A, B, cross = X.T @ X / 60, Y.T @ Y / 60, X.T @ Y / 60

    def value(U, V):
        return np.trace(U.T @ A @ U) + np.trace(V.T @ B @ V) - 2 * np.trace(U.T @ cross @ V)

    start = modalities._orthonormal("means", A, B, cross, 3)
    turned = modalities._orthonormal("norms", A, B, cross, 3)
    for U, V in (start, turned):
        np.testing.assert_allclose(U.T @ U, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)
    assert value(*turned) < value(*start)
    U, V = modalities._orthonormal("stacked", A, B, cross, 3)
    np.testing.assert_allclose(U.T @ U + V.T @ V, np.eye(3), atol=1e-12)


def test_divergence_of_probabilities_is_symmetric_and_zero_for_equal_ones():
    p = np.random.default_rng(0).dirichlet(np.ones(4), 5)
    D = modalities._apart(p, p)["divergence"]
    np.testing.assert_allclose(D, D.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(D), 0.0, atol=1e-12)
    assert (D[~np.eye(5, dtype=bool)] > 0.0).all()


@pytest.mark.parametrize("kind", graphs.KINDS)
def test_projections_do_what_their_names_say(kind):
    X = np.abs(np.random.default_rng(0).standard_normal((30, 12)))
    V, W, common = graphs._mapped(X, X[:4], kind, 5, 0)
    np.testing.assert_allclose(W, V[:4])
    assert V.shape == (30, 5)
    if kind.endswith("out"):
        np.testing.assert_allclose(V @ common, 0.0, atol=1e-12)
    if kind == "pca, whitened":
        np.testing.assert_allclose(np.cov(V.T, bias=True), np.eye(5), atol=1e-9)
    if kind == "uniform":
        # Most of what uniform entries keep of a point is how large its sum is.
        assert np.corrcoef(V @ common, X.sum(axis=1))[0, 1] > 0.9


def test_pairs_have_words_of_both_and_of_one():
    X = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 2.0, 1.0, 0.0]])
    both = graphs._pairs(X, [0], [1], either=False).toarray()
    every = graphs._pairs(X, [0], [1], either=True).toarray()
    np.testing.assert_array_equal(both, [[0, 1, 0, 0]])
    np.testing.assert_allclose(every, [[0, 1, 0, 0, 1, 0, 1, 0, np.log(2), np.log(3)]])


@pytest.mark.parametrize("data", list(graphs.SIZES))
def test_samples_are_as_large_as_the_graphs_of_the_paper(data, data_folder):
    first, second = (graphs.sample(data, draw) for draw in (0, 1))
    assert len(first) == len(second) == graphs.SIZES[data]
    assert 100 < first.linked().sum() / 2 < 2000
    assert (first.X != second.X).sum() > 0


@pytest.mark.parametrize("font", operators.FONTS[:3])
def test_characters_are_black_on_white_and_reach_as_far_as_asked(font):
    X, y = operators.characters("Wi8", 6, "scaled", font, 12.0, 0.5, 0)
    ink = (1.0 - X).reshape(-1, 28, 28)
    assert list(y) == [0] * 6 + [1] * 6 + [2] * 6
    assert 0.0 <= X.min() < 0.3
    assert X.max() == 1.0
    rows, columns = np.indices((28, 28)) - 13.5
    assert ink[:, np.hypot(rows, columns) > 13.0].max() == 0.0
    sums = ink.sum(axis=(1, 2)).reshape(3, 6)
    # Twice the scale is four times the ink.
    assert (sums.max(axis=1) / sums.min(axis=1) < 4.5).all()
    turned, _ = operators.characters("Wi8", 6, "rotated", font, 12.0, 0.5, 0)
    np.testing.assert_allclose((1 - turned).sum(axis=1).reshape(3, 6).std(axis=1), 0.0, atol=3.0)


def test_measures_of_a_sample_and_of_a_descent(data_folder):
    found = operators.sampled("rotated", operators.FONTS[0], 13.0, 0.5, [6, 6], "frobenius", 0, 1e-2, 30.0)
    assert found["gap"] <= 1e-2
    assert found["area"] > found["input area"]
    descent = operators.descended("faces", "frobenius", False, 3000, 3)
    assert descent["area"] > 0.8


def test_turned_pixels_are_as_far_apart_as_turned_outlines():
    fine, coarse = (operators.turned_pixels("ABCDE", way, 0, 1e-1, 30.0) for way in (False, True))
    assert fine["gap"] <= 1e-1
    assert coarse["input area"] == pytest.approx(fine["input area"], abs=0.05)
    assert coarse["area"] > coarse["input area"]


def test_random_rankings_of_fewer_keywords(data_folder):
    more, fewer = (modalities.ranked(least, 2) for least in (1, 80))
    assert more["keywords"] == 260
    assert fewer["keywords"] < 260
    for direction in ("image-keyword", "keyword-image"):
        assert fewer[direction] > more[direction]
    # Frequent keywords are found by chance more often.
    assert more["weighted"] > more["keyword-image"]


def test_frequency_alone_ranks_keywords(data_folder):
    found = modalities.lengths("CFA", {"c": 5})
    data = cm.datasets.load("corel5k")
    y = np.asarray(data.y, dtype=float)
    y = y[:, (y[:4500].sum(axis=0) > 0) & (y[4500:].sum(axis=0) > 0)]
    expected = modalities.mean_average_precision(np.tile(-y[:4500].sum(axis=0), (500, 1)), y[4500:] > 0)
    assert found["frequency"] == pytest.approx(expected, rel=1e-6)


def test_one_command_and_again_without_work(tmp_path, data_folder):
    command = [sys.executable, str(EXAMPLES / "paper_questions.py"), "--paper", "cross-modal", "--jobs", "1"]
    command += ["--questions", "Corel5k, lengths", "--output", str(tmp_path)]
    first = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    kept = (tmp_path / "questions.jsonl").read_bytes()
    assert kept.count(b"\n") == 2
    again = subprocess.run([*command, "--report"], capture_output=True, text=True, timeout=300, check=True)
    assert again.stdout == first.stdout
    assert (tmp_path / "questions.jsonl").read_bytes() == kept
    assert "| CFA |" in (tmp_path / "tables.md").read_text()
