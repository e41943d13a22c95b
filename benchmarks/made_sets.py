"""Made sets for what no public set here is large enough for."""

from __future__ import annotations

import numpy as np

__all__ = ["collection", "letters", "spectra"]


def letters(rows: int, features: int = 16, classes: int = 26, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points of the shape of the Letter Recognition set: whole numbers from 0 to 15, then z-scored; and labels.

    Every class is a mixture of three normal distributions about a centre of its own, all of one covariance.
    """
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(classes, 1, features)) + 0.8 * rng.normal(size=(classes, 3, features))
    mixing = 0.6 / np.sqrt(features) * rng.normal(size=(features, features)) + 0.7 * np.eye(features)
    y, part = rng.integers(classes, size=rows), rng.integers(3, size=rows)
    X = centres[y, part] + 1.2 * rng.normal(size=(rows, features)) @ mixing
    X = np.clip(np.round(2.0 * X + 8.0), 0, 15)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def collection(
    documents: int, queries: int, features: int = 384, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Vectors of documents and queries as an encoder gives them, of norm one, and the topic of each.

    A topic, of which there is one for every 50 documents, is a point of 48 dimensions; what is said of it, and how,
    varies in 24 others that have nothing to do with relevance but more variance, and all dimensions have noise.
    """
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(features, 72)))[0].T
    topics = rng.normal(size=(max(1, documents // 50), 48))

    def encoded(topic: np.ndarray) -> np.ndarray:
        meaning = topics[topic] + 0.8 * rng.normal(size=(len(topic), 48))
        style = 2.5 * rng.normal(size=(len(topic), 24))
        X = np.hstack([meaning, style]) @ basis + 0.15 * rng.normal(size=(len(topic), features))
        return X / np.linalg.norm(X, axis=1, keepdims=True)

    of_document, of_query = rng.integers(len(topics), size=documents), rng.integers(len(topics), size=queries)
    return encoded(of_document), encoded(of_query), of_document, of_query


def spectra(rows: int, bands: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Spectra of two kinds of things in some bands, between 0 and 1, and the kind: neighbouring bands are alike.

    Each kind has one broad peak. The peaks overlap, and spectra of a kind differ by half their height.
    """
    rng, band = np.random.default_rng(seed), np.arange(bands) * 60.0 / bands
    y = rng.integers(0, 2, rows)
    alike = np.exp(-0.5 * ((band[:, None] - band) / 3.0) ** 2) + 1e-3 * np.eye(bands)
    peak = np.where(
        y[:, None] == 1, np.exp(-0.5 * ((band - 20.0) / 10.0) ** 2), np.exp(-0.5 * ((band - 28.0) / 12.0) ** 2)
    )
    return np.clip(0.6 * peak + 0.25 * rng.standard_normal((rows, bands)) @ np.linalg.cholesky(alike).T, 0.0, 1.0), y
