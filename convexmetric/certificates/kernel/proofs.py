"""Problems, and the proof of the bounds that a certificate claims, in one file or in parts."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from .balls import Array, Ball, rounded
from .conic import ConicStatement
from .errors import CertificateError, NotProven, refusals, require_proven, require_valid
from .metrics import Cone, Minorant

from .files import (  # isort: skip
    VERSION, Arrays, Contents, Table, digest, entry, keys, natural, of_rows, rational, rules, statement_digest,
)  # fmt: skip
from .reader import contents
from .regularizers import REGULARIZERS
from .sums import RISKS, read


class Problem:
    """The statement of a file, read and checked."""

    wanted, optional = "cone features risk regularizer linear", "constant features_of_items"

    def __init__(self, document: Table, arrays: Arrays) -> None:
        table = self.table = document["problem"]
        keys(table, "problem", self.wanted, self.optional)
        require_valid(isinstance(table["linear"], bool), "problem: linear must be true or false")
        cone = self.cone = Cone(table, arrays)
        self.constant = rational(table.get("constant", "0"), "constant")
        self.risk = read(rules("RISKS", RISKS), table["risk"], arrays, cone, "risk")
        omega = entry(rules("REGULARIZERS", REGULARIZERS), table["regularizer"], "regularizer")
        self.omega = omega(table["regularizer"], arrays, cone, self.risk.X)
        self.G = cone.matrix(arrays, "linear") if table["linear"] else None
        #: Arrays of the statement; arrays read later belong to the proof.
        self.arrays = {name: arrays.arrays[name] for name in arrays.used}
        self.sha256 = statement_digest(table, self.arrays)
        self.dual_keys = f"{self.risk.dual_keys} share regularizer"

    def read(self, table: Table, arrays: Arrays) -> tuple[Array, Fraction, Any]:
        """Read the proof: factor of the metric, share (scaling) of the dual point, subgradient of the regularizer."""
        own = table["regularizer"]
        keys(own, "dual: regularizer", self.omega.parameters)
        factor, share = self.cone.factor(arrays, self.omega.definite), rational(table["share"], "dual: share")
        return factor, share, self.omega.read(own, arrays)

    def cost(self, risk: Any, factor: Array, given: Any) -> Ball:
        """Value of some rows of the risk at the metric of a file."""
        found: Ball = risk.value(self.omega.exact(factor, given))
        return found

    def upper(self, risk: Ball, factor: Array, given: Any) -> Fraction:
        """Upper bound on F without its constant, at the metric of a file, given the risk there."""
        M = self.cone.metric(self.omega.exact(factor, given))
        linear = Ball(0.0) if self.G is None else (M * self.G).sum()
        return (risk + self.omega.value(factor, M, given) + linear).upper()

    def lower(self, says: Minorant, share: Fraction, given: Any, upper: Fraction | None) -> Fraction:
        """Lower bound on F without its constant (theorem 6)."""
        require_proven(0 <= share <= 1, "the share is not between 0 and 1")
        scales = share == 1 or self.risk.nonnegative
        require_proven(scales, "a share of a dual point says nothing of a risk that may be negative")
        if self.cone.free:
            # The dual cone of all matrices is zero: the slope must equal the matrix.
            P = says.S * Ball.of(share)
            return share * says.value.lower() - self.omega.offset(P if self.G is None else P - self.G).upper()
        # If the risk is nonnegative and there is no G, the regularizer is at most F, hence at most the upper bound.
        known = self.G is None and self.risk.nonnegative
        slopes, e = self.omega.slopes(given, None if upper is None or not known else max(upper, Fraction(0)))
        slopes += [] if self.G is None else [Ball(self.G)]
        slopes += [-(says.S * Ball.of(share))] if share else []
        # A sum of no more than one term is exact.
        K = reduce(add, slopes) if slopes else Ball(np.zeros(self.cone.shape))
        self.cone.dual(K, "the slope less the dual matrix")
        return share * says.value.lower() - e.upper()


#: Statements that name their kind. A statement that does not is a :class:`Problem`.
STATEMENTS: dict[str, Any] = {"conic program": ConicStatement}


def stated(document: Table, arrays: Arrays) -> Any:
    """Read the statement of a file."""
    table = document["problem"]
    kind = entry(STATEMENTS, table, "problem") if isinstance(table, dict) and "kind" in table else Problem
    # Conic programs of version 2 were changed before they were stated.
    omega = table.get("regularizer") if isinstance(table, dict) else None
    conic = kind is ConicStatement or (isinstance(omega, dict) and omega.get("kind") == "conic")
    known = document["version"] == VERSION or not conic
    require_valid(known, f"conic programs are of version {VERSION}: write the file anew from its problem")
    return kind(document, arrays)


@dataclass(frozen=True)
class Proof:
    """Proven bounds on the optimal value of a statement, rounded outward to 17 digits; None for one that is not proven.

    ``reason`` names the bounds and claims that were not proven; it is empty if the claims are accepted.
    """

    problem: Problem | ConicStatement
    lower: Fraction | None
    upper: Fraction | None
    claimed: tuple[Fraction, Fraction]
    reason: str


def prove(files: Iterable[Contents]) -> Proof:
    """Prove the bounds of a certificate, in one file or in parts (theorem 8), and compare them with its claims."""
    reasons: dict[str, str] = {}

    def attempt(end: str, step: Callable[..., Any], *given: Any) -> Any:
        try:
            return step(*given)
        except NotProven as error:
            reasons.setdefault(end, f"{end} bound: {error}")

    problem, common, parts = None, "", []
    with np.errstate(all="ignore"):
        for document, arrays in files:
            of, table, claims = Arrays(arrays), document["dual"], document["claimed"]
            problem = stated(document, of)
            keys(table, "dual", problem.dual_keys, "rows")
            keys(claims, "claimed", "lower upper")
            factor, share, given = problem.read(table, of)
            claimed = rational(claims["lower"], "lower"), rational(claims["upper"], "upper")
            before, common = common, shared(document, arrays)
            fits = before in ("", common)
            require_valid(fits, "these are no parts of one certificate: they differ in more than their rows")
            rows = some_rows(table, len(problem.risk))
            risk = problem.risk.part(slice(*rows))
            cost = attempt("upper", problem.cost, risk, factor, given)
            parts.append((rows, cost, attempt("lower", risk.dual, table, of)))
            unused = ", ".join(sorted(set(arrays) - of.used))
            require_valid(not unused, f"arrays that nothing speaks of: {unused}")
        assert problem is not None, "there is no file"
        # Parts are sorted by their rows, so that the order of files does not matter.
        ranges, costs, said = zip(*sorted(parts, key=lambda part: part[0]), strict=True)
        wrong = misfits(ranges, len(problem.risk))
        reasons = {"upper": wrong, "lower": wrong} if wrong else reasons
        upper = None if "upper" in reasons else attempt("upper", problem.upper, reduce(add, costs), factor, given)
        lower = None if "lower" in reasons else attempt("lower", problem.lower, reduce(add, said), share, given, upper)
    low = None if lower is None else rounded(lower + problem.constant, -1)
    high = None if upper is None else rounded(upper + problem.constant, 1)
    if low is not None and claimed[0] > low:
        reasons["lower"] = "the lower bound claimed is larger than the one proven"
    if high is not None and claimed[1] < high:
        reasons["upper"] = "the upper bound claimed is smaller than the one proven"
    return Proof(problem, low, high, claimed, wrong or "; ".join(reasons.values()))


def shared(document: Table, arrays: Mapping[str, Array]) -> Any:
    """Content that all parts of a certificate must have in common: all except rows and their dual points."""
    dual = {key: value for key, value in document["dual"].items() if key not in ("rows", "bits")}
    hashes = {name: digest(array) for name, array in arrays.items() if not of_rows(name)}
    return json.dumps([document["problem"], document["claimed"], dual, hashes], sort_keys=True)


def some_rows(table: Table, count: int) -> tuple[int, int]:
    """First row of a file, and the row after its last; all rows where the file names none."""
    rows = table.get("rows", [0, count])
    require_valid(isinstance(rows, list) and len(rows) == 2, "dual: rows must be a list of two integers")
    if "rows" in table:
        natural(rows[1], "dual: the end of rows", natural(rows[0], "dual: the first row", 0, count) + 1, count + 1)
    return rows[0], rows[1]


def misfits(rows: Iterable[tuple[int, int]], count: int) -> str:
    """Rows that are not in exactly one part, in words, for parts in order; empty if there are none."""
    at, said = 0, []
    for first, end in [*rows, (count, count)]:
        if first != at:
            where = "no part" if first > at else "more than one part"
            said.append(f"the rows {min(at, first)} to {(first if first > at else min(at, end)) - 1} are in {where}")
        at = max(at, end)
    return "; ".join(said)


def main(*paths: str) -> int:
    """Print bounds and the hash of the statement; exit code 0 if the claims of the files are proven, else 1, 2 or 3."""
    try:
        with refusals("the problem"):
            proof = prove(contents(Path(path)) for path in paths)
    except CertificateError as error:
        print(f"refused: {error}", file=sys.stderr)
        return 2
    bounds = f"{proof.lower} <= optimum <= {proof.upper}"
    return ended(f"{bounds}\nstatement: {proof.problem.sha256}\n{proof.reason or 'accepted'}", not proof.reason)


def ended(verdict: str, accepted: bool) -> int:
    """Print a verdict; exit code 0 if it is accepted and was written, else 1, or 3 if it could not be written."""
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        print(verdict, flush=True)
    except OSError as error:
        print(f"cannot write the verdict: {error.strerror}", file=sys.stderr)
        # Python would try to write again on exit.
        sys.stdout = None
        return 3 if accepted else 1
    return 0 if accepted else 1
