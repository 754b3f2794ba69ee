# Everything from a fresh machine with Python >= 3.11 and make: `make train`, `make test`. All targets: `make help`.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
CONFIG ?= experiments/configs/aeroliths-quick.yaml
TEST_ARGS ?= -n 2

.PHONY: help setup train test test-heavy check format docs clean
.DEFAULT_GOAL := help

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP)  ## create .venv and install trilithon into it (the others do this by themselves)

# A stamp, so that nothing is installed twice; the package is editable, so only these two files matter.
$(STAMP): pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "trilithon needs Python 3.11 or newer; name one: make PYTHON=python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -e '.[dev]'
	@touch $@

train: $(STAMP)  ## train on the quick config (or CONFIG=...), then print the rating table
	$(BIN)/trilithon train $(CONFIG)

test: $(STAMP)  ## the whole test suite (options: TEST_ARGS='-n 2 -k drawing')
	$(BIN)/python -m pytest $(TEST_ARGS)

test-heavy: $(STAMP)  ## the suite with its long runs
	$(BIN)/python -m pytest --heavy $(TEST_ARGS)

check: $(STAMP)  ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(STAMP)  ## put the code into the project's format, mend what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(STAMP)  ## the documentation site, into docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

clean:  ## remove what was built (.venv and runs/ stay)
	rm -rf build dist *.egg-info docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find core envs agents experiments notebooks tests -name __pycache__ -type d -prune -exec rm -rf {} +
