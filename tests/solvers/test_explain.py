"""What the default says that it will do, and that it does so."""

import gc
import tracemalloc
import warnings

import numpy as np
import pytest
import routes_page
from catalogue import instance
from samples import some

import convexmetric as cm
from convexmetric.comparisons import Triplets
from convexmetric.cones import PSDCone
from convexmetric.errors import InputError, UnsupportedProblemError
from convexmetric.losses import Hinge
from convexmetric.regularizers import Trace
from convexmetric.risks import SeparableRisk
from convexmetric.solvers.routes import ROUTES

NAMES = [
    "ranking-auc-wine-c1",
    "ranking-auc-wine-c100-frobenius",
    "ranking-map-wine-c100",
    "triplets-wine-10x10-diagonal-1e-2",
    "relative-wine-1000",
    "relative-digits-5000",
    "relative-wine-hard",
    "pairs-wine-1000-rbf",
    "pairs-wine-all",
]


class Bent(Trace):
    """A quadratic form of full matrices, which nothing but a statement takes."""

    def quadratic(self, cone):
        return np.eye(1)


@pytest.fixture
def hopeless():
    rng = np.random.default_rng(0)
    triplets = Triplets(rng.standard_normal((5, 70)), [[0, 1, 2], [1, 2, 3]], PSDCone(70))
    return cm.MetricProblem(SeparableRisk(triplets, Hinge(np.inf)), Bent(1.0))


@pytest.mark.parametrize("name", NAMES)
def test_the_first_step_is_what_the_default_runs_first(name):
    problem = cm.load_problem(name)
    explanation = cm.explain(problem)
    with warnings.catch_warnings(action="ignore", category=cm.errors.GapWarning):
        assert cm.solve(problem, max_iter=1).turns[0].solver == explanation.chosen == explanation.steps[0].name
    assert explanation.memory == explanation.steps[0].solver.memory(problem)
    assert 1e4 < explanation.memory < 1e9


@pytest.mark.parametrize("name", NAMES)
def test_every_solver_of_the_table_is_said_once(name):
    explanation = cm.explain(cm.load_problem(name), measure=False)
    taken, others = ([step.name for step in steps] for steps in (explanation.steps, explanation.others))
    assert sorted({*taken, *others}) == sorted({route.solver.name for route in ROUTES})
    assert len(others) == len(set(others))
    assert not set(taken) & set(others)
    assert all(step.why and not step.why.endswith(".") for step in (*explanation.steps, *explanation.others))


@pytest.mark.parametrize("name", NAMES)
def test_it_prints_a_short_table(name):
    explanation = cm.explain(cm.load_problem(name))
    lines = str(explanation).splitlines()
    assert len(lines) <= 19
    assert max(map(len, lines)) <= 125
    assert lines[1].startswith(f"  1. {explanation.chosen} ")
    costs = lines[-1]
    assert "(measured)" in costs
    assert "(estimated)" in costs
    assert 0.0 < explanation.pass_seconds < 10.0


def test_nothing_is_evaluated_where_nothing_is_to_be_measured(monkeypatch):
    problem = cm.load_problem("ranking-auc-wine-c1")
    monkeypatch.setattr(problem.risk, "value", None)
    explanation = cm.explain(problem, measure=False)
    assert explanation.pass_seconds is None
    assert "measured" not in str(explanation)
    assert "may begin with another solver" in " ".join(str(explanation).split())
    assert "another solver" not in str(cm.explain(cm.load_problem("ranking-auc-wine-c1")))


def test_a_constant_changes_nothing():
    problem = instance("psd triplets, trace")
    moved = cm.MetricProblem(problem.risk, problem.regularizer, G=problem.G, constant=3.0)
    one, other = (cm.explain(each, measure=False) for each in (problem, moved))
    assert (one.steps, one.others, one.memory) == (other.steps, other.others, other.memory)


def test_a_problem_that_nothing_solves_is_refused_with_the_reasons(hopeless):
    explanation = cm.explain(hopeless, measure=False)
    assert explanation.chosen is None
    assert explanation.steps == ()
    assert explanation.memory is None
    assert len(str(explanation).splitlines()) <= 19
    assert "No solver of the default" in str(explanation)
    with pytest.raises(UnsupportedProblemError) as error:
        cm.solve(hopeless)
    for text in (" ".join(str(explanation).split()), str(error.value)):
        assert "its margins are hard constraints" in text
        assert "what to do: " in text
    assert str(error.value).count("hard constraints") == 1
    assert "(augmented-lagrangian)" in str(error.value)


def test_only_problems_can_be_explained():
    with pytest.raises(InputError, match="problem must be a MetricProblem, an Instance or the name of one, got int"):
        cm.explain(3)
    with pytest.raises(InputError, match="max_seconds must be positive or None, got 0"):
        cm.explain(cm.load_problem("ranking-auc-wine-c1"), max_seconds=0)


def test_the_table_of_the_page_is_that_of_the_default():
    assert routes_page.page() == routes_page.PAGE.read_text(encoding="utf-8"), "renew: python tests/routes_page.py"


#: Quick instances of at least two sizes for every solver whose arrays outweigh the small change.
MEASURED = [
    ("augmented-lagrangian", "relative-wine-1000"),
    ("augmented-lagrangian", "relative-digits-5000"),
    ("dual-ascent", "relative-wine-1000"),
    ("dual-ascent", "relative-digits-5000"),
    ("dual-newton", "pairs-wine-1000-rbf"),
    ("factored-lagrangian", "pairs-wine-all"),
    ("factored-lagrangian", "pairs-digits-2000"),
    ("interior-point", "relative-digits-2000"),
    ("interior-point", "pairs-breast-cancer-2000-trace-margins"),
    ("cutting-planes", "ranking-map-wine-c100"),
    ("cutting-planes", "ranking-map-breast-cancer-c100"),
    ("semismooth-newton", "ranking-auc-wine-c100-frobenius"),
    ("semismooth-newton", "triplets-digits-10x10-1e-2"),
    ("smoothed-newton", "ranking-auc-wine-c100"),
    ("smoothed-newton", "ranking-auc-breast-cancer-c100-diagonal"),
]


def peak_of_solve(name, solver):
    """Bytes of a solve, of a problem that is loaded anew after compiled code is."""
    with warnings.catch_warnings(action="ignore", category=cm.errors.GapWarning):
        cm.solve(cm.load_problem(name), solver=solver, max_iter=2)
        problem = cm.load_problem(name)
        gc.collect()
        tracemalloc.start()
        try:
            cm.solve(problem, solver=solver, max_seconds=20.0)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(("solver", "name"), some(MEASURED, 2))
def test_memory_is_estimated_within_a_factor_of_three(solver, name):
    estimated = cm.solvers.SOLVERS[solver]().memory(cm.load_problem(name))
    assert 1 / 3 <= estimated / peak_of_solve(name, solver) <= 3


def test_smooth_losses_too():
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((800, 40)), np.repeat(np.arange(8), 100)
    problem = cm.CrossModalProblem(X[:, :20], X[:, 20:], labels, labels, alpha=10.0, beta=1.0, random_state=0)
    for solver in (cm.solvers.LowRankNewton(), cm.solvers.ProximalGradient()):
        cm.solve(problem, solver=solver, tol=0.1)
        gc.collect()
        tracemalloc.start()
        try:
            cm.solve(problem, solver=solver, tol=1e-4)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert 1 / 3 <= solver.memory(problem) / peak <= 3


def test_approximate_solvers_estimate_nothing():
    assert cm.approximate.ProjectedSubgradient().memory(instance("psd triplets, trace")) is None


def test_statements_of_listed_comparisons_are_estimated_and_no_others():
    conic = cm.solvers.Conic("clarabel")
    few, many = (conic.memory(cm.load_problem(name)) for name in ("relative-wine-1000", "relative-digits-5000"))
    assert 1e6 < few < many < 2e8
    assert conic.memory(cm.load_problem("pairs-wine-all")) > many
    assert conic.memory(cm.load_problem("ranking-map-wine-c100")) is None
