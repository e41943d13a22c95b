"""Risks as somebody else writes them, from docs/extending.md, with the problem of each in CVXPY.

Their rules are in ``outside_risks.py``.
"""

from abc import abstractmethod
from itertools import permutations

import cvxpy as cp
import numpy as np
from scipy.optimize import linear_sum_assignment, linprog, minimize

from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.described import Described
from convexmetric.risks import Cuts, Risk

RNG = np.random.default_rng(0)


class OwnRisk(Risk):
    """A maximum over a set, by an oracle."""

    parts, part_kind, nonnegative = 1, "whole", True
    #: It has no squared distances, whose rounding would count in a sum with a risk that has.
    lipschitz = 0.0

    @abstractmethod
    def oracle(self, M):
        """v and S of the plane that is tight at M, and the numbers that make it."""

    def value(self, M):
        v, S, _ = self.oracle(M)
        return float(v - (S * M).sum())

    def part_values(self, M):
        return np.array([self.value(M)])

    def worst_comparisons(self, parts, M, other=None):
        return []

    def separate(self, M, groups):
        v, S, _ = self.oracle(M)
        return Cuts(np.array([v - (S * M).sum()]), np.array([v]), self.cone.coordinates(S)[None], np.zeros(1))

    def statement(self, M):
        raise NotImplementedError

    def described(self):
        return Described({"kind": self.kind}, self.data)

    def hints(self, dual):
        dual = dual.clipped()
        kept = dual.weights[:, 0] > 0.0
        w, each = dual.weights[kept, 0], [self.oracle(M)[2] for M in dual.witnesses[kept]]
        return Described(arrays=self.mean(w, {name: np.array([one[name] for one in each]) for name in each[0]}))

    def mean(self, w, each):
        """Numbers of planes that are concave in them need no planes apart."""
        return {name: np.tensordot(w, own, 1) for name, own in each.items()}


class MultipleKernels(OwnRisk):
    kind = "multiple kernels"

    def __init__(self, K, y):
        self.cone, self.K, self.y = NonnegativeDiagonal(len(K)), K, y
        self.data = {"kernels": K, "labels": y}

    def alphas(self, M):
        Q = np.tensordot(M, self.K, 1) * np.outer(self.y, self.y)
        n = len(self.y)
        found = minimize(
            lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1.0), np.full(n, 0.5), jac=True, bounds=[(0.0, 1.0)] * n,
            method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000},
        )  # fmt: skip
        return found.x

    def oracle(self, M):
        a = self.alphas(M)
        return a.sum(), 0.5 * np.einsum("i,kij,j->k", a * self.y, self.K, a * self.y), {"alphas": a}

    def value_hints(self, M):
        return {"coefficients": self.alphas(M) * self.y}

    def program(self, reg):
        a, y = cp.Variable(len(self.y)), self.y
        hold = [cp.quad_form(cp.multiply(a, y), cp.psd_wrap(K)) <= 2.0 * reg for K in self.K]
        return cp.Problem(cp.Maximize(cp.sum(a)), [*hold, a >= 0.0, a <= 1.0])


class GradedRankings(OwnRisk):
    kind = "graded rankings"

    def __init__(self, Z, gains):
        n, d = Z.shape[1:]
        self.cone, self.Z = PSDCone(d), Z
        discounts = 1.0 / np.log2(np.arange(2.0, n + 2.0))
        self.best = np.argsort(np.argsort(-gains, axis=1, kind="stable"), axis=1)
        most = (gains * discounts[self.best]).sum(axis=1)
        self.losses = 1.0 / n - gains[:, :, None] * discounts / most[:, None, None]
        self.losses += np.maximum(0.0, -(np.eye(n)[self.best] * self.losses).sum(axis=(1, 2)))[:, None, None]
        self.weights = discounts
        self.data = {"differences": Z, "place_losses": self.losses, "place_weights": discounts,
                     "best_places": self.best}  # fmt: skip

    def each(self, M):
        for Z, losses, best in zip(self.Z, self.losses, self.best, strict=True):
            d = ((Z @ M) * Z).sum(axis=1)
            yield losses + (self.weights[best][:, None] - self.weights) * d[:, None]

    def oracle(self, M):
        places = np.array([linear_sum_assignment(A, maximize=True)[1] for A in self.each(M)])
        rows = np.arange(places.shape[1])
        v = np.mean([losses[rows, own].sum() for losses, own in zip(self.losses, places, strict=True)])
        by = self.weights[places] - self.weights[self.best]
        return v, np.einsum("qia,qi,qib->ab", self.Z, by, self.Z) / len(self.Z), {"places": places}

    def mean(self, w, each):
        return each | {"plane_weights": w * (1.0 - 1e-15)}

    def value_hints(self, M):
        n, found = self.Z.shape[1], []
        for A in self.each(M):
            rows = np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))
            found.append(linprog(-A.ravel(), A_eq=np.vstack(rows), b_eq=np.ones(2 * n)).eqlin.marginals[:n])
        return {"potentials": -np.array(found)}

    def program(self, reg):
        M, n, cost = cp.Variable(self.cone.shape, PSD=True), self.Z.shape[1], 0.0
        for Z, losses, best in zip(self.Z, self.losses, self.best, strict=True):
            d = cp.diag(Z @ M @ Z.T)
            rankings = [np.array(own) for own in permutations(range(n))]
            cost += cp.max(cp.hstack([
                losses[np.arange(n), own].sum() + (self.weights[best] - self.weights[own]) @ d for own in rankings
            ])) / len(self.Z)  # fmt: skip
        return cp.Problem(cp.Minimize(cost + reg * cp.trace(M)))


class Triples(OwnRisk):
    def __init__(self, D):
        self.cone, self.D, self.data = PSDCone(D.shape[1]), D, {"compared": D}

    def hinges(self, M):
        return 1.0 - np.tensordot(self.D, M, 2)

    def program(self, reg):
        M = cp.Variable(self.cone.shape, PSD=True)
        s = cp.hstack([cp.sum(cp.multiply(D, M)) for D in self.D])
        return cp.Problem(cp.Minimize(self.cost(s, M) + reg * cp.trace(M)))


class Robust(Triples):
    kind = "robust"

    def oracle(self, M):
        s = self.hinges(M)
        p = np.exp(np.maximum(s, 0.0))
        p /= p.sum()
        u = np.where(s > 0.0, p, 0.0)
        v = u.sum() - (p * np.log(p * len(p))).sum()
        return v, np.tensordot(u, self.D, 1), {"probabilities": p, "slopes": u}

    def cost(self, s, M):
        return cp.log_sum_exp(cp.pos(1.0 - s)) - np.log(len(self.D))


class Adversarial(Triples):
    kind = "adversarial"

    def oracle(self, M):
        norm = np.linalg.norm(M)
        u = 1.0 * (self.hinges(M) + 0.125 * norm > 0.0)
        Z = 0.125 * u.sum() * (1.0 - 1e-12) * M / max(norm, 1e-300)
        return u.mean(), (np.tensordot(u, self.D, 1) - Z) / len(u), {"slopes": u, "direction": Z}

    def cost(self, s, M):
        return cp.sum(cp.pos(1.0 - s + 0.125 * cp.norm(M, "fro"))) / len(self.D)


class Transport(OwnRisk):
    kind, nonnegative = "transport", False

    def __init__(self, bins, sources, targets):
        self.cone, self.bins, self.ends = PSDCone(bins.shape[1]), bins, (sources, targets)
        self.data = {"bins": bins, "sources": sources, "targets": targets}

    def plans(self, M):
        """Cheapest plans, at metrics of any size, and their prices."""
        n = len(self.bins)
        off = self.bins[:, None] - self.bins
        D = np.einsum("ija,ab,ijb->ij", off, M, off).ravel()
        rows = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
        size = max(D.max(), 1e-300)
        found = [linprog(D / size, A_eq=rows, b_eq=np.append(*both)) for both in zip(*self.ends, strict=True)]
        plans = np.array([np.rint(one.x * 2**20).reshape(n, n) / 2**20 for one in found])
        return plans, np.array([size * one.eqlin.marginals[:n] for one in found])

    def oracle(self, M):
        T, off = self.plans(M)[0], self.bins[:, None] - self.bins
        return 0.0, np.einsum("qij,ija,ijb->ab", T, off, off) / len(T), {"plans": T.reshape(-1, T.shape[2])}

    def mean(self, w, each):
        return each | {"plane_weights": w * (1.0 - 1e-15)}

    def value_hints(self, M):
        return {"potentials": self.plans(M)[1]}

    def program(self, reg):
        M, n, cost = cp.Variable(self.cone.shape, PSD=True), len(self.bins), 0.0
        hold = []
        for a, b in zip(*self.ends, strict=True):
            u, v = cp.Variable(n), cp.Variable(n)
            hold += [
                u[i] + v[j] <= cp.sum(cp.multiply(np.outer(e, e), M))
                for i in range(n) for j in range(n) for e in [self.bins[i] - self.bins[j]]
            ]  # fmt: skip
            cost -= (a @ u + b @ v) / len(self.ends[0])
        return cp.Problem(cp.Minimize(cost + reg / 2.0 * cp.sum_squares(M)), hold)


def histograms(count, n):
    """Histograms whose entries are multiples of 2^-8."""
    return np.array([np.bincount(RNG.integers(0, n, 256), minlength=n) for _ in range(count)]) / 256.0


def many():
    """A risk of each class."""
    y = np.sign(RNG.standard_normal(30))
    points = [RNG.standard_normal((30, 2)) + (k < 2) * y[:, None] for k in range(5)]
    K = np.array([np.exp(-np.square(X[:, None] - X).sum(axis=2)) for X in points])
    V, W = RNG.standard_normal((2, 25, 3))
    V[:, 0] *= 2.0
    D = np.einsum("ta,tb->tab", V, V) - np.einsum("ta,tb->tab", W, W)
    Z, gains = RNG.standard_normal((6, 4, 3)), RNG.integers(0, 4, (6, 4)) + 0.0
    gains[:, 0] = 3.0
    made = [
        MultipleKernels(K, y), GradedRankings(Z, gains), Robust(D), Adversarial(D),
        Transport(RNG.standard_normal((5, 2)), histograms(3, 5), histograms(3, 5)),
    ]  # fmt: skip
    return {risk.kind: risk for risk in made}
