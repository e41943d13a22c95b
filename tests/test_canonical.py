"""Programs in the kernel's form: what solvers say of them, how they are scaled, and the way back to problems."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from convexmetric.errors import InputError
from convexmetric.programs.canonical import Cones, Program, canonical

CONES = Cones(1, 12, (3, 3, 4, 1), (2, 3), 2, (0.3, 0.6))


def program(quadratic=True, seed=0):
    """A program over all cones with an inner point, in a box."""
    rng, n = np.random.default_rng(seed), 6
    A = rng.standard_normal((CONES.slices[-1].stop, n))
    A[CONES.slices[1]] = np.vstack([np.eye(n), -np.eye(n)])
    b = A @ (0.1 * rng.standard_normal(n)) + CONES.inner()
    P = sp.csc_array(np.eye(n) if quadratic else (n, n))
    return Program(P, rng.standard_normal(n), sp.csc_array(A), b, CONES)


@pytest.mark.parametrize("quadratic", [True, False])
@pytest.mark.parametrize(("solver", "options"), [("CLARABEL", {}), ("SCS", {"eps": 1e-9, "max_iters": 10**5})])
def test_solvers_say_points_and_dual_points_of_the_program(solver, options, quadratic):
    stated = program(quadratic)
    answer = stated.solve(solver, **options)
    x, z = answer.x, answer.z
    s = stated.b - stated.A @ x
    np.testing.assert_allclose(stated.P @ x + stated.q + stated.A.T @ z, 0.0, atol=1e-7)
    assert stated.value(x) == pytest.approx(answer.value, abs=1e-7)
    assert z @ s == pytest.approx(0.0, abs=1e-6)
    assert abs(s[0]) <= 1e-7
    # Both are in their cones, once an inner point is added.
    for point, dual in ((s, False), (z, True)):
        assert CONES.margins(point + 1e-5 * CONES.inner(dual), dual)[1:].min() > 0.0


def test_inner_points_have_margins_and_their_negatives_have_none():
    for dual in (False, True):
        e = CONES.inner(dual)
        margins = CONES.margins(e, dual)
        assert margins[1:].min() > 0.05
        assert np.isinf(margins[0])
        assert CONES.margins(-e, dual)[1:].max() < 0.0


def test_scaled_programs_have_the_same_optimum_and_exact_factors():
    stated, rng = program(), np.random.default_rng(1)
    apart = 10.0 ** rng.uniform(-3, 3, 6)
    wide = replace(
        stated, A=sp.csc_array(stated.A * apart), P=sp.csc_array(np.diag(apart**2)), q=stated.q * apart * 1e4
    )
    made, back = wide.scaled
    for factors in back.values():
        assert (np.frexp(factors)[0] == 0.5).all()
    rows = np.abs(made.A.toarray()).max(axis=1)
    assert rows.min() > 0.05
    assert rows.max() < 4.0
    x = rng.standard_normal(6)
    assert made.value(x) == pytest.approx(back["cost"] * wide.value(back["x"] * x), rel=1e-12)
    z, h = rng.standard_normal(len(made.b)), rng.standard_normal(6)
    missed = made.P @ h + made.A.T @ z + made.q
    there = wide.P @ (h * back["h"]) + wide.A.T @ (z * back["z"]) + wide.q
    np.testing.assert_allclose(missed, there * back["x"] * back["cost"], rtol=1e-9, atol=1e-9)
    # A slack and its image are in the same cones.
    factors = made.b / np.where(wide.b == 0.0, 1.0, wide.b)
    for kind, _, own in CONES.blocks():
        used = own.start + np.flatnonzero(wide.b[own])
        assert len(set(factors[used].tolist())) <= 1, kind


def test_entries_of_a_metric_come_first_and_are_kept_apart():
    M, t = cp.Variable((3, 3), symmetric=True, name="M"), cp.Variable(2, name="t")
    problem = cp.Problem(cp.Minimize(cp.trace(M) + cp.sum(t)), [cp.norm(t) <= cp.trace(M), M >> 0])
    stated = canonical(problem, first=M).program
    i, j = np.triu_indices(3)
    np.testing.assert_array_equal(stated.q[:6], (i == j).astype(float))
    # The rows of M >> 0 are its entries i >= j, column by column.
    rows = stated.A[stated.cones.slices[3]].toarray()
    np.testing.assert_array_equal(rows[:, :6], -np.eye(6))


def test_programs_are_whole():
    X, x = cp.Variable((2, 2), name="X"), cp.Variable(3, name="x")
    form = canonical(cp.Problem(cp.Minimize(cp.trace(X) + cp.sum(X)), [X >> 0, cp.trace(X) == 1]))
    np.testing.assert_array_equal(form.program.q, [2.0, 1.0, 1.0, 2.0])
    np.testing.assert_array_equal(form.values(np.array([1.0, 2.0, 5.0, 3.0]))["X"], [[1.0, 5.0], [2.0, 3.0]])
    # Nothing is asked of the size of x_0, of which CVXPY's variable only gives room.
    form = canonical(cp.Problem(cp.Minimize(np.array([0.0, 1.0, 2.0]) @ cp.abs(x)), [cp.sum(x) == 1]))
    assert (len(form.program.q), len(form.program.b)) == (6, 7)
    # Equations that follow from others, or contradict them, stay.
    for side in (2, 3):
        form = canonical(cp.Problem(cp.Minimize(x[0]), [cp.sum(x) == 1, 2 * cp.sum(x) == side, x >= 0]))
        assert form.program.cones.zero == 2


def test_approximations_are_refused():
    x = cp.Variable(3)
    with pytest.raises(InputError, match="approximates PnormApprox: pass approx=False"):
        canonical(cp.Problem(cp.Minimize(cp.pnorm(x, 3.14159265)), [x >= 1]))
    X = cp.Variable((2, 2), PSD=True)
    with pytest.raises(InputError, match="approximates quantum_rel_entr"):
        canonical(cp.Problem(cp.Minimize(cp.quantum_rel_entr(X, np.eye(2))), [cp.trace(X) == 1]))


def test_variables_of_one_name_are_told_apart():
    x, y = cp.Variable(name="x"), cp.Variable(name="x")
    form = canonical(cp.Problem(cp.Minimize(x + 2 * y), [x >= 1, y >= 1]))
    assert form.values(np.array([3.0, 4.0])) == {f"x ({x.id})": 3.0, f"x ({y.id})": 4.0}
