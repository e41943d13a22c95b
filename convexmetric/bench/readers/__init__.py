"""Readers of the data sets that studies use, found by name by :func:`convexmetric.datasets.load`."""
