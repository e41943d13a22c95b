"""Checks of exercise 12: by the verdict of the package's own checker."""

import copy
import hashlib
import io
import json
import tempfile
import zipfile
from fractions import Fraction
from functools import cache
from math import ceil, floor
from pathlib import Path

import numpy as np
from checking import Wrong, expect, several, task, wine

STATEMENT = ("points", "terms", "triplets")
TYPES = "Floats have the type <f8, eight bytes each: numpy.float64."


@cache
def certificate():
    """Table and arrays of a certificate, with claims of three digits."""
    import convexmetric as cm

    X, _ = wine()
    triplets = [(i, i + 1 + (7 * i) % 18, 59 + (13 * i) % 119) for i in range(40)]
    problem = cm.RelativeComparisonProblem(X, triplets, C=0.1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wine.npz"
        cm.write_certificate(path, cm.solve(problem, tol=1e-8))
        with zipfile.ZipFile(path) as archive:
            document = json.loads(archive.read("certificate.json"))
            arrays = {name: np.load(io.BytesIO(archive.read(f"{name}.npy"))) for name in document["sha256"]}
    claimed = {side: Fraction(text) for side, text in document["claimed"].items()}
    lower, upper = Fraction(floor(1000 * claimed["lower"]), 1000), Fraction(ceil(1000 * claimed["upper"]), 1000)
    document["claimed"] = {"lower": str(lower), "upper": str(upper)}
    return document, arrays


def returned(answer):
    """Let an answer change a copy of the file; return the copy that it was given untouched, and what it made."""
    document, arrays = certificate()
    found = several(answer(*copy.deepcopy((document, arrays))), "two dictionaries", "document, arrays")
    expect(
        set(found[1]) == set(arrays) and all(isinstance(array, np.ndarray) for array in found[1].values()),
        f"expected the arrays {', '.join(arrays)}; yours are {', '.join(found[1])}",
        "Change an array, but leave all there.",
    )
    differ = {name for name in arrays if not _equal(arrays[name], found[1][name])}
    return (document, arrays), found, differ


def _equal(one, other):
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def verdict(document, arrays):
    """Write a file and have it judged: a Verdict, or the reason of a refusal."""
    import convexmetric as cm
    from convexmetric.certificates import CertificateError

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "changed.npz"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("certificate.json", json.dumps(document))
            for name, array in arrays.items():
                file = io.BytesIO()
                np.lib.format.write_array(file, array, allow_pickle=False)
                archive.writestr(f"{name}.npy", file.getvalue())
        try:
            return cm.verify(path)
        except CertificateError as refusal:
            return str(refusal).replace(f"{path}: ", "")


def accepted(document, arrays, hint):
    """Have a file judged that must be accepted."""
    found = verdict(document, arrays)
    if isinstance(found, str):
        raise Wrong(
            f"expected an accepted file; yours is refused: {found}",
            "The hash of what has changed must change with it: document['sha256'][name]."
            if "sha256" in found
            else TYPES,
        )
    expect(found.accepted, f"expected an accepted file; yours is not: {found.reason}", hint)
    return found


@task(2)
def digest(answer):
    X, y = wine()
    for array in (X, y.astype("<i8"), np.eye(3)[:, :2], (y > 0).astype("|u1"), np.asfortranarray(X)):
        head = f"{array.dtype.str} {array.shape};".encode()
        right = hashlib.sha256(head + array.tobytes()).hexdigest()
        found = answer(array)
        hint = "hashlib.sha256(text.encode() + array.tobytes()).hexdigest()"
        mistakes = {
            "The text before the bytes is missing.": array.tobytes(),
            "The semicolon is missing.": head[:-1] + array.tobytes(),
            "The type is spelt as array.dtype.str, such as <f8.": f"{array.dtype} {array.shape};".encode()
            + array.tobytes(),
            "The bytes are missing.": head,
            "Bytes in C order, row by row, however the array is kept.": head + array.tobytes("A"),
        }
        for mistake, data in mistakes.items():
            if found == hashlib.sha256(data).hexdigest() != right:
                raise Wrong(f"expected {right[:12]}...; yours is {found[:12]}...", mistake, hint)
        if isinstance(found, bytes):
            raise Wrong("expected text; yours is bytes", "`hexdigest`, not `digest`.", hint)
        expect(found == right, f"expected {right[:12]}...; yours is {str(found)[:12]}...", hint)


@task(1)
def damaged(answer):
    (before, _), (document, arrays), differ = returned(answer)
    expect(document == before, "only an array should change; the table has changed as well", "Leave the hashes alone.")
    expect(differ, "nothing has changed", "For example, arrays['slopes'][0] += 1.0.")
    found = verdict(document, arrays)
    expect(isinstance(found, str), "expected a refusal; the file was read")
    expect("hash" in found or "sha256" in found, f"refused for another reason: {found}", TYPES)
    return f"refused: {found}"


@task(1)
def boastful(answer):
    (before, _), (document, arrays), differ = returned(answer)
    expect(not differ, f"the arrays should be as they were; changed: {', '.join(sorted(differ))}")
    expect(document != before, "nothing has changed", "The claims are document['claimed'].")
    expect(document | {"claimed": before["claimed"]} == before, "only document['claimed'] should change")
    found = verdict(document, arrays)
    if isinstance(found, str):
        raise Wrong(
            f"expected a file that can be read; yours is refused: {found}",
            "Claims are text, 'p/q' or 'p', and the lower one is not above the upper one.",
            "str(Fraction(1418, 10000)) makes such text.",
        )
    expect(
        not found.accepted,
        "expected claims that are not proven; yours are",
        "Claim more: a lower bound that is higher, or an upper bound that is lower.",
        "The claims have been rounded to three digits. The file proves more than it says.",
    )
    return f"not proven: {found.reason}"


@task(2)
def survivor(answer):
    (before, original), (document, arrays), differ = returned(answer)
    expect(differ, "nothing has changed", "For example 1.0001 times weights_of_metric, with its new hash.")
    expect(
        differ <= {"weights_of_metric", "slopes", "slope"},
        f"the statement should be as it was; changed: {', '.join(sorted(differ))}",
        "Change arrays that prove, and not those that state.",
    )
    rest = {key: value for key, value in document.items() if key != "sha256"}
    expect(rest == {key: before[key] for key in rest}, "only arrays and their hashes should change")
    found = accepted(document, arrays, "Change less: the bounds that are proven must still be within the claims.")
    was = verdict(before, original)
    expect(
        (found.lower, found.upper) != (was.lower, was.upper),
        "the proven bounds have not changed",
        "Change the weights or the slopes by so much that it matters, such as a hundredth of a percent.",
    )
    return f"accepted: {float(found.lower):.7g} <= optimum <= {float(found.upper):.7g}"


@task(2)
def another_problem(answer):
    (before, original), (document, arrays), differ = returned(answer)
    expect(document["claimed"] == before["claimed"], "the claims should be as they were")
    expect("points" in differ, "the points should change", "Move one of them a little: arrays['points'][0, 0] += 1e-4.")
    found = accepted(document, arrays, "Move points less: the claims must be true of the new problem as well.")
    was = verdict(before, original)
    expect(found.sha256 != was.sha256, "the statement is the same")
    return f"accepted, with the statement {found.sha256[:12]}... in place of {was.sha256[:12]}..."


@task(2)
def statement_hash(answer):
    document, arrays = certificate()
    state = json.dumps(document["problem"], sort_keys=True, separators=(",", ":"))

    def hashed(table, names, joint="\n"):
        return hashlib.sha256(
            joint.join([table, *(f"{name} {document['sha256'][name]}" for name in names)]).encode()
        ).hexdigest()

    right = verdict(document, arrays).sha256
    assert right == hashed(state, STATEMENT)
    found = answer(copy.deepcopy(document), copy.deepcopy(arrays))
    mistakes = {
        "JSON without spaces: separators=(',', ':').": hashed(
            json.dumps(document["problem"], sort_keys=True), STATEMENT
        ),
        "The keys of the table must be sorted.": hashed(
            json.dumps(document["problem"], separators=(",", ":")), STATEMENT
        ),
        "Arrays that prove are no part of the statement.": hashed(state, sorted(arrays)),
        "The arrays come by name, in the order of the alphabet.": hashed(state, ("points", "triplets", "terms")),
        "There is no newline behind the last line.": hashlib.sha256(
            ("\n".join([state, *(f"{name} {document['sha256'][name]}" for name in STATEMENT)]) + "\n").encode()
        ).hexdigest(),
        "Lines are joined by newlines.": hashed(state, STATEMENT, ""),
        "The arrays are missing.": hashed(state, ()),
    }
    hint = next((hint for hint, value in mistakes.items() if value == found), "")
    expect(
        found == right,
        f"expected {right[:12]}..., as the verdict has it; yours is {str(found)[:12]}...",
        hint,
        "Four lines: the table, then points, terms and triplets, each with a space and its hash.",
    )
