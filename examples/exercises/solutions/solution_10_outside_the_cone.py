r"""Solution of exercise 10.

In the basis of the eigenvectors of S the nearest matrix keeps the positive eigenvalues: then :math:`S - P` is negative
semidefinite and orthogonal to P, so that :math:`\langle S - P, Z - P \rangle = \langle S - P, Z \rangle \le 0`.

The projection is itself the witness against any other P of the cone. With :math:`Z = [S]_+`,
:math:`\langle S - P, Z - P \rangle = \|Z - P\|^2 - \langle S - Z, P - Z \rangle \ge \|Z - P\|^2 > 0`.

:math:`\mathrm{tr}\, W - \langle S, W \rangle = \langle I - S, W \rangle`. If :math:`I - S` has a negative eigenvalue,
W along its eigenvector drives this to minus infinity; otherwise the minimum is zero, at :math:`W = 0`. So S must have
:math:`\lambda_{\max}(S) \le 1`, and :math:`\theta = \min(1, 1 / \lambda_{\max}(S))` is the best weight that ensures it.

Each constraint says :math:`\xi_q \ge \Delta - \langle W, \delta\psi \rangle`. Weighted by the multipliers, which add up
to C / n a query at most, they add up to :math:`R(W) \ge a - \langle S, W \rangle`.

At :math:`\lambda_{\max} = 1.001` the repair costs a thousandth of the bound. A program that does not check reports a
that is larger than what is proved, and may print a gap of zero at a metric that is not optimal.
"""

import numpy as np


def project(S):
    """Keep the positive eigenvalues."""
    values, vectors = np.linalg.eigh(S)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def project_diagonal(S):
    """Keep the positive entries of the diagonal."""
    return np.diag(np.maximum(np.diag(S), 0.0))


def witness(S, P):
    """Take the projection itself."""
    return project(S)


def trace_bound(a, S):
    """Compute ``theta a`` with the largest feasible theta."""
    return a / max(1.0, np.linalg.eigvalsh(S)[-1])


def dual_point(program):
    """Sum ``Delta`` and ``dpsi`` with the multipliers as weights."""
    given, a, S = program.param_dict, 0.0, 0.0
    for constraint in program.constraints[:-1]:
        which = constraint.label.removeprefix("ranking ")
        a += constraint.dual_value * given[f"Delta[{which}]"].value
        S = S + constraint.dual_value * given[f"dpsi[{which}]"].value
    return a, S


if __name__ == "__main__":
    import sys

    sys.path.insert(0, sys.path[0] + "/..")
    import checking

    checking.main(globals())
