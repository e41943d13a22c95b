"""Numerical methods that several solvers share; they know no problem."""
