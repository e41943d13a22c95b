"""Files of problems under constraints and with terms of the user's own: what they prove is what is true."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
import second_checker
from catalogue import CATALOGUE, instance
from forgery import opened, written
from samples import some
from test_solves_with_user_terms import TERMS, whole

import convexmetric as cm
from convexmetric.certificates import CertificateError, kernel
from convexmetric.comparisons import Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.losses import Hinge
from convexmetric.regularizers import Trace, Zero
from convexmetric.risks import SeparableRisk

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
MANY = [
    name
    for name in MANY
    if not any(word in name for word in ("own", "hard", "symmetric", "rectangular", "rbf", "blocks"))
]


@pytest.mark.parametrize("name", some(MANY, 8))
def test_every_regularizer_is_proven_under_constraints(name, tmp_path):
    solution = cm.solve(instance(name).subject_to(room, lambda M: 0.1 * cp.sum(cp.abs(M))), tol=1e-6)
    verdict = cm.write_certificate(tmp_path / "c.npz", solution)
    assert cm.verify(tmp_path / "c.npz").accepted
    assert verdict.lower <= verdict.upper
    assert verdict.gap <= max(2e-5, 3 * solution.gap)


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
    # No metric of these is positive definite.
    fixed = instance("psd triplets, trace, G").subject_to(lambda M: [cp.trace(M) == 0.5, M[0, 0] == 0.5])
    with pytest.raises(InputError, match=r"upper bound.*must leave room"):
        cm.write_certificate(tmp_path / "c.npz", cm.solve(fixed, tol=1e-3))
    assert not list(tmp_path.iterdir())


# Equations between entries of the metric ------------------------------------------------------------------------------


def unfolded(n):
    """Distances of neighbours that maximum variance unfolding keeps, of centred points, in a basis without the mean."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n, n - 1))
    D = np.square(Z[:, None] - Z).sum(axis=2)
    B = np.linalg.qr(np.column_stack([np.ones(n), rng.standard_normal((n, n - 1))]))[0][:, 1:]
    off = [(B[i] - B[j], D[i, j]) for i in range(n) for j in np.argsort(D[i])[1:3] if i < j or j == (i + 1) % n]
    off += [(B[i] - B[i + 1], D[i, i + 1]) for i in range(n - 1)]
    return lambda M: [cp.sum(cp.multiply(np.outer(v, v), M)) == float(square) for v, square in off]


def hinged(cone, G=None):
    """A few triplets of random points on a cone."""
    rng = np.random.default_rng(1)
    risk = SeparableRisk(
        Triplets(rng.standard_normal((9, cone.d)), rng.permuted(np.tile(np.arange(9), (30, 1)), axis=1)[:, :3], cone),
        Hinge(0.02),
    )
    return cm.MetricProblem(risk, Zero() if G is not None else Trace(0.01), G=G)


def trace(M):
    return sum(M[i][i] for i in range(len(M)))


def kept(M):
    return [(cp.trace(M) if M.ndim == 2 else cp.sum(M)) == 0.3]


def off(M):
    return [trace(M) - Fraction(0.3)]


FULL = hinged(PSDCone(4))
#: Problems with equations that no float metric satisfies, and what is zero at one that does, in fractions.
EQUATIONS = {
    "trace": (FULL, kept, off),
    "trace, no regularizer": (hinged(PSDCone(4), np.zeros((4, 4))), kept, off),
    "anchors": (
        FULL, lambda M: [M[:2, :2] == 0.3 * np.eye(2)], lambda M: [*off([M[0][:1]]), *off([M[1][1:]]), M[0][1]],
    ),
    "Fantope": (FULL, lambda M: [np.eye(4) >> M, cp.trace(M) == 2.0], lambda M: [trace(M) - 2]),
    "weights": (hinged(NonnegativeDiagonal(4)), kept, off),
    "with a norm": (FULL, lambda M: [*kept(M), cp.norm(M, "fro") <= 0.25], off),
    "unfolding": (hinged(PSDCone(6), -np.eye(6)), unfolded(7), lambda M: []),
}  # fmt: skip


@pytest.fixture(scope="module")
def equated(tmp_path_factory):
    """Files of problems with equations, by name, each written once."""
    made = {}

    def of(name):
        if name not in made:
            problem, constraints, _ = EQUATIONS[name]
            path = tmp_path_factory.mktemp("equated") / "c.npz"
            solution = cm.solve(problem.subject_to(constraints), tol=1e-6)
            made[name] = path, cm.write_certificate(path, solution)
        return made[name]

    return of


@pytest.mark.parametrize("name", EQUATIONS)
def test_equations_of_the_metric_hold_exactly_at_one_near_by(name, equated):
    problem, constraints, zeros = EQUATIONS[name]
    path, verdict = equated(name)
    assert verdict.gap <= 2e-6
    again = cm.verify(path)
    assert again.accepted
    assert any("entries of the metric that move" in step for step in again.steps)
    optimum = whole(problem, constraints, None)
    assert float(verdict.lower) - 1e-7 * abs(optimum) <= optimum <= float(verdict.upper) + 1e-7 * abs(optimum)
    found = second_checker.judge(path.read_bytes())
    assert found.accepted
    assert verdict.lower <= found.lower <= found.upper <= verdict.upper
    near = second_checker.Part(path.read_bytes()).metric()
    assert not any(zeros(near))
    # The file's own metric is off.
    assert name == "unfolding" or any(zeros(second_checker.Part(path.read_bytes()).M))


@pytest.mark.parametrize("name", ["trace", "anchors", "weights"])
def test_forged_metrics_prove_no_wrong_bound(name, equated, tmp_path):
    path, true = equated(name)
    document, arrays = opened(path)
    rng, metric = np.random.default_rng(0), "weights_of_metric" if name == "weights" else "factor"
    for key in (metric, "metric_spreads"):
        for size in (1e-9, 1e-3, 0.1, 1.0):
            forged = arrays | {key: np.abs(arrays[key] + size * rng.standard_normal(arrays[key].shape))}
            found = kernel.prove([(document, forged)])
            assert found.upper is None or found.upper >= true.lower
            exact = second_checker.judge(written(tmp_path / "f.npz", (document, forged)).read_bytes())
            assert found.upper is None or exact.upper <= found.upper


def test_equations_that_no_entry_moves_for_are_not_proven(equated, tmp_path):
    document, arrays = opened(equated("trace")[0])
    still = arrays | {"metric_spreads": 0.0 * arrays["metric_spreads"]}
    assert "given entries alone" in cm.verify(written(tmp_path / "c.npz", (document, still))).reason
    del still["metric_spreads"]
    assert "given entries alone" in cm.verify(written(tmp_path / "c.npz", (document, still))).reason
    with pytest.raises(CertificateError, match="must not be negative"):
        cm.verify(written(tmp_path / "c.npz", (document, arrays | {"metric_spreads": -arrays["metric_spreads"]})))


@pytest.mark.parametrize(("name", "said"), [("trace", "positive semidefinite"), ("weights", "nonnegative")])
def test_metrics_that_leave_the_cone_are_not_proven(name, said, equated, tmp_path):
    document, arrays = opened(equated(name)[0])
    large = (
        {"factor": np.diag([1.0, 1e-3, 0.0, 0.0])}
        if name == "trace"
        else {"weights_of_metric": np.array([1.0, 0, 0, 0])}
    )
    verdict = cm.verify(written(tmp_path / "c.npz", (document, arrays | large)))
    assert verdict.upper is None
    assert f"the metric that satisfies all equations is not proven to be {said}" in verdict.reason


def test_parts_have_the_same_metric_near_by(tmp_path):
    problem = instance("ranking from labels").subject_to(lambda M: [cp.trace(M) == 0.5])
    verdict = cm.write_certificate(tmp_path / "c.npz", cm.solve(problem, tol=1e-4), parts=2)
    again = cm.verify(tmp_path / "c-1.npz", tmp_path / "c-2.npz")
    assert again.accepted
    assert (again.lower, again.upper) == (verdict.lower, verdict.upper)


@pytest.mark.parametrize("seed", range(8))
def test_distances_are_those_of_all_metrics_near_by(seed):
    """Under F^T F + E, E of any direction up to a norm."""
    rng = np.random.default_rng(seed)
    cone = kernel.Cone({"cone": "psd", "features": 3}, kernel.Arrays({}))
    F, X = rng.standard_normal((3, 3)), rng.standard_normal((6, 3)) * 10.0 ** rng.integers(-2, 3)
    size = 10.0 ** rng.integers(-9, 0)
    factor = kernel.metrics.Near(F, size)
    images, near = kernel.points.Images(cone, factor, X, X), cone.metric(factor)
    rows = [row + error * np.array([[-1.0], [1.0]]) for row, error in images.rows()]
    for i, j in ((0, 1), (2, 3), (4, 5)):
        V = X[i] - X[j]
        for E in (
            np.outer(V, V) / (V @ V),
            np.outer(X[i], X[i]) / (X[i] @ X[i]),
            np.outer(X[i], X[j]) + np.outer(X[j], X[i]),
        ):
            for sign in (-1.0, 1.0):
                M = F.T @ F + sign * size * E / np.linalg.norm(E) * (1.0 - 1e-9)
                d, own = V @ M @ V, images.listed(np.array([i]), np.array([j]))
                assert abs(d - own.mid[0]) <= own.rad[0]
                assert rows[i][0, j] <= d <= rows[i][1, j]
                assert (abs(M - near.mid) <= near.rad).all()
