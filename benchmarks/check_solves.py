"""Extreme problems of all families through `cm.solve`: no bound may be false, no exception raw, no gap unannounced.

python benchmarks/check_solves.py [--cases 1000] [--seed 0] [--jobs 1] [--limit 5] [--only NUMBER ...]
                                 [--show OUTCOME ...]

Every case is a small problem whose data are moved, scaled and doubled, or whose weights and margins are extreme, by up
to 300 orders of magnitude. It has a *twin*: the same problem on well-scaled data, whose optimum is exactly a known
multiple of the other's. Translations and scalings are chosen so that no digit is lost: data are multiples of 2^-20 and
of small range, offsets are integers, scales have a few bits. The twin's solution becomes a certificate, whose bounds
are proven in exact arithmetic, and they judge the bounds of the case as fractions, without tolerance. Where
translation or scale change the problem (kernels of floats, whitened points) the case is its own twin.

A case fails if it raises anything but an error of the package that names an argument and what to do, if its bounds
cross or exclude the proven optimum of its twin, if its gap is above the tolerance without a warning, or if it
exceeds its time or memory.
"""

import argparse
import multiprocessing
import os
import re
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp
from environment import limit_threads, surroundings
from tables import markdown

import convexmetric as cm
from convexmetric.certificates import as_rational
from convexmetric.comparisons import PairDistances, Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import ConvexMetricError, CrossedBoundsError, GapWarning, InfeasibleError
from convexmetric.losses import BoxLoss, Hinge, Logistic
from convexmetric.regularizers import Frobenius, SquaredFrobenius, Trace
from convexmetric.risks import SeparableRisk, SmoothSeparableRisk

#: Data are multiples of this.
GRID = 2.0**-20
#: Odd factors of scales: a few bits, so that products with data are exact.
FACTORS = (1, 1, 1, 1, 3, 5, 7, 11, 37, 63)
#: Bytes beyond those of the parent that a case may take.
MEMORY = 2 * 2**30
#: Words of which a refusal must have one: what it is about, and what to do about it.
ARGUMENT = re.compile(
    r"\b(X|Y|y|C|A|G|L|M|reg|margin|kernel|alpha|beta|triplets?|pairs|queries|relevant|push|n_neighbors|labels\w*)\b"
)
FIX = re.compile(r"\b(rescale|must|drop|raise|lower|pass|give|keep|use|remove|divide|multiply|choose|take|allow)\b")


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
    """A problem, its twin, and what the optimum of the one is in units of the other's."""

    make: Callable[[], Any]
    twin: Callable[[], Any] | None
    factor: Fraction = Fraction(1)


def orders(rng: np.random.Generator) -> int:
    """Binary exponent of a scale: up to 1e18, 1e60 or 1e150 in size."""
    most = rng.choice([60, 199, 498], p=[0.5, 0.3, 0.2])
    return int(rng.integers(-most, most + 1))


def draw(rng: np.random.Generator, kind: str) -> Draw:
    """Data for a case of a kind; four classes at most, shifted apart."""
    n, d = int(rng.integers(8, 31)), int(rng.integers(1, 6))
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


# ---------------------------------------------------------------------------------------------------------- families


def ranking(measure: str) -> Callable[[Draw], Case]:
    def make(of: Draw) -> Case:
        rng, X, n = of.rng, of.X, len(of.X0)
        k = {"k": int(rng.integers(1, 6))} if measure in ("precision", "ndcg", "ndcg-log2", "knn") else {}
        squared = rng.random() < 0.3
        options = {"measure": measure, "diagonal": bool(rng.random() < 0.3), **k}
        options["regularizer"] = "squared-frobenius" if squared else "trace"
        factor = of.scale ** (-4 if squared else -2)
        C, C0 = weights(of, factor, 0, 9)
        of.notes.append(f"{options}")
        if not of.few:
            labels = cm.RankingProblem.from_labels
            return Case(lambda: labels(X, of.y, C=C, **options), lambda: labels(of.X0, of.y, C=C0, **options), factor)
        near, far = [[1]], [[2]] if rng.random() < 0.5 else [list(range(2, n))]
        q, q0 = X[:1], of.X0[:1]
        return Case(
            lambda: cm.RankingProblem(X, near, far, queries=q, C=C, **options),
            lambda: cm.RankingProblem(of.X0, near, far, queries=q0, C=C0, **options),
            factor,
        )

    return make


def turned(X: np.ndarray, triplets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Triplets that some weights satisfy by a margin, whatever the units of the columns."""
    scales = np.maximum(np.abs(X).max(axis=0), GRID)
    w = (rng.random(X.shape[1]) + 0.1) / scales**2
    i, j, k = triplets.T
    s = ((X[i] - X[k]) ** 2 - (X[i] - X[j]) ** 2) @ w
    kept = np.where((s < 0)[:, None], triplets[:, [0, 2, 1]], triplets)[np.abs(s) > 0.05]
    if not len(kept):
        raise RedrawError
    return kept


def relative(form: str, hard: bool) -> Callable[[Draw], Case]:
    def make(of: Draw) -> Case:
        rng, X0, X, options = of.rng, of.X0, of.X, {}
        n, d = X0.shape
        chosen = form if form != "kernel" else str(rng.choice(["linear", "matrix", "rbf"]))
        degree, itself, features, other = -4, False, X0, {}
        if chosen == "map":
            A = rng.integers(0, 3, (d, int(rng.integers(1, 5)))).astype(float)
            options = other = {"A": A}
            features = X0 @ A
        elif chosen == "sparse":
            X, X0 = sp.csr_array(X), sp.csr_array(X0)
        elif chosen in ("linear", "matrix"):
            # Products of points on a coarse grid are exact; translation would change them.
            X0 = np.round(X0 * 2.0**8) * 2.0**-8
            X, features = X0 * exact(of.scale), X0 @ X0.T
            options = other = {"kernel": "linear"}
            if chosen == "matrix":
                degree = -2
                options, other = {"kernel": features * exact(of.scale)}, {"kernel": features}
                X = X0
        elif chosen == "rbf":
            options, itself = {"kernel": "rbf"}, True
        triplets = some_triplets(rng, n, of.few)
        factor = of.scale**degree
        C = C0 = np.inf
        if hard:
            triplets = turned(np.exp(-((X[:, None] - X) ** 2).mean(2)) if itself else features, triplets, rng)
        else:
            C, C0 = weights(of, factor)
        of.notes.append(chosen)
        made = cm.RelativeComparisonProblem
        twin = None if itself else lambda: made(X0, triplets, C=C0, **other)
        return Case(lambda: made(X, triplets, C=C, **options), twin, factor)

    return make


def triplets(of: Draw) -> Case:
    rng, X, n, mu = of.rng, of.X, len(of.X0), of.margin
    squared, form = rng.random() < 0.7, rng.random()
    reg, reg0 = weights(of, of.scale**4 / mu if squared else of.scale**2, -6, 3)
    margin = rng.integers(1, 9).item() * power(-2)
    options = {"intra": float(rng.choice([0.0, 0.5])), "inter": 0.25 if squared and rng.random() < 0.3 else 0.0}
    options |= {
        "diagonal": bool(rng.random() < 0.4),
        "regularizer": "squared-frobenius" if squared else "trace",
    }
    mine, other = {"reg": reg, "margin": exact(margin * mu)}, {"reg": reg0, "margin": written(margin)}
    of.notes.append(f"{options}")
    if form < 0.4 or of.few:
        rows = some_triplets(rng, n, of.few)
        make, arguments = cm.TripletProblem, (rows,)
    elif form < 0.7:
        # Neighbours are found in the twin's points: distances of others round.
        make, arguments = cm.TripletProblem.from_labels, (of.y, None, None)
    else:
        links = rng.random((n, n)) < 0.2
        links[0, 1], links[0, 2] = True, False
        make, arguments = cm.TripletProblem.from_graph, (links,)
    return Case(lambda: make(X, *arguments, **mine, **options), lambda: make(of.X0, *arguments, **other, **options), mu)


def pairs(of: Draw) -> Case:
    rng, X, n, d = of.rng, of.X, *of.X0.shape
    reg, reg0 = weights(of, of.scale**2, -8, 1)
    margin: Any = (0.5, 1.5) if rng.random() < 0.4 else float(rng.choice([1.0, 0.25]))
    if of.kind == "margins":
        margin = tuple(2.0 ** rng.integers(-60, 61, 2)) if rng.random() < 0.5 else float(2.0 ** rng.integers(-60, 61))
    options = {"margin": margin, "norm": str(rng.choice(["frobenius", "trace"]))}
    itself = d > n
    if rng.random() < 0.2:
        options["kernel"], itself = str(rng.choice(["linear", "rbf", "unit-rbf"])), True
    of.notes.append(f"{options}")
    if rng.random() < 0.5 and not of.few:
        make, arguments = cm.PairMarginProblem.from_labels, (of.y,)
    else:
        listed = np.array([rng.choice(n, 2, replace=False) for _ in range(1 if of.few else int(rng.integers(4, 40)))])
        r = np.where(of.y[listed[:, 0]] == of.y[listed[:, 1]], 1, -1)
        make, arguments = cm.PairMarginProblem, (listed, r)
    twin = None if itself else lambda: make(of.X0, *arguments, reg=reg0, **options)
    return Case(lambda: make(X, *arguments, reg=reg, **options), twin)


def similarity(of: Draw) -> Case:
    rng, X, n = of.rng, of.X, len(of.X0)
    reg, reg0 = weights(of, of.scale**2, -8, 1)
    listed = np.array([rng.choice(n, 2, replace=False) for _ in range(1 if of.few else int(rng.integers(4, 40)))])
    y = rng.integers(0, 17, len(listed)) / 16.0
    options = {"loss": str(rng.choice(["squared", "absolute", "weighted"])), "y0": 0.25}
    options["norm"] = str(rng.choice(["frobenius", "trace"]))
    of.notes.append(f"{options}")
    make = cm.SimilarityRegressionProblem
    return Case(lambda: make(X, listed, y, reg=reg, **options), lambda: make(of.X0, listed, y, reg=reg0, **options))


def large_margin(of: Draw) -> Case:
    X, y = of.X, of.y
    k, push, diagonal = int(of.rng.integers(1, 4)), float(of.rng.choice([0.25, 0.5])), bool(of.rng.random() < 0.4)
    if of.kind == "weights":
        push = (
            2.0 ** -int(of.rng.integers(1, 900)) if of.rng.random() < 0.5 else 1.0 - 2.0 ** -int(of.rng.integers(1, 50))
        )
    return Case(lambda: cm.LargeMarginProblem(X, y, n_neighbors=k, push=push, diagonal=diagonal), None)


def cross_modal(of: Draw) -> Case:
    rng, m = of.rng, len(of.X0)
    moved = of.X if of.offset.any() else None
    alpha, alpha0 = weights(of, of.scale**2)
    beta = float(rng.choice([0.0, 0.125]))
    half = int(rng.integers(3, m - 2))
    if len(set(of.y[half:])) < 2 or not set(of.y[:half]) & set(of.y[half:]):
        # No query would rank anything.
        raise RedrawError
    X, X0 = (moved if moved is not None else of.X), of.X0
    options: dict[str, Any] = {"beta": beta, "n_clusters": None, "n_neighbors": int(rng.integers(1, 4))}

    def made(points, weight):
        return cm.CrossModalProblem(points[:half], points[half:], of.y[:half], of.y[half:], alpha=weight, **options)

    # Neighbours in graphs are found by distances, which round: with graphs, a scaled problem is its own judge.
    twin = None if moved is not None or (beta and of.scale != 1) else lambda: made(X0, alpha0)
    return Case(lambda: made(X, alpha), twin)


def blocks(loss: str) -> Callable[[Draw], Case]:
    """A problem of one's own: triplets or pairs, a loss, a regularizer and a linear term."""

    def make(of: Draw) -> Case:
        rng, X, (n, d), s = of.rng, of.X, of.X0.shape, of.scale
        mu = of.margin if loss != "logistic" else Fraction(1)
        t = (
            power(rng.integers(-300, 301))
            if of.kind in ("weights", "everything") and rng.random() < 0.3
            else Fraction(1)
        )
        cone = NonnegativeDiagonal(d) if loss == "hinge" and rng.random() < 0.4 else PSDCone(d)
        norm = rng.choice(3 if loss == "squared" else 2)
        ratio = (t * s**2, t * s**4 / mu, t * s**2)[norm]
        reg, reg0 = weights(of, ratio, -4, 2)
        regularizer = (Trace, SquaredFrobenius, Frobenius)[norm]
        weight = rng.integers(1, 16).item() * power(-2)
        G = None
        # No exact solver takes a norm that is not squared together with a linear term.
        if rng.random() < 0.4 and regularizer is not Frobenius:
            root = rng.integers(-3, 4, (d, d)).astype(float) / 8.0
            G = (root * root)[0] if isinstance(cone, NonnegativeDiagonal) else root @ root.T
        rows = some_triplets(rng, n, of.few)
        margins = rng.integers(1, 9, len(rows)) / 4.0

        def made(points, reg, weight, margin, linear):
            if loss == "hinge":
                risk = SeparableRisk(Triplets(points, rows, cone), Hinge(weight, margin))
            elif loss == "logistic":
                risk = SmoothSeparableRisk(Triplets(points, rows, cone), Logistic(weight))
            elif loss == "box hinge":
                risk = SeparableRisk(
                    Triplets(points, rows, cone), BoxLoss.hinge(np.full(len(rows), weight), margin * margins)
                )
            else:
                distances = PairDistances(points, rows[:, :2], np.ones(len(rows)), cone)
                squared = BoxLoss.squared_error(np.full(len(rows), weight), margin * margins)
                risk = SeparableRisk(distances, squared)
            return cm.MetricProblem(risk, regularizer(reg), linear)

        mine = exact(weight * t / mu if loss == "squared" else weight * t)
        unit, margin, weight0 = exact(t * s**2), exact(mu), written(weight)
        of.notes.append(f"{regularizer.__name__}, {type(cone).__name__}, t {float(t):.3g}{'' if G is None else ', G'}")
        return Case(
            lambda: made(X, reg, mine, margin, None if G is None else G * unit),
            lambda: made(of.X0, reg0, weight0, 1.0, G),
            t * mu,
        )

    return make


FAMILIES: dict[str, Callable[[Draw], Case]] = {
    **{
        f"ranking, {measure}": ranking(measure)
        for measure in ("auc", "precision", "map", "mrr", "ndcg", "ndcg-log2", "knn")
    },
    "relative, features": relative("features", hard=False),
    "relative, sparse": relative("sparse", hard=False),
    "relative, A": relative("map", hard=False),
    "relative, kernel": relative("kernel", hard=False),
    "relative, hard": relative("features", hard=True),
    "relative, kernel, hard": relative("kernel", hard=True),
    "triplets": triplets,
    "pairs": pairs,
    "similarity": similarity,
    "large margin": large_margin,
    "cross-modal": cross_modal,
    "blocks, hinge": blocks("hinge"),
    "blocks, box hinge": blocks("box hinge"),
    "blocks, squared error": blocks("squared"),
    "blocks, logistic": blocks("logistic"),
}
KINDS = ("scale", "scale alone", "offset", "columns", "doubles", "weights", "margins", "few", "everything")


def drawn(seed: int, number: int) -> tuple[str, str, Case, list[str]]:
    """Family, kind, case and notes of a number."""
    names = list(FAMILIES)
    name, kind = names[number % len(names)], KINDS[(number // len(names)) % len(KINDS)]
    for attempt in range(1000):
        of = draw(np.random.default_rng([seed, number, attempt]), kind)
        try:
            return name, kind, FAMILIES[name](of), of.notes
        except RedrawError:
            continue
    raise RuntimeError(f"nothing to draw for {name}, {kind}")


# ------------------------------------------------------------------------------------------------------------ judging


def proven(problem: Any, solution: Any) -> tuple[Fraction | None, Fraction | None]:
    """Bounds on a problem's optimum that exact arithmetic proves from a solution, where it proves any."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            verdict = cm.write_certificate(Path(folder) / "twin.npz", problem, solution)
        except ConvexMetricError:
            return None, None
    return verdict.lower, verdict.upper


def solved(make: Callable[[], Any], limit: float) -> tuple[Any, Any, list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem = make()
        return problem, cm.solve(problem, max_seconds=limit), caught


def refusal(error: ConvexMetricError) -> tuple[str, str]:
    """How an error of the package is judged, and its message with figures left out."""
    if isinstance(error, CrossedBoundsError):
        return "crossed", str(error)
    message = re.sub(r"[-+]?\d+\.?\d*(e[-+]?\d+)?", "#", str(error))
    named = ARGUMENT.search(str(error)) and FIX.search(str(error))
    return "refused" if named else "unclear message", f"{type(error).__name__}: {message[:160]}"


def excluded(lower: float, upper: float, low: Fraction | None, high: Fraction | None, factor: Fraction) -> str:
    """How bounds contradict the proven ones; empty if they do not."""
    if np.isfinite(lower) and high is not None and Fraction(lower) > factor * high:
        beyond = Fraction(lower) / (factor * high) - 1 if high else Fraction(0)
        return f"lower bound {lower!r} is above the proven upper one by {float(beyond):.1e}"
    if np.isfinite(upper) and low is not None and Fraction(upper) < factor * low:
        beyond = 1 - Fraction(upper) / (factor * low) if low else Fraction(0)
        return f"upper bound {upper!r} is below the proven lower one by {float(beyond):.1e}"
    return ""


def judge(case: Case, limit: float) -> tuple[str, str, float]:
    """Outcome, what there is to say about it, and seconds."""
    start = time.perf_counter()
    try:
        problem, solution, caught = solved(case.make, limit)
    except InfeasibleError as error:
        return *infeasible(case, error, limit), time.perf_counter() - start
    except ConvexMetricError as error:
        return *refusal(error), time.perf_counter() - start
    seconds = time.perf_counter() - start
    lower, upper = solution.lower_bound, solution.upper_bound
    if lower > upper or np.isnan(lower) or np.isnan(upper):
        return "crossed", f"{solution.status}: [{lower!r}, {upper!r}]", seconds
    warned = any(issubclass(warning.category, GapWarning) for warning in caught)
    wide = solution.gap > solution.tol and upper - lower > solution.atol
    if (wide or solution.status != "optimal") and not warned:
        return "unannounced", f"{solution.status}, gap {solution.gap:.1e}", seconds
    said = f"{solution.status} by {solution.solver}: [{lower!r}, {upper!r}]"
    bounds = [(*proven(problem, solution), Fraction(1))]
    if case.twin is not None:
        try:
            twin, other, _ = solved(case.twin, limit)
        except ConvexMetricError as error:
            return "unclear message", f"the twin was refused: {error}", seconds
        bounds.append((*proven(twin, other), case.factor))
        wrong = excluded(other.lower_bound, other.upper_bound, *bounds[-1][:2], Fraction(1))
        if wrong:
            return "false", f"the twin's {wrong}; {other.status} by {other.solver}", seconds
    for low, high, factor in bounds:
        wrong = excluded(lower, upper, low, high, factor)
        if wrong:
            return "false", f"{said}: {wrong}", seconds
    judged = any(end is not None for low, high, _ in bounds for end in (low, high))
    outcome = "optimal" if solution.status == "optimal" else "warned"
    return outcome if judged else f"{outcome}, unjudged", said, seconds


def infeasible(case: Case, error: InfeasibleError, limit: float) -> tuple[str, str]:
    """A claim that no metric satisfies the triplets holds for the twin as well, or is false."""
    if case.twin is not None:
        try:
            solved(case.twin, limit)
        except InfeasibleError:
            return refusal(error)
    return "false", f"infeasible, but not its twin: {error}"


def worker(case: Case, limit: float, pipe: Any) -> None:
    """Judge a case under a memory limit and report."""
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 0
    if pages:
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        result = judge(case, limit)
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "convexmetric" in frame.filename]
        place = ours[-1] if ours else place
        result = "raw exception", f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {error}", 0.0
    pipe.send(result)
    pipe.close()
    # Threads of compiled loops that a fork leaves behind are nobody's to join.
    sys.stdout.flush()
    os._exit(0)


def campaign(numbers: list[int], seed: int, jobs: int, limit: float, report: Callable[..., None]) -> None:
    """Judge cases in forked processes, so many at a time."""
    context = multiprocessing.get_context("fork")
    waiting, running = list(reversed(numbers)), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            number = waiting.pop()
            mine, theirs = context.Pipe(duplex=False)
            process = context.Process(target=worker, args=(drawn(seed, number)[2], limit, theirs))
            process.start()
            theirs.close()
            running[mine] = process, number, time.monotonic() + 4.0 * limit + 10.0
        for pipe in wait(list(running), timeout=0.2):
            process, number, _ = running.pop(pipe)
            try:
                result = pipe.recv()
            except EOFError:
                result = "raw exception", "the process died", 0.0
            process.join()
            report(number, *result)
        for pipe, (process, number, deadline) in list(running.items()):
            if time.monotonic() > deadline:
                process.kill()
                process.join()
                del running[pipe]
                report(number, "late", f"more than {4.0 * limit + 10.0:.0f} s", 4.0 * limit + 10.0)


OUTCOMES = (
    "optimal", "warned", "refused", "optimal, unjudged", "warned, unjudged",
    "unclear message", "unannounced", "crossed", "false", "raw exception", "late",
)  # fmt: skip
FAILURES = OUTCOMES[5:]


def table(title: str, keys: Any, counts: Counter, worst: dict[str, float]) -> str:
    rows = [
        [key, sum(counts[key, o] for o in OUTCOMES), *(counts[key, o] for o in OUTCOMES), f"{worst[key]:.1f}"]
        for key in keys
    ]
    return markdown([title, "cases", *OUTCOMES, "worst s"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=5.0, help="seconds that a solve is given (default %(default)s)")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of single cases")
    parser.add_argument("--show", nargs="+", default=[], choices=OUTCOMES, help="outcomes whose cases are told as well")
    parser.add_argument("--first", type=int, default=0, help="number to begin with")
    arguments = parser.parse_args()
    # Of numba's layers of threads OpenMP does not survive a fork.
    numba.config.THREADING_LAYER = "workqueue"
    limit_threads(1)
    print(surroundings(), flush=True)
    counts: Counter = Counter()
    worst: dict[str, float] = defaultdict(float)
    messages: Counter = Counter()
    start = time.perf_counter()

    def report(number: int, outcome: str, said: str, seconds: float) -> None:
        name, kind, _, notes = drawn(arguments.seed, number)
        for key in (name, kind, "all"):
            counts[key, outcome] += 1
            worst[key] = max(worst[key], seconds)
        if outcome == "refused":
            messages[said] += 1
        if outcome in (*FAILURES, *arguments.show) or arguments.only:
            print(f"{number} {name}, {kind} ({'; '.join(notes)}): {outcome}: {said} [{seconds:.1f} s]", flush=True)

    numbers = arguments.only or range(arguments.first, arguments.first + arguments.cases)
    # Compiled loops are loaded once, before the first fork.
    for number in range(len(FAMILIES)):
        try:
            solved(drawn(arguments.seed, number)[2].make, arguments.limit)
        except Exception:
            continue
    campaign(list(numbers), arguments.seed, arguments.jobs, arguments.limit, report)
    print(f"\n{len(numbers)} cases, {time.perf_counter() - start:.0f} s\n")
    print(table("family", [*FAMILIES, "all"], counts, worst), "\n")
    print(table("kind", [*KINDS, "all"], counts, worst), "\n")
    print("Refusals:")
    for message, count in messages.most_common():
        print(f"{count:5d}  {message}")
    return 1 if any(counts["all", outcome] for outcome in FAILURES) else 0


if __name__ == "__main__":
    sys.exit(main())
