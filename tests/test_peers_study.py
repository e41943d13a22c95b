"""The study of other packages' metrics: statements are the objectives that their code has, ratios are bounds."""

import json
import os
import subprocess
import zipfile
from functools import partial
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from study import items, run, statements

import convexmetric as cm


def points(n=36, d=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, d)) + 0.8 * np.eye(3, d)[y], y


def metric(d=3, seed=1):
    L = np.random.default_rng(seed).normal(size=(d, d))
    return L @ L.T / d + 0.1 * np.eye(d)


def drawn(y, count=20, seed=2):
    """Pairs with kinds, as many similar as dissimilar."""
    every = np.random.default_rng(seed).permutation([(i, j) for i in range(len(y)) for j in range(i)])
    same = y[every[:, 0]] == y[every[:, 1]]
    return np.vstack([every[same][:count], every[~same][:count]]), np.repeat([1, -1], count)


def neighbours(X, y, k=2):
    d = ((X[:, None] - X) ** 2).sum(axis=2) + np.where(y[:, None] == y, 0.0, np.inf)
    np.fill_diagonal(d, np.inf)
    return np.argsort(d, axis=1)[:, :k]


def statement(method, X, y):
    pairs, r = drawn(y)
    return {
        "LMNN": lambda: statements.lmnn(X, y, neighbours(X, y), 0.4),
        "ITML": lambda: statements.itml(X, pairs, r, [1.0, 4.0], 0.7),
        "SDML": lambda: statements.sdml(X, pairs, r, 0.01, 0.05),
        "MMC": lambda: statements.mmc(X, pairs, r),
        "LSML": lambda: statements.lsml(X, np.hstack([pairs[:20], pairs[20:]])),
        "RCA": lambda: statements.rca(X, np.where(np.arange(36) < 24, np.arange(36) // 2, -1)),
        "LSI": lambda: statements.mmc(X, *statements.all_pairs(y)),
        "MCML": lambda: statements.mcml(X, y),
        "LDML": lambda: statements.ldml(X, y),
        "DML-eig": lambda: statements.dml_eig(X, pairs[r == 1], pairs[r == -1], 0.1),
        "triplet": lambda: statements.triplets(X, choices(y, 1), 0.02),
        "InfoNCE": lambda: statements.infonce(X, choices(y, 4), 0.02),
    }[method]()


def choices(y, negatives, count=30, seed=3):
    """Rows of an anchor, another point of its class, and points of other classes."""
    rng = np.random.default_rng(seed)
    anchors = rng.integers(len(y), size=count)
    near = [rng.choice(np.flatnonzero((y == y[i]) & (np.arange(len(y)) != i))) for i in anchors]
    far = [rng.choice(np.flatnonzero(y != y[i]), negatives, replace=False) for i in anchors]
    return np.column_stack([anchors, near, np.array(far)])


METHODS = [
    "LMNN", "ITML", "SDML", "MMC", "LSML", "RCA", "LSI", "MCML", "LDML", "DML-eig", "triplet", "InfoNCE",
]  # fmt: skip


@pytest.mark.parametrize("method", [method for method in METHODS if method != "LSML"])
def test_blocks_and_plain_numpy_agree_at_any_metric(method):
    X, y = points()
    stated = statement(method, X, y)
    for seed in range(5):
        # Metrics are taken below their budget, where rounding does not decide.
        M = 0.9 * stated.feasible(metric(seed=seed))
        assert stated.problem.value(stated.variable(M)) == pytest.approx(stated.cost(M), rel=1e-10)
        assert stated.on_features(stated.variable(M)) == pytest.approx(M, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_an_optimum_is_proven_and_no_metric_is_below_it(method, tmp_path):
    X, y = points()
    found = run.solved(lambda: statement(method, X, y), tmp_path / "own.npz", 20.0)
    stated = found["statement"]
    assert found["verdict"] == "accepted"
    assert found["own_rules"] == (method == "LDML")
    assert found["upper"] - found["lower"] <= 1.2e-6 * abs(found["upper"]) + 2 * run.ZERO
    for seed in range(20):
        assert stated.cost(stated.feasible(metric(seed=seed))) >= found["lower"]


@pytest.mark.parametrize("method", ["LSML", "MCML", "LDML", "DML-eig"])
def test_a_claim_above_the_optimum_is_not_accepted(method, tmp_path):
    X, y = points()
    rules = run.solved(lambda: statement(method, X, y), tmp_path / "own.npz", 20.0)["statement"].rules
    with zipfile.ZipFile(tmp_path / "own.npz") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members["certificate.json"])
    document["claimed"]["lower"] = document["claimed"]["upper"] = "100000"
    with zipfile.ZipFile(tmp_path / "raised.npz", "w") as archive:
        for name, data in (members | {"certificate.json": json.dumps(document).encode()}).items():
            archive.writestr(zipfile.ZipInfo(name), data)
    assert cm.verify(tmp_path / "own.npz", rules=rules).accepted
    assert not cm.verify(tmp_path / "raised.npz", rules=rules).accepted


def test_the_loss_of_ldml_is_refused_without_its_rule(tmp_path):
    X, y = points()
    run.solved(lambda: statement("LDML", X, y), tmp_path / "own.npz", 20.0)
    with pytest.raises(cm.certificates.CertificateError, match="shifted logistic"):
        cm.verify(tmp_path / "own.npz")


def test_the_rule_of_ldml_is_true_of_its_loss():
    """Values from above, lines from below, against the loss in decimals of 50 digits; a line without mu is caught."""
    from decimal import Decimal, localcontext

    from study.rules import ShiftedLogistic

    from convexmetric.certificates.kernel import Ball

    rng = np.random.default_rng(0)
    s, mu, a = rng.normal(scale=5.0, size=200), rng.normal(size=200), rng.uniform(size=200)
    rule = ShiftedLogistic({})
    value, line = rule.value(Ball(s), Ball(mu)), rule.line(a, Ball(mu))
    with localcontext(prec=50):
        exact = [(1 + (Decimal(m) - Decimal(t)).exp()).ln() for t, m in zip(s, mu, strict=True)]
        for k in range(200):
            assert Decimal(value.above()[k]) >= exact[k]
            assert float(value.above()[k]) <= float(exact[k]) + 1e-12
            assert Decimal(line.below()[k]) - Decimal(a[k]) * Decimal(s[k]) <= exact[k]
    # The best slope attains the loss.
    best = 1.0 / (1.0 + np.exp(s - mu))
    attained = rule.line(best, Ball(mu)).mid - best * s
    assert attained == pytest.approx([float(x) for x in exact], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("method", ["MCML", "LDML", "DML-eig", "triplet", "InfoNCE"])
def test_objectives_of_pydml_and_pytorch_are_those_of_a_conic_program(method, tmp_path):
    X, y = points(24)
    pairs, r = drawn(y)
    M = cp.Variable((3, 3), PSD=True)

    def d(rows):
        V = X[rows[:, 0]] - X[rows[:, 1]]
        return cp.sum(cp.multiply(V @ M, V), axis=1)

    every, kinds = statements.all_pairs(y)
    ordered, both = np.vstack([every, every[:, ::-1]]), np.tile(kinds, 2)
    hold = []
    if method == "MCML":
        cost = cp.sum(d(ordered[both == 1]))
        for i in range(len(y)):
            others = np.array([(i, k) for k in range(len(y)) if k != i])
            cost += (np.sum(y == y[i]) - 1) * cp.log_sum_exp(-d(others))
        stated = partial(statements.mcml, X, y)
    elif method == "LDML":
        cost = cp.sum(cp.logistic(d(ordered[both == 1]) - 1e-3)) + cp.sum(cp.logistic(1e-3 - d(ordered[both == -1])))
        stated = partial(statements.ldml, X, y)
    elif method == "DML-eig":
        V = X[pairs[r == 1, 0]] - X[pairs[r == 1, 1]]
        hold = [cp.sum(cp.multiply(V @ M, V)) <= 1.0]
        cost = cp.log_sum_exp(-d(pairs[r == -1]) / 0.1) - np.log(20)
        stated = partial(statements.dml_eig, X, pairs[r == 1], pairs[r == -1], 0.1)
    else:
        rows = choices(y, 1 if method == "triplet" else 4)
        near, anchors = d(rows[:, :2]), rows[:, 0]
        if method == "triplet":
            cost = cp.sum(cp.pos(1.0 + near - d(rows[:, [0, 2]]))) / len(rows)
        else:
            far = [d(np.column_stack([anchors, rows[:, c]])) for c in range(1, 6)]
            cost = cp.sum(near + cp.log_sum_exp(-cp.vstack(far), axis=0)) / len(rows)
        cost += 0.01 * cp.trace(M)
        stated = partial(statements.triplets if method == "triplet" else statements.infonce, X, rows, 0.02)
    printed = cp.Problem(cp.Minimize(cost), hold).solve(solver="CLARABEL")
    found = run.solved(stated, tmp_path / "own.npz", 20.0)
    assert found["lower"] - 1e-5 * abs(printed) <= printed <= found["upper"] + 1e-5 * abs(printed)


def test_lsml_as_printed_is_convex_and_its_bounds_are_those_of_a_conic_program(tmp_path):
    X, y = points()
    pairs, _ = drawn(y)
    quadruplets = np.hstack([pairs[:20], pairs[20:]])
    stated = statements.lsml(X, quadruplets)
    for seed in range(20):
        M, N = metric(seed=seed), metric(seed=100 + seed)
        assert stated.cost(0.5 * (M + N)) <= 0.5 * (stated.cost(M) + stated.cost(N)) + 1e-12
    V, W = (X[quadruplets[:, c]] - X[quadruplets[:, c + 1]] for c in (0, 2))
    M, a, s = cp.Variable((3, 3), PSD=True), cp.Variable(len(V)), cp.Variable(len(V))
    near, far = (cp.sum(cp.multiply(U @ M, U), axis=1) for U in (V, W))
    # With a >= d(i, j), (sqrt(a) - sqrt(b))^2 = a + b - 2 s where s^2 = a b.
    hold = [a >= near, *(cp.geo_mean(cp.hstack([a[t], far[t]])) >= s[t] for t in range(len(V)))]
    cost = cp.trace(M) - cp.log_det(M) - 3 + cp.sum(a + far - 2 * s) / len(V)
    printed = cp.Problem(cp.Minimize(cost), hold).solve(solver="CLARABEL")
    found = run.solved(lambda: stated, tmp_path / "own.npz", 20.0)
    assert found["lower"] - 1e-6 <= printed <= found["upper"] + 1e-6


def test_sdml_is_the_objective_of_the_graphical_lasso():
    covariance = pytest.importorskip("sklearn.covariance")
    X, y = points()
    pairs, r = drawn(y)
    V, M = X[pairs[:, 0]] - X[pairs[:, 1]], metric()
    S = np.eye(3) + 0.01 * (V.T * r) @ V
    likelihood = -2.0 * covariance.log_likelihood(S, M) - 3 * np.log(2.0 * np.pi)
    off = np.abs(M).sum() - np.trace(M)
    assert statements.sdml(X, pairs, r, 0.01, 0.05).cost(M) == pytest.approx(likelihood + 0.05 * off - 3, rel=1e-10)


def test_sdml_that_has_no_optimum_is_told_from_one_that_has():
    X, y = points()
    pairs, r = drawn(y)
    assert not statements.falls_forever(X, pairs, r, 1e-4, 0.01)
    assert statements.falls_forever(X, pairs, r, 10.0, 0.01)
    V = X[pairs[:, 0]] - X[pairs[:, 1]]
    v = np.linalg.eigh(np.eye(3) + 10.0 * (V.T * r) @ V)[1][:, 0]
    stated = statements.sdml(X, pairs, r, 10.0, 0.01)
    costs = [stated.cost(np.eye(3) + t * np.outer(v, v)) for t in (1e2, 1e3, 1e4)]
    assert costs[2] < costs[1] < costs[0] < -100.0


def test_objectives_are_those_of_the_code_of_metric_learn():
    ml = pytest.importorskip("metric_learn", reason="metric-learn is not installed")
    X, y = points()
    pairs, r = drawn(y)
    V, W, M = X[pairs[:20, 0]] - X[pairs[:20, 1]], X[pairs[20:, 0]] - X[pairs[20:, 1]], metric()
    L = np.linalg.cholesky(M).T
    learner = ml.LMNN(n_neighbors=2, regularization=0.6)
    learner.labels_, T = np.arange(3), neighbours(X, y)
    U = X[np.repeat(np.arange(len(X)), 2)] - X[T.ravel()]
    objective = learner._loss_grad(X, L, U.T @ U, 2, 0.6, T, y)[1]
    assert statements.lmnn(X, y, T, 0.4).cost(M) == pytest.approx(objective, rel=1e-9)
    lsml = ml.LSML()
    lsml.w_ = np.full(20, 1 / 20)
    stated = statements.lsml(X, np.hstack([pairs[:20], pairs[20:]]))
    assert stated.cost(M) == pytest.approx(lsml._total_loss(M, V, W, np.eye(3)) - 3, rel=1e-9)
    logarithm = ml.MMC()._fD(X[pairs[r == -1]], M)
    assert statements.mmc(X, pairs, r).cost(M) == pytest.approx(1e-6 - np.exp(logarithm), rel=1e-9)


def test_a_worse_metric_has_a_larger_ratio(tmp_path):
    X, y = points()
    for method in ("LMNN", "MMC"):
        stated = statement(method, X, y)
        found = run.solved(lambda: stated, tmp_path / "own.npz", 20.0)  # noqa: B023 - called at once
        away = np.diag([1.0, 0.0, 0.0])
        ratios = [run.judged(found["M"] + t * away, stated, found)["ratio"] for t in (0.0, 1.0, 10.0)]
        assert 1.0 <= ratios[0] <= 1.0 + 1e-5
        assert ratios[0] < ratios[1] < ratios[2]


def test_ratios_need_a_bound_above_zero():
    assert run.ratio(3.0, 2.0) == 1.5
    assert run.ratio(-2.0, -3.0, maximum=True) == 1.5
    assert run.ratio(0.0, -3.0, maximum=True) == np.inf
    assert np.isnan(run.ratio(1.0, -1.0))
    assert np.isnan(run.ratio(-2.0, -3.0))
    assert np.isnan(run.ratio(1e-12, 1e-13))


def test_records_and_tables_of_a_set_without_the_packages(tmp_path, monkeypatch):
    """Fits are arrays in a folder: here the identity for ITML, and for RCA the inverse scatter in chunks."""

    def fits(python, folder, X, y, methods, limit):
        folder.mkdir(parents=True, exist_ok=True)
        pairs, r = drawn(y)
        chunks = np.where(np.arange(len(X)) < 40, np.arange(len(X)) // 2, -1)
        rows = np.vstack([X[chunks == c] - X[chunks == c].mean(axis=0) for c in range(20)])
        made = [("ITML-0", np.eye(4)), ("ITML-1", 0.5 * np.eye(4)), ("RCA-0", np.linalg.inv(rows.T @ rows / 40))]
        for name, M in made:
            np.save(folder / f"{name}.npy", M)
            np.save(folder / f"{name}-pairs.npy", pairs)
            np.save(folder / f"{name}-r.npy", r)
            np.save(folder / f"{name}-chunks.npy", chunks)
        shared = {"options": {}, "seconds": 1.0, "error": "", "warnings": [], "bounds": [1.0, 4.0]}
        failed = {**shared, "name": "RCA-1", "method": "RCA", "error": "ValueError: too few"}
        return [{**shared, "name": name, "method": name[:-2]} for name, _ in made] + [failed]

    monkeypatch.setattr(run, "fits_of_peers", fits)
    records = run.study("iris", tmp_path, None, ["ITML", "RCA"], 20.0)
    identity, half, rca, _ = records
    X, y, Z, z = run.split("iris")
    assert identity["held_out"] == half["held_out"] == identity["euclidean"]
    nearest = np.argsort(((Z[:, None] - X) ** 2).sum(axis=2), axis=1)[:, :3]
    wrong = [np.bincount(y[row], minlength=3).argmax() != label for row, label in zip(nearest, z, strict=True)]
    assert identity["euclidean"] == pytest.approx(np.mean(wrong))
    pairs, r = drawn(y)
    d = ((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2).sum(axis=1)
    t = np.where(r == 1, np.maximum(d / 1.0, 1.0), np.minimum(d / 4.0, 1.0))
    assert identity["cost"] == pytest.approx((t - np.log(t) - 1.0).sum())
    assert identity["ratio"] > 1.0
    assert identity["optimum_gap"] <= 2e-6
    assert abs(rca["excess"]) <= 1e-8
    shown = run.tables(records)
    assert f"{run.digits(identity['ratio'])} / {run.digits(half['ratio'])}" in shown
    assert "ValueError" in shown
    assert "2 certificate files, 2 of them accepted, 2 by the kernel alone" in shown
    # Ones that were solved together share their bound.
    assert identity["optimum_lower"] == half["optimum_lower"]
    # A second run reads what the first left, and makes nothing anew.
    monkeypatch.setattr(run, "solved", None)
    assert json.loads(json.dumps(records)) == run.study("iris", tmp_path, None, ["ITML", "RCA"], 20.0)


def python_with(package, variable):
    """The Python of an environment with a package, which a variable names; the test is skipped without it."""
    if variable not in os.environ:
        pytest.skip(f"{variable} does not name the Python of an environment with {package}")
    return os.environ[variable]


@pytest.mark.integration
def test_a_set_with_metric_learn_itself(tmp_path):
    python = python_with("metric-learn", "CONVEXMETRIC_PEERS")
    records = run.study("iris", tmp_path, Path(python), ["LSML", "MMC", "SDML"], 20.0)
    assert [record["method"] for record in records] == ["LSML", "LSML", "MMC", "MMC", "SDML", "SDML"]
    first = records[4]
    assert first["unbounded"]
    assert first["error"].startswith("RuntimeError")
    for record in records[:4] + records[5:]:
        assert not record["error"]
        assert record["excess"] >= 0.0
        assert record["optimum_gap"] <= 1.2e-6
        assert record["optimum_verdict"] == "accepted"


OF_PYDML = """
import sys
import numpy as np
import dml
X, y, M = (np.load(f"{sys.argv[1]}/{name}.npy") for name in "XyM")
outers = dml.dml_utils.calc_outers(X)
near, far = dml.DML_eig._similarity_set_to_iterable(*dml.DML_eig._label_to_similarity_set(y))
pairs = lambda lists: np.array([(i, j) for i in lists for j in lists[i]])
S, D = dml.LSI.label_to_similarity_set(y)
soft = dml.DML_eig(max_it=1, mu=0.01)
soft.fit(X, y)
np.savez(
    f"{sys.argv[1]}/theirs.npz",
    mcml=dml.MCML._compute_error(M, X, y),
    ldml=dml.LDML._compute_error(M, X, y, outers, 1e-3),
    lsi=dml.LSI.fD(X, D, M, *X.shape),
    spent=dml.LSI.fS(X, S, M, *X.shape),
    soft=soft.metadata()["final_error"],
    near=pairs(near),
    far=pairs(far),
)
"""


@pytest.mark.integration
def test_objectives_are_those_of_the_code_of_pydml(tmp_path):
    python = python_with("pyDML", "CONVEXMETRIC_PEERS_PYDML")
    X, y = points()
    M = metric()
    for name, array in (("X", X), ("y", y), ("M", M)):
        np.save(tmp_path / f"{name}.npy", array)
    subprocess.run([python, "-c", OF_PYDML, tmp_path], check=True)
    theirs = dict(np.load(tmp_path / "theirs.npz", allow_pickle=False))
    assert statements.mcml(X, y).cost(M) == pytest.approx(theirs["mcml"].item(), rel=1e-10)
    # Its 36 pairs of a point with itself are left out.
    own = 36 * np.log1p(np.exp(-1e-3))
    assert statements.ldml(X, y).cost(M) + own == pytest.approx(-theirs["ldml"].item(), rel=1e-10)
    lsi = statements.mmc(X, *statements.all_pairs(y))
    assert 2 * lsi.cost(M) == pytest.approx(-theirs["lsi"].item(), rel=1e-10)
    total = statements.squared((X[:, None] - X)[y[:, None] == y], np.eye(3)).sum()
    assert lsi.feasible(M) == pytest.approx(M * total / (100 * theirs["spent"].item()), rel=1e-9)
    # Its first metric is I / 3 of whitened points, and its function a sum and not a mean.
    stated = statements.dml_eig(X, theirs["near"], theirs["far"], 0.01)
    mean = 0.01 * (np.log(len(theirs["far"])) + stated.cost(stated.on_features(np.eye(3) / 3)))
    assert mean == pytest.approx(-theirs["soft"].item(), rel=1e-9)


def test_hinges_of_items_are_gnmds_as_cblearn_has_it():
    Z, triplets = metric(8), items.made("wine", 8, 0.1, np.random.default_rng(0))[:50]
    near, far = (((Z[triplets[:, 0]] - Z[triplets[:, place]]) ** 2).sum(axis=1) for place in (1, 2))
    problem = items.hinges(triplets, 0.3)
    stress = np.maximum(0.0, near + 1.0 - far).sum() + problem.regularizer.weights().trace * (Z**2).sum()
    assert problem.objective(Z @ Z.T) == pytest.approx(stress, rel=1e-10)
    assert items.error(Z, triplets) == np.mean(near > far)


OF_TORCH = """
import sys
sys.path.insert(0, sys.argv[2])
import numpy as np
import peers
import torch
X, y = (np.load(f"{sys.argv[1]}/{name}.npy") for name in "Xy")
held = {}
for kind in ("triplet", "InfoNCE"):
    # One step from the identity: the slope at M = I, of the loss and of the decay.
    peers.LISTED, peers.BATCH = 30, 30
    options = {"lr": 1e-3, "epochs": 1, "weight_decay": 0.02}
    metric, parts = peers.fitted_by_torch(f"{kind}-SGD", options, X, y)
    held |= {f"{kind}-step": metric, f"{kind}-rows": parts["listed"]}
np.savez(f"{sys.argv[1]}/theirs.npz", **held)
"""


@pytest.mark.integration
def test_a_step_of_pytorch_follows_the_stated_objective(tmp_path):
    python = python_with("PyTorch", "CONVEXMETRIC_PEERS_TORCH")
    X, y = points()
    for name, array in (("X", X), ("y", y)):
        np.save(tmp_path / f"{name}.npy", array)
    subprocess.run([python, "-c", OF_TORCH, tmp_path, Path(run.__file__).parent], check=True)
    theirs = dict(np.load(tmp_path / "theirs.npz", allow_pickle=False))
    for kind, state in (("triplet", statements.triplets), ("InfoNCE", statements.infonce)):
        stated, h = state(X, theirs[f"{kind}-rows"], 0.02), 1e-6
        # L is symmetric here, as every step from the identity leaves it.
        w, V = np.linalg.eigh(theirs[f"{kind}-step"])
        L = (V * np.sqrt(w)) @ V.T
        for a in range(3):
            for b in range(3):
                E = np.eye(3)[[a]].T @ np.eye(3)[[b]]
                ends = [stated.cost((np.eye(3) + t * E).T @ (np.eye(3) + t * E)) for t in (h, -h)]
                slope = (ends[0] - ends[1]) / (2 * h)
                assert (np.eye(3) - L)[a, b] / 1e-3 == pytest.approx(slope, rel=1e-3, abs=1e-3)
