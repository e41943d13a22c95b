"""Attacks on the checker: files that are dear to check, that two readers read differently, or that claim too much.

Each takes a random generator and a problem and returns a file, or the files of a certificate in parts. One that does
not fit the problem raises :class:`UnfitError`, and another is drawn.
"""

from __future__ import annotations

import bz2
import copy
import functools
import json
import lzma
import struct
import zlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from campaign.parts import SETS, cut
from campaign.problems import Problem
from convexmetric.certificates import kernel

from forgery import BZIP2, DEFLATED, LZMA, STORED, Contents, Member, archive, claim, npy, packed  # isort: skip

__all__ = ["ATTACKS", "MUST_REFUSE", "UNJUDGED", "UnfitError"]

Generator = np.random.Generator
Files = bytes | list[bytes]


#: Queries and points of a file whose lists are long.
MANY = 50000


class UnfitError(Exception):
    """An attack on something that a problem does not have."""


def _chosen(rng: Generator, options: Any) -> Any:
    options = list(options)
    return options[int(rng.integers(len(options)))]


def _opened(problem: Problem) -> Contents:
    return copy.deepcopy(problem.contents[0]), dict(problem.contents[1])


def _honest(contents: Contents) -> bytes:
    return archive(packed(contents))


def _risks(document: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """The risks of a statement, and what the names of their arrays begin with."""
    risk = document["problem"]["risk"]
    if risk["kind"] != "sum":
        return [(risk, "")]
    return [(one, f"summand{number}_") for number, one in enumerate(risk["summands"])]


# Work -----------------------------------------------------------------------------------------------------------------

_WITH_K = ("precision", "knn", "ndcg", "ndcg-log2")


def many_queries(rng: Generator, count: int, points: int, far: bool = True) -> Contents:
    """Rankings of one feature with so many queries, of which each has one positive, and all others far.

    Without ``far`` there are no sums for these, and nothing is proven.
    """
    risk = {"kind": "rankings", "measure": "auc", "C": "1"}
    document = _minimal(risk, {"kind": "sums", "bits": 1})
    arrays = {
        "points": rng.standard_normal((points, 1)), "weights_of_metric": np.ones(1),
        "anchors": rng.integers(0, points, count), "near": rng.integers(0, points, count),
        "near_stops": np.arange(1, count + 1, dtype=np.int32), "itself": np.full(count, points, np.int32),
        "near_sums": np.zeros(count, np.int64), "far_sums": np.zeros(count * (points - 1) if far else 1, np.uint8),
    }  # fmt: skip
    return document, arrays


def _minimal(risk: dict[str, Any], dual: dict[str, Any]) -> dict[str, Any]:
    """The description of a problem of one feature, which claims next to nothing."""
    return {
        "format": kernel.FORMAT, "version": kernel.VERSION, "title": "many",
        "problem": {
            "cone": "diagonal", "features": 1, "linear": False, "risk": risk,
            "regularizer": {"kind": "trace", "weight": "1"},
        },
        "dual": dual | {"share": "0", "regularizer": {}}, "claimed": {"lower": "0", "upper": "1" + "0" * 30},
    }  # fmt: skip


def many_places(rng: Generator, problem: Problem) -> bytes:
    """Measures of many places: k of a million and more, printed for the few positives that there are, or cut."""
    document, arrays = _opened(problem)
    risks = [risk for risk, _ in _risks(document) if risk["kind"] == "rankings"]
    if not risks or rng.random() < 0.5:
        document, arrays = many_queries(rng, int(_chosen(rng, [100, 1000])), 4)
        risks, kept = [document["problem"]["risk"]], len(arrays["near_stops"])
        document["dual"]["kind"] = "rankings"
        arrays |= {"steps": np.zeros((1, kept), np.uint8), "weights": np.ones((1, 1), np.uint8)}
        arrays["groups"] = np.zeros(kept, np.uint8)
    for risk in risks:
        risk["measure"] = _chosen(rng, _WITH_K)
        risk["k"] = _chosen(rng, [10**6, 10**6, 10**6 - 1, 10**6 + 1, 2**24, 2**39, 10**5])
        risk.pop("short", None)
        if rng.random() < 0.8:
            risk["short"] = _chosen(rng, ["printed"] * 6 + ["cut", "", None])
    return _honest((document, arrays))


#: Keys that tables of a kind may have. Any other is to be refused.
_KNOWN = {
    "certificate": "format version title problem dual claimed sha256",
    "problem": "cone features risk regularizer linear constant",
    "rankings": "kind measure C k short queries",
    "pairs of lists": "kind loss weight margin",
    "listed comparisons": "kind terms",
    "all pairs": "kind terms",
    "choices": "kind weight temperature",
    "listed choices": "kind weight temperature candidates chosen",
    "worst": "kind share of",
    "sum": "kind summands",
    "term": "loss weight margin sign",
    "regularizer": "kind weight over_root_of prior diagonal of limit summands",
    "dual": "kind bits share regularizer rows summands",
    "slope": "multiplier lack summands",
    "claimed": "lower upper",
}
_VALUES: tuple[Any, ...] = (
    [],
    {},
    0,
    1,
    True,
    None,
    "1",
    [[]],
    [{}],
    [{"kind": "zero"}],
    [0, 1],
    2**39,
    "hinge",
    "auc",
)


def _tables(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """All tables of a description, with what they are."""
    problem, dual = document["problem"], document["dual"]
    risks, omega, slope = _risks(document), problem["regularizer"], dual.get("regularizer", {})
    found = [("certificate", document), ("problem", problem), ("dual", dual), ("claimed", document["claimed"])]
    found += [(risk["kind"], risk) for risk, _ in risks] + [(problem["risk"]["kind"], problem["risk"])] * 2
    found += [("term", term) for risk, _ in risks for term in risk.get("terms", [])[:3]]
    found += [("regularizer", omega)] + [("regularizer", term) for term in omega.get("summands", [])]
    found += [("slope", slope)] + [("slope", own) for own in slope.get("summands", [])]
    return found + [("dual", own) for own in dual.get("summands", [])]


def other_keys(rng: Generator, problem: Problem) -> bytes:
    """A key of another table, or of none, which an estimate of work may read and the kernel may pass over."""
    document, arrays = _opened(problem)
    if rng.random() < 0.1:
        # Then lists that are read before the key is refused may be long.
        document, arrays = many_queries(rng, MANY, MANY, far=False)
        document["problem"]["risk"]["summands"] = _chosen(rng, [[], [{}]])
        return _honest((document, arrays))
    known = {key for keys in _KNOWN.values() for key in keys.split()} | {"points", "of_rows", "pairs", "itself", "x"}
    kind, table = _chosen(rng, _tables(document))
    foreign = sorted(known - set(_KNOWN[kind].split()) - set(table))
    key = "summands" if "summands" in foreign and rng.random() < 0.4 else _chosen(rng, foreign)
    table[key] = _chosen(rng, _VALUES)
    return _honest((document, arrays))


def other_kinds(rng: Generator, problem: Problem) -> bytes:
    """Kinds exchanged under keys of others, sums of one part or of too many."""
    document, arrays = _opened(problem)
    risk = _chosen(rng, _risks(document))[0]
    before = copy.deepcopy(risk)
    if rng.random() < 0.3:
        document["problem"]["risk"] = {"kind": "sum", "summands": [before] * int(_chosen(rng, [1, 2, 16, 17]))}
    elif rng.random() < 0.5:
        risk["kind"] = _chosen(rng, [kind for kind in (*_KNOWN, [], None) if kind != before["kind"]])
    else:
        omega = document["problem"]["regularizer"]
        document["problem"]["regularizer"] = {"kind": "sum", "summands": [omega] * int(_chosen(rng, [1, 9, 17, 10**4]))}
    return _honest((document, arrays))


def all_pairs(rng: Generator, problem: Problem) -> bytes:
    """All pairs of many points: a short file with many comparisons."""
    count = int(_chosen(rng, [3000, 5000, 20000, 60000]))
    term = {"loss": _chosen(rng, ["hinge", "squared", "logistic"]), "weight": "1", "margin": "1", "sign": -1}
    document = _minimal({"kind": "all pairs", "terms": [term, term | {"sign": 1}]}, {"kind": "slopes"})
    points = rng.standard_normal((count, 1))
    arrays = {"points": points, "codes": rng.integers(0, 3, count), "weights_of_metric": np.ones(1)}
    return _honest((document, arrays | {"slopes": np.zeros(int(rng.integers(2)))}))


# Archives -------------------------------------------------------------------------------------------------------------


def _another(rng: Generator, contents: Contents) -> Contents:
    """Other claims, or other numbers, with honest hashes."""
    document, arrays = contents
    name = _chosen(rng, sorted(arrays))
    if rng.random() < 0.5 or not arrays[name].size:
        return claim(contents, Fraction(-1, 3), Fraction(10**20))
    return document, arrays | {name: (arrays[name] * 2).astype(arrays[name].dtype)}


def two_archives(rng: Generator, problem: Problem) -> bytes:
    """Two archives in one file: one after the other, in its comment or before its directory, as it is or with lies."""
    first, second = _honest(problem.contents), _honest(_another(rng, problem.contents))
    if rng.random() < 0.5:
        first, second = second, first
    kind = int(rng.integers(6))
    if kind == 0:
        return first + second
    if kind == 1:
        # The offsets of the second are those in the whole.
        return archive(packed(_another(rng, problem.contents)), prefix=first)
    if kind == 2:
        return archive(packed(problem.contents), suffix=second)
    if kind == 3:
        # An end in the comment, whose own comment reaches to the end of the file, or does not.
        end = bytearray(second[-22:])
        end[-2:] = struct.pack("<H", _chosen(rng, [0, 22, 1]))
        return archive(packed(problem.contents), suffix=bytes(end) + b"\0" * int(rng.integers(0, 30)))
    if kind == 4:
        # Two directories, and an end that names the one or the other.
        start = struct.unpack("<I", second[-6:-2])[0]
        directory = second[start:-22]
        whole = bytearray(first[:-22] + directory + first[-22:])
        if rng.random() < 0.5:
            whole[-6:-2] = struct.pack("<I", len(whole) - 22 - len(directory))
        return bytes(whole)
    return first[: int(rng.integers(len(first)))] + second


def overlapping(rng: Generator, problem: Problem) -> bytes:
    """Members that share bytes, several entries of one member, a member within the data of another, names twice."""
    members = packed(problem.contents)
    kind, at = int(rng.integers(4)), int(rng.integers(1, len(members)))
    offsets, end = [], 0
    for member in members:
        offsets.append(end)
        end += 30 + len(member.name.encode()) + len(member.data)
    other = int(rng.integers(len(members)))
    if kind == 0:
        members[at].central["offset"] = offsets[other]
    elif kind == 1:
        members.append(Member(members[at].name, members[other].data))
    elif kind == 2:
        # The data of a member are a whole archive's member.
        inner = archive([Member(members[other].name, members[at].data)])
        members[at].data = members[at].data + inner
        members[other].central["offset"] = offsets[at] + 30 + len(members[at].name) + len(members[at].data) - len(inner)
    else:
        # One reaches over the next.
        for said in (members[at - 1].local, members[at - 1].central):
            said["packed"] = said["size"] = len(members[at - 1].data) + int(rng.integers(1, 200))
    return archive(members)


def between(rng: Generator, problem: Problem) -> bytes:
    """Data before the archive, between its members, after the directory or the end, with offsets that fit or do not."""
    members, kind = packed(problem.contents), int(rng.integers(4))
    junk = _chosen(rng, [b"\0" * 8, b"PK\3\4", b"PK\5\6" + b"\0" * 18, b"PK\1\2" + b"\0" * 42, rng.bytes(40)])
    whole = _honest(problem.contents)
    if kind == 0:
        return archive(members, prefix=junk) if rng.random() < 0.5 else junk + whole
    if kind == 1:
        return whole[:-22] + junk + whole[-22:]
    if kind == 2:
        return whole + junk
    member = _chosen(rng, members)
    # Between members, as what no entry speaks of.
    member.packed = member.data + junk
    member.local["packed"] = member.central["packed"] = len(member.data)
    return archive(members)


def disagreeing(rng: Generator, problem: Problem) -> bytes:
    """Local headers that disagree with the directory: names, sizes, methods, sums, flags; sums wrong in one place."""
    members = packed(problem.contents)
    for _ in range(int(rng.integers(1, 3))):
        member, other = _chosen(rng, members), _chosen(rng, members)
        where = _chosen(rng, [member.local, member.local, member.central])
        kind = int(rng.integers(6))
        if kind == 0:
            where["crc"] = _chosen(rng, [0, 1, zlib.crc32(other.data), zlib.crc32(member.data) ^ 1])
        elif kind == 1:
            name = _chosen(rng, ["packed", "size"])
            where[name] = _chosen(rng, [0, len(member.data) - 1, len(member.data) + 1, 2**32 - 1])
        elif kind == 2:
            where["method"] = _chosen(rng, [STORED, DEFLATED, BZIP2, LZMA, 99])
        elif kind == 3:
            where["flags"] = _chosen(rng, [1, 8, 0x20, 0x40, 0x800, 0x2000])
        elif kind == 4:
            # A data descriptor after the data, as archives that are streamed have it.
            member.local |= {"flags": 8, "crc": 0, "packed": 0, "size": 0}
            member.central["flags"] = 8
            check = zlib.crc32(member.data) ^ int(rng.integers(2))
            member.packed = member.data + b"PK\x07\x08" + struct.pack("<3I", check, len(member.data), len(member.data))
            member.central["packed"] = len(member.data)
        else:
            member.raw_name = _chosen(
                rng, [member.name.encode() + b"\0.txt", other.name.encode() + b"\0x", member.name.upper().encode(),
                      b"./" + member.name.encode(), member.name.replace(".", "\\").encode()],
            )  # fmt: skip
    return archive(members)


def records_of_64_bits(rng: Generator, problem: Problem) -> bytes:
    """Sizes and places of 64 bits, in members and at the end, that say the same or another thing; names in extras."""
    members, whole = packed(problem.contents), _honest(problem.contents)
    at, kind = int(rng.integers(len(members))), int(rng.integers(4))
    member = members[at]
    if kind == 0:
        size = _chosen(rng, [len(member.data), len(member.data) + 1, 2**40, 0])
        member.extra = struct.pack("<2H2Q", 1, 16, size, size)
        for where in _chosen(rng, [[member.central], [member.local], [member.central, member.local]]):
            where["size"] = where["packed"] = 2**32 - 1
        return archive(members)
    if kind == 1:
        # A name in Unicode, which takes the place of the other for some readers.
        name = _chosen(rng, [member.name.encode(), b"points.npy", b"other.npy"])
        member.extra = struct.pack("<2HBI", 0x7075, 5 + len(name), 1, zlib.crc32(member.name.encode())) + name
        return archive(members)
    start = struct.unpack("<I", whole[-6:-2])[0]
    other = _honest(_another(rng, problem.contents))
    place = struct.unpack("<I", other[-6:-2])[0]
    body = other + whole[:-22] if kind == 2 else whole[:-22]
    start = place if kind == 2 else start
    size = len(other) - 22 - place if kind == 2 else len(whole) - 22 - start
    count = len(members)
    end = b"PK\6\6" + struct.pack("<Q2H2I4Q", 44, 45, 45, 0, 0, count, count, size, start)
    locator = b"PK\6\7" + struct.pack("<IQI", 0, len(body), 1)
    last = bytearray(whole[-22:])
    if rng.random() < 0.6:
        last[-6:-2] = b"\xff" * 4
    if rng.random() < 0.3:
        last[8:12] = b"\xff" * 4
    return body + end + locator + bytes(last)


def comments(rng: Generator, problem: Problem) -> bytes:
    """Comments of members and of the archive, of any length, true or not."""
    members = packed(problem.contents)
    if rng.random() < 0.6:
        _chosen(rng, members).comment = _chosen(rng, [b"x", b"PK\1\2" * 20, rng.bytes(300), b"\x1b[2J"])
    suffix = _chosen(rng, [b"", b"hello", b"PK\5\6", rng.bytes(100), b"\0" * 65535])
    lies = {"comment": int(_chosen(rng, [0, 1, 65535]))} if rng.random() < 0.4 else {}
    return archive(members, suffix=suffix, **lies)


_BOMB = 2**26


@functools.cache
def _bomb(method: int, header: bytes) -> bytes:
    """64 MiB of zeros after a header, packed."""
    whole = header + bytes(_BOMB - len(header))
    if method == DEFLATED:
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        return packer.compress(whole) + packer.flush()
    if method == BZIP2:
        return bz2.compress(whole)
    if method == LZMA:
        stream = lzma.compress(whole, lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA1, "preset": 0}])
        return b"\x09\x04\x05\x00\x5d\x00\x00\x04\x00" + stream
    return whole


def bombs(rng: Generator, problem: Problem) -> bytes:
    """Members that unpack to 64 MiB, one or many, by every method, of sizes that are true or not."""
    members, document = packed(problem.contents), problem.contents[0]
    method = _chosen(rng, [DEFLATED, DEFLATED, DEFLATED, BZIP2, LZMA])
    kind = int(rng.integers(3))
    # A header of one dimension, of bytes: every number takes eight when it is widened.
    header = npy(np.zeros(0, np.uint8), f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({_BOMB - 128},), }}")
    header = header[:128].ljust(128)
    at = int(rng.integers(len(members)))
    name = members[at].name if kind == 0 else "more.npy"
    data = _bomb(method, header)
    size = _chosen(rng, [_BOMB, _BOMB, len(members[at].data), 2**20, 2**32 - 1, 1])
    says = {"size": size, "crc": zlib.crc32(header + bytes(_BOMB - 128)), "method": method}
    bomb = Member(name, b"", method, packed=data, local=dict(says), central=dict(says))
    if kind == 0:
        members[at] = bomb
    else:
        several = range(int(_chosen(rng, [1, 1, 8, 40])) if kind == 2 else 1)
        made = [Member(f"m{'a' * number}.npy", b"", method, data, dict(says), dict(says)) for number in several]
        hashes = {**{name: kernel.digest(a) for name, a in problem.contents[1].items()}}
        hashes |= dict.fromkeys((one.name.removesuffix(".npy") for one in made), "0" * 64)
        members[0].data = json.dumps(document | {"sha256": hashes}).encode()
        members += made
    return archive(members)


def huge_sizes(rng: Generator, problem: Problem) -> bytes:
    """Sizes that are said to be huge: of arrays, of members, of features, of lists and of queries."""
    document, arrays = _opened(problem)
    kind, huge = int(rng.integers(4)), int(_chosen(rng, [2**23, 2**24, 2**24 + 1, 2**26, 2**31, 2**39, 2**40]))
    if kind == 0:
        document["problem"]["features"] = huge
    elif kind == 1:
        risk, start = _chosen(rng, _risks(document))
        if risk["kind"] == "rankings" and rng.random() < 0.5:
            risk["queries"] = huge
        stops = [name for name in arrays if name.startswith(start) and name.endswith(("stops", "blocks", "itself"))]
        if stops:
            name = _chosen(rng, stops)
            arrays[name] = arrays[name].astype(np.int64)
            arrays[name].flat[-1] = huge
        elif "codes" in arrays or "terms" in arrays:
            name = "codes" if "codes" in arrays else "terms"
            arrays[name] = np.full(arrays[name].shape, huge)
    elif kind == 2:
        members = packed(problem.contents)
        at = int(rng.integers(1, len(members)))
        array = arrays[members[at].name.removesuffix(".npy")]
        shape = _chosen(rng, [(huge,), (huge, 1), (0, huge), (huge, 0), (1, huge, 1), (huge, huge)])
        members[at].data = npy(array, shape=shape)
        return archive(members)
    else:
        # What a table of ranks or of blocks, or a slice of rows, is made for.
        document["dual"]["rows"] = [0, huge]
        if "bits" in document["dual"]:
            document["dual"]["bits"] = int(_chosen(rng, [40, 41, 52, 10**6]))
    return _honest((document, arrays))


# Claims ---------------------------------------------------------------------------------------------------------------


def beyond(rng: Generator, problem: Problem) -> bytes:
    """Dual points just beyond what a theorem allows, with the best claims that they would prove."""
    document, arrays = _opened(problem)
    dual = document["dual"]
    start = _chosen(rng, _risks(document))[1]
    own = dual["summands"][int(start[7:-1])] if start else dual
    one = 2 ** own.get("bits", 0)
    options: list[Callable[[], Any]] = [
        lambda: dual.update(share=str(_chosen(rng, [Fraction(10**15 + 1, 10**15), 2, 10**6, -1, Fraction(-1, 10**30)])))
    ]

    def larger(name: str, by: Any) -> Callable[[], Any]:
        def change() -> None:
            array = arrays[start + name].copy()
            by(array, int(rng.integers(array.size)))
            arrays[start + name] = array

        return change

    def add(most: int) -> Any:
        def change(array: np.ndarray, at: int) -> None:
            moved = int(array.flat[at]) + int(_chosen(rng, [1, 1, 2, most])) * int(_chosen(rng, [1, 1, -1]))
            ends = np.iinfo(array.dtype)
            array.flat[at] = min(max(moved, ends.min), ends.max)

        return change

    def at_ends(array: np.ndarray, at: int) -> None:
        """An ulp or more beyond zero, one, or where it stands, on either side."""
        value = float(_chosen(rng, [0.0, 1.0, array.flat[at], array.max(), array.min()]))
        array.flat[at] = _chosen(rng, [np.nextafter(value, np.inf), np.nextafter(value, -np.inf), value * 1.5, -value])

    for name, change in (
        ("weights", add(one)), ("near_sums", add(one)), ("far_sums", add(one)), ("steps", add(5)), ("slopes", at_ends),
    ):  # fmt: skip
        if arrays.get(start + name, np.empty(0)).size:
            whole = arrays[start + name].dtype.kind != "f" and name == "slopes"
            options += [larger(name, add(one) if whole else change)] * 3
    if start + "weights" in arrays and arrays[start + "weights"].size:

        def heavier() -> None:
            """All weights, or one row more, so that their sum is above one."""
            steps, weights = arrays[start + "steps"], arrays[start + "weights"]
            if rng.random() < 0.5:
                arrays[start + "weights"] = np.minimum(weights.astype(np.int64) * 2, one)
            else:
                arrays[start + "steps"] = np.concatenate([steps, steps[:1]])
                arrays[start + "weights"] = np.concatenate([weights, weights[:1]])

        options += [heavier] * 3
    if start + "near" in arrays:

        def negative() -> None:
            """Weights of queries, of which one is negative."""
            weights = arrays.get(start + "query_weights", np.ones(arrays[start + "near_stops"].size)).copy()
            weights[int(rng.integers(weights.size))] = _chosen(rng, [-1.0, -5e-324, -1e300, -0.0])
            arrays[start + "query_weights"] = weights

        def more_far() -> None:
            """Negatives more than there are, or the same one twice, or positives among them."""
            name = _chosen(rng, [name for name in ("far", "near", "itself", "anchors") if start + name in arrays])
            array = arrays[start + name].astype(np.int64)
            values = [array.flat[0], array.max() + 1, len(arrays[start + "near"])]
            array.flat[int(rng.integers(array.size))] = _chosen(rng, values)
            arrays[start + name] = array

        options += [negative, more_far]
    for _ in range(int(rng.integers(1, 3))):
        _chosen(rng, options)()
    return _honest(_better(rng, (document, arrays)))


def _better(rng: Generator, contents: Contents) -> Contents:
    """As it is, or with claims that are better by little."""
    if rng.random() < 0.5:
        return contents
    low, high = (Fraction(contents[0]["claimed"][end]) for end in ("lower", "upper"))
    gap = abs(high - low) * Fraction(float(rng.random())) + abs(high) / 10**12
    return claim(contents, kernel.rounded(low + gap, 1, 30), high)


def parts(rng: Generator, problem: Problem) -> list[bytes]:
    """A certificate in parts that do not belong together: of other claims, rows, dual points, metrics or statements."""
    try:
        made = cut(rng, problem.contents)
    except kernel.CertificateError:
        raise UnfitError from None
    if rng.random() < 0.6:
        made = SETS[_chosen(rng, SETS)](rng, made)
    else:
        at = int(rng.integers(len(made)))
        document, arrays = copy.deepcopy(made[at][0]), dict(made[at][1])
        kind = int(rng.integers(4))
        if kind == 0:
            document["dual"]["share"] = str(_chosen(rng, ["0", "1/2", "1"]))
        elif kind == 1:
            name = _chosen(rng, [name for name in ("factor", "weights_of_metric", "points") if name in arrays] or [""])
            if name:
                arrays[name] = arrays[name] * _chosen(rng, [0.0, 1.0 + 2.0**-52, 2.0])
        elif kind == 2:
            document["claimed"]["lower"] = document["claimed"]["upper"]
        else:
            document["title"] = "another"
        made[at] = document, arrays
    wholes = [_honest(part) for part in made]
    if not wholes:
        raise UnfitError
    rng.shuffle(wholes)  # type: ignore[arg-type]
    return wholes


ATTACKS: dict[str, tuple[Callable[[Generator, Problem], Files], float]] = {
    "attack: many places": (many_places, 2.0),
    "attack: keys of other tables": (other_keys, 3.0),
    "attack: other kinds": (other_kinds, 1.5),
    "attack: all pairs of many points": (all_pairs, 0.5),
    "attack: two archives": (two_archives, 1.5),
    "attack: members that overlap": (overlapping, 1.5),
    "attack: data between members": (between, 1.0),
    "attack: local headers": (disagreeing, 1.5),
    "attack: 64-bit records": (records_of_64_bits, 1.5),
    "attack: comments": (comments, 0.5),
    "attack: bombs": (bombs, 1.0),
    "attack: huge sizes": (huge_sizes, 1.5),
    "attack: beyond the theorems": (beyond, 4.0),
    "attack: parts": (parts, 2.0),
}
"""Attacks, and how frequent they are."""
#: Those of which no file may come to a verdict.
MUST_REFUSE = ("attack: keys of other tables",)
#: Those whose statements are too large for fractions.
UNJUDGED = ("attack: many places", "attack: all pairs of many points")
