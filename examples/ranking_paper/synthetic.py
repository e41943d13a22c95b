r"""Synthetic matchings of users, in the shape of the large retrieval task of metric learning to rank (section 5.2).

The paper's data are private: pairs of users of a dating service, positive when both showed interest and negative
otherwise. Two users are relevant to each other when their matching was positive, irrelevant when it was negative, and
neither when they never met. Only the counts are public: ``TRAINING`` and ``TEST``.

The model here. Users are Gaussian with a falling spectrum. Every user has a matching; the others go to users in
proportion to a log-normal *activity*, so that a few have many. A pair is the more likely to match well the nearer it
is under a planted metric :math:`W^*` of low rank, which Euclidean distance hardly sees:

.. math:: P(\text{positive}) = \frac{1}{1 + \exp(\tau + s \, z_{uv})}, \qquad
   z = d_{W^*} \text{ standardised over pairs.}

The slope s says how much the best metric can know. With the default ones a test AUC lies near the paper's, which are
0.52 for Euclidean distance and 0.61 for a learned metric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexmetric.errors import InputError

#: Sizes in table 3 of the paper. It does not say which test users query: as they are more than the training queries,
#: from fewer matchings, they must need fewer than two positive and five negative ones.
TRAINING: dict[str, Any] = {"n_users": 294_832, "n_matchings": 506_688, "n_queries": 22_391}
TEST: dict[str, Any] = {"n_users": 247_420, "n_matchings": 439_161, "n_queries": 36_037, "least": (1, 4)}

#: Spread of the logarithm of users' activity.
ACTIVITY = 1.2
#: Variances along the principal axes fall geometrically from the first to the second.
VARIANCES = (3.0, 0.05)
#: Largest number of rounds in which impossible pairs are dealt out again.
ROUNDS = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Matchings:
    """Users, their matchings, and who queries.

    Attributes
    ----------
    X : (n_users, n_features) array
        Users.
    pairs : (n_matchings, 2) int array
        Matched users; every pair once, no user with themselves, every user at least once.
    positive : (n_matchings,) bool array
        Whether the matching was positive.
    queries : (n_queries,) int array
        Users that query, ascending.
    planted : (n_features, n_features) array
        The metric that matchings follow.
    """

    X: NDArray[np.float64]
    pairs: NDArray[np.int64]
    positive: NDArray[np.bool_]
    queries: NDArray[np.int64]
    planted: NDArray[np.float64]

    def lists(self) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
        """Partners of each query's positive matchings, and of its negative ones."""
        relevant, irrelevant = (self._partners(self.positive == kind) for kind in (True, False))
        return relevant, irrelevant

    def _partners(self, chosen: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
        both = np.concatenate([self.pairs[chosen], self.pairs[chosen][:, ::-1]])
        both = both[np.lexsort((both[:, 1], both[:, 0]))]
        start = np.searchsorted(both[:, 0], np.arange(len(self.X) + 1))
        return [both[start[q] : start[q + 1], 1] for q in self.queries]

    def __repr__(self) -> str:
        n, d = self.X.shape
        return (
            f"<Matchings: {n} users x {d} features; {len(self.pairs)} matchings, {self.positive.mean():.0%} positive; "
            f"{len(self.queries)} queries>"
        )


def synthetic_matchings(
    n_users: int,
    n_matchings: int,
    n_queries: int | None = None,
    least: tuple[int, int] = (2, 5),
    n_features: int = 56,
    rank: int = 4,
    slope: float = 0.6,
    positive: float = 0.28,
    random_state: int = 0,
    planted_state: int = 0,
) -> Matchings:
    """Draw users and matchings.

    Parameters
    ----------
    n_users, n_matchings : int
        How many; ``synthetic_matchings(**TRAINING)`` has the sizes of the paper.
    n_queries : int, optional
        Queries, drawn from the users that qualify; by default all of them.
    least : (int, int)
        Positive and negative matchings a user needs to query.
    n_features, rank : int
        Number of features of the users, and rank of the planted metric.
    slope : float
        How much the planted metric decides; 0 is pure chance.
    positive : float
        Rough share of positive matchings.
    random_state, planted_state : int
        Seeds of users and matchings, and of the planted metric: intervals of one service share the latter.

    Returns
    -------
    Matchings

    Raises
    ------
    InputError
        If the numbers do not fit each other.
    """
    if not 1 <= rank <= n_features:
        raise InputError(f"rank must be between 1 and n_features ({n_features}), got {rank}")
    if not 0.0 < positive < 1.0:
        raise InputError(f"positive must be a share between 0 and 1, got {positive!r}")
    if not n_users / 2 <= n_matchings <= n_users * (n_users - 1) / 4:
        raise InputError(
            f"n_matchings must be between n_users / 2 and a quarter of all ordered pairs, got {n_matchings} for "
            f"{n_users} users"
        )
    planting, rng = np.random.default_rng([planted_state, 1]), np.random.default_rng([random_state, 2])
    axes = np.linalg.qr(planting.standard_normal((n_features, n_features)))[0]
    deviations = np.sqrt(np.geomspace(*VARIANCES, n_features))
    X = (rng.standard_normal((n_users, n_features)) * deviations) @ axes.T
    # A random subspace of the whitened features, which Euclidean distance, dominated by variance, hardly sees.
    B = (axes / deviations) @ np.linalg.qr(planting.standard_normal((n_features, rank)))[0]

    pairs = _dealt(_degrees(n_users, n_matchings, rng), rng)
    z = np.square((X[pairs[:, 0]] - X[pairs[:, 1]]) @ B).sum(axis=1)
    z = (z - z.mean()) / z.std()
    good = rng.random(n_matchings) < 1.0 / (1.0 + np.exp(np.log(1.0 / positive - 1.0) + slope * z))

    counts = [np.bincount(pairs[good == kind].ravel(), minlength=n_users) for kind in (True, False)]
    queries = np.flatnonzero((counts[0] >= least[0]) & (counts[1] >= least[1]))
    if n_queries is not None:
        if n_queries > len(queries):
            raise InputError(
                f"only {len(queries)} users have {least[0]} positive and {least[1]} negative matchings; lower "
                f"n_queries ({n_queries}) or raise n_matchings"
            )
        queries = np.sort(rng.choice(queries, n_queries, replace=False))
    return Matchings(X, pairs, good, queries, B @ B.T)


def _degrees(n_users: int, n_matchings: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Matchings of every user: one, and a share of the rest by activity."""
    activity = rng.lognormal(sigma=ACTIVITY, size=n_users)
    return 1 + rng.multinomial(2 * n_matchings - n_users, activity / activity.sum())


def _dealt(degrees: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Random pairs of users with the given degrees; pairs with oneself and repeated ones are dealt out again."""
    n = len(degrees)
    pairs = rng.permutation(np.repeat(np.arange(n), degrees)).reshape(-1, 2)
    for _ in range(ROUNDS):
        low, high = pairs.min(axis=1), pairs.max(axis=1)
        _, first = np.unique(low * n + high, return_index=True)
        wrong = np.ones(len(pairs), dtype=bool)
        wrong[first] = False
        wrong |= low == high
        bad = np.flatnonzero(wrong)
        if not bad.size:
            return np.column_stack([low, high])
        # Break up as many random valid pairs for fresh partners.
        again = np.union1d(bad, rng.integers(0, len(pairs), len(bad) + 1))
        pairs[again] = rng.permutation(pairs[again].ravel()).reshape(-1, 2)
    raise InputError("n_matchings is too large for so few users; raise n_users")
