"""Mutations of certificates: of bytes, headers, members, JSON, hints, parameters, data and claims.

A mutation takes a random generator and a problem and returns the bytes of a file. Those of meaning are honest about
hashes, mostly, so that it is the arithmetic that is tested.
"""

from __future__ import annotations

import bz2
import copy
import json
import lzma
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from campaign.problems import BOXES, Problem
from convexmetric.certificates import kernel
from convexmetric.measures import MEASURES

from forgery import (  # isort: skip
    BZIP2, DEFLATED, LZMA, Contents, Member, archive, claim, deflated, hints_in, noisy, npy, packed,
)  # fmt: skip

__all__ = ["MUTATIONS"]

Generator = np.random.Generator


def _chosen(rng: Generator, options: Any) -> Any:
    """One of a list, as it is."""
    options = list(options)
    return options[int(rng.integers(len(options)))]


def _honest(contents: Contents) -> bytes:
    return archive(packed(contents))


# Meaning --------------------------------------------------------------------------------------------------------------


def none(rng: Generator, problem: Problem) -> bytes:
    """The file as it is."""
    return _honest(problem.contents)


def noise(rng: Generator, problem: Problem) -> bytes:
    """Noise of any size on what proves."""
    return _honest(_spoilt(rng, problem.contents))


def _spoilt(rng: Generator, contents: Contents) -> Contents:
    return noisy(rng, contents, 10.0 ** rng.uniform(-16, 1))


def _hint(rng: Generator, arrays: dict[str, np.ndarray]) -> str:
    return str(rng.choice([name for name in hints_in(arrays) if arrays[name].size] or ["slopes"]))


def numbers(rng: Generator, problem: Problem) -> bytes:
    """NaN, infinities, huge and denormal numbers; zeros, signs, another order or scale in what proves."""
    document, arrays = problem.contents[0], dict(problem.contents[1])
    name = _hint(rng, arrays)
    if name not in arrays or not arrays[name].size:
        return _honest(problem.contents)
    if arrays[name].dtype.kind != "f":
        array = arrays[name].astype(np.int64)
        array.flat[rng.integers(array.size)] = _chosen(rng, [0, 1, -1, 2**31, 2**53, 2**62, -(2**63), 2**36])
        return _honest((document, arrays | {name: array if rng.random() < 0.7 else rng.permutation(array)}))
    array = arrays[name].copy()
    kind = int(rng.integers(6))
    if kind < 2:
        array.flat[rng.integers(array.size)] = _chosen(rng, _NUMBERS)
    elif kind == 2:
        array[...] = _chosen(rng, _NUMBERS)
    elif kind == 3:
        array = -array
    elif kind == 4:
        array = rng.permutation(array.ravel()).reshape(array.shape)
    else:
        array = array * 10.0 ** float(rng.integers(-300, 300) if rng.random() < 0.5 else rng.integers(-12, 13))
    return _honest((document, arrays | {name: array}))


_NUMBERS = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e200, 1e160, 1e154, 5e-324, 1e-160, -1.0, 0.0, 1.0)


def dual_points(rng: Generator, problem: Problem) -> bytes:
    """Other dual points: random slopes or sums, shares, bits, weights; another factor."""
    document, arrays = copy.deepcopy(problem.contents[0]), dict(problem.contents[1])
    d, dual = document["problem"]["features"], document["dual"]
    size, kind = 10.0 ** rng.uniform(-8, 4), int(rng.integers(6))
    if kind == 0:
        dual["share"] = str(_chosen(rng, ["0", "1", "1/2", "2", "-1", Fraction(dual["share"]) * Fraction(1 + 1e-9)]))
    elif kind == 2 and "bits" in dual:
        dual["bits"] = int(np.clip(dual["bits"] + rng.integers(-2, 3), 0, 41))
    elif kind == 3 and "near_sums" in arrays:
        one = 2 ** dual["bits"]
        for name in ("near_sums", "far_sums"):
            arrays[name] = rng.integers(0, 3 * one, arrays[name].shape)
    elif "slopes" in arrays and arrays["slopes"].dtype.kind == "f":
        arrays["slopes"] = rng.standard_normal(arrays["slopes"].shape) * size
    elif "slopes" in arrays:
        arrays["slopes"] = rng.integers(0, 2 ** dual["bits"] + 1, arrays["slopes"].shape)
    elif "probabilities" in arrays and kind != 5:
        # Of any sum, or of the right one in one place less than in another.
        moved = rng.choice(arrays["probabilities"].size, 2, replace=False)
        arrays["probabilities"] = arrays["probabilities"].copy()
        arrays["probabilities"][moved] += np.array([1, -1]) * int(rng.integers(1, 2**20))
        if kind == 4:
            arrays["probabilities"] = rng.integers(0, 2 ** dual["bits"] + 1, arrays["probabilities"].shape)
    elif "matrix" in arrays:
        arrays["matrix"] = rng.standard_normal(arrays["matrix"].shape) * size
    elif kind == 5 and "summands" in dual:
        _of_summand(rng, dual["summands"], arrays, size)
    elif "steps" in arrays and kind == 4:
        rows = rng.integers(0, len(arrays["steps"]), int(rng.integers(0, 4)))
        arrays["steps"], arrays["weights"] = arrays["steps"][rows], arrays["weights"][rows]
    elif "weights_of_metric" in arrays:
        arrays["weights_of_metric"] = rng.random(d) * size
    else:
        arrays["factor"] = rng.standard_normal((int(rng.integers(0, 5)), d)) * size
    return _honest((document, arrays))


def slopes(rng: Generator, problem: Problem) -> bytes:
    """Other slopes of the regularizer, matrices above, roots and multipliers, also of summands; terms exchanged."""
    document, arrays = copy.deepcopy(problem.contents[0]), dict(problem.contents[1])
    for _ in range(int(rng.integers(1, 3))):
        of, own = document["problem"]["regularizer"], document["dual"]["regularizer"]
        start, tables = "", own.get("summands", [])
        if tables:
            at = int(rng.integers(min(len(tables), len(of["summands"]))))
            if rng.random() < 0.2:
                own["summands"] = _chosen(rng, [tables[::-1], tables[:1], [*tables, tables[0]], []])
                continue
            if rng.random() < 0.2:
                _exchanged(rng, arrays, at, int(rng.integers(len(tables))))
                continue
            of, own, start = of["summands"][at], tables[at], f"term{at}_"
        mine = [
            name for name in ("slope", "above", "root", "z", "factor") if arrays.get(start + name, np.empty(0)).size
        ]
        if own and "summands" not in own and rng.random() < 0.7:
            key = _chosen(rng, own)
            own[key] = str(_another_multiplier(rng, Fraction(own[key]), of))
        elif arrays.get("factor", np.empty(0)).size and rng.random() < 0.2:
            # A triangle, in a log det, and a row of one block.
            arrays["factor"] = _no_triangle(rng, arrays["factor"])
        elif mine:
            name = start + _chosen(rng, mine)
            weight = float(Fraction(of["weight"])) if "weight" in of else 1.0
            arrays[name] = _another_slope(rng, name, arrays[name], weight)
    return _honest((document, arrays))


def _exchanged(rng: Generator, arrays: dict[str, np.ndarray], at: int, other: int) -> None:
    """The slopes of two terms, or all of their arrays."""
    names = ("slope",) if rng.random() < 0.5 else ("slope", "above", "root", "prior", "prior_root", "spent")
    for name in names:
        first, second = (arrays.pop(f"term{k}_{name}", None) for k in (at, other))
        arrays |= {f"term{k}_{name}": array for k, array in ((other, first), (at, second)) if array is not None}


def _another_multiplier(rng: Generator, value: Fraction, of: dict[str, Any]) -> Fraction:
    """Of a budget, mostly just out of its range; or what a quadratic form lacks."""
    most = Fraction(of.get("weight", "1"))
    factor = Fraction(float(10.0 ** rng.uniform(-3, 9)))
    return _chosen(
        rng,
        [value * factor, -value, Fraction(0), most, most * (1 + Fraction(1, 10**15)), -Fraction(1, 10**30),
         value * (1 - Fraction(1, 10**9)), Fraction(10) ** int(rng.integers(-300, 301))],
    )  # fmt: skip


def _another_slope(rng: Generator, name: str, array: np.ndarray, weight: float) -> np.ndarray:
    """Random, scaled, on the bound or beyond it by an ulp, without its form, or with one entry changed."""
    kind, size = int(rng.integers(9)), 10.0 ** rng.uniform(-8, 4)
    if kind == 0:
        random = rng.standard_normal(array.shape) * size * weight
        if array.ndim == 1 or name == "factor":
            return random
        return np.triu(random) if name.endswith("root") else random + random.T
    if kind == 1:
        return array * (1.0 + size * _chosen(rng, [-1.0, 1.0]))
    if kind == 2:
        return array * _chosen(rng, [0.0, 2.0, 1.0 - 2.0**-52, 1.0 + 2.0**-52, 1.0 + 1e-9, 1.0 - 1e-9])
    if kind == 3:
        # The largest entry is the weight, or just above it.
        largest = float(np.abs(array).max(initial=0.0)) or 1.0
        return np.nextafter(
            np.clip(array / largest, -1.0, 1.0) * weight, _chosen(rng, [0.0, np.copysign(np.inf, array)])
        )
    if kind == 4 and array.ndim == 2:
        return _no_triangle(rng, array)
    array = array.copy()
    at = tuple(int(rng.integers(side)) for side in array.shape)
    array[at] = _chosen(rng, [0.0, -array[at], weight, np.nextafter(weight, np.inf), -1e-300, 5e-324, size])
    if array.ndim == 2 and name.endswith(("slope", "above")):
        array[at[::-1]] = array[at]
    return array


def _no_triangle(rng: Generator, array: np.ndarray) -> np.ndarray:
    """One entry below the diagonal changed: no triangle any more, no symmetric matrix, no row of one block."""
    array, rows, columns = array.copy(), *array.shape
    at = int(rng.integers(rows)), int(rng.integers(columns))
    if rows == columns > 1:
        at = (row := int(rng.integers(1, rows))), int(rng.integers(row))
    mirrored = array[at[::-1]] if rows == columns else 1.0
    array[at] = array[at] + _chosen(rng, [5e-324, 1e-12, 1.0, 0.3 * mirrored, mirrored])
    return array


def _of_summand(rng: Generator, tables: list[dict[str, Any]], arrays: dict[str, np.ndarray], size: float) -> None:
    """Other bits, slopes or sums of a risk of a sum; or its tables in another order."""
    at = int(rng.integers(len(tables)))
    name = f"summand{at}_slopes"
    if rng.random() < 0.2:
        tables[:] = _chosen(rng, [tables[::-1], tables[:1], [*tables, tables[0]]])
    elif name in arrays and arrays[name].dtype.kind == "f":
        arrays[name] = rng.standard_normal(arrays[name].shape) * size
    elif "bits" in tables[at] and rng.random() < 0.3:
        tables[at]["bits"] = int(np.clip(tables[at]["bits"] + rng.integers(-2, 3), 0, 41))
    elif "bits" in tables[at]:
        name = str(rng.choice([name for name in hints_in(arrays) if name.startswith(f"summand{at}_")]))
        arrays[name] = rng.integers(0, 2 ** tables[at]["bits"] + 1, arrays[name].shape)


def claims(rng: Generator, problem: Problem) -> bytes:
    """Claims that are better than the proof, by little or by much; with noise or without."""
    contents = problem.contents if rng.random() < 0.7 else _spoilt(rng, problem.contents)
    low, high = (Fraction(end) for end in (contents[0]["claimed"]["lower"], contents[0]["claimed"]["upper"]))
    gap = abs(high - low) + abs(high) * Fraction(float(10.0 ** rng.uniform(-17, 0)))
    share = Fraction(float(rng.random())) * gap
    lower, upper = (low + share, high) if rng.random() < 0.5 else (low, high - share)
    return _honest(claim(contents, kernel.rounded(lower, 1, 30), kernel.rounded(upper, -1, 30)))


def parameters(rng: Generator, problem: Problem) -> bytes:
    """Another valid statement: weights, margins, measure, loss, signs, kind of regularizer, cone."""
    document, arrays = copy.deepcopy(problem.contents[0]), dict(problem.contents[1])
    table = document["problem"]
    for _ in range(int(rng.integers(1, 3))):
        kind = int(rng.integers(7))
        risks = table["risk"].get("summands", [table["risk"]])
        risk = _chosen(rng, risks) if risks else {}
        if kind == 0:
            term = _chosen(rng, table["regularizer"].get("summands", [table["regularizer"]]))
            if "diagonal" in term and rng.random() < 0.5:
                term["diagonal"] = not term["diagonal"]
            _another_number(rng, term, ("weight", "limit"))
        elif kind == 1:
            _another_regularizer(rng, document, arrays)
        elif kind == 2 and "measure" in risk:
            risk["measure"] = str(rng.choice(sorted(MEASURES)))
            risk.pop("k", None)
            if risk["measure"] in ("precision", "ndcg", "ndcg-log2", "knn"):
                risk["k"] = int(_chosen(rng, [1, 2, 3, 5, 1000, 2**39]))
        elif kind == 3 and "terms" in risk:
            term = _chosen(rng, risk["terms"])
            term["loss"] = _chosen(rng, LOSSES)
            term["sign"] = _chosen(rng, [1, -1])
            for name in ("low", "high", "curvature"):
                term.pop(name, None)
            term.update(_chosen(rng, BOXES) if term["loss"] == "box" else {})
            if term["loss"] == "hard":
                term["weight"] = "1"
        elif kind == 4 and rng.random() < 0.3:
            table["linear"] = not table["linear"]
            if table["linear"]:
                d = table["features"]
                G = rng.standard_normal((d, d))
                arrays["linear"] = G[0] if table["cone"] == "diagonal" else G + G.T
            else:
                arrays.pop("linear")
        elif kind == 5:
            table["constant"] = _chosen(rng, ["0", "1/7", "-1/7", "-1000000", "1" + "0" * 299])
        elif kind == 6 and len(risks) > 1 and rng.random() < 0.5:
            risks[:] = _chosen(rng, [risks[::-1], risks[:1], [*risks, risks[0]], risks * 9, []])
        else:
            names = ("weight", "margin", "C", "low", "high", "curvature")
            _another_number(rng, _chosen(rng, risk["terms"]) if "terms" in risk else risk, names)
    return _honest((document, arrays))


def _another_regularizer(rng: Generator, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """One without arrays of its own but a slope: that of before, or zero."""
    table, own = document["problem"], re.compile("term[0-9]+_.*|prior|prior_root|spent|form|gram_of|z|root|above|slope")
    before = [arrays.pop(name) for name in sorted(arrays) if own.fullmatch(name)]
    kind = _chosen(rng, ["zero", "trace", "spectral bound", "inverse trace", *_WITH_SLOPE])
    table["regularizer"] = {"kind": kind} | ({"weight": "1/3"} if kind not in ("zero", "spectral bound") else {})
    document["dual"]["regularizer"] = {}
    if kind in _WITH_SLOPE:
        shape = (table["features"],) * (1 if table["cone"] == "diagonal" else 2)
        fits = [array for array in before if array.shape == shape]
        arrays["slope"] = _chosen(rng, [*fits, np.zeros(shape)])
    if kind == "trace norm" and table["cone"] != "diagonal":
        arrays["above"] = np.eye(table["features"]) * 10.0 ** rng.uniform(-3, 3)
    if kind == "entrywise":
        table["regularizer"]["diagonal"] = True
    if kind == "spectral bound":
        arrays["upper"], arrays["root_of_slope"] = (
            np.eye(table["features"]) * 10.0 ** rng.uniform(-3, 3) for _ in "UY"
        )
    if kind == "inverse trace":
        arrays["root_of_prior"] = np.ones((1, table["features"]))
        arrays["slope"] = arrays["root_of_prior"] * 10.0 ** rng.uniform(-3, 3)
        arrays["above"] = np.full((1, 1), 10.0 ** rng.uniform(-3, 6))


def _another_number(rng: Generator, table: dict[str, Any], names: tuple[str, ...]) -> None:
    name = _chosen(rng, [name for name in names if name in table] or [None])
    if name is None:
        return
    value = Fraction(table[name])
    factor = _chosen(rng, [Fraction(1, 2), Fraction(3), Fraction(10**9), Fraction(1, 10**9), Fraction(7, 10**150)])
    options = [value * factor, -value, value + 1, value * (1 + Fraction(1, 10**15)), Fraction(0), Fraction(10**199)]
    table[name] = str(_chosen(rng, options))


LOSSES = (
    "hinge", "absolute", "squared", "logistic", "hard", "box", "box", "exponential", "itakura-saito", "negative log",
    "negative root",
)  # fmt: skip
_WITH_SLOPE = ("frobenius", "squared frobenius", "trace norm", "entrywise", "row norms")


def regularizers(rng: Generator, problem: Problem) -> bytes:
    """Other regularizers and cones, with arrays that fit: kinds exchanged, priors, prices, sums, blocks."""
    document, arrays = copy.deepcopy(problem.contents[0]), dict(problem.contents[1])
    table, dual = document["problem"], document["dual"]
    d, diagonal = table["features"], table["cone"] == "diagonal"
    for _ in range(int(rng.integers(1, 3))):
        of, own, start = table["regularizer"], dual["regularizer"], ""
        kind = int(rng.integers(7))
        if kind == 0 and not diagonal:
            _other_blocks(rng, table, arrays, d)
            continue
        if kind == 1 and of["kind"] != "sum":
            _in_a_sum(rng, table, dual, arrays)
            continue
        if "summands" in of:
            at = int(rng.integers(len(of["summands"])))
            if kind == 2:
                terms = of["summands"]
                of["summands"] = _chosen(rng, [terms[::-1], terms[:-1], [*terms, {"kind": "zero"}], terms * 3])
                continue
            of, start = of["summands"][at], f"term{at}_"
            own = own["summands"][at] if len(own.get("summands", [])) > at else {}
        shape = (d,) if diagonal else (d, d)
        if of["kind"] in _WITH_SLOPE and kind < 5:
            if rng.random() < 0.5:
                of["kind"] = _chosen(rng, _WITH_SLOPE)
                of.pop("diagonal", None)
                if of["kind"] == "entrywise":
                    of["diagonal"] = bool(rng.random() < 0.7)
                arrays.pop(f"{start}above", None)
                if of["kind"] == "trace norm" and not diagonal:
                    arrays[f"{start}above"] = np.eye(d) * 10.0 ** rng.uniform(-3, 3)
            elif of.pop("prior", None):
                arrays.pop(f"{start}prior", None)
            else:
                M0 = rng.standard_normal(shape)
                of["prior"], arrays[f"{start}prior"] = True, M0 if diagonal else M0 + M0.T
        elif of["kind"] == "budget":
            if of.pop("weight", None) is None:
                of["weight"] = str(
                    Fraction(own.get("multiplier", "1")) * _chosen(rng, [1, 2, Fraction(999, 1000)]) or 1
                )
        elif of["kind"] == "trace":
            # A budget has the same slope, with a multiplier.
            of.pop("over_root_of", None)
            own["multiplier"], of["kind"], of["limit"] = of.pop("weight"), "budget", _chosen(rng, ["1", "1/7", "100"])
            arrays[f"{start}spent"] = np.ones(d) if diagonal else np.eye(d)
    return _honest((document, arrays))


def _other_blocks(rng: Generator, table: dict[str, Any], arrays: dict[str, np.ndarray], d: int) -> None:
    """Block-diagonal metrics in the place of all, or the other way, or other blocks."""
    if table["cone"] == "block-diagonal" and rng.random() < 0.4:
        table["cone"] = "psd"
        arrays.pop("blocks", None)
        return
    table["cone"], arrays["blocks"] = "block-diagonal", rng.integers(0, d, d)
    if rng.random() < 0.5:
        # With a factor that fits them.
        rows = [np.where(arrays["blocks"] == block, arrays["factor"], 0.0) for block in range(d)]
        arrays["factor"] = np.concatenate(rows) if len(arrays["factor"]) != d or rng.random() < 0.5 else sum(rows)


def _in_a_sum(rng: Generator, table: dict[str, Any], dual: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """The same beside nothing, or beside a trace."""
    other, at = _chosen(rng, [{"kind": "zero"}, {"kind": "trace", "weight": "1/1000"}]), int(rng.integers(2))
    terms, tables = [table["regularizer"]], [dual["regularizer"]]
    terms.insert(1 - at, other)
    tables.insert(1 - at, {})
    table["regularizer"], dual["regularizer"] = {"kind": "sum", "summands": terms}, {"summands": tables}
    for name in ("slope", "above", "root", "prior", "prior_root", "spent"):
        if name in arrays:
            arrays[f"term{at}_{name}"] = arrays.pop(name)


def data(rng: Generator, problem: Problem) -> bytes:
    """Other data: points moved by an ulp or far, copied, scaled, shifted; lists, labels, rows, targets, weights."""
    document, arrays = problem.contents[0], dict(problem.contents[1])
    known = {*hints_in(arrays)}
    for _ in range(int(rng.integers(1, 3))):
        name = str(rng.choice(sorted(set(arrays) - known)))
        array = arrays[name].copy()
        if not array.size:
            continue
        at = int(rng.integers(array.size))
        if array.dtype.kind == "f":
            arrays[name] = _moved(rng, array, at)
        elif rng.random() < 0.7:
            array.flat[at] = rng.integers(0, max(int(array.max()) + 2, 1))
            arrays[name] = array
        else:
            arrays[name] = rng.permutation(array.ravel()).reshape(array.shape)
        if name.endswith(("linear", "spent", "prior")) and array.ndim == 2:
            arrays[name] = 0.5 * arrays[name] + 0.5 * arrays[name].T
        if name.endswith("prior_root") and array.ndim == 2:
            arrays[name] = np.triu(arrays[name])
    return _honest((document, arrays))


def _moved(rng: Generator, array: np.ndarray, at: int) -> np.ndarray:
    kind = int(rng.integers(7))
    if kind == 0:
        array.flat[at] = np.nextafter(array.flat[at], _chosen(rng, [np.inf, -np.inf]))
    elif kind == 1:
        array.flat[at] = _chosen(rng, [0.0, 1e150, -1e150, 1e-150, 1e308, 5e-324, 1e8, 1.0])
    elif kind == 2:
        array.flat[at] = array.flat[int(rng.integers(array.size))]
    elif kind == 3:
        array = array * 10.0 ** float(rng.integers(-150, 150) if rng.random() < 0.3 else rng.integers(-6, 7))
    elif kind == 4:
        array = array + float(_chosen(rng, [1.0, 1e3, 1e6, 1e8, -1e8]))
    elif kind == 5 and array.ndim == 2:
        array[:, int(rng.integers(array.shape[1]))] = array[:, int(rng.integers(array.shape[1]))]
    else:
        array[int(rng.integers(len(array)))] = array[int(rng.integers(len(array)))]
    return array


# Files ----------------------------------------------------------------------------------------------------------------


def wrong_arrays(rng: Generator, problem: Problem) -> bytes:
    """Arrays out of range, of another length, shape or type, missing or with wrong hashes."""
    document, arrays = problem.contents[0], dict(problem.contents[1])
    name = str(rng.choice(sorted(arrays)))
    array, kind = arrays[name], int(rng.integers(6))
    if kind == 0 and array.size:
        array = array.copy()
        array.flat[rng.integers(array.size)] = _chosen(
            rng, [100, 7] if array.dtype.kind == "u" else [-3, 100, 2**31 - 1]
        )
    elif kind == 1:
        array = _chosen(rng, [array[:-1], array[None], array[:0], array.ravel(), np.concatenate([array, array])])
    elif kind == 2:
        with np.errstate(all="ignore"):
            array = array.astype(_chosen(rng, ["<f8", "<i8", "<i4", "|u1", "<f4", ">f8", "<c16", "|b1", "<u8", "<U3"]))
    elif kind == 3:
        del arrays[name]
    elif kind == 4:
        array = array.copy()
        array.flat[: min(1, array.size)] = 1
        return archive(packed((document | {"sha256": _hashes(arrays)}, arrays | {name: array}), honest=False))
    else:
        array = np.array(array, dtype=object)
    if kind != 3:
        arrays[name] = array
    document = document | {"sha256": _hashes(arrays)}
    return archive(packed((document, arrays), honest=False))


def _hashes(arrays: dict[str, np.ndarray]) -> dict[str, str]:
    return {name: "0" * 64 if a.dtype == object else kernel.digest(a) for name, a in arrays.items()}


def some_bytes(rng: Generator, problem: Problem) -> bytes:
    """Bytes of the file changed, cut out, repeated, or its end cut off."""
    whole = bytearray(_honest(problem.contents))
    kind, at = int(rng.integers(5)), int(rng.integers(len(whole)))
    end = at + int(rng.integers(1, 64))
    if kind == 0:
        whole = whole[:at]
    elif kind == 1:
        del whole[at:end]
    elif kind == 2:
        whole[at:at] = whole[at:end]
    elif kind == 3:
        whole[at:end] = rng.bytes(len(whole[at:end]))
    else:
        for place in rng.integers(0, len(whole), rng.integers(1, 20)):
            whole[place] = rng.integers(256)
    return bytes(whole)


_FIELDS = ("version", "flags", "method", "time", "date", "crc", "packed", "size", "name", "extra")
_VALUES = (0, 1, 2, 7, 8, 9, 12, 14, 20, 0x41, 0x800, 99, 2**16 - 1, 2**31, 2**32 - 1)


def zip_headers(rng: Generator, problem: Problem) -> bytes:
    """Fields of the archive that lie: sizes, methods, flags, checksums, offsets, counts, names; data around it."""
    members, lies = packed(problem.contents), {}
    for _ in range(int(rng.integers(1, 3))):
        member, kind = _chosen(rng, members), int(rng.integers(7))
        if rng.random() < 0.4:
            member.method = DEFLATED
        if kind < 3:
            where = _chosen(rng, [member.local, member.central])
            where[_chosen(rng, (*_FIELDS, "offset", "external", "disk"))] = int(_chosen(rng, _VALUES))
        elif kind == 3:
            lie = int(_chosen(rng, _VALUES))
            name = _chosen(rng, _FIELDS)
            member.local[name] = member.central[name] = lie
        elif kind == 4:
            lies[_chosen(rng, ["disk", "here", "entries", "total", "size", "offset", "comment"])] = int(
                _chosen(rng, _VALUES)
            )
        elif kind == 5:
            member.raw_name = _chosen(
                rng,
                [b"../points.npy", b"/points.npy", b"points.npy\x00.txt", b"\xff\xfe.npy", b"a/", b"points.npy/", b"",
                 "p\u00f6ints.npy".encode(), b"\x1b[2J.npy", b"CERTIFICATE.JSON", b"c:\\points.npy", b"n" * 300],
            )  # fmt: skip
        else:
            member.extra = _chosen(rng, [b"\x01\x00\x10\x00" + b"\xff" * 16, b"\x01\x00", b"x" * 50, rng.bytes(24)])
    prefix, suffix = (rng.bytes(int(rng.integers(200))) if rng.random() < 0.15 else b"" for _ in range(2))
    return archive(members, prefix, suffix, **lies)


def npy_headers(rng: Generator, problem: Problem) -> bytes:
    """Headers of arrays that lie about type, order and shape, or are no literals; other versions; other lengths."""
    members, arrays = packed(problem.contents), problem.contents[1]
    at = int(rng.integers(1, len(members)))
    array = arrays[members[at].name.removesuffix(".npy")]
    shape = array.shape
    lies: list[dict[str, Any]] = [
        {"fortran_order": True}, {"fortran_order": 1}, {"fortran_order": None}, {"descr": ">f8"}, {"descr": "|O"},
        {"descr": [("a", "<f8")]}, {"descr": "<f8,<f8"}, {"descr": "<U1000000000"}, {"descr": "|V8"}, {"descr": 7},
        {"descr": ("<f8", (2,))}, {"shape": (2**40, 2**20)}, {"shape": (-1,)}, {"shape": (0, 2**62)}, {"shape": 3},
        {"shape": (True,) * len(shape)}, {"shape": (*shape, 1)}, {"shape": shape[::-1]}, {"shape": ()},
        {"shape": (2**62, 4)}, {"shape": (float(array.size),)}, {"shape": [3]}, {"shape": (10**400,)}, {"more": 1},
    ]  # fmt: skip
    true = f"{{'descr': {array.dtype.str!r}, 'fortran_order': False, 'shape': {shape}, }}"
    texts = [
        true[:-1], true + '"""', true + "'''\n", true[:-1] + ", 'a': '''", "{", "", "[" * 100000, "(" * 1500, "{}",
        true.replace("False", "0 == 1"), true.replace("'shape'", "b'shape'"), true + " # \x1b[2J", true + "\x00",
        true.replace(")", "L)"), f"{true}; import os", "-" * 60000 + "1", "9" * 5000, true.replace("<f8", "<f8\\x00"),
        true[:-1] + ", 'shape': (7,)}", "\\", "'" + "a" * 3000, true.replace("(", "(\t\n"), " " * 70000 + true,
    ]  # fmt: skip
    kind = int(rng.integers(5))
    if kind == 0:
        members[at].data = npy(array, **_chosen(rng, lies))
    elif kind == 1:
        members[at].data = npy(array, _chosen(rng, texts))
    elif kind == 2:
        members[at].data = npy(array, version=_chosen(rng, [(2, 0), (3, 0), (0, 0), (1, 1), (255, 255)]))
    elif kind == 3:
        whole = bytearray(members[at].data)
        for place in rng.integers(0, min(len(whole), 128), rng.integers(1, 4)):
            whole[place] = rng.integers(256)
        members[at].data = bytes(whole)
    else:
        whole = members[at].data
        members[at].data = _chosen(rng, [whole + b"\x00", whole[:-1], whole[:64], whole[:9], b"", whole + rng.bytes(8)])
    return archive(members)


def members(rng: Generator, problem: Problem) -> bytes:
    """Members twice, missing, swapped, renamed, in other compressions, damaged, or bombs."""
    made = packed(problem.contents)
    at, other = (int(rng.integers(len(made))) for _ in range(2))
    kind, member = int(rng.integers(9)), made[at]
    if kind == 0:
        made.append(copy.copy(member))
    elif kind == 1:
        del made[at]
    elif kind == 2:
        member.data, made[other].data = made[other].data, member.data
    elif kind == 3:
        member.name = str(_chosen(rng, ["more.npy", "points.NPY", "certificate.json", "points", "x.npz", "__a.npy"]))
    elif kind == 4:
        member.method, member.packed = BZIP2, _spoil(rng, bz2.compress(member.data))
    elif kind == 5:
        filters = [{"id": lzma.FILTER_LZMA1}]
        stream = lzma.compress(member.data, lzma.FORMAT_RAW, filters=filters)
        member.method = LZMA
        member.packed = _spoil(rng, b"\x09\x04\x05\x00\x5d\x00\x00\x80\x00" + stream)
    elif kind == 6:
        member.method = DEFLATED
        member.packed = _spoil(rng, deflated(member.data))
    elif kind == 7:
        bomb = Member(_chosen(rng, [member.name, "more.npy"]), bytes(2**22), DEFLATED)
        bomb.central["size"] = bomb.local["size"] = int(_chosen(rng, [len(member.data), 2**22, 100, 2**31]))
        made[at] = bomb
    else:
        made.extend(Member(f"m{'a' * i}.npy", member.data) for i in range(int(_chosen(rng, [1, 30, 70, 300]))))
    return archive(made)


def _spoil(rng: Generator, whole: bytes) -> bytes:
    """As it is, cut, or with bytes changed."""
    kind, changed = int(rng.integers(3)), bytearray(whole)
    if kind == 1:
        return whole[: int(rng.integers(len(whole)))]
    if kind == 2:
        for place in rng.integers(0, len(whole), rng.integers(1, 5)):
            changed[place] = rng.integers(256)
    return bytes(changed)


# JSON -----------------------------------------------------------------------------------------------------------------

_ANSI = "\x1b[2K\x1b[1A\x1b[32maccepted"
_VALUES_OF_JSON: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**40, 2**70, -(10**30), "", "1", "-1/3", "1/0", "0/0", "1/00", "1e3", "nan",
    "9" * 390, "9" * 400 + "/7", "1/" + "9" * 400, "\u0661", " 1", "1\n", "+1", "0x1", "1_0", [], {}, [[]],
    [None] * 100, {"kind": []}, {"": 0}, _ANSI, "\u202eabc", "\udc80", "trace", "psd", "hinge", "rankings", "matrix",
    "logistic", {"kind": "trace"}, "\x00", "a" * 100000,
)  # fmt: skip


def _nodes(value: Any) -> list[tuple[Any, Any]]:
    """Containers with keys, all of them."""
    pairs = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    return [node for key, part in pairs for node in [(value, key), *_nodes(part)]]


def json_values(rng: Generator, problem: Problem) -> bytes:
    """Values of another type or out of range, keys that are missing or unknown, anywhere in the description."""
    document = copy.deepcopy(problem.contents[0])
    document["sha256"] = _hashes(problem.contents[1])
    for _ in range(int(rng.integers(1, 3))):
        table, key = _chosen(rng, _nodes(document))
        kind = rng.random()
        if kind < 0.6:
            table[key] = copy.deepcopy(_chosen(rng, _VALUES_OF_JSON))
        elif kind < 0.75:
            del table[key]
        elif isinstance(table, dict):
            table[_chosen(rng, ["more", _ANSI, "", "k", "margin", "weight", "\udc80", "\u00e9", "K" * 5000])] = 1
        else:
            table.append(table[key])
    return archive(packed((document, problem.contents[1]), honest=False))


def json_text(rng: Generator, problem: Problem) -> bytes:
    """The text: keys twice, deep nesting, floats, huge numbers, other encodings, bytes and words changed."""
    document = problem.contents[0] | {"sha256": _hashes(problem.contents[1])}
    text, made = json.dumps(document), packed(problem.contents)
    depth = int(_chosen(rng, [100, 3000, 200000]))
    options: list[Callable[[], bytes]] = [
        lambda: text[:-1].encode() + b', "version": 2}',
        lambda: text.replace('"linear"', '"cone": "psd", "linear"').encode(),
        lambda: text[:-1].encode() + b', "deep": ' + b"[" * depth + b"]" * depth + b"}",
        lambda: b"[" * depth,
        lambda: b'{"a":' * depth,
        lambda: text.replace('"version": 2', '"version": 2.0').encode(),
        lambda: text.replace('"version": 2', '"version": 2e0').encode(),
        lambda: text.replace('"version": 2', '"version": NaN').encode(),
        lambda: text.replace('"version": 2', '"version": ' + "1" * 5000).encode(),
        lambda: text.replace('"features": ', '"features": 0').encode(),
        lambda: text.replace('"features": ', '"features": -').encode(),
        lambda: text.encode("utf-16"),
        lambda: text.encode("utf-8-sig"),
        lambda: text.encode() + b"\x00",
        lambda: text.encode() + b"{}",
        lambda: text.encode() + b" " * 2**20,
        lambda: text.encode()[:-1],
        lambda: b"",
        lambda: text.replace("title", "t\\u0069tle").encode(),
        lambda: text.replace('"title": "', '"title": "\\u001b[2J').encode(),
        lambda: text.replace('"title": "', '"title": "\u00e9\u4e00\U0001f600').encode(),
        lambda: text.replace('"title": "', '"title": "\\ud800').encode(),
        lambda: text.replace('"title": "', '"title": "\u200b\u2028').encode(),
        lambda: text.replace('"', "'").encode(),
        lambda: text.replace("{", "{ /* */", 1).encode(),
        lambda: text.replace("certificate", "certific\xe4te").encode("latin-1"),
        lambda: _changed_text(rng, text),
        lambda: _changed_text(rng, text),
        lambda: _changed_text(rng, text),
    ]
    made[0].data = _chosen(rng, options)()
    return archive(made)


def _changed_text(rng: Generator, text: str) -> bytes:
    """A few bytes changed before the hashes, mostly digits into digits."""
    whole = bytearray(text.encode())
    for place in rng.integers(0, max(text.find('"sha256"'), 1), rng.integers(1, 4)):
        digit = 48 <= whole[place] < 58 and rng.random() < 0.8
        whole[place] = rng.integers(48, 58) if digit else _chosen(rng, b'{}[]",:-/.e01\\ \x1b\xff')
    return bytes(whole)


MUTATIONS: dict[str, tuple[Callable[[Generator, Problem], bytes], float]] = {
    "none": (none, 2.0),
    "noise on hints": (noise, 2.0),
    "hints: NaN, huge, zero, order, scale": (numbers, 1.0),
    "hints: other dual points, factors": (dual_points, 2.0),
    "hints: slopes of the regularizer": (slopes, 3.0),
    "claims": (claims, 1.0),
    "statement: parameters": (parameters, 2.0),
    "statement: regularizer, cone": (regularizers, 2.5),
    "statement: data": (data, 2.0),
    "arrays that do not fit": (wrong_arrays, 1.0),
    "bytes": (some_bytes, 1.0),
    "zip headers": (zip_headers, 1.5),
    "npy headers": (npy_headers, 1.5),
    "members": (members, 1.0),
    "JSON: values": (json_values, 1.5),
    "JSON: text": (json_text, 1.0),
}
"""Mutations, and how frequent they are."""
