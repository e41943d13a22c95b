r"""Maps of queries that need no solver: ridge regression, and steps of InfoNCE. Both begin with the identity.

Ridge sends every query towards the mean of the documents relevant to it. With queries and these means in rows,

.. math:: \min_W \; \tfrac12 \|W - I\|_F^2 + \frac{C}{2n} \|Q W - R\|_F^2, \qquad
   W = I + \big(Q^\top Q + \tfrac{n}{C} I\big)^{-1} Q^\top (R - Q).

InfoNCE is the softmax of the documents of a batch, lowered by a number of steps of Adam, which ends early instead of
weighing a distance to the identity (van den Oord, Li and Vinyals 2018; Kingma and Ba 2015).
"""

from __future__ import annotations

import numpy as np
import scipy
import scipy.sparse as sp

from convexmetric.arrays import Array

#: Pairs of a query and a relevant document in a batch, temperature in units of squared distances, and rate of Adam.
BATCH, TEMPERATURE, RATE = 128, 0.05, 3e-3
#: Decays of the means of gradients and of their squares.
FIRST, SECOND = 0.9, 0.999


def ridge_map(queries: Array, corpus: Array, relevant: sp.csr_array, C: float) -> Array:
    """W for similarities q'Wx, ``(d, d)``, by the formula above; ``relevant`` is 0/1, queries by documents."""
    n, d = queries.shape
    means = (relevant @ corpus) / relevant.sum(axis=1)[:, None]
    normal = queries.T @ queries + (n / C) * np.eye(d)
    return np.eye(d) + np.asarray(scipy.linalg.solve(normal, queries.T @ (means - queries), assume_a="pos"))


def infonce_map(queries: Array, corpus: Array, relevant: sp.csr_array, steps: float) -> Array:
    """W for similarities q'Wx, ``(d, d)``, after some steps of Adam.

    A batch has pairs of a query and a relevant document. Every query is to choose its own among the documents of all
    pairs, but for others that are relevant to it.
    """
    rng, pairs = np.random.default_rng(0), np.column_stack(relevant.tocoo().coords)
    W = np.eye(corpus.shape[1])
    mean, square = np.zeros_like(W), np.zeros_like(W)
    for step in range(1, round(steps) + 1):
        asked, near = pairs[rng.choice(len(pairs), min(BATCH, len(pairs)), replace=False)].T
        others = relevant[asked][:, near].toarray().astype(bool) & ~np.eye(len(asked), dtype=bool)
        gradient = _gradient(W, queries[asked], corpus[near], others)
        mean = FIRST * mean + (1.0 - FIRST) * gradient
        square = SECOND * square + (1.0 - SECOND) * gradient**2
        size = np.sqrt(square / (1.0 - SECOND**step)) + 1e-8
        W = W - RATE * mean / (1.0 - FIRST**step) / size
    return W


def _gradient(W: Array, q: Array, x: Array, others: Array) -> Array:
    """Gradient of the mean cross-entropy of the documents of the same rows, among those that are not ``others``."""
    logits = np.where(others, -np.inf, 2.0 * (q @ W) @ x.T / TEMPERATURE)
    slopes = scipy.special.softmax(logits, axis=1) - np.eye(len(q))
    return np.asarray(2.0 * q.T @ slopes @ x / (TEMPERATURE * len(q)))
