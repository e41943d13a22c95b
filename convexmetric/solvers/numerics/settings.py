"""Settings of the interior-point method."""

from __future__ import annotations

from dataclasses import dataclass

from convexmetric.arguments import check_count, check_positive_number, check_share

__all__ = ["InteriorPointSettings"]


@dataclass(frozen=True, kw_only=True)
class InteriorPointSettings:
    """Settings of ``interior_point`` and of its starting points.

    Parameters
    ----------
    max_steps : int
        Predictor-corrector steps after which it gives up.
    boundary_share : float
        Share of the way to the boundary that a step may go, with a quadratic part.
    boundary_share_linear : float
        The same with a linear objective, whose vertices are sharp: steps that nearly touch them take a third more
        iterations.
    least_centring : float
        Smallest share of the complementarity that the predictor is trusted to leave, before Mehrotra's third power.
    stalled_steps : int
        Steps in a row that improve neither bound after which it ends.
    least_improvement : float
        Relative change of a bound that counts as an improvement, as a share of ``tol``.
    heavy_row : float
        Rows whose weight in the Newton matrix exceeds this many times the rest are kept as unknowns: near the optimum
        they would swamp the rest.
    refinement_residual : float
        Relative residual of the Newton system above which its solution is refined once.
    warm_residual : float
        Residual of the equation for Z, relative to Z, up to which a warm start still pays.
    cold_residual : float
        The same for the cold start of a quadratic program, whose central path is easier to reach from further out.
    barrier_growth : float
        Factor by which the barrier of that cold start grows until the residual is as small as that.
    barrier_trials : int
        Barriers tried for it.

    Raises
    ------
    InputError
        If a setting is out of its range.
    """

    max_steps: int = 100
    boundary_share: float = 0.99
    boundary_share_linear: float = 0.95
    least_centring: float = 1e-6
    stalled_steps: int = 8
    least_improvement: float = 1e-3
    heavy_row: float = 1e4
    refinement_residual: float = 1e-13
    warm_residual: float = 100.0
    cold_residual: float = 10.0
    barrier_growth: float = 4.0
    barrier_trials: int = 12

    def __post_init__(self) -> None:
        for name in ("max_steps", "stalled_steps", "barrier_trials"):
            check_count(getattr(self, name), name)
        for name in ("boundary_share", "boundary_share_linear", "least_centring"):
            check_share(getattr(self, name), name)
        for name in ("least_improvement", "heavy_row", "refinement_residual", "warm_residual", "cold_residual"):
            check_positive_number(getattr(self, name), name)
        check_positive_number(self.barrier_growth, "barrier_growth")


#: What a caller without wishes gets.
DEFAULTS = InteriorPointSettings()
