"""The experiments of Schultz & Joachims (2003): distances of WebKB pages from relative comparisons.

Table 1, Figure 2 and the maps. 70% of the pages train, 30% test; triplets are drawn inside each part by the paper's
rules; features are binary words, of the text or of the whole page with HTML and header; C = 1 and A = I. Reported is
the share of test triplets that a distance satisfies: the learned one, the unweighted binary one, and the Euclidean one
on TF-IDF features.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from experiments.paper import Known, Paper, grouped
from experiments.pool import Stages, Task
from experiments.results import Results
from experiments.sheet import Sheet, mean_text

from . import pictures
from .protocol import NOTIONS, run

__all__ = ["PAPER", "SATISFIED", "stages"]

#: Table 1 of the paper: percent of test triplets satisfied by the learned, the binary and the TF-IDF distance.
SATISFIED = {
    "university": (98.43, 67.88, 80.72),
    "topic": (75.40, 61.82, 55.57),
    "topic+": (79.67, 63.08, 55.06),
}
#: Training triplets of Table 1; numbers of them along the learning curve, and its notion of distance.
DRAWN = 20_000
SIZES = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 150_000)
CURVE = "topic+"


def stages(
    output: Path,
    splits: int = 10,
    notions: Iterable[str] = tuple(NOTIONS),
    words: Iterable[str] = ("page", "text"),
    min_pages: int = 10,
    sizes: Iterable[int] = (),
    drawn: int = DRAWN,
    test_triplets: int = 80_000,
    tol: float = 1e-4,
) -> Stages:
    """Fits of Table 1 on so many drawn triplets, and, with sizes, of Figure 2, split by split."""
    table, curve = Results(output / "table.jsonl"), Results(output / "curve.jsonl")

    def task(kept: Results, notion: str, of: str, split: int, **sizes: int) -> Task:
        # Words of the text come with one size of vocabulary.
        least = 10 if of == "text" else min_pages
        test = {"test_triplets": test_triplets, "tol": tol}
        return kept, {"notion": notion, "words": of, "min_pages": least, "split": split, **test, **sizes}, run

    tasks = [
        task(table, notion, of, split, drawn=drawn, triplets=drawn)
        for split in range(splits)
        for of in words
        for notion in notions
    ]
    # The curve is fitted to the first triplets of those for the largest number.
    yield tasks + [
        task(curve, CURVE, "text", split, drawn=max(sizes), triplets=size) for split in range(splits) for size in sizes
    ]


def tables(found: Mapping[str, Known], folder: Path) -> dict[str, Sheet | None]:
    """Tables of RESULTS.md, the curve and the maps."""
    first = found.get("relative", [])
    sizes = grouped([one for one in first if one[0]["drawn"] != DRAWN], "triplets")
    fits = {
        part: grouped([one for one in of if one[0]["drawn"] == DRAWN], "notion", "words") for part, of in found.items()
    }
    if sizes:
        pictures.draw_curve(sizes, NOTIONS[CURVE].title, SATISFIED[NOTIONS[CURVE].row][0], folder / "curve.png")
    learned = {notion: of[0] for (notion, words), of in fits.get("relative", {}).items() if words == "page"}
    pictures.draw_maps(learned, folder)
    every = fits.get("relative-all-words", {}) | fits.get("relative-all-words-html", {})
    return {
        "table-1": satisfied(fits.get("relative", {}), paper=True),
        "parts-of-pages": satisfied(fits.get("relative-header", {}), paper=False),
        "curve": curve(sizes),
        "all-words": satisfied(every, paper=False),
    }


def satisfied(found: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]], paper: bool) -> Sheet:
    """Table 1, by notion of distance and by words, with the paper's numbers where they are asked for."""
    columns = ["", "words of", "splits", "learned", "binary", "TF-IDF", "words used"]
    sheet, last = Sheet("Table 1. Test triplets satisfied in percent", columns), ""
    for notion, words in sorted(found, key=lambda key: list(NOTIONS).index(key[0])):
        of, results = NOTIONS[notion], found[notion, words]
        cells = [
            mean_text([result[key] for result in results], 2) + (f" / {there:.2f}" if paper else "")
            for key, there in zip(("learned", "binary", "tfidf"), SATISFIED[of.row], strict=True)
        ]
        title, last = "" if of.title == last else of.title, of.title
        sheet.rows.append([title, "HTML" if words == "html" else words, str(len(results)), *cells, _used(results)])
    return sheet


def curve(found: Mapping[int, Sequence[Mapping[str, Any]]]) -> Sheet:
    """The numbers behind Figure 2."""
    columns = ["training triplets", "splits", "satisfied (%)", "words used", "largest gap"]
    sheet = Sheet(f"Figure 2. {NOTIONS[CURVE].title}: test triplets satisfied (%)", columns)
    for size, results in found.items():
        gap = f"{max(result['gap'] for result in results):.0e}"
        share = mean_text([result["learned"] for result in results], 2)
        sheet.rows.append([f"{size:,}", str(len(results)), share, _used(results), gap])
    return sheet


def _used(results: Sequence[Mapping[str, Any]]) -> str:
    return f"{sum(result['rank'] for result in results) / len(results):.0f}"


PAPER = Paper(
    "relative_paper",
    {
        "relative": partial(stages, sizes=SIZES),
        "relative-header": partial(stages, notions=("university-4", "university-7"), words=("html", "header")),
        "relative-all-words": partial(stages, splits=5, words=("page",), min_pages=1, tol=1e-3),
        "relative-all-words-html": partial(
            stages, splits=5, notions=("university-4",), words=("html",), min_pages=1, tol=1e-3
        ),
    },
    tables,
)
