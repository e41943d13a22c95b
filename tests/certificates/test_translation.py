"""What ``certify_program`` proves is proven of the problem that it was given, whatever CVXPY and a solver make of it.

Optima are computed in fractions from the numbers of a problem, each float taken as the rational that it is.
"""

import re
import time
from contextlib import suppress
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from cvxpy.constraints import PSD, SOC, ExpCone, FiniteSet, Inequality
from cvxpy.constraints.zero import Equality
from cvxpy.reductions.dcp2cone import cone_matrix_stuffing, dcp2cone
from cvxpy.reductions.dcp2cone.canonicalizers import CANON_METHODS
from cvxpy.reductions.dcp2cone.canonicalizers.quad import QUAD_CANON_METHODS
from cvxpy.reductions.flip_objective import FlipObjective
from cvxpy.transforms.partial_optimize import partial_optimize
from samples import some

import convexmetric as cm
from convexmetric.errors import InfeasibleError, InputError, SolverError, UnboundedError

pytestmark = [
    pytest.mark.filterwarnings("ignore::convexmetric.errors.GapWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.timeout(60),
]
F, case, Min, Max = Fraction, pytest.param, cp.Minimize, cp.Maximize


# Optima in fractions --------------------------------------------------------------------------------------------------


def exactly(array):
    return np.vectorize(F, otypes=[object])(np.asarray(array, dtype=np.float64))


def solved(M, t):
    """Solution of a linear system in fractions by elimination, and its pivots; none if it is singular."""
    rows, pivots = np.column_stack([M, t]), []
    for k in range(len(rows)):
        at = next((i for i in range(k, len(rows)) if rows[i, k]), None)
        if at is None:
            return None, pivots
        rows[[k, at]] = rows[[at, k]]
        pivots.append(rows[k, k] if at == k else F(-1))
        rows[k] /= rows[k, k]
        for i in set(range(len(rows))) - {k}:
            rows[i] -= rows[i, k] * rows[k]
    return rows[:, -1], pivots


def least(P, q, radius=None):
    """Minimum of ``x'Px + q'x``, of all x or in the box of a radius, over all faces whose own minimum is inside."""
    P, q = exactly(P), exactly(q)
    S, found = (P + P.T) / 2, []
    for face in product((-1, 0, 1) if radius else (0,), repeat=len(q)):
        x, free = np.array([s * F(radius or 0) for s in face], dtype=object), np.array(face) == 0
        if free.any():
            inner, pivots = solved(S[free][:, free], -q[free] / 2 - S[free][:, ~free] @ x[~free])
            if inner is None or min(pivots) <= 0:
                continue
            x[free] = inner
        if radius is None or max(abs(x)) <= radius:
            found.append(x @ S @ x + q @ x)
    return min(found)


def root(number):
    """Square root to 60 digits."""
    with localcontext(prec=80):
        return F(Decimal(number.numerator).sqrt() / Decimal(number.denominator).sqrt())


def exponential(number):
    with localcontext(prec=60):
        return F((Decimal(F(number).numerator) / F(number).denominator).exp())


def logarithm(number):
    with localcontext(prec=60):
        return F(Decimal(number).ln())


def test_minima_in_fractions():
    assert least([[1, 1], [0, 1]], [-3, -3]) == -3
    assert least(np.diag([1.0, -1.0]), [-1, 0], 4) == F(-65, 4)
    assert least([[1, 2], [2, 1]], [0, 0], 1) == -2
    assert abs(root(F(2)) ** 2 - 2) < F(1, 10**55)


# What every certificate keeps -----------------------------------------------------------------------------------------


def keeps(found, optimum):
    """No bound excludes the optimum."""
    assert found.lower_bound <= optimum <= found.upper_bound
    return found


def proves(found, optimum, tmp_path=None, gap=1e-7):
    """Both bounds are proven, hold and are close, and so are those of the file."""
    keeps(found, optimum)
    assert not found.missing
    assert found.upper_bound - found.lower_bound <= gap * max(1.0, abs(optimum))
    if tmp_path:
        cm.write_certificate(tmp_path / "c.npz", found)
        verdict = cm.verify(tmp_path / "c.npz")
        assert verdict.accepted
        assert verdict.lower <= optimum <= verdict.upper
    return found


def asked(problem, how):
    """Certificate of a problem without values, solved anew, or solved before."""
    if how == "solved":
        with suppress(cp.SolverError):
            problem.solve(solver=cp.CLARABEL)
    return cm.certify_program(problem, **({"solver": how} if how in ("CLARABEL", "SCS") else {}))


def ways(*names):
    """Ways of asking, of which the first is quick."""
    return pytest.mark.parametrize("how", some(names, 1))


HOW = ways("unsolved", "solved", "SCS")


def of(objective, *constraints):
    return cp.Problem(objective, list(constraints))


# Equations ------------------------------------------------------------------------------------------------------------


def scalars():
    return cp.Variable(name="x"), cp.Variable(name="y")


def beside(x, y, scale, small=1.0, sense=Min):
    return of(sense(y), scale * x == scale, small * y == 3 * small, y >= -5, y <= 10)


def in_si_units():
    charge, voltage, power = cp.Variable(name="charge"), cp.Variable(name="voltage"), cp.Variable(name="power")
    made = of(Min(power + 1e12 * charge), charge == 1e-12 * voltage, 1e9 * power == 3e9 * voltage, voltage == 5)
    return of(made.objective, *made.constraints, cp.abs(power) <= 100, cp.abs(charge) <= 1), 15 + 5 * F(1e12) * F(1e-12)


def nearly_the_same(x, y, power, objective=cp.square):
    eps = 2.0**-power
    return of(Min(objective(y)), x + y == 1, x + (1 + eps) * y == 1 + 5 * eps)


def hilbert(n):
    H, x = np.array([[1.0 / (i + j + 1) for j in range(n)] for i in range(n)]), cp.Variable(n, name="x")
    t = H.sum(axis=1)
    return of(Min(x[0]), H @ x == t, cp.abs(x) <= 100), solved(exactly(H), exactly(t))[0][0]


# Problems whose equations are independent, if not at the first look.
INDEPENDENT = [
    case(lambda x, y: (beside(x, y, 1e10), 3), id="one large"),
    case(lambda x, y: (beside(x, y, 1e10, sense=Max), 3), id="one large, maximum"),
    case(lambda x, y: (beside(x, y, 2.0**40), 3), id="one large, binary"),
    case(lambda x, y: (beside(x, y, 1.0, 2.0**-40), 3), id="one small"),
    case(lambda x, y: (beside(x, y, 2.0**30, 2.0**-30), 3), id="large and small"),
    case(
        lambda x, y: (of(Min(y), 1e5 * x == 2e5, 1e-5 * y == 2e-5, cp.abs(y) <= 5), F(2e-5) / F(1e-5)),
        id="1e5 and 1e-5",
    ),
    case(
        lambda x, y: (of(Min(cp.norm(cp.hstack([x, y]))), 3e7 * x == 9e7, 4e-7 * y == 16e-7),
                      root(9 + (F(16e-7) / F(4e-7)) ** 2)),
        id="large and small, cones",
    ),
    case(lambda x, y: in_si_units(), id="SI units"),
]  # fmt: skip
NEARLY = [
    case(
        lambda x, y: (of(Min(y), x == 1e12, x + 1e-3 * y == 1e12, cp.abs(y) <= 5), 0),
        id="one large right side",
    ),
    case(lambda x, y: (nearly_the_same(x, y, 33), 25), id="nearly the same"),
    case(lambda x, y: (nearly_the_same(x, y, 45), 25), id="nearly the same, 2^-45"),
    case(lambda x, y: (nearly_the_same(x, y, 20), 25), id="nearly the same, 2^-20"),
    case(lambda x, y: (nearly_the_same(x, y, 33, cp.abs), 5), id="nearly the same, cones"),
    case(
        lambda x, y: (of(Min(y), x + y == 1, x + y + 2.0**-40 * y == 1, cp.abs(y) <= 9), 0),
        id="nearly the same, linear",
    ),
    case(lambda x, y: hilbert(5), id="Hilbert 5"),
    case(lambda x, y: hilbert(8), id="Hilbert 8"),
]


@HOW
@pytest.mark.parametrize("make", INDEPENDENT)
def test_equations_of_different_sizes_are_all_kept(make, how, tmp_path):
    problem, optimum = make(*scalars())
    if how == "SCS":
        with suppress(InfeasibleError, SolverError):
            keeps(asked(problem, how), optimum)
    else:
        proves(asked(problem, how), optimum, tmp_path, gap=1e-5)


@HOW
@pytest.mark.parametrize("make", NEARLY)
def test_equations_that_nearly_follow_are_kept(make, how):
    problem, optimum = make(*scalars())
    # What a solver says of them is its word.
    with suppress(InfeasibleError, SolverError):
        keeps(asked(problem, how), optimum)


def transport(supplies, demands, cost=None):
    T = cp.Variable((len(supplies), len(demands)), nonneg=True, name="T")
    cost = np.ones(T.shape) if cost is None else np.array(cost)
    limits = [cp.sum(T, axis=1) == supplies, cp.sum(T, axis=0) == demands]
    return of(Min(cp.sum(cp.multiply(cost, T))), *limits)


def stationary(rows):
    p = cp.Variable(len(rows), nonneg=True, name="p")
    return of(Min(p[0]), p @ np.array(rows) == p, cp.sum(p) == 1)


def matrix(*rows):
    X = cp.Variable((2, 2), PSD=True, name="X")
    return of(Min(X[0, 0] + 2 * X[1, 1]), *(cp.trace(scale * X) == total for scale, total in rows))


# Contradictory equations: the optimum of a minimum is infinite.
CONTRADICTORY = [
    case(lambda x, y: transport([6e8, 4e8], [5e8, 5e8 - 0.5], [[1, 2], [3, 1]]), id="transport"),
    case(lambda x, y: transport([6.0, 4.0], [5.0, 5.0 - 2.0**-40]), id="transport, nearly balanced"),
    case(lambda x, y: transport([0.1, 0.2], [0.15, 0.15]), id="transport, 0.1 + 0.2 is not 2 * 0.15"),
    case(lambda x, y: of(Min(y), x == 1e10, y == 3, y == 4), id="beside a large one"),
    case(lambda x, y: of(Min(y), x == 1e300, y == 3, y == 4), id="beside the largest"),
    case(lambda x, y: of(Min(cp.square(x)), x + y == 1, x + y == 1 + 5e-10), id="5e-10"),
    case(lambda x, y: of(Min(cp.square(x)), x + y == 1, x + y == 1 + 2.0**-52), id="one unit in the last place"),
    case(lambda x, y: of(Min(cp.abs(x)), x >= -1, 0 * x == 1e-10), id="0 * x == 1e-10"),
    case(lambda x, y: of(Min(cp.abs(x)), 0 * x + 0 * y == 1e-300), id="0 * x == 1e-300"),
    case(lambda x, y: of(Min(cp.abs(x)), 0 * x == 1e-10, x == 1e9), id="0 * x == 1e-10, beside a large one"),
    case(
        lambda x, y: of(Min(cp.square(x)), x + y == 3, 0.1 * x + 0.1 * y == 0.3),
        id="0.3 is not three times 0.1",
    ),
    case(
        lambda x, y: of(Min(cp.abs(x)), x + y == 1, y + 1 == 2 * x, 3 * x == 2 + 1e-12, cp.abs(y) <= 5),
        id="three",
    ),
    case(lambda x, y: stationary([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]]), id="rows of no exact sum"),
    case(lambda x, y: matrix((1, 1), (2, 2 + 1e-9)), id="traces"),
    case(lambda x, y: of(Min(cp.exp(y)), x == 1, x == 1 + 1e-9, y >= x), id="exponential"),
    case(lambda x, y: of(Min(x), 1e-12 * x == 1e-12, x == 2, x >= 0, x <= 5), id="1e-12"),
    case(lambda x, y: of(Min(x), x >= 0.4, 0.43 * x <= 0.172), id="0.172 is less than 0.43 * 0.4"),
    case(lambda x, y: of(Min(cp.abs(y)), x >= 1, x <= 1 - 1e-13), id="opposite inequalities"),
]


@HOW
@pytest.mark.parametrize("make", CONTRADICTORY)
def test_contradictory_equations_prove_no_optimum(make, how):
    with suppress(InfeasibleError, SolverError):
        found = asked(make(*scalars()), how)
        assert found.upper_bound == np.inf
        assert found.missing


def assignment(n):
    X, cost = cp.Variable((n, n), nonneg=True, name="X"), (np.arange(n * n).reshape(n, n) ** 2 % 7).astype(float)
    best = min(sum(cost[range(n), order]) for order in product(range(n), repeat=n) if len(set(order)) == n)
    return of(Min(cp.sum(cp.multiply(cost, X))), cp.sum(X, axis=0) == 1, cp.sum(X, axis=1) == 1), F(best)


def flow(n):
    """One unit from the first node of a cycle to its opposite: half of it costs half as much."""
    f, A = cp.Variable(2 * n, nonneg=True, name="f"), np.zeros((n, 2 * n))
    for i in range(n):
        A[i, [i, n + i]], A[(i + 1) % n, [i, n + i]] = (-1, 1), (1, -1)
    b = np.zeros(n)
    b[0], b[n // 2] = -1, 1
    return of(Min(cp.sum(f)), A @ f == b), n // 2


def combined(weights, scale=1.0):
    """Equations of three variables, and one that is the sum of their multiples."""
    x, rows = cp.Variable(3, name="x"), np.array([[3.0, 1.0, -1.0, 2.0], [1.0, 2.0, 5.0, 4.0]])
    rows = scale * np.vstack([rows, weights @ rows])
    optimum = solved(exactly(np.vstack([rows[:2, :3], [0, 0, 1]])), exactly([*rows[:2, 3], -2]))[0]
    return of(Min(x[2]), rows[:, :3] @ x == rows[:, 3], x[2] >= -2, cp.abs(x) <= 50), optimum[2]


# Equations that follow from others, exactly.
FOLLOWING = [
    case(lambda x, y: (of(Min(cp.square(x)), x + y == 1, 2 * x + 2 * y == 2, y <= 3), 0), id="twice"),
    case(lambda x, y: (of(Min(cp.square(x) + y), x + y == 1, x + y == 1), F(3, 4)), id="the same"),
    case(lambda x, y: (of(Min(cp.square(x) + y), x + y == 1, -x - y == -1), F(3, 4)), id="opposite"),
    case(lambda x, y: (of(Min(cp.abs(x)), x + y == 1, x / 3 + y / 3 == 1 / 3, y <= 3), 0), id="a third"),
    case(lambda x, y: (of(Min(cp.abs(x)), 3 * x + 3 * y == 3, 0.1 * x + 0.1 * y == 0.1, y <= 3), 0), id="0.1"),
    case(
        lambda x, y: (of(Min(y), 0.1 * x + 0.7 * y == 0.3, 0.2 * x + 1.4 * y == 0.6, cp.abs(y) <= 3), -3),
        id="twice 0.1, 0.7, 0.3",
    ),
    case(lambda x, y: (of(Min(y), 1e-9 * x + 1e-9 * y == 1e-9, x + y == 1, x <= 4), -3), id="1e-9"),
    case(lambda x, y: (of(Min(y), 1e10 * x + 1e10 * y == 1e10, x + y == 1, x <= 4), -3), id="1e10"),
    case(
        lambda x, y: (of(Min(y), x == 1e10, x == 1e10, y == 3, 2 * y == 6, cp.abs(y) <= 9), 3),
        id="beside large ones",
    ),
    case(lambda x, y: (of(Min(y), x + y == 2, x - y == 0, x == 1, y == 1), 1), id="four of two"),
    case(lambda x, y: (of(Min(cp.abs(x - 1)), x == x, 0 * y == 0, x + y == 3), 0), id="0 == 0"),
    case(lambda x, y: (of(Min(x), 0 * x == 0, x >= 2), 2), id="0 * x == 0"),
    case(lambda x, y: combined(np.array([1.0, 1.0])), id="a sum"),
    case(lambda x, y: combined(np.array([1.0, -1.0])), id="a difference"),
    case(lambda x, y: combined(np.array([2.0, 3.0]), 2.0**-20), id="multiples"),
    case(lambda x, y: (transport([6e8, 4e8], [5e8, 5e8], [[1, 2], [3, 1]]), F(11 * 10**8)), id="transport"),
    case(lambda x, y: (transport([0.5, 0.25, 0.25], [0.125, 0.875]), 1), id="transport of dyadic numbers"),
    case(lambda x, y: assignment(4), id="assignment"),
    case(lambda x, y: flow(6), id="flow"),
    case(lambda x, y: (stationary([[0.5, 0.5], [0.25, 0.75]]), F(1, 3)), id="stationary"),
    case(lambda x, y: (matrix((1, 1), (2, 2), (0.1, 0.1)), 1), id="traces"),
    case(lambda x, y: (of(Min(cp.exp(x)), x + y == 0, 3 * x == -3 * y, x >= -1), exponential(-1)), id="exponential"),
    case(lambda x, y: (of(Max(-cp.square(x) - y), x + y == 1, x / 7 + y / 7 == 1 / 7), -F(3, 4)), id="maximum"),
]  # fmt: skip


@ways("unsolved", "solved", "CLARABEL")
@pytest.mark.parametrize("make", FOLLOWING)
def test_equations_that_follow_from_others_cost_no_bound(make, how, tmp_path):
    problem, optimum = make(*scalars())
    # At supplies of 6e8 CLARABEL's own answer is far from the optimum, and it is that which is judged.
    far = how != "unsolved" and isinstance(optimum, F) and optimum > 10**8
    proves(asked(problem, how), optimum, tmp_path, gap=2.0 if far else 1e-4)


def at_vertices(E, t, q, radius):
    """Minimum of ``q'x`` over ``E x = t`` in the box of a radius."""
    E, t, q, found = exactly(E), exactly(t), exactly(q), []
    for face in product((-1, 0, 1), repeat=len(q)):
        x, free = np.array([F(radius * s) for s in face], dtype=object), np.array(face) == 0
        if free.any():
            own, rest = E[:, free], t - E[:, ~free] @ x[~free]
            inner, _ = solved(own.T @ own, own.T @ rest)
            if inner is None:
                continue
            x[free] = inner
        if max(abs(x)) <= radius and (E @ x == t).all():
            found.append(q @ x)
    return min(found)


@pytest.mark.parametrize("seed", range(20))
def test_random_equations_of_all_sizes(seed):
    own = np.random.default_rng(seed)
    n, k = 4, int(own.integers(1, 4))
    rows, q = own.integers(-3, 4, (k, n)).astype(float), own.integers(-5, 6, n).astype(float)
    E = np.vstack([rows, own.integers(-2, 3, (2, k)) @ rows])
    t, scale = E @ own.integers(-2, 3, n), 2.0 ** own.integers(-20, 21, len(E))
    x = cp.Variable(n, name="x")
    problem = of(Min(q @ x), (scale[:, None] * E) @ x == scale * t, cp.abs(x) <= 5)
    proves(cm.certify_program(problem), at_vertices(E, t, q, 5))


# Quadratic forms ------------------------------------------------------------------------------------------------------


def skewed(entry, row):
    """A form of which one entry beside the diagonal is larger."""
    P = np.array([[2.0, 1.0], [1.0, 2.0]])
    P[row, 1 - row] += entry
    x = cp.Variable(2, name="x")
    return of(Min(cp.quad_form(x, P) - 6e4 * cp.sum(x)), cp.abs(x) <= 2e4), least(P, [-6e4, -6e4], 20000)


@pytest.mark.parametrize("row", [case(0, id="above"), case(1, id="below")])
@pytest.mark.parametrize("entry", [1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-8, 1e-6, 1e-5])
def test_forms_that_are_not_symmetric_are_averaged(entry, row, tmp_path):
    proves(cm.certify_program((made := skewed(entry, row))[0]), made[1], tmp_path, gap=1e-9)


def weighted(seed, kind=np.float32, n=4):
    own = np.random.default_rng(seed)
    G, w = own.standard_normal((40, n)).astype(kind), own.uniform(0.1, 2.0, 40).astype(kind)
    return (G * w[:, None]).T @ G, 100.0 * own.standard_normal(n)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(6))
def test_weighted_covariances(seed, kind, tmp_path):
    P, g = weighted(seed, kind)
    x, P = cp.Variable(4, name="x"), P.astype(np.float64) if seed % 2 else P
    found = cm.certify_program(of(Min(cp.quad_form(x, P) - g @ x)))
    proves(found, least(P, -g), tmp_path, gap=1e-9)


SKEW, TILT = np.array([[2.0, 1.0 + 1e-5], [1.0, 3.0]]), np.array([1.0, -2.0])
INSIDE, ON_ELLIPSE = least(SKEW, TILT), -root(-4 * least(SKEW, TILT))


# Each with the form in another place; the first argument is the matrix.
PLACES = [
    case(lambda P, x: of(Min(TILT @ x), cp.quad_form(x, P) <= 1), ON_ELLIPSE, id="constraint"),
    case(lambda P, x: of(Max(TILT @ x), cp.quad_form(x, P) <= 1), -ON_ELLIPSE, id="constraint, maximum"),
    case(lambda P, x: of(Min(TILT @ x), cp.quad_form(x, -P) >= -1), ON_ELLIPSE, id="constraint, concave"),
    case(lambda P, x: of(Min(TILT @ x), cp.quad_form(2 * x, P) <= 4), ON_ELLIPSE, id="constraint, expression"),
    case(lambda P, x: of(Min(TILT @ x), cp.quad_form(x, cp.psd_wrap(P)) <= 1), ON_ELLIPSE, id="constraint, wrap"),
    case(
        lambda P, x: of(Min(TILT @ x), cp.maximum(cp.quad_form(x, P), cp.abs(x[0]) - 9) <= 1),
        ON_ELLIPSE, id="constraint, maximum of",
    ),
    case(lambda P, x: of(Min(cp.pos(cp.quad_form(x, P)) + TILT @ x)), INSIDE, id="positive part"),
    case(lambda P, x: of(Min(cp.quad_form(x, P) + TILT @ x)), INSIDE, id="objective"),
    case(lambda P, x: of(Min(cp.quad_form(x, sp.csc_array(P)) + TILT @ x)), INSIDE, id="sparse"),
    case(lambda P, x: of(Min(cp.quad_form(x, cp.psd_wrap(P)) + TILT @ x)), INSIDE, id="wrap"),
    case(lambda P, x: of(Min(cp.quad_form(x, P, assume_PSD=True) + TILT @ x)), INSIDE, id="assume_PSD"),
    case(lambda P, x: of(Min(cp.quad_form(2 * x - 3, P) + TILT @ (2 * x - 3))), INSIDE, id="expression"),
    case(lambda P, x: of(Max(TILT @ x + cp.quad_form(x, -P))), -least(SKEW, -TILT), id="maximum"),
    case(lambda P, x: of(Min(cp.quad_form(x, P) + TILT @ x + cp.pos(x[0] - 9))), INSIDE, id="beside a positive part"),
    case(lambda P, x: of(Min(cp.quad_form(x, P) + TILT @ x + cp.exp(x[1] - 99) * 1e-300)), INSIDE, id="beside a cone"),
]  # fmt: skip


def enclosed_or_refused(problem, optimum):
    """The certificate, which keeps the optimum; none if the form is refused by its name."""
    try:
        found = cm.certify_program(problem)
    except InputError as error:
        if not re.search("(?i)quad_?form", str(error)):
            raise
        return None
    return keeps(found, optimum)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("make", "optimum"), PLACES)
def test_forms_that_are_not_symmetric_in_other_places(make, optimum, turned):
    enclosed_or_refused(make(SKEW.T if turned else SKEW, cp.Variable(2, name="x")), optimum)


def gram(seed, rank, n=4):
    G = np.random.default_rng(seed).standard_normal((n, rank)) * [1.0, 3.0, 1e-3][:rank]
    return G @ G.T


# Symmetric matrices that CVXPY takes for semidefinite, and radii of boxes in which it matters that they are not.
INDEFINITE = [
    case(np.diag([1.0, -1e-10]), 1e6, id="-1e-10"),
    case(np.diag([1.0, -1e-11]), 1e7, id="-1e-11"),
    case(np.diag([1.0, -1e-13]), 1e4, id="-1e-13"),
    case(np.diag([1.0, -1e-15]), 1e6, id="-1e-15"),
    case(np.diag([1e3, 1.0, -1e-12]), 1e5, id="-1e-12 of three"),
    case(np.array([[1.0, 1.0], [1.0, 1.0 - 1e-11]]), 1e6, id="nearly ones"),
    case(np.array([[1.0, 1.0 + 1e-12], [1.0 + 1e-12, 1.0]]), 1e6, id="a little more than ones"),
    case(np.array([[0.0, 1e-12], [1e-12, 1.0]]), 1e5, id="zero on the diagonal"),
    case(np.ones((3, 3)) / 3, 1e4, id="thirds"),
    case(np.outer([0.1, 0.2, 0.3], [0.1, 0.2, 0.3]), 1e6, id="outer product"),
    *(case(gram(seed, rank), 1e5, id=f"rank {rank}, {seed}") for rank in (1, 2, 3) for seed in range(2)),
]
# How the form is stated, and with which sign.
STATED = [
    case(cp.quad_form, 1, id="minimum"),
    case(lambda x, P: -cp.quad_form(x, P), -1, id="maximum"),
    case(lambda x, P: cp.quad_form(x, -P), -1, id="maximum of the negative"),
    case(lambda x, P: cp.quad_form(x, cp.psd_wrap(P)), 1, id="psd_wrap"),
    case(lambda x, P: cp.quad_form(x, P, assume_PSD=True), 1, id="assume_PSD"),
    case(lambda x, P: cp.quad_form(x, sp.csc_array(P)), 1, id="sparse"),
]


@pytest.mark.parametrize(
    ("P", "radius", "form", "sign"),
    [
        case(*one.values, *stated.values, id=f"{one.id}, {stated.id}")
        for at, one in enumerate(INDEFINITE)
        for stated in (STATED if at < 4 else STATED[:1])
    ],
)
def test_forms_that_are_a_little_indefinite_in_a_box(P, radius, form, sign):
    x, q = cp.Variable(len(P), name="x"), np.linspace(-1.0, 1.0, len(P)) * (P[0, 0] != 1.0)
    goal = Min if sign > 0 else Max
    found = cm.certify_program(of(goal(form(x, P) + sign * (q @ x)), cp.abs(x) <= radius))
    keeps(found, sign * least(P, q, int(radius)))
    assert not found.missing


BOUNDED = [
    case(lambda x, r: [cp.abs(x) <= r], id="absolutes"),
    case(lambda x, r: [x >= -r, x <= r], id="inequalities"),
    case(lambda x, r: [cp.norm_inf(x) <= r], id="largest"),
    case(lambda x, r: [cp.norm(x) <= r], id="ball"),
    case(lambda x, r: [cp.norm(x / r) <= 1], id="scaled ball"),
    case(lambda x, r: [x >= 0, cp.sum(x) == r], id="simplex"),
    case(lambda x, r: [x >= 0, cp.sum(x) <= r], id="budget"),
    case(lambda x, r: [x <= (y := cp.Variable(2)), -y <= x, y <= r], id="by another variable"),
    case(lambda x, r: [x[0] == 0, cp.abs(x[1] - x[0]) <= r], id="by an equation"),
    case(lambda x, r: [3 * x <= 3 * r, -0.5 * x <= 0.5 * r], id="multiples"),
]


@pytest.mark.parametrize("limits", BOUNDED)
@pytest.mark.parametrize("size", [1e-10, 1e-14])
def test_forms_that_are_a_little_indefinite_in_other_sets(limits, size, tmp_path):
    x = cp.Variable(2, name="x")
    found = cm.certify_program(of(Min(cp.quad_form(x, np.diag([1.0, -size]))), *limits(x, 1e6)))
    # All of them contain (0, r) and have no larger entry.
    keeps(found, F(-size) * 10**12)
    assert not found.missing
    cm.write_certificate(tmp_path / "c.npz", found)
    assert cm.verify(tmp_path / "c.npz").lower <= F(-size) * 10**12


@pytest.mark.parametrize("size", [1e-10, 1e-14])
def test_forms_that_are_a_little_indefinite_where_no_row_alone_bounds_a_variable(size):
    x = cp.Variable(2, name="x")
    enclosed_or_refused(of(Min(cp.quad_form(x, np.diag([1.0, -size]))), cp.norm1(x) <= 1e6), F(-size) * 10**12)


def test_bounds_of_variables_count_for_forms_that_are_a_little_indefinite():
    x = cp.Variable(2, name="x", bounds=[-1e6, 1e6])
    found = cm.certify_program(of(Min(cp.quad_form(x, np.diag([1.0, -1e-10])))))
    assert not keeps(found, F(-1e-10) * 10**12).missing


@pytest.mark.parametrize("form", [case(cp.psd_wrap, id="psd_wrap"), case(lambda P: P, id="plain")])
@pytest.mark.parametrize("share", [1e-9, 1e-8, 1e-4, 1.0])
def test_forms_that_are_indefinite_are_enclosed_or_refused(share, form):
    P, x = np.diag([1.0, -share]), cp.Variable(2, name="x")
    problem = of(Min(cp.quad_form(x, form(P))), cp.abs(x) <= 100)
    if problem.is_dcp():
        enclosed_or_refused(problem, least(P, [0, 0], 100))
    else:
        with pytest.raises(InputError):
            cm.certify_program(problem)


@pytest.mark.parametrize(("form", "sign"), STATED)
@pytest.mark.parametrize("P", [np.diag([1.0, -1e-11]), np.diag([1.0, -1e-15]), np.diag([-1e-13, 2.0])])
def test_forms_without_a_minimum_have_no_lower_bound(P, form, sign):
    x, goal = cp.Variable(2, name="x"), Min if sign > 0 else Max
    with suppress(UnboundedError, SolverError):
        enclosed_or_refused(of(goal(form(x, P) + sign * x @ P[0])), -sign * np.inf)


@pytest.mark.parametrize(
    ("objective", "limit", "optimum"),
    [
        case(lambda f, x: cp.maximum(f, -200), None, F(-1e-10) * 10**12, id="maximum of"),
        case(lambda f, x: cp.pos(f + 50), None, 0, id="positive part"),
        case(lambda f, x: cp.exp(f / 100), None, exponential(F(-1e-10) * 10**10), id="exponential"),
        case(lambda f, x: cp.abs(x[0]), -50, 0, id="constraint"),
    ],
)
def test_forms_that_are_a_little_indefinite_in_other_places(objective, limit, optimum):
    x = cp.Variable(2, name="x")
    f = cp.quad_form(x, np.diag([1.0, -1e-10]))
    limits = [cp.abs(x) <= 1e6] + ([] if limit is None else [f <= limit])
    enclosed_or_refused(of(Min(objective(f, x)), *limits), optimum)


def value(P, q, x):
    P, q, x = exactly(P), exactly(q), exactly(x)
    return x @ P @ x + q @ x


@pytest.mark.parametrize("wrap", [case(cp.psd_wrap, id="psd_wrap"), case(lambda P: P, id="plain")])
@pytest.mark.parametrize(("rows", "n"), [(20, 40), (5, 30)])
def test_covariances_of_few_rows_against_far_points(rows, n, wrap):
    own = np.random.default_rng(rows)
    X, radius, x = own.standard_normal((rows, n)), 1e4, cp.Variable(n, name="x")
    P, q = X.T @ X / rows, X.T @ own.standard_normal(rows)
    found = cm.certify_program(of(Min(cp.quad_form(x, wrap(P)) + q @ x), cp.abs(x) <= radius))
    assert not found.missing
    assert found.gap <= 1e-3
    # Far points in the box along the least eigenvectors.
    for d in np.linalg.eigh(P)[1].T[:4]:
        for way in (d, -d):
            step = ((np.sign(way) * radius - found.values["x"]) / way).min() * (1 - 1e-12)
            assert found.lower_bound <= value(P, q, found.values["x"] + step * way)


def test_forms_of_exact_low_rank_are_proven(tmp_path):
    G, x, y = np.array([[1.0, 2.0], [-1.0, 3.0], [2.0, -1.0], [0.5, 0.25]]), cp.Variable(4, name="x"), [0.5, -1.5]
    # With u = G'x the objective is |u|^2 - 2 y'u.
    found = cm.certify_program(of(Min(cp.quad_form(x, G @ G.T) - 2 * (G @ y) @ x)))
    proves(found, -F(5, 2), tmp_path)


# Integers -------------------------------------------------------------------------------------------------------------


def logical():
    a, b = cp.Variable(boolean=True, name="a"), cp.Variable(boolean=True, name="b")
    return of(Min(a + b), cp.logic.Or(a, b) >= 1)


def inner_integers(**attributes):
    x, u = cp.Variable(name="x"), cp.Variable(name="u", **attributes)
    limits = [] if attributes else [FiniteSet(u, [0, 1])]
    inner = cp.Problem(Min(cp.square(x - u)), limits)
    return of(Min(partial_optimize(inner, [u], [x]) + cp.square(x - 0.5)))


def near(x):
    return Min(cp.sum_squares(x - 0.4))


def free(shape=()):
    return cp.Variable(shape, name="x")


@pytest.mark.parametrize(
    "make",
    [
        case(lambda: of(near(cp.Variable(boolean=True))), id="boolean"),
        case(lambda: of(near(cp.Variable(integer=True))), id="integer"),
        case(lambda: of(near(cp.Variable(2, boolean=[(0,)]))), id="one boolean"),
        case(lambda: of(near(cp.Variable(2, integer=[(1,)]))), id="one integer"),
        case(lambda: of(near(cp.Variable(integer=True, bounds=[-1, 2]))), id="integer with bounds"),
        case(lambda: of(near(x := free()), FiniteSet(x, [0, 1])), id="set"),
        case(lambda: of(near(x := free()), FiniteSet(x, {0.0, 1.0, 7.0})), id="three"),
        case(lambda: of(near(x := free()), FiniteSet(x, [0, 1], ineq_form=True)), id="set by inequalities"),
        case(lambda: of(near(x := free(3)), FiniteSet(x, [-1, 1])), id="set of vectors"),
        case(lambda: of(near(x := free((2, 2))), FiniteSet(x, [-1, 1])), id="set of matrices"),
        case(lambda: of(near(x := free(2)), FiniteSet(2 * x[0] + 1, [0, 1])), id="set of an expression"),
        case(lambda: of(Max(x := free()), FiniteSet(x, [0, 1])), id="set, maximum"),
        case(
            lambda: of(near(x := free()), FiniteSet(n := cp.Variable(name="n"), [0, 1]), x == n),
            id="set of another variable",
        ),
        case(
            lambda: of(Min(cp.square((x := free()) - 0.4)
                       + cp.transforms.indicator([FiniteSet(x, [0, 1])]))),
            id="set in an indicator",
        ),
        case(logical, id="logic"),
        case(lambda: inner_integers(), id="set of an inner problem"),
        case(lambda: inner_integers(boolean=True), id="boolean of an inner problem"),
        case(lambda: inner_integers(integer=True), id="integer of an inner problem"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("solved", [False, True])
def test_integers_are_refused_at_every_door(make, solved):
    problem = make()
    if solved:
        for variable in problem.variables():
            variable.value = np.zeros(variable.shape)
    with pytest.raises(InputError, match="integer"):
        cm.certify_program(problem)


def test_a_set_of_one_value_is_refused_or_an_equation():
    with suppress(InputError):
        proves(cm.certify_program(of(near(x := free()), FiniteSet(x, [3]))), (3 - F(0.4)) ** 2)


# What the solver says -------------------------------------------------------------------------------------------------


def squares(size, **attributes):
    own = np.random.default_rng(1)
    A, b, x = (
        size * own.standard_normal((40, 4)),
        size * own.standard_normal(40),
        cp.Variable(4, name="x", **attributes),
    )
    return of(Min(cp.sum_squares(A @ x - b)))


def boxed_form(size, goal=Min):
    own, x = np.random.default_rng(2), cp.Variable(4, name="x")
    G = size * own.standard_normal((4, 4))
    f = cp.quad_form(x, G @ G.T) + size**2 * (own.standard_normal(4) @ x)
    return of(goal(f if goal is Min else -f), cp.abs(x) <= 0.1)


def linear(size):
    own, x = np.random.default_rng(3), cp.Variable(5, nonneg=True, name="x")
    return of(Max(own.uniform(1, 2, 5) @ x), size * own.uniform(0.1, 1, (3, 5)) @ x <= size * 10)


def spectrum(size):
    C, X = size * np.random.default_rng(4).standard_normal((4, 4)), cp.Variable((4, 4), PSD=True, name="X")
    return of(Min(cp.trace((C + C.T) @ X)), cp.trace(X) == size)


@pytest.mark.parametrize(
    ("solver", "options", "make"),
    [
        *(case("SCS", {}, lambda size=size: squares(size), id=f"SCS, squares of {size:g}") for size in (1e2, 1e3, 1e4)),
        *(case("CLARABEL", {}, lambda size=size: squares(size), id=f"CLARABEL, squares of {size:g}")
          for size in (1e2, 1e4)),
        *(case("OSQP", {}, lambda size=size: squares(size), id=f"OSQP, squares of {size:g}") for size in (1e2, 1e4)),
        case("SCS", {}, lambda: squares(1e3, nonneg=True), id="SCS, nonnegative"),
        case("SCS", {"eps": 1e-2}, lambda: squares(1e3), id="SCS, 1e-2"),
        case("SCS", {"max_iters": 30}, lambda: boxed_form(10.0), id="SCS, 30 iterations"),
        case("CLARABEL", {"tol_gap_rel": 1e-3, "tol_gap_abs": 1e-3, "tol_feas": 1e-3}, lambda: spectrum(10.0),
             id="CLARABEL, 1e-3"),
        case("OSQP", {"eps_abs": 1e-3, "eps_rel": 1e-3}, lambda: boxed_form(100.0), id="OSQP, 1e-3"),
        case("OSQP", {}, lambda: boxed_form(1.0, Max), id="OSQP, maximum"),
        case("SCS", {}, lambda: linear(1e3), id="SCS, linear"),
        case("SCS", {}, lambda: spectrum(1e3), id="SCS, matrices"),
        case("HIGHS", {}, lambda: linear(1.0), id="HIGHS, linear"),
    ],
)  # fmt: skip
def test_the_value_is_what_the_solver_itself_answers(solver, options, make):
    own, problem, exact = make(), make(), make()
    own.solve(solver=solver, **options)
    found = cm.certify_program(problem, solver=solver, **options)
    # Its own word or the objective at its point; OSQP's steps depend on the time they take.
    rel = 1e-6 if solver == "OSQP" else 1e-12
    assert found.value in (pytest.approx(own.solution.opt_val, rel=rel), pytest.approx(own.value, rel=rel))
    best = cm.certify_program(exact)
    assert max(found.lower_bound, best.lower_bound) <= min(found.upper_bound, best.upper_bound)


SINGULAR = [
    case(np.ones((4, 4)), id="ones"),
    case(np.array([[1.0, -1.0], [-1.0, 1.0]]), id="difference"),
    case(gram(0, 3), id="rank 3 of 4"),
    case(np.cov(np.random.default_rng(1).standard_normal((6, 5))), id="covariance of few columns"),
    case(np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), id="rank 1 of 3"),
]


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("P", SINGULAR)
def test_solvers_of_quadratic_programs_take_singular_forms(P, bounded):
    x = cp.Variable(len(P), name="x")
    limits = [cp.abs(x) <= 2] if bounded else []
    problem = of(Min(cp.quad_form(x, P) - (P @ np.arange(1.0, len(P) + 1)) @ x), *limits)
    found = cm.certify_program(problem, solver="OSQP")
    if bounded:
        assert not found.missing
        assert found.upper_bound - found.lower_bound <= 1e-2
        keeps(found, least(P, -(P @ np.arange(1.0, len(P) + 1)), 2))


# Variables that are idle, fixed or nothing ----------------------------------------------------------------------------


def variables(*shapes, **attributes):
    return [cp.Variable(shape, name=name, **attributes) for shape, name in zip(shapes, "xyst", strict=False)]


def on(make, *shapes, **attributes):
    return lambda: make(*variables(*shapes, **attributes))


IDLE = [
    case(on(lambda y: of(Min(cp.abs(y[0] - 1))), 2), 0, id="entry of a vector"),
    case(on(lambda y: of(Min(cp.square(y[0] - 1))), 2), 0, id="entry of a vector, square"),
    case(on(lambda y: of(Min(cp.abs(y[0, 0] - 1))), (2, 2), symmetric=True), 0, id="entry of a symmetric matrix"),
    case(on(lambda y: of(Min(cp.norm1(cp.multiply(np.triu(np.ones((3, 3))), y - 1)))), (3, 3)), 0, id="lower triangle"),
    case(on(lambda x, s: of(Min(cp.abs(x - 1)), s >= 0), (), ()), 0, id="slack that nobody reads"),
    case(on(lambda x, s: of(Min(cp.abs(x - 1) + 0 * s)), (), ()), 0, id="zero times"),
    case(on(lambda x, s: of(Min(cp.abs(x[0] - 1)), x[0] <= s), 2, ()), 0, id="loose row"),
    case(on(lambda y: of(Min(cp.abs(y[0] - 1)), y[2] >= 0), 3), 0, id="bound alone"),
    case(on(lambda x, s: of(Min(x), x >= 1, x + s == 7), (), ()), 1, id="slack of an equation"),
    case(on(lambda x, s: of(Min(x), x >= 1, cp.norm(x - 3) <= s), (), ()), 1, id="loose cone"),
    case(on(lambda x, s: of(Min(x), x >= 1, cp.exp(x) <= s), (), ()), 1, id="loose exponential"),
    case(on(lambda x, y: of(Min(x), x >= 1, y >> 0), (), (2, 2)), 1, id="matrix alone"),
    case(on(lambda x, y, s: of(Min(x), x >= 1, x <= y, y <= s), (), (), ()), 1, id="chain of loose rows"),
    case(on(lambda x, y: of(Min(x), x >= 1, x + y >= 0, x - y <= 4, y <= 9), (), ()), 1, id="both ways"),
    case(on(lambda x, y: of(Min(x), x >= 1, cp.sum(y) <= x), (), 4), 1, id="sum of idle entries"),
    case(on(lambda x, y: of(Max(-x), x >= 1, y >= x), (), ()), -1, id="maximum"),
    case(on(lambda x: of(Min(cp.abs(cp.real(x) - 1))), (), complex=True), 0, id="imaginary part"),
    case(on(lambda x: of(Min(cp.real(x[0, 0])), x >> 0, cp.real(cp.trace(x)) == 1), (2, 2), complex=True), 0,
         id="complex matrix that should be Hermitian"),
    case(on(lambda x: of(Min(x[0, 0] + x[1, 1]), x - np.eye(2) >> 0), (2, 2)), 2, id="matrix that is not symmetric"),
    case(on(lambda x: of(Min(cp.sum_squares(x[:2] - 1) + cp.norm1(x[1:3] - 1))), 4), 0, id="entry that no term has"),
]  # fmt: skip


@ways("unsolved", "solved")
@pytest.mark.parametrize(("make", "optimum"), IDLE)
def test_entries_that_nothing_uses_cost_no_bound(make, optimum, how, tmp_path):
    proves(asked(make(), how), optimum, tmp_path)


@ways("unsolved", "solved")
def test_expressions_that_cvxpy_evaluates_in_another_shape_are_refused_or_proven(how):
    x = cp.Variable((3, 3), name="x")
    with suppress(InputError):
        proves(asked(of(Min(cp.norm1(cp.upper_tri(x) - 1))), how), 0)


def hs35(fixed):
    x = cp.Variable(3, name="x", **({} if fixed else {"bounds": [np.array([0, 0.5, 0]), np.array([9, 0.5, 9])]}))
    P, limits = np.array([[2.0, 1.0, 1.0], [1.0, 2.0, 0.0], [1.0, 0.0, 1.0]]), [x >= 0, x[1] <= 0.5, x[1] >= 0.5]
    f = 9 + np.array([-8.0, -6.0, -4.0]) @ x + cp.quad_form(x, P)
    return of(Min(f), x[0] + x[1] + 2 * x[2] <= 3, *(limits if fixed else []))


def crossed(n=3):
    """A matrix between ``D`` and twice D, where D has zeros."""
    D, X = 1.0 - np.eye(n), cp.Variable((n, n), symmetric=True, name="X")
    return of(Min(cp.sum(X)), D <= X, X <= 2 * D)


FIXED = [
    case(on(lambda x: of(Min(x[0] + x[1]), x >= [0, 1], x <= [2, 1]), 2), 1, id="two inequalities"),
    case(on(lambda x: of(Min(cp.sum(x))), 2, bounds=[np.array([0, 1]), np.array([2, 1])]), 1, id="bounds"),
    case(lambda: hs35(True), F(1, 4), id="HS35MOD"),
    case(lambda: hs35(False), F(1, 4), id="HS35MOD by bounds"),
    case(crossed, 6, id="multiples of zero"),
    case(on(lambda x, y: of(Min(x), x + y <= 1, x + y >= 1, y <= 3), (), ()), -2, id="an equation by inequalities"),
    case(on(lambda x, y: of(Min(x), x + y <= 1, 3 * x + 3 * y >= 3, y <= 3), (), ()), -2, id="scaled inequalities"),
    case(on(lambda x, y: of(Min(x), x / 3 + y / 3 <= 1 / 3, x + y >= 1, y <= 3), (), ()), -2, id="thirds"),
    case(on(lambda x: of(Min(cp.sum(x)), cp.norm(x - 1) <= 0), 2), 2, id="norm"),
    case(on(lambda x: of(Min(cp.sum(x)), cp.norm1(x - 1) <= 0), 2), 2, id="sum of absolutes"),
    case(on(lambda x: of(Min(cp.sum(x)), cp.abs(x - 1) <= 0), 2), 2, id="absolutes"),
    case(on(lambda x: of(Min(x[0, 1] + x[1, 1]), x[0, 0] == 0, x[1, 1] >= 1), (2, 2), PSD=True), 1,
         id="zero on the diagonal"),
    case(on(lambda x: of(Min(x[0, 1] + x[1, 1]), x[0, 0] <= 0, x[1, 1] >= 1), (2, 2), PSD=True), 1,
         id="zero on the diagonal by an inequality"),
    case(on(lambda x: of(Min(cp.sum(x)), cp.trace(x) == 0), (2, 2), PSD=True), 0, id="zero trace"),
    case(on(lambda x: of(Min(x[1] - x[0]), x[0] == 2, x[1] >= x[0], x[1] <= 2), 2), 0, id="fixed by another"),
    case(on(lambda x: of(Min(cp.square(x[0]) + x[1]), x[0] <= 3, x[0] >= 3, x[1] >= x[0]), 2), 12, id="square"),
    case(on(lambda x: of(Max(cp.sum(x)), x >= 2, x <= 2), 3), 6, id="all, maximum"),
    case(on(lambda x: of(Min(x[0] + x[1]), cp.sum(x) <= 0), 2, nonneg=True), 0, id="sum of nonnegative entries"),
]  # fmt: skip


@ways("unsolved", "solved")
@pytest.mark.parametrize(("make", "optimum"), FIXED)
def test_fixed_variables_cost_no_bound(make, optimum, how, tmp_path):
    proves(asked(make(), how), optimum, tmp_path)


NOTHING = [
    case(on(lambda x: of(Min(5 + 0 * x[0])), 2), 5, id="5 + 0 x"),
    case(on(lambda x: of(Min(0 * cp.sum(x))), 2), 0, id="0 sum(x)"),
    case(on(lambda x: of(Min(cp.sum(x - x))), 2), 0, id="x - x"),
    case(on(lambda x: of(Min(0), x == x), 2), 0, id="x == x"),
    case(on(lambda x: of(Min(3), 0 * x <= 1), 2), 3, id="0 <= 1"),
    case(on(lambda x: of(Min(1), x >= 0), 2), 1, id="1, x >= 0"),
    case(on(lambda x: of(Max(-2), x == 1), 2), -2, id="maximum of -2"),
    case(on(lambda x: of(Min(0.1), cp.norm(x) <= 1), 2), F(0.1), id="0.1, norm"),
    case(on(lambda x: of(Min(2), x >> np.eye(2)), (2, 2)), 2, id="2, matrix"),
    case(on(lambda x: of(Min(0 * cp.square(x) + 4)), ()), 4, id="0 square(x)"),
]


@ways("unsolved", "solved")
@pytest.mark.parametrize(("make", "optimum"), NOTHING)
def test_constant_objectives_are_proven(make, optimum, how, tmp_path):
    proves(asked(make(), how), optimum, tmp_path)


# Points, attributes, sizes --------------------------------------------------------------------------------------------


def test_a_point_of_another_problem_costs_no_bound():
    x = cp.Variable(2, name="x")
    other = of(Min(cp.sum(x)), x >= 1)
    problem = of(Min(cp.sum_squares(x - 3)), x <= 9)
    other.solve(solver=cp.CLARABEL)
    assert problem.status is None
    found = proves(cm.certify_program(problem), 0)
    np.testing.assert_allclose(found.values["x"], 3.0, atol=1e-4)


ATTRIBUTES = [
    case({"diag": True}, 2, id="diag"),
    case({"symmetric": True}, 2, id="symmetric"),
    case({"PSD": True}, 2, id="PSD"),
    case({"nonneg": True}, 2, id="nonneg"),
    case({"pos": True}, 2, id="pos"),
    case({"bounds": [0.5, 4.0]}, 2, id="bounds"),
    case({"hermitian": True}, 2, id="hermitian"),
    case({"sparsity": [(0, 1), (0, 1)]}, 2, id="sparsity"),
]


@ways("unsolved", "solved", "CLARABEL")
@pytest.mark.parametrize(("attributes", "optimum"), ATTRIBUTES)
def test_attributes_of_variables_before_and_after_a_solve(attributes, optimum, how, tmp_path):
    D = cp.Variable((2, 2), name="D", **attributes)
    diagonal = cp.real(cp.diag(D)) if D.is_complex() else cp.diag(D)
    problem = of(Min(cp.sum_squares(diagonal)), diagonal >= 1, cp.norm(D, "fro") <= 4)
    proves(asked(problem, how), optimum, tmp_path)


@ways("unsolved", "solved", "CLARABEL")
@pytest.mark.parametrize(
    ("f", "optimum"),
    [
        case(cp.square, 1, id="square"),
        case(cp.abs, 2, id="abs"),
        # s exp(x / s) at x = 2, s = 2 (where it is least over s).
        case(cp.exp, 2 * exponential(1), id="exp"),
    ],
)
def test_perspectives(f, optimum, how, tmp_path):
    x, s = cp.Variable(name="x"), cp.Variable(nonneg=True, name="s")
    found = asked(of(Min(cp.perspective(f(x), s)), x >= 2, s >= 1, s <= 4, x <= 9), how)
    proves(found, optimum, tmp_path)


TINY = [
    case(on(lambda x: of(Min(x[0]), cp.sum(x) == 1e-9), 3, nonneg=True), 0, 1e-9, id="simplex"),
    case(on(lambda x: of(Min(x @ [3, 1, 2]), cp.sum(x) == 1e-9), 3, nonneg=True), F(1e-9), 1e-9, id="simplex, cost"),
    case(on(lambda x: of(Max(cp.log(x)), x <= 1e-8), ()), logarithm(1e-8), 1.0, id="logarithm"),
    case(on(lambda x: of(Max(cp.sum(cp.log(x))), cp.sum(x) <= 1e-9), 2), 2 * logarithm(5e-10), 1.0,
         id="logarithms"),
    case(on(lambda x: of(Min(cp.sum(x)), cp.abs(x) <= 1e-9), 3), -3 * F(1e-9), 1e-9, id="box"),
    case(on(lambda x: of(Min(cp.sum(x)), cp.norm(x) <= 1e-9), 4), -2 * F(1e-9), 1e-9, id="ball"),
    case(on(lambda x: of(Min(x[0, 0] + 2 * x[1, 1]), cp.trace(x) == 1e-9), (2, 2), PSD=True), F(1e-9), 1e-9,
         id="trace"),
    case(on(lambda x: of(Min(cp.sum_squares(x - 1e-9)), cp.sum(x) == 3e-9), 3), None, 1e-9, id="squares"),
    case(on(lambda x: of(Min(1e9 * cp.sum(x)), x >= 1e-9), 2), 2 * F(1e9) * F(1e-9), 1.0, id="cost of 1e9"),
    case(on(lambda x: of(Min(cp.sum(x)), x >= 1e-12, x <= 2e-12), 2), 2 * F(1e-12), 1e-12, id="box of 1e-12"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "optimum", "size"), TINY)
def test_tiny_numbers_have_both_bounds(make, optimum, size):
    found = cm.certify_program(make())
    assert not found.missing
    assert found.upper_bound - found.lower_bound <= 1e-2 * size
    if optimum is not None:
        keeps(found, optimum)


@pytest.mark.parametrize(
    "make",
    [
        case(on(lambda x: of(Min(cp.norm(x - 1))), 2), id="norm"),
        case(on(lambda x: of(Min(cp.sum_squares(x - 1))), 2), id="squares"),
        case(on(lambda x: of(Min(cp.sum(x)), x <= 1), 2, nonneg=True), id="linear"),
        case(on(lambda x: of(Max(-cp.norm1(x)), cp.abs(x) <= 3), 2), id="maximum"),
    ],
)
def test_gaps_at_an_optimum_of_zero_are_no_larger_than_the_distance_of_the_bounds(make):
    found = cm.certify_program(make())
    lower, upper = found.lower_bound, found.upper_bound
    assert lower <= 0 <= upper
    assert upper - lower <= 1e-7
    assert found.gap == pytest.approx(upper - lower, rel=1e-9, abs=1e-300)
    assert f"gap {found.gap:.1e}" in str(found)
    large = cm.certify_program(of(Min(x := cp.Variable()), x >= 1e6, x <= 2e6))
    assert large.gap == pytest.approx((large.upper_bound - large.lower_bound) / 1e6, rel=1e-6, abs=1e-300)


# What is said ---------------------------------------------------------------------------------------------------------


def endless(name, shape=(), part=lambda v: v, **attributes):
    """A problem whose lower bound wants bounds of one variable, beside another that has them."""
    v, other = cp.Variable(shape, name=name, **attributes), cp.Variable(name="other")
    return of(Min(cp.exp(-part(v)) + cp.abs(other)), cp.abs(other) <= 1)


@pytest.mark.parametrize(
    ("problem", "name"),
    [
        case(endless("scalar"), "scalar", id="scalar"),
        case(endless("vector", 3, lambda v: v[1]), "vector", id="vector"),
        case(endless("r", (), nonneg=True), "r", id="nonneg"),
        case(endless("Z", 2, lambda v: cp.real(v[0]), complex=True), "Z", id="complex"),
        case(
            endless("Z", (2, 2), lambda v: cp.imag(v[0, 1]) - cp.norm(v[0, :1]), complex=True), "Z", id="complex matrix"
        ),
        case(endless("I", (), cp.imag, imag=True), "I", id="imaginary"),
        case(endless("H", (2, 2), lambda v: cp.real(v[0, 0]), hermitian=True), "H", id="hermitian"),
        case(endless("S", (2, 2), lambda v: v[0, 1], symmetric=True), "S", id="symmetric"),
        case(endless("S", (2, 2), lambda v: v[0, 0], PSD=True), "S", id="PSD"),
        case(endless("N", (2, 2), lambda v: -v[0, 0], NSD=True), "N", id="NSD"),
        case(endless("D", (2, 2), cp.trace, diag=True), "D", id="diag"),
        case(endless("half", (), bounds=[0, None]), "half", id="one bound"),
        case(endless("sparse", (2, 2), lambda v: v[0, 1], sparsity=[(0, 1), (1, 0)]), "sparse", id="sparsity"),
    ],
)
@pytest.mark.parametrize("solved", [False, True])
def test_variables_without_bounds_are_named_as_the_user_named_them(problem, name, solved):
    if solved:
        problem.solve(solver=cp.CLARABEL)
    found = cm.certify_program(problem)
    assert found.lower_bound == -np.inf
    assert f"{name} are not bounded" in found.missing
    assert "other" not in found.missing
    assert "added" not in found.missing


@pytest.mark.parametrize(
    "limit",
    [
        case(lambda x: cp.sum_squares(x) <= 0, id="squares"),
        case(lambda x: cp.exp(x[0]) + cp.exp(-x[0]) <= 2, id="exponentials"),
        case(lambda x: cp.norm(x) + x[0] <= 0, id="edge of a cone"),
        case(lambda x: cp.quad_over_lin(x, 1.0) <= 0, id="quadratic over linear"),
        case(lambda x: cp.bmat([[cp.reshape(x, (2, 1), order="F"), np.zeros((2, 1))]]) << 0, id="matrix"),
        case(lambda x: cp.log_sum_exp(cp.hstack([x[0], -x[0]])) <= np.log(2), id="logarithm"),
    ],
)
def test_constraints_without_room_are_named_if_they_cost_a_bound(limit):
    values, spare = cp.Variable(2, name="values"), cp.Variable(name="spare")
    found = cm.certify_program(of(Min(cp.sum(values) + spare), limit(values), cp.abs(values) <= 9, spare >= 1))
    assert found.lower_bound <= 1.0 + 1e-15
    assert "values" in found.missing or not found.missing
    assert "spare" not in found.missing


def test_a_direction_of_variables_that_the_user_has_not_is_not_what_is_missing():
    x = cp.Variable(3, name="x")
    found = keeps(cm.certify_program(of(Min(cp.dotsort(x, [1, 2, 3])), x >= [1, 2, 3], x <= 9)), 14)
    assert "added" not in found.missing


def test_inner_problems_are_proven_or_refused():
    x, u = cp.Variable(name="x"), cp.Variable(name="u")
    inner = partial_optimize(of(Min(cp.square(x - u)), u >= 2), [u], [x])
    with suppress(InputError):
        proves(cm.certify_program(of(Min(inner + cp.square(x)))), 2)


def stated_sizes(problem):
    A = problem.get_problem_data(cp.CLARABEL)[0]["A"]
    return {"variables": A.shape[1], "rows": A.shape[0]}


@pytest.mark.parametrize(
    "make",
    [
        case(lambda: transport([6, 4], [5, 5]), id="equations that follow"),
        case(lambda: stationary([[0.5, 0.5], [0.25, 0.75]]), id="stationary"),
        case(lambda: matrix((1, 1), (2, 2)), id="traces"),
        case(on(lambda x: of(Min(cp.abs(x[0] - 1))), 2), id="idle entry"),
        case(on(lambda x, s: of(Min(x), x >= 1, x <= s), (), ()), id="loose row"),
        case(on(lambda x: of(Min(cp.sum(x)), x >= 1, x <= 1, 0 * x <= 1), 2), id="fixed"),
        case(lambda: squares(1.0), id="squares"),
        case(lambda: skewed(1e-5, 0)[0], id="skewed form"),
        case(on(lambda x: of(Min(cp.quad_form(x, np.diag([1.0, -1e-10]))), cp.abs(x) <= 1), 2), id="indefinite form"),
        case(on(lambda x: of(Min(x[0, 0] + x[1, 1]), x - np.eye(2) >> 0), (2, 2)), id="equal columns"),
    ],
)  # fmt: skip
def test_files_have_the_whole_program(make, tmp_path):
    found = cm.certify_program(make())
    verdict = cm.write_certificate(tmp_path / "c.npz", found)
    assert verdict.sizes == stated_sizes(make())
    assert verdict.accepted


def test_a_fit_of_few_unknowns_to_many_points_is_proven_in_seconds(tmp_path):
    own = np.random.default_rng(0)
    V, u, c = own.standard_normal((3020, 3)), own.standard_normal(3020), cp.Variable(3, name="c")
    start = time.perf_counter()
    found = cm.certify_program(of(Min(cp.sum_squares(u - V @ c))))
    optimum = u @ u - u @ V @ np.linalg.solve(V.T @ V, V.T @ u)
    assert not found.missing
    assert found.lower_bound - 1e-9 <= optimum <= found.upper_bound + 1e-9
    assert found.gap <= 1e-9
    cm.write_certificate(tmp_path / "c.npz", found)
    assert cm.verify(tmp_path / "c.npz").accepted
    assert time.perf_counter() - start < 30


# Wrong translations ---------------------------------------------------------------------------------------------------


def atom(kind, change, table=CANON_METHODS):
    """Another translation of an atom or of a kind of constraints: its expression and rows changed."""

    def patch(monkeypatch):
        own = table.get(kind, lambda expr, args, **_: (expr.copy(args), []))
        monkeypatch.setitem(table, kind, lambda expr, args, **more: change(*own(expr, args, **more)))

    return patch


def quadratic(kind, change):
    return atom(kind, change, QUAD_CANON_METHODS)


def both(kind, change):
    return lambda monkeypatch: [make(kind, change)(monkeypatch) for make in (atom, quadratic)]


def of_arguments(kind, change, table=CANON_METHODS):
    """The translation of an atom or constraint at other arguments."""

    def patch(monkeypatch):
        own = table.get(kind, lambda expr, args, **_: (expr.copy(args), []))
        monkeypatch.setitem(table, kind, lambda expr, args, **more: own(expr, change(*args), **more))

    return patch


def numbers(**changes):
    """Another program at the very end: P, q, d, A or b changed."""

    def patch(monkeypatch):
        own = cone_matrix_stuffing.ParamConeProg.apply_parameters

        def changed(self, *args, **more):
            found = own(self, *args, **more)
            names = ["P", "q", "d", "A", "b"][5 - len(found) :]
            return tuple(changes.get(name, lambda same: same)(one) for name, one in zip(names, found, strict=True))

        monkeypatch.setattr(cone_matrix_stuffing.ParamConeProg, "apply_parameters", changed)

    return patch


def lowered(name, change):
    def patch(monkeypatch):
        own = getattr(cone_matrix_stuffing, name)
        monkeypatch.setattr(cone_matrix_stuffing, name, lambda row: own(row.copy(change(*row.args))))

    return patch


def taken_for_the_same(monkeypatch):
    """All absolute values are taken for the same expression."""
    own = dcp2cone.expr_key
    monkeypatch.setattr(dcp2cone, "expr_key", lambda e, known: -1 if isinstance(e, cp.abs) else own(e, known))


def not_flipped(monkeypatch):
    def apply(self, problem):
        return of(Min(problem.objective.expr), *problem.constraints), []

    monkeypatch.setattr(FlipObjective, "apply", apply)


def bounds_forgotten(monkeypatch):
    monkeypatch.setattr(cp.Variable, "_bound_domain", lambda self, term, rows: None)


def priced(f, sense=Min):
    """An objective of one variable, and something else that is right."""

    def make():
        cost, other = cp.Variable(2, name="cost", bounds=[-5, 5]), cp.Variable(2, name="other")
        return of(sense(f(cost) + other[0]), other == [1, -2])

    return make


def limited(*limits, **attributes):
    """Limits of one variable, of which the sum is to be large."""

    def make():
        room, other = cp.Variable(2, name="room", bounds=[-9, 9], **attributes), cp.Variable(name="other")
        return of(Min(other), other + cp.sum(room) == 0, *(limit(room) for limit in limits))

    return make


def larger(t, rows):
    return 1.001 * t, rows


def shifted(t, rows):
    return t + 1e-3, rows


def without_first(t, rows):
    return t, rows[1:]


def without_last(t, rows):
    return t, rows[:-1]


POWER, SQUARES, FORM = type(cp.square(cp.Variable())), cp.quad_over_lin, type(cp.quad_form(cp.Variable(2), np.eye(2)))
NORM, SIDE = type(cp.norm(cp.Variable(2))), np.array([1.0, -2.0])
PARTS = {
    "abs": lambda x: cp.sum(cp.abs(x - 7)) + SIDE @ x / 3,
    "norm1": lambda x: cp.norm1(x - 7) + SIDE @ x / 3,
    "max": lambda x: cp.max(x) - cp.sum(x) / 3,
    "maximum": lambda x: cp.sum(cp.maximum(x, 1 - x)),
    "exp": lambda x: cp.sum(cp.exp(x) - x),
    "log": lambda x: cp.sum(x / 2 - cp.log(x)),
    "logistic": lambda x: cp.sum(cp.logistic(x) - x / 2),
    "norm": lambda x: cp.norm(x - 7) + SIDE @ x / 3,
    "squares": lambda x: cp.sum_squares(x - 3) + SIDE @ x,
    "square": lambda x: cp.sum(cp.square(x)) + SIDE @ x,
    "form": lambda x: cp.quad_form(x, np.eye(2)) + SIDE @ x,
    "huber": lambda x: cp.sum(cp.huber(x - 3)) + SIDE @ x,
    "exp beside squares": lambda x: cp.sum_squares(x) + cp.exp(x[0]),
    "squares inside": lambda x: cp.exp(cp.sum_squares(x - 1)) + x[0],
    "linear": lambda x: SIDE @ x + 7,
    "far squares": lambda x: cp.sum_squares(x - 7),
}
IN_OBJECTIVE = [
    ("abs", atom(cp.abs, larger), "scale"),
    ("abs", atom(cp.abs, shifted), "shift"),
    ("abs", atom(cp.abs, without_last), "dropped row"),
    ("abs", of_arguments(cp.abs, lambda x: [x + 1]), "argument"),
    ("norm1", atom(cp.norm1, larger), "scale"),
    ("max", atom(cp.max, shifted), "shift"),
    ("maximum", atom(cp.maximum, without_first), "dropped row"),
    ("exp", atom(cp.exp, larger), "scale"),
    ("exp", of_arguments(cp.exp, lambda x: [-x]), "sign"),
    ("log", atom(cp.log, larger), "scale"),
    ("logistic", atom(cp.logistic, larger), "scale"),
    ("norm", atom(NORM, larger), "scale"),
    ("norm", of_arguments(NORM, lambda x: [x[:1]]), "dropped entry"),
    ("squares", quadratic(SQUARES, larger), "scale"),
    ("squares", quadratic(SQUARES, shifted), "shift"),
    ("squares", quadratic(SQUARES, without_first), "dropped row"),
    ("squares", of_arguments(SQUARES, lambda x, y: [x + 1e-3, y], QUAD_CANON_METHODS), "argument"),
    ("squares", of_arguments(Equality, lambda a, b: [a + 1e-3, b]), "equation"),
    ("square", quadratic(POWER, larger), "scale"),
    ("form", quadratic(FORM, larger), "scale"),
    ("huber", both(cp.huber, larger), "scale"),
    ("exp beside squares", atom(cp.exp, larger), "scale"),
    ("exp beside squares", quadratic(SQUARES, larger), "scale of squares"),
    ("squares inside", atom(SQUARES, shifted), "shift"),
    ("linear", numbers(q=lambda q: 1.001 * q), "scale"),
    ("linear", numbers(q=lambda q: np.where(abs(q) == 2.0, 0.0, q)), "dropped"),
    ("linear", numbers(d=lambda d: 0.0 * d), "constant"),
    ("squares", numbers(P=lambda P: 1.001 * P), "matrix"),
    ("squares", numbers(A=lambda A: 1.001 * A), "rows"),
    ("far squares", bounds_forgotten, "bounds"),
]
LIMITS = {
    "inequality": lambda x: x <= 1,
    "equation": lambda x: x == [1, 2],
    "norm": lambda x: cp.norm(x) <= 1,
    "squares": lambda x: cp.sum_squares(x) <= 1,
    "exp": lambda x: cp.exp(x) <= 2,
    "form": lambda x: cp.quad_form(x, np.eye(2)) <= 1,
    "abs": lambda x: cp.abs(x) <= 1,
    "log": lambda x: cp.log(3 - x) >= 0,
    "cone": lambda x: SOC(cp.Constant(2.0), x),
    "matrix": lambda x: np.eye(2) - cp.diag(x) >> 0,
    "exponential cone": lambda x: ExpCone(x, cp.Constant(np.ones(2)), cp.Constant(2 * np.ones(2))),
    "far": lambda x: cp.sum_squares(x) <= 900,
}
IN_LIMITS = [
    ("inequality", of_arguments(Inequality, lambda a, b: [a, b + 1e-3]), "larger"),
    ("inequality", of_arguments(Inequality, lambda a, b: [a, b - 1e-3]), "smaller"),
    ("inequality", of_arguments(Inequality, lambda a, b: [1.001 * a, b]), "scale"),
    ("inequality", of_arguments(Inequality, lambda a, b: [-a, b]), "sign"),
    ("inequality", numbers(b=lambda b: 1.001 * b), "right sides"),
    ("equation", of_arguments(Equality, lambda a, b: [a, 1.001 * b]), "scale"),
    ("equation", lowered("lower_equality", lambda a, b: [a, -b]), "sign"),
    ("inequality", lowered("lower_ineq_to_nonneg", lambda a, b: [a, b + 1e-3]), "later"),
    ("norm", atom(NORM, larger), "scale"),
    ("norm", of_arguments(NORM, lambda x: [x[:1]]), "dropped entry"),
    ("squares", atom(SQUARES, larger), "scale"),
    ("exp", atom(cp.exp, shifted), "shift"),
    ("abs", atom(cp.abs, without_first), "dropped row"),
    ("log", atom(cp.log, shifted), "shift"),
    ("cone", of_arguments(SOC, lambda t, x: [1.001 * t, x]), "scale"),
    ("matrix", of_arguments(PSD, lambda X: [X + 1e-3 * np.eye(2)]), "shift"),
    ("exponential cone", of_arguments(ExpCone, lambda x, y, z: [x, y, 1.001 * z]), "scale"),
    ("far", bounds_forgotten, "bounds"),
]
WRONG = [
    *(case(priced(PARTS[part]), patch, "cost|other", id=f"{part}, {what}") for part, patch, what in IN_OBJECTIVE),
    *(
        case(priced(lambda x, part=part: -PARTS[part](x), Max), patch, "cost", id=f"maximum, {part}, {what}")
        for part, patch, what in IN_OBJECTIVE[::6]
    ),
    case(lambda: of(Max(SIDE @ (x := cp.Variable(2, name="cost"))), cp.norm(x - 1) <= 1), not_flipped, "cost",
         id="sense"),
    *(case(limited(LIMITS[kind]), patch, "room", id=f"limit: {kind}, {what}") for kind, patch, what in IN_LIMITS),
    case(
        limited(lambda x: cp.abs(x) <= 1, lambda x: cp.abs(x - 1) <= 0.5),
        taken_for_the_same, "room", id="limit: taken for the same",
    ),
]  # fmt: skip
RIGHT = [
    *(case(priced(part), id=name) for name, part in PARTS.items()),
    *(case(limited(limit), id=f"limit: {name}") for name, limit in LIMITS.items()),
]


@pytest.mark.parametrize(("make", "patch", "name"), WRONG)
def test_what_cvxpy_translates_wrongly_is_refused_by_its_name(make, patch, name, monkeypatch):
    (right := make()).solve(solver=cp.CLARABEL)
    problem, wrong = make(), make()
    patch(monkeypatch)
    wrong.solve(solver=cp.CLARABEL)
    assert abs(wrong.solution.opt_val - right.solution.opt_val) > 1e-5
    with pytest.raises(InputError, match=name):
        cm.certify_program(problem)


@pytest.mark.parametrize("make", RIGHT)
def test_what_cvxpy_translates_rightly_is_proven(make):
    (right := make()).solve(solver=cp.CLARABEL)
    found = cm.certify_program(make())
    assert not found.missing
    assert found.upper_bound - found.lower_bound <= 1e-6
    assert found.lower_bound - 1e-6 <= right.value <= found.upper_bound + 1e-6
