"""Fit metrics of metric-learn, pyDML or PyTorch, in an environment that has it: a program of its own.

    python peers.py FOLDER [SECONDS]

A fit may take so many seconds. The folder holds ``X.npy`` and ``y.npy``, rows to learn from and their classes, and
``jobs.json``, a list of ``{"name", "method", "options"}``. ``torch-hinges`` and ``scipy-lbfgs`` have listed triplets in
place of classes, and leave their objective over the seconds. For every job ``NAME.npy`` is written, its metric, with
what the objective is made of: ``NAME-pairs.npy`` and ``NAME-r.npy`` (1 for similar pairs, -1 for others),
``NAME-quadruplets.npy``, ``NAME-targets.npy``, ``NAME-chunks.npy``, ``NAME-near.npy`` and ``NAME-far.npy`` (pairs of
DML-eig), or ``NAME-listed.npy`` (an anchor, a point of its class, and others). ``results.json`` has seconds,
iterations, bounds and errors.
"""

from __future__ import annotations

import importlib
import json
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

#: Drawing of pairs, quadruplets, chunks and batches.
SEED = 0
#: PyTorch's: listed triplets or choices, negatives of a choice, and rows of a batch.
LISTED, NEGATIVES, BATCH = 1000, 15, 64
#: Step sizes of a search, each of which falls to zero along a cosine.
RATES = (1e-2, 1e-1, 1.0)


def late(*_: Any) -> None:
    raise TimeoutError("not done in the seconds that a fit may take")


def drawn(y: np.ndarray, *, same_length: bool = False) -> np.ndarray:
    """Pairs of one class, then of two, as rows (i, j, 1 or -1): those that the supervised estimators draw by a seed."""
    from metric_learn.constraints import Constraints

    count = 20 * len(np.unique(y)) ** 2
    a, b, c, d = Constraints(y).positive_negative_pairs(count, same_length=same_length, random_state=SEED)
    near, far = np.column_stack([a, b, np.ones_like(a)]), np.column_stack([c, d, -np.ones_like(c)])
    return np.vstack([near, far])


def lowered(X: np.ndarray, rows: np.ndarray) -> float:
    """The largest balance among 0.05, 0.005, ... whose matrix ``I + balance sum r v v^T`` is positive definite."""
    V, balance = X[rows[:, 0]] - X[rows[:, 1]], 0.05
    scatter = (V.T * rows[:, 2]) @ V
    while np.linalg.eigvalsh(np.eye(X.shape[1]) + balance * scatter)[0] <= 0.0:
        balance /= 10.0
    return balance


def fitted_by_pydml(method: str, options: dict[str, Any], X: np.ndarray, y: np.ndarray) -> tuple[Any, dict[str, Any]]:
    """A fitted estimator of pyDML, with its metric, and the parts of its objective that the labels do not tell."""
    import dml

    kind, parts = getattr(dml, method), {}
    if method == "DML_eig":
        # The first of a point's pairs is lost in its lists.
        lists = kind._similarity_set_to_iterable(*kind._label_to_similarity_set(y))
        for part, of in zip(("near", "far"), lists):
            rows = np.array([(i, j) for i in of for j in of[i]])
            parts[part] = rows[(X[rows[:, 0]] != X[rows[:, 1]]).any(axis=1)] if part == "near" else rows
    if method == "ITML":
        # It draws by NumPy's global state, bounds first, and does not keep what it drew.
        np.random.seed(SEED)  # noqa: NPY002
        classes = len(np.unique(y))
        near, far = kind._compute_distance_extremes(X, 5, 95, np.eye(X.shape[1]))
        rows = kind._get_constraints_y(y, 40 * classes * (classes - 1), near, far)
        i, j = rows[:, :2].astype(int).T
        kept = np.abs(X[i] - X[j]).max(axis=1) > 1e-10
        parts = {"pairs": np.column_stack([i, j])[kept], "r": rows[kept, 2].astype(int), "bounds": [near, far]}
    np.random.seed(SEED)  # noqa: NPY002
    estimator = kind(**options)
    estimator.fit(X, y)
    if method == "LMNN":
        parts["targets"] = estimator.target_neighbors_
    return estimator.metric(), parts


def listed(y: np.ndarray, negatives: int) -> np.ndarray:
    """Rows of an anchor, another point of its class, and points of other classes."""
    rng, rows = np.random.default_rng(SEED), []
    while len(rows) < LISTED:
        i = rng.integers(len(y))
        near, far = np.flatnonzero((y == y[i]) & (np.arange(len(y)) != i)), np.flatnonzero(y != y[i])
        rows.append([i, rng.choice(near), *rng.choice(far, negatives, replace=False)])
    return np.array(rows)


def fitted_by_torch(method: str, options: dict[str, Any], X: np.ndarray, y: np.ndarray) -> tuple[Any, dict[str, Any]]:
    """L^T L of a linear layer after some epochs over listed triplets or choices.

    With ``lr="searched"`` the step size of ``RATES`` that ends at the least cost.
    """
    import torch
    from torch import nn
    from torch.nn import functional

    if method == "hinges":
        return hinges_by_torch(options, X, y)
    kind, optimizer = method.split("-")
    rows = listed(y, 1 if kind == "triplet" else NEGATIVES)
    points, places = torch.tensor(X, dtype=torch.float32), torch.as_tensor(rows)
    margin = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).square().sum(-1), margin=1.0)

    def loss(layer: nn.Linear, batch: torch.Tensor) -> torch.Tensor:
        images = layer(points[places[batch]])
        anchor, others = images[:, 0], images[:, 1:]
        if kind == "triplet":
            return margin(anchor, others[:, 0], others[:, 1])
        d = (anchor[:, None] - others).square().sum(-1)
        return functional.cross_entropy(-d, torch.zeros(len(d), dtype=torch.long))

    def trained(rate: float, falling: bool) -> tuple[float, np.ndarray]:
        order = torch.Generator().manual_seed(SEED)
        layer = nn.Linear(X.shape[1], X.shape[1], bias=False)
        nn.init.eye_(layer.weight)
        descent = getattr(torch.optim, optimizer)(layer.parameters(), lr=rate, weight_decay=options["weight_decay"])
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(descent, options["epochs"]) if falling else None
        for _ in range(options["epochs"]):
            for batch in torch.randperm(len(rows), generator=order).split(BATCH):
                descent.zero_grad()
                loss(layer, batch).backward()
                descent.step()
            if schedule is not None:
                schedule.step()
        with torch.no_grad():
            cost = loss(layer, torch.arange(len(rows))) + 0.5 * options["weight_decay"] * layer.weight.square().sum()
        L = layer.weight.detach().numpy().astype(float)
        return float(np.nan_to_num(cost.item(), nan=np.inf)), L.T @ L

    searched = options["lr"] == "searched"
    runs = [(*trained(rate, searched), rate) for rate in (RATES if searched else (options["lr"],))]
    _, metric, options["lr"] = min(runs, key=lambda run: run[0])
    return metric, {"listed": rows}


def hinges_by_torch(options: dict[str, Any], X: np.ndarray, listed: np.ndarray) -> tuple[Any, dict[str, Any]]:
    """Adam on a square factor, for triplets with a weight in the last column and a trace or squared norm, in batches.

    The step size falls to zero along a cosine. The objective of all after a pass over them is not counted.
    """
    import torch

    points, rows, weights = (torch.as_tensor(part) for part in (X, listed[:, :3].astype(np.int64), listed[:, 3]))
    L = (0.1 * torch.eye(X.shape[1], dtype=torch.float64)).requires_grad_()
    descent, everything = torch.optim.Adam([L]), torch.arange(len(rows))

    def objective(part: torch.Tensor) -> torch.Tensor:
        images, (q, i, j) = points @ L.T, rows[part].T
        if len(part) > len(X) ** 2 / 4:
            squared = torch.cdist(images, images, compute_mode="use_mm_for_euclid_dist").square()
            near, far = squared[q, i], squared[q, j]
        else:
            near, far = ((images[q] - images[k]).square().sum(1) for k in (i, j))
        hinges = (weights[part] * (options["margin"] + near - far).clamp(min=0.0)).sum() * (len(rows) / len(part))
        return hinges + options["trace"] * L.square().sum() + 0.5 * options["squared"] * (L.T @ L).square().sum()

    # The first step of a process imports more.
    objective(everything).backward()
    used, trail, metric = 0.0, [(0.0, np.inf)], None
    while used < options["seconds"]:
        begin = time.process_time()
        descent.param_groups[0]["lr"] = 0.5 * options["rate"] * (1.0 + np.cos(np.pi * used / options["seconds"]))
        for part in torch.randperm(len(rows)).split(options["batch"] or len(rows)):
            descent.zero_grad()
            objective(part).backward()
            descent.step()
        used += time.process_time() - begin
        with torch.no_grad():
            value = objective(everything).item()
        if value < trail[-1][1]:
            trail.append((used, value))
            metric = (L.T @ L).detach().numpy()
    return metric, {"trail": trail[1:]}


def items_by_factor(options: dict[str, Any], n: int, rows: np.ndarray) -> tuple[Any, dict[str, Any]]:
    """L-BFGS on a factor, for logistic losses of triplets of items and the trace of their Gram matrix."""
    from scipy.optimize import minimize

    (a, i, j), trail, best = rows.T, [(0.0, np.inf)], [np.eye(n)]
    start, begin = np.random.default_rng(SEED).normal(size=(n, options["rank"])) / np.sqrt(n), time.process_time()

    def at(flat: np.ndarray) -> tuple[float, np.ndarray]:
        L = flat.reshape(start.shape)
        gram = L @ L.T
        norms = np.diag(gram)
        s = norms[j] - norms[i] - 2.0 * (gram[a, j] - gram[a, i])
        value = float(np.logaddexp(0.0, -s).mean() + options["reg"] * norms.sum())
        w = 1.0 / len(rows) / (1.0 + np.exp(s))
        pulls = (np.bincount(a * n + i, w, n * n) - np.bincount(a * n + j, w, n * n)).reshape(n, n)
        pulls = pulls + pulls.T
        if value < trail[-1][1]:
            trail.append((time.process_time() - begin, value))
            best[0] = gram
        return value, (2.0 * ((options["reg"] + pulls.sum(axis=1))[:, None] * L - pulls @ L)).ravel()

    def stop(_: np.ndarray) -> None:
        if time.process_time() - begin > options["seconds"]:
            raise StopIteration

    many = {"maxiter": 10**6, "maxfun": 10**6, "maxcor": 20, "ftol": 0.0, "gtol": 0.0}
    minimize(at, start.ravel(), jac=True, method="L-BFGS-B", callback=stop, options=many)
    return best[0], {"trail": trail[1:]}


def fitted(method: str, options: dict[str, Any], X: np.ndarray, y: np.ndarray) -> tuple[Any, dict[str, Any]]:
    """A metric, and the parts of its objective: arrays for files, and lists for the results."""
    package, _, name = method.partition("-")
    if package == "pyDML":
        return fitted_by_pydml(name, options, X, y)
    if package == "torch":
        return fitted_by_torch(name, options, X, y)
    if package == "scipy":
        return items_by_factor(options, len(X), y)
    estimator, parts = fitted_by_metric_learn(method, options, X, y)
    parts["bounds"] = [float(end) for end in getattr(estimator, "bounds_", ())]
    parts["iterations"] = int(getattr(estimator, "n_iter_", 0))
    return estimator.components_.T @ estimator.components_, parts


def fitted_by_metric_learn(
    method: str, options: dict[str, Any], X: np.ndarray, y: np.ndarray
) -> tuple[Any, dict[str, Any]]:
    """An estimator, fitted, and the parts of its objective."""
    import metric_learn as ml

    if method == "LMNN":
        begin = time.process_time()
        estimator = ml.LMNN(**options).fit(X, y)
        seconds, labels = time.process_time() - begin, np.unique(y, return_inverse=True)[1]
        return estimator, {"targets": estimator._select_targets(X, labels), "seconds": seconds}
    if method == "RCA":
        chunks = ml.constraints.Constraints(y).chunks(options["n_chunks"], 2, random_state=SEED)
        return ml.RCA_Supervised(random_state=SEED, **options).fit(X, y), {"chunks": chunks}
    begin = time.process_time()
    rows = drawn(y, same_length=method == "LSML")
    drew = time.process_time() - begin
    parts: dict[str, Any] = {"pairs": rows[:, :2], "r": rows[:, 2]}
    if options.get("balance_param") == "lowered":
        options["balance_param"] = lowered(X, rows)
    if method == "LSML":
        half = len(rows) // 2
        parts = {"quadruplets": np.hstack([rows[:half, :2], rows[half:, :2]])}
    begin = time.process_time()
    estimator = getattr(ml, f"{method}_Supervised")(random_state=SEED, **options).fit(X, y)
    # It draws the rows again, which is no part of learning.
    parts["seconds"] = time.process_time() - begin - drew
    return estimator, parts


def main() -> None:
    folder, limit = Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 60.0
    X, y = np.load(folder / "X.npy", allow_pickle=False), np.load(folder / "y.npy", allow_pickle=False)
    signal.signal(signal.SIGPROF, late)
    kept = folder / "results.json"
    results = json.loads(kept.read_text("utf-8")) if kept.exists() else []
    done = {result["name"] for result in results}
    jobs = json.loads((folder / "jobs.json").read_text("utf-8"))
    # So that no fit is charged with the import.
    package = jobs[0]["method"].partition("-")[0]
    modules = {"pyDML": "dml", "torch": "torch", "scipy": "scipy.optimize"}
    importlib.import_module(modules.get(package, "metric_learn"))
    if package == "torch" and y.ndim == 1:
        # The first step of a process imports more.
        fitted("torch-InfoNCE-Adam", {"epochs": 1, "lr": 1e-3, "weight_decay": 0.0}, X, y)
    for job in jobs:
        if job["name"] in done:
            continue
        options, start, warned = dict(job["options"]), time.process_time(), []
        result = {**job, "error": ""}
        try:
            # Of the processor, as all seconds here: others on the machine do not add to them.
            signal.setitimer(signal.ITIMER_PROF, limit)
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                metric, parts = fitted(job["method"], options, X.copy(), y)
            np.save(folder / f"{job['name']}.npy", np.asarray(metric, dtype=float))
            for part, held in parts.items():
                if isinstance(held, np.ndarray):
                    np.save(folder / f"{job['name']}-{part}.npy", held)
                else:
                    result[part] = held
        except Exception as error:
            # Whatever a package raises is a row of the table.
            result["error"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            if job["method"] == "SDML":
                rows = drawn(y)
                np.save(folder / f"{job['name']}-pairs.npy", rows[:, :2])
                np.save(folder / f"{job['name']}-r.npy", rows[:, 2])
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        result.setdefault("seconds", time.process_time() - start)
        result["options"] = options
        result["warnings"] = sorted({str(each.message).splitlines()[0][:120] for each in warned})
        results.append(result)
        kept.write_text(json.dumps(results, indent=1), "utf-8")


if __name__ == "__main__":
    main()
