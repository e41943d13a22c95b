"""Makes the files of this folder, and the table in README.md: python tests/corpus/make.py

Every file is a small certificate written by hand, whose bounds can be checked on paper, with one thing done to it:
``attacks.toml`` says which, but for the files whose bytes are made here.
"""

from __future__ import annotations

import bz2
import copy
import lzma
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from forgery import BZIP2, DEFLATED, LZMA, Contents, Member, archive, npy, packed

HERE = Path(__file__).resolve().parent
FOLDERS = {"accepted": 0, "not_proven": 1, "refused": 2}
ANSI = "\x1b[2K\x1b[1A\x1b[32maccepted\x1b[0m"
TABLES = tomllib.loads((HERE / "attacks.toml").read_text())
HONEST = TABLES["unwritten"] | TABLES["accepted"]
#: Keys of a table that are no part of a certificate.
ABOUT = ("what", "of", "without", "deflated")


# Certificates by tables -----------------------------------------------------------------------------------------------


def contents(of: str, without: Iterable[str] = (), **changes: Any) -> Contents:
    """An honest certificate with something taken away and something changed; ``arrays`` are by name."""
    return _contents(_changed(_tree(HONEST[of]), without, changes))


def _tree(table: dict[str, Any]) -> dict[str, Any]:
    """The description of a certificate, and ``arrays`` by name, from a table."""
    changes = {key: value for key, value in table.items() if key not in ABOUT}
    return _changed(_tree(HONEST[table["of"]]) if "of" in table else {}, table.get("without", ()), changes)


def _changed(tree: dict[str, Any], without: Iterable[str], changes: dict[str, Any]) -> dict[str, Any]:
    tree = copy.deepcopy(tree)
    for path in without:
        *within, last = path.split(".")
        del reduce(lambda at, key: at[int(key) if isinstance(at, list) else key], within, tree)[last]
    return _merged(tree, changes)


def _merged(there: Any, change: Any) -> Any:
    """What a change makes of a value; that of a list is a table by number."""
    if not isinstance(change, dict) or not isinstance(there, dict | list) or {"kind", "shape", "matrix"} & {*change}:
        return change
    if isinstance(there, list):
        return [_merged(value, change.get(str(i), value)) for i, value in enumerate(there)]
    return there | {key: _merged(there.get(key), value) for key, value in change.items()}


def _contents(tree: dict[str, Any]) -> Contents:
    arrays: dict[str, np.ndarray] = {}
    for name, given in tree.pop("arrays").items():
        if not isinstance(given, dict):
            arrays[name] = np.asarray(given)
        elif "shape" in given:
            arrays[name] = np.full(given["shape"], given.get("fill", 0), given.get("type", "<f8"))
        else:
            matrix = np.array(given["matrix"])
            columns, rows = np.nonzero(matrix.T)
            arrays |= {f"{name}_values": matrix[rows, columns], f"{name}_rows": rows, f"{name}_columns": columns}
    return tree, arrays


# Bytes ----------------------------------------------------------------------------------------------------------------


def deflate(contents: Contents) -> bytes:
    members = packed(contents)
    for member in members:
        member.method = DEFLATED
    return archive(members)


def text_with(change: Callable[[str], str | bytes]) -> bytes:
    """The text of the description changed; hashes stay true."""
    members = packed(contents("triplet"))
    text = change(members[0].data.decode())
    members[0].data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    members[0].method = DEFLATED
    return archive(members)


def text_replaced(old: str, new: str) -> bytes:
    return text_with(lambda text: text.replace(old, new))


def points() -> np.ndarray:
    return contents("triplet")[1]["points"]


def points_as(data: bytes | None = None, **values: Any) -> bytes:
    """Other bytes for the member of the points, or other fields of the archive for it."""
    members = packed(contents("triplet"))
    members[1] = Member("points.npy", npy(points()) if data is None else data, **values)
    return archive(members)


def header(text: str | None = None, **lies: Any) -> bytes:
    """Another header for the points."""
    return points_as(npy(points(), text, **lies))


def lying(**fields: int) -> bytes:
    """The same lie in both headers of the points' member."""
    return points_as(local=dict(fields), central=dict(fields))


def named(name: bytes) -> bytes:
    return archive([*packed(contents("triplet")), Member("x", b"", raw_name=name)])


def of_members(change: Callable[[list[Member]], list[Member]], **lies: int) -> bytes:
    return archive(change(packed(contents("triplet"))), **lies)


HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1), }"


def bz2_bomb() -> bytes:
    """A gigabyte of zeros, bz2; the archive says that it is short."""
    packer, zeros = bz2.BZ2Compressor(9), bytes(2**24)
    whole = b"".join([*(packer.compress(zeros) for _ in range(2**6)), packer.flush()])
    size = len(npy(points()))
    return points_as(b"", method=BZIP2, packed=whole, local={"size": size}, central={"size": size})


def deflate_bomb(**lie: int) -> bytes:
    """16 MiB of zeros after a true header."""
    return points_as(npy(points()) + bytes(2**24), method=DEFLATED, local=lie, central=lie)


def lzma_member(spoilt: bool) -> bytes:
    data = npy(points())
    stream = lzma.compress(data, lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA1}])
    if spoilt:
        stream = stream[:4] + b"\xff" * 8 + stream[12:]
    return points_as(data, method=LZMA, packed=b"\x09\x04\x05\x00\x5d\x00\x00\x80\x00" + stream)


# Arrays that are long -------------------------------------------------------------------------------------------------


def crowded(queries: int = 10_000) -> bytes:
    """10,000 queries of one near and one far item each, with as many points."""
    zeros, stops = np.zeros(queries, dtype=np.uint8), np.arange(1, queries + 1, dtype=np.int32)
    arrays = dict.fromkeys(("anchors", "near", "far", "near_sums", "far_sums"), zeros)
    arrays |= {"near_stops": stops, "far_stops": stops, "points": np.zeros((queries, 1))}
    return deflate(contents("auc", arrays=arrays))


def rest_of_many(queries: int = 10_000, n: int = 20_000) -> bytes:
    """10,000 queries to which all of 20,000 points but two are far, in a part of one row."""
    zeros, stops = np.zeros(queries, dtype=np.uint8), np.arange(1, queries + 1, dtype=np.int32)
    arrays = {"anchors": zeros, "near": zeros, "near_stops": stops, "itself": zeros + 1, "points": np.zeros((n, 1))}
    arrays |= {"near_sums": np.zeros(1, dtype=np.uint8), "far_sums": np.zeros(n - 2, dtype=np.uint8)}
    gone = ("arrays.far", "arrays.far_stops", "arrays.far_sums")
    return deflate(contents("auc", gone, arrays=arrays, dual={"rows": [0, 1], "bits": 0}))


def wrapped() -> bytes:
    """2,306 far items with sums that add up to 2^64 and a little, which is that little in 64 bits."""
    far = np.full(2306, 2**64 // 2305)
    far[0] += 2**64 % 2305 + 9
    far[-1] = 0
    arrays = {"near_sums": [9], "far": np.zeros(2306, np.int64), "far_stops": [2306], "far_sums": far}
    return deflate(contents("auc", arrays=arrays, claimed={"lower": "-1", "upper": "100"}))


def sum_of_all_pairs(n: int = 5_000) -> bytes:
    """Sixteen times all pairs of 5,000 points: 2 10^8 of them."""
    term = contents("triplet")[0]["problem"]["risk"]["terms"][0]
    risk = {"kind": "all pairs", "terms": [term, term]}
    codes = {f"summand{number}_codes": np.zeros(n, dtype=np.uint8) for number in range(16)}
    return deflate(
        contents(
            "triplet",
            ("arrays.triplets", "arrays.terms", "arrays.slopes"),
            problem={"risk": {"kind": "sum", "summands": [risk] * 16}},
            dual={"kind": "sum", "share": "1", "regularizer": {}, "summands": [{"kind": "slopes"}] * 16},
            arrays={"points": np.zeros((n, 1))} | codes,
        )
    )


def bits_of_a_query() -> Contents:
    """A query at 0 with 128 near items at 1 and 65 far ones at 3, over 2^40."""
    arrays = {
        "near": [1] * 128, "near_stops": [128], "near_sums": [2**30] * 128, "steps": [[1] + [0] * 127],
        "far": [2] * 65, "far_stops": [65], "far_sums": [2**37] + [0] * 64, "weights": [[2**30]],
    }  # fmt: skip
    return contents("rankings-of-the-least-weight", arrays=arrays, dual={"bits": 40})


def nested(depth: int, of: Any, within: Callable[[Any], list[Any]]) -> Any:
    return reduce(lambda table, _: {"kind": "sum", "summands": within(table)}, range(depth), of)


def regularized(table: dict[str, Any], **dual: Any) -> Contents:
    return contents("triplet", problem={"regularizer": table}, dual={"regularizer": dual})


def beyond_floats() -> Contents:
    """A diagonal metric at which the upper bound is the largest float, and its rounding beyond it."""
    arrays = {"points": np.zeros((3, 1)), "weights_of_metric": np.array([np.finfo(float).max / 2.0**40])}
    table = {"cone": "diagonal", "regularizer": {"weight": str(2**40)}}
    claimed = {"lower": "0", "upper": str(10**300)}
    return contents("triplet", ["arrays.factor"], problem=table, arrays=arrays, claimed=claimed)


#: Files of a folder that no table says.
MADE: dict[str, dict[str, Callable[[], bytes | Contents]]] = {
    "accepted": {},
    "not_proven": {
        "upper-bound-beyond-floats": beyond_floats,
        "sums-wrapped": wrapped,
        "multiplier-huge": lambda: contents("budget", dual={"regularizer": {"multiplier": str(10**300)}}),
        "rest-of-many": rest_of_many,
    },
    "refused": {
        "bz2-bomb": bz2_bomb,
        "deflate-bomb": deflate_bomb,
        "deflate-bomb-lying": lambda: deflate_bomb(size=152),
        "json-bomb": lambda: text_with(lambda text: text + " " * 2**21),
        "crowded": crowded,
        "lzma": lambda: lzma_member(False),
        "lzma-corrupt": lambda: lzma_member(True),
        "method-unknown": lambda: lying(method=99),
        "encrypted": lambda: lying(flags=1),
        "size-zero": lambda: lying(size=0),
        "size-4-gib": lambda: lying(size=2**32 - 1),
        "packed-4-gib": lambda: lying(packed=2**32 - 1),
        "wrong-checksum": lambda: lying(crc=1),
        "zip64-extra": lambda: points_as(extra=b"\x01\x00\x04\x00\xff\xff\xff\xff", central={"size": 2**32 - 1}),
        "offset-beyond": lambda: points_as(central={"offset": 2**31}),
        "entries": lambda: of_members(list, entries=9, total=9),
        "member-twice": lambda: of_members(lambda members: [*members, members[1]]),
        "members-overlap": lambda: of_members(
            lambda members: [*members, Member("targets.npy", members[1].data, central={"offset": 0})]
        ),
        "member-upwards": lambda: named(b"../x.npy"),
        "member-named-by-ansi": lambda: named(ANSI.encode() + b".npy"),
        "member-named-by-nothing": lambda: named(b".npy"),
        "no-json": lambda: of_members(lambda members: members[1:]),
        "no-zip": lambda: b"accepted\n",
        "empty": lambda: b"",
        "cut": lambda: of_members(list)[:-30],
        "header-multi-line-string": lambda: header(HEADER + " '''"),
        "header-open": lambda: header(HEADER[:-1]),
        "header-python-2": lambda: header(HEADER.replace("3,", "3L,")),
        "header-nested": lambda: header("(" * 1500),
        "header-expression": lambda: header(HEADER.replace("False", "0 == 1")),
        "header-not-ascii": lambda: header(HEADER.replace("<f8", "<f\u00e9")),
        "header-ansi": lambda: header(HEADER.replace("<f8", ANSI)),
        "header-long": lambda: points_as(npy(points(), " " * 60000 + HEADER), method=DEFLATED),
        "header-version-3": lambda: points_as(npy(points(), HEADER, (3, 0))),
        "shape-product": lambda: header(shape=(2**62, 4)),
        "shape-huge": lambda: header(shape=(2**40, 2**20)),
        "shape-negative": lambda: header(shape=(-3, -1)),
        "shape-bool": lambda: header(shape=(3, True)),
        "shape-long": lambda: header(shape=(10**400, 1)),
        "fortran-order": lambda: header(shape=(1, 3), fortran_order=True),
        "big-endian": lambda: points_as(npy(points().astype(">f8"))),
        "object": lambda: points_as(npy(np.array([[None]], dtype=object))),
        "structured": lambda: header(descr=[("a", "<f8")]),
        "wrong-hash": lambda: points_as(npy(np.ones((3, 1)))),
        "bits-of-a-query": bits_of_a_query,
        "terms-within-terms": lambda: regularized(
            nested(300, {"kind": "zero"}, lambda table: [table, {"kind": "zero"}])
        ),
        "terms-of-many": lambda: regularized({"kind": "sum", "summands": [{"kind": "zero"}] * 9}, summands=[{}] * 9),
        "sum-of-all-pairs": sum_of_all_pairs,
        "sum-within-sum": lambda: contents(
            "sum", problem={"risk": nested(300, contents("sum")[0]["problem"]["risk"], lambda risk: [risk])}
        ),
        "digits": lambda: text_replaced('"1/2"', f'"{"1" * 100000}"'),
        "digits-beyond-floats": lambda: contents("triplet", claimed={"lower": "0", "upper": str(10**399)}),
        "weight-1e300": lambda: contents(
            "ranking",
            problem={"risk": {"C": str(10**300)}},
            arrays={"near_sums": [0], "far_sums": [0], "weights": [[0]]},
        ),
        "integer-long": lambda: text_replaced('"features": 1', f'"features": {"1" * 5000}'),
        "document-is-a-list": lambda: text_with(lambda text: f"[{text}]"),
        "key-twice": lambda: text_replaced('"version": 3', '"version": 3, "version": 3'),
        "key-surrogate": lambda: contents("triplet", problem={"\udc80": 1}),
        "key-long": lambda: text_replaced('"version"', f'"{"k" * 100000}": 1, "version"'),
        "title-surrogate": lambda: contents("triplet", title="\ud800"),
        "title-long": lambda: text_replaced("by hand", "x" * 100000),
        "nested": lambda: text_with(lambda text: text[:-1] + ', "x": ' + "[" * 100000 + "]" * 100000 + "}"),
        "nested-open": lambda: text_with(lambda text: '{"a":' * 100000),
        "utf-16": lambda: text_with(lambda text: text.encode("utf-16")),
        "byte-order-mark": lambda: text_with(lambda text: text.encode("utf-8-sig")),
        "not-utf-8": lambda: text_with(lambda text: text.replace("by hand", "\u00e9").encode("latin-1")),
        "text-after": lambda: text_with(lambda text: text + "{}"),
    },
}


@dataclass(frozen=True)
class Attack:
    """A file: where it belongs, its name, and what it attacks."""

    folder: str
    name: str
    what: str

    def make(self) -> bytes | Contents:
        """Its bytes, or the contents of an archive that is not packed."""
        if made := MADE[self.folder].get(self.name):
            return made()
        table = TABLES[self.folder][self.name]
        found = _contents(copy.deepcopy(_tree(table)))
        return deflate(found) if table.get("deflated") else found


ATTACKS = [Attack(folder, name, table["what"]) for folder in FOLDERS for name, table in TABLES[folder].items()]


def main() -> None:
    """Write all files, and the table."""
    for folder in FOLDERS:
        shutil.rmtree(HERE / folder, ignore_errors=True)
        (HERE / folder).mkdir()
    lines = ["| file | what it attacks | exit code |", "| --- | --- | ---: |"]
    for attack in ATTACKS:
        path = HERE / attack.folder / f"{attack.name}.npz"
        made = attack.make()
        path.write_bytes(made if isinstance(made, bytes) else archive(packed(made)))
        lines.append(f"| {attack.folder}/{path.name} | {attack.what} | {FOLDERS[attack.folder]} |")
    readme = HERE / "README.md"
    head = readme.read_text().partition("| file |")[0]
    readme.write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
