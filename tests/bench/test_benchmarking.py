import json
import math
import shutil
import sys
import time
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

import convexmetric as cm
from convexmetric.bench import (
    GAPS,
    benchmark,
    benchmarking,
    chosen_instances,
    load_instance,
    load_suite,
    loaded_solver,
    peak_bytes,
    run_isolated,
)
from convexmetric.bench.anytime import time_grid
from convexmetric.errors import InputError
from convexmetric.solvers import CuttingPlanes
from convexmetric.solvers.conic import CONIC_SOLVERS

FUNCTIONS = ["own_solvers:optimum", "own_solvers:zero", "own_solvers:negative"]
FILE = Path(__file__).parents[1] / "broken_solvers.py"
HARD, WINE = "relative-wine-hard", "relative-wine-1000"


@pytest.fixture(autouse=True)
def quick_end(monkeypatch):
    monkeypatch.setattr(benchmarking, "GRACE", 0.5)


def test_two_instances_are_certified_and_consistent(tmp_path):
    runs = benchmark(["interior-point"], [HARD, WINE], tol=1e-4, n_jobs=2, output=tmp_path)

    assert [(run.instance, run.solver) for run in runs] == [(HARD, "interior-point"), (WINE, "interior-point")]
    for run in runs:
        instance = load_instance(run.instance)
        assert run.status == "optimal"
        assert run.gap <= 1e-4
        # Weak duality, against bounds that other solves committed.
        assert run.lower_bound <= instance.upper_bound
        assert run.upper_bound >= instance.lower_bound
        assert 0.0 <= run.suboptimality <= run.gap + instance.gap + 1e-12
        assert list(run.reached) == sorted(run.reached)
        assert all(seconds <= run.seconds for gap, seconds in zip(GAPS, run.reached, strict=True) if run.gap <= gap)
        assert all(seconds == math.inf for gap, seconds in zip(GAPS, run.reached, strict=True) if run.gap > gap)
        assert run.iterations > 0
        assert 20.0 < run.peak_mb < 4000.0
        assert (run.version, run.threads) == (cm.__version__, 1)
    assert sorted(cm.bench.read_runs(tmp_path / "runs.csv"), key=runs.index) == runs


@pytest.mark.integration
def test_what_is_interrupted_goes_on_where_it_stopped(tmp_path, monkeypatch):
    given = benchmarking.run_isolated
    made = []

    def interrupted(function, calls, **limits):
        made.append([call[0].instance for call in calls])
        for known, outcome in enumerate(given(function, calls, **limits)):
            yield outcome
            if len(made) == 1 and known == 0:
                raise KeyboardInterrupt

    monkeypatch.setattr(benchmarking, "run_isolated", interrupted)
    with pytest.raises(KeyboardInterrupt):
        benchmark(["dual-newton"], [HARD, WINE], output=tmp_path)
    assert len(cm.bench.read_runs(tmp_path / "runs.csv")) == 1
    runs = benchmark(["dual-newton"], [HARD, WINE], output=tmp_path)
    assert [run.status for run in runs] == ["unsupported"] * 2
    assert "pairs" in runs[0].message
    assert benchmark(["dual-newton"], [HARD, WINE], output=tmp_path)[0].message == runs[0].message
    assert made == [[HARD, WINE], [WINE], []]


@pytest.mark.integration
def test_errors_are_rows_and_are_tried_again(tmp_path):
    for _ in range(2):
        (run,) = benchmark(["own_solvers:fail"], [HARD], output=tmp_path)
        assert (run.status, run.message) == ("error", "RuntimeError: nothing works")
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 3
    assert cm.bench.read_runs(tmp_path / "runs.csv")[0].message == "RuntimeError: nothing works"


@pytest.mark.integration
def test_a_process_that_dies_is_a_row():
    (run,) = benchmark(["own_solvers:die"], [HARD])
    assert (run.status, run.message) == ("error", "the process died with exit code 3")


@pytest.mark.integration
def test_the_time_limit_holds_for_those_that_do_not_look_at_the_clock():
    start = time.monotonic()
    slow, sleeping = benchmark(["own_solvers:Slow", "own_solvers:sleep"], [HARD], max_seconds=0.5, n_jobs=2)
    assert time.monotonic() - start < 45.0
    assert (slow.status, sleeping.status) == ("limit", "limit")
    assert "killed" in slow.message
    assert slow.peak_mb > 20.0
    # What was reported before counts.
    assert slow.upper_bound == load_instance(HARD).problem().objective(load_instance(HARD).problem().cone.zeros())
    assert slow.lower_bound == 0.0
    assert sleeping.upper_bound == math.inf


@pytest.mark.integration
def test_functions_are_judged_by_the_bound_of_the_library():
    best, zero, outside = benchmark(FUNCTIONS, [WINE], tol=1e-5, n_jobs=3)
    instance = load_instance(WINE)
    problem = instance.problem()
    at_zero = problem.value(problem.cone.zeros())
    assert best.status == "optimal"
    assert best.lower_bound == instance.proven[0]
    assert best.gap <= 1e-5
    assert best.reached[4] <= best.seconds <= best.reached[4] + 0.1
    for run in (zero, outside):
        assert run.status == "stalled"
        assert run.upper_bound == pytest.approx(at_zero)
        assert run.suboptimality == run.gap == pytest.approx((at_zero - instance.proven[0]) / at_zero)
    assert zero.message == ""
    assert "projected" in outside.message


BROKEN = {
    "fails": ("error", "RuntimeError: nothing works <b>"),
    "wrong_shape": ("error", "InputError: w must have shape (13,), got (14, 14)"),
    "not_a_number": ("error", "NaN"),
    "nothing": ("error", "it showed no metric: return, yield or record one"),
    "killed": ("error", "the process died by SIGKILL"),
    "crashes": ("error", "the process died by SIGSEGV"),
    "leaves": ("error", "the process died with exit code 4"),
    "endless": ("limit", "killed 0.5 s after the limit"),
    "absent": ("error", "has no absent"),
}


@pytest.mark.integration
def test_every_way_to_fail_is_a_row(tmp_path):
    file = shutil.copy(FILE, tmp_path / "mine.py")
    (tmp_path / "syntax.py").write_text("def solve(:")
    (tmp_path / "imports.py").write_text("import no_such_module")
    files = [*(f"{file}:{name}" for name in BROKEN), str(tmp_path / "syntax.py"), str(tmp_path / "imports.py")]
    # A module is imported where a file is run: in the processes of the runs alone.
    files.append("own_solvers:number")
    found = benchmark(files, [WINE], max_seconds=1.0, n_jobs=2, output=tmp_path / "out")
    runs = {run.solver.removeprefix("mine.py:"): run for run in found}
    assert set(runs) == {*BROKEN, "syntax.py", "imports.py", "own_solvers:number"}
    assert "must be a Solver or a callable" in runs["own_solvers:number"].message
    for name, (status, message) in BROKEN.items():
        assert runs[name].status == status
        assert message in runs[name].message
        assert len(runs[name].source) == 16
    assert "SyntaxError" in runs["syntax.py"].message
    assert "ModuleNotFoundError" in runs["imports.py"].message
    # What was shown before the end is kept, however it came.
    problem = load_instance(WINE).problem()
    at_zero = problem.value(problem.cone.zeros())
    for name in ("fails", "killed", "endless"):
        assert runs[name].upper_bound == at_zero
        assert runs[name].curve[0][1] == at_zero
    assert runs["crashes"].curve == ()
    # All are in both files.
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [(row["solver"], row["status"], row["message"]) for row in results["runs"]] == [
        (run.solver, run.status, run.message) for run in found
    ]
    assert {run.settings for run in cm.bench.read_runs(tmp_path / "out" / "runs.csv")} == {
        run.settings for run in found
    }


#: What ends the runs of hostile solvers: statuses, and words of the message.
HOSTILE = {
    "patched_value": ("stalled", ""),
    "patched_blocks": ("stalled", ""),
    "patched_modules": ("error", "it showed no metric"),
    "pickle_bomb": ("error", "it sent what is no message"),
    "forged_end": ("error", "it showed no metric"),
    "forged_points": ("error", "it has not the size that its header says"),
    "nested": ("error", "it sent what is no message"),
    "garbage": ("error", "it sent what is no message"),
    "closed": ("error", "the process died with exit code 1"),
    "forked": ("stalled", ""),
    "daemon": ("stalled", ""),
    "started": ("stalled", ""),
    "forks_and_never_ends": ("limit", "killed 0.5 s after the limit"),
    "kills_its_judge": ("error", "the process died by SIGKILL"),
    "stopped": ("limit", "killed 0.5 s after the limit"),
    "patched_clocks": ("stalled", ""),
    "huge": ("error", "w must have shape (13,), got (1000000, 1000000)"),
    "complex_numbers": ("error", "must hold real numbers"),
    "objects": ("error", "must be a rectangular array of real numbers"),
    "texts": ("error", "must be a rectangular array of real numbers"),
    "infinite": ("error", "w must be a vector of 13 weights"),
    "floods": ("limit", "killed 0.5 s after the limit"),
    "floods_without_asking": ("error", "it sent no metric"),
    "prints": ("stalled", ""),
    "base_exception": ("error", "the process died with exit code 1"),
    "silent": ("error", "the process died with exit code 0"),
    "leaves_a_thread": ("stalled", ""),
    "Liar": ("stalled", ""),
}


@pytest.mark.integration
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_no_solver_cheats_or_outlives_its_run(tmp_path):
    file = shutil.copy(FILE.with_name("hostile_solvers.py"), tmp_path / "mine.py")
    start = time.monotonic()
    found = benchmark([f"{file}:{name}" for name in HOSTILE], [WINE], tol=1e-4, max_seconds=1.0, n_jobs=2)
    runs = {run.solver.removeprefix("mine.py:"): run for run in found}
    instance = load_instance(WINE)
    problem = instance.problem()
    at_identity = problem.value(problem.cone.identity())
    for name, (status, message) in HOSTILE.items():
        run = runs[name]
        assert (run.status, message in run.message) == (status, True), (name, run)
        assert run.message.isprintable()
        # Whatever is shown is at most the identity, or a tenth of it.
        assert run.upper_bound in (math.inf, pytest.approx(at_identity, rel=1e-12)) or name == "patched_clocks", name
        assert run.lower_bound <= instance.proven[0]
        assert run.suboptimality >= 0.5
    assert runs["patched_clocks"].seconds >= 0.45
    assert all(at >= 0.4 for at in runs["patched_clocks"].reached)
    time.sleep(max(0.0, 8.5 - (time.monotonic() - start)))
    assert not (tmp_path / "trace.txt").exists()


@pytest.mark.integration
def test_a_run_is_known_at_any_time(tmp_path):
    slow, exact = benchmark([f"{FILE}:Slow", "exact"], [WINE], tol=1e-5, max_seconds=3.0, output=tmp_path)
    bound = load_instance(WINE).proven[0]
    assert (slow.status, exact.status) == ("limit", "optimal")
    for run in (slow, exact):
        seconds, objectives, gaps, suboptimalities = np.array(run.curve).T
        assert set(seconds) <= set(time_grid(3.0))
        assert (np.diff(seconds) > 0.0).all()
        assert (np.diff(objectives) <= 0.0).all()
        np.testing.assert_allclose(suboptimalities, (objectives - bound) / objectives, rtol=1e-9, atol=1e-15)
        assert objectives[-1] == run.upper_bound
        # What was reached on the curve was reached in time.
        for gap, at in zip(GAPS, run.reached, strict=True):
            within = seconds[(gaps if run is exact else suboptimalities) <= gap]
            assert at <= (within[0] if within.size else np.inf)
    # A callable has no bounds of its own; of a solver the gap bounds the suboptimality, but for the library's gap.
    assert np.isinf(np.array(slow.curve)[:, 2]).all()
    assert all(gap >= suboptimality - 1e-6 for _, _, gap, suboptimality in exact.curve)
    assert slow.seconds >= 3.0
    assert cm.bench.read_runs(tmp_path / "runs.csv") == [slow, exact]


@pytest.mark.integration
def test_seeds_and_changed_files_are_other_runs(tmp_path):
    file = shutil.copy(FILE, tmp_path / "mine.py")
    ask = {"solvers": [f"{file}:draws"], "instances": [WINE], "output": tmp_path}
    problem = load_instance(WINE).problem()
    for seed in (1, 2):
        (run,) = benchmark(**ask, seed=seed)
        assert (run.seed, run.upper_bound) == (seed, problem.value(seed * np.asarray(problem.cone.identity())))
        assert benchmark(**ask, seed=seed) == [run]
    with open(file, "a", encoding="utf-8") as text:
        text.write("\n\ndef draws(problem):\n    return problem.cone.zeros()\n")
    (run,) = benchmark(**ask, seed=2)
    assert run.upper_bound == problem.value(problem.cone.zeros())
    assert len(cm.bench.read_runs(tmp_path / "runs.csv")) == 3


@pytest.mark.integration
def test_missing_data_are_rows_and_are_tried_again(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVEXMETRIC_DATA", str(tmp_path / "nowhere"))
    for _ in range(2):
        (run,) = benchmark(["exact"], ["pairs-coil20-all-rbf"], output=tmp_path)
        assert run.status == "no data"
        assert "coil" in run.message.lower()
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 3


def test_two_files_of_one_name_are_told(tmp_path):
    names = [tmp_path / folder / "mine.py" for folder in ("a", "b")]
    for name in names:
        name.parent.mkdir()
        name.write_text("def solve(problem): return 1")
    with pytest.raises(InputError, match=r"two solvers are called mine\.py"):
        benchmark([str(name) for name in names])


@pytest.mark.integration
def test_solvers_come_by_name_import_or_as_they_are():
    assert loaded_solver("own_solvers:settled") == CuttingPlanes(groups=4)
    assert loaded_solver("own_solvers:Slow").name == "slow"
    assert loaded_solver("cutting-planes") == CuttingPlanes()
    (run,) = benchmark({"four groups": CuttingPlanes(groups=4)}, [WINE], tol=1e-2)
    assert (run.solver, run.status) == ("four groups", "optimal")


@pytest.mark.integration
def test_a_conic_solver_that_is_not_installed_is_a_row():
    absent = [name for name in CONIC_SOLVERS if name.upper() not in cp.installed_solvers()]
    if not absent:
        pytest.skip("all conic solvers are installed")
    (run,) = benchmark(absent[:1], [HARD], max_seconds=5.0)
    assert run.status == "error"
    assert "not installed; install it with" in run.message


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"tol": 0.0}, "tol must be"),
        ({"tol": 2.0}, "tol must be"),
        ({"max_seconds": -1.0}, "max_seconds must be"),
        ({"max_seconds": math.inf}, "max_seconds must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"threads": 1.5}, "threads must be"),
        ({"solvers": "exact"}, "solvers must be a list"),
        ({"solvers": []}, "solvers is empty"),
        ({"solvers": ["magic"]}, "or module:attribute, got 'magic'"),
        ({"solvers": ["no_such_module:solver"]}, "cannot load the solver 'no_such_module:solver': there is no module"),
        ({"solvers": {"mine": lambda problem: None}}, "a solver must be picklable"),
        ({"solvers": ["absent.py"]}, "there is no file absent.py"),
        ({"suite": "huge"}, "suite must be one of 'small', 'paper', 'large', 'open', got 'huge'"),
        ({"suite": "small", "instances": [WINE]}, "instances or a suite, not both"),
        ({"seed": -1}, "seed must be a nonnegative integer"),
        ({"instances": ["nothing-*"]}, "no instance matches 'nothing-"),
        ({"instances": []}, "instances is empty"),
        ({"instances": WINE}, "instances must be a list"),
    ],
)
def test_bad_arguments_are_named(arguments, said):
    with pytest.raises(InputError, match=said):
        benchmark(**arguments)


def test_default_instances_are_the_small_suite():
    assert chosen_instances() == list(load_suite("small").instances)


def test_patterns_choose_instances_once():
    assert chosen_instances(["relative-wine-*", HARD]) == [
        n for n in cm.bench.list_problems() if n.startswith("relative-wine")
    ]


def doubled(channel, number):
    channel.start()
    channel.report(number)
    print("not on standard output")
    return 2 * number


@pytest.mark.integration
def test_processes_return_what_they_found():
    outcomes = dict(run_isolated(doubled, [(1,), (2,)], limit=60.0, n_jobs=2))
    assert [(outcomes[k].value, outcomes[k].report) for k in (0, 1)] == [(2, 1), (4, 2)]
    assert all(outcome.peak_bytes > 0 for outcome in outcomes.values())
    assert peak_bytes() > 0
    assert peak_bytes(2**22 + 1) == 0
