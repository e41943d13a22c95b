"""Sections 6.1 and 6.2: the images that each experiment learns from, and those it is judged on.

Characters are black on white, all of them: the kernel compares angles, to which the ground adds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import convexmetric as cm
from convexmetric.bench.readers.printed import PRINTED, render

__all__ = ["CHOICE", "EXPERIMENTS", "RANDOM", "Experiment", "Labelled", "is_there", "load"]

Labelled = tuple[np.ndarray, np.ndarray]
"""Images in rows, and their categories."""

OBJECTS, PEOPLE = 16, 35


@dataclass(frozen=True)
class Experiment:
    """A training task, and tasks with other categories that its operator is applied to.

    Attributes
    ----------
    train : str
        A name :func:`load` takes.
    tests : tuple of str
        The first takes the place of the paper's.
    """

    train: str
    tests: tuple[str, ...]


EXPERIMENTS = {
    "rotation": Experiment("rotated-letters", ("rotated-digits",)),
    "scale": Experiment("scaled-letters", ("scaled-digits",)),
    "rotation+scale": Experiment("rotated-scaled-letters", ("rotated-scaled-digits",)),
    "objects": Experiment("objects 1-16", ("objects 17-20",)),
    "handwritten": Experiment("handwritten letters", ("handwritten digits", "MNIST digits")),
    "faces": Experiment("people 1-35", ("people 36-40",)),
}

#: Experiments of table 4: images of 28 x 28.
CHOICE = ("rotation", "scale", "rotation+scale", "handwritten")


#: Experiments whose images are drawn, training and test ones, so that there can be further samples.
RANDOM = ("rotation", "scale", "rotation+scale")


def load(name: str, images: int | None = None, sample: int = 0) -> Labelled:
    """Images of a task, at most so many of each category: evenly taken, and all by default.

    Of printed characters ``sample`` says which draw of the angles and scales; the first is the data set.
    """
    X, y = LOADERS[name]() if name in LOADERS else _sample(name, sample) if sample else _whole(name)
    if images is not None:
        kept = np.concatenate([_evenly(np.flatnonzero(y == category), images) for category in np.unique(y)])
        X, y = X[kept], y[kept]
    return X, y


def is_there(name: str) -> bool:
    """Whether the images of a task can be had."""
    try:
        load(name)
    except cm.errors.DataNotFoundError:
        return False
    return True


def _evenly(rows: np.ndarray, count: int) -> np.ndarray:
    return rows[np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(int)]


def _whole(name: str) -> Labelled:
    data = cm.datasets.load(name)
    return data.X, data.y


def _sample(name: str, sample: int) -> Labelled:
    """Printed characters with other angles and scales."""
    contents = replace(PRINTED[name], seed=PRINTED[name].seed + 100 * sample)
    angle, scale = contents.draw()
    y = np.repeat(np.arange(len(contents.characters)), contents.count)
    images = [render(each, angle[y == code], scale[y == code]) for code, each in enumerate(contents.characters)]
    return 1.0 - np.concatenate(images).reshape(len(y), -1), y


def _split(name: str, count: int, first: bool) -> Labelled:
    """The first categories of a set, or the others."""
    X, y = _whole(name)
    rows = (y < count) == first
    return X[rows], y[rows]


def _alphadigits(part: str) -> Labelled:
    """Images of 20 x 16 in the middle of 28 x 28, as those of MNIST are."""
    data = cm.datasets.load("binary-alphadigits")
    rows = data.extras[part]
    images = data.X[rows].reshape(len(rows), *data.extras["image_shape"])
    return 1.0 - np.pad(images, ((0, 0), (4, 4), (6, 6))).reshape(len(rows), 28 * 28), data.y[rows]


def _mnist() -> Labelled:
    X, y = _whole("mnist-test")
    return 1.0 - X / 255.0, y


LOADERS: dict[str, Callable[[], Labelled]] = {
    "objects 1-16": lambda: _split("coil20", OBJECTS, True),
    "objects 17-20": lambda: _split("coil20", OBJECTS, False),
    "handwritten letters": lambda: _alphadigits("letters"),
    "handwritten digits": lambda: _alphadigits("digits"),
    "MNIST digits": _mnist,
    "people 1-35": lambda: _split("orl-faces", PEOPLE, True),
    "people 36-40": lambda: _split("orl-faces", PEOPLE, False),
}
"""What is a part of a data set; other names are those of whole ones."""
