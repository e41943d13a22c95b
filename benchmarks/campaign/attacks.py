"""Attacks: containers that lie, files that are dear to check, dual points beyond the theorems, parts of other wholes.

Each takes a random generator, a description and its arrays, and returns a file, or the files of a certificate in parts.
The files of ``tests/corpus`` are one attack each: bombs, lists of many, headers and values that no reader should take.
Here bytes of them are changed.
"""

from __future__ import annotations

import bz2
import copy
import lzma
import struct
import zlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from campaign.mutations import (
    MUTATIONS,
    Arrays,
    Document,
    UnfitError,
    chosen,
    json_text,
    json_values,
)
from convexmetric.certificates import kernel
from convexmetric.certificates.dual_points import in_parts

from forgery import (  # isort: skip
    BZIP2, DEFLATED, LZMA, STORED, Contents, Member, archive, claim, deflated, noisy, npy, packed,
)  # fmt: skip

__all__ = ["ATTACKS", "CONTAINERS", "FILES", "MUST_REFUSE"]

Generator = np.random.Generator
CORPUS = Path(__file__).resolve().parents[2] / "tests" / "corpus"


def _honest(document: Document, arrays: Arrays) -> bytes:
    return archive(packed((document, arrays)))


def _risks(document: Document) -> list[tuple[Document, str]]:
    """The risks of a statement, and what the names of their arrays begin with."""
    risk = document["problem"]["risk"]
    return [(one, f"summand{at}_") for at, one in enumerate(risk["summands"])] if "summands" in risk else [(risk, "")]


# Containers -----------------------------------------------------------------------------------------------------------


def some_bytes(rng: Generator, document: Document, arrays: Arrays) -> bytes:
    """Bytes changed, cut out, repeated, or the end cut off; of the file, or of one of the corpus."""
    whole = bytearray(_honest(document, arrays))
    if rng.random() < 0.5:
        whole = bytearray(chosen(rng, sorted(CORPUS.glob("*/*.npz"))).read_bytes() or whole)
    kind, at = int(rng.integers(5)), int(rng.integers(len(whole)))
    end = at + int(rng.integers(1, 64))
    if kind == 0:
        return bytes(whole[:at])
    if kind < 4:
        whole[at:end] = (b"", whole[at:end] * 2, rng.bytes(len(whole[at:end])))[kind - 1]
        return bytes(whole)
    for place in rng.integers(0, len(whole), rng.integers(1, 20)):
        whole[place] = rng.integers(256)
    return bytes(whole)


_FIELDS = ("version", "flags", "method", "time", "date", "crc", "packed", "size", "name", "extra")
_LIES = (0, 1, 2, 7, 8, 9, 12, 14, 20, 0x41, 0x800, 99, 2**16 - 1, 2**31, 2**32 - 1)
_NAMES = (
    b"../points.npy", b"/points.npy", b"points.npy\x00.txt", b"\xff\xfe.npy", b"a/", b"points.npy/", b"POINTS.NPY",
    "p\u00f6ints.npy".encode(), b"\x1b[2J.npy", b"CERTIFICATE.JSON", b"c:\\points.npy", b"n" * 300, b"./points.npy",
)  # fmt: skip


def headers(rng: Generator, document: Document, arrays: Arrays) -> bytes:
    """Fields that lie or disagree: sizes, methods, flags, sums, offsets, counts, names, comments, 64-bit records."""
    members, lies = packed((document, arrays)), {}
    for _ in range(int(rng.integers(1, 3))):
        member, other, kind = chosen(rng, members), chosen(rng, members), int(rng.integers(9))
        where = chosen(rng, [[member.local], [member.central], [member.local, member.central]])
        member.method = DEFLATED if rng.random() < 0.3 else member.method
        if kind < 3:
            near = len(member.data) + int(rng.integers(-1, 2)), zlib.crc32(other.data)
            lie, name = int(chosen(rng, _LIES + near)), chosen(rng, (*_FIELDS, "offset", "external", "disk"))
            for said in where:
                said[name] = lie
        elif kind == 3:
            name = chosen(rng, ["disk", "here", "entries", "total", "size", "offset", "comment"])
            lies[name] = int(chosen(rng, _LIES))
        elif kind == 4:
            member.raw_name = chosen(rng, [*_NAMES, other.name.encode()])
        elif kind == 5:
            # Sizes of 64 bits, or a name in Unicode that takes the place of the other for some readers.
            size = chosen(rng, [len(member.data), len(member.data) + 1, 2**40, 0])
            unicode = struct.pack("<2HBI", 0x7075, 5 + 10, 1, zlib.crc32(member.name.encode())) + b"points.npy"
            member.extra = chosen(rng, [struct.pack("<2H2Q", 1, 16, size, size), unicode, b"\1\0", rng.bytes(24)])
            for said in where:
                said["size"] = said["packed"] = 2**32 - 1
        elif kind == 6:
            # A data descriptor after the data, as archives that are streamed have it.
            member.local |= {"flags": 8, "crc": 0, "packed": 0, "size": 0}
            check, size = zlib.crc32(member.data) ^ int(rng.integers(2)), len(member.data)
            member.packed, member.method = member.data + b"PK\7\b" + struct.pack("<3I", check, size, size), STORED
            member.central |= {"flags": 8, "packed": size}
        else:
            member.comment = chosen(rng, [b"x", b"PK\1\2" * 20, rng.bytes(300), b"\x1b[2J"])
    return archive(members, **lies)


def around(rng: Generator, document: Document, arrays: Arrays) -> bytes:
    """Two archives in one file, or data before, between and after members, with offsets that fit or do not."""
    contents = document, arrays
    members, first = packed(contents), _honest(*contents)
    name, low = chosen(rng, sorted(arrays)), claim(contents, Fraction(-1, 3), Fraction(10**20))
    with np.errstate(all="ignore"):
        doubled = document, arrays | {name: (arrays[name] * 2).astype(arrays[name].dtype)}
    second = _honest(*chosen(rng, [low, doubled]))
    junk = chosen(rng, [b"\0" * 8, b"PK\3\4", b"PK\5\6" + b"\0" * 18, b"PK\1\2" + b"\0" * 42, rng.bytes(40), second])
    kind = int(rng.integers(6))
    if kind == 0:
        return archive(members, prefix=junk)
    if kind == 1:
        return archive(members, suffix=junk, **({"comment": int(rng.integers(3))} if rng.random() < 0.3 else {}))
    if kind == 2:
        member = chosen(rng, members)
        member.packed = member.data + junk
        member.local["packed"] = member.central["packed"] = len(member.data)
        return archive(members)
    if kind == 3:
        return chosen(rng, [junk + first, first + junk, first[:-22] + junk + first[-22:], first[: len(junk)] + second])
    # Two directories, and an end, or one of 64 bits, that names the one or the other.
    start = struct.unpack("<I", second[-6:-2])[0]
    body, end = first[:-22] + second[start:-22], bytearray(first[-22:])
    at, size, count = len(first) - 22, len(second) - 22 - start, len(members)
    if kind == 4:
        end[-6:-2] = struct.pack("<I", chosen(rng, [at, start]))
        return body + bytes(end)
    wide = b"PK\6\6" + struct.pack("<Q2H2I4Q", 44, 45, 45, 0, 0, count, count, size, chosen(rng, [at, start]))
    end[-6:-2] = b"\xff" * 4 if rng.random() < 0.6 else end[-6:-2]
    return body + wide + b"PK\6\7" + struct.pack("<IQI", 0, len(body), 1) + bytes(end)


def members(rng: Generator, document: Document, arrays: Arrays) -> bytes:
    """Members twice, missing, swapped, renamed, that share bytes, in other compressions, damaged, or of odd numbers."""
    made = packed((document, arrays))
    member, other, kind = made[at := int(rng.integers(len(made)))], chosen(rng, made), int(rng.integers(8))
    if kind == 0:
        made.append(Member(member.name, other.data))
    elif kind == 1:
        del made[at]
    elif kind == 2:
        member.data, other.data = other.data, member.data
    elif kind == 3:
        member.name = str(chosen(rng, ["more.npy", "points.NPY", "certificate.json", "points", "x.npz", "__a.npy"]))
    elif kind == 4:
        method = chosen(rng, [DEFLATED, BZIP2, LZMA])
        member.method, member.packed = method, _spoilt(rng, _squeezed(method, member.data))
    elif kind == 5:
        # The entry of one names another, or one reaches over the next.
        place = sum(30 + len(one.name) + len(one.data) for one in made[: int(rng.integers(len(made)))])
        member.central["offset"] = place
    elif kind == 6:
        longer = len(member.data) + int(rng.integers(1, 200))
        for said in (member.local, member.central):
            said |= {"packed": longer, "size": longer}
    else:
        made.extend(Member(f"m{'a' * i}.npy", member.data) for i in range(int(chosen(rng, [1, 30, 70, 300]))))
    return archive(made)


def _squeezed(method: int, whole: bytes) -> bytes:
    if method == BZIP2:
        return bz2.compress(whole)
    if method == LZMA:
        stream = lzma.compress(whole, lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA1, "preset": 0}])
        return b"\x09\x04\x05\x00\x5d\x00\x00\x04\x00" + stream
    return deflated(whole)


def _spoilt(rng: Generator, whole: bytes) -> bytes:
    """As it is, cut, or with bytes changed."""
    kind, changed = int(rng.integers(3)), bytearray(whole)
    if kind == 1:
        return whole[: int(rng.integers(len(whole)))]
    for place in rng.integers(0, len(whole), rng.integers(1, 5)) if kind else ():
        changed[place] = rng.integers(256)
    return bytes(changed)


def npy_headers(rng: Generator, document: Document, arrays: Arrays) -> bytes:
    """Headers of arrays that lie about type, order and shape, or are no literals; other versions; other lengths."""
    made = packed((document, arrays))
    member = chosen(rng, made[1:])
    array, whole = arrays[member.name.removesuffix(".npy")], member.data
    huge, shape = int(chosen(rng, [2**23, 2**24 + 1, 2**31, 2**40, 2**62])), array.shape
    lies: list[Document] = [
        {"fortran_order": True}, {"descr": ">f8"}, {"descr": "|O"}, {"descr": "<U1000000000"}, {"descr": ("<f8", (2,))},
        {"shape": (*shape, 1)}, {"shape": shape[::-1]}, {"shape": (float(array.size),)}, {"more": 1},
        *({"shape": one} for one in ((huge,), (huge, 1), (0, huge), (huge, huge))),
    ]  # fmt: skip
    true = f"{{'descr': {array.dtype.str!r}, 'fortran_order': False, 'shape': {shape}, }}"
    texts = [true[:-1], true + '"""', "[" * 100000, true.replace("False", "0 == 1"), true + "\x00", " " * 70000 + true]
    kind, changed = int(rng.integers(5)), bytearray(whole)
    for place in rng.integers(0, min(len(whole), 128), rng.integers(1, 4)):
        changed[place] = rng.integers(256)
    member.data = (
        lambda: npy(array, **chosen(rng, lies)),
        lambda: npy(array, chosen(rng, texts)),
        lambda: npy(array, version=chosen(rng, [(2, 0), (3, 0), (0, 0), (1, 1), (255, 255)])),
        lambda: bytes(changed),
        lambda: chosen(rng, [whole + b"\x00", whole[:-1], whole[:64], whole[:9], b"", whole + rng.bytes(8)]),
    )[kind]()
    return archive(made)


# Work -----------------------------------------------------------------------------------------------------------------


def huge_sizes(rng: Generator, document: Document, arrays: Arrays) -> bytes:
    """Sizes that are said to be huge: of features, of lists and of queries, of rows and of bits."""
    kind, huge = int(rng.integers(3)), int(chosen(rng, [2**23, 2**24, 2**24 + 1, 2**26, 2**31, 2**39, 2**40]))
    risk, start = chosen(rng, _risks(document))
    if kind == 0:
        document["problem"]["features"] = huge
    elif kind == 1:
        # What a table of ranks or of blocks, or a slice of rows, is made for.
        document["dual"]["rows"] = [0, huge]
        if "bits" in document["dual"]:
            document["dual"]["bits"] = int(chosen(rng, [40, 41, 52, 10**6]))
    elif risk["kind"] == "rankings" and rng.random() < 0.5:
        risk["queries"] = huge
    else:
        ends = ("stops", "blocks", "itself", "codes", "terms")
        name = chosen(rng, [name for name in arrays if name.startswith(start) and name.endswith(ends)])
        arrays[name] = arrays[name].astype(np.int64)
        arrays[name].flat[-1:] = huge
    return _honest(document, arrays)


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
    "term": "loss weight margin sign low high curvature",
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


def _tables(document: Document) -> list[tuple[str, Document]]:
    """All tables of a description, with what they are."""
    problem, dual = document["problem"], document["dual"]
    risks, omega, slope = _risks(document), problem["regularizer"], dual.get("regularizer", {})
    found = [("certificate", document), ("problem", problem), ("dual", dual), ("claimed", document["claimed"])]
    found += [(risk["kind"], risk) for risk, _ in risks] + [(problem["risk"]["kind"], problem["risk"])] * 2
    found += [("term", term) for risk, _ in risks for term in risk.get("terms", [])[:3]]
    for kind, table in (("regularizer", omega), ("slope", slope), ("dual", dual)):
        found += [(kind, one) for one in (table, *table.get("summands", []))]
    return found


def other_keys(rng: Generator, document: Document, arrays: Arrays) -> bytes:
    """A key of another table, or of none, which an estimate of work may read and the kernel may pass over."""
    known = {key for keys in _KNOWN.values() for key in keys.split()} | {"points", "of_rows", "pairs", "itself", "x"}
    kind, table = chosen(rng, _tables(document))
    foreign = sorted(known - set(_KNOWN[kind].split()) - set(table))
    key = "summands" if "summands" in foreign and rng.random() < 0.4 else chosen(rng, foreign)
    table[key] = chosen(rng, _VALUES)
    return _honest(document, arrays)


def other_kinds(rng: Generator, document: Document, arrays: Arrays) -> bytes:
    """Kinds exchanged under keys of others, sums of one part or of too many."""
    problem, risk = document["problem"], chosen(rng, _risks(document))[0]
    kind, before = int(rng.integers(3)), copy.deepcopy(risk)
    if kind == 0:
        problem["risk"] = {"kind": "sum", "summands": [before] * int(chosen(rng, [1, 2, 16, 17]))}
    elif kind == 1:
        risk["kind"] = chosen(rng, [other for other in (*_KNOWN, [], None) if other != before["kind"]])
    else:
        terms = [problem["regularizer"]] * int(chosen(rng, [1, 9, 17, 10**4]))
        problem["regularizer"] = {"kind": "sum", "summands": terms}
    return _honest(document, arrays)


# Claims ---------------------------------------------------------------------------------------------------------------


def beyond(rng: Generator, document: Document, arrays: Arrays) -> bytes:
    """Dual points just beyond what a theorem allows, with the best claims that they would prove."""
    dual, start = document["dual"], chosen(rng, _risks(document))[1]
    own = dual["summands"][int(start[7:-1])] if start else dual
    one, names = (
        2 ** own.get("bits", 0),
        ("weights", "near_sums", "far_sums", "steps", "slopes", "query_weights", "near"),
    )
    kind = chosen(rng, ["share", *(name for name in names if arrays.get(start + name, np.empty(0)).size)])
    if kind == "share":
        dual["share"] = str(chosen(rng, [Fraction(10**15 + 1, 10**15), 2, -1, Fraction(-1, 10**30), Fraction(1, 2), 0]))
    elif kind == "near":
        # Indices more than there are, or the same one twice; and a query whose weight is negative.
        name = start + chosen(rng, [name for name in ("far", "near", "itself", "anchors") if start + name in arrays])
        array = arrays[name].astype(np.int64)
        array.flat[rng.integers(array.size)] = chosen(
            rng, [array.flat[0], array.max() + 1, len(arrays[start + "near"])]
        )
        arrays[name] = array
        if rng.random() < 0.5:
            arrays[start + "query_weights"] = np.ones(arrays[start + "near_stops"].size)
            arrays[start + "query_weights"][0] = chosen(rng, [-1.0, -5e-324, -1e300, -0.0])
    elif kind == "weights" and rng.random() < 0.5:
        # All weights, or one row more, so that their sum is above one.
        steps, weights = arrays[start + "steps"], arrays[start + "weights"]
        if rng.random() < 0.5:
            arrays[start + "weights"] = np.minimum(weights.astype(np.int64) * 2, one)
        else:
            arrays[start + "steps"], arrays[start + "weights"] = (np.concatenate([a, a[:1]]) for a in (steps, weights))
    else:
        arrays[start + kind] = _beyond_ends(rng, arrays[start + kind].copy(), one)
    if rng.random() < 0.5:
        low, high = (Fraction(document["claimed"][end]) for end in ("lower", "upper"))
        gap = abs(high - low) * Fraction(float(rng.random())) + abs(high) / 10**12
        document, arrays = claim((document, arrays), kernel.rounded(low + gap, 1, 30), high)
    return _honest(document, arrays)


def _beyond_ends(rng: Generator, array: np.ndarray, one: int) -> np.ndarray:
    """One entry larger by one or by much; of floats an ulp or more beyond zero, one, or where it stands."""
    at = int(rng.integers(array.size))
    if array.dtype.kind == "f":
        value = float(chosen(rng, [0.0, 1.0, array.flat[at], array.max(), array.min()]))
        array.flat[at] = chosen(rng, [np.nextafter(value, np.inf), np.nextafter(value, -np.inf), value * 1.5, -value])
    else:
        ends = np.iinfo(array.dtype)
        more = int(array.flat[at]) + int(chosen(rng, [1, 1, 2, one, -1, -2, -one]))
        array.flat[at] = min(max(more, ends.min), ends.max)
    return array


# Parts ----------------------------------------------------------------------------------------------------------------


def cut(rng: Generator, document: Document, arrays: Arrays) -> list[Contents]:
    """The same certificate in two to four parts; in one where it has but one row."""
    try:
        with np.errstate(all="ignore"):
            risk = kernel.Problem(document, kernel.Arrays(arrays)).risk
    except kernel.CertificateError:
        raise UnfitError from None
    common = {name: array for name, array in arrays.items() if not kernel.files.of_rows(name)}
    found = {name: array for name, array in arrays.items() if kernel.files.of_rows(name)}
    cuts = sorted({0, len(risk), *rng.integers(0, len(risk) + 1, int(rng.integers(1, 4))).tolist()})
    return [
        (copy.deepcopy(document) | {"dual": copy.deepcopy(document["dual"]) | {"rows": rows}}, common | own)
        for rows, own in in_parts(risk, found, cuts)
    ]


def parts(rng: Generator, document: Document, arrays: Arrays) -> list[bytes]:
    """A certificate in parts, or in some that do not belong together: of other claims, rows, numbers or statements."""
    made = cut(rng, document, arrays)
    at, other, kind = int(rng.integers(len(made))), int(rng.integers(len(made))), int(rng.integers(10))
    one = made[at]
    if kind == 1 and len(made) > 1:
        del made[at]
    elif kind == 2:
        made.append(one)
    elif kind == 3:
        # Rows begin or end elsewhere, or parts exchange theirs.
        dual, its = one[0]["dual"], made[other][0]["dual"]
        dual["rows"], its["rows"] = its["rows"], dual["rows"]
        if rng.random() < 0.5:
            dual["rows"] = [end + int(rng.integers(-1, 2)) for end in dual["rows"]]
    elif kind == 4:
        # Claims that are exchanged or a hair better, in all parts or in one.
        low, high = (Fraction(document["claimed"][end]) for end in ("lower", "upper"))
        better = (high, low) if rng.random() < 0.3 else (low + abs(high - low) * Fraction(float(rng.random())), high)
        changed = range(len(made)) if rng.random() < 0.6 else [at]
        made = [claim(part, *better) if number in changed else part for number, part in enumerate(made)]
    elif kind == 5:
        noise = noisy(rng, one, 10.0 ** rng.uniform(-16, 1))[1]
        made[at] = one[0], {name: one[1][name] if not kernel.files.of_rows(name) else a for name, a in noise.items()}
    elif kind == 6:
        one[0]["dual"]["share"] = str(chosen(rng, ["0", "1/2", "1"]))
    elif kind == 7:
        name = chosen(rng, [name for name in ("factor", "weights_of_metric", "points") if name in one[1]])
        one[1][name] = one[1][name] * chosen(rng, [0.0, 1.0 + 2.0**-52, 2.0])
    elif kind == 8:
        MUTATIONS[chosen(rng, MUTATIONS)][0](rng, *one)
    elif kind == 9:
        one[0]["title"] = "another"
    wholes = [_honest(*part) for part in made]
    return [wholes[number] for number in rng.permutation(len(wholes))]


Attack = Callable[[Generator, Document, Arrays], bytes | list[bytes]]
FILES: dict[str, tuple[Attack, float]] = {
    "bytes": (some_bytes, 1.0),
    "headers of members": (headers, 2.0),
    "members": (members, 1.5),
    "headers of arrays": (npy_headers, 1.5),
    "JSON: values": (json_values, 1.5),
    "JSON: text": (json_text, 1.0),
    "parts": (parts, 2.0),
    "beyond the theorems": (beyond, 4.0),
}
"""Mutations of files, and how frequent they are."""
ATTACKS: dict[str, tuple[Attack, float]] = {
    "attack: around and between members": (around, 2.5),
    "attack: keys of other tables": (other_keys, 3.0),
    "attack: other kinds": (other_kinds, 1.5),
    "attack: huge sizes": (huge_sizes, 1.5),
}
"""Attacks on those who read files, which the second checker does not limit."""
#: Those of the container, which readers may mind or not; and of which no file may come to a verdict.
CONTAINERS = ("bytes", "headers of members", "members", "headers of arrays", "JSON: text")
CONTAINERS += ("attack: around and between members",)
MUST_REFUSE = ("attack: keys of other tables",)
