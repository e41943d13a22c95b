"""Problems of the campaign: solved ones of all families, and extreme ones on a line whose exact optima are known."""

from __future__ import annotations

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
from campaign.exact import INFINITE, Interval, Statement, Unreadable, worst_places
from convexmetric.certificates import kernel
from convexmetric.certificates.dual_points import feasible
from convexmetric.certificates.kernel import rounded
from convexmetric.comparisons import PairDistances, Triplets
from convexmetric.cones import Cone, NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.losses import BoxLoss, Hinge, Logistic
from convexmetric.measures import MEASURES
from convexmetric.regularizers import EntrywiseL1, Frobenius, Regularizer, SquaredFrobenius, Trace, Zero
from convexmetric.risks import Risk, SeparableRisk, SmoothSeparableRisk, SumRisk

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from forgery import Contents, opened
from samples import EVERYTHING, instance, random_metric, random_triplets

__all__ = ["Problem", "family", "on_a_line", "regularizer", "solved"]

LARGEST = Fraction(np.finfo(float).max)
Generator = np.random.Generator
#: Of the solved problems, those that the short test takes.
FEW = (
    "ranking from labels", "relative, rbf, soft", "relative, A, hard", "triplets, graph, diagonal",
    "pairs, all, frobenius, features, margin 1.0", "cross-modal, representatives", "psd triplets, trace, G",
    "rankings by map", "triplets, zero, PSDCone",
)  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """A certificate, and bounds on the optimal value: proven ones, or exact ones."""

    name: str
    contents: Contents
    optimum: Interval


def family(document: dict[str, Any]) -> str:
    """Which risk it is."""
    risk = document["problem"]["risk"]
    if risk["kind"] == "rankings":
        return f"rankings by {risk['measure']}"
    if risk["kind"] == "sum":
        return "sum"
    losses = [risk["loss"]] if "loss" in risk else sorted({term["loss"] for term in risk["terms"]})
    return f"{risk['kind']}, {' and '.join(losses)}"


def regularizer(document: dict[str, Any]) -> str:
    """Which regularizer, cone and linear term."""
    problem = document["problem"]
    table = problem["regularizer"]
    kind = f"form of {table['of']}" if "of" in table else table["kind"]
    return f"{kind}, {problem['cone']}{', G' if problem['linear'] else ''}"


# Solved problems ------------------------------------------------------------------------------------------------------


def _ranking(measure: str, diagonal: bool) -> Any:
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], 3)
    k = {"k": 3} if measure in ("precision", "knn", "ndcg", "ndcg-log2") else {}
    X = rng.standard_normal((9, 3)) + 0.5 * y[:, None]
    return cm.RankingProblem.from_labels(X, y, measure, C=20.0, diagonal=diagonal, **k)


def _triplets(regularizer: Regularizer, cone: type[Cone]) -> Any:
    """Triplets with a linear term that is positive definite."""
    rng, K = np.random.default_rng(0), cone(3)
    risk = SeparableRisk(Triplets(rng.standard_normal((9, 3)), random_triplets(rng, 9, 14), K), Hinge(1.5, margin=0.8))
    return cm.MetricProblem(risk, regularizer, 0.3 * random_metric(rng, K) + 0.1 * K.identity())


def _sum(cone: type[Cone], regularizer: Regularizer, shared: bool) -> Any:
    """Triplets, pairs, two kinds of rankings and a logistic loss, of the same points or of others."""
    rng, K, y = np.random.default_rng(1), cone(3), np.repeat([0, 1, 2], 3)
    X = rng.standard_normal((9, 3)) + 0.5 * y[:, None]
    others = X if shared else rng.standard_normal((9, 3))
    pairs = np.array([rng.choice(9, 2, replace=False) for _ in range(8)])
    risks: list[Risk] = [
        cm.RankingProblem.from_labels(X, y, measure, C=4.0, diagonal=K.diagonal).risk for measure in ("map", "auc")
    ]
    risks.append(SeparableRisk(Triplets(others, random_triplets(rng, 9, 8), K), Hinge(0.5)))
    risks.append(
        SeparableRisk(PairDistances(X, pairs, np.ones(8), K), BoxLoss.squared_error(np.full(8, 0.1), np.ones(8)))
    )
    risks.append(SmoothSeparableRisk(Triplets(others, random_triplets(rng, 9, 5), K), Logistic(0.3)))
    return cm.MetricProblem(SumRisk(*risks), regularizer)


def _builders() -> dict[str, Callable[[], Any]]:
    made: dict[str, Callable[[], Any]] = {name: lambda name=name: instance(name) for name in sorted(EVERYTHING)}
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
                made[name] = lambda cone=cone, rest=rest, every=every: _triplets(EntrywiseL1(0.1, rest, every), cone)
    return made


def solved(names: tuple[str, ...] | None = None) -> list[Problem]:
    """Certificates of the package's own solvers for random instances of every kind."""
    builders, made = _builders(), []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, name in enumerate(names or builders):
            path = Path(folder) / f"{number}.npz"
            problem = builders[name]()
            verdict = cm.write_certificate(path, problem, cm.solve(problem, tol=1e-7), name)
            made.append(Problem(name, opened(path), (verdict.lower, verdict.upper)))
    return made


# Problems on a line ---------------------------------------------------------------------------------------------------


def on_a_line(rng: Generator) -> Problem:
    """A random problem whose points stand on a line, and a certificate of it that is as good as floats make it.

    Scales from 1e-150 to 1e150, offsets up to 1e8, constant and repeated columns, weights up to 1e300.
    """
    diagonal, d = bool(rng.random() < 0.5), int(rng.choice([1, 1, 1, 2, 3]))
    scale = _scale(rng)
    arrays: dict[str, np.ndarray] = {}
    risk = _RISKS[rng.integers(len(_RISKS))](rng, scale, d, arrays)
    table, linear = _regularizer(rng, scale, diagonal, d, arrays)
    document: dict[str, Any] = {
        "format": "convexmetric-certificate",
        "version": 2,
        "title": "on a line",
        "problem": {
            "cone": "diagonal" if diagonal else "psd", "features": d, "risk": risk, "regularizer": table,
            "linear": linear,
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
    """Queries with near and far lists, and weights of them perhaps."""
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


_LOSSES = ("hinge", "absolute", "squared", "logistic", "hard")


def _term(rng: Generator, loss: str | None = None) -> dict[str, Any]:
    loss = loss or str(rng.choice(_LOSSES))
    weight = "1" if loss == "hard" else _weight(rng)
    return {"loss": loss, "weight": weight, "margin": _margin(rng), "sign": int(rng.choice([1, 1, -1]))}


def _listed(rng: Generator, scale: float, d: int, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    n, count = int(rng.integers(3, 7)), int(rng.integers(1, 9))
    arrays["points"] = _line(rng, n, scale, d)
    loss = str(rng.choice(_LOSSES)) if rng.random() < 0.8 else None
    terms = [_term(rng, loss) for _ in range(int(rng.integers(1, 4)))]
    name = str(rng.choice(["pairs", "triplets"]))
    arrays[name] = np.array([rng.permutation(n)[: 2 + (name == "triplets")] for _ in range(count)])
    arrays["terms"] = rng.integers(0, len(terms), count)
    if rng.random() < 0.3:
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
    if rng.random() < 0.05:
        return {"kind": "zero"}, linear
    kind = str(rng.choice(["trace", "frobenius", "squared frobenius"]))
    power = 2.0 if kind == "squared frobenius" and rng.random() < 0.8 else 1.0
    size = 10.0 ** min(max(power * np.log10(size), -195.0), 195.0)
    table: dict[str, Any] = {"kind": kind, "weight": _rational(rng, 10.0 ** rng.uniform(-2, 1.5) * size)}
    if rng.random() < 0.2:
        table["over_root_of"] = int(rng.integers(1, 50))
    return table, linear


# Hints near the best ones ---------------------------------------------------------------------------------------------


def _hints(statement: Statement, rng: Generator, document: dict[str, Any]) -> dict[str, np.ndarray]:
    """The best metric in floats, and a dual point at the kink where it stands."""
    v, along = statement.line()
    R, rest, _ = statement.of_one_number()
    try:
        s = R.lowest(*rest)
    except Unreadable:
        s = None
    s = Fraction(1) if s is None or s < 0 else s
    hard = any(getattr(part, "loss", "") == "hard" for part in statement.parts)
    hints = _metric(statement, v, s * (1 + Fraction(hard, 10**12)))
    if rng.random() < 0.1 and "factor" in hints:
        hints["factor"] = np.concatenate([hints["factor"], np.zeros((1, statement.d))])
    near = [s * (1 - Fraction(1, 2**22)), s * (1 + Fraction(1, 2**22))]
    falls, rises = R.slopes(near[0], *rest)[1], R.slopes(near[1], *rest)[0]
    share = min(max(-falls / (rises - falls), Fraction(0)), Fraction(1)) if rises > falls else Fraction(1, 2)
    if "near" in statement.arrays:
        document["dual"], found = _integers(statement, document["problem"]["risk"], along, near, share)
        return hints | found
    document["dual"] = {"kind": "slopes"}
    slopes = []
    for part in statement.parts:
        rise = sum(sign * (along[a] - along[b]) ** 2 for sign, a, b in part.distances)
        ends = [_slope(part.loss, part.mu - rise * at) for at in near]
        slopes.append(_float((1 - share) * ends[0] + share * ends[1]))
    hints["slopes"] = np.array(slopes)
    _push(statement, along, R.slopes(s, *rest)[1], s, hints["slopes"])
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
            round(sum(w * _slope("logistic", -_rise(along, *pair) * s) for w, s in zip(weights, near)))
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
    """The share of the dual point that is feasible, and its cap; none where that is not found."""
    try:
        with np.errstate(all="ignore"):
            given = kernel.Arrays(arrays)
            stated = kernel.Problem(document, given)
            says, factor = stated.risk.dual(document["dual"], given), stated.factor(given)
            hints = {"hint": arrays.get("weights_of_metric", np.zeros(stated.d))}
            _, table, cap = feasible(stated, says, hints, stated.upper(stated.risk.value(factor), factor))
    except (kernel.NotProven, kernel.CertificateError, InputError, np.linalg.LinAlgError, ValueError, ArithmeticError):
        d, problem = document["problem"]["features"], document["problem"]
        table, cap, kind = {"share": "0"}, {}, problem["regularizer"]["kind"]
        if kind == "quadratic form":
            cap = {"z": np.zeros(d)}
            table |= {"lack": "0"} if problem["regularizer"]["of"] == "matrix" else {}
        elif problem["cone"] == "psd" and kind != "trace":
            table, cap = table | {"shift": "0"}, {"cap": np.zeros((1, d))}
    document["dual"] |= table
    arrays |= cap


def _push(statement: Statement, along: list[Fraction], slope: Fraction, s: Fraction, slopes: np.ndarray) -> None:
    """What keeps the metric from moving on, if that is a hard margin."""
    for at, part in enumerate(statement.parts):
        rise = sum(sign * (along[a] - along[b]) ** 2 for sign, a, b in part.distances)
        if part.loss == "hard" and rise and part.mu == rise * s:
            slopes[at] = _float(max(slope / rise, Fraction(0)))
            return


def _slope(loss: str, t: Fraction) -> Fraction:
    """A slope where ``mu - s`` is t."""
    if loss == "squared":
        return 2 * t
    if loss == "logistic":
        return Fraction(1.0 / (1.0 + float(np.exp(np.clip(-_float(t), -700.0, 700.0)))))
    if loss == "hard":
        return Fraction(0)
    return Fraction(int(t > 0) - int(loss == "absolute" and t < 0))


def _metric(statement: Statement, v: list[Fraction], s: Fraction) -> dict[str, np.ndarray]:
    """The least metric with ``v^T M v = s``, in floats; zero where it overflows."""
    a = [entry * entry for entry in v]
    try:
        if not statement.diagonal:
            size = _float_root(s / sum(a) ** 2)
            return {"factor": np.array([[size * float(entry) for entry in v]])}
        if statement.regularizer["kind"] == "trace":
            weights = [Fraction(0)] * len(a)
            weights[a.index(max(a))] = s / max(a)
        else:
            weights = [entry * s / sum(part * part for part in a) for entry in a]
        return {"weights_of_metric": np.array([float(weight) for weight in weights])}
    except OverflowError:
        d = statement.d
        return {"weights_of_metric": np.zeros(d)} if statement.diagonal else {"factor": np.zeros((1, d))}


def _float(value: Fraction) -> float:
    """The nearest finite float."""
    return float(min(max(value, -LARGEST), LARGEST))


def _float_root(value: Fraction) -> float:
    """A root of a fraction that may be beyond floats."""
    shift = (value.numerator.bit_length() - value.denominator.bit_length()) // 2 if value else 0
    return float(np.ldexp(np.sqrt(float(value * Fraction(4) ** -shift)), shift))
