"""The checker: its worst rankings in exact arithmetic, its verdicts on true and forged files."""

import contextlib
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


def contains(ball, exact):
    """Whether every entry of a ball contains the fraction of the same place."""
    mid = np.atleast_1d(ball.mid).ravel()
    rad = np.broadcast_to(ball.rad, ball.mid.shape).ravel()
    return all(
        abs(Fraction(float(m)) - e) <= Fraction(float(r)) for m, r, e in zip(mid, rad, np.ravel(exact), strict=True)
    )


def fractions(array):
    return np.vectorize(Fraction, otypes=[object])(array)


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


def test_weights_are_whole_and_of_sum_one_at_most():
    rng = np.random.default_rng(0)
    for weights in (np.full((3000, 1), 1.0), rng.random((1000, 2)), np.full((7, 1), 1e300), np.full((9, 1), 1 / 9)):
        made = whole_weights(weights, 2**36)
        assert made.min() >= 0
        assert (made.sum(axis=0) <= 2**36).all()
        assert (made.sum(axis=0) >= 2**36 * (1 - 1e-7)).all()
    assert (whole_weights(np.array([[0.25, -1.0], [0.5, 0.0]]), 8) == [[2, 0], [4, 0]]).all()
    assert whole_weights(np.empty((0, 3)), 8).shape == (0, 3)


# Verdicts


@pytest.mark.parametrize("name", cases(without=("user terms", "user blocks")))
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
    # Multipliers of many cuts are rounded for the file, to a share of the gap.
    close = 1e-6 if anew else max(1e-9, abs(solution.gap))
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
    whole, rng, bad = (
        certificates["ranking from labels"][0].read_bytes(),
        np.random.default_rng(1),
        tmp_path / "bad.npz",
    )
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


@pytest.mark.parametrize(
    ("where", "change", "message"),
    [
        ("", {"format": "other"}, "not a convexmetric-certificate"),
        ("", {"surplus": 1}, "unknown"),
        ("", {"title": "a\x1b[2J"}, "title"),
        ("claimed", {"lower": 0.5}, "integers or rationals"),
        ("claimed", {"lower": "1/0"}, "rational|zero"),
        ("problem", {"cone": "cube"}, "cone"),
        ("problem", {"features": 2**39}, "more than"),
        ("problem", {"features": 4}, "shape"),
        ("problem", {"features": True}, "integer"),
        ("problem", {"constant": "0.5"}, "constant"),
        ("problem.risk", {"measure": "best"}, "measure"),
        ("problem.risk", {"C": "-1"}, "positive"),
        ("problem.risk", {"kind": ["rankings"]}, "no such rule"),
        ("dual", {"kind": "slopes"}, "kind must be"),
        ("arrays", {"points": np.zeros((12, 3), dtype="<f4")}, "type <f4"),
        ("arrays", {"near": np.full(24, 12)}, "outside"),
        ("arrays", {"near_stops": np.zeros(12, dtype=np.int64)}, "malformed|no near"),
        ("arrays", {"more": np.zeros(3)}, "nothing speaks of"),
        ("arrays", {"CAPITALS": np.zeros(3)}, "no array"),
    ],
)
def test_a_refusal_says_what_is_wrong(where, change, message, certificates, tmp_path):
    """The rules themselves are those of the kernel, whose tests go through all keys and arrays."""
    document, arrays = opened(certificates["ranking from labels"][0])
    at = {"": document, "arrays": arrays, "problem.risk": document["problem"]["risk"]}
    (at | document)[where].update(change)
    with pytest.raises(CertificateError, match=message):
        cm.verify(written(tmp_path / "c.npz", (document, arrays)))


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
