r"""Solution of exercise 11.

A violated triplet, :math:`\langle D_t, R \rangle < \gamma`, has the subgradient :math:`-D_t`, others zero; the norm has
:math:`\lambda R`.

A :math:`\lambda`-strongly convex function wants steps :math:`1 / (\lambda s)` at step s. At the first of them R is the
projected mean of ten matrices over :math:`\lambda`, the right size at once; later ones average the noise of all
batches. Constant steps end in a cloud around the optimum whose size they set, and :math:`1 / \sqrt{s}` shrinks it more
slowly than need be.

F(R) over a lower bound is at least F(R) over the optimum. Multipliers are clipped first: only those in [0, 1/n] prove a
bound.

The average of all metrics carries the first, bad ones along, with the weight 1 / steps each. Averages that begin late,
or weigh step s by s, are as good as the last metric and steadier.
"""

import numpy as np


def subgradient(R, D, lam, gamma):
    """Add the norm's gradient and those of violated triplets."""
    violated = np.einsum("tij,ij->t", D, R) < gamma
    return lam * R - np.tensordot(violated, D, axes=1) / len(D)


def positive_part(S):
    """Keep the positive eigenvalues."""
    values, vectors = np.linalg.eigh(S)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def descend(D, lam, gamma, steps, batch, rng):
    """Take steps of 1 / (lambda s)."""
    R = np.zeros(D.shape[1:])
    for s in range(1, steps + 1):
        some = D[rng.integers(0, len(D), batch)]
        R = positive_part(R - subgradient(R, some, lam, gamma) / (lam * s))
    return R


def times_optimum(R, u, D, lam, gamma):
    """Divide the objective by the dual value."""
    u = np.clip(u, 0.0, 1.0 / len(D))
    S = positive_part(np.tensordot(u, D, axes=1))
    objective = 0.5 * lam * np.sum(R * R) + np.maximum(0.0, gamma - np.einsum("tij,ij->t", D, R)).mean()
    return objective / (gamma * u.sum() - np.sum(S * S) / (2.0 * lam))


def audited(X, triplets, lam, gamma, R):
    """State the problem, and judge R."""
    import convexmetric as cm

    problem = cm.TripletProblem(X, triplets, reg=lam, margin=gamma)
    return cm.audit(problem, R)


if __name__ == "__main__":
    import sys

    sys.path.insert(0, sys.path[0] + "/..")
    import checking

    checking.main(globals())
