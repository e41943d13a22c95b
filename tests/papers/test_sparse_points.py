"""Diagonal metrics of sparse points: the problem is that of the dense ones, and no array has d x d entries."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from samples import some

import convexmetric as cm
from convexmetric.comparisons import triplets_from_labels

Y = np.arange(48) % 3
TRIPLETS = triplets_from_labels(Y, 100, 0)
RNG = np.random.default_rng(0)
PAIRS = np.column_stack([RNG.integers(0, 24, 60), RNG.integers(24, 48, 60)])
R = np.where(Y[PAIRS[:, 0]] == Y[PAIRS[:, 1]], 1, -1)

PROBLEMS = {
    "AUC": lambda X: cm.RankingProblem.from_labels(X, Y, measure="auc", C=10.0, diagonal=True),
    "MAP": lambda X: cm.RankingProblem.from_labels(X, Y, measure="map", C=10.0, diagonal=True),
    "relative": lambda X: cm.RelativeComparisonProblem(X, TRIPLETS, C=1.0),
    "triplets": lambda X: cm.TripletProblem.from_labels(X, Y, diagonal=True),
    "large margin": lambda X: cm.LargeMarginProblem(X, Y, diagonal=True, ridge=0.1),
    "information": lambda X: cm.InformationTheoreticProblem(X, PAIRS, R, diagonal=True),
}


def words(d):
    """Counts of words, of which three tell the class."""
    rng = np.random.default_rng(1)
    X = sp.random_array((48, d), density=min(0.3, 40.0 / d), rng=rng, format="csr", data_sampler=rng.exponential)
    own = sp.csr_array((np.full(48, 3.0), (np.arange(48), Y)), shape=(48, d))
    return sp.csr_array(X + own)


@pytest.mark.parametrize("name", some(PROBLEMS))
def test_sparse_points_have_the_optimum_of_dense_ones(name):
    X = words(12)
    sparse, dense = (PROBLEMS[name](points) for points in (X, X.toarray()))
    cm.check_problem(sparse)
    of_sparse, of_dense = cm.solve(sparse, tol=1e-5), cm.solve(dense, tol=1e-5)
    assert of_sparse.lower_bound <= of_dense.upper_bound
    assert of_dense.lower_bound <= of_sparse.upper_bound
    assert isinstance(of_dense.M, np.ndarray)
    M, L = of_sparse.M, of_sparse.components
    assert sp.issparse(M)
    assert sp.issparse(L)
    np.testing.assert_allclose((L.T @ L).toarray(), M.toarray(), atol=1e-12)
    np.testing.assert_array_equal(M.toarray(), np.diag(M.diagonal()))
    # It goes in again where it came out.
    assert sparse.objective(M) == pytest.approx(of_sparse.upper_bound, rel=1e-9)
    assert cm.audit(sparse, M, of_sparse).suboptimality <= 1.1e-5


@pytest.mark.filterwarnings("ignore::convexmetric.errors.GapWarning")
@pytest.mark.parametrize("name", some(PROBLEMS, 2))
def test_twenty_thousand_features_take_no_square_of_them(name):
    X = words(20_000)
    tracemalloc.start()
    solution = cm.solve(PROBLEMS[name](X), tol=1e-2, max_seconds=20.0)
    M, L = solution.M, solution.components
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert M.shape == (20_000, 20_000)
    assert L.shape[1] == 20_000
    assert np.isfinite(solution.gap)
    assert peak < 8 * 20_000**2 / 8


@pytest.mark.integration
def test_a_matrix_of_many_features_is_sparse_for_dense_points_too():
    X = words(10_001).toarray()
    solution = cm.solve(PROBLEMS["triplets"](X), tol=1e-1)
    assert sp.issparse(solution.M)
    assert sp.issparse(solution.components)


def test_estimators_and_scores_take_sparse_metrics():
    X = words(12)
    model = cm.MLR(measure="auc", diagonal=True, tol=1e-3).fit(X, Y)
    M = model.get_mahalanobis_matrix()
    assert sp.issparse(M)
    X = X.toarray()
    assert cm.evaluation.knn_error(M, X, Y, X, Y) == cm.evaluation.knn_error(M.diagonal(), X, Y, X, Y)
    ranked, same = (cm.retrieval.rank_corpus(metric, X, X) for metric in (M, M.toarray()))
    qrels = cm.retrieval.Qrels.from_matrix((Y[:, None] == Y).astype(int))
    assert cm.retrieval.score_run(ranked, qrels, ["AP"]).means == cm.retrieval.score_run(same, qrels, ["AP"]).means


def test_a_sparse_matrix_that_is_not_diagonal_is_refused():
    problem = PROBLEMS["AUC"](words(12))
    with pytest.raises(cm.errors.InputError, match="12 weights or a diagonal matrix"):
        problem.objective(sp.csr_array(np.ones((12, 12))))
