"""Learning theory of paper 4: bounds on the risk of operators, a choice among them, and hyperbolic PCA."""

from operator_paper.theory.hyperbolic import HyperbolicPCA, hyperbolic_pca, hyperbolic_pca_from_labels
from operator_paper.theory.risk_bounds import (
    RiskBound,
    affine_risk_bound,
    affine_risk_bound_from_labels,
    independent_pairs,
    risk_bound,
    transfer_bound,
)
from operator_paper.theory.transfer import OperatorChoice, choose_operator, concatenate_tasks

__all__ = [
    "HyperbolicPCA",
    "OperatorChoice",
    "RiskBound",
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
