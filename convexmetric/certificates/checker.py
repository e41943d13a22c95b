"""The checker of certificates: reads files from untrusted sources, and proves their claims by the kernel.

The correctness of a proof depends only on the folder ``kernel``, which gets the description and the arrays of a file.
This module protects the user from forged files: work and memory are estimated before they are spent, the machine is
tested for what the kernel assumes of it, and no text of the file reaches a terminal unescaped. The kernel also reads
the files, so that correctness does not depend on this module.

Losses, measures, regularizers and risks of others may be admitted to the kernel's tables for a call (``rules``): they
are classes of a Python file, which is executed. If a proof depends on them, the first line of its verdict says so.

It uses only NumPy, the standard library and the kernel, and runs alone next to it: ``python checker.py FILE``.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import functools
import hashlib
import importlib.util
import math
import operator
import os
import stat
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if __package__:
    from convexmetric.certificates import kernel
else:  # A script next to the kernel.
    import kernel  # type: ignore[import-not-found, no-redef]

Ball, CertificateError, MAX_BYTES = kernel.Ball, kernel.CertificateError, kernel.MAX_BYTES
read, refusals, require_valid = kernel.contents, kernel.refusals, kernel.require_valid
escaped, told = kernel.errors.escaped, kernel.errors.told

Array = NDArray[Any]

#: Limit on the pairs of one query when they are written out: for logistic losses and gains of rankings.
MAX_TABLE = 2**24
#: Default limit on the operations of a proof, each about a nanosecond of one core.
MAX_WORK = 2e12
#: Operations of a multiplication in a matrix product, a place in a table of rankings, a logistic loss, a query,
#: a query with logarithms, and a row of a table of rankings.
MULTIPLY, RANKING, LOGISTIC, QUERY, LOGARITHM, ROW = 0.1, 8.0, 4e3, 3e5, 5e6, 3e4
#: Operations for an entry of a sparse point, and for a block of weights of pairs, which has as many pairs as this.
ENTRY, BLOCK, PAIRS = 400.0, 3e6, kernel.points.PAIRS
#: Operations that a byte of memory counts as: so at most 2 GB by default.
BYTE = 1e3
#: Spreads of the unknowns of points and of dual points.
SPREADS = {"x": ("metric_spreads", "x_spreads"), "z": ("z_spreads", "h_spreads")}
#: Proven relative gap above which the text of a verdict begins with the gap.
WIDE = 1e-3
#: Most variables of a program that a verdict names.
NAMED = 8
#: Losses and measures without a logarithm or exponential.
CHEAP = ("hinge", "absolute", "squared", "hard", "box", "negative root")
CHEAP_MEASURES = ("auc", "map", "mrr", "err", "precision", "knn")


# The machine ----------------------------------------------------------------------------------------------------------


@functools.cache
def arithmetic() -> None:
    """Test what the kernel assumes of the floating-point arithmetic of this machine.

    Raises
    ------
    CertificateError
        If NumPy does not round to nearest, flushes subnormal numbers to zero, or if products of leading digits are not
        exact here.
    """
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 200)) * 10.0 ** rng.integers(-9, 10, (2, 200))
    # Python rounds quotients of integers to nearest, and so fractions.
    x, y = list(map(Fraction, a.tolist())), list(map(Fraction, b.tolist()))
    for apply in (operator.add, operator.sub, operator.mul, operator.truediv):
        nearest = apply(a, b).tolist() == [float(apply(p, q)) for p, q in zip(x, y, strict=True)]
        require_valid(nearest, "this machine does not round to nearest, and proves nothing here")
    roots, half = np.sqrt(np.abs(a)), Fraction(1, 2)
    for root, square in zip(roots.tolist(), x, strict=True):
        ends = [Fraction(root) + half * (Fraction(math.nextafter(root, to)) - Fraction(root)) for to in (0.0, math.inf)]
        nearest = ends[0] ** 2 <= abs(square) <= ends[1] ** 2
        require_valid(nearest, "this machine does not round roots to nearest, and proves nothing here")
    tiny = np.ldexp(np.arange(1.0, 34.0), -1074)
    kept = ((tiny * 1.0 == tiny) & (tiny > 0.0) & (np.ldexp(tiny, 60) * 2.0**-60 == tiny)).all()
    require_valid(kept, "this machine flushes subnormal numbers to zero, and proves nothing here")
    for rows, terms, columns in ((1, 300, 1), (37, 1000, 41), (200, 70, 3)):
        largest = 2 ** ((53 - math.ceil(math.log2(terms))) // 2)
        A, B = (rng.integers(-largest, largest + 1, shape) for shape in ((rows, terms), (terms, columns)))
        A[0], B[:, 0] = largest, largest
        P, Q = A.astype(np.float64), B.astype(np.float64)
        pairs = (P @ Q, A @ B), (P @ P.T, A @ A.T), (Q.T @ P.T, (A @ B).T)
        exact = all(np.array_equal(product, whole) for product, whole in pairs)
        require_valid(exact, "products of leading digits are not exact on this machine, which proves nothing here")


# Limits ---------------------------------------------------------------------------------------------------------------


def held(rows: float, columns: float) -> None:
    """Refuse a matrix that is too large to be held in memory."""
    shape = f"a matrix of {rows:g} rows and {columns:g} columns"
    require_valid(rows * columns <= kernel.MAX_NUMBERS, f"{shape} has more than {kernel.MAX_NUMBERS} numbers")


def operations(document: dict[str, Any], arrays: Mapping[str, Array]) -> float:
    """Estimate the operations of a proof from shapes and list lengths alone; refuse matrices that are too large.

    Tables and arrays are read as the kernel reads them, and refused here if it would refuse them.
    """
    problem, dual, of = document["problem"], document["dual"], kernel.Arrays(arrays)
    if isinstance(problem, dict) and "kind" in problem:
        kernel.entry(kernel.STATEMENTS, problem, "problem")
        return _of_program(problem, of)
    kernel.keys(problem, "problem", kernel.Problem.wanted, kernel.Problem.optional)
    known, omega = kernel.files.rules, problem["regularizer"]
    risk = kernel.entry(known("RISKS", kernel.RISKS), problem["risk"], "risk")
    kind = kernel.entry(known("REGULARIZERS", kernel.REGULARIZERS), omega, "regularizer")
    kernel.keys(dual, "dual", f"{risk.dual_keys} share regularizer", "rows")
    d, diagonal = kernel.natural(problem["features"], "features", 1), problem["cone"] == "diagonal"
    form, free = kind is kernel.QuadraticForm, problem["cone"] in ("matrices", "symmetric")
    items = kernel.natural(problem.get("features_of_items", d), "features_of_items", 1)
    if form or not diagonal:
        held(d, items)
    rank = min(d, items) if free else 1 if diagonal else max(len(of("factor", None, d)), 1)
    held(rank, d if diagonal else max(d, rank))
    # Laplacians, Cholesky factors, and products of factors; of an inverse trace a block matrix.
    tall = max(rank, len(of("gram_of", None, d)) if form and omega["of"] == "gram of A" else 0)
    more, tall = _longest("root_of_prior", arrays), max(tall, _longest("root_of_slope", arrays))
    side = d + more
    held(side, side if more else 1)
    if free:
        # Squares are those of the shorter side; queries are multiplied by the matrix, and items by queries.
        wide = of("left", d, None).shape[1] if omega["kind"] == "trace norm" else 0
        queries = sum(array.size for name, array in arrays.items() if name.endswith("queries"))
        d, tall = rank, max(d, items) * (1 + wide // rank) + 6 * queries * items // rank**2
        side = d
    terms = len(omega["summands"]) if kind is kernel.SumRegularizer else 1
    total = 2e7 + 10.0 * sum(array.nbytes for array in arrays.values())
    squares = d * tall * (10.0 * d + 500.0) + 60.0 * side**3 * (1.0 + terms)
    total += 0.0 if diagonal and not form else MULTIPLY * squares
    total += _of_program(omega, of) if kind is kernel.ConicTerm else 0.0
    risks = [(problem["risk"], of)]
    if risk is kernel.SumRisk:
        tables = problem["risk"]["summands"]
        risks = [(table, of.of(kernel.SUMMAND, number)) for number, table in enumerate(tables)]
    kinds = [kind_of(kernel.entry(kernel.summands(), table, "risk")) for table, _ in risks]
    counts = [ESTIMATES[kind].rows(table, own, items) for kind, (table, own) in zip(kinds, risks, strict=True)]
    first, end = kernel.some_rows(dual, sum(counts))
    for kind, (table, own), count in zip(kinds, risks, counts, strict=True):
        rows = slice(max(first, 0), max(min(end, count), 0))
        first, end = first - count, end - count
        total += 1e7 + ESTIMATES[kind].work(table, own, items, 0 if diagonal else rank, count, rows)
    return total


def forecast(document: dict[str, Any], arrays: Mapping[str, Array]) -> float:
    """Estimate the operations of the proof of a statement, in one file, before there are a metric and a dual point."""
    problem = document["problem"]
    risk, d = kernel.entry(kernel.files.rules("RISKS", kernel.RISKS), problem["risk"], "risk"), problem["features"]
    if problem["regularizer"]["kind"] == "conic":
        return 0.0
    dual = dict.fromkeys(f"{risk.dual_keys} share regularizer".split())
    later = {"factor": np.broadcast_to(0.0, (d, d)), "left": np.zeros((d, 0))}
    return operations(document | {"dual": dual}, later | dict(arrays))


def _longest(name: str, arrays: Mapping[str, Array]) -> int:
    """Largest number of rows of the arrays of a name, in a sum or not."""
    return max((len(array) for key, array in arrays.items() if key.endswith(name)), default=0)


def _of_program(table: dict[str, Any], of: kernel.Arrays) -> float:
    """Operations for a conic program: products of sparse matrices, fractions, dense systems and cones.

    Bytes count as operations, too, so that a small file cannot fill a large memory.
    """
    # Numbers of rows and of variables are those of arrays that are there.
    cones, n = kernel.ConeProduct(table["cones"], of), kernel.natural(table["variables"], "variables", 1)
    m, n = len(of("b", cones.rows)), len(of("q", n))

    def places(side: str, lengths: tuple[int, int]) -> list[Array]:
        names = (f"{name}_{side}" for name in "ap")
        return [_integers(of, *each) for each in zip(names, lengths, strict=True)]

    (a, p), columns = places("rows", (m, n)), places("columns", (n, n))
    entries = len(a) + 2 * len(p)
    of_rows, of_columns = np.bincount(a, minlength=m), np.bincount(columns[0], minlength=n)
    own = np.bincount(p, minlength=n) + np.bincount(columns[1], minlength=n)
    rows = np.append(np.arange(cones.zero), _integers(of, "tight", m))
    # Of points the equations are rows, and the unknowns columns; of dual points the other way round, and P has both.
    moves = "metric_spreads" in of
    point = _of_system("x", of_rows[rows], of_columns[0 if moves else n - len(of("x", None)) :], of)
    # The point is found for the risk, for the linear term and for the value of the program.
    point *= 3.0 if moves else 1.0
    unknowns = np.append(of_rows, own) if len(p) else of_rows
    dual = _of_system("z", of_columns + own, unknowns, of)
    coupled = np.zeros(n, dtype=bool)
    coupled[p[p != columns[1]]] = coupled[columns[1][p != columns[1]]] = True
    orders = np.append(cones.orders, coupled.sum()).astype(np.float64)
    lines = 0.0
    if "charges" in of:
        # A line of a cone has the entries of its head.
        heads = cones.stops[2] + np.cumsum(cones.sizes) - cones.sizes
        lines = float(((cones.sizes - 1.0) * of_rows[heads]).sum()) + entries + m
    memory = BYTE * (4e2 * (n + m + entries) + 120.0 * float((orders**2).max(initial=0.0)) + 2e2 * lines)
    each = 3e5 * (len(cones.sizes) + len(orders)) + LOGISTIC * m + 60.0 * MULTIPLY * float((orders**3).sum())
    stored = 10.0 * sum(array.nbytes for array in of.arrays.values())
    return 1.2e8 + stored + point + dual + memory + each + 5e3 * (n + m + entries) + 2e3 * lines


def _integers(of: kernel.Arrays, name: str, most: int) -> Array:
    """An array of integers, empty if it is not there."""
    return of(name, None, integers=most) if name in of else np.zeros(0, dtype=np.int64)


def _of_system(name: str, tall: Array, wide: Array, of: kernel.Arrays) -> float:
    """Operations for a system of equations: its relations, and the rest after pivots are eliminated.

    ``tall`` and ``wide`` are the numbers of entries of equations and of unknowns.
    """
    follow, equations, weights = (
        _integers(of, f"{name}_{part}", len(tall)) for part in ("follow", "pivot_equations", "relation_rows")
    )
    unknowns = _integers(of, f"{name}_pivot_unknowns", len(wide))
    require_valid(len(equations) == len(unknowns), f"{name}: there are as many equations with a pivot as unknowns")
    spreads = [of.arrays[key] for key in SPREADS[name] if key in of.arrays]
    moving = min(len(wide), sum(int(np.count_nonzero(own)) for own in spreads))
    left = max(len(tall) - len(follow) - len(equations), 0)
    fill = float((tall[equations] * wide[unknowns].astype(np.float64)).sum()) if left else 0.0
    # An equation that is left without an unknown that moves takes fractions alone.
    left = min(left, moving)
    memory = BYTE * (48.0 * left * moving + 96.0 * float(left) ** 2 + 1e2 * fill)
    dense = MULTIPLY * (6.0 * float(left) ** 2 * moving + 10.0 * float(left) ** 3) + 2e2 * left * moving
    return memory + dense + 3e3 * float((1.0 + tall[weights]).sum()) + 2e2 * fill


def limited(document: dict[str, Any], arrays: Mapping[str, Array], max_work: float) -> kernel.Contents:
    """Contents of a file; refuses if its proof takes too many operations."""
    fits = operations(document, arrays) <= max_work
    require_valid(fits, f"the proof takes more than {max_work:.3g} operations (--max-work)")
    return document, arrays


def _listed(table: dict[str, Any], own: kernel.Arrays, d: int) -> int:
    """Number of listed comparisons."""
    if "matrix_indptr" in own and "triplets" not in own:
        return len(own("matrix_indptr", None, integers=2**40)) - 1
    name, width = ("triplets", 3) if "triplets" in own else ("pairs", 2)
    return len(own(name, None, width, integers=2**40))


def _of_comparisons(table: dict[str, Any], own: kernel.Arrays, d: int, rank: int, count: int, rows: slice) -> float:
    """Operations for ``rows`` of the comparisons of n points; ``rank`` is that of a factor, 0 if diagonal."""
    some, X = max(rows.stop - rows.start, 0), None if "points" in own or rank else kernel.SparseRows(own, "points", d)
    n, wide = (len(own("points", None, d)), d) if X is None else (len(X), int(np.diff(X.starts).max(initial=1)))
    queries = len(own.arrays.get(own.prefix + "queries", ())) or n
    held(max(n, queries), rank or wide)
    terms = table.get("terms", [{"loss": "softmax"}])
    logistic = 2.0 * LOGISTIC if any(term["loss"] not in CHEAP for term in terms) else 0.0
    pairs = 2.0 * some if "triplets" in own else float(some)
    if "matrix_indptr" in own:
        pairs += len(own("matrix_data", None)) + len(own("pairs", None, 2, integers=2**40))
    # Comparisons are taken in blocks, which are smaller where there are more features.
    each = pairs * 10.0 * (rank or wide) + some * (0.2 * wide + 400.0 + logistic) + len(terms) * (2.0 * some + 5e5)
    if X is not None:
        return each + pairs * ENTRY * wide + 100.0 * count
    # Weights between points are taken in blocks of rows, or of few pairs.
    step = kernel.points.rows_at_once(n, kernel.points.WEIGHTS)
    cells, columns = (
        min(float(most), pairs * per) for most, per in ((queries * n, step + PAIRS), (n * n / step + n, 1))
    )
    blocks = min(queries / step, pairs) + pairs / PAIRS + 1.0
    products = cells * d + (queries + columns) * d * (d if rank else 1.0)
    images = MULTIPLY * n * d * (max(rank, 1.0) + 500.0)
    return images + each + 100.0 * count + 120.0 * cells + 3.0 * MULTIPLY * products + BLOCK * blocks


def _of_lists(table: dict[str, Any], own: kernel.Arrays, d: int, rank: int, count: int, rows: slice) -> float:
    """Operations for ``rows`` of the queries among n points."""
    n = len(own("points", None, d))
    positives, p = _lengths("near", own, n)
    if "itself" in own:
        # Where a positive is listed twice, the complement has more negatives than n - p.
        rises = np.diff(positives) > 0
        rises[np.cumsum(p[:-1]).astype(int) - 1] = True
        negatives = n - p if rises.all() else np.full(count, float(n))
    else:
        negatives = _lengths("far", own, n)[1]
    p, negatives = p[rows], negatives[rows]
    queries = len(p)
    held(count, d)
    held(n + queries, rank or d)
    pairs, ranked, logistic = p * negatives, table.get("measure", "auc") != "auc", table.get("loss") == "logistic"
    softmax = "temperature" in table
    most = pairs.max(initial=0.0) if logistic or ranked else 0.0
    require_valid(most <= MAX_TABLE, f"a query has {most:g} pairs; at most {MAX_TABLE} are written out")
    each = LOGISTIC if logistic else RANKING if ranked else 0.0
    # A table of discounts for the value and one for the dual point.
    table_of_discounts = 2e3 * kernel.natural(table["k"], "k", 1) if "short" in table else 0.0
    logarithms = logistic or table.get("measure", "auc") not in CHEAP_MEASURES
    query = LOGARITHM if logarithms else 2.0 * LOGARITHM if softmax else QUERY
    steps = len(own("steps", None, None, integers=2**40)) if ranked and "steps" in own else 0
    places = (ROW + 300.0 * steps) * float(p.sum()) if ranked else 0.0
    images = MULTIPLY * (n + queries) * d * max(rank, 1.0) + queries * n * (MULTIPLY * (rank or d) + 80.0)
    blocks = queries / kernel.points.rows_at_once(n, kernel.points.WEIGHTS) + 1.0
    laplacian = 3.0 * MULTIPLY * (queries * n * d + (0.0 if rank == 0 else (queries + blocks * n) * d * d))
    # Lists of negatives that are the rest of positives are made for all queries once, to be counted.
    reading = (1e4 + 2.0 * n) * count
    exponentials = LOGISTIC * float((p + negatives).sum()) if softmax else 0.0
    loops = each * float(pairs.sum()) + places + query * queries + exponentials
    return reading + table_of_discounts + images + laplacian + loops


def _of_worst(table: dict[str, Any], own: kernel.Arrays, d: int, rank: int, count: int, rows: slice) -> float:
    """Operations for all parts of the risk, which is read whole in every part of a certificate."""
    inner = ESTIMATES[kernel.entry(kernel.OF, table["of"], "risk: of")]
    parts = inner.rows(table["of"], own, d)
    return inner.work(table["of"], own, d, rank, parts, slice(0, parts)) + 2e3 * parts


def _lengths(name: str, own: kernel.Arrays, n: int) -> tuple[Array, Array]:
    """Items of the lists called ``name``, and the lengths of the lists."""
    items, stops = own(name, None, integers=n), own(f"{name}_stops", None, integers=2**40)
    lengths = np.diff(stops, prepend=0)
    fits = (lengths > 0).all() and lengths.sum() == len(items)
    require_valid(fits, f"the {name} lists are malformed, or one is empty")
    return items, lengths.astype(np.float64)


class Estimate(NamedTuple):
    """Estimates for a class of risks: number of rows, operations for some of them, and sizes for display."""

    rows: Callable[[dict[str, Any], kernel.Arrays, int], int]
    work: Callable[[dict[str, Any], kernel.Arrays, int, int, int, slice], float]
    sizes: Callable[[Any], dict[str, int]]


LISTS = Estimate(
    lambda table, own, d: len(own("near_stops", None, integers=2**40)),
    _of_lists,
    lambda risk: {"queries": len(risk), "pairs": sum((risk.p * risk.n).tolist())},
)


def _trials(table: dict[str, Any], own: kernel.Arrays, d: int) -> int:
    """Number of trials."""
    return _listed(table, own, d) // kernel.natural(table["candidates"], "candidates", 1)


def _of_trials(table: dict[str, Any], own: kernel.Arrays, d: int, rank: int, count: int, rows: slice) -> float:
    """Operations for ``rows`` of the trials, with ``candidates`` comparisons each."""
    k = kernel.natural(table["candidates"], "candidates", 1)
    held(k, rank or d)
    return _of_comparisons(table, own, d, rank, k * count, slice(k * rows.start, k * rows.stop))


COMPARISONS = Estimate(_listed, _of_comparisons, lambda risk: {risk.name: len(risk)})
#: Estimates by the kernel's classes of risks, sums excluded.
ESTIMATES: dict[type, Estimate] = {
    kernel.Worst: Estimate(lambda table, own, d: 1, _of_worst, lambda risk: ESTIMATES[type(risk.of)].sizes(risk.of)),
    kernel.ListRisk: LISTS,
    kernel.Rankings: LISTS,
    kernel.Choices: LISTS,
    kernel.ListedRisk: COMPARISONS,
    kernel.ListedChoices: Estimate(_trials, _of_trials, lambda risk: {"trials": len(risk), "pairs": len(risk.items)}),
    kernel.AllPairs: COMPARISONS._replace(rows=lambda table, own, d: math.comb(len(own("points", None, d)), 2)),
    kernel.OwnRisk: Estimate(lambda table, own, d: 1, lambda *given: 0.0, lambda risk: {}),
}


def kind_of(rule: type) -> type:
    """The kernel's class of a risk: one for all rules of others."""
    return kernel.OwnRisk if issubclass(rule, kernel.Risk) else rule


# Rules of others ------------------------------------------------------------------------------------------------------

#: Titles of the kernel's tables that are open, with the base classes of what is in them, and copies of these tables.
OPEN: dict[str, type] = {
    "LOSSES": kernel.Loss, "MEASURES": kernel.Measure, "REGULARIZERS": kernel.Regularizer, "RISKS": kernel.Risk,
}  # fmt: skip
OWN: dict[str, dict[str, Any]] = {title: dict(getattr(kernel, title)) for title in OPEN}
#: Most bytes of a file of rules, seconds to wait for rules that another thread executes, and most changes named.
MAX_RULES, WAIT, SHOWN = 2**24, 30.0, 8
LOCK = threading.RLock()


@dataclass
class Admitted:
    """Rules of others in a context: tables that include the kernel's own, each rule's file, and what files changed."""

    tables: dict[str, dict[str, Any]] = field(default_factory=lambda: {title: dict(own) for title, own in OWN.items()})
    sources: dict[tuple[str, str], str] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)

    def add(self, rules: Any) -> None:
        """Execute a file, admit its rules, and undo its changes to the kernel, which verdicts report."""
        path, package = _file_of(rules)
        with refusals(f"the rules {path}"):
            data = _bytes_of(path)
            sha256, count = hashlib.sha256(data).hexdigest(), len(self.sources)
            source = f"{path} (sha256 {sha256})"
            found, changes = _executed(data, sha256, str(path), package)
            if changes:
                self.changes.append(f"not the kernel's own: {source} changed, and it was put back: {_some(changes)}")
            for title, table in found.items():
                require_valid(isinstance(table, dict), f"{source}: {title} must be a dictionary of classes")
                for name, rule in table.items():
                    self._admit(title, name, rule, source)
            holds = changes or len(self.sources) > count
            require_valid(holds, f"{source} has no rules: no class in a dictionary {', '.join(OPEN)}")

    def _admit(self, title: str, name: Any, rule: Any, source: str) -> None:
        fits = type(name) is str and isinstance(rule, type) and issubclass(rule, OPEN[title])
        require_valid(fits, f"{source}: {title}[{name!r}] must be a class derived from {OPEN[title].__name__}")
        known = name in self.tables[title]
        require_valid(not known, f"{source}: the kernel has a rule {name!r} of {title} already")
        self.tables[title][name], self.sources[title, name] = rule, source


#: Rules of others admitted in a context; by default none.
HERE: ContextVar[Admitted] = ContextVar("HERE", default=Admitted())  # noqa: B039 - never changed


@contextlib.contextmanager
def admitted(rules: Any = ()) -> Iterator[None]:
    """Put rules of others into the kernel's tables within the block, in this context alone: no other thread sees them.

    Parameters
    ----------
    rules : path, str, module, or a list of these
        As for :func:`verify`; classes are derived from ``Loss``, ``Measure``, ``Regularizer`` and ``Risk`` of the
        kernel.

    Raises
    ------
    CertificateError
        If a file cannot be executed, has no rules, a rule is no such class, or the kernel has its name already; if a
        rule ends the process, as by ``SystemExit``.
    """
    given = list(rules) if isinstance(rules, list | tuple) else [rules]
    found, before = Admitted(), changed() if given else {}
    with _unended(), contextlib.ExitStack() as stack:
        for one in given:
            require_valid(LOCK.acquire(timeout=WAIT), f"other rules are being executed for more than {WAIT:g} seconds")
            stack.callback(LOCK.release)
            found.add(one)
        stack.close()
        set_here = HERE.set(found), kernel.files.TABLES.set(found.tables)
        try:
            yield
        finally:
            HERE.reset(set_here[0])
            kernel.files.TABLES.reset(set_here[1])
            # While rules are being executed, their own call undoes changes.
            if given and LOCK.acquire(blocking=False):
                put_back(before)
                LOCK.release()


@contextlib.contextmanager
def _unended() -> Iterator[None]:
    """Refuse rules that end the process or a generator; Ctrl-C still works."""
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise CertificateError(f"rules cannot be evaluated: {told(error)}") from error


def _file_of(rules: Any) -> tuple[Path, str | None]:
    """The file of rules, and the package of the module that it is, if it is one."""
    if isinstance(rules, str) and not rules.endswith(".py") and all(map(str.isidentifier, rules.split("."))):
        with refusals(f"the rules {rules}"):
            spec = importlib.util.find_spec(rules)
            require_valid(spec, f"the rules {rules}: there is no such module; the name of a file ends in .py")
            assert spec is not None
            place, package, parts = spec.origin, spec.parent, spec.submodule_search_locations
    elif isinstance(rules, ModuleType):
        place, package = getattr(rules, "__file__", None), rules.__package__
        parts = getattr(rules, "__path__", None)
    else:
        known = isinstance(rules, str | os.PathLike)
        require_valid(known, f"rules must be files, modules or their names, got {type(rules).__name__}")
        return Path(rules), None
    require_valid(parts is None, f"the rules {rules} are a package: name one module of it")
    require_valid(str(place).endswith(".py"), f"the rules {rules} are of no file of Python")
    return Path(str(place)), package


def _bytes_of(path: Path) -> bytes:
    """The bytes of a file of rules."""
    require_valid(stat.S_ISREG(path.stat().st_mode), f"the rules {path} are no file")
    with path.open("rb") as file:
        data = file.read(MAX_RULES + 1)
    require_valid(len(data) <= MAX_RULES, f"the rules {path} are larger than {MAX_RULES} bytes")
    return data


def _executed(data: bytes, sha256: str, path: str, package: str | None) -> tuple[dict[str, Any], list[str]]:
    """Execute a file; return the tables that it has or adds to, and its changes to the kernel, which are undone."""
    # Data classes look for their module by its name.
    module = sys.modules[f"rules_{sha256}"] = ModuleType(f"rules_{sha256}")
    module.__file__, module.__package__ = path, package
    before, tables = changed(), {title: getattr(kernel, title) for title in OPEN}
    known = {title: set(table) for title, table in tables.items()}
    try:
        exec(compile(data, path, "exec", dont_inherit=True), vars(module))
    finally:
        added = {title: {name: table[name] for name in table.keys() - known[title]} for title, table in tables.items()}
        changes = put_back(before)
    for title, table in tables.items():
        own = getattr(module, title, {})
        # The kernel's own table may have been imported to be added to.
        added[title] = added[title] if own is table else {**added[title], **own} if isinstance(own, dict) else own
    return added, changes


# Contents of the kernel -----------------------------------------------------------------------------------------------

#: Modules, classes, tables and functions of the kernel and of this module by name, with their initial contents.
PARTS: list[tuple[str, Any, dict[Any, Any]]] = []
ABSENT = object()


def _held(thing: Any) -> dict[Any, Any]:
    """Contents of a module, class, table or function by name."""
    if isinstance(thing, dict):
        return thing
    if isinstance(thing, FunctionType):
        return {name: getattr(thing, name) for name in ("__code__", "__defaults__", "__kwdefaults__")} | vars(thing)
    return dict(vars(thing)) | ({"__bases__": thing.__bases__} if isinstance(thing, type) else {})


def _parts() -> Iterator[tuple[str, Any, dict[Any, Any]]]:
    """Yield the modules of the kernel and this one, and their contents."""
    names = sorted(name for name in sys.modules if f"{name}.".startswith(f"{kernel.__name__}."))
    waiting, seen = [(name, sys.modules[name]) for name in (*names, __name__)], set[int]()
    for place, thing in waiting:
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        yield place.removeprefix("convexmetric.certificates."), thing, dict(_held(thing))
        for key, inner in _held(thing).items():
            inner = getattr(inner, "fget", None) or getattr(inner, "__func__", inner)
            ours = isinstance(inner, type | FunctionType) and inner.__module__ in (*names, __name__)
            if ours or (isinstance(inner, dict) and str(key).isupper()):
                waiting.append((f"{place}.{key}", inner))


def changed() -> dict[str, tuple[Any, Any, Any]]:
    """Find what has changed since this module was imported: places, each with its holder, key and initial value."""
    found = {}
    for place, holder, kept in PARTS:
        now = _held(holder)
        for key in [key for key in kept.keys() | now.keys() if now.get(key, ABSENT) is not kept.get(key, ABSENT)]:
            # Python itself adds lists, tables and modules under names of its own.
            if key in kept or not (str(key).startswith("__") and isinstance(now[key], dict | list | ModuleType)):
                name = f"{place}[{key!a}]" if isinstance(holder, dict) else f"{place}.{key}"
                found[name] = holder, key, kept.get(key, ABSENT)
    return found


def put_back(before: Iterable[str] = ()) -> list[str]:
    """Undo all changes except at the places ``before``, and name them."""
    found = {place: what for place, what in changed().items() if place not in before}
    for holder, key, kept in found.values():
        if isinstance(holder, dict):
            holder.pop(key) if kept is ABSENT else holder.update({key: kept})
        else:
            delattr(holder, key) if kept is ABSENT else setattr(holder, key, kept)
    return list(found)


def _some(places: Iterable[str]) -> str:
    """Name the first of some places, and count the others."""
    shown, others = sorted(places)[:SHOWN], len(list(places)) - SHOWN
    return ", ".join(shown) + (f" and {others} others" if others > 0 else "")


def outside(problem: dict[str, Any]) -> tuple[str, ...]:
    """List what is not the kernel's own: changes to it, and rules of the statement, with their files."""
    here, now = HERE.get(), changed()
    said = [*here.changes, *([f"not the kernel's own: it is changed: {_some(now)}"] if now else [])]
    said += [
        f"not the kernel's own: the rule {name!a} of {title}, of {here.sources.get((title, name), 'an unknown file')}"
        for title, name in sorted(set(_rules(problem)))
        if title in OWN and name not in OWN[title]
    ]
    return tuple(map(escaped, said))


def _rules(problem: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the rules that a statement names."""
    for part, title in (("risk", "RISKS"), ("regularizer", "REGULARIZERS")):
        yield from _used(problem[part], title) if part in problem else ()


def _used(table: dict[str, Any], title: str) -> Iterator[tuple[str, str]]:
    """Yield the rules that the table of a risk or of a regularizer names."""
    for key, of in (("kind", title), ("loss", "LOSSES"), ("measure", "MEASURES")):
        if key in table:
            yield of, table[key]
    inner = (*table.get("summands", ()), *table.get("terms", ()), table.get("of"))
    for one in (one for one in inner if isinstance(one, dict)):
        yield from _used(one, title)


# Verdicts -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """Verdict on a file: what was proven about its problem.

    Attributes
    ----------
    accepted : bool
        Whether the bounds that the file claims are proven.
    lower, upper : Fraction or None
        Proven bounds on the optimal value; None where nothing is proven.
    claimed : (Fraction, Fraction)
        Bounds that the file claims.
    reason : str
        Why it is not accepted; empty if it is.
    title, problem : str
        The file's title, and the problem in words, with all its parameters.
    seconds : float
    description : dict
        The problem as the file describes it.
    sizes : dict
        Numbers of features, points, queries, pairs or triplets.
    sha256 : str
        Hash of the statement: of its description and all its arrays.
    rules : tuple of str
        Changes to the kernel, and rules of the statement that are not its own, each with its file: the proof depends on
        them.
    steps : tuple of str
        Steps that make the points of a conic program exact, each proven (theorems 14 to 18).
    """

    accepted: bool
    lower: Fraction | None
    upper: Fraction | None
    claimed: tuple[Fraction, Fraction]
    reason: str
    title: str
    problem: str
    seconds: float
    description: dict[str, Any] = field(repr=False, compare=False, default_factory=dict)
    sizes: dict[str, int] = field(repr=False, compare=False, default_factory=dict)
    sha256: str = ""
    rules: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """Relative gap of the proven bounds, ``(upper - lower) / max(|upper|, |lower|)``; infinite without both.

        For a conic program, whose optimum may well be zero, the divisor is at least 1.
        """
        if self.lower is None or self.upper is None:
            return math.inf
        size = max(abs(self.upper), abs(self.lower), 1 if "kind" in self.description else 0)
        return float((self.upper - self.lower) / (size or 1))

    def __str__(self) -> str:
        said = "accepted" if self.accepted else f"NOT accepted: {self.reason}"
        wide = WIDE < self.gap < math.inf
        return (
            "".join(f"{rule}\n" for rule in self.rules)
            + (f"far apart: the proven bounds have a relative gap of {self.gap:.1e}\n" if wide else "")
            + f"title:     {self.title!a}\n"
            f"problem:   {self.problem}\n"
            f"sizes:     {', '.join(f'{count} {name}' for name, count in self.sizes.items())}\n"
            + "".join(f"step:      {step}\n" for step in self.steps)
            + f"statement: sha256 {self.sha256}\n"
            f"proven:    {decimal(self.lower, -1)} <= optimum <= {decimal(self.upper, 1)}"
            f"   (relative gap {self.gap:.1e})\n"
            f"claimed:   {decimal(self.claimed[0], -1)} <= optimum <= {decimal(self.claimed[1], 1)}\n"
            f"{said} ({self.seconds:.2f} s)"
        )


def decimal(value: Fraction | None, away: int) -> str:
    """A bound in decimals, rounded outward: the text is a bound too."""
    if value is None:
        return "nothing"
    # A fraction of at most 18 decimal digits, so that the division is exact.
    value = kernel.rounded(value, away)
    return f"{Context(prec=40).divide(Decimal(value.numerator), Decimal(value.denominator)):g}"


def _words(table: dict[str, Any]) -> str:
    """Text of a risk or regularizer with all its parameters, which have been checked to be names and rationals."""
    said = [
        f"{key} {_words(value) if isinstance(value, dict) else value}"
        for key, value in sorted(table.items())
        if key not in ("kind", "terms", "summands", "cones")
    ]
    for term in table.get("terms", ()):
        names = ["weight", "margin", "sign", *sorted(set(term) - {"loss", "weight", "margin", "sign"})]
        said.append(f"{term['loss']} of {', '.join(f'{name} {term[name]}' for name in names)}")
    said += [_words(summand) for summand in table.get("summands", ())]
    said += [f"{kind} {count}" for kind, count in table.get("cones", {}).items() if count]
    return f"{table['kind']} ({'; '.join(said)})" if said else str(table["kind"])


CONES = {
    "psd": "positive semidefinite",
    "block-diagonal": "block-diagonal positive semidefinite",
    "diagonal": "nonnegative diagonal",
    "matrices": "arbitrary",
    "symmetric": "symmetric",
}


def in_words(table: dict[str, Any]) -> str:
    """Text of the problem of a proven file, with all its parameters; what rules of others do not check is escaped."""
    if "kind" in table:
        said = ", ".join(f"{kind} {count}" for kind, count in table["cones"].items() if count) or "none"
        names = ", ".join(f"{name} ({count})" for name, _, count in table["columns"][:NAMED])
        more = f" and {len(table['columns']) - NAMED} others" * (len(table["columns"]) > NAMED)
        return (
            f"{'maximise' if table['maximise'] else 'minimise'} a {'quadratic' if table['quadratic'] else 'linear'} "
            f"function of {names or table['variables']}{more} over cones ({said}), with the constant "
            f"{Fraction(table.get('constant', '0'))}"
        )
    return escaped(
        f"minimise {_words(table['risk'])} + {_words(table['regularizer'])} over "
        f"{CONES[table['cone']]} metrics, with "
        f"{'a' if table['linear'] else 'no'} linear term and the constant {Fraction(table.get('constant', '0'))}"
    )


def steps(arrays: Mapping[str, Array]) -> tuple[str, ...]:
    """Steps that make points of a conic program exact for the whole program, according to the arrays of its proof."""
    count = {name: len(array) for name, array in arrays.items()}
    none = np.zeros(0, dtype=np.int64)
    held = np.flatnonzero((arrays["z_spreads"] == 0.0) & (arrays["z"] == 0.0)) if "z_spreads" in arrays else none
    held = np.setdiff1d(held, arrays.get("z_pivot_unknowns", none))
    charges = arrays.get("charges", np.zeros(0))
    said = {
        "equations that follow from others by exact combinations": count.get("x_follow", 0),
        "inequalities that the point holds with equality": count.get("tight", 0),
        "entries of the metric that move": np.count_nonzero(arrays.get("metric_spreads", none)),
        "variables eliminated by equations that define them": count.get("x_pivot_unknowns", 0),
        "columns that are exact combinations of others": count.get("z_follow", 0),
        "rows without a multiplier": len(held),
        "multipliers eliminated by columns that define them": count.get("z_pivot_unknowns", 0),
        f"diagonal entries raised to prove convexity, by at most {charges.max(initial=0.0):.1e}": np.count_nonzero(
            charges
        ),
    }
    radii = arrays.get("b_radii", charges[:0])
    said[f"right-hand sides that may be others, by at most {radii.max(initial=0.0):.1e}"] = np.count_nonzero(radii)
    found = [f"{step}: {number}" for step, number in said.items() if number]
    return tuple(found)


def sizes(problem: kernel.Problem | kernel.ConicStatement) -> dict[str, int]:
    """Numbers of features, points, queries, pairs or triplets; or of variables and rows."""
    if isinstance(problem, kernel.ConicStatement):
        return {"variables": problem.program.n, "rows": problem.program.cones.rows}
    every = [array for name, array in problem.arrays.items() if name.endswith(kernel.files.POINTS)]
    points = sum(len(array) - (array.ndim == 1) for array in every)
    own = sum(len(array) for name, array in problem.arrays.items() if name.endswith("queries"))
    found = Counter({"features": problem.cone.d, "points": points} | ({"points of queries": own} if own else {}))
    for risk in problem.risk.risks if isinstance(problem.risk, kernel.SumRisk) else [problem.risk]:
        found.update(ESTIMATES[type(risk)].sizes(risk))
    return dict(found)


def verify(*paths: Any, rules: Any = (), max_bytes: int = MAX_BYTES, max_work: float = MAX_WORK) -> Verdict:
    """Prove bounds from a certificate, a file or its parts, and compare them with those it claims.

    Parameters
    ----------
    *paths : path
        A file as ``docs/certificate-format.md`` describes it; or all parts of a certificate, of which one at a time is
        in memory.
    rules : path, str, module, or a list of these
        Rules of your own, for this call only: a Python file (a path, or text that ends in ``.py``), or a module or its
        name, which stands for its file; no package. It is *executed*, anew each time, from the bytes whose SHA-256 is
        in the verdict. It has dictionaries ``LOSSES``, ``MEASURES``, ``REGULARIZERS`` or ``RISKS`` of classes by their
        names in files. A verdict that depends on them begins with the file and its SHA-256; changes that the file made
        to the kernel are undone, and reported first.
    max_bytes : int
        Files that are larger, packed or unpacked, are not read.
    max_work : float
        Files that take more operations, each about a nanosecond of one core, are not proven.

    Returns
    -------
    Verdict
        The bounds that were proved, and whether they confirm those that the file claims. For parts the reason tells
        which rows are in none of them or in two.

    Raises
    ------
    CertificateError
        If a file is damaged, malformed, too large, or its arrays do not have the hashes that it states; if files are
        not parts of one certificate; if rules cannot be loaded, or the kernel has their names; or if this machine does
        not compute as the proof assumes.
    """
    with admitted(rules):
        return judge((read(Path(path), max_bytes) for path in paths), max_work)


def judge(files: Iterable[kernel.Contents], max_work: float = MAX_WORK) -> Verdict:
    """:func:`verify` of the contents of files, as :func:`read` returns them."""
    start, titles, taken = time.perf_counter(), [], list[tuple[str, ...]]()
    stated: list[Any] = []

    def titled() -> Iterator[kernel.Contents]:
        for document, arrays in files:
            titles.append(title := document["title"])
            fits = isinstance(title, str) and len(title) <= 500 and title.isprintable()
            require_valid(fits, "title must be a line of at most 500 letters")
            whole = "risk" not in document["problem"] or any(name.endswith(kernel.files.POINTS) for name in arrays)
            # A risk of others may have no points.
            named = [] if whole else _rules(document["problem"])
            whole = whole or any(of == "RISKS" and str(rule) not in OWN[of] for of, rule in named)
            require_valid(
                whole, "it leaves the data out: name the instance that has them (verify FILE --instance NAME)"
            )
            stated.append(copy.deepcopy(document["problem"]))
            yield document, arrays
            taken.append(steps(arrays))

    with refusals("the problem"):
        proof = prove(titled(), max_work)
        require_valid(proof.problem.table == stated[-1], "rules of others changed the statement")
        return as_verdict(proof, titles[0], time.perf_counter() - start, taken[0])


def prove(files: Iterable[kernel.Contents], max_work: float = MAX_WORK) -> kernel.Proof:
    """Run the kernel on contents of files, after testing the machine's arithmetic, within the limits."""
    arithmetic()

    with refusals("the problem"):
        return kernel.prove(limited(*contents, max_work=max_work) for contents in files)


def as_verdict(proof: kernel.Proof, title: str, seconds: float, taken: tuple[str, ...] = ()) -> Verdict:
    """Verdict of a proof, with texts and sizes for display."""
    problem = proof.problem
    return Verdict(
        not proof.reason, proof.lower, proof.upper, proof.claimed, proof.reason, title, in_words(problem.table),
        seconds, problem.table, sizes(problem), problem.sha256, outside(problem.table), taken,
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Check files from the command line; exit code 0: proven; 1: not proven; 2: refused; 3: proven, but unwritten."""
    parser = argparse.ArgumentParser(description="Prove the bounds of a certificate file in exact arithmetic.")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="a certificate, or all its parts")
    parser.add_argument("--max-bytes", type=int, default=MAX_BYTES)
    parser.add_argument("--max-work", type=float, default=MAX_WORK)
    said = parser.parse_args(arguments)
    try:
        verdict = verify(*said.files, max_bytes=said.max_bytes, max_work=said.max_work)
        with refusals("the verdict"):
            text = str(verdict)
    except CertificateError as error:
        print(f"refused: {error}", file=sys.stderr)
        return 2
    return kernel.proofs.ended(text, verdict.accepted)


PARTS.extend(_parts())

if __name__ == "__main__":
    sys.exit(main())
