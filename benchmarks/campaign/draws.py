"""What the campaign of solves is drawn from: data that are moved, scaled and doubled without rounding, and weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from convexmetric.certificates import as_rational

__all__ = [
    "GRID", "KINDS", "Case", "Draw", "RedrawError", "draw", "exact", "power", "some_triplets", "weights",
    "written",
]  # fmt: skip

#: Data are multiples of this.
GRID = 2.0**-20
#: Odd factors of scales: a few bits, so that products with data are exact.
FACTORS = (1, 1, 1, 1, 3, 5, 7, 11, 37, 63)
KINDS = ("scale", "scale alone", "offset", "columns", "doubles", "weights", "margins", "few", "everything")


class RedrawError(Exception):
    """What was drawn cannot be said exactly in floats."""


def exact(value: Fraction) -> float:
    """The float that a fraction is."""
    try:
        number = float(value)
    except OverflowError:
        raise RedrawError from None
    if Fraction(number) != value or not 0.0 < abs(number) < np.inf or abs(number) < 1e-306:
        raise RedrawError
    return number


def written(value: Fraction) -> float:
    """The same for a parameter of a twin, which certificates write as a rational."""
    number = exact(value)
    if as_rational(number) != value:
        raise RedrawError
    return number


def power(exponent: int) -> Fraction:
    return Fraction(2) ** int(exponent)


@dataclass
class Draw:
    """What a case is made of."""

    rng: np.random.Generator
    kind: str
    #: Points ``scale (X0 + offset)`` and those of the twin, X0.
    X0: Any
    y: np.ndarray
    offset: Any
    scale: Fraction
    #: Factor of margins where these are free, and whether weights are those of the twin or extreme.
    margin: Fraction = Fraction(1)
    few: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def X(self) -> Any:
        """The points of the case, made without rounding."""
        scale = exact(self.scale)
        moved = (self.X0 + self.offset) * scale
        if not np.array_equal(moved / scale - self.offset, self.X0):
            raise RedrawError
        return moved

    def weight(self, low: int = -3, high: int = 5) -> Fraction:
        """A weight of six bits; any power of two in cases about weights."""
        if self.kind in ("weights", "everything") and self.rng.random() < 0.8:
            chosen = power(self.rng.integers(-996, 997) if self.rng.random() < 0.7 else self.rng.integers(-80, 81))
        else:
            chosen = self.rng.integers(1, 64).item() * power(self.rng.integers(low - 6, high - 5))
        self.notes.append(f"weight {float(chosen):.3g}")
        return chosen

    def divided(self, value: Fraction, by: Fraction) -> Fraction:
        """A number near ``value`` that can be divided by ``by`` exactly."""
        odd = by.numerator
        while odd % 2 == 0:
            odd //= 2
        return value * odd / power(max(0, odd.bit_length() - 1))


@dataclass(frozen=True)
class Case:
    """A problem, its twin, and what the optimum of the one is in units of the other's.

    Metrics of the case are ``unit`` times those of its twin, where that is known. ``slack`` is the relative rounding of
    what a certificate states where that is not the problem bit by bit; zero where it is. ``relaxed`` is the twin
    without constraints and nonnegative terms of a user's own, whose lower bounds hold.
    """

    make: Callable[[], Any]
    twin: Callable[[], Any] | None
    factor: Fraction = Fraction(1)
    slack: Fraction = Fraction(0)
    relaxed: Callable[[], Any] | None = None
    unit: Fraction | None = None


def orders(rng: np.random.Generator) -> int:
    """Binary exponent of a scale: up to 1e18, 1e60 or 1e150 in size."""
    most = rng.choice([60, 199, 498], p=[0.5, 0.3, 0.2])
    return int(rng.integers(-most, most + 1))


def draw(rng: np.random.Generator, kind: str, most: int = 30) -> Draw:
    """Data for a case of a kind, of so many points at most; four classes at most, shifted apart."""
    n, d = int(rng.integers(8, most + 1)), int(rng.integers(1, 6))
    y = rng.permutation(np.arange(n) % int(rng.integers(2, 4)))
    X = rng.standard_normal((n, d)) + rng.random() * y[:, None]
    X = np.clip(np.round(X / GRID) * GRID, -8.0, 8.0)
    everything = kind == "everything"
    if kind == "doubles" or (everything and rng.random() < 0.5):
        choice = rng.integers(1, 8)
        if choice & 1:
            X[n // 2 :] = X[rng.integers(0, n // 2, n - n // 2)]
        if choice & 2:
            X = np.hstack([X, X[:, :1]])
        if choice & 4:
            X = np.hstack([X, np.full((n, 1), float(rng.integers(0, 4)))])
    d = X.shape[1]
    offset, scale, margin = np.zeros(d), Fraction(1), Fraction(1)
    if kind == "columns" or (everything and rng.random() < 0.3):
        X = X * 2.0 ** rng.integers(-14, 15, d)
        unit = np.maximum(np.abs(X).max(axis=0), 2.0**-14)
        offset = 2.0 ** np.round(np.log2(unit)) * rng.integers(-(2**20), 2**20, d)
    elif kind == "offset" or (everything and rng.random() < 0.5):
        largest = 10.0 ** rng.uniform(0, 8)
        offset = np.round(largest * np.where(rng.random(d) < 0.5, 1.0, rng.uniform(-1, 1, d)))
    if kind in ("scale", "scale alone") or (everything and rng.random() < 0.5):
        scale = int(rng.choice(FACTORS)) * power(orders(rng))
    if kind == "margins" or (everything and rng.random() < 0.3):
        margin = power(rng.integers(-400, 401) if rng.random() < 0.5 else rng.integers(-60, 61))
    notes = [f"{X.shape[0]} x {d}", f"scale {float(scale):.3g}", f"offset {np.abs(offset).max():.3g}"]
    notes += [f"margin {float(margin):.3g}"] if margin != 1 else []
    return Draw(rng, kind, X, y, offset, scale, margin, kind == "few" or (everything and rng.random() < 0.2), notes)


def weights(of: Draw, ratio: Fraction, low: int = -3, high: int = 5) -> tuple[float, float]:
    """A weight of the case and that of its twin, where the first is ``ratio`` times the second.

    With the scale alone changed the case has a moderate weight and its twin an extreme one.
    """
    chosen = of.divided(of.weight(low, high), ratio if of.kind != "scale alone" else 1 / ratio)
    mine, other = (chosen, chosen / ratio) if of.kind == "scale alone" else (chosen * ratio, chosen)
    return exact(mine), written(other)


def some_triplets(rng: np.random.Generator, n: int, few: bool) -> np.ndarray:
    count = 1 if few else int(rng.integers(5, 40))
    return np.array([rng.choice(n, 3, replace=False) for _ in range(count)])
