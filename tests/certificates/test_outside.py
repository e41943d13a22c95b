"""Rules of proof that the kernel does not have: written beside it, admitted for a call, and named by the verdict."""

import asyncio
import hashlib
import importlib
import json
import os
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
    """A certificate with a loss and a regularizer of outside_rules.py."""
    path = tmp_path_factory.mktemp("outside") / "c.npz"
    risk = SmoothSeparableRisk(TRIPLETS, blocks.Exponential(start="outside "))
    problem = cm.MetricProblem(risk, blocks.RowNorms(0.1, Trace(0.1), "outside "))
    cm.write_certificate(path, cm.solve(problem), rules=RULES)
    return path


@pytest.fixture(scope="module")
def of_map(tmp_path_factory):
    """A certificate that needs no rules of others."""
    path = tmp_path_factory.mktemp("outside") / "map.npz"
    cm.write_certificate(path, cm.solve(of_measure("map")))
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
    cm.verify(file, rules=RULES)
    document, arrays = opened(file)
    wrong = written(tmp_path / "wrong.npz", (document | {"claimed": {"lower": "0"}}, arrays))
    with pytest.raises(CertificateError, match="claimed"):
        cm.verify(wrong, rules=RULES)
    with pytest.raises(CertificateError, match="already"):
        cm.verify(file, rules=[RULES, outside_rules])
    assert checker.changed() == {}
    assert checker.HERE.get().sources == kernel.files.TABLES.get() == {}


def test_a_statement_that_needs_no_rules_has_the_usual_verdict(tmp_path):
    path = tmp_path / "c.npz"
    cm.write_certificate(path, cm.solve(hinges(Trace(0.1))), rules=RULES)
    verdict = cm.verify(path, rules=RULES)
    assert verdict.rules == ()
    assert str(verdict).startswith("title:")


#: Files that are no rules, with what is said of them; ``k`` is the kernel.
NO_RULES = {
    "": "has no rules",
    "class Mine(k.Loss): pass": "has no rules",
    "LOSSES, MEASURES, REGULARIZERS = {}, {}, {}": "has no rules",
    "RISKS = {'mine': k.Loss}": "must be a class derived from Risk",
    "LOSSES = ['mine']": "LOSSES must be a dictionary",
    "LOSSES = None": "LOSSES must be a dictionary",
    "LOSSES = {'mine': 3}": "must be a class derived from Loss",
    "LOSSES = {'mine': k.Measure}": "must be a class derived from Loss",
    "LOSSES = {1: k.Loss}": r"LOSSES\[1\] must be",
    "MEASURES = {'mine': int}": "must be a class derived from Measure",
    "MEASURES = {'mine': k.Measure()}": "must be a class derived from Measure",
    "REGULARIZERS = {'mine': dict}": "must be a class derived from Regularizer",
    "k.LOSSES['mine'] = 3": "must be a class derived from Loss",
    "LOSSES = {'hinge': k.Loss}": "has a rule 'hinge' of LOSSES already",
    "MEASURES = {**k.MEASURES}": "has a rule 'auc' of MEASURES already",
    "1 / 0": "cannot be evaluated: ZeroDivisionError",
    "def": "SyntaxError",
    "\0": "null bytes",
    "\udcff": "'utf-8' codec|SyntaxError",
    "import nowhere_at_all": "ModuleNotFoundError",
    "raise SystemExit(0)": "rules cannot be evaluated: SystemExit: 0",
    "import sys; sys.exit()": "SystemExit",
    "raise GeneratorExit": "GeneratorExit",
    "import asyncio; raise asyncio.CancelledError": "CancelledError",
    "class Gone(BaseException): pass\nraise Gone('away')": "Gone: away",
    "raise StopIteration": "StopIteration",
    "raise MemoryError": "MemoryError",
    "raise OSError": "OSError",
    "raise k.NotProven('x')": "NotProven: x",
    "def f(): f()\nf()": "RecursionError",
    "raise ValueError('\\x1b[2J\\naccepted')": r"ValueError: \\x1b\[2J\\naccepted",
    "class Silent(Exception):\n    def __str__(self): 1 / 0\nraise Silent": "Silent$",
    "class Loud(Exception):\n    def __str__(self): raise SystemExit(0)\nraise Loud": "SystemExit",
    "#" * (checker.MAX_RULES + 1): "larger than",
}
NUMBERED = "import convexmetric.certificates.kernel as k\n"


@pytest.mark.parametrize("text", NO_RULES, ids=lambda text: text[:40])
def test_what_are_no_rules_is_refused(text, file, tmp_path):
    path = tmp_path / "mine.py"
    path.write_bytes(((NUMBERED + text) if text else "").encode("utf-8", "surrogateescape"))
    with pytest.raises(CertificateError, match=NO_RULES[text]) as refused:
        cm.verify(file, rules=path)
    assert str(refused.value).isprintable()
    with pytest.raises(InputError, match=NO_RULES[text]):
        cm.write_certificate(tmp_path / "c.npz", cm.solve(hinges(Trace(0.1))), rules=path)
    assert checker.changed() == {}


#: Rules that fail once they are used: what stands in the class of the loss, or of the regularizer.
FAILING = {
    "loss: def __init__(self, table): raise SystemExit(0)": "rules cannot be evaluated: SystemExit",
    "loss: def __init__(self, table): raise KeyError('x')": "KeyError",
    "loss: def __init__(self): pass": "TypeError",
    "loss: wanted = None": "AttributeError",
    "loss: def value(self, s, mu): raise SystemExit": "SystemExit",
    "loss: def value(self, s, mu): raise GeneratorExit": "GeneratorExit",
    "loss: def value(self, s, mu): return self.value(s, mu)": "RecursionError",
    "loss: def value(self, s, mu): return None": "AttributeError",
    "loss: def value(self, s, mu): return 1 / 0": "ZeroDivisionError",
    "loss: def line(self, a, mu): raise StopIteration": "StopIteration",
    "rows: def read(self, table, arrays): arrays('slope', 5, 5)[:] = 0.0": "read-only",
    "rows: def __init__(self, table, arrays, *rest): arrays('points', None, 5)[:] = 0.0": "read-only",
    "rows: def __init__(self, table, *rest): table['weight'] = '1'; super().__init__(table, *rest)": "the statement",
}


@pytest.mark.parametrize("line", FAILING)
def test_rules_that_fail_once_they_are_used_are_refused(line, file, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(with_line(line))
    with pytest.raises(CertificateError, match=FAILING[line]):
        cm.verify(file, rules=path)


def with_line(line):
    """The rules with a line in the class of the loss, or in that of the regularizer."""
    kind, own = line.split(": ", 1)
    base, table = ("Exponential", "LOSSES") if kind == "loss" else ("RowNorms", "REGULARIZERS")
    name = "outside exponential" if kind == "loss" else "outside row norms"
    return f"{RULES.read_text()}\n\nclass Mine({base}):\n    {own}\n\n{table} |= {{'{name}': Mine}}\n"


LYING = "class Lying(k.Measure):\n    def gains(self, i, b, p, f, h): return k.Ball(i * 0.0)\n"
#: What a file does to the kernel, and the place that the verdict names.
CHANGES = {
    "k.MEASURES['map'] = Lying": "kernel.MEASURES['map']",
    "k.MEASURES['mine'] = Lying": "kernel.MEASURES['mine']",
    "del k.MEASURES['map']": "kernel.MEASURES['map']",
    "k.REGULARIZERS.clear()": "kernel.REGULARIZERS['budget']",
    "k.SUMMANDS['lists'] = k.Worst": "kernel.SUMMANDS['lists']",
    "k.measures.MEASURES = {}": "kernel.measures.MEASURES",
    "k.lists.gains = None": "kernel.lists.gains",
    "k.proofs.extra = 3": "kernel.proofs.extra",
    "k.measures.MAP.gains = Lying.gains": "kernel.measures.MAP.gains",
    "k.Ball.__eq__ = lambda self, other: True": "kernel.Ball.__eq__",
    "k.measures.MRR.__bases__ = (Lying,)": "kernel.measures.MRR.__bases__",
    "k.rounded.__code__ = (lambda value, away: value).__code__": "kernel.rounded.__code__",
    "k.ListRisk.ranked.fget.__defaults__ = (1,)": "kernel.ListRisk.ranked.__defaults__",
    "from convexmetric.certificates import Verdict as v; v.__str__ = lambda _: 'accepted'": "checker.Verdict.__str__",
}


@pytest.mark.parametrize("text", CHANGES, ids=lambda text: text[:40])
def test_what_rules_change_of_the_kernel_is_told_first_and_put_back(text, file, of_map, tmp_path):
    path, honest = tmp_path / "mine.py", cm.verify(of_map)
    path.write_text(f"{NUMBERED}{LYING}{text}\n")
    said = cm.verify(of_map, rules=path)
    first = str(said).splitlines()[0]
    assert first.startswith("not the kernel's own: ")
    assert all(part in first for part in (str(path), hashlib.sha256(path.read_bytes()).hexdigest(), CHANGES[text]))
    assert (said.accepted, said.lower, said.upper) == (True, honest.lower, honest.upper)
    assert str(cm.verify(of_map)).startswith("title:")
    assert checker.changed() == {}
    with pytest.raises(CertificateError, match="pass --rules"):
        cm.verify(file)


@pytest.mark.parametrize(
    "text",
    [
        "k.LOSSES['outside exponential'] = Exponential; k.REGULARIZERS['outside row norms'] = RowNorms",
        "from convexmetric.certificates.kernel import *; LOSSES |= {'outside exponential': Exponential}; "
        "REGULARIZERS['outside row norms'] = RowNorms",
    ],
)
def test_rules_that_register_themselves_hold_for_their_call(text, file, tmp_path):
    path = tmp_path / "mine.py"
    rules = RULES.read_text()
    path.write_text(rules[: rules.index("LOSSES = ")] + NUMBERED + text)
    for _ in range(2):
        verdict = cm.verify(file, rules=path)
        assert verdict.accepted
        assert "changed, and it was put back: kernel.LOSSES['outside exponential']" in verdict.rules[0]
        assert all(str(path) in said for said in verdict.rules)
        with pytest.raises(CertificateError, match="pass --rules"):
            cm.verify(file)


def test_what_rules_change_as_they_are_used_is_told_and_put_back(file, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        NUMBERED + with_line("loss: def value(self, s, mu): k.MEASURES['map'] = 0; return super().value(s, mu)")
    )
    assert "kernel.MEASURES['map']" in str(cm.verify(file, rules=path)).splitlines()[0]
    assert checker.changed() == {}


def test_rules_of_no_file_are_refused_at_once(file, tmp_path):
    os.mkfifo(tmp_path / "fifo.py")
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    (tmp_path / "folder.py").mkdir()
    of_files = [tmp_path / name for name in ("fifo.py", "loop.py", "folder.py", "absent.py", "\udcff.py", "a" * 5000)]
    of_files += [str(path) for path in of_files] + [Path(), "a\0b.py", "/dev/zero", "/dev/null", "/dev/stdin/x"]
    of_names = [
        "nowhere_at_all",
        "nowhere.at.all",
        "convexmetric",
        "numpy.linalg",
        "sys",
        "math",
        "__main__",
        "",
        " ",
        ".",
    ]
    others = [ModuleType("nowhere"), cm, np, sys, None, 5, b"x.py", {}, [[]], "\ud800.py", "\ud800"]
    for rules in (*of_files, *of_names, *others):
        with pytest.raises(CertificateError) as refused:
            cm.verify(file, rules=rules)
        assert str(refused.value).isprintable()
        assert "rules" in str(refused.value)


@pytest.mark.parametrize(
    "name",
    ["x\x1b[2J\nstatement: sha256 000\naccepted", "\u202egnp", "\x9b31m\u2028\u2029", "\udcff", "a b'\"$(x)", "\r"],
)
def test_names_of_files_make_no_lines_of_their_own(name, file, tmp_path):
    path = tmp_path / f"{name}.py"
    path.write_bytes(RULES.read_bytes())
    said = cm.verify(file, rules=path)
    assert len(str(said).splitlines()) == len(str(cm.verify(file, rules=RULES)).splitlines())
    assert all(line.isprintable() and line.isascii() for line in str(said).splitlines())


@pytest.mark.integration
def test_rules_print_to_standard_error_and_end_no_command(file, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(RULES.read_text() + "\nprint('accepted')\n")
    done = shell(file, "--rules", path, "--json")
    assert json.loads(done.stdout)["accepted"]
    assert done.stderr == "accepted\n"
    path.write_text("raise SystemExit(0)")
    done = shell(file, "--rules", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "refused: rules cannot be evaluated: SystemExit: 0\n"


def test_no_thread_has_rules_of_others(file):
    """Neither in threads, nor in tasks, nor in calls within calls."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def proven(rules):
        try:
            return cm.verify(file, rules=rules).accepted
        except CertificateError as error:
            return "pass --rules" not in str(error)

    async def tasks(rules):
        return await asyncio.gather(*(asyncio.to_thread(proven, own) for own in rules))

    wanted = [RULES, (), RULES, ()] * 6
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(proven, wanted))
        assert [*found, *asyncio.run(tasks(wanted))] == [bool(rules) for rules in wanted * 2]
        with checker.admitted(RULES), ThreadPoolExecutor(1) as pool:
            assert not proven(())
            assert pool.submit(proven, RULES).result(timeout=60)
            assert kernel.files.TABLES.get()["LOSSES"].keys() > kernel.LOSSES.keys()
    finally:
        sys.setswitchinterval(before)
    assert kernel.files.TABLES.get() == {}


def test_what_is_proven_is_of_the_file_as_it_was_executed(file, tmp_path, monkeypatch):
    """Of a file that changes itself, and of a module that was changed after it was imported."""
    own, name = RULES.read_text(), "rules_that_change"
    path = tmp_path / f"{name}.py"
    path.write_text(f"{own}\nopen({str(path)!r}, 'w').close()\n")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert sha256 in cm.verify(file, rules=path).rules[0]
    path.write_text(own)
    monkeypatch.syspath_prepend(tmp_path)
    module, true = importlib.import_module(name), cm.verify(file, rules=name)
    path.write_text(with_line("loss: def line(self, a, mu): return super().line(a, mu) * 2.0"))
    for rules in (name, module):
        said = cm.verify(file, rules=rules)
        assert hashlib.sha256(path.read_bytes()).hexdigest() in said.rules[0]
        assert said.lower > true.upper


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
    assert {title: getattr(kernel, title) for title in checker.OPEN} == checker.OWN
    assert set(checker.OPEN.values()) == {kernel.Loss, kernel.Measure, kernel.Regularizer, kernel.Risk}
