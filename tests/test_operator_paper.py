import numpy as np
import pytest
from operator_paper import experiments, paper, printed, protocol
from operator_paper.experiments import CHOICE, EXPERIMENTS, _sample, load
from operator_paper.learners import INPUT, LEARNERS
from sklearn.metrics import roc_auc_score

import convexmetric as cm

pytestmark = pytest.mark.integration

LIMITS = {"digits": ["rotation", "scale"], "images": 4, "draws": 20, "tol": 1e-4, "seconds": 30.0, "steps": 200}


@pytest.mark.parametrize("name", ["rotation", "scale", "rotation+scale", "faces"])
def test_images_are_as_many_as_in_the_paper(name, data_folder):
    paper, of = printed.TRANSFER[name], EXPERIMENTS[name]
    for part, task in (("train", of.train), ("test", of.tests[0])):
        X, y = load(task)
        assert (len(np.unique(y)), len(X)) == (paper[f"{part}_categories"], paper[f"{part}_examples"])


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_no_category_is_both_learned_and_tested(name, data_folder):
    of = EXPERIMENTS[name]
    X, y = load(of.train, 3)
    assert set(np.unique(y, return_counts=True)[1]) == {3}
    for task in of.tests:
        X2, y2 = load(task, 3)
        assert X2.shape[1] == X.shape[1]
        together = np.vstack([X, X2])
        assert len(np.unique(together, axis=0)) == len(together)
        if not name.startswith(("rotation", "scale")) and task != "MNIST digits":
            assert not set(y) & set(y2)


def test_handwritten_letters_are_framed_and_black_on_white(data_folder):
    data = cm.datasets.load("binary-alphadigits")
    small = data.X[data.extras["letters"]]
    X, y = load("handwritten letters")
    assert X.shape == (975, 784)
    assert "O" not in {data.target_names[code] for code in y}
    np.testing.assert_array_equal((1 - X) @ (1 - X[:50]).T, small @ small[:50].T)
    assert X.reshape(-1, 28, 28)[:, :4].all()
    for of in EXPERIMENTS.values():
        for task in (of.train, *of.tests):
            if not task.startswith(("objects", "people")):
                images, _ = load(task, 2)
                assert (images.min(), images.max()) == (0.0, 1.0)
                assert 0.75 < images.mean() < 0.97


def points_and_labels(name):
    return load(EXPERIMENTS[name].train, 4), load(EXPERIMENTS[name].tests[0], 4)


@pytest.mark.filterwarnings("ignore::convexmetric.errors.GapWarning")
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("pairs", [60, None])
def test_what_is_reported_is_true_of_the_operator(learner, pairs):
    result = protocol.run("rotation", learner, pairs, 1, **LIMITS)
    (X, y), (X2, y2) = points_and_labels("rotation")
    problem = LEARNERS[learner].problem(X, y, pairs, 1)
    solution = LEARNERS[learner].solve(problem, 1e-4, 30.0, 200, 1)
    assert result["fit"]["objective"] == pytest.approx(solution.upper_bound, rel=1e-5)
    if not LEARNERS[learner].descent:
        assert result["fit"]["gap"] <= 1e-4
    M = solution.certificate.M
    spectrum = np.linalg.eigvalsh(M)[::-1]
    shares = spectrum / spectrum[0]
    np.testing.assert_allclose(result["fit"]["spectrum"], shares[: len(result["fit"]["spectrum"])], atol=1e-3)
    assert result["fit"]["sparsity"] == np.sum(shares > 0.02)
    assert result["fit"]["sparsity_T"] == np.sum(np.sqrt(np.maximum(shares, 0.0)) > 0.02)

    images = problem.embedding.transform(X2) @ solution.components.T
    squared = ((images[:, None] - images[None]) ** 2).sum(axis=2)[np.triu_indices(len(y2), 1)]
    same = (y2[:, None] == y2)[np.triu_indices(len(y2), 1)]
    risk = 0.5 * np.mean(squared[same] >= 1.0) + 0.5 * np.mean(squared[~same] <= 1.0)
    test = result["tests"]["rotated-digits"]
    assert test["risk"] == pytest.approx(risk, abs=1e-3)
    assert result["choice"]["rotation"] == pytest.approx(test["risk"], abs=1e-9)
    assert test["area"] == pytest.approx(roc_auc_score(same, -squared), abs=1e-3)
    assert test["error"] == pytest.approx(single_example_error(images, y2), abs=0.08)
    assert set(result["choice"]) == {"rotation", "scale"}


def single_example_error(Z, y, draws=2000):
    rng = np.random.default_rng(5)
    errors = []
    for _ in range(draws):
        chosen = np.array([rng.choice(np.flatnonzero(y == code)) for code in np.unique(y)])
        others = np.setdiff1d(np.arange(len(y)), chosen)
        nearest = ((Z[others, None] - Z[chosen]) ** 2).sum(axis=2).argmin(axis=1)
        errors.append(np.mean(y[others] != y[chosen][nearest]))
    return np.mean(errors)


def test_the_input_is_judged_by_angles():
    result = protocol.run("scale", INPUT, None, 0, **LIMITS)
    _, (X, y) = points_and_labels("scale")
    cosines = (X @ X.T) / np.outer(*[np.linalg.norm(X, axis=1)] * 2)
    pairs = np.triu_indices(len(y), 1)
    assert result["tests"]["scaled-digits"]["area"] == pytest.approx(
        roc_auc_score((y[:, None] == y)[pairs], cosines[pairs]), abs=1e-9
    )
    assert "fit" not in result
    assert "risk" not in result["tests"]["scaled-digits"]


def found_in(name, value):
    fit = {"objective": value, "gap": 1e-7, "rank": 9, "sparsity": 7, "sparsity_T": 8, "seconds": 3.0}
    test = {"categories": 9, "examples": 900, "risk": value, "area": 1.0 - value, "error": value}
    test |= {"curve": [[0.0, 0.1, 1.0], [0.0, 0.9, 1.0]]}
    choice = {other: value * (1.0 if other == name else 2.0) for other in CHOICE}
    train = {"categories": 20, "examples": 2000, "risk": value}
    tests = dict.fromkeys(EXPERIMENTS[name].tests, test)
    return {"fit": fit | {"spectrum": [1.0, 0.5]}, "train": train, "tests": tests, "choice": choice}


def test_tables_stand_beside_the_printed_numbers(tmp_path):
    values = {"exact": 0.1, "exact-trace": 0.2, "descent": 0.11, "descent-printed": 0.12, INPUT: 0.4}
    known = [
        ({"experiment": name, "learner": learner}, found_in(name, value))
        for name in EXPERIMENTS
        for learner, value in values.items()
    ]
    tables = paper.tables({"all": known}, tmp_path)
    second, third = tables["table-2"], tables["table-3"]
    assert second.columns[1:5] == ["rotated-digits", "paper: rotation", "scaled-digits", "paper: scale"]
    by_title = {row[0]: row[1:] for row in second.rows}
    assert by_title["ROC area of T"][:2] == ["0.900 (0.800)", "0.999 (0.999)"]
    assert by_title["error of input"][:2] == ["0.400", "0.716"]
    assert by_title["risk of T"][:2] == ["0.100 (0.200)", "0.055"]
    assert all(len(row) == len(third.columns) == 8 for row in third.rows)
    rows = {tuple(row[:2]): row[2:] for row in tables["reached"].rows}
    assert rows["faces", "descent"] == ["0.11000", "1e-07", "1.1000", "9", "7", "3.0"]
    fourth = tables["table-4"]
    assert [row[1 + at][:6] for at, row in enumerate(fourth.rows)] == ["0.100*"] * 4
    assert fourth.rows[0][2] == "0.200 (0.380)"
    assert paper.choice({}, "exact") is None
    assert all((tmp_path / f"{name}.png").stat().st_size > 1000 for name in ("spectra", "roc"))
    # Several samples have errors; a part that lacks a digit task has a dash.
    known += [({"experiment": "scale", "learner": "exact"}, found_in("scale", 0.3))]
    del known[0][1]["choice"]["handwritten"]
    tables = paper.tables({"all": known}, tmp_path)
    assert {row[0]: row[3] for row in tables["table-2"].rows}["risk of T"] == "0.200 ± 0.100 (0.200)"
    assert tables["table-4"].rows[3][1:3] == ["- (0.400)", "0.400 (0.336)"]


def test_every_printed_number_is_shown():
    shown = {row[1] for row in paper.MEASURES}
    assert all(set(numbers) == shown for numbers in printed.TRANSFER.values())
    assert set(printed.TRANSFER) == set(EXPERIMENTS) == {name for names in paper.TABLES.values() for name in names}
    assert set(printed.CHOICE) == set(CHOICE)
    assert all(min(row) == row[CHOICE.index(name)] for name, row in printed.CHOICE.items())
    assert set(experiments.LOADERS) <= {task for of in EXPERIMENTS.values() for task in (of.train, *of.tests)}


def test_a_sample_of_letters_is_drawn_as_the_data_set_is():
    X, y = load("scaled-digits")
    X0, y0 = _sample("scaled-digits", 0)
    np.testing.assert_array_equal(X0, X)
    np.testing.assert_array_equal(y0, y)
    X1, y1 = load("scaled-digits", sample=1)
    np.testing.assert_array_equal(y1, y)
    assert np.abs(X1 - X).max() > 0.5
    assert np.median(np.abs(X1.mean(axis=0) - X.mean(axis=0))) < 0.1
