"""A solver of the package, stopped after so many iterations."""

import warnings

from benchopt import BaseSolver

import convexmetric as cm
from convexmetric.bench import loaded_solver


class LibrarySolver(BaseSolver):
    """Solve anew with a limit on iterations; ``solver`` is what a user types for ``solver=``."""

    sampling_strategy = "iteration"
    requirements = ("pip::convexmetric",)
    solver: str
    #: Below anything the picture is to show, so that the limit on iterations is what stops a solve.
    tol = 1e-9

    def skip(self, problem):
        try:
            reason = loaded_solver(self.solver).unsupported(problem)
        except cm.errors.SolverNotInstalledError as error:
            reason = str(error)
        return reason is not None, reason

    def set_objective(self, problem):
        self.problem = problem

    def warm_up(self):
        # Compiled loops are loaded.
        self.run_once(3)

    def run(self, n_iter):
        self.M = self.problem.cone.zeros()
        if n_iter > 0:
            self.solved(max_iter=n_iter)

    def solved(self, **limits):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cm.errors.GapWarning)
            self.M = cm.solve(self.problem, tol=self.tol, solver=self.solver, **limits).certificate.M

    def get_result(self):
        return {"M": self.M}
