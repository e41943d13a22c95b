"""Files of problems under constraints and with terms of the user's own: what they prove is what is true."""

import cvxpy as cp
import numpy as np
import pytest
import second_checker
from catalogue import CATALOGUE, instance
from forgery import opened
from samples import some
from test_solves_with_user_terms import TERMS, whole

import convexmetric as cm
from convexmetric.certificates import kernel
from convexmetric.errors import InputError

PROBLEMS = [
    "ranking from labels", "ranking from lists", "ranking, diagonal, squared norm", "relative, A, soft",
    "psd triplets, trace, G",
]  # fmt: skip


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_file_proves_what_the_whole_statement_is_worth(name, terms, tmp_path):
    constraints, extra = TERMS[terms]
    problem = instance(name)
    solution = cm.solve(problem, tol=1e-6, constraints=constraints, extra_objective=extra)
    verdict = cm.write_certificate(tmp_path / "c.npz", solution)
    again = cm.verify(tmp_path / "c.npz")
    assert again.accepted
    assert (again.lower, again.upper) == (verdict.lower, verdict.upper)
    assert verdict.gap <= 2e-6
    listed = None if constraints is None else lambda M: [*np.atleast_1d(constraints(M))]
    optimum = whole(problem, listed, extra)
    assert float(verdict.lower) <= optimum + 1e-7 * abs(optimum)
    assert float(verdict.upper) >= optimum - 1e-7 * abs(optimum)
    assert "conic (" in verdict.problem


def room(M):
    return [(cp.trace(M) if M.ndim == 2 else cp.sum(M)) <= 5.0, (M[0, 0] if M.ndim == 2 else M[0]) <= 2.0]


#: Regularizers, losses and cones of many kinds; each takes a second.
MANY = [name for name in CATALOGUE if "full" in name or "trace" in name or "diagonal" in name]
MANY = [name for name in MANY if not any(word in name for word in ("own", "hard", "symmetric", "rectangular", "rbf"))]


@pytest.mark.parametrize("name", some(MANY, 8))
def test_every_regularizer_is_proven_under_constraints(name, tmp_path):
    solution = cm.solve(instance(name).subject_to(room, lambda M: 0.1 * cp.sum(cp.abs(M))), tol=1e-6)
    verdict = cm.write_certificate(tmp_path / "c.npz", solution)
    assert cm.verify(tmp_path / "c.npz").accepted
    assert verdict.lower <= verdict.upper
    assert verdict.gap <= max(1e-5, 3 * solution.gap)


def test_the_second_checker_proves_it_too(tmp_path):
    solution = cm.solve(instance("relative, A, soft").subject_to(room), tol=1e-6)
    verdict = cm.write_certificate(tmp_path / "c.npz", solution)
    found = second_checker.judge((tmp_path / "c.npz").read_bytes())
    assert found.accepted
    assert verdict.lower <= found.lower <= found.upper <= verdict.upper


def test_rows_of_zeros_and_parts(tmp_path):
    problem = instance("ranking from labels").subject_to(lambda M: [M[1, :] == 0])
    solution = cm.solve(problem, tol=1e-5)
    verdict = cm.write_certificate(tmp_path / "c.npz", solution, parts=3)
    again = cm.verify(*(tmp_path / f"c-{part}.npz" for part in (1, 2, 3)))
    assert again.accepted
    assert (again.lower, again.upper) == (verdict.lower, verdict.upper)
    _, arrays = opened(tmp_path / "c-1.npz")
    assert not arrays["factor"][:, 1].any()
    # A number in that column is a metric outside of the constraints.
    document, arrays = opened(tmp_path / "c-1.npz")
    arrays["factor"] = arrays["factor"] + 1e-12
    stated = kernel.Problem(document, kernel.Arrays(arrays))
    given = stated.omega.read({}, kernel.Arrays(arrays))
    with pytest.raises(kernel.NotProven, match="given entries alone"):
        stated.omega.value(arrays["factor"], stated.cone.metric(arrays["factor"]), given)


def test_weights_that_are_to_be_zero(tmp_path):
    problem = instance("ranking, diagonal, squared norm").subject_to(lambda w: [w[0] == 0, w[1] == 0])
    verdict = cm.write_certificate(tmp_path / "c.npz", cm.solve(problem, tol=1e-6))
    assert verdict.accepted
    _, arrays = opened(tmp_path / "c.npz")
    assert not arrays["weights_of_metric"][:2].any()


@pytest.mark.parametrize("hint", ["factor", "x", "z"])
def test_forged_numbers_prove_no_wrong_bound(hint, tmp_path):
    constraints, extra = TERMS["both"]
    solution = cm.solve(instance("psd triplets, trace, G"), constraints=constraints, extra_objective=extra, tol=1e-6)
    true = cm.write_certificate(tmp_path / "c.npz", solution)
    document, arrays = opened(tmp_path / "c.npz")
    rng = np.random.default_rng(0)
    for size in (1e-6, 1e-3, 1e-1, 1.0):
        forged = arrays | {hint: arrays[hint] + size * rng.standard_normal(arrays[hint].shape)}
        found = kernel.prove([(document, forged)])
        assert found.lower is None or found.lower <= true.upper
        assert found.upper is None or found.upper >= true.lower
        # Other variables than the metric are moved back by their equations.
        assert found.reason or hint == "x"


def test_what_cannot_be_proven_is_said(tmp_path):
    blocks = instance("hinge, log det, blocks").subject_to(room)
    with pytest.raises(InputError, match="on positive semidefinite and on diagonal metrics only"):
        cm.write_certificate(tmp_path / "c.npz", cm.solve(blocks, tol=1e-3))
    fixed = instance("ranking from labels").subject_to(lambda M: [cp.trace(M) == 0.5])
    with pytest.raises(InputError, match="upper bound"):
        cm.write_certificate(tmp_path / "c.npz", cm.solve(fixed, tol=1e-3))
    assert not list(tmp_path.iterdir())
