"""What descents on a factor B of the metric ``B^T B`` share where the risk is one of near and far items."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from convexmetric.cones.base import Array
from convexmetric.cones.images import Images
from convexmetric.problem import MetricProblem
from convexmetric.risks import PairwiseRisk, SmoothedPairs
from convexmetric.solvers.run import Monitor

__all__ = ["PairwiseFactor"]

#: Largest distance between a near and a far item under a random start, in margins.
START = 2.0


@dataclass
class PairwiseFactor:
    """Factors of a problem's metrics: the risk by their images, and what they prove of the convex problem.

    Attributes
    ----------
    problem : MetricProblem
    risk : PairwiseRisk
        Of the problem; its points become sparse where that pays.
    monitor : Monitor
    sparse_share : float
        Share of nonzero entries up to which points are multiplied as sparse ones.
    """

    problem: MetricProblem
    risk: PairwiseRisk
    monitor: Monitor
    sparse_share: float

    def __post_init__(self) -> None:
        given = self.risk.rankings
        if not given.dense or sp.issparse(given.X) or np.count_nonzero(given.X) > self.sparse_share * given.X.size:
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
        """A multiple of B under which the largest distance between a near and a far item is that many margins."""
        largest = self.images(B).largest_margin(B)
        return B * np.sqrt(margins * self.risk.margin / largest) if largest > 0.0 else B

    def look(self, B: Array, width: float, /, **details: float) -> bool:
        """Offer the metric, and the bound of the slopes of its hinges; True if the solve must stop."""
        M = B.T @ B
        here = self.risk.smoothed(M, width)
        value = here.exact + self.problem.penalty(M)
        self.monitor.primal(M, value)
        bound = self.problem.bound(here.point.value, here.point.S, M)
        self.monitor.dual(bound, lambda: SmoothedPairs(M, width), here.point)
        return self.monitor.iterate(objective=value, **details)
