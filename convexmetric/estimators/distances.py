"""The learned metric as a function of two points."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arrays import Array, real_array
from convexmetric.errors import InputError
from convexmetric.features import Embedding


@dataclass(frozen=True, eq=False)
class LearnedDistance:
    """Distance ``||L u - L v||`` as a callable, as ``KNeighborsClassifier(metric=...)`` takes it.

    It keeps its numbers when the estimator it came from is fitted again, and can be pickled.

    Attributes
    ----------
    components : (rank, d) array
        L.
    embedding : Embedding or None
        Map from points to the coordinates on which L acts; None where these are the features.
    """

    components: Array = field(repr=False)
    embedding: Embedding | None = None

    def __call__(self, u: ArrayLike, v: ArrayLike, squared: bool = False) -> float:
        """Distance of two points, or its square.

        Raises
        ------
        InputError
            If they are not two vectors of as many features as the metric takes.
        """
        a, b = real_array(u, "u"), real_array(v, "v")
        if a.ndim != 1 or a.shape != b.shape:
            raise InputError(f"u and v must be two vectors of the same length, got shapes {a.shape} and {b.shape}")
        if self.embedding is not None:
            a, b = self.embedding.transform(np.stack([a, b]))
        if a.size != self.components.shape[1]:
            raise InputError(f"u and v have {a.size} features, but the metric takes {self.components.shape[1]}")
        difference = self.components @ (a - b)
        square = float(difference @ difference)
        return square if squared else float(np.sqrt(square))
