"""Notions of distance on the WebKB pages, splits, triplets, and one fit with its test."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split

import convexmetric as cm
from convexmetric.comparisons import triplets_from_labels

__all__ = [
    "NOTIONS",
    "Notion",
    "Split",
    "full_weights",
    "labels_of",
    "pages",
    "run",
    "satisfied",
    "split_pages",
]

#: Universities that the data set names, and three more by the end of the host: those with the most pages. The paper
#: does not say which seven it took, so the three are guessed.
NAMED = ("cornell", "texas", "washington", "wisconsin")
GUESSED = ("rutgers.edu", "umass.edu", "nyu.edu")


@dataclass(frozen=True)
class Notion:
    """A notion of distance: its title, the row of the paper's table, and what the classes of pages are.

    Attributes
    ----------
    also : tuple
        Further rules for triplets: class of i, class of j, classes of k.
    """

    title: str
    row: str
    classes: str
    also: tuple[tuple[str, str, list[str]], ...] = ()


NOTIONS = {
    "university-4": Notion("University, four named", "university", "named"),
    "university-7": Notion("University, seven, three guessed", "university", "guessed"),
    "topic": Notion("Topic", "topic", "topic"),
    "topic+": Notion("Topic+FacultyStudent", "topic+", "topic", (("faculty", "student", ["project", "course"]),)),
}


@lru_cache(maxsize=1)
def pages(words: str, min_pages: int) -> cm.datasets.Dataset:
    """The pages with their words; those of the text have one size of vocabulary only."""
    if words == "text":
        return cm.datasets.load("webkb-cmu")
    return cm.datasets.load("webkb-cmu", words=words, min_pages=min_pages)


def labels_of(notion: Notion, data: cm.datasets.Dataset) -> np.ndarray:
    """The class of every page; empty where a page is of none."""
    if notion.classes == "topic":
        return np.asarray(data.target_names)[data.y]
    labels = np.asarray(data.extras["university_names"], dtype="U32")[data.extras["university"]]
    other = ~np.isin(labels, NAMED)
    labels[other] = ""
    if notion.classes == "guessed":
        for end in GUESSED:
            labels[other & np.char.endswith(np.char.add(".", data.extras["host"]), f".{end}")] = end
    return labels


def satisfied(X: Any, w: np.ndarray | None, triplets: np.ndarray, block: int = 4096) -> float:
    """Percent of triplets with ``d(x_i, x_j) < d(x_i, x_k)``, in blocks of bounded memory."""
    if w is None:
        w = np.ones(X.shape[1])
    kept = np.flatnonzero(w)
    X, w, correct = X[:, kept], w[kept], 0
    for start in range(0, len(triplets), block):
        i, j, k = (X[rows] for rows in triplets[start : start + block].T)
        correct += int(np.sum((i - k).power(2) @ w > (i - j).power(2) @ w))
    return 100.0 * correct / len(triplets)


@dataclass(frozen=True)
class Split:
    """Pages for training and for testing with their classes, and triplets inside each part."""

    train: Any
    test: Any
    test_tfidf: Any
    test_labels: np.ndarray
    learn: np.ndarray
    judge: np.ndarray


def split_pages(notion: Notion, words: str, min_pages: int, seed: int, drawn: int, test_triplets: int) -> Split:
    """One random split: 70% of the pages to train, 30% to test."""
    data = pages(words, min_pages)
    labels = labels_of(notion, data)
    kept = np.flatnonzero(labels != "")
    train, test = train_test_split(kept, train_size=0.7, random_state=seed)
    binary = cm.datasets.preprocess(data.X, ["binarize"])
    tfidf = TfidfTransformer().fit(data.X[train]).transform(data.X[test])
    return Split(
        binary[train],
        binary[test],
        cm.datasets.preprocess(tfidf, ["none"]),
        labels[test],
        triplets_from_labels(labels[train], drawn, random_state=seed, also=notion.also),
        triplets_from_labels(labels[test], test_triplets, random_state=seed + 1, also=notion.also),
    )


def full_weights(result: Mapping[str, Any], size: int) -> np.ndarray:
    """The weights of a result, zeros included."""
    w = np.zeros(size)
    w[result["columns"]] = result["weights"]
    return w


def run(
    notion: str, words: str, min_pages: int, split: int, drawn: int, triplets: int, test_triplets: int, tol: float
) -> dict[str, Any]:
    """Learn from the first of the drawn triplets; shares in percent, the certificate in short, and the weights."""
    part = split_pages(NOTIONS[notion], words, min_pages, 10 * split, drawn, test_triplets)
    problem = cm.RelativeComparisonProblem(part.train, part.learn[:triplets], C=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        solution = cm.solve(problem, tol=tol)
    w = solution.w
    return {
        "learned": satisfied(part.test, w, part.judge),
        "binary": satisfied(part.test, None, part.judge),
        "tfidf": satisfied(part.test_tfidf, None, part.judge),
        "rank": solution.rank,
        "gap": solution.gap,
        "seconds": solution.seconds,
        "columns": np.flatnonzero(w).tolist(),
        "weights": w[w > 0.0].tolist(),
    }
