"""Screening never decides a hinge wrongly, whatever the certificate says of itself."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import random_metric

import convexmetric as cm
from convexmetric.errors import GapWarning, InputError, UnsupportedProblemError
from convexmetric.risks import SmoothedPairs
from convexmetric.solvers.hinges.kinks import Kinks
from convexmetric.solvers.hinges.screening import Ball, Screening, ball_of, sides, tally


def points(seed=0, n=30, d=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, d)) + 0.6 * y[:, None], y


def labels(seed=0, ratio=0.05, near=3, far=4, **options):
    problem = cm.TripletProblem.from_labels(*points(seed), near, far, **options)
    return problem.with_reg(ratio * problem.reg_max)


def graph(seed=0):
    X, _ = points(seed, n=14)
    links = np.random.default_rng(seed).random((14, 14)) < 0.4
    return cm.TripletProblem.from_graph(X, links, intra=0.1, inter=0.05, reg=0.3)


def triplets(seed=0):
    X, _ = points(seed)
    rng = np.random.default_rng(seed)
    listed = np.array([rng.choice(30, 3, replace=False) for _ in range(120)])
    return cm.TripletProblem(X, np.unique(listed, axis=0), reg=0.3, inter=0.02)


def sparse(seed=0):
    X, y = points(seed)
    X = sp.csr_array(np.where(X > 0.5, X, 0.0))
    problem = cm.TripletProblem.from_labels(X, y, 3, None, diagonal=True, intra=0.05)
    return problem.with_reg(0.1 * problem.reg_max)


PROBLEMS = {
    "labels": labels,
    "labels, diagonal": lambda seed=0: labels(seed, 0.005, diagonal=True, inter=0.05),
    "every triplet": lambda seed=0: labels(seed, near=None, far=None),
    "graph": graph,
    "listed": triplets,
    "sparse": sparse,
}


def solve(problem, tol, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        return cm.solve(problem, tol, cm.SemismoothNewton(**options))


@cache
def solved(name, seed):
    problem = PROBLEMS[name](seed)
    return problem, solve(problem, 1e-9).certificate


def every_pair(problem):
    """All comparisons: places, and the matrices or vectors D_t, made one by one."""
    rankings, diagonal = problem.risk.rankings, problem.cone.shape == (problem.cone.d,)
    X, Q = (P.toarray() if sp.issparse(P) else P for P in (rankings.X, rankings.Q))
    places, D = [], []
    near_items, begin, end, far_items, start, stop = rankings.relevance.lists(np.arange(len(rankings)))
    for q, row in enumerate(rankings.rows(np.arange(len(rankings)))):
        for i, near in enumerate(near_items[begin[q] : end[q]]):
            for j, far in enumerate(far_items[start[q] : stop[q]]):
                f, n = Q[row] - X[far], Q[row] - X[near]
                places.append((q, i, j))
                D.append(f * f - n * n if diagonal else np.outer(f, f) - np.outer(n, n))
    return np.array(places), np.array(D)


def reference(problem, ball):
    """Slack and reach of every comparison."""
    places, D = every_pair(problem)
    flat = D.reshape(len(D), -1)
    return places, problem.margin - flat @ ball.centre.ravel(), ball.radius * np.linalg.norm(flat, axis=1)


def ball_at(problem, certificate):
    point = problem.risk.dual_point(certificate.dual)
    return ball_of(problem, problem.reg, certificate.M, problem.value(certificate.M), point)


@pytest.mark.parametrize("name", list(PROBLEMS))
@pytest.mark.parametrize("radius", [1e-9, 0.03, 0.3, 3.0])
def test_counts_are_those_of_the_definition(name, radius):
    problem = PROBLEMS[name]()
    ball = Ball(solve(problem, 1e-3).certificate.M, radius)
    screened = tally(problem.risk, ball, places=True)
    places, slack, reach = reference(problem, ball)
    assert screened.active == np.sum(slack > reach)
    assert screened.inactive == np.sum(slack < -reach)
    np.testing.assert_array_equal(screened.places, places[abs(slack) <= reach])
    assert screened.undecided == len(screened.places)
    assert screened.decided + screened.undecided == problem.count


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_listed_comparisons_are_decided_alike(name):
    problem = PROBLEMS[name]()
    ball = Ball(solve(problem, 1e-3).certificate.M, 0.05)
    screened = tally(problem.risk, ball, places=True)
    places, _, _ = reference(problem, ball)
    near, begin, _, far, start, _ = problem.risk.rankings.relevance.lists(np.arange(problem.risk.parts))
    q, i, j = places.T
    kinks = Kinks(problem.risk, np.column_stack([q, near[begin[q] + i], far[start[q] + j]]), np.empty(0))
    found = sides(ball, kinks, problem.margin)
    assert np.sum(found == 1) == screened.active
    assert np.sum(found == -1) == screened.inactive


@given(
    name=st.sampled_from(list(PROBLEMS)),
    seed=st.integers(0, 2),
    tol=st.sampled_from([0.5, 1e-1, 1e-2, 1e-4, 1e-6]),
)
@settings(max_examples=25, derandomize=True)
def test_no_hinge_is_decided_wrongly(name, seed, tol):
    problem, optimum = solved(name, seed)
    certificate = solve(problem, tol).certificate
    screened = cm.screen(problem, certificate, places=True)
    ball = ball_at(problem, certificate)
    places, slack, reach = reference(problem, ball)
    undecided = {tuple(place) for place in screened.places}
    decided = np.array([tuple(place) not in undecided for place in places])
    # The optimum is known to lie in a far smaller ball, at whose centre the slacks are.
    _, at_optimum, error = reference(problem, ball_at(problem, optimum))
    assert screened.decided == decided.sum()
    assert (slack * at_optimum >= -abs(slack) * error)[decided].all()
    assert (abs(slack) > reach)[decided].all()
    apart = ball.centre - ball_at(problem, optimum).centre
    assert np.linalg.norm(apart) <= ball.radius + ball_at(problem, optimum).radius


@pytest.mark.parametrize("name", ["labels", "labels, diagonal", "graph"])
def test_the_ball_holds_the_optimum_for_any_metric_and_dual_point(name):
    problem = PROBLEMS[name]()
    optimum = ball_at(problem, solve(problem, 1e-9).certificate)
    rng = np.random.default_rng(0)
    for _ in range(30):
        M, N = (random_metric(rng, problem.cone, 10.0 ** rng.uniform(-2, 0)) for _ in range(2))
        dual = SmoothedPairs(N, float(10.0 ** rng.uniform(-3, 1)))
        certificate = cm.certify(problem, M, dual)
        ball = ball_at(problem, certificate)
        assert np.linalg.norm(ball.centre - optimum.centre) <= ball.radius + optimum.radius
        plain = np.sqrt(2.0 * (certificate.upper_bound - certificate.lower_bound) / problem.reg)
        assert np.linalg.norm(ball.centre - M) + ball.radius <= plain * 1.0001


def test_more_is_decided_as_the_gap_falls():
    problem = labels()
    counts = [cm.screen(problem, solve(problem, tol).certificate).decided for tol in (1e-1, 1e-3, 1e-5, 1e-8)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    assert counts[-1] > 0.9 * problem.count


def test_a_forged_gap_changes_nothing():
    problem = labels()
    honest = solve(problem, 1e-1).certificate
    forged = replace(honest, lower_bound=honest.upper_bound, grade="float")
    assert cm.screen(problem, forged) == cm.screen(problem, honest)
    assert cm.screen(problem, replace(honest, upper_bound=-1e9)) == cm.screen(problem, honest)


def test_a_certificate_of_another_lambda_is_bounded_anew():
    problem, other = labels(), labels(ratio=0.005)
    foreign = cm.screen(problem, solve(other, 1e-9).certificate)
    assert foreign.radius > 1e3 * cm.screen(problem, solve(problem, 1e-9).certificate).radius


def test_a_dual_point_that_proves_nothing_decides_nothing():
    problem = labels()
    certificate = solve(problem, 1e-6).certificate
    for width in (np.nan, np.inf, -1.0):
        screened = cm.screen(problem, replace(certificate, dual=SmoothedPairs(certificate.M, width)))
        assert (screened.decided, screened.undecided, screened.radius) == (0, problem.count, np.inf)


def test_screening_along_a_solve():
    problem = labels()
    plain, screened = solve(problem, 1e-9), solve(problem, 1e-9, screen=True)
    assert not any("decided" in p.details for p in plain.history)
    decided = [p.details["decided"] for p in screened.history if "decided" in p.details]
    assert decided == sorted(decided)
    assert decided[-1] > 0.9 * problem.count
    assert screened.gap <= 1e-9
    assert screened.upper_bound == pytest.approx(plain.upper_bound, rel=2e-9)


def test_the_last_phase_without_decided_hinges_reaches_the_optimum():
    X, y = points(n=60, d=10)
    X[:, :3] += 0.5 * y[:, None]
    problem = cm.TripletProblem.from_labels(X, y, 3, 4)
    problem = problem.with_reg(1e-3 * problem.reg_max)
    plain, screened = solve(problem, 1e-9), solve(problem, 1e-9, screen=True)
    assert screened.history[-1].details["width"] == 0.0
    assert screened.gap <= 1e-9
    assert screened.lower_bound <= plain.upper_bound
    assert plain.lower_bound <= screened.upper_bound


@pytest.mark.parametrize("name", ["labels", "labels, diagonal"])
def test_only_hinges_certain_to_be_where_a_metric_has_them_are_left_out(name):
    problem, optimum = solved(name, 2)
    places, D = every_pair(problem)
    flat = D.reshape(len(D), -1)
    near, begin, _, far, start, _ = problem.risk.rankings.relevance.lists(np.arange(problem.risk.parts))
    q, i, j = places.T
    sample = np.column_stack([q, near[begin[q] + i], far[start[q] + j]])
    screening = Screening(problem, 0.1, 0.1)
    M = 0.6 * optimum.M
    assert screening.undecided(sample, M).all()
    screening.ball = ball_at(problem, optimum)
    left_out = ~screening.undecided(sample, M)
    at_M, at_optimum = (problem.margin - flat @ metric.ravel() for metric in (M, optimum.M))
    assert (at_M * at_optimum > 0.0)[left_out].all()
    assert left_out.sum() > 0.7 * problem.count
    assert (at_M * at_optimum < 0.0).any()


def test_bad_calls():
    problem = labels()
    certificate = solve(problem, 1e-3).certificate
    with pytest.raises(InputError, match="Certificate"):
        cm.screen(problem, 1e-9)
    with pytest.raises(InputError, match="MetricProblem"):
        cm.screen(None, certificate)
    with pytest.raises(InputError, match="constraints"):
        cm.screen(problem, replace(certificate, grade="conic"))
    with pytest.raises(InputError, match="shape"):
        cm.screen(problem, replace(certificate, M=np.eye(7)))
    for other in (
        cm.RankingProblem.from_labels(*points()),
        cm.TripletProblem.from_labels(*points(), regularizer="trace"),
    ):
        with pytest.raises(UnsupportedProblemError, match="screening"):
            cm.screen(other, certificate)
