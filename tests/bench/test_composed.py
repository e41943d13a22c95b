"""Problems composed of blocks in a file are those composed by hand, and what is wrong in a file is named."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
from samples import random_metric

import convexmetric as cm
from convexmetric.bench import read_instance
from convexmetric.bench.blocks import compose
from convexmetric.cli import app
from convexmetric.comparisons import PairDistances, Rankings, Relevance, Triplets, triplets_from_labels
from convexmetric.cones import PSDCone
from convexmetric.errors import InputError
from convexmetric.losses import Hinge
from convexmetric.measures import AveragePrecision
from convexmetric.regularizers import LogDet, Trace
from convexmetric.risks import RankingRisk, SeparableRisk, SumRisk

PROBLEMS = Path(__file__).resolve().parents[2] / "problems"
WINE = cm.datasets.load("wine")
X, LABELS = cm.datasets.preprocess(WINE.X, ["zscore"]), np.array(WINE.target_names)[WINE.y]


def text_of(name):
    return (PROBLEMS / f"{name}.toml").read_text(encoding="utf-8")


def changed(name, old, new):
    text = text_of(name)
    assert old in text
    return read_instance(text.replace(old, new, 1), f"{name}.toml").problem()


def test_a_sum_in_a_file_is_the_sum_composed_by_hand():
    cone = PSDCone(13)
    pairs, r = cm.papers.balanced_pairs(LABELS, 500, random_state=0)
    far = pairs[r < 0]
    ranked = RankingRisk(Rankings(X, X, Relevance.from_labels(LABELS), cone), AveragePrecision(), 1.0)
    apart = SeparableRisk(PairDistances(X, far, np.ones(len(far)), cone), Hinge(0.01, 5.0))
    by_hand = cm.MetricProblem(SumRisk(ranked, apart), Trace(0.1))
    found = cm.load_problem("blocks-sum-rankings-pairs-wine")
    M = random_metric(np.random.default_rng(0), cone)
    assert found.value(M) == pytest.approx(by_hand.value(M), rel=1e-12)
    assert repr(found) == repr(by_hand)


def test_names_of_arrays_stand_for_what_the_page_says():
    found = cm.load_problem("blocks-logdet-wine")
    prior = np.linalg.inv(np.cov(X.T, bias=True))
    risk = SeparableRisk(Triplets(X, triplets_from_labels(LABELS, 500, random_state=0), PSDCone(13)), Hinge(0.01))
    by_hand = cm.MetricProblem(risk, LogDet(prior, 0.2))
    M = random_metric(np.random.default_rng(0), PSDCone(13))
    assert found.value(M) == pytest.approx(by_hand.value(M), rel=1e-9)
    pairs, r = cm.papers.balanced_pairs(LABELS, 500, random_state=0)
    scatter = np.mean([np.outer(X[i] - X[j], X[i] - X[j]) for i, j in pairs[r > 0]], axis=0)
    assert pytest.approx(scatter, rel=1e-12) == cm.load_problem("blocks-zero-wine").G
    loss, d = (
        cm.load_problem("blocks-itakura-saito-wine").risk.loss,
        ((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2).sum(axis=1),
    )
    assert loss.bounds == pytest.approx(np.where(r > 0, np.quantile(d, 0.05), np.quantile(d, 0.95)), rel=1e-12)
    assert (loss.signs == -r).all()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"EntrywiseL1"', '"EntrywiseL2"', r"\[parameters.regularizer\]: class must be one of .* did you mean"),
        ('"EntrywiseL1"', '"os.system"', r"\[parameters.regularizer\]: class must be one of"),
        ('"EntrywiseL1"', '"convexmetric.regularizers.EntrywiseL1"', "class must be one of"),
        ('"EntrywiseL1"', "3", "class must be one of"),
        ('class = "EntrywiseL1"', "", r"\[parameters.regularizer\]: the key 'class' is missing"),
        ('"EntrywiseL1"', '"Regularizer"', "Regularizer is a contract"),
        ('"EntrywiseL1"', '"EntrywiseL1.contents"', "constructor of EntrywiseL1 must be one of"),
        ('"EntrywiseL1"', '"EntrywiseL1.__init__"', "constructor of EntrywiseL1 must be one of"),
        ('"EntrywiseL1"', '"Hinge"', r"\[parameters.regularizer\] Hinge: unknown key 'reg'"),
        ("reg = 0.05", "weight = 0.05", r"EntrywiseL1: unknown key 'weight'"),
        ("reg = 0.05", "", r"\[parameters.regularizer\] EntrywiseL1: the key 'reg' is missing"),
        ("reg = 0.05", "reg = -1.0", r"blocks-l1-wine.toml: \[parameters.regularizer\] EntrywiseL1: reg must be a pos"),
        ("reg = 0.05", 'reg = 1.0\nrest = "Trace"', r"regularizer.rest\] must be a Regularizer, got Trace"),
        ("reg = 0.05", "reg = 1.0\nrest = [1, [2]]", r"\[parameters.regularizer.rest\]: rows of different lengths"),
        ('class = "Hinge", C', 'class = "Trace", reg', r"\[parameters.risk.loss\] must be a Loss, got Trace"),
        ('triplets = "triplets"', 'triplets = "pairs"', r"\[parameters.risk.comparisons\] Triplets: "),
        ('triplets = "triplets"', 'triplets = "mahalanobis"', r"triplets\]: 'mahalanobis' must be listed in \[arr"),
        ("seed = 0", "seed = 1", "the triplets drawn here are not what was certified"),
        ("[triplets]", "[triples]", "unknown key 'triples'; did you mean 'triplets'"),
        ("[parameters.regularizer]", "[parameters.regulariser]", "did you mean 'regularizer'"),
        ("[parameters.risk]", '[arrays]\nmahalanobis = ""\n\n[parameters.risk]', "mahalanobis is not what was"),
        ("[parameters.risk]", '[arrays]\nmahalanobi = ""\n\n[parameters.risk]', "did you mean 'mahalanobis'"),
        ("[parameters.risk]", '[arrays]\nsimilar_scatter = ""\n\n[parameters.risk]', r"there is no table \[pairs\]"),
        ("[parameters.risk]", "[arrays]\nmahalanobis = 3\n\n[parameters.risk]", "mahalanobis must be a str"),
        ("[parameters.risk]", '[parameters]\nG = "X"\n\n[parameters.risk]', "G must have shape"),
        ("[parameters.risk]", '[parameters]\nconstant = "X"\n\n[parameters.risk]', "constant must be a finite number"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_named(old, new, message):
    with pytest.raises(InputError, match=message):
        changed("blocks-l1-wine", old, new)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"InformationTheoreticProblem"', '"Trace"', r"\[parameters\] Trace: unknown key"),
        ('"InformationTheoreticProblem"', '"InformationTheoreticProblem.from_labels"', "unknown key 'pairs'"),
        ("gamma = 0.1", "gamma = 0.1\nrandom_state = 0", "unknown key 'random_state'"),
        ("u = 8.0", "u = [8.0]\n", "u must be"),
    ],
)
def test_what_is_wrong_in_a_paper_is_named(old, new, message):
    with pytest.raises(InputError, match=message):
        changed("blocks-itml-wine", old, new)


def test_nothing_is_drawn_that_no_hash_covers():
    drawn = {"class": "InformationTheoreticProblem.from_labels", "X": "X", "y": "y", "count": 9, "random_state": 0}
    with pytest.raises(InputError, match=r"would draw what no hash covers; draw in \[triplets\]"):
        compose(drawn, {"X": X, "y": LABELS})
    # Not even where the class would draw by a seed of its own.
    with pytest.raises(InputError, match="n_pairs would draw what no hash covers"):
        compose({"class": "PairMarginProblem.from_labels", "X": "X", "y": "y", "n_pairs": 9}, {"X": X, "y": LABELS})


def test_a_block_is_no_problem():
    with pytest.raises(InputError, match="class must be a problem, and Hinge is none"):
        compose({"class": "Hinge", "C": 1.0}, {})


def test_composed_problems_are_solved_audited_and_proven_by_their_name(tmp_path, capsys):
    name, certificate, metric = "blocks-constant-wine", tmp_path / "proof.npz", tmp_path / "metric.npz"
    app(["solve", name, "--json", "--save", str(metric), "--certificate", str(certificate)], standalone_mode=False)
    record, instance = json.loads(capsys.readouterr().out), cm.bench.load_instance(name)
    assert record["lower_bound"] <= instance.upper_bound
    assert record["upper_bound"] >= instance.lower_bound
    app(["verify", str(certificate), "--instance", name], standalone_mode=False)
    capsys.readouterr()
    app(["audit", name, str(metric), "--json"], standalone_mode=False)
    judged = json.loads(capsys.readouterr().out)
    assert (judged["name"], judged["suboptimality"] <= 1e-6) == (name, True)


@pytest.fixture
def certify(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("certify", PROBLEMS / "certify.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    return module


def test_bounds_are_float_where_a_rule_is_missing_and_rigorous_once_it_is_there(certify, tmp_path, monkeypatch):
    name = "blocks-constant-wine"
    path = tmp_path / f"{name}.toml"
    path.write_text(text_of(name).partition("\n[bounds]")[0], encoding="utf-8")
    with monkeypatch.context() as without:
        without.setattr(certify, "no_rule", lambda problem: "certificates do not know a block")
        certify.certify(name, None, None, tmp_path)
    instance = read_instance(path.read_text(encoding="utf-8"), path.name)
    assert (instance.grade, instance.gap <= 1e-6) == ("float", True)
    certify.certify(name, None, None, tmp_path)
    proven = path.read_text(encoding="utf-8")
    assert read_instance(proven, path.name).grade == "rigorous"
    # Never back again.
    monkeypatch.setattr(certify, "no_rule", lambda problem: "certificates do not know a block")
    with pytest.raises(SystemExit, match="the bounds in the file are rigorous"):
        certify.certify(name, None, None, tmp_path)
    assert path.read_text(encoding="utf-8") == proven


def test_bounds_that_contradict_the_file_are_not_written(certify, tmp_path):
    name = "blocks-constant-wine"
    path = tmp_path / f"{name}.toml"
    bounds = 'lower = 1.0\nupper = 2.0\nsolver = "none"\ntol = 1e-6\niterations = 0\nversion = "none"\n'
    text = text_of(name).partition("[bounds]")[0] + "[bounds]\n" + bounds
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match="contradicts the file"):
        certify.certify(name, None, None, tmp_path)
    assert path.read_text(encoding="utf-8") == text


def test_an_open_instance_is_left_alone_unless_it_is_named_and_keeps_the_better_bounds(certify, tmp_path):
    name, coarse = "blocks-zero-ndcg-iris", 0.3
    path, kept = tmp_path / f"{name}.toml", tmp_path / "certificates"
    kept.mkdir()
    path.write_text(text_of(name).partition("\n[bounds]")[0], encoding="utf-8")
    certify.certify(name, coarse, None, kept)
    text = path.read_text(encoding="utf-8")
    found = read_instance(text, path.name)
    assert (found.open, found.grade, found.how["why"]) == (True, "rigorous", "not known")
    assert found.how["processor_seconds"] > 0.0
    # The library's interval and this one are both proven.
    known = cm.bench.load_instance(name)
    assert found.exact_lower <= known.exact_upper
    assert known.exact_lower <= found.exact_upper
    certify.certify(name, coarse, None, kept, named=False)
    with pytest.raises(SystemExit, match="no better"):
        certify.certify(name, coarse, None, kept)
    assert path.read_text(encoding="utf-8") == text
    # Without what was kept to go on from, which gets further.
    path.with_suffix(".npz").unlink()
    worse = re.sub(r'\nexact_\w+ = ".*"', "", text).replace(f"upper = {found.upper_bound!r}", "upper = 5.0")
    path.write_text(worse.replace("not known", "stalls"), encoding="utf-8")
    certify.certify(name, coarse, None, kept)
    better = read_instance(path.read_text(encoding="utf-8"), path.name)
    assert (better.exact_upper, better.how["why"]) == (found.exact_upper, "stalls")
