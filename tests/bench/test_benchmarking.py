import math
import time

import cvxpy as cp
import pytest

import convexmetric as cm
from convexmetric.bench import (
    GAPS,
    QUICK,
    benchmark,
    benchmarking,
    chosen_instances,
    load_instance,
    loaded_solver,
    peak_bytes,
    run_isolated,
)
from convexmetric.errors import InputError
from convexmetric.solvers import CuttingPlanes
from convexmetric.solvers.conic import CONIC_SOLVERS

FUNCTIONS = ["own_solvers:optimum", "own_solvers:zero", "own_solvers:negative"]
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
    assert best.lower_bound == instance.lower_bound
    assert best.gap <= 1e-5
    assert best.reached[4] == best.seconds
    for run in (zero, outside):
        assert run.status == "stalled"
        assert run.upper_bound == pytest.approx(at_zero)
        assert run.suboptimality == run.gap == pytest.approx((at_zero - instance.lower_bound) / at_zero)
    assert zero.message == ""
    assert "projected" in outside.message


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
        ({"solvers": ["own_solvers:absent"]}, "cannot load the solver"),
        ({"solvers": ["no_such_module:solver"]}, "cannot load the solver"),
        ({"solvers": ["own_solvers:number"]}, "must be a Solver or a function"),
        ({"instances": ["nothing-*"]}, "no instance matches 'nothing-"),
        ({"instances": []}, "instances is empty"),
        ({"instances": WINE}, "instances must be a list"),
    ],
)
def test_bad_arguments_are_named(arguments, said):
    with pytest.raises(InputError, match=said):
        benchmark(**arguments)


def test_default_instances_need_no_data_folder():
    instances = [load_instance(name) for name in chosen_instances()]
    assert not any(instance.needs_data_folder for instance in instances)
    assert len({instance.statement.partition(".")[0] for instance in instances}) == 4
    assert len(set(QUICK)) == len(QUICK)


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
