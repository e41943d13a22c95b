"""Threads, compiled loops, line searches and conjugate gradients, used by all packages."""
