"""Whether the kernel and the second checker, which share no code, say the same of a file."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from campaign.judge import CONTAINERS as OF_ARCHIVES
from campaign.judge import Campaign
from campaign.parts import files
from convexmetric.certificates import checker

import second_checker  # isort: skip

__all__ = ["AGREED", "Agreement", "Comparison"]

#: What is no disagreement: the same outcome; a damaged container that only one refuses, as the second leaves archives
#: and headers to the standard library and NumPy; claims that hold by less than the kernel's rounding; and what is too
#: much for one of them.
AGREED = ("accepted", "not proven", "refused", "container", "rounding", "too large")
#: Mutations of archives, headers and JSON text.
CONTAINERS = (*OF_ARCHIVES, "npy headers", "JSON: text")
#: Files of the corpus of which only one of them minds the container.
CORPUS_CONTAINERS = ("entries", "header-python-2", "packed-4-gib")


@dataclass(frozen=True)
class Comparison:
    """What both say of a case: one of :data:`AGREED`, or what they disagree about."""

    case: int
    problem: str
    mutation: str
    said: str
    seconds: float


@dataclass(frozen=True)
class Agreement:
    """Cases of a campaign, judged by both; one in ``every`` is a certificate in parts, and the first are the corpus."""

    campaign: Campaign
    corpus: Sequence[Path] = ()
    every: int = 5

    def __call__(self, case: int) -> Comparison:
        start = time.perf_counter()
        if case < len(self.corpus):
            name, mutation, wholes = self.corpus[case].stem, "corpus", [self.corpus[case].read_bytes()]
        else:
            problem, mutation, wholes = self.campaign.made(case)
            name = problem.name
            if case % self.every == 0:
                mutation, wholes = files(np.random.default_rng([self.campaign.seed, 3, case]), problem)
        paths = [self.campaign.folder / f"{case}-{number}.npz" for number in range(len(wholes))]
        for path, whole in zip(paths, wholes, strict=True):
            path.write_bytes(whole)
        said = compare(paths, wholes, container=whole_of(mutation) or name in CORPUS_CONTAINERS)
        for path in paths:
            if said not in AGREED and self.campaign.keep is not None:
                self.campaign.keep.mkdir(parents=True, exist_ok=True)
                (self.campaign.keep / path.name).write_bytes(path.read_bytes())
            path.unlink()
        return Comparison(case, name, mutation, said, time.perf_counter() - start)


def whole_of(mutation: str) -> bool:
    """Whether a mutation is one of the container."""
    return any(mutation.startswith(name) for name in CONTAINERS)


def compare(paths: Sequence[Path], wholes: Sequence[bytes], container: bool = False) -> str:
    """What both say of a file, or of several together: one of :data:`AGREED`, or a disagreement in words."""
    first, second, why = None, None, ""
    try:
        first = checker.verify(*paths)
    except checker.CertificateError as error:
        why = str(error)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            second = second_checker.judge(*wholes)
    except second_checker.TooLarge:
        return "too large"
    except second_checker.Refused as error:
        return "refused" if first is None else "container" if container else f"only the second refuses: {error}"
    if first is None:
        if "operations" in why or "more than" in why:
            return "too large"
        return "container" if container else f"only the first refuses: {why}"
    if first.lower is not None and (second.lower is None or second.lower < first.lower):
        return f"the lower bound {first.lower} is more than the exact one, {second.lower}"
    if first.upper is not None and (second.upper is None or second.upper > first.upper):
        return f"the upper bound {first.upper} is less than the exact one, {second.upper}"
    if first.accepted != second.accepted:
        return "only the first accepts" if first.accepted else "rounding"
    return "accepted" if first.accepted else "not proven"
