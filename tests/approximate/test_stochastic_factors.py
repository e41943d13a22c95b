"""Stochastic factors: every step is that of the printed table, in kernel coefficients too; the factor 2 decides."""

import warnings

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.approximate.stochastic_factors import _Labelled, _Listed, _Run
from convexmetric.errors import GapWarning, InputError, UnsupportedProblemError
from convexmetric.features import kernel_matrix
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import SquaredFrobenius
from convexmetric.risks import ImageRisk, ListedImages
from convexmetric.solvers import Monitor


def points(seed=0, n=30, d=5, classes=4):
    """Labelled points with differences of at most 1, as the paper has them."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.normal(size=(n, d)) + 1.2 * rng.normal(size=(classes, d))[y]
    return X / np.sqrt(((X[:, None] - X) ** 2).sum(axis=2).max()), y


def problem(n_pairs=120, reg=0.1, **options):
    X, y = points()
    return cm.PairMarginProblem.from_labels(X, y, n_pairs=n_pairs, random_state=0, reg=reg, **options)


def regression(loss, penalty="frobenius", reg=0.1):
    X, _ = points()
    rng = np.random.default_rng(1)
    pairs = np.array([rng.choice(30, 2, replace=False) for _ in range(60)])
    distances = ((X[pairs[:, 0], :2] - X[pairs[:, 1], :2]) ** 2).sum(axis=1)
    y = np.clip(distances + 0.05 * rng.normal(size=60), 0.0, 1.0)
    return cm.SimilarityRegressionProblem(X, pairs, y, reg=reg, loss=loss, y0=0.5, penalty=penalty)


def solve(instance, tol=1e-6, **settings):
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        settings = {"vectors": 10, "steps": 50_000, "refresh": 20, "random_state": 0} | settings
        return cm.solve(instance, tol, solver=cm.approximate.StochasticFactors(**settings))


def run_of(instance, **settings):
    """A run at its start."""
    solver = cm.approximate.StochasticFactors(**{"vectors": 4, "random_state": 3} | settings)
    images, norms = instance.risk.form(ImageRisk), instance.regularizer.weights()
    source = _Listed(images) if isinstance(images, ListedImages) else _Labelled(images)
    run = _Run(solver, instance, source, norms, Monitor(1e-6))
    run.begin()
    return run


def through(run, steps):
    while run.t < steps:
        run.advance(min(run.next_stop(), steps))
    return run.V


@pytest.mark.integration
@pytest.mark.parametrize("norm", ["frobenius", "trace"])
@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("refresh", [1, 7, 1000])
@pytest.mark.parametrize("n_pairs", [120, None])
def test_steps_are_those_of_the_table(norm, as_printed, refresh, n_pairs):
    """The table with a loop for every index, as printed but for v_j in place of the last v_i."""
    instance = problem(n_pairs, penalty=norm, margin=(0.6, 0.6))
    theta, steps = 0.05, 300
    run = run_of(instance, learning_rate=theta, refresh=refresh, as_printed=as_printed, start=1.0)
    X, V = run.X, run.V.copy()
    reg = instance.regularizer.reg
    pairs, numbers = run.drawn(0)
    r = -numbers[:, 0]
    for step, ((i, j), sign) in enumerate(zip(pairs[:steps], r[:steps], strict=True)):
        if step % refresh == 0:
            norm_of_A = np.sqrt(sum((v @ u) ** 2 for v in V for u in V))
            w = 2.0 * V
            if norm == "frobenius":
                w = np.array([2.0 / norm_of_A * sum((v @ u) * u for u in V) for v in V])
        a = V @ (X[i] - X[j])
        active = sign * (1.0 - a @ a) < 0.6
        factor = (1.0 if as_printed else 2.0) * active
        V = V - theta * (factor * sign / 0.6 * a[:, None] * (X[i] - X[j]) + reg * w)
    np.testing.assert_allclose(through(run, steps), V, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "unit-rbf"])
def test_steps_are_those_of_the_kernel_version(kernel):
    """Coefficients alpha of the listed differences and the kernel matrix, nothing else, step by step."""
    rng = np.random.default_rng(2)
    X = 0.1 * rng.normal(size=(14, 40))
    pairs = np.column_stack(np.triu_indices(14, 1))[rng.choice(91, 18, replace=False)]
    y = rng.choice([-1.0, 1.0], 18)
    instance = cm.PairMarginProblem(X, pairs, y, reg=0.05, kernel=kernel)
    run = run_of(instance, refresh=3, learning_rate=0.02, start=0.5)
    K = kernel_matrix(X, kernel)
    (i, j), (k, m) = pairs.T[:, :, None], pairs.T[:, None, :]
    gram = K[i, k] - K[i, m] - K[j, k] + K[j, m]
    differences = instance.span.coordinates[pairs[:, 0]] - instance.span.coordinates[pairs[:, 1]]
    alpha = run.V @ np.linalg.pinv(differences)
    np.testing.assert_allclose(alpha @ differences, run.V, atol=1e-10)
    index = {tuple(pair): t for t, pair in enumerate(pairs)}
    drawn, _ = run.drawn(0)
    images = []
    for step in range(60):
        if step % 3 == 0:
            inner = alpha @ gram @ alpha.T
            w = 2.0 / np.linalg.norm(inner) * inner @ alpha
        t = index[tuple(drawn[step])]
        a = alpha @ gram[:, t]
        before = alpha
        alpha = alpha - 0.02 * 0.05 / np.sqrt(18) * w
        if y[t] * (1.0 - a @ a) < 1.0:
            alpha[:, t] -= 0.02 * 2.0 * y[t] * a
        assert not np.array_equal(alpha, before)
        images.append(alpha @ gram)
    for step in range(60):
        V = through(run, step + 1)
        np.testing.assert_allclose(V @ differences.T, images[step], rtol=1e-8, atol=1e-10)


GRADIENTS = {
    "listed": problem,
    "all pairs": lambda: problem(None, margin=(0.5, 1.5), penalty="trace"),
    "all pairs, unbalanced": lambda: problem(None, margin=(0.5, 1.5), balanced=False),
    **{loss: lambda loss=loss: regression(loss) for loss in ("squared", "absolute", "weighted")},
}


@pytest.mark.integration
@pytest.mark.parametrize("name", list(GRADIENTS))
def test_the_mean_step_is_the_gradient(name):
    """The mean of many steps from one point against differences of the objective in v."""
    instance = GRADIENTS[name]()
    rng = np.random.default_rng(4)
    run = run_of(instance, refresh=1, learning_rate=1.0)
    V = 0.7 * rng.normal(size=run.V.shape)
    H = rng.normal(size=V.shape)
    repeats = 40_000
    pairs, numbers = run.source.draw(rng, repeats)
    delta = run.X[pairs[:, 0]] - run.X[pairs[:, 1]]
    a, along = delta @ V.T, delta @ H.T
    sign, offset, low, high, curvature = numbers.T
    slope = offset - sign * (a**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.where(curvature > 0.0, np.clip(slope / curvature, low, high), np.where(slope > 0.0, high, low))
    rates = -2.0 * sign * u * (a * along).sum(axis=1)
    run.V = V
    total = rates.mean() + float(np.vdot(run.slope(), H))
    step = 1e-6

    def value(at):
        return instance.value(at.T @ at)

    expected = (value(V + step * H) - value(V - step * H)) / (2.0 * step)
    assert total == pytest.approx(expected, abs=5.0 * rates.std() / np.sqrt(repeats) + 1e-6)


@pytest.mark.integration
@pytest.mark.parametrize("norm", ["frobenius", "trace"])
@pytest.mark.parametrize("n_pairs", [120, None])
def test_the_printed_step_descends_the_objective_of_twice_the_reg(norm, n_pairs):
    instance = problem(n_pairs, reg=0.3 if n_pairs else 0.15, penalty=norm)
    twice = instance.with_reg(2.0 * instance.reg)
    optimum, of_twice = (cm.solve(each, 1e-6, solver="clarabel") for each in (instance, twice))
    settings = {"vectors": 10, "learning_rate": 0.005, "refresh": 20, "steps": 100_000}
    corrected, printed = (through(run_of(instance, as_printed=kind, **settings), 100_000) for kind in (False, True))
    assert optimum.lower_bound <= instance.value(corrected.T @ corrected) < 1.01 * optimum.upper_bound
    assert instance.value(printed.T @ printed) > 1.03 * optimum.upper_bound
    assert of_twice.lower_bound <= twice.value(printed.T @ printed) < 1.01 * of_twice.upper_bound
    assert twice.value(corrected.T @ corrected) > 1.02 * of_twice.upper_bound


@pytest.mark.integration
@pytest.mark.parametrize(
    ("n_pairs", "options"),
    [
        *(
            (n_pairs, options)
            for n_pairs in (120, None)
            for options in ({}, {"penalty": "trace"}, {"margin": (0.5, 1.5)})
        ),
        (120, {"kernel": "unit-rbf"}),
    ],
)
def test_both_bounds_come_near_the_optimum(n_pairs, options):
    instance = problem(n_pairs, **options)
    optimum = cm.solve(instance, 1e-6, solver="clarabel")
    solution = solve(instance, average=True)
    assert optimum.lower_bound <= solution.upper_bound < 1.02 * optimum.upper_bound
    assert 0.95 * optimum.lower_bound < solution.lower_bound <= optimum.upper_bound
    again = cm.certify(instance, solution.certificate.M, solution.certificate.dual)
    assert again.lower_bound == pytest.approx(solution.lower_bound, rel=1e-9)
    assert again.upper_bound == pytest.approx(solution.upper_bound, rel=1e-12)
    components = solution.components @ solution.components.T
    np.testing.assert_allclose(components, np.diag(np.diag(components)), atol=1e-9 * components.max())
    assert (np.diff(np.diag(components)) <= 0.0).all()


@pytest.mark.integration
@pytest.mark.parametrize("loss", ["squared", "absolute", "weighted"])
@pytest.mark.parametrize("norm", ["frobenius", "trace"])
def test_errors_of_measured_distances(loss, norm):
    instance = regression(loss, norm)
    optimum = cm.solve(instance, 1e-6, solver="clarabel")
    solution = solve(instance, average=True)
    assert optimum.lower_bound <= solution.upper_bound < 1.01 * optimum.upper_bound
    assert 0.95 * optimum.lower_bound < solution.lower_bound <= optimum.upper_bound


@pytest.mark.integration
def test_a_linear_term_is_descended_too():
    given = problem()
    G = 0.05 * np.diag(np.arange(5.0))
    instance = MetricProblem(given.risk, given.regularizer, G=G)
    optimum = cm.solve(instance, 1e-6, solver="clarabel")
    solution = solve(instance, average=True)
    assert optimum.lower_bound <= solution.upper_bound < 1.02 * optimum.upper_bound
    assert 0.9 * optimum.lower_bound < solution.lower_bound <= optimum.upper_bound
    assert solution.upper_bound < 0.99 * instance.value(solve(given).certificate.M)


def test_a_seed_fixes_start_and_draws():
    first, again, other = (solve(problem(), steps=500, random_state=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.certificate.M, again.certificate.M)
    assert abs(first.certificate.M - other.certificate.M).max() > 0.0
    assert [p.gap for p in first.history] == [p.gap for p in again.history]


def test_the_start_has_the_scale_asked_for():
    instance = problem(1000)
    runs = [run_of(instance, start=0.3, random_state=seed) for seed in range(40)]
    means = [np.abs(instance.risk.comparisons.forward(r.V.T @ r.V)).mean() for r in runs]
    assert np.mean(means) == pytest.approx(0.3, rel=0.15)


def test_looks_come_once_steps_cost_more():
    assert [p.details["steps"] for p in solve(problem(), steps=3_000).history] == [0, 600, 1200, 2400, 3000]
    X = np.random.default_rng(0).normal(size=(300, 300))
    y = np.arange(300) % 3
    wide = cm.PairMarginProblem.from_labels(X / 30.0, y, n_pairs=50, random_state=0)
    steps = [p.details["steps"] for p in solve(wide, steps=20_000, vectors=100).history]
    assert steps[0] == 0
    assert steps[-1] == 20_000
    assert all(step & (step - 1) == 0 for step in steps[:-1])
    run = run_of(wide, vectors=100, steps=20_000)
    assert all(run.worth_a_look(int(step)) for step in steps[1:-1])
    assert not run.worth_a_look(int(steps[1]) // 2)


def test_it_ends_when_told_to():
    with pytest.warns(GapWarning):
        assert cm.solve(problem(), 1e-9, solver="stochastic-factors", max_iter=3).iterations == 3
    with pytest.warns(GapWarning):
        solution = cm.solve(problem(), 1e-9, solver=cm.approximate.StochasticFactors(epochs=10**6), max_seconds=0.2)
    assert solution.status == "max_seconds"
    assert solution.seconds < 2.0
    assert solve(problem(), steps=777).history[-1].details["steps"] == 777


def test_steps_that_diverge_leave_what_was_found():
    solution = solve(problem(), learning_rate=1e3, steps=2_000)
    assert solution.status == "stalled"
    assert np.isfinite(solution.upper_bound)
    assert solution.history[-1].details["steps"] < 2_000
    squared = solve(regression("squared"), learning_rate=1e3, steps=2_000)
    assert squared.status == "stalled"
    assert squared.lower_bound <= squared.upper_bound < np.inf


@pytest.mark.integration
@pytest.mark.parametrize("n_pairs", [120, None])
def test_a_checkpoint_takes_up_the_same_steps(tmp_path, n_pairs):
    path = tmp_path / "state.npz"
    instance = problem(n_pairs)
    solver = cm.approximate.StochasticFactors(vectors=5, steps=20_000, random_state=1)
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        whole = cm.solve(instance, 1e-9, solver=solver)
        part = cm.solve(instance, 1e-9, solver=solver, max_iter=5, checkpoint=path)
        rest = cm.solve(instance, 1e-9, solver=solver, checkpoint=path)
    assert part.iterations == 5
    assert [p.details for p in rest.history] == [p.details for p in whole.history]
    np.testing.assert_array_equal(rest.certificate.M, whole.certificate.M)
    with pytest.raises(InputError, match="another number or length"):
        cm.solve(instance, 1e-9, solver=cm.approximate.StochasticFactors(vectors=4), checkpoint=path)


@pytest.mark.integration
def test_an_interrupt_leaves_a_certified_point():
    def interrupt(progress):
        if progress.iteration == 4:
            raise KeyboardInterrupt

    with pytest.warns(GapWarning):
        solution = cm.solve(problem(), 1e-9, solver="stochastic-factors", callback=interrupt)
    assert solution.status == "interrupted"
    assert solution.lower_bound <= solution.upper_bound


def test_problems_it_cannot_handle():
    X, y = points()
    given = problem()
    for instance in (cm.RankingProblem.from_labels(X, y), MetricProblem(given.risk, SquaredFrobenius(1.0))):
        with pytest.raises(UnsupportedProblemError, match="stochastic-factors"):
            cm.solve(instance, solver="stochastic-factors")
