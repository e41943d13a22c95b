"""scikit-learn's own checks, on every estimator and on every check of the installed version."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import convexmetric as cm

OF_TUPLES = (cm.ChoiceMetric, cm.RelativeComparisonMetric, cm.RandomProjectionMetric, cm.OperatorMarginMetric)

PREDICT = "predict and decision_function take pairs or triplets of points, (n, t, d); the check calls them with points"
CALLS_PREDICT = (
    "check_n_features_in_after_fitting",
    "check_estimators_dtypes",
    "check_dtype_object",
    "check_estimators_nan_inf",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_dict_unchanged",
    "check_fit_idempotent",
)

ANCHORS = "the weight of a point is that of its own comparisons; as one that others are compared with it is there once"
REPEATS_ROWS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
COINCIDE = "target neighbours of the check's points coincide, so that there is nothing to pull; this is refused"
OF_FOUR_POINTS = ("check_sample_weights_shape", "check_sample_weights_not_overwritten")
PAIRS = "sample_weight is of pairs; the check gives it with points and labels, which is refused"
WITH_WEIGHTS = (
    *REPEATS_ROWS,
    *OF_FOUR_POINTS,
    "check_sample_weights_pandas_series",
    "check_sample_weights_not_an_array",
    "check_sample_weights_list",
    "check_all_zero_sample_weights_error",
)


def failing_with_weights(estimator):
    if isinstance(estimator, cm.WeightSearch):
        return {}
    # They take no weights; and at C = 1 the optimum is zero for the check's points, however often they are there.
    if isinstance(estimator, cm.CrossModalMetric | cm.ChoiceMetric) or (
        isinstance(estimator, cm.MLR) and estimator.C == 1.0
    ):
        return {}
    if isinstance(estimator, cm.OperatorMarginMetric):
        return dict.fromkeys(WITH_WEIGHTS, PAIRS)
    coincide = dict.fromkeys(OF_FOUR_POINTS, COINCIDE) if isinstance(estimator, cm.LargeMargin) else {}
    return dict.fromkeys(REPEATS_ROWS, ANCHORS) | coincide


def expected_failed_checks(estimator):
    of_tuples = dict.fromkeys(CALLS_PREDICT, PREDICT) if type(estimator) in OF_TUPLES else {}
    return of_tuples | failing_with_weights(estimator)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [cm.LargeMargin(), cm.MLR(measure="auc", diagonal=True, C=1.0), cm.CrossModalMetric()],
    expected_failed_checks=expected_failed_checks,
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        cm.NeighborMetric(),
        cm.WeightSearch(cm.MLR(measure="auc")),
        cm.LargeMargin(n_neighbors=1, diagonal=True),
        cm.MLR(),
        cm.OperatorMarginMetric(),
        cm.RelativeComparisonMetric(),
        cm.RandomProjectionMetric(),
        cm.ChoiceMetric(),
    ],
    expected_failed_checks=expected_failed_checks,
)
def test_checks_of_scikit_learn_on_the_other_estimators(estimator, check):
    check(estimator)


class Absent:
    def __get__(self, instance, owner):
        raise AttributeError("predict takes tuples")


class RelativeComparisonOfPoints(cm.RelativeComparisonMetric):
    predict = decision_function = Absent()


class RandomProjectionOfPoints(cm.RandomProjectionMetric):
    predict = decision_function = Absent()


class ChoiceOfPoints(cm.ChoiceMetric):
    predict = decision_function = Absent()


class OperatorMarginOfPoints(cm.OperatorMarginMetric):
    predict = decision_function = Absent()


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [RelativeComparisonOfPoints(kernel="rbf"), OperatorMarginOfPoints(n_pairs=60, kernel="rbf")],
    expected_failed_checks=failing_with_weights,
)
def test_predictions_of_tuples_are_all_that_fails(estimator, check):
    check(estimator)


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [RandomProjectionOfPoints(n_components=2), ChoiceOfPoints(kind="odd-one-out", diagonal=True)],
    expected_failed_checks=failing_with_weights,
)
def test_predictions_of_tuples_are_all_that_fails_of_the_other_estimators(estimator, check):
    check(estimator)


LISTS = "fit takes documents, queries and judgements; the check gives points and labels"
CALLS_FIT = (
    "check_fit_score_takes_y",
    "check_estimators_overwrite_params",
    "check_dont_overwrite_parameters",
    "check_estimators_fit_returns_self",
    "check_readonly_memmap_input",
    "check_n_features_in_after_fitting",
    "check_positive_only_tag_during_fit",
    "check_estimators_dtypes",
    "check_complex_data",
    "check_dtype_object",
    "check_estimators_empty_data_messages",
    "check_pipeline_consistency",
    "check_estimators_nan_inf",
    "check_estimator_sparse_tag",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
    "check_transformer_preserve_dtypes",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_fit2d_1sample",
    "check_fit2d_1feature",
    "check_dict_unchanged",
    "check_fit_idempotent",
    "check_fit_check_is_fitted",
    "check_n_features_in",
    "check_fit1d",
    "check_fit2d_predict1d",
)
NAMES_CORPUS = "refused, but the message names corpus and is in other words than the check looks for"
OTHER_WORDS = (
    "check_n_features_in_after_fitting",
    "check_complex_data",
    "check_estimators_empty_data_messages",
    "check_fit2d_1sample",
    "check_fit2d_predict1d",
)
OBJECTS = "vectors are arrays of numbers; arrays of objects, and what is no array, are refused"
OF_OBJECTS = ("check_dtype_object", "check_transformer_data_not_an_array")


class AdapterOfLabels(cm.RetrievalAdapter):
    """Every point is a document and a query; relevant are those of its label."""

    def fit(self, X, y=None):
        labels = np.arange(len(X)) % 2 if y is None else np.asarray(y)
        return super().fit(X, X, cm.retrieval.Qrels.from_matrix((labels[:, None] == labels).astype(int)))


def failing_of_adapters(estimator):
    if isinstance(estimator, AdapterOfLabels):
        return dict.fromkeys(OTHER_WORDS, NAMES_CORPUS) | dict.fromkeys(OF_OBJECTS, OBJECTS)
    return dict.fromkeys(CALLS_FIT, LISTS)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [cm.RetrievalAdapter(), AdapterOfLabels(loss="ridge", C=10.0, cv=2)], expected_failed_checks=failing_of_adapters
)
def test_checks_of_scikit_learn_on_adapters(estimator, check):
    check(estimator)
