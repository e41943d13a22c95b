"""The command line, run as a user runs it."""

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.io

import convexmetric as cm

WINE = "ranking-auc-wine-c1"


def run(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "convexmetric", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=cwd,
        check=False,
    )


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """One solve that writes everything there is to write."""
    folder = tmp_path_factory.mktemp("solve")
    result = run("solve", WINE, "--json", "--save", folder / "wine.npz", "--plot", folder / "wine.png")
    return folder, result


def test_version_and_list():
    assert run("--version").stdout.strip() == cm.__version__
    result = run("list", "--json")
    assert result.returncode == 0
    names = [record["name"] for record in json.loads(result.stdout)]
    assert names == cm.list_problems()
    table = run("list").stdout
    assert all(name in table for name in names)


def test_solve_prints_one_json_object_with_certified_bounds(solved):
    _, result = solved
    assert result.returncode == 0, result.stderr
    record = json.loads(result.stdout)
    assert {"name", "lower_bound", "upper_bound", "gap", "iterations", "seconds", "rank"} <= set(record)
    instance = cm.load_instance(WINE)
    assert record["gap"] <= 1e-6
    assert record["lower_bound"] <= instance.upper_bound
    assert record["upper_bound"] >= instance.lower_bound


def test_saved_solutions_prove_their_bounds_again(solved):
    folder, _ = solved
    with np.load(folder / "wine.npz", allow_pickle=False) as file:
        dual = cm.CutDual(file["witnesses"], file["weights"], file["groups"])
        certificate = cm.certify(cm.load_problem(WINE), file["M"], dual)
        assert certificate.gap <= 1e-6
        assert certificate.lower_bound == pytest.approx(float(file["lower_bound"]), rel=1e-9)


def test_the_picture_is_a_picture(solved):
    folder, _ = solved
    picture = (folder / "wine.png").read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(picture) > 20_000


@pytest.mark.parametrize("suffix", ["npz", "npy", "csv", "mat"])
def test_audit_reads_every_format(solved, tmp_path, suffix):
    folder, _ = solved
    with np.load(folder / "wine.npz", allow_pickle=False) as file:
        M = file["M"]
    path = tmp_path / f"metric.{suffix}"
    {
        "npz": lambda: np.savez(path, M=M),
        "npy": lambda: np.save(path, M),
        "csv": lambda: np.savetxt(path, M, delimiter=","),
        "mat": lambda: scipy.io.savemat(path, {"W": M}),
    }[suffix]()
    result = run("audit", WINE, path, "--json", "--tol", "2e-6")
    assert result.returncode == 0, result.stderr
    verdict = json.loads(result.stdout)
    assert verdict["feasible"]
    assert verdict["suboptimality"] <= 2e-6


def test_audit_of_a_poor_metric_fails_its_tolerance(tmp_path):
    np.save(tmp_path / "euclidean.npy", np.eye(13))
    result = run("audit", WINE, tmp_path / "euclidean.npy", "--tol", "0.01")
    assert result.returncode == 1
    assert "suboptimality" in result.stdout
    assert "not certified" in result.stderr


def test_a_gap_above_tol_is_said_and_is_exit_code_1():
    result = run("solve", WINE, "--max-iter", "3", "--json", "--quiet")
    assert result.returncode == 1
    assert json.loads(result.stdout)["status"] == "max_iter"
    assert "not certified" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("solve", "ranking-auc-wine-c2"), "did you mean"),
        (("solve", WINE, "--tol", "2"), "tol"),
        (("solve", WINE, "--solver", "simplex"), "solver must be one of"),
        (("solve", WINE, "--plot", "picture.txt"), "a picture is written as"),
        (("audit", WINE, "nowhere.npy"), "nowhere.npy"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(arguments, message):
    result = run(*arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_demo_prints_bounds_and_audits_and_draws(tmp_path):
    result = run("demo", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    for words in ("lower bound", "upper bound", "Euclidean metric", "1000 subgradient steps", "certified optimum"):
        assert words in result.stdout
    assert (tmp_path / "convexmetric-demo.png").stat().st_size > 50_000
