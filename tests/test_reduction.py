"""What is left of programs for a solver: relations in fractions, and answers that are points of the whole."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from convexmetric.programs.canonical import Cones, Program
from convexmetric.programs.reduction import Contradiction, charged, opposite, pivots, reduced, relations

LINES = Cones(0, 0, (), (), 0, ())


def lines(A, b, q, zero=0, P=None):
    """A program of equations and inequalities."""
    A = np.array(A, dtype=float)
    P = np.zeros((A.shape[1],) * 2) if P is None else np.array(P, dtype=float)
    cones = replace(LINES, zero=zero, nonnegative=len(A) - zero)
    return Program(sp.csc_array(P), np.array(q, dtype=float), sp.csc_array(A), np.array(b, dtype=float), cones)


def vanish(M, target, found):
    """Whether all weights are those of relations, exactly."""
    W, M = found.weights.toarray(), np.asarray(M, dtype=float)
    whole = np.column_stack([M, target])
    for k in range(W.shape[1]):
        weights = list(map(Fraction, W[:, k].tolist()))
        for column in whole.T:
            if sum(w * Fraction(float(one)) for w, one in zip(weights, column, strict=True)):
                return False
    own = W[found.follow]
    return (np.diag(own) != 0.0).all() and np.count_nonzero(own) == len(own)


def test_equations_that_follow_are_found_with_exact_weights():
    rng, seen = np.random.default_rng(0), 0
    for count in range(60):
        rank, more, n = int(rng.integers(1, 5)), int(rng.integers(0, 4)), 7
        M = rng.integers(-3, 4, (rank, n)).astype(float)
        M = np.vstack([M, rng.integers(-2, 3, (more, rank)) @ M])
        if count % 3 == 0:
            # Multiples that no row of integers has, and rounding of a third.
            M = np.vstack([M, M[:1] * 0.375, M[:1] / 3.0])
        M = M[rng.permutation(len(M))]
        target = M @ rng.integers(-3, 4, n) if count % 3 else M[:, 0] + M[:, 1]
        found = relations(M, target)
        assert vanish(M, target, found)
        left = np.setdiff1d(np.flatnonzero(M.any(axis=1)), found.follow)
        if count % 3:
            assert np.linalg.matrix_rank(M[left]) == len(left)
        seen += len(found.follow)
    assert seen > 60


def test_relations_are_those_of_a_file():
    M = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [2.0, 0.0, 4.0], [3.0, 3.0, 6.0]])
    found = relations(M, np.array([1.0, 1.0, 2.0, 4.0]))
    arrays = found.arrays("x", 5)
    assert len(found.follow) == 2
    np.testing.assert_array_equal(arrays["x_follow"], found.follow + 5)
    made = np.zeros((9, 2))
    made[arrays["x_relation_rows"], arrays["x_relation_columns"]] = arrays["x_relation_values"]
    np.testing.assert_array_equal(made[5:], found.weights.toarray())
    assert (np.diff(arrays["x_relation_columns"] * 9 + arrays["x_relation_rows"]) > 0).all()
    assert relations(M[:2], np.ones(2)).arrays("x") == {}


@pytest.mark.parametrize(
    ("M", "target", "weights"),
    [
        ([[1.0, 2.0], [2.0, 4.0]], [1.0, 3.0], {0: -2, 1: 1}),
        ([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 2.0, 1.0]], [1.0, 1.0, 3.0], {0: 1, 1: 1, 2: -1}),
        ([[0.0, 0.0], [1.0, 0.0]], [1.0, 0.0], {0: 1}),
    ],
)
def test_equations_that_contradict_each_other_say_so(M, target, weights):
    with pytest.raises(Contradiction) as error:
        relations(np.array(M), np.array(target))
    own = {i: weight for i, weight in error.value.weights.items() if weight}
    assert own.keys() == weights.keys()
    assert len({own[i] / weights[i] for i in own}) == 1
    # Of columns it is no contradiction: there is no relation.
    assert not len(relations(np.array(M), np.array(target), strict=False).follow)


def test_equations_that_nearly_follow_stay():
    M = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0 + 2.0**-40], [1.0, 1.0, 1.0]])
    assert not len(relations(M, np.array([1.0, 2.0, 0.0])).follow)


def points(whole, left):
    """An answer of what is left, and the point and dual point of the whole that it makes."""
    answer = left.program.solve()
    assert answer.x is not None
    x, (z, h) = left.point(answer.x), left.dual(answer.z, answer.x)
    slack = whole.b - whole.A @ x
    assert whole.value(x) == pytest.approx(answer.value, abs=1e-6)
    assert np.abs(slack[left.equations]).max(initial=0.0) <= 1e-6
    assert whole.cones.margins(slack)[whole.cones.zero :].min() >= -1e-6
    np.testing.assert_allclose(whole.S @ h + whole.A.T @ z + whole.q, 0.0, atol=1e-6)
    # Multipliers of what is held tight have any sign.
    margins = whole.cones.margins(z, True)
    assert np.delete(margins, left.equations).min(initial=0.0) >= -1e-6
    return answer, x, z


def test_columns_that_are_alike_are_one_variable():
    # x + y + 2 w + (x + y - 1)^2 / 2 where x + y + w = 1, and nothing is negative of x + y and w.
    P = [[1.0, 1, 0], [1, 1, 0], [0, 0, 0]]
    whole = lines([[1, 1, 1], [-1, -1, 0], [0, 0, -1]], [1, 0, 0], [0.0, 0.0, 1.0], zero=1, P=P)
    left = reduced(whole)
    assert len(left.program.q) == 2
    assert left.groups[0] == left.groups[1] != left.groups[2]
    assert vanish(np.hstack([whole.A.T.toarray(), P]), -whole.q, left.of_dual)
    _, x, _ = points(whole, left)
    assert x[0] == x[1]
    # The first variables stay.
    assert len(reduced(whole, fixed=2).program.q) == 3


def test_variables_that_only_give_room_are_left_out_and_have_it_again():
    # x <= t, -x <= t, t <= u, and neither t nor u costs anything; y <= 2 does, and 0 <= 1 says nothing.
    A = [[1, -1, 0, 0], [-1, -1, 0, 0], [0, 1, -1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0], [-1, 0, 0, 0]]
    whole = lines(A, [0, 0, 0, 2, 1, 3, 3], [1.0, 0.0, 0.0, -1.0])
    left = reduced(whole)
    assert [j for j, _, _ in left.idle] == [2, 1]
    assert left.loose.tolist() == [True, True, True, False, True, False, False]
    assert left.rows.tolist() == [3, 5, 6]
    answer, x, z = points(whole, left)
    assert answer.value == pytest.approx(-5.0, abs=1e-6)
    assert ((whole.b - whole.A @ x)[:3] > 0.5).all()
    assert not z[left.loose].any()
    # A variable that costs something, has a curve, an equation, or another way to give room stays.
    for change in ({"q": [1.0, 0.0, 1.0, -1.0]}, {"P": sp.csc_array(np.diag([0.0, 0, 1, 0]))}):
        assert not reduced(
            replace(whole, **{name: np.array(of) if name == "q" else of for name, of in change.items()})
        ).idle
    assert not reduced(lines([[1, -1], [-1, 1]], [0, 0], [1.0, 0.0])).idle
    assert not reduced(lines([[1, -1], [-1, -1]], [0, 0], [1.0, 0.0], zero=1)).idle
    assert not reduced(lines([[1, -1], [-1, -1]], [0, 0], [1.0, 0.0]), tight=[1]).idle
    assert not reduced(lines([[-1, 1], [-1, -1]], [0, 0], [0.0, 1.0]), fixed=2).idle
    with pytest.raises(Contradiction):
        reduced(lines([[0.0], [-1.0]], [-1.0, 0.0], [1.0]))


def test_equations_that_follow_are_left_out_and_tight_rows_are_equations():
    whole = lines(
        [[1, 1, 0], [2, 2, 0], [0, 0, 1], [0, 0, -1], [-1, 0, 0], [0, -1, 0]], [1, 2, 1, -1, 0, 0], [1, 2, 3], zero=2
    )
    left = reduced(whole, tight=opposite(whole))
    assert left.equations.tolist() == [0, 1, 2, 3]
    assert left.of_point.follow.tolist() == [1, 3]
    assert left.rows.tolist() == [0, 2, 4, 5]
    assert left.program.cones == replace(LINES, zero=2, nonnegative=2)
    answer, x, _ = points(whole, left)
    assert answer.value == pytest.approx(4.0, abs=1e-6)
    assert x[2] == pytest.approx(1.0, abs=1e-6)


def test_opposite_inequalities_are_found():
    A = [[1, 0], [-2, 0], [0, 1], [0, -1], [1, 1], [-1, -1], [1, 1]]
    whole = lines(A, [3, -6, 1, 0, 2, -2, 5], [1, 1])
    # x = 3 twice over, 0 <= y <= 1, x + y = 2; the last row is looser.
    assert opposite(whole).tolist() == [0, 1, 4, 5]
    # An equation makes one side tight.
    assert opposite(lines([[1, 1], [-1, -1], [1, 0]], [1, -1, 0], [1, 1], zero=1)).tolist() == [1]
    assert not len(opposite(lines([[1, 1], [1, 1]], [1, 2], [1, 1])))
    with pytest.raises(Contradiction) as error:
        opposite(lines([[1, 1], [-2, -2]], [1, -3], [1, 1]))
    assert set(error.value.weights) == {0, 1}
    # What is parallel but for rounding is not.
    assert not len(opposite(lines([[1, 1 / 3], [-3, -1 - 2.0**-52]], [1, -3], [1, 1])))


def test_pivots_define_unknowns_that_no_other_equation_of_theirs_has():
    rng, found = np.random.default_rng(1), 0
    for count in range(30):
        rows = 300 if count % 3 == 0 else 12
        M = rng.standard_normal((rows, 2 * rows)) * (
            rng.random((rows, 2 * rows)) < (0.15 if rows == 12 else 4.0 / rows)
        )
        sizes = rng.random(2 * rows) * (rng.random(2 * rows) < 0.7)
        equations, unknowns = pivots(sp.csr_array(M), sizes)
        assert len(set(equations.tolist())) == len(equations) == len(set(unknowns.tolist()))
        found += len(equations)
        block = M[equations][:, unknowns]
        assert (np.count_nonzero(block, axis=1) == 1).all()
        assert (block.diagonal() != 0.0).all()
        assert (sizes[unknowns] > 0.0).all()
    assert found > 1000


def test_charges_are_on_the_diagonal():
    whole = lines([[1.0, 1.0]], [1.0], [1.0, 1.0], P=[[1.0, 2.0], [0.0, 1.0]])
    assert charged(whole, np.zeros(2)) is whole
    np.testing.assert_array_equal(charged(whole, np.array([0.5, 0.0])).P.toarray(), [[1.5, 2.0], [0.0, 1.0]])
