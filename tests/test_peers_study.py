"""The study of other packages' metrics: statements are the objectives that their code has, ratios are bounds."""

import json
import os
import zipfile
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from study import faults, run, statements

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
    }[method]()


METHODS = ["LMNN", "ITML", "SDML", "MMC", "LSML", "RCA"]


@pytest.mark.parametrize("method", ["LMNN", "ITML", "SDML", "MMC", "RCA"])
def test_blocks_and_plain_numpy_agree_at_any_metric(method):
    X, y = points()
    stated = statement(method, X, y)
    for seed in range(5):
        # MMC's is taken below its budget, where rounding does not decide.
        M = 0.9 * stated.feasible(metric(seed=seed))
        assert stated.problem.value(stated.variable(M)) == pytest.approx(stated.cost(M), rel=1e-10)
        assert stated.on_features(stated.variable(M)) == pytest.approx(M, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_an_optimum_is_proven_and_no_metric_is_below_it(method, tmp_path):
    X, y = points()
    stated = statement(method, X, y)
    found = run.solved(stated, tmp_path / "own.npz", 20.0)
    assert found["upper"] - found["lower"] <= 1.2e-6 * abs(found["upper"]) + 2 * run.ZERO
    for seed in range(20):
        assert stated.cost(stated.feasible(metric(seed=seed))) >= found["lower"]


def test_a_claim_above_the_optimum_is_not_accepted(tmp_path):
    X, y = points()
    run.solved(statement("LSML", X, y), tmp_path / "own.npz", 20.0)
    with zipfile.ZipFile(tmp_path / "own.npz") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members["certificate.json"])
    document["claimed"]["lower"] = document["claimed"]["upper"] = "1000"
    with zipfile.ZipFile(tmp_path / "raised.npz", "w") as archive:
        for name, data in (members | {"certificate.json": json.dumps(document).encode()}).items():
            archive.writestr(zipfile.ZipInfo(name), data)
    assert not cm.verify(tmp_path / "raised.npz").accepted


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
    found = run.solved(stated, tmp_path / "own.npz", 20.0)
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
        found = run.solved(stated, tmp_path / "own.npz", 20.0)
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

    def fits(python, folder, X, y, methods):
        folder.mkdir(parents=True)
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
    # Ones that were solved together share their bound.
    assert identity["optimum_lower"] == half["optimum_lower"]


def test_faults_of_metric_learn_are_there(capsys):
    pytest.importorskip("metric_learn", reason="metric-learn is not installed")
    faults.lsml_gradient()
    faults.rca_chunks()
    printed = capsys.readouterr().out
    assert "by its gradient 10.000000, by differences 1.000000" in printed
    assert "[28, 22, 0]" in printed


@pytest.mark.integration
def test_a_set_with_metric_learn_itself(tmp_path):
    python = os.environ.get("CONVEXMETRIC_PEERS")
    if python is None:
        pytest.skip("CONVEXMETRIC_PEERS does not name the Python of an environment with metric-learn")
    records = run.study("iris", tmp_path, Path(python), ["LSML", "MMC", "SDML"], 20.0)
    assert [record["method"] for record in records] == ["LSML", "LSML", "MMC", "MMC", "SDML", "SDML"]
    first = records[4]
    assert first["unbounded"]
    assert first["error"].startswith("RuntimeError")
    for record in records[:4] + records[5:]:
        assert not record["error"]
        assert record["ratio"] >= 1.0
        assert record["optimum_gap"] <= 1.2e-6
