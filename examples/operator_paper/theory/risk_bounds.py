r"""Bounds on the risk of an operator that hold with high probability (Maurer 2008, "paper 4", sections 3 to 5).

.. math:: R(T) = \Pr\{ r (1 - \|T x - T x'\|^2) \le 0 \}

for pairs (x, x', r) of an oracle, against the empirical risk of m *independent* draws from it. With a loss
:math:`\psi \ge 1_{(-\infty, 0]}` of Lipschitz constant L, :math:`a = \|T^* T\|_2`, and points of diameter at most 1,
the following holds with probability at least :math:`1 - \delta`, for all T at once:

=============================  ====================================================================================
theorem 11, (ii), a <= c       R(T) <= R_psi(T) + 2 L c / sqrt(m) + sqrt(ln(1 / delta) / (2 m))
theorem 11, (i), a <= c        R(T) <= R_psi(T) + 2 L c s / m + sqrt(9 ln(2 / delta) / (2 m))
theorems 1 and 13, 2           R(T) <= R_psi(T) + 4 L a' / sqrt(m) + sqrt(ln(2 a' / delta) / (2 m))
theorem 13, 1                  R(T) <= R_psi(T) + 4 L a' s / m + sqrt(9 ln(4 a' / delta) / (2 m))
proposition 15, theorem 16     R(T) <= 1 + E eta - <T*T, A-hat> + 2 (c' + c^2 sqrt(2 ln(1 / delta))) / sqrt(m)
section 5.2                    R(T) <= R(T, S') + sqrt((ln K + ln(1 / delta)) / (2 m)), for K operators that do not
                               depend on S'
=============================  ====================================================================================

with :math:`s = (\sum_i \|x_i - x'_i\|^4)^{1/2}`, a' = max(1, a), and c' the largest :math:`\|T^* T\|_2` among the T
with :math:`\|T\|_\infty \le c`. The two bounds with s depend on the data and need no diameter.

What was checked, and what is printed otherwise:

- **Theorem 13** is printed for all T. It is proved for a >= 1 (the condition of theorem 1): lemma 10 with
  :math:`\alpha = 1 / a` needs :math:`\alpha \le 1`. Below that it is wrong: at a = delta / 2 its last term is zero,
  and with :math:`\psi = \min(1, h_1)` it would say that the share of dissimilar pairs in S is hardly ever below their
  probability by more than 2 delta / sqrt(m). With :math:`\alpha = 1` in that case the bound holds with a' as above.
- Its constants are right: lemma 10 with a = 1/2 doubles :math:`1/\alpha_1` and puts :math:`\delta \alpha / 2` for
  :math:`\delta`, which makes ln(2 / delta) into ln(4 a / delta) and ln(1 / delta) into ln(2 a / delta). In its proof
  R-hat is R-hat_psi.
- **Asymmetric margins** (section 3.2). That the bounds hold with the Lipschitz constant of
  :math:`\min(\psi_1, \psi_{-1})` is right, for that minimum is a loss in its own right and below either. For hinges
  that constant is :math:`1 / \min(\gamma_1, \gamma_{-1})`, the larger of the two. That two losses make no sense to the
  bounds is not quite right: contraction works pair by pair, so that in the bounds with s every pair may carry the
  constant of its own margin, :math:`L s \to (\sum_i \|x_i - x'_i\|^4 / \gamma_{r_i}^2)^{1/2}`, which is smaller. That
  is what is taken here.
- **Proposition 12** (the cone of positive operators has, up to 4, the Rademacher complexity of the ball) has A_2 = (A
  + A*)/2 for (A - A*)/2 in its proof, which is not symmetric, as the proof needs it. On arbitrary samples the
  statement is wrong: antisymmetric operators are orthogonal to the cone. On symmetric ones, such as all
  :math:`Q_{x-x'}`, the antisymmetric part does not count, and the factor is 2.
- **Theorem 16** asks for c >= 2, section 4.2 elsewhere for c > 2 and c > 1. Its proof needs
  :math:`|\eta_{-1}| = 1/(c^2 - 1) \le 1`, which is c >= sqrt(2). The display in its proof lacks the supremum over T.
- **Section 3.2**, against the trace norm: with a linear empirical part and the norm to the power one the objective is
  homogeneous, and its minimum zero or minus infinity; no multiple of a projection minimises it. The same is true of the
  Hilbert-Schmidt norm, unless it is squared, as it is there and nowhere else.
- **Section 4.1**: the bounds do not extend to unbounded losses as they stand; theorem 5 needs values in [0, 1], and
  a loss that is not compared with a 0/1 loss cannot be cut off at 1.
- **Section 5.2** draws S' from the distribution of points; what is needed are m independent *pairs*. All pairs of n
  points are not independent; what they are worth is :func:`~operator_paper.theory.independent_pairs`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arguments import check_count, checked_margins, checked_weight, is_real
from convexmetric.arrays import Array
from convexmetric.comparisons.pairs import LabelledPairs, ListedPairs, label_codes, pair_signs
from convexmetric.comparisons.points import as_points
from convexmetric.comparisons.relevance import as_labels
from convexmetric.errors import InputError
from convexmetric.evaluation import listed_squared_distances, squared_distances
from convexmetric.evaluation.operators import SimilarityOperator
from convexmetric.evaluation.pairs import Margin, loss_of

#: Rounding allowed in checks of assumptions.
ROUNDING = 1e-9


@dataclass(frozen=True)
class RiskBound:
    """An upper bound on a risk, term by term; it holds with probability at least ``1 - delta``.

    Attributes
    ----------
    empirical : float
        Empirical risk on the sample.
    complexity : float
        Term for the size of the class of operators.
    confidence : float
        Term for the probability delta.
    delta : float
    source : str
        Theorem.
    """

    empirical: float
    complexity: float
    confidence: float
    delta: float
    source: str

    @property
    def value(self) -> float:
        """The bound: the sum of the terms."""
        return self.empirical + self.complexity + self.confidence


def risk_bound(
    T: SimilarityOperator,
    X: Any,
    pairs: ArrayLike,
    y: ArrayLike,
    *,
    margin: Margin = 1.0,
    delta: float = 0.05,
    radius: float | None = None,
    data_dependent: bool = False,
) -> RiskBound:
    """Bound on the risk of an operator from the pairs it was trained on, uniform over operators.

    Theorem 1, which is the second part of theorem 13; the first part with ``data_dependent``; theorem 11 for a ball
    whose radius was fixed beforehand with ``radius``.

    Parameters
    ----------
    T : SimilarityOperator
    X : (n, d) array
        Points.
    pairs, y : (m, 2) int array and (m,) array
        Pairs and whether they are similar (+1) or not (-1), drawn independently from the oracle whose risk is bounded.
        Drawn from the labels of a data set, the oracle is that data set. They may be those that T was learned from.
    margin : float or (similar, dissimilar)
        Margin of the hinge; L is its inverse.
    delta : float
        Probability with which the bound may fail.
    radius : float, optional
        Operators with ``||T*T||_2 <= radius`` are bounded; to be chosen without looking at the pairs.
    data_dependent : bool
        Use the distances of the pairs instead of the diameter.

    Returns
    -------
    RiskBound

    Raises
    ------
    InputError
        If an argument is malformed, T is not in the ball, or, unless ``data_dependent``, two points of a pair are
        farther apart than 1 (in the Hilbert space of a kernel: with the kernel of section 6.1 no two points are).
    """
    before, after, r = _sample(T, X, pairs, y)
    inside, outside = checked_margins(margin)
    m, failing = r.size, checked_probability(delta)
    empirical = float(loss_of(after, r, (inside, outside)).mean())
    if radius is None:
        norm, factor, share = max(1.0, T.norm), 4.0, failing / (2.0 * max(1.0, T.norm))
        source = "theorem 13, part 1" if data_dependent else "theorem 1"
    else:
        norm, factor, share = checked_weight(radius, "radius"), 2.0, failing
        if T.norm > norm * (1.0 + ROUNDING):
            raise InputError(f"radius must be at least ||T*T||_2 = {T.norm:.6g} of the operator, got {radius!r}")
        source = "theorem 11 (i)" if data_dependent else "theorem 11 (ii)"
    if data_dependent:
        # Distances are squared already; every pair has the Lipschitz constant of its own margin.
        spread = float(np.linalg.norm(before / np.where(r > 0.0, inside, outside)))
        complexity, confidence = factor * norm * spread / m, sqrt(9.0 * log(2.0 / share) / (2.0 * m))
    else:
        _check_diameter(float(before.max()))
        complexity = factor * norm / (min(inside, outside) * sqrt(m))
        confidence = sqrt(log(1.0 / share) / (2.0 * m))
    return RiskBound(empirical, complexity, confidence, failing, source)


def affine_risk_bound(
    T: SimilarityOperator,
    X: Any,
    pairs: ArrayLike,
    y: ArrayLike,
    *,
    c: float,
    radius: float,
    delta: float = 0.05,
    balanced: bool = False,
) -> RiskBound:
    r"""Bound on the risk from affine losses (proposition 15 with theorem 16): that of hyperbolic PCA.

    For all T with :math:`\|T\|_\infty \le c` and :math:`\|T^* T\|_2 \le` ``radius``, both fixed beforehand. For T =
    cP with projections P on d dimensions the radius is :math:`c^2 \sqrt d`.

    Parameters
    ----------
    T, X, pairs, y, delta
        As for :func:`risk_bound`.
    c : float
        At least sqrt(2).
    radius : float
    balanced : bool
        Whether the oracle is known to be balanced, so that E eta is. Otherwise it is estimated from the pairs, for half
        of ``delta``.

    Returns
    -------
    RiskBound

    Raises
    ------
    InputError
        If an argument is malformed, T is not in the class, or two points of a pair are farther apart than 1.
    """
    before, after, r = _sample(T, X, pairs, y)
    _check_diameter(float(before.max()))
    scale = _checked_scale(c)
    eta = np.where(r > 0.0, -1.0, 1.0 / (scale**2 - 1.0))
    means = float(eta.mean()), float(np.mean(eta * after))
    return _affine(T, scale, radius, delta, means, r.size, balanced)


def affine_risk_bound_from_labels(
    T: SimilarityOperator, X: Any, y: ArrayLike, *, c: float, radius: float, delta: float = 0.05
) -> RiskBound:
    r"""Bound on the risk from affine losses and *all* pairs of labelled points: theorem 16 for a U-statistic.

    .. math:: U = \frac{1}{n (n - 1)} \sum_{i \ne j} \eta_{r_{ij}} Q_{x_i - x_j}, \qquad
       \Pr\Big\{ \sup_T |\langle T^* T, U - A \rangle| > \frac{2}{\sqrt m} \big( \sup_T \|T^* T\|_2
       + c^2 \sqrt{2 \ln(1/\delta)} \big) \Big\} \le \delta, \qquad m = \lfloor n/2 \rfloor

    for n independent draws of a point with its label, the oracle being a pair of two such draws (not balanced). The
    pairs are not independent, but U is the mean over all orders of the points of
    :math:`W = \frac1m \sum_{k \le m} \eta Q_{x_{2k-1} - x_{2k}}`, of which the m terms are (Hoeffding 1963, section 5).
    The supremum is convex in the operator, so that its mean and its exponential moments at U are at most those at W,
    and these are what theorem 16 is proved from. The mean of eta is bounded in the same way.

    Parameters
    ----------
    T : SimilarityOperator
    X : (n, d) array
        Points.
    y : (n,) array
        Labels. They may be those that T was learned from.
    c, radius, delta
        As for :func:`affine_risk_bound`.

    Returns
    -------
    RiskBound

    Raises
    ------
    InputError
        If an argument is malformed, T is not in the class, or two points are farther apart than 1.
    """
    points = _coordinates(T, X)
    codes = label_codes(y, points.shape[0])
    _check_diameter(max(float(squared_distances(points[i : i + 1], points).max()) for i in range(len(points))))
    scale, images = _checked_scale(c), points @ T.components.T
    counts = np.bincount(codes)
    within = sum(_scatter(images[codes == label]) for label in range(len(counts)))
    pairs, similar = len(codes) * (len(codes) - 1), int((counts * (counts - 1)).sum())
    dissimilar = 1.0 / (scale**2 - 1.0)
    mean_eta = (dissimilar * (pairs - similar) - similar) / pairs
    means = mean_eta, (dissimilar * (_scatter(images) - within) - within) / pairs
    bound = _affine(T, scale, radius, delta, means, len(codes) // 2, balanced=False)
    return replace(bound, source=f"{bound.source}, all pairs")


def _checked_scale(c: float) -> float:
    scale = checked_weight(c, "c")
    if scale**2 < 2.0 * (1.0 - ROUNDING):
        raise InputError(f"c must be at least sqrt(2), where theorem 16 holds, got {c!r}")
    return scale


def _affine(
    T: SimilarityOperator, scale: float, radius: float, delta: float, means: tuple[float, float], m: int, balanced: bool
) -> RiskBound:
    """Bound of theorem 16 from the means of eta and ``eta ||T(x - x')||^2`` over pairs worth m independent ones."""
    failing, ball = checked_probability(delta), checked_weight(radius, "radius")
    if T.spectral_norm > scale * (1.0 + ROUNDING) or T.norm > ball * (1.0 + ROUNDING):
        raise InputError(
            f"T must have ||T||_inf <= c and ||T*T||_2 <= radius, but has {T.spectral_norm:.6g} and {T.norm:.6g} "
            f"for c = {scale:.6g} and radius = {ball:.6g}"
        )
    dissimilar = 1.0 / (scale**2 - 1.0)
    share = failing if balanced else 0.5 * failing
    expected = 0.5 * (dissimilar - 1.0) if balanced else means[0]
    confidence = 2.0 * scale**2 * sqrt(2.0 * log(1.0 / share) / m)
    if not balanced:
        # Hoeffding: eta lies in an interval of length 1 + 1/(c^2 - 1).
        confidence += (1.0 + dissimilar) * sqrt(log(1.0 / share) / (2.0 * m))
    empirical, complexity = 1.0 + expected - means[1], 2.0 * ball / sqrt(m)
    return RiskBound(empirical, complexity, confidence, failing, "proposition 15 and theorem 16")


def transfer_bound(risk: float, m: float, *, delta: float = 0.05, n_operators: int = 1) -> RiskBound:
    """Hoeffding's bound for operators that were chosen before the sample was looked at (section 5.2).

    Parameters
    ----------
    risk : float
        Empirical risk (of the 0/1 loss) on the sample.
    m : float
        Number of independent pairs, or what :func:`independent_pairs` says all pairs of labelled points are worth.
    delta : float
    n_operators : int
        K: the bound holds for so many operators at once.

    Returns
    -------
    RiskBound

    Raises
    ------
    InputError
        If an argument is malformed.
    """
    if not is_real(risk) or not 0.0 <= risk <= 1.0:
        raise InputError(f"risk must be a number from 0 to 1, got {risk!r}")
    check_count(n_operators, "n_operators")
    size, failing = checked_weight(m, "m"), checked_probability(delta)
    complexity = sqrt((log(n_operators) + log(1.0 / failing)) / (2.0 * size))
    alone = sqrt(log(1.0 / failing) / (2.0 * size))
    source = "section 5.2" if n_operators == 1 else f"section 5.2, {n_operators} operators"
    return RiskBound(float(risk), complexity - alone, alone, failing, source)


def independent_pairs(y: ArrayLike, *, balanced: bool = True) -> float:
    r"""How many independent pairs all pairs of labelled points are worth, in Hoeffding's inequality.

    If points are drawn independently, all from one distribution or each from that of its given class, the mean loss
    of all pairs exceeds its expectation by t with probability at most :math:`\exp(-2 m t^2)`. Without balance and
    with random labels, :math:`m = \lfloor n/2 \rfloor` (Hoeffding 1963, section 5). Balanced, given the labels: the N
    pairs of a kind can be coloured with k colours so that pairs of one colour have no point in common, k being at
    most one more than the largest number of pairs at a point (Vizing), so that their mean is worth N/k independent
    pairs (Janson 2004, theorem 2.1); and the half sum of two such means, dependent or not, is worth their harmonic
    mean, by the Cauchy-Schwarz inequality for exponential moments. With classes of one size that is about n/2 again.

    The balanced risk that is bounded so is that of a task in which classes come with the frequencies in ``y``.

    Parameters
    ----------
    y : (n,) array
        Labels.
    balanced : bool

    Returns
    -------
    float

    Raises
    ------
    InputError
        If the labels are malformed, or make no pair similar or none dissimilar.
    """
    labels = as_labels(y)
    codes = label_codes(labels, labels.size)
    n, counts = codes.size, np.bincount(codes)
    if not balanced:
        return float(n // 2)
    similar = len(LabelledPairs(codes, same=True)) / 2.0 / float(counts.max())
    dissimilar = len(LabelledPairs(codes, same=False)) / 2.0 / float(n - counts.min() + 1)
    return 2.0 / (1.0 / similar + 1.0 / dissimilar)


def _sample(T: SimilarityOperator, X: Any, pairs: ArrayLike, y: ArrayLike) -> tuple[Array, Array, Array]:
    """Squared distances of the pairs before and after T, and which are similar."""
    points = _coordinates(T, X)
    listed = ListedPairs(pairs, points.shape[0]).pairs
    r = pair_signs(y, len(listed))
    return listed_squared_distances(points, listed), listed_squared_distances(points @ T.components.T, listed), r


def _coordinates(T: SimilarityOperator, X: Any) -> Array:
    if not isinstance(T, SimilarityOperator):
        raise InputError(f"T must be a SimilarityOperator, got {type(T).__name__}")
    return np.asarray(T.coordinates(X if T.embedding is not None else as_points(X)))


def _scatter(points: Array) -> float:
    """Sum of the squared distances of all ordered pairs."""
    return 2.0 * len(points) * float(((points - points.mean(axis=0)) ** 2).sum())


def _check_diameter(squared: float) -> None:
    farthest = sqrt(squared)
    if farthest > 1.0 + ROUNDING:
        raise InputError(
            f"X has points {farthest:.6g} apart, but this bound needs a diameter of at most 1: "
            "divide X by its diameter, use the kernel of section 6.1, or a bound that depends on the data"
        )


def checked_probability(delta: float) -> float:
    """``delta`` as a number between 0 and 1, or an :class:`InputError`."""
    if not is_real(delta) or not 0.0 < delta < 1.0:
        raise InputError(f"delta must be a probability between 0 and 1, got {delta!r}")
    return float(delta)
