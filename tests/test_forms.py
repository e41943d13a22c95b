"""Quadratic forms that are stated by factors: what a factor is off by is within the radii, in fractions."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

import convexmetric as cm
from convexmetric.certificates.programs import off_by, priced
from convexmetric.errors import InputError
from convexmetric.programs.canonical import canonical
from convexmetric.programs.forms import factor, factored_forms, without_forms

rng = np.random.default_rng(0)
G = rng.standard_normal((6, 4))
SQUARE = G.T @ G
MATRICES = {
    "definite": SQUARE,
    "not symmetric": SQUARE + 1e-7 * np.triu(np.ones((4, 4)), 1),
    "of rank two": G[:2].T @ G[:2],
    "not quite semidefinite": np.diag([3.0, 2.0, 1.0, -1e-12]),
    "of many sizes": np.diag([1e-3, 1.0, 1e3, 1e6]) @ SQUARE @ np.diag([1e-3, 1.0, 1e3, 1e6]),
}


def exactly(values):
    return np.vectorize(Fraction)(values)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_a_factor_is_off_by_is_within_the_radii(name, sign):
    P, x = MATRICES[name], cp.Variable(4, name="x")
    form = cp.quad_form(x, cp.psd_wrap(P)) if sign > 0 else -cp.quad_form(x, cp.psd_wrap(P))
    limit = form <= 9 if sign > 0 else form >= -9
    stated = priced(canonical(cp.Problem(cp.Minimize(x[0]), [limit, cp.abs(x) <= 2])))
    (own,) = stated.forms
    radii = stated.program.radii
    rows = stated.rows_of(own, off_by(own)[1] == np.inf)
    assert (radii[rows] > 0.0).all()
    assert not np.delete(radii, rows).any()
    S, F, radius = exactly(P) + exactly(P).T, exactly(own.F), min(map(Fraction, radii[rows].tolist()))
    for y in [*rng.uniform(-2, 2, (20, 4)), *rng.choice([-2.0, 2.0], (20, 4)), *1e-3 * rng.uniform(-2, 2, (20, 4))]:
        y = exactly(y)
        # Points that the limit leaves out are not asked for.
        assert abs(sum((F @ y) ** 2) - y @ S @ y / 2) <= radius or y @ S @ y / 2 > 9


def test_factors_are_a_little_below():
    for P in MATRICES.values():
        F = factor(P)
        sizes = np.linalg.eigvalsh((P + P.T) / 2 - F.T @ F)
        # Of a matrix of many sizes a row that is small is lost.
        assert np.abs(sizes).max() <= 1e-11 * max(1.0, np.abs(P).max())


def test_forms_of_which_the_objective_is_a_sum_stay():
    x, y = cp.Variable(2), cp.Variable(2)
    form, other = cp.quad_form(x, np.eye(2)), cp.quad_form(y, 2 * np.eye(2))
    stays = cp.Problem(cp.Minimize(3 * form + other - x[0]), [x >= 1])
    assert list(factored_forms(stays)) == []
    made, forms = without_forms(stays)
    assert forms == []
    assert made.constraints == stays.constraints
    goes = cp.Problem(cp.Minimize(form + cp.maximum(other, 1)), [form <= 4, cp.quad_form(2 * x - 1, np.eye(2)) <= 9])
    made, forms = without_forms(goes)
    assert len(forms) == 3
    assert made.is_dcp()
    assert len(made.constraints) == 2 + 3 + 1
    assert "quad_form" in forms[0].u.name()


def test_factors_that_are_exact_need_no_bounds():
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.maximum(cp.quad_form(x, np.diag([4.0, 0.25])), 1) - x[0]))
    certificate = cm.certify_program(problem)
    assert certificate.lower_bound - 1e-12 <= 0.5 <= certificate.upper_bound + 1e-12
    assert certificate.gap < 1e-7
    assert "b_radii" not in certificate.arrays


def test_a_form_twice_is_one_form():
    x = cp.Variable(2)
    form = cp.quad_form(x, np.eye(2))
    assert len(without_forms(cp.Problem(cp.Minimize(x[0]), [form <= 4, form + x[1] <= 3]))[1]) == 1


def test_forms_without_bounds_are_refused_by_name_where_they_are_not_definite():
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(x[0]), [cp.quad_form(x, np.diag([1.0, -1e-12])) <= 1])
    with pytest.raises(InputError, match=r"quad_form\(x, P\).*no proven bounds"):
        cm.certify_program(problem)


def test_bounds_of_an_argument_by_its_form_alone_do_not_count():
    x = cp.Variable(2, name="x")
    nearly = np.array([[1.0, 1.0], [1.0, 1.0 - 2.0**-53]])
    for more, priced_at_all in ([cp.abs(x[0]) <= 1], False), ([cp.abs(x) <= 9], True):
        problem = cp.Problem(cp.Minimize(x[1]), [cp.quad_form(x, cp.psd_wrap(nearly)) <= 4, *more])
        if priced_at_all:
            assert cm.certify_program(problem).lower_bound <= -3.0
        else:
            with pytest.raises(InputError, match="no proven bounds"):
                cm.certify_program(problem)


def test_files_and_certificates_say_the_radii(tmp_path):
    x = cp.Variable(4, name="x")
    certificate = cm.certify_program(cp.Problem(cp.Minimize(x[0]), [cp.quad_form(x, SQUARE) <= 4]))
    optimum = -2.0 * np.sqrt(np.linalg.inv(SQUARE)[0, 0])
    assert certificate.lower_bound - 1e-12 <= optimum <= certificate.upper_bound + 1e-12
    assert certificate.gap < 1e-8
    assert any("right-hand sides" in step for step in certificate.steps)
    cm.write_certificate(tmp_path / "c.npz", certificate)
    verdict = cm.verify(tmp_path / "c.npz")
    assert verdict.accepted
    assert verdict.steps == certificate.steps
