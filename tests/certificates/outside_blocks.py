"""Blocks as somebody else writes them, from docs/extending.md, which describe themselves for certificate files.

``start`` is what the names of their rules begin with: nothing for the kernel's own rules, ``"outside "`` for those of
``outside_rules.py``.
"""

from dataclasses import dataclass, field, replace

import cvxpy as cp
import numpy as np

from convexmetric.described import Described
from convexmetric.losses import SmoothLoss
from convexmetric.measures import Measure
from convexmetric.regularizers import Regularizer
from convexmetric.regularizers.norm_term import NormTerm


@dataclass(frozen=True)
class Exponential(SmoothLoss):
    """C exp(-s)."""

    C: float = 0.01
    start: str = ""
    nonnegative = True

    def values(self, s):
        return self.C * np.exp(-s)

    subgradient = curvature = values

    def clip(self, u):
        return np.maximum(u, 0.0)

    def dual_values(self, u):
        return u - u * np.log(np.where(u > 0.0, u, 1.0) / self.C)

    def statement(self, s):
        xi = cp.Variable(s.shape)
        return self.C * cp.sum(cp.exp(-xi)), s >= xi

    def described(self, signs):
        one = np.ones(len(signs))
        return Described({"loss": f"{self.start}exponential"}, {"weights": self.C * one, "margins": 0.0 * one})


class RankBiasedPrecision(Measure):
    name, title = "outside rbp", "rank-biased precision"

    def gains(self, i, b, p, n):
        return 0.8 ** (i + b - 1.0) * (1.0 - 0.8) / (1.0 - 0.8**p)

    def described(self):
        return Described({"measure": self.name})


class PartialAUC(Measure):
    name, title = "outside partial auc", "partial area under the curve"

    def gains(self, i, b, p, n):
        m = np.ceil(3.0 * n / 10.0)
        return np.maximum(m - b, 0.0) / (p * m)

    def described(self):
        return Described({"measure": self.name})


@dataclass(frozen=True)
class SpectralBound(Regularizer):
    """M <= U."""

    U: np.ndarray
    start: str = ""

    def _excess(self, S):
        """The least N >= S, 0 by <N, U>, and the metric U^1/2 Pi U^1/2 that attains it."""
        values, vectors = np.linalg.eigh(self.U)
        root, inverse = ((vectors * values**power) @ vectors.T for power in (0.5, -0.5))
        sizes, axes = np.linalg.eigh(root @ S @ root)
        N, Pi = ((axes * of) @ axes.T for of in (np.maximum(sizes, 0.0), sizes > 0.0))
        return inverse @ N @ inverse, root @ Pi @ root

    def value(self, M, cone):
        return 0.0 if np.linalg.eigvalsh(self.U - M)[0] >= -1e-12 else np.inf

    def conjugate(self, S, cone):
        N, M = self._excess(S)
        return float((N * self.U).sum()), M

    def repair(self, M, cone):
        root = np.linalg.inv(np.linalg.cholesky(self.U))
        return M / max(1.0, (1.0 + 1e-14) * float(np.linalg.eigvalsh(root @ M @ root.T)[-1]))

    def expression(self, M, cone):
        return cp.Constant(0.0)

    def constraints(self, M, cone):
        return [self.U >> M]

    def text(self, M):
        return f"[{M} <= U]"

    latex = text

    def described(self, cone, points):
        return Described({"kind": f"{self.start}spectral bound"}, {"upper": self.U})

    def hints(self, value, S, G, cone, hint):
        # The kernel's own rule finds its subgradient; one without a search is told.
        N = self._excess(S if G is None else S - G)[0] + 1e-10 * np.linalg.norm(S) * np.eye(cone.d)
        return {"arrays": {"root_of_slope": np.linalg.cholesky(N).T}} if self.start else {}


@dataclass(frozen=True)
class Fantope(Regularizer):
    """M <= I and tr M <= k: a sum of two rules, of which the first is told its subgradient."""

    k: float
    start: str = ""

    def value(self, M, cone):
        return 0.0 if np.linalg.eigvalsh(M)[-1] <= 1.0 + 1e-12 and np.trace(M) <= self.k * (1.0 + 1e-12) else np.inf

    def _price(self, S):
        """The multiplier t of the trace: k t + tr (S - t I)_+ is least."""
        values = np.sort(np.linalg.eigvalsh(S))[::-1]
        return max(0.0, values[min(int(self.k), len(values) - 1)])

    def conjugate(self, S, cone):
        values, vectors = np.linalg.eigh(S)
        t = self._price(S)
        above = np.maximum(values - t, 0.0)
        share = (values > t).astype(float)
        left, tied = self.k - share.sum(), np.abs(values - t) <= 0.0
        if t > 0.0 and tied.any():
            share[tied] = np.minimum(1.0, left / tied.sum())
        return self.k * t + float(above.sum()), (vectors * share) @ vectors.T

    def repair(self, M, cone):
        return M / max(1.0, (1.0 + 1e-14) * np.linalg.eigvalsh(M)[-1], (1.0 + 1e-14) * np.trace(M) / self.k)

    def expression(self, M, cone):
        return cp.Constant(0.0)

    def constraints(self, M, cone):
        return [np.eye(cone.d) >> M, cp.trace(M) <= self.k]

    def text(self, M):
        return f"[{M} <= I, tr {M} <= {self.k}]"

    latex = text

    def described(self, cone, points):
        each = [{"kind": f"{self.start}spectral bound"}, {"kind": "budget", "limit": float(self.k)}]
        arrays = {"term0_upper": np.eye(cone.d), "term1_spent": np.eye(cone.d)}
        return Described({"kind": "sum", "summands": each}, arrays)

    def hints(self, value, S, G, cone, hint):
        left = S if G is None else S - G
        values, vectors = np.linalg.eigh(left)
        return {"slopes": [(vectors * np.maximum(values - self._price(left), 0.0)) @ vectors.T]}


@dataclass(frozen=True)
class InverseTrace(Regularizer):
    """reg tr(M^-1 C^T C)."""

    C: np.ndarray
    reg: float = 1.0
    start: str = ""
    prior: np.ndarray = field(default=None)
    smooth_conjugate = True

    def value(self, M, cone):
        try:
            root = np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            return np.inf
        return self.reg * float(np.square(np.linalg.solve(root, self.C.T)).sum())

    def gradient(self, M, cone):
        half = np.linalg.solve(M, self.C.T)
        return -self.reg * half @ half.T

    def conjugate(self, S, cone):
        values, vectors = np.linalg.eigh(-S / self.reg)
        if not values[0] > 0.0:
            return np.inf, cone.identity()
        root, inverse = ((vectors * values**power) @ vectors.T for power in (0.5, -0.5))
        sizes, axes = np.linalg.eigh(root @ (self.C.T @ self.C) @ root)
        half = np.sqrt(np.maximum(sizes, 0.0))
        return -2.0 * self.reg * float(half.sum()), inverse @ ((axes * half) @ axes.T) @ inverse

    def expression(self, M, cone):
        N = cp.Variable((len(self.C), len(self.C)), symmetric=True)
        self_constraint = cp.bmat([[M, self.C.T], [self.C, N]]) >> 0
        object.__setattr__(self, "_block", self_constraint)
        return self.reg * cp.trace(N)

    def constraints(self, M, cone):
        return [self._block]

    def text(self, M):
        return f"{self.reg:g} tr({M}^-1 D)"

    latex = text

    def described(self, cone, points):
        return Described({"kind": f"{self.start}inverse trace", "weight": self.reg}, {"root_of_prior": self.C})


class RowNorms(NormTerm):
    """rest(M) + reg * sum of the norms of rows."""

    def __init__(self, reg, rest=None, start=""):
        super().__init__(reg, None, rest)
        self.start = start

    def described(self, cone, points):
        return self.beside_rest({"kind": f"{self.start}row norms"}, cone, points)

    def norm(self, N, cone):
        return self.reg * float(np.linalg.norm(N, axis=1).sum())

    def slopes(self, N, cone):
        Q = self.reg * N / np.maximum(np.linalg.norm(N, axis=1, keepdims=True), 1e-300)
        return 0.5 * (Q + Q.T)

    def _rows(self, Q):
        return Q * np.minimum(1.0, self.reg / np.maximum(np.linalg.norm(Q, axis=1, keepdims=True), 1e-300))

    def dual_norm(self, Y, cone):
        """At most the largest norm of a row."""
        return float(np.linalg.norm(Y, axis=1).max())

    def project_dual_ball(self, Y, cone):
        """The nearest (Q + Q^T) / 2, by gradient steps on Q."""
        Q = self._rows(Y)
        for _ in range(200):
            Q = self._rows(Q + Y - 0.5 * (Q + Q.T))
        return 0.5 * (Q + Q.T)

    def dual_ball_identity(self, cone):
        return self.reg * cone.identity()

    def norm_expression(self, N, cone):
        return self.reg * cp.sum(cp.norm(N, 2, axis=1))

    def norm_text(self, M):
        return f"{self.reg:g} ||{M}||_2,1"

    norm_latex = norm_text


class WeightedEntries(NormTerm):
    """rest(M) + reg * sum W_ij |M_ij - M0_ij|."""

    def __init__(self, reg, W, prior=None, rest=None):
        super().__init__(reg, prior, rest)
        self.W = W

    def described(self, cone, points):
        said = self.beside_rest({"kind": "outside weighted entries"}, cone, points)
        name = "term0_entry_weights" if said.summands else "entry_weights"
        return replace(said, arrays=said.arrays | {name: self.W})

    def norm(self, N, cone):
        return self.reg * float((self.W * np.abs(N)).sum())

    def slopes(self, N, cone):
        return self.reg * self.W * np.sign(N)

    def dual_norm(self, Y, cone):
        return float((np.abs(Y) / self.W).max())

    def project_dual_ball(self, Y, cone):
        return np.clip(Y, -self.reg * self.W, self.reg * self.W)

    def dual_ball_identity(self, cone):
        return self.reg * self.W.diagonal().min() * cone.identity()

    def norm_expression(self, N, cone):
        return self.reg * cp.sum(cp.multiply(self.W, cp.abs(N)))

    def norm_text(self, M):
        return f"{self.reg:g} ||{M}||_W"

    norm_latex = norm_text
