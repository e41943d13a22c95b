"""Rules of proof for risks as somebody else writes them, from docs/extending.md: a file for ``--rules``."""

import numpy as np

from convexmetric.certificates.kernel import Ball, Risk, exactly, exp, log, require_proven, require_valid


def require_mean(w):
    """Weights of planes may add up to less than one, if the risk is not negative."""
    require_proven((w >= 0.0).all() and sum(map(exactly, w)) <= 1, "the weights are not those of a mean")


def largest(x):
    """The larger of balls and zero."""
    return Ball(np.maximum(x.mid, 0.0), x.rad)


class MultipleKernels(Risk):
    """An SVM inside: the largest of sum a - (a y)^T (sum w_k K_k) (a y) / 2 over 0 <= a <= 1."""

    nonnegative = True

    def __init__(self, table, arrays, cone):
        super().__init__(table, arrays, cone)
        self.y = arrays("labels", None)
        self.K = arrays("kernels", cone.d, len(self.y), len(self.y))

    def value(self, M, arrays):
        # The primal problem at any coefficients is above the dual one.
        c = Ball(arrays("coefficients", len(self.y)))
        K = (Ball(self.K) * M[:, None, None]).sum(0)
        f = (K * c).sum(1)
        return (c * f).sum() * 0.5 + largest(1.0 - f * self.y).sum()

    def minorant(self, arrays):
        a = arrays("alphas", len(self.y))
        require_proven((a >= 0.0).all() and (a <= 1.0).all(), "the alphas are not in their box")
        c = Ball(a) * self.y
        return Ball(a).sum(), (Ball(self.K) * c[:, None] * c).sum(2).sum(1) * 0.5


class GradedRankings(Risk):
    """Mean of max over rankings: loss_i,pi(i) + (weight of the best place of i less that of pi(i)) d_i, summed."""

    nonnegative = True

    def __init__(self, table, arrays, cone):
        super().__init__(table, arrays, cone)
        self.Z = arrays("differences", None, None, cone.d)
        self.losses = arrays("place_losses", *self.Z.shape[:2], self.Z.shape[1])
        self.weights = arrays("place_weights", self.Z.shape[1])
        self.best = arrays("best_places", *self.Z.shape[:2], integers=self.Z.shape[1])
        require_valid((np.sort(self.best, axis=1) == np.arange(self.Z.shape[1])).all(), "best_places: no rankings")
        n = self.Z.shape[1]
        least = (np.eye(n)[self.best] * self.losses).sum(axis=(1, 2))
        require_valid((least >= 0.0).all(), "the best ranking must cost nothing, or the risk may be negative")

    def value(self, M, arrays):
        u, total = arrays("potentials", *self.best.shape), Ball(0.0)
        for Z, losses, best, own in zip(self.Z, self.losses, self.best, u, strict=True):
            d = ((Ball(Z) @ M) * Z).sum(1)
            A = Ball(losses) + (Ball(self.weights[best])[:, None] - self.weights) * d[:, None]
            left = A - Ball(own)[:, None]
            total = total + Ball(own).sum() + Ball(left.above().max(axis=0)).sum()
        return total / float(len(u))

    def minorant(self, arrays):
        w, (q, n) = arrays("plane_weights", None), self.best.shape
        places = arrays("places", len(w), q, n, integers=n)
        require_mean(w)
        require_proven((np.sort(places, axis=2) == np.arange(n)).all(), "a ranking has a place twice")
        v, S = Ball(0.0), Ball(np.zeros((self.cone.d,) * 2))
        for weight, ranked in zip(w, places, strict=True):
            for Z, losses, best, own in zip(self.Z, self.losses, self.best, ranked, strict=True):
                v = v + Ball(losses[np.arange(n), own]).sum() * weight
                by = (Ball(self.weights[own]) - self.weights[best]) * weight
                S = S + Ball(Z.T) @ (Ball(Z) * by[:, None])
        return v / float(q), S / float(q)


class Triples(Risk):
    """Margins <D_t, M> of listed matrices D_t."""

    nonnegative = True

    def __init__(self, table, arrays, cone):
        super().__init__(table, arrays, cone)
        self.D = arrays("compared", None, cone.d, cone.d)

    def hinges(self, M):
        """1 - <D_t, M>."""
        return 1.0 - (Ball(self.D) * M).sum(2).sum(1)

    def slopes(self, arrays):
        return arrays("slopes", len(self.D))

    def matrix(self, u):
        return (Ball(self.D) * Ball(u)[:, None, None]).sum(0)


class Robust(Triples):
    """The largest mean of hinges under p, less its divergence from the uniform distribution: log-mean-exp."""

    def value(self, M, arrays):
        return log(exp(largest(self.hinges(M))).sum() / float(len(self.D)))

    def minorant(self, arrays):
        p, u = arrays("probabilities", len(self.D)), self.slopes(arrays)
        require_proven((p > 0.0).all() and (u >= 0.0).all() and (u <= p).all(), "slopes are not below probabilities")
        total = Ball(p).sum()
        p, u = Ball(p) / total, Ball(u) / total
        return u.sum() - (p * log(p * float(len(self.D)))).sum(), (Ball(self.D) * u[:, None, None]).sum(0)


class Adversarial(Triples):
    """Mean of max(0, 1 - <D_t, M> + ||M|| / 8)."""

    def value(self, M, arrays):
        return largest(self.hinges(M) + M.norm() * 0.125).sum() / float(len(self.D))

    def minorant(self, arrays):
        u, Z = self.slopes(arrays), Ball(arrays("direction", self.cone.d, self.cone.d))
        require_proven((u >= 0.0).all() and (u <= 1.0).all(), "a slope is not between 0 and 1")
        reach = Ball(u).sum() * 0.125
        require_proven(Z.norm().upper() <= reach.lower(), "the direction is too long")
        n = float(len(self.D))
        return Ball(u).sum() / n, (self.matrix(u) - Z) / n


class Transport(Risk):
    """Less the mean cost of moving one histogram to another, <T, distances of bins under M>: it may be negative."""

    def __init__(self, table, arrays, cone):
        super().__init__(table, arrays, cone)
        self.bins = arrays("bins", None, cone.d)
        self.ends = [arrays(f"{end}s", None, len(self.bins)) for end in ("source", "target")]

    def value(self, M, arrays):
        u, total = arrays("potentials", *self.ends[0].shape), Ball(0.0)
        X = Ball(self.bins)
        G = X @ M @ X.T
        d = G[np.diag_indices(len(self.bins))]
        D = d[:, None] + d - G * 2.0
        for a, b, own in zip(*self.ends, u, strict=True):
            v = (D - Ball(own)[:, None]).below().min(axis=0)
            total = total - (Ball(own) * a).sum() - (Ball(v) * b).sum()
        return total / float(len(u))

    def minorant(self, arrays):
        w, (q, n) = arrays("plane_weights", None), self.ends[0].shape
        plans = arrays("plans", len(w), q * n, n).reshape(-1, q, n, n)
        require_mean(w)
        w = Ball(w) / Ball(w).sum()
        # Multiples of a power of two, whose sums are exact.
        fits = (plans >= 0.0).all() and (plans * 2**20 == np.rint(plans * 2**20)).all()
        fits = fits and (plans.sum(3) == self.ends[0]).all() and (plans.sum(2) == self.ends[1]).all()
        require_proven(fits, "a plan does not move one histogram to the other")
        T = (Ball(plans) * w[:, None, None, None]).sum(0).sum(0)
        ends, cross = (T + T.T).sum(1), Ball(self.bins.T) @ (T + T.T) @ Ball(self.bins)
        S = Ball(self.bins.T) @ (Ball(self.bins) * ends[:, None]) - cross
        return Ball(0.0), S / float(q)


RISKS = {
    "multiple kernels": MultipleKernels,
    "graded rankings": GradedRankings,
    "robust": Robust,
    "adversarial": Adversarial,
    "transport": Transport,
}
