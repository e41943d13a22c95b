r"""Solution of exercise 3.

:math:`\langle Q_\delta, A \rangle = \sum_i a_i^2` with :math:`a_i = \langle v_i, \delta \rangle`, so its gradient in
:math:`v_i` is :math:`2 a_i \delta`, and the gradient of the loss :math:`2 (r / \gamma) a_i \delta` where the loss is
positive. In print the 2 is missing, while the step of the norm has its 2. Half the loss with the whole norm is half of
the loss with twice the norm: the printed steps descend the objective of :math:`2 \lambda`.

The objective of :math:`\lambda` falls under these steps too, most of the way, and then rests above its optimum. Nothing
in the curve says so.
"""

import numpy as np


def loss_gradient(V, delta, r, gamma):
    """``2 r / gamma a_i delta`` where the hinge is positive."""
    a = V @ delta
    if 1.0 - r * (1.0 - (a**2).sum()) / gamma <= 0.0:
        return np.zeros_like(V)
    return 2.0 * r / gamma * np.outer(a, delta)


def lambda_descended(reg):
    """Twice the lambda that was asked for."""
    return 2.0 * reg
