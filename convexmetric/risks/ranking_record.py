"""A ranking of one query as a record: its items, their order and its loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexmetric.arrays import Array


@dataclass(frozen=True)
class Ranking:
    r"""A ranking y of the items of a query.

    Attributes
    ----------
    query : int
        Number of the query.
    order : tuple of int
        Rows of the corpus, the first is the top.
    relevant : tuple of bool
        Whether each is relevant.
    loss : float
        :math:`\Delta(y^*, y)`.
    """

    query: int
    order: tuple[int, ...]
    relevant: tuple[bool, ...]
    loss: float

    @property
    def inverted(self) -> int:
        """Number of pairs of a relevant item below an irrelevant one."""
        relevant = np.array(self.relevant)
        return int(np.cumsum(~relevant)[relevant].sum())

    @property
    def coefficients(self) -> Array:
        r"""T with :math:`\langle W, \delta\psi(q, y^*, y) \rangle = \sum_x t_x d_W(q, x)`, in the order of the ranking.

        ``-2/(p n)`` for every irrelevant item above a relevant one, ``2/(p n)`` for every relevant one below an
        irrelevant one.
        """
        relevant = np.array(self.relevant)
        above, below = np.cumsum(~relevant), relevant.sum() - np.cumsum(relevant)
        pairs = int(relevant.sum()) * int((~relevant).sum())
        return np.asarray(2.0 / pairs * np.where(relevant, -above, below))

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for rankings with the same inverted pairs, which give the same constraint."""
        found = sorted(zip(self.order, self.coefficients.tolist(), strict=True))
        return self.query, tuple(found)

    def __str__(self) -> str:
        items = " ".join(
            f"{row}{'*' if positives else ''}" for row, positives in zip(self.order, self.relevant, strict=True)
        )
        return f"query {self.query}: {items}   loss {self.loss:.4g}, {self.inverted} inverted pairs (* relevant)"


def order_of(
    positives: np.ndarray, negatives: np.ndarray, t_positives: Array, t_negatives: Array
) -> tuple[np.ndarray, np.ndarray]:
    """Rows from top to bottom, with their relevance, from the coefficients of a ranking.

    Items at the same place are ordered by row.
    """
    # -t of a relevant item is the number of irrelevant ones above it, t of an irrelevant one that of relevant ones
    # below, both times 2/(p n).
    positives, b = positives[np.lexsort((positives, -t_positives))], np.sort(-t_positives)
    negatives, v = negatives[np.lexsort((negatives, -t_negatives))], np.sort(t_negatives)[::-1]
    p, n = len(positives), len(negatives)
    counts = np.rint(b * p * n / 2.0).astype(int)
    above = np.searchsorted(counts, np.arange(n), side="right")
    assert np.array_equal(np.rint(v * p * n / 2.0), p - above)
    place = np.concatenate([counts + np.arange(p), np.arange(n) + above])
    order = np.argsort(place)
    return np.concatenate([positives, negatives])[order], order < p
