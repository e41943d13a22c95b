"""Short descriptions in categories, in the sizes of the paper's phenotype variables: synthetic.

2,484 descriptions, 160 categories of very different size (1.9% of all pairs share one; 3.4% in the paper's Table 3) and
18,919 terms. A category has a few terms of its own, of which a description uses some, and shares others with a
group of related categories; the rest of a description are terms that anything may have, common ones more often.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

__all__ = ["descriptions"]


def descriptions(
    n: int = 2_484, d: int = 18_919, categories: int = 160, groups: int = 20, seed: int = 0
) -> tuple[sp.csr_array, np.ndarray]:
    """Indicators of terms, ``(n, d)``, and categories, ``(n,)``; every category has two members at least."""
    rng = np.random.default_rng(seed)
    sizes = 1.0 / (np.arange(categories) + 3.0)
    y = np.concatenate([np.tile(np.arange(categories), 2), _drawn(rng, sizes, n - 2 * categories)])
    own = rng.integers(d, size=(categories, 12))
    shared = rng.integers(d, size=(groups, 12))[rng.integers(groups, size=categories)]
    common = 1.0 / (np.arange(d) + 10.0)
    rows, columns = [], []
    for row, category in enumerate(y):
        terms = [
            rng.choice(own[category], size=rng.integers(1, 5), replace=False),
            rng.choice(shared[category], size=rng.integers(1, 5), replace=False),
            _drawn(rng, common, int(rng.integers(15, 60))),
        ]
        found = np.unique(np.concatenate(terms))
        rows.append(np.full(len(found), row))
        columns.append(found)
    places = np.concatenate(rows), np.concatenate(columns)
    return sp.csr_array((np.ones(len(places[0])), places), shape=(n, d)), y


def _drawn(rng: np.random.Generator, weights: np.ndarray, size: int) -> np.ndarray:
    return np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(size))
