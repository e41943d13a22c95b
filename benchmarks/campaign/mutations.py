"""Mutations of what a certificate says: hints, claims, statement, data and description.

A mutation takes a random generator, a description and its arrays, and changes them in place. One that does not fit
raises :class:`UnfitError`, and another is drawn.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from convexmetric.certificates import kernel
from convexmetric.measures import MEASURES

from forgery import archive, claim, hints_in, moved, noisy, packed  # isort: skip

__all__ = [
    "MUTATIONS", "Arrays", "Document", "Mutation", "UnfitError", "chosen", "hashes", "json_text", "json_values",
]  # fmt: skip

Generator = np.random.Generator
Document = dict[str, Any]
Arrays = dict[str, np.ndarray]
Mutation = Callable[[Generator, Document, Arrays], None]

#: Arrays of regularizers that prove something, and all of them.
OF_SLOPES = ("slope", "above", "root", "root_of_slope", "z")
OF_TERMS = (*OF_SLOPES, "prior", "prior_root", "root_of_prior", "spent", "form", "gram_of", "upper")
WITH_SLOPE = ("frobenius", "squared frobenius", "trace norm", "entrywise", "row norms")
LOSSES = (
    "hinge", "absolute", "squared", "logistic", "hard", "box", "box", "exponential", "itakura-saito", "negative log",
    "negative root",
)  # fmt: skip
BOXES: tuple[dict[str, str], ...] = (
    {"low": "1", "high": "1", "curvature": "0"}, {"low": "-1/3", "high": "2", "curvature": "0"},
    {"low": "1/7", "high": "3", "curvature": "0"}, {"low": "-2", "curvature": "0"}, {"high": "1/2", "curvature": "0"},
    {"curvature": "2/3"}, {"low": "0", "curvature": "1/2"}, {"low": "-1", "high": "1", "curvature": "3"},
)  # fmt: skip
NUMBERS = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e200, 1e160, 1e154, 5e-324, 1e-160, -1.0, 0.0, 1.0)


class UnfitError(Exception):
    """Nothing of a certificate that a mutation could change."""


def chosen(rng: Generator, options: Any) -> Any:
    """One of a list, as it is."""
    options = list(options)
    if not options:
        raise UnfitError
    return options[int(rng.integers(len(options)))]


def _of(rng: Generator, arrays: Arrays, names: Any) -> str:
    """The name of an array that has entries."""
    return str(chosen(rng, [name for name in names if arrays.get(name, np.empty(0)).size]))


def _summands(table: Document, start: str) -> list[tuple[Document, str]]:
    """A table of a risk, a regularizer or a proof, or those of its summands, and how their arrays' names begin."""
    own = table.get("summands")
    return [(table, "")] if own is None else [(one, f"{start}{at}_") for at, one in enumerate(own)]


def _reordered(rng: Generator, tables: list[Document], *more: Document) -> None:
    tables[:] = chosen(rng, [tables[::-1], tables[:1], tables[:-1], [*tables, *tables[:1]], [*tables, *more], []])


# Hints ----------------------------------------------------------------------------------------------------------------


def none(rng: Generator, document: Document, arrays: Arrays) -> None:
    """The file as it is."""


def noise(rng: Generator, document: Document, arrays: Arrays) -> None:
    """Noise of any size on what proves."""
    if all(arrays[name].size == 0 for name in hints_in(arrays)):
        raise UnfitError
    arrays |= noisy(rng, (document, arrays), 10.0 ** rng.uniform(-16, 1))[1]


def numbers(rng: Generator, document: Document, arrays: Arrays) -> None:
    """NaN, infinities, huge and denormal numbers; zeros, signs, another order or scale in what proves."""
    name, kind = _of(rng, arrays, hints_in(arrays)), int(rng.integers(6))
    array = arrays[name].copy()
    if array.dtype.kind != "f":
        array = array.astype(np.int64)
        array.flat[rng.integers(array.size)] = chosen(rng, [0, 1, -1, 2**31, 2**53, 2**62, -(2**63), 2**36])
        kind = 5 if kind < 4 else 4
    elif kind < 2:
        array.flat[rng.integers(array.size)] = chosen(rng, NUMBERS)
    elif kind == 2:
        array[...] = chosen(rng, NUMBERS)
    elif kind == 3:
        array = -array
    elif kind == 5:
        array = array * 10.0 ** float(rng.integers(-300, 300) if rng.random() < 0.5 else rng.integers(-12, 13))
    arrays[name] = rng.permutation(array.ravel()).reshape(array.shape) if kind == 4 else array


def dual_points(rng: Generator, document: Document, arrays: Arrays) -> None:
    """Other dual points: shares, bits, sums, slopes, probabilities, rankings; another metric."""
    dual, size, kind = document["dual"], 10.0 ** rng.uniform(-8, 4), int(rng.integers(7))
    own, start = chosen(rng, _summands(dual, "summand"))
    if kind == 0:
        dual["share"] = str(chosen(rng, ["0", "1", "1/2", "2", "-1", Fraction(dual["share"]) * Fraction(1 + 1e-9)]))
    elif kind == 1 and start:
        _reordered(rng, dual["summands"])
    elif kind == 2 and "bits" in own:
        own["bits"] = int(np.clip(own["bits"] + rng.integers(-2, 3), 0, 41))
    elif kind == 3 and start + "steps" in arrays:
        rows = rng.integers(0, len(arrays[start + "steps"]), int(rng.integers(0, 4)))
        arrays |= {start + name: arrays[start + name][rows] for name in ("steps", "weights")}
    elif kind == 4:
        name = _of(rng, arrays, ("weights_of_metric", "factor", "matrix"))
        arrays[name] = np.abs(rng.standard_normal(arrays[name].shape) * size)
    else:
        free = (
            "slopes",
            "near_sums",
            "far_sums",
            "weights",
            "groups",
            "probabilities",
            "parts_weights",
            "left",
            "right",
        )
        name = _of(rng, arrays, [start + name for name in free])
        if arrays[name].dtype.kind == "f":
            arrays[name] = rng.standard_normal(arrays[name].shape) * size
        elif kind == 5:
            arrays[name] = moved(rng, arrays[name])
        else:
            arrays[name] = rng.integers(0, 3 * 2 ** own.get("bits", 0) + 1, arrays[name].shape)


def slopes(rng: Generator, document: Document, arrays: Arrays) -> None:
    """Other slopes of the regularizer, matrices above, roots and multipliers, also of summands; terms exchanged."""
    omega, dual = document["problem"]["regularizer"], document["dual"]["regularizer"]
    for _ in range(int(rng.integers(1, 3))):
        tables, kind = _summands(dual, "term"), rng.random()
        at = int(rng.integers(max(1, min(len(tables), len(_summands(omega, ""))))))
        of, (own, start) = _summands(omega, "")[at][0], tables[at] if tables else ({}, "")
        if start and kind < 0.2:
            _reordered(rng, dual["summands"])
        elif start and kind < 0.35:
            _exchanged(rng, arrays, at, int(rng.integers(len(tables))))
        elif own and "summands" not in own and kind < 0.75:
            key = chosen(rng, own)
            own[key] = str(_another_multiplier(rng, Fraction(own[key]), of))
        else:
            factor = ("factor",) if rng.random() < 0.2 else ()
            name = _of(rng, arrays, factor or [start + name for name in OF_SLOPES])
            weight = float(Fraction(of.get("weight", "1"))) if rng.random() < 0.9 else 1.0
            arrays[name] = _another_slope(rng, name, arrays[name], weight)


def _exchanged(rng: Generator, arrays: Arrays, at: int, other: int) -> None:
    """The slopes of two terms, or all of their arrays."""
    for name in ("slope",) if rng.random() < 0.5 else OF_TERMS:
        first, second = (arrays.pop(f"term{k}_{name}", None) for k in (at, other))
        arrays |= {f"term{k}_{name}": array for k, array in ((other, first), (at, second)) if array is not None}


def _another_multiplier(rng: Generator, value: Fraction, of: Document) -> Fraction:
    """Of a budget, mostly just out of its range; or what a quadratic form lacks."""
    most, factor = Fraction(of.get("weight", "1")), Fraction(float(10.0 ** rng.uniform(-3, 9)))
    return chosen(
        rng,
        [value * factor, -value, Fraction(0), most, most * (1 + Fraction(1, 10**15)), -Fraction(1, 10**30),
         value * (1 - Fraction(1, 10**9)), Fraction(10) ** int(rng.integers(-300, 301))],
    )  # fmt: skip


def _another_slope(rng: Generator, name: str, array: np.ndarray, weight: float) -> np.ndarray:
    """Random, scaled, on the bound or beyond it by an ulp, without its form, or with one entry changed."""
    kind, size, array = int(rng.integers(8)), 10.0 ** rng.uniform(-8, 4), array.copy()
    symmetric = array.ndim == 2 and array.shape[0] == array.shape[1] and name.endswith(("slope", "above"))
    if kind == 0:
        random = rng.standard_normal(array.shape) * size * weight
        return random + random.T if symmetric else np.triu(random) if name.endswith("root") else random
    if kind == 1:
        near = [0.0, 2.0, 1.0 - 2.0**-52, 1.0 + 2.0**-52, 1.0 + 1e-9, 1.0 - 1e-9, 1.0 + size, 1.0 - size]
        return array * chosen(rng, near)
    if kind == 2:
        # The largest entry is the weight, or just above it.
        inside = np.clip(array / (float(np.abs(array).max()) or 1.0), -1.0, 1.0) * weight
        return np.nextafter(inside, chosen(rng, [0.0, np.copysign(np.inf, array)]))
    at = tuple(int(rng.integers(side)) for side in array.shape)
    if kind == 3 and array.ndim == 2:
        # One entry below the diagonal: no triangle any more, no symmetric matrix, no row of one block.
        at = at[::-1] if at[0] < at[-1] and symmetric else at
        array[at] += chosen(rng, [5e-324, 1e-12, 1.0, 0.3 * array[at], size])
        return array
    array[at] = chosen(rng, [0.0, -array[at], weight, np.nextafter(weight, np.inf), -1e-300, 5e-324, size])
    if symmetric:
        array[at[::-1]] = array[at]
    return array


def claims(rng: Generator, document: Document, arrays: Arrays) -> None:
    """Claims that are better than the proof, by little or by much; with noise or without."""
    if rng.random() < 0.3:
        noise(rng, document, arrays)
    low, high = (Fraction(document["claimed"][end]) for end in ("lower", "upper"))
    gap = abs(high - low) + abs(high) * Fraction(float(10.0 ** rng.uniform(-17, 0)))
    share = Fraction(float(rng.random())) * gap
    lower, upper = (low + share, high) if rng.random() < 0.5 else (low, high - share)
    better = claim((document, arrays), kernel.rounded(lower, 1, 30), kernel.rounded(upper, -1, 30))
    document["claimed"] = better[0]["claimed"]


# Statement ------------------------------------------------------------------------------------------------------------


def parameters(rng: Generator, document: Document, arrays: Arrays) -> None:
    """Another valid statement: weights, margins, measure, loss, signs, kind of regularizer, linear term, constant."""
    table = document["problem"]
    for _ in range(int(rng.integers(1, 3))):
        kind, risks = int(rng.integers(7)), _summands(table["risk"], "summand")
        risk = chosen(rng, risks)[0]
        if kind == 0:
            _another_number(rng, chosen(rng, _summands(table["regularizer"], ""))[0], ("weight", "limit"))
        elif kind == 1:
            _another_regularizer(rng, document, arrays)
        elif kind == 2 and "measure" in risk:
            risk["measure"] = str(rng.choice(sorted(MEASURES)))
            risk.pop("k", None)
            if risk["measure"] in ("precision", "ndcg", "ndcg-log2", "knn"):
                risk["k"] = int(chosen(rng, [1, 2, 3, 5, 1000, 2**39]))
        elif kind == 3 and "terms" in risk:
            term = chosen(rng, risk["terms"])
            for name in ("low", "high", "curvature"):
                term.pop(name, None)
            term |= {"loss": chosen(rng, LOSSES), "sign": chosen(rng, [1, -1])}
            term |= {"box": chosen(rng, BOXES), "hard": {"weight": "1"}}.get(term["loss"], {})
        elif kind == 4 and rng.random() < 0.3:
            table["linear"] = not table["linear"]
            G = rng.standard_normal((table["features"],) * 2)
            if arrays.pop("linear", None) is None:
                arrays["linear"] = G[0] if table["cone"] == "diagonal" else G + G.T
        elif kind == 5:
            table["constant"] = chosen(rng, ["0", "1/7", "-1/7", "-1000000", "1" + "0" * 299])
        elif kind == 6 and len(risks) > 1 and rng.random() < 0.5:
            _reordered(rng, table["risk"]["summands"], *table["risk"]["summands"] * 8)
        else:
            names = ("weight", "margin", "C", "low", "high", "curvature")
            _another_number(rng, chosen(rng, risk["terms"]) if "terms" in risk else risk, names)


def _another_number(rng: Generator, table: Document, names: tuple[str, ...]) -> None:
    name = chosen(rng, [name for name in names if name in table])
    value = Fraction(table[name])
    factor = chosen(rng, [Fraction(1, 2), Fraction(3), Fraction(10**9), Fraction(1, 10**9), Fraction(7, 10**150)])
    options = [value * factor, -value, value + 1, value * (1 + Fraction(1, 10**15)), Fraction(0), Fraction(10**199)]
    table[name] = str(chosen(rng, options))


def _another_regularizer(rng: Generator, document: Document, arrays: Arrays) -> None:
    """One without arrays of its own but what proves it: a slope of before, or zero."""
    table, own = document["problem"], re.compile(f"(term[0-9]+_)?({'|'.join(OF_TERMS)})")
    before = [arrays.pop(name) for name in sorted(arrays) if own.fullmatch(name)]
    kind, d = chosen(rng, ["zero", "trace", "spectral bound", "inverse trace", *WITH_SLOPE]), table["features"]
    size, identity = 10.0 ** rng.uniform(-3, 3, 3), np.eye(d)
    shape = (d,) if table["cone"] == "diagonal" else (d, d)
    table["regularizer"] = {"kind": kind} | ({"weight": "1/3"} if kind not in ("zero", "spectral bound") else {})
    document["dual"]["regularizer"] = {}
    if kind in WITH_SLOPE:
        arrays["slope"] = chosen(rng, [*(array for array in before if array.shape == shape), np.zeros(shape)])
    if kind == "trace norm" and len(shape) > 1:
        arrays["above"] = identity * size[0]
    elif kind == "entrywise":
        table["regularizer"]["diagonal"] = True
    elif kind == "spectral bound":
        arrays |= {"upper": identity * size[0], "root_of_slope": identity * size[1]}
    elif kind == "inverse trace":
        root = np.ones((1, d))
        arrays |= {"root_of_prior": root, "slope": root * size[0], "above": np.full((1, 1), size[1] * size[2])}


def regularizers(rng: Generator, document: Document, arrays: Arrays) -> None:
    """Other regularizers and cones, with arrays that fit: kinds exchanged, priors, prices, sums, blocks."""
    table, dual = document["problem"], document["dual"]
    d, diagonal = table["features"], table["cone"] == "diagonal"
    shape = (d,) if diagonal else (d, d)
    for _ in range(int(rng.integers(1, 3))):
        kind, terms = int(rng.integers(7)), _summands(table["regularizer"], "term")
        at = int(rng.integers(max(1, len(terms))))
        of, start = chosen(rng, terms[at : at + 1])
        own = (_summands(dual["regularizer"], "")[at : at + 1] or [({}, "")])[0][0]
        if kind == 0 and "factor" in arrays:
            _other_blocks(rng, table, arrays, d)
        elif kind == 1 and not start:
            _in_a_sum(rng, table, dual, arrays)
        elif kind == 2 and start:
            _reordered(rng, table["regularizer"]["summands"], {"kind": "zero"})
        elif of["kind"] in WITH_SLOPE and rng.random() < 0.5:
            of["kind"] = chosen(rng, WITH_SLOPE)
            of.pop("diagonal", None)
            of |= {"diagonal": bool(rng.random() < 0.7)} if of["kind"] == "entrywise" else {}
            arrays.pop(f"{start}above", None)
            if of["kind"] == "trace norm" and not diagonal:
                arrays[f"{start}above"] = np.eye(d) * 10.0 ** rng.uniform(-3, 3)
        elif of["kind"] in WITH_SLOPE and of.pop("prior", None):
            arrays.pop(f"{start}prior", None)
        elif of["kind"] in WITH_SLOPE:
            M0 = rng.standard_normal(shape)
            of["prior"], arrays[f"{start}prior"] = True, M0 if diagonal else M0 + M0.T
        elif of["kind"] == "budget" and of.pop("weight", None) is None:
            price = Fraction(own.get("multiplier", "1")) * chosen(rng, [1, 2, Fraction(999, 1000)])
            of["weight"] = str(price or 1)
        elif of["kind"] == "trace":
            # A budget has the same slope, with a multiplier.
            of.pop("over_root_of", None)
            own["multiplier"], of["kind"], of["limit"] = of.pop("weight"), "budget", chosen(rng, ["1", "1/7", "100"])
            arrays[f"{start}spent"] = np.ones(d) if diagonal else np.eye(d)


def _other_blocks(rng: Generator, table: Document, arrays: Arrays, d: int) -> None:
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


def _in_a_sum(rng: Generator, table: Document, dual: Document, arrays: Arrays) -> None:
    """The same beside nothing, or beside a trace."""
    other, at = chosen(rng, [{"kind": "zero"}, {"kind": "trace", "weight": "1/1000"}]), int(rng.integers(2))
    terms, tables = [table["regularizer"]], [dual["regularizer"]]
    terms.insert(1 - at, other)
    tables.insert(1 - at, {})
    table["regularizer"], dual["regularizer"] = {"kind": "sum", "summands": terms}, {"summands": tables}
    arrays |= {f"term{at}_{name}": arrays.pop(name) for name in OF_TERMS if name in arrays}


def data(rng: Generator, document: Document, arrays: Arrays) -> None:
    """Other data: points moved by an ulp or far, copied, scaled, shifted; lists, labels, rows, targets, weights."""
    for _ in range(int(rng.integers(1, 3))):
        name = _of(rng, arrays, sorted(set(arrays) - {*hints_in(arrays)}))
        array = arrays[name].copy()
        if array.dtype.kind == "f":
            array = _moved(rng, array)
        elif rng.random() < 0.7:
            array.flat[rng.integers(array.size)] = rng.integers(0, max(int(array.max()) + 2, 1))
        else:
            array = rng.permutation(array.ravel()).reshape(array.shape)
        if array.ndim == 2 and name.endswith(("linear", "spent", "prior")):
            array = 0.5 * array + 0.5 * array.T
        arrays[name] = np.triu(array) if array.ndim == 2 and name.endswith("prior_root") else array


def _moved(rng: Generator, array: np.ndarray) -> np.ndarray:
    at, other = (int(rng.integers(array.size)) for _ in range(2))
    column, row = int(rng.integers(array.shape[-1])), int(rng.integers(len(array)))
    kind = int(rng.integers(6))
    if kind == 0:
        array.flat[at] = np.nextafter(array.flat[at], chosen(rng, [np.inf, -np.inf]))
    elif kind == 1:
        array.flat[at] = chosen(rng, [0.0, 1e150, -1e150, 1e-150, 1e308, 5e-324, 1e8, 1.0, array.flat[other]])
    elif kind == 2:
        array = array * 10.0 ** float(rng.integers(-150, 150) if rng.random() < 0.3 else rng.integers(-6, 7))
    elif kind == 3:
        array = array + float(chosen(rng, [1.0, 1e3, 1e6, 1e8, -1e8]))
    elif kind == 4:
        array[..., column] = array[..., int(rng.integers(array.shape[-1]))]
    else:
        array[row] = array[int(rng.integers(len(array)))]
    return array


# Descriptions and arrays that do not fit ------------------------------------------------------------------------------

_ANSI = "\x1b[2K\x1b[1A\x1b[32maccepted"
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**40, 2**70, "", "1", "-1/3", "1/0", "1/00", "1e3", "nan", "9" * 400 + "/7",
    "1/" + "9" * 400, "\u0661", " 1", "1\n", "+1", "0x1", [], {}, [[]], [None] * 100, {"kind": []}, {"": 0}, _ANSI,
    "\u202eabc", "\udc80", "trace", "psd", "hinge", "auc", "rankings", {"kind": "trace"}, "\x00", "a" * 100000, [0, 1],
)  # fmt: skip


def _nodes(value: Any) -> list[tuple[Any, Any]]:
    """Containers with keys, all of them."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [node for key, part in list(pairs) for node in [(value, key), *_nodes(part)]]


def json_values(rng: Generator, document: Document, arrays: Arrays) -> bytes:
    """Values of another type or out of range, keys that are missing or unknown, anywhere in the description."""
    document["sha256"] = hashes(arrays)
    for _ in range(int(rng.integers(1, 3))):
        table, key = chosen(rng, _nodes(document))
        kind = rng.random()
        if kind < 0.6:
            table[key] = copy.deepcopy(chosen(rng, _VALUES))
        elif kind < 0.75:
            del table[key]
        elif isinstance(table, dict):
            table[chosen(rng, ["more", _ANSI, "", "k", "margin", "weight", "\udc80", "\u00e9", "K" * 5000])] = 1
        else:
            table.append(table[key])
    return archive(packed((document, arrays), honest=False))


def hashes(arrays: Arrays) -> dict[str, str]:
    """Those of a description."""
    return {name: "0" * 64 if a.dtype == object else kernel.digest(a) for name, a in arrays.items()}


def json_text(rng: Generator, document: Document, arrays: Arrays) -> bytes:
    """The text: a few bytes changed before the hashes, mostly digits into digits."""
    members = packed((document, arrays))
    text = json.dumps(document | {"sha256": hashes(arrays)})
    whole = bytearray(text.encode())
    for place in rng.integers(0, max(text.find('"sha256"'), 1), rng.integers(1, 4)):
        digit = 48 <= whole[place] < 58 and rng.random() < 0.8
        whole[place] = rng.integers(48, 58) if digit else chosen(rng, b'{}[]",:-/.e01\\ \x1b\xff')
    members[0].data = bytes(whole)
    return archive(members)


MUTATIONS: dict[str, tuple[Mutation, float]] = {
    "none": (none, 2.0),
    "noise on hints": (noise, 2.0),
    "hints: NaN, huge, zero, order, scale": (numbers, 1.0),
    "hints: other dual points, factors": (dual_points, 2.0),
    "hints: slopes of the regularizer": (slopes, 3.0),
    "claims": (claims, 1.0),
    "statement: parameters": (parameters, 2.0),
    "statement: regularizer, cone": (regularizers, 2.5),
    "statement: data": (data, 2.0),
}
"""Mutations, and how frequent they are."""
