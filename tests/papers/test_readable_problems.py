"""Problems print themselves in words with their sizes, and in LaTeX that a notebook can show."""

import re

import numpy as np
import pytest
from catalogue import cases, instance
from matplotlib.mathtext import MathTextParser

import convexmetric as cm


@pytest.mark.parametrize("name", cases("method"))
def test_text_states_sizes_formula_and_source(name):
    problem = instance(name)
    text = str(problem)
    assert "minimise" in text
    assert "subject to" in text
    assert all(len(line) <= 110 for line in text.splitlines())
    if isinstance(problem, cm.RankingProblem):
        assert "McFee & Lanckriet 2010" in text
        assert (
            f"queries   n = {len(problem.rankings)}, ranking a corpus of {problem.rankings.X.shape[0]} points" in text
        )
        assert ("3 weights" if problem.cone.diagonal else "3 x 3") in text
        assert ("w_q" in text) == (problem.query_weights is not None)
    elif isinstance(problem, cm.TripletProblem):
        assert "large graphs" in text
        assert f"{problem.count} triplets on {problem.rankings.X.shape[0]} points" in text
        assert ("weighted" in text) == problem.weighted
        assert ("mean_S1" in text) == (problem.intra > 0)
        assert ("mean_S2" in text) == (problem.inter > 0)
    elif isinstance(problem, cm.CrossModalProblem):
        assert "BPRHML" in text
        assert "d(x, y_i)^2 - d(x, y_j)^2" in text
        assert "4 x 4: 2 features of X and 2 of Y" in text
        assert f"{problem.count} triples in all" in text
    elif isinstance(problem, cm.PairMarginProblem):
        assert "Maurer 2008" in text
        listed = "17 pairs of 9" if problem.pairs is not None else "all 36 pairs of 9"
        assert f"{listed if problem.pair_weights is None else '11 weighted pairs of 12'} points" in text
        norm = "tr A" if problem.norm == "trace" else "||A||_2"
        assert (norm if problem.prior is None else "1/2 ||A - A0||_2^2") in text
        assert ("A0 " in text) == (problem.prior is not None)
    elif isinstance(problem, cm.SimilarityRegressionProblem):
        assert "section 4.1" in text
        unweighted = problem.pair_weights is None
        assert ("m = 14 pairs of 9 points" if unweighted else "11 pairs of weights that add up to m = 17.6") in text
    elif isinstance(problem, cm.LargeMarginProblem):
        assert "Weinberger & Saul 2009" in text
        assert f"{problem.count} triplets" in text
        assert ("M0 " in text) == (problem.reg is not None)
    elif isinstance(problem, cm.ChoiceProblem):
        assert "14 of 11 objects: " in text
        assert ("nearest of 4" in text) == (problem.kind == "anchor")
        assert ("M0 " in text) == (problem.regularizer.base.prior is not None)
    elif isinstance(problem, cm.papers.CollapsingClassesProblem):
        assert "Globerson & Roweis 2005" in text
        assert "12 points" in text
    elif isinstance(problem, cm.InformationTheoreticProblem):
        assert "Davis et al. 2007" in text
        assert "11 similar" in text
    else:
        assert "Schultz & Joachims 2003" in text
        assert "d_w(x_i, x_k)^2 - d_w(x_i, x_j)^2" in text
        assert f"{problem.cone.d} weights" in text
        assert f"triplets  {len(problem.triplets)} on 12 points" in text
        assert ("hard margin" in text) == np.isinf(problem.C)
        assert ("xi" in text) == np.isfinite(problem.C)


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
    assert latex.count(r"\begin{aligned}") == latex.count(r"\end{aligned}") == 1
    # mathtext knows no alignment, but the cells between its marks are formulas it can draw, in its spelling.
    inside = re.sub(r"\\(begin|end)\{aligned\}", "", latex)
    inside = re.sub(r"\\(ge|le)\b", r"\\\1q", inside.replace(r"\tfrac12", r"\frac{1}{2}"))
    cells = [cell.strip() for cell in re.split(r"\$\$|\\\\|&", inside) if cell.strip()]
    assert len(cells) >= 4
    for cell in cells:
        MathTextParser("agg").parse(f"${cell}$")


def test_latex_names_the_quadratic_form():
    assert r"L = I$$" in instance("relative, identity, soft")._repr_latex_()
    assert r"(A^\top A) \circ (A^\top A)" in instance("relative, A, soft")._repr_latex_()
    assert r"K \circ K" in instance("relative, rbf, soft")._repr_latex_()
    assert r"C = \infty" in instance("relative, A, hard")._repr_latex_()
