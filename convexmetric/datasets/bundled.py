"""Data sets that need no folder and no network: scikit-learn's, printed characters, and a part of Cranfield."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Any

import numpy as np

from convexmetric.bench.readers.printed import PRINTED, read_printed
from convexmetric.datasets.dataset import Dataset
from convexmetric.retrieval.judgements import Qrels

__all__ = ["BUNDLED"]


def _wine() -> Dataset:
    from sklearn.datasets import load_wine

    return _dataset(
        "wine",
        load_wine(),
        ("class-1", "class-2", "class-3"),
        "UCI Wine (Forina et al.): 13 chemical measurements of 178 wines of three cultivars, as bundled "
        "with scikit-learn.",
    )


def _breast_cancer() -> Dataset:
    from sklearn.datasets import load_breast_cancer

    return _dataset(
        "breast-cancer",
        load_breast_cancer(),
        ("malignant", "benign"),
        "UCI Breast Cancer Wisconsin (Diagnostic), or WDBC (Wolberg, Street and Mangasarian): 30 "
        "measurements of cell nuclei in 569 images, as bundled with scikit-learn.",
    )


def _digits() -> Dataset:
    from sklearn.datasets import load_digits

    return _dataset(
        "digits",
        load_digits(),
        tuple("0123456789"),
        "Test part of the UCI Optical Recognition of Handwritten Digits (Alpaydin and Kaynak): 1797 "
        "images of 8 x 8 grey levels 0-16, as bundled with scikit-learn.",
        image_shape=(8, 8),
    )


def _iris() -> Dataset:
    from sklearn.datasets import load_iris

    return _dataset(
        "iris",
        load_iris(),
        ("setosa", "versicolor", "virginica"),
        "Iris (Fisher 1936): four measurements in cm of 150 flowers of three species, as bundled with scikit-learn.",
    )


def _dataset(name: str, bunch: Any, classes: tuple[str, ...], description: str, **extras: Any) -> Dataset:
    X = np.ascontiguousarray(bunch.data, dtype=np.float64)
    y = np.ascontiguousarray(bunch.target, dtype=np.int64)
    features = tuple(str(feature) for feature in bunch.feature_names)
    return Dataset(name, X, y, classes, description, {"feature_names": features, **extras})


def _cranfield() -> Dataset:
    """The first hundred questions, and all that is relevant to them.

    Extras: ``queries`` (100, 32), ``qrels`` (by rows of both), ``documents`` and ``questions`` (their numbers in the
    collection, from 1).
    """
    with (files(__package__) / "cranfield-100.npz").open("rb") as file, np.load(file, allow_pickle=False) as part:
        X, queries = (np.asarray(part[name], dtype=np.float64) for name in ("documents", "questions"))
        relevant = zip(part["question"].tolist(), part["document"].tolist(), strict=True)
        qrels = Qrels.of((question, document, 1) for question, document in relevant)
        numbers = np.asarray(part["number"], dtype=np.int64)
    return Dataset(
        "cranfield-100",
        X,
        None,
        (),
        "Part of the Cranfield collection (Cleverdon 1967): 509 abstracts on aerodynamics, the first 100 questions, "
        "and who is relevant to whom; latent semantic analysis of 32 dimensions, of length one, in single precision.",
        {"queries": queries, "qrels": qrels, "documents": numbers, "questions": np.arange(1, 101)},
    )


BUNDLED: dict[str, Callable[[], Dataset]] = {
    "wine": _wine,
    "breast-cancer": _breast_cancer,
    "digits": _digits,
    "iris": _iris,
    "cranfield-100": _cranfield,
    **{name: partial(read_printed, name) for name in PRINTED},
}
"""Name to loader."""
