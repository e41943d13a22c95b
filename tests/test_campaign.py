"""The campaign against the checker, in small: it finds nothing, but finds what is wrong in a checker that is broken."""

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


@pytest.mark.parametrize("broken", [without_radii, a_little_more, rounded_inward, accepting])
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
