"""Files of strangers, for the tests of benchmarks: solvers that fail in every way, and some that do not."""

import os
import signal
import sys

import numpy as np


def fails(problem):
    yield problem.cone.zeros()
    raise RuntimeError("nothing\nworks <b>")


def wrong_shape(problem):
    return np.eye(problem.cone.d + 1)


def not_a_number(problem):
    return np.full_like(problem.cone.zeros(), np.nan)


def nothing(problem):
    problem.value(problem.cone.zeros())


def killed(problem, record):
    record(problem.cone.zeros())
    os.kill(os.getpid(), signal.SIGKILL)


def crashes(problem):
    os.kill(os.getpid(), signal.SIGSEGV)


def leaves(problem):
    sys.exit(4)


def endless(problem):
    yield problem.cone.zeros()
    while True:
        pass


def draws(problem, random_state):
    """Return the number of the seed times the identity."""
    return random_state * np.asarray(problem.cone.identity())


class Slow:
    """Shows better and better metrics, and does not end."""

    def __init__(self):
        self.share = 0.5

    def __call__(self, problem, record):
        import convexmetric as cm

        M = cm.solve(problem, tol=1e-3).certificate.M
        while True:
            record((1.0 - self.share) * M)
            self.share *= 0.999
