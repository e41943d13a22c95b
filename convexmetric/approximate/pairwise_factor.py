"""Shared parts of descents on a factor B of the metric ``B^T B`` with a pairwise risk."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from convexmetric.approximate.base import RandomisedSolver
from convexmetric.approximate.batches import offered
from convexmetric.arrays import Array
from convexmetric.cones.factored import Images
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.risks import PairwiseRisk
from convexmetric.solvers.runtime import Monitor
from convexmetric.solvers.runtime.requirements import need_full_metrics, trace_weight

#: Largest difference of the distances to a negative and to a positive under a random start, in margins.
START = 2.0
#: Fraction of nonzero entries up to which points are stored as sparse arrays.
SPARSE_SHARE = 0.2


@dataclass
class PairwiseFactor:
    """The risk as a function of a factor B, by images ``B x`` of the points, and bounds on the convex problem.

    Attributes
    ----------
    problem : MetricProblem
    risk : PairwiseRisk
        Risk of the problem; points with few nonzero entries are converted to sparse arrays.
    monitor : Monitor
    """

    problem: MetricProblem
    risk: PairwiseRisk
    monitor: Monitor

    def __post_init__(self) -> None:
        given = self.risk.rankings
        if not given.dense or sp.issparse(given.X) or np.count_nonzero(given.X) > SPARSE_SHARE * given.X.size:
            return
        rankings = copy(given)
        rankings.X = sp.csr_array(given.X)
        rankings.Q = rankings.X if given.Q is given.X else sp.csr_array(given.Q)
        self.risk = PairwiseRisk(rankings, self.risk.weights, self.risk.margin)

    def images(self, B: Array) -> PairwiseRisk:
        """The risk as a function of the factor."""
        rankings = copy(self.risk.rankings)
        rankings.cone = Images(B)
        return PairwiseRisk(rankings, self.risk.weights, self.risk.margin)

    def scaled(self, B: Array, margins: float = START) -> Array:
        """Multiple of B with a largest ``d(q, negative) - d(q, positive)`` of so many margins."""
        largest = self.images(B).largest_margin(B)
        return B * np.sqrt(margins * self.risk.margin / largest) if largest > 0.0 else B

    def look(self, B: Array, width: float, /, **details: float) -> bool:
        """Offer the metric, and the lower bound from its hinge slopes; True if the solve must stop."""
        return offered(self.problem, self.risk, self.monitor, B.T @ B, width, **details)


def factored(problem: MetricProblem) -> tuple[PairwiseRisk, float]:
    """Pairwise risk and trace weight of a problem; refuses other risks, regularizers, and diagonal metrics."""
    risk, reg = problem.risk.form(PairwiseRisk), trace_weight(problem)
    need_full_metrics(problem)
    return risk, reg


def check_not_printed(settings: RandomisedSolver) -> None:
    """Refuse ``as_printed``: there is no such procedure in print.

    Raises
    ------
    InputError
        If ``as_printed`` is set.
    """
    if settings.as_printed:
        raise InputError("as_printed must be False: the paper prints no procedure for descent on a factor")
