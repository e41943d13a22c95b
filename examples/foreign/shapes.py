"""Methods whose metrics have a shape: below the identity, of Toeplitz form, with zero rows, or a geometric mean."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import convexmetric as cm
from convexmetric.comparisons import Triplets
from convexmetric.cones import PSDCone
from convexmetric.described import Described
from convexmetric.losses import Hinge
from convexmetric.regularizers import Regularizer
from convexmetric.regularizers.norm_term import NormTerm
from convexmetric.risks import SeparableRisk
from foreign.data import differences, pairs, points, triplets
from foreign.method import method
from foreign.pairs import distances, no_risk
from foreign.triplets import margins

# 6: GMML --------------------------------------------------------------------------------------------------------------


class GeometricMean(Regularizer):
    """<A, M> + tr(M^-1 D), least at the geometric mean of A^-1 and D."""

    def __init__(self, A, D):
        self.A, self.D = A, D
        self.prior = self.conjugate(np.zeros_like(A), PSDCone(len(A)))[1]

    def value(self, M, cone):
        e, V = np.linalg.eigh(M)
        if e[0] <= 1e-13 * e[-1]:
            return np.inf
        return cone.inner(self.A, M) + float(((V.T @ self.D @ V).diagonal() / e).sum())

    def gradient(self, M, cone):
        inverse = np.linalg.inv(M)
        return self.A - inverse @ self.D @ inverse

    def conjugate(self, S, cone):
        e, V = np.linalg.eigh(self.A - S)
        if e[0] <= 0.0:
            return np.inf, cone.zeros()
        root, inverse = (V * np.sqrt(e)) @ V.T, (V / np.sqrt(e)) @ V.T
        f, W = np.linalg.eigh(root @ self.D @ root)
        middle = np.sqrt(np.maximum(f, 0.0))
        return -2.0 * float(middle.sum()), inverse @ (W * middle) @ W.T @ inverse

    def expression(self, M, cone):
        return cp.sum(cp.multiply(self.A, M)) + cp.matrix_frac(np.linalg.cholesky(self.D), M)

    def described(self, cone, points):
        root = np.linalg.cholesky(self.D).T
        return Described({"kind": "inverse trace", "weight": 1.0}, {"root_of_prior": root, "linear": self.A})

    def text(self, M):
        return f"<A, {M}> + tr({M}^-1 D)"

    latex = text


def scatters():
    """Scatter of the differences of similar pairs of wine, and of dissimilar ones."""
    X, y = points()
    similar, dissimilar = (differences(X, of) for of in pairs(y, 150))
    return X, similar.T @ similar, dissimilar.T @ dissimilar


@method(6, "GMML", "Zadeh, Hosseini and Sra, ICML 2016", "own Regularizer", blocks=(GeometricMean, no_risk))
def gmml():
    """Minimise <A, M> + tr(M^-1 D) over M > 0, the scatters A of similar and D of dissimilar pairs."""
    X, A, D = scatters()
    return cm.MetricProblem(no_risk(X, PSDCone(len(A))), GeometricMean(A, D))


@gmml.in_cvxpy
def _gmml_in_cvxpy():
    _, A, D = scatters()
    M = cp.Variable(A.shape, PSD=True)
    return cp.Problem(cp.Minimize(cp.trace(A @ M) + cp.matrix_frac(np.linalg.cholesky(D), M)))


# 12: Fantope, Toeplitz ------------------------------------------------------------------------------------------------


class Fantope(Regularizer):
    """The constraints M <= I and tr M <= k; the conjugate is the sum of the k largest eigenvalues, cut at zero."""

    def __init__(self, k):
        self.k = k

    def value(self, M, cone):
        return 0.0 if np.linalg.eigvalsh(M)[-1] <= 1.0 and cone.trace(M) <= self.k else np.inf

    def conjugate(self, S, cone):
        e, V = np.linalg.eigh(S)
        kept = (e > 0.0) & (np.arange(len(e)) >= len(e) - self.k)
        return float(e[kept].sum()), V[:, kept] @ V[:, kept].T

    def gradient(self, M, cone):
        return cone.zeros()

    def repair(self, M, cone):
        largest = max(np.linalg.eigvalsh(M)[-1], cone.trace(M) / self.k)
        return M if largest <= 1.0 - 1e-12 else (1.0 - 2e-12) / largest * M

    def expression(self, M, cone):
        return cp.Constant(0.0)

    def constraints(self, M, cone):
        return [cone.identity() - M >> 0, cp.trace(M) <= self.k]

    def described(self, cone, points):
        table = {"kind": "sum", "summands": [{"kind": "spectral bound"}, {"kind": "budget", "limit": float(self.k)}]}
        return Described(table, {"term0_upper": cone.identity(), "term1_spent": cone.identity()})

    def hints(self, value, S, G, cone, hint):
        e, V = np.linalg.eigh(S if G is None else S - G)
        return {"slopes": [(V * np.maximum(e - max(e[-self.k], 0.0), 0.0)) @ V.T]}

    def text(self, M):
        return f"[{M} <= I, tr {M} <= {self.k}]"

    latex = text


@method(12, "Fantope", "M <= I, tr M <= 3", "own Regularizer", blocks=(Fantope,))
def fantope():
    """Minimise 1/T sum_t max(0, 10 - s_t) over 0 <= M <= I with tr M <= 3."""
    X, y = points()
    compared = Triplets(X, triplets(y, 300), PSDCone(X.shape[1]))
    return cm.MetricProblem(SeparableRisk(compared, Hinge(1.0 / len(compared), 10.0)), Fantope(3))


@fantope.in_cvxpy
def _fantope_in_cvxpy():
    X, y = points()
    M, listed = cp.Variable((X.shape[1],) * 2, PSD=True), triplets(y, 300)
    hold = [np.eye(X.shape[1]) - M >> 0, cp.trace(M) <= 3]
    return cp.Problem(cp.Minimize(cp.sum(cp.pos(10 - margins(X, listed, M))) / len(listed)), hold)


@method(12, "Toeplitz", "M a Toeplitz matrix", "certify_program", blocks=(margins,))
def toeplitz():
    """Minimise 1/T sum_t max(0, 1 - s_t) + lambda tr M over positive semidefinite Toeplitz matrices M."""
    X, y = points()
    d, listed = X.shape[1], triplets(y, 300)
    m = cp.Variable(d)
    M = sum(m[k] * (np.eye(d, k=k) + np.eye(d, k=-k)) / (1 + (k == 0)) for k in range(d))
    return cp.Problem(
        cp.Minimize(cp.sum(cp.pos(1 - margins(X, listed, M))) / len(listed) + 0.01 * cp.trace(M)), [M >> 0]
    )


# 13: sparse rows ------------------------------------------------------------------------------------------------------


class RowNorms(NormTerm):
    """lambda sum_i ||M_i||_2 over the rows of M.

    The dual ball holds the symmetric parts of all matrices whose rows have norms of at most lambda.
    """

    def norm(self, N, cone):
        return self.reg * float(np.linalg.norm(N, axis=1).sum())

    def within(self, Q):
        size = np.linalg.norm(Q, axis=1, keepdims=True)
        return Q * np.minimum(1.0, (1.0 - 1e-12) * self.reg / np.maximum(size, 1e-300))

    def slopes(self, N, cone):
        size = np.linalg.norm(N, axis=1, keepdims=True)
        Q = self.reg * N / np.where(size > 0.0, size, 1.0)
        return 0.5 * (Q + Q.T)

    def project_dual_ball(self, Y, cone):
        Q = Y
        for _ in range(200):
            Q = self.within(Q + Y - 0.5 * (Q + Q.T))
        return 0.5 * (Q + Q.T)

    def dual_norm(self, Y, cone):
        return float(np.linalg.norm(Y, axis=1).max())

    def dual_ball_identity(self, cone):
        return self.reg * cone.identity()

    def norm_expression(self, N, cone):
        return self.reg * cp.sum(cp.norm(N, axis=1))

    def described(self, cone, points):
        return self.beside_rest({"kind": "row norms"}, cone, points)

    def hints(self, value, S, G, cone, hint):
        # The largest share of the dual point that some slope Q proves, with room for rounding.
        Q, share, room = cp.Variable(S.shape), cp.Variable(), 1e-7 * self.reg
        left = 0.5 * (Q + Q.T) - share * S + (0.0 if G is None else G)
        hold = [cp.norm(Q, axis=1) <= self.reg - room, left >> room * cone.identity(), share <= 1.0]
        cp.Problem(cp.Maximize(share), hold).solve(solver="CLARABEL")
        return {"arrays": {"slope": self.within(Q.value)}, "share": min(float(share.value), 1.0)}

    def norm_text(self, M):
        return f"{self.reg:g} ||{M}||_2,1"

    norm_latex = norm_text


@method(13, "l2,1", "Ying, Huang and Campbell, NIPS 2009", "own NormTerm", blocks=(RowNorms,))
def row_norms():
    """Minimise 1/T sum_t max(0, 1 - s_t) + lambda sum_i ||M_i||_2 over M >= 0: few features are in use."""
    X, y = points()
    compared = Triplets(X, triplets(y, 300), PSDCone(X.shape[1]))
    return cm.MetricProblem(SeparableRisk(compared, Hinge(1.0 / len(compared))), RowNorms(0.05))


@row_norms.in_cvxpy
def _row_norms_in_cvxpy():
    X, y = points()
    M, listed = cp.Variable((X.shape[1],) * 2, PSD=True), triplets(y, 300)
    return cp.Problem(
        cp.Minimize(cp.sum(cp.pos(1 - margins(X, listed, M))) / len(listed) + 0.05 * cp.sum(cp.norm(M, axis=1)))
    )


# 18: a threshold that is learned --------------------------------------------------------------------------------------


@method(
    18,
    "learned threshold",
    "Davis et al. with b learned",
    "certify_program",
    blocks=(distances,),
    options={"solver": "SCS", "eps": 1e-9},
)
def threshold():
    """Minimise 1/T sum_t max(0, 1 - r_t (b - d_t)) + lambda tr M over M >= 0, b; r = 1 for similar pairs, else -1."""
    X, y = points()
    similar, dissimilar = (differences(X, of) for of in pairs(y, 150))
    M, b = cp.Variable((X.shape[1],) * 2, PSD=True), cp.Variable()
    losses = cp.sum(cp.pos(1 - b + distances(similar, M))) + cp.sum(cp.pos(1 + b - distances(dissimilar, M)))
    return cp.Problem(cp.Minimize(losses / (len(similar) + len(dissimilar)) + 0.01 * cp.trace(M)))


# What is stated in CVXPY is its own reference.
for one in (toeplitz, threshold):
    one.in_cvxpy(one.state)
