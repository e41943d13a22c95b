r"""
Exercise 4. A certificate for a trace
=====================================

    python examples/exercises/exercise_4_trace_certificate.py

With :math:`\Omega(W) = \mathrm{tr}\, W` (McFee and Lanckriet 2010) a dual point is not always feasible. Say that
cuts, or multipliers, prove :math:`R(W) \ge a - \langle S, W \rangle` for all W, with a number :math:`a \ge 0` and a
symmetric matrix S. Then the objective is at least

.. math:: a + \min_{W \succeq 0} \; \mathrm{tr}\, W - \langle S, W \rangle .

**Task 1.** ``problem.to_cvxpy(rankings=...)`` is the paper's program for some rankings; run this file once to see one
printed. After a solve its constraint ``ranking q, y`` has a multiplier ``constraint.dual_value``, and its numbers are
``program.param_dict["Delta[q, y]"].value`` and ``["dpsi[q, y]"]``. Write ``dual_point(program)``: the number a and the
matrix S that these multipliers make.

**Task 2.** For which S is this minimum finite, and what is it then? Cuts may be weighted by any
:math:`0 \le \theta \le 1`: from :math:`R \ge 0` it follows that :math:`R(W) \ge \theta (a - \langle S, W \rangle)`.
Write ``trace_bound(a, S)``: the best lower bound over all :math:`\theta`.

**Task 3.** Write ``project(S)``: the nearest positive semidefinite matrix to the symmetric matrix S in Frobenius norm.
An upper bound needs a metric in the cone.

**To think about.** A dual point with :math:`\lambda_{\max}(S) = 1.001` misses feasibility by a thousandth. How much of
the bound is lost by the repair? What would a program report that does not check?

Fill in the three functions and run the file.
"""

import numpy as np

import convexmetric as cm

TASKS = ("dual_point", "trace_bound", "project")


def dual_point(program):
    """A and S, from the multipliers of a solved program."""
    raise NotImplementedError("task 1")


def trace_bound(a, S):
    """The best lower bound on ``R(W) + tr W`` over the cone."""
    raise NotImplementedError("task 2")


def project(S):
    """The nearest positive semidefinite matrix."""
    raise NotImplementedError("task 3")


def wines():
    """Every third wine ranks the others by the area under the ROC curve."""
    wine = cm.datasets.load("wine")
    X = cm.datasets.preprocess(wine.X, ["zscore"])[::3]
    return X, cm.RankingProblem.from_labels(X, wine.y[::3], measure="auc", C=10.0)


def check(dual_point=dual_point, trace_bound=trace_bound, project=project):
    """Hold the answers against the package, at multipliers good and bad."""
    X, problem = wines()
    solution = cm.solve(problem, solver="cutting-planes", tol=1e-7)
    program = problem.to_cvxpy(rankings=solution.working_set)
    value = program.solve(solver="CLARABEL")
    a, S = dual_point(program)
    assert np.shape(S) == (X.shape[1], X.shape[1]), "task 1: S is a matrix of the metric's shape"
    assert np.isclose(a, value, rtol=1e-5), "task 1: at the optimum a is the value of the program"
    assert np.linalg.eigvalsh(S).max() <= 1.0 + 1e-5, "task 1: these multipliers are not those of the program"
    assert np.isclose(trace_bound(a, S), solution.lower_bound, rtol=1e-5), "task 2: bound not tight"
    rng = np.random.default_rng(0)
    counts = [len(near) * len(far) for near, far in map(problem.rankings.relevance.of, range(len(X)))]
    most = np.repeat([problem.C / (len(X) * count) for count in counts], counts)
    for u in (np.zeros(len(most)), most, rng.uniform(0.0, most), 0.01 * most, 1e-4 * rng.uniform(0.0, most)):
        point = problem.risk.minorant(u)
        mine, theirs = trace_bound(point.value, point.S), problem.dual_bound(u)
        assert np.isclose(mine, theirs, rtol=1e-9, atol=1e-12), f"task 2: {mine} is not {theirs}"
        assert mine <= solution.upper_bound, "task 2: above the optimum, so it is no lower bound"
    for _ in range(5):
        S = rng.normal(size=(6, 6))
        S = S + S.T
        P = np.asarray(project(S))
        assert np.linalg.eigvalsh(P).min() >= -1e-9, "task 3: not positive semidefinite"
        # The two conditions that only the projection meets: S - P is negative semidefinite and orthogonal to P.
        assert np.linalg.eigvalsh(S - P).max() <= 1e-9, "task 3: not the nearest"
        assert abs(np.sum(P * (S - P))) <= 1e-9, "task 3: not the nearest"


if __name__ == "__main__":
    _, problem = wines()
    lines = str(problem.to_cvxpy(rankings=problem.worst_rankings(np.zeros((13, 13))))).splitlines()
    print(*lines[:4], "           ...", lines[-1], sep="\n")
    check()
    print("All right: a dual point that misses feasibility is repaired, not believed.")
