"""Errata of the papers: certified optima, derivatives and definitions tell printed and right apart."""

import errata_report as report
import numpy as np
import pytest

import convexmetric as cm


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


def test_a_bound_that_does_not_hold_is_never_said():
    assert report.below(4e-10, 1e-7) == "less than 1e-07"
    for value in (1e-7, 2e-7, float("nan")):
        with pytest.raises(ValueError, match="is not below 1e-07"):
            report.below(value, 1e-7)


def test_the_gradient_of_the_norm_ends_in_v_j():
    n = report.gradient_of_the_norm().numbers
    assert n["right"] < 1e-7
    assert n["printed"] > 1e-3


def test_learn_metric_has_wrong_signs_and_sums():
    n = report.learn_metric(epochs=50).numbers
    assert n["trace, right"] == pytest.approx(n["difference"])
    assert abs(n["trace, printed"] - n["difference"]) > 1.0
    assert n["step ratio"] == pytest.approx(2.0, rel=0.1)
    assert -1e-6 <= n["corrected"] < 1e-2
    # The zero metric, whose hinges are all 1.
    assert n["printed"] == pytest.approx(1.0 / n["optimum"] - 1.0, rel=1e-5)


def test_equations_6_and_7_of_paper_3_weigh_the_hinges_otherwise():
    n = report.triplet_factors(steps=1000).numbers
    assert n["gap"] <= 1e-6
    assert n["of sums gap"] <= 1e-6
    assert n["corrected slope"] < 1e-6
    assert n["equation 6 slope"] > 0.1
    assert n["equation 7 slope"] == pytest.approx(287.0)
    assert n["optimum"] * (1 - 1e-6) <= n["corrected"] < 1.01 * n["optimum"]
    assert n["equation 6"] > 2.0 * n["optimum"]
    assert n["equation 7"] > 2.0 * n["optimum"]
    # What no factor descends ends where hinges as many times heavier are optimal.
    assert n["equation 7"] == pytest.approx(n["of sums"], rel=0.2)
    # Where nearly all triplets are violated, |S+| is nearly |S|.
    assert n["violated"] < 72.0 < 260.0 < n["violated, crowded"] < 288.0
    assert -1e-6 <= n["corrected, crowded"] < 1e-6 < n["equation 6, crowded"] < 1e-4 < n["equation 7, crowded"]


def test_the_proof_of_theorem_14_needs_an_isometry():
    n = report.polar_decomposition().numbers
    assert n["near"] < n["here"]
    assert n["printed"] == pytest.approx(n["here"])
    assert n["right"] == pytest.approx(n["near"])


def test_figure_1_exchanges_similar_and_dissimilar_pairs():
    n = report.level_ellipsoid().numbers
    assert n["right"] == n["pairs"]
    assert n["printed"] < 0.5 * n["pairs"]
    assert n["contradictions"] > 0.0
    # Squares are missing as well.
    assert n["printed"] < n["exchanged"] < n["pairs"]
    assert n["largest dissimilar"] < 1.0 < n["least similar"]
    assert n["regularized"] > 1.0


def test_variant_l_differs_from_g_in_the_projection_and_from_f_in_a_term():
    L, G, F = (cm.papers.VARIANTS[name] for name in "LGF")
    assert (L.intra, L.inter) == (G.intra, G.inter) != (F.intra, F.inter)
    assert L.projection != G.projection == F.projection
    n = report.compared_projections().numbers
    for column in ("Search Engine", "Philosophy Concept", "phenotypes"):
        assert abs(n[f"L - G, {column}"]) < 0.011 < 0.03 < n[f"L - F, {column}"]


def test_g_is_the_best_variant_in_one_column_of_three():
    n = report.best_variant().numbers
    assert n["L, Search Engine"] > n["G, Search Engine"]
    assert n["E, phenotypes"] > n["L, phenotypes"] > n["G, phenotypes"]
    assert [n[f"above G, {column}"] for column in ("Search Engine", "Philosophy Concept", "phenotypes")] == [1, 0, 2]


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
    assert n["printed"] > 1e-2


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
