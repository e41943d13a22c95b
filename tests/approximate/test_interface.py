"""What all approximate solvers have in common: seeds, passes, epochs, looks, checkpoints, certified bounds."""

import warnings

import numpy as np
import pytest
from errata_report import cross_modal, pairs
from samples import some

import convexmetric as cm
from convexmetric.approximate.base import next_stop
from convexmetric.errors import GapWarning, InputError


def points(seed=0, n=24, d=4):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, d)) + 0.7 * y[:, None], y


def relative(**options):
    X, y = points(n=40)
    return cm.RelativeComparisonProblem(X, cm.comparisons.triplets_from_labels(y, 150, random_state=0), **options)


def ranking():
    return cm.RankingProblem.from_labels(*points(), C=10.0)


def labels(**options):
    return cm.TripletProblem.from_labels(*points(), n_same=3, n_other=4, **{"reg": 0.2} | options)


#: Solver with settings, problem, and the distance from the optimum that it must reach.
CASES = {
    "subgradient": (cm.approximate.ProjectedSubgradient, {"epochs": 200}, ranking, 1e-2),
    "subgradient, diagonal": (cm.approximate.ProjectedSubgradient, {"epochs": 200}, relative, 1e-2),
    "subgradient, printed": (cm.approximate.ProjectedSubgradient, {"epochs": 100, "as_printed": True}, ranking, 1e-2),
    "batch": (cm.approximate.StochasticBatch, {"batch": 50, "epochs": 30}, labels, 1e-2),
    "batch, average": (cm.approximate.StochasticBatch, {"batch": 50, "epochs": 30, "average": True}, labels, 1e-2),
    "factors": (cm.approximate.StochasticFactors, {"epochs": 200}, pairs, 1e-2),
    "factors, average": (cm.approximate.StochasticFactors, {"epochs": 200, "average": True}, pairs, 1e-2),
    "low rank": (cm.approximate.LowRankDescent, {"rank": 4, "epochs": 200}, lambda: labels(penalty="trace"), 2e-2),
    "stochastic low rank": (
        cm.approximate.StochasticLowRank,
        {"rank": 4, "batch": 50, "epochs": 60, "delay": 20},
        lambda: labels(penalty="trace"),
        5e-2,
    ),
    "factored": (cm.approximate.FactoredDescent, {"c": 4, "epochs": 200, "look_every": 5}, cross_modal, 1e-3),
}
RANDOM = [name for name in CASES if not name.startswith("subgradient")]


def solver_of(name, **more):
    kind, settings, _, _ = CASES[name]
    return kind(**settings | ({} if kind is cm.approximate.ProjectedSubgradient else {"random_state": 0}) | more)


def solve(problem, solver, **options):
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        return cm.solve(problem, 1e-12, solver=solver, **options)


@pytest.mark.parametrize("name", list(CASES))
def test_bounds_bracket_the_optimum_and_passes_are_counted(name):
    _, settings, make, wanted = CASES[name]
    problem = make()
    optimum = cm.solve(problem, 1e-6)
    found = solve(problem, solver_of(name))
    assert found.lower_bound <= optimum.upper_bound
    assert found.upper_bound >= optimum.lower_bound
    assert found.upper_bound - optimum.lower_bound <= wanted * abs(optimum.upper_bound)
    again = cm.certify(problem, found.certificate.M, found.certificate.dual)
    assert again.lower_bound == pytest.approx(found.lower_bound, rel=1e-6, abs=1e-9)
    passes = [p.details["passes"] for p in found.history]
    assert passes == sorted(passes)
    assert passes[-1] <= settings["epochs"] + 1
    assert min(p.details["objective"] for p in found.history) >= optimum.lower_bound


@pytest.mark.parametrize("name", RANDOM)
def test_a_seed_fixes_all_iterates(name):
    if name == "factored":
        pytest.skip("its start is not random")
    problem = CASES[name][2]()
    epochs = {"epochs": 10}
    first, again, generator, other = (
        solve(problem, solver_of(name, random_state=state, **epochs))
        for state in (5, 5, np.random.Generator(np.random.PCG64(5)), 6)
    )
    np.testing.assert_array_equal(first.certificate.M, again.certificate.M)
    np.testing.assert_array_equal(first.certificate.M, generator.certificate.M)
    assert [p.details for p in first.history] == [p.details for p in again.history]
    assert first.history[-1].details != other.history[-1].details
    assert solve(problem, solver_of(name, random_state=None, **epochs)).gap > 0.0


@pytest.mark.parametrize("name", some(CASES, 4))
def test_a_checkpoint_takes_up_the_same_steps(tmp_path, name):
    problem, solver = CASES[name][2](), solver_of(name)
    whole = solve(problem, solver)
    cut = max(2, len(whole.history) // 2)
    part = solve(problem, solver, max_iter=cut, checkpoint=tmp_path / "state.npz")
    rest = solve(problem, solver, checkpoint=tmp_path / "state.npz")
    assert part.iterations == min(cut, whole.iterations)
    assert [p.details["passes"] for p in rest.history] == [p.details["passes"] for p in whole.history]
    objectives = [[p.details["objective"] for p in run.history] for run in (rest, whole)]
    # Means begin anew, and L-BFGS and the line search have no memory across a look.
    np.testing.assert_allclose(*objectives, rtol=1e-6)


@pytest.mark.parametrize("name", list(CASES))
def test_limits(name):
    problem, solver = CASES[name][2](), solver_of(name)
    assert solve(problem, solver, max_iter=2).iterations == 2
    assert solve(problem, solver_of(name, epochs=1)).history[-1].details["passes"] <= 2
    assert solve(problem, solver, max_seconds=1e-9).status == "max_seconds"
    seen = []
    assert solve(problem, solver, callback=lambda p: seen.append(p) or len(seen) == 2).status == "interrupted"


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("settings", [{"epochs": 0}, {"epochs": 1.5}, {"as_printed": 1}], ids=str)
def test_bad_settings(name, settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        solver_of(name, **settings)


def test_a_damaged_checkpoint_is_refused(tmp_path):
    problem, path = labels(), tmp_path / "state.npz"
    solve(problem, cm.approximate.StochasticBatch(random_state=0), max_iter=3, checkpoint=path)
    arrays = dict(np.load(path))
    for key, value in {
        "solver.iterate": np.full((4, 4), np.nan),
        "solver.mean": np.zeros(3),
        "solver.numbers": -np.ones(2),
    }.items():
        np.savez(path, **arrays | {key: value})
        with pytest.raises(InputError, match="damaged"):
            cm.solve(problem, 1e-9, solver=cm.approximate.StochasticBatch(), checkpoint=path)


def test_looks_come_after_powers_of_two_and_round_numbers_of_epochs():
    t, stops = 0, []
    while t < 30_000:
        t = next_stop(t, 100)
        stops.append(t)
    assert stops[:8] == [1, 2, 4, 8, 16, 32, 64, 100]
    assert stops[8:] == [100 * epochs for epochs in (2, 5, 10, 20, 50, 100, 200, 500)]


def test_steps_are_scaled_where_features_are_correlated():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = (rng.normal(size=(60, 6)) + 0.5 * y[:, None]) @ np.diag([10.0, 5.0, 1.0, 0.3, 0.1, 0.1])
    problem = cm.RankingProblem.from_labels(X, y, C=10.0)
    optimum = cm.solve(problem, 1e-6)
    found = solve(problem, cm.approximate.ProjectedSubgradient(epochs=200))
    assert found.upper_bound / optimum.lower_bound - 1.0 < 1e-2
