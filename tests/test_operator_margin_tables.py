import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from operator_paper import experiments, pictures, printed, protocol, studies, study_tables, tables
from operator_paper.experiments import CHOICE, EXPERIMENTS, load
from operator_paper.framing import framed_as_mnist
from operator_paper.learners import INPUT, LEARNERS
from sklearn.metrics import roc_auc_score

import convexmetric as cm

pytestmark = pytest.mark.integration

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
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
    assert result["fit"]["doubled"] == pytest.approx(problem.risk.value(M) + 2.0 * problem.penalty(M), rel=1e-4)
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


def made_up(value):
    fit = {"objective": value, "doubled": 1.8 * value, "gap": 1e-7, "rank": 9, "sparsity": 7, "sparsity_T": 8}
    fit |= {"seconds": 3.0, "spectrum": [1.0, 0.5]}
    test = {"categories": 9, "examples": 900, "risk": value, "area": 1.0 - value, "error": value}
    test |= {"curve": [[0.0, 0.1, 1.0], [0.0, 0.9, 1.0]]}
    return {"fit": fit, "train": {"categories": 20, "examples": 2000, "risk": value}, "test": test}


def found_in(name, value):
    made = made_up(value)
    tests = dict.fromkeys(EXPERIMENTS[name].tests, made["test"])
    choice = {other: value * (1.0 if other == name else 2.0) for other in CHOICE}
    return {"fit": made["fit"], "train": made["train"], "tests": tests, "choice": choice}


def test_tables_stand_beside_the_printed_numbers(tmp_path):
    values = {"exact": 0.1, "exact-trace": 0.2, "exact-doubled": 0.15, "descent": 0.11, "descent-printed": 0.12}
    found = {
        (name, learner, pairs): [found_in(name, value)]
        for name in EXPERIMENTS
        for learner, value in values.items()
        for pairs in (None, 2000)
    }
    found |= {(name, INPUT, None): [found_in(name, 0.4)] for name in EXPERIMENTS}
    second, third = tables.transfer(found, list(EXPERIMENTS), None)
    assert second.columns[1:5] == ["rotated-digits", "paper: rotation", "scaled-digits", "paper: scale"]
    by_title = {row[0]: row[1:] for row in second.rows}
    assert by_title["ROC area of T"][:2] == ["0.900 (0.800)", "0.999 (0.999)"]
    assert by_title["error of input"][:2] == ["0.400", "0.716"]
    assert by_title["risk of T"][:2] == ["0.100 (0.200)", "0.055"]
    assert all(len(row) == len(third.columns) == 8 for row in third.rows)

    rows = {row[0]: row[1:] for row in tables.fits(found, "faces", [None, 2000]).rows}
    assert rows["descent, 2000 pairs"][:4] == ["0.11000", "1e-07", "1.1000", "1.3200"]
    assert rows["exact-doubled, all pairs"][2:4] == ["-", "1.0000"]
    assert rows["exact-trace, all pairs"][2:4] == ["1.0000", "-"]
    sheet = tables.tests(found, "handwritten", [None])
    assert sheet.rows[0][:5] == ["input", "0.4000", "0.4000", "0.6000", "0.4000"]
    assert sheet.rows[-2][1:] == ["0.038", "0.183", "0.900", "0.335", "0.183", "0.900", "0.335"]
    assert all(len(row) == len(sheet.columns) for row in sheet.rows)

    fourth = tables.choice(found, "exact", None)
    assert [row[1 + at][:6] for at, row in enumerate(fourth.rows)] == ["0.100*"] * 4
    assert fourth.rows[0][2] == "0.200 (0.380)"
    assert tables.choice(found, "exact", 17) is None
    del found["rotation", "exact", None][0]["choice"]["handwritten"]
    assert tables.choice(found, "exact", None).rows[3][1:3] == ["- (0.400)", "0.200 (0.336)"]

    ways = [(learner, None) for learner in values]
    pictures.draw_spectra(found, list(EXPERIMENTS), ways, tmp_path / "spectra.png")
    pictures.draw_curves(found, ["rotation+scale"], ways, tmp_path / "curves.png")
    pictures.draw_curves({}, ["faces", "scale"], ways, tmp_path / "nothing.png")
    assert all(path.stat().st_size > 1000 for path in tmp_path.iterdir())


def test_every_printed_number_is_shown():
    shown = {row[1] for row in tables.MEASURES}
    assert all(set(numbers) == shown for numbers in printed.TRANSFER.values())
    assert set(printed.TRANSFER) == set(EXPERIMENTS) == {name for names in tables.TABLES.values() for name in names}
    assert set(printed.CHOICE) == set(CHOICE)
    assert all(min(row) == row[CHOICE.index(name)] for name, row in printed.CHOICE.items())
    assert set(experiments.LOADERS) <= {task for of in EXPERIMENTS.values() for task in (of.train, *of.tests)}


def test_one_command_and_again_without_work(tmp_path, data_folder):
    command = [sys.executable, str(EXAMPLES / "operator_margin_tables.py"), "--jobs", "1", "--images", "3"]
    command += ["--experiments", "rotation", "--learners", "exact", "descent", "--pairs", "80", "--steps", "300"]
    command += ["--draws", "5", "--output", str(tmp_path / "out")]
    first = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    kept = (tmp_path / "out" / "rotation.jsonl").read_bytes()
    assert kept.count(b"\n") == 3
    again = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert again.stdout == first.stdout
    assert again.stderr == ""
    assert (tmp_path / "out" / "rotation.jsonl").read_bytes() == kept
    text = (tmp_path / "out" / "tables.md").read_text()
    assert "| exact, 80 pairs |" in text
    assert "Table 4" in text
    assert (tmp_path / "out" / "figure-5.png").stat().st_size > 1000


def test_no_study_judges_what_it_learned_from(data_folder):
    cases = [*studies.over_splits(0.005, 2), *studies.over_lambdas(), *studies.by_categories(0.02, 2)]
    cases += [*studies.by_images(0.02), *studies.by_framing((0.005,))]
    for case in cases:
        for name, of in case.tests:
            if name == case.task:
                assert not set(of) & set(case.categories)
    judged = [case.tests[0][1] for case in cases if case.study == "objects" and case.at == 16]
    assert sorted(code for of in judged for code in of) == sorted([*range(20)] * 2)
    held = [case.tests[0][1] for case in cases if case.study == "lambda" and case.at == 0.02]
    assert len([code for of in held for code in of]) == 25
    assert len({case.categories for case in cases if case.study == "categories" and case.at == 25}) == 1


def test_a_study_is_what_the_protocol_says(data_folder):
    case = next(case for case in studies.over_splits(0.005, 1) if case.at == 4)
    settings = {**case.settings(), "images": 9, "draws": 5, "tol": 1e-3, "seconds": 30.0}
    result = studies.run(**settings)
    X, y = load("objects 1-16", 9)
    X2, y2 = load("objects 17-20", 9)
    X, y = np.vstack([X, X2]), np.concatenate([y, y2])
    learned, judged = (np.isin(y, codes) for codes in (case.categories, case.tests[0][1]))
    problem = cm.PairMarginProblem.from_labels(X[learned], y[learned], reg=0.005, kernel="unit-rbf")
    operator = cm.evaluation.SimilarityOperator.of(cm.solve(problem, 1e-3))
    risk = cm.evaluation.empirical_risk_from_labels(operator, X[judged], y[judged])
    assert result["points"] == 36
    assert result["tests"]["coil20"]["risk"] == pytest.approx(risk, abs=0.02)
    assert result["gap"] <= 1e-3


def test_framing_keeps_the_shape_and_fits_the_box():
    ink = np.zeros((20, 16))
    ink[3:13, 4:6] = 1.0
    framed = framed_as_mnist(ink)
    rows, columns = (np.flatnonzero(framed.any(axis=axis)) for axis in (1, 0))
    assert (len(rows), len(columns)) == (20, 4)
    centre = np.array([rows.mean(), columns.mean()])
    assert np.abs(centre - 13.5).max() <= 0.5


def test_studies_choose_lambda_by_the_risk_on_left_out_letters(tmp_path):
    def result(risk):
        values = {"risk": risk, "area": 0.9, "error": 0.3, "input_area": 0.8, "input_error": 0.5}
        return {"gap": 1e-3, "seconds": 1.0, "points": 100, "tests": {"digits": values}}

    found = {("lambda", reg, reg): [result(risk), result(risk + 0.02)] for reg, risk in ((0.005, 0.3), (0.02, 0.2))}
    assert study_tables.chosen_lambda(found) == 0.02
    found |= {("categories", count, 0.02): [result(1.0 / count)] for count in (5, 10)}
    found |= {("objects", count, 0.005): [result(1.0 / count)] for count in (4, 8)}
    sheets = {sheet.title: sheet for sheet in study_tables.sheets(found, 0.02)}
    assert len(sheets) == 3
    (title,) = (title for title in sheets if "least risk at lambda = 0.02" in title)
    assert sheets[title].rows[1][:5] == ["0.02", "0.02", "digits", "2", "0.210 ± 0.010"]
    objects, lambdas = study_tables.study(found, "objects", "objects"), study_tables.study(found, "lambda", "lambda")
    assert objects.rows[0] == ["4", "0.005", "1", "0.250", "0.900", "0.300"]
    assert objects.rows[-1] == ["paper, 80", "0.005", "", "0.379", "0.989", "0.093"]
    assert lambdas.rows[1] == ["0.02", "2", "0.210 ± 0.010", "0.900 ± 0.000", "0.300 ± 0.000"]
    study_tables.draw(found, 0.02, tmp_path / "studies.png")
    assert (tmp_path / "studies.png").stat().st_size > 1000
    assert study_tables.chosen_lambda({}) is None
