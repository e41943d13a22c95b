"""Metric learning on instances whose optimal value is known between certified bounds."""

import numpy as np
from benchopt import BaseObjective

import convexmetric as cm


class Objective(BaseObjective):
    """The objective of a convex statement, and how far a metric can be from its optimum.

    ``value`` is the objective at the projection of the metric on the cone; ``suboptimality`` its relative distance from
    the certified lower bound of the library, which bounds its distance from the optimum.
    """

    name = "Certified metric learning"
    min_benchopt_version = "1.10"
    requirements = ("pip::convexmetric",)

    def skip(self, problem, lower_bound):
        hard = not np.isfinite(problem.value(problem.cone.zeros()))
        return hard, "margins are hard, and benchopt takes infinite objectives for divergence" if hard else None

    def set_data(self, problem, lower_bound):
        self.problem, self.lower_bound = problem, lower_bound

    def get_objective(self):
        return {"problem": self.problem}

    def evaluate_result(self, M):
        verdict = cm.audit(self.problem, M, reference=self.lower_bound)
        return {"value": verdict.projected_objective, "suboptimality": verdict.suboptimality}

    def get_one_result(self):
        return {"M": self.problem.cone.zeros()}
