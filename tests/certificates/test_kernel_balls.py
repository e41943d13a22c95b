"""Balls contain what their operations make of the ends of others, in fractions, and are no wider than rounding asks.

Every number is chosen so that one term of a radius is all that keeps the exact result inside: without that term, or
with half of it, a test fails (benchmarks/mutate_kernel.py tries it).
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import second_checker as exact

from convexmetric.certificates import kernel
from convexmetric.certificates.kernel import Ball, NotProven, balls

U, TINY = Fraction(1, 2**53), Fraction(1, 2**899)
#: What the safety factor of radii may add to what is asked for.
LOOSE = 1 + Fraction(3, 2**21)
E = 2.0**-53
#: Middles and radii: sums and products that are rounded by half a unit, radii that are lost beside others or in
#: products that underflow, and all signs.
NUMBERS = [
    (0.0, 0.0), (0.0, 1.0), (0.0, E), (0.0, E / 2), (1.0, 0.0), (1.0, E / 4), (1.0, 2.0**-30), (1.0, 0.875),
    (-1.0, 0.25),
    (E, 0.0), (-E, 0.0), (1.0 + 2 * E, 0.0), (1.0 + 2.0**-26, 0.0), (1.0 + 2.0**-27, 0.0), (-3.0, 2.0**-20), (0.1, 0.0),
    (1 / 3, 1e-12), (7.0, 5.0), (1e10, 1e-3), (2.0**-540, 0.0), (-(2.0**-540), 2.0**-541), (2.0**-1074, 0.0),
    (1e-310, 1e-311),
    (2.0**500, 2.0**400), (1.0 - E, 0.0), (2.0**-30, 0.0), (1.0, 2.0**-540), (5.0, 4.999999), (2.0**-300, 0.0),
    (2.0**-1000, 2.0**-1001), (2.0**60, 0.0),
]  # fmt: skip


def inside(ball, number, *at):
    """Whether an entry contains a fraction."""
    mid, rad = float(ball.mid[at]), float(np.broadcast_to(ball.rad, ball.mid.shape)[at])
    return abs(Fraction(mid) - number) <= Fraction(rad)


def ends(mid, rad):
    return [Fraction(mid) + side * Fraction(rad) for side in (-1, 1)]


def pairs():
    return itertools.product(NUMBERS, NUMBERS)


@pytest.mark.parametrize("name", ["+", "-", "*", "/"])
def test_operations_contain_the_ends_and_are_no_wider_than_they_must(name):
    for (a, r), (b, q) in pairs():
        A, B, (x, p), (y, s) = Ball([a], [r]), Ball([b], [q]), map(Fraction, (a, r)), map(Fraction, (b, q))
        corners = itertools.product(ends(a, r), ends(b, q))
        if name == "+":
            made, results, needed = A + B, [u + v for u, v in corners], p + s
        elif name == "-":
            made, results, needed = A - B, [u - v for u, v in corners], p + s
        elif name == "*":
            made, results, needed = A * B, [u * v for u, v in corners], abs(x) * s + p * (abs(y) + s)
        elif y - s > 0:
            made, results = A / B, [u / v for u, v in corners]
            if not (np.isfinite(made.mid) and np.isfinite(made.rad)).all():
                continue
            needed = (p + abs(x / y) * s + Fraction(9, 2**1073) + TINY * s) / (y - s)
        else:
            with pytest.raises(NotProven, match="positive"):
                A / B
            continue
        assert all(inside(made, result, 0) for result in results), (a, r, b, q)
        needed += U * abs(Fraction(float(made.mid[0])))
        assert Fraction(float(made.rad[0])) <= needed * LOOSE**2 + TINY, (a, r, b, q)


def test_the_largest_integer_up_to_which_all_are_floats():
    assert all(int(float(n)) == n for n in (balls.WHOLE - 1, balls.WHOLE))
    assert int(float(balls.WHOLE + 1)) != balls.WHOLE + 1


def test_a_divisor_is_positive_in_every_entry():
    for radius in ([0.0, 1.0], [0.0, 2.0]):
        with pytest.raises(NotProven, match="positive"):
            Ball([1.0, 1.0]) / Ball([1.0, 1.0], radius)


def test_quotients_of_the_smallest_numbers():
    """A radius that underflows where it is multiplied, before it is divided by a small number."""
    made = Ball([3 * 2.0**-1074]) / Ball([2.0**-70], [2.0**-71 * (1 - 2.0**-30)])
    for number in (Fraction(2.0**-70) + side * Fraction(2.0**-71 * (1 - 2.0**-30)) for side in (-1, 1)):
        assert inside(made, Fraction(3 * 2.0**-1074) / number, 0)
    # The product 2^-542 2^-533 is 2^-1075, which is lost; the divisor makes it 2^-1 of the quotient.
    made = Ball([2.0**-1074]) / Ball([2.0**-532], [2.0**-533])
    assert inside(made, Fraction(2.0**-1074) / Fraction(2.0**-533), 0)


def test_signs_parts_and_shapes():
    A = Ball([[1.0, -2.0], [3.0, -4.0]], [[0.5], [0.25]])
    wide = np.broadcast_to(A.rad, (2, 2))
    for made, mid, rad in (
        (-A, -A.mid, wide), (abs(A), np.abs(A.mid), wide), (A.T, A.mid.T, wide.T), (A[1], A.mid[1], wide[1]),
        (A[:, 0], A.mid[:, 0], wide[:, 0]), (Ball.of(A), A.mid, A.rad), (Ball.of(2.0), 2.0, 0.0),
    ):  # fmt: skip
        np.testing.assert_array_equal(made.mid, mid)
        np.testing.assert_array_equal(np.broadcast_to(made.rad, made.mid.shape), np.broadcast_to(rad, made.mid.shape))
    one = Ball(A.mid, 0.5)
    of_columns = Ball(np.ones((2, 3)), [0.25, 0.5, 1.0])
    assert (one[:, 1].rad == 0.5).all()
    assert one[0, 1].rad == 0.5
    assert (A[:, 1].rad == [0.5, 0.25]).all()
    assert (of_columns.T.rad == [[0.25, 0.25], [0.5, 0.5], [1.0, 1.0]]).all()
    np.testing.assert_array_equal(Ball.of(A.mid).mid, A.mid)
    assert inside(1.0 + A, Fraction(2), 0, 0)
    assert inside(2.0 - A, Fraction(1), 0, 0)
    assert ((2.0 - A).rad >= A.rad).all()
    assert inside(3.0 * A, Fraction(-6), 0, 1)
    assert not Ball(1.0).rad.any()


def test_balls_of_fractions_contain_them():
    values = list(map(Fraction, ["1/3", "-1/3", "1/10", "7/2", Fraction(1, 2**1100), 0, 2**53 + 1]))
    for value in values:
        made = Ball.of(value)
        assert inside(made, value)
        assert (made.rad == 0.0) == (Fraction(float(made.mid)) == value)
        assert Fraction(float(made.rad)) <= abs(value) * U * LOOSE + TINY
    made = Ball.of(values)
    assert made.mid.shape == (7,)
    assert all(inside(made, value, at) for at, value in enumerate(values))
    half = Fraction(2**53 + 1, 2**53) * 2**30
    assert abs(Fraction(float(half)) - half) == Fraction(float(half)) * U
    assert inside(Ball.of(half), half)
    assert inside(Ball.of(-half), -half)
    Ball.of(Fraction(2**1023 - 1))
    for value in (Fraction(2**1023), -Fraction(2**1023)):
        with pytest.raises(NotProven, match="beyond floats"):
            Ball.of(value)


@pytest.mark.parametrize("k", [1, 2, 1000, 2**20, 2**40])
def test_the_error_of_sums(k):
    needed = k * U / (1 - k * U)
    assert needed <= Fraction(kernel.balls.gamma(k)) <= needed * LOOSE


def test_radii_are_raised_by_more_than_their_own_rounding():
    for radius in (0.0, 5e-324, 1e-300, 1 / 3, 7.0, 1e300):
        raised = Fraction(float(balls.up(radius)))
        assert Fraction(radius) * (1 + Fraction(1, 2**22)) < raised <= Fraction(radius) * LOOSE + TINY


def test_norms_are_above_the_exact_ones():
    rng = np.random.default_rng(0)
    for scale in (1.0, 2.0**-540, 2.0**-480):
        A = rng.standard_normal((40, 30)) * scale
        squares = np.array([[Fraction(entry) ** 2 for entry in row] for row in A])
        for axis in (None, 0, 1):
            found, needed = np.atleast_1d(balls.norms(A, axis)), np.atleast_1d(squares.sum(axis=axis))
            for norm, square in zip(found, needed, strict=True):
                assert Fraction(float(norm)) ** 2 >= square
                assert max(Fraction(float(norm)) - Fraction(1, 2**479), 0) ** 2 <= square * LOOSE**2
    # Of one entry the root is exact, and so is the square: what is raised is for others.
    thirds = np.full((1, 3), 1 / 3)
    assert Fraction(float(balls.norms(thirds)[()])) ** 2 >= 3 * Fraction(1 / 3) ** 2
    assert any(
        Fraction(float(np.sqrt(np.sum(row * row)))) ** 2 < sum(Fraction(x) ** 2 for x in row)
        for row in rng.standard_normal((20, 30))
    )


def test_sums_contain_the_exact_ones():
    rng = np.random.default_rng(1)
    mids = rng.standard_normal((60, 50)) * 10.0 ** rng.integers(-3, 4, (60, 50))
    for rads in (np.zeros(()), np.full((60, 1), 1e-3), rng.random((60, 50)), np.full((60, 50), 2.0**-30)):
        A, wide = Ball(mids, rads), np.broadcast_to(rads, mids.shape)
        numbers, radii = (np.array([[Fraction(x) for x in row] for row in rows]) for rows in (mids, wide))
        for axis, terms in ((None, 3000), (0, 60), (1, 50)):
            made = A.sum(axis)
            sums, spread = np.asarray(numbers.sum(axis=axis)), np.asarray(radii.sum(axis=axis))
            sizes, gamma = np.asarray(abs(numbers).sum(axis=axis)), terms * U / (1 - terms * U)
            for at in np.ndindex(sums.shape):
                assert inside(made, sums[at] + spread[at], *at)
                assert inside(made, sums[at] - spread[at], *at)
                radius = Fraction(float(made.rad[at]))
                assert gamma * sizes[at] + spread[at] <= radius <= (gamma * sizes[at] + spread[at]) * LOOSE**2 + TINY
    # All but the first are lost one after the other, where they are added so; radii beside each other.
    lost = Ball(np.array([[1.0]] + [[E]] * 7)).sum(0)
    assert inside(lost, 1 + 7 * U, 0)
    assert inside(Ball(np.zeros(2), [1.0, E / 2]).sum(), 1 + U / 2)


def products(A, B):
    """An exact product of arrays of fractions."""
    columns = list(zip(*B, strict=True))
    terms = [[(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in A]
    return np.array([[sum(entry, Fraction(0)) for entry in row] for row in terms])


def fractions(A):
    return [[Fraction(x) for x in row] for row in np.asarray(A).tolist()]


def test_products_contain_what_radii_make_of_parallel_rows_and_columns():
    """The inequality of Cauchy and Schwarz holds with equality: no product of norms is larger than it must be."""
    for (a, r), (b, q) in (
        ((1, 0), (1, 0.5)),
        ((1, 0.5), (1, 0)),
        ((0, 1), (0, 1)),
        ((1, 0.25), (3, 2)),
        ((-2, 1), (3, 1)),
    ):
        for k in (1, 4):
            A, B = Ball(np.full((2, k), float(a)), np.full((2, k), float(r))), Ball(np.full((k, 3), float(b)), q)
            made = A @ B
            needed = k * (abs(a) * Fraction(q) + Fraction(r) * (abs(b) + Fraction(q)))
            for u, v in itertools.product(ends(a, r), ends(b, q)):
                assert inside(made, k * u * v, 1, 2)
            assert needed <= Fraction(float(made.rad[0, 0])) <= needed * LOOSE**4 + Fraction(1, 2**40)
    # Rows and columns of their own radii, some of which are zero.
    A, B = (
        Ball([[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.5]]),
        Ball([[1.0, 0.0], [0.0, 2.0]], [[0.25, 0.0], [0.0, 0.0]]),
    )
    made = A @ B
    assert inside(made, Fraction(5, 4), 0, 0)
    assert inside(made, Fraction(3), 1, 1)
    assert made.rad[0, 1] < 1e-9
    assert made.rad[1, 1] < 1.0 + 1e-5


def test_products_are_rounded_once_where_nothing_cancels():
    A, B = np.array([[1.0 + 2.0**-27]]), np.array([[1.0 + 2.0**-26]])
    made, product = Ball(A) @ Ball(B), Fraction(1.0 + 2.0**-27) * Fraction(1.0 + 2.0**-26)
    assert abs(product - Fraction(float(made.mid[0, 0]))) >= U * (1 - Fraction(1, 2**20))
    assert inside(made, product, 0, 0)
    assert inside(Ball(-A) @ Ball(B), -product, 0, 0)


@pytest.mark.parametrize("swapped", [False, True])
def test_products_contain_the_exact_ones_where_all_but_their_errors_cancels(swapped):
    """Rows whose first entries set the unit of leading digits, beside columns of which nothing else is leading."""
    rng = np.random.default_rng(2)
    for _ in range(100):
        k = int(rng.integers(2, 6))
        x, y = np.rint(rng.uniform(0.5, 1.0, k) * 2.0**20) * 2.0**-20, rng.uniform(0.5, 1.0, k) * 2.0**-30
        y[-1] = -float(sum(Fraction(p) * Fraction(q) for p, q in zip(x[:-1], y[:-1], strict=True)) / Fraction(x[-1]))
        A, B = np.array([[1.0, -1.0, *x]]), np.array([[1.0], [1.0], *y[:, None]])
        A, B = (B.T, A.T) if swapped else (A, B)
        made, product = Ball(A) @ Ball(B), products(fractions(A), fractions(B))[0, 0]
        assert inside(made, product, 0, 0)
        # It errs by less than one that has no leading digits: as the sum of the small terms does.
        small = np.linalg.norm(A) * np.linalg.norm(y) if not swapped else np.linalg.norm(B) * np.linalg.norm(y)
        assert made.rad[0, 0] <= 1.001 * E * ((k + 3) * small + abs(made.mid[0, 0]))


def test_products_by_blocks_of_rows_are_the_same(monkeypatch):
    rng = np.random.default_rng(3)
    A, B = Ball(rng.standard_normal((600, 3)), rng.random((600, 1))), Ball(rng.standard_normal((3, 2)), 0.5)
    whole = A @ B
    monkeypatch.setattr(balls, "BLOCK", 1)
    parts = A @ B
    np.testing.assert_allclose(parts.mid, whole.mid, rtol=0, atol=1e-14)
    np.testing.assert_allclose(parts.rad, whole.rad, rtol=1e-12)
    assert parts.mid.shape == (600, 2)
    empty = Ball(np.zeros((2, 0))) @ Ball(np.zeros((0, 3)))
    assert not empty.mid.any()
    assert empty.mid.shape == (2, 3)
    assert (Ball(np.zeros((2, 3))) @ Ball(np.zeros((3, 0)))).mid.shape == (2, 0)
    assert (Ball(np.zeros((0, 3))) @ Ball(np.zeros((3, 2)))).mid.shape == (0, 2)


def test_leading_digits_are_as_many_as_have_exact_products():
    rng = np.random.default_rng(4)
    for k in (1, 2, 3, 4, 5, 64, 65):
        digits = max(b for b in range(30) if k * 2 ** (2 * b) <= 2**53)
        full = np.full((2, k), 1.0 - 2.0**-digits)
        odd = np.full((2, k), 1.0 - 2.0 ** -(digits + 1))
        for A in (full, -full, odd, rng.standard_normal((2, k)) * [[1.0], [2.0**90]], rng.random((2, k)) * 2.0**-200):
            for B in (full.T, odd.T, A.T, rng.standard_normal((k, 2)) * [1.0, 1e-9]):
                A1, B1 = kernel.balls.leading(A, B)
                assert (products(fractions(A1), fractions(B1)) == np.array(fractions(A1 @ B1))).all()
                for given, made, axis in ((A, A1, 1), (B, B1, 0)):
                    unit = np.ldexp(1.0, np.frexp(np.abs(given).max(axis=axis, keepdims=True))[1] - digits)
                    assert (np.abs(given - made) <= unit / 2).all()
                    assert (
                        np.array(fractions(given)) - np.array(fractions(made)) == np.array(fractions(given - made))
                    ).all()
                    assert (made / unit == np.rint(made / unit)).all()


@pytest.mark.parametrize("size", [2.0**-450, 2.0**450, 2.0**-1074, 1.75 * 2.0**-1030])
def test_products_of_extreme_size_contain_the_exact_ones(size):
    """What underflows is within the radius."""
    for A, B in ((np.full((1, 2), size), np.ones((2, 1))), (np.ones((1, 2)), np.full((2, 1), size))):
        product = Ball(A) @ Ball(B)
        assert inside(product, 2 * Fraction(size), 0, 0)
        assert product.rad[0, 0] <= size * 1e-15 + 2.0**-400


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_is_not_finite_makes_products_that_prove_nothing(value):
    A = np.array([[1.0, value], [1.0, 2.0]])
    for made in (Ball(A) @ Ball(np.ones((2, 2))), Ball(np.ones((2, 2))) @ Ball(A)):
        bad = ~np.isfinite(np.ones((2, 2)) @ A if made.mid[1, 0] != 3.0 else A @ np.ones((2, 2)))
        assert not np.isfinite(made.mid[bad]).any()
        with pytest.raises(NotProven):
            kernel.semidefinite(made, "it")


def test_roots_contain_those_of_the_ends():
    for a, r in [*NUMBERS, (4.0, 1e-9), (1e-20, 1e-10), (2.0, 0.0), (0.0, 1e-300), (1e-8, 1e-8), (-1.0, 2.0), (3.0, E)]:
        made, low_high = Ball([a], [r]).sqrt(), [max(end, Fraction(0)) for end in ends(a, r)]
        low, high = (Fraction(float(made.mid[0])) + side * Fraction(float(made.rad[0])) for side in (-1, 1))
        for end in low_high:
            root = exact.root(end)
            assert low <= root.high
            assert high >= root.low
            assert max(low, Fraction(0)) ** 2 <= end <= high**2, (a, r)
        slack = min(r / math.sqrt(a) if a > 0 else math.inf, math.sqrt(r))
        assert made.rad[0] <= (slack + E * made.mid[0]) * float(LOOSE) + 2.0**-899


def test_norms_of_balls():
    A = Ball([[3.0, 0.0], [0.0, 4.0]], [[0.0, 0.0], [0.0, 1e-3]])
    made = A.norm()
    for end in (Fraction(3999, 1000), Fraction(4001, 1000)):
        assert made.lower() ** 2 <= 9 + end**2 <= made.upper() ** 2
    assert made.rad < 2e-3


def test_ends_are_exact_without_radius_and_outside_with_one():
    for a, r in [*NUMBERS, (1.0, E), (-1.0, E), (1.0, 3 * E / 2), (1e-320, 5e-324)]:
        A, (low, high) = Ball(a, r), ends(a, r)
        assert A.upper() == high
        assert A.lower() == low
        above, below = Fraction(float(A.above())), Fraction(float(A.below()))
        assert above >= high
        assert below <= low
        if r == 0.0:
            assert above == below == Fraction(a)
        for found, end in ((above, high), (below, low)):
            assert abs(found - end) <= 6 * U * abs(end) + TINY


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_no_fraction_is_infinite(value):
    with pytest.raises(NotProven, match="overflowed"):
        kernel.balls.exactly(value)
    assert kernel.balls.exactly(np.float64(0.1)) == Fraction(0.1)


def test_the_rest_of_the_series_is_below_what_is_added_for_it():
    r, terms = Fraction(3, 8), balls.TERMS
    rest = sum(r**k / math.factorial(k) for k in range(terms + 1, terms + 30))
    rest += r ** (terms + 30) / math.factorial(terms + 30) * 2
    assert rest <= Fraction(balls.REST) <= 2 * rest


def test_exponentials_contain_the_true_ones_with_a_short_series(monkeypatch):
    """With three terms the rest is what matters, and the argument must have been halved as often as is said."""
    r = Fraction(3, 8)
    rest = r**4 / math.factorial(4) / (1 - r / 5)
    monkeypatch.setattr(balls, "TERMS", 3)
    monkeypatch.setattr(balls, "REST", float(rest))
    for x in (-0.999999, -0.9999999999 * 2, -0.9999999999 * 64, -1.0, -0.5, -(2.0**-30), 0.0):
        made, true = kernel.balls.exp(Ball([x])), exact.exponential(Fraction(x))
        assert inside(made, true.low, 0), x
        assert inside(made, true.high, 0), x
        # The largest of several arguments says how often.
        both = kernel.balls.exp(Ball([x, 0.0]))
        assert inside(both, true.low, 0)
    monkeypatch.setattr(balls, "REST", 0.125)
    assert kernel.balls.exp(Ball([0.0])).rad[0] >= 0.125 * 4
    # Half of the rest, or arguments up to 3/8 without it, are too little.
    monkeypatch.setattr(balls, "REST", 0.0)
    x = -0.999999
    assert not inside(kernel.balls.exp(Ball([x])), exact.exponential(Fraction(x)).low, 0)


def of_exponential(x):
    """An enclosure of the exponential of a fraction of any sign."""
    if x <= 0:
        return exact.exponential(x)
    inverse = exact.exponential(-x)
    return exact.Interval(1 / inverse.high, 1 / inverse.low)


@pytest.mark.parametrize("rad", [0.0, 1e-9, 0.5])
def test_exponentials_contain_the_ends(rad):
    xs = [0.0, 1.0, -1.0, 0.999, 1e-9, -0.3, 5.5, -40.0, 100.0, -290.0]
    made = kernel.balls.exp(Ball(xs, rad))
    for at, x in enumerate(xs):
        one = kernel.balls.exp(Ball([x], rad))
        for end in ends(x, rad):
            true = of_exponential(end)
            for number in (true.low, true.high):
                assert inside(made, number, at)
                assert inside(one, number, 0)
        assert rad or made.rad[at] <= 1e-12 * made.mid[at] + 2.0**-800
    # Of the ends of the range.
    for x in (700.0, -700.0):
        found = kernel.balls.exp(Ball([x]))
        assert math.isclose(found.mid[0], math.exp(x), rel_tol=1e-11)


@pytest.mark.parametrize(
    ("mid", "rad"), [(700.5, 0.0), (-700.5, 0.0), (1.0, 0.501), (np.inf, 0.0), (np.nan, 0.0), (0.0, np.nan)]
)
def test_exponents_out_of_range_prove_nothing(mid, rad):
    for others in ([], [0.0]):
        with pytest.raises(NotProven, match="out of range"):
            kernel.balls.exp(Ball([mid, *others], [rad, *others]))


def test_logarithms_contain_the_ends():
    for x, r in ((1.0, 0.0), (1.0, 0.4), (1.0, E), (3.0, 1e-9), (1e-300, 0.0), (1e250, 1e249), (0.1, 0.0), (2.0, 0.7)):
        made = kernel.balls.log(Ball([x], [r]))
        for end in ends(x, r):
            true = exact.logarithm(end)
            assert inside(made, true.low, 0)
            assert inside(made, true.high, 0)
        share = r / x
        assert made.rad[0] <= share / (1.0 - share) * (1.0 + 1e-5) + 1e-11
    for x, r in (
        (0.0, 0.0),
        (-1.0, 0.0),
        (1.0, 0.6),
        (1.0, 1.0),
        (5e-324, 0.0),
        (1e305, 0.0),
        (np.inf, 0.0),
        (np.nan, 0.0),
    ):
        for others in ([], [1.0]):
            with pytest.raises(NotProven):
                kernel.balls.log(Ball([x, *others], [r] + [0.0] * len(others)))


def test_a_guess_of_a_logarithm_may_be_wrong_on_either_side(monkeypatch):
    for guess in (1.0, 1.2):
        monkeypatch.setattr(balls.np, "log", lambda x, guess=guess: np.full_like(x, guess))
        made, true = kernel.balls.log(Ball([3.0])), exact.logarithm(Fraction(3))
        assert made.mid[0] == guess
        assert inside(made, true.low, 0)
        assert made.rad[0] < 0.13
    # Of numbers with a radius the farther end counts: they are too small by the guess, and may be too large.
    for guess, x, r in ((1.05, 3.0, 0.3), (1.15, 3.0, 0.3)):
        monkeypatch.setattr(balls.np, "log", lambda x, guess=guess: np.full_like(x, guess))
        made = kernel.balls.log(Ball([x], [r]))
        assert all(inside(made, exact.logarithm(end).low, 0) for end in ends(x, r))


def test_logistic_losses_contain_the_ends():
    for s, r in ((0.0, 0.0), (1.0, 0.25), (-1.0, 0.25), (30.0, 1e-3), (-30.0, 1e-3), (689.5, 0.0), (-689.5, 0.0),
                 (700.0, 0.0),
                 (-700.0, 0.0), (1e5, 1.0), (-1e5, 1.0), (-750.0, 100.0), (0.0, 2.0)):  # fmt: skip
        made = kernel.balls.softplus(Ball([s], [r]))
        for end in ends(s, r):
            true = exact.softplus(end)
            assert inside(made, true.low, 0)
            assert inside(made, true.high, 0)
        assert made.rad[0] <= r * float(LOOSE) + 1e-14 * max(1.0, abs(s))


def test_cross_entropies_contain_the_ends():
    rng = np.random.default_rng(7)
    for scale, r in ((1.0, 0.0), (1.0, 1e-3), (1e4, 1e-2), (0.0, 0.1)):
        for chosen, size, off in ((1, 2, 0.0), (2, 5, 1e3), (1, 1, -7.0), (3, 4, -1e4)):
            d, tau = off + scale * rng.random((2, size)), Fraction(7, 5)
            made = kernel.balls.cross_entropies(Ball(d, r), chosen, Ball.of(tau))
            for row in range(2):
                for signs in itertools.islice(itertools.product((-1, 1), repeat=size), 1 + 7 * (r > 0.0)):
                    moved = [Fraction(t) + s * Fraction(r) for t, s in zip(d[row].tolist(), signs, strict=True)]
                    true = exact.softmax(moved, chosen, tau)
                    assert inside(made, true.low, row)
                    assert inside(made, true.high, row)
                assert made.rad[row] <= 4.0 * size * r + 1e-12 * max(1.0, scale, abs(off))


def test_cross_entropies_of_one_that_is_far_off_are_its_distance():
    """Beyond 690 of the nearest an exponential is nothing, and the chosen one still counts with its distance."""
    for far in (689.0, 691.0, 1e5, 1e12):
        made = kernel.balls.cross_entropies(Ball([[far, 0.0]]), 1, Ball(1.0))
        true = exact.softmax([Fraction(far), Fraction(0)], 1, Fraction(1))
        assert inside(made, true.low, 0)
        assert made.rad[0] <= 1e-14 * far
    # A temperature that is known up to a radius counts at both ends.
    made = kernel.balls.cross_entropies(Ball([[3.0, 1.0, 0.5]]), 1, Ball(1.0, 0.1))
    for tau in (Fraction(9, 10), Fraction(11, 10)):
        assert inside(made, exact.softmax([Fraction(3), Fraction(1), Fraction(1, 2)], 1, tau).low, 0)
    # What is not known to half of the temperature proves nothing.
    with pytest.raises(NotProven):
        kernel.balls.cross_entropies(Ball([[1.0, 2.0]], 0.6), 1, Ball(1.0))


def test_entropies_contain_the_true_ones_or_are_zero():
    ps = [0.5, 0.25, 1.0 - E, 1e-10, 1e-299, 0.0, 1.0, 5e-324, 1e-301]
    made = kernel.balls.entropy(np.array(ps))
    for at, p in enumerate(ps):
        true = exact.entropy(Fraction(p))
        if 1e-300 <= p < 1.0:
            assert inside(made, true.low, at)
            assert inside(made, true.high, at)
            assert made.rad[at] <= 1e-12
        else:
            assert made.mid[at] == made.rad[at] == 0.0
            assert true.high >= 0


def test_numbers_are_rounded_outward_to_seventeen_digits():
    rng = np.random.default_rng(5)
    values = [
        Fraction(rng.integers(1, 2**60).item(), rng.integers(1, 2**60).item()) ** int(k) for k in rng.integers(1, 9, 50)
    ]
    values += [Fraction(10) ** k * (1 + Fraction(m, 10**18)) for k in (-20, -1, 0, 1, 16, 17, 30) for m in (-1, 0, 1)]
    values += [Fraction(0), Fraction(1, 3), Fraction(99999, 100000), Fraction(10**17 - 1), Fraction(10**17 + 1)]
    for value in values:
        for signed in (value, -value):
            up, down = kernel.rounded(signed, 1), kernel.rounded(signed, -1)
            assert down <= signed <= up
            assert up == exact.rounded(signed, True)
            assert down == exact.rounded(signed, False)


def test_semidefinite_matrices_are_found_to_be_so():
    kernel.semidefinite(Ball(np.zeros((2, 2))), "it")
    for mid, rad in (
        (np.eye(3), 0.0), (np.eye(2), 0.25), ([[1.0, 0.999], [0.999, 1.0]], 1e-4), (1e-100 * np.eye(2), 0.0),
        ([[2.0, 1.0], [1.0, 0.5 + 1e-12]], 0.0), (np.diag([1.0, 1e-13]), 0.0),
        (np.diag([1e3, 1.0]), [[1e-3, 0.0], [0.0, 0.9]]),
    ):  # fmt: skip
        kernel.semidefinite(Ball(mid, rad), "it")
    # With 60 features a hair more than rounding is left.
    A = np.random.default_rng(6).standard_normal((60, 59))
    K = A @ A.T
    kernel.semidefinite(Ball(K + 5e-14 * np.linalg.norm(K) * np.eye(60)), "it")


@pytest.mark.parametrize(
    ("mid", "rad", "at_once"),
    [
        # Radii of all entries together.
        (np.eye(3), 0.25, True),
        # A small part whose errors are those of a large one, by what is uncertain of them or by their rounding.
        (np.diag([1.0, 1e-5]), np.diag([0.5, 1e-6]), False), (np.diag([1e30, 1.0]), 0.0, False),
        ([[1.0, 0.99, 0.0], [0.99, 1.0, 0.0], [0.0, 0.0, 1.0]], np.diag([1e-9, 1e-9, 0.5]), False),
        # One that scaling makes worse.
        (np.eye(2), [[0.4, 0.4], [0.4, 0.0]], True),
    ],
)  # fmt: skip
def test_large_and_small_parts_of_semidefinite_matrices(mid, rad, at_once):
    kernel.semidefinite(Ball(mid, rad), "it")
    assert balls.factored(Ball(mid, rad)) == at_once


@pytest.mark.parametrize(
    ("mid", "rad"),
    [
        (np.zeros((2, 2)), 1e-300), ([[1.0, 2.0], [2.0, 1.0]], 0.0), (-np.eye(2), 0.0), (np.eye(2), 1.0),
        (np.diag([1.0, -1e-15]), 0.0), (np.eye(2), [[0.0, 1.1], [1.1, 0.0]]), ([[1.0, 0.0], [0.0, np.nan]], 0.0),
        ([[np.inf]], 0.0), ([[1.0]], np.inf), ([[1.0]], np.nan), (np.eye(2) * 1e200, 0.0), (np.diag([0.0, 1.0]), 0.0),
    ],
)  # fmt: skip
def test_what_is_not_proven_to_be_semidefinite(mid, rad):
    with pytest.raises(NotProven, match="it is not proven to be positive semidefinite"):
        kernel.semidefinite(Ball(mid, rad), "it")


@pytest.mark.parametrize("seed", range(8))
def test_semidefinite_by_a_hair(seed):
    """Singular matrices of integers, with a hair more or less on the diagonal, and rows of very different size."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-3, 4, (6, 5)).astype(float)
    D = np.ldexp(1.0, rng.integers(-60, 61, 6) * (seed % 2))
    for hair in 2.0 ** np.arange(-45, -10):
        # All of it is exact.
        above, below = (D[:, None] * (A @ A.T + side * hair * np.eye(6)) * D for side in (1, -1))
        with pytest.raises(NotProven):
            kernel.semidefinite(Ball(below), "it")
        with pytest.raises(NotProven):
            kernel.semidefinite(Ball(above, 2.0 * hair * np.diag(D * D)), "it")
        if hair >= 2.0**-35:
            kernel.semidefinite(Ball(above), "it")


def test_of_a_matrix_of_zeros_all_radii_are_zero():
    with pytest.raises(NotProven):
        kernel.semidefinite(Ball(np.zeros((2, 2)), [[1e-300, 0.0], [0.0, 0.0]]), "it")


@pytest.mark.parametrize("factor", [0.0, 0.1, 1.0, np.nan])
def test_the_factor_of_a_matrix_is_not_believed(factor, monkeypatch):
    """What LAPACK says of numbers that may be negative: with a factor of zero they are within e of their middle."""
    monkeypatch.setattr(np.linalg, "cholesky", lambda A: factor * np.eye(len(A)))
    for mid, rad in (([[0.999]], [[1.0]]), (0.999 * np.eye(3), np.eye(3)), ([[-1.0]], 0.0), ([[1e-17]], [[2e-17]])):
        with pytest.raises(NotProven):
            kernel.semidefinite(Ball(mid, rad), "it")
