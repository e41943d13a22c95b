"""The statement of a certificate file: a problem as a table and arrays, joined from the descriptions of its blocks.

Any :class:`~convexmetric.MetricProblem` is described by its risk, its regularizer, its cone and its linear term, not by
the paper it comes from (:mod:`convexmetric.described`). Parameters are written as the rationals they were typed
as (``as_rational``); everything else is data, stored as unchanged floats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexmetric.certificates import kernel
from convexmetric.cones import Cone
from convexmetric.described import Described, description
from convexmetric.errors import InputError
from convexmetric.problem import AnyProblem, MetricProblem, as_problem

Arrays = dict[str, np.ndarray]
Table = dict[str, Any]

#: Largest product of numerator and denominator of a simple fraction: one float in a thousand is near one by chance.
SIMPLE = 10**12
#: Most numbers of sparse points that are written out: files are deflated, so that zeros cost nothing.
DENSE = 2**25


def as_rational(value: float) -> Fraction:
    """Guess the rational that a float was typed or computed as: a short decimal, or a nearby fraction of small numbers.

    A decimal of at most 12 digits that rounds to the float; else the simplest fraction within two units in the last
    place, if it is simpler than a float (1/519000000, 2/3).
    """
    exact = Fraction(value)
    decimal = Fraction(repr(float(value)))
    if len(repr(float(value)).partition("e")[0].replace(".", "").strip("-0")) <= 12:
        return decimal
    slack = 2 * Fraction(math.ulp(value))
    simple = _simplest(exact - slack, exact + slack)
    return simple if simple.numerator * simple.denominator < SIMPLE else exact


def without_proof(title: str, table: Table) -> Table:
    """Return the document of a file that states a problem, without a proof."""
    document: Table = {"format": kernel.FORMAT, "version": kernel.VERSION, "title": title, "problem": table}
    return document | {"dual": {}, "claimed": {"lower": "0", "upper": "0"}, "sha256": {}}


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of the smallest denominator between two positive numbers (Stern and Brocot)."""
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    floor = math.floor(low)
    return floor + 1 / _simplest(1 / (high - floor), 1 / (low - floor))


def describe(problem: AnyProblem) -> tuple[Table, Arrays]:
    """Describe a problem as a table and arrays, see ``docs/certificate-format.md``.

    Raises
    ------
    InputError
        If certificates do not support its risk, loss, measure, regularizer or cone, see
        :func:`convexmetric.described.description`.
    """
    problem = as_problem(problem)
    for method in ("objective", "value", "penalty"):
        if getattr(type(problem), method) is not getattr(MetricProblem, method):
            raise InputError(f"certificates do not know the {method} of a {type(problem).__name__}")
    cone, risk = description(problem.cone), description(problem.risk)
    own = _of_risk(risk, problem.cone)
    points = None if risk.summands else own.get("points")
    regularizer = description(problem.regularizer, problem.cone, points)
    own = own if regularizer.table.get("of") == "squared points" else _used(own)
    arrays = {**own, **regularizer.arrays, **cone.arrays}
    constant = problem.constant + regularizer.constant
    if problem.G is not None:
        arrays["linear"] = problem.G + arrays["linear"] if "linear" in arrays else problem.G
    risk_table = risk.table | ({"summands": [one.table for one in risk.summands]} if risk.summands else {})
    table = {**cone.table, "risk": risk_table, "regularizer": regularizer.table, "linear": "linear" in arrays}
    if constant:
        table["constant"] = constant
    return _written(table), {name: plain(array) for name, array in arrays.items()}


def _of_risk(risk: Described, cone: Cone) -> Arrays:
    """Arrays of a risk, or of all summands of a sum, with equal points stored once."""
    if not risk.summands:
        return _listed(_dense(risk.arrays, cone))
    each = [_of_risk(one, cone) for one in risk.summands]
    first = {name: array for name, array in each[0].items() if name.startswith("points")}
    if all(name in own and np.array_equal(own[name], array) for own in each for name, array in first.items()):
        return first | named_by_summand([{name: own[name] for name in own if name not in first} for own in each])
    return named_by_summand([_used(own) for own in each])


def _used(arrays: Arrays) -> Arrays:
    """Leave out the points that no listed pair or triplet names, if they are most."""
    name, sparse = "triplets" if "triplets" in arrays else "pairs", "points_indptr" in arrays
    if name not in arrays or "queries" in arrays or not (sparse or "points" in arrays):
        return arrays
    parts = [f"points_{part}" for part in ("data", "indices", "indptr")]
    X = sp.csr_array(tuple(arrays[part] for part in parts)) if sparse else arrays["points"]
    used, rows = np.unique(arrays[name], return_inverse=True)
    if 2 * len(used) > X.shape[0]:
        return arrays
    X, made = X[used], arrays | {name: rows.reshape(arrays[name].shape)}
    return made | (dict(zip(parts, (X.data, X.indices, X.indptr), strict=True)) if sparse else {"points": X})


def named_by_summand(each: Sequence[Arrays], start: str = kernel.SUMMAND) -> Arrays:
    """Collect the arrays of all summands, under names that begin with the number of the summand."""
    return {start.format(number) + name: array for number, own in enumerate(each) for name, array in own.items()}


def _dense(arrays: Arrays, cone: Cone) -> Arrays:
    """Write CSR points out as dense rows, unless they are large, and compared under diagonal metrics."""
    compared, rows = "pairs" in arrays or "triplets" in arrays, len(arrays.get("points_indptr", ()))
    if compared and cone.diagonal and rows * cone.d > DENSE:
        return arrays
    made = {name: array for name, array in arrays.items() if not name.startswith(("points_", "queries_"))}
    for name in ("points", "queries"):
        if f"{name}_indptr" in arrays:
            data, columns, first = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
            made[name] = np.zeros((len(first) - 1, cone.d))
            made[name][np.repeat(np.arange(len(first) - 1), np.diff(first)), columns] = data
    return made


def _listed(arrays: Arrays) -> Arrays:
    """Concatenate the lists of positives and of negatives, and name the point of each query.

    Negatives that are all points except the positives, and perhaps the query itself, are not written out.
    """
    if "near" not in arrays:
        return arrays
    made = dict(arrays)
    positives = _slices(made, "near")
    anchors = made.pop("anchors", np.arange(len(positives)))
    if "queries" in made:
        made["queries"] = made["queries"][anchors]
    else:
        made["anchors"] = anchors
    made |= {"near": np.concatenate(positives), "near_stops": np.cumsum([len(items) for items in positives])}
    if "itself" in made:
        return made
    negatives, n = _slices(made, "far"), len(made["points"])
    itself = _complements(positives, negatives, n)
    if itself is not None:
        return made | {"itself": itself}
    return made | {"far": np.concatenate(negatives), "far_stops": np.cumsum([len(items) for items in negatives])}


def _slices(arrays: Arrays, name: str) -> list[np.ndarray]:
    """Remove the lists called ``name`` from the arrays, and return one list per query."""
    items, start, stop = (arrays.pop(f"{name}{part}") for part in ("", "_start", "_stop"))
    return [items[first:last] for first, last in zip(start, stop, strict=True)]


def _complements(positives: list[np.ndarray], negatives: list[np.ndarray], n: int) -> np.ndarray | None:
    """Return the only row in neither list of each query, or n if there is none; None if a query has more than one."""
    found = np.full(len(positives), n)
    for q, (one, other) in enumerate(zip(positives, negatives, strict=True)):
        counts = np.bincount(other, minlength=n)
        rest = np.ones(n, dtype=bool)
        rest[one] = rest[other] = False
        left = np.flatnonzero(rest)
        if len(left) > 1 or counts.max() > 1 or counts[one].any():
            return None
        found[q] = left[0] if len(left) else n
    return found


def _written(said: Any) -> Any:
    """Replace the floats of a table by rationals."""
    if isinstance(said, dict):
        return {name: _written(value) for name, value in said.items()}
    if isinstance(said, list):
        return [_written(value) for value in said]
    if isinstance(said, float):
        return str(as_rational(said) if said > 0.0 else -as_rational(-said) if said < 0.0 else Fraction(0))
    return said


def plain(array: Any) -> np.ndarray:
    """Convert to an array type of files, little-endian and in C order."""
    made = np.asarray(array)
    if made.dtype.kind == "f":
        return np.ascontiguousarray(made, dtype="<f8")
    if made.dtype == np.uint8:
        return np.ascontiguousarray(made)
    return np.ascontiguousarray(made, dtype="<i4" if made.dtype.itemsize <= 4 else "<i8")
