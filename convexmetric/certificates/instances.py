"""Check that a certificate is about a problem built here, from a data set of the library or from any data."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from convexmetric.certificates import checker, kernel
from convexmetric.certificates.statement import Table, describe, plain
from convexmetric.problem import MetricProblem


def difference(document: Table, arrays: Mapping[str, np.ndarray], problem: MetricProblem) -> str:
    """What differs between the contents of a file (see ``checker.read``) and the statement of a problem built here.

    Empty if nothing does: everything must be equal, bit by bit.

    Raises
    ------
    checker.CertificateError
        If the contents state no problem.
    """
    with checker.refusals("the problem"), np.errstate(all="ignore"):
        stated = kernel.Problem(document, kernel.Arrays(arrays))
    table, made = describe(problem)
    wanted = {name: plain(array) for name, array in made.items()}
    if stated.sha256 == kernel.statement_digest(table, wanted):
        return ""
    if document["problem"] != table:
        return "the statement or its parameters"
    for name in sorted({*stated.arrays, *wanted}):
        here, there = wanted.get(name), stated.arrays.get(name)
        if here is None or there is None or there.shape != here.shape or there.dtype != here.dtype:
            return f"the array {name}"
        if kernel.digest(there) != kernel.digest(here):
            off = np.abs(here - there).max() / np.abs(here).max(initial=np.finfo(float).tiny)
            return f"the array {name}" + (f", by {off:.1e} of its largest number" if off > 0.0 else "")
    raise AssertionError


def verify_instance(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    problem: MetricProblem,
    *,
    max_bytes: int = checker.MAX_BYTES,
    max_work: float = checker.MAX_WORK,
) -> checker.Verdict:
    """Prove the bounds of a certificate, and that they are about a problem built here.

    Parameters
    ----------
    path : path or sequence of paths
        A certificate, or all its parts.
    problem : MetricProblem
    max_bytes, max_work
        See :func:`convexmetric.verify`.

    Raises
    ------
    checker.CertificateError
        If the file is refused, or is about another problem.
    """

    def compared() -> Iterator[kernel.Contents]:
        for one in [path] if isinstance(path, str | os.PathLike) else path:
            document, arrays = checker.read(Path(one), max_bytes)
            with checker.refusals("the problem"):
                checker.limited(document, arrays, max_work)
            what = difference(document, arrays, problem)
            if what:
                raise checker.CertificateError(f"it is about another problem: what differs is {what}")
            yield document, arrays

    return checker.judge(compared(), max_work)
