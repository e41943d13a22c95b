r"""Solution of exercise 6.

With :math:`S = \sum_t u_t d_t` what is left is :math:`\sum_t u_t + \tfrac12 \|w\|^2 - S^\top w`. It is separable: each
weight minimises :math:`\tfrac12 w_f^2 - S_f w_f` over :math:`w_f \ge 0`, at :math:`w_f = \max(0, S_f)`, with the value
:math:`-\tfrac12 \max(0, S_f)^2`.

The bound equals F at these weights when every hinge touches its line there: :math:`u_t = C` where the margin is
violated, :math:`u_t = 0` where it is kept with room to spare, anything in between where it is met exactly. So triplets
with room to spare have no part in the optimal weights: without them the optimum is the same.
"""

import numpy as np


def objective(w, D, C):
    """Add half the squared length and C times the hinges."""
    return 0.5 * w @ w + C * np.maximum(0.0, 1.0 - D @ w).sum()


def bound(u, D, C):
    """Compute ``sum u - 1/2 ||[D^T u]_+||^2`` after clipping."""
    u = np.clip(u, 0.0, C)
    return u.sum() - 0.5 * (np.maximum(0.0, u @ D) ** 2).sum()


def weights(u, D, C):
    """Compute ``[D^T u]_+``."""
    return np.maximum(0.0, np.clip(u, 0.0, C) @ D)


if __name__ == "__main__":
    import sys

    sys.path.insert(0, sys.path[0] + "/..")
    import checking

    checking.main(globals())
