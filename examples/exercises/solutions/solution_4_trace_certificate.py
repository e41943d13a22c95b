r"""Solution of exercise 4.

Each constraint says :math:`\xi_q \ge \Delta - \langle W, \delta\psi \rangle`. Weighted by the multipliers, which add up
to C / n a query at most, they add up to :math:`R(W) \ge a - \langle S, W \rangle`.

:math:`\mathrm{tr}\, W - \langle S, W \rangle = \langle I - S, W \rangle`. If :math:`I - S` has a negative eigenvalue,
W along its eigenvector drives this to minus infinity; otherwise the minimum is zero, at :math:`W = 0`. So S must have
:math:`\lambda_{\max}(S) \le 1`, and :math:`\theta = \min(1, 1 / \lambda_{\max}(S))` is the best weight that ensures it.

At :math:`\lambda_{\max} = 1.001` the repair costs a thousandth of the bound. A program that does not check reports a
that is larger than what is proved, and may print a gap of zero at a metric that is not optimal.
"""

import numpy as np


def dual_point(program):
    """Sums of ``Delta`` and ``dpsi`` with the multipliers as weights."""
    given, a, S = program.param_dict, 0.0, 0.0
    for constraint in program.constraints[:-1]:
        which = constraint.label.removeprefix("ranking ")
        a += constraint.dual_value * given[f"Delta[{which}]"].value
        S = S + constraint.dual_value * given[f"dpsi[{which}]"].value
    return a, S


def trace_bound(a, S):
    """``theta a`` with the largest feasible theta."""
    return a * min(1.0, 1.0 / max(np.linalg.eigvalsh(S)[-1], 1e-300))


def project(S):
    """Keep the positive eigenvalues."""
    values, vectors = np.linalg.eigh(S)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T
