"""Submissions: metrics and dual points from anyone that prove bounds for an instance, as small files without its data.

A submission is a certificate file (``docs/certificate-format.md``) that omits the arrays of the statement. The prover
builds the instance, so that a file can neither be about other data nor contain data; a whole one is about the instance
if its statement has the SHA-256 given in ``problems/statements.json``. ``problems/records.py`` keeps the best bounds
proven in this way; ``problems/RECORDS.md`` shows them.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import warnings
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from convexmetric.audits.metric_files import MULTIPLIERS, read_certificate, read_metric
from convexmetric.bench.library import Instance, library_folder, load_instance
from convexmetric.certificates import Certificate, checker, describe, kernel
from convexmetric.certificates.certificate import certify_metric, with_dual
from convexmetric.certificates.instances import verify_instance, without_statement
from convexmetric.certificates.writer import write_certificate, write_contents
from convexmetric.errors import ConvexMetricError, GapWarning, InputError
from convexmetric.files import check_solution_path, read_arrays
from convexmetric.numerics.threads import blas_threads_for
from convexmetric.problem import MetricProblem
from convexmetric.risks.dual_points import dual_from_arrays

#: Digits of bounds in submissions and records, rounded outward: another machine may differ in the last of a proof's 17.
DIGITS = 12
#: Largest file that is checked on a pull request, in bytes.
MAX_FILE = 2**22
#: Multiples of a metric at which dual points are made of it.
SCALES = (1.0, 0.97, 0.9, 0.7, 0.5, 0.2, 1.1, 2.0)
#: Names of people in titles and tables.
NAME = re.compile(r"\w[\w .,()+-]{0,79}")
#: Ends of the interval of the optimum: which rounding is outward, and which bounds are better.
SIDES = {"lower": -1, "upper": 1}

Bounds = dict[str, Fraction | None]


@dataclass(frozen=True)
class Submission:
    """A file that was written, and what it proves.

    Attributes
    ----------
    path : Path
    instance : Instance
        What it is about.
    bounds : dict
        ``lower`` and ``upper``, rationals that the kernel has proven.
    record : dict
        The best bounds before; None where nothing was proven.
    moved : bool
        Whether the metric given was not in the cone, or missed hard margins, so that the proven one is another.
    dual_given : bool
        Whether there was a dual point beside the metric.
    whole : bool
        Whether the data of the instance are in it.
    """

    path: Path
    instance: Instance
    bounds: Bounds
    record: Bounds
    moved: bool
    dual_given: bool
    whole: bool = False

    def gain(self, side: str) -> Fraction | None:
        """By how much a bound is better than the record (not positive: no record); None where there was none."""
        bound, record = self.bounds[side], self.record[side]
        return None if bound is None or record is None else (record - bound) * SIDES[side]

    @property
    def is_record(self) -> bool:
        """Whether one of its bounds is strictly better than the record."""
        return any(gain is None or gain > 0 for gain in map(self.gain, SIDES))

    def __str__(self) -> str:
        library: Bounds = {"lower": self.instance.exact_lower, "upper": self.instance.exact_upper}
        said = [f"{self.instance.name}: {self.instance.title}"]
        if self.moved:
            said.append(
                "the metric was projected on the cone (or scaled to hard margins): the bound is for what came out"
            )
        for what, bounds in (("proven", self.bounds), ("library", library), ("record", self.record)):
            ends = (checker.decimal(bounds[side], away) for side, away in SIDES.items())
            said.append(f"{what + ':':9}{' <= optimum <= '.join(ends)}")
        said += [f"{side} bound: {self._compared(side)}" for side in SIDES]
        if not self.dual_given:
            said.append(
                "The lower bound of a metric alone is weak as a rule; the upper bound counts by itself. A solution of "
                "ours (solve --save FILE) has a dual point, which proves more."
            )
        size = self.path.stat().st_size
        having = "with" if self.whole else "without"
        said.append(f"file: {self.path} ({size:,} bytes), {having} the data of the instance")
        if size > MAX_FILE:
            said.append(f"It is larger than {MAX_FILE:,} bytes, and will be refused as a record.")
        return "\n".join(said)

    def _compared(self, side: str) -> str:
        gain, bound = self.gain(side), self.bounds[side] or Fraction(1)
        if gain is None:
            return "A RECORD, the first one"
        size = f"{float(abs(gain)):.3g} (relative {float(abs(gain / bound)):.1e})"
        return f"A RECORD, better by {size}" if gain > 0 else f"no record, behind by {size}" if gain else "the record"


def submit(
    metric: str | os.PathLike[str],
    instance: str,
    *,
    by: str = "",
    output: str | os.PathLike[str] | None = None,
    variable: str | None = None,
    whole: bool = False,
) -> Submission:
    """Prove bounds for an instance from anybody's metric, and write them as a file for its records.

    The upper bound is the objective at the metric, projected on the cone; the lower bound is that of the dual point in
    the file, or of the best of some that are made of the metric alone. Both are proven in exact arithmetic, and
    rounded outward to 12 digits.

    Parameters
    ----------
    metric : path
        A metric on the features, ``(d, d)`` or ``(d,)`` weights, in a ``.npy``, ``.npz``, ``.csv`` or ``.mat`` file; a
        solution (``solve --save``); or a certificate or a submission of the instance.
    instance : str
        One of :func:`~convexmetric.bench.list_problems`.
    by : str
        Whose it is, for the table of records: at most 80 letters, digits, spaces and ``.,()+-``.
    output : path, optional
        Ends in ``.npz``. Default: ``INSTANCE.submission.npz`` in the current folder.
    variable : str, optional
        Which variable of a ``.npz`` or ``.mat`` file is the metric.
    whole : bool
        Write the data of the instance, too: such a file proves its bounds where the data set is not. Default: none.

    Returns
    -------
    Submission
        ``print`` tells the bounds, those of the library and of the records, and which would be a record.

    Raises
    ------
    InputError
        If there is no such instance, the file is damaged or does not fit it, its numbers are not finite, the name has
        other letters, or nothing is proven.
    DataNotFoundError
        If the data set of the instance is not there.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> import convexmetric as cm
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "M.npy"), 0.01 * np.eye(13))
    ...     made = cm.bench.submit(Path(folder, "M.npy"), "ranking-auc-wine-c1", output=Path(folder, "mine.npz"))
    >>> made.is_record, float(made.bounds["upper"]) > made.instance.upper_bound
    (False, True)
    """
    about = load_instance(instance)
    path = check_solution_path(output or f"{instance}.submission.npz", "a submission")
    if by and not NAME.fullmatch(by):
        raise InputError(f"by must be a name of at most 80 letters, digits, spaces and .,()+-, got {by!r}")
    with blas_threads_for(0.0):
        # As where it is checked: more threads may make other last digits.
        problem, moved, dual_given = about.problem(), False, True
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings(action="ignore", category=GapWarning):
        certificate = Path(metric)
        names, stated = _names(certificate), describe(problem)[1]
        if "certificate.json" not in names:
            given, moved, dual_given = _certified(certificate, problem, names, variable)
            certificate = Path(place, "certificate.npz")
            write_certificate(certificate, problem, solution=given)
        try:
            document, arrays = without_statement(checker.read(certificate), stated)
            document |= {"title": f"{instance}, by {by}" if by else instance}
            bare = Path(place, "bare.npz")
            write_contents(bare, document, arrays)
            bounds, reason = proven(bare, problem)
        except checker.CertificateError as error:
            raise InputError(f"{metric}: {error}") from error
        if None in bounds.values():
            raise InputError(f"{metric} proves nothing of {instance}: {reason}")
        if whole:
            arrays = {**arrays, **stated}
            document |= {"sha256": {name: kernel.digest(array) for name, array in arrays.items()}}
        write_contents(path, document | {"claimed": {side: str(bound) for side, bound in bounds.items()}}, arrays)
    return Submission(path, about, bounds, best_bounds(about), moved, dual_given, whole)


def proven(path: Path, problem: MetricProblem, **limits: Any) -> tuple[Bounds, str]:
    """Bounds that a submission proves for a problem built here, rounded to :data:`DIGITS`; why not where it does not.

    The claims of the file do not count.

    Raises
    ------
    checker.CertificateError
        If it is refused, or is about another problem.
    """
    verdict, _ = verify_instance(path, problem, **limits)
    return outward(verdict), verdict.reason


def outward(verdict: checker.Verdict) -> Bounds:
    """The bounds of a verdict, rounded to :data:`DIGITS`."""
    found, bounds = {"lower": verdict.lower, "upper": verdict.upper}, Bounds()
    for side, bound in found.items():
        bounds[side] = None if bound is None else kernel.rounded(bound, SIDES[side], DIGITS)
    return bounds


def best_bounds(instance: Instance) -> Bounds:
    """The best bounds proven so far: those of ``problems/records.json``, or of the instance where it has none."""
    records = json.loads((library_folder() / "records.json").read_text(encoding="utf-8"))
    held = records["instances"].get(instance.name, {})
    own: Bounds = {"lower": instance.exact_lower, "upper": instance.exact_upper}
    return {side: Fraction(held[side]["bound"]) if side in held else own[side] for side in SIDES}


def _names(path: Path) -> list[str]:
    """Names of the members of a ``.npz`` file; none of another file."""
    names: list[str] = []

    def noted(found: list[str]) -> list[str]:
        names.extend(found)
        return []

    if path.suffix.lower() == ".npz":
        read_arrays(path, noted)
    return names


def _certified(
    path: Path, problem: MetricProblem, names: list[str], variable: str | None
) -> tuple[Certificate, bool, bool]:
    """A metric with a dual point; whether it is another metric than the file's, and whether the dual point is its."""
    if names and dual_from_arrays(read_arrays(path), MULTIPLIERS) is not None:
        return read_certificate(path, problem), False, True
    metric = problem.from_features(read_metric(path, variable))
    moved = problem.value(metric) == float("inf") or problem.cone.violation(metric) > 0.0
    return from_metric(problem, metric), moved, False


def from_metric(problem: MetricProblem, M: ArrayLike) -> Certificate:
    """Certify a metric by the best dual point among those that the risk makes of its multiples."""
    upper, best = certify_metric(problem, M), None
    for scale in SCALES:
        for dual in problem.risk.own_duals(scale * upper.M):
            with suppress(ConvexMetricError):
                made = with_dual(problem, upper, dual, problem.risk.minorant(dual))
                best = made if best is None or made.lower_bound > best.lower_bound else best
    if best is None:
        raise InputError("no dual point is made of this metric: save a solution with one (solve --save FILE)")
    return best
