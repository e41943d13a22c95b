"""What a metric is good for on held-out rows: against scikit-learn's scores, and where the answer is known."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import average_precision_score, balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GroupKFold, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import convexmetric as cm
from convexmetric.errors import InputError
from convexmetric.selection import PairedScores
from convexmetric.selection.folds import dealt, distinct_rows
from convexmetric.selection.records import printed_p
from convexmetric.selection.rows import row_scores

#: Two classes that two of ten columns tell apart.
RNG = np.random.default_rng(0)
Y = np.repeat(["no", "yes"], 60)
X = RNG.standard_normal((120, 10)) * np.r_[1.0, 1.0, np.full(8, 5.0)] + 2.0
X[:, :2] += 2.0 * (Y == "yes")[:, None]


class Columns(TransformerMixin, BaseEstimator):
    """Keeps some columns; counts how often it is fitted, and can be interrupted."""

    fits = 0

    def __init__(self, kept=(0, 1), interrupt_at=None):
        self.kept = kept
        self.interrupt_at = interrupt_at

    def fit(self, X, y):
        type(self).fits += 1
        if self.interrupt_at == type(self).fits:
            raise KeyboardInterrupt
        self.fitted_ = True
        return self

    def transform(self, X):
        return X[:, list(self.kept)]


@pytest.fixture(autouse=True)
def count_anew():
    Columns.fits = 0


@pytest.mark.parametrize("scale", [True, False])
def test_scores_are_those_of_scikit_learn_fold_by_fold(scale):
    splitter = StratifiedKFold(4, shuffle=True, random_state=1)
    # 60 rows of the one label and 40 of the other, so that weights of rows differ.
    points, labels = X[:100], Y[:100]
    found = cm.held_out(Columns(), points, labels, cv=splitter, n_neighbors=5, scale=scale)
    for fold, (learn, rest) in enumerate(splitter.split(points, labels)):
        scaler = StandardScaler(with_mean=scale, with_std=scale).fit(points[learn])
        A, B = scaler.transform(points[learn]), scaler.transform(points[rest])
        for place, columns in (("before", slice(None)), ("after", [0, 1])):
            Z, queries = A[:, columns], B[:, columns]
            # Two classes and five neighbours: no vote is a tie.
            accuracy = KNeighborsClassifier(5).fit(Z, labels[learn]).score(queries, labels[rest])
            assert getattr(found.accuracy, place)[fold] == pytest.approx(accuracy, abs=1e-12)
            areas, precisions = (
                [
                    score(labels[learn] == label, -np.linalg.norm(Z - query, axis=1))
                    for query, label in zip(queries, labels[rest], strict=True)
                ]
                for score in (roc_auc_score, average_precision_score)
            )
            others = [np.sum(labels[learn] != label) for label in labels[rest]]
            assert getattr(found.retrieval, place)[fold] == pytest.approx(np.average(areas, weights=others), abs=1e-12)
            assert getattr(found.average_precision, place)[fold] == pytest.approx(np.mean(precisions), abs=1e-12)
    assert (found.folds, found.planned, found.rows) == (4, 4, 100)


def test_every_metric_ranks_a_random_label_at_one_half():
    """The query gets every label of the corpus in turn; average precision depends on where labels lie."""
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1, 2], [2, 5, 23])
    corpus, queries = rng.normal(size=(30, 2)), np.tile(rng.normal(size=2), (30, 1))
    near_together = corpus * np.where(labels == 2, 0.1, 1.0)[:, None]
    found = [row_scores(Z, labels, queries, labels, k=1).mean(axis=1) for Z in (corpus, near_together)]
    assert [area for _, area, *_ in found] == pytest.approx([0.5, 0.5], abs=1e-12)
    assert abs(found[0][2] - found[1][2]) > 0.05


def test_noise_seldom_helps():
    """One label of every five rows is rare: a learned metric moves the other label to the middle."""
    said, by_precision = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        labels = (rng.random(90) < 0.2).astype(int)
        found = cm.held_out(cm.MLR(C=10.0, tol=5e-2, measure="auc"), rng.normal(size=(90, 5)), labels, repeats=1)
        said.append(found.retrieval.verdict)
        by_precision.append(replace(found.average_precision, fixed_chance=True).verdict)
    assert max(said.count("helps"), said.count("hurts")) <= 4
    assert by_precision.count("helps") > 5
    assert found.average_precision.verdict == "no fixed chance level"


def test_the_test_of_nadeau_and_bengio():
    rng = np.random.default_rng(5)
    before, after = rng.random(10), rng.random(10)
    scores = PairedScores(before, after, 0.25)
    d = after - before
    error = np.sqrt((1 / 10 + 0.25) * np.sum((d - d.mean()) ** 2) / 9)
    assert scores.difference == pytest.approx(d.mean())
    assert scores.standard_error == pytest.approx(error)
    assert scores.p_value == pytest.approx(2 * student.sf(abs(d.mean()) / error, 9), rel=1e-9)
    turned = PairedScores(after, before, 0.25)
    assert (turned.difference, turned.p_value) == (-scores.difference, scores.p_value)


def test_the_verdict_turns_at_five_percent():
    d = np.array([-0.01, 0.0, 0.01, 0.02])
    level = student.ppf(0.975, 3) * np.sqrt((1 / 4 + 1 / 3) * d.var(ddof=1))
    shifted = d - d.mean()
    for factor, words in ((1.01, "helps"), (0.99, "no measurable difference"), (-1.01, "hurts")):
        scores = PairedScores(np.full(4, 0.5), 0.5 + shifted + factor * level, 1 / 3)
        assert scores.verdict == words
    assert PairedScores(np.ones(1), np.zeros(1), 0.5).verdict == "one fold cannot tell"


def test_what_tells_the_classes_apart_helps_and_what_does_not_hurts():
    helps, hurts = cm.held_out(Columns(), X, Y), cm.held_out(Columns(kept=range(2, 10)), X, Y)
    assert helps.accuracy.verdict == helps.retrieval.verdict == "helps"
    assert hurts.accuracy.verdict == hurts.retrieval.verdict == "hurts"
    assert "helps classification by nearest neighbours, and helps retrieval" in str(helps)
    assert "hurts classification" in hurts._repr_html_()


def test_all_columns_in_another_order_make_no_difference():
    same = cm.held_out(Columns(kept=range(9, -1, -1)), X, Y)
    for _, scores in same.named():
        np.testing.assert_allclose(scores.after, scores.before, atol=1e-12)
    assert same.accuracy.verdict == same.retrieval.verdict == "no measurable difference"


def test_a_learned_metric_helps_among_columns_of_noise():
    found = cm.held_out(cm.LargeMargin(), X, Y, repeats=1)
    assert found.accuracy.verdict == found.retrieval.verdict == "helps"


def test_labels_that_say_nothing_are_not_learned():
    labels = np.random.default_rng(3).permutation(Y)
    assert cm.held_out(cm.LargeMargin(), X, labels, repeats=1).accuracy.verdict == "no measurable difference"


def test_rows_of_labels_that_are_not_learned_from_are_errors_and_no_queries():
    labels = Y.copy()
    labels[0] = "once"
    found = cm.held_out(Columns(), X, labels, cv=5, repeats=1)
    kept = cm.held_out(Columns(), X, labels, cv=5, repeats=1, n_neighbors=1)
    assert found.folds == 5
    assert np.isfinite(found.retrieval.after).all()
    assert kept.accuracy.after.max() <= 1.0


def test_ctrl_c_keeps_the_folds_that_are_scored():
    found = cm.held_out(Columns(interrupt_at=4), X, Y, cv=5)
    assert (found.folds, found.planned, found.keyboard_interrupt) == (3, 10, True)
    assert "mean of 3 of 10 folds" in str(found)
    whole = cm.held_out(Columns(), X, Y, cv=5)
    np.testing.assert_array_equal(found.accuracy.after, whole.accuracy.after[:3])
    Columns.fits = 0
    with pytest.raises(KeyboardInterrupt):
        cm.held_out(Columns(interrupt_at=1), X, Y)


def test_a_limit_on_time_ends_with_the_first_fold_at_the_latest():
    found = cm.held_out(Columns(), X, Y, max_seconds=1e-9)
    assert (found.folds, found.keyboard_interrupt) == (1, False)
    assert np.isnan(found.accuracy.standard_error)
    assert "One fold of held-out rows cannot tell" in str(found)


def test_folds_repeat_and_the_transformer_stays_as_it_is():
    transformer = Columns()
    one, two = (cm.held_out(transformer, X, Y) for _ in range(2))
    np.testing.assert_array_equal(one.accuracy.before, two.accuracy.before)
    assert not hasattr(transformer, "fitted_")
    other = cm.held_out(transformer, X, Y, random_state=1)
    assert (one.accuracy.before != other.accuracy.before).any()


def test_identical_rows_are_in_one_fold():
    rng = np.random.default_rng(3)
    copied = np.r_[np.arange(120), rng.integers(120, size=80), np.full(10, 7)]
    points, labels = X[copied], Y[copied]
    folds = dealt(points, labels, 5, 2, 0)
    assert len(folds) == 10
    for learn, rest in folds:
        assert not set(copied[learn]) & set(copied[rest])
        np.testing.assert_array_equal(np.sort(np.r_[learn, rest]), np.arange(210))
    # Every row is held out once in each of the two rounds, and classes keep their shares of different rows.
    for first in (0, 5):
        np.testing.assert_array_equal(
            np.sort(np.concatenate([rest for _, rest in folds[first : first + 5]])), np.arange(210)
        )
    assert {np.unique(Y[np.unique(copied[rest])], return_counts=True)[1].tolist() == [12, 12] for _, rest in folds} == {
        True
    }
    found = cm.held_out(Columns(), points, labels)
    assert found.copies == 90
    assert "(210 rows, of which 90 are copies and in the fold of what they copy)" in str(found)


def test_folds_of_different_rows_are_those_of_scikit_learn():
    expected = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=3).split(X, Y)
    for found, wanted in zip(dealt(X, Y, 5, 2, 3), expected, strict=True):
        for rows, others in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(rows, others)
    assert "copies" not in cm.held_out(Columns(), X, Y).heading()


def test_zeros_of_both_signs_are_one_row():
    first, place = distinct_rows(np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 1.0]]))
    assert (first.tolist(), place.tolist()) == ([0, 2], [0, 0, 1])


def test_folds_of_labels_of_their_own_are_refused():
    groups = np.unique(Y, return_inverse=True)[1]

    class ByLabel:
        def split(self, X, y):
            return GroupKFold(2).split(X, y, groups)

    with pytest.raises(InputError, match="let cv stratify"):
        cm.held_out(Columns(), X, Y, cv=ByLabel())


def test_few_rows_of_a_class_are_no_warning():
    with warnings.catch_warnings(action="error"):
        cm.held_out(Columns(), X[:100], np.r_[Y[:97], ["a", "b", "b"]], repeats=1)


def test_copies_of_a_row_are_one_observation():
    rng = np.random.default_rng(0)
    before, after = rng.integers(2, size=(2, 60)).astype(float)
    once = PairedScores(before, after, 0.0)
    thrice = PairedScores(np.tile(before, 3), np.tile(after, 3), 0.0, groups=np.tile(np.arange(60), 3))
    assert thrice.standard_error == pytest.approx(once.standard_error)
    assert thrice.p_value == pytest.approx(once.p_value)
    assert PairedScores(np.tile(before, 3), np.tile(after, 3), 0.0).p_value < once.p_value
    # Of unequal numbers of copies it is the variance of a mean of clusters.
    groups, d = np.r_[0, 0, 1, 2, 2, 2], np.arange(6.0)
    sums = np.array([(d - d.mean())[groups == g].sum() for g in range(3)])
    expected = np.sqrt(3 / 2 * (sums**2).sum()) / 6
    assert PairedScores(np.zeros(6), d, 0.0, groups=groups).standard_error == pytest.approx(expected)


def test_integer_weights_are_copies_of_a_row():
    rng = np.random.default_rng(0)
    before, after, lda = rng.random((3, 40))
    weights, groups = rng.integers(1, 5, size=40), np.arange(40) % 30
    weighted = PairedScores(before, after, 0.0, lda, groups=groups, weights=weights.astype(float))
    copied = PairedScores(*(np.repeat(one, weights) for one in (before, after)), 0.0, groups=np.repeat(groups, weights))
    for name in ("observations", "difference", "standard_error", "p_value"):
        assert getattr(weighted, name) == pytest.approx(getattr(copied, name), rel=1e-12)
    assert weighted.mean(lda) == pytest.approx(np.repeat(lda, weights).mean(), rel=1e-12)
    even = replace(weighted, weights=np.full(40, 2.5))
    assert even.p_value == pytest.approx(replace(weighted, weights=None).p_value, rel=1e-12) != weighted.p_value


def test_small_p_values_are_not_printed():
    assert [printed_p(value) for value in (0.5, 1.2e-6, 9e-7, 1e-300)] == ["0.5", "1.2e-06", "< 1e-06", "< 1e-06"]


def test_a_balanced_accuracy_is_that_of_scikit_learn():
    labels = np.repeat(["many", "few"], [100, 20])
    splitter = StratifiedKFold(4)
    found = cm.held_out(Columns(), X, labels, cv=splitter)
    for fold, (learn, rest) in enumerate(splitter.split(X, labels)):
        scaler = StandardScaler().fit(X[learn])
        said = KNeighborsClassifier(3).fit(scaler.transform(X[learn]), labels[learn]).predict(scaler.transform(X[rest]))
        assert found.balanced.before[fold] == pytest.approx(balanced_accuracy_score(labels[rest], said))
    assert "balanced" in str(found)
    assert cm.held_out(Columns(), X, Y).balanced is None
