"""Errata of the papers: certified optima, derivatives and definitions tell printed and right apart."""

import errata_report as report
import numpy as np
import pytest


def test_the_printed_loss_step_minimises_the_objective_of_twice_lambda():
    n = report.factor_two(steps=100_000).numbers
    assert n["gap"] <= 1e-6
    assert n["optimum"] * (1 - 1e-6) <= n["corrected"] < 1.002 * n["optimum"]
    assert n["printed"] > 1.05 * n["optimum"]
    assert n["optimum at twice"] * (1 - 1e-6) <= n["printed at twice"] < 1.002 * n["optimum at twice"]
    assert n["corrected at twice"] > 1.05 * n["optimum at twice"]
    # Certified multipliers: the optimum of 2 lambda is a fixed point of the mean printed step, and of no other.
    assert n["printed step at twice"] < 1e-3 < 0.3 < n["corrected step at twice"]
    assert n["corrected step at once"] < 1e-3 < 0.3 < n["printed step at once"]


def test_the_gradient_of_the_norm_ends_in_v_j():
    n = report.gradient_of_the_norm().numbers
    assert n["right"] < 1e-7
    assert n["printed"] > 1e-3


def test_learn_metric_has_wrong_signs_and_sums():
    n = report.learn_metric(epochs=50).numbers
    assert n["trace, right"] == pytest.approx(n["difference"])
    assert abs(n["trace, printed"] - n["difference"]) > 1.0
    assert n["step ratio"] == pytest.approx(2.0, rel=0.1)
    assert -1e-6 <= n["corrected"] < 1e-2 < 4e-2 < n["printed"]


def test_the_printed_sign_pushes_relevant_objects_away():
    n = report.cross_modal_sign().numbers
    assert n["slope"] < 1e-6
    assert -1e-7 <= n["corrected"] < 1e-4
    # Worse than no metric at all.
    assert n["optimum"] * (1.0 + n["printed"]) > n["at zero"] > n["optimum"]


def test_the_printed_definition_compares_nothing():
    n = report.relative_definition().numbers
    assert n["feasible"] == 0.0
    assert n["largest weight"] == 0.0
    assert n["printed optimum"] == pytest.approx(n["at zero"], rel=1e-6)
    assert n["at zero"] > 1.2 * n["optimum"]
    assert n["corrected"] < 1e-2 < n["printed"]


def test_tall_maps_have_orthonormal_columns_only():
    n = report.orthogonality().numbers
    assert n["columns"] < 1e-12
    assert n["rows"] >= n["least"] - 1e-9
    assert abs(n["norm"] / n["other norm"] - 1.0) > 1e-2


def test_theorem_13_needs_norms_of_one():
    n = report.small_norms(runs=1000).numbers
    assert n["right"] <= n["delta"] < 0.4 < n["printed"]


def test_the_balanced_draw_is_not_the_balanced_oracle():
    n = report.balanced_draw().numbers
    rng = np.random.default_rng(0)
    y = (rng.random(200_000) < 0.25).astype(int)
    x, other = y[::2], y[1::2]
    assert np.mean(x[x == other] == 0) == pytest.approx(n["defined"], abs=0.01)
    assert abs(n["drawn"] - n["defined"]) > 0.1


def test_the_printed_weight_is_infinite_at_its_centre():
    n = report.regression_loss().numbers
    assert np.isinf(n["printed"])
    assert n["right"] == 0.25


def test_the_page_has_a_row_for_every_erratum(tmp_path):
    errata = [report.gradient_of_the_norm(), report.cross_modal_sign()]
    text = report.page(errata)
    assert all(erratum.where in text for erratum in errata)
    rows = [line for line in text.splitlines() if line.startswith("| paper")]
    assert all(row.replace("\\|", "").count("|") == 5 for row in rows)
    report.draw(errata, tmp_path / "errata.png")
    assert (tmp_path / "errata.png").stat().st_size > 0
