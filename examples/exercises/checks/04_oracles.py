"""Checks of exercise 4: by all rankings of a few items, and by certified optima."""

from functools import cache
from itertools import permutations

import numpy as np
from checking import Wrong, expect, numbers, same, several, task, wine


def queries():
    """Squared distances of a wine from those of the same grower and from others, p and n of several sizes."""
    X, y = wine()
    for p, n in ((1, 1), (2, 3), (3, 3), (5, 40), (30, 7)):
        d = 0.1 * ((X[:, :4] - X[7, :4]) ** 2).sum(axis=1)
        yield d[y == 0][8 : 8 + p], d[y != 0][:n]


@cache
def rankings(p, n):
    """All rankings of p + n items, as places (rankings, items) from 0; the first p items are relevant."""
    return np.argsort(np.array(list(permutations(range(p + n)))), axis=1)


def brute_force(x, z, losses):
    """Find the largest loss minus change of the feature, over all rankings with these losses."""
    p, n = len(x), len(z)
    places = rankings(p, n)
    inverted = places[:, None, p:] < places[:, :p, None]
    return (losses - 2.0 / (p * n) * (inverted * (z[None, :] - x[:, None])).sum(axis=(1, 2))).max()


def inverted_share(p, n):
    """1 - AUC of all rankings."""
    places = rankings(p, n)
    return (places[:, None, p:] < places[:, :p, None]).mean(axis=(1, 2))


def r_precision(p, n):
    """R-precision of all rankings, by its definition."""
    return (rankings(p, n)[:, :p] < p).mean(axis=1)


def of_pairs(x, z):
    """Loss minus change of the feature of each inverted pair, times p n."""
    return 1.0 - 2.0 * (z[None, :] - x[:, None])


@task(2)
def worst_value(answer):
    for x, z in queries():
        terms = of_pairs(x, z)
        right = np.maximum(0.0, terms).mean()
        if terms.size <= 9:
            assert np.isclose(right, brute_force(x, z, inverted_share(len(x), len(z))))
        same(
            answer(x, z),
            right,
            "Collect the two sums: a pair that is inverted adds (1 - 2 (z_j - x_i)) / (p n).",
            "Invert a pair if that is positive, and only then.",
            what=f"the value for p = {len(x)}, n = {len(z)}",
            mistakes={
                "Pairs that make the sum smaller need not be inverted.": terms.mean(),
                "The sum is divided by p n.": np.maximum(0.0, terms).sum(),
                "The change of the feature has the factor 2.": np.maximum(0.0, 1.0 - (z[None, :] - x[:, None])).mean(),
                "The sign of z_j - x_i: irrelevant items that are near are easy to put above.": np.maximum(
                    0.0, 1.0 + 2.0 * (z[None, :] - x[:, None])
                ).mean(),
                "Pairs may be chosen one by one, not all or none.": max(0.0, terms.mean()),
            },
        )


@task(2)
def worst_ranking(answer):
    for x, z in queries():
        p, n = len(x), len(z)
        found = answer(x, z)
        b = numbers(found, (p,), "the numbers of irrelevant items")
        expect(np.isin(b, np.arange(n + 1)).all(), f"expected whole numbers from 0 to {n}; yours are {found}")
        terms = np.take_along_axis(of_pairs(x, z), np.argsort(z)[None, :].repeat(p, axis=0), axis=1)
        values = np.hstack([np.zeros((p, 1)), np.cumsum(terms, axis=1)]) / (p * n)
        value, most = values[np.arange(p), b.astype(int)].sum(), values.max(axis=1).sum()
        truth = (z[None, :] < x[:, None]).sum(axis=1)
        hint = "Irrelevant items with z_j < x_i + 1/2 are above item i."
        if np.array_equal(b, truth) and value < most - 1e-12:
            hint = "This is the ranking by distance. The loss moves irrelevant items up, by 1/2."
        elif np.array_equal(np.sort(b), np.sort(values.argmax(axis=1))) and value < most - 1e-12:
            hint = "The numbers belong in the order of x as given, which need not be sorted."
        elif np.array_equal(n - b, (values.argmax(axis=1))) and value < most - 1e-12:
            hint = "Count the irrelevant items above, not below."
        expect(
            value >= most - 1e-9,
            f"expected a ranking of the value {most:.6g}; yours has {value:.6g}",
            hint,
            "numpy.searchsorted(sorted z, x + 1/2) counts them; z must be sorted, x need not.",
        )


@task(2)
def gains(answer):
    for p, n in ((1, 1), (2, 3), (3, 3)):
        i, b = np.meshgrid(np.arange(1, p + 1), np.arange(n + 1), indexing="ij")
        g = same(
            answer(i, b, p, n),
            np.where(i + b <= p, 1.0 / p, 0.0),
            "In which place is the i-th relevant item, if b irrelevant ones are above it?",
            "In place i + b. It counts if that is at most p.",
            what=f"the gains for p = {p}, n = {n}",
            mistakes={
                "Gains of the perfect ranking, b = 0, must add up to 1.": np.where(i + b <= p, 1.0, 0.0),
                "The i-th relevant item is in place i + b, which may be p.": np.where(i + b < p, 1.0 / p, 0.0),
                "The relevant items above count as well: the place is i + b, not b.": np.where(b <= p, 1.0 / p, 0.0),
                "The first p places count, not the first n.": np.where(i + b <= n, 1.0 / p, 0.0),
            },
        )
        # Summed up they are the measure, for every ranking.
        above = np.sort((rankings(p, n)[:, None, p:] < rankings(p, n)[:, :p, None]).sum(axis=2), axis=1)
        expect(
            np.allclose(g[np.arange(p), above].sum(axis=1), r_precision(p, n)), "the gains do not add up to R-precision"
        )


@task(2)
def own_measure(answer):
    import convexmetric as cm
    from convexmetric.measures import Measure
    from convexmetric.risks import RankingRisk

    measure = answer()
    if isinstance(measure, type):
        expect(False, "expected an object; yours is the class", "Call it: `return RPrecision()`.")
    expect(isinstance(measure, Measure), f"expected a Measure; yours is a {type(measure).__name__}")
    X, y = wine()
    for p, n in ((1, 2), (2, 3), (3, 3), (2, 4)):
        points = np.vstack([X[y == 0][8 : 8 + p], X[y != 0][:n]])[:, :4]
        points = np.sqrt(0.1) * (points - X[7, :4])
        problem = cm.RankingProblem(points, [np.arange(p)], queries=np.zeros((1, 4)), measure="auc")
        x, z = np.split((points**2).sum(axis=1), [p])
        same(
            RankingRisk(problem.rankings, measure, 1.0).value(np.eye(4)),
            brute_force(x, z, 1.0 - r_precision(p, n)),
            "Its gains are those of task 3: g(i, b) = 1/p if i + b <= p, else 0.",
            what=f"the most violated ranking of {p} + {n} items, by all {len(rankings(p, n))} rankings",
        )


@task(2)
def cutting_planes(answer):
    import cvxpy  # noqa: F401

    import convexmetric as cm

    X, y = wine()
    X, y = X[::9, :4], y[::9]
    problem = cm.RankingProblem.from_labels(X, y, measure="auc", C=10.0)
    exact, tol = cm.solve(problem, tol=1e-7), 1e-3

    passes = []

    def rankings_at(W):
        passes.append(W)
        if len(passes) > 30:
            raise Wrong(
                "no end after 30 passes; 10 are enough",
                "Rankings of all passes stay in the program: add to them, do not replace them.",
                "Stop when problem.objective(W) - lower <= tol * problem.objective(W).",
            )
        return [problem.ranking(q, worst_rows(problem, q, W)) for q in range(len(problem.rankings))]

    found = answer(problem, rankings_at, tol)
    several(found, "two things, a metric and a bound", "W, lower")
    W, lower = numbers(found[0], (4, 4), "the metric"), float(numbers(found[1], (), "the bound"))
    least = np.linalg.eigvalsh(W)[0]
    expect(
        least >= -1e-9 and np.allclose(W, W.T),
        f"the metric is not feasible: it has the eigenvalue {least:.3g}",
        "A solver's metric may miss the cone: `problem.cone.project` repairs it.",
    )
    objective = problem.objective(W)
    expect(
        lower <= exact.upper_bound * (1 + 1e-6),
        f"{lower:.6g} is above the optimum {exact.upper_bound:.6g}, so it is no lower bound",
        "The lower bound is the value of the program, `program.solve()`, not the objective at its metric.",
    )
    expect(
        objective - lower <= 1.001 * tol * objective,
        f"the gap is {(objective - lower) / objective:.3g}, more than {tol}",
        "Rankings of all passes stay in the program: add to them, do not replace them.",
        "Stop when problem.objective(W) - lower <= tol * problem.objective(W), and not before.",
    )


def worst_rows(problem, q, W):
    """Rows of the worst ranking of a query for AUC, top first."""
    X, query = problem.rankings.X, problem.rankings.Q[q]
    near, far = problem.rankings.relevance.of(q)
    keys = np.einsum("ij,jk,ik->i", query - X, W, query - X)
    keys[near] += 0.5
    items = np.concatenate([far, near])
    return items[np.argsort(keys[items], kind="stable")]
