"""Files that state instances in CVXPY: run alone, they have the problem's own value, and its optimum."""

import runpy
import subprocess
import sys

import cvxpy as cp
import numpy as np
import pytest
from samples import random_metric

import convexmetric as cm
from convexmetric.bench import cvxpy_files, export_instance
from convexmetric.errors import InputError

#: One of every kind of risk, loss, regularizer and cone that is written out.
KINDS = [
    "blocks-budget-penalty-wine",
    "blocks-budget-root-wine",
    "blocks-itml-breast-cancer-diagonal",
    "blocks-itml-wine",
    "blocks-l1-logdet-iris",
    "blocks-linear-held-iris",
    "blocks-log-wine",
    "blocks-odd-one-out-iris",
    "blocks-trace-distance-wine",
    "blocks-two-groups-wine",
    "large-margin-wine-diagonal",
    "pairs-wine-1000",
    "relative-wine-1000",
    "relative-wine-hard-rbf",
]


def stated(name, folder):
    *_, path = export_instance(name, folder, to="cvxpy")
    assert path.name == f"{name}.py"
    return runpy.run_path(str(path))["problem"]


@pytest.mark.parametrize("name", KINDS)
def test_its_objective_is_the_problems_own(name, tmp_path):
    program, problem = stated(name, tmp_path), cm.load_problem(name)
    rng = np.random.default_rng(0)
    assert program.is_dcp()
    own = [variable for variable in program.variables() if variable.shape != problem.cone.shape]
    (metric,) = (variable for variable in program.variables() if variable.shape == problem.cone.shape)
    # Solvers find variables of a loss only where the metric is definite.
    others = [random_metric(rng, problem.cone) for _ in range(0 if own else 2)]
    for M in (problem.cone.identity(), *others):
        metric.save_value(M)
        value, feasible = problem.value(M), True
        if own:
            # Those of a loss: the best ones, with the metric held.
            held = cp.Problem(program.objective, [*program.constraints, metric == M])
            held.solve(solver="CLARABEL")
            found, accuracy = held.value, 1e-5
        else:
            feasible = all(np.all(constraint.violation() <= 1e-9) for constraint in program.constraints)
            found, accuracy = program.objective.value, 1e-9
        if np.isfinite(value):
            assert feasible
            assert found == pytest.approx(value, rel=accuracy)
        else:
            assert not (feasible and np.isfinite(found))


@pytest.mark.parametrize("name", ["blocks-linear-iris", "blocks-odd-one-out-iris", "relative-wine-hard"])
def test_it_runs_without_the_package_and_finds_the_proven_optimum(name, tmp_path):
    *_, path = export_instance(name, tmp_path, to="cvxpy")
    assert "convexmetric" not in path.read_text()
    told = subprocess.run([sys.executable, "-I", path], capture_output=True, text=True, cwd=tmp_path)
    status, value = told.stdout.split()
    instance = cm.bench.load_instance(name)
    assert status == "optimal", told.stderr
    assert instance.lower_bound - 1e-6 <= float(value) <= instance.upper_bound + 1e-6


@pytest.mark.integration
@pytest.mark.parametrize("name", ["blocks-itml-wine", "blocks-itml-breast-cancer-diagonal", "blocks-l1-logdet-iris"])
def test_losses_with_variables_of_their_own_have_the_proven_optimum(name, tmp_path):
    value, instance = stated(name, tmp_path).solve(solver="CLARABEL"), cm.bench.load_instance(name)
    assert instance.lower_bound * (1 - 1e-5) <= value <= instance.upper_bound * (1 + 1e-5)


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("risk", {"kind": "worst", "share": "1/2", "of": {}}, "the risk 'worst'"),
        ("risk", {"kind": "rankings", "measure": "map", "C": "1"}, "the risk 'map'"),
        ("regularizer", {"kind": "row norms", "weight": "1"}, "the regularizer 'row norms'"),
        ("regularizer", {"kind": "quadratic form", "of": "matrix"}, "the regularizer 'matrix'"),
    ],
)
def test_what_is_not_written_out_is_refused(part, change, said):
    problem = cm.load_problem("relative-wine-1000")
    table, arrays = cm.certificates.statement.describe(problem)
    with pytest.raises(InputError, match=said):
        cvxpy_files.script("a", "a", table | {part: change}, arrays, ["0", "1"])


def test_unknown_losses_and_targets_are_refused():
    table, arrays = cm.certificates.statement.describe(cm.load_problem("relative-wine-1000"))
    term = table["risk"]["terms"][0]
    other = table | {"risk": table["risk"] | {"terms": [term | {"loss": "box"}]}}
    with pytest.raises(InputError, match="the loss 'box'"):
        cvxpy_files.script("a", "a", other, arrays, ["0", "1"])
    with pytest.raises(InputError, match="the cone 'matrices'"):
        cvxpy_files.script("a", "a", table | {"cone": "matrices"}, arrays, ["0", "1"])
    with pytest.raises(InputError, match="targets"):
        cvxpy_files.script("a", "a", table, arrays | {"targets": np.ones(3)}, ["0", "1"])
