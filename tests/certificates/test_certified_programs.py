"""Certificates of CVXPY problems: closed forms are enclosed, whoever solved them, and what is missing is named."""

import re
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
import second_checker
from forgery import archive, opened, packed
from hypothesis import given, settings
from hypothesis import strategies as st

import convexmetric as cm
from convexmetric.certificates import checker, kernel
from convexmetric.errors import GapWarning, InfeasibleError, InputError, SolverError, UnboundedError

rng = np.random.default_rng(0)
A, b, C = rng.standard_normal((12, 4)), rng.standard_normal(12), rng.standard_normal((4, 4))
C = C + C.T
Q = C @ C + np.eye(4)


def norm_ball():
    x = cp.Variable(3)
    return cp.Problem(cp.Minimize(A[0, :3] @ x), [cp.norm(x) <= 2]), -2 * np.linalg.norm(A[0, :3])


def simplex():
    x = cp.Variable(4, nonneg=True)
    return cp.Problem(cp.Maximize(b[:4] @ x), [cp.sum(x) == 1]), b[:4].max()


def least_eigenvalue():
    X = cp.Variable((4, 4), PSD=True)
    return cp.Problem(cp.Minimize(cp.trace(C @ X)), [cp.trace(X) == 1]), np.linalg.eigvalsh(C)[0]


def plain_matrix():
    X = cp.Variable((4, 4))
    return cp.Problem(cp.Minimize(cp.trace(C @ X)), [X >> 0, cp.trace(X) == 1]), np.linalg.eigvalsh(C)[0]


def largest_eigenvalue():
    t = cp.Variable()
    return cp.Problem(cp.Minimize(t), [t * np.eye(4) >> C]), np.linalg.eigvalsh(C)[-1]


def ridge():
    w = cp.Variable(4)
    optimum = b @ b - b @ A @ np.linalg.solve(A.T @ A + np.eye(4), A.T @ b)
    return cp.Problem(cp.Minimize(cp.sum_squares(A @ w - b) + cp.sum_squares(w))), optimum


def form():
    w = cp.Variable(4)
    return cp.Problem(cp.Minimize(cp.quad_form(w, Q) - b[:4] @ w)), -b[:4] @ np.linalg.solve(Q, b[:4]) / 4


def singular_form():
    w = cp.Variable(2)
    # (w1 + w2)^2 + w1 over the box of 2: at w1 = -2, w2 = 2.
    return cp.Problem(cp.Minimize(cp.quad_form(w, np.ones((2, 2))) + w[0]), [cp.abs(w) <= 2]), -2.0


def entropy():
    p = cp.Variable(5)
    return cp.Problem(cp.Maximize(cp.sum(cp.entr(p))), [cp.sum(p) == 1]), np.log(5)


def log_sum_exp():
    x = cp.Variable(3)
    return cp.Problem(cp.Minimize(cp.log_sum_exp(x)), [cp.sum(x) == 0, cp.abs(x) <= 4]), np.log(3)


def log_det():
    X = cp.Variable((4, 4), symmetric=True)
    return cp.Problem(cp.Minimize(cp.trace(Q @ X) - cp.log_det(X))), 4 + np.linalg.slogdet(Q)[1]


def geometric_mean():
    y = cp.Variable(3)
    return cp.Problem(cp.Maximize(cp.geo_mean(y) + 2), [cp.sum(y) <= 6]), 4.0


def power():
    y = cp.Variable(3, pos=True)
    return cp.Problem(cp.Minimize(cp.sum(cp.power(y, 1.7, approx=False))), [cp.sum(y) >= 6]), 3 * 2**1.7


def nuclear_norm():
    N = cp.Variable((4, 3))
    sizes = np.linalg.svd(A[:4, :3])[1]
    # Each singular value s shrinks by 1/2: s - 1/4 where it is larger, else s^2.
    optimum = np.where(sizes > 0.5, sizes - 0.25, sizes**2).sum()
    return cp.Problem(cp.Minimize(cp.normNuc(N) + cp.sum_squares(N - A[:4, :3]))), optimum


def transport():
    T = cp.Variable((2, 2), nonneg=True)
    cost = np.array([[1.0, 3.0], [2.0, 1.0]])
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply(cost, T))), [cp.sum(T, 0) == [2, 1], cp.sum(T, 1) == [1, 2]]), 4.0


def complex_numbers():
    z = cp.Variable(2, complex=True)
    return cp.Problem(cp.Minimize(cp.real(z[0]) + cp.imag(z[1])), [cp.norm(z) <= 1]), -np.sqrt(2)


CLOSED = [
    norm_ball, simplex, least_eigenvalue, plain_matrix, largest_eigenvalue, ridge, form, singular_form, entropy,
    log_sum_exp, log_det, geometric_mean, power, nuclear_norm, transport, complex_numbers,
]  # fmt: skip


def encloses(certificate, optimum):
    slack = 4e-16 * abs(optimum) + 1e-15
    return certificate.lower_bound - slack <= optimum <= certificate.upper_bound + slack


@pytest.mark.parametrize("make", CLOSED)
def test_closed_forms_are_enclosed_and_files_prove_the_same(make, tmp_path):
    problem, optimum = make()
    certificate = cm.certify_program(problem)
    assert encloses(certificate, optimum)
    assert certificate.gap <= 1e-8
    assert certificate.value == pytest.approx(optimum, rel=1e-6)
    verdict = cm.write_certificate(tmp_path / "c.npz", certificate)
    again = cm.verify(tmp_path / "c.npz")
    assert verdict.accepted
    assert again.accepted
    assert (again.lower, again.upper, again.sha256) == (verdict.lower, verdict.upper, verdict.sha256)
    # Bounds in floats are those in fractions, rounded outward.
    assert 0 <= again.lower - Fraction(certificate.lower_bound) <= abs(again.lower) / 2**52
    assert 0 <= Fraction(certificate.upper_bound) - again.upper <= abs(again.upper) / 2**52


@pytest.mark.parametrize("make", [norm_ball, simplex, singular_form, log_sum_exp, transport])
def test_the_second_checker_proves_them(make, tmp_path):
    certificate = cm.certify_program(make()[0])
    cm.write_certificate(tmp_path / "c.npz", certificate)
    found = second_checker.judge((tmp_path / "c.npz").read_bytes())
    assert found.accepted


@pytest.mark.parametrize("make", [norm_ball, simplex, least_eigenvalue, ridge, entropy, nuclear_norm])
@pytest.mark.parametrize("eps", [1e-1, 1e-3, 1e-6])
def test_bounds_hold_whatever_the_accuracy_of_the_solver(make, eps):
    problem, optimum = make()
    made = cm.certify_program(problem, solver="SCS", eps=eps)
    assert encloses(made, optimum)
    problem.solve(solver=cp.SCS, eps=eps)
    judged = cm.certify_program(problem)
    assert encloses(judged, optimum)
    assert judged.value == problem.value
    assert judged.gap <= 30 * eps
    assert made.gap <= 30 * eps


def test_the_values_of_the_variables_are_the_point_that_is_judged():
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.norm(x - [3, 4]) + x[0]), [x >= 0])
    x.value = [3.0, 3.0]
    # Values that are set by hand are one of two points, of which the better is taken: at (3, 3) it is 4.
    certificate = cm.certify_program(problem)
    assert encloses(certificate, 3.0)
    assert certificate.gap <= 1e-8
    assert certificate.values["x"][0] + np.hypot(*(certificate.values["x"] - [3, 4])) == pytest.approx(3.0, abs=1e-6)
    # Values of a solve are the point, however bad they are.
    problem.solve(solver="SCS", eps=1e-2)
    certificate = cm.certify_program(problem)
    np.testing.assert_allclose(certificate.values["x"], np.maximum(x.value, 0.0), atol=1e-2)
    assert certificate.upper_bound == pytest.approx(problem.value, abs=0.1)
    assert certificate.value == problem.value


def test_a_point_that_misses_the_constraints_is_made_feasible():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1, cp.sum(x) <= 5])
    x.value = [0.999, 1.0]
    certificate = cm.certify_program(problem)
    assert certificate.lower_bound <= 2.0 <= certificate.upper_bound
    assert certificate.upper_bound <= 5.0


def test_inequalities_without_variables_leave_room():
    M = cp.Variable((3, 3), PSD=True, name="M")
    apart = cp.Problem(cp.Minimize(cp.sum_squares(M - 1.0)), [cp.multiply(1.0 - np.eye(3), M) <= 0.0])
    certificate = cm.certify_program(apart)
    assert not certificate.missing
    assert certificate.lower_bound <= 6.0 <= certificate.upper_bound
    assert certificate.gap < 1e-7


def test_steps_of_a_proof_are_named(tmp_path):
    certificate = cm.certify_program(transport()[0])
    assert certificate.steps == ("equations that follow from others by exact combinations: 1",)
    assert certificate.steps[0] in str(certificate)
    assert cm.certify_program(norm_ball()[0]).steps == ()
    verdict = cm.write_certificate(tmp_path / "c.npz", certificate)
    assert verdict.steps == certificate.steps
    assert f"step:      {certificate.steps[0]}\n" in str(verdict)
    assert certificate.compared.startswith("compared at ")
    assert certificate.compared in str(certificate)


def missing(problem):
    with pytest.warns(GapWarning):
        found = cm.certify_program(problem)
    return found


def test_variables_without_bounds_are_named(tmp_path):
    x, y, level = cp.Variable(2, name="x"), cp.Variable(2, name="y"), cp.Variable(name="level")
    problem = cp.Problem(cp.Minimize(cp.exp(x[0]) + cp.norm(y)))
    found = missing(problem)
    assert "x are not bounded" in found.missing
    assert found.lower_bound == -np.inf
    assert found.upper_bound == pytest.approx(0.0, abs=1e-6)
    with pytest.raises(InputError, match="x are not bounded"):
        cm.write_certificate(tmp_path / "c.npz", found)
    assert not (tmp_path / "c.npz").exists()
    # A maximum has its upper bound from there.
    found = missing(cp.Problem(cp.Maximize(-cp.exp(level) - cp.norm(y))))
    assert "level are not bounded" in found.missing
    assert found.upper_bound == np.inf


def test_variables_that_change_nothing_are_no_reason():
    x, y = cp.Variable(2, name="x"), cp.Variable(2, name="y")
    found = cm.certify_program(cp.Problem(cp.Minimize(cp.norm(y - 1.0)), [cp.sum(x) <= 1, y <= 0]))
    assert encloses(found, np.sqrt(2))
    assert found.gap <= 1e-8
    assert "rows without a multiplier: 1" in found.steps


def test_constraints_that_leave_no_room_are_tight():
    x, y = cp.Variable(2, name="x"), cp.Variable(name="y")
    found = cm.certify_program(cp.Problem(cp.Minimize(cp.sum(x) + y), [x >= 1, x <= 1, y >= 2]))
    assert encloses(found, 4.0)
    assert found.gap <= 1e-8
    assert "inequalities that the point holds with equality: 4" in found.steps
    assert found.steps[0] == "equations that follow from others by exact combinations: 2"


def test_constraints_that_leave_no_room_are_named():
    x, y = cp.Variable(2, name="x"), cp.Variable(name="y")
    # They touch in one point.
    found = missing(cp.Problem(cp.Minimize(cp.sum(x) + y), [cp.norm(x) <= 1, x[0] >= 1, y >= 2]))
    assert "strictly" in found.missing
    assert "1.0 <= x[0]" in found.missing
    assert "2.0 <= y" not in found.missing
    assert found.lower_bound == pytest.approx(3.0, abs=1e-4)
    assert found.upper_bound == np.inf


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda x: 3, InputError, "must be a cvxpy.Problem, got int"),
        (lambda x: cp.Problem(cp.Minimize(cp.sqrt(x[0]))), InputError, "is_dcp"),
        (lambda x: cp.Problem(cp.Minimize(x[0]), [x >= cp.Variable(2, boolean=True)]), InputError, "integer variables"),
        (lambda x: cp.Problem(cp.Minimize(cp.Parameter(name="a") * x[0])), InputError, "without values: a"),
        (lambda x: cp.Problem(cp.Minimize(3)), InputError, "no variables"),
        (lambda x: cp.Problem(cp.Minimize(cp.sum(cp.power(x, 2.1234567)))), InputError, "approx=False"),
        (lambda x: cp.Problem(cp.Minimize(x[0]), [x[0] >= 1, x[0] <= 0]), InfeasibleError, "no point satisfies"),
        (lambda x: cp.Problem(cp.Minimize(x[0])), UnboundedError, "no bound"),
        (lambda x: cp.Problem(cp.Minimize(x[0]), [x >= -np.inf]), InputError, "NaN or infinite"),
    ],
)
def test_what_is_no_convex_problem_is_refused(make, error, says):
    with pytest.raises(error, match=says):
        cm.certify_program(make(cp.Variable(2, name="x")))


def test_a_solver_that_fails_is_named():
    problem, _ = entropy()
    with pytest.raises(SolverError, match="OSQP failed"):
        cm.certify_program(problem, solver="OSQP")


def test_parameters_count_by_their_values():
    x, a = cp.Variable(2), cp.Parameter(nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm(x) <= a])
    for value in (1.0, 3.0):
        a.value = value
        assert encloses(cm.certify_program(problem), -value * np.sqrt(2))


def test_what_cvxpy_keeps_of_a_problem_stays():
    problem, optimum = simplex()
    problem.solve(solver=cp.CLARABEL)
    before = problem.variables()[0].value.copy(), problem.status
    cm.certify_program(problem)
    assert problem.status == before[1]
    np.testing.assert_array_equal(problem.variables()[0].value, before[0])
    assert problem.solve(solver=cp.CLARABEL) == pytest.approx(optimum)


@given(st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_random_linear_programs_against_their_vertices(seed):
    own = np.random.default_rng(seed)
    q, G = own.integers(-5, 6, 2).astype(float), own.integers(-3, 4, (3, 2)).astype(float)
    h = own.integers(1, 6, 3).astype(float)
    rows, ends = np.vstack([G, np.eye(2), -np.eye(2)]), np.concatenate([h, [4.0] * 4])
    best = np.inf
    for i in range(len(rows)):
        for j in range(i):
            if abs(np.linalg.det(rows[[i, j]])) > 1e-9:
                vertex = np.linalg.solve(rows[[i, j]], ends[[i, j]])
                best = min(best, q @ vertex) if (rows @ vertex <= ends + 1e-9).all() else best
    x = cp.Variable(2)
    found = cm.certify_program(cp.Problem(cp.Minimize(q @ x), [G @ x <= h, cp.abs(x) <= 4]))
    assert found.lower_bound - 1e-13 <= best <= found.upper_bound + 1e-13
    assert found.upper_bound - found.lower_bound <= 1e-8


@given(st.integers(0, 10**6), st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_random_semidefinite_programs_against_eigenvalues(seed, k):
    own = np.random.default_rng(seed)
    M = own.standard_normal((4, 4)) * 10.0 ** own.uniform(-2, 2)
    M, X = M + M.T, cp.Variable((4, 4), symmetric=True)
    # The sum of the k largest eigenvalues.
    problem = cp.Problem(cp.Maximize(cp.trace(M @ X)), [X >> 0, np.eye(4) - X >> 0, cp.trace(X) <= k])
    values, size = np.linalg.eigvalsh(M), np.abs(M).max()
    optimum = np.maximum(values, 0.0)[-k:].sum()
    found = cm.certify_program(problem)
    assert found.lower_bound - 1e-13 * size <= optimum <= found.upper_bound + 1e-13 * size
    assert found.upper_bound - found.lower_bound <= 1e-7 * max(1.0, size)


@pytest.mark.parametrize("make", [simplex, norm_ball, least_eigenvalue, entropy, ridge])
def test_forged_numbers_prove_no_wrong_bound(make, tmp_path):
    problem, optimum = make()
    cm.write_certificate(tmp_path / "c.npz", cm.certify_program(problem))
    document, arrays = opened(tmp_path / "c.npz")
    own = np.random.default_rng(1)
    for hint in ("x", "z", "h"):
        for size in (1e-6, 1e-2, 1.0):
            if hint in arrays:
                forged = arrays | {hint: arrays[hint] + size * own.standard_normal(len(arrays[hint]))}
                found = kernel.prove([(document, forged)])
                assert found.lower is None or float(found.lower) <= optimum + 1e-12
                assert found.upper is None or float(found.upper) >= optimum - 1e-12
                assert found.reason
    hashes = document | {"sha256": {name: kernel.digest(array) for name, array in arrays.items()}}
    assert second_checker.opened(archive(packed((hashes, arrays))))


def test_files_of_programs_take_no_solution_and_no_parts(tmp_path):
    certificate = cm.certify_program(norm_ball()[0])
    for more in ({"solution": certificate}, {"parts": 2}):
        with pytest.raises(InputError, match="one part"):
            cm.write_certificate(tmp_path / "c.npz", certificate, **more)
    cm.write_certificate(tmp_path / "c.npz", certificate, title="a disc")
    verdict = cm.verify(tmp_path / "c.npz")
    assert verdict.title == "a disc"
    assert re.search(r"minimise a linear function of var\d+ \(3\) over cones \(", str(verdict))
    assert verdict.sizes == {"variables": 4, "rows": 5}


def test_the_checker_limits_what_a_file_may_cost(tmp_path):
    cm.write_certificate(tmp_path / "c.npz", cm.certify_program(least_eigenvalue()[0]))
    with pytest.raises(cm.certificates.CertificateError, match="--max-work"):
        cm.verify(tmp_path / "c.npz", max_work=1e6)
    document, arrays = opened(tmp_path / "c.npz")
    problem = document["problem"] | {"variables": 2**20}
    with pytest.raises(cm.certificates.CertificateError, match="array q"):
        checker.prove([(document | {"problem": problem}, arrays)])
    cones = document["problem"]["cones"] | {"zero": 2**23}
    with pytest.raises(cm.certificates.CertificateError):
        checker.prove([(document | {"problem": document["problem"] | {"cones": cones}}, arrays)])
    sizes = arrays | {"semidefinite_sizes": np.array([2**23])}
    with pytest.raises(cm.certificates.CertificateError, match="rows"):
        checker.prove([(document, sizes)])
