r"""A metric for nearest neighbours that stays near a simple one, and is kept only if held-out rows favour it.

.. math:: \min_{M \succeq 0} \; \frac{\lambda}{2} \|M - s P\|_F^2
   + \frac{1}{|S|} \sum_{(i,j,k) \in S} \max(0, D_M(i, j) - D_M(i, k) + 1)

over the triplets of every point i with its nearest points j of the same label and k of other labels, by Euclidean
distance (:class:`~convexmetric.TripletProblem`). The prior P is

- ``"identity"``: Euclidean distance;
- ``"discriminant"``: points whitened by the covariance within classes, to which a tenth of its mean eigenvalue is added
  in all directions; directions are weighed by b / (1 + b), b being their variance between classes, or by .02 if that is
  more;
- ``"whitened"``: the same, by which also the neighbours are the nearest ones, and in whose coordinates M is learned
  and :math:`\|M - sP\|_F` is measured, P being the identity there;
- ``"lda"``: the linear discriminant analysis of scikit-learn.

s is ``scale`` times ten over the median squared distance of two points under P, so that margins of 1 are a tenth of a
usual distance at scale 1. :math:`\lambda` is ten times ``strength`` times :attr:`TripletProblem.reg_max
<convexmetric.TripletProblem.reg_max>`, divided by the number of points: the risk is a mean over triplets, and a sum of
so many outweighs a prior that does not fall. A strength of 1e9 is the prior alone.

One name among the priors has neither prior nor neighbours: ``"ranking"`` is metric learning to rank by the area under
the ROC curve (:class:`~convexmetric.MLR`), in which every point ranks all others. Its trace is that of the metric in
the coordinates of ``"whitened"``; C is the number of points over ten times ``strength``, and there is no scale.

With more than a hundred features, the metric is learned on the hundred leading principal components.

Prior, scale and strength, and whether to leave Euclidean distance at all, are chosen on rows held out from learning
(``estimators/neighbor_choice.py``). The paired test over rows treats the learned metrics as fixed: it generalises to
other rows of the same kind, not to other training sets.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from convexmetric.arguments import check_count, check_one_of, check_share, checked_weight
from convexmetric.arrays import Array
from convexmetric.deadline import OutOfTime
from convexmetric.errors import GapWarning, InputError
from convexmetric.estimators import neighbor_choice as choice
from convexmetric.estimators.base import MetricEstimator, parameters
from convexmetric.estimators.scikit_learn import ClassifierMixin
from convexmetric.problem import MetricProblem
from convexmetric.selection import HeldOut, Validation
from convexmetric.selection.folds import distinct_rows, progress_bar

#: Scales, and strengths from the strongest prior on, that are tried by default.
SCALES, STRENGTHS = (0.3, 1.0), (10.0, 1.0, 0.1)


@parameters
class NeighborMetric(ClassifierMixin, MetricEstimator):
    """A metric for nearest neighbours that is kept only where it does better than Euclidean distance.

    Parameters
    ----------
    n_neighbors : int
        Number of nearest points of the same label, and of other labels, in the triplets of a point; also the k of the
        accuracy used in the choice, and of :meth:`predict`.
    scoring : str
        Score used in the choice: ``"accuracy"`` of nearest neighbours, or for retrieval by label ``"map"`` or
        ``"auc"``, as in :class:`~convexmetric.selection.HeldOut`.
    prior : str or sequence of str
        Names of the priors to try: ``"identity"``, ``"discriminant"``, ``"whitened"``, ``"lda"``, each also alone,
        and ``"ranking"``. With the second of them the fourth alone is tried as well, and for retrieval the last.
    scale, strength : float or sequence of float
        Values to try, in the units of the module's formula. Of several strengths, the grid goes on while the largest
        or the smallest wins. A single prior, scale and strength are taken as they are, and their metric is kept.
    cv : int
        Folds of the rows, stratified by label; 3 at least where there is a choice.
    max_rows : int
        Rows of the first, stratified, sample of a longer table, on which all candidates are tried; the best go on to
        larger samples, and to the whole table.
    tol : float
        Certified relative gap at which the last solve stops; those that choose stop at 0.2, and
        those that score the choice at 0.01.
    max_seconds : float, optional
        Time limit of the whole fit, 75% of it for the choice and its scores.
    solver, max_iter
        As for :func:`~convexmetric.solve`, of the last solve.
    progress : bool
        Show progress on standard error.
    random_state : int, RandomState, Generator or None
        Seed or generator for folds and samples; None draws anew.
    preprocessor : (n, d) array or callable, optional
        Points that indices refer to.
    n_components : int, "rank" or None
        Rows of ``components_``, as for :class:`LargeMargin`.

    Attributes
    ----------
    kept_ : bool
        Whether the metric is a learned one; otherwise it is Euclidean distance times a constant.
    path_ : Validation or None
        Scores of the candidates that were last compared, of a long table the few on all its rows; None where there was
        nothing to choose, or no time. Gaps are those of solves that a limit ended, else 0; a candidate with one above
        0.5 is not chosen.
    held_out_ : HeldOut or None
        Scores of held-out rows, Euclidean and by the choice of other rows; twice the Euclidean ones where that is kept.
    reason_ : str
        Why there are no scores; empty where there are.
    classes_ : (c,) array
        The labels, sorted.

    Examples
    --------
    >>> import convexmetric as cm
    >>> data = cm.datasets.load("wine")
    >>> X = cm.datasets.preprocess(data.X, ["zscore"])
    >>> metric = cm.NeighborMetric().fit(X, data.y)
    >>> metric.kept_, metric.gap_ <= 1e-4
    (True, True)
    """

    #: Where the prior satisfies all margins of 1 the optimum is zero, for which a relative gap is not defined.
    _atol = choice.ZERO

    n_neighbors: int = 3
    scoring: str = "accuracy"
    prior: str | Sequence[str] = ("identity", "discriminant", "whitened")
    scale: float | Sequence[float] = SCALES
    strength: float | Sequence[float] = STRENGTHS
    cv: int = 4
    max_rows: int = 1000

    @property
    def chooses(self) -> bool:
        """Whether :meth:`fit` has several candidates to choose from, and scores the choice."""
        return len(self._candidates()) > 1

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose, test, and learn from all rows.

        Points whose label no other point has are left out, with a warning.

        Parameters
        ----------
        X : (n, d) array, or (n,) indices with a ``preprocessor``
        y : (n,) array
            Labels.
        sample_weight : (n,) array, optional
            Weight of the triplets of which a point is the i, and of its score where it is held out. It is a neighbour
            of others, votes, and counts in priors and discriminant analysis, whatever its weight.

        Raises
        ------
        InputError
            If an argument or a parameter is malformed, or there is one class only.
        KeyboardInterrupt
            At Ctrl-C. In the last solve the estimator is fitted all the same, with the best metric so far.
        """
        rng = self._begin()
        candidates = self._candidates()
        table = self._labelled(X, y, sample_weight)
        self.path_: Validation | None = None
        self.held_out_: HeldOut | None = None
        self.reason_ = ""
        best, interrupted = candidates[0], False
        # First of all, so that the choice cannot use up the time in which to state the last problem.
        bases = choice.Bases(table)
        for one in (choice.EUCLIDEAN, *candidates):
            bases.of(one[0])
        if len(candidates) > 1:
            try:
                best = self._chosen(table, rng, candidates)
            except KeyboardInterrupt:
                best, interrupted = choice.EUCLIDEAN, True
                self.reason_ = "interrupted while a metric was chosen"
        self.kept_ = best != choice.EUCLIDEAN
        self._learn(bases.problem(best), rng)
        if not self.kept_:
            self._stay_euclidean(table.points)
        self._voters = KNeighborsClassifier(self.n_neighbors).fit(self._images(table.points), table.labels)
        if interrupted:
            raise KeyboardInterrupt
        return self._finished()

    def predict(self, X: Any) -> np.ndarray:
        """``(n,)`` labels, by the vote of the ``n_neighbors`` nearest rows that were learned from.

        Distances are learned ones; of labels with equally many votes it is the first of ``classes_``.

        Parameters
        ----------
        X : (n, d) array, or (n,) indices with a ``preprocessor``
        """
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[shares.argmax(axis=1)])

    def predict_proba(self, X: Any) -> Array:
        """``(n, c)`` shares of the labels in the vote of :meth:`predict`, in the order of ``classes_``.

        Parameters
        ----------
        X : (n, d) array, or (n,) indices with a ``preprocessor``
        """
        images = self._transformed(X)
        return np.asarray(self._voters.predict_proba(images))

    def _stated(self, X: Any, y: Any, rng: np.random.Generator, sample_weight: Any = None) -> MetricProblem:
        candidates = self._candidates()
        if len(candidates) > 1:
            raise InputError(
                f"fit chooses among {len(candidates)} priors, scales and strengths: give one of each to state it"
            )
        return choice.Bases(self._labelled(X, y, sample_weight)).problem(candidates[0])

    def _stay_euclidean(self, points: Array) -> None:
        """Set ``components_`` to the prior: a multiple of the identity on all features, zero for constant ones."""
        prior = self.solution_.problem.regularizer.base.prior
        assert prior is not None
        if self.n_components is None or len(self.components_) == points.shape[1]:
            self.components_ = np.sqrt(prior.max()) * np.diag((np.ptp(points, axis=0) > 0.0).astype(np.float64))

    def _labelled(self, X: Any, y: Any, sample_weight: Any) -> choice.Table:
        points, labels, weights = self._with_class_mates(self._points(X, reset=True), y, sample_weight)
        if np.unique(labels).size < 2:
            raise InputError("y has one class only, so that there is nothing to tell apart")
        if self.n_neighbors >= len(labels):
            raise InputError(f"n_neighbors must be below the number of points, {len(labels)}, got {self.n_neighbors}")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        return choice.Table(points, codes, self.n_neighbors, weights)

    def _candidates(self) -> list[choice.Candidate]:
        """Priors, scales and strengths to try."""
        check_count(self.n_neighbors, "n_neighbors")
        check_count(self.max_rows, "max_rows")
        check_share(self.tol, "tol")
        check_one_of(self.scoring, choice.SCORINGS, "scoring")
        priors = [self.prior] if isinstance(self.prior, str) else list(self.prior)
        for name in priors:
            check_one_of(name, choice.PRIORS, "prior")
        scales, strengths = (
            sorted({checked_weight(one, name) for one in (given if isinstance(given, Iterable) else [given])})
            for name, given in (("scale", self.scale), ("strength", self.strength))
        )
        for name, values in (("prior", priors), ("scale", scales), ("strength", strengths)):
            if not values:
                raise InputError(f"{name} is empty; give at least one to try")
        # Of a ranking the scale is in the strength.
        of = {name: [1.0] if name == choice.RANKING else scales for name in priors}
        return [one for name in priors for one in product([name], of[name], strengths[::-1])]

    def _chosen(
        self, table: choice.Table, rng: np.random.Generator, candidates: list[choice.Candidate]
    ) -> choice.Candidate:
        """Choose the best candidate by held-out rows; sets ``path_``, ``held_out_`` and ``reason_``."""
        clock, n = self._clock, len(table.labels)
        check_count(self.cv, "cv")
        if np.unique(table.labels[distinct_rows(table.points)[0]], return_counts=True)[1].max() < 3:
            self.reason_ = "no label has three different rows, and scores need as many"
            return choice.EUCLIDEAN
        if self.cv < 3:
            raise InputError(f"cv must be at least 3, got {self.cv}")
        wanted, go_on = choice.tried_at_first(candidates, self.scoring), len({one[2] for one in candidates}) > 1
        dealt_rows = choice.stages(table, self.cv, self.max_rows, int(rng.integers(2**31)))
        stage: choice.Stage | None = None
        try:
            with clock.until(choice.FOLDS_SHARE), progress_bar(bool(self.progress)) as bar, warnings.catch_warnings():
                # No warnings of gaps: they are kept with the scores.
                warnings.simplefilter("ignore", GapWarning)
                bar.add_task("held-out rows", total=None)
                for splits in dealt_rows:
                    stage = choice.Stage(splits, self.scoring, clock).tried(wanted, go_on)
                    wanted = stage.survivors()
        except OutOfTime:
            self.reason_ = "" if stage else f"not enough time: choosing a metric takes more than {clock.spent:.0f} s"
        except InputError as error:
            self.reason_ = f"there are too few rows for folds: {error}"
        if stage is None or self.reason_:
            return choice.EUCLIDEAN
        try:
            with clock.until(choice.SCORED_SHARE):
                self.held_out_ = stage.held_out(n)
        except OutOfTime:
            self.held_out_ = stage.held_out(n, fine=False)
        self.path_ = stage.validation(n)
        return stage.kept()
