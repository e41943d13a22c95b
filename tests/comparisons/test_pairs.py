"""Mean squared distances of sets of pairs against sums over explicit lists."""

import numpy as np
import pytest
import scipy.sparse as sp

from convexmetric.comparisons.pairs import LabelledPairs, ListedPairs, UnlinkedPairs
from convexmetric.cones import NonnegativeDiagonal, PSDCone

N = 9
CODES = np.array([0, 1, 0, 2, 1, 1, 0, 2, 0])


def sets():
    rng = np.random.default_rng(0)
    links = rng.random((N, N)) < 0.3
    np.fill_diagonal(links, False)
    every = [(i, j) for i in range(N) for j in range(N) if i != j]
    listed = [every[k] for k in rng.choice(len(every), 12)]
    return {
        "list with repetitions": (ListedPairs(listed, N), listed),
        "same label": (LabelledPairs(CODES, same=True), [(i, j) for i, j in every if CODES[i] == CODES[j]]),
        "other label": (LabelledPairs(CODES, same=False), [(i, j) for i, j in every if CODES[i] != CODES[j]]),
        "no link": (
            UnlinkedPairs(sp.csr_array(links.astype(float))),
            [(i, j) for i, j in every if not links[i, j]],
        ),
    }


@pytest.mark.parametrize("name", list(sets()))
@pytest.mark.parametrize("cone", [PSDCone(3), NonnegativeDiagonal(3)], ids=["full", "diagonal"])
def test_the_mean_is_that_of_the_listed_pairs(name, cone):
    pairs, listed = sets()[name]
    X = np.random.default_rng(1).standard_normal((N, 3)) * (np.random.default_rng(2).random((N, 3)) < 0.7)
    expected = np.mean([np.outer(X[i] - X[j], X[i] - X[j]) for i, j in listed], axis=0)
    expected = np.diag(expected) if isinstance(cone, NonnegativeDiagonal) else expected
    assert len(pairs) == len(listed)
    np.testing.assert_allclose(pairs.mean(X, cone), expected, atol=1e-12)
    if isinstance(cone, NonnegativeDiagonal):
        np.testing.assert_allclose(pairs.mean(sp.csr_array(X), cone), expected, atol=1e-12)


@pytest.mark.parametrize("name", list(sets()))
def test_samples_are_uniform_over_the_set(name):
    pairs, listed = sets()[name]
    drawn = pairs.sample(np.random.default_rng(3), 40_000)
    counts = {pair: listed.count(pair) for pair in set(listed)}
    found = dict.fromkeys(counts, 0)
    for i, j in drawn.tolist():
        found[i, j] += 1
    for pair, times in counts.items():
        expected = 40_000 * times / len(listed)
        assert abs(found[pair] - expected) < 6 * np.sqrt(expected)
