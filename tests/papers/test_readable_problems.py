"""Problems print themselves in words with their sizes, and in LaTeX that a notebook can show."""

import re

import numpy as np
import pytest
from catalogue import cases, instance
from matplotlib.mathtext import MathTextParser

import convexmetric as cm


def _ranking(problem):
    yield "McFee & Lanckriet 2010", True
    yield f"queries   n = {len(problem.rankings)}, ranking a corpus of {problem.rankings.X.shape[0]} points", True
    yield ("3 weights" if problem.cone.diagonal else "3 x 3"), True
    yield "w_q", problem.query_weights is not None


def _triplets(problem):
    yield "large graphs", True
    yield f"{problem.count} triplets on {problem.rankings.X.shape[0]} points", True
    yield from (("weighted", problem.weighted), ("mean_S1", problem.intra > 0), ("mean_S2", problem.inter > 0))


def _cross_modal(problem):
    for said in ("BPRHML", "d(x, y_i)^2 - d(x, y_j)^2", "4 x 4: 2 features of X and 2 of Y"):
        yield said, True
    yield f"{problem.count} triples in all", True


def _pairs(problem):
    yield "Maurer 2008", True
    listed = "17 pairs of 9" if problem.pairs is not None else "all 36 pairs of 9"
    yield f"{listed if problem.pair_weights is None else '11 weighted pairs of 12'} points", True
    norm = "tr A" if problem.norm == "trace" else "||A||_2"
    yield (norm if problem.prior is None else "1/2 ||A - A0||_2^2"), True
    yield "A0 ", problem.prior is not None


def _similarity(problem):
    unweighted = problem.pair_weights is None
    yield "section 4.1", True
    yield ("m = 14 pairs of 9 points" if unweighted else "11 pairs of weights that add up to m = 17.6"), True


def _large_margin(problem):
    yield from (("Weinberger & Saul 2009", True), (f"{problem.count} triplets", True))
    yield "M0 ", problem.reg is not None


def _choices(problem):
    yield from (("14 of 11 objects: ", True), ("nearest of 4", problem.kind == "anchor"))
    yield "M0 ", problem.regularizer.base.prior is not None


def _relative(problem):
    for said in ("Schultz & Joachims 2003", "d_w(x_i, x_k)^2 - d_w(x_i, x_j)^2", f"{problem.cone.d} weights"):
        yield said, True
    yield f"triplets  {len(problem.triplets)} on 12 points", True
    yield from (("hard margin", np.isinf(problem.C)), ("xi", np.isfinite(problem.C)))


#: What the text of a paper's problem has, and of some of it whether it has: a paper's class takes a line here.
SAYS = {
    cm.ChoiceProblem: _choices,
    cm.CrossModalProblem: _cross_modal,
    cm.InformationTheoreticProblem: lambda problem: [("Davis et al. 2007", True), ("11 similar", True)],
    cm.LargeMarginProblem: _large_margin,
    cm.PairMarginProblem: _pairs,
    cm.RankingProblem: _ranking,
    cm.RelativeComparisonProblem: _relative,
    cm.SimilarityRegressionProblem: _similarity,
    cm.TripletProblem: _triplets,
    cm.papers.CollapsingClassesProblem: lambda problem: [("Globerson & Roweis 2005", True), ("12 points", True)],
}


@pytest.mark.parametrize("name", cases("method"))
def test_text_states_sizes_formula_and_source(name):
    problem = instance(name)
    text = str(problem)
    assert "minimise" in text
    assert "subject to" in text
    assert all(len(line) <= 110 for line in text.splitlines())
    for said, there in SAYS[type(problem)](problem):
        assert (said in text) == there


@pytest.mark.parametrize("name", cases("method"))
def test_latex_is_balanced_and_its_parts_render(name):
    latex = instance(name)._repr_latex_()
    assert latex.count("$$") == 4
    assert "$" not in latex.replace("$$", "")
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", latex):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    assert latex.count(r"\begin{aligned}") == latex.count(r"\end{aligned}") <= 1
    # mathtext knows no alignment, but the cells between its marks are formulas it can draw, in its spelling.
    inside = re.sub(r"\\(begin|end)\{aligned\}", "", latex)
    inside = re.sub(r"\\(ge|le)\b", r"\\\1q", inside.replace(r"\tfrac12", r"\frac{1}{2}"))
    cells = [cell.strip() for cell in re.split(r"\$\$|\\\\|&", inside) if cell.strip()]
    assert cells
    for cell in cells:
        MathTextParser("agg").parse(f"${cell}$")


def test_latex_names_the_quadratic_form():
    assert r"L = I$$" in instance("relative, identity, soft")._repr_latex_()
    assert r"(A^\top A) \circ (A^\top A)" in instance("relative, A, soft")._repr_latex_()
    assert r"K \circ K" in instance("relative, rbf, soft")._repr_latex_()
    assert r"C = \infty" in instance("relative, A, hard")._repr_latex_()
