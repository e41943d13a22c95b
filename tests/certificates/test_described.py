"""Blocks that describe themselves in certificate files: new ones, derived ones, and ones that do not tell the truth."""

from dataclasses import dataclass
from fractions import Fraction
from unittest.mock import patch

import cvxpy as cp
import numpy as np
import pytest
from catalogue import instance

import convexmetric as cm
from convexmetric.certificates import describe, kernel
from convexmetric.comparisons import Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.described import Described, description
from convexmetric.errors import DualError, InputError
from convexmetric.fingerprint import fingerprint
from convexmetric.losses import BoxLoss, Hinge
from convexmetric.regularizers import Frobenius, QuadraticForm, Regularizer, SquaredFrobenius, Trace
from convexmetric.risks import SeparableRisk, SmoothedPairs, separable
from convexmetric.risks.dual_points import dual_arrays, dual_from_arrays

X = np.random.default_rng(0).normal(size=(12, 3))
TRIPLETS = np.array([np.random.default_rng(seed).choice(12, 3, replace=False) for seed in range(20)])


def problem(regularizer, cone=None, loss=None, G=None):
    triplets = Triplets(X, TRIPLETS, PSDCone(3) if cone is None else cone)
    return cm.MetricProblem(SeparableRisk(triplets, Hinge(0.1) if loss is None else loss), regularizer, G=G)


@dataclass(frozen=True)
class Elastic(Regularizer):
    """``a tr M + b / 2 ||M||_F^2``, with all that the contract asks for and no word about certificates."""

    a: float = 0.1
    b: float = 0.5

    def value(self, M, cone):
        return self.a * cone.trace(M) + 0.5 * self.b * cone.inner(M, M)

    def bound(self, value, S, G, cone, hint):
        target = S - self.a * cone.identity() if G is None else S - self.a * cone.identity() - G
        root = cone.project(target)
        return value - cone.inner(root, root) / (2.0 * self.b)

    def expression(self, M, cone):
        return self.a * cone.trace_expression(M) + 0.5 * self.b * cp.sum_squares(M)

    def latex(self, M):
        return self.text(M)

    def text(self, M):
        return f"{self.a:g} tr({M}) + {self.b / 2:g} ||{M}||_F^2"

    def linear(self, cone):
        return self.a * cone.coordinates(cone.identity())

    def quadratic(self, cone):
        return self.b


@pytest.mark.parametrize("cone", [PSDCone(3), NonnegativeDiagonal(3)])
@pytest.mark.parametrize("linear", [False, True])
def test_a_new_regularizer_that_is_linear_plus_quadratic_is_proven(cone, linear, tmp_path):
    G = 0.05 * np.abs(np.random.default_rng(1).standard_normal(3)) if linear else None
    G = np.diag(G) if linear and not cone.diagonal else G
    stated = problem(Elastic(), cone, G=G)
    cm.check_problem(stated)
    solution = cm.solve(stated, tol=1e-7)
    verdict = cm.write_certificate(tmp_path / "c.npz", stated, solution=solution)
    assert cm.verify(tmp_path / "c.npz").accepted
    assert float(verdict.lower) == pytest.approx(solution.lower_bound, rel=1e-8)
    assert float(verdict.upper) == pytest.approx(solution.upper_bound, rel=1e-8)
    table, arrays = describe(stated)
    assert table["regularizer"] == {"kind": "squared frobenius", "weight": "1/2"}
    np.testing.assert_array_equal(arrays["linear"], 0.1 * cone.identity() + (0.0 if G is None else G))
    assert stated.G is G or np.array_equal(stated.G, G)


def test_what_is_inherited_does_not_count_unless_from_a_contract():
    for known in (Hinge(0.1), Trace(0.1), SquaredFrobenius(0.1), PSDCone(3), cm.measures.AveragePrecision()):
        given = {Hinge: (np.ones(2),), Trace: (PSDCone(3), None), SquaredFrobenius: (PSDCone(3), None)}
        arguments = given.get(type(known), ())
        description(known, *arguments)

        class Derived(type(known)):
            pass

        class Again(type(known)):
            def described(self, *given):
                return super().described(*given)

        for kind, fits in ((Derived, False), (Again, True)):
            made = object.__new__(kind)
            made.__dict__.update(vars(known))
            if fits:
                assert description(made, *arguments).table == description(known, *arguments).table
            else:
                with pytest.raises(InputError, match="certificates do not know a Derived"):
                    description(made, *arguments)

    class Stronger(Elastic):
        """A class of the contract: its forms are its own."""

    assert description(Stronger(), PSDCone(3), None).table["weight"] == 0.5
    for unknown in (object(), Elastic(b=0.0), Elastic(b=np.inf)):
        with pytest.raises(InputError, match=f"certificates do not know a {type(unknown).__name__}"):
            description(unknown, PSDCone(3), None)


class OtherForms(Elastic):
    """Forms of another function than its value, which agree with it at zero."""

    def quadratic(self, cone):
        return 1.001 * self.b


class OtherWeight(Trace):
    """Says that it is half of what it is."""

    def described(self, cone, points):
        return Described({"kind": "trace", "weight": 0.5 * self.reg})


class OtherLoss(Hinge):
    """Says that its margin is less than it is."""

    def described(self, signs):
        said = super().described(signs)
        return Described(said.table, said.arrays | {"margins": 0.999 * said.arrays["margins"]})


@pytest.mark.parametrize(
    ("wrong", "right", "what"),
    [
        (problem(OtherForms()), problem(Elastic()), "the penalty of the statement is"),
        (problem(OtherWeight(1e-6)), problem(Trace(1e-6)), "the penalty of the statement is"),
        (problem(Trace(0.1), loss=OtherLoss(0.1)), problem(Trace(0.1)), "the risk of the statement is"),
    ],
)
@pytest.mark.parametrize("zero", [False, True])
def test_a_block_that_describes_another_is_found_out(wrong, right, what, zero, tmp_path):
    """The dual point is right; a wrong statement would have bounds of its own."""
    solution = cm.solve(right, tol=1e-4)
    M = np.zeros((3, 3)) if zero else solution.certificate.M
    certificate = cm.certify(right, M, solution.certificate.dual)
    cm.write_certificate(tmp_path / "c.npz", right, solution=certificate)
    with pytest.raises(InputError, match=f"a block describes another one than it is: {what}"):
        cm.write_certificate(tmp_path / "wrong.npz", wrong, solution=certificate)
    assert not (tmp_path / "wrong.npz").exists()


def test_weights_over_roots_are_stated_as_they_are():
    for kind in (Trace, Frobenius, SquaredFrobenius):
        over, plain = kind.over_root(0.005, 7), kind(float(0.005 / np.sqrt(7)))
        assert over == plain
        assert fingerprint(over) == fingerprint(plain)
        assert description(over, PSDCone(3), None).table == {
            "kind": description(plain, PSDCone(3), None).table["kind"], "weight": 0.005, "over_root_of": 7
        }  # fmt: skip
    stated = instance("pairs, all, trace, unit-rbf, margin 1.0")
    table, _ = describe(stated)
    assert table["regularizer"] == {
        "kind": "trace", "weight": str(Fraction(str(stated.reg))), "over_root_of": stated.m
    }  # fmt: skip


def test_a_quadratic_form_remembers_its_gram_matrix():
    A = np.random.default_rng(0).standard_normal((4, 3))
    form, cone = QuadraticForm.gram(A), NonnegativeDiagonal(3)
    assert fingerprint(form) == fingerprint(QuadraticForm((A.T @ A) ** 2))
    said = description(form, cone, None)
    assert said.table["of"] == "gram of A"
    assert said.arrays["gram_of"] is A
    K = A.T @ A
    squared = QuadraticForm(K * K)
    assert description(squared, cone, K).table["of"] == "squared points"
    assert description(squared, cone, A).table["of"] == "matrix"


def test_boxes_are_described_by_weights_and_ends():
    """``c l(s)`` has the box and the curvature of u = c a, with l the largest a (mu - s) - kappa a^2 / 2."""
    inf = np.inf
    low, high = np.array([0.0, -0.5, -3.0, 2.0, 0.0, 0.0]), np.array([inf, 0.5, 4.0, 2.0, 0.0, inf])
    loss = BoxLoss(np.arange(6.0), low, high, np.array([0.25, 0.25, 0.0, 0.0, 0.0, 0.0]))
    said = loss.described(np.ones(6))
    assert said.table == {"loss": "box"}
    found = {name: array.tolist() for name, array in said.arrays.items()}
    assert found == {
        "weights": [2.0, 2.0, 4.0, 2.0, 1.0, 1.0], "margins": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        "low": [0.0, -0.25, -0.75, 1.0, 0.0, 0.0], "high": [inf, 0.25, 1.0, 1.0, 0.0, inf],
        "curvature": [0.5, 0.5, 0.0, 0.0, 0.0, 0.0],
    }  # fmt: skip
    many = BoxLoss(*(np.resize(part, 20) for part in vars(loss).values()))
    terms = describe(problem(Trace(0.1), loss=many))[0]["risk"]["terms"]
    first = {"loss": "box", "weight": "2", "margin": "0", "sign": 1, "low": "0", "curvature": "1/2"}
    assert first in terms
    assert len(terms) == 6


def test_more_boxes_than_a_file_may_have_are_refused():
    ends = np.linspace(1.0, 2.0, 20)
    loss = BoxLoss(np.zeros(20), -ends, np.ones(20), np.zeros(20))
    with patch.object(separable, "ALLOWED_TERMS", 10), pytest.raises(InputError, match="at most 10 losses"):
        describe(problem(Trace(0.1), loss=loss))


def test_dual_points_are_read_back_as_they_were_written():
    M = np.eye(2)
    cut = cm.risks.CutDual(M[None], np.ones((1, 1)), np.zeros(3, dtype=np.int64))
    smooth = SmoothedPairs(M, 0.5)
    own = SmoothedPairs(M, 0.0, np.zeros((1, 3), dtype=np.int64), np.ones(1))
    for dual in (cut, smooth, own):
        arrays = dual_arrays(dual, "u")
        again = dual_from_arrays(arrays, "u")
        assert type(again) is type(dual)
        for name, value in vars(dual).items():
            np.testing.assert_array_equal(getattr(again, name), value)
        lost = {name: array for name, array in arrays.items() if name not in ("weights", "width")}
        with pytest.raises(DualError, match=f"it has no {'weights' if dual is cut else 'width'}"):
            dual_from_arrays(lost, "u")
    np.testing.assert_array_equal(dual_from_arrays(dual_arrays(np.ones(3), "u"), "u"), np.ones(3))
    assert dual_from_arrays({"M": M}, "u") is None
    with pytest.raises(DualError, match="width must be a number"):
        dual_from_arrays({"smoothed_at": M, "width": np.ones(2)}, "u")


def test_floats_of_tables_are_rationals_in_files():
    stated = instance("psd triplets, trace")
    table, arrays = describe(stated)
    assert kernel.statement_digest(table, arrays)
    assert {type(value) for value in table["regularizer"].values()} == {str}
    assert {type(value) for value in table["risk"]["terms"][0].values()} == {str, int}
