"""Threads, compiled loops and line searches, used by all packages."""
