"""What fit learns is the optimum of large margins, and neighbours classify better under it."""

import warnings

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.errors import GapWarning

wine = cm.datasets.load("wine")
X, Y = cm.datasets.preprocess(wine.X, ["zscore"]), np.asarray(wine.y)


@pytest.mark.parametrize("options", [{}, {"n_neighbors": 1, "push": 0.8}, {"diagonal": True}])
def test_it_is_between_the_bounds_of_the_problem_solved_by_cutting_planes(options):
    metric = cm.LargeMargin(**options).fit(X, Y)
    planes = cm.solve(cm.LargeMarginProblem(X, Y, **options), tol=1e-5, solver="cutting-planes")
    assert metric.gap_ <= 1e-4
    assert metric.certificate_.lower_bound <= planes.upper_bound
    assert planes.lower_bound <= metric.certificate_.upper_bound
    # The objective in the words of the paper, on the features, at what transform gives.
    problem = metric.solution_.problem
    images = metric.transform(X)
    squares = ((images[:, None] - images) ** 2).sum(axis=2)
    i, j = problem.targets.T
    hinges = np.maximum(0.0, 1.0 + squares[i, j][:, None] - squares[i])[Y[i][:, None] != Y]
    push = options.get("push", 0.5)
    value = (1.0 - push) * squares[i, j].sum() + push * hinges.sum()
    assert value == pytest.approx(metric.certificate_.upper_bound, rel=1e-6)


@pytest.mark.parametrize(("data", "scaled"), [("wine", True), ("digits", False)])
def test_neighbours_on_rows_held_out_are_right_more_often(data, scaled):
    found = cm.datasets.load(data)
    points, labels = (cm.datasets.preprocess(found.X, ["zscore"]) if scaled else found.X / 16.0), np.asarray(found.y)
    order = np.random.default_rng(0).permutation(len(points))
    learn, rest = order[::2], order[1::2]
    metric = cm.LargeMargin(tol=1e-3).fit(points[learn], labels[learn])
    held_out = points[learn], labels[learn], points[rest], labels[rest]
    assert metric.gap_ <= 1e-3
    assert cm.evaluation.knn_error(metric.get_mahalanobis_matrix(), *held_out) < cm.evaluation.knn_error(
        np.eye(points.shape[1]), *held_out
    )


def test_score_leaves_one_out():
    metric = cm.LargeMargin(n_neighbors=5, tol=1e-2).fit(X, Y)
    M = metric.get_mahalanobis_matrix()
    others = [np.delete(np.arange(len(X)), i) for i in range(len(X))]
    errors = [
        cm.evaluation.knn_error(M, X[rows], Y[rows], X[i : i + 1], Y[i : i + 1], k=5) for i, rows in enumerate(others)
    ]
    assert metric.score(X, Y) == pytest.approx(1.0 - np.mean(errors), abs=1e-12)


def test_two_fits_are_the_same_to_the_bit():
    first, second = (cm.LargeMargin(random_state=0).fit(X, Y) for _ in range(2))
    assert (first.components_ == second.components_).all()
    assert first.certificate_.lower_bound == second.certificate_.lower_bound


@pytest.mark.parametrize("limits", [{"max_iter": 1}, {"max_seconds": 1e-3}])
@pytest.mark.parametrize("solver", ["exact", "cutting-planes", "smoothed-newton"])
def test_a_limit_leaves_a_metric_no_worse_than_the_euclidean_one_or_zero(limits, solver):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        warnings.filterwarnings("ignore", message="all distances are 0")
        metric = cm.LargeMargin(solver=solver, tol=1e-9, **limits).fit(X, Y)
    problem = metric.solution_.problem
    simple = [
        problem.objective(problem.from_features(t * np.eye(13))) for t in (0.0, *10.0 ** np.arange(-3.0, 1.1, 0.5))
    ]
    # Multiples are on a grid of their own, and chosen by some of the points.
    assert metric.certificate_.upper_bound <= 1.1 * min(simple)
