"""Exercises for a course: scripts with tasks, and a check of the answers; solutions are in a folder of their own."""
