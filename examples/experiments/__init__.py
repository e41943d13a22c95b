"""Experiments that are kept as they come: tasks, their results on disk, and tables."""
