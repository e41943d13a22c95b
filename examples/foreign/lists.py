"""Methods that learn from lists: neighbours of points, and rankings of queries."""

from __future__ import annotations

from pathlib import Path

import cvxpy as cp
import numpy as np

import convexmetric as cm
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.cones import PSDCone
from convexmetric.described import Described
from convexmetric.measures import AUC, Measure
from convexmetric.regularizers import SquaredFrobenius, Zero
from convexmetric.risks import RankingRisk, SoftmaxRisk, Worst
from foreign.data import points
from foreign.method import method

# 7: MCML --------------------------------------------------------------------------------------------------------------


@method(7, "MCML", "Globerson and Roweis, NIPS 2005", "SoftmaxRisk + Zero", slow=True)
def mcml():
    """Minimise sum_i KL(p0(.|i) || p(.|i)) over M >= 0, with p(j|i) proportional to e^-d(i, j) over j other than i.

    With p0 uniform over the other points of the class of i it is a softmax of which these were chosen, and a constant.
    """
    X, y = points("iris", ())
    relevance = Relevance.from_labels(y)
    risk = SoftmaxRisk(Rankings(X, X, relevance, PSDCone(X.shape[1])))
    return cm.MetricProblem(risk, Zero(), constant=-float(np.log(relevance.n_relevant).sum()))


@mcml.in_cvxpy
def _mcml_in_cvxpy():
    X, y = points("iris", ())
    M, cost = cp.Variable((X.shape[1],) * 2, PSD=True), 0.0
    for i in range(len(X)):
        V = X[i] - X
        d, near = cp.sum(cp.multiply(V @ M, V), axis=1), np.flatnonzero((y == y[i]) & (np.arange(len(X)) != i))
        cost += cp.log_sum_exp(-d[np.arange(len(X)) != i]) + cp.sum(d[near]) / len(near) - np.log(len(near))
    return cp.Problem(cp.Minimize(cost))


# 10: ListNet ----------------------------------------------------------------------------------------------------------


def queries() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Wines, every sixth of them a query, and which other wines have its label."""
    X, y = points()
    asked = np.arange(0, len(X), 6)
    return X, y, asked, y[asked][:, None] == y


def top_one(relevant: np.ndarray) -> np.ndarray:
    """Probabilities of being first under grades 0 and 1, softmax by rows."""
    weight = np.exp(relevant.astype(float))
    return weight / weight.sum(axis=1, keepdims=True)


@method(
    10,
    "ListNet",
    "Cao, Qin, Liu, Tsai and Li, ICML 2007",
    "SoftmaxRisk + G + SquaredFrobenius",
    blocks=(top_one,),
    slow=True,
)
def listnet():
    """Minimise lambda/2 ||M||^2 - 1/n sum_q sum_x p_qx ln softmax(-d_q)_x over M >= 0.

    The softmax risk has uniform probabilities of the relevant items in place of p_q: a linear term makes up for it.
    """
    X, y, asked, relevant = queries()
    n, cone = len(asked), PSDCone(X.shape[1])
    rankings = Rankings(X, X[asked], Relevance.between(y[asked], y), cone)
    moved = (top_one(relevant) - relevant / relevant.sum(axis=1, keepdims=True)) / n
    G = cone.element(sum(cone.outer_sum(X[q] - X, weights) for q, weights in zip(asked, moved)))
    return cm.MetricProblem(SoftmaxRisk(rankings, C=1.0 / n), SquaredFrobenius(0.1), G)


@listnet.in_cvxpy
def _listnet_in_cvxpy():
    X, _, asked, relevant = queries()
    M = cp.Variable((X.shape[1],) * 2, PSD=True)
    cost = 0.05 * cp.sum_squares(M)
    for q, p in zip(asked, top_one(relevant)):
        d = cp.sum(cp.multiply((X[q] - X) @ M, X[q] - X), axis=1)
        cost += (cp.log_sum_exp(-d) + p @ d) / len(asked)
    return cp.Problem(cp.Minimize(cost))


# 14: rank-biased precision and partial AUC ----------------------------------------------------------------------------

RULES = Path(__file__).with_name("rules.py")


class RankBiasedPrecision(Measure):
    """Sum of 0.8^(r - 1) over the places r of relevant items, over that of the perfect ranking."""

    name, title = "rbp", "rank-biased precision"

    def gains(self, i, b, p, n):
        return 0.8 ** (i + b - 1.0) * 0.2 / (1.0 - 0.8**p)

    def described(self):
        return Described({"measure": "rbp"})


class PartialAUC(Measure):
    """Area under the first 30% of the ROC curve, as a share of the largest."""

    name, title = "pauc", "partial AUC"

    def gains(self, i, b, p, n):
        h = -(-3 * n // 10)
        return np.maximum(h - b, 0.0) / (p * h)

    def described(self):
        return Described({"measure": "pauc"})


def lists_of_wine() -> Rankings:
    """Thirty queries of wine; all others of the same label are relevant."""
    X, y = points()
    asked = np.arange(0, len(X), 6)
    return Rankings(X, X[asked], Relevance.between(y[asked], y), PSDCone(X.shape[1]))


@method(
    14,
    "RBP",
    "Moffat and Zobel, TOIS 2008",
    "own Measure + SquaredFrobenius",
    blocks=(RankBiasedPrecision, lists_of_wine),
    rules=RULES,
    slow=True,
)
def rbp():
    """Minimise lambda/2 ||M||^2 + 1/n sum_q max_y (1 - RBP(y) - <M, dpsi(q, y)>) over M >= 0."""
    return cm.MetricProblem(RankingRisk(lists_of_wine(), RankBiasedPrecision(), 1.0), SquaredFrobenius(1.0))


@method(
    14,
    "partial AUC",
    "Narasimhan and Agarwal, ICML 2013",
    "own Measure + SquaredFrobenius",
    blocks=(PartialAUC, lists_of_wine),
    rules=RULES,
    slow=True,
)
def partial_auc():
    """Minimise lambda/2 ||M||^2 + 1/n sum_q max_y (1 - pAUC(y) - <M, dpsi(q, y)>) over M >= 0."""
    return cm.MetricProblem(RankingRisk(lists_of_wine(), PartialAUC(), 1.0), SquaredFrobenius(1.0))


# 17: CVaR -------------------------------------------------------------------------------------------------------------


def small_lists() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every fourth wine, and every fifth of these a query: few enough pairs for CVXPY."""
    X, y = points()
    return X[::4], y[::4], np.arange(0, len(X[::4]), 5)


@method(17, "CVaR of AUC", "Rockafellar and Uryasev, J. Risk 2000", "Worst(RankingRisk) + SquaredFrobenius", slow=True)
def cvar():
    """Minimise lambda/2 ||M||^2 + the mean of the worst fifth of R_1(M), ..., R_n(M), R_q the loss of the AUC of q."""
    X, y, asked = small_lists()
    rankings = Rankings(X, X[asked], Relevance.between(y[asked], y), PSDCone(X.shape[1]))
    return cm.MetricProblem(Worst(RankingRisk(rankings, AUC(), 1.0), 0.2), SquaredFrobenius(1.0))


@cvar.in_cvxpy
def _cvar_in_cvxpy():
    X, y, asked = small_lists()
    M, t, parts = cp.Variable((X.shape[1],) * 2, PSD=True), cp.Variable(), []
    for q in asked:
        d = cp.sum(cp.multiply((X[q] - X) @ M, X[q] - X), axis=1)
        near, far = np.nonzero(np.outer(y == y[q], y != y[q]))
        parts.append(2 * cp.sum(cp.pos(0.5 - (d[far] - d[near]))) / len(near))
    tail = t + cp.sum(cp.pos(cp.hstack(parts) - t)) / (0.2 * len(asked))
    return cp.Problem(cp.Minimize(tail + 0.5 * cp.sum_squares(M)))
