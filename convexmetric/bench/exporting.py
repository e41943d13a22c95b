"""Instances as plain files, for software without this package: ``docs/instances.md``."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from convexmetric.arguments import check_one_of
from convexmetric.bench.conic_files import cbf, sdpa
from convexmetric.bench.cvxpy_files import script
from convexmetric.bench.library import Instance, load_instance
from convexmetric.certificates import checker, instances, kernel
from convexmetric.certificates.statement import Arrays, Table, describe
from convexmetric.errors import InputError
from convexmetric.files import all_or_nothing
from convexmetric.problem import MetricProblem
from convexmetric.programs.canonical import Program, canonical

#: What an instance is exported to, and the endings of the files.
FORMATS = {"arrays": ("json", "npz"), "cvxpy": ("json", "npz", "py"), "cbf": ("cbf",), "sdpa": ("dat-s",)}
#: Most numbers of all comparisons, written out as rows of a program in the entries of the metric.
MOST_ENTRIES = 2 * 10**6


def export_instance(
    name: str,
    output: str | os.PathLike[str] = ".",
    *,
    to: str = "arrays",
    certificate: str | os.PathLike[str] | None = None,
) -> list[Path]:
    r"""Write an instance of the library as files that need nothing of this package.

    The problem is :math:`\min_{M \in K} R(M) + \langle G, M \rangle + \Omega(M) + c_0`, stated as in certificate
    files, bit by bit.

    Parameters
    ----------
    name : str
        One of :func:`~convexmetric.bench.list_problems`.
    output : path
        An existing folder.
    to : {"arrays", "cvxpy", "cbf", "sdpa"}
        ``arrays``: ``NAME.npz``, and ``NAME.json`` with the statement's table, hashes, sources and rational bounds.
        ``cvxpy``: these, and ``NAME.py``, which states the problem in CVXPY from the arrays. ``cbf``, ``sdpa``: the
        conic program to which CVXPY reduces the problem, in the Conic Benchmark Format (``NAME.cbf``) or that of SDPA
        (``NAME.dat-s``), which has linear, second-order (as matrices) and semidefinite cones only. Floats are
        written so that they are read as the same floats.
    certificate : path, optional
        A certificate of exactly this statement, which is copied next to the arrays as ``NAME.certificate.npz`` once it
        is proven; the bounds are then those that it proves.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    InputError
        If there is no such instance or format, the problem cannot be written in it or is too large, the
        certificate is refused or about another statement, or a file cannot be written.
    DataNotFoundError
        If its data set is missing.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import convexmetric as cm
    >>> with TemporaryDirectory() as folder:
    ...     print([path.name for path in cm.bench.export_instance("relative-wine-1000", folder)])
    ['relative-wine-1000.json', 'relative-wine-1000.npz']
    """
    instance = load_instance(name)
    check_one_of(to, FORMATS, "to")
    if certificate is not None and "npz" not in FORMATS[to]:
        raise InputError(f"a certificate is about arrays: pass to='arrays' with it, not {to!r}")
    made = exported(instance, to, None if certificate is None else Path(certificate))
    paths = [Path(output, file) for file in made]
    for path, content in zip(paths, made.values(), strict=True):
        with all_or_nothing(path) as unfinished:
            unfinished.write_bytes(content)
    return paths


def exported(instance: Instance, to: str, certificate: Path | None = None) -> dict[str, bytes]:
    """Contents of the files of an instance, by name.

    Raises
    ------
    InputError
        If the certificate does not fit, or the problem cannot be written so.
    """
    name, problem = instance.name, instance.problem()
    if "npz" not in FORMATS[to]:
        text = (cbf if to == "cbf" else sdpa)(*_program(name, problem), _about(instance))
        return {f"{name}.{FORMATS[to][0]}": text.encode()}
    table, arrays = describe(problem)
    proof = None if certificate is None else _proven(certificate, problem)
    description = {
        "format": "convexmetric-instance",
        "version": 1,
        "name": name,
        "problem": table,
        "sha256": {key: kernel.digest(array) for key, array in arrays.items()},
        "statement": kernel.statement_digest(table, arrays),
        **origin(instance),
        "certificate": None,
    }
    files = {f"{name}.json": b"", f"{name}.npz": _packed(arrays)}
    if proof is not None:
        bounds, files[f"{name}.certificate.npz"] = proof
        description |= {"bounds": bounds, "certificate": f"{name}.certificate.npz"}
    if to == "cvxpy":
        files[f"{name}.py"] = script(name, instance.title, table, arrays, description["bounds"]).encode()
        _check_size(name, problem)
    return files | {f"{name}.json": json_bytes(description)}


def origin(instance: Instance) -> Table:
    """Bounds of an instance, and its sources."""
    ends = (instance.exact_lower, instance.lower_bound), (instance.exact_upper, instance.upper_bound)
    bounds = [str(Fraction(bound) if exact is None else exact) for exact, bound in ends]
    # An infinite weight is text.
    made = json.dumps({"data": instance.data, "parameters": instance.parameters, **instance.tables})
    sources = json.loads(made, parse_constant=str)
    return {"title": instance.title, "bounds": bounds, "grade": instance.grade, "sources": sources}


def _about(instance: Instance) -> str:
    """One line of comment for a file of text."""
    lower, upper = origin(instance)["bounds"]
    return f"{instance.name}: {instance.title}; proven: {lower} <= optimum <= {upper}"


def _proven(path: Path, problem: MetricProblem) -> tuple[list[str], bytes]:
    """Bounds and bytes of a certificate of a problem."""
    try:
        verdict, _ = instances.verify_instance(path, problem)
    except checker.CertificateError as error:
        raise InputError(f"{path}: {error}") from error
    if not verdict.accepted:
        raise InputError(f"{path}: it is not proven: {verdict.reason}")
    return [str(verdict.lower), str(verdict.upper)], path.read_bytes()


def _check_size(name: str, problem: MetricProblem) -> None:
    """Raise unless all comparisons can be written out."""
    risk, cone = problem.risk, problem.cone
    # Choices have no such number; their distances are at most so many.
    rows = risk.stated_rows or float(risk.parts * max(points.shape[0] for points in risk.points))
    if not rows * cone.size <= MOST_ENTRIES:
        raise InputError(
            f"{name} is too large to be written out, with {rows:.0f} comparisons of {cone.size} numbers each (at most "
            f"{MOST_ENTRIES:,} numbers): pass to='arrays'"
        )


def _program(name: str, problem: MetricProblem) -> tuple[Program, float]:
    """The conic program of a problem, with a linear objective, and its constant."""
    if problem.risk.stated_rows is not None:
        _check_size(name, problem)
    # Rankings and choices have limits of their own.
    form = canonical(problem.statement().problem, quadratic=False)
    return form.program, form.constant


def _packed(arrays: Arrays) -> bytes:
    """An NPZ file, with the same bytes for the same arrays."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name in sorted(arrays):
            content = io.BytesIO()
            np.lib.format.write_array(content, arrays[name], allow_pickle=False)
            add_member(archive, f"{name}.npy", content.getvalue())
    return written.getvalue()


def add_member(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add a member without a date; what is packed already is not packed again."""
    how = zipfile.ZIP_STORED if name.endswith(".npz") else zipfile.ZIP_DEFLATED
    archive.writestr(zipfile.ZipInfo(name), content, how, compresslevel=6)


def json_bytes(table: Mapping[str, Any]) -> bytes:
    """Write a table as JSON."""
    return (json.dumps(table, indent=1, allow_nan=False) + "\n").encode("ascii")
