"""Certificates in parts: random cuts of the certificates of a campaign, and what is done to the set of files."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from campaign.mutations import MUTATIONS
from campaign.problems import Problem
from convexmetric.certificates import kernel
from convexmetric.certificates.dual_points import in_parts

from forgery import Contents, archive, claim, noisy, packed  # isort: skip

__all__ = ["SETS", "files"]

Generator = np.random.Generator
Part = list[Contents]


def cut(rng: Generator, contents: Contents) -> Part:
    """The same certificate in two to four parts; in one where it has but one row."""
    document, arrays = contents
    with np.errstate(all="ignore"):
        risk = kernel.Problem(document, kernel.Arrays(arrays)).risk
    common = {name: array for name, array in arrays.items() if not kernel.files.of_rows(name)}
    found = {name: array for name, array in arrays.items() if kernel.files.of_rows(name)}
    cuts = sorted({0, len(risk), *rng.integers(0, len(risk) + 1, int(rng.integers(1, 4))).tolist()})
    return [
        (copy.deepcopy(document) | {"dual": document["dual"] | {"rows": rows}}, common | own)
        for rows, own in in_parts(risk, found, cuts)
    ]


def _whole(rng: Generator, parts: Part) -> Part:
    return parts


def _missing(rng: Generator, parts: Part) -> Part:
    del parts[int(rng.integers(len(parts)))]
    return parts


def _twice(rng: Generator, parts: Part) -> Part:
    return [*parts, parts[int(rng.integers(len(parts)))]]


def _other_rows(rng: Generator, parts: Part) -> Part:
    """The rows of a part begin or end elsewhere, or parts exchange theirs."""
    at, other = (int(rng.integers(len(parts))) for _ in range(2))
    if rng.random() < 0.5:
        dual, its = parts[at][0]["dual"], parts[other][0]["dual"]
        dual["rows"], its["rows"] = its["rows"], dual["rows"]
    else:
        rows = list(parts[at][0]["dual"]["rows"])
        rows[int(rng.integers(2))] += int(rng.choice([-1, 1]))
        parts[at][0]["dual"]["rows"] = rows
    return parts


def _other_claims(rng: Generator, parts: Part) -> Part:
    """Bounds that are exchanged or a hair better, in all parts or in one."""
    low, high = (Fraction(parts[0][0]["claimed"][end]) for end in ("lower", "upper"))
    better = abs(high - low) * Fraction(float(rng.random())), Fraction(0)
    ends = (high, low) if rng.random() < 0.3 else (low + better[0], high)
    changed = range(len(parts)) if rng.random() < 0.6 else [int(rng.integers(len(parts)))]
    return [claim(part, *ends) if at in changed else part for at, part in enumerate(parts)]


def _noise(rng: Generator, parts: Part) -> Part:
    """Noise on the dual point of a part."""
    at, size = int(rng.integers(len(parts))), 10.0 ** rng.uniform(-16, 1)
    document, arrays = noisy(rng, parts[at], size)
    common = {name: parts[at][1][name] for name in arrays if not kernel.files.of_rows(name)}
    parts[at] = document, arrays | common
    return parts


SETS: dict[str, Callable[[Generator, Part], Part]] = {
    "parts: all": _whole, "parts: one missing": _missing, "parts: one twice": _twice, "parts: other rows": _other_rows,
    "parts: claims": _other_claims, "parts: noise on one": _noise,
}  # fmt: skip
"""What is done to parts; and besides, to one of them, any mutation of a file that keeps the container."""
OF_ONE = (
    "statement: parameters", "statement: data", "statement: regularizer, cone", "hints: other dual points, factors",
    "hints: slopes of the regularizer", "JSON: values",
)  # fmt: skip


def files(rng: Generator, problem: Problem) -> tuple[str, list[bytes]]:
    """What was done, and the files, in any order; the file itself where it states no problem."""
    try:
        parts, what = cut(rng, problem.contents), str(rng.choice([*SETS, *OF_ONE]))
    except kernel.CertificateError:
        return "none", [archive(packed(problem.contents))]
    if what in SETS:
        wholes = [archive(packed(part)) for part in SETS[what](rng, parts)]
    else:
        at = int(rng.integers(len(parts)))
        wholes = [archive(packed(part)) for part in parts]
        wholes[at] = MUTATIONS[what][0](rng, replace(problem, contents=parts[at]))
        what = f"parts: {what} of one"
    rng.shuffle(wholes)  # type: ignore[arg-type]
    return what, wholes
