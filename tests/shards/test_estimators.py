"""Estimators learn on a backend; they are cloned with it, and pickled with what of it lasts."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import convexmetric as cm
from convexmetric.shards import Serial
from convexmetric.shards.backends import picklable

rng = np.random.default_rng(0)
y = np.repeat(np.arange(3), 12)
X = rng.standard_normal((36, 4)) + y[:, None]


def threads():
    """A pool that a module knows by name."""
    return ThreadPoolExecutor(2)


ESTIMATORS = [cm.LargeMargin, cm.MLR, cm.RelativeComparisonMetric, cm.RandomProjectionMetric]


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_fitted_on_a_backend_it_is_between_the_same_bounds(kind):
    here = kind(random_state=0).fit(X, y)
    with ThreadPoolExecutor(2) as pool:
        there = kind(random_state=0, backend=pool).fit(X, y)
        lower = max(here.certificate_.lower_bound, there.certificate_.lower_bound)
        assert lower <= min(here.certificate_.upper_bound, there.certificate_.upper_bound)
        assert there.gap_ <= there.tol
        again = pickle.loads(pickle.dumps(there))
    assert again.backend is None
    assert (again.transform(X) == there.transform(X)).all()


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_clone_has_the_same_live_backend(kind):
    with ThreadPoolExecutor(1) as pool:
        estimator = kind(backend=pool, tol=1e-3).set_output(transform="default")
        copy = clone(estimator)
        assert type(copy) is kind
        assert copy is not estimator
        assert copy.backend is pool
        assert estimator.backend is pool
        assert copy.get_params() == estimator.get_params()
        assert copy._sklearn_output_config == estimator._sklearn_output_config


@pytest.mark.integration
def test_grids_of_c_run_with_it_and_through_joblib():
    grid = {"C": [0.1, 10.0]}
    with ThreadPoolExecutor(2) as pool:
        here = GridSearchCV(cm.MLR(backend=pool, tol=1e-2), grid, cv=2).fit(X, y)
    there = GridSearchCV(cm.MLR(backend=threads, tol=1e-2), grid, cv=2, n_jobs=2).fit(X, y)
    assert there.cv_results_["mean_test_score"] == pytest.approx(here.cv_results_["mean_test_score"])


def test_what_lasts():
    assert picklable(None) is None
    assert picklable("tcp://somewhere:8786") == "tcp://somewhere:8786"
    assert picklable(threads) is threads
    assert picklable(lambda: ThreadPoolExecutor(1)) is None
    assert picklable(Serial()) is None
