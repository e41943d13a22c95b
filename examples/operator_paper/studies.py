"""What the differences from the printed numbers are due to: other splits, lambda, fewer categories, fewer images.

Every study is a list of :class:`Case`: categories to learn from, and those to judge on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import convexmetric as cm

from .experiments import EXPERIMENTS, Labelled, load
from .framing import framed_alphadigits
from .learners import KERNEL
from .protocol import judged

__all__ = [
    "REGS",
    "Case",
    "by_categories",
    "by_framing",
    "by_images",
    "images_of",
    "over_lambdas",
    "over_splits",
    "run",
]

#: lambda of the Hilbert-Schmidt norm that cross-validation chooses from; 0.005 is the paper's.
REGS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5)
FOLDS = 5
#: Images of an object in the paper: 2,880 of 80 objects.
VIEWS = 36
LETTERS, DIGITS, MNIST = "handwritten letters", "handwritten digits", "MNIST digits"
FRAMED_LETTERS, FRAMED_DIGITS = "framed letters", "framed digits"
OBJECTS = "coil20"


@dataclass(frozen=True)
class Case:
    """One fit and where it is judged.

    Attributes
    ----------
    study : str
    at : float
        What the study varies: lambda, or a number of categories or of images.
    draw : int
        Which split, fold or choice of categories.
    task : str
        Images to learn from, a name :func:`images_of` takes.
    categories : tuple of int
        To learn from.
    reg : float
        lambda.
    tests : tuple of (str, tuple of int or None)
        Images to judge on, and which categories of them; None for all.
    images : int, optional
        Of each category at most, evenly taken.
    """

    study: str
    at: float
    draw: int
    task: str
    categories: tuple[int, ...]
    reg: float
    tests: tuple[tuple[str, tuple[int, ...] | None], ...]
    images: int | None = None

    def settings(self) -> dict[str, Any]:
        """What the result depends on; equal fits of two studies are one."""
        tests = [[name, None if of is None else list(of)] for name, of in self.tests]
        own = {"task": self.task, "categories": list(self.categories), "reg": self.reg, "images": self.images}
        return own | {"tests": tests}


def images_of(name: str, images: int | None = None) -> Labelled:
    """Images of a task, also of alphadigits framed as MNIST is."""
    if name in (FRAMED_LETTERS, FRAMED_DIGITS):
        return framed_alphadigits(name.split()[1])
    return load(name, images)


def run(
    task: str,
    categories: list[int],
    reg: float,
    images: int | None,
    tests: list[list[Any]],
    draws: int,
    tol: float,
    seconds: float,
) -> dict[str, Any]:
    """Learn from some categories with the Hilbert-Schmidt norm, judge on others.

    Returns
    -------
    dict
        ``gap``, ``seconds``, ``points``; and ``tests`` by name with ``risk``, ``area`` and ``error``, and of the images
        as they are ``input_area`` and ``input_error``.
    """
    X, y = _only(images_of(task, images), categories)
    problem = cm.PairMarginProblem.from_labels(X, y, reg=reg, kernel=KERNEL)
    solution = cm.solve(problem, tol, max_seconds=seconds)
    operator = cm.evaluation.SimilarityOperator.of(solution)
    found: dict[str, Any] = {"gap": solution.gap, "seconds": solution.seconds, "points": len(y), "tests": {}}
    for name, of in tests:
        X, y = _only(images_of(name, images if name == task else None), of)
        own, raw = judged(operator, X, y, draws), judged(None, X, y, draws)
        measures = {key: own[key] for key in ("risk", "area", "error")}
        found["tests"][name] = measures | {"input_area": raw["area"], "input_error": raw["error"]}
    return found


def run_spread(
    experiment: str,
    reg: float,
    draws: int,
    tol: float,
    seconds: float,
    train: str | None = None,
    test: str | None = None,
) -> dict[str, Any]:
    """Measures on a test task of an experiment, and their standard errors by leaving out a test category each.

    Training and test images are those of the experiment, its first test, unless others are named.

    Returns
    -------
    dict
        ``gap``, ``seconds``, test ``categories``; ``risk``, ``area``, ``error``, and these with ``_error``.
    """
    of = EXPERIMENTS[experiment]
    X, y = images_of(train or of.train)
    solution = cm.solve(cm.PairMarginProblem.from_labels(X, y, reg=reg, kernel=KERNEL), tol, max_seconds=seconds)
    X, y = images_of(test or of.tests[0])
    points = cm.evaluation.SimilarityOperator.of(solution).transform(X)

    def measured(rows: np.ndarray) -> list[float]:
        return [
            cm.evaluation.empirical_risk_from_labels(None, points[rows], y[rows]),
            cm.evaluation.roc_curve(None, points[rows], y[rows]).area,
            cm.evaluation.single_prototype_error(None, points[rows], y[rows], n_draws=draws, random_state=0),
        ]

    left_out = np.array([measured(y != category) for category in np.unique(y)])
    count = len(left_out)
    errors = np.sqrt((count - 1.0) / count * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
    found = {"gap": solution.gap, "seconds": solution.seconds, "categories": count}
    for name, value, error in zip(("risk", "area", "error"), measured(y >= 0), errors, strict=True):
        found |= {name: value, f"{name}_error": float(error)}
    return found


def over_splits(reg: float, partitions: int) -> Iterator[Case]:
    """Objects: 4 of 20 are judged on, each once in a partition; 4, 8, 12 or 16 of the others are learned from."""
    every = _categories(OBJECTS)
    for partition in range(partitions):
        order = np.random.default_rng(partition).permutation(every)
        for fold in range(FOLDS):
            held = order[fold::FOLDS]
            others = order[~np.isin(order, held)]
            for count in (4, 8, 12, 16):
                tests = ((OBJECTS, _codes(held)),)
                yield Case(
                    "objects", count, FOLDS * partition + fold, OBJECTS, _codes(others[:count]), reg, tests, VIEWS
                )


def over_lambdas() -> Iterator[Case]:
    """Handwriting: lambda by cross-validation over letters, which are left out a fifth at a time."""
    order = np.random.default_rng(0).permutation(_categories(LETTERS))
    for reg in REGS:
        for fold in range(FOLDS):
            held = order[fold::FOLDS]
            kept = order[~np.isin(order, held)]
            yield Case("lambda", reg, fold, LETTERS, _codes(kept), reg, ((LETTERS, _codes(held)),))


def by_categories(reg: float, draws: int) -> Iterator[Case]:
    """Handwriting: digits judged by operators of 5 to 25 letters at random; those of a draw are nested."""
    every = _categories(LETTERS)
    for draw in range(draws):
        order = np.random.default_rng(100 + draw).permutation(every)
        for count in (5, 10, 15, 20, 25):
            # All letters are one choice.
            if count < len(every) or draw == 0:
                kept = np.sort(order[:count]) if count == len(every) else order[:count]
                yield Case("categories", count, draw, LETTERS, _codes(kept), reg, ((DIGITS, None),))


def by_images(reg: float) -> Iterator[Case]:
    """Handwriting: 5 to 39 images of each of the 25 letters."""
    for count in (5, 10, 20, 39):
        images = None if count == 39 else count
        yield Case("images", count, 0, LETTERS, _codes(_categories(LETTERS)), reg, ((DIGITS, None),), images)


def by_framing(regs: tuple[float, ...]) -> Iterator[Case]:
    """Handwriting: MNIST judged by letters as they are (0) and by letters framed as MNIST is (1)."""
    for reg in regs:
        for framed, (letters, digits) in enumerate(((LETTERS, DIGITS), (FRAMED_LETTERS, FRAMED_DIGITS))):
            tests = ((digits, None), (MNIST, None))
            yield Case("framing", framed, 0, letters, _codes(_categories(LETTERS)), reg, tests)


def _categories(name: str) -> np.ndarray:
    return np.unique(images_of(name)[1])


def _codes(categories: np.ndarray) -> tuple[int, ...]:
    return tuple(int(code) for code in categories)


def _only(labelled: Labelled, categories: list[int] | None) -> Labelled:
    X, y = labelled
    rows = slice(None) if categories is None else np.isin(y, categories)
    return X[rows], y[rows]
