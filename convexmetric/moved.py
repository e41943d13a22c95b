"""Where modules went: an import of an old path says the new one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

__all__ = ["MOVED", "tell"]

#: Old and new path of every module that has moved, below ``convexmetric``.
MOVED = {
    "benchmarking": "benchmark.benchmarking",
    "certificate": "certificates.certificate",
    "certificates.user_terms": "regularizers.user_terms",
    "checker": "certificates.checker",
    "comparisons.draws": "comparisons.triplet_sampling",
    "contracts": "certificates.contracts",
    "demo": "cli.demo",
    "embeddings": "features.embeddings",
    "hyperbolic_pca": "similarity.hyperbolic_pca",
    "instances": "benchmark.library",
    "kernels": "features.kernels",
    "measures.choice": "measures.registry",
    "measures.placement": "measures.sorting",
    "measures.programme": "measures.reference",
    "measures.standing": "measures.ranks",
    "metric_files": "audit.metric_files",
    "operators": "similarity.operators",
    "optimality": "audit.optimality",
    "plane": "plotting.principal_plane",
    "plotting.plane": "plotting.principal_plane",
    "processes": "benchmark.processes",
    "projections": "features.projections",
    "proofs": "certificates.writer",
    "reports": "cli.reports",
    "representatives": "features.representatives",
    "retrieval": "evaluation.retrieval",
    "risk_bounds": "similarity.risk_bounds",
    "runs": "benchmark.records",
    "solvers.base": "solvers.run.base",
    "solvers.checkpoint": "solvers.run.checkpoint",
    "solvers.column_generation": "solvers.listed.column_generation",
    "solvers.conic_cutting_planes": "solvers.cuts.cutting_planes",
    "solvers.conic_qp": "solvers.numerics.program",
    "solvers.cuts.conic_cutting_planes": "solvers.cuts.cutting_planes",
    "solvers.cutting_planes": "solvers.cuts.cutting_planes",
    "solvers.display": "solvers.run.display",
    "solvers.dual_ascent": "solvers.listed.dual_ascent",
    "solvers.dual_newton": "solvers.pairs.dual_newton",
    "solvers.faces": "solvers.hinges.newton_system",
    "solvers.factored_lagrangian": "solvers.pairs.factored_lagrangian",
    "solvers.hinges.faces": "solvers.hinges.newton_system",
    "solvers.interior_point": "solvers.listed.interior_point",
    "solvers.low_rank_newton": "solvers.smooth.low_rank_newton",
    "solvers.master": "solvers.cuts.master",
    "solvers.numerics.conic_qp": "solvers.numerics.program",
    "solvers.proximal_gradient": "solvers.smooth.proximal_gradient",
    "solvers.screening": "solvers.hinges.screening",
    "solvers.semismooth_newton": "solvers.hinges.semismooth_newton",
    "solvers.smoothed_newton": "solvers.hinges.smoothed_newton",
    "solvers.sparse_gram": "solvers.numerics.sparse_gram",
    "solvers.trust_region": "solvers.numerics.trust_region",
    "terms": "regularizers.user_terms",
    "trails": "audit.traces",
    "transfer": "similarity.transfer",
    "validation": "model_selection",
    "verification": "evaluation.pairs",
}


class _Guide(MetaPathFinder):
    """Asked last, when nobody has found a module."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        package, _, old = fullname.partition(".")
        if package == "convexmetric" and old in MOVED:
            # Without name=: of an error with the name that was asked for, "from convexmetric import ..." keeps silent.
            raise ModuleNotFoundError(f"{fullname} is now convexmetric.{MOVED[old]}")


def tell() -> None:
    """Let imports of old paths say where the module went, from now on."""
    if not any(isinstance(finder, _Guide) for finder in sys.meta_path):
        sys.meta_path.append(_Guide())
