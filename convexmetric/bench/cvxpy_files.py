"""Python files that state an instance in CVXPY from its arrays, without this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from convexmetric.certificates import kernel
from convexmetric.certificates.statement import Arrays, Table
from convexmetric.errors import InputError

HEAD = '''"""{title}

States {name} in CVXPY from {name}.npz, and solves it. Proven: the optimum is between
{bounds}
"""
from pathlib import Path

import cvxpy as cp
import numpy as np

arrays = np.load(Path(__file__).with_name("{name}.npz"))
M = {variable}
constraints, objective = [], 0
entries = {entries}


def rows(U, V):
    """Rows e with e @ entries the distances of U, a point or one a row, and the rows of V."""
    return {rows}
'''
TAIL = """
problem = cp.Problem(cp.Minimize(objective), constraints)

if __name__ == "__main__":
    problem.solve(solver=cp.CLARABEL)
    print(problem.status, problem.value)
"""
#: The metric by cone.
VARIABLES = {
    "psd": "cp.Variable(({d}, {d}), PSD=True)",
    "block-diagonal": "cp.Variable(({d}, {d}), PSD=True)",
    "diagonal": "cp.Variable({d}, nonneg=True)",
}
#: Losses of s with the margin mu, and what is to hold.
LOSSES = {
    "hinge": ("cp.pos(mu - s)", ""),
    "logistic": ("cp.logistic(-s)", ""),
    "negative log": ("-cp.log(s)", ""),
    "negative root": ("-cp.sqrt(s)", ""),
    "hard": ("cp.Constant(np.zeros(s.shape))", "[s >= mu]"),
    "itakura-saito": ("r - cp.log(r) - 1", "[r {side} 1, r {side} s / mu]"),
}
#: Regularizers of D = M - M0, without their weight.
REGULARIZERS = {
    "zero": "0",
    "trace": "cp.sum(cp.diag(M)) if M.ndim == 2 else cp.sum(M)",
    "frobenius": "cp.norm(cp.vec(D, order='C'))",
    "squared frobenius": "0.5 * cp.sum_squares(D)",
    "trace norm": "cp.normNuc(D) if M.ndim == 2 else cp.norm1(D)",
    "entrywise": "cp.sum(cp.abs({entries}))",
    "log det": "cp.sum(cp.multiply(H, M)) - log_det(M) - log_det(H).value - {d}",
    "budget": "cp.pos(cp.sum(cp.multiply(arrays['{start}spent'], M)) - {limit})",
    "squared points": "0.5 * cp.quad_form(M, cp.psd_wrap(arrays['points'] ** 2))",
}


def script(name: str, title: str, table: Table, arrays: Arrays, bounds: Sequence[str]) -> str:
    """The text of the file.

    Raises
    ------
    InputError
        If a block of the statement is not written so.
    """
    d, cone, told = table["features"], table["cone"], [f"{bound} ({float(Fraction(bound)):.12g})" for bound in bounds]
    diagonal, matrices = cone == "diagonal", 'np.einsum("ni,nj->nij", U - V, U - V).reshape(len(V), -1)'
    text = HEAD.format(
        title=title,
        name=name,
        bounds=" and\n".join(told),
        variable=_written(VARIABLES, cone, "the cone").format(d=d),
        entries="M" if diagonal else 'cp.vec(M, order="C")',
        rows="(U - V) ** 2" if diagonal else matrices,
    )
    lines = ["constraints += [M[arrays['blocks'][:, None] != arrays['blocks']] == 0]"] * (cone == "block-diagonal")
    for start, risk in _summands(table["risk"], kernel.SUMMAND):
        known = {of.removeprefix(start) for of in arrays if of.startswith(start)}
        sparse = "points_indptr" in (known if known & set(kernel.files.POINTS) else arrays)
        lines += _risk(risk, start, known, sparse, d)
    for start, term in _summands(table["regularizer"], kernel.TERM):
        lines += _regularizer(term, start, d)
    lines += ["objective += cp.sum(cp.multiply(arrays['linear'], M))"] * table["linear"]
    lines += [f"objective += {_number(table['constant'])}"] if "constant" in table else []
    return text + "\n".join(lines) + "\n" + TAIL


def _summands(table: Table, start: str) -> list[tuple[str, Table]]:
    """Tables of a sum, or the one table, with how the names of their arrays begin."""
    return [(start.format(k), of) for k, of in enumerate(table.get("summands", ()))] or [("", table)]


def _number(rational: str) -> str:
    """The float nearest to a rational."""
    return repr(float(Fraction(rational)))


def _risk(table: Table, start: str, known: set[str], sparse: bool, d: int) -> list[str]:
    """Lines that add a risk, whose arrays are ``known`` by these names after ``start``."""
    kind, get = table["kind"], f"arrays['{start}{{}}']".format
    if known & {"targets", "comparison_weights", "query_weights", "queries", "matrix_indptr"}:
        raise InputError(
            "targets, weights, queries and matrices of their own are not written out in CVXPY: to='arrays'"
        )
    own = get if known & set(kernel.files.POINTS) else "arrays['{}']".format
    lines = [f"\n# {kind}", f"X = {own('points')}"]
    if sparse:
        start, at, values = (own(f"points_{part}") for part in ("indptr", "indices", "data"))
        lines[1] = f"X = np.zeros((len({start}) - 1, {d}))"
        lines += [f"X[np.repeat(np.arange(len(X)), np.diff({start})), {at}] = {values}"]
    return [*lines, *_written(RISKS, str(table.get("measure", kind)), "the risk")(table, known, get)]


def _comparisons(table: Table, known: set[str], get: Callable[[str], str]) -> list[str]:
    """Listed comparisons, and all pairs."""
    if "triplets" in known:
        lines = [f"i, j, k = {get('triplets')}.T", "all_s = (rows(X[i], X[k]) - rows(X[i], X[j])) @ entries"]
    else:
        pairs = f"{get('pairs')}.T" if "pairs" in known else "np.triu_indices(len(X), 1)"
        lines = [f"i, j = {pairs}", "all_s = rows(X[i], X[j]) @ entries"]
    lines += [f"which = {get('terms') if 'terms' in known else '{0}[i] != {0}[j]'.format(get('codes'))}"]
    for number, term in enumerate(table["terms"]):
        value, holds = _written(LOSSES, term["loss"], "the loss")
        mu = _number(term["margin"])
        lines += [f"s, mu = {'-' * (term['sign'] < 0)}all_s[np.flatnonzero(which == {number})], {mu}"]
        lines += ["r = cp.Variable(s.shape)"] if term["loss"] == "itakura-saito" else []
        lines += [f"constraints += {holds.format(side='<=' if float(mu) > 0 else '>=')}"] if holds else []
        lines += [f"objective += {_number(term['weight'])} * cp.sum({value})"]
    return lines


def _lists(table: Table, known: set[str], get: Callable[[str], str]) -> list[str]:
    """Pairs of lists."""
    value, _ = _written(LOSSES, table["loss"], "the loss")
    rest = f"[np.setdiff1d(np.arange(len(X)), np.append(*of)) for of in zip(near, {get('itself')})]"
    return [
        f"Q = X[{get('anchors')}]",
        f"near = {_split(get('near'))}",
        f"far = {_split(get('far')) if 'far' in known else rest}",
        "q, i, j = np.array([(q, i, j) for q in range(len(Q)) for i in near[q] for j in far[q]]).T",
        f"s, mu = (rows(Q[q], X[j]) - rows(Q[q], X[i])) @ entries, {_number(table.get('margin', '0'))}",
        f"objective += {_number(table['weight'])} * cp.sum({value})",
    ]


def _split(array: str) -> str:
    return f"np.split({array}, {array[:-2]}_stops'][:-1])"


def _choices(table: Table, known: set[str], get: Callable[[str], str]) -> list[str]:
    """Listed choices."""
    k, m = table["candidates"], table["chosen"]
    return [
        f"i, j = {get('pairs')}.T",
        f"t = rows(X[i], X[j]) @ entries / {_number(table['temperature'])}",
        f't = cp.reshape(t, (len(i) // {k}, {k}), order="C")',
        f"parts = cp.log_sum_exp(-t, axis=1) + cp.sum(t[:, :{m}], axis=1) / {m}",
        f"objective += {_number(table['weight'])} * cp.sum(parts)",
    ]


RISKS = {
    "listed comparisons": _comparisons, "all pairs": _comparisons, "pairs of lists": _lists, "listed choices": _choices,
}  # fmt: skip


def _written(known: Mapping[str, Any], name: str, what: str) -> Any:
    """Return the entry of a table for a block; refuse blocks without one."""
    if name not in known:
        raise InputError(f"{what} {name!r} is not written out in CVXPY: pass to='arrays'")
    return known[name]


def _regularizer(table: Table, start: str, d: int) -> list[str]:
    """Lines that add a regularizer."""
    kind = table["kind"]
    value = _written(REGULARIZERS, str(table.get("of", kind)), "the regularizer")
    lines = [f"\n# {kind}", f"D = M - arrays['{start}prior']" if table.get("prior") else "D = M"]
    if kind == "log det":
        lines += [f"T = arrays['{start}prior_root']", "H = T.T @ T if T.ndim == 2 else T"]
        lines += ["log_det = cp.log_det if T.ndim == 2 else lambda w: cp.sum(cp.log(w))"]
    limit = _number(table.get("limit", "0"))
    entries = "D" if table.get("diagonal", True) else f"cp.multiply(D, 1 - np.eye({d}))"
    value = value.format(start=start, d=d, limit=limit, entries=entries)
    if kind == "budget" and "weight" not in table:
        return [*lines, f"constraints += [cp.sum(cp.multiply(arrays['{start}spent'], M)) <= {limit}]"]
    weight = float(Fraction(table.get("weight", "1"))) / table.get("over_root_of", 1) ** 0.5
    return [*lines, f"objective += {weight!r} * ({value})"]
