"""A case of the campaign: a file, what the checker says of it, and whether that is true."""

from __future__ import annotations

import io
import json
import re
import sys
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import convexmetric as cm
from campaign.attacks import ATTACKS, MUST_REFUSE, UNJUDGED, UnfitError
from campaign.mutations import MUTATIONS
from campaign.optima import INFINITE, Ends, Statement, Unreadable
from campaign.problems import Problem, family, on_a_line, regularizer
from campaign.workers import Ran, command
from convexmetric.certificates import checker, kernel, verify_instance
from convexmetric.cli import commands as cli

from forgery import Contents, hints_in  # isort: skip

import second_checker  # isort: skip

__all__ = ["Campaign", "Record", "judge", "package"]

#: Processor seconds that a proof may take, and besides for each operation that is estimated.
GRACE, OPERATION = 1.0, 1e-8
#: Cases in a row that start from the same problem, of which half are on a line; one case in so many runs both commands.
SAME, BOTH = 8, 16
#: Mutations of archives, which readers may mind or not.
CONTAINERS = (
    "bytes", "zip headers", "members", "attack: two archives", "attack: members that overlap", "attack: comments",
    "attack: data between members", "attack: local headers", "attack: 64-bit records", "attack: bombs",
)  # fmt: skip
_PRINTED = re.compile(r"^proven:\s+(\S+) <= optimum <= (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Record:
    """What became of a case; ``findings`` are empty if all is well.

    ``reason`` is what was said on stderr. ``judged`` says by what a proof was judged: "optimum" (an exact one, or the
    true certificate's interval), "values" (of the objective at some metrics) or, where nothing was proven, "".
    """

    case: int
    family: str
    regularizer: str
    mutation: str
    outcome: str
    reason: str
    judged: str
    findings: tuple[str, ...]
    seconds: float
    peak: int


@dataclass(frozen=True)
class Campaign:
    """Cases by number: the same seed and number is the same file.

    Attributes
    ----------
    solved : list of Problem
    seed : int
    folder : Path
        For the file at hand.
    seconds, memory : float, int
        Limits beyond which a case is a finding.
    keep : Path or None
        Folder for the files with findings.
    mutations : mapping
        What is done to files, and how frequently.
    """

    solved: Sequence[Problem]
    seed: int
    folder: Path
    seconds: float = 10.0
    memory: int = 2**30
    keep: Path | None = None
    mutations: Mapping[str, tuple[Callable[..., Any], float]] = field(default_factory=lambda: MUTATIONS | ATTACKS)

    def made(self, case: int) -> tuple[Problem, str, list[bytes]]:
        """The problem, the mutation, and the files of a case: one, or those of a certificate in parts."""
        rng = np.random.default_rng([self.seed, 0, case // SAME])
        problem = _drawn(self.seed, case // SAME) if rng.random() < 0.5 or not self.solved else None
        if problem is None:
            problem = self.solved[int(rng.integers(len(self.solved)))]
        rng = np.random.default_rng([self.seed, 1, case])
        shares = np.array([share for _, share in self.mutations.values()])
        while True:
            mutation = str(rng.choice(list(self.mutations), p=shares / shares.sum()))
            try:
                made = self.mutations[mutation][0](rng, problem)
            except UnfitError:
                continue
            return problem, mutation, made if isinstance(made, list) else [made]

    def __call__(self, case: int) -> Record:
        problem, mutation, wholes = self.made(case)
        paths = written(self.folder, case, wholes)
        said: list[checker.Verdict] = []
        work: list[float] = []
        ran = self._run(paths, said, work)
        findings = [*_of_the_run(ran, said), *self._limits(ran, sum(work))]
        judged = ""
        if said:
            judged, false = judge(problem, mutation, wholes[0], paths[0], said[0], ran)
            findings += false
        findings += two_readers(paths)
        if case % BOTH == 0:
            findings += self._other_command(paths, ran)
        if case % BOTH == 1 or mutation == "attack: all pairs of many points":
            findings += self._instance(paths)
        if findings and self.keep is not None:
            written(self.keep, case, wholes)
        for path in paths:
            path.unlink()
        outcomes = {0: "accepted", 1: "not proven", 2: "refused"}
        outcome = "traceback" if ran.traceback else outcomes.get(ran.code, "other")  # type: ignore[arg-type]
        document = problem.contents[0]
        return Record(
            case, family(document), regularizer(document), mutation, outcome, ran.stderr.strip()[:120], judged,
            tuple(findings), ran.seconds, ran.peak,
        )  # fmt: skip

    def _run(self, paths: Sequence[Path], said: list[checker.Verdict], work: list[float]) -> Ran:
        """``checker.main``, with the verdict that it prints, and the operations that it estimates."""
        verify, operations = checker.verify, checker.operations

        def recording(*arguments: Any, **options: Any) -> checker.Verdict:
            said.append(verify(*arguments, **options))
            return said[-1]

        def counting(*arguments: Any) -> float:
            work.append(operations(*arguments))
            return work[-1]

        checker.verify, checker.operations = recording, counting
        try:
            return command(checker.main, [str(path) for path in paths], self.seconds)
        finally:
            checker.verify, checker.operations = verify, operations

    def _limits(self, ran: Ran, work: float = 0.0) -> list[str]:
        """Time and memory beyond what was estimated: late, unless the estimate says so."""
        most = GRACE + OPERATION * work
        findings = ["memory"] if ran.peak > 0.9 * self.memory else []
        if ran.code is None and OPERATION * work < self.seconds:
            findings.append("late")
        if ran.code is not None and ran.seconds > most:
            findings.append(f"work: more than estimated: {ran.seconds:.1f} s for {work:.2g} operations")
        return findings

    def _other_command(self, paths: Sequence[Path], ran: Ran) -> list[str]:
        """``convexmetric verify`` must end as the checker alone does."""
        other = command(package, ["verify", *map(str, paths), "--json"], self.seconds)
        findings = [f"convexmetric verify: {finding}" for finding in _of_the_streams(other)]
        if other.code != ran.code and ran.code is not None and other.code is not None:
            findings.append(f"convexmetric verify: exit code {other.code}, not {ran.code}")
        return findings

    def _instance(self, paths: Sequence[Path]) -> list[str]:
        """Of no file but one of an instance it may be said that it is about that, and none may take long to be told."""
        ran = command(about_another, [str(path) for path in paths], self.seconds)
        findings = [f"instance: {finding}" for finding in [*_of_the_streams(ran), *self._limits(ran)]]
        if ran.code in (0, 1) and not ran.traceback:
            findings.append("FALSE: instance: a file of another problem passes")
        return findings


def written(folder: Path, case: int, wholes: Sequence[bytes]) -> list[Path]:
    """Write the files of a case."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / (f"{case}.npz" if len(wholes) == 1 else f"{case}-{at}.npz") for at in range(len(wholes))]
    for path, whole in zip(paths, wholes):
        path.write_bytes(whole)
    return paths


@lru_cache
def _instance() -> Any:
    """A problem that none of the files is about, of numbers of its own."""
    rng = np.random.default_rng(12345)
    X, y = rng.standard_normal((7, 2)), np.arange(7) % 2
    return cm.TripletProblem.from_labels(X, y, n_same=1, n_other=1, reg=0.3125)


def about_another(arguments: list[str]) -> int:
    """``convexmetric verify FILES --instance NAME``."""
    try:
        verdict, _ = verify_instance(arguments, _instance())
    except kernel.CertificateError as error:
        print(f"refused: {error}", file=sys.stderr)
        return 2
    return int(not verdict.accepted)


def two_readers(paths: Sequence[Path]) -> list[str]:
    """What the second checker reads must be what the checker reads, or one of them must refuse."""
    findings = []
    for path in paths:
        try:
            document, arrays = checker.read(path)
        except checker.CertificateError:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                other, others = second_checker.opened(path.read_bytes())
        except Exception:
            continue
        if json.dumps(document, sort_keys=True) != json.dumps(other, sort_keys=True):
            findings.append("FALSE: two readers: they read different descriptions")
        elif {name: kernel.digest(a) for name, a in arrays.items()} != {
            name: kernel.digest(a) for name, a in others.items()
        }:
            findings.append("FALSE: two readers: they read different arrays")
    return findings


@lru_cache(2)
def _drawn(seed: int, number: int) -> Problem:
    """A problem on a line."""
    rng = np.random.default_rng([seed, 2, number])
    while True:
        try:
            return on_a_line(rng)
        except Unreadable:
            continue


def package(arguments: list[str]) -> None:
    """The command of the package."""
    before, sys.argv = sys.argv, ["convexmetric", *arguments]
    try:
        cli.main()
    finally:
        sys.argv = before


def _of_the_streams(ran: Ran) -> list[str]:
    findings = []
    if ran.traceback:
        findings.append("traceback: " + ran.traceback.strip().rpartition("\n")[2])
    elif ran.code is not None and ran.code not in (0, 1, 2):
        findings.append(f"exit code {ran.code}")
    text = ran.stdout + ran.stderr
    if not text.replace("\n", "").isprintable():
        findings.append("control characters")
    return findings


def _of_the_run(ran: Ran, said: list[checker.Verdict]) -> list[str]:
    """What is wrong whatever the file says."""
    findings = _of_the_streams(ran)
    if ran.code == 2 and not ran.traceback and (ran.stdout or ran.stderr.count("\n") != 1):
        findings.append("a refusal is one line on stderr")
    if ran.code in (0, 1) and not ran.traceback and (not said or said[0].accepted != (ran.code == 0)):
        findings.append("the exit code is not the verdict")
    return findings


# Judges ---------------------------------------------------------------------------------------------------------------


def judge(
    problem: Problem, mutation: str, whole: bytes, path: Path, verdict: checker.Verdict, ran: Ran
) -> tuple[str, list[str]]:
    """By what a verdict was judged, and what of it is false; parts have claims and a statement in common."""
    if mutation in MUST_REFUSE:
        return "", ["a key that no table of its kind has is passed over"]
    if mutation in CONTAINERS:
        # Other readers may see other members, or mind what the checker passes over: see two_readers.
        contents: Contents = checker.read(path)
    else:
        try:
            contents = plainly(whole)
        except Exception as error:
            return "", [f"only the checker can read the file: {type(error).__name__}: {error}"]
    claimed = tuple(Fraction(contents[0]["claimed"][end]) for end in ("lower", "upper"))
    findings = _printed(verdict, ran)
    if verdict.claimed != claimed:
        findings.append("the file claims something else")
    if verdict.accepted and (
        verdict.lower is None or verdict.upper is None or claimed[0] > verdict.lower or claimed[1] < verdict.upper
    ):
        findings.append("claims beyond the proof")
    if mutation in UNJUDGED or (verdict.lower is None and verdict.upper is None):
        return "", findings
    judged, (low, high) = interval(problem, contents)
    lowers = [verdict.lower, claimed[0] if verdict.accepted else None]
    uppers = [verdict.upper, claimed[1] if verdict.accepted else None]
    if any(end is not None and end > high for end in lowers):
        findings.append(f"FALSE: lower bound {_short(verdict.lower)} > {_short(high)} ({judged})")
    if any(end is not None and end < low for end in uppers):
        findings.append(f"FALSE: upper bound {_short(verdict.upper)} < {_short(low)} ({judged})")
    if verdict.lower is not None and verdict.upper is not None and verdict.lower > verdict.upper:
        findings.append("FALSE: bounds cross")
    return judged, findings


def _short(value: Any) -> str:
    return "none" if value is None else str(value) if isinstance(value, float) else str(kernel.rounded(value, 1, 20))


def _printed(verdict: checker.Verdict, ran: Ran) -> list[str]:
    """Printed bounds must not be better than proven ones."""
    found = _PRINTED.search(ran.stdout)
    if found is None:
        return [] if ran.traceback else ["printed: no bounds"]
    findings = []
    for text, bound, side in zip(found.groups(), (verdict.lower, verdict.upper), (1, -1)):
        if (text == "nothing") != (bound is None):
            findings.append("printed: not what is proven")
        elif bound is not None and side * (Fraction(text) - bound) > 0:
            findings.append(f"printed: {'lower' if side > 0 else 'upper'} bound better than the proven one")
    return findings


def plainly(whole: bytes) -> Contents:
    """A file read by the standard library and NumPy."""
    arrays = {}
    with zipfile.ZipFile(io.BytesIO(whole)) as archive, warnings.catch_warnings():
        # Of headers that NumPy has to mend.
        warnings.simplefilter("ignore")
        document = json.loads(archive.read("certificate.json"))
        for name in archive.namelist():
            if name != "certificate.json":
                arrays[name.removesuffix(".npy")] = np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
    return document, arrays


def interval(problem: Problem, contents: Contents) -> tuple[str, Ends]:
    """Where the optimal value lies.

    Of an unchanged statement where the problem says; of another on a line by exact minimisation; and of any other
    between zero, where no loss is negative (no regularizer is), and the values of the objective at some metrics.
    """
    if _stated(contents) == _stated(problem.contents):
        return "optimum", problem.optimum
    try:
        statement = Statement(*contents)
    except Unreadable:
        return "nothing", (-INFINITE, INFINITE)
    try:
        return "optimum", statement.optimum()
    except Unreadable:
        pass
    low: Any = statement.constant if statement.G is None and statement.nonnegative else -INFINITE
    name = "weights_of_metric" if statement.diagonal else "factor"
    values = [INFINITE]
    own, before = contents[1].get(name), problem.contents[1].get(name)
    for factor, scale in ((own, 1.0), (before, 1.0), (own, 0.0), (own, 0.7), (own, 0.95), (own, 1.05), (own, 1.5)):
        if factor is not None and factor.shape[-1] == statement.d:
            values.append(statement.objective(factor * scale)[1])
    return "values", (low, min(values))


def _stated(contents: Contents) -> tuple[Any, ...]:
    """The statement, without what proves."""
    document, arrays = contents
    hints = hints_in(arrays)
    rows = [(name, a.dtype.str, a.shape, a.tobytes()) for name, a in sorted(arrays.items()) if name not in hints]
    return json.dumps(document["problem"], sort_keys=True), *rows
