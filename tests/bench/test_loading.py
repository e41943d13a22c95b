"""Solvers from files, and how callables are called."""

from contextlib import suppress

import numpy as np
import pytest
from catalogue import instance

from convexmetric.bench import Recorder, loaded_solver
from convexmetric.bench.loading import called, source_of
from convexmetric.errors import InputError, SolverNotInstalledError
from convexmetric.solvers import SOLVERS, CuttingPlanes, Solver


@pytest.fixture(scope="module")
def problem():
    return instance("ranking from labels")


def file(folder, text, name="mine.py"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def shown(problem, solver, seed=None):
    record = Recorder(problem)
    called(solver, problem, record, seed)
    return [row[2] for row in record.rows]


def test_a_file_has_solver_or_solve_or_what_is_named(tmp_path):
    both = file(tmp_path, "def solve(problem): return 1\ndef solver(problem): return 2\ndef third(problem): return 3")
    assert loaded_solver(both)(None) == 2
    assert loaded_solver(f"{both}:solve")(None) == 1
    assert loaded_solver(f"{both}:third")(None) == 3
    one = file(tmp_path, "def solve(problem): return 4", "one.py")
    assert loaded_solver(one)(None) == 4


def test_a_class_is_made_and_a_solver_is_taken_as_it_is(tmp_path):
    text = (
        "from dataclasses import dataclass\nimport beside\n"
        "from convexmetric.solvers import CuttingPlanes\n"
        "@dataclass\nclass Mine:\n    steps: int = 7\n"
        "    def __call__(self, problem, record): return self.steps + beside.more\n"
        "solver = CuttingPlanes(groups=3)\nsubclass = CuttingPlanes\n"
    )
    file(tmp_path, "more = 1", "beside.py")
    path = file(tmp_path, text)
    assert loaded_solver(path) == CuttingPlanes(groups=3)
    assert loaded_solver(f"{path}:subclass") == CuttingPlanes()
    assert loaded_solver(f"{path}:Mine")(None, None) == 8


def test_a_file_called_like_a_module_does_not_take_its_place(tmp_path):
    import fractions

    path = file(tmp_path, "def solve(problem): return 5", "fractions.py")
    assert loaded_solver(path)(None) == 5
    import importlib

    assert importlib.import_module("fractions") is fractions


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "has no solver or solve: add it, or name another as mine.py:name"),
        ("solver = 3", "must be a Solver or a callable of a problem, got int"),
        ("1 / 0", "cannot load the solver .*ZeroDivisionError"),
        ("def solve(", "cannot load the solver .*SyntaxError"),
        ("import no_such_module", "cannot load the solver .*ModuleNotFoundError"),
        ("class solver:\n    def __init__(self, needed): pass", "cannot load the solver .*TypeError.*needed"),
    ],
)
def test_files_without_a_solver_are_errors(tmp_path, text, said):
    with pytest.raises(InputError, match=f"(?s){said}"):
        loaded_solver(file(tmp_path, text))


def test_all_names_of_the_package_are_solvers():
    for name in SOLVERS:
        with suppress(SolverNotInstalledError):
            assert isinstance(loaded_solver(name), Solver)


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(InputError, match=r"there is no file absent\.py"):
        loaded_solver("absent.py:solve")


def test_the_source_of_a_file_changes_with_it(tmp_path):
    path = file(tmp_path, "def solve(problem): return 5")
    before = source_of(f"{path}:solve")
    assert len(before) == 16
    assert source_of(path) == before
    file(tmp_path, "def solve(problem): return 6")
    assert source_of(path) != before
    assert source_of("exact") == source_of("own_solvers:zero") == source_of(CuttingPlanes()) == ""


def test_all_ways_to_show_metrics(problem):
    A, B = np.eye(3), 2.0 * np.eye(3)
    values = [problem.objective(A), problem.objective(B)]

    class Instance:
        def __call__(self, problem, recorder):
            recorder(A)
            return B

    def keyword(problem, *, record):
        record(A)
        record(B, passes=2)

    def yields(problem):
        yield A
        yield B, 2

    def either(*given):
        given[1](A)
        return B

    def seeded(problem, seed, show):
        show(A)
        return B * seed

    def positions(problem, show, /):
        show(A)
        return B

    solvers = (Instance(), keyword, yields, either, positions, lambda problem, record: (record(A), record(B)))
    for solver in solvers:
        assert shown(problem, solver) == values
    assert shown(problem, seeded, 1) == values
    assert shown(problem, lambda problem: B) == values[1:]
    assert shown(problem, lambda problem: B.tolist()) == values[1:]
    assert shown(problem, lambda problem, steps=3: (_ for _ in [A, B][: steps - 2])) == values[:1]


def test_the_seed_goes_to_those_that_take_one(problem):
    def seeded(problem, seed):
        return (1.0 + seed) * np.eye(3)

    def state(problem, record, random_state=5):
        record((1.0 + random_state) * np.eye(3))

    value = {k: problem.objective((1.0 + k) * np.eye(3)) for k in (4, 5)}
    assert shown(problem, seeded, 4) == shown(problem, state, 4) == [value[4]]
    assert shown(problem, state) == [value[5]]
    assert shown(problem, lambda problem: 5.0 * np.eye(3), 9) == [value[4]]


@pytest.mark.parametrize("bad", [np.eye(2), "text", {"M": 1}, np.full((3, 3), np.nan)])
def test_what_is_no_metric_is_an_error(problem, bad):
    with pytest.raises(InputError):
        shown(problem, lambda problem: bad)
