"""Solvers of the default take turns by their forecasts."""

import itertools

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.errors import CrossedBoundsError, SolverError
from convexmetric.regularizers import SquaredDistance, SquaredFrobenius
from convexmetric.solvers import turns
from convexmetric.solvers.exact import offer_zero
from convexmetric.solvers.forecasts import LONGEST, SHORTEST, forecast, table
from convexmetric.solvers.routes import ROUTES, by_forecast
from convexmetric.solvers.runtime import Monitor, drive
from convexmetric.solvers.turns import Runner, take_turns


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless a step moves it."""
    now = [0.0]
    monkeypatch.setattr(turns, "perf_counter", lambda: now[0])
    monkeypatch.setattr(turns, "process_time", lambda: now[0])
    return now


def falling(clock, monitor, seconds, gaps):
    """A run whose steps take so many seconds each, and leave these gaps."""

    def run(_):
        for gap in gaps:
            clock[0] += seconds
            monitor.primal(np.ones((1, 1)), min(1.0, monitor.upper_bound))
            monitor.dual(1.0 - gap, lambda: None)
            yield {"gap": gap}

    return run


def test_one_that_keeps_its_forecast_has_the_only_turn(clock):
    monitor = Monitor(1e-4)
    quick = Runner("quick", falling(clock, monitor, 0.1, [0.5, 0.1, 1e-2, 1e-5]), 0.5)
    slow = Runner("slow", falling(clock, monitor, 0.1, [0.5]), 0.6)
    drive(take_turns([quick, slow], monitor), monitor)
    assert [turn.solver for turn in monitor.turns] == ["quick"]
    assert monitor.turns[0].seconds == pytest.approx(0.4)
    assert monitor.turns[0].gap_after == pytest.approx(1e-5, rel=1e-6)
    assert monitor.status == "optimal"


def test_one_that_stands_still_is_left_and_goes_on_where_it_stood(clock):
    monitor = Monitor(1e-4)
    # The second never closes the gap; when it has taken longer than the first may need, that goes on.
    steps = itertools.chain([0.9] * 24, [1e-5])
    first = Runner("first", falling(clock, monitor, 0.1, steps), 0.3)
    second = Runner("second", falling(clock, monitor, 0.1, [0.9] * 1000), 0.5)
    drive(take_turns([first, second], monitor), monitor)
    names = [turn.solver for turn in monitor.turns]
    assert names[:3] == ["first", "second", "first"]
    assert monitor.status == "optimal"
    assert monitor.solver == "first"
    assert first.taken == pytest.approx(2.5)
    # The price of not knowing: what was spent on others is in proportion to what the one needed.
    assert second.taken <= 2.5 * first.taken


# In the second a gap above one, of a lower bound that says nothing, has stood still at first.
@pytest.mark.parametrize(("gaps", "last"), [(0.5 ** np.arange(20), 0.6), ([1.5] * 6 + [0.2, 0.04, 8e-3, 1e-5], 0.31)])
def test_a_gap_that_falls_in_time_keeps_the_turn(clock, gaps, last):
    monitor = Monitor(1e-4)
    steady = Runner("steady", falling(clock, monitor, 0.1, gaps), 0.3)
    drive(take_turns([steady, Runner("other", falling(clock, monitor, 0.1, [1e-5]), last)], monitor), monitor)
    assert [turn.solver for turn in monitor.turns] == ["steady"]


def test_what_compiling_takes_says_nothing_of_a_solver(clock, monkeypatch):
    monitor = Monitor(1e-4)
    steady = falling(clock, monitor, 0.1, [0.5, 0.1, 1e-2, 1e-5])

    def first_of_all(_):
        clock[0] += 5.0
        monkeypatch.setattr(turns.compiling, "seconds", turns.compiling.seconds + 5.0)
        yield from steady(_)

    other = Runner("other", falling(clock, monitor, 0.1, [1e-5]), 0.6)
    drive(take_turns([Runner("first", first_of_all, 0.5), other], monitor), monitor)
    assert [(turn.solver, turn.seconds) for turn in monitor.turns] == [("first", pytest.approx(0.4))]


@pytest.mark.parametrize("error", [SolverError("broken"), np.linalg.LinAlgError("broken")])
@pytest.mark.parametrize("in_order", [False, True])
def test_where_one_breaks_down_another_takes_over(clock, in_order, error):
    monitor = Monitor(1e-4)

    def broken(_):
        yield {}
        raise error

    sound = Runner("sound", falling(clock, monitor, 0.1, [1e-5]), 0.2)
    drive(take_turns([Runner("broken", broken, 0.1), sound], monitor, in_order), monitor)
    assert [turn.solver for turn in monitor.turns] == ["broken", "sound"]
    with pytest.raises(type(error), match="broken"):
        drive(take_turns([Runner("broken", broken, 0.1)], Monitor(1e-4), in_order), Monitor(1e-4))


def test_no_other_solver_takes_over_where_bounds_have_crossed(clock):
    monitor = Monitor(1e-4)

    def crossed(_):
        yield {}
        raise CrossedBoundsError("crossed")

    sound = Runner("sound", falling(clock, monitor, 0.1, [1e-5]), 0.2)
    with pytest.raises(CrossedBoundsError, match="crossed"):
        drive(take_turns([Runner("crossed", crossed, 0.1), sound], monitor), monitor)


def test_every_solver_of_the_table_has_a_forecast():
    for name in ("ranking-auc-wine-c1", "relative-wine-1000", "pairs-wine-1000"):
        problem = cm.load_problem(name)
        for route in ROUTES:
            assert SHORTEST <= forecast(route.solver.name, problem) <= LONGEST
        ordered = by_forecast(problem, 0.1)
        assert sorted(map(id, ordered)) == sorted(map(id, ROUTES))
        assert ordered[-1].last_resort
        seconds = [route.seconds(problem, 0.1) for route in ordered[:-1]]
        assert seconds == sorted(seconds)
    assert forecast("my-own", problem) == np.inf


def test_forecasts_to_a_coarse_gap_are_shorter_by_a_share_of_each_solver():
    problem, shares = cm.load_problem("triplets-wine-10x10-1e-2"), set()
    for name, line in table().items():
        fine, coarse, between = (forecast(name, problem, 0.1, tol) for tol in (1e-4, 0.1, np.sqrt(1e-5)))
        assert forecast(name, problem, 0.1, 1e-9) == fine
        assert coarse == pytest.approx(line["early"] * fine)
        assert between == pytest.approx(np.sqrt(coarse * fine))
        shares.add(line["early"])
    assert len(shares) > 5
    assert max(shares) <= 1.0


def test_where_the_penalty_is_large_zero_is_certified_without_a_solver():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 60))
    triplets = np.array([rng.permutation(200)[:3] for _ in range(4_000)])
    problem = cm.TripletProblem(X, triplets, reg=1e4, penalty="trace")
    solution = cm.solve(problem, tol=1e-6)
    assert solution.status == "optimal"
    assert not solution.M.any()
    assert solution.turns == ()
    assert len(solution.history) == 1


def test_the_first_cuts_certify_zero():
    # Cutting planes alone can solve it; a gap above the tolerance would warn.
    assert cm.solve(cm.load_problem("ranking-knn-wine-c1"), tol=1e-6).iterations == 1


@pytest.mark.parametrize("reg", [1e-3, 1.0, 1e2])
def test_a_prior_of_zero_has_the_share_of_the_metric_zero(reg):
    risk, shares = cm.load_problem("triplets-wine-10x10-1e-2").risk, []
    for norm in (SquaredFrobenius(reg), SquaredDistance(reg, np.zeros((13, 13))), SquaredDistance(reg, np.eye(13))):
        problem = cm.MetricProblem(risk, norm)
        monitor = Monitor(1e-4, problem=problem)
        offer_zero(problem.without_constant(), monitor)
        shares.append(monitor.share)
    assert shares[0] == pytest.approx(shares[1], rel=1e-6)
    assert 0.0 < shares[0] < shares[2] < 1.0
