#!/usr/bin/env -S python -m nox -f
# /// script
# dependencies = ["nox>=2024.10"]
# ///
"""Test sessions on several interpreters and dependencies.

    nox                       # the quick suite on every interpreter that is there
    nox -s oldest             # ... with the oldest dependencies that pyproject.toml allows
    nox -s lessons docs rehearse
    nox --default-venv-backend uv      # fetches interpreters that are missing

Options after -- go to pytest: nox -s tests-3.13 -- -x -n 4
"""

import os
from pathlib import Path

import nox

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
#: Tests run side by side, and threads of their own would only get in each other's way.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "MPLBACKEND": "Agg"}

nox.needs_version = ">=2024.10"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = "CI" in os.environ


@nox.session(python=PYTHONS)
def tests(session):
    """The quick suite with the newest dependencies."""
    session.install(".[test]")
    session.run("pytest", "-n", "2", "--dist", "worksteal", *session.posargs, env=ONE_THREAD)


@nox.session(python=PYTHONS[0], default=False)
def integration(session):
    """Clusters, other processes, the studies of examples/, the tools of benchmarks/ and docs/."""
    session.install(".[test]")
    session.run("pytest", "-n", "2", "--dist", "worksteal", "-m", "integration", *session.posargs, env=ONE_THREAD)


@nox.session(python=PYTHONS[0], default=False)
def oldest(session):
    """The quick suite with the oldest dependencies."""
    session.install(".[test]", "-c", "constraints-oldest.txt")
    session.run("pytest", "-n", "2", "--dist", "worksteal", *session.posargs, env=ONE_THREAD)


@nox.session(python=PYTHONS[0], default=False)
def checks(session):
    """Lint, format, types and layers."""
    session.install(".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")


@nox.session(python=PYTHONS[0], default=False)
def lessons(session):
    """Every lesson and solution as a notebook, run from top to bottom."""
    session.install(".[lessons]")
    session.run("python", "examples/notebooks.py", session.create_tmp(), "--check", env=ONE_THREAD)


@nox.session(python=PYTHONS[0], default=False)
def docs(session):
    """The site, if the checkout has one."""
    if not Path("docs/conf.py").exists():
        session.skip("there is no docs/conf.py")
    session.install(".[docs]")
    session.run("python", "docs/in_browser.py")
    session.run("sphinx-build", "-b", "html", "docs", "build/site", *session.posargs)


@nox.session(python=PYTHONS, default=False)
def rehearse(session):
    """Build sdist and wheel, check both, and use the wheel in an empty environment away from the checkout."""
    session.install("build>=1.2", "twine>=6.1", "check-wheel-contents>=0.6")
    session.run("python", "tests/rehearse.py", *(session.posargs or [session.create_tmp()]), env=ONE_THREAD)


if __name__ == "__main__":
    nox.main()
