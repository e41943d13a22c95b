"""Embed items by cblearn, in an environment that has it, and score every embedding by its scorer: a program of its own.

    python embeddings.py FOLDER

Every ``NAME.npz`` of the folder has triplets to learn from (``learn``; the first ``inner`` of them fit, and the others
choose the number of dimensions), triplets to be scored (``test``), the number of items, the weight ``lambd`` of a
trace, and embeddings by others as ``by-METHOD``. ``NAME.json`` gets scores, dimensions and seconds by method, those of
the last fit and of all that chose it, and ``NAME-METHOD.npy`` the embeddings.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from cblearn import embedding
from cblearn.metrics import query_accuracy_scorer

DIMENSIONS = (2, 3, 5, 10)


def fitted(method: str, triplets: np.ndarray, n: int, dimensions: int, **options: Any) -> Any:
    return getattr(embedding, method)(dimensions, random_state=0, **options).fit(triplets, n_objects=n)


def embedded(method: str, given: Any) -> tuple[Any, dict[str, float]]:
    """The estimator whose dimensions are the best on the triplets kept apart, and its seconds."""
    learn, inner, n = given["learn"], int(given["inner"]), int(given["items"])
    options = {"lambd": float(given["lambd"])} if "lambd" in method else {}
    begin, name = time.process_time(), method.partition(" ")[0]
    dimensions = n
    if "all" not in method:
        scores = [fitted(name, learn[:inner], n, k, **options).score(learn[inner:]) for k in DIMENSIONS]
        dimensions = DIMENSIONS[int(np.argmax(scores))]
    last = time.process_time()
    estimator = fitted(name, learn, n, dimensions, **options)
    end = time.process_time()
    return estimator, {"dimensions": dimensions, "seconds": end - last, "seconds in all": end - begin}


def main() -> None:
    for path in sorted(Path(sys.argv[1]).glob("*.npz")):
        given, said = np.load(path), {}
        for method in ("GNMDS", "GNMDS lambd", "GNMDS lambd all", "STE", "TSTE", "SOE"):
            estimator, said[method] = embedded(method, given)
            said[method]["score"] = query_accuracy_scorer(estimator, given["test"], None)
            np.save(path.with_name(f"{path.stem}-{method}.npy"), estimator.embedding_)
        for name in given.files:
            if name.startswith("by-"):
                estimator.embedding_ = given[name]
                said[name[3:]] = {"score": query_accuracy_scorer(estimator, given["test"], None)}
        path.with_suffix(".json").write_text(json.dumps(said, indent=1), "utf-8")


if __name__ == "__main__":
    main()
