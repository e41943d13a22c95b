"""Check that a certificate states a problem built here, from a data set of the library or from any data."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from convexmetric.certificates import checker, kernel
from convexmetric.certificates.statement import Table, describe
from convexmetric.certificates.subgradients import above, feasible
from convexmetric.errors import InputError
from convexmetric.problem import AnyProblem, MetricProblem, as_problem


def difference(
    document: Table,
    arrays: Mapping[str, np.ndarray],
    table: Table,
    wanted: Mapping[str, np.ndarray],
    tolerance: float = 0.0,
) -> tuple[str, float]:
    """Compare the contents of a file (see ``checker.read``) with the statement of a problem built here.

    Everything must be equal, bit by bit; with a tolerance floats may differ by that much, relative to the largest of
    their array.

    Parameters
    ----------
    document, arrays : dict
        Contents of the file.
    table, wanted : dict
        The statement, as :func:`~convexmetric.certificates.describe` returns it.
    tolerance : float

    Returns
    -------
    str
        Name of the part that differs; empty if nothing does, or only floats within the tolerance.
    float
        Largest difference of a float, relative to the largest one of its array.

    Raises
    ------
    checker.CertificateError
        If the contents do not state a problem.
    """
    with checker.refusals("the problem"), np.errstate(all="ignore"):
        stated = kernel.Problem(document, kernel.Arrays(arrays))
    if stated.sha256 == kernel.statement_digest(table, wanted):
        return "", 0.0
    if document["problem"] != table:
        return "the statement or its parameters", 0.0
    deviation = 0.0
    for name in sorted(set(stated.arrays) ^ set(wanted)) or wanted:
        here, there = wanted.get(name), arrays.get(name)
        if here is None or there is None or there.shape != here.shape or there.dtype != here.dtype:
            return f"the array {name}", 0.0
        if kernel.digest(there) != kernel.digest(here):
            off = _deviation(here, there) if here.dtype.kind == "f" else np.inf
            if not 0.0 <= off <= tolerance:
                return f"the array {name}", off
            deviation = max(deviation, off)
    # Equal floats may still differ in bits, by the sign of a zero.
    return "" if tolerance > 0.0 else "the sign of a zero", deviation


def _deviation(here: np.ndarray, there: np.ndarray) -> float:
    """Largest difference between two arrays, relative to the largest number."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.abs(here - there).max() / max(np.abs(here).max(), np.finfo(float).tiny))


def verify_instance(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    problem: AnyProblem,
    *,
    tolerance: float = 0.0,
    rules: Any = (),
    max_bytes: int = checker.MAX_BYTES,
    max_work: float = checker.MAX_WORK,
) -> tuple[checker.Verdict, float]:
    """Prove the bounds of a certificate, and that they are bounds for a problem built here.

    A file may omit all arrays of its statement, so that it is small and contains no data: those of the problem built
    here take their place (:func:`without_statement` removes them from whole files).

    With a tolerance the proof is about the problem *built here*, whatever the file's numbers are. Its statement
    replaces that in the file, of which only the metric and the dual point are used; the feasible share of the dual
    point is computed anew. So the bounds include the deviation, and the claims must hold for the problem built here.

    Parameters
    ----------
    path : path or sequence of paths
        A certificate, or all its parts.
    problem : MetricProblem, Instance or str
    tolerance : float
        Allowed difference of floats of the statement, relative to the largest of their array. Default: none.
    rules, max_bytes, max_work
        See :func:`convexmetric.verify`.

    Returns
    -------
    Verdict
    float
        Largest deviation of the file's floats from the problem's; NaN if it has none of the statement's arrays.

    Raises
    ------
    checker.CertificateError
        If the file is refused, or is about another problem.
    InputError
        If the tolerance is not a number between 0 and 1.
    """
    if not 0.0 <= tolerance < 1.0:
        raise InputError(f"the tolerance must be at least 0 and less than 1, got {tolerance!r}")
    problem = as_problem(problem)
    table, made = describe(problem)
    deviations = [0.0]

    def compared() -> Iterator[kernel.Contents]:
        for one in [path] if isinstance(path, str | os.PathLike) else path:
            document, arrays = checker.read(Path(one), max_bytes)
            if not made.keys() & arrays.keys():
                if document["problem"] != table:
                    raise checker.CertificateError("it is about another problem: what differs is the statement")
                # NaN before numbers makes their maximum NaN.
                deviations.insert(0, np.nan)
                arrays = {**arrays, **made}
            with checker.refusals("the problem"):
                checker.limited(document, arrays, max_work)
            what, deviation = difference(document, arrays, table, made, tolerance)
            if what:
                near = f", by {deviation:.1e} of its largest number" if deviation > 0.0 else ""
                raise checker.CertificateError(f"it is about another problem: what differs is {what}{near}")
            deviations.append(deviation)
            yield document, {**arrays, **made} if tolerance > 0.0 else arrays

    with checker.admitted(rules):
        files = compared() if tolerance == 0.0 else iter(_anew(problem, list(compared()), max_work))
        return checker.judge(files, max_work), max(deviations)


def without_statement(contents: kernel.Contents, stated: Collection[str]) -> kernel.Contents:
    """Contents of a file without the arrays that state its problem, by their names; see :func:`verify_instance`."""
    document = contents[0]
    arrays = {name: array for name, array in contents[1].items() if name not in stated}
    return document | {"sha256": {name: kernel.digest(array) for name, array in arrays.items()}}, arrays


def _anew(problem: MetricProblem, files: list[kernel.Contents], max_work: float) -> list[kernel.Contents]:
    """Recompute scalings and subgradients for the statement built here; files are unchanged if none are found."""
    says, costs, made = [], [], []
    with checker.refusals("the problem"), np.errstate(all="ignore"):
        try:
            for document, arrays in files:
                if not checker.operations(document, arrays) <= max_work:
                    return files
                of, dual = kernel.Arrays(arrays), document["dual"]
                stated = kernel.Problem(document, of)
                if isinstance(stated.omega, kernel.ConicTerm):
                    return files
                factor, _, _ = stated.read(dual, of)
                risk = stated.risk.part(slice(*kernel.some_rows(dual, len(stated.risk))))
                made.append({name: array for name, array in arrays.items() if name not in of.used - set(stated.arrays)})
                says.append(risk.dual(dual, of))
                costs.append(risk.value(factor))
            said, metric = reduce(add, says), stated.cone.metric(factor).mid
            given, known = above(stated.omega, metric)
            upper = stated.upper(reduce(add, costs), factor, given)
            v, S = float(said.value.mid), said.S.mid
            hints = problem.regularizer.hints(v, S, problem.G, problem.cone, metric)
            share, slope = feasible(stated, said, hints, upper, known)
        except (kernel.NotProven, InputError):
            return files
    name = "weights_of_metric" if stated.cone.diagonal else "factor"
    slope |= {name: factor} | known
    return [
        (document | {"dual": document["dual"] | share}, kept | slope)
        for (document, _), kept in zip(files, made, strict=True)
    ]
