r"""Rigorous certificates: the writer of the files that :mod:`convexmetric.certificates.checker` proves.

Any :class:`~convexmetric.MetricProblem` is described by its risk, its regularizer, its cone and its linear term, not by
the paper it comes from. Parameters are written as the rationals they were typed as (``as_rational``); everything
else is data, floats as they stand. The bounds that a file claims are those that the checker proves from it.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from convexmetric.certificates import checker
from convexmetric.certificates.certificate import Certificate
from convexmetric.comparisons import PairDistances, Rankings, Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.cones.base import Array
from convexmetric.errors import InputError
from convexmetric.files import check_solution_path
from convexmetric.losses import BoxLoss, Hinge, Logistic
from convexmetric.measures import MEASURES
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import Frobenius, QuadraticForm, SquaredFrobenius, Trace
from convexmetric.risks import (
    CutDual,
    LabelledPairRisk,
    LogisticRankingRisk,
    PairHinge,
    PairwiseRisk,
    RankingRisk,
    SeparableRisk,
    SmoothedPairs,
    SmoothSeparableRisk,
)

__all__ = ["Difference", "as_rational", "describe", "difference", "verify_instance", "write_certificate"]

Arrays = dict[str, np.ndarray]
Table = dict[str, Any]

#: Losses that differ in weight or margin up to which these are written as rationals, and not as data.
MOST_TERMS = 32
#: Product of numerator and denominator below which a fraction is no accident: one float in a thousand is near one.
SIMPLE = 10**12
#: How far up a metric is scaled, at first, to keep hard margins beyond rounding.
NUDGE = 1e-13


class Certified(Protocol):
    """What carries a certificate: a :class:`~convexmetric.Solution`."""

    @property
    def certificate(self) -> Certificate: ...


def as_rational(value: float) -> Fraction:
    """The rational a float was typed or computed as: a decimal of few digits, or a fraction of small numbers near it.

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


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of the smallest denominator between two positive numbers (Stern and Brocot)."""
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    floor = math.floor(low)
    return floor + 1 / _simplest(1 / (high - floor), 1 / (low - floor))


def write_certificate(
    path: str | os.PathLike[str],
    problem: MetricProblem,
    solution: Certified | Certificate,
    title: str = "",
) -> checker.Verdict:
    """Write a file that proves bounds on the optimal value of a problem in exact arithmetic.

    Parameters
    ----------
    path : path
        Ends in ``.npz``.
    problem : MetricProblem
    solution : Solution or Certificate
        A metric and a dual point; neither is trusted.
    title : str
        One line for people. Default: the first line of the problem's text.

    Returns
    -------
    Verdict
        With the bounds that were proven, and are claimed in the file.

    Raises
    ------
    InputError
        If the certificate rests on a conic solver's word, does not fit the problem, or proves nothing; if the title is
        no line of text, or the file cannot be written.
    """
    path = check_solution_path(path, "a certificate")
    certificate = getattr(solution, "certificate", solution)
    if not isinstance(certificate, Certificate):
        raise InputError(f"solution must be a Solution or a Certificate, got {type(solution).__name__}")
    if certificate.grade != "float":
        raise InputError(
            f"a certificate of grade {certificate.grade!r} rests on a conic solver's word and cannot be proven: solve "
            "without constraints or terms of your own"
        )
    if not isinstance(title, str) or len(title) > 500 or not title.isprintable():
        raise InputError("title must be one line of at most 500 letters")
    start = perf_counter()
    table, arrays = describe(problem)
    dual, made = _dual(problem, certificate)
    arrays |= made
    document: Table = {
        "format": checker.FORMAT,
        "version": checker.VERSION,
        "title": title or str(problem).partition("\n")[0],
        "problem": table,
        "dual": dual,
        "claimed": {"lower": "0", "upper": "0"},
        "sha256": {},
    }
    arrays = {name: _plain(array) for name, array in arrays.items()}
    upper = lower = None
    hard = isinstance(problem.risk, SeparableRisk) and problem.risk.loss.hard
    for nudge in (0.0, NUDGE, 1e2 * NUDGE, 1e4 * NUDGE) if hard else (0.0,):
        arrays |= _factor(problem, certificate.M * (1.0 + nudge))
        try:
            stated, lower, upper, reason = checker.prove(document, arrays)
        except checker.CertificateError as error:
            raise InputError(f"the certificate does not describe its problem: {error}") from error
        if upper is not None:
            break
    if upper is None or lower is None:
        raise InputError(f"nothing is proven: {reason}")
    document["claimed"] = {"lower": str(lower), "upper": str(upper)}
    document["sha256"] = {name: checker.digest(array) for name, array in arrays.items()}
    _write(path, document, arrays)
    # What was proven is what is in the file: its hashes are those of the arrays at hand.
    if checker.read(path)[0] != document:
        raise InputError(f"{path}: the file does not hold what was written")
    seconds = perf_counter() - start
    return checker.Verdict(
        True, lower, upper, (lower, upper), "", document["title"], stated.words, seconds, table, stated.sizes,
        stated.sha256,
    )  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """How the statement of a file differs from that of a problem built here; true if they are about two problems.

    Attributes
    ----------
    what : str
        What differs; empty if nothing does but floats, by no more than was allowed.
    deviation : float
        Largest difference of a float, relative to the largest one of its array.
    """

    what: str
    deviation: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.what)


def difference(
    document: Table, arrays: Mapping[str, np.ndarray], problem: MetricProblem, tolerance: float = 0.0
) -> Difference:
    """What in the contents of a file (see ``checker.read``) differs from a problem built here.

    Everything must be equal, bit by bit; with a tolerance floats may differ by so much, relative to the largest one
    of their array.

    Raises
    ------
    checker.CertificateError
        If the contents state no problem.
    """
    with checker.refusals("the problem"), np.errstate(all="ignore"):
        stated = checker.Problem(document, checker.Arrays(arrays))
    table, made = describe(problem)
    wanted = {name: _plain(array) for name, array in made.items()}
    if stated.sha256 == checker.statement_digest(table, wanted):
        return Difference("")
    if document["problem"] != table:
        return Difference("the statement or its parameters")
    for name in sorted(set(stated.arrays) ^ set(wanted)):
        return Difference(f"the array {name}")
    deviation = 0.0
    for name, here in wanted.items():
        there = arrays[name]
        if there.shape != here.shape or there.dtype != here.dtype:
            return Difference(f"the array {name}")
        if checker.digest(there) != checker.digest(here):
            off = _deviation(here, there) if here.dtype.kind == "f" else np.inf
            if not 0.0 <= off <= tolerance:
                return Difference(f"the array {name}", off)
            deviation = max(deviation, off)
    # Zeros of different signs are different bits.
    return Difference("" if tolerance > 0.0 else "the sign of a zero", deviation)


def _deviation(here: np.ndarray, there: np.ndarray) -> float:
    """Largest difference, relative to the largest number."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.abs(here - there).max() / max(np.abs(here).max(), np.finfo(float).tiny))


def verify_instance(
    path: str | os.PathLike[str],
    problem: MetricProblem,
    tolerance: float = 0.0,
    max_bytes: int = checker.MAX_BYTES,
    max_work: float = checker.MAX_WORK,
) -> tuple[checker.Verdict, float]:
    """Prove the bounds of a certificate, and that they are about a problem built here.

    With a tolerance the proof is about the problem *built here* whatever the file's numbers are: its statement takes
    the place of that in the file, whose factor and dual point are only hints. So the deviation ends up in the bounds,
    and what the file claims must hold for the problem built here.

    Parameters
    ----------
    path : path
    problem : MetricProblem
    tolerance : float
        By how much floats of the statement may differ, relative to the largest of their array. Default: not at all.
    max_bytes, max_work
        See :func:`convexmetric.verify`.

    Returns
    -------
    Verdict
    float
        By how much they do.

    Raises
    ------
    checker.CertificateError
        If the file is refused, or is about another problem.
    InputError
        If the tolerance is not a number between 0 and 1.
    """
    if not 0.0 <= tolerance < 1.0:
        raise InputError(f"the tolerance must be at least 0 and less than 1, got {tolerance!r}")
    document, arrays = checker.read(Path(path), max_bytes)
    found = difference(document, arrays, problem, tolerance)
    if found:
        near = f", by {found.deviation:.1e} of its largest number" if found.deviation > 0.0 else ""
        raise checker.CertificateError(f"it is about another problem: what differs is {found.what}{near}")
    made = {name: _plain(array) for name, array in describe(problem)[1].items()} if tolerance > 0.0 else {}
    return checker.judge(document, {**arrays, **made}, max_work), found.deviation


def describe(problem: MetricProblem) -> tuple[Table, Arrays]:
    """A problem as a table and arrays, see ``docs/certificate-format.md``.

    Raises
    ------
    InputError
        If its risk, loss, measure, regularizer or cone is of a class that certificates do not know. Classes derived
        from those they know may mean something else, and are not known.
    """
    if not isinstance(problem, MetricProblem):
        raise InputError(f"problem must be a MetricProblem, got {type(problem).__name__}")
    for method in ("objective", "penalty"):
        if getattr(type(problem), method) is not getattr(MetricProblem, method):
            raise InputError(f"certificates do not know the {method} of a {type(problem).__name__}")
    _known(problem.cone, PSDCone, NonnegativeDiagonal)
    risk, arrays = _risk(problem)
    regularizer, made = _regularizer(problem, arrays)
    arrays |= made
    if problem.G is not None:
        arrays["linear"] = problem.G
    table = {
        "cone": "diagonal" if isinstance(problem.cone, NonnegativeDiagonal) else "psd",
        "features": problem.cone.d,
        "risk": risk,
        "regularizer": regularizer,
        "linear": problem.G is not None,
    }
    if problem.constant:
        table["constant"] = str(_signed_rational(problem.constant))
    return table, arrays


def _known(part: Any, *classes: type) -> None:
    """Raise unless a part of a problem is of one of these classes, and of none derived from them."""
    if type(part) not in classes:
        raise InputError(f"certificates do not know a {type(part).__name__}")


def _points(X: Any, name: str) -> Arrays:
    if not sp.issparse(X):
        return {name: X}
    rows = sp.csr_array(X, copy=True)
    rows.sum_duplicates()
    return {
        f"{name}_data": rows.data,
        f"{name}_indices": rows.indices.astype(np.int64),
        f"{name}_indptr": rows.indptr.astype(np.int64),
    }


def _risk(problem: MetricProblem) -> tuple[Table, Arrays]:
    risk = problem.risk
    _known(
        risk, RankingRisk, PairwiseRisk, LogisticRankingRisk, LabelledPairRisk, SeparableRisk, SmoothSeparableRisk
    )  # fmt: skip
    if isinstance(risk, RankingRisk):
        measure = risk.measure
        _known(measure, *MEASURES.values())
        table: Table = {"kind": "rankings", "measure": measure.name, "C": str(as_rational(risk.C))}
        if measure.k:
            table["k"] = measure.k
        return table, _lists(risk.rankings)
    if isinstance(risk, PairwiseRisk):
        arrays = _lists(risk.rankings)
        same = len(np.unique(risk.weights)) == 1
        weight = as_rational(float(risk.weights[0])) if same else Fraction(1)
        if not same:
            arrays["query_weights"] = risk.weights
        margin = str(as_rational(float(risk.margin)))
        return {"kind": "pairs of lists", "loss": "hinge", "weight": str(weight), "margin": margin}, arrays
    if isinstance(risk, LogisticRankingRisk):
        _known(risk.loss, Logistic)
        weight = as_rational(float(risk.loss.C))
        return {"kind": "pairs of lists", "loss": "logistic", "weight": str(weight)}, _lists(risk.rankings)
    if isinstance(risk, LabelledPairRisk):
        _known(risk.same, PairHinge)
        _known(risk.other, PairHinge)
        terms = [
            _term("hinge", hinge.weight, hinge.margin, -1 if hinge.similar else 1) for hinge in (risk.same, risk.other)
        ]
        return {"kind": "all pairs", "terms": terms}, {"points": risk.X, "codes": risk.codes}
    assert isinstance(risk, SeparableRisk)
    return _listed(risk)


def _lists(rankings: Rankings) -> Arrays:
    """Near and far lists of all queries."""
    _known(rankings, Rankings)
    relevance = rankings.relevance
    arrays = _points(rankings.X, "points")
    if rankings.Q is not rankings.X:
        arrays |= _points(rankings.Q, "queries")
    arrays |= {
        "near": relevance.relevant, "near_start": relevance.relevant_start, "near_stop": relevance.relevant_stop
    }  # fmt: skip
    if relevance.complement:
        n = relevance.n_corpus
        arrays["itself"] = np.full(len(relevance), n) if relevance.itself is None else relevance.itself
    else:
        arrays |= {
            "far": relevance.irrelevant, "far_start": relevance.irrelevant_start, "far_stop": relevance.irrelevant_stop
        }  # fmt: skip
    if rankings.anchors is not None:
        arrays["anchors"] = rankings.anchors
    return arrays


def _term(loss: str, weight: float, margin: float, sign: int) -> Table:
    return {
        "loss": loss,
        "weight": str(as_rational(weight)),
        "margin": str(_signed_rational(margin)),
        "sign": sign,
    }


def _signed_rational(value: float) -> Fraction:
    if value == 0.0:
        return Fraction(0)
    return as_rational(value) if value > 0.0 else -as_rational(-value)


def _listed(risk: SeparableRisk) -> tuple[Table, Arrays]:
    """Listed comparisons: one term for all, or those that differ in loss, weight, margin and sign."""
    comparisons, loss, count = risk.comparisons, risk.loss, risk.parts
    _known(comparisons, Triplets, PairDistances)
    if isinstance(comparisons, Triplets):
        arrays = {**_points(comparisons.X, "points"), "triplets": comparisons.triplets}
        signs = np.ones(count)
    else:
        assert isinstance(comparisons, PairDistances)
        arrays = {**_points(comparisons.X, "points"), "pairs": comparisons.pairs}
        signs = comparisons.signs
    name, weights, offsets = _loss(loss, count, signs)
    rows = np.column_stack([weights, offsets, signs])
    distinct, kind = np.unique(rows, axis=0, return_inverse=True)
    if len(distinct) > MOST_TERMS:
        arrays |= {"comparison_weights": weights, "targets": offsets}
        distinct, kind = np.unique(signs, return_inverse=True)
        distinct = np.column_stack([np.ones(len(distinct)), np.zeros(len(distinct)), distinct])
    terms = [_term(name, weight, offset, int(sign)) for weight, offset, sign in distinct.tolist()]
    arrays["terms"] = kind.ravel().astype(np.uint8)
    return {"kind": "listed comparisons", "terms": terms}, arrays


def _loss(loss: Any, count: int, signs: Array) -> tuple[str, Array, Array]:
    """Name, weights and margins of a loss of every comparison."""
    _known(loss, Logistic, Hinge, BoxLoss)
    if isinstance(loss, Logistic):
        return "logistic", np.full(count, float(loss.C)), np.zeros(count)
    if isinstance(loss, Hinge):
        name = "hard" if loss.hard else "hinge"
        return name, np.full(count, 1.0 if loss.hard else float(loss.C)), np.full(count, float(loss.margin))
    if isinstance(loss, BoxLoss):
        if (loss.curvature > 0.0).all() and np.isinf(loss.high).all() and np.isinf(loss.low).all():
            return "squared", 0.5 / loss.curvature, loss.offset
        if not loss.curvature.any() and np.isfinite(loss.high).all() and (loss.high > 0.0).all():
            if np.array_equal(loss.low, -loss.high):
                return "absolute", loss.high, loss.offset
            # A hinge with the slope 1 only is one that is never off: mu + d where mu is not negative.
            never_off = (loss.low == loss.high) & (signs < 0.0) & (loss.offset >= 0.0)
            if ((loss.low == 0.0) | never_off).all():
                return "hinge", loss.high, loss.offset
    raise InputError(f"certificates do not know a loss like this {type(loss).__name__}")


def _regularizer(problem: MetricProblem, arrays: Mapping[str, np.ndarray]) -> tuple[Table, Arrays]:
    regularizer = problem.regularizer
    names = {Trace: "trace", Frobenius: "frobenius", SquaredFrobenius: "squared frobenius"}
    _known(regularizer, QuadraticForm, *names)
    if isinstance(regularizer, QuadraticForm):
        A, X = getattr(problem, "A", None), arrays.get("points")
        if A is not None and np.array_equal((A.T @ A) ** 2, regularizer.L):
            return {"kind": "quadratic form", "of": "gram of A"}, {"gram_of": A}
        if X is not None and np.array_equal(X * X, regularizer.L) and np.array_equal(X, X.T):
            return {"kind": "quadratic form", "of": "squared points"}, {}
        return {"kind": "quadratic form", "of": "matrix"}, {"form": 0.5 * (regularizer.L + regularizer.L.T)}
    weight: float = regularizer.reg  # type: ignore[attr-defined]
    table: Table = {"kind": names[type(regularizer)]}
    reg, m = getattr(problem, "reg", None), getattr(problem, "m", None)
    if reg is not None and m is not None and weight == float(reg / np.sqrt(m)):
        return table | {"weight": str(as_rational(float(reg))), "over_root_of": int(m)}, {}
    return table | {"weight": str(as_rational(float(weight)))}, {}


def _factor(problem: MetricProblem, M: Array) -> Arrays:
    if isinstance(problem.cone, NonnegativeDiagonal):
        return {"weights_of_metric": _plain(np.maximum(M, 0.0))}
    return {"factor": _plain(problem.cone.factor(M))}


def _dual(problem: MetricProblem, certificate: Certificate) -> tuple[Table, Arrays]:
    """The dual point: metrics at which slopes or rankings are taken, or one slope a comparison."""
    risk, dual = problem.risk, certificate.dual
    point = risk.dual_point(dual)
    if point is None:
        raise InputError("the dual point has NaN or infinite entries and proves nothing")
    if isinstance(risk, RankingRisk | PairwiseRisk | LogisticRankingRisk):
        return {"kind": "witnesses"}, _witnesses(risk, dual)
    assert isinstance(risk, SeparableRisk | LabelledPairRisk)
    arrays = {"slopes": _slopes(risk, dual)}
    if isinstance(problem.regularizer, QuadraticForm):
        arrays["hint"] = problem.regularizer.sharpened(point.S, problem.G, certificate.M)
    return {"kind": "slopes"}, arrays


def _witnesses(risk: RankingRisk | PairwiseRisk | LogisticRankingRisk, dual: Any) -> Arrays:
    if isinstance(dual, CutDual):
        clipped = dual.clipped()
        kept = np.flatnonzero(clipped.weights.any(axis=1))
        return {
            "witnesses": clipped.witnesses[kept],
            "widths": np.zeros(len(kept)),
            "weights": clipped.weights[kept],
            "groups": clipped.groups,
        }
    one = {"weights": np.ones((1, 1)), "groups": np.zeros(risk.parts, dtype=np.int64)}
    if isinstance(dual, SmoothedPairs):
        arrays = {"witnesses": np.asarray(dual.M)[None], "widths": np.array([dual.width], dtype=np.float64), **one}
        if dual.places is not None and dual.slopes is not None:
            arrays |= {"exceptions": dual.places, "exception_slopes": dual.slopes}
        return arrays
    # Multipliers, one a pair: all of them exceptions, by their places in the lists.
    units = _pair_units(risk)
    relevance = risk.rankings.relevance
    places, slopes, first = [], [], 0
    for q in range(risk.parts):
        near, start, stop, far, begin, end = relevance.lists(np.array([q]))
        by_near, by_far = np.argsort(near[start[0] : stop[0]]), np.argsort(far[begin[0] : end[0]])
        i, j = (part.ravel() for part in np.meshgrid(by_near, by_far, indexing="ij"))
        places.append(np.column_stack([np.full(i.size, q), i, j]))
        slopes.append(np.clip(dual[first : first + i.size] / units[q], 0.0, 1.0))
        first += i.size
    return {
        "witnesses": risk.cone.zeros()[None],
        "widths": np.zeros(1),
        "exceptions": np.concatenate(places),
        "exception_slopes": np.concatenate(slopes),
        **one,
    }


def _pair_units(risk: RankingRisk | PairwiseRisk | LogisticRankingRisk) -> Array:
    """What a multiplier of a pair is at most, for every query."""
    if isinstance(risk, LogisticRankingRisk):
        return np.full(risk.parts, float(risk.loss.C))
    if isinstance(risk, PairwiseRisk):
        return risk.weights
    if not risk.measure.pairwise:
        raise InputError(
            "multipliers of rankings that are written out are not stored in certificates: solve with cutting planes"
        )
    return 0.5 * risk.pairs.weights


def _slopes(risk: SeparableRisk | LabelledPairRisk, dual: Any) -> Array:
    """One slope a comparison: its multiplier over its weight."""
    if isinstance(risk, LabelledPairRisk):
        i, j = np.triu_indices(risk.parts, 1)
        same = risk.codes[i] == risk.codes[j]
        if isinstance(dual, CutDual):
            return _cut_slopes_of_pairs(risk, dual, i, j, same)
        weights = np.where(same, risk.same.weight, risk.other.weight)
        never_off = np.where(same, risk.same.linear, risk.other.linear)
        return np.where(never_off, 1.0, np.clip(dual / weights, 0.0, 1.0))
    comparisons, loss = risk.comparisons, risk.loss
    if isinstance(dual, CutDual):
        clipped, u = dual.clipped(), np.zeros(risk.parts)
        for witness, weight in zip(clipped.witnesses, clipped.weights, strict=True):
            u += weight[clipped.groups] * loss.subgradient(comparisons.forward(witness))
    else:
        u = loss.clip(np.asarray(dual, dtype=np.float64))
    signs = comparisons.signs if isinstance(comparisons, PairDistances) else np.ones(risk.parts)
    _, weights, _ = _loss(loss, risk.parts, signs)
    return u / weights


def _cut_slopes_of_pairs(
    risk: LabelledPairRisk, dual: CutDual, i: np.ndarray, j: np.ndarray, same: np.ndarray
) -> Array:
    clipped, slopes = dual.clipped(), np.zeros(len(i))
    margins = np.where(same, risk.same.margin, risk.other.margin)
    signs = np.where(same, risk.same.sign, risk.other.sign)
    for witness, weight in zip(clipped.witnesses, clipped.weights, strict=True):
        images = risk.cone.times(risk.X, witness)
        gram = images @ risk.X.T
        square = gram.diagonal()
        d = square[i] + square[j] - 2.0 * gram[i, j]
        slopes += weight[clipped.groups[i]] * (margins - signs * d > 0.0)
    never_off = np.where(same, risk.same.linear, risk.other.linear)
    return np.where(never_off, 1.0, slopes)


def _plain(array: Any) -> np.ndarray:
    """In one of the types of files, little-endian and in C order."""
    made = np.asarray(array)
    if made.dtype.kind == "f":
        return np.ascontiguousarray(made, dtype="<f8")
    if made.dtype == np.uint8:
        return np.ascontiguousarray(made)
    return np.ascontiguousarray(made, dtype="<i4" if made.dtype.itemsize <= 4 else "<i8")


def _write(path: Path, document: Table, arrays: Arrays) -> None:
    """All or nothing; the same bytes for the same contents."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            with zipfile.ZipFile(unfinished, "x", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                text = json.dumps(document, indent=1, allow_nan=False)
                archive.writestr(zipfile.ZipInfo("certificate.json"), text, zipfile.ZIP_DEFLATED)
                for name in sorted(arrays):
                    packed = io.BytesIO()
                    np.lib.format.write_array(packed, arrays[name], allow_pickle=False)
                    archive.writestr(zipfile.ZipInfo(f"{name}.npy"), packed.getbuffer(), zipfile.ZIP_DEFLATED)
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
