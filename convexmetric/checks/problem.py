r"""Check the contracts of the blocks of a problem at random metrics; for user-defined blocks.

A bound is valid only if the blocks keep their contracts. A block that breaks its contract raises a
:class:`~convexmetric.errors.ContractError` that names the block, the rule and the numbers. Below, M and M' are metrics
(zero, of rank one, of full rank, over four orders of magnitude), N points of the cone, s margins, and u multipliers.

===============  ==================================================================================================
block            rule
===============  ==================================================================================================
every            no NaN; infinity only for what a hard constraint or an infinite penalty costs, or above the largest
                 float; a fingerprint that stays the same
loss             ``value = sum values``; ``l >= 0`` if declared so;
                 ``l(t s + (1 - t) s') <= t l(s) + (1 - t) l(s')``; ``l(s') >= l(s) - u (s' - s)`` with u its
                 subgradient at s; ``l(s) >= -l*(-u) - u s`` for every clipped u, with equality for the subgradient;
                 box, hinges and the CVXPY statement are the same loss; curvature is minus the slope of the subgradient
measure          gains in [0, 1], of the perfect ranking 1 in sum, of all rankings at most 1; ``pairwise`` only if
                 ``g(i, b) = (n - b) / (p n)``; the oracle finds the worst of all rankings of up to five items, and
                 in longer lists that of the reference dynamic program, ties included
regularizer      convex; ``Omega(M') >= Omega(M) + <grad, M' - M>``; ``Omega(M) = Omega(0) + <linear, M> +
                 <M, Q M> / 2`` where a quadratic part is given, ``a tr M + b ||M||^2 / 2 + c ||M||`` where weights
                 are, the sum of its parts where it is split; for any v and S, ``bound(v, S, G)`` is below
                 ``max(0, v - <S, M>) + <G, M> + Omega(M)``; CVXPY expression and restriction agree
risk             ``R(M) = sum of parts = sum of the values of cuts``; parts nonnegative if declared so; finite
                 unless declared hard; its forms are the same function;
                 ``R_g(M') >= b_g - <Psi_g, M'>`` of cuts made at M, with equality at M; the floor and the bounds
                 of its own dual points are below it; rounding leaves bounds of a metric finite
problem          ``value = R(M) + penalty``, ``penalty = <G, M> + Omega(M) + c``; ``dual_bound`` of its own and
                 of random dual points is below the objective; ``with_C`` and ``with_reg`` scale risk and
                 penalty; program and statement in CVXPY, at a fixed metric, have the value of the objective
===============  ==================================================================================================

CVXPY statements are compared on small problems, where solving them takes seconds. Cones and comparisons are the
package's own, and are not checked: where they are wrong, cuts and bounds most often are, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from convexmetric.arrays import Array, norm_of
from convexmetric.certificates.certificate import certify
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.comparisons.rankings import Block
from convexmetric.cones import Cone, NonnegativeDiagonal
from convexmetric.errors import ContractError, InputError, UnsupportedProblemError
from convexmetric.losses import Loss, SmoothLoss
from convexmetric.measures import Measure, most_violated_rankings, rankings_of
from convexmetric.measures.reference import checked_gains, most_violated
from convexmetric.numerics.searches import last_true
from convexmetric.problem import AnyProblem, MetricProblem, as_problem
from convexmetric.programs.canonical import guarded
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.regularizers import Regularizer
from convexmetric.risks import CutDual, PairwiseRisk, Risk, SeparableRisk, SmoothRisk

#: Tolerances relative to the magnitudes that occur: for rounding, and for a conic solver.
ROUNDING, CONIC = 1e-8, 1e-4
#: CLARABEL's absolute tolerance; CLARABEL is not used on metrics smaller than this, or larger than its inverse.
SOLVED = 1e-8
#: Statements of more rows, or of more rows times coordinates of the metric, are not solved.
STATEMENT_ROWS, STATEMENT_SIZE = 3_000, 100_000
#: Number of random bounds tried: at least the first, or the second divided by the number of coordinates of the cone.
#: CVXPY searches for a metric with a lower objective for the third, divided likewise.
BOUNDS, BOUNDS_OF_ONE, SEARCHES_OF_ONE = 12, 2_000, 2_000
#: Largest multiple of their value at zero that risks and losses reach at test points; beyond it rounding hides errors.
LARGEST = 1e6
#: Lengths of metrics at which bounds are tried.
LENGTHS: Array = np.array([1.0, *np.logspace(-3, 3, 13)])
#: A value that overflows must have exceeded this at smaller arguments.
NEARLY_INFINITE = 1e150
#: Rule for the CVXPY expression of a regularizer.
CONVEX = "its CVXPY expression must be convex, of metrics of the cone"
#: Number of parts up to which each is a group of its own.
OWN_GROUPS = 40


def check_problem(problem: AnyProblem, random_state: int | np.random.Generator | None = 0) -> None:
    """Check that the blocks of a problem keep their contracts, at random metrics; for blocks of your own.

    Parameters
    ----------
    problem : MetricProblem, Instance or str
        Preferably of few features and comparisons: a check takes some hundred evaluations of the risk, seconds up to 15
        features. CVXPY statements are compared at fewer points, or not at all, where that would take longer.
    random_state : int, numpy.random.Generator or None
        Seed or generator of the metrics, margins and multipliers that are tried.

    Raises
    ------
    ContractError
        If a block breaks a rule; the message names both and shows the numbers. The rules are at the head of
        :mod:`convexmetric.checks.problem`.
    InputError
        If ``problem`` is not a MetricProblem.

    Examples
    --------
    A loss whose conjugate is stated too large would make lower bounds that are not true:

    >>> import convexmetric as cm
    >>> from convexmetric.comparisons import Triplets
    >>> from convexmetric.cones import PSDCone
    >>> from convexmetric.losses import Hinge
    >>> from convexmetric.regularizers import Trace
    >>> from convexmetric.risks import SeparableRisk
    >>> class Wrong(Hinge):
    ...     def dual_values(self, u):
    ...         return 1.1 * self.margin * u
    >>> triplets = Triplets([[0.0, 0.0], [1.0, 3.0], [2.0, 0.5], [0.2, 2.0]], [[0, 3, 2], [1, 3, 2]], PSDCone(2))
    >>> cm.check_problem(cm.MetricProblem(SeparableRisk(triplets, Hinge(1.0)), Trace(0.1)))
    >>> cm.check_problem(cm.MetricProblem(SeparableRisk(triplets, Wrong(1.0)), Trace(0.1)))
    Traceback (most recent call last):
        ...
    convexmetric.errors.ContractError: loss Wrong: -l*(-u) - u s must be at most l(s), got 1.1 and 1.0
    """
    problem = as_problem(problem)
    rng = np.random.default_rng(random_state)
    before = _fingerprint(problem)
    blocks = problem.risk.blocks()
    if blocks.measure is not None:
        _check_measure(blocks.measure, blocks.lengths, rng)
    metrics = _metrics(problem, rng)
    if blocks.comparisons is not None and blocks.loss is not None:
        _check_loss(blocks.loss, [blocks.comparisons.forward(M) for M in metrics], rng)
    cuts = _check_risk(problem.risk, metrics, rng)
    _check_regularizer(problem, metrics, cuts, rng)
    _check_bounds(problem, metrics, rng)
    _check_weights(problem, metrics)
    _check_statement(problem, metrics)
    _Block("problem", problem).demand(_fingerprint(problem) == before, "its fingerprint must not change with use")


@dataclass(frozen=True)
class _Block:
    """A block under test, and the errors about it."""

    kind: str
    block: Any
    #: Least magnitude to which rounding is relative: terms that cancel do not show in the result.
    least: float = 0.0

    def of_size(self, values: list[Any]) -> _Block:
        """Return a copy whose least magnitude is a thousandth of the largest of the values."""
        return replace(self, least=1e-3 * max(map(_size, values), default=0.0))

    def demand(self, holds: bool, rule: str) -> None:
        """Raise a :class:`~convexmetric.errors.ContractError` unless the rule holds."""
        if not holds:
            raise ContractError(f"{self.kind} {type(self.block).__name__}: {rule}")

    def numbers(self, what: str, values: Any, shape: tuple[int, ...] = (), *, infinite: bool = False) -> Array:
        """Convert values to an array after checking their shape, and that none is NaN or minus infinity."""
        array = np.asarray(values, dtype=np.float64)
        self.demand(array.shape == shape, f"{what} must have shape {shape}, got {array.shape}")
        bad = np.isnan(array) | np.isneginf(array) | (np.isposinf(array) & (not infinite))
        found = float(array[bad][0]) if bad.any() else 0.0
        self.demand(not bad.any(), f"{what} must be {'numbers' if infinite else 'finite'}, got {found!r}")
        return array

    def moderate(self, what: str, values: Callable[[Array], Any], x: Array) -> Array:
        """Scale ``x`` down until ``values``, convex and finite at zero, are of moderate size there.

        Infinite values are accepted only as overflows: smaller multiples of ``x`` must have very large values.
        """
        with np.errstate(over="ignore"):
            most, share = LARGEST * _size(values(0.0 * x)) or np.inf, 1.0
            infinite = None
            while share > 0.0 and ((largest := float(np.max(values(share * x)))) == np.inf or largest > most):
                infinite = share if largest == np.inf else infinite
                share *= 0.5
            if infinite is not None:
                finite, _ = last_true(lambda part: not np.isposinf(values(part * x)).any(), share, infinite)
                overflows = _size(values(finite * x)) > NEARLY_INFINITE
                self.demand(overflows, f"{what} must be finite, got inf where no float overflows")
        return share * x

    @contextmanager
    def stating(self, what: str) -> Iterator[None]:
        """Report errors of CVXPY as errors of the block."""
        try:
            yield
        except (ValueError, cp.error.DCPError) as error:
            raise ContractError(f"{self.kind} {type(self.block).__name__}: {what}, but CVXPY says: {error}") from error

    def at_most(
        self, rule: str, left: Any, right: Any, size: Any = 0.0, rounding: float = ROUNDING, *, equal: bool = False
    ) -> None:
        """Demand ``left <= right`` everywhere, up to rounding; ``rule`` has the form ``a must be at most b``."""
        left, right = np.broadcast_arrays(np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64))
        with np.errstate(invalid="ignore"):
            excess = np.where(left == right, 0.0, np.abs(left - right) if equal else left - right)
        # NaN compares as false.
        wrong = ~(excess <= rounding * max(_size(left), _size(right), _size(size), self.least))
        if wrong.any():
            at = np.unravel_index(int(np.where(wrong, np.nan_to_num(excess, nan=np.inf), -1.0).argmax()), excess.shape)
            self.demand(False, f"{rule}, got {float(left[at])!r} and {float(right[at])!r}")

    def equal(self, rule: str, left: Any, right: Any, size: Any = 0.0, rounding: float = ROUNDING) -> None:
        """Demand equality everywhere, up to rounding; ``rule`` has the form ``a must be b``."""
        self.at_most(rule, left, right, size, rounding, equal=True)


def _size(values: Any) -> float:
    """The largest absolute value among finite entries."""
    array = np.abs(np.asarray(values, dtype=np.float64))
    return float(np.max(array, where=np.isfinite(array), initial=0.0))


def _fingerprint(problem: MetricProblem) -> str:
    try:
        return problem.fingerprint()
    except (TypeError, AttributeError) as error:
        raise ContractError(f"problem {type(problem).__name__}: it must have a fingerprint; {error}") from error


def _metrics(problem: MetricProblem, rng: np.random.Generator) -> list[Array]:
    """Test metrics: zero, and random ones of rank one, of intermediate and of full rank, around the scale of the risk.

    Also two along the direction of descent from zero, and the optimum if a statement can be solved: bounds that are too
    high show there first, and hard constraints may allow no other metric.
    """
    risk, cone = problem.risk, problem.cone
    block, unit = _Block("risk", risk), 1.0
    zero = cone.zeros()
    value = risk.value(zero)
    descent = []

    def moderate(M: Array) -> Array:
        return block.moderate("value(M)", risk.value, M) if np.isfinite(value) and not risk.hard else risk.repair(M)

    if np.isfinite(value):
        normal = risk.separate(zero, np.zeros(risk.parts, dtype=np.int64)).normals[0]
        length = float(np.linalg.norm(normal))
        if np.isfinite(length) and 0.0 < abs(value) < 1e100 * length:
            unit = abs(value) / length
            descent = [cone.project(cone.from_coordinates(size * unit / length * normal)) for size in (0.1, 1.0)]
    metrics = [zero]
    for size in (1.0, 0.01, 100.0):
        for rank in (2 * cone.d, 1, max(1, cone.d // 2)):
            M = _random(cone, rank, rng)
            metrics.append(moderate(size * unit / float(np.linalg.norm(M)) * M))
    # Errors of CVXPY are ignored here: a later check finds them with the block that causes them.
    with suppress(ValueError, cp.error.DCPError):
        stated = problem.statement()
        if _is_short(stated.problem, problem) and _minimised(stated.problem) is not None:
            M = cone.project(cone.element(stated.metric.value))
            metrics += [moderate(size * M) for size in (1.0, 3.0)]
    # Made exactly symmetric: CVXPY accepts asymmetries up to 1e-10 only, whatever the scale.
    return [cone.element(M) for M in metrics + descent + _allowed(problem, metrics[1])]


def _random(cone: Cone, rank: int, rng: np.random.Generator) -> Array:
    """Random metric of this rank; any matrix where matrices have no cone."""
    if cone.free:
        return cone.from_coordinates(rng.standard_normal(cone.size))
    V = rng.standard_normal((rank, cone.d))
    return cone.outer_sum(V, rng.random(rank) + 0.1)


def _allowed(problem: MetricProblem, M: Array) -> list[Array]:
    """Projection of ``M`` onto the constraints of the regularizer, in a list; empty if there are none."""
    variable, in_cone = problem.cone.variable("M")
    constraints = problem.regularizer.constraints(variable, problem.cone)
    nearest = cp.Problem(cp.Minimize(cp.sum_squares(variable - M)), in_cone + constraints)
    if not constraints or _minimised(nearest) is None:
        return []
    return [problem.cone.project(problem.cone.element(variable.value))]


def _check_loss(loss: Loss, met: list[Array], rng: np.random.Generator) -> None:
    """Check a loss at the margins ``met`` under some metrics, and at random ones."""
    block, count = _Block("loss", loss), len(met[0])
    scales = [max(_size(s), 1e-300) for s in met[1:4:2]]
    margins = [scale * rng.standard_normal(count) for scale in (*scales, 1e-3 * scales[0])]
    if not loss.hard:
        margins = [block.moderate("values(s)", loss.values, s) for s in margins]
    margins = met + margins
    values = [block.numbers("values(s)", loss.values(s), (count,), infinite=loss.hard) for s in margins]
    block = block.of_size(values)
    met_losses = list(zip(margins, values, strict=True))
    box, hinges = loss.box(count), None if loss.hard else loss.hinges(count)
    for s, value in met_losses:
        block.equal("value must be the sum of values", loss.value(s), value.sum(), np.abs(value).sum())
        if loss.nonnegative:
            block.at_most("0 must be at most l(s), as it says that it is nonnegative", 0.0, value, values)
        if box is not None:
            block.equal("box must be the same loss", box.values(s), value, values)
        if hinges is not None:
            weights, ends = hinges
            block.equal("hinges must be the same loss", weights * np.maximum(0.0, ends - s), value, values)
    _check_slopes(block, loss, met_losses, rng)
    _check_conjugate(block, loss, met_losses, rng)
    if loss.differentiable:
        _check_curvature(block, cast(SmoothLoss, loss), margins)
    if count <= STATEMENT_ROWS:
        _check_loss_statement(block, loss, met[1])


def _check_slopes(block: _Block, loss: Loss, met: list[tuple[Array, Array]], rng: np.random.Generator) -> None:
    """Check convexity along lines, and subgradients, at margins with the values there."""
    for turn in (1, 2, 5):
        for (s, here), (other, there) in zip(met, met[turn:] + met[:turn], strict=True):
            t = float(rng.random())
            middle = block.numbers("values(s)", loss.values(t * s + (1.0 - t) * other), s.shape, infinite=loss.hard)
            size = (here, there)
            chord = np.where(np.isinf(here) | np.isinf(there), np.inf, t * here + (1.0 - t) * there)
            block.at_most("l(t s + (1 - t) s') must be at most t l(s) + (1 - t) l(s')", middle, chord, size)
            finite = np.isfinite(here)
            u = block.numbers("subgradient(s)", loss.subgradient(s)[finite], (int(finite.sum()),))
            change = u * (other - s)[finite]
            block.at_most("l(s) - u (s' - s), with u = subgradient(s), must be at most l(s')",
                          here[finite] - change, there[finite], (_size(size), _size(change)))  # fmt: skip


def _check_conjugate(block: _Block, loss: Loss, met: list[tuple[Array, Array]], rng: np.random.Generator) -> None:
    """Check the lower bounds given by multipliers, for subgradients and for random multipliers."""
    slopes = []
    for s, value in met:
        u = np.where(np.isfinite(value), loss.subgradient(s), 0.0)
        slopes.append(u)
        clipped = block.numbers("clip(u)", loss.clip(u), u.shape)
        block.equal("clip must leave subgradients as they are", clipped, u)
        plane = block.numbers("dual_values(u)", loss.dual_values(u), u.shape) - u * s
        size = (_size(value), _size(u * s))
        finite = np.isfinite(value)
        block.at_most("-l*(-u) - u s must be at most l(s)", plane[finite], value[finite], size)
        block.equal("-l*(-u) - u s, with u = subgradient(s), must be l(s)", plane[finite], value[finite], size)
    scale = max(map(_size, slopes)) or 1.0
    for width in (0.3, 1.0, 10.0):
        u = width * scale * rng.standard_normal(slopes[0].size)
        u = block.numbers("clip(u)", loss.clip(u), u.shape)
        dual = block.numbers("dual_values(u)", loss.dual_values(u), u.shape)
        for s, value in met:
            size = (_size(dual), _size(u * s))
            block.at_most("-l*(-u) - u s must be at most l(s)", dual - u * s, value, size)
        total = float(block.numbers("dual_value(u)", loss.dual_value(u)))
        block.equal("dual_value must be the sum of dual_values", total, dual.sum(), np.abs(dual).sum())


def _check_curvature(block: _Block, loss: SmoothLoss, margins: list[Array]) -> None:
    """Check curvature by finite differences of subgradients, with steps that are short on the scale of the loss."""
    curvatures = [block.numbers("curvature(s)", loss.curvature(s), s.shape) for s in margins]
    slope, most = max(_size(loss.subgradient(s)) for s in margins), max(map(_size, curvatures))
    step = 1e-5 * slope / most if most > 0.0 else 1.0
    for s, curvature in zip(margins, curvatures, strict=True):
        difference = (loss.subgradient(s - step) - loss.subgradient(s + step)) / (2.0 * step)
        rule = "curvature must be minus the derivative of subgradient"
        # At margins that are too large the step is lost to rounding.
        sound = np.abs(s) <= 1e6 * step / 1e-5
        block.equal(rule, curvature[sound], difference[sound], most, 1e-3)


def _check_loss_statement(block: _Block, loss: Loss, s: Array) -> None:
    """Check the CVXPY statement of a loss at fixed margins, where the loss is finite."""
    value = loss.value(s)
    if not np.isfinite(value):
        return
    rule = "its CVXPY statement must be worth its value"
    with block.stating(rule):
        cost, constraint = loss.statement(cp.Constant(s))
        found = _minimised(cp.Problem(cp.Minimize(cost), [constraint]))
    if found is not None:
        block.equal(rule, found, value, np.abs(loss.values(s)).sum() + SOLVED / CONIC, CONIC)


def _check_measure(measure: Measure, lengths: np.ndarray, rng: np.random.Generator) -> None:
    """Check a measure for lists of the given ``lengths``, pairs (p, n)."""
    block = _Block("measure", measure)
    for p, n in np.unique(lengths, axis=0)[:20].tolist():
        if p * n <= 10**6:
            checked_gains(measure, p, n)
    for p, n in [(1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (4, 1), (2, 3), (3, 2)]:
        checked_gains(measure, p, n)
        scores = np.array([measure.score(ranking) for _, ranking in rankings_of(p, n)])
        block.at_most("the score of a ranking must be at most 1", scores, 1.0)
        i, b = np.arange(1, p + 1), np.arange(p)
        block.equal("gains of arrays p and n must be those of numbers",
                    measure.gains(i, b, np.full(p, p), np.full(p, p)), measure.gains(i, b, p, p))  # fmt: skip
        D = _distances(rng, 12, p + n)
        worst = [_worst(measure, row[:p], row[p:]) for row in D]
        _check_oracle(block, measure, D, p, worst, "the worst of all rankings")
    for _ in range(20):
        p, n = int(rng.integers(1, 15)), int(rng.integers(1, 50))
        D = _distances(rng, 3, p + n)
        worst = [most_violated(measure, row[:p], row[p:])[2] for row in D]
        _check_oracle(block, measure, D, p, worst, "what the reference dynamic program finds")


def _distances(rng: np.random.Generator, cases: int, count: int) -> Array:
    """Test distances: normal ones, with many ties, on several scales, and far from zero."""
    smooth, tied = rng.standard_normal((cases, count)), rng.integers(-2, 3, (cases, count)) / 2.0
    kind = rng.integers(0, 4, (cases, 1))
    return np.select([kind == k for k in range(4)], [smooth, tied, 10.0 ** rng.uniform(-3, 1.5) * tied, 64.0 + smooth])


def _worst(measure: Measure, x: Array, z: Array) -> float:
    """``max_y Delta(y) - <W, dpsi(y)>`` over all rankings."""
    scale = 2.0 / (x.size * z.size)
    return max(
        1.0 - measure.score(ranking) - scale * float((inverted * (z - x[:, None])).sum())
        for inverted, ranking in rankings_of(x.size, z.size)
    )


def _check_oracle(block: _Block, measure: Measure, D: Array, p: int, worst: list[float], meant: str) -> None:
    """Check the oracle in both layouts of blocks; the first p columns of D are relevant."""
    for query in _blocks(D, p):
        losses, violations = most_violated_rankings(measure, query)
        size = max(1.0, _size(D))
        block.equal(f"the violation of its oracle must be {meant}", violations, worst, size)
        change = (query.values.reshape(D.shape) * D).sum(axis=1)
        block.equal("loss - <T, d> of its oracle must be the violation", losses - change, violations, size)


def _blocks(D: Array, p: int) -> list[Block]:
    """Distances as blocks of queries, in both layouts."""
    cases, count = D.shape
    relevance = Relevance.from_lists([np.arange(p)] * cases, [np.arange(p, count)] * cases, cases, count)
    rankings = Rankings(np.zeros((count, 1)), np.zeros((cases, 1)), relevance, NonnegativeDiagonal(1))
    items = np.tile(np.arange(count, dtype=np.int32), cases)
    return [Block(rankings, np.arange(cases), D.copy(), listed) for listed in (None, items)]


def _check_risk(risk: Risk, metrics: list[Array], rng: np.random.Generator) -> list[tuple[float, Array]]:
    """Check a risk; returns the minorant ``R(M) >= v - <S, M>`` of its cuts."""
    block, parts, cone = _Block("risk", risk), risk.parts, risk.cone
    values = [float(block.numbers("value(M)", risk.value(M), infinite=True)) for M in metrics]
    block.demand(risk.hard or bool(np.isfinite(values).all()), "value(M) must be finite, as it does not say it is hard")
    block = block.of_size(values)
    met = [(M, value) for M, value in zip(metrics, values, strict=True) if np.isfinite(value)]
    for M, value in zip(metrics, values, strict=True):
        shares = block.numbers("part_values(M)", risk.part_values(M), (parts,), infinite=True)
        block.equal("value must be the sum of part_values", value, shares.sum(), np.abs(shares).sum())
        if risk.nonnegative:
            block.at_most("0 must be at most part_values(M), as it says that it is nonnegative", 0.0, shares, values)
    if not met:
        return []
    whole = np.zeros(parts, dtype=np.int64)
    several = np.arange(parts) if parts <= OWN_GROUPS else rng.permutation(np.arange(parts) % 5)
    said = _check_cuts(block, risk, met, whole)
    _check_cuts(block, risk, met, several)
    for kind in (PairwiseRisk, SeparableRisk, SmoothRisk):
        with suppress(UnsupportedProblemError):
            form = risk.form(kind)
            for M, value in met if form is not risk else []:
                block.equal(f"its form as {kind.__name__} must be the same function", form.value(M), value, value)
    floor = risk.floor()
    if floor is not None:
        _check_plane(block, "its floor", cone, floor.value, floor.S, met)
    for M, _ in met[:4]:
        for dual in risk.own_duals(M):
            point = risk.minorant(dual)
            if point is not None:
                _check_plane(block, f"what its own {type(dual).__name__} says", cone, point.value, point.S, met)
    return said


def _check_plane(block: _Block, plane: str, cone: Cone, value: float, S: Array, met: list[tuple[Array, float]]) -> None:
    """Check that an affine function is below the risk."""
    block.numbers(plane, value)
    block.numbers(plane, S, cone.shape)
    for M, risk in met:
        size = (abs(value), float(np.abs(S * M).sum()))
        block.at_most(f"{plane}, value - <S, M>, must be at most R(M)", value - cone.inner(S, M), risk, size)


def _check_cuts(
    block: _Block, risk: Risk, met: list[tuple[Array, float]], groups: np.ndarray
) -> list[tuple[float, Array]]:
    """Check that cuts are tight at the metric where they were made, and below the risk at others."""
    n_groups, cone = int(groups.max()) + 1, risk.cone
    made = []
    for M, value in met:
        cuts = risk.separate(M, groups)
        values = block.numbers("values of cuts", cuts.values, (n_groups,))
        block.numbers("offsets of cuts", cuts.offsets, (n_groups,))
        block.numbers("normals of cuts", cuts.normals, (n_groups, cone.size))
        block.equal("the sum of the values of cuts must be the risk", values.sum(), value, np.abs(values).sum())
        shares = np.bincount(groups, risk.part_values(M), n_groups)
        block.equal("values of cuts must be the sums of part_values over their groups", values, shares, abs(value))
        made.append((cone.coordinates(M), cuts))
    for at, cuts in made:
        for m, other in made:
            terms = np.abs(cuts.normals) @ np.abs(m)
            planes, size = cuts.offsets - cuts.normals @ m, (_size(cuts.offsets), _size(terms), _size(cuts.values))
            if m is at:
                rule = "offset - <normal, M> of a cut must be the risk of its group at the metric M it was made at"
                block.equal(rule, planes, cuts.values, size)
            rule = "offset - <normal, M'> of a cut must be at most the risk of its group at any other metric M'"
            block.at_most(rule, planes, other.values, size)
    return [(float(cuts.offsets.sum()), cone.from_coordinates(cuts.normals.sum(axis=0))) for _, cuts in made]


def _check_regularizer(
    problem: MetricProblem, metrics: list[Array], cuts: list[tuple[float, Array]], rng: np.random.Generator
) -> None:
    omega, cone = problem.regularizer, problem.cone
    block = _Block("regularizer", omega)
    values = [float(block.numbers("value(M)", omega.value(M, cone), infinite=True)) for M in metrics]
    block = block.of_size(values)
    met = [(M, value) for M, value in zip(metrics, values, strict=True) if np.isfinite(value)]
    block.demand(bool(met), "its value must be finite at some metric")
    for M, value in met:
        gradient = block.numbers("gradient(M)", omega.gradient(M, cone), cone.shape)
        for other, there in met:
            change = cone.inner(gradient, other - M)
            size = (abs(value), float(np.abs(gradient * other).sum()), float(np.abs(gradient * M).sum()))
            rule = "Omega(M) + <gradient(M), M' - M> must be at most Omega(M')"
            block.at_most(rule, value + change, there, size)
            t = float(rng.random())
            middle = float(block.numbers("value(M)", omega.value(t * M + (1.0 - t) * other, cone)))
            rule = "Omega(t M + (1 - t) M') must be at most t Omega(M) + (1 - t) Omega(M')"
            block.at_most(rule, middle, t * value + (1.0 - t) * there, (abs(value), abs(there)))
    _check_forms(block, omega, cone, met)
    unit = _size(omega.gradient(met[-1][0], cone)) or 1.0
    points = list(cuts)
    some = _random(cone, 2, rng)
    for width in (0.1, 1.0, 30.0):
        for S in (cone.from_coordinates(rng.standard_normal(cone.size)), some):
            value = float(rng.standard_normal()) * _size([v for v, _ in cuts])
            points.append((value, width * unit / max(_size(S), 1e-300) * S))
    linear = problem.G if problem.G is not None else unit / _size(some) * some
    # A linear term that rewards large metrics, which the dual point may or may not outweigh.
    outward = -2.0 * unit / _size(cone.identity()) * cone.identity()
    sizes = max(abs(value) for value, _ in points) * np.array([-1.0, 1.0])
    held = [(value, share * outward) for value in sizes for share in (0.5, 2.0)]
    said = [(value, S, G) for G, some in ((None, points), (linear, points), (outward, held)) for value, S in some]
    tried = _Tried(omega, cone, metrics)
    searches = SEARCHES_OF_ONE // cone.size
    search = _Search(block, omega, cone) if searches else None
    for number, at in enumerate(rng.permutation(len(said))[: max(BOUNDS, BOUNDS_OF_ONE // cone.size)].tolist()):
        hint = cone.project(metrics[int(rng.integers(len(metrics)))])
        value, S, linear = said[at]
        _check_bound(block, tried, value, S, linear, hint, search if number < searches else None)


def _check_forms(block: _Block, omega: Regularizer, cone: Cone, met: list[tuple[Array, float]]) -> None:
    """Check the linear and the quadratic part of a regularizer, and its CVXPY expression."""
    quadratic, linear = omega.quadratic(cone), cone.coordinates(cone.zeros())
    variable, _ = cone.variable("M")
    if quadratic is not None:
        linear = block.numbers("linear", omega.linear(cone), (cone.size,))
        Q = block.numbers("quadratic", quadratic, () if np.ndim(quadratic) == 0 else (cone.size, cone.size))
        block.equal("quadratic must be symmetric", Q, Q.T)
        zero = omega.value(cone.zeros(), cone)
    weights = omega.weights()
    rule = "its CVXPY expression must be Omega(M)"
    with block.stating(rule):
        expression = omega.expression(variable, cone)
    for M, value in met:
        m = cone.coordinates(M)
        if quadratic is not None:
            form = float(linear @ m) + 0.5 * float(m @ (Q @ m if Q.ndim else Q * m))
            size = (float(np.abs(linear) @ np.abs(m)), zero)
            block.equal("Omega(M) - Omega(0) must be <linear, M> + <M, quadratic M> / 2 (quadratic is None where it is "
                        "neither)", value - zero, form, size)  # fmt: skip
        omega_0, A, c = omega.split(cone)
        if omega_0 is not omega:
            terms = omega_0.value(M, cone), 0.0 if A is None else cone.inner(A, M), c
            block.equal("Omega(M) must be the sum of what split returns", value, sum(terms), terms)
        if weights is not None:
            norm = norm_of(M)
            terms = weights.trace * cone.trace(M), 0.5 * weights.squared * norm**2, weights.norm * norm
            block.equal("Omega(M) must be weights.trace tr M + weights.squared / 2 ||M||^2 + weights.norm ||M||",
                        value, sum(terms), terms)  # fmt: skip
        with block.stating(rule):
            variable.value = M
            found = expression.value
        # The value of an expression with variables of its own is its minimum over them.
        if found is not None and len(expression.variables()) <= 1:
            block.equal(rule, float(found), value, rounding=1e-6)


class _Tried:
    """Test metrics on rays, with the values of a regularizer there."""

    def __init__(self, omega: Regularizer, cone: Cone, metrics: list[Array], lengths: Array = LENGTHS) -> None:
        self.omega, self.cone = omega, cone
        multiples = [t * M for M in metrics for t in lengths]
        self.rows = np.array([cone.coordinates(M) for M in multiples]).reshape(-1, cone.size)
        self.costs = np.array([omega.value(M, cone) for M in multiples], dtype=np.float64)

    def objective(self, value: float, S: Array, G: Array | None) -> tuple[Array, Array]:
        """``max(0, v - <S, M>) + <G, M> + Omega(M)``, and the size of its terms."""
        s, g = (self.cone.coordinates(self.cone.zeros() if A is None else A) for A in (S, G))
        sizes = abs(value) + np.abs(self.rows) @ (np.abs(s) + np.abs(g)) + np.abs(self.costs)
        return np.maximum(0.0, value - self.rows @ s) + self.rows @ g + self.costs, sizes


class _Search:
    """Search by CVXPY for a metric that makes ``max(0, v - <S, M>) + <G, M> + Omega(M)`` small.

    Written with parameters and compiled once, which takes CVXPY much longer than CLARABEL takes to solve it.
    """

    def __init__(self, block: _Block, omega: Regularizer, cone: Cone) -> None:
        self.block, self.cone = block, cone
        self.M, in_cone = cone.variable("M")
        self.value, self.S, self.G = cp.Parameter(), cp.Parameter(self.M.shape), cp.Parameter(self.M.shape)
        linear = cp.sum(cp.multiply(self.G, self.M))
        with block.stating(CONVEX):
            cost = cp.pos(self.value - cp.sum(cp.multiply(self.S, self.M))) + linear + omega.expression(self.M, cone)
            self.program = cp.Problem(cp.Minimize(cost), in_cone)

    def metric(self, value: float, S: Array, G: Array | None) -> Array | None:
        """The metric that CLARABEL ends at; None unless its status is optimal."""
        with self.block.stating(CONVEX):
            self.value.value, self.S.value, self.G.value = value, S, self.cone.zeros() if G is None else G
            found = _minimised(self.program) is not None
        return self.cone.project(self.cone.element(self.M.value)) if found else None


def _check_bound(
    block: _Block, tried: _Tried, value: float, S: Array, G: Array | None, hint: Array, search: _Search | None
) -> None:
    """Check ``bound(v, S, G)`` against ``max(0, v - <S, M>)`` plus penalty, at metrics that make it small."""
    omega, cone = tried.omega, tried.cone
    rule = "bound(v, S, G) must be at most max(0, v - <S, M>) + <G, M> + Omega(M)"
    more = [_Tried(omega, cone, [cone.project(S if G is None else S - G)])]
    found = None if search is None else search.metric(value, S, G)
    if found is not None:
        more.append(_Tried(omega, cone, [found], np.ones(1)))
    sharp = omega.sharpened(S, G, hint)
    for near in [hint] if sharp is hint else [hint, sharp]:
        bound = omega.bound(value, S, G, cone, near)
        block.demand(bound < np.inf, f"bound must be a number or minus infinity, got {bound!r}")
        for objectives, sizes in (each.objective(value, S, G) for each in (tried, *more)):
            # Rounding is relative to each metric's own numbers, not to the largest of all.
            for at in np.flatnonzero(~(bound <= objectives)):
                block.at_most(rule, bound, objectives[at], sizes[at])


def _check_bounds(problem: MetricProblem, metrics: list[Array], rng: np.random.Generator) -> None:
    """Check that lower bounds from dual points are below the objective."""
    block, risk = _Block("problem", problem), problem.risk
    objectives = [float(block.numbers("value(M)", problem.value(M), infinite=True)) for M in metrics]
    block = block.of_size(objectives)
    for M, objective in zip(metrics, objectives, strict=True):
        terms = risk.value(M), problem.penalty(M)
        block.equal("value must be risk + penalty", objective, sum(terms), terms)
        linear = 0.0 if problem.G is None else problem.cone.inner(problem.G, M)
        penalty = linear + problem.regularizer.value(M, problem.cone) + problem.constant
        block.equal("penalty must be <G, M> + Omega(M) + c", terms[1], penalty, linear)
    allowed = [M for M, objective in zip(metrics, objectives, strict=True) if np.isfinite(objective)]
    if not allowed:
        return
    least, size = min(objectives), (objectives[0], risk.value(metrics[-1]))
    duals = [dual for M in allowed[:4] for dual in risk.own_duals(M)]
    for _ in range(4):
        witnesses = np.array([allowed[at] for at in rng.integers(len(allowed), size=3)])
        groups = rng.permutation(np.arange(risk.parts) % 4)
        duals.append(CutDual(witnesses, rng.exponential(size=(3, int(groups.max()) + 1)), groups))
    if risk.blocks().comparisons is not None:
        duals += [width * rng.standard_normal(risk.parts) for width in (1e-3, 1.0, 1e3)]
    for dual in duals:
        bound = problem.dual_bound(dual, hint=allowed[int(rng.integers(len(allowed)))])
        block.demand(not np.isnan(bound), "dual_bound must be a number or minus infinity, got nan")
        block.at_most("dual_bound must be at most the objective at any metric", bound, least, size)
    _check_rounding(problem, allowed[-1], duals[0])


def _check_rounding(problem: MetricProblem, M: Array, dual: Any) -> None:
    """Check that rounding, estimated by the points and slopes of the risk, leaves both bounds of a metric finite."""
    block, rule = _Block("risk", problem.risk), "points, lipschitz and weights of cuts must leave finite bounds"
    try:
        found = certify(problem, M, dual)
    except (IndexError, ValueError) as error:
        raise ContractError(f"risk {type(problem.risk).__name__}: {rule}, but NumPy says: {error}") from error
    proven = found.lower_bound > -np.inf or problem.dual_bound(dual, hint=found.M) == -np.inf
    block.demand(found.upper_bound < np.inf and (proven or problem.held_by_data_alone), f"{rule}, got {found}")


def _check_weights(problem: MetricProblem, metrics: list[Array]) -> None:
    """Check that ``with_C`` scales the risk, and ``with_reg`` the regularizer, where a problem has such weights."""
    block, cone, M = _Block("problem", problem), problem.cone, metrics[1]
    for name, weighed in (("with_C", problem.with_C), ("with_reg", problem.with_reg)):
        try:
            once, twice = weighed(1.0), weighed(2.0)
        except InputError:
            continue
        block.demand(_fingerprint(once) != _fingerprint(twice), f"{name} must change the fingerprint")
        values = [(each.risk.value(M), each.regularizer.value(M, cone)) for each in (once, twice)]
        factors = (2.0, 1.0) if name == "with_C" else (1.0, 2.0)
        for what, factor, before, after in zip(("risk", "regularizer"), factors, *values, strict=True):
            block.equal(f"{name}(2) must have {factor:g} times the {what} of {name}(1)", after, factor * before)


def _check_statement(problem: MetricProblem, metrics: list[Array]) -> None:
    """Check the program and the compiled statement at fixed metrics, where they can be written out and are short."""
    # The last metric is the one that satisfies the constraints, where there are some.
    M = next((M for M in (metrics[1], *metrics[:1:-1], metrics[0]) if np.isfinite(problem.value(M))), None)
    if M is None or not SOLVED < _size(M) < 1.0 / SOLVED:
        return
    block, objective = _Block("problem", problem), problem.value(M)
    size = (problem.risk.value(M), problem.penalty(M), SOLVED / CONIC)
    for name, stated, metric, at in _stated(problem, M):
        if not _is_short(stated, problem):
            continue
        rule = f"its {name} at a metric must be worth the objective"
        with block.stating(rule):
            found = _minimised(cp.Problem(stated.objective, [*stated.constraints, metric == at]))
        if found is not None:
            block.equal(rule, found, objective, size, CONIC)


def _stated(problem: MetricProblem, M: Array) -> Iterator[tuple[str, cp.Problem, cp.Variable, Array]]:
    """Yield the forms of the problem in CVXPY that can be written out.

    Each with its name, the metric's variable, and the value of that at the metric M.
    """
    with suppress(InputError):
        statement = problem.statement()
        yield "CVXPY statement", statement.problem, statement.metric, M
    with suppress(InputError):
        program = problem.to_cvxpy()
        yield "CVXPY program", program, program.metric, problem.as_stated(M)


def _is_short(stated: cp.Problem, problem: MetricProblem) -> bool:
    """Whether CVXPY will solve the statement in seconds."""
    rows = sum(constraint.size for constraint in stated.constraints) + _curved_rows(stated.objective.expr)
    return rows <= min(STATEMENT_ROWS, STATEMENT_SIZE / problem.cone.size)


def _curved_rows(expression: cp.Expression) -> int:
    """Number of scalars to which an expression applies functions that are not affine."""
    own = 0 if isinstance(expression, cp.atoms.affine.affine_atom.AffAtom) else sum(arg.size for arg in expression.args)
    return own + sum(map(_curved_rows, expression.args))


def _minimised(problem: cp.Problem) -> float | None:
    """Optimal value by CLARABEL; None unless its status is optimal."""
    with suppress(cp.SolverError), guarded():
        problem.solve(solver=cp.CLARABEL)
        return float(problem.value) if problem.status == cp.OPTIMAL else None
    return None
