"""scikit-learn's own checks, on every estimator and on every check of the installed version."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import convexmetric as cm

OF_TUPLES = (cm.RelativeComparisonMetric, cm.RandomProjectionMetric, cm.OperatorMarginMetric)

REASON = "predict and decision_function take pairs or triplets of points, (n, t, d); the check calls them with points"
#: The only checks that fail, all for the same reason.
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


def expected_failed_checks(estimator):
    return dict.fromkeys(CALLS_PREDICT, REASON) if type(estimator) in OF_TUPLES else {}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        cm.LargeMargin(),
        cm.LargeMargin(n_neighbors=1, diagonal=True),
        cm.MLR(),
        cm.MLR(measure="auc", diagonal=True, C=1.0),
        cm.RelativeComparisonMetric(),
        cm.RandomProjectionMetric(),
        cm.OperatorMarginMetric(),
        cm.CrossModalMetric(),
    ],
    expected_failed_checks=expected_failed_checks,
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


class Absent:
    def __get__(self, instance, owner):
        raise AttributeError("predict takes tuples")


class RelativeComparisonOfPoints(cm.RelativeComparisonMetric):
    predict = decision_function = Absent()


class RandomProjectionOfPoints(cm.RandomProjectionMetric):
    predict = decision_function = Absent()


class OperatorMarginOfPoints(cm.OperatorMarginMetric):
    predict = decision_function = Absent()


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        RelativeComparisonOfPoints(),
        RelativeComparisonOfPoints(kernel="rbf"),
        RandomProjectionOfPoints(),
        RandomProjectionOfPoints(n_components=2),
        OperatorMarginOfPoints(),
        OperatorMarginOfPoints(n_pairs=60, kernel="rbf"),
    ]
)
def test_predictions_of_tuples_are_all_that_fails(estimator, check):
    check(estimator)
