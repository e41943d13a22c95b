"""Ridge and InfoNCE against their definitions, and adapters that choose among them, halfway maps and the rest."""

import numpy as np
import pytest
import scipy.sparse as sp
from samples import topical_collection
from scipy.optimize import approx_fprime, minimize
from scipy.special import logsumexp

import convexmetric as cm
from convexmetric.errors import InputError
from convexmetric.retrieval.adapter import shrunk
from convexmetric.retrieval.maps import TEMPERATURE, _gradient, infonce_map, ridge_map

RNG = np.random.default_rng(5)
CORPUS, QUERIES, RELEVANT = topical_collection(RNG, topics=6, documents=60, queries=30, carrying=3, noise=2)
QRELS = cm.retrieval.Qrels.from_matrix(RELEVANT.astype(int))
SPARSE = sp.csr_array(RELEVANT.astype(float))


def test_ridge_minimises_its_objective():
    means = np.array([CORPUS[row].mean(axis=0) for row in RELEVANT])

    def objective(w):
        W = w.reshape(5, 5)
        return 0.5 * ((W - np.eye(5)) ** 2).sum() + 7.0 / 2.0 / 30.0 * ((QUERIES @ W - means) ** 2).sum()

    best = minimize(objective, np.zeros(25), tol=1e-12).x.reshape(5, 5)
    np.testing.assert_allclose(ridge_map(QUERIES, CORPUS, SPARSE, 7.0), best, atol=1e-5)
    np.testing.assert_allclose(ridge_map(QUERIES, CORPUS, SPARSE, 1e-9), np.eye(5), atol=1e-8)


def test_the_gradient_of_infonce_is_that_of_the_cross_entropy_of_the_batch():
    asked, near = np.argwhere(RELEVANT)[RNG.permutation(RELEVANT.sum())[:12]].T
    others = RELEVANT[asked][:, near] & ~np.eye(12, dtype=bool)
    assert others.any()

    def entropy(W):
        total = 0.0
        for at, q in enumerate(asked):
            logits = 2.0 * CORPUS[near[~others[at]]] @ W.T @ QUERIES[q] / TEMPERATURE
            total += logsumexp(logits) - 2.0 * QUERIES[q] @ W @ CORPUS[near[at]] / TEMPERATURE
        return total / 12.0

    W = np.eye(5) + 0.1 * RNG.normal(size=(5, 5))
    expected = approx_fprime(W.ravel(), lambda w: entropy(w.reshape(5, 5))).reshape(5, 5)
    np.testing.assert_allclose(_gradient(W, QUERIES[asked], CORPUS[near], others), expected, atol=1e-4)


def adapter(**settings):
    return cm.RetrievalAdapter("nDCG@10", **{"cv": 3} | settings).fit(CORPUS, QUERIES, QRELS)


@pytest.fixture(scope="module")
def chosen():
    return adapter(loss=["ridge", "infonce"])


def test_scores_beside_are_those_of_each_loss_chosen_without_the_fold(chosen):
    held = chosen.held_out_
    assert held.columns[:5] == ("score", "before", "ridge", "InfoNCE", "after")
    for at, loss in enumerate(("ridge", "InfoNCE")):
        # By itself a loss is chosen in the same way, but for the identity.
        alone = adapter(loss=loss).held_out_
        learned = np.array([choice[2] > 0.0 for choice in alone.choices])[alone.fold]
        assert learned.any()
        for name, scores in held.beside[loss].items():
            np.testing.assert_array_equal(alone.scores[name].after[learned], scores[learned])
        assert held.cells()[2][2 + at] == f"{held.beside[loss]['AP'].mean():.4f}"


def test_the_mean_of_the_measure_and_ap_decides(chosen):
    names = list(chosen.held_out_.scores)
    assert names == ["nDCG@10 and AP", "nDCG@10", "AP", "RR@10", "R@100"]
    both, gain, precision = (chosen.held_out_.scores[name] for name in names[:3])
    np.testing.assert_allclose(both.after, (gain.after + precision.after) / 2.0)
    assert chosen.path_.score == names[0]
    assert chosen.path_.index == chosen.path_.mean().argmax()
    assert chosen.kept_ == (both.difference > 0.0)
    assert f"AP {precision.before.mean():.4f} -> {precision.after.mean():.4f}" in chosen.verdict


def test_the_map_is_that_of_the_candidate_on_all_queries(chosen):
    assert chosen.kept_
    loss, side, C, share = chosen.path_.best
    assert (chosen.side_, chosen.solution_) == (side, None)
    X, Q = CORPUS / chosen.scale_, QUERIES / chosen.scale_
    W = {"ridge": ridge_map, "InfoNCE": infonce_map}[loss](Q, X, SPARSE, C)
    np.testing.assert_allclose(chosen.components_, (np.eye(5) + share * (W - np.eye(5))).T, atol=1e-12)
    with pytest.raises(InputError, match="has no solution_"):
        cm.write_certificate("none.npz", chosen)


def test_halfway_maps_are_tried_of_the_usual_weights_alone():
    usual = cm.RetrievalAdapter()._candidates()
    assert {loss for loss, *_ in usual} == {"ridge", "InfoNCE", "AP", "softmax@0.1"}
    assert {side for loss, side, *_ in usual if loss in ("ridge", "InfoNCE")} == {"query"}
    assert {share for *_, share in usual} == {0.5, 1.0}
    assert cm.RetrievalAdapter(C=[1, 2])._candidates() == [("AP", "both", 1.0, 1.0), ("AP", "both", 2.0, 1.0)]
    assert {loss for loss, *_ in cm.RetrievalAdapter("AUC", side="both")._candidates()} == {"AUC", "softmax@0.1"}
    M = np.diag([3.0, 0.0])
    np.testing.assert_array_equal(shrunk(M, 0.5), np.diag([2.0, 0.5]))
    half = adapter(loss="AP", tol=1e-4)
    *_, share = half.path_.best
    L = half.components_
    np.testing.assert_allclose(L @ L, shrunk(half.solution_.M, share), atol=1e-9)


def test_a_gain_that_chance_may_have_made_is_kept_with_doubt():
    told = set()
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(30)
        chance = cm.retrieval.Qrels.from_matrix(RELEVANT[order].astype(int))
        found = cm.RetrievalAdapter(loss="ridge", cv=3).fit(CORPUS, QUERIES, chance)
        gain = found.held_out_.deciding
        assert found.kept_ == (found.path_.index > 0 and gain.difference > 0.0)
        told.add(found.kept_ and "Chance alone could gain as much" in found.verdict)
    assert told == {False, True}
