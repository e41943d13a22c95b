"""Makes the files of this folder, and the table in README.md: python tests/corpus/make.py

Every file is a small certificate written by hand, whose bounds can be checked on paper, with one thing done to it.
"""

from __future__ import annotations

import bz2
import copy
import lzma
import shutil
import sys
from collections.abc import Callable
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
Made = bytes | Contents

# Honest certificates --------------------------------------------------------------------------------------------------


def document(problem: dict[str, Any], dual: str, lower: str, upper: str, title: str = "by hand") -> dict[str, Any]:
    """The description of a certificate of one feature."""
    return {
        "format": "convexmetric-certificate",
        "version": 3,
        "title": title,
        "problem": {"cone": "psd", "features": 1, "linear": False} | problem,
        "dual": {"kind": dual, "share": "1", "regularizer": {}},
        "claimed": {"lower": lower, "upper": upper},
        "sha256": {},
    }


def triplet(**arrays: np.ndarray) -> Contents:
    """One triplet of the points 0, 1, 3, ``max(0, 1 - 8 m) + m / 2``: the optimum is 1/16 at m = 1/8."""
    term = {"loss": "hinge", "weight": "1", "margin": "1", "sign": 1}
    risk = {"kind": "listed comparisons", "terms": [term]}
    problem = {"risk": risk, "regularizer": {"kind": "trace", "weight": "1/2"}}
    given = {
        "points": np.array([[0.0], [1.0], [3.0]]),
        "triplets": np.array([[0, 1, 2]]),
        "terms": np.zeros(1, dtype=np.int64),
        "factor": np.array([[0.125**0.5]]),
        "slopes": np.array([0.06]),
    }
    return document(problem, "slopes", "1/17", "1/15"), given | arrays


def ranking(C: str = "1", measure: str = "map", k: int | None = None, title: str = "by hand") -> Contents:
    """One query at 0 with a near item at 1 and a far one at 3.

    MAP, MRR, ERR: ``C max(0, 1/2 - 16 m) + m / 2``; for C = 1 the optimum is 1/64 at m = 1/32.
    """
    risk: dict[str, Any] = {"kind": "rankings", "measure": measure, "C": C} | ({} if k is None else {"k": k})
    problem = {"risk": risk, "regularizer": {"kind": "trace", "weight": "1/2"}}
    # The ranking that puts the far item above the near one, with the weight 1 / (32 C), less a little for rounding.
    weight = int(2**36 / 32 / float(C) * (1 - 2.0**-30))
    arrays = {
        "points": np.array([[0.0], [1.0], [3.0]]),
        "anchors": np.zeros(1, dtype=np.int64),
        "factor": np.array([[0.03125**0.5]]),
        "near_sums": np.array([weight]),
        "far_sums": np.array([weight]),
    }
    for name, item in (("near", 1), ("far", 2)):
        arrays |= {name: np.array([item]), f"{name}_stops": np.array([1])}
    if measure != "auc":
        arrays |= {"steps": np.ones((1, 1), dtype=np.int64), "groups": np.zeros(1, dtype=np.int64)}
        arrays["weights"] = np.array([[weight]])
    table = document(problem, "sums" if measure == "auc" else "rankings", "1/65", "1/63", title)
    table["dual"]["bits"] = 36
    return table, arrays


def shifted(by: float) -> Contents:
    """The triplet, its points moved: distances are the same."""
    return without_dual(triplet(points=np.array([[0.0], [1.0], [3.0]]) + by))


def tiny() -> Contents:
    """The triplet scaled by 2^-500: the optimum is 1, at zero."""
    contents = triplet(points=np.array([[0.0], [1.0], [3.0]]) * 2.0**-500, factor=np.zeros((1, 1)), slopes=np.ones(1))
    return claiming(contents, "99/100", "101/100")


def huge() -> Contents:
    """The triplet scaled by 2^300: the optimum is 2^-600 / 16."""
    points, factor = np.array([[0.0], [1.0], [3.0]]) * 2.0**300, np.array([[0.125**0.5 * 2.0**-300]])
    return claiming(
        without_dual(triplet(points=points, factor=factor, slopes=np.array([0.9 * 2.0**-604]))), "0", "1/1000"
    )


def nothing_to_pay() -> Contents:
    """A margin of zero: the optimum is zero, at zero."""
    contents = without_dual(changed(triplet(factor=np.zeros((1, 1))), terms(margin="0")))
    return claiming(contents, "0", f"1/{10**200}")


def program(*tables: Callable[[dict[str, Any]], Any], **change: Any) -> bytes:
    """Minimise ``x^2/2 - y - y^2/2048``, y = x twice over, 0 <= w <= 0, abs(x) <= 2: -512/1023.

    The curvature that lacks is charged, to the bound on y; entries of other arrays are given as matrices.
    """
    cones = dict.fromkeys(("zero", "nonnegative", "second_order", "semidefinite", "exponential", "power"), 0)
    table: dict[str, Any] = {"kind": "conic program", "variables": 3, "quadratic": True, "maximise": False}
    table |= {"cones": cones | {"zero": 2, "nonnegative": 2, "second_order": 1}, "columns": [["x", 0, 2], ["w", 2, 1]]}
    given: dict[str, Any] = {
        "q": [0.0, -1, 0], "b": [0.0, 0, 0, 0, 2, 0], "second_order_sizes": [2],
        "a": [[1, -1, 0], [2, -2, 0], [0, 0, -1], [0, 0, 2], [0, 0, 0], [1, 0, 0]],
        "p": [[1, 3, 0], [-3, -(2.0**-10), 0], [0, 0, 0]],
        "tight": [2, 3], "x": [1.0, 0.5, 7], "x_spreads": [0.0, 1, 1],
        "x_follow": [1, 3], "x_relation": [[-2, 0], [1, 0], [0, 2], [0, 1]],
        "x_pivot_equations": [2], "x_pivot_unknowns": [2],
        "z": [-1.0, 0, 0, 1, 0, 0], "z_spreads": [1.0, 0, 0, 1, 0, 0], "h": [1.0, 0, 0], "h_spreads": [1.0, 0, 0],
        "z_pivot_equations": [2], "z_pivot_unknowns": [2], "charges": [0.0, 2.0**-9, 0],
    }  # fmt: skip
    arrays = {}
    for name, of in (given | change).items():
        if name in ("a", "p", "x_relation"):
            columns, rows = np.nonzero(np.array(of, dtype=float).T)
            arrays |= {f"{name}_values": np.array(of, dtype=float)[rows, columns]}
            arrays |= {f"{name}_rows": rows, f"{name}_columns": columns}
        elif of is not None:
            arrays[name] = np.array(of)
    made = {"format": "convexmetric-certificate", "version": 3, "title": "by hand", "problem": table, "dual": {}}
    made |= {"claimed": {"lower": "-51/100", "upper": "-1/2"}, "sha256": {}}
    return deflate(reduce(changed, tables, (made, arrays)))


# Changes --------------------------------------------------------------------------------------------------------------


def changed(contents: Contents, change: Callable[[dict[str, Any]], Any]) -> Contents:
    """The description changed in place."""
    table = copy.deepcopy(contents[0])
    change(table)
    return table, contents[1]


def terms(**values: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda table: table["problem"]["risk"]["terms"][0].update(values)


def regularizer(**values: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda table: table["problem"]["regularizer"].update(values)


def problem(**values: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda table: table["problem"].update(values)


def top(**values: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda table: table.update(values)


def without_dual(contents: Contents) -> Contents:
    """A share of nothing, which proves that the optimum is at least zero."""
    return changed(contents, lambda table: table["dual"].update(share="0"))


def claiming(contents: Contents, lower: Any, upper: Any) -> Contents:
    return changed(contents, top(claimed={"lower": lower, "upper": upper}))


def without(name: str) -> Contents:
    document, arrays = triplet()
    return document, {key: array for key, array in arrays.items() if key != name}


def text_with(change: Callable[[str], str | bytes]) -> bytes:
    """The text of the description changed; hashes stay true."""
    members = packed(triplet())
    text = change(members[0].data.decode())
    members[0].data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    members[0].method = DEFLATED
    return archive(members)


def points_as(data: bytes, **values: Any) -> bytes:
    """Other bytes for the member of the points, or other fields of the archive for it."""
    members = packed(triplet())
    members[1] = Member("points.npy", data, **values)
    return archive(members)


def header(text: str | None = None, **lies: Any) -> bytes:
    """Another header for the points."""
    return points_as(npy(triplet()[1]["points"], text, **lies))


def lying(**fields: int) -> bytes:
    """The same lie in both headers of the points' member."""
    return points_as(npy(triplet()[1]["points"]), local=dict(fields), central=dict(fields))


def deflate(contents: Contents) -> bytes:
    members = packed(contents)
    for member in members:
        member.method = DEFLATED
    return archive(members)


HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1), }"

# Bombs ----------------------------------------------------------------------------------------------------------------


def bz2_bomb() -> bytes:
    """A gigabyte of zeros, bz2; the archive says that it is short."""
    packer, zeros = bz2.BZ2Compressor(9), bytes(2**24)
    whole = b"".join([*(packer.compress(zeros) for _ in range(2**6)), packer.flush()])
    size = len(npy(triplet()[1]["points"]))
    return points_as(b"", method=BZIP2, packed=whole, local={"size": size}, central={"size": size})


def deflate_bomb(said: int | None) -> bytes:
    """16 MiB of zeros after a true header."""
    data = npy(triplet()[1]["points"]) + bytes(2**24)
    lie = {} if said is None else {"size": said}
    return points_as(data, method=DEFLATED, local=lie, central=lie)


def wide(columns: int = 16_000) -> bytes:
    """Two points and a factor of many columns: matrices of columns x columns."""
    d, rows = columns, np.zeros((3, columns))
    contents = changed(triplet(points=rows, factor=np.zeros((1, d))), problem(features=d))
    return deflate(claiming(contents, "0", "1"))


def tall(n: int = 12_000) -> bytes:
    """MAP with half of n points near: a table of gains of n/2 x n/2."""
    document, arrays = ranking()
    arrays |= {
        "points": np.zeros((n, 1)),
        "near": np.zeros(n // 2, dtype=np.uint8),
        "near_stops": np.array([n // 2]),
        "far": np.zeros(n // 2, dtype=np.uint8),
        "far_stops": np.array([n // 2]),
    }
    return deflate((document, arrays))


def crowded(queries: int = 10_000) -> bytes:
    """10,000 queries of one near and one far item each, with as many points."""
    document, arrays = ranking(measure="auc")
    zeros, stops = np.zeros(queries, dtype=np.uint8), np.arange(1, queries + 1, dtype=np.int32)
    arrays |= {"anchors": zeros, "points": np.zeros((queries, 1)), "near_sums": zeros, "far_sums": zeros}
    for name in ("near", "far"):
        arrays |= {name: zeros, f"{name}_stops": stops}
    return deflate((document, arrays))


def rest_of_many(queries: int = 10_000, n: int = 20_000) -> bytes:
    """10,000 queries to which all of 20,000 points but two are far, in a part of one row."""
    document, arrays = ranking(measure="auc")
    zeros, stops = np.zeros(queries, dtype=np.uint8), np.arange(1, queries + 1, dtype=np.int32)
    arrays = {name: array for name, array in arrays.items() if not name.startswith("far")}
    arrays |= {"anchors": zeros, "near": zeros, "near_stops": stops, "itself": zeros + 1, "points": np.zeros((n, 1))}
    document["dual"] |= {"rows": [0, 1], "bits": 0}
    sums = {"near_sums": np.zeros(1, dtype=np.uint8), "far_sums": np.zeros(n - 2, dtype=np.uint8)}
    return deflate((document, arrays | sums))


def many_slopes(**more: np.ndarray) -> bytes:
    """All pairs of 20,000 points: 2 10^8 of them."""
    document, arrays = triplet(points=np.zeros((20_000, 1)))
    term = document["problem"]["risk"]["terms"][0]
    document["problem"]["risk"] = {"kind": "all pairs", "terms": [term, term]}
    del arrays["triplets"], arrays["terms"]
    return deflate((document, arrays | {"codes": np.zeros(20_000, dtype=np.uint8)} | more))


def many_rankings() -> bytes:
    """Four million rankings of one query."""
    document, arrays = ranking()
    count = 2**22
    arrays |= {"steps": np.zeros((count, 1), dtype=np.uint8), "weights": np.zeros((count, 1), dtype=np.uint8)}
    return deflate((document, arrays))


def summed(near: int, far: int) -> Contents:
    """AUC of the same with sums over 2^36, ``max(0, 1 - 16 m) + m / 2``: the optimum is 1/32 at m = 1/16."""
    document, arrays = ranking(measure="auc")
    sums = {"near_sums": np.array([near]), "far_sums": np.array([far]), "factor": np.array([[0.25]])}
    return claiming((document, arrays | sums), "1/33", "1/31")


def of_rankings(weights: list[int], steps: list[list[int]], near: list[int], far: list[int]) -> Contents:
    """MAP of a query at 0 with near items at 1 and far ones at 3, as many as there are sums; integers over 2^36."""
    document, arrays = ranking()
    arrays |= {
        "near": np.ones(len(near), dtype=np.int64), "near_stops": np.array([len(near)]),
        "far": np.full(len(far), 2), "far_stops": np.array([len(far)]),
        "near_sums": np.array(near), "far_sums": np.array(far),
        "weights": np.array(weights)[:, None], "steps": np.array(steps),
    }  # fmt: skip
    return claiming((document, arrays), "-1", "100")


def of_lists(**change: Any) -> Contents:
    """Hinges of one query with a near item at 1 and a far one at 3, and a dual point of zero; arrays changed."""
    document, arrays = summed(0, 0)
    document["problem"]["risk"] = {"kind": "pairs of lists", "loss": "hinge", "weight": "1", "margin": "1"}
    arrays |= change
    return claiming((document, {key: array for key, array in arrays.items() if array is not None}), "-1", "100")


def of_form(lack: str) -> Contents:
    """A quadratic form w^2 / 2 with the slope at one, and no share of the dual point."""
    document, arrays = changed(quadratic([[1.0]]), lambda t: t["dual"]["regularizer"].update(lack=lack))
    return claiming(without_dual((document, arrays | {"z": np.ones(1)})), "-100", "100")


def of_two_groups() -> Contents:
    """The same with a column of weights that exceeds one, of which there is no query."""
    document, arrays = of_rankings([2**30, 0], [[1], [0]], [2**30], [2**30])
    return document, arrays | {"weights": np.array([[2**30, 1], [0, 2**36]])}


def wrapped() -> bytes:
    """2,306 far items with sums that add up to 2^64 and a little, which is that little in 64 bits."""
    document, arrays = summed(9, 0)
    far = np.full(2306, 2**64 // 2305)
    far[0] += 2**64 % 2305 + 9
    far[-1] = 0
    items = {"far": np.zeros(2306, np.int64), "far_stops": np.array([2306]), "far_sums": far}
    document["dual"]["bits"] = 36
    return deflate(claiming((document, arrays | items), "-1", "100"))


def against_a_linear_term(kind: str, slope: float, **arrays: np.ndarray) -> Contents:
    """A slope below minus the weight, beside a linear term that makes up for it."""
    contents = changed(to_a_prior(kind, slope, linear=one(1.0), **arrays), problem(linear=True))
    return claiming(contents, "0", "1")


def paired(loss: str, slope: float, margin: str, **arrays: np.ndarray) -> Contents:
    """A loss of the distance of 0 and 1, of which nothing is claimed."""
    document, given = changed(triplet(slopes=np.array([slope])), terms(loss=loss, margin=margin))
    del given["triplets"]
    return claiming((document, given | {"pairs": np.array([[0, 1]])} | arrays), "-100", "100")


def diagonal(contents: Contents) -> Contents:
    """The same on diagonal metrics: matrices are vectors."""
    document, arrays = changed(contents, problem(cone="diagonal"))
    vectors = {name: arrays[name][0] for name in ("slope", "prior", "linear", "root", "prior_root") if name in arrays}
    arrays = {name: array for name, array in arrays.items() if name not in ("factor", "above")} | vectors
    return document, arrays | {"weights_of_metric": contents[1]["factor"][0] ** 2}


# The table ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Attack:
    """A file: where it belongs, its name, what it attacks, and how it is made."""

    folder: str
    name: str
    what: str
    make: Callable[[], Made]


def lzma_member(spoilt: bool) -> bytes:
    data = npy(triplet()[1]["points"])
    stream = lzma.compress(data, lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA1}])
    if spoilt:
        stream = stream[:4] + b"\xff" * 8 + stream[12:]
    return points_as(data, method=LZMA, packed=b"\x09\x04\x05\x00\x5d\x00\x00\x80\x00" + stream)


def twice() -> bytes:
    members = packed(triplet())
    return archive([*members, members[1]])


def overlapping() -> bytes:
    """Two entries of the directory for the same bytes."""
    members = packed(triplet())
    members.append(Member("targets.npy", members[1].data, central={"offset": 0}))
    return archive(members)


def named(name: bytes) -> bytes:
    return archive([*packed(triplet()), Member("x", b"", raw_name=name)])


def hard_margin() -> Contents:
    contents = changed(triplet(), terms(loss="hard"))
    return contents[0], contents[1] | {"factor": np.array([[0.1]])}


def quadratic(form: list[list[float]]) -> Contents:
    d = len(form)
    contents = triplet(form=np.array(form), weights_of_metric=np.full(d, 0.1), points=np.zeros((3, d)), z=np.zeros(d))
    contents[0]["dual"]["regularizer"] = {"lack": "1/1000"}
    table = {"regularizer": {"kind": "quadratic form", "of": "matrix"}, "cone": "diagonal", "features": d}
    del contents[1]["factor"]
    return claiming(changed(contents, problem(**table)), "0", "100")


def linear(value: float, d: int = 1) -> Contents:
    contents = triplet(linear=np.array([[value]]) if d == 1 else np.array([[0.0, value], [0.0, 0.0]]))
    if d == 2:
        contents = triplet(linear=contents[1]["linear"], points=np.zeros((3, 2)), factor=np.zeros((1, 2)))
    return changed(contents, problem(linear=True, features=d))


def raised(contents: Contents, upper: str) -> Contents:
    """The factor at which the upper bound is the largest float and its rounding beyond it."""
    largest = np.finfo(float).max
    document, arrays = contents
    del arrays["factor"]
    arrays |= {"points": np.zeros((3, 1)), "weights_of_metric": np.array([largest / 2.0**40])}
    document["problem"]["cone"] = "diagonal"
    document["problem"]["regularizer"]["weight"] = str(2**40)
    return claiming((document, arrays), "0", upper)


def zero(value: float) -> Contents:
    """The triplet whose trace is a linear term, or is too small for its dual point."""
    return changed(linear(value), lambda table: table["problem"].update(regularizer={"kind": "zero"}))


def by(table: dict[str, Any], parameters: dict[str, Any] | None = None, **arrays: np.ndarray) -> Contents:
    """The triplet with another regularizer in the place of the trace; its slope is at most 1/2 for the dual point."""

    def change(document: dict[str, Any]) -> None:
        document["problem"]["regularizer"] = table
        document["dual"]["regularizer"] = parameters or {}

    return changed(triplet(**arrays), change)


def one(value: float) -> np.ndarray:
    return np.array([[value]])


def entries(slope: float) -> Contents:
    """The triplet with the size of its only entry in the place of the trace."""
    return by({"kind": "entrywise", "weight": "1/2", "diagonal": True}, slope=one(slope))


def to_a_prior(kind: str, slope: float, **arrays: np.ndarray) -> Contents:
    """``max(0, 1 - 8 m) + abs(m - 1/16) / 2``: the optimum is 1/32 at m = 1/8."""
    table = {"kind": kind, "weight": "1/2", "prior": True}
    return claiming(by(table, slope=one(slope), prior=one(1 / 16), **arrays), "1/36", "1/31")


def trace_norm(slope: float = 0.49, above: float = 0.0626) -> Contents:
    """The same as a trace norm, with the matrix above ``m - 1/16``."""
    return to_a_prior("trace norm", slope, above=one(above))


def squared(slope: float) -> Contents:
    """``max(0, 1 - 8 m) + 2 m^2``: the optimum is 1/32 at m = 1/8."""
    table = {"kind": "squared frobenius", "weight": "4"}
    return claiming(by(table, slope=one(slope), slopes=np.array([0.0624])), "31/1000", "32/1000")


def log_det(T: float = 2.83, **arrays: np.ndarray) -> Contents:
    """``max(0, 1 - 8 m) + (16 m - ln(16 m) - 1) / 2``: the optimum is (1 - ln 2) / 2 at m = 1/8."""
    given = {"prior_root": one(4.0), "root": one(T), "slopes": np.array([0.499])} | arrays
    return claiming(by({"kind": "log det", "weight": "1/2"}, **given), "15/100", "16/100")


def log_det_of_two(**arrays: np.ndarray) -> Contents:
    """The same with a second feature, in which points do not differ: its weight is 1."""
    given = {
        "prior_root": np.diag([4.0, 1.0]), "root": np.diag([2.83, 0.999]), "factor": np.diag([0.125**0.5, 1.0]),
        "points": triplet()[1]["points"] * [1.0, 0.0],
    }  # fmt: skip
    return changed(log_det(**given | arrays), problem(features=2))


def budget(
    multiplier: str = "8", weight: str | None = None, slope: float = 0.999, factor: float = 0.316, spent: float = 1.0
) -> Contents:
    """``max(0, 1 - 8 m)`` where ``m <= 1/10``: the optimum is 1/5 at m = 1/10; with a weight of 4 it is 1/10 at 1/8."""
    table = {"kind": "budget", "limit": "1/10"} | ({} if weight is None else {"weight": weight})
    arrays = {"spent": one(spent), "slopes": np.array([slope]), "factor": one(factor)}
    return claiming(by(table, {"multiplier": multiplier}, **arrays), "19/100", "21/100")


def loss(name: str, slope: float, m: float, lower: str, upper: str, share: str = "1", margin: str = "1") -> Contents:
    """``l(8 m) + m / 2``."""
    arrays = {"slopes": np.array([slope]), "factor": one(m**0.5)}
    contents = claiming(changed(triplet(**arrays), terms(loss=name, margin=margin)), lower, upper)
    return changed(contents, lambda table: table["dual"].update(share=share))


def negative_log(share: str = "1", lower: str = "-178/100") -> Contents:
    """``-ln(8 m) + m / 2``: the optimum is 1 - ln 16 = -1.77 at m = 2."""
    return loss("negative log", 0.0624, 2.0, lower, "-177/100", share)


def negative_root(share: str = "1", lower: str = "-401/100") -> Contents:
    """``-sqrt(8 m) + m / 2``: the optimum is -4 at m = 8."""
    return loss("negative root", 0.0624, 8.0, lower, "-39/10", share)


def itakura_saito(slope: float = 0.0624, margin: str = "1") -> Contents:
    """``r - ln r - 1 + r / 16``, r = 8 m: the optimum is ln(17/16) = 0.0606 at m = 2/17."""
    return loss("itakura-saito", slope, 2 / 17, "6/100", "61/1000", "1", margin)


def box(slope: float = 0.0624, share: str = "1", **ends: str) -> Contents:
    """``max(0, 1 - 8 m)^2 + m / 2``, a box with one end: the optimum is 63/1024 at m = 31/256."""
    contents = loss("box", slope, 31 / 256, "61/1000", "62/1000", share)
    return changed(contents, terms(**(ends or {"low": "0", "curvature": "1/2"})))


def linear_box(share: str = "1", lower: str = "99/100") -> Contents:
    """``1 - 8 m + 9 m``: the optimum is 1 at m = 0, and the loss may be negative."""
    contents = changed(box(1.0, share, low="1", high="1", curvature="0"), regularizer(weight="9"))
    return claiming((contents[0], contents[1] | {"factor": one(0.0)}), lower, "101/100")


def exponential(slope: float = 0.0624, margin: str = "1") -> Contents:
    """``e^(1 - 8 m) + m / 2``: the optimum is 0.2983 at m = 0.4716."""
    return loss("exponential", slope, 0.4716, "29/100", "30/100", "1", margin)


def spectral_bound(root: float = 2.828, factor: float = 0.316) -> Contents:
    """``max(0, 1 - 8 m)`` where ``m <= 1/10``: the optimum is 1/5 at m = 1/10."""
    given = {"upper": one(0.1), "root_of_slope": one(root), "slopes": np.array([0.999]), "factor": one(factor)}
    return claiming(by({"kind": "spectral bound"}, **given), "19/100", "21/100")


def row_norms(slope: float = 0.499) -> Contents:
    """The triplet with the norm of its only row in the place of the trace."""
    return by({"kind": "row norms", "weight": "1/2"}, slope=one(slope))


def inverse_trace(slope: float = 0.99, above: float = 0.12501, **arrays: np.ndarray) -> Contents:
    """``max(0, 1 - 8 m) + m / 2 + 1 / (128 m)``: the optimum is 1/8 at m = 1/8."""
    given = {"root_of_prior": one(0.125), "slope": one(slope), "above": one(above), "linear": one(0.5)}
    contents = by({"kind": "inverse trace", "weight": "1/2"}, slopes=np.array([0.001]), **given | arrays)
    return claiming(changed(contents, problem(linear=True)), "12/100", "13/100")


def blocks(numbers: list[int] | None = None, cone: str = "block-diagonal", **arrays: np.ndarray) -> Contents:
    """The triplet along the diagonal of two features that are blocks: ``max(0, 1 - 8 tr M) + tr M / 2``."""
    given = {"points": triplet()[1]["points"] * [1.0, 1.0], "factor": np.diag([0.25, 0.25])}
    given |= {} if numbers is None else {"blocks": np.array(numbers)}
    return changed(triplet(**given | arrays), problem(features=2, cone=cone))


def two_terms(first: float = 0.249, second: float = 0.249, **change: Any) -> Contents:
    """The triplet with half of the size of its only entry twice in the place of the trace."""
    term = {"kind": "entrywise", "weight": "1/4", "diagonal": True}
    arrays = {"term0_slope": one(first), "term1_slope": one(second)}
    return by({"kind": "sum", "summands": [term, term]} | change, {"summands": [{}, {}]}, **arrays)


def nested_terms(depth: int = 300) -> Contents:
    zeros: dict[str, Any] = {"kind": "zero"}
    return by(reduce(lambda table, _: {"kind": "sum", "summands": [table, zeros]}, range(depth), zeros))


def renamed(contents: Contents, before: str, after: str) -> Contents:
    """An array under another name."""
    return contents[0], {after if name == before else name: array for name, array in contents[1].items()}


def twice_half(slopes: tuple[float, float] = (0.06, 0.06)) -> Contents:
    """The triplet as a sum: half of its weight twice, of the same points."""
    document, arrays = changed(triplet(), terms(weight="1/2"))
    risk = document["problem"]["risk"]
    document["problem"]["risk"] = {"kind": "sum", "summands": [risk, risk]}
    document["dual"] |= {"kind": "sum", "summands": [{"kind": "slopes"}, {"kind": "slopes"}]}
    made = {name: arrays[name] for name in ("points", "factor")}
    for number, slope in enumerate(slopes):
        made |= {f"summand{number}_{name}": arrays[name] for name in ("triplets", "terms")}
        made[f"summand{number}_slopes"] = np.array([slope])
    return document, made


def worst_half(first: int = 2**19, second: int = 2**19, share: str = "0", **table: Any) -> Contents:
    """The worst of two: half of the triplet's weight twice, with weights of parts over 2^20."""
    document, arrays = changed(triplet(), terms(weight="1/2"))
    risk = document["problem"]["risk"]
    document["problem"]["risk"] = {"kind": "worst", "share": share, "of": risk} | table
    document["dual"] |= {"kind": "worst", "bits": 20, "of": {"kind": "slopes"}}
    made = {name: np.repeat(arrays[name], 2, axis=0) for name in ("triplets", "terms", "slopes")}
    return document, arrays | made | {"parts_weights": np.array([first, second])}


def sum_of_all_pairs(n: int = 5_000) -> bytes:
    """Sixteen times all pairs of 5,000 points: 2 10^8 of them."""
    document, arrays = triplet(points=np.zeros((n, 1)))
    term = document["problem"]["risk"]["terms"][0]
    risk = {"kind": "all pairs", "terms": [term, term]}
    document["problem"]["risk"] = {"kind": "sum", "summands": [risk] * 16}
    document["dual"] |= {"kind": "sum", "summands": [{"kind": "slopes"}] * 16}
    codes = {f"summand{number}_codes": np.zeros(n, dtype=np.uint8) for number in range(16)}
    return deflate((document, {name: arrays[name] for name in ("points", "factor")} | codes))


A, N, R = "accepted", "not_proven", "refused"
ATTACKS = [
    Attack(A, "triplet", "nothing: a hinge of one triplet", triplet),
    Attack(A, "deflated", "nothing: the same, deflated", lambda: deflate(triplet())),
    Attack(A, "ranking", "nothing: MAP of one query", ranking),
    Attack(A, "err", "nothing: expected reciprocal rank of one query", lambda: ranking(measure="err")),
    Attack(A, "zero", "nothing: no regularizer but a linear term", lambda: zero(0.5)),
    Attack(
        A,
        "zero-by-nothing",
        "no regularizer, no linear term and no share of the dual point: the optimum is not negative",
        lambda: claiming(
            changed(without_dual(triplet()), lambda t: t["problem"].update(regularizer={"kind": "zero"})), "0", "1"
        ),
    ),
    Attack(A, "entries", "nothing: the size of the only entry", lambda: entries(0.499)),
    Attack(A, "prior", "nothing: a norm of the difference to a prior", lambda: to_a_prior("frobenius", 0.49)),
    Attack(A, "trace-norm", "nothing: a trace norm of the difference to a prior", trace_norm),
    Attack(A, "squared-norm", "nothing: a squared norm", lambda: squared(0.5)),
    Attack(A, "log-det", "nothing: a log-determinant divergence", log_det),
    Attack(A, "log-det-of-two", "nothing: the same, of two features", log_det_of_two),
    Attack(A, "budget", "nothing: a budget that is kept", budget),
    Attack(
        A,
        "budget-at-a-price",
        "a budget that is exceeded at its price",
        lambda: claiming(budget("4", "4", 0.49, 0.125**0.5), "8/100", "11/100"),
    ),
    Attack(A, "negative-log", "nothing: a loss that is negative", negative_log),
    Attack(A, "negative-root", "nothing: another one", negative_root),
    Attack(A, "itakura-saito", "nothing: a divergence of a distance from its bound", itakura_saito),
    Attack(A, "box", "nothing: a squared hinge, which is a box with one end", box),
    Attack(A, "box-linear", "nothing: a linear loss, which may be negative", linear_box),
    Attack(A, "exponential", "nothing: an exponential loss", exponential),
    Attack(A, "spectral-bound", "nothing: a bound on the metric", spectral_bound),
    Attack(A, "row-norms", "nothing: the norm of the only row", row_norms),
    Attack(A, "inverse-trace", "nothing: a trace of an inverse", inverse_trace),
    Attack(A, "blocks", "a dual matrix that is large between two blocks", lambda: blocks([0, 1])),
    Attack(A, "blocks-by-name", "the same, with other numbers for the blocks", lambda: blocks([1, 0])),
    Attack(A, "terms", "nothing: a sum of two regularizers", two_terms),
    Attack(A, "sum", "nothing: a sum of two risks", twice_half),
    Attack(A, "sum-of-one", "a sum whose second risk bears all of the dual point", lambda: twice_half((0.0, 0.12))),
    Attack(A, "worst", "nothing: the worst of two triplets", worst_half),
    Attack(A, "worst-alone", "the worst of two, where one bears all of the weight", lambda: worst_half(2**20, 0)),
    Attack(A, "worst-of-all", "all parts, at the cap", lambda: worst_half(share="1")),
    Attack(A, "huge-k", "a k beyond all lists", lambda: claiming(ranking(measure="ndcg", k=2**39), "1/33", "6/10")),
    Attack(
        A,
        "c-is-two",
        "a title that states another C than the file",
        lambda: claiming(ranking(C="2", title="C = 1"), "1/65", "1/63"),
    ),
    Attack(
        A,
        "title-not-ascii",
        "a title that ASCII cannot show",
        lambda: changed(triplet(), top(title="Gr\u00fc\u00dfe \u4e16\u754c \U0001f600")),
    ),
    Attack(A, "optimum-zero", "an optimum of zero", nothing_to_pay),
    Attack(A, "offset-1e8", "points that stand far from the origin", lambda: claiming(shifted(1e8), "0", "20")),
    Attack(A, "tiny-scale", "squares of points below 1e-300", tiny),
    Attack(A, "huge-scale", "squares of points above 1e180", huge),
    Attack(
        A,
        "rankings-of-two",
        "two rankings of two near and two far items, the last without weight and with too many items above",
        lambda: of_rankings([2**30, 2**30, 0], [[0, 1], [1, 1], [2, 2]], [2**30, 3 * 2**30], [2**31 + 2**30, 2**30]),
    ),
    Attack(
        A,
        "rankings-of-some",
        "a ranking with two of three far items above the near one",
        lambda: of_rankings([2**30], [[2]], [2**31], [2**30, 2**30, 0]),
    ),
    Attack(
        A,
        "budget-of-nothing",
        "a budget with a multiplier of zero, and no share of the dual point",
        lambda: claiming(without_dual(budget("0")), "0", "21/100"),
    ),
    Attack(A, "form", "nothing: a quadratic form that lacks nothing", lambda: of_form("0")),
    Attack(A, "form-that-lacks-a-half", "the same, which is said to lack a half", lambda: of_form("1/2")),
    Attack(A, "over-one", "a weight over the root of one", lambda: changed(triplet(), regularizer(over_root_of=1))),
    Attack(
        A,
        "rankings-of-the-least-weight",
        "a ranking of the weight 2^-36",
        lambda: of_rankings([1], [[1]], [1], [1]),
    ),
    Attack(
        A,
        "weights-of-zero",
        "a diagonal metric of zero, no regularizer, and no share of the dual point",
        lambda: diagonal(
            claiming(
                changed(
                    without_dual(triplet(factor=one(0.0))), lambda t: t["problem"].update(regularizer={"kind": "zero"})
                ),
                "0",
                "2",
            )
        ),
    ),
    Attack(A, "hard-margin", "nothing: a hard margin", lambda: paired("hard", 0.01, "1/2", factor=one(1.0))),
    Attack(
        A,
        "nothing-at-all",
        "a factor without rows",
        lambda: claiming(without_dual(triplet(factor=np.zeros((0, 1)))), "0", "2"),
    ),
    Attack(A, "auc", "nothing: AUC of one query, by sums of slopes", lambda: summed(2**31 - 9, 2**31 - 9)),
    Attack(
        A,
        "denominator",
        "a rational in other than lowest terms, with leading zeros",
        lambda: changed(triplet(), regularizer(weight="0050/0100")),
    ),
    Attack(A, "program", "a conic program by relations, pivots, tight rows, held unknowns and a charge", program),
    Attack(
        A,
        "second-version",
        "a metric problem in a file of the second version",
        lambda: changed(triplet(), top(version=2)),
    ),
    Attack(
        N,
        "claims-a-hair-better",
        "a lower bound 10^-30 above the optimum",
        lambda: claiming(triplet(), f"{10**30 + 16}/{16 * 10**30}", "1"),
    ),
    Attack(N, "claims-nonsense", "a lower bound above the upper one", lambda: claiming(triplet(), "2", "1")),
    Attack(
        N,
        "upper-bound-beyond-floats",
        "a proven upper bound above 1.8e308, which float() refuses",
        lambda: raised(triplet(), "1" + "0" * 300),
    ),
    Attack(N, "worst-above-cap", "a part with a weight above the cap", lambda: worst_half(2**19 + 1, 0, "1")),
    Attack(N, "worst-above-one", "parts with weights of more than one", lambda: worst_half(2**19, 2**19 + 1)),
    Attack(N, "factor-overflows", "a factor whose metric overflows", lambda: triplet(factor=np.array([[1e200]]))),
    Attack(N, "hard-margin-missed", "a metric outside of a hard margin", hard_margin),
    Attack(N, "unbounded", "a linear term that makes the problem unbounded below", lambda: linear(-1e9)),
    Attack(
        N,
        "slopes-huge-squared",
        "slopes whose squares overflow",
        lambda: changed(triplet(slopes=np.array([1e200])), terms(loss="squared")),
    ),
    Attack(
        N,
        "form-not-convex",
        "a quadratic form with a zero on its diagonal",
        lambda: quadratic([[0.0, 1.0], [1.0, 0.0]]),
    ),
    Attack(N, "large-slopes", "slopes outside of their box", lambda: triplet(slopes=np.array([1e308]))),
    Attack(N, "sums-differ", "sums of slopes of near and far items that differ", lambda: summed(2**31, 2**31 - 1)),
    Attack(N, "sums-above-one", "sums that exceed what slopes of one give", lambda: summed(2**37, 2**37)),
    Attack(
        N,
        "sums-overflow",
        "sums that would overflow, were they added up",
        lambda: summed(2**52, 2**52),
    ),
    Attack(
        N,
        "rankings-differ",
        "sums that are not those of the rankings",
        lambda: (lambda d, a: (d, a | {"far_sums": a["far_sums"] + 1}))(*ranking()),
    ),
    Attack(
        N,
        "rankings-without-sums",
        "sums that leave a ranking out",
        lambda: (lambda d, a: (d, a | {"weights": 2 * a["weights"], "near_sums": 0 * a["near_sums"]}))(*ranking()),
    ),
    Attack(N, "many-rankings", "four million rankings of one query", many_rankings),
    Attack(N, "share-above-one", "a share of two", lambda: changed(triplet(), lambda t: t["dual"].update(share="2"))),
    Attack(
        N, "share-negative", "a share below zero", lambda: changed(triplet(), lambda t: t["dual"].update(share="-1"))
    ),
    Attack(
        N,
        "share-a-little-above-one",
        "a share that is feasible and more than one",
        lambda: changed(triplet(), lambda t: t["dual"].update(share="101/100")),
    ),
    Attack(
        N,
        "share-of-less-than-nothing",
        "a share below zero that claims nothing",
        lambda: claiming(changed(triplet(), lambda t: t["dual"].update(share="-1/100")), "-1", "1"),
    ),
    Attack(
        N,
        "rankings-weigh-more-than-one",
        "weights of rankings of which the sum exceeds one, the last of the perfect ranking",
        lambda: of_rankings([2**30, 2**36 - 2**30 + 1], [[1], [0]], [2**30], [2**30]),
    ),
    Attack(
        N,
        "rankings-weigh-more-than-one-in-a-group-of-nobody",
        "the same in a column that no query has",
        of_two_groups,
    ),
    Attack(
        N,
        "rankings-without-far-sums",
        "sums of far items that leave a ranking out",
        lambda: of_rankings([2**30], [[1]], [2**30], [0]),
    ),
    Attack(
        N,
        "rankings-without-near-sums",
        "sums of near items that leave a ranking out",
        lambda: of_rankings([2**30], [[1]], [0], [2**30]),
    ),
    Attack(
        N,
        "rankings-pile-up",
        "sums of far items of which one has more than its rankings give",
        lambda: of_rankings([2**30, 2**30], [[1], [2]], [3 * 2**30], [2**31 + 1, 2**30 - 1]),
    ),
    Attack(
        N,
        "rankings-pile-up-near",
        "the same of near items",
        lambda: of_rankings([2**30, 2**30], [[0, 1], [1, 0]], [2**31 + 1, 2**30 - 1], [3 * 2**30]),
    ),
    Attack(
        N,
        "rankings-above-more-than-there-are",
        "a ranking with two far items above a near one, of one far item",
        lambda: of_rankings([2**30], [[1, 1]], [2**30, 2**31], [2**31]),
    ),
    Attack(
        N,
        "rankings-above-more-than-two",
        "a ranking with three far items above a near one, of two",
        lambda: of_rankings([2**30], [[1, 2]], [2**30, 3 * 2**30], [2**31, 2**31]),
    ),
    Attack(
        N,
        "rankings-of-which-one-is-above-more-than-two",
        "the same beside a ranking that is none",
        lambda: of_rankings([2**30, 2**30], [[1, 2], [1, 0]], [2**31, 4 * 2**30], [2**32, 2**31]),
    ),
    Attack(
        N,
        "sums-of-fewer",
        "sums of slopes of near items less than those of far ones",
        lambda: claiming(summed(2**31 - 1, 2**31), "-1", "100"),
    ),
    Attack(N, "sums-wrapped", "sums of far items that are those of near ones modulo 2^64", wrapped),
    Attack(
        N,
        "trace-norm-slope-against-a-linear-term",
        "a slope of a trace norm below minus its weight, which a linear term makes feasible",
        lambda: against_a_linear_term("trace norm", -0.51, above=one(0.0626)),
    ),
    Attack(
        N,
        "trace-norm-slope-against-weights",
        "the same on diagonal metrics",
        lambda: diagonal(against_a_linear_term("trace norm", -0.51)),
    ),
    Attack(
        N,
        "norm-slope-against-a-linear-term",
        "the same of a norm",
        lambda: against_a_linear_term("frobenius", -0.51),
    ),
    Attack(
        N,
        "entries-slope-against-a-linear-term",
        "the same of entries",
        lambda: claiming(
            changed(
                by({"kind": "entrywise", "weight": "1/2", "diagonal": True}, slope=one(-0.51), linear=one(1.0)),
                problem(linear=True),
            ),
            "0",
            "1",
        ),
    ),
    Attack(
        N,
        "hard-margin-missed-by-a-hair",
        "a metric that misses a hard margin by 10^-12",
        lambda: paired("hard", 0.0, "1", factor=one(1.0 - 5e-13)),
    ),
    Attack(
        N,
        "hard-margin-missed-by-one-of-two",
        "a metric that keeps one of two hard margins",
        lambda: paired(
            "hard",
            0.0,
            "1",
            factor=one(0.5),
            pairs=np.array([[0, 1], [0, 2]]),
            terms=np.zeros(2, np.int64),
            slopes=np.zeros(2),
        ),
    ),
    *(
        Attack(
            N,
            f"one-slope-{name}",
            "a slope outside of its box beside one in it",
            lambda slope=slope: claiming(
                triplet(
                    triplets=np.array([[0, 1, 2]] * 2), terms=np.zeros(2, np.int64), slopes=np.array([0.03, slope])
                ),
                "-1",
                "100",
            ),
        )
        for name, slope in (("large", 1.01), ("negative", -0.01))
    ),
    Attack(
        N,
        "hard-margin-without-room",
        "a hard margin that is kept, with nothing left for rounding",
        lambda: paired("hard", 0.0, "1", factor=one(1.0)),
    ),
    Attack(
        N,
        "root-of-zero",
        "a root of a distance of zero, which rounding may have made",
        lambda: paired("negative root", 0.06, "1", pairs=np.array([[0, 0]])),
    ),
    Attack(
        N,
        "root-of-a-negative-number",
        "a loss that is infinite at the metric",
        lambda: claiming(changed(triplet(triplets=np.array([[0, 2, 1]])), terms(loss="negative root")), "-100", "100"),
    ),
    Attack(
        N,
        "root-of-one-negative-number",
        "a loss of two comparisons that is infinite for one",
        lambda: claiming(
            changed(
                triplet(
                    triplets=np.array([[0, 2, 1], [0, 1, 2]]), terms=np.zeros(2, np.int64), slopes=np.ones(2) * 0.06
                ),
                terms(loss="negative root"),
            ),
            "-100",
            "100",
        ),
    ),
    Attack(
        N,
        "divergence-from-zero-once",
        "divergences from bounds of which one is zero",
        lambda: paired(
            "itakura-saito",
            0.0,
            "1",
            pairs=np.array([[0, 1], [0, 2]]),
            terms=np.zeros(2, np.int64),
            slopes=np.array([0.01, 0.01]),
            targets=np.array([1.0, 0.0]),
        ),
    ),
    Attack(
        N,
        "hard-slope-negative",
        "a negative slope of a hard margin",
        lambda: paired("hard", -0.01, "0"),
    ),
    Attack(
        N,
        "divergence-slope-of-nothing",
        "a slope of a divergence from a bound of zero",
        lambda: paired("itakura-saito", 0.01, "0"),
    ),
    Attack(N, "zero-without-room", "no regularizer, and a linear term below the dual point", lambda: zero(0.47)),
    Attack(
        N,
        "entries-beyond-weight",
        "a slope larger than the weight by an ulp",
        lambda: entries(float(np.nextafter(0.5, 1.0))),
    ),
    Attack(
        N,
        "entries-off-the-diagonal",
        "a slope on the diagonal, where entries are free",
        lambda: changed(entries(0.499), regularizer(diagonal=False)),
    ),
    Attack(
        N,
        "prior-slope-beyond-weight",
        "a slope of a norm to a prior above its weight",
        lambda: to_a_prior("frobenius", 0.51),
    ),
    Attack(
        N,
        "prior-not-paid",
        "a lower bound without what the slope costs at the prior",
        lambda: claiming(to_a_prior("frobenius", 0.49), "1/17", "1/15"),
    ),
    Attack(N, "slope-below-dual-point", "a slope smaller than the dual point", lambda: squared(0.499)),
    Attack(N, "trace-norm-slope", "a slope of a trace norm above its weight", lambda: trace_norm(0.51)),
    Attack(N, "trace-norm-slope-negative", "a slope of a trace norm below minus its weight", lambda: trace_norm(-0.51)),
    Attack(N, "above-too-small", "a matrix above that is not", lambda: trace_norm(above=0.0624)),
    Attack(N, "above-negative", "a matrix above that is negative", lambda: trace_norm(above=-0.5)),
    Attack(
        N,
        "above-negative-of-a-negative",
        "a negative matrix above a difference that is more negative",
        lambda: claiming(
            by(
                {"kind": "trace norm", "weight": "1/2", "prior": True}, slope=one(0.49), prior=one(0.5), above=one(-0.1)
            ),
            "-1",
            "100",
        ),
    ),
    Attack(
        N,
        "form-with-a-zero-on-its-diagonal",
        "a quadratic form that is convex with what it is said to lack, and bounds nothing",
        lambda: changed(quadratic([[0.0, 1.0], [1.0, 0.0]]), lambda t: t["dual"]["regularizer"].update(lack="2")),
    ),
    Attack(
        N,
        "lack-below-nothing",
        "a feasible slope of a quadratic form that lacks less than nothing, and is convex without that",
        lambda: of_form("-1/2"),
    ),
    Attack(
        N,
        "budget-without-room",
        "a budget that is spent to the last, with nothing left for rounding",
        lambda: claiming(
            by({"kind": "budget", "limit": "1/4"}, {"multiplier": "8"}, spent=one(1.0), factor=one(0.5)), "-100", "100"
        ),
    ),
    Attack(N, "log-det-root", "a root whose square leaves too little of the slope", lambda: log_det(2.84)),
    Attack(N, "log-det-root-tiny", "a root that a logarithm takes to its end", lambda: log_det(1e-308)),
    Attack(N, "log-det-root-huge", "a root whose square overflows", lambda: log_det(1e200)),
    Attack(N, "budget-exceeded", "a metric that exceeds a budget by a hair", lambda: budget(factor=0.31623)),
    Attack(
        N,
        "multiplier-negative",
        "a negative multiplier of a budget that costs a negative amount",
        lambda: budget("-8", spent=-1.0),
    ),
    Attack(
        N,
        "multiplier-above-price",
        "a multiplier of a budget above its price",
        lambda: budget(weight="4", factor=0.125**0.5),
    ),
    Attack(N, "multiplier-huge", "a multiplier of 10^300", lambda: budget("1" + "0" * 300)),
    Attack(
        N, "negative-log-share", "half of a dual point of a loss that is negative", lambda: negative_log("1/2", "-1")
    ),
    Attack(
        N, "negative-root-share", "nothing of a dual point of a loss that is negative", lambda: negative_root("0", "0")
    ),
    Attack(
        N,
        "negative-log-slope",
        "a slope of zero, of which there is no logarithm",
        lambda: loss("negative log", 0.0, 2.0, "-2", "-1"),
    ),
    Attack(
        N,
        "negative-root-slope",
        "a slope of the smallest size, by which is divided",
        lambda: loss("negative root", 5e-324, 8.0, "-5", "-3"),
    ),
    Attack(N, "itakura-saito-slope", "a slope beyond its box", lambda: itakura_saito(2.0, "-1")),
    Attack(N, "itakura-saito-of-zero", "a divergence from a bound of zero", lambda: itakura_saito(margin="0")),
    Attack(N, "box-slope", "a slope below the only end of a box", lambda: box(-1e-300)),
    Attack(N, "box-share", "half of a dual point of a linear loss", lambda: linear_box("1/2", "0")),
    Attack(
        N,
        "box-without-end",
        "a margin that is exceeded on the side of an infinite end",
        lambda: box(0.06, low="0", curvature="0"),
    ),
    Attack(N, "exponential-slope", "a slope below all of which there is a logarithm", lambda: exponential(1e-310)),
    Attack(N, "exponential-negative", "a slope below zero", lambda: exponential(-0.01)),
    Attack(N, "exponential-huge", "a power beyond floats", lambda: exponential(margin="10000")),
    Attack(N, "spectral-bound-root", "a root whose square is too small", lambda: spectral_bound(2.8)),
    Attack(
        N,
        "spectral-bound-exceeded",
        "a metric that exceeds its bound by a hair",
        lambda: spectral_bound(factor=0.31623),
    ),
    Attack(N, "row-norms-slope", "a row of the slope that is above the weight", lambda: row_norms(0.501)),
    Attack(N, "inverse-trace-slope", "a slope whose square is too large", lambda: inverse_trace(0.993)),
    Attack(N, "inverse-trace-above", "a number below the inverse", lambda: inverse_trace(above=0.12499)),
    Attack(N, "blocks-none", "the dual matrix of two blocks where all metrics are meant", lambda: blocks(cone="psd")),
    Attack(N, "blocks-one", "the same with one block", lambda: blocks([1, 1])),
    Attack(
        N,
        "terms-beyond-weight",
        "slopes of a sum of regularizers of which one exceeds its weight",
        lambda: two_terms(0.3, 0.2),
    ),
    Attack(
        N,
        "lack-negative",
        "a quadratic form that lacks less than nothing",
        lambda: changed(quadratic([[1.0]]), lambda t: t["dual"]["regularizer"].update(lack="-1")),
    ),
    Attack(N, "sum-slope", "a slope outside of its box, of one risk of a sum", lambda: twice_half((0.06, -0.06))),
    Attack(N, "rest-of-many", "a part of one row of 10,000, each with 20,000 far items", rest_of_many),
    Attack(N, "linear-of-any-size", "a linear term that overflows with the points", lambda: linear(1e308)),
    Attack(N, "program-relation", "an equation that does not follow", lambda: program(b=[0.0, 1, 0, 0, 2, 0])),
    Attack(
        N,
        "program-relation-of-two",
        "a relation with another equation that follows",
        lambda: program(x_relation=[[-2, 0], [1, 0], [2, 2], [1, 1]]),
    ),
    Attack(
        N,
        "program-pivots-coupled",
        "a pivot in the equation of another one",
        lambda: program(x_pivot_equations=[2, 0], x_pivot_unknowns=[1, 0]),
    ),
    Attack(N, "program-held", "an equation of held unknowns that is missed", lambda: program(z_spreads=[0.0] * 6)),
    Attack(N, "program-multiplier", "a multiplier that is negative", lambda: program(z=[-1.0, 0, 0, -1, 0, 0])),
    Attack(
        N,
        "program-concave",
        "a lower triangle that is not convex",
        lambda: program(p=[[1, 0, 0], [-0.25, 0, 0], [0, 0, 0]]),
    ),
    Attack(
        N,
        "program-charge-without-bound",
        "a charge on what may be of any size",
        lambda: program(a=[[1, -1, 0], [2, -2, 0], [0, 0, -1], [0, 0, 2], [0, 0, 0], [0, 0, 0]]),
    ),
    Attack(R, "bz2-bomb", "1 GiB in a bz2 member that says it is short", bz2_bomb),
    Attack(
        R,
        "deflate-bomb",
        "16 MiB in a member that says so, under a header of three numbers",
        lambda: deflate_bomb(None),
    ),
    Attack(R, "deflate-bomb-lying", "the same in a member that says it is short", lambda: deflate_bomb(152)),
    Attack(R, "json-bomb", "a description of 2 MiB, deflated", lambda: text_with(lambda text: text + " " * 2**21)),
    Attack(R, "wide", "a factor of 16,000 columns", wide),
    Attack(R, "tall", "MAP on 12,000 points", tall),
    Attack(R, "crowded", "10,000 queries among as many points", crowded),
    Attack(R, "features", "2^38 columns", lambda: changed(triplet(), problem(features=2**38))),
    Attack(R, "all-pairs", "all pairs of 20,000 points", many_slopes),
    Attack(
        R,
        "all-pairs-as-lists",
        "the same, with a list of one item beside them",
        lambda: many_slopes(near_stops=np.ones(1, dtype=np.uint8), far_stops=np.ones(1, dtype=np.uint8)),
    ),
    Attack(R, "lzma", "an LZMA member", lambda: lzma_member(False)),
    Attack(R, "lzma-corrupt", "a corrupt LZMA member, whose error is of a class of its own", lambda: lzma_member(True)),
    Attack(R, "method-unknown", "an unknown compression", lambda: lying(method=99)),
    Attack(R, "encrypted", "the flag of encryption", lambda: lying(flags=1)),
    Attack(R, "size-zero", "a member that says it is empty", lambda: lying(size=0)),
    Attack(R, "size-4-gib", "a member that says it has 4 GiB", lambda: lying(size=2**32 - 1)),
    Attack(R, "packed-4-gib", "a member that says it is packed in 4 GiB", lambda: lying(packed=2**32 - 1)),
    Attack(R, "wrong-checksum", "a member of another CRC", lambda: lying(crc=1)),
    Attack(
        R,
        "zip64-extra",
        "sizes in a broken ZIP64 field",
        lambda: points_as(
            npy(triplet()[1]["points"]), extra=b"\x01\x00\x04\x00\xff\xff\xff\xff", central={"size": 2**32 - 1}
        ),
    ),
    Attack(
        R,
        "offset-beyond",
        "a member that begins beyond the end",
        lambda: points_as(npy(triplet()[1]["points"]), central={"offset": 2**31}),
    ),
    Attack(
        R,
        "entries",
        "an end that states another number of members",
        lambda: archive(packed(triplet()), entries=9, total=9),
    ),
    Attack(R, "member-twice", "a member twice", twice),
    Attack(R, "members-overlap", "two members of the same bytes", overlapping),
    Attack(R, "member-upwards", "a member named ../x.npy", lambda: named(b"../x.npy")),
    Attack(R, "member-named-by-ansi", "a member whose name forges a line", lambda: named(ANSI.encode() + b".npy")),
    Attack(R, "member-named-by-nothing", "a member without a name", lambda: named(b".npy")),
    Attack(R, "member-missing", "no points", lambda: without("points")),
    Attack(
        R, "member-unused", "an array that nothing speaks of", lambda: triplet(targets=np.zeros(1), codes=np.zeros(3))
    ),
    Attack(R, "no-json", "no description", lambda: archive(packed(triplet())[1:])),
    Attack(R, "no-zip", "a line of text", lambda: b"accepted\n"),
    Attack(R, "empty", "an empty file", lambda: b""),
    Attack(R, "cut", "the end cut off", lambda: archive(packed(triplet()))[:-30]),
    Attack(
        R,
        "header-multi-line-string",
        "a header that ends in a string of several lines",
        lambda: header(HEADER + " '''"),
    ),
    Attack(R, "header-open", "a header that does not end", lambda: header(HEADER[:-1])),
    Attack(R, "header-python-2", "a header as Python 2 wrote it", lambda: header(HEADER.replace("3,", "3L,"))),
    Attack(R, "header-nested", "a header of 1,500 brackets", lambda: header("(" * 1500)),
    Attack(R, "header-expression", "a header that computes", lambda: header(HEADER.replace("False", "0 == 1"))),
    Attack(R, "header-not-ascii", "a header with other letters", lambda: header(HEADER.replace("<f8", "<f\u00e9"))),
    Attack(R, "header-ansi", "a header that forges a line", lambda: header(HEADER.replace("<f8", ANSI))),
    Attack(
        R,
        "header-long",
        "a header of 60,000 blanks",
        lambda: points_as(npy(triplet()[1]["points"], " " * 60000 + HEADER), method=DEFLATED),
    ),
    Attack(
        R,
        "header-version-3",
        "version 3 of the npy format",
        lambda: points_as(npy(triplet()[1]["points"], HEADER, (3, 0))),
    ),
    Attack(R, "shape-product", "a shape whose product overflows", lambda: header(shape=(2**62, 4))),
    Attack(R, "shape-huge", "2^60 numbers", lambda: header(shape=(2**40, 2**20))),
    Attack(R, "shape-negative", "a negative length", lambda: header(shape=(-3, -1))),
    Attack(R, "shape-bool", "truth values for lengths", lambda: header(shape=(3, True))),
    Attack(R, "shape-long", "a length of 400 digits", lambda: header(shape=(10**400, 1))),
    Attack(
        R,
        "fortran-order",
        "an array by columns whose hash is that by rows",
        lambda: header(shape=(1, 3), fortran_order=True),
    ),
    Attack(
        R,
        "big-endian",
        "floats of another order of bytes",
        lambda: points_as(npy(triplet()[1]["points"].astype(">f8"))),
    ),
    Attack(R, "object", "a pickle", lambda: points_as(npy(np.array([[None]], dtype=object)))),
    Attack(R, "structured", "a type of several fields", lambda: header(descr=[("a", "<f8")])),
    Attack(R, "float32", "floats of four bytes", lambda: triplet(factor=np.ones((1, 1), dtype="<f4"))),
    Attack(R, "complex", "complex numbers", lambda: triplet(points=np.ones((3, 1), dtype="<c16"))),
    Attack(R, "points-nan", "NaN for a point", lambda: triplet(points=np.array([[0.0], [np.nan], [1.0]]))),
    Attack(R, "slopes-infinite", "an infinite slope", lambda: triplet(slopes=np.array([np.inf]))),
    Attack(R, "wrong-hash", "an array changed after it was hashed", lambda: points_as(npy(np.ones((3, 1))))),
    Attack(
        R,
        "features-none",
        "points without features",
        lambda: changed(without_dual(triplet(points=np.zeros((3, 0)), factor=np.zeros((1, 0)))), problem(features=0)),
    ),
    Attack(R, "index-outside", "a row that is not there", lambda: triplet(triplets=np.array([[0, 1, 3]]))),
    Attack(R, "index-negative", "a row counted from the end", lambda: triplet(triplets=np.array([[0, 1, -1]]))),
    Attack(R, "index-huge", "a row of 2^62", lambda: triplet(triplets=np.array([[0, 1, 2**62]]))),
    Attack(R, "index-float", "rows that are floats", lambda: triplet(triplets=np.array([[0.0, 1.0, 2.0]]))),
    Attack(R, "slopes-too-few", "fewer slopes than triplets", lambda: triplet(slopes=np.zeros(0))),
    Attack(
        R,
        "query-weights-negative",
        "negative weights of queries",
        lambda: (lambda d, a: (d, a | {"query_weights": np.array([-1e-300])}))(*ranking()),
    ),
    Attack(
        R,
        "one-weight-negative",
        "a negative weight of one of two comparisons",
        lambda: triplet(
            triplets=np.array([[0, 1, 2]] * 2),
            terms=np.zeros(2, np.int64),
            slopes=np.zeros(2),
            comparison_weights=np.array([1.0, -1.0]),
        ),
    ),
    Attack(
        R,
        "hard-margin-of-two",
        "a hard margin with another weight than one",
        lambda: changed(paired("hard", 0.01, "0"), terms(weight="2")),
    ),
    Attack(
        R,
        "sum-of-none",
        "a sum of no risks",
        lambda: (
            changed(
                without_dual(triplet()),
                lambda t: (
                    t["dual"].update(kind="sum", summands=[]),
                    t["problem"].update(risk={"kind": "sum", "summands": []}),
                ),
            )[0],
            {"factor": one(0.5)},
        ),
    ),
    Attack(
        R,
        "bits-of-a-query",
        "slopes over more than 2^53 in a query",
        lambda: changed(
            of_rankings([2**30], [[1] + [0] * 127], [2**30] * 128, [2**37] + [0] * 64),
            lambda t: t["dual"].update(bits=40),
        ),
    ),
    Attack(R, "points-none", "no points at all", lambda: triplet(points=np.zeros((0, 1)))),
    Attack(R, "factor-of-another-width", "a factor of two columns", lambda: triplet(factor=np.ones((1, 2)))),
    Attack(R, "weights-negative", "negative weights of comparisons", lambda: triplet(comparison_weights=-np.ones(1))),
    Attack(
        R,
        "metric-negative",
        "a negative diagonal metric",
        lambda: (
            lambda d, a: (d, {k: v for k, v in a.items() if k != "factor"} | {"weights_of_metric": np.array([-1e-300])})
        )(*changed(triplet(), problem(cone="diagonal"))),
    ),
    Attack(R, "linear-not-symmetric", "a linear term that is not symmetric", lambda: linear(1.0, 2)),
    Attack(R, "form-negative", "a quadratic form with a negative entry", lambda: quadratic([[1.0, -1.0], [-1.0, 1.0]])),
    Attack(
        R,
        "lists-backwards",
        "a list that ends before it begins",
        lambda: (lambda d, a: (d, a | {"near": np.array([1, 1]), "near_stops": np.array([2, 1])}))(*ranking()),
    ),
    Attack(
        R,
        "list-empty",
        "a query without far items",
        lambda: (lambda d, a: (d, a | {"far_stops": np.array([0])}))(*ranking()),
    ),
    Attack(
        R,
        "first-list-empty",
        "a first query without near items",
        lambda: of_lists(
            anchors=np.zeros(2, np.int64),
            near_stops=np.array([0, 1]),
            far=np.array([2, 2]),
            far_stops=np.array([1, 2]),
            far_sums=np.array([0, 0]),
        ),
    ),
    Attack(
        R,
        "rest-of-nobody",
        "a query to which all others are near",
        lambda: of_lists(
            near=np.array([1, 2]),
            near_stops=np.array([2]),
            near_sums=np.array([0, 0]),
            itself=np.zeros(1, np.int64),
            far=None,
            far_stops=None,
            far_sums=np.zeros(0, np.int64),
        ),
    ),
    Attack(
        R,
        "rest-of-one-is-nobody",
        "two queries, to one of which all others are near",
        lambda: of_lists(
            anchors=np.zeros(2, np.int64),
            near=np.array([1, 2, 1]),
            near_stops=np.array([2, 3]),
            near_sums=np.zeros(3, np.int64),
            itself=np.zeros(2, np.int64),
            far=None,
            far_stops=None,
            far_sums=np.zeros(1, np.int64),
        ),
    ),
    Attack(
        R,
        "loss-of-lists-unknown",
        "a loss of lists without a name",
        lambda: changed(
            of_lists(), lambda t: t["problem"].update(risk={"kind": "pairs of lists", "loss": "x", "weight": "1"})
        ),
    ),
    Attack(
        R,
        "short-of-map",
        "short lists as printed of a measure that has no k",
        lambda: changed(ranking(), lambda t: t["problem"]["risk"].update(short="printed")),
    ),
    Attack(
        R,
        "lists-of-nobody",
        "more lists of far items than queries",
        lambda: of_lists(far=np.array([2, 2]), far_stops=np.array([1, 2]), far_sums=np.array([0])),
    ),
    Attack(
        R,
        "group-outside",
        "a group that has no weight",
        lambda: (lambda d, a: (d, a | {"groups": np.array([1])}))(*ranking()),
    ),
    Attack(R, "err-with-k", "a k of a measure that has none", lambda: ranking(measure="err", k=1)),
    Attack(
        R,
        "zero-weight",
        "a weight of no regularizer",
        lambda: changed(triplet(), regularizer(kind="zero")),
    ),
    Attack(R, "terms-within-terms", "sums of regularizers of sums, 300 deep", nested_terms),
    Attack(
        R,
        "terms-of-one",
        "a sum of one regularizer",
        lambda: by({"kind": "sum", "summands": [{"kind": "zero"}]}, {"summands": [{}]}),
    ),
    Attack(
        R,
        "terms-of-many",
        "a sum of nine regularizers",
        lambda: by({"kind": "sum", "summands": [{"kind": "zero"}] * 9}, {"summands": [{}] * 9}),
    ),
    Attack(
        R,
        "terms-without-parameters",
        "fewer tables of parameters than regularizers",
        lambda: changed(two_terms(), lambda t: t["dual"]["regularizer"].update(summands=[{}])),
    ),
    Attack(
        R,
        "terms-with-parameters",
        "a parameter of a regularizer that has none",
        lambda: changed(two_terms(), lambda t: t["dual"]["regularizer"].update(summands=[{}, {"multiplier": "1"}])),
    ),
    Attack(
        R,
        "terms-of-a-form",
        "a quadratic form in a sum",
        lambda: two_terms(summands=[{"kind": "quadratic form", "of": "matrix"}, {"kind": "zero"}]),
    ),
    Attack(
        R,
        "term-number",
        "the slope of a term under another number",
        lambda: renamed(two_terms(), "term1_slope", "term01_slope"),
    ),
    Attack(R, "slope-of-trace", "a slope where none is asked for", lambda: triplet(slope=one(0.5))),
    Attack(R, "slope-missing", "no slope", lambda: by({"kind": "frobenius", "weight": "1/2"})),
    Attack(
        R,
        "slope-not-symmetric",
        "a slope that is not symmetric",
        lambda: changed(
            by(
                {"kind": "frobenius", "weight": "1/2"},
                points=np.zeros((3, 2)),
                factor=np.zeros((1, 2)),
                slope=np.array([[0.0, 0.1], [0.0, 0.0]]),
            ),
            problem(features=2),
        ),
    ),
    Attack(R, "slope-infinite", "an infinite slope of the regularizer", lambda: entries(np.inf)),
    Attack(
        R,
        "slope-of-many-features",
        "a slope of another shape",
        lambda: by({"kind": "frobenius", "weight": "1/2"}, slope=np.zeros((2, 2))),
    ),
    Attack(
        R,
        "caps",
        "the array of an earlier draft of the format",
        lambda: by({"kind": "frobenius", "weight": "1/2"}, cap=one(0.5)),
    ),
    Attack(
        R,
        "shift",
        "a key of an earlier draft of the format",
        lambda: changed(triplet(), lambda t: t["dual"].update(shift="0")),
    ),
    Attack(
        R,
        "dual-without-regularizer",
        "a dual point without a table for the regularizer",
        lambda: changed(triplet(), lambda t: t["dual"].pop("regularizer")),
    ),
    Attack(
        R,
        "dual-regularizer-is-a-list",
        "a list in its place",
        lambda: changed(triplet(), lambda t: t["dual"].update(regularizer=[])),
    ),
    Attack(
        R,
        "prior-missing",
        "a prior that is not there",
        lambda: by({"kind": "frobenius", "weight": "1/2", "prior": True}, slope=one(0.5)),
    ),
    Attack(
        R,
        "prior-unsaid",
        "a prior that nothing speaks of",
        lambda: by({"kind": "frobenius", "weight": "1/2"}, slope=one(0.5), prior=one(0.0)),
    ),
    Attack(
        R,
        "prior-false",
        "a prior that is said not to be there",
        lambda: changed(to_a_prior("frobenius", 0.49), regularizer(prior=False)),
    ),
    Attack(
        R, "prior-of-one", "1 in place of true", lambda: changed(to_a_prior("frobenius", 0.49), regularizer(prior=1))
    ),
    Attack(
        R,
        "prior-of-trace",
        "a prior of a trace",
        lambda: by({"kind": "trace", "weight": "1/2", "prior": True}, prior=one(0.0)),
    ),
    Attack(R, "above-missing", "no matrix above", lambda: to_a_prior("trace norm", 0.49)),
    Attack(
        R,
        "root-not-triangular",
        "an entry of 5e-324 below the diagonal of a root",
        lambda: log_det_of_two(root=np.array([[2.83, 0.0], [5e-324, 0.999]])),
    ),
    Attack(
        R,
        "factor-not-triangular",
        "the same in a factor",
        lambda: log_det_of_two(factor=np.array([[0.125**0.5, 0.0], [5e-324, 1.0]])),
    ),
    Attack(
        R,
        "prior-root-not-triangular",
        "the same in the root of a prior",
        lambda: log_det_of_two(prior_root=np.array([[4.0, 0.0], [5e-324, 1.0]])),
    ),
    Attack(
        R,
        "factor-of-fewer-rows",
        "a factor that is no triangle but as good as one",
        lambda: log_det_of_two(factor=np.array([[0.125**0.5, 1.0]])),
    ),
    Attack(R, "root-zero", "a zero on the diagonal of a root", lambda: log_det(0.0)),
    Attack(R, "root-negative", "a negative root", lambda: log_det(-2.83)),
    Attack(R, "factor-zero", "a metric of zero in a log det", lambda: log_det(factor=one(0.0))),
    Attack(
        R,
        "multiplier-missing",
        "no multiplier of a budget",
        lambda: changed(budget(), lambda t: t["dual"]["regularizer"].pop("multiplier")),
    ),
    Attack(
        R,
        "multiplier-is-a-number",
        "a multiplier that is no text",
        lambda: changed(budget(), lambda t: t["dual"]["regularizer"].update(multiplier=8)),
    ),
    Attack(R, "box-turned", "a box whose low end is the high one", lambda: box(0.0, low="1", high="0", curvature="0")),
    Attack(R, "box-curvature", "a curvature below zero", lambda: box(0.0, curvature="-1/2")),
    Attack(R, "box-of-a-hinge", "ends of a box at a hinge", lambda: changed(triplet(), terms(low="0"))),
    Attack(R, "row-norms-diagonal", "rows of diagonal metrics", lambda: diagonal(row_norms())),
    Attack(
        R,
        "inverse-trace-above-turned",
        "a matrix above that is not symmetric",
        lambda: inverse_trace(
            root_of_prior=np.array([[0.125], [0.0]]),
            slope=np.array([[0.99], [0.0]]),
            above=np.array([[0.12501, 0.1], [0.0, 1.0]]),
        ),
    ),
    Attack(R, "limit-zero", "a budget of nothing", lambda: changed(budget(), regularizer(limit="0"))),
    Attack(R, "limit-negative", "a budget of less than nothing", lambda: changed(budget(), regularizer(limit="-1/10"))),
    Attack(
        R,
        "budget-over-root",
        "a budget with a key that it has not",
        lambda: changed(budget(), regularizer(over_root_of=4)),
    ),
    Attack(
        R,
        "blocks-across",
        "a row of a factor that is not zero in two blocks",
        lambda: blocks([0, 1], factor=np.array([[0.25, 5e-324]])),
    ),
    Attack(R, "blocks-outside", "a block of a number beyond the features", lambda: blocks([0, 2])),
    Attack(R, "blocks-negative", "a block of a negative number", lambda: blocks([0, -1])),
    Attack(R, "blocks-too-few", "fewer numbers of blocks than features", lambda: blocks([0])),
    Attack(R, "blocks-missing", "block-diagonal metrics without blocks", lambda: blocks()),
    Attack(R, "blocks-of-psd", "blocks of all metrics", lambda: blocks([0, 1], cone="psd")),
    Attack(
        R,
        "sum-with-an-array-of-all",
        "slopes of a risk of a sum without its number",
        lambda: renamed(twice_half(), "summand0_slopes", "slopes"),
    ),
    Attack(R, "sum-of-all-pairs", "sixteen times all pairs of 5,000 points", sum_of_all_pairs),
    Attack(
        R,
        "sum-within-sum",
        "sums of sums, 300 deep",
        lambda: changed(
            twice_half(),
            lambda t: t["problem"].update(
                risk=reduce(lambda risk, _: {"kind": "sum", "summands": [risk]}, range(300), t["problem"]["risk"])
            ),
        ),
    ),
    Attack(R, "worst-negative", "a negative weight of a part", lambda: worst_half(2**20, -1)),
    Attack(R, "worst-share", "a share above one", lambda: worst_half(share="2")),
    Attack(R, "worst-of-nothing", "worst parts of no risk", lambda: worst_half(of="x")),
    Attack(
        R, "worst-of-worst", "worst parts of worst parts", lambda: worst_half(of=worst_half()[0]["problem"]["risk"])
    ),
    Attack(R, "bits", "slopes over 2^60", lambda: changed(ranking(), lambda table: table["dual"].update(bits=60))),
    Attack(
        R,
        "denominator-zero",
        "a rational with the denominator 0",
        lambda: changed(triplet(), regularizer(weight="1/0")),
    ),
    Attack(
        R,
        "denominator-zeros",
        "a rational with the denominator 00",
        lambda: changed(triplet(), regularizer(weight="1/00")),
    ),
    Attack(
        R,
        "digits",
        "a rational of 100,000 digits",
        lambda: text_with(lambda text: text.replace('"1/2"', f'"{"1" * 100000}"')),
    ),
    Attack(R, "digits-beyond-floats", "a claim of 1e399", lambda: claiming(triplet(), "0", "1" + "0" * 399)),
    Attack(
        R, "digits-not-ascii", "a rational in Arabic digits", lambda: changed(triplet(), regularizer(weight="\u0661"))
    ),
    Attack(
        R,
        "rational-with-a-line-end",
        "a rational with the end of a line",
        lambda: changed(triplet(), regularizer(weight="1\n")),
    ),
    Attack(R, "weight-zero", "a weight of zero", lambda: changed(triplet(), regularizer(weight="0"))),
    Attack(R, "weight-negative", "a negative weight", lambda: changed(triplet(), terms(weight="-1"))),
    Attack(R, "weight-1e300", "C beyond the limits of the format", lambda: ranking(C="1" + "0" * 300)),
    Attack(
        R,
        "integer-long",
        "an integer of 5,000 digits",
        lambda: text_with(lambda text: text.replace('"features": 1', f'"features": {"1" * 5000}')),
    ),
    Attack(R, "integer-huge", "2^70 features", lambda: changed(triplet(), problem(features=2**70))),
    Attack(R, "float", "a number with a decimal point", lambda: changed(triplet(), top(version=1.0))),
    Attack(R, "nan", "NaN in the description", lambda: changed(triplet(), terms(margin=float("nan")))),
    Attack(R, "true-for-one", "true in place of 1", lambda: changed(triplet(), top(version=True))),
    Attack(R, "sign-true", "true in place of a sign", lambda: changed(triplet(), terms(sign=True))),
    Attack(R, "kind-is-a-list", "a list where a word belongs", lambda: changed(triplet(), regularizer(kind=["trace"]))),
    Attack(
        R,
        "of-is-a-list",
        "a list where the matrix of a form is named",
        lambda: changed(quadratic([[1.0]]), regularizer(of=["matrix"])),
    ),
    Attack(
        R,
        "measure-is-a-table",
        "a table where a measure is named",
        lambda: changed(ranking(), lambda table: table["problem"]["risk"].update(measure={})),
    ),
    Attack(R, "document-is-a-list", "a list for a description", lambda: text_with(lambda text: f"[{text}]")),
    Attack(
        R,
        "key-twice",
        "a key twice",
        lambda: text_with(lambda text: text.replace('"version": 3', '"version": 3, "version": 3')),
    ),
    Attack(R, "key-unknown", "an unknown key", lambda: changed(triplet(), problem(note="x"))),
    Attack(
        R,
        "key-ansi",
        "an unknown key that erases a line and writes another",
        lambda: changed(triplet(), problem(**{ANSI: 1})),
    ),
    Attack(R, "key-surrogate", "an unknown key of half a letter", lambda: changed(triplet(), problem(**{"\udc80": 1}))),
    Attack(
        R,
        "key-long",
        "an unknown key of 100,000 letters",
        lambda: text_with(lambda text: text.replace('"version"', f'"{"k" * 100000}": 1, "version"')),
    ),
    Attack(
        R, "title-ansi", "a title that erases a line and writes another", lambda: changed(triplet(), top(title=ANSI))
    ),
    Attack(
        R,
        "title-bidi",
        "a title that turns the direction of writing",
        lambda: changed(triplet(), top(title="\u202edetpecca")),
    ),
    Attack(
        R,
        "title-lines",
        "a title of several lines",
        lambda: changed(triplet(), top(title="x\nproven: 1 <= optimum <= 1")),
    ),
    Attack(R, "title-surrogate", "a title of half a letter", lambda: changed(triplet(), top(title="\ud800"))),
    Attack(
        R,
        "title-long",
        "a title of 100,000 letters",
        lambda: text_with(lambda text: text.replace("by hand", "x" * 100000)),
    ),
    Attack(
        R,
        "nested",
        "lists nested 100,000 deep",
        lambda: text_with(lambda text: text[:-1] + ', "x": ' + "[" * 100000 + "]" * 100000 + "}"),
    ),
    Attack(
        R,
        "nested-open",
        "tables nested 100,000 deep, which never end",
        lambda: text_with(lambda text: '{"a":' * 100000),
    ),
    Attack(R, "utf-16", "a description in UTF-16", lambda: text_with(lambda text: text.encode("utf-16"))),
    Attack(
        R,
        "byte-order-mark",
        "a description with a byte order mark",
        lambda: text_with(lambda text: text.encode("utf-8-sig")),
    ),
    Attack(
        R,
        "not-utf-8",
        "a description that is no UTF-8",
        lambda: text_with(lambda text: text.replace("by hand", "\u00e9").encode("latin-1")),
    ),
    Attack(R, "text-after", "text after the description", lambda: text_with(lambda text: text + "{}")),
    Attack(R, "other-format", "a file of another format", lambda: changed(triplet(), top(format="other"))),
    Attack(R, "first-version", "a file of the first version", lambda: changed(triplet(), top(version=1))),
    Attack(R, "other-version", "a file of a later version", lambda: changed(triplet(), top(version=4))),
    Attack(R, "program-tight-equation", "an equation that is held tight", lambda: program(tight=[1, 3])),
    Attack(R, "program-pivot-follows", "a pivot of an equation that follows", lambda: program(x_pivot_equations=[1])),
    Attack(
        R,
        "program-columns-ansi",
        "the name of a variable that erases a line and writes another",
        lambda: program(problem(columns=[[ANSI, 0, 3]])),
    ),
    Attack(
        R,
        "program-second-version",
        "a conic program in a file of the second version",
        lambda: program(top(version=2)),
    ),
]


def main() -> None:
    """Write all files, and the table."""
    for folder in FOLDERS:
        shutil.rmtree(HERE / folder, ignore_errors=True)
        (HERE / folder).mkdir()
    lines = ["| file | what it attacks | exit code |", "| --- | --- | ---: |"]
    for attack in ATTACKS:
        path = HERE / attack.folder / f"{attack.name}.npz"
        if path.exists():
            raise ValueError(f"{path.name} is there twice")
        made = attack.make()
        path.write_bytes(made if isinstance(made, bytes) else archive(packed(made)))
        lines.append(f"| {attack.folder}/{path.name} | {attack.what} | {FOLDERS[attack.folder]} |")
    readme = HERE / "README.md"
    head = readme.read_text().partition("| file |")[0]
    readme.write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
