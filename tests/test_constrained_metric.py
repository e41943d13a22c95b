"""The example of constraints: what each case asks for holds, and costs something."""

import constrained_metric
import numpy as np

import convexmetric as cm


def test_every_case_holds_and_costs_something():
    data = cm.datasets.load("wine")
    problem = cm.RankingProblem.from_labels(cm.datasets.preprocess(data.X, ["zscore"])[::3], data.y[::3], C=10.0)
    names = constrained_metric.NAMES
    assert len(names) == problem.cone.d
    solved = {title: cm.solve(problem, tol=1e-2, **terms) for title, terms in constrained_metric.cases(names).items()}
    free = solved.pop("as the paper states it")
    assert free.certificate.grade == "float"
    for solution in solved.values():
        assert solution.certificate.grade == "conic"
        assert solution.upper_bound > free.lower_bound
    blind = solved["blind to colour"].M
    for name in ("colour", "hue"):
        assert np.abs(blind[names.index(name)]).max() < 1e-8
    apart = solved["phenols apart"].M
    assert np.abs(apart[names.index("flavanoids"), names.index("alcohol")]) < 1e-8
    limited = solved["no pair above 0.02"].M
    assert np.abs(limited - np.diag(np.diag(limited))).max() <= 0.02 + 1e-8
    figure = constrained_metric.picture(solved, names)
    assert len(figure.axes) == len(solved) + 1
