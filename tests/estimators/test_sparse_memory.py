"""Sparse points of as many columns as a text has words are never made dense: peak memory of fits, each in a process."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.integration

pytest.importorskip("resource")

#: 5,000 points of 20,000 features take 800 MB as an array.
DENSE_MB = 5_000 * 20_000 * 8 / 1e6

PROGRAM = """
import resource
import sys
import warnings

import numpy as np
import scipy.sparse as sp

import convexmetric as cm

warnings.simplefilter("ignore")


def peak():
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / 2**20 if sys.platform == "darwin" else size / 2**10


rng = np.random.default_rng(0)
n, d = 5_000, 20_000
y = rng.integers(5, size=n)
words = sp.csr_array((np.ones(4 * n), (np.repeat(np.arange(n), 4), 4 * y.repeat(4) + np.tile(np.arange(4), n))), (n, d))
others = sp.random_array((n, d), density=8e-4, rng=rng, format="csr")
X = sp.csr_array(others + words.multiply(0.5 + rng.random((n, 1))))
make = lambda: eval(sys.argv[1], {"cm": cm})
make().fit(X[:60], y[:60])
before = peak()
metric = make().fit(X, y)
images = metric.transform(X)
metric.solution_.w
assert sp.issparse(images) and images.shape == (n, d) and images.nnz <= X.nnz
assert sp.issparse(metric.components_)
metric.score(X[:500], y[:500])
print(peak() - before)
"""


@pytest.mark.parametrize(
    "estimator",
    [
        'cm.MLR(measure="auc", C=100.0, diagonal=True, max_iter=2)',
        "cm.RelativeComparisonMetric(n_triplets=20_000, tol=1e-2)",
        pytest.param('cm.MLR(measure="map", C=100.0, diagonal=True, max_iter=2)', marks=pytest.mark.slow),
        pytest.param("cm.LargeMargin(diagonal=True, max_iter=2)", marks=pytest.mark.slow),
        pytest.param("cm.RandomProjectionMetric(projection=None, diagonal=True, max_iter=2)", marks=pytest.mark.slow),
    ],
)
def test_peak_memory_of_a_fit_is_below_that_of_the_points_as_an_array(estimator):
    run = subprocess.run([sys.executable, "-c", PROGRAM, estimator], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 0.6 * DENSE_MB
