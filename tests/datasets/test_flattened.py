"""Directions of a table in which only rounding varies: found, named, and left out."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import convexmetric as cm
from convexmetric.datasets.dataset import Dataset
from convexmetric.datasets.rounding import on_raw_rows
from convexmetric.errors import InputError


def table(X, **extras):
    return Dataset("shares", np.asarray(X), None, (), "", {"columns": tuple("abcdefgh"[: X.shape[1]])} | extras)


def drawn(n=200, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) * [1.0, 30.0, 0.2, 5.0][:d]


def unflattened(X):
    """Without a warning and as it came."""
    data = table(X)
    with warnings.catch_warnings(action="error"):
        return cm.datasets.flattened(data) is data


@pytest.mark.parametrize("digits", [3, 5, 9, None])
def test_a_sum_of_columns_is_found_and_named(digits):
    X = drawn()
    X = np.column_stack([X, X[:, 0] + X[:, 2]])
    X = X if digits is None else np.round(X, digits)
    with pytest.warns(UserWarning, match=r"1 of 5 directions of shares .* combinations of 'a', 'c', 'e'$"):
        data = cm.datasets.flattened(table(X))
    # Entries move within their rounding, other columns hardly, and the sum holds better.
    unit = 0.0 if digits is None else 10.0**-digits
    np.testing.assert_allclose(data.X, X, atol=unit + 1e-12)
    np.testing.assert_allclose(data.X[:, [1, 3]], X[:, [1, 3]], atol=1e-2 * unit + 1e-12)
    off = [np.ptp(rows[:, 0] + rows[:, 2] - rows[:, 4]) for rows in (X, data.X)]
    assert off[0] >= 2.0 * unit
    assert off[1] < unit + 1e-12


def test_columns_of_other_combinations_are_other_groups():
    X = drawn()
    X = np.round(np.column_stack([X, 2.0 * X[:, 1], X[:, 0] - X[:, 3]]), 6)
    with pytest.warns(UserWarning, match=r"2 of 6 .* of 'a', 'd', 'f'; 'b', 'e'$"):
        cm.datasets.flattened(table(X))


def test_columns_and_groups_beyond_some_are_counted():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 10))
    X = np.round(np.column_stack([X, X[:, :7].sum(axis=1), X[:, 7:], X[:, 9]]), 8)
    with pytest.warns(UserWarning, match="5 of 15 .* of 8 columns; 7, 11; 8, 12; 1 more groups$"):
        cm.datasets.flattened(Dataset("wide", X, None, (), ""))


def test_what_was_measured_stays():
    X = drawn()
    near = np.column_stack([X, X[:, 0] + X[:, 2] + 1e-3 * np.random.default_rng(1).standard_normal(200)])
    assert unflattened(np.round(near, 5))
    assert unflattened(np.round(X, 1))
    assert unflattened(np.column_stack([X, np.ones(200)]))


def test_counts_are_exact():
    rng = np.random.default_rng(2)
    counts = rng.poisson(3.0, size=(200, 2)).astype(float)
    assert unflattened(np.column_stack([counts, np.floor(counts.mean(axis=1)), rng.random(200) < 0.02]))


def test_bundled_sets_come_back_as_they_are():
    for name in ("wine", "breast-cancer", "iris", "digits"):
        assert unflattened(cm.datasets.load(name).X[:, :8])


def test_few_rows_and_numbers_of_any_size_are_no_combinations():
    assert unflattened(drawn(4))
    assert unflattened(drawn() * [1e300, 1e-300, 1.0, 1e200])


def test_components_give_left_out_directions_no_weight():
    X = drawn()
    X = np.round(np.column_stack([X, X[:, 0] + X[:, 2]]), 5)
    with pytest.warns(UserWarning, match="combinations"):
        data = cm.datasets.flattened(table(X))
    L = np.random.default_rng(3).standard_normal((3, 5))
    # On rows of the file they do what they were learned to do on those without rounding ...
    images, learned = X @ on_raw_rows(data, L).T, data.X @ L.T
    np.testing.assert_allclose(images - images[0], learned - learned[0], atol=1e-12)
    # ... and other roundings of the same rows differ by no more than their entries.
    other = np.round(X, 2)
    assert np.abs(on_raw_rows(data, L)).max() < 5.0 * np.abs(L).max()
    np.testing.assert_allclose(other @ on_raw_rows(data, L).T, images, atol=0.2)
    assert on_raw_rows(table(X), L) is L


def summed(n, digits):
    """Columns, the last of which is a sum of others, and labels."""
    y = np.arange(n) % 2
    X = drawn(n) + y[:, None]
    return np.round(np.column_stack([X, X[:, 0] + X[:, 2]]), digits), y


@pytest.mark.parametrize("digits", [2, 4])
def test_scaled_points_are_flattened_as_unscaled_ones_are(digits):
    X, _ = summed(500, digits)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    with pytest.warns(UserWarning, match="1 of 5"):
        raw, scaled = cm.datasets.flattened(table(X)), cm.datasets.flattened(table((X - mean) / scale))
    np.testing.assert_allclose(scaled.X * scale + mean, raw.X, atol=1e-9)


@pytest.mark.parametrize("estimator", [cm.LargeMargin(tol=1e-2), cm.MLR(C=1.0, tol=1e-2), cm.NeighborMetric(cv=3)])
def test_estimators_do_not_learn_rounding_noise(estimator):
    X, y = summed(60, 4)
    Z, coarser = ((rows - X.mean(axis=0)) / X.std(axis=0) for rows in (X, np.round(X, 1)))
    with pytest.warns(UserWarning, match=r"datasets\.flattened\): combinations of 0, 2, 4"):
        estimator = clone(estimator).fit(Z, y)
    largest = np.linalg.eigvalsh(estimator.get_mahalanobis_matrix())[-1]
    assert np.abs(estimator.transform(Z) - estimator.transform(coarser)).max() < 0.5 * np.sqrt(largest)


def test_queries_are_flattened_with_their_corpus():
    X, y = summed(60, 4)
    with pytest.warns(UserWarning, match="datasets"):
        metric = cm.MLR(tol=1e-2).fit_rankings(X, y[:6, None] == y, queries=np.round(X[:6], 1))
    rankings = metric.solution_.problem.rankings
    points = np.vstack([rankings.X, rankings.points(np.arange(6))])
    assert np.linalg.matrix_rank(points - points[0]) == 4


def test_weights_of_features_and_flattened_points_are_left_as_they_are():
    X, y = summed(60, 4)
    with pytest.warns(UserWarning, match="datasets"):
        flat = cm.datasets.flattened(table(X)).X
    with warnings.catch_warnings(action="error"):
        cm.MLR(tol=1e-2, diagonal=True).fit(X, y)
        cm.MLR(tol=1e-2).fit((flat - flat.mean(axis=0)) / flat.std(axis=0), y)


def test_sparse_points_are_refused():
    with pytest.raises(InputError, match="dense"):
        cm.datasets.flattened(Dataset("sparse", sp.csr_array(np.eye(3)), None, (), ""))
