"""The campaign against the checker, in small: it finds nothing, but finds what is wrong in a checker that is broken."""

import copy
from fractions import Fraction

import numpy as np
import pytest
from campaign.exact import Statement, Unreadable
from campaign.judge import Campaign
from campaign.problems import FEW, on_a_line, solved
from check_certificates import run

from convexmetric.certificates import checker, kernel


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return Campaign(solved(FEW), 0, tmp_path_factory.mktemp("campaign"))


def test_nothing_false_is_proven(campaign):
    records = run(campaign, range(256), 1)
    assert [record for record in records if record.findings] == []
    assert {record.outcome for record in records} == {"accepted", "not proven", "refused"}
    # All kinds of judges are at work, and most proofs are judged by an optimum.
    judged = [record.judged for record in records if record.judged]
    assert judged.count("optimum") > 50
    assert judged.count("values") > 5


def without_radii(monkeypatch):
    monkeypatch.setattr(kernel.balls, "U", 0.0)


def a_little_more(monkeypatch):
    true = kernel.Problem.lower
    monkeypatch.setattr(kernel.Problem, "lower", lambda *given: true(*given) * (1 + Fraction(1, 10**9)))


def rounded_inward(monkeypatch):
    true = kernel.rounded
    monkeypatch.setattr(kernel.proofs, "rounded", lambda value, away, digits=17: true(value, -away, 9))


def accepting(monkeypatch):
    true = checker.Verdict
    monkeypatch.setattr(checker, "Verdict", lambda accepted, *rest: true(True, *rest))


def slopes_of_any_size(monkeypatch):
    monkeypatch.setattr(kernel.regularizers.Frobenius, "within", lambda *given: None)


def priors_for_nothing(monkeypatch):
    def slopes(self, given, most):
        P = kernel.Ball(given[0] if isinstance(given, tuple) else given)
        return [P], self.conjugate(P)

    monkeypatch.setattr(kernel.regularizers.Frobenius, "slopes", slopes)


def any_multiplier(monkeypatch):
    def slopes(self, given, most):
        return [kernel.Ball(self.A) * kernel.Ball.of(given)], kernel.Ball.of(given * self.limit)

    monkeypatch.setattr(kernel.regularizers.Budget, "slopes", slopes)


def anything_above(monkeypatch):
    def size(self, X, given):
        diagonal = self.cone.diagonal
        return abs(X).sum() if diagonal else self.cone.trace(kernel.Ball(given[1])) * 2.0 - self.cone.trace(X)

    monkeypatch.setattr(kernel.regularizers.TraceNorm, "size", size)


def shares_of_anything(monkeypatch):
    monkeypatch.setattr(kernel.comparisons, "NEGATIVE", set())


def rows_across_blocks(monkeypatch):
    true = kernel.Cone.factor

    def factor(self, *given):
        whole = copy.copy(self)
        whole.blocks = None
        return true(whole, *given)

    monkeypatch.setattr(kernel.Cone, "factor", factor)


def blocks_for_all(monkeypatch):
    true = kernel.Cone.dual

    def dual(self, *given):
        apart = copy.copy(self)
        apart.blocks = np.arange(self.d)
        true(apart, *given)

    monkeypatch.setattr(kernel.Cone, "dual", dual)


def roots_of_any_form(monkeypatch):
    monkeypatch.setattr(kernel.Cone, "triangle", lambda self, arrays, name: arrays(name, *self.shape))


BROKEN = [
    without_radii, a_little_more, rounded_inward, accepting, slopes_of_any_size, priors_for_nothing, any_multiplier,
    anything_above, shares_of_anything, rows_across_blocks, blocks_for_all, roots_of_any_form,
]  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_checker_is_found(broken, campaign, monkeypatch):
    broken(monkeypatch)
    assert any(
        "FALSE" in finding or finding == "claims beyond the proof"
        for first in range(0, 800, 80)
        for record in run(campaign, range(first, first + 80), 1)
        for finding in record.findings
    )


def test_what_ends_a_process_is_found(campaign, monkeypatch):
    def late(*given, **limits):
        while True:
            pass

    def large(*given, **limits):
        return np.ones(2**28)

    quick = Campaign(campaign.solved, 0, campaign.folder, seconds=0.3, memory=2**28)
    monkeypatch.setattr(checker, "verify", late)
    assert all("late" in record.findings for record in run(quick, range(1, 3), 1))
    monkeypatch.setattr(checker, "verify", large)
    assert all("MemoryError" in record.findings[0] for record in run(quick, range(1, 3), 1))
    monkeypatch.setattr(checker, "verify", lambda *given, **limits: 1 / 0)
    assert all("traceback" in record.findings[0] for record in run(quick, range(1, 3), 1))


@pytest.mark.parametrize("seed", range(60))
def test_exact_optima_are_below_all_values_and_near_the_best(seed):
    rng = np.random.default_rng(seed)
    try:
        problem = on_a_line(rng)
    except Unreadable:
        return
    statement, (document, arrays) = Statement(*problem.contents), problem.contents
    low, high = problem.optimum
    assert low <= high
    name = "weights_of_metric" if document["problem"]["cone"] == "diagonal" else "factor"
    best = statement.objective(arrays[name])
    assert best[0] >= low
    for size in (0.0, 1e-3, 0.5, 0.999, 1.001, 2.0, 1e3):
        assert statement.objective(arrays[name] * size)[1] >= low
    hard = any(term["loss"] == "hard" for term in document["problem"]["risk"].get("terms", ()))
    unit = np.isfinite(float(min(max(high, -(10**9)), 10**9))) and not hard
    if unit and abs(high) < 10**9 and 1e-3 < np.abs(arrays.get("points", np.ones(1))).max() < 1e3:
        assert best[0] - high <= Fraction(1, 10**4) * max(abs(high), 1)


def test_exact_optima_of_problems_on_paper():
    """``max(0, 1 - 8 m) + m / 2``: 1/16; ``(1 - 8 m)^2 + m``: 1/8 - 1/256; its logistic one by its condition."""
    term = {"loss": "hinge", "weight": "1", "margin": "1", "sign": 1}
    problem = {
        "cone": "psd", "features": 1, "linear": False, "risk": {"kind": "listed comparisons", "terms": [term]},
        "regularizer": {"kind": "trace", "weight": "1/2"},
    }  # fmt: skip
    arrays = {"points": np.array([[0.0], [1.0], [3.0]]), "triplets": np.array([[0, 1, 2]]), "terms": np.zeros(1, int)}
    assert Statement({"problem": problem}, arrays).optimum() == (Fraction(1, 16),) * 2
    term["loss"], problem["regularizer"]["weight"] = "squared", "1"
    assert Statement({"problem": problem}, arrays).optimum() == (Fraction(1, 8) - Fraction(1, 256),) * 2
    term["loss"] = "logistic"
    # The derivative 1 - 8 / (1 + e^(8 m)) is zero where e^(8 m) = 7.
    low, high = Statement({"problem": problem}, arrays).optimum()
    assert float(low) == pytest.approx(np.log(8 / 7) + np.log(7) / 8, rel=1e-14)
    assert 0 <= high - low < Fraction(1, 10**13)
    problem["linear"] = True
    assert Statement({"problem": problem}, arrays | {"linear": -np.ones((1, 1)) * 2}).optimum() == (-np.inf, -np.inf)


def _of_one_feature(loss, regularizer, **arrays):
    """A loss of d_01 = m with the weight and the margin 1, and a regularizer."""
    term = {"loss": loss, "weight": "1", "margin": "1", "sign": 1}
    problem = {
        "cone": "psd", "features": 1, "linear": "linear" in arrays, "regularizer": regularizer,
        "risk": {"kind": "listed comparisons", "terms": [term]},
    }  # fmt: skip
    given = {"points": np.array([[0.0], [1.0]]), "pairs": np.array([[0, 1]]), "terms": np.zeros(1, int)}
    return Statement({"problem": problem}, given | {name: np.array([[value]]) for name, value in arrays.items()})


@pytest.mark.parametrize(
    ("loss", "regularizer", "arrays", "optimum"),
    [
        # -ln m + m / 2, -sqrt m + m / 4 and m - ln m - 1 + m / 2 at 2, 4 and 2/3.
        ("negative log", {"kind": "trace", "weight": "1/2"}, {}, 1 - np.log(2)),
        ("negative root", {"kind": "trace norm", "weight": "1/4"}, {}, -1.0),
        ("itakura-saito", {"kind": "trace", "weight": "1/2"}, {}, -np.log(2 / 3)),
        # (1 - m)^2 beside 3 abs(m - 2), 3/2 (m - 2)^2, 2 (m - ln m - 1) with a linear term, a budget of 3/4, its price.
        ("squared", {"kind": "frobenius", "weight": "3", "prior": True}, {"prior": 2.0}, 1.0),
        ("squared", {"kind": "squared frobenius", "weight": "3", "prior": True}, {"prior": 2.0}, 0.36 + 0.24),
        ("squared", {"kind": "log det", "weight": "2"}, {"prior_root": 1.0}, 0.0),
        ("squared", {"kind": "log det", "weight": "2"}, {"prior_root": 1.0, "linear": 3.0}, 0.75 + 2 * np.log(2)),
        ("squared", {"kind": "budget", "limit": "3/2"}, {"spent": 2.0}, 1 / 16),
        ("squared", {"kind": "budget", "limit": "3/2", "weight": "1/8"}, {"spent": 2.0}, 3 / 64),
        ("squared", {"kind": "sum", "summands": [
            {"kind": "entrywise", "weight": "3", "diagonal": False}, {"kind": "trace", "weight": "1"}
        ]}, {}, 0.75),
    ],
)  # fmt: skip
def test_exact_optima_of_regularizers_and_losses_on_paper(loss, regularizer, arrays, optimum):
    low, high = _of_one_feature(loss, regularizer, **arrays).optimum()
    assert float(low) == pytest.approx(optimum, rel=1e-14, abs=1e-14)
    assert 0 <= high - low < Fraction(1, 10**13)


def test_exact_optima_of_several_features():
    """Hard ``v^T M v >= 2``: by trace, by entries, in two blocks, near a prior, and as it costs by a matrix."""
    term = {"loss": "hard", "weight": "1", "margin": "2", "sign": 1}
    problem = {"features": 2, "linear": False, "risk": {"kind": "listed comparisons", "terms": [term]}}
    given = {"points": np.array([[0.0, 0.0], [1.0, 2.0]]), "pairs": np.array([[0, 1]]), "terms": np.zeros(1, int)}

    def optimum(cone, regularizer, **arrays):
        table = {"problem": problem | {"cone": cone, "regularizer": regularizer}}
        found = Statement(table, given | arrays).optimum()
        assert found[0] <= found[1] <= found[0] + Fraction(1, 10**13)
        return float(found[0])

    blocks = np.array([0, 1])
    assert optimum("psd", {"kind": "trace", "weight": "1"}) == pytest.approx(2 / 5)
    assert optimum("psd", {"kind": "entrywise", "weight": "1", "diagonal": True}) == pytest.approx(2 / 4)
    assert optimum("psd", {"kind": "entrywise", "weight": "1", "diagonal": False}) == 0.0
    assert optimum("block-diagonal", {"kind": "trace norm", "weight": "1"}, blocks=blocks) == pytest.approx(2 / 4)
    assert optimum("block-diagonal", {"kind": "frobenius", "weight": "1"}, blocks=blocks) == pytest.approx(2 / 17**0.5)
    # r - ln r - 1 with r = 2 / v^T H^-1 v, H = diag(1, 4).
    root = {"prior_root": np.diag([1.0, 2.0])}
    assert optimum("psd", {"kind": "log det", "weight": "1"}, **root) == pytest.approx(0.0, abs=1e-14)
    root = {"prior_root": np.diag([2.0, 4.0])}
    assert optimum("psd", {"kind": "log det", "weight": "1"}, **root) == pytest.approx(3 - np.log(4))
    # At least 2 / v^T A^-1 v = 1 is spent.
    price = {"kind": "budget", "limit": "1/4", "weight": "2"}
    assert optimum("psd", price, spent=np.diag([1.0, 4.0])) == pytest.approx(1.5)
    assert optimum("diagonal", price, spent=np.array([1.0, 4.0])) == pytest.approx(3.5)
    assert Statement(
        {"problem": problem | {"cone": "psd", "regularizer": {"kind": "budget", "limit": "1/4"}}},
        given | {"spent": np.diag([1.0, 4.0])},
    ).optimum() == (np.inf, np.inf)
