"""A second checker, written from ``docs/certificate-format.md`` alone: exact rationals, slow, for small files.

It shares no code with the kernel. NumPy only loads arrays; every number is a fraction, and what is irrational (roots,
logarithms) is enclosed between two of them. A file is refused, or bounds and claims are judged.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import io
import itertools
import json
import re
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np

ZERO, ONE = Fraction(0), Fraction(1)
#: Enclosures of irrational numbers are about this wide, relative or absolute.
FINE = Fraction(1, 2**120)
#: Numbers of a file.
MOST = 20_000
Matrix = list[list[Fraction]]


class Refused(Exception):  # noqa: N818 - as the specification calls it
    """The file is no certificate."""


class TooLarge(Refused):
    """More than this checker does."""


class Unproven(Exception):  # noqa: N818
    """A bound is not proven."""


@dataclass(frozen=True)
class Interval:
    """A number between two fractions."""

    low: Fraction
    high: Fraction

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def times(self, weight: Interval) -> Interval:
        """The product."""
        ends = [a * b for a in (self.low, self.high) for b in (weight.low, weight.high)]
        return Interval(min(ends), max(ends))


def exactly(value: Fraction) -> Interval:
    return Interval(value, value)


NOTHING = exactly(ZERO)


def need(holds: Any, what: str) -> None:
    if not holds:
        raise Refused(what)


def shown(holds: Any, what: str) -> None:
    if not holds:
        raise Unproven(what)


# Irrational numbers


def root(value: Fraction) -> Interval:
    """Of a number that is not negative."""
    if value == 0:
        return NOTHING
    scale = 2 ** max(0, 160 - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)
    whole = isqrt(value.numerator * scale * scale // value.denominator)
    return Interval(Fraction(whole, scale), Fraction(whole + 1, scale))


def short(value: Fraction, up: bool) -> Fraction:
    """A fraction of few bits above or below."""
    if value == 0:
        return value
    shift = 200 - (abs(value.numerator).bit_length() - value.denominator.bit_length())
    whole, rest = divmod(value.numerator << max(0, shift), value.denominator << max(0, -shift))
    return Fraction((whole + (up and rest != 0)) << max(0, -shift), 1 << max(0, shift))


# Files that differ in a few numbers are checked by the hundred.
@functools.lru_cache(10_000)
def logarithm(value: Fraction) -> Interval:
    """``ln(2^k m) = k ln 2 + 2 artanh((m - 1) / (m + 1))``, m between 2/3 and 4/3."""
    k = value.numerator.bit_length() - value.denominator.bit_length()
    while value / Fraction(2) ** k > Fraction(4, 3):
        k += 1
    while value / Fraction(2) ** k < Fraction(2, 3):
        k -= 1
    own, two = _artanh((value / Fraction(2) ** k - 1) / (value / Fraction(2) ** k + 1)), _artanh(Fraction(1, 3))
    ends = [own.low + k * two.low, own.low + k * two.high, own.high + k * two.low, own.high + k * two.high]
    return Interval(2 * min(ends), 2 * max(ends))


@functools.lru_cache(10_000)
def _artanh(u: Fraction) -> Interval:
    """``sum u^(2 j + 1) / (2 j + 1)`` of \\|u\\| <= 1/3, u rounded to 200 bits; the rest is below the last term."""
    near, total, j = short(u, False), ZERO, 0
    power, square = near, short(near * near, False)
    while abs(power) > FINE / 2**20:
        total += power / (2 * j + 1)
        power, j = short(power * square, False), j + 1
    return Interval(total - FINE, total + FINE)


@functools.lru_cache(10_000)
def exponential(value: Fraction) -> Interval:
    """``e^x`` of x <= 0, by squaring ``e^(x / 2^h)``; beyond -300 between zero and 2^-400."""
    if value < -300:
        return Interval(ZERO, Fraction(1, 2**400))
    h = 12
    r, term, total = short(value / 2**h, False), ONE, ONE
    for j in range(1, 40):
        term = short(term * r / j, False)
        total += term
    low, high = total - FINE / 2**30, total + FINE / 2**30
    for _ in range(h):
        low, high = short(low * low, False), short(high * high, True)
    return Interval(low, high)


def softplus(s: Fraction) -> Interval:
    """``ln(1 + e^-s) = max(0, -s) + ln(1 + e^-|s|)``."""
    tail = exponential(-abs(s))
    base = max(ZERO, -s)
    return Interval(base + logarithm(1 + tail.low).low, base + logarithm(1 + tail.high).high)


def entropy(a: Fraction) -> Interval:
    if a in (0, 1):
        return NOTHING
    parts = [(p, logarithm(p)) for p in (a, 1 - a)]
    return Interval(-sum((p * ln.high for p, ln in parts), ZERO), -sum((p * ln.low for p, ln in parts), ZERO))


# Files


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    need(len({key for key, _ in pairs}) == len(pairs), "a key twice")
    return dict(pairs)


def _none(text: str) -> Any:
    raise Refused(f"the number {text}")


def laid_out(whole: bytes, archive: zipfile.ZipFile) -> None:
    """Members one behind the other from the first byte on, the directory, the end record, and nothing else."""
    at, entry = 0, archive.start_dir
    for info in archive.infolist():
        name = info.orig_filename.encode()
        mark, *said, long, extra, comment, disk, _, _, start = struct.unpack_from("<4s6H3L5H2L", whole, entry)
        need((mark, long, extra, comment, disk, start) == (b"PK\1\2", len(name), 0, 0, 0, at), "directory")
        need(whole[entry + 46 : entry + 46 + long] == name and not said[2] & ~0b100000000110, "entry")
        mark, *here, long, extra = struct.unpack_from("<4s5H3L2H", whole, at)
        wide = here[6:] == [2**32 - 1] * 2
        after = at + 30 + long
        need(mark == b"PK\3\4" and whole[at + 30 : after] == name and extra == 20 * wide, "start of a member")
        if wide:
            here[6:] = struct.unpack_from("<4x2Q", whole, after)[::-1]
            need(whole[after : after + 4] == b"\1\0\x10\0", "sizes in 64 bits")
        need(here == said[1:], "start of a member and directory")
        at, entry = after + extra + info.compress_size, entry + 46 + long
    count = len(archive.infolist())
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, entry - archive.start_dir, archive.start_dir, 0)
    need(at == archive.start_dir and whole[entry:] == end, "bytes that nothing speaks of")


def opened(whole: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The JSON and the arrays of a file."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        laid_out(whole, archive)
        names = archive.namelist()
        need(len(set(names)) == len(names) and "certificate.json" in names, "members")
        infos = archive.infolist()
        need(all(info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in infos), "compression")
        need(archive.getinfo("certificate.json").file_size <= 2**20, "more than 1 MiB of JSON")
        text = archive.read("certificate.json").decode("utf-8")
        document = json.loads(text, object_pairs_hook=_once, parse_float=_none, parse_constant=_none)
        arrays = {}
        for name in names:
            if name != "certificate.json":
                need(re.fullmatch(r"[a-z][a-z0-9_]{0,40}\.npy", name), "a member that is no array")
                if archive.getinfo(name).file_size > 16 * MOST:
                    raise TooLarge("a member of more bytes than this checker reads")
                data = archive.read(name)
                need(data[:8] in (b"\x93NUMPY\x01\x00", b"\x93NUMPY\x02\x00"), "version of the npy format")
                arrays[name[:-4]] = np.load(io.BytesIO(data), allow_pickle=False)
    if sum(array.size for array in arrays.values()) > MOST:
        raise TooLarge(f"more than {MOST} numbers")
    table(document, "format version title problem dual claimed sha256")
    need(document["format"] == "convexmetric-certificate" and document["version"] in (2, 3), "format")
    title = document["title"]
    need(isinstance(title, str) and len(title) <= 500 and title.isprintable(), "title")
    need(isinstance(document["sha256"], dict) and set(document["sha256"]) == set(arrays), "hashes")
    for name, array in arrays.items():
        need(array.dtype.str in ("<f8", "<i8", "<i4", "|u1") and array.ndim <= 3, "type of an array")
        text = f"{array.dtype.str} {array.shape};".encode() + np.ascontiguousarray(array).tobytes()
        need(hashlib.sha256(text).hexdigest() == document["sha256"][name], "hash")
        need(array.dtype.kind != "f" or np.isfinite(array).all(), "floats that are no numbers")
    return document, arrays


def table(value: Any, wanted: str, allowed: str = "") -> None:
    need(isinstance(value, dict), "a table is wanted")
    need(set(wanted.split()) <= set(value) <= set(wanted.split()) | set(allowed.split()), "keys")


def rational(text: Any) -> Fraction:
    written = isinstance(text, str) and re.fullmatch(r"-?[0-9]{1,400}(/0*[1-9][0-9]{0,399})?", text)
    need(written, "no rational")
    value = Fraction(text)
    need(abs(value) <= 10**300, "a rational beyond 1e300")
    return value


def positive(text: Any) -> Fraction:
    value = rational(text)
    need(Fraction(1, 10**200) < value < 10**200, "not positive")
    return value


def integer(value: Any, least: int, most: float = float("inf")) -> int:
    need(isinstance(value, int) and not isinstance(value, bool) and least <= value <= most, "no such integer")
    return int(value)


class File:
    """Arrays by name, as lists of fractions or integers; which were asked for is known."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays, self.asked, self.names = arrays, set[str](), {name: name for name in arrays}

    def of(self, start: str) -> File:
        """The arrays of a summand, whose names have this start, by their names in its own risk or regularizer."""
        made = File(self.arrays)
        own = any(start + points in self.arrays for points in ("points", "points_indptr"))
        made.names = {name: name for name in self.arrays if name.startswith("points") and not own}
        made.names |= {name[len(start) :]: name for name in self.arrays if name.startswith(start)}
        made.arrays = {name: self.arrays[full] for name, full in made.names.items()}
        made.asked = self.asked
        return made

    def array(self, name: str, shape: tuple[int | None, ...], below: int | None = None) -> Any:
        need(name in self.arrays, f"no array {name}")
        self.asked.add(self.names[name])
        found = self.arrays[name]
        need(len(shape) == found.ndim, f"{name} has another shape")
        need(all(a is None or a == b for a, b in zip(shape, found.shape, strict=True)), f"{name} has another shape")
        need((found.dtype.kind == "f") == (below is None), f"{name} has another type")
        if below is not None:
            need(not found.size or (found.min() >= 0 and found.max() < below), f"{name} is out of range")
            return found.tolist()
        return _fractions(found.tolist())


def _fractions(value: Any) -> Any:
    return [_fractions(part) for part in value] if isinstance(value, list) else Fraction(value)


# Statements


def gain(measure: str, k: int, short_lists: bool, p: int, f: int) -> Callable[[int, int], Interval]:
    """``g(i, b)`` of section 2.1."""
    h = k if short_lists else min(k, p)
    if measure == "map":
        return lambda i, b: exactly(Fraction(i, p * (i + b)))
    if measure == "mrr":
        return lambda i, b: exactly(Fraction(int(i == 1), 1 + b))
    if measure == "err":
        perfect = sum((Fraction(1, 2**i * i) for i in range(1, p + 1)), ZERO)
        return lambda i, b: exactly(Fraction(1, 2**i * (i + b)) / perfect)
    plain: Callable[[int, int], Interval]
    if measure == "precision":
        plain = lambda i, b: exactly(Fraction(int(i + b <= h), h))  # noqa: E731
    elif measure == "knn":
        plain = lambda i, b: exactly(Fraction(int(i == h // 2 + 1 and i + b <= h)))  # noqa: E731
    else:
        need(h <= 10_000, "too many places for this checker")
        two = logarithm(Fraction(2))
        # D(t) = 1 up to the place ones, of the two discounts.
        ones, shift = (1, 1) if measure == "ndcg-log2" else (2, 0)
        logs = [logarithm(Fraction(t + shift)) for t in range(ones + 1, h + 1)]
        D = [exactly(ONE)] * min(h, ones) + [Interval(two.low / ln.high, two.high / ln.low) for ln in logs]
        low, high = sum((d.low for d in D), ZERO), sum((d.high for d in D), ZERO)
        share = [Interval(d.low / high, d.high / low) for d in D]
        plain = lambda i, b: share[i + b - 1] if i + b <= h else NOTHING  # noqa: E731
    if not short_lists:
        return plain
    best = [plain(i, 0) for i in range(1, p + 1)]
    lack = Interval(1 - sum((g.high for g in best), ZERO), 1 - sum((g.low for g in best), ZERO))
    return lambda i, b: plain(i, b) + (lack if i == 1 else NOTHING)


def distance(M: Matrix, a: list[Fraction], b: list[Fraction]) -> Fraction:
    v = [s - t for s, t in zip(a, b, strict=True)]
    return sum((v[i] * M[i][j] * v[j] for i in range(len(v)) for j in range(len(v)) if M[i][j]), ZERO)


def softmax(d: list[Fraction], chosen: int, tau: Fraction) -> Interval:
    """``ln sum e^(-d / tau)`` plus the mean of the first ones' ``d / tau``."""
    low = min(d)
    powers = [exponential((low - t) / tau) for t in d]
    total = Interval(sum((power.low for power in powers), ZERO), sum((power.high for power in powers), ZERO))
    logs = Interval(logarithm(total.low).low, logarithm(total.high).high)
    return logs + exactly(sum(((t - low) / tau for t in d[:chosen]), ZERO) / chosen)


def of_probabilities(a: list[int], one: int) -> Interval:
    """Their entropy; they add up to one, or nothing is shown."""
    shown(sum(a) == one, "these are no probabilities")
    parts = [(Fraction(entry, one), logarithm(Fraction(entry, one))) for entry in a if entry]
    return Interval(-sum((p * ln.high for p, ln in parts), ZERO), -sum((p * ln.low for p, ln in parts), ZERO))


class Lists:
    """Section 2.1."""

    negative = False

    def __init__(self, risk: dict[str, Any], file: File, space: Space) -> None:
        d, self.space = space.d, space
        self.X = file.array("points", (None, space.k))
        N = len(self.X)
        self.near = self._lists("near", file, N)
        count = len(self.near)
        if "itself" in file.arrays:
            rows = file.array("itself", (count,), N + 1)
            self.far = [
                [j for j in range(N) if j not in near and j != row] for near, row in zip(self.near, rows, strict=True)
            ]
            need(all(self.far), "no far item")
        else:
            self.far = self._lists("far", file, N)
        need(len(self.far) == count, "lists of negatives")
        if "queries" in file.arrays:
            self.Q = file.array("queries", (count, d))
        else:
            need(d == space.k, "points that are queries")
            self.Q = [self.X[row] for row in file.array("anchors", (count,), N)]
        self.loss, self.measure, self.mu = "hinge", "auc", Fraction(1, 2)
        own = file.array("query_weights", (count,)) if "query_weights" in file.arrays else [ONE] * count
        need(min(own) >= 0, "negative weights")
        self.kind = risk["kind"]
        if self.kind == "choices":
            table(risk, "kind weight temperature")
            weight, self.tau = positive(risk["weight"]), positive(risk["temperature"])
            self.units = [weight * c for c in own]
        elif self.kind == "rankings":
            table(risk, "kind measure C", "k short queries")
            self.measure = risk["measure"]
            need(self.measure in ("auc", "map", "mrr", "err", "precision", "knn", "ndcg", "ndcg-log2"), "measure")
            need(("k" in risk) == (self.measure in ("precision", "knn", "ndcg", "ndcg-log2")), "k")
            k = integer(risk["k"], 1, 2**40 - 1) if "k" in risk else 1
            need("short" not in risk or (risk["short"] == "printed" and "k" in risk and k <= 10**6), "short")
            share = positive(risk["C"]) / integer(risk.get("queries", count), count)
            sizes = [(len(near), len(far)) for near, far in zip(self.near, self.far, strict=True)]
            self.shares = [share * c for c in own]
            self.units = [2 * s / (p * f) for s, (p, f) in zip(self.shares, sizes, strict=True)]
            if self.measure != "auc":
                known = {(p, f): gain(self.measure, k, "short" in risk, p, f) for p, f in set(sizes)}
                self.gains = [known[size] for size in sizes]
        else:
            table(risk, "kind loss weight", "margin")
            self.loss = risk["loss"]
            need(self.loss in ("hinge", "logistic") and ("margin" in risk) == (self.loss == "hinge"), "loss")
            self.mu = rational(risk.get("margin", "0"))
            weight = positive(risk["weight"])
            self.units = [weight * c for c in own]

    @staticmethod
    def _lists(name: str, file: File, N: int) -> list[list[int]]:
        items, stops = file.array(name, (None,), N), file.array(f"{name}_stops", (None,), 2**40)
        starts = [0, *stops[:-1]]
        need(stops and all(a < b for a, b in zip(starts, stops, strict=True)), "lists")
        need(stops[-1] == len(items), "lists")
        return [items[a:b] for a, b in zip(starts, stops, strict=True)]

    @property
    def ranked(self) -> bool:
        return self.measure != "auc"

    def count(self) -> int:
        return len(self.near)

    def keep(self, first: int, end: int) -> None:
        """Only these queries."""
        self.near, self.far, self.Q = self.near[first:end], self.far[first:end], self.Q[first:end]
        self.units = self.units[first:end]
        if self.ranked:
            self.shares, self.gains = self.shares[first:end], self.gains[first:end]

    def times(self, factors: list[Fraction]) -> Lists:
        """With other weights."""
        made = copy.copy(self)
        made.units = [a * b for a, b in zip(self.units, factors, strict=True)]
        if self.ranked:
            made.shares = [a * b for a, b in zip(self.shares, factors, strict=True)]
        return made

    def value(self, M: Matrix) -> Interval:
        return sum(self.each(M), NOTHING)

    def each(self, M: Matrix) -> list[Interval]:
        """What every query is worth."""
        found = []
        for q, (near, far) in enumerate(zip(self.near, self.far, strict=True)):
            x, z = ([self.space.distance(M, self.Q[q], self.X[i]) for i in items] for items in (near, far))
            if self.kind == "choices":
                found.append(softmax(x + z, len(x), self.tau).times(exactly(self.units[q])))
                continue
            if self.ranked:
                found.append(self._worst(q, sorted(x), sorted(z)).times(exactly(self.shares[q])))
                continue
            total = NOTHING
            for a in x:
                for b in z:
                    loss = softplus(b - a) if self.loss == "logistic" else exactly(max(ZERO, self.mu - b + a))
                    total += loss.times(exactly(self.units[q]))
            found.append(total)
        return found

    def _worst(self, q: int, x: list[Fraction], z: list[Fraction]) -> Interval:
        """Theorem 2, for the lower and for the upper ends of the gains."""
        p, f, ends = len(x), len(z), []
        table = [[self.gains[q](i, b) for b in range(f + 1)] for i in range(1, p + 1)]
        for end in ("high", "low"):
            V = [ZERO] * (f + 1)
            for i in range(p):
                cost, least = ZERO, None
                for b in range(f + 1):
                    cost += z[b - 1] - x[i] if b else ZERO
                    here = getattr(table[i][b], end) + Fraction(2, p * f) * cost + V[b]
                    least = here if least is None else min(least, here)
                    V[b] = least
            ends.append(1 - V[f])
        return Interval(*ends)

    def dual(self, dual: dict[str, Any], file: File) -> Says:
        """v, and S as weights of pairs of points."""
        if self.kind == "choices":
            return self._choices(dual, file)
        kind = "slopes" if self.loss == "logistic" else "rankings" if self.ranked else "sums"
        need(dual["kind"] == kind, "kind of dual point")
        one = 2 ** integer(dual.get("bits"), 0, 40)
        sizes = [(len(near), len(far)) for near, far in zip(self.near, self.far, strict=True)]
        need(all(one * p * f <= 2**53 for p, f in sizes), "too many bits")
        P, F = sum(p for p, _ in sizes), sum(f for _, f in sizes)
        if kind == "slopes":
            slopes = file.array("slopes", (sum(p * f for p, f in sizes),), one + 1)
        else:
            near, far = file.array("near_sums", (P,), 2**53), file.array("far_sums", (F,), 2**53)
        if kind == "rankings":
            steps = file.array("steps", (None, P), max(f for _, f in sizes) + 1)
            weights = file.array("weights", (len(steps), None), one + 1)
            columns = file.arrays["weights"].shape[1]
            groups = file.array("groups", (len(sizes),), columns)
            shown(all(sum(row[g] for row in weights) <= one for g in range(columns)), "weights above one")
        v, S, at, to, pair = NOTHING, [], 0, 0, 0
        for q, (p, f) in enumerate(sizes):
            if kind == "slopes":
                a = [slopes[pair + i * f : pair + (i + 1) * f] for i in range(p)]
                pair += p * f
                r, c = [sum(row) for row in a], [sum(column) for column in zip(*a, strict=True)]
                for row in a:
                    for entry in row:
                        v += entropy(Fraction(entry, one)).times(exactly(self.units[q]))
            else:
                r, c = near[at : at + p], far[to : to + f]
            if kind == "sums":
                shown(sum(r) == sum(c), "sums differ")
                for k in range(1, p + 1):
                    most = sum(min(entry, k * one) for entry in c)
                    shown(sum(sorted(r)[-k:]) <= most, "no slopes have these sums")
                v += exactly(self.units[q] * self.mu * Fraction(sum(r), one))
            if kind == "rankings":
                v += self._rankings(
                    q, r, c, [row[at : at + p] for row in steps], [row[groups[q]] for row in weights], one
                )
            at, to = at + p, to + f
            for entry, item in zip(c, self.far[q], strict=True):
                S.append((self.units[q] * Fraction(entry, one), self.Q[q], self.X[item]))
            for entry, item in zip(r, self.near[q], strict=True):
                S.append((-self.units[q] * Fraction(entry, one), self.Q[q], self.X[item]))
        return v, S

    def _choices(self, dual: dict[str, Any], file: File) -> Says:
        need(dual["kind"] == "probabilities", "kind of dual point")
        one = 2 ** integer(dual.get("bits"), 0, 40)
        need(all(one * (len(near) + 1) <= 2**53 for near in self.near), "too many bits")
        sizes = [len(near) + len(far) for near, far in zip(self.near, self.far, strict=True)]
        given, at, v, S = file.array("probabilities", (sum(sizes),), one + 1), 0, NOTHING, []
        for q, size in enumerate(sizes):
            a, p, unit = given[at : at + size], len(self.near[q]), self.units[q]
            at += size
            v += of_probabilities(a, one).times(exactly(unit))
            for number, item in enumerate(self.near[q] + self.far[q]):
                weight = Fraction(a[number], one) - (Fraction(1, p) if number < p else 0)
                S.append((unit / self.tau * weight, self.Q[q], self.X[item]))
        return v, S

    def _rankings(self, q: int, r: list[int], c: list[int], steps: Any, weights: list[int], one: int) -> Interval:
        p, f, v = len(r), len(c), NOTHING
        own, other = [0] * p, [0] * f
        for w, row in zip(weights, steps, strict=True):
            if not w:
                continue
            b = [sum(row[: i + 1]) for i in range(p)]
            shown(b[-1] <= f, "more negatives than there are")
            own = [s + w * t for s, t in zip(own, b, strict=True)]
            other = [s + w * sum(t > j for t in b) for j, s in enumerate(other)]
            score = [self.gains[q](i + 1, b[i]) for i in range(p)]
            loss = Interval(1 - sum((g.high for g in score), ZERO), 1 - sum((g.low for g in score), ZERO))
            v += loss.times(exactly(self.shares[q] * Fraction(w, one)))
        for part, whole in ((r, own), (c, other)):
            shown(sum(part) == sum(whole), "sums are not those of the rankings")
            for k in range(1, len(part)):
                shown(sum(sorted(part)[-k:]) <= sum(sorted(whole)[-k:]), "sums are not those of the rankings")
        return v


LOSSES = (
    "hinge", "absolute", "squared", "logistic", "hard", "box", "exponential", "itakura-saito", "negative log",
    "negative root",
)  # fmt: skip


@dataclass(frozen=True)
class Box:
    """The largest ``a (mu - s) - kappa a^2 / 2`` of lo <= a <= hi; infinite ends are None."""

    lo: Fraction | None
    hi: Fraction | None
    kappa: Fraction

    def into(self, a: Fraction) -> Fraction:
        """The nearest number of the box."""
        a = a if self.lo is None else max(a, self.lo)
        return a if self.hi is None else min(a, self.hi)

    def value(self, t: Fraction) -> Fraction:
        if self.kappa:
            a = self.into(t / self.kappa)
            return a * t - self.kappa * a * a / 2
        end = (self.hi if t > 0 else self.lo) if t else ZERO
        shown(end is not None, "an infinite loss")
        return (end or ZERO) * t


#: Losses by name, or boxes.
Loss = str | Box


def loss_in(term: dict[str, Any]) -> Loss:
    """The loss of a term."""
    need(isinstance(term, dict) and isinstance(term.get("loss"), str) and term["loss"] in LOSSES, "loss")
    boxed = term["loss"] == "box"
    table(term, "loss weight margin sign" + " curvature" * boxed, "low high" * boxed)
    if not boxed:
        return str(term["loss"])
    lo, hi = (rational(term[end]) if end in term else None for end in ("low", "high"))
    box = Box(lo, hi, rational(term["curvature"]))
    need(box.kappa >= 0 and (lo is None or hi is None or lo <= hi), "box")
    return box


def may_be_negative(loss: Loss) -> bool:
    """Whether a loss may be, as section 2.2 says."""
    return loss.into(ZERO) != 0 if isinstance(loss, Box) else loss in ("negative log", "negative root")


def loss_of(loss: Loss, s: Fraction, mu: Fraction) -> Interval:
    """``l(s)``; where it is infinite nothing is shown."""
    if isinstance(loss, Box):
        return exactly(loss.value(mu - s))
    if loss == "exponential":
        t = mu - s
        shown(t <= 300, "too large a power")
        power = exponential(-abs(t))
        return power if t <= 0 else Interval(1 / power.high, 1 / power.low)
    if loss == "hard":
        shown(s >= mu, "a hard margin does not hold")
        return NOTHING
    if loss == "itakura-saito":
        shown(mu != 0, "a margin of zero")
        r = min(ONE, s / mu) if mu > 0 else max(ONE, s / mu)
        shown(r > 0, "an infinite loss")
        return exactly(r - 1) - logarithm(r)
    if loss == "negative log":
        shown(s > 0, "an infinite loss")
        return NOTHING - logarithm(s)
    if loss == "negative root":
        shown(s >= 0, "an infinite loss")
        return NOTHING - root(s)
    known = {"hinge": max(ZERO, mu - s), "absolute": abs(mu - s), "squared": (mu - s) ** 2}
    return softplus(s) if loss == "logistic" else exactly(known[loss])


def _worth(loss: Loss, a: Fraction, mu: Fraction) -> Interval:
    """``v(a)`` of a slope in its box."""
    if isinstance(loss, Box):
        shown(loss.into(a) == a, "a slope outside of its box")
        return exactly(mu * a - loss.kappa * a * a / 2)
    if loss == "exponential":
        shown(a >= 0, "a slope outside of its box")
        return (exactly(mu + 1) - logarithm(a)).times(exactly(a)) if a else NOTHING
    box = {"absolute": -1 <= a <= 1, "squared": True, "hard": a >= 0}
    box |= {"itakura-saito": a >= 0 and 1 + mu * a > 0 and mu != 0, "negative log": a > 0, "negative root": a > 0}
    shown(box.get(loss, 0 <= a <= 1), "a slope outside of its box")
    if loss == "logistic":
        return entropy(a)
    if loss == "itakura-saito":
        return logarithm(1 + mu * a)
    if loss == "negative log":
        return exactly(ONE) + logarithm(a)
    if loss == "negative root":
        return exactly(-1 / (4 * a))
    return exactly(mu * a - (a * a / 4 if loss == "squared" else 0))


def sparse(file: File, name: str, columns: int) -> list[list[tuple[int, Fraction]]]:
    """Rows of a matrix by columns that ascend, and values."""
    at, start = file.array(f"{name}_indices", (None,), columns), file.array(f"{name}_indptr", (None,), 2**40)
    values = file.array(f"{name}_data", (len(at),))
    need(start and start[0] == 0 and start[-1] == len(at) and start == sorted(start), "rows")
    rows = [list(zip(at[a:b], values[a:b], strict=True)) for a, b in itertools.pairwise(start)]
    need(all(row[k][0] < row[k + 1][0] for row in rows for k in range(len(row) - 1)), "columns that do not ascend")
    return rows


def points_of(file: File, space: Space) -> tuple[Matrix, Matrix]:
    """Points that come first in comparisons, and the others."""
    if "points" in file.arrays or not space.diagonal:
        X = file.array("points", (None, space.k))
    else:
        rows = [dict(row) for row in sparse(file, "points", space.k)]
        X = [[row.get(f, ZERO) for f in range(space.k)] for row in rows]
    if space.free and "queries" in file.arrays:
        return file.array("queries", (None, space.d)), X
    need(space.d == space.k, "points that are queries")
    return X, X


class Listed:
    """Section 2.2."""

    def __init__(self, risk: dict[str, Any], file: File, space: Space) -> None:
        self.space = space
        table(risk, "kind terms")
        need(isinstance(risk["terms"], list) and 1 <= len(risk["terms"]) <= 64, "terms")
        known = [loss_in(term) for term in risk["terms"]]
        for term in risk["terms"]:
            need(term["sign"] in (1, -1) and not isinstance(term["sign"], bool), "sign")
            need(positive(term["weight"]) == 1 or term["loss"] != "hard", "weight of a hard margin")
            rational(term["margin"])
        self.negative = any(map(may_be_negative, known))
        self.Q, self.X = points_of(file, space)
        N = len(self.X)
        if risk["kind"] == "all pairs":
            need(not space.free, "all pairs without a cone")
            need(len(risk["terms"]) == 2, "two terms")
            codes = file.array("codes", (N,), N)
            rows = [[(ONE, i, j)] for i in range(N) for j in range(i + 1, N)]
            kinds = [int(codes[i] != codes[j]) for i in range(N) for j in range(i + 1, N)]
        else:
            rows = self._listed(file)
            kinds = file.array("terms", (len(rows),), len(risk["terms"]))
        terms = [risk["terms"][kind] for kind in kinds]
        self.rows, self.losses, self.signs = rows, [known[kind] for kind in kinds], [t["sign"] for t in terms]
        self.mu = [rational(t["margin"]) for t in terms]
        self.weights = [rational(t["weight"]) for t in terms]
        if "targets" in file.arrays:
            self.mu = file.array("targets", (len(rows),))
        if "comparison_weights" in file.arrays:
            own = file.array("comparison_weights", (len(rows),))
            need(all(c >= 0 for c in own), "negative weights")
            self.weights = [a * b for a, b in zip(self.weights, own, strict=True)]

    def _listed(self, file: File) -> list[list[tuple[Fraction, int, int]]]:
        """Every comparison as pairs of points with a factor each."""
        most = max(len(self.Q), len(self.X))
        if "triplets" in file.arrays:
            triplets = file.array("triplets", (None, 3), most)
            rows = [[(ONE, i, k), (-ONE, i, j)] for i, j, k in triplets]
        else:
            rows = [[(ONE, i, j)] for i, j in file.array("pairs", (None, 2), most)]
        need(all(i < len(self.Q) and j < len(self.X) for row in rows for _, i, j in row), "no such point")
        if "triplets" in file.arrays or "matrix_indptr" not in file.arrays:
            return rows
        return [[(a, *rows[p][0][1:]) for p, a in row] for row in sparse(file, "matrix", len(rows))]

    def count(self) -> int:
        return len(self.rows)

    def keep(self, first: int, end: int) -> None:
        """Only these comparisons."""
        self.rows, self.losses, self.signs = self.rows[first:end], self.losses[first:end], self.signs[first:end]
        self.mu, self.weights = self.mu[first:end], self.weights[first:end]

    def times(self, factors: list[Fraction]) -> Listed:
        """With other weights."""
        made = copy.copy(self)
        made.weights = [a * b for a, b in zip(self.weights, factors, strict=True)]
        return made

    def value(self, M: Matrix) -> Interval:
        return sum(self.each(M), NOTHING)

    def each(self, M: Matrix) -> list[Interval]:
        """What every comparison is worth."""
        found = []
        for row, loss, sign, mu, weight in zip(self.rows, self.losses, self.signs, self.mu, self.weights, strict=True):
            s = sign * sum((a * self.space.distance(M, self.Q[i], self.X[j]) for a, i, j in row), ZERO)
            found.append(loss_of(loss, s, mu).times(exactly(weight)))
        return found

    def dual(self, dual: dict[str, Any], file: File) -> Says:
        need(dual["kind"] == "slopes" and "bits" not in dual, "kind of dual point")
        v, S = NOTHING, []
        for a, row, loss, sign, mu, weight in zip(
            file.array("slopes", (len(self.rows),)), self.rows, self.losses, self.signs, self.mu, self.weights,
            strict=True,
        ):  # fmt: skip
            v += _worth(loss, a, mu).times(exactly(weight))
            S += [(weight * a * sign * factor, self.Q[i], self.X[j]) for factor, i, j in row]
        return v, S


class Trials:
    """Choices of section 2.2."""

    negative = False

    def __init__(self, risk: dict[str, Any], file: File, space: Space) -> None:
        need(not space.free, "listed comparisons without a cone")
        self.space = space
        table(risk, "kind weight temperature candidates chosen")
        self.weight, self.tau = positive(risk["weight"]), positive(risk["temperature"])
        self.m = integer(risk["chosen"], 1, 2**40 - 1)
        k = integer(risk["candidates"], self.m + 1, 2**40 - 1)
        _, self.X = points_of(file, space)
        rows = file.array("pairs", (None, 2), len(self.X))
        need(rows and len(rows) % k == 0, "no whole trials")
        self.trials = [rows[at : at + k] for at in range(0, len(rows), k)]

    def count(self) -> int:
        return len(self.trials)

    def keep(self, first: int, end: int) -> None:
        """Only these trials."""
        self.trials = self.trials[first:end]

    def value(self, M: Matrix) -> Interval:
        total = NOTHING
        for trial in self.trials:
            d = [self.space.distance(M, self.X[i], self.X[j]) for i, j in trial]
            total += softmax(d, self.m, self.tau).times(exactly(self.weight))
        return total

    def dual(self, dual: dict[str, Any], file: File) -> Says:
        need(dual["kind"] == "probabilities", "kind of dual point")
        one = 2 ** integer(dual.get("bits"), 0, 40)
        need(one * self.m <= 2**53, "too many bits")
        given = file.array("probabilities", (sum(map(len, self.trials)),), one + 1)
        v, S, at = NOTHING, [], 0
        for trial in self.trials:
            a = given[at : at + len(trial)]
            at += len(trial)
            v += of_probabilities(a, one).times(exactly(self.weight))
            for number, (i, j) in enumerate(trial):
                share = Fraction(a[number], one) - (Fraction(1, self.m) if number < self.m else 0)
                S.append((self.weight / self.tau * share, self.X[i], self.X[j]))
        return v, S


class Worst:
    """Worst parts."""

    negative = False

    def __init__(self, risk: dict[str, Any], file: File, d: int) -> None:
        table(risk, "kind share of")
        own, share = risk["of"], rational(risk["share"])
        known = ("pairs of lists", "rankings", "choices", "listed comparisons")
        need(isinstance(own, dict) and own.get("kind") in known, "of")
        self.of = KINDS[own["kind"]](own, file, d)
        need(0 <= share <= 1 and not self.of.negative, "worst parts")
        self.X, self.n, self.here = self.of.X, self.of.count(), 1
        self.cap = 1 / max(ONE, share * self.n)

    def count(self) -> int:
        return self.here

    def keep(self, first: int, end: int) -> None:
        """The one row, or none."""
        self.here = end - first

    def value(self, M: Matrix) -> Interval:
        each = self.of.each(M)
        return Interval(self._most([x.low for x in each]), self._most([x.high for x in each]))

    def _most(self, worth: list[Fraction]) -> Fraction:
        left, total = ONE, ZERO
        for x in sorted(worth, reverse=True):
            w = min(left, self.cap)
            left, total = left - w, total + w * x
        return self.n * total

    def dual(self, dual: dict[str, Any], file: File) -> tuple[Interval, list[tuple[Fraction, list[Fraction]]]]:
        need(dual["kind"] == "worst", "kind of dual point")
        one = 2 ** integer(dual.get("bits"), 0, 40)
        table(dual["of"], "kind bits" if isinstance(self.of, Lists) else "kind")
        w = file.array("parts_weights", (self.n,), one + 1)
        says = self.of.times([Fraction(self.n * entry, one) for entry in w]).dual(dual["of"], file)
        shown(max(w) <= self.cap * one and sum(w) <= one, "weights of parts")
        return says


class Sum:
    """Sums of risks."""

    X = None

    def __init__(self, risk: dict[str, Any], file: File, space: Space) -> None:
        table(risk, "kind summands")
        need(isinstance(risk["summands"], list) and 1 <= len(risk["summands"]) <= 16, "summands")
        self.risks = []
        for number, one in enumerate(risk["summands"]):
            need(isinstance(one, dict) and isinstance(one.get("kind"), str), "summand")
            need(one["kind"] in KINDS and one["kind"] != "sum", "kind of a summand")
            self.risks.append(KINDS[one["kind"]](one, file.of(f"summand{number}_"), space))

    @property
    def negative(self) -> bool:
        """Whether it may be."""
        return any(risk.negative for risk in self.risks)

    def count(self) -> int:
        return sum(risk.count() for risk in self.risks)

    def keep(self, first: int, end: int) -> None:
        """Only these rows, counted over all risks."""
        at = 0
        for risk in self.risks:
            count = risk.count()
            risk.keep(*(min(max(row - at, 0), count) for row in (first, end)))
            at += count

    def value(self, M: Matrix) -> Interval:
        return sum((risk.value(M) for risk in self.risks if risk.count()), NOTHING)

    def dual(self, dual: dict[str, Any], file: File) -> Says:
        need(dual["kind"] == "sum" and isinstance(dual["summands"], list), "kind of dual point")
        need(len(dual["summands"]) == len(self.risks), "summands of the dual point")
        v, S, why = NOTHING, [], ""
        for number, (risk, own) in enumerate(zip(self.risks, dual["summands"], strict=True)):
            table(own, "kind" + KEYS[type(risk)])
            try:
                says = risk.dual(own, file.of(f"summand{number}_")) if risk.count() else (NOTHING, [])
                v, S = v + says[0], S + says[1]
            except Unproven as error:
                # Whatever is refused in the others comes first.
                why = why or str(error)
        shown(not why, why)
        return v, S


KINDS: dict[str, Any] = {
    "pairs of lists": Lists, "rankings": Lists, "choices": Lists, "listed comparisons": Listed, "all pairs": Listed,
    "listed choices": Trials, "worst": Worst, "sum": Sum,
}  # fmt: skip
#: Keys of their dual points.
KEYS = {Lists: " bits", Listed: "", Trials: " bits", Worst: " bits of", Sum: " summands"}


# Obligations


def semidefinite(K: Matrix) -> bool:
    """By exact pivots: a zero pivot needs a row of zeros."""
    K, d = [row[:] for row in K], len(K)
    for i in range(d):
        if K[i][i] < 0 or (K[i][i] == 0 and any(K[i][j] for j in range(i, d))):
            return False
        if K[i][i]:
            for a in range(i + 1, d):
                share = K[a][i] / K[i][i]
                for b in range(i + 1, d):
                    K[a][b] -= share * K[i][b]
    return True


def rounded(value: Fraction, up: bool) -> Fraction:
    """Section 6."""
    if value == 0:
        return value
    e = -400
    while abs(value) >= Fraction(10) ** (e + 17):
        e += 100 if abs(value) >= Fraction(10) ** (e + 117) else 1
    while abs(value) < Fraction(10) ** (e + 16):
        e -= 1
    scaled = value / Fraction(10) ** e
    whole = -(-scaled.numerator // scaled.denominator) if up else scaled.numerator // scaled.denominator
    return whole * Fraction(10) ** e


@dataclass(frozen=True)
class Space:
    """The cone: whether metrics are diagonal, d, of block-diagonal ones the block of every feature.

    And whether there is none, the features of items, and whether matrices are symmetric.
    """

    diagonal: bool
    d: int
    blocks: list[int]
    free: bool
    k: int
    symmetric: bool

    def matrix(self, file: File, name: str) -> Matrix:
        """An array that is symmetric unless matrices need not be, or a diagonal one."""
        if self.diagonal:
            return self.filled(file.array(name, (self.d,)))
        found: Matrix = file.array(name, (self.d, self.k))
        need(not self.symmetric or [list(row) for row in zip(*found, strict=True)] == found, f"{name} is not symmetric")
        return found

    def zeros(self) -> Matrix:
        return [[ZERO] * self.k for _ in range(self.d)]

    def distance(self, M: Matrix, a: list[Fraction], b: list[Fraction]) -> Fraction:
        """Of a query a and a point b: minus their similarity where there is no cone."""
        if self.free:
            return -sum((s * M[i][j] * t for i, s in enumerate(a) for j, t in enumerate(b)), ZERO)
        return distance(M, a, b)

    def outer(self, a: list[Fraction], b: list[Fraction]) -> Matrix:
        """``e_ab`` of section 4."""
        if self.free:
            e = [[-s * t for t in b] for s in a]
            return [[(x + y) / 2 for x, y in zip(*rows, strict=True)] for rows in zip(e, zip(*e, strict=True),
                    strict=True)] if self.symmetric else e  # fmt: skip
        v = [s - t for s, t in zip(a, b, strict=True)]
        n = range(self.d)
        return [[v[i] * v[j] if i == j or not self.diagonal else ZERO for j in n] for i in n]

    def filled(self, entries: list[Fraction]) -> Matrix:
        """A diagonal matrix."""
        return [[entries[i] if i == j else ZERO for j in range(self.d)] for i in range(self.d)]

    def triangle(self, file: File, name: str) -> Matrix:
        """An upper triangle with a positive diagonal; of diagonal metrics a positive diagonal."""
        found = self.filled(file.array(name, (self.d,))) if self.diagonal else file.array(name, (self.d, self.d))
        below = any(found[i][j] for i in range(self.d) for j in range(i))
        need(not below and all(found[i][i] > 0 for i in range(self.d)), f"{name} is no triangle")
        return list(found)

    def square(self, B: Matrix) -> Matrix:
        """``B^T B``; of a diagonal metric its weights themselves."""
        return B if self.diagonal else _gram(B, self.d)

    def log_det(self, T: Matrix) -> Interval:
        """Of the square of a triangle."""
        total = sum((logarithm(T[i][i]) for i in range(self.d)), NOTHING)
        return total if self.diagonal else total + total

    def dual(self, K: Matrix) -> bool:
        """Whether a matrix is in the dual cone."""
        if self.diagonal:
            return all(K[i][i] >= 0 for i in range(self.d))
        n = range(self.d)
        return semidefinite([[K[i][j] if self.blocks[i] == self.blocks[j] else ZERO for j in n] for i in n])


def _gram(B: Matrix, d: int) -> Matrix:
    return [[sum((row[i] * row[j] for row in B), ZERO) for j in range(d)] for i in range(d)]


def plus(A: Matrix, B: Matrix, times: Fraction = ONE) -> Matrix:
    return [[a + times * b for a, b in zip(*rows, strict=True)] for rows in zip(A, B, strict=True)]


def inner(A: Matrix, B: Matrix) -> Fraction:
    return sum((a * b for rows in zip(A, B, strict=True) for a, b in zip(*rows, strict=True) if a and b), ZERO)


@dataclass
class Slope:
    """``Omega(M) >= <P, M> - e``, where P is known up to ``off`` in the Frobenius norm."""

    P: Matrix
    e: Interval
    off: Fraction = ZERO


#: Regularizers that may stand in a sum: keys beside the kind, and optional ones; what ``dual`` has of them.
PLAIN = {
    "zero": ("", "", ""),
    "trace": ("weight", "over_root_of", ""),
    "frobenius": ("weight", "over_root_of prior", ""),
    "squared frobenius": ("weight", "over_root_of prior", ""),
    "trace norm": ("weight", "over_root_of prior", ""),
    "entrywise": ("weight diagonal", "over_root_of prior", ""),
    "log det": ("weight", "over_root_of", ""),
    "budget": ("limit", "weight", "multiplier"),
    "spectral bound": ("", "", ""),
    "row norms": ("weight", "", ""),
    "inverse trace": ("weight", "", ""),
}


class Regularizer:
    """A regularizer of section 2.3 that may stand in a sum."""

    def __init__(self, said: Any, file: File, space: Space) -> None:
        need(isinstance(said, dict) and isinstance(said.get("kind"), str) and said["kind"] in PLAIN, "regularizer")
        self.kind, self.space, self.said = said["kind"], space, said
        wanted, allowed, self.parameters = PLAIN[self.kind]
        table(said, f"kind {wanted}", allowed)
        self.definite = self.kind == "log det"
        if "weight" in said:
            m = integer(said.get("over_root_of", 1), 1, 2**40 - 1)
            over = exactly(Fraction(isqrt(m))) if isqrt(m) ** 2 == m else root(Fraction(m))
            weight = positive(said["weight"])
            self.weight = Interval(weight / over.high, weight / over.low)
        need(not space.free or self.kind in ("frobenius", "squared frobenius", "trace norm"), "regularizer of matrices")
        self.prior = space.zeros()
        if "prior" in said:
            need(said["prior"] is True, "prior")
            self.prior = space.matrix(file, "prior")
        if self.kind == "entrywise":
            need(not space.diagonal and isinstance(said["diagonal"], bool), "entries")
        if self.kind == "log det":
            self.T0 = space.triangle(file, "prior_root")
        if self.kind == "budget":
            self.A, self.limit = space.matrix(file, "spent"), positive(said["limit"])
        need(not space.diagonal or self.kind not in ("spectral bound", "row norms", "inverse trace"), "on the diagonal")
        if self.kind == "spectral bound":
            self.U = space.matrix(file, "upper")
        if self.kind == "inverse trace":
            self.C = file.array("root_of_prior", (None, space.d))

    def read(self, table_of: Any, file: File) -> None:
        """What bounds are shown by."""
        table(table_of, self.parameters)
        if self.space.free:
            if self.kind == "trace norm":
                self.left = file.array("left", (self.space.d, None))
                self.right = file.array("right", (self.space.k, None))
                width = {len(row) for row in (*self.left, *self.right)}
                need(len(width) == 1, "left and right")
            return
        if self.kind in ("frobenius", "squared frobenius", "trace norm", "entrywise"):
            self.P = self.space.matrix(file, "slope")
        if self.kind == "trace norm" and not self.space.diagonal:
            self.N = self.space.matrix(file, "above")
        if self.kind == "log det":
            self.T = self.space.triangle(file, "root")
        if self.kind == "budget":
            self.t = rational(table_of["multiplier"])
        d, r = self.space.d, len(getattr(self, "C", ()))
        if self.kind == "spectral bound":
            self.Y = file.array("root_of_slope", (None, d))
        if self.kind == "row norms":
            self.Q = file.array("slope", (d, d))
        if self.kind == "inverse trace":
            self.Y, self.N = file.array("slope", (r, d)), file.array("above", (r, r))
            need([list(row) for row in zip(*self.N, strict=True)] == self.N, "above is not symmetric")

    def value(self, M: Matrix, B: Matrix) -> Interval:
        """Omega, or what takes its place; M is the metric of the factor B."""
        n, kind = range(self.space.d), self.kind
        if kind == "zero":
            return NOTHING
        if kind == "budget":
            over = inner(self.A, M) - self.limit
            shown("weight" in self.said or over <= 0, "the budget is exceeded")
            return exactly(max(ZERO, over)).times(self.weight) if "weight" in self.said else NOTHING
        if kind == "trace":
            return exactly(sum((M[i][i] for i in n), ZERO)).times(self.weight)
        if kind == "log det":
            linear = exactly(inner(self.space.square(self.T0), M) - self.space.d)
            return (linear - self.space.log_det(B) - self.space.log_det(self.T0)).times(self.weight)
        if kind == "spectral bound":
            shown(semidefinite(plus(self.U, M, -ONE)), "the bound is exceeded")
            return NOTHING
        if kind == "row norms":
            return sum((root(sum((x * x for x in row), ZERO)) for row in M), NOTHING).times(self.weight)
        if kind == "inverse trace":
            C, r = self.C, range(len(self.C))
            whole = [M[i] + [C[k][i] for k in r] for i in n] + [C[k] + self.N[k] for k in r]
            shown(semidefinite(whole), "the matrix above")
            return exactly(sum((self.N[k][k] for k in r), ZERO)).times(self.weight)
        X = plus(M, self.prior, -ONE)
        if kind == "trace norm" and self.space.free:
            A, B = self.left, self.right
            product = [[sum((s * t for s, t in zip(a, b, strict=True)), ZERO) for b in B] for a in A]
            rest = plus(X, product, -ONE)
            size = (inner(A, A) + inner(B, B)) / 2
            return (exactly(size) + root(min(self.space.d, self.space.k) * inner(rest, rest))).times(self.weight)
        if kind == "trace norm" and not self.space.diagonal:
            shown(semidefinite(self.N) and semidefinite(plus(self.N, X, -ONE)), "the matrix above")
            return exactly(sum((2 * self.N[i][i] - X[i][i] for i in n), ZERO)).times(self.weight)
        if kind in ("trace norm", "entrywise"):
            return exactly(sum((abs(X[i][j]) for i in n for j in n if self._counts(i, j)), ZERO)).times(self.weight)
        square = inner(X, X)
        return (root(square) if kind == "frobenius" else exactly(square / 2)).times(self.weight)

    def _counts(self, i: int, j: int) -> bool:
        return i != j or self.kind != "entrywise" or bool(self.said["diagonal"])

    def slope(self) -> Slope:
        """O3."""
        d, kind = self.space.d, self.kind
        nothing = self.space.filled([ZERO] * d)
        if kind == "zero":
            return Slope(nothing, NOTHING)
        if kind == "trace":
            return Slope(self.space.filled([self.weight.low] * d), NOTHING)
        if kind == "budget":
            shown(self.t >= 0, "a negative multiplier")
            shown("weight" not in self.said or self.t <= self.weight.low, "the multiplier")
            return Slope([[self.t * entry for entry in row] for row in self.A], exactly(self.t * self.limit))
        if kind == "log det":
            D = plus(self.space.square(self.T0), self.space.square(self.T), -ONE)
            e = (self.space.log_det(self.T0) - self.space.log_det(self.T)).times(self.weight)
            off = (self.weight.high - self.weight.low) * root(inner(D, D)).high
            return Slope([[self.weight.low * entry for entry in row] for row in D], e, off)
        if kind == "spectral bound":
            P = _gram(self.Y, d)
            return Slope(P, exactly(inner(P, self.U)))
        if kind == "row norms":
            shown(all(sum((q * q for q in row), ZERO) <= self.weight.low**2 for row in self.Q), "a row of the slope")
            turned = [list(row) for row in zip(*self.Q, strict=True)]
            return Slope([[q / 2 for q in row] for row in plus(self.Q, turned)], NOTHING)
        if kind == "inverse trace":
            lam = self.weight.low
            P = [[-lam * entry for entry in row] for row in _gram(self.Y, d)]
            return Slope(P, exactly(-2 * lam * inner(self.Y, self.C)))
        return self.slope_of(self.P)

    def slope_of(self, P: Matrix) -> Slope:
        """O3 of one of the norms at P."""
        self.P, d, kind = P, self.space.d, self.kind
        n = range(d)
        paid, square = exactly(inner(self.P, self.prior)), inner(self.P, self.P)
        if kind == "squared frobenius":
            return Slope(self.P, paid + Interval(square / (2 * self.weight.high), square / (2 * self.weight.low)))
        if kind == "frobenius":
            fits = square <= self.weight.low**2
        elif kind == "trace norm" and self.space.free:
            lifted = [
                [self.weight.low**2 if i == j else ZERO for j in range(self.space.k)] for i in range(self.space.k)
            ]
            fits = semidefinite(plus(lifted, _gram(P, self.space.k), -ONE))
        elif kind == "trace norm" and not self.space.diagonal:
            I = self.space.filled([self.weight.low] * d)  # noqa: E741
            fits = semidefinite(plus(I, self.P)) and semidefinite(plus(I, self.P, -ONE))
        else:
            fits = all(abs(self.P[i][j]) <= self._counts(i, j) * self.weight.low for i in n for j in n)
        shown(fits, "the slope is beyond the weight")
        return Slope(self.P, paid)


class Form:
    """A quadratic form of diagonal metrics."""

    kind, definite = "quadratic form", False

    def __init__(self, said: Any, file: File, space: Space, X: Matrix | None) -> None:
        table(said, "kind of")
        need(space.diagonal, "regularizer")
        self.space, self.convex, d = space, said["of"] == "gram of A", space.d
        self.parameters = "" if self.convex else "lack"
        if self.convex:
            self.L = [[entry**2 for entry in row] for row in _gram(file.array("gram_of", (None, d)), d)]
            return
        need(said["of"] == "matrix" or (said["of"] == "squared points" and X is not None), "form")
        given = X if said["of"] == "squared points" else file.array("form", (d, d))
        need(len(given) == d and [list(row) for row in zip(*given, strict=True)] == given, "form")
        need(said["of"] == "squared points" or min(map(min, given)) >= 0, "form")
        self.L = [[entry**2 if said["of"] == "squared points" else entry for entry in row] for row in given]

    def read(self, table_of: Any, file: File) -> None:
        """What bounds are shown by."""
        table(table_of, self.parameters)
        self.z, self.lack = file.array("z", (self.space.d,)), ZERO if self.convex else rational(table_of["lack"])

    def value(self, M: Matrix, B: Matrix) -> Interval:
        """Half the form."""
        n = range(self.space.d)
        return exactly(sum((M[i][i] * self.L[i][j] * M[j][j] for i in n for j in n), ZERO) / 2)

    def slope_below(self, most: Fraction | None) -> Slope:
        """O3; ``most`` is what Omega is at most at an optimum, if that is known."""
        d, L, z = self.space.d, self.L, self.z
        reach = [sum((L[i][j] * z[j] for j in range(d)), ZERO) for i in range(d)]
        e = sum((a * b for a, b in zip(z, reach, strict=True)), ZERO) / 2
        if not self.convex:
            rows = [i for i in range(d) if any(L[i])]
            shown(self.lack >= 0 and (self.lack == 0 or most is not None), "lack")
            shown(semidefinite(plus(L, self.space.filled([self.lack] * d))), "lack")
            if most is not None:
                shown(self.lack == 0 or all(L[i][i] > 0 for i in rows), "a zero on the diagonal")
                least = min((L[i][i] for i in rows if L[i][i] > 0), default=ONE)
                e += self.lack * (2 * max(most, ZERO) / least + sum((z[i] ** 2 for i in rows), ZERO))
        return Slope(self.space.filled(reach), exactly(e))


class Several:
    """A sum of regularizers."""

    parameters = "summands"

    def __init__(self, said: Any, file: File, space: Space) -> None:
        table(said, "kind summands")
        need(not space.free, "a sum over matrices")
        need(isinstance(said["summands"], list) and 2 <= len(said["summands"]) <= 8, "summands")
        self.parts = [Regularizer(one, file.of(f"term{k}_"), space) for k, one in enumerate(said["summands"])]
        self.definite = any(part.definite for part in self.parts)

    def read(self, table_of: Any, file: File) -> None:
        """What bounds are shown by."""
        table(table_of, "summands")
        tables = table_of["summands"]
        need(isinstance(tables, list) and len(tables) == len(self.parts), "summands")
        for k, (part, own) in enumerate(zip(self.parts, tables, strict=True)):
            part.read(own, file.of(f"term{k}_"))

    def value(self, M: Matrix, B: Matrix) -> Interval:
        """Those of all."""
        return sum((part.value(M, B) for part in self.parts), NOTHING)

    def slope(self) -> Slope:
        """Those of all."""
        found = [part.slope() for part in self.parts]
        P = functools.reduce(plus, (one.P for one in found))
        return Slope(P, sum((one.e for one in found), NOTHING), sum((one.off for one in found), ZERO))


#: v, and S as weights of pairs of points.
Says = tuple[Interval, list[tuple[Fraction, list[Fraction], list[Fraction]]]]


@dataclass(frozen=True)
class Minorant:
    """``R(M) >= v - <S, M>``."""

    v: Interval
    S: Matrix

    def plus(self, other: Minorant) -> Minorant:
        """Of rows that differ."""
        sums = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(self.S, other.S, strict=True)]
        return Minorant(self.v + other.v, sums)


@dataclass(frozen=True)
class Judged:
    """Bounds, None where none is proven, and whether the claims are accepted."""

    lower: Fraction | None
    upper: Fraction | None
    accepted: bool


class Statement:
    """The problem of a file."""

    def __init__(self, problem: dict[str, Any], file: File) -> None:
        self.file = file
        wanted = "cone features risk regularizer linear"
        table(problem, wanted, "constant features_of_items")
        cones = ("psd", "diagonal", "block-diagonal", "matrices", "symmetric")
        need(problem["cone"] in cones and isinstance(problem["linear"], bool), "cone")
        need((problem["cone"] == "matrices") == ("features_of_items" in problem), "features of items")
        self.diagonal, self.d = problem["cone"] == "diagonal", integer(problem["features"], 1, 2**40 - 1)
        blocked = problem["cone"] == "block-diagonal"
        need(self.d <= MOST, "more features than this checker takes")
        blocks = file.array("blocks", (self.d,), self.d) if blocked else [0] * self.d
        self.k = integer(problem.get("features_of_items", self.d), 1, 2**40 - 1)
        need(self.k <= MOST, "more features than this checker takes")
        free = problem["cone"] in ("matrices", "symmetric")
        self.space = Space(self.diagonal, self.d, blocks, free, self.k, problem["cone"] != "matrices")
        self.constant, kind = rational(problem.get("constant", "0")), problem["risk"].get("kind")
        need(isinstance(kind, str) and kind in KINDS, f"kind of risk {kind!r}")
        self.risk = KINDS[kind](problem["risk"], file, self.space)
        said = problem["regularizer"]
        need(isinstance(said, dict), "regularizer")
        self.omega: Any
        if said.get("kind") == "quadratic form":
            self.omega = Form(said, file, self.space, self.risk.X)
        elif said.get("kind") == "conic":
            self.omega = ConicTerm(said, file, self.space)
        elif said.get("kind") == "sum":
            self.omega = Several(said, file, self.space)
        else:
            self.omega = Regularizer(said, file, self.space)
        self.G = self.space.matrix(file, "linear") if problem["linear"] else None


class Part(Statement):
    """A file, which may be one of several, with what has to be shown of it."""

    def __init__(self, whole: bytes) -> None:
        self.document, arrays = opened(whole)
        super().__init__(self.document["problem"], File(arrays))
        need(self.document["version"] == 3 or not isinstance(self.omega, ConicTerm), "a conic regularizer of version 2")
        self.dual, claimed = self.document["dual"], self.document["claimed"]
        table(self.dual, "kind share regularizer" + KEYS[type(self.risk)], "rows")
        table(claimed, "lower upper")
        self.claimed = [rational(claimed[end]) for end in ("lower", "upper")]
        self.total = self.risk.count()
        self.first, self.end = 0, self.total
        if "rows" in self.dual:
            need(isinstance(self.dual["rows"], list) and len(self.dual["rows"]) == 2, "rows")
            self.first = integer(self.dual["rows"][0], 0, self.total - 1)
            self.end = integer(self.dual["rows"][1], self.first + 1, self.total)
            self.risk.keep(self.first, self.end)
        # What proves.
        self.share = rational(self.dual["share"])
        name = "weights_of_metric" if self.diagonal else "factor"
        if self.space.free:
            self.B = self.space.matrix(self.file, "matrix")
        elif self.omega.definite:
            self.B = self.space.triangle(self.file, name)
        elif self.diagonal:
            weights = self.file.array(name, (self.d,))
            need(min(weights) >= 0, "negative weights")
            self.B = self.space.filled(weights)
        else:
            self.B = self.file.array(name, (None, self.d))
        for row in [] if self.space.free else self.B:
            need(len({self.space.blocks[i] for i in range(self.d) if row[i]}) <= 1, "a row in several blocks")
        self.M = self.B if self.space.free else self.space.square(self.B)
        self.omega.read(self.dual["regularizer"], self.file)

    def common(self) -> Any:
        """What parts have in common."""
        own = ("near_sums", "far_sums", "steps", "weights", "groups", "slopes", "probabilities", "parts_weights")
        hashes = {
            name: of for name, of in self.document["sha256"].items() if re.sub(r"\Asummand[0-9]+_", "", name) not in own
        }
        dual = {name: of for name, of in self.dual.items() if name not in ("rows", "bits")}
        return json.dumps([self.document["problem"], self.document["claimed"], dual, hashes], sort_keys=True)

    def says(self) -> Minorant | None:
        """O2 for the rows of this file; None if it is not shown. What a file holds beyond it is refused."""
        said = None
        with suppress(Unproven):
            v, S = self.risk.dual(self.dual, self.file)
            total = self.space.zeros()
            for weight, a, b in S:
                total = plus(total, self.space.outer(a, b), weight)
            said = Minorant(v, total)
        need(set(self.file.arrays) == self.file.asked, "an array that nothing speaks of")
        return said

    def costs(self) -> Interval | None:
        """The risk of the rows of this file at the metric; None if a hard margin does not hold."""
        with suppress(Unproven):
            return self.risk.value(self.metric())
        return None

    def metric(self) -> Matrix:
        """The metric at which F is bounded from above: that of the file, or one near it."""
        return self.omega.moved(self.M) if isinstance(self.omega, ConicTerm) else self.M

    def upper(self, cost: Interval) -> Fraction:
        """O1: an upper end of F at the metric, without the constant, where the risk is known."""
        linear = ZERO if self.G is None else inner(self.G, self.metric())
        return (cost + self.omega.value(self.M, self.B)).high + linear

    def lower(self, says: Minorant, upper: Fraction | None) -> Fraction:
        """O3: a lower bound, without the constant."""
        shown(0 <= self.share <= 1 and (self.share == 1 or not self.risk.negative), "share")
        if self.space.free:
            A = plus(self.space.zeros(), says.S, self.share)
            return self.share * says.v.low - self.omega.slope_of(A if self.G is None else plus(A, self.G, -ONE)).e.high
        if isinstance(self.omega, Form):
            found = self.omega.slope_below(None if self.risk.negative or self.G is not None else upper)
        else:
            found = self.omega.slope()
        K = plus(found.P, says.S, -self.share)
        K = plus(K, self.space.filled([found.off] * self.d), -ONE)
        shown(self.space.dual(K if self.G is None else plus(K, self.G)), "not feasible")
        return self.share * says.v.low - found.e.high


class Conic:
    """Section 2.4 and O4, the equations solved by elimination; the first ``k`` entries of x are given."""

    def __init__(self, said: dict[str, Any], file: File, k: int = 0) -> None:
        need(isinstance(said["quadratic"], bool), "true or false")
        n, self.k, self.quadratic = integer(said["variables"], max(k, 1), 2**24 - 1), k, said["quadratic"]
        need(n <= 200, "more variables than this checker takes")
        kinds = "zero nonnegative second_order semidefinite exponential power"
        table(said["cones"], kinds)
        count = {kind: integer(said["cones"][kind], 0, 2**24 - 1) for kind in kinds.split()}
        sizes = {
            kind: file.array(f"{kind}_sizes", (count[kind],), 2**24) if count[kind] else []
            for kind in ("second_order", "semidefinite")
        }
        need(min([*sizes["second_order"], *sizes["semidefinite"], 1]) >= 1, "sizes")
        alpha = file.array("power_exponents", (count["power"],)) if count["power"] else []
        need(all(0 < a < 1 for a in alpha), "exponents")
        need(count["zero"] + count["nonnegative"] + 3 * (count["exponential"] + count["power"]) <= 1000, "many rows")
        self.kinds: list[tuple[str, int, Any]] = [("zero", 1, None)] * count["zero"]
        self.kinds += [("nonnegative", 1, None)] * count["nonnegative"]
        self.kinds += [("second order", size, None) for size in sizes["second_order"]]
        self.kinds += [("semidefinite", size * (size + 1) // 2, size) for size in sizes["semidefinite"]]
        self.kinds += [("exponential", 3, None)] * count["exponential"] + [("power", 3, a) for a in alpha]
        m, self.zero = sum(rows for _, rows, _ in self.kinds), count["zero"]
        need(m <= 1000, "more rows than this checker takes")
        self.q, self.b = file.array("q", (n,)), file.array("b", (m,))
        self.radii = spreads(file, "b_radii", m) if "b_radii" in file.arrays else [ZERO] * m
        lines = range(count["zero"], count["zero"] + count["nonnegative"])
        need(not any(self.radii[i] for i in range(m) if i not in lines), "radii of other rows")
        self.A = entries(file, "a", m, n)
        self.P = entries(file, "p", n, n) if self.quadratic else [Row() for _ in range(n)]
        halves = [entry / 2 for row in self.P for entry in row.values()]
        need(all(Fraction(float(half)) == half for half in halves), "an entry of P whose half is no float")

    def read_proof(self, file: File) -> None:
        """The arrays of O4."""
        n, m, k = len(self.q), len(self.b), self.k
        self.tight = ascending(file.array("tight", (None,), m)) if "tight" in file.arrays else []
        need("tight" not in file.arrays or (self.tight and self.tight[0] >= self.zero), "tight rows")
        self.equations = [*range(self.zero), *self.tight]
        self.x, self.z, self.h = file.array("x", (n - k,)), file.array("z", (m,)), list[Fraction]()
        self.x_spreads = spreads(file, "x_spreads", n - k) if self.equations else [ZERO] * (n - k)
        # The entries from this one on may move.
        self.first = 0 if k and "metric_spreads" in file.arrays else k
        self.x_spreads = (spreads(file, "metric_spreads", k) if self.first < k else []) + self.x_spreads
        self.z_spreads, self.charges = spreads(file, "z_spreads", m), [ZERO] * n
        if self.quadratic:
            self.h = file.array("h", (n,))
            self.z_spreads += spreads(file, "h_spreads", n)
            self.charges = spreads(file, "charges", n) if "charges" in file.arrays else self.charges
        self.x_steps = Steps(file, "x", 0, len(self.equations), n - self.first)
        self.z_steps = Steps(file, "z", k, n, m + len(self.h))

    def point(self, given: list[Fraction]) -> list[Fraction]:
        """The point x* at the given entries, or near them."""
        k, x = self.first, [*given, *self.x]
        if self.equations:
            whole = {at: Row({**self.A[i], len(self.q): self.b[i]}) for at, i in enumerate(self.equations)}
            self.x_steps.follow_from(whole)
            own = {at: Row({j - k: a for j, a in row.items() if k <= j < len(self.q)}) for at, row in whole.items()}
            target = {at: self.b[i] - self.A[i].dot(x[:k]) for at, i in enumerate(self.equations)}
            x = x[:k] + self.x_steps.solution(own, target, x[k:], self.x_spreads)
        return x

    def least(self, given: list[Fraction]) -> Fraction:
        """U at the given entries, or near them, without the constant."""
        x = self.point(given)
        shown(not any(self.radii[i] for i in self.equations), "a tight row with a radius")
        least = [b - radius for b, radius in zip(self.b, self.radii, strict=True)]
        self.contains([b - row.dot(x) for b, row in zip(least, self.A, strict=True)], dual=False)
        return dot(self.q, x) + dot(x, [row.dot(x) for row in self.P]) / 2

    def says(self) -> tuple[list[Fraction], Fraction]:
        """Slope in the given entries, and L without the constant."""
        n, m, k = len(self.q), len(self.b), self.k
        charged = self.symmetric()
        M = [Row({i: self.A[i][j] for i in range(m) if j in self.A[i]}) for j in range(n)]
        for row, more in zip(M, charged if self.h else [], strict=False):
            row.update({m + i: s for i, s in more.items()})
        own = {j: M[j] for j in range(k, n)}
        self.z_steps.follow_from({j: Row({**row, m + n: -self.q[j]}) for j, row in own.items()})
        v = self.z_steps.solution(own, {j: -self.q[j] for j in own}, [*self.z, *self.h], self.z_spreads)
        z, h = v[:m], v[m:] or [ZERO] * n
        self.contains(z, dual=True)
        shown(semidefinite([[row.get(j, ZERO) for j in range(n)] for row in charged]), "P with its charges")
        slope = [self.q[j] + M[j].dot(v) for j in range(k)]
        most = [b + radius for b, radius in zip(self.b, self.radii, strict=True)]
        return slope, -dot(most, z) - dot(h, [row.dot(h) for row in charged]) / 2 - self.charged() / 2

    def symmetric(self) -> list[Row]:
        """(P + P') / 2, with the charges on its diagonal; its places are those of P and of P', and of charges."""
        made = [Row() for _ in self.q]
        for i, row in enumerate(self.P):
            for j, entry in row.items():
                made[i][j] = made[i].get(j, ZERO) + entry / 2
                made[j][i] = made[j].get(i, ZERO) + entry / 2
        for j, charge in enumerate(self.charges):
            if charge:
                made[j][j] = made[j].get(j, ZERO) + charge
        return made

    def charged(self) -> Fraction:
        """The sum of charges by squares of what bounds their variables."""
        if not any(self.charges):
            return ZERO
        total = ZERO
        for charge, (low, high) in zip(self.charges, self.ends(), strict=True):
            if charge:
                if low is None or high is None:
                    raise Unproven("a charge on what may be of any size")
                total += charge * max(abs(low), abs(high)) ** 2
        return total

    def ends(self) -> list[Ends]:
        """What bounds every variable, after eight rounds."""
        lines, found = self.lines(), list[Ends]([(None, None)] * len(self.q))
        for _ in range(8):
            found = tightened(lines, found)
        return found

    def lines(self) -> list[Line]:
        """Inequalities a'x <= c of all feasible x, of one row, or of two of a second-order cone."""
        found, at = list[Line](), 0
        for kind, rows, _ in self.kinds:
            first = list(self.A[at].items()) if rows else []
            if kind in ("zero", "nonnegative"):
                found.append((first, self.b[at] + self.radii[at]))
            if kind == "zero":
                found.append(([(j, -a) for j, a in first], -self.b[at]))
            for i in range(at + 1, at + rows if kind == "second order" else at):
                for sign in (-1, 1):
                    other = [(j, sign * a) for j, a in self.A[i].items()]
                    found.append((first + other, self.b[at] + sign * self.b[i]))
            at += rows
        return found

    def contains(self, s: list[Fraction], dual: bool) -> None:
        """Whether the rows that are not of the kind zero are in their cones."""
        at = 0
        for kind, rows, of in self.kinds:
            own, at = s[at : at + rows], at + rows
            shown(INSIDE[kind](own, of, dual), f"outside of a {kind} cone")


class Row(dict[int, Fraction]):
    """A row of a matrix by its entries, those of a file, which may be zero, among them."""

    def dot(self, x: list[Fraction]) -> Fraction:
        """The product with a vector, of which entries beyond its end are zero."""
        return sum((a * x[j] for j, a in self.items() if a and j < len(x)), ZERO)


#: Entries (j, a) and c of a'x <= c, and the ends of a variable, None where there is none.
Line = tuple[list[tuple[int, Fraction]], Fraction]
Ends = tuple[Fraction | None, Fraction | None]


def tightened(lines: list[Line], ends: list[Ends]) -> list[Ends]:
    """A round of bounds: what a line leaves for each of its entries, the others being as small as they can be."""
    found = [list(pair) for pair in ends]
    for line, c in lines:
        least = [ZERO if not a else None if (end := ends[j][a < 0]) is None else a * end for j, a in line]
        for at, (j, a) in enumerate(line):
            others = least[:at] + least[at + 1 :]
            if a and None not in others:
                end, side = (c - sum((other for other in others if other), ZERO)) / a, int(a > 0)
                old = found[j][side]
                found[j][side] = end if old is None else min(old, end) if side else max(old, end)
    return [(low, high) for low, high in found]


def entries(file: File, name: str, rows: int, columns: int) -> list[Row]:
    """A matrix of a file, by its rows."""
    values = file.array(f"{name}_values", (None,))
    places = [file.array(f"{name}_{side}", (len(values),), of) for side, of in (("columns", columns), ("rows", rows))]
    order = list(zip(*places, strict=True))
    need(order == sorted(set(order)), "order of entries")
    made = [Row() for _ in range(rows)]
    for value, (j, i) in zip(values, order, strict=True):
        made[i][j] = value
    return made


def spreads(file: File, name: str, length: int) -> list[Fraction]:
    found: list[Fraction] = file.array(name, (length,))
    need(all(s >= 0 for s in found), f"negative {name}")
    return found


def ascending(numbers: list[int]) -> list[int]:
    need(numbers == sorted(set(numbers)), "numbers that do not ascend")
    return numbers


class Steps:
    """Relations and pivots of a system M y = t, of equations from ``first`` on, below ``end``."""

    def __init__(self, file: File, name: str, first: int, end: int, unknowns: int) -> None:
        self.follow: list[int] = []
        self.relation = [Row() for _ in range(end)]
        if f"{name}_follow" in file.arrays:
            self.follow = ascending(file.array(f"{name}_follow", (None,), end))
            need(self.follow, "nothing that follows")
            self.relation = entries(file, f"{name}_relation", end, len(self.follow))
        self.pivots: list[tuple[int, int]] = []
        if f"{name}_pivot_equations" in file.arrays:
            equations = file.array(f"{name}_pivot_equations", (None,), end)
            chosen = file.array(f"{name}_pivot_unknowns", (len(equations),), unknowns)
            need(len(set(equations)) == len(equations) == len(set(chosen)) > 0, "no pivots, or twice")
            self.pivots = list(zip(equations, chosen, strict=True))
        used = [*self.follow, *(i for i, _ in self.pivots), *(i for i, row in enumerate(self.relation) if row)]
        need(min(used, default=first) >= first, "equations of given entries")
        need(not set(self.follow) & {i for i, _ in self.pivots}, "pivots of equations that follow")

    def follow_from(self, whole: dict[int, Row]) -> None:
        """Step 1, of equations with their targets as a further entry."""
        for k, i in enumerate(self.follow):
            own = [self.relation[at].get(k) for at in self.follow]
            shown(own[k] and own.count(None) == len(own) - 1, f"equation {i} is not the one that a relation shows")
            total = Row()
            for at, row in whole.items():
                if weight := self.relation[at].get(k):
                    for j, a in row.items():
                        total[j] = total.get(j, ZERO) + weight * a
            shown(not any(total.values()), "a relation does not hold")

    def solution(
        self, M: dict[int, Row], target: dict[int, Fraction], near: list[Fraction], spread: list[Fraction]
    ) -> list[Fraction]:
        """Steps 2 to 4."""
        of = {u: e for e, u in self.pivots}
        for e, u in self.pivots:
            shown(M[e].get(u), "a pivot of zero")
            shown(not any(j in of and j != u for j in M[e]), "pivots with others in their equations")
        free = [j for j in range(len(near)) if spread[j] and j not in of]
        held = [ZERO if spread[j] or j in of else near[j] for j in range(len(near))]
        place = {j: at for at, j in enumerate(free)}
        left, aims = list[list[Fraction]](), list[Fraction]()
        for i, row in M.items():
            if i in self.follow or i in of.values():
                continue
            rest, aim = [row.get(j, ZERO) for j in free], target[i] - row.dot(held)
            if not any(j in of or j in place for j in row):
                shown(aim == 0, "an equation of held unknowns does not hold")
                continue
            for u in of.keys() & row.keys():
                pivot, share = M[of[u]], row[u] / M[of[u]][u]
                aim -= share * (target[of[u]] - pivot.dot(held))
                rest = [a - share * pivot.get(j, ZERO) for a, j in zip(rest, free, strict=True)]
            left.append(rest)
            aims.append(aim)
        G = [list(column) for column in zip(*left, strict=True)] if left else [[] for _ in free]
        found = moved(G, [near[j] for j in free], [spread[j] for j in free], aims, len(left))
        y = held[:]
        for j, at in place.items():
            y[j] = found[at]
        # The unknowns of pivots are zero in y as yet, and no pivot's equation has one of another.
        for e, u in self.pivots:
            y[u] = (target[e] - sum((a * y[j] for j, a in M[e].items() if j != u), ZERO)) / M[e][u]
        return y


def dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((s * t for s, t in zip(a, b, strict=True) if s and t), ZERO)


def moved(
    G: Matrix, v: list[Fraction], spreads: list[Fraction], target: list[Fraction], count: int | None = None
) -> list[Fraction]:
    """``v + spreads^2 o G y`` with ``G^T`` of it equal to the target; G has ``count`` columns."""
    columns = [[row[j] for row in G] for j in range(len(G[0]) if count is None else count)]
    weighted = [[s * s * g for s, g in zip(spreads, column, strict=True)] for column in columns]
    rows = [
        [dot(column, other) for other in weighted] + [target[i] - dot(column, v)] for i, column in enumerate(columns)
    ]
    for i in range(len(rows)):
        pivot = next((k for k in range(i, len(rows)) if rows[k][i]), None)
        shown(pivot is not None, "dependent equations")
        rows[i], rows[pivot or 0] = rows[pivot or 0], rows[i]
        rows[i] = [entry / rows[i][i] for entry in rows[i]]
        for k in range(len(rows)):
            if k != i and rows[k][i]:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i], strict=True)]
    y = [row[-1] for row in rows]
    return [v[j] + spreads[j] ** 2 * dot(G[j], y) for j in range(len(v))]


def _round(s: list[Fraction], of: Any, dual: bool) -> bool:
    return s[0] >= 0 and s[0] ** 2 >= dot(s[1:], s[1:])


def _square(s: list[Fraction], order: int, dual: bool) -> bool:
    entries, M = iter(s), [[ZERO] * order for _ in range(order)]
    for j in range(order):
        for i in range(j, order):
            M[i][j] = M[j][i] = next(entries) / (2 if dual and i != j else 1)
    return semidefinite(M)


def _exponential(s: list[Fraction], of: Any, dual: bool) -> bool:
    if not any(s):
        return True
    x, y, z = s
    if dual:
        # -u e^(v/u - 1) <= w: ln(w / -u) >= v/u - 1.
        return x < 0 and z > 0 and logarithm(z / -x).low >= y / x - 1
    return y > 0 and z > 0 and logarithm(z / y).low >= x / y


def _power(s: list[Fraction], alpha: Fraction, dual: bool) -> bool:
    if not any(s):
        return True
    x, y, z = [s[0] / alpha, s[1] / (1 - alpha), s[2]] if dual else s
    if min(x, y) <= 0:
        return False
    return z == 0 or alpha * logarithm(x).low + (1 - alpha) * logarithm(y).low >= logarithm(abs(z)).high


INSIDE: dict[str, Callable[[list[Fraction], Any, bool], bool]] = {
    "zero": lambda s, of, dual: True,
    "nonnegative": lambda s, of, dual: s[0] >= 0,
    "second order": _round,
    "semidefinite": _square,
    "exponential": _exponential,
    "power": _power,
}


class ConicTerm(Conic):
    """A regularizer that is a conic program, of which the metric is given."""

    definite = False

    def __init__(self, said: dict[str, Any], file: File, space: Space) -> None:
        table(said, "kind variables cones quadratic")
        need(not space.free, "of metrics")
        self.space = space
        super().__init__(said, file, space.d if space.diagonal else space.d * (space.d + 1) // 2)
        self.places = [(i, j) for j in range(space.d) for i in range(j, space.d) if i == j or not space.diagonal]

    def read(self, table_of: Any, file: File) -> None:
        """What bounds are shown by."""
        table(table_of, "")
        self.read_proof(file)

    def value(self, M: Matrix, B: Matrix) -> Interval:
        """O4 at a metric."""
        return exactly(self.least([M[i][j] for i, j in self.places]))

    def moved(self, M: Matrix) -> Matrix:
        """The metric of the point near M."""
        if not any(self.x_spreads[: self.k - self.first]):
            return M
        x, made = self.point([M[i][j] for i, j in self.places]), self.space.filled([ZERO] * self.space.d)
        for (i, j), entry in zip(self.places, x, strict=False):
            made[i][j] = made[j][i] = entry
        blocks = self.space.blocks
        shown(not any(made[i][j] for i, j in self.places if blocks[i] != blocks[j]), "entries between blocks")
        shown(semidefinite(made), "the metric near that of the file")
        return made

    def slope(self) -> Slope:
        """O3."""
        slope, constant = self.says()
        P = self.space.filled([ZERO] * self.space.d)
        for (i, j), entry in zip(self.places, slope, strict=True):
            P[i][j] = P[j][i] = entry if i == j else entry / 2
        return Slope(P, exactly(-constant))


class Program(Conic):
    """A problem that is a conic program."""

    def __init__(self, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        problem, dual, file = document["problem"], document["dual"], File(arrays)
        need(document["version"] == 3, "a conic program of version 2")
        table(problem, "kind variables cones quadratic maximise columns", "constant")
        need(problem["kind"] == "conic program" and isinstance(problem["maximise"], bool), "program")
        self.maximise, self.c0 = problem["maximise"], rational(problem.get("constant", "0"))
        super().__init__(problem, file)
        columns, end = problem["columns"], 0
        need(isinstance(columns, list) and len(columns) <= 4096, "columns")
        for of in columns:
            need(isinstance(of, list) and len(of) == 3 and isinstance(of[0], str), "columns")
            need(re.fullmatch("[ -~]{1,200}", of[0]), "the name of a variable")
            first = integer(of[1], end, len(self.q))
            end = first + integer(of[2], 0, len(self.q) - first)
        table(dual, "", "rows")
        need(dual.get("rows", [0, 1]) == [0, 1] and not isinstance(dual.get("rows", [0])[0], bool), "rows")
        self.read_proof(file)
        need(set(arrays) == file.asked, "an array that nothing speaks of")
        table(document["claimed"], "lower upper")
        self.claimed = [rational(document["claimed"][end]) for end in ("lower", "upper")]


def judge_program(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Judged:
    """What the file of a conic program proves."""
    program, ends = Program(document, arrays), list[Fraction | None]()
    for bound in (lambda: program.says()[1], lambda: program.least([])):
        try:
            ends.append(bound())
        except Unproven:
            ends.append(None)
    if program.maximise:
        ends = [None if end is None else -end for end in reversed(ends)]
    lower, upper = (
        None if end is None else rounded(end + program.c0, up) for end, up in zip(ends, (False, True), strict=True)
    )
    proven = lower is not None and upper is not None and program.claimed[0] <= lower and program.claimed[1] >= upper
    return Judged(lower, upper, proven)


def judge(*wholes: bytes) -> Judged:
    """What a file proves, or all parts of a certificate.

    Raises
    ------
    Refused
        If a file is no certificate, or they are no parts of one.
    """
    try:
        document = opened(wholes[0])[0]
        if isinstance(document["problem"], dict) and "kind" in document["problem"]:
            found = [judge_program(*opened(whole)) for whole in wholes]
            return found[0] if len(found) == 1 else Judged(None, None, False)
        parts = [Part(whole) for whole in wholes]
        need(len({part.common() for part in parts}) == 1, "parts of several certificates")
        said, costs = [part.says() for part in parts], [part.costs() for part in parts]
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"{type(error).__name__}: {error}") from error
    part, upper, lower = parts[0], None, None
    rows = sorted(row for one in parts for row in range(one.first, one.end))
    if rows == list(range(part.total)):
        with suppress(Unproven):
            if None not in costs:
                upper = part.upper(sum((cost for cost in costs if cost), NOTHING))
        with suppress(Unproven):
            if None not in said:
                lower = part.lower(functools.reduce(Minorant.plus, filter(None, said)), upper)
    c0 = part.constant
    ends = [None if lower is None else rounded(lower + c0, False), None if upper is None else rounded(upper + c0, True)]
    accepted = ends[0] is not None and ends[1] is not None
    accepted = accepted and part.claimed[0] <= ends[0] and part.claimed[1] >= ends[1]
    return Judged(ends[0], ends[1], bool(accepted))


def main(*paths: str) -> int:
    """Exit code 0: accepted; 1: not proven; 2: refused."""
    try:
        found = judge(*(Path(path).read_bytes() for path in paths))
    except Refused as error:
        print(f"refused: {error}")
        return 2
    print(f"{found.lower} <= optimum <= {found.upper}: {'accepted' if found.accepted else 'not accepted'}")
    return int(not found.accepted)


if __name__ == "__main__":
    import sys

    sys.exit(main(*sys.argv[1:]))
