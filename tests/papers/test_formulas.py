"""What is printed is what is solved: formulas read as they stand, and numbers of programs changed by their names."""

import re
import warnings
from html import unescape

import cvxpy as cp
import numpy as np
import pytest
from catalogue import instance

import convexmetric as cm
from convexmetric.programs.printing import terms, tex, written

TIGHT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
rng = np.random.default_rng(0)
X = rng.standard_normal((12, 3))
y = np.arange(12) % 3
Z = X + 2.0 * y[:, None]
TRIPLETS = [(0, 3, 1), (1, 4, 2), (2, 5, 0), (3, 6, 4), (7, 10, 8)]
PAIRS, SIGNS = [(0, 3), (1, 4), (2, 5), (0, 1), (1, 2), (5, 7)], [1, 1, 1, -1, -1, -1]
VALUES = [0.9, 0.8, 0.7, 0.1, 0.2, 0.0]


def solved(program):
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        return program.solve(solver=cp.CLARABEL, **TIGHT)


# Numbers by name ------------------------------------------------------------------------------------------------------

TARGETS = {"n_neighbors": 2, "prior": "identity"}
CHANGES = {
    "C of rankings": (
        lambda C=0.4: cm.RankingProblem(X, [[1, 2], [5]], irrelevant=[[3, 4], [6, 7]], queries=X[:2], C=C),
        {"C": ("C", 0.8)},
    ),
    "relative": (lambda C=1.0: cm.RelativeComparisonProblem(X, TRIPLETS, C=C), {"C": ("C", 3.0)}),
    "triplets": (
        lambda **given: cm.TripletProblem(X, TRIPLETS, **{"reg": 0.2, "intra": 0.1, "inter": 0.05} | given),
        {"lambda": ("reg", 0.5), "xi": ("margin", 2.0), "intra": ("intra", 0.3), "inter": ("inter", 0.02)},
    ),
    "triplets, near the identity": (
        lambda reg=0.2: cm.TripletProblem(X, TRIPLETS, reg=reg, prior="identity"),
        {"lambda": ("reg", 0.5)},
    ),
    "pairs": (
        lambda reg=0.05, inside=0.5, outside=1.5: cm.PairMarginProblem(
            X, PAIRS, SIGNS, reg=reg, margin=(inside, outside)
        ),
        {"lambda": ("reg", 0.1), "gamma_1": ("inside", 0.9), "gamma_-1": ("outside", 0.4)},
    ),
    "all pairs": (
        lambda reg=0.05, inside=0.5, outside=1.5: cm.PairMarginProblem.from_labels(
            X, y, reg=reg, margin=(inside, outside)
        ),
        {"lambda": ("reg", 0.1), "gamma_1": ("inside", 2.0), "gamma_-1": ("outside", 0.4)},
    ),
    "similarity": (
        lambda reg=0.05, y0=0.2: cm.SimilarityRegressionProblem(X, PAIRS, VALUES, reg=reg, loss="weighted", y0=y0),
        {"lambda": ("reg", 0.2), "y_0": ("y0", 0.6)},
    ),
    "similarity, as printed": (
        lambda y0=0.25: cm.SimilarityRegressionProblem(X, PAIRS, VALUES, loss="weighted", y0=y0, as_printed=True),
        {"y_0": ("y0", 0.5)},
    ),
    "large margin": (lambda push=0.5: cm.LargeMarginProblem(X, y, n_neighbors=2, push=push), {"mu": ("push", 0.8)}),
    "large margin, ridge": (
        lambda reg=0.1, ridge=0.1: cm.LargeMarginProblem(X, y, reg=reg, ridge=ridge, **TARGETS),
        {"lambda": ("reg", 0.3), "rho": ("ridge", 0.4)},
    ),
    "cross-modal": (
        lambda alpha=0.1, beta=0.01: cm.CrossModalProblem(
            Z[:, :2], Z[:, 1:], y, y, alpha, beta, n_clusters=1, random_state=0
        ),
        {"alpha": ("alpha", 0.4), "beta": ("beta", 0.05)},
    ),
    "choices": (
        lambda reg=0.1, temperature=0.6: cm.ChoiceProblem(X, TRIPLETS, reg=reg, temperature=temperature),
        {"lambda": ("reg", 0.03), "tau": ("temperature", 0.4)},
    ),
    "collapsing classes": (
        lambda reg=0.1: cm.papers.CollapsingClassesProblem(X, y, reg=reg),
        {"lambda": ("reg", 0.4)},
    ),
    "information-theoretic": (
        lambda u=0.8, l=3.0, gamma=0.5: cm.InformationTheoreticProblem(X, PAIRS, SIGNS, u=u, l=l, gamma=gamma),  # noqa: E741
        {"u": ("u", 0.5), "l": ("l", 5.0), "gamma": ("gamma", 2.0)},
    ),
}


@pytest.mark.parametrize(("case", "name"), [(case, name) for case, (_, names) in CHANGES.items() for name in names])
def test_a_number_changed_in_the_program_is_changed_in_the_problem(case, name):
    make, names = CHANGES[case]
    argument, value = names[name]
    program, fresh = make().to_cvxpy(), make(**{argument: value})
    before = solved(program)
    program.param_dict[name].value = value
    assert program.is_dpp()
    after = solved(program)
    assert after == pytest.approx(cm.solve(fresh, tol=1e-7).upper_bound, rel=1e-5)
    assert abs(after - before) > 1e-3 * abs(before)
    assert program.latex() == fresh.latex() == fresh.to_cvxpy().latex()
    assert f"{name} = {value:g}" in str(program)


@pytest.mark.parametrize("case", CHANGES)
def test_numbers_are_read_by_name(case):
    problem = CHANGES[case][0]()
    program = problem.to_cvxpy()
    shown = dict(re.findall(r"(\S+) = ([-\d.]+)", str(program).splitlines()[-1]))
    assert set(CHANGES[case][1]) <= set(shown)
    for name, text in shown.items():
        assert float(text) == pytest.approx(float(program.given[name].value), rel=1e-5)
    assert set(program.param_dict) <= set(program.given)
    # Any other number without a name would be one that nobody can place.
    assert {abs(float(c.value)) for c in program.constants() if c.is_scalar() and c._name is None} <= {0.0, 1.0, 2.0}


def test_data_of_a_program_are_those_of_the_paper():
    problem = cm.TripletProblem(X, TRIPLETS, intra=0.5, inter=0.25)
    given = problem.to_cvxpy().given
    for name, pairs in (("I1", [(i, j) for i, j, _ in TRIPLETS]), ("I2", [(i, k) for i, _, k in TRIPLETS])):
        V = np.array([X[i] - X[j] for i, j in pairs])
        np.testing.assert_allclose(given[name].value, V.T @ V / len(V), atol=1e-12)
    assert given["|S|"].value == 5
    problem = cm.CrossModalProblem(X[:, :2], X[:, 1:], y, y, 1.0, 0.5, n_clusters=1, random_state=0)
    np.testing.assert_array_equal(problem.to_cvxpy().given["B"].value, problem.B)


# Formulas as they stand -----------------------------------------------------------------------------------------------


def discount(t, shift):
    return np.where(t == 1, 1.0, 1.0 / np.log2(np.maximum(t, 2) + shift))


def score(name, k, relevant):
    """A score of a ranking by the definition in the paper, k counted places; k is ignored by those of whole lists."""
    places = np.flatnonzero(relevant) + 1
    head = places[places <= k]
    if name == "PRECISION":
        return len(head) / k
    if name == "KNN":
        return float(len(head) / k > 0.5)
    if name.startswith("NDCG"):
        shift = 1 if name == "NDCG-LOG2" else 0
        return discount(head, shift).sum() / discount(np.arange(1, k + 1), shift).sum()
    if name == "MRR":
        return 1.0 / places[0]
    if name == "MAP":
        return np.mean(np.arange(1, len(places) + 1) / places)
    return np.mean([[i < j for j in np.flatnonzero(~relevant)] for i in np.flatnonzero(relevant)])


def read_delta(text, relevant):
    """Evaluate ``1 - SCORE@k(y)`` or ``SCORE@k(y*) - SCORE@k(y)`` at a ranking, with k a number or min(k, p_q)."""
    perfect, p = np.sort(relevant)[::-1], int(relevant.sum())
    values = []
    for part in text.split(" - ", 1):
        found = re.fullmatch(r"([A-Z][A-Z0-9-]*)(?:@(?:min\((\d+), p_q\)|(\d+)))?\((y\*?)\)", part)
        if found is None:
            values.append(float(part))
            continue
        name, cut, k, at = found.groups()
        places = min(int(cut), p) if cut else int(k or len(relevant))
        values.append(score(name, places, perfect if at == "y*" else relevant))
    return values[0] - values[1]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("short", ["cut", "printed"])
@pytest.mark.parametrize("measure", ["precision", "ndcg", "ndcg-log2", "knn", "auc", "map", "mrr"])
def test_delta_is_what_is_printed(measure, short, k):
    if measure in ("auc", "map", "mrr"):
        if (short, k) != ("cut", 1):
            return
        settings = {}
    else:
        settings = {"k": k, "short": short}
    for relevant in ([[1], [5, 6]], [[1, 2], [5, 6, 7]]):
        problem = cm.RankingProblem(
            X, relevant, irrelevant=[[3, 4, 8], [9, 10]], queries=X[:2], measure=measure, **settings
        )
        (text,) = re.findall(
            r"^  Delta +(.*?)(?:, of a query q with p_q relevant points)?$", str(problem), re.MULTILINE
        )
        for q in range(2):
            for ranking in problem.ranking_risk.every_ranking(q):
                assert ranking.loss == pytest.approx(read_delta(text, np.array(ranking.relevant)), abs=1e-12), text
        (formula,) = re.findall(
            r"\\Delta\(y\^\*_q, y\) = (.*?)(?:,.quad p_q = \|.mathcal\{X\}\^\+_q\|)?\$\$", problem.latex()
        )
        plain = re.sub(r"\\mathrm\{(.*?)\}", r"\1", formula).replace("(y^*_q)", "(y*)").replace(r"\min", "min")
        assert plain == text


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("margin", [1.0, (0.5, 1.5)])
def test_the_formula_of_all_pairs_has_their_weights(balanced, margin):
    labels = [0, 0, 1, 1, 1, 1]
    problem = cm.PairMarginProblem.from_labels(X[:6], labels, reg=0.4, margin=margin, balanced=balanced)
    latex = problem.latex()
    assert r"\frac{1}{|S|} \sum" in latex
    assert ("c_{r_i} h" in latex) == (r"c_r = \frac{|S|}{2 |S_r|}" in latex) == balanced

    def number(letter):
        return float(re.search(rf"(?:quad ){re.escape(letter)} = ([\d.]+)", latex)[1])

    c = (
        {r: number("|S|") / (2 * number(f"|S_{name}|")) for r, name in ((1, "1"), (-1, "{-1}"))}
        if balanced
        else {1: 1, -1: 1}
    )
    gamma = {1: number(r"\gamma_1"), -1: number(r"\gamma_{-1}")}
    A, total, count = np.diag([0.3, 0.9, 0.2]), 0.0, 0
    for i in range(6):
        for j in range(i + 1, 6):
            r, d = 1 if labels[i] == labels[j] else -1, (X[i] - X[j]) @ A @ (X[i] - X[j])
            total, count = total + c[r] * max(0.0, 1.0 - r * (1.0 - d) / gamma[r]), count + 1
    assert number("|S|") == count
    read = total / count + number(r"\lambda") / np.sqrt(number("m")) * np.linalg.norm(A)
    assert problem.value(A) == pytest.approx(read, rel=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_the_formula_of_large_margins_has_its_pull(ridge):
    problem = cm.LargeMarginProblem(X, y, n_neighbors=2, push=0.4, ridge=ridge)
    latex = problem.latex()
    assert (r"\frac{\rho}{n^2}" in latex) == ("0.2 / 12^2 sum_ab d_M(a, b)" in str(problem)) == bool(ridge)
    M = np.diag([0.3, 0.9, 0.2])
    d = np.einsum("ijk,kl,ijl->ij", X[:, None] - X, M, X[:, None] - X)
    value = sum(0.6 * (d[i, j] + ridge * d.mean()) for i, j in problem.targets)
    value += 0.4 * sum(max(0.0, 1.0 + d[i, j] - d[i, k]) for i, j in problem.targets for k in range(12) if y[k] != y[i])
    assert problem.objective(M) == pytest.approx(value, rel=1e-10)


def test_squared_distances_are_written_as_such():
    """In the letters of both papers d has a root, and the programs are about its square."""
    relative, crossed = instance("relative, identity, soft"), instance("cross-modal, all objects")
    w, points, (i, j, k) = np.array([0.5, 0.2, 0.1, 0.7]), relative.triplets.X, relative.triplets.triplets[0]
    d_w = {other: np.sqrt(w @ (points[i] - points[other]) ** 2) for other in (j, k)}
    program = relative.to_cvxpy()
    program.metric.value, program.var_dict["xi"].value = w, np.zeros(len(relative.triplets))
    assert program.constraints[0].args[1].value == pytest.approx(d_w[k] ** 2 - d_w[j] ** 2)
    assert "d_w(x_i, x_k)^2 - d_w(x_i, x_j)^2 >= 1 - xi_ijk" in str(relative)
    assert "exp(d(x, y_i)^2 - d(x, y_j)^2)" in str(crossed)
    assert "d_W(x_k, y_i)^2 - d_W(x_k, y_j)^2" in crossed.latex()


# Printing -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ranking from lists", "information-theoretic", "triplets, list"])
def test_notebooks_show_the_formula(name):
    problem = instance(name)
    program = problem.to_cvxpy()
    for shown in (problem._repr_html_(), program._repr_html_()):
        assert shown.startswith('<div class="math">')
        inside = shown.removeprefix('<div class="math">').removesuffix("</div>")
        assert "<" not in inside
        assert unescape(inside) == problem.latex()


def test_expressions_are_printed_so_that_they_can_be_read_back():
    M, D = cp.Variable((2, 2), symmetric=True, name="M"), cp.Parameter((2, 2), name="D")
    w, C, n = cp.Variable(2, name="w"), cp.Parameter(name="C", nonneg=True), cp.Constant(4.0, name="n")
    a = cp.Constant(np.ones(2), name="a")
    values = {"M": np.array([[0.4, 0.1], [0.1, 0.7]]), "D": np.array([[1.0, 2.0], [2.0, 5.0]]), "C": 3.0, "n": 4.0}
    values |= {"w": np.array([0.3, 0.6]), "a": np.ones(2), "L": np.eye(2)}
    functions = {name: getattr(cp, name) for name in ("sum", "sqrt", "pos", "square", "sum_squares", "norm1")}
    functions |= {"log_sum_exp": cp.log_sum_exp, "quad_form": cp.quad_form, "multiply": np.multiply}
    functions["norm"] = lambda matrix: cp.norm(matrix, "fro")
    for stated, text in (
        (cp.sum(cp.multiply(D, M)), "<D, M>"),
        (C / n * cp.sum(w), "C / n * sum(w)"),
        (C / cp.sqrt(n) * cp.norm(M, "fro"), "C / sqrt(n) * norm(M)"),
        (cp.pos(1 - w[0]), "pos(1 - w[0])"),
        ((w[0] - 1) / n, "(w[0] - 1) / n"),
        (2 * (w[0] - w[1]), "2 * (w[0] - w[1])"),
        (w[0] - (w[1] - 1), "w[0] - (w[1] - 1)"),
        (C / (2 * n), "C / (2 * n)"),
        (cp.square(w[0] + 1), "square(w[0] + 1)"),
        (cp.sum_squares(M - 1) / 2, "sum_squares(M - 1) / 2"),
        (a @ cp.multiply(a, w), "a @ (a * w)"),
        (cp.log_sum_exp(-w), "log_sum_exp(-w)"),
        (cp.quad_form(w, cp.psd_wrap(cp.Constant(np.eye(2), name="L"))), "quad_form(w, L)"),
        (cp.norm1(w), "norm1(w)"),
        (cp.sum(cp.multiply(D, M), axis=1)[0], "sum(D * M, 1)[0]"),
    ):
        assert " + ".join(terms(stated)).replace("+ -", "- ") == text
        for leaf in (M, D, w, C):
            leaf.value = values[leaf.name()]
        read = eval(re.sub(r"<(\w+), (\w+)>", r"sum(multiply(\1, \2))", text), functions | values)
        assert float(np.asarray(getattr(read, "value", read))) == pytest.approx(float(stated.value))
    assert terms(cp.pnorm(w, 3))[0].startswith("PnormApprox(w, 3")


def test_terms_of_users_are_a_line_each():
    own = np.arange(9.0).reshape(3, 3)
    problem = instance("large margin").subject_to(
        lambda M: [cp.trace(M) <= 0.5, own + M >= -1, cp.SOC(cp.Constant(1.0), M[0]), cp.sum(own @ M, axis=0) <= 9],
        lambda M: cp.sum_squares(M) - cp.log_det(M + np.eye(3)),
    )
    lines = [line.strip() for line in str(problem.to_cvxpy()).splitlines()]
    assert lines[2] == "+ sum(sum_squares(M) - log_det(M + array(3, 3)))"
    at = lines.index("M >> 0")
    assert lines[at + 1 : at + 3] == ["trace(M) <= 0.5", "array(3, 3) + M >= -1"]
    assert "SOC" in lines[at + 3]
    assert lines[at + 4] == "sum(array(3, 3) @ M, 0) <= 9"


def test_constraints_are_printed_with_their_labels():
    M, w = cp.Variable((2, 2), symmetric=True, name="M"), cp.Variable(2, name="w")
    assert written(M >> 0) == "M >> 0"
    assert written((w[0] >= 1).set_label("first")) == "first: w[0] >= 1"
    assert written(w[0] + 1 <= w[1]) == "w[0] + 1 <= w[1]"
    assert written(w >= 0) == "w >= 0"
    assert written(cp.sum(w) == 2) == "sum(w) == 2"
    assert "w" in written(cp.SOC(cp.Constant(1.0), w))


@pytest.mark.parametrize(
    ("name", "letter"),
    [("C", "C"), ("lambda", r"\lambda"), ("gamma_-1", r"\gamma_{-1}"), ("y_0", "y_0"), ("intra", r"\mathrm{intra}")],
)
def test_names_in_latex(name, letter):
    assert tex(name) == letter
