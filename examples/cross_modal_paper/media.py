"""The two sets of objects in two modalities, and what a method may see of them.

Wikipedia: images and texts in pairs, a category each. Corel5k: images and keywords; a keyword is a pseudo document
whose features are how often it stands beside every keyword in the training images. The paper's images of Corel5k were
described by SIFT; these are blobs (499 indicators), so numbers cannot be compared one by one. Its 18 and 100 principal
components are kept. The split is the order of the file, 4,500 and 500; keywords without a training or a test image are
left out, as the paper's 260 were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

import convexmetric as cm

__all__ = ["PREPROCESSING", "TASKS", "Media", "Part", "load"]

#: Task to data set and whether its first modality queries.
TASKS = {
    "image-text": ("wikipedia", True),
    "text-image": ("wikipedia", False),
    "image-keyword": ("corel5k", True),
    "keyword-image": ("corel5k", False),
}
#: What cross-validation chooses from: scaling of the features, after a square root or not.
PREPROCESSING = ("centre", "zscore", "root-zscore")
COREL_TRAIN = 4_500
#: Principal components of images and keywords in the paper.
COREL_IMAGE, COREL_KEYWORD = 100, 18


@dataclass(frozen=True)
class Part:
    """Objects of two modalities: queries X and what they retrieve, Y.

    Attributes
    ----------
    X, Y : arrays
        Features, in rows.
    labels_x, labels_y : sparse 0/1 matrices
        Objects are relevant to each other where they share a label.
    couples : (k, 2) int array
        Rows of X and Y that belong together.
    """

    X: np.ndarray
    Y: np.ndarray
    labels_x: Any
    labels_y: Any
    couples: np.ndarray

    def relevant(self) -> np.ndarray:
        """``(queries, items)`` booleans."""
        return np.asarray((self.labels_x @ self.labels_y.T).toarray() > 0)

    def turned(self) -> Part:
        """The other direction."""
        return Part(self.Y, self.X, self.labels_y, self.labels_x, self.couples[:, ::-1])


class Media:
    """A set with a split into training and test objects.

    Parameters
    ----------
    split : callable
        From rows to learn from and rows to judge on, and the name of a preprocessing, to two parts.
    train, test : int arrays
        Rows.
    """

    def __init__(self, split: Callable[..., tuple[Part, Part]], train: np.ndarray, test: np.ndarray) -> None:
        self.split, self.train, self.test = split, train, test

    def folds(self, number: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Training rows to learn from and to judge on, for every fold; the same each time."""
        order = np.random.default_rng(0).permutation(self.train)
        return [
            (np.sort(np.setdiff1d(order, held)), np.sort(held)) for held in (order[k::number] for k in range(number))
        ]


@cache
def load(name: str) -> Media:
    """A set by name."""
    return _wikipedia() if name == "wikipedia" else _corel5k()


def _wikipedia() -> Media:
    data = cm.datasets.load("wikipedia-crossmodal")
    images, texts, labels = data.X, data.extras["text"], sp.csr_array(np.eye(10)[data.y])

    def split(rows: np.ndarray, judged: np.ndarray, preprocessing: str) -> tuple[Part, Part]:
        X, Y = (_scaled(features, rows, preprocessing) for features in (images, texts))
        return tuple(  # type: ignore[return-value]
            Part(X[part], Y[part], labels[part], labels[part], np.tile(np.arange(len(part))[:, None], 2))
            for part in (rows, judged)
        )

    return Media(split, data.extras["train"], data.extras["test"])


def _corel5k() -> Media:
    data = cm.datasets.load("corel5k")
    rows = np.arange(data.X.shape[0])
    train, test = rows[:COREL_TRAIN], rows[COREL_TRAIN:]
    kept = np.flatnonzero((data.y[train].sum(axis=0) > 0) & (data.y[test].sum(axis=0) > 0))
    annotated, blobs = data.y[:, kept].astype(np.float64), data.X.toarray()

    def split(rows: np.ndarray, judged: np.ndarray, preprocessing: str) -> tuple[Part, Part]:
        # Images whose keywords were all left out have no label.
        rows, judged = (part[annotated[part].sum(axis=1) > 0] for part in (rows, judged))
        images = _scaled(_components(blobs, rows, COREL_IMAGE), rows, preprocessing)
        together = annotated[rows].T @ annotated[rows]
        every = np.arange(len(together))
        keywords = _scaled(_components(together, every, COREL_KEYWORD), every, preprocessing)
        own = sp.eye_array(len(together), format="csr")
        return tuple(  # type: ignore[return-value]
            Part(images[part], keywords, sp.csr_array(annotated[part]), own, np.argwhere(annotated[part]))
            for part in (rows, judged)
        )

    return Media(split, train, test)


def _components(features: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """Principal components of some rows, of all rows."""
    mean = features[rows].mean(axis=0)
    axes = np.linalg.svd(features[rows] - mean, full_matrices=False)[2][:count]
    return np.asarray((features - mean) @ axes.T)


def _scaled(features: np.ndarray, rows: np.ndarray, preprocessing: str) -> np.ndarray:
    """Features with mean zero over some rows, and standard deviation one: each, or all together (``centre``)."""
    if preprocessing.startswith("root"):
        features = np.sign(features) * np.sqrt(np.abs(features))
    mean, deviation = features[rows].mean(axis=0), features[rows].std(axis=0)
    if preprocessing == "centre":
        deviation = np.full_like(deviation, np.sqrt(np.mean(deviation**2)))
    return np.asarray((features - mean) / np.where(deviation > 0.0, deviation, 1.0))
