r"""Proofs of metric problems with the user's own constraints and terms, which together are a conic program.

With the minorant :math:`R(M) \ge v - \langle S, M \rangle` of a dual point, the minimum of

.. math:: \max(0, v - \langle S, M \rangle) + \langle G, M \rangle + \Omega'(M) \quad \text{over } K

is a conic program. Its multipliers of the constraints are a dual point of :math:`\Omega'`; the multiplier of the plane
is the share of the risk's dual point. Inner points are mixed in as needed (:mod:`convexmetric.certificates.programs`).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.certificates import kernel
from convexmetric.certificates.near import Scaled, completed, inner_dual_point, inner_point, mixed
from convexmetric.certificates.programs import charges_of
from convexmetric.certificates.statement import Arrays, Table, plain
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.programs.canonical import Program, matrix_of
from convexmetric.programs.reduction import Contradiction, charged, opposite, reduced
from convexmetric.regularizers.user_terms import SubjectTo
from convexmetric.risks import Minorant


def apart(M: Array) -> Array:
    """Factor a metric so that no row has numbers for two features whose entry is zero, as far as that is simple.

    Features are eliminated in the order of their zeros, most first, as in a Cholesky factor without fill-in.

    Raises
    ------
    NotProven
        If the metric, without features that it ignores, is not positive definite.
    """
    used = np.flatnonzero(M.diagonal() != 0.0)
    used = used[np.argsort(-(M[np.ix_(used, used)] == 0.0).sum(axis=0), kind="stable")]
    found: Array = np.zeros((len(used), len(M)))
    try:
        found[:, used] = np.linalg.cholesky(M[np.ix_(used, used)]).T
    except np.linalg.LinAlgError as error:
        raise kernel.NotProven("the metric is not positive definite, as its zeros require") from error
    return found


class ConicTerms:
    """Metrics and dual points of a problem whose regularizer is a conic program.

    Parameters
    ----------
    problem : MetricProblem
        Its regularizer is a :class:`~convexmetric.regularizers.user_terms.SubjectTo`.
    stated : kernel.Problem
    point : Minorant
        Minorant given by the dual point of the risk, in floats.
    """

    def __init__(self, problem: MetricProblem, stated: kernel.Problem, point: Minorant) -> None:
        assert isinstance(problem.regularizer, SubjectTo)
        self.stated, self.whole, self.diagonal = stated, problem.regularizer.form.program, problem.cone.diagonal
        self.d, self.k, self.hard = problem.cone.d, stated.omega.program.fixed, problem.risk.hard
        self.charges = charges_of(self.whole, stated.omega.program)
        self.program = charged(self.whole, self.charges)
        bounding, self.rows, self.plane = self._bounding(point.value, point.S, problem.G)
        try:
            self.bounding = reduced(bounding)
            self.of_points = Scaled.of(reduced(self.whole, opposite(self.whole), self.k))
            self.of_dual_points = Scaled.of(reduced(self.program, (), self.k))
        except Contradiction as error:
            raise kernel.NotProven("no metric satisfies the constraints, exactly") from error
        program, back = self.bounding.program.scaled
        answer = program.solve()
        if answer.x is None:
            raise kernel.NotProven(f"the program of its lower bound was not solved: {answer.status}")
        self.x = self.bounding.point(answer.x * back["x"])
        self.z, self.h = self.bounding.dual(answer.z * back["z"], answer.x * back["h"])

    def entries(self, M: Array, off: float = 1.0) -> Array:
        """Entries of a metric as variables; off-diagonal ones multiplied by a number."""
        if self.diagonal:
            return M
        i, j = np.triu_indices(self.d)
        return M[i, j] * np.where(i == j, 1.0, off)

    def _bounding(self, v: float, S: Array, G: Array | None) -> tuple[Program, Any, int | None]:
        """Return the program of the lower bound, its rows that are the regularizer's, and the row of the plane."""
        own, n, k, cones = self.program, len(self.program.q), self.k, self.program.cones
        linear = np.zeros(n + 1)
        linear[:n], linear[n] = own.q, 1.0
        linear[:k] += 0.0 if G is None else self.entries(G, 2.0)
        plane = np.append(-self.entries(S, 2.0), np.zeros(n - k + 1))
        lines, ends, nonnegative = np.zeros((0, n + 1)), np.zeros(0), self.stated.risk.nonnegative
        if nonnegative:
            # The epigraph of the larger of zero and the plane.
            risk = np.eye(n + 1)[n]
            lines, ends = np.array([-risk, plane - risk]), np.array([0.0, -v])
        else:
            linear += plane
        inside = -np.eye(n + 1)[:k]
        line, square = cones.slices[1].stop, cones.slices[3].stop
        A = sp.hstack([own.A, sp.csc_array((len(own.b), 1))]).tocsr()
        # A variable that is missing is zero.
        more = [lines, inside] if self.diagonal else [lines]
        if not nonnegative:
            more.append(-np.eye(n + 1)[n:])
        new = sp.csr_array(np.concatenate(more))
        last = sp.csr_array(inside[: 0 if self.diagonal else k])
        b = np.concatenate([own.b[:line], ends, np.zeros(new.shape[0] - len(ends)), own.b[line:square]])
        b = np.concatenate([b, np.zeros(last.shape[0]), own.b[square:]])
        stacked = sp.csc_array(sp.vstack([A[:line], new, A[line:square], last, A[square:]]))
        cones = replace(
            cones,
            nonnegative=cones.nonnegative + new.shape[0],
            semidefinite=cones.semidefinite + (() if self.diagonal else (self.d,)),
        )
        # The rows that keep the metric in its cone.
        self.in_cone = np.arange(line + len(ends), line + len(ends) + k) if self.diagonal else np.arange(k)
        self.in_cone = self.in_cone + (0 if self.diagonal else square + new.shape[0])
        rows = np.arange(len(own.b))
        rows = rows + new.shape[0] * (rows >= line) + last.shape[0] * (rows >= square)
        P = sp.block_diag([own.P, sp.csc_array((1, 1))], format="csc")
        return Program(P, linear, stacked, b, cones), rows, line + 1 if nonnegative else None

    @cached_property
    def _inner_point(self) -> Array | None:
        # A metric of full rank, if constraints allow it.
        found = inner_point(self.bounding)
        found = inner_point(self.bounding, self.in_cone) if found is None else found
        return None if found is None else found[:-1]

    def upper(self, M: Array, factor_of: Any, arrays: Arrays) -> tuple[Fraction, Arrays]:
        """Upper bound at a metric near M that satisfies the constraints, and the arrays that prove it."""
        x = np.array(self.x[:-1])
        x[: self.k] = self.entries(M)
        # Entries that equations of a single entry fix at zero.
        E = self.whole.A[: self.whole.cones.zero].toarray()
        single = E[((E != 0.0).sum(axis=1) == 1) & (self.whole.b[: len(E)] == 0.0), : self.k]
        held = single.any(axis=0)
        start = completed(self.whole, np.arange(self.k), x, self.z[self.rows])

        def proof(moves: bool, v: Array) -> tuple[Fraction, Arrays]:
            v = np.where(np.append(held, np.zeros(len(v) - self.k, dtype=bool)), 0.0, v)
            own = self.moved(v, np.flatnonzero(held)) if moves else self.of_points.point(v, self.k)
            given = own.pop("metric", v[: self.k])
            metric = given if self.diagonal else matrix_of(given, self.d)
            own |= factor_of(metric) if self.diagonal or not held.any() else {"factor": apart(metric)}
            bound, factor, proven = self._value(arrays | own)
            if self.hard or moves:
                self.stated.cost(self.stated.risk, factor, proven)
            return bound.upper(), own

        start = x if start is None else start
        found, why = mixed(start, lambda: self._inner_point, partial(proof, False))
        if found is None:
            # Equations of the metric alone hold at one near by.
            found, why = mixed(start, lambda: self._inner_point, partial(proof, True))
        if found is None:
            raise InputError(f"nothing is proven: upper bound: {why}; constraints of your own must leave room")
        own = {name: plain(array) for name, array in found[1].items()}
        # The risk may take a while, and is evaluated once.
        _, factor, given = self._value(arrays | own)
        return self.stated.upper(self.stated.cost(self.stated.risk, factor, given), factor, given), own

    def moved(self, v: Array, held: Any) -> Arrays:
        """Arrays of a point whose metric moves, but for entries that are held, and the metric near which it is."""
        own, k = self.of_points.point(v, 0, held), self.k
        spreads = own.pop("x_spreads", np.zeros(len(v)))
        return own | {
            "metric": own["x"][:k], "x": own["x"][k:], "metric_spreads": spreads[:k], "x_spreads": spreads[k:],
        }  # fmt: skip

    def _value(self, arrays: Arrays) -> tuple[kernel.Ball, Array, Any]:
        """Value of the regularizer at the metric of a file's arrays, its factor, and the proof of the value."""
        of, cone, omega = kernel.Arrays(arrays), self.stated.cone, self.stated.omega
        factor, given = cone.factor(of, omega.definite), (omega.program.point(of), None)
        return omega.value(factor, cone.metric(factor), given), factor, given

    def feasible(self, says: kernel.Minorant, upper: Fraction, known: Arrays) -> tuple[Table, Arrays]:
        """Share of the risk's dual point and a dual point of the regularizer, as a table and arrays."""
        m, n = len(self.z), len(self.program.q)

        def proof(v: Array) -> tuple[Fraction, Arrays]:
            arrays = self.of_dual_points.dual_point(v[self.rows], v[m : m + n], self.k)
            arrays |= {"charges": self.charges} if self.charges.any() else {}
            share = 1.0 if self.plane is None else min(1.0, max(0.0, float(v[self.plane])))
            given = self.stated.omega.read({}, kernel.Arrays({**known, **arrays}))
            bound = self.stated.lower(says, Fraction(share), given, upper)
            return bound, arrays | {"share": np.array(share)}

        found, why = mixed(np.append(self.z, self.h), partial(inner_dual_point, self.bounding), proof)
        if found is None:
            raise InputError(f"nothing is proven: lower bound: {why}")
        arrays = dict(found[1])
        return {"share": str(Fraction(float(arrays.pop("share")))), "regularizer": {}}, arrays
