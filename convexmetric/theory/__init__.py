"""Operators that say which points are similar (paper 4), bounds on their risk, and a choice among them."""

from convexmetric.evaluation.operators import SimilarityOperator
from convexmetric.theory.hyperbolic import HyperbolicPCA, hyperbolic_pca, hyperbolic_pca_from_labels
from convexmetric.theory.risk_bounds import (
    RiskBound,
    affine_risk_bound,
    affine_risk_bound_from_labels,
    independent_pairs,
    risk_bound,
    transfer_bound,
)
from convexmetric.theory.transfer import OperatorChoice, PairSample, choose_operator, concatenate_tasks

__all__ = [
    "HyperbolicPCA",
    "OperatorChoice",
    "PairSample",
    "RiskBound",
    "SimilarityOperator",
    "affine_risk_bound",
    "affine_risk_bound_from_labels",
    "choose_operator",
    "concatenate_tasks",
    "hyperbolic_pca",
    "hyperbolic_pca_from_labels",
    "independent_pairs",
    "risk_bound",
    "transfer_bound",
]
