"""Bounds against values by hand, their assumptions, and what is wrong with the printed statements."""

from math import log, sqrt

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.comparisons.pairs import LabelledPairs
from convexmetric.errors import InputError

# Diameter 1; squared distances of the pairs before T: 1, 0.36, 0.64; after T = diag(2, 1): 4, 1.44, 0.64.
X = np.array([[0.0, 0.0], [1.0, 0.0], [0.6, 0.0], [0.0, 0.8]])
PAIRS, R = np.array([[0, 1], [0, 2], [0, 3]]), np.array([-1, 1, 1])
T = cm.evaluation.SimilarityOperator(np.diag([2.0, 1.0]))
NORM = sqrt(17.0)
DELTA = 0.1
SPREAD = sqrt(1.0 + 0.36**2 + 0.64**2)


@pytest.mark.parametrize(
    ("options", "empirical", "complexity", "confidence", "source"),
    [
        # h_1: max(0, 1 - 3) = 0, 1.44, 0.64.
        ({}, 2.08 / 3, 4 * NORM / sqrt(3), sqrt(log(2 * NORM / DELTA) / 6), "theorem 1"),
        (
            {"data_dependent": True},
            2.08 / 3,
            4 * NORM * SPREAD / 3,
            sqrt(9 * log(4 * NORM / DELTA) / 6),
            "theorem 13, part 1",
        ),
        ({"radius": 5.0}, 2.08 / 3, 2 * 5 / sqrt(3), sqrt(log(1 / DELTA) / 6), "theorem 11 (ii)"),
        (
            {"radius": 5.0, "data_dependent": True},
            2.08 / 3,
            2 * 5 * SPREAD / 3,
            sqrt(9 * log(2 / DELTA) / 6),
            "theorem 11 (i)",
        ),
        # h_2: max(0, 1 - 3 / 2) = 0, 1 + 0.44 / 2, 1 - 0.36 / 2; L = 1/2.
        ({"margin": 2.0}, 2.04 / 3, 2 * NORM / sqrt(3), sqrt(log(2 * NORM / DELTA) / 6), "theorem 1"),
        # Similar 1/2, dissimilar 4: 1 - 3/4, 1 + 0.44 * 2, 1 - 0.36 * 2; the larger constant is 2.
        ({"margin": (0.5, 4.0)}, 2.41 / 3, 8 * NORM / sqrt(3), sqrt(log(2 * NORM / DELTA) / 6), "theorem 1"),
        (
            {"margin": (0.5, 4.0), "data_dependent": True},
            2.41 / 3,
            4 * NORM * sqrt(1 / 16 + 4 * 0.36**2 + 4 * 0.64**2) / 3,
            sqrt(9 * log(4 * NORM / DELTA) / 6),
            "theorem 13, part 1",
        ),
    ],
)
def test_the_terms_by_hand(options, empirical, complexity, confidence, source):
    bound = cm.theory.risk_bound(T, X, PAIRS, R, delta=DELTA, **options)
    assert bound.empirical == pytest.approx(empirical)
    assert bound.complexity == pytest.approx(complexity)
    assert bound.confidence == pytest.approx(confidence)
    assert float(bound) == bound.value == pytest.approx(empirical + complexity + confidence)
    assert bound.source == source
    assert bound.vacuous
    assert "says nothing" in str(bound)


def test_affine_losses_by_hand():
    c, radius, m = 2.0, NORM, 3
    eta = np.array([1 / 3, -1.0, -1.0])
    operator = float(np.mean(eta * [4.0, 1.44, 0.64]))
    known = cm.theory.affine_risk_bound(T, X, PAIRS, R, c=c, radius=radius, delta=DELTA, balanced=True)
    assert known.empirical == pytest.approx(c**2 / (2 * (c**2 - 1)) - operator)
    assert known.value - known.empirical == pytest.approx(2 / sqrt(m) * (radius + c**2 * sqrt(2 * log(1 / DELTA))))
    estimated = cm.theory.affine_risk_bound(T, X, PAIRS, R, c=c, radius=radius, delta=DELTA)
    assert estimated.empirical == pytest.approx(1.0 + eta.mean() - operator)
    assert estimated.complexity == known.complexity
    assert estimated.confidence == pytest.approx(
        2 / sqrt(m) * c**2 * sqrt(2 * log(2 / DELTA)) + (4 / 3) * sqrt(log(2 / DELTA) / 6)
    )


def test_transfer_by_hand():
    assert cm.theory.transfer_bound(0.1, 200, delta=0.05).value == pytest.approx(0.1 + sqrt(log(20) / 400))
    assert cm.theory.transfer_bound(0.1, 200, delta=0.05, n_operators=4).value == pytest.approx(
        0.1 + sqrt(log(80) / 400)
    )
    assert (
        cm.theory.transfer_bound(0.1, 200, n_operators=4).complexity
        > cm.theory.transfer_bound(0.1, 200).complexity
        == 0.0
    )


def test_assumptions_are_checked():
    for call in (
        lambda X: cm.theory.risk_bound(T, X, PAIRS, R),
        lambda X: cm.theory.risk_bound(T, X, PAIRS, R, radius=5.0),
        lambda X: cm.theory.affine_risk_bound(T, X, PAIRS, R, c=2.0, radius=5.0),
    ):
        call(X)
        with pytest.raises(InputError, match=r"X has points 1\.1 apart, but this bound needs a diameter of at most 1"):
            call(1.1 * X)
    cm.theory.risk_bound(T, 1.1 * X, PAIRS, R, data_dependent=True)
    with pytest.raises(InputError, match=r"radius must be at least \|\|T\*T\|\|_2 = 4.12311 of the operator"):
        cm.theory.risk_bound(T, X, PAIRS, R, radius=4.0)
    with pytest.raises(InputError, match=r"T must have \|\|T\|\|_inf <= c"):
        cm.theory.affine_risk_bound(T, X, PAIRS, R, c=1.9, radius=5.0)
    with pytest.raises(InputError, match=r"T must have .* \|\|T\*T\|\|_2 <= radius"):
        cm.theory.affine_risk_bound(T, X, PAIRS, R, c=2.0, radius=4.0)
    with pytest.raises(InputError, match=r"c must be at least sqrt\(2\)"):
        cm.theory.affine_risk_bound(T, X, PAIRS, R, c=1.4, radius=5.0)


def test_the_diameter_is_that_of_the_embedding():
    """The kernel of section 6.1 keeps all points within 1, whatever they are."""

    class Kernel:
        def __init__(self, X):
            self.X = X / np.linalg.norm(X, axis=1, keepdims=True)
            values, vectors = np.linalg.eigh(self.values(self.X))
            self.whitened = vectors / np.sqrt(values)

        def values(self, units):
            return 0.5 * np.exp(-4.0 * ((units[:, None] - self.X) ** 2).sum(axis=2))

        def transform(self, X):
            return self.values(X / np.linalg.norm(X, axis=1, keepdims=True)) @ self.whitened

    points = 100.0 * np.random.default_rng(0).standard_normal((12, 3))
    embedding = Kernel(points)
    apart = cm.evaluation.SimilarityOperator(np.eye(12), embedding).squared_distances(points)
    assert 0.9 < apart.max() <= 1.0
    operator = cm.evaluation.SimilarityOperator(np.eye(12), embedding)
    assert cm.theory.risk_bound(operator, points, PAIRS, R).complexity == pytest.approx(4 * sqrt(12) / sqrt(3))


def test_small_norms_take_the_bound_of_norm_one():
    small = cm.evaluation.SimilarityOperator(0.1 * np.eye(2))
    assert small.norm < DELTA / 2
    bound = cm.theory.risk_bound(small, X, PAIRS, R, delta=DELTA)
    assert bound.complexity == pytest.approx(4 / sqrt(3))
    assert bound.confidence == pytest.approx(sqrt(log(2 / DELTA) / 6))


def test_theorem_13_as_printed_fails_for_small_norms():
    """At norm delta / 2 it leaves nothing but 4 L a / sqrt(m) for chance."""
    m, delta, runs = 400, 0.01, 4000
    rng = np.random.default_rng(0)
    a = delta / 2
    # Similar pairs differ along the kernel of T, so that T, almost zero, calls them and all others similar: R = 1/2.
    dissimilar = rng.binomial(m, 0.5, size=runs) / m
    # min(1, h_1) costs 1 for every dissimilar and 0 for every similar pair; its Lipschitz constant is 1.
    printed = dissimilar + 4 * a / sqrt(m) + np.sqrt(np.log(2 * a / delta) / (2 * m))
    corrected = dissimilar + 4 / sqrt(m) + np.sqrt(np.log(2 / delta) / (2 * m))
    assert np.mean(printed < 0.5) > 0.4 > delta
    assert np.mean(corrected < 0.5) == 0.0


def test_proposition_12_holds_for_symmetric_samples_with_factor_two_and_not_for_others():
    """The Rademacher averages are norms of random sums: of all, and of their positive parts."""
    rng = np.random.default_rng(0)

    def averages(B):
        whole, cone = [], []
        for signs in rng.choice([-1.0, 1.0], size=(2000, len(B))):
            S = np.tensordot(signs, B, axes=1)
            eigenvalues = np.linalg.eigvalsh(0.5 * (S + S.T))
            whole.append(np.linalg.norm(S))
            cone.append(np.linalg.norm(np.maximum(eigenvalues, 0.0)))
        return np.mean(whole), np.mean(cone)

    G = rng.standard_normal((5, 4, 4))
    whole, cone = averages(G + G.transpose(0, 2, 1))
    assert cone <= whole <= 2.05 * cone
    whole, cone = averages(G - G.transpose(0, 2, 1))
    assert cone == pytest.approx(0.0, abs=1e-12)
    assert whole > 1.0


@pytest.mark.parametrize("counts", [(10, 10, 10), (2, 30), (1, 1, 5, 9), (7, 1)])
def test_all_pairs_are_worth_what_is_said(counts):
    """Over points that are 0 or 1 by a coin, the loss of a pair being whether they differ, at least in variance."""
    y = np.repeat(np.arange(len(counts)), counts)
    rng = np.random.default_rng(0)
    n = len(y)
    same = y[:, None] == y
    later = np.triu(np.ones((n, n), dtype=bool), 1)
    for balanced in (True, False):
        m = cm.theory.independent_pairs(y, balanced=balanced)
        kinds = [later & same, later & ~same]
        weights = sum(0.5 * kind / kind.sum() for kind in kinds) if balanced else later / later.sum()
        share = 0.1
        risks = []
        for _ in range(4000):
            x = rng.random(n) < share
            risks.append((weights * (x[:, None] | x)).sum())
        # Subgaussian with the variance of m coins: moments of either sign are bounded.
        expected = 1.0 - (1.0 - share) ** 2
        deviation = np.array(risks) - expected
        assert deviation.var() <= 1.0 / (4.0 * m)
        for s in (1.0, 4.0, -4.0):
            assert np.mean(np.exp(s * deviation)) <= np.exp(s**2 / (8.0 * m)) * 1.01
        assert 0.0 < m <= n / 2


def test_balanced_classes_are_worth_about_half_their_points():
    assert cm.theory.independent_pairs(np.repeat(np.arange(9), 100)) == pytest.approx(450, rel=0.01)
    assert cm.theory.independent_pairs(np.arange(11) % 2, balanced=False) == 5
    codes = np.repeat(np.arange(3), 4)
    similar, other = (len(LabelledPairs(codes, same=same)) / 2 for same in (True, False))
    assert cm.theory.independent_pairs(codes) == pytest.approx(2 / (4 / similar + 9 / other))


def test_the_bounds_hold_for_operators_chosen_on_the_sample():
    """Theorem 11 in numbers: the worst operator of a ball on fresh samples, for all of which the true risk is known."""
    rng = np.random.default_rng(0)
    points, labels = 0.3 * rng.random((60, 3)), rng.integers(0, 2, 60)
    points /= cm.evaluation.SimilarityOperator(np.eye(3)).distances(points).max()
    pairs = np.array([(i, j) for i in range(60) for j in range(60) if i != j])
    r = np.where(labels[pairs[:, 0]] == labels[pairs[:, 1]], 1, -1)
    candidates = [cm.evaluation.SimilarityOperator(2.0 * rng.standard_normal((2, 3))) for _ in range(15)]
    radius = max(T.norm for T in candidates)
    truth = [cm.evaluation.empirical_risk(T, points, pairs, r) for T in candidates]
    for _ in range(20):
        drawn = rng.integers(len(pairs), size=4_000)
        for T, risk in zip(candidates, truth, strict=True):
            for options in ({}, {"radius": radius}, {"data_dependent": True}):
                assert risk <= cm.theory.risk_bound(T, points, pairs[drawn], r[drawn], **options).value
