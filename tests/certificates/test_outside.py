"""Rules of proof that the kernel does not have: written beside it, admitted for a call, and named by the verdict."""

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import numpy as np
import outside_blocks as blocks
import outside_rules
import pytest
from forgery import opened, written

import convexmetric as cm
from convexmetric.certificates import CertificateError, checker, kernel
from convexmetric.comparisons import Triplets, triplets_from_labels
from convexmetric.cones import PSDCone
from convexmetric.errors import InputError
from convexmetric.losses import Hinge
from convexmetric.measures import MEASURES, register
from convexmetric.regularizers import SquaredFrobenius, Trace
from convexmetric.risks import SeparableRisk, SmoothSeparableRisk

RULES = Path(__file__).with_name("outside_rules.py")
WINE = cm.datasets.load("wine")
X, Y = cm.datasets.preprocess(WINE.X, ["zscore"])[::3, :5], WINE.y[::3]
TRIPLETS = Triplets(X, triplets_from_labels(Y, 100, random_state=0), PSDCone(5))
rng = np.random.default_rng(0)
A, C = rng.standard_normal((5, 5)), rng.standard_normal((7, 5))
G = A.T @ A + 0.1 * np.eye(5)
U = 0.02 * (np.eye(5) + 0.1 * G)


def hinges(regularizer, G=None):
    return cm.MetricProblem(SeparableRisk(TRIPLETS, Hinge(0.05)), regularizer, G=G)


#: Problems by their rule, made of blocks whose rules are the kernel's own or begin with "outside".
OF_BLOCKS = {
    "exponential": lambda start: cm.MetricProblem(
        SmoothSeparableRisk(TRIPLETS, blocks.Exponential(start=start)), Trace(0.1)
    ),
    "inverse trace": lambda start: hinges(blocks.InverseTrace(C, 0.1, start), G),
    "spectral bound": lambda start: hinges(blocks.SpectralBound(U, start)),
    "row norms": lambda start: hinges(blocks.RowNorms(0.1, Trace(0.1), start)),
}
GAP = 3e-6


@pytest.fixture(autouse=True)
def _measures():
    """Names of measures, as somebody registers them."""
    with patch.dict(MEASURES):
        register()(blocks.RankBiasedPrecision)
        register()(blocks.PartialAUC)
        yield


def of_measure(name):
    return cm.RankingProblem.from_labels(X, Y, measure=name, C=1.0)


@pytest.mark.parametrize("rule", OF_BLOCKS)
def test_blocks_are_proven_by_the_rules_of_the_kernel_and_by_the_same_ones_from_outside(rule, tmp_path):
    verdicts = []
    for start in ("", "outside "):
        problem = OF_BLOCKS[rule](start)
        solution, path = cm.solve(problem), tmp_path / f"{start}c.npz"
        rules = RULES if start else ()
        wrote = cm.write_certificate(path, solution, rules=rules)
        verdict = cm.verify(path, rules=rules)
        assert verdict.accepted
        assert (verdict.lower, verdict.upper) == (wrote.lower, wrote.upper)
        assert verdict.gap < GAP
        verdicts.append(verdict)
    own, outside = verdicts
    assert own.rules == ()
    assert rule in outside.rules[0]
    # Both are proofs about one number.
    assert own.lower <= outside.upper
    assert outside.lower <= own.upper
    with pytest.raises(CertificateError, match=f"outside {rule}.*pass --rules"):
        cm.verify(path)
    with pytest.raises(InputError, match=f"outside {rule}.*pass --rules"):
        cm.write_certificate(tmp_path / "none.npz", solution)


@pytest.mark.parametrize("name", ["outside rbp", "outside partial auc"])
def test_measures_from_outside_are_proven(name, tmp_path):
    solution, path = cm.solve(of_measure(name)), tmp_path / "c.npz"
    cm.write_certificate(path, solution, rules=outside_rules)
    verdict = cm.verify(path, rules=outside_rules)
    assert verdict.accepted
    assert verdict.gap < GAP
    assert f"{name!r} of MEASURES" in verdict.rules[0]
    with pytest.raises(CertificateError, match=f"measure .*{name}.*pass --rules"):
        cm.verify(path)


def test_a_bound_beside_a_budget_is_told_its_slope(tmp_path):
    """M <= I and tr M <= 2: a sum of rules, whose first summand is named by hints."""
    solution, path = cm.solve(hinges(blocks.Fantope(2.0))), tmp_path / "c.npz"
    assert cm.write_certificate(path, solution).gap < GAP
    assert cm.verify(path).accepted
    silent = type("Silent", (blocks.Fantope,), {"hints": lambda *given: {}, "described": blocks.Fantope.described})
    with pytest.raises(InputError, match="subgradients of all summands but the last must be given: 1 slopes"):
        cm.write_certificate(path, hinges(silent(2.0)), solution=solution)


def test_a_rule_without_a_search_wants_hints(tmp_path):
    solution = cm.solve(OF_BLOCKS["spectral bound"]("outside "))
    kind = blocks.SpectralBound
    silent = type("Silent", (kind,), {"hints": lambda *given: {}, "described": kind.described})
    problem = hinges(silent(U, "outside "))
    with pytest.raises(InputError, match="a subgradient of SpectralBound must be given, by hints"):
        cm.write_certificate(tmp_path / "c.npz", problem, solution=solution, rules=RULES)


# The door -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A certificate with the loss of outside_rules.py."""
    path = tmp_path_factory.mktemp("outside") / "c.npz"
    cm.write_certificate(path, cm.solve(OF_BLOCKS["exponential"]("outside ")), rules=RULES)
    return path


def shell(*arguments):
    command = [sys.executable, "-m", "convexmetric", "verify", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.integration
def test_from_a_shell_the_verdict_names_the_file_first(file):
    done = shell(file, "--rules", RULES)
    assert done.returncode == 0
    first = done.stdout.splitlines()[0]
    assert first == (
        f"not the kernel's own: the rule 'outside exponential' of LOSSES, of {RULES} "
        f"(sha256 {hashlib.sha256(RULES.read_bytes()).hexdigest()})"
    )
    refused = shell(file)
    assert refused.returncode == 2
    assert "'outside exponential'" in refused.stderr
    assert "pass --rules" in refused.stderr


def test_rules_are_files_modules_their_names_or_lists_of_these(file):
    for rules in (RULES, str(RULES), outside_rules, "outside_rules", [RULES], [outside_rules]):
        assert cm.verify(file, rules=rules).rules


def test_tables_are_as_before_whatever_happens(file, tmp_path):
    before = {title: dict(table) for title, (table, _) in checker.OPEN.items()}
    cm.verify(file, rules=RULES)
    document, arrays = opened(file)
    wrong = written(tmp_path / "wrong.npz", (document | {"claimed": {"lower": "0"}}, arrays))
    with pytest.raises(CertificateError, match="claimed"):
        cm.verify(wrong, rules=RULES)
    with pytest.raises(CertificateError, match="already"):
        cm.verify(file, rules=[RULES, outside_rules])
    assert {title: table for title, (table, _) in checker.OPEN.items()} == before
    assert checker.SOURCES == {}


def test_a_statement_that_needs_no_rules_has_the_usual_verdict(tmp_path):
    path = tmp_path / "c.npz"
    cm.write_certificate(path, cm.solve(hinges(Trace(0.1))), rules=RULES)
    verdict = cm.verify(path, rules=RULES)
    assert verdict.rules == ()
    assert str(verdict).startswith("title:")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "import convexmetric.certificates.kernel as k\nLOSSES = {'hinge': k.Loss}",
            "has a rule 'hinge' of LOSSES already",
        ),
        ("LOSSES = {'mine': 3}", "must be a class derived from Loss"),
        ("MEASURES = {'mine': int}", "must be a class derived from Measure"),
        ("REGULARIZERS = {'mine': dict}", "must be a class derived from Regularizer"),
        ("1 / 0", "cannot be evaluated: ZeroDivisionError"),
        ("def", "SyntaxError"),
    ],
)
def test_what_are_no_rules_is_refused(text, message, file, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(CertificateError, match=message):
        cm.verify(file, rules=path)
    with pytest.raises(InputError, match=message):
        cm.write_certificate(tmp_path / "c.npz", cm.solve(hinges(Trace(0.1))), rules=path)


def test_rules_of_no_file_are_refused(file):
    for rules, message in (
        (ModuleType("nowhere"), "of no file"),
        ("no_such_module_at_all", "ModuleNotFoundError"),
        ("absent.py", "cannot read"),
    ):
        with pytest.raises(CertificateError, match=message):
            cm.verify(file, rules=rules)


def test_threads_admit_rules_one_after_the_other(file):
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: cm.verify(file, rules=RULES).accepted, range(8)))
    assert all(found)


def test_what_is_executed_is_what_the_hash_is_of(file, tmp_path):
    """Data classes and words of the future work in a file, which is no module that others import."""
    path = tmp_path / "mine.py"
    path.write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Numbers:\n    a: int = 1\n" + RULES.read_text()
    )
    assert hashlib.sha256(path.read_bytes()).hexdigest() in cm.verify(file, rules=path).rules[0]


def test_a_wrong_rule_proves_what_is_wrong_and_the_verdict_says_whose_it_is(file, tmp_path):
    """Twice the minorant is none; nobody but who wrote it can know."""
    path = tmp_path / "wrong.py"
    path.write_text(
        RULES.read_text() + "\n\nclass Doubled(Exponential):\n    def line(self, a, mu):\n"
        "        return super().line(a, mu) * 2.0\n\n\nLOSSES = {'outside exponential': Doubled}\n"
    )
    true, false = cm.verify(file, rules=RULES), cm.verify(file, rules=path)
    assert false.lower > true.upper
    assert str(path) in str(false).splitlines()[0]


def test_text_of_tables_that_rules_do_not_read_is_escaped(file, tmp_path):
    """A rule that takes more keys than it looks at lets a file say anything."""
    path = tmp_path / "lax.py"
    path.write_text(RULES.read_text() + "\n\nExponential.optional = 'note'\n")
    document, arrays = opened(file)
    document["problem"]["risk"]["terms"][0]["note"] = "\x1b[2J'\""
    verdict = cm.verify(written(tmp_path / "c.npz", (document, arrays)), rules=path)
    assert "note" in verdict.problem
    assert verdict.problem.isprintable()
    assert verdict.problem.isascii()


def test_rules_are_json_too(file, capsys):
    from convexmetric.cli.reports import verdict_record

    record = verdict_record([file], cm.verify(file, rules=RULES), None, None)
    assert "outside exponential" in record["rules"][0]


# False proofs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rest", [None, Trace(0.05), SquaredFrobenius(0.1)], ids=repr)
@pytest.mark.parametrize("prior", [None, 0.1 * G])
def test_a_norm_without_a_search_is_proven_as_well_as_it_is_solved(prior, rest, tmp_path):
    for seed in range(3):
        W = np.random.default_rng(seed).uniform(0.5, 2.0, G.shape)
        solution = cm.solve(hinges(blocks.WeightedEntries(0.02, W + W.T, prior, rest)), tol=1e-7)
        verdict = cm.write_certificate(tmp_path / "c.npz", solution, rules=RULES)
        assert verdict.gap <= max(2.0 * solution.gap, 1e-9)


def corrupted(rule, name, arrays):
    """Proofs of the rule that are none, or prove less."""
    if name.endswith("slopes"):
        yield {name: -np.abs(arrays[name]) - 1.0}
    elif rule == "spectral bound":
        yield {name: 0.5 * arrays[name]}
        yield {name: np.zeros((0, 5))}
    elif name.endswith("above"):
        yield {name: arrays[name] * (1.0 - 1e-6)}
        yield {name: np.zeros_like(arrays[name])}
    elif rule == "row norms":
        yield {name: 1.001 * arrays[name]}
        yield {name: 0.0 * arrays[name]}
    else:
        yield {name: 2.0 * arrays[name]}


@pytest.mark.parametrize("start", ["", "outside "])
@pytest.mark.parametrize(
    ("rule", "name"),
    [
        ("exponential", "slopes"),
        ("spectral bound", "root_of_slope"),
        ("row norms", "term0_slope"),
        ("inverse trace", "slope"),
        ("inverse trace", "above"),
    ],
)
def test_false_proofs_are_not_accepted(rule, name, start, tmp_path):
    problem, path = OF_BLOCKS[rule](start), tmp_path / "c.npz"
    cm.write_certificate(path, cm.solve(problem), rules=RULES)
    document, arrays = opened(path)
    for change in corrupted(rule, name, arrays):
        verdict = cm.verify(written(tmp_path / "false.npz", (document, arrays | change)), rules=RULES)
        assert not verdict.accepted


def test_metrics_beyond_the_bound_are_not_proven(tmp_path):
    path = tmp_path / "c.npz"
    cm.write_certificate(path, cm.solve(OF_BLOCKS["spectral bound"]("")))
    document, arrays = opened(path)
    verdict = cm.verify(written(path, (document, arrays | {"factor": (1.0 + 1e-6) * arrays["factor"]})))
    assert verdict.upper is None
    assert "the bound on the metric" in verdict.reason


def test_roots_of_many_rows_are_refused_before_they_are_multiplied(tmp_path):
    path = tmp_path / "c.npz"
    cm.write_certificate(path, cm.solve(OF_BLOCKS["inverse trace"]("")))
    document, arrays = opened(path)
    work = checker.operations(document, arrays)
    more = checker.operations(document, arrays | {"root_of_prior": np.ones((1000, 5))})
    assert more > 100.0 * work
    with pytest.raises(CertificateError, match="numbers"):
        checker.operations(document, arrays | {"root_of_prior": np.ones((9000, 5))})


def test_the_kernel_s_own_names_are_those_at_first():
    assert all(frozenset(table) == checker.OWN[title] for title, (table, _) in checker.OPEN.items())
    assert {base for _, base in checker.OPEN.values()} == {kernel.Loss, kernel.Measure, kernel.Regularizer}
