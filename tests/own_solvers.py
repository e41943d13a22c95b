"""Solvers as a user would write them, for the tests of benchmarks."""

import os
import time

import numpy as np

from convexmetric.solvers import CuttingPlanes, Solver

settled = CuttingPlanes(groups=4)


def optimum(problem):
    import convexmetric as cm

    return cm.solve(problem, tol=1e-8).certificate.M


def zero(problem):
    return problem.cone.zeros()


def negative(problem):
    return -np.asarray(problem.cone.identity())


def sleep(problem):
    time.sleep(60.0)


def fail(problem):
    raise RuntimeError("nothing\nworks")


def die(problem):
    os._exit(3)


class Slow(Solver):
    """Offers one point, then never looks at the clock."""

    name = "slow"

    def prepare(self, problem):
        return lambda monitor: self.wait(problem, monitor)

    def wait(self, problem, monitor):
        M = problem.cone.zeros()
        monitor.primal(M, problem.value(M))
        monitor.dual(0.0, lambda: None)
        yield {}
        # The run before its clock starts has a limit of iterations.
        if monitor.max_iter is None:
            time.sleep(60.0)


number = 3
