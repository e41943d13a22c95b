r"""Solution of exercise 8.

M = 2I has one to spare in the cone, and slacks of :math:`2 + |\langle D_t, M \rangle|` in all else. So both sides meet
in every problem with hinges, and best multipliers exist.

:math:`M \succeq 0` says :math:`M_{12}^2 \le M_{11} M_{22}`. With :math:`\epsilon > 0` a large :math:`M_{22}` allows
:math:`M_{12} = -c`; with :math:`\epsilon = 0` it forces :math:`M_{12} = 0`: the value jumps from 0 to -c.

In :math:`M_{22}` the Lagrangian is :math:`-Z_{22} M_{22}`, so :math:`Z_{22} = 0`, hence :math:`Z_{12} = 0`, and
:math:`Z_{11} = a`. What is left is :math:`(1 - u) M_{12} - a \epsilon - u c`: minus infinity unless u = 1. The best
bound is -c for every :math:`\epsilon`, also where the optimum is 0: a gap of c. No point is strictly feasible there,
as :math:`M_{11}` is zero. A solver that allows :math:`M_{11} = 10^{-8}` reports -c, the value that the optimum has as
soon as the data move.

For a metric with all comparisons :math:`0 < \sum_t u_t \gamma_t \le \langle \sum_t u_t D_t, M \rangle \le 0`, which
cannot be. If :math:`\sum_t u_t D_t = 0` has one solution, it is the last right singular vector.
"""

import numpy as np


def strict(D):
    """Take 2I, and slacks that are large enough."""
    M = 2.0 * np.eye(D.shape[1])
    return M, 2.0 + np.abs(np.tensordot(D, M))


def best(eps, c):
    """Let the second feature make up for the first."""
    return np.array([[eps, -c], [-c, c**2 / eps]]) if eps > 0.0 else np.zeros((2, 2))


def bound(a, u, eps, c):
    """Only u = 1 leaves a minimum."""
    return -a * eps - u * c if u == 1.0 else -np.inf


def refutes(u, D, gamma):
    """Check the three conditions."""
    top = np.linalg.eigvalsh(np.tensordot(u, D, axes=1))[-1]
    return bool(np.min(u) >= 0.0 and u @ gamma > 0.0 and top <= 1e-9)


def refutation(D):
    """Take the null vector, with the sign that makes it positive."""
    u = np.linalg.svd(D.reshape(len(D), -1).T)[2][-1]
    return u * np.sign(u.sum())


if __name__ == "__main__":
    import sys

    sys.path.insert(0, sys.path[0] + "/..")
    import checking

    checking.main(globals())
