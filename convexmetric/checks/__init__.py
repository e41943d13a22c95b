"""Checks that the blocks of a problem fulfil their contracts."""

from convexmetric.checks.problem import check_problem

__all__ = ["check_problem"]
