"""Quadratic forms that CVXPY would factor, stated by a factor made here, so that its error can be bounded.

A quadratic form that is a term of the objective stays one. Elsewhere ``y' P y`` becomes a number u with
``|F y|^2 <= u``, F a factor in floats of the average S of P and its transpose, or minus u where P is negative
semidefinite.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexmetric.errors import InputError
from convexmetric.programs.lazy import cvxpy as cp

Array = NDArray[np.float64]

#: Attributes of variables that CVXPY states by fewer entries.
REDUCED = ("symmetric", "diag", "PSD", "NSD", "sparsity")


@dataclass(frozen=True)
class Factored:
    """A quadratic form ``y' P y``, up to its sign, that is stated by a factor: ``limit`` is ``|F y|^2 <= u``."""

    form: Any
    P: Array
    F: Array
    y: Any
    u: Any
    limit: Any

    @property
    def exact(self) -> bool:
        """Whether F has no rounding error."""
        return exact_roots(self.P) is not None


def without_forms(problem: Any) -> tuple[Any, list[Factored]]:
    """Return a problem with the forms that CVXPY would factor replaced by numbers u, and these forms.

    The constraints of the problem come first, in their order.
    """
    found: dict[int, Factored] = {}
    more, changed = [], dict[int, Any]()
    for form in factored_forms(problem):
        if id(form) in found:
            continue
        sign = 1.0 if form.is_convex() else -1.0
        P, argument = sign * np.asarray(_dense(form.args[1].value), dtype=np.float64), form.args[0]
        y = argument
        if not isinstance(y, cp.Variable) or len(y.shape) != 1 or any(y.attributes[name] for name in REDUCED):
            y = cp.Variable(len(P))
            more.append(y == cp.vec(argument, order="F"))
        u, F = cp.Variable(nonneg=True, name=f"quad_form({argument}, P)"), factor(P)
        limit = cp.sum_squares(F @ y) <= u
        more.append(limit)
        found[id(form)], changed[id(form)] = Factored(form, P, F, y, u, limit), sign * u
    if not found:
        return cp.Problem(problem.objective, problem.constraints), []
    objective = problem.objective.tree_copy(id_objects=changed)
    constraints = [constraint.tree_copy(id_objects=changed) for constraint in problem.constraints]
    made = cp.Problem(objective, [*constraints, *more])
    if not made.is_dcp():
        names = ", ".join(str(own.form.args[0]) for own in found.values())
        raise InputError(f"problem has a quad_form of {names} that has no statement by cones of its own")
    return made, list(found.values())


def factor(P: Array) -> Array:
    """Return F with ``F' F`` slightly below the average of P and its transpose, or its positive part if indefinite."""
    S = 0.5 * (P + P.T)
    if (roots := exact_roots(P)) is not None:
        return np.diag(roots)
    shift = 2.0 * len(S) * float(np.finfo(float).eps * np.abs(S).max())
    try:
        return np.asarray(np.linalg.cholesky(S - shift * np.eye(len(S))).T, dtype=np.float64)
    except np.linalg.LinAlgError:
        sizes, vectors = np.linalg.eigh(S)
        kept = sizes > shift
        found = np.sqrt(sizes[kept])[:, None] * vectors[:, kept].T if kept.any() else np.zeros((1, len(S)))
        return np.asarray(found, dtype=np.float64)


def exact_roots(P: Array) -> Array | None:
    """Return the roots of the entries of a nonnegative diagonal matrix, if all are exact; else None."""
    sizes = P.diagonal()
    if np.count_nonzero(P - np.diag(sizes)) or (sizes < 0.0).any():
        return None
    roots = np.sqrt(sizes)
    known = all(
        Fraction(root) ** 2 == Fraction(size) for root, size in zip(roots.tolist(), sizes.tolist(), strict=True)
    )
    return roots if known else None


def factored_forms(problem: Any) -> Iterator[Any]:
    """Yield the quadratic forms of a problem, except those of which its objective is a weighted sum."""
    left: list[Any] = [(problem.objective.expr, True), *((constraint, False) for constraint in problem.constraints)]
    while left:
        one, above = left.pop()
        if isinstance(one, (list, tuple)):
            left.extend((part, False) for part in one)
            continue
        if type(one).__name__ == "QuadForm" and not above and one.args[1].is_constant():
            yield one
            continue
        linear = above and hasattr(one, "is_atom_affine") and one.is_atom_affine()
        left.extend((arg, linear) for arg in getattr(one, "args", ()))


def _dense(value: Any) -> Any:
    return value.toarray() if hasattr(value, "toarray") else value
