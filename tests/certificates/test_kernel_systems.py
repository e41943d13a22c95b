"""Linear systems in the kernel against fractions: relations, pivots, held unknowns, and vectors near others."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import second_checker as exact

from convexmetric.certificates.kernel import Arrays, Ball, CertificateError, NotProven
from convexmetric.certificates.kernel.systems import (
    Hints,
    Sparse,
    column,
    dot,
    eliminated,
    hints,
    near,
    piled,
    solved,
    sparse,
)  # fmt: skip


def whole(numbers):
    """Fractions of an array."""
    return np.vectorize(Fraction, otypes=[object])(np.asarray(numbers, dtype=float)).tolist()


def step_near(T, widths, target):
    """What :func:`near` encloses, exactly."""
    return exact.moved(list(map(list, zip(*T, strict=True))), [Fraction(0)] * len(widths), widths, target)


def encloses(found, true):
    """Whether a vector is within the radii of another."""
    rad = np.broadcast_to(found.rad, found.mid.shape)
    return len(found.mid) == len(true) and all(
        abs(Fraction(float(mid)) - one) <= Fraction(float(own))
        for mid, own, one in zip(found.mid, rad, true, strict=True)
    )


# Vectors near others --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.7, 1.3, 0.4, 1.6])
def test_an_inverse_that_is_false_makes_no_vector_false(factor, monkeypatch):
    true = np.linalg.inv
    monkeypatch.setattr(np.linalg, "inv", lambda N: factor * true(N))
    rng = np.random.default_rng(2)
    T, target = rng.standard_normal((3, 6)), rng.standard_normal(3)
    if abs(factor - 1) * np.sqrt(3) > 0.5:
        if abs(factor - 1) > 0.5:
            with pytest.raises(NotProven):
                near(Ball(T), np.ones(6), Ball(target), "it")
        factor = 1.0 + (factor - 1.0) / 3.0
    found = near(Ball(T), np.ones(6), Ball(target), "it")
    assert encloses(found, step_near(whole(T), whole(np.ones(6)), whole(target)))


@pytest.mark.parametrize("factor", [0.6, 0.7, 1.0])
def test_the_radius_of_a_solution_is_no_larger_than_it_must_be(factor, monkeypatch):
    """Of one equation, with a false inverse: every end of the target is reached, and little more."""
    monkeypatch.setattr(np.linalg, "inv", lambda N: factor / N)
    T, widths, rad = np.array([[1.0, 2.0]]), np.array([1.0, 0.5]), 0.5
    for t in (-3.0, 3.0):
        found = near(Ball(T), widths, Ball([t], rad), "it")
        ends = [step_near(whole(T), whole(widths), [Fraction(t + sign * rad)]) for sign in (-1, 1)]
        for j in range(2):
            far = max(abs(Fraction(found.mid[j]) - end[j]) for end in ends)
            assert far <= Fraction(found.rad[j]) <= far * Fraction(1001, 1000)
    monkeypatch.setattr(np.linalg, "inv", lambda N: 0.4 / N)
    with pytest.raises(NotProven):
        near(Ball(T), np.ones(2), Ball([1.0]), "it")


def test_products_with_vectors_have_the_radii_of_their_entries():
    rng = np.random.default_rng(3)
    for scale in (0.0, 1e-9, 1.0):
        A, x = rng.standard_normal((4, 3)), rng.standard_normal(3) * [1.0, 1e6, 1e-6]
        radii = scale * rng.random((4, 3)), scale * rng.random(3) * [1e-6, 1e6, 0.0]
        found = column(Ball(A, radii[0]), Ball(x, radii[1]))
        for i in range(4):
            pairs = [tuple(map(Fraction, four)) for four in zip(A[i], radii[0][i], x, radii[1], strict=True)]
            middle = sum(a * b for a, _, b, _ in pairs)
            most = sum(abs(a) * s + r * (abs(b) + s) for a, r, b, s in pairs)
            size = sum(abs(a * b) for a, _, b, _ in pairs)
            rad, off = Fraction(found.rad[i]), abs(Fraction(found.mid[i]) - middle)
            assert off + most <= rad <= most * Fraction(1001, 1000) + size / 2**50


def test_nearly_dependent_equations_prove_nothing():
    T = np.array([[1.0, 1.0, 1.0], [1.0, 1.0 + 2.0**-40, 1.0]])
    for own in (T, np.ones((2, 3)), np.zeros((1, 2)), np.zeros((1, 0))):
        with pytest.raises(NotProven, match="independent"):
            near(Ball(own), np.ones(own.shape[1]), Ball(np.ones(len(own))), "it")


def test_the_vector_near_one_is_the_exact_one():
    rng = np.random.default_rng(1)
    for columns, rows, scale in itertools.product((5, 9), (1, 3), (0, 3, 6, 90)):
        T = rng.standard_normal((rows, columns)) * 10.0 ** rng.uniform(-scale, scale, (rows, 1))
        widths, target = np.exp(rng.uniform(-3, 3, columns)), rng.standard_normal(rows)
        rad, of_T = 10.0 ** rng.uniform(-12, -8), 1e-10 * np.abs(T)
        ends = []
        for signs in itertools.product((-1, 0, 1), repeat=rows):
            aim = [t + sign * Fraction(rad) for t, sign in zip(whole(target), signs, strict=True)]
            ends.append(step_near(whole(T), whole(widths), aim))
        sharp, wide = (near(Ball(T), widths, of, "it") for of in (Ball(target), Ball(target, rad)))
        assert encloses(sharp, ends[len(ends) // 2])
        assert (sharp.rad <= 1e-9 * np.abs(sharp.mid).max()).all()
        assert all(encloses(wide, end) for end in ends)
        # Entries that are known to a radius.
        unsure = near(Ball(T, of_T), widths, Ball(target), "it")
        for _ in range(5):
            other = T + of_T * rng.choice([-0.999, 0.0, 0.999], T.shape)
            assert encloses(unsure, step_near(whole(other), whole(widths), whole(target)))


# Sparse matrices ------------------------------------------------------------------------------------------------------


def scattered(rng, M, share=0.3):
    """The entries of a matrix in any order, some as a sum of two, and some zeros among them."""
    M = np.asarray(M, dtype=float)
    i, j = np.nonzero((M != 0.0) | (rng.random(M.shape) < 0.05))
    values, more = M[i, j], rng.random(len(i)) < share
    part = np.where(more, rng.integers(-4, 5, len(i)), 0.0)
    values, i, j = np.append(values - part, part[more]), np.append(i, i[more]), np.append(j, j[more])
    order = rng.permutation(len(i))
    return Sparse(values[order], i[order], j[order], M.shape)


def test_products_of_sparse_matrices_enclose_and_cancel():
    rng = np.random.default_rng(4)
    for scale in (0, 3, 8):
        M = rng.standard_normal((7, 30)) * (rng.random((7, 30)) < 0.5) * 10.0 ** rng.uniform(-scale, scale, (7, 30))
        M[3] = 0.0
        x, rad = rng.standard_normal(30), rng.random(30) * 10.0 ** rng.uniform(-9, -3)
        A = scattered(rng, M, 0.0)
        true = exactly(A, x)
        found = A @ Ball(x)
        assert encloses(found, true)
        size = np.abs(M) @ np.abs(x)
        # Leading digits do not err, and what is left is smaller by their number.
        assert (found.rad <= 2.0**-67 * size + 2.0**-52 * np.abs(found.mid) + 1e-200).all()
        wide = A @ Ball(x, rad)
        for signs in ([-1.0] * 30, [1.0] * 30, *np.sign(M)):
            assert encloses(wide, exactly(A, x, np.array(signs) * rad))
        assert (wide.rad <= 1.00001 * (np.abs(M) @ rad) + 1e-9 * size + 1e-200).all()
        # Digits that are many on one side alone, and cancel: the radius is of what is left of the other.
        for own, by in ((np.round(M), x), (M, np.round(1e6 * x))):
            twice = scattered(rng, np.column_stack([own, -own]), 0.0)
            gone = twice @ Ball(np.append(by, by))
            assert encloses(gone, [0] * 7)
        # A vector that the product nearly takes to zero.
        y = np.append(x, 1.0)
        zero = scattered(rng, np.column_stack([M, -(M @ x)]), 0.0) @ Ball(y)
        assert (zero.rad <= 2.0**-67 * size + 1e-200).all()
        assert (np.abs(zero.mid) <= 2.0**-45 * size).all()
        assert encloses(
            dot(M[0], Ball(x, rad))[None], exactly(Sparse(M[0], 0 * np.arange(30), np.arange(30), (1, 30)), x)
        )


@pytest.mark.parametrize("count", [1024, 4000])
def test_sums_of_leading_digits_are_exact_however_long(count):
    """Of the largest digits, with one sign and then the other, beside a row of one entry."""
    rng = np.random.default_rng(14)
    M, x = 1.0 - 2.0**-18 * rng.random((2, count)), 1.0 - 2.0**-18 * rng.random(count)
    x[-count // 4 :] *= -1.0
    M[1, 1:] = 0.0
    i, j = np.nonzero(M)
    A = Sparse(M[i, j], i, j, M.shape)
    for own in (x, np.abs(x)):
        assert encloses(A @ Ball(own), exactly(A, own))


def exactly(A, x, more=None):
    """A product in fractions, with a vector to which something is added."""
    x = whole(x) if more is None else [a + b for a, b in zip(whole(x), whole(more), strict=True)]
    found = [Fraction(0)] * A.shape[0]
    for value, i, j in zip(whole(A.values), A.rows, A.columns, strict=True):
        found[i] += value * x[j]
    return found


def test_entries_in_one_place_add_up():
    rng = np.random.default_rng(5)
    values, i, j = 1e6 * rng.standard_normal(40), rng.integers(0, 3, 40), rng.integers(0, 4, 40)
    values[(i == 1) & (j == 2)] = 0.0
    i[0], j[0] = 1, 2
    rad = rng.random(40) * 1e-9
    for own in (0.0, rad):
        found = piled(Ball(values, own), i, j, (3, 4))
        for r, c in itertools.product(range(3), range(4)):
            there = (i == r) & (j == c)
            off = abs(sum(whole(values[there]), Fraction(0)) - Fraction(found.mid[r, c]))
            most = sum(whole(rad[there]), Fraction(0)) if np.ndim(own) else 0
            assert off + most <= Fraction(found.rad[r, c]) <= most * Fraction(1001, 1000) + Fraction(1, 2**25)
            if there.sum() <= 1 and not np.ndim(own):
                assert found.rad[r, c] == 0.0
    np.testing.assert_array_equal(Sparse(values, i, j, (3, 4)).dense().mid, found.mid)
    np.testing.assert_array_equal(Sparse(values, i, j, (3, 4)).T.dense().mid, found.mid.T)
    assert Sparse(values, i, j, (3, 4)).T.shape == (4, 3)
    some = Sparse(values, i, j, (3, 4)).of_rows(np.array([2, 0]))
    assert some.shape == (2, 4)
    np.testing.assert_array_equal(some.dense().mid, found.mid[[2, 0]])
    rows = Sparse(values, i, j, (3, 4)).by_row([2, 0])
    for r in (0, 2):
        assert sorted(rows[r]) == sorted(zip(j[i == r].tolist(), whole(values[i == r]), strict=True))


def test_products_of_sparse_matrices_are_their_entries():
    rng = np.random.default_rng(6)
    A, B = (scattered(rng, rng.integers(-3, 4, shape) * (rng.random(shape) < 0.5)) for shape in ((5, 4), (4, 6)))
    D = Ball(np.array([2.0, -4.0, 0.5, -1.0]), np.array([0.0, 1e-6, 0.0, 0.0]))
    values, i, j = eliminated(A, D, B)
    found = piled(values, i, j, (5, 6))
    for d in (-4.0 - 1e-6, -4.0, -4.0 + 1e-6):
        true = A.dense().mid @ np.diag(1 / np.array([2.0, d, 0.5, -1.0])) @ B.dense().mid
        assert (np.abs(found.mid - true) <= found.rad + 1e-14).all()
    assert (found.rad <= 1e-5).all()
    np.testing.assert_allclose(found.rad[A.dense().mid[:, 1] == 0.0], 0.0, atol=1e-12)
    with pytest.raises(NotProven):
        eliminated(A, Ball(D.mid, np.abs(D.mid)), B)


# Systems --------------------------------------------------------------------------------------------------------------


def system(rng):
    """A random system with a solution, equations that follow, pivots and held unknowns; and all as fractions."""
    p, own, follow, C, H = (int(rng.integers(low, high)) for low, high in ((0, 4), (1, 4), (0, 3), (4, 7), (0, 4)))
    M = rng.integers(-3, 4, (p + own, p + C + H)) * (rng.random((p + own, p + C + H)) < 0.7)
    M[:p, :p] = np.diag(rng.choice([-4, -2, -1, 1, 2], p))
    if rng.random() < 0.5:
        M[-1, : p + C] = 0
    true = rng.integers(-4, 5, M.shape[1]) / 4.0
    weights = rng.integers(-2, 3, (follow, len(M)))
    M, W = np.vstack([M, weights @ M]), np.vstack([weights.T, -np.eye(follow, dtype=int)])
    rows, columns = rng.permutation(len(M)), rng.permutation(M.shape[1])
    place = np.argsort(rows)
    M, W = M[rows][:, columns], W[rows]
    order = np.argsort(place[len(M) - follow :])
    sides = Hints(
        np.sort(place[len(M) - follow :]), scattered(rng, W[:, order], 0.0), place[:p], np.argsort(columns)[:p]
    )
    widths = np.exp(rng.uniform(-2, 2, M.shape[1])) * (columns < p + C)
    y = true[columns] + 1e-3 * rng.standard_normal(M.shape[1]) * (columns < p + C)
    return M, M @ true[columns], y, widths, sides


def solution(A, target, y, widths, sides):
    """The solution in fractions, or None."""
    steps = object.__new__(exact.Steps)
    steps.follow, steps.pivots = (
        sides.follow.tolist(),
        list(zip(sides.equations.tolist(), sides.unknowns.tolist(), strict=True)),
    )
    steps.relation = rows(sides.relation)
    M, s = rows(A), A.shape[1]
    try:
        steps.follow_from(
            {i: exact.Row({**row, s: t}) for i, (row, t) in enumerate(zip(M, whole(target), strict=True))}
        )
        return steps.solution(dict(enumerate(M)), dict(enumerate(whole(target))), y, whole(widths))
    except exact.Unproven:
        return None


def rows(A):
    """Rows of a sparse matrix, of fractions."""
    made = [exact.Row() for _ in range(A.shape[0])]
    for value, i, j in zip(whole(A.values), A.rows.tolist(), A.columns.tolist(), strict=True):
        made[i][j] = made[i].get(j, Fraction(0)) + value
    return made


def kernels(A, target, y, widths, sides):
    """The solution of the kernel, or None."""
    try:
        return solved(A, target, y, widths, sides, "it")
    except NotProven:
        return None


def test_solutions_of_systems_are_the_exact_ones():
    rng, seen = np.random.default_rng(7), []
    for _ in range(300):
        M, target, y, widths, sides = system(rng)
        A = scattered(rng, M)
        true, found = solution(A, target, whole(y), widths, sides), kernels(A, target, Ball(y), widths, sides)
        seen.append(found is not None)
        assert (true is None) == (found is None)
        if true is None:
            continue
        assert encloses(found, true)
        assert (found.rad <= 1e-9 * (1.0 + np.abs(found.mid))).all()
        assert (np.broadcast_to(found.rad, found.mid.shape)[(widths == 0.0)] == 0.0).all() or len(sides.unknowns)
        # Held unknowns that are known to a radius, and values of pivots, which do not matter.
        stored, moves = np.zeros(M.shape, dtype=bool), widths > 0.0
        stored[A.rows, A.columns], moves[sides.unknowns] = True, True
        free = ~moves & ~stored[~(stored & moves).any(axis=1)].any(axis=0)
        rad = np.where(free, 1e-7, 0.0)
        wide = kernels(A, target, Ball(y, rad), widths, sides)
        for sign in rng.choice([-1, 1], (3, len(y))):
            ends = [one + s * Fraction(r) for one, s, r in zip(whole(y), sign.tolist(), rad.tolist(), strict=True)]
            assert encloses(wide, solution(A, target, ends, widths, sides))
        other = y.copy()
        other[sides.unknowns] += 1e3
        other_widths = widths.copy()
        other_widths[sides.unknowns] = 1e150
        assert encloses(kernels(A, target, Ball(other), other_widths, sides), true)
    assert 100 < sum(seen) < 300


def test_what_is_no_system_of_these_hints_is_not_solved():
    """One thing changed at random: what fractions do not show the kernel does not either."""
    rng, seen = np.random.default_rng(8), []
    for _ in range(500):
        M, target, y, widths, sides = system(rng)
        A = scattered(rng, M)
        if solution(A, target, whole(y), widths, sides) is None:
            continue
        W, equations, unknowns = sides.relation, sides.equations.copy(), sides.unknowns.copy()
        kind = rng.integers(5)
        if kind == 0 and len(A.values):
            A.values[rng.integers(len(A.values))] += rng.choice([-1.0, 2.0**-30])
        elif kind == 1:
            target = target + rng.choice([1.0, 2.0**-40]) * (np.arange(len(target)) == rng.integers(len(target)))
        elif kind == 2 and len(W.values):
            W.values[rng.integers(len(W.values))] *= rng.choice([0.0, -1.0, 1.0 + 2.0**-50])
        elif kind == 3 and len(equations):
            left = np.setdiff1d(np.arange(len(M)), sides.follow)
            equations = rng.choice(left, len(equations), replace=False)
        elif kind == 4 and len(y):
            held = np.flatnonzero(widths == 0.0)
            y = y + 2.0**-45 * np.isin(np.arange(len(y)), held)
        own = Hints(sides.follow, W, equations, unknowns)
        true, found = solution(A, target, whole(y), widths, own), kernels(A, target, Ball(y), widths, own)
        assert (true is None) == (found is None)
        assert true is None or encloses(found, true)
        seen.append(true is None)
    assert 0.2 < np.mean(seen) < 0.8


def test_small_systems_say_what_they_lack():
    none, W = np.zeros(0, dtype=np.int64), Sparse(np.zeros(0), *np.zeros((2, 0), dtype=np.int64), (2, 0))
    A = Sparse(np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]), np.array([0, 1, 1]), (2, 2))
    plain = Hints(none, W, none, none)

    def says(y, widths, own=plain, A=A, target=(4.0, 6.0)):
        with pytest.raises(NotProven) as error:
            solved(A, np.array(target), y, np.array(widths), own, "point")
        return str(error.value)

    assert encloses(solved(A, np.array([4.0, 6.0]), Ball([0.0, 2.0]), np.array([1.0, 0.0]), plain, "it"), [0, 2])
    # Held numbers that are known to a radius are not known exactly, even if they are zero.
    assert "given entries" in says(Ball([0.0, 2.0], np.array([0.0, 1e-300])), [1.0, 0.0])
    assert "given entries" in says(Ball([0.0, 0.0], np.array([0.0, 1e-300])), [1.0, 0.0], target=(4.0, 0.0))
    assert "given entries" in says(Ball([0.0, np.nextafter(2.0, 3.0)]), [1.0, 0.0])
    assert "given entries" in says(Ball([0.0, 0.0]), [1.0, 0.0])
    assert "independent" in says(
        Ball([0.0, 2.0]), [1.0, 1.0], A=Sparse(A.values * [1, 0, 0], A.rows, A.columns, (2, 2))
    )
    both = Hints(none, W, np.array([0, 1]), np.array([0, 1]))
    assert "a pivot of the point is in the equation of another one" in says(Ball([0.0, 2.0]), [0.0, 0.0], both)
    assert "positive" in says(Ball([0.0, 2.0]), [0.0, 1.0], Hints(none, W, np.array([1]), np.array([0])))
    follows = Hints(np.array([1]), Sparse(np.array([1.0]), np.array([0]), np.array([0]), (2, 1)), none, none)
    assert "not in its relation alone" in says(Ball([0.0, 2.0]), [1.0, 1.0], follows)
    follows = Hints(np.array([1]), Sparse(np.zeros(1), np.array([1]), np.array([0]), (2, 1)), none, none)
    assert "not in its relation alone" in says(Ball([0.0, 2.0]), [1.0, 1.0], follows)
    # Of two held numbers one is known to a radius.
    row = Sparse(np.ones(2), np.array([0, 0]), np.array([0, 1]), (1, 2))
    for rad in ([0.0, 1e-300], [1e-300, 0.0]):
        assert "given entries" in says(Ball([1.0, 2.0], np.array(rad)), [0.0, 0.0], A=row, target=(3.0,))
    relation = Sparse(np.array([-3.0, 2.0]), np.array([0, 1]), np.array([0, 0]), (2, 1))
    follows = Hints(np.array([1]), relation, none, none)
    assert "not proven to follow" in says(Ball([0.0, 2.0]), [1.0, 1.0], follows)
    # Left sides follow, and right sides do not.
    twice = Sparse(np.array([2.0, 3.0]), np.array([0, 1]), np.array([1, 1]), (2, 2))
    assert "not proven to follow" in says(Ball([0.0, 2.0]), [1.0, 1.0], follows, twice, (4.0, 6.5))
    assert encloses(solved(twice, np.array([4.0, 6.0]), Ball([5.0, 1.0]), np.ones(2), follows, "it"), [5, 2])


# Files ----------------------------------------------------------------------------------------------------------------


def read(equations=4, unknowns=3, given=0, **arrays):
    made = {name: np.array(of, dtype=float if name.endswith("values") else np.int64) for name, of in arrays.items()}
    try:
        return hints(Arrays(made), "x", equations, unknowns, given)
    except CertificateError:
        return None


RELATION = {"x_relation_values": [1, -1, 2], "x_relation_rows": [1, 2, 3], "x_relation_columns": [0, 0, 1]}


def test_hints_are_read_as_they_are():
    found = read(x_follow=[2, 3], **RELATION, x_pivot_equations=[1, 0], x_pivot_unknowns=[0, 2])
    assert found.follow.tolist() == [2, 3]
    assert found.relation.dense().mid.tolist() == [[0, 0], [1, 0], [-1, 0], [0, 2]]
    assert (found.equations.tolist(), found.unknowns.tolist()) == ([1, 0], [0, 2])
    none = read()
    assert [len(of) for of in (none.follow, none.relation.values, none.equations, none.unknowns)] == [0] * 4
    assert none.relation.shape == (4, 0)


@pytest.mark.parametrize(
    ("given", "arrays"),
    [
        (0, {"x_follow": [], "x_relation_values": [], "x_relation_rows": [], "x_relation_columns": []}),
        (0, {"x_follow": [3, 2], **RELATION}),
        (0, {"x_follow": [2, 2], **RELATION}),
        (0, {"x_follow": [2, 4], **RELATION}),
        (0, {"x_follow": [2], **RELATION}),
        (0, {"x_follow": [2, 3], **RELATION, "x_relation_rows": [1, 2, 4]}),
        (0, {"x_follow": [2, 3], **RELATION, "x_relation_rows": [2, 1, 3]}),
        (2, {"x_follow": [2, 3], **RELATION}),
        (3, {"x_follow": [2], "x_relation_values": [1.0], "x_relation_rows": [3], "x_relation_columns": [0]}),
        (0, {"x_pivot_equations": [], "x_pivot_unknowns": []}),
        (0, {"x_pivot_equations": [1, 1], "x_pivot_unknowns": [0, 2]}),
        (0, {"x_pivot_equations": [1, 0], "x_pivot_unknowns": [2, 2]}),
        (0, {"x_pivot_equations": [1, 0], "x_pivot_unknowns": [2]}),
        (0, {"x_pivot_equations": [4, 0], "x_pivot_unknowns": [0, 2]}),
        (0, {"x_pivot_equations": [1, 0], "x_pivot_unknowns": [0, 3]}),
        (1, {"x_pivot_equations": [1, 0], "x_pivot_unknowns": [0, 2]}),
        (0, {"x_follow": [2, 3], **RELATION, "x_pivot_equations": [1, 2], "x_pivot_unknowns": [0, 1]}),
        (0, {"x_pivot_equations": [1, 0]}),
        (0, {"x_follow": [2, 3]}),
    ],
)
def test_hints_that_are_none_are_refused(given, arrays):
    assert read(given=given, **arrays) is None


def test_hints_of_equations_begin_behind_the_given_ones():
    found = read(given=1, x_follow=[2, 3], **RELATION, x_pivot_equations=[1], x_pivot_unknowns=[0])
    assert found.equations.tolist() == [1]


def test_entries_stand_column_by_column():
    arrays = {"a_values": np.ones(3), "a_rows": np.array([1, 0, 1]), "a_columns": np.array([0, 1, 1])}
    np.testing.assert_array_equal(sparse(Arrays(arrays), "a", 2, 2).dense().mid, [[0, 1], [1, 1]])
    for rows in ([1, 1, 0], [0, 1, 1]):
        with pytest.raises(CertificateError, match="column by column"):
            sparse(Arrays(arrays | {"a_rows": np.array(rows)}), "a", 2, 2)
