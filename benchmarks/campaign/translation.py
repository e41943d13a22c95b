"""Random programs in CVXPY, each made from an integer, and exact enclosures of their optimal values.

Data are small integers times powers of two, so that CVXPY rounds nothing of them; what is perturbed is perturbed by a
power of two as well. Optima of linear and quadratic programs, convex or not, are computed with fractions from the very
floats that CVXPY is given, those of cones are known from a complementary pair or a closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import ExpCone, FiniteSet, PowCone3D

__all__ = ["KINDS", "Drawn", "Exact", "draw", "least"]

#: A rational number, or an infinity.
Exact = Fraction | float
#: Exponents of two of scales and of perturbations; digits of closed forms, and of their last ones what may be wrong.
WIDTHS, SMALL, DIGITS, CERTAIN = (0, 0, 3, 10, 20, 30), (20, 45), 80, 60
LINEAR, QUADRATIC, CONIC = ("CLARABEL", "SCS", "HIGHS"), ("CLARABEL", "SCS", "OSQP"), ("CLARABEL", "SCS")


@dataclass(frozen=True)
class Drawn:
    """A program, and what is known of it.

    Attributes
    ----------
    problem : cvxpy.Problem
    optimum : pair of Exact, or None
        The least and the greatest that the optimal value may be (of a minimum without a feasible point it is infinite,
        both); None where the program has integers.
    solvers : sequence of str
        Solvers that may be named.
    """

    problem: cp.Problem
    optimum: tuple[Exact, Exact] | None
    solvers: Sequence[str] = CONIC


class Draws:
    """Random numbers of a program, whose scales are plain or extreme."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.width = int(self.rng.choice(WIDTHS))

    def chance(self, share: float = 0.5) -> bool:
        return bool(self.rng.random() < share)

    def one(self, options: Iterable[Any]) -> Any:
        options = list(options)
        return options[int(self.rng.integers(len(options)))]

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def integers(self, low: int, high: int, *shape: int) -> Any:
        """Integers as floats."""
        return self.rng.integers(low, high + 1, shape).astype(float)

    def powers(self, *shape: int) -> Any:
        return 2.0 ** self.rng.integers(-self.width, self.width + 1, shape)

    def power(self) -> float:
        return float(self.powers())

    def small(self, low: int = SMALL[0], high: int = SMALL[1]) -> float:
        return self.one((-1.0, 1.0)) * 2.0 ** -self.integer(low, high)

    def positive(self, n: int) -> Any:
        """An integer positive definite matrix."""
        F = self.integers(-2, 2, n, n)
        return F @ F.T + np.diag(self.integers(1, 3, n))


# Exact optima ---------------------------------------------------------------------------------------------------------


def rational(a: Any) -> Any:
    """An array of fractions."""
    a = np.asarray(a)
    return np.array([Fraction(v) for v in a.ravel().tolist()], dtype=object).reshape(a.shape)


def solutions(M: Any, t: Any) -> tuple[Any, Any] | None:
    """A solution of M x = t and a basis of the directions in which there are others; None if there is none."""
    rows, n, pivots = np.column_stack([M, t]), M.shape[1], list[int]()
    for column in range(n):
        k = len(pivots)
        found = next((i for i in range(k, len(rows)) if rows[i, column]), None)
        if found is not None:
            rows[[k, found]] = rows[[found, k]]
            rows[k] = rows[k] / rows[k, column]
            for i in range(len(rows)):
                if i != k and rows[i, column]:
                    rows[i] = rows[i] - rows[i, column] * rows[k]
            pivots.append(column)
    if any(rows[len(pivots) :, n]):
        return None
    free = [column for column in range(n) if column not in pivots]
    x, N = rational(np.zeros(n)), rational(np.eye(n)[:, free])
    x[pivots], N[pivots] = rows[: len(pivots), n], -rows[: len(pivots), free]
    return x, N


def least(P: Any, q: Any, A: Any, b: Any, G: Any, h: Any) -> Exact:
    """Least x'Px + q'x of A x = b and G x <= h, convex or not, if it is bounded there; infinite if there is no x.

    It is attained at a point of a face in whose plane it is the only stationary one: of a line of them in the plane,
    all of the same value, one end is on a smaller face. So it is among the stationary points for some active rows.
    """
    found = solutions(A, b)
    if found is None:
        return math.inf
    x, N = found
    P = (P + P.T) / 2
    constant, q, P, h, G = x @ P @ x + q @ x, N.T @ (2 * P @ x + q), N.T @ P @ N, h - G @ x, G @ N
    d, best = len(q), math.inf
    for k in range(0 if P.any() else d, d + 1):
        for rows in map(list, combinations(range(len(h)), k)):
            M, right = G[rows], h[rows]
            if k < d:
                M = np.block([[2 * P, M.T], [M, rational(np.zeros((k, k)))]])
                right = np.concatenate([-q, right])
            found = solutions(M, right)
            if found is None or found[1].shape[1]:
                continue
            y = found[0][:d]
            value = y @ P @ y + q @ y + constant
            if value < best and all(row @ y <= most for row, most in zip(G, h, strict=True)):
                best = value
    return best


def ends(value: Any) -> tuple[Exact, Exact]:
    """Enclosure of a number: of a Decimal by its certain digits."""
    exact = value if isinstance(value, float) and math.isinf(value) else Fraction(value)
    wrong = (1 + abs(exact)) / 10**CERTAIN if isinstance(value, Decimal) else 0
    return exact - wrong, exact + wrong


def made(of: Draws, expression: Any, constraints: Sequence[Any], value: Any, solvers: Sequence[str] = CONIC) -> Drawn:
    """The program of the minimum of an expression: times a power of two, plus a constant, or a maximum."""
    scale, constant = of.power(), float(of.integers(-9, 9)) * of.power() if of.chance(0.3) else 0.0
    expression = scale * expression + constant if constant else scale * expression
    low, high = (Fraction(scale) * end + Fraction(constant) for end in ends(value))
    constraints = [constraints[i] for i in of.rng.permutation(len(constraints))]
    if of.chance():
        return Drawn(cp.Problem(cp.Maximize(-expression), constraints), (-high, -low), solvers)
    return Drawn(cp.Problem(cp.Minimize(expression), constraints), (low, high), solvers)


# Linear programs ------------------------------------------------------------------------------------------------------


class Rows:
    """Equations A x = b, inequalities G x <= h, bounds lo <= x <= hi and costs q: of integers until they are scaled."""

    def __init__(self, of: Draws, n: int, equations: int, inequalities: int) -> None:
        self.of, self.point = of, of.integers(-3, 3, n)
        self.A, self.G = of.integers(-3, 3, equations, n), of.integers(-3, 3, inequalities, n)
        self.b, self.h = self.A @ self.point, self.G @ self.point + of.integers(0, 4, inequalities)
        self.lo, self.hi = self.point - of.integers(1, 6, n), self.point + of.integers(1, 6, n)
        self.q = of.integers(-4, 4, n)

    def scaled(self) -> Rows:
        """Scale rows and columns by powers of two."""
        self.columns = self.of.powers(len(self.q)) * self.of.power()
        for M, t in ((self.A, self.b), (self.G, self.h)):
            rows = self.of.powers(len(t))
            M *= rows[:, None] * self.columns
            t *= rows
        self.lo, self.hi, self.q = self.lo / self.columns, self.hi / self.columns, self.q * self.columns
        return self

    def follow(self, count: int) -> Rows:
        """Append rows that are combinations of the others."""
        weights = self.of.integers(-2, 2, count, len(self.b))
        self.A, self.b = np.vstack([self.A, weights @ self.A]), np.append(self.b, weights @ self.b)
        return self

    def value(self, P: Any = None, q: Any = None) -> Exact:
        n = len(self.q)
        G, h = np.vstack([self.G, np.eye(n), -np.eye(n)]), np.concatenate([self.h, self.hi, -self.lo])
        P = rational(np.zeros((n, n))) if P is None else P
        q = rational(self.q) if q is None else q
        return least(P, q, *map(rational, (self.A, self.b, G, h)))

    def variable(self) -> tuple[Any, list[Any]]:
        """The variable with its bounds, which may be attributes."""
        if self.of.chance(0.3):
            return cp.Variable(len(self.q), bounds=[self.lo, self.hi]), []
        x = cp.Variable(len(self.q))
        return x, [self.lo <= x, x <= self.hi]

    def constraints(self, x: Any) -> list[Any]:
        """All rows at once, or one after the other."""
        found = []
        for M, t, equal in ((self.A, self.b, True), (self.G, self.h, False)):
            for i in [slice(None)] if self.of.chance() and len(t) else range(len(t)):
                found.append(M[i] @ x == t[i] if equal else M[i] @ x <= t[i])
        return found

    def program(self) -> Drawn:
        x, bounds = self.variable()
        return made(self.of, self.q @ x, bounds + self.constraints(x), self.value(), LINEAR)


def rows(of: Draws, least_equations: int = 0, most: int = 4) -> Rows:
    n = of.integer(1, most)
    found = Rows(of, n, of.integer(least_equations, max(least_equations, min(2, n - 1))), of.integer(0, 3))
    return found.follow(of.integer(0, 1)) if of.chance(0.2) else found


def linear(of: Draws) -> Drawn:
    return rows(of).scaled().program()


def dependent(of: Draws) -> Drawn:
    return rows(of, 1).follow(of.integer(1, 3)).scaled().program()


def nearly_dependent(of: Draws) -> Drawn:
    """Combinations but for a small part of an entry or of a right-hand side: independent, or contradictory."""
    found = rows(of, 1).follow(of.integer(1, 2)).scaled()
    array = found.b[:, None] if of.chance() else found.A
    i, j = len(found.b) - 1, of.integer(0, array.shape[1] - 1)
    array[i, j] = array[i, j] * (1.0 + of.small()) if array[i, j] else of.small() * np.abs(found.A[i]).max()
    return found.program()


def contradictory(of: Draws) -> Drawn:
    """Some right-hand side is another, by an integer or a small number."""
    found = rows(of, 1).follow(of.integer(1, 2))
    found.b[of.integer(0, len(found.b) - 1)] += of.one((-1.0, 1.0)) * (of.integer(1, 3) if of.chance() else of.small())
    return found.scaled().program()


def tight(of: Draws) -> Drawn:
    """Bounds that meet, opposite inequalities of different sizes, some of them apart or crossed by a small number."""
    found = rows(of)
    pinned = of.rng.random(len(found.q)) < 0.4
    found.lo[pinned] = found.hi[pinned] = found.point[pinned]
    for _ in range(of.integer(0 if pinned.any() else 1, 2)):
        a = of.integers(-3, 3, len(found.q))
        apart = of.small() if of.chance(0.3) else 0.0
        found.G = np.vstack([found.G, a, -2.0 * a])
        found.h = np.append(found.h, [a @ found.point + apart, -2.0 * (a @ found.point)])
    return found.scaled().program()


def idle(of: Draws) -> Drawn:
    """Entries that nothing uses, loose rows, slacks, zero rows and equal columns; some without a bound."""
    found = rows(of, most=3)
    if of.chance(0.3):
        for name in ("A", "G", "q"):
            array = getattr(found, name)
            setattr(found, name, np.concatenate([array, array[..., :1]], axis=-1))
        found.lo, found.hi = np.append(found.lo, -1.0), np.append(found.hi, 2.0)
    x, bounds = found.scaled().variable()
    y, value, expression = cp.Variable(3, nonneg=of.chance(0.3)), found.value(), found.q @ x
    loose = [
        y >= 0, of.power() * x[0] <= of.power() * y[0], y[2] >= of.integer(-2, 2) * of.power(),
        cp.sum(x) + y[0] >= of.integer(-2, 2), 0.0 * x[0] == 0.0, 0.0 * y[1] <= of.integer(0, 1),
    ]  # fmt: skip
    constraints = bounds + found.constraints(x) + [row for row in loose if of.chance(0.3)]
    if of.chance(0.3):
        expression = expression + 0.0 * cp.sum(y)
    if of.chance(0.1):
        value, constraints = math.inf, [*constraints, 0.0 * x[0] == of.small()]
    elif of.chance(0.1):
        value, expression = -math.inf, expression - y[1]
    return made(of, expression, constraints, value, LINEAR)


def transportation(of: Draws) -> Drawn:
    """Supplies and demands, which balance or do not by a small share."""
    m, n, size = of.integer(1, 3), of.integer(2, 3), of.power()
    flows = of.integers(0, 5, m, n)
    supplies, demands, costs = flows.sum(1), flows.sum(0), of.integers(0, 9, m, n)
    if of.chance():
        demands[0] = demands[0] * (1.0 + of.small()) if of.chance(0.7) else demands[0] + 1.0
    A = np.vstack([np.kron(np.eye(m), np.ones(n)), np.kron(np.ones(m), np.eye(n))])
    right = np.concatenate([supplies, demands]) * size
    value = least(*map(rational, (np.zeros((m * n, m * n)), costs.ravel(), A, right, -np.eye(m * n), np.zeros(m * n))))
    T = cp.Variable((m, n), nonneg=of.chance())
    constraints = [T >= 0, cp.sum(T, axis=1) == supplies * size, cp.sum(T, axis=0) == demands * size]
    return made(of, cp.sum(cp.multiply(costs, T)), constraints, value, LINEAR)


# Quadratic programs ---------------------------------------------------------------------------------------------------


def wrapped(of: Draws, x: Any, P: Any) -> Any:
    """x'Px, of which CVXPY may be told that it is convex."""
    how = of.integer(0, 3)
    return cp.quad_form(x, cp.psd_wrap(P)) if how == 0 else cp.quad_form(x, P, assume_PSD=how == 1)


def with_form(of: Draws, change: Callable[[Draws, Any], Any], wide: bool = False) -> Drawn:
    """A quadratic program with an integer P of any rank, in a wide box a singular one, changed after it is scaled."""
    found = rows(of, most=3)
    if wide:
        found.b, found.h = 0.0 * found.b, np.abs(found.h) * 4.0**8
        found.lo, found.hi = -of.integers(1, 6, len(found.q)) * 4.0**8, of.integers(1, 6, len(found.q)) * 4.0**8
    found.scaled()
    n = len(found.q)
    F = of.integers(-2, 2, of.integer(1, max(1, n - wide)), n)
    if of.chance(0.3) and not wide:
        F = np.vstack([F, np.eye(n)])
    P = change(of, F.T @ F * np.outer(found.columns, found.columns))
    x, bounds = found.variable()
    return made(of, wrapped(of, x, P) + found.q @ x, bounds + found.constraints(x), found.value(rational(P)), QUADRATIC)


def asymmetric(of: Draws, P: Any) -> Any:
    """An entry above or below the diagonal is changed as CVXPY overlooks, or P is a covariance in single precision."""
    n = len(P)
    if of.chance(0.3):
        G, w = of.rng.normal(size=(20, n)).astype("f4"), of.rng.random(20).astype("f4")
        scales = np.sqrt(np.diag(P) + (np.diag(P) == 0.0))
        return ((G * w[:, None]).T @ G).astype(float) * np.outer(*[2.0 ** np.round(np.log2(scales))] * 2)
    i, j = of.rng.permutation(n)[:2] if n > 1 else (0, 0)
    P = P + np.diag(np.diag(P) + (np.diag(P) == 0.0))
    # Of numbers below 1e-8 it overlooks anything.
    if np.abs(P).max() < 2.0**-28:
        P[i, j] += P[i, i]
    else:
        P[i, j] = P[i, j] * (1.0 + of.small(17, 47)) if P[i, j] else of.one((-(2.0**-28), 2.0**-40))
    return P


def indefinite(of: Draws, P: Any) -> Any:
    """A little negative in some direction."""
    return P - 2.0 ** -of.integer(27, 50) * np.diag(of.integers(0, 1, len(P)) * np.diag(P).max())


def sum_of_squares(of: Draws) -> Drawn:
    found = rows(of, most=3).scaled()
    n, k = len(found.q), of.integer(1, 4)
    F, g = of.integers(-3, 3, k, n) * found.columns * of.power(), of.integers(-3, 3, k) * of.power()
    x, bounds = found.variable()
    exact, right = rational(F), rational(g)
    value = found.value(exact.T @ exact, rational(found.q) - 2 * right @ exact)
    squares = cp.sum_squares(F @ x - g) if of.chance() else cp.sum(cp.square(F @ x - g))
    constant = sum(right * right)
    return made(of, squares + found.q @ x, bounds + found.constraints(x), value + constant, QUADRATIC)


def ellipsoid(of: Draws, change: Callable[[Draws, Any], Any] = lambda of, P: P) -> Drawn:
    """Least c'x of x'Px <= r, which is -sqrt(r c'P^-1 c)."""
    n, columns, r = of.integer(1, 3), of.powers(3), of.integer(1, 9) * of.power()
    P = change(of, of.positive(n) * np.outer(columns[:n], columns[:n]))
    c = of.integers(-3, 3, n) * columns[:n]
    x, exact = cp.Variable(n), rational(P)
    found = solutions((exact + exact.T) / 2, rational(c))
    square = Fraction(r) * (found[0] @ rational(c))
    return made(of, c @ x, [cp.quad_form(x, P) <= r], -root(square))


def indefinite_ellipsoid(of: Draws) -> Drawn:
    """Least c'x of p x_1^2 - e x_2^2 <= 1 in a box: x_2 takes its most, and x_1 what that leaves it."""
    p, e, B = of.integer(1, 4), 2.0 ** -of.integer(24, 50), 2.0 ** of.integer(0, 20)
    c, x = of.integers(1, 4, 2), cp.Variable(2)
    square = (1 + Fraction(e) * Fraction(B) ** 2) / p
    value = -int(c[0]) * min(root(square), Decimal(B)) - Decimal(c[1] * B)
    return made(of, c @ x, [wrapped(of, x, np.diag([p, -e])) <= 1.0, cp.abs(x) <= B], value)


# Cones ----------------------------------------------------------------------------------------------------------------


def second_order(of: Draws) -> tuple[Any, ...]:
    t, a, b = of.one([(5, 3, 4), (13, 12, -5), (3, 3, 0), (0, 0, 0), (17, -8, 15)])
    z = (t, -a, -b) if t else (3, 1, 2)
    return (np.array([t, a, b]), of.integer(0, 2) * np.array(z), np.array([1, 0, 0]), lambda s: cp.SOC(s[0], s[1:]))


def semidefinite(of: Draws) -> tuple[Any, ...]:
    """Orthogonal products, of which a row and a column may be zero."""
    n = of.integer(2, 3)
    V, W = of.integers(-2, 2, n), of.integers(-2, 2, n)
    W = W * (V @ V) - V * (V @ W)
    if W.any():
        W = W / np.gcd.reduce(W.astype(int))
    return (
        np.outer(V, V).ravel(), np.outer(W, W).ravel(), np.eye(n).ravel(),
        lambda s: cp.reshape(s, (n, n), order="C") >> 0,
    )  # fmt: skip


def exponential(of: Draws) -> tuple[Any, ...]:
    s, z = of.one([((0, 1, 1), (-1, -1, 1)), ((-2, 0, 3), (0, 1, 0)), ((0, 2, 2), (-3, -3, 3))])
    return np.array(s), np.array(z), np.array([-1, 1, 2]), lambda s: ExpCone(s[0], s[1], s[2])


def power(of: Draws) -> tuple[Any, ...]:
    a, b, sign, swap = of.integer(1, 2), of.integer(1, 2), of.one((-1, 1)), of.one((1, -1))
    alpha, s, z = of.one([
        (0.5, (a**2, b**2, a * b), (b**2, a**2, -2 * a * b)),
        (0.25, (a**4, b**4, a * b**3), (b**4, 3 * a**4, -4 * a**3 * b)),
    ])  # fmt: skip
    s, z = (np.array([*v[:2][::swap], sign * v[2]]) for v in (s, z))
    alpha = alpha if swap == 1 else 1.0 - alpha
    return s, z, np.array([1, 1, 0]), lambda s: PowCone3D(s[0], s[1], s[2], alpha)


def pair(of: Draws, *cones: Callable[[Draws], tuple[Any, ...]]) -> Drawn:
    """Least -z'A x of b - A x in cones, b = A x + s, z in the dual cones and z's = 0, so that x is the best."""
    n = of.integer(1, 3)
    point, columns = of.integers(-3, 3, n), of.powers(n)
    x, q, constraints = cp.Variable(n), np.zeros(n), []
    for _ in range(of.integer(1, 2)):
        s, z, inner, cone = of.one(cones)(of)
        A, size = of.integers(-2, 2, len(s), n), of.power()
        if of.chance(0.7):
            A[:, 0] = -inner
        k = math.isqrt(len(s))
        if k * k == len(s):
            A = A + A.reshape(k, k, n).transpose(1, 0, 2).reshape(-1, n)
            # A row and a column of zeros in a point is one of all points, or not.
            if of.chance():
                A[(s.reshape(k, k).any(0)[:, None] & s.reshape(k, k).any(0)).ravel() == 0] = 0.0
        constraints.append(cone(size * (A @ point + s) - (size * A * columns) @ x))
        q -= z @ A
    if of.chance(0.7):
        reach = of.integers(1, 5, n)
        constraints += [x >= (point - reach) / columns, x <= (point + reach) / columns]
    if of.chance(0.2):
        e = of.integers(-2, 2, n)
        constraints += [(size * e * columns) @ x == size * (e @ point) for size in of.powers(of.integer(1, 2))]
    return made(of, (q * columns) @ x, constraints, q @ point)


# Closed forms ---------------------------------------------------------------------------------------------------------


def decimal(value: Any) -> Decimal:
    value = Fraction(value)
    return Decimal(value.numerator) / Decimal(value.denominator)


def root(value: Any, n: int = 2) -> Decimal:
    value = decimal(value)
    return value.sqrt() if n == 2 else value ** (1 / Decimal(n)) if value else value


def least_eigenvalue(a: Any, b: Any, d: Any, c: Any = 0) -> Decimal:
    """Least eigenvalue of [[a, b + ic], [b - ic, d]]."""
    a, b, d, c = map(Fraction, (a, b, d, c))
    return decimal((a + d) / 2) - root(((a - d) / 2) ** 2 + b**2 + c**2)


def norms(of: Draws, x: Any) -> tuple[Any, ...]:
    """Distance from a to a plane c'x = t: by the dual norm of c."""
    c, a, t, p = of.integers(1, 4, 3) * of.one((-1, 1)), of.integers(-3, 3, 3), of.integer(-5, 5), of.integer(1, 5)
    p = np.inf if p == 5 else p
    exponent = decimal(p) / (p - 1) if 1 < p < np.inf else None
    dual = (
        decimal(np.abs(c).max()) if p == 1 else decimal(np.abs(c).sum()) if p == np.inf
        else sum(decimal(abs(v)) ** exponent for v in c) ** (1 / exponent)
    )  # fmt: skip
    return cp.norm(x - a, p), [of.power() * (c @ x - t) == 0], abs(decimal(t - c @ a)) / dual


def quad_over_lin(of: Draws, x: Any) -> tuple[Any, ...]:
    a, c, y = of.integers(-3, 3, 3), of.integer(1, 5), cp.Variable()
    return cp.quad_over_lin(x, y) + c * y, [x == a], 2 * root(a @ a * c)


def geometric_mean(of: Draws, x: Any) -> tuple[Any, ...]:
    c, t = of.integers(1, 5, 3), of.integer(1, 9)
    return -cp.geo_mean(x), [c @ x <= t], -decimal(Fraction(t, 3)) / root(np.prod(c), 3)


def powers(of: Draws, x: Any) -> tuple[Any, ...]:
    """Sums of x^p - c x for p > 1, of c x - x^p for 0 < p < 1, of x^p + c x for p < 0."""
    c, p = of.integers(1, 5, 3), of.one((-1.0, -0.5, 0.25, 0.5, 1.5, 2.5, 3.0, 4.0))
    sign, slope, exponent = (-1 if 0 < p < 1 else 1), (-1 if p > 1 else 1), decimal(p)
    points = [(decimal(v) / abs(exponent)) ** (1 / (exponent - 1)) for v in c]
    value = sum(sign * at**exponent + slope * decimal(v) * at for v, at in zip(c, points, strict=True))
    return sign * cp.sum(cp.inv_pos(x) if p == -1.0 else cp.power(x, p)) + slope * c @ x, [x >= 0], value


def log_sum_exp(of: Draws, x: Any) -> tuple[Any, ...]:
    p = [Fraction(v) for v in of.one([(0.25, 0.5, 0.25), (0.125, 0.375, 0.5), (0.5, 0.4375, 0.0625)])]
    value = -sum(decimal(v) * decimal(v).ln() for v in p)
    return cp.log_sum_exp(x) - np.array(p, dtype=float) @ x, [of.power() * cp.sum(x) == 0], value


def entropy(of: Draws, x: Any) -> tuple[Any, ...]:
    c, t = of.integers(-3, 3, 3), of.integer(1, 5)
    value = decimal(t) * (decimal(t).ln() - sum(decimal(v).exp() for v in c).ln())
    return -cp.sum(cp.entr(x)) - c @ x, [cp.sum(x) == t], value


def exponentials(of: Draws, x: Any) -> tuple[Any, ...]:
    a, c = of.integers(-2, 2, 3), of.integers(1, 5, 3)
    value = sum(decimal(v) * (1 - decimal(v).ln() + decimal(w)) for v, w in zip(c, a, strict=True))
    return cp.sum(cp.exp(x + a)) - c @ x, [], value


def logarithms(of: Draws, x: Any) -> tuple[Any, ...]:
    c = of.integers(1, 5, 3)
    return c @ x - cp.sum(cp.log(x)), [], 3 + sum(decimal(v).ln() for v in c)


def divergence(of: Draws, x: Any) -> tuple[Any, ...]:
    a, c = of.integers(1, 4, 3), of.integers(-2, 3, 3)
    value = sum(decimal(v) * (1 - (-decimal(w)).exp()) for v, w in zip(a, c, strict=True))
    return cp.sum(cp.kl_div(x, a)) + c @ x, [], value


def log_det(of: Draws, x: Any) -> tuple[Any, ...]:
    """-log det S of tr(C S) <= t, least at the multiple t / 2 of C^-1."""
    C, t, S = of.positive(2), of.integer(1, 5), cp.Variable((2, 2), symmetric=True)
    det = C[0, 0] * C[1, 1] - C[0, 1] ** 2
    return -cp.log_det(S), [cp.trace(C @ S) <= t], decimal(det).ln() - 2 * decimal(Fraction(t, 2)).ln()


def eigenvalues(of: Draws, x: Any) -> tuple[Any, ...]:
    """Norms of a symmetric matrix with tr(C S) = t, by their dual ones of a diagonal C."""
    c, t, S = of.integers(1, 4, 2), of.integer(-5, 5), cp.Variable((2, 2), symmetric=True)
    atom, value = of.one([
        (cp.lambda_max(S), Fraction(t) / Fraction(c.sum())), (cp.norm(S, "nuc"), Fraction(abs(t)) / Fraction(c.max())),
        (cp.sigma_max(S), Fraction(abs(t)) / Fraction(c.sum())),
    ])  # fmt: skip
    return atom, [of.power() * (cp.trace(np.diag(c) @ S) - t) == 0], value


def zero_diagonal(of: Draws, x: Any) -> tuple[Any, ...]:
    C, t = of.integers(-3, 3, 3, 3), of.integer(1, 4)
    S = cp.Variable((3, 3), PSD=True) if of.chance() else cp.Variable((3, 3), symmetric=True)
    zero = [S[0, 0] == 0] if of.chance() else [S[0, 0] <= 0]
    value = t * least_eigenvalue(C[1, 1], (C[1, 2] + C[2, 1]) / 2, C[2, 2])
    return cp.trace(C.T @ S), [S >> 0, *zero, cp.trace(S) == t], value


# Attributes, parameters and variables that are complex, fixed or of another problem -----------------------------------


def signs(of: Draws, x: Any) -> tuple[Any, ...]:
    c, B = of.integers(-3, 3, 3), of.integer(1, 4)
    name = of.one(("nonneg", "nonpos", "pos", "neg"))
    sign = 1 if name in ("nonneg", "pos") else -1
    v = cp.Variable(3, **{name: True})
    return c @ v, [sign * v <= B], B * sum(min(sign * Fraction(value), Fraction(0)) for value in c)


def bounds(of: Draws, x: Any) -> tuple[Any, ...]:
    """Bounds of which some are equal or infinite."""
    c, lo, free = of.integers(-3, 3, 3), of.integers(-3, 3, 3), of.rng.random(3) < 0.3
    hi = lo + of.integers(0, 3, 3)
    value = sum(Fraction(min(v * a, v * b)) for v, a, b in zip(c, lo, hi, strict=True))
    given = [np.where(free, -np.inf, lo), None if free.any() else hi]
    v = cp.Variable(3, bounds=given)
    return c @ v, [v >= lo, v <= hi], value


def shapes(of: Draws, x: Any) -> tuple[Any, ...]:
    """A linear function of matrices in a box that are diagonal, by either attribute, or symmetric."""
    C, B = of.integers(-3, 3, 2, 2), of.integer(1, 3)
    attribute = of.one(({"diag": True}, {"sparsity": [(0, 1), (0, 1)]}, {"symmetric": True}))
    S, off = cp.Variable((2, 2), **attribute), abs(C[0, 1] + C[1, 0]) * ("symmetric" in attribute)
    return cp.sum(cp.multiply(C, S)), [S <= B, S >= -B], -B * Fraction(np.abs(np.diag(C)).sum() + off)


def definite(of: Draws, x: Any) -> tuple[Any, ...]:
    C, t, sign = of.integers(-3, 3, 2, 2), of.integer(1, 4), of.one((1, -1))
    S = cp.Variable((2, 2), PSD=True) if sign == 1 else cp.Variable((2, 2), NSD=True)
    value = t * min(least_eigenvalue(sign * C[0, 0], sign * (C[0, 1] + C[1, 0]) / 2, sign * C[1, 1]), Decimal(0))
    return cp.trace(C.T @ S), [sign * cp.trace(S) <= t], value


def hermitian(of: Draws, x: Any) -> tuple[Any, ...]:
    (a, b, c, d), t, S = of.integers(-3, 3, 4), of.integer(1, 3), cp.Variable((2, 2), hermitian=True)
    C = np.array([[a, b + 1j * c], [b - 1j * c, d]])
    return cp.real(cp.trace(C @ S)), [S >> 0, cp.real(cp.trace(S)) == t], t * least_eigenvalue(a, b, d, c)


def complex_numbers(of: Draws, x: Any) -> tuple[Any, ...]:
    a, b = of.integer(-3, 3), of.integer(-3, 3)
    if of.chance():
        z = cp.Variable(imag=True)
        return cp.abs(z - (a + 1j * b)), [], abs(a)
    z = cp.Variable(complex=True)
    return cp.abs(z), [cp.real(z) == a, cp.imag(z) >= b], root(a * a + max(b, 0) ** 2)


def fixed(of: Draws, x: Any) -> tuple[Any, ...]:
    """All entries known, by equations, by inequalities or by a norm."""
    a, c = of.integers(-3, 3, 3), of.integers(-3, 3, 3)
    how = of.one(([x == a], [x <= a, x >= a], [cp.norm(x - a) <= 0], [x[:2] == a[:2], cp.sum(x) == a.sum()]))
    return c @ x, how, Fraction(c @ a)


def constant(of: Draws, x: Any) -> tuple[Any, ...]:
    """Objectives without variables, of which there may be no point."""
    expression, none = of.one((cp.Constant(5.0), 5 + 0 * x[0], 5 + 0 * cp.sum(x))), of.chance(0.3)
    how = of.one(([x[0] >= 3, x[0] <= 2], [x[0] == 1, x[0] == 1 + abs(of.small())])) if none else of.one(
        ([], [x >= 0], [x == x], [cp.Constant(0) <= 1], [cp.norm(x) <= 1])
    )  # fmt: skip
    return expression, how, math.inf if none else 5


def parameters(of: Draws, x: Any) -> tuple[Any, ...]:
    """Values of parameters that were others when the problem was solved."""
    c, B = cp.Parameter(3), cp.Parameter(nonneg=True)
    constraints = [cp.abs(x) <= B, cp.sum(x) <= B]
    B.value = 1.0
    for _ in range(2):
        c.value = of.integers(-3, 0, 3)
        solve(cp.Problem(cp.Minimize(c @ x), constraints))
        B.value = float(of.integer(1, 4))
    # Of the greatest sum B all but one entry are at their bounds, or the dearest two are and one is at -B.
    kept = sorted(Fraction(v) for v in c.value)
    return c @ x, constraints, Fraction(B.value) * (kept[0] + kept[1] - kept[2])


def stale(of: Draws, x: Any) -> tuple[Any, ...]:
    """Values from another problem."""
    a, b = of.integers(-3, 3, 3), of.integers(-3, 3, 3)
    solve(cp.Problem(cp.Minimize(cp.sum_squares(x - a))))
    return cp.sum_squares(x - b), of.one(([], [x <= 5])), 0


def solve(problem: cp.Problem) -> None:
    """Solve a problem, whatever becomes of it."""
    with suppress(Exception):
        problem.solve()


def closed(of: Draws, *forms: Callable[[Draws, Any], tuple[Any, ...]]) -> Drawn:
    """A closed form in a variable times a power of two."""
    x = of.power() * cp.Variable(3)
    return made(of, *of.one(forms)(of, x))


# Integers -------------------------------------------------------------------------------------------------------------


def integers(of: Draws) -> Drawn:
    """Integers by any door, with a convex objective."""
    door, n = of.integer(0, 6), 2
    marks = ({"boolean": True}, {"integer": True}, {"boolean": [(0,)]}, {"integer": [(1,)]}, {}, {}, {})
    x, (y, z) = cp.Variable(n, **marks[door]), (cp.Variable(boolean=True) for _ in range(2))
    constraints: list[Any] = [cp.abs(x) <= 3]
    if door in (4, 5):
        which = of.one((x, x[0], x[0] + x[1]))
        constraints.append(FiniteSet(which, of.integers(-2, 2, 1) + np.arange(of.integer(2, 3)), ineq_form=door == 5))
    elif door == 6:
        atom = of.one((cp.logic.Not, cp.logic.And, cp.logic.Or, cp.logic.Xor, cp.logic.implies, cp.logic.iff))
        constraints.append((atom(y) if atom is cp.logic.Not else atom(y, z)) <= x[0] + x[1])
    a = of.integers(-3, 3, n) + 0.4
    expression = of.one((cp.sum_squares(x - a), cp.norm(x - a, 1), a @ x))
    return Drawn(made(of, expression, constraints, 0).problem, None)


KINDS: dict[str, Callable[[Draws], Drawn]] = {
    "linear": linear, "dependent equations": dependent, "nearly dependent": nearly_dependent,
    "contradictory": contradictory, "tight rows": tight, "idle": idle, "transportation": transportation,
    "quad_form": partial(with_form, change=lambda of, P: P), "sum of squares": sum_of_squares,
    "asymmetric": partial(with_form, change=asymmetric),
    "indefinite": partial(with_form, change=indefinite, wide=True),
    "ellipsoid": ellipsoid, "asymmetric ellipsoid": partial(ellipsoid, change=asymmetric),
    "indefinite ellipsoid": indefinite_ellipsoid,
    "second-order": lambda of: pair(of, second_order), "semidefinite": lambda of: pair(of, semidefinite),
    "exponential and power": lambda of: pair(of, exponential, power),
    "mixed cones": lambda of: pair(of, second_order, semidefinite, exponential, power),
    "norms, means": lambda of: closed(of, norms, quad_over_lin, geometric_mean, powers),
    "exp and log": lambda of: closed(of, log_sum_exp, entropy, exponentials, logarithms, divergence),
    "matrices": lambda of: closed(of, log_det, eigenvalues, zero_diagonal),
    "attributes": lambda of: closed(of, signs, bounds, shapes, definite),
    "complex": lambda of: closed(of, hermitian, complex_numbers),
    "fixed, constant": lambda of: closed(of, fixed, constant), "used before": lambda of: closed(of, parameters, stale),
    "integers": integers,
}  # fmt: skip


def draw(seed: int) -> tuple[str, Draws, Drawn]:
    """The kind and the program of a seed, and the numbers that are left to be drawn for it."""
    name, of = list(KINDS)[seed % len(KINDS)], Draws(seed)
    with localcontext() as context:
        context.prec = DIGITS
        return name, of, KINDS[name](of)
