"""Rules of proof as somebody else writes them, from docs/extending.md: a file for ``convexmetric verify --rules``."""

import math
from fractions import Fraction

import numpy as np

from convexmetric.certificates.kernel import (
    Ball,
    Loss,
    Measure,
    Regularizer,
    exactly,
    exp,
    log,
    require_proven,
    semidefinite,
)
from convexmetric.certificates.rules.barriers import InverseTrace as SearchOfInverseTrace
from convexmetric.certificates.rules.norms import RowNorms as SearchOfRowNorms


class Exponential(Loss):
    """exp(-s) >= a (1 - ln a) - a s for a >= 0."""

    def value(self, s, mu):
        return exp(-s)

    def line(self, a, mu):
        return (Ball(1.0) - log(Ball(np.where(a > 0.0, a, 1.0)))) * a


class RankBiasedPrecision(Measure):
    """g(i, b) = (1 - r) r^(i + b - 1) / (1 - r^p), r = 4/5."""

    def gains(self, i, b, p, f, h):
        powers = exp(log(Ball.of(Fraction(4, 5))) * (i + b - 1.0))
        return powers * Ball.of(Fraction(1, 5) / (1 - Fraction(4, 5) ** p))


class PartialAUC(Measure):
    """Area under the curve up to a rate of false positives of 3/10: of the first m = ceil(3 f / 10) negatives."""

    def gains(self, i, b, p, f, h):
        m = math.ceil(Fraction(3 * f, 10))
        return Ball(np.maximum(m - b, 0.0)) / Ball(float(p * m))


class SpectralBound(Regularizer):
    """M <= U: 0 >= <P, M> - <P, U> for P = Y^T Y."""

    full = True

    def __init__(self, table, arrays, cone, points):
        super().__init__(table, arrays, cone, points)
        self.upper = cone.matrix(arrays, "upper")

    def read(self, table, arrays):
        return arrays("root_of_slope", None, self.cone.d)

    def value(self, factor, M, given):
        semidefinite(Ball(self.upper) - M, "U - M")
        return Ball(0.0)

    def slopes(self, given, most):
        P = Ball(given.T) @ Ball(given)
        return [P], (P * self.upper).sum()


class RowNorms(Regularizer):
    """weight * sum ||M_i|| >= <Q, M> where no row of Q is longer than the weight."""

    wanted, full, search = "kind weight", True, SearchOfRowNorms

    def read(self, table, arrays):
        return arrays("slope", self.cone.d, self.cone.d)

    def value(self, factor, M, given):
        return (M * M).sum(1).sqrt().sum() * self.weight

    def slopes(self, given, most):
        Q = Ball(given)
        longest = exactly(float((Q * Q).sum(1).sqrt().above().max()))
        require_proven(longest <= self.weight.lower(), "a row of Q is too long")
        return [(Q + Q.T) * 0.5], Ball(0.0)


class InverseTrace(Regularizer):
    """weight * tr N where [[M, C^T], [C, N]] >= 0, at most that of M^-1: P = -weight Y^T Y, e = -2 weight <Y, C>."""

    wanted, full, search = "kind weight", True, SearchOfInverseTrace

    def __init__(self, table, arrays, cone, points):
        super().__init__(table, arrays, cone, points)
        self.C = arrays("root_of_prior", None, cone.d)

    def read(self, table, arrays):
        return arrays("slope", None, self.cone.d), arrays("above", len(self.C), len(self.C))

    def value(self, factor, M, given):
        N = given[1]
        require_proven((N == N.T).all(), "N is not symmetric")
        mid = np.block([[M.mid, self.C.T], [self.C, N]])
        rad = np.zeros_like(mid)
        rad[: self.cone.d, : self.cone.d] = M.rad
        semidefinite(Ball(mid, rad), "[[M, C^T], [C, N]]")
        return Ball(N.diagonal()).sum() * self.weight

    def slopes(self, given, most):
        Y = Ball(given[0])
        return [-(Y.T @ Y) * self.weight], -(Y * self.C).sum() * self.weight * 2.0


class WeightedEntries(Regularizer):
    """weight * sum W_ij |X_ij| >= <P, X>, X = M - M0, where |P_ij| <= weight W_ij. Its slope is that of the hints."""

    wanted, optional, full = "kind weight", "prior", True

    def __init__(self, table, arrays, cone, points):
        super().__init__(table, arrays, cone, points)
        self.W = cone.matrix(arrays, "entry_weights")

    def read(self, table, arrays):
        return self.cone.matrix(arrays, "slope")

    def value(self, factor, M, given):
        return (abs(M if self.prior is None else M - self.prior) * self.W).sum() * self.weight

    def slopes(self, given, most):
        most = Ball(self.W) * self.weight
        require_proven((np.abs(given) <= most.below()).all(), "the slope is too large")
        return [Ball(given)], Ball(0.0) if self.prior is None else (Ball(given) * self.prior).sum()


LOSSES = {"outside exponential": Exponential}
MEASURES = {"outside rbp": RankBiasedPrecision, "outside partial auc": PartialAUC}
REGULARIZERS = {
    "outside spectral bound": SpectralBound,
    "outside row norms": RowNorms,
    "outside inverse trace": InverseTrace,
    "outside weighted entries": WeightedEntries,
}
