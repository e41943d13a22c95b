"""Ctrl-C ends everything that fits many times, and what one fit had found by then is kept."""

import signal
import subprocess
import sys

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.errors import GapWarning
from convexmetric.solvers.runtime import Monitor

WINE = cm.datasets.load("wine")
X, y = cm.datasets.preprocess(WINE.X, ["zscore"]), WINE.y

#: Iterations that wait for a signal, from the third on, which says when it is reached.
SLOWLY = """
import signal
import sys
import time
from convexmetric.solvers.runtime import Monitor

# Whatever runs the tests, in the background perhaps, may have it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

iterate = Monitor.iterate

def slow(self, **details):
    stop = iterate(self, **details)
    if self.history[-1].iteration == 3:
        print("third iteration", flush=True)
    if self.history[-1].iteration >= 3:
        time.sleep(0.2)
    return stop

Monitor.iterate = slow
"""
CROSS_VALIDATION = """
from sklearn.model_selection import StratifiedKFold, cross_val_score
import convexmetric as cm

wine = cm.datasets.load("wine")
X = cm.datasets.preprocess(wine.X, ["zscore"])
try:
    cross_val_score(cm.MLR(measure="auc", tol=1e-9), X, wine.y, cv=StratifiedKFold(3))
except KeyboardInterrupt:
    print("stopped")
"""


def interrupted(*arguments):
    """Output, messages and exit code of a process that gets SIGINT in its third iteration."""
    process = subprocess.Popen(
        [sys.executable, "-c", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        lines = [process.stdout.readline()]
        while lines[-1] and lines[-1] != "third iteration\n":
            lines.append(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    return "".join(lines) + out, err, process.returncode


@pytest.fixture
def interrupt_at(monkeypatch):
    """Press Ctrl-C in this iteration of every solve; gives the list of solves that begin."""
    iterate = Monitor.iterate

    def install(number):
        begun = []

        def patched(self, **details):
            stop = iterate(self, **details)
            if self not in begun:
                begun.append(self)
            if self.history[-1].iteration == number or (number == "last" and stop):
                raise KeyboardInterrupt
            return stop

        monkeypatch.setattr(Monitor, "iterate", patched)
        return begun

    return install


@pytest.mark.integration
@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to one process there")
def test_a_signal_ends_a_cross_validation_in_its_first_fold():
    out, err, code = interrupted(SLOWLY + CROSS_VALIDATION)
    assert out.splitlines() == ["third iteration", "stopped"], err
    assert code == 0


@pytest.mark.integration
@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to one process there")
def test_a_signal_ends_the_command_which_saves_what_was_found(tmp_path):
    table, saved = tmp_path / "wine.csv", tmp_path / "metric.npz"
    rows = [[*map(repr, row.tolist()), f"cultivar {code}"] for row, code in zip(WINE.X, y, strict=True)]
    table.write_text("\n".join(map(",".join, rows)), encoding="utf-8")
    options = ["--label", "-1", "--method", "mlr", "--set", "measure=auc", "--set", "C=100", "--tol", "1e-9", "--quiet"]
    command = SLOWLY + "from convexmetric.cli import main\nmain()"
    _, err, code = interrupted(command, "fit", str(table), *options, "--save", str(saved))
    assert code == 130, err
    assert f"components: {saved}" in err
    assert "(interrupted)" in err
    with np.load(saved, allow_pickle=False) as arrays:
        assert arrays["status"] == "interrupted"
        assert 0.0 < arrays["lower_bound"] < arrays["upper_bound"] < np.inf


@pytest.mark.parametrize(
    "estimator",
    [
        cm.LargeMargin(tol=1e-9),
        cm.MLR(measure="auc", tol=1e-9),
        cm.RelativeComparisonMetric(tol=1e-9, random_state=0),
        cm.RandomProjectionMetric(tol=1e-9, random_state=0),
        cm.OperatorMarginMetric(tol=1e-9, kernel="rbf"),
        cm.CrossModalMetric(tol=1e-9, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_an_interrupted_estimator_is_fitted_and_passes_the_interrupt_on(interrupt_at, estimator):
    interrupt_at(2)
    with pytest.warns(GapWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        estimator.fit(X, y)
    assert estimator.solution_.status == "interrupted"
    assert estimator.n_iter_ == 2
    assert estimator.certificate_.lower_bound < estimator.certificate_.upper_bound < np.inf
    assert len(estimator.transform(X)) == len(X)
    assert 0.0 <= estimator.score(X, y) <= 1.0
    if hasattr(estimator, "predict") and hasattr(estimator, "threshold_"):
        assert estimator.predict(X[:4].reshape(2, 2, 13)).shape == (2,)


def test_a_second_interrupt_while_the_first_is_certified_keeps_what_was_evaluated(interrupt_at, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    problem = cm.RankingProblem.from_labels(X, y, measure="auc")
    interrupt_at(2)
    monkeypatch.setattr("convexmetric.solvers.finalize._simple", interrupted)
    with pytest.warns(GapWarning, match="interrupted"):
        solution = cm.solve(problem, tol=1e-9)
    assert solution.keyboard_interrupt
    assert 0.0 <= solution.lower_bound <= solution.upper_bound < np.inf
    assert problem.value(solution.M) <= solution.upper_bound * (1.0 + 1e-9)


def test_an_interrupt_as_the_gap_closes_is_not_forgotten(interrupt_at):
    interrupt_at("last")
    solution = cm.solve(cm.RankingProblem.from_labels(X, y, measure="auc"), tol=1e-2)
    assert solution.status == "optimal"
    assert solution.keyboard_interrupt
    with pytest.raises(KeyboardInterrupt):
        cm.MLR(measure="auc", tol=1e-2).fit(X, y)


@pytest.mark.filterwarnings("ignore::convexmetric.errors.GapWarning")
def test_a_cross_validation_over_c_ends_in_its_first_solve(interrupt_at):
    begun = interrupt_at(2)
    with pytest.raises(KeyboardInterrupt):
        cm.cross_validate(X, y, C=[1, 10], cv=3, tol=1e-6)
    assert len(begun) == 1


@pytest.mark.filterwarnings("ignore::convexmetric.errors.GapWarning")
@pytest.mark.parametrize("solver", [None, cm.solvers.InteriorPoint()])
def test_a_path_ends_in_its_first_solve(interrupt_at, solver):
    begun = interrupt_at(2)
    problem = cm.RelativeComparisonProblem(X, cm.comparisons.triplets_from_labels(y, 100, random_state=0))
    with pytest.raises(KeyboardInterrupt):
        cm.solve_path(problem, C=[0.01, 0.1], solver=solver, tol=1e-9)
    assert len(begun) == 1
