"""Every oracle against brute force over all interleavings, and against the O(p n) programme on larger lists.

Relevant and irrelevant items keep their own order in a most violated ranking, so that a ranking is a choice of the
places of the relevant items: at most 70 for p + n <= 8. Distances come with many ties, on multiples of the margin, on
several scales and far from zero. A case is a mistake if the oracle's violation is not the best of all rankings, or not
that of the ranking it returns.
"""

from itertools import combinations

import numpy as np

from convexmetric.comparisons import Rankings, Relevance
from convexmetric.comparisons.rankings import Block
from convexmetric.cones import NonnegativeDiagonal
from convexmetric.measures import most_violated_rankings
from convexmetric.measures.reference import most_violated


def distances(rng, cases, size):
    """Distances of many kinds, a row a case."""
    kind = rng.integers(0, 6, (cases, 1))
    smooth = rng.standard_normal((cases, size))
    scale = 10.0 ** rng.uniform(-3, 1.5, (cases, 1))
    choices = [
        smooth,
        rng.integers(0, 3, (cases, size)) / 3.0,
        rng.integers(-2, 3, (cases, size)) / 2.0,
        scale * smooth,
        scale * rng.integers(0, 4, (cases, size)),
        64.0 + smooth,
    ]
    return np.select([kind == c for c in range(6)], choices)


def oracle(measure, D, p):
    """Coefficients, losses and violations of the compiled oracle; the first p columns are relevant."""
    cases, size = D.shape
    relevance = Relevance.from_lists([np.arange(p)] * cases, [np.arange(p, size)] * cases, cases, size)
    rankings = Rankings(np.zeros((size, 1)), np.zeros((cases, 1)), relevance, NonnegativeDiagonal(1))
    block = Block(rankings, np.arange(cases), D.copy())
    losses, violations = most_violated_rankings(measure, block)
    return block.values.reshape(D.shape), losses, violations


def mistakes(measure, D, p, tolerance=1e-9):
    """Number of rows on which the oracle is wrong."""
    cases, size = D.shape
    n = size - p
    T, losses, violations = oracle(measure, D, p)
    x, z = np.sort(D[:, :p], axis=1), np.sort(D[:, p:], axis=1)
    sums = np.concatenate([np.zeros((cases, 1)), np.cumsum(z, axis=1)], axis=1)
    best = np.full(cases, -np.inf)
    for places in combinations(range(size), p):
        b = np.array(places) - np.arange(p)
        loss = 1.0 - measure.gains(np.arange(1, p + 1), b, p, n).sum()
        best = np.maximum(best, loss - 2.0 / (p * n) * (sums[:, b].sum(axis=1) - x @ b))
    size_of = np.maximum(1.0, np.abs(D).max(axis=1))
    wrong = np.abs(violations - best) > tolerance * size_of
    # The coefficients and the loss are those of one ranking: counts of inverted pairs give the places back.
    b = np.rint(np.sort(-T[:, :p], axis=1) * (p * n / 2.0)).astype(int)
    v = np.rint(T[:, p:] * (p * n / 2.0)).astype(int)
    scores = np.stack([measure.gains(np.full(cases, i + 1), b[:, i], p, n) for i in range(p)]).sum(axis=0)
    wrong |= np.abs(losses - (1.0 - scores)) > 1e-12
    wrong |= np.abs(losses - (T * D).sum(axis=1) - violations) > tolerance * size_of
    wrong |= (np.sort(v, axis=1) != np.sort((b[:, :, None] > np.arange(n)).sum(axis=1), axis=1)).any(axis=1)
    return int(wrong.sum())


def large_mistakes(measure, rng, cases):
    """Mistakes against the dynamic programme on lists of up to some hundred items."""
    wrong = 0
    for _ in range(cases):
        p, n = rng.integers(1, 60), rng.integers(1, 400)
        D = distances(rng, 1, p + n) * rng.choice([1.0, 10.0, 100.0])
        violations = oracle(measure, D, p)[2]
        _, _, violation = most_violated(measure, D[0, :p], D[0, p:])
        wrong += abs(violations[0] - violation) > 1e-9 * max(1.0, np.abs(D).max())
    return wrong
