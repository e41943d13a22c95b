"""A collection that comes with the package: which functions of NumPy and SciPy belong together."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from convexmetric.datasets.dataset import Dataset
from convexmetric.retrieval.judgements import Qrels


def bundled_collection() -> Dataset:
    """Load what ``examples/retrieval_study/see_also.py`` made.

    Extras: ``queries`` (vectors), ``qrels`` (by rows of both), ``documents`` and ``questions`` (names of functions).
    """
    with (files(__package__) / "see-also.npz").open("rb") as file, np.load(file, allow_pickle=False) as made:
        X, queries = (np.asarray(made[name], dtype=np.float64) for name in ("X", "queries"))
        relevant = zip(made["query"].tolist(), made["relevant"].tolist(), strict=True)
        names = {name: tuple(made[name].tolist()) for name in ("documents", "questions")}
        versions = "NumPy {} and SciPy {}".format(*made["versions"])
    return Dataset(
        "see-also",
        X,
        None,
        (),
        f"Documentation of {versions}: summaries of {len(queries)} functions, texts of {len(X)} others, and which name "
        "which under 'See Also'; latent semantic analysis of 32 dimensions, of length one, in half precision. "
        "BSD-3-Clause.",
        {"queries": queries, "qrels": Qrels.of((q, d, 1) for q, d in relevant), **names},
    )
