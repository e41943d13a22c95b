"""Tables of results beside the printed numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from experiments.sheet import Sheet, mean_text

from . import printed
from .protocol import NOTIONS, added_rule, labels_of, pages

__all__ = ["closer", "curve", "said", "satisfied", "short", "sizes", "top_words"]

Results = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]


def said(values: np.ndarray) -> str:
    """The mean, and with several values its standard error."""
    return mean_text(values, 2)


def satisfied(found: Results) -> Sheet:
    """Table 1, by notion of distance and by words."""
    sheet = Sheet(
        "Table 1. Test triplets satisfied in percent: ours / paper",
        ["", "words of", "splits", "learned", "binary", "TF-IDF", "words used", "largest gap", "seconds a fit"],
    )
    for (notion, words), results in found.items():
        shares = [np.array([result[key] for result in results]) for key in ("learned", "binary", "tfidf")]
        paper = printed.SATISFIED[NOTIONS[notion].row]
        cells = [f"{said(ours)} / {theirs:.2f}" for ours, theirs in zip(shares, paper, strict=True)]
        sheet.rows.append([NOTIONS[notion].title, words, str(len(results)), *cells, *_effort(results)])
    return sheet


def short(found: Results, paper: bool) -> Sheet:
    """Table 1 as the page has it: without gaps and seconds, and with the paper's numbers where they are asked for."""
    whole = satisfied(found)
    sheet, last = Sheet(whole.title, whole.columns[:-2]), ""
    for title, words, *cells in (row[:-2] for row in whole.rows):
        ours = cells if paper else [cell.partition(" / ")[0] for cell in cells]
        sheet.rows.append(["" if title == last else title, "HTML" if words == "html" else words, *ours])
        last = title
    return sheet


def sizes(found: Mapping[int, Sequence[Mapping[str, Any]]], title: str) -> Sheet:
    """The learning curve as the page has it: without seconds."""
    sheet = curve(found, title)
    return Sheet(sheet.title, sheet.columns[:-1], [row[:-1] for row in sheet.rows])


def top_words(found: Results, min_pages: int, most: int = 15) -> Sheet:
    """Words that decide distances on the first split: shares of the mean squared distance of two pages.

    A word in a share p of the pages contributes ``2 w p (1 - p)``.
    """
    sheet = Sheet("Words that make up distances, in percent of the mean squared distance", ["", "words of", "words"])
    for (notion, words), results in found.items():
        data, columns = pages(words, min_pages), np.array(results[0]["columns"])
        present = data.X[labels_of(NOTIONS[notion], data) != ""][:, columns] > 0
        p = np.asarray(present.mean(axis=0)).ravel()
        share = np.array(results[0]["weights"]) * p * (1.0 - p)
        largest = np.argsort(-share, kind="stable")[:most]
        vocab = data.extras["vocab"][columns]
        listed = [f"{vocab[f]} {100 * share[f] / share.sum():.1f}" for f in largest]
        sheet.rows.append([NOTIONS[notion].title, words, ", ".join(listed)])
    return sheet


def closer(found: Results, words: str, min_pages: int, test_triplets: int) -> Sheet:
    """Whether faculty pages are nearer to students than to projects and courses."""
    sheet = Sheet(
        "Test triplets (faculty, student, project or course) satisfied in percent",
        ["", "words of", "splits", "learned"],
    )
    for notion in ("topic", "topic+"):
        results = found[notion, words]
        shares = [added_rule(result, words, min_pages, split, test_triplets) for split, result in enumerate(results)]
        sheet.rows.append([NOTIONS[notion].title, words, str(len(results)), said(np.array(shares))])
    return sheet


def curve(found: Mapping[int, Sequence[Mapping[str, Any]]], title: str) -> Sheet:
    """The numbers behind Figure 2."""
    sheet = Sheet(
        f"Figure 2. {title}: test triplets satisfied (%)",
        ["training triplets", "splits", "satisfied (%)", "words used", "largest gap", "seconds a fit"],
    )
    for size, results in found.items():
        learned = np.array([result["learned"] for result in results])
        sheet.rows.append([f"{size:,}", str(len(results)), said(learned), *_effort(results)])
    return sheet


def _effort(results: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"{np.mean([result['rank'] for result in results]):.0f}",
        f"{max(result['gap'] for result in results):.0e}",
        f"{np.mean([result['seconds'] for result in results]):.1f}",
    ]
