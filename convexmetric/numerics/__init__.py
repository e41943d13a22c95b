"""Threads, compiled loops and searches: what every layer computes with."""
