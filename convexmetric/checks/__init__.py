"""Checks of the contracts that the blocks of a problem keep."""

from convexmetric.checks.problem import check_problem

__all__ = ["check_problem"]
