"""Problems print themselves in words with their sizes, which notebooks show."""

import numpy as np
import pytest
from catalogue import cases, instance

import convexmetric as cm


@pytest.mark.parametrize("name", cases("method", without="information-theoretic"))
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
    else:
        assert "Schultz & Joachims 2003" in text
        assert f"{problem.cone.d} weights" in text
        assert f"triplets  {len(problem.triplets)} on 12 points" in text
        assert ("hard margin" in text) == np.isinf(problem.C)
        assert ("xi" in text) == np.isfinite(problem.C)


def test_notebooks_show_the_words():
    html = instance("ranking from labels")._repr_html_()
    assert html.startswith("<pre>Metric learning to rank")
    assert "subject to  &lt;W, dpsi(q, y*, y)&gt;" in html
