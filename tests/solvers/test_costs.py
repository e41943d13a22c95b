"""What a solve is said to cost beforehand, and what is done about a time limit that is too short."""

import io
import math
import time
import warnings

import numpy as np
import pytest
from made_sets import letters
from rich.console import Console

import convexmetric as cm
from convexmetric.solvers import routes
from convexmetric.solvers.routes import COARSE, ROUTES, Candidates
from convexmetric.solvers.runtime import costs
from convexmetric.solvers.runtime.baselines import some_parts
from convexmetric.solvers.runtime.costs import pass_seconds
from convexmetric.solvers.runtime.display import ProgressBar


@pytest.fixture(scope="module")
def ranking():
    return cm.RankingProblem.from_labels(*letters(1_200), measure="map", C=100.0)


@pytest.mark.parametrize(("enough", "most"), [(30.0, 64), (300.0, 1_024), (1e9, 1_200)])
def test_some_parts_are_scaled_to_all(ranking, enough, most, monkeypatch):
    """On a clock that shows the number of parts, and a constant for the points, the whole pass is known exactly."""
    looked = []

    def evaluation(problem):
        looked.append(problem.risk.parts)
        return 7.0 + problem.risk.parts

    monkeypatch.setattr(costs, "_evaluation", evaluation)
    assert pass_seconds(ranking, enough) == pytest.approx(7.0 + ranking.risk.parts)
    assert max(looked) == most


def test_a_measured_pass_is_about_as_long_as_a_pass(ranking):
    identity = ranking.cone.identity()
    ranking.value(identity)
    ratios = []
    for _ in range(3):
        start = time.perf_counter()
        ranking.value(identity)
        ratios.append(pass_seconds(ranking, 0.01) / (time.perf_counter() - start))
    assert 0.2 < np.median(ratios) < 5.0


def test_a_risk_that_is_not_taken_apart_is_measured_whole():
    assert pass_seconds(cm.load_problem("pairs-wine-all")) > 0.0


def test_the_weight_of_some_parts_is_that_of_all(ranking):
    M = 0.1 * ranking.cone.identity()
    every = some_parts(ranking, ranking.risk.parts)
    assert every.value(M) == pytest.approx(ranking.value(M))
    assert some_parts(ranking, 100).value(M) == pytest.approx(ranking.value(M), rel=0.2)
    assert some_parts(cm.load_problem("pairs-wine-all"), 3) is None


def first(found):
    return next(candidate.route for candidate in found if candidate.run is not None)


def test_a_coarse_certificate_comes_first_where_the_limit_is_short(ranking):
    found = Candidates(ranking)
    assert first(found.within(None)) == first(found.within(1e6)) == first(found)
    assert first(found.within(0.1)) is COARSE
    assert cm.explain(ranking, False, max_seconds=0.1).chosen == COARSE.solver.name
    assert [candidate.route for candidate in found.within(0.1)] == [COARSE, *ROUTES]


def test_nothing_is_measured_where_there_is_no_choice(monkeypatch):
    monkeypatch.setattr(routes, "pass_seconds", None)
    for name in ("relative-wine-1000", "ranking-map-wine-c100"):
        found = Candidates(cm.load_problem(name))
        assert next(iter(found.within(1e-3))).route is ROUTES[0]


@pytest.mark.parametrize("limit", [0.01, 0.3, 1.0])
def test_bounds_are_finite_and_no_worse_than_those_of_simple_metrics_after_any_limit(ranking, limit):
    with warnings.catch_warnings(action="ignore", category=cm.errors.GapWarning):
        solution = cm.solve(ranking, max_seconds=limit)
    assert 0.0 <= solution.lower_bound <= solution.upper_bound < math.inf
    for simple in (ranking.cone.zeros(), 0.1 * ranking.cone.identity()):
        assert solution.upper_bound <= ranking.value(simple) * (1.0 + 1e-9)
    assert solution.status == "max_seconds"


def test_the_progress_bar_says_what_a_solve_will_cost(capsys):
    problem = cm.load_problem("relative-wine-1000")
    cm.solve(problem, progress=True)
    said = capsys.readouterr().err
    assert said.index("one evaluation of the objective takes") < said.index("pass ")
    assert f"{cm.explain(problem, measure=False).chosen} needs about" in said
    cm.solve(problem, solver="cutting-planes", progress=True)
    assert "cutting-planes needs about" in capsys.readouterr().err


def test_the_bar_prints_text_as_it_is():
    console = Console(file=io.StringIO(), width=40)
    with ProgressBar(1e-3, console) as bar:
        bar.say("[red]a line of more than forty characters, as it is[/red]")
    assert "[red]a line of more than forty characters, as it is[/red]" in console.file.getvalue()
