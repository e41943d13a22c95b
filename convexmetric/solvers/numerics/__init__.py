"""Numerical methods that several solvers share, independent of risks and regularizers."""
