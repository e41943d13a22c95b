"""Faults that the study found in metric-learn 0.7.0 and pyDML 0.1.0, shown by a few lines each.

    PYTHON benchmarks/study/faults.py [FOLDER]

PYTHON is that of an environment with one of the packages, as ``run.py`` makes them. Each function imports what it needs
and can be sent to the package's authors alone. With the folder of a study, LSML is fitted to its sets with the weights
put into the gradient, too, and the losses are printed beside the certified bound.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path


def lsml_gradient() -> None:
    """LSML: weights, which sum to one, are in the loss, but not in the gradient that is followed."""
    import numpy as np
    from metric_learn import LSML

    near, far, M, h = np.array([[2.0, 0.0]] * 10), np.array([[1.0, 0.0]] * 10), np.eye(2), 1e-6
    lsml = LSML()
    lsml.w_ = np.full(10, 0.1)
    slope = np.trace(lsml._gradient(M, near, far, M))
    losses = [lsml._total_loss(t * M, near, far, M) for t in (1 + h, 1 - h)]
    differences = np.subtract(*losses) / (2 * h)
    print(f"LSML: slope of the loss along M by its gradient {slope:.6f}, by differences {differences:.6f}")


def lsml_with_weights(folder: Path) -> None:
    """LSML with the weights in its gradient reaches the certified optimum."""
    import numpy as np
    from metric_learn import LSML

    class Weighted(LSML):
        def _gradient(self, M: np.ndarray, near: np.ndarray, far: np.ndarray, inverse: np.ndarray) -> np.ndarray:
            a, b = ((V @ M * V).sum(axis=1) for V in (near, far))
            missed = a > b
            a, b, w, V, W = a[missed], b[missed], self.w_[missed], near[missed], far[missed]
            pulled = (V.T * (w * (1 - np.sqrt(b / a)))) @ V + (W.T * (w * (1 - np.sqrt(a / b)))) @ W
            return inverse - np.linalg.inv(M) + pulled

    for record in sorted(folder.glob("*/metric-learn/LSML-0-record.json")):
        work, fit = record.parent, json.loads(record.read_text("utf-8"))
        rows = np.load(work / "LSML-0-quadruplets.npy", allow_pickle=False)
        four = np.load(work / "X.npy", allow_pickle=False)[rows]
        losses = []
        for kind in (LSML, Weighted):
            M = kind(tol=1e-6).fit(four).get_mahalanobis_matrix()
            near, far = four[:, 0] - four[:, 1], four[:, 2] - four[:, 3]
            a, b = ((V @ M * V).sum(axis=1) for V in (near, far))
            loss = (np.maximum(np.sqrt(a) - np.sqrt(b), 0) ** 2).mean()
            losses.append(loss + np.trace(M) - np.linalg.slogdet(M)[1] - len(M))
        lower = fit["optimum_lower"]
        print(f"{fit['set']}: {losses[0]:.8g}, with weights {losses[1]:.8g}, proven to be at least {lower:.8g}")


def itml_bounds() -> None:
    """ITML: bounds are of distances by its documentation and its percentiles, and are compared with squared ones."""
    import numpy as np
    from metric_learn import ITML

    pairs = np.array([[[0.0, 0.0], [3.0, 0.0]], [[0.0, 0.0], [20.0, 0.0]]])
    itml = ITML().fit(pairs, np.array([1, -1]), bounds=[5.0, 10.0])
    M = itml.get_mahalanobis_matrix()
    print(f"ITML: distances 3 < 5 and 20 > 10 keep the bounds, and yet the metric changes to {M.tolist()}")


def rca_chunks() -> None:
    """RCA_Supervised: the last class has no chunk until all others are used up."""
    import numpy as np
    from metric_learn.constraints import Constraints

    y = np.repeat([0, 1, 2], 60)
    chunks = Constraints(y).chunks(n_chunks=50, chunk_size=2, random_state=0)
    counts = [len(set(chunks[(y == label) & (chunks >= 0)])) for label in range(3)]
    print(f"RCA: 50 chunks of three classes with 60 points each: {counts}")


def mmc_start() -> None:
    """MMC: where no projection ends within its budget, the metric it began with is returned as converged."""
    import numpy as np
    from metric_learn import MMC_Supervised
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    X, y = load_breast_cancer(return_X_y=True)
    mmc = MMC_Supervised(random_state=0, max_proj=500).fit(StandardScaler().fit_transform(X), y)
    away = np.abs(mmc.get_mahalanobis_matrix() - np.eye(30)).max()
    print(f"MMC: converged_ is {mmc.converged_}, and the metric is the identity ({away:g} away), 100 times its budget")


def pydml_lmnn_gradient() -> None:
    """LMNN of pyDML: hinges are of squared distances, but the gradient has all triplets that plain distances list."""
    import numpy as np
    from dml import LMNN
    from dml.dml_utils import calc_outers
    from sklearn.datasets import load_wine
    from sklearn.preprocessing import StandardScaler

    X, y = load_wine(return_X_y=True)
    X, M, h = StandardScaler().fit_transform(X), np.eye(13), 1e-6
    lmnn = LMNN()
    lmnn._set_initial_parameters(X, y)
    near, outers = lmnn._target_neighbors(X, y), calc_outers(X)

    def error(M: np.ndarray) -> float:
        return np.asarray(lmnn._compute_error(0.5, M, X, y, near, lmnn._impostors(M, X, y, near))).item()

    def slope(triplets: set[tuple[int, int, int]]) -> float:
        pull = lmnn._compute_not_imposter_gradient(X, near, outers)
        return float(np.trace(pull + lmnn._compute_imposter_gradient(X, outers, triplets, set())))

    listed = lmnn._compute_N_triplets(len(X), near, lmnn._impostors(M, X, y, near))
    d = ((X[:, None] - X) ** 2).sum(axis=2)
    active = {(i, j, k) for i, j, k in listed if 1 + d[i, j] > d[i, k]}
    differences = (error((1 + h) * M) - error((1 - h) * M)) / (2 * h)
    print(f"LMNN of pyDML: slope along M by its gradient {slope(listed):.3f}, by differences {differences:.3f}")
    print(f"{len(active)} of {len(listed)} triplets have a hinge above zero: slope by these alone {slope(active):.3f}")
    end = np.asarray(LMNN().fit(X, y).metadata()["final_error"]).item()
    print(f"a fit ends at {end:.1f}, where M = 0.2 I has {error(0.2 * M):.1f}")


def pydml_mcml_gradient() -> None:
    """MCML of pyDML: the gradient counts every point among the others of its class, the objective does not."""
    import numpy as np
    from dml import MCML

    X, y, h = np.array([[0.0], [1.0], [3.0]]), np.array([0, 0, 1]), 1e-6
    start = np.eye(1)
    step = MCML(learning_rate="constant", eta0=1e-6, max_iter=1, prec=0.0, tol=0.0)
    step.initial_ = None
    slope = ((start - step.fit(X, y).metric()) / 1e-6).item()
    ends = [np.asarray(MCML._compute_error(start + t, X, y)).item() for t in (h, -h)]
    print(f"MCML of pyDML: slope by its step {slope:.6f}, by differences {(ends[0] - ends[1]) / (2 * h):.6f}")


def pydml_itml_stop() -> None:
    """ITML of pyDML: the multipliers of the pass before are never kept, so that no fit ends before max_iter."""
    import time

    import numpy as np
    from dml import ITML
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    seconds = []
    for most in (2000, 20000):
        np.random.seed(0)  # noqa: NPY002
        start = time.perf_counter()
        ITML(tol=0.5, max_iter=most).fit(X, y)
        seconds.append(time.perf_counter() - start)
    print(f"ITML of pyDML: with tol=0.5, 2000 projections take {seconds[0]:.2f} s, and 20000 take {seconds[1]:.2f} s")


def pydml_eig_coordinates() -> None:
    """DML-eig of pyDML: the matrix of whitened points is returned as a metric on the features."""
    import numpy as np
    from dml import DML_eig
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    one, ten = (DML_eig().fit(t * X, y).metric() for t in (1.0, 10.0))
    print(f"DML-eig of pyDML: features times 10 change its metric, of the trace {np.trace(one):.6f}, by", end=" ")
    print(f"{np.abs(one - ten).max():.0e}")


def pydml_pairs() -> None:
    """DML-eig of pyDML: the first pair of every point is lost."""
    import numpy as np
    from dml import DML_eig

    y = np.array([0, 0, 1])
    _, far = DML_eig._similarity_set_to_iterable(*DML_eig._label_to_similarity_set(y))
    print(
        f"DML-eig of pyDML: points 0, 0, 1 have four dissimilar ordered pairs, it keeps {sum(map(len, far.values()))}"
    )


if __name__ == "__main__":
    if find_spec("metric_learn"):
        lsml_gradient()
        itml_bounds()
        rca_chunks()
        mmc_start()
        if len(sys.argv) > 1:
            lsml_with_weights(Path(sys.argv[1]))
    if find_spec("dml"):
        pydml_lmnn_gradient()
        pydml_mcml_gradient()
        pydml_itml_stop()
        pydml_eig_coordinates()
        pydml_pairs()
