r"""Solution of exercise 5.

:math:`\langle Q_\delta, A \rangle = \sum_i a_i^2` with :math:`a_i = \langle v_i, \delta \rangle`, so its gradient in
:math:`v_i` is :math:`2 a_i \delta`, and the gradient of the loss :math:`2 (r / \gamma) a_i \delta` where the loss is
positive. In print the 2 is missing.

The norm of A has the gradient :math:`A / \|A\|_2` in A, and so :math:`2 A v_i / \|A\|_2` in :math:`v_i`, as printed.
Half the loss with the whole norm is half of the loss with twice the norm: the printed steps descend the objective of
:math:`2 \lambda`.

The objective of :math:`\lambda` falls under these steps too, most of the way, and then rests above its optimum. Nothing
in the curve says so.
"""

import numpy as np


def loss_gradient(V, delta, r, gamma):
    """Compute ``2 r / gamma a_i delta`` where the hinge is positive."""
    a = V @ delta
    if 1.0 - r * (1.0 - (a**2).sum()) / gamma <= 0.0:
        return np.zeros_like(V)
    return 2.0 * r / gamma * np.outer(a, delta)


def norm_gradient(V):
    """Compute ``2 A v_i`` over the norm."""
    A = V.T @ V
    return 2.0 * V @ A / np.linalg.norm(A)


def lambda_descended(reg):
    """Take twice the lambda that was asked for."""
    return 2.0 * reg


if __name__ == "__main__":
    import sys

    sys.path.insert(0, sys.path[0] + "/..")
    import checking

    checking.main(globals())
