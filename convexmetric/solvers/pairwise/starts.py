"""Starts of Newton methods: samples of the queries, and the multiple of the identity that suits the data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convexmetric.risks import PairwiseRisk


def samples_of(
    risk: PairwiseRisk, shares: tuple[float, ...], least: int, gap: float
) -> Iterator[tuple[PairwiseRisk, float]]:
    """Risks of samples of ``least`` queries or more, in the units of all, and gaps to solve to: ``gap``, then halves.

    Samples are nested. Their order does not depend on the data.
    """
    order = np.random.default_rng(0).permutation(risk.parts)
    for share in shares:
        count = int(share * risk.parts)
        if count >= least:
            yield risk.subset(np.sort(order[:count]), risk.parts / count), gap
            gap *= 0.5


def unit_of(risk: PairwiseRisk) -> float:
    """The multiple of the identity at which two points of the corpus are a margin apart on average."""
    X, cone = risk.rankings.X, risk.cone
    centre = np.asarray(X.mean(axis=0)).ravel()
    variance = float(risk.rankings.norms(cone.identity()).mean()) - float(centre @ centre)
    return float(risk.margin / max(2.0 * variance, np.finfo(float).tiny))
