r"""
Exercise 5. Find the misprint
=============================

Before: lessons 3, 4 and 6 (lecture 2). ★★

Maurer (2008) descends on vectors :math:`v_1, \dots, v_d` with :math:`A = \sum_i v_i v_i^\top`. For one pair with
difference :math:`\delta = x - x'`, label r and margin :math:`\gamma`, the loss is
:math:`h = \max(0, 1 - r (1 - \langle Q_\delta, A \rangle) / \gamma)` with
:math:`\langle Q_\delta, A \rangle = \sum_i \langle v_i, \delta \rangle^2`. Where it is positive, Table 1 of the paper
prints the step

.. math:: v_i \leftarrow v_i - \theta \, \frac{r}{\gamma} \, a_i \, \delta, \qquad a_i = \langle v_i, \delta \rangle,

next to a step of the norm, :math:`v_i \leftarrow v_i - \theta \lambda \|A\|_2^{-1} \, 2 \sum_j \langle v_i, v_j \rangle
v_j`.

**Task 1.** Write ``loss_gradient(V, delta, r, gamma)``, the gradient of h in V, whose rows are the :math:`v_i`. It is
checked against finite differences.

**Task 2.** Is the step of the norm right? Write ``norm_gradient(V)``, the gradient of the Frobenius norm
:math:`\|A\|_2` in V.

**Task 3.** (Needs convexmetric; not checked in the browser.)
Compare with the steps in print: the printed algorithm descends another objective,
with another :math:`\lambda`. Write ``lambda_descended(reg)``: the lambda whose objective is minimised if you pass
``reg``. It is checked by certified optima at the point where the printed steps end.

**To think about.** What would you have noticed had you only watched the objective fall?
"""

import numpy as np


def loss_gradient(V, delta, r, gamma):
    """Compute the gradient of the hinge in V, shape (d, features) as V."""
    raise NotImplementedError("task 1")


def norm_gradient(V):
    """Compute the gradient of the Frobenius norm of sum_i v_i v_i^T in V, shape (d, features)."""
    raise NotImplementedError("task 2")


def lambda_descended(reg):
    """Tell the lambda whose objective the printed steps minimise."""
    raise NotImplementedError("task 3")


if __name__ == "__main__":
    import checking

    checking.main(globals())
