"""A solve that was stopped or killed goes on from its file, and nothing in the file is believed."""

import os
import signal
import subprocess
import sys
import time
import warnings
import zipfile

import cvxpy as cp
import numpy as np
import pytest
from catalogue import instance
from samples import some

import convexmetric as cm
from convexmetric.errors import GapWarning, InputError
from convexmetric.solvers.runtime.checkpoint import Checkpoint


def wine(C=100.0, measure="auc", **options):
    data = cm.datasets.load("wine")
    X = cm.datasets.preprocess(data.X, ["zscore"])[::2]
    return cm.RankingProblem.from_labels(X, data.y[::2], measure=measure, C=C, **options)


def stopped(problem, path, passes, **options):
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        return cm.solve(problem, max_iter=passes, checkpoint=path, **options)


@pytest.mark.parametrize(
    ("problem", "solver"),
    some(
        [
            (lambda: wine(), "cutting-planes"),
            (lambda: wine(measure="map"), "cutting-planes"),
            (lambda: wine(diagonal=True, penalty="squared-frobenius"), "cutting-planes"),
            (lambda: wine(1.0), "cutting-planes-plain"),
            (lambda: wine(), None),
            (lambda: wine(measure="map"), None),
            (lambda: wine(1.0), "smoothed-newton"),
            (lambda: wine(10.0).subject_to(lambda M: [cp.trace(M) == 1], lambda M: 0.1 * cp.sum(cp.abs(M))), None),
            (lambda: instance("relative, A, soft"), None),
            (lambda: instance("relative, rbf, hard"), None),
            (lambda: instance("psd triplets, squared Frobenius, G"), "interior-point"),
        ],
        5,
    ),
)
def test_a_solve_cut_short_ends_at_the_same_optimum(tmp_path, problem, solver):
    path = tmp_path / "state.npz"
    tol = 1e-4 if solver == "cutting-planes-plain" else 1e-6
    whole = cm.solve(problem(), tol=tol, solver=solver)
    first = stopped(problem(), path, 3, tol=tol, solver=solver)
    second = stopped(problem(), path, 6, tol=tol, solver=solver)
    assert second.upper_bound <= first.upper_bound * (1 + 1e-12)
    assert second.lower_bound >= first.lower_bound * (1 - 1e-12)
    last = cm.solve(problem(), tol=tol, solver=solver, checkpoint=path)
    assert last.gap <= tol
    assert last.lower_bound <= whole.upper_bound * (1 + 1e-9)
    assert whole.lower_bound <= last.upper_bound * (1 + 1e-9)
    numbers = [p.iteration for p in last.history]
    assert numbers == list(range(1, len(numbers) + 1))
    assert (np.diff([p.seconds for p in last.history]) >= 0).all()
    # A finished solve is there at once.
    again = cm.solve(problem(), tol=tol, solver=solver, checkpoint=path)
    assert len(again.history) == len(last.history)
    # A matrix that rounding left outside the cone is projected anew, which changes its last bits.
    assert again.upper_bound == pytest.approx(last.upper_bound, rel=1e-10)
    assert again.lower_bound == pytest.approx(last.lower_bound, rel=1e-10)


def test_an_interrupt_leaves_a_checkpoint(tmp_path):
    path = tmp_path / "state.npz"

    def interrupt(progress):
        if progress.iteration == 5:
            raise KeyboardInterrupt

    with pytest.warns(GapWarning):
        solution = cm.solve(wine(), solver="cutting-planes", checkpoint=path, callback=interrupt)
    assert solution.status == "interrupted"
    assert cm.solve(wine(), solver="cutting-planes", checkpoint=path).status == "optimal"


def test_the_final_certificate_is_that_of_certify(tmp_path):
    for problem in (wine(), wine(measure="ndcg", diagonal=True), wine(penalty="squared-frobenius")):
        solution = cm.solve(problem, solver="cutting-planes")
        again = cm.certify(problem, solution.certificate.M, solution.certificate.dual)
        assert again.upper_bound == pytest.approx(solution.upper_bound, rel=1e-12)
        assert again.lower_bound == pytest.approx(solution.lower_bound, rel=1e-12)


def rewritten(path, **changes):
    with np.load(path) as arrays:
        contents = {name: arrays[name] for name in arrays.files} | changes
    with path.open("wb") as file:
        np.savez(file, **contents)


def test_nothing_in_the_file_is_believed(tmp_path):
    path = tmp_path / "state.npz"
    problem = wine()
    optimum = cm.solve(problem).lower_bound
    stopped(problem, path, 10, solver="cutting-planes")
    with np.load(path) as arrays:
        weights, witnesses, M, history = (arrays[name] for name in ("weights", "witnesses", "M", "history"))
    history[:, 2:] = [1.0, 1.0, 0.0]
    forgeries = [
        {"weights": 100.0 * weights},
        {"weights": -weights},
        {"weights": np.full_like(weights, np.nan)},
        {"witnesses": 3.0 * witnesses},
        {"M": -M},
        {"history": history},
        {"solver.witnesses": np.zeros_like(witnesses), "solver.witness": np.zeros(4, dtype=int)},
    ]
    for forgery in forgeries:
        rewritten(path, **forgery)
        try:
            solution = stopped(problem, path, 12, solver="cutting-planes")
        except InputError:
            assert "solver.witness" in forgery
        else:
            assert solution.lower_bound <= optimum * (1 + 2e-6)
            assert solution.upper_bound >= optimum * (1 - 1e-9)
            # The upper bound has its rounding, of which up to 1e-10 is bounded without a pass over the data.
            assert solution.upper_bound == pytest.approx(problem.value(solution.certificate.M), rel=2e-10)
        path.unlink()
        stopped(problem, path, 10, solver="cutting-planes")


def test_files_that_are_no_checkpoint_of_this_problem_are_named(tmp_path, monkeypatch):
    path = tmp_path / "state.npz"
    stopped(wine(), path, 4, solver="cutting-planes")
    with pytest.raises(InputError, match=r"state\.npz belongs to another problem"):
        cm.solve(wine(C=99.0), checkpoint=path)
    with pytest.raises(InputError, match="other groups of queries"):
        cm.solve(wine(), solver=cm.solvers.CuttingPlanes(groups=7), checkpoint=path)
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"not a file of arrays"):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="is not a readable checkpoint"):
            cm.solve(wine(), checkpoint=path)
    path.write_bytes(whole)
    rewritten(path, format=np.int64(99))
    with pytest.raises(InputError, match="is no checkpoint that this version reads"):
        cm.solve(wine(), checkpoint=path)
    path.write_bytes(whole)
    rewritten(path, M=np.array([object()], dtype=object))
    with pytest.raises(InputError, match="is not a readable checkpoint"):
        cm.solve(wine(), checkpoint=path)
    path.write_bytes(whole)
    rewritten(path, weights=np.zeros((2, 2)))
    with pytest.raises(InputError, match="is damaged"):
        cm.solve(wine(), checkpoint=path)
    path.write_bytes(whole)
    monkeypatch.setattr("convexmetric.solvers.runtime.checkpoint.MAX_BYTES", 1000)
    with pytest.raises(InputError, match="larger than 1000 bytes"):
        cm.solve(wine(), checkpoint=path)
    for wrong in (3, tmp_path, tmp_path / "nowhere" / "state.npz"):
        with pytest.raises(InputError, match="checkpoint must be a"):
            cm.solve(wine(), checkpoint=wrong)


def test_writing_keeps_its_share_of_the_time(tmp_path, monkeypatch):
    times = iter(np.arange(1000.0))
    monkeypatch.setattr("convexmetric.solvers.runtime.checkpoint.perf_counter", lambda: next(times))
    checkpoint = Checkpoint(tmp_path / "state.npz", wine())
    solution = cm.solve(wine(1.0))
    assert checkpoint.due
    from convexmetric.solvers.runtime.checkpoint import State

    checkpoint.write(State(solution.certificate.M, None, [], 0.0, "exact"))
    # It took one second: not again for ten.
    assert [checkpoint.due for _ in range(12)] == [False] * 9 + [True] * 3
    with zipfile.ZipFile(checkpoint.path) as archive:
        assert archive.testzip() is None


SCRIPT = """
import sys, warnings
sys.path.insert(0, {tests!r})
from test_checkpoint import cm, wine
solution = cm.solve(wine(), solver="cutting-planes", checkpoint={path!r})
print(repr(solution.lower_bound), repr(solution.upper_bound), len(solution.history))
"""


@pytest.mark.integration
def test_killed_at_any_moment_it_goes_on(tmp_path):
    path = tmp_path / "state.npz"
    whole = cm.solve(wine(), solver="cutting-planes")
    script = SCRIPT.format(tests=os.path.dirname(__file__), path=str(path))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    rng = np.random.default_rng(0)
    killed = 0
    for _ in range(40):
        run = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment, text=True)
        if killed < 4:
            # The first moments of a run go into imports: wait until it has written something, then a little.
            before = path.stat().st_mtime_ns if path.exists() else 0
            while run.poll() is None and (not path.exists() or path.stat().st_mtime_ns == before):
                time.sleep(0.001)
            time.sleep(rng.uniform(0.0, 0.05))
            if run.poll() is None:
                run.send_signal(signal.SIGKILL)
                killed += 1
        output = run.communicate()[0]
        if run.returncode == 0:
            break
    assert killed > 0
    lower, upper, _ = map(float, output.split())
    assert (upper - lower) / upper <= 1e-6
    assert lower <= whole.upper_bound
    assert whole.lower_bound <= upper


def test_the_default_goes_on_with_the_stage_that_left_the_file(tmp_path, monkeypatch):
    path = tmp_path / "state.npz"
    # Newton's method gives up after a few passes, and cutting planes follow.
    monkeypatch.setattr("convexmetric.solvers.pairwise.smoothed_newton.MAX_PASSES", 5)
    stages = cm.solvers.Exact((cm.solvers.SmoothedNewton(), cm.solvers.CuttingPlanes()))
    first = stopped(wine(), path, 4, solver=stages)
    assert first.solver == "smoothed-newton"
    second = stopped(wine(), path, 20, solver=stages)
    assert second.solver == "cutting-planes"
    last = cm.solve(wine(), solver=stages, checkpoint=path)
    assert last.solver == "cutting-planes"
    assert last.status == "optimal"
    assert all("cuts" in p.details for p in last.history[20:])
    # Another solver takes the bounds, not the path.
    path.unlink()
    stopped(wine(), path, 10, solver="smoothed-newton")
    assert cm.solve(wine(), solver="cutting-planes", checkpoint=path).status == "optimal"


def test_a_path_outside_the_cone_is_not_followed(tmp_path):
    path = tmp_path / "state.npz"
    stopped(wine(), path, 10, solver="smoothed-newton")
    whole = path.read_bytes()
    with np.load(path) as arrays:
        U = arrays["solver.U"]
    forgeries = {
        "U": (-U, U[:3], np.full_like(U, np.nan)),
        "mu": (np.array(0.0), np.ones(3)),
        "width": (np.array(np.nan),),
    }
    for name, values in forgeries.items():
        for value in values:
            path.write_bytes(whole)
            rewritten(path, **{f"solver.{name}": value})
            with pytest.raises(InputError, match=r"is damaged"):
                cm.solve(wine(), solver="smoothed-newton", checkpoint=path)
