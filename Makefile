# Two commands do all the set-up on a fresh machine with Python >= 3.11: make demo, make test.

VENV ?= .venv
BIN := $(VENV)/bin
# The first interpreter that is new enough; override with make PYTHON=...
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

# Tests run side by side: threads of their own would only get in each other's way.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1
# Compiled files are kept, even where the environment forbids it: every process would compile all modules and tests anew.
KEPT := PYTHONDONTWRITEBYTECODE=

.PHONY: help demo test integration lint types layers fix bench docs docs-check clean clean-cache slow notebooks prove rehearse release instances course

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/'

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "convexmetric needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(BIN)/.ready: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(BIN)/.ready ## solve metric learning to rank on wine exactly; bounds, audit, one picture
	$(BIN)/convexmetric demo

test: $(BIN)/.ready lint types layers ## lint, types, layers and the test suite
	$(ONE_THREAD) $(KEPT) $(BIN)/pytest -n 2 --dist worksteal

integration: $(BIN)/.ready ## clusters, processes, studies and tools: nightly, and before a release (minutes)
	$(ONE_THREAD) $(KEPT) $(BIN)/pytest -n 2 --dist worksteal -m integration

slow: $(BIN)/.ready ## the reproductions that take minutes
	$(ONE_THREAD) $(KEPT) $(BIN)/pytest -n 2 -m slow

lint: $(BIN)/.ready ## ruff: lint and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(BIN)/.ready ## mypy
	$(BIN)/mypy

layers: $(BIN)/.ready ## import-linter: imports point downwards only
	$(BIN)/lint-imports

fix: $(BIN)/.ready ## apply the formatter and the safe fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(BIN)/.ready-docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

prove: ## compile the proofs of the file format's theorems in Coq, which must be there (a minute)
	sh proofs/check.sh

docs: $(BIN)/.ready-docs ## the site, in docs/_build/html; a warning is an error; its pages that run Python need a network, once
	$(BIN)/python docs/in_browser.py
	$(ONE_THREAD) $(BIN)/python -m sphinx -b html -W --keep-going docs docs/_build/html

docs-check: docs ## every page in Chromium, narrow and wide, light and dark, without network (minutes)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs-check]'
	$(BIN)/python docs/check_pages.py docs/_build/html

bench: $(BIN)/.ready ## side-by-side timings (minutes)
	for b in benchmarks/bench_*.py; do echo "== $$b"; $(BIN)/python $$b || exit 1; done

instances: $(BIN)/.ready ## the instance library with certificates as one archive for any software, build/instances.zip (minutes)
	$(ONE_THREAD) $(BIN)/python problems/archive.py build/instances.zip --certificates build/certificates --certify 10

# make notebooks CHECK= writes them and runs none.
CHECK ?= --check
notebooks: $(BIN)/.ready ## lessons and exercises as notebooks in build/notebooks; lessons and solutions run once (minutes), with CHECK= not
	$(BIN)/python -m pip install --quiet --editable '.[lessons]'
	$(BIN)/python examples/notebooks.py build/notebooks $(CHECK)

course: $(BIN)/.ready-docs ## slides, questions and exercises of the course in build/course, for the site too, and solutions beside it (minutes)
	$(ONE_THREAD) $(BIN)/python docs/take_away.py build/course --pictures build/drawn

rehearse: $(BIN)/.ready ## sdist and wheel in dist/, checked, and used in an empty environment away from the checkout (minutes)
	$(BIN)/python -m pip install --quiet 'build>=1.2' 'twine>=6.1' 'check-wheel-contents>=0.6'
	rm -rf dist
	$(ONE_THREAD) $(BIN)/python tests/rehearse.py dist

release: integration rehearse ## what a release needs before its tag

clean-cache: ## remove compiled loops, after editing one that another file's calls
	find convexmetric -name '*.nb[ic]' -delete

clean: ## remove what the targets made
	rm -rf docs/_build docs/api/generated docs/gallery docs/sg_execution_times.rst
	rm -f proofs/*.vo proofs/*.vok proofs/*.vos proofs/*.glob proofs/.*.aux
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
