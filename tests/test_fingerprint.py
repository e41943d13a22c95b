"""What counts for the hash of a problem: what the constructors of its blocks were given."""

import numpy as np
import pytest

from convexmetric.comparisons import PairDistances, Rankings, Relevance, StackedComparisons, Triplets
from convexmetric.cones import BlockDiagonal, NonnegativeDiagonal, PSDCone
from convexmetric.fingerprint import fingerprint
from convexmetric.losses import Hinge, ItakuraSaito
from convexmetric.losses.box import BoxLoss
from convexmetric.measures import NDCG, AveragePrecision, PrecisionAtK
from convexmetric.regularizers import Budget, Distance, EntrywiseL1, LogDet, QuadraticForm, SquaredDistance, Trace
from convexmetric.risks import LogisticRankingRisk, PairwiseRisk, RankingRisk, SeparableRisk, SumRisk

RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 3))
TRIPLETS = np.array([[0, 1, 2], [3, 4, 5]])
FULL, WEIGHTS = PSDCone(3), NonnegativeDiagonal(3)
ONE, TWO = np.ones(2), np.full(2, 2.0)
EYE = np.eye(3)


def triplets(rows=TRIPLETS, cone=FULL, points=X):
    return Triplets(points, rows, cone)


def rankings(y=(0, 0, 0, 1, 1, 1), cone=FULL):
    return Rankings(X, X, Relevance.from_labels(np.array(y)), cone)


#: Of every class blocks that are not the same function, by what their constructors are given, each made twice.
BLOCKS = [
    lambda: FULL,
    lambda: WEIGHTS,
    lambda: PSDCone(4),
    lambda: BlockDiagonal([2, 1]),
    lambda: BlockDiagonal([1, 2]),
    triplets,
    lambda: triplets(TRIPLETS[::-1].copy()),
    lambda: triplets(cone=WEIGHTS),
    lambda: triplets(points=X + np.arange(18).reshape(6, 3)),
    lambda: PairDistances(X, TRIPLETS[:, :2], ONE, FULL),
    lambda: PairDistances(X, TRIPLETS[:, :2], -ONE, FULL),
    lambda: StackedComparisons([triplets(), PairDistances(X, TRIPLETS[:, :2], ONE, FULL)]),
    lambda: StackedComparisons([triplets(), PairDistances(X, TRIPLETS[:, :2], -ONE, FULL)]),
    rankings,
    lambda: rankings((0, 0, 1, 1, 1, 0)),
    lambda: BoxLoss(ONE, 0.0 * ONE, ONE, 0.0 * ONE),
    lambda: BoxLoss(ONE, 0.0 * ONE, TWO, 0.0 * ONE),
    lambda: ItakuraSaito(1.0, ONE, -ONE),
    lambda: ItakuraSaito(1.0, TWO, -ONE),
    AveragePrecision,
    NDCG,
    lambda: NDCG(3),
    lambda: NDCG(3, short="printed"),
    lambda: PrecisionAtK(3),
    lambda: SeparableRisk(triplets(), Hinge(1.0)),
    lambda: SeparableRisk(triplets(), Hinge(2.0)),
    lambda: SumRisk(SeparableRisk(triplets(), Hinge(1.0)), SeparableRisk(triplets(), Hinge(2.0))),
    lambda: SumRisk(SeparableRisk(triplets(), Hinge(1.0)), SeparableRisk(triplets(), Hinge(3.0))),
    lambda: RankingRisk(rankings(), NDCG(3), 1.0),
    lambda: RankingRisk(rankings(), NDCG(3), 2.0),
    lambda: RankingRisk(rankings(), NDCG(3), 1.0, np.arange(1.0, 7.0)),
    lambda: LogisticRankingRisk(rankings(), 1.0),
    lambda: LogisticRankingRisk(rankings(), 2.0),
    lambda: PairwiseRisk(rankings(), np.ones(6), 1.0),
    lambda: PairwiseRisk(rankings(), np.ones(6), 2.0),
    lambda: Budget(EYE, 2.0),
    lambda: Budget(EYE, 2.0, weight=3.0),
    lambda: Trace(1.0),
    lambda: Trace(2.0),
    lambda: LogDet(EYE),
    lambda: LogDet(2.0 * EYE),
    lambda: QuadraticForm(EYE),
    lambda: QuadraticForm(2.0 * EYE),
    lambda: SquaredDistance(1.0, EYE),
    lambda: SquaredDistance(1.0, np.ones(2)),
    lambda: EntrywiseL1(1.0),
    lambda: EntrywiseL1(1.0, diagonal=False),
    lambda: EntrywiseL1(1.0, prior=EYE),
    # The prior of the second is that of its other summand; a norm of M itself, not of its distance.
    lambda: Distance(1.0, EYE, SquaredDistance(1.0, EYE)),
    lambda: Distance(1.0, None, SquaredDistance(1.0, EYE)),
]


def test_other_blocks_have_other_fingerprints_and_the_same_the_same():
    found = [fingerprint(make()) for make in BLOCKS]
    assert found == [fingerprint(make()) for make in BLOCKS]
    assert len(set(found)) == len(found)


class Keeping:
    def __init__(self, scale, points=None):
        self.scale, self.points = scale, points


class Hiding:
    def __init__(self, scale):
        self.own = scale


class Saying(Hiding):
    def contents(self):
        return (self.own,)


def test_what_a_constructor_is_given_counts_or_what_a_block_says():
    assert fingerprint(Keeping(1.0)) == fingerprint(Keeping(1.0)) != fingerprint(Keeping(2.0))
    assert fingerprint(Keeping(1.0, X)) != fingerprint(Keeping(1.0))
    assert fingerprint(Saying(1.0)) == fingerprint(Saying(1.0)) != fingerprint(Saying(2.0))


@pytest.mark.parametrize("part", [Hiding(1.0), len, lambda: 0, {1.0}, object()], ids=lambda part: type(part).__name__)
def test_what_has_no_fingerprint_says_what_to_do(part):
    with pytest.raises(TypeError, match=r"keep what its constructor takes in attributes of the same names, or give it"):
        fingerprint(part)
