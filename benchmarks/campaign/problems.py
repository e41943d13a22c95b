"""Problems of the campaign: solved ones of all families, and extreme ones on a line whose exact optima are known."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import convexmetric as cm
from campaign.optima import INFINITE, NEGATIVE, Ends, Statement, Unreadable, slope_of, worst_places
from convexmetric.certificates import kernel
from convexmetric.certificates.kernel import rounded
from convexmetric.certificates.subgradients import above, feasible
from convexmetric.comparisons import PairDistances, Triplets
from convexmetric.cones import BlockDiagonal, Cone, NonnegativeDiagonal, PSDCone, shared_points
from convexmetric.errors import InputError
from convexmetric.losses import BoxLoss, Hinge, ItakuraSaito, Logistic, NegativeLog, NegativeRoot
from convexmetric.measures import MEASURES
from convexmetric.regularizers import (
    Budget,
    Distance,
    EntrywiseL1,
    Frobenius,
    LogDet,
    Regularizer,
    SquaredDistance,
    SquaredFrobenius,
    Trace,
    TraceDistance,
    Zero,
)
from convexmetric.risks import Risk, SeparableRisk, SmoothSeparableRisk, SumRisk

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from catalogue import instance, names
from forgery import Contents, opened
from samples import random_metric, random_triplets

__all__ = ["Problem", "builders", "family", "on_a_line", "regularizer", "solved"]

LARGEST = Fraction(np.finfo(float).max)
Generator = np.random.Generator
#: Of the solved problems, those that the short test takes.
FEW = (
    "ranking from labels", "relative, rbf, soft", "relative, A, hard", "triplets, graph, diagonal",
    "pairs, all, frobenius, features, margin 1.0", "cross-modal, representatives", "psd triplets, trace, G",
    "rankings by map", "triplets, zero, PSDCone", "itakura-saito, log det, PSDCone", "entries to a prior and log det",
    "trace distance, PSDCone", "negative root, budget, BlockDiagonal", "shared points",
)  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """A certificate, and bounds on the optimal value: proven ones, or exact ones."""

    name: str
    contents: Contents
    optimum: Ends


def family(document: dict[str, Any]) -> str:
    """Which risk it is."""
    risk = document["problem"]["risk"]
    if risk["kind"] == "rankings":
        return f"rankings by {risk['measure']}"
    if risk["kind"] == "sum":
        return "sum"
    if "temperature" in risk:
        return str(risk["kind"])
    losses = [risk["loss"]] if "loss" in risk else sorted({term["loss"] for term in risk["terms"]})
    return f"{risk['kind']}, {' and '.join(losses)}"


def regularizer(document: dict[str, Any]) -> str:
    """Which regularizer, cone and linear term."""
    problem = document["problem"]
    table = problem["regularizer"]
    terms = [f"{one['kind']}{' to a prior' if 'prior' in one else ''}" for one in table.get("summands", [table])]
    kind = f"form of {table['of']}" if "of" in table else " and ".join(terms)
    return f"{kind}, {problem['cone']}{', G' if problem['linear'] else ''}"


# Solved problems ------------------------------------------------------------------------------------------------------


def _ranking(measure: str, diagonal: bool) -> Any:
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], 3)
    k = {"k": 3} if measure in ("precision", "knn", "ndcg", "ndcg-log2") else {}
    X = rng.standard_normal((9, 3)) + 0.5 * y[:, None]
    return cm.RankingProblem.from_labels(X, y, measure=measure, C=20.0, diagonal=diagonal, **k)


def _triplets(regularizer: Regularizer, cone: type[Cone]) -> Any:
    """Triplets with a linear term that is positive definite."""
    rng, K = np.random.default_rng(0), cone(3)
    risk = SeparableRisk(Triplets(rng.standard_normal((9, 3)), random_triplets(rng, 9, 14), K), Hinge(1.5, margin=0.8))
    return cm.MetricProblem(risk, regularizer, G=0.3 * random_metric(rng, K) + 0.1 * K.identity())


def _sum(cone: type[Cone], regularizer: Regularizer, shared: bool) -> Any:
    """Triplets, pairs, two kinds of rankings and a logistic loss, of the same points or of others."""
    rng, K, y = np.random.default_rng(1), cone(3), np.repeat([0, 1, 2], 3)
    X = rng.standard_normal((9, 3)) + 0.5 * y[:, None]
    others = X if shared else rng.standard_normal((9, 3))
    pairs = np.array([rng.choice(9, 2, replace=False) for _ in range(8)])
    risks: list[Risk] = [
        cm.RankingProblem.from_labels(X, y, measure=measure, C=4.0, diagonal=K.diagonal).risk
        for measure in ("map", "auc")
    ]
    risks.append(SeparableRisk(Triplets(others, random_triplets(rng, 9, 8), K), Hinge(0.5)))
    risks.append(
        SeparableRisk(PairDistances(X, pairs, np.ones(8), K), BoxLoss.squared_error(np.full(8, 0.1), np.ones(8)))
    )
    risks.append(SmoothSeparableRisk(Triplets(others, random_triplets(rng, 9, 5), K), Logistic(0.3)))
    return cm.MetricProblem(SumRisk(*risks), regularizer)


def builders() -> dict[str, Callable[[], Any]]:
    """Problems by name, made when they are called."""
    made: dict[str, Callable[[], Any]] = {
        name: lambda name=name: instance(name) for name in names(without=("floats", "user terms", "user blocks"))
    }
    for measure in MEASURES:
        for diagonal in (False, True):
            name = f"rankings by {measure}{', diagonal' if diagonal else ''}"
            made[name] = lambda measure=measure, diagonal=diagonal: _ranking(measure, diagonal)
    for cone in (PSDCone, NonnegativeDiagonal):
        made[f"triplets, zero, {cone.__name__}"] = lambda cone=cone: _triplets(Zero(), cone)
        made[f"sum, {cone.__name__}"] = lambda cone=cone: _sum(cone, Trace(0.2), True)
        made[f"sum, points of their own, {cone.__name__}"] = lambda cone=cone: _sum(cone, SquaredFrobenius(0.2), False)
        for every in (True, False):
            for rest in (Zero(), Trace(0.1), Frobenius(0.1), SquaredFrobenius(0.1)):
                name = f"triplets, {'all' if every else 'other'} entries and {type(rest).__name__}, {cone.__name__}"
                made[name] = lambda cone=cone, rest=rest, every=every: _triplets(
                    EntrywiseL1(0.1, rest, diagonal=every), cone
                )
    return made | _of_blocks()


def _pairs(risk: str, regularizer: Callable[[Cone], Regularizer], cone: Cone) -> Any:
    """Pairs that should be near or far, or pairs with negatives only, which a budget or G keeps from growing."""
    rng = np.random.default_rng(2)
    X, pairs = rng.standard_normal((8, 3)), np.array([rng.choice(8, 2, replace=False) for _ in range(10)])
    signs, ones = np.where(np.arange(10) < 5, 1.0, -1.0), np.ones(10)
    far = PairDistances(X, pairs, ones, cone)
    risks: dict[str, Callable[[], Risk]] = {
        "itakura-saito": lambda: SeparableRisk(
            PairDistances(X, pairs, signs, cone), ItakuraSaito(0.4, np.where(signs > 0.0, 6.0, 1.0), signs)
        ),
        "negative log": lambda: SeparableRisk(far, NegativeLog(0.2)),
        "negative root": lambda: SeparableRisk(far, NegativeRoot(0.2)),
        "hinge": lambda: SeparableRisk(Triplets(X, random_triplets(rng, 8, 12), cone), Hinge(0.5)),
    }
    return cm.MetricProblem(risks[risk](), regularizer(cone))


def _shared() -> Any:
    """Two tasks that share a metric."""
    rng, task, cone = np.random.default_rng(3), np.repeat([0, 1], 5), BlockDiagonal([2, 2, 2])
    triplets = np.concatenate([random_triplets(rng, 5, 8), random_triplets(rng, 5, 8) + 5])
    X = shared_points(rng.standard_normal((10, 2)), task)
    return cm.MetricProblem(SeparableRisk(Triplets(X, triplets, cone), Hinge(0.5)), SquaredFrobenius(0.3))


def _of_blocks() -> dict[str, Callable[[], Any]]:
    """Regularizers and losses that are no norms and no hinges, with every cone."""

    def near(cone: Cone) -> np.ndarray:
        return random_metric(np.random.default_rng(4), cone) + 0.2 * cone.identity()

    made: dict[str, Callable[[], Any]] = {"shared points": _shared}
    terms: dict[str, Callable[[Cone], Regularizer]] = {
        "log det": lambda cone: LogDet(near(cone), 0.5),
        "budget": lambda cone: Budget(near(cone), 1.5),
        "budget at a price": lambda cone: Budget(near(cone), 0.5, weight=3.0),
        "squared distance": lambda cone: SquaredDistance(0.5, near(cone)),
        "distance": lambda cone: Distance(0.3, near(cone)),
        "trace distance": lambda cone: TraceDistance(0.3, near(cone)),
    }
    cases = [("hinge", name) for name in terms if name != "budget"]
    cases += [(risk, name) for risk in ("itakura-saito", "negative log", "negative root") for name in ("log det",)]
    cases += [("negative log", "budget"), ("negative root", "budget"), ("itakura-saito", "distance")]
    for cone in (PSDCone(3), NonnegativeDiagonal(3), BlockDiagonal([2, 1])):
        for risk, name in cases:
            start = "" if risk == "hinge" else f"{risk}, "
            made[f"{start}{name}, {type(cone).__name__}"] = lambda risk=risk, name=name, cone=cone: _pairs(
                risk, terms[name], cone
            )
    full = PSDCone(3)
    made["entries to a prior and log det"] = lambda: _pairs(
        "hinge", lambda cone: EntrywiseL1(0.1, LogDet(near(cone), 0.5), prior=near(cone)), full
    )
    made["entries to a prior"] = lambda: _pairs("itakura-saito", lambda cone: EntrywiseL1(0.2, prior=near(cone)), full)
    return made


def solved(names: tuple[str, ...] | None = None) -> list[Problem]:
    """Certificates of the package's own solvers for random instances of every kind."""
    known, made = builders(), []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, name in enumerate(names or known):
            path = Path(folder) / f"{number}.npz"
            problem = known[name]()
            verdict = cm.write_certificate(path, problem, solution=cm.solve(problem, tol=1e-7), title=name)
            made.append(Problem(name, opened(path), (verdict.lower, verdict.upper)))
    return made


# Problems on a line ---------------------------------------------------------------------------------------------------


def on_a_line(rng: Generator) -> Problem:
    """A random problem whose points stand on a line, and a certificate of it that is as good as floats make it.

    Scales from 1e-150 to 1e150, offsets up to 1e8, constant and repeated columns, weights up to 1e300.
    """
    cone, d = str(rng.choice(["diagonal", "psd", "psd", "block-diagonal"])), int(rng.choice([1, 1, 1, 2, 3]))
    scale, diagonal = _scale(rng), cone == "diagonal"
    arrays: dict[str, np.ndarray] = {}
    if cone == "block-diagonal":
        arrays["blocks"] = rng.integers(0, d, d)
    risk = _RISKS[rng.integers(len(_RISKS))](rng, scale, d, arrays)
    table, linear = _regularizer(rng, scale, diagonal, d, arrays)
    document: dict[str, Any] = {
        "format": "convexmetric-certificate",
        "version": 2,
        "title": "on a line",
        "problem": {
            "cone": cone, "features": d, "risk": risk, "regularizer": table, "linear": linear,
        },
        "dual": {},
        "claimed": {"lower": "0", "upper": "1"},
        "sha256": {},
    }  # fmt: skip
    if rng.random() < 0.1:
        document["problem"]["constant"] = str(rng.choice(["0", "-1/3", "1000000007", "-1" + "0" * 200]))
    statement = Statement(document, arrays)
    optimum = statement.optimum()
    arrays |= _hints(statement, rng, document)
    _made_feasible(document, arrays)
    if abs(optimum[0]) < INFINITE and abs(optimum[1]) < INFINITE:
        slack = Fraction(10.0 ** rng.uniform(-14, -2))
        spread = slack * max(abs(end) for end in optimum) + Fraction(1, 10**290)
        document["claimed"] = {"lower": _text(optimum[0] - spread), "upper": _text(optimum[1] + spread)}
    return Problem("on a line", (document, arrays), optimum)


def _text(value: Fraction) -> str:
    """A rational of 17 digits near a value, and within the limits of the format."""
    if abs(value) >= 10**299:
        return str(10**299 if value > 0 else -(10**299))
    return str(rounded(value, 1)) if abs(value) > Fraction(1, 10**300) else "0"


def _scale(rng: Generator) -> float:
    kind = rng.random()
    return 1.0 if kind < 0.5 else 10.0 ** rng.uniform(-6, 6) if kind < 0.75 else 10.0 ** rng.uniform(-150, 150)


def _rational(rng: Generator, value: float) -> str:
    """A parameter: a short decimal near a number, or a fraction."""
    near = Fraction(f"{value:.2g}")
    return str(near if rng.random() < 0.7 else near / int(rng.integers(2, 12)))


def _weight(rng: Generator) -> str:
    kind = rng.random()
    if kind < 0.7:
        return _rational(rng, 10.0 ** rng.uniform(-1, 2))
    return _rational(rng, 10.0 ** (rng.uniform(-12, 12) if kind < 0.9 else rng.uniform(-190, 300)))


def _line(rng: Generator, n: int, scale: float, d: int) -> np.ndarray:
    """Points ``offset + t v``, exactly, with v of small integers (zeros and repetitions are frequent)."""
    t = np.round(rng.standard_normal(n) * 256.0) / 256.0
    if rng.random() < 0.3:
        t = np.round(t)
    v = rng.choice([1.0, 1.0, 1.0, 0.0, -1.0, 2.0, 3.0], d)
    v[rng.integers(d)] = 1.0
    if scale != 1.0:
        power = 2.0 ** np.round(np.log2(scale))
        return np.outer(t * power, v) if d > 1 else (t * scale)[:, None]
    offset = float(rng.choice([0.0, 0.0, 1.0, -1e3, 1e6, 1e8, 12345.0]))
    return np.outer(t, v) + offset * rng.choice([1.0, 1.0, 0.0, -3.0], d)


def _lists(rng: Generator, scale: float, d: int, arrays: dict[str, np.ndarray]) -> None:
    """Queries with lists of positives and negatives, and weights of them perhaps."""
    n, count = int(rng.integers(4, 7)), int(rng.integers(1, 4))
    own = rng.random() < 0.4
    X = _line(rng, n + count, scale, d)
    arrays["points"] = X[:n]
    if own:
        arrays["queries"] = X[n:]
    else:
        arrays["anchors"] = rng.integers(0, n, count)
    orders = [rng.permutation(n) for _ in range(count)]
    p = rng.integers(1, 4, count)
    arrays["near"] = np.concatenate([order[:size] for order, size in zip(orders, p)])
    arrays["near_stops"] = np.cumsum(p)
    if rng.random() < 0.3:
        arrays["query_weights"] = rng.random(count) * (rng.random(count) < 0.9)
    if rng.random() < 0.3 and n > 5:
        arrays["itself"] = np.array([order[-1] if rng.random() < 0.5 else n for order in orders], dtype=np.int64)
        return
    m = np.minimum(rng.integers(1, 4, count), n - p)
    arrays["far"] = np.concatenate([order[-size:] for order, size in zip(orders, m)])
    arrays["far_stops"] = np.cumsum(m)


def _rankings(rng: Generator, scale: float, d: int, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    _lists(rng, scale, d, arrays)
    measure = str(rng.choice(sorted(MEASURES)))
    risk: dict[str, Any] = {"kind": "rankings", "measure": measure, "C": _weight(rng)}
    if measure in ("precision", "ndcg", "ndcg-log2", "knn"):
        risk["k"] = int(rng.integers(1, 5))
    return risk


def _pairs_of_lists(rng: Generator, scale: float, d: int, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    _lists(rng, scale, d, arrays)
    risk: dict[str, Any] = {"kind": "pairs of lists", "loss": "logistic", "weight": _weight(rng)}
    if rng.random() < 0.6:
        risk |= {"loss": "hinge", "margin": _margin(rng)}
    return risk


def _margin(rng: Generator) -> str:
    return str(Fraction(str(round(float(rng.choice([1.0, 0.5, 0.3, 0.0, -0.2, 3.0, 1e-9, 1e9])), 12))))


_LOSSES = ("hinge", "absolute", "squared", "logistic", "hard", "itakura-saito", "box", "box", *NEGATIVE)
#: Boxes: linear, pinball, of infinite ends, of curvatures with ends and without.
BOXES: tuple[dict[str, str], ...] = (
    {"low": "1", "high": "1", "curvature": "0"}, {"low": "-1/3", "high": "2", "curvature": "0"},
    {"low": "1/7", "high": "3", "curvature": "0"}, {"low": "-2", "curvature": "0"}, {"high": "1/2", "curvature": "0"},
    {"curvature": "2/3"}, {"low": "0", "curvature": "1/2"}, {"low": "-1", "high": "1", "curvature": "3"},
)  # fmt: skip


def _term(rng: Generator, loss: str | None = None) -> dict[str, Any]:
    loss = loss or str(rng.choice(_LOSSES))
    weight = "1" if loss == "hard" else _weight(rng)
    own = BOXES[int(rng.integers(len(BOXES)))] if loss == "box" else {}
    return {"loss": loss, "weight": weight, "margin": _margin(rng), "sign": int(rng.choice([1, 1, -1])), **own}


def _signed(term: dict[str, Any]) -> dict[str, Any]:
    """A term that is finite at some distances: a margin that is not zero, and of the sign of the term."""
    margin = abs(Fraction(term["margin"])) or Fraction(1)
    sign = 1 if term["loss"] in NEGATIVE else term["sign"]
    return term | {"margin": str(sign * margin), "sign": sign}


def _listed(rng: Generator, scale: float, d: int, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    n, count = int(rng.integers(3, 7)), int(rng.integers(1, 9))
    arrays["points"] = _line(rng, n, scale, d)
    loss = str(rng.choice(_LOSSES)) if rng.random() < 0.8 else None
    terms = [_term(rng, loss) for _ in range(int(rng.integers(1, 4)))]
    # Of triplets with all signs the last ones are mostly infinite.
    barrier = loss in ("itakura-saito", *NEGATIVE) and rng.random() < 0.9
    name = "pairs" if barrier else str(rng.choice(["pairs", "triplets"]))
    if barrier:
        terms = [_signed(term) for term in terms]
    arrays[name] = np.array([rng.permutation(n)[: 2 + (name == "triplets")] for _ in range(count)])
    arrays["terms"] = rng.integers(0, len(terms), count)
    if rng.random() < 0.3 and not barrier:
        arrays["targets"] = np.round(rng.random(count), 3) * 10.0 ** rng.integers(-3, 3)
    if rng.random() < 0.3:
        arrays["comparison_weights"] = rng.random(count) * (rng.random(count) < 0.9)
    return {"kind": "listed comparisons", "terms": terms}


def _all_pairs(rng: Generator, scale: float, d: int, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    n = int(rng.integers(2, 7))
    arrays["points"] = _line(rng, n, scale, d)
    arrays["codes"] = rng.integers(0, min(n, 3), n)
    same = _term(rng, str(rng.choice(["hinge", "absolute", "squared", "logistic"]))) | {"sign": -1}
    other = _term(rng, str(rng.choice(["hinge", "absolute", "squared", "logistic"]))) | {"sign": 1}
    return {"kind": "all pairs", "terms": [same, other]}


_RISKS = (_rankings, _rankings, _pairs_of_lists, _pairs_of_lists, _listed, _listed, _all_pairs)


def _regularizer(
    rng: Generator, scale: float, diagonal: bool, d: int, arrays: dict[str, np.ndarray]
) -> tuple[dict[str, Any], bool]:
    """Of a weight that leaves something to decide, mostly; and whether there is a linear term."""
    linear = d == 1 and rng.random() < 0.3
    size = min(max(scale * scale, 1e-190), 1e190) if rng.random() < 0.8 else 1.0
    if linear:
        arrays["linear"] = rng.standard_normal((1,) if diagonal else (1, 1)) * size * rng.choice([1e-3, 1.0, 100.0])
    if diagonal and d == 1 and rng.random() < 0.3:
        of = str(rng.choice(["gram of A", "matrix"]))
        if of == "matrix":
            arrays["form"] = np.array([[rng.random() * 10.0 ** rng.uniform(-3, 3) * size]])
        else:
            arrays["gram_of"] = rng.standard_normal((int(rng.integers(1, 4)), 1)) * size**0.5
        return {"kind": "quadratic form", "of": of}, linear
    if d == 1 and rng.random() < 0.2:
        terms = [
            _named(rng, size, diagonal, d, arrays, f"term{number}_", kinds)
            for number, kinds in enumerate(((*_NORMS, "prior"), _NORMS, _BASES)[-int(rng.integers(2, 4)) :])
        ]
        return {"kind": "sum", "summands": terms}, linear
    return _named(rng, size, diagonal, d, arrays, "", ("zero", *_NORMS * 3, *_BASES * 3)), linear


_NORMS = ("frobenius", "trace norm", "entrywise")
_BASES = ("trace", "squared frobenius", "log det", "budget")


def _named(
    rng: Generator, size: float, diagonal: bool, d: int, arrays: dict[str, np.ndarray], start: str,
    kinds: tuple[str, ...],
) -> dict[str, Any]:  # fmt: skip
    """One regularizer; its arrays have a start."""
    kind, shape = str(rng.choice(kinds)), (d,) if diagonal else (d, d)
    kind = "frobenius" if kind == "prior" or (kind == "entrywise" and diagonal) else kind
    if kind == "zero":
        return {"kind": "zero"}
    table: dict[str, Any] = {"kind": kind}
    # Metrics are of the size 1 / size.
    metric = 10.0 ** float(np.clip(rng.uniform(-2, 1) - np.log10(size), -195.0, 195.0))
    positive = rng.standard_normal((d, d))
    positive = np.diag(np.abs(positive)) + 0.1 if diagonal else positive.T @ positive + 0.1 * np.eye(d)
    if kind == "budget":
        arrays[f"{start}spent"] = 0.5 * (positive + positive.T)
        table["limit"] = _rational(rng, metric)
        return table | ({"weight": _rational(rng, 10.0 ** rng.uniform(-2, 2) * size)} if rng.random() < 0.5 else {})
    power = 2.0 if kind == "squared frobenius" and rng.random() < 0.8 else 0.0 if kind == "log det" else 1.0
    weight = 10.0 ** float(np.clip(power * np.log10(size), -195.0, 195.0))
    table["weight"] = _rational(rng, 10.0 ** rng.uniform(-2, 1.5) * weight)
    if rng.random() < 0.2:
        table["over_root_of"] = int(rng.integers(1, 50))
    if kind == "entrywise":
        table["diagonal"] = bool(rng.random() < 0.8)
    if kind == "log det":
        inverse = np.clip(1.0 / metric, 1e-250, 1e250)
        arrays[f"{start}prior_root"] = positive * inverse if diagonal else np.triu(positive) * inverse**0.5
    elif kind in (*_NORMS, "squared frobenius") and d == 1 and rng.random() < 0.7:
        table["prior"], arrays[f"{start}prior"] = True, np.full(shape, metric * rng.choice([1.0, 1.0, -1.0]))
    return table


# Hints near the best ones ---------------------------------------------------------------------------------------------


def _hints(statement: Statement, rng: Generator, document: dict[str, Any]) -> dict[str, np.ndarray]:
    """The best metric in floats, and a dual point at the kink where it stands."""
    v, along = statement.line()
    R, _ = statement.of_one_number()
    try:
        s = R.lowest()
    except Unreadable:
        s = None
    s = Fraction(1) if s is None or s < 0 else s
    inside = Fraction(R.most == s) * -1 or Fraction(R.least == s)
    hints = _metric(statement, v, s * (1 + inside / 10**12))
    definite = any(term.kind == "log det" for term in statement.terms)
    if rng.random() < 0.1 and "factor" in hints and not definite:
        hints["factor"] = np.concatenate([hints["factor"], np.zeros((1, statement.d))])
    near = [s * (1 - Fraction(1, 2**22)), s * (1 + Fraction(1, 2**22))]
    if not s:
        near = [Fraction(1, 10**290)] * 2
    falls, rises = R.slopes(near[0])[1], R.slopes(near[1])[0]
    share = min(max(-falls / (rises - falls), Fraction(0)), Fraction(1)) if rises > falls else Fraction(1, 2)
    if "near" in statement.arrays:
        document["dual"], found = _integers(statement, document["problem"]["risk"], along, near, share)
        return hints | found
    document["dual"] = {"kind": "slopes"}
    slopes = []
    for part in statement.parts:
        rise = sum(sign * (along[a] - along[b]) ** 2 for sign, a, b in part.distances)
        ends = [_slope(part.loss, part.mu, rise * at) for at in near]
        slopes.append(_float((1 - share) * ends[0] + share * ends[1]))
    hints["slopes"] = np.array(slopes)
    _push(statement, along, R.slopes(s if s else near[1])[1], s, hints["slopes"])
    return hints


#: Bits of slopes and weights.
BITS = 30


def _integers(
    statement: Statement, risk: dict[str, Any], along: list[Fraction], near: list[Fraction], share: Fraction
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Slopes or rankings at two metrics, with the weights ``1 - share`` and ``share``, as integers."""
    one = 2**BITS
    weights = [one - round(share * one), round(share * one)]
    lists = list(statement.lists)
    if risk.get("loss") == "logistic":
        slopes = [
            round(sum(w * slope_of("logistic", Fraction(0), _rise(along, *pair) * s) for w, s in zip(weights, near)))
            for anchor, relevant, others in lists
            for pair in ((anchor, i, j) for i in relevant for j in others)
        ]
        return {"kind": "slopes", "bits": BITS}, {"slopes": np.array(slopes)}
    sums: tuple[list[int], list[int]] = ([], [])
    steps: list[list[int]] = [[], []]
    ranked = risk["kind"] == "rankings" and risk["measure"] != "auc"
    mu = Fraction(risk.get("margin", "1/2"))
    for number, (anchor, relevant, others) in enumerate(lists):
        r, c = [0] * len(relevant), [0] * len(others)
        for at, (w, s) in enumerate(zip(weights, near)):
            if ranked:
                x, z = ([s * (along[anchor] - along[i]) ** 2 for i in items] for items in (relevant, others))
                order, other = sorted(range(len(x)), key=x.__getitem__), sorted(range(len(z)), key=z.__getitem__)
                above = worst_places(statement.parts[number].gains, sorted(x), sorted(z))
                steps[at] += np.diff(above, prepend=0).tolist()
                for place, i in enumerate(order):
                    r[i] += w * above[place]
                for place, j in enumerate(other):
                    c[j] += w * sum(b > place for b in above)
                continue
            for i, row in enumerate(relevant):
                for j, column in enumerate(others):
                    active = mu - s * _rise(along, anchor, row, column) > 0
                    r[i], c[j] = r[i] + w * active, c[j] + w * active
        sums[0].extend(r)
        sums[1].extend(c)
    arrays = {"near_sums": np.array(sums[0]), "far_sums": np.array(sums[1])}
    if not ranked:
        return {"kind": "sums", "bits": BITS}, arrays
    more = {"steps": np.array(steps), "weights": np.array(weights)[:, None], "groups": np.zeros(len(lists), dtype=int)}
    return {"kind": "rankings", "bits": BITS}, arrays | more


def _rise(along: list[Fraction], anchor: int, i: int, j: int) -> Fraction:
    """``d_qj - d_qi`` where the metric is one along the line."""
    return (along[anchor] - along[j]) ** 2 - (along[anchor] - along[i]) ** 2


def _made_feasible(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """The share of the dual point that is feasible, and a slope; zero where that is not found."""
    document["dual"] |= {"share": "0", "regularizer": {}}
    with np.errstate(all="ignore"), contextlib.suppress(*_FAILED):
        stated = kernel.Problem(document, kernel.Arrays(arrays))
        document["dual"]["regularizer"], proves = _of_nothing(stated.omega, stated.table["regularizer"])
        # Of a risk that may be negative no share counts, so that its slopes have to leave some room.
        for scale in (1.0,) if stated.risk.nonnegative else (1.0, 1.0 - 2.0**-40, 1.0 - 2.0**-20):
            with contextlib.suppress(*_FAILED):
                if scale < 1.0:
                    arrays["slopes"] = arrays["slopes"] * scale
                table, found = _found(stated, document, arrays)
                proves |= found
                if table:
                    document["dual"] |= table
                    break
        arrays |= proves


def _found(stated: Any, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """A feasible share and slope, if there is one; and matrices above."""
    given = kernel.Arrays(arrays)
    factor = stated.cone.factor(given, stated.omega.definite)
    M = stated.cone.metric(factor)
    known, own = above(stated.omega, M.mid)
    for name, array in own.items():
        # At a metric of zero nothing is too little for the kernel, whose numbers have radii.
        own[name] = array + 1e-100 * np.eye(len(array)) if np.isfinite(array).all() else np.eye(len(array))
    with contextlib.suppress(*_FAILED):
        says, upper = stated.risk.dual(document["dual"], given), Fraction(0)
        with contextlib.suppress(kernel.NotProven):
            upper = stated.upper(stated.risk.value(factor), factor, known)
        hints = {"hint": arrays.get("weights_of_metric"), "slopes": _of_norms(stated, M.mid, says.S.mid)}
        table, slopes = feasible(stated, says, hints, upper, own)
        return table, own | slopes
    return {}, own


_FAILED = (kernel.NotProven, kernel.CertificateError, InputError, np.linalg.LinAlgError, ValueError, ArithmeticError)


def _of_norms(stated: Any, M: np.ndarray, S: np.ndarray) -> list[np.ndarray]:
    """Slopes at a metric of the norms that come with one: all but a Frobenius norm without a prior that is the last.

    Of one feature: those of signs, and where the metric is the prior what the dual point asks for.
    """
    each = _each(stated.omega, stated.table["regularizer"])
    last = [
        (part, kind) for part, kind in each[-1:] if kind in _NORMS and (kind != "frobenius" or part.prior is not None)
    ]
    left, found = S if stated.G is None else S - stated.G, []
    for part, kind in each[:-1] + last:
        weight, X = float(part.weight.mid), M if part.prior is None else M - part.prior
        if M.size == 1:
            kink = abs(X.item()) <= 1e-9 * abs((M - X).item())
            found.append(np.clip(left, -weight, weight) if kink else np.sign(X) * weight)
        elif kind == "entrywise":
            found.append(left * min(1.0, weight / max(float(np.abs(left).max()), 1e-300)))
        else:
            found.append(weight * (np.ones(M.shape) if stated.cone.diagonal else np.eye(len(M))))
        left = left - found[-1]
    return found


def _each(omega: Any, table: dict[str, Any]) -> list[tuple[Any, str]]:
    """Every summand of a regularizer, and its kind."""
    tables = table.get("summands", [table])
    return [(part, own["kind"]) for part, own in zip(getattr(omega, "parts", [omega]), tables, strict=True)]


def _of_nothing(omega: Any, said: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A slope of zero."""
    kind = said["kind"]
    if kind == "sum":
        found = [_of_nothing(part, own) for part, own in zip(omega.parts, said["summands"], strict=True)]
        named = {f"term{k}_{name}": array for k, (_, own) in enumerate(found) for name, array in own.items()}
        return {"summands": [table for table, _ in found]}, named
    zeros, identity = np.zeros(omega.cone.shape), np.eye(omega.cone.d)
    arrays: dict[str, dict[str, np.ndarray]] = {name: {"slope": zeros} for name in (*_NORMS, "squared frobenius")}
    if not omega.cone.diagonal:
        arrays["trace norm"] = {"slope": zeros, "above": identity}
    if kind == "log det":
        arrays["log det"] = {"root": omega.prior_root * (1.0 - 2.0**-40)}
    arrays["quadratic form"] = {"z": np.zeros(omega.cone.d)}
    return dict.fromkeys(omega.parameters.split(), "0"), arrays.get(kind, {})


def _push(statement: Statement, along: list[Fraction], slope: Fraction, s: Fraction, slopes: np.ndarray) -> None:
    """What keeps the metric from moving on, if that is a hard margin."""
    for at, part in enumerate(statement.parts):
        rise = sum(sign * (along[a] - along[b]) ** 2 for sign, a, b in part.distances)
        if part.loss == "hard" and rise and part.mu == rise * s:
            slopes[at] = _float(max(slope / rise, Fraction(0)))
            return


def _slope(loss: Any, mu: Fraction, s: Fraction) -> Fraction:
    """A slope of a loss; zero where the loss is infinite."""
    infinite = s <= 0 and (loss in NEGATIVE or (loss == "itakura-saito" and mu > 0))
    return Fraction(0) if infinite else slope_of(loss, mu, s)


def _metric(statement: Statement, v: list[Fraction], s: Fraction) -> dict[str, np.ndarray]:
    """The least metric with ``v^T M v = s``, in floats, or about that; zero, or of size one, where it overflows."""
    terms, kinds, d = statement.terms, {term.kind for term in statement.terms}, statement.d
    groups = [[v[i] if i in group else Fraction(0) for i in range(d)] for group in statement.groups]
    if kinds & {"trace", "trace norm"} and len(terms) == 1:
        groups = [max(groups, key=lambda part: sum(entry * entry for entry in part))]
    square = sum((sum(entry * entry for entry in part) ** 2 for part in groups), Fraction(0))
    try:
        if kinds == {"budget"} and d > 1:
            return _within_budget(statement, groups, s)
        if statement.diagonal:
            weights = np.array([_float(s * part**2 / square) for part in map(sum, zip(*groups))])
            return {"weights_of_metric": np.maximum(weights, 1e-290) if "log det" in kinds else weights}
        rows = np.array([[_float_root(s / square) * float(entry) for entry in part] for part in groups])
        if "log det" in kinds:
            # A triangle; of several features the prior changed along v.
            if d > 1:
                root = np.array([[float(entry) for entry in row] for row in terms[0].T0])
                inverse = np.linalg.inv(root)
                M = inverse @ inverse.T
                along = M @ np.array([float(entry) for entry in v]) / float(np.sqrt(float(v @ (M @ v))))
                M += (float(s) / float(v @ (M @ v)) - 1.0) * np.outer(along, along)
                return {"factor": np.triu(np.linalg.cholesky(M).T)}
            rows = np.maximum(np.abs(rows), 1e-140)
        return {"factor": rows}
    except (OverflowError, np.linalg.LinAlgError):
        one = "log det" in kinds
        zero = np.zeros((1, d)) if not one else np.eye(d)
        return {"weights_of_metric": np.full(d, float(one))} if statement.diagonal else {"factor": zero}


def _within_budget(statement: Statement, groups: list[list[Fraction]], s: Fraction) -> dict[str, np.ndarray]:
    """The least ``<A, M>`` with ``v^T M v = s``: ``A^-1 v`` of the best block."""
    A = np.array([[float(entry) for entry in row] for row in statement.terms[0].A])
    best, along = 0.0, np.zeros(len(A))
    for group, part in zip(statement.groups, groups):
        v, row = np.array([float(entry) for entry in part]), np.zeros(len(A))
        row[group] = np.linalg.solve(A[np.ix_(group, group)], v[group])
        best, along = max((best, along), (float(v @ row), row), key=lambda pair: pair[0])
    if statement.diagonal:
        return {"weights_of_metric": along**2 * _float(s) / best**2}
    return {"factor": along[None] * (_float_root(s) / best)}


def _float(value: Fraction) -> float:
    """The nearest finite float."""
    return float(min(max(value, -LARGEST), LARGEST))


def _float_root(value: Fraction) -> float:
    """A root of a fraction that may be beyond floats."""
    shift = (value.numerator.bit_length() - value.denominator.bit_length()) // 2 if value else 0
    return float(np.ldexp(np.sqrt(float(value * Fraction(4) ** -shift)), shift))
