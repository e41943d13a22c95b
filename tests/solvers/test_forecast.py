"""What solves are said to cost beforehand, and what is done about a time limit that is too short."""

import io
import math
import time
import warnings

import numpy as np
import pytest
from made_sets import letters
from rich.console import Console

import convexmetric as cm
from convexmetric.risks import Reason
from convexmetric.solvers import forecast
from convexmetric.solvers.forecast import COARSE, GAPS, Record, legs_within, nearest, pass_seconds, records
from convexmetric.solvers.routes import ROUTES, legs
from convexmetric.solvers.run.display import ProgressBar
from convexmetric.solvers.run.simple import some_parts

EVERY = [(solver, record) for solver, found in records().items() for record in found]


class Shape:
    """All that a forecast asks of a problem: words and sizes."""

    def __init__(self, words, parts, coordinates):
        self.risk, self.cone = self, self
        self.words, self.parts, self.size = words, parts, coordinates


def shape_of(record):
    return Shape(record.risk, record.parts, record.coordinates)


@pytest.fixture(scope="module")
def ranking():
    return cm.RankingProblem.from_labels(*letters(1_200), measure="map", C=100.0)


def test_every_solver_of_the_table_has_records():
    assert {route.solver.name for route in ROUTES} == set(records())


def test_tighter_gaps_cost_more_and_all_costs_are_positive():
    for _, record in EVERY:
        costs = [math.inf if cost is None else cost for cost in record.evaluations]
        assert len(costs) == len(GAPS)
        assert costs == sorted(costs)
        assert costs[0] > 0.0


def test_the_nearest_record_is_the_record_itself():
    for solver, record in EVERY:
        first = nearest(shape_of(record), solver)[0]
        assert first.distance(shape_of(record)) == 0.0
        assert (first.risk, first.parts, first.coordinates) == (record.risk, record.parts, record.coordinates)


def test_what_is_far_from_all_records_has_no_forecast():
    for solver, record in EVERY:
        far = Shape(record.risk, 10**9 * record.parts, record.coordinates)
        assert forecast.forecast(far, solver, 1.0) == {}
    assert forecast.forecast(shape_of(EVERY[0][1]), "subgradient", 1.0) == {}


def test_another_risk_is_as_far_as_a_factor_of_ten_in_size():
    record = Record("one", 100, 50, (1.0, 2.0, 3.0, 4.0))
    assert record.distance(Shape("one", 1_000, 50)) == pytest.approx(record.distance(Shape("another", 100, 50)))
    assert record.distance(Shape("one", 200, 100)) == pytest.approx(record.distance(Shape("one", 50, 25)))


def test_a_forecast_is_the_range_of_the_nearest_costs_times_the_seconds_of_a_pass():
    for solver, record in EVERY:
        shape = shape_of(record)
        one, tenth = (forecast.forecast(shape, solver, seconds) for seconds in (1.0, 0.1))
        assert one.keys() == tenth.keys()
        for place, gap in enumerate(GAPS):
            costs = [near.evaluations[place] for near in nearest(shape, solver)]
            known = [cost for cost in costs if cost is not None]
            assert (gap in one) == (2 * len(known) > len(costs))
            if gap in one:
                assert one[gap] == (min(known), max(known) if len(known) == len(costs) else math.inf)
                assert tenth[gap] == pytest.approx([0.1 * seconds for seconds in one[gap]])


@pytest.mark.parametrize(("enough", "most"), [(30.0, 64), (300.0, 1_024), (1e9, 1_200)])
def test_some_parts_are_scaled_to_all(ranking, enough, most, monkeypatch):
    """On a clock that shows the number of parts, and a constant for the points, the whole pass is known exactly."""
    looked = []

    def evaluation(problem):
        looked.append(problem.risk.parts)
        return 7.0 + problem.risk.parts

    monkeypatch.setattr(forecast, "_evaluation", evaluation)
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
    return next(leg.route for leg in found if not isinstance(leg.run, Reason))


def test_a_coarse_certificate_comes_first_where_the_limit_is_short(ranking):
    assert first(legs_within(ranking, None)) == first(legs_within(ranking, 1e6)) == first(legs(ranking))
    assert first(legs_within(ranking, 0.1)) is COARSE
    assert cm.explain(ranking, False, max_seconds=0.1).chosen == COARSE.solver.name
    assert [leg.route for leg in legs_within(ranking, 0.1)[1:]] == list(ROUTES)


def test_nothing_is_measured_where_there_is_no_choice(monkeypatch):
    monkeypatch.setattr(forecast, "pass_seconds", None)
    for name in ("relative-wine-1000", "ranking-map-wine-c100"):
        problem = cm.load_problem(name)
        assert legs_within(problem, 1e-3)[0].route is ROUTES[0]


@pytest.mark.parametrize("limit", [0.01, 0.3, 1.0])
def test_bounds_are_finite_and_no_worse_than_those_of_simple_metrics_after_any_limit(ranking, limit):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
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
    assert "recorded solves of this shape" in said
    assert "interior-point needs about" in said
    cm.solve(problem, solver="cutting-planes", progress=True)
    assert "cutting-planes needs about" in capsys.readouterr().err


def test_the_bar_prints_text_as_it_is():
    console = Console(file=io.StringIO(), width=40)
    with ProgressBar(1e-3, console) as bar:
        bar.say("[red]a line of more than forty characters, as it is[/red]")
    assert "[red]a line of more than forty characters, as it is[/red]" in console.file.getvalue()
