"""fit, apply and audit on tables of one's own: what is said, what is written, and what is refused."""

import csv
import gzip
import io
import itertools
import json
import re
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.text import Text

import convexmetric as cm
from convexmetric.audits import read_map, read_metric
from convexmetric.cli import fitting, html_report, main, shared
from convexmetric.cli.fitting import Fitted
from convexmetric.evaluation import knn_error
from convexmetric.plotting import panels, plot_embedding, plot_weights
from convexmetric.plotting.axes import shortened
from convexmetric.selection import HeldOut, PairedScores
from convexmetric.selection.folds import stratified_sample
from convexmetric.solvers.runtime import Monitor

#: Learns one metric, and is scored by folds afterwards.
LMNN = ("--method", "large-margin")
LABELS = np.repeat(["calm", "loud"], 40)


def write(path, columns, labels=LABELS, label="kind"):
    """A table with a column of labels in front."""
    names = [label, *columns]
    lines = [
        ",".join([str(kind), *map(repr, row)])
        for kind, row in zip(labels, np.column_stack(list(columns.values())).tolist(), strict=True)
    ]
    path.write_text("\n".join([",".join(names), *lines]), encoding="utf-8")
    return path


@pytest.fixture
def helpful(tmp_path):
    """Two columns tell the labels apart, eight say nothing."""
    X = np.random.default_rng(0).standard_normal((80, 10))
    X[:, :2] += 2.0 * (LABELS == "loud")[:, None]
    return write(tmp_path / "helpful.csv", {f"c{k}": X[:, k] for k in range(10)})


@pytest.fixture
def quick(monkeypatch):
    """Few folds."""
    monkeypatch.setattr(fitting, "FOLDS", 3)
    monkeypatch.setattr(fitting, "REPEATS", 1)


def test_fit_prints_scores_of_held_out_rows_and_what_the_metric_is_good_for(command, tmp_path):
    X = np.random.default_rng(0).standard_normal((200, 12))
    labels = np.where(X[:, 0] + X[:, 1] > 0.0, "loud", "calm")
    table = write(tmp_path / "clear.csv", {f"c{k}": X[:, k] for k in range(12)}, labels)
    method = ["--method", "mlr", "--set", "measure=auc", "--set", "C=10"]
    code, out, _ = command("fit", table, "--label", "kind", *method, "--quiet")
    assert code == 0
    assert "held-out rows, mean of 10 folds (200 rows)" in out
    assert re.search(r"accuracy, 3-NN +0\.\d{4} +0\.\d{4} +0\.\d{4} +\+0\.\d{4} +0\.\d{4} +\S+ +helps", out)
    assert "helps classification by nearest neighbours, and helps retrieval. Use it" in " ".join(out.split())


@pytest.mark.integration
def test_the_scores_are_those_of_the_library(command, helpful, quick):
    result = json.loads(command("fit", helpful, "--label", "kind", *LMNN, "--quiet", "--json")[1])
    data = cm.datasets.read_csv(helpful, "kind")
    expected = cm.held_out(cm.LargeMargin(), data.X, data.y, cv=3, repeats=1)
    names = "accuracy", "retrieval", "average_precision"
    for name in names:
        scores, wanted = result["held_out"][name], getattr(expected, name)
        assert scores["before"] == pytest.approx(wanted.before.tolist())
        assert scores["after"] == pytest.approx(wanted.after.tolist())
        if name == "average_precision":
            assert not {"p_value", "verdict"} & scores.keys()
            continue
        assert scores["p_value"] == pytest.approx(wanted.p_value)
        assert scores["verdict"] == wanted.verdict
    assert result["held_out"]["lda"] == pytest.approx({name: getattr(expected, name).lda.mean() for name in names})
    assert result["held_out"]["folds"] == result["held_out"]["planned_folds"] == 3
    assert result["choice"] is None
    assert result["method"] == "large-margin"


@pytest.mark.integration
def test_the_default_is_kept_where_it_helps_and_says_what_it_tried(command, helpful, tmp_path):
    saved = tmp_path / "metric.npz"
    code, out, _ = command("fit", helpful, "--label", "kind", "--quiet", "--save", saved)
    assert code == 0
    assert re.search(
        r"scale = \S+, (strength = \S+|alone), chosen by accuracy, 1 to 9-NN of held-out rows \(80 rows\)", out
    )
    assert len(re.findall(r"^ \w+, scale = \S+, (?:strength = \S+|alone) +[01]\.\d{4}", out, re.MULTILINE)) >= 14
    result = json.loads(command("fit", helpful, "--label", "kind", "--quiet", "--json")[1])
    data = cm.datasets.read_csv(helpful, "kind")
    metric = cm.NeighborMetric().fit(cm.datasets.preprocess(data.X, ["zscore"]), np.array(data.target_names)[data.y])
    assert result["kept"] is metric.kept_ is True
    assert result["choice"]["mean"] == pytest.approx(metric.path_.mean().tolist())
    assert result["settings"] == metric.path_.settings
    assert result["held_out"]["accuracy"]["after"] == pytest.approx(metric.held_out_.accuracy.after.tolist())
    np.testing.assert_allclose(read_map(saved)[1] * data.X.std(axis=0), metric.components_)


def test_next_to_an_optimum_of_zero_the_gap_is_absolute(command, tmp_path):
    """Rows of other labels are so far away that the prior keeps all margins."""
    rng = np.random.default_rng(0)
    path, page = tmp_path / "apart.csv", tmp_path / "page.html"
    rows = [f"{100.0 * (t % 2) + a:.6f},{a:.6f},k{t % 2}" for t, a in enumerate(rng.random(40))]
    path.write_text("\n".join(["a,b,kind", *rows]))
    given = [word for one in ("prior=identity", "scale=100", "strength=1") for word in ("--set", one)]
    arguments = [*given, "--no-held-out", "--no-scale", "--report", page]
    code, out, _ = command("fit", path, "--label", "kind", "--quiet", *arguments)
    assert code == 0
    assert re.search(r"absolute gap +\S+ +\(atol 1e-09\)", out), out
    assert "relative gap" not in out
    assert "it is within a share" not in page.read_text()


@pytest.mark.integration
def test_without_time_to_choose_euclidean_distance_is_kept_and_nothing_is_claimed(command, helpful):
    code, out, _ = command("fit", helpful, "--label", "kind", "--quiet", "--max-seconds", "0.1")
    said = " ".join(out.split())
    # A moment may be too short for the last solve to be certified.
    assert code in (0, 1)
    assert re.search("Not enough time: choosing a metric takes more than", said)
    assert "Euclidean distance is kept. Nothing is known of new rows: not enough time" in said
    assert "std. error" not in said


@pytest.mark.integration
def test_ctrl_c_while_parameters_are_chosen_saves_and_reports(command, helpful, tmp_path, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    saved, page = tmp_path / "metric.npz", tmp_path / "page.html"
    monkeypatch.setattr("convexmetric.estimators.neighbor_choice.solve_path", stop)
    code, out, _ = command("fit", helpful, "--label", "kind", "--quiet", "--save", saved, "--report", page)
    assert code == 130
    assert "Interrupted while a metric was chosen" in out
    assert saved.exists()
    assert page.exists()


@pytest.mark.integration
def test_a_metric_that_hurts_is_not_recommended(helpful):
    data = cm.datasets.read_csv(helpful, "kind")
    estimator = cm.LargeMargin().fit(data.X, data.y)
    worse = PairedScores(np.full(5, 0.9), np.array([0.5, 0.51, 0.5, 0.49, 0.5]), 0.25)
    same = PairedScores(np.full(5, 0.9), np.full(5, 0.9), 0.25)
    better = PairedScores(worse.after, worse.before, 0.25)

    def said(accuracy, retrieval, method="large-margin"):
        scores = HeldOut(accuracy, retrieval, same, 3, 80, 5, 5, 0.0)
        return Fitted(data, method, True, {}, estimator, None, scores).recommendation

    assert "Do not use it for nearest neighbours or retrieval" in said(worse, worse)
    assert "Do not use it for nearest neighbours:" in said(worse, better)
    assert "Do not use it for retrieval:" in said(better, worse)
    assert "try --method mlr" in said(worse, same, "neighbors")
    assert "try --method neighbors" in said(worse, same)
    assert "does as well and is simpler: keep that" in said(same, same)
    assert "Use it to find rows of the same label" in said(same, better)
    assert "Use it for nearest neighbours" in said(better, same)


def test_what_discriminant_analysis_does_better_is_said(helpful):
    data = cm.datasets.read_csv(helpful, "kind")
    estimator = cm.NeighborMetric(prior="identity", scale=1.0, strength=1.0).fit(data.X, data.y)
    rng, low = np.random.default_rng(0), np.full(50, 0.5)
    high, higher = low + 0.1 + 0.01 * rng.random(50), low + 0.3 + 0.01 * rng.random(50)

    def said(accuracy, retrieval, **settings):
        paired = PairedScores(*accuracy), PairedScores(*retrieval), PairedScores(*retrieval)
        scores = HeldOut(*paired, 3, 50, 4, 4, 0.0, lda_seconds=0.12)
        return Fitted(data, "neighbors", True, settings, estimator, None, scores).recommendation

    both = said((low, high, 0.0, higher), (low, high, 0.0, higher))
    numbers = r"\(0\.80\d against 0\.60\d\)"
    lda = "LDA of scikit-learn, learned in 0.12 s, does better at"
    assert re.search(f"{lda} classifying by nearest neighbours {numbers} and at", both)
    assert "Use it" not in both
    assert "keep" not in both
    ranks = said((low, high, 0.0, low), (low, high, 0.0, higher))
    assert "Use it for nearest neighbours: convexmetric apply" in ranks
    assert re.search(f"finding rows of the same label {numbers}; --set scoring=map", ranks)
    assert "scoring=map" not in said((low, high, 0.0, low), (low, high, 0.0, higher), scoring="map")
    assert "LDA" not in said((low, high, 0.0, low), (low, high, 0.0, low))


def test_a_column_that_is_the_label_is_named(command, helpful):
    lines = helpful.read_text().splitlines()
    names = sorted({line.split(",")[0] for line in lines[1:]})
    told = [f"{line},{7 * names.index(line.split(',')[0])}" for line in lines[1:]]
    helpful.write_text("\n".join([f"{lines[0]},code", *told]))
    _, out, _ = command(
        "fit", helpful, "--label", "kind", *LMNN, "--set", "ridge=0.1", "--quiet", "--no-held-out", "--json"
    )
    assert json.loads(out)["recommendation"].startswith("Column 'code' has one value for each label: --drop it")


@pytest.mark.integration
@pytest.mark.parametrize("method", ["operator", "relative"])
def test_what_loses_says_so_first(command, tmp_path, method):
    """On a checkerboard only neighbours tell the classes apart; margins of all pairs see the third column alone."""
    rng = np.random.default_rng(0)
    board = rng.integers(4, size=(200, 2))
    kinds = board.sum(axis=1) % 2
    X = np.column_stack([board + 0.15 * rng.normal(size=(200, 2)), 1.5 * kinds + 0.5 * rng.normal(size=200)])
    path = tmp_path / "board.csv"
    rows = [f"{a:.6f},{b:.6f},{c:.6f},k{kind}" for (a, b, c), kind in zip(X, kinds, strict=True)]
    path.write_text("\n".join(["a,b,c,kind", *rows]))
    _, out, _ = command("fit", path, "--label", "kind", "--method", method, "--quiet")
    assert out.startswith("On held-out rows the metric hurts classification by nearest neighbours"), out[:300]
    assert "Do not use it for nearest neighbours" in " ".join(out.split("\n\n")[0].split())


@pytest.mark.integration
def test_labels_that_say_nothing_get_no_recommendation(command, helpful, quick):
    lines = helpful.read_text().splitlines()
    order = np.random.default_rng(1).permutation(80)
    shuffled = [f"{LABELS[k]},{line.split(',', 1)[1]}" for k, line in zip(order, lines[1:], strict=True)]
    helpful.write_text("\n".join([lines[0], *shuffled]))
    result = json.loads(command("fit", helpful, "--label", "kind", *LMNN, "--quiet", "--json")[1])
    assert result["held_out"]["accuracy"]["verdict"] != "helps"
    assert "Euclidean distance of the scaled columns" in result["recommendation"]


@pytest.mark.integration
def test_the_weight_is_chosen_and_all_that_was_tried_is_said(command, helpful, quick):
    arguments = ["fit", helpful, "--label", "kind", "--method", "mlr", "--set", "measure=auc", "--quiet"]
    code, out, _ = command(*arguments, "--no-held-out")
    assert code == 0
    assert re.search(r"C = \S+, chosen by 3-NN accuracy in 3 folds \(80 rows\)", out)
    assert len(re.findall(r"^ \S+ +0\.\d{4} \+- 0\.\d{4}", out, re.MULTILINE)) == 4
    assert "held-out rows" not in out
    result = json.loads(command(*arguments, "--json", "--no-held-out")[1])
    data = cm.datasets.read_csv(helpful, "kind")
    X = cm.datasets.preprocess(data.X, ["zscore"])
    path = cm.WeightSearch(cm.MLR(measure="auc")).fit(X, data.y).path_
    assert result["choice"]["tried"] == [[value] for value in path.values]
    assert np.array(result["choice"]["mean"]) == pytest.approx(path.mean())
    assert result["choice"]["chosen"] == [result["settings"]["C"]] == [path.best]
    assert result["held_out"] is None


@pytest.mark.integration
def test_a_weight_that_is_given_is_taken(command, helpful):
    arguments = ["--method", "mlr", "--set", "measure=auc", "--set", "C=7", "--quiet", "--json", "--no-held-out"]
    result = json.loads(command("fit", helpful, "--label", "kind", *arguments)[1])
    assert result["choice"] is None
    assert result["settings"] == {"measure": "auc", "C": 7}


@pytest.mark.integration
def test_long_tables_are_judged_by_a_sample_and_say_so(command, helpful, monkeypatch, quick):
    monkeypatch.setattr(fitting, "ROWS", 60)
    code, out, _ = command("fit", helpful, "--label", "kind", "--method", "relative", "--quiet")
    assert code == 0
    said = " ".join(out.split())
    assert "mean of 3 folds (60 rows, a sample of 80)" in said
    assert said.count("60 rows, a sample of 80") == 2
    assert "On a sample of held-out rows the metric" in said


@pytest.mark.integration
def test_a_limit_on_time_is_for_all_of_it(command, tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    labels = np.repeat(list("abcd"), 100)
    X = rng.standard_normal((400, 12)) + np.repeat(rng.standard_normal((4, 12)), 100, axis=0)
    table = write(tmp_path / "long.csv", {f"c{k}": X[:, k] for k in range(12)}, labels)
    command(
        "fit",
        table,
        "--label",
        "kind",
        "--method",
        "mlr",
        "--quiet",
        "--no-held-out",
        "--set",
        "max_iter=1",
        "--set",
        "C=1",
    )
    arguments = ["--method", "mlr", "--tol", "1e-12", "--max-seconds", "6", "--quiet", "--json"]
    start = time.perf_counter()
    code, out, err = command("fit", table, "--label", "kind", *arguments)
    # The limit and 2 s + 10 %, on machines with other work.
    assert time.perf_counter() - start <= 6 * 1.1 + 2.0 + 2.0
    result = json.loads(out)
    assert code == 1
    assert "not certified to tol = 1e-12" in err
    # What was not solved is not spoken of.
    if result["choice"] is not None:
        assert result["choice"]["gaps"][result["choice"]["tried"].index(result["choice"]["chosen"])] <= 0.5
    if result["held_out"] is None:
        assert "Nothing is known of new rows: " in result["recommendation"]


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore::convexmetric.errors.GapWarning")
def test_ctrl_c_in_the_folds_keeps_the_metric_and_the_folds_that_are_there(command, helpful, tmp_path, monkeypatch):
    iterate, begun = Monitor.iterate, []

    def interrupted(self, **details):
        if self not in begun:
            begun.append(self)
        if len(begun) == 4:
            raise KeyboardInterrupt
        return iterate(self, **details)

    monkeypatch.setattr(Monitor, "iterate", interrupted)
    saved = tmp_path / "metric.npz"
    code, out, _ = command("fit", helpful, "--label", "kind", *LMNN, "--quiet", "--json", "--save", saved)
    result = json.loads(out)
    assert code == 130
    assert result["status"] == "optimal"
    assert (result["held_out"]["folds"], result["held_out"]["planned_folds"]) == (2, 10)
    assert saved.exists()


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore::convexmetric.errors.GapWarning")
@pytest.mark.parametrize(("at", "kept"), [(1, None), (2, "optimal")])
def test_ctrl_c_before_the_first_fold_is_scored(command, helpful, monkeypatch, at, kept):
    iterate, begun = Monitor.iterate, []

    def interrupted(self, **details):
        if self not in begun:
            begun.append(self)
        if len(begun) == at:
            raise KeyboardInterrupt
        return iterate(self, **details)

    monkeypatch.setattr(Monitor, "iterate", interrupted)
    code, out, _ = command("fit", helpful, "--label", "kind", *LMNN, "--quiet", "--json")
    assert code == 130
    if out:
        result = json.loads(out)
        assert result["held_out"] is None
        assert result["status"] == (kept or "interrupted")


@pytest.mark.integration
def test_a_fit_that_takes_all_the_time_leaves_none_for_scores(command, helpful, monkeypatch):
    monkeypatch.setattr(fitting, "SAFE_SHARE", 0.0)
    code, out, _ = command("fit", helpful, "--label", "kind", *LMNN, "--max-seconds", "10", "--quiet")
    assert code == 0
    assert "of new rows: the limit left 0.1 s for scores, too little for a fold; raise --max-seconds." in out


@pytest.mark.integration
def test_a_limit_counts_from_when_the_process_began(helpful, monkeypatch, capsys):
    monkeypatch.setattr(
        "sys.argv", ["convexmetric", "fit", str(helpful), "--label", "kind", "--max-seconds", "2", "-q"]
    )
    with pytest.raises(SystemExit):
        main(time.perf_counter() - 2.0)
    said = " ".join(capsys.readouterr().out.split())
    assert re.search("not enough time: choosing a metric takes more than", said)


@pytest.mark.integration
def test_a_sample_is_learned_from_where_there_is_no_time_to_state_all(command, helpful, tmp_path, monkeypatch):
    monkeypatch.setattr(fitting, "ROWS_WITH_LIMIT", 24)
    monkeypatch.setattr(fitting, "STATED_SHARE", 0.0)
    report = tmp_path / "page.html"
    arguments = ["--label", "kind", *LMNN, "--max-seconds", "60", "--quiet", "--json", "--report", report]
    code, out, err = command("fit", helpful, *arguments)
    assert code == 0
    assert "not enough time to state the problem of all 80 rows" in err
    assert "a stratified sample of 24 is learned from" in err
    assert json.loads(out)["held_out"]["rows"] == 24
    # Rows are called by their lines in the file.
    lines = set(map(int, re.findall(r"line (\d+)", report.read_text())))
    assert lines
    assert lines <= {2 + row for row in stratified_sample(LABELS, 24, 0)}


@pytest.mark.integration
def test_with_prior_scale_and_strength_given_the_default_is_scored_as_other_methods_are(command, helpful, quick):
    given = ["--set", "prior=identity", "--set", "scale=1", "--set", "strength=1", "--max-seconds", "60"]
    code, out, _ = command("fit", helpful, "--label", "kind", *given, "--quiet", "--json")
    assert code == 0
    assert json.loads(out)["held_out"]["folds"] == 3


def test_ctrl_c_before_there_is_a_metric_says_so(command, helpful, monkeypatch):
    monkeypatch.setattr(fitting, "points_of", _interrupted)
    code, out, err = command("fit", helpful, "--label", "kind", "--quiet")
    assert (code, out) == (130, "")
    assert "interrupted: there is no metric yet" in err


@pytest.mark.integration
def test_ctrl_c_in_the_report_leaves_what_was_saved(command, helpful, tmp_path, monkeypatch):
    monkeypatch.setattr(html_report, "_worst", _interrupted)
    saved, report = tmp_path / "metric.npz", tmp_path / "page.html"
    options = ["--no-held-out", "--save", saved, "--report", report]
    code, _, err = command("fit", helpful, "--label", "kind", *LMNN, *options, "--quiet")
    assert code == 130
    assert f"interrupted: {report} is not written" in err
    assert set(tmp_path.iterdir()) == {helpful, saved}


def _interrupted(*_, **__):
    raise KeyboardInterrupt


def test_folds_that_cannot_be_are_said_and_the_metric_stays(command, tmp_path):
    labels = [f"k{k}" for k in range(12)] + ["twice", "twice"]
    X = np.random.default_rng(0).standard_normal((14, 3))
    table = write(tmp_path / "few.csv", {f"c{k}": X[:, k] for k in range(3)}, labels)
    code, out, _ = command("fit", table, "--label", "kind", "--method", "operator", "--set", "reg=0.005", "--quiet")
    assert code == 0
    assert "Nothing is known of new rows: cv must be from 2 to 2" in out


class Page(HTMLParser):
    """Tags that are open, and addresses that are asked for."""

    def __init__(self):
        super().__init__()
        self.open, self.asked, self.tags, self.text = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in ("meta", "path", "use", "br"):
            self.open.append(tag)
        self.asked += [value for name, value in attributes if name in ("src", "href", "xlink:href") and value[0] != "#"]

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("path", "use"):
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parsed(path):
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    assert not page.open
    return page


@pytest.mark.integration
def test_the_report_is_one_page_that_asks_for_nothing(command, helpful, tmp_path, quick):
    path = tmp_path / "report.html"
    options = ["--method", "mlr", "--set", "measure=auc", "--quiet", "--report", path]
    code, out, err = command("fit", helpful, "--label", "kind", *options)
    assert code == 0
    assert f"report: {path}" in err
    page = parsed(path)
    assert page.asked == []
    assert "script" not in page.tags
    assert page.tags.count("figure") == 5
    source, text = path.read_text(encoding="utf-8"), " ".join(" ".join(page.text).split())
    assert "url(http" not in source
    assert "@import" not in source
    bound = re.search(r"lower bound +(\S+)", out)[1]
    for words in (
        bound,
        "chosen by 3-NN accuracy",
        "c0",
        "SHA-256",
        "--set measure=auc",
        f"convexmetric {cm.__version__}",
    ):
        assert words in text
    assert text.count("On held-out rows the metric") == 1
    assert "convexmetric verify proves them" in text
    assert not re.search(r"[Tt]hat is proven|is proved", text)


@pytest.mark.parametrize("classes", [2, 12, 13])
def test_the_text_of_pictures_fits(classes):
    """Whatever names are: inside the picture, and no number of an axis on another."""
    rng = np.random.default_rng(0)
    labels = np.array([f"{k} is the number of all these things, which is {k}" for k in np.arange(60) % classes])
    columns = [f"measurement_number_{i}_of_the_left_hand_side_in_millimetres" for i in range(20)]
    names = shortened(np.unique(labels).tolist())
    assert len(set(names)) == classes

    def rows(ax):
        plot_embedding(rng.normal(size=(60, 20)) * [1e4] + 1e5, labels, None, ax=ax, target_names=names)
        html_report._legend_below(ax)
        ax.set_title("Before: Euclidean metric")

    def bars(ax):
        plot_weights(np.geomspace(1.0, 0.2, 20), columns, ax=ax)

    for draw in (rows, bars):
        figure, (axes,) = panels(height=html_report.HEIGHT)
        draw(axes)
        figure.draw_without_rendering()
        box, (ax,) = figure.bbox, figure.axes
        texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip("$ ")]
        low, high = sorted(ax.get_xlim())
        ticks = [text for text in ax.get_xticklabels() if low <= text.get_position()[0] <= high]
        outside = [text for text in ax.get_xticklabels() + ax.get_yticklabels() if text not in ticks]
        for text in texts:
            extent = text.get_window_extent()
            if text not in outside:
                assert box.x0 <= extent.x0 < extent.x1 <= box.x1, text
                assert box.y0 <= extent.y0 < extent.y1 <= box.y1, text
        boxes = [text.get_window_extent() for text in ticks]
        assert all(one.x1 < other.x0 for one, other in itertools.pairwise(boxes))


@pytest.mark.integration
def test_the_costliest_comparisons_name_lines_of_the_file(command, helpful, tmp_path):
    lines = helpful.read_text().splitlines()
    wrong = 30
    lines[wrong] = lines[wrong].replace("calm", "once")
    helpful.write_text("\n".join(lines))
    path = tmp_path / "report.html"
    options = ["--method", "mlr", "--set", "measure=auc", "--set", "C=10", "--no-held-out", "--quiet", "--report", path]
    assert command("fit", helpful, "--label", "kind", *options)[0] == 0
    said = re.findall(r"line (\d+) \((\w+)\)", path.read_text(encoding="utf-8"))
    assert len(said) >= 3
    for line, label in said:
        assert lines[int(line) - 1].split(",")[0] == label
    assert ("31", "once") not in said


@pytest.mark.integration
@pytest.mark.parametrize(
    "options",
    [
        ["--method", "mlr", "--set", "measure=auc", "--set", "kernel=rbf", "--set", "C=1"],
        ["--method", "mlr", "--set", "measure=auc", "--set", "C=1e-6"],
        ["--method", "relative", "--set", "C=1"],
        ["--method", "operator", "--set", "reg=0.005", "--no-scale"],
        ["--method", "projection", "--set", "reg=auto", "--set", "diagonal=true"],
    ],
    ids=["kernel", "zero", "weights", "pairs", "diagonal"],
)
def test_every_metric_has_a_report(command, helpful, tmp_path, options):
    path = tmp_path / "report.html"
    code, _, _ = command("fit", helpful, "--label", "kind", *options, "--no-held-out", "--quiet", "--report", path)
    assert code == 0
    assert "Costliest comparisons" in "".join(parsed(path).text)


@pytest.mark.integration
def test_names_from_the_table_are_text_in_the_report(command, helpful, tmp_path):
    helpful.write_text(helpful.read_text().replace("loud", "<script>").replace("c0", "<b>&amp;"))
    path = tmp_path / "report.html"
    assert command("fit", helpful, "--label", "kind", "--no-held-out", "--quiet", "--report", path)[0] == 0
    assert "script" not in parsed(path).tags
    assert "b" not in parsed(path).tags
    assert 'aria-label="Scores against strength"' in path.read_text(encoding="utf-8")


@pytest.mark.integration
@pytest.mark.parametrize("word", ["$$", r"$\frac{", "\x1b[31mred", "[/bold]", "\x85\u202e"])
def test_no_name_is_a_formula_or_an_order(command, helpful, tmp_path, word):
    text = helpful.read_text().replace("c0", f"{word} c0").replace("calm", f"{word} calm")
    helpful.write_text(text, encoding="utf-8")
    path, renamed = tmp_path / "report.html", tmp_path / f"a{word.replace('/', '')}.csv"
    helpful.rename(renamed)
    code, out, err = command("fit", renamed, "--label", "kind", "--no-held-out", "--quiet", "--report", path)
    assert code == 0
    for shown in (out, err, path.read_text(encoding="utf-8")):
        assert not set(shown) & {"\x1b", "\x85", "\u202e"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--report", "r.pdf"], "r.pdf: a report is written as .html, not as '.pdf'"),
        (["--report", "none/r.html"], "there is no folder none"),
    ],
)
def test_a_report_that_cannot_be_written_is_told_before_the_solve(
    command, helpful, tmp_path, monkeypatch, options, message
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("convexmetric.cli.tables.fit_table", lambda *_, **__: pytest.fail("it solved"))
    code, _, err = command("fit", helpful, "--label", "kind", *options)
    assert code == 2
    assert message in err


@pytest.fixture
def learned(command, helpful, tmp_path):
    path = tmp_path / "metric.npz"
    assert command("fit", helpful, "--label", "kind", "--quiet", "--no-held-out", "--save", path)[0] == 0
    return path


@pytest.mark.integration
@pytest.mark.parametrize("suffix", [".csv", ".npy"])
def test_apply_writes_rows_whose_distances_are_the_learned_ones(command, helpful, learned, tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    code, _, err = command("apply", learned, helpful, "--save", path)
    assert code == 0
    data = cm.datasets.read_csv(helpful, "kind")
    X = cm.datasets.preprocess(data.X, ["zscore"])
    images = np.load(path) if suffix == ".npy" else np.loadtxt(path, delimiter=",", skiprows=1)
    assert f"80 rows, 10 columns transformed to {images.shape[1]}" in err
    if suffix == ".csv":
        assert path.read_text().splitlines()[0].split(",") == [f"component{k}" for k in range(images.shape[1])]
    expected = cm.NeighborMetric().fit(X, np.array(data.target_names)[data.y]).pair_distance(X.reshape(40, 2, 10))
    np.testing.assert_allclose(np.linalg.norm(images[::2] - images[1::2], axis=1), expected, rtol=1e-6)


def test_apply_finds_columns_by_name_in_any_order(command, helpful, learned, tmp_path):
    straight, turned = tmp_path / "a.npy", tmp_path / "b.npy"
    lines = [line.split(",") for line in helpful.read_text().splitlines()]
    other = tmp_path / "other.csv"
    other.write_text("\n".join(",".join(["more" if k == 0 else "text", *line[:0:-1]]) for k, line in enumerate(lines)))
    assert command("apply", learned, helpful, "--save", straight)[0] == 0
    assert command("apply", learned, other, "--save", turned)[0] == 0
    np.testing.assert_array_equal(np.load(straight), np.load(turned))


def test_apply_keeps_labels_beside_the_rows_and_can_be_quiet(command, helpful, learned, tmp_path):
    bare, kept = tmp_path / "bare.npy", tmp_path / "kept.csv"
    assert command("apply", learned, helpful, "--save", bare, "--quiet") == (0, "", "")
    code, out, err = command("apply", learned, helpful, "--save", kept, "--label", "kind", "--json", "--quiet")
    rank = np.load(bare).shape[1]
    assert (code, err) == (0, "")
    assert json.loads(out) == {"file": str(kept), "rows": 80, "columns": 10, "components": rank}
    again, data = cm.datasets.read_csv(kept, "kind"), cm.datasets.read_csv(helpful, "kind")
    np.testing.assert_array_equal(again.X, np.load(bare))
    assert [again.target_names[code] for code in again.y] == [data.target_names[code] for code in data.y]
    code, _, err = command("apply", learned, helpful, "--save", bare, "--label", "kind")
    assert (code, "--label goes into a .csv file" in err) == (2, True)


def test_labels_that_are_missing_or_have_commas_are_kept_as_they_are(command, learned, tmp_path):
    table, kept = tmp_path / "new.csv", tmp_path / "kept.csv"
    names = ",".join(np.load(learned)["columns"])
    table.write_text(f'who,{names}\n"a, b"{",1" * 10}\n{",2" * 10}\n')
    assert command("apply", learned, table, "--save", kept, "--label", "who")[0] == 0
    with kept.open(newline="") as file:
        assert [row[-1] for row in csv.reader(file)] == ["who", "a, b", ""]


def test_a_table_may_come_from_standard_input(command, helpful, learned, tmp_path, monkeypatch):
    direct, piped, saved = tmp_path / "direct.npy", tmp_path / "piped.npy", tmp_path / "again.npz"
    assert command("apply", learned, helpful, "--save", direct)[0] == 0
    for arguments in (["apply", learned, "-", "--save", piped], ["fit", "-", "--label", "kind", "--save", saved]):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(helpful.read_bytes())))
        assert command(*arguments, *["--quiet", "--no-held-out"][: 1 + (arguments[0] == "fit")])[0] == 0
    np.testing.assert_array_equal(np.load(direct), np.load(piped))
    np.testing.assert_array_equal(np.load(saved)["components"], np.load(learned)["components"])


@pytest.mark.integration
def test_apply_takes_all_columns_where_the_metric_knows_no_names(command, helpful, learned, tmp_path):
    bare, out = tmp_path / "bare.npz", tmp_path / "out.npy"
    cm.evaluation.SimilarityOperator(cm.evaluation.SimilarityOperator.load(learned).components).save(bare)
    code, _, err = command("apply", bare, helpful, "--save", out)
    assert (code, "'calm', which is no number" in err) == (2, True)
    assert command("apply", bare, helpful, "--drop", "kind", "--save", out)[0] == 0
    code, _, err = command("apply", bare, helpful, "--drop", "kind", "--drop", "c3", "--save", out)
    assert (code, "has 9 columns" in err) == (2, True)


def test_apply_refuses_what_it_cannot_use(command, helpful, learned, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    missing, damaged = tmp_path / "missing.csv", tmp_path / "damaged.npz"
    missing.write_text(helpful.read_text().replace("c7", "c77"))
    damaged.write_bytes(b"PK\x03\x04 no archive")
    np.savez("none.npz", a=np.eye(10), b=np.eye(10))
    np.savez("kernel.npz", components=np.eye(10), embedding="rbf")
    np.savez("short.npz", components=np.eye(10), columns=np.array(["c0"]))
    np.savez("nan.npz", components=np.full((2, 10), np.nan))
    np.savez("pickled.npz", components=np.array([{}], dtype=object))
    for arguments, message in (
        ([learned, missing], "there is no column 'c7'; did you mean 'c77'"),
        ([learned, "absent.csv"], "there is no such file"),
        (["absent.npz", helpful], "there is no such file"),
        ([damaged, helpful], "is damaged or no .npz file"),
        (["none.npz", helpful], "has several variables and none is called M, W or w"),
        (["kernel.npz", helpful], "a metric under a kernel acts on no vectors"),
        (["short.npz", helpful], "names 1 columns for components of 10"),
        (["nan.npz", helpful], "components must be a finite"),
        (["pickled.npz", helpful], "never loaded"),
        (["M.npy", helpful], "there is no such file"),
    ):
        code, out, err = command("apply", *arguments, "--save", "out.csv")
        assert (code, out) == (2, "")
        assert message in err
    code, _, err = command("apply", learned, helpful, "--save", "out.xlsx")
    assert (code, "rows are written as .csv, .npy" in err) == (2, True)
    assert not (tmp_path / "out.csv").exists()


def test_audit_judges_a_metric_against_the_optimum_of_a_table(command, helpful, tmp_path):
    data = cm.datasets.read_csv(helpful, "kind")
    X = cm.datasets.preprocess(data.X, ["zscore"])
    problem = cm.RankingProblem.from_labels(X, data.y, measure="auc", C=10.0)
    optimum = cm.solve(problem)
    np.save(tmp_path / "eye.npy", np.eye(10))
    np.save(tmp_path / "best.npy", optimum.M)
    stated = [
        helpful,
        "--label",
        "kind",
        "--method",
        "mlr",
        "--set",
        "measure=auc",
        "--set",
        "C=10",
        "--quiet",
        "--json",
    ]
    code, out, _ = command("audit", *stated, "--metric", tmp_path / "eye.npy", "--metric", tmp_path / "best.npy")
    assert code == 0
    eye, best = json.loads(out)
    assert eye["objective"] == pytest.approx(problem.objective(np.eye(10)), rel=1e-10)
    assert eye["lower_bound"] == pytest.approx(optimum.lower_bound, rel=1e-5)
    assert best["suboptimality"] <= 3e-6
    assert command("audit", *stated, tmp_path / "eye.npy", "--tol", "1e-3")[0] == 1


@pytest.mark.integration
@pytest.mark.parametrize("scale", ["--scale", "--no-scale"])
def test_audit_brings_a_metric_that_fit_saved_to_the_columns_of_the_objective(command, helpful, tmp_path, scale):
    saved = tmp_path / "metric.npz"
    stated = [helpful, "--label", "kind", "--quiet", scale]
    assert command("fit", *stated, "--no-held-out", "--save", saved)[0] == 0
    code, out, _ = command("audit", *stated, "--metric", saved, "--json", "--tol", "1e-4")
    assert json.loads(out)["suboptimality"] <= 2.1e-4
    code, out, _ = command("audit", *stated, "--metric", saved, "--plot", tmp_path / "a.png")
    assert (code, "neighbors on" in out) == (0, True)
    code, _, err = command("audit", *stated, "--drop", "c1", "--metric", saved)
    assert (code, "learned from other columns than those of helpful: 'c1'" in err) == (2, True)


def test_audit_of_a_table_needs_its_labels(command, helpful, tmp_path):
    np.save(tmp_path / "M.npy", np.eye(10))
    for arguments, message in (
        ([helpful, tmp_path / "M.npy"], "name its column of labels by --label"),
        ([helpful], "name its column of labels by --label"),
        ([helpful, "--label", "sort", tmp_path / "M.npy"], "there is no column 'sort'"),
        ([helpful, "--label", "kind", "--method", "mrl", tmp_path / "M.npy"], "did you mean 'mlr'"),
        ([helpful, "--label", "kind", "--set", "C=1", tmp_path / "M.npy"], "known: "),
    ):
        code, _, err = command("audit", *arguments)
        assert code == 2
        assert message in err


def test_a_saved_metric_says_what_was_set(learned):
    with np.load(learned, allow_pickle=False) as arrays:
        assert set(json.loads(str(arrays["settings"]))) == {"prior", "scale", "strength"}
        assert str(arrays["method"]) == "neighbors"
    assert Path(learned).suffix == ".npz"
    with pytest.raises(cm.errors.InputError):
        read_metric(learned)


@pytest.mark.integration
def test_rows_that_are_asked_rounded_are_as_near_as_before(command, tmp_path):
    wine, rng = cm.datasets.load("wine"), np.random.default_rng(0)
    blends = wine.X[:, :12] @ rng.dirichlet(np.ones(12), size=4).T
    X = np.round(np.column_stack([wine.X, blends]), 5)
    order = rng.permutation(len(X))
    learn, rest = order[60:], order[:60]
    table = write(tmp_path / "wine.csv", {f"c{k}": X[learn, k] for k in range(17)}, wine.y[learn])
    saved = tmp_path / "metric.npz"
    options = ["--method", "large-margin", "--no-held-out", "--quiet", "--save", saved]
    code, _, err = command("fit", table, "--label", "kind", *options)
    assert code == 0
    assert re.search("in 4 of 17 directions of wine only .* combinations of 14 columns", err)
    images, y = X[learn] @ (components := read_map(saved)[1]).T, wine.y[learn]
    scores = [
        1.0 - knn_error(np.ones(17), images, y, np.round(X[rest], digits) @ components.T, wine.y[rest], k=3)
        for digits in (5, 3, 2)
    ]
    assert scores == [pytest.approx(scores[0], abs=0.02)] * 3
    assert scores[0] > 0.9
    judged = ["audit", table, "--label", "kind", "--method", "large-margin", "--metric", saved, "--quiet", "--json"]
    assert json.loads(command(*judged)[1])["suboptimality"] <= 2.1e-4


def test_one_row_is_transformed_but_not_learned_from(command, learned, tmp_path):
    one = write(tmp_path / "one.csv", {f"c{k}": np.ones(1) for k in range(10)}, ["calm"])
    code, _, err = command("apply", learned, one, "--save", tmp_path / "out.npy")
    assert (code, "1 rows, 10 columns transformed" in err) == (0, True)
    for arguments in (["fit", one], ["audit", one, learned]):
        code, _, err = command(*arguments, "--label", "kind")
        assert (code, "has one row only; a metric is learned from several rows of every class" in err) == (2, True)


@pytest.mark.integration
def test_copies_of_rows_are_told_with_the_scores(command, helpful, quick):
    lines = helpful.read_text().splitlines()
    helpful.write_text("\n".join([*lines, *lines[1:20]]))
    method = ["--method", "mlr", "--set", "measure=auc", "--set", "C=1", "--quiet"]
    out = command("fit", helpful, "--label", "kind", *method)[1]
    assert "(99 rows, of which 19 are copies and in the fold of what they copy)" in " ".join(out.split())
    assert json.loads(command("fit", helpful, "--label", "kind", *method, "--json")[1])["held_out"]["copies"] == 19


@pytest.mark.integration
def test_words_are_encoded_and_apply_finds_the_same_columns(command, tmp_path):
    rng = np.random.default_rng(0)
    size = rng.standard_normal(80) + 2.0 * (LABELS == "loud")
    colour = ["red", "green", "blue", "red"] * 20
    rows = [f"{s:.3f},{c},{'yes' if s > 1 else 'no'},{k}" for s, c, k in zip(size, colour, LABELS, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["size,colour,big,kind", *rows]), encoding="utf-8")
    options = [
        "--label",
        "kind",
        "--method",
        "mlr",
        "--set",
        "C=1",
        "--no-held-out",
        "--quiet",
        "--save",
        tmp_path / "m.npz",
    ]
    code, _, err = command("fit", tmp_path / "t.csv", *options, "--encode")
    assert (code, "combinations" in err) == (0, False)
    assert read_map(tmp_path / "m.npz")[2] == ["size", "colour=blue", "colour=green", "colour=red", "big"]
    (tmp_path / "new.csv").write_text("colour,size,big\ngreen,1.5,no\npink,1,yes\n", encoding="utf-8")
    apply = ["apply", tmp_path / "m.npz", tmp_path / "new.csv", "--save", tmp_path / "z.npy"]
    code, _, err = command(*apply)
    assert (code, "--encode" in err) == (2, True)
    code, _, err = command(*apply, "--encode")
    assert (code, "others, such as 'pink', have no column" in err) == (0, True)
    encoded = np.array([[1.5, 0, 1, 0, 0], [1.0, 0, 0, 0, 1]])
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), encoded @ read_map(tmp_path / "m.npz")[1].T)


def test_an_option_that_lacks_its_file_and_names_to_complete(command, helpful):
    code, _, err = command("fit", helpful, "--label", "kind", "--save", "--quiet")
    assert (code, "the option before --quiet has no value: name a file, .npz" in err) == (2, True)
    assert shared.completing([*fitting.METHODS])("ml") == ["mlr"]


@pytest.mark.integration
def test_packed_tables_are_fitted(command, helpful):
    packed = helpful.with_name("helpful.csv.gz")
    packed.write_bytes(gzip.compress(helpful.read_bytes()))
    options = ["--label", "kind", "--no-held-out", "--quiet", "--json"]
    bounds = [json.loads(command("fit", table, *options)[1])["upper_bound"] for table in (helpful, packed)]
    assert bounds[0] == bounds[1]
