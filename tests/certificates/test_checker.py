"""The checker: its arithmetic against exact and high-precision arithmetic, its verdicts on true and forged files."""

import contextlib
import json
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from catalogue import CATALOGUE, cases, conic, instance
from forgery import HINTS, claim, noisy, opened, written
from hypothesis import given, settings
from hypothesis import strategies as st

import convexmetric as cm
from convexmetric.certificates import Ball, CertificateError, checker, kernel
from convexmetric.certificates.dual_points import whole_weights
from convexmetric.certificates.kernel import NotProven
from convexmetric.measures import measure_named
from convexmetric.measures.base import rankings_of
from convexmetric.regularizers import SquaredDistance, TraceDistance

numbers = st.floats(-1e100, 1e100, allow_nan=False, allow_subnormal=True)
radii = st.floats(0.0, 1e3)
small = st.floats(-1e3, 1e3, allow_nan=False)


def contains(ball, exact):
    """Whether every entry of a ball contains the fraction of the same place."""
    mid = np.atleast_1d(ball.mid).ravel()
    rad = np.broadcast_to(ball.rad, ball.mid.shape).ravel()
    return all(
        abs(Fraction(float(m)) - e) <= Fraction(float(r)) for m, r, e in zip(mid, rad, np.ravel(exact), strict=True)
    )


def fractions(array):
    return np.vectorize(Fraction, otypes=[object])(array)


@given(numbers, radii, st.fractions(-1, 1), numbers, radii, st.fractions(-1, 1))
def test_balls_contain_what_is_computed_from_any_of_their_numbers(a, r, s, b, q, t):
    x, y = Fraction(a) + s * Fraction(r), Fraction(b) + t * Fraction(q)
    A, B = Ball(a, r), Ball(b, q)
    for ball, exact in ((A + B, x + y), (A - B, x - y), (A * B, x * y)):
        assert contains(ball, [exact])
    assert A.lower() <= x <= A.upper()
    assert Fraction(float(A.below())) <= x <= Fraction(float(A.above()))
    if b - q > 1e-3:
        assert contains(A / B, [x / y])
    if x >= 0:
        root = Ball(a, r).sqrt()
        low, high = root.mid - root.rad, root.mid + root.rad
        assert max(Fraction(0), Fraction(float(low))) ** 2 <= x <= Fraction(float(high)) ** 2


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 9), st.integers(1, 5), st.integers(-150, 150))
def test_products_and_sums_of_balls_contain_the_exact_ones(seed, m, k, n, exponent):
    rng = np.random.default_rng(seed)
    A, B = (
        rng.standard_normal((m, k)) * 10.0**exponent,
        rng.standard_normal((k, n)) * 10.0 ** rng.integers(-9, 9, k)[:, None],
    )
    P, Q = 1e-3 * np.abs(A) * rng.random((m, k)), 1e-5 * np.abs(B) * rng.random((k, n))
    X = fractions(A) + fractions(P) * fractions(rng.uniform(-1, 1, P.shape))
    Y = fractions(B) + fractions(Q) * fractions(rng.uniform(-1, 1, Q.shape))
    assert contains(Ball(A, P) @ Ball(B, Q), X @ Y)
    assert contains(Ball(A) @ Ball(B), fractions(A) @ fractions(B))
    assert contains(Ball(A, P).sum(), [X.sum()])
    assert contains(Ball(A, P).sum(0), X.sum(axis=0))
    assert contains(Ball(A, P).sum(1), X.sum(axis=1))
    assert contains(Ball(A, P[:, :1].max()).T, fractions(A).T)
    norm, square = Ball(A).norm(), sum(fractions(A).ravel() ** 2)
    assert max(Fraction(0), norm.lower()) ** 2 <= square <= norm.upper() ** 2


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 300), st.integers(1, 4), st.integers(-60, 60))
def test_products_of_leading_digits_are_exact(seed, m, k, n, spread):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, k)) * 10.0 ** (spread * rng.random((m, k)))
    B = rng.standard_normal((k, n)) * 10.0 ** (spread * rng.random((k, n)))
    if seed % 3 == 0:
        A, B = np.sign(A) * (2.0 - 2.0**-50), np.abs(np.sign(B)) * (1.0 - 2.0**-53)
    A1, B1 = kernel.balls.leading(A, B)
    assert (fractions(A1) @ fractions(B1) == fractions(A1 @ B1)).all()
    assert (fractions(A) - fractions(A1) == fractions(A - A1)).all()
    assert (fractions(B) - fractions(B1) == fractions(B - B1)).all()
    assert np.abs(A - A1).max() <= 2.0**-20 * np.abs(A).max()


@given(st.fractions(min_value=-(10**9), max_value=10**9))
def test_fractions_are_within_their_balls(value):
    assert contains(Ball.of(value), [value])
    for away, digits in ((1, 17), (-1, 17), (1, 3)):
        rounded = kernel.rounded(value, away, digits)
        assert (rounded - value) * away >= 0
        assert abs(rounded - value) <= abs(value) * Fraction(1, 10 ** (digits - 1))


@given(
    st.lists(st.floats(-690.0, 690.0, allow_nan=False), min_size=1, max_size=5),
    st.floats(0.0, 0.4),
    st.fractions(-1, 1),
)
def test_exponentials_contain_the_true_ones(xs, r, s):
    ball = kernel.balls.exp(Ball(xs, r))
    with localcontext() as context:
        context.prec = 60
        for at, x in enumerate(xs):
            exact = x_of(Fraction(x) + s * Fraction(r)).exp()
            assert abs(Decimal(float(ball.mid[at])) - exact) <= Decimal(
                float(np.broadcast_to(ball.rad, ball.mid.shape)[at])
            )
    tight = kernel.balls.exp(Ball(xs))
    assert (tight.rad <= 1e-11 * tight.mid + 1e-250).all()


@given(
    st.integers(-1074, -900), st.integers(1, 2**53), st.integers(-1074, 0), st.integers(1, 2**53), st.floats(0.0, 1.0)
)
def test_quotients_of_subnormal_numbers_are_within_their_balls(e, a, f, b, share):
    x, y = float(np.ldexp(float(a), e)), float(np.ldexp(float(b), f))
    r, q = share * x, 0.4 * share * y
    for ball, exact in (
        (Ball(x, r) / Ball(y, q), (Fraction(x) + Fraction(r)) / (Fraction(y) - Fraction(q))),
        (Ball(x, r) / Ball(y, q), (Fraction(x) - Fraction(r)) / (Fraction(y) + Fraction(q))),
        (Ball(0.0, r) / Ball(y), Fraction(r) / Fraction(y)),
    ):
        if np.isfinite(ball.mid) and np.isfinite(ball.rad):
            assert contains(ball, [exact])


def x_of(value):
    return Decimal(value.numerator) / Decimal(value.denominator)


@given(st.floats(1e-300, 1e250), st.floats(0.0, 0.3), st.fractions(-1, 1))
def test_logarithms_contain_the_true_ones(x, share, s):
    r = share * x
    ball = kernel.balls.log(Ball([x], r))
    with localcontext() as context:
        context.prec = 60
        exact = x_of(Fraction(x) + s * Fraction(r)).ln()
        assert abs(Decimal(float(ball.mid[0])) - exact) <= Decimal(float(ball.rad[0]))
    assert kernel.balls.log(Ball([x])).rad[0] <= 1e-11


@given(st.floats(-1e4, 1e4), st.floats(0.0, 1.0))
def test_logistic_losses_and_entropies_contain_the_true_ones(s, p):
    with localcontext() as context:
        context.prec = 60
        value = kernel.balls.softplus(Ball([s]))
        exact = (1 + (-Decimal(s)).exp()).ln()
        assert abs(Decimal(float(value.mid[0])) - exact) <= Decimal(float(value.rad[0]))
        value = kernel.balls.entropy(np.array([p]))
        low = Decimal(float(value.mid[0])) - Decimal(float(value.rad[0]))
        p = Decimal(p)
        exact = sum((-q * q.ln() for q in (p, 1 - p) if q > 0), Decimal(0))
        assert low <= exact
        assert p < Decimal("1e-290") or exact - low < Decimal("1e-13")


def test_a_wrong_library_function_makes_balls_wide_and_not_wrong(monkeypatch):
    monkeypatch.setattr(kernel.balls.np, "log", lambda x: np.full_like(x, 1.1))
    ball = kernel.balls.log(Ball([3.0]))
    assert 1e-3 < ball.rad[0] < 1.0
    assert abs(float(Decimal(3).ln()) - ball.mid[0]) <= ball.rad[0]
    with pytest.raises(NotProven):
        kernel.balls.log(Ball([30.0]))


# Rankings


def exact_gains(name, k, p, n, short="cut"):
    """Gains as fractions; of NDCG in 50 digits. As printed: with what the perfect ranking lacks added to the first."""
    if short == "printed" and k > p:
        # k relevant items are never short, and the gains of the first p are those printed.
        gains = exact_gains(name, k, k, n)[:p]
        missing = 1 - sum(row[0] for row in gains)
        gains[0] = [gain + missing for gain in gains[0]]
        return gains
    if name not in ("ndcg", "ndcg-log2"):
        measure = measure_named(name, k)

        def gain(i, b):
            if name == "map":
                return Fraction(i, p * (i + b))
            if name == "mrr":
                return Fraction(1, 1 + b) if i == 1 else Fraction(0)
            if name == "err":
                return Fraction(1, 2**i * (i + b)) / sum(Fraction(1, 2**t * t) for t in range(1, p + 1))
            head = min(k, p)
            if name == "precision":
                return Fraction(int(i + b <= head), head)
            return Fraction(int(i == head // 2 + 1 and i + b <= head))

        table = [[gain(i, b) for b in range(n + 1)] for i in range(1, p + 1)]
        floats = measure.gains(np.arange(1, p + 1)[:, None], np.arange(n + 1)[None], p, n)
        assert np.allclose(np.array(table, dtype=float), floats, rtol=1e-14)
        return table
    with localcontext() as context:
        context.prec = 50
        head = min(k, p)
        places = [t + (name == "ndcg-log2") for t in range(1, head + 1)]
        D = [Decimal(1) if t < 3 else Decimal(2).ln() / Decimal(t).ln() for t in places]
        total = sum(D)
        return [
            [Fraction(D[i + b - 1] / total) if i + b <= head else Fraction(0) for b in range(n + 1)]
            for i in range(1, p + 1)
        ]


AT_K = ("precision", "knn", "ndcg", "ndcg-log2")
MEASURES = [(name, 0, "cut") for name in ("map", "mrr", "err")]
MEASURES += [(name, k, "cut") for name in AT_K for k in (1, 2, 3, 5)]
MEASURES += [(name, k, "printed") for name in AT_K for k in (2, 3, 7)]


@pytest.mark.parametrize(("name", "k", "short"), MEASURES)
@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.0, 0.1, 1.0, 30.0]))
def test_the_programme_finds_the_worst_ranking_in_exact_arithmetic(name, k, short, seed, p, n, scale):
    rng = np.random.default_rng(seed)
    x, z = scale * rng.random(p), scale * rng.random(n)
    if rng.random() < 0.5:
        x, z = np.round(4 * x) / 4, np.round(4 * z) / 4
    x, z = np.sort(x), np.sort(z)
    exact = exact_gains(name, k or 1, p, n, short) if k else exact_gains(name, None, p, n)
    gain = kernel.lists.gains(
        kernel.MEASURES[name](), k, short == "cut", p, n, np.arange(1.0, p + 1.0)[:, None], np.arange(n + 1.0)
    )
    if k:
        floats = measure_named(name, k, short=short).gains(np.arange(1, p + 1)[:, None], np.arange(n + 1)[None], p, n)
        assert np.allclose(np.array(exact, dtype=float), floats, rtol=1e-13)
    assert contains(Ball(gain.mid, gain.rad + 1e-45), exact)
    best = None
    for places in combinations(range(p + n), p):
        b = [place - i for i, place in enumerate(places)]
        price = sum(Fraction(float(z[j])) - Fraction(float(x[i])) for i in range(p) for j in range(b[i]))
        value = 1 - sum(exact[i][b[i]] for i in range(p)) - Fraction(2, p * n) * price
        best = value if best is None else max(best, value)
    value, error = kernel.lists.worst_ranking(gain, x, z)
    assert abs(Fraction(value) - best) <= Fraction(error)
    assert error < 1e-12 * (1.0 + scale)


def test_gains_of_two_thousand_relevant_items_are_enclosed():
    """Weights below 2^-1074 are no floats."""
    p, i = 2000, np.array([1.0, 2.0, 1073.0, 1074.0, 1075.0, 2000.0])
    total = sum(Fraction(1, 2**t * t) for t in range(1, p + 1))
    for b in (0, 7):
        exact = [Fraction(1, 2 ** int(t) * (int(t) + b)) / total for t in i]
        found = kernel.lists.gains(kernel.MEASURES["err"](), 1, True, p, 9, i, np.full(len(i), float(b)))
        assert contains(found, exact)
        assert found.rad.max() < 1e-12


def exact_distances(X, B):
    """All squared distances of rows of X under ``B^T B``, as fractions."""
    Z = fractions(X) @ fractions(B).T
    return np.array([[sum((a - b) ** 2) for b in Z] for a in Z])


@pytest.mark.parametrize("name", ["auc", "precision", "map", "mrr", "err", "knn"])
def test_the_upper_bound_of_rankings_is_the_exact_objective(name, tmp_path):
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 3)
    X = rng.standard_normal((6, 2)) + y[:, None]
    k = 3 if name in ("precision", "knn") else None
    problem = cm.RankingProblem.from_labels(X, y, measure=name, k=k, C=5.0)
    solution = cm.solve(problem, tol=1e-7)
    verdict = cm.write_certificate(tmp_path / "c.npz", problem, solution=solution)
    B = opened(tmp_path / "c.npz")[1]["factor"]
    d = exact_distances(X, B)
    total = Fraction(0)
    for q in range(6):
        near, far = problem.rankings.relevance.of(q)
        p, n = len(near), len(far)
        gains = None if name == "auc" else exact_gains(name, k, p, n)
        worst = []
        for Y, relevant in rankings_of(p, n):
            above = np.cumsum(~relevant)[relevant]
            score = (
                1 - Fraction(int(Y.sum()), p * n) if gains is None else sum(gains[i][b] for i, b in enumerate(above))
            )
            price = sum((d[q, far[j]] - d[q, near[i]] for i in range(p) for j in range(n) if Y[i, j]), Fraction(0))
            worst.append(1 - score - Fraction(2, p * n) * price)
        total += max(worst)
    exact = Fraction(5, 6) * total + sum(fractions(B).ravel() ** 2)
    assert exact <= verdict.upper <= exact * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("name", AT_K)
def test_short_lists_are_part_of_the_statement(name, tmp_path):
    """Two relevant items of each, and k = 4: another loss than with k cut to two, and another problem."""
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], 3)
    X = rng.standard_normal((6, 2)) + 0.5 * y[:, None]
    k = 3 if name == "knn" else 4
    cut, printed = (cm.RankingProblem.from_labels(X, y, measure=name, k=k, C=20.0, short=s) for s in ("cut", "printed"))
    assert cut.fingerprint() != printed.fingerprint()
    assert cut.fingerprint() == cm.RankingProblem.from_labels(X, y, measure=name, k=k, C=20.0).fingerprint()
    verdicts = []
    for problem in (cut, printed):
        solution = cm.solve(problem, tol=1e-7)
        verdict = cm.write_certificate(tmp_path / "c.npz", problem, solution=solution)
        assert verdict.lower <= solution.upper_bound
        assert solution.lower_bound <= verdict.upper
        verdicts.append(checker.verify(tmp_path / "c.npz"))
        assert verdicts[-1].accepted
    assert verdicts[0].lower > verdicts[1].upper or name == "knn"
    document, arrays = opened(tmp_path / "c.npz")
    for value in ("cut", 1, "printed "):
        document["problem"]["risk"]["short"] = value
        with pytest.raises(CertificateError, match="short can only be 'printed'"):
            checker.prove([(document, arrays)])
    document["problem"]["risk"] |= {"short": "printed", "k": 10**7}
    with pytest.raises(CertificateError, match="with a k of at most 1000000"):
        checker.prove([(document, arrays)])


def test_the_upper_bound_of_triplets_is_the_exact_objective(tmp_path):
    problem = instance("triplets, labels")
    verdict = cm.write_certificate(tmp_path / "c.npz", problem, solution=cm.solve(problem))
    B = opened(tmp_path / "c.npz")[1]["factor"]
    d = exact_distances(problem.rankings.X, B)
    hinges = [
        max(Fraction(0), Fraction(9, 10) - d[q, j] + d[q, i])
        for q in range(len(d))
        for near, far in [problem.rankings.relevance.of(q)]
        for i in near
        for j in far
    ]
    M = fractions(B).T @ fractions(B)
    exact = sum(hinges) / len(hinges) + Fraction(1, 10) * sum(M.ravel() ** 2)
    assert exact <= verdict.upper <= exact * (1 + Fraction(1, 10**12))


def test_the_dual_matrix_contains_the_exact_one(tmp_path):
    """Of listed triplets and of pairs, on full and diagonal metrics."""
    for name in (
        "psd triplets, trace",
        "diagonal triplets, trace",
        "pairs, listed, trace, features, margin (0.5, 1.5)",
    ):
        problem = instance(name)
        cm.write_certificate(tmp_path / "c.npz", problem, solution=cm.solve(problem))
        document, arrays = opened(tmp_path / "c.npz")
        stated = kernel.Problem(document, kernel.Arrays(arrays))
        says = stated.risk.dual(document["dual"], kernel.Arrays(arrays))
        X, risk = fractions(arrays["points"]), stated.risk
        S, value = np.full((stated.cone.d, stated.cone.d), Fraction(0)), Fraction(0)
        terms = document["problem"]["risk"]["terms"]
        for t, slope in enumerate(arrays["slopes"]):
            term = terms[int(risk.kind[t])]
            u = Fraction(min(1.0, max(0.0, float(slope)))) * Fraction(term["weight"])
            value += u * Fraction(term["margin"])
            i, j, *k = risk.items[t]
            D = np.outer(X[i] - X[j], X[i] - X[j])
            if k:
                D = np.outer(X[i] - X[k[0]], X[i] - X[k[0]]) - D
            S = S + u * term["sign"] * D
        assert contains(says.value, [value])
        assert contains(says.S, np.diag(S) if stated.cone.diagonal else S)


def test_items_that_stand_in_lists_many_times_count_as_often(tmp_path):
    """The dual matrix contains the exact one where lists of positives and negatives share items and repeat them."""
    rng = np.random.default_rng(2)
    problem = instance("triplets, labels")
    cm.write_certificate(tmp_path / "c.npz", problem, solution=cm.solve(problem))
    document, arrays = opened(tmp_path / "c.npz")
    n, d = arrays["points"].shape
    arrays = {name: array for name, array in arrays.items() if not name.startswith(("near", "far", "itself"))}
    for name, each in (("near", 40), ("far", 50)):
        arrays[name], arrays[f"{name}_stops"] = rng.integers(0, 3, each * n), each * np.arange(1, n + 1)
    slopes = rng.integers(0, 2**20 + 1, (n, 40, 50))
    arrays |= {"near_sums": slopes.sum(axis=2).ravel(), "far_sums": slopes.sum(axis=1).ravel()}
    document["dual"]["bits"] = 20
    stated = kernel.Problem(document, kernel.Arrays(arrays))
    says = stated.risk.dual(document["dual"], kernel.Arrays(arrays))
    X, unit = fractions(arrays["points"]), Fraction(document["problem"]["risk"]["weight"])
    S = np.full((d, d), Fraction(0))
    for q in range(n):
        for sign, axis, items in ((-1, 1, arrays["near"][40 * q :]), (1, 0, arrays["far"][50 * q :])):
            for a, item in zip(slopes[q].sum(axis=axis).tolist(), items, strict=False):
                S = S + sign * unit * Fraction(a, 2**20) * np.outer(X[q] - X[item], X[q] - X[item])
    assert contains(says.S, S)
    assert contains(says.value, [unit * Fraction(9, 10) * Fraction(int(slopes.sum()), 2**20)])


@settings(max_examples=200)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 4))
def test_sums_of_slopes_are_those_below_all_hinges(seed, p, n):
    """Sums that slopes have pass; others are, for some distances, worth more than the hinges, or differ in total."""
    rng, one = np.random.default_rng(seed), 8
    slopes = rng.integers(0, one + 1, (p, n))
    assert kernel.lists.sums_of_slopes(slopes.sum(axis=1), slopes.sum(axis=0), one)
    r, c = rng.integers(0, n * one + 1, p), rng.integers(0, p * one + 1, n)
    worse = int(r.sum()) != int(c.sum())
    for some in range(1, 2**p):
        rows = [i for i in range(p) if some >> i & 1]
        worse = worse or int(r[rows].sum()) > int(np.minimum(c, len(rows) * one).sum())
    assert kernel.lists.sums_of_slopes(r, c, one) is not worse


@settings(max_examples=200)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_majorised_vectors_are_means_of_permutations(seed, n):
    rng = np.random.default_rng(seed)
    whole = np.sort(rng.integers(0, 9, n))[::-1]
    mean = sum(rng.permutation(whole) for _ in range(3))
    assert kernel.lists.majorised(mean, 3 * whole)
    # Of more than is there, and of a vector that is more spread.
    assert not kernel.lists.majorised(mean + np.eye(n, dtype=np.int64)[0], 3 * whole)
    if n > 1:
        spread = 3 * whole
        spread[0], spread[-1] = spread[0] + 1, spread[-1] - 1
        assert not kernel.lists.majorised(spread, 3 * whole)


def test_weights_are_whole_and_of_sum_one_at_most():
    rng = np.random.default_rng(0)
    for weights in (np.full((3000, 1), 1.0), rng.random((1000, 2)), np.full((7, 1), 1e300), np.full((9, 1), 1 / 9)):
        made = whole_weights(weights, 2**36)
        assert made.min() >= 0
        assert (made.sum(axis=0) <= 2**36).all()
        assert (made.sum(axis=0) >= 2**36 * (1 - 1e-7)).all()
    assert (whole_weights(np.array([[0.25, -1.0], [0.5, 0.0]]), 8) == [[2, 0], [4, 0]]).all()
    assert whole_weights(np.empty((0, 3)), 8).shape == (0, 3)


@settings(max_examples=200)
@given(st.integers(0, 2**32), st.integers(1, 8), st.floats(-3.0, 3.0))
def test_semidefinite_is_what_exact_pivots_say(seed, d, shift):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, d))
    A = A + A.T + shift * np.eye(d)
    A += (10.0 ** rng.uniform(-12, 0) * rng.choice([-1, 1]) - np.linalg.eigvalsh(A)[0]) * np.eye(d)
    L, positive = fractions(A), True
    for i in range(d):
        positive = positive and L[i, i] > 0
        if positive:
            L[i + 1 :, i + 1 :] = L[i + 1 :, i + 1 :] - np.outer(L[i + 1 :, i], L[i, i + 1 :]) / L[i, i]
    # Exact, and as positive, in other units.
    units = np.ldexp(1.0, rng.integers(-20, 20, d))
    for K in (A, A * np.outer(units, units)):
        try:
            kernel.semidefinite(Ball(K), "it")
        except NotProven:
            assert not positive or np.linalg.eigvalsh(A)[0] < 1e-10 or K is not A
        else:
            assert positive


def test_a_small_part_is_shown_beside_an_uncertain_large_one():
    for corner, beside, shown in ((1e-6, 0.0, True), (1e-6, 0.9, True), (1e-6, 1.01, False), (-1e-6, 0.0, False)):
        # It is semidefinite if the product of the corners is at least the square of what stands beside them.
        K = Ball([[1e6, beside], [beside, corner]], [[1e-3, 0.0], [0.0, 0.0]])
        if shown:
            kernel.semidefinite(K, "it")
        else:
            with pytest.raises(NotProven):
                kernel.semidefinite(K, "it")
    # What is uncertain itself is not shown.
    with pytest.raises(NotProven):
        kernel.semidefinite(Ball([[1e6, 0.0], [0.0, 1e-6]], [[1e-3, 0.0], [0.0, 2e-6]]), "it")


# Verdicts


@pytest.mark.parametrize("name", cases(without=("floats", "user terms", "user blocks")))
def test_what_is_written_is_accepted_and_agrees_with_the_float_certificate(name, tmp_path):
    problem, optimum = conic(name)[:2]
    solution = cm.solve(problem, tol=1e-7)
    path = tmp_path / "certificate.npz"
    verdict = cm.write_certificate(path, problem, solution=solution, title="a title")
    assert verdict.accepted
    assert verdict.claimed == (verdict.lower, verdict.upper)
    scale = max(abs(solution.upper_bound), abs(solution.lower_bound), 1e-9)
    # Subgradients of norms, slopes of barriers and of squared distances are searched anew for the file.
    distance = isinstance(problem.regularizer, (SquaredDistance, TraceDistance))
    anew = "combination" in CATALOGUE[name].tags or distance
    close = 1e-6 if anew else 1e-9
    assert abs(float(verdict.lower) - solution.lower_bound) <= close * scale
    assert abs(float(verdict.upper) - solution.upper_bound) <= 1e-9 * scale
    slack = 1e-6 * max(1.0, abs(optimum))
    assert float(verdict.lower) <= optimum + slack
    assert float(verdict.upper) >= optimum - slack
    # Claims that are a hair inside are not accepted, claims outside are.
    contents = opened(path)
    hair = Fraction(1, 10**15) * Fraction(scale)
    other = tmp_path / "other.npz"
    for lower, upper, accepted in (
        (verdict.lower + hair, verdict.upper, False),
        (verdict.lower, verdict.upper - hair, False),
        (verdict.lower - hair, verdict.upper + hair, True),
    ):
        assert cm.verify(written(other, claim(contents, lower, upper))).accepted is accepted


FORGED = [
    "ranking from labels",
    "relative, rbf, soft",
    "relative, A, hard",
    "triplets, graph, diagonal",
    "pairs, all, frobenius, features, margin 1.0",
    "pairs, listed, trace, unit-rbf, margin (0.5, 1.5)",
    "similarity, weighted, frobenius",
    "cross-modal, representatives",
    "psd triplets, trace, G",
    "map",
    "ndcg",
]


def measured(measure):
    """A small problem of rankings."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], 4)
    return cm.RankingProblem.from_labels(rng.standard_normal((12, 3)) + 0.5 * y[:, None], y, measure=measure, C=20.0)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A file and its contents for some problems."""
    folder, made = tmp_path_factory.mktemp("certificates"), {}
    for number, name in enumerate(FORGED):
        problem = instance(name) if name in CATALOGUE else measured(name)
        path = folder / f"{number}.npz"
        verdict = cm.write_certificate(path, problem, solution=cm.solve(problem, tol=1e-7))
        made[name] = path, verdict
    return made


@pytest.mark.parametrize("name", FORGED)
def test_noise_never_proves_what_is_false(name, certificates, tmp_path):
    path, verdict = certificates[name]
    contents, rng = opened(path), np.random.default_rng(0)
    for _ in range(30):
        forged = noisy(rng, contents, 10.0 ** rng.uniform(-16, 1))
        try:
            found = cm.verify(written(tmp_path / "c.npz", forged))
        except CertificateError:
            continue
        assert found.lower is None or found.lower <= verdict.upper
        assert found.upper is None or found.upper >= verdict.lower
        assert None in (found.lower, found.upper) or found.lower <= found.upper
        assert not (found.accepted and (found.claimed[0] > found.lower or found.claimed[1] < found.upper))


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320])
def test_numbers_that_are_none_or_huge_prove_nothing_false(name, value, certificates, tmp_path):
    path, verdict = certificates[name]
    contents = opened(path)
    for hint in HINTS:
        if hint in contents[1] and contents[1][hint].size and contents[1][hint].dtype.kind == "f":
            arrays = dict(contents[1])
            arrays[hint] = arrays[hint].copy()
            arrays[hint].flat[-1] = value
            try:
                found = cm.verify(written(tmp_path / "c.npz", (contents[0], arrays)))
            except CertificateError:
                continue
            assert np.isfinite(value)
            assert found.lower is None or found.lower <= verdict.upper
            assert found.upper is None or found.upper >= verdict.lower


def test_damaged_files_are_refused(certificates, tmp_path):
    path, _ = certificates["ranking from labels"]
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    bad = tmp_path / "bad.npz"
    for stop in [0, 1, 30, *rng.integers(1, len(whole), 40)]:
        bad.write_bytes(whole[:stop])
        with pytest.raises(CertificateError):
            cm.verify(bad)
    for _ in range(150):
        changed = bytearray(whole)
        for at in rng.integers(0, len(whole), rng.integers(1, 4)):
            changed[at] = rng.integers(256)
        bad.write_bytes(bytes(changed))
        with contextlib.suppress(CertificateError):
            assert cm.verify(bad).accepted in (True, False)
    with pytest.raises(CertificateError, match="cannot read"):
        cm.verify(tmp_path / "nowhere.npz")
    with pytest.raises(CertificateError, match="larger than"):
        cm.verify(path, max_bytes=100)
    with pytest.raises(CertificateError, match="unpacks to more"):
        cm.verify(path, max_bytes=path.stat().st_size)


def changed(path, contents, **tables):
    document = json.loads(json.dumps(contents[0]))
    for key, change in tables.items():
        change(document[key]) if callable(change) else document.__setitem__(key, change)
    return written(path, (document, contents[1]))


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"format": "other"}, "not a convexmetric-certificate"),
        ({"version": 1}, "write it anew"),
        ({"version": 4}, "version"),
        ({"surplus": 1}, "unknown"),
        ({"title": "a\x1b[2J"}, "title"),
        ({"claimed": {"lower": "1"}}, "claimed"),
        ({"claimed": {"lower": "1/0", "upper": "2"}}, "rational|zero"),
        ({"claimed": {"lower": 0.5, "upper": "2"}}, "integers or rationals"),
        ({"claimed": {"lower": "1" * 500, "upper": "2"}}, "rational"),
        ({"claimed": {"lower": "nan", "upper": "2"}}, "rational"),
        ({"problem": lambda table: table.update(cone="cube")}, "cone"),
        ({"problem": lambda table: table.update(features=2**39)}, "more than"),
        ({"problem": lambda table: table.update(features=4)}, "shape"),
        ({"problem": lambda table: table.update(constant="0.5")}, "constant"),
        ({"problem": lambda table: table.update(features=True)}, "integer"),
        ({"problem": lambda table: table.pop("linear")}, "missing"),
        ({"problem": lambda table: table["risk"].update(measure="best")}, "measure"),
        ({"problem": lambda table: table["risk"].update(k=3)}, "measure"),
        ({"problem": lambda table: table["risk"].update(C="-1")}, "positive"),
        ({"problem": lambda table: table["risk"].update(kind=["rankings"])}, "no such rule"),
        ({"problem": lambda table: table["regularizer"].update(weight="0")}, "positive"),
        ({"problem": lambda table: table["regularizer"].update(of="matrix")}, "unknown"),
        ({"dual": {"kind": "slopes", "bits": 1, "share": "1", "regularizer": {}}}, "kind must be"),
        ({"dual": {"kind": "sums", "more": 1}}, "unknown"),
    ],
)
def test_descriptions_that_are_none_are_refused(tables, message, certificates, tmp_path):
    contents = opened(certificates["ranking from labels"][0])
    with pytest.raises(CertificateError, match=message):
        cm.verify(changed(tmp_path / "c.npz", contents, **tables))


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("points", np.zeros((12, 3), dtype="<f4"), "type <f4"),
        ("points", np.array([[{}]], dtype=object), "type"),
        ("points", np.zeros((12, 4)), "shape"),
        ("near", np.full(24, 12), "outside"),
        ("near", np.full(24, -1), "outside"),
        ("near", np.zeros(24), "type"),
        ("near_stops", np.zeros(12, dtype=np.int64), "malformed|no near"),
        ("anchors", np.full(12, 700), "outside|shape"),
        ("more", np.zeros(3), "nothing speaks of"),
        ("CAPITALS", np.zeros(3), "no array"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, array, message, certificates, tmp_path):
    document, arrays = opened(certificates["ranking from labels"][0])
    with pytest.raises(CertificateError, match=message):
        cm.verify(written(tmp_path / "c.npz", (document, arrays | {name: array})))


def test_weights_of_a_metric_must_not_be_negative(certificates, tmp_path):
    document, arrays = opened(certificates["relative, rbf, soft"][0])
    arrays["weights_of_metric"][0] = -1e-300
    with pytest.raises(CertificateError, match="negative"):
        cm.verify(written(tmp_path / "c.npz", (document, arrays)))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("map", "weights"), ("map", "steps"), ("map", "far_sums"), ("ranking from labels", "near_sums"),
        ("cross-modal, representatives", "slopes"), ("pairs, all, frobenius, features, margin 1.0", "slopes"),
    ],
)  # fmt: skip
def test_slopes_outside_of_their_box_prove_nothing(name, hint, certificates):
    document, arrays = opened(certificates[name][0])
    arrays[hint] = arrays[hint] * 3 + (arrays[hint].dtype.kind == "f")
    given = kernel.Arrays(arrays)
    stated = kernel.Problem(document, given)
    with pytest.raises((NotProven, CertificateError), match=r"outside|exceed|no slopes"):
        stated.risk.dual(document["dual"], given)


@pytest.mark.parametrize("share", ["-1/9", "10/9", "1" + "0" * 200])
def test_shares_are_between_zero_and_one(share, certificates, tmp_path):
    for name in ("map", "psd triplets, trace, G"):
        contents = opened(certificates[name][0])
        found = cm.verify(changed(tmp_path / "c.npz", contents, dual=contents[0]["dual"] | {"share": share}))
        assert found.lower is None


def test_a_wrong_hash_is_refused(certificates, tmp_path):
    document, arrays = opened(certificates["ranking from labels"][0])
    arrays["points"][0, 0] += 1e-9
    with pytest.raises(CertificateError, match="sha256"):
        cm.verify(written(tmp_path / "c.npz", (document, arrays), honest=False))
    del arrays["points"]
    with pytest.raises(CertificateError, match="sha256"):
        cm.verify(written(tmp_path / "c.npz", (document, arrays), honest=False))


@pytest.mark.parametrize("name", FORGED)
def test_what_a_dual_point_says_of_the_risk_is_true_of_any_metric(name, certificates):
    """``R(M) >= v - <S, M>``, whatever sums, slopes and weights are, or nothing is said."""
    path, _ = certificates[name]
    rng = np.random.default_rng(5)
    for changed_by in (0.0, 1e-6, 1.0):
        document, arrays = noisy(rng, opened(path), changed_by)
        given = kernel.Arrays(arrays)
        stated = kernel.Problem(document, given)
        try:
            says = stated.risk.dual(document["dual"], given)
        except (NotProven, CertificateError):
            assert changed_by > 0.0
            continue
        for scale in (0.0, 0.1, 1.0, 10.0):
            if stated.cone.diagonal:
                B = scale * rng.random(stated.cone.d)
                inner = (says.S * Ball(B)).sum()
            else:
                B = scale * rng.standard_normal((2, stated.cone.d))
                inner = (Ball(B) * (Ball(B) @ says.S)).sum()
            try:
                value = stated.risk.value(B)
            except NotProven:
                continue
            assert value.upper() >= (says.value - inner).lower()
