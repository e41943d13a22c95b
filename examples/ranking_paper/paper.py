"""The experiments of McFee & Lanckriet (2010): Table 2 and Figure 2 on UCI sets, Figure 1's toy, Table 4 on matchings.

"Validated" chooses C, k and the number of neighbours inside the training part; "in hindsight" is the choice with the
lowest mean test error, which is how the paper's "best choice of C and k" may be meant. W = 0: at every C and k tried,
nothing better than the zero metric was found, which the certificate confirms to within its gap. Splits are stratified.
The paper's matchings are private: Table 4 is on synthetic ones in its sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from experiments.paper import Known, Paper, grouped
from experiments.pool import Stages, Task
from experiments.results import Results
from experiments.sheet import Sheet, mean_text

from . import classification, matchings, pictures
from .toy import toy

__all__ = ["ERRORS", "MATCHINGS", "PAPER", "matched", "uci"]

#: Features of the sets.
NATIVE = {"balance-scale": 4, "ionosphere": 34, "wdbc": 30, "wine": 13}
#: Table 2 of the paper: k-nearest-neighbour error in percent. Logistic regression is not in it.
ERRORS = {
    "MLR-AUC": {"balance-scale": 7.9, "ionosphere": 12.3, "wdbc": 2.7, "wine": 1.4, "isolet": 4.5},
    "MLR-P@k": {"balance-scale": 8.2, "ionosphere": 12.3, "wdbc": 2.9, "wine": 1.5, "isolet": 4.5},
    "MLR-MAP": {"balance-scale": 6.9, "ionosphere": 12.3, "wdbc": 2.6, "wine": 1.0, "isolet": 5.5},
    "MLR-MRR": {"balance-scale": 8.2, "ionosphere": 12.1, "wdbc": 2.6, "wine": 1.5, "isolet": 4.5},
    "MLR-NDCG": {"balance-scale": 8.2, "ionosphere": 11.9, "wdbc": 2.9, "wine": 1.6, "isolet": 4.4},
    "LMNN": {"balance-scale": 8.8, "ionosphere": 11.7, "wdbc": 2.4, "wine": 1.7, "isolet": 4.7},
    "Logistic": {},
    "NCA": {"balance-scale": 4.6, "ionosphere": 11.7, "wdbc": 2.6, "wine": 2.7, "isolet": 10.8},
    "MLCC": {"balance-scale": 5.5, "ionosphere": 12.6, "wdbc": 2.1, "wine": 1.1, "isolet": 4.4},
    "Euclidean": {"balance-scale": 10.3, "ionosphere": 15.3, "wdbc": 3.1, "wine": 3.1, "isolet": 8.1},
}
#: Table 4: AUC, MAP, MRR on the test interval; CPU seconds and batches of cuts.
MATCHINGS = {
    "MLR-AUC": (0.612, 0.445, 0.466, 232, 7),
    "MLR-MAP": (0.624, 0.453, 0.474, 2053, 23),
    "MLR-MRR": (0.616, 0.448, 0.469, 809, 17),
    "SVM-MAP": (0.614, 0.447, 0.467, 4968, 36),
    "Euclidean": (0.522, 0.394, 0.414, None, None),
}

Found = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]
"""Results by data set and method, a split each."""


def uci(
    output: Path,
    data: str,
    splits: int = 50,
    validated: int = 10,
    C: Iterable[float] = (0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0),
    k: Iterable[int] = (10, 100),
    reg: Iterable[float] = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0),
    seconds: float | None = None,
    methods: Iterable[str] = classification.METHODS,
) -> Stages:
    """Table 2 on a set, split by split, so that an interrupted run has the same splits of all methods.

    C is validated on the first splits of the small sets. With a limit of ``seconds`` a task is one weight.
    """
    results, chosen = (Results(output / f"{data}{what}.jsonl") for what in ("", "-validation"))
    tasks: list[Task] = []
    own = {"LMNN": [3.0, 5.0], "Logistic": [0.01, 0.1, 1.0, 10.0, 100.0], "MLCC": list(reg)}
    for split in range(splits):
        for method in methods:
            # Only what matters to a method belongs to its settings.
            learned, at_k = classification.VARIANTS.get(method, (None, False))
            weights = own.get(method, list(C) if learned else [])
            certified = method in classification.CERTIFIED
            settings: dict[str, Any] = {"data": data, "split": split, "method": method, "C": weights}
            settings |= {"k": list(k) if at_k else [], "tol": 1e-2 if certified else None}
            if seconds is not None:
                limit = {"seconds": seconds} if certified else {}
                for one in [[weight] for weight in weights] or [[]]:
                    tasks.append((results, settings | limit | {"C": one}, classification.run))
                continue
            tasks.append((results, settings, classification.run))
            if split < validated:
                tasks.append((chosen, settings, classification.validate))
    yield tasks


def matched(output: Path, sets: int = 5, C: float = 100.0, tol: float = 1e-3, seconds: float = 900.0) -> Stages:
    """Table 4 on so many draws of all users and of the planted metric; Algorithm 1 on the first."""
    results, wanted = Results(output / "matchings.jsonl"), []
    for sample in range(sets):
        of: dict[str, Any] = {"C": C} | ({"sample": sample} if sample else {})
        wanted += [{"method": method, "solver": "ours", **of} for method in ("Euclidean", "planted")]
        solvers = ["ours"] if sample else ["ours", "printed"]
        wanted += [{"method": method, "solver": solver, **of} for method in matchings.VARIANTS for solver in solvers]
    yield [(results, settings | {"tol": tol, "max_seconds": seconds}, matchings.run) for settings in wanted]


def tables(known: Mapping[str, Known], folder: Path) -> dict[str, Sheet | None]:
    """Tables of RESULTS.md, and Figures 1 and 2."""
    small: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for part in ("balance", "ionosphere", "wdbc", "wine"):
        small |= together(by_split(known.get(part, [])))
    letters = {method: list(of.values()) for (_, method), of in by_split(known.get("isolet", [])).items()}
    if small:
        native = {name: NATIVE[name] for name in NATIVE if any(of == name for of, _ in small)}
        pictures.draw_dimensions(dimension_medians(small), native, folder / "dimensions.png")
    if "toy" in known:
        pictures.draw_toy(toy(), folder / "toy.png")
    return {
        "table-2": errors(small, list(NATIVE)) if small else None,
        "isolet": isolet(letters),
        "table-4": in_matchings(known.get("matchings", [])),
    }


def by_split(known: Known) -> dict[tuple[str, str], dict[int, dict[str, Any]]]:
    """Results by data set and method, then split, with what validation chose where that is known.

    A split of a method is there when all of its tasks are done, one a weight on IsoLet.
    """
    parts: dict[tuple[str, str, int], list[dict[str, Any] | None]] = {}
    for settings, result in known:
        parts.setdefault((settings["data"], settings["method"], settings["split"]), []).append(result)
    found: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for (data, method, split), results in parts.items():
        # On small sets a second task is the validation, which may come later.
        runs = results if data == "isolet" else results[:1]
        done = [result for result in runs if result is not None]
        if len(done) == len(runs):
            chosen = next((result for result in results[len(runs) :] if result is not None), {})
            found.setdefault((data, method), {})[split] = classification.together(done) | chosen
    return found


def together(found: Mapping[tuple[str, str], Mapping[int, dict[str, Any]]]) -> dict[Any, list[dict[str, Any]]]:
    """Results by data set and method; of an interrupted run, those of splits that all methods have."""
    whole = {name: set.intersection(*(set(found[key]) for key in found if key[0] == name)) for name, _ in found}
    return {key: [splits[s] for s in sorted(whole[key[0]])] for key, splits in found.items()}


def errors(results: Found, data: Sequence[str]) -> Sheet:
    """Table 2: for every data set the error with validated choices, with the best ones, and the printed one."""
    title = (
        "Table 2. Error of neighbours in percent: validated / best C and k in hindsight ± its standard error / paper"
    )
    sheet = Sheet(title, ["", *_heads(results, data)])
    for method, there in ERRORS.items():
        cells = [f"{_error(results.get((name, method), ()))} / {there.get(name, '-')}" for name in data]
        zero = [_is_zero(results.get((name, method), ())) for name in data]
        sheet.rows.append([method, *(cell + " (W = 0)" * none for cell, none in zip(cells, zero, strict=True))])
    return sheet


def _error(found: Sequence[Mapping[str, Any]]) -> str:
    """The mean of splits that were validated, at what was chosen there; of all splits at the one best choice."""
    if not found:
        return "- / -"
    chosen = [r["errors"][r["chosen"][0]][r["chosen"][1]] for r in found if "chosen" in r]
    in_hindsight = 100 * np.array([r["errors"] for r in found])[:, *best(found)]
    return (
        f"{100 * np.mean(chosen):.1f} / {mean_text(in_hindsight, 1)}" if chosen else f"- / {mean_text(in_hindsight, 1)}"
    )


def _is_zero(found: Sequence[Mapping[str, Any]]) -> bool:
    return bool(found) and not any(dimensions for result in found for dimensions in result["dimensions"])


def isolet(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> Sheet:
    """Table 2 of IsoLet by method, with the number of splits that each has, and its largest certified gap."""
    sheet = Sheet("IsoLet: error of neighbours in percent", ["", "splits", "error, percent", "largest certified gap"])
    for method, found in results.items():
        cell = errors({("isolet", method): found}, ["isolet"]).rows[list(ERRORS).index(method)][1]
        gaps = [gap for result in found for gap in result["gaps"]]
        sheet.rows.append([method, str(len(found)), cell, f"{max(gaps):.0e}" if gaps else ""])
    return sheet


def best(found: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """The row, and the place of the number of neighbours, with the least mean error."""
    mean = np.mean([r["errors"] for r in found], axis=0)
    row, neighbours = np.unravel_index(np.argmin(mean), mean.shape)
    return int(row), int(neighbours)


def _heads(results: Found, data: Sequence[str]) -> list[str]:
    """Data sets with the numbers of splits, and of those with validation."""
    heads = []
    for name in data:
        of = [found for (where, _), found in results.items() if where == name]
        count = max(map(len, of), default=0)
        chosen = max((sum("chosen" in r for r in found) for found in of), default=0)
        some = f", {chosen} validated" if chosen < count else ""
        heads.append(f"{name} ({count} split{'s' if count != 1 else ''}{some})")
    return heads


def dimension_medians(results: Found) -> dict[str, dict[str, float]]:
    """Figure 2: median dimensions of the metrics at the best choice in hindsight, by method and data set."""
    medians: dict[str, dict[str, float]] = {}
    for method in classification.METHODS:
        for (name, of), found in results.items():
            if of == method != "Euclidean":
                row, _ = best(found)
                medians.setdefault(method, {})[name] = float(np.median([r["dimensions"][row] for r in found]))
    return medians


def in_matchings(known: Known) -> Sheet:
    """Table 4 on the first set: test scores and the cost of learning, printed numbers (on other data) in brackets."""
    stop = "to eps: passes, CPU s"
    heads = ["", "AUC", "MAP", "MRR", f"Algorithm 1 {stop}", f"ours {stop}", "ours to a gap of 1e-3"]
    sheet = Sheet("Table 4. Synthetic matchings, C = 100", [*heads, "the paper: batches, CPU s"])
    by = grouped([one for one in known if "sample" not in one[0]], "method", "solver")
    for method in (*matchings.VARIANTS, "Euclidean", "planted"):
        if (method, "ours") not in by:
            continue
        (ours,), paper = by[method, "ours"], MATCHINGS.get(method, (None,) * 5)
        scores = [
            f"{score:.3f}" + (f" ({there:.3f})" if there is not None else "")
            for score, there in zip(ours["scores"], paper, strict=False)
        ]
        cost = [""] * 4
        if "stop" in ours:
            plain = by.get((method, "printed"))
            whole = f"{ours['passes']}, {ours['cpu']:.0f} s"
            cost = [_stop(plain[0]) if plain else "", _stop(ours), whole, f"{paper[4]}, {paper[3]} s"]
        sheet.rows.append([method, *scores, *cost])
    return sheet


def _stop(result: Mapping[str, Any]) -> str:
    if stop := result["stop"]:
        return f"{stop['passes']}, {stop['cpu']:.0f} s"
    return f"not within {result['seconds']:.0f} s ({result['passes']} passes, gap {result['gap']:.0e})"


PAPER = Paper(
    "ranking_paper",
    {
        "wine": partial(uci, data="wine", validated=50, k=(100,)),
        "balance": partial(uci, data="balance-scale", k=(100,)),
        "ionosphere": partial(uci, data="ionosphere", C=(1.0, 10.0, 100.0, 1000.0)),
        "wdbc": partial(uci, data="wdbc", C=(1.0, 10.0, 100.0, 1000.0)),
        "isolet": partial(
            uci, data="isolet", splits=10, validated=0, C=(100.0, 1000.0), k=(100,), reg=(1e-3, 1e-1), seconds=600.0
        ),
        "matchings": matched,
        # Figure 1 has no tasks: what it shows is learned as it is drawn.
        "toy": lambda output: iter(()),
    },
    tables,
)
