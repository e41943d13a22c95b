"""Choices of folds do not look at the items that they are scored on."""

import itertools

import numpy as np

from convexmetric.selection.folds import NestedFolds

N, FOLDS, CANDIDATES = 24, 4, 3


def filled(rng, fold):
    """Folds with scores that depend on the candidate, on what was left out, and on the item."""
    table = {}
    folds = NestedFolds(fold, rng.random((2, N)), range(CANDIDATES))
    for out in folds.left_out:
        for at in range(1, CANDIDATES):
            table[at, out] = rng.random((2, N))
            folds.score(at, out, lambda rows, at=at, out=out: table[at, out][:, rows])
    return folds, table


def test_every_fold_has_the_best_candidate_of_the_other_folds():
    rng = np.random.default_rng(0)
    fold = rng.permutation(N) % FOLDS
    folds, table = filled(rng, fold)
    before = folds.alone[0]
    for j, choice in enumerate(folds.choices()):
        means = [before[0, fold != j].mean()]
        for at in range(1, CANDIDATES):
            scores = [table[at, tuple(sorted((i, j)))][0, fold == i] for i in range(FOLDS) if i != j]
            means.append(np.concatenate(scores).mean())
        assert choice == int(np.argmax(means))
    _, after = folds.chosen()
    for j, choice in enumerate(folds.choices()):
        expected = before if choice == 0 else table[choice, (j,)]
        np.testing.assert_array_equal(after[:, fold == j], expected[:, fold == j])


def test_what_is_left_out_is_left_out():
    fold = np.arange(N) % FOLDS
    folds = NestedFolds(fold, np.zeros((1, N)), range(CANDIDATES))
    assert folds.left_out == [*itertools.combinations(range(FOLDS), 2), *((j,) for j in range(FOLDS))]
    for out in folds.left_out:
        assert set(fold[folds.without(out)]) == set(range(FOLDS)) - set(out)


def test_a_candidate_that_is_not_able_is_not_chosen():
    rng = np.random.default_rng(1)
    folds, _ = filled(rng, np.arange(N) % FOLDS)
    folds.able[folds.best()] = False
    assert folds.able[folds.best()]
    assert all(folds.able[choice] for choice in folds.choices())
