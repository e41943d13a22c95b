"""The instance library: every file reads, the table is current, and the small ones are solved again."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from samples import random_metric

import convexmetric as cm
from convexmetric.bench import read_instance
from convexmetric.errors import InputError

PROBLEMS = Path(__file__).resolve().parents[2] / "problems"
NAMES = cm.bench.list_problems()
OPEN = [name for name in NAMES if cm.bench.load_instance(name).open]
SMALL = [
    "ranking-auc-wine-c1",
    "ranking-auc-wine-c100",
    "ranking-auc-breast-cancer-c1",
    "relative-wine-1000",
    "relative-wine-1000-rbf",
    "relative-wine-hard",
    "relative-wine-hard-rbf",
    "relative-digits-2000",
    "triplets-wine-10x10-1e-2",
    "triplets-wine-10x10-intra-1e-2",
    "triplets-wine-10x10-diagonal-1e-2",
    "triplets-wine-10x10-1e-4",
    "pairs-wine-1000-trace",
    "pairs-wine-all",
    "pairs-wine-all-trace-margins",
    "pairs-wine-all-unbalanced",
    "large-margin-wine",
    "large-margin-wine-diagonal",
]


def text_of(name):
    return (PROBLEMS / f"{name}.toml").read_text(encoding="utf-8")


def test_the_library_has_what_it_promises():
    composed = {name for name in NAMES if cm.bench.load_instance(name).statement == "MetricProblem"}
    assert len(composed) >= 20
    wanted = {f"ranking-auc-{data}-c{C}" for data in ("wine", "breast-cancer") for C in (1, 100, 10000)}
    assert wanted | {"relative-webkb-topic-20000", "relative-digits-2000", *SMALL} <= set(NAMES)
    assert sorted(NAMES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_file_reads(name):
    instance = cm.bench.load_instance(name)
    assert instance.name == name
    assert instance.lower_bound <= instance.upper_bound
    # Only a reward for large distances, or a constant, takes an optimum below zero.
    assert instance.lower_bound > 0.0 or name.startswith("blocks") or instance.parameters["inter"] > 0.0
    if instance.open:
        # Both are known, and what was spent in vain.
        assert np.isfinite([instance.lower_bound, instance.upper_bound]).all()
        assert instance.how["processor_seconds"] > 0.0
    else:
        assert instance.gap <= max(1e-6, instance.how["tol"])
    hard = "isolet" in name or name.endswith("-trace") or "-zero-" in name
    assert instance.how["tol"] <= (1e-4 if hard else 1e-6)
    if instance.grade == "rigorous":
        # Proven in exact arithmetic, with next to nothing lost.
        slack = 1e-7 * abs(instance.upper_bound)
        assert instance.exact_lower >= instance.lower_bound - slack
        assert instance.exact_upper <= instance.upper_bound + slack
    assert f"{instance.lower_bound!r}" in str(instance)


def test_bounds_without_a_proof_are_of_grade_float():
    name = "ranking-auc-wine-c1"
    lines = text_of(name).splitlines()
    bare = "\n".join(line for line in lines if not line.startswith("exact"))
    assert read_instance("\n".join(lines), f"{name}.toml").grade == "rigorous"
    instance = read_instance(bare, f"{name}.toml")
    assert instance.grade == "float"
    assert str(instance).endswith("grade float")


def takes_seconds_to_state(name):
    """Text to be read, or more than a thousand points."""
    return "webkb" in name or cm.bench.load_instance(name).data["shape"][0] > 1000


def has_one_objective(problem, M):
    """Whether users' metric and the problem's variable are worth the same, or the message says what to pass."""
    try:
        given = problem.weights(M) if problem.cone.diagonal else problem.full_matrix(M)
        return problem.objective(given) == pytest.approx(problem.value(M), rel=1e-8)
    except InputError as error:
        return "pass" in str(error) or "use components" in str(error)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * takes_seconds_to_state(name)) for name in NAMES]
)
def test_every_problem_is_the_certified_one(name, request):
    instance = cm.bench.load_instance(name)
    if instance.needs_data_folder:
        request.getfixturevalue("data_folder")
    problem = instance.problem()
    if name.startswith("blocks"):
        assert repr(problem.cone) in repr(problem) or repr(problem.cone.d) in repr(problem)
    else:
        assert str(instance.data["shape"][0]) in str(problem)
    # Weak duality at the Euclidean metric.
    if np.isfinite(instance.parameters.get("C", 1.0)):
        assert problem.value(problem.cone.identity()) >= instance.lower_bound
    assert has_one_objective(problem, random_metric(np.random.default_rng(0), problem.cone, 1e-3))


@pytest.mark.integration
@pytest.mark.parametrize("name", SMALL)
def test_small_ones_solved_again_agree(name):
    instance = cm.bench.load_instance(name)
    solution = cm.solve(instance.problem())
    assert solution.status == "optimal"
    assert solution.lower_bound <= instance.upper_bound
    assert solution.upper_bound >= instance.lower_bound


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in SMALL and name not in OPEN])
def test_large_ones_solved_again_agree(name, data_folder):
    instance = cm.bench.load_instance(name)
    solution = cm.solve(instance.problem(), tol=max(1e-6, instance.how["tol"]))
    assert solution.lower_bound <= instance.upper_bound
    assert solution.upper_bound >= instance.lower_bound


def test_the_committed_table_is_current():
    spec = importlib.util.spec_from_file_location("certify", PROBLEMS / "certify.py")
    certify = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(certify)
    readme = (PROBLEMS / "README.md").read_text(encoding="utf-8")
    assert certify.with_table(readme) == readme


def test_the_page_says_of_every_open_one_why_it_is_hard():
    readme = (PROBLEMS / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## Open")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([a-z0-9-]+)`", section, re.M) == OPEN
    for name in OPEN:
        assert cm.bench.load_instance(name).how["why"] in section


def test_an_instance_is_open_as_long_as_its_bounds_are_far_apart():
    name = "ranking-auc-wine-c1"
    known = cm.bench.load_instance(name)
    # Without the proven bounds, which would have to agree.
    bare = "\n".join(line for line in text_of(name).splitlines() if not line.startswith("exact"))
    for share, is_open in ((1.002, True), (1.0005, False)):
        text = bare.replace(f"upper = {known.upper_bound!r}", f"upper = {known.upper_bound * share!r}")
        assert read_instance(text, f"{name}.toml").open is is_open


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="ranking-auc-wine-c1"):
        cm.load_problem("ranking-auc-wine-c2")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"RankingProblem.from_labels"', '"RankProblem"', "class must be one of"),
        (
            '"RankingProblem.from_labels"',
            '"RankingProblem.of_labels"',
            "constructor of RankingProblem must be one of",
        ),
        ('y = "y"', "", "the key 'y' is missing"),
        ("C = 1.0", "c = 1.0", "unknown key 'c'"),
        ("C = 1.0", 'C = "one"', "C must be a positive"),
        ("[178, 13]", '"178 x 13"', "shape must be a list"),
        ("lower = 0.23", "lower = 9.23", "lower must be at most upper"),
        ("[bounds]", "[bound]", "unknown key 'bound'"),
        ("[data]", "[data", "not valid TOML"),
    ],
)
def test_malformed_files_are_refused(old, new, message):
    text = text_of("ranking-auc-wine-c1")
    assert old in text
    with pytest.raises(InputError, match=message):
        read_instance(text.replace(old, new), "ranking-auc-wine-c1.toml").problem()


TRIPLETS = "triplets-wine-10x10-1e-2"
PROJECTED = f"""
[projection]
kind = "gaussian"
r = 5
seed = 0
sha256 = "{64 * "0"}"

[parameters]
projection = "projection"
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('y = "y"\nn_same = 10\nn_other = 10', 'adjacency = "adjacency"', "the key 'y' is missing"),
        ('labels"\nX = "X"\ny = "y"', 'graph"\nX = "X"\nadjacency = "adjacency"', "adjacency must"),
        ("n_other = 10", "n_other = 9", "what the problem found in the data here is not what was certified"),
        ("reg = ", "regs = ", "'regs' is not an option; did you mean 'reg'"),
        ("n_same = 10", "n_same = -1", "n_same must be a positive integer"),
        ("count = 17800", "count = 17801", "count is 17801, but there are 17800"),
        ("sha256 = ", "sha257 = ", "unknown key 'sha257'"),
        ("[parameters]", PROJECTED, "the map drawn here is not what was certified"),
        ("[parameters]", PROJECTED.replace("seed = 0\n", ""), "'seed' is missing"),
        ("[parameters]", PROJECTED.replace("gaussian", "normal"), "kind must be one of"),
    ],
)
def test_triplets_that_differ_from_the_certified_ones_are_refused(old, new, message):
    text = text_of(TRIPLETS)
    assert old in text
    with pytest.raises(InputError, match=message):
        read_instance(text.replace(old, new), f"{TRIPLETS}.toml").problem()


def test_no_number_of_neighbours_means_all():
    count = 59 * 58 * 119 + 71 * 70 * 107 + 48 * 47 * 130
    text = text_of(TRIPLETS).replace("= 10", '= "none"').replace("count = 17800", f"count = {count}")
    assert read_instance(text, f"{TRIPLETS}.toml").problem().count == count


def test_what_a_problem_finds_in_the_data_needs_a_hash():
    head, bounds = text_of(TRIPLETS).split("[found]")
    text = f"{head}[bounds]{bounds.split('[bounds]')[1]}"
    with pytest.raises(InputError, match=r"found in the data here is not what was certified: .* expected none"):
        read_instance(text, f"{TRIPLETS}.toml").problem()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("n_neighbors = 3", "n_neighbors = 2", "what the problem found in the data here is not what was certified"),
        ("n_neighbors = 3", "n_neighbors = 0", "n_neighbors must be a positive integer"),
        ("push = 0.5", "push = 1.5", "push must be below 1"),
        ("push = 0.5", "mu = 0.5", "unknown key 'mu'"),
        ("count = 62574", "count = 62575", "count is 62575, but there are 62574"),
    ],
)
def test_large_margins_that_differ_from_the_certified_ones_are_refused(old, new, message):
    text = text_of("large-margin-wine")
    assert old in text
    with pytest.raises(InputError, match=message):
        read_instance(text.replace(old, new), "large-margin-wine.toml").problem()


PAIRS = "pairs-wine-1000-margins"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[pairs]", "[pair]", "unknown key 'pair'; did you mean 'pairs'"),
        ("seed = 0\n", "", "the key 'seed' is missing"),
        ("count = 1000", "counts = 1000", "unknown key 'counts'; did you mean 'count'"),
        ("count = 1000", 'count = "all"', "count must be a int"),
        ("count = 1000", "count = 0", "n_pairs must be a positive integer"),
        ("seed = 0", "seed = -1", "random_state must be"),
        ("count = 1000", "count = 999", "the pairs drawn here are not what was certified"),
        ("seed = 0", "seed = 1", "the pairs drawn here are not what was certified"),
        ("margin = [0.5, 1.5]", "margin = [0.5]", "margin must be a number, or two"),
        ("margin = [0.5, 1.5]", 'penalty = "spectral"', "penalty must be one of"),
        ("margin = [0.5, 1.5]", 'kernel = "gaussian"', "kernel must be 'linear', 'rbf', 'unit-rbf'"),
        ("reg = 0.005", "C = 0.005", "unknown key 'C'"),
    ],
)
def test_pairs_that_differ_from_the_certified_ones_are_refused(old, new, message):
    text = text_of(PAIRS)
    assert old in text
    with pytest.raises(InputError, match=message):
        read_instance(text.replace(old, new), f"{PAIRS}.toml").problem()


def test_pairs_are_stated_as_their_file_says():
    problem = cm.load_problem(PAIRS)
    assert (problem.reg, problem.margin, problem.norm, problem.m) == (0.005, (0.5, 1.5), "frobenius", 1000)
    n, counts = 178, np.array([59, 71, 48])
    same = int((counts * (counts - 1)).sum()) // 2
    for name, others_weight in (
        ("pairs-wine-all", 0.5),
        ("pairs-wine-all-unbalanced", 1.0 - same / (n * (n - 1) // 2)),
    ):
        problem = cm.load_problem(name)
        assert (problem.pairs, problem.n_similar) == (None, same)
        # At A = 0 similar pairs cost nothing with margin 1, others 2.
        assert problem.value(problem.cone.zeros()) == pytest.approx(2.0 * others_weight, rel=1e-12)


def test_links_are_the_certified_ones(data_folder):
    name = "triplets-webkb-linqs-a-1e-2"
    for old, new, message in (
        ("[877, 1703]", "[800, 1703]\nrows = 800", "adjacency must"),
        ('[found]\ncount = 2371744\nsha256 = "', '[found]\ncount = 2371744\nsha256 = "0', "what the problem found"),
    ):
        text = text_of(name)
        assert old in text
        with pytest.raises(InputError, match=message):
            read_instance(text.replace(old, new), f"{name}.toml").problem()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[extras]", "[extra]", "unknown key 'extra'"),
        ('text = ["zscore"]', 'sound = ["zscore"]', "a key must be one of"),
        ('text = ["zscore"]', 'text = ["centre"]', "what the problem found in the data here is not what was certified"),
        ('parts = ["train"]', 'parts = ["test"]', r"shape is \[2173, 128\], but"),
        ("count = 97785", "count = 97784", "count is 97784, but there are 97785"),
        ("random_state = 0", "random_state = 1", "what the problem found in the data here is not what was certified"),
        ("[2173, 128]", "[2173, 10]", r"shape is \[2173, 10\], but"),
    ],
)
def test_modalities_that_differ_from_the_certified_ones_are_refused(old, new, message, data_folder):
    name = "cross-modal-wikipedia-image-text-a86-b7.1"
    text = text_of(name)
    assert old in text
    with pytest.raises(InputError, match=message):
        read_instance(text.replace(old, new), f"{name}.toml").problem()


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("ranking-auc-wine-c1", "data set"),
        ("relative-wine-1000", "triplets drawn here"),
        ("large-margin-wine", "problem found in the data here"),
        ("pairs-wine-1000", "pairs drawn here"),
    ],
)
def test_other_data_are_not_compared_with_the_bounds(name, what):
    text = text_of(name)
    start = text.rindex('sha256 = "') + len('sha256 = "')
    forged = text[:start] + ("0" if text[start] != "0" else "1") + text[start + 1 :]
    with pytest.raises(InputError, match=what):
        read_instance(forged, f"{name}.toml").problem()
