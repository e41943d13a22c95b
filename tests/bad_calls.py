"""Malformed calls and the message each gets; ``python tests/bad_calls.py`` renews docs/bad-input.md."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

import convexmetric as cm
from convexmetric import errors

PAGE = Path(__file__).resolve().parents[1] / "docs" / "bad-input.md"

_rng = np.random.default_rng(0)
X = _rng.normal(size=(12, 3))
y = np.repeat([0, 1, 2], 4)
triplets = np.array([[0, 1, 4], [4, 5, 8], [8, 9, 0]])
ranking = cm.RankingProblem.from_labels(X, y)
relative = cm.RelativeComparisonProblem(X, triplets)
X_nan = X.copy()
X_nan[3, 1] = np.nan
contradictory = np.array([[0, 1, 4], [0, 4, 1]])
graph = np.eye(12, k=1) + np.eye(12, k=-1)
margins = cm.TripletProblem(X, triplets)
crossed = cm.CrossModalProblem(X, X[:, :2], y, y, 1.0, 0.1, 2, 3, 0)
T = cm.SimilarityOperator(np.eye(3) / 4.0)
pairs, r = np.array([[0, 1], [0, 4], [5, 6]]), np.array([1, -1, 1])

NAMES = {
    "np": np,
    "sp": sp,
    "cm": cm,
    "X": X,
    "y": y,
    "triplets": triplets,
    "ranking": ranking,
    "relative": relative,
    "X_nan": X_nan,
    "contradictory": contradictory,
    "graph": graph,
    "margins": margins,
    "crossed": crossed,
    "T": T,
    "pairs": pairs,
    "r": r,
    "inf": np.inf,
    "nan": np.nan,
}

#: Call, class of the error, and words that the message must contain.
CALLS = [
    ("cm.RankingProblem.from_labels(X_nan, y)", errors.InputError, "X contains NaN"),
    ("cm.RankingProblem.from_labels(X[:, 0], y)", errors.InputError, "reshape"),
    ("cm.RankingProblem.from_labels(X[:0], y[:0])", errors.InputError, "X is empty"),
    ("cm.RankingProblem.from_labels([['red'], ['blue']], [0, 1])", errors.InputError, "real numbers"),
    ("cm.RankingProblem.from_labels(sp.csr_array(X), y)", errors.InputError, "toarray"),
    ("cm.RankingProblem.from_labels(X, y[:-1])", errors.InputError, "one label a point"),
    ("cm.RankingProblem.from_labels(X, np.zeros(12))", errors.InputError, "one class only"),
    ("cm.RankingProblem.from_labels(X, np.r_[y[:-1], 9])", errors.InputError, "single member"),
    ("cm.RankingProblem.from_labels(X, np.where(y == 0, nan, y))", errors.InputError, "y contains NaN"),
    ("cm.RankingProblem.from_labels(X, y, measure='accuracy')", errors.InputError, "measure must be one of"),
    ("cm.RankingProblem.from_labels(X, y, measure='ndcg', k=0)", errors.InputError, "k must be a positive integer"),
    ("cm.RankingProblem.from_labels(X, y, measure='map', k=5)", errors.InputError, "leave k out"),
    ("cm.RankingProblem.from_labels(X, y, regularizer='l1')", errors.InputError, "regularizer must be one of"),
    ("cm.RankingProblem.from_labels(X, y, diagonal='yes')", errors.InputError, "diagonal must be True or False"),
    ("cm.RankingProblem.from_labels(X, y, C=-1.0)", errors.InputError, "C must be positive"),
    ("cm.RankingProblem.from_labels(X, y, C=inf)", errors.InputError, "C must be finite"),
    ("cm.RankingProblem.from_labels(X, y, C='large')", errors.InputError, "C must be a positive number"),
    ("cm.RankingProblem(X, [[1]] * 11)", errors.InputError, "one list per query"),
    ("cm.RankingProblem(X, [[1]], [[]], queries=X[:1])", errors.InputError, "no irrelevant point"),
    ("cm.RankingProblem(X, [[]], [[1]], queries=X[:1])", errors.InputError, "no relevant point"),
    ("cm.RankingProblem(X, [[1, 1]], [[2]], queries=X[:1])", errors.InputError, "twice"),
    ("cm.RankingProblem(X, [[1, 2]], [[2]], queries=X[:1])", errors.InputError, "both relevant and irrelevant"),
    ("cm.RankingProblem(X, [[12]], [[2]], queries=X[:1])", errors.InputError, "row 12"),
    ("cm.RankingProblem(X, [[0.5]], [[2]], queries=X[:1])", errors.InputError, "integer row numbers"),
    ("cm.RankingProblem(X, [[1]], [[2]], queries=X[:1, :2])", errors.InputError, "2 features"),
    ("cm.RankingProblem(X, np.eye(3), queries=X[:3])", errors.InputError, r"\(queries, corpus\)"),
    ("cm.RelativeComparisonProblem(X, [])", errors.InputError, "triplets must have shape"),
    ("cm.RelativeComparisonProblem(X, triplets[:, :2])", errors.InputError, r"rows \(i, j, k\)"),
    ("cm.RelativeComparisonProblem(X, [[0, 0, 4]])", errors.InputError, "repeats an index"),
    ("cm.RelativeComparisonProblem(X, [[0, 1, 12]])", errors.InputError, "row 12"),
    ("cm.RelativeComparisonProblem(X, triplets, C=0.0)", errors.InputError, "C must be positive"),
    ("cm.RelativeComparisonProblem(X, contradictory, C=inf)", errors.InfeasibleError, r"triplets\[0\] = \(0, 1, 4\)"),
    ("cm.RelativeComparisonProblem(X, triplets, A=np.eye(4))", errors.InputError, "A must have one row a feature"),
    ("cm.RelativeComparisonProblem(X, triplets, A=np.eye(3), kernel='rbf')", errors.InputError, "exclude each other"),
    ("cm.RelativeComparisonProblem(X, triplets, kernel='gauss')", errors.InputError, "kernel must be"),
    ("cm.RelativeComparisonProblem(X, triplets, kernel=np.eye(5))", errors.InputError, r"\(12, 12\)"),
    ("cm.RankingProblem.from_labels(1j * X, y)", errors.InputError, "complex"),
    (
        "cm.RankingProblem.from_labels([[1, 2], [3]], [0, 1])",
        errors.InputError,
        "X must be a rectangular array of real numbers",
    ),
    ("cm.RankingProblem.from_labels(1e200 * X, y)", errors.InputError, "rescale it"),
    ("cm.RankingProblem.from_labels(X, [[label] for label in y])", errors.InputError, "y must be one-dimensional"),
    ("cm.RelativeComparisonProblem(X, [[0, 1, 2], [3, 4]])", errors.InputError, "triplets must have shape"),
    ("cm.RelativeComparisonProblem(X, [[0.0, 1.0, 2.0]])", errors.InputError, "integer row numbers"),
    (
        "cm.RelativeComparisonProblem(X, triplets, kernel=1.0 - np.eye(12))",
        errors.InputError,
        "kernel must be positive semidefinite",
    ),
    ("ranking.objective(np.eye(4))", errors.InputError, r"W must have shape \(3, 3\)"),
    ("ranking.objective(np.triu(np.ones((3, 3))))", errors.InputError, "symmetric"),
    ("relative.objective([1.0, nan, 1.0])", errors.InputError, "w contains NaN"),
    ("relative.dual_bound(np.ones(4))", errors.DualError, r"shape \(3,\)"),
    ("ranking.dual_bound('optimal')", errors.DualError, "CutDual"),
    ("cm.solve(X)", errors.InputError, "problem must be a MetricProblem"),
    ("relative.dual_bound(np.array(['u', 'v', 'w']))", errors.DualError, "multipliers must be"),
    ("cm.certify(X, np.eye(3), None)", errors.InputError, "problem must be a MetricProblem"),
    ("cm.solve(ranking, tol='tight')", errors.InputError, "tol must be"),
    ("cm.solve(ranking, max_seconds='1')", errors.InputError, "max_seconds must be"),
    ("cm.solve(ranking, tol=0)", errors.InputError, "tol must be"),
    ("cm.solve(ranking, max_iter=0)", errors.InputError, "max_iter must be"),
    ("cm.solve(ranking, max_seconds=-1)", errors.InputError, "max_seconds must be"),
    ("cm.solve(ranking, callback='print')", errors.InputError, "callback must be callable"),
    ("cm.solve(ranking, solver='simplex')", errors.InputError, "solver must be one of"),
    ("cm.solve(ranking, solver='interior-point')", errors.UnsupportedProblemError, "listed comparisons"),
    ("cm.CuttingPlanes(groups=0)", errors.InputError, "groups must be"),
    ("cm.CuttingPlanes(stabilisation=1.0)", errors.InputError, "stabilisation must be"),
    ("cm.audit(ranking, np.eye(2), 0.1)", errors.InputError, r"W must have shape \(3, 3\)"),
    ("cm.CuttingPlanes(drop_after=0.5)", errors.InputError, "drop_after must be"),
    ("cm.audit(ranking, np.eye(3), 'the optimum')", errors.InputError, "reference must be"),
    ("cm.audit(ranking, np.eye(3), nan)", errors.InputError, "finite lower bound"),
    ("cm.load_problem('ranking-auc-wine-c2')", errors.InputError, "did you mean"),
    ("cm.datasets.load('whine')", errors.InputError, "wine"),
    ("cm.datasets.preprocess(X, ['standardise'])", errors.InputError, "standardise"),
    ("cm.datasets.preprocess(0 * X, ['unit'])", errors.InputError, "rows that are not 0"),
    ("cm.knn_error(np.eye(3), X, y, X[:, :2], y)", errors.InputError, "queries have 2 features, but X has 3"),
    ("cm.knn_error(np.eye(3), X, y, X, y, k=13)", errors.InputError, "k must be between 1 and the number of points"),
    ("cm.knn_error(np.eye(3), X, y, X, y, k='3')", errors.InputError, "k must be"),
    ("cm.retrieval_scores(np.eye(2), X, [[1]] * 12)", errors.InputError, "M must have shape"),
    ("cm.retrieval_scores(np.eye(3), X, ranking.rankings.relevance, [[1]])", errors.InputError, "already part of"),
    ("cm.retrieval_scores(np.eye(3), X, [[1]], queries=X[:1], k=0)", errors.InputError, "k must be a positive integer"),
    ("cm.retrieval_scores(np.eye(3), X, [[1]], queries=X[:1], k='10')", errors.InputError, "k must be"),
    ("cm.cross_validate(X, y, C=[])", errors.InputError, "C is empty"),
    ("cm.cross_validate(X, y, C=[1.0], folds=1)", errors.InputError, "folds must be an integer of at least 2"),
    ("cm.cross_validate(X, y, C=[1.0], folds=2, score='accuracy')", errors.InputError, "with a number for k"),
    ("cm.cross_validate(X[:6], y[:6], C=[1.0], folds=2)", errors.InputError, "too few to learn from"),
    ("cm.cross_validate_queries(ranking, C=[1.0], folds=13)", errors.InputError, "at most the number of queries"),
    ("cm.cross_validate_queries(relative, C=[1.0])", errors.InputError, "must be a RankingProblem"),
    ("ranking.with_queries([12])", errors.InputError, "points to row 12"),
    ("cm.datasets.synthetic_matchings(10, 3)", errors.InputError, "n_matchings must be between"),
    ("cm.TripletProblem(X, [[0, 1, 1]])", errors.InputError, "repeats an index"),
    ("cm.TripletProblem(X, triplets, reg=0.0)", errors.InputError, "reg must be positive"),
    ("cm.TripletProblem(X, triplets, reg='1')", errors.InputError, "reg must be a positive number, got the text"),
    ("cm.TripletProblem(X, triplets, margin=0)", errors.InputError, "margin must be positive"),
    ("cm.TripletProblem(X, triplets, intra=-1.0)", errors.InputError, "intra must be positive, or 0"),
    ("cm.TripletProblem(X, triplets, inter=True)", errors.InputError, "inter must be positive"),
    ("cm.TripletProblem(X, triplets, diagonal=1)", errors.InputError, "diagonal must be True or False"),
    ("cm.TripletProblem(X, triplets, similar=[[0, 0]])", errors.InputError, r"similar\[0\] repeats one"),
    ("cm.TripletProblem(X, triplets, dissimilar=[[0, 12]])", errors.InputError, "dissimilar points to row 12"),
    ("cm.TripletProblem(X, triplets, regularizer='l1')", errors.InputError, "regularizer must be one of"),
    ("cm.TripletProblem(X, triplets, projection='pca')", errors.InputError, "see make_projection"),
    ("cm.TripletProblem(sp.csr_array(X), triplets)", errors.InputError, "pass diagonal=True, a projection, or"),
    ("cm.TripletProblem.from_labels(X, y, n_same=0)", errors.InputError, "n_same must be a positive integer or None"),
    ("cm.TripletProblem.from_labels(X, y, n_other='10')", errors.InputError, "n_other must be"),
    ("cm.TripletProblem.from_labels(X, y[:-1])", errors.InputError, "one label a point"),
    ("cm.TripletProblem.from_labels(X, y, C=1.0)", errors.InputError, "'C' is not an option; known: reg, margin"),
    ("cm.TripletProblem.from_labels(X, y, regulariser='trace')", errors.InputError, "did you mean 'regularizer'"),
    ("cm.TripletProblem.from_graph(X, graph[:-1])", errors.InputError, r"adjacency must have shape \(12, 12\)"),
    ("cm.TripletProblem.from_graph(X, np.argwhere(graph))", errors.InputError, "of links"),
    ("cm.TripletProblem.from_graph(X, 0.5 * graph)", errors.InputError, "only 0 and 1, got 0.5; pass adjacency != 0"),
    ("cm.TripletProblem.from_graph(X, np.eye(12))", errors.InputError, "no link between two different points"),
    ("cm.TripletProblem.from_graph(X, np.ones((12, 12)))", errors.InputError, "no triplet"),
    ("cm.make_projection('random', X, 2)", errors.InputError, "kind must be one of"),
    ("cm.make_projection('gaussian', X, 4)", errors.InputError, "r must be an integer from 1 to 3"),
    ("cm.make_projection('gaussian', X, 2, 'seed')", errors.InputError, "random_state must be"),
    ("cm.make_projection('pca', X, 2).transform(X[:, :2])", errors.InputError, "make it from these points"),
    ("margins.with_reg(inf)", errors.InputError, "reg must be finite"),
    ("margins.objective(np.eye(4))", errors.InputError, r"R must have shape \(3, 3\)"),
    ("margins.dual_bound(np.ones(4))", errors.DualError, r"shape \(3,\), one a \(query, near, far\)"),
    ("cm.CrossModalProblem(X, X[:, :2], y, y[:-1], 1.0, 0.1)", errors.InputError, "labels_y must be one an object"),
    ("cm.CrossModalProblem(X, X_nan, y, y, 1.0, 0.1)", errors.InputError, "Y contains NaN"),
    ("cm.CrossModalProblem(X, X, y, np.eye(12), 1.0, 0.1)", errors.InputError, "both be 0/1 matrices"),
    ("cm.CrossModalProblem(X, X, y, y + 3, 1.0, 0.1)", errors.InputError, "both a relevant and an irrelevant object"),
    ("cm.CrossModalProblem(X, X, y, y, 0.0, 0.1)", errors.InputError, "alpha must be positive"),
    ("cm.CrossModalProblem(X, X, y, y, 1.0, -0.1)", errors.InputError, "beta must be positive"),
    ("cm.CrossModalProblem(X, X, y, y, 1.0, 0.1, n_clusters=0)", errors.InputError, "n_clusters must be"),
    ("cm.CrossModalProblem(X, X, y, y, 1.0, 0.1, n_neighbors='all')", errors.InputError, "n_neighbors must be"),
    ("cm.CrossModalProblem.from_relevance(X, X, y, 1.0, 0.1)", errors.InputError, "relevance must be a 0/1 matrix"),
    ("crossed.join(np.eye(3), np.eye(3))", errors.InputError, r"U and V must have shapes \(3, c\) and \(2, c\)"),
    ("crossed.distances(np.eye(5), X, X)", errors.InputError, "3 and 2 features"),
    ("crossed.dual_bound(np.ones(4))", errors.DualError, "one a comparison"),
    ("cm.factor_analysis(X, X[1:], 2)", errors.InputError, "coupled row by row"),
    ("cm.solve(crossed, solver='semismooth-newton')", errors.UnsupportedProblemError, "near and far items"),
    ("cm.solve(ranking, solver='low-rank-newton')", errors.UnsupportedProblemError, "not smooth"),
    ("cm.FactoredDescent(c=0)", errors.InputError, "c must be a positive integer"),
    ("cm.FactoredDescent(2, step=0)", errors.InputError, "step must be a positive number"),
    ("cm.retrieval_curve(np.ones((2, 3)), np.ones((3, 2)))", errors.InputError, "shape of distances"),
    ("cm.SimilarityOperator([1.0, 2.0])", errors.InputError, "components must have shape"),
    ("cm.SimilarityOperator([[nan]])", errors.InputError, "components contains NaN"),
    ("cm.SimilarityOperator(np.eye(3), embedding='rbf')", errors.InputError, "embedding must have a method"),
    ("cm.SimilarityOperator.of(ranking)", errors.InputError, "solution must be what solve returns"),
    ("cm.SimilarityOperator.load('T.npz')", errors.InputError, "there is no such file"),
    ("T.save('T.pkl')", errors.InputError, "an operator is saved as .npz"),
    ("T.verify(X[:, :2])", errors.InputError, "X has 2 features, but the operator takes 3"),
    ("T.essential_rank(1.0)", errors.InputError, "share must be"),
    ("cm.empirical_risk(np.eye(3), X, pairs, r)", errors.InputError, "T must be a SimilarityOperator"),
    ("cm.empirical_risk(T, X, [[0, 12]], [1])", errors.InputError, "pairs points to row 12"),
    ("cm.empirical_risk(T, X, [[0, 0]], [1])", errors.InputError, r"pairs\[0\] repeats one"),
    ("cm.empirical_risk(T, X, pairs, r[:-1])", errors.InputError, "y must have one number a pair"),
    ("cm.empirical_risk(T, X, pairs, [0, 1, 1])", errors.InputError, r"\+1 \(similar\) and -1"),
    ("cm.empirical_risk(T, X, pairs, [1, 1, 1], balanced=True)", errors.InputError, "no pair dissimilar"),
    ("cm.empirical_risk(T, X, pairs, r, margin=0.0)", errors.InputError, "margin must be positive"),
    ("cm.empirical_risk(T, X, pairs, r, margin=(1.0, 2.0, 3.0))", errors.InputError, r"\(similar, dissimilar\)"),
    ("cm.empirical_risk_from_labels(T, X, y[:-1])", errors.InputError, "y must have one label a point"),
    ("cm.empirical_risk_from_labels(T, X, np.zeros(12))", errors.InputError, "one class only"),
    (
        "cm.empirical_risk_from_labels(T, X, y, n_pairs=1)",
        errors.InputError,
        "n_pairs must be an integer of at least 2",
    ),
    ("cm.balanced_error([1, 2], [1, -1])", errors.InputError, "verdict must hold"),
    ("cm.balanced_error([1, 1], [[1], [-1]])", errors.InputError, "verdict and y must have the same shape"),
    ("cm.verifier_errors(T, X, np.arange(12))", errors.InputError, "no class with two members"),
    ("cm.roc_area(None, X_nan, y)", errors.InputError, "X contains NaN"),
    ("cm.roc_curve(T, X, y, n_points=1)", errors.InputError, "n_points must be"),
    ("cm.single_prototype_error(T, X, y, n_draws=0)", errors.InputError, "n_draws must be"),
    ("cm.single_prototype_error(T, X, y, random_state='seed')", errors.InputError, "random_state must be"),
    ("cm.risk_bound(None, X, pairs, r)", errors.InputError, "T must be a SimilarityOperator"),
    ("cm.risk_bound(T, X, pairs, r)", errors.InputError, "needs a diameter of at most 1"),
    ("cm.risk_bound(T, 0.1 * X, pairs, r, delta=1.0)", errors.InputError, "delta must be a probability"),
    ("cm.risk_bound(T, 0.1 * X, pairs, r, radius=0.1)", errors.InputError, "radius must be at least"),
    ("cm.affine_risk_bound(T, 0.1 * X, pairs, r, c=1.2, radius=1.0)", errors.InputError, "c must be at least"),
    ("cm.transfer_bound(1.1, 10)", errors.InputError, "risk must be a number from 0 to 1"),
    ("cm.transfer_bound(0.1, 10, n_operators=0)", errors.InputError, "n_operators must be a positive integer"),
    ("cm.independent_pairs(0.5)", errors.InputError, "y must be one-dimensional"),
    ("cm.choose_operator([], X, y)", errors.InputError, "operators is empty"),
    ("cm.choose_operator({'wine': X}, X, y)", errors.InputError, r"operators\[wine\] must be"),
    ("cm.choose_operator([T], X, y, threshold=2)", errors.InputError, "threshold must be"),
    ("cm.concatenate_tasks([])", errors.InputError, "tasks is empty"),
    ("cm.concatenate_tasks([(X, pairs)])", errors.InputError, r"tasks\[0\] must be \(X, pairs, y\)"),
    ("cm.hyperbolic_pca(X, pairs, r, d=4)", errors.InputError, "d must be an integer from 1 to 3"),
    ("cm.hyperbolic_pca(X, pairs, r, c=1.0)", errors.InputError, "c must be above 1"),
    ("cm.hyperbolic_pca(X, pairs, [1, 1, 1])", errors.InputError, "no eigenvalue is positive"),
    ("cm.hyperbolic_pca_from_labels(X, y[:-1])", errors.InputError, "y must have one label a point"),
    ("cm.PairMarginProblem(X, [], [])", errors.InputError, r"pairs must have shape"),
    ("cm.PairMarginProblem(X, [[0, 0]], [1])", errors.InputError, r"pairs\[0\] repeats one"),
    ("cm.PairMarginProblem(X, [[0, 12]], [1])", errors.InputError, r"row 12"),
    (
        "cm.PairMarginProblem(X, [[0, 1]], [0])",
        errors.InputError,
        r"\+1 \(similar\) and -1 \(dissimilar\), but y\[0\] = 0",
    ),
    ("cm.PairMarginProblem(X, [[0, 1]], [1, -1])", errors.InputError, r"one number a pair"),
    ("cm.PairMarginProblem(X_nan, [[0, 1]], [1])", errors.InputError, r"X contains NaN"),
    ("cm.PairMarginProblem(X, [[0, 1]], [1], reg=0.0)", errors.InputError, r"reg must be positive"),
    ("cm.PairMarginProblem(X, [[0, 1]], [1], margin=-1.0)", errors.InputError, r"margin must be positive"),
    (
        "cm.PairMarginProblem(X, [[0, 1]], [1], margin=(1.0, 1.0, 1.0))",
        errors.InputError,
        r"margin must be a number, or two: \(similar, dissimilar\)",
    ),
    ("cm.PairMarginProblem(X, [[0, 1]], [1], margin=(1.0, nan))", errors.InputError, r"margin\[1\] must be positive"),
    (
        "cm.PairMarginProblem(X, [[0, 1]], [1], norm='nuclear')",
        errors.InputError,
        r"norm must be one of 'frobenius', 'trace'",
    ),
    ("cm.PairMarginProblem(X, [[0, 1]], [1], kernel='gauss')", errors.InputError, r"kernel must be"),
    ("cm.PairMarginProblem(X, [[0, 1]], [1], kernel=np.eye(3))", errors.InputError, r"\(12, 12\)"),
    ("cm.PairMarginProblem(0.0 * X, [[0, 1]], [1], kernel='unit-rbf')", errors.InputError, r"points other than zero"),
    ("cm.PairMarginProblem.from_labels(X, y, n_pairs=0)", errors.InputError, r"n_pairs must be a positive integer"),
    ("cm.PairMarginProblem.from_labels(X, y[:-1])", errors.InputError, r"one label a point"),
    (
        "cm.PairMarginProblem.from_labels(X, np.zeros(12))",
        errors.InputError,
        r"no pair is dissimilar|so no pair is dissimilar",
    ),
    ("cm.PairMarginProblem.from_labels(X, np.arange(12))", errors.InputError, r"no pair is similar"),
    ("cm.PairMarginProblem.from_labels(X, y, balanced='yes')", errors.InputError, r"balanced must be True or False"),
    ("cm.balanced_pairs(y, 2.5)", errors.InputError, r"n_pairs must be a positive integer"),
    ("cm.SimilarityRegressionProblem(X, [[0, 1]], [1.5])", errors.InputError, r"values from 0 to 1, but y\[0\] = 1.5"),
    ("cm.SimilarityRegressionProblem(X, [[0, 1]], [0.5], loss='huber')", errors.InputError, r"loss must be one of"),
    (
        "cm.SimilarityRegressionProblem(X, [[0, 1]], [0.5], loss='weighted', y0=0.5, as_printed=True)",
        errors.InputError,
        r"y0 must not be a value of y",
    ),
    ("cm.StochasticTriplets(epochs=0)", errors.InputError, r"epochs must be a positive integer"),
    ("cm.LowRankDescent(as_printed=True)", errors.InputError, r"as_printed must be False"),
    ("cm.ProjectedSubgradient(step=0)", errors.InputError, r"step must be a positive finite number"),
    ("cm.StochasticFactors(vectors=0)", errors.InputError, r"vectors must be a positive integer"),
    ("cm.StochasticFactors(learning_rate=-0.01)", errors.InputError, r"learning_rate must be a positive finite number"),
    ("cm.StochasticFactors(as_printed=1)", errors.InputError, r"as_printed must be True or False"),
    ("cm.solve(ranking, solver='stochastic-factors')", errors.UnsupportedProblemError, r"of pairs"),
]


def answer(call):
    """The exception that a call raises."""
    try:
        eval(call, dict(NAMES))
    except Exception as error:
        return error
    raise AssertionError(f"{call} was accepted")


def page():
    """The table as Markdown."""
    lines = [
        "# What bad input gets",
        "",
        "Generated by `python tests/bad_calls.py`. `X` has 12 points and 3 features, `y` three classes of four, "
        "`T` is an operator on 3 features, `pairs` has three pairs and `r` says which are similar.",
        "",
        "| call | error | message |",
        "|---|---|---|",
    ]
    for call, kind, _ in CALLS:
        message = " ".join(str(answer(call)).split()).replace("|", "\\|")
        lines.append(f"| `{call}` | {kind.__name__} | {message} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
