"""The checker of certificates: reads files of strangers, and proves what they claim by the kernel.

All that makes a proof true is in the folder ``kernel``, which is handed the description and the arrays of a file. What
stands here keeps a forged file from harming whoever reads it: the archive is unpacked up to stated sizes, arrays have
one of four types, work and memory are estimated before they are spent, the machine is tested for what the kernel
assumes of it, and nothing of the file reaches a terminal as it is. Truth depends on this module in one point: that what
it hands over is what the file holds, for which ``kernel.contents`` is a second reader.

It uses nothing but NumPy, the standard library and the kernel, and runs alone beside it: ``python checker.py FILE``.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import json
import math
import re
import stat
import struct
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

if __package__:
    from convexmetric.certificates import kernel
else:  # A script beside the kernel.
    import kernel  # type: ignore[import-not-found, no-redef]

Ball, CertificateError = kernel.Ball, kernel.CertificateError

__all__ = ["Ball", "CertificateError", "Verdict", "verify"]

Array = NDArray[Any]

#: Default limit on the bytes of a file, packed or unpacked; of its arrays also if every number took eight.
MAX_BYTES = 2**30
#: Limits on the bytes of its description, and on the number of its members.
MAX_JSON, MAX_MEMBERS = 2**20, 64
#: Limits on a side of an array (lists, comparisons, points), and on the numbers of an array and of any matrix that is
#: made of points, features and queries.
MAX_LENGTH, MAX_NUMBERS = 2**24, 2**26
#: Limit on the pairs of one query where they are written out: logistic losses, gains of rankings.
MAX_TABLE = 2**24
#: Default limit on the operations of a proof, each about a nanosecond of one core.
MAX_WORK = 2e12
#: What is counted for a multiplication in a matrix product, a place in a table of rankings, a logistic loss, a query,
#: and a row of a table of rankings.
MULTIPLY, RANKING, LOGISTIC, QUERY, ROW = 0.1, 8.0, 2e3, 2e5, 3e4
#: Kinds of risks, by what their estimates of work go by.
LISTS, COMPARISONS = ("pairs of lists", "rankings"), ("listed comparisons", "all pairs")
#: Losses with a logarithm.
LOGARITHMS = ("logistic", "itakura-saito", "negative log")


# The machine ----------------------------------------------------------------------------------------------------------


@functools.cache
def arithmetic() -> None:
    """Test what is assumed of this machine, see the top.

    Raises
    ------
    CertificateError
        If NumPy does not round to nearest, flushes subnormal numbers to zero, or if products of leading digits are not
        exact here.
    """
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 200)) * 10.0 ** rng.integers(-9, 10, (2, 200))
    # Python rounds quotients of integers to nearest, and so fractions.
    x, y = list(map(Fraction, a.tolist())), list(map(Fraction, b.tolist()))
    for found, exact in (
        (a + b, [float(p + q) for p, q in zip(x, y, strict=True)]),
        (a - b, [float(p - q) for p, q in zip(x, y, strict=True)]),
        (a * b, [float(p * q) for p, q in zip(x, y, strict=True)]),
        (a / b, [float(p / q) for p, q in zip(x, y, strict=True)]),
    ):
        if found.tolist() != exact:
            raise CertificateError("this machine does not round to nearest, and proves nothing here")
    roots, half = np.sqrt(np.abs(a)), Fraction(1, 2)
    for root, square in zip(roots.tolist(), x, strict=True):
        ends = [Fraction(root) + half * (Fraction(math.nextafter(root, to)) - Fraction(root)) for to in (0.0, math.inf)]
        if not ends[0] ** 2 <= abs(square) <= ends[1] ** 2:
            raise CertificateError("this machine does not round roots to nearest, and proves nothing here")
    tiny = np.ldexp(np.arange(1.0, 34.0), -1074)
    if not ((tiny * 1.0 == tiny) & (tiny > 0.0) & (np.ldexp(tiny, 60) * 2.0**-60 == tiny)).all():
        raise CertificateError("this machine flushes subnormal numbers to zero, and proves nothing here")
    for rows, terms, columns in ((1, 300, 1), (37, 1000, 41), (200, 70, 3)):
        largest = 2 ** ((53 - math.ceil(math.log2(terms))) // 2)
        A, B = (rng.integers(-largest, largest + 1, shape) for shape in ((rows, terms), (terms, columns)))
        A[0], B[:, 0] = largest, largest
        P, Q = A.astype(np.float64), B.astype(np.float64)
        if not (
            np.array_equal(P @ Q, A @ B) and np.array_equal(P @ P.T, A @ A.T) and np.array_equal(Q.T @ P.T, (A @ B).T)
        ):
            raise CertificateError(
                "products of leading digits are not exact on this machine, which proves nothing here"
            )


# Files ----------------------------------------------------------------------------------------------------------------

DTYPES = ("<f8", "<i8", "<i4", "|u1")
_NAME = re.compile(rb"([a-z][a-z0-9_]{0,40})\.npy")
#: All of an npy file up to its numbers. Version 1 has two bytes of length after the magic, version 2 has four.
_HEADER = re.compile(
    rb"\x93NUMPY(?:\x01\x00..|\x02\x00....)"
    rb"\{'descr': '([!-&(-~]{1,9})', 'fortran_order': (True|False), "
    rb"'shape': \((?:([0-9]{1,10}),(?: ([0-9]{1,10})(?:, ([0-9]{1,10}))?)?)?\),? \} *\n",
    re.DOTALL,
)
#: Ends of ZIP archives, entries of their directories, and what stands before a member.
_END, _ENTRY, _LOCAL = struct.Struct("<4s4H2LH"), struct.Struct("<4s6H3L5H2L"), struct.Struct("<4s22xHH")
STORED, DEFLATED = 0, 8
#: Flags of a member that change nothing here: levels of compression, sizes that follow the data, names in UTF-8.
_HARMLESS = 0b1000_0000_1110


@contextlib.contextmanager
def refusals(what: str) -> Iterator[None]:
    """Whatever goes wrong with a forged file, memory and recursion included, is a refusal that says what it was."""
    try:
        yield
    except CertificateError:
        raise
    except OSError as error:
        raise CertificateError(f"cannot read {what}: {error.strerror or type(error).__name__}") from error
    except Exception as error:
        raise CertificateError(f"{what} cannot be evaluated: {type(error).__name__}: {error}") from error


def read(path: Path, max_bytes: int = MAX_BYTES) -> tuple[dict[str, Any], dict[str, Array]]:
    """The description and the arrays of a file; nothing is unpacked or allocated before its size is checked."""
    with refusals(str(path)):
        if not stat.S_ISREG(path.stat().st_mode):
            raise CertificateError(f"{path} is not a file")
        with path.open("rb") as file:
            return _read(file, max_bytes)


def _read(file: BinaryIO, max_bytes: int) -> tuple[dict[str, Any], dict[str, Array]]:
    members = _members(file, max_bytes)
    if b"certificate.json" not in members:
        raise CertificateError("the file has no certificate.json")
    text = _unpacked(file, members.pop(b"certificate.json"), MAX_JSON)
    document = json.loads(
        text.decode("utf-8"),
        parse_constant=_refused,
        parse_float=_refused,
        parse_int=_integer,
        object_pairs_hook=_once,
    )
    found = {name: _NAME.fullmatch(name) for name in members}
    if not all(found.values()):
        raise CertificateError("the file has a member that is no array")
    names = {name: match[1].decode("ascii") for name, match in found.items() if match}
    arrays, left = {}, max_bytes - len(text)
    for member, name in names.items():
        data = _unpacked(file, members[member], left)
        left -= len(data)
        arrays[name] = _array(data, name)
    # Integers are widened when they are used.
    if 8 * sum(array.size for array in arrays.values()) > max_bytes:
        raise CertificateError(f"the arrays take more than {max_bytes} bytes, 8 a number")
    kernel.checked(document, arrays)
    return document, arrays


def _members(file: BinaryIO, max_bytes: int) -> dict[bytes, tuple[Any, ...]]:
    """The directory of a ZIP archive, which must end with it: without a comment, split parts or 64-bit sizes."""
    size = file.seek(0, io.SEEK_END)
    if size > max_bytes:
        raise CertificateError(f"the file is larger than {max_bytes} bytes")
    end = _part(file, size - _END.size, _END.size)
    mark, part, first, here, count, length, start, comment = _END.unpack(end)
    if mark != b"PK\5\6" or part or first or comment or here != count:
        raise CertificateError("the file is damaged or no certificate: it does not end like a ZIP archive")
    if count > MAX_MEMBERS or length > MAX_MEMBERS * 2**10:
        raise CertificateError(f"the file has more than {MAX_MEMBERS} members, or names that are too long")
    directory, members, at = _part(file, start, length), {}, 0
    for _ in range(count):
        entry = _ENTRY.unpack_from(directory, at)
        name_length, extra, remark = entry[10:13]
        name = directory[at + _ENTRY.size : at + _ENTRY.size + name_length]
        if entry[0] != b"PK\1\2" or entry[3] & ~_HARMLESS or entry[4] not in (STORED, DEFLATED) or name in members:
            raise CertificateError(
                f"the member {name!r} is damaged, there twice, encrypted, or compressed in another way than deflate"
            )
        members[name] = entry
        at += _ENTRY.size + name_length + extra + remark
    if sum(entry[9] for entry in members.values()) > max_bytes:
        raise CertificateError(f"the file unpacks to more than {max_bytes} bytes")
    return members


def _part(file: BinaryIO, start: int, length: int) -> bytes:
    """So many bytes from a place on."""
    if start >= 0:
        file.seek(start)
        data = file.read(length)
        if len(data) == length:
            return data
    raise CertificateError("the file is damaged or no certificate: it ends too early")


def _unpacked(file: BinaryIO, entry: tuple[Any, ...], limit: int) -> bytearray:
    """The bytes of a member, at most as many as the directory says, however many there are to come."""
    method, check, packed, size, start = entry[4], *entry[7:10], entry[16]
    if size > limit:
        raise CertificateError(f"the file has no certificate.json of at most {MAX_JSON} bytes, or unpacks to too many")
    mark, name, extra = _LOCAL.unpack(_part(file, start, _LOCAL.size))
    if mark != b"PK\3\4":
        raise CertificateError("the file is damaged: a member is not where the archive says")
    file.seek(name + extra, io.SEEK_CUR)
    data, inflate = bytearray(), zlib.decompressobj(-zlib.MAX_WBITS) if method == DEFLATED else None
    while packed > 0 and len(data) <= size:
        chunk = file.read(min(packed, 2**16))
        if not chunk:
            raise CertificateError("the file is damaged: a member ends too early")
        packed -= len(chunk)
        while chunk and len(data) <= size:
            # A limit of zero would mean none; here it is at least one.
            data += chunk if inflate is None else inflate.decompress(chunk, size + 1 - len(data))
            chunk = b"" if inflate is None else inflate.unconsumed_tail
    ended = inflate is None or (inflate.eof and not inflate.unused_data)
    if len(data) != size or packed or not ended or zlib.crc32(data) != check:
        raise CertificateError("the file is damaged: a member has not the size or the sum that the archive says")
    return data


def _array(data: bytearray, name: str) -> Array:
    """An array of one of :data:`DTYPES` whose header fits the size of its member."""
    header = _HEADER.match(data, 0, 2**11)
    if header is None:
        raise CertificateError(f"the array {name} has no header of the npy format, of at most three dimensions")
    kind = header[1].decode("ascii")
    if kind not in DTYPES:
        raise CertificateError(f"the array {name} has the type {kind}; allowed are {', '.join(DTYPES)}")
    lengths = int.from_bytes(data[8:10] if data[6] == 1 else data[8:12], "little")
    shape = tuple(int(side) for side in header.groups()[2:] if side is not None)
    count = math.prod(shape)
    if max(shape, default=0) > MAX_LENGTH or count > MAX_NUMBERS:
        raise CertificateError(f"the array {name} has a side above {MAX_LENGTH} or more than {MAX_NUMBERS} numbers")
    dtype, start = np.dtype(kind), header.end()
    if start != lengths + (10 if data[6] == 1 else 12) or start + count * dtype.itemsize != len(data):
        raise CertificateError(f"the array {name} has not the size that its header says")
    array = np.require(np.frombuffer(data, dtype, count, start), requirements="A")
    array.flags.writeable = False
    return array.reshape(shape[::-1]).T if header[2] == b"True" else array.reshape(shape)


def _refused(text: str) -> Any:
    raise CertificateError(f"certificate.json has the number {text[:40]}: numbers are integers or rationals as text")


def _integer(text: str) -> int:
    return int(text) if len(text) <= 20 else _refused(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise CertificateError("certificate.json has a key twice")
    return table


# Limits ---------------------------------------------------------------------------------------------------------------


def held(rows: float, columns: float) -> None:
    """Refuse a matrix that is too large to be held."""
    if not rows * columns <= MAX_NUMBERS:
        raise CertificateError(f"a matrix of {rows:g} rows and {columns:g} columns has more than {MAX_NUMBERS} numbers")


def operations(document: Any, arrays: Mapping[str, Array]) -> float:
    """About what a proof takes, from shapes and lengths of lists alone; refuses matrices that are too large."""
    problem, (first, end) = document["problem"], document["dual"].get("rows", (0, None))
    d, diagonal = float(problem["features"]), problem["cone"] == "diagonal"
    rank = 1.0 if diagonal else max(float(len(arrays.get("factor", ()))), 1.0)
    form = "L" if "of" in problem["regularizer"] else ""
    if form or not diagonal:
        held(d, d)
    held(rank, d if diagonal else max(d, rank))
    # Laplacians, Cholesky factors, and products of factors.
    tall = max(rank, float(len(arrays.get("gram_of", ()))))
    omega = problem["regularizer"]
    terms = len(omega["summands"]) if "summands" in omega else 1
    total = 0.0 if diagonal and not form else MULTIPLY * d * d * (10.0 * tall + 60.0 * d * (1.0 + terms))
    risks = [(problem["risk"], dict(arrays))]
    if "summands" in problem["risk"]:
        risks = [(table, _own(arrays, number)) for number, table in enumerate(problem["risk"]["summands"])]
    comparisons, at = 0.0, 0
    for table, own in risks:
        if table.get("kind") not in (*LISTS, *COMPARISONS):
            continue  # The kernel refuses it.
        n = float(len(own.get("points", ())))
        lists = table["kind"] in LISTS
        count = own["near_stops"].size if lists else _comparisons(table, own, n)
        rows = slice(max(first - at, 0), count if end is None else min(max(end - at, 0), count))
        at += count
        if lists:
            total += _of_lists(table, own, n, d, 0.0 if diagonal else rank, rows)
        else:
            comparisons += count
            total += _of_comparisons(table, n, d, 0.0 if diagonal else rank, max(rows.stop - rows.start, 0))
        if comparisons > MAX_LENGTH:
            raise CertificateError(f"there are more than {MAX_LENGTH} comparisons")
    return total


def _own(arrays: Mapping[str, Array], number: int) -> dict[str, Array]:
    """The arrays of a risk of a sum; points may be those of all."""
    start = kernel.SUMMAND.format(number)
    shared = {"points": arrays["points"]} if "points" in arrays else {}
    return shared | {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def _comparisons(table: Any, own: Mapping[str, Array], n: float) -> int:
    """How many there are."""
    if table["kind"] == "all pairs":
        return int(n * (n - 1.0) / 2.0)
    return max(len(own.get(name, ())) for name in ("pairs", "triplets"))


def _of_comparisons(table: Any, n: float, d: float, rank: float, count: float) -> float:
    """Operations of so many comparisons of n points; ``rank`` is that of a factor, 0 on the diagonal."""
    held(n, max(n, rank))
    logistic = 2.0 * LOGISTIC if any(term["loss"] in LOGARITHMS for term in table["terms"]) else 0.0
    each = count * (8.0 * (rank or d) + 200.0 + logistic + len(table["terms"]))
    return MULTIPLY * n * d * (max(rank, 1.0) + 3.0 * (n + d)) + each + 50.0 * n * n


def _of_lists(table: Any, own: Mapping[str, Array], n: float, d: float, rank: float, rows: slice) -> float:
    """Operations of some queries among n points."""
    p = np.diff(own["near_stops"].astype(np.float64).ravel(), prepend=0.0)
    far = n - p if "itself" in own else np.diff(own["far_stops"].astype(np.float64).ravel(), prepend=0.0)
    p, far = p[rows], far[rows]
    queries = float(p.size)
    held(queries, max(n, d))
    held(n + queries, rank or d)
    pairs, ranked, logistic = p * far, table.get("measure", "auc") != "auc", table.get("loss") == "logistic"
    if (logistic or ranked) and pairs.max(initial=0.0) > MAX_TABLE:
        raise CertificateError(f"a query has {pairs.max():g} pairs; at most {MAX_TABLE} are written out")
    each = LOGISTIC if logistic else RANKING if ranked else 0.0
    places = (ROW + 300.0 * len(own.get("steps", ()))) * float(p.sum()) if ranked else 0.0
    images = MULTIPLY * (n + queries) * d * max(rank, 1.0) + queries * n * (MULTIPLY * (rank or d) + 80.0)
    laplacian = 3.0 * MULTIPLY * (queries * n * d + (0.0 if rank == 0.0 else (queries + n) * d * d))
    # Far lists that are the rest of near ones are made for all queries once, to be counted.
    reading = (1e4 + 2.0 * n) * own["near_stops"].size
    return reading + images + laplacian + each * float(pairs.sum()) + places + QUERY * queries


# Verdicts -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What was proven about the problem of a file.

    Attributes
    ----------
    accepted : bool
        Whether the bounds that the file claims are proven.
    lower, upper : Fraction or None
        Proven bounds on the optimal value; None where nothing is proven.
    claimed : (Fraction, Fraction)
        What the file claims.
    reason : str
        Why it is not accepted; empty if it is.
    title, problem : str
        The file's title, and the problem in words, with all its parameters.
    seconds : float
    description : dict
        The problem as the file describes it.
    sizes : dict
        Numbers of features, points, queries, pairs or triplets.
    sha256 : str
        Hash of the statement: of its description and all its arrays.
    """

    accepted: bool
    lower: Fraction | None
    upper: Fraction | None
    claimed: tuple[Fraction, Fraction]
    reason: str
    title: str
    problem: str
    seconds: float
    description: dict[str, Any] = field(repr=False, compare=False, default_factory=dict)
    sizes: dict[str, int] = field(repr=False, compare=False, default_factory=dict)
    sha256: str = ""

    def __str__(self) -> str:
        return (
            f"title:     {self.title!a}\n"
            f"problem:   {self.problem}\n"
            f"sizes:     {', '.join(f'{count} {name}' for name, count in self.sizes.items())}\n"
            f"statement: sha256 {self.sha256}\n"
            f"proven:    {decimal(self.lower, -1)} <= optimum <= {decimal(self.upper, 1)}\n"
            f"claimed:   {decimal(self.claimed[0], -1)} <= optimum <= {decimal(self.claimed[1], 1)}\n"
            f"{'accepted' if self.accepted else f'NOT accepted: {self.reason}'} ({self.seconds:.2f} s)"
        )


def decimal(value: Fraction | None, away: int) -> str:
    """A bound in decimals, rounded outward: the text is a bound too."""
    if value is None:
        return "nothing"
    # A fraction of at most 18 decimal digits, so that the division is exact.
    value = kernel.rounded(value, away)
    return f"{Context(prec=40).divide(Decimal(value.numerator), Decimal(value.denominator)):g}"


def _words(table: dict[str, Any]) -> str:
    """A risk or regularizer with all its parameters; its texts have been checked to be names and rationals."""
    said = [
        f"{key} {_words(value) if isinstance(value, dict) else value}"
        for key, value in sorted(table.items())
        if key not in ("kind", "terms", "summands")
    ]
    said += [
        f"{term['loss']} of weight {term['weight']}, margin {term['margin']}, sign {term['sign']}"
        for term in table.get("terms", ())
    ]
    said += [_words(summand) for summand in table.get("summands", ())]
    return f"{table['kind']} ({'; '.join(said)})" if said else str(table["kind"])


CONES = {
    "psd": "positive semidefinite",
    "block-diagonal": "block-diagonal positive semidefinite",
    "diagonal": "nonnegative diagonal",
}


def in_words(table: dict[str, Any]) -> str:
    """The problem of a file that has been proven, with all its parameters."""
    return (
        f"minimise {_words(table['risk'])} + {_words(table['regularizer'])} over "
        f"{CONES[table['cone']]} metrics, with "
        f"{'a' if table['linear'] else 'no'} linear term and the constant {Fraction(table.get('constant', '0'))}"
    )


def sizes(problem: kernel.Problem) -> dict[str, int]:
    """What there is of everything."""
    points = sum(len(array) for name, array in problem.arrays.items() if name.endswith("points"))
    own = sum(len(array) for name, array in problem.arrays.items() if name.endswith("queries"))
    found = Counter({"features": problem.cone.d, "points": points} | ({"points of queries": own} if own else {}))
    for risk in problem.risk.risks if isinstance(problem.risk, kernel.SumRisk) else [problem.risk]:
        if isinstance(risk, kernel.ListRisk):
            found.update({"queries": len(risk), "pairs": sum((risk.p * risk.n).tolist())})
        else:
            found.update({"triplets" if risk.triplets else "pairs": len(risk)})
    return dict(found)


def verify(*paths: Any, max_bytes: int = MAX_BYTES, max_work: float = MAX_WORK) -> Verdict:
    """Prove bounds from a certificate, a file or its parts, and compare them with those it claims.

    Parameters
    ----------
    *paths : path
        A file as ``docs/certificate-format.md`` describes it; or all parts of a certificate, of which one at a time is
        held in memory.
    max_bytes : int
        No file is read that is larger, packed or unpacked.
    max_work : float
        No file is proven that takes more operations, each about a nanosecond of one core.

    Returns
    -------
    Verdict
        The bounds that were proved, and whether they are those that the file claims. Of parts its reason says which
        rows are in none of them or in two.

    Raises
    ------
    CertificateError
        If a file is damaged, malformed, too large, or its arrays have other hashes than it says; if files are no parts
        of one certificate; or if this machine does not compute as the proof assumes.
    """
    return judge((read(Path(path), max_bytes) for path in paths), max_work)


def judge(files: Iterable[kernel.Contents], max_work: float = MAX_WORK) -> Verdict:
    """:func:`verify` of the contents of files, as :func:`read` returns them."""
    start, titles = time.perf_counter(), []

    def titled() -> Iterator[kernel.Contents]:
        for document, arrays in files:
            titles.append(title := document["title"])
            if not isinstance(title, str) or len(title) > 500 or not title.isprintable():
                raise CertificateError("title must be a line of at most 500 letters")
            yield document, arrays

    with refusals("the problem"):
        return as_verdict(prove(titled(), max_work), titles[0], time.perf_counter() - start)


def prove(files: Iterable[kernel.Contents], max_work: float = MAX_WORK) -> kernel.Proof:
    """What the kernel proves, on a machine that computes as it assumes, within the limits."""
    arithmetic()

    def limited() -> Iterator[kernel.Contents]:
        for document, arrays in files:
            if not operations(document, arrays) <= max_work:
                raise CertificateError(f"the proof takes more than {max_work:.3g} operations (--max-work)")
            yield document, arrays

    with refusals("the problem"):
        return kernel.prove(limited())


def as_verdict(proof: kernel.Proof, title: str, seconds: float) -> Verdict:
    """A proof with what people want to know of it."""
    problem = proof.problem
    return Verdict(
        not proof.reason, proof.lower, proof.upper, proof.claimed, proof.reason, title, in_words(problem.table),
        seconds, problem.table, sizes(problem), problem.sha256,
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0: proven; 1: not proven; 2: refused."""
    parser = argparse.ArgumentParser(description="Prove the bounds of a certificate file in exact arithmetic.")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="a certificate, or all its parts")
    parser.add_argument("--max-bytes", type=int, default=MAX_BYTES)
    parser.add_argument("--max-work", type=float, default=MAX_WORK)
    said = parser.parse_args(arguments)
    try:
        verdict = verify(*said.files, max_bytes=said.max_bytes, max_work=said.max_work)
        with refusals("the verdict"):
            print(verdict, flush=True)
    except CertificateError as error:
        print(f"refused: {error}", file=sys.stderr)
        return 2
    return 0 if verdict.accepted else 1


if __name__ == "__main__":
    sys.exit(main())
