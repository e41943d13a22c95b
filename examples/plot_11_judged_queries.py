r"""
11. Judged queries: a linear map that is kept only if it helps
==============================================================

Documents and queries are vectors of some encoder, and for a few queries the relevant documents were judged.
:class:`convexmetric.RetrievalAdapter` learns a linear map under which these come first,

.. math:: \min_{W \succeq 0} \; \tfrac12 \|W - I\|_F^2 + \frac{C}{n} \sum_q \xi_q(W),

near the identity, which is the encoder as it is. The problem is convex: there is no rate to guess and nothing to stop
early, but one weight C, which is chosen on held-out queries. Others, with no part in the choice, show
whether the map is of any use.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import convexmetric as cm
from convexmetric.plotting import STYLE, plot_query_changes, show_pictures

plt.style.use(STYLE)
warnings.simplefilter("ignore", cm.errors.GapWarning)

# %%
# Summaries of 393 functions of NumPy and SciPy ask for those that are named with them under "See also", among 471
# others. The encoder is latent semantic analysis of 32 dimensions of their documentation.

data = cm.datasets.load("see-also")
corpus, queries, qrels = data.X, data.extras["queries"], data.extras["qrels"]
print(data, qrels, sep="\n")
relevant = [data.extras["documents"][int(row)] for row in qrels.to_dict()["100"]]
print(f"{data.extras['questions'][100]}: see also {', '.join(relevant)}")

# %%
# ``measure`` is the score to improve, and ``loss`` names the exact loss that is minimised for it. The table has a
# paired t-test over queries, each scored by a map that was learned, and whose C was chosen, without its fold.

adapter = cm.RetrievalAdapter("nDCG@10", loss="AP", C=[10.0, 100.0, 1e3, 1e4], cv=3)
adapter.fit(corpus, queries, qrels)
print(adapter.path_, adapter.held_out_, adapter.verdict, sep="\n\n")
print(f"certified gap of the last solve: {adapter.solution_.gap:.1e}")

# %%
# That is a fact about these functions. As it comes, without ``loss`` and ``C``, the adapter tries more maps,
# and shows the scores of two simple ones beside its own: ridge regression and a hundred steps of InfoNCE.

# %%
# Judgements that have nothing to do with the vectors: nothing can be learned, and a map that was learned all the same
# would rank by chance. By luck the mean may rise a little all the same. Where only a gain beyond luck should count,
# give a level: the held-out queries do not show one, and the identity is returned.

rng = np.random.default_rng(1)
chance = {row: dict.fromkeys(rng.choice(len(corpus), 8, replace=False).tolist(), 1) for row in range(len(queries))}
nothing = cm.RetrievalAdapter("nDCG@10", loss="AP", C=[10.0, 100.0, 1e3, 1e4], cv=3, level=0.05)
nothing.fit(corpus, queries, chance)
print(nothing.verdict)
print("identity:", np.array_equal(nothing.components_, np.eye(32)))

# %%
# Gradient steps on a linear map with a triplet loss are how it is usually done. Here they take the AUC problem, whose
# loss is that of triplets: all pairs of a relevant and an irrelevant document of a query. How near does Adam come to
# the certified optimum, at three rates that fall to zero? The audit tells.

auc = cm.RankingProblem.from_qrels(
    corpus / adapter.scale_,
    queries / adapter.scale_,
    qrels,
    measure="auc",
    C=100.0,
    penalty="squared-frobenius",
    prior="identity",
)
optimum = cm.solve(auc, tol=1e-5)


def adam(problem, rate, steps, look):
    """Metrics A'A along the way; a step looks at all pairs of one random query."""
    rng, of, d = np.random.default_rng(0), problem.rankings, problem.cone.d
    A, mean, square = np.eye(d), np.zeros((d, d)), np.zeros((d, d))
    for step in range(1, steps + 1):
        q = int(rng.integers(len(of)))
        near, far = of.relevance.of(q)
        V = of.X - of.Q[q]
        distances = ((V @ A.T) ** 2).sum(axis=1)
        # The loss of a pair is max(0, 1 - 2 (far - near)).
        short = distances[far] - distances[near][:, None] < 0.5
        weights = np.zeros(len(V))
        weights[near], weights[far] = short.sum(axis=1), -short.sum(axis=0)
        slope = problem.C * 2.0 / short.size * (V.T * weights) @ V + A.T @ A - np.eye(d)
        gradient = 2.0 * A @ slope
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        A = A - rate * (1 - step / steps) * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        if step % look == 0:
            yield step, A.T @ A


trails = {}
for rate in (1e-3, 1e-2, 1e-1):
    looked = [
        (step, cm.audit(auc, M, reference=optimum, worst=0).suboptimality) for step, M in adam(auc, rate, 600, 50)
    ]
    trails[rate] = np.array(looked).T
    print(f"rate {rate:g}: {trails[rate][1][-1]:.1%} above the optimum after 600 steps")
print(f"exact: {optimum.gap:.0e} after {optimum.seconds:.2f} s")

# %%
# What each query gains or loses, and how far from the optimum Adam is.

figure, (changes, distances) = plt.subplots(2, 1, figsize=(4.8, 6.4))
plot_query_changes(adapter.held_out_, ax=changes)
for rate, (steps, above) in trails.items():
    distances.semilogy(steps, above, label=f"Adam, rate {rate:g}")
distances.axhline(optimum.gap, color="black", lw=1.0, ls="-.", label="exact, certified")
distances.set(xlabel="steps", ylabel="objective above\nthe optimum, relative")
distances.legend()
show_pictures()
