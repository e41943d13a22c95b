"""Risks of one's own with rules of proof of one's own: files are accepted, and corrupted ones are not."""

from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import second_checker
from forgery import opened, written
from own_risks import many

import convexmetric as cm
from convexmetric.certificates import CertificateError, kernel
from convexmetric.comparisons import Triplets
from convexmetric.errors import InputError
from convexmetric.losses import Hinge
from convexmetric.regularizers import SquaredFrobenius, Trace
from convexmetric.risks import SeparableRisk

RULES = Path(__file__).parent / "outside_risks.py"
MANY = many()
#: Weights of the regularizers.
REG = {"multiple kernels": 1.5, "transport": 0.3}


@cache
def solved(kind):
    reg = REG.get(kind, 0.1)
    return cm.solve(cm.MetricProblem(MANY[kind], (SquaredFrobenius if kind == "transport" else Trace)(reg)), tol=1e-5)


@pytest.fixture(params=MANY)
def file(request, tmp_path):
    path = tmp_path / "c.npz"
    cm.write_certificate(path, solved(request.param), rules=RULES)
    return path


@pytest.mark.parametrize("kind", MANY)
def test_a_file_proves_what_cvxpy_finds(kind, tmp_path):
    path, solution = tmp_path / "c.npz", solved(kind)
    made = cm.write_certificate(path, solution, rules=RULES)
    verdict = cm.verify(path, rules=RULES)
    assert verdict.accepted
    assert (verdict.lower, verdict.upper) == (made.lower, made.upper)
    assert verdict.gap <= 2.0 * solution.gap
    assert solution.gap <= 1e-5
    program = MANY[kind].program(REG.get(kind, 0.1))
    optimum = program.solve(solver="CLARABEL")
    assert float(verdict.lower) - 1e-7 <= optimum <= float(verdict.upper) + 1e-7
    # The first line is the rule's, and nobody accepts it without.
    assert f"the rule '{kind}' of RISKS" in str(verdict).splitlines()[0]
    with pytest.raises(CertificateError, match=f"{kind}.*pass --rules"):
        cm.verify(path)
    with pytest.raises(second_checker.Refused, match=f"kind of risk '{kind}'"):
        second_checker.judge(path.read_bytes())


def corrupted(document, arrays):
    """Yield a name with a false array, for each number that a rule takes for its proof."""
    own = {
        "coefficients": lambda a: a + 1.0,
        "alphas": lambda a: 2.0 * a,
        "potentials": lambda a: a + np.arange(a.shape[1]),
        "places": lambda a: np.zeros_like(a),
        "plane_weights": lambda a: 2.0 * a,
        "probabilities": lambda a: a[::-1].copy(),
        "slopes": lambda a: -a,
        "direction": lambda a: 2.0 * a,
        "plans": lambda a: 0.5 * a,
    }
    yield from ((name, of(arrays[name])) for name, of in own.items() if name in arrays)


def test_corrupted_files_are_not_accepted(file, tmp_path):
    document, arrays = opened(file)
    true, count = cm.verify(file, rules=RULES), 0
    for name, array in corrupted(document, arrays):
        if name == "plane_weights" and "plans" in arrays:
            # They are divided by their sum.
            continue
        found = cm.verify(written(tmp_path / "false.npz", (document, arrays | {name: array})), rules=RULES)
        assert not found.accepted, name
        assert found.lower is None or found.lower <= true.upper
        assert found.upper is None or found.upper >= true.lower
        count += 1
    assert count >= 2
    for change in ({name: array[:-1]}, {name: np.full(array.shape, np.nan)} if array.dtype.kind == "f" else {}):
        if change:
            with pytest.raises(CertificateError, match=r"wrong shape|NaN|cannot be evaluated"):
                cm.verify(written(tmp_path / "false.npz", (document, arrays | change)), rules=RULES)
    wrong = document | {"dual": document["dual"] | {"kind": "slopes"}}
    with pytest.raises(CertificateError, match="kind must be 'own'"):
        cm.verify(written(tmp_path / "false.npz", (wrong, arrays)), rules=RULES)


def changed(path, kind, method, *lines):
    """Write the rules with a method of one class replaced."""
    body = "".join(f"        {line}\n" for line in lines)
    new = f"class Mine({kind}):\n    def {method}:\n{body}"
    path.write_text(f"{RULES.read_text()}\n\n{new}\n\nRISKS = {{'{kind.lower()}': Mine}}\n")


#: What a rule must not return, with what is said of it.
WRONG = {
    "value": {
        "M": "no ball of shape \\(\\)", "1.0": "no ball", "Ball(np.nan)": "not a number",
        "Ball(1.0, -1.0)": "no radius",
    },
    "minorant": {
        "(Ball(0.0), M)": "no ball", "(Ball(0.0), Ball(np.zeros(2)))": "no ball of shape \\(3, 3\\)",
        "(Ball(np.inf), Ball(np.zeros((3, 3))))": "not a number",
        "(Ball(0.0), Ball(np.full((3, 3), np.nan)))": "not a number",
        "(Ball(0.0), Ball(np.zeros((3, 3)), -1.0))": "no radius",
    },
}  # fmt: skip


@pytest.mark.parametrize(("method", "returned"), [(method, one) for method, all_ in WRONG.items() for one in all_])
def test_what_rules_return_is_checked(method, returned, tmp_path):
    path, rules = tmp_path / "c.npz", tmp_path / "mine.py"
    cm.write_certificate(path, solved("robust"), rules=RULES)
    given = "M, arrays" if method == "value" else "arrays"
    changed(
        rules, "Robust", f"{method}(self, {given})", f"super().{method}({given})", "M = np.eye(3)", f"return {returned}"
    )
    said = WRONG[method][returned]
    if "ball" in said:
        with pytest.raises(CertificateError, match=said):
            cm.verify(path, rules=rules)
    else:
        verdict = cm.verify(path, rules=rules)
        assert not verdict.accepted
        assert (verdict.upper if method == "value" else verdict.lower) is None
        assert said in verdict.reason


def test_a_wrong_rule_proves_what_is_wrong_and_the_verdict_says_whose_it_is(tmp_path):
    path, rules = tmp_path / "c.npz", tmp_path / "wrong.py"
    cm.write_certificate(path, solved("adversarial"), rules=RULES)
    changed(rules, "Adversarial", "minorant(self, arrays)", "v, S = super().minorant(arrays)", "return v * 2.0, S")
    true, false = cm.verify(path, rules=RULES), cm.verify(path, rules=rules)
    assert false.lower > true.upper
    assert str(rules) in str(false).splitlines()[0]


def test_shares_are_of_risks_that_say_they_are_not_negative(tmp_path):
    path = tmp_path / "c.npz"
    cm.write_certificate(path, solved("transport"), rules=RULES)
    document, arrays = opened(path)
    halved = document | {"dual": document["dual"] | {"share": "1/2"}}
    verdict = cm.verify(written(path, (halved, arrays)), rules=RULES)
    assert verdict.lower is None
    assert "may be negative" in verdict.reason


def test_only_the_symmetric_part_of_a_minorant_counts(tmp_path):
    path, rules = tmp_path / "c.npz", tmp_path / "mine.py"
    cm.write_certificate(path, solved("robust"), rules=RULES)
    # Small, as its rounding widens the slope, which is proven to be above the dual matrix.
    skew = "np.array([[0, 1, 2], [-1, 0, 3], [-2, -3, 0.0]]) / 1024"
    changed(
        rules, "Robust", "minorant(self, arrays)", "v, S = super().minorant(arrays)", f"return v, S + {skew}"
    )  # fmt: skip
    assert abs(cm.verify(path, rules=rules).lower - cm.verify(path, rules=RULES).lower) <= 1e-12


@pytest.mark.parametrize("order", [1, -1])
def test_risks_of_ones_own_are_summands(order, tmp_path):
    X = np.random.default_rng(1).standard_normal((8, 3))
    own = MANY["robust"]
    listed = SeparableRisk(Triplets(X, np.array([[0, 1, 2], [3, 4, 5], [6, 7, 0]]), own.cone), Hinge(0.1))
    problem, path = cm.MetricProblem(cm.risks.SumRisk(*[own, listed][::order]), Trace(0.1)), tmp_path / "c.npz"
    solution = cm.solve(problem, tol=1e-5)
    made = cm.write_certificate(path, solution, rules=RULES)
    assert made.gap <= 2.0 * solution.gap
    assert cm.verify(path, rules=RULES).accepted
    assert "3 triplets" in str(made)
    with pytest.raises(InputError, match="a risk of your own is one row"):
        cm.write_certificate(path, solution, rules=RULES, parts=2)


def test_arrays_of_the_value_are_those_at_the_metric(tmp_path):
    """Without them nothing is written; without a rule neither."""
    kind = type(MANY["graded rankings"])
    with patch.object(kind, "value_hints", lambda self, M: {}), pytest.raises(InputError, match="potentials"):
        cm.write_certificate(tmp_path / "c.npz", solved("graded rankings"), rules=RULES)
    with pytest.raises(InputError, match="pass --rules"):
        cm.write_certificate(tmp_path / "c.npz", solved("graded rankings"))
    assert not list(tmp_path.iterdir())


def test_every_name_of_a_risk_is_the_kernel_s_or_a_rule(tmp_path):
    rules = tmp_path / "mine.py"
    for text, said in {
        "RISKS = {'mine': k.Loss}": "must be a class derived from Risk",
        "RISKS = {'mine': k.SumRisk}": "must be a class derived from Risk",
        "RISKS = {'sum': k.Risk}": "has a rule 'sum' of RISKS already",
    }.items():
        rules.write_text(f"from convexmetric.certificates import kernel as k\n{text}\n")
        with pytest.raises(CertificateError, match=said):
            cm.verify(tmp_path / "no.npz", rules=rules)
    assert kernel.summands() == {name: rule for name, rule in kernel.RISKS.items() if name != "sum"}
