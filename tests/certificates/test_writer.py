"""The writer of certificates, the command that checks them, and the exact bounds of the instance library."""

import copy
import importlib.util
import json
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from time import process_time

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
import second_checker
from catalogue import cases, instance
from forgery import claim, opened, written
from samples import random_cut_dual, random_metric, random_triplets, some

import convexmetric as cm
from convexmetric.certificates import (
    as_rational,
    checker,
    describe,
    dual_points,
    kernel,
    statement,
    verify_instance,
    writer,
)
from convexmetric.certificates.dual_points import hinge_sums
from convexmetric.certificates.instances import difference
from convexmetric.comparisons import PairDistances, Rankings, Relevance, Triplets
from convexmetric.cones import AllMatrices, BlockDiagonal, NonnegativeDiagonal, PSDCone
from convexmetric.datasets import load
from convexmetric.errors import GapWarning, InputError
from convexmetric.losses import BoxLoss, Hinge, Logistic
from convexmetric.measures import AUC, ReciprocalRank, measure_named
from convexmetric.regularizers import EntrywiseL1, QuadraticForm, SquaredFrobenius, Trace, Zero
from convexmetric.risks import (
    ChoiceRisk,
    LogisticRankingRisk,
    PairwiseRisk,
    RankingRisk,
    SeparableRisk,
    SmoothSeparableRisk,
    SoftmaxRisk,
    SumRisk,
    Worst,
)

PROBLEMS = Path(__file__).resolve().parents[2] / "problems"
WINE = "ranking-auc-wine-c1"


@pytest.mark.parametrize(
    ("value", "rational"),
    [
        (0.01, Fraction(1, 100)),
        (1e-4, Fraction(1, 10**4)),
        (10000.0, Fraction(10000)),
        (1.0 / 519_000_000, Fraction(1, 519_000_000)),
        (2.0 / 3.0, Fraction(2, 3)),
        (1.0 / (1.5 * 1777), Fraction(2, 3 * 1777)),
        (0.1 + 0.2, Fraction(3, 10)),
        (np.pi, Fraction(np.pi)),
    ],
)
def test_parameters_are_the_rationals_they_were_typed_as(value, rational):
    assert as_rational(value) == rational
    assert abs(float(as_rational(value)) - value) <= 2 * np.spacing(value)


@pytest.mark.parametrize("name", cases(without=("barrier", "user terms", "user blocks")))
def test_any_metric_and_any_dual_point_make_a_certificate_that_holds(name, tmp_path):
    """Not only solutions: random ones, whose bounds agree with the package's float ones."""
    problem, rng = instance(name), np.random.default_rng(4)
    if isinstance(problem.risk, SeparableRisk) and problem.risk.loss.hard:
        pytest.skip("cuts of hard margins have no finite slopes")
    M = random_metric(rng, problem.cone)
    duals = [random_cut_dual(rng, problem)]
    statement = isinstance(problem.risk, PairwiseRisk | SeparableRisk) or (
        isinstance(problem.risk, RankingRisk) and problem.risk.measure.pairwise
    )
    if statement and not isinstance(problem.risk, SmoothSeparableRisk):
        size = problem.risk.parts
        if isinstance(problem.risk, PairwiseRisk):
            size = int(problem.risk.pairs.sum())
        elif isinstance(problem.risk, RankingRisk):
            size = int(problem.risk.pairs.pairs.sum())
        duals.append(0.05 * rng.standard_normal(size))
    for dual in duals:
        certificate = cm.certify(problem, M, dual)
        if certificate.lower_bound == -np.inf:
            with pytest.raises(InputError, match="nothing is proven"):
                cm.write_certificate(tmp_path / "c.npz", problem, solution=certificate)
            continue
        verdict = cm.write_certificate(tmp_path / "c.npz", problem, solution=certificate)
        scale = max(1.0, abs(certificate.upper_bound))
        assert float(verdict.upper) == pytest.approx(certificate.upper_bound, rel=1e-9, abs=1e-12)
        # At ties the checker may choose another ranking, and for quadratic forms another z; both are valid.
        assert float(verdict.lower) >= min(certificate.lower_bound, 0.0) - 1e-9 * scale
        assert float(verdict.lower) <= float(verdict.upper)


@pytest.mark.parametrize("measure", ["auc", "precision", "map", "mrr", "err", "ndcg", "ndcg-log2", "knn"])
@pytest.mark.parametrize("diagonal", some([False, True], 1))
def test_every_measure_is_proven_as_well_as_it_is_solved(measure, diagonal, tmp_path):
    data = load("wine")
    X = cm.datasets.preprocess(data.X, ["zscore"])[::5]
    for C in (1.0, 50.0):
        problem = cm.RankingProblem.from_labels(X, data.y[::5], measure=measure, C=C, diagonal=diagonal)
        solution = cm.solve(problem, tol=1e-6)
        verdict = cm.write_certificate(tmp_path / "c.npz", problem, solution=solution)
        assert verdict.accepted
        assert float(verdict.lower) == pytest.approx(solution.lower_bound, rel=1e-9)
        assert float(verdict.upper) == pytest.approx(solution.upper_bound, rel=1e-9)


@pytest.mark.parametrize("measure", ["precision", "knn", "ndcg", "ndcg-log2"])
def test_measures_of_more_places_than_items_are_proven_as_stated(measure, tmp_path):
    """Queries with fewer than k irrelevant items, fewer than k relevant ones, and fewer of both."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((12, 3))
    relevant, irrelevant = [[1, 2, 3, 4], [5, 6], [7], [8, 9, 10]], [[5, 6], [0, 2, 3, 4, 7], [8, 9], [0]]
    for C in (1.0, 50.0):
        problem = cm.RankingProblem(
            X, relevant, irrelevant=irrelevant, queries=X[[0, 1, 10, 11]], measure=measure, k=3, C=C
        )
        solution = cm.solve(problem, tol=1e-6)
        assert solution.gap <= 1e-6 * max(1.0, solution.upper_bound)
        verdict = cm.write_certificate(tmp_path / "c.npz", problem, solution=solution)
        assert verdict.accepted
        assert float(verdict.lower) == pytest.approx(solution.lower_bound, rel=1e-9)
        assert float(verdict.upper) == pytest.approx(solution.upper_bound, rel=1e-9)
        M = rng.standard_normal((3, 3))
        M = 0.1 * M @ M.T
        verdict = cm.write_certificate(
            tmp_path / "c.npz", problem, solution=cm.certify(problem, M, solution.certificate.dual)
        )
        assert float(verdict.upper) == pytest.approx(problem.value(M), rel=1e-9)


def test_multipliers_of_pairs_and_of_logistic_losses_are_kept(tmp_path):
    for name in ("triplets, neighbours", "cross-modal, representatives", "psd logistic, trace"):
        problem = instance(name)
        risk = problem.risk
        solution = cm.solve(problem)
        if isinstance(risk, PairwiseRisk):
            comparisons = risk.listed().comparisons
            u = risk.weights[0] * (comparisons.forward(solution.certificate.M) < risk.margin)
        else:
            comparisons = risk.listed().comparisons if isinstance(risk, LogisticRankingRisk) else risk.comparisons
            assert isinstance(risk.loss, Logistic)
            u = risk.loss.subgradient(comparisons.forward(solution.certificate.M))
        certificate = cm.certify(problem, solution.certificate.M, u)
        verdict = cm.write_certificate(tmp_path / "c.npz", problem, solution=certificate)
        assert float(verdict.lower) == pytest.approx(certificate.lower_bound, rel=1e-9)


@pytest.mark.parametrize("name", cases(without=("user terms", "user blocks")))
def test_a_description_is_of_the_problem_and_not_of_its_solution(name, tmp_path):
    path, problem = tmp_path / "c.npz", instance(name)
    table, _ = describe(problem)
    assert json.loads(json.dumps(table)) == table
    cm.write_certificate(path, problem, solution=cm.solve(problem, tol=0.1))
    assert difference(*checker.read(path), *describe(problem)) == ("", 0.0)
    other = instance(name, seed=1)
    assert difference(*checker.read(path), *describe(other))[0]


def test_an_array_too_much_is_no_description(tmp_path):
    path, problem = tmp_path / "c.npz", instance("triplets, labels")
    cm.write_certificate(path, problem, solution=cm.solve(problem, tol=0.1))
    contents = opened(path)
    contents[1]["query_weights"] = np.ones(3)
    with pytest.raises(checker.CertificateError):
        cm.verify(written(path, contents))
    with pytest.raises(checker.CertificateError):
        difference(*checker.read(path), *describe(problem))


def test_arrays_of_an_instance_are_equal_bit_for_bit(tmp_path):
    path = tmp_path / "c.npz"
    problem = instance("triplets, labels")
    verdict = cm.write_certificate(path, problem, solution=cm.solve(problem, tol=1e-3))
    assert verify_instance(path, problem)[0].sha256 == verdict.sha256
    contents = opened(path)
    for size, tolerance, same in ((1e-15, 0.0, False), (1e-15, 1e-14, True), (1e-7, 1e-8, False), (1e-7, 1e-6, True)):
        document, arrays = contents
        points = arrays["points"] + size * np.abs(arrays["points"]).max()
        changed = written(tmp_path / "other.npz", (document, arrays | {"points": points}))
        what, off = difference(*checker.read(changed), *describe(problem), tolerance=tolerance)
        assert off == pytest.approx(size, rel=0.5)
        assert what == ("" if same else "the array points")
        if same:
            # The proof is about the points of the problem, not about those of the file.
            shown, deviation = verify_instance(changed, problem, tolerance=tolerance)
            assert (shown.sha256, deviation) == (verdict.sha256, off)
            assert (shown.lower, shown.upper) == (verdict.lower, verdict.upper)
        else:
            with pytest.raises(checker.CertificateError, match="another problem: what differs is the array points"):
                verify_instance(changed, problem, tolerance=tolerance)
    zeros = {"points": np.where(contents[1]["points"] == 0.0, -0.0, contents[1]["points"])}
    zeros["points"][0, 0] = -0.0
    assert difference(contents[0], contents[1] | zeros, *describe(problem))[0]
    for wrong in (-1.0, 1.0, np.nan):
        with pytest.raises(InputError, match="tolerance"):
            verify_instance(path, problem, tolerance=wrong)


def moved(problem, weights, size):
    """The same comparisons of points moved by a share of the largest coordinate so that hinges grow the most."""
    X, (i, j, k) = problem.risk.comparisons.X, problem.risk.comparisons.triplets.T
    active = problem.risk.comparisons.forward(weights) < 1.0
    slope = np.zeros_like(X)
    for points, change in ((i, X[k] - X[j]), (j, X[j] - X[i]), (k, X[i] - X[k])):
        np.add.at(slope, points[active], change[active] * weights)
    return cm.RelativeComparisonProblem(
        X + size * np.abs(X).max() * np.sign(slope), np.column_stack([i, j, k]), C=problem.C
    )


def test_points_moved_a_little_prove_nothing_about_the_instance(tmp_path, command):
    """By 1e-9 of the largest coordinate: what is proven of them is more than the instance's optimum."""
    name, path = "relative-wine-1000", tmp_path / "c.npz"
    problem = cm.load_problem(name)
    true = cm.write_certificate(tmp_path / "true.npz", problem, solution=cm.solve(problem, tol=1e-10))
    other = moved(problem, cm.solve(problem).certificate.M, 1e-9)
    false = cm.write_certificate(
        path, other, solution=cm.solve(other, tol=1e-10), title=cm.bench.load_instance(name).title
    )
    assert false.lower > true.upper
    code, out, error = command("verify", path, "--instance", name)
    assert (code, out) == (2, "")
    assert error.startswith("refused: it is about another problem: what differs is the array points")
    code, out, _ = command("verify", path, "--instance", name, "--instance-tolerance", "2e-9")
    assert code == 1
    assert "NOT accepted: the lower bound claimed is larger" in out
    assert "differ by up to 1.0e-09" in out
    # With claims that allow for it the file proves bounds about the instance, from its hints.
    slack = Fraction(1, 10**6) * true.upper
    written(path, claim(opened(path), false.lower - slack, false.upper + slack))
    code, out, _ = command("verify", path, "--instance", name, "--instance-tolerance", "2e-9", "--json")
    record = json.loads(out)
    assert code == 0
    assert record["deviation"] == pytest.approx(1e-9, rel=1e-3)
    assert record["sha256"] == true.sha256
    assert Fraction(record["lower"]) <= true.upper
    assert Fraction(record["upper"]) >= true.lower
    assert Fraction(record["lower_decimal"]) <= Fraction(record["lower"])
    assert Fraction(record["upper_decimal"]) >= Fraction(record["upper"])
    assert command("verify", path, "--instance-tolerance", "1e-9")[0] == 2


@pytest.mark.filterwarnings("ignore::convexmetric.errors.GapWarning")
def test_blocks_that_the_page_leaves_out_are_refused(tmp_path):
    """The table of ``docs/certificates.md``."""
    X, y = np.random.default_rng(0).normal(size=(9, 2)), np.arange(9) % 3
    full, blocks, free, own = PSDCone(2), BlockDiagonal((1, 1)), AllMatrices(2), [[0, 3, 1], [1, 4, 2]]
    triplets, choices = (lambda cone: SeparableRisk(Triplets(X, own, cone), Hinge(1.0))), cm.ChoiceProblem(X, own).risk
    rankings = RankingRisk(Rankings(X, X, Relevance.from_labels(y), free), measure_named("auc"), C=1.0)
    worst_of = cm.PairMarginProblem.from_labels(X, y).risk, choices, triplets(full) + choices
    norm, few = SquaredFrobenius(1.0), {"constraints": lambda M: [cp.sum(M) <= 5.0]}
    for problem, message in [
        *((cm.MetricProblem(Worst(risk, 0.5), norm), "worst parts|listed choices") for risk in worst_of),
        *((cm.MetricProblem(rankings, omega), "all matrices") for omega in (Zero(), EntrywiseL1(1.0))),
        (cm.MetricProblem(rankings, norm).subject_to(**few), "terms of your own are proven on"),
        (cm.MetricProblem(triplets(blocks), norm).subject_to(**few), "terms of your own are proven on"),
    ]:
        solution = cm.solve(problem, tol=1e-2, max_seconds=2.0)
        assert solution.upper_bound < np.inf
        with pytest.raises(InputError, match=message):
            cm.write_certificate(tmp_path / "refused.npz", solution)


def test_only_what_is_known_exactly_is_described():
    """Classes derived from those of the package may compute something else."""
    triplets, ranking = instance("psd triplets, trace"), instance("ranking from labels")
    pairs, logistic = instance("pairs, all, trace, unit-rbf, margin 1.0"), instance("psd logistic, trace")

    def derived(part):
        made = copy.copy(part)
        object.__setattr__(made, "__class__", type(f"Other{type(part).__name__}", (type(part),), {}))
        return made

    for problem, path in (
        (ranking, ("risk", "measure")),
        (ranking, ("risk", "rankings")),
        (ranking, ("risk",)),
        (ranking, ("regularizer",)),
        (triplets, ("risk", "loss")),
        (triplets, ("risk", "comparisons")),
        (triplets, ("risk", "cone")),
        (logistic, ("risk", "loss")),
        (pairs, ("risk", "same")),
    ):
        describe(problem)
        changed = owner = copy.copy(problem)
        for name in path[:-1]:
            setattr(owner, name, copy.copy(getattr(owner, name)))
            owner = getattr(owner, name)
        part = derived(getattr(owner, path[-1]))
        setattr(owner, path[-1], part)
        with pytest.raises(InputError, match=f"do not know a {type(part).__name__}"):
            describe(changed)

    class Doubled(cm.MetricProblem):
        def value(self, M):
            return 2.0 * super().value(M)

    with pytest.raises(InputError, match="value of a Doubled"):
        describe(Doubled(triplets.risk, triplets.regularizer))


def test_hinges_that_are_linear_are_described_where_they_are_never_off(tmp_path):
    rng = np.random.default_rng(0)
    X, one = rng.standard_normal((6, 2)), np.ones(3)
    pairs, triplets = np.array([[0, 1], [2, 3], [4, 5]]), np.array([[0, 1, 2], [2, 3, 4], [4, 5, 0]])

    def problem(comparisons, margins):
        loss = BoxLoss.hinge(one, margins, np.ones(3, dtype=bool))
        return cm.MetricProblem(SeparableRisk(comparisons, loss), Trace(0.1))

    known = problem(PairDistances(X, pairs, -one, PSDCone(2)), one)
    assert describe(known)[0]["risk"]["terms"][0]["loss"] == "hinge"
    for comparisons, margins in (
        (PairDistances(X, pairs, -one, PSDCone(2)), -one),
        (PairDistances(X, pairs, one, PSDCone(2)), one),
        (Triplets(X, triplets, PSDCone(2)), one),
    ):
        terms = describe(problem(comparisons, margins))[0]["risk"]["terms"]
        assert {(term["loss"], term["low"], term["high"], term["curvature"]) for term in terms} == {
            ("box", "1", "1", "0")
        }


def test_a_constant_is_described(tmp_path):
    problem = instance("psd triplets, trace")
    solution = cm.solve(problem)
    plain = cm.write_certificate(tmp_path / "c.npz", problem, solution=solution)
    problem.constant = -2.5
    assert describe(problem)[0]["constant"] == "-5/2"
    shifted = cm.write_certificate(tmp_path / "c.npz", problem, solution=solution)
    assert float(shifted.lower - plain.lower) == pytest.approx(-2.5, rel=1e-14)
    assert cm.verify(tmp_path / "c.npz").accepted


def test_what_cannot_be_proven_is_said(tmp_path):
    problem = instance("triplets, labels")
    solution = cm.solve(problem)
    path = tmp_path / "c.npz"
    terms = cm.solve(problem, constraints=lambda M: [cp.trace(M) <= 1.0], tol=1e-4)
    with pytest.raises(InputError, match="pass the solution alone"):
        cm.write_certificate(path, problem, solution=terms)
    for wrong, message in (
        (tmp_path / "c.txt", "saved as .npz"),
        (tmp_path / "nowhere" / "c.npz", "no folder"),
    ):
        with pytest.raises(InputError, match=message):
            cm.write_certificate(wrong, problem, solution=solution)
    with pytest.raises(InputError, match="title"):
        cm.write_certificate(path, problem, solution=solution, title="two\nlines")
    with pytest.raises(InputError, match="MetricProblem"):
        cm.write_certificate(path, 3.0, solution=solution)
    with pytest.raises(InputError, match="Solution or a Certificate"):
        cm.write_certificate(path, problem, solution=3.0)
    nothing = cm.certify(problem, solution.M, np.full(int(problem.risk.pairs.sum()), np.nan))
    with pytest.raises(InputError, match="NaN"):
        cm.write_certificate(path, problem, solution=nothing)
    assert not path.exists()


def test_the_same_certificate_has_the_same_bytes(tmp_path):
    problem = instance("triplets, labels")
    solution = cm.solve(problem)
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    for file in files:
        cm.write_certificate(file, problem, solution=solution)
    assert files[0].read_bytes() == files[1].read_bytes()


# The command


def test_solve_writes_what_verify_accepts(command, tmp_path):
    # Skipped where the library of instances is missing (conftest.py).
    cm.bench.load_instance(WINE)
    path = tmp_path / "wine.npz"
    code, _, error = command("solve", WINE, "-q", "--certificate", path)
    assert code == 0
    assert "accepted" in error
    code, out, _ = command("verify", path, "--instance", WINE)
    assert code == 0
    assert "accepted" in out
    code, out, _ = command("verify", path, "--json")
    record = json.loads(out)
    assert code == 0
    assert record["accepted"]
    assert Fraction(record["lower"]) <= Fraction(record["upper"])
    assert record["lower"] == record["claimed_lower"]
    instance = cm.bench.load_instance(WINE)
    assert Fraction(record["lower"]) <= instance.upper_bound
    assert Fraction(record["upper"]) >= instance.lower_bound
    # Another instance, another claim, no certificate, no folder.
    code, _, error = command("verify", path, "--instance", "ranking-auc-wine-c100")
    assert code == 2
    assert "another problem" in error
    verdict = cm.verify(path)
    written(path, claim(opened(path), verdict.upper, verdict.upper))
    code, out, _ = command("verify", path)
    assert code == 1
    assert "NOT accepted" in out
    path.write_text("nothing")
    assert command("verify", path)[0] == 2
    assert command("verify", tmp_path / "nowhere.npz")[0] == 2
    assert command("solve", WINE, "-q", "--certificate", tmp_path / "c.txt")[0] == 2


# The library


def test_exact_bounds_of_the_library_are_near_the_float_ones():
    known = [one for one in map(cm.bench.load_instance, cm.bench.list_problems()) if one.exact_lower is not None]
    assert known
    for one in known:
        assert one.exact_lower <= one.exact_upper
        scale = max(abs(one.lower_bound), abs(one.upper_bound))
        assert abs(float(one.exact_lower) - one.lower_bound) <= 1e-7 * scale
        assert abs(float(one.exact_upper) - one.upper_bound) <= 1e-7 * scale


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('exact_lower = "{lower}"', "come together"),
        ('exact_lower = "{lower}"\nexact_upper = "x"', "rationals"),
        ('exact_lower = "{lower}"\nexact_upper = "1/0"', "rationals"),
        ('exact_lower = 0.2\nexact_upper = "{upper}"', "must be a str"),
        ('exact_lower = "{upper}"\nexact_upper = "{lower}"', "at most"),
        ('exact_lower = "0"\nexact_upper = "{upper}"', "but for rounding"),
    ],
)
def test_exact_bounds_are_checked(lines, message):
    text = (PROBLEMS / f"{WINE}.toml").read_text(encoding="utf-8")
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("exact_"))
    instance = cm.bench.read_instance(text, f"{WINE}.toml")
    assert (instance.exact_lower, instance.exact_upper) == (None, None)
    ends = {"lower": str(Fraction(instance.lower_bound)), "upper": str(Fraction(instance.upper_bound))}
    right = f'{text}exact_lower = "{ends["lower"]}"\nexact_upper = "{ends["upper"]}"\n'
    assert cm.bench.read_instance(right, f"{WINE}.toml").exact_lower == Fraction(instance.lower_bound)
    with pytest.raises(InputError, match=message):
        cm.bench.read_instance(text + lines.format(**ends) + "\n", f"{WINE}.toml")


def test_certificates_of_a_folder_are_proven_again(tmp_path, monkeypatch):
    found = cm.bench.load_instance(WINE)
    spec = importlib.util.spec_from_file_location("certify", PROBLEMS / "certify.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    problem = cm.load_problem(WINE)
    verdict = cm.write_certificate(tmp_path / f"{WINE}.npz", problem, solution=cm.solve(problem, tol=1e-4))
    assert script.verify(WINE, tmp_path) == "it claims other bounds than the file"
    same = replace(found, exact_lower=verdict.lower, exact_upper=verdict.upper)
    monkeypatch.setattr(script.cm.bench, "load_instance", lambda name: same)
    assert script.verify(WINE, tmp_path) == ""
    other = cm.load_problem("ranking-auc-wine-c100")
    cm.write_certificate(tmp_path / f"{WINE}.npz", other, solution=cm.solve(other, tol=1e-3))
    assert "another problem" in script.verify(WINE, tmp_path)
    (tmp_path / f"{WINE}.npz").write_text("nothing")
    assert "no certificate" in script.verify(WINE, tmp_path)


def test_a_foreign_file_is_limited_before_it_is_compared(tmp_path):
    """All pairs of 10,000 points, which are listed a block at a time, in a file of some kilobytes."""
    path, problem = tmp_path / "c.npz", instance("pairs, all, trace, unit-rbf, margin 1.0")
    cm.write_certificate(path, problem, solution=cm.solve(problem, tol=1e-3))
    document, arrays = opened(path)
    n, d = 10_000, arrays["points"].shape[1]
    arrays |= {"points": np.zeros((n, d)), "codes": np.zeros(n, dtype=np.int64)}
    written(path, (document, arrays))
    start = process_time()
    for tolerance in (0.0, 1e-9):
        with pytest.raises(checker.CertificateError, match="another problem"):
            verify_instance(path, problem, tolerance=tolerance)
    assert process_time() - start < 5.0


def threshold(price):
    """Triplets of raw wine with a learned threshold beside the metric, which costs ``price`` of what the trace does."""
    X, y = (getattr(load("wine"), name) for name in ("X", "y"))
    (n, d), pairs = X.shape, np.random.default_rng(0).integers(0, len(X), (300, 2))
    points = np.hstack([np.vstack([X, X]), np.repeat([[0.0], [1.0]], n, axis=0)])
    triplets = [(i, j, n + i) if y[i] == y[j] else (i, n + i, j) for i, j in pairs if i != j]
    comparisons = Triplets(points, triplets, BlockDiagonal([d, 1]))
    G = np.zeros((d + 1, d + 1))
    G[d, d] = -(1.0 - price)
    return cm.MetricProblem(SeparableRisk(comparisons, Hinge(1.0)), Trace(1.0), G=G)


def test_a_cheap_variable_is_proven_beside_large_ones(tmp_path):
    problem = threshold(1e-9)
    solution = cm.solve(problem, tol=1e-6)
    with warnings.catch_warnings(action="error"):
        verdict = cm.write_certificate(tmp_path / "c.npz", problem, solution=solution)
    # Rounding takes less than the gap that was asked for.
    assert verdict.gap < 2e-6


def test_a_proof_that_is_weaker_than_the_solution_is_warned_of(tmp_path):
    """Half of the slopes prove a bound, but less."""
    problem = instance("psd triplets, trace")
    solution = cm.solve(problem, tol=1e-6)
    honest = solution.certificate
    weaker = cm.certify(problem, honest.M, 0.5 * np.asarray(honest.dual))
    with pytest.warns(GapWarning, match=r"a relative gap of .* where the solution's is") as caught:
        verdict = cm.write_certificate(tmp_path / "c.npz", problem, solution=replace(honest, dual=weaker.dual))
    assert f"{verdict.gap:.1e}" in str(caught[0].message)
    assert f"{honest.gap:.1e}" in str(caught[0].message)
    with warnings.catch_warnings(action="error"):
        assert cm.write_certificate(tmp_path / "c.npz", problem, solution=weaker).gap == pytest.approx(
            weaker.gap, rel=1e-6
        )


def test_solutions_and_estimators_bring_their_problem(tmp_path):
    iris, path = load("iris"), tmp_path / "c.npz"
    estimator = cm.MLR(measure="auc", C=10.0, tol=1e-4)
    with pytest.raises(InputError, match="this MLR has no solution_"):
        cm.write_certificate(path, estimator)
    solution = estimator.fit(iris.X, iris.y).solution_
    verdicts = [
        cm.write_certificate(path, given, **of)
        for given, of in (
            (estimator, {}),
            (solution, {}),
            (solution.problem, {"solution": estimator}),
            (solution.problem, {"solution": solution}),
        )
    ]
    assert len({(verdict.lower, verdict.upper, verdict.sha256) for verdict in verdicts}) == 1
    assert verdicts[0].gap == pytest.approx(solution.gap, rel=1e-6)
    with pytest.raises(InputError, match="solution is missing"):
        cm.write_certificate(path, solution.problem)
    with pytest.raises(InputError, match="problem must be a MetricProblem, a Solution or a fitted estimator, got dict"):
        cm.write_certificate(path, {})


def test_a_certificate_says_on_which_coordinates_it_is(tmp_path):
    iris, path = load("iris"), tmp_path / "c.npz"
    problem = cm.LargeMarginProblem(iris.X, iris.y)
    cm.write_certificate(path, cm.solve(problem, tol=1e-4))
    title = cm.verify(path).title
    assert title.startswith(
        "Large margin nearest neighbours (Weinberger & Saul 2009); M' = K^T M K on the points K^+ x"
    )
    _, arrays = opened(path)
    points = (iris.X - iris.X.mean(axis=0)) @ problem.whitening.T
    np.testing.assert_allclose(arrays["points"], points, atol=1e-12)
    assert "coordinates" not in cm.write_certificate(path, cm.MLR(measure="auc", tol=1e-2).fit(iris.X, iris.y)).title
    wide = cm.RankingProblem.from_labels(iris.X, iris.y, kernel="rbf", measure="auc")
    title = cm.write_certificate(path, cm.solve(wide, tol=1e-2)).title
    assert title.endswith("; W on coordinates of the points' span, problem.span")


def _held_by_data(kind, seed):
    """Risks that alone keep metrics small, whose dual points are at the border of feasibility."""
    rng, y = np.random.default_rng(seed), np.arange(10) % 3
    cone = (PSDCone, NonnegativeDiagonal)[rng.integers(2)](1 if kind == "boxes" else int(rng.integers(1, 4)))
    X = rng.standard_normal((10, cone.d))
    rankings = Rankings(X, X + 0.1, Relevance.between(y, y), cone)
    triplets = Triplets(X, random_triplets(rng, 10, 20), cone)
    pairs = PairDistances(X, np.array([rng.choice(10, 2, replace=False) for _ in range(36)]), np.ones(36), cone)
    boxes = BoxLoss(rng.standard_normal(20), -rng.random(20), rng.random(20), np.full(20, 0.1 * (seed % 2)))
    hinges = SeparableRisk(triplets, Hinge(0.5))
    risks = {
        "boxes": lambda: SeparableRisk(triplets, boxes),
        "choices": lambda: ChoiceRisk(pairs, 3, temperature=1.0),
        "softmax": lambda: SoftmaxRisk(rankings, 1.0, 0.5),
        "auc": lambda: RankingRisk(rankings, AUC(), 5.0),
        "worst of mrr": lambda: Worst(RankingRisk(rankings, ReciprocalRank(), 5.0), 0.5),
        "worst of hinges": lambda: SumRisk(Worst(hinges, 0.3), hinges),
    }
    return cm.MetricProblem(risks[kind](), Zero())


@pytest.mark.parametrize("kind", ["boxes", "choices", "softmax", "auc", "worst of mrr", "worst of hinges"])
def test_what_the_data_alone_hold_is_proven_as_well_as_it_is_solved(kind, tmp_path):
    closed = 0
    for seed in range(8):
        with warnings.catch_warnings(action="ignore", category=GapWarning):
            solution = cm.solve(_held_by_data(kind, seed), tol=1e-7)
        if solution.status == "optimal":
            closed += 1
            verdict = cm.write_certificate(tmp_path / "c.npz", solution)
            assert verdict.accepted
            assert verdict.gap <= max(2.0 * solution.gap, 1e-7)
    assert closed >= 4


@pytest.mark.parametrize("tol", some([1e-5, 1e-6, 1e-8], 1))
def test_a_linear_term_that_the_data_alone_hold_is_proven(tol, tmp_path):
    solution = cm.solve("blocks-linear-held-iris", tol=tol)
    assert cm.write_certificate(tmp_path / "c.npz", solution).gap <= 1.1 * tol


def _linkage(seed, loss, cone_of, reg):
    """Pairs told apart by a threshold on weighted features, a further coordinate that costs nothing."""
    rng, (m, k) = np.random.default_rng(seed), (60, 3)
    F = rng.uniform(size=(m, k))
    alike = F @ np.linspace(1.0, 0.2, k) + 0.2 * rng.standard_normal(m) < 0.8
    points, cone = np.zeros((m + 2, k + 1)), cone_of(k + 1)
    points[1, k], points[2:, :k] = 1.0, np.sqrt(F)
    triplets = np.array([[0, i + 2, 1] if one else [0, 1, i + 2] for i, one in enumerate(alike)])
    G = -reg * np.eye(k + 1)[k] if cone.diagonal else -reg * np.diag(np.eye(k + 1)[k])
    risk = SeparableRisk if isinstance(loss, Hinge) else SmoothSeparableRisk
    return cm.MetricProblem(risk(Triplets(points, triplets, cone), loss), Trace(reg), G=G), (F, alike)


@pytest.mark.parametrize("reg", [0.003, 0.01])
@pytest.mark.parametrize("cone", [NonnegativeDiagonal, PSDCone])
@pytest.mark.parametrize("loss", [Hinge(1 / 60), Logistic(1 / 60)])
def test_a_coordinate_that_costs_nothing_is_proven(loss, cone, reg, tmp_path):
    """Its slope must be zero exactly, or less by as little as is accepted."""
    for seed in range(3):
        problem, (F, alike) = _linkage(seed, loss, cone, reg)
        solution = cm.solve(problem, tol=1e-6)
        assert solution.status == "optimal"
        verdict = cm.write_certificate(tmp_path / "c.npz", solution)
        assert cm.verify(tmp_path / "c.npz").accepted
        assert verdict.gap <= 2e-6
    if cone is NonnegativeDiagonal:
        w, b = cp.Variable(3, nonneg=True), cp.Variable(nonneg=True)
        s = cp.multiply(np.where(alike, 1.0, -1.0), b - F @ w)
        cost = cp.sum(cp.pos(1.0 - s) if isinstance(loss, Hinge) else cp.logistic(-s)) / 60 + reg * cp.sum(w)
        optimum = cp.Problem(cp.Minimize(cost)).solve(solver="CLARABEL")
        assert float(verdict.lower) - 1e-7 <= optimum <= float(verdict.upper) + 1e-7
    document, arrays = opened(tmp_path / "c.npz")
    raised = arrays | {"slopes": np.where(alike, arrays["slopes"] * (1.0 + 1e-6), arrays["slopes"])}
    assert not cm.verify(written(tmp_path / "c.npz", (document, raised))).accepted


@pytest.mark.parametrize("seed", range(3))
def test_least_squares_fits_of_weights_are_proven(seed, tmp_path):
    """A quadratic form with a linear term, as in the alignment of kernels, and a risk of no effect."""
    rng, cone = np.random.default_rng(seed), NonnegativeDiagonal(6)
    F, y = rng.random((20, 6)), rng.standard_normal(20) + 1.0
    nothing = SeparableRisk(Triplets(np.zeros((3, 6)), np.array([[0, 1, 2]]), cone), Hinge(1.0))
    problem = cm.MetricProblem(nothing, QuadraticForm(F.T @ F), G=-F.T @ y)
    solution = cm.solve(problem, tol=1e-8)
    verdict = cm.write_certificate(tmp_path / "c.npz", solution)
    assert cm.verify(tmp_path / "c.npz").accepted
    assert verdict.gap <= 1e-7
    w = cp.Variable(6, nonneg=True)
    optimum = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(F @ w - y))).solve(solver="CLARABEL") - 0.5 * y @ y + 1.0
    assert float(verdict.lower) - 1e-6 <= optimum <= float(verdict.upper) + 1e-6
    document, arrays = opened(tmp_path / "c.npz")
    false = cm.verify(written(tmp_path / "c.npz", (document, arrays | {"z": 0.9 * arrays["z"]})))
    assert not false.accepted
    assert second_checker.judge((written(tmp_path / "d.npz", (document, arrays))).read_bytes()).accepted


def test_large_sparse_points_stay_sparse_and_points_that_nothing_names_are_left_out(tmp_path, monkeypatch):
    """The same bounds as of dense points, and of the points in use alone."""
    rng, cone = np.random.default_rng(3), NonnegativeDiagonal(6)
    X = rng.standard_normal((40, 6)) * (rng.random((40, 6)) < 0.5)
    triplets = np.array([rng.choice(9, 3, replace=False) for _ in range(12)])
    for rows in (triplets, triplets * 3):
        bounds = []
        problem = cm.MetricProblem(SeparableRisk(Triplets(X, rows, cone), Hinge(0.3)), SquaredFrobenius(0.5))
        found = cm.solve(problem, tol=1e-6).certificate
        for points, dense in ((X, 2**25), (sp.csr_array(X), 2**25), (sp.csr_array(X), 10), (X[: rows.max() + 1], 1)):
            monkeypatch.setattr(statement, "DENSE", dense)
            problem = cm.MetricProblem(SeparableRisk(Triplets(points, rows, cone), Hinge(0.3)), SquaredFrobenius(0.5))
            written = cm.write_certificate(tmp_path / "c.npz", problem, solution=found)
            _, arrays = opened(tmp_path / "c.npz")
            bounds.append((float(written.lower), float(written.upper)))
            assert ("points_indptr" in arrays) == (dense == 10)
            assert written.sizes["points"] == len(np.unique(rows))
            assert second_checker.judge((tmp_path / "c.npz").read_bytes()).accepted
        np.testing.assert_allclose(bounds, bounds[:1] * 4, rtol=1e-12)


@pytest.mark.parametrize("width", [0.0, 0.5, 3.0, 1e9])
@pytest.mark.parametrize("held", [2**20, 5])
def test_sums_of_slopes_are_those_of_the_matrix_that_is_not_made(width, held, monkeypatch):
    monkeypatch.setattr(dual_points, "PAIRS", held)
    rng = np.random.default_rng(0)
    for _ in range(60):
        p, n = rng.integers(1, 12, 2)
        # Multiples of 1/8, whose differences are exact, with many equal ones.
        t, z = np.rint(8.0 * rng.standard_normal(p)) / 8.0, np.rint(8.0 * rng.standard_normal(n)) / 8.0
        at = np.array(np.divmod(rng.permutation(p * n)[: rng.integers(p * n + 1)], n))
        own, weight = rng.random(at.shape[1]), int(rng.integers(1, 2**36))
        off = t[:, None] - z
        slopes = np.clip(0.5 + off / width, 0.0, 1.0) if width else np.where(off > 0.0, 1.0, 0.0)
        slopes[*at] = own
        whole = np.rint(slopes * weight).astype(np.int64)
        r, c = hinge_sums(t, z, width, weight, at, own)
        np.testing.assert_array_equal(r, whole.sum(axis=1))
        np.testing.assert_array_equal(c, whole.sum(axis=0))


@pytest.mark.parametrize("width", [0.05, 0.01])
def test_a_repair_of_distances_trusts_some_and_changes_others(width, tmp_path):
    """Squared distances of items: trusted ones stay in an interval (two hard hinges), others move at a price."""
    rng, (i, j) = np.random.default_rng(0), np.triu_indices(12, 1)
    Z, trusted = rng.standard_normal((12, 3)), rng.random(66) < 0.3
    q = np.square(Z[i] - Z[j]).sum(axis=1) * np.where(trusted, 1.0, np.exp(0.5 * rng.standard_normal(66)))
    room, signs = np.where(trusted, width, 0.0), np.repeat([1.0, -1.0], 66)
    margins, weights = (
        signs * np.tile(q, 2) * (1.0 - signs * np.tile(room, 2)),
        np.where(np.tile(trusted, 2), np.inf, 1 / 66),
    )
    pairs = PairDistances(np.eye(12), np.tile(np.column_stack([i, j]), (2, 1)), signs, PSDCone(12))
    problem = cm.MetricProblem(SeparableRisk(pairs, BoxLoss.hinge(weights, margins)), Trace(1e-3))
    solution = cm.solve(problem)
    M = cp.Variable((12, 12), PSD=True)
    d = cp.diag(M)[i] + cp.diag(M)[j] - 2.0 * M[i, j]
    off, held = cp.sum(cp.abs(d - q)[~trusted]) / 66, cp.abs(d - q)[trusted] <= width * q[trusted]
    optimum = cp.Problem(cp.Minimize(off + 1e-3 * cp.trace(M)), [held]).solve(solver="CLARABEL")
    assert (solution.status, solution.upper_bound) == ("optimal", pytest.approx(optimum, rel=1e-6))
    s = pairs.forward(solution.M) - margins
    assert (s[np.isinf(weights)] >= 0.0).all()
    # Some of them bind from below, and some from above.
    assert all((np.abs(s[np.isinf(weights) & (signs == sign)]) < 1e-4).any() for sign in (1.0, -1.0))
    written = cm.write_certificate(tmp_path / "c.npz", solution)
    assert (cm.verify(tmp_path / "c.npz").accepted, written.gap <= 2e-6) == (True, True)


def test_a_limit_is_said_before_the_work(tmp_path, monkeypatch):
    solution = cm.solve(instance("psd triplets, trace"), tol=0.1)
    monkeypatch.setattr(writer, "_files", None)
    for place, name, limit, message in (
        (
            kernel,
            "MAX_NUMBERS",
            10,
            r"it has \d+ numbers, \d+ of an array, and a file at most 134217728, 10 of an array",
        ),
        (kernel, "MAX_BYTES", 800, "and a file at most 100, 67108864 of an array; take fewer points or features"),
        (checker, "MAX_WORK", 1e7, r"about \de\+07 operations and \d+ numbers .* pass parts=\d or more"),
        (kernel, "MAX_LENGTH", 15, r"one file has at most 2e\+12 and 15: pass parts=2 or more"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, limit)
            with pytest.raises(InputError, match=message):
                cm.write_certificate(tmp_path / "c.npz", solution)
