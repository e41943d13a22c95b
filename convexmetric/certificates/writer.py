"""Rigorous certificates: the writer of the files that :mod:`convexmetric.certificates.checker` proves.

The statement is joined from the descriptions of the blocks (``convexmetric/certificates/statement.py``), and the
hints are the risk's form of its dual point. A file claims the bounds that the checker proves for its statement, so the
value of the statement at the metric is compared with the problem's own.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import math
import operator
import os
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from convexmetric.arguments import Learner, fitted, shown
from convexmetric.arrays import Array
from convexmetric.certificates import checker, kernel
from convexmetric.certificates.certificate import Certificate, certify_metric
from convexmetric.certificates.conic_terms import ConicTerms
from convexmetric.certificates.dual_points import between, in_parts, longest, stored
from convexmetric.certificates.programs import ProgramCertificate
from convexmetric.certificates.statement import Arrays, Table, describe, named_by_summand, plain, without_proof
from convexmetric.certificates.subgradients import above, feasible, shrunk
from convexmetric.described import Described
from convexmetric.errors import GapWarning, InputError
from convexmetric.files import all_or_nothing, check_solution_path
from convexmetric.problem import AnyProblem, KnownProblem, MetricProblem, as_problem
from convexmetric.risks import Minorant, Risk, SumRisk

#: Relative amounts by which a metric is scaled, tried in turn, until constraints hold despite rounding.
NUDGES = (0.0, 1e-13, 1e-11, 1e-9)
#: Allowed difference of statement and problem at a metric: relative to the sizes of their terms, and in
#: multiples of the estimated rounding, which the checker's bounds may exceed by this factor.
AGREEMENT, CAREFUL, ROUNDING, NOTHING = 1e-6, 1e4, 1e-10, 1e-120
#: Largest absolute value of a bound in a file.
MOST = 10**300
#: Proven relative gap below which no warning is given, and the largest multiple of the solution's gap without one.
CLOSE, WEAKER = 1e-6, 2.0
#: Part of a dual point that is as good as all of it, and how much further than to the border dual points are moved.
WHOLE, INWARDS = 1.0 - 1e-9, (1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
#: Most tangent planes in the search for a dual point inside.
PLANES = 30


class Certified(Protocol):
    """Protocol of objects with a certificate, such as a :class:`~convexmetric.Solution`."""

    @property
    def certificate(self) -> Certificate:
        """Bounds with the points that prove them."""


def write_certificate(
    path: str | os.PathLike[str],
    problem: AnyProblem | Certified | Learner | ProgramCertificate,
    *,
    solution: Certified | Certificate | Learner | None = None,
    title: str = "",
    parts: int = 1,
    rules: Any = (),
) -> checker.Verdict:
    """Write a file that proves bounds on the optimal value of a problem in exact arithmetic.

    Parameters
    ----------
    path : path
        Ends in ``.npz``.
    problem : MetricProblem, Instance, str, Solution, estimator or ProgramCertificate
        A solution and a fitted estimator contain their problem and are passed alone, as is the result of
        :func:`~convexmetric.certify_program`. A :class:`~convexmetric.RetrievalAdapter` that did not store its data is
        refused: pass its ``solution_``.
    solution : Solution, Certificate or estimator, optional
        A metric and a dual point of a problem; neither is trusted.
    title : str
        One line of text for readers. Default: the first line of the problem's text, and the coordinates on which the
        proven metric acts if these are not the features.
    parts : int
        If more than one, files ``name-1.npz``, ``name-2.npz``, ... are written, each with about as many queries or
        comparisons, which prove the bounds together: :func:`convexmetric.verify` has one of them in memory at a time.
    rules : path, str, module, or a list of these
        Rules of your own that the kernel does not have, as for :func:`convexmetric.verify`.

    Returns
    -------
    Verdict
        With the bounds that were proven and that the file claims.

    Warns
    -----
    GapWarning
        If their relative gap is above 1e-6, and more than twice that of the solution.

    Raises
    ------
    InputError
        If there is no solution, or an estimator is not fitted; if the certificate does not fit the
        problem, or proves nothing; if certificates do not support a block of the problem, or its description is wrong;
        if the title is not a line of text, there are more parts than queries or comparisons, or a file cannot be
        written.
    """
    path, start = check_solution_path(path, "a certificate"), perf_counter()
    if not isinstance(title, str) or len(title) > 500 or not title.isprintable():
        raise InputError("title must be one line of at most 500 letters")
    if isinstance(problem, ProgramCertificate):
        if solution is not None or parts != 1:
            raise InputError("the certificate of a program has no solution beside it, and one part")
        document, arrays, proof = problem.file()
        document["title"] = title or document["title"]
        write_contents(path, document, arrays, parts)
        return checker.as_verdict(proof, document["title"], perf_counter() - start, problem.steps)
    problem, certificate = _stated_and_certified(problem, solution)
    with _admitted(rules):
        document, arrays = _stated(problem, title)
        proof, files = _proven(problem, certificate, document, arrays, parts)
        claimed = {"lower": str(proof.claimed[0]), "upper": str(proof.claimed[1])}
        for number, (table, found) in enumerate(files, 1):
            own = _made(found)
            table |= {"claimed": claimed, "sha256": {name: kernel.digest(array) for name, array in own.items()}}
            write_contents(path if parts == 1 else path.with_stem(f"{path.stem}-{number}"), table, own, parts)
        verdict = checker.as_verdict(proof, document["title"], perf_counter() - start)
    if verdict.gap > max(WEAKER * certificate.gap, CLOSE):
        warnings.warn(
            f"{path} proves bounds of a relative gap of {verdict.gap:.1e}, where the solution's is "
            f"{max(0.0, certificate.gap):.1e}: the rest is lost to what proofs allow for rounding (centre the points, "
            "scale them, or raise prices that are tiny beside the weight of the regularizer)",
            GapWarning,
            stacklevel=2,
        )
    return verdict


@contextlib.contextmanager
def _admitted(rules: Any) -> Iterator[None]:
    """Admit rules of the user's own; errors in them are raised as wrong input."""
    try:
        with checker.admitted(rules):
            yield
    except checker.CertificateError as error:
        raise InputError(str(error)) from error


def write_contents(place: Path, table: Table, arrays: Mapping[str, np.ndarray], parts: int = 1) -> None:
    """Write a file, and read it back."""
    _write(place, table, arrays)
    try:
        held, _ = checker.read(place)
    except checker.CertificateError as error:
        raise InputError(f"{place} is more than checkers read: {error}; pass parts={2 * parts} or more") from error
    # The file holds what was proven: its hashes are those of the arrays in memory.
    if held != table:
        raise InputError(f"{place}: the file does not hold what was written")


def _stated_and_certified(
    problem: AnyProblem | Certified | Learner, solution: Certified | Certificate | Learner | None
) -> tuple[MetricProblem, Certificate]:
    """Find the problem and its certificate among the arguments, one of which may contain the other."""
    if isinstance(problem, str | KnownProblem):
        problem = as_problem(problem)
    solved: Any = problem if solution is None else solution
    if isinstance(solved, MetricProblem):
        raise InputError("solution is missing: pass what solve(problem) returned, or it alone")
    if isinstance(solved, Learner):
        if not getattr(solved, "kept_", True):
            raise InputError("the adapter was not kept, and proves nothing; its solution_ is what it refused")
        solved = fitted(solved, "solution_", "solution")
    stated = getattr(solved, "problem", problem) if solution is None else problem
    if not isinstance(stated, MetricProblem):
        what = type(problem).__name__
        raise InputError(f"problem must be a MetricProblem, a Solution or a fitted estimator, got {what}")
    certificate = getattr(solved, "certificate", solved)
    if not isinstance(certificate, Certificate):
        raise InputError(f"solution must be a Solution or a Certificate, got {type(solved).__name__}")
    if certificate.grade != stated.regularizer.grade:
        raise InputError(
            "either the solution or the problem has constraints or terms of your own, and the other has none: pass the "
            "solution alone, or problem.subject_to(...)"
        )
    return stated, certificate


def _stated(problem: MetricProblem, title: str) -> tuple[Table, Arrays]:
    """Document and arrays of the statement, without the proof."""
    table, arrays = describe(problem)
    count, most = sum(array.size for array in arrays.values()), max(array.size for array in arrays.values())
    if 8 * count > kernel.MAX_BYTES or most > kernel.MAX_NUMBERS:
        raise InputError(
            f"no file holds this problem: it has {count} numbers, {most} of an array, and a file at most "
            f"{kernel.MAX_BYTES // 8}, {kernel.MAX_NUMBERS} of an array; take fewer points or features, or triplets of "
            "points in a sparse matrix"
        )
    coordinates = f"; {problem.coordinates}" if problem.coordinates else ""
    return without_proof(title or str(problem).partition("\n")[0] + coordinates, table), arrays


@np.errstate(all="ignore")
def _proven(
    problem: MetricProblem, certificate: Certificate, document: Table, arrays: Arrays, parts: int
) -> tuple[kernel.Proof, list[tuple[Table, Arrays]]]:
    """Proof by the kernel, whose bounds are claimed, and the documents and arrays of the files that it proves."""
    point = problem.risk.minorant(certificate.dual)
    if point is None:
        raise InputError("the dual point has NaN or infinite entries and proves nothing")
    with _unproven():
        kernel.require_proven(np.isfinite(point.S).all(), "what the dual point says is not finite")
        own = {name: plain(array) for name, array in _of_value(problem.risk, certificate.M).items()}
        stated, arrays = kernel.Problem(document, kernel.Arrays(arrays | own)), arrays | own
        ends = _ends(stated.risk, parts, checker.forecast(document, arrays))
        files = _files(problem, stated, certificate, point, document, arrays, ends)
        proof = checker.prove((table, _made(own)) for table, own in files)
    if proof.upper is None or proof.lower is None:
        raise InputError(f"nothing is proven: {proof.reason}")
    if max(abs(proof.upper), abs(proof.lower)) > MOST:
        raise InputError("nothing is proven: files hold bounds up to 1e300; rescale X and weights")
    _compare(problem, stated, files[0][1], float(proof.upper))
    return replace(proof, claimed=(proof.lower, proof.upper), reason=""), files


def _of_value(risk: Risk, M: Array) -> Arrays:
    """Arrays that prove the value of a risk at a metric, by rules of others."""
    if not isinstance(risk, SumRisk):
        return risk.value_hints(M)
    return named_by_summand([_of_value(one, M) for one in risk.risks])


@contextlib.contextmanager
def _unproven() -> Iterator[None]:
    """Raise errors that end a proof as wrong input."""
    try:
        yield
    except (kernel.NotProven, np.linalg.LinAlgError) as error:
        raise InputError(f"nothing is proven: {error}") from error
    except checker.CertificateError as error:
        raise InputError(f"files do not hold this problem: {error}") from error


def _has_own(risk: Any) -> bool:
    """Whether a risk of the kernel, or a summand, is by a rule of others, of whose dual points nothing is known."""
    return any(isinstance(one, kernel.OwnRisk) for one in getattr(risk, "risks", [risk]))


def _ends(risk: Any, parts: Any, work: float) -> list[int]:
    """Rows of a risk at which parts of a file begin and end, for a proof of so many operations."""
    count = len(risk)
    own = _has_own(risk)
    if parts != 1 and (own or isinstance(risk, kernel.Worst)):
        what = "a risk of your own is" if own else "worst parts of a risk are"
        raise InputError(f"{what} one row, which is not split: parts must be 1, got {shown(parts)}")
    if not isinstance(parts, int) or not 1 <= parts <= max(1, count):
        raise InputError(f"parts must be an integer from 1 to the {count} queries or comparisons, got {shown(parts)}")
    wanted = max(math.ceil(work / checker.MAX_WORK), math.ceil(longest(risk) / kernel.MAX_LENGTH))
    if wanted > parts:
        raise InputError(
            f"the proof takes about {work:.0e} operations and {longest(risk)} numbers of a dual point, and one file "
            f"has at most {checker.MAX_WORK:.0e} and {kernel.MAX_LENGTH}: pass parts={wanted} or more"
        )
    return [count * part // parts for part in range(parts + 1)]


def _files(
    problem: MetricProblem,
    stated: kernel.Problem,
    certificate: Certificate,
    point: Minorant,
    document: Table,
    arrays: Arrays,
    ends: Sequence[int],
) -> list[tuple[Table, Arrays]]:
    """Add metric, dual point and their proofs to a statement: documents and arrays of all parts."""
    terms = ConicTerms(problem, stated, point) if isinstance(stated.omega, kernel.ConicTerm) else None
    if terms is None:
        upper, own = _upper(problem, stated, certificate.M, arrays)
    else:
        upper, own = terms.upper(certificate.M, functools.partial(_factor, stated, problem), arrays)
    known = arrays | own
    dual, share, slope = _feasible(problem, stated, certificate, point, ends, terms, upper, known)
    known |= {name: plain(array) for name, array in slope.items()}
    return [(document | {"dual": table | share}, known | of_rows) for table, of_rows in dual]


def _feasible(
    problem: MetricProblem,
    stated: kernel.Problem,
    certificate: Certificate,
    point: Minorant,
    ends: Sequence[int],
    terms: ConicTerms | None,
    upper: Fraction,
    arrays: Arrays,
) -> tuple[list[tuple[Table, Arrays]], Table, Arrays]:
    """Dual point of every part, and table and arrays of the scaling and subgradient that show it feasible.

    If only the risk grows with every metric, a dual point on the border of feasibility proves nothing, and is moved
    inside, as little as is accepted.
    """
    risk, hints = problem.risk, {}
    if terms is None:
        v, S, G = point.value, point.S, problem.G
        floor = None if stated.risk.nonnegative else risk.floor()
        if floor is not None:
            # As regularizers see a risk that may be negative (MetricProblem.bound).
            v, S, G = v - floor.value, S - floor.S, -floor.S if G is None else G - floor.S
        hints = problem.holding(certificate.slopes).regularizer.hints(v, S, G, problem.cone, certificate.M)
    best, why = None, None
    given = risk.hints(certificate.dual)
    for said in [given] if _has_own(stated.risk) else _inwards(problem, given, point.S, certificate.M):
        table, found = stored(risk, said, stated.risk)
        dual, says = _said(stated, table, found, ends)
        try:
            if terms is not None:
                return dual, *terms.feasible(says, upper, arrays)
            scale, own = shrunk(stated, says, hints)
            if scale < 1.0:
                found = {name: array * scale if array.dtype.kind == "f" else array for name, array in found.items()}
                dual, says = _said(stated, table, found, ends)
            share, slope = feasible(stated, says, own, upper, arrays)
        except (kernel.NotProven, InputError) as error:
            why = why or error
            continue
        kept = scale * float(Fraction(share["share"]))
        worth = kept * float(says.value.mid)
        if best is None or worth > best[0]:
            best = worth, dual, share, slope
        if kept >= WHOLE:
            break
    if best is None:
        raise why or AssertionError()
    return best[1:]


def _inwards(problem: MetricProblem, said: Described, S: Array, M: Array) -> Iterator[Described]:
    """Yield the hints of a dual point, and of points between it and one inside, if there is one."""
    yield said
    inner = problem.inner_plane(M, PLANES) if S.any() else None
    if inner is None:
        return
    dual, plane = inner
    G = -plane.S if problem.G is None else problem.G - plane.S
    least = 1.0 - (problem.regularizer.max_dual_scaling(S - plane.S, G, problem.cone) or 0.0)
    other = problem.risk.hints(dual)
    for more in INWARDS:
        yield between(said, other, min(1.0, least + more))


def _said(
    stated: kernel.Problem, table: Table, found: Arrays, ends: Sequence[int]
) -> tuple[list[tuple[Table, Arrays]], kernel.Minorant]:
    """Dual point of every part, and the minorant of all together."""
    dual, said = [], []
    for rows, own in in_parts(stated.risk, found, ends):
        dual.append((table | ({"rows": rows} if len(ends) > 2 else {}), {name: small(of) for name, of in own.items()}))
        said.append(stated.risk.part(slice(*rows)).dual(dual[-1][0], kernel.Arrays(_made(dual[-1][1]))))
    return dual, functools.reduce(operator.add, said)


def _upper(problem: MetricProblem, stated: kernel.Problem, M: Array, arrays: Arrays) -> tuple[Fraction, Arrays]:
    """Upper bound, and arrays of the metric, scaled slightly if the slack of constraints is within rounding.

    It is scaled up for hard margins, and otherwise down for constraints of a regularizer.
    """
    nudges = NUDGES if problem.risk.hard else tuple(-nudge for nudge in NUDGES)
    for nudge in nudges:
        found = _factor(stated, problem, M * (1.0 + nudge))
        try:
            factor = stated.cone.factor(kernel.Arrays(arrays | found), stated.omega.definite)
            given, own = above(stated.omega, stated.cone.metric(factor).mid)
            return stated.upper(stated.risk.value(factor), factor, given), found | own
        except kernel.NotProven:
            if nudge == nudges[-1]:
                raise
    raise AssertionError


def _made(arrays: Mapping[str, Any]) -> Arrays:
    """Arrays of types of files; those made that are made on demand."""
    return {name: plain(array) for name, array in arrays.items()}


def small(array: Any) -> Any:
    """Convert integers to the shortest type of files that holds them."""
    if array.dtype.kind == "f":
        return array
    most = int(array.max(initial=0))
    return np.ascontiguousarray(array, dtype="|u1" if most < 2**8 else "<i4" if most < 2**31 else "<i8")


def _factor(stated: kernel.Problem, problem: MetricProblem, M: Array) -> Arrays:
    """Arrays of a metric's factor; a triangle if it must be definite."""
    if problem.cone.free:
        return {"matrix": plain(problem.cone.element(M))}
    if problem.cone.diagonal:
        return {"weights_of_metric": plain(np.maximum(M, 0.0))}
    if not stated.omega.definite:
        return {"factor": plain(problem.cone.factor(M))}
    try:
        return {"factor": plain(np.linalg.cholesky(M).T)}
    except np.linalg.LinAlgError as error:
        raise kernel.NotProven("the metric is not positive definite") from error


@np.errstate(all="ignore")
def _compare(problem: MetricProblem, stated: kernel.Problem, arrays: Arrays, upper: float) -> None:
    """Raise unless risk and penalty as stated agree with the problem's own values at the metric of the file.

    Blocks describe themselves: with a wrong description the bounds would be those of another problem. The
    penalty, which may be small next to the risk, is also compared by itself, there and at the Euclidean metric.
    """
    cone = problem.cone
    factor = arrays["matrix" if cone.free else "weights_of_metric" if cone.diagonal else "factor"]
    own_terms = isinstance(stated.omega, kernel.ConicTerm)
    for root in (factor,) if own_terms else (cone.identity(), factor):
        ball = stated.cone.metric(root)
        metric = ball.mid
        penalty = problem.regularizer.value(metric, cone)
        penalty += 0.0 if problem.G is None else cone.inner(problem.G, metric)
        if np.isposinf(penalty):
            continue
        try:
            given = stated.omega.read({}, kernel.Arrays(arrays)) if own_terms else above(stated.omega, metric)[0]
            omega = stated.omega.value(root, ball, given)
        except kernel.NotProven:
            # The Euclidean metric may be on the boundary of a constraint.
            continue
        G = np.zeros_like(metric) if stated.G is None else stated.G
        # Only the regularizer's own part of the constant: the rest may be large.
        own_constant = float(stated.constant) - problem.constant
        sizes = abs(float(omega.mid)) + abs(own_constant) + float(np.abs(G * metric).sum())
        allowed = AGREEMENT * sizes + 2.0 * float(omega.rad)
        # Possible cost of mixing in an inner point.
        allowed += AGREEMENT * abs(upper) if own_terms else 0.0
        # Terms that cancel leave their rounding errors.
        allowed += problem.regularizer.size(metric, cone) * ROUNDING + NOTHING
        _agree("the penalty", float(omega.mid) + cone.inner(G, metric) + own_constant, penalty, allowed)
    own = certify_metric(problem, metric)
    sizes += abs(own.upper_bound) + abs(problem.offset)
    allowed = AGREEMENT * sizes + CAREFUL * own.rounding
    if abs(upper - own.upper_bound) > allowed:
        # Where the scales of coordinates differ the checker's bound may be far above the value that it encloses.
        risk = stated.risk.value(factor)
        _agree("the risk", float(risk.mid), problem.risk.value(own.M), allowed + float(risk.rad))


def _agree(what: str, stated: float, own: float, allowed: float) -> None:
    """Raise unless both values agree up to ``allowed``; nothing is checked if the problem's own is infinite."""
    if not (np.isposinf(own) or abs(stated - own) <= allowed):
        raise InputError(
            f"a block describes another one than it is: {what} of the statement is {stated!r} at a metric, that of the "
            f"problem {own!r}"
        )


def _write(path: Path, document: Table, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a file completely or not at all, with the same bytes for the same contents."""
    with (
        all_or_nothing(path) as unfinished,
        zipfile.ZipFile(unfinished, "x", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        text = json.dumps(document, indent=1, allow_nan=False)
        archive.writestr(zipfile.ZipInfo("certificate.json"), text, zipfile.ZIP_DEFLATED)
        for name in sorted(arrays):
            packed = io.BytesIO()
            np.lib.format.write_array(packed, arrays[name], allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), packed.getbuffer(), zipfile.ZIP_DEFLATED)
