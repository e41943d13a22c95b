"""Metrics of other packages against the certified optimum of their own objective."""
