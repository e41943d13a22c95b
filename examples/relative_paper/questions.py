"""Why some rows of the tables differ from the paper's: an experiment for each explanation.

``static``    distances that are not learned: stop words, stems, rare words, words with digits, and unit length
``kernel``    weights of training pages under a kernel, in place of weights of words
``longer``    the learning curve on every word of the pages
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from experiments.pool import Task
from experiments.results import Results
from experiments.sheet import Row, Sheet, row_of
from experiments.summary import Known
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfTransformer
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import train_test_split

import convexmetric as cm
from convexmetric.comparisons import triplets_from_labels

from . import printed, protocol, tables
from .porter import stem as stem_of
from .protocol import NOTIONS, labels_of, pages, split_pages

QUESTIONS = ("static", "kernel", "longer")
#: Choices of words: least number of pages, without stop words, stems, without words that have a digit.
CHOICES = {
    "in 10 pages": (10, False, False, False),
    "all": (1, False, False, False),
    "no stop words": (10, True, False, False),
    "stems": (10, False, True, False),
    "stems, no stop words": (10, True, True, False),
    "no digits": (10, False, False, True),
}
#: Kernels of pages of unit length, and the width of the Gaussian one: gamma times the median squared distance.
KERNELS = {"linear": None, "Gaussian": 1.0, "wide Gaussian": 0.1}
#: Distances that are not learned, by the column of Table 1 that they are beside.
DISTANCES = {"binary": ("binary", "unit length"), "TF-IDF": ("TF-IDF", "idf")}
SIZES = [20_000, 50_000, 150_000]


def chosen_words(data: cm.datasets.Dataset, choice: str) -> Any:
    """Counts of the words of a choice, sparse; words with one stem are one."""
    least, stop, stem, letters = CHOICES[choice]
    vocab = [str(word) for word in data.extras["vocab"]]
    kept = [
        f
        for f, word in enumerate(vocab)
        if not (stop and word in ENGLISH_STOP_WORDS) and not (letters and not word.isalpha())
    ]
    X = data.X[:, kept]
    if stem:
        _, column = np.unique([stem_of(vocab[f]) for f in kept], return_inverse=True)
        X = sp.csr_array(X @ sp.csr_array((np.ones(len(kept)), (np.arange(len(kept)), column))))
    return X[:, np.flatnonzero((X > 0).sum(axis=0) >= least)]


def unit_length(X: Any) -> Any:
    """Rows of length one; rows of zeros stay."""
    length = np.sqrt(X.multiply(X).sum(axis=1))
    return sp.csr_array(sp.diags_array(1.0 / np.where(length > 0.0, length, 1.0)) @ X)


def satisfied(features: Any, triplets: np.ndarray) -> float:
    """Percent of triplets that the Euclidean distance of these features satisfies, by all distances at once."""
    gram = features @ features.T
    gram = gram.toarray() if sp.issparse(gram) else gram
    square = np.diag(gram)[:, None] + np.diag(gram) - 2.0 * gram
    i, j, k = triplets.T
    # Of equal distances neither is the smaller, however they are rounded.
    return 100.0 * float(np.mean(square[i, k] - square[i, j] > 1e-9 * square.max()))


def static(words: str, choice: str, split: int, test_triplets: int) -> dict[str, Any]:
    """Shares of four distances that are not learned, on every notion's split and triplets of Table 1.

    ``idf`` is TF-IDF without what scikit-learn adds to it: counts times ``ln(pages / pages with the word)``.
    """
    data = pages(words, 10 if words == "text" else 1)
    X, found = chosen_words(data, choice), {}
    for name, notion in NOTIONS.items():
        labels = labels_of(notion, data)
        train, test = train_test_split(np.flatnonzero(labels != ""), train_size=0.7, random_state=10 * split)
        triplets = triplets_from_labels(labels[test], test_triplets, random_state=10 * split + 1, also=notion.also)
        binary = cm.datasets.preprocess(X[test], ["binarize"])
        with_word = np.asarray((X[train] > 0).sum(axis=0)).ravel()
        idf = sp.csr_array(X[test] @ sp.diags_array(np.log(len(train) / np.maximum(with_word, 1))))
        distances = {
            "binary": binary,
            "unit length": unit_length(binary),
            "TF-IDF": sp.csr_array(TfidfTransformer().fit(X[train]).transform(X[test])),
            "idf": unit_length(idf),
        }
        found[name] = {distance: satisfied(features, triplets) for distance, features in distances.items()}
    return {"satisfied": found, "words": X.shape[1]}


def kernel(
    notion: str, words: str, split: int, drawn: int, test_triplets: int, kernel: str | None, tol: float
) -> dict[str, Any]:
    """Learn weights of training pages under a kernel, or of words without one."""
    part = split_pages(NOTIONS[notion], words, 10, 10 * split, drawn, test_triplets)
    if kernel is None:
        problem, features = cm.RelativeComparisonProblem(part.train, part.learn), part.test
    else:
        X, T = unit_length(part.train), unit_length(part.test)
        width = KERNELS[kernel]
        if width is None:
            known, features = (X @ X.T).toarray(), (T @ X.T).toarray()
        else:
            square = euclidean_distances(X, squared=True)
            gamma = width / float(np.median(square))
            known, features = np.exp(-gamma * square), np.exp(-gamma * euclidean_distances(T, X, squared=True))
        problem = cm.RelativeComparisonProblem(X, part.learn, kernel=known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        solution = cm.solve(problem, tol=tol)
    scale = np.sqrt(solution.w)
    weighted = sp.csr_array(features @ sp.diags_array(scale)) if sp.issparse(features) else features * scale
    return {
        "satisfied": satisfied(weighted, part.judge),
        "gap": solution.gap,
        "seconds": solution.seconds,
        "used": int(np.count_nonzero(solution.w)),
    }


def tasks(output: Path, splits: int = 3, test_triplets: int = 80_000) -> Iterator[Task]:
    """The experiments, question by question; the results of one go to a file of its own."""
    results = {question: Results(output / f"{question}.jsonl") for question in QUESTIONS}
    shared = {"test_triplets": test_triplets}
    for words in ("page", "text", "html"):
        for split in range(splits):
            for choice in CHOICES if words == "page" else ("in 10 pages",):
                settings = {"words": words, "choice": choice, "split": split} | shared
                yield results["static"], settings, static, settings
    for split in range(splits):
        for name in (None, *KERNELS):
            settings = {"notion": "topic", "words": "text", "split": split, "drawn": 8000, "kernel": name}
            settings |= shared | {"tol": 1e-3}
            yield results["kernel"], settings, kernel, settings
    for split in range(splits):
        for triplets in SIZES:
            settings = {"notion": "topic+", "words": "page", "min_pages": 1, "split": split, "drawn": SIZES[-1]}
            settings |= shared | {"triplets": triplets, "tol": 1e-2}
            yield results["longer"], settings, protocol.run, settings


def sheets(known: Mapping[str, Sequence[Known]]) -> list[Sheet]:
    """A table a question, but two of distances."""
    unlearned, kernels, longer = (_repeated(known.get(question, [])) for question in QUESTIONS)
    made = []
    for title, distances in DISTANCES.items():
        if unlearned:
            heads = [
                "words of",
                "words",
                "how many",
                "splits",
                "distance",
                *(notion.title for notion in NOTIONS.values()),
            ]
            made.append(Sheet(f"Test triplets that distances without learning satisfy, in percent: {title}", heads))
        for (words, choice), results in unlearned.items():
            for distance in distances:
                shares = [np.array(_shares(results, name, distance)) for name in NOTIONS]
                row = [words, choice, f"{results[0]['words']:,}", str(len(results)), distance]
                made[-1].rows.append([*row, *map(tables.said, shares)])
    if kernels:
        heads = ["", "splits", "test triplets satisfied (%)", "weights used", "largest gap", "seconds a fit"]
        made.append(Sheet("Topic, words of the text, 8,000 triplets", heads))
        for (_, name), results in kernels.items():
            shares = np.array([result["satisfied"] for result in results])
            used, seconds = (np.mean([result[key] for result in results]) for key in ("used", "seconds"))
            row = [name or "words (A = I)", str(len(results)), tables.said(shares), f"{used:.0f}"]
            made[-1].rows.append([*row, f"{max(result['gap'] for result in results):.0e}", f"{seconds:.0f}"])
    if longer:
        found = {triplets: results for (_, triplets), results in longer.items()}
        made.append(tables.curve(found, f"{NOTIONS['topic+'].title}, all words of the pages"))
    return made


def rows(known: Mapping[str, Sequence[Known]]) -> Iterator[Row]:
    """Distances of table 1 that are not learned, in percent."""
    for (words, choice), results in _repeated(known.get("static", [])).items():
        for name, notion in NOTIONS.items():
            for there, distances in zip(printed.SATISFIED[notion.row][1:], DISTANCES.values(), strict=True):
                for distance in distances:
                    title = f"{notion.title}, words of the {words}, {choice}: {distance}, percent"
                    yield row_of(title, there, _shares(results, name, distance), "splits", 2)


def _repeated(known: Sequence[Known]) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Results of all splits, by what else differs."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for settings, result in known:
        key = tuple(settings[name] for name in ("words", "choice", "kernel", "triplets") if name in settings)
        groups.setdefault(key, []).append(result)
    return groups


def _shares(results: Sequence[Mapping[str, Any]], notion: str, distance: str) -> list[float]:
    return [result["satisfied"][notion][distance] for result in results]
